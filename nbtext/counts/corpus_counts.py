"""A corpus as counts: its statistics and a sample of its documents. They add and subtract together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nbtext.counts.categories import are_in, is_category
from nbtext.counts.documents import DocumentSample
from nbtext.counts.restricted import known_to, restricted_documents, restricted_statistics, with_parts
from nbtext.counts.under_labels import statistics_under

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from nbtext.counts.statistics import ClassStatistics
    from nbtext.counts.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class CorpusCounts:
    """Everything that is kept of a corpus; the sample's terms and classes are numbered as in the statistics."""

    statistics: ClassStatistics
    sample: DocumentSample
    is_closed: bool = False
    """Whether no term may come that is not there: what is added is counted over these terms, as if no document had ever held another."""
    missed: int = 0
    """Documents by which the counts of a term may be too low, since terms were left out while counting."""

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        """Both corpora together, over the terms that every closed one of them has."""
        mine, theirs = (
            one.over(another.statistics.vocabulary) if another.is_closed else one for one, another in ((self, other), (other, self))
        )
        statistics, first, second = mine.statistics.combined(theirs.statistics, 1)
        sample = mine.sample.renumbered(first) + theirs.sample.renumbered(second)
        return CorpusCounts(statistics, sample, self.is_closed or other.is_closed, self.missed + other.missed)

    def __sub__(self, other: CorpusCounts) -> CorpusCounts:
        """The corpus without the documents of another; raises `UsageError` if that counts anything that this one does not."""
        theirs = other.over(self.statistics.vocabulary) if self.is_closed else other
        statistics, first, second = self.statistics.combined(theirs.statistics, -1)
        return replace(self, statistics=statistics, sample=self.sample.renumbered(first) - theirs.sample.renumbered(second))

    def over(self, vocabulary: Vocabulary) -> CorpusCounts:
        """The counts of the terms of another vocabulary, and of all categories."""
        return self.restricted(known_to(vocabulary, self.statistics.vocabulary))

    def restricted(self, kept: NDArray[np.bool_]) -> CorpusCounts:
        """The counts of the terms with ``kept`` (shape (n_terms,)) true, of what the n-grams among them are made of, and of all categories."""
        if are_in(self.statistics.vocabulary):
            kept = kept | is_category(self.statistics.vocabulary)
        kept = with_parts(self.statistics.vocabulary, kept)
        sample = replace(self.sample, documents=restricted_documents(self.sample.documents, kept))
        return replace(self, statistics=restricted_statistics(self.statistics, kept), sample=sample)

    def relabelled(self, labels: Sequence[str]) -> CorpusCounts:
        """The counts of the same documents if each class had the label given for it; classes of the same label become one."""
        statistics, numbers = statistics_under(self.statistics, labels)
        documents = replace(self.sample.documents, classes=numbers[self.sample.documents.classes])
        return replace(self, statistics=statistics, sample=DocumentSample.of(documents, self.sample.size, self.sample.bound))
