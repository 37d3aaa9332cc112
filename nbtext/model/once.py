"""Learning each document once: by their fingerprints in a ledger, a document learnt before is left out, or moved if its label is another now."""

from __future__ import annotations

from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts, NeverLearntError, Recounted, documents_under, taken_away, without
from nbtext.counts.documents import DocumentSample
from nbtext.store.ledger import ABSENT, FINGERPRINT, Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.model.text_classifier import TextClassifier

    Rows = NDArray[np.int64]


class Batch(NamedTuple):
    """Documents as counts, with their fingerprints; numbered as in the statistics, which are theirs."""

    statistics: ClassStatistics
    documents: CountedDocuments
    fingerprints: NDArray[Any]

    @classmethod
    def of(cls, counted: tuple[ClassStatistics, CountedDocuments], fingerprints: Sequence[bytes]) -> Batch:
        """What `nbtext.counts.counting.count_documents` gives, and the fingerprint of each document."""
        return cls(*counted, np.frombuffer(b"".join(fingerprints), FINGERPRINT))

    def labels(self, rows: Rows) -> list[str]:
        """The labels of some documents."""
        return [self.statistics.classes[number] for number in self.documents.classes[rows].tolist()]

    def under(self, rows: Rows, labels: Sequence[str]) -> Recounted:
        """Some documents, each under the label given for it, and their statistics."""
        return documents_under(self.statistics, self.documents.rows(rows), labels)

    def last_of_each(self) -> Rows:
        """The rows of different documents, ascending, each where it stands last: the later label holds."""
        _, from_the_end = np.unique(self.fingerprints[::-1], return_index=True)
        return np.sort(len(self.documents) - 1 - from_the_end)

    def known_alike(self, ledger: Ledger) -> NDArray[np.bool_]:
        """Which documents a ledger knows under the same label, shape (n_docs,)."""
        number = {label: place for place, label in enumerate(ledger.labels)}
        numbers = np.array([number.get(label, ABSENT) for label in self.statistics.classes], np.int64)[self.documents.classes]
        found = ledger.find(self.fingerprints)
        known: NDArray[np.bool_] = (found == numbers) & (found != ABSENT)
        return known


def trained_once(model: TextClassifier, batch: Batch) -> Ledger:
    """Train a model on the different documents of a batch, each under the label with which it stands last; the ledger of them."""
    rows = batch.last_of_each()
    labels = batch.labels(rows)
    model.fit_counted(*batch.under(rows, labels))
    return Ledger.empty().changed(batch.fingerprints[rows], labels)


class Learnt(NamedTuple):
    """What came of a batch."""

    counts: CorpusCounts
    ledger: Ledger
    new: int
    moved: int
    """Documents that had been learnt under another label."""
    known: int
    """Documents that had been learnt under the same label."""
    repeated: int
    """Documents that stand in the batch again further on."""


def learnt_once(counts: CorpusCounts, ledger: Ledger, batch: Batch) -> Learnt:
    """The counts with the documents of a batch that the ledger does not know, and with those moved that it knows under another label.

    Raises `NeverLearntError` for a document to be moved that the counts do not hold, whatever the ledger says.
    """
    rows = batch.last_of_each()
    before = ledger.find(batch.fingerprints[rows])
    known = batch.known_alike(ledger)[rows]
    moved, new = (before != ABSENT) & ~known, before == ABSENT
    changed = rows[moved | new]
    if moved.any():
        with _rows_of_batch(rows[moved]):
            counts = taken_away(counts, *batch.under(rows[moved], [ledger.labels[number] for number in before[moved].tolist()]))
    if changed.size:
        added = batch.under(changed, batch.labels(changed))
        counts = counts + CorpusCounts(added.statistics, DocumentSample.of(added.documents, counts.sample.size))
    ledger = ledger.changed(batch.fingerprints[changed], batch.labels(changed))
    return Learnt(counts, ledger, int(new.sum()), int(moved.sum()), int(known.sum()), len(batch.documents) - rows.size)


class Joined(NamedTuple):
    """The ledger of models that were added up."""

    ledger: Ledger
    repeated: int
    """Documents that more than one of the models had learnt, so that they count more than once."""


def joined(ledgers: Sequence[Ledger]) -> Joined:
    """The documents of some ledgers, at least one, each once; the last that holds a document has its label."""
    _, times = np.unique(np.concatenate([ledger.fingerprints for ledger in ledgers]), return_counts=True)
    return Joined(reduce(Ledger.joined, ledgers), int(np.count_nonzero(times > 1)))


class Forgotten(NamedTuple):
    """What came of a batch that was to be forgotten."""

    counts: CorpusCounts
    ledger: Ledger
    forgotten: int
    unknown: int
    """Documents that the ledger does not know, or does not know any more."""


def forgotten_once(counts: CorpusCounts, ledger: Ledger, batch: Batch) -> Forgotten:
    """The counts without the documents of a batch that the ledger knows; others are left out, and repeated ones count once.

    Raises `NeverLearntError` for a document that the ledger knows under another label, and `UsageError` if nothing would be left.
    """
    rows = batch.last_of_each()
    before = ledger.find(batch.fingerprints[rows])
    rows, numbers = rows[before != ABSENT], before[before != ABSENT]
    for place in np.flatnonzero(~batch.known_alike(ledger)[rows]).tolist():
        problem = NeverLearntError(int(rows[place]), batch.labels(rows[place : place + 1])[0])
        problem.hint = f"it was learnt as {ledger.labels[numbers[place]]!r}; {problem.hint}"
        raise problem
    if rows.size:
        with _rows_of_batch(rows):
            counts = without(counts, *batch.under(rows, batch.labels(rows)))
    return Forgotten(counts, ledger.changed(batch.fingerprints[rows], [None] * rows.size), rows.size, before.size - rows.size)


@contextmanager
def _rows_of_batch(rows: Rows) -> Iterator[None]:
    """What is said of a document among some rows, said of its number in the batch."""
    try:
        yield
    except NeverLearntError as problem:
        raise NeverLearntError(int(rows[problem.number]), problem.label) from None


def forgotten(ledger: Ledger, batch: Batch) -> Ledger:
    """The ledger without the documents of a batch that it knows under the same label."""
    known = np.unique(batch.fingerprints[batch.known_alike(ledger)])
    return ledger.changed(known, [None] * known.size)
