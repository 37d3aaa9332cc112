"""Two models on the same documents: how far their figures differ, whether chance alone would do that, and which answers changed.

Differences are always those of B less A. Sources: Q. McNemar (1947); T. Dietterich, Approximate statistical tests for comparing supervised
classification learning algorithms (1998); B. Efron, R. Tibshirani, An introduction to the bootstrap (1993), for the intervals: documents are
drawn anew, each with its truth and what both models make of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, lgamma, log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.decision import minimum_error
from nbtext.errors import UsageError
from nbtext.metrics import Evaluation
from nbtext.metrics.intervals import DRAWS_AT_ONCE, Bootstrap, percentile_interval
from nbtext.metrics.outcomes import ConfusionCells, accuracy, f1, macro, outcomes
from nbtext.model.scoring import scored
from nbtext.text.analyzer import blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from nbtext.corpus.document import Document
    from nbtext.model.text_classifier import TextClassifier


BINS_PER_DEVIATION = 64
"""Values closer than a bin count as equal when they are drawn anew, which leaves out 1/(12 · 64²) of their variance."""


DRAW_COSTS = 8
"""Drawing the count of a cell takes as long as drawing so many documents."""


SIGNIFICANCE = 0.05


FEWEST = 6
"""Documents that must differ before a difference counts as more than chance: five all go one way in more than one case of 20."""


FIGURES = ("accuracy", "macro_f1", "log_loss", "brier", "ece")


class Changed(NamedTuple):
    """A document with different answers, and the probability that each model gives its own; None where all classes are impossible."""

    id: str
    truth: str
    a: str | None
    probability_a: float | None
    b: str | None
    probability_b: float | None


class AnswerCells(NamedTuple):
    """Documents counted by truth and both answers, all of shape (n_cells,); an answer is negative where there is none."""

    truth: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    documents: NDArray[np.int64]


@dataclass(frozen=True)
class Comparison:
    """What two models made of the same documents, in the same order; labels are compared by name."""

    a: Evaluation
    b: Evaluation
    changed: list[Changed] = field(default_factory=list)
    """The documents with different answers, in order, if they were to be kept."""

    def summary(self, bootstrap: Bootstrap = Bootstrap()) -> dict[str, Any]:  # noqa: B008 - immutable
        """All figures as plain values. Intervals are 95 % intervals; None where a figure is not finite, or has none."""
        names = sorted({*self.a.classes, *self.b.classes})
        cells = answer_cells(self.a, self.b, names)
        right_a, right_b = cells.truth == cells.a, cells.truth == cells.b
        table = {
            name: int(cells.documents[chosen].sum())
            for name, chosen in (
                ("both_right", right_a & right_b),
                ("only_a_right", right_a & ~right_b),
                ("only_b_right", right_b & ~right_a),
                ("both_wrong", ~right_a & ~right_b),
            )
        }
        p_value = mcnemar(table["only_a_right"], table["only_b_right"])
        of_a, of_b = (_figures(evaluation) for evaluation in (self.a, self.b))
        with np.errstate(invalid="ignore"):  # infinite for both: no difference that could be told
            losses = {name: getattr(self.b.judged, name) - getattr(self.a.judged, name) for name in ("log_loss", "brier")}
        replicates = {**answer_differences(cells, bootstrap), **{name: mean_replicates(of, bootstrap) for name, of in losses.items()}}
        changes = _changes(cells, names)
        n_changed = sum(change["documents"] for change in changes)
        differing = {"macro_f1": n_changed, **{name: int(np.count_nonzero(of)) for name, of in losses.items()}}
        differences = {name: _difference(of_a[name], of_b[name], replicates.get(name), differing.get(name, 0)) for name in FIGURES}
        differences["accuracy"]["beyond_chance"] = p_value < SIGNIFICANCE
        return {
            "n": self.a.n,
            "a": of_a,
            "b": of_b,
            "differences": differences,
            "table": table,
            "mcnemar": {"p_value": p_value},
            "identical": not n_changed and not losses["brier"].any(),
            "changed": n_changed,
            "changes": changes,
        }


def compare(a: TextClassifier, b: TextClassifier, documents: Iterable[Document], *, keep_changed: bool = False) -> Comparison:
    """Compare two models on a stream of labelled documents, read once; each analyses them with its own settings.

    A document that is impossible under every class has no answer, and counts as if all classes were equally probable. Raises `UsageError` if
    there is not one document.
    """
    comparison = Comparison(Evaluation(a.classes_, scores_kept=0), Evaluation(b.classes_, scores_kept=0))
    for block in blocks(documents, lambda document: len(document.text), min(a.documents_at_once, b.documents_at_once)):
        of_a, of_b = (_judged(model, evaluation, block) for model, evaluation in ((a, comparison.a), (b, comparison.b)))
        if keep_changed:
            rows = zip(block, of_a, of_b, strict=True)
            comparison.changed.extend(Changed(document.id, document.label or "", *x, *y) for document, x, y in rows if x[0] != y[0])
    if not comparison.a.n:
        raise UsageError("the corpus has no documents that can be read")
    return comparison


def answer_cells(a: Evaluation, b: Evaluation, names: Sequence[str]) -> AnswerCells:
    """Count documents by truth and both answers, by place among ``names``, which holds the classes of both; sorted."""
    place = {name: number for number, name in enumerate(names)}
    of_a, of_b = (np.array([*(place[name] for name in side.classes), -1], np.int64) for side in (a, b))  # −1: no answer stays none
    radix = len(names) + 1
    key = (of_a[a.judged.truth] * radix + of_a[a.judged.answer] + 1) * radix + of_b[b.judged.answer] + 1
    keys, documents = np.unique(key, return_counts=True)
    return AnswerCells(keys // radix**2, keys // radix % radix - 1, keys % radix - 1, documents.astype(np.int64))


def mcnemar(only_a: int, only_b: int) -> float:
    """McNemar's test: how probable n = only_a + only_b fair coins fall at least as unevenly, min(1, 2 Σ_{i ≤ min(only_a, only_b)} C(n, i) / 2ⁿ).

    The exact binomial form of what Dietterich (1998, section 3.1) approximates. Relative error about 1e-9 for a million documents.
    """
    if only_a == only_b:
        return 1.0
    n, fewer = only_a + only_b, min(only_a, only_b)
    largest = exp(lgamma(n + 1) - lgamma(fewer + 1) - lgamma(n - fewer + 1) - n * log(2))
    i = np.arange(fewer, 0, -1)
    others = np.cumprod(i / (n - i + 1)).sum()  # C(n, i − 1) / C(n, i) = i / (n − i + 1)
    return min(1.0, 2 * largest * (1 + float(others)))


def answer_differences(cells: AnswerCells, bootstrap: Bootstrap) -> dict[str, NDArray[np.float64]]:
    """Replicates of the differences of accuracy and of macro F1, each of shape (n_replicates,)."""
    present, numbers = np.unique(np.concatenate(cells[:3]), return_inverse=True)
    truth, a, b = np.split(numbers - (present[0] < 0), 3)
    n_labels = present.size
    parts = []
    for drawn in _drawn(cells.documents, cells.documents.size + 6 * n_labels, bootstrap):
        of_a, of_b = (outcomes(ConfusionCells(truth, answer, cells.documents), n_labels, drawn) for answer in (a, b))
        parts.append((accuracy(of_b) - accuracy(of_a), macro(f1(of_b), of_b) - macro(f1(of_a), of_a)))
    return dict(zip(("accuracy", "macro_f1"), map(np.concatenate, zip(*parts, strict=True)), strict=True))


def mean_replicates(values: NDArray[np.float64], bootstrap: Bootstrap) -> NDArray[np.float64] | None:
    """Replicates of the mean of values, shape (n_docs,); None if one is not finite."""
    if not np.isfinite(values).all():
        return None
    values = np.sort(values)  # so that rounding does not depend on the order of documents
    width = (float(values.std()) or 1.0) / BINS_PER_DEVIATION
    _, which, documents = np.unique(np.floor(values / width), return_inverse=True, return_counts=True)
    means = np.bincount(which, values) / documents
    return np.concatenate([drawn @ means / values.size for drawn in _drawn(documents, documents.size, bootstrap)])


def _drawn(documents: NDArray[np.int64], size: int, bootstrap: Bootstrap) -> Iterator[NDArray[np.int64]]:
    """Counts of cells when as many documents as there are, are drawn anew, shape (some, n_cells), for all replicates; ``size``: memory for one."""
    generator = np.random.default_rng(bootstrap.seed)
    n, left = int(documents.sum()), bootstrap.replicates_of(DRAW_COSTS * documents.size)
    step = max(DRAWS_AT_ONCE // size, 1)
    while left > 0:
        yield generator.multinomial(n, documents / n, min(step, left))
        left -= step


def _judged(model: TextClassifier, evaluation: Evaluation, documents: Sequence[Document]) -> list[tuple[str | None, float | None]]:
    """Judge some documents; their answers and the probabilities of these, as `nbtext.evaluation.judging.judge` takes them."""
    classes = model.classes_
    made: list[tuple[str | None, float | None]] = []
    for block in scored(model, documents):
        posterior, answers = block.log_posterior, minimum_error(block.log_posterior)
        posterior = np.where(np.isnan(posterior), -np.log(posterior.shape[1]), posterior)
        evaluation.add([document.label or "" for document in block.documents], posterior, answers)
        probabilities = np.exp(posterior.max(axis=1)).tolist()
        made += [(classes[k], p) if k >= 0 else (None, None) for k, p in zip(answers.tolist(), probabilities, strict=True)]
    return made


def _figures(evaluation: Evaluation) -> dict[str, Any]:
    found = evaluation.summary(Bootstrap(0))
    return {
        **{name: found[name] for name in FIGURES},
        "intervals": {"accuracy": found["intervals"]["accuracy"]},
        "unknown_labels": found["unknown_labels"],
    }


def _changes(cells: AnswerCells, names: Sequence[str]) -> list[dict[str, Any]]:
    """Cells in which the answers differ, the largest first."""
    differ = np.flatnonzero(cells.a != cells.b)
    rows = zip(*(column[differ].tolist() for column in cells), strict=True)
    labels = [*names, None]
    changes = [{"truth": labels[t], "a": labels[a], "b": labels[b], "documents": documents} for t, a, b, documents in rows]
    return sorted(changes, key=lambda change: -int(change["documents"]))


def _difference(a: float | None, b: float | None, replicates: NDArray[np.float64] | None, differing: int) -> dict[str, Any]:
    """B less A, its interval, and whether that excludes zero with so many documents differing that it means something."""
    if a is None or b is None:
        return {"difference": None, "interval": None, "beyond_chance": None}
    if replicates is None:
        return {"difference": b - a, "interval": None, "beyond_chance": None}
    low, high = percentile_interval(replicates, b - a)
    return {"difference": b - a, "interval": [low, high], "beyond_chance": differing >= FEWEST and (low > 0 or high < 0)}
