"""How often to say how far the work is.

What processes that work side by side share: tasks, of which each takes one when it is free, and a count of what they have done.

What a worker process is like: it leaves signals to its parent, says nothing, and does not outlive it.

Tasks done by several processes: side by side, whoever is free, or in order. Where no process can be started this one does all of them.

Worker processes, through joblib's loky. The only module that knows how they are started and how they end.

On Linux they are forked: one is there within milliseconds, with all that this process has imported and read, and needs no named semaphores,
no temporary folder and no process that tracks them. Elsewhere, and where this process has threads already, loky starts new
interpreters.
"""

from __future__ import annotations

import gc
import mmap
import os
import signal
import struct
import sys
import threading
import time
from array import array
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from nbtext.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future
    from multiprocessing.process import BaseProcess


REPORTED = 0.05
"""Seconds between two reports."""


class Pace:
    """Says after how many documents to report: as many as take a twentieth of a second, since they may come slowly."""

    def __init__(self) -> None:
        self._stride = 1
        self._before = time.monotonic()
        self.due = 1
        """The number of the next document to report."""

    def reported(self) -> None:
        """That one has been."""
        now = time.monotonic()
        self._stride = min(2 * self._stride, 1024) if now - self._before < REPORTED else max(self._stride // 2, 1)
        self.due, self._before = self.due + self._stride, now


MOST_TICKETS = 1024
"""So many of four bytes each fit into a pipe, however small the system makes it."""


_TICKET = array("I").itemsize


_SLOT = struct.Struct("2q")


class Tasks(Protocol):
    """The numbers below some ``n``, each for one of several processes."""

    def of(self, process: int) -> Iterator[int]:
        """Those for one process, in rising order."""

    def withdraw(self) -> None:
        """Hand out no more, as far as that can be done."""

    def close(self) -> None:
        """Nobody will ask for any more."""


class Tickets:
    """Tasks for processes forked from this one, for whichever asks first.

    They lie in a pipe as four bytes each. To take some out of a pipe is atomic, needs no lock that a dying process could hold, and
    at the end of the tickets there is nothing left to read.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._run = -(-n // MOST_TICKETS) or 1
        """Consecutive tasks on a ticket."""
        self._reading, writing = os.pipe()
        os.write(writing, array("I", range(0, n, self._run)).tobytes())
        os.close(writing)  # so that it has an end

    def of(self, process: int) -> Iterator[int]:
        """Those that this process is quick enough to take."""
        del process
        while ticket := os.read(self._reading, _TICKET):
            first = array("I", ticket)[0]
            yield from range(first, min(first + self._run, self._n))

    def withdraw(self) -> None:
        """Take all that are left."""
        while os.read(self._reading, _TICKET * MOST_TICKETS):
            pass

    def close(self) -> None:
        """Nobody reads them any more."""
        os.close(self._reading)


class Shares:
    """Tasks for processes that share nothing with this one: as many for each, dealt out beforehand."""

    def __init__(self, n: int, processes: int) -> None:
        self._n, self._processes = n, processes

    def of(self, process: int) -> Iterator[int]:
        """From the process's own number on."""
        return iter(range(process, self._n, self._processes))

    def withdraw(self) -> None:
        """The others cannot be told."""

    def close(self) -> None:
        """There is nothing to close."""


class Tally:
    """How many documents and bytes each process has read; seen by all if they were forked from the one that made it."""

    def __init__(self, processes: int, *, seen_by_all: bool) -> None:
        self._processes = processes
        size = _SLOT.size * processes
        self._memory: mmap.mmap | bytearray = mmap.mmap(-1, size) if seen_by_all else bytearray(size)

    def note(self, process: int, documents: int, read: int) -> None:
        """What one process has done so far."""
        _SLOT.pack_into(self._memory, process * _SLOT.size, documents, read)

    @property
    def total(self) -> tuple[int, int]:
        """Documents and bytes of all."""
        slots = [_SLOT.unpack_from(self._memory, process * _SLOT.size) for process in range(self._processes)]
        return sum(documents for documents, _ in slots), sum(read for _, read in slots)


class Share:
    """What one process has of some work: its tasks, and a place to say how far it is."""

    def __init__(self, tasks: Tasks, tally: Tally, process: int, heard: Callable[[int, int], object] | None = None) -> None:
        """``heard`` is told, with each report of this process, the documents and bytes read by all."""
        self._tasks, self._tally, self._process, self._heard = tasks, tally, process, heard

    def __iter__(self) -> Iterator[int]:
        return self._tasks.of(self._process)

    def withdraw(self) -> None:
        """Have the other processes begin no more tasks."""
        self._tasks.withdraw()

    def report(self, documents: int, read: int) -> None:
        """How many documents and bytes this process has read so far."""
        self._tally.note(self._process, documents, read)
        if self._heard is not None:
            self._heard(*self._tally.total)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a command; a terminal sends it to the workers as well, but the parent ends them."""


_INTERVAL = 0.5
"""Seconds after which a worker looks whether its parent is still there."""


_shared: Any = None


@contextmanager
def signals_blocked() -> Iterator[None]:
    """While workers are started: none is to be interrupted before `begin`. What arrives meanwhile comes afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin(parent: int, shared: object) -> None:
    """Make this process a worker of the parent with that process id; `call` hands ``shared`` to every function."""
    global _shared  # noqa: PLW0603 - a worker has one
    _shared = shared
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def call(function: Callable[[Any, Any], Any], task: object) -> Any:  # noqa: ANN401 - what the function returns
    """The function's result for what is shared and a task."""
    import faulthandler

    faulthandler.disable()  # loky enables it; the parent has one line for a worker that ends
    return function(_shared, task)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_INTERVAL)
    os.kill(os.getpid(), signal.SIGKILL)


Shared = TypeVar("Shared")


Task = TypeVar("Task")


Result = TypeVar("Result")


AHEAD = 2
"""Tasks of `in_order` for each worker that may be waiting or done while the first result is waited for."""


def side_by_side(
    work: Callable[[Shared, Share], Result],
    shared: Shared,
    n_tasks: int,
    jobs: int,
    heard: Callable[[int, int], object] | None = None,
) -> list[Result]:
    """The results of ``work(shared, share)`` in up to ``jobs`` processes, this one included, in no order.

    Tasks are the numbers below ``n_tasks``; a share iterates over those of one process, in rising order. Forked processes take the next task
    when they are free. ``heard`` is told the documents and bytes read by all. Raises what the work raises, and `WorkerError` for a process
    that ended before its work.
    """
    jobs = min(jobs, n_tasks)
    if jobs < 2:
        return [work(shared, Share(Shares(n_tasks, 1), Tally(1, seen_by_all=False), 0, heard))]
    forked = forks()
    tasks = Tickets(n_tasks) if forked else Shares(n_tasks, jobs)
    tally = Tally(jobs, seen_by_all=forked)
    try:
        with workers(jobs - 1, (work, shared, tasks, tally)) as others:
            futures = [others.submit(_worked, process) for process in range(1, jobs)]
            results = [work(shared, _OwnShare(tasks, tally, heard, others))]
            while any(not future.done() for future in futures):
                _wait(futures)
                others.require_alive()
                if heard is not None:
                    heard(*tally.total)
            return results + [future.result() for future in futures]
    except CannotStartError:
        return [work(shared, Share(Shares(n_tasks, 1), tally, 0, heard))]
    finally:
        tasks.close()


def in_order(
    function: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task], jobs: int, is_ours: Callable[[Task], bool]
) -> Iterator[tuple[Task, Result | None]]:
    """Each task in order, with ``function(shared, task)`` as another process gave it, few tasks at a time.

    ``jobs`` is the number of the other processes. The result is None for a task that this process is to do: one that ``is_ours``, and all
    if no other can be started. Raises what the function raises, and `WorkerError` for a process that ended before its work.
    """
    pending: deque[tuple[Task, Future[Any] | None]] = deque()
    can_start = True
    with workers(jobs, shared) as others:
        for task in tasks:
            future = None
            if can_start and not is_ours(task):
                try:
                    future = others.submit(function, task)
                except CannotStartError:
                    can_start = False
            pending.append((task, future))
            if not can_start or len(pending) == AHEAD * jobs:
                yield _first(pending, others)
        while pending:
            yield _first(pending, others)


def _first(pending: deque[tuple[Task, Future[Any] | None]], others: Workers) -> tuple[Task, Any]:
    task, future = pending.popleft()
    return task, None if future is None else others.result(future)


def _worked(of_all: tuple[Callable[[Any, Share], Result], Any, Tasks, Tally], process: int) -> Result:
    work, shared, tasks, tally = of_all
    return work(shared, Share(tasks, tally, process))


class _OwnShare(Share):
    """That of the process that started the others: it does not work on in vain."""

    def __init__(self, tasks: Tasks, tally: Tally, heard: Callable[[int, int], object] | None, others: Workers) -> None:
        super().__init__(tasks, tally, 0, heard)
        self._others = others

    def __iter__(self) -> Iterator[int]:
        for task in super().__iter__():
            self._others.require_alive()
            yield task


def _wait(futures: list[Future[Any]]) -> None:
    """Until all are done, one has failed, or a while has passed; raises why one has failed."""
    from concurrent.futures import FIRST_EXCEPTION, wait

    for future in wait(futures, WAIT, FIRST_EXCEPTION).done:
        future.result()


WAIT = 0.2
"""Seconds between two looks at whether all workers are alive."""


PATIENCE = 10.0
"""Seconds given to loky to notice that its workers are gone."""


class CannotStartError(Exception):
    """No worker can be started, and the first task is not taken."""


def cores() -> int:
    """How many processes can run at once here: processors, less what affinity and control groups take away."""
    from joblib import cpu_count

    return int(cpu_count())


def forks() -> bool:
    """Whether workers are forked, so that what lies in this process's memory and pipes need not be sent to them."""
    return sys.platform == "linux" and threading.active_count() == 1


@contextmanager
def workers(n: int, shared: object) -> Iterator[Workers]:
    """So many workers, started with the first task; they are gone in the end.

    Raises `WorkerError` if one ended before its work.
    """
    from concurrent.futures.process import BrokenProcessPool

    pool = Workers(n, shared)
    try:
        yield pool
    except BrokenProcessPool:
        pool.kill()
        _raise_end()
    except BaseException:
        pool.kill()
        raise
    pool.dismiss()


def _raise_end() -> NoReturn:
    raise WorkerError(
        "a worker process ended before its work was done", hint="it was killed, or memory is short: fewer --jobs need less"
    ) from None


class Workers:
    """Processes that call functions with what is shared and a task."""

    def __init__(self, n: int, shared: object) -> None:
        self._n, self._shared = n, shared
        self._executor: Any = None
        self._processes: list[BaseProcess] = []
        self._forked = forks()

    def submit(self, function: Callable[[Any, Any], Any], task: object) -> Future[Any]:
        """Have a worker do a task; raises `CannotStartError` if it is the first and there can be no worker."""
        with signals_blocked():
            if self._executor is None:
                return self._start(function, task)
            future: Future[Any] = self._executor.submit(call, function, task)
            return future

    def result(self, future: Future[Any]) -> Any:  # noqa: ANN401 - what the function returns
        """What came of a task, once it is done; raises what the function raised."""
        while True:
            try:
                return future.result(WAIT)
            except TimeoutError:
                if future.done():
                    raise
                self.require_alive()

    def require_alive(self) -> None:
        """Raise `WorkerError` if a worker has ended."""
        if not all(process.is_alive() for process in self._processes):
            _raise_end()

    def _start(self, function: Callable[[Any, Any], Any], task: object) -> Future[Any]:
        import multiprocessing

        others = multiprocessing.active_children()
        try:
            from joblib.externals.loky.process_executor import ProcessPoolExecutor

            context = multiprocessing.get_context("fork") if self._forked else None
            self._executor = ProcessPoolExecutor(self._n, context=context, initializer=begin, initargs=(os.getpid(), self._shared))
            future: Future[Any] = self._executor.submit(call, function, task)
            self._executor._result_queue._writer.close()  # noqa: SLF001 - else a result that a killed worker has half sent is waited for
        except (ImportError, NotImplementedError, OSError):  # no semaphores, or no more processes
            raise CannotStartError from None
        finally:
            self._processes = [process for process in multiprocessing.active_children() if process not in others]
        return future

    def dismiss(self) -> None:
        """Let the workers go that have done all their tasks."""
        if self._executor is not None:
            self._executor.shutdown(wait=True)
            self._release()

    def kill(self) -> None:
        """End the workers, whatever they do; return when they are gone."""
        with signals_blocked():
            for process in self._processes:
                if process.exitcode is None and process.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGKILL)
            for process in self._processes:
                process.join()
            if self._executor is not None:  # not with its kill_workers, which fails in a thread if tasks are waiting
                closing = threading.Thread(target=self._executor.shutdown, daemon=True)
                closing.start()
                closing.join(PATIENCE)
            self._release()

    def _release(self) -> None:
        """Let go of what the system lent for the workers."""
        self._executor, self._processes = None, []
        if not self._forked:
            gc.collect()  # named semaphores go with the objects
