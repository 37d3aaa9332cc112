"""Documents judged by models that were not trained on them, pooled into one evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.decision import DecisionRule
from nbtext.metrics import Evaluation
from nbtext.metrics.intervals import Bootstrap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.statistics import ClassStatistics


class HeldOutBlock(NamedTuple):
    """Some documents, each with what a model says of it that was trained without it."""

    rows: NDArray[np.int64]
    """Their numbers in the corpus, shape (n_docs,)."""
    classes: NDArray[np.int64]
    """Their classes, shape (n_docs,)."""
    log_posterior: NDArray[np.float64]
    """log p(C_k | d), shape (n_docs, n_classes), in nats; a row of nan where no class is possible."""
    known: NDArray[np.bool_]
    """Whether their class had documents in training, shape (n_docs,)."""


class Prediction(NamedTuple):
    """The answer to a document, by numbers of classes; none is `NO_ANSWER`."""

    row: int
    truth: int
    answer: int
    probability: float
    """Of the best answer, given or not; nan where no class is possible."""


class HeldOut:
    """Judges documents of a corpus under a rule of decision; the classes are those of the whole corpus.

    A document whose class had no other documents in training has a label that its model does not know, and counts as such: its answer is
    a mistake, the log loss is infinite, and ``known`` in the summary is without it.
    """

    def __init__(self, statistics: ClassStatistics, rule: DecisionRule = DecisionRule()) -> None:  # noqa: B008 - immutable
        self._classes = statistics.classes
        self._rule = rule
        self._unknown = np.zeros(statistics.n_classes, np.int64)
        self._rows: list[NDArray[np.int64]] = []
        self._probabilities: list[NDArray[np.float64]] = []
        self._of_known = Evaluation(statistics.classes, scores_kept=0)
        self.evaluation = Evaluation(statistics.classes, costs=rule.costs, class_documents=statistics.class_documents)

    def add(self, block: HeldOutBlock) -> None:
        """Judge documents. One that is impossible in every class has no answer and counts as if all classes were equally probable."""
        answers, probabilities, _ = self._rule.decide(block.log_posterior)
        self._rows.append(block.rows)
        self._probabilities.append(probabilities)
        impossible = np.isnan(block.log_posterior[:, :1])
        posterior = np.where(impossible, -np.log(len(self._classes)), block.log_posterior)
        known = block.known
        self.evaluation.add(self._labels(block.classes), posterior, answers)
        self._of_known.add(self._labels(block.classes[known]), posterior[known], answers[known])
        self._unknown += np.bincount(block.classes[~known], minlength=self._unknown.size)

    def summary(self, bootstrap: Bootstrap = Bootstrap()) -> dict[str, Any]:  # noqa: B008 - immutable
        """As `Evaluation.summary` gives it; ``unknown_documents`` are those of a class without training documents."""
        made = self.evaluation.summary(bootstrap)
        unknown = {self._classes[k]: int(self._unknown[k]) for k in np.flatnonzero(self._unknown).tolist()}
        if unknown:
            made["known"] = self._of_known.summary(Bootstrap(0))["known"]
        return {**made, "unknown_labels": list(unknown), "unknown_documents": unknown}

    def predictions(self) -> list[Prediction]:
        """The answers to all documents judged, in the order of the corpus."""
        rows, probabilities, judged = np.concatenate(self._rows), np.concatenate(self._probabilities), self.evaluation.judged
        order = np.argsort(rows, kind="stable")
        columns = (rows, judged.truth, judged.answer, probabilities)
        return [Prediction(*values) for values in zip(*(column[order].tolist() for column in columns), strict=True)]

    def _labels(self, classes: NDArray[np.int64]) -> list[str]:
        return [self._classes[k] for k in classes.tolist()]
