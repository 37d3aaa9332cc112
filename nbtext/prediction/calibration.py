"""Calibration: from scores to probabilities that agree with how often predictions are right.

Naive Bayes counts every term as independent evidence. The terms of a document are dependent, so its
posterior is too extreme, and more so in longer documents. Calibration divides the scores by a
temperature T before they become a posterior. The fit makes held-out documents most probable in
their own class. Known tokens are tokens of terms that the model knows. Documents without known
tokens always have T = 1, so the fit ignores them.

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
    """A function of parameters, which returns its value, gradient and second derivative."""

COUNT_TEMPERATURE_EXPONENT = 0.5
"""Exponent of the usual temperature n^0.5 of multinomial and Bernoulli naive Bayes."""

MAX_NEWTON_STEPS = 50
"""Limit of a fit that does not converge, as with few documents. Six steps are usual."""

MIN_SQUARED_DECREMENT = 1e-6
"""A fit stops if the squared Newton decrement, twice the gain of a step in nats, is below this."""

MAX_BLOCK_SCORES = 1 << 14
"""Scores of the documents of a block, which fits into the processor's cache."""

MAX_ABS_LOG = 30.0
"""Upper bound of |log T|, and of the change of log T in one step."""

MAX_ABS_EXPONENT = 15.0
"""Upper bound of |b| in T = a·n^b, because documents of similar length do not determine b."""

LOG_ROUNDING_TOLERANCE = 1e-6
"""Tolerance of the check of stored parameters, which are rounded, in nats."""

LOG_ZERO_SCORE = -1e200
"""Replaces log 0 in a fit, because 0 · ∞ is nan."""

MAX_KNOWN_TOKENS = 2.0**53
"""Upper bound of the known tokens of a document."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Temperature T = scale · n^exponent for documents of n known tokens.

    log p(C_k | d) = log softmax_k(s_k / T) for scores s. `LabelCalibration` is the subclass for
    multi-label models.
    """

    scale: float = 1.0
    exponent: float = 0.0

    @property
    def label_competition(self) -> dict[str, float] | None:
        """Settings of a `LabelCalibration` for the model file. None for single-label models."""
        return None

    def to_arrays(self) -> dict[str, Floats]:
        """Return the arrays of a `LabelCalibration` for the model file, by name."""
        return {}

    def select_labels(self, indices: Ints, prior: Floats) -> Calibration:
        """Return the calibration, which does not depend on the labels of a single-label model.

        See `LabelCalibration.select_labels` for the arguments.
        """
        del indices, prior
        return self

    def compute_temperatures(self, lengths: Ints) -> Floats:
        """Return T of documents of these lengths, shape (n_docs,).

        As in the fit, log T is clipped to ±`MAX_ABS_LOG`. T is 1 for a document without known
        tokens, so its posterior is the prior.
        """
        with np.errstate(over="ignore"):
            temperatures = self.scale * np.maximum(lengths, 1.0) ** self.exponent
        clipped = np.clip(temperatures, np.exp(-MAX_ABS_LOG), np.exp(MAX_ABS_LOG))
        return np.where(lengths > 0, clipped, 1.0)

    def get_shared_temperature(self, lengths: Ints) -> float | None:
        """Return T of one document, whose length has the shape (1,).

        A `LabelCalibration` returns None, because classes do not share T.
        """
        return self.compute_temperatures(lengths).item()

    @property
    def is_valid(self) -> bool:
        """True if a fit can return these parameters, up to rounding.

        log T must be within ±`MAX_ABS_LOG` at some length from 1 to `MAX_KNOWN_TOKENS`.
        """
        if abs(self.exponent) > MAX_ABS_EXPONENT:
            return False
        extreme_log_lengths = np.array((0.0, np.log(MAX_KNOWN_TOKENS)))
        log_temperatures = np.log(self.scale) + self.exponent * extreme_log_lengths
        max_abs_log = MAX_ABS_LOG + LOG_ROUNDING_TOLERANCE
        # The range of log T and the range of valid values must overlap.
        return bool(log_temperatures.min() < max_abs_log and log_temperatures.max() > -max_abs_log)

    def compute_log_posterior(self, scores: Floats, lengths: Ints) -> Floats:
        """Return log p(C_k | d), shape (n_docs, n_classes), in nats.

        ``scores`` have the same shape. ``lengths`` are known tokens, shape (n_docs,).
        """
        scaled = scores / self.compute_temperatures(lengths)[:, np.newaxis]
        return normalize_log_joint(scaled, out=scaled)

    def compute_held_out_log_posterior(
        self, scores: Floats, truth: DocumentLabels, lengths: Ints, weights: Floats
    ) -> Floats:
        """Return log p(C_k | d) of the documents that this calibration was fitted to.

        `LabelCalibration` scores documents by fits to other documents, for which it needs ``truth``
        and ``weights``. With two parameters, one document hardly influences its own posterior.
        """
        del truth, weights
        return self.compute_log_posterior(scores, lengths)


LABEL_ARRAYS = ("label_slopes", "label_offsets", "label_priors")
"""Names in the model file of the arrays of a `LabelCalibration`.

They are not in its module, so that single-label models need not import it.
"""

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
    if not used_weights.any():
        return Calibration(exponent=prior_exponent)
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
        return np.abs(step[0] + step[1] * x).max()  # the largest change of log T

    minimum = minimize_by_newton(
        loss, prior_centre[0], MIN_SQUARED_DECREMENT, measure_step, MAX_NEWTON_STEPS
    )
    # log T and b are minus the parameters. Unlike −0.0, 0.0 − 0.0 is not printed with a sign.
    log_temperature, exponent = (0.0 - minimum).tolist()
    log_temperature = clip_to_limit(log_temperature, MAX_ABS_LOG)
    exponent = clip_to_limit(exponent, MAX_ABS_EXPONENT)
    scale = np.exp(log_temperature - exponent * mean_log_length)
    return Calibration(round_to_nine_digits(scale), round_to_nine_digits(exponent))


def clip_to_limit(value: float, limit: float) -> float:
    """Return the number from −limit to limit that is nearest to the value."""
    return max(-limit, min(value, limit))


def round_to_nine_digits(value: float) -> float:
    """Return a fitted parameter without the digits that depend on the platform."""
    return float(f"{value:.9g}")


def minimize_by_newton(
    loss: Loss,
    start: Floats,
    min_squared_decrement: float,
    measure_step: Callable[[Floats], float],
    max_steps: int = 1000,
) -> Floats:
    """Return the parameters that minimize a loss, by Newton's method with step halving.

    ``measure_step`` returns the length of a step of the parameters. Steps are at most `MAX_ABS_LOG`
    long, and halved until the loss does not rise. The iteration stops if the squared Newton
    decrement, twice the gain of a full step, is below ``min_squared_decrement``, or after
    ``max_steps``.

    Source: S. Boyd, L. Vandenberghe, Convex optimization (2004), section 9.5.
    """
    parameters = start
    value, gradient, curvature = loss(start)
    for _ in range(max_steps):
        step: Floats = np.linalg.solve(curvature, gradient).astype(np.float64, copy=False)
        if step @ gradient < min_squared_decrement:
            break
        step *= min(1.0, MAX_ABS_LOG / float(measure_step(step)))
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

    The gradient follows from ∂loss/∂log u_m = u_m (E[s_m] − s_m,truth). Of the second derivative,
    only the positive semidefinite term is returned, which follows from u_m u_n Cov[s_m, s_n]. E and
    Cov are under the posterior of each document.

    ``scores`` s_m are in nats, shape (n_docs, n_models, n_classes). ``truth`` are class indices,
    ``x`` centred log lengths and ``weights`` w of documents, all of shape (n_docs,).
    ``prior_centre`` has the shape (n_models, 2).
    """
    scores = scores - scores.max(axis=2, keepdims=True)
    np.maximum(scores, LOG_ZERO_SCORE, out=scores)
    true_scores = scores[np.arange(truth.size), :, truth]
    design = np.stack((np.ones_like(x), x), axis=1)
    block_size = max(MAX_BLOCK_SCORES // scores[0].size, 1)
    blocks = [slice(start, start + block_size) for start in range(0, truth.size, block_size)]

    def compute_loss(flat: Floats) -> tuple[float, Floats, Floats]:
        # Shapes: d documents, m and n models, k classes, i and j the two parameters of a model.
        parameters = flat.reshape(prior_centre.shape)
        factors = np.exp(np.clip(design @ parameters.T, -MAX_ABS_LOG, MAX_ABS_LOG))
        moments = [
            _compute_score_moments(factors[block], scores[block], truth[block]) for block in blocks
        ]
        losses, means, second_moments = map(np.concatenate, zip(*moments, strict=True))
        deviations = (parameters - prior_centre).ravel()
        value = float((weights * losses).sum() + deviations @ deviations / 2)

        covariances = second_moments - means[:, :, np.newaxis] * means[:, np.newaxis]
        factor_gradients = factors[:, :, np.newaxis] * design[:, np.newaxis]  # (d, m, i)
        excess = means - true_scores
        gradient = np.einsum("d,dm,dmi->mi", weights, excess, factor_gradients)
        curvature = np.einsum(
            "dmn,dmi,dnj->minj",
            weights[:, np.newaxis, np.newaxis] * covariances,
            factor_gradients,
            factor_gradients,
        ).reshape(flat.size, flat.size)
        # The prior adds its gradient and its second derivative, the identity matrix.
        return value, gradient.ravel() + deviations, curvature + np.eye(flat.size)

    return compute_loss


def _compute_score_moments(
    factors: Floats, scores: Floats, truth: AnyInts
) -> tuple[Floats, Floats, Floats]:
    """Return −log p(truth | d), E[s_m] and E[s_m s_n] under the posterior of each document.

    The posterior is the softmax of Σ_m u_m s_m, with the ``factors`` u, shape (n_docs, n_models).
    The results have the shapes (n_docs,), (n_docs, n_models) and (n_docs, n_models, n_models).
    """
    posterior = np.einsum("dm,dmk->dk", factors, scores)
    posterior -= posterior.max(axis=1, keepdims=True)
    # Until the next line, the array contains log p plus a constant of each document.
    true_logs = posterior[np.arange(truth.size), truth]
    np.exp(posterior, out=posterior)
    totals = posterior.sum(axis=1)
    posterior /= totals[:, np.newaxis]
    weighted_scores = posterior[:, np.newaxis] * scores
    second_moments = np.einsum("dmk,dnk->dmn", weighted_scores, scores)
    return np.log(totals) - true_logs, weighted_scores.sum(axis=2), second_moments


class HeldOutScores(NamedTuple):
    """Scores of documents by models that were trained without them."""

    scores: Floats
    """Shape (n_docs, n_classes), in nats."""
    lengths: Ints
    """Known tokens, shape (n_docs,)."""
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

        The models do not contain the label of a held-out document if no other document has it.
        """
        documents, labels = self.truth.to_pairs()
        # The score of an unknown label is −inf or nan. The comparison is False for both.
        is_known = np.greater(self.scores[documents, labels], -np.inf)
        has_known_labels = np.ones(len(self.scores), np.bool_)
        has_known_labels[documents[~is_known]] = False
        return has_known_labels

    def take(self, rows: Mask | slice) -> HeldOutScores:
        """Return some of the documents."""
        return HeldOutScores._make(column[rows] for column in self)

    def take_known_classes(self) -> HeldOutScores:
        """Return the documents all of whose labels the models contain."""
        return self.take(self.has_known_labels)


def compute_calibrated_log_loss(held_out: HeldOutScores, prior_exponent: float = 0.0) -> float:
    """Return the mean of −log p(truth | d), in nats, after calibration by length.

    Documents whose class the models do not contain are ignored. The calibration is fitted to the
    same documents. The loss chooses settings, and ``--calibration`` must not change predictions, so
    this option has no effect here. See `fit_length_temperature` for ``prior_exponent``.
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
    """log p is −inf for the true label of a document if no other document has this label."""
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
        # If no label is possible, log p of every label is nan.
        has_possible_label = ~np.isnan(posterior.log_p[:, 0])
        return cls(
            posterior[has_possible_label], truth[has_possible_label], weights[has_possible_label]
        )
