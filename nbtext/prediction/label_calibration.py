"""Calibration of multi-label models: from the log odds of each label to its probability.

The model's log odds of label k are s_k + o_k: the evidence of the words, and the prior. For a
document of n known tokens they become

    z_k = slope_k · s_k / T + offset_k, with the temperature T = scale · n^exponent,
    calibrated log odds of k = z_k − rivalry · log(1 + Σ_{l≠k} exp(level + z_l)).

T is that of `nbtext.prediction.calibration`. Naive Bayes scores each label separately, so a
document of one topic has high scores for related topics too. The second line lets labels compete,
from not at all (rivalry 0) to a softmax with a class for no label (rivalry 1, level 0).

The fit makes held-out documents most probable. It shrinks the slope and the offset of each label
towards the slope and the offset that all labels share. Documents without known tokens always have
the log odds o, so the fit ignores them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.calibration import (
    LABEL_ARRAYS,
    MAX_ABS_EXPONENT,
    MAX_ABS_LOG,
    Calibration,
    clip_to_limit,
    round_to_nine_digits,
)
from nbtext.prediction.posterior import compute_log_sigmoid
from nbtext.ragged import take_known

if TYPE_CHECKING:
    from nbtext.prediction.labels import DocumentLabels
    from nbtext.type_names import Floats, Ints, Mask

SLOPE_STD = 0.1
"""Prior standard deviation of the slopes, around 1.

With 0.05, the log loss of frequent labels is worse. With 0.3, slopes overfit.
"""

OFFSET_STD = 1.0
"""Prior standard deviation of the offsets, in nats, around the offsets of all labels."""

MAX_HELD_OUT_FOLDS = 20
"""Folds of the held-out documents. Each fold is scored by a fit to all other folds."""

MANY_LABELS = 1024
"""Above this number, labels have slopes and offsets of their own only if documents have them.

So many labels occur less than once on average in the documents of a fit, which is limited to
`nbtext.model.training.MAX_CALIBRATION_SCORES`. The priors would decide their parameters.
"""

MAX_DOCUMENT_LABEL_PAIRS = 1 << 21
"""Documents times labels, summed over the fits of all folds. A fit to 2¹⁸ takes 0.2 s."""

N_SHARED = 6
"""Number of parameters that all labels share.

The flat parameters of a fit are first these six: log factor and its exponent, weight of the prior,
common offset, rivalry and level. Then come the slopes of all labels, then their offsets. A score is
multiplied by the factor 1 / T, so its logarithm and exponent have the opposite sign of those of T.
The offset of a label in a `LabelCalibration` is weight · o + common offset + offset.
"""

SHARED_OFFSET_INDICES = (2, 3)
"""Indices of the weight of the prior and the common offset."""

SHARED_PRIOR_MEANS = (0.0, -0.5, 1.0, 0.0, 0.5, 0.0)
"""Means of the standard normal priors of the shared parameters."""

OPTIMIZER_OPTIONS = {"maxiter": 200, "ftol": 1e-5}

MAX_BLOCK_PAIRS = 1 << 14
"""Documents times labels of a block that fits into the processor's cache."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelCalibration(Calibration):
    """Parameters of the formulas of this module. Arrays have the shape (n_labels,)."""

    rivalry: float
    level: float
    slopes: Floats
    offsets: Floats
    prior: Floats
    """Prior log odds o, in nats."""

    @classmethod
    def from_prior(cls, prior: Floats) -> LabelCalibration:
        """Return the calibration that changes nothing: the log odds of labels are s + o."""
        return cls(rivalry=0.0, level=0.0, slopes=np.ones_like(prior), offsets=prior, prior=prior)

    @property
    def label_competition(self) -> dict[str, float]:
        """Rivalry and level, for the model file."""
        return {"rivalry": self.rivalry, "level": self.level}

    def to_arrays(self) -> dict[str, Floats]:
        """Return the arrays that the model file stores, by name."""
        return dict(zip(LABEL_ARRAYS, (self.slopes, self.offsets, self.prior), strict=True))

    def select_labels(self, indices: Ints, prior: Floats) -> LabelCalibration:
        """Return the calibration for other labels and another prior.

        ``indices`` are the former indices of the labels. New labels have −1, and their log odds do
        not change. ``prior`` are the prior log odds. Both have the shape (n_labels,).
        """
        neutral = self.from_prior(prior)
        return replace(
            self,
            slopes=take_known(self.slopes, indices, neutral.slopes),
            offsets=take_known(self.offsets, indices, neutral.offsets),
            prior=prior,
        )

    def get_shared_temperature(self, lengths: Ints) -> None:
        """Return None, because each label also has its own slope."""

    def compute_log_posterior(self, scores: Floats, lengths: Ints) -> Floats:
        """Return log p(label k | d), shape (n_docs, n_labels), in nats.

        ``scores`` are s + o. The probabilities of a document need not sum to 1.
        """
        factors = self.slopes / self.compute_temperatures(lengths)[:, np.newaxis]
        z = (scores - self.prior) * factors + self.offsets
        rival_logs = _compute_rival_logs(np.clip(z, -MAX_ABS_LOG, MAX_ABS_LOG), self.level)
        has_known_tokens = lengths[:, np.newaxis] > 0
        log_odds = np.where(has_known_tokens, z - self.rivalry * rival_logs, self.prior)
        return compute_log_sigmoid(log_odds)

    def compute_held_out_log_posterior(
        self, scores: Floats, truth: DocumentLabels, lengths: Ints, weights: Floats
    ) -> Floats:
        """Return log p(label k | d) of the documents that this calibration was fitted to.

        The posterior of a fold of the documents comes from a fit to all other folds. The offsets
        are not fitted again, because the offset of a rare label would change much without one of
        its documents.
        """
        log_posterior = np.empty_like(scores)
        n_affordable_fits = MAX_DOCUMENT_LABEL_PAIRS // max(scores.size, 1)
        n_folds = min(max(n_affordable_fits, 2), MAX_HELD_OUT_FOLDS)
        fold_indices = np.arange(len(scores)) % n_folds
        is_true = truth.to_mask(scores.shape[1])
        is_unknown = np.isneginf(scores)
        has_known_labels = ~(is_true & is_unknown).any(axis=1)
        for fold in range(min(n_folds, len(scores))):  # further folds are empty
            is_held_out = fold_indices == fold
            is_fitted = has_known_labels & ~is_held_out
            calibration = fit_label_calibration(
                scores[is_fitted],
                is_true[is_fitted],
                lengths[is_fitted],
                weights[is_fitted],
                prior=self.prior,
                initial=self,
            )
            log_posterior[is_held_out] = calibration.compute_log_posterior(
                scores[is_held_out], lengths[is_held_out]
            )
        return log_posterior


def _compute_rival_logs(z: Floats, level: float) -> Floats:
    """Return log(1 + Σ_{l≠k} exp(level + z_l)), shape (n_docs, n_labels)."""
    odds = np.exp(z + level)
    return np.log1p(np.maximum(odds.sum(axis=1, keepdims=True) - odds, 0.0))


def fit_label_calibration(
    scores: Floats,
    truth: Mask,
    lengths: Ints,
    weights: Floats | None,
    prior: Floats,
    initial: LabelCalibration | None = None,
) -> LabelCalibration:
    """Fit the parameters to held-out documents.

    ``scores`` s + o and ``truth`` have the shape (n_docs, n_labels). Scores of unknown labels are
    −inf. ``lengths`` are known tokens, shape (n_docs,). ``weights`` multiply the loss of each
    document, shape (n_docs,). None means that each weight is 1. ``prior`` are the log odds o,
    shape (n_labels,).

    The first fit is of the parameters that all labels share, the second of all parameters. With
    ``initial``, one fit starts from this calibration and keeps its offsets. More than `MANY_LABELS`
    labels share all parameters if the documents have fewer labels in total.
    """
    if weights is None:
        weights = np.ones(len(scores))
    loss = _LabelLoss(scores, truth, lengths, weights, prior)
    n_labels = prior.size
    n_own = n_labels  # labels with parameters of their own
    if n_labels > MANY_LABELS and n_labels > int(np.count_nonzero(truth)):
        n_own = 0
    # For each fit the indices of the parameters that it may change.
    if initial is None:
        parameters = np.concatenate((SHARED_PRIOR_MEANS, np.ones(n_labels), np.zeros(n_labels)))
        fits = [np.arange(N_SHARED)]
        if n_own:
            fits.append(np.arange(N_SHARED + 2 * n_own))
    else:
        parameters = _to_parameters(initial)
        fits = [np.delete(np.arange(N_SHARED + n_own), SHARED_OFFSET_INDICES)]
    for free_indices in fits:
        parameters = _minimize(loss, parameters, free_indices)
    return _to_calibration(parameters, prior)


def _to_parameters(calibration: LabelCalibration) -> Floats:
    """Return the flat parameters of a calibration, in the order of `N_SHARED`."""
    shared = (
        -np.log(calibration.scale),
        -calibration.exponent,
        1,  # weight of the prior
        0,  # common offset
        calibration.rivalry,
        calibration.level,
    )
    offsets = calibration.offsets - calibration.prior
    return np.concatenate((shared, calibration.slopes, offsets))


def _to_calibration(parameters: Floats, prior: Floats) -> LabelCalibration:
    """Return the calibration with flat parameters, clipped to their bounds and rounded."""
    shared, slopes, offsets = _split_parameters(parameters)
    log_factor, factor_exponent, prior_weight, common_offset, rivalry, level = shared
    log_scale = clip_to_limit(-log_factor, MAX_ABS_LOG)
    exponent = clip_to_limit(-factor_exponent, MAX_ABS_EXPONENT)
    return LabelCalibration(
        scale=round_to_nine_digits(np.exp(log_scale)),
        exponent=round_to_nine_digits(exponent),
        rivalry=round_to_nine_digits(clip_to_limit(rivalry, MAX_ABS_LOG)),
        level=round_to_nine_digits(clip_to_limit(level, MAX_ABS_LOG)),
        slopes=_round_array(slopes),
        offsets=_round_array(prior_weight * prior + common_offset + offsets),
        prior=prior,
    )


def _round_array(values: Floats) -> Floats:
    return np.array([round_to_nine_digits(value) for value in values.tolist()])


def _split_parameters(parameters: Floats) -> tuple[list[float], Floats, Floats]:
    """Return the shared parameters, the slopes and the offsets."""
    slopes, offsets = np.split(parameters[N_SHARED:], 2)
    return parameters[:N_SHARED].tolist(), slopes, offsets


def _minimize(loss: _LabelLoss, start: Floats, free_indices: Ints) -> Floats:
    """Return the parameters of least loss. Only the parameters at ``free_indices`` change."""
    from scipy.optimize import minimize

    # With the curvature scaled to 1, the optimizer converges in half as many steps.
    units = 1 / np.sqrt(loss.compute_curvature(start)[free_indices])

    def compute_scaled_loss(steps: Floats) -> tuple[float, Floats]:
        value, gradient = loss.compute_loss(_add_steps(start, free_indices, units * steps))
        return value, gradient[free_indices] * units

    result = minimize(
        compute_scaled_loss,
        np.zeros(units.size),
        jac=True,
        method="L-BFGS-B",
        options=OPTIMIZER_OPTIONS,
    )
    return _add_steps(start, free_indices, units * result.x)


def _add_steps(start: Floats, free_indices: Ints, steps: Floats) -> Floats:
    """Return a copy of ``start`` with the steps added at ``free_indices``."""
    parameters = start.copy()
    parameters[free_indices] += steps
    return parameters


class _LabelLoss:
    """The loss of held-out documents as a function of the flat parameters of `N_SHARED`."""

    def __init__(
        self, scores: Floats, truth: Mask, lengths: Ints, weights: Floats, prior: Floats
    ) -> None:
        is_used = np.isfinite(scores) & (lengths > 0)[:, np.newaxis]
        word_scores = np.where(is_used, scores - prior, 0.0)
        signs = np.where(truth, -1.0, 1.0)
        pair_weights = is_used * weights[:, np.newaxis]
        log_lengths = np.log(np.maximum(lengths, 1))[:, np.newaxis]
        arrays = (word_scores, signs, pair_weights, log_lengths)
        block_size = max(MAX_BLOCK_PAIRS // prior.size, 1)
        self._blocks = [
            tuple(array[start : start + block_size] for array in arrays)
            for start in range(0, len(word_scores), block_size)
        ]
        """Word scores s, signs, weights and log lengths of blocks of documents.

        The sign of a label is −1 if the document has it, else 1. Unknown labels, and documents
        without known tokens, have weight 0. Log lengths have the shape (n_docs, 1), all others
        (n_docs, n_labels).
        """
        self._prior = prior

    def compute_loss(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the loss in nats and its gradient.

        The loss is −Σ log p of all labels that documents have or lack, plus −log of the priors of
        the parameters.
        """
        shared, slopes, offsets = _split_parameters(parameters)
        _, _, prior_weight, common_offset, _, _ = shared
        label_offsets = prior_weight * self._prior + common_offset + offsets
        shared_deviations = parameters[:N_SHARED] - SHARED_PRIOR_MEANS
        shared_gradient = shared_deviations.copy()
        slope_gradient = (slopes - 1) / SLOPE_STD**2
        d_label_offsets = np.zeros_like(offsets)
        value = 0.0
        for block in self._blocks:
            loss, d_shared, d_slopes, d_offsets = _compute_block_loss(
                block, shared, slopes, label_offsets
            )
            value += loss
            shared_gradient += d_shared
            slope_gradient += d_slopes
            d_label_offsets += d_offsets
        # A product of long vectors would start threads of the BLAS, which change its last digits.
        shared_gradient[list(SHARED_OFFSET_INDICES)] += (
            (d_label_offsets * self._prior).sum(),
            d_label_offsets.sum(),
        )
        offset_gradient = d_label_offsets + offsets / OFFSET_STD**2
        value += _compute_prior_loss(shared_deviations, slopes, offsets)
        return value, np.concatenate((shared_gradient, slope_gradient, offset_gradient))

    def compute_curvature(self, parameters: Floats) -> Floats:
        """Return an approximate second derivative of the loss by each parameter, at least 1.

        The approximation ignores that a change of z also changes the rivals of other labels.
        """
        shared, slopes, offsets = _split_parameters(parameters)
        log_factor, exponent, prior_weight, common_offset, rivalry, level = shared
        label_offsets = prior_weight * self._prior + common_offset + offsets
        shared_curvature = np.zeros(N_SHARED)
        slope_curvature = np.full(slopes.size, SLOPE_STD**-2)
        offset_curvature = np.full(slopes.size, OFFSET_STD**-2)
        for scores, _, weights, log_lengths in self._blocks:
            scaled = _scale_scores(scores, log_lengths, log_factor, exponent)
            z = np.clip(scaled * slopes + label_offsets, -MAX_ABS_LOG, MAX_ABS_LOG)
            rival_logs = _compute_rival_logs(z, level)
            p = 1 / (1 + np.exp(rivalry * rival_logs - z))
            variances = weights * p * (1 - p)
            evidence_curvature = variances * scaled**2
            total_variance = variances.sum()
            shared_curvature += (
                evidence_curvature.sum(),
                (evidence_curvature * log_lengths**2).sum(),
                (variances.sum(axis=0) * self._prior**2).sum(),
                total_variance,
                (variances * rival_logs**2).sum(),
                rivalry**2 * total_variance,
            )
            slope_curvature += evidence_curvature.sum(axis=0)
            offset_curvature += variances.sum(axis=0)
        curvature = np.concatenate((shared_curvature, slope_curvature, offset_curvature))
        return np.maximum(curvature, 1.0)


def _compute_block_loss(
    block: tuple[Floats, ...], shared: list[float], slopes: Floats, label_offsets: Floats
) -> tuple[float, Floats, Floats, Floats]:
    """Return the loss of a block of documents, and its gradients.

    The gradients are by the shared parameters except `SHARED_OFFSET_INDICES`, by the
    slopes, and by the label offsets. A variable that begins with ``d_`` is the derivative of the
    loss by the variable in the rest of its name.
    """
    scores, signs, weights, log_lengths = block
    log_factor, exponent, _, _, rivalry, level = shared
    scaled = _scale_scores(scores, log_lengths, log_factor, exponent)
    evidence = scaled * slopes
    z = evidence + label_offsets
    odds = np.exp(np.clip(z, -MAX_ABS_LOG, MAX_ABS_LOG) + np.clip(level, -MAX_ABS_LOG, MAX_ABS_LOG))
    rival_odds = np.maximum(odds.sum(axis=1, keepdims=True) - odds, 0.0)
    # log1p takes several times as long for tiny numbers, and its digits are lost in the sums.
    rival_totals = 1.0 + rival_odds
    rival_logs = np.log(rival_totals)
    signed_log_odds = signs * (z - rivalry * rival_logs)
    # With x = signed log odds, the loss is log(1 + exp(x)), its derivative by x is
    # 1/(1 + exp(−x)). These expressions do not overflow.
    small = np.exp(-np.abs(signed_log_odds))
    total = 1.0 + small
    losses = np.maximum(signed_log_odds, 0.0) + np.log(total)
    d_log_odds = weights * signs * np.where(signed_log_odds > 0, 1.0, small) / total
    # The next two derivatives lack the factor −rivalry.
    d_rival_odds = d_log_odds / rival_totals
    d_odds = d_rival_odds.sum(axis=1, keepdims=True) - d_rival_odds
    is_unclipped = np.abs(z) < MAX_ABS_LOG
    d_z = d_log_odds - rivalry * odds * d_odds * is_unclipped
    d_log_factor = d_z * evidence
    d_shared = np.zeros(N_SHARED)  # stays 0 at `SHARED_OFFSET_INDICES`
    d_shared[:2] = (d_log_factor.sum(), (d_log_factor * log_lengths).sum())
    d_shared[4:] = (
        -(d_log_odds * rival_logs).sum(),
        -rivalry * (d_rival_odds * rival_odds).sum(),
    )
    value = float((weights * losses).sum())
    return value, d_shared, (d_z * scaled).sum(axis=0), d_z.sum(axis=0)


def _scale_scores(
    scores: Floats, log_lengths: Floats, log_factor: float, exponent: float
) -> Floats:
    """Return the scores times exp(log factor) · n^exponent, shape (n_docs, n_labels)."""
    log_factors = np.clip(log_factor + exponent * log_lengths, -MAX_ABS_LOG, MAX_ABS_LOG)
    return np.exp(log_factors) * scores


def _compute_prior_loss(shared_deviations: Floats, slopes: Floats, offsets: Floats) -> float:
    """Return −log of the normal priors, up to a constant."""
    squares = (
        shared_deviations @ shared_deviations
        + (((slopes - 1) / SLOPE_STD) ** 2).sum()
        + ((offsets / OFFSET_STD) ** 2).sum()
    )
    return float(squares) / 2
