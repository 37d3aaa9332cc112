"""What a reader of some format is told, and the names of what it finds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nbtext.attributes import NO_ATTRIBUTES
from nbtext.corpus.document import to_utf8
from nbtext.corpus.streams import SUFFIXES, opened, opened_part
from nbtext.errors import UsageError
from nbtext.settings import in_bytes

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from io import BufferedReader

    from nbtext.attributes import Attributes
    from nbtext.corpus.document import Notices
    from nbtext.corpus.streams import Part
    from nbtext.settings import Reading


@dataclass(frozen=True)
class Source:
    """How to read: the parameters of `nbtext.settings.READING`, whether classes are wanted, where to leave word, and which further columns to take."""

    reading: Reading
    notices: Notices
    labelled: bool
    columns: tuple[str, ...] = ()
    """Attributes first, for which there may be nothing, then others."""
    attributes: Attributes = NO_ATTRIBUTES
    part: Part | None = None
    """Which part of a file of lines is to be read, if not all."""

    @cached_property
    def limit(self) -> int:
        """The most bytes of a document."""
        return in_bytes(self.reading["max_document_size"])

    def opened(self, path: str) -> AbstractContextManager[BufferedReader]:
        """The bytes of a file of documents, or of the part of it that is to be read."""
        return opened(path, self.unpacked_limit) if self.part is None else opened_part(path, self.part)

    @cached_property
    def unpacked_limit(self) -> int:
        """The most bytes that a compressed file of documents may unpack to."""
        return in_bytes(self.reading["max_unpacked_size"])


def uncompressed(name: str) -> str:
    """A file's name without the suffix that says how it is compressed."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a name, not a path
    return stem if suffix.lower() in SUFFIXES else name


def label_of(path: str, *suffixes: str) -> str:
    """The class that a file or folder stands for: its name, without suffixes of compression and of the format.

    >>> label_of("mail/spam.mbox.gz", ".mbox")
    'spam'

    Raises `UsageError` for standard input, which has no name.
    """
    if path == "-":
        raise UsageError("standard input has no name that could be the class", hint="give a file")
    name = uncompressed(Path(os.path.realpath(path)).name).lstrip(".")
    for suffix in suffixes:
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return to_utf8(os.fsencode(name), "auto")[0].decode()
