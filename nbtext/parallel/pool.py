"""Tasks done by several processes: side by side, whoever is free, or in order. Where no process can be started this one does all of them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from nbtext.parallel.handing_out import Share, Shares, Tally, Tickets
from nbtext.parallel.workers import WAIT, CannotStartError, forks, workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from nbtext.parallel.handing_out import Tasks
    from nbtext.parallel.workers import Workers

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
