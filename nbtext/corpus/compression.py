"""Compressed files (gzip, xz, bzip2), unpacked while they are read and never further than a limit."""

from __future__ import annotations

import io
import os
import zlib
from typing import IO, TYPE_CHECKING, cast

from nbtext.corpus.document import size_in_words, too_large
from nbtext.errors import DocumentError, PathError

if TYPE_CHECKING:
    from bz2 import BZ2Decompressor
    from collections.abc import Generator
    from io import BufferedReader
    from lzma import LZMADecompressor

    from _typeshed import WriteableBuffer

_SUFFIXES = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2"}

_ANY_SUFFIX = tuple(_SUFFIXES)

_BEGINNINGS = {
    b"\x1f\x8b\x08": "gzip",
    b"\xfd7zXZ\0": "xz",
    **{b"BZh%d%b" % (size, magic): "bzip2" for size in range(1, 10) for magic in (b"1AY&SY", b"\x17rE8P\x90")},  # the latter: empty
}

_ANY_BEGINNING = tuple(_BEGINNINGS)
_FIRST_BYTES = {beginning[:1] for beginning in _BEGINNINGS}

LONGEST_BEGINNING = 10
"""Bytes of a file that `compression` looks at."""

_MOST_MEMORY = 256 << 20
"""Bytes for unpacking xz; its strongest preset needs 65 MiB."""

_PIECE = 1 << 16

BUFFER = 1 << 18
"""Bytes that are read at once."""


class _Gzip:
    """A gzip stream with the interface of `bz2.BZ2Decompressor`, which `lzma.LZMADecompressor` has too."""

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
        self._full = len(unpacked) == max_length  # there may be more inside
        return unpacked


def _unpacker(kind: str) -> _Gzip | BZ2Decompressor | LZMADecompressor:
    if kind == "gzip":
        return _Gzip()
    import bz2
    import lzma

    return bz2.BZ2Decompressor() if kind == "bzip2" else lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_MEMORY)


def compression(path: str, start: bytes) -> str | None:
    """Return how a file is compressed, by its first bytes, else by its name; None if it is not compressed, or is empty."""
    if start[:1] in _FIRST_BYTES and start.startswith(_ANY_BEGINNING):
        return next(kind for beginning, kind in _BEGINNINGS.items() if start.startswith(beginning))
    name = path[-4:].lower()
    if not start or not name.endswith(_ANY_SUFFIX):
        return None
    return next(kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix))


def uncompressed_name(name: str) -> str:
    """Return a file's name without the suffix of its compression."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a name, not a path
    return stem if suffix.lower() in _SUFFIXES else name


class _Pieces(io.RawIOBase):
    """The bytes that a generator yields in pieces, none of them empty."""

    def __init__(self, pieces: Generator[bytes], position: int) -> None:
        self._pieces, self._position = pieces, position
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        self._piece = self._piece or memoryview(next(self._pieces, b""))
        piece, self._piece = self._piece[: len(view)], self._piece[len(view) :]  # cutting a view copies nothing
        view[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._pieces.close()
        super().close()


def stream_of(pieces: Generator[bytes], position: int = 0) -> BufferedReader:
    """Return the bytes that a generator yields in pieces as a stream, at a position in the file that they come from."""
    return cast("BufferedReader", io.BufferedReader(_Pieces(pieces, position), BUFFER))


def unpacked(packed: IO[bytes], kind: str, limit: int) -> Generator[bytes]:
    """Yield the content of a compressed file; raise `PathError` where it is damaged, cut short, or unpacks to more than the limit.

    Streams that follow one another are read as one, as the tools that write such files do; zeros after the last are padding.
    """
    from lzma import LZMAError

    unpacker, size = _unpacker(kind), 0
    while True:
        content = b""
        if unpacker.eof:
            content = unpacker.unused_data.lstrip(b"\0")
            while not content and (more := packed.read(_PIECE)):
                content = more.lstrip(b"\0")
            if not content:
                return
            unpacker = _unpacker(kind)
        elif unpacker.needs_input and not (content := packed.read(_PIECE)):
            raise PathError(f"the {kind} file is cut short")
        try:
            piece = unpacker.decompress(content, BUFFER)
        except (OSError, EOFError, ValueError, zlib.error, LZMAError) as problem:
            raise PathError(f"the {kind} file is damaged ({str(problem).lower()})") from None
        size += len(piece)
        if size > limit:
            raise PathError(f"unpacks to more than {size_in_words(limit)}", hint="see --max-unpacked-size")
        if piece:
            yield piece


def unpacked_document(path: str, content: bytes, limit: int) -> bytes:
    """Return the content of a file that is one document, unpacked if it is compressed; raise `DocumentError` where `unpacked` raises `PathError`."""
    kind = compression(path, content[:LONGEST_BEGINNING])
    if kind is None:
        return content
    try:
        found = stream_of(unpacked(io.BytesIO(content), kind, 1 << 62)).read(limit + 1)
    except PathError as problem:
        raise DocumentError(problem.message) from None
    if len(found) > limit:
        raise too_large(limit)
    return found
