"""Evaluation: judges the answers and probabilities of a classifier as documents come, and gives all figures at the end.

Of each document 36 bytes are kept (`nbtext.metrics.outcomes`), and the scores for ranking while there are few (`nbtext.metrics.ranking`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nbtext.errors import UsageError
from nbtext.metrics.intervals import Bootstrap, Interval, percentile_interval, replicated_rates, replicated_scores, wilson_interval
from nbtext.metrics.outcomes import (
    BINS,
    TOP,
    ConfusionCells,
    Judged,
    Outcomes,
    accuracy,
    confidence_bins,
    confusion_cells,
    coverage,
    expected_calibration_error,
    f1,
    join_judged,
    judge_documents,
    macro,
    mean_or_nan,
    precision,
    proper_scores,
    rates,
    recall,
)
from nbtext.metrics.ranking import SCORES_KEPT, RankingFigures, ranked_figures
from nbtext.metrics.results import (
    FIGURES,
    Baselines,
    ClassPrior,
    ClassResult,
    EvaluationResult,
    KnownResult,
    LargestClass,
    ProbabilityResult,
    ReliabilityBin,
    SliceResult,
    json_values,
)

if TYPE_CHECKING:
    from nbtext.prediction.rule import Costs
    from nbtext.type_names import Floats, Names, Truth, Values, Whole

MOST_VALUES = 1000
"""Different values of a column to slice by; a column with more identifies documents."""


def slice_result(judged: Judged, n_labels: int) -> SliceResult:
    """Return the figures of some documents, at least one."""
    share, macro_f1 = accuracy_and_macro_f1(judged, n_labels)
    interval = wilson_interval(int(judged.right.sum()), judged.n)
    return SliceResult(judged.n, share, interval, macro_f1, expected_calibration_error(judged))


UNPRICED = 1.0
"""Cost of a mistake that the costs do not price: any answer to a label that the classifier does not know, and abstaining where it has no
cost."""


class Evaluation:
    """Judges the answers of a classifier with the given classes.

    Labels that the classifier does not know become classes of their own, and none of their documents can be right: they count in the
    accuracy, and each as a class with F1 = 0 in the macro averages. The log loss with them is infinite; ``known`` in the result is without
    them. A document without an answer counts as not found: it lowers accuracy and recall, not precision. Log loss, Brier score,
    calibration, top-k and ranking judge the probabilities, whatever the answer.

    ``costs`` give a mean cost; ``class_documents``, shape (n_classes,), of training give baselines, one with the ``prior`` where that is not their shares;
    ``by`` names columns to slice by.
    """

    def __init__(
        self,
        classes: Names,
        *,
        costs: Costs | None = None,
        class_documents: Whole | Floats | None = None,
        prior: Floats | None = None,
        by: Names = (),
        scores_kept: int = SCORES_KEPT,
    ) -> None:
        self.classes = list(classes)
        self._number = {label: number for number, label in enumerate(self.classes)}
        self._n_known = len(self.classes)
        self._costs = costs
        self._class_documents = class_documents
        self._prior = prior
        self._slices: dict[str, dict[str, list[int]]] = {column: {} for column in by}
        """Numbers of the documents by column, then by value."""
        self._scores: list[Floats] = []
        """Log posteriors of all documents; none once they are more than there is room for."""
        self._room = scores_kept
        self._parts: list[Judged] = []
        self.n = 0
        """Documents judged."""

    def add(self, labels: Names, log_posterior: Floats, answers: Truth | None = None, columns: Values = ()) -> None:
        """Judge documents by their true labels and log p(C_k | d), shape (n_docs, n_classes), in nats.

        A row of nan, where no class is possible, counts as if all classes were equally probable.
        ``answers``, shape (n_docs,), are class numbers, negative where there is none; by default the most probable class, the first of
        equals. ``columns`` has for each document its values in the columns of ``by``. The arrays are kept and must not change.
        Raises `UsageError` if a column has more than `MOST_VALUES` values.
        """
        for number, row in enumerate(columns, self.n):
            for (name, documents), value in zip(self._slices.items(), row, strict=True):
                documents.setdefault(value, []).append(number)
                if len(documents) > MOST_VALUES:
                    raise UsageError(f"column {name} has more than {MOST_VALUES:,} values", hint="choose one that many documents share")
        self.judge(self._truth(labels), log_posterior, answers)

    def judge(self, truth: Truth, log_posterior: Floats, answers: Truth | None = None) -> None:
        """Judge documents as `add` does by the numbers of their true classes, or of several labels by a mask."""
        if np.isnan(log_posterior[:, 0]).any():
            log_posterior = np.where(np.isnan(log_posterior[:, :1]), -np.log(log_posterior.shape[1]), log_posterior)
        self._parts.append(self._judged(truth, log_posterior.argmax(axis=1) if answers is None else answers, log_posterior))
        self.n += len(truth)
        self._room -= log_posterior.size
        self._scores.append(log_posterior)
        if not self.ranked:
            self._scores.clear()

    def join(self, other: Self) -> None:
        """Add the documents that another evaluation of the same classes judged; none of them has an unknown label."""
        self._parts += other._parts
        self.n += other.n
        self._room -= other.n * self._n_known
        self._scores = [*self._scores, *other._scores] if self.ranked else []

    def _truth(self, labels: Names) -> Truth:
        return np.array(self._numbers_of(labels), np.int64)

    def _judged(self, truth: Truth, answers: Truth, log_posterior: Floats) -> Judged:
        return judge_documents(truth, answers, log_posterior)

    def _numbers_of(self, labels: Names) -> list[int]:
        """Return the numbers of labels, new ones of those that the classifier does not know."""
        numbers = [self._number.setdefault(label, len(self._number)) for label in labels]
        if len(self._number) > len(self.classes):
            self.classes = list(self._number)
        return numbers

    @property
    def unknown_labels(self) -> list[str]:
        """Labels that occurred and that the classifier does not know."""
        return self.classes[self._n_known :]

    @property
    def ranked(self) -> bool:
        """True if there were few enough scores for areas under ROC curves and average precisions."""
        return self._room >= 0

    @property
    def judged(self) -> Judged:
        """All documents judged, in order."""
        self._parts = [join_judged(self._parts)]
        return self._parts[0]

    def summary(self, bootstrap: Bootstrap = Bootstrap()) -> dict[str, Any]:
        """Return `result` as JSON has it."""
        return json_values(self.result(bootstrap))

    def result(self, bootstrap: Bootstrap = Bootstrap()) -> EvaluationResult:
        """Return all figures, with Wilson's intervals for shares; the others are bootstrapped, unless ``bootstrap`` has no replicates."""
        everything = self.judged
        table = everything.outcomes(len(self.classes))
        ranking = ranked_figures(self._scores, everything.truth, self._n_known)
        figures = self._figures(everything, table, ranking)
        counts = table.support[self._n_known :].astype(int).tolist()
        return EvaluationResult(
            n=everything.n,
            intervals=self._intervals(figures, everything, bootstrap),
            baselines=self._baselines(everything, self._class_documents) if everything.n and self._class_documents is not None else None,
            reliability=reliability(everything),
            per_class=self._per_class(table, ranking),
            classes=tuple(self.classes),
            confusion=self._confusion(everything),
            unknown_labels=tuple(self.unknown_labels),
            unknown_documents=dict(zip(self.unknown_labels, counts, strict=True)),
            known=known_result(everything.of(everything.known(self._n_known)), self._n_known),
            slices={
                column: {value: slice_result(everything.of(np.array(rows)), len(self.classes)) for value, rows in sorted(documents.items())}
                for column, documents in self._slices.items()
            }
            or None,
            others={name: number_or_none(value) for name, value in figures.items() if name not in FIGURES},
            **{name: number_or_none(value) for name, value in figures.items() if name in FIGURES},
        )

    def _baselines(self, everything: Judged, class_documents: Whole | Floats) -> Baselines:
        """Return the figures of always answering the largest class, and of always giving the class prior.

        ``class_documents``, shape (n_classes,), are those of training.
        """
        support = everything.outcomes(len(self.classes)).support
        largest = int(class_documents.argmax())
        prior = class_documents / class_documents.sum() if self._prior is None else self._prior
        always = always_answering(largest, support)
        return Baselines(
            LargestClass(self.classes[largest], float(accuracy(always)), float(macro(f1(always), always))),
            ClassPrior(number_or_none(prior_log_loss(prior, support)), prior_brier(prior, support)),
        )

    def _figures(self, everything: Judged, table: Outcomes, ranking: RankingFigures) -> dict[str, float]:
        answered = table.answered.sum()
        figures = {
            **{name: float(value) for name, value in rates(table).items()},
            **proper_scores(everything),
            **{f"top_{k}_accuracy": mean_or_nan(everything.rank < k) if k < self._n_known else np.nan for k in TOP},
            **{f"macro_{name}": mean_or_nan(values[np.isfinite(values)]) for name, values in ranking._asdict().items()},
            "coverage": float(coverage(table)),
            "answered_accuracy": float(table.hits.sum() / answered) if answered else np.nan,
            "mean_cost": np.nan,
        }
        if self._costs is not None:
            cells = confusion_cells(everything)
            figures["mean_cost"] = float((self._cell_costs(cells, self._costs) * cells.documents).sum()) / (everything.n or np.nan)
        return figures if everything.n else dict.fromkeys(figures, np.nan)

    def _intervals(self, figures: dict[str, float], everything: Judged, bootstrap: Bootstrap) -> dict[str, Interval]:
        found = self._share_intervals(everything)
        if everything.n and bootstrap.replicates:
            replicates = {**self._replicates(everything, bootstrap), **replicated_scores(everything, bootstrap)}
            others = replicates.keys() - found.keys()
            found |= {name: percentile_interval(replicates[name], figure) for name, figure in figures.items() if name in others}
        if everything.n and everything.truth.ndim == 1 and (everything.answer >= 0).all():
            found["micro_f1"] = found["accuracy"]
        return found

    def _share_intervals(self, everything: Judged) -> dict[str, Interval]:
        """Return the intervals of figures that are shares, from the counts alone."""
        n, hits, answered = everything.n, int(everything.right.sum()), int((everything.answer >= 0).sum())
        accuracy = wilson_interval(hits, n)
        if not n:
            return {"accuracy": accuracy}
        return {
            "accuracy": accuracy,
            "micro_recall": accuracy,
            "coverage": wilson_interval(answered, n),
            **dict.fromkeys(("answered_accuracy", "micro_precision"), wilson_interval(hits, answered)),
            **{f"top_{k}_accuracy": wilson_interval(int((everything.rank < k).sum()), n) for k in TOP if k < self._n_known},
        }

    def _replicates(self, everything: Judged, bootstrap: Bootstrap) -> dict[str, Floats]:
        """Return replicates of the figures of answers, each of shape (n_replicates,)."""
        cells = confusion_cells(everything)
        return replicated_rates(cells, self._costs and self._cell_costs(cells, self._costs), bootstrap)

    def _per_class(self, table: Outcomes, ranking: RankingFigures) -> dict[str, ClassResult]:
        padded = (np.append(values, np.full(len(self.unknown_labels), np.nan)) for values in ranking)
        columns = (*(margin.astype(np.int64) for margin in table), precision(table), recall(table), f1(table), *padded)
        rows = zip(self.classes, *(column.tolist() for column in columns), strict=True)
        return {
            label: ClassResult(
                of_answers,
                of_class,
                mean,
                support,
                answered,
                number_or_none(area),
                number_or_none(average),
                {"precision": wilson_interval(hits, answered), "recall": wilson_interval(hits, support)},
                hits,
            )
            for label, hits, support, answered, of_answers, of_class, mean, area, average in rows
        }

    def _cell_costs(self, cells: ConfusionCells, costs_of: Costs) -> Floats:
        """Return the cost of each document of a cell, shape (n_cells,)."""
        of_abstaining = costs_of.of_abstaining
        table = np.column_stack((np.where(np.isfinite(of_abstaining), of_abstaining, UNPRICED), costs_of.of_answers))
        known = cells.truth < self._n_known
        costs = np.full(cells.truth.size, UNPRICED)
        costs[known] = table[cells.truth[known], cells.answer[known] + 1]
        return costs

    def _confusion(self, everything: Judged) -> dict[str, dict[str, int]]:
        names: dict[str, dict[str, int]] = {}
        for truth, answer, documents in zip(*(column.tolist() for column in confusion_cells(everything)), strict=True):
            names.setdefault(self.classes[truth], {})[self.classes[answer] if answer >= 0 else ""] = documents
        return names


def known_result(known: Judged, n_classes: int) -> KnownResult:
    """Return the main figures of documents whose class the classifier knows."""
    return KnownResult(known.n, *map(number_or_none, (*accuracy_and_macro_f1(known, n_classes), *proper_scores(known).values())))


def accuracy_and_macro_f1(judged: Judged, n_classes: int) -> tuple[float, float]:
    """Return the accuracy and the macro F1 of documents."""
    table = judged.outcomes(n_classes)
    return mean_or_nan(judged.right), float(macro(f1(table), table))


def always_answering(label: int, support: Floats) -> Outcomes:
    """Return the outcomes if every document gets the same answer."""
    answered = np.zeros_like(support)
    answered[label] = support.sum()
    return Outcomes(np.where(answered > 0, support, 0.0), support, answered)


def prior_log_loss(prior: Floats, support: Floats) -> float:
    """Return −Σ_k n_k log π_k / n in nats, the cross-entropy of the classes judged and those of training; inf if one has π_k = 0 or is unknown.

    ``prior`` has shape (n_classes,); ``support``, shape (n_labels,), are the documents judged, labels that the classifier does not know at the end.
    """
    padded = np.zeros_like(support)
    padded[: prior.size] = prior
    occurs = support > 0
    with np.errstate(divide="ignore"):
        return float(-(support[occurs] * np.log(padded[occurs])).sum() / support.sum()) + 0.0  # no −0


def prior_brier(prior: Floats, support: Floats) -> float:
    """Return Σ_l π_l² − 2 Σ_k n_k π_k / n + 1, the mean Brier score (1950) of the probabilities π. Shapes as in `prior_log_loss`."""
    return float((prior**2).sum() - 2 * (support[: prior.size] * prior).sum() / support.sum() + 1)


def probability_result(documents: Judged) -> ProbabilityResult:
    """Return the reliability of the probabilities, and their proper scores."""
    figures = (*proper_scores(documents).values(), mean_or_nan(documents.confidence))
    return ProbabilityResult(reliability(documents), *map(number_or_none, figures))


def reliability(documents: Judged) -> tuple[ReliabilityBin, ...]:
    """Return the `BINS` bins. The most probable class counts, whether it was the answer or not."""
    rows = zip(*(column.tolist() for column in confidence_bins(documents)), strict=True)
    return tuple(
        ReliabilityBin(k / BINS, (k + 1) / BINS, n, *((sure / n, hits / n, wilson_interval(hits, n)) if n else (None, None, None)))
        for k, (n, hits, sure) in enumerate(rows)
    )


def number_or_none(value: float) -> float | None:
    """Return the value, or None in place of infinity and nan, which JSON does not have."""
    return value if np.isfinite(value) else None
