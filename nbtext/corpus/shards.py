"""Shards: a corpus in pieces that can be read side by side, each small enough to be sent to another process or machine.

A file of lines (tsv, jsonl, lines, fasttext, svmlight) is cut at line ends, a directory or Maildir into lists of its files. Whatever else
stands in one file is one shard: a quoted field of csv may hold line ends, a compressed file can only be read from its beginning, and so can
standard input.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus import directory, maildir
from nbtext.corpus.parts import named, parts
from nbtext.errors import NbtextError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.corpus.directory import ListedFile
    from nbtext.corpus.parts import Part
    from nbtext.corpus.source import Source

OF_LINES = ("tsv", "jsonl", "lines", "fasttext", "svmlight")
"""Formats of which a file can be cut at any line end."""

BYTES, FILES = 1 << 22, 256
"""About what a shard holds at most, unless a single document has more."""

SMALL_FILE = 1 << 12
"""Bytes that a file of a directory counts for if it has fewer: to open it takes as long as to count so many."""


class Shard(NamedTuple):
    """What is to be read of a path: some of its files, a part of it, or all."""

    path: str
    part: Part | None = None
    files: tuple[ListedFile, ...] | None = None

    def absolute(self) -> Shard:
        """The same for a process in another directory, which has it at the same place."""
        files = self.files and tuple((os.path.abspath(file), label, problem) for file, label, problem in self.files)  # noqa: PTH100 - links stay
        return Shard(os.path.abspath(self.path), self.part, files)  # noqa: PTH100


def shards(paths: Sequence[str], source: Source, size: int = BYTES) -> Iterator[Shard]:
    """All of the paths in shards of about ``size`` bytes, in order; notices of what is found on the way go where the source says.

    The shards do not overlap and leave nothing out. Where a path cannot be listed, a last shard is made of all of it: who reads that will
    say why.
    """
    file_format = source.reading["format"]
    for path in paths:
        if file_format in OF_LINES and path != "-":
            yield from [Shard(path, part) for part in parts(path, size)] or [Shard(path)]
        elif file_format in ("dir", "maildir"):
            listed = directory.files if file_format == "dir" else maildir.files
            try:
                yield from (Shard(path, files=files) for files in _grouped(listed(path, source), size))
            except NbtextError:
                yield Shard(path)
                return
        else:
            yield Shard(path)


def _grouped(files: Iterable[ListedFile], size: int) -> Iterator[tuple[ListedFile, ...]]:
    group: list[ListedFile] = []
    total = 0
    for file in files:
        group.append(file)
        total += _size(file[0])
        if total >= size or len(group) == FILES:
            yield tuple(group)
            group, total = [], 0
    if group:
        yield tuple(group)


def _size(path: str) -> int:
    try:
        return max(os.stat(path).st_size, SMALL_FILE)  # noqa: PTH116 - faster
    except (OSError, ValueError):
        return SMALL_FILE


class Names:
    """Puts right the names of documents of consecutive shards, in which lines are counted from the start of a part."""

    def __init__(self) -> None:
        self._lines_before = 0

    def begin(self, shard: Shard) -> None:
        """The names that follow are from this shard."""
        if shard.part is None or not shard.part.start:
            self._lines_before = 0

    def of(self, name: str) -> str:
        """The name as it is without shards."""
        return named(name, self._lines_before)

    def end(self, line_ends: int) -> None:
        """That shard had so many lines."""
        self._lines_before += line_ends
