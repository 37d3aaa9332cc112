"""Text from others made safe to look at: what would move a cursor, ring a bell, break or reverse a line is shown as its code."""

from __future__ import annotations

import re
import sys
from functools import cache

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""The text with control and bidirectional characters, and bytes that are no text, written \xNN or \uNNNN.

    >>> print(visible("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _UNSAFE.sub(_code, text)


def visible_on_terminal(text: str) -> str:
    """The text, as `visible` if standard output is a terminal, else as it is."""
    return visible(text) if _is_terminal() else text


def escaped_json(text: str) -> str:
    r"""JSON with the same characters written \uNNNN, which a reader of JSON takes for the characters themselves."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@cache
def _is_terminal() -> bool:
    return sys.stdout.isatty()


def _code(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no text, as Python carries it
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
