"""Records as TSV, CSV or JSON lines: one line each, nothing that a reader could mistake for two."""

from __future__ import annotations

import csv
import io
import json
from math import isfinite
from typing import TYPE_CHECKING, Any

from nbtext.report.visible import escaped_json, visible_on_terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TSV_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def tsv(fields: Sequence[object]) -> str:
    r"""One line of tab-separated fields; backslash, tab and line breaks inside a field are written \\, \t, \n, \r."""
    return "\t".join(visible_on_terminal(str(field).translate(_TSV_ESCAPES)) for field in fields) + "\n"


def csv_line(fields: Sequence[object]) -> str:
    """One record of comma-separated fields, quoted where needed."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow([visible_on_terminal(str(field)) for field in fields])
    return (
        text.getvalue().removesuffix("\r\n") + "\n"
    )  # so that both line breaks are quoted inside a field, and the record ends as others do


def excel_safe(text: str) -> str:
    """A cell that a spreadsheet takes for text: what it would take for a formula gets an apostrophe in front (OWASP ASVS 1.2.10).

    >>> excel_safe("=1+1")
    "'=1+1"
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def json_line(record: Mapping[str, Any]) -> str:
    """One JSON object on a line; control characters and bytes that are no text are written with escapes."""
    return escaped_json(json.dumps(record, ensure_ascii=False, allow_nan=False)) + "\n"


def finite(value: float) -> float | None:
    """A number as JSON can have it: infinity, and what is no number, become None.

    >>> finite(-1.5), finite(float("inf")), finite(float("-inf"))
    (-1.5, None, None)
    """
    return value if isfinite(value) else None


def number(value: float | None) -> str:
    """Six significant digits."""
    return "" if value is None else f"{value:.6g}"
