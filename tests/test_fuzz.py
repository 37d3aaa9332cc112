"""A few hundred inputs for each target of the fuzzer, and what it has found."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbtext.corpus.decoding import NO_DECODING_ISSUES, decode_with_charset
from nbtext.corpus.mail.mail import MailOptions, read_mail
from tests.fuzz.run import changed
from tests.fuzz.targets import TARGETS, seeds
from tests.profiles import examples

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.filterwarnings("ignore:invalid escape sequence")


@pytest.mark.parametrize("name", TARGETS)
def test_every_seed_is_read_or_refused(name: str) -> None:
    assert seeds(name)
    for content in [*seeds(name), b"", b"\0", b"\n"]:
        TARGETS[name](content)


def inputs(name: str) -> st.SearchStrategy[bytes]:
    """Changed seeds, and anything."""
    return st.one_of(
        st.integers(0, 2**32).map(lambda number: changed(seeds(name), random.Random(number))),
        st.binary(max_size=200),
    )


def target_test(name: str, number: int) -> Callable[[], None]:
    @examples(number)
    @given(inputs(name))
    @example(b"")
    def of_target(content: bytes) -> None:
        TARGETS[name](content)

    return of_target


@pytest.mark.parametrize("name", TARGETS)
def test_every_input_is_read_or_refused(name: str) -> None:
    target_test(name, 15 if name == "model" else 40)()


@pytest.mark.parametrize(
    "charset",
    [
        "u\0utf-8",
        "punycode",
        "idna",
        "unicode_escape",
        "raw-unicode-escape",
        "rot13",
        "undefined",
        "x" * 1000,
    ],
)
def test_invalid_charset_is_not_used(charset: str) -> None:
    """A zero byte in its name was an internal error; punycode takes the square of the length, hours for a mail of some megabytes."""
    body = b"caf\xc3\xa9 \\x41-" + b"a1" * 10_000
    assert decode_with_charset(body, charset, "auto") == (body, NO_DECODING_ISSUES)


@pytest.mark.parametrize("charset", ["u\0", "punycode", "us-ascii*=u\0''x"])
def test_invalid_charset_of_a_message_part_is_not_used(charset: str) -> None:
    """The same, of a part of a message, which the email package would decode by itself."""
    head = f'Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain; charset="{charset}"\n\n'
    text, *_ = read_mail(
        head.encode() + b"caf\xc3\xa9 -" + b"a1" * 100_000 + b"\n--b--\n", MailOptions()
    )
    assert text.startswith("café -a1a1".encode())
