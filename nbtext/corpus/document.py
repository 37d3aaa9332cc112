"""One document as it goes through nbtext, and what is noticed while reading many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from nbtext.errors import DocumentError, NbtextError

_LONGEST_MESSAGE = 300


class Document(NamedTuple):
    """A document: its name as given or found, its class if known, its text as valid UTF-8, or why it could not be read."""

    id: str
    label: str | None
    text: bytes
    problem: DocumentError | None = None
    columns: tuple[str, ...] = ()
    """Values of the further columns that were asked for, in that order; none where it could not be read."""


class RawDocument(NamedTuple):
    """A document as a format's reader found it: bytes of unknown kind and, unless ``decoded`` to UTF-8, of unknown encoding."""

    id: str
    label: str | None
    body: bytes
    problem: DocumentError | None = None
    decoded: bool = False
    columns: tuple[str, ...] = ()


@dataclass
class Notices:
    """What a reader noticed that is no failure: said on a terminal or with --verbose; ``warnings`` are always said."""

    transcoded: int = 0
    """Documents that were not valid UTF-8 and were read as Windows-1252."""
    unlabelled: list[str] = field(default_factory=list)
    """Files that lie in no class directory and were left out of training."""
    warnings: list[str] = field(default_factory=list)
    line_ends: int = 0
    """Lines that ended in the part of a file that was read, if it was a part."""


def problem_of(raised: Exception) -> DocumentError:
    """Return why one document cannot be read, given what reading or decoding it raised.

    Re-raises what concerns the whole run: wrong settings, a path that cannot be read, memory that ran out. Any other exception is a defect of
    nbtext, so the message names it.
    """
    if isinstance(raised, DocumentError):
        return raised
    if isinstance(raised, (NbtextError, OSError, MemoryError)):
        raise raised
    return DocumentError(
        f"cannot be read: {type(raised).__name__}: {raised}"[:_LONGEST_MESSAGE], hint="this is a defect of nbtext; please report it"
    )
