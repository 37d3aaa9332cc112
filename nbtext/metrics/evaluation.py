"""The same figures for parts of the documents: those that have the same value in a column.

`Evaluation`: judges documents as they come and gives all figures in the end.

Of each document 36 bytes are kept (`nbtext.metrics.outcomes`), and the scores of ranking while they are few (`nbtext.metrics.ranking`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.errors import UsageError
from nbtext.metrics import outcomes as of_table
from nbtext.metrics.baselines import baselines
from nbtext.metrics.intervals import Bootstrap, percentile_interval, replicated_rates, replicated_scores, wilson_interval
from nbtext.metrics.outcomes import TOP, Judged, confusion_cells, f1, join_judged, judge_documents, macro, outcomes
from nbtext.metrics.ranking import SCORES_KEPT, KeptScores, RankingFigures
from nbtext.metrics.reliability import BINS, Reliability, expected_calibration_error, reliability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.decision import Costs
    from nbtext.metrics.outcomes import ConfusionCells, Judged, Outcomes


MOST_VALUES = 1000
"""Different values of a column; one with more names documents rather than parts of them."""


class Slices:
    """Which documents have which value in each of some columns."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._numbers: tuple[dict[str, int], ...] = tuple({} for _ in columns)
        self._values: tuple[list[int], ...] = tuple([] for _ in columns)

    def add(self, rows: Sequence[Sequence[str]]) -> None:
        """Note the values of each document, one for each column, in order. Raises `UsageError` if a column has too many."""
        for place, (name, numbers, values) in enumerate(zip(self.columns, self._numbers, self._values, strict=True)):
            values.extend(numbers.setdefault(row[place], len(numbers)) for row in rows)
            if len(numbers) > MOST_VALUES:
                raise UsageError(f"column {name} has more than {MOST_VALUES:,} values", hint="choose one that many documents share")

    def summary(self, judged: Judged, n_labels: int) -> dict[str, dict[str, dict[str, Any]]]:
        """By column, then by value in alphabetical order: documents, accuracy with its interval, macro F1 and calibration error."""
        found = {}
        for name, numbers, values in zip(self.columns, self._numbers, self._values, strict=True):
            of_documents = np.array(values, np.int64)
            order = np.argsort(of_documents, kind="stable")
            bounds = np.searchsorted(of_documents[order], np.arange(len(numbers) + 1))
            found[name] = {
                value: slice_figures(judged.of(order[bounds[number] : bounds[number + 1]]), n_labels)
                for value, number in sorted(numbers.items())
            }
        return found


def slice_figures(judged: Judged, n_labels: int) -> dict[str, Any]:
    """The figures of some documents, one at least."""
    table = outcomes(confusion_cells(judged), n_labels)
    hits = int(table.hits.sum())
    return {
        "n": judged.n,
        "accuracy": hits / judged.n,
        "interval": list(wilson_interval(hits, judged.n)),
        "macro_f1": float(macro(f1(table), table)),
        "ece": expected_calibration_error(reliability(judged)),
    }


UNPRICED = 1.0
"""Cost of a mistake for which the costs have no number: an answer or none to a label that the classifier does not know, and no answer
where the costs know no abstaining."""


class Evaluation:
    """Judges the answers of a classifier with the given classes.

    Labels that it does not know become classes of their own, of which no document can be answered rightly: they count in the accuracy, and
    each as a class with F1 = 0 in the macro averages. The log loss with them is infinite; what it is without them stands in ``known``.
    A document without an answer counts as not found: it lowers accuracy and recall, not precision. Log loss, Brier score, calibration,
    top-k and ranking judge the probabilities, whatever was answered.

    ``costs`` give a mean cost; ``class_documents``, shape (n_classes,), of training give baselines; ``by`` names columns to slice by.
    """

    def __init__(
        self,
        classes: Sequence[str],
        *,
        costs: Costs | None = None,
        class_documents: NDArray[np.int64] | None = None,
        by: Sequence[str] = (),
        scores_kept: int = SCORES_KEPT,
    ) -> None:
        self.classes = list(classes)
        self._number = {label: number for number, label in enumerate(self.classes)}
        self._n_known = len(self.classes)
        self._costs = costs
        self._class_documents = class_documents
        self._slices = Slices(by)
        self._scores = KeptScores(self._n_known, scores_kept)
        self._parts: list[Judged] = []

    def add(
        self,
        labels: Sequence[str],
        log_posterior: NDArray[np.float64],
        answers: NDArray[np.int64] | None = None,
        columns: Sequence[Sequence[str]] = (),
    ) -> None:
        """Judge documents by their true labels and log p(C_k | d), shape (n_docs, n_classes), in nats, no row of nan.

        ``answers``, shape (n_docs,), are class numbers, negative where there is none; by default the most probable class, the first of
        equals. ``columns`` has for each document its values in the columns of ``by``. The arrays are kept and must not change.
        """
        for label in labels:
            if label not in self._number:
                self._number[label] = len(self.classes)
                self.classes.append(label)
        truth = np.array([self._number[label] for label in labels], np.int64)
        self._parts.append(judge_documents(truth, log_posterior.argmax(axis=1) if answers is None else answers, log_posterior))
        self._scores.add(log_posterior)
        self._slices.add(columns)

    @property
    def n(self) -> int:
        """Documents judged."""
        return sum(part.n for part in self._parts)

    @property
    def unknown_labels(self) -> list[str]:
        """Labels that occurred and that the classifier does not know: it cannot be right about them."""
        return self.classes[self._n_known :]

    @property
    def ranked(self) -> bool:
        """Whether scores were few enough for areas under ROC curves and average precisions."""
        return self._scores.complete

    @property
    def judged(self) -> Judged:
        """What is kept of each document, in order."""
        self._parts = [join_judged(self._parts)]
        return self._parts[0]

    def confusion(self) -> dict[str, dict[str, int]]:
        """Documents by true class and answer, in the order of `classes`, without those that did not occur; no answer is the empty text."""
        return self._named(of_table.confusion_cells(self.judged))

    def summary(self, bootstrap: Bootstrap = Bootstrap()) -> dict[str, Any]:  # noqa: B008 - immutable
        """All figures as plain values. One that is infinite or that there is not is None: an impossible class was the true one, no documents.

        ``intervals`` are Wilson's for shares; the others are bootstrapped, unless ``bootstrap`` has no replicates.
        """
        everything = self.judged
        cells = of_table.confusion_cells(everything)
        table = of_table.outcomes(cells, len(self.classes))
        ranking = self._scores.figures(everything.truth)
        bins = reliability(everything)
        figures = self._figures(everything, cells, table, ranking)
        return {
            "n": everything.n,
            **{name: _finite(value) for name, value in figures.items()},
            "intervals": self._intervals(figures, everything, cells, bootstrap),
            "baselines": self._baselines(table.support),
            "reliability": [_bin(bins, number) for number in range(BINS)],
            "per_class": self._per_class(table, ranking),
            "classes": list(self.classes),
            "confusion": self._named(cells),
            "unknown_labels": self.unknown_labels,
            "unknown_documents": dict(zip(self.unknown_labels, table.support[self._n_known :].astype(int).tolist(), strict=True)),
            "known": self._known(everything),
            **({"slices": self._slices.summary(everything, len(self.classes))} if self._slices.columns else {}),
        }

    def _figures(self, everything: Judged, cells: ConfusionCells, table: Outcomes, ranking: RankingFigures) -> dict[str, float]:
        answered = table.answered.sum()
        made = {
            **{name: float(value) for name, value in of_table.rates(table).items()},
            **proper_scores(everything),
            **{f"top_{k}_accuracy": _mean(everything.rank < k) for k in TOP if k < self._n_known},
            **{f"macro_{name}": _mean(values[np.isfinite(values)]) for name, values in ranking._asdict().items()},
            "coverage": float(of_table.coverage(table)),
            "answered_accuracy": float(table.hits.sum() / answered) if answered else np.nan,
        }
        if self._costs is not None:
            made["mean_cost"] = float((self._cell_costs(cells) * cells.documents).sum()) / (everything.n or np.nan)
        return made if everything.n else dict.fromkeys(made, np.nan)

    def _intervals(
        self, figures: dict[str, float], everything: Judged, cells: ConfusionCells, bootstrap: Bootstrap
    ) -> dict[str, list[float]]:
        n = everything.n
        found = {"accuracy": list(wilson_interval(int(cells.documents[cells.truth == cells.answer].sum()), n))}
        if not n:
            return found
        answered = int(cells.documents[cells.answer >= 0].sum())
        hits = int(cells.documents[cells.truth == cells.answer].sum())
        found["micro_recall"] = found["accuracy"]
        found["coverage"] = list(wilson_interval(answered, n))
        found["answered_accuracy"] = found["micro_precision"] = list(wilson_interval(hits, answered))
        for name in (name for name in figures if name.startswith("top_")):
            found[name] = list(wilson_interval(round(figures[name] * n), n))
        if bootstrap.replicates:
            costs = None if self._costs is None else self._cell_costs(cells)
            replicates = {**replicated_rates(cells, costs, bootstrap), **replicated_scores(everything, bootstrap)}
            for name, figure in figures.items():
                if name in replicates and name not in found:
                    found[name] = list(percentile_interval(replicates[name], figure))
        if answered == n:
            found["micro_f1"] = found["accuracy"]
        return found

    def _per_class(self, table: Outcomes, ranking: RankingFigures) -> dict[str, dict[str, Any]]:
        columns = (of_table.precision(table), of_table.recall(table), of_table.f1(table), *table)
        padded = (np.append(values, np.full(len(self.unknown_labels), np.nan)) for values in ranking)
        rows = zip(self.classes, *(column.tolist() for column in (*columns, *padded)), strict=True)
        return {
            label: {
                "precision": precision,
                "recall": recall,
                "f1": f1,
                "support": int(support),
                "answered": int(answered),
                "roc_auc": _finite(area),
                "average_precision": _finite(average),
                "intervals": {
                    "precision": list(wilson_interval(int(hits), int(answered))),
                    "recall": list(wilson_interval(int(hits), int(support))),
                },
            }
            for label, precision, recall, f1, hits, support, answered, area, average in rows
        }

    def _known(self, everything: Judged) -> dict[str, Any]:
        """The main figures over the documents whose class the classifier knows."""
        known = everything.of(everything.truth < self._n_known)
        table = of_table.outcomes(of_table.confusion_cells(known), self._n_known)
        figures = {
            "accuracy": float(of_table.accuracy(table)),
            "macro_f1": float(of_table.macro(of_table.f1(table), table)),
            **proper_scores(known),
        }
        return {"n": known.n, **{name: _finite(value) for name, value in figures.items()}}

    def _baselines(self, support: NDArray[np.float64]) -> dict[str, Any] | None:
        if self._class_documents is None or not support.sum():
            return None
        found = baselines(self.classes, self._class_documents, support)
        return {
            name: {key: _finite(value) if isinstance(value, float) else value for key, value in figures.items()}
            for name, figures in found.items()
        }

    def _cell_costs(self, cells: ConfusionCells) -> NDArray[np.float64]:
        """What each document of a cell cost, shape (n_cells,)."""
        assert self._costs is not None  # noqa: S101 - asked for only where there are
        of_abstaining = self._costs.of_abstaining
        table = np.column_stack((np.where(np.isfinite(of_abstaining), of_abstaining, UNPRICED), self._costs.of_answers))
        known = cells.truth < self._n_known
        costs = np.full(cells.truth.size, UNPRICED)
        costs[known] = table[cells.truth[known], cells.answer[known] + 1]
        return costs

    def _named(self, cells: ConfusionCells) -> dict[str, dict[str, int]]:
        names: dict[str, dict[str, int]] = {}
        for truth, answer, documents in zip(*(column.tolist() for column in cells), strict=True):
            names.setdefault(self.classes[truth], {})[self.classes[answer] if answer >= 0 else ""] = documents
        return names


def proper_scores(documents: Judged) -> dict[str, float]:
    """Means over documents of log loss (nats) and Brier score, and the calibration error; nan of no documents."""
    return {
        "log_loss": _mean(documents.log_loss),
        "brier": _mean(documents.brier),
        "ece": expected_calibration_error(reliability(documents)),
    }


def _bin(bins: Reliability, number: int) -> dict[str, Any]:
    documents = int(bins.documents[number])
    right = round(documents * bins.accuracy[number]) if documents else 0
    return {
        "low": number / BINS,
        "high": (number + 1) / BINS,
        "documents": documents,
        "confidence": _finite(float(bins.confidence[number])),
        "accuracy": _finite(float(bins.accuracy[number])),
        "interval": list(wilson_interval(right, documents)) if documents else None,
    }


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    return float(values.mean()) if values.size else np.nan


def _finite(value: float) -> float | None:
    """JSON has neither infinity nor what is no number."""
    return value if np.isfinite(value) else None
