"""The one way into a corpus: from paths and reading settings to a stream of documents in valid UTF-8."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtext.corpus import directory
from nbtext.corpus.decoding import is_ascii_compatible, to_utf8
from nbtext.corpus.document import Document, Notices
from nbtext.errors import DocumentError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbtext.corpus.document import RawDocument

BY_SUFFIX = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv"}


def resolve_format(paths: Sequence[str], file_format: str) -> str:
    """What ``auto`` means for these paths: ``dir`` unless the first is a file named like a table."""
    if file_format != "auto":
        return file_format
    first = paths[0] if paths else "."
    return "dir" if os.path.isdir(first) else BY_SUFFIX.get(Path(first).suffix.lower(), "dir")  # noqa: PTH112 - never raises


def read_corpus(paths: Sequence[str], reading: Mapping[str, Any], notices: Notices, *, labelled: bool) -> Iterator[Document]:
    """Documents in order, one for each that the paths hold; one that cannot be read comes with its problem.

    ``reading`` has the parameters of `nbtext.parameters.READING`. With ``labelled`` each document has its class. Raises `PathError` for a
    path that cannot be read at all and `UsageError` for settings that do not fit.
    """
    for raw in _raw(paths, reading, notices, labelled=labelled):
        yield _prepared(raw, reading, notices, labelled=labelled)


def _raw(paths: Sequence[str], reading: Mapping[str, Any], notices: Notices, *, labelled: bool) -> Iterator[RawDocument]:
    file_format = resolve_format(paths, reading["format"])
    if file_format == "dir":
        yield from directory.labelled(paths, notices) if labelled else directory.unlabelled(paths)
    elif not is_ascii_compatible(reading["encoding"]):
        raise UsageError(f"lines and tables in {reading['encoding']} cannot be read", hint="make them UTF-8 first, as with iconv -t UTF-8")
    elif file_format == "lines":
        if labelled:
            raise UsageError("--format lines has no classes", hint="use dir, csv or tsv")
        from nbtext.corpus import lines

        for path in paths:
            yield from lines.documents(path)
    else:
        from nbtext.corpus import table

        label = reading["label_column"] if labelled else None
        layout = table.Layout(label, reading["text_column"], reading["id_column"], _has_header(reading), reading["encoding"])
        for path in paths:
            yield from table.documents(path, file_format, reading["delimiter"], layout)


def _has_header(reading: Mapping[str, Any]) -> bool:
    """Whether tables begin with a header: as said, else if any column is called by name, whether it is needed now or not."""
    if reading["header"] is not None:
        return bool(reading["header"])
    columns = (reading["label_column"], reading["text_column"], reading["id_column"])
    return any(column is not None and not column.isdigit() for column in columns)


def _prepared(raw: RawDocument, reading: Mapping[str, Any], notices: Notices, *, labelled: bool) -> Document:
    problem = raw.problem
    if problem is None and labelled and not raw.label:
        problem = DocumentError("the label is empty")
    if problem is None:
        try:
            if reading["document"] == "mail":
                from nbtext.corpus.mail import text_of_mail

                text, transcoded = text_of_mail(raw.body, reading["headers"].split(","))
            else:
                text, transcoded = to_utf8(raw.body, reading["encoding"])
        except DocumentError as unreadable:
            problem = unreadable
        else:
            notices.transcoded += transcoded
            return Document(raw.id, raw.label, text)
    return Document(raw.id, raw.label, b"", problem)
