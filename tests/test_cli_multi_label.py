"""Commands with a model of several labels per document."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from tests import test_classifiers_multi_label as made
from tests.process import content, fail, in_json, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def asked(labels_model: Path) -> Path:
    path = labels_model.parent / "asked.txt"
    path.write_text(
        "corn1 corn2 corn0 grain0 grain1 grain3\noil0 oil1 oil2\nword1 word2 word3\nunheard\n",
        "utf-8",
    )
    return path


def test_label_set_is_one_record(labels_model: Path, asked: Path) -> None:
    rows = succeed("classify --format lines", asked, "-m", labels_model).rows
    lines = succeed(
        "classify --format lines --output jsonl", asked, "-m", labels_model
    ).text.splitlines()
    assert [row[0] for row in rows] == [json.loads(line)["id"] for line in lines]
    for (_, labels, probabilities), line in zip(rows, lines, strict=True):
        record = json.loads(line)
        given = {each["label"]: f"{each['probability']:.6g}" for each in record["labels"]}
        assert given == (
            dict(zip(labels.split("|"), probabilities.split("|"), strict=True)) if labels else {}
        )
        assert labels or probabilities == record["abstained"]
    assert set(rows[0][1].split("|")) >= {"corn", "grain"}
    assert rows[1][1] == "oil"
    assert rows[2][1:] == ["", "no-label"]


def test_limit_ranks_labels_by_probability_predicted_or_not(
    labels_model: Path, asked: Path
) -> None:
    for line in succeed(
        "classify --format lines --output jsonl --limit 3", asked, "-m", labels_model
    ).text.splitlines():
        each = [entry["probability"] for entry in json.loads(line)["labels"]]
        assert len(each) == 3
        assert each == sorted(each, reverse=True)


def test_decide_selects_labels_by_probability_or_by_their_own_threshold(
    labels_model: Path, asked: Path
) -> None:
    def given(decide: str) -> list[set[str]]:
        rows = succeed(
            "classify --format lines --label-threshold", decide, asked, "-m", labels_model
        ).rows
        return [set(labels.split("|")) - {""} for _, labels, _ in rows]

    assert given("0")[0] == set(made.LABELS)
    assert all(few <= many for few, many in zip(given("0.6"), given("0.2"), strict=True))
    assert given("1") == [set()] * 4
    assert given("label")[1] == {"oil"}
    assert "must be document, label or a number from 0 to 1, not 'best'" in fail(
        2, "classify --label-threshold best --text x -m", labels_model
    )


def test_missing_path_is_reported_before_too_few_training_documents(
    tmp_path: Path,
) -> None:
    TextClassifier().fit(["cat", "dog"], ["cats", "dogs"]).save(str(tmp_path / "few"))
    path, few = nbtext("prevalence nowhere.txt -m few").notes
    assert path == "nbtext: nowhere.txt: cannot read: no such file or directory"
    assert "2 classes need at least 50 labelled documents, and the model has 2" in few


ROWS = [
    {"label": ["grain", "wheat"], "text": "wheat grain harvest"},
    {"label": ["crude"], "text": "oil barrel"},
    {"label": [], "text": "rain"},
]


def write_rows(name: str, rows: list[dict[str, Any]]) -> Path:
    return write(
        name,
        "".join(f"{json.dumps({'id': f'd{number}', **row})}\n" for number, row in enumerate(rows)),
    )


def test_update_moves_a_document_to_another_label_set(tmp_path: Path) -> None:
    first, moved = (
        write_rows("first.jsonl", ROWS),
        write_rows("moved.jsonl", [ROWS[0], {**ROWS[1], "label": ["crude", "fuel"]}, ROWS[2]]),
    )
    succeed("train --deduplicate -m expected", moved)
    succeed("train --deduplicate", first)
    assert (
        "moved from another class: 1, already in the model: 2"
        in nbtext("update --skip-known -v", moved).notes[0]
    )
    assert content("nbtext.joblib") == content("expected")
    assert "was never added as 'crude'; it was added as 'crude|fuel'" in fail(
        2, "forget --skip-unknown", first
    )
    succeed("relabel fuel energy")
    other = write_rows("other.jsonl", [ROWS[0], {**ROWS[1], "label": ["crude", "energy"]}, ROWS[2]])
    assert (
        "moved from another class: 0, already in the model: 3"
        in nbtext("update --skip-known -v", other).notes[0]
    )
    assert " cannot be used with " in fail(2, "relabel wheat grain")
    assert "cannot be used with" in fail(2, "inspect --criteria")


def test_review_changes_label_sets(tmp_path: Path) -> None:
    first, review = (
        write_rows("first.jsonl", ROWS),
        write("review.tsv", "d0\tgrain|wheat\twheat\nd1\tcrude\t|\nd2\t|\train\n"),
    )
    changed = write_rows(
        "changed.jsonl",
        [{**ROWS[0], "label": ["wheat"]}, {**ROWS[1], "label": []}, {**ROWS[2], "label": ["rain"]}],
    )
    succeed("train -m expected", changed)
    succeed("train --id-column id --relabel", review, first)
    assert (
        TextClassifier.load("nbtext.joblib").counts.table
        == TextClassifier.load("expected").counts.table
    )


def test_inspect_counts_documents_and_labels(labels_model: Path) -> None:
    found = in_json("inspect -m", labels_model)
    assert found["classes"]["corn"]["prior"] == pytest.approx(
        (sum("corn" in labels for labels in made.SETS) + 0.5) / (len(made.SETS) + 1)
    )
    assert found["tokens"] == sum(len(text.split()) for text in made.TEXTS)
    assert "not score" not in succeed("inspect --term corn1 -m", labels_model).text


def test_ledger_stores_label_sets(tmp_path: Path) -> None:
    rows = [
        {"labels": labels, "text": text} for text, labels in zip(made.TEXTS, made.SETS, strict=True)
    ]
    first, more = (
        "".join(json.dumps(row) + "\n" for row in part) for part in (rows[:40], rows[30:])
    )
    write("first.jsonl", first)
    write("more.jsonl", more)
    write("all.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    for name, *paths in (("whole", "all"), ("updated", "first", "more")):
        command = "train --deduplicate"
        for path in paths:
            succeed(
                f"{command} --label-column labels -m",
                tmp_path / name,
                tmp_path / f"{path}.jsonl",
            )
            command = "update --skip-known"
    assert content("updated") == content("whole")
    succeed("forget --skip-unknown -m", tmp_path / "updated", tmp_path / "more.jsonl")
    assert "was never added as 'corn|grain'" in fail(
        2,
        "forget --label-column labels -m",
        tmp_path / "whole",
        "-",
        stdin=b'{"text": "x", "labels": ["grain", "corn"]}\n',
    )


def test_each_predicted_label_is_explained_against_the_rest(labels_model: Path) -> None:
    text = "corn1 corn2 corn0 grain0 grain1 grain3 word1"
    fitted = TextClassifier.load(str(labels_model)).fitted
    scored = fitted.score([text.encode()])
    explained = succeed("explain --output jsonl -m", labels_model, "--text", text).records
    assert [each["label"] for each in explained] == ["corn", "grain"]
    for each in explained:
        number = fitted.classes.index(each["label"])
        assert each["log_odds"] == pytest.approx(scored.scores[0, number])
        assert each["prior"] + sum(word["nats"] for word in each["words"]) == pytest.approx(
            each["log_odds"]
        )
        assert (
            each["probability"]
            == pytest.approx(1 - each["against_probability"])
            == pytest.approx(np.exp(scored.log_posterior[0, number]))
        )
    compared = json.loads(
        succeed("explain --against oil --output jsonl -m", labels_model, "--text", text).text
    )
    assert compared["log_odds"] == pytest.approx(
        scored.scores[0, fitted.classes.index(compared["label"])] - scored.scores[0, 2]
    )


def test_why_not_removes_words_until_the_label_is_predicted(labels_model: Path) -> None:
    text = "corn1 corn2 grain0 grain1 grain3 oil0"
    before, wanted = succeed("classify -m", labels_model, "--text", text).rows[0][1], "oil"
    assert wanted not in before.split("|")
    [*rows] = succeed(
        "explain --output tsv --why-not", wanted, "-m", labels_model, "--text", text
    ).rows
    assert {(row[1], row[2], row[6]) for row in rows} == {(before, wanted, "")}
    left = " ".join(word for word in text.split() if word not in {row[3] for row in rows})
    [answer] = succeed("classify -m", labels_model, "--text", left).rows
    given = dict(zip(answer[1].split("|"), answer[2].split("|"), strict=True))
    assert {row[5] for row in rows} == {given[wanted]}
    [already] = succeed(
        "explain --output tsv --why-not", wanted, "-m", labels_model, "--text", left
    ).rows
    assert already[1:] == [answer[1], wanted, "", "", "", "already-predicted"]


def test_extra_and_missing_labels_are_suspects(tmp_path: Path) -> None:
    rows = [
        {"label": labels, "text": text} for text, labels in zip(made.TEXTS, made.SETS, strict=True)
    ]
    rows += [
        {"label": ["corn", "oil"], "text": "corn0 corn1 corn2 corn0"},
        {"label": ["corn"], "text": "corn1 corn2 grain1 grain2 grain0 grain3"},
    ]
    rows.append({"label": ["rare"], "text": "corn1 corn2 corn0"})
    found = {
        row[0].rpartition(":")[2]: row[1:]
        for row in succeed("suspects", write_rows("all.jsonl", rows)).rows
    }
    assert found["61"][:2] == ["corn|oil", "corn"]
    assert found["62"][:2] == ["corn", "corn|grain"]
    assert "63" not in found  # no other document has its label
    for command in (
        "suspects --classifier bernoulli --min-log-odds 1",
        "suspects --weighting log --min-log-odds 1",
    ):
        above = succeed(command, "all.jsonl").rows
        assert all(float(row[3]) > 1 for row in above)
        assert all(len(set(row[1].split("|")) ^ set(row[2].split("|"))) <= 2 for row in above)


def test_guarantees_apply_to_label_sets(labels_model: Path, asked: Path) -> None:
    """`--coverage` gives sets, `--min-precision` fewer labels, `--costs` labels that are expensive to miss; another prior is refused."""

    def given(*options: str) -> list[set[str]]:
        return [
            set(labels.split("|")) - {""}
            for _, labels, _ in succeed(
                "classify --format lines", *options, asked, "-m", labels_model
            ).rows
        ]

    few, many = given("--coverage", "0.5"), given("--coverage", "0.95")
    assert all(one <= other for one, other in zip(few, many, strict=True))
    assert given("--min-precision", "0.5")[1] == {"oil"}
    costs = labels_model.parent / "costs.toml"
    costs.write_text("[grain]\nmissed = 1e9\n")
    assert all("grain" in labels for labels in given("--costs", str(costs)))
    rows = labels_model.parent / "rows.jsonl"
    rows.write_text(
        "".join(
            json.dumps({"text": text, "labels": own}) + "\n"
            for text, own in zip(made.TEXTS, made.SETS, strict=True)
        ),
        "utf-8",
    )
    found = in_json("cross-validate --label-column labels --folds 3", rows, "--costs", costs)
    assert found["per_class"]["grain"]["recall"] == 1
    costs.write_text("[grain]\noil = 3\n")
    assert "costs.toml: the costs of 'grain' must be `missed`, `false` or both" in fail(
        2, "cross-validate --label-column labels --folds 3", rows, "--costs", costs
    )
    assert "costs.toml: the costs of 'grain' must be `missed`, `false` or both" in fail(
        2, "classify --text x --costs", costs, "-m", labels_model
    )
    assert "cannot be used with" in fail(
        2, "classify --format lines", asked, "--prior-from", asked, "-m", labels_model
    )
    assert "cannot be used with" in fail(
        2, "classify --text x --label-threshold label --coverage 0.9 -m", labels_model
    )


def test_report_of_a_multi_label_model_speaks_of_labels(labels_model: Path, tmp_path: Path) -> None:
    rows = "".join(
        json.dumps({"labels": labels, "text": text}) + "\n"
        for text, labels in zip(made.TEXTS, made.SETS, strict=True)
    )
    write("all.jsonl", rows)
    nbtext(
        "report --label-column labels --to",
        tmp_path / "page.html",
        tmp_path / "all.jsonl",
        "-m",
        labels_model,
    )
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "the model has no calibration" not in page
    assert "Label by label" in page
    assert "It finds exactly the labels of <strong>" in page
    record = json.loads(
        nbtext(
            "evaluate -o json --label-column labels", tmp_path / "all.jsonl", "-m", labels_model
        ).text
    )
    assert f"{100 * record['precision_at_1']:.1f} % are right" in page.replace("\xa0", " ")
    assert not re.search(
        "class(es)? ",
        re.sub("(?s)<style.*?</style>|<[^>]*>", "", page[: page.index("How it was made</h2>")]),
    )
