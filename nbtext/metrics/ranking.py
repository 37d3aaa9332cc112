"""How well the score of a class puts its documents before the others, whatever threshold is set: one class against the rest.

These two figures need all scores at once, which are kept up to `SCORES_KEPT`; beyond it they are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCORES_KEPT = 1 << 25
"""Most scores, documents times classes, that are kept: 256 MiB."""


RANK_ROUNDING = 1 << 13
"""How far apart rounding may bring the log odds of documents whose scores are equal, in units in the last place of a document's largest |log p|.

Rounding happens in units of the score, which is a sum over all terms, and larger by a factor of up to hundreds than the differences between
classes that make up log p. Documents of up to 3,000 words with equal scores, summed in another order or brought to unit length from other
counts, came to 4 units of the score and to 1,400 of log p, and under isotonic calibration, which is steep in places, to 5,300.
"""


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
        units = np.concatenate([_unit(block) for block in self._blocks])
        for k in np.unique(truth[truth < self._n_classes]).tolist():
            ranks = tied_ranks(np.concatenate([block[:, k] for block in self._blocks]), units)
            positives = np.sort(ranks[truth == k])
            ranks.sort()
            if positives.size < ranks.size:
                made.roc_auc[k] = area_under_roc(ranks, positives)
                made.average_precision[k] = average_precision(ranks, positives)
        return made


def _unit(log_posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit in the last place of each document's largest finite |log p|, shape (n_docs,)."""
    largest: NDArray[np.float64] = np.spacing(np.abs(log_posterior).max(axis=1, where=log_posterior > -np.inf, initial=0))
    return largest


def tied_ranks(log_probability: NDArray[np.float64], units: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return ranks from 0 up that rise with log p of a class; documents whose log p differs by rounding share one. All of shape (n_docs,).

    A neighbour is tied if its log odds are within `RANK_ROUNDING` of the ``units``; an error e of log odds is one of (1 − p)·e in log p.
    """
    order = np.argsort(log_probability, kind="stable")
    ascending = log_probability[order]
    tolerance = -np.expm1(ascending) * RANK_ROUNDING * units[order]
    with np.errstate(invalid="ignore"):  # from −∞ to −∞ is no step
        steps = np.diff(ascending) > np.maximum(tolerance[1:], tolerance[:-1])
    ranks = np.zeros(order.size, np.int64)
    ranks[order[1:]] = np.cumsum(steps)
    return ranks


def area_under_roc(scores: NDArray[Any], positives: NDArray[Any]) -> float:
    """The probability that a document of the class scores higher than another, ties counting half: the Mann–Whitney statistic.

    All scores or ranks, shape (n_docs,), and those of the class, both ascending. Source: J. Hanley, B. McNeil (1982).
    """
    n = positives.size
    middle_ranks = (np.searchsorted(scores, positives, "left") + np.searchsorted(scores, positives, "right") + 1) / 2
    return float((middle_ranks.sum() - n * (n + 1) / 2) / (n * (scores.size - n)))


def average_precision(scores: NDArray[Any], positives: NDArray[Any]) -> float:
    """Σ over thresholds of (gain in recall) × precision; documents with equal scores come together (IIR section 8.4).

    All scores or ranks, shape (n_docs,), and those of the class, both ascending.
    """
    found = positives.size - np.searchsorted(positives, positives, "left")
    seen = scores.size - np.searchsorted(scores, positives, "left")
    return float((found / seen).mean())
