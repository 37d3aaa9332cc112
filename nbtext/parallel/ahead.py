"""Work in a thread, ahead of the caller or behind it: items are made, or taken, while it is busy with others.

Worth it where both release the interpreter lock.
"""

from __future__ import annotations

from _thread import start_new_thread
from contextlib import contextmanager, suppress
from queue import Empty, Full, Queue, SimpleQueue
from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
from threading import Event, Lock, Semaphore
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

Made = TypeVar("Made")

BATCHES_AHEAD = 2
"""Batches that wait at most, besides the one being made."""

WAITING_BEHIND = 1
"""Items that wait at most for the thread that takes them."""

_GRACE = 1.0
"""Seconds to wait for a thread: for its beginning, for a sign of life, and for its end when the caller stops early. A thread that waits for another
program ends with it, or with the process."""


def can_work_ahead() -> bool:
    """Return whether a thread may be begun: in a process with a limit of memory it could fail without a chance to say so."""
    return getrlimit(RLIMIT_AS)[0] == RLIM_INFINITY


class _Worker:
    """A function that runs in a thread.

    `threading.Thread` waits forever for a thread that has too little memory to begin.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._begun, self._decided, self._running = Lock(), Lock(), Lock()

    def begin(self) -> bool:
        """Return whether the function runs; if not, it never will."""
        self._begun.acquire()
        self._running.acquire()
        try:
            start_new_thread(self._run, ())
        except RuntimeError:  # no more threads are allowed
            return False
        return self._begun.acquire(timeout=_GRACE) or not self._decided.acquire(blocking=False)

    def _run(self) -> None:
        self._begun.release()
        if self._decided.acquire(blocking=False):
            try:
                self._work()
            finally:
                self._running.release()

    def get(self, queue: SimpleQueue[Made]) -> Made:
        """Return the next item that the function puts into a queue; raise `MemoryError` if it ended for want of memory even to say so."""
        while True:
            was_running = self._running.locked()
            try:
                return queue.get(timeout=_GRACE)
            except Empty:
                if not was_running:
                    raise MemoryError from None

    def put(self, item: Made, queue: Queue[Made]) -> None:
        """Put an item into a queue from which the function takes; do nothing if it has ended."""
        while self._running.locked():
            with suppress(Full):
                queue.put(item, timeout=_GRACE)
                break

    def join(self, seconds: float = -1) -> None:
        """Wait until the function has ended, or for so long."""
        if self._running.acquire(timeout=seconds):
            self._running.release()


def ahead(items: Iterable[Made], size: Callable[[Made], int], batch_size: int) -> Generator[Made]:
    """Yield items in order, made by a thread that hands them over in batches of at least ``batch_size`` by ``size``.

    Raise what making them raises, after the items before. The thread ends with the generator.
    """
    batches: SimpleQueue[tuple[list[Made], BaseException | None]] = SimpleQueue()
    room, stopped = Semaphore(BATCHES_AHEAD), Event()

    def make() -> None:
        batch: list[Made] = []
        total = 0
        end: BaseException = StopIteration()
        try:
            for item in items:
                batch.append(item)
                total += size(item)
                if total >= batch_size:
                    room.acquire()
                    if stopped.is_set():
                        return
                    batches.put((batch, None))
                    batch, total = [], 0
        except BaseException as raised:  # noqa: BLE001 - raised again by the other thread
            end = raised
        batches.put((batch, end))

    worker = _Worker(make)
    if not worker.begin():
        yield from items
        return
    try:
        end = None
        while end is None:
            batch, end = worker.get(batches)
            room.release()
            yield from batch
        if not isinstance(end, StopIteration):
            raise end
    finally:
        stopped.set()
        room.release()
        worker.join(_GRACE)


@contextmanager
def behind(take: Callable[[Made], object]) -> Iterator[Callable[[Made], object]]:
    """Give a function that returns at once, while a thread calls ``take`` with each item that it is given, in order; at the end all are taken.

    Raise what ``take`` raises, at the latest at the end; items after it are dropped.
    """
    items: Queue[tuple[Made] | None] = Queue(WAITING_BEHIND)
    problems: list[BaseException] = []
    is_done = False

    def work() -> None:
        nonlocal is_done
        while (item := items.get()) is not None:
            try:
                if not problems:
                    take(*item)
            except BaseException as raised:  # noqa: BLE001 - raised again by the other thread
                problems.append(raised)
            del item  # not kept until the next one comes
        is_done = True

    def hand_over(item: Made) -> None:
        if problems:
            raise problems[0]
        worker.put((item,), items)

    worker = _Worker(work)
    if not worker.begin():
        yield take
        return
    try:
        yield hand_over
    finally:
        worker.put(None, items)
        worker.join()
    if problems:
        raise problems[0]
    if not is_done:
        raise MemoryError  # not even for saying so
