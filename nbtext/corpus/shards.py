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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.corpus.decoding import WIDE_ENCODING_PROBE_BYTES, is_wide_encoding
from nbtext.corpus.document import (
    WHOLE_FILE,
    ByteRange,
    LabelledFolder,
    ReaderOptions,
    get_delimiter,
)
from nbtext.corpus.streams import (
    BUFFER_BYTES,
    COMPRESSION_PROBE_BYTES,
    count_line_ends,
    detect_compression,
    unpack_stream,
)
from nbtext.errors import NbtextError, PathError
from nbtext.ragged import split_into_blocks
from nbtext.settings import FORMATS, Format

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from io import BufferedReader

    from nbtext.corpus.directory import ListedFile

    _Records = Callable[[bytearray, int], tuple[int, int, int] | None]
    """From content that begins with a record, and its place in the file, to the end of the last record before others, 0 if there is none, and the
    line ends and records up to there; None if the content is not of the format, or ends of records are not known in it."""

SHARD_BYTES = 1 << 22
SHARD_FILES = 1 << 10
"""About the most that a shard holds, unless a single document is larger."""

SCORING_SHARD_BYTES = SHARD_BYTES >> 2
"""About what a shard to be scored by a process of this machine holds: scores take more memory than counts, and processes end together."""

MIN_FILE_COST_BYTES = 1 << 12
"""Bytes that a smaller file of a directory counts for: opening it takes as long as counting so many."""

MAX_RECORD_SEARCH_BYTES = 1 << 22
"""Bytes after which no end of a record is looked for: the rest of the file is one part."""

JSON_ARRAY_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*(?:\{|\]?\s*\Z)")
"""Beginning of an array of JSON objects, in place of one a line."""


class Shard(NamedTuple):
    """The part of a path to read, small enough to send to another process or machine: some of its files, a part of the file, or all.

    A file is cut between records, a directory or Maildir into lists of its files. Standard input, which can only be read from the beginning,
    is one shard.
    """

    path: str
    byte_range: ByteRange = WHOLE_FILE
    files: tuple[ListedFile, ...] | None = None

    def with_absolute_paths(self) -> Shard:
        """Return the shard for a process in another directory that finds the corpus at the same place."""
        files = self.files and tuple(
            (os.path.abspath(file), label, problem) for file, label, problem in self.files
        )
        path = os.path.abspath(self.path)
        return Shard(
            LabelledFolder(path, self.path.label)
            if isinstance(self.path, LabelledFolder)
            else path,
            self.byte_range,
            files,
        )


def load_reader(layout: Format) -> Callable[[str, ReaderOptions], Iterator[Any]]:
    """Return the reader of a format: from a path to its documents, or to its files if there is a document in each."""
    module, _, function = layout.reader.partition(".")
    return getattr(import_module(f"nbtext.corpus.{module}"), function)


def split_corpus(
    paths: Sequence[str], source: ReaderOptions, size: int = SHARD_BYTES, *, is_local: bool = True
) -> Iterator[Shard]:
    """Yield all of the paths in shards of about ``size`` bytes, in order, without overlap; add notices to those of the source.

    If a path cannot be listed, the last shard is all of it: reading it reports the reason. Compressed files are cut only for processes that
    are ``here``.
    """
    layout = FORMATS[source.reading.format]
    if source.reading.format == "mbox":
        from nbtext.corpus.mailboxes import list_mboxes

        paths = [file for path in paths for file in list_mboxes(path, source)]
    for path in paths:
        if layout.has_file_per_document:
            try:
                yield from (
                    Shard(path, files=tuple(files))
                    for files in split_into_blocks(
                        load_reader(layout)(path, source), _bytes_of, SHARD_FILES, size
                    )
                )
            except NbtextError:
                yield Shard(path)
                return
        elif path == "-":
            yield Shard(path)
        else:
            yield from (
                Shard(path, part) for part in split_file(path, size, source, is_local=is_local)
            )


def _bytes_of(file: ListedFile) -> int:
    try:
        return max(os.stat(file[0]).st_size, MIN_FILE_COST_BYTES)
    except (OSError, ValueError):
        return MIN_FILE_COST_BYTES


def split_file(
    path: str, size: int, source: ReaderOptions, *, is_local: bool = True
) -> Iterator[ByteRange]:
    """Cut a file between records into parts of at most ``size`` bytes, unless a record has more; yield `WHOLE_FILE` alone if it is to be read as a whole.

    That is so for what is no regular file or cannot be read, and for wide encodings. The file is read once more for that, to count the records
    before each part, which takes about 2 % of the time of counting its terms.
    """
    records = _records_of(source)
    last = WHOLE_FILE
    try:
        status = os.stat(path)
        if records is not None and stat.S_ISREG(status.st_mode):
            with open(path, "rb") as file:
                is_packed = detect_compression(path, file.peek(COMPRESSION_PROBE_BYTES)) is not None
                is_worth_it = (
                    is_local
                    if is_packed
                    else status.st_size > size
                    and not is_wide_encoding(file.peek(WIDE_ENCODING_PROBE_BYTES))
                )
                if is_worth_it:
                    stream = unpack_stream(file, path, source.max_unpacked_bytes)
                    last = yield from _cut(stream, size, records, file if is_packed else None)
    except (OSError, ValueError, PathError):
        pass  # reading it reports the reason
    yield last


def _cut(
    stream: BufferedReader, size: int, records: _Records, packed: BufferedReader | None
) -> Generator[ByteRange, None, ByteRange]:
    upcoming = _Upcoming(stream)
    content = upcoming.content
    wanted = size
    start = lines = before = read = 0
    while upcoming.is_more_than(wanted):
        found = records(content, start)
        if found is None:
            break
        end, n_lines, n_records = found
        if not end and wanted <= size + MAX_RECORD_SEARCH_BYTES:
            wanted *= 2
            continue
        if not end or not (
            start or content[:end].removeprefix(BOM_UTF8).strip()
        ):  # a header may follow empty lines
            break
        read_before = read
        read = packed.tell() if packed else 0
        yield ByteRange(
            start,
            start + end,
            lines,
            before,
            bytes(content[:end]) if packed else None,
            read - read_before,
        )
        start = start + end
        lines = lines + n_lines
        before = before + n_records
        wanted = size
        del content[:end]
    if not start:
        return WHOLE_FILE
    if packed and upcoming.is_all:
        return ByteRange(
            start, None, lines, before, bytes(content), packed.tell() - read, upcoming.failure
        )
    return ByteRange(start, None, lines, before, reads_from_start=packed is not None)


class _Upcoming:
    """The content of a stream from a place on, as far as it was asked for."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self.content = bytearray()
        self.is_all = False
        self.failure: PathError | None = None
        """Why there is no more, if not for the end of the stream."""

    def is_more_than(self, size: int) -> bool:
        """Read on until there are more bytes than that; return whether there are."""
        try:
            while (
                missing := max(size, COMPRESSION_PROBE_BYTES) + 1 - len(self.content)
            ) > 0 and not self.is_all:
                piece = self._stream.read1(min(missing, BUFFER_BYTES))
                self.content += piece
                self.is_all = not piece
        except PathError as problem:
            self.failure = problem
            self.is_all = True
        except OSError:
            return False  # reading the rest reports the reason
        return len(self.content) > size


def _records_of(source: ReaderOptions) -> _Records | None:
    name = source.reading.format
    if name == "mbox":
        return _messages_in
    if name == "csv":
        delimiter = get_delimiter(source.reading).encode("utf-8", "surrogateescape")
        return partial(_records_in, delimiter=delimiter) if len(delimiter) == 1 else None
    layout = FORMATS[name]
    return (
        partial(_lines_in, may_be_array=layout.is_decoded) if layout.has_line_per_document else None
    )


def _lines_in(content: bytearray, start: int, *, may_be_array: bool) -> tuple[int, int, int] | None:
    if may_be_array and not start and JSON_ARRAY_START.match(content[:COMPRESSION_PROBE_BYTES]):
        return None
    end = content.rfind(b"\n", 0, -1) + 1
    n = count_line_ends(content, 0, end)
    return end, n, n


def _messages_in(content: bytearray, start: int) -> tuple[int, int, int] | None:
    if not start and not content.startswith(FORMATS["mbox"].first_bytes):
        return None
    from nbtext.corpus.mailboxes import MESSAGE_START

    ends = [found.start() + 1 for found in MESSAGE_START.finditer(content, 1)]
    return ends[-1] if ends else 0, 0, len(ends)


def measure_complete_records(content: bytes) -> int:
    """Return the size of the whole records at the beginning of lines of csv: up to the last end of a line after an even number of quotes."""
    quotes = content.count(b'"')
    end = len(content)
    while quotes % 2:
        last = content.rfind(b"\n", 0, content.rfind(b'"', 0, end)) + 1
        quotes -= content.count(b'"', last, end)
        end = last
    return end


def _records_in(content: bytearray, start: int, *, delimiter: bytes) -> tuple[int, int, int] | None:
    """Return the same of csv; None if a quote is not where a field begins or ends, or a line ends at CR alone."""
    lines = bytes(content[: content.rfind(b"\n", 0, -1) + 1])
    whole = lines[: measure_complete_records(lines)]
    n_lines = count_line_ends(whole)
    if whole.count(b"\r") != whole.count(b"\r\n"):
        return None
    if b'"' not in whole:
        return len(whole), n_lines, n_lines
    octets = np.frombuffer(b"\n%b\n" % whole.removeprefix(BOM_UTF8 if not start else b""), np.uint8)
    quotes = np.flatnonzero(octets == ord('"'))
    inside = np.isin(
        np.append(octets[quotes[0::2] - 1], octets[quotes[1::2] + 1]),
        np.frombuffer(b'"\r\n' + delimiter, np.uint8),
    )
    if not inside.all():
        return None
    quotes_before = np.searchsorted(quotes, np.flatnonzero(octets[1:-1] == ord("\n")) + 1)
    return len(whole), n_lines, int(np.count_nonzero(quotes_before % 2 == 0))
