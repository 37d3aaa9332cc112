"""Mark a message for a mail filter: add a header, and change no other byte.

Headers of the same name, which the sender or an earlier run wrote, are removed.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MARK_HEADER = "X-Nbtext"
"""Name of the header that marks a message."""

MAX_HEAD_BYTES = 1 << 20
"""Number of first bytes of a message that must contain its headers.

Mail servers accept far smaller headers.
"""

_ENVELOPE = re.compile(rb"(?:From [^\n]*\n(?:>From [^\n]*\n)*)?(?:[ \t][^\n]*\n)*")
"""The lines that an mbox has before a message, and lines that start with white space.

Such a line continues the header before it, so a header added in front of the lines would absorb
them.
"""

_EMPTY_LINE = re.compile(rb"^\r?\n", re.MULTILINE)

_MARK_HEADERS = re.compile(
    rb"^%b[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*(?:\n|\Z)" % MARK_HEADER.encode(),
    re.MULTILINE | re.IGNORECASE,
)
"""A header named `MARK_HEADER`, with the lines that continue it."""

_LINE_END = re.compile(rb"\r?\n")


class Message(NamedTuple):
    """The start of a message without headers named `MARK_HEADER`.

    As in procmail and formail, headers end at the first empty line, even if lines before it are not
    valid headers.
    """

    envelope: bytes
    """The bytes before the first header."""
    content: bytes
    """The headers, except `MARK_HEADER`, and all bytes after them."""

    @classmethod
    def from_start(cls, start: bytes) -> Message:
        """Parse the start of a message: the whole message, or at least `MAX_HEAD_BYTES`."""
        # `_ENVELOPE` matches even an empty string, so the match is not None.
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
        header = f"{MARK_HEADER}: {value}\n".encode()
        line_end = _LINE_END.search(self.content)
        if line_end:  # use the line ends of the message
            header = header.replace(b"\n", line_end[0])
        # The content can start with a space only if it is a line without an end. The empty line
        # prevents that this line continues the header.
        if self.content.startswith((b" ", b"\t")):
            header += b"\n"
        return self.envelope + header + self.content
