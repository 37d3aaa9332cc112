"""Format ``lines``: one document a line, without labels; and what it shares with the other formats of a document a line."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from nbtext.corpus.document import RawDocument, problem_of
from nbtext.corpus.files import too_large
from nbtext.corpus.streams import lines
from nbtext.errors import UsageError

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
    limit, shown = source.limit, source.shown(path)
    with source.opened(path) as stream:
        for number, line in lines(stream, limit):
            name = f"{shown}:{number}"
            if line is None:
                yield RawDocument(name, None, b"", too_large(limit))
                continue
            try:
                made = document(name, line.removeprefix(codecs.BOM_UTF8) if number == 1 else line)
            except Exception as raised:  # noqa: BLE001 - one line never ends a run
                made = RawDocument(name, None, b"", problem_of(raised))
            if made is not None:
                yield made
