"""Look at a corpus before training: what it is read as, its classes, lengths and encodings, and what is unusual in it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nbtext.corpus.columns import columns_in_words, cut_short
from nbtext.corpus.document import Notices, size_of
from nbtext.corpus.reading import read_corpus, resolved
from nbtext.errors import listed, quantity
from nbtext.inspection.health import PASSED, WARNING, Finding
from nbtext.label_sets import labels_in
from nbtext.model.description import is_class_each
from nbtext.settings import FORMATS, Reading

NAMED, LONGEST = 10, 50
"""Classes and documents that are named, the others are counted; characters of a class that are shown."""


class _Unreadable(NamedTuple):
    """The name of a document, and why it could not be read."""

    id: str
    error: str


@dataclass(frozen=True)
class CorpusOverview:
    """A corpus as a command would read it."""

    format: str
    kind: str
    """``text``, ``html`` or ``mail``."""
    columns: str | None
    """The columns of a table that are read."""
    class_sizes: dict[str, int]
    """Documents of each class, or with each label, that could be read, the largest class first; empty for a format without classes."""
    documents: int
    """Documents that could be read."""
    empty: int
    """Those without a byte of text."""
    median_bytes: int
    """Bytes of text, in UTF-8."""
    most_bytes: int
    unreadable: int
    first_unreadable: tuple[_Unreadable, ...]
    not_utf8: int
    """Documents that were not valid UTF-8 and were read as Windows-1252."""


def look_at_corpus(paths: Sequence[str], reading: Reading) -> CorpusOverview:
    """Read a corpus; raise `PathError` or `UsageError` if training could not read it."""
    reading = resolved(reading, paths, labelled=True)
    layout = FORMATS[reading.format]
    notices = Notices()
    classes, sizes = Counter[str](), array("q")
    unreadable = 0
    named: list[_Unreadable] = []
    for document in read_corpus(paths, reading, notices, labelled=True):
        if document.problem is not None:
            unreadable += 1
            named += [_Unreadable(document.id, document.problem.message)][: NAMED - len(named)]
            continue
        sizes.append(size_of(document))
        if document.label is not None:
            classes.update(labels_in(document.label))
    lengths = np.array(sizes)
    return CorpusOverview(
        format=reading.format,
        kind=reading.document,
        columns=columns_in_words(reading) if layout.columns and not layout.decoded else None,
        class_sizes=dict(sorted(classes.items(), key=lambda item: (-item[1], item[0]))),
        documents=lengths.size,
        empty=int((lengths == 0).sum()),
        median_bytes=int(np.median(lengths)) if lengths.size else 0,
        most_bytes=int(lengths.max(initial=0)),
        unreadable=unreadable,
        first_unreadable=tuple(named),
        not_utf8=notices.transcoded,
    )


def corpus_findings(corpus: CorpusOverview) -> Iterator[Finding]:
    """Yield a finding for each property of a corpus, with what to do if it is unusual."""
    yield Finding("format", PASSED, f"{corpus.format}, each document {corpus.kind}")
    if corpus.columns is not None:
        yield Finding("columns", PASSED, corpus.columns)
    lengths = f"{quantity(corpus.documents, 'document')}, bytes of text: median {corpus.median_bytes:,}, most {corpus.most_bytes:,}"
    yield Finding("documents", PASSED if corpus.documents else WARNING, lengths)
    if corpus.empty:
        yield Finding("documents", WARNING, f"without text: {quantity(corpus.empty, 'document')}", "see --text-column and --document")
    if corpus.unreadable:
        identity, why = corpus.first_unreadable[0]
        yield Finding(
            "documents", WARNING, f"could not be read: {quantity(corpus.unreadable, 'document')}; first {identity}: {why}", "see --on-error"
        )
    yield from _classes(corpus)
    if not corpus.not_utf8:
        yield Finding("encoding", PASSED, "all valid in their encoding")
    else:
        detail = f"not valid UTF-8 and read as Windows-1252: {quantity(corpus.not_utf8, 'document')}"
        yield Finding("encoding", WARNING, detail, "look at such a document; if letters are wrong, see --encoding")


def _classes(corpus: CorpusOverview) -> Iterator[Finding]:
    sizes = corpus.class_sizes
    if not sizes:
        return
    detail = f"{quantity(len(sizes), 'class')}: {listed([f'{cut_short(label, LONGEST)} {size:,}' for label, size in sizes.items()], NAMED)}"
    if (n_labels := sum(sizes.values())) != corpus.documents:
        mean = f"{n_labels / corpus.documents:.2f}"
        detail += f"; {mean} labels a document"
    if is_class_each(len(sizes), corpus.documents):
        yield Finding("classes", WARNING, f"{detail}; nearly every document is a class of its own", "see --label-column and --text-column")
    elif len(sizes) == 1:
        yield Finding("classes", WARNING, detail, "a classifier needs two classes")
    else:
        yield Finding("classes", PASSED, detail)
