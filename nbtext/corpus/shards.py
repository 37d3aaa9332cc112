"""Split a corpus into shards that processes read in parallel: lists of files, or byte ranges.

`nbtext.corpus.reading.read_shard` reads a shard. The byte range of a compressed file includes its
unpacked bytes, so that only one process unpacks the file.
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
from nbtext.corpus.delimiter_note import find_delimiter_note
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
    from collections.abc import Callable, Iterator, Sequence
    from io import BufferedReader

    from nbtext.corpus.directory import ListedFile

    _RecordFinder = Callable[[bytearray, int], "_CompleteRecords | None"]
    """Finds the complete records at the start of content.

    It takes content that starts with a record, and the position of the content in the file. It
    returns None if the content is not of the format, or if the ends of its records are uncertain.
    """

SHARD_BYTES = 1 << 22
"""Approximate size of a shard, unless a single document is larger."""

SHARD_FILES = 1 << 10
"""Maximum number of files in a shard."""

SCORING_SHARD_BYTES = SHARD_BYTES // 4
"""Approximate size of a shard that a process of this machine scores.

It is smaller than `SHARD_BYTES`, because scores take more memory than counts, and so that all
processes end at about the same time.
"""

MIN_FILE_COST_BYTES = 1 << 12
"""Minimum size with which a file counts, since opening a file takes time.

In the time of opening a file, about so many bytes of text can be counted.
"""

MAX_RECORD_SEARCH_BYTES = 1 << 22
"""Number of bytes in which to search for the end of a record.

If they contain no end, the remainder of the file is one range.
"""

JSON_ARRAY_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*(?:\{|\]?\s*\Z)")
"""Start of a JSON array of objects, or of an array whose elements are not visible yet."""


class Shard(NamedTuple):
    """A unit of reading that is small enough to send to another process or machine.

    A shard is a whole path, a byte range of a file, or some files of a directory or Maildir. A byte
    range consists of complete records. Standard input, which can only be read from its start, is
    one shard.
    """

    path: str
    byte_range: ByteRange = WHOLE_FILE
    files: tuple[ListedFile, ...] | None = None
    """The files to read; None: all files of a directory, or the byte range of a file."""

    def with_absolute_paths(self) -> Shard:
        """Return the shard for a process with another working directory."""
        path = os.path.abspath(self.path)
        if isinstance(self.path, LabelledFolder):
            path = LabelledFolder(path, self.path.label)
        files = self.files
        if files is not None:
            files = tuple(file._replace(path=os.path.abspath(file.path)) for file in files)
        return Shard(path, self.byte_range, files)


def load_reader(layout: Format) -> Callable[[str, ReaderOptions], Iterator[Any]]:
    """Import and return the reader of a format.

    The reader yields the documents of a path. If each file is a document, it yields `ListedFile`.
    """
    module, _, function = layout.reader.partition(".")
    return getattr(import_module(f"nbtext.corpus.{module}"), function)


def split_corpus(
    paths: Sequence[str],
    options: ReaderOptions,
    size: int = SHARD_BYTES,
    *,
    is_local: bool = True,
) -> Iterator[Shard]:
    """Yield shards of about ``size`` bytes that cover all paths, in order, without overlap.

    Listing files may add notices to ``options.notices``. If the files of a path cannot be listed,
    the last shard is the path itself: reading it reports the reason. ``is_local`` states that
    processes of this machine read the shards. If not, compressed files are not cut.
    """
    layout = options.reading.layout
    if options.reading.format == "mbox":
        from nbtext.corpus.mailboxes import list_mboxes

        paths = [file for path in paths for file in list_mboxes(path, options)]
    for path in paths:
        if layout.has_file_per_document:
            try:
                files = load_reader(layout)(path, options)
                for block in split_into_blocks(
                    files, _estimate_cost, max_items=SHARD_FILES, max_bytes=size
                ):
                    yield Shard(path, files=tuple(block))
            except NbtextError:
                yield Shard(path)
                return
        elif path == "-":
            yield Shard(path)
        else:
            for byte_range in split_file(path, size, options, is_local=is_local):
                yield Shard(path, byte_range)


def _estimate_cost(file: ListedFile) -> int:
    """Return the time to read a file and count its terms, in bytes; see `MIN_FILE_COST_BYTES`."""
    try:
        return max(os.stat(file.path).st_size, MIN_FILE_COST_BYTES)
    except (OSError, ValueError):
        return MIN_FILE_COST_BYTES


def split_file(
    path: str, size: int, options: ReaderOptions, *, is_local: bool = True
) -> Iterator[ByteRange]:
    """Yield ranges of complete records of a file, of at most ``size`` bytes, or of one record.

    Yield only `WHOLE_FILE` if a file is small, special, unreadable, or in UTF-16 or UTF-32. The
    function reads the file in order to count the records before each range. This takes about 2 % of
    the time of counting its terms.
    """
    find_records = _get_record_finder(options)
    try:
        status = os.stat(path)
        if find_records is not None and stat.S_ISREG(status.st_mode):
            with open(path, "rb") as file:
                is_packed = detect_compression(path, file.peek(COMPRESSION_PROBE_BYTES)) is not None
                if is_packed:
                    can_be_cut = is_local
                else:
                    is_wide = is_wide_encoding(file.peek(WIDE_ENCODING_PROBE_BYTES))
                    can_be_cut = status.st_size > size and not is_wide
                if can_be_cut:
                    stream = unpack_stream(file, path, options.max_unpacked_bytes)
                    splitter = _Splitter(stream, file if is_packed else None)
                    yield from splitter.iter_ranges(size, find_records)
                    return
    except (OSError, ValueError, PathError):
        pass  # reading the file reports the reason
    yield WHOLE_FILE


class _Splitter:
    """Cuts a stream between records into byte ranges, and counts lines and records."""

    def __init__(self, stream: BufferedReader, packed: BufferedReader | None) -> None:
        """Start at the start of a stream.

        ``packed`` is the compressed file that the stream unpacks; None if it is uncompressed.
        """
        self._stream = stream
        self._packed = packed
        self._packed_position = 0
        """Number of bytes of the compressed file that were read for the previous ranges."""
        self._content = bytearray()
        """The bytes of the stream that were read, after the previous ranges."""
        self._is_complete = False
        """Whether the stream has no bytes after ``_content``."""
        self._failure: PathError | None = None
        """Why the stream ended early; None if it did not."""
        self._start = 0
        """Number of bytes in the previous ranges."""
        self._lines_before = 0
        """Number of lines in the previous ranges."""
        self._records_before = 0
        """Number of records in the previous ranges."""

    def iter_ranges(self, size: int, find_records: _RecordFinder) -> Iterator[ByteRange]:
        """Yield ranges that cover the stream.

        If the ends of records cannot be found, the last range has the remainder of the stream.
        """
        min_content = size
        while self._fill_beyond(min_content):
            records = find_records(self._content, self._start)
            if records is None:
                break
            n_bytes = records.end
            if n_bytes == 0 and min_content <= size + MAX_RECORD_SEARCH_BYTES:
                min_content *= 2
                continue
            # At the start of the file, a header may follow empty lines, and must be in one range
            # with them.
            has_blank_start = (
                self._start == 0 and not self._content[:n_bytes].removeprefix(BOM_UTF8).strip()
            )
            if n_bytes == 0 or has_blank_start:
                break
            yield self._create_range(n_bytes)
            self._start += n_bytes
            self._lines_before += records.n_line_ends
            self._records_before += records.n_records
            del self._content[:n_bytes]
            min_content = size
        if self._start == 0:
            yield WHOLE_FILE
        else:
            yield self._create_range(None)._replace(failure=self._failure)

    def _create_range(self, n_bytes: int | None) -> ByteRange:
        """Return the range of ``n_bytes`` after the previous ranges; None: to the end of the file.

        The range of a compressed file includes its bytes if they were read, and the bytes of the
        compressed file up to the current position count as read for this range.
        """
        end = None if n_bytes is None else self._start + n_bytes
        byte_range = ByteRange(self._start, end, self._lines_before, self._records_before)
        if self._packed is None:
            return byte_range
        if end is None and not self._is_complete:
            return byte_range._replace(reads_from_start=True)
        n_compressed_bytes = self._packed.tell() - self._packed_position
        self._packed_position += n_compressed_bytes
        content = bytes(self._content[:n_bytes])
        return byte_range._replace(content=content, n_compressed_bytes=n_compressed_bytes)

    def _fill_beyond(self, size: int) -> bool:
        """Read until the content has more than ``size`` bytes. Return whether it has so many."""
        min_content = max(size, COMPRESSION_PROBE_BYTES) + 1
        try:
            while len(self._content) < min_content and not self._is_complete:
                n_missing = min_content - len(self._content)
                chunk = self._stream.read1(min(n_missing, BUFFER_BYTES))
                self._content += chunk
                self._is_complete = not chunk
        except PathError as problem:
            self._failure = problem
            self._is_complete = True
        except OSError:
            return False  # reading the remainder reports the reason
        return len(self._content) > size


class _CompleteRecords(NamedTuple):
    """The size of the complete records at the start of content.

    They do not include the last record of the content, which may be cut.
    """

    end: int
    """Number of bytes of the complete records."""
    n_line_ends: int
    """Number of line ends in the complete records; 0 if the format does not need it."""
    n_records: int


def _get_record_finder(options: ReaderOptions) -> _RecordFinder | None:
    """Return the function that finds records of a format; None if its files are not cut."""
    name = options.reading.format
    if name == "mbox":
        return _find_messages
    if name == "csv":
        delimiter = get_delimiter(options.reading).encode("utf-8", "surrogateescape")
        if len(delimiter) != 1:
            return None
        return partial(_find_csv_records, delimiter=delimiter)
    layout = options.reading.layout
    if not layout.has_line_per_document:
        return None
    return partial(_find_lines, may_be_array=layout.is_decoded)


def _find_lines(content: bytearray, start: int, *, may_be_array: bool) -> _CompleteRecords | None:
    """Find complete lines; None for a JSON array."""
    is_file_start = start == 0
    # `_fill_beyond` has read at least these bytes.
    if may_be_array and is_file_start and JSON_ARRAY_START.match(content[:COMPRESSION_PROBE_BYTES]):
        return None
    end = _find_last_line(content)
    n_lines = count_line_ends(content, 0, end)
    return _CompleteRecords(end, n_lines, n_lines)


def _find_last_line(content: bytearray) -> int:
    """Return the start of the last line, which may be cut."""
    return content.rfind(b"\n", 0, -1) + 1


def _find_messages(content: bytearray, start: int) -> _CompleteRecords | None:
    """Find complete messages; their line ends are not counted. None if the file is no mbox."""
    is_file_start = start == 0
    if is_file_start and not content.startswith(FORMATS["mbox"].first_bytes):
        return None
    from nbtext.corpus.mailboxes import MESSAGE_START

    # The first message starts at 0. A match begins with the line end before a message.
    ends = [match.start() + 1 for match in MESSAGE_START.finditer(content, 1)]
    return _CompleteRecords(end=max(ends, default=0), n_line_ends=0, n_records=len(ends))


def measure_complete_records(content: bytes) -> int:
    """Return the size of the complete records at the start of CSV content.

    The content must end at a line end. The complete records end at the last line end after an even
    number of quotes.
    """
    n_quotes = content.count(b'"')
    end = len(content)
    while n_quotes % 2 == 1:
        last_quote = content.rfind(b'"', 0, end)
        line_start = content.rfind(b"\n", 0, last_quote) + 1
        n_quotes -= content.count(b'"', line_start, end)
        end = line_start
    return end


def _find_csv_records(
    content: bytearray, start: int, *, delimiter: bytes
) -> _CompleteRecords | None:
    """Find complete CSV records; None if their ends are uncertain.

    The ends are uncertain if a quote is inside a cell and not doubled, or if a line ends with CR
    only.
    """
    lines = bytes(content[: _find_last_line(content)])
    records = lines[: measure_complete_records(lines)]
    n_lines = count_line_ends(records)
    is_file_start = start == 0
    note = find_delimiter_note(records) if is_file_start else None
    if note is not None and not records[note.n_bytes :].strip():
        return _CompleteRecords(0, 0, 0)  # the header must be in one range with the note
    if records.count(b"\r") != records.count(b"\r\n"):
        return None
    if b'"' not in records:
        n_records = n_lines if note is None else n_lines - 1  # the note is no row
        return _CompleteRecords(len(records), n_lines, n_records)
    cells = records.removeprefix(BOM_UTF8) if is_file_start else records
    # The added line end is the byte before a quote at the start.
    octets = np.frombuffer(b"\n" + cells, np.uint8)
    quotes = np.flatnonzero(octets == ord('"'))
    bytes_before_opening = octets[quotes[0::2] - 1]
    bytes_after_closing = octets[quotes[1::2] + 1]
    cell_bounds = np.frombuffer(b'"\r\n' + delimiter, np.uint8)
    if not np.isin(np.append(bytes_before_opening, bytes_after_closing), cell_bounds).all():
        return None
    line_ends = np.flatnonzero(octets == ord("\n"))[1:]  # without the added one
    n_quotes_before = np.searchsorted(quotes, line_ends)
    n_records = int(np.count_nonzero(n_quotes_before % 2 == 0))
    if note is not None:
        n_records -= 1
    return _CompleteRecords(len(records), n_lines, n_records)
