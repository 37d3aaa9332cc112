"""`nbtext cross-validate`: models of a corpus judged on documents left out of training, as a process.

Also tests `report/evaluations.py` and `report/predictions.py`.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from nbtext.metrics.intervals import wilson_interval
from nbtext.settings import CLASSIFIERS
from tests.process import (
    SERVICE_DESK,
    corpus,
    error_line,
    fail,
    in_json,
    json_lines,
    nbtext,
    succeed,
    succeeded,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

DESK = SERVICE_DESK / "train"


def cross_validate_json(*arguments: str | Path) -> dict[str, Any]:
    said: dict[str, Any] = in_json("cross-validate", *arguments)
    return said


def write_timed_table(folder: Path, rows: list[tuple[str, str, str, str]]) -> Path:
    path = folder / "t.csv"
    path.write_text(
        "".join(",".join(row) + "\n" for row in [("topic", "body", "who", "day"), *rows]),
        encoding="utf-8",
    )
    return path


COLUMNS = ("--label-column", "topic", "--text-column", "body")


def test_cross_validate_evaluates_every_document_once() -> None:
    said, table_of_said = cross_validate_json(DESK), succeed("cross-validate", DESK).text
    assert said["n"] == 222
    assert Counter(
        {truth: sum(row.values()) for truth, row in said["confusion"].items()}
    ) == Counter(dict.fromkeys(said["classes"], 37))
    assert {"macro_f1", "log_loss", "brier", "ece", "per_class", "intervals", "baselines"} <= set(
        said
    )
    folds = said["folds"]
    assert (folds["method"], folds["n"], folds["repeats"], folds["seed"]) == (
        "stratified",
        10,
        1,
        0,
    )
    assert sum(fold["documents"] for fold in folds["each"]) == 222
    assert all(fold["training_documents"] + fold["documents"] == 222 for fold in folds["each"])
    hits = sum(fold["accuracy"] * fold["documents"] for fold in folds["each"])
    assert hits / 222 == pytest.approx(said["accuracy"])
    assert said["intervals"]["accuracy"] == pytest.approx(wilson_interval(round(hits), 222))
    assert 0.4 < said["accuracy"] < 0.8
    assert f"{said['accuracy']:.4f}" in table_of_said
    assert (
        f"{folds['accuracy']['mean']:.4f} on average, standard deviation {folds['accuracy']['sd']:.4f}"
        in table_of_said
    )


def test_same_seed_gives_the_same_result_and_another_seed_differs() -> None:
    options = ("--folds", "3", "--repeats", "2")
    first = cross_validate_json(DESK, *options, "--seed", "7")
    assert first == cross_validate_json(DESK, *options, "--seed", "7")
    assert (
        first["folds"]["each"]
        != cross_validate_json(DESK, *options, "--seed", "8")["folds"]["each"]
    )
    assert (first["n"], first["folds"]["repeats"], len(first["folds"]["each"])) == (444, 2, 6)
    assert [fold["repeat"] for fold in first["folds"]["each"]] == [1, 1, 1, 2, 2, 2]


def test_training_options_apply_in_every_fold() -> None:
    said = cross_validate_json(DESK, "--folds", "4", "--top", "30", "--smoothing", "0.5")
    assert [(fold["terms"], fold["smoothing"]) for fold in said["folds"]["each"]] == [(30, 0.5)] * 4


def test_leave_one_out_reports_its_method() -> None:
    said = cross_validate_json(DESK, "--leave-one-out")
    assert (said["n"], said["folds"]) == (222, {"method": "leave-one-out", "n": 222, "repeats": 1})


PETS = {
    "cats/1": "the cat purrs on the sofa",
    "cats/2": "cats climb the sofa and scratch it",
    "cats/3": "a cat fetches nothing but purrs",
    "dogs/1": "the dog barks at the postman",
    "dogs/2": "dogs fetch sticks and bark at cats",
    "dogs/3": "the sofa is where the dog sleeps",
    "birds/1": "a bird sings in the tree",
    "birds/2": "birds climb the tree, the cat after them",
}


def test_group_is_never_in_both_training_and_test_parts(tmp_path: Path) -> None:
    """Each writer has words of his own and one class: with them in training every answer is right, without them a guess."""
    rows = [
        (f"c{who % 2}", f"w{who}a w{who}b", f"writer {who}", str(n))
        for who in range(8)
        for n in range(5)
    ]
    path = write_timed_table(tmp_path, rows)
    assert cross_validate_json(path, *COLUMNS, "--folds", "4")["accuracy"] == 1
    grouped = cross_validate_json(path, *COLUMNS, "--folds", "4", "--group-column", "who")
    assert grouped["accuracy"] <= 0.75
    assert (grouped["folds"]["method"], grouped["folds"]["column"]) == ("grouped", "who")
    assert [fold["documents"] for fold in grouped["folds"]["each"]] == [10] * 4
    # a document scored by the class prior alone has one of two probabilities, never that of its own words
    assert all(fold["terms"] == 12 for fold in grouped["folds"]["each"])


def test_time_column_trains_only_on_earlier_documents(tmp_path: Path) -> None:
    """The words of every month are new in it: nothing can be known of a fold from what came before."""
    rows = [
        (f"c{n % 2}", f"m{month}x{n % 2}", "x", f"2024-{month:02}-{1 + n:02}")
        for month in range(1, 7)
        for n in range(8)
    ]
    path = write_timed_table(tmp_path, rows)
    assert cross_validate_json(path, *COLUMNS, "--folds", "4")["accuracy"] == 1
    said = cross_validate_json(path, *COLUMNS, "--folds", "5", "--time-column", "day")
    assert (said["n"], said["accuracy"]) == (40, 0.5)
    assert said["folds"]["method"] == "time"
    assert [
        (fold["training_documents"], fold["documents"], fold["terms"])
        for fold in said["folds"]["each"]
    ] == [(8 * n, 8, 2 * n) for n in range(1, 6)]


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_small_classes_are_warned_of_and_missing_classes_are_unknown(
    classifier: str, pets: Path
) -> None:
    corpus(pets, {"pets/birds/1": "a bird sings"})
    done = nbtext("cross-validate pets --folds 2 --output json --classifier", classifier)
    assert (done.status, done.notes) == (
        0,
        [
            "nbtext: warning: classes with fewer documents than folds: birds",
            "nbtext: warning: counted as mistakes, because the other folds have no document of their class: 1 document of birds",
        ],
    )
    said = json.loads(done.out)
    assert (said["unknown_documents"], said["log_loss"], said["known"]["n"]) == (
        {"birds": 1},
        None,
        4,
    )
    assert nbtext("cross-validate pets --folds 2 -q").notes == []


def test_fail_under_and_fail_over_set_the_exit_status() -> None:
    done = nbtext(
        "cross-validate", DESK, "--folds", "3", "--fail-under", "accuracy=0.99", "--output", "json"
    )
    accuracy = json.loads(done.out)["accuracy"]
    assert (done.status, done.notes) == (
        6,
        [f"nbtext: gate not met: accuracy is {accuracy:.6g}, under 0.99"],
    )
    succeed(
        "cross-validate",
        DESK,
        "--leave-one-out",
        "--fail-under",
        "accuracy=0.2",
        "--fail-over",
        "log_loss=3",
    )


def test_costs_and_min_probability_apply_to_predictions(tmp_path: Path) -> None:
    costs = tmp_path / "costs.toml"
    costs.write_text("[cats]\ndogs = 5\n[dogs]\ncats = 1\n")
    pets = (
        corpus(
            tmp_path, {f"pets/{name}": text for name, text in PETS.items() if "birds" not in name}
        )
        / "pets"
    )
    said = cross_validate_json(pets, "--folds", "3", "--costs", costs)
    confusion = said["confusion"]
    assert said["mean_cost"] == pytest.approx(
        (5 * confusion["cats"].get("dogs", 0) + confusion["dogs"].get("cats", 0)) / 6
    )
    assert cross_validate_json(pets, "--folds", "3", "--min-probability", "1")["answered"] == 0


def test_missing_columns_and_empty_times_are_refused(tmp_path: Path) -> None:
    path = write_timed_table(tmp_path, [("a", "ant", "x", "1"), ("b", "bee", "y", "")])
    assert "t.csv:3 has no time" in fail(
        2, "cross-validate", path.name, *COLUMNS, "--time-column", "day"
    )
    assert "nope" in fail(4, "cross-validate", path.name, *COLUMNS, "--group-column", "nope")
    fail(2, "cross-validate", DESK, "--group-column", "nope")


def test_cross_validate_accepts_counted_features_one_class_and_no_terms(tmp_path: Path) -> None:
    write("f.svmlight", "".join(f"{n % 2} {1 + n % 2}:3 9:1\n" for n in range(8)))
    assert (
        cross_validate_json("f.svmlight", "--format", "svmlight", "--folds", "2")["accuracy"] == 1
    )
    write("one.tsv", "a\tant\na\tape\n")
    assert cross_validate_json("one.tsv", "--folds", "2")["accuracy"] == 1
    write("none.tsv", "a\t-\na\t-\nb\t-\nb\t-\n")
    assert cross_validate_json("none.tsv", "--folds", "2")["accuracy"] == 0.5
    assert cross_validate_json("none.tsv", "--leave-one-out")["accuracy"] == 0


def test_predictions_file_contains_the_evaluated_predictions(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    said = cross_validate_json(DESK, "--folds", "4", "--predictions", path)
    records = json_lines(path.read_bytes())
    assert [of["id"] for of in records] == [str(name) for name in sorted(DESK.rglob("*.txt"))]
    assert all(of["truth"] == of["id"].split("/")[-2] for of in records)
    answers = Counter((of["truth"], of["answer"]) for of in records)
    assert {
        (truth, answer): n for truth, row in said["confusion"].items() for answer, n in row.items()
    } == answers
    assert (
        said["brier"]
        > sum((1 - of["probability"]) ** 2 for of in records if of["truth"] == of["answer"]) / 222
    )
    cross_validate_json(
        DESK, "--folds", "4", "--repeats", "2", "--min-probability", "1", "--predictions", path
    )
    twice = json_lines(path.read_bytes())
    assert [of["id"] for of in twice] == 2 * [of["id"] for of in records]
    assert {of["answer"] for of in twice} == {None}
    assert twice[:222] == [{**of, "answer": None} for of in records]


def test_predictions_file_does_not_overwrite_input(tmp_path: Path) -> None:
    path = write_timed_table(tmp_path, [("a", "ant", "x", "1"), ("b", "bee", "y", "2")])
    before = path.read_bytes()
    done = nbtext("cross-validate", path, "--leave-one-out", *COLUMNS, "--predictions", path)
    assert "choose another --predictions" in error_line(done, 2)
    assert "--predictions needs the name of a file" in fail(
        2, "cross-validate", path, "--predictions", "-"
    )
    fail(4, "cross-validate", path, "--predictions", tmp_path / "none" / "x")
    assert path.read_bytes() == before


def test_file_list_can_come_from_standard_input(tmp_path: Path) -> None:
    names = "".join(f"{name}\0" for name in [DESK])
    done = nbtext(
        "cross-validate --files-from - -0 --folds 3 --output json --predictions",
        "p",
        stdin=names.encode(),
    )
    assert json.loads(succeeded(done).out)["n"] == 222


def test_leave_one_out_with_selected_terms_warns(tmp_path: Path) -> None:
    """Terms chosen with the label of every document in sight foretell labels that were drawn by chance; those chosen for each fold do not."""
    draw = random.Random(5)
    texts = (" ".join(f"w{draw.randrange(2000)}" for _ in range(20)) for _ in range(200))
    write(
        "chance.tsv", "".join(f"{'ab'[number % 2]}\t{text}\n" for number, text in enumerate(texts))
    )
    done = nbtext("cross-validate chance.tsv --top 300 --leave-one-out --output json")
    assert (done.status, json.loads(done.out)["accuracy"] > 0.9) == (0, True)
    assert done.notes[0].startswith("nbtext: warning: --top used the labels of all documents")
    folds = succeed("cross-validate chance.tsv --top 300 --output json")
    assert json.loads(folds.out)["accuracy"] < 0.6
    assert not folds.err
