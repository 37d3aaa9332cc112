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
    decoded_name,
    decoded_text,
    detect_encoding,
    is_ascii_compatible,
    is_plain,
    refuse_binary,
)
from nbtext.corpus.document import Document, Notices, Source, delimiter_of, problem_of, too_large
from nbtext.corpus.shards import ARRAY, Shard, reader
from nbtext.corpus.streams import (
    LINES_AT_ONCE,
    LONGEST_FIRST_LINE,
    LOOKED_AT,
    beginning,
    uncompressed_name,
)
from nbtext.document_fields import (
    KINDS,
    NO_TEXT,
    Attributes,
    checked_fields,
    field_name,
    weight_in_units,
    with_spaces,
    without_separators,
)
from nbtext.errors import WARNING, DocumentError, Finding, UsageError, quantity
from nbtext.prediction.labels import separated
from nbtext.ragged import LabelledBlock, blocks
from nbtext.settings import BY_NAME, FORMATS, GONE_VALUES, KINDS_OF_FILES, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nbtext.corpus.decoding import Doubts
    from nbtext.prediction.labels import Label
    from nbtext.type_names import Fields, Names

    Decoder = Callable[[bytes], tuple[bytes, Doubts, Fields]]

"""Text, fields and values of a document that cannot be read."""

_FEWEST_LINES = 3
_WIDEST_LINE = 100
"""Lines of documents, at least, and bytes of a line of prose, at most."""

_CLASS_FILE = re.compile(r"([^\d.]+|\D+\.te?xt)(\.gz|\.bz2|\.xz|\.zst)?", re.IGNORECASE)
"""Names of files that may be classes."""

CONVERTED = {
    ".parquet": 'make it jsonl first, as with python -c "import pandas; '
    "pandas.read_parquet('FILE').to_json('FILE.jsonl', orient='records', lines=True)\"",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save the sheet as csv first"),
    **dict.fromkeys(
        (".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst"), GONE_VALUES["format"]["tar"]
    ),
}
"""What to do with tables and archives that are not read, by suffix."""

BEGINNING = 4096
SHARE_OF_KIND = 0.2
"""Bytes of a text that show whether it is mail or HTML, and the share of such texts from which there is a warning."""

KINDS_OF_TEXT = {
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
    rb"(?s).{257}ustar": CONVERTED[".tar"],
    rb"PAR1": CONVERTED[".parquet"],
    rb"ARROW1|FEA1": CONVERTED[".parquet"].replace("parquet", "feather"),
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
    source = source_of(
        resolved(reading, paths, labelled=labelled), notices, labelled=labelled, columns=columns
    )
    for path in paths:
        yield from read_shard(Shard(path), source)


def read_shard(shard: Shard, source: Source) -> Iterator[Any]:
    """Yield the documents of a shard as `read_corpus` does, but without names where the source allows a `LabelledBlock` of many."""
    undecoded = _undecoded(shard, source)
    separator = source.reading.label_separator
    folder = (
        os.path.dirname(shard.path)
        if source.reading.of_files and not FORMATS[source.reading.format].file_per_document
        else None
    )
    if not source.in_blocks:
        yield from _kept(_decoded(undecoded, source, folder), source)
        return
    for items in blocks(
        undecoded,
        lambda item: LINES_AT_ONCE if isinstance(item, LabelledBlock) else len(item.text) + 1,
        n_bytes=LINES_AT_ONCE,
    ):
        whole, odd = _sorted_out(items, source.limit)
        for block in whole:
            yield replace(block, labels=[separated(label, separator) for label in block.labels])
        yield from _kept(_decoded(odd, source), source)


def _kept(documents: Iterable[Document], source: Source) -> Iterator[Document]:
    """Yield documents under the labels of the patch, those that cannot be read as the source says."""
    for document in (
        documents
        if source.patch is None
        else (source.patch(document, source.notices) for document in documents)
    ):
        if document.problem is None or source.on_error == "record":
            yield document
        elif source.on_error == "fail":
            raise DocumentError(
                document.problem.message, where=document.id, hint=document.problem.hint
            )
        elif source.leave_out is not None:
            source.leave_out(document.id, document.problem)


def _undecoded(shard: Shard, source: Source) -> Iterator[Any]:
    """Return the documents of a shard as its reader yields them, or blocks of them if the source allows."""
    layout = FORMATS[source.reading.format]
    if layout.file_per_document:
        from nbtext.corpus.directory import read_listed
        from nbtext.corpus.mailboxes import read_message

        read = read_message if layout.mail else read_listed
        return (read(file, source) for file in shard.files or reader(layout)(shard.path, source))
    if layout.columns and not shard.part.start:
        doubts = (_doubts_of_records if layout.decoded else _doubts_of_rows)(shard.path, source)
        source.notices.warnings.extend(
            Finding("columns", WARNING, f"{shard.path}: {what}", advice) for what, advice in doubts
        )
    return reader(layout)(shard.path, replace(source, part=shard.part))


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
        whole.append(LabelledBlock.of(labels, texts))
    return whole, odd


def read_bytes(identity: str, body: bytes, reading: Reading) -> Document:
    """Return the document that some bytes are, read as those of a file; its problem comes with it if they cannot be read."""
    source = source_of(replace(reading, format="dir", file_column=None), Notices(), labelled=False)
    return next(_decoded([Document(identity, None, body)], source))


def resolve_format(paths: Sequence[str], file_format: str, *, labelled: bool = False) -> str:
    """Return the format that ``auto`` means: by the kind or name of the first path; with ``labelled`` also by its beginning.

    Raise `UsageError` if a path is one that must be converted first.
    """
    if file_format != "auto":
        return file_format
    for path in paths:
        _refuse_converted(path)
    found = format_by_name(paths[0]) if paths else "dir"
    if labelled:
        found = found or _format_by_content(paths[0])
        if found in (None, "dir") and _are_classes(paths):
            return "lines"
    return found or "dir"


def _are_classes(paths: Sequence[str]) -> bool:
    """Return whether files, or those in the folder given, are surely a class each, with one document a line.

    Their names are words, each has as many lines as there are files, and none is of another format.
    """
    from nbtext.corpus.directory import visible_paths

    try:
        files = (
            visible_paths(paths[0])
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


def format_by_name(path: str) -> str | None:
    """Return the format of a directory, or that of a file if its name shows it; raise `UsageError` for one that must be converted first."""
    if os.path.isdir(path):
        from nbtext.corpus.mailboxes import holds_maildirs, holds_mboxes

        if holds_maildirs(path):
            return "maildir"
        return "mbox" if holds_mboxes(path) else "dir"
    _refuse_converted(path)
    suffix = _suffix(path)
    return next((name for name, layout in FORMATS.items() if suffix in layout.suffixes), None)


def _refuse_converted(path: str) -> None:
    """Raise `UsageError` for a file that must be converted first, by its suffix."""
    hint = CONVERTED.get(_suffix(path))
    if hint is not None and not os.path.isdir(path):
        raise UsageError(f"{path} cannot be read", hint=hint)


def _suffix(path: str) -> str:
    """Return the suffix of a file in lower case, without that of its compression."""
    return os.path.splitext(uncompressed_name(path))[1].lower()


def _format_by_content(path: str) -> str | None:
    """Return the format that the beginning of a file shows beyond doubt, if any."""
    from nbtext.corpus.columns import table_format

    start = beginning(path, of_pipe=LOOKED_AT)
    if refused := next(
        (hint for signature, hint in _CONVERTED_BY_CONTENT.items() if re.match(signature, start)),
        None,
    ):
        raise UsageError(f"{path} cannot be read", hint=refused)
    line = start.partition(b"\n")[0]
    text = line.removeprefix(BOM_UTF8)
    for name, layout in FORMATS.items():
        if layout.beginning and (line if layout.mail else text).startswith(layout.beginning):
            return name
    found = (
        "jsonl" if _holds_records(start) else table_format(start, complete=len(start) < LOOKED_AT)
    )
    if found is None and start and (path.lower().endswith(".json") or _LIKE_JSON.match(text)):
        from nbtext.corpus.lines import how_to_read_json

        raise UsageError(f"{path} cannot be read", hint=how_to_read_json(path))
    return found


def _holds_records(start: bytes) -> bool:
    """Return whether a file with this beginning is JSON: an object on the first line, or an array of objects."""
    from nbtext.corpus.lines import parsed_record

    try:
        return ARRAY.match(start) is not None or bool(
            parsed_record(start.partition(b"\n")[0], "auto")[0]
        )
    except DocumentError:
        return False


def format_like(paths: Sequence[str], trained: Reading) -> str:
    """Return the format of paths for a model: what the first is by kind, name or beginning, else that of the training documents.

    Raise `UsageError` for a file that must be converted first.
    """
    path, *later = paths
    layout = FORMATS.get(trained.format)
    if layout is None or layout.counted:
        return trained.format
    if (by_name := format_by_name(path)) is not None:
        return (
            "lines"
            if trained.format == "lines" and by_name == "dir" and _are_classes(paths)
            else by_name
        )
    is_file = os.path.isfile(path)
    if layout.file_per_document:
        from nbtext.corpus.mailboxes import is_mbox

        start = beginning(path) if is_file else b""  # what comes through a pipe is one document
        if ARRAY.match(start):
            return "jsonl"
        found = "dir" if trained.format == "maildir" and is_file else trained.format
        return "mbox" if is_mbox(start) else found
    is_there = path == "-" or os.path.exists(path)
    if (
        not layout.columns
        or Attributes.of(trained).names
        or not is_there
        or any(format_by_name(each) not in (None, "dir") for each in later)
    ):
        return trained.format
    return _format_like_table(path, trained)


def reading_like(trained: Reading, paths: Sequence[str], given: Mapping[str, object]) -> Reading:
    """Return how documents are read for a model: as its training documents were, but for the settings given, and for what the paths are.

    Raises `UsageError` where counted features would meet a model of texts, and for other attributes than the model has.
    """
    reading = Reading.of({**trained, **given})
    if "text_column" in given and "file_column" not in given:
        reading = replace(reading, file_column=None)
    if paths and "format" not in given:
        reading = replace(reading, format=format_like(paths, trained))
        if "label_column" not in given and reading.has_columns != trained.has_columns:
            reading = replace(reading, label_column=None)
    learnt = Attributes.of(trained)
    read = Attributes.of(reading)
    for kind, names, others in zip(KINDS, learnt, read, strict=True):
        if len(names) != len(others):
            raise UsageError(
                f"--{kind} names {quantity(len(others), 'column')}, and the model has {len(names)}",
                hint="name them in the model's order",
            )
    file_format = resolve_format(paths, reading.format)
    if FORMATS[file_format].counted and not trained.is_counted:
        raise UsageError(
            f"the model was trained on texts, not on {file_format}'s counted features",
            hint="train one on features",
        )
    return reading


def _format_like_table(path: str, trained: Reading) -> str:
    """Return the format of a file for a model of tables or JSON lines: what is neither is one document, since a text alone has no columns."""
    from nbtext.corpus.columns import is_table, split_rows

    start = beginning(path)
    text = start.removeprefix(BOM_UTF8)
    if not text.strip():
        return trained.format
    if FORMATS[trained.format].decoded:
        return "jsonl" if text[:256].lstrip().startswith((b"{", b"[")) else "dir"
    if _holds_records(text):
        return "jsonl"
    complete = len(start) < LOOKED_AT
    rows = split_rows(
        start, delimiter_of(trained), quoted=trained.format == "csv", complete=complete
    )
    return trained.format if not rows or is_table(rows, trained) else "dir"


def lines_of_document(path: str) -> int | None:
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
    start = beginning(path)
    lines = start.splitlines()[: None if len(start) < LOOKED_AT else -1]
    return lines if all(map(bytes.strip, lines)) else []


def resolved(reading: Reading, paths: Sequence[str], *, labelled: bool) -> Reading:
    """Return reading settings with ``auto`` replaced by the format and the kind of documents that it means."""
    wanted = "jsonl" if reading.format == "auto" and reading.records is not None else reading.format
    file_format = resolve_format(paths, wanted, labelled=labelled and reading.label_pattern is None)
    reading = replace(reading, format=file_format)
    layout = FORMATS[file_format]
    document = reading.document
    if layout.mail:
        document = "mail"
    elif layout.counted:
        document = "text"
    if document in ("auto", BY_NAME) and not reading.of_files:
        document = "text"
    elif document == "auto":
        by_class = labelled and not (reading.label_column or reading.label_pattern)
        document = _kind_of_files(paths, labelled=by_class) if layout.file_per_document else BY_NAME
    text_column = (
        reading.file_column
        or reading.text_column
        or (NO_TEXT if Attributes.of(reading).names else None)
    )
    found = replace(reading, document=document, text_column=text_column)
    return _with_columns(found, paths[0], labelled=labelled) if layout.columns and paths else found


def _kind_of_file(path: str) -> str:
    """Return what a document is by the name of its file: mail, html or text.

    >>> _kind_of_file("inbox/7.eml.gz"), _kind_of_file("page.HTML"), _kind_of_file("letter")
    ('mail', 'html', 'text')
    """
    return KINDS_OF_FILES.get(_suffix(path), "text")


def _kind_of_files(paths: Iterable[str], *, labelled: bool) -> str:
    """Return the kind that all files in and below the paths have by their names, `BY_NAME` if they differ."""
    from nbtext.corpus.directory import names_below

    kinds = set()
    suffixes = set()
    for name, *_ in names_below(paths, labelled=labelled):
        suffix = name[name.rfind(".") :]
        if suffix in suffixes:  # of many files few have a suffix of their own
            continue
        if uncompressed_name(name) == name:
            suffixes.add(suffix)
        kinds.add(_kind_of_file(name))
        if len(kinds) > 1:
            return BY_NAME
    return kinds.pop() if kinds else "text"


def kinds_of_text(text: bytes) -> list[str]:
    """Return the kinds of documents, other than text, that the beginning of a text looks like; also ``mbox``."""
    from nbtext.corpus.mailboxes import is_mbox

    if is_mbox(text[:LOOKED_AT]):
        return ["mbox"]
    return [kind for kind, find in KINDS_OF_TEXT.items() if find(text, 0, BEGINNING)]


def read_as_text(kinds: Mapping[str, int], n_documents: int, among: str = "") -> Iterator[Finding]:
    """Yield the finding for each kind that many documents look like, which are read as text."""
    for kind, n in kinds.items():
        if kind in (*KINDS_OF_TEXT, "mbox") and n >= SHARE_OF_KIND * n_documents:
            advice = f"give --{'format' if kind in FORMATS else 'document'} {kind}"
            yield Finding(
                "texts",
                WARNING,
                f"read as text, and look like {kind}: {quantity(n, 'document')}{among}",
                advice,
            )


def files_read_as_text(folder: str) -> Iterator[Finding]:
    """Yield the same for some files in each of the first class folders of a corpus, of those that are text by their names."""
    from nbtext.corpus.directory import names_below, visible_paths

    with suppress(OSError):  # reading it reports the reason
        folders = [path for path, is_folder in visible_paths(folder) if is_folder][
            :_FOLDERS_LOOKED_AT
        ] or [folder]
        some = chain.from_iterable(
            islice(names_below([each], labelled=False), _FILES_LOOKED_AT) for each in folders
        )
        texts = [
            beginning(path)
            for name, _, path in some
            if _kind_of_file(name) == "text" and os.path.isfile(path)
        ]
        kinds = Counter(chain.from_iterable(map(kinds_of_text, texts)))
        yield from read_as_text(kinds, len(texts), f" of {len(texts)} looked at")


def _with_columns(reading: Reading, path: str, *, labelled: bool) -> Reading:
    """Return the settings of a table or of JSON with the delimiter and the columns or keys that its beginning shows, where they do not say them."""
    are_given = reading.text_column is not None and (
        reading.label_column is not None or not labelled
    )
    if are_given and (reading.delimiter is not None or reading.format != "csv"):
        return reading  # before columns.py is imported, which a single answer does without
    from nbtext.corpus.columns import (
        first_records,
        names_a_column,
        recognise,
        recognise_keys,
        refuse_lines_above_header,
    )

    if are_given and not names_a_column(reading):
        return reading
    of_pipe = LOOKED_AT if labelled else 0  # a pipe to be answered may be slow
    if FORMATS[reading.format].decoded:
        records = first_records(beginning(path, of_pipe=of_pipe))
        if reading.records is not None:
            from nbtext.corpus.lines import records_in_file

            records = records_in_file(path, reading)
        return recognise_keys(records, reading, labelled=labelled)
    delimiter, rows = _delimiter_and_rows(path, reading, of_pipe=of_pipe)
    reading = replace(reading, delimiter=delimiter)
    try:
        refuse_lines_above_header(rows, reading)
        return reading if are_given else recognise(rows, reading, labelled=labelled)
    except UsageError as problem:
        problem.where = path
        raise


def first_rows(path: str, reading: Reading) -> list[list[str]]:
    """Return the first rows of a table, for settings that are `resolved`."""
    return _delimiter_and_rows(path, replace(reading, delimiter=delimiter_of(reading)))[1]


def corpus_doubts(paths: Sequence[str], reading: Reading, found: Reading) -> Iterator[Finding]:
    """Yield what may be wrong with how a corpus is read, by its first bytes or the names of its files, for settings before and after `resolved`."""
    if found.format in ("dir", "lines"):
        from nbtext.corpus.directory import names_below
        from nbtext.corpus.format_hints import folder_findings

        yield from folder_findings(
            (path for *_, path in names_below(paths, labelled=found.format == "dir")), found
        )
    elif (reading.format, found.format) == ("auto", "tsv"):
        from nbtext.corpus.columns import holds_quoted_cells

        if holds_quoted_cells(beginning(paths[0])):
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
    for size in (LOOKED_AT, LONGEST_FIRST_LINE):
        start = beginning(path, size, of_pipe=of_pipe)
        complete = len(start) < size
        delimiter = reading.delimiter or (
            find_delimiter(start, complete=complete) if quoted else None
        )
        rows = split_rows(
            start, delimiter or delimiter_of(reading), quoted=quoted, complete=complete
        )
        if rows or complete:
            break
    return delimiter, rows


def _doubts_of_rows(path: str, source: Source) -> Iterator[tuple[str, str]]:
    """Yield what may be read wrongly in a table, and what to do; raise `UsageError` for a header that is none by the settings."""
    from nbtext.corpus.columns import doubts, refuse_header

    reading = source.reading
    rows = first_rows(path, source.reading)
    try:
        refuse_header(rows, reading, source.columns)
    except UsageError as problem:
        problem.where = path
        raise
    if rows and reading.text_column not in source.columns:  # label --take asks for ids
        yield from doubts(
            rows,
            reading,
            os.path.dirname(path),
            all_learnt=source.labelled and source.where is None,
        )


def _doubts_of_records(path: str, source: Source) -> Iterator[tuple[str, str]]:
    """Yield the same of objects of JSON, if all are to be learnt."""
    from nbtext.corpus.columns import first_records, record_doubts

    if source.labelled and source.where is None and source.reading.records is None:
        yield from record_doubts(first_records(beginning(path)), source.reading)


def column_names(path: str, reading: Reading) -> tuple[str, ...]:
    """Return the columns of a table, for settings that are `resolved`: names, or numbers without a header; raise `UsageError` for no table."""
    from nbtext.corpus.columns import header_names, names_a_column

    if reading.format not in ("csv", "tsv"):
        raise UsageError(
            f"--keep all is for tables, not for {reading.format}", hint="name the columns"
        )
    rows = first_rows(path, reading)
    if not rows and beginning(path).strip():
        raise UsageError(
            "--keep all needs the first row, which has more than 4 MiB",
            where=path,
            hint="name the columns",
        )
    first = rows[0] if rows else []
    return tuple(
        header_names(first, reading.encoding)
        if names_a_column(reading)
        else map(str, range(1, len(first) + 1))
    )


def source_of(
    reading: Reading,
    notices: Notices,
    *,
    labelled: bool,
    columns: Names = (),
    where: str | None = None,
) -> Source:
    """Return what the readers are given, from settings that are `resolved` and arguments of `read_corpus`; raise `UsageError` if they do not fit."""
    attributes = Attributes.of(reading)
    weight_column = reading.weight_column if labelled and reading.weight_column != NO_TEXT else None
    file_format = reading.format
    layout = FORMATS[reading.format]
    tagged = tuple(reading.tag_fields.split(",")) if reading.tag_fields and layout.columns else ()
    chosen, _, value = (where or "").partition("=")
    name = chosen.removesuffix("!")
    header = name if reading.document in ("mail", BY_NAME) and not layout.columns else ""
    columns = (
        *attributes.names,
        *tagged,
        *filter(None, (weight_column, "" if header else name)),
        *columns,
    )
    if not (layout.file_per_document or layout.mail or is_ascii_compatible(reading.encoding)):
        message = (
            f"--encoding {reading['encoding']} is for whole files, and --format "
            f"{file_format} has lines or rows"
        )
        raise UsageError(message, hint="make them UTF-8 first, as with iconv -t UTF-8")
    if columns and not layout.columns:
        *others, last = (name for name, other in FORMATS.items() if other.columns)
        of_mail = ", or give --document mail for a header" if name else ""
        raise UsageError(
            f"--format {file_format} has no columns, such as {columns[0]}",
            hint=f"use {', '.join(others)} or {last}{of_mail}",
        )
    if (
        labelled
        and reading.tag_fields
        and not layout.columns
        and reading.document not in ("mail", BY_NAME)
    ):
        raise UsageError(
            "--set tag-fields names columns, keys or headers of mail, which these documents have "
            "not",
            hint="leave it out",
        )
    condition = (value, not chosen.endswith("!")) if chosen else None
    return Source(
        reading,
        notices,
        labelled,
        columns,
        attributes,
        tagged,
        weight_column,
        where=condition,
        header=header,
    )


def _decoder(reading: Reading, kind: str) -> Decoder:
    """Return a function from the bytes of a document to its text, what is doubtful about it, and its fields, all with any separators."""
    is_in_utf8 = FORMATS[reading.format].decoded and not reading.of_files
    encoding = "utf-8" if is_in_utf8 else reading.encoding
    if kind == "mail":
        from nbtext.corpus.mail.mail import MailReading, read_mail

        wanted = MailReading.of(reading, encoding)
        return lambda body: read_mail(body, wanted)
    text_of = decoded_text
    of_files = reading.of_files
    if kind == "html":
        from nbtext.corpus.html import text_of_html_document as text_of

    def decoded(body: bytes) -> tuple[bytes, Doubts, Fields]:
        found = encoding
        if of_files:
            body, found = detect_encoding(body, encoding)
            if found == "auto":
                refuse_binary(body, whole_file=True)
        return *text_of(body, found), ()

    return decoded


def _decoded(
    documents: Iterable[Document], source: Source, folder: str | None = None
) -> Iterator[Document]:
    """Yield the documents with their text in UTF-8, fields, values and weight; report what is wrong with one as its problem.

    Documents of weight 0 are left out, and those that `Source.where` does not choose. With a ``folder`` texts are paths of files from there.
    """
    others = source.places.others
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
                found = unreadable._replace(problem=problem_of(raised))
        del document  # who works on the document shall have it in memory once
        if found is not None and found.weight:
            yield found


def _document_decoder(source: Source, folder: str | None) -> Callable[[Document], Document | None]:
    """Return a function that decodes a document as `_decoded` does, and returns None for one that is not chosen; it raises what is wrong."""
    reading = source.reading
    places = source.places
    decoder_of = cache(partial(_decoder, reading))
    kind = reading.document
    may_be_binary = (
        reading.encoding == "auto"
        and kind != "mail"
        and not (FORMATS[reading.format].decoded or reading.of_files)
    )
    cleaned = (
        with_spaces if reading.is_counted else without_separators
    )  # a feature is what it is called
    names = [field_name(name) for name in source.tagged]
    has_attributes = bool(source.attributes.names)

    def decoded(document: Document) -> Document | None:
        identity, label, body, beside, _, _, columns, weight = document
        if source.where is not None:
            value, is_wanted = source.where
            if _has_value(value, body, columns, source) is not is_wanted:
                return None
        path = identity
        if folder is not None:
            path, body = _file_in(folder, body, source)
        label = _label(label, identity, body, source)
        found, doubts, fields = decoder_of(_kind_of_file(path) if kind == BY_NAME else kind)(body)
        text = cleaned(found)
        if text is not found and may_be_binary:
            refuse_binary(body)
        if names:
            tagged = zip(names, columns[places.fields], strict=True)
            fields = [(name, value.encode()) for name, value in tagged if value]
        else:
            fields = beside or fields
        if fields:
            fields = checked_fields(fields)
        values = source.attributes.checked(columns[places.attributes]) if has_attributes else ()
        if source.weight_column is not None:
            weight = weight_in_units(source.weight_column, columns[places.weight])
        source.notices.transcoded += doubts.transcoded
        source.notices.replaced += doubts.replaced
        return Document(identity, label, text, fields, values, None, columns[places.others], weight)

    return decoded


def _has_value(value: str, body: bytes, columns: Names, source: Source) -> bool:
    """Return whether a row has a value in the column by which documents are chosen, or a mail has it in the header of the source."""
    if not source.header:
        return columns[source.places.condition] == value
    from nbtext.corpus.mail.headers import has_value

    return has_value(body, source.header, value, source.reading.encoding)


def _file_in(folder: str, name: bytes, source: Source) -> tuple[str, bytes]:
    """Return the path and the content of a regular file that a table names; raise `DocumentError` if there is none."""
    from nbtext.corpus.directory import read_listed

    path = os.path.join(folder, os.fsdecode(name))
    within = source.files_within
    if within is not None and os.path.commonpath((within, os.path.realpath(path))) != within:
        raise DocumentError(
            f"{path} is outside the folder of the file that sets --file-column",
            hint="give --file-column to read it, or --no-config",
        )
    if not os.path.isfile(path):
        raise DocumentError(f"there is no file {path}")
    document = read_listed((path, None, None), source)
    if document.problem is not None:
        raise document.problem
    return path, document.text


def _label(found: Label | None, identity: str, body: bytes, source: Source) -> Label | None:
    """Return the label of a document, or the set of its labels; raise `DocumentError` if there is none, or if the document is too large."""
    reading = source.reading
    if source.labelled and found is None:
        if reading.label_header:
            from nbtext.corpus.mail.headers import labels_in_header

            found = labels_in_header(body, reading.label_header, reading.encoding)
        elif pattern := reading.label_of_document:
            match = re.search(pattern, identity.rpartition("/")[2])
            if match is None or not match[1]:
                raise DocumentError("--label-pattern finds no class in the name of the file")
            found = decoded_name(os.fsencode(match[1]))
    label = None if found is None else separated(found, reading.label_separator)
    if source.labelled and not label:
        raise DocumentError("the label is empty")
    if len(body) > source.limit:
        raise too_large(source.limit)
    return label
