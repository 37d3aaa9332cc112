"""Files of a corpus: reading one without ever hanging on it, and finding those below a directory."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from nbtext.errors import DocumentError, PathError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DOCUMENT_BYTES = 64 << 20


def read_file(path: str) -> bytes:
    """The whole of a regular file; raises `DocumentError` for anything else, and beyond `MAX_DOCUMENT_BYTES`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)  # a pipe without a writer must not block
    except OSError as problem:
        raise DocumentError(f"cannot read: {reason(problem)}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DocumentError("not a regular file")
        return _read_up_to_limit(descriptor, status.st_size)
    except OSError as problem:
        raise DocumentError(f"cannot read: {reason(problem)}") from None
    finally:
        os.close(descriptor)


def _read_up_to_limit(descriptor: int, size: int) -> bytes:
    if size > MAX_DOCUMENT_BYTES:
        raise DocumentError(f"larger than {MAX_DOCUMENT_BYTES >> 20} MiB")
    content = os.read(descriptor, size + 1)
    while 0 < len(content) < size and (more := os.read(descriptor, size - len(content))):
        content += more
    return content[:size] if size else content


def files_below(folder: str) -> Iterator[tuple[str, DocumentError | None]]:
    """Paths of the files at any depth, in the order of their names' bytes; names that begin with a dot are passed over.

    What is neither file nor directory comes with a problem, and so does a symbolic link to a directory: it is not followed, since it may
    lead back.
    """
    try:
        with os.scandir(folder) as entries:
            ordered = sorted((os.fsencode(entry.name), entry) for entry in entries if not entry.name.startswith("."))
    except OSError as problem:
        yield folder, DocumentError(f"cannot read the directory: {reason(problem)}")
        return
    for _, entry in ordered:
        if entry.is_dir(follow_symlinks=False):
            yield from files_below(entry.path)
        elif entry.is_symlink() and entry.is_dir():
            yield entry.path, DocumentError("a symbolic link to a directory, not followed", hint="give it as a path of its own")
        else:
            yield entry.path, None


def must_exist(path: str) -> os.stat_result:
    """The status of a path given by the user; raises `PathError` if there is none."""
    try:
        return os.stat(path)  # noqa: PTH116 - bytes that are no text may stand in a name
    except (OSError, ValueError) as problem:
        text = reason(problem) if isinstance(problem, OSError) else str(problem)
        raise PathError(f"cannot read: {text}", where=path) from None
