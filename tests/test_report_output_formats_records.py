"""Records: one line each that can be read back, in TSV, CSV and JSON; text made safe to look at.

Also tests `report/output_formats.py`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.inspection.overview import ClassPerplexity
from nbtext.inspection.terms import ClassSize, TermValue
from nbtext.metrics.results import to_json_values
from nbtext.report.output_formats import (
    escape_controls,
    format_csv_line,
    format_json_line,
    format_six_digits,
    format_tsv_line,
)

anything = st.text(st.characters(exclude_categories=()))
"""Any text, bytes that are no text (surrogates) included."""


@given(st.lists(anything, min_size=1, max_size=4))
def test_tsv_is_one_line_that_can_be_read_back(fields: list[str]) -> None:
    line = format_tsv_line(fields)
    assert line.endswith("\n")
    assert not set(line[:-1]) & set("\n\r")
    back = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}
    assert [
        re.sub(r"\\[\\tnr]", lambda match: back[match[0]], field) for field in line[:-1].split("\t")
    ] == fields


@given(st.lists(anything, min_size=1, max_size=4))
def test_csv_can_be_read_back(fields: list[str]) -> None:
    assert list(csv.reader(io.StringIO(format_csv_line(fields), newline=""))) == [fields]


@given(
    st.dictionaries(
        anything,
        anything | st.floats(allow_nan=False, allow_infinity=False) | st.none(),
        max_size=4,
    )
)
def test_json_is_one_line_of_text_that_can_be_read_back(record: dict[str, Any]) -> None:
    line = format_json_line(record)
    line.encode()
    assert json.loads(line) == record
    assert escape_controls(line[:-1]) == line[:-1]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_json_refuses_nan_and_infinity(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        format_json_line({"a": value})


@given(anything)
def test_escaped_text_is_printable_and_escaping_is_idempotent(text: str) -> None:
    shown = escape_controls(text)
    shown.encode()
    assert shown.isprintable() or not any(
        character in shown for character in "\x00\x07\x1b\x7f\x85\x9b\u200f\u2028\u2029\u202e\u2066"
    )
    assert escape_controls(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"), [("plain é 語 🙂", "plain é 語 🙂"), ("a\nb", "a\\x0ab"), ("\udcff", "\\xff"), ("\ud800", "\\ud800"), ("\u202e", "\\u202e"), ("\x9b", "\\x9b")]
)  # fmt: skip
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


def test_numbers_have_six_digits() -> None:
    assert [format_six_digits(value) for value in (0.12345678, 1.0, 1e-20, None)] == [
        "0.123457",
        "1",
        "1e-20",
        "",
    ]


def test_record_becomes_json_by_its_field_names() -> None:
    record = {
        "classes": [ClassPerplexity(1, 0, 0, 0.0, math.nan)],
        "best": (TermValue("cat", math.inf),),
        "size": ClassSize(2, 7, 0.5),
    }
    assert to_json_values(record) == {
        "classes": [
            {"documents": 1, "tokens": 0, "unknown": 0, "log_likelihood": 0, "perplexity": None}
        ],
        "best": [{"term": "cat", "value": None}],
        "size": {"documents": 2, "tokens": 7, "prior": 0.5},
    }
