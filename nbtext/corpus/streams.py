"""Files of many documents, and standard input, as streams of bytes and of lines; also the files that options name.

Compressed files (gzip, xz, bzip2, zstd) are unpacked while they are read, and never further than a limit.
"""

from __future__ import annotations

import io
import os
import re
import stat
import sys
import zlib
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from nbtext.corpus.decoding import WIDE_ENCODING_PROBE_BYTES, is_wide_encoding
from nbtext.corpus.document import (
    WHOLE_FILE,
    ByteRange,
    ReaderOptions,
    create_size_error,
    format_byte_size,
)
from nbtext.errors import DocumentError, PathError, UsageError, describe_os_error
from nbtext.settings import read_within_limit

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from io import BufferedReader

    from _typeshed import WriteableBuffer

_SUFFIXES = {".gz": "gzip", ".xz": "xz", ".bz2": "bzip2", ".zst": "zstd"}

_BEGINNING = re.compile(
    rb"(?P<gzip>\x1f\x8b\x08)|(?P<xz>\xfd7zXZ\0)|(?P<zstd>\x28\xb5\x2f\xfd)"
    rb"|(?P<bzip2>BZh[1-9](1AY&SY|\x17rE8P\x90))"  # the latter: empty
)

COMPRESSION_PROBE_BYTES = 10
"""Bytes of a file that `detect_compression` looks at."""

_MOST_MEMORY = 256 << 20
"""Bytes for unpacking xz; its strongest preset needs 65 MiB."""

_PIECE = 1 << 16

BUFFER_BYTES = 1 << 18
"""Bytes that are read at once."""

_NO_LIMIT = 1 << 62


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


def _unpacker(kind: str) -> Any:  # noqa: ANN401 - all have the interface of `_Gzip`
    if kind == "gzip":
        return _Gzip()
    if kind == "zstd":
        from importlib import import_module

        for module in ("compression.zstd", "backports.zstd"):
            with suppress(ImportError):
                return import_module(module).ZstdDecompressor()
        raise PathError(
            "this Python cannot unpack zstd",
            hint="pip install backports.zstd, or unpack it first with unzstd",
        )
    import bz2
    import lzma

    return (
        bz2.BZ2Decompressor()
        if kind == "bzip2"
        else lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_MEMORY)
    )


def detect_compression(path: str, start: bytes) -> str | None:
    """Return how a file is compressed, by its first bytes, else by its name; None if it is not compressed, or is empty."""
    if found := _BEGINNING.match(start):
        return found.lastgroup
    return _SUFFIXES.get(path[path.rfind(".") :].lower()) if start else None


def strip_compression_suffix(name: str) -> str:
    """Return a file's name without the suffix of its compression."""
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() in _SUFFIXES else name


class _Pieces(io.RawIOBase):
    """The bytes that a generator yields in pieces, none of them empty."""

    def __init__(self, pieces: Generator[bytes]) -> None:
        self._pieces = pieces
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)
        self._piece = self._piece or memoryview(next(self._pieces, b""))
        piece, self._piece = (
            self._piece[: len(view)],
            self._piece[len(view) :],
        )  # cutting a view copies nothing
        view[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._pieces.close()
        super().close()


def create_stream(pieces: Generator[bytes]) -> BufferedReader:
    """Return the bytes that a generator yields in pieces as a stream."""
    return cast("BufferedReader", io.BufferedReader(_Pieces(pieces), BUFFER_BYTES))


def unpack(packed: IO[bytes], kind: str, limit: int) -> Generator[bytes]:
    """Yield the content of a compressed file; raise `PathError` where it is damaged, cut short, or unpacks to more than the limit.

    Streams that follow one another are read as one, as the tools that write such files do; zeros after the last are padding.
    """
    unpacker = _unpacker(kind)
    size = 0
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
            piece = unpacker.decompress(content, BUFFER_BYTES)
        except MemoryError:
            raise
        except Exception as problem:  # noqa: BLE001 - each unpacker has errors of its own
            raise PathError(f"the {kind} file is damaged ({str(problem).lower()})") from None
        size += len(piece)
        if size > limit:
            raise PathError(
                f"unpacks to more than {format_byte_size(limit)}",
                hint="give --set max-unpacked-size=SIZE",
            )
        if piece:
            yield piece


def unpack_document(path: str, content: bytes, limit: int) -> bytes:
    """Return the content of a file that is one document, unpacked if it is compressed.

    Raise `DocumentError` for more than ``limit`` bytes, and where `unpacked` raises `PathError`.
    """
    kind = detect_compression(path, content)
    if kind is not None and len(content) <= limit:
        try:
            content = create_stream(unpack(io.BytesIO(content), kind, _NO_LIMIT)).read(limit + 1)
        except PathError as problem:
            raise DocumentError(problem.message, hint=problem.hint) from None
    if len(content) > limit:
        raise create_size_error(limit)
    return content


LINE_BLOCK_BYTES = 1 << 21
"""Bytes of lines that are looked at as a whole."""

DETECTION_BYTES = 1 << 16
"""Bytes of a file by which its format and its columns are recognised."""

MAX_FIRST_LINE_BYTES = 1 << 22
"""Bytes of a first line that `beginning` waits for at most."""


def stat_path(path: str) -> os.stat_result:
    """Return the status of a path given by the user; raise `PathError` if there is none."""
    try:
        return os.stat(path)
    except (OSError, ValueError) as problem:
        text = describe_os_error(problem) if isinstance(problem, OSError) else str(problem)
        raise PathError(f"cannot read: {text}", where=path) from None


def prepend_bytes(
    start: bytes, rest: BufferedReader, *, closes_rest: bool = False
) -> BufferedReader:
    """Return a stream of what has been read of another one and of its rest. Closing it ``closes`` the other."""

    def pieces() -> Generator[bytes]:
        try:
            if start:
                yield start
            while piece := rest.read1(BUFFER_BYTES):  # as much as is there
                yield piece
        finally:
            if closes_rest:
                rest.close()

    return create_stream(pieces())


_begun: dict[str, tuple[bytes, BufferedReader]] = {}
"""The beginnings that were read of streams that can be read only once, and these streams with them, by path."""


@contextmanager
def open_stored(path: str) -> Iterator[BufferedReader]:
    """Open a file, or standard input for ``-``, from its beginning if that has been read."""
    if path == "-":
        yield get_standard_input()
        return
    with (
        _begun.pop(path)[1]
        if path in _begun
        else open(path, "rb", buffering=BUFFER_BYTES) as stream
    ):
        yield cast("BufferedReader", stream)


def set_standard_input(content: bytes) -> None:
    """Have the next reading of standard input read this in its place."""
    _begun["-"] = (content, create_stream(each for each in (content,)))


def is_bound_to_process(path: str) -> bool:
    """Return whether a path is standard input, or a pipe of which this process has read the beginning."""
    return path == "-" or path in _begun


def peek_start(path: str, size: int = DETECTION_BYTES, *, pipe_bytes: int = 0) -> bytes:
    """Return the first ``size`` bytes of a file of documents, unpacked; none if it cannot be read.

    Of a pipe, wait for ``of_pipe`` bytes or one line, as stored, and replay them when it is opened.
    """
    found = b""
    try:
        if path == "-" or not stat.S_ISREG(stat_path(path).st_mode):
            if path not in _begun:
                if path == "-":
                    stream = get_standard_input()
                else:
                    file = open(path, "rb", buffering=BUFFER_BYTES)  # noqa: SIM115 - stays open
                    stream = cast("BufferedReader", file)
                start = stream.read(pipe_bytes) if pipe_bytes else stream.readline(size)
                if detect_compression(path, start) is None:
                    start += (
                        b""
                        if len(start) < size or b"\n" in start
                        else stream.readline(MAX_FIRST_LINE_BYTES)
                    )
                elif not pipe_bytes:
                    start += stream.read(size)
                _begun[path] = (start, prepend_bytes(start, stream, closes_rest=path != "-"))
            begun = create_stream(each for each in _begun[path][:1])
        else:
            begun = open(path, "rb")  # noqa: SIM115 - closed below
        with begun as stored:
            stream = unpack_stream(stored, path, _NO_LIMIT)
            while len(found) < size and (piece := stream.read1(size - len(found))):
                found += piece
    except (OSError, PathError):
        pass  # reading the file reports the reason
    return found


def get_standard_input() -> BufferedReader:
    """Return the bytes of standard input; raise `PathError` if it is closed."""
    if "-" in _begun:
        return _begun.pop("-")[1]
    if sys.stdin is None:
        raise PathError("cannot read: it is closed", where="standard input")
    return cast("BufferedReader", sys.stdin.buffer)


@contextmanager
def open_stream(path: str, source: ReaderOptions | None = None) -> Iterator[BufferedReader]:
    """Open a file, or standard input for ``-``, unpacked if it is compressed; or only the part of a file that the source has, as it stands.

    A thread unpacks a regular file, while the caller works on what came before, if the source takes blocks. Raise `PathError` if the file cannot be
    read or is in UTF-16 or UTF-32, on opening or, if a compressed file is damaged, while reading.
    """
    part, limit = (
        (WHOLE_FILE, _NO_LIMIT)
        if source is None
        else (source.byte_range, source.max_unpacked_bytes)
    )
    try:
        if not part.reads_from_start:
            with create_stream(_as_it_stands(path, part)) as stream:
                yield stream
            return
        mode = 0 if path == "-" else stat_path(path).st_mode
        if stat.S_ISDIR(mode):
            raise UsageError(
                f"{path} is a directory, not a file of documents",
                hint="for a directory per class use --format dir",
            )
        with open_stored(path) as file, _counted(file) as packed:
            ahead = source is not None and source.accepts_blocks and stat.S_ISREG(mode)
            stream = unpack_stream(packed, path, limit, use_thread=ahead)
            skipped = part.start
            while skipped > 0:
                skipped -= len(stream.read(min(skipped, BUFFER_BYTES))) or skipped
            try:
                yield stream
            finally:
                if stream is not packed:
                    stream.close()  # which ends the thread
    except OSError as problem:
        raise PathError(f"cannot read: {describe_os_error(problem)}", where=path) from None
    except PathError as problem:
        problem.where = problem.where or path
        raise


def unpack_stream(
    stream: BufferedReader, path: str, unpacked_limit: int, *, use_thread: bool = False
) -> BufferedReader:
    """Return a stream unpacked if it is compressed, with ``ahead`` by a thread; raise `PathError` if it is in UTF-16 or UTF-32."""
    kind = detect_compression(path, stream.peek(COMPRESSION_PROBE_BYTES))
    if kind is not None:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit

        pieces = unpack(stream, kind, unpacked_limit)
        may_start = (
            getrlimit(RLIMIT_AS)[0] == RLIM_INFINITY
        )  # with a limit of memory a thread could fail without a chance to say so
        stream = create_stream(_ahead(pieces) if use_thread and may_start else pieces)
    if is_wide_encoding(stream.peek(WIDE_ENCODING_PROBE_BYTES)):
        raise PathError(
            "a table or lines in UTF-16 or UTF-32",
            where=path,
            hint="make it UTF-8 first, as with iconv -t UTF-8",
        )
    return stream


def _ahead(pieces: Iterator[bytes]) -> Generator[bytes]:
    """Yield pieces while a thread makes the next one: unpacking releases the interpreter lock."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        upcoming = thread.submit(next, pieces, b"")
        while piece := upcoming.result():
            upcoming = thread.submit(next, pieces, b"")
            yield piece


_open_streams: list[BufferedReader] = []

_bytes_done = 0
"""Bytes that were read of parts, and of streams that are closed."""


def _as_it_stands(path: str, part: ByteRange) -> Generator[bytes]:
    """Yield the bytes of a part, and raise why there are no more; have `count_bytes_read` count them."""
    global _bytes_done  # noqa: PLW0603 - one number for the process
    if part.content is not None:
        _bytes_done += part.n_compressed_bytes
        if part.content:
            yield part.content
        if part.failure is not None:
            raise part.failure
        return
    with open(path, "rb", buffering=0) as file:
        place = file.seek(part.start)
        end = _NO_LIMIT if part.end is None else part.end
        while piece := file.read(min(end - place, BUFFER_BYTES)):
            place += len(piece)
            _bytes_done += len(piece)
            yield piece


@contextmanager
def _counted(stream: BufferedReader) -> Iterator[BufferedReader]:
    """Have `count_bytes_read` count this stream."""
    global _bytes_done  # noqa: PLW0603 - as above
    _open_streams.append(stream)
    try:
        yield stream
    finally:
        _open_streams.remove(stream)
        _bytes_done += _position(stream)


def count_bytes_read() -> int:
    """Return how many bytes of files of documents this process has read until now; compressed files count as they are on the disk."""
    return _bytes_done + sum(map(_position, _open_streams))


def _position(stream: BufferedReader) -> int:
    try:
        return stream.raw.tell()
    except (OSError, ValueError):  # a pipe has no position
        return 0


def enumerate_lines(
    stream: BufferedReader, limit: int, lines_before: int = 0
) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line with its number in the file, without its end (LF or CRLF); None in place of a line of more than ``limit`` bytes."""
    number = lines_before
    while line := stream.readline(limit + 3):
        number += 1
        if len(line) == limit + 3 and line[-1:] != b"\n":
            while (rest := stream.readline(BUFFER_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield number, None
            continue
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        yield number, text if len(text) <= limit else None


class _LineBlock(NamedTuple):
    """Consecutive lines of a file."""

    lines_before: int
    content: bytes | None
    """All of them, in bytes, the last perhaps without its end; None if they are to be read one by one, because one may be beyond the limit."""
    stream: BufferedReader
    """The same for `enumerate_lines`."""


def count_line_ends(content: bytes | bytearray, begin: int = 0, end: int | None = None) -> int:
    """Return the number of line ends (LF) between two places; `bytes.count` takes four times as long."""
    return int(np.count_nonzero(np.frombuffer(content, np.uint8)[begin:end] == ord("\n")))


def read_line_blocks(stream: BufferedReader, source: ReaderOptions) -> Generator[_LineBlock]:
    """Yield the lines of a stream, which is the part of a file that the source has, as one block, to be read one by one.

    Where the source allows, there are blocks of about `LINE_BLOCK_BYTES` bytes; the first line of a file, which may be a header, is a block of its own.
    What reading raises is raised after the whole lines before it.
    """
    limit = source.max_document_bytes
    lines_before = source.byte_range.lines_before
    if not source.can_yield_blocks:
        yield _LineBlock(lines_before, None, stream)
        return
    failure: Exception | None = None
    wanted = LINE_BLOCK_BYTES if lines_before else 0
    is_last = False
    while not is_last:
        pieces = [b""]
        size = 0
        try:
            while size < wanted and (piece := stream.read1(min(wanted - size, BUFFER_BYTES))):
                pieces.append(piece)
                size += len(piece)
            pieces.append(stream.readline(limit + 3))
            is_last = not pieces[-1]
        except (OSError, PathError) as raised:
            failure = raised
            is_last = True
        content = b"".join(pieces)
        if failure is not None:
            content = content[: content.rfind(b"\n") + 1]
        elif len(content) > limit:
            yield _LineBlock(lines_before, None, prepend_bytes(content, stream))
            return
        if content:
            again = cast("BufferedReader", io.BytesIO(content))
            yield _LineBlock(lines_before, content if len(content) <= limit else None, again)
        lines_before += count_line_ends(content)
        wanted = LINE_BLOCK_BYTES
    if failure is not None:
        raise failure


def read_list_file(path: str) -> bytes:
    """Return the content of a file of paths, unpacked if it is compressed."""
    with open_stream(path) as stream:
        return stream.read()


def read_path_list(path: str, *, is_null_separated: bool) -> list[str]:
    """Return the paths in a file, or on standard input for ``-``: one a line, or with ``null`` separated by NUL.

    A path that is only ``-`` is a file of that name. Raise `PathError` if the list cannot be read, or a path has a NUL.
    """
    content = read_list_file(path)
    if b"\0" in content and not is_null_separated:
        raise PathError("a path has no NUL", where=path, hint="if NUL ends each path, give --null")
    names = content.split(b"\0" if is_null_separated else b"\n")
    return ["./-" if name == b"-" else os.fsdecode(name) for name in names if name]


def read_option_file(path: str, *, is_settings_file: bool = False) -> bytes:
    """Return the content of a file that an option names; raise `PathError` if it cannot be read, or if it holds settings and is too large."""
    try:
        with open(path, "rb") as file:
            return read_within_limit(file, path) if is_settings_file else file.read()
    except OSError as problem:
        raise PathError(f"cannot read: {describe_os_error(problem)}", where=path) from None
