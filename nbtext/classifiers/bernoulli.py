"""Bernoulli naive Bayes: for every term a document of class k tosses a coin, so absent terms count too.

log p(d, C_k) = log π_k + Σ_j [x_j log θ_jk + (1 − x_j) log(1 − θ_jk)], x_j = 1 if the document holds term j. This is linear in x, with the
bias log π_k + Σ_j log(1 − θ_jk) and weights log(θ_jk / (1 − θ_jk)), so documents stay sparse. θ_jk is estimated under a Beta prior.
Sources: IIR section 13.3; McCallum, Nigam (1998); Gambosi's notes, "Bernoulli and Beta".
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from nbtext.classifiers.base import (
    LabelClassifier,
    Training,
    class_conditionals,
    difference,
    own_parameters,
    part_fits,
)
from nbtext.counts.count_table import whole_or_float
from nbtext.counts.matrix import (
    TERM_WEIGHTS_AT_ONCE,
    DocumentTermMatrix,
    add_weighted_sums,
    in_blocks,
)
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import log, share
from nbtext.prediction.calibration import OF_COUNTS

if TYPE_CHECKING:
    from nbtext.classifiers.inspection import OwnParameters, TermProbabilities, TwoClassBoundary
    from nbtext.language_model.measures import PartFit
    from nbtext.type_names import Floats, Numbers, OfTerms, ScoresAndTokens, Whole


def beta_mean(successes: Numbers, trials: Numbers, a: Floats | float, b: Floats | float) -> Floats:
    """Return θ = (n_1 + a) / (n + a + b), the mean of the posterior Beta(n_1 + a, n_0 + b).

    ``successes`` n_1 and ``trials`` n have shapes that broadcast; in Bernoulli naive Bayes they are documents that hold a term, and documents.

    >>> float(beta_mean(np.array(3.0), np.array(3.0), 1, 1))  # IIR example 13.2, P(Chinese | yes)
    0.8
    """
    return share(successes + a, trials + a + b)


def beta_mode(successes: Numbers, trials: Numbers, a: Floats | float, b: Floats | float) -> Floats:
    """Return θ = (n_1 + a − 1) / (n + a + b − 2), the mode of the posterior, for a and b of at least 1; shapes as in `beta_mean`."""
    return share(successes + a - 1, trials + a + b - 2)


@dataclass(frozen=True, eq=False)
class BernoulliNaiveBayes(LabelClassifier):
    """A class prior π and coins θ, estimated from the documents that hold each term; a pseudo-count is added to each side of a coin."""

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Return the model that follows from the counts."""
        return cls(training)

    @classmethod
    def smoothing(cls, training: Training) -> float:
        """Return the pseudo-count of the greatest evidence of presences and absences, of a Beta distribution with both parameters the same."""
        from nbtext.language_model.smoothing import coin_histogram, smoothing_by_evidence

        histogram = coin_histogram(training.statistics, training.selected)
        return smoothing_by_evidence(histogram, training.settings.prior_shape)

    @property
    def usual_exponent(self) -> float:
        """`OF_COUNTS`."""
        return OF_COUNTS

    @cached_property
    def bias(self) -> Floats:
        """log π_k + Σ_j log(1 − θ_jk) over θ_jk below 1, shape (n_classes,): the score of a document without terms, if no term is certain."""
        return self.log_prior + self.sum_over_terms(self._log_absence)

    def weights(self, terms: Whole) -> Floats:
        """Return log θ_jk − log(1 − θ_jk), shape (n, n_classes); log θ_jk where θ_jk is 1, which the bias leaves out."""
        return log(self.probability(terms)) - self._log_absence(terms)

    def against(self, everything: Self, terms: Whole) -> Floats:
        """Return log θ_jk/(1 − θ_jk) less that of the documents without the class, shape (n, n_classes), in nats."""
        presence, absence = self._of_rest(everything, terms)
        return self.weights(terms) - np.log(presence) + np.log(absence)

    def bias_against(self, everything: Self) -> Floats:
        """Return Σ_j log(1 − θ_jk) less that of the documents without the class, shape (n_classes,), in nats."""
        return self.sum_over_terms(
            lambda terms: np.log(self.absence(terms)) - np.log(self._of_rest(everything, terms)[1])
        )

    def _of_rest(self, everything: Self, terms: Whole) -> tuple[Floats, Floats]:
        """Return θ of the documents without each class, and 1 − θ."""
        holding = everything._holding(terms) - self._holding(terms)
        of_rest = (
            everything.training.statistics.class_documents
            - self.training.statistics.class_documents
        )
        presence, absence = self.pseudo_counts(terms)
        return self._estimate(holding, presence, absence, of_rest), self._estimate(
            of_rest - holding, absence, presence, of_rest
        )

    def features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return x_j."""
        return matrix._replace(counts=np.ones_like(matrix.counts))

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return bias and weights times features; −inf where without smoothing a document lacks a term that all documents of the class hold."""
        scores, lengths = super().joint_log_likelihood(matrix)
        if self.training.own.least(self.training.smoothing) + 1 == 1:
            found = np.zeros_like(scores)
            add_weighted_sums(
                found,
                self.features(matrix.of_terms(self.known())),
                self.known().size,
                self._certain,
            )
            scores[found < self.sum_over_terms(self._certain)] = -np.inf
        return scores, lengths

    def probability(self, terms: Whole) -> Floats:
        """Return θ_jk, shape (n, n_classes)."""
        return self._estimate(self._holding(terms), *self.pseudo_counts(terms))

    def absence(self, terms: Whole) -> Floats:
        """Return 1 − θ_jk, shape (n, n_classes); above 0 under any smoothing, because it is not computed from θ_jk."""
        presence, absence = self.pseudo_counts(terms)
        return self._estimate(
            self.training.statistics.class_documents - self._holding(terms), absence, presence
        )

    def _log_absence(self, terms: Whole) -> Floats:
        """Return log(1 − θ_jk), shape (n, n_classes), 0 in place of −inf."""
        absence = self.absence(terms)
        return np.log(absence, out=np.zeros_like(absence), where=absence > 0)

    def posteriors(self, terms: Whole) -> tuple[Floats, Floats]:
        """Return n_1 + a and n_0 + b of the posterior Beta of θ_jk, both of shape (n, n_classes); nan under maximum likelihood."""
        holding = self._holding(terms)
        settings = self.training.settings
        more = np.nan if settings.estimate == "ml" else float(settings.estimate == "map")
        a, b = (side + more for side in self.pseudo_counts(terms))
        return holding + a, self.training.statistics.class_documents - holding + b

    def pseudo_counts(self, terms: Whole) -> tuple[Floats, Floats]:
        """Return those of presences and of absences, each of shape (n, 1)."""
        presence = self.training.own.of(terms, self.training.smoothing)[:, np.newaxis]
        absence = self.training.settings.absence_smoothing
        return presence, presence if absence is None else np.full_like(presence, absence)

    def _holding(self, terms: Whole) -> Whole:
        return self.training.statistics.documents_of(terms)

    def _estimate(
        self, documents: Whole, a: Floats, b: Floats, of_class: Whole | None = None
    ) -> Floats:
        """Return the probability of one side of the coins, with pseudo-counts a of it and b of the other; by default tossed by the documents of a class."""
        tosses = self.training.statistics.class_documents if of_class is None else of_class
        if self.training.settings.estimate == "map":
            return beta_mode(documents, tosses, a + 1, b + 1)
        return beta_mean(documents, tosses, a, b)

    def _certain(self, terms: Whole) -> Floats:
        """Return 1 where every document of the class holds the term, else 0, shape (n, n_classes)."""
        return np.where(self.absence(terms) == 0, 1.0, 0.0)

    def sum_over_terms(self, values: OfTerms) -> Floats:
        """Return the sum over all selected terms of values of shape (n, n_classes), with at most `TERM_WEIGHTS_AT_ONCE` of them in memory."""
        total = np.zeros(self.training.statistics.n_classes)
        for terms in in_blocks(np.flatnonzero(self.known()), total.size, TERM_WEIGHTS_AT_ONCE):
            total += values(terms).sum(axis=0)
        return total


@class_conditionals.register(BernoulliNaiveBayes)
def coin_probabilities(classifier: BernoulliNaiveBayes) -> TermProbabilities:
    """Return θ_jk."""
    from nbtext.classifiers.inspection import TermProbabilities

    return TermProbabilities(
        symbol="θ",
        meaning="that a document of the class holds the term",
        selected=classifier.known(),
        probability=classifier.probability,
        posteriors=classifier.posteriors,
        absence=classifier.absence,
    )


@part_fits.register(BernoulliNaiveBayes)
def coin_fits(classifier: BernoulliNaiveBayes) -> list[PartFit]:
    """Return log B(n_1 + a, n_0 + b) − log B(a, b) and at maximum likelihood n_1 log θ + n_0 log(1 − θ), summed over coins; n are documents."""
    from scipy.special import betaln, xlogy

    from nbtext.language_model.measures import Fit, PartFit

    training = classifier.training
    statistics = classifier.training.statistics
    more = float(training.settings.estimate == "map")

    def evidence(terms: Whole) -> Floats:
        before = [side + more for side in classifier.pseudo_counts(terms)]
        with np.errstate(invalid="ignore"):
            found: Floats = betaln(*classifier.posteriors(terms)) - betaln(*before)
        return np.where(np.isnan(found), 0.0, found)  # a is 0, and no document holds the term

    cells = classifier.known()[statistics.cell_terms]
    holding = statistics.cell_documents[cells]
    tosses = statistics.class_documents[statistics.cell_classes[cells]]
    lacking = tosses - holding
    log_likelihood = xlogy(holding, holding / tosses) + xlogy(lacking, 1 - holding / tosses)
    n_coins = statistics.n_classes * int(np.count_nonzero(classifier.known()))
    n_documents = whole_or_float(statistics.class_documents.sum())
    fit = Fit(float(log_likelihood.sum()), n_coins, n_documents)
    absence = training.settings.absence_smoothing or 0.0
    pseudo_counts = training.smoothing + training.own.numbers.sum() + absence + more
    has_prior = training.settings.estimate != "ml" and pseudo_counts > 0
    return [PartFit("text", classifier.sum_over_terms(evidence) if has_prior else None, fit)]


@own_parameters.register(BernoulliNaiveBayes)
def bernoulli_parameters(classifier: BernoulliNaiveBayes) -> OwnParameters:
    """Return the boundary between two classes."""
    from nbtext.classifiers.inspection import OwnParameters

    is_pair = classifier.training.statistics.n_classes == 2
    return OwnParameters(two_classes=two_class_boundary(classifier) if is_pair else None)


def two_class_boundary(classifier: BernoulliNaiveBayes) -> TwoClassBoundary:
    """Return w_j = log θ_j(1 − θ'_j) / (θ'_j(1 − θ_j)) and b = log π/π' + Σ_j log (1 − θ_j)/(1 − θ'_j) for the classes θ and θ'."""
    from nbtext.classifiers.inspection import TwoClassBoundary

    terms = np.flatnonzero(classifier.known())
    weights = classifier.weights(terms)
    bias = difference(classifier.bias[:1], classifier.bias[1:])
    return TwoClassBoundary(terms, difference(weights[:, 0], weights[:, 1]), float(bias[0]))
