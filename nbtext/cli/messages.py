"""Messages on standard error, a line each, safe to look at: for people, or with `--log-format json` for programs."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Protocol, TypeVar

from nbtext.errors import DocumentError, NbtextError, NoDocumentsError, format_quantity, join_names
from nbtext.fast_dataclasses import dataclass
from nbtext.report.output_formats import escape_controls, format_json_line, shorten_middle


class _OfDocument(Protocol):
    """The result of one document."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def problem(self) -> DocumentError | None:
        """The error if it could not be read, else None."""


Result = TypeVar("Result", bound=_OfDocument)

MAX_LISTED = 10
"""Lines about single documents before they are only counted."""

SAME = 3
"""Documents with the same problem that have a line."""

LONGEST_NAME = 200
LONGEST_MESSAGE = 1000
"""Characters of a name in a message, and of a message, from which the middle is left out."""

LONGEST_PATH = 1 << 12
"""Characters of a path in JSON, where programs look for it."""

_LONG_NAME = re.compile(rf"\S{{{LONGEST_NAME + 1},}}")

_ERASE = "\r\x1b[2K"


@dataclass()
class _Writing:
    """The form of lines at present, and what a command has reported."""

    as_json: bool = False
    has_progress: bool = False
    """Whether a progress line is to be erased before another line is written."""
    verbose: bool = False
    quiet: bool = False
    failed: int = 0
    """Documents that could not be read."""
    shown: int = 0
    """Those of them that have a line."""
    are_allowed: bool = False
    """Whether that some cannot be read is no failure; whoever reads them raises an error for too many."""
    problems: Counter[str] = field(default_factory=Counter)
    """Documents by what is wrong with them, as far as that is known."""


_writing = _Writing()


def start_messages(*, verbose: bool, quiet: bool) -> None:
    """Begin the messages of a command: errors and warnings (warnings not with ``quiet``), notices on a terminal or with ``verbose``."""
    _writing.verbose = verbose
    _writing.quiet = quiet
    _writing.failed = 0
    _writing.shown = 0
    _writing.problems.clear()
    _writing.are_allowed = False


def shows_notices() -> bool:
    """Return True if `notice` prints anything."""
    return not _writing.quiet and (_writing.verbose or standard_error_is_terminal())


def notify(text: str) -> None:
    """Say something that needs no action."""
    if shows_notices():
        emit(text, level="notice")


def is_verbose() -> bool:
    """Return True if all there is to know is wanted."""
    return _writing.verbose


def warn(text: str) -> None:
    """Say something that may need action."""
    if not _writing.quiet:
        emit(text, level="warning")


def warn_unknown_labels(model: str, labels: Sequence[str], more: str = "") -> None:
    """Warn of labels that a model does not know, if there are any."""
    if labels:
        warn(f"{model} does not know the labels {join_names(labels, MAX_LISTED)}{more}")


def report_failed_document(identity: str, problem: DocumentError) -> None:
    """Report a document that could not be read; of many with the same problem the first `SAME`."""
    _writing.failed += 1
    _writing.problems[problem.message] += 1
    if _writing.shown < MAX_LISTED and _writing.problems[problem.message] <= SAME:
        _writing.shown += 1
        emit(problem.message, document=identity, hint=problem.hint)


def count_failed_documents(n: int) -> None:
    """Count documents that could not be read and were reported otherwise."""
    _writing.failed += n


def allow_failures() -> None:
    """Let the exit status be 0 though documents could not be read; whoever reads them raises an error for too many."""
    _writing.are_allowed = True


def has_failures() -> bool:
    """Return True if a document could not be read."""
    return _writing.failed > 0


def report_failures(results: Iterable[Result]) -> Iterator[Result]:
    """Yield results of documents, and report those that could not be read."""
    for result in results:
        if result.problem is not None:
            report_failed_document(result.id, result.problem)
        yield result


def finish_messages() -> int:
    """Say how many failed documents were not shown; return the exit status: 1 if a document could not be read."""
    if _writing.failed > _writing.shown:
        reasons = [problem for problem, n in _writing.problems.most_common() if n > SAME]
        why = f": {join_names(reasons, 1)}" if reasons else ""
        emit(
            f"{format_quantity(_writing.failed - _writing.shown, 'more document')} could not be read{why}"
        )
    return int(has_failures() and not _writing.are_allowed)


def emit_error(problem: NbtextError) -> None:
    """Say what ended the command, unless that is its only document, which was reported."""
    if isinstance(problem, NoDocumentsError) and _writing.shown == 1:
        return
    if isinstance(problem, DocumentError):
        emit(problem.message, document=problem.where, hint=problem.hint)
    else:
        emit(problem.message, where=problem.where, hint=problem.hint)


def emit(
    message: str,
    *,
    level: str = "error",
    where: str | None = None,
    document: str | None = None,
    hint: str | None = None,
) -> None:
    """Write one line to standard error, if it is open; ``level`` is error, warning or notice."""
    if sys.stderr is None:
        return
    place = document or where
    message = _cut(message)
    hint = None if hint is None else _cut(hint)
    with contextlib.suppress(OSError):  # there is nowhere to say that nothing can be said
        clear_progress()
        if _writing.as_json:
            names = {"where": where, "document": document}
            whole = {
                name: shorten_middle(value, LONGEST_PATH)
                for name, value in names.items()
                if value is not None
            }
            print(
                format_json_line(
                    {
                        "level": level,
                        "message": message,
                        **whole,
                        **({} if hint is None else {"hint": hint}),
                    }
                ),
                end="",
                file=sys.stderr,
            )
            return
        kind = "warning: " if level == "warning" else ""
        before = f"{_cut(place)}: " if place else ""
        after = f"; {hint}" if hint else ""
        print(
            _wrapped(f"nbtext: {escape_controls(kind + before + message + after)}"), file=sys.stderr
        )


def _cut(text: str) -> str:
    """Return a text without the middle of its long names, and of itself if it is long."""
    return shorten_middle(
        _LONG_NAME.sub(lambda name: shorten_middle(name[0], LONGEST_NAME), text), LONGEST_MESSAGE
    )


def _wrapped(line: str) -> str:
    """Return a line as it fits the terminal; as it is if there is none."""
    if not standard_error_is_terminal():
        return line
    from textwrap import fill

    width = os.get_terminal_size(sys.stderr.fileno()).columns
    if not width:
        return line
    return fill(
        line,
        width,
        subsequent_indent="  ",
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )


def set_log_format(arguments: Sequence[str]) -> None:
    """Write lines as the arguments of the command line ask, even if the arguments turn out to be wrong."""
    _writing.as_json = find_last_value("--log-format", arguments) == "json"


def find_last_value(option: str, arguments: Sequence[str]) -> str | None:
    """Return what follows an option among arguments that are not parsed yet, the last time if it is there more than once; None if it is not there."""
    found = None
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == "--":
            break
        if name == option:
            found = value if equals else "".join(arguments[place + 1 : place + 2])
    return found


def is_json_log() -> bool:
    """Return True if every line on standard error is a JSON object."""
    return _writing.as_json


def draw_progress(line: str) -> None:
    """Write a progress line over the last one; it is erased before the next message."""
    _writing.has_progress = True
    print(f"{_ERASE}{line}", end="", file=sys.stderr, flush=True)


def clear_progress() -> None:
    """Erase the progress line, if there is one."""
    if _writing.has_progress:
        _writing.has_progress = False
        print(_ERASE, end="", file=sys.stderr, flush=True)


def standard_error_is_terminal() -> bool:
    """Return True if standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()
