"""Work shared out to several processes: tasks for whoever is free, or results in order. If no process can be started, this one does all of it.

On Linux workers are forked: one is there within milliseconds, with all that this process has imported and read. Elsewhere, and where this process has
threads already, joblib's loky starts new interpreters. A worker leaves signals to its parent and does not outlive it.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import struct
import sys
import threading
import time
from array import array
from collections import deque
from contextlib import contextmanager, suppress
from functools import partial
from itertools import accumulate
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nbtext.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future, ThreadPoolExecutor
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command. A terminal sends them to the workers too, which leave it to the parent to end them."""

_INTERVAL = 0.5
"""Seconds after which a worker checks that its parent is still there."""

Shared = TypeVar("Shared")

Task = TypeVar("Task")

Result = TypeVar("Result")

AHEAD = 2
"""Tasks of `in_order` for each worker that are handed out at once."""

WAIT = 0.2
"""Seconds between two checks that all workers are alive."""

REPORTED = 0.05
"""Seconds between two reports."""

LARGE = 1 << 20
"""Bytes of arrays from which on an answer travels in memory that two processes share: a pipe takes 2 to 8 ms a megabyte."""


class Pace:
    """Says after how many documents to report: as many as take a twentieth of a second."""

    def __init__(self) -> None:
        self._stride = 1
        self._before = time.monotonic()
        self.due = 1
        """The number of the next document to report."""

    def reported(self) -> None:
        """Record that the document ``due`` was reported."""
        now = time.monotonic()
        self._stride = min(2 * self._stride, 1024) if now - self._before < REPORTED else max(self._stride // 2, 1)
        self.due, self._before = self.due + self._stride, now


MOST_TICKETS = 1024
"""Tickets of four bytes each that fit into a pipe on every system."""

_TICKET = array("I").itemsize

_SLOT = struct.Struct("2q")


class Tickets:
    """Tasks for processes forked from this one, for whichever asks first.

    They are in a pipe, four bytes each. Reading from a pipe is atomic and needs no lock that a dying process could hold.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._run = -(-n // MOST_TICKETS) or 1
        """Consecutive tasks on a ticket."""
        self._reading, writing = os.pipe()
        os.write(writing, array("I", range(0, n, self._run)).tobytes())
        os.close(writing)  # so that it has an end

    def of(self, process: int) -> Iterator[int]:
        """Yield those that this process takes."""
        del process
        while ticket := os.read(self._reading, _TICKET):
            first = array("I", ticket)[0]
            yield from range(first, min(first + self._run, self._n))

    def withdraw(self) -> None:
        """Take all that are left."""
        while os.read(self._reading, _TICKET * MOST_TICKETS):
            pass

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._reading)


class Shares:
    """Tasks for processes that share nothing with this one: as many for each, dealt out beforehand."""

    def __init__(self, n: int, processes: int) -> None:
        self._n, self._processes = n, processes

    def of(self, process: int) -> Iterator[int]:
        """Yield every n-th, from the number of the process on."""
        return iter(range(process, self._n, self._processes))

    def withdraw(self) -> None:
        """Do nothing: the others cannot be told."""

    def close(self) -> None:
        """Do nothing."""


class Tally:
    """How many documents and bytes each process has read; seen by all if they were forked from the one that made it."""

    def __init__(self, processes: int, *, seen_by_all: bool) -> None:
        self._processes = processes
        size = _SLOT.size * processes
        self._memory: mmap.mmap | bytearray = mmap.mmap(-1, size) if seen_by_all else bytearray(size)

    def note(self, process: int, documents: int, read: int) -> None:
        """Record what one process has done so far."""
        _SLOT.pack_into(self._memory, process * _SLOT.size, documents, read)

    @property
    def total(self) -> tuple[int, int]:
        """Return the documents and bytes of all."""
        slots = [_SLOT.unpack_from(self._memory, process * _SLOT.size) for process in range(self._processes)]
        return sum(documents for documents, _ in slots), sum(read for _, read in slots)


class Share:
    """The tasks of one process, and where it reports how far it is."""

    def __init__(
        self,
        tasks: Tickets | Shares,
        tally: Tally,
        process: int,
        heard: Callable[[int, int], object] | None = None,
        check: Callable[[], object] | None = None,
    ) -> None:
        """``heard`` is told, with each report of this process, the documents and bytes read by all; ``check`` is called before each task."""
        self._tasks, self._tally, self._process, self._heard, self._check = tasks, tally, process, heard, check

    def __iter__(self) -> Iterator[int]:
        for task in self._tasks.of(self._process):
            if self._check is not None:
                self._check()
            yield task

    def withdraw(self) -> None:
        """Have the other processes begin no more tasks."""
        self._tasks.withdraw()

    def report(self, documents: int, read: int) -> None:
        """Report the documents and bytes that this process has read so far."""
        self._tally.note(self._process, documents, read)
        if self._heard is not None:
            self._heard(*self._tally.total)


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Hold back signals while workers are started: none is to be interrupted before it ignores them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve(connection: Connection, function: Callable[[Any], Any], parent: int) -> None:
    """Answer each task with what the function returns or raises, as a worker of the process with the number ``parent``, until the task is None."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with suppress(EOFError):  # the parent is gone
        while (task := connection.recv()) is not None:
            try:
                answer = True, function(*task)
            except Exception as problem:  # noqa: BLE001 - raised where the result is asked for
                answer = False, problem
            send(connection, answer)


def send(connection: Connection, answer: object) -> None:
    """Send an answer; large arrays in it travel in a file in memory, where the system has such, whose descriptor is sent."""
    arrays: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(answer, 5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    if sum(view.nbytes for view in views) < LARGE or not hasattr(os, "memfd_create"):
        connection.send(answer)
        return
    from multiprocessing.reduction import send_handle

    with os.fdopen(os.memfd_create("nbtext"), "wb") as file:
        for view in views:
            file.write(view)
        file.flush()
        connection.send(SharedAnswer(rest, [view.nbytes for view in views]))
        send_handle(connection, file.fileno(), None)


class SharedAnswer(NamedTuple):
    """An answer without its large arrays, which are in a file, and the bytes of each of them."""

    rest: bytes
    sizes: list[int]


def receive(connection: Connection) -> Any:  # noqa: ANN401 - whatever was sent
    """Return what `send` sent."""
    answer = connection.recv()
    if not isinstance(answer, SharedAnswer):
        return answer
    from multiprocessing.reduction import recv_handle

    arrays = memoryview(mmap.mmap(-1, sum(answer.sizes)))
    with os.fdopen(recv_handle(connection), "rb", buffering=0) as file:
        file.seek(0)
        done = 0
        while read := file.readinto(arrays[done:]):
            done += read
    ends = accumulate(answer.sizes)
    return pickle.loads(answer.rest, buffers=[arrays[end - size : end] for size, end in zip(answer.sizes, ends, strict=True)])  # noqa: S301 - from a worker


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_INTERVAL)
    os.kill(os.getpid(), signal.SIGKILL)


def side_by_side(
    work: Callable[[Shared, Share], Result],
    shared: Shared,
    n_tasks: int,
    jobs: int,
    heard: Callable[[int, int], object] | None = None,
) -> list[Result]:
    """Return the results of ``work(shared, share)`` in up to ``jobs`` processes, this one included, in no order.

    Tasks are the numbers below ``n_tasks``; a share iterates over those of one process, in rising order. Forked processes take the next task
    when they are free. ``heard`` is told the documents and bytes read by all. Raises what the work raises, and `WorkerError` for a process
    that ended before its work.
    """
    jobs = min(jobs, n_tasks)
    if jobs < 2:
        return [work(shared, Share(Shares(n_tasks, 1), Tally(1, seen_by_all=False), 0, heard))]
    forked = forks()
    tasks: Tickets | Shares = Tickets(n_tasks) if forked else Shares(n_tasks, jobs)
    tally = Tally(jobs, seen_by_all=forked)
    try:
        with workers(jobs - 1, partial(_worked, work, shared, tasks, tally)) as others:
            futures = [others.submit(process) for process in range(1, jobs)]
            results = [work(shared, Share(tasks, tally, 0, heard, others.require_alive))]
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


def never(task: object) -> bool:
    """Return False."""
    del task
    return False


def in_order(
    function: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task], jobs: int, is_ours: Callable[[Task], bool] = never
) -> Iterator[tuple[Task, Result | None]]:
    """Yield each task in order, with ``function(shared, task)`` from another process, few tasks at a time.

    ``jobs`` is the number of the other processes, 0 for as many as there are processors. The result is None for a task that this process is to
    do: one that ``is_ours``, and all if there is one job or no other process can be started. Raises what the function raises, and
    `WorkerError` for a process that ended before its work.
    """
    jobs = jobs or cores()
    if jobs < 2:
        yield from ((task, None) for task in tasks)
        return
    pending: deque[tuple[Task, Future[Any] | None]] = deque()
    can_start = True
    with workers(jobs, partial(function, shared)) as others:
        for task in tasks:
            future = None
            if can_start and not is_ours(task):
                try:
                    future = others.submit(task)
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


def _worked(work: Callable[[Any, Share], Result], shared: object, tasks: Tickets | Shares, tally: Tally, process: int) -> Result:
    return work(shared, Share(tasks, tally, process))


def _wait(futures: list[Future[Any]]) -> None:
    """Wait until all are done, one has failed, or `WAIT` has passed; raise why one has failed."""
    from concurrent.futures import FIRST_EXCEPTION, wait

    for future in wait(futures, WAIT, FIRST_EXCEPTION).done:
        future.result()


class CannotStartError(Exception):
    """No worker can be started, and the first task is not taken."""


def cores() -> int:
    """Return how many processes can run at once here, by processors, affinity and control groups."""
    from joblib import cpu_count

    return int(cpu_count())


def forks() -> bool:
    """Return whether workers are forked, so that memory and pipes of this process need not be sent to them."""
    return sys.platform == "linux" and threading.active_count() == 1


@contextmanager
def workers(n: int, function: Callable[[Any], Any]) -> Iterator[Workers]:
    """Have ``n`` workers, started with the first task, that call a function; they are gone in the end.

    Raises `WorkerError` if one ended before its work.
    """
    pool = Workers(n, function)
    try:
        yield pool
    except BaseException:
        pool.kill()
        raise
    pool.dismiss()


def _worker_ended() -> WorkerError:
    return WorkerError("a worker process ended before its work was done", hint="it was killed, or memory is short: fewer --jobs need less")


class Workers:
    """Processes that call a function with a task.

    Each has a pipe to a thread of this process, which sends it one task after the other. Nothing is shared that a worker could hold when it dies: its end of
    the pipe is closed then, and the thread knows.
    """

    def __init__(self, n: int, function: Callable[[Any], Any]) -> None:
        self._n, self._function = n, function
        self._forked = forks()
        self._processes: list[BaseProcess] = []
        self._pipes: list[Connection] = []
        self._idle: SimpleQueue[Connection] = SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None

    def submit(self, task: object) -> Future[Any]:
        """Have a worker do a task; raises `CannotStartError` if it is the first and there can be no worker."""
        with signals_blocked():
            if self._threads is None:
                from concurrent.futures import ThreadPoolExecutor

                self._start()
                self._threads = ThreadPoolExecutor(self._n)
            return self._threads.submit(self._done, task)

    def result(self, future: Future[Any]) -> Any:  # noqa: ANN401 - what the function returns
        """Return what came of a task, once it is done; raise what the function raised."""
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
            raise _worker_ended()

    def _start(self) -> None:
        import multiprocessing

        try:
            context: Any = multiprocessing.get_context("fork")
            if not self._forked:
                from joblib.externals.loky.backend import get_context

                context = get_context("loky")  # as spawn, but the program's main module is not imported
            for _ in range(self._n):
                ours, theirs = multiprocessing.Pipe()
                self._pipes.append(ours)
                process = context.Process(target=serve, args=(theirs, self._function, os.getpid()), daemon=True)
                process.start()
                theirs.close()  # before the next worker is forked, so that nobody else has it
                self._processes.append(process)
                self._idle.put(ours)
        except (ImportError, NotImplementedError, OSError):  # no more processes or files
            self.kill()
            raise CannotStartError from None

    def _done(self, task: object) -> Any:  # noqa: ANN401 - what the function returns
        pipe = self._idle.get()
        try:
            pipe.send((task,))
            is_result, answer = receive(pipe)
        except (EOFError, OSError):
            raise _worker_ended() from None
        finally:
            self._idle.put(pipe)
        if is_result:
            return answer
        raise answer

    def dismiss(self) -> None:
        """Let the workers go that have done all their tasks."""
        for pipe in self._pipes:
            with suppress(OSError):  # one that has ended by now
                pipe.send(None)
        for process in self._processes:
            process.join()
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
            self._release()

    def _release(self) -> None:
        """Let go of threads and pipes."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)  # of workers that are gone
        for pipe in self._pipes:
            pipe.close()
        self._processes, self._pipes = [], []
