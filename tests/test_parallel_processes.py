"""Workers: what they give back, and how they end.

Also tests `parallel/processes.py`.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from collections import Counter
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext.errors import WorkerError
from nbtext.parallel import processes
from nbtext.parallel.processes import (
    MIN_SHARED_MEMORY_BYTES,
    TaskBatch,
    Workers,
    run_in_order,
    run_parallel,
)
from tests.profiles import some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(params=["fork", pytest.param("spawn", marks=pytest.mark.exhaustive)])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways in which workers are started."""
    monkeypatch.setattr(processes, "uses_fork", lambda: request.param == "fork")
    return str(request.param)


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    before = leftovers()
    yield
    patience = time.monotonic() + 10
    while leftovers() - before and time.monotonic() < patience:
        time.sleep(0.1)
        gc.collect()
    assert leftovers() <= before


def leftovers() -> set[str]:
    """Semaphores and folders in shared memory."""
    return {
        path.name
        for path in Path("/dev/shm").glob("*")
        if "loky" in path.name or "joblib" in path.name
    }


def numbers(shared: str, share: TaskBatch[int]) -> tuple[int, list[str]]:
    found = [f"{shared}{number}" for number in share]
    share.report_progress_so_far(len(found), 10 * len(found))
    return os.getpid(), found


@pytest.mark.repeated
@pytest.mark.parametrize(
    ("n", "jobs"), some([(n, jobs) for n in (0, 1, 2, 7, 3000) for jobs in (1, 2, 3)], 6)
)
def test_each_task_is_done_once(method: str, n: int, jobs: int) -> None:
    if method == "spawn" and n not in (2, 7):
        pytest.skip("an interpreter takes a while to start")
    heard: list[tuple[int, int]] = []
    results = run_parallel(numbers, "a", range(n), jobs, lambda *now: heard.append(now))
    assert len(results) == jobs
    processes = {process for process, _ in results}
    assert (
        len(processes) == len(results) if method == "fork" else processes
    )  # a quick interpreter may have a second share
    assert Counter(name for _, names in results for name in names) == Counter(
        f"a{number}" for number in range(n)
    )
    assert heard[-1] == (n, 10 * n)


def arrays(n: int, task: int) -> dict[str, Any]:
    return {
        "task": task,
        "first": np.full(n, task),
        "name": "x" * n,
        "none": np.empty(0),
        "last": np.arange(n, dtype=np.uint8)[::2],
    }


@pytest.mark.parametrize("n", [1, MIN_SHARED_MEMORY_BYTES // 8 + 1])
def test_results_can_contain_arrays_of_any_size(method: str, n: int) -> None:
    with Workers(2, partial(arrays, n)) as others:
        futures = [others.submit(task) for task in range(3)]
        answers = [others.wait_for_result(future) for future in futures]
    for task, answer in enumerate(answers):
        expected = arrays(n, task)
        assert {
            name: getattr(value, "tolist", lambda value=value: value)()
            for name, value in answer.items()
        } == {
            name: getattr(value, "tolist", lambda value=value: value)()
            for name, value in expected.items()
        }
        answer["first"][0] = 0  # they can be written to
    assert not [
        file
        for file in Path("/proc/self/fd").iterdir()
        if file.is_symlink() and "memfd" in str(file.readlink())
    ]


def test_remaining_tasks_can_be_cancelled(method: str) -> None:
    assert sum(run_parallel(some_of_them, 3, range(1, 1000), 2)) <= 6
    assert run_parallel(some_of_them, 3, range(1, 1000), 1) == [3]


def some_of_them(most: int, share: TaskBatch[int]) -> int:
    """Take so many tasks and no more."""
    n = 0
    for n, _ in enumerate(share, 1):
        if n == most:
            share.cancel_remaining()
    return n


def test_tasks_are_started_in_order_and_few_ahead() -> None:
    begun: list[int] = []

    def tasks() -> Iterator[int]:
        for task in range(1, 200):
            begun.append(task)
            yield task

    first, *_ = run_parallel(seconds_of_each, begun, tasks(), 2)
    assert first == sorted(first)
    with pytest.raises(ZeroDivisionError):
        run_parallel(seconds_of_each, begun, (1 // (3 - task) for task in range(5)), 2)


def seconds_of_each(shared: object, share: TaskBatch[int]) -> list[int]:
    del shared
    return list(share)


def doubled(shared: int, task: int) -> int:
    time.sleep(0.05 * (task % 3 == 0))
    return 2 * task + shared


def test_results_are_in_order_and_few_tasks_are_ahead(method: str) -> None:
    begun = []

    def tasks() -> Iterator[int]:
        for task in range(20):
            begun.append(task)
            yield task

    found = []
    for task, result in run_in_order(doubled, 1, tasks(), 2, lambda task: task % 5 == 0):
        found.append((task, result))
        assert len(begun) - len(found) <= 2 * processes.TASKS_AHEAD_PER_WORKER
    assert found == [(task, None if task % 5 == 0 else 2 * task + 1) for task in range(20)]


def fail(shared: object, task: object) -> None:
    raise ValueError(f"{shared} {task}")


def end(shared: object, task: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave(shared: object, task: object) -> None:
    os._exit(0)


def end_while_sending(shared: object, task: object) -> bytes:
    def send_half(connection: Any, content: Any) -> None:
        os.write(connection.fileno(), bytes(content)[: len(content) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    Connection._send = send_half  # type: ignore[attr-defined]
    return b"never"


def with_one(function: Callable[[Any, Any], Any], shared: object, share: TaskBatch[int]) -> object:
    """Do this with the first task."""
    return function(shared, next(iter(share)))


def test_exception_in_a_worker_is_raised(method: str) -> None:
    with pytest.raises(ValueError, match="shared 3"):
        list(run_in_order(fail, "shared", [3], 2, lambda _: False))
    with pytest.raises(ValueError, match="shared 7"):
        run_parallel(partial(with_one, fail), "shared", [7, 7], 2)


@pytest.mark.parametrize("how", [end, leave, end_while_sending])
def test_worker_that_exits_raises_an_error_without_waiting(
    method: str, how: Callable[[Any, Any], Any]
) -> None:
    with pytest.raises(WorkerError, match="a worker process ended") as found:
        list(run_in_order(how, None, range(9), 2, lambda _: False))
    assert found.value.exit_status == 4
    with pytest.raises(WorkerError):
        run_parallel(partial(with_one, how), None, range(9), 2)


def test_closing_the_results_ends_the_workers(method: str) -> None:
    import multiprocessing

    results = run_in_order(doubled, 1, range(1000), 2, lambda _: False)
    assert next(results) == (0, 1)
    assert len(multiprocessing.active_children()) == 2
    results.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_worker_does_not_outlive_its_parent() -> None:
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:
        for _ in run_in_order(wait_for_nothing, writing, [0, 1], 2, lambda _: False):
            pass
        os._exit(0)
    os.close(writing)
    worker = int.from_bytes(os.read(reading, 4), "little")
    assert os.getppid() != worker
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    while os.read(reading, 4):  # until no process has the other end
        pass
    os.close(reading)


def wait_for_nothing(writing: int, task: int) -> None:
    os.write(writing, os.getpid().to_bytes(4, "little"))
    time.sleep(600)
