"""Read a corpus: from paths and reading settings to a stream of documents in valid UTF-8, whole or in shards side by side.

Formats are declared in `nbtext.settings.FORMATS`, each with its reader.
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

"""Text, fields and values of a document that cannot be read."""

_FEWEST_LINES = 3
_WIDEST_LINE = 100
"""Lines of documents, at least, and bytes of a line of prose, at most."""

_CLASS_FILE = re.compile(r"([^\d.]+|\D+\.te?xt)(\.gz|\.bz2|\.xz|\.zst)?", re.IGNORECASE)
"""Names of files that may be classes."""

CONVERSION_HINTS = {
    ".parquet": 'make it jsonl first, as with python -c "import pandas; '
    "pandas.read_parquet('FILE').to_json('FILE.jsonl', orient='records', lines=True)\"",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save the sheet as csv first"),
    **dict.fromkeys(
        (".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst"), REMOVED_VALUES["format"]["tar"]
    ),
}
"""What to do with tables and archives that are not read, by suffix."""

KIND_PROBE_BYTES = 4096
MIN_KIND_PROPORTION = 0.2
"""Bytes of a text that show whether it is mail or HTML, and the share of such texts from which there is a warning."""

TEXT_KIND_MATCHERS = {
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
"""What finds in the beginning of a text that it is no plain text."""

_FOLDERS_LOOKED_AT = 16
_FILES_LOOKED_AT = 4
"""Folders that are looked at before training, and files in each."""

_CONVERTED_BY_CONTENT = {
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
"""The same by the beginning of a file that is to be learnt."""

_LIKE_JSON = re.compile(rb"""\s*(?:\{\s*("|\Z)|\[\s*[\["{])""")


def read_corpus(
    paths: Sequence[str], reading: Reading, notices: Notices, *, labelled: bool, columns: Names = ()
) -> Iterator[Document]:
    """Yield the documents of the paths in order; one that cannot be read comes with its problem.

    With ``labelled``, each document has its class. ``columns`` are names (which
    imply a header) or numbers from 1, in jsonl keys, whose values each document then has as text: an empty cell and null are the empty text, a
    missing key is a problem of the document. Raise `PathError` for a path that cannot be read at all, or not to its end, and `UsageError` for
    settings that do not fit.
    """
    source = create_reader_options(
        resolve_reading(reading, paths, labelled=labelled),
        notices,
        labelled=labelled,
        columns=columns,
    )
    for path in paths:
        yield from read_shard(Shard(path), source)


def read_shard(shard: Shard, source: ReaderOptions) -> Iterator[Any]:
    """Yield the documents of a shard as `read_corpus` does, but without names where the source allows a `LabelledBlock` of many."""
    undecoded = _undecoded(shard, source)
    separator = source.reading.label_separator
    folder = (
        os.path.dirname(shard.path)
        if source.reading.has_whole_files
        and not FORMATS[source.reading.format].has_file_per_document
        else None
    )
    if not source.can_yield_blocks:
        yield from _kept(_decoded(undecoded, source, folder), source)
        return
    for items in split_into_blocks(
        undecoded,
        lambda item: LINE_BLOCK_BYTES if isinstance(item, LabelledBlock) else len(item.text) + 1,
        max_bytes=LINE_BLOCK_BYTES,
    ):
        whole, odd = _sorted_out(items, source.max_document_bytes)
        for block in whole:
            yield replace(block, labels=[split_label(label, separator) for label in block.labels])
        yield from _kept(_decoded(odd, source), source)


def _kept(documents: Iterable[Document], source: ReaderOptions) -> Iterator[Document]:
    """Yield documents under the labels of the patch, those that cannot be read as the source says."""
    for document in (
        documents
        if source.relabel is None
        else (source.relabel(document, source.notices) for document in documents)
    ):
        if document.problem is None or source.on_error == "record":
            yield document
        elif source.on_error == "fail":
            raise DocumentError(
                document.problem.message, where=document.id, hint=document.problem.hint
            )
        elif source.on_unreadable is not None:
            source.on_unreadable(document.id, document.problem)


def _undecoded(shard: Shard, source: ReaderOptions) -> Iterator[Any]:
    """Return the documents of a shard as its reader yields them, or blocks of them if the source allows."""
    layout = FORMATS[source.reading.format]
    if layout.has_file_per_document:
        from nbtext.corpus.directory import read_listed_file
        from nbtext.corpus.mailboxes import read_message

        read = read_message if layout.is_mail else read_listed_file
        return (
            read(file, source) for file in shard.files or load_reader(layout)(shard.path, source)
        )
    if layout.has_columns and not shard.byte_range.start:
        doubts = (_doubts_of_records if layout.is_decoded else _doubts_of_rows)(shard.path, source)
        source.notices.warnings.extend(
            Finding("columns", WARNING, f"{shard.path}: {what}", advice) for what, advice in doubts
        )
    return load_reader(layout)(shard.path, replace(source, byte_range=shard.byte_range))


def _sorted_out(
    items: Sequence[LabelledBlock | Document], limit: int
) -> tuple[list[LabelledBlock], list[Document]]:
    """Return documents that are text as they stand in blocks, and those that have a problem, or that are to be decoded."""
    whole = [item for item in items if isinstance(item, LabelledBlock)]
    documents = [item for item in items if not isinstance(item, LabelledBlock)]
    joined = b"\n".join([document.text for document in documents])
    all_plain = is_plain(joined) and BOM_UTF8 not in joined and b"%PDF-" not in joined
    odd = []
    labels = []
    texts = []
    for document in documents:
        _, label, text, fields, _, problem, *_ = document
        if (
            problem is None
            and label
            and not fields
            and len(text) <= limit
            and (all_plain or (is_plain(text) and not text.startswith((BOM_UTF8, b"%PDF-"))))
        ):
            labels.append(label)
            texts.append(text)
        else:
            odd.append(document)
    if labels:
        whole.append(LabelledBlock.from_labels(labels, texts))
    return whole, odd


def read_document_bytes(identity: str, body: bytes, reading: Reading) -> Document:
    """Return the document that some bytes are, read as those of a file; its problem comes with it if they cannot be read."""
    source = create_reader_options(
        replace(reading, format="dir", file_column=None), Notices(), labelled=False
    )
    return next(_decoded([Document(identity, None, body)], source))


def resolve_format(paths: Sequence[str], file_format: str, *, labelled: bool = False) -> str:
    """Return the format that ``auto`` means: by the kind or name of the first path; with ``labelled`` also by its beginning.

    Raise `UsageError` if a path is one that must be converted first.
    """
    if file_format != "auto":
        return file_format
    for path in paths:
        _refuse_converted(path)
    found = detect_format_by_name(paths[0]) if paths else "dir"
    if labelled:
        found = found or _format_by_content(paths[0])
        if found in (None, "dir") and _are_classes(paths):
            return "lines"
    return found or "dir"


def _are_classes(paths: Sequence[str]) -> bool:
    """Return whether files, or those in the folder given, are surely a class each, with one document a line.

    Their names are words, each has as many lines as there are files, and none is of another format.
    """
    from nbtext.corpus.directory import list_visible_paths

    try:
        files = (
            list_visible_paths(paths[0])
            if len(paths) == 1
            else [(path, os.path.isdir(path)) for path in paths]
        )
    except OSError:
        return False
    return len(files) > 1 and all(
        is_folder is False
        and _CLASS_FILE.fullmatch(os.path.basename(file))
        and len(_lines_at(file)) >= len(files)
        and _format_by_content(file) is None
        for file, is_folder in files
    )


def detect_format_by_name(path: str) -> str | None:
    """Return the format of a directory, or that of a file if its name shows it; raise `UsageError` for one that must be converted first."""
    if os.path.isdir(path):
        from nbtext.corpus.mailboxes import contains_maildirs, contains_only_mboxes

        if contains_maildirs(path):
            return "maildir"
        return "mbox" if contains_only_mboxes(path) else "dir"
    _refuse_converted(path)
    suffix = _suffix(path)
    return next((name for name, layout in FORMATS.items() if suffix in layout.suffixes), None)


def _refuse_converted(path: str) -> None:
    """Raise `UsageError` for a file that must be converted first, by its suffix."""
    hint = CONVERSION_HINTS.get(_suffix(path))
    if hint is not None and not os.path.isdir(path):
        raise UsageError(f"{path} cannot be read", hint=hint)


def _suffix(path: str) -> str:
    """Return the suffix of a file in lower case, without that of its compression."""
    return os.path.splitext(strip_compression_suffix(path))[1].lower()


def _format_by_content(path: str) -> str | None:
    """Return the format that the beginning of a file shows beyond doubt, if any."""
    from nbtext.corpus.columns import detect_table_format

    start = peek_start(path, pipe_bytes=DETECTION_BYTES)
    if refused := next(
        (hint for signature, hint in _CONVERTED_BY_CONTENT.items() if re.match(signature, start)),
        None,
    ):
        raise UsageError(f"{path} cannot be read", hint=refused)
    line = start.partition(b"\n")[0]
    text = line.removeprefix(BOM_UTF8)
    for name, layout in FORMATS.items():
        if layout.first_bytes and (line if layout.is_mail else text).startswith(layout.first_bytes):
            return name
    found = (
        "jsonl"
        if _holds_records(start)
        else detect_table_format(start, is_complete=len(start) < DETECTION_BYTES)
    )
    if found is None and start and (path.lower().endswith(".json") or _LIKE_JSON.match(text)):
        from nbtext.corpus.lines import suggest_json_options

        raise UsageError(f"{path} cannot be read", hint=suggest_json_options(path))
    return found


def _holds_records(start: bytes) -> bool:
    """Return whether a file with this beginning is JSON: an object on the first line, or an array of objects."""
    from nbtext.corpus.lines import parse_record

    try:
        return JSON_ARRAY_START.match(start) is not None or bool(
            parse_record(start.partition(b"\n")[0], "auto")[0]
        )
    except DocumentError:
        return False


def choose_format(paths: Sequence[str], trained: Reading) -> str:
    """Return the format of paths for a model: what the first is by kind, name or beginning, else that of the training documents.

    Raise `UsageError` for a file that must be converted first.
    """
    path, *later = paths
    layout = FORMATS.get(trained.format)
    if layout is None or layout.is_counted:
        return trained.format
    if (by_name := detect_format_by_name(path)) is not None:
        return (
            "lines"
            if trained.format == "lines" and by_name == "dir" and _are_classes(paths)
            else by_name
        )
    is_file = os.path.isfile(path)
    if layout.has_file_per_document:
        from nbtext.corpus.mailboxes import is_mbox

        start = peek_start(path) if is_file else b""  # what comes through a pipe is one document
        if JSON_ARRAY_START.match(start):
            return "jsonl"
        found = "dir" if trained.format == "maildir" and is_file else trained.format
        return "mbox" if is_mbox(start) else found
    is_there = path == "-" or os.path.exists(path)
    if (
        not layout.has_columns
        or Attributes.from_settings(trained).names
        or not is_there
        or any(detect_format_by_name(each) not in (None, "dir") for each in later)
    ):
        return trained.format
    return _format_like_table(path, trained)


def choose_reading(trained: Reading, paths: Sequence[str], given: Mapping[str, object]) -> Reading:
    """Return how documents are read for a model: as its training documents were, but for the settings given, and for what the paths are.

    Raises `UsageError` where counted features would meet a model of texts, and for other attributes than the model has.
    """
    reading = Reading.from_values({**trained, **given})
    if "text_column" in given and "file_column" not in given:
        reading = replace(reading, file_column=None)
    if paths and "format" not in given:
        reading = replace(reading, format=choose_format(paths, trained))
        if "label_column" not in given and reading.has_columns != trained.has_columns:
            reading = replace(reading, label_column=None)
    learnt = Attributes.from_settings(trained)
    read = Attributes.from_settings(reading)
    for kind, names, others in zip(ATTRIBUTE_KINDS, learnt, read, strict=True):
        if len(names) != len(others):
            raise UsageError(
                f"--{kind} names {format_quantity(len(others), 'column')}, and the model has {len(names)}",
                hint="name them in the model's order",
            )
    file_format = resolve_format(paths, reading.format)
    if FORMATS[file_format].is_counted and not trained.is_counted:
        raise UsageError(
            f"the model was trained on texts, not on {file_format}'s counted features",
            hint="train one on features",
        )
    return reading


def _format_like_table(path: str, trained: Reading) -> str:
    """Return the format of a file for a model of tables or JSON lines: what is neither is one document, since a text alone has no columns."""
    from nbtext.corpus.columns import is_table, split_rows

    start = peek_start(path)
    text = start.removeprefix(BOM_UTF8)
    if not text.strip():
        return trained.format
    if FORMATS[trained.format].is_decoded:
        return "jsonl" if text[:256].lstrip().startswith((b"{", b"[")) else "dir"
    if _holds_records(text):
        return "jsonl"
    complete = len(start) < DETECTION_BYTES
    rows = split_rows(
        start, get_delimiter(trained), is_quoted=trained.format == "csv", is_complete=complete
    )
    return trained.format if not rows or is_table(rows, trained) else "dir"


def count_document_lines(path: str) -> int | None:
    """Return the number of lines in the beginning of a file that look like a document each; None if they look like one text.

    That has empty lines, or lines that are broken at about the same width.
    """
    lines = _lines_at(path)
    longest = max(map(len, lines), default=0)
    shorter = sum(len(line) < 0.75 * longest for line in lines[:-1])
    is_broken = longest <= _WIDEST_LINE and shorter <= len(lines) / 10
    return len(lines) if len(lines) >= _FEWEST_LINES and not is_broken else None


def _lines_at(path: str) -> list[bytes]:
    """Return the whole lines in the beginning of a file; none if one is empty."""
    start = peek_start(path)
    lines = start.splitlines()[: None if len(start) < DETECTION_BYTES else -1]
    return lines if all(map(bytes.strip, lines)) else []


def resolve_reading(reading: Reading, paths: Sequence[str], *, labelled: bool) -> Reading:
    """Return reading settings with ``auto`` replaced by the format and the kind of documents that it means."""
    wanted = "jsonl" if reading.format == "auto" and reading.records is not None else reading.format
    file_format = resolve_format(paths, wanted, labelled=labelled and reading.label_pattern is None)
    reading = replace(reading, format=file_format)
    layout = FORMATS[file_format]
    document = reading.document
    if layout.is_mail:
        document = "mail"
    elif layout.is_counted:
        document = "text"
    if document in ("auto", KIND_BY_NAME) and not reading.has_whole_files:
        document = "text"
    elif document == "auto":
        by_class = labelled and not (reading.label_column or reading.label_pattern)
        document = (
            _kind_of_files(paths, labelled=by_class)
            if layout.has_file_per_document
            else KIND_BY_NAME
        )
    text_column = (
        reading.file_column
        or reading.text_column
        or (NO_TEXT if Attributes.from_settings(reading).names else None)
    )
    found = replace(reading, document=document, text_column=text_column)
    return (
        _with_columns(found, paths[0], labelled=labelled) if layout.has_columns and paths else found
    )


def _kind_of_file(path: str) -> str:
    """Return what a document is by the name of its file: mail, html or text.

    >>> _kind_of_file("inbox/7.eml.gz"), _kind_of_file("page.HTML"), _kind_of_file("letter")
    ('mail', 'html', 'text')
    """
    return KINDS_BY_SUFFIX.get(_suffix(path), "text")


def _kind_of_files(paths: Iterable[str], *, labelled: bool) -> str:
    """Return the kind that all files in and below the paths have by their names, `KIND_BY_NAME` if they differ."""
    from nbtext.corpus.directory import scan_files

    kinds = set()
    suffixes = set()
    for name, *_ in scan_files(paths, labelled=labelled):
        suffix = name[name.rfind(".") :]
        if suffix in suffixes:  # of many files few have a suffix of their own
            continue
        if strip_compression_suffix(name) == name:
            suffixes.add(suffix)
        kinds.add(_kind_of_file(name))
        if len(kinds) > 1:
            return KIND_BY_NAME
    return kinds.pop() if kinds else "text"


def detect_text_kinds(text: bytes) -> list[str]:
    """Return the kinds of documents, other than text, that the beginning of a text looks like; also ``mbox``."""
    from nbtext.corpus.mailboxes import is_mbox

    if is_mbox(text[:DETECTION_BYTES]):
        return ["mbox"]
    return [kind for kind, find in TEXT_KIND_MATCHERS.items() if find(text, 0, KIND_PROBE_BYTES)]


def find_text_kind_warnings(
    kinds: Mapping[str, int], n_documents: int, among: str = ""
) -> Iterator[Finding]:
    """Yield the finding for each kind that many documents look like, which are read as text."""
    for kind, n in kinds.items():
        if kind in (*TEXT_KIND_MATCHERS, "mbox") and n >= MIN_KIND_PROPORTION * n_documents:
            advice = f"give --{'format' if kind in FORMATS else 'document'} {kind}"
            yield Finding(
                "texts",
                WARNING,
                f"read as text, and look like {kind}: {format_quantity(n, 'document')}{among}",
                advice,
            )


def find_folder_kind_warnings(folder: str) -> Iterator[Finding]:
    """Yield the same for some files in each of the first class folders of a corpus, of those that are text by their names."""
    from nbtext.corpus.directory import list_visible_paths, scan_files

    with suppress(OSError):  # reading it reports the reason
        folders = [path for path, is_folder in list_visible_paths(folder) if is_folder][
            :_FOLDERS_LOOKED_AT
        ] or [folder]
        some = chain.from_iterable(
            islice(scan_files([each], labelled=False), _FILES_LOOKED_AT) for each in folders
        )
        texts = [
            peek_start(path)
            for name, _, path in some
            if _kind_of_file(name) == "text" and os.path.isfile(path)
        ]
        kinds = Counter(chain.from_iterable(map(detect_text_kinds, texts)))
        yield from find_text_kind_warnings(kinds, len(texts), f" of {len(texts)} looked at")


def _with_columns(reading: Reading, path: str, *, labelled: bool) -> Reading:
    """Return the settings of a table or of JSON with the delimiter and the columns or keys that its beginning shows, where they do not say them."""
    are_given = reading.text_column is not None and (
        reading.label_column is not None or not labelled
    )
    if are_given and (reading.delimiter is not None or reading.format != "csv"):
        return reading  # before columns.py is imported, which a single answer does without
    from nbtext.corpus.columns import (
        check_lines_above_header,
        implies_header,
        parse_first_records,
        recognise_columns,
        recognise_keys,
    )

    if are_given and not implies_header(reading):
        return reading
    of_pipe = DETECTION_BYTES if labelled else 0  # a pipe to be answered may be slow
    if FORMATS[reading.format].is_decoded:
        records = parse_first_records(peek_start(path, pipe_bytes=of_pipe))
        if reading.records is not None:
            from nbtext.corpus.lines import peek_array_records

            records = peek_array_records(path, reading)
        return recognise_keys(records, reading, labelled=labelled)
    delimiter, rows = _delimiter_and_rows(path, reading, of_pipe=of_pipe)
    reading = replace(reading, delimiter=delimiter)
    try:
        check_lines_above_header(rows, reading)
        return reading if are_given else recognise_columns(rows, reading, labelled=labelled)
    except UsageError as problem:
        problem.where = path
        raise


def read_first_rows(path: str, reading: Reading) -> list[list[str]]:
    """Return the first rows of a table, for settings that are `resolve_reading`."""
    return _delimiter_and_rows(path, replace(reading, delimiter=get_delimiter(reading)))[1]


def find_corpus_warnings(
    paths: Sequence[str], reading: Reading, found: Reading
) -> Iterator[Finding]:
    """Yield what may be wrong with how a corpus is read, by its first bytes or the names of its files, for settings before and after `resolve_reading`."""
    if found.format in ("dir", "lines"):
        from nbtext.corpus.directory import scan_files
        from nbtext.corpus.format_hints import find_misread_files

        yield from find_misread_files(
            (path for *_, path in scan_files(paths, labelled=found.format == "dir")), found
        )
    elif (reading.format, found.format) == ("auto", "tsv"):
        from nbtext.corpus.columns import has_quoted_cells

        if has_quoted_cells(peek_start(paths[0])):
            detail = f"{paths[0]}: cells look quoted, and in tsv a quote is a character"
            yield Finding(
                "columns", WARNING, detail, "if they are, give --format csv --delimiter tab"
            )


def _delimiter_and_rows(
    path: str, reading: Reading, *, of_pipe: int = 0
) -> tuple[str | None, list[list[str]]]:
    """Return the delimiter of a table, None for that of its format, and the rows in its first 64 KiB; if there is none, those in its first 4 MiB."""
    from nbtext.corpus.columns import find_delimiter, split_rows

    quoted = reading.format == "csv"
    for size in (DETECTION_BYTES, MAX_FIRST_LINE_BYTES):
        start = peek_start(path, size, pipe_bytes=of_pipe)
        complete = len(start) < size
        delimiter = reading.delimiter or (
            find_delimiter(start, is_complete=complete) if quoted else None
        )
        rows = split_rows(
            start, delimiter or get_delimiter(reading), is_quoted=quoted, is_complete=complete
        )
        if rows or complete:
            break
    return delimiter, rows


def _doubts_of_rows(path: str, source: ReaderOptions) -> Iterator[tuple[str, str]]:
    """Yield what may be read wrongly in a table, and what to do; raise `UsageError` for a header that is none by the settings."""
    from nbtext.corpus.columns import check_header, find_table_warnings

    reading = source.reading
    rows = read_first_rows(path, source.reading)
    try:
        check_header(rows, reading, source.columns)
    except UsageError as problem:
        problem.where = path
        raise
    if rows and reading.text_column not in source.columns:  # label --take asks for ids
        yield from find_table_warnings(
            rows,
            reading,
            os.path.dirname(path),
            uses_all_rows=source.labelled and source.row_condition is None,
        )


def _doubts_of_records(path: str, source: ReaderOptions) -> Iterator[tuple[str, str]]:
    """Yield the same of objects of JSON, if all are to be learnt."""
    from nbtext.corpus.columns import find_record_warnings, parse_first_records

    if source.labelled and source.row_condition is None and source.reading.records is None:
        yield from find_record_warnings(parse_first_records(peek_start(path)), source.reading)


def read_column_names(path: str, reading: Reading) -> tuple[str, ...]:
    """Return the columns of a table, for settings that are `resolve_reading`: names, or numbers without a header; raise `UsageError` for no table."""
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
    return tuple(
        decode_header_row(first, reading.encoding)
        if implies_header(reading)
        else map(str, range(1, len(first) + 1))
    )


def create_reader_options(
    reading: Reading,
    notices: Notices,
    *,
    labelled: bool,
    columns: Names = (),
    condition: str | None = None,
) -> ReaderOptions:
    """Return what the readers are given, from settings that are `resolve_reading` and arguments of `read_corpus`; raise `UsageError` if they do not fit."""
    attributes = Attributes.from_settings(reading)
    weight_column = reading.weight_column if labelled and reading.weight_column != NO_TEXT else None
    file_format = reading.format
    layout = FORMATS[reading.format]
    tagged = (
        tuple(reading.tag_fields.split(",")) if reading.tag_fields and layout.has_columns else ()
    )
    chosen, _, value = (condition or "").partition("=")
    name = chosen.removesuffix("!")
    header = name if reading.document in ("mail", KIND_BY_NAME) and not layout.has_columns else ""
    columns = (
        *attributes.names,
        *tagged,
        *filter(None, (weight_column, "" if header else name)),
        *columns,
    )
    if not (
        layout.has_file_per_document or layout.is_mail or is_ascii_compatible(reading.encoding)
    ):
        message = (
            f"--encoding {reading['encoding']} is for whole files, and --format "
            f"{file_format} has lines or rows"
        )
        raise UsageError(message, hint="make them UTF-8 first, as with iconv -t UTF-8")
    if columns and not layout.has_columns:
        *others, last = (name for name, other in FORMATS.items() if other.has_columns)
        of_mail = ", or give --document mail for a header" if name else ""
        raise UsageError(
            f"--format {file_format} has no columns, such as {columns[0]}",
            hint=f"use {', '.join(others)} or {last}{of_mail}",
        )
    if (
        labelled
        and reading.tag_fields
        and not layout.has_columns
        and reading.document not in ("mail", KIND_BY_NAME)
    ):
        raise UsageError(
            "--set tag-fields names columns, keys or headers of mail, which these documents have "
            "not",
            hint="leave it out",
        )
    row_condition = (value, not chosen.endswith("!")) if chosen else None
    return ReaderOptions(
        reading,
        notices,
        labelled,
        columns,
        attributes,
        tagged,
        weight_column,
        row_condition=row_condition,
        condition_header=header,
    )


def _decoder(reading: Reading, kind: str) -> Decoder:
    """Return a function from the bytes of a document to its text, what is doubtful about it, and its fields, all with any separators."""
    is_in_utf8 = FORMATS[reading.format].is_decoded and not reading.has_whole_files
    encoding = "utf-8" if is_in_utf8 else reading.encoding
    if kind == "mail":
        from nbtext.corpus.mail.mail import MailOptions, read_mail

        wanted = MailOptions.from_settings(reading, encoding)
        return lambda body: read_mail(body, wanted)
    text_of = decode_text
    of_files = reading.has_whole_files
    if kind == "html":
        from nbtext.corpus.html import decode_html as text_of

    def decoded(body: bytes) -> tuple[bytes, DecodingIssues, Fields]:
        found = encoding
        if of_files:
            body, found = detect_encoding(body, encoding)
            if found == "auto":
                check_not_binary(body, whole_file=True)
        return *text_of(body, found), ()

    return decoded


def _decoded(
    documents: Iterable[Document], source: ReaderOptions, folder: str | None = None
) -> Iterator[Document]:
    """Yield the documents with their text in UTF-8, fields, values and weight; report what is wrong with one as its problem.

    Documents of weight 0 are left out, and those that `ReaderOptions.where` does not choose. With a ``folder`` texts are paths of files from there.
    """
    others = source.column_positions.extra
    decoded = _document_decoder(source, folder)
    for document in documents:
        unreadable = document._replace(
            text=b"", fields=(), values=(), columns=document.columns[others]
        )
        found: Document | None = unreadable
        if document.problem is None:
            try:
                found = decoded(document)
            except Exception as raised:  # noqa: BLE001 - one document never ends a run
                found = unreadable._replace(problem=to_document_error(raised))
        del document  # who works on the document shall have it in memory once
        if found is not None and found.weight:
            yield found


def _document_decoder(
    source: ReaderOptions, folder: str | None
) -> Callable[[Document], Document | None]:
    """Return a function that decodes a document as `_decoded` does, and returns None for one that is not chosen; it raises what is wrong."""
    reading = source.reading
    places = source.column_positions
    decoder_of = cache(partial(_decoder, reading))
    kind = reading.document
    may_be_binary = (
        reading.encoding == "auto"
        and kind != "mail"
        and not (FORMATS[reading.format].is_decoded or reading.has_whole_files)
    )
    cleaned = (
        replace_separators if reading.is_counted else clean_text
    )  # a feature is what it is called
    names = [normalise_field_name(name) for name in source.tag_columns]
    has_attributes = bool(source.attributes.names)

    def decoded(document: Document) -> Document | None:
        identity, label, body, beside, _, _, columns, weight = document
        if source.row_condition is not None:
            value, is_wanted = source.row_condition
            if _has_value(value, body, columns, source) is not is_wanted:
                return None
        path = identity
        if folder is not None:
            path, body = _file_in(folder, body, source)
        label = _label(label, identity, body, source)
        found, doubts, fields = decoder_of(_kind_of_file(path) if kind == KIND_BY_NAME else kind)(
            body
        )
        text = cleaned(found)
        if text is not found and may_be_binary:
            check_not_binary(body)
        if names:
            tagged = zip(names, columns[places.fields], strict=True)
            fields = [(name, value.encode()) for name, value in tagged if value]
        else:
            fields = beside or fields
        if fields:
            fields = clean_fields(fields)
        values = (
            source.attributes.normalise_values(columns[places.attributes]) if has_attributes else ()
        )
        if source.weight_column is not None:
            weight = parse_weight(source.weight_column, columns[places.weight])
        source.notices.transcoded += doubts.is_transcoded
        source.notices.replaced += doubts.has_replacements
        return Document(identity, label, text, fields, values, None, columns[places.extra], weight)

    return decoded


def _has_value(value: str, body: bytes, columns: Names, source: ReaderOptions) -> bool:
    """Return whether a row has a value in the column by which documents are chosen, or a mail has it in the header of the source."""
    if not source.condition_header:
        return columns[source.column_positions.condition] == value
    from nbtext.corpus.mail.headers import has_header_value

    return has_header_value(body, source.condition_header, value, source.reading.encoding)


def _file_in(folder: str, name: bytes, source: ReaderOptions) -> tuple[str, bytes]:
    """Return the path and the content of a regular file that a table names; raise `DocumentError` if there is none."""
    from nbtext.corpus.directory import read_listed_file

    path = os.path.join(folder, os.fsdecode(name))
    within = source.allowed_folder
    if within is not None and os.path.commonpath((within, os.path.realpath(path))) != within:
        raise DocumentError(
            f"{path} is outside the folder of the file that sets --file-column",
            hint="give --file-column to read it, or --no-config",
        )
    if not os.path.isfile(path):
        raise DocumentError(f"there is no file {path}")
    document = read_listed_file((path, None, None), source)
    if document.problem is not None:
        raise document.problem
    return path, document.text


def _label(found: Label | None, identity: str, body: bytes, source: ReaderOptions) -> Label | None:
    """Return the label of a document, or the set of its labels; raise `DocumentError` if there is none, or if the document is too large."""
    reading = source.reading
    if source.labelled and found is None:
        if reading.label_header:
            from nbtext.corpus.mail.headers import parse_header_labels

            found = parse_header_labels(body, reading.label_header, reading.encoding)
        elif pattern := reading.label_source:
            match = re.search(pattern, identity.rpartition("/")[2])
            if match is None or not match[1]:
                raise DocumentError("--label-pattern finds no class in the name of the file")
            found = decode_name(os.fsencode(match[1]))
    label = None if found is None else split_label(found, reading.label_separator)
    if source.labelled and not label:
        raise DocumentError("the label is empty")
    if len(body) > source.max_document_bytes:
        raise create_size_error(source.max_document_bytes)
    return label
