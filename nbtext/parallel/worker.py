"""What a worker process is like: it leaves signals to its parent, says nothing, and does not outlive it."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
