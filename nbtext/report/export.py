"""Write the weights of a model as lines of csv, tsv, jsonl or SQL."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from nbtext.errors import UsageError
from nbtext.metrics.results import to_json_values
from nbtext.report.export_sql import iter_sql
from nbtext.report.output_formats import format_csv_line, format_json_line, format_tsv_line
from nbtext.store.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.model.weights import TermWeights

STANDARD_OUTPUT = "-"

SUFFIXES = (".csv", ".tsv", ".jsonl", ".sql")


def get_export_suffix(path: str) -> str:
    """Return the suffix of a path, ``.csv`` for `STANDARD_OUTPUT`.

    Raise `UsageError` unless it is one of `SUFFIXES`.
    """
    if path == STANDARD_OUTPUT:
        return ".csv"
    suffix = os.path.splitext(path)[1]
    if suffix not in SUFFIXES:
        raise UsageError(f"--to {path} names no format", hint=f"use {', '.join(SUFFIXES)}")
    return suffix


def write_export(weights: TermWeights, path: str) -> None:
    """Print the weights, or replace the file as a whole."""
    suffix = get_export_suffix(path)
    lines = iter_sql(weights) if suffix == ".sql" else _iter_table(weights, suffix)
    if path == STANDARD_OUTPUT:
        sys.stdout.writelines(lines)
    else:
        replace_file(path, lambda file: file.writelines(map(str.encode, lines)))


def _iter_table(weights: TermWeights, suffix: str) -> Iterator[str]:
    """Yield the lines of csv, tsv or jsonl. In jsonl, an infinite weight is null."""
    columns = weights.columns
    if suffix == ".jsonl":
        for row in weights.iter_rows():
            yield format_json_line(to_json_values(dict(zip(columns, row, strict=True))))
        return
    format_line = format_csv_line if suffix == ".csv" else format_tsv_line
    yield format_line(columns)
    for row in weights.iter_rows():
        yield format_line("" if value is None else str(value) for value in row)
