"""Complement naive Bayes: estimate each class from the text of all other classes.

θ_jk = (Σ_{l≠k} m_jl + α_j) / (Σ_{l≠k} N_l + α_0). The score of a document is Σ_j n_jd w_jk with
w_jk = −log θ_jk, without a class prior. m_jl is the (weighted) count of term j in class l, N_l the
sum of these counts. For tf-idf, the weights of a class are divided by the sum of their absolute
values, which is larger for classes with much text.

The scores are not log-likelihoods. For calibration, `log_proportions` turns them into
log-probabilities.
Source: J. Rennie, L. Shih, J. Teevan, D. Karger, Tackling the poor assumptions of naive Bayes text
classifiers (2003), sections 3 and 4, table 4 ("transformed weight-normalised").
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from nbtext.classifiers.base import get_default_smoothing
from nbtext.classifiers.multinomial import WeightedCountsClassifier
from nbtext.errors import UsageError, require_valid_model
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import posterior_mean

if TYPE_CHECKING:
    from nbtext.classifiers.base import Training
    from nbtext.type_names import Arrays, Floats, Ints, Numbers

LENGTH_DIVISORS = (2.0, 0.5, 0.125)
"""Divisors of scores in `log_proportions`, relative to the length of the document.

Calibration chooses one of them, or unchanged scores, which are best for few classes.
"""

ORDER_DIVISOR = 1000
"""Divisor of the scores that `log_proportions` adds to keep the order of the classes."""

LENGTH_DIVISOR_ARRAY = "spread"
"""Name of the array in the model file."""


def log_proportions(scores: Floats, sizes: Floats) -> Floats:
    """Return the logarithm of the proportion p_k of a document that belongs to class k.

    ``scores`` are −size · log(1 − p_k) plus a constant of the document. The scores and the result
    have the shape (n_docs, n_classes), ``sizes`` (n_docs,). −inf excludes a class and stays −inf.

    The 1 − p_k of K classes sum to K − 1. So p_k = 1 − (K − 1) q_k, where q is the softmax of
    −scores / size. For two classes p is the softmax of scores / size. Below 1 / 2K a straight line
    continues the logarithm, and scores / size / `ORDER_DIVISOR` are added, so that the order of the
    classes stays the same.
    """
    is_possible = scores > -np.inf
    differences = np.where(is_possible, scores - scores.max(axis=1, keepdims=True), 0.0)
    scaled = differences / sizes[:, np.newaxis]
    # Up to a factor, 1 − p_k. The minimum avoids overflow.
    outside = np.where(is_possible, np.exp(scaled.min(axis=1, keepdims=True) - scaled), 0.0)
    n_classes = is_possible.sum(axis=1, keepdims=True)
    proportions = 1 - (n_classes - 1) * outside / outside.sum(axis=1, keepdims=True)
    threshold = 0.5 / n_classes
    # The straight line has the value and the slope of the logarithm at the threshold.
    line = np.minimum(proportions - threshold, 0.0) / threshold
    logs = np.log(np.maximum(proportions, threshold)) + line
    return np.where(is_possible, logs + scaled / ORDER_DIVISOR, -np.inf)


@dataclass(frozen=True, eq=False)
class ComplementNaiveBayes(WeightedCountsClassifier):
    """For each class the language model of all other classes, its complement.

    Take the corpus of IIR, example 13.1, with smoothing 1. The complement of class no is class yes,
    so θ of chinese is (5 + 1)/(8 + 6), and θ of tokyo (0 + 1)/(8 + 6). For class yes, both are
    (1 + 1)/(3 + 6):

    >>> from fractions import Fraction
    >>> from nbtext import TextClassifier
    >>> words = {"stemmer": "none", "stop_words": "none"}
    >>> model = TextClassifier(classifier="complement", smoothing=1, calibration="none", **words)
    >>> texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao"]
    >>> texts.append("Tokyo Japan Chinese")
    >>> complement = model.fit(texts, ["yes", "yes", "yes", "no"]).fitted.classifier
    >>> for term in complement.training.statistics.vocabulary.find(["chinese", "tokyo"]):
    ...     theta = np.exp(-complement.compute_weights(np.array([term])))
    ...     print(*(Fraction(p).limit_denominator(100) for p in theta.ravel().tolist()))
    3/7 2/9
    1/14 2/9

    The last document has the scores −3 log 3/7 − 2 log 1/14 for no and −5 log 2/9 for yes:

    >>> scores = model.joint_log_likelihood(["Chinese Chinese Chinese Tokyo Japan"])
    >>> scores.round(2).tolist()
    [[7.82, 7.52]]
    """

    DEFAULT_PSEUDO_COUNT: ClassVar[float] = 0.2

    length_divisor: float | None = None
    """One of `LENGTH_DIVISORS`, or None if `to_log_scale` returns the scores unchanged."""

    @classmethod
    def choose_smoothing(cls, training: Training) -> float:
        """Return the pseudo-count of the greatest evidence of the complements.

        For tf-idf return the default, because evidence adds too much to n-grams.
        """
        if training.settings.weighting == "tfidf":
            return get_default_smoothing(training, cls.DEFAULT_PSEUDO_COUNT)
        from nbtext.language_model.smoothing import (
            build_complement_histogram,
            choose_smoothing_by_evidence,
        )

        prior_shape = training.settings.prior_shape
        histogram = build_complement_histogram(
            training.compute_weighted_statistics(), training.selected, prior_shape
        )
        return choose_smoothing_by_evidence(histogram, prior_shape)

    def __post_init__(self) -> None:
        """Raise `UsageError` without smoothing.

        Otherwise a term that occurs in only one class would decide without all other terms.
        """
        if not self.training.term_pseudo_counts.find_minimum(self.training.smoothing) > 0:
            raise UsageError(
                "--classifier complement needs smoothing",
                hint="set --smoothing to a number above 0, and remove --set estimate=ml",
            )

    def list_calibration_variants(self) -> tuple[Self, ...]:
        """Return this model and a copy for each of `LENGTH_DIVISORS`."""
        scaled_models = [replace(self, length_divisor=divisor) for divisor in LENGTH_DIVISORS]
        return (self, *scaled_models)

    def to_log_scale(self, scores: Floats, lengths: Ints) -> Floats:
        """Return `log_proportions` of the scores, shape (n_docs, n_classes).

        The size of a document is its number of tokens times the divisor. For tf-idf, where
        documents are vectors of unit length, it is the square root of the number, times the
        divisor.
        """
        if self.length_divisor is None:
            return scores
        exponent = 1.0
        if self.weighting == "tfidf":
            exponent = 0.5
        sizes = self.length_divisor * np.maximum(lengths, 1) ** exponent
        return log_proportions(scores, sizes)

    def to_arrays(self) -> Arrays:
        """Return the sums of weights if they need documents, and the length divisor if not None."""
        arrays = dict(super().to_arrays())
        if self.length_divisor is not None:
            arrays[LENGTH_DIVISOR_ARRAY] = np.array([self.length_divisor])
        return arrays

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Restore the model from the result of `to_arrays`.

        Raise `ModelError` if the arrays cannot come from `to_arrays`.
        """
        inherited = {name: array for name, array in arrays.items() if name != LENGTH_DIVISOR_ARRAY}
        model = super().from_arrays(training, inherited)
        if LENGTH_DIVISOR_ARRAY not in arrays:
            return model
        divisors = arrays[LENGTH_DIVISOR_ARRAY]
        is_valid = divisors.shape == (1,) and divisors[0] in LENGTH_DIVISORS
        require_valid_model(is_valid, "the spread of its scores is invalid")
        return replace(model, length_divisor=float(divisors[0]))

    @property
    def bias(self) -> Floats:
        """0 for a class with documents, −inf for a class without documents, (n_classes,)."""
        return np.where(self.counts.class_documents > 0, 0.0, -np.inf)

    def compute_weights(self, terms: Ints) -> Floats:
        """Return −log θ_jk times `weight_scale`, shape (n, n_classes).

        Under a background prior, θ is 0 for a term that has no weight in any document. The weight
        of this term is 0.
        """
        probability = self.compute_probability(terms)
        logs = np.log(probability, out=np.zeros_like(probability), where=probability > 0)
        return -logs * self.weight_scale

    @cached_property
    def complement_tokens(self) -> Floats:
        """Σ_{l≠k} N_l, weighted tokens of scored terms in all other classes, (n_classes,)."""
        tokens = self.language_models.class_tokens
        return np.maximum(tokens.sum() - tokens, 0.0)  # rounding may leave −1e-16

    def _count_in_complements(self, terms: Ints) -> Numbers:
        """Return Σ_{l≠k} m_jl, shape (n, n_classes)."""
        term_counts = self.counts.term_counts[terms]
        return term_counts[:, np.newaxis] - self.counts.get_dense_counts(terms)

    def compute_probability(self, terms: Ints) -> Floats:
        """Return θ_jk of selected terms, shape (n, n_classes)."""
        pseudo_counts = self.language_models.compute_pseudo_counts(terms)
        return posterior_mean(
            self._count_in_complements(terms),
            self.complement_tokens,
            pseudo_counts[:, np.newaxis],
            self.language_models.pseudo_tokens,
        )

    @cached_property
    def weight_scale(self) -> Floats:
        """The factor of the weights of each class, shape (n_classes,).

        It is 1, but for tf-idf c / Σ_j |log θ_jk|, where c is the mean of these sums over the
        classes. So scores stay on the scale of log-likelihoods.
        """
        n_classes = self.counts.n_classes
        if self.weighting != "tfidf":
            return np.ones(n_classes)
        sums = self._sum_absolute_weights()
        has_weights = (self.counts.class_documents > 0) & (sums > 0)
        if not has_weights.any():
            return np.ones(n_classes)
        mean = sums[has_weights].mean()
        return np.divide(mean, sums, out=np.ones_like(sums), where=has_weights)

    def _sum_absolute_weights(self) -> Floats:
        """Return Σ_j |log θ_jk| over terms with a weight, shape (n_classes,).

        In all classes without term j, θ_jk has the same numerator. So the sum over the numerators
        of all terms is computed once for all classes. For each class, the terms that it contains
        change this sum. The denominators are added at the end.
        """
        counts = self.counts
        all_terms = np.arange(counts.n_terms)
        pseudo_counts = self.language_models.compute_pseudo_counts(all_terms)
        numerators = np.where(self.get_scored_terms(), counts.term_counts + pseudo_counts, 0.0)
        has_weight = numerators > 0
        logs = np.log(numerators, out=np.zeros_like(numerators), where=has_weight)

        is_weighted = has_weight[counts.cell_terms]
        cell_terms = counts.cell_terms[is_weighted]
        cell_classes = counts.cell_classes[is_weighted]
        cell_numerators = numerators[cell_terms] - counts.cell_counts[is_weighted]
        # Rounding may lose the pseudo-count next to the counts of a term of only one class.
        cell_numerators = np.where(cell_numerators > 0, cell_numerators, pseudo_counts[cell_terms])
        log_changes = np.log(cell_numerators) - logs[cell_terms]
        changes = np.bincount(cell_classes, log_changes, counts.n_classes)

        sums: Floats = -logs.sum() - changes
        n_terms = np.count_nonzero(has_weight)
        if n_terms:
            sums += n_terms * np.log(self.complement_tokens + self.language_models.pseudo_tokens)
        return sums
