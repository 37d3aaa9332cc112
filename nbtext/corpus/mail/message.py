"""One message in the hands of a mail filter: a header of nbtext's own is put into it, and no other byte changes."""

from __future__ import annotations

import re
from typing import NamedTuple

MARK_HEADER = "X-Nbtext"

MAX_HEAD_BYTES = 1 << 20
"""Bytes at the start of a message among which its headers are; mail servers accept far fewer."""

_ENVELOPE = re.compile(rb"(?:From [^\n]*\n(?:>From [^\n]*\n)*)?(?:[ \t][^\n]*\n)*")
"""The lines that an mbox has before a message, and folded lines that continue no header: a header in front of them would take them over."""

_EMPTY_LINE = re.compile(rb"^\r?\n", re.MULTILINE)

_MARKED = re.compile(
    rb"^%b[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*(?:\n|\Z)" % MARK_HEADER.encode(),
    re.MULTILINE | re.IGNORECASE,
)

_LINE_END = re.compile(rb"\r?\n")


class Message(NamedTuple):
    """The start of a message: what stands before its first header, and all else without headers named `MARK`.

    Headers reach to the first empty line, whatever they look like, as procmail and formail have it. A header that is there already was written
    by the sender or by an earlier run, so nobody may trust it.
    """

    envelope: bytes
    content: bytes

    @classmethod
    def from_start(cls, start: bytes) -> Message:
        """Return the message that begins with these bytes, at least `MAX_HEAD_BYTES` of them if it is as long."""
        found = _ENVELOPE.match(start)
        begin = found.end() if found else 0
        empty = _EMPTY_LINE.search(start, begin)
        end = empty.start() if empty else len(start)
        return cls(start[:begin], _MARKED.sub(b"", start[begin:end]) + start[end:])

    def with_mark(self, value: str) -> bytes:
        r"""Return the message with one header `MARK` in front of all others; lines of its value after the first must begin with a space.

        >>> Message.of(b"From ann Sat\nx-nbtext: forged\nSubject: prize\n\nwin").marked("spam; probability=0.98")
        b'From ann Sat\nX-Nbtext: spam; probability=0.98\nSubject: prize\n\nwin'
        """
        first = _LINE_END.search(self.content)
        header = f"{MARK_HEADER}: {value}\n".encode().replace(b"\n", first[0] if first else b"\n")
        if self.content.startswith(
            (b" ", b"\t")
        ):  # one line without an end, which would continue the header
            header += b"\n"
        return self.envelope + header + self.content
