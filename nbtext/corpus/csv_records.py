"""Lines for the csv module, which has no limit of its own on a record: one that is too large is read over, not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import TextIOWrapper


class RecordTooLarge(Exception):  # noqa: N818 - no failure: it tells the reader to begin again behind the record
    """Raised through `csv.reader` in place of the next line."""


class RecordLines:
    """The lines of a text, as long as those since `next_record` have not more characters than the limit together."""

    def __init__(self, text: TextIOWrapper, limit: int) -> None:
        self._text, self._limit = text, limit
        self._number = 0
        self._size = 0
        self._quotes = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._limit + 3)
        if not line:
            raise StopIteration
        self._number += 1
        self._size += len(line)
        if self._size > self._limit + 2:
            self._pass_over(line)
            raise RecordTooLarge
        self._quotes += line.count('"')
        return line

    def next_record(self) -> int:
        """Begin a new record; the number of its first line."""
        self._size = self._quotes = 0
        return self._number + 1

    def _pass_over(self, line: str) -> None:
        """Go to the end of the record: a line end outside quotes, which is one after an even number of quotes."""
        while line:
            self._quotes += line.count('"')
            if line[-1] in "\r\n":
                if self._quotes % 2 == 0:
                    return
                self._number += 1
            line = self._text.readline(self._limit + 3)
