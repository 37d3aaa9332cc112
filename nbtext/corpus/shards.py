"""Split a corpus into shards that processes read in parallel: lists of files, or byte ranges.

Ranges of a compressed file include their content, because only one process should unpack it.
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

    _RecordFinder = Callable[[bytearray, int], "_CompleteRecords | None"]
    """Finds the complete records at the start of content.

    Takes content that starts with a record, and its position in the file. Returns None if the
    content is not of the format, or if the ends of its records are uncertain.
    """

SHARD_BYTES = 1 << 22
"""Approximate size of a shard, unless a single document is larger."""

SHARD_FILES = 1 << 10
"""Maximum number of files in a shard."""

SCORING_SHARD_BYTES = SHARD_BYTES >> 2
"""Size of shards that processes of this machine score.

They are smaller, because scores take more memory than counts, and so that processes end together.
"""

MIN_FILE_COST_BYTES = 1 << 12
"""Size that smaller files of a directory count for: opening a file takes as long as counting it."""

MAX_RECORD_SEARCH_BYTES = 1 << 22
"""Bytes in which to search for the end of a record; without one, the remainder is one range."""

JSON_ARRAY_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*(?:\{|\]?\s*\Z)")
"""Start of a JSON array of objects, as opposed to one object per line."""


class Shard(NamedTuple):
    """A unit of reading that is small enough to send to another process or machine.

    It is a whole path, a byte range of a file, or some files of a directory or Maildir. Files are
    cut between records. Standard input, which can only be read from its start, is one shard.
    """

    path: str
    byte_range: ByteRange = WHOLE_FILE
    files: tuple[ListedFile, ...] | None = None
    """The files to read; None: all of the path, or the byte range."""

    def with_absolute_paths(self) -> Shard:
        """Return the shard for a process that has another working directory on the same files."""
        path = os.path.abspath(self.path)
        if isinstance(self.path, LabelledFolder):
            path = LabelledFolder(path, self.path.label)
        files = self.files
        if files:
            files = tuple((os.path.abspath(file), label, problem) for file, label, problem in files)
        return Shard(path, self.byte_range, files)


def load_reader(layout: Format) -> Callable[[str, ReaderOptions], Iterator[Any]]:
    """Import and return the reader of a format.

    It maps a path to its documents, or, if each file is a document, to its files.
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

    Listing files may add notices to ``options``. If a path cannot be listed, the last shard is that
    path: reading it reports the reason. Compressed files are cut only if ``is_local``, that is, if
    processes of this machine read the shards.
    """
    layout = FORMATS[options.reading.format]
    if options.reading.format == "mbox":
        from nbtext.corpus.mailboxes import list_mboxes

        paths = [file for path in paths for file in list_mboxes(path, options)]
    for path in paths:
        if layout.has_file_per_document:
            try:
                files = load_reader(layout)(path, options)
                for block in split_into_blocks(files, _estimate_cost, SHARD_FILES, size):
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
    """Return the time to read and count a file, in bytes that take as long to count."""
    try:
        return max(os.stat(file[0]).st_size, MIN_FILE_COST_BYTES)
    except (OSError, ValueError):
        return MIN_FILE_COST_BYTES


def split_file(
    path: str, size: int, options: ReaderOptions, *, is_local: bool = True
) -> Iterator[ByteRange]:
    """Cut a file between records into ranges of at most ``size`` bytes.

    A record of more bytes makes a larger range. Yield only `WHOLE_FILE` for special or unreadable
    files, for small ones, and for UTF-16 and UTF-32. This reads the file once more to count the
    records before each range, which takes about 2 % of the time of counting its terms.
    """
    find_records = _get_record_finder(options)
    last_range = WHOLE_FILE
    try:
        status = os.stat(path)
        if find_records is not None and stat.S_ISREG(status.st_mode):
            with open(path, "rb") as file:
                is_packed = detect_compression(path, file.peek(COMPRESSION_PROBE_BYTES)) is not None
                if is_packed:
                    is_split = is_local
                else:
                    is_wide = is_wide_encoding(file.peek(WIDE_ENCODING_PROBE_BYTES))
                    is_split = status.st_size > size and not is_wide
                if is_split:
                    stream = unpack_stream(file, path, options.max_unpacked_bytes)
                    packed = file if is_packed else None
                    last_range = yield from _split_stream(stream, size, find_records, packed)
    except (OSError, ValueError, PathError):
        pass  # reading it reports the reason
    yield last_range


def _split_stream(
    stream: BufferedReader, size: int, find_records: _RecordFinder, packed: BufferedReader | None
) -> Generator[ByteRange, None, ByteRange]:
    """Yield the ranges of a stream except the last one, which is returned.

    ``packed`` is the compressed file that the stream unpacks, if it is one.
    """
    buffer = _StreamBuffer(stream)
    content = buffer.content
    min_content = size
    start = lines_before = records_before = packed_position = 0
    while buffer.fill_beyond(min_content):
        records = find_records(content, start)
        if records is None:
            break
        end = records.end
        if not end and min_content <= size + MAX_RECORD_SEARCH_BYTES:
            min_content *= 2
            continue
        # At the start of the file, a header may follow empty lines.
        is_blank_start = not start and not content[:end].removeprefix(BOM_UTF8).strip()
        if not end or is_blank_start:
            break
        n_compressed_bytes = 0
        if packed:
            n_compressed_bytes = packed.tell() - packed_position
            packed_position += n_compressed_bytes
        yield ByteRange(
            start,
            start + end,
            lines_before,
            records_before,
            bytes(content[:end]) if packed else None,
            n_compressed_bytes,
        )
        start += end
        lines_before += records.n_line_ends
        records_before += records.n_records
        min_content = size
        del content[:end]
    if not start:
        return WHOLE_FILE
    if packed and buffer.is_complete:
        return ByteRange(
            start,
            None,
            lines_before,
            records_before,
            bytes(content),
            packed.tell() - packed_position,
            buffer.failure,
        )
    return ByteRange(start, None, lines_before, records_before, reads_from_start=packed is not None)


class _StreamBuffer:
    """Content of a stream that was read but not consumed; consumers delete it from the front."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self.content = bytearray()
        self.is_complete = False
        """Whether the content is the remainder of the stream."""
        self.failure: PathError | None = None
        """Why the stream ended early; None if it did not."""

    def fill_beyond(self, size: int) -> bool:
        """Read until the content has more than ``size`` bytes. Return False if there are fewer."""
        min_content = max(size, COMPRESSION_PROBE_BYTES) + 1
        try:
            while len(self.content) < min_content and not self.is_complete:
                n_missing = min_content - len(self.content)
                chunk = self._stream.read1(min(n_missing, BUFFER_BYTES))
                self.content += chunk
                self.is_complete = not chunk
        except PathError as problem:
            self.failure = problem
            self.is_complete = True
        except OSError:
            return False  # reading the remainder reports the reason
        return len(self.content) > size


class _CompleteRecords(NamedTuple):
    """The complete records at the start of content, without the last one."""

    end: int
    """Position after these records; 0 if there are none."""
    n_line_ends: int
    n_records: int


def _get_record_finder(options: ReaderOptions) -> _RecordFinder | None:
    """Return the record finder of a format; None if its files are not cut."""
    name = options.reading.format
    if name == "mbox":
        return _find_messages
    if name == "csv":
        delimiter = get_delimiter(options.reading).encode("utf-8", "surrogateescape")
        if len(delimiter) != 1:
            return None
        return partial(_find_csv_records, delimiter=delimiter)
    layout = FORMATS[name]
    if not layout.has_line_per_document:
        return None
    return partial(_find_lines, may_be_array=layout.is_decoded)


def _find_lines(content: bytearray, start: int, *, may_be_array: bool) -> _CompleteRecords | None:
    """Find complete lines; None for a JSON array."""
    is_file_start = not start
    if may_be_array and is_file_start and JSON_ARRAY_START.match(content[:COMPRESSION_PROBE_BYTES]):
        return None
    end = content.rfind(b"\n", 0, -1) + 1
    n_lines = count_line_ends(content, 0, end)
    return _CompleteRecords(end, n_lines, n_lines)


def _find_messages(content: bytearray, start: int) -> _CompleteRecords | None:
    """Find complete messages; their line ends are not counted. None if the file is no mbox."""
    is_file_start = not start
    if is_file_start and not content.startswith(FORMATS["mbox"].first_bytes):
        return None
    from nbtext.corpus.mailboxes import MESSAGE_START

    ends = [match.start() + 1 for match in MESSAGE_START.finditer(content, 1)]
    return _CompleteRecords(ends[-1] if ends else 0, 0, len(ends))


def measure_complete_records(content: bytes) -> int:
    """Return the size of the complete records at the start of CSV content that ends at a line end.

    They end at the last line end that an even number of quotes precedes.
    """
    n_quotes = content.count(b'"')
    end = len(content)
    while n_quotes % 2:
        line_start = content.rfind(b"\n", 0, content.rfind(b'"', 0, end)) + 1
        n_quotes -= content.count(b'"', line_start, end)
        end = line_start
    return end


def _find_csv_records(
    content: bytearray, start: int, *, delimiter: bytes
) -> _CompleteRecords | None:
    """Find complete CSV records.

    None if a quote is neither at the start nor at the end of a cell, or a line ends at CR only.
    """
    lines = bytes(content[: content.rfind(b"\n", 0, -1) + 1])
    records = lines[: measure_complete_records(lines)]
    n_lines = count_line_ends(records)
    if records.count(b"\r") != records.count(b"\r\n"):
        return None
    if b'"' not in records:
        return _CompleteRecords(len(records), n_lines, n_lines)
    is_file_start = not start
    octets = np.frombuffer(
        b"\n%b\n" % records.removeprefix(BOM_UTF8 if is_file_start else b""), np.uint8
    )
    quotes = np.flatnonzero(octets == ord('"'))
    outer_neighbours = np.append(octets[quotes[0::2] - 1], octets[quotes[1::2] + 1])
    cell_bounds = np.frombuffer(b'"\r\n' + delimiter, np.uint8)
    if not np.isin(outer_neighbours, cell_bounds).all():
        return None
    line_ends = np.flatnonzero(octets[1:-1] == ord("\n")) + 1
    quotes_before = np.searchsorted(quotes, line_ends)
    return _CompleteRecords(len(records), n_lines, int(np.count_nonzero(quotes_before % 2 == 0)))
