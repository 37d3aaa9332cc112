"""Read a corpus: turn paths and reading settings into documents in valid UTF-8.

`read_corpus` reads all paths. `read_shard` reads a part, so that processes can share the work.
`nbtext.settings.FORMATS` names the readers of the formats.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtext.corpus.decoding import (
    is_ascii_compatible,
    is_plain,
)
from nbtext.corpus.detection.formats import read_first_rows, resolve_reading
from nbtext.corpus.document import (
    Document,
    Notices,
    ReaderOptions,
)
from nbtext.corpus.document_decoder import DocumentDecoder
from nbtext.corpus.shards import Shard, load_reader
from nbtext.corpus.streams import (
    LINE_BLOCK_BYTES,
    peek_start,
)
from nbtext.document_fields import (
    NO_TEXT,
    Attributes,
)
from nbtext.errors import WARNING, DocumentError, Finding, UsageError
from nbtext.prediction.labels import split_label
from nbtext.ragged import LabelledBlock, split_into_blocks
from nbtext.settings import FORMATS, KIND_BY_NAME, Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.type_names import Names

_DECODED_STARTS = (BOM_UTF8, b"%PDF-")
"""Starts of a text that decoding removes or rejects, although the text is valid UTF-8."""

TEXT_RECORD_READING = {
    "format": "jsonl",
    "text_column": "text",
    "id_column": "id",
    "document": "text",
    "encoding": "auto",
}
"""The settings to read a text in a JSON object with the keys ``id`` and ``text``."""


def read_corpus(
    paths: Sequence[str], reading: Reading, notices: Notices, *, labelled: bool, columns: Names = ()
) -> Iterator[Document]:
    """Yield the documents of the paths in order; an unreadable document has its problem.

    If ``labelled``, each document needs a label. ``columns`` are extra columns, whose values each
    document gets as text: names of columns, numbers of columns from 1, or keys of JSON objects. A
    name implies that the table has a header. An empty cell and null become an empty text. A missing
    key is a problem of the document.

    Raise `PathError` for a path that cannot be read completely, and `UsageError` for settings that
    do not fit the format.
    """
    resolved_reading = resolve_reading(reading, paths, labelled=labelled)
    options = create_reader_options(resolved_reading, notices, labelled=labelled, columns=columns)
    for path in paths:
        yield from read_shard(Shard(path), options)


def read_shard(shard: Shard, options: ReaderOptions) -> Iterator[Any]:
    """Yield the documents of a shard; if ``options`` allow blocks, also `LabelledBlock`.

    The texts in a block have no names. With blocks, documents may be yielded in another order.
    """
    reading = options.reading
    items = _read_undecoded(shard, options)
    if not options.can_yield_blocks:
        folder = None
        texts_are_paths = reading.has_whole_files and not reading.layout.has_file_per_document
        if texts_are_paths:
            folder = os.path.dirname(shard.path)
        yield from _filter_documents(DocumentDecoder(options, folder).decode(items), options)
        return
    decoder = DocumentDecoder(options)
    for group in split_into_blocks(items, _count_item_bytes, max_bytes=LINE_BLOCK_BYTES):
        blocks, documents = _collect_plain_documents(group, options.max_document_bytes)
        for block in blocks:
            labels = [split_label(label, reading.label_separator) for label in block.labels]
            yield replace(block, labels=labels)
        yield from _filter_documents(decoder.decode(documents), options)


def _count_item_bytes(item: LabelledBlock | Document) -> int:
    """Return the number of bytes with which an item counts for the size of a group.

    A block counts as a full group, so that it is yielded immediately. A document counts as its text
    with a separator.
    """
    return LINE_BLOCK_BYTES if isinstance(item, LabelledBlock) else len(item.text) + 1


def _filter_documents(documents: Iterable[Document], options: ReaderOptions) -> Iterator[Document]:
    """Replace the labels of documents, and yield all but those that ``on_error`` drops.

    Call ``on_unreadable`` for each dropped document. Raise `DocumentError` for an unreadable
    document if ``on_error`` is ``fail``.
    """
    relabel = options.relabel
    if relabel is not None:
        documents = (relabel(document, options.notices) for document in documents)
    for document in documents:
        if document.problem is None or options.on_error == "record":
            yield document
        elif options.on_error == "fail":
            raise DocumentError(
                document.problem.message, where=document.id, hint=document.problem.hint
            )
        elif options.on_unreadable is not None:
            options.on_unreadable(document.id, document.problem)


def _read_undecoded(shard: Shard, options: ReaderOptions) -> Iterator[Any]:
    """Return the documents and blocks that the reader of the format yields.

    For a table or JSON records, also add warnings about columns to the notices.
    """
    layout = options.reading.layout
    read = load_reader(layout)
    if layout.has_file_per_document:
        from nbtext.corpus.directory import read_listed_file
        from nbtext.corpus.mailboxes import read_message

        read_file = read_message if layout.is_mail else read_listed_file
        files = read(shard.path, options) if shard.files is None else shard.files
        return (read_file(file, options) for file in files)
    is_file_start = shard.byte_range.start == 0
    if layout.has_columns and is_file_start:
        find_warnings = _find_record_warnings if layout.is_decoded else _find_row_warnings
        options.notices.warnings.extend(
            Finding("columns", WARNING, f"{shard.path}: {message}", advice)
            for message, advice in find_warnings(shard.path, options)
        )
    return read(shard.path, replace(options, byte_range=shard.byte_range))


def _collect_plain_documents(
    items: Sequence[LabelledBlock | Document], max_document_bytes: int
) -> tuple[list[LabelledBlock], list[Document]]:
    """Return blocks and the remaining documents.

    A new block is added for the labelled documents whose text needs no decoding.
    """
    blocks = [item for item in items if isinstance(item, LabelledBlock)]
    documents = [item for item in items if not isinstance(item, LabelledBlock)]
    # One test of all texts together is usually enough.
    joined = b"\n".join([document.text for document in documents])
    are_all_plain = is_plain(joined) and not any(start in joined for start in _DECODED_STARTS)
    remaining_documents = []
    labels = []
    texts = []
    for document in documents:
        text = document.text
        needs_no_decoding = are_all_plain or (
            is_plain(text) and not text.startswith(_DECODED_STARTS)
        )
        has_label = document.problem is None and bool(document.label)
        is_labelled_text = has_label and not document.fields
        if needs_no_decoding and is_labelled_text and len(text) <= max_document_bytes:
            labels.append(document.label)
            texts.append(text)
        else:
            remaining_documents.append(document)
    if labels:
        blocks.append(LabelledBlock.from_labels(labels, texts))
    return blocks, remaining_documents


def choose_message_reading(reading: Reading, *, is_document_given: bool) -> Reading:
    """Return the settings to read one message.

    Unless an option sets the kind of documents, a model of texts reads the message as mail.
    """
    layout = reading.layout
    has_document_kind = layout.has_file_per_document or layout.is_mail
    # A message has no name by which the kind of document could be detected.
    is_text = not has_document_kind or reading.document == KIND_BY_NAME
    if is_text and not is_document_given:
        return replace(reading, format="dir", document="mail")
    return replace(reading, format="dir")


def read_document_bytes(name: str, body: bytes, reading: Reading) -> Document:
    """Return the document in the bytes of a file; if they are unreadable, it has its problem."""
    file_reading = replace(reading, format="dir", file_column=None)
    options = create_reader_options(file_reading, Notices(), labelled=False)
    decoder = DocumentDecoder(options)
    return next(decoder.decode([Document(name, text=body)]))


def _find_row_warnings(path: str, options: ReaderOptions) -> Iterator[tuple[str, str]]:
    """Yield pairs of a message about how a table may be misread, and advice.

    Raise `UsageError` if the settings make the header of the table a row of data.
    """
    from nbtext.corpus.detection.columns import check_header, find_table_warnings

    reading = options.reading
    rows = read_first_rows(path, reading)
    try:
        check_header(rows, reading, options.columns)
    except UsageError as problem:
        problem.where = path
        raise
    # For label --take, the text column contains ids, and is also an extra column.
    if rows and reading.text_column not in options.columns:
        uses_all_rows = options.labelled and options.row_condition is None
        folder = os.path.dirname(path)
        yield from find_table_warnings(rows, reading, folder, uses_all_rows=uses_all_rows)


def _find_record_warnings(path: str, options: ReaderOptions) -> Iterator[tuple[str, str]]:
    """Yield pairs of a message about how JSON objects may be misread, and advice.

    There are no pairs unless all objects are used for training.
    """
    from nbtext.corpus.detection.columns import find_record_warnings, parse_first_records

    uses_all_records = options.labelled and options.row_condition is None
    if uses_all_records and options.reading.records is None:
        yield from find_record_warnings(parse_first_records(peek_start(path)), options.reading)


def create_reader_options(
    reading: Reading,
    notices: Notices,
    *,
    labelled: bool,
    columns: Names = (),
    condition: str | None = None,
) -> ReaderOptions:
    """Return the arguments of readers, given resolved settings and arguments of `read_corpus`.

    ``condition`` is ``NAME=VALUE`` or ``NAME!=VALUE``, with the name of a column or mail header.
    Raise `UsageError` if the arguments do not fit the format.
    """
    attributes = Attributes.from_settings(reading)
    tag_columns: tuple[str, ...] = ()
    if reading.tag_fields and reading.has_columns:
        tag_columns = tuple(reading.tag_fields.split(","))
    weight_column = reading.weight_column
    if not labelled or weight_column == NO_TEXT:
        weight_column = None
    condition_name, row_condition = _parse_condition(condition)
    single_columns = []
    if weight_column is not None:
        single_columns.append(weight_column)
    condition_header = ""
    if reading.document in ("mail", KIND_BY_NAME) and not reading.has_columns:
        condition_header = condition_name
    elif condition_name:
        single_columns.append(condition_name)
    # `ColumnPositions` relies on this order.
    all_columns = (*attributes.names, *tag_columns, *single_columns, *columns)
    _check_options(reading, all_columns, condition_name, labelled=labelled)
    return ReaderOptions(
        reading=reading,
        notices=notices,
        labelled=labelled,
        columns=all_columns,
        attributes=attributes,
        tag_columns=tag_columns,
        weight_column=weight_column,
        row_condition=row_condition,
        condition_header=condition_header,
    )


def _parse_condition(condition: str | None) -> tuple[str, tuple[str, bool] | None]:
    """Return the name in a condition, and the condition as `ReaderOptions.row_condition`.

    Without a condition, return an empty name and None.

    >>> _parse_condition("part=train"), _parse_condition("part!=test")
    (('part', ('train', True)), ('part', ('test', False)))
    """
    if condition is None:
        return "", None
    name, _, value = condition.partition("=")
    return name.removesuffix("!"), (value, not name.endswith("!"))


def _check_options(
    reading: Reading, columns: Names, condition_name: str, *, labelled: bool
) -> None:
    """Raise `UsageError` if settings, columns or a condition do not fit the format."""
    layout = reading.layout
    is_mail_possible = reading.document in ("mail", KIND_BY_NAME)
    decodes_files = layout.has_file_per_document or layout.is_mail
    if not decodes_files and not is_ascii_compatible(reading.encoding):
        raise UsageError(
            f"--encoding {reading.encoding} is for whole files, and --format "
            f"{reading.format} has lines or rows",
            hint="make them UTF-8 first, as with iconv -t UTF-8",
        )
    if columns and not layout.has_columns:
        *first_formats, last_format = (
            name for name, table_layout in FORMATS.items() if table_layout.has_columns
        )
        mail_hint = ", or add --document mail for a header" if condition_name else ""
        raise UsageError(
            f"--format {reading.format} has no columns, such as {columns[0]}",
            hint=f"use {', '.join(first_formats)} or {last_format}{mail_hint}",
        )
    if labelled and reading.tag_fields and not layout.has_columns and not is_mail_possible:
        raise UsageError(
            "--set tag-fields names columns, keys or headers of mail, which these documents have "
            "not",
            hint="remove it",
        )
