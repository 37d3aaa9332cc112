"""A corpus in shards, which processes read side by side: lists of files, and parts of a file that hold whole records.

A part of a compressed file brings its content along, since only one process should unpack it.
"""

from __future__ import annotations

import os
import re
import stat
from codecs import BOM_UTF8
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.corpus.decoding import LONGEST_WIDE, is_wide
from nbtext.corpus.document import FilePart, LabelledFolder, Source
from nbtext.corpus.streams import LONGEST_BEGINNING, compression, readable_stream
from nbtext.errors import NbtextError, PathError
from nbtext.records import NamedTuple
from nbtext.settings import FORMATS, Format

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from io import BufferedReader

    from nbtext.corpus.directory import ListedFile

BYTES, FILES = 1 << 22, 256
"""About the most that a shard holds, unless a single document is larger."""

BYTES_HERE = BYTES >> 2
"""About what a shard for a process of this machine holds: scores take more memory than counts, and processes end together."""

SMALL_FILE = 1 << 12
"""Bytes that a smaller file of a directory counts for: opening it takes as long as counting so many."""

LONGEST_RECORD = 1 << 22
"""Bytes after which no end of a record is looked for: the rest of the file is one part."""

_MESSAGE = b"\nFrom "

ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*(?:\{|\]?\s*\Z)")
"""Beginning of an array of JSON objects, in place of one a line."""


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
    records, last = _records_of(source), None
    try:
        status = os.stat(path)  # noqa: PTH116 - names may hold bytes that are no text
        if records is not None and stat.S_ISREG(status.st_mode):
            with open(path, "rb") as file:  # noqa: PTH123 - as above
                is_packed = compression(path, file.peek(LONGEST_BEGINNING)[:LONGEST_BEGINNING]) is not None
                is_worth_it = here if is_packed else status.st_size > size and not is_wide(file.peek(LONGEST_WIDE)[:LONGEST_WIDE])
                if is_worth_it:
                    stream = readable_stream(file, path, source.unpacked_limit)
                    last = yield from _cut(stream, size, records, file if is_packed else None)
    except (OSError, ValueError, PathError):
        pass  # reading it reports the reason
    yield last


def _cut(stream: BufferedReader, size: int, records: Records, packed: BufferedReader | None) -> Generator[FilePart, None, FilePart | None]:
    window = _Window(stream, size)
    start = lines = before = read = 0
    while window.holds_more_than(size) and (start > 0 or records.may_begin(window.beginning())):
        end = records.end(window.content, window.begin, window.begin + size, window.filled)
        if not window.begin < end < window.filled:
            there = window.size
            if there <= LONGEST_RECORD and (window.holds_more_than(2 * there) or window.size > there):
                continue
            break
        mark = len(BOM_UTF8) if not start and window.beginning().startswith(BOM_UTF8) else 0
        found = records.contained(window.content, window.begin + mark, end)
        if found is None or (not start and not window.content[window.begin + mark : end].strip()):  # a header may follow empty lines
            break
        here = end - window.begin
        content = bytes(window.content[window.begin : end]) if packed else None
        read_before, read = read, packed.tell() if packed else 0
        yield FilePart(start, start + here, lines, before, content, read - read_before)
        start, lines, before, window.begin = start + here, lines + found[0], before + found[1], end
    if not start:
        return None
    if packed and window.has_all:
        rest = bytes(window.content[window.begin : window.filled])
        return FilePart(start, None, lines, before, rest, packed.tell() - read, window.failure)
    return FilePart(start, None, lines, before, is_unpacked=packed is not None)


class _Window:
    """The content of a stream from a place on, as far as it was asked for, in memory that is used again: fresh memory takes longer than the rest."""

    def __init__(self, stream: BufferedReader, size: int) -> None:
        self._stream = stream
        self.content = bytearray(2 * size + (1 << 16))
        self.begin = self.filled = 0
        self.has_all = False
        self.failure: PathError | None = None
        """Why there is no more, if not for the end of the stream."""

    @property
    def size(self) -> int:
        """Bytes that are there."""
        return self.filled - self.begin

    def beginning(self) -> bytes:
        """Return the first bytes."""
        return bytes(self.content[self.begin : self.begin + LONGEST_BEGINNING])

    def holds_more_than(self, size: int) -> bool:
        """Read on until there are more bytes than that; return whether there are."""
        if self.begin + size >= len(self.content):
            there = self.content[self.begin : self.filled]
            if size >= len(self.content) // 2:
                self.content = bytearray(2 * size + 2)
            self.content[: len(there)] = there
            self.begin, self.filled = 0, len(there)
        try:
            while self.size <= max(size, LONGEST_BEGINNING) and not self.has_all:
                read = self._stream.readinto1(memoryview(self.content)[self.filled :])
                self.filled, self.has_all = self.filled + read, read == 0
        except PathError as problem:
            self.failure, self.has_all = problem, True
        except OSError:
            return False  # reading the rest reports the reason
        return self.size > size


class Records(NamedTuple):
    """Where records of a format end."""

    end: Callable[[bytearray, int, int, int], int]
    """From content, the place where a record begins, a later place and the end of what is there, to the first end of a record at or after the later
    place, 0 if there is none."""
    contained: Callable[[bytearray, int, int], tuple[int, int] | None]
    """From content and the bounds of whole records in it to the line ends and the records; None if the bounds may be wrong."""
    may_begin: Callable[[bytes], bool] = bool
    """Whether the beginning of a file is one of this format."""


def _records_of(source: Source) -> Records | None:
    name = source.reading.format
    if name == "mbox":
        return Records(_end_of_message, _messages_in, lambda start: start.startswith(FORMATS[name].beginning))
    if name == "csv":
        delimiter = (source.reading.delimiter or ",").encode("utf-8", "surrogateescape")
        return Records(_end_of_record, partial(_records_in, delimiter=delimiter)) if len(delimiter) == 1 else None
    layout = FORMATS[name]
    return Records(_end_of_line, _lines_in, lambda start: not (layout.decoded and ARRAY.match(start))) if layout.line_per_document else None


def _end_of_line(content: bytearray, begin: int, least: int, end: int) -> int:
    del begin
    return content.find(b"\n", least - 1, end) + 1


def _lines_in(content: bytearray, begin: int, end: int) -> tuple[int, int]:
    n = content.count(b"\n", begin, end)
    return n, n


def _end_of_message(content: bytearray, begin: int, least: int, end: int) -> int:
    place = max(least - 1, begin + 1)
    while (place := content.find(_MESSAGE, place, end)) > 0:
        if content[place - 1 : place] == b"\n" or content[max(place - 2, begin) : place] == b"\n\r":
            return place + 1
        place += 1
    return 0


def _messages_in(content: bytearray, begin: int, end: int) -> tuple[int, int]:
    found, place = 1, begin
    while place := _end_of_message(content, begin, place + 1, end):
        found += 1
    return 0, found


def _end_of_record(content: bytearray, begin: int, least: int, end: int) -> int:
    """Return the first end of a line at or after a place that follows an even number of quotes."""
    place, counted, quotes = least - 1, begin, 0
    while (place := content.find(b"\n", place, end)) >= 0:
        quotes += content.count(b'"', counted, place)
        if quotes % 2 == 0:
            return place + 1
        place, counted = place + 1, place
    return 0


def size_of_records(content: bytes) -> int:
    """Return the size of the whole records at the beginning of lines of csv: up to the last end of a line after an even number of quotes."""
    quotes, end = content.count(b'"'), len(content)
    while quotes % 2:
        last = content.rfind(b"\n", 0, content.rfind(b'"', 0, end)) + 1
        quotes -= content.count(b'"', last, end)
        end = last
    return end


def _records_in(content: bytearray, begin: int, end: int, delimiter: bytes) -> tuple[int, int] | None:
    """Return the number of lines and records; None if a quote is not where a field begins or ends, or a line ends at CR alone."""
    n_lines = content.count(b"\n", begin, end)
    if content.count(b"\r", begin, end) != content.count(b"\r\n", begin, end):
        return None
    if content.find(b'"', begin, end) < 0:
        return n_lines, n_lines
    octets = np.frombuffer(b"\n%b\n" % bytes(content[begin:end]), np.uint8)
    quotes = np.flatnonzero(octets == ord('"'))
    inside = np.isin(np.append(octets[quotes[0::2] - 1], octets[quotes[1::2] + 1]), np.frombuffer(b'"\r\n' + delimiter, np.uint8))
    if not inside.all():
        return None
    quotes_before = np.searchsorted(quotes, np.flatnonzero(octets[1:-1] == ord("\n")) + 1)
    return n_lines, int(np.count_nonzero(quotes_before % 2 == 0))
