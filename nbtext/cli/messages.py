"""Messages on standard error, one line each: for people, or with `--log-format json` for programs.

Control characters are escaped, so a message from a document cannot change the terminal.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from threading import Lock
from typing import Protocol, TypeVar

from nbtext.errors import DocumentError, NbtextError, NoDocumentsError, format_quantity, join_names
from nbtext.fast_dataclasses import dataclass
from nbtext.report.output_formats import escape_controls, format_json_line, shorten_middle


class _DocumentResult(Protocol):
    """The result of one document."""

    @property
    def id(self) -> str:
        """The document's name."""

    @property
    def problem(self) -> DocumentError | None:
        """The error if the document could not be read, else None."""


Result = TypeVar("Result", bound=_DocumentResult)

MAX_LISTED = 10
"""Maximum number of documents that get a line, and of names in a list. Others are only counted."""

MAX_LINES_PER_PROBLEM = 3
"""Maximum number of documents with the same problem that get a line."""

MAX_NAME_CHARS = 200
MAX_MESSAGE_CHARS = 1000
"""Limits of a name in a message, and of a message. Longer texts lose characters in the middle."""

MAX_PATH_CHARS = 1 << 12
"""Limit of a path in JSON. It is longer, because programs may open the path."""

_LONG_NAME = re.compile(rf"\S{{{MAX_NAME_CHARS + 1},}}")

_ERASE_LINE = "\r\x1b[2K"


@dataclass()
class _MessageState:
    """The form of messages, and the failures that the current command has reported."""

    is_json: bool = False
    model: str | None = None
    """Fingerprint of the model that the command uses, for JSON; None before it was loaded."""
    has_progress: bool = False
    """Whether a progress line must be erased before the next message."""
    verbose: bool = False
    quiet: bool = False
    n_failed: int = 0
    """Documents that could not be read."""
    n_shown: int = 0
    """Failed documents that got a line."""
    allows_failures: bool = False
    """Whether failed documents leave the exit status at 0. The reader limits their number."""
    problem_counts: Counter[str] = field(default_factory=Counter)
    """Numbers of failed documents by message, without those of `count_failed_documents`."""


_state = _MessageState()
_log_lock = Lock()


def start_messages(*, verbose: bool, quiet: bool) -> None:
    """Reset the state for a new command.

    Notices appear on a terminal or with ``verbose``. ``quiet`` suppresses notices and warnings.
    """
    _state.verbose = verbose
    _state.quiet = quiet
    _state.model = None
    _state.n_failed = 0
    _state.n_shown = 0
    _state.problem_counts.clear()
    _state.allows_failures = False


def set_model(fingerprint: str | None) -> None:
    """Set the fingerprint of the model that later messages have in JSON."""
    _state.model = fingerprint


def shows_notices() -> bool:
    """Return True if `notify` prints anything."""
    return not _state.quiet and (_state.verbose or standard_error_is_terminal())


def notify(text: str) -> None:
    """Print information that needs no action."""
    if shows_notices():
        emit(text, level="notice")


def log_line(text: str) -> None:
    """Print a line of the log of a resident process, which has threads."""
    with _log_lock:
        if not _state.quiet:
            emit(text, level="notice")


def is_verbose() -> bool:
    """Return True if the user asked for all messages."""
    return _state.verbose


def warn(text: str) -> None:
    """Print a warning, which may need action."""
    if not _state.quiet:
        emit(text, level="warning")


def warn_unknown_labels(model: str, labels: Sequence[str], suffix: str = "") -> None:
    """Warn of labels that the model does not have. The suffix is added to the sentence."""
    if labels:
        warn(f"labels that {model} does not have: {join_names(labels, MAX_LISTED)}{suffix}")


def report_failed_document(identity: str, problem: DocumentError) -> None:
    """Count a document that could not be read, and print a line if the limits allow it."""
    _state.n_failed += 1
    _state.problem_counts[problem.message] += 1
    is_repeated = _state.problem_counts[problem.message] > MAX_LINES_PER_PROBLEM
    if _state.n_shown < MAX_LISTED and not is_repeated:
        _state.n_shown += 1
        emit(problem.message, document=identity, hint=problem.hint)


def count_failed_documents(n: int) -> None:
    """Count documents that could not be read and were reported elsewhere."""
    _state.n_failed += n


def allow_failures() -> None:
    """Keep the exit status 0 if documents cannot be read. The reader limits their number."""
    _state.allows_failures = True


def has_failures() -> bool:
    """Return True if a document could not be read."""
    return _state.n_failed > 0


def report_failures(results: Iterable[Result]) -> Iterator[Result]:
    """Yield all results of documents, and report the documents that could not be read."""
    for result in results:
        if result.problem is not None:
            report_failed_document(result.id, result.problem)
        yield result


def finish_messages() -> int:
    """Print the number of failed documents without a line, and return the exit status.

    The status is 1 if a document could not be read, unless `allow_failures` was called.
    """
    n_hidden = _state.n_failed - _state.n_shown
    if n_hidden > 0:
        reasons = [
            problem
            for problem, n in _state.problem_counts.most_common()
            if n > MAX_LINES_PER_PROBLEM
        ]
        reason = f": {join_names(reasons, 1)}" if reasons else ""
        emit(f"{format_quantity(n_hidden, 'more unreadable document')}{reason}")
    return 1 if has_failures() and not _state.allows_failures else 0


def emit_error(problem: NbtextError) -> None:
    """Print the error that ended the command.

    Nothing is printed if the only document could not be read, because that was reported already.
    """
    is_reported = isinstance(problem, NoDocumentsError) and _state.n_shown == 1
    if is_reported:
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
    """Write one line to standard error, if it is open. ``level`` is error, warning or notice."""
    if sys.stderr is None:
        return
    message = _shorten(message)
    hint = None if hint is None else _shorten(hint)
    # If standard error cannot be written, the failure cannot be reported either.
    with contextlib.suppress(OSError):
        clear_progress()
        if _state.is_json:
            _write_json(message, level, where, document, hint)
        else:
            _write_text(message, level, document or where, hint)


def _write_json(
    message: str, level: str, where: str | None, document: str | None, hint: str | None
) -> None:
    """Write a message as a JSON object with its time, without the values that are None."""
    from datetime import UTC, datetime

    time = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"time": time, "level": level, "message": message}
    for key, path in (("where", where), ("document", document)):
        if path is not None:
            record[key] = shorten_middle(path, MAX_PATH_CHARS)
    if hint is not None:
        record["hint"] = hint
    if _state.model is not None:
        record["model"] = _state.model
    print(format_json_line(record), end="", file=sys.stderr)


def _write_text(message: str, level: str, location: str | None, hint: str | None) -> None:
    """Write a message as ``nbtext: LOCATION: MESSAGE; HINT``."""
    warning = "warning: " if level == "warning" else ""
    prefix = f"{_shorten(_describe_location(location))}: " if location else ""
    suffix = f"; {hint}" if hint else ""
    line = escape_controls(f"{warning}{prefix}{message}{suffix}")
    print(_wrap(f"nbtext: {line}"), file=sys.stderr)


def _describe_location(location: str) -> str:
    """Return a path, document or option as messages show it.

    >>> _describe_location("-:4"), _describe_location("-m"), _describe_location("--label")
    ('standard input:4', './-m', '--label')
    """
    if location == "-" or location.startswith("-:"):
        return f"standard input{location[1:]}"
    if location.startswith("-") and not location.startswith("--"):
        return f"./{location}"  # a file, not an option
    return location


def _shorten(text: str) -> str:
    """Remove the middle of long names in a text, and then of the text if it is long."""
    text = _LONG_NAME.sub(lambda name: shorten_middle(name[0], MAX_NAME_CHARS), text)
    return shorten_middle(text, MAX_MESSAGE_CHARS)


def _wrap(line: str) -> str:
    """Wrap a line at the width of the terminal. Without a terminal, return it unchanged."""
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
    """Set the form of messages from unparsed arguments. Errors of their parsing have it, too."""
    _state.is_json = find_last_value("--log-format", arguments) == "json"


def find_last_value(option: str, arguments: Sequence[str]) -> str | None:
    """Return the value of an option among unparsed arguments, or None if it is absent.

    If the option is repeated, its last value is returned. A missing value is the empty string.
    """
    last_value = None
    for index, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == "--":
            break
        if name == option and equals:
            last_value = value
        elif name == option:
            is_last_argument = index + 1 == len(arguments)
            last_value = "" if is_last_argument else arguments[index + 1]
    return last_value


def is_json_log() -> bool:
    """Return True if every line on standard error is a JSON object."""
    return _state.is_json


def draw_progress(line: str) -> None:
    """Write a progress line over the previous one. The next message erases it."""
    _state.has_progress = True
    print(f"{_ERASE_LINE}{line}", end="", file=sys.stderr, flush=True)


def clear_progress() -> None:
    """Erase the progress line, if there is one."""
    if _state.has_progress:
        _state.has_progress = False
        print(_ERASE_LINE, end="", file=sys.stderr, flush=True)


def standard_error_is_terminal() -> bool:
    """Return True if standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()
