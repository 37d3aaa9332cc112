"""Complement naive Bayes: estimates each class from the text of all other classes, of which there is more.

θ_jk = (Σ_{l≠k} m_jl + α_j) / (Σ_{l≠k} N_l + α_0), and the score of a document is Σ_j n_jd w_jk with w_jk = −log θ_jk, without a class
prior. On tf-idf the weights of a class are divided by the sum of their absolute values, which is larger for classes with much text.
The scores are no log-likelihoods; `log_proportions` puts them on that scale for calibration. Source: J. Rennie, L. Shih, J. Teevan, D. Karger,
Tackling the poor assumptions of naive Bayes text classifiers (2003), sections 3 and 4, table 4 ("transformed weight-normalised").
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
"""Divisors in `log_proportions`, in parts of a document's length, from which calibration chooses; unchanged scores are best with few classes."""

SPREAD = "spread"
"""The array in the model file."""


def log_proportions(scores: Floats, size: Floats) -> Floats:
    """Return the logarithm of each class's share p_k of a document, from scores −size · log(part that is not of the class).

    ``scores`` and the result have the shape (n_docs, n_classes), ``size`` (n_docs,). The parts that are not of a class, 1 − p_k, sum to
    K − 1, so with q = softmax(−scores / size), p_k = 1 − (K − 1) q_k; for two classes that is the softmax of the scores. Below half of 1 / K
    the logarithm goes on as a straight line, and a thousandth of the scores is added, to keep the order. −inf is ignored and stays.
    """
    possible = scores > -np.inf
    scaled = (
        np.where(possible, scores - scores.max(axis=1, keepdims=True), 0.0) / size[:, np.newaxis]
    )
    others = np.where(possible, np.exp(scaled.min(axis=1, keepdims=True) - scaled), 0.0)
    n_classes = possible.sum(axis=1, keepdims=True)
    shares = 1 - (n_classes - 1) * others / others.sum(axis=1, keepdims=True)
    least = 0.5 / n_classes
    logs = np.log(np.maximum(shares, least)) + np.minimum(shares - least, 0.0) / least
    return np.where(possible, logs + scaled / 1000, -np.inf)


@dataclass(frozen=True, eq=False)
class ComplementNaiveBayes(WeightedCountsClassifier):
    """For every class the language model of the others."""

    DEFAULT_PSEUDO_COUNT: ClassVar[float] = 0.2

    length_divisor: float | None = None
    """One of `LENGTH_DIVISORS`, or None for scores as they are."""

    @classmethod
    def choose_smoothing(cls, training: Training) -> float:
        """Return the pseudo-count of the greatest evidence of the complements; a fifth for tf-idf, where evidence adds too much to n-grams."""
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
        """Raise `UsageError` without smoothing: a term of one class only would decide alone."""
        if not self.training.term_pseudo_counts.minimum(self.training.smoothing) > 0:
            raise UsageError(
                "--classifier complement needs smoothing",
                hint="give --smoothing a number above 0, and no --set estimate=ml",
            )

    def list_calibration_variants(self) -> tuple[Self, ...]:
        """Return models with the scores as they are, and as shares with each spread."""
        return (self, *(replace(self, length_divisor=spread) for spread in LENGTH_DIVISORS))

    def to_log_scale(self, scores: Floats, lengths: Ints) -> Floats:
        """Return `log_proportions` of the scores; the size of a document is its length, on tf-idf of unit length the square root of it."""
        if self.length_divisor is None:
            return scores
        return log_proportions(
            scores,
            self.length_divisor
            * np.maximum(lengths, 1) ** (0.5 if self.weighting == "tfidf" else 1.0),
        )

    def to_arrays(self) -> Arrays:
        """Return the weighted counts of the cells if they need documents, and the spread if there is one."""
        return {
            **super().to_arrays(),
            **({} if self.length_divisor is None else {SPREAD: np.array([self.length_divisor])}),
        }

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Return the model that had these `arrays`; raise `ModelError` if no model can have had them."""
        model = super().from_arrays(
            training, {name: array for name, array in arrays.items() if name != SPREAD}
        )
        if SPREAD not in arrays:
            return model
        require_valid_model(
            arrays[SPREAD].tolist() in [[spread] for spread in LENGTH_DIVISORS],
            "its scores have no such spread",
        )
        return replace(model, length_divisor=float(arrays[SPREAD][0]))

    @property
    def bias(self) -> Floats:
        """0 for every class, shape (n_classes,); −inf for one without documents."""
        return np.where(self.counts.class_documents > 0, 0.0, -np.inf)

    def compute_weights(self, terms: Ints) -> Floats:
        """Return −log θ_jk, on tf-idf times `scale`, shape (n, n_classes); 0 for a term that has no weight anywhere under a background prior."""
        probability = self.compute_probability(terms)
        return (
            -np.log(probability, out=np.zeros_like(probability), where=probability > 0)
            * self.weight_scale
        )

    @cached_property
    def complement_tokens(self) -> Floats:
        """Σ_{l≠k} N_l, weighted tokens of selected terms in all other classes, shape (n_classes,)."""
        tokens = self.language_models.class_tokens
        return np.maximum(tokens.sum() - tokens, 0.0)

    def _other_counts(self, terms: Ints) -> Numbers:
        """Return Σ_{l≠k} m_jl, shape (n, n_classes)."""
        return self.counts.term_counts[terms][:, np.newaxis] - self.counts.get_dense_counts(terms)

    def compute_probability(self, terms: Ints) -> Floats:
        """Return θ_jk of selected terms, shape (n, n_classes)."""
        return posterior_mean(
            self._other_counts(terms),
            self.complement_tokens,
            *self.language_models.compute_pseudo_counts(terms),
        )

    @cached_property
    def weight_scale(self) -> Floats:
        """The factor of the weights of a class, shape (n_classes,): 1, or on tf-idf c / Σ_j |log θ_jk|.

        c is the mean of these sums over the classes; it keeps scores on the scale of log-likelihoods. The sums are computed from the cells,
        because a term has the same numerator in all classes that do not hold it.
        """
        if self.weighting != "tfidf":
            return np.ones(self.counts.n_classes)
        counts, (added, total) = (
            self.counts,
            self.language_models.compute_pseudo_counts(np.arange(self.counts.n_terms)),
        )
        pseudo_counts = added[:, 0]
        numerators = np.where(self.get_scored_terms(), counts.term_counts + pseudo_counts, 0.0)
        possible = numerators > 0
        of_all = np.log(numerators, out=np.zeros_like(numerators), where=possible)
        cells = possible[counts.cell_terms]
        holding = counts.cell_terms[cells]
        labels = counts.cell_classes[cells]
        remaining = numerators[holding] - counts.cell_counts[cells]
        remaining = np.where(
            remaining > 0, remaining, pseudo_counts[holding]
        )  # lost beside the counts of a term of one class only
        less = np.log(remaining) - of_all[holding]
        n_terms = np.count_nonzero(possible)
        sums = -of_all.sum() - np.bincount(labels, less, counts.n_classes)
        if n_terms:
            sums += n_terms * np.log(self.complement_tokens + total)
        present = (counts.class_documents > 0) & (sums > 0)
        mean = sums[present].mean() if present.any() else 1.0
        return np.divide(mean, sums, out=np.ones_like(sums), where=present)
