"""Commands with a model of several labels per document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests import test_classifiers_many_labels as made
from tests.process import fail, succeed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("several") / "nbtext.joblib"
    made.trained().save(str(path))
    return path


@pytest.fixture(scope="module")
def asked(model: Path) -> Path:
    path = model.parent / "asked.txt"
    path.write_text("corn1 corn2 corn0 grain0 grain1 grain3\noil0 oil1 oil2\nword1 word2 word3\nunheard\n", "utf-8")
    return path


def test_a_set_of_labels_is_one_record(model: Path, asked: Path) -> None:
    rows = succeed("classify --format lines", asked, "-m", model).rows
    lines = succeed("classify --format lines --output jsonl", asked, "-m", model).text.splitlines()
    assert [row[0] for row in rows] == [json.loads(line)["id"] for line in lines]
    for (_, labels, probabilities), line in zip(rows, lines, strict=True):
        record = json.loads(line)
        given = {each["label"]: f"{each['probability']:.6g}" for each in record["labels"]}
        assert given == (dict(zip(labels.split("|"), probabilities.split("|"), strict=True)) if labels else {})
        assert labels or probabilities == record["abstained"]
    assert set(rows[0][1].split("|")) >= {"corn", "grain"}
    assert rows[1][1] == "oil"
    assert rows[2][1:] == ["", "no-label"]


def test_the_most_probable_labels_whether_given_or_not(model: Path, asked: Path) -> None:
    for line in succeed("classify --format lines --output jsonl --limit 3", asked, "-m", model).text.splitlines():
        each = [entry["probability"] for entry in json.loads(line)["labels"]]
        assert len(each) == 3
        assert each == sorted(each, reverse=True)


def test_labels_are_given_from_a_probability_or_a_threshold_of_their_own(model: Path, asked: Path) -> None:
    def given(decide: str) -> list[set[str]]:
        rows = succeed("classify --format lines --decide", decide, asked, "-m", model).rows
        return [set(labels.split("|")) - {""} for _, labels, _ in rows]

    assert given("0")[0] == set(made.LABELS)
    assert all(few <= many for few, many in zip(given("0.6"), given("0.2"), strict=True))
    assert given("1") == [set()] * 4
    assert given("label")[1] == {"oil"}
    assert "must be a number from 0 to 1, not 'best'" in fail(2, "classify --decide best --text x -m", model)


def test_a_ledger_knows_sets_of_labels(tmp_path: Path) -> None:
    rows = [{"labels": labels, "text": text} for text, labels in zip(made.TEXTS, made.SETS, strict=True)]
    first, more = ("".join(json.dumps(row) + "\n" for row in part) for part in (rows[:40], rows[30:]))
    (tmp_path / "first.jsonl").write_text(first, "utf-8")
    (tmp_path / "more.jsonl").write_text(more, "utf-8")
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    for name, *paths in (("whole", "all"), ("updated", "first", "more")):
        command = "train"
        for path in paths:
            succeed(f"{command} --once --label-column labels -m", tmp_path / name, tmp_path / f"{path}.jsonl")
            command = "update"
    assert (tmp_path / "updated").read_bytes() == (tmp_path / "whole").read_bytes()
    succeed("forget --once -m", tmp_path / "updated", tmp_path / "more.jsonl")
    assert "was never learnt as 'corn|grain'" in fail(
        2,
        "forget --label-column labels -m",
        tmp_path / "whole",
        "-",
        stdin=b'{"text": "x", "labels": ["grain", "corn"]}\n',
    )
