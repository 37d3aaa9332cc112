"""Numbers as people read them on a page."""

from __future__ import annotations

from math import inf, nan
from operator import itemgetter

import pytest

from nbtext.report.output_formats import (
    Column,
    format_cells,
    format_interval,
    format_nats,
    format_number,
    format_percent,
    round_to_six_digits,
)


@pytest.mark.parametrize(
    ("value", "decimals", "shown"),
    [
        (0.8031, 1, "80.3\u00a0%"),
        (1.0, 1, "100.0\u00a0%"),
        (0.0, 0, "0\u00a0%"),
        (0.12345, 2, "12.35\u00a0%"),
        (None, 1, "not known"),
    ],
)
def test_proportions_are_formatted_as_percentages(
    value: float | None, decimals: int, shown: str
) -> None:
    assert format_percent(value, decimals) == shown


def test_proportions_and_intervals_are_formatted_as_decimals() -> None:
    assert [
        format_number(0.80316),
        format_number(None),
        format_number(None, "-"),
        format_number(0.8031, decimals=3),
    ] == [
        "0.8032",
        "infinite",
        "-",
        "0.803",
    ]
    assert format_interval((0.25, 0.75), ".3f") == "0.250 to 0.750"
    assert format_interval((0.25, 0.75), "%") == "25.0\u00a0% to 75.0\u00a0%"
    assert format_interval(None) == format_interval(None, "%") == ""
    assert [round_to_six_digits(0.12345678), round_to_six_digits(None)] == [0.123457, None]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-2.345, "−2.3"),
        (2.35, "+2.4"),
        (0.0, "+0.0"),
        (-0.01, "−0.0"),
        (float("inf"), "+∞"),
        (-float("inf"), "−∞"),
    ],
)
def test_nats_have_a_sign_with_a_minus_character(value: float, shown: str) -> None:
    assert format_nats(value) == shown


def test_table_distinguishes_infinities_and_undefined_values() -> None:
    numbers = [(value,) for value in (inf, -inf, nan, 1.0)]
    one, six = Column("nats", itemgetter(0), ".1f"), Column("nats", itemgetter(0), "g")
    assert [cell for [cell] in format_cells([one], numbers, spell_infinity=True)] == [
        "infinite",
        "minus infinity",
        "undefined",
        "1.0",
    ]
    assert [cell for [cell] in format_cells([six], numbers)] == ["inf", "-inf", "nan", "1"]
