"""Which documents a model is tested on, and which it is trained on for that: k folds, stratified, grouped or ordered by time.

Sources: R. Kohavi, A study of cross-validation and bootstrap for accuracy estimation and model selection (1995), for stratified folds;
L. Tashman, Out-of-sample tests of forecasting accuracy (2000), for the origin that rolls on through time.


Documents judged by models that were not trained on them, pooled into one evaluation.

Leave-one-out: every document of a corpus scored by the model of all others, in one pass.

It is exact given which terms are selected, the smoothing and the calibration, which are those learnt from the whole corpus.

k-fold cross-validation of a corpus that is counted once.

For each fold its documents are subtracted, and all that is learnt (vocabulary limits, selected terms, smoothing, calibration) is learnt
anew from what is left, so that nothing of a document has a part in the model that judges it. Source: T. Hastie, R. Tibshirani,
J. Friedman, The elements of statistical learning (2009), sections 7.10.1 and 7.10.2, the wrong way and the right way.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.documents import DocumentSample
from nbtext.counts.matrix import TERM_WEIGHTS_AT_ONCE
from nbtext.decision import DecisionRule
from nbtext.errors import UsageError, quantity
from nbtext.metrics import Evaluation
from nbtext.metrics import outcomes as of_table
from nbtext.metrics.intervals import Bootstrap
from nbtext.model.training import classifier, learn, needs_documents, needs_sample
from nbtext.text.analyzer import BLOCK_DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from nbtext.counts.corpus_counts import Subsets
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.metrics.outcomes import Judged
    from nbtext.model.training import Learnt
    from nbtext.settings import Settings

    Whole = NDArray[np.int64]
    Mask = NDArray[np.bool_]


NEVER_TESTED = -1
"""In place of a fold's number: documents before the first fold, which models are only trained on."""


@dataclass(frozen=True, eq=False)
class Folds:
    """Every document's fold, shape (n_docs,), 0 to n_folds − 1 or `NEVER_TESTED`."""

    numbers: Whole
    n_folds: int
    ordered: bool = False
    """Whether a fold is tested on models of the folds before it only, not of all others."""

    def __iter__(self) -> Iterator[tuple[Mask, Mask]]:
        """For each fold the documents that models are trained on and those that they are tested on, masks of shape (n_docs,)."""
        for fold in range(self.n_folds):
            yield (self.numbers < fold if self.ordered else self.numbers != fold), self.numbers == fold


def stratified_folds(classes: Whole, n_folds: int, generator: np.random.Generator) -> Folds:
    """Folds drawn at random in which every class is spread evenly: sizes of folds differ by 1 at most, in all and in each class.

    Raises `UsageError` if there are fewer documents than folds.
    """
    _check_folds(n_folds, classes.size, "document")
    shuffled = generator.permutation(classes.size)
    dealt = shuffled[np.argsort(classes[shuffled], kind="stable")]
    numbers = np.empty(classes.size, np.int64)
    numbers[dealt] = np.arange(classes.size) % n_folds
    return Folds(numbers, n_folds)


def grouped_folds(groups: Whole, n_folds: int, generator: np.random.Generator) -> Folds:
    """Folds that no group of documents is split by; the largest group first, each goes to the fold with fewest documents so far.

    ``groups`` are numbers from 0, shape (n_docs,); equally large ones come in random order. Raises `UsageError` if there are fewer groups
    than folds.
    """
    sizes = np.bincount(groups)
    _check_folds(n_folds, int(np.count_nonzero(sizes)), "group")
    shuffled = generator.permutation(sizes.size)
    order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    folds = [(0, fold) for fold in range(n_folds)]
    fold_of_group = np.zeros(sizes.size, np.int64)
    for group, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        documents, fold = folds[0]
        heapq.heapreplace(folds, (documents + size, fold))
        fold_of_group[group] = fold
    return Folds(fold_of_group[groups], n_folds)


def ordered_folds(times: NDArray[Any], n_folds: int) -> Folds:
    """Stretches of time of about equally many documents; the first is only trained on, each other is tested on models of all before it.

    ``times`` has shape (n_docs,). Documents of the same time are never on both sides. Raises `UsageError` if there are not at least
    ``n_folds`` + 1 different times.
    """
    distinct, place, sizes = np.unique(times, return_inverse=True, return_counts=True)
    _check_folds(n_folds, distinct.size - 1, "time", " after the first")
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    begins = np.empty(n_folds, np.int64)
    begin = 0
    for fold in range(n_folds):
        wanted = times.size * (fold + 1) / (n_folds + 1)
        nearest = int(np.abs(before - wanted).argmin())
        begin = min(max(nearest, begin + 1), distinct.size - (n_folds - fold))
        begins[fold] = begin
    return Folds(np.searchsorted(begins, place, side="right") + NEVER_TESTED, n_folds, ordered=True)


def times_of(values: Sequence[str], names: Sequence[str]) -> NDArray[Any]:
    """Values of a column in an order of time: numbers if all of them are, else text, as dates and times of ISO 8601 in one zone sort.

    ``names`` are those of the documents. Raises `UsageError` for a document without a value.
    """
    for value, name in zip(values, names, strict=True):
        if not value.strip():
            raise UsageError(f"document {name} has no time", hint="leave it out, or choose another --time-column")
    stripped = [value.strip() for value in values]
    for kind in (int, float):
        try:
            numbers = [kind(value) for value in stripped]
        except ValueError:
            continue
        if all(abs(number) < float("inf") for number in numbers):  # nan is not
            return ranks(numbers)
    return ranks(stripped)


def ranks(values: Sequence[Any]) -> Whole:
    """The place of each value among the distinct ones in ascending order, shape (n,): numbers of groups."""
    place = {value: number for number, value in enumerate(sorted(set(values)))}
    return np.array([place[value] for value in values], np.int64)


def _check_folds(n_folds: int, most: int, noun: str, rest: str = "") -> None:
    if n_folds > most:
        raise UsageError(
            f"there {'is' if most == 1 else 'are'} only {quantity(most, noun)}{rest}, too few for {quantity(n_folds, 'fold')}",
            hint="lower --folds",
        )


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


def left_out(statistics: ClassStatistics, documents: CountedDocuments, parameters: Settings) -> Iterator[HeldOutBlock]:
    """All documents of a corpus, in order, a block at a time. Raises `UsageError` if the parameters leave no term or no class possible."""
    needed = documents if needs_documents(parameters) else None
    learnt = learn(CorpusCounts(statistics, DocumentSample.of(documents, parameters["sample"])), parameters, needed)
    fitted = classifier(statistics, learnt, parameters)
    for rows in blocks_of_rows(np.arange(len(documents)), statistics.n_classes):
        block = documents.rows(rows)
        scores, lengths, _, _ = fitted.leave_one_out(block)
        log_posterior = learnt.calibration.log_posterior(fitted.log_scale(scores, lengths), lengths)
        yield HeldOutBlock(rows, block.classes, log_posterior, statistics.class_documents[block.classes] > 1)


def leave_one_out(
    statistics: ClassStatistics,
    documents: CountedDocuments,
    parameters: Settings,
    rule: DecisionRule = DecisionRule(),  # noqa: B008 - immutable
) -> HeldOut:
    """Judge every document by the model of all others; raises as `left_out`."""
    held_out = HeldOut(statistics, rule)
    for block in left_out(statistics, documents, parameters):
        held_out.add(block)
    return held_out


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
    parameters: Settings,
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


def train_and_score(subsets: Subsets, parameters: Settings, training: Mask, test: Mask) -> tuple[Learnt, Iterator[HeldOutBlock]]:
    """What is learnt from some documents alone, and what that says of others, a block at a time; both masks of shape (n_docs,).

    The same as training a model on those documents and nothing else. Raises `UsageError` if that does.
    """
    counts = subsets.counts(training, parameters["sample"] if needs_sample(parameters) else 0)
    needed = subsets.documents.rows(np.flatnonzero(training)) if needs_documents(parameters) else None
    learnt = learn(counts, parameters, needed)
    return learnt, _scored(subsets, counts.statistics, learnt, parameters, test)


def _scored(subsets: Subsets, statistics: ClassStatistics, learnt: Learnt, parameters: Settings, test: Mask) -> Iterator[HeldOutBlock]:
    fitted = classifier(statistics, learnt, parameters)
    for rows in blocks_of_rows(np.flatnonzero(test), statistics.n_classes):
        documents = subsets.documents.rows(rows)
        scores, lengths = fitted.joint_log_likelihood(documents.matrix)
        log_posterior = learnt.calibration.log_posterior(fitted.log_scale(scores, lengths), lengths)
        yield HeldOutBlock(rows, documents.classes, log_posterior, statistics.class_documents[documents.classes] > 0)


def blocks_of_rows(rows: Whole, n_classes: int) -> Iterator[Whole]:
    """The rows, as many at a time as may be scored together."""
    step = max(min(BLOCK_DOCUMENTS, TERM_WEIGHTS_AT_ONCE // n_classes), 1)
    for begin in range(0, rows.size, step):
        yield rows[begin : begin + step]


def _rates(judged: Judged, n_classes: int) -> tuple[float, float]:
    """Accuracy and macro F1."""
    table = of_table.outcomes(of_table.confusion_cells(judged), n_classes)
    return float(of_table.accuracy(table)), float(of_table.macro(of_table.f1(table), table))


def _spread(values: Sequence[float]) -> dict[str, float]:
    """Mean and standard deviation (n − 1) of a figure over folds."""
    return {"mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0}


def _mean_intervals(intervals: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, list[float]]:
    """The mean of each end, of the intervals that there are in every repeat."""
    names = [name for name in (intervals[0] if intervals else ()) if all(name in each for each in intervals)]
    return {name: np.mean([each[name] for each in intervals], axis=0).tolist() for name in names}


def divided(method: str, n_folds: int, seed: int, repeats: int, classes: Whole, values: Sequence[str], names: Sequence[str]) -> list[Folds]:
    """Return the folds of each repeat: ``stratified`` by class, ``grouped`` by the values of a column, or stretches of ``time`` by these, once.

    ``classes``, ``values`` and ``names`` are those of the documents; ``stratified`` needs no values. Raises `UsageError` as the functions for each method.
    """
    if method == "time":
        return [ordered_folds(times_of(values, names), n_folds)]
    generators = np.random.default_rng(seed).spawn(repeats)
    if method == "grouped":
        groups = ranks(values)
        return [grouped_folds(groups, n_folds, generator) for generator in generators]
    return [stratified_folds(classes, n_folds, generator) for generator in generators]
