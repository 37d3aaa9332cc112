"""Slow twins of the figures by which answers are judged, document by document."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Probabilities = dict[str, float]


def share(part: int, whole: int) -> float:
    """part / whole, 0 if the whole is 0."""
    return float(Fraction(part, whole)) if whole else 0.0


def precision_recall_f1(
    truth: Sequence[str], answers: Sequence[str], label: str
) -> tuple[float, float, float]:
    """Of the answers ``label`` those that are right; of the documents of ``label`` those that are found; their harmonic mean."""
    hits = sum(t == a == label for t, a in zip(truth, answers, strict=True))
    answered, support = list(answers).count(label), list(truth).count(label)
    return share(hits, answered), share(hits, support), share(2 * hits, answered + support)


def brier(truth: Sequence[str], probabilities: Sequence[Probabilities]) -> float:
    """Mean over documents of Σ over classes, the true one included, of (p − [it is the true one])²."""
    return math.fsum(
        (given.get(label, 0.0) - (label == true)) ** 2
        for true, given in zip(truth, probabilities, strict=True)
        for label in {*given, true}
    ) / len(truth)


def log_loss(truth: Sequence[str], probabilities: Sequence[Probabilities]) -> float:
    """Mean over documents of −log p(true class)."""
    return math.fsum(
        -math.log(given[true]) if given.get(true) else math.inf
        for true, given in zip(truth, probabilities, strict=True)
    ) / len(truth)


def expected_calibration_error(
    right: Sequence[bool], confidence: Sequence[float], bins: int
) -> float:
    """Σ over bins of equal width of (share of documents) × |accuracy − mean confidence|; a bin holds its lower end, the last both ends."""
    error = 0.0
    for number in range(bins):
        inside = [
            i for i, c in enumerate(confidence) if min(math.floor(c * bins), bins - 1) == number
        ]
        if inside:
            accuracy = math.fsum(right[i] for i in inside) / len(inside)
            error += (
                len(inside)
                / len(right)
                * abs(accuracy - math.fsum(confidence[i] for i in inside) / len(inside))
            )
    return error


def wilson(hits: int, n: int, z: float) -> tuple[float, float]:
    """The two shares p at which |hits / n − p| = z √(p (1 − p) / n): the roots of a quadratic equation."""
    share_of_hits = hits / n
    a, b, c = 1 + z * z / n, -(2 * share_of_hits + z * z / n), share_of_hits**2
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def top_k_accuracy(
    truth: Sequence[str], classes: Sequence[str], rows: Sequence[Sequence[float]], k: int
) -> float:
    """Share of documents whose true class is among the k most probable, the first of equals first."""
    best = []
    for row in rows:
        order = sorted(range(len(classes)), key=[-value for value in row].__getitem__)
        best.append([classes[number] for number in order[:k]])
    return share(sum(label in found for label, found in zip(truth, best, strict=True)), len(truth))


def area_under_roc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """Of all pairs of a document of the class and another, the share in which the former scores higher; equals count half."""
    ours, others = (
        [s for s, p in zip(scores, positive, strict=True) if p == side] for side in (True, False)
    )
    wins = sum(
        Fraction(1) if a > b else Fraction(1, 2) if a == b else Fraction(0)
        for a in ours
        for b in others
    )
    return float(wins / (len(ours) * len(others)))


def average_precision(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """Σ over thresholds, falling, of (recall − recall before) × precision."""
    total, before = Fraction(0), Fraction(0)
    for threshold in sorted(set(scores), reverse=True):
        found = [p for s, p in zip(scores, positive, strict=True) if s >= threshold]
        recall = Fraction(sum(found), sum(positive))
        total += (recall - before) * Fraction(sum(found), len(found))
        before = recall
    return float(total)
