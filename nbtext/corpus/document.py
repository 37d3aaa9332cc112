"""One document as it goes through nbtext, and what is noticed while reading many.

Bytes of unknown encoding to UTF-8.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import NamedTuple

from nbtext.errors import DocumentError, NbtextError, UsageError

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
    unnamed: int = 0
    """Documents that could not be read and are not named, because many of the same shard are."""

    def add(self, other: Notices) -> None:
        """Add what was noticed of a later shard."""
        self.transcoded += other.transcoded
        self.unlabelled += other.unlabelled
        self.warnings += other.warnings
        self.unnamed += other.unnamed


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


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like UTF-16's, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


_NO_CHARSETS = ("punycode", "idna", "unicode-escape", "raw-unicode-escape")
"""Codecs of Python in which no text is sent; for a long one punycode takes the square of its length."""


_BINARY_WITHIN = 8192


_STRUCTURE = '\r\n\t,;|"'


def to_utf8(body: bytes, encoding: str) -> tuple[bytes, bool]:
    """The text as valid UTF-8, and whether it had to be taken for Windows-1252.

    ``auto`` tries UTF-8, then falls back; a named encoding is strict. Raises `DocumentError` for what is not text in the encoding. Byte order
    marks have no meaning here: see `by_mark`.
    """
    if encoding != "auto":
        return _strict(body, encoding), False
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            _refuse_binary(body)
            return body.decode("cp1252", "replace").encode(), True
    _refuse_binary(body)
    return body, False


def by_mark(body: bytes, encoding: str) -> tuple[bytes, str]:
    """Return the bytes of a file, and its encoding; with ``auto`` a byte order mark at the beginning names it.

    Only where a file, or a part of a mail, begins: in a row of a table, the same bytes are text.
    """
    if encoding == "auto":
        for mark, name in _MARKS:
            if body.startswith(mark):
                return (body[len(mark) :] if name == "utf-8" else body), name
    return body, encoding


def from_charset(body: bytes, charset: str | None, encoding: str) -> tuple[bytes, bool]:
    """A text that may tell its own encoding, as UTF-8: by that, or else, where it is unknown or not what the bytes are, as `to_utf8`."""
    if charset and charset != "us-ascii" and (charset, encoding) != ("utf-8", "auto"):
        try:
            if codecs.lookup(charset).name in _NO_CHARSETS:
                return to_utf8(body, encoding)
            return to_utf8(body, charset)
        except (DocumentError, UsageError, LookupError, ValueError):
            pass
    return to_utf8(body, encoding)


def _strict(body: bytes, encoding: str) -> bytes:
    try:
        return body.decode(encoding).encode("utf-8", "replace")
    except UnicodeDecodeError as problem:
        raise DocumentError(f"not valid {encoding} at byte {problem.start}", hint="see --encoding") from None
    except UnicodeError as problem:
        raise DocumentError(f"not valid {encoding} ({problem})", hint="see --encoding") from None
    except (LookupError, ValueError):  # a name with a zero byte in it is no name
        raise UsageError(f"{encoding} is no encoding of text", hint="see --encoding") from None


def is_ascii_compatible(encoding: str) -> bool:
    """Whether an encoding writes ASCII as ASCII, so that lines and columns can be found before text is decoded."""
    try:
        return encoding == "auto" or _STRUCTURE.encode(encoding) == _STRUCTURE.encode()
    except (LookupError, UnicodeError):
        return False


def is_wide(start: bytes) -> bool:
    """Whether bytes begin with the mark of UTF-16 or UTF-32."""
    return start.startswith(tuple(mark for mark, name in _MARKS if name != "utf-8"))


def _refuse_binary(body: bytes) -> None:
    found = body.find(b"\0", 0, _BINARY_WITHIN)
    if found >= 0:
        raise DocumentError(f"binary, not text (a zero byte at {found})")
