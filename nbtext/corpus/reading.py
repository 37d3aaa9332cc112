"""The one way into a corpus: from paths and reading settings to a stream of documents in valid UTF-8."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.corpus.decoding import is_ascii_compatible, to_utf8
from nbtext.corpus.document import Document, Notices
from nbtext.corpus.files import too_large
from nbtext.corpus.formats import WITH_COLUMNS, reader, resolve_format, resolved
from nbtext.corpus.source import Source
from nbtext.errors import DocumentError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nbtext.corpus.document import RawDocument

    Decoder = Callable[[bytes, str], tuple[bytes, bool]]

__all__ = ["read_corpus", "resolve_format", "resolved"]


def read_corpus(
    paths: Sequence[str], reading: Mapping[str, Any], notices: Notices, *, labelled: bool, columns: Sequence[str] = ()
) -> Iterator[Document]:
    """Documents in order, one for each that the paths hold; one that cannot be read comes with its problem.

    ``reading`` has the parameters of `nbtext.parameters.READING`. With ``labelled`` each document has its class, and with ``columns``
    the values there as text: of columns by name (which implies a header) or number from 1, of keys in jsonl; an empty cell and null are the
    empty text, a key that a document has not is its problem. Raises `PathError` for a
    path that cannot be read at all, or not to its end, and `UsageError` for settings that do not fit.
    """
    reading = resolved(reading, paths, labelled=labelled)
    file_format = reading["format"]
    if file_format not in ("dir", "maildir", "mbox") and not is_ascii_compatible(reading["encoding"]):
        raise UsageError(f"lines and tables in {reading['encoding']} cannot be read", hint="make them UTF-8 first, as with iconv -t UTF-8")
    if columns and file_format not in WITH_COLUMNS:
        raise UsageError(f"--format {file_format} has no columns, such as {columns[0]}", hint="use csv, tsv or jsonl")
    source = Source(reading, notices, labelled, tuple(columns))
    documents, text_of, limit = reader(file_format).documents, _decoder(reading), source.limit
    for path in paths:
        for raw in documents(path, source):
            yield _prepared(raw, source, text_of, limit)


def _decoder(reading: Mapping[str, Any]) -> Decoder:
    """From the bytes of a document in some encoding to its text, and whether it had to be taken for Windows-1252."""
    if reading["document"] == "mail":
        from nbtext.corpus.mail import MailText, text_of_mail

        wanted = MailText(reading["encoding"], drop_quotes=reading["drop_quotes"], drop_signatures=reading["drop_signatures"])
        headers = reading["headers"].split(",")
        return lambda body, encoding: text_of_mail(body, headers, wanted._replace(encoding=encoding))
    if reading["document"] == "html":
        from nbtext.corpus.html import text_of_html_document

        return text_of_html_document
    return to_utf8


def _prepared(raw: RawDocument, source: Source, text_of: Decoder, limit: int) -> Document:
    identity, label, body, problem, decoded, columns = raw
    if problem is None and source.labelled and not label:
        problem = DocumentError("the label is empty")
    if problem is None and len(body) > limit:
        problem = too_large(limit)
    if problem is None:
        if decoded and text_of is to_utf8:
            return Document(identity, label, body, columns=columns)
        try:
            text, transcoded = text_of(body, "utf-8" if decoded else source.reading["encoding"])
        except DocumentError as unreadable:
            problem = unreadable
        else:
            source.notices.transcoded += transcoded
            return Document(identity, label, text, columns=columns)
    return Document(identity, label, b"", problem, columns)
