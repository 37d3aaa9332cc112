"""Which document cannot be taken away because it was never counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.documents import MOST_TERMS
from nbtext.counts.subsets import Subsets
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics


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
