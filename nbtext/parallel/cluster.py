"""Work on other machines: `run_on_cluster` sends batches of tasks to the workers of Dask.

This needs the extra ``nbtext[dask]``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

from nbtext.errors import UsageError, WorkerError
from nbtext.parallel.allocator import keep_freed_memory
from nbtext.parallel.processes import Result, Shared, Task, TaskBatch
from nbtext.version import __version__

CONNECT_TIMEOUT_SECONDS = 30
"""Time to wait for the scheduler, and then for the first worker."""

BATCHES_AHEAD_PER_THREAD = 2
"""Unfinished batches per thread: one runs while the result of another is sent."""

BATCHES_PER_THREAD = 4
"""Batches per thread in all. With several small batches, the wait for the last batch is short."""

MAX_BATCH_TASKS = 256
"""Tasks in a batch. For shards of a corpus, this is about a gigabyte."""

QUIET_LOGGERS = ("distributed", "asyncio", "tornado")
"""Packages whose log messages are suppressed.

nbtext reports their errors itself. Other messages need no action: for example, if a worker leaves,
another worker does its work.
"""


@contextmanager
def connect_cluster(scheduler: str) -> Iterator[Any]:
    """Connect to the workers of a Dask scheduler, for `run_on_cluster`. Yield the client.

    ``scheduler`` is an address, such as tcp://host:8786. Raise `UsageError` if the package is not
    installed, if the address is invalid, or if workers have another version of nbtext. Raise
    `WorkerError` if the scheduler does not answer, if it has no workers, or if within the context a
    task ends all workers that try it.
    """
    try:
        import distributed
    except ImportError:
        raise UsageError(
            "--scheduler needs the package distributed", hint="pip install 'nbtext[dask]'"
        ) from None
    _suppress_logs()
    connect: Any = distributed.Client  # its types are not declared
    try:
        client = connect(scheduler, timeout=CONNECT_TIMEOUT_SECONDS, set_as_default=False)
    except ValueError as problem:
        raise UsageError(
            f"{scheduler!r} is not the address of a scheduler: {problem}",
            hint=("such as tcp://host:8786"),
        ) from None
    except OSError:
        raise WorkerError(
            f"the scheduler at {scheduler} does not answer", hint="start one with dask scheduler"
        ) from None
    try:
        client.wait_for_workers(1, timeout=CONNECT_TIMEOUT_SECONDS)
        _require_same_version(client)
        yield client
    except TimeoutError:
        raise WorkerError(
            f"the scheduler at {scheduler} has no workers", hint="start some with dask worker"
        ) from None
    except distributed.KilledWorker as problem:
        raise WorkerError(
            "a task ended every worker that had it", hint="they are killed, or lack memory"
        ) from problem
    finally:
        client.close()


def _suppress_logs() -> None:
    """Silence `QUIET_LOGGERS`, and the loggers below them that have a level of their own."""
    all_names = [*QUIET_LOGGERS, *logging.root.manager.loggerDict]
    for name in all_names:
        if name.startswith(QUIET_LOGGERS):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _require_same_version(client: Any) -> None:  # noqa: ANN401 - a distributed.Client
    """Raise `UsageError` if a worker has another version of nbtext."""
    other_versions = set(client.run(_get_version).values()) - {__version__}
    if other_versions:
        raise UsageError(
            f"workers have nbtext {', '.join(sorted(other_versions))}, and this is {__version__}",
            hint="install the same there",
        )


def _get_version() -> str:
    """Return the version of nbtext. This runs on each worker."""
    return __version__


def run_on_cluster(
    client: Any,  # noqa: ANN401 - a distributed.Client, which must not be imported at start
    work: Callable[[Shared, TaskBatch[Task]], Result],
    shared: Shared,
    tasks: Iterable[Task],
) -> Iterator[Result]:
    """Yield the results of ``work(shared, batch)`` for batches of consecutive tasks, in any order.

    If a worker ends, another worker does its tasks.
    """
    import distributed

    def submit(batch: list[Task]) -> Any:  # noqa: ANN401 - a distributed.Future
        return client.submit(_work_on_worker, work, shared, batch, pure=False)

    n_threads = sum(client.nthreads().values())
    batches = split_into_batches(tasks, n_threads)
    first_batches = islice(batches, BATCHES_AHEAD_PER_THREAD * n_threads)
    make_queue: Any = distributed.as_completed  # its types are not declared
    finished = make_queue(map(submit, first_batches), loop=client.loop)
    for future in finished:
        result = future.result()
        future.release()  # else the workers keep the result
        yield result
        finished.update(map(submit, islice(batches, 1)))


def _work_on_worker(
    work: Callable[[Shared, TaskBatch[Task]], Result], shared: Shared, tasks: list[Task]
) -> Result:
    """Return ``work(shared, batch)`` for a batch of tasks. This runs on a worker."""
    keep_freed_memory(replaces_dask_setting=True)
    return work(shared, TaskBatch(tasks))


def split_into_batches(tasks: Iterable[Task], n_threads: int) -> Iterator[list[Task]]:
    """Yield consecutive tasks in lists of equal size, about `BATCHES_PER_THREAD` for each thread.

    A list has at most `MAX_BATCH_TASKS`, so there are more lists if there are many tasks. Then the
    first lists are yielded before all tasks are known.
    """
    remaining_tasks = iter(tasks)
    n_batches = BATCHES_PER_THREAD * max(n_threads, 1)
    # If these are all tasks, they are divided evenly, else each batch has the maximum size.
    first_tasks = list(islice(remaining_tasks, n_batches * MAX_BATCH_TASKS))
    batch_size = max(len(first_tasks) // n_batches, 1)
    all_tasks = chain(first_tasks, remaining_tasks)
    while batch := list(islice(all_tasks, batch_size)):
        yield batch
