"""The parts of a document: what was joined comes out again, and no text passes for another part."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.document_parts import (
    NO_FIELDS,
    WEIGHT_UNIT,
    Fields,
    field_name,
    split_fields,
    split_values,
    with_fields,
    with_values,
    with_weight,
    without_fields,
    without_separators,
)

TEXT = st.one_of(st.text(), st.text(alphabet="ab \0\x1c\x1d\x1e\x1f")).map(str.encode)
ITEMS = TEXT.map(lambda text: b" ".join(without_separators(text).split()))
FIELDS = st.builds(Fields, st.lists(st.tuples(st.text(max_size=5).map(field_name), TEXT), max_size=4), ITEMS)


@given(TEXT)
def test_separators_become_spaces(text: bytes) -> None:
    assert without_separators(text) == re.sub(rb"[\0\x1c-\x1f]", b" ", text)


@pytest.mark.parametrize(
    "fields",
    [Fields([(b"from", b"caf\xc3")]), Fields([(b"from\xc3", b"x")]), Fields(items=b"tag:\xa9"), Fields([(b"a", b"\xc3"), (b"b", b"\xa9")])],
)
def test_what_is_no_utf8_is_refused_while_its_document_is_known(fields: Fields) -> None:
    """A reader may cut a character; whoever reads the document makes this its problem."""
    with pytest.raises(UnicodeDecodeError):
        with_fields(b"text", fields)


@given(TEXT, FIELDS, st.lists(st.text(alphabet="ab 1", max_size=3), min_size=1, max_size=3))
def test_parts_come_out_as_they_went_in(text: bytes, fields: Fields, values: list[str]) -> None:
    text = without_separators(text)
    words = [(name, without_separators(content)) for name, content in fields.words]
    document = with_values(with_fields(text, fields), values)
    without_values, found_values = split_values(document)
    assert without_fields(document) == with_values(text, values)
    assert split_fields(without_values) == (text, Fields(words, fields.items) if words or fields.items else NO_FIELDS)
    assert found_values == values


def test_a_weight_other_than_one_makes_another_document_for_the_ledger() -> None:
    assert [with_weight(b"text", units) for units in (WEIGHT_UNIT, 1, 2000)] == [b"text", b"text\xff1", b"text\xff2000"]


@given(st.text().map(str.encode))
def test_a_document_without_other_parts_is_its_text(text: bytes) -> None:
    assert with_fields(text, NO_FIELDS) == text
    assert without_fields(without_separators(text)) == without_separators(text)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("Subject", "subject"),
        (" Head  Line ", "head_line"),
        ("a:b\tc\x1dd", "a_b_c_d"),
        ("ÉTÉ", "été"),
        ("", "_"),
        (":", "_"),
        ("x" * 99, "x" * 60),
    ],
)
def test_names_of_fields_hold_no_white_space_colon_or_separator(name: str, kept: str) -> None:
    assert field_name(name) == kept.encode()
