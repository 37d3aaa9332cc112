"""Changes of files that are complete or leave the file as it was: replacing it, keeping a backup, appending a line, one writer at a time.

A new file is written beside the old one and renamed over it. Its process holds a lock (flock) on it meanwhile, and the kernel frees locks when a
process ends, however it ends; so a temporary file that can be locked was left by a killed process, and the next process that replaces
the same file removes it.

Other users may be able to write to the folder. Therefore a temporary file has an unpredictable name, is always created new, and is written through
the descriptor that created it; a symbolic link in place of a file that belongs beside another one is not followed.

There is one writer of a model at a time: a lock (flock) on a file beside the one to be written, which is itself replaced and so cannot carry the lock.

The kernel frees the lock when its holder ends, however it ends. Readers take no lock. Only the holder removes the lock file, before it releases
the lock; so whoever gets the lock checks that the locked file is still the one of that name, and else starts again.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from nbtext.errors import LockedError, NbtextError, PathError, describe_os_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BACKUP_SUFFIX = ".1"

_SUFFIX = ".tmp"
_LETTERS = "abcdefghijklmnopqrstuvwxyz012345"

_ATTEMPTS = 100
_WAIT = 0.01
"""Attempts to lock a file to append to, and seconds between them; who holds the lock for longer is not appending a line."""

Created = TypeVar("Created")


def check_replaceable(path: str, *, follow: bool = True) -> Path:
    """Return the path that a file written to ``path`` will have: symbolic links are followed, unless ``follow`` is false.

    Raises `PathError` if it cannot be written there, before the work of making it.
    """
    target = Path(os.path.realpath(path)) if follow else Path(path)
    try:
        status = target.stat(follow_symlinks=follow)
    except FileNotFoundError:
        status = None
    except OSError as problem:
        raise PathError(describe_os_error(problem), where=path) from None
    if status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise PathError(f"is {kind}", where=path, hint="give the name of a file")
    folder = target.parent
    if not folder.is_dir():
        raise PathError("the folder does not exist", where=_folder(path), hint="make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PathError(
            "cannot write into the folder", where=_folder(path), hint="check its permissions"
        )
    of_folder = folder.stat()
    kept_by_sticky_bit = (
        of_folder.st_mode & stat.S_ISVTX
        and status is not None
        and os.geteuid() not in {0, status.st_uid, of_folder.st_uid}
    )
    if (
        kept_by_sticky_bit
    ):  # as in /tmp, where only root and the owners of file and folder may replace it
        raise PathError(
            "belongs to another user, and the folder is sticky",
            where=path,
            hint="write to a folder of your own",
        )
    return target


def find_displayed_path(path: str) -> str:
    """Return the path to show for a file: the path itself, or the target of a symbolic link."""
    return os.path.realpath(path) if Path(path).is_symlink() else path


def _folder(path: str) -> str:
    return str(Path(find_displayed_path(path)).parent)


def replace_file(
    path: str,
    write: Callable[[IO[bytes]], None],
    before_replace: Callable[[Path], None] | None = None,
    *,
    main_file: Path | None = None,
) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it to ``path``.

    ``before`` is called with the resolved path when the new file is complete and on the disk; if it raises, the old file stays. Permissions (but
    setuid and the like) and, where allowed, the owner are kept. A file that belongs ``beside`` another one in the same folder gets those of that
    one, and replaces a symbolic link instead of following it. Raises `PathError`. Temporary files are removed, also those of processes that
    were killed while they replaced the same file.
    """
    target = check_replaceable(path, follow=main_file is None)
    main = main_file or target
    _remove_abandoned(main)
    try:
        descriptor, temporary = _locked_temporary(main)
    except OSError as problem:
        raise PathError(describe_os_error(problem), where=_folder(path)) from None
    try:
        with open(temporary, "r+b", opener=lambda *_: os.dup(descriptor)) as file:
            write(file)
            file.flush()
            _set_attributes(file.fileno(), main)
            os.fsync(file.fileno())
        if before_replace is not None:
            before_replace(target)
        temporary.replace(target)
    except OSError as problem:
        raise PathError(
            f"cannot write: {describe_os_error(problem)}", where=path, hint="the file is as it was"
        ) from None
    finally:
        discard_locked_file(descriptor, temporary)
    try:
        sync_folder(target.parent)
    except OSError as problem:
        raise PathError(
            f"written, but may not survive a power cut: {describe_os_error(problem)}", where=path
        ) from None


def _remove_abandoned(target: Path) -> None:
    """Remove the temporary files beside ``target`` of processes that were killed while they replaced it.

    Files of running processes stay, and all files where the file system has no locks or the folder cannot be listed.
    """
    ours = re.compile(re.escape(_prefix(target)) + "[a-z0-9_]{8}" + re.escape(_SUFFIX))
    with suppress(OSError):
        for name in filter(ours.fullmatch, os.listdir(target.parent)):
            with suppress(OSError):
                _remove_unless_locked(target.parent / name)


def _remove_unless_locked(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(descriptor)


def _create_beside(target: Path, make: Callable[[str], Created]) -> tuple[Created, Path]:
    """Call ``make`` with unpredictable paths beside ``target`` until one is free; return its result and that path.

    `_remove_abandoned` finds such paths. ``make`` raises `FileExistsError` for a path that is not free.
    """
    while True:
        mark = "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(8))
        path = target.with_name(_prefix(target) + mark + _SUFFIX)
        with suppress(FileExistsError):
            return make(str(path)), path


def _prefix(target: Path) -> str:
    return f".{target.name[:40]}.nbtext-"


def _locked_temporary(target: Path) -> tuple[int, Path]:
    """Create an empty file beside ``target``; return a descriptor that holds a lock on it until closed, and its path."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        descriptor, temporary = _create_beside(target, lambda path: os.open(path, flags, 0o600))
        try:
            with suppress(OSError):  # without locks nobody takes it for abandoned
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                return descriptor, temporary
        except BaseException:
            discard_locked_file(descriptor, temporary)
            raise
        os.close(descriptor)  # it was removed before it was locked


def discard_locked_file(descriptor: int, path: Path) -> None:
    """Remove a file that is no longer needed, if it is there, and then free the lock on it."""
    with suppress(OSError):
        path.unlink()
    with suppress(OSError):
        os.close(descriptor)


def _set_attributes(descriptor: int, like: Path) -> None:
    """Give a new file the permissions and the owner of another one, or the usual ones if there is none."""
    status = None
    with suppress(FileNotFoundError):
        status = like.lstat()
    if status is None or not stat.S_ISREG(
        status.st_mode
    ):  # a link may have taken its place meanwhile
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(descriptor, 0o666 & ~mask)
        return
    with suppress(PermissionError):  # another user's file in a folder of ours
        os.fchown(descriptor, status.st_uid, status.st_gid)
    with suppress(PermissionError):
        os.fchmod(descriptor, status.st_mode & 0o777)  # setuid was granted to other content


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def keep_backup(target: Path) -> None:
    """Keep the file at ``target``, if there is one, as ``target.1``, which is replaced. Both names exist all the time.

    Add a hard link, or make a copy where there are no hard links. Raises `PathError` if that fails.
    """
    kept = target.with_name(target.name + BACKUP_SUFFIX)
    try:
        try:
            _, second = _create_beside(
                target, lambda path: os.link(target, path, follow_symlinks=False)
            )
        except FileNotFoundError:
            return
        except OSError:
            replace_file(str(kept), lambda file: _copy(target, file), main_file=target)
            return
        try:
            second.replace(kept)
        finally:
            with suppress(
                OSError
            ):  # still there if the rename failed, or did nothing since both are the same file
                second.unlink()
    except (OSError, PathError) as problem:
        why = describe_os_error(problem) if isinstance(problem, OSError) else problem.message
        raise PathError(
            f"cannot keep a backup: {why}", where=str(kept), hint="the model is as it was"
        ) from None


def _copy(source: Path, file: IO[bytes]) -> None:
    import shutil

    with open(
        source, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW)
    ) as content:
        shutil.copyfileobj(content, file)


def append_line(path: str, line: str) -> None:
    r"""Append a line, with its ``\n``, to a file that other processes may append to; create the file if there is none.

    Raises `PathError`, and then the file is as before. With an empty line, only check that the file can be written.

    Append under a lock (flock) on the file: if the disk is full, a partly written line can be cut off only while nobody appends another one.
    Without a lock the part stays, as it does if the process is killed between two writes. Therefore a line break is added first if
    the file does not end with one: only the partly written line is lost, not the next one.
    """
    try:
        descriptor = _open_to_append(path)
        try:
            _append(descriptor, line.encode())
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise PathError(f"cannot write ({describe_os_error(problem)})", where=path) from None


def _open_to_append(path: str) -> int:
    flags = os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY
    try:
        return os.open(path, os.O_RDWR | flags, 0o666)
    except PermissionError:  # a file that may be written but not read
        return os.open(path, os.O_WRONLY | flags, 0o666)


def _append(descriptor: int, line: bytes) -> None:
    is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
    is_locked = is_file and bool(line) and _locked(descriptor)
    end = os.fstat(descriptor).st_size
    with suppress(OSError):  # a file that may not be read
        if is_file and line and end > 0 and os.pread(descriptor, 1, end - 1) != b"\n":
            line = b"\n" + line
    try:
        while line:
            line = line[os.write(descriptor, line) :]  # a nearly full disk takes only a part
    except BaseException:
        if is_locked:
            with suppress(OSError):
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


LOCK_SUFFIX = ".lock"

_SHORTEST_WAIT = 0.005
_LONGEST_WAIT = 0.1
"""Seconds between two attempts; short at first, since most holders are quick."""


@contextmanager
def lock_path(path: str, timeout: float) -> Iterator[None]:
    """Hold the lock of a file (symbolic links followed), which need not exist; wait for at most ``timeout`` seconds.

    Raises `LockedError` if another process holds it all that time, `PathError` if a lock file cannot be made.
    """
    place = os.path.realpath(path) + LOCK_SUFFIX
    try:
        descriptor = _acquire(place, timeout)
    except NbtextError as problem:
        problem.where = find_displayed_path(path) + LOCK_SUFFIX
        raise
    try:
        yield
    finally:
        discard_locked_file(descriptor, Path(place))


def _acquire(place: str, timeout: float) -> int:
    """Return a descriptor of the file at ``place`` that holds the lock on it."""
    deadline = time.monotonic() + timeout
    wait = _SHORTEST_WAIT
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
            raise LockedError(
                f"another process is writing the model {waited}",
                hint="try again, or give a longer --lock-timeout",
            )
        time.sleep(min(wait, left))
        wait = min(2 * wait, _LONGEST_WAIT)


def _open(place: str) -> tuple[int, bool]:
    """Return a descriptor of the lock file, and whether the file is new."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    descriptor = None
    try:
        while descriptor is None:
            with suppress(FileExistsError):
                return os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o666), True
            with suppress(FileNotFoundError):  # its holder has just removed it
                try:
                    descriptor = os.open(place, os.O_RDWR | flags)
                except PermissionError:  # another user's file: reading is enough for a lock
                    descriptor = os.open(place, os.O_RDONLY | flags)
    except OSError as problem:
        raise PathError(
            f"cannot lock: {describe_os_error(problem)}",
            hint="remove it if no other process is running",
        ) from None
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
            with suppress(OSError):
                Path(place).unlink()
        raise PathError(
            f"cannot lock: {describe_os_error(problem)}",
            hint="keep the model on a file system that has locks",
        ) from None
