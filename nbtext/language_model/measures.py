"""Measures of language models: how well they predict text and fit the counts, in nats.

- Perplexity of held-out text: the number of equally probable terms that are as hard to predict.
  Sources: D. Jurafsky, J. Martin, Speech and language processing (2009), section 4.4; F. Jelinek
  and others (1977).
- Evidence, AIC and BIC of class prior and language models. They compare settings over the same
  counts, but not vocabularies, selections or n-grams of different size. Sources: Gambosi's notes,
  "Model selection"; H. Akaike, A new look at the statistical model identification (1974);
  G. Schwarz, Estimating the dimension of a model (1978); C. Manning, P. Raghavan, H. Schütze,
  Introduction to Information Retrieval (IIR), for the example.
- Posterior probabilities of models and Bayes factors. Sources: Gambosi's notes, "Model selection";
  R. Kass, A. Raftery, Bayes factors (1995), section 3.2 for the words.

A cell is a pair of a term and a class with a count above 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.counts.count_table import to_int_or_float
from nbtext.counts.vocabulary import mask_categories
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
    """All tokens, known and unknown."""
    unknown: Ints
    """Tokens of terms that the language models do not contain."""
    log_likelihood: Floats
    """Σ log φ_jk of all tokens, in nats; −inf if a token has probability 0."""

    @classmethod
    def empty(cls, n_classes: int) -> HeldOutText:
        """Return the sums over no documents."""
        zeros = np.zeros(n_classes, np.int64)
        return cls(zeros, zeros, zeros, np.zeros(n_classes))

    def merge(self, text: HeldOutText) -> HeldOutText:
        """Return the sums over the documents of both texts."""
        return HeldOutText(*map(np.add, self, text))  # field by field

    @property
    def perplexity(self) -> Floats:
        """The perplexity of each class, shape (n_classes,). It is nan without tokens."""
        return perplexity(self.log_likelihood, self.tokens)


def perplexity(log_likelihood: Floats, tokens: Ints) -> Floats:
    """Return exp(−log L / n) for n tokens of likelihood L; nan if n is 0, inf if L is 0.

    Three tokens, each of probability 1/4:

    >>> perplexity(np.array([3 * np.log(1 / 4)]), np.array([3])).round(9).tolist()
    [4.0]
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.exp(-log_likelihood / tokens)


def measure_held_out_text(
    models: LanguageModels, matrix: DocumentTermMatrix, classes: Ints
) -> HeldOutText:
    """Return the sums over documents, each under the language model of its class.

    ``classes`` are class indices, shape (n_docs,). An unknown token counts as a token of a term
    that occurs in no training document.
    """
    n_classes = models.statistics.n_classes
    text_matrix = matrix.select_terms(~mask_categories(models.statistics.vocabulary))
    selected_matrix = text_matrix.select_terms(models.selected)
    selected_tokens = selected_matrix.known_tokens
    tokens = text_matrix.known_tokens + text_matrix.unknown_tokens
    class_unknown = np.bincount(classes, tokens - selected_tokens, n_classes).astype(np.int64)
    log_likelihood = _sum_log_likelihoods(models, selected_matrix, classes)
    log_likelihood += times_log(class_unknown, models.estimate_log_unseen_probability())
    return HeldOutText(
        documents=np.bincount(classes, minlength=n_classes),
        tokens=np.bincount(classes, tokens, n_classes).astype(np.int64),
        unknown=class_unknown,
        log_likelihood=log_likelihood,
    )


def _sum_log_likelihoods(
    models: LanguageModels, matrix: DocumentTermMatrix, classes: Ints
) -> Floats:
    """Return Σ log φ_jk of tokens of selected terms, by class of the document, (n_classes,)."""
    statistics = models.statistics
    entry_classes = classes[matrix.entry_documents]
    cells = find_sorted(statistics.cell_keys, pair(matrix.terms, entry_classes))
    has_cell = cells >= 0
    counts = np.zeros_like(statistics.cell_counts, shape=cells.size)
    counts[has_cell] = statistics.cell_counts[cells[has_cell]]
    class_tokens = models.class_tokens[entry_classes]
    log_probability = log(models.estimate_probability(matrix.terms, counts, class_tokens))
    sums = np.bincount(entry_classes, matrix.counts * log_probability, statistics.n_classes)
    return sums.astype(np.float64)


class MaximumLikelihoodFit(NamedTuple):
    """A maximum-likelihood fit, with its information criteria.

    Log-likelihood −10 with 3 parameters and 100 tokens: AIC = 6 + 20, BIC = 3 log 100 + 20.

    >>> fit = MaximumLikelihoodFit(log_likelihood=-10, n_parameters=3, n_observations=100)
    >>> fit.aic, round(fit.bic, 2)
    (26, 33.82)
    """

    log_likelihood: float
    """log L, in nats."""
    n_parameters: int
    """|θ|, the number of free parameters."""
    n_observations: float
    """n of the BIC: the number of tokens of texts, otherwise of documents."""

    @property
    def aic(self) -> float:
        """AIC = 2 |θ| − 2 log L. Lower is better."""
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """BIC = |θ| log n − 2 log L. Lower is better."""
        log_n = float(np.log(max(self.n_observations, 1)))
        return self.n_parameters * log_n - 2 * self.log_likelihood


class ComponentFit(NamedTuple):
    """How well a component of a model, such as text or an attribute, fits its data."""

    component: str
    evidence: Floats | None
    """Log evidence of each class, in nats, shape (n_classes,). None if there is no prior."""
    fit: MaximumLikelihoodFit


def compute_class_log_evidence(models: LanguageModels) -> Floats | None:
    """Return log p(counts_k | α) of each class, in nats, shape (n_classes,).

    log p = log Γ(α_0) − log Γ(N_k + α_0) + Σ_j [log Γ(m_jk + α_j) − log Γ(α_j)], where α are the
    pseudo-counts and seed words of the class, plus 1 under MAP. Return None if there is no prior:
    for maximum likelihood, or if all α_j are 0. A class has −inf if one of its terms has α_j = 0.

    IIR, example 13.1, with V = 6 and α_j = 1. Class no has 3 tokens of different terms:
    1·1·1 / (6·7·8) = 1/336. Class yes has one term 5 times and three terms once, 8 tokens:
    5! / (6·7·8·9·10·11·12·13) = 1/432432.

    >>> from nbtext import TextClassifier
    >>> model = TextClassifier(stemmer="none", stop_words="none", calibration="none", smoothing=1)
    >>> texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao"]
    >>> texts.append("Tokyo Japan Chinese")
    >>> models = model.fit(texts, ["yes", "yes", "yes", "no"]).fitted.language_models
    >>> np.exp(-compute_class_log_evidence(models)).round(3).tolist()
    [336.0, 432432.0]
    """
    statistics = models.statistics
    observed = statistics.observed_counts
    mode_shift = models.mode_shift
    has_pseudo_counts = models.smoothing > 0 or np.any(models.term_pseudo_counts.pseudo_counts > 0)
    if models.estimate == "ml" or not (has_pseudo_counts or mode_shift):
        return None
    is_selected = models.selected[statistics.cell_terms]
    terms = statistics.cell_terms[is_selected]
    classes = statistics.cell_classes[is_selected]
    counts = observed.cell_counts[is_selected]
    # both have the same cells, and the difference of the counts are the seed words
    seeds = statistics.cell_counts[is_selected] - counts
    tokens = observed.count_tokens(models.selected)
    seed_tokens = models.class_tokens - tokens

    alpha = models.compute_pseudo_counts(terms) + mode_shift + seeds
    alpha_0 = models.pseudo_tokens + mode_shift * models.n_outcomes + seed_tokens
    log_gains = log_rising_factorial(alpha, counts)
    term_sums = np.bincount(classes, log_gains, statistics.n_classes).astype(np.float64)
    if not models.n_outcomes:
        return term_sums  # zeros: without outcomes, log Γ(α_0) would be infinite
    return term_sums - log_rising_factorial(alpha_0, tokens)


def _is_fixed(class_prior: object) -> bool:
    """Return whether π of the setting is ``uniform`` or set by the user, not from the labels."""
    return class_prior == "uniform" or not isinstance(class_prior, str)


def compute_label_log_evidence(
    class_prior: object, prior: Floats, class_documents: Ints
) -> float | None:
    """Return log p(labels) of all documents, in nats.

    ``class_prior`` is the setting. For a fixed π, the result is Σ_k D_k log π_k. ``smoothed:A`` is
    a Dirichlet prior with A for each class. Return None for ``empirical`` or if A is 0, which is
    maximum likelihood without a prior.

    With A = 1, 3 documents of one class and 1 of another have (1·2·3)·1 / (2·3·4·5) = 1/20:

    >>> documents = np.array([3, 1])
    >>> log_evidence = compute_label_log_evidence("smoothed:1", documents / 4, documents)
    >>> round(float(np.exp(-log_evidence)), 9)
    20.0
    """
    if _is_fixed(class_prior):
        return _sum_log_likelihood(class_documents, prior)
    if class_prior == "empirical":
        return None
    alpha = float(str(class_prior).removeprefix("smoothed:"))
    if alpha <= 0:
        return None
    class_gains = log_rising_factorial(alpha, class_documents)
    total_gain = log_rising_factorial(alpha * class_documents.size, class_documents.sum())
    return float(class_gains.sum() - total_gain)


BAYES_FACTORS_IN_WORDS = (
    (2.0, "not worth more than a bare mention"),
    (6.0, "positive"),
    (10.0, "strong"),
    (float("inf"), "very strong"),
)
"""Words for the evidence for the better of two models, each with its upper limit of 2 log B.

Source: Kass, Raftery (1995).
"""


class ModelPosterior(NamedTuple):
    """The posterior of one of several models of the same data, with equal prior probabilities."""

    probability: float
    """p(m | data)."""
    log_bayes_factor: float
    """log B, in nats: the log evidence of the best model minus the log evidence of this model."""
    evidence_for_best: str
    """Words of `BAYES_FACTORS_IN_WORDS`; empty for the best model."""


def compute_model_posteriors(log_evidences: Sequence[float]) -> list[ModelPosterior]:
    """Return p(m | data) = p(data | m) / Σ_l p(data | l), and Bayes factors of the best model.

    ``log_evidences`` are in nats. A model with −inf has the probability 0. Raise `ValueError` if
    all models have −inf.

    Two models with the evidences 3/10 and 1/10:

    >>> best, other = compute_model_posteriors([np.log(3 / 10), np.log(1 / 10)])
    >>> round(best.probability, 9), round(float(np.exp(other.log_bayes_factor)), 9)
    (0.75, 3.0)
    """
    best = max(log_evidences)
    if best == -np.inf:
        raise ValueError("the data are impossible under every model")
    log_factors = [best - log_evidence for log_evidence in log_evidences]
    ratios = [float(np.exp(-log_factor)) for log_factor in log_factors]
    total = sum(ratios)
    return [
        ModelPosterior(ratio / total, log_factor, _describe_bayes_factor(log_factor))
        for ratio, log_factor in zip(ratios, log_factors, strict=True)
    ]


def _describe_bayes_factor(log_factor: float) -> str:
    """Return the words for a log Bayes factor in nats, or "" for 0."""
    if not log_factor:
        return ""
    return next(words for limit, words in BAYES_FACTORS_IN_WORDS if 2 * log_factor <= limit)


def measure_term_fit(models: LanguageModels) -> MaximumLikelihoodFit:
    """Return log L = Σ_k Σ_j m_jk log(m_jk / N_k) and |θ| = K (V − 1), over selected terms.

    Smoothing has no effect.
    """
    observed = models.statistics.observed_counts
    is_selected = models.selected[observed.cell_terms]
    counts = observed.cell_counts[is_selected]
    class_tokens = observed.count_tokens(models.selected)
    tokens = class_tokens[observed.cell_classes[is_selected]]
    return MaximumLikelihoodFit(
        log_likelihood=_sum_log_likelihood(counts, divide_or_zero(counts, tokens)),
        n_parameters=observed.n_classes * max(models.n_outcomes - 1, 0),
        n_observations=to_int_or_float(counts.sum()),
    )


def measure_label_fit(
    class_prior: object, prior: Floats, class_documents: Ints
) -> MaximumLikelihoodFit:
    """Return log L = Σ_k D_k log π_k and |θ| = K − 1 of the class prior.

    ``class_prior`` is the setting. A fixed π has no free parameters.
    """
    n_documents = class_documents.sum()
    probabilities = prior
    n_parameters = 0
    if not _is_fixed(class_prior):
        probabilities = class_documents / max(n_documents, 1)
        n_parameters = class_documents.size - 1
    return MaximumLikelihoodFit(
        log_likelihood=_sum_log_likelihood(class_documents, probabilities),
        n_parameters=n_parameters,
        n_observations=to_int_or_float(n_documents),
    )


def _sum_log_likelihood(counts: Numbers, probabilities: Floats) -> float:
    """Return Σ m log p over counts m above 0, −inf if the p of such a count is 0."""
    occurs = counts > 0
    return float(counts[occurs] @ log(probabilities[occurs]))
