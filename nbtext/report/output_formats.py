"""Format output for all commands: numbers, records as TSV, CSV or JSON lines, tables for people.

The columns of a table are declared once, as a sequence of `Column`, for all formats.

Text from outside is made safe to print: characters that would move the cursor, ring a bell, or
break or reverse a line are written as codes.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from functools import cache
from itertools import chain, islice, zip_longest
from math import isfinite
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nbtext.errors import join_names
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.text import Text

    Columns = Sequence["Column[Any]"]

BLOCK_CHARACTERS = "▁▂▃▄▅▆▇█"
ASCII_BLOCK_CHARACTERS = ".:-=+*#@"
"""Replacements for terminals that cannot show `BLOCK_CHARACTERS`."""

METRIC_TITLES = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "log_loss": "log loss (nats)",
    "brier": "Brier score",
    "ece": "calibration error",
}
"""Titles of the main metrics by name."""

PROBABILITY_METRICS = ("log_loss", "brier", "ece")
"""Names of the metrics that depend on probabilities."""

MIN_VISIBLE_PROPORTION = 0.01
"""Values up to this proportion of the largest value have no bar in `draw_sparkline`."""


def format_percent(value: float | None, decimals: int = 1) -> str:
    r"""Return a proportion in per cent, with a no-break space before the sign.

    >>> format_percent(0.8031), format_percent(None)
    ('80.3\xa0%', 'not known')
    """
    return "not known" if value is None else f"{100 * value:.{decimals}f}\u00a0%"


def format_number(value: float | None, placeholder: str = "infinite", decimals: int = 4) -> str:
    """Return a number with a fixed number of decimals, or the placeholder for None.

    >>> format_number(0.80312), format_number(None)
    ('0.8031', 'infinite')
    """
    return placeholder if value is None else f"{value:.{decimals}f}"


def format_interval(interval: Sequence[float] | None, format_spec: str = ".4f") -> str:
    """Return both ends of an interval as `format_cell_value` formats them, "" for None.

    >>> format_interval((0.25, 0.75)), format_interval((-0.1, 0.2), "+.1f"), format_interval(None)
    ('0.2500 to 0.7500', '-0.1 to +0.2', '')
    """
    if interval is None:
        return ""
    return " to ".join(format_cell_value(end, format_spec) for end in interval)


def format_cell_value(value: object, format_spec: str) -> str:
    """Return a value in a format of Python, or for ``%`` in the format of `format_percent`."""
    if format_spec == "%" and isinstance(value, float):
        return format_percent(value)
    return format(value, format_spec)


def format_nats(value: float, decimals: int = 1) -> str:
    """Return a signed number of nats, without the unit. A minus sign replaces the hyphen.

    >>> format_nats(2.345), format_nats(-2.345, 2), format_nats(float("-inf"))
    ('+2.3', '−2.35', '−∞')
    """
    return f"{value:+.{decimals}f}".replace("-", "−").replace("inf", "∞")


def format_six_digits(value: float | None) -> str:
    """Return a number with six significant digits, "" for None."""
    return "" if value is None else f"{value:.6g}"


JSON_SIGNIFICANT_DIGITS = 6
"""Precision of most numbers in JSON."""


def round_to_six_digits(value: float | None) -> float | None:
    """Return a number rounded to six significant digits, None for None."""
    return None if value is None else float(format_six_digits(value))


def draw_block(proportion: float | None) -> str:
    """Return a vertical bar of one character for a number from 0 to 1, a space for None.

    >>> draw_block(0), draw_block(0.5), draw_block(1), draw_block(None)
    ('▁', '▅', '█', ' ')
    """
    if proportion is None:
        return " "
    height = int(proportion * len(BLOCK_CHARACTERS))
    return BLOCK_CHARACTERS[min(height, len(BLOCK_CHARACTERS) - 1)]


def draw_sparkline(values: Sequence[float], *, ascii_only: bool = False) -> str:
    """Return a bar of one character for each value, relative to the largest value.

    Values that are nearly 0 become spaces. Spaces at the end are removed.

    >>> draw_sparkline([0, 1, 3, 4, 2, 0]), draw_sparkline([0, 1, 3, 4, 2, 0], ascii_only=True)
    (' ▃▇█▅', ' -#@+')
    """
    max_value = max(values)
    sparkline = ""
    for value in values:
        is_visible = value > MIN_VISIBLE_PROPORTION * max_value
        sparkline += draw_block(value / max_value) if is_visible else " "
    sparkline = sparkline.rstrip()
    if ascii_only:
        return sparkline.translate(str.maketrans(BLOCK_CHARACTERS, ASCII_BLOCK_CHARACTERS))
    return sparkline


_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Matches a control character, a bidirectional control, or a byte that is not text."""


def escape_controls(text: str) -> str:
    r"""Return a text with codes \xNN or \uNNNN for characters that are not safe to print.

    >>> print(escape_controls("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _CONTROLS.sub(_encode_control, text)


def _encode_control(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # how Python represents a byte that is not text
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def shorten_middle(text: str, max_chars: int) -> str:
    """Return a text of at most ``max_chars`` characters, with … instead of the middle if needed.

    >>> shorten_middle("a very long label", 9)
    'a ve…abel'
    """
    if len(text) <= max_chars:
        return text
    n_kept = max(max_chars - 1, 0)
    n_end = n_kept // 2
    n_start = n_kept - n_end
    return f"{text[:n_start]}…{text[len(text) - n_end :]}"


def escape_controls_on_terminal(text: str) -> str:
    """Return the result of `escape_controls` on a terminal, the same text in files and pipes."""
    return escape_controls(text) if _is_terminal() else text


@cache  # each cell asks for it
def _is_terminal() -> bool:
    return sys.stdout.isatty()


def is_ascii_terminal() -> bool:
    """Return True on a terminal whose locale is not UTF-8, so that it may lack block characters."""
    values = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    locale = next(filter(None, values), "")  # the first variable that is set decides
    return _is_terminal() and "utf" not in locale.lower()


_TSV_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r")
"""First characters of formulas. Spreadsheets read their full-width forms in the same way."""


def format_tsv_line(cells: Iterable[str]) -> str:
    r"""Return a line of tab-separated cells.

    Backslash, tab and line breaks in a cell are written \\, \t, \n and \r.
    """
    escaped_cells = [escape_controls_on_terminal(cell.translate(_TSV_ESCAPES)) for cell in cells]
    return "\t".join(escaped_cells) + "\n"


def format_csv_line(cells: Iterable[str]) -> str:
    """Return a record of comma-separated cells, quoted where needed."""
    import csv

    text = io.StringIO()
    # With \r\n as terminator, the csv module quotes cells with either \r or \n.
    csv.writer(text, lineterminator="\r\n").writerow(map(escape_controls_on_terminal, cells))
    return text.getvalue().removesuffix("\r\n") + "\n"


def escape_formula(text: str) -> str:
    """Return a cell that spreadsheets read as text: formulas get an apostrophe at the start.

    Source: OWASP ASVS 1.2.10.

    >>> escape_formula("=1+1")
    "'=1+1"
    """
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def format_json_line(record: Mapping[str, object]) -> str:
    r"""Return a JSON object on one line, with codes \uNNNN for characters not safe to print."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False)
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", line) + "\n"


def write_json(result: object) -> None:
    """Print a record, such as a dataclass, as a JSON object on one line."""
    sys.stdout.write(format_json_line(_to_json_values(result)))


def _to_json_values(result: object) -> Any:  # noqa: ANN401 - as `to_json_values`
    from nbtext.metrics.results import to_json_values  # loads numpy, so not at the top

    return to_json_values(result)


NONFINITE_WORDS = {"inf": "infinite", "-inf": "minus infinity", "nan": "undefined"}
"""Words for people by the text of a number."""

Item = TypeVar("Item")
"""An object to print, which may become several rows of a table."""

Record = TypeVar("Record")
"""A row of a table before it is formatted."""


@dataclass(frozen=True)
class Column(Generic[Record]):
    """A column of a table: its heading, and a function that gets its value from a record."""

    heading: str
    value: Callable[[Record], object]
    """Returns a number, a text, an interval of numbers or a list of texts."""
    format_spec: str = ""
    """Format of numbers, for `format_cell_value`. A column with a format is aligned right."""
    placeholder: str = ""
    """Text for None and for an empty text."""

    def format_cell(
        self, record: Record, escape: Callable[[str], str], *, spell_infinity: bool
    ) -> str:
        """Return the cell of a record. See `format_cells` for the other arguments."""
        value = self.value(record)
        if isinstance(value, (tuple, list)):
            separator = " to " if self.format_spec else ", "
            value = separator.join(format_cell_value(item, self.format_spec) for item in value)
        if isinstance(value, str):
            return escape(value) if value else self.placeholder
        if value is None:
            return self.placeholder
        if spell_infinity and isinstance(value, float) and not isfinite(value):
            return NONFINITE_WORDS[str(value)]
        return format_cell_value(value, self.format_spec)


def make_tuple_columns(
    *headings: str, formats: Mapping[str, str] = MappingProxyType({})
) -> list[Column[Sequence[object]]]:
    """Return columns for records that are tuples in the order of the headings.

    ``formats`` are the formats of columns of numbers, by heading.
    """
    return [
        Column(heading, itemgetter(index), formats.get(heading, ""))
        for index, heading in enumerate(headings)
    ]


def format_cells(
    columns: Sequence[Column[Record]],
    records: Iterable[Record],
    escape: Callable[[str], str] = str,
    *,
    spell_infinity: bool = False,
) -> Iterator[list[str]]:
    """Yield the cells of each record as texts.

    ``escape`` makes values that are texts safe. With ``spell_infinity``, infinity, −infinity and
    nan become words.

    >>> name = Column("class", itemgetter(0))
    >>> interval = Column("95 % interval", itemgetter(1), ".1f", placeholder="-")
    >>> list(format_cells([name, interval], [("cats", (0.25, 0.75)), ("dogs", None)]))
    [['cats', '0.2 to 0.8'], ['dogs', '-']]
    """
    for record in records:
        yield [
            column.format_cell(record, escape, spell_infinity=spell_infinity) for column in columns
        ]


def format_table(
    columns: Sequence[Column[Record]],
    records: Iterable[Record],
    title: str | None = None,
) -> str:
    """Return the lines of a table for people."""
    cells = format_cells(columns, records, spell_infinity=True)
    return format_grid(_list_headings(columns), cells, _list_numeric_columns(columns), title)


def format_named_table(
    heading: str,
    columns: Sequence[Column[Record]],
    named_records: Iterable[tuple[str, Record]],
    title: str | None = None,
    *,
    names_are_numbers: bool = False,
) -> str:
    """Return a table for people with a row per record: its name under ``heading``, then its cells.

    With ``names_are_numbers``, the names are aligned right.
    """
    rows = []
    for name, record in named_records:
        cells = [column.format_cell(record, escape=str, spell_infinity=True) for column in columns]
        rows.append([name, *cells])
    numeric_columns = [index + 1 for index in _list_numeric_columns(columns)]
    if names_are_numbers:
        numeric_columns.append(0)
    return format_grid([heading, *_list_headings(columns)], rows, numeric_columns, title)


def _list_headings(columns: Columns) -> list[str]:
    return [column.heading for column in columns]


def _list_numeric_columns(columns: Columns) -> list[int]:
    """Return the indices of the columns that have a format."""
    return [index for index, column in enumerate(columns) if column.format_spec]


def write_records(
    items: Iterable[Item],
    output: str,
    columns: Columns,
    to_rows: Callable[[Item], Iterable[object]] | None = None,
    to_record: Callable[[Item], Any] | None = None,
    *,
    escape: Callable[[str], str] = str,
    flush: bool = False,
    tsv_header: bool = False,
) -> None:
    """Print items as they come, as ``tsv``, ``csv`` (with a header), ``table`` or ``jsonl``.

    ``to_rows`` returns the rows of an item, from which ``columns`` take their values. By default an
    item is a row. ``to_record`` returns the object for ``jsonl``. ``escape`` makes cells safe. With
    ``flush`` the output is flushed after each line. With ``tsv_header``, ``tsv`` has a header.

    If the first line cannot be made because of an exception, nothing is printed.
    """
    if output == "jsonl":
        records = map(to_record or _to_json_values, items)
        _write_lines(map(format_json_line, records), flush=flush)
        return
    rows: Iterable[object] = items
    if to_rows is not None:
        rows = chain.from_iterable(map(to_rows, items))
    cells = format_cells(columns, rows, escape=escape)
    headings = _list_headings(columns)
    if output == "table":
        print_blocks(format_grid(headings, cells, _list_numeric_columns(columns)))
        return
    format_line = format_csv_line if output == "csv" else format_tsv_line
    header = None
    if output == "csv" or tsv_header:
        header = format_line(headings)
    _write_lines(map(format_line, cells), header, flush=flush)


def _write_lines(lines: Iterator[str], header: str | None = None, *, flush: bool) -> None:
    """Print lines after a header. The first line is made before the header is printed."""
    first_lines = list(islice(lines, 1))  # empty if there are no lines
    if header is not None:
        sys.stdout.write(header)
    for line in chain(first_lines, lines):
        sys.stdout.write(line)
        if flush:
            sys.stdout.flush()


def write_result(output: str, result: object, rows: object) -> None:
    """Print a result as an object (``json``), or its ``rows`` as ``tsv``, ``csv`` or ``jsonl``.

    ``rows`` is a list of records. Records and lists in a row become columns with joined names.
    """
    if output == "json":
        write_json(result)
        return
    records = _to_json_values(rows)
    names = dict.fromkeys(name for record in records for name, _ in _flatten(record))

    def to_rows(record: Mapping[str, object]) -> list[list[object]]:
        values = dict(_flatten(record))
        row = [values.get(name) for name in names]
        return [row]

    write_records(records, output, make_tuple_columns(*names), to_rows)


def _flatten(record: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the names and values of a record, with joined names for inner records and lists.

    The items of a list, such as an interval, are numbered from 1.

    >>> list(_flatten({"accuracy": {"mean": 0.5, "interval": [0.4, 0.6]}}))
    [('accuracy_mean', 0.5), ('accuracy_interval_1', 0.4), ('accuracy_interval_2', 0.6)]
    """
    for name, value in record.items():
        inner_record = dict(enumerate(value, start=1)) if isinstance(value, list) else value
        if isinstance(inner_record, dict):
            yield from _flatten(inner_record, f"{prefix}{name}_")
        else:
            yield f"{prefix}{name}", value


DEFAULT_SCREEN_COLUMNS = 200
"""Width of tables that are not printed on a terminal."""

COLUMN_GAP = "   "
"""The gap between two columns of a table."""

SMALL_COLUMN_GAP = "  "
"""The gap of a table that would be too wide for a terminal."""


def print_blocks(*blocks: str) -> None:
    """Print blocks of lines with an empty line between them. Empty blocks are skipped.

    A block ends with a line break.
    """
    sys.stdout.write("\n".join(filter(None, blocks)))


def format_listing(pairs: Mapping[str, object]) -> str:
    """Return a line per name and value, with aligned values. Values of None are skipped.

    On a terminal, values are wrapped between words.
    """
    texts = {
        name: escape_controls(str(value)) for name, value in pairs.items() if value is not None
    }
    name_width = max(map(len, texts), default=0)
    indent = " " * (name_width + 2)
    return "".join(
        f"{wrap_sentence(f'{name.ljust(name_width)}  {text}', indent)}\n"
        for name, text in texts.items()
    )


def wrap_sentence(text: str, indent: str = "") -> str:
    """Wrap a line between words at the width of the terminal, with ``indent`` before later lines.

    Without a terminal, return the line unchanged.
    """
    if not text or not _is_terminal():
        return text
    from shutil import get_terminal_size
    from textwrap import fill

    return fill(
        text,
        max(get_terminal_size().columns, 2 * len(indent) + 1),
        subsequent_indent=indent,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )


MAX_SETTING_ITEMS = 10
"""Number of items that are listed of a setting that is a dict."""


def format_setting(value: object) -> str:
    """Return the value of a setting for people.

    >>> format_setting(4096), format_setting(False), format_setting({"a": 1.0, "b": 0.5})
    ('4,096', 'no', 'a 1, b 0.5')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        items = [f"{name} {number:g}" for name, number in value.items()]
        return join_names(items, MAX_SETTING_ITEMS)
    return str(value)


def format_settings(settings: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return the names and values of settings for people. Values of None are skipped."""
    return tuple(
        (name.replace("_", " "), format_setting(value))
        for name, value in settings.items()
        if value is not None
    )


def format_grid(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    numeric_columns: Iterable[int] = (),
    title: str | None = None,
) -> str:
    """Return rows of texts under headings, with the ``numeric_columns`` aligned right.

    If a terminal is too narrow, wide cells are wrapped between words. A word that is wider than its
    column, such as a path, is cut in the middle on a terminal and wrapped in files and pipes.

    The layout is that of rich, which is too slow for long tables (0.5 ms per row).
    """
    from shutil import get_terminal_size

    right_aligned = set(numeric_columns)
    screen_width = DEFAULT_SCREEN_COLUMNS
    if _is_terminal():
        screen_width = get_terminal_size().columns
    cells = [[escape_controls(cell) for cell in row] for row in rows]
    natural_widths, gap = _measure_columns(headings, cells, screen_width)
    widths = _fit_widths(natural_widths, screen_width, len(gap))

    bold = ""
    reset = ""
    if has_styles():
        bold = "\x1b[1m"
        reset = "\x1b[0m"
    lines = [wrap_sentence(title), ""] if title else []
    lines += [f"{bold}{line}{reset}" for line in _wrap_row(headings, widths, gap, right_aligned)]
    table_width = sum(widths) + len(gap) * (len(widths) - 1)
    lines.append(f" {'─' * table_width}")
    for row in cells:
        lines += _wrap_row(row, widths, gap, right_aligned)
    return "".join(f"{line}\n" for line in lines)


def _wrap_row(
    row: Sequence[str], widths: Sequence[int], gap: str, right_aligned: Container[int]
) -> Iterator[str]:
    """Yield the lines of a row. It has several if cells are wider than their columns.

    ``right_aligned`` has the indices of the columns that are aligned right.
    """
    if _is_terminal():
        row = list(map(_cut_words, row, widths))
    wrapped_cells = map(_wrap_cell, row, widths)
    for texts in zip_longest(*wrapped_cells, fillvalue=""):
        padded = []
        for column, (text, width) in enumerate(zip(texts, widths, strict=True)):
            stripped = text.rstrip()
            padding = " " * (width - _count_screen_columns(stripped))
            padded.append(padding + stripped if column in right_aligned else stripped + padding)
        yield f" {gap.join(padded)}".rstrip()


def _measure_columns(
    headings: Sequence[str], rows: Sequence[Sequence[str]], screen_width: int
) -> tuple[list[int], str]:
    """Return the width of each column, and the gap between columns, that fit on the screen.

    If the full widths do not fit on a terminal, try a smaller gap, then only the longest word of
    each heading, since headings can be wrapped. The widths may still be too large.
    """
    longest_words = [
        max(heading.split(), key=_count_screen_columns, default="") for heading in headings
    ]
    attempts = [(headings, COLUMN_GAP)]
    if _is_terminal():
        attempts += [(headings, SMALL_COLUMN_GAP), (longest_words, SMALL_COLUMN_GAP)]
    for top_row, gap in attempts:
        widths = [
            max(map(_count_screen_columns, column)) for column in zip(top_row, *rows, strict=True)
        ]
        fits = sum(widths) + len(gap) * len(widths) <= screen_width
        if fits:
            break
    return widths, gap


def render_text(text: Text, width: int | None = None) -> str:
    """Return the lines of a text of rich, wrapped at ``width`` or the width of the screen."""
    console = _make_console(width)
    with console.capture() as output:
        console.print(text, no_wrap=text.no_wrap, overflow=text.overflow)
    lines = [line.rstrip() for line in output.get().splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def print_with_blank_lines(items: Iterable[Item], print_item: Callable[[Item], None]) -> None:
    """Print items as they come, with an empty line between them."""
    for index, item in enumerate(items):
        if index > 0:
            sys.stdout.write("\n")
        print_item(item)


def _wrap_cell(cell: str, width: int) -> list[str]:
    """Return the lines of a cell, which are at most as wide as its column."""
    if _count_screen_columns(cell) <= width:
        return [cell]
    from rich.text import Text

    return [line.plain for line in Text(cell).wrap(_make_console(), width, overflow="fold")]


def _cut_words(cell: str, width: int) -> str:
    """Return a cell with words that are wider than ``width`` cut in the middle."""
    words = []
    for word in cell.split(" "):
        word_width = _count_screen_columns(word)
        max_chars = len(word)
        if word_width > width:
            max_chars = width * len(word) // word_width  # characters may be two columns wide
        words.append(shorten_middle(word, max_chars))
    return " ".join(words)


def _count_screen_columns(text: str) -> int:
    """Return the width of a text on the screen, where some characters take two columns."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _fit_widths(natural_widths: Sequence[int], screen_width: int, gap_width: int) -> list[int]:
    """Return the widths of columns so that a table fits on the screen.

    If the table is too wide, the widest columns are cut, with the same results as in rich. In rich
    a gap is the right padding of a column (one space), a border (one space), and the left padding
    of the next column. Borders are also at both ends of the table.
    """
    right_padding = 1
    left_padding = gap_width - 2
    paddings = [left_padding + right_padding for _ in natural_widths]
    paddings[0] -= left_padding
    paddings[-1] -= right_padding
    n_borders = len(natural_widths) + 1
    available = screen_width - n_borders
    padded_widths = [
        min(width + padding, available)
        for width, padding in zip(natural_widths, paddings, strict=True)
    ]
    _cut_widest(padded_widths, available)
    return [
        max(padded_width - padding, min(natural_width, 1))  # one character stays
        for padded_width, padding, natural_width in zip(
            padded_widths, paddings, natural_widths, strict=True
        )
    ]


def _cut_widest(widths: list[int], available: int) -> None:
    """Cut the widest columns in place, equally, until the sum of ``widths`` is ``available``.

    In each round the widest columns are cut, at most to the width of the next narrower column. No
    width becomes negative.
    """
    while True:
        excess = sum(widths) - available
        max_width = max(widths)
        if excess <= 0 or max_width <= 0:
            return
        next_width = max((width for width in widths if width < max_width), default=0)
        widest_columns = [column for column, width in enumerate(widths) if width == max_width]
        n_remaining = len(widest_columns)
        for column in widest_columns:
            cut = min(max_width - next_width, round(excess / n_remaining))
            widths[column] -= cut
            excess -= cut
            n_remaining -= 1


@dataclass()
class _Styles:
    """The setting for styles and colours of this process."""

    when: str = "auto"
    """``auto``, ``always`` or ``never``."""


_styles = _Styles()


def set_colours(when: str) -> None:
    """Use styles and colours ``always``, ``never``, or if the terminal has them (``auto``)."""
    _styles.when = when


def has_styles() -> bool:
    """Return True if standard output shows bold and underlined text."""
    if _styles.when != "auto":
        return _styles.when == "always"
    return sys.stdout.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}


def has_colours() -> bool:
    """Return True if standard output shows colours, and the user did not set NO_COLOR."""
    return has_styles() and (_styles.when == "always" or not os.environ.get("NO_COLOR"))


def _make_console(width: int | None = None) -> Console:
    """Return a console of rich for standard output, with styles and colours as the user set."""
    from rich.console import Console

    is_terminal = sys.stdout.isatty()
    if not width:
        width = None if is_terminal else DEFAULT_SCREEN_COLUMNS  # None: rich measures the terminal
    if _styles.when == "always":
        return Console(width=width, color_system="256", force_terminal=True, no_color=False)
    return Console(
        width=width,
        color_system="auto" if has_styles() else None,
        force_terminal=None if is_terminal else False,  # None: rich looks at the terminal
    )
