"""Work in a thread, ahead of the caller or behind it: items are made, or taken, while it is busy with others.

Worth it where both release the interpreter lock.
"""

from __future__ import annotations

from contextlib import contextmanager
from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
from threading import Event, Semaphore, Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

Made = TypeVar("Made")

BATCHES_AHEAD = 4
"""Batches that wait at most, besides the one being made."""

WAITING_BEHIND = 2
"""Items that wait at most for the thread that takes them."""

_GRACE = 1.0
"""Seconds to wait for the thread when the caller stops early. A thread that waits for another program ends with it, or with the process."""


def can_work_ahead() -> bool:
    """Return whether a thread may be begun: in a process with a limit of memory it could fail without a chance to say so."""
    return getrlimit(RLIMIT_AS)[0] == RLIM_INFINITY


def ahead(items: Iterable[Made], size: Callable[[Made], int], batch_size: int) -> Generator[Made]:
    """Yield items in order, made by a thread that hands them over in batches of at least ``batch_size`` by ``size``.

    Raise what making them raises, after the items before. The thread ends with the generator.
    """
    from queue import SimpleQueue

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

    thread = Thread(target=make, daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no more threads are allowed
        yield from items
        return
    try:
        end = None
        while end is None:
            batch, end = batches.get()
            room.release()
            yield from batch
        if not isinstance(end, StopIteration):
            raise end
    finally:
        stopped.set()
        room.release()
        thread.join(_GRACE)


@contextmanager
def behind(take: Callable[[Made], object]) -> Iterator[Callable[[Made], object]]:
    """Give a function that returns at once, while a thread calls ``take`` with each item that it is given, in order; at the end all are taken.

    Raise what ``take`` raises, at the latest at the end; items after it are dropped.
    """
    from queue import Queue

    items: Queue[tuple[Made] | None] = Queue(WAITING_BEHIND)
    problems: list[BaseException] = []

    def work() -> None:
        while (item := items.get()) is not None:
            try:
                if not problems:
                    take(*item)
            except BaseException as raised:  # noqa: BLE001 - raised again by the other thread
                problems.append(raised)

    def hand_over(item: Made) -> None:
        if problems:
            raise problems[0]
        items.put((item,))

    thread = Thread(target=work, daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no more threads are allowed
        yield take
        return
    try:
        yield hand_over
    finally:
        items.put(None)
        thread.join()
    if problems:
        raise problems[0]
