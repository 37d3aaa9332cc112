"""Comparison of two models on the same documents: differences of their figures, tests of these, and the documents whose answers changed.

Differences are B − A. Sources: Q. McNemar (1947); T. Dietterich, Approximate statistical tests for comparing supervised classification
learning algorithms (1998); B. Efron, R. Tibshirani, An introduction to the bootstrap (1993), for the intervals: documents are drawn with
replacement, each with its true class and the answers of both models.
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
"""Bins of a standard deviation within which redrawn values count as equal; this leaves out 1/(12 · 64²) of their variance."""

SIGNIFICANCE = 0.05

MIN_DIFFERING_DOCUMENTS = 6
"""Documents that must differ before a difference is beyond chance: five fair coins all fall the same way in more than one case of 20."""

COMPARED_METRICS = ("accuracy", "macro_f1", "log_loss", "brier", "ece")


def require_same_kind(a: TextClassifier, b: TextClassifier) -> None:
    """Raise `UsageError` if one model is of texts and the other of counted features."""
    a.fitted.posterior_type.require_same_label_kind(b.fitted.posterior_type)
    if a.reading.is_counted != b.reading.is_counted:
        counted = (a if a.reading.is_counted else b).reading.format
        raise UsageError(
            f"one model was trained on texts, the other on {counted}'s counted features",
            hint="compare models of the same kind",
        )


def list_reading_differences(
    reading: Reading, reading_b: Reading, explicit: Container[str]
) -> list[str]:
    """Return a warning for each setting, unless it is given, by which B's texts were made from documents in another way than A's."""

    def text(value: object) -> str:
        if value is None:
            return "auto"
        return str(value).lower() if isinstance(value, bool) else str(value)

    return [
        f"B was trained with {' '.join(PARAMETERS_BY_NAME[name].to_arguments(text(reading_b[name])))}, but documents "
        f"are read with {text(reading[name])}, as for A"
        for name in ("document", *(MAIL_PARAMETERS if reading.document == "mail" else ()))
        if name not in explicit and reading[name] != reading_b[name]
    ]


class Disagreement(NamedTuple):
    """A document with different answers, and the probability that each model gives its own; None where all classes are impossible."""

    id: str
    truth: str
    a: str | None
    probability_a: float | None
    b: str | None
    probability_b: float | None


class _PredictionCells(NamedTuple):
    """Documents counted by truth and both answers, all of shape (n_cells,); an answer is negative where there is none."""

    truth: Ints
    a: Ints
    b: Ints
    documents: Ints


@dataclass(frozen=True)
class SideResult:
    """The figures of one model; None where infinite."""

    accuracy: float | None
    macro_f1: float | None
    log_loss: float | None
    brier: float | None
    ece: float | None
    intervals: Mapping[str, Interval]
    """Of the accuracy."""
    unknown_labels: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """A figure of B less that of A, its 95 % interval, and whether it is beyond chance; None where a figure is infinite or has no interval."""

    difference: float | None = None
    interval: Interval | None = None
    beyond_chance: bool | None = None


@dataclass(frozen=True)
class _RightAnswers:
    """Documents by the models that are right about them."""

    both_right: int
    only_a_right: int
    only_b_right: int
    both_wrong: int


class McNemar(NamedTuple):
    """McNemar's exact test of the accuracies."""

    p_value: float


class DisagreementCount(NamedTuple):
    """Documents of a class with the same pair of different answers; None is no answer."""

    truth: str
    a: str | None
    b: str | None
    documents: int


@dataclass(frozen=True)
class ComparisonResult:
    """All figures of a comparison."""

    n: int
    a: SideResult
    b: SideResult
    differences: Mapping[str, Difference]
    """By the names in `FIGURES`."""
    table: _RightAnswers
    mcnemar: McNemar
    identical: bool
    """True if all answers and probabilities are the same."""
    changed: int
    """Documents with different answers."""
    changes: tuple[DisagreementCount, ...]
    """The most frequent first."""

    @property
    def b_is_better(self) -> bool:
        """Return whether B is right about more documents than A, beyond chance."""
        return (
            bool(self.differences["accuracy"].beyond_chance)
            and self.table.only_b_right > self.table.only_a_right
        )


@dataclass(frozen=True)
class _Comparison:
    """The judgements of two models on the same documents, in the same order; labels are compared by name."""

    a: Evaluation
    b: Evaluation
    disagreements: list[Disagreement] = field(default_factory=list)
    """The documents with different answers, in order, if they were to be kept."""

    def result(self, bootstrap: Bootstrap = Bootstrap()) -> ComparisonResult:
        """Return all figures, with 95 % intervals from as many replicates as ``bootstrap`` has."""
        index = self.a.kind.make_label_index(sorted({*self.a.classes, *self.b.classes}))
        sides = (
            (self.a, self.a.documents.truth),
            (self.a, self.a.documents.predicted),
            (self.b, self.b.documents.predicted),
        )
        of_documents = [_by_name(labels, side.classes, index.labels) for side, labels in sides]
        sets = sorted(
            {labels for each in of_documents for labels in each.table.to_tuples()},
            key=mask_sort_key,
        )
        index.renumber(
            DocumentLabels.from_sets(sets, len(index.labels))
        )  # in the order of labels, not in which they came
        truth, of_a, of_b = (index.renumber(each).indices.astype(np.int64) for each in of_documents)
        names = [format_label_indices(labels, index.labels) for labels in index.table.to_tuples()]
        cells = _count_prediction_cells((truth, of_a, of_b), len(names))
        right_a = cells.truth == cells.a
        right_b = cells.truth == cells.b
        groups = (right_a & right_b, right_a & ~right_b, right_b & ~right_a, ~right_a & ~right_b)
        table = _RightAnswers(*(int(cells.documents[chosen].sum()) for chosen in groups))
        p_value = compute_mcnemar_p_value(table.only_a_right, table.only_b_right)
        side_a, side_b = (_side(evaluation) for evaluation in (self.a, self.b))
        with np.errstate(invalid="ignore"):  # ∞ − ∞ is nan, and the difference undefined
            losses = {
                name: getattr(self.b.documents, name) - getattr(self.a.documents, name)
                for name in ("log_loss", "brier")
            }
        replicates = {
            **bootstrap_differences(cells, bootstrap, index.table),
            **{name: bootstrap_mean(loss, bootstrap) for name, loss in losses.items()},
        }
        changes = _changes(cells, names)
        n_changed = sum(change.documents for change in changes)
        differing = {
            "macro_f1": n_changed,
            **{name: int(np.count_nonzero(loss)) for name, loss in losses.items()},
        }
        differences = {
            name: _difference(
                getattr(side_a, name),
                getattr(side_b, name),
                replicates.get(name),
                differing.get(name, 0),
            )
            for name in COMPARED_METRICS
        }
        differences["accuracy"] = replace(
            differences["accuracy"], beyond_chance=p_value < SIGNIFICANCE
        )
        return ComparisonResult(
            n=self.a.n,
            a=side_a,
            b=side_b,
            differences=differences,
            table=table,
            mcnemar=McNemar(p_value),
            identical=not n_changed and not losses["brier"].any(),
            changed=n_changed,
            changes=changes,
        )


def compare_on_documents(
    a: TextClassifier,
    b: TextClassifier,
    documents: Iterable[Document],
    *,
    keep_disagreements: bool = False,
) -> _Comparison:
    """Compare two models on a stream of labelled documents, read once; each analyses them with its own settings.

    A document that is impossible under every class has no answer, and counts as if all classes were equally probable. Raises `UsageError` if
    there is no document.
    """
    first, second = (make_evaluation(model.fitted.statistics, max_scores=0) for model in (a, b))
    comparison = _Comparison(first, second)
    for block in split_into_blocks(
        documents,
        count_document_bytes,
        min(a.fitted.max_block_documents, b.fitted.max_block_documents),
    ):
        of_a, of_b = (
            _judged(model, evaluation, block)
            for model, evaluation in ((a, comparison.a), (b, comparison.b))
        )
        if keep_disagreements:
            rows = zip(block, of_a, of_b, strict=True)
            comparison.disagreements.extend(
                Disagreement(document.id, format_label(document.label or ""), *x, *y)
                for document, x, y in rows
                if x[0] != y[0]
            )
    if not comparison.a.n:
        raise NoDocumentsError
    return comparison


def _by_name(labels: DocumentLabels, classes: Names, names: Names) -> DocumentLabels:
    """Return labels that are numbered as in ``classes`` with the numbers that they have in ``names``."""
    place = {name: number for number, name in enumerate(names)}
    places = [place[name] for name in classes]
    sets = [sorted(places[label] for label in members) for members in labels.table.to_tuples()]
    return DocumentLabels(labels.indices, LabelTable.from_sets(sets, len(place)))


def _count_prediction_cells(numbers: Sequence[Ints], n_names: int) -> _PredictionCells:
    """Count documents by truth and both answers."""
    (truth, a, b), shape = numbers, (n_names, n_names + 1, n_names + 1)
    keys, documents = np.unique(
        np.ravel_multi_index((truth, a + 1, b + 1), shape), return_counts=True
    )
    truth, a, b = np.unravel_index(keys, shape)
    return _PredictionCells(truth, a - 1, b - 1, documents)


def compute_mcnemar_p_value(only_a: int, only_b: int) -> float:
    """Return the probability that n = only_a + only_b fair coins fall at least as unevenly, min(1, 2 Σ_{i ≤ min(only_a, only_b)} C(n, i) / 2ⁿ).

    McNemar's test in the exact binomial form, which Dietterich (1998, section 3.1) approximates. Relative error about 1e-9 for a million
    documents.
    """
    if only_a == only_b:
        return 1.0
    n = only_a + only_b
    fewer = min(only_a, only_b)
    largest = exp(lgamma(n + 1) - lgamma(fewer + 1) - lgamma(n - fewer + 1) - n * log(2))
    i = np.arange(fewer, 0, -1)
    others = np.cumprod(i / (n - i + 1)).sum()  # C(n, i − 1) / C(n, i) = i / (n − i + 1)
    return min(1.0, 2 * largest * (1 + float(others)))


def bootstrap_differences(
    cells: _PredictionCells, bootstrap: Bootstrap, table: LabelTable
) -> dict[str, Floats]:
    """Return replicates of the differences of accuracy and of macro F1, each of shape (n_replicates,); ``table`` has the labels of each set."""
    sides = [
        ConfusionCells.from_counts(
            cells.truth, answer, cells.documents, table
        ).renumber_present_labels()
        for answer in (cells.a, cells.b)
    ]
    right_a = cells.truth == cells.a
    right_b = cells.truth == cells.b
    n = cells.documents.sum()
    n_labels = sum(present for _, present in sides)
    parts = []
    for drawn in bootstrap.draw_cells(cells.documents, cells.documents.size + 3 * n_labels):
        of_a, of_b = (side.sum_margins(present, drawn) for side, present in sides)
        parts.append(
            (
                drawn @ right_b / n - drawn @ right_a / n,
                macro(f1(of_b), of_b) - macro(f1(of_a), of_a),
            )
        )
    return dict(
        zip(("accuracy", "macro_f1"), map(np.concatenate, zip(*parts, strict=True)), strict=True)
    )


def bootstrap_mean(values: Floats, bootstrap: Bootstrap) -> Floats | None:
    """Return replicates of the mean of values, shape (n_docs,); None if one is not finite."""
    if not np.isfinite(values).all():
        return None
    values = np.sort(values)  # so that rounding does not depend on the order of documents
    width = (float(values.std()) or 1.0) / BINS_PER_DEVIATION
    _, which, documents = np.unique(
        np.floor(values / width), return_inverse=True, return_counts=True
    )
    means = np.bincount(which, values) / documents
    return np.concatenate(
        [drawn @ means / values.size for drawn in bootstrap.draw_cells(documents, documents.size)]
    )


def _judged(
    model: TextClassifier, evaluation: Evaluation, documents: Sequence[Document]
) -> list[tuple[str | None, float | None]]:
    """Judge some documents; return their answers with their probabilities, as `nbtext.evaluation.evaluate.evaluate_scored_blocks` takes them."""
    found: list[tuple[str | None, float | None]] = []
    for block in score_documents(model.fitted, documents):
        probabilities = block.posterior.decide(DecisionRule()).probabilities.tolist()
        answers = block.posterior.predict(DecisionRule())
        evaluation.add(block.labels, block.posterior, answers)
        labels = answers.to_texts(model.classes)
        found += [
            (label, p) if label else (None, None)
            for label, p in zip(labels, probabilities, strict=True)
        ]
    return found


def _side(evaluation: Evaluation) -> SideResult:
    result = evaluation.result(Bootstrap(0))
    intervals = {"accuracy": result.intervals["accuracy"]}
    return SideResult(
        **{name: getattr(result, name) for name in COMPARED_METRICS},
        intervals=intervals,
        unknown_labels=result.unknown_labels,
    )


def _changes(cells: _PredictionCells, names: Names) -> tuple[DisagreementCount, ...]:
    differ = np.flatnonzero(cells.a != cells.b)
    rows = zip(*(column[differ].tolist() for column in cells), strict=True)
    labels = [*names, None]  # −1, no answer, is the last
    changes = (
        DisagreementCount(names[truth], labels[a] or None, labels[b] or None, documents)
        for truth, a, b, documents in rows
    )
    return tuple(sorted(changes, key=lambda change: -change.documents))


def _difference(
    a: float | None, b: float | None, replicates: Floats | None, differing: int
) -> Difference:
    """Return B − A; it is beyond chance if its interval excludes zero and at least `FEWEST` documents differ."""
    if a is None or b is None:
        return Difference()
    if replicates is None:
        return Difference(b - a)
    low, high = percentile_interval(replicates, b - a)
    return Difference(
        b - a, (low, high), differing >= MIN_DIFFERING_DOCUMENTS and (low > 0 or high < 0)
    )
