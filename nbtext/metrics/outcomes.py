"""Figures of the confusion table: documents counted by true class and answer.

Sources: IIR sections 8.3 and 13.6 (precision, recall, F1, averages); J. Gorodkin, Comparing two K-category assignments by a K-category
correlation coefficient (2004). Every function takes `Outcomes` of shape (n_labels,), or of many tables at once, shape (…, n_labels).
A ratio of nothing to nothing is 0; an average over nothing is nan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.metrics.judged import Judged

    Counts = NDArray[np.int64] | NDArray[np.float64]


class Cells(NamedTuple):
    """The cells of the confusion table that occurred, by true class, then answer; all of shape (n_cells,)."""

    truth: NDArray[np.int64]
    answer: NDArray[np.int64]
    """Negative where there was no answer."""
    documents: NDArray[np.int64]


class Outcomes(NamedTuple):
    """The margins of the table, all of shape (…, n_labels)."""

    hits: NDArray[np.float64]
    support: NDArray[np.float64]
    """Documents of the class."""
    answered: NDArray[np.float64]
    """Documents that got it as the answer."""


def cells_of(judged: Judged) -> Cells:
    """Count documents by true class and answer."""
    keys, documents = np.unique((judged.truth.astype(np.int64) << 32) + judged.answer + 1, return_counts=True)
    return Cells(keys >> 32, (keys & 0xFFFFFFFF) - 1, documents.astype(np.int64))


def outcomes(cells: Cells, n_labels: int, documents: Counts | None = None) -> Outcomes:
    """The margins; ``documents``, shape (…, n_cells), stand in the cells instead of those counted."""
    counts = cells.documents if documents is None else documents
    right = np.flatnonzero(cells.truth == cells.answer)
    given = np.flatnonzero(cells.answer >= 0)
    return Outcomes(
        _sums(counts[..., right], cells.truth[right], n_labels),
        _sums(counts, cells.truth, n_labels),
        _sums(counts[..., given], cells.answer[given], n_labels),
    )


def accuracy(of: Outcomes) -> NDArray[np.float64]:
    """Share of the documents whose answer is right; a document without an answer is not. This is micro-averaged recall."""
    return _mean(of.hits.sum(axis=-1), of.support.sum(axis=-1))


def coverage(of: Outcomes) -> NDArray[np.float64]:
    """Share of the documents that got an answer."""
    return _mean(of.answered.sum(axis=-1), of.support.sum(axis=-1))


def precision(of: Outcomes) -> NDArray[np.float64]:
    """Of the documents answered so, the share that is right; by class (IIR 8.1)."""
    return _ratio(of.hits, of.answered)


def recall(of: Outcomes) -> NDArray[np.float64]:
    """Of the documents of the class, the share that is found; by class (IIR 8.2)."""
    return _ratio(of.hits, of.support)


def f1(of: Outcomes) -> NDArray[np.float64]:
    """2PR/(P + R) = 2·hits/(documents of the class + answered so), by class (IIR 8.6)."""
    return _ratio(2 * of.hits, of.support + of.answered)


def macro(by_class: NDArray[np.float64], of: Outcomes) -> NDArray[np.float64]:
    """Mean over the classes that occur among the documents or the answers (IIR 13.6)."""
    occurs = (of.support + of.answered) > 0
    return _mean((by_class * occurs).sum(axis=-1), occurs.sum(axis=-1))


def micro_precision(of: Outcomes) -> NDArray[np.float64]:
    """Of all documents that got an answer, the share that is right (IIR 13.6)."""
    return _ratio(of.hits.sum(axis=-1), of.answered.sum(axis=-1))


def micro_f1(of: Outcomes) -> NDArray[np.float64]:
    """2·hits/(documents + answers): the accuracy, where every document has an answer (IIR 13.6)."""
    return _mean(2 * of.hits.sum(axis=-1), of.support.sum(axis=-1) + of.answered.sum(axis=-1))


def balanced_accuracy(of: Outcomes) -> NDArray[np.float64]:
    """Mean recall of the classes that occur among the documents (K. Brodersen and others, 2010)."""
    return _mean(recall(of).sum(axis=-1), (of.support > 0).sum(axis=-1))


def matthews(of: Outcomes) -> NDArray[np.float64]:
    """Correlation of truth and answer (Gorodkin 2004, eq. 8), −1 to 1, 0 where either does not vary. No answer counts as an answer of its own."""
    n = of.support.sum(axis=-1)
    unanswered = n - of.answered.sum(axis=-1)
    covariance = of.hits.sum(axis=-1) * n - (of.support * of.answered).sum(axis=-1)
    of_truth = n**2 - (of.support**2).sum(axis=-1)
    of_answers = n**2 - (of.answered**2).sum(axis=-1) - unanswered**2
    correlation = _ratio(covariance, np.sqrt(of_truth * of_answers))
    return np.where(n > 0, correlation, np.nan)


def rates(of: Outcomes) -> dict[str, NDArray[np.float64]]:
    """All of them by name, each of shape (…)."""
    return {
        "accuracy": accuracy(of),
        "macro_precision": macro(precision(of), of),
        "macro_recall": macro(recall(of), of),
        "macro_f1": macro(f1(of), of),
        "micro_precision": micro_precision(of),
        "micro_recall": accuracy(of),
        "micro_f1": micro_f1(of),
        "balanced_accuracy": balanced_accuracy(of),
        "matthews": matthews(of),
    }


def _sums(counts: Counts, labels: NDArray[np.int64], n_labels: int) -> NDArray[np.float64]:
    """Sums of counts, shape (…, n), by label, shape (n,); they come as shape (…, n_labels)."""
    sums = np.zeros((*counts.shape[:-1], n_labels))
    if labels.size:
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
        sums[..., labels[order[starts]]] = np.add.reduceat(counts[..., order], starts, axis=-1)
    return sums


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """part / whole, 0 where the whole is 0, as scikit-learn's zero_division=0 has it."""
    ratio: NDArray[np.float64] = np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole > 0)
    return ratio


def _mean(total: NDArray[np.float64], number: NDArray[np.float64]) -> NDArray[np.float64]:
    """total / number, nan where the number is 0."""
    mean: NDArray[np.float64] = np.divide(total, number, out=np.full(np.shape(total), np.nan), where=number > 0)
    return mean
