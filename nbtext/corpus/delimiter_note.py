"""The note about the delimiter in the first line of a CSV file, such as ``sep=;``.

Excel reads such a line and does not show it as a row, so row 1 is below it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from nbtext.errors import UsageError
from nbtext.settings import check_character

MAX_NOTE_BYTES = 16
"""Maximum size of a note with its line end."""

_NOTE = re.compile(
    rb'(?:\xef\xbb\xbf)?(?P<quote>"?)sep=(?P<delimiter>[^"\r\n]{1,4})(?P=quote)(?:\r\n|[\r\n]|\Z)',
    re.IGNORECASE,
)


class DelimiterNote(NamedTuple):
    """A delimiter, and the size of the note that sets it, with its line end."""

    delimiter: str
    n_bytes: int

    def require_equal(self, delimiter: str, path: str) -> None:
        """Raise `UsageError` if the table at ``path`` is to be read with another delimiter."""
        if delimiter != self.delimiter:
            raise UsageError(
                f"the first line sets the delimiter {self.delimiter!r}, not {delimiter!r}",
                where=path,
                hint=f"use --delimiter {_format_character(self.delimiter)} for this file",
            )


def find_delimiter_note(start: bytes) -> DelimiterNote | None:
    r"""Return the note in the first bytes of a CSV file, or None without a note.

    >>> find_delimiter_note(b"sep=;\nlabel;text\n")
    DelimiterNote(delimiter=';', n_bytes=6)
    """
    match = _NOTE.match(start)
    if match is None:
        return None
    try:
        delimiter = check_character(match["delimiter"].decode())
    except ValueError:  # several characters, or no UTF-8
        return None
    return DelimiterNote(delimiter, match.end())


def _format_character(delimiter: str) -> str:
    """Return a delimiter as a value of ``--delimiter``."""
    return "tab" if delimiter == "\t" else repr(delimiter)
