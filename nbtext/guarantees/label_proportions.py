"""Estimates of the label proportions of unlabelled documents, for multi-label models.

The proportion of a label is the mean of its calibrated probability, after two corrections.

1. An offset is added to the log odds of the label, so that they fit the held-out documents. One
   Newton step finds the offset, because calibration has fitted an offset of each label already.
2. If the proportion of the label changes from training, the mean probability changes less, namely
   by a part Var(p)/(Var(p) + E[p(1 − p)]) of the change. This holds if documents with the label,
   and documents without it, are distributed as in training (A. Bella et al., Quantification via
   probability estimators, 2010, for calibrated probabilities). If the mean differs significantly
   from the mean of held-out documents, the missing part of the change is added. It is
   E[p(1 − p)]/Var(p) times the change of the mean.

Intervals are for the proportions among the given documents, not in a population. Each draw varies
four things at random: the offset, the significant part of the change, the mean, and the labels of
the documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.prediction.calibration import HeldOutPosteriors
from nbtext.prediction.labels import DocumentLabels
from nbtext.prediction.posterior import LabelPosterior
from nbtext.prediction.rule import DecisionRule

if TYPE_CHECKING:
    from nbtext.type_names import Floats, Ints

# The values of the constants up to `SIGNIFICANT_PART_STD` were chosen on halves of the training
# parts of Reuters and newsgroups, and on simulated documents of 20 labels.

OFFSET_PRIOR_STD = 0.3
"""Standard deviation of the normal prior of offsets, around 0."""

OFFSET_STD_FACTOR = 3.0
"""Factor of the standard deviation of an offset in draws."""

OFFSET_MISFIT_STD = 0.3
"""Minimum standard deviation of an offset in draws, even with many held-out documents."""

SIGNIFICANT_SQUARED_DEVIATION = 10.0
"""A change of the mean is significant if its square, in squared standard errors, is greater.

The significant part of a change is the proportion 1 − limit / square.
"""

MAX_MISSING_FACTOR = 1.0
"""Limit of the missing change, which is noisy, divided by the change of the mean."""

MAX_DRAWN_MISSING_FACTOR = 3.0
"""`MAX_MISSING_FACTOR` in draws."""

SIGNIFICANT_PART_STD = 1.5
"""Standard deviation of the significant part of a change in draws."""

N_DRAWS = 200
"""Number of draws for an interval."""

MAX_ABS_LOG_ODDS = 40.0
"""Upper bound of |log odds| of a label, in nats."""

MIN_DIVISOR = 1e-30
"""Replaces divisors of 0. Their dividends are also 0."""


class EstimatedProportions(NamedTuple):
    """Proportions of labels among documents, arrays of shape (n_labels,)."""

    estimates: Floats
    low: Floats
    """The lower ends of 95 % intervals."""
    high: Floats
    """The upper ends of 95 % intervals."""
    predicted: Floats
    """The proportions of documents with the predicted label."""


def estimate_label_proportions(
    log_posterior: Floats, held_out: HeldOutPosteriors
) -> EstimatedProportions:
    """Estimate label proportions from log p(label k | d), shape (n_docs, n_labels)."""
    held_out_odds = _compute_log_odds(held_out.log_posterior)
    log_odds = _compute_log_odds(log_posterior)
    weights = held_out.weights
    total_weight = max(float(weights.sum()), 1.0)

    # First correction: an offset of the log odds.
    held_out_p = _sigmoid(held_out_odds)
    has_true_label = held_out.truth.to_mask(held_out_p.shape[1])
    offset_precision = weights @ (held_out_p * (1 - held_out_p)) + OFFSET_PRIOR_STD**-2
    offset = weights @ (has_true_label - held_out_p) / offset_precision
    mean = _sigmoid(log_odds + offset).mean(axis=0)

    # Second correction: the missing part of the change, if the change of the mean is significant.
    shifted_p = _sigmoid(held_out_odds + offset)
    held_out_mean = weights @ shifted_p / total_weight
    variance = weights @ (shifted_p - held_out_mean) ** 2 / total_weight
    change = mean - held_out_mean
    std_error = np.sqrt(variance * (1 / len(log_odds) + 1 / total_weight))
    squared_change = np.maximum(change**2, MIN_DIVISOR)
    insignificant_part = SIGNIFICANT_SQUARED_DEVIATION * std_error**2 / squared_change
    significant_part = np.maximum(1 - insignificant_part, 0)
    label_variance = weights @ (shifted_p * (1 - shifted_p)) / total_weight
    missing_factor = label_variance / np.maximum(variance, MIN_DIVISOR)
    missing_change = significant_part * change * np.minimum(missing_factor, MAX_MISSING_FACTOR)

    random = np.random.default_rng(0)
    offset_std = np.sqrt(OFFSET_STD_FACTOR**2 / offset_precision + OFFSET_MISFIT_STD**2)
    drawn_factor = np.minimum(missing_factor, MAX_DRAWN_MISSING_FACTOR)
    draws = []
    for _ in range(N_DRAWS):
        offset_noise, part_noise, mean_noise = random.standard_normal((3, len(mean)))
        probabilities = _sigmoid(log_odds + offset + offset_std * offset_noise)
        has_label = random.random(log_odds.shape) < probabilities
        drawn_part = np.maximum(significant_part + SIGNIFICANT_PART_STD * part_noise, 0)
        drawn_change = change * drawn_part + std_error * mean_noise
        draws.append(has_label.mean(axis=0) + drawn_factor * drawn_change)

    low, high = np.quantile(draws, (0.025, 0.975), axis=0)
    estimates, low, high = np.clip((mean + missing_change, low, high), 0, 1)
    # Draws vary the corrections, so an estimate may be outside of their quantiles.
    low = np.minimum(low, estimates)
    high = np.maximum(high, estimates)
    predicted = DecisionRule().predict_mask(log_posterior).mean(axis=0)
    return EstimatedProportions(estimates, low, high, predicted)


class LabelProportionEstimator(NamedTuple):
    """Estimator of label proportions, corrected by held-out documents.

    The class has the methods of `nbtext.guarantees.class_proportions.ClassLikelihoods`.
    """

    held_out: HeldOutPosteriors

    @classmethod
    def from_prior(cls, prior: Floats) -> LabelProportionEstimator:
        """Return an estimator without held-out documents. ``prior`` has the shape (n_labels,)."""
        held_out = HeldOutPosteriors(
            posterior=LabelPosterior(np.empty((0, prior.size))),
            truth=DocumentLabels.from_sets([], prior.size),
            weights=np.empty(0),
        )
        return cls(held_out)

    @classmethod
    def fit(cls, held_out: HeldOutPosteriors) -> LabelProportionEstimator:
        """Return an estimator with these held-out documents."""
        return cls(held_out)

    @staticmethod
    def require_correctable(n_classes: int) -> None:
        """Accept any number of labels."""

    @staticmethod
    def require_documents(class_documents: Ints) -> None:
        """Accept any number of labelled documents."""

    def estimate_proportions(self, log_posterior: Floats) -> EstimatedProportions:
        """Return the result of `estimate_label_proportions`."""
        return estimate_label_proportions(log_posterior, self.held_out)


def _compute_log_odds(log_posterior: Floats) -> Floats:
    """Return log odds, clipped to ±`MAX_ABS_LOG_ODDS`."""
    log_odds = LabelPosterior(log_posterior).compute_log_odds()
    return np.clip(log_odds, -MAX_ABS_LOG_ODDS, MAX_ABS_LOG_ODDS)


def _sigmoid(log_odds: Floats) -> Floats:
    return 1 / (1 + np.exp(-log_odds))
