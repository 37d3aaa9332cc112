"""Formats ``csv`` and ``tsv``: one document a row, label and text in columns. csv is quoted; in tsv a quote is a character."""

from __future__ import annotations

import csv
import io
from codecs import BOM_UTF8
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING

from nbtext.attributes import NO_TEXT
from nbtext.corpus.columns import column_name, names_a_column
from nbtext.corpus.decoding import decoded_name, to_utf8
from nbtext.corpus.document import Document, problem_of, too_large
from nbtext.corpus.streams import numbered_lines, open_stream
from nbtext.errors import DocumentError, PathError, UsageError, did_you_mean, quantity

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from io import BufferedReader, TextIOWrapper

    from nbtext.corpus.document import Source

Row = tuple[int, list[bytes] | None]
"""The number of the row, and its fields as raw bytes, or None for a row beyond the limit."""


class _RecordTooLarge(Exception):  # noqa: N818 - no failure: the reader begins again behind the record
    """Raised through `csv.reader` in place of the next line."""


class _RecordLines:
    """The lines of a text for `csv.reader`, which has no limit on the size of a record.

    Raise `_RecordTooLarge` as soon as the lines since `next_record` have more characters than the limit, and skip the rest of the record.
    """

    def __init__(self, text: TextIOWrapper, limit: int) -> None:
        self._text, self._limit = text, limit
        self._number = 0
        self._size = 0
        self._quotes = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._limit + 3)
        if not line:
            raise StopIteration
        self._number += 1
        self._size += len(line)
        if self._size > self._limit + 2:
            self._skip_record(line)
            raise _RecordTooLarge
        self._quotes += line.count('"')
        return line

    def next_record(self) -> int:
        """Begin a new record and return the number of its first line."""
        self._size = self._quotes = 0
        return self._number + 1

    def _skip_record(self, line: str) -> None:
        """Skip to the end of the record: a line end outside quotes, that is, after an even number of quotes."""
        while line:
            self._quotes += line.count('"')
            if line[-1] in "\r\n":
                if self._quotes % 2 == 0:
                    return
                self._number += 1
            line = self._text.readline(self._limit + 3)


def rows_of_tsv(stream: BufferedReader, delimiter: str, limit: int, lines_before: int = 0) -> Iterator[Row]:
    """Yield the lines split at the delimiter; quotes are characters."""
    separator = delimiter.encode("utf-8", "surrogateescape")
    for number, line in numbered_lines(stream, limit, lines_before):
        if line is None:
            yield number, None
        else:
            yield number, (line.removeprefix(BOM_UTF8) if number == 1 else line).split(separator)


def rows_of_csv(stream: BufferedReader, delimiter: str, limit: int) -> Generator[Row]:
    """Yield the records of quoted fields, which may hold line ends, numbered as a spreadsheet numbers its rows.

    Bytes that are not UTF-8 pass through the text layer as surrogates, so that each document's encoding is found by itself.
    """
    csv.field_size_limit(max(limit, 1 << 17))
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    lines = _RecordLines(text, limit)
    begin = row = 1
    try:
        while True:
            try:
                for record in csv.reader(lines, delimiter=delimiter, strict=True):
                    if record:
                        yield row, [field.encode("utf-8", "surrogateescape") for field in record]
                    begin, row = lines.next_record(), row + 1
            except _RecordTooLarge:
                yield row, None
                begin, row = lines.next_record(), row + 1
            else:
                return
    except csv.Error as problem:
        raise PathError(f"line {begin}: not valid csv ({problem})", hint="if quotes are only characters, use --format tsv") from None
    finally:
        text.detach()


def delimited(path: str, source: Source) -> Iterator[Document]:
    """Yield a document for each row, named by its id column or else ``path:row``; the header is row 1."""
    part, limit, delimiter = source.part, source.limit, source.reading.delimiter
    with open_stream(path, source.unpacked_limit, part) as stream:
        if source.reading.format == "csv":
            with closing(rows_of_csv(stream, delimiter or ",", limit)) as rows:
                yield from _documents(path, rows, source)
            return
        delimiter = delimiter or "\t"
        later_rows = rows_of_tsv(stream, delimiter, limit, source.lines_before)
        if part is None or not part.start:
            yield from _documents(path, later_rows, source)
            return
        with open_stream(path) as whole:
            yield from _documents(path, later_rows, source, rows_of_tsv(whole, delimiter, limit))


def _documents(path: str, rows: Iterator[Row], source: Source, first_rows: Iterator[Row] | None = None) -> Iterator[Document]:
    """Yield the documents of rows; ``first_rows`` are those at the beginning of the table, if ``rows`` are of a later part."""
    reading, encoding = source.reading, source.reading.encoding
    header = None
    if names_a_column(reading, source.columns):
        header = [column_name(field, encoding) for field in next(first_rows or rows, (0, []))[1] or []]
    texts = (
        []
        if reading.text_column == NO_TEXT
        else [_position(name, header, path) for name in source.text_columns or (["2"] if reading.text_column is None else [])]
    )
    label = _position(reading.label_column or "1", header, path) if source.labelled else None
    identity = None if reading.id_column is None else _position(reading.id_column, header, path)
    if label is not None and label in texts:
        raise UsageError("--label-column and --text-column are the same column", hint="give each its own")
    others = [_position(name, header, path) for name in source.columns]
    places = [place for place in (*texts, label, identity, *others) if place is not None]
    if not places:
        raise UsageError("--text-column none leaves no column to read", hint="name the column of the text, or columns beside it")
    last = max(places)
    first_widths = (len(fields) for _, fields in first_rows or () if fields is not None and not (fields == [b""] and last))
    width = len(header or ()) or next(first_widths, 0)
    label_of = lru_cache(1 << 10)(decoded_name)
    for number, fields in rows:
        name = f"{path}:{number}"
        if fields is None:
            yield Document(name, problem=too_large(source.limit))
            continue
        if fields == [b""] and last:
            continue  # an empty line between rows, or at the end
        width = width or len(fields)
        if len(fields) <= last or len(fields) != width > last:
            yield Document(name, problem=_wrong_width(len(fields), width, last))
            continue
        if identity is not None:
            name = fields[identity].decode("utf-8", "surrogateescape") or name
        try:
            named = None if label is None else label_of(fields[label], encoding)
            columns = tuple([to_utf8(fields[place], encoding)[0].decode() for place in others]) if others else ()
            document = Document(
                name, named, fields[texts[0]] if len(texts) == 1 else b"\n".join([fields[place] for place in texts]), columns=columns
            )
        except Exception as raised:  # noqa: BLE001 - one row never ends a run
            document = Document(name, problem=problem_of(raised))
        yield document


def _wrong_width(found: int, width: int, last: int) -> DocumentError:
    """Return the problem of a row with another number of columns than the first row, or, if that has too few, than are needed."""
    if width > last:
        return DocumentError(f"expected {quantity(width, 'column')}, found {found}", hint="check --delimiter")
    return DocumentError(f"expected at least {quantity(last + 1, 'column')}, found {found}", hint="check --delimiter and --text-column")


def _position(name: str, header: Sequence[str] | None, path: str) -> int:
    """Return the number of a column from 0; raise `UsageError` or `PathError` if there is none."""
    if name.isascii() and name.isdigit():
        if int(name) < 1:
            raise UsageError(f"there is no column {name}", hint="columns are numbered from 1")
        return int(name) - 1
    if header is None:
        raise UsageError(f"no column is called {name!r}: the table has no header line", hint="give its number, or --header")
    if header.count(name) != 1:
        how_often = "no column is" if name not in header else "several columns are"
        listed = f"the header has {', '.join(header[:20])}" if header else "the table is empty"
        raise PathError(f"{how_often} called {name!r}{did_you_mean(name, sorted(set(header) - {name}))}", where=path, hint=listed)
    return header.index(name)
