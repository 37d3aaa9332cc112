from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from nbtext.parameters import CRITERIA
from tests.process import error_line, nbtext, succeeded

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("by", CRITERIA)
def test_every_output_says_the_same(service_desk_model: Path, by: str) -> None:
    said = {
        output: succeeded(nbtext("select-features", "--top", "20", "--by", by, "-m", service_desk_model, "--output", output)).text
        for output in ("tsv", "csv", "jsonl", "table")
    }
    tsv = [line.split("\t") for line in said["tsv"].split("\n")[:-1]]
    assert [row[0] for row in tsv] == [str(place) for place in range(1, 21)]
    scores = [float(row[2]) for row in tsv]
    assert scores == sorted(scores, reverse=True)
    assert len({row[1] for row in tsv}) == 20
    assert list(csv.reader(io.StringIO(said["csv"]))) == [["rank", "term", "score", "class"], *tsv]
    records = [json.loads(line) for line in said["jsonl"].split("\n")[:-1]]
    assert [[str(r["rank"]), r["term"], f"{r['score']:.6g}", r["class"]] for r in records] == tsv
    assert [line.split() for line in said["table"].split("\n")[2:-1]] == tsv


def test_top_is_100_unless_told(service_desk_model: Path) -> None:
    assert len(succeeded(nbtext("select-features", "-m", service_desk_model)).rows) == 100
    rows = succeeded(nbtext("select-features", "-m", service_desk_model, "--top", "100000")).rows
    assert rows[:100] == succeeded(nbtext("select-features", "-m", service_desk_model)).rows
    assert 1000 < len(rows) < 100_000


def test_infinite_scores_are_null_in_json(pets: Path) -> None:
    succeeded(nbtext("train", "pets", "--estimate", "ml", cwd=pets))
    arguments = ("select-features", "--by", "log-odds", "--top", "1")
    assert succeeded(nbtext(*arguments, cwd=pets)).rows[0][2] == "inf"
    line = succeeded(nbtext(*arguments, "--output", "jsonl", cwd=pets)).text
    assert json.loads(line, parse_constant=pytest.fail)["score"] is None


def test_ngrams_are_terms(pets: Path) -> None:
    succeeded(nbtext("train", "pets", "--ngrams", "2", "--stemmer", "none", "--stop-words", "none", cwd=pets))
    assert "the sofa" in [row[1] for row in succeeded(nbtext("select-features", cwd=pets)).rows]


@pytest.mark.parametrize("arguments", [["--top", "0"], ["--top", "x"], ["--by", "luck"], ["--output", "json"], ["more"], ["-v", "-q"]])
def test_wrong_usage_is_told_in_one_line(pets: Path, arguments: list[str]) -> None:
    error_line(nbtext("select-features", *arguments, cwd=pets), 2)
