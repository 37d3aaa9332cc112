"""Values and weights beside a text: which are refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.document_fields import Attributes, parse_weight
from nbtext.errors import DocumentError, UsageError
from nbtext.settings import Reading
from tests.process import fail, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

SOME = Attributes(("colour",), ("visits",), ("age",))


def values(*given_values: str) -> tuple[str, ...]:
    return SOME.normalise_values(given_values)


def test_attribute_names_follow_the_order_of_the_settings() -> None:
    reading = Reading.from_values({"categorical": "b,a", "numeric": "c"})
    assert Attributes.from_settings(reading) == Attributes(("b", "a"), (), ("c",))
    assert Attributes.from_settings(reading).names == ("b", "a", "c")
    assert Attributes.from_settings(Reading.from_values({})).names == ()


@given(st.text())
def test_category_has_no_separators(colour: str) -> None:
    category, *numbers = values(colour, "", "")
    assert category == " ".join(re.sub("[\0\x1c-\x1f]", " ", colour).split())
    assert numbers == ["", ""]


@pytest.mark.parametrize(
    ("given_number", "kept"), [("3", "3"), (" 3.0 ", "3"), ("1e3", "1000"), ("", ""), ("+0", "0")]
)
def test_counts_are_normalised_whole_numbers(given_number: str, kept: str) -> None:
    assert values("", given_number, "")[1] == kept


@pytest.mark.parametrize(
    ("given_number", "kept"),
    [
        ("3", "3.0"),
        ("-0.0", "0.0"),
        (".5", "0.5"),
        ("1E-100", "1e-100"),
        ("  ", ""),
        ("0.1", "0.1"),
    ],
)
def test_equal_numbers_have_the_same_text(given_number: str, kept: str) -> None:
    assert values("", "", given_number)[2] == kept


@pytest.mark.parametrize(
    "wrong", ["-1", "1.5", "nan", "1_000", "٣", "9007199254740992", "x", "1e400"]
)
def test_invalid_counts_are_refused(wrong: str) -> None:
    with pytest.raises(DocumentError, match="at 'visits' is not a whole number from 0"):
        values("", wrong, "")


@pytest.mark.parametrize("wrong", ["nan", "inf", "1,5", "0x10", "1e101", "1e-101", "x" * 100])
def test_invalid_numbers_are_refused(wrong: str) -> None:
    with pytest.raises(DocumentError, match="at 'age' is not a number"):
        values("", "", wrong)


def test_weights_are_plain_numbers_with_at_most_three_decimals() -> None:
    assert [
        parse_weight("w", value) for value in ("0", "1", " 2.50 ", "0.001", "1000000", "3.1410")
    ] == [0, 1000, 2500, 1, 10**9, 3141]
    for wrong in ("", "-1", "+1", "1e3", "nan", ".5", "1,5", "0.0001", "1000000.001", "²"):
        with pytest.raises(DocumentError, match="is not a number from 0 to 1,000,000"):
            parse_weight("w", wrong)


def test_ranges_of_columns_are_expanded(tmp_path: Path) -> None:
    attributes = Attributes.from_settings(Reading(numeric="e8-e10,size", count="n01-n03"))
    assert attributes.numeric == ("e8", "e9", "e10", "size")
    assert attributes.counts == ("n01", "n02", "n03")
    assert Attributes.from_settings(Reading(numeric="2-4")).numeric == ("2", "3", "4")
    for wrong in ("e3-e1", "e1-e3,e2", "0-3"):
        with pytest.raises(UsageError, match="numeric"):
            Reading(numeric=wrong)


def test_model_of_a_range_equals_the_model_of_its_columns(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    rows = [("label", *(f"e{index}" for index in range(5)))]
    for row in range(40):
        values = generator.normal(row % 2, size=5)
        rows.append((f"c{row % 2}", *(f"{value:.4f}" for value in values)))
    write("t.csv", "".join(",".join(row) + "\n" for row in rows))
    succeed("train t.csv --numeric e0-e4 -m by-range")
    succeed("train t.csv --numeric e0,e1,e2,e3,e4 -m by-name")
    answers = [succeed("classify t.csv -m", model).out for model in ("by-range", "by-name")]
    assert answers[0] == answers[1]
    assert "no column is called 'e5'" in fail(4, "train t.csv --numeric e0-e5")
