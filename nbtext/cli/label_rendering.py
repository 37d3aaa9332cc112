"""Lines for the screen of `nbtext label`: text with marked words, and classes with their keys.

Control characters are escaped.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from math import ceil
from operator import itemgetter

from rich.cells import cell_len, set_cell_size

from nbtext.report.explanations import shade_text
from nbtext.report.output_formats import escape_controls, is_ascii_terminal, render_text

CLASS_KEYS = "1234567890"
"""Keys of the first ten classes."""

MAX_SHOWN_CHARS = 1 << 15
"""Characters of a document that are shown at most."""


def sanitise_text(text: str) -> str:
    """Escape control characters. On a terminal without Unicode, also escape all but ASCII."""
    text = escape_controls(text)
    if not is_ascii_terminal():
        return text
    return (
        text.replace("\u2026", "...")
        .replace("\u2212", "-")
        .encode("ascii", "backslashreplace")
        .decode()
    )


def truncate_line(text: str, width: int) -> str:
    """Return the start of a text that fits into ``width`` columns.

    >>> truncate_line("a\u4e2d\u4e2d", 3)
    'a\u4e2d'
    """
    return set_cell_size(text, width).rstrip()


def render_highlighted_text(pieces: Iterable[tuple[str, float]], width: int) -> list[str]:
    """Return the lines of a text, wrapped between words, with words marked as in `nbtext explain`.

    ``pieces`` are parts of the text, each with its contribution in nats. Text after
    `MAX_SHOWN_CHARS` is cut off.
    """
    shown_pieces: list[tuple[str, float]] = []
    n_chars_left = MAX_SHOWN_CHARS
    for text, contribution in pieces:
        shown_pieces.append((text[:n_chars_left], contribution))
        n_chars_left -= len(text)
        if n_chars_left <= 0:
            shown_pieces.append((" [...]", 0.0))
            break
    return render_text(shade_text(shown_pieces, sanitise_text), width).splitlines()


def render_classes(
    probabilities: Sequence[tuple[str, float]],
    width: int,
    max_lines: int,
    selected: Container[str] | None = None,
    keys: str = CLASS_KEYS,
) -> list[str]:
    """Return at most ``max_lines`` lines with the classes, their keys and probabilities in columns.

    The ``selected`` classes are marked. If it is None, the most probable class is marked. If not
    all classes fit, marked ones are preferred, then the most probable ones.
    """
    if selected is None:
        label, _ = max(probabilities, key=itemgetter(1), default=("", 0.0))
        selected = {label}
    cells = []
    for index, (label, probability) in enumerate(probabilities):
        mark = ">" if label in selected else " "
        key = keys[index] if index < len(keys) else " "
        cells.append(f"{mark}{key} {probability:.2f} {sanitise_text(label)}")
    # Two blanks separate the columns.
    cell_width = min(max(map(cell_len, cells), default=0) + 2, width)
    n_columns = width // cell_width

    def rank(index: int) -> tuple[bool, float]:
        label, probability = probabilities[index]
        is_unmarked = label not in selected
        return is_unmarked, -probability

    best_indices = sorted(range(len(cells)), key=rank)[: n_columns * max_lines]
    shown_cells = [set_cell_size(cells[index], cell_width - 1) for index in sorted(best_indices)]
    n_lines = ceil(len(shown_cells) / n_columns)
    return [" ".join(shown_cells[line::n_lines]).rstrip() for line in range(n_lines)]
