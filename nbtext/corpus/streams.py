"""Opening a file of many documents, or standard input, as a stream of bytes."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from nbtext.corpus.files import must_exist
from nbtext.errors import PathError, UsageError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, or of standard input for ``-``; raises `PathError` if they cannot be read."""
    if path == "-":
        yield sys.stdin.buffer
        return
    must_exist(path)
    if Path(path).is_dir():
        raise UsageError(f"{path} is a directory, not a table", hint="for a directory per class use --format dir")
    try:
        with Path(path).open("rb", buffering=1 << 18) as stream:
            yield stream
    except OSError as problem:
        raise PathError(f"cannot read: {reason(problem)}", where=path) from None
