"""Mark a message with a header for a mail filter, without changing any other byte."""

from __future__ import annotations

import re
from typing import NamedTuple

MARK_HEADER = "X-Nbtext"

MAX_HEAD_BYTES = 1 << 20
"""Number of first bytes of a message that must contain its headers; servers accept far fewer."""

_ENVELOPE = re.compile(rb"(?:From [^\n]*\n(?:>From [^\n]*\n)*)?(?:[ \t][^\n]*\n)*")
"""The lines that an mbox has before a message, and folded lines that continue no header.

A header in front of these would absorb them.
"""

_EMPTY_LINE = re.compile(rb"^\r?\n", re.MULTILINE)

_MARK_HEADERS = re.compile(
    rb"^%b[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*(?:\n|\Z)" % MARK_HEADER.encode(),
    re.MULTILINE | re.IGNORECASE,
)

_LINE_END = re.compile(rb"\r?\n")


class Message(NamedTuple):
    """The start of a message without headers named `MARK_HEADER`.

    Such a header was written by the sender or by an earlier run, so it cannot be trusted. Headers
    end at the first empty line, whatever they look like, as in procmail and formail.
    """

    envelope: bytes
    """The bytes before the first header."""
    content: bytes
    """The headers, except `MARK_HEADER`, and what follows them."""

    @classmethod
    def from_start(cls, start: bytes) -> Message:
        """Parse the start of a message: all of it, or at least `MAX_HEAD_BYTES`."""
        # The pattern matches even an empty string.
        headers_start = _ENVELOPE.match(start).end()  # type: ignore[union-attr]
        empty_line = _EMPTY_LINE.search(start, headers_start)
        headers_end = empty_line.start() if empty_line else len(start)
        headers = _MARK_HEADERS.sub(b"", start[headers_start:headers_end])
        return cls(start[:headers_start], headers + start[headers_end:])

    def with_mark(self, value: str) -> bytes:
        r"""Return the message with a header `MARK_HEADER` in front of all others.

        Lines of the value after the first must start with a space.

        >>> message = Message.from_start(b"From ann Sat\nx-nbtext: forged\nSubject: prize\n\nwin")
        >>> message.with_mark("spam; probability=0.98")
        b'From ann Sat\nX-Nbtext: spam; probability=0.98\nSubject: prize\n\nwin'
        """
        line_end = _LINE_END.search(self.content)
        header = f"{MARK_HEADER}: {value}\n".encode()
        if line_end:
            header = header.replace(b"\n", line_end[0])
        # After the envelope, only a message of one line without an end can start with a space.
        # It would continue the header.
        if self.content.startswith((b" ", b"\t")):
            header += b"\n"
        return self.envelope + header + self.content
