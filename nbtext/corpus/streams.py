"""Files of a corpus: reading one without ever hanging on it, and finding those below a directory.

Compressed files (gzip, xz, bzip2): unpacked as they are read, never further than a limit.

Parts of a file of lines: where it can be cut, and reading one part.

Opening a file of many documents, or standard input, as a stream of bytes, and its lines.
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import stat
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol, cast

from nbtext.corpus.document import is_wide
from nbtext.errors import DocumentError, PathError, UsageError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader, FileIO

    from _typeshed import WriteableBuffer


MAX_DOCUMENT_BYTES = 64 << 20


def described(size: int) -> str:
    """A number of bytes in the largest unit in which it is whole."""
    unit = next((unit for unit in (30, 20, 10) if size % (1 << unit) == 0), 0)
    return f"{size >> unit:,} {'KMG'[unit // 10 - 1] + 'iB' if unit else 'bytes'}"


def too_large(limit: int) -> DocumentError:
    """What to say of a document beyond the limit."""
    return DocumentError(f"larger than {described(limit)}", hint="see --max-document-size")


def read_file(path: str, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
    """The whole of a regular file; raises `DocumentError` for anything else, and beyond the limit."""
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
    wanted = size or limit  # files of /proc and the like say that they are empty
    content = os.read(descriptor, size + 1 if size else 1 << 16)
    while 0 < len(content) < wanted and (more := os.read(descriptor, min(wanted - len(content), 1 << 20))):
        content += more
    return content[:wanted]


def files_below(folder: str) -> Iterator[tuple[str, DocumentError | None]]:
    """Paths of the files at any depth, in the order of their names' bytes; names that begin with a dot are passed over.

    What is neither file nor directory comes with a problem, and so does a symbolic link to a directory: it is not followed, since it may
    lead back.
    """
    pending = [(folder, True)]  # no recursion: directories may be nested more deeply than Python may call
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
        pending.extend((entry.path, is_directory(entry)) for _, entry in reversed(visible))


def is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether it is a directory or a link to one; a link that leads nowhere or in a circle is not."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def must_exist(path: str) -> os.stat_result:
    """The status of a path given by the user; raises `PathError` if there is none."""
    try:
        return os.stat(path)  # noqa: PTH116 - bytes that are no text may stand in a name
    except (OSError, ValueError) as problem:
        text = reason(problem) if isinstance(problem, OSError) else str(problem)
        raise PathError(f"cannot read: {text}", where=path) from None


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


_READ_AT_ONCE = 1 << 18


class Part(NamedTuple):
    """Whole lines of a file, as bytes from ``start`` to ``end``, None for the end of the file."""

    start: int
    end: int | None
    lines_before: int
    """Lines of the file in front of the part, so that its lines have the numbers that they have in the file."""


def parts(path: str, size: int) -> Iterator[Part | None]:
    """Yield the parts of about ``size`` bytes, or more where a line is longer, of a file cut at line ends; None alone if it is to be read as a whole.

    So is what is no regular file or cannot be read, what is compressed, and what is in an encoding of wide characters. The file is read up to the end of
    each part, to count its lines, which takes about 2 % of the time of counting its terms.
    """
    start = lines_before = 0
    try:
        for end, line_ends in _cuts(path, size):
            yield Part(start, end, lines_before)
            start, lines_before = end, line_ends
    except (OSError, ValueError):
        pass  # whoever reads the rest will say why
    yield Part(start, None, lines_before) if start else None


def _cuts(path: str, step: int) -> Iterator[tuple[int, int]]:
    """Yield where to cut, and how many lines end before: behind the first line end after each multiple of the step, but not at the end of the file."""
    status = os.stat(path)  # noqa: PTH116 - bytes that are no text may stand in a name
    if not stat.S_ISREG(status.st_mode) or status.st_size <= step:
        return
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as above
        piece = file.read(_READ_AT_ONCE)
        if compression(path, piece[:LONGEST_BEGINNING]) is not None or is_wide(piece):
            return
        position = line_ends = 0
        target = step
        while piece:
            added = 0
            while (found := piece.find(b"\n", max(target - 1 - position, 0))) >= 0:
                cut = position + found + 1
                if cut >= status.st_size:
                    return
                line_ends += piece.count(b"\n", added, found + 1)
                yield cut, line_ends
                added, target = found + 1, (cut // step + 1) * step
            line_ends += piece.count(b"\n", added)
            position += len(piece)
            piece = file.read(_READ_AT_ONCE)


class PartOfFile(io.RawIOBase):
    """The bytes of a part."""

    def __init__(self, file: FileIO, part: Part) -> None:
        self._file, self._left = file, part.end and part.end - part.start
        self._read = 0
        file.seek(part.start)

    def readable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The bytes read so far."""
        return self._read

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill the buffer as far as the part goes; 0 at its end."""
        view = memoryview(buffer)
        if self._left is not None:
            view = view[: self._left - self._read]
        count = self._file.readinto(view) or 0
        self._read += count
        return count


_BUFFER = 1 << 18


_NO_LIMIT = 1 << 62


@contextmanager
def opened(path: str, unpacked_limit: int = _NO_LIMIT) -> Iterator[BufferedReader]:
    """The bytes of a file, or of standard input for ``-``, unpacked if compressed, in an encoding that has ASCII in it.

    Raises `PathError` if there are none such, on opening or, as with a damaged archive, while reading.
    """
    try:
        if path == "-":
            with _followed(standard_input()) as stream:
                yield _readable(stream, path, unpacked_limit)
            return
        if stat.S_ISDIR(must_exist(path).st_mode):
            raise UsageError(f"{path} is a directory, not a file of documents", hint="for a directory per class use --format dir")
        with Path(path).open("rb", buffering=_BUFFER) as file, _followed(cast("BufferedReader", file)) as stream:
            yield _readable(stream, path, unpacked_limit)
    except OSError as problem:
        raise PathError(f"cannot read: {reason(problem)}", where=path) from None
    except PathError as problem:
        problem.where = problem.where or path
        raise


@contextmanager
def opened_part(path: str, part: Part) -> Iterator[BufferedReader]:
    """Open a part of a file as `opened` does the whole."""
    try:
        with Path(path).open("rb", buffering=0) as file, _followed(_PartStream(file, part)) as stream:
            yield stream
    except OSError as problem:
        raise PathError(f"cannot read: {reason(problem)}", where=path) from None


class _PartStream(io.BufferedReader):
    """A part of a file of lines, which knows the number of its first line."""

    def __init__(self, file: FileIO, part: Part) -> None:
        super().__init__(PartOfFile(file, part), _BUFFER)
        self.lines_before = part.lines_before


@contextmanager
def _followed(stream: BufferedReader) -> Iterator[BufferedReader]:
    """The stream, with `bytes_read` knowing of it."""
    _positions.append(stream)
    try:
        yield stream
    finally:
        _positions.remove(stream)
        _bytes_of_closed.append(_position(stream))


_positions: list[BufferedReader] = []


_bytes_of_closed: list[int] = []


def bytes_read() -> int:
    """How far all files of documents have been read until now, those in front of it included, as they lie on the disk."""
    return sum(_bytes_of_closed) + sum(map(_position, _positions))


def _position(stream: BufferedReader) -> int:
    try:
        return stream.raw.tell()
    except (OSError, ValueError):  # a pipe has no position
        return 0


def lines(stream: BufferedReader, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Each line with its number, without its end (LF or CRLF); None in place of one of more bytes than the limit.

    Numbers are those in the file, from 1, also where the stream is a part of it.
    """
    number = stream.lines_before if isinstance(stream, _PartStream) else 0
    while line := stream.readline(limit + 3):
        number += 1
        if len(line) == limit + 3 and line[-1:] != b"\n":
            while (rest := stream.readline(_BUFFER)) and not rest.endswith(b"\n"):
                pass
            yield number, None
            continue
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        yield number, text if len(text) <= limit else None


def standard_input() -> BufferedReader:
    """The bytes of standard input; raises `PathError` if it is closed."""
    if sys.stdin is None:
        raise PathError("cannot read: it is closed", where="standard input")
    return cast("BufferedReader", sys.stdin.buffer)


def _readable(stream: BufferedReader, path: str, unpacked_limit: int) -> BufferedReader:
    kind = compression(path, stream.peek(LONGEST_BEGINNING)[:LONGEST_BEGINNING])
    if kind is not None:
        stream = io.BufferedReader(Unpacked(stream, kind, unpacked_limit), _BUFFER)
    if is_wide(stream.peek(4)[:4]):
        raise PathError("a table or lines in UTF-16 or UTF-32", where=path, hint="make it UTF-8 first, as with iconv -t UTF-8")
    return stream
