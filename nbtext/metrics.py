"""How good answers are: counts of hits and misses, proper scores of the probabilities, and calibration.

Everything is a running sum over documents, so a corpus of any size is judged in one pass. Sources: IIR section 8.3 and 13.6 (precision,
recall, F1, averages); G. Brier (1950); M. Naeini, G. Cooper, M. Hauskrecht (2015) for the calibration error; E. Wilson (1927).
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

BINS = 15
"""Equal-width bins of the calibration error."""

NORMAL_95 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""


class Evaluation:
    """Judges the answers of a classifier with the given classes; labels that it does not know become rows of their own."""

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = list(classes)
        self._number = {label: number for number, label in enumerate(self.classes)}
        self._n_known = len(self.classes)
        self._confusion: dict[tuple[int, int], int] = {}
        self._log_loss = 0.0
        self._brier = 0.0
        self._bins = np.zeros((BINS, 3))

    def add(self, labels: Sequence[str], log_posterior: NDArray[np.float64]) -> None:
        """Judge documents by their true labels and log p(C_k | d), shape (n_docs, n_classes), in nats, no row of nan."""
        for label in labels:
            if label not in self._number:
                self._number[label] = len(self.classes)
                self.classes.append(label)
        truth = np.array([self._number[label] for label in labels], np.int64)
        answer = log_posterior.argmax(axis=1)
        for cell in zip(truth.tolist(), answer.tolist(), strict=True):
            self._confusion[cell] = self._confusion.get(cell, 0) + 1
        known = np.flatnonzero(truth < self._n_known)
        log_of_truth = log_posterior[known, truth[known]]
        self._log_loss += float(-log_of_truth.sum()) if known.size == truth.size else np.inf
        probability = np.exp(log_posterior)
        self._brier += float((probability**2).sum() - 2 * np.exp(log_of_truth).sum() + truth.size)
        confidence = probability.max(axis=1)
        place = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
        np.add.at(self._bins, place, np.stack((np.ones(len(labels)), answer == truth, confidence), axis=1))

    @property
    def n(self) -> int:
        """Documents judged."""
        return sum(self._confusion.values())

    @property
    def unknown_labels(self) -> list[str]:
        """Labels that occurred and that the classifier does not know: it cannot be right about them."""
        return self.classes[self._n_known :]

    def confusion(self) -> dict[str, dict[str, int]]:
        """Documents by true class and answer, in the order of `classes`, without those that did not occur."""
        table: dict[str, dict[str, int]] = {}
        for (truth, answer), count in sorted(self._confusion.items()):
            table.setdefault(self.classes[truth], {})[self.classes[answer]] = count
        return table

    def summary(self) -> dict[str, Any]:
        """All figures as plain values; a figure that is not finite (an impossible class was the true one, or there are no documents) is None."""
        cells = np.array(list(self._confusion), np.int64).reshape(-1, 2)
        counts = np.array(list(self._confusion.values()), np.int64)
        support, answered, hits = (
            np.bincount(cells[chosen, side], counts[chosen], len(self.classes)).astype(np.float64)
            for side, chosen in ((0, slice(None)), (1, slice(None)), (0, cells[:, 0] == cells[:, 1]))
        )
        precision, recall, f1 = _ratio(hits, answered), _ratio(hits, support), _ratio(2 * hits, support + answered)
        judged = (support + answered) > 0
        n = self.n or np.nan
        accuracy = float(hits.sum()) / n
        figures = {
            "accuracy": accuracy,
            "macro_precision": float(precision[judged].sum() / (judged.sum() or np.nan)),
            "macro_recall": float(recall[judged].sum() / (judged.sum() or np.nan)),
            "macro_f1": float(f1[judged].sum() / (judged.sum() or np.nan)),
            "log_loss": self._log_loss / n,
            "brier": self._brier / n,
            "ece": float(np.abs(self._bins[:, 1] - self._bins[:, 2]).sum()) / n,
        }
        return {
            "n": self.n,
            **{name: value if np.isfinite(value) else None for name, value in figures.items()},
            "intervals": {"accuracy": list(wilson_interval(int(hits.sum()), self.n))},
            "per_class": {
                label: {"precision": float(p), "recall": float(r), "f1": float(f), "support": int(s)}
                for label, p, r, f, s in zip(self.classes, precision, recall, f1, support, strict=True)
            },
            "classes": self.classes,
            "confusion": self.confusion(),
            "unknown_labels": self.unknown_labels,
        }


def wilson_interval(hits: int, n: int) -> tuple[float, float]:
    """95 % interval of a share of hits among n trials (Wilson 1927, eq. as in Brown, Cai, DasGupta 2001, 4)."""
    if not n:
        return 0.0, 1.0
    z, p = NORMAL_95, hits / n
    centre = p + z * z / (2 * n)
    half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)
    return low if hits else 0.0, high if hits < n else 1.0  # where rounding would miss the end


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """part / whole, 0 where the whole is 0, as scikit-learn's zero_division=0 has it."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
