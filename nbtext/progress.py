"""Progress of long work: code that takes long reports its steps, and the watcher of its thread, if there is one, is called with each.

Work may be within other work, such as the iterations of a fit within the folds of a cross-validation. Without a watcher a report costs nothing; other
threads and processes have none.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Report = Callable[..., None]

Item = TypeVar("Item")


class Step(NamedTuple):
    """How far some work is."""

    noun: str
    """What is counted, in the singular."""
    n_done: int
    total: int | None = None
    """How many there will be, if that is known."""
    detail: str = ""
    """What else there is to show."""
    estimate_proportion: Callable[[], float | None] | None = None
    """Returns the share that is done, from 0 to 1, None if it is unknown; may take long. If there is none, ``done`` of ``total``."""


class _Watch(NamedTuple):
    on_progress: Callable[[tuple[Step, ...]], object]
    process: int
    """The one that is watched: a fork of it is not."""
    steps: list[Step]


_watch: ContextVar[_Watch | None] = ContextVar("_watch", default=None)


@contextmanager
def observe_progress(on_progress: Callable[[tuple[Step, ...]], object]) -> Iterator[None]:
    """Call ``on_progress`` with every step reported meanwhile: that of the outermost work first, nothing when that is over."""
    token = _watch.set(_Watch(on_progress, os.getpid(), []))
    try:
        yield
    finally:
        _watch.reset(token)


def is_progress_watched() -> bool:
    """Return whether reports go anywhere."""
    watch = _watch.get()
    return watch is not None and watch.process == os.getpid()


@contextmanager
def start_progress(noun: str, total: int | None = None) -> Iterator[Report]:
    """Yield a function that reports how many are done, with a detail and their share; call it at most about a thousand times a second."""
    watch = _watch.get()
    if watch is None or not is_progress_watched():
        yield lambda *_: None
        return
    depth = len(watch.steps)

    def report(
        done: int, detail: str = "", share: Callable[[], float | None] | None = None
    ) -> None:
        watch.steps[depth:] = [Step(noun, done, total, detail, share)]
        watch.on_progress(tuple(watch.steps))

    report(0)
    try:
        yield report
    finally:
        del watch.steps[depth:]
        watch.on_progress(tuple(watch.steps))


def track_progress(items: Iterable[Item], noun: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items, and report after each how many are done."""
    with start_progress(noun, total) as report:
        for done, item in enumerate(items, 1):
            yield item
            report(done)


REPORT_INTERVAL_SECONDS = 0.05
"""Seconds between two reports."""


class Pace:
    """Says after how many documents to report: as many as take a twentieth of a second."""

    def __init__(self) -> None:
        self._stride = 1
        self._before = time.monotonic()
        self.next_report = 1
        """The number of the next document to report."""

    def record_report(self) -> None:
        """Record that the document ``due`` was reported."""
        now = time.monotonic()
        self._stride = (
            min(2 * self._stride, 1024)
            if now - self._before < REPORT_INTERVAL_SECONDS
            else max(self._stride // 2, 1)
        )
        self.next_report = self.next_report + self._stride
        self._before = now
