"""What is kept of each document that was judged: 36 bytes, from which every figure but those of ranking follows.

Figures of the confusion table: documents counted by true class and answer.

Sources: IIR sections 8.3 and 13.6 (precision, recall, F1, averages); J. Gorodkin, Comparing two K-category assignments by a K-category
correlation coefficient (2004). Every function takes `Outcomes` of shape (n_labels,), or of many tables at once, shape (…, n_labels).
A ratio of nothing to nothing is 0; an average over nothing is nan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.decision import NO_ANSWER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Counts = NDArray[np.int64] | NDArray[np.float64]


class Judged(NamedTuple):
    """Documents with their true class and what was made of them; all of shape (n_docs,)."""

    truth: NDArray[np.int32]
    """Number of the true class; n_classes and more for labels that the classifier does not know."""
    answer: NDArray[np.int32]
    """Number of the class answered, `NO_ANSWER` where there is no answer."""
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


def judge_documents(truth: NDArray[np.int64], answers: NDArray[np.int64], log_posterior: NDArray[np.float64]) -> Judged:
    """Judge documents by the number of their true class, their answer, and log p(C_k | d), shape (n_docs, n_classes), in nats."""
    of_truth = log_posterior_of(truth, log_posterior)
    return Judged(
        truth.astype(np.int32),
        np.maximum(answers, NO_ANSWER).astype(np.int32),
        rank_of_truth(truth, log_posterior).astype(np.int32),
        -of_truth,
        brier_score(of_truth, log_posterior),
        np.exp(log_posterior.max(axis=1)),
    )


def join_judged(parts: Sequence[Judged]) -> Judged:
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


class ConfusionCells(NamedTuple):
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


def confusion_cells(judged: Judged) -> ConfusionCells:
    """Count documents by true class and answer."""
    keys, documents = np.unique((judged.truth.astype(np.int64) << 32) + judged.answer + 1, return_counts=True)
    return ConfusionCells(keys >> 32, (keys & 0xFFFFFFFF) - 1, documents.astype(np.int64))


def outcomes(cells: ConfusionCells, n_labels: int, documents: Counts | None = None) -> Outcomes:
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
