"""Work on other machines, through joblib's backend for Dask, which is the extra ``nbtext[dask]``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

from nbtext.errors import UsageError, WorkerError
from nbtext.parallel.processes import Result, Shared, Task, TaskBatch
from nbtext.version import __version__

CONNECT_TIMEOUT_SECONDS = 30
"""Seconds to wait for the scheduler, and then for a first worker."""

TASKS_AHEAD_PER_THREAD = 2
"""Tasks for each thread of the workers that are handed out at once: one runs while the result of the other travels."""

BATCHES_PER_THREAD = 4
"""Shares for each thread, so that the last one to finish is not waited for long."""

MAX_BATCH_TASKS = 256
"""Tasks in a share: of shards of a corpus about a gigabyte."""

QUIET_LOGGERS = ("distributed", "asyncio", "tornado")
"""Packages that log what nbtext reports itself, or what needs no action, such as a worker that left and whose work another does."""


@contextmanager
def connect_cluster(scheduler: str) -> Iterator[Any]:
    """Connect to the workers of a Dask scheduler, by its address, for `run_on_cluster`.

    Raises `UsageError` without the package, for an address that is none, and for workers with another version; `WorkerError` if nobody answers,
    and for a task that no worker survives.
    """
    try:
        import distributed
    except ImportError:
        raise UsageError(
            "--scheduler needs the package distributed", hint="pip install 'nbtext[dask]'"
        ) from None
    for name in {
        *QUIET_LOGGERS,
        *(name for name in logging.root.manager.loggerDict if name.startswith(QUIET_LOGGERS)),
    }:
        logging.getLogger(name).setLevel(
            logging.CRITICAL
        )  # what matters is raised; some below them have a level of their own
    connect: Any = distributed.Client
    try:
        client = connect(scheduler, timeout=CONNECT_TIMEOUT_SECONDS, set_as_default=False)
    except ValueError as problem:
        raise UsageError(
            f"{scheduler!r} is no address of a scheduler: {problem}", hint="such as tcp://host:8786"
        ) from None
    except OSError:
        raise WorkerError(
            f"the scheduler at {scheduler} does not answer", hint="start one with dask scheduler"
        ) from None
    try:
        client.wait_for_workers(1, timeout=CONNECT_TIMEOUT_SECONDS)
        if others := {
            version for version in client.run(_version).values() if version != __version__
        }:
            raise UsageError(
                f"workers have nbtext {', '.join(sorted(others))}, and this is {__version__}",
                hint="install the same there",
            )
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


def run_on_cluster(
    client: Any,  # noqa: ANN401 - a distributed.Client, which must not be imported at start
    work: Callable[[Shared, TaskBatch[Task]], Result],
    shared: Shared,
    tasks: Iterable[Task],
) -> Iterator[Result]:
    """Yield the results of ``work(shared, share)`` for shares of consecutive tasks, as they arrive. Tasks of a worker that ended are done by another."""
    import joblib

    threads = sum(client.nthreads().values())
    with joblib.parallel_config("dask", client=client):
        outside = joblib.Parallel(
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=TASKS_AHEAD_PER_THREAD * threads,
        )
        yield from outside(
            joblib.delayed(work)(shared, TaskBatch(run))
            for run in split_into_batches(tasks, threads)
        )


def split_into_batches(tasks: Iterable[Task], threads: int) -> Iterator[list[Task]]:
    """Yield consecutive tasks in lists for so many threads, the first ones of many tasks before all of them are there."""
    rest = iter(tasks)
    n_runs = BATCHES_PER_THREAD * max(threads, 1)
    beginning = list(islice(rest, n_runs * MAX_BATCH_TASKS))
    size = max(len(beginning) // n_runs, 1)
    rest = chain(beginning, rest)
    while run := list(islice(rest, size)):
        yield run


def _version() -> str:
    return __version__
