"""From scores to probabilities and answers. Source: Gambosi's notes, "Probabilistic classification"; log-sum-exp keeps every step finite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def log_posterior(joint_log_likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
    """log p(C_k | d) from log p(d, C_k), both of shape (n_docs, n_classes), in nats: the softmax, by log-sum-exp.

    A row in which every class is impossible (−inf) has no posterior and becomes nan.
    """
    highest = joint_log_likelihood.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        shifted = joint_log_likelihood - highest
        posterior: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return posterior


def minimum_error(log_posterior: NDArray[np.float64]) -> NDArray[np.int64]:
    """The most probable class of each document, shape (n_docs,); the first of equals; −1 where no class is possible."""
    return np.where(np.isnan(log_posterior[:, 0]), -1, log_posterior.argmax(axis=1))
