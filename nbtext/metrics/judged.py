"""What is kept of each document that was judged: 36 bytes, from which every figure but those of ranking follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NONE_GIVEN = -1
"""In place of an answer: there is none (any negative number counts as this)."""


class Judged(NamedTuple):
    """Documents with their true class and what was made of them; all of shape (n_docs,)."""

    truth: NDArray[np.int32]
    """Number of the true class; n_classes and more for labels that the classifier does not know."""
    answer: NDArray[np.int32]
    """Number of the class answered, `NONE_GIVEN` where there is no answer."""
    rank: NDArray[np.int32]
    """How many classes stand before the true one; n_classes if that is unknown."""
    log_loss: NDArray[np.float64]
    brier: NDArray[np.float64]
    confidence: NDArray[np.float64]
    """p of the most probable class, answered or not."""

    @property
    def n(self) -> int:
        """Number of documents."""
        return self.truth.size

    def of(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Judged:
        """Some of the documents."""
        truth, answer, rank, log_loss, brier, confidence = self
        return Judged(truth[rows], answer[rows], rank[rows], log_loss[rows], brier[rows], confidence[rows])


def judged(truth: NDArray[np.int64], answers: NDArray[np.int64], log_posterior: NDArray[np.float64]) -> Judged:
    """Judge documents by the number of their true class, their answer, and log p(C_k | d), shape (n_docs, n_classes), in nats."""
    of_truth = log_posterior_of(truth, log_posterior)
    return Judged(
        truth.astype(np.int32),
        np.maximum(answers, NONE_GIVEN).astype(np.int32),
        rank_of_truth(truth, log_posterior).astype(np.int32),
        -of_truth,
        brier_score(of_truth, log_posterior),
        np.exp(log_posterior.max(axis=1)),
    )


def joined(parts: Sequence[Judged]) -> Judged:
    """All documents in one, in order."""
    if not parts:
        none, no_figures = np.empty(0, np.int32), np.empty(0)
        return Judged(none, none, none, no_figures, no_figures, no_figures)
    return Judged(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def log_posterior_of(truth: NDArray[np.int64], log_posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """log p(true class | d), shape (n_docs,); −inf for a class that is unknown. Its negative is the log loss (I. Good, 1952)."""
    n_classes = log_posterior.shape[1]
    found = log_posterior[np.arange(truth.size), np.minimum(truth, n_classes - 1)]
    return np.where(truth < n_classes, found, -np.inf)


def brier_score(log_posterior_of_truth: NDArray[np.float64], log_posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ_k (p_k − [k is the true class])² of each document, shape (n_docs,), from 0 to 2 (G. Brier, 1950, eq. 2)."""
    probability = np.exp(log_posterior)
    p, other = np.exp(log_posterior_of_truth), (probability**2).sum(axis=1)
    score: NDArray[np.float64] = np.maximum(other - 2 * p + 1, 0)  # rounding may leave −1e-16
    return score


def rank_of_truth(truth: NDArray[np.int64], log_posterior: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many classes are more probable than the true one, or as probable and earlier; shape (n_docs,). n_classes for a class unknown."""
    n_classes = log_posterior.shape[1]
    of_truth = log_posterior_of(truth, log_posterior)[:, np.newaxis]
    before = np.arange(n_classes) < truth[:, np.newaxis]
    rank: NDArray[np.int64] = ((log_posterior > of_truth) | ((log_posterior == of_truth) & before)).sum(axis=1)
    return np.where(truth < n_classes, rank, n_classes)
