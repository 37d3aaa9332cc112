"""Compressed files (gzip, xz, bzip2): unpacked as they are read, never further than a limit."""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from typing import IO, TYPE_CHECKING, Protocol

from nbtext.corpus.files import described, too_large
from nbtext.errors import DocumentError, PathError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

SUFFIXES = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2"}

_BEGINNINGS = {"gzip": (b"\x1f\x8b\x08",), "xz": (b"\xfd7zXZ\0",), "bzip2": tuple(b"BZh%d1AY&SY" % size for size in range(1, 10))}
_EMPTY_BZIP2 = tuple(b"BZh%d\x17rE8P\x90" % size for size in range(1, 10))
_ANY_BEGINNING = (*_EMPTY_BZIP2, *(beginning for beginnings in _BEGINNINGS.values() for beginning in beginnings))
_ANY_SUFFIX = tuple(SUFFIXES)
LONGEST_BEGINNING = 10

_MOST_MEMORY = 256 << 20
"""What unpacking xz may take; its strongest preset takes 65 MiB."""

_PIECE = 1 << 16


class Unpacker(Protocol):
    """What `bz2` and `lzma` offer, and `_Gzip` here: one stream, unpacked piece by piece."""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether there is nothing left to unpack of what was given."""

    @property
    def unused_data(self) -> bytes:
        """What was given beyond the end."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """At most so many bytes more."""


class _Gzip:
    """A gzip stream in the manner of `bz2.BZ2Decompressor`."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._full = False

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return not self._full and not self._stream.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        unpacked = self._stream.decompress(self._stream.unconsumed_tail + data, max_length)
        self._full = len(unpacked) == max_length  # more may be waiting inside
        return unpacked


def _unpacker(kind: str) -> Unpacker:
    if kind == "gzip":
        return _Gzip()
    return bz2.BZ2Decompressor() if kind == "bzip2" else lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_MEMORY)


def compression(path: str, start: bytes) -> str | None:
    """How a file is compressed, by its first bytes or by its name; None if it is not, or is empty."""
    if not start.startswith(_ANY_BEGINNING) and not path.lower().endswith(_ANY_SUFFIX):
        return None
    for kind, beginnings in _BEGINNINGS.items():
        if start.startswith(beginnings) or (kind == "bzip2" and start.startswith(_EMPTY_BZIP2)):
            return kind
    return next((kind for suffix, kind in SUFFIXES.items() if start and path.lower().endswith(suffix)), None)


class Unpacked(io.RawIOBase):
    """The contents of a compressed file; reading raises `PathError` where it is damaged, cut short, or unpacks to more than the limit.

    Streams that follow one another are one, as with the tools that write such files; zeros after the last are padding.
    """

    def __init__(self, packed: IO[bytes], kind: str, limit: int) -> None:
        self._packed, self._kind, self._limit = packed, kind, limit
        self._unpacker = _unpacker(kind)
        self._ahead = b""
        self._size = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill the buffer as far as one step of unpacking does; 0 at the end."""
        view = memoryview(buffer)
        piece = b""
        while not piece and self._more():
            packed = self._more_packed() if self._unpacker.needs_input else b""
            if self._unpacker.needs_input and not packed:
                raise PathError(f"the {self._kind} file is cut short")
            piece = self._unpack(packed, len(view))
        self._size += len(piece)
        if self._size > self._limit:
            raise PathError(f"unpacks to more than {described(self._limit)}", hint="see --max-unpacked-size")
        view[: len(piece)] = piece
        return len(piece)

    def _unpack(self, packed: bytes, most: int) -> bytes:
        try:
            return self._unpacker.decompress(packed, most)
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as problem:
            raise PathError(f"the {self._kind} file is damaged ({str(problem).lower()})") from None

    def _more(self) -> bool:
        """Whether there is anything to unpack, after the next stream has been begun if one has ended."""
        if not self._unpacker.eof:
            return True
        rest = self._unpacker.unused_data.lstrip(b"\0")
        while not rest and (packed := self._more_packed()):
            rest = packed.lstrip(b"\0")
        if not rest:
            return False
        self._unpacker, self._ahead = _unpacker(self._kind), rest
        return True

    def _more_packed(self) -> bytes:
        ahead, self._ahead = self._ahead, b""
        return ahead or self._packed.read(_PIECE)


def unpacked_document(path: str, content: bytes, limit: int) -> bytes:
    """The content of a file that is one document, unpacked if it is compressed; raises `DocumentError` where `Unpacked` has `PathError`."""
    kind = compression(path, content[:LONGEST_BEGINNING])
    if kind is None:
        return content
    try:
        unpacked = io.BufferedReader(Unpacked(io.BytesIO(content), kind, 1 << 62)).read(limit + 1)
    except PathError as problem:
        raise DocumentError(problem.message) from None
    if len(unpacked) > limit:
        raise too_large(limit)
    return unpacked
