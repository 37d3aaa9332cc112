"""One writer at a time: a lock (flock) on a file beside the one that is to be written.

The lock cannot be on the file itself, which is replaced by another. The kernel frees it when its holder ends, however it ends. Readers take
none. The lock file is removed at the end by its holder alone, while it holds it; so whoever gets the lock looks whether the file that it
has locked is still the one of that name, and else begins anew.
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
from nbtext.store.atomic import displayed_path

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK_SUFFIX = ".lock"

_SHORTEST_WAIT, _LONGEST_WAIT = 0.005, 0.1
"""Seconds between two attempts: at first few, for most holders are quick."""


@contextlib.contextmanager
def locked(path: str, timeout: float) -> Iterator[None]:
    """Hold the lock of a file (symbolic links followed) that may or may not exist; wait for at most ``timeout`` seconds.

    Raises `LockedError` if another process holds it all the time, `PathError` if there can be no lock file.
    """
    place = os.path.realpath(path) + LOCK_SUFFIX
    try:
        descriptor = _acquired(place, time.monotonic() + timeout, timeout)
    except NbtextError as problem:
        problem.where = displayed_path(path) + LOCK_SUFFIX
        raise
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            Path(place).unlink()
        with contextlib.suppress(OSError):  # what was to be written is written
            os.close(descriptor)


def _acquired(place: str, deadline: float, timeout: float) -> int:
    """A descriptor of the file at ``place`` with the lock on it."""
    wait = _SHORTEST_WAIT
    while True:
        descriptor, is_new = _opened(place)
        try:
            if _is_locked(descriptor, place, is_new=is_new) and _is_still_there(descriptor, place):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        left = deadline - time.monotonic()
        if left <= 0:
            waited = f"for {timeout:g} s" if timeout else "now"
            raise LockedError(
                f"another process is writing the model {waited}", where=place, hint="try again, or give a longer --lock-timeout"
            )
        time.sleep(min(wait, left))
        wait = min(2 * wait, _LONGEST_WAIT)


def _opened(place: str) -> tuple[int, bool]:
    """Return a descriptor of the lock file, and whether it was made for that."""
    try:
        descriptor, is_new = _made_or_found(place)
    except OSError as problem:
        raise PathError(f"cannot lock: {reason(problem)}", where=place, hint="remove it if no other process is running") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PathError("cannot lock: it is not a regular file", where=place, hint="remove it")
    return descriptor, is_new


def _made_or_found(place: str) -> tuple[int, bool]:
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    while True:
        with contextlib.suppress(FileExistsError):
            return os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o666), True
        with contextlib.suppress(FileNotFoundError):  # its holder has removed it since
            try:
                return os.open(place, os.O_RDWR | flags), False
            except PermissionError:  # somebody else's: reading is enough for a lock
                return os.open(place, os.O_RDONLY | flags), False


def _is_locked(descriptor: int, place: str, *, is_new: bool) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as problem:
        if is_new:  # where there are no locks nobody will hold it, and remove it in the end
            with contextlib.suppress(OSError):
                Path(place).unlink()
        raise PathError(f"cannot lock: {reason(problem)}", where=place, hint="keep the model on a file system that has locks") from None
    return True


def _is_still_there(descriptor: int, place: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(place))
    except FileNotFoundError:
        return False
