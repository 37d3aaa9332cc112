"""Lines for the csv module, which has no limit of its own on a record: one that is too large is read over, not kept.

Formats ``csv`` and ``tsv``: one document per row, label and text in columns. csv is quoted; in tsv a quote is a character.
"""

from __future__ import annotations

import codecs
import csv
import io
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.attributes import NO_TEXT
from nbtext.corpus.document import RawDocument, problem_of, to_utf8
from nbtext.corpus.streams import MAX_DOCUMENT_BYTES, lines, opened, too_large
from nbtext.errors import DocumentError, PathError, UsageError, quantity

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from io import BufferedReader, TextIOWrapper

    from nbtext.corpus.source import Source
    from nbtext.corpus.streams import Part


class RecordTooLarge(Exception):  # noqa: N818 - no failure: it tells the reader to begin again behind the record
    """Raised through `csv.reader` in place of the next line."""


class RecordLines:
    """The lines of a text, as long as those since `next_record` have not more characters than the limit together."""

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
            self._pass_over(line)
            raise RecordTooLarge
        self._quotes += line.count('"')
        return line

    def next_record(self) -> int:
        """Begin a new record; the number of its first line."""
        self._size = self._quotes = 0
        return self._number + 1

    def _pass_over(self, line: str) -> None:
        """Go to the end of the record: a line end outside quotes, which is one after an even number of quotes."""
        while line:
            self._quotes += line.count('"')
            if line[-1] in "\r\n":
                if self._quotes % 2 == 0:
                    return
                self._number += 1
            line = self._text.readline(self._limit + 3)


Row = tuple[int, list[bytes] | None]
"""Line number on which the row begins, and its fields as raw bytes, or None for a row beyond the limit."""


class Layout(NamedTuple):
    """Where a table keeps what: names of columns, or numbers from 1 as text; whether it begins with a header line; its encoding."""

    label: str | None
    text: str | None
    id: str | None
    others: tuple[str, ...]
    header: bool
    encoding: str


def rows_of_tsv(stream: BufferedReader, delimiter: str, limit: int = MAX_DOCUMENT_BYTES) -> Generator[Row]:
    """Lines split at the delimiter, quotes untouched."""
    separator = delimiter.encode("utf-8", "surrogateescape")
    for number, line in lines(stream, limit):
        if line is None:
            yield number, None
        else:
            yield number, (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).split(separator)


def rows_of_csv(stream: BufferedReader, delimiter: str, limit: int = MAX_DOCUMENT_BYTES) -> Generator[Row]:
    """Records of quoted fields, line breaks inside them included.

    Bytes that are not UTF-8 pass through the text layer as surrogates, so that each document's encoding is found by itself.
    """
    csv.field_size_limit(max(limit, 1 << 17))
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    feed = RecordLines(text, limit)
    begin = 1
    try:
        while True:
            try:
                for record in csv.reader(feed, delimiter=delimiter, strict=True):
                    if record:
                        yield begin, [field.encode("utf-8", "surrogateescape") for field in record]
                    begin = feed.next_record()
            except RecordTooLarge:
                yield begin, None
                begin = feed.next_record()
            else:
                return
    except csv.Error as problem:
        raise PathError(f"line {begin}: not valid csv ({problem})", hint="if quotes are only characters, use --format tsv") from None
    finally:
        text.detach()


def documents(path: str, source: Source) -> Iterator[RawDocument]:
    """One document for each row, named by its id column or else ``path:line``."""
    reading = source.reading
    label = (reading["label_column"] or "1") if source.labelled else None
    text, others = None if reading["text_column"] == NO_TEXT else reading["text_column"] or "2", source.columns
    layout = Layout(label, text, reading["id_column"], others, _has_header(reading, others), reading["encoding"])
    with source.opened(path) as stream:
        delimiter, limit = reading["delimiter"], source.limit
        is_csv = reading["format"] == "csv"
        split = rows_of_csv(stream, delimiter or ",", limit) if is_csv else rows_of_tsv(stream, delimiter or "\t", limit)
        with closing(split) as rows:
            if source.part is None or not source.part.start:
                yield from _from_rows(path, rows, layout, limit)
                return
            with opened(path) as whole, closing(rows_of_tsv(whole, delimiter or "\t", limit)) as beginning:
                yield from _from_rows(path, rows, layout, limit, _LaterRows(source.part, beginning))


def _has_header(reading: Mapping[str, Any], others: Sequence[str]) -> bool:
    """Whether tables begin with a header: as said, else if any column is called by name, whether it is needed now or not."""
    if reading["header"] is not None:
        return bool(reading["header"])
    columns = (reading["label_column"], reading["text_column"], reading["id_column"], *others)
    return any(column not in (None, NO_TEXT) and not column.isdigit() for column in columns)


class _LaterRows(NamedTuple):
    """What to know of rows that are not the first of their table: the part they are in, and the rows from the beginning of the table on."""

    part: Part
    beginning: Iterator[Row]

    def width(self, last: int) -> int:
        """The number of columns that the first row has which is not empty, 0 if there is none."""
        return next((len(fields) for _, fields in self.beginning if fields is not None and not (fields == [b""] and last)), 0)


def _from_rows(path: str, rows: Iterator[Row], layout: Layout, limit: int, later: _LaterRows | None = None) -> Iterator[RawDocument]:
    first, shown = (rows, path) if later is None else (later.beginning, later.part.marked(path))
    header = [_name(field, layout.encoding) for field in next(first, (0, []))[1] or []] if layout.header else []
    places = (None if name is None else _position(name, header, path, layout) for name in (layout.text, layout.label, layout.id))
    text, label, identity = places
    if label is not None and label == text:
        raise UsageError("--label-column and --text-column are the same column", hint="give each its own")
    others = [_position(name, header, path, layout) for name in layout.others]
    last = max(place for place in (text, label, identity, *others) if place is not None)
    width = len(header) or (0 if later is None else later.width(last))
    label_of = lru_cache(1 << 10)(_decoded)
    for number, fields in rows:
        name = f"{shown}:{number}"
        if fields is None:
            yield RawDocument(name, None, b"", too_large(limit))
            continue
        if fields == [b""] and last:
            continue  # an empty line between rows, or at the end
        width = width or len(fields)
        if len(fields) <= last or len(fields) != width > last:
            yield RawDocument(name, None, b"", _wrong_width(len(fields), width, last))
            continue
        if identity is not None:
            name = fields[identity].decode("utf-8", "surrogateescape") or name
        try:
            named = None if label is None else label_of(fields[label], layout.encoding)
            columns = tuple([_decoded(fields[place], layout.encoding) for place in others]) if others else ()
            made = RawDocument(name, named, b"" if text is None else fields[text], columns=columns)
        except Exception as raised:  # noqa: BLE001 - one row never ends a run
            made = RawDocument(name, None, b"", problem_of(raised))
        yield made


def _wrong_width(found: int, width: int, last: int) -> DocumentError:
    """Return the problem of a row: it has not as many columns as the first row, or, where that lacks some too, not those asked for."""
    if width > last:
        return DocumentError(f"expected {quantity(width, 'column')}, found {found}", hint="check --delimiter")
    return DocumentError(f"expected at least {quantity(last + 1, 'column')}, found {found}", hint="check --delimiter and --text-column")


def _position(name: str, header: Sequence[str], path: str, layout: Layout) -> int:
    if name.isascii() and name.isdigit():
        if int(name) < 1:
            raise UsageError(f"there is no column {name}", hint="columns are numbered from 1")
        return int(name) - 1
    if not layout.header:
        raise UsageError(f"without a header line no column is called {name!r}", hint="give its number, or --header")
    if header.count(name) != 1:
        how_often = "no column is" if name not in header else "several columns are"
        listed = f"the header has {', '.join(header[:20])}" if header else "the table is empty"
        raise PathError(f"{how_often} called {name!r}", where=path, hint=listed)
    return header.index(name)


def _decoded(field: bytes, encoding: str) -> str:
    return to_utf8(field, encoding)[0].decode()


def _name(field: bytes, encoding: str) -> str:
    try:
        return _decoded(field, encoding)
    except DocumentError:
        return field.decode("utf-8", "replace")
