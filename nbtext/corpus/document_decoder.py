"""Decode documents: turn the bytes that a reader yields into text in UTF-8, fields and values."""

from __future__ import annotations

import os
import re
from functools import cache, partial
from typing import TYPE_CHECKING

from nbtext.corpus.decoding import check_not_binary, decode_name, decode_text, detect_encoding
from nbtext.corpus.detection.formats import get_kind_of_file
from nbtext.corpus.document import Document, create_size_error, to_document_error
from nbtext.document_fields import (
    clean_fields,
    clean_text,
    normalise_field_name,
    parse_weight,
    replace_separators,
)
from nbtext.errors import DocumentError
from nbtext.prediction.labels import split_label
from nbtext.settings import KIND_BY_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtext.corpus.decoding import DecodingIssues
    from nbtext.corpus.document import ReaderOptions
    from nbtext.prediction.labels import Label
    from nbtext.settings import Reading
    from nbtext.type_names import Fields

    BodyDecoder = Callable[[bytes], tuple[bytes, DecodingIssues, Fields]]
    """Takes the bytes of a document. Returns its text, issues and fields, with any separators."""


class DocumentDecoder:
    """Decodes the documents of a reader.

    If a ``folder`` is given, the texts of the documents are paths of files, relative to it.
    """

    def __init__(self, options: ReaderOptions, folder: str | None = None) -> None:
        reading = options.reading
        self._options = options
        self._folder = folder
        self._get_body_decoder = cache(partial(_create_body_decoder, reading))
        # `clean_text` also removes control sequences, which could join two counted features.
        self._clean = replace_separators if reading.is_counted else clean_text
        # Mail and whole files are checked before they are decoded.
        self._may_be_binary = (
            reading.encoding == "auto"
            and reading.document != "mail"
            and not (reading.layout.is_decoded or reading.has_whole_files)
        )
        self._tag_names = [normalise_field_name(name) for name in options.tag_columns]
        self._has_attributes = bool(options.attributes.names)

    def decode(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield documents with their text in UTF-8, their fields, values and weight.

        An exception becomes the document's problem. Drop documents that do not meet the row
        condition, and documents of weight 0.
        """
        extra_positions = self._options.column_positions.extra
        for document in documents:
            unreadable = document._replace(
                text=b"", fields=(), values=(), columns=document.columns[extra_positions]
            )
            decoded: Document | None = unreadable
            if document.problem is None:
                try:
                    decoded = self._decode_document(document)
                except Exception as exception:  # noqa: BLE001 - one document must not end a run
                    decoded = unreadable._replace(problem=to_document_error(exception))
            del document  # while the caller works, memory contains a large document only once
            if decoded is not None and decoded.weight:
                yield decoded

    def _decode_document(self, document: Document) -> Document | None:
        """Return the decoded document; None if it does not meet the row condition.

        Add its decoding issues to the notices. Raise `DocumentError` if the document is invalid.
        """
        options = self._options
        if not _meets_row_condition(document, options):
            return None
        path = document.id
        body = document.text
        if self._folder is not None:
            path, body = _read_named_file(self._folder, body, options)
        label = _resolve_label(document.label, document.id, body, options)
        if len(body) > options.max_document_bytes:
            raise create_size_error(options.max_document_bytes)
        kind = self._options.reading.document
        if isinstance(document.fields, list):
            kind = "text"  # nbtext wrote this record, perhaps without any field
        text, issues, body_fields = self._decode_body(path, body, kind)

        columns = document.columns
        positions = options.column_positions
        fields = self._collect_fields(document, body_fields)
        values: tuple[str, ...] = ()
        if self._has_attributes:
            values = options.attributes.normalise_values(columns[positions.attributes])
        weight = document.weight
        if options.weight_column is not None:
            weight = parse_weight(options.weight_column, columns[positions.weight])
        options.notices.transcoded += issues.is_transcoded
        options.notices.replaced += issues.has_replacements
        return Document(
            id=document.id,
            label=label,
            text=text,
            fields=fields,
            values=values,
            columns=columns[positions.extra],
            weight=weight,
        )

    def _decode_body(
        self, path: str, body: bytes, kind: str
    ) -> tuple[bytes, DecodingIssues, Fields]:
        """Return the clean text of a document, its decoding issues, and its fields."""
        if kind == KIND_BY_NAME:
            kind = get_kind_of_file(path)
        decode = self._get_body_decoder(kind)
        decoded_text, issues, fields = decode(body)
        text = self._clean(decoded_text)
        # Binary content has control bytes, and cleaning a text with such bytes changes it.
        if text is not decoded_text and self._may_be_binary:
            check_not_binary(body)
        return text, issues, fields

    def _collect_fields(self, document: Document, body_fields: Fields) -> Fields:
        """Return the clean fields of a document.

        They are from the reader, if it found any, else from the tag columns, else from the body.
        """
        fields = document.fields or body_fields
        if self._tag_names and not isinstance(document.fields, list):
            tag_texts = document.columns[self._options.column_positions.tags]
            fields = [
                (name, tag_text.encode())
                for name, tag_text in zip(self._tag_names, tag_texts, strict=True)
                if tag_text
            ]
        return clean_fields(fields) if fields else fields


def _create_body_decoder(reading: Reading, kind: str) -> BodyDecoder:
    """Return the decoder of documents of a kind: text, html or mail."""
    is_utf8 = reading.layout.is_decoded and not reading.has_whole_files
    encoding = "utf-8" if is_utf8 else reading.encoding
    if kind == "mail":
        from nbtext.corpus.mail.mail import MailOptions, read_mail

        mail_options = MailOptions.from_settings(reading, encoding)
        return lambda body: read_mail(body, mail_options)
    extract_text = decode_text
    if kind == "html":
        from nbtext.corpus.html import decode_html

        extract_text = decode_html
    has_whole_files = reading.has_whole_files

    def decode(body: bytes) -> tuple[bytes, DecodingIssues, Fields]:
        body_encoding = encoding
        if has_whole_files:
            body, body_encoding = detect_encoding(body, encoding)
            if body_encoding == "auto":
                check_not_binary(body, whole_file=True)
        text, issues = extract_text(body, body_encoding)
        return text, issues, ()

    return decode


def _meets_row_condition(document: Document, options: ReaderOptions) -> bool:
    """Return whether a row, or a mail, meets the condition; True if there is no condition."""
    if options.row_condition is None:
        return True
    value, must_have_value = options.row_condition
    header = options.condition_header
    if header:
        from nbtext.corpus.mail.headers import has_header_value

        has_value = has_header_value(document.text, header, value, options.reading.encoding)
    else:
        has_value = document.columns[options.column_positions.condition] == value
    return has_value == must_have_value


def _read_named_file(folder: str, name: bytes, options: ReaderOptions) -> tuple[str, bytes]:
    """Return the path and the content of a regular file that a table names.

    Raise `DocumentError` if the file cannot be read, or is outside the allowed folder.
    """
    from nbtext.corpus.directory import ListedFile, read_listed_file

    path = os.path.join(folder, os.fsdecode(name))
    allowed_folder = options.allowed_folder
    if allowed_folder is not None:
        common_folder = os.path.commonpath((allowed_folder, os.path.realpath(path)))
        if common_folder != allowed_folder:
            raise DocumentError(
                f"{path} is outside the folder of the file that sets --file-column",
                hint="add --file-column to read it, or --no-config",
            )
    if not os.path.isfile(path):
        raise DocumentError(f"no such file: {path}")
    document = read_listed_file(ListedFile(path), options)
    if document.problem is not None:
        raise document.problem
    return path, document.text


def _resolve_label(
    label: Label | None, name: str, body: bytes, options: ReaderOptions
) -> Label | None:
    """Return the label, or the set of labels, of a document; None if labels are not needed.

    If the reader found no label, take it from the mail header or the file name, as the settings
    say. Raise `DocumentError` if a label is needed and missing.
    """
    reading = options.reading
    if options.labelled and label is None:
        if reading.label_header:
            from nbtext.corpus.mail.headers import parse_header_labels

            label = parse_header_labels(body, reading.label_header, reading.encoding)
        elif pattern := reading.label_source:
            match = re.search(pattern, os.path.basename(name))
            if match is None or not match[1]:
                raise DocumentError("--label-pattern finds no class in the name of the file")
            label = decode_name(os.fsencode(match[1]))
    if label is not None:
        label = split_label(label, reading.label_separator)
    if options.labelled and not label:
        skip_hint = None
        if reading.layout.has_columns and reading.label_column:
            skip_hint = f"to skip documents without a label: --where '{reading.label_column}!='"
        raise DocumentError("the label is empty", hint=skip_hint)
    return label
