"""What stands beside a text: names, separators, what is shown where, and the bytes of which digests are made."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.document_fields import (
    WEIGHT_UNIT,
    append_weight,
    clean_fields,
    clean_text,
    iter_content_offsets,
    normalise_field_name,
    parse_field_pairs,
    render_document,
    serialise_document,
)

if TYPE_CHECKING:
    from nbtext.type_names import Fields

TEXT = st.one_of(st.text(), st.text(alphabet="ab \0\x1c\x1d\x1e\x1f")).map(str.encode)
CLEAN = TEXT.map(clean_text)
NAMES = st.text(max_size=5).map(normalise_field_name)
FIELDS = st.builds(
    lambda words, items: [*words, *((b"", each) for each in items)],
    st.lists(st.tuples(NAMES, CLEAN), max_size=4),
    st.lists(CLEAN.filter(bool), max_size=1),
)


@given(TEXT)
def test_separators_become_spaces(text: bytes) -> None:
    assert clean_text(text) == re.sub(rb"[\0\x1c-\x1f]", b" ", text)


@given(st.lists(st.tuples(NAMES, TEXT), max_size=4))
def test_cleaned_fields_contain_no_separator(fields: Fields) -> None:
    assert list(clean_fields(fields)) == [(name, clean_text(content)) for name, content in fields]


@pytest.mark.parametrize(
    "fields",
    [
        [(b"from", b"caf\xc3")],
        [(b"from\xc3", b"x")],
        [(b"", b"tag:\xa9")],
        [(b"a", b"\xc3"), (b"b", b"\xa9")],
    ],
)
def test_invalid_utf8_in_fields_raises_when_the_document_is_known(fields: Fields) -> None:
    """A reader may cut a character; whoever reads the document makes this its problem."""
    with pytest.raises(UnicodeDecodeError):
        clean_fields(fields)


def test_serialised_bytes_are_stable() -> None:
    fields = [(b"subject", b"free offer"), (b"from", b""), (b"", b"host:y.com tag:x")]
    assert serialise_document(b"win") == serialise_document(b"win", [], ()) == b"win"
    assert (
        serialise_document(b"win", fields)
        == b"win\x1dsubject\x1c free offer\x1dfrom\x1c \x1d\x1c host:y.com tag:x"
    )
    assert serialise_document(b"win", (), ["red", "", "3"]) == b"win\x1ered\x1f\x1f3"
    assert serialise_document(b"", [(b"a", b"b")], [""]) == b"\x1da\x1c b\x1e"


@given(CLEAN, FIELDS, st.lists(st.text(alphabet="ab 1", max_size=3), max_size=3))
def test_different_documents_have_different_bytes(
    text: bytes, fields: Fields, values: list[str]
) -> None:
    before, mark, after = serialise_document(text, fields, values).partition(b"\x1e")
    first, *parts = before.split(b"\x1d")
    assert (first, [tuple(part.split(b"\x1c ", 1)) for part in parts]) == (text, fields)
    assert (after.decode().split("\x1f") if mark else []) == values


@given(CLEAN, FIELDS)
def test_fields_are_rendered_as_lines_after_the_text(text: bytes, fields: Fields) -> None:
    whole = render_document(text, fields)
    places = list(iter_content_offsets(text, fields))
    assert [
        whole[begin : begin + len(content)]
        for (_, content), begin in zip(fields, places, strict=True)
    ] == [each for _, each in fields]
    assert whole == text + b"".join(
        b"\n" + name + (b": " if name else b"  ") + content for name, content in fields
    )


@given(FIELDS)
def test_fields_in_json_are_read_back(fields: Fields) -> None:
    assert (
        parse_field_pairs([[name.decode(), content.decode()] for name, content in fields]) == fields
    )


def test_weight_other_than_one_changes_the_bytes_of_the_document() -> None:
    assert [append_weight(b"text", units) for units in (WEIGHT_UNIT, 1, 2000)] == [
        b"text",
        b"text\xff1",
        b"text\xff2000",
    ]


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
def test_field_names_have_no_white_space_colon_or_separator(name: str, kept: str) -> None:
    assert normalise_field_name(name) == kept.encode()
