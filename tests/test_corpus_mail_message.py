"""A message with nbtext's header: where it stands, and that nothing else changes."""

from __future__ import annotations

import email
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbtext.corpus.mail.message import MARK_HEADER, Message

VALUE = "spam; probability=0.98"
FORGED = b"x-NBTEXT \t: ham; probability=1\r\n\t; folded\n"

lines = st.sampled_from(
    [
        b"Subject: prize",
        b" folded",
        b"no header",
        b"",
        b"From ann Sat",
        b">From bob",
        b"Received: \0\xff",
        b"\tx",
        b"\r",
    ]
)
messages = st.one_of(
    st.binary(max_size=60),
    st.lists(st.tuples(lines, st.sampled_from([b"\n", b"\r\n"])), max_size=8).map(
        lambda found: b"".join(line + end for line, end in found)
    ),
)


def remove_header(message: bytes) -> bytes:
    """The message without the first header of nbtext, which must be there."""
    without, n = re.subn(
        rb"^X-Nbtext: spam; probability=0\.98\r?\n", b"", message, count=1, flags=re.MULTILINE
    )
    assert n == 1
    return without


@given(messages)
@example(b" ")
def test_inserting_the_header_changes_no_other_byte(message: bytes) -> None:
    found = Message.from_start(message)
    between = (
        b"\n" if found.content.startswith((b" ", b"\t")) else b""
    )  # else the message would continue the header
    assert remove_header(found.with_mark(VALUE)) == found.envelope + between + found.content
    assert found.envelope + found.content == message


@given(
    st.lists(st.sampled_from([b"Subject: a\n", FORGED, b"To: b\r\n", b"broken\n"]), max_size=6),
    st.sampled_from([b"", b"\nbody\n", b"\r\n" + FORGED]),
)
def test_existing_headers_are_removed_with_folded_lines_but_not_in_the_body(
    head: list[bytes], body: bytes
) -> None:
    found = Message.from_start(b"".join(head) + body).with_mark(VALUE)
    assert remove_header(found) == b"".join(line for line in head if line != FORGED) + body


@given(messages)
@example(b"\t")
def test_marking_twice_replaces_the_header(message: bytes) -> None:
    once = Message.from_start(message).with_mark(VALUE)
    assert Message.from_start(once).with_mark(VALUE) == once


@given(
    st.lists(st.sampled_from([b"Subject: a", b" b", b"To: c"]), min_size=1, max_size=4),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_email_package_reads_the_inserted_value(head: list[bytes], end: bytes) -> None:
    message = end.join([b"From ann Sat", *head, b"", b"body", b""])
    found = email.message_from_bytes(Message.from_start(message).with_mark(VALUE))
    assert found[MARK_HEADER] == VALUE
    assert found.get_unixfrom() == "From ann Sat"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"", b"X-Nbtext: v\n"),
        (b"\nbody", b"X-Nbtext: v\n\nbody"),
        (b"\r\nbody", b"X-Nbtext: v\r\n\r\nbody"),
        (b"no newline", b"X-Nbtext: v\nno newline"),
        (b"From a Sat\n>From b\nTo: c\n\n", b"From a Sat\n>From b\nX-Nbtext: v\nTo: c\n\n"),
        (b"From a Sat\nTo: c\r\n\r\n", b"From a Sat\nX-Nbtext: v\r\nTo: c\r\n\r\n"),
        (b"  continues nothing\nTo: c\n\n", b"  continues nothing\nX-Nbtext: v\nTo: c\n\n"),
        (b"To: c\nX-Nbtext: forged", b"X-Nbtext: v\nTo: c\n"),
        (b"To: c\n\nX-Nbtext: quoted\n", b"X-Nbtext: v\nTo: c\n\nX-Nbtext: quoted\n"),
    ],
)
def test_header_is_inserted_at_the_start(message: bytes, expected: bytes) -> None:
    assert Message.from_start(message).with_mark("v") == expected


def test_folded_lines_of_the_value_have_the_line_ends_of_the_message() -> None:
    assert (
        Message.from_start(b"To: c\r\n\r\n").with_mark("a;\n b")
        == b"X-Nbtext: a;\r\n b\r\nTo: c\r\n\r\n"
    )
