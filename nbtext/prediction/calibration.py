"""Calibration: from scores to probabilities that agree with how often predictions are right.

Naive Bayes counts every term as independent evidence. The terms of a document are dependent, so its
posterior is too extreme, and more so in longer documents. Calibration divides the scores by a
temperature T before they become a posterior. The fit makes held-out documents most probable in
their own class. Documents without known tokens always have T = 1, so the fit ignores them.

A normal prior keeps the temperature finite if there are few documents or no mistakes. Its centre is
T = n^`COUNT_TEMPERATURE_EXPONENT` for models that count every token as evidence, and T = 1 for
others.

Sources: C. Guo et al., On calibration of modern neural networks (2017), for the temperature;
P. Bennett, Assessing the calibration of naive Bayes' posterior estimates (2000), for the length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.labels import DocumentLabels
from nbtext.prediction.posterior import Posterior, normalize_log_joint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.type_names import AnyInts, Floats, Ints, Mask

    Loss = Callable[[Floats], tuple[float, Floats, Floats]]
    """Returns the value, the gradient, and the second derivative of a loss at some parameters."""

COUNT_TEMPERATURE_EXPONENT = 0.5
"""Exponent of the usual temperature n^0.5 of multinomial and Bernoulli naive Bayes."""

MAX_NEWTON_STEPS = 50
"""Limit of a fit that does not converge, as with few documents. Six steps are usual."""

MIN_GAIN_NATS = 1e-6
"""Twice the gain, over all documents, below which a fit stops."""

MAX_ABS_LOG = 30.0
"""Upper bound of |log T|, and of the change of log T in one step."""

MAX_ABS_EXPONENT = 15.0
"""Upper bound of |b| in T = a·n^b, because documents of similar length do not determine b."""

LOG_ZERO_SCORE = -1e200
"""Replaces log 0 in a fit, because 0 · ∞ is nan."""

MAX_KNOWN_TOKENS = 2.0**53
"""Upper bound of the known tokens of a document."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Temperature T = scale · n^exponent for documents of n known tokens.

    log p(C_k | d) = log softmax_k(s_k / T) for scores s.
    """

    scale: float = 1.0
    exponent: float = 0.0

    @property
    def label_competition(self) -> dict[str, float] | None:
        """Settings of the model file for how labels compete; None for single-label models."""
        return None

    def to_arrays(self) -> dict[str, Floats]:
        """Return the arrays of labels that the model file stores, by name."""
        return {}

    def compute_temperatures(self, lengths: Ints) -> Floats:
        """Return T of documents of these lengths, shape (n_docs,).

        As in the fit, log T is clipped to ±`MAX_ABS_LOG`. T is 1 for a document without known
        tokens, so its posterior is the prior.
        """
        with np.errstate(over="ignore"):
            temperatures = self.scale * np.maximum(lengths, 1.0) ** self.exponent
        clipped = np.clip(temperatures, np.exp(-MAX_ABS_LOG), np.exp(MAX_ABS_LOG))
        return np.where(lengths > 0, clipped, 1.0)

    def get_common_temperature(self, lengths: Ints) -> float | None:
        """Return T of all classes for the first document; None if each label has its own T."""
        return float(self.compute_temperatures(lengths)[0])

    @property
    def is_valid(self) -> bool:
        """True if a fit can return these parameters, up to rounding.

        log T must be within ±`MAX_ABS_LOG` at some length from 1 to `MAX_KNOWN_TOKENS`.
        """
        extreme_log_lengths = np.array((0.0, np.log(MAX_KNOWN_TOKENS)))
        log_temperatures = np.log(self.scale) + self.exponent * extreme_log_lengths
        max_abs_log = MAX_ABS_LOG + MIN_GAIN_NATS
        is_low_enough = log_temperatures.min() < max_abs_log
        is_high_enough = log_temperatures.max() > -max_abs_log
        has_valid_exponent = abs(self.exponent) <= MAX_ABS_EXPONENT
        return bool(is_low_enough and is_high_enough and has_valid_exponent)

    def compute_log_posterior(self, scores: Floats, lengths: Ints) -> Floats:
        """Return log p(C_k | d), shape (n_docs, n_classes), in nats.

        ``scores`` have the same shape. ``lengths`` are known tokens, shape (n_docs,).
        """
        scaled = scores / self.compute_temperatures(lengths)[:, np.newaxis]
        return normalize_log_joint(scaled, scaled)

    def compute_held_out_log_posterior(
        self, scores: Floats, truth: DocumentLabels, lengths: Ints, weights: Floats
    ) -> Floats:
        """Return log p(C_k | d) of the documents that this calibration was fitted to.

        A calibration of two parameters is not fitted again without each document, because one
        document hardly influences its own posterior.
        """
        del truth, weights
        return self.compute_log_posterior(scores, lengths)


LABEL_ARRAYS = ("label_slopes", "label_offsets", "label_priors")
"""Names in the model file of the arrays of a `LabelCalibration`."""

UNCALIBRATED = Calibration()
"""T = 1 for all documents: the posterior is that of the model."""


def fit_length_temperature(
    scores: Floats,
    truth: AnyInts,
    lengths: Ints,
    weights: Floats | None = None,
    prior_exponent: float = 0.0,
) -> Calibration:
    """Fit T = a·n^b to the scores of held-out documents.

    ``scores`` are in nats, shape (n_docs, n_classes). ``truth`` are class indices and ``lengths``
    known tokens n, both of shape (n_docs,). ``weights`` multiply the loss of each document, shape
    (n_docs,). None means that each weight is 1.

    The prior is centred at T = n^``prior_exponent``: log T at the mean log length and b are normal
    with standard deviation 1.
    """
    has_tokens = lengths > 0
    log_lengths = np.log(np.maximum(lengths, 1))
    if weights is None:
        weights = np.ones(len(scores))
    used_weights = has_tokens * weights
    mean_log_length = 0.0
    if used_weights.any():
        mean_log_length = np.average(log_lengths, weights=used_weights)
    x = (log_lengths - mean_log_length)[has_tokens]
    # The loss divides by T, so its parameters are −log T at the mean log length and −b.
    prior_centre = np.array([[-prior_exponent * mean_log_length, -prior_exponent]])
    loss = make_temperature_loss(
        scores[has_tokens, np.newaxis],
        truth[has_tokens],
        x=x,
        weights=weights[has_tokens],
        prior_centre=prior_centre,
    )

    def measure_step(step: Floats) -> float:
        return np.abs(step[0] + step[1] * x).max()

    minimum = minimize_by_newton(
        loss, prior_centre[0], MIN_GAIN_NATS, measure_step, MAX_NEWTON_STEPS
    )
    log_temperature, exponent = (0.0 - minimum).tolist()  # no −0
    log_temperature = max(-MAX_ABS_LOG, min(log_temperature, MAX_ABS_LOG))
    exponent = max(-MAX_ABS_EXPONENT, min(exponent, MAX_ABS_EXPONENT))
    scale = np.exp(log_temperature - exponent * mean_log_length)
    return Calibration(float(f"{scale:.9g}"), float(f"{exponent:.9g}"))


def minimize_by_newton(
    loss: Loss,
    start: Floats,
    min_gain: float,
    step_length: Callable[[Floats], float],
    max_steps: int = 1000,
) -> Floats:
    """Return the parameters that minimize a loss, by Newton's method with step halving.

    ``step_length`` returns the length of a step of the parameters. Steps are at most `MAX_ABS_LOG`
    long, and halved until the loss does not rise. The iteration stops if a step would gain less
    than half of ``min_gain``, or after ``max_steps``.

    Source: S. Boyd, L. Vandenberghe, Convex optimization (2004), section 9.5.
    """
    parameters = start
    value, gradient, curvature = loss(start)
    for _ in range(max_steps):
        step: Floats = np.linalg.solve(curvature, gradient).astype(np.float64, copy=False)
        if step @ gradient < min_gain:
            break
        step *= min(1.0, MAX_ABS_LOG / float(step_length(step)))
        new_value, gradient, curvature = loss(parameters - step)
        while new_value > value:
            step /= 2
            new_value, gradient, curvature = loss(parameters - step)
        parameters = parameters - step
        value = new_value
    return parameters


def make_temperature_loss(
    scores: Floats, truth: AnyInts, x: Floats, weights: Floats, prior_centre: Floats
) -> Loss:
    """Return the loss of dividing scores by temperatures, as a function of their parameters.

    The loss is Σ_d −w_d log softmax(Σ_m u_m s_m)_truth + |θ − centre|²/2. The parameters θ are
    flat: (t_m, b_m) for each model m, with the factor u_m = exp(t_m + b_m·x) of its scores. The
    last term is a standard normal prior, which matters if there are few documents.

    The gradient follows from ∂loss/∂log u_m = u_m (E[s_m] − s_m,truth). The second derivative is
    only its positive part, which follows from u_m u_n Cov[s_m, s_n]. E and Cov are under the
    posterior of each document.

    ``scores`` s_m are in nats, shape (n_docs, n_models, n_classes), and are overwritten. ``truth``
    are class indices, ``x`` centred log lengths and ``weights`` w of documents, all of shape
    (n_docs,). ``prior_centre`` has the shape (n_models, 2).
    """
    scores -= scores.max(axis=2, keepdims=True)
    np.maximum(scores, LOG_ZERO_SCORE, out=scores)
    design = np.stack((np.ones_like(x), x), axis=1)
    rows = np.arange(truth.size)
    # Arrays that each call overwrites, because to allocate them takes as long as to fill them.
    posterior = np.empty_like(scores[:, 0])
    weighted_scores = np.empty_like(scores)

    def compute_loss(flat: Floats) -> tuple[float, Floats, Floats]:
        parameters = flat.reshape(prior_centre.shape)
        factors = np.exp(np.clip(design @ parameters.T, -MAX_ABS_LOG, MAX_ABS_LOG))
        pooled = np.einsum("dm,dmk->dk", factors, scores, out=posterior)
        pooled -= pooled.max(axis=1, keepdims=True)
        true_scores = pooled[rows, truth]
        np.exp(pooled, out=posterior)
        totals = posterior.sum(axis=1)
        np.divide(posterior, totals[:, np.newaxis], out=posterior)
        distance = (parameters - prior_centre).ravel()
        value = float((weights * (np.log(totals) - true_scores)).sum() + distance @ distance / 2)
        np.multiply(posterior[:, np.newaxis], scores, out=weighted_scores)
        mean = weighted_scores.sum(axis=2)
        covariance = (
            np.einsum("dmk,dnk->dmn", weighted_scores, scores)
            - mean[:, :, np.newaxis] * mean[:, np.newaxis]
        )
        slopes = factors[:, :, np.newaxis] * design[:, np.newaxis]
        excess = mean - scores[rows, :, truth]
        gradient = np.einsum("d,dm,dmi->mi", weights, excess, slopes).ravel() + distance
        curvature = np.einsum(
            "dmn,dmi,dnj->minj", weights[:, np.newaxis, np.newaxis] * covariance, slopes, slopes
        )
        return value, gradient, curvature.reshape(flat.size, flat.size) + np.eye(flat.size)

    return compute_loss


class HeldOutScores(NamedTuple):
    """Scores of documents by models that were trained without them."""

    scores: Floats
    """Shape (n_docs, n_classes), in nats."""
    lengths: Ints
    """Tokens of terms that the model knows, shape (n_docs,)."""
    unknown_lengths: Ints
    """All other tokens, shape (n_docs,)."""
    truth: DocumentLabels
    weights: Floats
    """Weights of the documents, shape (n_docs,), which are 1 in a corpus without weights."""

    @classmethod
    def concatenate(cls, blocks: Sequence[HeldOutScores]) -> HeldOutScores:
        """Return the documents of all blocks, in order."""
        return cls(
            scores=np.concatenate([block.scores for block in blocks]),
            lengths=np.concatenate([block.lengths for block in blocks]),
            unknown_lengths=np.concatenate([block.unknown_lengths for block in blocks]),
            truth=DocumentLabels.concatenate([block.truth for block in blocks]),
            weights=np.concatenate([block.weights for block in blocks]),
        )

    @property
    def has_known_labels(self) -> Mask:
        """True for documents all of whose labels the models contain, shape (n_docs,).

        A held-out document that is the only one with its label has an unknown label.
        """
        documents, labels = self.truth.to_pairs()
        # The score of an unknown label is −inf, or nan.
        is_unknown = ~np.greater(self.scores[documents, labels], -np.inf)
        mask = np.ones(len(self.scores), np.bool_)
        mask[documents[is_unknown]] = False
        return mask

    def take(self, rows: Mask | slice) -> HeldOutScores:
        """Return some of the documents."""
        return HeldOutScores._make(column[rows] for column in self)

    def take_known_classes(self) -> HeldOutScores:
        """Return the documents all of whose labels the models contain."""
        return self.take(self.has_known_labels)


def compute_calibrated_log_loss(held_out: HeldOutScores, prior_exponent: float = 0.0) -> float:
    """Return the mean of −log p(truth | d), in nats, after calibration by length.

    Documents whose class the models do not contain are ignored. The calibration is fitted to the
    same documents. It does not depend on ``--calibration``, which must not change predictions. See
    `fit_length_temperature` for ``prior_exponent``.
    """
    scores, lengths, _, labels, weights = held_out.take_known_classes()
    truth = labels.indices
    calibration = fit_length_temperature(scores, truth, lengths, weights, prior_exponent)
    log_posterior = calibration.compute_log_posterior(scores, lengths)
    true_log_p = log_posterior[np.arange(len(truth)), truth]
    return -float((true_log_p * weights).sum() / weights.sum())


class HeldOutPosteriors(NamedTuple):
    """Calibrated posteriors of sampled documents by models that were trained without them."""

    posterior: Posterior
    """Its log p is −inf for the true label of a document that is the only one with this label."""
    truth: DocumentLabels
    weights: Floats
    """Weights of the documents, shape (n_docs,), which are 1 in a corpus without weights."""

    @property
    def log_posterior(self) -> Floats:
        """log p(label k | d), in nats, shape (n_docs, n_labels)."""
        return self.posterior.log_p

    @classmethod
    def from_posterior(
        cls, posterior: Posterior, truth: DocumentLabels, weights: Floats
    ) -> HeldOutPosteriors:
        """Return the documents for which at least one label is possible."""
        is_possible = ~np.isnan(posterior.log_p[:, 0])
        return cls(posterior[is_possible], truth[is_possible], weights[is_possible])
