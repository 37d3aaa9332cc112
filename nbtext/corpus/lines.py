"""Format ``lines``: one document a line, without labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.corpus.document import RawDocument
from nbtext.corpus.files import too_large
from nbtext.corpus.streams import lines, opened
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.corpus.source import Source


def documents(path: str, source: Source) -> Iterator[RawDocument]:
    """One document for each line, named ``path:line``; an empty line is an empty document. Raises `UsageError` where classes are wanted."""
    if source.labelled:
        raise UsageError("--format lines has no classes", hint="use dir, csv or tsv")
    limit = source.limit
    with opened(path, source.unpacked_limit) as stream:
        for number, line in lines(stream, limit):
            yield RawDocument(f"{path}:{number}", None, line or b"", too_large(limit) if line is None else None)
