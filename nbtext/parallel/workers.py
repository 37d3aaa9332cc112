"""Worker processes, through joblib's loky. The only module that knows how they are started and how they end.

On Linux they are forked: one is there within milliseconds, with all that this process has imported and read, and needs no named semaphores,
no temporary folder and no process that tracks them. Elsewhere, and where this process has threads already, loky starts new
interpreters.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from nbtext.errors import WorkerError
from nbtext.parallel.worker import begin, call, signals_blocked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from multiprocessing.process import BaseProcess

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
