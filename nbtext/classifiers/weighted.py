"""Classifiers whose weights follow from the counts of terms by class, whole or weighted.

Counts, presence and logs add, so their sums are in the statistics. Those of tf-idf are computed from all documents in training and kept in the
model file beside the statistics; so were those of logs in files of earlier versions.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from nbtext.classifiers.base import LinearClassifier
from nbtext.counts.weighting import NEEDS_DOCUMENTS, weighted, weighted_cells
from nbtext.errors import require
from nbtext.records import dataclass

if TYPE_CHECKING:
    from nbtext.classifiers.base import Training
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.settings import Settings
    from nbtext.type_names import Arrays, Mask, Numbers

WEIGHTED_COUNTS = "weighted_counts"
"""The array in the model file."""


@dataclass(frozen=True, eq=False)
class WeightedCountsClassifier(LinearClassifier):
    """A linear classifier estimated from weighted counts, for documents weighted in the same way."""

    counts: ClassStatistics
    """The statistics, with weighted cells in place of counts."""

    @property
    def weighting(self) -> str:
        """How terms are weighted, as `nbtext.counts.weighting.weighted` takes it."""
        return self.training.settings.weighting

    @cached_property
    def language_models(self) -> LanguageModels:
        """The language models of the classes, over weighted counts."""
        return self.training.language_models(self.counts)

    @classmethod
    def counted(
        cls, statistics: ClassStatistics, selected: Mask, settings: Settings, documents: CountedDocuments | None = None
    ) -> ClassStatistics:
        """Return the statistics with weighted cells, from the documents if they are needed."""
        del cls
        return replace(statistics, cell_counts=weighted_cells(settings.weighting, statistics, selected, documents))

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Return the model that follows from the counts, and from the documents if it needs them."""
        return cls(training, cls.counted(training.statistics, training.selected, training.settings, training.documents))

    def arrays(self) -> dict[str, Numbers]:
        """Return the weighted counts of the cells, if they need documents."""
        kept = self.weighting in NEEDS_DOCUMENTS or (self.weighting == "log" and self.counts.cell_logs is None)
        return {WEIGHTED_COUNTS: self.counts.cell_counts} if kept else {}

    @classmethod
    def restored(cls, training: Training, arrays: Arrays) -> Self:
        """Return the model that had these `arrays`; raise `ModelError` if no model can have had them."""
        statistics, settings = training.statistics, training.settings
        needed = settings.weighting in NEEDS_DOCUMENTS or (settings.weighting == "log" and statistics.cell_logs is None)
        require(set(arrays) <= ({WEIGHTED_COUNTS} if needed else set()), "its weighted counts do not fit its weighting")
        if not needed:
            return cls.estimate(training)
        kept = arrays.get(WEIGHTED_COUNTS, np.empty(0))  # a file leaves empty arrays out
        cells, whole = kept.astype(np.float64), statistics.cell_counts
        possible = cells.shape == whole.shape and np.all(
            (cells >= 0) & (cells <= whole)
        )  # log(1 + n) and weights of unit length are below n
        require(possible, "its weighted counts do not fit its counts")
        return cls(training, replace(statistics, cell_counts=cells))

    def adds_occurrences(self) -> bool:
        """Return True if terms are not weighted."""
        return self.weighting == "counts"

    def features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return the weighted terms of documents."""
        return weighted(matrix, self.weighting, self.counts)
