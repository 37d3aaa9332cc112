"""Categorical attributes: in every class the values of an attribute are draws from a categorical distribution, as the terms of a text are.

log p(a | C_k) = log φ_ak, φ estimated under a Dirichlet prior by `nbtext.language_model.dirichlet`, for each attribute by itself. Source:
T. Mitchell, Machine learning (1997), section 6.9, and as pseudo-counts (the m-estimate) 6.9.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from nbtext.counts.categories import is_category_of
from nbtext.counts.weighted_sums import add_weighted_sums
from nbtext.language_model.dirichlet import LanguageModels
from nbtext.language_model.evidence import smoothing_by_evidence

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from nbtext.counts.document_term import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics


@dataclass(frozen=True, eq=False)
class CategoricalAttribute:
    """φ of one attribute: a distribution over its values for each class."""

    name: str
    values: LanguageModels

    @classmethod
    def estimate(cls, statistics: ClassStatistics, name: str, smoothing: float | None, parameters: Mapping[str, Any]) -> Self:
        """From the counts of its values; with None for the pseudo-count that of the greatest evidence."""
        terms = is_category_of(statistics.vocabulary, name)
        shape, estimate = parameters["prior_shape"], parameters["estimate"]
        if smoothing is None:
            smoothing = smoothing_by_evidence(statistics, terms, shape)
        return cls(name, LanguageModels(statistics, terms, smoothing, shape, estimate))

    def add_log_likelihood(self, scores: NDArray[np.float64], matrix: DocumentTermMatrix) -> NDArray[np.int64]:
        """Add log p(a_d | C_k) to the scores, shape (n_docs, n_classes), in nats, and return which documents have a value, shape (n_docs,).

        A value that no training document has says nothing, and neither does a missing one.
        """
        here = matrix.of_terms(self.values.selected)
        add_weighted_sums(scores, here, self.values.selected.size, self.values.log_probability)
        return here.entries
