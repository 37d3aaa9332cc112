"""Messages on standard error, a line each, safe to look at: for people, or with `--log-format json` for programs."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeVar

from nbtext.errors import DocumentError, NbtextError, NoDocumentsError, listed, quantity
from nbtext.records import dataclass
from nbtext.report.forms import escaped_json, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class OfDocument(Protocol):
    """The result of one document."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def problem(self) -> Exception | None:
        """Why it could not be read, or None."""


Result = TypeVar("Result", bound=OfDocument)

SHOWN = 10
"""Lines about single documents before they are only counted."""

LOG_FORMATS = ("text", "json")


@dataclass()
class _Writing:
    """The form of lines at present."""

    as_json: bool = False
    documents: int = 0
    """Failed documents that were reported."""
    clear: Callable[[], None] | None = None
    """Erases a progress bar before a line is written."""


_writing = _Writing()


@dataclass()
class Messages:
    """Errors and warnings always (warnings not with ``quiet``); notices on a terminal or with ``verbose``."""

    verbose: bool = False
    quiet: bool = False
    failed: int = 0
    _shown: int = field(default=0, repr=False)

    @property
    def shows_notices(self) -> bool:
        """True if `notice` prints anything."""
        return not self.quiet and (self.verbose or standard_error_is_terminal())

    def notice(self, text: str) -> None:
        """Say something that needs no action."""
        if self.shows_notices:
            say(text, level="notice")

    def warn(self, text: str) -> None:
        """Say something that may need action."""
        if not self.quiet:
            say(text, level="warning")

    def warn_of_unknown(self, model: str, labels: Sequence[str], more: str = "") -> None:
        """Warn of labels that a model does not know, if there are any."""
        if labels:
            self.warn(f"{model} does not know the labels {listed(labels, SHOWN)}{more}")

    def document_failed(self, identity: str, problem: Exception) -> None:
        """Report a document that could not be read."""
        self.failed += 1
        if self._shown < SHOWN:
            self._shown += 1
            _writing.documents += 1
            hint = problem.hint if isinstance(problem, NbtextError) else None
            say(problem.message if isinstance(problem, NbtextError) else str(problem), document=identity, hint=hint)

    def reported(self, results: Iterable[Result]) -> Iterator[Result]:
        """Yield results of documents, and report those that could not be read."""
        for result in results:
            if result.problem is not None:
                self.document_failed(result.id, result.problem)
            yield result

    def nothing_again(self) -> Messages:
        """Return silent messages, for a corpus that was read before."""
        return Messages(quiet=True, _shown=SHOWN)

    def finish(self) -> int:
        """Say how many failed documents were not shown; return the exit status: 1 if a document could not be read."""
        if self.failed > self._shown:
            say(f"{quantity(self.failed - self._shown, 'more document')} could not be read")
        return 1 if self.failed else 0


def say_problem(problem: NbtextError) -> None:
    """Say what ended the command, unless that is its only document, which was reported."""
    if isinstance(problem, NoDocumentsError) and _writing.documents == 1:
        return
    if isinstance(problem, DocumentError):
        say(problem.message, document=problem.where, hint=problem.hint)
    else:
        say(problem.message, where=problem.where, hint=problem.hint)


def say(message: str, *, level: str = "error", where: str | None = None, document: str | None = None, hint: str | None = None) -> None:
    """Write one line to standard error, if it is open; ``level`` is error, warning or notice."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):  # there is nowhere to say that nothing can be said
        clear_progress()
        if _writing.as_json:
            import json

            parts = {"level": level, "message": message, "where": where, "document": document, "hint": hint}
            made = json.dumps({name: value for name, value in parts.items() if value is not None}, ensure_ascii=False)
            print(escaped_json(made), file=sys.stderr)
            return
        place = document or where
        text = f"{'warning: ' if level == 'warning' else ''}{f'{place}: ' if place else ''}{message}{f'; {hint}' if hint else ''}"
        print(f"nbtext: {visible(text)}", file=sys.stderr)


def set_log_format(arguments: Sequence[str]) -> None:
    """Write lines as the arguments of the command line ask, even if the arguments turn out to be wrong."""
    _writing.as_json = False
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == "--":
            return
        if name == "--log-format":
            _writing.as_json = (value if equals else "".join(arguments[place + 1 : place + 2])) == "json"


def log_is_json() -> bool:
    """Return whether every line on standard error is a JSON object."""
    return _writing.as_json


def set_progress(clear: Callable[[], None] | None) -> None:
    """Set what is called before the next line, if anything."""
    _writing.clear = clear


def clear_progress() -> None:
    """Erase the progress bar, if there is one."""
    if _writing.clear is not None:
        _writing.clear()


def standard_error_is_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()
