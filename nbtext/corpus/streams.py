"""Opening a file of many documents, or standard input, as a stream of bytes."""

from __future__ import annotations

import stat
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from nbtext.corpus.decoding import is_wide
from nbtext.corpus.files import must_exist
from nbtext.errors import PathError, UsageError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader


@contextmanager
def opened(path: str) -> Iterator[BufferedReader]:
    """The bytes of a file, or of standard input for ``-``, in an encoding that has ASCII in it; raises `PathError` if there are none such."""
    try:
        if path == "-":
            yield _narrow(standard_input(), path)
            return
        if stat.S_ISDIR(must_exist(path).st_mode):
            raise UsageError(f"{path} is a directory, not a file of documents", hint="for a directory per class use --format dir")
        with Path(path).open("rb", buffering=1 << 18) as stream:
            yield _narrow(cast("BufferedReader", stream), path)
    except OSError as problem:
        raise PathError(f"cannot read: {reason(problem)}", where=path) from None


def standard_input() -> BufferedReader:
    """The bytes of standard input; raises `PathError` if it is closed."""
    if sys.stdin is None:
        raise PathError("cannot read: it is closed", where="standard input")
    return cast("BufferedReader", sys.stdin.buffer)


def _narrow(stream: BufferedReader, path: str) -> BufferedReader:
    if is_wide(stream.peek(4)[:4]):
        raise PathError("a table or lines in UTF-16 or UTF-32", where=path, hint="make it UTF-8 first, as with iconv -t UTF-8")
    return stream
