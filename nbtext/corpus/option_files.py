"""Files that options name: lists of paths, and numbers by name."""

from __future__ import annotations

import os
from pathlib import Path

from nbtext.corpus.streams import open_stream
from nbtext.errors import PathError, reason

LARGEST_NUMBER = 1e12
"""The largest value of the training parameters that such a file can replace."""


def listed_paths(path: str, *, null: bool) -> list[str]:
    """Return the paths in a file, or on standard input for ``-``: one a line, or with ``null`` separated by NUL.

    A path that is only ``-`` is a file of that name. Raise `PathError` if the list cannot be read.
    """
    with open_stream(path) as stream:
        content = stream.read()
    names = content.split(b"\0" if null else b"\n")
    return ["./-" if name == b"-" else os.fsdecode(name) for name in names if name]


def read_named_numbers(path: str, what: str) -> dict[str, float] | None:
    """Return the numbers of a file by name, in order of its lines of a name, a tab and a number; None if there is no such file.

    ``what`` describes a name in messages. Raise `PathError` for a file that cannot be read, for a line without a name or a number from 0, and
    for a name with two numbers.
    """
    try:
        lines = Path(path).read_bytes().decode("utf-8-sig").removesuffix("\n").split("\n") if path else None
    except FileNotFoundError:
        lines = None
    except (OSError, UnicodeDecodeError, ValueError) as problem:
        raise PathError(f"cannot read: {reason(problem) if isinstance(problem, OSError) else 'not UTF-8'}", where=path) from None
    if lines is None:
        return None
    numbers: dict[str, float] = {}
    for place, line in enumerate(lines, 1):
        name, tab, written = line.rpartition("\t")
        try:
            number = float(written)
        except ValueError:
            number = -1.0
        if not tab or not 0 <= number <= LARGEST_NUMBER:
            raise PathError(f"line {place} is not {what}, a tab and a number from 0", where=path)
        if numbers.setdefault(name, number) != number:
            raise PathError(f"line {place} gives {name!r} another number than a line before", where=path)
    return numbers
