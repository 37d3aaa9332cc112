"""Tables for people, by rich: aligned, coloured on a terminal only."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nbtext.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

WIDE = 200
"""Columns assumed where there is no terminal to ask."""


def print_table(title: str | None, columns: Sequence[str], rows: Iterable[Sequence[str]], numeric: Iterable[int] = ()) -> None:
    """Print rows under column heads on standard output; the columns numbered in ``numeric`` are aligned right."""
    from rich import box
    from rich.table import Table

    right = set(numeric)
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_plain(cell) for cell in row))
    print_drawn(lambda _: table)


def print_drawn(draw: Callable[[int], Any]) -> None:
    """Print what rich can draw, made for a screen of so many columns, on standard output."""
    console = _console()
    with console.capture() as printed:
        console.print(draw(console.width))
    lines = [line.rstrip() for line in printed.get().splitlines()]
    sys.stdout.write("\n".join(lines).strip("\n") + "\n")


def print_lines(pairs: Mapping[str, object]) -> None:
    """Print names and values, one pair a line."""
    width = max(map(len, pairs), default=0)
    for name, value in pairs.items():
        sys.stdout.write(f"{name.ljust(width)}  {visible(str(value))}\n")


def print_blank() -> None:
    """Print an empty line between two parts."""
    sys.stdout.write("\n")


def _plain(text: str) -> Any:  # noqa: ANN401 - a rich.text.Text, which must not be imported at start
    from rich.text import Text

    return Text(visible(text))


def _console() -> Any:  # noqa: ANN401 - a rich.console.Console, likewise
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=WIDE, color_system=None, force_terminal=False)
