"""Work in several processes of this machine.

`run_parallel` divides tasks among processes, and each process returns one result. `run_in_order`
returns the result of each task, in the order of the tasks. If no process can be started, this
process, the parent, does all the work.

On Linux, the parent forks the workers: they start within milliseconds, and have all modules and
data of the parent. On other systems, and if the parent has several threads, joblib's loky starts
new interpreters. A worker ignores signals that end a command, and ends when the parent ends.
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
"""Signals that end a command. A terminal also sends them to workers, whom the parent should end."""

PARENT_POLL_SECONDS = 0.5
"""Time between two checks of a worker that its parent is alive."""

WORKER_POLL_SECONDS = 0.2
"""Time between two checks that all workers are alive."""

TASKS_AHEAD_PER_WORKER = 2
"""Tasks of `run_in_order` that are submitted for each worker before a result is awaited."""

MIN_SHARED_MEMORY_BYTES = 1 << 20
"""Minimum size of the arrays of a result for which shared memory is used instead of a pipe.

A pipe takes 2 to 8 ms per megabyte.
"""

Shared = TypeVar("Shared")
"""Data that is the same for all tasks."""

Task = TypeVar("Task")

Result = TypeVar("Result")


class TaskBatch(Generic[Task]):
    """The tasks of one process: an iterable that also reports progress.

    A task must not be None, because None marks the end of the tasks.
    """

    def __init__(
        self, tasks: Iterable[Task], on_progress: Callable[[int, int], object] | None = None
    ) -> None:
        """``on_progress`` is called with the numbers of documents and bytes read so far."""
        self._tasks = iter(tasks)
        self._on_progress = on_progress

    def __iter__(self) -> Iterator[Task]:
        # A ``for`` loop would go on with the old iterator after `cancel_remaining`.
        while (task := next(self._tasks, None)) is not None:
            yield task

    def cancel_remaining(self) -> None:
        """Drop the tasks that no process has started yet."""
        self._tasks = iter(())

    def report_progress_so_far(self, n_documents: int, n_bytes: int) -> None:
        """Report the documents and bytes that this process has read so far."""
        if self._on_progress is not None:
            self._on_progress(n_documents, n_bytes)


# Kinds of messages between a process and its workers.
BATCH_TASK = "batch"
"""Sent instead of a task: the worker should request the tasks of a batch one by one."""

NEXT_TASK = "next"
"""A worker requests the next task of a batch."""

CANCEL = "cancel"
"""A worker asks the parent to drop the remaining tasks of the batch."""

PROGRESS = "progress"
"""The numbers of documents and bytes that a worker has read so far."""

RESULT = "result"
"""The return value of the function."""

ERROR = "error"
"""The exception that the function raised."""

SHARED_MEMORY = "shared memory"
"""A pickled `RESULT` or `ERROR` without its arrays, which are in a file in memory.

The message also has the offset of the end of each array except the last one.
"""


class _RemoteBatch(TaskBatch[Task]):
    """The tasks that a worker requests from its parent one by one."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(iter(self._request_task, None))  # calls it until it returns None
        self._connection = connection

    def _request_task(self) -> Task | None:
        """Return the next task, or None if no task is left."""
        self._connection.send((NEXT_TASK, None))
        return self._connection.recv()

    def cancel_remaining(self) -> None:
        """Drop the tasks that no process has started yet."""
        super().cancel_remaining()
        self._connection.send((CANCEL, None))

    def report_progress_so_far(self, n_documents: int, n_bytes: int) -> None:
        """Send the documents and bytes that this process has read so far to the parent."""
        self._connection.send((PROGRESS, (n_documents, n_bytes)))


@contextmanager
def _block_signals() -> Iterator[None]:
    """Block signals within the context. Workers that start in it inherit this, as `_work` needs."""
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)


def _work(parent_pid: int, connection: Connection, function: Callable[[Never], object]) -> None:
    """Run as a worker process: serve tasks until the parent ends the connection."""
    # Signals are blocked since the start, so that none ends the worker before it ignores them.
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)
    threading.Thread(target=_end_with_parent, args=(parent_pid,), daemon=True).start()
    with suppress(EOFError, OSError):  # the parent has ended
        _serve(connection, function)


def _end_with_parent(parent_pid: int) -> None:
    """Kill this process when its parent has ended. This runs in a thread."""
    while os.getppid() == parent_pid:
        time.sleep(PARENT_POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def _serve(connection: Connection, function: Callable[[Never], object]) -> None:
    """Send the result of the function for each message with a task, until a message is None.

    A message is a tuple of one task, or `BATCH_TASK`. The function then gets the batch.
    """
    batch: TaskBatch[Any] = _RemoteBatch(connection)
    while (message := connection.recv()) is not None:
        task = batch
        if message != BATCH_TASK:
            [task] = message
        send_result(connection, _call(function, task))


def _call(function: Callable[..., object], task: object) -> tuple[str, object]:
    """Return `RESULT` and the return value, or `ERROR` and the exception."""
    try:
        return RESULT, function(task)
    except Exception as error:  # noqa: BLE001 - raised by the process that waits for the result
        return ERROR, error


def send_result(connection: Connection, message: tuple[str, object]) -> None:
    """Send a message, which is its kind and its content.

    If the system has files in memory, write large arrays to such a file, and send its descriptor.
    """
    arrays: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(message, protocol=5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    ends = list(accumulate(view.nbytes for view in views))
    is_large = bool(ends) and ends[-1] >= MIN_SHARED_MEMORY_BYTES
    if not is_large or not hasattr(os, "memfd_create"):
        connection.send(message)
        return
    from multiprocessing.reduction import send_handle

    with os.fdopen(os.memfd_create("nbtext"), "wb") as file:
        file.writelines(views)
        file.flush()
        connection.send((SHARED_MEMORY, (pickled, ends[:-1])))
        send_handle(connection, file.fileno(), None)


def _receive_message(connection: Connection) -> tuple[str, Any]:
    """Return the kind and the content of a message of `send_result` or `_RemoteBatch`."""
    kind, content = connection.recv()
    if kind != SHARED_MEMORY:
        return kind, content
    from multiprocessing.reduction import recv_handle

    pickled, ends = content
    with os.fdopen(recv_handle(connection), "rb") as file:
        file.seek(0)
        arrays = np.split(np.fromfile(file, np.uint8), ends)
    kind, content = pickle.loads(pickled, buffers=arrays)  # noqa: S301 - from a worker
    return kind, content


def _send_task(worker: Connection, task: object) -> None:
    """Send a message for `_serve`, or the next task of a batch, to a worker.

    None ends the worker, or the batch. Ignore that a worker has ended. `_receive` will raise the
    error.
    """
    with suppress(ConnectionError):
        worker.send(task)


def _receive(worker: Connection) -> tuple[str, Any]:
    """Return the kind and the content of a worker's message.

    Raise the exception of the worker's function, or `WorkerError` if the worker has ended.
    """
    try:
        kind, content = _receive_message(worker)
    except (EOFError, OSError):
        raise _create_worker_error() from None
    if kind == ERROR:
        raise content
    return kind, content


def _create_worker_error() -> WorkerError:
    return WorkerError(
        "a worker process ended before its work was done",
        hint="it was killed, or memory is short: fewer --jobs need less",
    )


def run_parallel(
    work: Callable[[Shared, TaskBatch[Task]], Result],
    shared: Shared,
    tasks: Iterable[Task],
    jobs: int,
    on_progress: Callable[[int, int], object] | None = None,
) -> list[Result]:
    """Return the results of ``work(shared, batch)`` in ``jobs`` other processes, in any order.

    There is one batch and one result for each process. A process gets the next task when it is
    free, so the tasks of a batch are in order, but not consecutive. ``on_progress`` is called with
    the numbers of documents and bytes that all processes have read so far. If ``jobs`` is 1, or if
    no process can be started, this process does all the work.

    Raise the exceptions of ``work``, and `WorkerError` if a worker ends before its work is done.
    """
    batch = TaskBatch(tasks, on_progress)
    if jobs > 1:
        # After `CannotStartError`, no task has been taken from the batch.
        with suppress(CannotStartError), Workers(jobs, partial(work, shared)) as workers:
            return workers.run_batch(batch)
    return [work(shared, batch)]


def run_in_order(
    function: Callable[[Shared, Task], Result],
    shared: Shared,
    tasks: Iterable[Task],
    jobs: int,
    is_local: Callable[[Task], bool] = lambda _: False,
) -> Iterator[tuple[Task, Result | None]]:
    """Yield each task in order, with the result of ``function(shared, task)`` in another process.

    ``jobs`` is the number of other processes, or 0 for one per processor. The result is None for
    tasks that the caller must do: tasks for which ``is_local`` returns True, and all tasks if
    ``jobs`` is 1 or if no process can be started. Only a few tasks are in progress at a time.

    Raise the exceptions of ``function``, and `WorkerError` if a worker ends before its work is
    done.
    """
    if not jobs:
        jobs = count_cores()
    if jobs == 1:
        yield from ((task, None) for task in tasks)
        return
    pending: deque[tuple[Task, Future[Result] | None]] = deque()
    can_start = True

    def pop_first() -> tuple[Task, Result | None]:
        """Remove the first pending task, and return it with its result."""
        task, future = pending.popleft()
        if future is None:
            return task, None
        return task, workers.wait_for_result(future)

    with Workers(jobs, partial(function, shared)) as workers:
        for task in tasks:
            future = None  # the caller does the task
            if can_start and not is_local(task):
                try:
                    future = workers.submit(task)
                except CannotStartError:
                    can_start = False
            pending.append((task, future))
            if not can_start or len(pending) == TASKS_AHEAD_PER_WORKER * jobs:
                yield pop_first()
        while pending:
            yield pop_first()


class CannotStartError(Exception):
    """No worker can be started. It is raised at the first task, which was not submitted."""


def count_cores() -> int:
    """Return how many processes can run at once with these processors, affinity and cgroups."""
    from joblib import cpu_count

    return int(cpu_count())


def uses_fork() -> bool:
    """Return True if workers are forked, so that they share memory and pipes of this process."""
    return sys.platform == "linux" and threading.active_count() == 1


class Workers:
    """Processes that call a function with tasks. They end with the ``with`` statement.

    The processes start with the first task. For each task in progress, a thread of the parent takes
    the pipe of an idle worker, sends the task, and receives the result. If a worker dies, its end
    of the pipe is closed, and the thread gets an error. Workers share no lock, because a worker
    that dies would not release it.
    """

    def __init__(self, n_workers: int, function: Callable[[Never], object]) -> None:
        from concurrent.futures import ThreadPoolExecutor
        from queue import SimpleQueue

        self._n_workers = n_workers
        self._function = function
        self._uses_fork = uses_fork()
        self._processes: list[BaseProcess] = []
        self._pipes: list[Connection] = []
        self._idle_pipes: SimpleQueue[Connection] = SimpleQueue()
        self._threads = ThreadPoolExecutor(n_workers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: object, *_: object) -> None:
        """End the workers, or kill them if there is an exception."""
        if error_type is not None:
            self.kill()
            return
        for pipe in self._pipes:
            _send_task(pipe, None)
        self._release()

    def submit(self, task: object) -> Future[Any]:
        """Submit a task for the next idle worker.

        Raise `CannotStartError` if no worker can be started.
        """
        with _block_signals():
            if not self._processes:
                self._start()
            return self._threads.submit(self._do_task, task)

    def _do_task(self, task: object) -> Any:  # noqa: ANN401 - the result of the function
        """Send a task to an idle worker, and return its result. This runs in a thread."""
        pipe = self._idle_pipes.get()
        try:
            _send_task(pipe, (task,))
            _, result = _receive(pipe)
        finally:
            self._idle_pipes.put(pipe)
        return result

    def wait_for_result(self, future: Future[Result]) -> Result:
        """Wait for a task. Return its result, or raise the exception of the function."""
        from concurrent.futures import wait

        while not wait((future,), WORKER_POLL_SECONDS).done:
            self.require_alive()
        return future.result()

    def run_batch(self, batch: TaskBatch[Any]) -> list[Any]:
        """Divide a batch among all workers. Return the result of each worker, in any order."""
        from multiprocessing.connection import wait

        with _block_signals():
            self._start()
        results: list[Any] = []
        busy_pipes = list(self._pipes)
        for pipe in busy_pipes:
            _send_task(pipe, BATCH_TASK)
        progress: dict[Connection, tuple[int, int]] = {}
        tasks = iter(batch)
        next_task = next(tasks, None)  # read in advance, while all workers are busy
        while busy_pipes:
            ready_pipes: list[Any] = wait(busy_pipes, WORKER_POLL_SECONDS)
            for pipe in ready_pipes:
                kind, content = _receive(pipe)
                if kind == NEXT_TASK:
                    _send_task(pipe, next_task)
                    next_task = next(tasks, None)
                elif kind == CANCEL:
                    batch.cancel_remaining()
                    next_task = None
                elif kind == PROGRESS:
                    progress[pipe] = content
                    n_documents = sum(documents for documents, _ in progress.values())
                    n_bytes = sum(read_bytes for _, read_bytes in progress.values())
                    batch.report_progress_so_far(n_documents, n_bytes)
                else:  # `RESULT`: the worker has used all its tasks
                    results.append(content)
                    busy_pipes.remove(pipe)
            if not ready_pipes:
                self.require_alive()
        return results

    def require_alive(self) -> None:
        """Raise `WorkerError` if a worker has ended."""
        if not all(process.is_alive() for process in self._processes):
            raise _create_worker_error()

    def _start(self) -> None:
        """Start all workers. Raise `CannotStartError` if a process or pipe cannot be created."""
        import multiprocessing

        try:
            context: Any = multiprocessing.get_context("fork")
            if not self._uses_fork:
                from joblib.externals.loky.backend import get_context

                # Unlike "spawn", "loky" does not import the main module of the program.
                context = get_context("loky")
            for _ in range(self._n_workers):
                own_end, worker_end = multiprocessing.Pipe()
                self._pipes.append(own_end)
                process = context.Process(
                    target=_work, args=(os.getpid(), worker_end, self._function), daemon=True
                )
                process.start()
                worker_end.close()  # the next worker must not inherit this end
                self._processes.append(process)
                self._idle_pipes.put(own_end)
        except (ImportError, NotImplementedError, OSError):  # too many processes or files
            self.kill()
            raise CannotStartError from None

    def kill(self) -> None:
        """Kill the workers, and wait until they have ended."""
        with _block_signals():
            for process in self._processes:
                if process.exitcode is None and process.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGKILL)
            self._release()

    def _release(self) -> None:
        """Wait for workers that are ending, and close threads and pipes."""
        for process in self._processes:
            process.join()
        self._threads.shutdown(cancel_futures=True)
        for pipe in self._pipes:
            pipe.close()
        self._processes = []
        self._pipes = []
