"""Progress reports of long work.

Work reports its progress with `start_progress` or `track_progress`. `watching` sets a function that
receives the reports of the current thread, for example to draw a progress line. Outside of its
context, reports are ignored. Work may contain other work, such as the iterations of a fit within
the folds of a cross-validation.
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
    """Reports progress: the function that `start_progress` yields."""

Item = TypeVar("Item")


class Step(NamedTuple):
    """The state of some work, measured in items that are done."""

    noun: str
    """The name of an item, in the singular."""
    n_done: int
    total: int | None = None
    """Number of all items, or None if the number is unknown."""
    detail: str = ""
    """Further text to show."""
    estimate_proportion: Callable[[], float | None] | None = None
    """A function that returns the proportion done, from 0 to 1, or None for an unknown proportion.

    The function may be slow. If it is None, the proportion is ``n_done / total``.
    """


class _Observer(NamedTuple):
    """The function that `watching` sets, and the steps of unfinished work, outermost first."""

    on_progress: Callable[[tuple[Step, ...]], object]
    process_id: int
    """The process of the observer. A fork of the process inherits the observer, but ignores it."""
    steps: list[Step]


_observer: ContextVar[_Observer | None] = ContextVar("_observer", default=None)


@contextmanager
def watching(on_progress: Callable[[tuple[Step, ...]], object]) -> Iterator[None]:
    """Call ``on_progress`` for each report within the context.

    The argument of the call is the steps of all unfinished work, outermost first. The last call,
    when the outermost work ends, has an empty tuple.
    """
    token = _observer.set(_Observer(on_progress, os.getpid(), []))
    try:
        yield
    finally:
        _observer.reset(token)


def is_progress_watched() -> bool:
    """Return True within the context of `watching`, but not in a fork of the process."""
    return _get_observer() is not None


def _get_observer() -> _Observer | None:
    """Return the observer if it is the observer of this process, else None."""
    observer = _observer.get()
    if observer is None or observer.process_id != os.getpid():
        return None
    return observer


@contextmanager
def start_progress(noun: str, total: int | None = None) -> Iterator[Report]:
    """Yield a function that reports how many items are done.

    The arguments of the function are ``n_done``, ``detail`` and ``estimate_proportion`` of `Step`.
    It should be called at most about a thousand times a second.
    """
    observer = _get_observer()
    if observer is None:
        yield lambda *_: None
        return
    depth = len(observer.steps)

    def report(
        n_done: int, detail: str = "", estimate_proportion: Callable[[], float | None] | None = None
    ) -> None:
        step = Step(noun, n_done, total, detail, estimate_proportion)
        observer.steps[depth:] = [step]  # instead of the previous step of this work
        observer.on_progress(tuple(observer.steps))

    report(0)
    try:
        yield report
    finally:
        del observer.steps[depth:]
        observer.on_progress(tuple(observer.steps))


def track_progress(items: Iterable[Item], noun: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items, and report the number of finished items after each item."""
    with start_progress(noun, total) as report:
        for n_done, item in enumerate(items, 1):
            yield item
            report(n_done)


REPORT_INTERVAL_SECONDS = 0.05
"""Intended time from one report to the next."""

MAX_REPORT_STRIDE = 1024
"""Largest number of documents from one report to the next."""


class Pace:
    """Chooses the documents after which to report, about `REPORT_INTERVAL_SECONDS` apart."""

    def __init__(self) -> None:
        self._stride = 1
        """Number of documents from one report to the next."""
        self._last_report_time = time.monotonic()
        self.next_report = 1
        """The number of the document after which to report next, counted from 1."""

    def record_report(self) -> None:
        """Record the report after document ``next_report``, and choose the next document.

        The stride is doubled if the report came early, else halved.
        """
        now = time.monotonic()
        if now - self._last_report_time < REPORT_INTERVAL_SECONDS:
            self._stride = min(2 * self._stride, MAX_REPORT_STRIDE)
        else:
            self._stride = max(self._stride // 2, 1)
        self.next_report += self._stride
        self._last_report_time = now
