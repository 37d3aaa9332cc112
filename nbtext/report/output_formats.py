"""Forms of output: numbers as people read them, records as lines of TSV, CSV or JSON, and tables for people.

The columns of a table are declared once, each as a `Column`: its head, what stands below it for
a record, and how that is written.

Text from others is made safe to look at: characters that would move a cursor, ring a bell, or break or reverse a line are shown as codes.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from functools import cache
from itertools import chain, islice, zip_longest
from math import inf, isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from nbtext.errors import join_names
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.text import Text

    Columns = Sequence["Column[Any]"]

BLOCK_CHARACTERS = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = ".:-=+*#@"
"""For terminals without these characters."""

METRIC_TITLES = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "log_loss": "log loss (nats)",
    "brier": "Brier score",
    "ece": "calibration error",
}
"""Titles of the main figures."""

PROBABILITY_METRICS = ("log_loss", "brier", "ece")
"""Those of probabilities."""

LEAST_SEEN = 0.01
"""Part of the largest share that `strip` shows."""


def format_percent(value: float | None, decimals: int = 1) -> str:
    r"""Return a share as per cent; the space before the sign does not break.

    >>> percent(0.8031)
    '80.3\xa0%'
    """
    return "not known" if value is None else f"{100 * value:.{decimals}f}\u00a0%"


def format_number(value: float | None, placeholder: str = "infinite", decimals: int = 4) -> str:
    """Return a figure, or the word for one that is absent.

    >>> figure(0.80312), figure(None)
    ('0.8031', 'infinite')
    """
    return placeholder if value is None else f"{value:.{decimals}f}"


def format_interval(interval: Sequence[float] | None, form: str = ".4f") -> str:
    """Return the ends of an interval in a format as of `format_cell_value`, or nothing without one.

    >>> bounds((0.25, 0.75)), bounds((-0.1, 0.2), "+.1f"), bounds(None)
    ('0.2500 to 0.7500', '-0.1 to +0.2', '')
    """
    return " to ".join(format_cell_value(end, form) for end in interval or ())


def format_cell_value(value: object, form: str) -> str:
    """Return a value in a format of Python, or with ``%`` as `format_percent` gives it."""
    return (
        format_percent(value) if form == "%" and isinstance(value, float) else format(value, form)
    )


def format_nats(value: float, decimals: int = 1) -> str:
    """Return a signed number of nats, with a minus sign instead of a hyphen.

    >>> nats(-2.345), nats(-2.345, 2)
    ('−2.3', '−2.35')
    """
    return f"{value:+.{decimals}f}".replace("-", "−").replace("inf", "∞")


def format_six_digits(value: float | None) -> str:
    """Return a number with six significant digits, or nothing for None."""
    return "" if value is None else f"{value:.6g}"


JSON_SIGNIFICANT_DIGITS = 6
"""Significant digits of most numbers in JSON."""


def round_to_six_digits(value: float | None) -> float | None:
    """Return a number rounded to six significant digits, for JSON."""
    return None if value is None else float(format_six_digits(value))


def draw_block(share: float | None) -> str:
    """Return a bar of one character for a share from 0 to 1, and a space for None.

    >>> block(0), block(0.5), block(1), block(None)
    ('▁', '▅', '█', ' ')
    """
    return (
        " "
        if share is None
        else BLOCK_CHARACTERS[min(int(share * len(BLOCK_CHARACTERS)), len(BLOCK_CHARACTERS) - 1)]
    )


def draw_sparkline(shares: Sequence[float], *, ascii_only: bool = False) -> str:
    """Return a bar of one character for each share, the largest one full, without those that hardly show; ``plain`` for ASCII.

    >>> strip([0, 1, 3, 4, 2, 0]), strip([0, 1, 3, 4, 2, 0], plain=True)
    (' ▃▇█▅', ' -#@+')
    """
    most = max(shares)
    drawn = "".join(
        draw_block(share / most if share > LEAST_SEEN * most else None) for share in shares
    ).rstrip()
    return drawn.translate(str.maketrans(BLOCK_CHARACTERS, PLAIN_BLOCKS)) if ascii_only else drawn


Item = TypeVar("Item")
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_controls(text: str) -> str:
    r"""Return the text with control and bidirectional characters, and bytes that are not text, written \xNN or \uNNNN.

    >>> print(visible("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _UNSAFE.sub(_code, text)


def shorten_middle(text: str, max_chars: int) -> str:
    """Return the text, without its middle if it has more than ``most`` characters.

    >>> shortened("a very long label", 9)
    'a ve…abel'
    """
    if len(text) <= max_chars:
        return text
    kept = max(max_chars - 1, 0)
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def escape_controls_on_terminal(text: str) -> str:
    """Return the text as `visible` does if standard output is a terminal, else unchanged."""
    return escape_controls(text) if _is_terminal() else text


@cache
def _is_terminal() -> bool:
    return sys.stdout.isatty()


def is_ascii_terminal() -> bool:
    """Return True on a terminal whose locale names no encoding of Unicode: block characters may be missing."""
    named = next(
        (value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := os.environ.get(name))), ""
    )
    return _is_terminal() and "utf" not in named.lower()


def _code(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not text, as Python represents it
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_TSV_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r")
"""Fullwidth forms too: spreadsheets read them as the others."""


def format_tsv_line(fields: Iterable[str]) -> str:
    r"""Return a line of tab-separated fields; backslash, tab and line breaks inside a field are written \\, \t, \n, \r."""
    return (
        "\t".join([escape_controls_on_terminal(field.translate(_TSV_ESCAPES)) for field in fields])
        + "\n"
    )


def _format_csv_line(fields: Iterable[str]) -> str:
    """Return a record of comma-separated fields, quoted where needed."""
    import csv

    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(map(escape_controls_on_terminal, fields))
    return (
        text.getvalue().removesuffix("\r\n") + "\n"
    )  # with \r\n as the end, \r and \n are both quoted within a field


def escape_formula(text: str) -> str:
    """Return a cell that a spreadsheet reads as text: a formula gets an apostrophe in front (OWASP ASVS 1.2.10).

    >>> excel_safe("=1+1")
    "'=1+1"
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def format_json_line(record: Mapping[str, object]) -> str:
    """Return a JSON object on a line, with escapes for control characters and bytes that are not text."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", line) + "\n"


def write_json(result: object) -> None:
    """Print a record, as `to_json_values` takes it, as a JSON object on a line."""
    sys.stdout.write(format_json_line(_json_values(result)))


def _json_values(result: object) -> Any:  # noqa: ANN401 - as there
    from nbtext.metrics.results import to_json_values  # needs numpy

    return to_json_values(result)


Record = TypeVar("Record")
"""What the columns of a table read."""


@dataclass(frozen=True)
class Column(Generic[Record]):
    """A column of a table: ``value`` reads a record, and ``form`` is the format of its numbers.

    With a format it is aligned right. Both ends of an interval have the format.
    """

    heading: str
    value: Callable[[Record], object]
    format_spec: str = ""
    """As of `format_cell_value`."""
    placeholder: str = ""
    """What stands for None and for an empty text."""


def make_tuple_columns(*heads: str) -> list[Column[Sequence[object]]]:
    """Return columns without a format whose records are tuples in this order."""
    return [Column(head, itemgetter(place)) for place, head in enumerate(heads)]


def format_cells(
    columns: Sequence[Column[Record]],
    records: Iterable[Record],
    infinite: str | None = None,
    escape: Callable[[str], str] = str,
) -> Iterator[list[str]]:
    """Yield the texts of each record; those that are texts in the record are made ``safe``.

    With ``infinite``, numbers that are not finite are words.

    >>> name = Column("class", itemgetter(0))
    >>> interval = Column("95 % interval", itemgetter(1), ".1f", absent="-")
    >>> list(cells([name, interval], [("cats", (0.25, 0.75)), ("dogs", None)]))
    [['cats', '0.2 to 0.8'], ['dogs', '-']]
    """

    def cell(column: Column[Record], record: Record) -> str:
        value = column.value(record)
        if isinstance(value, (tuple, list)):
            between = " to " if column.format_spec else ", "
            value = between.join(format_cell_value(each, column.format_spec) for each in value)
        if isinstance(value, str):
            return escape(value) if value else column.placeholder
        if value is None:
            return column.placeholder
        if infinite and isinstance(value, float) and not isfinite(value):
            return {inf: infinite, -inf: "minus infinity"}.get(value, "undefined")
        return format_cell_value(value, column.format_spec)

    for record in records:
        yield [cell(column, record) for column in columns]


def format_table(
    columns: Sequence[Column[Record]],
    records: Iterable[Record],
    title: str | None = None,
) -> str:
    """Return the lines of a table for people."""
    return format_grid(
        _heads(columns), format_cells(columns, records, "infinite"), _numeric(columns), title
    )


def _heads(columns: Columns) -> list[str]:
    return [column.heading for column in columns]


def _numeric(columns: Columns) -> list[int]:
    return [place for place, column in enumerate(columns) if column.format_spec]


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
    """Print each item as it comes by ``columns``, or each of its ``rows``, in tsv, csv (which has heads) or table; its ``record`` in jsonl.

    ``flush`` prints each line at once. Nothing is printed if the first item raises.
    """
    texts = format_cells(
        columns,
        items if to_rows is None else chain.from_iterable(map(to_rows, items)),
        escape=escape,
    )
    if output == "table":
        print_blocks(format_grid(_heads(columns), texts, _numeric(columns)))
        return
    line_of = _format_csv_line if output == "csv" else format_tsv_line
    lines = (
        map(format_json_line, map(to_record or _json_values, items))
        if output == "jsonl"
        else map(line_of, texts)
    )
    first = list(islice(lines, 1))
    if output == "csv" or (output == "tsv" and tsv_header):
        sys.stdout.write(line_of(_heads(columns)))
    for line in chain(first, lines):
        sys.stdout.write(line)
        if flush:
            sys.stdout.flush()


def write_result(output: str, result: object, rows: object) -> None:
    """Print a result for programs: as an object with ``json``, its ``rows`` flat with tsv, csv or jsonl."""
    if output == "json":
        write_json(result)
        return
    plain = _json_values(rows)
    names = dict.fromkeys(name for record in plain for name, _ in _flat(record))
    columns = make_tuple_columns(*names)
    write_records(
        plain, output, columns, lambda record: [list(map(dict(_flat(record)).get, names))]
    )


def _flat(record: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield names and values; those of a list, such as an interval, are numbered from 1.

    >>> list(_flat({"accuracy": {"mean": 0.5, "interval": [0.4, 0.6]}}))
    [('accuracy_mean', 0.5), ('accuracy_interval_1', 0.4), ('accuracy_interval_2', 0.6)]
    """
    for name, value in record.items():
        inner = dict(enumerate(value, 1)) if isinstance(value, list) else value
        if isinstance(inner, dict):
            yield from _flat(inner, f"{prefix}{name}_")
        else:
            yield f"{prefix}{name}", value


DEFAULT_SCREEN_COLUMNS = 200
"""Columns of the screen where there is no terminal."""

GAP = " " * 3
"""Between two columns: the padding of rich, and the place of its line. On a terminal that is too narrow it is one blank less."""


def print_blocks(*blocks: str) -> None:
    """Print blocks of lines on standard output, with an empty line between two; empty ones are left out."""
    sys.stdout.write("\n".join(filter(None, blocks)))


def format_listing(pairs: Mapping[str, object]) -> str:
    """Return names and values, one pair a line, without those whose value is None."""
    known = {
        name: escape_controls(str(value)) for name, value in pairs.items() if value is not None
    }
    width = max(map(len, known), default=0)
    return "".join(f"{name.ljust(width)}  {value}\n" for name, value in known.items())


NUMBERS_NAMED = 10
"""Of a setting that has numbers by name."""


def format_setting(value: object) -> str:
    """Return the value of a setting for people.

    >>> setting(4096), setting(False), setting({"a": 1.0, "b": 0.5}), setting(None)
    ('4,096', 'no', 'a 1, b 0.5', '—')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
    if isinstance(value, dict):
        return join_names([f"{name} {number:g}" for name, number in value.items()], NUMBERS_NAMED)
    return "—" if value is None else str(value)


def format_settings(settings: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return the names and values of settings that are not None, for people."""
    return tuple(
        (name.replace("_", " "), format_setting(value))
        for name, value in settings.items()
        if value is not None
    )


def format_grid(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    numeric_columns: Iterable[int] = (),
    title: str | None = None,
) -> str:
    """Return rows under column heads; the columns numbered in ``numeric`` are aligned right.

    Cells that are too wide are wrapped between words; a longer word, such as a path, is cut in the middle on a terminal, else folded. Without rich, which
    takes half a millisecond for a row.
    """
    from shutil import get_terminal_size

    right = set(numeric_columns)
    screen = get_terminal_size().columns if _is_terminal() else DEFAULT_SCREEN_COLUMNS
    cells = [[escape_controls(cell) for cell in row] for row in rows]
    for heads, gap in (
        (columns, GAP),
        (columns, GAP[1:]),
        ([max(name.split(), key=_cells, default="") for name in columns], GAP[1:]),
    ):
        natural = [max(map(_cells, column)) for column in zip(heads, *cells, strict=True)]
        if not _is_terminal() or sum(natural) + len(gap) * len(natural) <= screen:
            break
    widths = _widths(natural, screen, len(gap))

    def lines(row: Sequence[str]) -> Iterator[str]:
        """Yield the lines of a row; cells wider than their columns are wrapped."""
        if _is_terminal():
            row = list(map(_cut, row, widths))
        for parts in zip_longest(*map(_wrapped, row, widths), fillvalue=""):
            padded = []
            for place, (part, width) in enumerate(zip(parts, widths, strict=True)):
                kept = part.rstrip()
                blank = " " * (width - _cells(kept))
                padded.append(blank + kept if place in right else kept + blank)
            yield f" {gap.join(padded)}".rstrip()

    bold, end = ("\x1b[1m", "\x1b[0m") if has_styles() else ("", "")
    above = [*([title, ""] if title else []), *(f"{bold}{line}{end}" for line in lines(columns))]
    rule = f" {'─' * (sum(widths) + len(gap) * (len(widths) - 1))}"
    return "".join(
        f"{line}\n" for line in (*above, rule, *(line for row in cells for line in lines(row)))
    )


def render_text(text: Text, width: int | None = None) -> str:
    """Return the lines of a text of rich on the screen, or in other columns."""
    console = _console(width)
    with console.capture() as printed:
        console.print(text, no_wrap=text.no_wrap, overflow=text.overflow)
    return "\n".join(line.rstrip() for line in printed.get().splitlines()).strip("\n") + "\n"


def print_with_blank_lines(parts: Iterable[Item], print_item: Callable[[Item], None]) -> None:
    """Print records as they come, with empty lines between them."""
    for number, part in enumerate(parts):
        if number:
            sys.stdout.write("\n")
        print_item(part)


def _wrapped(cell: str, width: int) -> list[str]:
    if _cells(cell) <= width:
        return [cell]
    from rich.text import Text

    return [line.plain for line in Text(cell).wrap(_console(), width, overflow="fold")]


def _cut(cell: str, width: int) -> str:
    """Return a cell whose words all fit into a column."""
    return " ".join(
        word if _cells(word) <= width else shorten_middle(word, width * len(word) // _cells(word))
        for word in cell.split(" ")
    )


def _cells(text: str) -> int:
    """Return the columns of the screen that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _widths(natural: Sequence[int], screen: int, gap: int) -> list[int]:
    """Return the widths of columns; if they do not fit, the widest are cut as rich cuts them, with a blank on each inner side."""
    blanks = []
    for place in range(len(natural)):
        before = gap - 2 if place > 0 else 0
        after = 1 if place < len(natural) - 1 else 0
        blanks.append(before + after)
    available = screen - len(natural) - 1
    widths = [min(width + blank, available) for width, blank in zip(natural, blanks, strict=True)]
    while (excess := sum(widths) - available) > 0 and (widest := max(widths)) > 0:
        step = widest - max((width for width in widths if width < widest), default=0)
        places = [place for place, width in enumerate(widths) if width == widest]
        for left, place in zip(range(len(places), 0, -1), places, strict=True):
            cut = min(step, round(excess / left))
            widths[place] -= cut
            excess -= cut
    return [
        max(width - blank, min(whole, 1))
        for width, blank, whole in zip(widths, blanks, natural, strict=True)
    ]


@dataclass()
class _Styles:
    """Use of bold, underlined and coloured letters: auto, always or never."""

    when: str = "auto"


_styles = _Styles()


def set_colours(when: str) -> None:
    """Use styles and colours ``always``, ``never``, or, with ``auto``, on a terminal that has them."""
    _styles.when = when


def has_styles() -> bool:
    """Return True if standard output shows bold and underlined letters."""
    return _styles.when == "always" or (
        _styles.when == "auto"
        and sys.stdout.isatty()
        and os.environ.get("TERM") not in {"dumb", "unknown"}
    )


def has_colours() -> bool:
    """Return True if it shows colours too, and the user wants them."""
    return has_styles() and (_styles.when == "always" or not os.environ.get("NO_COLOR"))


def _console(width: int | None = None) -> Console:
    from rich.console import Console

    on_terminal = sys.stdout.isatty()
    always = _styles.when == "always"
    colours: Literal["256", "auto"] | None = "auto" if has_styles() else None
    if always:
        colours = "256"
    return Console(
        width=width or (None if on_terminal else DEFAULT_SCREEN_COLUMNS),
        color_system=colours,
        force_terminal=always or (None if on_terminal else False),
        no_color=False if always else None,
    )
