"""A progress bar on a terminal, once a command has taken longer than a second: documents, documents per second, time left."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from typing import TYPE_CHECKING

from nbtext.cli.messages import clear_progress, log_is_json, set_progress, standard_error_is_terminal
from nbtext.corpus.reading import resolve_format
from nbtext.errors import quantity
from nbtext.settings import FORMATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from nbtext.evaluation.search import SearchState
    from nbtext.model.corpus_flow import Progress

WAIT = 1.0
"""Seconds before anything is shown."""

INTERVAL = 0.2
"""Seconds between two drawings."""

MOST_COUNTED = 1_000_000
"""Files that are counted at most to know the end."""

_BAR = 30
_ERASE = "\r\x1b[2K"
_NO_TERMINAL = ("", "dumb", "unknown")


def is_wanted(*, quiet: bool) -> bool:
    """Return whether a bar may be shown: on a terminal that can erase it, and not with ``quiet``."""
    return not quiet and not log_is_json() and standard_error_is_terminal() and os.environ.get("TERM", "") not in _NO_TERMINAL


class ProgressBar:
    """Shows the progress of reading some paths, as `nbtext.model.corpus_flow.Corpus` reports it, and erases it in the end.

    It is drawn with rich, which is imported with the first line.
    """

    def __init__(self, paths: Sequence[str], file_format: str) -> None:
        self._paths, self._format = paths, resolve_format(paths, file_format)
        self._begin, self._shown = time.monotonic(), 0.0
        self._console: Console | None = None
        self._total: int | None = None
        """Documents, or bytes, that there will be."""

    def __call__(self, progress: Progress) -> None:
        """Show how far the reading is."""
        if progress.is_done:
            clear_progress()
            set_progress(None)
        elif (seconds := time.monotonic() - self._begin) > WAIT:
            self.show(progress, seconds)

    def show(self, progress: Progress, seconds: float) -> None:
        """Draw over the last line, unless that is fresh."""
        if 0 <= seconds - self._shown < INTERVAL:
            return
        self._shown = seconds
        set_progress(erase)
        share = self._share(progress)
        text = f"{quantity(progress.documents, 'document')}, {progress.documents / seconds:,.0f} per second"
        if share:
            text += f", {_clock(seconds * (1 - share) / share)} left"
        draw(self._console or console(), text, share)

    def _share(self, progress: Progress) -> float | None:
        """Return the share that is done, from 0 to 1; None if that is not known."""
        by_files = FORMATS[self._format].file_per_document
        if self._console is None:
            self._console = console()
            self._total = number_of_files(self._paths, self._format) if by_files else size_of_files(self._paths)
        if by_files:
            return progress.documents / self._total if self._total is not None and progress.documents <= self._total else None
        return min(progress.bytes / self._total, 1) if self._total else None


class SearchBar:
    """Shows how many settings `nbtext.evaluation.search.Search` has tried, the best so far, and the time left, and erases it in the end."""

    def __init__(self, candidates: int, seconds: float | None) -> None:
        self._candidates, self._limit = candidates, seconds
        self._begin = time.monotonic()
        self._console: Console | None = None

    def __call__(self, state: SearchState) -> None:
        """Show how far the search is."""
        seconds = time.monotonic() - self._begin
        if state.is_done:
            clear_progress()
            set_progress(None)
        elif seconds > WAIT:
            text = f"{state.tried} of {quantity(self._candidates, 'setting')} tried"
            if state.best is not None:
                text += f", best {state.best}"
            if self._limit is not None:
                text += f", {_clock(max(self._limit - seconds, 0))} left"
            share = state.tried / self._candidates if self._limit is None else min(seconds / self._limit, 1)
            self._console = self._console or console()
            set_progress(erase)
            draw(self._console, text, share)


def console() -> Console:
    """Return rich's view of the terminal."""
    from rich.console import Console

    return Console(stderr=True)


def draw(console: Console, text: str, share: float | None) -> None:
    """Draw over the last line: a text, after a bar if the share that is done is known and there is room."""
    room = console.width - len(text) - 2
    if share is None or room < _BAR // 2:
        line = text[: max(console.width - 1, 0)]
    else:
        from rich.progress_bar import ProgressBar

        with console.capture() as drawn:
            console.print(ProgressBar(total=1, completed=share, width=min(_BAR, room)), end="")
        line = f"{drawn.get()} {text}"
    with contextlib.suppress(OSError):
        sys.stderr.write(_ERASE + line)
        sys.stderr.flush()


def erase() -> None:
    """Erase the line."""
    set_progress(None)
    sys.stderr.write(_ERASE)
    sys.stderr.flush()


def number_of_files(paths: Sequence[str], file_format: str) -> int | None:
    """Return the number of files in and below the paths; None if there are too many, or if they cannot be counted."""
    if file_format == "maildir":
        paths = [os.path.join(path, part) for path in paths for part in ("cur", "new")]  # noqa: PTH118 - texts
    count, pending = 0, list(paths)
    try:
        while pending and count <= MOST_COUNTED:
            path = pending.pop()
            if not os.path.isdir(path):  # noqa: PTH112 - faster
                count += 1
                continue
            with os.scandir(path) as entries:
                seen = [entry for entry in entries if not entry.name.startswith(".")]
            folders = [entry.path for entry in seen if entry.is_dir(follow_symlinks=False)]
            pending += folders
            count += len(seen) - len(folders)
    except OSError:
        return None
    return count if count <= MOST_COUNTED else None


def size_of_files(paths: Sequence[str]) -> int | None:
    """Return the bytes of all files together; None if one is no regular file."""
    total = 0
    for path in paths:
        try:
            status = os.fstat(0) if path == "-" else os.stat(path)  # noqa: PTH116 - bytes that are no text may stand in a name
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
