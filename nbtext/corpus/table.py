"""Formats ``csv`` and ``tsv``: one document per row, label and text in columns. csv is quoted; in tsv a quote is a character."""

from __future__ import annotations

import codecs
import csv
import io
from typing import IO, TYPE_CHECKING, NamedTuple

from nbtext.corpus.document import RawDocument
from nbtext.corpus.files import MAX_DOCUMENT_BYTES
from nbtext.corpus.streams import opened
from nbtext.errors import DocumentError, PathError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Row = tuple[int, list[bytes]]
"""Line number on which the row begins, and its fields as raw bytes."""


class Columns(NamedTuple):
    """Where a table keeps what: names, or numbers from 1 as text; and whether it begins with a header line."""

    label: str | None
    text: str
    id: str | None
    header: bool


def rows_of_tsv(stream: IO[bytes], delimiter: str) -> Iterator[Row]:
    """Lines split at the delimiter, quotes untouched."""
    separator = delimiter.encode()
    for number, line in enumerate(stream, 1):
        body = line.removesuffix(b"\n").removesuffix(b"\r")
        yield number, (body.removeprefix(codecs.BOM_UTF8) if number == 1 else body).split(separator)


def rows_of_csv(stream: IO[bytes], delimiter: str) -> Iterator[Row]:
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


def documents(path: str, file_format: str, delimiter: str | None, columns: Columns) -> Iterator[RawDocument]:
    """One document for each row, named by its id column or else ``path:line``."""
    with opened(path) as stream:
        rows = rows_of_csv(stream, delimiter or ",") if file_format == "csv" else rows_of_tsv(stream, delimiter or "\t")
        try:
            yield from _from_rows(path, rows, columns)
        except PathError as problem:
            problem.where = problem.where or path
            raise


def _from_rows(path: str, rows: Iterator[Row], columns: Columns) -> Iterator[RawDocument]:
    header = next(rows, (0, []))[1] if columns.header else []
    text = _position(columns.text, header, path)
    label, identity = (None if name is None else _position(name, header, path) for name in (columns.label, columns.id))
    last = max(place for place in (text, label, identity) if place is not None)
    for number, fields in rows:
        name = f"{path}:{number}"
        if len(fields) <= last:
            yield RawDocument(name, None, b"", DocumentError(f"the row has {len(fields)} columns, not {last + 1}", hint="see --format"))
            continue
        yield RawDocument(
            name if identity is None else fields[identity].decode("utf-8", "surrogateescape"),
            None if label is None else fields[label].decode("utf-8", "replace"),
            fields[text],
        )


def _position(name: str, header: Sequence[bytes], path: str) -> int:
    if _is_number(name):
        return int(name) - 1
    names = [field.decode("utf-8", "replace") for field in header]
    if names.count(name) != 1:
        how_often = "no column is" if name not in names else "several columns are"
        raise PathError(f"{how_often} called {name!r}", where=path, hint=f"the header has {', '.join(names[:20])}")
    return names.index(name)


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()
