"""Work shared out to several processes: tasks for whoever is free, or results in order. If no process can be started, this one does all of it.

On Linux workers are forked: one is there within milliseconds, with all that this process has imported and read. Elsewhere, and where this process has
threads already, joblib's loky starts new interpreters. A worker leaves signals to its parent and does not outlive it.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, Never, Self, TypeVar

import numpy as np

from nbtext.errors import WorkerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess
    from queue import SimpleQueue

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command. A terminal sends them to the workers too, which leave it to the parent to end them."""

_INTERVAL = 0.5
"""Seconds after which a worker checks that its parent is still there."""

Shared = TypeVar("Shared")

Task = TypeVar("Task")

Result = TypeVar("Result")

TASKS_AHEAD_PER_WORKER = 2
"""Tasks of `in_order` for each worker that are handed out at once."""

WORKER_POLL_SECONDS = 0.2
"""Seconds between two checks that all workers are alive."""


MIN_SHARED_MEMORY_BYTES = 1 << 20
"""Bytes of arrays from which on an answer travels in memory that two processes share: a pipe takes 2 to 8 ms a megabyte."""


class TaskBatch(Generic[Task]):
    """The tasks of one process, and where it reports how far it is."""

    def __init__(
        self, tasks: Iterable[Task], on_progress: Callable[[int, int], object] | None = None
    ) -> None:
        """``heard`` is told the documents and bytes read so far."""
        self._tasks = iter(tasks)
        self._heard = on_progress

    def __iter__(self) -> Iterator[Task]:
        while (task := next(self._tasks, None)) is not None:
            yield task

    def cancel_remaining(self) -> None:
        """Have no process begin more tasks."""
        self._tasks = iter(())

    def report_progress_so_far(self, n_documents: int, n_bytes: int) -> None:
        """Report the documents and bytes that this process has read so far."""
        if self._heard is not None:
            self._heard(n_documents, n_bytes)


SHARE = "share"
"""Sent in place of a task: the worker is to ask for its share of all tasks."""

NEXT = "next"
"""A worker wants a task of a share."""

ENOUGH = "enough"
"""Nobody should get more tasks of a share."""

READ = "read"
"""The documents and bytes that a worker has read so far."""

RESULT = "result"
"""What the function returned."""

PROBLEM = "problem"
"""What the function raised."""

IN_MEMORY = "in memory"
"""Either of them without its arrays, which are in a file, and where each but the last ends there."""


class _ShareOfWorker(TaskBatch[Task]):
    """The tasks that a worker asks its parent for, one after the other."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(iter(self._asked, None), lambda *so_far: connection.send((READ, so_far)))
        self._connection = connection

    def _asked(self) -> Task | None:
        self._connection.send((NEXT, None))
        return self._connection.recv()

    def cancel_remaining(self) -> None:
        """Have no process begin more tasks."""
        super().cancel_remaining()
        self._connection.send((ENOUGH, None))


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Hold back signals while workers are started: none is to be interrupted before it ignores them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, function: Callable[[Never], object]) -> None:
    """Answer each task with what the function returns or raises for it, until the task is None."""
    share: TaskBatch[Any] = _ShareOfWorker(connection)
    while (task := connection.recv()) is not None:
        send_result(connection, _attempt(function, share if task == SHARE else task[0]))


def _work(parent: int, connection: Connection, function: Callable[[Never], object]) -> None:
    """Serve as a worker of the process with the number ``parent``."""
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with suppress(EOFError, OSError):  # the parent is gone
        _serve(connection, function)


def _attempt(function: Callable[..., object], task: object) -> tuple[str, object]:
    try:
        return RESULT, function(task)
    except Exception as problem:  # noqa: BLE001 - raised where the result is asked for
        return PROBLEM, problem


def send_result(connection: Connection, answer: tuple[str, object]) -> None:
    """Send a kind and an answer of it.

    Large arrays in it travel in a file in memory, where the system has such, whose descriptor is sent.
    """
    arrays: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(answer, 5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    ends = list(accumulate((view.nbytes for view in views), initial=0))
    if ends[-1] < MIN_SHARED_MEMORY_BYTES or not hasattr(os, "memfd_create"):
        connection.send(answer)
        return
    from multiprocessing.reduction import send_handle

    with os.fdopen(os.memfd_create("nbtext"), "wb") as file:
        file.writelines(views)
        file.flush()
        connection.send((IN_MEMORY, (rest, ends[1:-1])))
        send_handle(connection, file.fileno(), None)


def _receive(connection: Connection) -> tuple[str, Any]:
    """Return what `send` sent."""
    kind, content = connection.recv()
    if kind != IN_MEMORY:
        return kind, content
    from multiprocessing.reduction import recv_handle

    rest, ends = content
    with os.fdopen(recv_handle(connection), "rb") as file:
        file.seek(0)
        arrays = np.split(np.fromfile(file, np.uint8), ends)
    kind, content = pickle.loads(rest, buffers=arrays)  # noqa: S301 - from a worker
    return kind, content


def _tell(worker: Connection, task: object) -> None:
    """Send a worker a task, or None to let it go.

    If it has ended, that shows where its answer is awaited.
    """
    with suppress(ConnectionError):
        worker.send(task)


def _answer(worker: Connection) -> tuple[str, Any]:
    """Return the kind of what a worker says, and what it says.

    Raises what its function raised, and `WorkerError` if it has ended.
    """
    try:
        kind, content = _receive(worker)
    except (EOFError, OSError):
        raise _worker_ended() from None
    if kind == PROBLEM:
        raise content
    return kind, content


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_INTERVAL)
    os.kill(os.getpid(), signal.SIGKILL)


def run_parallel(
    work: Callable[[Shared, TaskBatch[Task]], Result],
    shared: Shared,
    tasks: Iterable[Task],
    jobs: int,
    on_progress: Callable[[int, int], object] | None = None,
) -> list[Result]:
    """Return the results of ``work(shared, share)`` in ``jobs`` other processes, in no order; in this one if ``jobs`` is 1 or none can be started.

    A share iterates over the tasks of one process, in rising order: it gets the next one when it is free. ``heard`` is told the documents and bytes
    read by all. Raises what the work raises, and `WorkerError` for a process that ended before its work.
    """
    share = TaskBatch(tasks, on_progress)
    if jobs > 1:
        with suppress(CannotStartError), Workers(jobs, partial(work, shared)) as others:
            return others.run_batch(share)
    return [work(shared, share)]


def run_in_order(
    function: Callable[[Shared, Task], Result],
    shared: Shared,
    tasks: Iterable[Task],
    jobs: int,
    is_local: Callable[[Task], bool] = lambda _: False,
) -> Iterator[tuple[Task, Result | None]]:
    """Yield each task in order, with ``function(shared, task)`` from another process, few tasks at a time.

    ``jobs`` is the number of the other processes, 0 for as many as there are processors. The result is None for a task that this process is to
    do: one that ``is_ours``, and all if there is one job or no other process can be started. Raises what the function raises, and
    `WorkerError` for a process that ended before its work.
    """
    jobs = jobs or count_cores()
    if jobs < 2:
        yield from ((task, None) for task in tasks)
        return
    pending: deque[tuple[Task, Future[Result] | None]] = deque()
    can_start = True

    def first() -> tuple[Task, Result | None]:
        task, future = pending.popleft()
        return task, None if future is None else others.wait_for_result(future)

    with Workers(jobs, partial(function, shared)) as others:
        for task in tasks:
            future = None
            if can_start and not is_local(task):
                try:
                    future = others.submit(task)
                except CannotStartError:
                    can_start = False
            pending.append((task, future))
            if not can_start or len(pending) == TASKS_AHEAD_PER_WORKER * jobs:
                yield first()
        while pending:
            yield first()


class CannotStartError(Exception):
    """No worker can be started, and the first task is not taken."""


def count_cores() -> int:
    """Return how many processes can run at once here, by processors, affinity and control groups."""
    from joblib import cpu_count

    return int(cpu_count())


def uses_fork() -> bool:
    """Return whether workers are forked, so that memory and pipes of this process need not be sent to them."""
    return sys.platform == "linux" and threading.active_count() == 1


def _worker_ended() -> WorkerError:
    return WorkerError(
        "a worker process ended before its work was done",
        hint="it was killed, or memory is short: fewer --jobs need less",
    )


class Workers:
    """Processes that call a function with a task. They start with the first task, and are gone when the ``with`` statement ends.

    Each has a pipe to a thread of this process, which sends it one task after the other. Nothing is shared that a worker could hold when it dies: its end of
    the pipe is closed then, and the thread knows.
    """

    def __init__(self, n: int, function: Callable[[Never], object]) -> None:
        from concurrent.futures import ThreadPoolExecutor
        from queue import SimpleQueue

        self._n = n
        self._function = function
        self._forked = uses_fork()
        self._processes: list[BaseProcess] = []
        self._pipes: list[Connection] = []
        self._idle: SimpleQueue[Connection] = SimpleQueue()
        self._threads = ThreadPoolExecutor(n)

    def __enter__(self) -> Self:
        """Return the workers."""
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Let the workers go; kill them if there is an exception."""
        if kind is not None:
            self.kill()
            return
        for pipe in self._pipes:
            _tell(pipe, None)
        self._release()

    def submit(self, task: object) -> Future[Any]:
        """Have a worker do a task; raises `CannotStartError` if it is the first and there can be no worker."""
        with _signals_blocked():
            if not self._processes:
                self._start()
            return self._threads.submit(self._done, task)

    def run_batch(self, share: TaskBatch[Any]) -> list[Any]:
        """Have each worker do a part of a share; return what comes of them, as `run_parallel`."""
        from multiprocessing.connection import wait

        with _signals_blocked():
            self._start()
        results: list[Any] = []
        working = list(self._pipes)
        for pipe in working:
            _tell(pipe, SHARE)
        progress: dict[Connection, tuple[int, int]] = {}
        tasks = iter(share)
        upcoming = next(tasks, None)
        while working:
            ready: list[Any] = wait(working, WORKER_POLL_SECONDS)
            for pipe in ready:
                kind, content = _answer(pipe)
                if kind == NEXT:
                    _tell(pipe, upcoming)
                    upcoming = next(tasks, None)
                elif kind == ENOUGH:
                    share.cancel_remaining()
                    upcoming = None
                elif kind == READ:
                    progress[pipe] = content
                    share.report_progress_so_far(*map(sum, zip(*progress.values(), strict=True)))
                else:
                    results.append(content)
                    working.remove(pipe)
            if not ready:
                self.require_alive()
        return results

    def wait_for_result(self, future: Future[Result]) -> Result:
        """Return what came of a task, once it is done; raise what the function raised."""
        from concurrent.futures import wait

        while not wait((future,), WORKER_POLL_SECONDS).done:
            self.require_alive()
        return future.result()

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

                context = get_context(
                    "loky"
                )  # as spawn, but the program's main module is not imported
            for _ in range(self._n):
                ours, theirs = multiprocessing.Pipe()
                self._pipes.append(ours)
                process = context.Process(
                    target=_work, args=(os.getpid(), theirs, self._function), daemon=True
                )
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
            _tell(pipe, (task,))
            _, result = _answer(pipe)
        finally:
            self._idle.put(pipe)
        return result

    def kill(self) -> None:
        """End the workers, whatever they do; return when they are gone."""
        with _signals_blocked():
            for process in self._processes:
                if process.exitcode is None and process.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGKILL)
            self._release()

    def _release(self) -> None:
        """Let go of workers that end, of threads and of pipes."""
        for process in self._processes:
            process.join()
        self._threads.shutdown(cancel_futures=True)
        for pipe in self._pipes:
            pipe.close()
        self._processes = []
        self._pipes = []
