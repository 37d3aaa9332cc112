"""Ranked terms in every form."""

from __future__ import annotations

import sys
from math import isfinite
from typing import TYPE_CHECKING

from nbtext.report import records

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMNS = ("rank", "term", "score", "class")
Feature = tuple[int, str, float, str]


def write_features(rows: Sequence[Feature], output: str, *, excel_safe: bool = False) -> None:
    """Print rank, term, score and class of each row; JSON has null for a score that is infinite."""
    safe = records.excel_safe if excel_safe else str
    texts = [(str(place), safe(term), records.number(score), safe(label)) for place, term, score, label in rows]
    if output == "table":
        from nbtext.report.tables import print_table

        print_table(None, COLUMNS, texts, numeric=[0, 2])
    elif output == "jsonl":
        for place, term, score, label in rows:
            sys.stdout.write(records.json_line({"rank": place, "term": term, "score": score if isfinite(score) else None, "class": label}))
    else:
        if output == "csv":
            sys.stdout.write(records.csv_line(COLUMNS))
        line = records.tsv if output == "tsv" else records.csv_line
        sys.stdout.writelines(line(row) for row in texts)
