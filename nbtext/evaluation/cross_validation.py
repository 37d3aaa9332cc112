"""Judge models of a corpus on documents that they were not trained on: by k folds, or by leaving out one document at a time.

The corpus is counted once. For each fold its documents are subtracted, and all that is learnt (vocabulary limits, selected terms, smoothing,
calibration) is learnt anew from what is left. Only the choices of ``auto`` (`nbtext.model.auto_settings`) are made once, from documents left out one by one. Leave-one-out is one pass; it is
exact given the selected terms, the smoothing and the calibration, which are learnt from the whole corpus.

Sources: R. Kohavi, A study of cross-validation and bootstrap for accuracy estimation and model selection (1995), for stratified folds;
L. Tashman, Out-of-sample tests of forecasting accuracy (2000), for folds by time; T. Hastie, R. Tibshirani, J. Friedman, The elements of
statistical learning (2009), sections 7.10.1 and 7.10.2, for choosing terms inside each fold.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.classifiers.base import compute_declared_prior
from nbtext.compatibility import (
    LEAVE_ONE_OUT_EVALUATION,
    needs_documents,
    require_compatible_settings,
)
from nbtext.counts.corpus_counts import CorpusCounts, Subsets
from nbtext.counts.documents import CountedDocuments, DocumentSample
from nbtext.counts.matrix import MAX_BLOCK_TERM_WEIGHTS, iter_blocks
from nbtext.counts.statistics import build_count_weights, estimate_statistics
from nbtext.errors import UsageError, format_quantity
from nbtext.fitted_model import Choices, FittedParameters, restore_classifier
from nbtext.metrics.evaluation import (
    compute_accuracy_and_macro_f1,
    make_evaluation,
    summarize_known_documents,
)
from nbtext.metrics.intervals import Bootstrap, Interval
from nbtext.metrics.ranking import MAX_RANKING_SCORES
from nbtext.metrics.results import JSON_UNLESS_EMPTY, EvaluationResult, to_json_values
from nbtext.model.auto_settings import has_auto_settings
from nbtext.model.training import fit_parameters, needs_sample, resolve_auto_settings
from nbtext.parallel.processes import run_in_order
from nbtext.prediction.rule import DecisionRule
from nbtext.progress import track_progress
from nbtext.ragged import BLOCK_DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nbtext.counts.count_table import CountTable
    from nbtext.model.parallel_corpus import CountedCorpus
    from nbtext.prediction.labels import DocumentLabels
    from nbtext.prediction.posterior import Posterior
    from nbtext.settings import Settings
    from nbtext.type_names import Floats, Ints, Mask, Names, ParsedJson

MIN_PARALLEL_ENTRIES = 1 << 22
"""Entries of the document-term matrix times folds, or probabilities; with fewer, folds take less time than the start of processes saves."""

NEVER_TESTED = -1
"""In place of a fold's number: documents before the first fold, which only train models."""


@dataclass(frozen=True, eq=False)
class Folds:
    """The fold of every document, shape (n_docs,), 0 to n_folds − 1 or `NEVER_TESTED`."""

    fold_indices: Ints
    n_folds: int
    is_ordered: bool = False
    """A fold is tested on models of the folds before it only, not of all others."""

    def __iter__(self) -> Iterator[tuple[Mask, Mask]]:
        """Yield the `masks` of each fold."""
        return map(self.get_masks, range(self.n_folds))

    def get_masks(self, fold: int) -> tuple[Mask, Mask]:
        """Return the training documents and the test documents of a fold, masks of shape (n_docs,)."""
        return (
            self.fold_indices < fold if self.is_ordered else self.fold_indices != fold
        ), self.fold_indices == fold


def shuffle_by_class(classes: Ints, generator: np.random.Generator) -> Ints:
    """Return the numbers of documents class by class, in random order within each, shape (n_docs,)."""
    shuffled = generator.permutation(classes.size)
    return shuffled[np.argsort(classes[shuffled], kind="stable")]


def draw_stratified_folds(classes: Ints, n_folds: int, generator: np.random.Generator) -> Folds:
    """Draw folds that spread every class evenly: sizes of folds differ by at most 1, in total and in each class.

    Raise `UsageError` if there are fewer documents than folds.
    """
    _check_folds(n_folds, classes.size, "document")
    numbers = np.empty(classes.size, np.int64)
    numbers[shuffle_by_class(classes, generator)] = np.arange(classes.size) % n_folds
    return Folds(numbers, n_folds)


def draw_grouped_folds(groups: Ints, n_folds: int, generator: np.random.Generator) -> Folds:
    """Draw folds that split no group of documents: the largest group first, each goes to the fold with fewest documents so far.

    ``groups`` are numbers from 0, shape (n_docs,); equally large ones come in random order. Raise `UsageError` if there are fewer groups
    than folds.
    """
    sizes = np.bincount(groups)
    _check_folds(n_folds, int(np.count_nonzero(sizes)), "group")
    shuffled = generator.permutation(sizes.size)
    order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    folds = [(0, fold) for fold in range(n_folds)]
    fold_of_group = np.zeros(sizes.size, np.int64)
    for group, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        documents, fold_of_group[group] = folds[0]
        heapq.heapreplace(folds, (documents + size, folds[0][1]))
    return Folds(fold_of_group[groups], n_folds)


def make_ordered_folds(times: Ints | Floats, n_folds: int) -> Folds:
    """Divide documents into periods of about equal size: the first only trains models, each other is tested on models of all before it.

    ``times`` has shape (n_docs,). Documents of the same time are never on both sides. Raise `UsageError` if there are not at least
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
        begins[fold] = begin = min(max(nearest, begin + 1), distinct.size - (n_folds - fold))
    return Folds(
        np.searchsorted(begins, place, side="right") + NEVER_TESTED, n_folds, is_ordered=True
    )


def _rank_times(values: Sequence[str], names: Names) -> Ints:
    """Return the rank in time of each value of a column: as numbers if all of them are, else as text, as ISO 8601 dates and times in one zone sort.

    ``names`` are those of the documents. Raise `UsageError` for a document without a value.
    """
    for value, name in zip(values, names, strict=True):
        if not value.strip():
            raise UsageError(
                f"document {name} has no time", hint="leave it out, or choose another --time-column"
            )
    stripped = [value.strip() for value in values]
    for kind in (int, float):
        try:
            numbers = [kind(value) for value in stripped]
        except ValueError:
            continue
        if all(abs(number) < inf for number in numbers):  # nan is not
            return rank_values(numbers)
    return rank_values(stripped)


def rank_values(values: Sequence[str] | Sequence[float]) -> Ints:
    """Return the place of each value among the distinct ones in ascending order, shape (n,)."""
    return np.unique(np.array(values, object), return_inverse=True)[1]


def _check_folds(n_folds: int, most: int, noun: str, rest: str = "") -> None:
    if n_folds > most:
        raise UsageError(
            f"there {'is' if most == 1 else 'are'} only {format_quantity(most, noun)}{rest}, too few for "
            f"{format_quantity(n_folds, 'fold')}",
            hint="lower --folds",
        )


class HeldOutBlock(NamedTuple):
    """Documents scored by a model that was trained without them."""

    rows: Ints
    """Their numbers in the corpus, shape (n_docs,)."""
    truth: DocumentLabels
    posterior: Posterior
    has_known_label: Mask
    """Their labels had documents in training, shape (n_docs,)."""


class Prediction(NamedTuple):
    """The labels that a document has and gets."""

    row: int
    truth: tuple[str, ...]
    predicted: tuple[str, ...]
    """Empty where no class was predicted."""
    probability: float
    """Of the best answer, given or not; nan where no class is possible."""


class HeldOutEvaluation:
    """Judge held-out documents of a corpus under a decision rule; the classes are those of the whole corpus.

    A document whose class had no other documents in training counts as one with an unknown label: its answer is a mistake, its log loss is
    infinite, and ``known`` in the result is without it.
    """

    def __init__(
        self,
        table: CountTable,
        rule: DecisionRule = DecisionRule(),
        blocks: Iterable[HeldOutBlock] = (),
        max_scores: int = MAX_RANKING_SCORES,
        settings: Settings | None = None,
    ) -> None:
        """Begin with the documents of some blocks. ``settings`` are those of the models."""
        self._rule = rule
        self._parts: list[tuple[Ints, Mask, Floats]] = []
        """The number in the corpus of each document judged, whether its class had others in training, and the probability of its answer."""
        prior = (
            None
            if settings is None
            else compute_declared_prior(
                settings, estimate_statistics(table, build_count_weights(table, settings))
            )
        )
        self.evaluation = make_evaluation(table, rule.costs, max_scores=max_scores, prior=prior)
        for block in blocks:
            self.add(block)

    @property
    def rows(self) -> Ints:
        """The number in the corpus of each document judged, shape (n_docs,)."""
        return np.concatenate([rows for rows, *_ in self._parts])

    @property
    def has_known_label(self) -> Mask:
        """The documents whose class had others in training, shape (n_docs,)."""
        return np.concatenate([known for _, known, _ in self._parts])

    def add(self, block: HeldOutBlock) -> None:
        """Judge documents."""
        probabilities = block.posterior.decide(self._rule).probabilities
        self._parts.append((block.rows, block.has_known_label, probabilities))
        self.evaluation.add_indexed(
            block.truth, block.posterior, block.posterior.predict(self._rule)
        )

    def merge(self, other: HeldOutEvaluation) -> None:
        """Add the documents that another one of the same corpus judged."""
        self._parts += other._parts
        self.evaluation.merge(other.evaluation)

    def result(self, bootstrap: Bootstrap = Bootstrap()) -> EvaluationResult:
        """Return the figures; ``unknown_documents`` are those of a class without training documents."""
        result = self.evaluation.result(bootstrap)
        judged = self.evaluation.documents
        known = self.has_known_label
        unknown = self.evaluation.count_lost_class_documents(known)
        return replace(
            result,
            known=summarize_known_documents(judged.take(known)),
            unknown_labels=tuple(unknown),
            unknown_documents=unknown,
        )

    def to_predictions(self) -> list[Prediction]:
        """Return the answers to all documents, in the order of the corpus."""
        probabilities = np.concatenate([part for *_, part in self._parts])
        judged = self.evaluation.documents
        order = np.argsort(self.rows, kind="stable")
        truth = judged.truth[order].to_names(self.evaluation.classes)
        answers = judged.predicted[order].to_names(self.evaluation.classes)
        columns = zip(
            self.rows[order].tolist(), truth, answers, probabilities[order].tolist(), strict=True
        )
        return [Prediction(*values) for values in columns]


def score_leave_one_out(
    table: CountTable, documents: CountedDocuments, parameters: Settings
) -> Iterator[HeldOutBlock]:
    """Score every document by the model of all others, in order, a block at a time.

    Raise `UsageError` if no term or no class is left, or settings exclude it.
    """
    require_compatible_settings(parameters, LEAVE_ONE_OUT_EVALUATION)
    needed = documents if needs_documents(parameters) else None
    learnt = fit_parameters(
        CorpusCounts(table, DocumentSample.from_documents(documents, parameters["sample"])),
        parameters,
        needed,
    )
    return _scored(table, learnt, parameters, documents, None)


def evaluate_leave_one_out(
    table: CountTable,
    documents: CountedDocuments,
    parameters: Settings,
    rule: DecisionRule = DecisionRule(),
) -> HeldOutEvaluation:
    """Judge every document by the model of all others; raise as `score_leave_one_out`."""
    return HeldOutEvaluation(
        table, rule, score_leave_one_out(table, documents, parameters), settings=parameters
    )


def choose_corpus_settings(subsets: Subsets, parameters: Settings) -> Choices:
    """Choose for ``auto`` once, on all documents; choosing in each fold would double the time of cross-validation."""
    size = parameters.sample if has_auto_settings(parameters) else 0
    documents = subsets.documents if needs_documents(parameters) else None
    return resolve_auto_settings(
        CorpusCounts(subsets.table, DocumentSample.from_documents(subsets.documents, size)),
        parameters,
        documents,
    )


def train_and_score(
    subsets: Subsets,
    parameters: Settings,
    training: Mask,
    test: Mask,
    choices: Choices | None = None,
) -> tuple[FittedParameters, Iterator[HeldOutBlock]]:
    """Learn from the training documents alone, and score the test documents, a block at a time; both masks of shape (n_docs,).

    Without ``choices`` the same as training a model on those documents and nothing else. Raise `UsageError` if that does.
    """
    if parameters.needs_log_sums:
        subsets = subsets.with_log_sums()
    counts = subsets.select_counts(
        training, parameters["sample"] if needs_sample(parameters, choices) else 0
    )
    needed = (
        subsets.documents.take(np.flatnonzero(training)) if needs_documents(parameters) else None
    )
    learnt = fit_parameters(counts, parameters, needed, choices)
    return learnt, _scored(
        counts.table, learnt, parameters, subsets.documents, np.flatnonzero(test)
    )


def _scored(
    table: CountTable,
    learnt: FittedParameters,
    parameters: Settings,
    documents: CountedDocuments,
    test: Ints | None,
) -> Iterator[HeldOutBlock]:
    """Score the documents ``test`` by a model of others, or without ``test`` each one by the model of all others."""
    fitted = restore_classifier(estimate_statistics(table, learnt.weights), learnt, parameters)
    n_classes = table.n_classes
    tested = np.arange(len(documents)) if test is None else test
    for rows in iter_blocks(
        tested, n_classes, min(BLOCK_DOCUMENTS * n_classes, MAX_BLOCK_TERM_WEIGHTS)
    ):
        block = documents.take(rows)
        if test is None:
            scores, lengths = fitted.leave_one_out(block)[:2]
        else:
            scores, lengths = fitted.joint_log_likelihood(block.matrix)
        posterior = fitted.training.statistics.posterior_type(
            learnt.calibration.compute_log_posterior(fitted.to_log_scale(scores, lengths), lengths)
        )
        n_labels = posterior.logs.shape[1]
        truth = block.to_document_labels(n_labels)
        own = block.fill_weights(table.unit) if test is None else np.zeros(len(block))
        of_labels = table.class_documents[-n_labels:]  # without the reserved one
        holders, labels = truth.to_pairs()
        known = np.ones(len(block), np.bool_)
        known[holders[of_labels[labels] <= own[holders]]] = False
        yield HeldOutBlock(rows, truth, posterior, known)


@dataclass(frozen=True)
class FoldMetrics:
    """One fold of one repeat, both numbered from 1."""

    repeat: int
    fold: int
    training_documents: int
    documents: int
    terms: int
    """Selected terms of the model."""
    smoothing: float
    """With six digits."""
    accuracy: float
    macro_f1: float


class _FoldSpread(NamedTuple):
    """Mean and standard deviation (n − 1) of a figure over folds."""

    mean: float
    sd: float


@dataclass(frozen=True)
class FoldsResult:
    """The division of a corpus, and the figures of each fold."""

    method: str | None = field(metadata=JSON_UNLESS_EMPTY)
    column: str | None = field(metadata=JSON_UNLESS_EMPTY)
    """Of groups or times."""
    seed: int | None = field(metadata=JSON_UNLESS_EMPTY)
    repeats: int
    n: int
    """Folds of one repeat."""
    accuracy: _FoldSpread
    macro_f1: _FoldSpread
    each: tuple[FoldMetrics, ...]


@dataclass(frozen=True, eq=False)
class _CrossValidation:
    """The documents judged, pooled and for each repeat, and the figures of every fold."""

    pooled: HeldOutEvaluation
    repeats: list[HeldOutEvaluation]
    folds: list[FoldMetrics]

    def summary(self, bootstrap: Bootstrap = Bootstrap()) -> dict[str, ParsedJson]:
        """Return `result` as JSON has it, with `folds_result` under ``folds``."""
        return {
            **to_json_values(self.result(bootstrap)),
            "folds": to_json_values(self.folds_result()),
        }

    def result(self, bootstrap: Bootstrap = Bootstrap()) -> EvaluationResult:
        """Return the figures pooled over folds and repeats.

        A document that is judged in every repeat is still one document, so with repeats the ends of the intervals are means over repeats.
        """
        results = [repeat.result(bootstrap) for repeat in self.repeats]
        if len(results) == 1:
            return results[0]
        pooled = self.pooled.result(Bootstrap(0))
        per_class = {
            label: replace(
                figures,
                intervals=_mean_intervals(
                    [result.per_class[label].intervals for result in results]
                ),
            )
            for label, figures in pooled.per_class.items()
        }
        bins = []
        for number, part in enumerate(pooled.reliability):
            ends = [result.reliability[number].interval for result in results]
            bins.append(
                part._replace(
                    interval=_mean_intervals([{"bin": pair} for pair in ends if pair]).get("bin")
                )
            )
        intervals = _mean_intervals([result.intervals for result in results])
        return replace(pooled, intervals=intervals, per_class=per_class, reliability=tuple(bins))

    def folds_result(
        self, method: str | None = None, column: str | None = None, seed: int | None = None
    ) -> FoldsResult:
        """Return mean and standard deviation over folds and the figures of each; the arguments say how the corpus was divided."""
        n_repeats = len(self.repeats)
        spread = (
            _spread([fold.accuracy for fold in self.folds]),
            _spread([fold.macro_f1 for fold in self.folds]),
        )
        return FoldsResult(
            method,
            column,
            seed,
            n_repeats,
            len(self.folds) // n_repeats,
            *spread,
            tuple(self.folds),
        )


class _FoldTask(NamedTuple):
    """One fold of one repeat, both numbered from 0."""

    repeat: int
    fold: int


class _FoldTraining(NamedTuple):
    """The inputs for judging any fold; other processes get them with their first task."""

    subsets: Subsets
    parameters: Settings
    folds_of_repeats: Sequence[Folds]
    choices: Choices
    judge: Callable[[Iterable[HeldOutBlock]], object]


class _FoldOutcome(NamedTuple):
    """The result of a fold."""

    n_terms: int
    """Selected terms of the model."""
    smoothing: float
    test_result: Any
    """What comes of its test documents."""


def evaluate_folds(
    subsets: Subsets,
    parameters: Settings,
    folds_of_repeats: Sequence[Folds],
    judge: Callable[[Iterable[HeldOutBlock]], object],
    jobs: int = 1,
) -> Iterator[tuple[_FoldTask, _FoldOutcome]]:
    """Yield what ``judge`` makes of the test documents of each fold of each repeat, in order, in ``jobs`` processes if that is faster."""
    training = _FoldTraining(
        subsets, parameters, folds_of_repeats, choose_corpus_settings(subsets, parameters), judge
    )
    tasks = [
        _FoldTask(repeat, fold)
        for repeat, folds in enumerate(folds_of_repeats)
        for fold in range(folds.n_folds)
    ]
    work = max(
        subsets.documents.matrix.terms.size * len(tasks), len(subsets) * subsets.table.n_classes
    )
    for task, found in track_progress(
        run_in_order(_judge, training, tasks, jobs if work >= MIN_PARALLEL_ENTRIES else 1),
        "fold",
        len(tasks),
    ):
        yield task, found or _judge(training, task)


def _judge(training: _FoldTraining, task: _FoldTask) -> _FoldOutcome:
    """Learn from the training documents of a fold, and judge its test documents."""
    masks = training.folds_of_repeats[task.repeat].get_masks(task.fold)
    learnt, blocks = train_and_score(
        training.subsets, training.parameters, *masks, training.choices
    )
    return _FoldOutcome(
        int(np.count_nonzero(learnt.selected_terms)), learnt.smoothing, training.judge(blocks)
    )


def cross_validate(
    subsets: Subsets,
    parameters: Settings,
    folds_of_repeats: Sequence[Folds],
    rule: DecisionRule = DecisionRule(),
    jobs: int = 1,
) -> _CrossValidation:
    """Judge the documents of each fold by the model learnt from its training documents, for each repeat, by ``jobs`` processes.

    Raise `UsageError` if the parameters leave no term, or no class possible, in a fold.
    """
    table = subsets.table
    repeats = [HeldOutEvaluation(table, rule, settings=parameters) for _ in folds_of_repeats]
    pooled = (
        repeats[0] if len(repeats) == 1 else HeldOutEvaluation(table, rule, settings=parameters)
    )
    tested = max(
        int(np.count_nonzero(folds.fold_indices != NEVER_TESTED)) for folds in folds_of_repeats
    )
    kept = MAX_RANKING_SCORES if tested * table.n_classes <= MAX_RANKING_SCORES else 0
    figures = []
    for task, fold in evaluate_folds(
        subsets,
        parameters,
        folds_of_repeats,
        partial(HeldOutEvaluation, table, rule, max_scores=kept),
        jobs,
    ):
        for pool in {repeats[task.repeat], pooled}:
            pool.merge(fold.test_result)
        rates = compute_accuracy_and_macro_f1(fold.test_result.evaluation.documents)
        n_training, n_test = (
            int(np.count_nonzero(mask))
            for mask in folds_of_repeats[task.repeat].get_masks(task.fold)
        )
        smoothing = float(f"{fold.smoothing:.6g}")
        figures.append(
            FoldMetrics(
                task.repeat + 1, task.fold + 1, n_training, n_test, fold.n_terms, smoothing, *rates
            )
        )
    return _CrossValidation(pooled, repeats, figures)


def _spread(values: Sequence[float]) -> _FoldSpread:
    return _FoldSpread(
        float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    )


def _mean_intervals(intervals: Sequence[Mapping[str, Interval]]) -> dict[str, Interval]:
    """Return the mean of each end of the intervals that every repeat has."""
    names = [
        name
        for name in (intervals[0] if intervals else ())
        if all(name in interval for interval in intervals)
    ]
    return {
        name: tuple(np.mean([interval[name] for interval in intervals], axis=0).tolist())
        for name in names
    }


def validate_corpus(
    corpus: CountedCorpus,
    settings: Settings,
    rule: DecisionRule,
    method: str,
    n_folds: int,
    seed: int,
    repeats: int,
    jobs: int = 1,
) -> _CrossValidation:
    """Judge every document of a corpus by a model of others: in folds, or ``leave-one-out``, whose result has no folds.

    Folds are ``stratified`` by class, ``grouped`` by the values of the first further column, or stretches of ``time`` by these, once. Raise `UsageError` as
    the functions of each method.
    """
    counts, names, notes = corpus
    table = counts.table
    documents = counts.documents
    if method == "leave-one-out":
        held_out = evaluate_leave_one_out(table, documents, settings, rule)
        return _CrossValidation(held_out, [held_out], [])
    values = [columns[0] for columns in notes if columns]
    generators = np.random.default_rng(seed).spawn(repeats)
    if method == "time":
        folds = [make_ordered_folds(_rank_times(values, names), n_folds)]
    elif method == "grouped":
        folds = [
            draw_grouped_folds(rank_values(values), n_folds, generator) for generator in generators
        ]
    else:
        folds = [
            draw_stratified_folds(documents.strata, n_folds, generator) for generator in generators
        ]
    return cross_validate(Subsets(table, documents), settings, folds, rule, jobs)
