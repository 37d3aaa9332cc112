"""k-fold cross-validation of a corpus that is counted once.

For each fold its documents are subtracted, and all that is learnt (vocabulary limits, selected terms, smoothing, calibration) is learnt
anew from what is left, so that nothing of a document has a part in the model that judges it. Source: T. Hastie, R. Tibshirani,
J. Friedman, The elements of statistical learning (2009), sections 7.10.1 and 7.10.2, the wrong way and the right way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.counts.matrix import CELLS_AT_ONCE
from nbtext.decision import DecisionRule
from nbtext.metrics import outcomes as of_table
from nbtext.metrics.intervals import Bootstrap
from nbtext.model.estimation import classifier, learn, needs_documents, needs_sample
from nbtext.model_selection.held_out import HeldOut, HeldOutBlock
from nbtext.text.analyzer import BLOCK_DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from nbtext.counts.corpus_counts import Subsets
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.metrics.outcomes import Judged
    from nbtext.model.estimation import Learnt
    from nbtext.model_selection.folds import Folds

    Mask = NDArray[np.bool_]
    Whole = NDArray[np.int64]


class FoldFigures(NamedTuple):
    """One fold of one repeat, both numbered from 1."""

    repeat: int
    fold: int
    training_documents: int
    documents: int
    terms: int
    """Selected terms of the model."""
    smoothing: float
    accuracy: float
    macro_f1: float


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What came of it: the documents judged, for each repeat, and the figures of every fold."""

    pooled: HeldOut
    repeats: list[HeldOut]
    folds: list[FoldFigures]

    def summary(self, bootstrap: Bootstrap = Bootstrap()) -> dict[str, Any]:  # noqa: B008 - immutable
        """The summary of `HeldOut`, pooled over folds and repeats, and under ``folds`` mean and standard deviation over folds and each fold.

        A document that is judged in every repeat is still one document, so with repeats the ends of the intervals are means over repeats.
        """
        summaries = [repeat.summary(bootstrap) for repeat in self.repeats]
        pooled = summaries[0]
        if len(summaries) > 1:
            pooled = self.pooled.summary(Bootstrap(0))
            pooled["intervals"] = _mean_intervals([each["intervals"] for each in summaries])
            for label, figures in pooled["per_class"].items():
                figures["intervals"] = _mean_intervals([each["per_class"][label]["intervals"] for each in summaries])
            for number, one_bin in enumerate(pooled["reliability"]):
                ends = [each["reliability"][number]["interval"] for each in summaries]
                one_bin["interval"] = _mean_intervals([{"bin": pair} for pair in ends if pair]).get("bin")
        each_fold = [{**figures._asdict(), "smoothing": float(f"{figures.smoothing:.6g}")} for figures in self.folds]
        spread = {name: _spread([getattr(figures, name) for figures in self.folds]) for name in ("accuracy", "macro_f1")}
        return {**pooled, "folds": {"repeats": len(summaries), "n": len(self.folds) // len(summaries), **spread, "each": each_fold}}


def cross_validate(
    subsets: Subsets,
    parameters: Mapping[str, Any],
    folds_of_repeats: Sequence[Folds],
    rule: DecisionRule = DecisionRule(),  # noqa: B008 - immutable
) -> CrossValidation:
    """Judge the documents of each fold by the model learnt from its training documents, for each repeat.

    Raises `UsageError` if the parameters leave no term, or no class possible, in some fold.
    """
    n_classes = subsets.statistics.n_classes
    repeats = [HeldOut(subsets.statistics, rule) for _ in folds_of_repeats]
    pooled = repeats[0] if len(repeats) == 1 else HeldOut(subsets.statistics, rule)
    figures = []
    for repeat, (folds, held_out) in enumerate(zip(folds_of_repeats, repeats, strict=True), 1):
        for fold, (training, test) in enumerate(folds, 1):
            before = held_out.evaluation.n
            learnt, blocks = train_and_score(subsets, parameters, training, test)
            for block in blocks:
                for pool in {held_out, pooled}:
                    pool.add(block)
            rates = _rates(held_out.evaluation.judged.of(np.arange(before, held_out.evaluation.n)), n_classes)
            sizes = (int(np.count_nonzero(training)), int(np.count_nonzero(test)))
            figures.append(FoldFigures(repeat, fold, *sizes, int(np.count_nonzero(learnt.selected)), learnt.smoothing, *rates))
    return CrossValidation(pooled, repeats, figures)


def train_and_score(subsets: Subsets, parameters: Mapping[str, Any], training: Mask, test: Mask) -> tuple[Learnt, Iterator[HeldOutBlock]]:
    """What is learnt from some documents alone, and what that says of others, a block at a time; both masks of shape (n_docs,).

    The same as training a model on those documents and nothing else. Raises `UsageError` if that does.
    """
    counts = subsets.counts(training, parameters["sample"] if needs_sample(parameters) else 0)
    needed = subsets.documents.rows(np.flatnonzero(training)) if needs_documents(parameters) else None
    learnt = learn(counts, parameters, needed)
    return learnt, _scored(subsets, counts.statistics, learnt, parameters, test)


def _scored(
    subsets: Subsets, statistics: ClassStatistics, learnt: Learnt, parameters: Mapping[str, Any], test: Mask
) -> Iterator[HeldOutBlock]:
    fitted = classifier(statistics, learnt, parameters)
    for rows in blocks_of_rows(np.flatnonzero(test), statistics.n_classes):
        documents = subsets.documents.rows(rows)
        scores, lengths = fitted.joint_log_likelihood(documents.matrix)
        log_posterior = learnt.calibration.log_posterior(fitted.log_scale(scores, lengths), lengths)
        yield HeldOutBlock(rows, documents.classes, log_posterior, statistics.class_documents[documents.classes] > 0)


def blocks_of_rows(rows: Whole, n_classes: int) -> Iterator[Whole]:
    """The rows, as many at a time as may be scored together."""
    step = max(min(BLOCK_DOCUMENTS, CELLS_AT_ONCE // n_classes), 1)
    for begin in range(0, rows.size, step):
        yield rows[begin : begin + step]


def _rates(judged: Judged, n_classes: int) -> tuple[float, float]:
    """Accuracy and macro F1."""
    table = of_table.outcomes(of_table.cells_of(judged), n_classes)
    return float(of_table.accuracy(table)), float(of_table.macro(of_table.f1(table), table))


def _spread(values: Sequence[float]) -> dict[str, float]:
    """Mean and standard deviation (n − 1) of a figure over folds."""
    return {"mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0}


def _mean_intervals(intervals: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, list[float]]:
    """The mean of each end, of the intervals that there are in every repeat."""
    names = [name for name in (intervals[0] if intervals else ()) if all(name in each for each in intervals)]
    return {name: np.mean([each[name] for each in intervals], axis=0).tolist() for name in names}
