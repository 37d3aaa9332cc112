"""How well the score of a class puts its documents before the others, whatever threshold is set: one class against the rest.

These two figures need all scores at once, which are kept up to `SCORES_KEPT`; beyond it they are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCORES_KEPT = 1 << 25
"""Most scores, documents times classes, that are kept: 256 MiB."""


class RankingFigures(NamedTuple):
    """By class, shape (n_classes,); nan for a class that none of the documents has, or all, or if there were too many scores."""

    roc_auc: NDArray[np.float64]
    average_precision: NDArray[np.float64]


class KeptScores:
    """Log posteriors of all documents, unless they become too many."""

    def __init__(self, n_classes: int, limit: int = SCORES_KEPT) -> None:
        self._n_classes = n_classes
        self._room = limit
        self._blocks: list[NDArray[np.float64]] = []

    @property
    def complete(self) -> bool:
        """Whether all are there."""
        return self._room >= 0

    def add(self, log_posterior: NDArray[np.float64]) -> None:
        """Keep log p(C_k | d), shape (n_docs, n_classes), in nats; once there are too many, let all go."""
        self._room -= log_posterior.size
        if self.complete:
            self._blocks.append(log_posterior)
        else:
            self._blocks.clear()

    def figures(self, truth: NDArray[np.int32]) -> RankingFigures:
        """Each class against the rest, given the true class of all documents, shape (n_docs,)."""
        made = RankingFigures(np.full(self._n_classes, np.nan), np.full(self._n_classes, np.nan))
        if not self.complete or not truth.size:
            return made
        for k in np.unique(truth[truth < self._n_classes]).tolist():
            scores = np.concatenate([block[:, k] for block in self._blocks])
            positives = np.sort(scores[truth == k])
            scores.sort()
            if positives.size < scores.size:
                made.roc_auc[k] = area_under_roc(scores, positives)
                made.average_precision[k] = average_precision(scores, positives)
        return made


def area_under_roc(scores: NDArray[np.float64], positives: NDArray[np.float64]) -> float:
    """The probability that a document of the class scores higher than another, ties counting half: the Mann–Whitney statistic.

    All scores, shape (n_docs,), and those of the class, both ascending. Source: J. Hanley, B. McNeil (1982).
    """
    n = positives.size
    middle_ranks = (np.searchsorted(scores, positives, "left") + np.searchsorted(scores, positives, "right") + 1) / 2
    return float((middle_ranks.sum() - n * (n + 1) / 2) / (n * (scores.size - n)))


def average_precision(scores: NDArray[np.float64], positives: NDArray[np.float64]) -> float:
    """Σ over thresholds of (gain in recall) × precision; documents with equal scores come together (IIR section 8.4).

    All scores, shape (n_docs,), and those of the class, both ascending.
    """
    found = positives.size - np.searchsorted(positives, positives, "left")
    seen = scores.size - np.searchsorted(scores, positives, "left")
    return float((found / seen).mean())
