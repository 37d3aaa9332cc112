"""Format ``svmlight``: documents that are counted already, ``label name:count name:count # comment``, one a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbtext.corpus.document import RawDocument, to_utf8
from nbtext.corpus.lines import each_line
from nbtext.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.corpus.source import Source

MOST = 10**9
"""A count beyond this is no count of words in a document."""

_ITEM = re.compile(rb"\S+")
_COUNTED = re.compile(rb"[^\s:][^\s]*:0*[1-9][0-9]{0,8}")


def documents(path: str, source: Source) -> Iterator[RawDocument]:
    """One document for each line that is not empty and not only a comment, named ``path:line``; its text is ``name:count name:count``.

    A name is what stands before the last colon. Without labels wanted, a first item that is no count is taken for a label and left out.
    """
    encoding = source.reading["encoding"]

    def document(name: str, line: bytes) -> RawDocument | None:
        features = line.partition(b"#")[0].strip()
        return _document(name, features, source.labelled, encoding) if features else None

    return each_line(path, source, document)


def _document(name: str, features: bytes, labelled: bool, encoding: str) -> RawDocument:  # noqa: FBT001 - in one place
    label = None
    first, *rest = features.split(None, 1)
    if not _COUNTED.fullmatch(first):
        label, features = to_utf8(first, encoding)[0].decode(), b"".join(rest)
    _check(features)
    if labelled and label is None:
        raise DocumentError("no label: the line begins with a count")
    return RawDocument(name, label if labelled else None, features)


def _check(features: bytes) -> None:
    for item in _ITEM.finditer(features):  # a list of them would take ten times the memory of a long line
        if not _COUNTED.fullmatch(item[0]):
            shown = item[0][:40].decode("utf-8", "replace")
            raise DocumentError(f"{shown!r} is not name:count with a whole count from 1 to {MOST - 1:,}")
