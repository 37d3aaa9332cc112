"""Read the formats ``csv`` and ``tsv``: one document per row, with label and text in columns.

Cells of csv may be quoted; in tsv a quote is an ordinary character.
"""

from __future__ import annotations

import csv
import io
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, AnyStr, NamedTuple

import numpy as np

from nbtext.corpus.decoding import decode_name, is_plain, normalize_plain_lines, to_utf8
from nbtext.corpus.delimiter_note import MAX_NOTE_BYTES, find_delimiter_note
from nbtext.corpus.detection.columns import (
    decode_column_name,
    format_tsv_options,
    implies_header,
    shorten,
)
from nbtext.corpus.document import (
    WHOLE_FILE,
    Document,
    ReaderOptions,
    create_size_error,
    get_delimiter,
    to_document_error,
)
from nbtext.corpus.shards import measure_complete_records
from nbtext.corpus.streams import (
    BUFFER_BYTES,
    LINE_BLOCK_BYTES,
    enumerate_lines,
    open_stream,
    peek_start,
    prepend_bytes,
    read_line_blocks,
)
from nbtext.errors import (
    WARNING,
    DocumentError,
    Finding,
    PathError,
    UsageError,
    did_you_mean,
    format_quantity,
)
from nbtext.prediction.labels import make_label_set
from nbtext.ragged import LabelledBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from io import BufferedReader, TextIOWrapper

    from nbtext.prediction.labels import Label


_MAX_COLUMN_NAME_CHARS = 30
"""Maximum number of characters of a column name in a message."""

_MAX_LISTED_COLUMNS = 20

_MIN_SWALLOWED_LINES = 3
"""Minimum number of complete lines inside a cell that look like rows, for a warning."""

_MAX_CACHED_LABELS = 1 << 10
"""Number of cells with labels whose decoded text is cached."""

_MIN_FIELD_LIMIT_CHARS = 1 << 17
"""The default limit of `csv` for the characters of a cell. It is never lowered."""

Row = tuple[int, list[bytes] | None]
"""The number of a row in the file, from 1, and its cells as stored.

The cells are None if the row is larger than a document may be.
"""


class _RecordTooLarge(Exception):  # noqa: N818 - no error: the reader continues after the record
    """Raised by `_CsvLines` when a record is larger than a document may be."""


class _CsvLines:
    """The lines of a CSV file for `csv.reader`, with a limit of the size of a record.

    After `_RecordTooLarge`, another `csv.reader` can continue with the next record.
    """

    def __init__(self, text: TextIOWrapper, limit: int) -> None:
        self._text = text
        self._limit = limit
        self._n_chars = 0
        """Number of characters of the current record so far."""
        self._n_quotes = 0
        """Number of quotes of the current record so far."""
        self._n_lines = 0
        """Number of all lines so far."""
        self.lines_before_record = 0
        """Number of lines before the current record."""

    def start_record(self) -> None:
        """Start a record: all lines so far belong to complete records."""
        self.lines_before_record = self._n_lines
        self._n_chars = 0
        self._n_quotes = 0

    def __iter__(self) -> Iterator[str]:
        """Yield lines. If a record is beyond the limit, skip it, then raise `_RecordTooLarge`."""
        max_chars = self._limit + len("\r\n")
        while line := self._text.readline(max_chars + 1):
            self._n_lines += 1
            self._n_chars += len(line)
            self._n_quotes += line.count('"')
            if self._n_chars > max_chars:
                self._skip_record(line)
                raise _RecordTooLarge
            yield line

    def _skip_record(self, line: str) -> None:
        """Skip the remainder of a record, after ``line``.

        The record ends at a line end after an even number of quotes.
        """
        while line and (line[-1] not in "\r\n" or self._n_quotes % 2):
            if line[-1] in "\r\n":
                self._n_lines += 1
            line = self._text.readline(BUFFER_BYTES)
            self._n_quotes += line.count('"')


def _read_csv_rows(
    stream: BufferedReader, options: ReaderOptions, rows_before: int, lines_before: int
) -> Generator[Row]:
    """Yield CSV records, numbered as a spreadsheet numbers its rows; skip empty records.

    ``rows_before`` and ``lines_before`` are the numbers of rows and lines in the file before the
    stream. Raise `PathError` for invalid CSV.
    """
    delimiter = get_delimiter(options.reading)
    # `_encode_cells` restores bytes that are not UTF-8: each document has its own encoding.
    text = io.TextIOWrapper(
        stream,
        encoding="utf-8" if rows_before else "utf-8-sig",
        errors="surrogateescape",
        newline="",
    )
    lines = _CsvLines(text, options.max_document_bytes)
    row_number = rows_before + 1
    try:
        while True:  # again after each record that is too large
            try:
                for record in csv.reader(lines, delimiter=delimiter, strict=True):
                    if record:
                        yield row_number, _encode_cells(record)
                    lines.start_record()
                    row_number += 1
            except _RecordTooLarge:
                yield row_number, None
                lines.start_record()
                row_number += 1
            else:
                return
    except csv.Error as problem:
        line_number = lines_before + lines.lines_before_record + 1
        hint = (
            f"if quotes in this file are ordinary characters, use {format_tsv_options(delimiter)}"
        )
        raise PathError(f"line {line_number}: not valid csv ({problem})", hint=hint) from None
    finally:
        text.detach()  # else it would close the stream


def contains_rows(record: Sequence[AnyStr], delimiter: AnyStr, line_end: AnyStr) -> bool:
    """Return whether a cell of a record contains lines that look like rows.

    This happens if two stray quotes make all text between them one cell.
    """
    for cell in record:
        if cell.count(line_end) <= _MIN_SWALLOWED_LINES:
            continue
        inner_lines = cell.split(line_end)[1:-1]  # the first and the last may be incomplete
        if all(line.count(delimiter) == len(record) - 1 for line in inner_lines):
            return True
    return False


def _encode_cells(record: list[str]) -> list[bytes]:
    """Return the bytes of cells as stored in the file."""
    return [cell.encode("utf-8", "surrogateescape") for cell in record]


class _RowBlock(NamedTuple):
    """Consecutive rows of a table."""

    rows: Iterator[Row]
    read_columns: Callable[[int, Sequence[int]], list[list[bytes]] | None] | None = None
    """Function that reads the cells of some columns faster than ``rows``; None if there is none.

    It takes the number of columns of the table, and the indices of the columns to return. It
    returns None if the rows must be checked one by one.
    """


def _read_tsv_blocks(stream: BufferedReader, options: ReaderOptions) -> Generator[_RowBlock]:
    """Yield blocks of TSV lines, which are split at the delimiter when their rows are read."""
    delimiter = get_delimiter(options.reading).encode("utf-8", "surrogateescape")

    def iter_rows(lines: BufferedReader, lines_before: int) -> Iterator[Row]:
        for number, line in enumerate_lines(lines, options.max_document_bytes, lines_before):
            yield number, None if line is None else line.split(delimiter)

    for lines_before, content, lines in read_line_blocks(stream, options):
        read_columns = None
        if content is not None:
            read_columns = partial(_split_columns, content, delimiter)
        yield _RowBlock(iter_rows(lines, lines_before), read_columns)


def _read_csv_blocks(
    stream: BufferedReader, options: ReaderOptions, n_note_bytes: int = 0
) -> Generator[_RowBlock]:
    """Yield blocks of complete CSV records.

    As soon as no end of a record is found, or the CSV is invalid, the remainder of the stream
    becomes one block. The first ``n_note_bytes`` of the stream are a line that is no record.
    """
    csv.field_size_limit(max(options.max_document_bytes, _MIN_FIELD_LIMIT_CHARS))
    delimiter = get_delimiter(options.reading)
    pending = b""  # bytes that were read and are not in a block yet
    rows_before = options.byte_range.records_before
    lines_before = options.byte_range.lines_before
    if n_note_bytes:
        stream.read(n_note_bytes)
        lines_before += 1
    line_blocks = read_line_blocks(stream, options)
    for _, content, lines in line_blocks:
        if content is None:
            stream = lines  # all remaining lines
            break
        pending += content
        size = measure_complete_records(pending)
        if not size and len(pending) < LINE_BLOCK_BYTES:
            continue
        complete = pending[:size]
        records = None
        if 0 < size <= options.max_document_bytes:  # so no record can be too large
            encoding = "utf-8" if rows_before else "utf-8-sig"
            records = _parse_records(complete, encoding, delimiter)
        if records is None:
            break
        pending = pending[size:]
        numbered_records = [
            (number, record) for number, record in enumerate(records, rows_before + 1) if record
        ]
        if numbered_records:
            non_empty_records = [record for _, record in numbered_records]
            yield _RowBlock(
                ((number, _encode_cells(record)) for number, record in numbered_records),
                partial(_take_columns, complete, non_empty_records, delimiter),
            )
        # Lines end with LF, CR or CRLF.
        lines_before += complete.count(b"\n") + complete.count(b"\r") - complete.count(b"\r\n")
        rows_before += len(records)
    remainder = prepend_bytes(pending, stream)
    with closing(_read_csv_rows(remainder, options, rows_before, lines_before)) as rows:
        yield _RowBlock(rows)
    # Only when `line_blocks` is asked for the next block, it raises an exception from reading.
    next(line_blocks, None)


def _parse_records(content: bytes, encoding: str, delimiter: str) -> list[list[str]] | None:
    """Return the records of CSV; None if it is invalid: reading row by row reports the reason."""
    text = io.StringIO(content.decode(encoding, "surrogateescape"), newline="")
    with suppress(csv.Error):
        return list(csv.reader(text, delimiter=delimiter, strict=True))
    return None


def _take_columns(
    content: bytes,
    records: list[list[str]],
    delimiter: str,
    width: int,
    column_indices: Sequence[int],
) -> list[list[bytes]] | None:
    """Return the cells of columns of CSV records; None if rows must be checked one by one.

    ``content`` is the CSV of the records, and ``width`` is the expected number of columns. The
    result has a list of cells for each of the ``column_indices``.
    """
    may_have_line_end_in_cell = content.count(b"\n") > len(records)
    if may_have_line_end_in_cell and any(
        contains_rows(record, delimiter, "\n") for record in records
    ):
        return None
    if any(len(record) != width for record in records) or not is_plain(content):
        return None
    return [[record[index].encode() for record in records] for index in column_indices]


def _split_columns(
    content: bytes, delimiter: bytes, width: int, column_indices: Sequence[int]
) -> list[list[bytes]] | None:
    """Return the cells of columns of TSV lines; None if rows must be checked one by one.

    See `_take_columns` for the arguments and the result.
    """
    plain = normalize_plain_lines(content)
    if plain is None or len(delimiter) != 1 or delimiter in b"\r\n":
        return None
    octets = np.frombuffer(plain + b"\n", np.uint8)
    is_line_end = octets == ord("\n")
    cell_ends = np.flatnonzero((octets == delimiter[0]) | is_line_end)  # row by row
    n_cells = cell_ends.size
    is_last_in_row = np.arange(1, n_cells + 1) % width == 0
    if n_cells % width or not np.array_equal(is_line_end[cell_ends], is_last_in_row):
        return None
    cell_starts = np.append(0, cell_ends[:-1] + 1)
    columns = []
    for index in column_indices:
        starts = cell_starts[index::width].tolist()
        ends = cell_ends[index::width].tolist()
        columns.append([plain[start:end] for start, end in zip(starts, ends, strict=True)])
    return columns


class _ColumnFinder:
    """Finds the indices of columns, given their names or numbers in settings."""

    def __init__(self, header: Sequence[str] | None, path: str) -> None:
        """Store the header of a table; None if the table has no header."""
        self._header = header
        self._path = path
        self._indices: dict[str, list[int]] = {}
        for index, name in enumerate(header or ()):
            self._indices.setdefault(name, []).append(index)

    def find(self, name: str) -> int:
        """Return the index of a column, given its name, or its number from 1.

        Raise `UsageError` for the number 0, and for a name if the table has no header. Raise
        `PathError` if the header does not contain the name exactly once.
        """
        if name.isascii() and name.isdigit():
            if int(name) < 1:
                raise UsageError(f"there is no column {name}", hint="columns are numbered from 1")
            return int(name) - 1
        if self._header is None:
            raise UsageError(
                f"there is no column {name!r}, because the table has no header line",
                hint="use its number, or add --header",
            )
        indices = self._indices.get(name, ())
        if len(indices) == 1:
            return indices[0]
        subject = "several columns are" if indices else "no column is"
        names = [shorten(column, _MAX_COLUMN_NAME_CHARS) for column in self._header]
        suggestion = did_you_mean(name, sorted(set(names) - {name}))
        hint = "the table is empty"
        if self._header:
            hint = f"the header has {', '.join(names[:_MAX_LISTED_COLUMNS])}"
        raise PathError(f"{subject} called {name!r}{suggestion}", where=self._path, hint=hint)


class _ColumnIndices(NamedTuple):
    """Indices of the columns to read, from 0."""

    texts: list[int]
    """Indices of the columns that are joined into the text."""
    label: int | None
    """Index of the column of labels; None if there is none, or labels are not needed."""
    id: int | None
    """Index of the column of ids; None if there is none."""
    extra: list[int]
    """Indices of `ReaderOptions.columns`."""
    marks: Mapping[str, int] = {}
    """Index of the column of marks of each label, if labels have columns of their own."""

    @classmethod
    def from_options(
        cls, options: ReaderOptions, header: Sequence[str] | None, path: str
    ) -> _ColumnIndices:
        """Find the columns that the options name.

        Raise `UsageError` or `PathError` if the names do not fit the header or each other.
        """
        reading = options.reading
        columns = _ColumnFinder(header, path)
        texts = list(map(columns.find, options.list_text_columns("2")))
        label = None
        marks: dict[str, int] = {}
        if options.labelled:
            label_column = reading.label_column or "1"
            are_mark_columns = "," in label_column and label_column not in (header or ())
            if are_mark_columns:
                marks = {name: columns.find(name) for name in label_column.split(",")}
            else:
                label = columns.find(label_column)
        document_id = None
        if reading.id_column is not None:
            document_id = columns.find(reading.id_column)
        if label in texts or not set(texts).isdisjoint(marks.values()):
            raise UsageError(
                "--label-column and --text-column are the same column",
                hint=("use another column for each"),
            )
        extra = list(map(columns.find, options.columns))
        indices = cls(texts, label, document_id, extra, marks)
        if indices.last < 0:
            raise UsageError(
                "--text-column none leaves no column to read",
                hint="name the column of the text, or columns of attributes",
            )
        return indices

    @property
    def last(self) -> int:
        """The largest index; −1 if no columns are read."""
        indices = (*self.texts, self.label, self.id, *self.extra, *self.marks.values())
        return max((index for index in indices if index is not None), default=-1)

    def is_blank(self, cells: list[bytes] | None) -> bool:
        """Return whether a row is an empty line to skip.

        If only the first column is read, an empty line is a row whose only cell is empty.
        """
        return _is_empty_line(cells) and self.last > 0

    def collect_marked_labels(self, cells: Sequence[bytes], encoding: str) -> Label:
        """Return the set of labels for which a row has a mark."""
        from nbtext.prediction.label_lists import select_marked_labels

        marks = ((name, decode_name(cells[index], encoding)) for name, index in self.marks.items())
        return make_label_set(select_marked_labels(marks))

    def build_block(self, block: _RowBlock, width: int) -> LabelledBlock | None:
        """Return the documents of rows as one block; None if rows must be checked one by one.

        ``width`` is the number of columns; 0 if it is not known yet.
        """
        if block.read_columns is None or not self.texts or self.label is None or width <= self.last:
            return None
        columns = block.read_columns(width, (self.label, *self.texts))
        if columns is None:
            return None
        labels, *text_columns = columns
        if b"" in labels:
            return None
        texts = text_columns[0]
        if len(text_columns) > 1:
            texts = list(map(b"\n".join, zip(*text_columns, strict=True)))
        return LabelledBlock.from_labels(labels, texts, bytes.decode)


def read_table(path: str, options: ReaderOptions) -> Iterator[Document | LabelledBlock]:
    """Yield the document in each row, named by its id column, else ``path:row``.

    Rows are numbered from 1, the header included, but not a note about the delimiter above it.
    """
    read_blocks = _choose_block_reader(path, options)
    with open_stream(path, options) as stream, ExitStack() as stack:
        blocks: Iterable[_RowBlock] = stack.enter_context(closing(read_blocks(stream, options)))
        starts_inside_file = options.byte_range.start > 0
        first_blocks = blocks
        if starts_inside_file:  # the first row, at the start of the file, shows header and width
            start_options = replace(options, byte_range=WHOLE_FILE, accepts_blocks=False)
            start_stream = stack.enter_context(open_stream(path, start_options))
            first_blocks = stack.enter_context(closing(read_blocks(start_stream, start_options)))
        header = None
        if implies_header(options.reading, options.columns):
            cells, header_block = _take_first_row(first_blocks)
            header = [decode_column_name(cell, options.reading.encoding) for cell in cells]
            if not starts_inside_file:  # then the header was taken from `blocks`
                blocks = chain([header_block], blocks)
        indices = _ColumnIndices.from_options(options, header, path)
        width = len(header or ())
        if starts_inside_file and not width:
            width = _find_first_width(first_blocks, indices)
        yield from _read_documents(path, blocks, indices, width, options)


def _choose_block_reader(
    path: str, options: ReaderOptions
) -> Callable[[BufferedReader, ReaderOptions], Generator[_RowBlock]]:
    """Return the function that reads the rows of a table, without a note about the delimiter.

    Raise `UsageError` if the note sets another delimiter than the options.
    """
    if options.reading.format != "csv":
        return _read_tsv_blocks
    note = find_delimiter_note(peek_start(path, MAX_NOTE_BYTES))
    if note is None:
        return _read_csv_blocks
    note.require_equal(get_delimiter(options.reading), path)

    def read_blocks(stream: BufferedReader, options: ReaderOptions) -> Generator[_RowBlock]:
        is_file_start = options.byte_range.start == 0
        return _read_csv_blocks(stream, options, note.n_bytes if is_file_start else 0)

    return read_blocks


def _take_first_row(blocks: Iterable[_RowBlock]) -> tuple[list[bytes], _RowBlock]:
    """Return the cells of the first row, and a block of the remaining rows of its block.

    Skip empty lines above the first row, which some spreadsheets write.
    """
    for block in blocks:
        for _, cells in block.rows:
            if not _is_empty_line(cells):
                return cells or [], _RowBlock(block.rows)
    return [], _RowBlock(iter(()))


def _find_first_width(blocks: Iterable[_RowBlock], indices: _ColumnIndices) -> int:
    """Return the number of cells of the first row; 0 if there are no rows."""
    for block in blocks:
        for _, cells in block.rows:
            if cells is not None and not indices.is_blank(cells):
                return len(cells)
    return 0


def _is_empty_line(cells: list[bytes] | None) -> bool:
    return cells == [b""]


def _read_documents(
    path: str,
    blocks: Iterable[_RowBlock],
    indices: _ColumnIndices,
    width: int,
    options: ReaderOptions,
) -> Iterator[Document | LabelledBlock]:
    """Yield the documents of rows.

    ``width`` is the number of columns. If it is 0, the first row determines the number.
    """
    parse_row = _create_row_parser(indices, options)
    for row_block in blocks:
        block = indices.build_block(row_block, width)
        if block is not None:
            yield block
            continue
        for number, cells in _warn_of_swallowed_rows(row_block.rows, path, options):
            if indices.is_blank(cells):
                continue
            if not width and cells is not None:
                width = len(cells)
            yield parse_row(f"{path}:{number}", cells, width)


def _create_row_parser(
    indices: _ColumnIndices, options: ReaderOptions
) -> Callable[[str, list[bytes] | None, int], Document]:
    """Return a function from a name, cells and the number of columns to a document.

    An exception becomes the document's problem.
    """
    last = indices.last
    encoding = options.reading.encoding
    decode_label = lru_cache(_MAX_CACHED_LABELS)(decode_name)

    def parse_row(name: str, cells: list[bytes] | None, width: int) -> Document:
        try:
            if cells is None:
                raise create_size_error(options.max_document_bytes)  # noqa: TRY301 - caught below
            _check_width(len(cells), width, last)
            if indices.id is not None:
                name = cells[indices.id].decode("utf-8", "surrogateescape") or name
            label: Label | None = None
            if indices.label is not None:
                label = decode_label(cells[indices.label], encoding)
            if indices.marks:
                label = indices.collect_marked_labels(cells, encoding)
            text = b"\n".join([cells[index] for index in indices.texts])
            extra_cells = [to_utf8(cells[index], encoding) for index in indices.extra]
            columns = tuple([cell.decode() for cell, _ in extra_cells])
            return Document(name, label, text, columns=columns)
        except Exception as exception:  # noqa: BLE001 - one row must not end a run
            return Document(name, problem=to_document_error(exception))

    return parse_row


def _warn_of_swallowed_rows(
    rows: Iterable[Row], path: str, options: ReaderOptions
) -> Iterator[Row]:
    """Yield rows; add a warning to the notices for the first cell that contains other rows."""
    delimiter = get_delimiter(options.reading)
    encoded_delimiter = delimiter.encode("utf-8", "surrogateescape")
    is_checked = options.reading.format == "csv"
    for number, cells in rows:
        if is_checked and cells is not None and contains_rows(cells, encoded_delimiter, b"\n"):
            is_checked = False
            warning = Finding(
                "columns",
                WARNING,
                f"{path}:{number}: a cell in quotes contains lines that look like rows, and is "
                "read as one cell",
                "if quotes in this file are ordinary characters, use "
                f"{format_tsv_options(delimiter)}",
            )
            options.notices.warnings.append(warning)
        yield number, cells


def _check_width(n_cells: int, width: int, last: int) -> None:
    """Raise `DocumentError` for a row with a wrong number of cells.

    ``width`` is the number of cells of the first row, and ``last`` is the last index to read. A row
    must have ``width`` cells or, if the first row itself is too short, enough cells for ``last``.
    """
    if width > last:
        if n_cells != width:
            raise DocumentError(
                f"expected {format_quantity(width, 'column')}, found {n_cells}",
                hint="check --delimiter",
            )
    elif n_cells <= last:
        raise DocumentError(
            f"expected at least {format_quantity(last + 1, 'column')}, found {n_cells}",
            hint="check --delimiter and --text-column",
        )
