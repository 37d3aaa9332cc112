"""The screen of `nbtext label`: one document, the classes with their keys, and how far the work is. It asks the session and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli.label_rendering import (
    CLASS_KEYS,
    render_classes,
    render_highlighted_text,
    sanitise_text,
    truncate_line,
)
from nbtext.errors import UsageError, format_quantity
from nbtext.prediction.labels import list_labels, make_label_set, split_label
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior, Posterior
from nbtext.report.output_formats import shorten_middle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.cli.label_terminal import Terminal
    from nbtext.labelling.session import Session
    from nbtext.prediction.labels import Label

FEWEST_TO_ESTIMATE = 5
"""Documents drawn at random from which an accuracy is shown."""


class LabelScreen:
    """Asks about documents until none is left or the person leaves."""

    keys = CLASS_KEYS
    commands = "Enter >class  1-0 class  n name  s skip  u undo  / search"
    """On the last line, as many as fit. The keys that one would not guess come first."""

    def __init__(
        self, session: Session, terminal: Terminal, answer: Callable[[int, Label], None]
    ) -> None:
        """``answer`` stores a label."""
        self._session = session
        self._terminal = terminal
        self._answer = answer
        self._is_over = False
        self._row = self._top = 0
        self._message = self._wanted = ""
        self._page = 1
        self._chosen: set[str] | None = None
        """Of several labels those that Enter stores."""
        self._new: list[str] = []
        """Labels that were named for this document, and that no other has."""

    def run(self) -> None:
        """Ask until none is left, or the person leaves."""
        actions = {
            "enter": self._accept,
            "n": self._name,
            "s": self._skip,
            "u": self._undo,
            "backspace": self._undo,
            "/": self._search,
            "k": self._keep,
        }
        self._next()
        while not self._is_over:
            self._draw(f"q quit  {'k keep label  ' * self._is_review}{self.commands}")
            key = self._terminal.read_key()
            if key in ("q", "closed"):
                return
            if key == "resized":
                continue
            self._message = ""
            scrolled = {
                " ": self._page,
                "page-down": self._page,
                "page-up": -self._page,
                "b": -self._page,
                "down": 1,
                "up": -1,
            }
            if (label := dict(zip(self.keys, self._names, strict=False)).get(key)) is not None:
                self._press(label)
            elif key in actions:
                actions[key]()
            elif key in scrolled:
                self._top += scrolled[key]
            else:
                self._message = f"the key {key} does nothing here; see the last line"

    @property
    def _is_review(self) -> bool:
        return self._session.get_current_label(self._row) is not None

    def _move(self, row: int | None) -> None:
        self._is_over = row is None
        self._row = row or 0
        self._top = 0

    def _next(self) -> None:
        self._move(self._session.choose_document())

    def _label(self, label: Label) -> None:
        try:
            self._answer(self._row, label)
        except UsageError as problem:
            self._message = problem.line
            return
        self._next()

    def _press(self, label: str) -> None:
        self._label(label)

    @property
    def _names(self) -> list[str]:
        return [*self._session.classes, *self._new]

    def _accept(self) -> None:
        if len(self._session.classes) < 2:
            self._message = "nothing is suggested yet; n names a class"
        else:
            self._label(
                max(self._session.predict_probabilities(self._row), key=lambda pair: pair[1])[0]
            )

    def _keep(self) -> None:
        label = self._session.get_current_label(self._row)
        if label is None:
            self._message = "k keeps a label in a review; this document has none"
        else:
            self._label(label)

    def _name(self) -> None:
        typed = self._prompt("class: ", self._session.classes)
        if typed:
            self._label(typed)

    def _skip(self) -> None:
        self._session.skip(self._row)
        self._next()

    def _undo(self) -> None:
        row = self._session.undo()
        if row is None:
            self._message = "there is nothing to undo"
            return
        self._message = "taken back; label it again"
        self._move(row if row < self._session.n_asked else self._session.choose_document())

    def _search(self) -> None:
        typed = self._prompt("search (empty: next one found): ")
        if typed is None:
            return
        self._wanted = typed or self._wanted
        found = sorted(self._session.search(self._wanted)) if self._wanted else []
        if found:
            self._message = f"{format_quantity(len(found), 'document')} found without a label"
            self._move(next((row for row in found if row > self._row), found[0]))
        else:
            self._message = "no document without a label contains that"

    def _prompt(self, question: str, known: Sequence[str] = ()) -> str | None:
        """Return what is typed, without blanks around it; None if the person goes back. Tab completes it to one of the ``known`` names."""
        typed = ""
        while True:
            offer = next(
                (name for name in known if typed and name.startswith(typed) and name != typed), None
            )
            self._draw(
                f"{question}{sanitise_text(typed)}_"
                + (f"   Tab: {sanitise_text(offer)}" if offer else "")
                + "   Enter: done   Esc: back"
            )
            key = self._terminal.read_key()
            if key == "enter":
                return typed.strip()
            if key in ("escape", "closed"):
                return None
            if key == "tab":
                typed = offer or typed
            elif key == "backspace":
                typed = typed[:-1]
            elif len(key) == 1:
                typed += key

    def _draw(self, last: str) -> None:
        session = self._session
        width, height = self._terminal.size
        width -= 1  # a terminal may wrap after its last column
        probabilities = session.predict_probabilities(self._row)
        shown = [*probabilities, *((label, 0.0) for label in self._new)]
        classes = render_classes(
            shown, width, max(min(height // 3, height - 5), 1), self._chosen, self.keys
        )
        pieces = [(session.pool.get_text(self._row), 0.0)]
        if len(probabilities) > 1:
            first, second = (
                label for label, _ in sorted(probabilities, key=lambda pair: -pair[1])[:2]
            )
            pieces = list(session.highlight_text(self._row, first, second))
        lines = render_highlighted_text(pieces, width)
        room = max(height - len(classes) - 5, 1)
        self._page = max(room - 1, 1)
        self._top = max(0, min(self._top, len(lines) - room))
        left = max(len(lines) - self._top - room, 0)
        more = ""
        if left:
            more = f"  [{format_quantity(left, 'line')} more: space]"
        elif self._top:
            more = "  [end]"
        name = shorten_middle(session.pool.documents[self._row].id, max(width - len(more) - 1, 8))
        above = [
            self._status(),
            sanitise_text(self._message or session.get_note(self._row)),
            sanitise_text(name) + more,
        ]
        rows = [
            *(truncate_line(line, width) for line in above),
            *lines[self._top : self._top + room],
        ]
        n_rows = max(height - len(classes) - 1, 1)
        rows += [""] * (n_rows - len(rows))
        self._terminal.draw([*rows[:n_rows], *classes, truncate_line(last, width)][:height])

    def _status(self) -> str:
        session = self._session
        estimate = self._session.estimate_accuracy()
        status = f"{session.progress_text}, {session.n_waiting:,} left"
        if estimate.n_documents < FEWEST_TO_ESTIMATE:
            return status
        low, high = estimate.interval
        return (
            f"{status} | accuracy about {estimate.accuracy:.2f} ({low:.2f} to {high:.2f}, "
            f"{estimate.n_documents} at random)"
        )


class LabelSetScreen(LabelScreen):
    """Asks about documents that may have several labels: their keys switch them on and off, and Enter stores those that are on, or none."""

    keys = f"{CLASS_KEYS}acdeghijlmoprtvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    commands = "Enter >labels  1-Z on/off  n name  s skip  u undo  / search"

    _chosen: set[str]

    def _move(self, row: int | None) -> None:
        super()._move(row)
        self._new, self._chosen = (
            [],
            set() if row is None else {label for label, _ in self._session.propose_labels(row)},
        )

    def _press(self, label: str) -> None:
        self._chosen ^= {label}

    def _accept(self) -> None:
        self._label(make_label_set(self._chosen))

    def _name(self) -> None:
        typed = self._prompt("labels: ", self._names)
        for label in list_labels(split_label(typed or "", self._session.plan.separator)):
            if label not in self._names:
                self._new.append(label)
            self._chosen.add(label)


SCREENS: dict[type[Posterior], type[LabelScreen]] = {
    ClassPosterior: LabelScreen,
    LabelPosterior: LabelSetScreen,
}
"""By the kind of labels."""
