"""How far a command has come, on a terminal, once it has taken longer than a second: documents, documents per second, time left."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from typing import TYPE_CHECKING, TypeVar

from nbtext.cli.messages import clear_progress, log_is_json, set_progress, standard_error_is_terminal
from nbtext.corpus.streams import bytes_read
from nbtext.errors import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console

Item = TypeVar("Item")

WAIT = 1.0
"""Seconds before anything is shown."""

INTERVAL = 0.2
"""Seconds between two pictures."""

MOST_COUNTED = 1_000_000
"""Files that are counted to know the end; beyond that the end is not known."""

_BAR = 30
_ERASE = "\r\x1b[2K"
_NO_TERMINAL = ("", "dumb", "unknown")


def is_wanted(*, quiet: bool) -> bool:
    """Whether a bar may be shown: to somebody, on a terminal that can take it back."""
    return not quiet and not log_is_json() and standard_error_is_terminal() and os.environ.get("TERM", "") not in _NO_TERMINAL


def watched(items: Iterable[Item], paths: Sequence[str], file_format: str) -> Iterator[Item]:
    """The items as they come, with the progress shown; they are those of the paths, read in the format."""
    picture = Picture(paths, file_format)
    due = stride = 1
    before = begin = time.monotonic()
    try:
        for seen, item in enumerate(items, 1):
            yield item
            if seen < due:
                continue
            now = time.monotonic()
            if now - begin > WAIT:
                picture.show(seen, now - begin)
            stride = min(stride * 2, 1024) if now - before < INTERVAL / 4 else max(stride // 2, 1)
            due, before = seen + stride, now
    finally:
        clear_progress()
        set_progress(None)


@contextlib.contextmanager
def tallied(paths: Sequence[str], file_format: str, *, wanted: bool) -> Iterator[Callable[[int, int], None] | None]:
    """What is to be told how many documents and bytes of the paths have been read, by whomever, and shows it; None if it is not wanted."""
    if not wanted:
        yield None
        return
    picture, begin = Picture(paths, file_format), time.monotonic()

    def show(documents: int, read: int) -> None:
        seconds = time.monotonic() - begin
        if seconds > WAIT:
            picture.show(documents, seconds, read)

    try:
        yield show
    finally:
        clear_progress()
        set_progress(None)


class Picture:
    """The line that shows the progress; made of rich, which is imported with the first one."""

    def __init__(self, paths: Sequence[str], file_format: str) -> None:
        self._paths, self._format = paths, file_format
        self._bytes_before = bytes_read()
        self._read = 0
        self._console: Console | None = None
        self._total_documents: int | None = None
        self._total_bytes: int | None = None
        self._shown = 0.0

    def show(self, documents: int, seconds: float, read: int | None = None) -> None:
        """Draw it over the last one, if that is not too fresh; ``read`` bytes, by default those read by this process."""
        if 0 <= seconds - self._shown < INTERVAL:
            return
        self._shown = seconds
        if self._console is None:
            self._begin()
        set_progress(erase)
        self._read = bytes_read() - self._bytes_before if read is None else read
        share = self._share(documents)
        text = f"{quantity(documents, 'document')}, {documents / seconds:,.0f} per second"
        if share:
            text += f", {_clock(seconds * (1 - share) / share)} left"
        with contextlib.suppress(OSError):
            sys.stderr.write(_ERASE + self._line(text, share))
            sys.stderr.flush()

    def _begin(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        if self._format in ("dir", "maildir"):
            self._total_documents = number_of_files(self._paths, self._format)
        else:
            self._total_bytes = size_of_files(self._paths)

    def _share(self, documents: int) -> float | None:
        """How much of the whole is done, from 0 to 1; None if that is not known."""
        if self._total_documents is not None:
            return documents / self._total_documents if documents <= self._total_documents else None
        if self._total_bytes:
            return min(self._read / self._total_bytes, 1)
        return None

    def _line(self, text: str, share: float | None) -> str:
        from rich.progress_bar import ProgressBar

        console = self._console
        assert console is not None  # noqa: S101 - `show` has made it
        room = console.width - len(text) - 2
        if share is None or room < _BAR // 2:
            return text[: max(console.width - 1, 0)]
        with console.capture() as drawn:
            console.print(ProgressBar(total=1, completed=share, width=min(_BAR, room)), end="")
        return f"{drawn.get()} {text}"


def erase() -> None:
    """Take the line off the screen."""
    set_progress(None)
    sys.stderr.write(_ERASE)
    sys.stderr.flush()


def number_of_files(paths: Sequence[str], file_format: str) -> int | None:
    """The files in and below the paths, in which each document is one; None if there are too many, or if they cannot be counted."""
    count, pending = 0, list(paths)
    if file_format == "maildir":
        pending = [os.path.join(path, part) for path in paths for part in ("cur", "new")]  # noqa: PTH118 - texts
    try:
        while pending and count <= MOST_COUNTED:
            path = pending.pop()
            if not os.path.isdir(path):  # noqa: PTH112 - faster
                count += 1
                continue
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    else:
                        count += 1
    except OSError:
        return None
    return count if count <= MOST_COUNTED else None


def size_of_files(paths: Sequence[str]) -> int | None:
    """The bytes of all files together; None if one is no regular file."""
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
