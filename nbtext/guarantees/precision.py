"""Probability thresholds above which predictions keep a minimum precision with 95 % confidence.

Held-out documents decide. A threshold passes if few of the predictions above it are wrong: if the
precision were lower than required, so few errors would happen in at most 5 of 100 samples. This is
the exact test of Clopper and Pearson, P(X ≤ errors | n, 1 − precision) ≤ 0.05.

Thresholds are tested in a fixed order: first the one with the clearest predicted result, then lower
ones until one fails. The prediction for a document does not depend on the document itself, so the
5 % are for all tests together. If each of m classes has its own precision, each has 5 % / m. One
precision for all predictions has one threshold of predicted precision, which is another probability
for each class.

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
"""Thresholds divide the predictions into parts of equal size."""

CANDIDATE_SLOPES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.1)
"""Factors of the log odds of a class."""

BISECTIONS = 40

MAX_ABS_ODDS_NATS = 36.0
"""Log odds of a probability that rounds to 1."""

MAX_NEEDED_DOCUMENTS = 1 << 40
"""Larger numbers of needed documents are not reported."""

MAX_SUMMED_ERRORS = 1 << 16
"""Largest number of errors whose probability is summed."""

MAX_RISK_POINTS = 20
"""Points of a risk curve."""


class PrecisionThreshold(NamedTuple):
    """The lowest probability at which a class is predicted, with counts of held-out documents."""

    label: str
    precision: float | None
    """The required precision; None without guarantee."""
    probability: float | None
    """The threshold; None if no threshold passes."""
    documents: int
    """Predictions of the class."""
    answered: int
    """Predictions of the class above the threshold."""
    right: int
    """Correct predictions of the class above the threshold."""
    more: int | None
    """If no threshold passes, the number of additional predictions that would be enough.

    They are assumed to be as often correct. None if more predictions would not help.
    """


class _Predictions(NamedTuple):
    """Predictions of labels for held-out documents, arrays of shape (n_predictions,)."""

    labels: Ints
    documents: Ints
    """Document indices from 0, without gaps."""
    is_correct: Mask
    probabilities: Floats
    odds: Floats
    """Log odds in nats, clipped to ±`MAX_ABS_ODDS_NATS`."""
    weights: Floats
    """Weights of the documents."""


def fit_precision_thresholds(
    posteriors: HeldOutPosteriors,
    classes: Names,
    rule: DecisionRule,
    precisions: float | Sequence[float | None],
    *,
    by_class: bool = False,
) -> tuple[PrecisionThreshold, ...]:
    """Return the lowest threshold of each class above which predictions have a precision.

    One number is the precision of all predictions together, or ``by_class`` of those of each class.
    A sequence has the precision of each class, or None for no guarantee.
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
        probability, n_more = lowest[index]
        is_class = predictions.labels == index
        is_above = is_class & (predictions.probabilities >= probability)
        thresholds.append(
            PrecisionThreshold(
                label=label,
                precision=class_precisions[index],
                probability=probability if probability <= 1 else None,
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
    documents, labels = posterior.predict(rule).to_pairs()
    log_odds = posterior.compute_log_odds()[documents, labels]
    return _Predictions(
        labels=labels,
        documents=np.unique(documents, return_inverse=True)[1],
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
    odds = predictions.odds
    labels = predictions.labels
    is_correct = predictions.is_correct
    predicted_odds = np.empty(labels.size)
    is_even = predictions.documents % 2 == 0
    for half in (is_even, ~is_even):
        slopes, shifts = _fit_class_curves(odds[~half], labels[~half], is_correct[~half], n_classes)
        predicted_odds[half] = slopes[labels[half]] * odds[half] + shifts[labels[half]]
    return predicted_odds


def _find_common_thresholds(
    predictions: _Predictions, predicted_odds: Floats, precision: float, n_classes: int
) -> list[tuple[float, int | None]]:
    """Return the threshold of each class for one precision of all predictions.

    Thresholds are pairs as in `_find_lowest_threshold`, but of a probability.
    """
    odds_threshold, n_more = _find_lowest_threshold(
        predicted_odds,
        predicted_odds,
        predictions.is_correct,
        predictions.weights,
        predictions.documents,
        precision=precision,
        error=MAX_ERROR_PROBABILITY,
    )
    if odds_threshold == inf:
        return [(inf, n_more) for _ in range(n_classes)]
    slopes, shifts = _fit_class_curves(
        predictions.odds, predictions.labels, predictions.is_correct, n_classes
    )
    probabilities = 1 / (1 + np.exp((shifts - odds_threshold) / slopes))
    return [(probability, n_more) for probability in probabilities.tolist()]


def _find_class_thresholds(
    predictions: _Predictions, predicted_odds: Floats, precisions: Sequence[float | None]
) -> list[tuple[float, int | None]]:
    """Return the threshold of each class for its own precision; 0 for a class without one.

    Thresholds are pairs as in `_find_lowest_threshold`, but of a probability.
    """
    n_guarantees = sum(precision is not None for precision in precisions)
    thresholds: list[tuple[float, int | None]] = []
    for index, precision in enumerate(precisions):
        if precision is None:
            thresholds.append((0.0, None))
            continue
        is_class = predictions.labels == index
        thresholds.append(
            _find_lowest_threshold(
                predictions.probabilities[is_class],
                predicted_odds[is_class],
                predictions.is_correct[is_class],
                predictions.weights[is_class],
                precision=precision,
                error=MAX_ERROR_PROBABILITY / max(n_guarantees, 1),
            )
        )
    return thresholds


def list_min_probabilities(thresholds: Sequence[PrecisionThreshold]) -> tuple[float, ...]:
    """Return the lowest probability of a prediction of each class, for a `DecisionRule`.

    It is inf for a class that is never predicted.
    """
    return tuple(
        inf if threshold.probability is None else threshold.probability for threshold in thresholds
    )


def _fit_class_curves(
    odds: Floats, labels: Ints, is_correct: Mask, n_classes: int
) -> tuple[Floats, Floats]:
    """Fit p(correct) = σ(a_k log odds + b_k) to the predictions of each class k.

    Return the slopes a_k, which are among `CANDIDATE_SLOPES`, and the shifts b_k, both of shape
    (n_classes,). Predictions of some classes are wrong more often than their probabilities say.
    log a_k and b_k have standard normal priors, so the probabilities of a class with few
    predictions are trusted.
    """
    best_fits = np.full(n_classes, -inf)
    slopes = np.ones(n_classes)
    shifts = np.zeros(n_classes)
    for slope in CANDIDATE_SLOPES:
        shift = _fit_shifts(slope * odds, labels, is_correct, n_classes)
        signed_odds = np.where(is_correct, 1, -1) * (slope * odds + shift[labels])
        fits = (
            np.bincount(labels, -np.logaddexp(0, -signed_odds), n_classes)
            - (shift**2 + np.log(slope) ** 2) / 2
        )
        is_better = fits > best_fits
        best_fits = np.where(is_better, fits, best_fits)
        slopes = np.where(is_better, slope, slopes)
        shifts = np.where(is_better, shift, shifts)
    return slopes, shifts


def _fit_shifts(scaled_odds: Floats, labels: Ints, is_correct: Mask, n_classes: int) -> Floats:
    """Return the shift of each class with the greatest posterior, shape (n_classes,)."""
    low = np.full(n_classes, -MAX_ABS_ODDS_NATS)
    high = np.full(n_classes, MAX_ABS_ODDS_NATS)
    middle = np.zeros(n_classes)
    for _ in range(BISECTIONS):
        residuals = is_correct - 1 / (1 + np.exp(-scaled_odds - middle[labels]))
        is_rising = np.bincount(labels, residuals, n_classes) > middle
        low = np.where(is_rising, middle, low)
        high = np.where(is_rising, high, middle)
        middle = (low + high) / 2
    return middle


def _find_lowest_threshold(
    keys: Floats,
    predicted_odds: Floats,
    is_correct: Mask,
    weights: Floats,
    documents: Ints | None = None,
    *,
    precision: float,
    error: float,
) -> tuple[float, int | None]:
    """Return the lowest key above which predictions have a precision, and a number of predictions.

    If no key passes, the key is inf, and the number is how many additional predictions would be
    enough, or None if more would not help. If a key passes, the number is None.

    Arrays have the shape (n_predictions,). ``predicted_odds`` are log odds of being correct.
    ``error`` is the probability that the guarantee is not met. ``documents`` are document indices
    if a document may have several predictions: these count as one, because they tend to be correct
    or wrong together.
    """
    if not keys.size:
        return inf, _count_needed_documents(0, 1, precision, error)
    order = np.argsort(-keys, kind="stable")
    document_weights = weights if documents is None else np.bincount(documents, weights)
    keys = keys[order]
    # L. Kish's effective number of documents
    weights = weights[order] * (weights.sum() / (document_weights**2).sum())
    ends = _find_threshold_ends(keys)
    sizes = np.cumsum(weights)[ends]
    expected_correct = 1 / (1 + np.exp(-predicted_odds))
    expected_errors = np.cumsum(weights * (1 - expected_correct[order]))[ends]
    n_errors = np.cumsum(weights * (1 - is_correct[order].astype(np.float64)))[ends]
    expected_p_values = [
        _compute_binomial_tail(errors, size, 1 - precision)
        for errors, size in zip(expected_errors, sizes, strict=True)
    ]
    lowest_end = None
    for position in range(int(np.argmin(expected_p_values)), ends.size):
        p_value = _compute_binomial_tail(n_errors[position], sizes[position], 1 - precision)
        if p_value > error:
            break
        lowest_end = ends[position]
    if lowest_end is not None:
        return float(keys[lowest_end]), None
    return inf, _count_more_predictions(n_errors, sizes, keys.size, precision, error)


def _find_threshold_ends(sorted_keys: Floats) -> Ints:
    """Return the last index above each tested threshold, ascending; keys are descending.

    Equal keys share a threshold.
    """
    steps = np.arange(1, MAX_TESTED_THRESHOLDS + 1)
    last_indices = -(-sorted_keys.size * steps // MAX_TESTED_THRESHOLDS) - 1
    last_equals = np.searchsorted(-sorted_keys, -sorted_keys[last_indices], side="right") - 1
    return np.unique(last_equals)


def _count_more_predictions(
    n_errors: Floats, sizes: Floats, n_predictions: int, precision: float, error: float
) -> int | None:
    """Return how many more predictions the easiest threshold needs, at least 1; or None."""
    counts = []
    for errors, size in zip(n_errors.tolist(), sizes.tolist(), strict=True):
        if not round(size):
            continue
        n_needed = _count_needed_documents(errors, size, precision, error)
        if n_needed is not None:
            counts.append(-(-n_needed * n_predictions // round(size)) - n_predictions)
    return max(min(counts), 1) if counts else None


def _compute_binomial_tail(n_errors: float, n_documents: float, error_rate: float) -> float:
    """Return P(X ≤ n_errors) of a binomial distribution.

    The numbers of documents are rounded so that the probability is not too small.

    >>> round(_compute_binomial_tail(1, 10, 0.5), 6)
    0.010742
    """
    n = int(n_documents + 1e-9)
    max_errors = int(np.ceil(n_errors - 1e-9))
    if max_errors >= n or error_rate <= 0:
        return 1.0
    k = np.arange(max_errors)
    log_ratios = np.log((n - k) / (k + 1)) + np.log(error_rate / (1 - error_rate))
    log_terms = np.append(0.0, np.cumsum(log_ratios)) + n * np.log1p(-error_rate)
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
    return bisect_left(range(high), True, high // 2 + 1, key=passes)


class RiskPoint(NamedTuple):
    """The most confident predictions."""

    answered: float
    """Their proportion of all documents."""
    probability: float
    """The lowest probability among them."""
    precision: float
    interval: Interval
    """95 % interval of the precision."""


def compute_risk_curve(scores: PosteriorScores) -> tuple[RiskPoint, ...]:
    """Return precision against the proportion of documents with a prediction.

    Each document gets its most probable class, and the most confident predictions come first.

    Source: Y. Geifman, R. El-Yaniv, Selective classification for deep neural networks (2017).
    """
    order = np.argsort(-scores.confidence, kind="stable")
    confidence = scores.confidence[order]
    hits = np.cumsum(scores.rank[order] == 0)
    steps = np.arange(1, MAX_RISK_POINTS + 1)
    counts = np.unique(-(-scores.n * steps // MAX_RISK_POINTS))
    return tuple(
        RiskPoint(
            answered=n / scores.n,
            probability=float(confidence[n - 1]),
            precision=float(hits[n - 1]) / n,
            interval=wilson_interval(int(hits[n - 1]), n),
        )
        for n in counts.tolist()
    )
