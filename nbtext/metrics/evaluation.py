"""Evaluation of the predictions and probabilities of a classifier, block by block.

An `Evaluation` keeps 36 bytes of each document (`nbtext.metrics.outcomes`). For ranking metrics, it
also keeps all scores, unless they are too many (`nbtext.metrics.ranking`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nbtext.errors import UsageError
from nbtext.metrics.intervals import (
    Bootstrap,
    Interval,
    bootstrap_rates,
    bootstrap_scores,
    percentile_interval,
    wilson_interval,
)
from nbtext.metrics.outcomes import (
    CONFIDENCE_BINS,
    METRICS,
    TOP_K,
    ConfusionCells,
    ConfusionMargins,
    PosteriorScores,
    ScoredDocuments,
    accuracy,
    compute_rates,
    concatenate_scored_documents,
    count_confidence_bins,
    expected_calibration_error,
    f1,
    macro,
    mean_or_nan,
    precision,
    proper_scores,
    recall,
    score_posterior,
)
from nbtext.metrics.ranking import (
    LABEL_RANKING_METRICS,
    MAX_RANKING_SCORES,
    RankingMetrics,
    compute_ranking_metrics,
    score_label_rankings,
)
from nbtext.metrics.results import (
    RESULT_FIELDS,
    Baselines,
    ClassPrior,
    ClassResult,
    EvaluationResult,
    KnownResult,
    LargestClass,
    ProbabilityResult,
    ReliabilityBin,
    SliceResult,
    to_json_values,
)
from nbtext.prediction.labels import ALL_DOCUMENTS_LABEL, DocumentLabels, format_label_indices
from nbtext.prediction.posterior import ClassPosterior
from nbtext.prediction.rule import DecisionRule

if TYPE_CHECKING:
    from nbtext.counts.count_table import CellCounts
    from nbtext.prediction.labels import Labels
    from nbtext.prediction.posterior import Posterior
    from nbtext.prediction.rule import Costs
    from nbtext.type_names import AttributeValues, Floats, Mask, Names

MAX_COLUMN_VALUES = 1000
"""Maximum number of distinct values of a column for slices. A column of ids has more."""

DEFAULT_MISTAKE_COST = 1.0
"""Cost of predictions for documents with unknown labels, and of abstaining without a given cost."""


class Evaluation:
    """Evaluates the predicted labels and the probabilities of a classifier.

    Unknown labels, which the classifier does not contain, become classes of their own. Their
    documents are always mistakes: they count in the accuracy, and each unknown class has F1 = 0 in
    the macro averages. Their log loss is infinite. The field ``known`` of the result excludes these
    documents. A document without a prediction lowers accuracy and recall, but not precision. Log
    loss, Brier score, calibration, top-k and ranking metrics only depend on the probabilities.

    For multi-label models, log loss and Brier score are sums over labels. Accuracy is the
    proportion of documents whose predicted labels are exactly the true labels. Precision, recall
    and F1 compare each label with the rest.
    """

    def __init__(
        self,
        classes: Names,
        posterior_type: type[Posterior] = ClassPosterior,
        *,
        costs: Costs | None = None,
        label_proportions: Floats | None = None,
        prior: Floats | None = None,
        group_columns: Names = (),
        max_scores: int = MAX_RANKING_SCORES,
    ) -> None:
        """Start without documents.

        With ``costs``, the metrics include a mean cost. With ``label_proportions`` of the training
        documents, shape (n_classes,), they include baselines. The second baseline predicts the
        probabilities ``prior``, by default the proportions. ``group_columns`` are the names of the
        columns that define slices. Ranking metrics are omitted for more than ``max_scores`` scores.
        """
        self.posterior_type = posterior_type
        self._index = posterior_type.make_label_index(classes)
        self._n_known = len(classes)
        """Number of labels of the classifier. Higher indices are those of unknown labels."""
        self._costs = costs
        self._label_proportions = label_proportions
        self._prior = prior
        self._slices: dict[str, dict[str, list[int]]] = {column: {} for column in group_columns}
        """Document indices by column, then by value."""
        self._log_posteriors: list[Floats] = []
        """Log posteriors of all documents, by block. Empty if there are too many scores."""
        self._n_free_scores = max_scores
        """Number of scores that may be added. Negative if there are too many scores."""
        self._blocks: list[ScoredDocuments] = []
        self.n = 0
        """Number of evaluated documents."""

    def add(
        self,
        labels: Labels,
        posterior: Posterior,
        predicted: DocumentLabels | None = None,
        columns: AttributeValues = (),
    ) -> None:
        """Evaluate documents, given their true labels and their posterior.

        A row of nan, where no class is possible, counts as if all classes had equal probabilities.
        ``predicted`` are the predicted labels, by default those of `DecisionRule()`. ``columns``
        are the values of each document in the group columns. The arrays are kept and must not
        change.

        Raise `UsageError` if a column has more than `MAX_COLUMN_VALUES` values.
        """
        for index, values in enumerate(columns, start=self.n):
            for (name, indices_by_value), value in zip(self._slices.items(), values, strict=True):
                indices_by_value.setdefault(value, []).append(index)
                if len(indices_by_value) > MAX_COLUMN_VALUES:
                    raise UsageError(
                        f"column {name} has more than {MAX_COLUMN_VALUES:,} values",
                        hint="choose a column with fewer values",
                    )
        self._add(self._index.index_labels(labels), posterior, predicted)

    def add_indexed(
        self, truth: DocumentLabels, posterior: Posterior, predicted: DocumentLabels | None = None
    ) -> None:
        """Evaluate documents as `add`, given labels as indices of the labels of the classifier."""
        self._add(self._index.renumber(truth), posterior, predicted)

    def _add(
        self, truth: DocumentLabels, posterior: Posterior, predicted: DocumentLabels | None
    ) -> None:
        """Evaluate documents as `add`. Indices of the truth may be those of unknown labels."""
        log_p = posterior.log_p
        # If no class is possible, the whole row is nan. Shape (n_docs, 1), for all columns.
        is_impossible = np.isnan(log_p[:, :1])
        if is_impossible.any():
            uniform_log_p = -np.log(log_p.shape[1])
            posterior = self.posterior_type(np.where(is_impossible, uniform_log_p, log_p))
        if predicted is None:
            predicted = posterior.predict(DecisionRule())
        predicted = self._index.renumber(predicted)
        scores = score_posterior(posterior, truth)
        self._blocks.append(
            ScoredDocuments(
                rank=scores.rank,
                log_loss=scores.log_loss,
                brier=scores.brier,
                confidence=scores.confidence,
                ranking=score_label_rankings(posterior, truth),
                truth=truth,
                predicted=predicted,
            )
        )
        self.n += len(truth)
        self._n_free_scores -= posterior.log_p.size
        self._log_posteriors.append(posterior.log_p)
        if not self.keeps_scores:
            self._log_posteriors.clear()

    def merge(self, other: Self) -> None:
        """Add the documents of another evaluation of the same classes.

        The other evaluation must have no unknown labels.
        """
        for block in other._blocks:
            truth = self._index.renumber(block.truth)
            predicted = self._index.renumber(block.predicted)
            self._blocks.append(replace(block, truth=truth, predicted=predicted))
        self.n += other.n
        self._n_free_scores -= other.n * self._n_known
        self._log_posteriors += other._log_posteriors
        if not self.keeps_scores:
            self._log_posteriors.clear()

    @property
    def classes(self) -> list[str]:
        """Labels of the classifier, then unknown labels that occurred."""
        return self._index.labels

    @property
    def unknown_labels(self) -> list[str]:
        """Labels that occurred and that the classifier does not contain."""
        return self.classes[self._n_known :]

    @property
    def keeps_scores(self) -> bool:
        """True if scores are few enough for areas under ROC curves and average precisions."""
        return self._n_free_scores >= 0

    @property
    def documents(self) -> ScoredDocuments:
        """All evaluated documents, in order, with their labels in one table."""
        documents = concatenate_scored_documents(self._blocks)
        table = self._index.table
        documents = replace(
            documents,
            truth=replace(documents.truth, table=table),
            predicted=replace(documents.predicted, table=table),
        )
        self._blocks = [documents]  # the next call need not concatenate them
        return documents

    def summary(self, bootstrap: Bootstrap = Bootstrap()) -> dict[str, Any]:
        """Return `result` as values for JSON."""
        return to_json_values(self.result(bootstrap))

    def result(self, bootstrap: Bootstrap = Bootstrap()) -> EvaluationResult:
        """Return all metrics with 95 % intervals.

        Proportions have Wilson's intervals. The other intervals are bootstrapped, unless
        ``bootstrap`` has no replicates.
        """
        documents = self.documents
        cells = count_cells(documents)
        if not self.posterior_type.is_exclusive:
            # Sets are numbered in the order of their occurrence, which depends on the documents.
            cells = cells.sort_by_labels(documents.truth.table)
        margins = cells.sum_margins(len(self.classes))
        ranking = compute_ranking_metrics(self._log_posteriors, documents.truth, self._n_known)
        metrics = self._compute_metrics(documents, cells, ranking)
        json_metrics = {name: finite_or_none(value) for name, value in metrics.items()}
        baselines = None
        if documents.n and self._label_proportions is not None:
            baselines = self._compute_baselines(documents, self._label_proportions)
        unknown_counts = margins.support[self._n_known :].astype(int).tolist()
        return EvaluationResult(
            n=documents.n,
            intervals=self._compute_intervals(metrics, documents, cells, bootstrap),
            baselines=baselines,
            reliability=compute_reliability_bins(documents),
            per_class=self._summarize_classes(margins, ranking),
            classes=tuple(self.classes),
            confusion=self._to_confusion(cells),
            has_one_label=self.posterior_type.is_exclusive,
            unknown_labels=tuple(self.unknown_labels),
            unknown_documents=dict(zip(self.unknown_labels, unknown_counts, strict=True)),
            known=summarize_known_documents(documents.take(self._has_known_labels(documents))),
            slices=self._summarize_slices(documents) or None,
            other_metrics={
                name: value for name, value in json_metrics.items() if name not in RESULT_FIELDS
            },
            **{name: value for name, value in json_metrics.items() if name in RESULT_FIELDS},
        )

    def count_lost_class_documents(self, is_known: Mask) -> dict[str, int]:
        """Return by class the number of documents where ``is_known``, shape (n_docs,), is False.

        For multi-label models the result is empty, because their documents have no single class.
        """
        if not self.posterior_type.is_exclusive:
            return {}
        classes = self.documents.truth.indices[~is_known]
        counts = np.bincount(classes, minlength=len(self.classes))
        return {label: n for label, n in zip(self.classes, counts.tolist(), strict=True) if n}

    def _has_known_labels(self, documents: ScoredDocuments) -> Mask:
        """Return a mask of the documents without unknown labels, shape (n_docs,)."""
        rows, labels = documents.truth.to_pairs()
        is_known = np.ones(documents.n, np.bool_)
        is_known[rows[labels >= self._n_known]] = False
        return is_known

    def _summarize_slices(self, documents: ScoredDocuments) -> dict[str, dict[str, SliceResult]]:
        """Return the metrics of the documents with each value of each group column."""
        slices: dict[str, dict[str, SliceResult]] = {}
        for column, rows_by_value in self._slices.items():
            slices[column] = {}
            for value, rows in sorted(rows_by_value.items()):
                slices[column][value] = summarize_slice(documents.take(np.array(rows)))
        return slices

    def _compute_baselines(
        self, documents: ScoredDocuments, label_proportions: Floats
    ) -> Baselines:
        """Return the metrics of predicting the largest class, and of predicting the prior."""
        largest = int(label_proportions.argmax())
        predicted = self._index.renumber(DocumentLabels.from_sets([(largest,)], self._n_known))
        constant_predictions = np.full(documents.n, predicted.indices[0])  # the only index
        cells = ConfusionCells.from_documents(
            documents.truth.indices, constant_predictions, predicted.table
        )
        margins = cells.sum_margins(len(self.classes))
        prior = label_proportions if self._prior is None else self._prior
        log_loss, brier = self.posterior_type.score_prior(prior, documents.truth)
        return Baselines(
            LargestClass(
                self.classes[largest],
                float(accuracy(margins)),
                float(macro(f1(margins), margins)),
            ),
            ClassPrior(finite_or_none(log_loss), brier),
        )

    def _compute_metrics(
        self, documents: ScoredDocuments, cells: ConfusionCells, ranking: RankingMetrics
    ) -> dict[str, float]:
        """Return all metrics by name. Undefined metrics are nan, and without documents all are."""
        margins = cells.sum_margins(len(self.classes))
        rates = compute_rates(margins, self.posterior_type)
        metrics = {name: float(value) for name, value in rates.items()}
        metrics |= proper_scores(documents)
        for k in TOP_K:
            name = f"top_{k}_accuracy"
            if self.posterior_type in METRICS[name].posterior_types:
                is_hit = documents.rank < k
                # Among k or fewer classes, every document would be a hit.
                metrics[name] = mean_or_nan(is_hit) if k < self._n_known else np.nan
        for name, values in ranking._asdict().items():
            metrics[f"macro_{name}"] = mean_or_nan(values[np.isfinite(values)])
        if documents.n:
            ranking_means = documents.ranking.mean(axis=0).tolist()
            # Single-label documents have no such metrics, and no columns.
            metrics |= dict(zip(LABEL_RANKING_METRICS, ranking_means, strict=False))
        if self._costs is not None:
            cell_costs = self._get_cell_costs(cells, self._costs)
            total_cost = (cell_costs * cells.documents).sum()
            metrics["mean_cost"] = float(total_cost) / max(documents.n, 1)
        if not documents.n:
            return dict.fromkeys(metrics, np.nan)
        return metrics

    def _compute_intervals(
        self,
        metrics: dict[str, float],
        documents: ScoredDocuments,
        cells: ConfusionCells,
        bootstrap: Bootstrap,
    ) -> dict[str, Interval]:
        """Return the 95 % intervals by metric."""
        intervals = {
            name: interval
            for name, interval in self._compute_wilson_intervals(documents).items()
            if name in metrics
        }
        if documents.n and bootstrap.replicates:
            costs = None if self._costs is None else self._get_cell_costs(cells, self._costs)
            replicates = bootstrap_rates(cells, costs, bootstrap, self.posterior_type)
            replicates |= bootstrap_scores(documents, bootstrap)
            bootstrapped_names = replicates.keys() - intervals.keys()
            for name, value in metrics.items():
                if name in bootstrapped_names:
                    intervals[name] = percentile_interval(replicates[name], value)
        if documents.n and self.posterior_type.is_exclusive:
            has_prediction = documents.predicted.indices >= 0
            if has_prediction.all():
                intervals["micro_f1"] = intervals["accuracy"]  # both are hits / documents
        return intervals

    def _compute_wilson_intervals(self, documents: ScoredDocuments) -> dict[str, Interval]:
        """Return the intervals of the metrics that are proportions of documents."""
        n = documents.n
        n_correct = int(documents.is_correct.sum())
        accuracy_interval = wilson_interval(n_correct, n)
        if not n:
            return {"accuracy": accuracy_interval}
        has_prediction = documents.predicted.count_labels() > 0
        n_predicted = int(has_prediction.sum())
        n_correct_predicted = int((documents.is_correct & has_prediction).sum())
        answered_interval = wilson_interval(n_correct_predicted, n_predicted)
        same_as_accuracy = "micro_recall" if self.posterior_type.is_exclusive else "subset_accuracy"
        intervals = {
            "accuracy": accuracy_interval,
            same_as_accuracy: accuracy_interval,
            "answered": wilson_interval(n_predicted, n),
            "answered_accuracy": answered_interval,
        }
        if not self.posterior_type.is_exclusive:
            return intervals
        intervals["micro_precision"] = answered_interval
        for k in TOP_K:
            if k < self._n_known:
                n_hits = int((documents.rank < k).sum())
                intervals[f"top_{k}_accuracy"] = wilson_interval(n_hits, n)
        return intervals

    def _summarize_classes(
        self, margins: ConfusionMargins, ranking: RankingMetrics
    ) -> dict[str, ClassResult]:
        """Return the metrics of each class."""
        hits = margins.hits.astype(np.int64).tolist()
        support = margins.support.astype(np.int64).tolist()
        predicted = margins.predicted.astype(np.int64).tolist()
        class_precision = precision(margins).tolist()
        class_recall = recall(margins).tolist()
        class_f1 = f1(margins).tolist()
        unknown_metrics = [np.nan for _ in self.unknown_labels]  # unknown labels have no scores
        roc_auc = [*ranking.roc_auc.tolist(), *unknown_metrics]
        average_precision = [*ranking.average_precision.tolist(), *unknown_metrics]
        return {
            label: ClassResult(
                precision=class_precision[k],
                recall=class_recall[k],
                f1=class_f1[k],
                support=support[k],
                answered=predicted[k],
                roc_auc=finite_or_none(roc_auc[k]),
                average_precision=finite_or_none(average_precision[k]),
                intervals={
                    "precision": wilson_interval(hits[k], predicted[k]),
                    "recall": wilson_interval(hits[k], support[k]),
                },
                hits=hits[k],
            )
            for k, label in enumerate(self.classes)
        }

    def _get_cell_costs(self, cells: ConfusionCells, costs: Costs) -> Floats:
        """Return the cost of one document of each cell, shape (n_cells,)."""
        abstention_costs = np.where(
            np.isfinite(costs.abstention_costs), costs.abstention_costs, DEFAULT_MISTAKE_COST
        )
        # The predicted index −1, for no prediction, selects the last column.
        table = np.column_stack((costs.prediction_costs, abstention_costs))
        is_known = cells.truth < self._n_known
        cell_costs = np.full(cells.truth.size, DEFAULT_MISTAKE_COST)
        cell_costs[is_known] = table[cells.truth[is_known], cells.predicted[is_known]]
        return cell_costs

    def _to_confusion(self, cells: ConfusionCells) -> dict[str, dict[str, int]]:
        """Return the number of documents by true and predicted labels.

        The empty text means no prediction, or the empty set.
        """
        names = self.classes
        if not self.posterior_type.is_exclusive:
            sets = self._index.table.to_tuples()
            names = [format_label_indices(labels, names) for labels in sets]
        names = [*names, ""]  # the index −1, for no prediction, selects the last name
        confusion: dict[str, dict[str, int]] = {}
        for truth, predicted, n in zip(
            cells.truth.tolist(), cells.predicted.tolist(), cells.documents.tolist(), strict=True
        ):
            confusion.setdefault(names[truth], {})[names[predicted]] = n
        return confusion


def make_evaluation(
    statistics: CellCounts,
    costs: Costs | None = None,
    group_columns: Names = (),
    max_scores: int = MAX_RANKING_SCORES,
    prior: Floats | None = None,
) -> Evaluation:
    """Return the evaluation of a classifier that was trained on these counts.

    See `Evaluation` for the arguments.
    """
    labels = [label for label in statistics.classes if label != ALL_DOCUMENTS_LABEL]
    # `ALL_DOCUMENTS_LABEL`, which only multi-label models have, is the first class.
    class_documents = statistics.class_documents[-len(labels) :]
    return Evaluation(
        labels,
        statistics.posterior_type,
        costs=costs,
        label_proportions=class_documents / statistics.n_documents,
        prior=prior,
        group_columns=group_columns,
        max_scores=max_scores,
    )


def count_cells(documents: ScoredDocuments) -> ConfusionCells:
    """Count documents by cell: by their true and predicted labels."""
    truth = documents.truth
    return ConfusionCells.from_documents(truth.indices, documents.predicted.indices, truth.table)


def summarize_slice(documents: ScoredDocuments) -> SliceResult:
    """Return the metrics of one or more documents."""
    slice_accuracy, macro_f1 = compute_accuracy_and_macro_f1(documents)
    return SliceResult(
        n=documents.n,
        accuracy=slice_accuracy,
        interval=wilson_interval(int(documents.is_correct.sum()), documents.n),
        macro_f1=macro_f1,
        ece=expected_calibration_error(documents),
    )


def summarize_known_documents(documents: ScoredDocuments) -> KnownResult:
    """Return the main metrics of documents whose class the classifier contains."""
    known_accuracy, macro_f1 = compute_accuracy_and_macro_f1(documents)
    return KnownResult(
        n=documents.n,
        accuracy=finite_or_none(known_accuracy),
        macro_f1=finite_or_none(macro_f1),
        **_compute_json_scores(documents),
    )


def compute_accuracy_and_macro_f1(documents: ScoredDocuments) -> tuple[float, float]:
    """Return the accuracy and the macro F1 of documents."""
    margins = count_cells(documents).sum_margins(documents.truth.table.n_labels)
    return mean_or_nan(documents.is_correct), float(macro(f1(margins), margins))


def summarize_probabilities(documents: PosteriorScores) -> ProbabilityResult:
    """Return the reliability of the probabilities, and their proper scores."""
    return ProbabilityResult(
        bins=compute_reliability_bins(documents),
        confidence=finite_or_none(mean_or_nan(documents.confidence)),
        **_compute_json_scores(documents),
    )


def _compute_json_scores(documents: PosteriorScores) -> dict[str, float | None]:
    """Return the proper scores and the calibration error, with None for infinity and nan."""
    return {name: finite_or_none(score) for name, score in proper_scores(documents).items()}


def compute_reliability_bins(documents: PosteriorScores) -> tuple[ReliabilityBin, ...]:
    """Return the `CONFIDENCE_BINS` bins of documents by the probability of their best class."""
    counts, hits, confidence_sums = (array.tolist() for array in count_confidence_bins(documents))
    bins = []
    for k, n in enumerate(counts):
        bin_documents = ReliabilityBin(k / CONFIDENCE_BINS, (k + 1) / CONFIDENCE_BINS, n)
        if n:
            bin_documents = bin_documents._replace(
                confidence=confidence_sums[k] / n,
                accuracy=hits[k] / n,
                interval=wilson_interval(hits[k], n),
            )
        bins.append(bin_documents)
    return tuple(bins)


def finite_or_none(value: float) -> float | None:
    """Return the value, or None for infinity and nan, which JSON does not have."""
    return value if np.isfinite(value) else None
