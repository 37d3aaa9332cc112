"""Parts of a file of lines: where it can be cut, reading one part, and the names of documents in a part that does not know its line numbers."""

from __future__ import annotations

import io
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus.compression import LONGEST_BEGINNING, compression
from nbtext.corpus.decoding import is_wide

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

    from _typeshed import WriteableBuffer

_MARK = "\ud800"
"""Half a surrogate pair, which neither a decoded text nor a file name has: it stands in names whose line number is counted from a part's start."""

_PIECE = 1 << 16


class Part(NamedTuple):
    """Whole lines of a file, as bytes from ``start`` to ``end``, None for the end of the file."""

    start: int
    end: int | None

    def marked(self, path: str) -> str:
        """How names of documents in this part begin in place of the path."""
        return path + _MARK if self.start else path


def named(name: str, lines_before: int) -> str:
    """The name of a document as it would be without parts, given how many lines of the file stand before its part.

    >>> named(f"{Part(100, None).marked('a.tsv')}:2", 7)
    'a.tsv:8'
    >>> named("a.tsv:2", 7)
    'a.tsv:2'
    """
    path, mark, number = name.rpartition(_MARK)
    return f"{path}:{int(number[1:]) + lines_before - 1}" if mark else name


def parts(path: str, size: int) -> list[Part]:
    """A file cut at line ends into parts of about ``size`` bytes or, where a line is longer, more; none if it is to be read as a whole.

    So is what is no regular file or cannot be read, what is compressed, and what is in an encoding of wide characters.
    """
    try:
        status = os.stat(path)  # noqa: PTH116 - bytes that are no text may stand in a name
        if not stat.S_ISREG(status.st_mode) or status.st_size <= size:
            return []
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as above
            beginning = file.read(LONGEST_BEGINNING)
            if compression(path, beginning) is not None or is_wide(beginning):
                return []
            cuts = [0, *_line_ends(file, size, status.st_size)]
    except (OSError, ValueError):
        return []  # whoever reads it will say why
    return [Part(start, end) for start, end in zip(cuts, [*cuts[1:], None], strict=True)] if len(cuts) > 1 else []


def _line_ends(file: FileIO, step: int, size: int) -> Iterator[int]:
    """Where to cut: behind the first line end after each multiple of the step, but not at the end of the file."""
    cut = 0
    for target in range(step, size, step):
        if target <= cut:
            continue
        file.seek(target - 1)
        position = target - 1
        while piece := file.read(_PIECE):
            found = piece.find(b"\n")
            if found >= 0:
                break
            position += len(piece)
        if not piece or position + found + 1 >= size:
            return
        cut = position + found + 1
        yield cut


class PartOfFile(io.RawIOBase):
    """The bytes of a part, and how many lines ended among those read so far."""

    def __init__(self, file: FileIO, part: Part) -> None:
        self._file, self._left = file, part.end and part.end - part.start
        self._read = 0
        self.line_ends = 0
        file.seek(part.start)

    def readable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The bytes read so far."""
        return self._read

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill the buffer as far as the part goes; 0 at its end."""
        view = memoryview(buffer)
        if self._left is not None:
            view = view[: self._left - self._read]
        count = self._file.readinto(view) or 0
        self._read += count
        self.line_ends += bytes(view[:count]).count(b"\n")
        return count
