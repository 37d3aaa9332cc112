"""Format ``lines``: one document a line, without labels; and what it shares with the other formats of a document a line.

Files of numbers by name: lines of a name, a tab and a number.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING

from nbtext.corpus.document import RawDocument, problem_of
from nbtext.corpus.streams import lines, too_large
from nbtext.errors import PathError, UsageError, reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbtext.corpus.source import Source


def documents(path: str, source: Source) -> Iterator[RawDocument]:
    """One document for each line, named ``path:line``; an empty line is an empty document. Raises `UsageError` where classes are wanted."""
    if source.labelled:
        raise UsageError("--format lines has no classes", hint="use dir, csv or tsv")
    return each_line(path, source, lambda name, line: RawDocument(name, None, line))


def each_line(path: str, source: Source, document: Callable[[str, bytes], RawDocument | None]) -> Iterator[RawDocument]:
    """What ``document`` makes of the name ``path:line`` and of each line, ended by LF alone; what it raises becomes the line's problem."""
    limit = source.limit
    with source.opened(path) as stream:
        for number, line in lines(stream, limit):
            name = f"{path}:{number}"
            if line is None:
                yield RawDocument(name, None, b"", too_large(limit))
                continue
            try:
                made = document(name, line.removeprefix(codecs.BOM_UTF8) if number == 1 else line)
            except Exception as raised:  # noqa: BLE001 - one line never ends a run
                made = RawDocument(name, None, b"", problem_of(raised))
            if made is not None:
                yield made


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
