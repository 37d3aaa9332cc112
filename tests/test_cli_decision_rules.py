"""`nbtext classify`: rules of decision, ranked classes, and answers line by line, as real processes. Also tests `cli/prediction.py`."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pytest

from tests.process import corpus, nbtext, write

if TYPE_CHECKING:
    from pathlib import Path

CORPUS = {
    "cats": ["purr purr sleep", "purr mouse", "sleep all day"],
    "dogs": ["bark fetch", "bark postman bark"],
    "fish": ["swim", "swim bubble"],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a trained model and a few documents, one of them unreadable."""
    home = tmp_path_factory.mktemp("decisions")
    for label, texts in CORPUS.items():
        for number, text in enumerate(texts):
            (home / "corpus" / label).mkdir(parents=True, exist_ok=True)
            (home / "corpus" / label / f"{number}.txt").write_text(text)
    assert nbtext("train corpus --smoothing 1", cwd=home).status == 0
    for name, text in {
        "sure": "purr purr purr sleep",
        "torn": "purr bark",
        "blank": " \n",
        "strange": "zyzzyva",
    }.items():
        (home / f"{name}.txt").write_text(text)
    (home / "binary.txt").write_bytes(b"\0\1\2")
    (home / "costs.toml").write_text("[dogs]\ncats = 50\n")
    (home / "shy.toml").write_text(
        "[cats]\nabstain = 0.3\n[dogs]\nabstain = 0.3\n[fish]\nabstain = 0.3\n"
    )
    return home


def records(home: Path, *arguments: str) -> list[dict[str, Any]]:
    result = nbtext("classify --output jsonl", *arguments, cwd=home)
    assert result.status in {0, 1}, result.err
    return result.records


def test_predictions_below_min_probability_are_replaced_by_a_reason(home: Path) -> None:
    result = nbtext(
        "classify sure.txt torn.txt blank.txt strange.txt --min-probability 0.8", cwd=home
    )
    assert result.status == 0
    assert [row[1:] for row in result.rows][1:] == [
        ["", "low-probability"],
        ["", "empty"],
        ["", "no-known-terms"],
    ]
    assert result.rows[0][1] == "cats"


def test_exit_status_abstained_applies_to_documents_without_prediction(home: Path) -> None:
    torn = ("classify", "torn.txt", "--min-probability", "0.8")
    assert nbtext(*torn, "--exit-status-abstained", "9", cwd=home).status == 9
    assert nbtext(*torn, cwd=home).status == 0
    assert nbtext("classify sure.txt --exit-status-abstained 9", cwd=home).status == 0
    assert nbtext(*torn, "binary.txt", "--exit-status-abstained", "9", cwd=home).status == 1


def test_costs_change_the_prediction_and_are_printed(home: Path) -> None:
    [plain], [dear] = (
        records(home, "torn.txt"),
        records(home, "torn.txt", "--costs", "costs.toml", "--limit", "3"),
    )
    assert plain["label"] == "cats"
    assert dear["label"] != "cats"
    p = {ranked["label"]: ranked["probability"] for ranked in dear["labels"]}
    assert dear["expected_cost"] == pytest.approx(
        min(1 - p["dogs"], 1 - p["fish"], 50 * p["dogs"] + p["fish"]), rel=1e-4
    )
    assert "expected_cost" not in plain


def test_abstaining_is_chosen_if_it_costs_less_than_a_prediction(home: Path) -> None:
    sure, torn, blank = records(home, "sure.txt", "torn.txt", "blank.txt", "--costs", "shy.toml")
    assert sure["label"] == "cats"
    assert (torn["label"], torn["abstained"], torn["expected_cost"]) == (
        None,
        "low-probability",
        0.3,
    )
    assert blank["abstained"] == "empty"


def test_softmax_of_the_scores_of_ranked_classes_is_the_posterior(home: Path) -> None:
    nbtext("train corpus --model raw --calibration none", cwd=home)
    [answer] = records(home, "torn.txt", "--scores", "--model", "raw")
    assert answer["labels"][0]["label"] == answer["label"]
    assert sorted(ranked["label"] for ranked in answer["labels"]) == sorted(CORPUS)
    assert sum(ranked["probability"] for ranked in answer["labels"]) == pytest.approx(1, abs=1e-5)
    best, second = answer["labels"][:2]
    assert best["probability"] / second["probability"] == pytest.approx(
        2.718281828 ** (best["score"] - second["score"]), rel=1e-4
    )
    for ranked in records(home, "torn.txt", "--scores")[0]["labels"]:
        assert ranked["probability"] == pytest.approx(
            1 / (1 + 2.718281828 ** -ranked["log_odds"]), rel=1e-4
        )
    [two] = records(home, "torn.txt", "--limit", "2")
    assert [list(ranked) for ranked in two["labels"]] == [["label", "probability"]] * 2


def test_csv_has_a_column_for_every_requested_value(home: Path) -> None:
    result = nbtext(
        "classify sure.txt binary.txt --output csv --limit 2 --costs costs.toml", cwd=home
    )
    head, sure, binary = csv.reader(io.StringIO(result.text))
    assert head == [
        "id",
        "label",
        "probability",
        "label_2",
        "probability_2",
        "expected_cost",
        "reason",
    ]
    assert sure[1] == "cats"
    assert len(sure) == len(binary) == len(head)
    assert (binary[2], binary[6][:6]) == ("", "binary")


def test_tsv_has_three_columns_even_with_costs(home: Path) -> None:
    documents = ("sure.txt", "torn.txt", "blank.txt", "binary.txt")
    for costs in ("costs.toml", "shy.toml"):
        result = nbtext("classify", *documents, "--output", "tsv", "--costs", costs, cwd=home)
        assert [len(row) for row in result.rows] == [3] * 4
        assert [row[:2] for row in result.rows] == [[name, record["label"] or ""] for name, record in zip(documents, records(home, *documents, "--costs", costs), strict=True)]  # fmt: skip


@pytest.mark.parametrize("classifier", ["multinomial", "bernoulli"])
def test_scores_of_the_only_possible_class_are_valid_json(home: Path, classifier: str) -> None:
    nbtext("train corpus --model ml --estimate ml --classifier", classifier, cwd=home)
    (home / "certain.txt").write_text("swim")
    [answer] = records(home, "certain.txt", "--scores", "--model", "ml")
    first, *others = answer["labels"]
    assert (first["label"], first["probability"], first["log_odds"]) == ("fish", 1.0, None)
    assert first["score"] < 0
    assert [(other["probability"], other["score"], other["log_odds"]) for other in others] == [
        (0.0, None, None)
    ] * 2


def test_log_odds_of_a_single_class_are_valid_json(tmp_path: Path) -> None:
    corpus(tmp_path, {"c/only/1": "some words", "doc": "words"})
    assert nbtext("train c -q").status == 0
    [answer] = records(tmp_path, "doc", "--scores")
    assert [
        (ranked["label"], ranked["probability"], ranked["log_odds"]) for ranked in answer["labels"]
    ] == [("only", 1.0, None)]


def test_class_named_abstain_is_a_class_in_a_cost_file(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            "c/abstain/1": "purr purr",
            "c/dogs/1": "bark",
            "torn": "purr purr bark",
            "t/dogs/1": "purr bark",
        },
    )
    write("costs.toml", "[dogs]\nabstain = 90\n[abstain]\ndogs = 30\n")
    assert nbtext("train c --smoothing 1").status == 0
    [plain], [dear] = records(tmp_path, "torn"), records(tmp_path, "torn", "--costs", "costs.toml")
    assert (dear["label"], "abstained" in dear) == ("dogs", False)
    assert dear["expected_cost"] == pytest.approx(30 * plain["probability"], rel=1e-4)
    assert (
        dear["expected_cost"] > 1
    )  # what giving none costs where only other classes have a cost of it
    assert plain["label"] == "abstain"
    line = "nbtext: the model has a class named abstain: in costs.toml this name means the class, so abstaining is not possible"
    for command in (["classify", "torn"], ["evaluate", "t"]):
        assert nbtext(*command, "--costs", "costs.toml").notes == []
        assert line in nbtext(*command, "--costs", "costs.toml", "-v").notes
    write("other.toml", "[dogs]\nabstain = 0.001\n")
    assert records(tmp_path, "torn", "--costs", "other.toml")[0]["label"] == "abstain"


def test_limit_above_the_number_of_classes_prints_all_classes(home: Path) -> None:
    [answer] = records(home, "torn.txt", "--limit", "99")
    assert len(answer["labels"]) == len(CORPUS)


@pytest.mark.parametrize(
    "arguments",
    [
        "--limit 2 --output tsv",
        "--scores",
        "--batch",
        "--lines",
        "--min-probability 1.5",
        "--limit 0",
        "--exit-status-abstained 256",
    ],
)
def test_incompatible_options_are_refused_in_one_line(arguments: str, home: Path) -> None:
    result = nbtext(f"classify sure.txt {arguments}", cwd=home)
    assert (result.status, result.out, len(result.notes)) == (2, b"", 1)


def test_costs_of_unknown_classes_are_refused(home: Path) -> None:
    (home / "wrong.toml").write_text("[birds]\ncats = 1\n")
    result = nbtext("classify sure.txt --costs wrong.toml", cwd=home)
    assert (result.status, len(result.notes)) == (2, 1)
    assert "birds" in result.notes[0]


def test_batch_gives_the_same_output_as_line_by_line(home: Path) -> None:
    text = "\n".join(["purr", "", "bark postman", "swim zyzzyva", "sleep"] * 50).encode()
    one_by_one, batch = (
        nbtext("classify --lines", *extra, stdin=text, cwd=home) for extra in ((), ("--batch",))
    )
    assert one_by_one.out == batch.out
    assert len(batch.rows) == 250
