"""Format ``dir``: one sub-directory per class, a document in each file below it; without labels, any files and directories.

Lists of paths, as other programs print them: one a line, or with a NUL after each.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from nbtext.corpus.document import RawDocument, problem_of, to_utf8
from nbtext.corpus.streams import files_below, is_directory, must_exist, opened, read_file, standard_input, too_large, unpacked_document
from nbtext.errors import DocumentError, PathError, UsageError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.corpus.document import Notices
    from nbtext.corpus.source import Source

    ListedFile = tuple[str, str | None, DocumentError | None]


def documents(path: str, source: Source) -> Iterator[RawDocument]:
    """Documents of class directories if classes are wanted, else of any file or directory."""
    return (document(*file, source) for file in files(path, source))


def files(path: str, source: Source) -> Iterator[ListedFile]:
    """The files of `documents`, unread, each with its class and with what is wrong with it, if something is."""
    return labelled_files(path, source) if source.labelled else unlabelled_files(path)


def labelled_files(path: str, source: Source) -> Iterator[ListedFile]:
    """Files in class directories; the name of the directory is the label."""
    if path == "-" or not stat.S_ISDIR(must_exist(path).st_mode):
        raise UsageError(
            f"{path} is not a directory with one sub-directory per class",
            hint="a path names a whole corpus, also in a list of --files-from; for a table use --format csv or tsv, and see --format for others",
        )
    for folder in _class_directories(path, source.notices):
        label = to_utf8(os.fsencode(Path(folder).name), "auto")[0].decode()
        empty = True
        for file, problem in files_below(folder):
            empty = False
            yield file, label, problem
        if empty:
            source.notices.warnings.append(f"{folder}: no documents in this class")


def unlabelled_files(path: str) -> Iterator[ListedFile]:
    """A file given, every file below a directory given, or ``-`` for standard input."""
    if path != "-" and os.path.isdir(path):  # noqa: PTH112 - does not raise where a folder on the way may not be searched
        for file, problem in files_below(path):
            yield file, None, problem
    else:
        yield path, None, None


def document(path: str, label: str | None, problem: DocumentError | None, source: Source) -> RawDocument:
    """The document in a file or on standard input, unpacked if it is compressed, or why it cannot be read."""
    if path == "-":
        return _standard_input(source)
    if problem is None:
        try:
            return RawDocument(path, label, unpacked_document(path, read_file(path, source.limit), source.limit))
        except Exception as raised:  # noqa: BLE001 - one file never ends a run
            problem = problem_of(raised)
    return RawDocument(path, label, b"", problem)


def _class_directories(path: str, notices: Notices) -> list[str]:
    try:
        with os.scandir(path) as entries:
            visible = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as problem:
        raise PathError(f"cannot read the directory: {reason(problem)}", where=path) from None
    folders = [entry.path for entry in visible if is_directory(entry)]
    notices.unlabelled.extend(sorted({entry.path for entry in visible} - set(folders)))
    if not folders:
        raise UsageError(f"{path} has no sub-directories", hint="a corpus has one sub-directory per class, with its documents inside")
    return sorted(folders, key=os.fsencode)


def _standard_input(source: Source) -> RawDocument:
    limit = source.limit
    try:
        body = standard_input().read(limit + 1)
    except OSError as problem:
        raise PathError(f"cannot read: {reason(problem)}", where="standard input") from None
    if len(body) > limit:
        return RawDocument("-", None, b"", too_large(limit))
    try:
        return RawDocument("-", None, unpacked_document("-", body, limit))
    except Exception as raised:  # noqa: BLE001 - as with a file
        return RawDocument("-", None, b"", problem_of(raised))


def listed_paths(path: str, *, null: bool) -> list[str]:
    """The paths that a file, or standard input for ``-``, lists; an end behind the last one may be missing.

    A path that is only ``-`` is a file of that name. Raises `PathError` if the list cannot be read.
    """
    with opened(path) as stream:
        content = stream.read()
    names = content.split(b"\0") if null else content.split(b"\n")
    return ["./-" if name == b"-" else os.fsdecode(name) for name in names if name]
