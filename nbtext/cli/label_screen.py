"""The screen of `nbtext label`: one document, the classes with their keys, and how far the work is. It asks the session and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli.label_drawing import KEYS, class_lines, cut, safe, screen_width, text_lines
from nbtext.cli.label_terminal import BACKSPACE, CLOSED, DOWN, ENTER, ESCAPE, PAGE_DOWN, PAGE_UP, RESIZED, TAB, UP
from nbtext.errors import UsageError, quantity
from nbtext.labelling.stopping import advice, outlook
from nbtext.labelling.telling_words import TellingWords
from nbtext.report.forms import has_styles, shortened

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.cli.label_terminal import Terminal
    from nbtext.labelling.session import Session

FORECAST_EVERY = 50
"""Labels after which the forecast is shown unasked."""

FEWEST_TO_ESTIMATE = 5
"""Documents drawn at random from which an accuracy is shown."""

COMMANDS = ("Enter >class", "1-0 class", "n name", "s skip", "u undo", "/ search", "f forecast", "q quit")
"""On the last line, as many as fit: with the keys that one would not guess first."""


class LabelScreen:
    """Asks about documents until none is left or the person leaves."""

    def __init__(self, session: Session, terminal: Terminal, answer: Callable[[int, str], None]) -> None:
        """``answer`` stores a label."""
        self._session, self._terminal, self._answer = session, terminal, answer
        self._words = TellingWords(session)
        self._row: int | None = None
        self._top = 0
        self._message = ""
        self._hits: list[int] = []
        self._page = 1

    def run(self) -> None:
        """Ask until none is left, or the person leaves."""
        actions: dict[str, Callable[[], None]] = {
            ENTER: self._accept, "n": self._name, "s": self._skip, "u": self._undo, BACKSPACE: self._undo, "/": self._search, "f": self._forecast,
            "k": self._keep, " ": lambda: self._scroll(self._page), PAGE_DOWN: lambda: self._scroll(self._page), PAGE_UP: lambda: self._scroll(-self._page),
            "b": lambda: self._scroll(-self._page), DOWN: lambda: self._scroll(1), UP: lambda: self._scroll(-1),
        }  # fmt: skip
        self._move(self._session.next_document())
        while self._row is not None:
            self._draw(self._last_line())
            key = self._terminal.key()
            if key in ("q", CLOSED):
                return
            if key != RESIZED:
                self._message = ""
            if key in KEYS and KEYS.index(key) < len(self._session.classes):
                self._label(self._session.classes[KEYS.index(key)])
            elif key in actions:
                actions[key]()
            elif key not in (RESIZED, ESCAPE, TAB):
                self._message = (
                    f"no class has the key {key}; n names a new one" if key in KEYS else "this key does nothing; see the last line"
                )

    @property
    def _is_review(self) -> bool:
        return self._row is not None and self._session.kept_label(self._row) is not None

    def _move(self, row: int | None) -> None:
        self._row, self._top = row, 0

    def _label(self, label: str) -> None:
        assert self._row is not None  # noqa: S101 - the loop ends without a document
        try:
            self._answer(self._row, label)
        except UsageError as problem:
            self._message = problem.line
            return
        self._hits = [row for row in self._hits if row != self._row]
        if not self._is_review and len(self._session.labels) % FORECAST_EVERY == 0:
            self._forecast()
        self._move(self._session.next_document())

    def _accept(self) -> None:
        if len(self._session.classes) < 2:
            self._message = "nothing is suggested yet; n names a class"
        elif self._row is not None:
            self._label(max(self._session.probabilities(self._row), key=lambda pair: pair[1])[0])

    def _keep(self) -> None:
        label = None if self._row is None else self._session.kept_label(self._row)
        if label is None:
            self._message = "k keeps a label in a review; this document has none"
        else:
            self._label(label)

    def _name(self) -> None:
        typed = self._prompt("class: ", self._completion)
        if typed:
            self._label(typed)

    def _completion(self, typed: str) -> str | None:
        return next((label for label in self._session.classes if typed and label.startswith(typed) and label != typed), None)

    def _skip(self) -> None:
        if self._row is not None:
            self._session.skip(self._row)
            self._hits = [row for row in self._hits if row != self._row]
            self._move(self._session.next_document())

    def _undo(self) -> None:
        row = self._session.undo()
        if row is None:
            self._message = "there is nothing to undo"
            return
        self._message = "taken back; label it anew"
        self._move(row if row < self._session.n_asked else self._session.next_document())

    def _search(self) -> None:
        typed = self._prompt("search (empty: next one found): ", lambda _: None)
        if typed is None:
            return
        if typed:
            self._hits = self._session.search(typed)
        elif self._hits:
            self._hits = [*self._hits[1:], self._hits[0]]
        if self._hits:
            self._message = f"{quantity(len(self._hits), 'document')} found without a label"
            self._move(self._hits[0])
        else:
            self._message = "no document without a label holds that"

    def _forecast(self) -> None:
        if self._is_review:
            self._message = "suspects are no random sample, so there is no forecast"
            return
        self._message = advice(outlook(self._session))

    def _scroll(self, lines: int) -> None:
        self._top += lines

    def _prompt(self, question: str, completion: Callable[[str], str | None]) -> str | None:
        """Return what is typed, without blanks around it; None if it is given up."""
        typed = ""
        while True:
            offer = completion(typed)
            self._draw(f"{question}{safe(typed)}_" + (f"   Tab: {safe(offer)}" if offer else "") + "   Enter: done   Esc: back")
            key = self._terminal.key()
            if key == ENTER:
                return typed.strip()
            if key in (ESCAPE, CLOSED):
                return None
            if key == TAB:
                typed = offer or typed
            elif key == BACKSPACE:
                typed = typed[:-1]
            elif len(key) == 1:
                typed += key

    def _draw(self, last: str) -> None:
        assert self._row is not None  # noqa: S101 - the loop ends without a document
        session = self._session
        width, height = self._terminal.size
        width -= 1  # a terminal may wrap after its last column
        probabilities = session.probabilities(self._row)
        classes = class_lines(probabilities, width, max(height // 3, 1))
        if height < 10:
            classes = classes[: max(height - 5, 1)]
        pieces = [(session.pool.text(self._row), 0.0)]
        if len(probabilities) > 1:
            first, second = (label for label, _ in sorted(probabilities, key=lambda pair: -pair[1])[:2])
            pieces = list(self._words.pieces(self._row, first, second))
        lines = text_lines(pieces, width)
        room = max(height - len(classes) - 5, 1)
        self._page = max(room - 1, 1)
        self._top = max(0, min(self._top, len(lines) - room))
        shown = lines[self._top : self._top + room]
        left = len(lines) - self._top - len(shown)
        more = f"  [{quantity(left, 'line')} more: space]" if left else "  [end]" if self._top else ""
        name = safe(shortened(session.pool.names[self._row], max(width - len(more) - 1, 8)))
        said = self._message or session.remark(self._row)
        rows = [cut(self._status(), width), cut(safe(said), width), _bold(cut(name, width - len(more))) + cut(more, width), *shown]
        rows += [""] * (height - len(rows) - len(classes) - 1)
        self._terminal.show([*rows[: max(height - len(classes) - 1, 1)], *classes, cut(last, width)][:height])

    def _status(self) -> str:
        session, estimate = self._session, self._session.estimate()
        status = f"{session.done}, {session.n_left:,} left"
        if estimate.documents < FEWEST_TO_ESTIMATE:
            return status
        low, high = estimate.interval
        return f"{status} | accuracy about {estimate.accuracy:.2f} ({low:.2f} to {high:.2f}, {estimate.documents} at random)"

    def _last_line(self) -> str:
        width, _ = self._terminal.size
        shown = ["k keep label", *COMMANDS] if self._is_review else list(COMMANDS)
        while len(shown) > 1 and screen_width("  ".join(shown)) >= width:
            del shown[-2]  # how to leave is always there
        return "  ".join(shown)


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if has_styles() else text
