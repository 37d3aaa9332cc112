"""Bernoulli naive Bayes: a document of class k tosses a coin for each term, so absent terms count.

log p(d, C_k) = log π_k + Σ_j [x_j log θ_jk + (1 − x_j) log(1 − θ_jk)], with x_j = 1 if the document
contains term j. This is linear in x, with the bias log π_k + Σ_j log(1 − θ_jk) and the weights
log(θ_jk / (1 − θ_jk)), so documents stay sparse. θ_jk is estimated under a Beta prior.
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
    from nbtext.language_model.measures import ComponentFit, MaximumLikelihoodFit
    from nbtext.type_names import Floats, Ints, Numbers, ScoresAndTokens, TermFunction


def beta_mean(successes: Numbers, trials: Numbers, a: Floats | float, b: Floats | float) -> Floats:
    """Return θ = (n_1 + a) / (n + a + b), the mean of the posterior Beta(n_1 + a, n_0 + b).

    ``successes`` n_1 and ``trials`` n have shapes that broadcast. In Bernoulli naive Bayes they
    are the documents of a class that contain a term, and all documents of the class.

    >>> float(beta_mean(np.array(3), np.array(3), 1, 1))  # IIR example 13.2: P(Chinese | yes)
    0.8
    """
    return divide_or_zero(successes + a, trials + a + b)


def beta_mode(successes: Numbers, trials: Numbers, a: Floats | float, b: Floats | float) -> Floats:
    """Return θ = (n_1 + a − 1) / (n + a + b − 2), the mode of the posterior.

    ``a`` and ``b`` are at least 1. Shapes are those of `beta_mean`.
    """
    return divide_or_zero(successes + a - 1, trials + a + b - 2)


@dataclass(frozen=True, eq=False)
class BernoulliNaiveBayes(LabelClassifier):
    """A class prior π and a coin θ for each term and class.

    A pseudo-count is added to each side of a coin.

    IIR, example 13.2: is a document about China? With smoothing 1 and the classes no and yes, θ of
    chinese is (1 + 1)/(1 + 2) and (3 + 1)/(3 + 2), θ of tokyo is (1 + 1)/(1 + 2) and
    (0 + 1)/(3 + 2):

    >>> from fractions import Fraction
    >>> from nbtext import TextClassifier
    >>> words = {"stemmer": "none", "stop_words": "none"}
    >>> model = TextClassifier(classifier="bernoulli", smoothing=1, calibration="none", **words)
    >>> texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao"]
    >>> texts.append("Tokyo Japan Chinese")
    >>> coins = model.fit(texts, ["yes", "yes", "yes", "no"]).fitted.classifier
    >>> for term in coins.training.statistics.vocabulary.find(["chinese", "tokyo"]):
    ...     theta = coins.compute_probability(np.array([term]))
    ...     print(*(Fraction(p).limit_denominator(100) for p in theta.ravel().tolist()))
    2/3 4/5
    2/3 1/5
    """

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Estimate the model from the counts."""
        return cls(training)

    @classmethod
    def choose_smoothing(cls, training: Training) -> float:
        """Return the pseudo-count of the greatest evidence, under a symmetric Beta prior."""
        from nbtext.language_model.smoothing import (
            build_coin_histogram,
            choose_smoothing_by_evidence,
        )

        histogram = build_coin_histogram(training.statistics, training.selected)
        return choose_smoothing_by_evidence(histogram, training.settings.prior_shape)

    @property
    def default_length_exponent(self) -> float:
        """b of the usual temperature, `COUNT_TEMPERATURE_EXPONENT`."""
        return COUNT_TEMPERATURE_EXPONENT

    @cached_property
    def bias(self) -> Floats:
        """log π_k + Σ_j log(1 − θ_jk) over θ_jk below 1, shape (n_classes,).

        It is the score of a document without terms, if every θ_jk is below 1.
        """
        return self.log_prior + self.sum_over_terms(self._compute_log_absence)

    def compute_weights(self, terms: Ints) -> Floats:
        """Return log θ_jk − log(1 − θ_jk), shape (n, n_classes), in nats.

        Where θ_jk is 1, return log θ_jk, because the bias omits log(1 − θ_jk).
        """
        return log(self.compute_probability(terms)) - self._compute_log_absence(terms)

    def compute_weights_vs_rest(self, overall: Self, terms: Ints) -> Floats:
        """Return log θ_jk/(1 − θ_jk) minus this logarithm for documents outside the class, in nats.

        The shape is (n, n_classes).
        """
        presence, absence = self._estimate_rest(overall, terms)
        return self.compute_weights(terms) - np.log(presence) + np.log(absence)

    def compute_bias_vs_rest(self, overall: Self) -> Floats:
        """Return Σ_j log(1 − θ_jk) minus this sum for documents outside the class, in nats.

        The shape is (n_classes,).
        """

        def compute_log_absence_ratio(terms: Ints) -> Floats:
            _, rest_absence = self._estimate_rest(overall, terms)
            return np.log(self.compute_absence_probability(terms)) - np.log(rest_absence)

        return self.sum_over_terms(compute_log_absence_ratio)

    def _estimate_rest(self, overall: Self, terms: Ints) -> tuple[Floats, Floats]:
        """Return θ and 1 − θ of the documents outside each class, both (n, n_classes)."""
        term_documents = overall._count_documents(terms) - self._count_documents(terms)
        n_documents = (
            overall.training.statistics.class_documents - self.training.statistics.class_documents
        )
        presence, absence = self.compute_pseudo_counts(terms)
        theta = self._estimate_side(term_documents, n_documents, presence, absence)
        complement = self._estimate_side(
            n_documents - term_documents, n_documents, absence, presence
        )
        return theta, complement

    def compute_features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return x_j, which is 1 for each term of a document."""
        return matrix._replace(counts=np.ones_like(matrix.counts))

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return log p(d, C_k), shape (n_docs, n_classes), and the used tokens, (n_docs,).

        Without smoothing, log p is −inf if a document lacks a term that all documents of the class
        contain.
        """
        scores, lengths = super().joint_log_likelihood(matrix)
        min_pseudo_count = self.training.term_pseudo_counts.find_minimum(self.training.smoothing)
        # Rounding of the sum with a count loses a tiny pseudo-count.
        is_unsmoothed = min_pseudo_count + 1 == 1
        if is_unsmoothed:
            self._exclude_classes_of_absent_terms(scores, matrix)
        return scores, lengths

    def _exclude_classes_of_absent_terms(self, scores: Floats, matrix: DocumentTermMatrix) -> None:
        """Set ``scores`` to −inf if a document lacks a term that all documents of a class contain.

        ``scores`` have the shape (n_docs, n_classes). The bias omits these terms, which are certain
        in the class.
        """
        scored_terms = self.get_scored_terms()
        features = self.compute_features(matrix.select_terms(scored_terms))
        n_present = np.zeros_like(scores)
        add_weighted_sums(n_present, features, scored_terms.size, self._mark_certain_terms)
        n_certain = self.sum_over_terms(self._mark_certain_terms)
        scores[n_present < n_certain] = -np.inf

    def compute_probability(self, terms: Ints) -> Floats:
        """Return θ_jk, shape (n, n_classes)."""
        n_documents = self.training.statistics.class_documents
        presence, absence = self.compute_pseudo_counts(terms)
        return self._estimate_side(self._count_documents(terms), n_documents, presence, absence)

    def compute_absence_probability(self, terms: Ints) -> Floats:
        """Return 1 − θ_jk, shape (n, n_classes).

        Because it is not computed from θ_jk, it stays above 0 under any smoothing.
        """
        n_documents = self.training.statistics.class_documents
        presence, absence = self.compute_pseudo_counts(terms)
        absent_documents = n_documents - self._count_documents(terms)
        return self._estimate_side(absent_documents, n_documents, absence, presence)

    def _compute_log_absence(self, terms: Ints) -> Floats:
        """Return log(1 − θ_jk), shape (n, n_classes), with 0 instead of −inf."""
        absence = self.compute_absence_probability(terms)
        return np.log(absence, out=np.zeros_like(absence), where=absence > 0)

    def compute_posteriors(self, terms: Ints) -> tuple[Floats, Floats]:
        """Return n_1 + a and n_0 + b of the Beta posterior of θ_jk, both (n, n_classes).

        For the estimate ``map`` a and b are the pseudo-counts plus 1, because the mode of
        Beta(a, b) subtracts 1. Under maximum likelihood, which has no prior, both results are nan.
        """
        a, b = self.compute_priors(terms)
        term_documents = self._count_documents(terms)
        absent_documents = self.training.statistics.class_documents - term_documents
        return term_documents + a, absent_documents + b

    def compute_priors(self, terms: Ints) -> tuple[Floats, Floats]:
        """Return a and b of the Beta prior of θ_jk, both of shape (n, 1)."""
        estimate = self.training.settings.estimate
        mode_shift = 1.0 if estimate == "map" else 0.0
        if estimate == "ml":
            mode_shift = np.nan
        presence, absence = self.compute_pseudo_counts(terms)
        return presence + mode_shift, absence + mode_shift

    def compute_pseudo_counts(self, terms: Ints) -> tuple[Floats, Floats]:
        """Return the pseudo-counts of presence and of absence, both of shape (n, 1)."""
        training = self.training
        presence = training.term_pseudo_counts.look_up(terms, training.smoothing)[:, np.newaxis]
        absence_smoothing = training.settings.absence_smoothing
        if absence_smoothing is None:
            return presence, presence
        return presence, np.full_like(presence, absence_smoothing)

    def _count_documents(self, terms: Ints) -> Ints:
        """Return the documents of each class that contain each term, shape (n, n_classes)."""
        return self.training.statistics.get_dense_documents(terms)

    def _estimate_side(
        self, side_documents: Ints, n_documents: Ints, a: Floats, b: Floats
    ) -> Floats:
        """Return the probability of one side of the coins, presence or absence.

        ``side_documents`` and the result have the shape (n, n_classes), ``n_documents`` of each
        class (n_classes,). ``a`` is the pseudo-count of this side, ``b`` of the opposite side.
        """
        if self.training.settings.estimate == "map":
            return beta_mode(side_documents, n_documents, a + 1, b + 1)
        return beta_mean(side_documents, n_documents, a, b)

    def _mark_certain_terms(self, terms: Ints) -> Floats:
        """Return 1 where every document of the class contains the term, else 0."""
        return np.where(self.compute_absence_probability(terms) == 0, 1.0, 0.0)

    def sum_over_terms(self, compute_values: TermFunction) -> Floats:
        """Return the sum over all scored terms of values of shape (n, n_classes).

        At most `MAX_BLOCK_TERM_WEIGHTS` values are in memory at once.
        """
        total = np.zeros(self.training.statistics.n_classes)
        scored_terms = np.flatnonzero(self.get_scored_terms())
        for terms in iter_blocks(scored_terms, total.size, MAX_BLOCK_TERM_WEIGHTS):
            total += compute_values(terms).sum(axis=0)
        return total


@get_term_probabilities.register(BernoulliNaiveBayes)
def get_coin_probabilities(classifier: BernoulliNaiveBayes) -> TermProbabilities:
    """Return θ_jk."""
    from nbtext.classifiers.inspection import TermProbabilities

    return TermProbabilities(
        symbol="θ",
        meaning="that a document of the class contains the term",
        selected=classifier.get_scored_terms(),
        compute_probability=classifier.compute_probability,
        compute_posteriors=classifier.compute_posteriors,
        compute_priors=classifier.compute_priors,
        compute_absence_probability=classifier.compute_absence_probability,
    )


@compute_component_fits.register(BernoulliNaiveBayes)
def measure_coin_fits(classifier: BernoulliNaiveBayes) -> list[ComponentFit]:
    """Return the evidence and the maximum-likelihood fit of the coins.

    The evidence is the sum over coins of log B(n_1 + a, n_0 + b) − log B(a, b). It is None for
    maximum likelihood and without pseudo-counts.
    """
    from nbtext.language_model.measures import ComponentFit

    training = classifier.training
    settings = training.settings
    has_pseudo_counts = (
        settings.estimate == "map"
        or training.smoothing > 0
        or bool(settings.absence_smoothing)
        or training.term_pseudo_counts.pseudo_counts.any()
    )
    evidence = None
    if settings.estimate != "ml" and has_pseudo_counts:
        evidence = _compute_coin_evidence(classifier)
    return [ComponentFit("text", evidence, _fit_coins_by_likelihood(classifier))]


def _compute_coin_evidence(classifier: BernoulliNaiveBayes) -> Floats:
    """Return Σ_j log B(n_1 + a, n_0 + b) − log B(a, b) of each class, shape (n_classes,)."""
    from scipy.special import betaln

    mode_shift = 1.0 if classifier.training.settings.estimate == "map" else 0.0

    def compute_evidence(terms: Ints) -> Floats:
        presence, absence = classifier.compute_pseudo_counts(terms)
        a, b = classifier.compute_posteriors(terms)
        with np.errstate(invalid="ignore"):
            evidence: Floats = betaln(a, b) - betaln(presence + mode_shift, absence + mode_shift)
        # The evidence is nan if a is 0 and the term occurs in no document.
        return np.where(np.isnan(evidence), 0.0, evidence)

    return classifier.sum_over_terms(compute_evidence)


def _fit_coins_by_likelihood(classifier: BernoulliNaiveBayes) -> MaximumLikelihoodFit:
    """Return Σ n_1 log θ + n_0 log(1 − θ) over all coins at θ = n_1/n.

    n_1 of the n documents of a class contain the term, n_0 do not.
    """
    from scipy.special import xlogy

    from nbtext.language_model.measures import MaximumLikelihoodFit

    statistics = classifier.training.statistics
    scored_terms = classifier.get_scored_terms()
    is_scored = scored_terms[statistics.cell_terms]
    term_documents = statistics.cell_documents[is_scored]
    cell_classes = statistics.cell_classes[is_scored]
    n_documents = statistics.class_documents[cell_classes]
    theta = term_documents / n_documents
    log_likelihood = xlogy(term_documents, theta) + xlogy(n_documents - term_documents, 1 - theta)
    return MaximumLikelihoodFit(
        float(log_likelihood.sum()),
        n_parameters=statistics.n_classes * int(np.count_nonzero(scored_terms)),
        n_observations=to_int_or_float(statistics.class_documents.sum()),
    )


@get_classifier_parameters.register(BernoulliNaiveBayes)
def get_bernoulli_parameters(classifier: BernoulliNaiveBayes) -> ClassifierParameters:
    """Return the boundary between two classes, or the log odds in more classes."""
    from nbtext.classifiers.inspection import ClassifierParameters, LogOdds

    n_classes = classifier.training.statistics.n_classes
    if n_classes == 2:
        return ClassifierParameters(two_class_boundary=compute_two_class_boundary(classifier))
    if n_classes == 1:
        return ClassifierParameters()
    terms = np.flatnonzero(classifier.get_scored_terms())
    log_odds = LogOdds(terms, classifier.compute_weights(terms), classifier.bias)
    return ClassifierParameters(log_odds=log_odds)


def compute_two_class_boundary(classifier: BernoulliNaiveBayes) -> TwoClassBoundary:
    """Return weights and bias of the boundary between two classes, with θ, π and θ', π'.

    w_j = log θ_j(1 − θ'_j) / (θ'_j(1 − θ_j)) and b = log π/π' + Σ_j log (1 − θ_j)/(1 − θ'_j).
    """
    from nbtext.classifiers.inspection import TwoClassBoundary

    terms = np.flatnonzero(classifier.get_scored_terms())
    weights = classifier.compute_weights(terms)
    [bias] = subtract_scores(classifier.bias[:1], classifier.bias[1:])
    return TwoClassBoundary(terms, subtract_scores(weights[:, 0], weights[:, 1]), float(bias))
