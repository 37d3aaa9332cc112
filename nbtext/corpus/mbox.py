"""Format ``mbox``: many messages in one file, each after a line that begins with "From "; the class is the name of the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtext.corpus.document import RawDocument
from nbtext.corpus.source import label_of
from nbtext.corpus.streams import opened, too_large
from nbtext.errors import PathError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

    from nbtext.corpus.source import Source

SEPARATOR = b"From "

_PIECE = 1 << 16
_EMPTY = frozenset({b"\n", b"\r\n"})
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)


def documents(path: str, source: Source) -> Iterator[RawDocument]:
    """One document for each message, named ``path:number``, numbers from 1.

    Raises `PathError` for a file that does not begin as an mbox does; where classes are not wanted, it is taken for one message.
    """
    label = label_of(path, ".mbox", ".mbx") if source.labelled else None
    limit = source.limit
    with opened(path, source.unpacked_limit) as stream:
        if source.labelled and not stream.peek(len(SEPARATOR)).startswith(SEPARATOR) and stream.peek(1):
            raise PathError('not an mbox: it does not begin with "From "', where=path)
        for number, message in enumerate(messages(stream, limit), 1):
            problem = too_large(limit) if message is None else None
            yield RawDocument(f"{path}:{number}", label, message or b"", problem)


def messages(stream: BufferedReader, limit: int) -> Iterator[bytes | None]:
    """The messages, without the lines between them and with one ">" less before "From "; None for one of more bytes than the limit.

    A line separates only after an empty line, so that "From here on" inside a paragraph does not.
    """
    kept: list[bytes] = []
    size = 0
    begun, after_empty, at_start = False, True, True
    while line := stream.readline(_PIECE):
        if after_empty and line.startswith(SEPARATOR):
            if begun:
                yield _message(kept, size, limit)
            kept, size, begun = [], 0, True
        elif begun or line not in _EMPTY:
            begun = True
            size += len(line)
            if size <= limit + 2:  # an empty line at the end will go
                kept.append(line)
        after_empty = at_start and line in _EMPTY
        at_start = line.endswith(b"\n")
    if begun:
        yield _message(kept, size, limit)


def _message(lines: list[bytes], size: int, limit: int) -> bytes | None:
    if lines and lines[-1] in _EMPTY:
        size -= len(lines.pop())
    if size > limit:
        return None
    message = b"".join(lines)
    return _ESCAPED.sub(rb"\1", message) if b"\n>From " in message or b"\n>>" in message else message
