"""Measures of language models: how well they predict text, and how well they fit the counts. In nats.

- Perplexity of held-out text: the number of equally probable terms that would be as hard to predict. Source: D. Jurafsky, J. Martin, Speech
  and language processing (2009), section 4.4; F. Jelinek and others (1977).
- Evidence, AIC and BIC of class prior and language models. They compare settings over the same counts only, not vocabularies, selections or
  n-grams of different size. Sources: Gambosi's notes, "Model selection"; H. Akaike, A new look at the statistical model identification
  (1974); G. Schwarz, Estimating the dimension of a model (1978).
- Posterior probabilities of models and Bayes factors, from their evidences. Sources: Gambosi's notes, "Model selection"; R. Kass, A. Raftery,
  Bayes factors (1995), section 3.2 for the words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.counts.count_table import whole_or_float
from nbtext.counts.vocabulary import is_category
from nbtext.language_model.dirichlet import log, share, times_log
from nbtext.language_model.smoothing import gamma_rise
from nbtext.ragged import find_sorted
from nbtext.text.hashing import pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.type_names import Floats, Numbers, Whole


class HeldOutText(NamedTuple):
    """Sums over held-out documents by their class, all of shape (n_classes,)."""

    documents: Whole
    tokens: Whole
    """Unknown ones included."""
    unknown: Whole
    """Tokens of terms that the language models are not over."""
    log_likelihood: Floats
    """Σ log φ_jk of all tokens, in nats; −inf where maximum likelihood rules one out."""

    @classmethod
    def empty(cls, n_classes: int) -> HeldOutText:
        """Return the sums over no documents."""
        nothing = np.zeros(n_classes, np.int64)
        return cls(nothing, nothing, nothing, np.zeros(n_classes))

    def and_of(self, other: HeldOutText) -> HeldOutText:
        """Return the sums over both."""
        return HeldOutText._make(mine + theirs for mine, theirs in zip(self, other, strict=True))

    @property
    def perplexity(self) -> Floats:
        """`perplexity` of each class, shape (n_classes,); nan for a class without tokens."""
        return perplexity(self.log_likelihood, self.tokens)


def perplexity(log_likelihood: Floats, tokens: Whole) -> Floats:
    """Return exp(−log L / n) for n tokens with the likelihood L; nan for no tokens, inf if L is 0."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.exp(-log_likelihood / tokens)


def held_out(models: LanguageModels, matrix: DocumentTermMatrix, classes: Whole) -> HeldOutText:
    """Return the sums over documents with class numbers, shape (n_docs,), each under the language model of its class.

    An unknown token counts as one of a term that no document held, as in `LanguageModels.log_unseen`.
    """
    n_classes = models.statistics.n_classes
    matrix = matrix.of_terms(~is_category(models.statistics.vocabulary))
    known = matrix.of_terms(models.selected)
    unknown = matrix.lengths - known.lengths + matrix.unknown
    of_entry = classes[known.entry_documents]
    statistics = models.statistics
    cells = find_sorted(
        pair(statistics.cell_terms, statistics.cell_classes), pair(known.terms, of_entry)
    )
    counts = np.append(statistics.cell_counts, 0)[
        cells
    ]  # the last, 0, where the class has not the term
    log_probability = log(models.estimated(known.terms, counts, models.class_tokens[of_entry]))
    log_likelihood = np.bincount(of_entry, known.counts * log_probability, n_classes).astype(
        np.float64
    )
    tokens_of, unknown_of = (
        np.bincount(classes, each, n_classes).astype(np.int64)
        for each in (known.lengths + unknown, unknown)
    )
    log_likelihood += times_log(unknown_of, models.log_unseen())
    return HeldOutText(
        np.bincount(classes, minlength=n_classes), tokens_of, unknown_of, log_likelihood
    )


class Fit(NamedTuple):
    """A model of maximum likelihood, with AIC and BIC."""

    log_likelihood: float
    parameters: int
    """|θ|, free parameters."""
    tokens: float
    """n of the BIC: tokens of a text, documents of anything else."""

    @property
    def aic(self) -> float:
        """AIC = 2 |θ| − 2 log L; lower is better."""
        return 2 * self.parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """BIC = |θ| log n − 2 log L, n tokens; lower is better."""
        return self.parameters * float(np.log(max(self.tokens, 1))) - 2 * self.log_likelihood


class PartFit(NamedTuple):
    """How well a part of a model fits its data."""

    part: str
    evidence: Floats | None
    """Of each class, in nats, shape (n_classes,); None without a prior."""
    fit: Fit


def log_evidence_of_classes(models: LanguageModels) -> Floats | None:
    """Return log p(counts_k | α) = log Γ(α_0) − log Γ(N_k + α_0) + Σ_j [log Γ(m_jk + α_j) − log Γ(α_j)] of each class, shape (n_classes,).

    α is that of the models, with the seed words of the class, and under MAP one more than the pseudo-counts. None if there is no prior: maximum likelihood, or no pseudo-counts.
    −inf for a class with a term whose α_j is 0.
    """
    statistics = models.statistics
    more = float(models.estimate == "map")
    if models.estimate == "ml" or models.smoothing + models.own.numbers.sum() + more <= 0:
        return None
    cells = models.selected[statistics.cell_terms]
    terms = statistics.cell_terms[cells]
    classes = statistics.cell_classes[cells]
    counts = statistics.observed.cell_counts[cells]
    of_terms, total = models.pseudo_counts(terms)
    tokens = statistics.observed.tokens_of(models.selected)
    alpha = of_terms[:, 0] + more
    alpha_0 = total + more * models.n_selected + (models.class_tokens - tokens)
    alpha += statistics.cell_counts[cells] - counts
    of_cells = np.bincount(classes, gamma_rise(alpha, counts), statistics.n_classes).astype(
        np.float64
    )
    if not models.n_selected:
        return of_cells
    return of_cells - gamma_rise(alpha_0, tokens)


def log_evidence_of_labels(kind: object, prior: Floats, class_documents: Whole) -> float | None:
    """Return log p(labels) of all documents: for ``smoothed:A`` with a Dirichlet prior of A for each class, else Σ_k D_k log π_k of fixed π.

    None for ``empirical``, which is maximum likelihood and has no prior.
    """
    if isinstance(kind, str) and kind.startswith("smoothed:") and float(kind.partition(":")[2]) > 0:
        added = float(kind.partition(":")[2])
        n_classes = class_documents.size
        return float(
            gamma_rise(added, class_documents).sum()
            - gamma_rise(added * n_classes, class_documents.sum())
        )
    if isinstance(kind, str) and kind != "uniform":
        return None
    return _log_likelihood(class_documents, prior)


BAYES_FACTORS_IN_WORDS = (
    (2.0, "not worth more than a bare mention"),
    (6.0, "positive"),
    (10.0, "strong"),
    (float("inf"), "very strong"),
)
"""Of evidence for the better of two models, up to each value of 2 log B (Kass, Raftery 1995)."""


class ModelPosterior(NamedTuple):
    """One of several models of the same data."""

    probability: float
    """p(m | data), with the same probability of each model before."""
    log_bayes_factor: float
    """log B, in nats: the log evidence of the best model less that of this one. 0 for the best."""
    evidence_for_best: str
    """In the words of `BAYES_FACTORS_IN_WORDS`; nothing for the best."""


def model_posteriors(log_evidences: Sequence[float]) -> list[ModelPosterior]:
    """Return p(m | data) = p(data | m) / Σ_l p(data | l) and the Bayes factor of the best model against each, from log evidences in nats.

    A model with the log evidence −inf has the probability 0; raise `ValueError` if all have.
    """
    best = max(log_evidences)
    if best == -np.inf:
        raise ValueError("the data are impossible under every model")
    factors = [best - log_evidence for log_evidence in log_evidences]
    total = sum(float(np.exp(-factor)) for factor in factors)
    words = (
        next(word for most, word in BAYES_FACTORS_IN_WORDS if 2 * factor <= most) if factor else ""
        for factor in factors
    )
    return [
        ModelPosterior(float(np.exp(-factor)) / total, factor, word)
        for factor, word in zip(factors, words, strict=True)
    ]


def fit_of_terms(models: LanguageModels) -> Fit:
    """Return log L = Σ_k Σ_j m_jk log(m_jk / N_k) and |θ| = K (V − 1), over the selected terms; smoothing has no part in it."""
    statistics = models.statistics.observed
    cells = models.selected[statistics.cell_terms]
    counts = statistics.cell_counts[cells]
    tokens = statistics.tokens_of(models.selected)[statistics.cell_classes[cells]]
    log_likelihood = _log_likelihood(counts, share(counts, tokens))
    return Fit(
        log_likelihood,
        statistics.n_classes * max(models.n_selected - 1, 0),
        whole_or_float(counts.sum()),
    )


def fit_of_labels(kind: object, prior: Floats, class_documents: Whole) -> Fit:
    """Return log L = Σ_k D_k log π_k and |θ| = K − 1, or 0 for a class prior that is ``uniform`` or given and thereby fixed."""
    free = isinstance(kind, str) and kind != "uniform"
    n_documents = class_documents.sum()
    log_likelihood = _log_likelihood(
        class_documents, class_documents / max(n_documents, 1) if free else prior
    )
    return Fit(log_likelihood, (class_documents.size - 1) * free, whole_or_float(n_documents))


def _log_likelihood(counts: Numbers, probabilities: Floats) -> float:
    """Return Σ m log p over m above 0; −inf if something impossible has occurred."""
    occurred = counts > 0
    return float(counts[occurred] @ log(probabilities[occurred]))
