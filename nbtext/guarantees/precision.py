"""Probability thresholds above which predictions keep a minimum precision with 95 % confidence.

Thresholds are tested on the n predictions above them for held-out documents. A threshold passes if
so few of these predictions are wrong that, at a lower precision than required, there would be so
few errors in at most 5 of 100 samples. This is the exact test of Clopper and Pearson,
P(X ≤ errors | n, 1 − precision) ≤ 0.05.

Thresholds are tested in a fixed order: first the threshold that is predicted to pass most clearly,
then lower thresholds until one fails. The predicted precision of a document does not depend on its
label, so the 5 % are for all tests together. If m classes have precisions of their own, the tests
of each class have 5 % / m. One precision for all predictions has one threshold of the predicted
precision. This threshold is a different probability for each class.

Sources: C. Clopper, E. Pearson, The use of confidence or fiducial limits illustrated in the case of
the binomial (1934); A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei, Learn then test
(2021), for tests in a fixed sequence; C. Chow, On optimum recognition error and reject tradeoff
(1970).
"""

from __future__ import annotations

from bisect import bisect_left
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.metrics.intervals import Interval, wilson_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.metrics.outcomes import PosteriorScores
    from nbtext.prediction.calibration import HeldOutPosteriors
    from nbtext.prediction.rule import DecisionRule
    from nbtext.type_names import Floats, Ints, Mask, Names

MAX_ERROR_PROBABILITY = 0.05
"""Probability that the guarantee is not met."""

MAX_TESTED_THRESHOLDS = 50
"""Maximum number of thresholds. They divide the predictions into groups of equal size."""

CANDIDATE_SLOPES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.1)
"""Factors of the log odds of a class."""

N_BISECTIONS = 40
"""Steps that halve the interval of a shift."""

MAX_ABS_ODDS_NATS = 36.0
"""Log odds of a probability that rounds to 1."""

MAX_NEEDED_DOCUMENTS = 1 << 40
"""Larger numbers of needed documents are not reported."""

MAX_SUMMED_ERRORS = 1 << 16
"""Largest number of errors whose probability is summed."""

ROUNDING_TOLERANCE = 1e-9
"""Tolerance for rounding errors of a whole number."""

MAX_RISK_POINTS = 20
"""Points of a risk curve."""


class PrecisionThreshold(NamedTuple):
    """The lowest probability at which a class is predicted, with counts of held-out documents."""

    label: str
    precision: float | None
    """The required precision. None without guarantee."""
    probability: float | None
    """The threshold. None if no threshold passes."""
    documents: int
    """Number of predictions of the class."""
    answered: int
    """Number of predictions of the class above the threshold."""
    right: int
    """Number of correct predictions of the class above the threshold."""
    more: int | None
    """If no threshold passes, the number of additional predictions that would be enough.

    They are assumed to be as often correct as before. None if more predictions would not help.
    """


class _LowestThreshold(NamedTuple):
    """The lowest threshold above which predictions have a precision."""

    value: float
    """A probability or log odds. inf if no threshold passes."""
    n_more: int | None
    """If no threshold passes, `PrecisionThreshold.more`."""


class _Predictions(NamedTuple):
    """Predictions of labels for held-out documents, as arrays of shape (n_predictions,)."""

    labels: Ints
    documents: Ints
    """Document indices. A multi-label document may have several predictions."""
    is_correct: Mask
    probabilities: Floats
    odds: Floats
    """Log odds in nats, clipped to ±`MAX_ABS_ODDS_NATS`."""
    weights: Floats
    """Weights of the documents."""

    def take(self, rows: Mask) -> _Predictions:
        """Return some of the predictions."""
        return _Predictions._make(column[rows] for column in self)


def fit_precision_thresholds(
    posteriors: HeldOutPosteriors,
    classes: Names,
    rule: DecisionRule,
    precisions: float | Sequence[float | None],
    *,
    by_class: bool = False,
) -> tuple[PrecisionThreshold, ...]:
    """Return the lowest threshold of each class above which predictions have a precision.

    ``precisions`` is one number for all predictions together, or with ``by_class`` for the
    predictions of each class. A sequence has a precision for each class, or None for no guarantee.
    """
    predictions = _predict_held_out(posteriors, rule)
    n_classes = len(classes)
    predicted_odds = _cross_predict_odds(predictions, n_classes)
    class_precisions: Sequence[float | None]
    if isinstance(precisions, float):
        class_precisions = [precisions for _ in classes]
    else:
        class_precisions = precisions
    if isinstance(precisions, float) and not by_class:
        lowest = _find_common_thresholds(predictions, predicted_odds, precisions, n_classes)
    else:
        lowest = _find_class_thresholds(predictions, predicted_odds, class_precisions)
    thresholds = []
    for index, label in enumerate(classes):
        min_probability, n_more = lowest[index]
        has_passed = min_probability <= 1
        is_class = predictions.labels == index
        is_above = is_class & (predictions.probabilities >= min_probability)
        thresholds.append(
            PrecisionThreshold(
                label=label,
                precision=class_precisions[index],
                probability=min_probability if has_passed else None,
                documents=int(np.count_nonzero(is_class)),
                answered=int(np.count_nonzero(is_above)),
                right=int(np.count_nonzero(is_above & predictions.is_correct)),
                more=n_more,
            )
        )
    return tuple(thresholds)


def _predict_held_out(posteriors: HeldOutPosteriors, rule: DecisionRule) -> _Predictions:
    """Return the predictions of a rule for held-out documents."""
    posterior = posteriors.posterior
    documents, labels = posterior.predict(rule).to_pairs()  # documents may have several labels
    log_odds = posterior.compute_log_odds()[documents, labels]
    return _Predictions(
        labels=labels,
        documents=documents,
        is_correct=posteriors.truth.contains(documents, labels),
        probabilities=np.exp(posterior.log_p[documents, labels]),
        odds=np.clip(log_odds, -MAX_ABS_ODDS_NATS, MAX_ABS_ODDS_NATS),
        weights=posteriors.weights[documents],
    )


def _cross_predict_odds(predictions: _Predictions, n_classes: int) -> Floats:
    """Return the predicted log odds that each prediction is correct, shape (n_predictions,).

    Class curves are fitted to one half of the documents and applied to the other half, so that no
    prediction influences its own odds.
    """
    predicted_odds = np.empty(predictions.labels.size)
    # Number the documents that have predictions, and divide them by even and odd numbers.
    _, numbers = np.unique(predictions.documents, return_inverse=True)
    is_even = numbers % 2 == 0
    for is_in_half in (is_even, ~is_even):
        slopes, shifts = _fit_class_curves(predictions.take(~is_in_half), n_classes)
        labels = predictions.labels[is_in_half]
        odds = predictions.odds[is_in_half]
        predicted_odds[is_in_half] = slopes[labels] * odds + shifts[labels]
    return predicted_odds


def _find_common_thresholds(
    predictions: _Predictions, predicted_odds: Floats, precision: float, n_classes: int
) -> list[_LowestThreshold]:
    """Return the threshold of the probability of each class for one precision of all predictions.

    All classes have the same threshold of the predicted log odds that a prediction is correct.
    """
    odds_threshold = _find_lowest_threshold(
        predicted_odds,
        predicted_odds,
        predictions,
        precision=precision,
        error=MAX_ERROR_PROBABILITY,
    )
    if odds_threshold.value == inf:
        return [odds_threshold for _ in range(n_classes)]
    slopes, shifts = _fit_class_curves(predictions, n_classes)
    # The class curve, slope · log odds + shift, has the value of the threshold at these log odds.
    log_odds = (odds_threshold.value - shifts) / slopes
    probabilities = 1 / (1 + np.exp(-log_odds))
    return [_LowestThreshold(probability, n_more=None) for probability in probabilities.tolist()]


def _find_class_thresholds(
    predictions: _Predictions, predicted_odds: Floats, precisions: Sequence[float | None]
) -> list[_LowestThreshold]:
    """Return the threshold of the probability of each class for its own precision.

    The threshold of a class without a precision is 0.
    """
    n_guarantees = sum(precision is not None for precision in precisions)
    thresholds = []
    for index, precision in enumerate(precisions):
        threshold = _LowestThreshold(0.0, n_more=None)
        if precision is not None:
            is_class = predictions.labels == index
            class_predictions = predictions.take(is_class)
            threshold = _find_lowest_threshold(
                class_predictions.probabilities,
                predicted_odds[is_class],
                class_predictions,
                precision=precision,
                error=MAX_ERROR_PROBABILITY / n_guarantees,
            )
        thresholds.append(threshold)
    return thresholds


def list_min_probabilities(thresholds: Sequence[PrecisionThreshold]) -> tuple[float, ...]:
    """Return the lowest probability of a prediction of each class, for a `DecisionRule`.

    The probability is inf for a class that is never predicted.
    """
    return tuple(
        inf if threshold.probability is None else threshold.probability for threshold in thresholds
    )


def _fit_class_curves(predictions: _Predictions, n_classes: int) -> tuple[Floats, Floats]:
    """Fit class curves, p(correct) = σ(a_k log odds + b_k), to the predictions of each class k.

    Return the slopes a_k, which are among `CANDIDATE_SLOPES`, and the shifts b_k, both of shape
    (n_classes,). Predictions of some classes are wrong more often than their probabilities say.
    log a_k and b_k have standard normal priors, so the curve of a class with few predictions is
    close to its probabilities.
    """
    labels = predictions.labels
    is_correct = predictions.is_correct
    best_fits = np.full(n_classes, -inf)
    best_slopes = np.ones(n_classes)
    best_shifts = np.zeros(n_classes)
    for slope in CANDIDATE_SLOPES:
        scaled_odds = slope * predictions.odds
        shifts = _fit_shifts(scaled_odds, labels, is_correct, n_classes)
        signed_odds = np.where(is_correct, 1, -1) * (scaled_odds + shifts[labels])
        log_likelihoods = np.bincount(labels, -np.logaddexp(0, -signed_odds), n_classes)
        penalties = (shifts**2 + np.log(slope) ** 2) / 2
        fits = log_likelihoods - penalties
        is_better = fits > best_fits
        best_fits = np.where(is_better, fits, best_fits)
        best_slopes = np.where(is_better, slope, best_slopes)
        best_shifts = np.where(is_better, shifts, best_shifts)
    return best_slopes, best_shifts


def _fit_shifts(scaled_odds: Floats, labels: Ints, is_correct: Mask, n_classes: int) -> Floats:
    """Return the shift of each class with the greatest posterior, shape (n_classes,).

    At this shift, the derivative of the log posterior, Σ (correct − p) − shift, is 0. Bisection
    finds it.
    """
    low = np.full(n_classes, -MAX_ABS_ODDS_NATS)
    high = np.full(n_classes, MAX_ABS_ODDS_NATS)
    middle = np.zeros(n_classes)
    for _ in range(N_BISECTIONS):
        residuals = is_correct - 1 / (1 + np.exp(-scaled_odds - middle[labels]))
        is_rising = np.bincount(labels, residuals, n_classes) > middle
        low = np.where(is_rising, middle, low)
        high = np.where(is_rising, high, middle)
        middle = (low + high) / 2
    return middle


def _find_lowest_threshold(
    keys: Floats,
    predicted_odds: Floats,
    predictions: _Predictions,
    *,
    precision: float,
    error: float,
) -> _LowestThreshold:
    """Return the lowest of ``keys`` above which predictions have a precision.

    ``keys`` are probabilities or log odds of the predictions, and ``predicted_odds`` are predicted
    log odds of being correct, both of shape (n_predictions,). ``error`` is the probability that the
    guarantee is not met.
    """
    if not keys.size:
        # All additional predictions are assumed to be correct.
        n_needed = _count_needed_documents(0, 1, precision, error)
        return _LowestThreshold(inf, n_needed)

    # The weights add up to L. Kish's effective number of documents. Several predictions for a
    # document count less, because they tend to be correct or wrong together.
    order = np.argsort(-keys, kind="stable")
    sorted_keys = keys[order]
    document_weights = np.bincount(predictions.documents, predictions.weights)
    scale = predictions.weights.sum() / (document_weights**2).sum()
    weights = predictions.weights[order] * scale

    # Sums of the predictions above each threshold.
    ends = _find_threshold_ends(sorted_keys)
    sizes = np.cumsum(weights)[ends]
    expected_correct = 1 / (1 + np.exp(-predicted_odds[order]))
    expected_errors = np.cumsum(weights * (1 - expected_correct))[ends]
    n_errors = np.cumsum(weights * ~predictions.is_correct[order])[ends]

    expected_p_values = [
        _compute_binomial_tail(errors, size, 1 - precision)
        for errors, size in zip(expected_errors, sizes, strict=True)
    ]
    # Test the clearest threshold, then lower thresholds until one fails.
    clearest = int(np.argmin(expected_p_values))
    lowest_end = None
    for index in range(clearest, ends.size):
        if _compute_binomial_tail(n_errors[index], sizes[index], 1 - precision) > error:
            break
        lowest_end = ends[index]
    if lowest_end is not None:
        return _LowestThreshold(float(sorted_keys[lowest_end]), n_more=None)
    n_more = _count_more_predictions(n_errors, sizes, keys.size, precision, error)
    return _LowestThreshold(inf, n_more)


def _find_threshold_ends(sorted_keys: Floats) -> Ints:
    """Return the index of the last prediction above each tested threshold, ascending.

    Keys are descending. Equal keys share a threshold.
    """
    last_indices = _divide_evenly(sorted_keys.size, MAX_TESTED_THRESHOLDS) - 1
    last_equals = np.searchsorted(-sorted_keys, -sorted_keys[last_indices], side="right") - 1
    return np.unique(last_equals)


def _divide_evenly(size: int, n_steps: int) -> Ints:
    """Return ⌈size · i / n_steps⌉ for i from 1 to ``n_steps``."""
    return -(-size * np.arange(1, n_steps + 1) // n_steps)


def _count_more_predictions(
    n_errors: Floats, sizes: Floats, n_predictions: int, precision: float, error: float
) -> int | None:
    """Return how many more predictions are needed until a threshold passes, at least 1.

    Return None if more predictions would not help. ``n_errors`` and ``sizes`` are the numbers of
    wrong predictions and of all predictions above each threshold. ``n_predictions`` is the number
    of predictions without a threshold.
    """
    counts = []
    for errors, size in zip(n_errors.tolist(), sizes.tolist(), strict=True):
        n_above = round(size)
        if not n_above:
            continue
        n_needed = _count_needed_documents(errors, size, precision, error)
        if n_needed is not None:
            n_needed_predictions = -(-n_needed * n_predictions // n_above)  # rounded up
            counts.append(n_needed_predictions - n_predictions)
    if not counts:
        return None
    return max(min(counts), 1)


def _compute_binomial_tail(n_errors: float, n_documents: float, error_rate: float) -> float:
    """Return P(X ≤ n_errors) of a binomial distribution.

    Numbers that are not whole are rounded: documents down, errors up. So the probability is not too
    small.

    >>> round(_compute_binomial_tail(1, 10, 0.5), 6)
    0.010742
    """
    n = int(n_documents + ROUNDING_TOLERANCE)
    max_errors = int(np.ceil(n_errors - ROUNDING_TOLERANCE))
    if max_errors >= n or error_rate <= 0:
        return 1.0
    k = np.arange(max_errors)
    # log P(X = k + 1) − log P(X = k)
    log_ratios = np.log((n - k) / (k + 1)) + np.log(error_rate / (1 - error_rate))
    log_p_of_0 = n * np.log1p(-error_rate)
    log_terms = np.append(0.0, np.cumsum(log_ratios)) + log_p_of_0
    return float(np.exp(log_terms).sum())


def _count_needed_documents(
    n_errors: float, n_documents: float, precision: float, error: float
) -> int | None:
    """Return how many predictions with the same error rate would pass the test.

    Return None if the error rate is too high, or the number is too large to compute.
    """
    error_rate = n_errors / n_documents
    if error_rate >= 1 - precision:
        return None

    def passes(n: int) -> bool:
        return _compute_binomial_tail(error_rate * n, n, 1 - precision) <= error

    high = 1
    while not passes(high):
        high *= 2
        if high * error_rate > MAX_SUMMED_ERRORS or high > MAX_NEEDED_DOCUMENTS:
            return None
    # ``high`` passes, and ``high // 2`` does not. Return the first number between them that passes.
    return bisect_left(range(high), True, lo=high // 2 + 1, key=passes)


class RiskPoint(NamedTuple):
    """The precision of the most confident predictions."""

    answered: float
    """Proportion of documents with these predictions."""
    probability: float
    """The lowest probability of these predictions."""
    precision: float
    interval: Interval
    """95 % interval of the precision."""


def compute_risk_curve(scores: PosteriorScores) -> tuple[RiskPoint, ...]:
    """Return the precision of the most confident predictions, for growing numbers of predictions.

    The prediction for a document is its most probable class.

    Source: Y. Geifman, R. El-Yaniv, Selective classification for deep neural networks (2017).
    """
    order = np.argsort(-scores.confidence, kind="stable")
    confidence = scores.confidence[order]
    is_correct = scores.rank[order] == 0  # no label is more probable than the true label
    n_correct = np.cumsum(is_correct)
    counts = np.unique(_divide_evenly(scores.n, MAX_RISK_POINTS))
    return tuple(
        RiskPoint(
            answered=n / scores.n,
            probability=float(confidence[n - 1]),
            precision=float(n_correct[n - 1]) / n,
            interval=wilson_interval(int(n_correct[n - 1]), n),
        )
        for n in counts.tolist()
    )
