"""Detect the delimiter, the header, and the columns of label and text from a table's first rows.

This file also detects the keys of JSON records. `nbtext.corpus.detection.formats` calls it.

The documentation states that a table without a header has its label in column 1 and its text in
column 2. This is assumed of each table without a recognisable header, unless its values contradict
it.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus.decoding import decode_name
from nbtext.corpus.delimiter_note import find_delimiter_note
from nbtext.document_fields import NO_TEXT, Attributes
from nbtext.errors import DocumentError, UsageError, join_names
from nbtext.prediction.label_lists import is_label_marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nbtext.settings import Reading
    from nbtext.type_names import Names

    Rows = Sequence[Names]

LABEL_NAMES = tuple(
    """
    label labels class category target topic intent sentiment tag y
    classes categories topics intents tags
    klasse kategorie thema classe catégorie clase categoría categoria
    """.split()  # noqa: SIM905 - a list of quoted words would fill a page
)
"""Lower-case names of a label column; earlier names are preferred."""

LABEL_KEYS = (*LABEL_NAMES, "cats", "choice", "choices", "annotation")
"""Names of JSON keys of labels. In a table, the last four are more likely values than names."""

TEXT_NAMES = tuple(
    """
    text body message content document review comment tweet sentence utterance post article
    description question query patterns x nachricht texte texto testo
    title subject headline titel
    """.split()  # noqa: SIM905 - as above
)
"""Lower-case names of a text column; earlier names are preferred."""

CORPUS_PART_NAMES = {"train", "test", "dev", "valid", "validation", "val", "unsup"}
"""Names of parts of a corpus, which are unlikely to be classes."""

ANNOTATOR_VERDICTS = {"accept", "reject", "ignore"}
"""Values of a column with the decisions of annotators about rows, as in Prodigy."""

_MARKS = {"0", "1", "0.0", "1.0", "false", "true"}
"""Lower-case values of a mark column. It marks the rows that have a certain label."""

_MIN_MARK_COLUMNS = 3
"""Minimum number of columns with these values for them to be mark columns."""

MAX_INSPECTED_ROWS = 1000

_MIN_ROWS_FOR_VALUES = 5
"""With fewer rows, the values of a column are not interpreted."""

_MIN_ROWS_FOR_UNKNOWN_NAMES = 10
"""Minimum number of rows below a header whose names are not in the lists above."""

_MAX_LINES_ABOVE_HEADER = 20

_DOCUMENTED_INDICES = {"label_column": 0, "text_column": 1}
"""Documented indices of the columns of a table without a header, by setting."""

_MAX_CLASS_CHARS = 60
"""Maximum length of a value that may be a class."""

_MAX_PATH_CHARS = 1 << 10
_MAX_PATH_SAMPLES = 10
"""Maximum length of a text that may be a path, and number of texts to inspect."""

_MAX_RARE_PROPORTION = 0.05
"""Maximum proportion of values that occur once in a column of classes, to recognise a header.

If more values occur once, the cell in the first row may be such a value, and not a name.
"""

DELIMITERS = ",;\t|"
_MIN_EQUAL_PROPORTION = 0.9
"""Minimum proportion of rows with the width of the first row, for the delimiter to be right."""

_MIN_DISTINCT_PROPORTION = 0.9
"""Minimum proportion of distinct values in a column of ids."""

_TEXT_LENGTH_RATIO = 2
"""A column has clearly longer values than another above this ratio of their mean lengths."""

_MAX_LISTED_COLUMNS = 12
_MAX_LISTED_MARK_COLUMNS = 5
_MAX_LISTED_HEADER_CELLS = 3
_MAX_CELL_CHARS = 30
_MAX_LINE_CHARS = 40
"""Limits of the content of a message."""

_PLAIN_NAME = re.compile(r"[^\W\d][\w -]{0,39}")
"""A name of a column that a line of prose is unlikely to contain."""

_NAME = re.compile(r"[#_]?[^\W\d][\w .:/()#-]{0,39}")
"""Any name of a column."""

_INNER_KEY = re.compile(r"\.(name|value)$")
"""The end of the dotted key if a label is an object, as in data of GitHub and Argilla."""

_WORD = re.compile(r"[^\W_]+")
_CAMEL_CASE = re.compile(r"(?<=[^\W\dA-Z_])(?=[A-Z])")
"""The position between two words in a name such as ``reviewBody``."""

_PATH = re.compile(r"(?!\w+://)\S*[/\\]\S*\.\w{1,5}")
_NUMBER = re.compile(r"[-+]?(\d+([.,:/-]\d*)*|\.\d+)([eE][-+]?\d+)?%?")
_RECORD_SEPARATOR = re.compile(r"[\s,]*")
_DOUBLED_QUOTES = re.compile(rb'(?:^|\t)"[^"\t]*+(?:""[^"\t]*+)++"(?=\t|\r?\n)', re.MULTILINE)
"""A cell of a tsv in quotes, with doubled quotes inside it."""


class _Column(NamedTuple):
    """Statistics of the values of a column below the header."""

    position: int
    """Index of the column, from 0."""
    name: str
    """Name of the column; without a header, its number from 1."""
    example: str
    """The first value; empty if there are no values."""
    is_classes: bool
    """Whether values repeat, none is long, and most are not empty."""
    has_rare: bool
    """Whether more than `_MAX_RARE_PROPORTION` of the values occur once."""
    is_distinct: bool
    """Whether nearly all values are different."""
    is_number: bool
    """Whether all values are numbers or empty."""
    mean_chars: float
    """Mean number of characters."""
    low_chars: int
    """10th percentile of the number of characters."""

    @property
    def is_text(self) -> bool:
        """Whether the values may be texts: they are neither classes nor numbers."""
        return not self.is_classes and not self.is_number

    def is_longer_than(self, column: _Column) -> bool:
        """Return whether the values are clearly longer than those of another column."""
        return self.mean_chars > _TEXT_LENGTH_RATIO * column.mean_chars


def split_rows(
    start: bytes, delimiter: str, *, is_quoted: bool, is_complete: bool
) -> list[list[str]]:
    """Return the first rows of a table except empty rows, given its first bytes.

    If ``is_quoted``, the table is csv, else tsv. Unless the bytes are the complete table, drop the
    last row, because it may be cut.
    """
    text = start.decode("utf-8-sig", "surrogateescape")
    rows: list[list[str]] = []
    if is_quoted:
        import csv

        records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        with suppress(csv.Error):  # reading the table reports the invalid row
            rows += (row for row in islice(records, MAX_INSPECTED_ROWS + 1) if row)
    else:
        lines = (line.removesuffix("\r") for line in text.split("\n")[: MAX_INSPECTED_ROWS + 1])
        rows += (line.split(delimiter) for line in lines if line)
    if is_complete or len(rows) > MAX_INSPECTED_ROWS:
        return rows
    return rows[:-1]


def format_tsv_options(delimiter: str) -> str:
    """Return the options that read a table in which a quote is an ordinary character."""
    name = "tab" if delimiter == "\t" else repr(delimiter)
    return f"--format tsv --delimiter {name}"


def find_delimiter(start: bytes, *, is_complete: bool) -> str | None:
    """Return the delimiter of a csv; None for a comma, or if no delimiter fits."""
    for delimiter in DELIMITERS:
        rows = split_rows(start, delimiter, is_quoted=True, is_complete=is_complete)
        width = len(rows[0]) if rows else 0
        n_equal = sum(len(row) == width for row in rows)
        if width > 1 and n_equal >= _MIN_EQUAL_PROPORTION * len(rows):
            return None if delimiter == "," else delimiter
    return None


def has_quoted_cells(start: bytes) -> bool:
    """Return whether a tsv contains cells in quotes that a program has added.

    In such a tsv, quotes inside a cell are doubled, or all cells of a column are in quotes.
    """
    if _DOUBLED_QUOTES.search(start) is not None:
        return True
    rows = [line.split(b"\t") for line in start.splitlines()]
    if len(rows) < 2:
        return False
    equal_rows = [row for row in rows if len(row) == len(rows[0])]
    return any(all(map(_is_quoted, column)) for column in zip(*equal_rows, strict=True))


def _is_quoted(cell: bytes) -> bool:
    return len(cell) > 1 and cell.startswith(b'"') and cell.endswith(b'"')


def detect_table_format(start: bytes, *, is_complete: bool) -> str | None:
    """Return the format of a table whose file name does not show it.

    It is ``tsv`` if all lines have the same number of tabs, or ``csv`` if the first line is a note
    about the delimiter, or the first row contains well-known names of a label column and of a text
    column. Return None in any other case.
    """
    if find_delimiter_note(start) is not None:
        return "csv"
    rows = split_rows(start, "\t", is_quoted=False, is_complete=is_complete)
    if len(rows) > 1 and len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows):
        return "tsv"
    rows = split_rows(start, ",", is_quoted=True, is_complete=is_complete)
    if rows:
        names = {cell.strip().casefold() for cell in rows[0]}
        if not names.isdisjoint(LABEL_NAMES) and not names.isdisjoint(TEXT_NAMES):
            return "csv"
    return None


def is_table(rows: Rows, training_reading: Reading) -> bool:
    """Return whether rows are from a table like the training table, and not lines of a text.

    ``training_reading`` are the settings of the training documents.
    """
    first_row = rows[0]
    text_column = training_reading.text_column
    if implies_header(training_reading):
        text_names = (text_column or "").split(",")
        if not set(text_names).isdisjoint(first_row):
            return True
        return len(first_row) > 1 and all(map(_PLAIN_NAME.fullmatch, first_row))
    number = text_column or "2"
    if not number.isdigit():  # several columns, or none
        return True
    # In prose, a space follows each comma.
    is_prose = all(cell.startswith(" ") for cell in first_row[1:])
    return len(first_row) >= int(number) and not is_prose


def check_lines_above_header(rows: Rows, reading: Reading) -> None:
    """Raise `UsageError` for lines above the header of a table, such as a title.

    Such lines have a value only in the first cell. The check passes if the first row with other
    values does not have the usual width.
    """
    first_rows = enumerate(rows[:_MAX_LINES_ABOVE_HEADER])
    n_lines_above = next((index for index, row in first_rows if any(row[1:])), 0)
    if n_lines_above == 0:
        return
    width = _find_usual_width(rows)
    if len(rows[n_lines_above]) != width:
        return
    table = [row for row in rows[n_lines_above:] if len(row) == width]
    first_cell = rows[0][0]
    needs_header = implies_header(reading) and all(len(row) == 1 for row in rows[:n_lines_above])
    is_delimiter_note = first_cell.casefold().startswith("sep=")  # from a spreadsheet
    if needs_header or is_delimiter_note or _starts_with_header(table):
        title = _format_cell(first_cell, reading.encoding, _MAX_LINE_CHARS)
        header_start = _format_cell(table[0][0], reading.encoding, _MAX_LINE_CHARS)
        raise UsageError(
            f"the first line is not part of the table: {title!r}",
            hint=f"remove the lines above the header, which begins with {header_start!r}",
        )


def _find_usual_width(rows: Rows) -> int:
    """Return the most frequent number of cells in a row."""
    return Counter(map(len, rows)).most_common(1)[0][0]


def recognise_columns(rows: Rows, reading: Reading, *, labelled: bool) -> Reading:
    """Return settings with the columns that the first rows of a table show.

    Settings that name a column are not changed. For a table as documented, return the settings
    unchanged. Raise `UsageError` if the settings do not name the columns and the rows leave them
    unclear.
    """
    rows = list(filter(None, rows))
    if not rows:
        return reading
    width = _find_usual_width(rows)
    is_first_usual = len(rows[0]) == width
    usual_rows = [row for row in rows if len(row) == width]
    is_header_settled = _is_header_settled(reading)
    has_header = implies_header(reading)
    if not is_header_settled and not has_header:
        has_header = is_first_usual and _starts_with_header(usual_rows)
    if has_header and not is_first_usual:
        return reading  # the names in the header do not fit the columns
    names: list[str] = []
    body = usual_rows
    if has_header:
        names = decode_header_row(usual_rows[0], reading.encoding)
        body = usual_rows[1:]
    columns = _describe_columns(body, names)
    is_undocumented = not has_header and _contradict_documentation(
        columns, reading, labelled=labelled
    )
    missing_settings = _list_missing_settings(reading, labelled=labelled)
    indices: dict[str, int] = {}
    if len(columns) == 1:
        if not labelled:
            indices = {"text_column": 0}
    elif has_header or is_undocumented:
        indices = _find_text_and_label(columns, reading, missing_settings, use_names=has_header)
    unclear_settings = [name for name in missing_settings if name not in indices]
    # In all other tables, the documented columns take the place of unclear ones.
    must_be_clear = is_undocumented or (has_header and not is_header_settled)
    if unclear_settings and must_be_clear and len(columns) > 1:
        mark_columns = _list_mark_columns(_collect_values(body, columns))
        raise _create_unclear_columns_error(
            columns, unclear_settings, mark_columns, reading.encoding
        )
    has_default_columns = is_header_settled and indices == _DOCUMENTED_INDICES
    if unclear_settings or has_default_columns:
        return reading
    return _set_columns(reading, indices, names)


def _is_header_settled(reading: Reading) -> bool:
    """Return whether the settings determine whether there is a header.

    The setting ``header`` determines it, as does any name or number of a column.
    """
    return reading.header is not None or any(
        column not in (None, NO_TEXT) for column in (reading.label_column, reading.text_column)
    )


def _set_columns(reading: Reading, indices: Mapping[str, int], names: Names) -> Reading:
    """Return settings with columns, given their indices by setting, and the names in the header."""
    settings = {name: _format_column(index, names) for name, index in indices.items()}
    # The keys of ``settings`` are fields of ``Reading`` with texts.
    reading = replace(reading, **settings)  # type: ignore[arg-type]
    if names and not implies_header(reading):
        return replace(reading, header=True)
    return reading


def _list_missing_settings(reading: Reading, *, labelled: bool) -> list[str]:
    """Return the column settings that are needed and not set."""
    names = []
    if reading.text_column is None:
        names.append("text_column")
    if labelled and reading.label_column is None:
        names.append("label_column")
    return names


def list_record_keys(record: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    """Yield the keys of a JSON object and of objects inside it, joined by dots.

    For a list of objects, the keys are those of its first object.
    """
    for key, value in record.items():
        member = value[0] if isinstance(value, list) and value else value
        if isinstance(member, dict) and not is_label_marks(member):
            yield from list_record_keys(member, f"{prefix}{key}.")
        else:
            yield prefix + key


def recognise_keys(
    records: Sequence[Mapping[str, object]], reading: Reading, *, labelled: bool
) -> Reading:
    """Return settings with the keys of label and text that JSON records show.

    Settings that name a key are not changed, and the default keys ``label`` and ``text`` need no
    setting. The record whose keys have the most characters shows the keys, because an empty list in
    a record hides the keys inside it.
    """
    keys_by_record = [
        [key for key in list_record_keys(record) if "," not in key] for record in records
    ]
    keys = max(keys_by_record, key=lambda record_keys: len("".join(record_keys)), default=[])
    if reading.label_column is None and labelled and "label" not in keys:
        reading = replace(reading, label_column=_find_known_key(keys, LABEL_KEYS))
    if reading.text_column is None and "text" not in keys:
        reading = replace(reading, text_column=_find_known_key(keys, TEXT_NAMES))
    return reading


def _find_known_key(keys: Names, known_names: Names) -> str | None:
    """Return the key with a known name: a top-level key, if possible, with the earliest name.

    Return None if no key has a known name, or if several keys have the name.
    """
    top_level_keys = [key for key in keys if "." not in key]
    for candidates in (top_level_keys, keys):
        for name in known_names:
            matches = [key for key in candidates if _get_last_key(key) == name]
            if matches:
                return matches[0] if len(matches) == 1 else None
    return None


def _get_last_key(path: str) -> str:
    """Return the last key of a dotted path, in lower case, without ``.name`` and ``.value``."""
    _, _, last_key = _INNER_KEY.sub("", path).rpartition(".")
    return _normalise_name(last_key)


def parse_first_records(start: bytes) -> list[dict[str, object]]:
    """Return the first objects of JSON lines or of an array of objects, given the first bytes.

    An object that is cut at the end is dropped.
    """
    from nbtext.strict_json import STRICT_DECODER

    text = start.decode("utf-8-sig", "replace").lstrip("[ \t\r\n")
    records: list[dict[str, object]] = []
    position = 0
    try:
        while position < len(text) and len(records) < MAX_INSPECTED_ROWS:
            record, position = STRICT_DECODER.raw_decode(text, position)
            if not isinstance(record, dict):
                break
            records.append(record)
            # The pattern matches even an empty string, so the match is not None.
            position = _RECORD_SEPARATOR.match(text, position).end()  # type: ignore[union-attr]
    except (ValueError, RecursionError):  # reading the file reports the reason
        pass
    return records


def describe_detection(reading: Reading, detected: Reading, *, labelled: bool) -> str | None:
    """Return a message about the columns that were detected, and the options to change them.

    ``reading`` are the settings before detection, and ``detected`` are the settings after it.
    Return None if nothing was detected.
    """
    if reading.file_column is not None:  # `resolve_reading` replaces the text column by this
        reading = replace(reading, text_column=reading.file_column)
    options = [
        f"--{name.replace('_', '-')}"
        for name in ("label_column", "text_column", "delimiter")
        if reading[name] != detected[name]
    ]
    if not options:
        return None
    if not detected.layout.is_decoded:
        options.append("--no-header" if implies_header(detected) else "--header")
    *first_options, last_option = options
    choice = last_option
    if first_options:
        choice = f"{', '.join(first_options)} or {last_option}"
    return f"{describe_columns(detected, labelled=labelled)}; if this is wrong, set {choice}"


def describe_columns(reading: Reading, *, labelled: bool = True) -> str:
    """Return a description of the columns of a table, or of the keys of JSON, that are read.

    >>> from nbtext.settings import Reading
    >>> describe_columns(Reading(format="csv", text_column="body"))
    "class in column 1, text in column 'body', the first line is a header"
    """
    has_keys = reading.layout.is_decoded
    preposition = "at the key" if has_keys else "in column"
    default_label = "label" if has_keys else "1"
    default_text = "text" if has_keys else "2"
    phrases = []
    if labelled and reading.label_column != NO_TEXT:
        column = reading.label_column or default_label
        phrases.append(f"class {preposition} {_quote_column(column)}")
    if reading.text_column == NO_TEXT:
        phrases.append("no text")
    else:
        noun = "text" if reading.file_column is None else "paths"
        column = reading.text_column or default_text
        phrases.append(f"{noun} {preposition} {_quote_column(column)}")
    if not has_keys:
        has_header = implies_header(reading)
        phrases.append("the first line is a header" if has_header else "no header")
        if reading.delimiter is not None:
            phrases.append(f"delimiter {reading.delimiter!r}")
    return ", ".join(phrases)


def _quote_column(column: str) -> str:
    """Return a name of a column in quotes, and a number, or a list of numbers, unchanged."""
    return column if column.replace(",", "").isdigit() else repr(column)


def is_column_name(label: str) -> bool:
    """Return whether a class has a usual column name, so it may come from a misread header."""
    name = _normalise_name(label)
    return len(name) > 1 and name in (*LABEL_NAMES, *TEXT_NAMES)


def _normalise_name(name: str) -> str:
    """Return a name of a column in lower case, without punctuation around it."""
    return name.strip(" \t#_:.\"'").casefold()


def _get_last_word(name: str) -> str:
    """Return the last word of a name in lower case, ignoring text in parentheses.

    >>> _get_last_word("Tweet_text (EN)"), _get_last_word("reviewBody")
    ('text', 'body')
    """
    words = _WORD.findall(_CAMEL_CASE.sub(" ", name.partition("(")[0]))
    return words[-1].casefold() if words else ""


def implies_header(reading: Reading, columns: Names = ()) -> bool:
    """Return the setting ``header``; if it is not set, return whether a column is given by name.

    ``columns`` are columns to read in addition to the columns that the settings name.
    """
    if reading.header is not None:
        return bool(reading.header)
    all_columns = (*_list_set_columns(reading), *columns)
    return not all(column.isdigit() for column in all_columns if column != NO_TEXT)


def _list_set_columns(reading: Reading) -> list[str]:
    """Return the columns that the settings name."""
    columns: list[str] = []
    for names in (reading.label_column, reading.text_column, reading.tag_fields):
        if names:
            columns += names.split(",")
    for name in (reading.id_column, reading.weight_column):
        if name is not None:
            columns.append(name)
    columns += Attributes.from_settings(reading).names
    return [column for column in columns if column != NO_TEXT]


def check_header(rows: Rows, reading: Reading, columns: Names = ()) -> None:
    """Raise `UsageError` if the first row looks like a header, but columns are given by number.

    The setting ``header`` turns this check off.
    """
    has_numbers = bool(_list_set_columns(reading)) and not implies_header(reading, columns)
    if reading.header is not None or not has_numbers:
        return
    equal_rows = [row for row in rows if len(row) == len(rows[0])]
    if equal_rows and _starts_with_header(equal_rows):
        cells = [_format_cell(cell, reading.encoding, _MAX_CELL_CHARS) for cell in rows[0]]
        raise UsageError(
            "columns are given by number, and the first row looks like a header: "
            f"{join_names(cells, _MAX_LISTED_HEADER_CELLS)}",
            hint="add --header or --no-header",
        )


def find_table_warnings(
    rows: Rows, reading: Reading, folder: str, *, uses_all_rows: bool
) -> Iterator[tuple[str, str]]:
    """Yield pairs of a message about how a table may be misread, and advice.

    The texts may be paths of files, relative to the ``folder`` of the table or to the working
    directory. If training ``uses_all_rows``, another column may have longer texts, or may mark rows
    that are not for training.
    """
    text_column = reading.text_column or "2"
    names: Names = []
    body = [row for row in rows if len(row) == len(rows[0])]
    if implies_header(reading):
        names = rows[0]
        body = body[1:]
    columns = _describe_columns(body, names)
    index = _find_column(text_column, columns)
    texts = []
    if index is not None and index < len(columns):  # a number may be too large
        texts = [row[index] for row in body[:_MAX_PATH_SAMPLES]]
    if not reading.has_whole_files and len(texts) > 1 and _are_paths(texts, folder):
        yield (
            "the texts are names of files, and the names are counted, not the files",
            f"use --file-column {text_column}",
        )
    if not uses_all_rows:
        return
    if len(columns) > 1 and reading.text_column is None:
        longer = _find_longer_text(columns)
        if longer is not None:
            number = longer.position + 1
            yield (
                f"column {number} has longer texts than column 2, which is read",
                f"use --text-column {number}",
            )
    yield from _find_column_warnings(_collect_values(body, columns), reading)


def find_record_warnings(
    records: Sequence[Mapping[str, object]], reading: Reading
) -> Iterator[tuple[str, str]]:
    """Yield pairs of a message about how JSON objects may be misread, and advice."""
    values_by_key: dict[str, list[str]] = {}
    for record in records:
        for key, value in record.items():
            text = value if isinstance(value, str) else json.dumps(value)
            values_by_key.setdefault(key, []).append(text)
    values_of_common_keys = {
        key: values for key, values in values_by_key.items() if len(values) == len(records)
    }
    yield from _find_column_warnings(values_of_common_keys, reading)


def _find_column_warnings(
    values_by_column: Mapping[str, Names], reading: Reading
) -> Iterator[tuple[str, str]]:
    """Yield pairs of a message about a column or key that is not read, and advice.

    The column may mark rows that are not for training, or rows that have a certain label.
    """
    set_columns = _list_set_columns(reading)
    unread_columns = {
        name: values for name, values in values_by_column.items() if name not in set_columns
    }
    for name, values in unread_columns.items():
        distinct = set(values)
        if len(distinct) > 1 and CORPUS_PART_NAMES.issuperset(map(str.casefold, distinct)):
            part = "train" if "train" in distinct else min(distinct)
            yield (
                f"column {name} names parts of a corpus, and all are read",
                f"add --where {name}={part}",
            )
        if "reject" in distinct and ANNOTATOR_VERDICTS.issuperset(distinct):
            yield (
                f"annotators rejected some rows, by column {name}, and all rows are read",
                f"add --where {name}=accept",
            )
    mark_columns = _list_mark_columns(unread_columns)
    if len(mark_columns) >= _MIN_MARK_COLUMNS and "," not in (reading.label_column or ""):
        names = join_names(mark_columns, _MAX_LISTED_MARK_COLUMNS)
        yield (
            f"columns {names} have a mark for each row, 0 or 1, as if each were a label",
            f"if so, use --label-column {','.join(mark_columns)}",
        )


def _collect_values(rows: Rows, columns: Sequence[_Column]) -> dict[str, list[str]]:
    """Return the values of each column by its name."""
    return {column.name: [row[column.position] for row in rows] for column in columns}


def _list_mark_columns(values_by_column: Mapping[str, Names]) -> list[str]:
    """Return the names of the columns that contain only values in `_MARKS`."""
    return [
        name
        for name, values in values_by_column.items()
        if values and _MARKS.issuperset(map(str.casefold, set(values)))
    ]


def _are_paths(texts: Iterable[str], folder: str) -> bool:
    """Return whether each text looks like a path, or is the path of a file that exists."""
    return all(
        len(text) <= _MAX_PATH_CHARS
        and (
            _PATH.fullmatch(text)
            or os.path.isfile(os.path.join(folder, text))
            or os.path.isfile(text)
        )
        for text in texts
    )


def decode_column_name(cell: bytes, encoding: str) -> str:
    """Return a cell of a header as text; invalid bytes become U+FFFD."""
    try:
        return decode_name(cell, encoding)
    except DocumentError:
        return cell.decode("utf-8", "replace")


def decode_header_row(row: Names, encoding: str) -> list[str]:
    """Return the names of columns, given the first row of `split_rows`."""
    return [decode_column_name(cell.encode("utf-8", "surrogateescape"), encoding) for cell in row]


def _format_column(index: int, names: Names) -> str:
    """Return the name of a column if options can use it unambiguously, else its number."""
    name = names[index] if names else ""
    is_usable = (
        name != ""
        and name == name.strip()
        and name.isprintable()
        and name != NO_TEXT
        and not name.isdigit()
        and "," not in name  # it separates several columns
        and names.count(name) == 1
    )
    return name if is_usable else str(index + 1)


def _starts_with_header(rows: Rows) -> bool:
    """Return whether the first row looks like a header. All rows must have the same width.

    The cells of a header are distinct names that do not occur below. In addition, some of them are
    well-known names, or a column of numbers is below one of them, or they are unlike the values
    below; see `_is_unlike_values`.
    """
    cells = [cell.strip() for cell in rows[0]]
    body = rows[1:]
    names = [_normalise_name(cell) for cell in cells if cell]
    has_repeated_names = len(set(names)) < len(names)
    if not names or has_repeated_names or not all(map(_NAME.fullmatch, names)):
        return False
    values_by_cell = {
        cell: [row[index] for row in body] for index, cell in enumerate(cells) if cell
    }
    if any(cell in values for cell, values in values_by_cell.items()):
        return False
    words = {*names, *map(_get_last_word, cells)}
    if not words.isdisjoint(LABEL_NAMES) and not words.isdisjoint(TEXT_NAMES):
        return True
    if any(map(is_column_name, names)):
        return True
    if len(body) >= _MIN_ROWS_FOR_VALUES and any(map(_are_numbers, values_by_cell.values())):
        return True
    return len(body) >= _MIN_ROWS_FOR_UNKNOWN_NAMES and _is_unlike_values(cells, body)


def _is_unlike_values(cells: Names, body: Rows) -> bool:
    """Return whether a column has repeating classes, and another has longer texts than its cell.

    ``cells`` are the first row, and ``body`` has the rows below. Nearly all texts must be longer
    than the cell above them, and on average more than twice as long.
    """
    columns = [column for column in _describe_columns(body, cells) if column.name]
    has_classes = any(column.is_classes and not column.has_rare for column in columns)
    return has_classes and any(
        len(column.name) < min(column.low_chars, column.mean_chars / _TEXT_LENGTH_RATIO)
        for column in columns
        if column.is_text
    )


def _are_numbers(values: Iterable[str]) -> bool:
    """Return whether all values are numbers, dates or percentages."""
    return all(_NUMBER.fullmatch(value.strip()) for value in values)


def _describe_columns(rows: Rows, names: Names) -> list[_Column]:
    """Return the statistics of all columns. Without names, columns are numbered from 1."""
    if not names:
        names = [str(number) for number in range(1, len(rows[0]) + 1)]
    return [
        _describe_column(index, name, [row[index] for row in rows])
        for index, name in enumerate(names)
    ]


def _describe_column(index: int, name: str, values: list[str]) -> _Column:
    """Return the statistics of the values of a column."""
    counts = Counter(values)
    lengths = sorted(map(len, values)) or [0]  # without rows, all lengths are 0
    has_enough_rows = len(values) >= _MIN_ROWS_FOR_VALUES
    median_chars = lengths[len(lengths) // 2]
    max_chars = lengths[-1]
    n_unique = sum(count == 1 for count in counts.values())
    return _Column(
        position=index,
        name=name,
        example=values[0] if values else "",
        is_classes=has_enough_rows
        and len(counts) <= len(values) / 2
        and median_chars > 0
        and max_chars <= _MAX_CLASS_CHARS,
        has_rare=n_unique > _MAX_RARE_PROPORTION * len(values),
        is_distinct=has_enough_rows and len(counts) >= _MIN_DISTINCT_PROPORTION * len(values),
        is_number=has_enough_rows and _are_numbers(filter(None, values)),
        mean_chars=sum(lengths) / len(lengths),
        low_chars=lengths[len(lengths) // 10],
    )


def _find_text_and_label(
    columns: Sequence[_Column], reading: Reading, missing_settings: Names, *, use_names: bool
) -> dict[str, int]:
    """Return the indices of the columns for the missing settings, by setting.

    The values of the columns decide and, with ``use_names``, also their names. If they do not show
    a column clearly, the result does not have its setting.
    """
    text_names = TEXT_NAMES if use_names else ()
    label_names = LABEL_NAMES if use_names else ()
    set_indices = {_find_column(name, columns) for name in _list_set_columns(reading)}
    candidates = [column for column in columns if column.position not in set_indices]
    indices: dict[str, int] = {}
    if "text_column" in missing_settings:
        text = _find_text_column(candidates, text_names)
        if text is not None:
            indices["text_column"] = text.position
            candidates.remove(text)
    if "label_column" in missing_settings:
        is_only_choice = len(columns) == 2 and len(candidates) == 1
        label = _find_label_column(candidates, label_names, is_only_choice=is_only_choice)
        if label is not None:
            indices["label_column"] = label.position
    return indices


def _contradict_documentation(
    columns: Sequence[_Column], reading: Reading, *, labelled: bool
) -> bool:
    """Return whether columns 1 and 2 cannot be the classes and the texts, as documented.

    Either a setting uses one of the two columns for the other purpose, or other columns fit better.
    """
    if len(columns) == 1:
        return False
    if reading.label_column is not None or reading.text_column is not None:
        is_swapped = (reading.label_column, reading.text_column) in (("2", None), (None, "1"))
        return labelled and is_swapped
    first, second, *_ = columns
    if labelled and first.is_distinct and any(column.is_classes for column in columns):
        return True
    return not second.is_text and _find_longer_text(columns) is not None


def _find_longer_text(columns: Sequence[_Column]) -> _Column | None:
    """Return the first text column with clearly longer values than column 2."""
    second = columns[1]
    return next(
        (column for column in columns if column.is_text and column.is_longer_than(second)), None
    )


def _take_named(columns: Sequence[_Column], names: Names) -> list[_Column]:
    """Return the columns with one of the names, in the order of the names."""
    return [column for name in names for column in columns if _normalise_name(column.name) == name]


def _find_text_column(columns: Sequence[_Column], names: Names) -> _Column | None:
    """Return the column of texts; None if it is unclear.

    The column has one of the names, or a name whose last word is one of the names, or clearly
    longer texts than all other columns. The first of these conditions that a column meets decides.
    """
    named_columns = _take_named(columns, names)
    if named_columns:
        return named_columns[0]
    texts = [column for column in columns if column.is_text]
    matches = [column for column in texts if _get_last_word(column.name) in names]
    if matches:
        return matches[0] if len(matches) == 1 else None
    texts.sort(key=lambda column: column.mean_chars, reverse=True)
    if len(texts) == 1 or (texts and texts[0].is_longer_than(texts[1])):
        return texts[0]
    return None


def _find_label_column(
    columns: Sequence[_Column], names: Names, *, is_only_choice: bool
) -> _Column | None:
    """Return the column of labels; None if it is unclear.

    The column has one of the names, or a name whose last word is one of the names, or repeating
    values. The first of these conditions that a column meets decides. If no column meets any, a
    column that ``is_only_choice`` is returned, unless its values look like ids.
    """
    matches = _take_named(columns, names)
    if not matches:
        matches = [column for column in columns if _has_label_suffix(column, names)]
    if not matches:
        matches = [column for column in columns if column.is_classes]
    if not matches and is_only_choice:
        matches = [column for column in columns if not (column.is_number and column.is_distinct)]
    return matches[0] if len(matches) == 1 else None


def _has_label_suffix(column: _Column, names: Names) -> bool:
    """Return whether the last word of a column name is in ``names``, and some values repeat."""
    word = _get_last_word(column.name)
    return len(word) > 1 and word in names and not column.is_distinct


def _find_column(name: str, columns: Sequence[_Column]) -> int | None:
    """Return the index of a column, given its name or its number from 1; None if it is missing."""
    if name.isdigit():
        return int(name) - 1
    return next((column.position for column in columns if column.name == name), None)


def _create_unclear_columns_error(
    columns: Sequence[_Column], unclear_settings: Names, mark_columns: Names, encoding: str
) -> UsageError:
    """Return the error for column settings that neither the user nor the table determines.

    ``mark_columns`` are the columns of 0 and 1. If there are enough, they may be labels.
    ``encoding`` is the encoding of the table.
    """
    examples = ", ".join(
        f"{shorten(column.name, _MAX_CELL_CHARS)} "
        f"({_format_cell(column.example, encoding, _MAX_CELL_CHARS)!r})"
        for column in columns[:_MAX_LISTED_COLUMNS]
    )
    label_option = "--label-column"
    if len(mark_columns) >= _MIN_MARK_COLUMNS:
        label_option += f" {','.join(mark_columns)}"
    nouns = {"label_column": "the class", "text_column": "the text"}
    setting_options = {"label_column": label_option, "text_column": "--text-column"}
    question = " and which ".join(nouns[name] for name in unclear_settings)
    options = [setting_options[name] for name in unclear_settings]
    return UsageError(
        f"it is not clear which column is {question}: {examples}",
        hint=f"use {' and '.join(options)}",
    )


def _format_cell(cell: str, encoding: str, max_chars: int) -> str:
    """Return a cell of `split_rows` for a message: decoded, on one line, and shortened."""
    encoded_cell = cell.encode("utf-8", "surrogateescape")
    return shorten(decode_column_name(encoded_cell, encoding), max_chars)


def shorten(value: str, max_chars: int) -> str:
    """Return a value on one line, with "..." at its end if it has more than ``max_chars``."""
    text = " ".join(value.split())
    return text if len(text) <= max_chars else f"{text[: max_chars - 3]}..."
