"""Files of numbers by name: lines of a name, a tab and a number."""

from __future__ import annotations

from pathlib import Path

from nbtext.errors import PathError, reason

LARGEST = 1e12
"""As for the parameters of training that such a file stands for."""


def read_named_numbers(path: str, what: str) -> dict[str, float] | None:
    """The numbers by name, in the order of the lines; None if there is no such file. ``what`` a name is of is for messages.

    Raises `PathError` for a file that cannot be read, for a line that has no name or no number from 0, and for a name with two numbers.
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
        if not tab or not 0 <= number <= LARGEST:
            raise PathError(f"line {place} is not {what}, a tab and a number from 0", where=path)
        if numbers.setdefault(name, number) != number:
            raise PathError(f"line {place} gives {name!r} another number than a line before", where=path)
    return numbers
