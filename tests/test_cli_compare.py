"""`nbtext compare`: two models on the same documents.

Also tests `report/comparisons.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.process import (
    PETS,
    SERVICE_DESK,
    bash,
    corpus,
    fail,
    in_json,
    json_lines,
    nbtext,
    succeed,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def pairs_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As ``service_desk_model``, with pairs of terms."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.joblib"
    succeed("train", SERVICE_DESK / "train", "-m", path, "--ngrams", "2", "--smoothing", "0.5")
    return path


def test_compare_metrics_match_evaluate_and_classify(
    service_desk_model: Path, pairs_model: Path, tmp_path: Path
) -> None:
    test, changed = SERVICE_DESK / "test", tmp_path / "changed.jsonl"
    compare = ("compare", service_desk_model, pairs_model, test)
    said = in_json(*compare, "--disagreements", changed)
    assert (said["n"], said["models"]) == (78, [str(service_desk_model), str(pairs_model)])
    truth: dict[str, str] = {}
    answers: list[dict[str, tuple[str, float]]] = []
    for side, path in (("a", service_desk_model), ("b", pairs_model)):
        alone = in_json("evaluate", test, "-m", path)
        for name in ("accuracy", "macro_f1", "log_loss", "brier", "ece"):
            assert said[side][name] == pytest.approx(alone[name])
        assert said[side]["intervals"]["accuracy"] == alone["intervals"]["accuracy"]
        rows = succeed("classify", test, "-m", path).rows
        truth = {row[0]: row[0].split("/")[-2] for row in rows}
        answers.append({row[0]: (row[1], float(row[2])) for row in rows})
    right = [
        (answers[0][name][0] == label, answers[1][name][0] == label)
        for name, label in truth.items()
    ]
    assert said["table"] == {
        "both_right": right.count((True, True)),
        "only_a_right": right.count((True, False)),
        "only_b_right": right.count((False, True)),
        "both_wrong": right.count((False, False)),
    }
    expected = [
        {
            "id": name,
            "truth": label,
            "a": a[0],
            "probability_a": a[1],
            "b": b[0],
            "probability_b": b[1],
        }
        for (name, label), a, b in zip(
            truth.items(), answers[0].values(), answers[1].values(), strict=True
        )
        if a[0] != b[0]
    ]
    assert expected
    assert json_lines(changed.read_bytes()) == expected
    assert said["disagreements"] == len(expected) == sum(of["documents"] for of in said["changes"])
    table = succeed(*compare).text
    assert f"{said['differences']['accuracy']['difference']:+.4f}" in table
    assert f"A and B predict different labels for {len(expected)} of 78 documents." in table
    assert (
        succeed(*compare, "--output", "json").out
        == succeed(*compare, "--output", "json", "--seed", "0").out
    )
    assert (
        succeed(*compare, "--output", "json").out
        != succeed(*compare, "--output", "json", "--seed", "1").out
    )


def test_comparing_a_model_with_itself_finds_no_changes(
    service_desk_model: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "changed.jsonl"
    changed.write_text("of another day\n")
    done = succeed(
        "compare",
        service_desk_model,
        service_desk_model,
        SERVICE_DESK / "test",
        "--disagreements",
        changed,
    )
    assert "The two models make the same predictions with the same probabilities." in done.text
    assert "changes" not in done.text
    assert changed.read_bytes() == b""


def test_labels_unknown_to_one_model_are_named(pets: Path) -> None:
    corpus(pets, {**{f"more/{name}": text for name, text in PETS.items()}, "more/birds/1": "the bird sings", "test/birds/1": "sings", "test/cats/1": "a cat"})  # fmt: skip
    succeed("train more -m more.joblib")
    done = nbtext("compare nbtext.joblib more.joblib test")
    assert (done.status, done.notes) == (
        0,
        ["nbtext: warning: labels that model A (nbtext.joblib) does not have: birds"],
    )
    assert "infinite" in done.text
    assert "A and B predict different labels for 1 of 2 documents." in done.text
    assert nbtext("compare nbtext.joblib more.joblib test -q").notes == []


def test_documents_are_read_with_the_first_models_settings_and_differences_reported(
    pets: Path,
) -> None:
    mail = {
        f"mail/{name}": f"Subject: {text}\nFrom: a@example.org\n\nhello\n"
        for name, text in PETS.items()
    }
    corpus(pets, mail)
    succeed("train mail --document mail -m mail.joblib")
    succeed("train mail --document mail --headers from --drop-quotes -m from.joblib")
    warning = "nbtext: warning: B was trained with {}, but documents are read with {}, as for A"
    assert nbtext("compare nbtext.joblib mail.joblib mail").notes == [
        warning.format("--document mail", "text")
    ]
    assert nbtext("compare mail.joblib from.joblib mail").notes == [
        warning.format("--headers from", "auto"),
        warning.format("--set drop-quotes=true", "false"),
    ]
    assert (
        nbtext("compare mail.joblib from.joblib mail --headers subject --no-drop-quotes").notes
        == []
    )


def test_model_without_the_columns_of_the_other_ignores_them(tmp_path: Path) -> None:
    table = "".join(
        f"{label},{word} word,{size}\n"
        for label, word, size in [
            ("a", "cat", 1),
            ("b", "dog", 5),
            ("a", "cat", 2),
            ("b", "dog", 6),
        ]
        * 4
    )
    write("table.csv", "label,text,size\n" + table)
    succeed("train table.csv --text-column text --numeric size -m with.joblib")
    succeed("train table.csv --text-column text -m without.joblib")
    alone = {
        name: in_json(f"evaluate table.csv -q -m {name}.joblib")["log_loss"]
        for name in ("with", "without")
    }
    found = in_json("compare with.joblib without.joblib table.csv")
    assert [found[model]["log_loss"] for model in "ab"] == [alone["with"], alone["without"]]


def test_fail_unless_better_fails_if_not_significantly_better(
    service_desk_model: Path, tmp_path: Path
) -> None:
    test = SERVICE_DESK / "test"
    succeed("train", SERVICE_DESK / "train", "--top", "2", "-m", "worse")
    said = succeed("compare worse", service_desk_model, test, "--fail-unless-better").text
    assert "B is right significantly more often" in said
    for a, b in ((service_desk_model, "worse"), (service_desk_model, service_desk_model)):
        refused = nbtext("compare", a, b, test, "--fail-unless-better")
        assert refused.status == 6
        assert refused.notes == [
            "nbtext: gate not met: B is not right significantly more often than A"
        ]
        assert refused.text == succeed("compare", a, b, test).text


def test_compare_without_documents_suggests_comparing_the_model_descriptions(pets: Path) -> None:
    succeed("train pets --stemmer none -m 'of two words'")
    told = fail(2, "compare nbtext.joblib 'of two words' --fail-unless-better")
    said, _, line = told.partition("; to compare the content of the models: ")
    assert said == "nbtext: compare needs CORPUS or --files-from"
    recipe = line.replace("nbtext inspect", "$NBTEXT inspect")
    done = bash(recipe)
    assert done.status == 1
    assert '<         "stemmer": "snowball",' in done.text.splitlines()
    assert bash(recipe.replace("'of two words'", "nbtext.joblib")).out == b""
