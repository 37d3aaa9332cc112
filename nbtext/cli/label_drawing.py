"""Drawing of `nbtext label`: text in lines of a width with words marked, and classes with their keys. All text is safe to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from unicodedata import combining, east_asian_width

from nbtext.report.explanations import level
from nbtext.report.forms import has_colours, has_styles, is_plain_terminal, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

KEYS = "1234567890"
"""Of the first ten classes."""

LONGEST = 1 << 15
"""Characters of a document that are shown."""

_FOR = ("", "\x1b[1;38;5;16;48;5;189m", "\x1b[1;38;5;16;48;5;110m", "\x1b[1;38;5;231;48;5;25m")
_AGAINST = ("", "\x1b[4;38;5;16;48;5;223m", "\x1b[4;38;5;16;48;5;215m", "\x1b[4;38;5;231;48;5;94m")
"""By level, as `nbtext explain` shades words; 256 colours."""
_BOLD, _UNDERLINED, _END = "\x1b[1m", "\x1b[4m", "\x1b[0m"


class _Mark(NamedTuple):
    """What stands before and after a word."""

    begin: str = ""
    end: str = ""
    is_text: bool = False
    """Whether it takes columns of the screen."""


NO_MARK = _Mark()


def mark(nats: float, strongest: float) -> _Mark:
    """Return how a word is marked by what it adds for the first class, or against it."""
    depth = level(nats, strongest)
    if not depth:
        return NO_MARK
    if has_colours():
        return _Mark((_FOR if nats > 0 else _AGAINST)[depth], _END)
    if has_styles():
        return _Mark(_BOLD if nats > 0 else _UNDERLINED, _END)
    sign = "*" if nats > 0 else "_"
    return _Mark(sign, sign, is_text=True) if depth > 1 else NO_MARK


def safe(text: str) -> str:
    """Return text that cannot move the cursor, in ASCII for a terminal that may have nothing else."""
    text = visible(text)
    return text.replace("\u2026", "...").encode("ascii", "backslashreplace").decode() if is_plain_terminal() else text


def screen_width(text: str) -> int:
    """Return the columns of the screen that a text takes.

    >>> screen_width("a\u4e2d\u0301")
    3
    """
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if character.isascii():
        return 1
    return 0 if combining(character) else 1 + (east_asian_width(character) in "WF")


def cut(text: str, width: int) -> str:
    """Return as much of a text as fits, in steps of the width."""
    used = 0
    for place, character in enumerate(text):
        used += _width(character)
        if used > width:
            return text[:place]
    return text


def text_lines(pieces: Iterable[tuple[str, float]], width: int) -> list[str]:
    """Return the lines of a text in pieces with nats, wrapped between words, the telling words marked."""
    pieces = list(pieces)
    strongest = max((abs(nats) for _, nats in pieces), default=0.0)
    wrapping, left = _Wrapping(width), LONGEST
    for text, nats in pieces:
        for number, line in enumerate(text[:left].expandtabs(4).split("\n")):
            if number:
                wrapping.end_line()
            for word in _words(line):
                wrapping.add(safe(word), mark(nats, strongest))
        left -= len(text)
        if left <= 0:
            wrapping.add(" [...]", NO_MARK)
            break
    wrapping.end_line()
    while wrapping.lines and not wrapping.lines[-1]:
        wrapping.lines.pop()
    return wrapping.lines


class _Wrapping:
    """Lines of a width that are filled with words."""

    def __init__(self, width: int) -> None:
        self.lines: list[str] = []
        self._width = width
        self._line: list[tuple[str, _Mark]] = []
        self._used = 0

    def add(self, word: str, how: _Mark) -> None:
        """Add a word or the blanks between two, on a new line if it does not fit; cut a word that is longer than a line."""
        around, is_blank = 2 * how.is_text, word.isspace()
        size = screen_width(word) + around
        if self._used and self._used + size > self._width and not is_blank:
            carried = self._together_with_next()
            self.end_line()
            for piece in carried:
                self._put(*piece)
        while self._used + size > self._width and word:
            part = cut(word, self._width - self._used - around)
            if part or not self._used:
                part = part or word[0]
                self._put(part, how)
            self.end_line()
            word, size = "" if is_blank else word[len(part) :], size - screen_width(part)
        if word:
            self._put(word, how)

    def end_line(self) -> None:
        """Begin a new line."""
        self.lines.append("".join(f"{how.begin}{word}{how.end}" for word, how in self._line).rstrip())
        self._line, self._used = [], 0

    def _put(self, word: str, how: _Mark) -> None:
        self._line.append((word, how))
        self._used += screen_width(word) + 2 * how.is_text

    def _together_with_next(self) -> list[tuple[str, _Mark]]:
        """Take the last parts of the line that no blank separates from what follows, unless they are all of it."""
        place = len(self._line)
        while place and not self._line[place - 1][0].isspace():
            place -= 1
        carried = self._line[place:] if place else []
        del self._line[len(self._line) - len(carried) :]
        return carried


def _words(line: str) -> Iterator[str]:
    """Yield words and the blanks between them."""
    begin = 0
    for place in range(1, len(line) + 1):
        if place == len(line) or line[place].isspace() != line[begin].isspace():
            yield line[begin:place]
            begin = place


def class_lines(probabilities: Sequence[tuple[str, float]], width: int, most: int) -> list[str]:
    """Return the classes with keys and probabilities in columns, at most so many lines: of too many classes the most probable."""
    best = max(probabilities, key=lambda pair: pair[1], default=("", 0.0))[0]
    cells = []
    for number, (label, probability) in enumerate(probabilities):
        key = KEYS[number] if number < len(KEYS) else " "
        cells.append((probability, f"{'>' if label == best else ' '}{key} {probability:.2f} {safe(label)}"))
    widest = min(max((screen_width(text) for _, text in cells), default=0) + 2, width)
    across = max(width // max(widest, 1), 1)
    if len(cells) > across * most:
        least = sorted((probability for probability, _ in cells), reverse=True)[across * most - 1]
        cells = [cell for cell in cells if cell[0] >= least][: across * most]
    down = -(-len(cells) // across)
    texts = [cut(text, widest - 1) for _, text in cells]
    padded = [text + " " * (widest - screen_width(text)) for text in texts]
    return [cut("".join(padded[line::down]).rstrip(), width) for line in range(down)]
