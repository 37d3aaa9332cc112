"""Shards: a corpus in pieces that can be read side by side, each small enough to be sent to another process or machine.

A file of lines (tsv, jsonl, lines, fasttext, svmlight) is cut at line ends, a directory or Maildir into lists of its files. Whatever else
stands in one file is one shard: a quoted field of csv may hold line ends, a compressed file can only be read from its beginning, and so can
standard input.


The one way into a corpus: from paths and reading settings to a stream of documents in valid UTF-8.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nbtext.attributes import Attributes
from nbtext.corpus import directory, maildir
from nbtext.corpus.directory import document
from nbtext.corpus.document import Document, by_mark, is_ascii_compatible, problem_of, to_utf8
from nbtext.corpus.formats import WITH_COLUMNS, reader, resolve_format, resolved
from nbtext.corpus.source import Source
from nbtext.corpus.streams import parts, too_large
from nbtext.errors import DocumentError, NbtextError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbtext.corpus.directory import ListedFile
    from nbtext.corpus.document import Notices, RawDocument
    from nbtext.corpus.streams import Part
    from nbtext.settings import Reading

    Decoder = Callable[[bytes, str], tuple[bytes, bool]]


OF_LINES = ("tsv", "jsonl", "lines", "fasttext", "svmlight")
"""Formats of which a file can be cut at any line end."""


BYTES, FILES = 1 << 22, 256
"""About what a shard holds at most, unless a single document has more."""


SMALL_FILE = 1 << 12
"""Bytes that a file of a directory counts for if it has fewer: to open it takes as long as to count so many."""


class Shard(NamedTuple):
    """What is to be read of a path: some of its files, a part of it, or all."""

    path: str
    part: Part | None = None
    files: tuple[ListedFile, ...] | None = None

    def absolute(self) -> Shard:
        """The same for a process in another directory, which has it at the same place."""
        files = self.files and tuple((os.path.abspath(file), label, problem) for file, label, problem in self.files)  # noqa: PTH100 - links stay
        return Shard(os.path.abspath(self.path), self.part, files)  # noqa: PTH100


def shards(paths: Sequence[str], source: Source, size: int = BYTES) -> Iterator[Shard]:
    """All of the paths in shards of about ``size`` bytes, in order; notices of what is found on the way go where the source says.

    The shards do not overlap and leave nothing out. Where a path cannot be listed, a last shard is made of all of it: who reads that will
    say why.
    """
    file_format = source.reading["format"]
    for path in paths:
        if file_format in OF_LINES and path != "-":
            yield from (Shard(path, part) for part in parts(path, size))
        elif file_format in ("dir", "maildir"):
            listed = directory.files if file_format == "dir" else maildir.files
            try:
                yield from (Shard(path, files=files) for files in _grouped(listed(path, source), size))
            except NbtextError:
                yield Shard(path)
                return
        else:
            yield Shard(path)


def _grouped(files: Iterable[ListedFile], size: int) -> Iterator[tuple[ListedFile, ...]]:
    group: list[ListedFile] = []
    total = 0
    for file in files:
        group.append(file)
        total += _size(file[0])
        if total >= size or len(group) == FILES:
            yield tuple(group)
            group, total = [], 0
    if group:
        yield tuple(group)


def _size(path: str) -> int:
    try:
        return max(os.stat(path).st_size, SMALL_FILE)  # noqa: PTH116 - faster
    except (OSError, ValueError):
        return SMALL_FILE


__all__ = ["read_corpus", "read_shard", "resolve_format", "resolved", "source_of"]


def read_corpus(
    paths: Sequence[str], reading: Reading, notices: Notices, *, labelled: bool, columns: Sequence[str] = ()
) -> Iterator[Document]:
    """Documents in order, one for each that the paths hold; one that cannot be read comes with its problem.

    ``reading`` has the parameters of `nbtext.settings.READING`; with attributes a text is as `Attributes.document` makes it. With
    ``labelled`` each document has its class, and with ``columns``
    the values there as text: of columns by name (which implies a header) or number from 1, of keys in jsonl; an empty cell and null are the
    empty text, a key that a document has not is its problem. Raises `PathError` for a
    path that cannot be read at all, or not to its end, and `UsageError` for settings that do not fit.
    """
    source = source_of(resolved(reading, paths, labelled=labelled), notices, labelled=labelled, columns=columns)
    documents = reader(source.reading["format"]).documents
    yield from _prepared((raw for path in paths for raw in documents(path, source)), source)


def read_shard(shard: Shard, source: Source) -> Iterator[Document]:
    """The documents of a shard of a corpus, as `read_corpus` has them."""
    if shard.files is not None:
        yield from _prepared((document(*file, source) for file in shard.files), source)
        return
    yield from _prepared(reader(source.reading["format"]).documents(shard.path, replace(source, part=shard.part)), source)


def source_of(reading: Reading, notices: Notices, *, labelled: bool, columns: Sequence[str] = ()) -> Source:
    """What to tell the readers: settings that are `resolved`, and the rest as in `read_corpus`; raises `UsageError` if they do not fit."""
    attributes = Attributes.of(reading)
    columns = (*attributes.names, *columns)
    file_format = reading["format"]
    if file_format not in ("dir", "maildir", "mbox") and not is_ascii_compatible(reading["encoding"]):
        raise UsageError(f"lines and tables in {reading['encoding']} cannot be read", hint="make them UTF-8 first, as with iconv -t UTF-8")
    if columns and file_format not in WITH_COLUMNS:
        raise UsageError(f"--format {file_format} has no columns, such as {columns[0]}", hint="use csv, tsv or jsonl")
    return Source(reading, notices, labelled, columns, attributes)


def _decoder(reading: Reading) -> Decoder:
    """From the bytes of a document in some encoding to its text, and whether it had to be taken for Windows-1252."""
    if reading["document"] == "mail":
        from nbtext.corpus.mail import MailText, text_of_mail

        wanted = MailText(reading["encoding"], drop_quotes=reading["drop_quotes"], drop_signatures=reading["drop_signatures"])
        headers = reading["headers"].split(",")
        return lambda body, encoding: text_of_mail(body, headers, wanted._replace(encoding=encoding))
    decoder: Decoder = to_utf8
    if reading["document"] == "html":
        from nbtext.corpus.html import text_of_html_document

        decoder = text_of_html_document
    if reading["format"] == "dir":  # each document is a file
        return lambda body, encoding: decoder(*by_mark(body, encoding))
    return decoder


def _prepared(documents: Iterable[RawDocument], source: Source) -> Iterator[Document]:
    text_of, limit = _decoder(source.reading), source.limit
    for raw in documents:
        yield _document(raw, source, text_of, limit)


def _document(raw: RawDocument, source: Source, text_of: Decoder, limit: int) -> Document:
    identity, label, body, problem, decoded, columns = raw
    attributes, values = source.attributes, columns
    if columns:
        values, columns = columns[: len(attributes.names)], columns[len(attributes.names) :]
    if problem is None and source.labelled and not label:
        problem = DocumentError("the label is empty")
    if problem is None and len(body) > limit:
        problem = too_large(limit)
    if problem is None:
        if decoded and text_of is to_utf8 and not values:
            return Document(identity, label, body, columns=columns)
        try:
            text, transcoded = text_of(body, "utf-8" if decoded else source.reading["encoding"])
            if values:
                text = attributes.document(text, values)
        except Exception as raised:  # noqa: BLE001 - one document never ends a run
            problem = problem_of(raised)
        else:
            source.notices.transcoded += transcoded
            return Document(identity, label, text, columns=columns)
    return Document(identity, label, b"", problem, columns)
