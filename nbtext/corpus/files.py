"""Files of a corpus: reading one without ever hanging on it, and finding those below a directory."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from nbtext.errors import DocumentError, PathError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DOCUMENT_BYTES = 64 << 20


def described(size: int) -> str:
    """A number of bytes in the largest unit in which it is whole."""
    unit = next((unit for unit in (30, 20, 10) if size % (1 << unit) == 0), 0)
    return f"{size >> unit:,} {'KMG'[unit // 10 - 1] + 'iB' if unit else 'bytes'}"


def too_large(limit: int) -> DocumentError:
    """What to say of a document beyond the limit."""
    return DocumentError(f"larger than {described(limit)}", hint="see --max-document-size")


def read_file(path: str, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
    """The whole of a regular file; raises `DocumentError` for anything else, and beyond the limit."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)  # a pipe without a writer must not block
    except OSError as problem:
        raise DocumentError(f"cannot read: {reason(problem)}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DocumentError("not a regular file")
        return _read_up_to_limit(descriptor, status.st_size, limit)
    except OSError as problem:
        raise DocumentError(f"cannot read: {reason(problem)}") from None
    finally:
        os.close(descriptor)


def _read_up_to_limit(descriptor: int, size: int, limit: int) -> bytes:
    if size > limit:
        raise too_large(limit)
    wanted = size or limit  # files of /proc and the like say that they are empty
    content = os.read(descriptor, size + 1 if size else 1 << 16)
    while 0 < len(content) < wanted and (more := os.read(descriptor, min(wanted - len(content), 1 << 20))):
        content += more
    return content[:wanted]


def files_below(folder: str) -> Iterator[tuple[str, DocumentError | None]]:
    """Paths of the files at any depth, in the order of their names' bytes; names that begin with a dot are passed over.

    What is neither file nor directory comes with a problem, and so does a symbolic link to a directory: it is not followed, since it may
    lead back.
    """
    pending = [(folder, True)]  # no recursion: directories may be nested more deeply than Python may call
    while pending:
        path, is_folder = pending.pop()
        if not is_folder:
            yield path, None
            continue
        if path != folder and os.path.islink(path):  # noqa: PTH114 - faster
            yield path, DocumentError("a symbolic link to a directory, not followed", hint="give it as a path of its own")
            continue
        try:
            with os.scandir(path) as entries:
                visible = sorted((os.fsencode(entry.name), entry) for entry in entries if not entry.name.startswith("."))
        except OSError as problem:
            yield path, DocumentError(f"cannot read the directory: {reason(problem)}")
            continue
        pending.extend((entry.path, is_directory(entry)) for _, entry in reversed(visible))


def is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether it is a directory or a link to one; a link that leads nowhere or in a circle is not."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def must_exist(path: str) -> os.stat_result:
    """The status of a path given by the user; raises `PathError` if there is none."""
    try:
        return os.stat(path)  # noqa: PTH116 - bytes that are no text may stand in a name
    except (OSError, ValueError) as problem:
        text = reason(problem) if isinstance(problem, OSError) else str(problem)
        raise PathError(f"cannot read: {text}", where=path) from None
