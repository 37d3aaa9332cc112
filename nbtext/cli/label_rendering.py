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
"""Maximum number of characters of a document on the screen."""

UNMARKED = 0.0
"""Contribution of a piece of text that is not to be marked."""


def sanitise_text(text: str) -> str:
    """Escape control characters. Escape all but ASCII if the terminal has no Unicode."""
    text = escape_controls(text)
    if not is_ascii_terminal():
        return text
    text = text.replace("\N{HORIZONTAL ELLIPSIS}", "...").replace("\N{MINUS SIGN}", "-")
    return text.encode("ascii", "backslashreplace").decode()


def truncate_line(text: str, width: int) -> str:
    """Return the start of a text that fits into ``width`` columns.

    >>> truncate_line("a\u4e2d\u4e2d", 3)
    'a\u4e2d'
    """
    return set_cell_size(text, width).rstrip()


def render_highlighted_text(pieces: Iterable[tuple[str, float]], width: int) -> list[str]:
    """Return the lines of a text, wrapped between words, with words marked as in `nbtext explain`.

    ``pieces`` are the successive parts of the text, each with its contribution in nats. Text after
    `MAX_SHOWN_CHARS` is cut off.
    """
    shown_pieces: list[tuple[str, float]] = []
    n_chars_left = MAX_SHOWN_CHARS
    for text, contribution in pieces:
        shown_pieces.append((text[:n_chars_left], contribution))
        n_chars_left -= len(text)
        if n_chars_left <= 0:
            shown_pieces.append((" [...]", UNMARKED))
            break
    shaded_text = shade_text(shown_pieces, sanitise_text)
    return render_text(shaded_text, width).splitlines()


def render_classes(
    probabilities: Sequence[tuple[str, float]],
    width: int,
    max_lines: int,
    selected: Container[str] | None = None,
    keys: str = CLASS_KEYS,
) -> list[str]:
    """Return at most ``max_lines`` lines with the classes, their keys and probabilities in columns.

    The ``selected`` classes are marked. If ``selected`` is None, the most probable class is marked.
    If not all classes fit, marked classes are preferred, then classes with a high probability.
    """
    if not probabilities:
        return []
    if selected is None:
        most_probable_label, _ = max(probabilities, key=itemgetter(1))
        selected = {most_probable_label}
    cells = []
    for index, (label, probability) in enumerate(probabilities):
        mark = ">" if label in selected else " "
        key = keys[index] if index < len(keys) else " "
        cells.append(f"{mark}{key} {probability:.2f} {sanitise_text(label)}")
    # Two blanks separate the columns.
    max_cell_width = max(map(cell_len, cells)) + 2
    cell_width = min(max_cell_width, width)
    n_columns = width // cell_width

    def get_rank(index: int) -> tuple[bool, float]:
        """Return a sort key by which marked, then probable classes come first."""
        label, probability = probabilities[index]
        is_unmarked = label not in selected
        return is_unmarked, -probability

    shown_indices = sorted(range(len(cells)), key=get_rank)[: n_columns * max_lines]
    # The shown classes keep their order, so that keys do not change their position.
    shown_cells = [set_cell_size(cells[index], cell_width - 1) for index in sorted(shown_indices)]
    # The columns are filled from top to bottom.
    n_lines = ceil(len(shown_cells) / n_columns)
    return [" ".join(shown_cells[line::n_lines]).rstrip() for line in range(n_lines)]
