"""Judged documents, 36 bytes each, from which all figures but those of ranking follow, and the figures of the confusion table.

Sources: IIR sections 8.3 and 13.6 (precision, recall, F1, averages); J. Gorodkin, Comparing two K-category assignments by a K-category
correlation coefficient (2004); M. Naeini, G. Cooper, M. Hauskrecht, Obtaining well calibrated probabilities using Bayesian binning (2015).

Figures of the confusion table take `Outcomes` of one table, shape (n_labels,), or of many at once, shape (…, n_labels). A ratio of nothing
to nothing is 0; a mean over nothing is nan.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.prediction.rule import NO_ANSWER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.type_names import Floats, Ids, Mask, Truth, Whole

    Counts = Whole | Floats


TINY = 1e-15
"""Least −log p of a label, so that its absence keeps a probability."""


class Judged(NamedTuple):
    """True class and answer of each document, with the scores of its probabilities; all of shape (n_docs,)."""

    truth: Truth
    """Number of the true class; n_classes and more for labels that the classifier does not know. Of several labels a mask, shape (n_docs, n_labels)."""
    answer: Truth
    """Number of the class answered, `NO_ANSWER` where there is no answer; or a mask."""
    rank: Ids
    """Number of classes before the true one; n_classes if that is unknown."""
    log_loss: Floats
    brier: Floats
    confidence: Floats
    """p of the most probable class, answered or not."""

    @property
    def n(self) -> int:
        """Number of documents."""
        return len(self.truth)

    @property
    def right(self) -> Mask:
        """Documents whose answer is right, of several labels with exactly the true ones, shape (n_docs,)."""
        return (self.truth == self.answer).all(axis=tuple(range(1, self.truth.ndim)))

    def outcomes(self, n_labels: int) -> Outcomes:
        """Return diagonal and margins of the confusion table, of several labels by label: documents that have it and got it, have it, got it."""
        if self.truth.ndim > 1:
            return Outcomes._make(mask.sum(axis=0, dtype=np.float64) for mask in self.masks)
        return outcomes(confusion_cells(self), n_labels)

    def by_document(self) -> Outcomes:
        """Return how many labels each document has and got, has, and got, all of shape (n_docs,)."""
        several = self.truth.ndim > 1
        columns = [mask.sum(axis=1) for mask in self.masks] if several else [self.right, np.ones(self.n), self.answer >= 0]
        return Outcomes(*(column.astype(np.float64) for column in columns))

    @property
    def masks(self) -> tuple[Mask, Mask, Mask]:
        """Of several labels those that documents have and got, have, and got, each of shape (n_docs, n_labels)."""
        return self.truth & self.answer, self.truth, self.answer

    def known(self, n_classes: int) -> Mask:
        """Return the documents with no label that the classifier does not know, shape (n_docs,)."""
        return np.logical_not(self.truth[:, n_classes:].any(axis=1) if self.truth.ndim > 1 else self.truth >= n_classes)

    def of(self, rows: Mask | Whole) -> Judged:
        """Return some of the documents."""
        return Judged._make(column[rows] for column in self)


def judge_documents(truth: Truth, answers: Truth, log_posterior: Floats) -> Judged:
    """Judge documents by the number of their true class, their answer, and log p(C_k | d), shape (n_docs, n_classes), in nats.

    Of several labels ``truth`` is a mask of shape (n_docs, n_classes): losses are summed over labels, and the rank is 0 if the most probable is right.
    """
    if truth.ndim > 1:
        p, best = np.exp(log_posterior), log_posterior.argmax(axis=1)
        rows = np.arange(best.size)
        with np.errstate(divide="ignore"):
            losses = -np.where(truth, log_posterior, np.log(-np.expm1(np.minimum(log_posterior, -TINY)))).sum(axis=1)
        return Judged(truth, answers, (~truth[rows, best]).astype(np.int32), losses, ((p - truth) ** 2).sum(axis=1), p[rows, best])
    of_truth = log_posterior_of(truth, log_posterior)
    return Judged(
        truth.astype(np.int32),
        np.maximum(answers, NO_ANSWER).astype(np.int32),
        rank_of_truth(truth, of_truth, log_posterior).astype(np.int32),
        -of_truth,
        brier_score(of_truth, log_posterior),
        np.exp(log_posterior.max(axis=1)),
    )


def join_judged(parts: Sequence[Judged]) -> Judged:
    """Return the documents of all parts, in order."""
    if not parts:
        no_numbers, no_figures = np.empty(0, np.int32), np.empty(0)
        return Judged(no_numbers, no_numbers, no_numbers, no_figures, no_figures, no_figures)
    return Judged(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def log_posterior_of(truth: Whole, log_posterior: Floats) -> Floats:
    """Return log p(true class | d), shape (n_docs,), −inf for an unknown class. Its negative is the log loss (I. Good, 1952)."""
    n_classes = log_posterior.shape[1]
    found = log_posterior[np.arange(truth.size), np.minimum(truth, n_classes - 1)]
    return np.where(truth < n_classes, found, -np.inf)


def brier_score(log_posterior_of_truth: Floats, log_posterior: Floats) -> Floats:
    """Return Σ_k (p_k − [k is the true class])² of each document, shape (n_docs,), from 0 to 2 (G. Brier, 1950, eq. 2)."""
    squares = np.exp(log_posterior)
    squares *= squares
    return np.maximum(squares.sum(axis=1) - 2 * np.exp(log_posterior_of_truth) + 1, 0)  # rounding may leave −1e-16


def rank_of_truth(truth: Whole, log_posterior_of_truth: Floats, log_posterior: Floats) -> Whole:
    """Count classes that are more probable than the true one, or as probable and earlier; n_classes if it is unknown. Shape (n_docs,)."""
    n_classes = log_posterior.shape[1]
    of_truth = log_posterior_of_truth[:, np.newaxis]
    more_probable = (log_posterior > of_truth).view(np.int8).sum(axis=1, dtype=np.int32)  # bytes are added faster than truths are counted
    rows, equals = np.divmod(np.flatnonzero(log_posterior == of_truth), n_classes)
    earlier = np.bincount(rows[equals < truth[rows]], minlength=truth.size)
    return np.where(truth < n_classes, more_probable + earlier, n_classes)


BINS = 15
"""Bins of equal width, each with its lower end, the last with both."""


def bin_of(confidence: Floats) -> Whole:
    """Return the bin of each document, shape (n_docs,)."""
    return np.minimum((confidence * BINS).astype(np.int64), BINS - 1)


def confidence_bins(documents: Judged) -> tuple[Whole, Whole, Floats]:
    """Return the documents in each bin, right answers, and the sum of confidences; the most probable class counts, whether it was the answer or not."""
    places = bin_of(documents.confidence)
    hits = np.bincount(places[documents.rank == 0], minlength=BINS)
    return np.bincount(places, minlength=BINS), hits, np.bincount(places, documents.confidence, BINS).astype(np.float64)


def expected_calibration_error(documents: Judged) -> float:
    """Return Σ over bins of (share of documents) × |accuracy − mean confidence|; nan of no documents."""
    bins = confidence_bins(documents)
    n, hits, confidence = (column[bins[0] > 0] for column in bins)
    return float((n * np.abs(hits / n - confidence / n)).sum() / n.sum()) if n.size else np.nan


def proper_scores(documents: Judged, weights: Floats | None = None) -> dict[str, float]:
    """Return means over documents of log loss (nats) and Brier score, and the calibration error; nan of no documents.

    With ``weights``, shape (n_docs,), these are weighted means.
    """
    if weights is not None:
        gaps = np.bincount(bin_of(documents.confidence), weights * ((documents.rank == 0) - documents.confidence))
        figures = {"log_loss": weights @ documents.log_loss, "brier": weights @ documents.brier, "ece": np.abs(gaps).sum()}
        return {name: float(total / weights.sum()) for name, total in figures.items()}
    return {
        "log_loss": mean_or_nan(documents.log_loss),
        "brier": mean_or_nan(documents.brier),
        "ece": expected_calibration_error(documents),
    }


def mean_or_nan(values: Floats | Mask) -> float:
    """Return the mean, nan of no values."""
    return float(values.mean()) if values.size else np.nan


class ConfusionCells(NamedTuple):
    """The cells of the confusion table that occurred, by true class, then answer; all of shape (n_cells,)."""

    truth: Whole
    answer: Whole
    """Negative where there was no answer."""
    documents: Whole


class Outcomes(NamedTuple):
    """Diagonal and margins of the confusion table, all of shape (…, n_labels)."""

    hits: Floats
    support: Floats
    """Documents of the class."""
    answered: Floats
    """Documents that got the class as their answer."""


def confusion_cells(judged: Judged) -> ConfusionCells:
    """Count documents by true class and answer."""
    keys, documents = np.unique((judged.truth.astype(np.int64) << 32) + judged.answer + 1, return_counts=True)
    return ConfusionCells(keys >> 32, (keys & 0xFFFFFFFF) - 1, documents.astype(np.int64))


def outcomes(cells: ConfusionCells, n_labels: int, documents: Counts | None = None) -> Outcomes:
    """Sum the cells by class; ``documents``, shape (…, n_cells), replaces the documents counted in them."""
    counts = cells.documents if documents is None else documents
    right = np.flatnonzero(cells.truth == cells.answer)
    answered = np.flatnonzero(cells.answer >= 0)
    return Outcomes(
        _sums(counts[..., right], cells.truth[right], n_labels),
        _sums(counts, cells.truth, n_labels),
        _sums(counts[..., answered], cells.answer[answered], n_labels),
    )


def accuracy(table: Outcomes) -> Floats:
    """Return the share of documents whose answer is right; no answer is not. This is micro-averaged recall."""
    return _ratio(table.hits.sum(axis=-1), table.support.sum(axis=-1), np.nan)


def coverage(table: Outcomes) -> Floats:
    """Return the share of documents that got an answer."""
    return _ratio(table.answered.sum(axis=-1), table.support.sum(axis=-1), np.nan)


def precision(table: Outcomes) -> Floats:
    """Return for each class the share of the answers with it that are right (IIR 8.1)."""
    return _ratio(table.hits, table.answered)


def recall(table: Outcomes) -> Floats:
    """Return for each class the share of its documents that are found (IIR 8.2)."""
    return _ratio(table.hits, table.support)


def f1(table: Outcomes) -> Floats:
    """Return 2PR/(P + R) = 2·hits/(support + answers) of each class (IIR 8.6)."""
    return _ratio(2 * table.hits, table.support + table.answered)


def macro(by_class: Floats, table: Outcomes) -> Floats:
    """Return the mean over the classes that occur among the documents or the answers (IIR 13.6)."""
    occurs = (table.support + table.answered) > 0
    return _ratio((by_class * occurs).sum(axis=-1), occurs.sum(axis=-1), np.nan)


def micro_precision(table: Outcomes) -> Floats:
    """Return the share of all answers that are right (IIR 13.6)."""
    return _ratio(table.hits.sum(axis=-1), table.answered.sum(axis=-1))


def micro_f1(table: Outcomes) -> Floats:
    """Return 2·hits/(documents + answers): the accuracy, where every document has an answer (IIR 13.6)."""
    return _ratio(2 * table.hits.sum(axis=-1), table.support.sum(axis=-1) + table.answered.sum(axis=-1), np.nan)


def balanced_accuracy(table: Outcomes) -> Floats:
    """Return the mean recall of the classes that occur among the documents (K. Brodersen and others, 2010)."""
    return _ratio(recall(table).sum(axis=-1), (table.support > 0).sum(axis=-1), np.nan)


def matthews(table: Outcomes) -> Floats:
    """Return the correlation of truth and answer (Gorodkin 2004, eq. 8), −1 to 1, 0 where either does not vary.

    Having no answer counts as one more answer.
    """
    n = table.support.sum(axis=-1)
    unanswered = n - table.answered.sum(axis=-1)
    covariance = table.hits.sum(axis=-1) * n - (table.support * table.answered).sum(axis=-1)
    of_truth = n**2 - (table.support**2).sum(axis=-1)
    of_answers = n**2 - (table.answered**2).sum(axis=-1) - unanswered**2
    return np.where(n > 0, _ratio(covariance, np.sqrt(np.maximum(of_truth * of_answers, 0))), np.nan)


DEPTHS = (1, 3, 5)
"""The k of the share of the k most probable labels that are right."""

TOP = (2, 3, 5)
"""The k for which it is counted how often the true class is among the k most probable."""


class Metric(NamedTuple):
    """A figure of an evaluation, as its output, its intervals and the gates of the commands go by it."""

    of_outcomes: Callable[[Outcomes], Floats] | None = None
    """Its function, if it follows from the confusion table; its interval is then bootstrapped."""
    title: str = ""
    """Its row among the further figures that the commands print; none if empty."""
    least: float = 0.0
    most: float = 1.0
    more_is_better: bool = True
    has_interval: bool = True


METRICS = {
    "n": Metric(most=inf, has_interval=False),
    "accuracy": Metric(accuracy),
    "macro_precision": Metric(lambda table: macro(precision(table), table)),
    "macro_recall": Metric(lambda table: macro(recall(table), table)),
    "macro_f1": Metric(lambda table: macro(f1(table), table)),
    "micro_precision": Metric(micro_precision),
    "micro_recall": Metric(accuracy),
    "micro_f1": Metric(micro_f1),
    "balanced_accuracy": Metric(balanced_accuracy, "balanced accuracy"),
    "matthews": Metric(matthews, "Matthews correlation", least=-1),
    **{f"top_{k}_accuracy": Metric(title=f"top-{k} accuracy") for k in TOP},
    "macro_roc_auc": Metric(
        title="area under ROC (AUC), macro", has_interval=False
    ),  # an interval would need a ranking for every replicate
    "macro_average_precision": Metric(title="average precision (AP), macro", has_interval=False),
    "coverage": Metric(),
    "answered_accuracy": Metric(),
    "log_loss": Metric(most=inf, more_is_better=False),
    "brier": Metric(most=2, more_is_better=False),
    "ece": Metric(more_is_better=False),
    "mean_cost": Metric(least=-inf, most=inf, more_is_better=False),
    **{f"precision_at_{k}": Metric(title=f"precision at {k}") for k in DEPTHS},
    "ndcg_at_5": Metric(title="nDCG at 5"),
    "lrap": Metric(title="label ranking average precision (LRAP)"),
    "document_f1": Metric(title="F1 of a document"),
    "subset_accuracy": Metric(),
    "labels_per_document": Metric(title="labels of a document", most=inf),
    "labels_per_answer": Metric(title="labels of an answer", most=inf),
    "set_coverage": Metric(),
    "set_size": Metric(most=inf, more_is_better=False),
}
"""The metrics by name. Those without a function of `Outcomes` are computed by `nbtext.metrics.evaluation`, from precision at 1 to labels of an answer
by `nbtext.metrics.several_labels`, those of sets that hold the true class by `nbtext.promises`."""


def rates(table: Outcomes) -> dict[str, Floats]:
    """Return the metrics of the confusion table by name, each of shape (…)."""
    return {name: metric.of_outcomes(table) for name, metric in METRICS.items() if metric.of_outcomes is not None}


def _sums(counts: Counts, labels: Whole, n_labels: int) -> Floats:
    """Sum counts, shape (…, n), by label, shape (n,); return shape (…, n_labels)."""
    return np.apply_along_axis(lambda row: np.bincount(labels, row, n_labels), -1, counts)


def _ratio(part: Counts, whole: Counts, of_nothing: float = 0.0) -> Floats:
    """Return part / whole, and ``of_nothing`` where the whole is 0; for rates 0, as scikit-learn's zero_division=0."""
    return np.divide(part, whole, out=np.full(np.shape(part), of_nothing), where=whole > 0)
