"""Drawing of `nbtext label`: text in lines of a width with words marked, and classes with their keys. All text is safe to look at."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from rich.cells import cell_len, set_cell_size

from nbtext.report.explanations import shade_text
from nbtext.report.output_formats import escape_controls, is_ascii_terminal, render_text

CLASS_KEYS = "1234567890"
"""Of the first ten classes."""

MAX_SHOWN_CHARS = 1 << 15
"""Characters of a document that are shown."""


def sanitise_text(text: str) -> str:
    """Return text that cannot move the cursor, in ASCII for a terminal that may have nothing else."""
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
    """Return as much of a text as fits.

    >>> cut("a\u4e2d\u4e2d", 3)
    'a\u4e2d'
    """
    return set_cell_size(text, width).rstrip()


def render_highlighted_text(pieces: Iterable[tuple[str, float]], width: int) -> list[str]:
    """Return the lines of a text in pieces with nats, wrapped between words, the telling words marked as `nbtext explain` marks them."""
    shown: list[tuple[str, float]] = []
    left = MAX_SHOWN_CHARS
    for text, nats in pieces:
        shown.append((text[:left], nats))
        left -= len(text)
        if left <= 0:
            shown.append((" [...]", 0.0))
            break
    return render_text(shade_text(shown, sanitise_text), width).splitlines()


def render_classes(
    probabilities: Sequence[tuple[str, float]],
    width: int,
    max_lines: int,
    selected: Container[str] | None = None,
    keys: str = CLASS_KEYS,
) -> list[str]:
    """Return the classes with keys and probabilities in columns, at most so many lines: of too many classes the most probable.

    The most probable class is marked, or those that are ``chosen``, which come first.
    """
    marked = (
        max(probabilities, key=lambda pair: pair[1], default=("", 0.0))[:1]
        if selected is None
        else selected
    )
    by_probability = sorted(
        range(len(probabilities)),
        key=lambda number: (probabilities[number][0] not in marked, -probabilities[number][1]),
    )
    texts = [
        f"{'>' if label in marked else ' '}{keys[number : number + 1] or ' '} {probability:.2f} "
        f"{sanitise_text(label)}"
        for number, (label, probability) in enumerate(probabilities)
    ]
    widest = min(max(map(cell_len, texts), default=0) + 2, width)
    across = width // widest
    shown = [
        set_cell_size(texts[number], widest - 1)
        for number in sorted(by_probability[: across * max_lines])
    ]
    down = -(-len(shown) // across)
    return [" ".join(shown[line::down]).rstrip() for line in range(down)]
