"""Documents whose label may be wrong, as lines of every form."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from nbtext.report import records
from nbtext.report.records import number
from nbtext.report.visible import visible_on_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable

COLUMNS = ("id", "label", "suggested", "log_odds")


class Suspect(NamedTuple):
    """A document, its label, the class suggested, log odds of that against the label in nats (infinite: the label is impossible), p(suggested | d)."""

    id: str
    label: str
    suggested: str
    log_odds: float
    probability: float


def write_suspects(suspects: Iterable[Suspect], form: str, *, safe_cells: bool = False) -> None:
    """Print a line for each: tsv, csv, jsonl or table; or only the names, followed by a line end (paths) or by NUL (print0)."""
    if form == "table":
        from nbtext.report.tables import print_table

        print_table(None, ("document", "label", "suggested", "log odds"), (_fields(suspect) for suspect in suspects), numeric=[3])
        return
    if form == "csv":
        sys.stdout.write(records.csv_line(COLUMNS))
    for suspect in suspects:
        sys.stdout.write(_line(suspect, form, safe_cells=safe_cells))


def _line(suspect: Suspect, form: str, *, safe_cells: bool) -> str:
    match form:
        case "print0":
            return suspect.id + "\0"
        case "paths":
            return visible_on_terminal(suspect.id) + "\n"
        case "jsonl":
            log_odds = float(number(suspect.log_odds)) if suspect.log_odds < float("inf") else None
            return records.json_line({**suspect._asdict(), "log_odds": log_odds, "probability": float(number(suspect.probability))})
        case "csv":
            return records.csv_line(
                [records.excel_safe(field) if safe_cells else field for field in _fields(suspect)[:3]] + [_fields(suspect)[3]]
            )
    return records.tsv(_fields(suspect))


def _fields(suspect: Suspect) -> tuple[str, str, str, str]:
    return suspect.id, suspect.label, suspect.suggested, number(suspect.log_odds)
