"""`--output`: the same rows as tsv, csv and jsonl, wherever rows come out. Also tests `metrics/results.py`."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from tests.process import SERVICE_DESK, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path

ROWS = {
    "explain": ("pets/cats/1",),
    "why-not": ("dogs", "pets"),
    "tokens": ("pets/cats/1",),
    "generate": ("-n", "3", "--seed", "0"),
    "evaluate": ("pets",),
    "cross-validate": ("pets", "--folds", "2"),
    "learning-curve": (SERVICE_DESK / "train", "--steps", "2", "--folds", "2", "--repeats", "1"),
    "tune": ("pets", "--try", "smoothing=1,2", "--folds", "2"),
    "suspects": (SERVICE_DESK / "train", "-n", "3"),
    "select-features": ("-n", "3"),
    "classify": ("pets",),
    "drift": ("drift.log",),
    "doctor": ("pets",),
}


@pytest.mark.parametrize("command", ROWS)
def test_rows_are_the_same_in_every_output_format(pets: Path, command: str) -> None:
    if command == "drift":
        succeed("classify pets --drift drift.log")
    forms = {
        form: nbtext(command, *ROWS[command], "--output", form) for form in ("tsv", "csv", "jsonl")
    }
    assert {done.status for done in forms.values()} == {0}
    head, *cells = csv.reader(io.StringIO(forms["csv"].text))
    assert cells
    assert len(head) == len(set(head))
    of_tsv = [line.split("\t") for line in forms["tsv"].text.splitlines()]
    assert [cells for *cells, _ in cells] == of_tsv if command == "classify" else cells == of_tsv
    records = forms["jsonl"].records
    assert set(head) & set(records[0])
    for name in set(head) & set(records[0]):
        if command not in {"explain", "why-not", "tokens", "tune"} and not isinstance(
            records[0][name], (list, dict)
        ):
            for row, record in zip(cells, records, strict=True):
                cell, value = row[head.index(name)], record[name]
                assert (
                    float(cell) == pytest.approx(value, rel=1e-5)
                    if isinstance(value, float)
                    else cell == str("" if value is None else value)
                )
    if command in {"classify", "select-features"}:
        assert [
            line.split()
            for line in succeed(command, *ROWS[command], "--output", "table").text.splitlines()[2:]
        ] == of_tsv


def test_rows_of_classes_have_the_metrics_of_json(pets: Path) -> None:
    whole = json.loads(nbtext("evaluate pets --output json").out)
    rows = nbtext("evaluate pets -o jsonl").records
    assert {row.pop("label"): row for row in rows} == whole["per_class"]
