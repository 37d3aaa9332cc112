"""One writer at a time: a lock (flock) on a file beside the one to be written, which is itself replaced and so cannot carry the lock.

The kernel frees the lock when its holder ends, however it ends. Readers take no lock. Only the holder removes the lock file, before it releases
the lock; so whoever gets the lock checks that the locked file is still the one of that name, and else starts again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

from nbtext.errors import LockedError, NbtextError, PathError, reason
from nbtext.store.atomic import discard, displayed_path

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK_SUFFIX = ".lock"

_SHORTEST_WAIT, _LONGEST_WAIT = 0.005, 0.1
"""Seconds between two attempts; short at first, since most holders are quick."""


@contextlib.contextmanager
def locked(path: str, timeout: float) -> Iterator[None]:
    """Hold the lock of a file (symbolic links followed), which need not exist; wait for at most ``timeout`` seconds.

    Raises `LockedError` if another process holds it all that time, `PathError` if a lock file cannot be made.
    """
    place = os.path.realpath(path) + LOCK_SUFFIX
    try:
        descriptor = _acquire(place, timeout)
    except NbtextError as problem:
        problem.where = displayed_path(path) + LOCK_SUFFIX
        raise
    try:
        yield
    finally:
        discard(descriptor, Path(place))


def _acquire(place: str, timeout: float) -> int:
    """Return a descriptor of the file at ``place`` that holds the lock on it."""
    deadline, wait = time.monotonic() + timeout, _SHORTEST_WAIT
    while True:
        descriptor, is_new = _open(place)
        try:
            if _try_lock(descriptor, place, is_new=is_new):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        left = deadline - time.monotonic()
        if left <= 0:
            waited = f"for {timeout:g} s" if timeout else "now"
            raise LockedError(f"another process is writing the model {waited}", hint="try again, or give a longer --lock-timeout")
        time.sleep(min(wait, left))
        wait = min(2 * wait, _LONGEST_WAIT)


def _open(place: str) -> tuple[int, bool]:
    """Return a descriptor of the lock file, and whether the file is new."""
    flags, descriptor = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, None
    try:
        while descriptor is None:
            with contextlib.suppress(FileExistsError):
                return os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o666), True
            with contextlib.suppress(FileNotFoundError):  # its holder has just removed it
                try:
                    descriptor = os.open(place, os.O_RDWR | flags)
                except PermissionError:  # another user's file: reading is enough for a lock
                    descriptor = os.open(place, os.O_RDONLY | flags)
    except OSError as problem:
        raise PathError(f"cannot lock: {reason(problem)}", hint="remove it if no other process is running") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PathError("cannot lock: it is not a regular file", hint="remove it")
    return descriptor, False


def _try_lock(descriptor: int, place: str, *, is_new: bool) -> bool:
    """Lock a file; return whether it is locked, and still the one of that name."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), os.lstat(place))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as problem:
        if is_new:  # without locks nobody would remove it
            with contextlib.suppress(OSError):
                Path(place).unlink()
        raise PathError(f"cannot lock: {reason(problem)}", hint="keep the model on a file system that has locks") from None
