"""Directories whose files are documents: format ``dir``, and how to find and read such files without ever blocking on one."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from nbtext.corpus.compression import unpacked_document
from nbtext.corpus.decoding import decoded_name
from nbtext.corpus.document import RawDocument, problem_of, too_large
from nbtext.corpus.streams import must_exist, standard_input
from nbtext.errors import DocumentError, PathError, UsageError, reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.corpus.document import Notices, Source

    ListedFile = tuple[str, str | None, DocumentError | None]
    """A file that is one document, not yet read: its path, its class, and why it cannot be read."""


def files(path: str, source: Source) -> Iterator[ListedFile]:
    """Yield the files of class directories, labelled with the directory's name; if labels are not wanted, of any file or directory."""
    if not source.labelled:
        yield from unlabelled_files(path)
        return
    if path == "-" or not stat.S_ISDIR(must_exist(path).st_mode):
        raise UsageError(
            f"{path} is not a directory with one sub-directory per class",
            hint="a path names a whole corpus, also in a list of --files-from; for a table use --format csv or tsv, and see --format for others",
        )
    for folder in _class_directories(path, source.notices):
        label = decoded_name(os.fsencode(Path(folder).name))
        yield from labelled_files([folder], label, source.notices, f"{folder}: no documents in this class")


def labelled_files(folders: Iterable[str], label: str, notices: Notices, warning: str) -> Iterator[ListedFile]:
    """Yield the files below folders, all of one class; if there are none, add the warning to the notices."""
    empty = True
    for folder in folders:
        for file, problem in files_below(folder):
            empty = False
            yield file, label, problem
    if empty:
        notices.warnings.append(warning)


def _class_directories(path: str, notices: Notices) -> list[str]:
    try:
        with os.scandir(path) as entries:
            visible = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as problem:
        raise PathError(f"cannot read the directory: {reason(problem)}", where=path) from None
    folders = [entry.path for entry in visible if _is_directory(entry)]
    notices.unlabelled.extend(sorted({entry.path for entry in visible} - set(folders)))
    if not folders:
        raise UsageError(f"{path} has no sub-directories", hint="a corpus has one sub-directory per class, with its documents inside")
    return sorted(folders, key=os.fsencode)


def unlabelled_files(path: str) -> Iterator[ListedFile]:
    """Yield a file given, every file below a directory given, or ``-`` for standard input."""
    if path != "-" and os.path.isdir(path):  # noqa: PTH112 - does not raise if a folder on the way may not be searched
        for file, problem in files_below(path):
            yield file, None, problem
    else:
        yield path, None, None


def files_below(folder: str) -> Iterator[tuple[str, DocumentError | None]]:
    """Yield the paths of the files at any depth, in the order of their names' bytes, without names that begin with a dot.

    A problem comes with what is neither file nor directory, and with a symbolic link to a directory: it is not followed, since it may lead
    back.
    """
    pending = [(folder, True)]  # no recursion: directories may be nested more deeply than Python's calls
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
        pending.extend((entry.path, _is_directory(entry)) for _, entry in reversed(visible))


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle
        return False


def read_listed(file: ListedFile, source: Source) -> RawDocument:
    """Read a listed file, or standard input for ``-``: the document, unpacked if it is compressed, or why it cannot be read."""
    path, label, problem = file
    if problem is None:
        try:
            content = _read_standard_input(source.limit) if path == "-" else read_file(path, source.limit)
            return RawDocument(path, label, unpacked_document(path, content, source.limit))
        except Exception as raised:  # noqa: BLE001 - one file never ends a run
            problem = problem_of(raised)
    return RawDocument(path, label, b"", problem)


def _read_standard_input(limit: int) -> bytes:
    try:
        body = standard_input().read(limit + 1)
    except OSError as problem:
        raise PathError(f"cannot read: {reason(problem)}", where="standard input") from None
    if len(body) > limit:
        raise too_large(limit)
    return body


def read_file(path: str, limit: int) -> bytes:
    """Return the content of a regular file; raise `DocumentError` for anything else, and for more than ``limit`` bytes."""
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
    wanted = size or limit  # files of /proc and the like claim to be empty
    content = os.read(descriptor, size + 1 if size else 1 << 16)
    while 0 < len(content) < wanted and (more := os.read(descriptor, min(wanted - len(content), 1 << 20))):
        content += more
    return content[:wanted]
