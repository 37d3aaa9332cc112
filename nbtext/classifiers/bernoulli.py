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
    compute_component_fits,
    get_classifier_parameters,
    get_term_probabilities,
    subtract_scores,
)
from nbtext.counts.count_table import to_int_or_float
from nbtext.counts.matrix import (
    MAX_BLOCK_TERM_WEIGHTS,
    DocumentTermMatrix,
    add_weighted_sums,
    iter_blocks,
)
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import divide_or_zero, log
from nbtext.prediction.calibration import COUNT_TEMPERATURE_EXPONENT

if TYPE_CHECKING:
    from nbtext.classifiers.inspection import (
        ClassifierParameters,
        TermProbabilities,
        TwoClassBoundary,
    )
    from nbtext.language_model.measures import ComponentFit
    from nbtext.type_names import Floats, Ints, Numbers, ScoresAndTokens, TermFunction


def beta_mean(successes: Numbers, trials: Numbers, a: Floats | float, b: Floats | float) -> Floats:
    """Return θ = (n_1 + a) / (n + a + b), the mean of the posterior Beta(n_1 + a, n_0 + b).

    ``successes`` n_1 and ``trials`` n have shapes that broadcast; in Bernoulli naive Bayes they are documents that hold a term, and documents.

    >>> float(beta_mean(np.array(3.0), np.array(3.0), 1, 1))  # IIR example 13.2, P(Chinese | yes)
    0.8
    """
    return divide_or_zero(successes + a, trials + a + b)


def beta_mode(successes: Numbers, trials: Numbers, a: Floats | float, b: Floats | float) -> Floats:
    """Return θ = (n_1 + a − 1) / (n + a + b − 2), the mode of the posterior, for a and b of at least 1; shapes as in `beta_mean`."""
    return divide_or_zero(successes + a - 1, trials + a + b - 2)


@dataclass(frozen=True, eq=False)
class BernoulliNaiveBayes(LabelClassifier):
    """A class prior π and coins θ, estimated from the documents that hold each term; a pseudo-count is added to each side of a coin."""

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Return the model that follows from the counts."""
        return cls(training)

    @classmethod
    def choose_smoothing(cls, training: Training) -> float:
        """Return the pseudo-count of the greatest evidence of presences and absences, of a Beta distribution with both parameters the same."""
        from nbtext.language_model.smoothing import (
            build_coin_histogram,
            choose_smoothing_by_evidence,
        )

        histogram = build_coin_histogram(training.statistics, training.selected)
        return choose_smoothing_by_evidence(histogram, training.settings.prior_shape)

    @property
    def default_length_exponent(self) -> float:
        """`COUNT_TEMPERATURE_EXPONENT`."""
        return COUNT_TEMPERATURE_EXPONENT

    @cached_property
    def bias(self) -> Floats:
        """log π_k + Σ_j log(1 − θ_jk) over θ_jk below 1, shape (n_classes,): the score of a document without terms, if no term is certain."""
        return self.log_prior + self.sum_over_terms(self._log_absence)

    def compute_weights(self, terms: Ints) -> Floats:
        """Return log θ_jk − log(1 − θ_jk), shape (n, n_classes); log θ_jk where θ_jk is 1, which the bias leaves out."""
        return log(self.compute_probability(terms)) - self._log_absence(terms)

    def compute_weights_vs_rest(self, everything: Self, terms: Ints) -> Floats:
        """Return log θ_jk/(1 − θ_jk) less that of the documents without the class, shape (n, n_classes), in nats."""
        presence, absence = self._of_rest(everything, terms)
        return self.compute_weights(terms) - np.log(presence) + np.log(absence)

    def compute_bias_vs_rest(self, everything: Self) -> Floats:
        """Return Σ_j log(1 − θ_jk) less that of the documents without the class, shape (n_classes,), in nats."""
        return self.sum_over_terms(
            lambda terms: (
                np.log(self.compute_absence_probability(terms))
                - np.log(self._of_rest(everything, terms)[1])
            )
        )

    def _of_rest(self, everything: Self, terms: Ints) -> tuple[Floats, Floats]:
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

    def compute_features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return x_j."""
        return matrix._replace(counts=np.ones_like(matrix.counts))

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return bias and weights times features; −inf where without smoothing a document lacks a term that all documents of the class hold."""
        scores, lengths = super().joint_log_likelihood(matrix)
        if self.training.term_pseudo_counts.minimum(self.training.smoothing) + 1 == 1:
            found = np.zeros_like(scores)
            add_weighted_sums(
                found,
                self.compute_features(matrix.select_terms(self.get_scored_terms())),
                self.get_scored_terms().size,
                self._certain,
            )
            scores[found < self.sum_over_terms(self._certain)] = -np.inf
        return scores, lengths

    def compute_probability(self, terms: Ints) -> Floats:
        """Return θ_jk, shape (n, n_classes)."""
        return self._estimate(self._holding(terms), *self.pseudo_counts(terms))

    def compute_absence_probability(self, terms: Ints) -> Floats:
        """Return 1 − θ_jk, shape (n, n_classes); above 0 under any smoothing, because it is not computed from θ_jk."""
        presence, absence = self.pseudo_counts(terms)
        return self._estimate(
            self.training.statistics.class_documents - self._holding(terms), absence, presence
        )

    def _log_absence(self, terms: Ints) -> Floats:
        """Return log(1 − θ_jk), shape (n, n_classes), 0 in place of −inf."""
        absence = self.compute_absence_probability(terms)
        return np.log(absence, out=np.zeros_like(absence), where=absence > 0)

    def compute_posteriors(self, terms: Ints) -> tuple[Floats, Floats]:
        """Return n_1 + a and n_0 + b of the posterior Beta of θ_jk, both of shape (n, n_classes); nan under maximum likelihood."""
        holding = self._holding(terms)
        settings = self.training.settings
        more = np.nan if settings.estimate == "ml" else float(settings.estimate == "map")
        a, b = (side + more for side in self.pseudo_counts(terms))
        return holding + a, self.training.statistics.class_documents - holding + b

    def pseudo_counts(self, terms: Ints) -> tuple[Floats, Floats]:
        """Return those of presences and of absences, each of shape (n, 1)."""
        presence = self.training.term_pseudo_counts.look_up(terms, self.training.smoothing)[
            :, np.newaxis
        ]
        absence = self.training.settings.absence_smoothing
        return presence, presence if absence is None else np.full_like(presence, absence)

    def _holding(self, terms: Ints) -> Ints:
        return self.training.statistics.get_dense_documents(terms)

    def _estimate(
        self, documents: Ints, a: Floats, b: Floats, of_class: Ints | None = None
    ) -> Floats:
        """Return the probability of one side of the coins, with pseudo-counts a of it and b of the other; by default tossed by the documents of a class."""
        tosses = self.training.statistics.class_documents if of_class is None else of_class
        if self.training.settings.estimate == "map":
            return beta_mode(documents, tosses, a + 1, b + 1)
        return beta_mean(documents, tosses, a, b)

    def _certain(self, terms: Ints) -> Floats:
        """Return 1 where every document of the class holds the term, else 0, shape (n, n_classes)."""
        return np.where(self.compute_absence_probability(terms) == 0, 1.0, 0.0)

    def sum_over_terms(self, values: TermFunction) -> Floats:
        """Return the sum over all selected terms of values of shape (n, n_classes), with at most `MAX_BLOCK_TERM_WEIGHTS` of them in memory."""
        total = np.zeros(self.training.statistics.n_classes)
        for terms in iter_blocks(
            np.flatnonzero(self.get_scored_terms()), total.size, MAX_BLOCK_TERM_WEIGHTS
        ):
            total += values(terms).sum(axis=0)
        return total


@get_term_probabilities.register(BernoulliNaiveBayes)
def coin_probabilities(classifier: BernoulliNaiveBayes) -> TermProbabilities:
    """Return θ_jk."""
    from nbtext.classifiers.inspection import TermProbabilities

    return TermProbabilities(
        symbol="θ",
        meaning="that a document of the class holds the term",
        selected=classifier.get_scored_terms(),
        probability=classifier.compute_probability,
        posteriors=classifier.compute_posteriors,
        absence_probability=classifier.compute_absence_probability,
    )


@compute_component_fits.register(BernoulliNaiveBayes)
def measure_coin_fits(classifier: BernoulliNaiveBayes) -> list[ComponentFit]:
    """Return log B(n_1 + a, n_0 + b) − log B(a, b) and at maximum likelihood n_1 log θ + n_0 log(1 − θ), summed over coins; n are documents."""
    from scipy.special import betaln, xlogy

    from nbtext.language_model.measures import ComponentFit, MaximumLikelihoodFit

    training = classifier.training
    statistics = classifier.training.statistics
    more = float(training.settings.estimate == "map")

    def evidence(terms: Ints) -> Floats:
        before = [side + more for side in classifier.pseudo_counts(terms)]
        with np.errstate(invalid="ignore"):
            found: Floats = betaln(*classifier.compute_posteriors(terms)) - betaln(*before)
        return np.where(np.isnan(found), 0.0, found)  # a is 0, and no document holds the term

    cells = classifier.get_scored_terms()[statistics.cell_terms]
    holding = statistics.cell_documents[cells]
    tosses = statistics.class_documents[statistics.cell_classes[cells]]
    lacking = tosses - holding
    log_likelihood = xlogy(holding, holding / tosses) + xlogy(lacking, 1 - holding / tosses)
    n_coins = statistics.n_classes * int(np.count_nonzero(classifier.get_scored_terms()))
    n_documents = to_int_or_float(statistics.class_documents.sum())
    fit = MaximumLikelihoodFit(float(log_likelihood.sum()), n_coins, n_documents)
    absence = training.settings.absence_smoothing or 0.0
    pseudo_counts = (
        training.smoothing + training.term_pseudo_counts.pseudo_counts.sum() + absence + more
    )
    has_prior = training.settings.estimate != "ml" and pseudo_counts > 0
    return [ComponentFit("text", classifier.sum_over_terms(evidence) if has_prior else None, fit)]


@get_classifier_parameters.register(BernoulliNaiveBayes)
def bernoulli_parameters(classifier: BernoulliNaiveBayes) -> ClassifierParameters:
    """Return the boundary between two classes."""
    from nbtext.classifiers.inspection import ClassifierParameters

    is_pair = classifier.training.statistics.n_classes == 2
    return ClassifierParameters(
        two_class_boundary=compute_two_class_boundary(classifier) if is_pair else None
    )


def compute_two_class_boundary(classifier: BernoulliNaiveBayes) -> TwoClassBoundary:
    """Return w_j = log θ_j(1 − θ'_j) / (θ'_j(1 − θ_j)) and b = log π/π' + Σ_j log (1 − θ_j)/(1 − θ'_j) for the classes θ and θ'."""
    from nbtext.classifiers.inspection import TwoClassBoundary

    terms = np.flatnonzero(classifier.get_scored_terms())
    weights = classifier.compute_weights(terms)
    bias = subtract_scores(classifier.bias[:1], classifier.bias[1:])
    return TwoClassBoundary(terms, subtract_scores(weights[:, 0], weights[:, 1]), float(bias[0]))
