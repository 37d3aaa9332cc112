"""Files that are replaced as a whole: a reader sees the old one or the new one, and a failure leaves the old one."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING

from nbtext.errors import PathError, reason

if TYPE_CHECKING:
    from collections.abc import Callable


def check_replaceable(path: str) -> Path:
    """Where a file written to ``path`` will lie (symbolic links followed); raises `PathError` now rather than after the work."""
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    except OSError as problem:
        raise PathError(reason(problem), where=path) from None
    if mode is not None and not stat.S_ISREG(mode):
        kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        raise PathError(f"is {kind}", where=path, hint="give the name of a file")
    folder = target.parent
    if not folder.is_dir():
        raise PathError("the folder does not exist", where=str(folder), hint="make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PathError("cannot write into the folder", where=str(folder), hint="check its permissions")
    return target


def replace_file(path: str, write: Callable[[IO[bytes]], None]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then put it in its place.

    The file's permissions and, where allowed, its owner stay. Raises `PathError`; nothing temporary is left behind.
    """
    import tempfile

    target = check_replaceable(path)
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".tmp", dir=target.parent)
    except OSError as problem:
        raise PathError(reason(problem), where=str(target.parent)) from None
    try:
        os.close(descriptor)
        with Path(temporary).open("w+b") as file:
            write(file)
            file.flush()
            _keep_attributes(target, file.fileno())
            os.fsync(file.fileno())
        Path(temporary).replace(target)
    except OSError as problem:
        raise PathError(f"cannot write: {reason(problem)}", where=path, hint="the file is as it was") from None
    finally:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
    try:
        _sync_folder(target.parent)
    except OSError as problem:
        raise PathError(f"written, but may not survive a power cut: {reason(problem)}", where=path) from None


def _keep_attributes(target: Path, descriptor: int) -> None:
    try:
        before = target.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(descriptor, 0o666 & ~mask)
        return
    with contextlib.suppress(PermissionError):  # somebody else's file in a folder of ours
        os.fchown(descriptor, before.st_uid, before.st_gid)
    with contextlib.suppress(PermissionError):
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
