"""How sure a model can be of a term's probability: the posterior of a coin, and of one component of a Dirichlet, is a Beta.

φ_jk ~ Beta(m_jk + α_j, N_k + α_0 − m_jk − α_j). Source: Gambosi's notes, "Probabilistic learning"; A. Gelman and others, Bayesian data
analysis (2013), sections 2.4 and 3.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.language_model.dirichlet import LanguageModels

CREDIBLE = 0.95


def beta_intervals(a: NDArray[np.float64], b: NDArray[np.float64], credible: float = CREDIBLE) -> NDArray[np.float64]:
    """Return the central intervals that hold a probability of ``credible`` under Beta(a, b), of the shape of ``a`` with 2 behind it.

    ``a`` and ``b`` have the same shape; nan where one of them is not above 0, for then there is no such distribution.
    """
    from scipy.special import betaincinv

    with np.errstate(invalid="ignore"):
        a, b = (np.where((a > 0) & (b > 0), side, np.nan) for side in (a, b))
        ends = [betaincinv(a, b, share) for share in ((1 - credible) / 2, (1 + credible) / 2)]
    return np.stack(ends, axis=-1)


def credible_intervals(models: LanguageModels, terms: NDArray[np.int64], credible: float = CREDIBLE) -> NDArray[np.float64]:
    """Return the central credible intervals of φ_jk of some selected terms, shape (n, n_classes, 2).

    nan where there is no such posterior: under maximum likelihood, and without pseudo-counts for a term that the class has not seen, or that
    is all that it has seen.
    """
    if models.estimate == "ml":
        return np.full((terms.size, models.statistics.n_classes, 2), np.nan)
    more = float(models.estimate == "map")
    pseudo_counts, total = models.pseudo_counts(terms)
    this = models.statistics.counts_of(terms) + pseudo_counts + more
    return beta_intervals(this, models.class_tokens + total + more * models.n_selected - this, credible)
