"""`nbtext select-features`: ranked terms, the same in every form.

Also tests `report/rankings.py`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from Stemmer import Stemmer

from tests.process import SERVICE_DESK, succeed

if TYPE_CHECKING:
    from pathlib import Path


TEXTS = [file.read_text(encoding="utf-8").lower() for file in SERVICE_DESK.glob("train/*/*")]
STEM = Stemmer("english").stemWord


def test_model_with_surface_forms_adds_a_column_of_words(pets: Path) -> None:
    succeed("train", SERVICE_DESK / "train", "--ngrams", "2", "--surface-forms", "-m", "forms")
    succeed("train", SERVICE_DESK / "train", "--ngrams", "2", "-m", "stems")
    said, plain = (
        succeed("select-features --limit 60 -m", name).rows for name in ("forms", "stems")
    )
    assert [row[:4] for row in said] == plain
    words = {row[1]: row[4] for row in said}
    assert words["recycl"] == "recycling"
    assert words["council tax"] == "council tax"
    for stem, word in words.items():
        counts = Counter(
            found
            for text in TEXTS
            for found in re.findall(r"[a-z0-9]+", text)
            if STEM(found) == stem
        )
        assert " " in stem or counts[word] == max(counts.values())
    table = succeed("select-features --limit 60 -m forms -o table").text.split("\n")
    assert table[0].split() == ["rank", "term", "score", "class", "word"]
    read = csv.reader(io.StringIO(succeed("select-features --limit 60 -m forms -o csv").text))
    assert list(read) == [["rank", "term", "score", "class", "word"], *said]
    records = succeed("select-features --limit 60 -m forms -o jsonl").records
    assert [record["word"] for record in records] == [row[4] for row in said]


def test_default_limit_is_100(service_desk_model: Path) -> None:
    assert len(succeed("select-features -m", service_desk_model).rows) == 100
    rows = succeed("select-features -m", service_desk_model, "--limit", "100000").rows
    assert rows[:100] == succeed("select-features -m", service_desk_model).rows
    assert 1000 < len(rows) < 100_000


def test_infinite_scores_are_null_in_json(pets: Path) -> None:
    succeed("train pets --estimate ml")
    arguments = ("select-features", "--criterion", "log-odds", "--limit", "1")
    assert succeed(*arguments).rows[0][2] == "inf"
    line = succeed(*arguments, "--output", "jsonl").text
    assert json.loads(line, parse_constant=pytest.fail)["score"] is None
