"""Change files so that a change either completes or leaves the file unchanged.

`replace_file` writes a temporary file in the folder of the old file and renames it over the old
file. The process holds a lock (flock) on the temporary file until the end. The kernel frees locks
when a process is killed, so a temporary file without a lock is abandoned. The next process that
replaces the same file removes it. Other users may be able to write to the folder. Therefore a
temporary file has an unpredictable name, is always newly created, and is written through the
descriptor that created it.

`lock_path` allows one writer at a time. The writer locks a separate lock file, because the model
file is itself replaced. Readers take no lock. The process with the lock removes the lock file
before it frees the lock. A process that has already opened the removed file may then get a lock
without use. It notices that the file has lost its name, and starts again.
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
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BACKUP_SUFFIX = ".1"

_TEMPORARY_SUFFIX = ".tmp"
_NAME_LETTERS = "abcdefghijklmnopqrstuvwxyz012345"  # 32, so that a random byte selects evenly

# A process that holds the lock for longer than all attempts together is not appending a line.
_APPEND_LOCK_ATTEMPTS = 100
_APPEND_LOCK_POLL_SECONDS = 0.01

Created = TypeVar("Created")


@dataclass()
class _ChangeState:
    """Whether this process has changed a file."""

    has_changes: bool = False


_changes = _ChangeState()


def record_change() -> None:
    """Remember that a file is about to change, for the message after Ctrl-C."""
    _changes.has_changes = True


def has_changed_files() -> bool:
    """Return True if this process may have changed a file, apart from locks and temporary files."""
    return _changes.has_changes


def check_replaceable(path: str, *, follow: bool = True) -> Path:
    """Return the path of a file to write, with symbolic links resolved if ``follow`` is set.

    Raise `PathError` if the file cannot be written. Commands call this before their long work.
    """
    target = Path(os.path.realpath(path)) if follow else Path(path)
    try:
        status = target.stat(follow_symlinks=follow)
    except FileNotFoundError:
        status = None  # the file will be new
    except OSError as problem:
        raise PathError(describe_os_error(problem), where=path) from None
    # A link is left here only if links are not followed. It will be replaced itself.
    if status is not None and stat.S_IFMT(status.st_mode) not in (stat.S_IFREG, stat.S_IFLNK):
        file_type = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise PathError(f"is {file_type}", where=path, hint="use the name of a file")

    folder = target.parent
    shown_folder = _find_displayed_folder(path)
    if not folder.is_dir():
        raise PathError("the folder does not exist", where=shown_folder, hint="make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PathError(
            "cannot write into the folder", where=shown_folder, hint="check its permissions"
        )

    # In a sticky folder such as /tmp, a file may only be replaced by root, by the owner of the
    # file, and by the owner of the folder.
    folder_status = folder.stat()
    is_sticky = bool(folder_status.st_mode & stat.S_ISVTX)
    if is_sticky and status is not None:
        permitted_users = {0, status.st_uid, folder_status.st_uid}
        if os.geteuid() not in permitted_users:
            raise PathError(
                "belongs to another user, and the folder is sticky",
                where=path,
                hint="write to a folder of your own",
            )
    return target


def find_displayed_path(path: str) -> str:
    """Return the path to show for a file: the target of a symbolic link, else the path itself."""
    return os.path.realpath(path) if Path(path).is_symlink() else path


def _find_displayed_folder(path: str) -> str:
    return str(Path(find_displayed_path(path)).parent)


def replace_file(
    path: str,
    write: Callable[[IO[bytes]], object],
    before_replace: Callable[[Path], None] | None = None,
    *,
    main_file: Path | None = None,
) -> None:
    """Let ``write`` fill a temporary file in the same folder, then rename it to ``path``.

    ``before_replace`` is called with the resolved path when the new file is complete and on the
    disk. If it raises an error, the old file stays. The new file gets the permissions (except
    setuid, setgid and the sticky bit) and, if allowed, the owner of the old file.

    ``main_file`` is given if the new file is a backup of this file in the same folder. The new file
    then gets the permissions and the owner of the main file. If ``path`` is a symbolic link, the
    link is replaced, not its target.

    Temporary files of killed processes that replaced the same file are removed. Raise `PathError`
    if the file cannot be written.
    """
    target = check_replaceable(path, follow=main_file is None)
    reference = main_file or target
    _remove_abandoned(reference)
    try:
        descriptor, temporary = _create_locked_temporary(reference)
    except OSError as problem:
        raise PathError(describe_os_error(problem), where=_find_displayed_folder(path)) from None

    try:
        # Closing the file does not close ``descriptor``, which holds the lock.
        with open(temporary, "r+b", opener=lambda *_: os.dup(descriptor)) as file:
            write(file)
            file.flush()
            _set_attributes(file.fileno(), reference)
            os.fsync(file.fileno())
        if before_replace is not None:
            before_replace(target)
        record_change()
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
    """Remove temporary files of processes that were killed while they replaced ``target``.

    Files of running processes stay. All files stay if the file system does not support locks, or
    if the folder cannot be listed.
    """
    prefix = re.escape(_make_temporary_prefix(target))
    temporary_name = re.compile(f"{prefix}[a-z0-9_]{{8}}{re.escape(_TEMPORARY_SUFFIX)}")
    with suppress(OSError):  # the folder cannot be listed
        for name in filter(temporary_name.fullmatch, os.listdir(target.parent)):
            with suppress(OSError):  # the file is locked, or another process has removed it
                _remove_unless_locked(target.parent / name)


def _remove_unless_locked(path: Path) -> None:
    """Remove a regular file. Raise `OSError` if the file is locked or cannot be opened."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(descriptor)


def _create_temporary(target: Path, create: Callable[[str], Created]) -> tuple[Created, Path]:
    """Call ``create`` with unpredictable paths in the folder of ``target`` until one is free.

    Return the result of ``create`` and the free path. `_remove_abandoned` recognises the name.
    ``create`` must raise `FileExistsError` for a path that is not free.
    """
    while True:
        letters = "".join(_NAME_LETTERS[byte % len(_NAME_LETTERS)] for byte in os.urandom(8))
        path = target.with_name(_make_temporary_prefix(target) + letters + _TEMPORARY_SUFFIX)
        with suppress(FileExistsError):
            return create(str(path)), path


def _make_temporary_prefix(target: Path) -> str:
    """Return the start of the names of temporary files for ``target``."""
    short_name = target.name[:40]  # file systems limit the length of a name
    return f".{short_name}.nbtext-"


def _create_locked_temporary(target: Path) -> tuple[int, Path]:
    """Create an empty locked file in the folder of ``target``. Return its descriptor and path.

    The lock is held until the descriptor is closed.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        descriptor, temporary = _create_temporary(target, lambda path: os.open(path, flags, 0o600))
        try:
            # If the file system does not support locks, `_remove_abandoned` removes nothing.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            still_exists = os.fstat(descriptor).st_nlink > 0
            if still_exists:
                return descriptor, temporary
        except BaseException:
            discard_locked_file(descriptor, temporary)
            raise
        # Another process removed the file before it was locked: try again.
        os.close(descriptor)


def discard_locked_file(descriptor: int, path: Path) -> None:
    """Remove a file, if it exists, and then close it, which frees its lock. Ignore `OSError`."""
    with suppress(OSError):
        path.unlink()
    with suppress(OSError):
        os.close(descriptor)


def _set_attributes(descriptor: int, reference: Path) -> None:
    """Copy permissions and owner of ``reference`` to a new file.

    If the reference does not exist, set the usual permissions.
    """
    status = None
    with suppress(FileNotFoundError):
        status = reference.lstat()
    # In the meantime, a symbolic link may have replaced the reference.
    if status is None or not stat.S_ISREG(status.st_mode):
        mask = os.umask(0)  # the mask can only be read by setting it
        os.umask(mask)
        os.fchmod(descriptor, 0o666 & ~mask)
        return
    with suppress(PermissionError):  # another user's file in our folder
        os.fchown(descriptor, status.st_uid, status.st_gid)
    with suppress(PermissionError):
        os.fchmod(descriptor, status.st_mode & 0o777)  # without setuid, setgid and sticky bit


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def keep_backup(target: Path, suffix: str = BACKUP_SUFFIX) -> None:
    """Keep the file at ``target``, if it exists, under its name with a suffix.

    A file with this name is replaced.

    The backup is a hard link, or a copy if the file system does not support hard links. So there is
    always a file at ``target``. Raise `PathError` if the backup fails.
    """
    backup = target.with_name(target.name + suffix)
    try:
        try:
            _, link = _create_temporary(
                target, lambda path: os.link(target, path, follow_symlinks=False)
            )
        except FileNotFoundError:  # there is no old file
            return
        except OSError:  # the file system does not support hard links
            replace_file(str(backup), lambda file: _copy(target, file), main_file=target)
            return
        try:
            record_change()
            link.replace(backup)
        finally:
            # The link still exists if the rename failed, or did nothing because both names
            # already referred to the same file.
            with suppress(OSError):
                link.unlink()
    except (OSError, PathError) as problem:
        cause = describe_os_error(problem) if isinstance(problem, OSError) else problem.message
        raise PathError(
            f"cannot keep a backup: {cause}", where=str(backup), hint="the model is as it was"
        ) from None


def _copy(source: Path, file: IO[bytes]) -> None:
    """Copy the content of ``source`` to an open file. Raise `OSError` if it is a symbolic link."""
    import shutil

    def open_without_following(path: str, flags: int) -> int:
        return os.open(path, flags | os.O_NOFOLLOW)

    with open(source, "rb", opener=open_without_following) as source_file:
        shutil.copyfileobj(source_file, file)


def append_line(path: str, line: str) -> None:
    r"""Append a line, which ends with ``\n``, to a file. Create the file if it does not exist.

    If ``line`` is empty, only check that the file can be written. Raise `PathError` if the line
    cannot be appended.

    If the disk is full, a partly written line is cut off again. This is only possible while no
    other process appends, so each process locks the file (flock). Without lock support, or if the
    process is killed, the partial line stays. The next call ends it with a line break, so that the
    next line is not lost, too.
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
    """Return a descriptor that writes at the end of the file, and if permitted also reads."""
    flags = os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY
    try:
        return os.open(path, os.O_RDWR | flags, 0o666)
    except PermissionError:  # a file that may be written but not read
        return os.open(path, os.O_WRONLY | flags, 0o666)


def _append(descriptor: int, line: bytes) -> None:
    """Append a line to an open file, after a line break if the last line has none."""
    if not line:
        return
    is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
    is_locked = is_file and _lock_to_append(descriptor)
    end = os.fstat(descriptor).st_size
    unwritten = line
    with suppress(OSError):  # a file that may not be read
        if is_file and end > 0 and os.pread(descriptor, 1, end - 1) != b"\n":
            unwritten = b"\n" + line
    record_change()
    try:
        while unwritten:
            n_written = os.write(descriptor, unwritten)  # fewer bytes on a nearly full disk
            unwritten = unwritten[n_written:]
    except BaseException:
        if is_locked:
            with suppress(OSError):
                os.ftruncate(descriptor, end)
        raise


def _lock_to_append(descriptor: int) -> bool:
    """Try to lock a file for a short time. Return True if the file is locked now."""
    for _ in range(_APPEND_LOCK_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_APPEND_LOCK_POLL_SECONDS)
        except OSError:  # a file system without locks
            return False
        else:
            return True
    return False


LOCK_SUFFIX = ".lock"

# Time between two attempts to lock. It starts short, since most processes free the lock quickly,
# and doubles up to the maximum.
_MIN_LOCK_POLL_SECONDS = 0.005
_MAX_LOCK_POLL_SECONDS = 0.1


@contextmanager
def lock_path(path: str, timeout: float) -> Iterator[None]:
    """Hold the lock of a file, which need not exist, within the context.

    Symbolic links are followed. Raise `LockedError` if other processes hold the lock for
    ``timeout`` seconds, and `PathError` if the lock file cannot be created.
    """
    lock_file = os.path.realpath(path) + LOCK_SUFFIX
    try:
        descriptor = _acquire_lock(lock_file, timeout)
    except NbtextError as problem:
        problem.where = find_displayed_path(path) + LOCK_SUFFIX
        raise
    try:
        yield
    finally:
        discard_locked_file(descriptor, Path(lock_file))


def _acquire_lock(lock_file: str, timeout: float) -> int:
    """Lock a lock file, and return the descriptor that holds the lock. Wait if necessary."""
    deadline = time.monotonic() + timeout
    poll_seconds = _MIN_LOCK_POLL_SECONDS
    while True:
        descriptor, is_new = _open_lock_file(lock_file)
        try:
            if _try_lock(descriptor, lock_file, is_new=is_new):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)

        remaining_seconds = deadline - time.monotonic()
        if remaining_seconds <= 0:
            duration = f"for {timeout:g} s" if timeout else "now"
            raise LockedError(
                f"another process is writing the model {duration}",
                hint="try again, or set a longer --lock-timeout",
            )
        time.sleep(min(poll_seconds, remaining_seconds))
        poll_seconds = min(2 * poll_seconds, _MAX_LOCK_POLL_SECONDS)


def _open_lock_file(lock_file: str) -> tuple[int, bool]:
    """Return a descriptor of the lock file, and whether this call created the file."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    try:
        while True:
            with suppress(FileExistsError):  # the file of another process
                return os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o666), True
            # The other process may have removed its file in the meantime.
            with suppress(FileNotFoundError):
                try:
                    descriptor = os.open(lock_file, os.O_RDWR | flags)
                except PermissionError:  # another user's file: reading is enough for a lock
                    descriptor = os.open(lock_file, os.O_RDONLY | flags)
                break
    except OSError as problem:
        raise PathError(
            f"cannot lock: {describe_os_error(problem)}",
            hint="remove it if no other process is running",
        ) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PathError("cannot lock: it is not a regular file", hint="remove it")
    return descriptor, False


def _try_lock(descriptor: int, lock_file: str, *, is_new: bool) -> bool:
    """Lock an open file. Return True if it is locked and still has the name ``lock_file``.

    If the file system does not support locks, remove a new lock file, and raise `PathError`.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), os.lstat(lock_file))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as problem:
        if is_new:
            with suppress(OSError):
                Path(lock_file).unlink()
        raise PathError(
            f"cannot lock: {describe_os_error(problem)}",
            hint="keep the model on a file system that has locks",
        ) from None
