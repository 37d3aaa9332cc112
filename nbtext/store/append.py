"""Lines added to a file that several processes may add to at the same time, such as a log."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time

from nbtext.errors import PathError, reason

_ATTEMPTS, _WAIT = 100, 0.01
"""How often to try for the lock, and seconds in between. Whoever holds it for longer is not adding a line."""


def append_line(path: str, line: str) -> None:
    r"""Add a line, with its ``\n``, to a file, which is made if need be. Raises `PathError`, and then the file ends as it did before.

    An empty text adds nothing, but finds out whether the file can be written.

    A line is added under a lock (flock) on the file: if it does not go in whole, because the disk is full, its beginning can be cut off again
    only as long as nobody adds another line behind it. Where there is no lock the beginning stays. Therefore, and since a process may be killed
    between two writes, a line begins anew if the file does not end with a line break: at most the line that was cut is lost, not the next one.
    """
    try:
        descriptor = _opened(path)
        try:
            _append(descriptor, line.encode())
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise PathError(f"cannot write ({reason(problem)})", where=path) from None


def _opened(path: str) -> int:
    flags = os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY
    try:
        return os.open(path, os.O_RDWR | flags, 0o666)
    except PermissionError:  # a file that may be written and not read
        return os.open(path, os.O_WRONLY | flags, 0o666)


def _append(descriptor: int, line: bytes) -> None:
    is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
    is_locked = is_file and bool(line) and _locked(descriptor)
    end = os.fstat(descriptor).st_size
    if is_file and line and _is_within_a_line(descriptor, end):
        line = b"\n" + line
    try:
        while line:
            line = line[os.write(descriptor, line) :]  # on a disk that is nearly full it takes only the beginning
    except BaseException:
        if is_locked:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, end)
        raise


def _locked(descriptor: int) -> bool:
    for _ in range(_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_WAIT)
        except OSError:  # a file system without locks
            return False
        else:
            return True
    return False


def _is_within_a_line(descriptor: int, end: int) -> bool:
    with contextlib.suppress(OSError):
        return end > 0 and os.pread(descriptor, 1, end - 1) != b"\n"
    return False
