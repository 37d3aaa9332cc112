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

from nbtext.counts.count_table import to_int_or_float
from nbtext.counts.vocabulary import is_category
from nbtext.language_model.dirichlet import divide_or_zero, log, times_log
from nbtext.language_model.smoothing import log_rising_factorial
from nbtext.ragged import find_sorted
from nbtext.text.hashing import pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.type_names import Floats, Ints, Numbers


class HeldOutText(NamedTuple):
    """Sums over held-out documents by their class, all of shape (n_classes,)."""

    documents: Ints
    tokens: Ints
    """Unknown ones included."""
    unknown: Ints
    """Tokens of terms that the language models are not over."""
    log_likelihood: Floats
    """Σ log φ_jk of all tokens, in nats; −inf where maximum likelihood rules one out."""

    @classmethod
    def empty(cls, n_classes: int) -> HeldOutText:
        """Return the sums over no documents."""
        nothing = np.zeros(n_classes, np.int64)
        return cls(nothing, nothing, nothing, np.zeros(n_classes))

    def merge(self, other: HeldOutText) -> HeldOutText:
        """Return the sums over both."""
        return HeldOutText._make(mine + theirs for mine, theirs in zip(self, other, strict=True))

    @property
    def perplexity(self) -> Floats:
        """`perplexity` of each class, shape (n_classes,); nan for a class without tokens."""
        return perplexity(self.log_likelihood, self.tokens)


def perplexity(log_likelihood: Floats, tokens: Ints) -> Floats:
    """Return exp(−log L / n) for n tokens with the likelihood L; nan for no tokens, inf if L is 0."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.exp(-log_likelihood / tokens)


def measure_held_out_text(
    models: LanguageModels, matrix: DocumentTermMatrix, classes: Ints
) -> HeldOutText:
    """Return the sums over documents with class numbers, shape (n_docs,), each under the language model of its class.

    An unknown token counts as one of a term that no document held, as in `LanguageModels.estimate_log_unseen_probability`.
    """
    n_classes = models.statistics.n_classes
    matrix = matrix.select_terms(~is_category(models.statistics.vocabulary))
    known = matrix.select_terms(models.selected)
    unknown = matrix.known_tokens - known.known_tokens + matrix.unknown_tokens
    of_entry = classes[known.entry_documents]
    statistics = models.statistics
    cells = find_sorted(
        pair(statistics.cell_terms, statistics.cell_classes), pair(known.terms, of_entry)
    )
    counts = np.append(statistics.cell_counts, 0)[
        cells
    ]  # the last, 0, where the class has not the term
    log_probability = log(
        models.estimate_probability(known.terms, counts, models.class_tokens[of_entry])
    )
    log_likelihood = np.bincount(of_entry, known.counts * log_probability, n_classes).astype(
        np.float64
    )
    tokens_of, unknown_of = (
        np.bincount(classes, each, n_classes).astype(np.int64)
        for each in (known.known_tokens + unknown, unknown)
    )
    log_likelihood += times_log(unknown_of, models.estimate_log_unseen_probability())
    return HeldOutText(
        np.bincount(classes, minlength=n_classes), tokens_of, unknown_of, log_likelihood
    )


class MaximumLikelihoodFit(NamedTuple):
    """A model of maximum likelihood, with AIC and BIC."""

    log_likelihood: float
    n_parameters: int
    """|θ|, free parameters."""
    n_observations: float
    """n of the BIC: tokens of a text, documents of anything else."""

    @property
    def aic(self) -> float:
        """AIC = 2 |θ| − 2 log L; lower is better."""
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """BIC = |θ| log n − 2 log L, n tokens; lower is better."""
        return (
            self.n_parameters * float(np.log(max(self.n_observations, 1))) - 2 * self.log_likelihood
        )


class ComponentFit(NamedTuple):
    """How well a part of a model fits its data."""

    component: str
    evidence: Floats | None
    """Of each class, in nats, shape (n_classes,); None without a prior."""
    fit: MaximumLikelihoodFit


def compute_class_log_evidence(models: LanguageModels) -> Floats | None:
    """Return log p(counts_k | α) = log Γ(α_0) − log Γ(N_k + α_0) + Σ_j [log Γ(m_jk + α_j) − log Γ(α_j)] of each class, shape (n_classes,).

    α is that of the models, with the seed words of the class, and under MAP one more than the pseudo-counts. None if there is no prior: maximum likelihood, or no pseudo-counts.
    −inf for a class with a term whose α_j is 0.
    """
    statistics = models.statistics
    more = float(models.estimate == "map")
    if (
        models.estimate == "ml"
        or models.smoothing + models.term_pseudo_counts.pseudo_counts.sum() + more <= 0
    ):
        return None
    cells = models.selected[statistics.cell_terms]
    terms = statistics.cell_terms[cells]
    classes = statistics.cell_classes[cells]
    counts = statistics.observed_counts.cell_counts[cells]
    of_terms, total = models.compute_pseudo_counts(terms)
    tokens = statistics.observed_counts.count_tokens(models.selected)
    alpha = of_terms[:, 0] + more
    alpha_0 = total + more * models.n_outcomes + (models.class_tokens - tokens)
    alpha += statistics.cell_counts[cells] - counts
    of_cells = np.bincount(
        classes, log_rising_factorial(alpha, counts), statistics.n_classes
    ).astype(np.float64)
    if not models.n_outcomes:
        return of_cells
    return of_cells - log_rising_factorial(alpha_0, tokens)


def compute_label_log_evidence(kind: object, prior: Floats, class_documents: Ints) -> float | None:
    """Return log p(labels) of all documents: for ``smoothed:A`` with a Dirichlet prior of A for each class, else Σ_k D_k log π_k of fixed π.

    None for ``empirical``, which is maximum likelihood and has no prior.
    """
    if isinstance(kind, str) and kind.startswith("smoothed:") and float(kind.partition(":")[2]) > 0:
        added = float(kind.partition(":")[2])
        n_classes = class_documents.size
        return float(
            log_rising_factorial(added, class_documents).sum()
            - log_rising_factorial(added * n_classes, class_documents.sum())
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


def compute_model_posteriors(log_evidences: Sequence[float]) -> list[ModelPosterior]:
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


def measure_term_fit(models: LanguageModels) -> MaximumLikelihoodFit:
    """Return log L = Σ_k Σ_j m_jk log(m_jk / N_k) and |θ| = K (V − 1), over the selected terms; smoothing has no part in it."""
    statistics = models.statistics.observed_counts
    cells = models.selected[statistics.cell_terms]
    counts = statistics.cell_counts[cells]
    tokens = statistics.count_tokens(models.selected)[statistics.cell_classes[cells]]
    log_likelihood = _log_likelihood(counts, divide_or_zero(counts, tokens))
    return MaximumLikelihoodFit(
        log_likelihood,
        statistics.n_classes * max(models.n_outcomes - 1, 0),
        to_int_or_float(counts.sum()),
    )


def measure_label_fit(kind: object, prior: Floats, class_documents: Ints) -> MaximumLikelihoodFit:
    """Return log L = Σ_k D_k log π_k and |θ| = K − 1, or 0 for a class prior that is ``uniform`` or given and thereby fixed."""
    free = isinstance(kind, str) and kind != "uniform"
    n_documents = class_documents.sum()
    log_likelihood = _log_likelihood(
        class_documents, class_documents / max(n_documents, 1) if free else prior
    )
    return MaximumLikelihoodFit(
        log_likelihood, (class_documents.size - 1) * free, to_int_or_float(n_documents)
    )


def _log_likelihood(counts: Numbers, probabilities: Floats) -> float:
    """Return Σ m log p over m above 0; −inf if something impossible has occurred."""
    occurred = counts > 0
    return float(counts[occurred] @ log(probabilities[occurred]))
