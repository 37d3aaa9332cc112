"""Text from others made safe to look at: what would move a cursor, ring a bell or reverse a line is shown as its code."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""The text with control and bidirectional characters, and bytes that are no text, written \xNN or \uNNNN.

    >>> print(visible("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _UNSAFE.sub(_code, text)


def _code(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no text, as Python carries it
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
