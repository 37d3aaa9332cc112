"""Format ``dir``: one sub-directory per class, a document in each file below it; without labels, any files and directories."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from nbtext.corpus.compression import unpacked_document
from nbtext.corpus.decoding import to_utf8
from nbtext.corpus.document import RawDocument
from nbtext.corpus.files import files_below, is_directory, must_exist, read_file, too_large
from nbtext.corpus.streams import standard_input
from nbtext.errors import DocumentError, PathError, UsageError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.corpus.document import Notices
    from nbtext.corpus.source import Source


def documents(path: str, source: Source) -> Iterator[RawDocument]:
    """Documents of class directories if classes are wanted, else of any file or directory."""
    return labelled(path, source) if source.labelled else unlabelled(path, source)


def labelled(path: str, source: Source) -> Iterator[RawDocument]:
    """Documents of class directories; the name of the directory is the label."""
    if path == "-" or not stat.S_ISDIR(must_exist(path).st_mode):
        raise UsageError(
            f"{path} is not a directory with one sub-directory per class",
            hint="for a table use --format csv or tsv, and see --format for others",
        )
    for folder in _class_directories(path, source.notices):
        label = to_utf8(os.fsencode(Path(folder).name), "auto")[0].decode()
        empty = True
        for file, problem in files_below(folder):
            empty = False
            yield document(file, label, problem, source)
        if empty:
            source.notices.warnings.append(f"{folder}: no documents in this class")


def unlabelled(path: str, source: Source) -> Iterator[RawDocument]:
    """A file given, every file below a directory given, or for ``-`` the document on standard input."""
    if path == "-":
        yield _standard_input(source)
    elif os.path.isdir(path):  # noqa: PTH112 - does not raise where a folder on the way may not be searched
        for file, problem in files_below(path):
            yield document(file, None, problem, source)
    else:
        yield document(path, None, None, source)


def document(path: str, label: str | None, problem: DocumentError | None, source: Source) -> RawDocument:
    """The document in a file, unpacked if it is compressed, or why it cannot be read."""
    if problem is None:
        try:
            return RawDocument(path, label, unpacked_document(path, read_file(path, source.limit), source.limit))
        except DocumentError as unreadable:
            problem = unreadable
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
    try:
        if len(body) > limit:
            raise too_large(limit)
        return RawDocument("-", None, unpacked_document("-", body, limit))
    except DocumentError as problem:
        return RawDocument("-", None, b"", problem)
