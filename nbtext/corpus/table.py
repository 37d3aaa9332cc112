"""Formats ``csv`` and ``tsv``: one document per row, label and text in columns. csv is quoted; in tsv a quote is a character."""

from __future__ import annotations

import codecs
import csv
import io
from contextlib import closing
from typing import IO, TYPE_CHECKING, NamedTuple

from nbtext.corpus.decoding import to_utf8
from nbtext.corpus.document import RawDocument
from nbtext.corpus.files import MAX_DOCUMENT_BYTES
from nbtext.corpus.streams import opened
from nbtext.errors import DocumentError, PathError, UsageError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

Row = tuple[int, list[bytes]]
"""Line number on which the row begins, and its fields as raw bytes."""


class Layout(NamedTuple):
    """Where a table keeps what: names of columns, or numbers from 1 as text; whether it begins with a header line; its encoding."""

    label: str | None
    text: str
    id: str | None
    header: bool
    encoding: str


def rows_of_tsv(stream: IO[bytes], delimiter: str) -> Generator[Row]:
    """Lines split at the delimiter, quotes untouched."""
    separator = delimiter.encode("utf-8", "surrogateescape")
    for number, line in enumerate(stream, 1):
        body = line.removesuffix(b"\n").removesuffix(b"\r")
        yield number, (body.removeprefix(codecs.BOM_UTF8) if number == 1 else body).split(separator)


def rows_of_csv(stream: IO[bytes], delimiter: str) -> Generator[Row]:
    """Records of quoted fields, line breaks inside them included.

    Bytes that are not UTF-8 pass through the text layer as surrogates, so that each document's encoding is found by itself.
    """
    csv.field_size_limit(MAX_DOCUMENT_BYTES)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    begin = 1
    try:
        for record in reader:
            if record:
                yield begin, [field.encode("utf-8", "surrogateescape") for field in record]
            begin = reader.line_num + 1
    except csv.Error as problem:
        raise PathError(f"line {begin}: not valid csv ({problem})", hint="if quotes are only characters, use --format tsv") from None
    finally:
        text.detach()


def documents(path: str, file_format: str, delimiter: str | None, layout: Layout) -> Iterator[RawDocument]:
    """One document for each row, named by its id column or else ``path:line``."""
    with opened(path) as stream:
        split = rows_of_csv(stream, delimiter or ",") if file_format == "csv" else rows_of_tsv(stream, delimiter or "\t")
        with closing(split) as rows:
            try:
                yield from _from_rows(path, rows, layout)
            except PathError as problem:
                problem.where = problem.where or path
                raise


def _from_rows(path: str, rows: Iterator[Row], layout: Layout) -> Iterator[RawDocument]:
    header = [_name(field, layout.encoding) for field in next(rows, (0, []))[1]] if layout.header else []
    text = _position(layout.text, header, path, layout)
    label, identity = (None if name is None else _position(name, header, path, layout) for name in (layout.label, layout.id))
    if label == text:
        raise UsageError("--label-column and --text-column are the same column", hint="give each its own")
    last = max(place for place in (text, label, identity) if place is not None)
    width = len(header)
    for number, fields in rows:
        name = f"{path}:{number}"
        if fields == [b""] and last:
            continue  # an empty line between rows, or at the end
        width = width or len(fields)
        if len(fields) != width or width <= last:
            wanted = f"{width} as the first" if width > last else f"the {last + 1} wanted"
            yield RawDocument(name, None, b"", DocumentError(f"the row has {len(fields)} columns, not {wanted}", hint="see --format"))
            continue
        if identity is not None:
            name = fields[identity].decode("utf-8", "surrogateescape") or name
        try:
            yield RawDocument(name, None if label is None else to_utf8(fields[label], layout.encoding)[0].decode(), fields[text])
        except DocumentError as problem:
            yield RawDocument(name, None, b"", problem)


def _position(name: str, header: Sequence[str], path: str, layout: Layout) -> int:
    if name.isascii() and name.isdigit():
        return int(name) - 1
    if not layout.header:
        raise UsageError(f"without a header line no column is called {name!r}", hint="give its number, or --header")
    if header.count(name) != 1:
        how_often = "no column is" if name not in header else "several columns are"
        listed = f"the header has {', '.join(header[:20])}" if header else "the table is empty"
        raise PathError(f"{how_often} called {name!r}", where=path, hint=listed)
    return header.index(name)


def _name(field: bytes, encoding: str) -> str:
    try:
        return to_utf8(field, encoding)[0].decode()
    except DocumentError:
        return field.decode("utf-8", "replace")
