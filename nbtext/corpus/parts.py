"""A corpus in shards, which processes read side by side: lists of files, and parts of a file that hold whole records.

A part of a compressed file brings its content along, since only one process should unpack it.
"""

from __future__ import annotations

import os
import stat
from codecs import BOM_UTF8
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.corpus.compression import LONGEST_BEGINNING, compression
from nbtext.corpus.decoding import LONGEST_WIDE, is_wide
from nbtext.corpus.directory import LabelledFolder
from nbtext.corpus.document import FilePart
from nbtext.corpus.streams import readable_stream
from nbtext.errors import NbtextError, PathError
from nbtext.settings import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from io import BufferedReader

    from nbtext.corpus.directory import ListedFile
    from nbtext.corpus.document import Source
    from nbtext.settings import Format

BYTES, FILES = 1 << 22, 256
"""About the most that a shard holds, unless a single document is larger."""

SMALL_FILE = 1 << 12
"""Bytes that a smaller file of a directory counts for: opening it takes as long as counting so many."""

LONGEST_RECORD = 1 << 23
"""Bytes after which no end of a record is looked for: the rest of the file is one part."""

_MESSAGE = b"\nFrom "


class Shard(NamedTuple):
    """The part of a path to read, small enough to send to another process or machine: some of its files, a part of the file, or all.

    A file is cut between records, a directory or Maildir into lists of its files. Standard input, which can only be read from the beginning,
    is one shard.
    """

    path: str
    part: FilePart | None = None
    files: tuple[ListedFile, ...] | None = None

    def absolute(self) -> Shard:
        """Return the shard for a process in another directory that finds the corpus at the same place."""
        files = self.files and tuple((os.path.abspath(file), label, problem) for file, label, problem in self.files)  # noqa: PTH100 - links stay
        path = os.path.abspath(self.path)  # noqa: PTH100
        return Shard(LabelledFolder(path, self.path.label) if isinstance(self.path, LabelledFolder) else path, self.part, files)


def reader(layout: Format) -> Callable[[str, Source], Iterator[Any]]:
    """Return the reader of a format: from a path to its documents, or to its files if there is a document in each."""
    module, _, function = layout.reader.partition(".")
    found: Callable[[str, Source], Iterator[Any]] = getattr(import_module(f"nbtext.corpus.{module}"), function)
    return found


def shards(paths: Sequence[str], source: Source, size: int = BYTES, *, here: bool = True) -> Iterator[Shard]:
    """Yield all of the paths in shards of about ``size`` bytes, in order, without overlap; add notices to those of the source.

    If a path cannot be listed, the last shard is all of it: reading it reports the reason. Compressed files are cut only for processes that
    are ``here``.
    """
    layout = FORMATS[source.reading.format]
    for path in paths:
        if layout.file_per_document:
            try:
                yield from (Shard(path, files=files) for files in _grouped(reader(layout)(path, source), size))
            except NbtextError:
                yield Shard(path)
                return
        elif path == "-":
            yield Shard(path)
        else:
            yield from (Shard(path, part) for part in parts(path, size, source, here=here))


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


def parts(path: str, size: int, source: Source, *, here: bool = True) -> Iterator[FilePart | None]:
    """Cut a file between records into parts of at least ``size`` bytes; yield None alone if it is to be read as a whole.

    That is so for what is no regular file or cannot be read, and for wide encodings. The file is read once more for that, to count the records
    before each part, which takes about 2 % of the time of counting its terms.
    """
    records = _records_of(source)
    try:
        status = os.stat(path)  # noqa: PTH116 - names may hold bytes that are no text
        if records is None or not stat.S_ISREG(status.st_mode):
            yield None
            return
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            is_packed = compression(path, file.peek(LONGEST_BEGINNING)[:LONGEST_BEGINNING]) is not None
            if (status.st_size <= size and not is_packed) or (is_packed and not here) or is_wide(file.peek(LONGEST_WIDE)[:LONGEST_WIDE]):
                yield None
                return
            yield from _cut(readable_stream(file, path, source.unpacked_limit), size, records, file if is_packed else None)
    except (OSError, ValueError, PathError):
        yield None  # reading it reports the reason


def _cut(stream: BufferedReader, size: int, records: Records, packed: BufferedReader | None) -> Iterator[FilePart | None]:
    start = lines = before = read = 0
    rest, wanted, ended, failure = b"", size + LONGEST_BEGINNING, False, None
    while True:
        pieces, there = [rest], len(rest)
        while there <= wanted and not ended and failure is None:  # a byte more, to know that there is more
            try:
                piece = stream.read1(wanted + 1 - there)
            except PathError as problem:
                failure = problem
                break
            ended, there = not piece, there + len(piece)
            pieces.append(piece)
        rest = b"".join(pieces)
        if (start == 0 and not records.may_begin(rest)) or failure is not None or (ended and there <= size):
            break
        end = records.end(rest, size)
        found = records.contained(rest[:end] if start else rest[:end].removeprefix(BOM_UTF8)) if 0 < end < there else None
        if found is not None:
            content = rest[:end] if packed else None
            before_read, read = read, packed.tell() if packed else 0
            yield FilePart(start, start + end, lines, before, content, read - before_read)
            start, lines, before = start + end, lines + found[0], before + found[1]
            rest, wanted = rest[end:], size + LONGEST_BEGINNING
        elif ended or 0 < end < there or there > LONGEST_RECORD:
            break
        else:
            wanted = 2 * there
    if not start:
        yield None
    elif packed and (ended or failure is not None):
        yield FilePart(start, None, lines, before, rest, packed.tell() - read, failure)
    else:
        yield FilePart(start, None, lines, before, is_unpacked=packed is not None)


class Records(NamedTuple):
    """Where records of a format end."""

    end: Callable[[bytes, int], int]
    """From content that begins with a record to the first end of one at or after a place, 0 if there is none."""
    contained: Callable[[bytes], tuple[int, int] | None]
    """From whole records to the line ends and the records in them; None if the ends may be wrong."""
    may_begin: Callable[[bytes], bool] = bool
    """Whether the beginning of a file is one of this format."""


def _records_of(source: Source) -> Records | None:
    name = source.reading.format
    if name == "mbox":
        return Records(_end_of_message, _messages_in, lambda start: start.startswith(FORMATS[name].beginning))
    if name == "csv":
        delimiter = (source.reading.delimiter or ",").encode("utf-8", "surrogateescape")
        return Records(_end_of_record, partial(_records_in, delimiter=delimiter)) if len(delimiter) == 1 else None
    return Records(_end_of_line, _lines_in) if FORMATS[name].line_per_document else None


def _end_of_line(content: bytes, least: int) -> int:
    return content.find(b"\n", least - 1) + 1


def _lines_in(content: bytes) -> tuple[int, int]:
    n = content.count(b"\n")
    return n, n


def _end_of_message(content: bytes, least: int) -> int:
    place = content.find(_MESSAGE, max(least - 1, 1))
    while place > 0 and content[place - 1 : place] != b"\n" and content[max(place - 2, 0) : place] != b"\n\r":
        place = content.find(_MESSAGE, place + 1)
    return place + 1


def _messages_in(content: bytes) -> tuple[int, int]:
    found, place = 1, 1
    while (place := _end_of_message(content, place + 1)) > 0:
        found += 1
    return 0, found


def _end_of_record(content: bytes, least: int) -> int:
    """Return the first end of a line at or after a place that follows an even number of quotes."""
    end, counted, quotes = least - 1, 0, 0
    while (end := content.find(b"\n", end)) >= 0:
        quotes += content.count(b'"', counted, end)
        if quotes % 2 == 0:
            return end + 1
        end, counted = end + 1, end
    return 0


def _records_in(content: bytes, delimiter: bytes) -> tuple[int, int] | None:
    """Return the number of lines and records; None if a quote is not where a field begins or ends, or a line ends at CR alone."""
    n_lines = content.count(b"\n")
    if content.count(b"\r") != content.count(b"\r\n"):
        return None
    if b'"' not in content:
        return n_lines, n_lines
    octets = np.frombuffer(b"\n%b\n" % content, np.uint8)
    quotes = np.flatnonzero(octets == ord('"'))
    inside = np.isin(np.append(octets[quotes[0::2] - 1], octets[quotes[1::2] + 1]), np.frombuffer(b'"\r\n' + delimiter, np.uint8))
    if not inside.all():
        return None
    quotes_before = np.searchsorted(quotes, np.flatnonzero(octets[1:-1] == ord("\n")) + 1)
    return n_lines, int(np.count_nonzero(quotes_before % 2 == 0))
