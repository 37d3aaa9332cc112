"""Format ``maildir``: a folder of messages, a file each, in ``cur`` and ``new``; the class is the name of the folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nbtext.corpus.directory import document, unlabelled_files
from nbtext.corpus.source import label_of
from nbtext.corpus.streams import files_below, must_exist
from nbtext.errors import PathError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.corpus.directory import ListedFile
    from nbtext.corpus.document import RawDocument
    from nbtext.corpus.source import Source

FOLDERS = ("cur", "new", "tmp")


def is_maildir(path: str) -> bool:
    """Whether a path is a directory with the three folders of a Maildir."""
    return all(os.path.isdir(os.path.join(path, folder)) for folder in FOLDERS)  # noqa: PTH112, PTH118 - do not raise, and keep the path as given


def documents(path: str, source: Source) -> Iterator[RawDocument]:
    """One document for each message of a Maildir, named by its path; messages in ``tmp`` are not there yet.

    Raises `PathError` for what is no Maildir; where classes are not wanted, it is taken for a message or a directory of messages.
    """
    return (document(*file, source) for file in files(path, source))


def files(path: str, source: Source) -> Iterator[ListedFile]:
    """The files of `documents`, unread, each with its class and with what is wrong with it, if something is."""
    if not is_maildir(path):
        if source.labelled:
            must_exist(path)
            raise PathError("not a Maildir: it has not the folders cur, new and tmp", where=path)
        yield from unlabelled_files(path)
        return
    label = label_of(path) if source.labelled else None
    empty = True
    for folder in FOLDERS[:2]:
        for file, problem in files_below(os.path.join(path, folder)):  # noqa: PTH118
            empty = False
            yield file, label, problem
    if empty and source.labelled:
        source.notices.warnings.append(f"{path}: no messages in this Maildir")
