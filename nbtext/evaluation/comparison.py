"""Comparison of two models, A and B, on the same documents, for `nbtext compare`.

A comparison has the differences B − A of their metrics, significance tests of the differences, and
the documents with different predictions.

Sources: Q. McNemar (1947); T. Dietterich, Approximate statistical tests for comparing supervised
classification learning algorithms (1998); B. Efron, R. Tibshirani, An introduction to the bootstrap
(1993), for the intervals: documents are drawn with replacement, each with its true class and the
predictions of both models.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp, lgamma, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.corpus.document import Document, count_document_bytes
from nbtext.errors import NoDocumentsError, UsageError
from nbtext.metrics.evaluation import make_evaluation
from nbtext.metrics.intervals import Bootstrap, Interval, percentile_interval
from nbtext.metrics.outcomes import ConfusionCells, f1, macro
from nbtext.prediction.labels import (
    DocumentLabels,
    LabelTable,
    format_label,
    format_label_indices,
    mask_sort_key,
)
from nbtext.prediction.rule import DecisionRule
from nbtext.ragged import split_into_blocks
from nbtext.scoring import score_documents
from nbtext.settings import MAIL_PARAMETERS, PARAMETERS_BY_NAME

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from nbtext.metrics.evaluation import Evaluation
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.settings import Reading
    from nbtext.type_names import Floats, Ints, Names

BINS_PER_DEVIATION = 64
"""Bins in a standard deviation of values. `bootstrap_mean` replaces values by the mean of a bin.

This removes about 1/(12 · 64²) of the variance.
"""

SIGNIFICANCE = 0.05

MIN_DIFFERING_DOCUMENTS = 6
"""Documents that must differ for significance: five equal signs have a p-value of 2/2⁵ > 0.05."""

COMPARED_METRICS = ("accuracy", "macro_f1", "log_loss", "brier", "ece")


def require_same_kind(a: TextClassifier, b: TextClassifier) -> None:
    """Raise `UsageError` if only one model is multi-label, or only one has counted features."""
    a.fitted.posterior_type.require_same_label_kind(b.fitted.posterior_type)
    if a.reading.is_counted != b.reading.is_counted:
        counted_format = a.reading.format if a.reading.is_counted else b.reading.format
        raise UsageError(
            f"one model was trained on texts, the other on {counted_format}'s counted features",
            hint="compare models of the same kind",
        )


def list_reading_differences(
    reading: Reading, reading_b: Reading, explicit: Container[str]
) -> list[str]:
    """Return a warning for each input setting in which model B differs from model A.

    ``reading`` has the settings of A. Settings in ``explicit``, which the user has set, get no
    warning.
    """

    def to_text(value: object) -> str:
        if value is None:
            return "auto"
        return str(value).lower() if isinstance(value, bool) else str(value)

    names = ["document"]
    if reading.document == "mail":
        names += MAIL_PARAMETERS
    warnings = []
    for name in names:
        if name in explicit or reading[name] == reading_b[name]:
            continue
        arguments = PARAMETERS_BY_NAME[name].to_arguments(to_text(reading_b[name]))
        warnings.append(
            f"B was trained with {' '.join(arguments)}, but documents are read with "
            f"{to_text(reading[name])}, as for A"
        )
    return warnings


class Disagreement(NamedTuple):
    """A document with different predictions."""

    id: str
    truth: str
    a: str | None
    """The prediction of A. None if every class is impossible."""
    probability_a: float | None
    b: str | None
    probability_b: float | None


class _Prediction(NamedTuple):
    """The prediction for a document. The fields are None if every class is impossible."""

    label: str | None
    probability: float | None


class _PredictionCells(NamedTuple):
    """Documents counted by true label and both predictions, all of shape (n_cells,).

    A cell is a combination that occurs of the three. Labels are indices of label sets. A prediction
    is −1 if no class was predicted.
    """

    truth: Ints
    a: Ints
    b: Ints
    n_documents: Ints


@dataclass(frozen=True)
class SideResult:
    """The metrics of one model. Infinite metrics are None."""

    accuracy: float | None
    macro_f1: float | None
    log_loss: float | None
    brier: float | None
    ece: float | None
    intervals: Mapping[str, Interval]
    """95 % interval of the accuracy."""
    unknown_labels: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """The difference B − A of a metric.

    All fields are None if the metric is infinite. Without an interval, only ``difference`` is set.
    """

    difference: float | None = None
    interval: Interval | None = None
    """95 % interval."""
    beyond_chance: bool | None = None
    """True if the difference is significant."""


@dataclass(frozen=True)
class _CorrectnessCounts:
    """Numbers of documents by the models that predict them correctly."""

    both_right: int
    only_a_right: int
    only_b_right: int
    both_wrong: int


class McNemar(NamedTuple):
    """McNemar's exact test of the accuracies."""

    p_value: float


class DisagreementCount(NamedTuple):
    """Number of documents of a class with the same two different predictions."""

    truth: str
    a: str | None
    """The prediction of A. None if no class was predicted."""
    b: str | None
    documents: int
    """Number of documents."""


@dataclass(frozen=True)
class ComparisonResult:
    """All metrics of a comparison."""

    n: int
    """Number of documents."""
    a: SideResult
    b: SideResult
    differences: Mapping[str, Difference]
    """By the names in `COMPARED_METRICS`."""
    table: _CorrectnessCounts
    mcnemar: McNemar
    identical: bool
    """True if all predictions and probabilities are the same."""
    disagreements: int
    """Number of documents with different predictions."""
    changes: tuple[DisagreementCount, ...]
    """The most frequent first."""

    @property
    def b_is_better(self) -> bool:
        """True if the accuracy of B is significantly higher."""
        is_significant = self.differences["accuracy"].beyond_chance is True
        return is_significant and self.table.only_b_right > self.table.only_a_right


@dataclass(frozen=True)
class _Comparison:
    """The evaluations of two models on the same documents, in the same order."""

    a: Evaluation
    b: Evaluation
    disagreements: list[Disagreement] = field(default_factory=list)
    """The documents with different predictions, in order. Empty unless requested."""

    def result(self, bootstrap: Bootstrap = Bootstrap()) -> ComparisonResult:
        """Return all metrics, with bootstrapped 95 % intervals."""
        cells, table, names = self._count_cells()
        disagreements = _count_disagreements(cells, names)
        n_disagreements = sum(disagreement.documents for disagreement in disagreements)
        replicates: dict[str, Floats | None] = dict(bootstrap_differences(cells, bootstrap, table))
        n_differing = {"macro_f1": n_disagreements}
        for name, values in self._subtract_losses().items():
            replicates[name] = bootstrap_mean(values, bootstrap)
            n_differing[name] = int(np.count_nonzero(values))
        side_a = _summarize_side(self.a)
        side_b = _summarize_side(self.b)
        # The calibration error has no replicates, so its difference has no interval.
        differences = {
            name: _compute_difference(
                getattr(side_a, name),
                getattr(side_b, name),
                replicates.get(name),
                n_differing.get(name, 0),
            )
            for name in COMPARED_METRICS
        }
        # For accuracy, McNemar's exact test replaces the test by replicates.
        correct = _count_correct(cells)
        p_value = compute_mcnemar_p_value(correct.only_a_right, correct.only_b_right)
        differences["accuracy"] = replace(
            differences["accuracy"], beyond_chance=p_value < SIGNIFICANCE
        )
        return ComparisonResult(
            n=self.a.n,
            a=side_a,
            b=side_b,
            differences=differences,
            table=correct,
            mcnemar=McNemar(p_value),
            # Equal Brier scores of each document stand for equal probabilities.
            identical=not n_disagreements and not n_differing["brier"],
            disagreements=n_disagreements,
            changes=disagreements,
        )

    def _subtract_losses(self) -> dict[str, Floats]:
        """Return the differences B − A of the losses of documents by metric, shape (n_docs,)."""
        a = self.a.documents
        b = self.b.documents
        with np.errstate(invalid="ignore"):  # ∞ − ∞ is nan, an undefined difference
            return {"log_loss": b.log_loss - a.log_loss, "brier": b.brier - a.brier}

    def _count_cells(self) -> tuple[_PredictionCells, LabelTable, list[str]]:
        """Count documents by true label and both predictions.

        Return the cells, the table of label sets, and the text of each set. Labels of the two
        models are matched by name. Sets are numbered in the order of their labels.
        """
        index = self.a.posterior_type.make_label_index(sorted({*self.a.classes, *self.b.classes}))
        columns = [
            _match_by_name(self.a.documents.truth, self.a.classes, index.labels),
            _match_by_name(self.a.documents.predicted, self.a.classes, index.labels),
            _match_by_name(self.b.documents.predicted, self.b.classes, index.labels),
        ]
        sets = {labels for column in columns for labels in column.table.to_tuples()}
        sorted_sets = sorted(sets, key=mask_sort_key)
        # The index numbers sets in the order in which it first gets them, so it gets all of them
        # sorted before it renumbers the columns. The result of this call is not needed.
        index.renumber(DocumentLabels.from_sets(sorted_sets, len(index.labels)))
        truth, a, b = (index.renumber(column).indices.astype(np.int64) for column in columns)
        cells = _count_prediction_cells(truth, a, b, len(index.table.sizes))
        names = [format_label_indices(labels, index.labels) for labels in index.table.to_tuples()]
        return cells, index.table, names


def compare_on_documents(
    a: TextClassifier,
    b: TextClassifier,
    documents: Iterable[Document],
    *,
    keep_disagreements: bool = False,
) -> _Comparison:
    """Compare two models on a stream of labelled documents, which is read once.

    Each model analyses the documents with its own settings. A document for which every class is
    impossible has no prediction, and its classes count as equally probable.

    Raise `UsageError` if there are no documents.
    """
    comparison = _Comparison(
        make_evaluation(a.fitted.statistics, max_scores=0),
        make_evaluation(b.fitted.statistics, max_scores=0),
    )
    block_size = min(a.fitted.max_block_documents, b.fitted.max_block_documents)
    for block in split_into_blocks(documents, count_document_bytes, block_size):
        predictions_a = _evaluate_block(a, comparison.a, block)
        predictions_b = _evaluate_block(b, comparison.b, block)
        if not keep_disagreements:
            continue
        for document, a_prediction, b_prediction in zip(
            block, predictions_a, predictions_b, strict=True
        ):
            if a_prediction.label != b_prediction.label:
                disagreement = Disagreement(
                    document.id,
                    truth=format_label(document.label or ""),
                    a=a_prediction.label,
                    probability_a=a_prediction.probability,
                    b=b_prediction.label,
                    probability_b=b_prediction.probability,
                )
                comparison.disagreements.append(disagreement)
    if not comparison.a.n:
        raise NoDocumentsError
    return comparison


def _match_by_name(labels: DocumentLabels, classes: Names, names: Names) -> DocumentLabels:
    """Return the same labels, numbered by their position in ``names`` instead of ``classes``."""
    positions = {name: position for position, name in enumerate(names)}
    new_indices = [positions[name] for name in classes]
    sets = [sorted(new_indices[label] for label in members) for members in labels.table.to_tuples()]
    return DocumentLabels(labels.indices, LabelTable.from_sets(sets, len(names)))


def _count_prediction_cells(truth: Ints, a: Ints, b: Ints, n_sets: int) -> _PredictionCells:
    """Count documents by true label and both predictions, three arrays of shape (n_docs,)."""
    shape = (n_sets, n_sets + 1, n_sets + 1)  # + 1: no prediction, −1, becomes position 0
    document_keys = np.ravel_multi_index((truth, a + 1, b + 1), shape)
    cell_keys, n_documents = np.unique(document_keys, return_counts=True)
    cell_truth, cell_a, cell_b = np.unravel_index(cell_keys, shape)
    return _PredictionCells(cell_truth, cell_a - 1, cell_b - 1, n_documents)


def _count_correct(cells: _PredictionCells) -> _CorrectnessCounts:
    """Count documents by the models that predict them correctly."""
    is_a_right = cells.truth == cells.a
    is_b_right = cells.truth == cells.b
    n_documents = cells.n_documents
    return _CorrectnessCounts(
        both_right=int(n_documents[is_a_right & is_b_right].sum()),
        only_a_right=int(n_documents[is_a_right & ~is_b_right].sum()),
        only_b_right=int(n_documents[is_b_right & ~is_a_right].sum()),
        both_wrong=int(n_documents[~is_a_right & ~is_b_right].sum()),
    )


def compute_mcnemar_p_value(only_a: int, only_b: int) -> float:
    """Return the p-value of McNemar's test in its exact binomial form.

    ``only_a`` and ``only_b`` are the numbers of documents that only one model predicts correctly.
    With n = only_a + only_b the p-value is min(1, 2 Σ_{i ≤ min(only_a, only_b)} C(n, i) / 2ⁿ).
    Its relative rounding error is about 1e-9 for a million documents.
    """
    if only_a == only_b:
        return 1.0
    n = only_a + only_b
    smaller = min(only_a, only_b)
    last_term = exp(lgamma(n + 1) - lgamma(smaller + 1) - lgamma(n - smaller + 1) - n * log(2))
    i = np.arange(smaller, 0, -1)
    relative_terms = np.cumprod(i / (n - i + 1))  # C(n, i − 1) / C(n, i) = i / (n − i + 1)
    return min(1.0, 2 * last_term * (1 + float(relative_terms.sum())))


def bootstrap_differences(
    cells: _PredictionCells, bootstrap: Bootstrap, table: LabelTable
) -> dict[str, Floats]:
    """Return replicates of the differences of accuracy and of macro F1, shape (n_replicates,).

    ``table`` has the labels of each set.
    """
    n_documents = cells.n_documents
    confusion_a = ConfusionCells.from_counts(cells.truth, cells.a, n_documents, table)
    confusion_b = ConfusionCells.from_counts(cells.truth, cells.b, n_documents, table)
    cells_a, n_labels_a = confusion_a.renumber_present_labels()
    cells_b, n_labels_b = confusion_b.renumber_present_labels()
    is_a_right = cells.truth == cells.a
    is_b_right = cells.truth == cells.b
    n = n_documents.sum()
    # Numbers of a replicate: its cells, and three margins of each label.
    size = n_documents.size + 3 * (n_labels_a + n_labels_b)
    accuracy_blocks = []
    macro_f1_blocks = []
    for counts in bootstrap.draw_cells(n_documents, size):
        margins_a = cells_a.sum_margins(n_labels_a, counts)
        margins_b = cells_b.sum_margins(n_labels_b, counts)
        accuracy_blocks.append(counts @ is_b_right / n - counts @ is_a_right / n)
        macro_f1_blocks.append(macro(f1(margins_b), margins_b) - macro(f1(margins_a), margins_a))
    return {
        "accuracy": np.concatenate(accuracy_blocks),
        "macro_f1": np.concatenate(macro_f1_blocks),
    }


def bootstrap_mean(values: Floats, bootstrap: Bootstrap) -> Floats | None:
    """Return replicates of the mean of ``values``, which have the shape (n_docs,).

    The replicates have the shape (n_replicates,). Return None if a value is not finite.
    """
    if not np.isfinite(values).all():
        return None
    sorted_values = np.sort(values)  # so that rounding does not depend on the order of documents
    deviation = float(sorted_values.std())
    if not deviation:
        deviation = 1.0  # any bin width serves for equal values
    _, bins, bin_sizes = np.unique(
        np.floor(sorted_values / (deviation / BINS_PER_DEVIATION)),
        return_inverse=True,
        return_counts=True,
    )
    bin_means = np.bincount(bins, sorted_values) / bin_sizes
    draws = bootstrap.draw_cells(bin_sizes, bin_sizes.size)
    return np.concatenate([counts @ bin_means / values.size for counts in draws])


def _evaluate_block(
    model: TextClassifier, evaluation: Evaluation, documents: Sequence[Document]
) -> list[_Prediction]:
    """Add documents to ``evaluation`` in place, and return their predictions."""
    predictions = []
    for block in score_documents(model.fitted, documents):
        probabilities = block.posterior.decide(DecisionRule()).probabilities.tolist()
        predicted = block.posterior.predict(DecisionRule())
        evaluation.add(block.labels, block.posterior, predicted)
        labels = predicted.to_texts(model.classes)
        for label, probability in zip(labels, probabilities, strict=True):
            prediction = _Prediction(label, probability)
            if not label:
                prediction = _Prediction(label=None, probability=None)
            predictions.append(prediction)
    return predictions


def _summarize_side(evaluation: Evaluation) -> SideResult:
    """Return the metrics of one model."""
    result = evaluation.result(Bootstrap(replicates=0))
    return SideResult(
        **{name: getattr(result, name) for name in COMPARED_METRICS},
        intervals={"accuracy": result.intervals["accuracy"]},
        unknown_labels=result.unknown_labels,
    )


def _count_disagreements(cells: _PredictionCells, names: Names) -> tuple[DisagreementCount, ...]:
    """Return the cells with different predictions, the most frequent first."""
    predictions = [name or None for name in names]
    predictions.append(None)  # the index −1, no prediction, finds it
    columns = [column.tolist() for column in cells]
    disagreements = [
        DisagreementCount(names[truth], predictions[a], predictions[b], n_documents)
        for truth, a, b, n_documents in zip(*columns, strict=True)
        if a != b
    ]
    return tuple(sorted(disagreements, key=lambda disagreement: -disagreement.documents))


def _compute_difference(
    a: float | None, b: float | None, replicates: Floats | None, n_differing: int
) -> Difference:
    """Return the difference B − A of a metric. An infinite metric is None.

    ``n_differing`` is the number of documents with different values. The difference is significant
    if its interval excludes 0, and if at least `MIN_DIFFERING_DOCUMENTS` documents differ.
    """
    if a is None or b is None:
        return Difference()
    if replicates is None:
        return Difference(b - a)
    low, high = percentile_interval(replicates, b - a)
    excludes_zero = low > 0 or high < 0
    is_significant = n_differing >= MIN_DIFFERING_DOCUMENTS and excludes_zero
    return Difference(b - a, (low, high), is_significant)
