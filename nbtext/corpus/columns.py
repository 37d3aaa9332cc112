"""Recognise from its first rows what the columns of a table mean: whether there is a header, and where label and text are.

A table without a recognisable header has its label in column 1 and its text in column 2, as documented, unless these cannot be label and text.
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
from nbtext.document_fields import NO_TEXT, Attributes
from nbtext.errors import DocumentError, UsageError, join_names
from nbtext.prediction.label_lists import is_label_marks
from nbtext.settings import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nbtext.settings import Reading
    from nbtext.type_names import Names

    Rows = Sequence[Names]

LABEL_NAMES = (
    "label",
    "labels",
    "class",
    "category",
    "target",
    "topic",
    "intent",
    "sentiment",
    "tag",
    "y",
    "classes",
    "categories",
    "topics",
    "intents",
    "tags",
    "klasse",
    "kategorie",
    "thema",
    "classe",
    "catégorie",
    "clase",
    "categoría",
    "categoria",
)
"""Names of a column of classes, in any case; an earlier one is preferred."""

LABEL_KEYS = (*LABEL_NAMES, "cats", "choice", "choices", "annotation")
"""Names of keys of JSON; in a table some of them are rather classes."""

TEXT_NAMES = (
    "text",
    "body",
    "message",
    "content",
    "document",
    "review",
    "comment",
    "tweet",
    "sentence",
    "utterance",
    "post",
    "article",
    "description",
    "question",
    "query",
    "patterns",
    "x",
    "nachricht",
    "texte",
    "texto",
    "testo",
    "title",
    "subject",
    "headline",
    "titel",
)
"""Names of a column of texts; likewise."""

CORPUS_PART_NAMES = {"train", "test", "dev", "valid", "validation", "val", "unsup"}
"""Names of parts of a corpus, which are hardly classes."""

ANNOTATOR_VERDICTS = {"accept", "reject", "ignore"}
"""Values of a column that says what annotators made of a row, as in Prodigy."""

_MARKS = {"0", "1", "0.0", "1.0", "false", "true"}
"""Values of a column of one label, in lower case: whether a row has it."""

_FEWEST_MARKED = 3
"""Columns of marks from which each is a label."""

MAX_INSPECTED_ROWS = 1000
"""Rows that are looked at."""

_FEW_ROWS = 5
"""With fewer rows nothing is read from their values."""

_MANY_ROWS = 10
"""Rows below a header whose names are not known."""

_MOST_ABOVE = 20
"""Lines above a header, at most."""

_DOCUMENTED = {"label_column": 0, "text_column": 1}
_LONGEST_CLASS = 60
_LONGEST_PATH = 1 << 10
_RARE = 0.05
"""Share of rows that are the only ones of their class, at most, for a first row of yet another class to be a header."""
DELIMITERS = ",;\t|"
_SAME_WIDTH = 0.9
"""Share of rows that have as many cells as the first, so that the delimiter is the right one."""

_PLAIN_NAME = re.compile(r"[^\W\d][\w -]{0,39}")
_NAME = re.compile(r"[#_]?[^\W\d][\w .:/()#-]{0,39}")
_INNER = re.compile(r"\.(name|value)$")
"""The end of the key of a label that is an object, as of GitHub and Argilla."""

_WORD = re.compile(r"[^\W_]+")
_CAMEL_CASE = re.compile(r"(?<=[^\W\dA-Z_])(?=[A-Z])")
_PATH = re.compile(r"(?!\w+://)\S*[/\\]\S*\.\w{1,5}")
_NUMBER = re.compile(r"[-+]?(\d+([.,:/-]\d*)*|\.\d+)([eE][-+]?\d+)?%?")
_BETWEEN_RECORDS = re.compile(r"[\s,]*")
_QUOTED = re.compile(rb'(?:^|\t)"[^"\t]*+(?:""[^"\t]*+)++"(?=\t|\r?\n)', re.MULTILINE)


class _Column(NamedTuple):
    """What the values of a column below the header look like."""

    place: int
    name: str
    example: str
    is_classes: bool
    """Values repeat, none is long, and most are not empty."""
    has_rare: bool
    """More than `_RARE` of the values occur once."""
    is_distinct: bool
    is_number: bool
    length: float
    """Mean number of characters."""
    short: int
    """Number of characters that nine values in ten have at least."""

    @property
    def is_text(self) -> bool:
        return not self.is_classes and not self.is_number


def split_rows(
    start: bytes, delimiter: str, *, is_quoted: bool, is_complete: bool
) -> list[list[str]]:
    """Return the first rows of a table, given its first bytes; unless that is all of it, without the last row, which may be cut."""
    text = start.decode("utf-8-sig", "surrogateescape")
    if not is_quoted:
        lines = (line.removesuffix("\r") for line in text.split("\n")[: MAX_INSPECTED_ROWS + 1])
        rows = [line.split(delimiter) for line in lines if line]
    else:
        import csv

        rows = []
        with suppress(csv.Error):  # reading the table reports it
            rows += (
                row
                for row in islice(
                    csv.reader(io.StringIO(text, newline=""), delimiter=delimiter),
                    MAX_INSPECTED_ROWS + 1,
                )
                if row
            )
    return rows if is_complete or len(rows) > MAX_INSPECTED_ROWS else rows[:-1]


def format_tsv_options(delimiter: str) -> str:
    """Return the options that read a table in which a quote is a character."""
    name = "tab" if delimiter == "\t" else repr(delimiter)
    return f"--format tsv --delimiter {name}"


def find_delimiter(start: bytes, *, is_complete: bool) -> str | None:
    """Return the delimiter of quoted rows if it is not the comma; None also if nothing fits."""
    for delimiter in DELIMITERS:
        rows = split_rows(start, delimiter, is_quoted=True, is_complete=is_complete)
        width = len(rows[0]) if rows else 0
        if width > 1 and sum(len(row) == width for row in rows) >= _SAME_WIDTH * len(rows):
            return None if delimiter == "," else delimiter
    return None


def has_quoted_cells(start: bytes) -> bool:
    """Return whether lines of a tsv hold cells that a writer has quoted: one with doubled quotes inside, or all of a column."""
    rows = [line.split(b"\t") for line in start.splitlines()]
    columns = (
        zip(*(row for row in rows if len(row) == len(rows[0])), strict=True)
        if len(rows) > 1
        else ()
    )
    return _QUOTED.search(start) is not None or any(
        all(len(cell) > 1 and cell[:1] == cell[-1:] == b'"' for cell in column)
        for column in columns
    )


def detect_table_format(start: bytes, *, is_complete: bool) -> str | None:
    """Return the format of a table without a telling name: tsv if all lines have as many tabs, csv if there is a header of known names."""
    rows = split_rows(start, "\t", is_quoted=False, is_complete=is_complete)
    if len(rows) > 1 and len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows):
        return "tsv"
    rows = split_rows(start, ",", is_quoted=True, is_complete=is_complete)
    names = {cell.strip().casefold() for cell in rows[0]} if rows else set()
    return "csv" if names & set(LABEL_NAMES) and names & set(TEXT_NAMES) else None


def is_table(rows: Rows, trained: Reading) -> bool:
    """Return whether rows are those of a table like the one of training, and not of a text in which there is a delimiter."""
    first = rows[0]
    if implies_header(trained):
        return bool({*(trained.text_column or "").split(",")}.intersection(first)) or (
            len(first) > 1 and all(map(_PLAIN_NAME.fullmatch, first))
        )
    text = trained.text_column or "2"
    return (
        len(first) >= int(text) and not all(cell.startswith(" ") for cell in first[1:])
        if text.isdigit()
        else True
    )


def check_lines_above_header(rows: Rows, reading: Reading) -> None:
    """Raise `UsageError` for lines above the header of a table, such as a title: rows with a value in the first cell alone."""
    above = next((number for number, row in enumerate(rows[:_MOST_ABOVE]) if any(row[1:])), 0)
    if not above:
        return
    width = Counter(map(len, rows)).most_common(1)[0][0]
    below = [row for row in rows[above:] if len(row) == width]
    if below[:1] != rows[above : above + 1]:
        return
    is_expected = implies_header(reading) and all(len(row) == 1 for row in rows[:above])
    if (
        is_expected or _begins_with_header(below) or rows[0][0].casefold().startswith("sep=")
    ):  # a note of a spreadsheet
        raise UsageError(
            f"the first line is no part of the table: {shorten(rows[0][0], 40)!r}",
            hint=f"remove what is above the header, which begins with {shorten(below[0][0], 40)!r}",
        )


def recognise_columns(rows: Rows, reading: Reading, *, labelled: bool) -> Reading:
    """Return the settings with the columns that the first rows of a table show, where they do not say them.

    Nothing changes where a table is as documented: label in column 1, text in column 2, no header. Raise `UsageError` if neither the settings nor
    the rows say what the columns are.
    """
    rows = [row for row in rows if row]
    if not rows:
        return reading
    width = Counter(map(len, rows)).most_common(1)[0][0]
    first = rows[0]
    rows = [row for row in rows if len(row) == width]
    wanted = []
    if reading.text_column is None:
        wanted.append("text_column")
    if labelled and reading.label_column is None:
        wanted.append("label_column")
    says_header = reading.header is not None or any(
        column not in (None, NO_TEXT) for column in (reading.label_column, reading.text_column)
    )
    has_header = implies_header(reading) or (
        not says_header and first is rows[0] and _begins_with_header(rows)
    )
    if has_header and first is not rows[0]:
        return reading
    names = decode_header_row(first, reading.encoding) if has_header else []
    columns = _columns(rows[has_header:], names)
    is_odd = not has_header and _contradicts(columns, reading, labelled=labelled)
    if len(columns) == 1:
        found = {} if labelled else {"text_column": 0}
    else:
        found = (
            _text_and_label(columns, reading, wanted, known=has_header)
            if has_header or is_odd
            else {}
        )
    lacking = [name for name in wanted if name not in found]
    if lacking and len(columns) > 1 and (is_odd or (has_header and not says_header)):
        marked = _columns_of_marks(_values(rows[has_header:], columns))
        raise _doubtful(columns, lacking, marked)
    if lacking or (says_header and found == _DOCUMENTED):
        return reading
    written = {name: _written(place, names) for name, place in found.items()}
    # The names are those of columns.
    named = replace(reading, **written)  # type: ignore[arg-type]
    adds_header = has_header and not implies_header(named)
    return replace(named, header=True if adds_header else reading.header)


def list_record_keys(record: Mapping[str, object], before: str = "") -> Iterator[str]:
    """Yield the keys of a JSON object, with dots those of objects inside it, and of the first object in a list."""
    for key, value in record.items():
        inside = value[0] if isinstance(value, list) and value else value
        if isinstance(inside, dict) and not is_label_marks(inside):
            yield from list_record_keys(inside, f"{before}{key}.")
        else:
            yield before + key


def recognise_keys(
    records: Sequence[Mapping[str, object]], reading: Reading, *, labelled: bool
) -> Reading:
    """Return the settings with the keys of label and text that records of JSON show by their names, where they do not say them.

    Nothing changes where the record with the most and longest keys has the usual ones; an empty list shows none inside.
    """
    keys = max(
        ([key for key in list_record_keys(record) if "," not in key] for record in records),
        key=lambda keys: len("".join(keys)),
        default=[],
    )
    for name, usual, known in (
        ("label_column", "label", LABEL_KEYS),
        ("text_column", "text", TEXT_NAMES),
    ):
        is_wanted = labelled or name == "text_column"
        key = None if usual in keys else _known_key(keys, known)
        if reading[name] is None and is_wanted and key is not None:
            # The names are those of columns.
            reading = replace(reading, **{name: key})  # type: ignore[arg-type]
    return reading


def _known_key(keys: Names, known: Names) -> str | None:
    """Return the key with the best known name, those of the record itself before those of objects inside; None if there is none, or several."""
    for level in ([key for key in keys if "." not in key], keys):
        for name in known:
            same = [key for key in level if _plain(_INNER.sub("", key).rpartition(".")[2]) == name]
            if same:
                return same[0] if len(same) == 1 else None
    return None


def parse_first_records(start: bytes) -> list[dict[str, object]]:
    """Return the first objects of JSON lines or of an array of objects, given its first bytes; the last one may be cut, and is left out."""
    from nbtext.strict_json import STRICT_DECODER

    text = start.decode("utf-8-sig", "replace").lstrip("[ \t\r\n")
    records: list[dict[str, object]] = []
    place = 0
    try:
        while place < len(text) and len(records) < MAX_INSPECTED_ROWS:
            record, place = STRICT_DECODER.raw_decode(text, place)
            if not isinstance(record, dict):
                break
            records.append(record)
            # It matches nothing too.
            place = _BETWEEN_RECORDS.match(text, place).end()  # type: ignore[union-attr]
    except (ValueError, RecursionError):  # reading it reports it
        pass
    return records


def describe_detection(before: Reading, after: Reading, *, labelled: bool) -> str | None:
    """Return in words what was recognised, and how to say otherwise; None if nothing was."""
    given = (
        before if before.file_column is None else replace(before, text_column=before.file_column)
    )
    names = [
        name for name in ("label_column", "text_column", "delimiter") if given[name] != after[name]
    ]
    if not names:
        return None
    options = [f"--{name.replace('_', '-')}" for name in names]
    if not FORMATS[after.format].is_decoded:
        options.append("--no-header" if implies_header(after) else "--header")
    return (
        f"{describe_columns(after, labelled=labelled)}; if not, give "
        f"{' or '.join(filter(None, (', '.join(options[:-1]), options[-1])))}"
    )


def describe_columns(reading: Reading, *, labelled: bool = True) -> str:
    """Return which columns of a table, or keys of JSON, are read.

    >>> from nbtext.settings import Reading
    >>> columns_in_words(Reading(format="csv", text_column="body"))
    "class in column 1, text in column 'body', the first line is a header"
    """
    has_keys = FORMATS[reading.format].is_decoded
    place, (label, text) = (
        ("at the key", ("label", "text")) if has_keys else ("in column", ("1", "2"))
    )
    columns = (
        ("class", (reading.label_column or label) if labelled else NO_TEXT),
        ("text" if reading.file_column is None else "paths", reading.text_column or text),
    )
    parts = [
        f"{noun} {place} {name if name.replace(',', '').isdigit() else repr(name)}"
        for noun, name in columns
        if name != NO_TEXT
    ]
    parts += ["no text"] if reading.text_column == NO_TEXT else []
    if not has_keys:
        parts.append("the first line is a header" if implies_header(reading) else "no header")
        parts += [] if reading.delimiter is None else [f"delimiter {reading.delimiter!r}"]
    return ", ".join(parts)


def is_column_name(label: str) -> bool:
    """Return whether a class is named as columns of a table mostly are, and so may come from a header that was read as a row."""
    name = _plain(label)
    return len(name) > 1 and name in (*LABEL_NAMES, *TEXT_NAMES)


def _plain(name: str) -> str:
    return name.strip(" \t#_:.\"'").casefold()


def _last_word(name: str) -> str:
    """Return the last word of a name, before what is in parentheses.

    >>> _last_word("Tweet_text (EN)"), _last_word("reviewBody")
    ('text', 'body')
    """
    words = _WORD.findall(_CAMEL_CASE.sub(" ", name.partition("(")[0]))
    return words[-1].casefold() if words else ""


def implies_header(reading: Reading, others: Names = ()) -> bool:
    """Return whether the settings imply a header line: as set, else if any column is given by name, even if it is not needed now."""
    if reading.header is not None:
        return bool(reading.header)
    return not all(
        column.isdigit() for column in (*_given_columns(reading), *others) if column != NO_TEXT
    )


def _given_columns(reading: Reading) -> list[str]:
    several = (
        name
        for names in (reading.label_column, reading.text_column, reading.tag_fields)
        if names
        for name in names.split(",")
    )
    given = (
        *several,
        reading.id_column,
        reading.weight_column,
        *Attributes.from_settings(reading).names,
    )
    return [column for column in given if column not in (None, NO_TEXT)]


def check_header(rows: Rows, reading: Reading, others: Names = ()) -> None:
    """Raise `UsageError` if columns are given by number and the first row looks like a header, unless the settings say whether it is one."""
    if reading.header is not None or implies_header(reading, others) or not _given_columns(reading):
        return
    alike = [row for row in rows if len(row) == len(rows[0])]
    if alike and _begins_with_header(alike):
        shown = join_names([shorten(cell, 30) for cell in rows[0]], 3)
        raise UsageError(
            f"columns are given by number, and the first row looks like a header: {shown}",
            hint="give --header or --no-header",
        )


def find_table_warnings(
    rows: Rows, reading: Reading, folder: str, *, uses_all_rows: bool
) -> Iterator[tuple[str, str]]:
    """Yield what may be wrong with how a table is read, and what to do.

    Texts may be paths, of files seen from its folder or from here. If all rows are to be learnt, another column may have longer texts, or name rows
    for tests.
    """
    has_header = implies_header(reading)
    text = reading.text_column or "2"
    below = [row for row in rows[has_header:] if len(row) == len(rows[0])]
    columns = _columns(below, rows[0] if has_header else [])
    place = _place(text, columns)
    texts = [] if place is None else [row[place] for row in below[:_MANY_ROWS] if place < len(row)]
    if (
        not reading.has_whole_files
        and len(texts) > 1
        and all(len(path) <= _LONGEST_PATH and _is_path(path, folder) for path in texts)
    ):
        yield (
            "the texts are names of files, and the names are counted, not the files",
            f"give --file-column {text}",
        )
    if not uses_all_rows:
        return
    if (
        len(columns) > 1
        and reading.text_column is None
        and (longer := _longer_text(columns)) is not None
    ):
        yield (
            f"column {longer.place + 1} has longer texts than column 2, which is read",
            f"give --text-column {longer.place + 1}",
        )
    yield from find_column_warnings(_values(below, columns), reading)


def find_record_warnings(
    records: Sequence[Mapping[str, object]], reading: Reading
) -> Iterator[tuple[str, str]]:
    """Yield what may be wrong with how objects of JSON are read, and what to do."""
    values: dict[str, list[str]] = {}
    for record in records:
        for key, value in record.items():
            values.setdefault(key, []).append(
                value if isinstance(value, str) else json.dumps(value)
            )
    whole = {key: of_key for key, of_key in values.items() if len(of_key) == len(records)}
    yield from find_column_warnings(whole, reading)


def find_column_warnings(
    values: Mapping[str, Names], reading: Reading
) -> Iterator[tuple[str, str]]:
    """Yield which columns, or keys, say that some rows should not be read, or have labels, given the values of each."""
    given = set(_given_columns(reading))
    others = {name: of_column for name, of_column in values.items() if name not in given}
    for name, of_column in others.items():
        found = set(of_column)
        if len(found) > 1 and CORPUS_PART_NAMES.issuperset(map(str.casefold, found)):
            yield (
                f"column {name} names parts of a corpus, and all are read",
                f"give --where {name}={max(found, key='train'.__eq__)}",
            )
        if "reject" in found and ANNOTATOR_VERDICTS.issuperset(found):
            yield (
                f"column {name} says that annotators rejected some rows, and all are read",
                f"give --where {name}=accept",
            )
    marked = _columns_of_marks(others)
    if len(marked) >= _FEWEST_MARKED and "," not in (reading.label_column or ""):
        shown = join_names(marked, 5)
        yield (
            f"columns {shown} have a mark for each row, 0 or 1, as if each were a label",
            f"if so, give --label-column {','.join(marked)}",
        )


def _values(rows: Rows, columns: Sequence[_Column]) -> dict[str, list[str]]:
    return {column.name: [row[column.place] for row in rows] for column in columns}


def _columns_of_marks(values: Mapping[str, Names]) -> list[str]:
    """Return the columns that hold only 0 and 1, or false and true."""
    return [
        name
        for name, of_column in values.items()
        if of_column and _MARKS.issuperset(map(str.casefold, set(of_column)))
    ]


def _is_path(text: str, folder: str) -> bool:
    return (
        _PATH.fullmatch(text) is not None
        or os.path.isfile(os.path.join(folder, text))
        or os.path.isfile(text)
    )


def decode_column_name(cell: bytes, encoding: str) -> str:
    """Return a cell of a header as text, whatever it holds."""
    try:
        return decode_name(cell, encoding)
    except DocumentError:
        return cell.decode("utf-8", "replace")


def decode_header_row(row: Names, encoding: str) -> list[str]:
    """Return the names of columns, given the first row as `split_rows` returns it."""
    return [decode_column_name(cell.encode("utf-8", "surrogateescape"), encoding) for cell in row]


def _written(place: int, names: Names) -> str:
    """Return a column as options have it: by its name if that is the only one so called and is no number, else by its number."""
    name = names[place] if names else ""
    is_usable = (
        name.strip() == name != ""
        and name.isprintable()
        and name != NO_TEXT
        and not name.isdigit()
        and "," not in name
        and names.count(name) == 1
    )
    return name if is_usable else str(place + 1)


def _begins_with_header(rows: Rows) -> bool:
    """Return whether the first row looks like a header: it has well-known names, or its values do not occur below."""
    first = [cell.strip() for cell in rows[0]]
    below = rows[1:]
    given = [_plain(name) for name in first if name]
    values = list(zip(*below, strict=True)) or [()] * len(first)
    if not all(_NAME.fullmatch(name) for name in given) or len(set(given)) < max(len(given), 1):
        return False
    if any(name in column for name, column in zip(first, values, strict=True) if name):
        return False
    hints = {*given, *map(_last_word, first)}
    if not hints.isdisjoint(LABEL_NAMES) and not hints.isdisjoint(TEXT_NAMES):
        return True
    above_numbers = len(below) >= _FEW_ROWS and any(
        name and _are_numbers(column) for name, column in zip(first, values, strict=True)
    )
    is_known = any(map(is_column_name, given))
    return above_numbers or is_known or (len(below) >= _MANY_ROWS and _is_unlike(first, below))


def _is_unlike(first: Names, below: Rows) -> bool:
    """Return whether a row, of which no value occurs below it, is above classes, which repeat, and much shorter than most texts."""
    columns = [column for column in _columns(below, first) if column.name]
    shorter = (
        len(column.name) < min(column.short, column.length / 2)
        for column in columns
        if column.is_text
    )
    return any(column.is_classes and not column.has_rare for column in columns) and any(shorter)


def _are_numbers(values: Iterable[str]) -> bool:
    return all(_NUMBER.fullmatch(value.strip()) for value in values)


def _columns(rows: Rows, names: Names) -> list[_Column]:
    found = []
    for place, name in enumerate(names or [str(place) for place in range(1, len(rows[0]) + 1)]):
        values = [row[place] for row in rows]
        counted = Counter(values)
        lengths = sorted(map(len, values)) or [0]
        enough = len(values) >= _FEW_ROWS
        found.append(
            _Column(
                place,
                name,
                next(iter(values), ""),
                enough
                and len(counted) <= len(values) / 2
                and lengths[len(lengths) // 2] > 0
                and lengths[-1] <= _LONGEST_CLASS,
                sum(n == 1 for n in counted.values()) > _RARE * len(values),
                enough and len(counted) >= _SAME_WIDTH * len(values),
                enough and _are_numbers(value for value in values if value),
                sum(lengths) / len(lengths),
                lengths[len(lengths) // 10],
            )
        )
    return found


def _text_and_label(
    columns: Sequence[_Column], reading: Reading, wanted: Names, *, known: bool
) -> dict[str, int]:
    """Return the places of the wanted columns as far as their names, where they are known, or their values show them."""
    given = {_place(name, columns) for name in _given_columns(reading)}
    free = [column for column in columns if column.place not in given]
    found: dict[str, int] = {}
    if (
        "text_column" in wanted
        and (text := _best_text(free, TEXT_NAMES if known else ())) is not None
    ):
        found["text_column"] = text
    rest = [column for column in free if column.place != found.get("text_column")]
    is_last = len(columns) == 2 and len(rest) == 1
    if (
        "label_column" in wanted
        and (label := _best_label(rest, LABEL_NAMES if known else (), is_last=is_last)) is not None
    ):
        found["label_column"] = label
    return found


def _contradicts(columns: Sequence[_Column], reading: Reading, *, labelled: bool) -> bool:
    """Return whether columns 1 and 2 cannot be the classes and the texts: one is the other by the settings, or others fit better."""
    if len(columns) == 1:
        return False
    first, second, *_ = columns
    if reading.label_column is not None or reading.text_column is not None:
        return labelled and (reading.label_column, reading.text_column) in (
            ("2", None),
            (None, "1"),
        )
    longer = _longer_text(columns) is not None
    no_classes = first.is_distinct and any(column.is_classes for column in columns)
    return (labelled and no_classes) or ((second.is_classes or second.is_number) and longer)


def _longer_text(columns: Sequence[_Column]) -> _Column | None:
    """Return the first column of texts that are more than twice as long as the values of column 2."""
    return next(
        (column for column in columns if column.is_text and column.length > 2 * columns[1].length),
        None,
    )


def _named(columns: Sequence[_Column], names: Names) -> list[_Column]:
    return [column for name in names for column in columns if _plain(column.name) == name]


def _best_text(columns: Sequence[_Column], names: Names) -> int | None:
    texts = sorted(
        (column for column in columns if column.is_text), key=lambda column: -column.length
    )
    clear = (
        texts[:1] if len(texts) == 1 or (texts and texts[0].length > 2 * texts[1].length) else []
    )
    found = (
        _named(columns, names)[:1]
        or [column for column in texts if _last_word(column.name) in names]
        or clear
    )
    return found[0].place if len(found) == 1 else None


def _best_label(columns: Sequence[_Column], names: Names, *, is_last: bool) -> int | None:
    found = (
        _named(columns, names)
        or [
            column
            for column in columns
            if len(word := _last_word(column.name)) > 1 and word in names and not column.is_distinct
        ]
        or [column for column in columns if column.is_classes]
    )
    if is_last and not found and not (columns[0].is_number and columns[0].is_distinct):
        found = [columns[0]]
    return found[0].place if len(found) == 1 else None


def _place(name: str, columns: Sequence[_Column]) -> int | None:
    if name.isdigit():
        return int(name) - 1
    return next((column.place for column in columns if column.name == name), None)


def _doubtful(columns: Sequence[_Column], lacking: Names, marked: Names) -> UsageError:
    """Return the error that it is not clear which column is which; those ``marked`` hold 0 and 1."""
    shown = ", ".join(
        f"{shorten(column.name, 30)} ({shorten(column.example, 30)!r})" for column in columns[:12]
    )
    which = " and which ".join(
        {"label_column": "the class", "text_column": "the text"}[name] for name in lacking
    )
    options = " and ".join(f"--{name.replace('_', '-')}" for name in lacking)
    if "label_column" in lacking and len(marked) >= _FEWEST_MARKED:
        options = options.replace("--label-column", f"--label-column {','.join(marked)}")
    return UsageError(f"it is not clear which column is {which}: {shown}", hint=f"give {options}")


def shorten(value: str, most: int) -> str:
    """Return a value on one line, cut if it has more characters than ``most``."""
    text = " ".join(value.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."
