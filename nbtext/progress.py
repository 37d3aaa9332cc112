"""Progress reports of long work.

Work reports its progress with `start_progress` or `track_progress`. `watching` sets the function
that receives the reports of the current thread, such as one that draws a progress line. Without
it, reports are ignored. Work may contain other work, such as the iterations of a fit within the
folds of a cross-validation.
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
    """Takes the arguments of ``report`` in `start_progress`."""

Item = TypeVar("Item")


class Step(NamedTuple):
    """The state of some work, measured in items that are done."""

    noun: str
    """The name of an item, in the singular."""
    n_done: int
    total: int | None = None
    """Number of items in the end, or None if it is unknown."""
    detail: str = ""
    """Further text to show."""
    estimate_proportion: Callable[[], float | None] | None = None
    """A function that returns the proportion that is done, from 0 to 1, or None if it is unknown.

    It may be slow. Without such a function, the proportion is ``n_done / total``.
    """


class _Observer(NamedTuple):
    """The function that receives the steps, and the steps of unfinished work, outermost first."""

    on_progress: Callable[[tuple[Step, ...]], object]
    process_id: int
    """The observed process. A fork of the process inherits the observer, but is not observed."""
    steps: list[Step]


_observer: ContextVar[_Observer | None] = ContextVar("_observer", default=None)


@contextmanager
def watching(on_progress: Callable[[tuple[Step, ...]], object]) -> Iterator[None]:
    """Call a function for each report within the context.

    Its argument is the steps of all unfinished work, outermost first. The last call, when the
    outermost work ends, has no steps.
    """
    token = _observer.set(_Observer(on_progress, os.getpid(), []))
    try:
        yield
    finally:
        _observer.reset(token)


def is_progress_watched() -> bool:
    """Return True if reports are observed."""
    observer = _observer.get()
    return observer is not None and observer.process_id == os.getpid()


@contextmanager
def start_progress(noun: str, total: int | None = None) -> Iterator[Report]:
    """Yield a function that reports how many items are done.

    Its arguments are ``n_done``, ``detail`` and ``estimate_proportion`` of `Step`. It should be
    called at most about a thousand times a second.
    """
    observer = _observer.get()
    if observer is None or not is_progress_watched():
        yield lambda *_: None
        return
    depth = len(observer.steps)

    def report(
        n_done: int, detail: str = "", estimate_proportion: Callable[[], float | None] | None = None
    ) -> None:
        observer.steps[depth:] = [Step(noun, n_done, total, detail, estimate_proportion)]
        observer.on_progress(tuple(observer.steps))

    report(0)
    try:
        yield report
    finally:
        del observer.steps[depth:]
        observer.on_progress(tuple(observer.steps))


def track_progress(items: Iterable[Item], noun: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items, and report after each how many are done."""
    with start_progress(noun, total) as report:
        for n_done, item in enumerate(items, 1):
            yield item
            report(n_done)


REPORT_INTERVAL_SECONDS = 0.05
"""Intended time between two reports."""

MAX_REPORT_STRIDE = 1024
"""Largest number of documents between two reports."""


class Pace:
    """Decides after how many documents to report, to keep about `REPORT_INTERVAL_SECONDS`."""

    def __init__(self) -> None:
        self._stride = 1
        """Number of documents from one report to the next."""
        self._last_report = time.monotonic()
        self.next_report = 1
        """The number of the next document to report."""

    def record_report(self) -> None:
        """Record the report of document ``next_report``, and choose the next one.

        The stride is doubled if the report came early, else halved.
        """
        now = time.monotonic()
        if now - self._last_report < REPORT_INTERVAL_SECONDS:
            self._stride = min(2 * self._stride, MAX_REPORT_STRIDE)
        else:
            self._stride = max(self._stride // 2, 1)
        self.next_report += self._stride
        self._last_report = now
