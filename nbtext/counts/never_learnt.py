"""Documents taken away from counts, and which of them cannot be because it was never counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.documents import MOST_TERMS, DocumentSample
from nbtext.counts.subsets import Subsets
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics


class NeverLearntError(UsageError):
    """A document is to be taken away that was never learnt; ``number`` says which of those given, from 0."""

    def __init__(self, number: int, label: str) -> None:
        super().__init__(f"document {number + 1} was never learnt as {label!r}", hint="nothing is forgotten")
        self.number, self.label = number, label

    def naming(self, name: str) -> NeverLearntError:
        """The same with the name of the document."""
        self.message, self.where = f"was never learnt as {self.label!r}", name
        return self


def without(counts: CorpusCounts, statistics: ClassStatistics, documents: CountedDocuments) -> CorpusCounts:
    """The counts less some documents, given with their statistics.

    Raises `NeverLearntError` if one was never counted, as far as the counts tell, and `UsageError` if nothing would be left.
    """
    rest = taken_away(counts, statistics, documents)
    if not rest.statistics.n_documents:
        raise UsageError("the model has learnt no other documents, so nothing would be left of it", hint="remove its file instead")
    return rest


def taken_away(counts: CorpusCounts, statistics: ClassStatistics, documents: CountedDocuments) -> CorpusCounts:
    """As `without`, but nothing may be left."""
    row = missing_from_sample(counts, statistics, documents)
    if row is None:
        gone = CorpusCounts(statistics, DocumentSample(documents, len(documents)))
        if counts.is_closed:
            gone = gone.over(counts.statistics.vocabulary)
        try:
            return counts - gone
        except UsageError:
            row = first_impossible(counts, gone.statistics, gone.sample.documents)
            if row is None:
                raise
    raise NeverLearntError(row, statistics.classes[documents.classes[row]])


def missing_from_sample(counts: CorpusCounts, statistics: ClassStatistics, documents: CountedDocuments) -> int | None:
    """The first of some documents that would be in the sample, by its hash, if it had been counted, and is not; None if there is none such.

    ``statistics`` are those of the documents. With a complete sample the answer is certain for all documents but very long ones.
    """
    sample = counts.sample
    expected = (documents.hashes < np.uint64(sample.bound)) & (documents.matrix.entries <= MOST_TERMS)
    held = Counter(zip(sample.documents.hashes.tolist(), sample.documents.classes.tolist(), strict=True))
    number = {label: place for place, label in enumerate(counts.statistics.classes)}
    for row in np.flatnonzero(expected).tolist():
        key = int(documents.hashes[row]), number.get(statistics.classes[documents.classes[row]], -1)
        if not held[key]:
            return row
        held[key] -= 1
    return None


def first_impossible(counts: CorpusCounts, statistics: ClassStatistics, documents: CountedDocuments) -> int | None:
    """The first document with which so many were taken away that ``counts`` would fall below zero; None if all can be.

    ``statistics`` are those of the documents.
    """
    if _can_lose(counts, statistics):
        return None
    subsets, here = Subsets(statistics, documents), np.arange(len(documents))
    low, high = 0, len(documents) - 1
    while low < high:  # what is impossible stays so, whatever else is taken away
        middle = (low + high) // 2
        low, high = (middle + 1, high) if _can_lose(counts, subsets.part(here <= middle)) else (low, middle)
    return low


def _can_lose(counts: CorpusCounts, statistics: ClassStatistics) -> bool:
    try:
        counts.statistics.combined(statistics, -1)
    except UsageError:
        return False
    return True
