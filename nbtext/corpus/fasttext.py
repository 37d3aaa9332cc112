"""Format ``fasttext``: ``__label__x text``, one document a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.corpus.document import RawDocument, to_utf8
from nbtext.corpus.lines import each_line
from nbtext.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.corpus.source import Source

PREFIX = b"__label__"


def documents(path: str, source: Source) -> Iterator[RawDocument]:
    """One document for each line, named ``path:line``; labels are no part of the text.

    Without labels wanted an empty line is an empty document; with them it is passed over, and several labels on a line are a problem.
    """
    encoding = source.reading["encoding"]

    def document(name: str, line: bytes) -> RawDocument | None:
        labels, text = parted(line)
        if not source.labelled:
            return RawDocument(name, None, text)
        if not labels and not text.strip():
            return None
        return RawDocument(name, _only([to_utf8(label, encoding)[0].decode() for label in labels]), text)

    return each_line(path, source, document)


def parted(line: bytes) -> tuple[list[bytes], bytes]:
    """The labels of a line, and the rest of it.

    >>> parted(b"__label__spam win a prize")
    ([b'spam'], b'win a prize')
    """
    if PREFIX not in line:
        return [], line
    label, _, text = line.partition(b" ")
    if line.startswith(PREFIX) and PREFIX not in text and b"\t" not in label:  # as nearly all lines are
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
