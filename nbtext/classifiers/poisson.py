"""Counts as attributes: in every class a count has a Poisson distribution.

log p(x | C_k) = x log λ_k − λ_k − log x!. The conjugate prior of a rate is a gamma distribution; its mean after α pseudo-documents with
the corpus's mean count x̄ is λ_k = (Σx + α x̄)/(n_k + α), at maximum likelihood Σx/n_k. Source: A. Gelman et al., Bayesian data analysis,
3rd ed. (2013), section 2.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.moments import Moments

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PoissonAttributes:
    """λ of each count in each class, shape (n_classes, n_columns)."""

    rates: Floats

    @classmethod
    def estimate(cls, moments: Moments, smoothing: float) -> Self:
        """From the moments of the counts and a number of pseudo-documents; 0 is maximum likelihood."""
        total = moments.total()
        corpus_mean = total.sums.astype(np.float64) / np.maximum(total.documents, 1)
        added = moments.sums.astype(np.float64) + smoothing * corpus_mean
        documents = moments.documents + smoothing
        return cls(np.divide(added, documents, out=np.zeros_like(added), where=documents > 0))

    def add_log_likelihood(self, scores: Floats, values: Floats) -> NDArray[np.int64]:
        """Add log p(x_d | C_k) of values, shape (n_docs, n_columns), nan for missing, to the scores, shape (n_docs, n_classes), in nats.

        Returns how many values each document has, shape (n_docs,). A count that was 0 in every document of the corpus says nothing.
        """
        known = np.isfinite(values) & self.rates.any(axis=0)
        for column in np.flatnonzero(known.any(axis=0)).tolist():
            rows = np.flatnonzero(known[:, column])
            x, rates = values[rows, column, np.newaxis], self.rates[:, column]
            with np.errstate(divide="ignore", invalid="ignore"):
                of_events = np.where(x > 0, x * np.log(rates), 0.0)
            log_factorial = np.array([math.lgamma(count + 1) for count in x[:, 0].tolist()])
            scores[rows] += of_events - rates - log_factorial[:, np.newaxis]
        return np.asarray(np.count_nonzero(known, axis=1))
