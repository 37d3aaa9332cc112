"""Classifiers whose weights follow from the counts of terms by class, whole or weighted.

Counts and presence add, so they come from the statistics. The others are sums over documents: they are made from all documents when the
model is trained, and kept in the model file beside the statistics, which stay whole and exact.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nbtext.classifiers.base import LinearClassifier
from nbtext.counts.weighting import NEEDS_DOCUMENTS, weighted, weighted_cells
from nbtext.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.classifiers.base import Training
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics

AUTO = 0.1
"""The pseudo-count that ``auto`` means on weighted counts, of which there is no evidence; 0.03 to 0.3 do equally well on 20 Newsgroups."""

KEPT = "weighted_counts"


class WeightedCountsClassifier(LinearClassifier):
    """A linear classifier that is estimated from weighted counts and scores weighted documents."""

    WEIGHTINGS: ClassVar[tuple[str, ...]] = ("counts", "binary", *NEEDS_DOCUMENTS)

    @classmethod
    @abstractmethod
    def of_counts(cls, training: Training, counts: ClassStatistics) -> Self:
        """The model that follows from the statistics with weighted cells in place of counts."""

    @property
    @abstractmethod
    def counts(self) -> ClassStatistics:
        """The statistics, with weighted cells in place of counts."""

    @property
    @abstractmethod
    def weighting(self) -> str:
        """How terms are weighted, as `nbtext.counts.weighting` takes it."""

    @classmethod
    def needs_documents(cls, parameters: Mapping[str, Any]) -> bool:
        """Whether the weights are not in the statistics."""
        return parameters["weighting"] in NEEDS_DOCUMENTS

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """The model that follows from the counts, and from the documents if their weights are not in them."""
        cells = weighted_cells(training.parameters["weighting"], training.statistics, training.selected, training.documents)
        return cls.of_counts(training, replace(training.statistics, cell_counts=cells))

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """The weighted counts of the cells, where they need documents."""
        return {KEPT: self.counts.cell_counts} if self.weighting in NEEDS_DOCUMENTS else {}

    @classmethod
    def restored(cls, training: Training, arrays: Mapping[str, NDArray[np.float64]]) -> Self:
        """The model that kept these arrays; raises `ModelError` if none could have."""
        needed = {KEPT} if cls.needs_documents(training.parameters) else set()
        if set(arrays) - needed:
            raise ModelError("the model is malformed: its weighted counts do not fit its weighting")
        if not needed:
            return cls.estimate(training)
        kept = arrays.get(KEPT, np.empty(0))  # a file leaves empty arrays out
        cells, whole = kept.astype(np.float64), training.statistics.cell_counts
        if cells.shape != whole.shape or not np.all((cells >= 0) & (cells <= whole)):  # log(1 + n) and weights of unit length are below n
            raise ModelError("the model is malformed: its weighted counts do not fit its counts")
        return cls.of_counts(training, replace(training.statistics, cell_counts=cells))

    @classmethod
    def smoothing(cls, statistics: ClassStatistics, selected: NDArray[np.bool_], parameters: Mapping[str, Any]) -> float:
        """``auto`` is by evidence on counts; on weighted counts `AUTO` for each term."""
        if parameters["weighting"] == "counts":
            return super().smoothing(statistics, selected, parameters)
        return AUTO if parameters["prior_shape"] == "symmetric" else AUTO * max(int(np.count_nonzero(selected)), 1)

    def features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """The weighted terms of documents."""
        return weighted(matrix, self.weighting, self.counts)
