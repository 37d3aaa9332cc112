"""Values and weights beside a text: which are refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.document_fields import Attributes, parse_weight
from nbtext.errors import DocumentError
from nbtext.settings import Reading

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
