"""Calibration: from scores to probabilities that agree with how often answers are right.

Naive Bayes counts every term as independent evidence. Terms of one document are not independent, so its posterior is too extreme, the more so
the longer the document. Calibration divides the scores by a temperature T before they become a posterior. The parameters make documents that
the model has not seen most probable in their own class. A document without known tokens has T = 1 whatever they are, so it has no part in their fit.
A normal prior stands in for documents where there are few, or where none was answered wrong. It is around T = n^`COUNT_TEMPERATURE_EXPONENT` for a model that counts every
token as evidence, and around T = 1 for others.

Sources: C. Guo et al., On calibration of modern neural networks (2017), for the temperature; P. Bennett, Assessing the calibration of
naive Bayes' posterior estimates (2000), for the part of the length.
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

COUNT_TEMPERATURE_EXPONENT = 0.5
"""Exponent of the usual temperature of multinomial and Bernoulli naive Bayes: of documents of 9, 11, 18 and 77 tokens (bank questions, text messages,
tweets, news) T is 1.8, 2.8, 4.6 and 11 where 3,000 are known."""

MAX_NEWTON_STEPS = 50
"""Newton steps; six are usual. Of few documents a fit may end here: with more steps models would not be the same bytes."""

MIN_GAIN_NATS = 1e-6
"""Nats over all documents, twice the gain of a Newton step that is not worth taking."""

MAX_ABS_LOG = 30.0
"""Bound of log T and of its change in one step, up or down."""

MAX_ABS_EXPONENT = 15.0
"""Of T = a·n^b, up or down: if all documents have about the same length, the data do not bound b."""

LOG_ZERO_SCORE = -1e200
"""In place of log 0 in a fit, where 0 · ∞ would be no number."""

MAX_KNOWN_TOKENS = 2.0**53
"""Documents have fewer known tokens."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """log p(C_k | d) = log softmax_k(s_k / T), T = scale · n^exponent for a document of n known tokens."""

    scale: float = 1.0
    exponent: float = 0.0

    @property
    def label_competition(self) -> dict[str, float] | None:
        """What the model file says of how labels compete; None for classes."""
        return None

    def to_arrays(self) -> dict[str, Floats]:
        """Return the arrays of labels that the model file keeps, by name."""
        return {}

    def compute_temperatures(self, lengths: Ints) -> Floats:
        """Return T of documents of these lengths, shape (n_docs,), with log T within ±`MAX_ABS_LOG` as in the fit.

        T is 1 for a document without known tokens, whose posterior is the prior.
        """
        with np.errstate(over="ignore"):
            temperature = self.scale * np.maximum(lengths, 1.0) ** self.exponent
        return np.where(
            lengths > 0, np.clip(temperature, np.exp(-MAX_ABS_LOG), np.exp(MAX_ABS_LOG)), 1.0
        )

    def get_common_temperature(self, lengths: Ints) -> float | None:
        """Return T of all classes of the first document, None where each label has its own."""
        return float(self.compute_temperatures(lengths)[0])

    @property
    def is_valid(self) -> bool:
        """True if a fit can end here: at some length log T is within ±`MAX_ABS_LOG`, up to the digits that are not kept."""
        ends = np.log(self.scale) + self.exponent * np.array((0.0, np.log(MAX_KNOWN_TOKENS)))
        within = (
            ends.min() < MAX_ABS_LOG + MIN_GAIN_NATS and ends.max() > -MAX_ABS_LOG - MIN_GAIN_NATS
        )
        return bool(within and abs(self.exponent) <= MAX_ABS_EXPONENT)

    def compute_log_posterior(self, scores: Floats, lengths: Ints) -> Floats:
        """Return log p(C_k | d) from scores, both of shape (n_docs, n_classes), in nats, and known tokens, shape (n_docs,)."""
        scaled = scores / self.compute_temperatures(lengths)[:, np.newaxis]
        return normalize_log_joint(scaled, scaled)

    def compute_held_out_log_posterior(
        self, scores: Floats, truth: DocumentLabels, lengths: Ints, weights: Floats
    ) -> Floats:
        """Return log p(C_k | d) of the documents that this was fitted to: two numbers are learnt from all of them, so nothing of one."""
        del truth, weights
        return self.compute_log_posterior(scores, lengths)


LABEL_ARRAYS = ("label_slopes", "label_offsets", "label_priors")
"""In the model file."""

UNCALIBRATED = Calibration()
"""The posterior of the textbook: T = 1."""


def fit_length_temperature(
    scores: Floats,
    truth: AnyInts,
    lengths: Ints,
    weights: Floats | None = None,
    prior_exponent: float = 0.0,
) -> Calibration:
    """Fit T = a·n^b to scores, shape (n_docs, n_classes), in nats, and true classes, shape (n_docs,).

    ``lengths`` n are known tokens, and ``weights`` multiply the loss of each document, both of shape (n_docs,); None for weights of 1. The prior is around
    n^``usual``: log T at the middle length and b are normal with standard deviation 1.
    """
    log_lengths = np.log(np.maximum(lengths, 1))
    counted = (lengths > 0) * (1.0 if weights is None else weights)
    centre = np.average(log_lengths, weights=counted) if counted.any() else 0.0
    log_middle, exponent = _fitted(
        scores,
        truth,
        lengths,
        log_lengths - centre,
        weights,
        np.array([[-prior_exponent * centre, -prior_exponent]]),
    )
    return Calibration(
        float(f"{np.exp(log_middle - exponent * centre):.9g}"), float(f"{exponent:.9g}")
    )


def _fitted(
    scores: Floats,
    truth: AnyInts,
    lengths: Ints,
    x: Floats,
    weights: Floats | None,
    centre: Floats,
) -> tuple[float, float]:
    """Return t and b of log T = t + b·x, within their bounds; x and the known tokens have shape (n_docs,). ``centre`` is that of the prior of −t and −b."""
    here = lengths > 0
    weights = np.ones(np.count_nonzero(here)) if weights is None else weights[here]
    x = x[here]
    loss = make_temperature_loss(scores[here, np.newaxis], truth[here], x, weights, centre)
    found = minimize_by_newton(
        loss,
        centre[0],
        MIN_GAIN_NATS,
        lambda step: np.abs(step[0] + step[1] * x).max(),
        MAX_NEWTON_STEPS,
    )
    t, b = (0.0 - found).tolist()  # no −0
    return max(-MAX_ABS_LOG, min(t, MAX_ABS_LOG)), max(-MAX_ABS_EXPONENT, min(b, MAX_ABS_EXPONENT))


def minimize_by_newton(
    loss: Loss,
    start: Floats,
    min_gain: float,
    step_length: Callable[[Floats], float],
    max_steps: int = 1000,
) -> Floats:
    """Return where a loss is least, given the function of its value, its gradient and the positive part of its second derivative.

    The steps are Newton's, at most `MAX_ABS_LOG` long, halved until the loss falls; the last one's gain would be below half of ``least_gain``. Source:
    S. Boyd, L. Vandenberghe, Convex optimization (2004), section 9.5.
    """
    parameters, (value, gradient, curvature) = start, loss(start)
    for _ in range(max_steps):
        step: Floats = np.linalg.solve(curvature, gradient).astype(np.float64, copy=False)
        if step @ gradient < min_gain:
            break
        step *= min(1.0, MAX_ABS_LOG / float(step_length(step)))
        while (new := loss(parameters - step))[0] > value:
            step /= 2
        parameters, (value, gradient, curvature) = parameters - step, new
    return parameters


def make_temperature_loss(
    scores: Floats, truth: AnyInts, x: Floats, weights: Floats, centre: Floats
) -> Loss:
    """Return Σ_d −w_d log softmax(Σ_m u_m s_m)_truth + |θ − centre|²/2 as a function of θ, flat (t_m, b_m) with log u_m = t_m + b_m·x; scores are overwritten.

    The last term is a standard normal prior, for corpora of few documents. Scores s_m of models have the shape (n_docs, n_models, n_classes), x and
    ``weights`` (n_docs,), ``centre`` (n_models, 2). The function returns the gradient too, from ∂loss/∂log u_m = u_m (E[s_m] − s_m,truth), and
    the positive part of the second derivatives, from u_m u_n Cov[s_m, s_n], both under the posterior.
    """
    scores -= scores.max(axis=2, keepdims=True)
    np.maximum(scores, LOG_ZERO_SCORE, out=scores)
    design = np.stack((np.ones_like(x), x), axis=1)
    rows = np.arange(truth.size)
    posterior = np.empty_like(scores[:, 0])
    expected = np.empty_like(scores)  # kept: to make them anew takes as long as to fill them

    def loss(flat: Floats) -> tuple[float, Floats, Floats]:
        parameters = flat.reshape(centre.shape)
        factors = np.exp(np.clip(design @ parameters.T, -MAX_ABS_LOG, MAX_ABS_LOG))
        pooled = np.einsum("dm,dmk->dk", factors, scores, out=posterior)
        pooled -= pooled.max(axis=1, keepdims=True)
        of_truth = pooled[rows, truth]
        np.exp(pooled, out=posterior)
        total = posterior.sum(axis=1)
        np.divide(posterior, total[:, np.newaxis], out=posterior)
        distance = (parameters - centre).ravel()
        value = float((weights * (np.log(total) - of_truth)).sum() + distance @ distance / 2)
        np.multiply(posterior[:, np.newaxis], scores, out=expected)
        mean = expected.sum(axis=2)
        covariance = (
            np.einsum("dmk,dnk->dmn", expected, scores)
            - mean[:, :, np.newaxis] * mean[:, np.newaxis]
        )
        slopes = factors[:, :, np.newaxis] * design[:, np.newaxis]
        gradient = (
            np.einsum("d,dm,dmi->mi", weights, mean - scores[rows, :, truth], slopes).ravel()
            + distance
        )
        curvature = np.einsum(
            "dmn,dmi,dnj->minj", weights[:, np.newaxis, np.newaxis] * covariance, slopes, slopes
        )
        return value, gradient, curvature.reshape(flat.size, flat.size) + np.eye(flat.size)

    return loss


class HeldOutScores(NamedTuple):
    """Scores of documents by models that were estimated without them."""

    scores: Floats
    """Shape (n_docs, n_classes), in nats."""
    lengths: Ints
    """Tokens of terms that count, shape (n_docs,)."""
    unknown_lengths: Ints
    """Other tokens, shape (n_docs,)."""
    truth: DocumentLabels
    weights: Floats
    """The weights of the documents, shape (n_docs,); 1 if they have none."""

    @classmethod
    def concatenate(cls, parts: Sequence[HeldOutScores]) -> HeldOutScores:
        """Return the documents of all parts, in order."""
        return cls(
            scores=np.concatenate([part.scores for part in parts]),
            lengths=np.concatenate([part.lengths for part in parts]),
            unknown_lengths=np.concatenate([part.unknown_lengths for part in parts]),
            truth=DocumentLabels.concatenate([part.truth for part in parts]),
            weights=np.concatenate([part.weights for part in parts]),
        )

    @property
    def has_known_labels(self) -> Mask:
        """Which documents have labels that the models know, shape (n_docs,): not those whose label went with its only document."""
        documents, labels = self.truth.to_pairs()
        is_known = np.ones(len(self.scores), np.bool_)
        is_known[documents[~np.greater(self.scores[documents, labels], -np.inf)]] = False
        return is_known

    def take_known_classes(self) -> HeldOutScores:
        """Return the documents of known classes."""
        return HeldOutScores._make(column[self.has_known_labels] for column in self)


def compute_calibrated_log_loss(unseen: HeldOutScores, prior_exponent: float = 0.0) -> float:
    """Return the mean of −log p(truth | d), in nats, of the documents whose class the model knows, calibrated by length on the same documents.

    It does not follow ``--calibration``, which is to change probabilities and no answers. ``usual`` as in `by_length`.
    """
    scores, lengths, _, labels, of_known = unseen.take_known_classes()
    truth = labels.indices
    weights = None if np.all(unseen.weights == 1) else of_known
    posterior = fit_length_temperature(
        scores, truth, lengths, weights, prior_exponent
    ).compute_log_posterior(scores, lengths)
    return -float(np.average(posterior[np.arange(len(truth)), truth], weights=weights))


class HeldOutPosteriors(NamedTuple):
    """Posteriors of sampled documents under models that were trained without them, and the true labels."""

    posterior: Posterior
    """Calibrated; −inf for the label of an only document, which the others do not know."""
    truth: DocumentLabels
    weights: Floats
    """The weights of the documents, shape (n_docs,); 1 if they have none."""

    @property
    def log_posterior(self) -> Floats:
        """Return log p(label k | d), in nats, shape (n_docs, n_labels)."""
        return self.posterior.logs

    @classmethod
    def from_posterior(
        cls, posterior: Posterior, truth: DocumentLabels, weights: Floats
    ) -> HeldOutPosteriors:
        """Return the documents for which any label is possible."""
        possible = ~np.isnan(posterior.logs[:, 0])
        return cls(posterior[possible], truth[possible], weights[possible])
