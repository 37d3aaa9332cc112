"""Shards: a corpus in pieces that can be read side by side, each small enough to send to another process or machine.

A file of one document a line is cut at line ends, a directory or Maildir into lists of its files. Any other file is one shard, and so are a
compressed file and standard input, which can only be read from the beginning.
"""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus.compression import LONGEST_BEGINNING, compression
from nbtext.corpus.decoding import is_wide
from nbtext.corpus.directory import read_listed
from nbtext.corpus.document import FilePart
from nbtext.corpus.reading import decoded, raw_documents, reader
from nbtext.errors import NbtextError
from nbtext.settings import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.corpus.directory import ListedFile
    from nbtext.corpus.document import Document, Source

BYTES, FILES = 1 << 22, 256
"""About the most that a shard holds, unless a single document is larger."""

SMALL_FILE = 1 << 12
"""Bytes that a smaller file of a directory counts for: opening it takes as long as counting so many."""

_READ_AT_ONCE = 1 << 18


class Shard(NamedTuple):
    """The part of a path to read: some of its files, a part of the file, or all."""

    path: str
    part: FilePart | None = None
    files: tuple[ListedFile, ...] | None = None

    def absolute(self) -> Shard:
        """Return the shard for a process in another directory that finds the corpus at the same place."""
        files = self.files and tuple((os.path.abspath(file), label, problem) for file, label, problem in self.files)  # noqa: PTH100 - links stay
        return Shard(os.path.abspath(self.path), self.part, files)  # noqa: PTH100


def shards(paths: Sequence[str], source: Source, size: int = BYTES) -> Iterator[Shard]:
    """Yield all of the paths in shards of about ``size`` bytes, in order, without overlap; add notices to those of the source.

    If a path cannot be listed, the last shard is all of it: reading it reports the reason.
    """
    layout = FORMATS[source.reading.format]
    for path in paths:
        if layout.line_per_document and path != "-":
            yield from (Shard(path, part) for part in parts(path, size))
        elif layout.file_per_document:
            try:
                yield from (Shard(path, files=files) for files in _grouped(reader(layout)(path, source), size))
            except NbtextError:
                yield Shard(path)
                return
        else:
            yield Shard(path)


def read_shard(shard: Shard, source: Source) -> Iterator[Document]:
    """Yield the documents of a shard as `read_corpus` does."""
    if shard.files is not None:
        return decoded((read_listed(file, source) for file in shard.files), source)
    return decoded(raw_documents(shard.path, replace(source, part=shard.part)), source)


def _grouped(files: Iterable[ListedFile], size: int) -> Iterator[tuple[ListedFile, ...]]:
    group: list[ListedFile] = []
    total = 0
    for file in files:
        group.append(file)
        try:
            total += max(os.stat(file[0]).st_size, SMALL_FILE)  # noqa: PTH116 - faster
        except (OSError, ValueError):
            total += SMALL_FILE
        if total >= size or len(group) == FILES:
            yield tuple(group)
            group, total = [], 0
    if group:
        yield tuple(group)


def parts(path: str, size: int) -> Iterator[FilePart | None]:
    """Cut a file at line ends into parts of about ``size`` bytes, or more if a line is longer; yield None alone if it is to be read as a whole.

    That is so for what is no regular file or cannot be read, and for compressed files and wide encodings. The file is read to the end of each
    part, to count its lines, which takes about 2 % of the time of counting its terms.
    """
    start = lines_before = 0
    try:
        for end, line_ends in _cuts(path, size):
            yield FilePart(start, end, lines_before)
            start, lines_before = end, line_ends
    except (OSError, ValueError):
        pass  # reading the rest reports the reason
    yield FilePart(start, None, lines_before) if start else None


def _cuts(path: str, step: int) -> Iterator[tuple[int, int]]:
    """Yield the place after the first line end behind each multiple of the step, except for the end of the file, and the line ends before it."""
    status = os.stat(path)  # noqa: PTH116 - names may hold bytes that are no text
    if not stat.S_ISREG(status.st_mode) or status.st_size <= step:
        return
    with open(path, "rb") as file:  # noqa: PTH123 - as above
        if compression(path, file.peek(LONGEST_BEGINNING)[:LONGEST_BEGINNING]) is not None or is_wide(file.peek(4)):
            return
        position = line_ends = 0
        target = step
        while piece := file.read(min(target - position, _READ_AT_ONCE)) if position < target else file.readline(_READ_AT_ONCE):
            position += len(piece)
            line_ends += piece.count(b"\n")
            if target <= position < status.st_size and piece.endswith(b"\n"):
                yield position, line_ends
                target = (position // step + 1) * step
