"""How far apart language models are: the Jensen–Shannon divergence. Source: J. Lin, Divergence measures based on the Shannon entropy (1991).

JS(p, q) = ½ Σ_j [p_j log(p_j / m_j) + q_j log(q_j / m_j)] with m = (p + q)/2, in nats: 0 for equal distributions, log 2 for those that have no
term in common. It is finite where one has a term that the other has not, and its square root is a distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.language_model.dirichlet import LanguageModels

    Floats = NDArray[np.float64]

CELLS_AT_ONCE = 1 << 18
"""Few enough to stay in the processor's cache while every pair of classes goes over them."""


def jensen_shannon_parts(p: Floats, q: Floats) -> Floats:
    """What each term adds to JS(p, q), in nats, of the shape of both; at least 0, and 0 where p and q are equal."""
    mixed = (p + q) / 2
    return np.maximum(_relative(p, mixed) + _relative(q, mixed), 0) / 2  # rounding may go below 0


def jensen_shannon(models: LanguageModels, classes: NDArray[np.int64]) -> Floats:
    """JS of each pair of some classes, shape (n, n), in nats; nan for a class without tokens and pseudo-counts, which has no distribution.

    The time it takes grows with the square of the number of classes.
    """
    divergence = np.zeros((classes.size, classes.size))
    total = np.zeros(classes.size)
    terms = np.flatnonzero(models.selected)
    step = max(CELLS_AT_ONCE // models.statistics.n_classes, 1)
    for begin in range(0, terms.size, step):
        probability = np.ascontiguousarray(models.probability(terms[begin : begin + step])[:, classes].T)
        total += probability.sum(axis=1)
        for first in range(classes.size - 1):
            parts = jensen_shannon_parts(probability[first], probability[first + 1 :])
            divergence[first, first + 1 :] += parts.sum(axis=1)
    divergence += divergence.T
    divergence[total == 0] = divergence[:, total == 0] = np.nan
    return divergence


def _relative(p: Floats, mixed: Floats) -> Floats:
    """p log(p / m), 0 where p is 0."""
    ratio = np.divide(p, mixed, out=np.ones(np.broadcast_shapes(p.shape, mixed.shape)), where=p > 0)
    return p * np.log(ratio)
