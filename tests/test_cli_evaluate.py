from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.process import SERVICE_DESK, corpus, fail, in_json, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path


def test_figures_are_those_of_the_answers(service_desk_model: Path) -> None:
    said = in_json("evaluate", SERVICE_DESK / "test", "-m", service_desk_model, "--output", "json")
    rows = succeed("classify", SERVICE_DESK / "test", "-m", service_desk_model).rows
    pairs = [(row[0].split("/")[-2], row[1]) for row in rows]
    assert said["n"] == len(pairs) == 78
    assert said["accuracy"] == pytest.approx(sum(truth == answer for truth, answer in pairs) / 78)
    assert {(truth, answer): n for truth, row in said["confusion"].items() for answer, n in row.items()} == Counter(pairs)
    assert {"macro_f1", "log_loss", "brier", "ece", "intervals"} <= set(said)
    for label, figures in said["per_class"].items():
        assert figures["support"] == sum(truth == label for truth, _ in pairs)
        assert {"precision", "recall", "f1"} <= set(figures)
    table = succeed("evaluate", SERVICE_DESK / "test", "-m", service_desk_model).text
    assert f"{said['accuracy']:.4f}" in table
    assert all(label in table for label in said["classes"])


def test_labels_that_the_model_does_not_know_are_mistakes_and_named(pets: Path) -> None:
    corpus(pets, {"test/cats/1": "a cat", **{f"test/bird{n:02}/1": "a bird" for n in range(12)}})
    done = nbtext("evaluate test --output json")
    names = ", ".join(f"bird{n:02}" for n in range(10))
    assert (done.status, done.notes) == (
        0,
        [f"nbtext: warning: the model does not know the labels {names} and others: 12 documents, counted as mistakes"],
    )
    said = json.loads(done.out)
    assert said["accuracy"] == pytest.approx(1 / 13)
    assert said["unknown_documents"] == {f"bird{n:02}": 1 for n in range(12)}
    assert (said["log_loss"], said["known"]["n"], said["known"]["accuracy"]) == (None, 1, 1)
    table = nbtext("evaluate test -q").text
    assert f"infinite  ({said['known']['log_loss']:.4f} for documents of known classes, of which there are 1)" in table
    assert nbtext("evaluate test -q").notes == []


def test_documents_that_cannot_be_read_are_left_out_and_named(pets: Path) -> None:
    corpus(pets, {"test/cats/1": "a cat", "test/dogs/2": b"\0"})
    done = nbtext("evaluate test --output json")
    assert (done.status, done.notes) == (1, ["nbtext: test/dogs/2: binary, not text (control bytes, the first at 0)"])
    assert json.loads(done.out)["n"] == 1


def test_impossible_documents_count_and_are_finite(pets: Path) -> None:
    succeed("train pets --estimate ml")
    corpus(pets, {"test/cats/1": "cats bark", "test/dogs/1": "purrs"})
    said = in_json("evaluate test --output json")
    assert (said["n"], said["log_loss"]) == (2, None)
    assert b"infinite" in succeed("evaluate test").out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("nothere", 4, "nothere: cannot read: no such file or directory"),
        ("hollow", 2, "the corpus has no documents that can be read"),
        ("pets/cats/1", 2, "is not a directory with one sub-directory per class"),
        ("-", 2, "is not a directory with one sub-directory per class"),
        ("pets --output jsno", 2, "--output must be one of table, tsv, csv, json, jsonl, not 'jsno' (did you mean 'json'?)"),
        ("", 2, "Missing argument 'CORPUS...'; see nbtext evaluate --help"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(pets: Path, arguments: str, status: int, message: str) -> None:
    (pets / "hollow/class").mkdir(parents=True)
    assert message in fail(status, f"evaluate {arguments}")
