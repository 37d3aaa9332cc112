"""Formats of one document a line: ``lines`` without labels, ``fasttext`` and ``svmlight``."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from nbtext.corpus.decoding import decoded_name
from nbtext.corpus.document import RawDocument, problem_of, too_large
from nbtext.corpus.streams import numbered_lines, open_source
from nbtext.errors import DocumentError
from nbtext.settings import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbtext.corpus.document import Source

PREFIX = FORMATS["fasttext"].beginning

LARGEST_COUNT = 10**9
"""Counts of svmlight are below it."""

_ITEM = re.compile(rb"\S+")
_COUNTED = re.compile(rb"[^\s:][^\s]*:0*[1-9][0-9]{0,8}")


def each_line(path: str, source: Source, document: Callable[[str, bytes], RawDocument | None]) -> Iterator[RawDocument]:
    """Yield the document made of each line and its name ``path:line``, if any; report what making it raises as the document's problem.

    Lines end at LF alone.
    """
    limit = source.limit
    with open_source(path, source) as stream:
        for number, line in numbered_lines(stream, limit):
            name = f"{path}:{number}"
            if line is None:
                yield RawDocument(name, None, b"", too_large(limit))
                continue
            try:
                found = document(name, line.removeprefix(BOM_UTF8) if number == 1 else line)
            except Exception as raised:  # noqa: BLE001 - one line never ends a run
                found = RawDocument(name, None, b"", problem_of(raised))
            if found is not None:
                yield found


def lines(path: str, source: Source) -> Iterator[RawDocument]:
    """Yield a document for each line, also for an empty one."""
    return each_line(path, source, lambda name, line: RawDocument(name, None, line))


def fasttext(path: str, source: Source) -> Iterator[RawDocument]:
    """Yield a document for each line of ``__label__x text``; labels are not part of the text.

    If labels are wanted, skip empty lines, and report lines with several labels.
    """
    encoding = source.reading.encoding

    def document(name: str, line: bytes) -> RawDocument | None:
        labels, text = split_labels(line)
        if not source.labelled:
            return RawDocument(name, None, text)
        if not labels and not text.strip():
            return None
        return RawDocument(name, _only([decoded_name(label, encoding) for label in labels]), text)

    return each_line(path, source, document)


def split_labels(line: bytes) -> tuple[list[bytes], bytes]:
    """Return the fastText labels of a line, and the rest of it.

    >>> split_labels(b"__label__spam win a prize")
    ([b'spam'], b'win a prize')
    """
    if PREFIX not in line:
        return [], line
    label, _, text = line.partition(b" ")
    if line.startswith(PREFIX) and PREFIX not in text and b"\t" not in label:  # nearly all lines
        return [label[len(PREFIX) :]], text
    tokens = line.split()
    labels = [token[len(PREFIX) :] for token in tokens if token.startswith(PREFIX)]
    return labels, b" ".join(token for token in tokens if not token.startswith(PREFIX))


def _only(labels: list[str]) -> str:
    if not labels:
        raise DocumentError("no label: the line does not begin with __label__")
    if len(labels) > 1:
        raise DocumentError(f"several labels ({', '.join(labels[:10])}); a document has one class")
    return labels[0]


def svmlight(path: str, source: Source) -> Iterator[RawDocument]:
    """Yield a document for each line of ``label name:count name:count # comment``; its text is ``name:count name:count``.

    Skip lines that are empty or only a comment. A name is the text before the last colon. If labels are not wanted, drop a first item that
    is no count.
    """
    encoding = source.reading.encoding

    def document(name: str, line: bytes) -> RawDocument | None:
        features = line.partition(b"#")[0].strip()
        if not features:
            return None
        label = None
        first, *rest = features.split(None, 1)
        if not _COUNTED.fullmatch(first):
            label, features = decoded_name(first, encoding), b"".join(rest)
        _check_counts(features)
        if source.labelled and label is None:
            raise DocumentError("no label: the line begins with a count")
        return RawDocument(name, label if source.labelled else None, features)

    return each_line(path, source, document)


def _check_counts(features: bytes) -> None:
    for item in _ITEM.finditer(features):  # a list of the items of a long line would take ten times its memory
        if not _COUNTED.fullmatch(item[0]):
            shown = item[0][:40].decode("utf-8", "replace")
            raise DocumentError(f"{shown!r} is not name:count with a whole count from 1 to {LARGEST_COUNT - 1:,}")
