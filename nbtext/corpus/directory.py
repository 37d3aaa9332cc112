"""Format ``dir``: one sub-directory per class, a document in each file below it; without labels, any files and directories."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from nbtext.corpus.decoding import to_utf8
from nbtext.corpus.document import Notices, RawDocument
from nbtext.corpus.files import MAX_DOCUMENT_BYTES, files_below, is_directory, must_exist, read_file
from nbtext.corpus.streams import standard_input
from nbtext.errors import DocumentError, PathError, UsageError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def labelled(paths: Sequence[str], notices: Notices) -> Iterator[RawDocument]:
    """Documents of class directories; the name of the directory is the label."""
    for path in paths:
        if path == "-" or not stat.S_ISDIR(must_exist(path).st_mode):
            raise UsageError(
                f"{path} is not a directory with one sub-directory per class",
                hint="for a table use --format csv or tsv",
            )
        for folder in _class_directories(path, notices):
            label = to_utf8(os.fsencode(Path(folder).name), "auto")[0].decode()
            empty = True
            for file, problem in files_below(folder):
                empty = False
                yield _document(file, label, problem)
            if empty:
                notices.warnings.append(f"{folder}: no documents in this class")


def unlabelled(paths: Sequence[str]) -> Iterator[RawDocument]:
    """Every file given, every file below a directory given, and ``-`` for a document on standard input."""
    for path in paths:
        if path == "-":
            yield _standard_input()
        elif os.path.isdir(path):  # noqa: PTH112 - does not raise where a folder on the way may not be searched
            for file, problem in files_below(path):
                yield _document(file, None, problem)
        else:
            yield _document(path, None, None)


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


def _document(path: str, label: str | None, problem: DocumentError | None) -> RawDocument:
    if problem is None:
        try:
            return RawDocument(path, label, read_file(path))
        except DocumentError as unreadable:
            problem = unreadable
    return RawDocument(path, label, b"", problem)


def _standard_input() -> RawDocument:
    try:
        body = standard_input().read(MAX_DOCUMENT_BYTES + 1)
    except OSError as problem:
        raise PathError(f"cannot read: {reason(problem)}", where="standard input") from None
    if len(body) > MAX_DOCUMENT_BYTES:
        return RawDocument("-", None, b"", DocumentError(f"larger than {MAX_DOCUMENT_BYTES >> 20} MiB"))
    return RawDocument("-", None, body)
