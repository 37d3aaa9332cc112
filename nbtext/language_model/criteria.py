"""How well a class prior and class language models fit the counts, at a price for freedom: evidence, AIC, BIC. In nats.

They compare settings over the same counts only: the probability of other counts, of another vocabulary or of n-grams, is another question.
Sources: Gambosi's notes, "Model selection"; H. Akaike, A new look at the statistical model identification (1974); G. Schwarz, Estimating the
dimension of a model (1978).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.language_model.dirichlet import LanguageModels

    Floats = NDArray[np.float64]


class Fit(NamedTuple):
    """A model of maximum likelihood, and what AIC and BIC make of it."""

    log_likelihood: float
    parameters: int
    """|θ|, the numbers that can be chosen freely."""
    tokens: int

    @property
    def aic(self) -> float:
        """AIC = 2 |θ| − 2 log L; the least is best."""
        return 2 * self.parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """BIC = |θ| log n − 2 log L, n tokens; the least is best."""
        return self.parameters * float(np.log(max(self.tokens, 1))) - 2 * self.log_likelihood


def log_evidence_of_classes(models: LanguageModels) -> Floats | None:
    """log p(counts_k | α) = log Γ(α_0) − log Γ(N_k + α_0) + Σ_j [log Γ(m_jk + α_j) − log Γ(α_j)] of each class, shape (n_classes,).

    α is that of the models, under MAP one more than the pseudo-counts. None where there is no prior: maximum likelihood, or no pseudo-counts.
    −inf for a class with a term whose α_j is 0.
    """
    from scipy.special import gammaln

    statistics, more = models.statistics, float(models.estimate == "map")
    if models.estimate == "ml" or models.smoothing + models.own.numbers.sum() + more <= 0:
        return None
    cells = models.selected[statistics.cell_terms]
    terms, classes, counts = statistics.cell_terms[cells], statistics.cell_classes[cells], statistics.cell_counts[cells]
    of_terms, total = models.pseudo_counts(terms)
    alpha, alpha_0 = of_terms[:, 0] + more, total + more * models.n_selected
    of_cells = np.bincount(classes, gammaln(counts + alpha) - gammaln(alpha), statistics.n_classes).astype(np.float64)
    if not alpha_0:  # no terms at all
        return of_cells
    evidence: Floats = of_cells + gammaln(alpha_0) - gammaln(models.class_tokens + alpha_0)
    return evidence


def log_evidence_of_labels(kind: object, prior: Floats, class_documents: NDArray[np.int64]) -> float | None:
    """log p(labels) of all documents: under ``smoothed:A`` by a Dirichlet prior of A for each class, else Σ_k D_k log π_k of fixed π.

    None for ``empirical``, which is maximum likelihood and has no prior.
    """
    from scipy.special import gammaln

    documents = class_documents.astype(np.float64)
    if isinstance(kind, str) and kind.startswith("smoothed:") and float(kind.partition(":")[2]) > 0:
        added, n_classes = float(kind.partition(":")[2]), documents.size
        of_classes = gammaln(documents + added) - gammaln(added)
        return float(gammaln(added * n_classes) - gammaln(documents.sum() + added * n_classes) + of_classes.sum())
    if isinstance(kind, str) and kind != "uniform":
        return None
    return _log_likelihood(documents, prior)


def maximum_likelihood_fit(models: LanguageModels, kind: object, prior: Floats) -> Fit:
    """log L = Σ_k Σ_j m_jk log(m_jk / N_k) + Σ_k D_k log π_k and |θ| = K (V − 1) + K − 1, over the selected terms.

    The smoothing of term and class probabilities has no part in it. A class prior that is ``uniform`` or given is as it is, and K − 1 less.
    """
    statistics = models.statistics
    cells = models.selected[statistics.cell_terms]
    counts = statistics.cell_counts[cells].astype(np.float64)
    of_terms = _log_likelihood(counts, counts / models.class_tokens[statistics.cell_classes[cells]])
    documents, free = statistics.class_documents.astype(np.float64), isinstance(kind, str) and kind != "uniform"
    of_labels = _log_likelihood(documents, documents / documents.sum() if free else prior)
    parameters = statistics.n_classes * max(models.n_selected - 1, 0) + (statistics.n_classes - 1) * free
    return Fit(of_terms + of_labels, parameters, int(counts.sum()))


def _log_likelihood(counts: Floats, probabilities: Floats) -> float:
    """Σ m log p, −inf where something impossible has occurred."""
    occurred = counts > 0
    with np.errstate(divide="ignore"):
        return float(counts[occurred] @ np.log(probabilities[occurred]))
