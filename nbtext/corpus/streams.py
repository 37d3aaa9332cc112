"""Opening a file of many documents, or standard input, as a stream of bytes, and its lines."""

from __future__ import annotations

import io
import stat
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from nbtext.corpus.compression import LONGEST_BEGINNING, Unpacked, compression
from nbtext.corpus.decoding import is_wide
from nbtext.corpus.files import must_exist
from nbtext.corpus.parts import PartOfFile
from nbtext.errors import PathError, UsageError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

    from nbtext.corpus.document import Notices
    from nbtext.corpus.parts import Part

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
def opened_part(path: str, part: Part, notices: Notices) -> Iterator[BufferedReader]:
    """The bytes of a part of a file, as `opened` has those of the whole; the notices are told how many lines end in it."""
    try:
        with Path(path).open("rb", buffering=0) as file:
            of_part = PartOfFile(file, part)
            try:
                with _followed(_LaterPart(of_part, _BUFFER) if part.start else io.BufferedReader(of_part, _BUFFER)) as stream:
                    yield stream
            finally:
                notices.line_ends += of_part.line_ends
    except OSError as problem:
        raise PathError(f"cannot read: {reason(problem)}", where=path) from None


class _LaterPart(io.BufferedReader):
    """A part that does not hold the first line of its file, so that no line of it has the number 1."""


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

    Numbers are from 1, those of a part behind the file's first line from 2: only the first line of a file has the number 1.
    """
    number = 1 if isinstance(stream, _LaterPart) else 0
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
