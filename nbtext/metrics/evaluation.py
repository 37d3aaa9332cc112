"""Evaluation: judges the answers and probabilities of a classifier as documents come, and gives all figures at the end.

Of each document 36 bytes are kept (`nbtext.metrics.outcomes`), and the scores for ranking while there are few (`nbtext.metrics.ranking`).
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
    METRIC_FIELDS,
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
"""Different values of a column to slice by; a column with more identifies documents."""


def summarize_slice(judged: ScoredDocuments) -> SliceResult:
    """Return the figures of some documents, at least one."""
    share, macro_f1 = compute_accuracy_and_macro_f1(judged)
    interval = wilson_interval(int(judged.is_correct.sum()), judged.n)
    return SliceResult(judged.n, share, interval, macro_f1, expected_calibration_error(judged))


DEFAULT_MISTAKE_COST = 1.0
"""Cost of a mistake that the costs do not price: any answer to a label that the classifier does not know, and abstaining where it has no
cost."""


class Evaluation:
    """Judges the predicted labels and the probabilities of a classifier with the given classes.

    Labels that the classifier does not know become classes of their own, and none of their documents can be right: they count in the
    accuracy, and each as a class with F1 = 0 in the macro averages. The log loss with them is infinite; ``known`` in the result is without
    them. A document without an answer counts as not found: it lowers accuracy and recall, not precision. Log loss, Brier score,
    calibration, top-k and ranking judge the probabilities, whatever the answer.

    ``kind`` says whether the labels of a document exclude each other. If they do not, log loss and Brier score are sums over labels, accuracy is the share of
    documents that got exactly their labels, and precision, recall and F1 are those of each label against the rest.

    ``costs`` give a mean cost; the ``shares`` of training documents with each label, shape (n_classes,), give baselines, one with the ``prior`` where that is another;
    ``by`` names columns to slice by.
    """

    def __init__(
        self,
        classes: Names,
        kind: type[Posterior] = ClassPosterior,
        *,
        costs: Costs | None = None,
        label_proportions: Floats | None = None,
        prior: Floats | None = None,
        group_columns: Names = (),
        max_scores: int = MAX_RANKING_SCORES,
    ) -> None:
        self.kind = kind
        self._index = kind.make_label_index(classes)
        self._n_known = len(classes)
        self._costs = costs
        self._shares = label_proportions
        self._prior = prior
        self._slices: dict[str, dict[str, list[int]]] = {column: {} for column in group_columns}
        """Numbers of the documents by column, then by value."""
        self._scores: list[Floats] = []
        """Log posteriors of all documents; none once they are more than there is room for."""
        self._room = max_scores
        self._parts: list[ScoredDocuments] = []
        self.n = 0
        """Documents judged."""

    def add(
        self,
        labels: Labels,
        posterior: Posterior,
        answers: DocumentLabels | None = None,
        columns: AttributeValues = (),
    ) -> None:
        """Judge documents by their true labels, one text each, and their posterior.

        A row of nan, where no class is possible, counts as if all classes were equally probable.
        ``answers`` are the predicted labels, by default those of the decision rule without options. ``columns`` has for each document its values in the
        columns of ``by``. The arrays are kept and must not change.
        Raises `UsageError` if a column has more than `MAX_COLUMN_VALUES` values.
        """
        for number, row in enumerate(columns, self.n):
            for (name, documents), value in zip(self._slices.items(), row, strict=True):
                documents.setdefault(value, []).append(number)
                if len(documents) > MAX_COLUMN_VALUES:
                    raise UsageError(
                        f"column {name} has more than {MAX_COLUMN_VALUES:,} values",
                        hint="choose one that many documents share",
                    )
        self._judge(self._index.index_labels(labels), posterior, answers)

    def add_indexed(
        self, truth: DocumentLabels, posterior: Posterior, answers: DocumentLabels | None = None
    ) -> None:
        """Judge documents as `add` does by their labels, which the classifier knows."""
        self._judge(self._index.renumber(truth), posterior, answers)

    def _judge(
        self, truth: DocumentLabels, posterior: Posterior, answers: DocumentLabels | None
    ) -> None:
        logs = posterior.logs
        if np.isnan(logs[:, 0]).any():
            posterior = self.kind(np.where(np.isnan(logs[:, :1]), -np.log(logs.shape[1]), logs))
        predicted = self._index.renumber(
            posterior.predict(DecisionRule()) if answers is None else answers
        )
        scores = score_posterior(posterior, truth)
        self._parts.append(
            ScoredDocuments(
                scores.rank,
                scores.log_loss,
                scores.brier,
                scores.confidence,
                ranking=score_label_rankings(posterior, truth),
                truth=truth,
                predicted=predicted,
            )
        )
        self.n += len(truth)
        self._room -= posterior.logs.size
        self._scores.append(posterior.logs)
        if not self.keeps_scores:
            self._scores.clear()

    def merge(self, other: Self) -> None:
        """Add the documents that another evaluation of the same classes judged; none of them has an unknown label."""
        for part in other._parts:
            labels = (self._index.renumber(each) for each in (part.truth, part.predicted))
            self._parts.append(
                ScoredDocuments(
                    part.rank, part.log_loss, part.brier, part.confidence, part.ranking, *labels
                )
            )
        self.n += other.n
        self._room -= other.n * self._n_known
        self._scores = [*self._scores, *other._scores] if self.keeps_scores else []

    @property
    def classes(self) -> list[str]:
        """All labels: those that the classifier knows, then others that occurred."""
        return self._index.labels

    @property
    def unknown_labels(self) -> list[str]:
        """Labels that occurred and that the classifier does not know."""
        return self.classes[self._n_known :]

    @property
    def keeps_scores(self) -> bool:
        """True if there were few enough scores for areas under ROC curves and average precisions."""
        return self._room >= 0

    @property
    def documents(self) -> ScoredDocuments:
        """All documents judged, in order, with labels numbered in one table."""
        joined = concatenate_scored_documents(self._parts)
        table = self._index.table
        judged = replace(
            joined,
            truth=replace(joined.truth, table=table),
            predicted=replace(joined.predicted, table=table),
        )
        self._parts = [judged]
        return judged

    def summary(self, bootstrap: Bootstrap = Bootstrap()) -> dict[str, Any]:
        """Return `result` as JSON has it."""
        return to_json_values(self.result(bootstrap))

    def result(self, bootstrap: Bootstrap = Bootstrap()) -> EvaluationResult:
        """Return all figures, with Wilson's intervals for shares; the others are bootstrapped, unless ``bootstrap`` has no replicates."""
        everything = self.documents
        cells = count_cells(everything)
        if not self.kind.is_exclusive:  # else numbers are in the order of labels
            cells = cells.sort_by_labels(everything.truth.table)
        table = cells.sum_margins(len(self.classes))
        ranking = compute_ranking_metrics(self._scores, everything.truth, self._n_known)
        figures = self._figures(everything, cells, ranking)
        counts = table.support[self._n_known :].astype(int).tolist()
        return EvaluationResult(
            n=everything.n,
            intervals=self._intervals(figures, everything, cells, bootstrap),
            baselines=self._baselines(everything, self._shares)
            if everything.n and self._shares is not None
            else None,
            reliability=compute_reliability_bins(everything),
            per_class=self._per_class(table, ranking),
            classes=tuple(self.classes),
            confusion=self._confusion(cells),
            has_one_label=self.kind.is_exclusive,
            unknown_labels=tuple(self.unknown_labels),
            unknown_documents=dict(zip(self.unknown_labels, counts, strict=True)),
            known=summarize_known_documents(everything.take(self._has_known_labels(everything))),
            slices={
                column: {
                    value: summarize_slice(everything.take(np.array(rows)))
                    for value, rows in sorted(documents.items())
                }
                for column, documents in self._slices.items()
            }
            or None,
            other_metrics={
                name: finite_or_none(value)
                for name, value in figures.items()
                if name not in METRIC_FIELDS
            },
            **{
                name: finite_or_none(value)
                for name, value in figures.items()
                if name in METRIC_FIELDS
            },
        )

    def count_lost_class_documents(self, known: Mask) -> dict[str, int]:
        """Return how many documents not ``known``, a mask of shape (n_docs,), are of each class; a set of labels has no class that is lost."""
        if not self.kind.is_exclusive:
            return {}
        counts = np.bincount(self.documents.truth.indices[~known], minlength=len(self.classes))
        return {label: n for label, n in zip(self.classes, counts.tolist(), strict=True) if n}

    def _has_known_labels(self, everything: ScoredDocuments) -> Mask:
        """Return which documents have no label that the classifier does not know, shape (n_docs,)."""
        documents, labels = everything.truth.to_pairs()
        is_known = np.ones(everything.n, np.bool_)
        is_known[documents[labels >= self._n_known]] = False
        return is_known

    def _baselines(self, everything: ScoredDocuments, shares: Floats) -> Baselines:
        """Return the figures of always answering the most frequent label, and of always giving the class prior."""
        largest = int(shares.argmax())
        answer = self._index.renumber(DocumentLabels.from_sets([(largest,)], self._n_known))
        constant = np.full(everything.n, answer.indices[0])
        always = ConfusionCells.from_documents(
            everything.truth.indices, constant, answer.table
        ).sum_margins(len(self.classes))
        log_loss, brier = self.kind.score_prior(
            shares if self._prior is None else self._prior, everything.truth
        )
        return Baselines(
            LargestClass(
                self.classes[largest], float(accuracy(always)), float(macro(f1(always), always))
            ),
            ClassPrior(finite_or_none(log_loss), brier),
        )

    def _figures(
        self, everything: ScoredDocuments, cells: ConfusionCells, ranking: RankingMetrics
    ) -> dict[str, float]:
        table = cells.sum_margins(len(self.classes))
        names = [name for name, metric in METRICS.items() if self.kind in metric.label_kinds]
        figures = {name: float(value) for name, value in compute_rates(table, self.kind).items()}
        figures |= proper_scores(everything)
        top = {
            f"top_{k}_accuracy": mean_or_nan(everything.rank < k) if k < self._n_known else np.nan
            for k in TOP_K
        }
        figures |= {name: figure for name, figure in top.items() if name in names}
        figures |= {
            f"macro_{name}": mean_or_nan(values[np.isfinite(values)])
            for name, values in ranking._asdict().items()
        }
        figures |= dict(
            zip(
                LABEL_RANKING_METRICS,
                everything.ranking.mean(axis=0).tolist() if everything.n else (),
                strict=False,
            )
        )
        if self._costs is not None:
            figures["mean_cost"] = float(
                (self._cell_costs(cells, self._costs) * cells.documents).sum()
            ) / (everything.n or np.nan)
        return figures if everything.n else dict.fromkeys(figures, np.nan)

    def _intervals(
        self,
        figures: dict[str, float],
        everything: ScoredDocuments,
        cells: ConfusionCells,
        bootstrap: Bootstrap,
    ) -> dict[str, Interval]:
        found = {
            name: interval
            for name, interval in self._share_intervals(everything).items()
            if name in figures
        }
        if everything.n and bootstrap.replicates:
            costs = None if self._costs is None else self._cell_costs(cells, self._costs)
            replicates = bootstrap_rates(cells, costs, bootstrap, self.kind) | bootstrap_scores(
                everything, bootstrap
            )
            others = replicates.keys() - found.keys()
            found |= {
                name: percentile_interval(replicates[name], figure)
                for name, figure in figures.items()
                if name in others
            }
        if everything.n and self.kind.is_exclusive and (everything.predicted.indices >= 0).all():
            found["micro_f1"] = found["accuracy"]  # all answers and all labels are as many
        return found

    def _share_intervals(self, everything: ScoredDocuments) -> dict[str, Interval]:
        """Return the intervals of figures that are shares of documents, from the counts alone."""
        n = everything.n
        hits = int(everything.is_correct.sum())
        accuracy = wilson_interval(hits, n)
        if not n:
            return {"accuracy": accuracy}
        has_answer = everything.predicted.count_labels() > 0
        answered = int(has_answer.sum())
        of_answered = wilson_interval(int((everything.is_correct & has_answer).sum()), answered)
        of_documents = {"coverage": wilson_interval(answered, n), "answered_accuracy": of_answered}
        if not self.kind.is_exclusive:
            return {"accuracy": accuracy, "subset_accuracy": accuracy, **of_documents}
        top = {
            f"top_{k}_accuracy": wilson_interval(int((everything.rank < k).sum()), n)
            for k in TOP_K
            if k < self._n_known
        }
        return {
            "accuracy": accuracy,
            "micro_recall": accuracy,
            **of_documents,
            "micro_precision": of_answered,
            **top,
        }

    def _per_class(
        self, table: ConfusionMargins, ranking: RankingMetrics
    ) -> dict[str, ClassResult]:
        padded = (
            np.append(values, np.full(len(self.unknown_labels), np.nan)) for values in ranking
        )
        margins = (
            margin.astype(np.int64) for margin in (table.hits, table.support, table.predicted)
        )
        columns = (*margins, precision(table), recall(table), f1(table), *padded)
        rows = zip(self.classes, *(column.tolist() for column in columns), strict=True)
        return {
            label: ClassResult(
                of_answers,
                of_class,
                mean,
                support,
                answered,
                finite_or_none(area),
                finite_or_none(average),
                {
                    "precision": wilson_interval(hits, answered),
                    "recall": wilson_interval(hits, support),
                },
                hits,
            )
            for label, hits, support, answered, of_answers, of_class, mean, area, average in rows
        }

    def _cell_costs(self, cells: ConfusionCells, costs_of: Costs) -> Floats:
        """Return the cost of each document of a cell, shape (n_cells,)."""
        of_abstaining = costs_of.abstention_costs
        table = np.column_stack(
            (
                np.where(np.isfinite(of_abstaining), of_abstaining, DEFAULT_MISTAKE_COST),
                costs_of.prediction_costs,
            )
        )
        known = cells.truth < self._n_known
        costs = np.full(cells.truth.size, DEFAULT_MISTAKE_COST)
        costs[known] = table[cells.truth[known], cells.predicted[known] + 1]
        return costs

    def _confusion(self, cells: ConfusionCells) -> dict[str, dict[str, int]]:
        """Return the documents of each cell by true and predicted labels; the empty text is no answer or no label."""
        names = self.classes
        if not self.kind.is_exclusive:
            names = [
                format_label_indices(labels, names) for labels in self._index.table.to_tuples()
            ]
        names = [*names, ""]  # −1, no answer, is the last
        confusion: dict[str, dict[str, int]] = {}
        for truth, answer, documents in zip(
            *(column.tolist() for column in cells[:3]), strict=True
        ):
            confusion.setdefault(names[truth], {})[names[answer]] = documents
        return confusion


def make_evaluation(
    statistics: CellCounts,
    costs: Costs | None = None,
    group_columns: Names = (),
    max_scores: int = MAX_RANKING_SCORES,
    prior: Floats | None = None,
) -> Evaluation:
    """Return the evaluation of a classifier that was trained on these counts; arguments are as `Evaluation` takes them."""
    labels = [label for label in statistics.classes if label != ALL_DOCUMENTS_LABEL]
    shares = statistics.class_documents[-len(labels) :] / statistics.n_documents
    return Evaluation(
        labels,
        statistics.posterior_type,
        costs=costs,
        label_proportions=shares,
        prior=prior,
        group_columns=group_columns,
        max_scores=max_scores,
    )


def count_cells(judged: ScoredDocuments) -> ConfusionCells:
    """Count documents by true and predicted labels."""
    return ConfusionCells.from_documents(
        judged.truth.indices, judged.predicted.indices, judged.truth.table
    )


def summarize_known_documents(known: ScoredDocuments) -> KnownResult:
    """Return the main figures of documents whose class the classifier knows."""
    return KnownResult(
        known.n,
        *map(
            finite_or_none, (*compute_accuracy_and_macro_f1(known), *proper_scores(known).values())
        ),
    )


def compute_accuracy_and_macro_f1(judged: ScoredDocuments) -> tuple[float, float]:
    """Return the accuracy and the macro F1 of documents."""
    table = count_cells(judged).sum_margins(judged.truth.table.n_labels)
    return mean_or_nan(judged.is_correct), float(macro(f1(table), table))


def summarize_probabilities(documents: PosteriorScores) -> ProbabilityResult:
    """Return the reliability of the probabilities, and their proper scores."""
    figures = (*proper_scores(documents).values(), mean_or_nan(documents.confidence))
    return ProbabilityResult(compute_reliability_bins(documents), *map(finite_or_none, figures))


def compute_reliability_bins(documents: PosteriorScores) -> tuple[ReliabilityBin, ...]:
    """Return the `BINS` bins. The most probable class counts, whether it was the answer or not."""
    rows = zip(*(column.tolist() for column in count_confidence_bins(documents)), strict=True)
    return tuple(
        ReliabilityBin(
            k / CONFIDENCE_BINS,
            (k + 1) / CONFIDENCE_BINS,
            n,
            *((sure / n, hits / n, wilson_interval(hits, n)) if n else (None, None, None)),
        )
        for k, (n, hits, sure) in enumerate(rows)
    )


def finite_or_none(value: float) -> float | None:
    """Return the value, or None in place of infinity and nan, which JSON does not have."""
    return value if np.isfinite(value) else None
