"""Read a corpus: turn paths and reading settings into documents in valid UTF-8.

`read_corpus` reads all paths. `read_shard` reads a part, so that processes can share the work. This
file also detects the format of paths and the kind of documents, and has `nbtext.corpus.columns`
detect columns. `nbtext.settings.FORMATS` names the readers of the formats.
"""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from nbtext.corpus.decoding import (
    check_not_binary,
    decode_name,
    decode_text,
    detect_encoding,
    is_ascii_compatible,
    is_plain,
)
from nbtext.corpus.document import (
    Document,
    Notices,
    ReaderOptions,
    create_size_error,
    get_delimiter,
    to_document_error,
)
from nbtext.corpus.shards import JSON_ARRAY_START, Shard, load_reader
from nbtext.corpus.streams import (
    DETECTION_BYTES,
    LINE_BLOCK_BYTES,
    MAX_FIRST_LINE_BYTES,
    peek_start,
    strip_compression_suffix,
)
from nbtext.document_fields import (
    ATTRIBUTE_KINDS,
    NO_TEXT,
    Attributes,
    clean_fields,
    clean_text,
    normalise_field_name,
    parse_weight,
    replace_separators,
)
from nbtext.errors import WARNING, DocumentError, Finding, UsageError, format_quantity
from nbtext.prediction.labels import split_label
from nbtext.ragged import LabelledBlock, split_into_blocks
from nbtext.settings import FORMATS, KIND_BY_NAME, KINDS_BY_SUFFIX, REMOVED_VALUES, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nbtext.corpus.decoding import DecodingIssues
    from nbtext.prediction.labels import Label
    from nbtext.type_names import Fields, Names

    Decoder = Callable[[bytes], tuple[bytes, DecodingIssues, Fields]]
    """From the bytes of a document to its text, decoding issues and fields, before cleaning."""

_MIN_DOCUMENT_LINES = 3
"""Minimum number of lines for each to be a document."""

_MAX_PROSE_LINE_BYTES = 100
"""Maximum length of a line of wrapped prose."""

_CLASS_FILE = re.compile(r"([^\d.]+|\D+\.te?xt)(\.gz|\.bz2|\.xz|\.zst)?", re.IGNORECASE)
"""File names that may be classes: words without digits."""

CONVERSION_HINTS = {
    ".parquet": 'make it jsonl first, as with python -c "import pandas; '
    "pandas.read_parquet('FILE').to_json('FILE.jsonl', orient='records', lines=True)\"",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save the sheet as csv first"),
    **dict.fromkeys(
        (".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst"), REMOVED_VALUES["format"]["tar"]
    ),
}
"""How to convert tables and archives that nbtext cannot read, by suffix."""

_KIND_PROBE_BYTES = 4096
"""Number of first bytes of a text that show whether it is mail or HTML."""
_MIN_KIND_PROPORTION = 0.2
"""Minimum proportion of texts that look like mail, or like HTML, for a warning."""

_TEXT_KIND_MATCHERS = {
    "mail": re.compile(
        rb"(?:From [^\n]*\n)?"
        rb"(?:[a-z][\w-]*:[^\n]*\n(?:[ \t][^\n]*\n)*)+?"
        rb"(?:from|to|subject|date|received|message-id):",
        re.IGNORECASE,
    ).match,
    "html": re.compile(
        rb"<(?:!doctype html|/?(?:html|body|head|div|p|br|span|table|td|a|li)(?=[\s/>])[^<>]*)>",
        re.IGNORECASE,
    ).search,
}
"""Functions that match the start of a text that is mail or HTML."""

_MAX_INSPECTED_FOLDERS = 16
_MAX_INSPECTED_FILES = 4
"""Number of class folders to inspect before training, and of files in each."""

_CONVERSION_HINTS_BY_CONTENT = {
    rb"PK\x03\x04": "unpack the archive first, or save the text of an Office document",
    rb"(?s).{257}ustar": CONVERSION_HINTS[".tar"],
    rb"PAR1": CONVERSION_HINTS[".parquet"],
    rb"ARROW1|FEA1": CONVERSION_HINTS[".parquet"].replace("parquet", "feather"),
    rb"\x80[\x02-\x05]": "a pickle can run code when it is loaded; make it csv first, where it "
    "comes from",
    rb"SQLite format 3\0": "make it csv first, as with sqlite3 -csv -header FILE 'select label, "
    "text from TABLE'",
    rb"%PDF-": "make it text first, as with pdftotext FILE",
    rb"(?:(?:version:[^\n]*|#[^\n]*|)\n)*nlu:\s*\n": "make it JSON first, as with rasa data "
    "convert nlu --format json --data FILE --out nlu.json",
}
"""How to convert training files that nbtext cannot read, by a pattern of their first bytes."""

_JSON_START = re.compile(rb"""\s*(?:\{\s*("|\Z)|\[\s*[\["{])""")
_JSON_MARGIN_BYTES = 256
"""Number of first bytes of a file in which JSON starts."""


def read_corpus(
    paths: Sequence[str], reading: Reading, notices: Notices, *, labelled: bool, columns: Names = ()
) -> Iterator[Document]:
    """Yield the documents of the paths in order; an unreadable document has its problem.

    ``labelled``: each document needs a label.
    ``columns``: extra columns whose values each document gets as text, by name (which implies a
    header) or by number from 1; for jsonl, keys. An empty cell and null become an empty text; a
    missing key is a problem of the document.

    Raise `PathError` for a path that cannot be read completely, and `UsageError` for settings that
    do not fit.
    """
    resolved_reading = resolve_reading(reading, paths, labelled=labelled)
    options = create_reader_options(resolved_reading, notices, labelled=labelled, columns=columns)
    for path in paths:
        yield from read_shard(Shard(path), options)


def read_shard(shard: Shard, options: ReaderOptions) -> Iterator[Any]:
    """Yield the documents of a shard, or, where ``options`` allow it, blocks of documents.

    A `LabelledBlock` has many labelled texts without names.
    """
    reading = options.reading
    items = _read_undecoded(shard, options)
    if not options.can_yield_blocks:
        folder = None
        texts_are_paths = reading.has_whole_files and not reading.layout.has_file_per_document
        if texts_are_paths:
            folder = os.path.dirname(shard.path)
        yield from _filter_documents(_decode_documents(items, options, folder), options)
        return
    for group in split_into_blocks(items, _count_item_bytes, max_bytes=LINE_BLOCK_BYTES):
        blocks, documents = _collect_plain_documents(group, options.max_document_bytes)
        for block in blocks:
            labels = [split_label(label, reading.label_separator) for label in block.labels]
            yield replace(block, labels=labels)
        yield from _filter_documents(_decode_documents(documents, options), options)


def _count_item_bytes(item: LabelledBlock | Document) -> int:
    """Return the size of a document with a separator; for a block, the size that ends a group."""
    return LINE_BLOCK_BYTES if isinstance(item, LabelledBlock) else len(item.text) + 1


def _filter_documents(documents: Iterable[Document], options: ReaderOptions) -> Iterator[Document]:
    """Yield documents with replaced labels; treat unreadable ones as ``on_error`` says."""
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
    """Return the documents, or blocks of documents, that the reader of the format yields.

    For a table or JSON records, add warnings about columns to the notices.
    """
    layout = options.reading.layout
    read = load_reader(layout)
    if layout.has_file_per_document:
        from nbtext.corpus.directory import read_listed_file
        from nbtext.corpus.mailboxes import read_message

        read_file = read_message if layout.is_mail else read_listed_file
        files = shard.files or read(shard.path, options)
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
    """Return blocks of the documents whose text needs no decoding, and the remaining documents."""
    blocks = [item for item in items if isinstance(item, LabelledBlock)]
    documents = [item for item in items if not isinstance(item, LabelledBlock)]
    # One test of all texts together is usually enough.
    joined = b"\n".join([document.text for document in documents])
    are_all_plain = is_plain(joined) and BOM_UTF8 not in joined and b"%PDF-" not in joined
    remaining_documents = []
    labels = []
    texts = []
    for document in documents:
        text = document.text
        if (
            document.problem is None
            and document.label
            and not document.fields
            and len(text) <= max_document_bytes
            and (are_all_plain or (is_plain(text) and not text.startswith((BOM_UTF8, b"%PDF-"))))
        ):
            labels.append(document.label)
            texts.append(text)
        else:
            remaining_documents.append(document)
    if labels:
        blocks.append(LabelledBlock.from_labels(labels, texts))
    return blocks, remaining_documents


def read_document_bytes(name: str, body: bytes, reading: Reading) -> Document:
    """Return the document in ``body``, the bytes of a file; an unreadable one has its problem."""
    file_reading = replace(reading, format="dir", file_column=None)
    options = create_reader_options(file_reading, Notices(), labelled=False)
    return next(_decode_documents([Document(name, None, body)], options))


def resolve_format(paths: Sequence[str], file_format: str, *, labelled: bool = False) -> str:
    """Return the format, with ``auto`` replaced by that of the first path.

    A directory shows its format by its files, a file by its suffix and, in a ``labelled`` corpus,
    by its content. Raise `UsageError` if a path must be converted first.
    """
    if file_format != "auto":
        return file_format
    for path in paths:
        _check_convertible_suffix(path)
    detected = detect_format_by_name(paths[0]) if paths else "dir"
    if labelled:
        if detected is None:
            detected = _detect_format_by_content(paths[0])
        if detected in (None, "dir") and _are_class_files(paths):
            return "lines"
    return detected or "dir"


def _are_class_files(paths: Sequence[str]) -> bool:
    """Return whether several files, or those in a folder, clearly have one document per line.

    Their names are words, which are then the classes. Each file has at least as many lines as there
    are files, and is in no other format.
    """
    from nbtext.corpus.directory import list_visible_paths

    try:
        if len(paths) == 1:
            entries = list_visible_paths(paths[0])
        else:
            entries = [(path, os.path.isdir(path)) for path in paths]
    except OSError:
        return False
    return len(entries) > 1 and all(
        is_folder is False  # not None: special files are excluded
        and _CLASS_FILE.fullmatch(os.path.basename(path))
        and len(_peek_lines(path)) >= len(entries)
        and _detect_format_by_content(path) is None
        for path, is_folder in entries
    )


def detect_format_by_name(path: str) -> str | None:
    """Return the format of a directory, or of a file by its suffix; None for an unknown suffix.

    Raise `UsageError` for a file that must be converted first.
    """
    if os.path.isdir(path):
        from nbtext.corpus.mailboxes import contains_maildirs, contains_only_mboxes

        if contains_maildirs(path):
            return "maildir"
        return "mbox" if contains_only_mboxes(path) else "dir"
    _check_convertible_suffix(path)
    suffix = _get_suffix(path)
    return next((name for name, layout in FORMATS.items() if suffix in layout.suffixes), None)


def _check_convertible_suffix(path: str) -> None:
    """Raise `UsageError` if the suffix of a file shows that it must be converted first."""
    hint = CONVERSION_HINTS.get(_get_suffix(path))
    if hint is not None and not os.path.isdir(path):
        raise UsageError(f"{path} cannot be read", hint=hint)


def _get_suffix(path: str) -> str:
    """Return the suffix of a file in lower case, ignoring that of its compression."""
    return os.path.splitext(strip_compression_suffix(path))[1].lower()


def _detect_format_by_content(path: str) -> str | None:
    """Return the format that the first bytes of a file show clearly, or None.

    Raise `UsageError` for a file that must be converted first.
    """
    from nbtext.corpus.columns import detect_table_format

    start = peek_start(path, pipe_bytes=DETECTION_BYTES)
    for signature, hint in _CONVERSION_HINTS_BY_CONTENT.items():
        if re.match(signature, start):
            raise UsageError(f"{path} cannot be read", hint=hint)
    line = start.partition(b"\n")[0]
    text = line.removeprefix(BOM_UTF8)
    for name, layout in FORMATS.items():
        candidate = line if layout.is_mail else text
        if layout.first_bytes and candidate.startswith(layout.first_bytes):
            return name
    if _contains_records(start):
        return "jsonl"
    table_format = detect_table_format(start, is_complete=len(start) < DETECTION_BYTES)
    if table_format is not None:
        return table_format
    if start and (path.lower().endswith(".json") or _JSON_START.match(text)):
        from nbtext.corpus.lines import suggest_json_options

        raise UsageError(f"{path} cannot be read", hint=suggest_json_options(path))
    return None


def _contains_records(start: bytes) -> bool:
    """Return whether a file starts with a JSON object on one line, or an array of objects."""
    from nbtext.corpus.lines import parse_record

    if JSON_ARRAY_START.match(start):
        return True
    try:
        record, _ = parse_record(start.partition(b"\n")[0], "auto")
    except DocumentError:
        return False
    return bool(record)


def choose_format(paths: Sequence[str], training_reading: Reading) -> str:
    """Return the format of paths for a model.

    It is the format that the kind, name or content of the first path shows, else the format of the
    training documents. Raise `UsageError` for a file that must be converted first.
    """
    path, *later_paths = paths
    training_format = training_reading.format
    layout = training_reading.layout
    if training_format not in FORMATS or layout.is_counted:
        return training_format
    name_format = detect_format_by_name(path)
    if name_format is not None:
        if training_format == "lines" and name_format == "dir" and _are_class_files(paths):
            return "lines"
        return name_format
    if layout.has_file_per_document:
        return _choose_document_format(path, training_format)
    exists = path == "-" or os.path.exists(path)
    has_attributes = bool(Attributes.from_settings(training_reading).names)
    reads_columns = layout.has_columns and exists and not has_attributes
    if not reads_columns or any(
        detect_format_by_name(later_path) not in (None, "dir") for later_path in later_paths
    ):
        return training_format
    return _choose_table_format(path, training_reading)


def _choose_document_format(path: str, training_format: str) -> str:
    """Return the format of a path for a model that was trained on one document per file."""
    from nbtext.corpus.mailboxes import is_mbox

    if not os.path.isfile(path):  # a pipe contains one document
        return training_format
    start = peek_start(path)
    if JSON_ARRAY_START.match(start):
        return "jsonl"
    if is_mbox(start):
        return "mbox"
    return "dir" if training_format == "maildir" else training_format


def choose_reading(
    training_reading: Reading, paths: Sequence[str], given_settings: Mapping[str, object]
) -> Reading:
    """Return the settings with which to read documents for a model.

    They are the settings of training, changed by ``given_settings`` and by the format of the paths.
    Raise `UsageError` for counted features if the model was trained on texts, and for a different
    number of attributes.
    """
    reading = Reading.from_values({**training_reading, **given_settings})
    if "text_column" in given_settings and "file_column" not in given_settings:
        reading = replace(reading, file_column=None)
    if paths and "format" not in given_settings:
        reading = replace(reading, format=choose_format(paths, training_reading))
        keeps_columns = reading.has_columns == training_reading.has_columns
        if "label_column" not in given_settings and not keeps_columns:
            reading = replace(reading, label_column=None)
    training_attributes = Attributes.from_settings(training_reading)
    attributes = Attributes.from_settings(reading)
    for kind, model_names, names in zip(
        ATTRIBUTE_KINDS, training_attributes, attributes, strict=True
    ):
        if len(model_names) != len(names):
            n_columns = format_quantity(len(names), "column")
            raise UsageError(
                f"--{kind} names {n_columns}, and the model has {len(model_names)}",
                hint="name them in the model's order",
            )
    file_format = resolve_format(paths, reading.format)
    if FORMATS[file_format].is_counted and not training_reading.is_counted:
        raise UsageError(
            f"the model was trained on texts, not on {file_format}'s counted features",
            hint="train one on features",
        )
    return reading


def _choose_table_format(path: str, training_reading: Reading) -> str:
    """Return the format of a file for a model of tables or JSON lines.

    A file that is neither a table nor JSON is one document, since a text has no columns.
    """
    from nbtext.corpus.columns import is_table, split_rows

    start = peek_start(path)
    text = start.removeprefix(BOM_UTF8)
    if not text.strip():
        return training_reading.format
    if training_reading.layout.is_decoded:
        is_json = text[:_JSON_MARGIN_BYTES].lstrip().startswith((b"{", b"["))
        return "jsonl" if is_json else "dir"
    if _contains_records(text):
        return "jsonl"
    rows = split_rows(
        start,
        get_delimiter(training_reading),
        is_quoted=training_reading.format == "csv",
        is_complete=len(start) < DETECTION_BYTES,
    )
    if rows and not is_table(rows, training_reading):
        return "dir"
    return training_reading.format


def count_document_lines(path: str) -> int | None:
    """Return the number of lines at the start of a file that look like one document each.

    None if they look like one text: if there are empty lines, or if at most one line in ten is
    clearly shorter than the longest.
    """
    lines = _peek_lines(path)
    max_bytes = max(map(len, lines), default=0)
    n_shorter = sum(len(line) < 0.75 * max_bytes for line in lines[:-1])
    is_wrapped_text = max_bytes <= _MAX_PROSE_LINE_BYTES and n_shorter <= len(lines) / 10
    if len(lines) < _MIN_DOCUMENT_LINES or is_wrapped_text:
        return None
    return len(lines)


def _peek_lines(path: str) -> list[bytes]:
    """Return the complete lines at the start of a file; none if any is empty."""
    start = peek_start(path)
    lines = start.splitlines()
    is_last_cut = len(start) >= DETECTION_BYTES
    if is_last_cut:
        lines = lines[:-1]
    return lines if all(map(bytes.strip, lines)) else []


def resolve_reading(reading: Reading, paths: Sequence[str], *, labelled: bool) -> Reading:
    """Return settings with ``auto`` replaced by the format and the kind of documents.

    Columns that are not set are detected.
    """
    if reading.format == "auto" and reading.records is not None:
        reading = replace(reading, format="jsonl")
    uses_content = labelled and reading.label_pattern is None
    file_format = resolve_format(paths, reading.format, labelled=uses_content)
    reading = replace(reading, format=file_format)
    document = _resolve_kind(reading, paths, labelled=labelled)
    text_column = reading.file_column or reading.text_column
    if not text_column and Attributes.from_settings(reading).names:
        text_column = NO_TEXT
    reading = replace(reading, document=document, text_column=text_column or None)
    if reading.has_columns and paths:
        return _detect_columns(reading, paths[0], labelled=labelled)
    return reading


def _resolve_kind(reading: Reading, paths: Sequence[str], *, labelled: bool) -> str:
    """Return the kind of documents: text, html, mail, or `KIND_BY_NAME`."""
    layout = reading.layout
    if layout.is_mail:
        return "mail"
    if layout.is_counted:
        return "text"
    is_by_name = reading.document in ("auto", KIND_BY_NAME)
    if is_by_name and not reading.has_whole_files:
        return "text"
    if reading.document != "auto":
        return reading.document
    if not layout.has_file_per_document:
        return KIND_BY_NAME
    has_class_folders = labelled and not (reading.label_column or reading.label_pattern)
    return _detect_kind_of_files(paths, labelled=has_class_folders)


def _get_kind_of_file(path: str) -> str:
    """Return the kind of a document by the name of its file: mail, html or text.

    >>> _get_kind_of_file("inbox/7.eml.gz"), _get_kind_of_file("page.HTML")
    ('mail', 'html')
    """
    return KINDS_BY_SUFFIX.get(_get_suffix(path), "text")


def _detect_kind_of_files(paths: Iterable[str], *, labelled: bool) -> str:
    """Return the kind of all files in and below the paths; `KIND_BY_NAME` if they differ."""
    from nbtext.corpus.directory import scan_files

    kinds = set()
    known_suffixes = set()
    for name, _, _ in scan_files(paths, labelled=labelled):
        suffix = name[name.rfind(".") :]
        if suffix in known_suffixes:  # many files have few different suffixes
            continue
        is_compressed = strip_compression_suffix(name) != name
        if not is_compressed:
            known_suffixes.add(suffix)
        kinds.add(_get_kind_of_file(name))
        if len(kinds) > 1:
            return KIND_BY_NAME
    return kinds.pop() if kinds else "text"


def detect_text_kinds(text: bytes) -> list[str]:
    """Return what the start of a text looks like: the format ``mbox``, or kinds other than text."""
    from nbtext.corpus.mailboxes import is_mbox

    if is_mbox(text[:DETECTION_BYTES]):
        return ["mbox"]
    return [
        kind for kind, match in _TEXT_KIND_MATCHERS.items() if match(text, 0, _KIND_PROBE_BYTES)
    ]


def find_text_kind_warnings(
    kind_counts: Mapping[str, int], n_documents: int, scope: str = ""
) -> Iterator[Finding]:
    """Yield a warning for each kind that many documents look like, although they are read as text.

    ``kind_counts`` are the numbers of documents by kind, as `detect_text_kinds` returns them;
    ``scope`` ends the message.
    """
    for kind, n_of_kind in kind_counts.items():
        if n_of_kind >= _MIN_KIND_PROPORTION * n_documents:
            quantity = format_quantity(n_of_kind, "document")
            option = "format" if kind in FORMATS else "document"
            yield Finding(
                "texts",
                WARNING,
                f"read as text, and look like {kind}: {quantity}{scope}",
                f"give --{option} {kind}",
            )


def find_folder_kind_warnings(folder: str) -> Iterator[Finding]:
    """Yield the warnings of `find_text_kind_warnings` for a sample of the files of a corpus.

    The sample has the first files of the first class folders, unless they are mail or HTML by
    their names.
    """
    from nbtext.corpus.directory import list_visible_paths, scan_files

    with suppress(OSError):  # reading the folder reports the reason
        class_folders = [path for path, is_folder in list_visible_paths(folder) if is_folder]
        inspected_folders = class_folders[:_MAX_INSPECTED_FOLDERS] or [folder]
        sample = chain.from_iterable(
            islice(scan_files([inspected], labelled=False), _MAX_INSPECTED_FILES)
            for inspected in inspected_folders
        )
        texts = [
            peek_start(path)
            for name, _, path in sample
            if _get_kind_of_file(name) == "text" and os.path.isfile(path)
        ]
        kind_counts = Counter(chain.from_iterable(map(detect_text_kinds, texts)))
        yield from find_text_kind_warnings(kind_counts, len(texts), f" of {len(texts)} looked at")


def _detect_columns(reading: Reading, path: str, *, labelled: bool) -> Reading:
    """Return settings with the delimiter, and the columns or keys, that a file shows.

    Settings that are set are not changed.
    """
    has_label = reading.label_column is not None or not labelled
    has_columns = reading.text_column is not None and has_label
    has_delimiter = reading.delimiter is not None or reading.format != "csv"
    if has_columns and has_delimiter:
        # A single prediction saves the import of columns.py, which takes time.
        return reading
    from nbtext.corpus.columns import (
        check_lines_above_header,
        implies_header,
        parse_first_records,
        recognise_columns,
        recognise_keys,
    )

    if has_columns and not implies_header(reading):
        return reading
    # A pipe with documents to classify may be slow, so do not wait for more than a line.
    pipe_bytes = DETECTION_BYTES if labelled else 0
    if reading.layout.is_decoded:
        start = peek_start(path, pipe_bytes=pipe_bytes)  # also replayed to the peek at an array
        if reading.records is None:
            records = parse_first_records(start)
        else:
            from nbtext.corpus.lines import peek_array_records

            records = peek_array_records(path, reading)
        return recognise_keys(records, reading, labelled=labelled)
    delimiter, rows = _read_delimiter_and_rows(path, reading, pipe_bytes=pipe_bytes)
    reading = replace(reading, delimiter=delimiter)
    try:
        check_lines_above_header(rows, reading)
        return reading if has_columns else recognise_columns(rows, reading, labelled=labelled)
    except UsageError as problem:
        problem.where = path
        raise


def read_first_rows(path: str, reading: Reading) -> list[list[str]]:
    """Return the first rows of a table. The settings must be resolved; see `resolve_reading`."""
    _, rows = _read_delimiter_and_rows(path, replace(reading, delimiter=get_delimiter(reading)))
    return rows


def find_corpus_warnings(
    paths: Sequence[str], reading: Reading, resolved_reading: Reading
) -> Iterator[Finding]:
    """Yield warnings about how a corpus may be misread, from its first bytes or file names.

    ``reading`` are the settings before, ``resolved_reading`` after `resolve_reading`.
    """
    file_format = resolved_reading.format
    if file_format in ("dir", "lines"):
        from nbtext.corpus.directory import scan_files
        from nbtext.corpus.format_hints import find_misread_files

        files = (path for _, _, path in scan_files(paths, labelled=file_format == "dir"))
        yield from find_misread_files(files, resolved_reading)
    elif reading.format == "auto" and file_format == "tsv":
        from nbtext.corpus.columns import has_quoted_cells

        if has_quoted_cells(peek_start(paths[0])):
            detail = f"{paths[0]}: cells look quoted, and in tsv a quote is a character"
            advice = "if they are, give --format csv --delimiter tab"
            yield Finding("columns", WARNING, detail, advice)


def _read_delimiter_and_rows(
    path: str, reading: Reading, *, pipe_bytes: int = 0
) -> tuple[str | None, list[list[str]]]:
    """Return the delimiter of a table, and its first rows.

    The delimiter is None if it is the default of the format. The rows are taken from the first
    `DETECTION_BYTES` of the file or, if they contain no row, from the first `MAX_FIRST_LINE_BYTES`.
    """
    from nbtext.corpus.columns import find_delimiter, split_rows

    is_quoted = reading.format == "csv"
    for size in (DETECTION_BYTES, MAX_FIRST_LINE_BYTES):
        start = peek_start(path, size, pipe_bytes=pipe_bytes)
        is_complete = len(start) < size
        delimiter = reading.delimiter
        if not delimiter and is_quoted:
            delimiter = find_delimiter(start, is_complete=is_complete)
        rows = split_rows(
            start,
            delimiter or get_delimiter(reading),
            is_quoted=is_quoted,
            is_complete=is_complete,
        )
        if rows or is_complete:
            break
    return delimiter, rows


def _find_row_warnings(path: str, options: ReaderOptions) -> Iterator[tuple[str, str]]:
    """Yield pairs of a message about how a table may be misread, and advice.

    Raise `UsageError` for a header that is a row of data by the settings.
    """
    from nbtext.corpus.columns import check_header, find_table_warnings

    reading = options.reading
    rows = read_first_rows(path, reading)
    try:
        check_header(rows, reading, options.columns)
    except UsageError as problem:
        problem.where = path
        raise
    # If the text column is also an extra column, as for label --take, its texts are not checked.
    if rows and reading.text_column not in options.columns:
        uses_all_rows = options.labelled and options.row_condition is None
        folder = os.path.dirname(path)
        yield from find_table_warnings(rows, reading, folder, uses_all_rows=uses_all_rows)


def _find_record_warnings(path: str, options: ReaderOptions) -> Iterator[tuple[str, str]]:
    """Yield pairs of a message about how JSON objects may be misread, and advice.

    Yield nothing unless all objects are used for training.
    """
    from nbtext.corpus.columns import find_record_warnings, parse_first_records

    uses_all_records = options.labelled and options.row_condition is None
    if uses_all_records and options.reading.records is None:
        yield from find_record_warnings(parse_first_records(peek_start(path)), options.reading)


def read_column_names(path: str, reading: Reading) -> tuple[str, ...]:
    """Return the column names of a table, or the column numbers without a header.

    The settings must be resolved. Raise `UsageError` for other formats, and for a first row of more
    than 4 MiB.
    """
    from nbtext.corpus.columns import decode_header_row, implies_header

    if reading.format not in ("csv", "tsv"):
        raise UsageError(
            f"--keep all is for tables, not for {reading.format}", hint="name the columns"
        )
    rows = read_first_rows(path, reading)
    if not rows and peek_start(path).strip():
        raise UsageError(
            "--keep all needs the first row, which has more than 4 MiB",
            where=path,
            hint="name the columns",
        )
    first = rows[0] if rows else []
    if implies_header(reading):
        return tuple(decode_header_row(first, reading.encoding))
    return tuple(map(str, range(1, len(first) + 1)))


def create_reader_options(
    reading: Reading,
    notices: Notices,
    *,
    labelled: bool,
    columns: Names = (),
    condition: str | None = None,
) -> ReaderOptions:
    """Return the arguments of readers, from resolved settings and arguments of `read_corpus`.

    ``condition``: ``NAME=VALUE`` or ``NAME!=VALUE`` of a column or mail header. Raise `UsageError`
    if the arguments do not fit the format.
    """
    attributes = Attributes.from_settings(reading)
    tag_columns: tuple[str, ...] = ()
    if reading.tag_fields and reading.has_columns:
        tag_columns = tuple(reading.tag_fields.split(","))
    weight_column = reading.weight_column
    if not labelled or weight_column == NO_TEXT:
        weight_column = None
    condition_name, row_condition = _parse_condition(condition or "")
    has_headers = reading.document in ("mail", KIND_BY_NAME) and not reading.has_columns
    condition_header = condition_name if has_headers else ""
    condition_column = "" if has_headers else condition_name
    all_columns = (
        *attributes.names,
        *tag_columns,
        *filter(None, (weight_column, condition_column)),
        *columns,
    )
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


def _parse_condition(condition: str) -> tuple[str, tuple[str, bool] | None]:
    """Return the name in a condition, and a pair: its value, and False if it is negated.

    For an empty condition, the pair is None.

    >>> _parse_condition("part=train"), _parse_condition("part!=test")
    (('part', ('train', True)), ('part', ('test', False)))
    """
    name, _, value = condition.partition("=")
    if not name:
        return "", None
    return name.removesuffix("!"), (value, not name.endswith("!"))


def _check_options(
    reading: Reading, columns: Names, condition_name: str, *, labelled: bool
) -> None:
    """Raise `UsageError` if settings or columns do not fit the format."""
    file_format = reading.format
    layout = reading.layout
    is_mail_possible = reading.document in ("mail", KIND_BY_NAME)
    decodes_files = layout.has_file_per_document or layout.is_mail
    if not decodes_files and not is_ascii_compatible(reading.encoding):
        raise UsageError(
            f"--encoding {reading['encoding']} is for whole files, and --format "
            f"{file_format} has lines or rows",
            hint="make them UTF-8 first, as with iconv -t UTF-8",
        )
    if columns and not layout.has_columns:
        *first_formats, last_format = (
            name for name, table_layout in FORMATS.items() if table_layout.has_columns
        )
        mail_hint = ", or give --document mail for a header" if condition_name else ""
        raise UsageError(
            f"--format {file_format} has no columns, such as {columns[0]}",
            hint=f"use {', '.join(first_formats)} or {last_format}{mail_hint}",
        )
    if labelled and reading.tag_fields and not layout.has_columns and not is_mail_possible:
        raise UsageError(
            "--set tag-fields names columns, keys or headers of mail, which these documents have "
            "not",
            hint="leave it out",
        )


def _create_decoder(reading: Reading, kind: str) -> Decoder:
    """Return a function from the bytes of a document to its text, issues and fields.

    The text and the fields may contain separators of documents.
    """
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


def _decode_documents(
    documents: Iterable[Document], options: ReaderOptions, folder: str | None = None
) -> Iterator[Document]:
    """Yield documents with their text in UTF-8, fields, values and weight.

    An exception becomes the document's problem. Documents that do not meet the row condition, or
    have weight 0, are dropped. With a ``folder``, texts are paths relative to this folder.
    """
    extra = options.column_positions.extra
    decode = _create_document_decoder(options, folder)
    for document in documents:
        unreadable = document._replace(
            text=b"", fields=(), values=(), columns=document.columns[extra]
        )
        decoded: Document | None = unreadable  # None: the row condition fails
        if document.problem is None:
            try:
                decoded = decode(document)
            except Exception as exception:  # noqa: BLE001 - one document must not end a run
                decoded = unreadable._replace(problem=to_document_error(exception))
        del document  # so that memory contains a large document only once
        if decoded is not None and decoded.weight:
            yield decoded


def _create_document_decoder(
    options: ReaderOptions, folder: str | None
) -> Callable[[Document], Document | None]:
    """Return a function that decodes a document; it returns None if the row condition fails.

    It raises `DocumentError` if the document is invalid.
    """
    reading = options.reading
    positions = options.column_positions
    get_decoder = cache(partial(_create_decoder, reading))
    may_be_binary = (
        reading.encoding == "auto"
        and reading.document != "mail"
        and not (reading.layout.is_decoded or reading.has_whole_files)
    )
    # Counted features are names, which must not be joined.
    clean = replace_separators if reading.is_counted else clean_text
    tag_names = [normalise_field_name(name) for name in options.tag_columns]
    has_attributes = bool(options.attributes.names)

    def decode(document: Document) -> Document | None:
        if not _meets_row_condition(document, options):
            return None
        path = document.id
        body = document.text
        if folder is not None:
            path, body = _read_named_file(folder, body, options)
        label = _resolve_label(document.label, document.id, body, options)
        kind = reading.document
        if kind == KIND_BY_NAME:
            kind = _get_kind_of_file(path)
        decoded_text, issues, decoded_fields = get_decoder(kind)(body)
        text = clean(decoded_text)
        if text is not decoded_text and may_be_binary:
            check_not_binary(body)
        columns = document.columns
        fields = document.fields or decoded_fields
        if tag_names:
            tag_texts = zip(tag_names, columns[positions.fields], strict=True)
            fields = [(name, tag_text.encode()) for name, tag_text in tag_texts if tag_text]
        if fields:
            fields = clean_fields(fields)
        values: tuple[str, ...] = ()
        if has_attributes:
            values = options.attributes.normalise_values(columns[positions.attributes])
        weight = document.weight
        if options.weight_column is not None:
            weight = parse_weight(options.weight_column, columns[positions.weight])
        options.notices.transcoded += issues.is_transcoded
        options.notices.replaced += issues.has_replacements
        return Document(
            document.id,
            label,
            text,
            fields,
            values,
            columns=columns[positions.extra],
            weight=weight,
        )

    return decode


def _meets_row_condition(document: Document, options: ReaderOptions) -> bool:
    """Return whether a row, or a mail, meets the condition of ``options``, if there is one."""
    if options.row_condition is None:
        return True
    value, must_have = options.row_condition
    header = options.condition_header
    if header:
        from nbtext.corpus.mail.headers import has_header_value

        has_value = has_header_value(document.text, header, value, options.reading.encoding)
    else:
        has_value = document.columns[options.column_positions.condition] == value
    return has_value == must_have


def _read_named_file(folder: str, name: bytes, options: ReaderOptions) -> tuple[str, bytes]:
    """Return the path and the content of a regular file that a table names.

    Raise `DocumentError` if it does not exist, or is outside the allowed folder.
    """
    from nbtext.corpus.directory import ListedFile, read_listed_file

    path = os.path.join(folder, os.fsdecode(name))
    allowed_folder = options.allowed_folder
    if allowed_folder is not None:
        common_folder = os.path.commonpath((allowed_folder, os.path.realpath(path)))
        if common_folder != allowed_folder:
            raise DocumentError(
                f"{path} is outside the folder of the file that sets --file-column",
                hint="give --file-column to read it, or --no-config",
            )
    if not os.path.isfile(path):
        raise DocumentError(f"there is no file {path}")
    document = read_listed_file(ListedFile(path), options)
    if document.problem is not None:
        raise document.problem
    return path, document.text


def _resolve_label(
    label: Label | None, name: str, body: bytes, options: ReaderOptions
) -> Label | None:
    """Return the label, or the set of labels, of a document; None if labels are not needed.

    A missing label is taken from the mail header or the file name that the settings specify. Raise
    `DocumentError` if there is none, or if the document is too large.
    """
    reading = options.reading
    if options.labelled and label is None:
        if reading.label_header:
            from nbtext.corpus.mail.headers import parse_header_labels

            label = parse_header_labels(body, reading.label_header, reading.encoding)
        elif pattern := reading.label_source:
            match = re.search(pattern, name.rpartition("/")[2])
            if match is None or not match[1]:
                raise DocumentError("--label-pattern finds no class in the name of the file")
            label = decode_name(os.fsencode(match[1]))
    if label is not None:
        label = split_label(label, reading.label_separator)
    if options.labelled and not label:
        raise DocumentError("the label is empty")
    if len(body) > options.max_document_bytes:
        raise create_size_error(options.max_document_bytes)
    return label
