"""Bernoulli naive Bayes: for every term a document of class k tosses a coin, and what it does not say counts too.

log p(d, C_k) = log π_k + Σ_j [x_j log θ_jk + (1 − x_j) log(1 − θ_jk)], x_j = 1 if the document holds term j. Linear in x: the bias is
log π_k + Σ_j log(1 − θ_jk), the weight of a term log(θ_jk / (1 − θ_jk)), so documents stay sparse. θ_jk is estimated under a Beta prior.
Sources: IIR section 13.3; McCallum, Nigam (1998); Gambosi's notes, "Bernoulli and Beta".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nbtext.classifiers.base import LinearClassifier, TermProbabilities, Training, class_prior
from nbtext.counts.matrix import TERM_WEIGHTS_AT_ONCE, add_weighted_sums
from nbtext.language_model.dirichlet import beta_intervals, share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics

    Floats = NDArray[np.float64]

OF_DOCUMENTS = "that a document of the class holds the term"


def beta_mean(successes: Floats, trials: Floats, a: Floats | float, b: Floats | float) -> Floats:
    """θ = (n_1 + a) / (n + a + b), the mean of the posterior Beta(n_1 + a, n_0 + b).

    ``successes`` n_1 and ``trials`` n, in Bernoulli naive Bayes documents that hold a term and documents, have shapes that broadcast.

    >>> float(beta_mean(np.array(3.0), np.array(3.0), 1, 1))  # IIR example 13.2, P(Chinese | yes)
    0.8
    """
    return share(successes + a, trials + a + b)


def beta_mode(successes: Floats, trials: Floats, a: Floats | float, b: Floats | float) -> Floats:
    """θ = (n_1 + a − 1) / (n + a + b − 2), the mode of the posterior, a and b at least 1. Shapes as in `beta_mean`."""
    return share(successes + a - 1, trials + a + b - 2)


def _finite_log(share: Floats) -> Floats:
    """log of a share, but 0 where it is 0."""
    logs: Floats = np.log(share, out=np.zeros(share.shape), where=share > 0)
    return logs


@dataclass(frozen=True, eq=False)
class BernoulliNaiveBayes(LinearClassifier):
    """A class prior π and coins θ, estimated from documents that hold each term; the pseudo-count goes to both sides of a coin."""

    WEIGHTINGS: ClassVar[tuple[str, ...]] = ("counts", "binary")
    PRIOR_SHAPES: ClassVar[tuple[str, ...]] = ("symmetric",)

    training: Training

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """The model that follows from the counts."""
        return cls(training)

    @classmethod
    def smoothing(cls, statistics: ClassStatistics, selected: NDArray[np.bool_], parameters: Mapping[str, Any]) -> float:
        """``auto`` is 0.1, far less than Laplace's 1: most terms are in few documents, and every absence counts."""
        del cls, statistics, selected, parameters
        return 0.1

    @cached_property
    def prior(self) -> Floats:
        """π_k, shape (n_classes,)."""
        return class_prior(self.training.parameters["class_prior"], self.training.statistics)

    @cached_property
    def bias(self) -> Floats:
        """log π_k + Σ_j log(1 − θ_jk), over θ_jk below 1, shape (n_classes,): the score of a document without terms, if none is certain."""
        with np.errstate(divide="ignore"):
            return np.log(self.prior) + self._over_terms(lambda terms: _finite_log(self.absence(terms)))

    def probability(self, terms: NDArray[np.int64]) -> Floats:
        """θ_jk of some terms, shape (n, n_classes)."""
        return self._estimate(self._holding(terms), terms)

    def absence(self, terms: NDArray[np.int64]) -> Floats:
        """1 − θ_jk of some terms, shape (n, n_classes), above 0 with whatever smoothing."""
        return self._estimate(self.training.statistics.class_documents - self._holding(terms), terms)

    def credible_intervals(self, terms: NDArray[np.int64]) -> Floats:
        """Return the credible intervals of θ_jk, shape (n, n_classes, 2), as quantiles of Beta(n_1 + a, n_0 + b); nan under maximum likelihood."""
        holding, parameters = self._holding(terms), self.training.parameters
        if parameters["estimate"] == "ml":
            return np.full((*holding.shape, 2), np.nan)
        added = self._added(terms) + (parameters["estimate"] == "map")
        return beta_intervals(holding + added, self.training.statistics.class_documents - holding + added)

    def term_probabilities(self) -> TermProbabilities:
        """Return θ_jk."""
        counts = self.training.statistics.documents_of
        return TermProbabilities("θ", OF_DOCUMENTS, self.training.selected, self.probability, counts, self.credible_intervals, self.absence)

    def _added(self, terms: NDArray[np.int64]) -> Floats:
        return self.training.own.of(terms, self.training.smoothing)[:, np.newaxis]

    def _holding(self, terms: NDArray[np.int64]) -> Floats:
        return self.training.statistics.documents_of(terms).astype(np.float64)

    def _estimate(self, documents: Floats, terms: NDArray[np.int64]) -> Floats:
        added = self._added(terms)
        of_class = self.training.statistics.class_documents.astype(np.float64)
        if self.training.parameters["estimate"] == "map":
            return beta_mode(documents, of_class, added + 1, added + 1)
        return beta_mean(documents, of_class, added, added)

    def weights(self, terms: NDArray[np.int64]) -> Floats:
        """log θ_jk − log(1 − θ_jk), shape (n, n_classes); 0 where θ_jk is 1, for there the bias has nothing to take back."""
        with np.errstate(divide="ignore"):
            weights: Floats = np.log(self.probability(terms)) - _finite_log(self.absence(terms))
        return weights

    def known(self) -> NDArray[np.bool_]:
        """The selected terms, shape (n_terms,)."""
        return self.training.selected

    def features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """x_j: whether the document holds the term."""
        return matrix._replace(counts=np.ones_like(matrix.counts))

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> tuple[Floats, NDArray[np.int64]]:
        """As of any linear classifier; −inf where without smoothing a document lacks a term that all documents of the class hold."""
        scores, lengths = super().joint_log_likelihood(matrix)
        if self.training.own.least(self.training.smoothing) + 1 == 1:
            selected = self.training.selected
            found = np.zeros_like(scores)
            add_weighted_sums(found, self.features(matrix.of_terms(selected)), selected.size, self._certain)
            scores[found < self._over_terms(self._certain)] = -np.inf
        return scores, lengths

    def _certain(self, terms: NDArray[np.int64]) -> Floats:
        """1 where every document of the class holds the term, else 0, shape (n, n_classes)."""
        return np.where(self.absence(terms) == 0, 1.0, 0.0)

    def _over_terms(self, of: Callable[[NDArray[np.int64]], Floats]) -> Floats:
        """The sum over all selected terms of what is of shape (n, n_classes), as many at a time as fit in `TERM_WEIGHTS_AT_ONCE`."""
        terms = np.flatnonzero(self.training.selected)
        total = np.zeros(self.training.statistics.n_classes)
        step = max(TERM_WEIGHTS_AT_ONCE // total.size, 1)
        for begin in range(0, terms.size, step):
            total += of(terms[begin : begin + step]).sum(axis=0)
        return total
