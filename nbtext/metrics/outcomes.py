"""Scored documents, and the metrics of the confusion table.

`nbtext.metrics.evaluation` and the bootstrap use both. A scored document takes 36 bytes. All
metrics follow from scored documents, except the ranking of documents (`nbtext.metrics.ranking`).

Metrics of the confusion table take the `ConfusionMargins` of one table, shape (n_labels,), or of
many tables at once, shape (…, n_labels). A proportion 0/0 is 0, but a mean over nothing is nan.

Sources: C. Manning, P. Raghavan, H. Schütze, Introduction to Information Retrieval (IIR), sections
8.3 and 13.6 (precision, recall, F1, averages); J. Gorodkin, Comparing two K-category assignments by
a K-category correlation coefficient (2004); M. Naeini, G. Cooper, M. Hauskrecht, Obtaining well
calibrated probabilities using Bayesian binning (2015).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from nbtext.prediction.labels import DocumentLabels, mask_sort_key, single_label_table
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.prediction.labels import LabelTable
    from nbtext.prediction.posterior import Posterior
    from nbtext.type_names import AnyArray, AnyInts, Floats, Ids, Ints, Mask

    Counts = Ints | Floats


@dataclass(frozen=True, eq=False)
class PosteriorScores:
    """Scores of the posteriors of documents, all of shape (n_docs,)."""

    rank: Ids
    """Number of labels that precede a true label by probability. n_classes for an unknown label."""
    log_loss: Floats
    """In nats."""
    brier: Floats
    confidence: Floats
    """Probability of the most probable label, predicted or not."""

    @property
    def n(self) -> int:
        """Number of documents."""
        return len(self.rank)

    def has_same_scores(self, other: PosteriorScores) -> bool:
        """Return True if the scores of the same documents are equal."""
        names = [field.name for field in fields(PosteriorScores)]
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def take(self, rows: Mask | Ints) -> Self:
        """Return the documents in ``rows``."""
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class ScoredDocuments(PosteriorScores):
    """Scores of documents, with their true and predicted labels as sets of one table."""

    ranking: Floats
    """Ranking metrics of multi-label documents, shape (n_docs, n_metrics)."""
    truth: DocumentLabels
    predicted: DocumentLabels
    """The index is negative if no class was predicted."""

    @property
    def is_correct(self) -> Mask:
        """Mask of the documents whose predicted labels are exactly the true labels, (n_docs,)."""
        return np.equal(self.truth.indices, self.predicted.indices)

    def count_labels(self) -> tuple[Floats, Floats, Floats]:
        """Return the numbers of correct, of true and of predicted labels, shape (n_docs,) each."""
        rows, labels = self.predicted.to_pairs()
        is_hit = self.truth.contains(rows, labels)
        hits = np.bincount(rows[is_hit], minlength=self.n)
        return (
            hits.astype(np.float64),
            self.truth.count_labels().astype(np.float64),
            self.predicted.count_labels().astype(np.float64),
        )


def score_posterior(posterior: Posterior, truth: DocumentLabels) -> PosteriorScores:
    """Score the posterior of documents, given their true labels."""
    return PosteriorScores(
        rank=posterior.rank_true_labels(truth).astype(np.int32),
        log_loss=posterior.compute_log_losses(truth),
        brier=posterior.compute_brier_scores(truth),
        confidence=np.exp(posterior.log_p.max(axis=1)),
    )


def concatenate_scored_documents(blocks: Sequence[ScoredDocuments]) -> ScoredDocuments:
    """Return the documents of all blocks, in order.

    They have the label table of the last block, which must include the tables of earlier blocks.
    """
    if not blocks:
        no_scores = np.empty(0)
        no_labels = DocumentLabels(np.empty(0, np.int32), single_label_table(0))
        return ScoredDocuments(
            rank=np.empty(0, np.int32),
            log_loss=no_scores,
            brier=no_scores,
            confidence=no_scores,
            ranking=np.empty((0, 0)),
            truth=no_labels,
            predicted=no_labels,
        )
    table = blocks[-1].truth.table

    def concatenate(name: str) -> AnyArray:
        return np.concatenate([getattr(block, name) for block in blocks])

    def concatenate_labels(name: str) -> DocumentLabels:
        indices = np.concatenate([getattr(block, name).indices for block in blocks])
        return DocumentLabels(indices, table)

    return ScoredDocuments(
        rank=concatenate("rank"),
        log_loss=concatenate("log_loss"),
        brier=concatenate("brier"),
        confidence=concatenate("confidence"),
        ranking=concatenate("ranking"),
        truth=concatenate_labels("truth"),
        predicted=concatenate_labels("predicted"),
    )


CONFIDENCE_BINS = 15
"""Number of bins of equal width. A bin contains its lower end. The last bin contains both ends."""


def assign_confidence_bins(confidence: Floats) -> Ints:
    """Return the bin of each document, shape (n_docs,)."""
    return np.minimum((confidence * CONFIDENCE_BINS).astype(np.int64), CONFIDENCE_BINS - 1)


def count_confidence_bins(documents: PosteriorScores) -> tuple[Ints, Ints, Floats]:
    """Return the numbers of documents and of hits, and the sum of confidences, of each bin.

    A hit is a document whose most probable class is true, whether it was predicted or not.
    """
    bins = assign_confidence_bins(documents.confidence)
    confidence_sums = np.bincount(bins, weights=documents.confidence, minlength=CONFIDENCE_BINS)
    return (
        np.bincount(bins, minlength=CONFIDENCE_BINS),
        np.bincount(bins[documents.rank == 0], minlength=CONFIDENCE_BINS),
        confidence_sums.astype(np.float64),
    )


def expected_calibration_error(documents: PosteriorScores) -> float:
    """Return Σ over bins of (proportion of documents) × |accuracy − mean confidence|.

    It is nan if there are no documents.
    """
    counts, hits, confidence_sums = count_confidence_bins(documents)
    is_occupied = counts > 0
    n = counts[is_occupied]
    if not n.size:
        return np.nan
    gaps = np.abs(hits[is_occupied] / n - confidence_sums[is_occupied] / n)
    return float((n * gaps).sum() / n.sum())


def proper_scores(documents: PosteriorScores, weights: Floats | None = None) -> dict[str, float]:
    """Return the mean log loss in nats, the mean Brier score, and the calibration error.

    With ``weights``, shape (n_docs,), means are weighted. They are nan if there are no documents.
    """
    if weights is None:
        return {
            "log_loss": mean_or_nan(documents.log_loss),
            "brier": mean_or_nan(documents.brier),
            "ece": expected_calibration_error(documents),
        }
    # In a bin, n · |accuracy − mean confidence| is the absolute sum of (hit − confidence).
    is_hit = documents.rank == 0
    gaps = np.bincount(
        assign_confidence_bins(documents.confidence),
        weights=weights * (is_hit - documents.confidence),
    )
    sums = {
        "log_loss": weights @ documents.log_loss,
        "brier": weights @ documents.brier,
        "ece": np.abs(gaps).sum(),
    }
    return {name: float(total / weights.sum()) for name, total in sums.items()}


def mean_or_nan(values: Floats | Mask) -> float:
    """Return the mean, or nan if there are no values."""
    return float(values.mean()) if values.size else np.nan


class ConfusionMargins(NamedTuple):
    """Counts of documents: three by label, shape (…, n_labels), then totals, shape (…).

    For single-label documents, the counts by label are the diagonal and the margins of the
    confusion table.
    """

    hits: Floats
    """Documents with the label as true and predicted label."""
    support: Floats
    """Documents with the label as true label."""
    predicted: Floats
    """Documents with the label as predicted label."""
    documents: Floats
    """Number of documents."""
    correct: Floats
    """Documents whose predicted labels are exactly the true labels."""
    predicted_documents: Floats
    """Documents with a predicted label."""
    correct_predicted: Floats
    """Documents with a predicted label whose predicted labels are exactly the true labels."""
    document_f1_sum: Floats
    """Sum of the F1 of the labels of each document."""


class ConfusionCells(NamedTuple):
    """Counts of documents by cell: by their true set and their predicted set of labels."""

    truth: Ints
    """Index of the true set, shape (n_cells,)."""
    predicted: Ints
    """Index of the predicted set, shape (n_cells,). It is −1 if no class was predicted."""
    documents: Ints
    """Number of documents, shape (n_cells,)."""
    hit_pairs: tuple[Ints, Ints]
    """Pairs of a cell and a label that is true and predicted."""
    true_pairs: tuple[Ints, Ints]
    """Pairs of a cell and a true label."""
    predicted_pairs: tuple[Ints, Ints]
    """Pairs of a cell and a predicted label."""

    @classmethod
    def from_documents(
        cls, truth: AnyInts, predicted: AnyInts, table: LabelTable
    ) -> ConfusionCells:
        """Count documents, given the indices of their sets, both of shape (n_docs,).

        The cells are sorted by these indices.
        """
        # The key of a cell is row × n_columns + column. Column 0 is no prediction, the index −1.
        n_columns = table.sizes.size + 1
        keys = truth.astype(np.int64) * n_columns + (predicted + 1)
        cell_keys, documents = np.unique(keys, return_counts=True)
        true_sets, columns = np.divmod(cell_keys, n_columns)
        return cls.from_counts(true_sets, columns - 1, documents.astype(np.int64), table)

    @classmethod
    def from_counts(
        cls, truth: Ints, predicted: Ints, documents: Ints, table: LabelTable
    ) -> ConfusionCells:
        """Return cells from their sets and numbers of documents, all of shape (n_cells,)."""
        true_labels = DocumentLabels(truth, table)
        cells, labels = DocumentLabels(predicted, table).to_pairs()
        is_hit = true_labels.contains(cells, labels)
        return cls(
            truth=truth,
            predicted=predicted,
            documents=documents,
            hit_pairs=(cells[is_hit], labels[is_hit]),
            true_pairs=true_labels.to_pairs(),
            predicted_pairs=(cells, labels),
        )

    @property
    def label_pairs(self) -> tuple[tuple[Ints, Ints], ...]:
        """Pairs of cells and labels: hits, true labels and predicted labels."""
        return (self.hit_pairs, self.true_pairs, self.predicted_pairs)

    def sort_by_labels(self, table: LabelTable) -> ConfusionCells:
        """Return the cells sorted by the labels of their sets, not by the indices of sets.

        See `nbtext.prediction.labels.mask_sort_key` for the order.
        """
        used_sets = np.unique(np.concatenate((self.truth, self.predicted)))
        used_sets = used_sets[used_sets >= 0]
        labels_by_set = dict(zip(used_sets.tolist(), table.to_tuples(used_sets), strict=True))
        sorted_sets = sorted(labels_by_set, key=lambda index: mask_sort_key(labels_by_set[index]))
        # The index −1, for no prediction, selects the last rank, which stays −1.
        ranks = np.full(table.sizes.size + 1, -1)
        ranks[sorted_sets] = np.arange(len(sorted_sets))
        order = np.lexsort((ranks[self.predicted], ranks[self.truth]))
        return ConfusionCells.from_counts(
            self.truth[order], self.predicted[order], self.documents[order], table
        )

    def renumber_present_labels(self) -> tuple[ConfusionCells, int]:
        """Return the cells with new numbers of labels, and the number of labels that occur.

        The labels that occur are numbered from 0 without gaps.
        """
        present = np.unique(np.concatenate([labels for _, labels in self.label_pairs]))
        hit_pairs, true_pairs, predicted_pairs = (
            (cells, np.searchsorted(present, labels)) for cells, labels in self.label_pairs
        )
        renumbered = self._replace(
            hit_pairs=hit_pairs, true_pairs=true_pairs, predicted_pairs=predicted_pairs
        )
        return renumbered, present.size

    def count_labels(self) -> tuple[Ints, Ints, Ints]:
        """Return the numbers of correct, true and predicted labels of a document of each cell.

        Each array has the shape (n_cells,).
        """
        hits, support, predicted = (
            np.bincount(cells, minlength=self.truth.size) for cells, _ in self.label_pairs
        )
        return hits, support, predicted

    def sum_margins(self, n_labels: int, documents: Counts | None = None) -> ConfusionMargins:
        """Sum the documents of all cells, by label and in total.

        ``documents``, shape (…, n_cells), replaces the number of documents in each cell.
        """
        counts = self.documents if documents is None else documents
        label_sums = (
            _sum_by_label(counts[..., cells], labels, n_labels)
            for cells, labels in self.label_pairs
        )
        hits, support, predicted = self.count_labels()
        is_correct = self.truth == self.predicted
        has_prediction = predicted > 0
        n_labels_of_both = support + predicted
        cell_f1 = np.where(n_labels_of_both > 0, 2 * hits / np.maximum(n_labels_of_both, 1), 1.0)
        # The totals of `ConfusionMargins`, in order, for one document of each cell.
        cell_columns = (
            np.ones_like(hits),
            is_correct,
            has_prediction,
            is_correct & has_prediction,
            cell_f1,
        )
        totals = counts.astype(np.float64) @ np.stack(
            cell_columns, axis=-1, dtype=np.float64, casting="unsafe"
        )
        return ConfusionMargins(*label_sums, *np.moveaxis(totals, -1, 0))


def accuracy(margins: ConfusionMargins) -> Floats:
    """Return the proportion of documents whose predicted labels are exactly the true labels."""
    return _ratio(margins.correct, margins.documents)


def micro_recall(margins: ConfusionMargins) -> Floats:
    """Return the proportion of true labels that are predicted (IIR 13.6).

    For single-label documents this is the accuracy.
    """
    return _ratio(_sum_labels(margins.hits), _sum_labels(margins.support))


def answered(margins: ConfusionMargins) -> Floats:
    """Return the proportion of documents with a predicted label."""
    return _ratio(margins.predicted_documents, margins.documents)


def answered_accuracy(margins: ConfusionMargins) -> Floats:
    """Return the accuracy of the documents with a predicted label."""
    return _ratio(margins.correct_predicted, margins.predicted_documents)


def document_f1(margins: ConfusionMargins) -> Floats:
    """Return the mean F1 of the labels of a document. A document without labels has F1 = 1."""
    return _ratio(margins.document_f1_sum, margins.documents)


def labels_per_document(margins: ConfusionMargins) -> Floats:
    """Return the mean number of true labels of a document."""
    return _ratio(_sum_labels(margins.support), margins.documents)


def labels_per_answer(margins: ConfusionMargins) -> Floats:
    """Return the mean number of predicted labels of a document."""
    return _ratio(_sum_labels(margins.predicted), margins.documents)


def precision(margins: ConfusionMargins) -> Floats:
    """Return for each class the proportion of its predictions that are right (IIR 8.1)."""
    return _ratio(margins.hits, margins.predicted, default=0.0)


def recall(margins: ConfusionMargins) -> Floats:
    """Return for each class the proportion of its documents that are found (IIR 8.2)."""
    return _ratio(margins.hits, margins.support, default=0.0)


def f1(margins: ConfusionMargins) -> Floats:
    """Return 2PR/(P + R) = 2·hits/(support + predicted) of each class (IIR 8.6)."""
    return _ratio(2 * margins.hits, margins.support + margins.predicted, default=0.0)


def macro(class_values: Floats, margins: ConfusionMargins) -> Floats:
    """Return the mean over the classes that occur as true or predicted label (IIR 13.6)."""
    occurs = (margins.support + margins.predicted) > 0
    return _ratio(_sum_labels(class_values * occurs), occurs.sum(axis=-1))


def micro_precision(margins: ConfusionMargins) -> Floats:
    """Return the proportion of predicted labels that are right (IIR 13.6)."""
    return _ratio(_sum_labels(margins.hits), _sum_labels(margins.predicted), default=0.0)


def micro_f1(margins: ConfusionMargins) -> Floats:
    """Return 2·hits/(support + predicted) of all labels together (IIR 13.6).

    It is the accuracy if every document has one true and one predicted label.
    """
    return _ratio(
        2 * _sum_labels(margins.hits),
        _sum_labels(margins.support) + _sum_labels(margins.predicted),
    )


def balanced_accuracy(margins: ConfusionMargins) -> Floats:
    """Return the mean recall of the classes of the documents (K. Brodersen and others, 2010)."""
    return _ratio(_sum_labels(recall(margins)), (margins.support > 0).sum(axis=-1))


def matthews(margins: ConfusionMargins) -> Floats:
    """Return the correlation of true and predicted classes, −1 to 1 (Gorodkin 2004, eq. 8).

    No prediction counts as one more class. The correlation is 0 if the true or the predicted
    classes do not vary. Covariance and variances are in units of 1/n².
    """
    n = _sum_labels(margins.support)
    n_abstained = n - _sum_labels(margins.predicted)
    chance_hits = _sum_labels(margins.support * margins.predicted)
    covariance = _sum_labels(margins.hits) * n - chance_hits
    true_variance = n**2 - _sum_labels(margins.support**2)
    predicted_variance = n**2 - _sum_labels(margins.predicted**2) - n_abstained**2
    deviations = np.sqrt(np.maximum(true_variance * predicted_variance, 0))
    correlation = _ratio(covariance, deviations, default=0.0)
    return np.where(n > 0, correlation, np.nan)


def mark_wrong_documents(documents: ScoredDocuments, posterior_type: type[Posterior]) -> Floats:
    """Return 1 for documents whose labels are not predicted exactly, else 0, shape (n_docs,)."""
    del posterior_type  # every loss of `Metric` takes it
    return (~documents.is_correct).astype(np.float64)


def count_wrong_labels(documents: ScoredDocuments, posterior_type: type[Posterior]) -> Floats:
    """Return the number of missed and of false labels of each document, shape (n_docs,)."""
    del posterior_type
    hits, support, predicted = documents.count_labels()
    return np.asarray(support + predicted - 2 * hits, np.float64)


def weight_mistakes_by_label(documents: ScoredDocuments, posterior_type: type[Posterior]) -> Floats:
    """Return the sum of 1 / (documents of the label) over wrong labels, shape (n_docs,).

    Wrong labels are missed and false labels. Of a wrong single-label document, only the missed
    class counts.
    """
    rows, labels = documents.truth.to_pairs()
    n_labels = documents.truth.table.n_labels
    support = np.maximum(np.bincount(labels, minlength=n_labels), 1)
    is_missed = ~documents.predicted.contains(rows, labels)
    missed = np.bincount(rows, is_missed / support[labels], documents.n).astype(np.float64)
    if posterior_type.is_exclusive:
        return missed
    rows, labels = documents.predicted.to_pairs()
    is_false = ~documents.truth.contains(rows, labels)
    return missed + np.bincount(rows, is_false / support[labels], documents.n)


RANKING_DEPTHS = (1, 3, 5)
"""The k of precision at k, the proportion of true labels among the k most probable labels."""

TOP_K = (2, 3, 5)
"""The k of top-k accuracy, the proportion of documents with the true class among the best k."""


class Metric(NamedTuple):
    """A metric of an evaluation: how it is computed and printed, and its range for gates."""

    function: Callable[[ConfusionMargins], Floats] | None = None
    """Computes the metric from the confusion table. Its interval is then bootstrapped."""
    title: str = ""
    """Title among the additional metrics that the commands print. Empty if it is not printed."""
    minimum: float = 0.0
    maximum: float = 1.0
    higher_is_better: bool = True
    has_interval: bool = True
    posterior_types: tuple[type[Posterior], ...] = (ClassPosterior, LabelPosterior)
    """The types of posterior that have the metric: of single-label models, multi-label, or both."""
    losses: Callable[[ScoredDocuments, type[Posterior]], Floats] | None = None
    """Computes the loss of each document, shape (n_docs,). A lower loss is a better metric."""


_SINGLE_LABEL = (ClassPosterior,)
_MULTI_LABEL = (LabelPosterior,)


def _macro_precision(margins: ConfusionMargins) -> Floats:
    return macro(precision(margins), margins)


def _macro_recall(margins: ConfusionMargins) -> Floats:
    return macro(recall(margins), margins)


def _macro_f1(margins: ConfusionMargins) -> Floats:
    return macro(f1(margins), margins)


METRICS = {
    "n": Metric(maximum=inf, has_interval=False),
    "accuracy": Metric(accuracy, losses=mark_wrong_documents),
    "macro_precision": Metric(_macro_precision),
    "macro_recall": Metric(_macro_recall),
    "macro_f1": Metric(_macro_f1, losses=weight_mistakes_by_label),
    "micro_precision": Metric(micro_precision),
    "micro_recall": Metric(micro_recall),
    "micro_f1": Metric(micro_f1, losses=count_wrong_labels),
    "balanced_accuracy": Metric(balanced_accuracy, "balanced accuracy"),
    "matthews": Metric(matthews, "Matthews correlation", minimum=-1, posterior_types=_SINGLE_LABEL),
    **{
        f"top_{k}_accuracy": Metric(title=f"top-{k} accuracy", posterior_types=_SINGLE_LABEL)
        for k in TOP_K
    },
    # An interval of an area or an average precision would need a ranking for every replicate.
    "macro_roc_auc": Metric(title="area under ROC (AUC), macro", has_interval=False),
    "macro_average_precision": Metric(title="average precision (AP), macro", has_interval=False),
    "answered": Metric(answered),
    "answered_accuracy": Metric(answered_accuracy),
    "log_loss": Metric(
        maximum=inf, higher_is_better=False, losses=lambda documents, _: documents.log_loss
    ),
    "brier": Metric(maximum=inf, higher_is_better=False),
    "ece": Metric(higher_is_better=False),
    "mean_cost": Metric(minimum=-inf, maximum=inf, higher_is_better=False),
    **{
        f"precision_at_{k}": Metric(title=f"precision at {k}", posterior_types=_MULTI_LABEL)
        for k in RANKING_DEPTHS
    },
    "ndcg_at_5": Metric(title="nDCG at 5", posterior_types=_MULTI_LABEL),
    "lrap": Metric(title="label ranking average precision (LRAP)", posterior_types=_MULTI_LABEL),
    "document_f1": Metric(document_f1, "F1 of a document", posterior_types=_MULTI_LABEL),
    "subset_accuracy": Metric(accuracy, posterior_types=_MULTI_LABEL),
    "labels_per_document": Metric(
        labels_per_document, "labels of a document", maximum=inf, posterior_types=_MULTI_LABEL
    ),
    "labels_per_answer": Metric(
        labels_per_answer, "labels of an answer", maximum=inf, posterior_types=_MULTI_LABEL
    ),
    "set_coverage": Metric(),
    "set_size": Metric(maximum=inf, higher_is_better=False),
}
"""The metrics by name.

Metrics without a function are computed in `nbtext.metrics.evaluation` and `nbtext.metrics.ranking`,
and metrics of prediction sets in `nbtext.guarantees`.
"""


def compute_rates(
    margins: ConfusionMargins, posterior_type: type[Posterior] = ClassPosterior
) -> dict[str, Floats]:
    """Return the metrics of the confusion table by name, each of shape (…)."""
    return {
        name: metric.function(margins)
        for name, metric in METRICS.items()
        if posterior_type in metric.posterior_types and metric.function is not None
    }


def _sum_by_label(counts: Counts, labels: Ints, n_labels: int) -> Floats:
    """Return the sums, shape (…, n_labels), of counts, shape (…, n), by their label, shape (n,)."""
    return np.apply_along_axis(lambda row: np.bincount(labels, row, n_labels), -1, counts)


def _sum_labels(values: Floats) -> Floats:
    """Return the sum over labels, shape (…), of values, shape (…, n_labels)."""
    return values.sum(axis=-1)


def _ratio(numerator: Counts, denominator: Counts, default: float = np.nan) -> Floats:
    """Return the quotient, or ``default`` if the denominator is 0.

    It is 0 for precision, recall and F1, as in scikit-learn with zero_division=0.
    """
    quotients = np.full(np.shape(numerator), default)
    return np.divide(numerator, denominator, out=quotients, where=denominator > 0)
