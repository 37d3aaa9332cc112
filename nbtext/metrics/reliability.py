"""Calibration of probabilities: of the documents answered with confidence 0.8, eight in ten should be right.

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
    hits: NDArray[np.int64]
    """Documents whose most probable class is the true one."""
    confidence: NDArray[np.float64]
    """Mean probability of the most probable class; nan in an empty bin."""

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Share of the documents whose most probable class is the true one; nan in an empty bin."""
        return _ratio(self.hits, self.documents)


def bin_of(confidence: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of each document, shape (n_docs,)."""
    return np.minimum((confidence * BINS).astype(np.int64), BINS - 1)


def reliability(judged: Judged) -> Reliability:
    """Return the bins. The most probable class counts, whether it was the answer or not."""
    places = bin_of(judged.confidence)
    documents = np.bincount(places, minlength=BINS)
    hits = np.bincount(places[judged.rank == 0], minlength=BINS)
    return Reliability(documents, hits, _ratio(np.bincount(places, judged.confidence, BINS), documents))


def expected_calibration_error(bins: Reliability) -> float:
    """Return Σ over bins of (share of documents) × |accuracy − mean confidence|; nan of no documents."""
    filled = bins.documents > 0
    gaps = np.abs(bins.accuracy - bins.confidence)[filled]
    return float((bins.documents[filled] * gaps).sum() / bins.documents.sum()) if filled.any() else np.nan


def _ratio(part: NDArray[np.int64] | NDArray[np.float64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    ratio: NDArray[np.float64] = np.divide(part, whole, out=np.full(BINS, np.nan), where=whole > 0)
    return ratio
