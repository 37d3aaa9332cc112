"""Numbers as attributes: in every class a number has a normal distribution, independent of the others. This is Gaussian naive Bayes.

log p(x | C_k) = −½ [log 2πσ²_k + (x − μ_k)²/σ²_k]. Mean and variance are those of the class's documents and of α pseudo-documents that are
spread as the whole corpus is, so that a class of one document has a variance too; α = 0 is maximum likelihood. Source: Gambosi's notes,
probabilistic classification; pseudo-documents as a conjugate prior: A. Gelman et al., Bayesian data analysis, 3rd ed. (2013), section 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nbtext.attributes import FARTHEST
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from nbtext.counts.moments import Moments

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NormalAttributes:
    """μ and σ² of each number in each class, shapes (n_classes, n_columns)."""

    means: Floats
    variances: Floats

    @classmethod
    def estimate(cls, moments: Moments, smoothing: float, names: Sequence[str], classes: Sequence[str]) -> Self:
        """From the moments of the numbers and a number of pseudo-documents.

        Raises `UsageError` if a class has no spread; where the corpus has none its number says nothing.
        """
        corpus_mean, corpus_variance = mean_and_variance(moments.total())
        n = moments.documents
        weight = np.divide(n, n + smoothing, out=np.zeros(n.shape), where=n + smoothing > 0)  # of the class against the corpus
        mean, variance = mean_and_variance(moments)
        between = weight * (1 - weight) * (mean - corpus_mean) ** 2
        variances = weight * variance + (1 - weight) * corpus_variance + between
        if np.any(flat := (corpus_variance > 0) & ~(variances > 0)):
            label, name = (int(place) for place in np.argwhere(flat)[0])
            raise UsageError(
                f"in class {classes[label]} all documents have the same {names[name]!r}",
                hint="leave --estimate and --smoothing as they are",
            )
        return cls(weight * mean + (1 - weight) * corpus_mean, variances)

    def add_log_likelihood(self, scores: Floats, values: Floats) -> NDArray[np.int64]:
        """Add log p(x_d | C_k) of values, shape (n_docs, n_columns), nan for missing, to the scores, shape (n_docs, n_classes), in nats.

        A value counts as at most `FARTHEST` standard deviations away from a mean. Returns how many values each document has, shape (n_docs,).
        """
        known = np.isfinite(values) & np.all(self.variances > 0, axis=0)
        for column in np.flatnonzero(known.any(axis=0)).tolist():
            rows = np.flatnonzero(known[:, column])
            mean, variance = self.means[:, column], self.variances[:, column]
            with np.errstate(over="ignore"):
                distance = np.minimum((values[rows, column, np.newaxis] - mean) ** 2 / variance, FARTHEST**2)
            scores[rows] -= 0.5 * (np.log(2 * np.pi * variance) + distance)
        return np.asarray(np.count_nonzero(known, axis=1))


def mean_and_variance(moments: Moments) -> tuple[Floats, Floats]:
    """Σx/n and Σx²/n − (Σx/n)², rounded only at the end, shapes as the moments'; 0 where n is."""
    exact: list[list[tuple[Fraction, Fraction]]] = [
        [(total / max(n, 1), square / max(n, 1)) for n, total, square in zip(*row, strict=True)] for row in _rows(moments)
    ]
    pairs = np.array([[(float(mean), float(square - mean**2)) for mean, square in row] for row in exact]).reshape(*moments.sums.shape, 2)
    return pairs[..., 0], pairs[..., 1]


def _rows(moments: Moments) -> list[tuple[Any, ...]]:
    return list(zip(*(part.tolist() for part in moments), strict=True))
