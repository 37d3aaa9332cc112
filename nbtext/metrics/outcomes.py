"""Judged documents, 36 bytes each, from which all figures but those of ranking follow, and the figures of the confusion table.

Sources: IIR sections 8.3 and 13.6 (precision, recall, F1, averages); J. Gorodkin, Comparing two K-category assignments by a K-category
correlation coefficient (2004); M. Naeini, G. Cooper, M. Hauskrecht, Obtaining well calibrated probabilities using Bayesian binning (2015).

Figures of the confusion table take `ConfusionMargins` of one table, shape (n_labels,), or of many at once, shape (…, n_labels). A ratio of nothing
to nothing is 0; a mean over nothing is nan.
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
    """How good the posteriors of documents are, all of shape (n_docs,)."""

    rank: Ids
    """Number of labels before a true one; n_classes if that is unknown."""
    log_loss: Floats
    brier: Floats
    confidence: Floats
    """p of the most probable label, predicted or not."""

    @property
    def n(self) -> int:
        """Number of documents."""
        return len(self.rank)

    def has_same_scores(self, other: PosteriorScores) -> bool:
        """Return whether the posteriors of the same documents are worth the same."""
        names = [field.name for field in fields(PosteriorScores)]
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def take(self, rows: Mask | Ints) -> Self:
        """Return some of the documents."""
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class ScoredDocuments(PosteriorScores):
    """The true and the predicted labels of documents, as numbers of sets in one table, beside what their posteriors are worth."""

    ranking: Floats
    """Figures of the ranking of labels, where a document may have several, shape (n_docs, n_figures)."""
    truth: DocumentLabels
    predicted: DocumentLabels
    """Negative where no class was predicted."""

    @property
    def is_correct(self) -> Mask:
        """Documents that got exactly their labels, shape (n_docs,)."""
        return np.equal(self.truth.indices, self.predicted.indices)

    def count_labels(self) -> tuple[Floats, Floats, Floats]:
        """Return how many labels each document has and got, has, and got, all of shape (n_docs,)."""
        documents, labels = self.predicted.to_pairs()
        hits = np.bincount(documents[self.truth.contains(documents, labels)], minlength=self.n)
        counts = (hits, self.truth.count_labels(), self.predicted.count_labels())
        hits_of, support, answered = (column.astype(np.float64) for column in counts)
        return hits_of, support, answered


def score_posterior(posterior: Posterior, truth: DocumentLabels) -> PosteriorScores:
    """Judge the posterior of documents by their true labels."""
    return PosteriorScores(
        posterior.rank_true_labels(truth).astype(np.int32),
        posterior.compute_log_losses(truth),
        posterior.compute_brier_scores(truth),
        np.exp(posterior.logs.max(axis=1)),
    )


def concatenate_scored_documents(parts: Sequence[ScoredDocuments]) -> ScoredDocuments:
    """Return the documents of all parts, in order; their labels are numbers in the table of the last part."""
    if not parts:
        no_figures = np.empty(0)
        no_labels = DocumentLabels(np.empty(0, np.int32), single_label_table(0))
        return ScoredDocuments(
            np.empty(0, np.int32),
            no_figures,
            no_figures,
            no_figures,
            np.empty((0, 0)),
            no_labels,
            no_labels,
        )
    table = parts[-1].truth.table

    def joined(name: str) -> AnyArray:
        return np.concatenate([getattr(part, name) for part in parts])

    def labels(name: str) -> DocumentLabels:
        return DocumentLabels(
            np.concatenate([getattr(part, name).indices for part in parts]), table
        )

    return ScoredDocuments(
        rank=joined("rank"),
        log_loss=joined("log_loss"),
        brier=joined("brier"),
        confidence=joined("confidence"),
        ranking=joined("ranking"),
        truth=labels("truth"),
        predicted=labels("predicted"),
    )


CONFIDENCE_BINS = 15
"""Bins of equal width, each with its lower end, the last with both."""


def assign_confidence_bins(confidence: Floats) -> Ints:
    """Return the bin of each document, shape (n_docs,)."""
    return np.minimum((confidence * CONFIDENCE_BINS).astype(np.int64), CONFIDENCE_BINS - 1)


def count_confidence_bins(documents: PosteriorScores) -> tuple[Ints, Ints, Floats]:
    """Return the documents in each bin, right answers, and the sum of confidences; the most probable class counts, whether it was the answer or not."""
    places = assign_confidence_bins(documents.confidence)
    hits = np.bincount(places[documents.rank == 0], minlength=CONFIDENCE_BINS)
    return (
        np.bincount(places, minlength=CONFIDENCE_BINS),
        hits,
        np.bincount(places, documents.confidence, CONFIDENCE_BINS).astype(np.float64),
    )


def expected_calibration_error(documents: PosteriorScores) -> float:
    """Return Σ over bins of (share of documents) × |accuracy − mean confidence|; nan of no documents."""
    bins = count_confidence_bins(documents)
    n, hits, confidence = (column[bins[0] > 0] for column in bins)
    return float((n * np.abs(hits / n - confidence / n)).sum() / n.sum()) if n.size else np.nan


def proper_scores(documents: PosteriorScores, weights: Floats | None = None) -> dict[str, float]:
    """Return means over documents of log loss (nats) and Brier score, and the calibration error; nan of no documents.

    With ``weights``, shape (n_docs,), these are weighted means.
    """
    if weights is not None:
        gaps = np.bincount(
            assign_confidence_bins(documents.confidence),
            weights * ((documents.rank == 0) - documents.confidence),
        )
        figures = {
            "log_loss": weights @ documents.log_loss,
            "brier": weights @ documents.brier,
            "ece": np.abs(gaps).sum(),
        }
        return {name: float(total / weights.sum()) for name, total in figures.items()}
    return {
        "log_loss": mean_or_nan(documents.log_loss),
        "brier": mean_or_nan(documents.brier),
        "ece": expected_calibration_error(documents),
    }


def mean_or_nan(values: Floats | Mask) -> float:
    """Return the mean, nan of no values."""
    return float(values.mean()) if values.size else np.nan


class ConfusionMargins(NamedTuple):
    """Documents counted by label, shape (…, n_labels), and as a whole, shape (…); where each has one label, the confusion table's diagonal and margins."""

    hits: Floats
    """Documents that have the label and got it."""
    support: Floats
    """Documents that have the label."""
    predicted: Floats
    """Documents that got the label."""
    documents: Floats
    correct: Floats
    """Documents that got exactly their labels."""
    predicted_documents: Floats
    """Documents that got a label."""
    correct_predicted: Floats
    """Documents that got exactly their labels, at least one."""
    document_f1_sum: Floats
    """Sum of the F1 of each document's labels."""

    @classmethod
    def from_margins(cls, hits: Floats, support: Floats, answered: Floats) -> ConfusionMargins:
        """Return the outcomes of documents with one label each."""
        documents, right, documents_answered = (
            counts.sum(axis=-1) for counts in (support, hits, answered)
        )
        return cls(hits, support, answered, documents, right, documents_answered, right, right)


class ConfusionCells(NamedTuple):
    """Documents counted by true set and predicted set of labels; each label of a cell is a pair of cell and label."""

    truth: Ints
    """Number of the set, shape (n_cells,)."""
    predicted: Ints
    """Negative where no class was predicted."""
    documents: Ints
    hit_pairs: tuple[Ints, Ints]
    """Pairs of a cell and a label that is true and predicted."""
    true_pairs: tuple[Ints, Ints]
    """Pairs of a cell and a true label."""
    predicted_pairs: tuple[Ints, Ints]
    """Pairs of a cell and a predicted label."""

    @classmethod
    def from_documents(cls, truth: AnyInts, answer: AnyInts, table: LabelTable) -> ConfusionCells:
        """Count documents by the numbers of their sets, both of shape (n_docs,); cells are sorted by these."""
        n_answers = table.sizes.size + 1
        keys = truth.astype(np.int64) * n_answers + (answer + 1)  # −1, no answer, becomes 0
        cells, documents = np.unique(keys, return_counts=True)
        true_set, after_answer = np.divmod(cells, n_answers)
        return cls.from_counts(true_set, after_answer - 1, documents.astype(np.int64), table)

    @classmethod
    def from_counts(
        cls, truth: Ints, answer: Ints, documents: Ints, table: LabelTable
    ) -> ConfusionCells:
        """Return cells that are counted already, all of shape (n_cells,)."""
        true_labels = DocumentLabels(truth, table)
        cells, labels = DocumentLabels(answer, table).to_pairs()
        is_hit = true_labels.contains(cells, labels)
        return cls(
            truth=truth,
            predicted=answer,
            documents=documents,
            hit_pairs=(cells[is_hit], labels[is_hit]),
            true_pairs=true_labels.to_pairs(),
            predicted_pairs=(cells, labels),
        )

    @property
    def label_pairs(self) -> tuple[tuple[Ints, Ints], ...]:
        """The pairs of cells and labels: hits, support, and predicted ones."""
        return (self.hit_pairs, self.true_pairs, self.predicted_pairs)

    def sort_by_labels(self, table: LabelTable) -> ConfusionCells:
        """Return the cells in the order of their labels in ``table``, as rows of a mask, whatever the numbers of sets."""
        used = np.unique(np.concatenate((self.truth, self.predicted)))
        used = used[used >= 0]
        sets = table.to_tuples(used)
        rank = np.full(table.sizes.size + 1, -1)
        in_order = sorted(range(used.size), key=lambda place: mask_sort_key(sets[place]))
        rank[used[in_order]] = np.arange(used.size)
        order = np.lexsort((rank[self.predicted], rank[self.truth]))
        return ConfusionCells.from_counts(
            self.truth[order], self.predicted[order], self.documents[order], table
        )

    def renumber_present_labels(self) -> tuple[ConfusionCells, int]:
        """Return the cells with the labels that occur numbered from 0, and how many these are."""
        present = np.unique(np.concatenate([labels for _, labels in self.label_pairs]))
        hits, support, answered = (
            (cells, np.searchsorted(present, labels)) for cells, labels in self.label_pairs
        )
        return self._replace(
            hit_pairs=hits, true_pairs=support, predicted_pairs=answered
        ), present.size

    def count_labels(self) -> tuple[Ints, Ints, Ints]:
        """Return how many labels the documents of each cell have and got, have, and got, all of shape (n_cells,)."""
        hits, support, answered = (
            np.bincount(cells, minlength=self.truth.size) for cells, _ in self.label_pairs
        )
        return hits, support, answered

    def sum_margins(self, n_labels: int, documents: Counts | None = None) -> ConfusionMargins:
        """Sum the cells by label; ``documents``, shape (…, n_cells), replaces the documents counted in them."""
        counts = self.documents if documents is None else documents
        by_label = (
            _sums(counts[..., cells], labels, n_labels) for cells, labels in self.label_pairs
        )
        hits, support, answered = self.count_labels()
        is_right = self.truth == self.predicted
        has_answer = answered > 0
        f1_of_cells = np.where(
            support + answered > 0, 2 * hits / np.maximum(support + answered, 1), 1.0
        )
        of_cells = (np.ones_like(hits), is_right, has_answer, is_right & has_answer, f1_of_cells)
        totals = counts.astype(np.float64) @ np.stack(
            of_cells, axis=-1, dtype=np.float64, casting="unsafe"
        )
        return ConfusionMargins(*by_label, *np.moveaxis(totals, -1, 0))


def accuracy(table: ConfusionMargins) -> Floats:
    """Return the share of documents that got exactly their labels; no answer is none of them."""
    return _ratio(table.correct, table.documents, np.nan)


def micro_recall(table: ConfusionMargins) -> Floats:
    """Return the share of all true labels that are found (IIR 13.6): the accuracy, where every document has one label."""
    return _ratio(table.hits.sum(axis=-1), table.support.sum(axis=-1), np.nan)


def coverage(table: ConfusionMargins) -> Floats:
    """Return the share of documents that got a label."""
    return _ratio(table.predicted_documents, table.documents, np.nan)


def answered_accuracy(table: ConfusionMargins) -> Floats:
    """Return the share of the documents with a label predicted that got exactly their labels."""
    return _ratio(table.correct_predicted, table.predicted_documents, np.nan)


def document_f1(table: ConfusionMargins) -> Floats:
    """Return the mean F1 of the labels of a document, 1 where it has none and got none."""
    return _ratio(table.document_f1_sum, table.documents, np.nan)


def labels_per_document(table: ConfusionMargins) -> Floats:
    """Return the mean number of labels of a document."""
    return _ratio(table.support.sum(axis=-1), table.documents, np.nan)


def labels_per_answer(table: ConfusionMargins) -> Floats:
    """Return the mean number of labels that a document got."""
    return _ratio(table.predicted.sum(axis=-1), table.documents, np.nan)


def precision(table: ConfusionMargins) -> Floats:
    """Return for each class the share of the answers with it that are right (IIR 8.1)."""
    return _ratio(table.hits, table.predicted)


def recall(table: ConfusionMargins) -> Floats:
    """Return for each class the share of its documents that are found (IIR 8.2)."""
    return _ratio(table.hits, table.support)


def f1(table: ConfusionMargins) -> Floats:
    """Return 2PR/(P + R) = 2·hits/(support + answers) of each class (IIR 8.6)."""
    return _ratio(2 * table.hits, table.support + table.predicted)


def macro(by_class: Floats, table: ConfusionMargins) -> Floats:
    """Return the mean over the classes that occur among the documents or the answers (IIR 13.6)."""
    occurs = (table.support + table.predicted) > 0
    return _ratio((by_class * occurs).sum(axis=-1), occurs.sum(axis=-1), np.nan)


def micro_precision(table: ConfusionMargins) -> Floats:
    """Return the share of all answers that are right (IIR 13.6)."""
    return _ratio(table.hits.sum(axis=-1), table.predicted.sum(axis=-1))


def micro_f1(table: ConfusionMargins) -> Floats:
    """Return 2·hits/(documents + answers): the accuracy, where every document has an answer (IIR 13.6)."""
    return _ratio(
        2 * table.hits.sum(axis=-1),
        table.support.sum(axis=-1) + table.predicted.sum(axis=-1),
        np.nan,
    )


def balanced_accuracy(table: ConfusionMargins) -> Floats:
    """Return the mean recall of the classes that occur among the documents (K. Brodersen and others, 2010)."""
    return _ratio(recall(table).sum(axis=-1), (table.support > 0).sum(axis=-1), np.nan)


def matthews(table: ConfusionMargins) -> Floats:
    """Return the correlation of truth and answer (Gorodkin 2004, eq. 8), −1 to 1, 0 where either does not vary.

    Having no answer counts as one more answer.
    """
    n = table.support.sum(axis=-1)
    unanswered = n - table.predicted.sum(axis=-1)
    covariance = table.hits.sum(axis=-1) * n - (table.support * table.predicted).sum(axis=-1)
    of_truth = n**2 - (table.support**2).sum(axis=-1)
    of_answers = n**2 - (table.predicted**2).sum(axis=-1) - unanswered**2
    return np.where(
        n > 0, _ratio(covariance, np.sqrt(np.maximum(of_truth * of_answers, 0))), np.nan
    )


def mark_wrong_documents(judged: ScoredDocuments, kind: type[Posterior]) -> Floats:
    """Return 1 for each document that did not get exactly its labels, shape (n_docs,)."""
    del kind
    return (~judged.is_correct).astype(np.float64)


def count_wrong_labels(judged: ScoredDocuments, kind: type[Posterior]) -> Floats:
    """Return how many labels each document lacks or has too many, shape (n_docs,)."""
    del kind
    hits, support, answered = judged.count_labels()
    return np.asarray(support + answered - 2 * hits, np.float64)


def weight_mistakes_by_label(judged: ScoredDocuments, kind: type[Posterior]) -> Floats:
    """Return the labels that each document lacks or has too many, each divided by the documents of the label, shape (n_docs,).

    Where it has one label, a wrong one is one mistake, and counts as one that lacks.
    """
    documents, labels = judged.truth.to_pairs()
    support = np.maximum(np.bincount(labels, minlength=judged.truth.table.n_labels), 1)
    is_missed = ~judged.predicted.contains(documents, labels)
    missed = np.bincount(documents, is_missed / support[labels], judged.n).astype(np.float64)
    if kind.is_exclusive:
        return missed
    got, predicted = judged.predicted.to_pairs()
    is_wrong = ~judged.truth.contains(got, predicted)
    return missed + np.bincount(got, is_wrong / support[predicted], judged.n)


RANKING_DEPTHS = (1, 3, 5)
"""The k of the share of the k most probable labels that are right."""

TOP_K = (2, 3, 5)
"""The k for which it is counted how often the true class is among the k most probable."""


class Metric(NamedTuple):
    """A figure of an evaluation, as its output, its intervals and the gates of the commands go by it."""

    function: Callable[[ConfusionMargins], Floats] | None = None
    """Its function, if it follows from the confusion table; its interval is then bootstrapped."""
    title: str = ""
    """Its row among the further figures that the commands print; none if empty."""
    minimum: float = 0.0
    maximum: float = 1.0
    higher_is_better: bool = True
    has_interval: bool = True
    label_kinds: tuple[type[Posterior], ...] = (ClassPosterior, LabelPosterior)
    """The kinds of labels that it judges."""
    losses: Callable[[ScoredDocuments, type[Posterior]], Floats] | None = None
    """What each document adds to a loss that falls as the figure gets better, shape (n_docs,)."""


OF_CLASSES = (ClassPosterior,)
OF_LABELS = (LabelPosterior,)

METRICS = {
    "n": Metric(maximum=inf, has_interval=False),
    "accuracy": Metric(accuracy, losses=mark_wrong_documents),
    "macro_precision": Metric(lambda table: macro(precision(table), table)),
    "macro_recall": Metric(lambda table: macro(recall(table), table)),
    "macro_f1": Metric(lambda table: macro(f1(table), table), losses=weight_mistakes_by_label),
    "micro_precision": Metric(micro_precision),
    "micro_recall": Metric(micro_recall),
    "micro_f1": Metric(micro_f1, losses=count_wrong_labels),
    "balanced_accuracy": Metric(balanced_accuracy, "balanced accuracy"),
    "matthews": Metric(matthews, "Matthews correlation", minimum=-1, label_kinds=OF_CLASSES),
    **{
        f"top_{k}_accuracy": Metric(title=f"top-{k} accuracy", label_kinds=OF_CLASSES)
        for k in TOP_K
    },
    "macro_roc_auc": Metric(
        title="area under ROC (AUC), macro", has_interval=False
    ),  # an interval would need a ranking for every replicate
    "macro_average_precision": Metric(title="average precision (AP), macro", has_interval=False),
    "coverage": Metric(coverage),
    "answered_accuracy": Metric(answered_accuracy),
    "log_loss": Metric(
        maximum=inf, higher_is_better=False, losses=lambda judged, _: judged.log_loss
    ),
    "brier": Metric(maximum=inf, higher_is_better=False),
    "ece": Metric(higher_is_better=False),
    "mean_cost": Metric(minimum=-inf, maximum=inf, higher_is_better=False),
    **{
        f"precision_at_{k}": Metric(title=f"precision at {k}", label_kinds=OF_LABELS)
        for k in RANKING_DEPTHS
    },
    "ndcg_at_5": Metric(title="nDCG at 5", label_kinds=OF_LABELS),
    "lrap": Metric(title="label ranking average precision (LRAP)", label_kinds=OF_LABELS),
    "document_f1": Metric(document_f1, "F1 of a document", label_kinds=OF_LABELS),
    "subset_accuracy": Metric(accuracy, label_kinds=OF_LABELS),
    "labels_per_document": Metric(
        labels_per_document, "labels of a document", maximum=inf, label_kinds=OF_LABELS
    ),
    "labels_per_answer": Metric(
        labels_per_answer, "labels of an answer", maximum=inf, label_kinds=OF_LABELS
    ),
    "set_coverage": Metric(),
    "set_size": Metric(maximum=inf, higher_is_better=False),
}
"""The metrics by name. Those without a function of `ConfusionMargins` are computed by `nbtext.metrics.evaluation` and `nbtext.metrics.ranking`, those of sets that
hold the true class by `nbtext.guarantees`."""


def compute_rates(
    table: ConfusionMargins, kind: type[Posterior] = ClassPosterior
) -> dict[str, Floats]:
    """Return the metrics of outcomes by name, each of shape (…), for one kind of labels."""
    functions = {
        name: metric.function for name, metric in METRICS.items() if kind in metric.label_kinds
    }
    return {name: function(table) for name, function in functions.items() if function is not None}


def _sums(counts: Counts, labels: Ints, n_labels: int) -> Floats:
    """Sum counts, shape (…, n), by label, shape (n,); return shape (…, n_labels)."""
    return np.apply_along_axis(lambda row: np.bincount(labels, row, n_labels), -1, counts)


def _ratio(part: Counts, whole: Counts, of_nothing: float = 0.0) -> Floats:
    """Return part / whole, and ``of_nothing`` where the whole is 0; for rates 0, as scikit-learn's zero_division=0."""
    return np.divide(part, whole, out=np.full(np.shape(part), of_nothing), where=whole > 0)
