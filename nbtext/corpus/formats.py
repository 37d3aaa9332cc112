"""The formats of a corpus: which reader each has, and how ``auto`` finds the one that fits."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from nbtext.attributes import NO_TEXT, Attributes
from nbtext.corpus.maildir import is_maildir
from nbtext.corpus.source import uncompressed
from nbtext.errors import PathError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.corpus.document import RawDocument
    from nbtext.corpus.source import Source
    from nbtext.settings import Reading

READERS = {
    "dir": "directory",
    "csv": "table",
    "tsv": "table",
    "jsonl": "jsonl",
    "lines": "lines",
    "fasttext": "fasttext",
    "svmlight": "svmlight",
    "mbox": "mbox",
    "maildir": "maildir",
}
"""The module of `nbtext.corpus` that reads a format; imported when it is wanted."""

BY_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".mbox": "mbox",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".ft": "fasttext",
}

WITH_COLUMNS = ("csv", "tsv", "jsonl")
"""Formats in which a document has more to it than label, text and id."""

MESSAGES = ("mbox", "maildir")
"""Formats whose documents are mail."""

_LOOKED_AT = 1 << 16


class Reader(Protocol):
    """What the module of a format offers."""

    def documents(self, path: str, source: Source) -> Iterator[RawDocument]:
        """The documents of one path in order; raises `PathError` if it cannot be read at all or breaks off."""


def reader(file_format: str) -> Reader:
    """The reader of a format."""
    return cast("Reader", import_module(f"nbtext.corpus.{READERS[file_format]}"))


def resolve_format(paths: Sequence[str], file_format: str, *, labelled: bool = False) -> str:
    """What ``auto`` means for these paths: by the first, its kind of directory or its name; with ``labelled`` also by its first line."""
    if file_format != "auto" or not paths:
        return "dir" if file_format == "auto" else file_format
    if os.path.isdir(paths[0]):  # noqa: PTH112 - does not raise where a folder on the way may not be searched
        return "maildir" if is_maildir(paths[0]) else "dir"
    by_name = BY_SUFFIX.get(Path(uncompressed(Path(paths[0]).name)).suffix.lower())
    can_be_read_twice = labelled and os.path.isfile(paths[0])  # noqa: PTH113 - as above; not so with a pipe
    return by_name or (_by_content(paths[0]) if can_be_read_twice else None) or "dir"


def resolved(reading: Reading, paths: Sequence[str], *, labelled: bool) -> Reading:
    """Reading settings with what ``auto`` means in its place, and with the kind of document that the format implies."""
    file_format = resolve_format(paths, reading.format, labelled=labelled)
    document = "mail" if file_format in MESSAGES else "text" if file_format == "svmlight" else reading.document
    text_column = reading.text_column or (NO_TEXT if Attributes.of(reading).names else None)
    return replace(reading, format=file_format, document=document, text_column=text_column)


def _by_content(path: str) -> str | None:
    """The format that the first line shows beyond doubt, if any."""
    from nbtext.corpus.jsonl import parsed
    from nbtext.corpus.streams import opened
    from nbtext.errors import DocumentError

    try:
        with opened(path, _LOOKED_AT) as stream:
            line = stream.readline(_LOOKED_AT)
    except (PathError, UsageError):
        return None  # whoever reads it will say why
    if line.startswith(b"From "):
        return "mbox"
    line = line.removeprefix(BOM_UTF8)
    if line.startswith(b"__label__"):
        return "fasttext"
    try:
        parsed(line, "auto")
    except DocumentError:
        return None
    return "jsonl"
