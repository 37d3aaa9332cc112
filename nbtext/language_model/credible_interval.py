"""How sure a model can be of a term's probability: the posterior of one component of a Dirichlet is a Beta.

φ_jk ~ Beta(m_jk + α_j, N_k + α_0 − m_jk − α_j). Source: Gambosi's notes, "Probabilistic learning"; A. Gelman and others, Bayesian data
analysis (2013), section 3.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.language_model.dirichlet import LanguageModels

CREDIBLE = 0.95


def credible_intervals(models: LanguageModels, terms: NDArray[np.int64], credible: float = CREDIBLE) -> NDArray[np.float64]:
    """The interval that φ_jk of some selected terms is in with a probability, as much of the rest on either side, shape (n, n_classes, 2).

    nan where there is no such posterior: under maximum likelihood, and without pseudo-counts for a term that the class has not seen, or that
    is all that it has seen.
    """
    from scipy.special import betaincinv

    if models.estimate == "ml":
        return np.full((terms.size, models.statistics.n_classes, 2), np.nan)
    more = float(models.estimate == "map")
    pseudo_counts, total = models.pseudo_counts(terms)
    this = models.statistics.counts_of(terms) + pseudo_counts + more
    rest = models.class_tokens + total + more * models.n_selected - this
    with np.errstate(invalid="ignore"):
        this, rest = (np.where((this > 0) & (rest > 0), side, np.nan) for side in (this, rest))
        ends = [betaincinv(this, rest, share) for share in ((1 - credible) / 2, (1 + credible) / 2)]
    return np.stack(ends, axis=-1)
