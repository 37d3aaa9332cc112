"""A corpus as counts: its statistics and a sample of its documents. They add and subtract together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtext.counts.documents import DocumentSample
    from nbtext.counts.statistics import ClassStatistics


@dataclass(frozen=True, eq=False)
class CorpusCounts:
    """Everything that is kept of a corpus; the sample's terms and classes are numbered as in the statistics."""

    statistics: ClassStatistics
    sample: DocumentSample

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        """Both corpora together."""
        statistics, mine, theirs = self.statistics.combined(other.statistics, 1)
        return CorpusCounts(statistics, self.sample.renumbered(mine) + other.sample.renumbered(theirs))

    def __sub__(self, other: CorpusCounts) -> CorpusCounts:
        """The corpus without the documents of another; raises `UsageError` if that counts anything that this one does not."""
        statistics, mine, theirs = self.statistics.combined(other.statistics, -1)
        return CorpusCounts(statistics, self.sample.renumbered(mine) - other.sample.renumbered(theirs))
