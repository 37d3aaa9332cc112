"""Format ``lines``: one document a line, without labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.corpus.document import RawDocument
from nbtext.corpus.streams import opened

if TYPE_CHECKING:
    from collections.abc import Iterator


def documents(path: str) -> Iterator[RawDocument]:
    """One document for each line, named ``path:line``; an empty line is an empty document."""
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            yield RawDocument(f"{path}:{number}", None, line.removesuffix(b"\n").removesuffix(b"\r"))
