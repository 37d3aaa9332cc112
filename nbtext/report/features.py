"""Ranked terms in every form."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nbtext.report import records

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMNS = ("rank", "term", "score", "class")
WORD = "word"
"""A last column, where the model keeps words beside their stems."""

Feature = tuple[int, str, float, str]


def write_features(rows: Sequence[Feature], output: str, words: Sequence[str] | None = None, *, excel_safe: bool = False) -> None:
    """Print rank, term, score and class of each row, and last the word for the term if there are ``words``; JSON has null for an infinite score."""
    safe = records.excel_safe if excel_safe else str
    columns = COLUMNS if words is None else (*COLUMNS, WORD)
    last = [() if words is None else (safe(words[row]),) for row in range(len(rows))]
    texts = [
        (str(place), safe(term), records.number(score), safe(label), *word)
        for (place, term, score, label), word in zip(rows, last, strict=True)
    ]
    if output == "table":
        from nbtext.report.tables import print_table

        print_table(None, columns, texts, numeric=[0, 2])
    elif output == "jsonl":
        for row, (place, term, score, label) in enumerate(rows):
            values = {"rank": place, "term": term, "score": records.finite(score), "class": label}
            sys.stdout.write(records.json_line(values if words is None else {**values, WORD: words[row]}))
    else:
        if output == "csv":
            sys.stdout.write(records.csv_line(columns))
        line = records.tsv if output == "tsv" else records.csv_line
        sys.stdout.writelines(line(row) for row in texts)
