"""Formats ``csv`` and ``format_tsv_line``: one document a row, label and text in columns. csv is quoted; in tsv a quote is a character."""

from __future__ import annotations

import csv
import io
from codecs import BOM_UTF8
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, AnyStr, NamedTuple

import numpy as np

from nbtext.corpus.columns import decode_column_name, format_tsv_options, implies_header, shorten
from nbtext.corpus.decoding import decode_name, is_plain, normalize_plain_lines, to_utf8
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


MAX_COLUMN_NAME_CHARS = 30
"""Characters of a column's name in a message."""

MIN_SWALLOWED_LINES = 3
"""Lines in a cell, at least, that all look like rows, for the cell to be a mistake."""

Row = tuple[int, list[bytes] | None]
"""The number of the row, and its fields as raw bytes, or None for a row beyond the limit."""


# No failure: the reader begins again behind the record.
class _RecordTooLarge(Exception):  # noqa: N818
    """Raised through `csv.reader` in place of the next line."""


def _skip_record(text: TextIOWrapper, line: str, quotes: int) -> int:
    """Skip the rest of a record, to a line end after an even number of quotes; return the number of lines in it, given what was read of the first."""
    n_lines = 0
    while line and (line[-1] not in "\r\n" or quotes % 2):
        n_lines += line[-1] in "\r\n"
        line = text.readline(BUFFER_BYTES)
        quotes += line.count('"')
    return n_lines


def _read_csv_rows(
    stream: BufferedReader, source: ReaderOptions, rows_before: int, lines_before: int
) -> Generator[Row]:
    """Yield the records of quoted fields, which may hold line ends, numbered as a spreadsheet numbers its rows.

    Bytes that are not UTF-8 pass through the text layer as surrogates, so that each document's encoding is found by itself.
    """
    limit = source.max_document_bytes
    delimiter = get_delimiter(source.reading)
    text = io.TextIOWrapper(
        stream,
        encoding="utf-8" if rows_before else "utf-8-sig",
        errors="surrogateescape",
        newline="",
    )
    n_lines = before = size = quotes = (
        0  # lines, those before the record, and its characters and quotes so far
    )
    row = rows_before + 1

    def lines() -> Iterator[str]:
        """Yield lines for `csv.reader`, which has no limit on the size of a record; raise `_RecordTooLarge` behind a record beyond the limit."""
        nonlocal n_lines, size, quotes
        while line := text.readline(limit + 3):
            n_lines = n_lines + 1
            size = size + len(line)
            quotes = quotes + line.count('"')
            if size <= limit + 2:
                yield line
                continue
            n_lines += _skip_record(text, line, quotes)
            raise _RecordTooLarge

    try:
        while True:
            try:
                for record in csv.reader(lines(), delimiter=delimiter, strict=True):
                    if record:
                        yield row, _cells(record)
                    before = n_lines
                    size = 0
                    quotes = 0
                    row = row + 1
            except _RecordTooLarge:
                yield row, None
                before = n_lines
                size = 0
                quotes = 0
                row = row + 1
            else:
                return
    except csv.Error as problem:
        where = f"line {lines_before + before + 1}"
        hint = f"if a quote is only a character, give {format_tsv_options(delimiter)}"
        raise PathError(f"{where}: not valid csv ({problem})", hint=hint) from None
    finally:
        text.detach()


def contains_rows(record: Sequence[AnyStr], delimiter: AnyStr, line_end: AnyStr) -> bool:
    """Return whether a cell holds lines that look like rows: two stray quotes make one cell of all that stands between them."""
    for cell in record:
        if cell.count(line_end) <= MIN_SWALLOWED_LINES:
            continue
        inner = cell.split(line_end)[1:-1]
        if all(line.count(delimiter) == len(record) - 1 for line in inner):
            return True
    return False


def _cells(record: list[str]) -> list[bytes]:
    return [field.encode("utf-8", "surrogateescape") for field in record]


class _RowBlock(NamedTuple):
    """Consecutive rows of a table."""

    rows: Iterator[Row]
    columns: Callable[[int, Sequence[int]], list[list[bytes]] | None] | None = None
    """Returns the cells of some columns, given the number of columns; None if one of the rows needs a closer look."""


def _blocks_of_tsv(stream: BufferedReader, source: ReaderOptions) -> Generator[_RowBlock]:
    """Yield blocks of lines split at the delimiter; quotes are characters."""
    separator = get_delimiter(source.reading).encode("utf-8", "surrogateescape")

    def rows(lines: BufferedReader, lines_before: int) -> Iterator[Row]:
        for number, line in enumerate_lines(lines, source.max_document_bytes, lines_before):
            yield (
                number,
                None
                if line is None
                else (line.removeprefix(BOM_UTF8) if number == 1 else line).split(separator),
            )

    for before, content, one_by_one in read_line_blocks(stream, source):
        yield _RowBlock(
            rows(one_by_one, before),
            None if content is None else partial(_columns_of_lines, content, separator),
        )


def _blocks_of_csv(stream: BufferedReader, source: ReaderOptions) -> Generator[_RowBlock]:
    """Yield blocks that end where a record ends; from where no such end is found, or csv is not valid, the rest as one block."""
    csv.field_size_limit(max(source.max_document_bytes, 1 << 17))
    rest = b""
    rows_before = source.byte_range.records_before
    lines_before = source.byte_range.lines_before
    line_wise = read_line_blocks(stream, source)
    for _, content, one_by_one in line_wise:
        if content is None:
            stream = one_by_one
            break
        rest += content
        size = measure_complete_records(rest)
        records = None
        if not size and len(rest) < LINE_BLOCK_BYTES:
            continue
        done = rest[:size]
        if 0 < size <= source.max_document_bytes:
            text = io.StringIO(
                done.decode("utf-8" if rows_before else "utf-8-sig", "surrogateescape"), newline=""
            )
            with suppress(csv.Error):  # reading the rest row by row reports it
                records = list(
                    csv.reader(text, delimiter=get_delimiter(source.reading), strict=True)
                )
        if records is None:
            break
        rest = rest[size:]
        filled = [
            (number, record) for number, record in enumerate(records, rows_before + 1) if record
        ]
        if filled:  # the header is the first row of the first block
            rows = ((number, _cells(record)) for number, record in filled)
            yield _RowBlock(
                rows,
                partial(
                    _columns_of_records,
                    done,
                    [record for _, record in filled],
                    get_delimiter(source.reading),
                ),
            )
        lines_before += done.count(b"\n") + done.count(b"\r") - done.count(b"\r\n")
        rows_before += len(records)
    with closing(
        _read_csv_rows(prepend_bytes(rest, stream), source, rows_before, lines_before)
    ) as later:
        yield _RowBlock(later)
    next(line_wise, None)  # raises what reading raised


def _columns_of_records(
    content: bytes, records: list[list[str]], delimiter: str, width: int, wanted: Sequence[int]
) -> list[list[bytes]] | None:
    if content.count(b"\n") > len(records) and any(
        contains_rows(record, delimiter, "\n") for record in records
    ):
        return None
    if any(len(record) != width for record in records) or not is_plain(content):
        return None
    return [[record[place].encode() for record in records] for place in wanted]


def _columns_of_lines(
    content: bytes, separator: bytes, width: int, wanted: Sequence[int]
) -> list[list[bytes]] | None:
    plain = normalize_plain_lines(content)
    if plain is None or len(separator) != 1 or separator in b"\r\n":
        return None
    text = np.frombuffer(plain + b"\n", np.uint8)
    bounds = np.flatnonzero((text == separator[0]) | (text == ord("\n")))
    if bounds.size % width or not np.array_equal(
        text[bounds] == ord("\n"), np.arange(1, bounds.size + 1) % width == 0
    ):
        return None
    begins = np.append(0, bounds[:-1] + 1)
    of_columns = (
        zip(begins[place::width].tolist(), bounds[place::width].tolist(), strict=True)
        for place in wanted
    )
    return [[plain[begin:end] for begin, end in column] for column in of_columns]


class _Places(NamedTuple):
    """Which columns are read, by their numbers from 0."""

    texts: list[int]
    label: int | None
    identity: int | None
    others: list[int]
    marks: Mapping[str, int] = {}
    """Of each label, the column that says which rows have it, if there is one for each."""

    @classmethod
    def of(cls, source: ReaderOptions, header: Sequence[str] | None, path: str) -> _Places:
        """Find the columns that the settings name; raise `UsageError` or `PathError` if they do not fit."""
        reading = source.reading
        places: dict[str, list[int]] = {}
        for place, column in enumerate(header or ()):
            places.setdefault(column, []).append(place)

        def position(name: str) -> int:
            if name.isascii() and name.isdigit():
                if int(name) < 1:
                    raise UsageError(
                        f"there is no column {name}", hint="columns are numbered from 1"
                    )
                return int(name) - 1
            if header is None:
                raise UsageError(
                    f"no column is called {name!r}: the table has no header line",
                    hint="give its number, or --header",
                )
            found = places.get(name, ())
            if len(found) != 1:
                how_often = "no column is" if not found else "several columns are"
                shown = [shorten(column, MAX_COLUMN_NAME_CHARS) for column in header]
                listed = (
                    f"the header has {', '.join(shown[:20])}" if header else "the table is empty"
                )
                raise PathError(
                    f"{how_often} called {name!r}{did_you_mean(name, sorted(set(shown) - {name}))}",
                    where=path,
                    hint=listed,
                )
            return found[0]

        texts = list(map(position, source.list_text_columns("2")))
        label_column = (reading.label_column or "1") if source.labelled else None
        has_marks = label_column is not None and "," in label_column and label_column not in places
        marks = (
            {name: position(name) for name in label_column.split(",")}
            if label_column and has_marks
            else {}
        )
        label = None if label_column is None or has_marks else position(label_column)
        identity = None if reading.id_column is None else position(reading.id_column)
        if label in texts or not set(texts).isdisjoint(marks.values()):
            raise UsageError(
                "--label-column and --text-column are the same column", hint="give each its own"
            )
        found = cls(texts, label, identity, list(map(position, source.columns)), marks)
        if found.last < 0:
            raise UsageError(
                "--text-column none leaves no column to read",
                hint="name the column of the text, or columns beside it",
            )
        return found

    @property
    def last(self) -> int:
        """The last column that is needed; −1 if none is."""
        places = (*self.texts, self.label, self.identity, *self.others, *self.marks.values())
        return max((place for place in places if place is not None), default=-1)

    def text(self, fields: Sequence[bytes]) -> bytes:
        """Return the text of a row."""
        return b"\n".join([fields[place] for place in self.texts])

    def labels(self, fields: Sequence[bytes], encoding: str) -> Label:
        """Return the set of the labels that a row has a mark for."""
        from nbtext.prediction.label_lists import select_marked_labels

        marks = ((name, decode_name(fields[place], encoding)) for name, place in self.marks.items())
        return make_label_set(select_marked_labels(marks))

    def block(self, rows: _RowBlock, width: int) -> LabelledBlock | None:
        """Return the documents of rows, given the number of columns; None if one of them needs a closer look."""
        if rows.columns is None or not self.texts or self.label is None or width <= self.last:
            return None
        columns = rows.columns(width, (self.label, *self.texts))
        if columns is None or b"" in columns[0]:
            return None
        labels, *texts = columns
        joined = texts[0] if len(texts) == 1 else list(map(b"\n".join, zip(*texts, strict=True)))
        return LabelledBlock.from_labels(labels, joined, bytes.decode)


def delimited(path: str, source: ReaderOptions) -> Iterator[Document | LabelledBlock]:
    """Yield a document for each row, named by its id column or else ``path:row``; the header is row 1."""
    blocks_of = _blocks_of_csv if source.reading.format == "csv" else _blocks_of_tsv
    with open_stream(path, source) as stream, ExitStack() as also:
        blocks = also.enter_context(closing(blocks_of(stream, source)))
        rest: Iterable[_RowBlock] = blocks
        header = None
        beginning = blocks
        if source.byte_range.start:
            from_beginning = replace(source, byte_range=WHOLE_FILE, accepts_blocks=False)
            whole = also.enter_context(open_stream(path, from_beginning))
            beginning = also.enter_context(closing(blocks_of(whole, from_beginning)))
        if implies_header(source.reading, source.columns):
            names, after = _first_row(beginning)
            header = [decode_column_name(field, source.reading.encoding) for field in names]
            rest = blocks if source.byte_range.start else chain([after], blocks)
        places = _Places.of(source, header, path)
        width = len(header or ())
        if source.byte_range.start and not width:
            rows = chain.from_iterable(block.rows for block in beginning)
            width = next(
                (
                    len(fields)
                    for _, fields in rows
                    if fields is not None and not (fields == [b""] and places.last)
                ),
                0,
            )
        yield from _documents(path, rest, places, width, source)


def _first_row(blocks: Iterable[_RowBlock]) -> tuple[list[bytes], _RowBlock]:
    """Return the cells of the first row, and the other rows of its block. Spreadsheets leave empty lines above it, which a block may end with."""
    for block in blocks:
        for _, fields in block.rows:
            if fields != [b""]:
                return fields or [], _RowBlock(block.rows)
    return [], _RowBlock(iter(()))


def _documents(
    path: str, blocks: Iterable[_RowBlock], places: _Places, width: int, source: ReaderOptions
) -> Iterator[Document | LabelledBlock]:
    """Yield the documents of rows, given the number of columns, 0 if the first row tells it."""
    last = places.last
    encoding = source.reading.encoding
    label_of = lru_cache(1 << 10)(decode_name)
    for rows in blocks:
        block = places.block(rows, width)
        if block is not None:
            yield block
            continue
        for number, fields in _noting_swallowed_rows(rows.rows, path, source):
            if fields == [b""] and last:
                continue  # an empty line between rows, or at the end
            width = width or len(fields or ())
            name = f"{path}:{number}"
            try:
                if fields is None:
                    # A problem of the document, as all that making it raises.
                    raise create_size_error(source.max_document_bytes)  # noqa: TRY301
                if len(fields) <= last or len(fields) != width > last:
                    raise _wrong_width(len(fields), width, last)  # noqa: TRY301 - likewise
                if places.identity is not None:
                    name = fields[places.identity].decode("utf-8", "surrogateescape") or name
                label: Label | None = (
                    None if places.label is None else label_of(fields[places.label], encoding)
                )
                if places.marks:
                    label = places.labels(fields, encoding)
                columns = tuple(
                    [to_utf8(fields[place], encoding)[0].decode() for place in places.others]
                )
                document = Document(name, label, places.text(fields), columns=columns)
            except Exception as raised:  # noqa: BLE001 - one row never ends a run
                document = Document(name, problem=to_document_error(raised))
            yield document


def _noting_swallowed_rows(rows: Iterable[Row], path: str, source: ReaderOptions) -> Iterator[Row]:
    """Yield rows, and note the first with a cell that seems to have swallowed others."""
    delimiter = get_delimiter(source.reading)
    encoded = delimiter.encode("utf-8", "surrogateescape")
    is_sought = source.reading.format == "csv"
    for number, fields in rows:
        if is_sought and fields is not None and contains_rows(fields, encoded, b"\n"):
            is_sought = False
            what = (
                f"{path}:{number}: a cell in quotes holds lines that look like rows, and is "
                "read as one cell"
            )
            source.notices.warnings.append(
                Finding(
                    "columns",
                    WARNING,
                    what,
                    f"if a quote is only a character, give {format_tsv_options(delimiter)}",
                )
            )
        yield number, fields


def _wrong_width(found: int, width: int, last: int) -> DocumentError:
    """Return the problem of a row with another number of columns than the first row, or, if that has too few, than are needed."""
    if width > last:
        return DocumentError(
            f"expected {format_quantity(width, 'column')}, found {found}", hint="check --delimiter"
        )
    return DocumentError(
        f"expected at least {format_quantity(last + 1, 'column')}, found {found}",
        hint="check --delimiter and --text-column",
    )
