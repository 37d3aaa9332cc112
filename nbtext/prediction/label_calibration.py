"""Calibration where documents may have several labels: from the log odds of each label to the probability that the document has it.

The log odds of label k over the rest are s_k for the words of the document and o_k before they are read. With n known tokens:

    z_k = scale · n^exponent · slope_k · s_k + offset_k
    log odds of k = z_k − rivalry · log(1 + Σ_{l≠k} exp(level + z_l))

Naive Bayes counts dependent words as independent evidence, as in `nbtext.prediction.calibration`, and for each label apart: a document of one topic looks like one of
several related ones. The second line lets labels compete, from not at all (rivalry 0) to a softmax with a class for no label (rivalry 1, level 0).
The parameters make left-out documents most probable; slope and offset of each label are drawn towards those of all. Documents without known tokens have the
log odds o whatever the parameters are, so they have no part in the fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.calibration import LABEL_ARRAYS, MAX_ABS_EXPONENT, MAX_ABS_LOG, Calibration

if TYPE_CHECKING:
    from nbtext.prediction.labels import DocumentLabels
    from nbtext.type_names import Floats, Ints, Mask

SLOPE_STD = 0.1
OFFSET_STD = 1.0
"""Standard deviations of the slopes around 1 and of the offsets around those that follow from the shares of labels, in nats.

That of slopes was chosen of 0.03 to 0.5 by the log loss of the other halves of the training part of Reuters and of newsgroups with cross-posts, and of drawn
documents. With 0.05 it is 0.01 higher where thousands of documents are known, with 0.3 slopes fit their own documents and it is 0.06 higher where 100 are. On the
test part of Reuters it is 1.209."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelCalibration(Calibration):
    """Parameters as above; slopes, offsets and prior log odds o have the shape (n_labels,)."""

    rivalry: float
    level: float
    slopes: Floats
    offsets: Floats
    prior: Floats

    @classmethod
    def from_prior(cls, prior: Floats) -> LabelCalibration:
        """Return the calibration of the textbook: labels are independent, and their log odds are s + o."""
        return cls(rivalry=0.0, level=0.0, slopes=np.ones_like(prior), offsets=prior, prior=prior)

    @property
    def label_competition(self) -> dict[str, float]:
        """Rivalry and level."""
        return {"rivalry": self.rivalry, "level": self.level}

    def to_arrays(self) -> dict[str, Floats]:
        """Return the arrays that the model file keeps, by name."""
        return dict(zip(LABEL_ARRAYS, (self.slopes, self.offsets, self.prior), strict=True))

    def get_common_temperature(self, lengths: Ints) -> None:
        """Return None: a label has its own slope too."""

    def compute_log_posterior(self, scores: Floats, lengths: Ints) -> Floats:
        """Return log p(label k | d), shape (n_docs, n_labels), in nats; the labels of a document need not sum to 1. Scores are s + o."""
        z = (scores - self.prior) * (
            self.slopes / self.compute_temperatures(lengths)[:, np.newaxis]
        ) + self.offsets
        odds = np.where(
            lengths[:, np.newaxis] > 0,
            z - self.rivalry * _rivals(np.clip(z, -MAX_ABS_LOG, MAX_ABS_LOG), self.level),
            self.prior,
        )
        return -np.logaddexp(0.0, -odds)

    def compute_held_out_log_posterior(
        self, scores: Floats, truth: DocumentLabels, lengths: Ints, weights: Floats
    ) -> Floats:
        """Return log p(label k | d) of the documents that this was fitted to, each part of them by what is learnt from the others.

        Only the offsets stay: that of a rare label without a document that has it would be for a rarer one.
        """
        found = np.empty_like(scores)
        parts = np.arange(len(scores)) % max(
            min(MAX_DOCUMENT_LABEL_PAIRS // max(scores.size, 1), MAX_HELD_OUT_PARTS), 2
        )
        is_true = truth.to_mask(scores.shape[1])
        known = ~(is_true & np.isneginf(scores)).any(axis=1)
        for is_out in (parts == part for part in range(parts.max(initial=-1) + 1)):
            others = known & ~is_out
            of_others = fit_label_calibration(
                scores[others], is_true[others], lengths[others], weights[others], self.prior, self
            )
            found[is_out] = of_others.compute_log_posterior(scores[is_out], lengths[is_out])
        return found


MAX_HELD_OUT_PARTS = 20
MAX_DOCUMENT_LABEL_PAIRS = 1 << 21
"""Parts of left-out documents, and documents times labels of all parts, since to learn from 2¹⁸ takes 0.2 s."""


def _rivals(z: Floats, level: float) -> Floats:
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
    """Fit to the scores s + o of left-out documents and to their labels, both of shape (n_docs, n_labels); −inf where the label is not known.

    ``weights`` multiply the loss of each document, shape (n_docs,); None for weights of 1. First what all labels share is fitted, then all. With the
    calibration ``near``, the offsets are its own, and the fit of all else begins there.
    """
    from scipy.optimize import minimize

    fit = _LabelLoss(
        scores, truth, lengths, np.ones(len(scores)) if weights is None else weights, prior
    )
    everything = np.arange(_SHARED + 2 * prior.size)
    found = np.concatenate((_START, np.ones(prior.size), np.zeros(prior.size)))
    stages = [everything[:_SHARED], everything]
    if initial is not None:
        found = np.concatenate(
            (
                (-np.log(initial.scale), -initial.exponent, 1, 0, initial.rivalry, initial.level),
                initial.slopes,
                initial.offsets - prior,
            )
        )
        stages = [np.delete(everything[: _SHARED + prior.size], _OF_OFFSETS)]
    for free in stages:
        start = found
        units = 1 / np.sqrt(fit.compute_curvature(found)[free])

        def of_free(
            steps: Floats, start: Floats = start, free: Ints = free, units: Floats = units
        ) -> tuple[float, Floats]:
            value, gradient = fit.compute_loss(_moved(start, free, units * steps))
            return value, gradient[free] * units

        steps = minimize(
            of_free, np.zeros(units.size), jac=True, method="L-BFGS-B", options=_STOP
        ).x
        found = _moved(start, free, units * steps)
    (log_scale, exponent, of_prior, offset, rivalry, level), slopes, offsets = fit.parts(found)
    slopes, offsets = (_rounded(part) for part in (slopes, of_prior * prior + offset + offsets))
    log_scale, rivalry, level = (
        max(-MAX_ABS_LOG, min(value, MAX_ABS_LOG)) for value in (log_scale, rivalry, level)
    )
    exponent = max(-MAX_ABS_EXPONENT, min(exponent, MAX_ABS_EXPONENT))
    scale, exponent, rivalry, level = _rounded(
        np.array((np.exp(-log_scale), -exponent, rivalry, level))
    ).tolist()
    return LabelCalibration(
        scale, exponent, rivalry=rivalry, level=level, slopes=slopes, offsets=offsets, prior=prior
    )


def _rounded(values: Floats) -> Floats:
    return np.array([float(f"{value:.9g}") for value in values.tolist()])


_SHARED = 6
"""Parameters that all labels share: log scale, exponent, weight of the prior, offset, rivalry, level. Slopes and offsets follow."""

_OF_OFFSETS = (2, 3)
"""The places of those that offsets follow from."""

_START = (0.0, -0.5, 1.0, 0.0, 0.5, 0.0)
"""Around these the shared parameters have standard normal priors, for corpora of few documents."""

_STOP = {"maxiter": 200, "ftol": 1e-5}

_PAIRS_AT_ONCE = 1 << 14
"""Documents times labels in a block that fits into the processor's cache: a third of the time of whole arrays."""


def _moved(start: Floats, free: Ints, steps: Floats) -> Floats:
    found = start.copy()
    found[free] += steps
    return found


class _LabelLoss:
    """The loss of left-out documents as a function of the parameters, flat, with its gradient."""

    def __init__(
        self, scores: Floats, truth: Mask, lengths: Ints, weights: Floats, prior: Floats
    ) -> None:
        known = np.isfinite(scores) & (lengths > 0)[:, np.newaxis]
        s = np.where(known, scores - prior, 0.0)
        signs = np.where(truth, -1.0, 1.0)
        columns = (
            s,
            signs,
            known * weights[:, np.newaxis],
            np.log(np.maximum(lengths, 1))[:, np.newaxis],
        )
        step = max(_PAIRS_AT_ONCE // prior.size, 1)
        self._blocks = [
            tuple(column[begin : begin + step] for column in columns)
            for begin in range(0, len(s), step)
        ]
        self._prior = prior

    def parts(self, parameters: Floats) -> tuple[list[float], Floats, Floats]:
        """Return the shared parameters, slopes and offsets."""
        return parameters[:_SHARED].tolist(), *np.split(parameters[_SHARED:], 2)

    def compute_loss(self, parameters: Floats) -> tuple[float, Floats]:
        """Return −Σ log p of all labels and their absence, and of the priors of slopes and offsets, in nats, and its gradient."""
        (log_scale, exponent, of_prior, offset, rivalry, level), slopes, offsets = self.parts(
            parameters
        )
        begins = of_prior * self._prior + offset + offsets
        value = 0.0
        apart = parameters[:_SHARED] - _START
        shared = apart.copy()
        of_slopes = (slopes - 1) / SLOPE_STD**2
        of_offsets = offsets / OFFSET_STD**2
        for s, signs, weights, log_lengths in self._blocks:
            scaled = (
                np.exp(np.clip(log_scale + exponent * log_lengths, -MAX_ABS_LOG, MAX_ABS_LOG)) * s
            )
            words = scaled * slopes
            z = words + begins
            odds = np.exp(
                np.clip(z, -MAX_ABS_LOG, MAX_ABS_LOG) + np.clip(level, -MAX_ABS_LOG, MAX_ABS_LOG)
            )
            others = np.maximum(odds.sum(axis=1, keepdims=True) - odds, 0.0)
            rivals = np.log1p(others)
            against = signs * (z - rivalry * rivals)
            small = np.exp(-np.abs(against))
            value += float((weights * (np.maximum(against, 0.0) + np.log1p(small))).sum())
            slope = weights * signs * np.where(against > 0, 1.0, small) / (1.0 + small)
            passed_on = slope / (1.0 + others)
            of_z = slope - rivalry * odds * (passed_on.sum(axis=1, keepdims=True) - passed_on) * (
                np.abs(z) < MAX_ABS_LOG
            )
            by_words = of_z * words
            shared += (
                by_words.sum(),
                (by_words * log_lengths).sum(),
                of_z.sum(axis=0) @ self._prior,
                of_z.sum(),
                -(slope * rivals).sum(),
                -rivalry * (passed_on * others).sum(),
            )
            of_slopes += (of_z * scaled).sum(axis=0)
            of_offsets += of_z.sum(axis=0)
        value += (
            float(
                apart @ apart
                + (((slopes - 1) / SLOPE_STD) ** 2).sum()
                + ((offsets / OFFSET_STD) ** 2).sum()
            )
            / 2
        )
        return value, np.concatenate((shared, of_slopes, of_offsets))

    def compute_curvature(self, parameters: Floats) -> Floats:
        """Return about how much the loss bends in each parameter: steps in these units converge in half as many."""
        (log_scale, exponent, of_prior, offset, rivalry, level), slopes, offsets = self.parts(
            parameters
        )
        shared = np.zeros(_SHARED)
        squares = np.full(slopes.size, SLOPE_STD**-2)
        bends = np.full(slopes.size, OFFSET_STD**-2)
        for s, _, weights, log_lengths in self._blocks:
            scaled = (
                np.exp(np.clip(log_scale + exponent * log_lengths, -MAX_ABS_LOG, MAX_ABS_LOG)) * s
            )
            z = np.clip(
                scaled * slopes + (of_prior * self._prior + offset + offsets),
                -MAX_ABS_LOG,
                MAX_ABS_LOG,
            )
            rivals = _rivals(z, level)
            p = 1 / (1 + np.exp(rivalry * rivals - z))
            bend = weights * p * (1 - p)
            of_words = bend * scaled**2
            everywhere = bend.sum()
            shared += (
                of_words.sum(),
                (of_words * log_lengths**2).sum(),
                bend.sum(axis=0) @ self._prior**2,
                everywhere,
                (bend * rivals**2).sum(),
                rivalry**2 * everywhere,
            )
            squares += of_words.sum(axis=0)
            bends += bend.sum(axis=0)
        return np.maximum(np.concatenate((shared, squares, bends)), 1.0)
