"""The screen of `nbtext label`: it shows a document and the classes, and reads keys.

The session chooses documents and stores labels (`nbtext.labelling.session`). A row is the index of
a document in the session. Enter stores the class that is marked with ``>``.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from nbtext.cli.label_rendering import (
    CLASS_KEYS,
    UNMARKED,
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

_RESERVED_LINES = 5
"""Lines without text and classes: three above the text, an empty one below it, and the last."""

MIN_SAMPLE_DOCUMENTS = 5
"""Minimum number of documents in the random sample for the estimated accuracy to be shown."""

MIN_ID_CHARS = 8
"""Minimum number of characters of a document's id that are shown."""


class LabelScreen:
    """Asks about documents until no document is left or the person quits."""

    keys = CLASS_KEYS
    enter_command = "Enter >class  1-0 class"
    commands = "a-z name  Tab skip  Backspace undo  / search"
    """The end of the last line. It may be cut off, so the least obvious keys come first."""
    question = "class: "
    new_name_command = "Enter: new class"

    def __init__(
        self, session: Session, terminal: Terminal, answer: Callable[[int, Label], None]
    ) -> None:
        """``answer`` stores the label of a row, or raises `UsageError` if the label is invalid."""
        self._session = session
        self._terminal = terminal
        self._answer = answer
        self._is_finished = False
        self._row = 0
        self._first_line = 0
        """Index of the first line of the text on the screen."""
        self._page_lines = 1
        """Lines to scroll for one page."""
        self._message = ""
        self._search_text = ""
        self._selected: set[str] | None = None
        """Labels that Enter stores. None for single-label documents."""
        self._new_labels: list[str] = []
        """Labels that were typed for this document, and that no labelled document has."""

    def run(self) -> None:
        """Ask about documents until no document is left or the person quits."""
        self._show_next()
        while not self._is_finished:
            self._draw(self._describe_keys())
            key = self._terminal.read_key()
            if key in ("escape", "closed"):
                return
            if key != "resized":
                self._handle_key(key)

    def _describe_keys(self) -> str:
        """Return the last line of the screen: the keys and their effects."""
        if not self._labels:
            return "Type the first class, then Enter   Tab skip  / search  Esc quit"
        commands = ["Esc quit"]
        if self._has_current_label:
            commands.append("= keep label")
        return "  ".join([*commands, self.enter_command, self.commands])

    def _handle_key(self, key: str) -> None:
        """Choose the label of a key. Other keys run a command, start a name, or scroll."""
        actions = {
            "enter": self._accept,
            "tab": self._skip,
            "backspace": self._undo,
            "/": self._search,
            "=": self._keep_label,
            "+": self._type_label,
        }
        scroll_lines = {
            " ": self._page_lines,
            "page-down": self._page_lines,
            "page-up": -self._page_lines,
            "down": 1,
            "up": -1,
        }
        self._message = ""
        # Labels without a key and keys without a label are left out.
        labels_by_key = dict(zip(self.keys, self._labels, strict=False))
        if key in labels_by_key:
            self._press_label(labels_by_key[key])
        elif key in actions:
            actions[key]()
        elif key in scroll_lines:
            self._first_line += scroll_lines[key]  # `_draw` limits it to the text
        elif len(key) == 1 and key.isalpha():
            self._type_label(key)
        else:
            self._message = f"the key {key} has no effect here; see the last line"

    @property
    def _has_current_label(self) -> bool:
        """Whether the document has a label already. Only documents of a review have one."""
        return self._session.get_current_label(self._row) is not None

    @property
    def _labels(self) -> list[str]:
        """All labels, in the order of their keys."""
        return [*self._session.classes, *self._new_labels]

    def _show(self, row: int | None) -> None:
        """Show a document. None ends the screen."""
        if row is None:
            self._is_finished = True
            return
        self._row = row
        self._first_line = 0

    def _show_next(self) -> None:
        self._show(self._session.choose_document())

    def _store(self, label: Label) -> None:
        """Store the label of the document, and show the next one."""
        try:
            self._answer(self._row, label)
        except UsageError as problem:
            self._message = problem.line
            return
        self._show_next()

    def _press_label(self, label: str) -> None:
        """React to the key of a label. `LabelSetScreen` switches the label on or off."""
        self._store(label)

    def _accept(self) -> None:
        """Store the most probable class."""
        if len(self._session.classes) < 2:
            self._message = "no class is suggested yet; type the name of a class"
            return
        probabilities = self._session.predict_probabilities(self._row)
        label, _ = max(probabilities, key=itemgetter(1))
        self._store(label)

    def _keep_label(self) -> None:
        """Store the label that the document has in the reviewed corpus."""
        label = self._session.get_current_label(self._row)
        if label is None:
            self._message = "= keeps a label in a review; this document has none"
        else:
            self._store(label)

    def _type_label(self, start: str = "") -> None:
        """Read the name of a class, which begins with ``start``, and store it."""
        label = self._prompt(self.question, self._session.classes, start)
        if label:
            self._store(label)

    def _skip(self) -> None:
        self._session.skip(self._row)
        self._show_next()

    def _undo(self) -> None:
        row = self._session.undo()
        if row is None:
            self._message = "there is nothing to undo"
            return
        self._message = "undone; label it again"
        if row < self._session.n_asked:
            self._show(row)
        else:  # a document of another pool, which is not asked about
            self._show_next()

    def _search(self) -> None:
        """Ask for a text, and show the next document that contains it."""
        typed = self._prompt("search (empty: next match): ")
        if typed is None:
            return
        if typed:
            self._search_text = typed
        rows = []
        if self._search_text:
            rows = sorted(self._session.search(self._search_text))
        if not rows:
            self._message = "no unlabelled document contains this"
            return
        self._message = f"{format_quantity(len(rows), 'document')} found without a label"
        # After the last row, the search starts again with the first one.
        later_rows = (row for row in rows if row > self._row)
        self._show(next(later_rows, rows[0]))

    def _prompt(self, question: str, names: Sequence[str] = (), typed: str = "") -> str | None:
        """Read a line, and return it without blanks around it. Tab completes one of the ``names``.

        ``typed`` is the start of the line. Return None if the person presses Escape, or if the
        terminal is gone.
        """
        while True:
            completion = _complete(typed, names)
            line = f"{question}{sanitise_text(typed)}_"
            if completion:
                line += f"   Tab: {sanitise_text(completion)}"
            is_new = bool(names) and typed.strip() not in names
            enter_command = self.new_name_command if is_new else "Enter: done"
            self._draw(f"{line}   {enter_command}   Esc: back")
            key = self._terminal.read_key()
            if key == "enter":
                return typed.strip()
            if key in ("escape", "closed"):
                return None
            if key == "tab" and completion:
                typed = completion
            elif key == "backspace":
                typed = typed[:-1]
            elif len(key) == 1:
                typed += key

    def _draw(self, last_line: str) -> None:
        """Draw the screen: status, message, document id, text, classes, ``last_line``.

        Limit the first line of the text so that the text fills its part of the screen.
        """
        columns, height = self._terminal.size
        width = columns - 1  # a terminal may wrap after its last column
        probabilities = self._session.predict_probabilities(self._row)
        # Classes get at most a third of the screen, but at least one line.
        max_class_lines = min(height // 3, height - _RESERVED_LINES)
        class_lines = render_classes(
            [*probabilities, *((label, 0.0) for label in self._new_labels)],
            width,
            max_lines=max(max_class_lines, 1),
            selected=self._selected,
            keys=self.keys,
        )

        text_lines = self._render_text(probabilities, width)
        text_height = max(height - len(class_lines) - _RESERVED_LINES, 1)
        self._page_lines = max(text_height - 1, 1)
        last_start = max(len(text_lines) - text_height, 0)
        self._first_line = min(max(self._first_line, 0), last_start)
        end_line = self._first_line + text_height
        n_lines_below = max(len(text_lines) - end_line, 0)

        upper_lines = self._render_header(self._describe_position(n_lines_below), width)
        upper_lines += text_lines[self._first_line : end_line]
        n_upper_lines = max(height - len(class_lines) - 1, 1)
        n_empty_lines = max(n_upper_lines - len(upper_lines), 0)
        upper_lines += [""] * n_empty_lines
        lines = [*upper_lines[:n_upper_lines], *class_lines, truncate_line(last_line, width)]
        self._terminal.draw(lines[:height])

    def _render_header(self, position: str, width: int) -> list[str]:
        """Return the three lines above the text. ``position`` follows the document's id."""
        document_id = self._session.pool.documents[self._row].id
        max_id_chars = max(width - len(position) - 1, MIN_ID_CHARS)
        short_id = shorten_middle(document_id, max_id_chars)
        header = [
            self._describe_progress(),
            sanitise_text(self._message or self._session.get_note(self._row)),
            sanitise_text(short_id) + position,
        ]
        return [truncate_line(line, width) for line in header]

    def _render_text(self, probabilities: list[tuple[str, float]], width: int) -> list[str]:
        """Return the lines of the text. Words for the two most probable classes are marked."""
        if len(probabilities) < 2:
            pieces = [(self._session.pool.get_text(self._row), UNMARKED)]
        else:
            (first, _), (second, _), *_ = sorted(probabilities, key=itemgetter(1), reverse=True)
            pieces = list(self._session.highlight_text(self._row, first, second))
        return render_highlighted_text(pieces, width)

    def _describe_position(self, n_lines_below: int) -> str:
        """Return how many lines follow below the screen, or "" if the whole text is visible."""
        if n_lines_below:
            return f"  [{format_quantity(n_lines_below, 'line')} more: space]"
        if self._first_line:
            return "  [end]"
        return ""

    def _describe_progress(self) -> str:
        """Return the numbers of documents, and the accuracy estimated from a random sample."""
        estimate = self._session.estimate_accuracy()
        progress = f"{self._session.progress_text}, {self._session.n_waiting:,} left"
        if estimate.n_documents < MIN_SAMPLE_DOCUMENTS:
            return progress
        low, high = estimate.interval
        return (
            f"{progress} | accuracy about {estimate.accuracy:.2f} ({low:.2f} to {high:.2f}, "
            f"{estimate.n_documents} at random)"
        )


def _complete(typed: str, names: Sequence[str]) -> str | None:
    """Return the first name that continues a typed text, or None."""
    if not typed:
        return None
    return next((name for name in names if name.startswith(typed) and name != typed), None)


class LabelSetScreen(LabelScreen):
    """Asks about multi-label documents: keys switch labels on and off, and Enter stores the set."""

    # Lower-case letters start a name.
    keys = f"{CLASS_KEYS}ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    enter_command = "Enter >labels  1-Z on/off"
    question = "labels: "
    new_name_command = "Enter: done"  # the line may have several labels

    _selected: set[str]

    def _show(self, row: int | None) -> None:
        """Show a document with the proposed labels switched on. None ends the screen."""
        super()._show(row)
        if row is not None:
            self._new_labels = []
            self._selected = {label for label, _ in self._session.propose_labels(row)}

    def _press_label(self, label: str) -> None:
        """Switch a label on, or off if it is on."""
        self._selected ^= {label}

    def _accept(self) -> None:
        """Store the labels that are switched on."""
        self._store(make_label_set(self._selected))

    def _type_label(self, start: str = "") -> None:
        """Read labels, the first of which begins with ``start``, and switch them on."""
        typed = self._prompt(self.question, self._labels, start)
        if not typed:
            return
        typed_labels = split_label(typed, self._session.plan.separator)
        for label in list_labels(typed_labels):
            if label not in self._labels:
                self._new_labels.append(label)
            self._selected.add(label)


SCREENS: dict[type[Posterior], type[LabelScreen]] = {
    ClassPosterior: LabelScreen,
    LabelPosterior: LabelSetScreen,
}
"""The screen for single-label and for multi-label documents."""
