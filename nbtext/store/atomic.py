"""Files that are replaced as a whole: a reader sees the old one or the new one, and a failure leaves the old one.

A new file is made beside the old one and renamed over it. As long as it is being made its process holds a lock (flock) on it, and the kernel
frees locks when a process ends however it ends; so a temporary file that can be locked was left by a killed process, and the next one
that replaces the same file removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING

from nbtext.errors import PathError, reason

if TYPE_CHECKING:
    from collections.abc import Callable

_SUFFIX = ".tmp"


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
        raise PathError("the folder does not exist", where=_folder(path), hint="make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PathError("cannot write into the folder", where=_folder(path), hint="check its permissions")
    return target


def as_given(path: str) -> str:
    """Where a file lies, for people: the path itself, or what it leads to if it is a symbolic link."""
    return os.path.realpath(path) if Path(path).is_symlink() else path


def _folder(path: str) -> str:
    return str(Path(as_given(path)).parent)


def replace_file(path: str, write: Callable[[IO[bytes]], None], before: Callable[[Path], None] | None = None) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then put it in its place.

    ``before`` is called with the place when the new file is whole and safe on the disk and the old one still there; what it raises leaves that.
    The file's permissions and, where allowed, its owner stay. Raises `PathError`; nothing temporary is left behind, neither by this call nor
    by processes that were killed while they replaced the same file.
    """
    target = check_replaceable(path)
    remove_abandoned(target)
    try:
        descriptor, temporary = _locked_temporary(target)
    except OSError as problem:
        raise PathError(reason(problem), where=_folder(path)) from None
    try:
        with Path(temporary).open("w+b") as file:
            write(file)
            file.flush()
            _keep_attributes(target, file.fileno())
            os.fsync(file.fileno())
        if before is not None:
            before(target)
        Path(temporary).replace(target)
    except OSError as problem:
        raise PathError(f"cannot write: {reason(problem)}", where=path, hint="the file is as it was") from None
    finally:
        _discard(descriptor, temporary)
    try:
        _sync_folder(target.parent)
    except OSError as problem:
        raise PathError(f"written, but may not survive a power cut: {reason(problem)}", where=path) from None


def remove_abandoned(target: Path) -> None:
    """Remove the temporary files beside ``target`` that processes left which were killed while they replaced it.

    What a running process is writing stays, as does everything where the file system has no locks or the folder cannot be listed.
    """
    ours = re.compile(re.escape(_prefix(target)) + "[a-z0-9_]{8}" + re.escape(_SUFFIX))
    names: list[str] = []
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        names += (entry.name for entry in entries if ours.fullmatch(entry.name))
    for name in names:
        with contextlib.suppress(OSError):
            _remove_unless_locked(target.parent / name)


def _remove_unless_locked(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(descriptor)


def abandonable(target: Path, mark: str) -> Path:
    """The place of a temporary file beside ``target`` that `remove_abandoned` finds; ``mark`` is eight small letters, digits or underscores."""
    return target.with_name(_prefix(target) + mark + _SUFFIX)


def _prefix(target: Path) -> str:
    return f".{target.name[:40]}.nbtext-"


def _locked_temporary(target: Path) -> tuple[int, str]:
    """A new empty file beside ``target``: a descriptor that holds the lock on it until it is closed, and its path."""
    import tempfile

    while True:
        descriptor, temporary = tempfile.mkstemp(prefix=_prefix(target), suffix=_SUFFIX, dir=target.parent)
        try:
            with contextlib.suppress(OSError):  # no locks on this file system: then nobody takes it for abandoned either
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                return descriptor, temporary
        except BaseException:
            _discard(descriptor, temporary)
            raise
        os.close(descriptor)  # removed between its making and its locking


def _discard(descriptor: int, temporary: str) -> None:
    with contextlib.suppress(OSError):
        Path(temporary).unlink()
    with contextlib.suppress(OSError):
        os.close(descriptor)


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
