"""The confusion table as a small picture for a terminal: the darker a cell, the larger its share of the true class."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from nbtext.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_CLASSES = 20
"""With more the picture would not fit."""

LONGEST_NAME = 24

CORNER = "true class, by answer"

SHADES = " ·░▒▓█"
"""For a terminal too narrow for numbers: nothing, and shares up to those of `STEPS`, and more."""

STEPS = (0.0, 0.05, 0.25, 0.5, 0.75)

WHITE_FROM = 0.69
"""Root of the share from which white letters have more contrast than black ones."""

_LIGHT, _DARK = (236, 242, 250), (8, 64, 129)


def confusion_rows(summary: Mapping[str, Any]) -> tuple[list[str], list[list[int]]] | None:
    """Labels that occur among documents or answers, and for each the documents by answer, no answer last; None if there are too many labels."""
    labels = [label for label, of in summary["per_class"].items() if of["support"] or of["answered"]]
    if not 1 < len(labels) <= MOST_CLASSES:
        return None
    confusion = summary["confusion"]
    return labels, [[confusion.get(truth, {}).get(answer, 0) for answer in (*labels, "")] for truth in labels]


def heat_map(labels: Sequence[str], rows: Sequence[Sequence[int]], width: int) -> Any:  # noqa: ANN401 - a rich.text.Text, not to be imported at start
    """The table with shaded cells, at most ``width`` columns wide; numbers in the cells, or where they do not fit shades without colour."""
    from rich.text import Text

    unanswered = any(row[-1] for row in rows)
    heads = [*(str(place) for place in range(1, len(labels) + 1)), *(["none"] if unanswered else [])]
    names = [_short(label) for label in labels]
    room = max(map(len, names)) + len(str(len(labels))) + 2
    cell = max(2, *(len(str(n)) for row in rows for n in row), *map(len, heads)) + 1
    numbers = room + cell * len(heads) <= width
    drawn = Text()
    if numbers:
        drawn.append((CORNER if len(CORNER) < room else "").ljust(room) + "".join(head.rjust(cell) for head in heads) + "\n", style="dim")
    for place, (name, row) in enumerate(zip(names, rows, strict=True), 1):
        drawn.append(f"{place:>{len(str(len(labels)))}} {name}".ljust(room))
        total = sum(row) or 1
        for answer, n in enumerate(row if unanswered else row[:-1], 1):
            if numbers:
                drawn.append(" ")
                drawn.append((str(n) if n else "·").rjust(cell - 1), style=cell_style(n / total, right=answer == place) if n else "dim")
            else:
                drawn.append(shade(n / total))
        drawn.append("\n")
    return drawn


def shade(share: float) -> str:
    """A character for a share from 0 to 1, the fuller the larger.

    >>> shade(0), shade(0.01), shade(0.5), shade(1)
    (' ', '·', '▒', '█')
    """
    return SHADES[bisect_left(STEPS, share)]


def cell_style(share: float, *, right: bool) -> str:
    """Background from light to dark by the root of the share, so that few are seen, and letters that stand out on it; bold where right."""
    r, g, b = (round(light + (dark - light) * share**0.5) for light, dark in zip(_LIGHT, _DARK, strict=True))
    letters = "rgb(255,255,255)" if share**0.5 > WHITE_FROM else "rgb(0,0,0)"
    return f"{'bold ' if right else ''}{letters} on rgb({r},{g},{b})"


def _short(label: str) -> str:
    text = visible(label)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
