"""Whether probabilities hold what they promise: of the documents answered with confidence 0.8, eight in ten should be right.

Source: M. Naeini, G. Cooper, M. Hauskrecht, Obtaining well calibrated probabilities using Bayesian binning (2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.metrics.outcomes import Judged

BINS = 15
"""Bins of equal width, each with its lower end, the last with both."""


class Reliability(NamedTuple):
    """Documents by the probability of their most probable class; all of shape (`BINS`,)."""

    documents: NDArray[np.int64]
    confidence: NDArray[np.float64]
    """Mean probability of the most probable class; nan in an empty bin, as is the next."""
    accuracy: NDArray[np.float64]
    """Share of the documents whose most probable class is the true one."""


def bin_of(confidence: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bin of each document, shape (n_docs,)."""
    return np.minimum((confidence * BINS).astype(np.int64), BINS - 1)


def reliability(judged: Judged) -> Reliability:
    """The bins. The most probable class counts, whether it was the answer or not."""
    places = bin_of(judged.confidence)
    documents = np.bincount(places, minlength=BINS)
    sums = (np.bincount(places, values, BINS) for values in (judged.confidence, (judged.rank == 0).astype(np.float64)))
    return Reliability(documents, *(np.divide(each, documents, out=np.full(BINS, np.nan), where=documents > 0) for each in sums))


def expected_calibration_error(bins: Reliability) -> float:
    """Σ over bins of (share of documents) × |accuracy − mean confidence|; nan of no documents."""
    filled = bins.documents > 0
    gaps = np.abs(bins.accuracy - bins.confidence)[filled]
    return float((bins.documents[filled] * gaps).sum() / bins.documents.sum()) if filled.any() else np.nan
