"""Evaluation of models on held-out documents of their corpus: by folds, or leave-one-out.

`nbtext cross-validate` uses both methods. Other evaluations call the functions for folds, too.

Folds: the corpus is counted once. For each fold its documents are subtracted, and everything is
fitted to the other documents: vocabulary limits, selected terms, smoothing, calibration. Only the
choices of ``auto`` (`nbtext.model.auto_settings`) are made once, on all documents.

Leave-one-out: each document is subtracted from the counts. Selected terms, smoothing and
calibration are fitted once, to all documents.

Sources: R. Kohavi, A study of cross-validation and bootstrap for accuracy estimation and model
selection (1995), for stratified folds; L. Tashman, Out-of-sample tests of forecasting accuracy
(2000), for folds by time; T. Hastie, R. Tibshirani, J. Friedman, The elements of statistical
learning (2009), sections 7.10.1 and 7.10.2, for the selection of terms inside each fold.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, fields, replace
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
from nbtext.counts.counting import count_labelled_documents
from nbtext.counts.documents import CountedDocuments, DocumentSample
from nbtext.counts.matrix import MAX_BLOCK_TERM_WEIGHTS, iter_blocks
from nbtext.counts.statistics import build_count_weights, estimate_statistics
from nbtext.errors import UsageError, format_quantity
from nbtext.fitted_model import (
    Choices,
    FittedParameters,
    require_trainable,
    restore_classifier,
)
from nbtext.metrics.evaluation import (
    compute_accuracy_and_macro_f1,
    make_evaluation,
    summarize_known_documents,
)
from nbtext.metrics.intervals import Bootstrap, Interval
from nbtext.metrics.ranking import MAX_RANKING_SCORES
from nbtext.metrics.results import (
    CrossValidationResult,
    EvaluationResult,
    FoldMetrics,
    FoldSpread,
    FoldsResult,
    to_json_values,
)
from nbtext.model.auto_settings import has_auto_settings
from nbtext.model.training import (
    fit_parameters,
    needs_sample,
    resolve_auto_settings,
    resolve_smoothing_terms,
)
from nbtext.parallel.processes import run_in_order
from nbtext.prediction.rule import DecisionRule
from nbtext.progress import track_progress
from nbtext.ragged import BLOCK_DOCUMENTS, compute_offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nbtext.corpus.document import Document
    from nbtext.counts.count_table import CountTable
    from nbtext.counts.counting import Analysis
    from nbtext.model.parallel_corpus import CountedCorpus
    from nbtext.prediction.labels import DocumentLabels
    from nbtext.prediction.posterior import Posterior
    from nbtext.settings import Settings
    from nbtext.type_names import Floats, Ints, Mask, Names, ParsedJson

MIN_PARALLEL_ENTRIES = 2**22
"""Matrix entries × folds, or documents × classes, from which processes save time."""

NEVER_TESTED = -1
"""Fold index of documents before the first fold, which are only used for training."""


@dataclass(frozen=True, eq=False)
class Folds:
    """A division of a corpus into folds. Iteration yields the result of `get_masks` by fold."""

    fold_indices: Ints
    """The fold of each document, shape (n_docs,): 0 to n_folds − 1, or `NEVER_TESTED`."""
    n_folds: int
    is_ordered: bool = False
    """True if the model of a fold is trained on earlier folds only, not on all other folds."""

    def __iter__(self) -> Iterator[tuple[Mask, Mask]]:
        return map(self.get_masks, range(self.n_folds))

    def get_masks(self, fold: int) -> tuple[Mask, Mask]:
        """Return masks of the training and of the test documents of a fold, shape (n_docs,)."""
        is_test = self.fold_indices == fold
        is_training = self.fold_indices < fold if self.is_ordered else ~is_test
        return is_training, is_test


def shuffle_by_class(classes: Ints, generator: np.random.Generator) -> Ints:
    """Return document indices class by class, in random order in each class, shape (n_docs,)."""
    shuffled = generator.permutation(classes.size)
    order = np.argsort(classes[shuffled], kind="stable")
    return shuffled[order]


def draw_stratified_folds(classes: Ints, n_folds: int, generator: np.random.Generator) -> Folds:
    """Draw random folds with equal class proportions.

    The sizes of folds differ by at most 1, in total and in each class.

    Raise `UsageError` if there are fewer documents than folds.
    """
    _check_fold_count(n_folds, classes.size, "document")
    fold_indices = np.empty(classes.size, np.int64)
    # Class by class, documents go to the folds in turn.
    fold_indices[shuffle_by_class(classes, generator)] = np.arange(classes.size) % n_folds
    return Folds(fold_indices, n_folds)


def draw_grouped_folds(groups: Ints, n_folds: int, generator: np.random.Generator) -> Folds:
    """Draw random folds that do not split groups of documents.

    Groups are assigned by descending size, groups of equal size in random order. Each group goes to
    the fold with the fewest documents so far. ``groups`` are group indices from 0, shape (n_docs,).

    Raise `UsageError` if there are fewer groups than folds.
    """
    sizes = np.bincount(groups)
    _check_fold_count(n_folds, int(np.count_nonzero(sizes)), "group")
    shuffled = generator.permutation(sizes.size)
    order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    fold_heap = [(0, fold) for fold in range(n_folds)]  # (documents so far, fold)
    group_folds = np.zeros(sizes.size, np.int64)
    for group, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        fold_size, fold = fold_heap[0]  # the smallest fold
        group_folds[group] = fold
        heapq.heapreplace(fold_heap, (fold_size + size, fold))
    return Folds(group_folds[groups], n_folds)


def make_ordered_folds(times: Ints | Floats, n_folds: int) -> Folds:
    """Divide documents into periods of about equal size.

    The first period is only used for training. Each later period is a fold, whose model is trained
    on all earlier periods. Documents with equal ``times``, shape (n_docs,), are in one period.

    Raise `UsageError` if there are fewer than ``n_folds`` + 1 distinct times.
    """
    distinct_times, time_ranks, sizes = np.unique(times, return_inverse=True, return_counts=True)
    _check_fold_count(n_folds, distinct_times.size - 1, "time", " after the first")
    n_earlier = compute_offsets(sizes)  # documents before each time
    starts = np.empty(n_folds, np.int64)  # the index of the first time of each fold
    start = 0  # of the first period
    for fold in range(n_folds):
        target = times.size * (fold + 1) / (n_folds + 1)
        nearest = int(np.abs(n_earlier - target).argmin())
        min_start = start + 1  # each period has a time
        max_start = distinct_times.size - (n_folds - fold)  # a time is left for each later fold
        start = min(max(nearest, min_start), max_start)
        starts[fold] = start
    period_indices = np.searchsorted(starts, time_ranks, side="right")
    fold_indices = period_indices - 1  # the first period becomes `NEVER_TESTED`
    return Folds(fold_indices, n_folds, is_ordered=True)


def rank_times(values: Sequence[str], names: Names) -> Ints:
    """Return the rank in time of the value of each document, shape (n_docs,).

    Values are compared as numbers if all of them are finite numbers, else as text. ISO 8601 dates
    and times of one zone sort as text. ``names`` are the names of the documents.

    Raise `UsageError` for a document without a value.
    """
    stripped = [value.strip() for value in values]
    for value, name in zip(stripped, names, strict=True):
        if not value:
            raise UsageError(
                f"document {name} has no time", hint="remove it, or choose another --time-column"
            )
    for number_type in (int, float):
        try:
            numbers = [number_type(value) for value in stripped]
        except ValueError:
            continue
        if all(abs(number) < inf for number in numbers):  # false for nan; any int is allowed
            return rank_values(numbers)
    return rank_values(stripped)


def rank_values(values: Sequence[str] | Sequence[float]) -> Ints:
    """Return the index of each value among the sorted distinct values, shape (n,)."""
    objects = np.array(values, object)  # int64 could not hold every int
    _, indices = np.unique(objects, return_inverse=True)
    return indices


def _check_fold_count(n_folds: int, max_folds: int, noun: str, suffix: str = "") -> None:
    """Raise `UsageError` if there are more folds than things to divide, named by ``noun``."""
    if n_folds > max_folds:
        verb = "is" if max_folds == 1 else "are"
        raise UsageError(
            f"there {verb} only {format_quantity(max_folds, noun)}{suffix}, too few for "
            f"{format_quantity(n_folds, 'fold')}",
            hint="lower --folds",
        )


class HeldOutBlock(NamedTuple):
    """Documents that were scored by a model trained without them."""

    rows: Ints
    """Indices of the documents in the corpus, shape (n_docs,)."""
    truth: DocumentLabels
    posterior: Posterior
    has_known_label: Mask
    """Documents whose labels have other documents in training, shape (n_docs,)."""


class Prediction(NamedTuple):
    """The true and the predicted labels of a document."""

    row: int
    """Index in the corpus."""
    truth: tuple[str, ...]
    predicted: tuple[str, ...]
    """Empty if no class was predicted."""
    probability: float
    """Probability of the best class, predicted or not; nan if no class is possible."""


class _BlockRecord(NamedTuple):
    """Arrays of evaluated documents that `Evaluation` does not have, all of shape (n_docs,)."""

    rows: Ints
    """Indices in the corpus."""
    has_known_label: Mask
    probabilities: Floats
    """See `Prediction.probability`."""


class HeldOutEvaluation:
    """Evaluation of the held-out documents of a corpus under a decision rule.

    The evaluation has all classes of the corpus. A document whose class has no other documents in
    training counts as a document with an unknown label: its prediction is a mistake, its log loss
    is infinite, and ``known`` in the result excludes it.
    """

    def __init__(
        self,
        table: CountTable,
        rule: DecisionRule = DecisionRule(),
        blocks: Iterable[HeldOutBlock] = (),
        max_scores: int = MAX_RANKING_SCORES,
        settings: Settings | None = None,
    ) -> None:
        """Evaluate the documents of some blocks.

        ``table`` has the counts of the whole corpus. The ``settings`` of the models determine the
        class prior of the baseline. Without ``settings``, it is the proportions of the labels. See
        `Evaluation` for ``max_scores``.
        """
        self._rule = rule
        self._records: list[_BlockRecord] = []
        prior = None
        if settings is not None:
            statistics = estimate_statistics(table, build_count_weights(table, settings))
            prior = compute_declared_prior(settings, statistics)
        self.evaluation = make_evaluation(table, rule.costs, max_scores=max_scores, prior=prior)
        for block in blocks:
            self.add(block)

    @property
    def rows(self) -> Ints:
        """Index in the corpus of each evaluated document, shape (n_docs,)."""
        return np.concatenate([record.rows for record in self._records])

    @property
    def has_known_label(self) -> Mask:
        """Documents whose labels have other documents in training, shape (n_docs,)."""
        return np.concatenate([record.has_known_label for record in self._records])

    def add(self, block: HeldOutBlock) -> None:
        """Evaluate the documents of a block."""
        probabilities = block.posterior.decide(self._rule).probabilities
        self._records.append(_BlockRecord(block.rows, block.has_known_label, probabilities))
        predicted = block.posterior.predict(self._rule)
        self.evaluation.add_indexed(block.truth, block.posterior, predicted)

    def merge(self, other: HeldOutEvaluation) -> None:
        """Add the documents of another evaluation of the same corpus to this evaluation."""
        self._records += other._records
        self.evaluation.merge(other.evaluation)

    def result(self, bootstrap: Bootstrap = Bootstrap()) -> EvaluationResult:
        """Return the metrics.

        ``unknown_documents`` counts documents whose class has no other documents in training, by
        class. ``unknown_labels`` are these classes.
        """
        result = self.evaluation.result(bootstrap)
        documents = self.evaluation.documents
        has_known_label = self.has_known_label
        unknown_documents = self.evaluation.count_lost_class_documents(has_known_label)
        return replace(
            result,
            known=summarize_known_documents(documents.take(has_known_label)),
            unknown_labels=tuple(unknown_documents),
            unknown_documents=unknown_documents,
        )

    def to_predictions(self) -> list[Prediction]:
        """Return the predictions for all documents, in the order of the corpus."""
        probabilities = np.concatenate([record.probabilities for record in self._records])
        documents = self.evaluation.documents
        classes = self.evaluation.classes
        order = np.argsort(self.rows, kind="stable")
        columns = zip(
            self.rows[order].tolist(),
            documents.truth[order].to_names(classes),
            documents.predicted[order].to_names(classes),
            probabilities[order].tolist(),
            strict=True,
        )
        return [Prediction(*values) for values in columns]


def score_leave_one_out(
    table: CountTable, documents: CountedDocuments, settings: Settings
) -> Iterator[HeldOutBlock]:
    """Score every document by a model of all other documents, in order, block by block.

    Raise `UsageError` if no term or no class remains, or if the settings do not support
    leave-one-out.
    """
    require_compatible_settings(settings, LEAVE_ONE_OUT_EVALUATION)
    sample = DocumentSample.from_documents(documents, settings["keep_documents"])
    training_documents = documents if needs_documents(settings) else None
    fitted = fit_parameters(CorpusCounts(table, sample), settings, training_documents)
    return _score_held_out(table, fitted, settings, documents)


def evaluate_leave_one_out(
    table: CountTable,
    documents: CountedDocuments,
    settings: Settings,
    rule: DecisionRule = DecisionRule(),
) -> HeldOutEvaluation:
    """Evaluate the blocks of `score_leave_one_out`, which may raise an error."""
    blocks = score_leave_one_out(table, documents, settings)
    return HeldOutEvaluation(table, rule, blocks, settings=settings)


def choose_corpus_settings(subsets: Subsets, settings: Settings) -> Choices:
    """Make the choices of ``auto`` on all documents.

    To choose again in each fold would double the time of cross-validation.
    """
    sample_size = settings.keep_documents if has_auto_settings(settings) else 0
    sample = DocumentSample.from_documents(subsets.documents, sample_size)
    documents = subsets.documents if needs_documents(settings) else None
    return resolve_auto_settings(CorpusCounts(subsets.table, sample), settings, documents)


def train_and_score(
    subsets: Subsets,
    settings: Settings,
    training: Mask,
    test: Mask,
    choices: Choices | None = None,
) -> tuple[FittedParameters, Iterator[HeldOutBlock]]:
    """Train on the training documents, and score the test documents block by block.

    Both masks have the shape (n_docs,). ``choices`` replace ``auto`` settings. If ``choices`` is
    None, the settings are chosen on the training documents.

    Raise `UsageError` if training fails.
    """
    if settings.needs_log_sums:
        subsets = subsets.with_log_sums()
    sample_size = settings["keep_documents"] if needs_sample(settings, choices) else 0
    counts = subsets.select_counts(training, sample_size)
    training_documents = None
    if needs_documents(settings):
        training_documents = subsets.documents.take(np.flatnonzero(training))
    fitted = fit_parameters(counts, settings, training_documents, choices)
    blocks = _score_held_out(
        counts.table, fitted, settings, subsets.documents, np.flatnonzero(test)
    )
    return fitted, blocks


def _score_held_out(
    table: CountTable,
    fitted: FittedParameters,
    settings: Settings,
    documents: CountedDocuments,
    test_rows: Ints | None = None,
) -> Iterator[HeldOutBlock]:
    """Score documents by a model that was trained without them, block by block.

    ``test_rows`` are the indices of the documents, which ``table`` must not contain. If
    ``test_rows`` is None, score all documents, which ``table`` must contain, by leave-one-out.
    """
    is_leave_one_out = test_rows is None
    if test_rows is None:
        test_rows = np.arange(len(documents))
    classifier = restore_classifier(estimate_statistics(table, fitted.weights), fitted, settings)
    posterior_type = classifier.training.statistics.posterior_type
    n_classes = table.n_classes
    max_block_scores = min(BLOCK_DOCUMENTS * n_classes, MAX_BLOCK_TERM_WEIGHTS)
    for rows in iter_blocks(test_rows, n_classes, max_block_scores):
        block = documents.take(rows)
        table_weights: Ints | Floats  # the weight of each document of the block in the table
        if is_leave_one_out:
            held_out = classifier.leave_one_out(block)
            scores = held_out.scores
            lengths = held_out.lengths
            table_weights = block.fill_weights(table.unit)
        else:
            scores, lengths = classifier.joint_log_likelihood(block.matrix)
            table_weights = np.zeros(len(block))
        log_scores = classifier.to_log_scale(scores, lengths)
        posterior = posterior_type(fitted.calibration.compute_log_posterior(log_scores, lengths))
        n_labels = posterior.log_p.shape[1]
        truth = block.to_document_labels(n_labels)
        # In a multi-label table, a label of all documents precedes the real labels.
        label_weights = table.class_documents[-n_labels:]
        block_rows, labels = truth.to_pairs()
        lacks_other_documents = label_weights[labels] <= table_weights[block_rows]
        has_known_label = np.ones(len(block), np.bool_)
        has_known_label[block_rows[lacks_other_documents]] = False
        yield HeldOutBlock(rows, truth, posterior, has_known_label)


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Evaluations of a cross-validation, and the metrics of each fold."""

    pooled: HeldOutEvaluation
    """All repeats together."""
    repeats: list[HeldOutEvaluation]
    folds: list[FoldMetrics]

    def summary(self, bootstrap: Bootstrap = Bootstrap()) -> dict[str, ParsedJson]:
        """Return `result` for JSON, with `folds_result` under ``folds``."""
        return {
            **to_json_values(self.result(bootstrap)),
            "folds": to_json_values(self.folds_result()),
        }

    def result(self, bootstrap: Bootstrap = Bootstrap()) -> EvaluationResult:
        """Return the metrics pooled over folds and repeats.

        The ends of intervals are means over repeats. Pooled intervals would be too narrow, because
        they would count a document once for each repeat.
        """
        results = [repeat.result(bootstrap) for repeat in self.repeats]
        if len(results) == 1:
            return results[0]
        pooled = self.pooled.result(Bootstrap(replicates=0))
        per_class = {}
        for label, class_result in pooled.per_class.items():
            class_intervals = [result.per_class[label].intervals for result in results]
            per_class[label] = replace(
                class_result, intervals=_average_metric_intervals(class_intervals)
            )
        bins = []
        for k, reliability_bin in enumerate(pooled.reliability):
            bin_intervals = [result.reliability[k].interval for result in results]
            average = _average_intervals(
                [interval for interval in bin_intervals if interval is not None]
            )
            bins.append(reliability_bin._replace(interval=average))
        return replace(
            pooled,
            intervals=_average_metric_intervals([result.intervals for result in results]),
            per_class=per_class,
            reliability=tuple(bins),
        )

    def folds_result(
        self, method: str | None = None, column: str | None = None, seed: int | None = None
    ) -> FoldsResult:
        """Return the mean and the standard deviation over folds, and the metrics of each fold.

        The arguments, which the result repeats, describe how the corpus was divided.
        """
        n_repeats = len(self.repeats)
        return FoldsResult(
            method=method,
            column=column,
            seed=seed,
            repeats=n_repeats,
            n=len(self.folds) // n_repeats,
            accuracy=_compute_spread([fold.accuracy for fold in self.folds]),
            macro_f1=_compute_spread([fold.macro_f1 for fold in self.folds]),
            each=tuple(self.folds),
        )


class _FoldTask(NamedTuple):
    """One fold of one repeat, both numbered from 0."""

    repeat: int
    fold: int


class _FoldTraining(NamedTuple):
    """Inputs for the evaluation of any fold. Worker processes get them once."""

    subsets: Subsets
    settings: Settings
    folds_of_repeats: Sequence[Folds]
    choices: Choices
    evaluate: Callable[[Iterable[HeldOutBlock]], object]


class _FoldOutcome(NamedTuple):
    """The result of a fold."""

    n_terms: int
    """Number of selected terms."""
    smoothing: float
    test_result: Any
    """The result of ``evaluate`` for the test documents."""


def evaluate_folds(
    subsets: Subsets,
    settings: Settings,
    folds_of_repeats: Sequence[Folds],
    evaluate: Callable[[Iterable[HeldOutBlock]], object],
    jobs: int = 1,
) -> Iterator[tuple[_FoldTask, _FoldOutcome]]:
    """Train a model for each fold of each repeat, and yield its result in order.

    ``evaluate`` is called with the scored test documents. Up to ``jobs`` processes are used if they
    save time.
    """
    choices = choose_corpus_settings(subsets, settings)
    training = _FoldTraining(subsets, settings, folds_of_repeats, choices, evaluate)
    tasks = [
        _FoldTask(repeat, fold)
        for repeat, folds in enumerate(folds_of_repeats)
        for fold in range(folds.n_folds)
    ]
    n_entries = subsets.documents.matrix.terms.size * len(tasks)
    n_probabilities = len(subsets) * subsets.table.n_classes
    if max(n_entries, n_probabilities) < MIN_PARALLEL_ENTRIES:
        jobs = 1
    outcomes = run_in_order(_evaluate_fold, training, tasks, jobs)
    for task, worker_outcome in track_progress(outcomes, "fold", len(tasks)):
        if worker_outcome is None:  # no other process did the task
            yield task, _evaluate_fold(training, task)
        else:
            yield task, worker_outcome


def _evaluate_fold(training: _FoldTraining, task: _FoldTask) -> _FoldOutcome:
    """Train on the training documents of a fold, and evaluate its test documents."""
    folds = training.folds_of_repeats[task.repeat]
    is_training, is_test = folds.get_masks(task.fold)
    fitted, blocks = train_and_score(
        training.subsets, training.settings, is_training, is_test, training.choices
    )
    n_terms = int(np.count_nonzero(fitted.selected_terms))
    return _FoldOutcome(n_terms, fitted.smoothing, training.evaluate(blocks))


def cross_validate(
    subsets: Subsets,
    settings: Settings,
    folds_of_repeats: Sequence[Folds],
    rule: DecisionRule = DecisionRule(),
    jobs: int = 1,
) -> CrossValidation:
    """Evaluate the documents of each fold by a model of its training documents.

    There may be several repeats, each with its folds. Up to ``jobs`` processes are used.

    Raise `UsageError` if no term or no class remains in a fold.
    """
    table = subsets.table
    repeats = [HeldOutEvaluation(table, rule, settings=settings) for _ in folds_of_repeats]
    pooled = repeats[0]
    if len(repeats) > 1:
        pooled = HeldOutEvaluation(table, rule, settings=settings)
    n_tested = max(
        int(np.count_nonzero(folds.fold_indices != NEVER_TESTED)) for folds in folds_of_repeats
    )
    max_scores = MAX_RANKING_SCORES
    if n_tested * table.n_classes > MAX_RANKING_SCORES:
        max_scores = 0  # the merged evaluation would drop the scores
    evaluate = partial(HeldOutEvaluation, table, rule, max_scores=max_scores)
    metrics = []
    for task, outcome in evaluate_folds(subsets, settings, folds_of_repeats, evaluate, jobs):
        repeats[task.repeat].merge(outcome.test_result)
        if len(repeats) > 1:
            pooled.merge(outcome.test_result)
        is_training, is_test = folds_of_repeats[task.repeat].get_masks(task.fold)
        accuracy, macro_f1 = compute_accuracy_and_macro_f1(outcome.test_result.evaluation.documents)
        metrics.append(
            FoldMetrics(
                repeat=task.repeat + 1,
                fold=task.fold + 1,
                training_documents=int(np.count_nonzero(is_training)),
                documents=int(np.count_nonzero(is_test)),
                terms=outcome.n_terms,
                smoothing=float(f"{outcome.smoothing:.6g}"),
                accuracy=accuracy,
                macro_f1=macro_f1,
            )
        )
    return CrossValidation(pooled, repeats, metrics)


def _compute_spread(values: Sequence[float]) -> FoldSpread:
    """Return the mean and the standard deviation, which is 0 for one value."""
    std = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return FoldSpread(float(np.mean(values)), std)


def _average_intervals(intervals: Sequence[Interval]) -> Interval | None:
    """Return the means of the ends of intervals, or None if there are none."""
    if not intervals:
        return None
    low, high = np.mean(intervals, axis=0).tolist()
    return low, high


def _average_metric_intervals(
    intervals_of_repeats: Sequence[Mapping[str, Interval]],
) -> dict[str, Interval]:
    """Return the average interval of each metric that has an interval in all repeats."""
    averages = {}
    for name in intervals_of_repeats[0]:
        intervals = [repeat[name] for repeat in intervals_of_repeats if name in repeat]
        average = _average_intervals(intervals)
        if average is not None and len(intervals) == len(intervals_of_repeats):
            averages[name] = average
    return averages


def validate_corpus(
    corpus: CountedCorpus,
    settings: Settings,
    rule: DecisionRule,
    *,
    method: str,
    n_folds: int,
    seed: int,
    repeats: int,
    jobs: int = 1,
) -> CrossValidation:
    """Evaluate every document of a corpus by a model of other documents.

    The method is ``leave-one-out``, which has no folds, or a method of drawing folds:
    ``stratified`` by class, or ``grouped`` by the values of the first additional column, or
    ``time``, which orders documents by the values of that column and has only one repeat.

    Raise `UsageError` if the method is not possible for the corpus.
    """
    table = corpus.counts.table
    documents = corpus.counts.documents
    if method == "leave-one-out":
        held_out = evaluate_leave_one_out(table, documents, settings, rule)
        return CrossValidation(pooled=held_out, repeats=[held_out], folds=[])
    # The notes of documents are their additional columns.
    values = [columns[0] for columns in corpus.notes if columns]
    generators = np.random.default_rng(seed).spawn(repeats)
    if method == "time":
        folds = [make_ordered_folds(rank_times(values, corpus.names), n_folds)]
    elif method == "grouped":
        groups = rank_values(values)
        folds = [draw_grouped_folds(groups, n_folds, generator) for generator in generators]
    else:
        strata = documents.strata
        folds = [draw_stratified_folds(strata, n_folds, generator) for generator in generators]
    return cross_validate(Subsets(table, documents), settings, folds, rule, jobs)


def validate_texts(
    documents: Iterable[Document],
    analysis: Analysis,
    rule: DecisionRule,
    *,
    n_folds: int,
    seed: int,
    repeats: int,
    groups: Iterable[object] | None = None,
    jobs: int = 1,
) -> CrossValidationResult:
    """Evaluate labelled documents, of which each is predicted by a model of other documents.

    The folds are stratified by class. With ``groups``, a value for each document, documents with
    the same value are in the same fold.

    Raise `UsageError` if there are more folds than documents or groups, or if the number of groups
    differs from the number of documents.
    """
    from nbtext.model.parallel_corpus import CountedCorpus

    settings = resolve_smoothing_terms(analysis)
    counts = count_labelled_documents(documents, analysis, keep_all=True)
    require_trainable(settings, counts.labelled_statistics)
    notes = [] if groups is None else [(str(value),) for value in groups]
    if groups is not None and len(notes) != len(counts.documents):
        raise UsageError(
            f"there are {len(notes)} groups for {format_quantity(len(counts.documents), 'text')}",
            hint="pass one group for each text of weight above 0",
        )
    method = "stratified" if groups is None else "grouped"
    validation = validate_corpus(
        CountedCorpus(counts, [], notes),
        settings,
        rule,
        method=method,
        n_folds=n_folds,
        seed=seed,
        repeats=repeats,
        jobs=jobs,
    )
    result = validation.result()
    metrics = {item.name: getattr(result, item.name) for item in fields(result)}
    return CrossValidationResult(**metrics, folds=validation.folds_result(method, None, seed))
