"""The one way into a corpus: from paths and reading settings to a stream of documents in valid UTF-8."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtext.attributes import Attributes
from nbtext.corpus.decoding import by_mark, is_ascii_compatible, to_utf8
from nbtext.corpus.directory import document
from nbtext.corpus.document import Document, problem_of
from nbtext.corpus.files import too_large
from nbtext.corpus.formats import WITH_COLUMNS, reader, resolve_format, resolved
from nbtext.corpus.source import Source
from nbtext.errors import DocumentError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nbtext.corpus.document import Notices, RawDocument
    from nbtext.corpus.shards import Shard

    Decoder = Callable[[bytes, str], tuple[bytes, bool]]

__all__ = ["read_corpus", "read_shard", "resolve_format", "resolved", "source_of"]


def read_corpus(
    paths: Sequence[str], reading: Mapping[str, Any], notices: Notices, *, labelled: bool, columns: Sequence[str] = ()
) -> Iterator[Document]:
    """Documents in order, one for each that the paths hold; one that cannot be read comes with its problem.

    ``reading`` has the parameters of `nbtext.parameters.READING`; with attributes a text is as `Attributes.document` makes it. With
    ``labelled`` each document has its class, and with ``columns``
    the values there as text: of columns by name (which implies a header) or number from 1, of keys in jsonl; an empty cell and null are the
    empty text, a key that a document has not is its problem. Raises `PathError` for a
    path that cannot be read at all, or not to its end, and `UsageError` for settings that do not fit.
    """
    source = source_of(resolved(reading, paths, labelled=labelled), notices, labelled=labelled, columns=columns)
    documents = reader(source.reading["format"]).documents
    yield from _prepared((raw for path in paths for raw in documents(path, source)), source)


def read_shard(shard: Shard, source: Source) -> Iterator[Document]:
    """The documents of a shard of a corpus, as `read_corpus` has them, but for names in a part of a file: see `nbtext.corpus.parts.named`."""
    if shard.files is not None:
        yield from _prepared((document(*file, source) for file in shard.files), source)
        return
    yield from _prepared(reader(source.reading["format"]).documents(shard.path, replace(source, part=shard.part)), source)


def source_of(reading: Mapping[str, Any], notices: Notices, *, labelled: bool, columns: Sequence[str] = ()) -> Source:
    """What to tell the readers: settings that are `resolved`, and the rest as in `read_corpus`; raises `UsageError` if they do not fit."""
    attributes = Attributes.of(reading)
    columns = (*attributes.names, *columns)
    file_format = reading["format"]
    if file_format not in ("dir", "maildir", "mbox") and not is_ascii_compatible(reading["encoding"]):
        raise UsageError(f"lines and tables in {reading['encoding']} cannot be read", hint="make them UTF-8 first, as with iconv -t UTF-8")
    if columns and file_format not in WITH_COLUMNS:
        raise UsageError(f"--format {file_format} has no columns, such as {columns[0]}", hint="use csv, tsv or jsonl")
    return Source(reading, notices, labelled, columns, attributes)


def _decoder(reading: Mapping[str, Any]) -> Decoder:
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
