"""Files of many documents, and standard input, as streams of bytes and of lines."""

from __future__ import annotations

import io
import os
import stat
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from nbtext.corpus.compression import LONGEST_BEGINNING, Unpacked, compression
from nbtext.corpus.decoding import is_wide
from nbtext.errors import PathError, UsageError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from io import BufferedReader, FileIO

    from _typeshed import WriteableBuffer

    from nbtext.corpus.document import FilePart, Source

_BUFFER = 1 << 18

_NO_LIMIT = 1 << 62


def must_exist(path: str) -> os.stat_result:
    """Return the status of a path given by the user; raise `PathError` if there is none."""
    try:
        return os.stat(path)  # noqa: PTH116 - names may hold bytes that are no text
    except (OSError, ValueError) as problem:
        text = reason(problem) if isinstance(problem, OSError) else str(problem)
        raise PathError(f"cannot read: {text}", where=path) from None


def standard_input() -> BufferedReader:
    """Return the bytes of standard input; raise `PathError` if it is closed."""
    if sys.stdin is None:
        raise PathError("cannot read: it is closed", where="standard input")
    return cast("BufferedReader", sys.stdin.buffer)


def open_source(path: str, source: Source) -> AbstractContextManager[BufferedReader]:
    """Open a file of documents, or the part of it that is to be read."""
    return open_stream(path, source.unpacked_limit) if source.part is None else _open_part(path, source.part)


@contextmanager
def open_stream(path: str, unpacked_limit: int = _NO_LIMIT) -> Iterator[BufferedReader]:
    """Open a file, or standard input for ``-``, unpacked if it is compressed.

    Raise `PathError` if it cannot be read or is in UTF-16 or UTF-32, on opening or, if a compressed file is damaged, while reading.
    """
    try:
        if path == "-":
            with _counted(standard_input()) as stream:
                yield _readable(stream, path, unpacked_limit)
            return
        if stat.S_ISDIR(must_exist(path).st_mode):
            raise UsageError(f"{path} is a directory, not a file of documents", hint="for a directory per class use --format dir")
        with Path(path).open("rb", buffering=_BUFFER) as file, _counted(cast("BufferedReader", file)) as stream:
            yield _readable(stream, path, unpacked_limit)
    except OSError as problem:
        raise PathError(f"cannot read: {reason(problem)}", where=path) from None
    except PathError as problem:
        problem.where = problem.where or path
        raise


def _readable(stream: BufferedReader, path: str, unpacked_limit: int) -> BufferedReader:
    kind = compression(path, stream.peek(LONGEST_BEGINNING)[:LONGEST_BEGINNING])
    if kind is not None:
        stream = io.BufferedReader(Unpacked(stream, kind, unpacked_limit), _BUFFER)
    if is_wide(stream.peek(4)[:4]):
        raise PathError("a table or lines in UTF-16 or UTF-32", where=path, hint="make it UTF-8 first, as with iconv -t UTF-8")
    return stream


@contextmanager
def _open_part(path: str, part: FilePart) -> Iterator[BufferedReader]:
    try:
        with Path(path).open("rb", buffering=0) as file, _counted(_PartStream(file, part)) as stream:
            yield stream
    except OSError as problem:
        raise PathError(f"cannot read: {reason(problem)}", where=path) from None


class _PartStream(io.BufferedReader):
    """A part of a file of lines."""

    def __init__(self, file: FileIO, part: FilePart) -> None:
        super().__init__(_PartOfFile(file, part), _BUFFER)
        self.lines_before = part.lines_before


class _PartOfFile(io.RawIOBase):
    """The bytes of a part."""

    def __init__(self, file: FileIO, part: FilePart) -> None:
        self._file, self._size = file, part.end and part.end - part.start
        self._read = 0
        file.seek(part.start)

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._read

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        if self._size is not None:
            view = view[: self._size - self._read]
        count = self._file.readinto(view) or 0
        self._read += count
        return count


_open_streams: list[BufferedReader] = []

_bytes_of_closed_streams = 0


@contextmanager
def _counted(stream: BufferedReader) -> Iterator[BufferedReader]:
    """Have `bytes_read` count this stream."""
    global _bytes_of_closed_streams  # noqa: PLW0603 - one number for the process
    _open_streams.append(stream)
    try:
        yield stream
    finally:
        _open_streams.remove(stream)
        _bytes_of_closed_streams += _position(stream)


def bytes_read() -> int:
    """Return how many bytes of files of documents this process has read until now; compressed files count as they are on the disk."""
    return _bytes_of_closed_streams + sum(map(_position, _open_streams))


def _position(stream: BufferedReader) -> int:
    try:
        return stream.raw.tell()
    except (OSError, ValueError):  # a pipe has no position
        return 0


def numbered_lines(stream: BufferedReader, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line with its number, without its end (LF or CRLF); None in place of a line of more than ``limit`` bytes.

    Numbers are those in the file, from 1, also if the stream is a part of it.
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
