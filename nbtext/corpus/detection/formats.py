"""Detect the format of paths, the kind of documents, and the settings with which to read them.

`resolve_reading` completes the settings of a corpus. `choose_reading` returns the settings of
documents for a model. `nbtext.corpus.detection.columns` detects columns. The kind of a document is
text, html or mail.
"""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from nbtext.corpus.delimiter_note import find_delimiter_note
from nbtext.corpus.document import get_delimiter
from nbtext.corpus.shards import JSON_ARRAY_START
from nbtext.corpus.streams import (
    DETECTION_BYTES,
    MAX_FIRST_LINE_BYTES,
    peek_start,
    strip_compression_suffix,
)
from nbtext.document_fields import ATTRIBUTE_KINDS, NO_TEXT, Attributes
from nbtext.errors import WARNING, DocumentError, Finding, UsageError, format_quantity
from nbtext.settings import FORMATS, KIND_BY_NAME, KINDS_BY_SUFFIX, REMOVED_VALUES, Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nbtext.corpus.delimiter_note import DelimiterNote

_MIN_DOCUMENT_LINES = 3
"""Minimum number of lines in a file for each line to be a document."""

_MAX_PROSE_LINE_BYTES = 100
"""Maximum length of a line of wrapped prose."""

_SHORT_LINE_RATIO = 0.75
"""A line is clearly shorter than the longest line below this ratio of their lengths."""

_CLASS_FILE = re.compile(r"([^\d.]+|\D+\.te?xt)(\.gz|\.bz2|\.xz|\.zst)?", re.IGNORECASE)
"""A file name that may be a class: words without digits."""

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
"""Minimum proportion of texts that look like a kind, for a warning."""

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
"""Functions that search the start of a text for signs of a kind."""

_MAX_INSPECTED_FOLDERS = 16
_MAX_INSPECTED_FILES = 4
"""Maximum number of class folders to inspect before training, and of files in each folder."""

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
"""Start of a JSON object, or of an array of texts, arrays or objects."""

_JSON_MARGIN_BYTES = 256
"""Number of first bytes of a file in which JSON must start."""


def resolve_format(paths: Sequence[str], file_format: str, *, labelled: bool = False) -> str:
    """Return the format, with ``auto`` replaced by the format of the first path.

    A directory shows its format by its files. A file shows its format by its suffix and, in a
    ``labelled`` corpus, by its content. Raise `UsageError` if a path must be converted first.
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
    """Return whether several files, or the files of a folder, clearly have one document per line.

    The name of each file must be a word, which is the class. Each file must have at least as many
    lines as there are files, and must not be in another format.
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
    """Return the suffix of a file in lower case, ignoring the suffix of its compression."""
    return os.path.splitext(strip_compression_suffix(path))[1].lower()


def _detect_format_by_content(path: str) -> str | None:
    """Return the format that the first bytes of a file show clearly; None if they show none.

    Raise `UsageError` for a file that must be converted first.
    """
    from nbtext.corpus.detection.columns import detect_table_format

    start = peek_start(path, pipe_bytes=DETECTION_BYTES)
    for signature, hint in _CONVERSION_HINTS_BY_CONTENT.items():
        if re.match(signature, start):
            raise UsageError(f"{path} cannot be read", hint=hint)
    line, _, _ = start.partition(b"\n")
    text = line.removeprefix(BOM_UTF8)
    for name, layout in FORMATS.items():
        # The reader of mboxes does not drop a byte order mark.
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
    """Return whether a file starts with an array of objects, or a line with a JSON object."""
    from nbtext.corpus.lines import parse_record

    if JSON_ARRAY_START.match(start):
        return True
    line, _, _ = start.partition(b"\n")
    try:
        record, _ = parse_record(line, "auto")
    except DocumentError:
        return False
    return bool(record)


def choose_format(paths: Sequence[str], training_reading: Reading) -> str:
    """Return the format of paths for a model.

    The name or the content of the first path may show the format. If not, return the format of the
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
    needs_columns = bool(Attributes.from_settings(training_reading).names)
    if needs_columns or not (layout.has_columns and exists):
        return training_format
    has_later_format = any(
        detect_format_by_name(later_path) not in (None, "dir") for later_path in later_paths
    )
    return training_format if has_later_format else _choose_table_format(path, training_reading)


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

    They are the training settings, changed by ``given_settings`` and by the format of the paths.
    Raise `UsageError` for counted features if the model was trained on texts, and for another
    number of attributes than in training.
    """
    reading = Reading.from_values({**training_reading, **given_settings})
    if "text_column" in given_settings and "file_column" not in given_settings:
        reading = replace(reading, file_column=None)  # the two columns exclude each other
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
    from nbtext.corpus.detection.columns import is_table, split_rows

    start = peek_start(path)
    text = start.removeprefix(BOM_UTF8)
    if not text.strip():
        return training_reading.format
    if training_reading.layout.is_decoded:
        is_json = text[:_JSON_MARGIN_BYTES].lstrip().startswith((b"{", b"["))
        return "jsonl" if is_json else "dir"
    if _contains_records(text):
        return "jsonl"
    if training_reading.format == "csv" and find_delimiter_note(start) is not None:
        return "csv"
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

    Return None if the lines look like one text: if some are empty, or if they look like wrapped
    prose, where at most one line in ten is clearly shorter than the longest line.
    """
    lines = _peek_lines(path)
    max_bytes = max(map(len, lines), default=0)
    n_shorter = sum(len(line) < _SHORT_LINE_RATIO * max_bytes for line in lines[:-1])
    is_wrapped_text = max_bytes <= _MAX_PROSE_LINE_BYTES and n_shorter <= len(lines) / 10
    if len(lines) < _MIN_DOCUMENT_LINES or is_wrapped_text:
        return None
    return len(lines)


def _peek_lines(path: str) -> list[bytes]:
    """Return the complete lines at the start of a file; an empty list if one of them is empty."""
    start = peek_start(path)
    lines = start.splitlines()
    is_last_cut = len(start) >= DETECTION_BYTES
    if is_last_cut:
        lines = lines[:-1]
    return lines if all(map(bytes.strip, lines)) else []


def resolve_reading(reading: Reading, paths: Sequence[str], *, labelled: bool) -> Reading:
    """Return settings with ``auto`` replaced by the format and the kind of documents.

    Detect the columns that are not set.
    """
    if reading.format == "auto" and reading.records is not None:
        reading = replace(reading, format="jsonl")
    uses_content = labelled and reading.label_pattern is None
    file_format = resolve_format(paths, reading.format, labelled=uses_content)
    reading = replace(reading, format=file_format)
    document = _resolve_kind(reading, paths, labelled=labelled)
    text_column = reading.file_column or reading.text_column
    # With attributes, documents need no text.
    if text_column is None and Attributes.from_settings(reading).names:
        text_column = NO_TEXT
    reading = replace(reading, document=document, text_column=text_column)
    if reading.has_columns and paths:
        return _detect_columns(reading, paths[0], labelled=labelled)
    return reading


def _resolve_kind(reading: Reading, paths: Sequence[str], *, labelled: bool) -> str:
    """Return the kind of documents; `KIND_BY_NAME` if the names of files decide."""
    layout = reading.layout
    if layout.is_mail:
        return "mail"
    if layout.is_counted:
        return "text"
    depends_on_name = reading.document in ("auto", KIND_BY_NAME)
    if depends_on_name and not reading.has_whole_files:
        return "text"
    if reading.document != "auto":
        return reading.document
    if not layout.has_file_per_document:  # a table names the files
        return KIND_BY_NAME
    has_class_folders = labelled and not (reading.label_column or reading.label_pattern)
    return _detect_kind_of_files(paths, labelled=has_class_folders)


def get_kind_of_file(path: str) -> str:
    """Return the kind of a document by the name of its file: mail, html or text.

    >>> get_kind_of_file("inbox/7.eml.gz"), get_kind_of_file("page.HTML")
    ('mail', 'html')
    """
    return KINDS_BY_SUFFIX.get(_get_suffix(path), "text")


def _detect_kind_of_files(paths: Iterable[str], *, labelled: bool) -> str:
    """Return the kind of all files in and below the paths; `KIND_BY_NAME` if their kinds differ."""
    from nbtext.corpus.directory import scan_files

    kinds = set()
    known_suffixes = set()
    for name, _, _ in scan_files(paths, labelled=labelled):
        suffix = name[name.rfind(".") :]  # without a dot, the last character, which does no harm
        if suffix in known_suffixes:  # many files have few different suffixes
            continue
        # The suffix of a compressed file does not show its kind.
        is_compressed = strip_compression_suffix(name) != name
        if not is_compressed:
            known_suffixes.add(suffix)
        kinds.add(get_kind_of_file(name))
        if len(kinds) > 1:
            return KIND_BY_NAME
    return kinds.pop() if kinds else "text"


def detect_text_kinds(text: bytes) -> list[str]:
    """Return the kinds other than text that a text looks like, or only the format ``mbox``."""
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

    ``kind_counts`` are the numbers of documents by their result of `detect_text_kinds`. ``scope``
    is the end of the message.
    """
    for kind, n_of_kind in kind_counts.items():
        if n_of_kind >= _MIN_KIND_PROPORTION * n_documents:
            quantity = format_quantity(n_of_kind, "document")
            option = "format" if kind in FORMATS else "document"
            yield Finding(
                "texts",
                WARNING,
                f"read as text, and look like {kind}: {quantity}{scope}",
                f"use --{option} {kind}",
            )


def find_folder_kind_warnings(folder: str) -> Iterator[Finding]:
    """Yield the warnings of `find_text_kind_warnings` for a sample of the files of a corpus.

    The sample has the first files of the first class folders, except files that are mail or HTML by
    their names.
    """
    from nbtext.corpus.directory import list_visible_paths, scan_files

    with suppress(OSError):  # reading the folder reports the reason
        class_folders = [path for path, is_folder in list_visible_paths(folder) if is_folder]
        if not class_folders:
            class_folders = [folder]
        sample = chain.from_iterable(
            islice(scan_files([class_folder], labelled=False), _MAX_INSPECTED_FILES)
            for class_folder in class_folders[:_MAX_INSPECTED_FOLDERS]
        )
        texts = [
            peek_start(path)
            for name, _, path in sample
            if get_kind_of_file(name) == "text" and os.path.isfile(path)
        ]
        kind_counts = Counter(chain.from_iterable(map(detect_text_kinds, texts)))
        yield from find_text_kind_warnings(kind_counts, len(texts), f" of {len(texts)} looked at")


def _detect_columns(reading: Reading, path: str, *, labelled: bool) -> Reading:
    """Return settings with the delimiter, and the columns or keys, that a file shows.

    Do not change settings that have a value.
    """
    needs_label = labelled and reading.label_column is None
    has_columns = reading.text_column is not None and not needs_label
    needs_delimiter = reading.format == "csv" and reading.delimiter is None
    if has_columns and not needs_delimiter:
        # Without this case, a single prediction would import columns.py, which takes time.
        return reading
    from nbtext.corpus.detection.columns import (
        check_lines_above_header,
        implies_header,
        parse_first_records,
        recognise_columns,
        recognise_keys,
    )

    if has_columns and not implies_header(reading):
        note = find_delimiter_note(peek_start(path))
        return reading if note is None else _apply_delimiter_note(note, reading, path)
    # A pipe with documents to classify may be slow, so do not wait for more than a line.
    pipe_bytes = DETECTION_BYTES if labelled else 0
    if reading.layout.is_decoded:
        # For a pipe, `peek_array_records` reads the same start again.
        start = peek_start(path, pipe_bytes=pipe_bytes)
        if reading.records is None:
            records = parse_first_records(start)
        else:
            from nbtext.corpus.lines import peek_array_records

            records = peek_array_records(path, reading.records, reading.encoding)
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
    """Return the first rows of a table, given settings from `resolve_reading`."""
    _, rows = _read_delimiter_and_rows(path, replace(reading, delimiter=get_delimiter(reading)))
    return rows


def find_corpus_warnings(
    paths: Sequence[str], reading: Reading, resolved_reading: Reading
) -> Iterator[Finding]:
    """Yield warnings about how a corpus may be misread, given its first bytes or file names.

    ``resolved_reading`` are the settings that `resolve_reading` returned for ``reading``.
    """
    file_format = resolved_reading.format
    if file_format in ("dir", "lines"):
        from nbtext.corpus.detection.hints import find_misread_files
        from nbtext.corpus.directory import scan_files

        files = (path for _, _, path in scan_files(paths, labelled=file_format == "dir"))
        yield from find_misread_files(files, resolved_reading)
    elif reading.format == "auto" and file_format == "tsv":
        from nbtext.corpus.detection.columns import has_quoted_cells

        if has_quoted_cells(peek_start(paths[0])):
            yield Finding(
                "columns",
                WARNING,
                f"{paths[0]}: cells look quoted, and in tsv a quote is a character",
                "if they are, use --format csv --delimiter tab",
            )


def _read_delimiter_and_rows(
    path: str, reading: Reading, *, pipe_bytes: int = 0
) -> tuple[str | None, list[list[str]]]:
    """Return the delimiter of a table, and its first rows.

    If the delimiter is the default of the format, return None for it. Take the rows from the first
    `DETECTION_BYTES` of the file. If these bytes contain no complete row, take the first row from
    `MAX_FIRST_LINE_BYTES`.
    """
    from nbtext.corpus.detection.columns import find_delimiter, split_rows

    is_quoted = reading.format == "csv"
    for size in (DETECTION_BYTES, MAX_FIRST_LINE_BYTES):
        start = peek_start(path, size, pipe_bytes=pipe_bytes)
        is_complete = len(start) < size
        delimiter = reading.delimiter
        note = find_delimiter_note(start) if is_quoted else None
        if note is not None:
            delimiter = _apply_delimiter_note(note, reading, path).delimiter
            start = start[note.n_bytes :]
        elif not delimiter and is_quoted:
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


def _apply_delimiter_note(note: DelimiterNote, reading: Reading, path: str) -> Reading:
    """Return settings with the delimiter of a note.

    A comma, the default of csv, needs no setting. Raise `UsageError` if the settings have another
    delimiter.
    """
    if reading.delimiter is not None:
        note.require_equal(reading.delimiter, path)
        return reading
    return reading if note.delimiter == "," else replace(reading, delimiter=note.delimiter)


def read_column_names(path: str, reading: Reading) -> tuple[str, ...]:
    """Return the column names of a table, or the column numbers without a header.

    The settings must be from `resolve_reading`. Raise `UsageError` if the format is not a table, or
    if the first row has more than 4 MiB.
    """
    from nbtext.corpus.detection.columns import decode_header_row, implies_header

    if reading.format not in ("csv", "tsv"):
        hint = "name the columns"
        if not reading.has_columns:
            hint = "use --format csv, tsv or jsonl, or remove --keep"
        raise UsageError(f"--keep all is for tables, not for {reading.format}", hint=hint)
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
