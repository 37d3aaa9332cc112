"""The regions of two numeric columns in which a model predicts each class, on a grid of cells."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.corpus.document import Document
from nbtext.errors import UsageError, format_quantity
from nbtext.prediction.rule import DecisionRule
from nbtext.scoring import iter_answers, score_documents

if TYPE_CHECKING:
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Floats, Ints

N_CELLS = 160
"""Number of cells of the grid in each direction. All predictions take about a second."""

MARGIN = 0.05
"""Width of the margin around the points, relative to the range of the points."""

MAX_POINTS = 1000
"""Number of training documents that are shown. The number does not change the grid."""


class Regions(NamedTuple):
    """Predictions on a grid over two numbers, and training documents in the plane."""

    classifier: str
    """The classifier, for gaussian with its covariance."""
    names: tuple[str, str]
    """The names of the columns: x to the right, y upwards."""
    bounds: Floats
    """Lower and upper end of x, then of y, shape (2, 2)."""
    labels: list[str]
    """The classes of the model, and an empty label for cells without a prediction."""
    cells: Ints
    """Index of the label that is predicted in each cell, shape (`N_CELLS`, `N_CELLS`).

    Rows are from small to large y, columns from small to large x.
    """
    points: Floats
    """x and y of training documents, shape (n, 2)."""
    point_labels: Ints
    """Index of the label of each document, shape (n,)."""
    n_documents: int
    """Number of training documents that have both values."""


def find_regions(model: TextClassifier) -> Regions:
    """Return the regions of a model of exactly two numeric columns, with its training documents.

    Each cell has the label that `nbtext classify` predicts for its centre. Raise `UsageError` for a
    model of other columns or of text, and for a model that keeps no documents.
    """
    _require_two_numbers(model)
    x_name, y_name = model.fitted.statistics.attributes.numeric
    sample = model.counts.sample.documents
    values = sample.matrix.values
    has_both = np.empty(0, np.int64)
    if values is not None:
        has_both = np.flatnonzero(np.isfinite(values).all(axis=1))
    if values is None or not has_both.size:
        raise UsageError(
            "--regions needs training documents that have both numbers, and the model keeps none",
            hint="train without --set keep-documents=0",
        )
    bounds = _find_bounds(values[has_both])
    # The smallest digests are a random sample.
    shown = has_both[np.argsort(sample.hashes[has_both], kind="stable")][:MAX_POINTS]
    predictions = _predict_grid(model, bounds)
    labels = [*model.classes]
    if "" in predictions:
        labels.append("")
    index_by_label = {label: index for index, label in enumerate(labels)}
    cells = np.array([index_by_label[label] for label in predictions])
    return Regions(
        classifier=_describe_classifier(model),
        names=(x_name, y_name),
        bounds=bounds,
        labels=labels,
        cells=cells.reshape(N_CELLS, N_CELLS),
        points=values[shown],
        point_labels=sample.classes[shown],
        n_documents=int(has_both.size),
    )


def _require_two_numbers(model: TextClassifier) -> None:
    """Raise `UsageError` unless documents are two numeric columns and nothing else."""
    names = model.fitted.statistics.attributes
    found = [
        format_quantity(len(columns), f"{kind} column")
        for kind, columns in zip(("categorical", "count", "numeric"), names, strict=True)
        if columns
    ]
    if model.fitted.text_terms.any():
        found.append("text")
    if found != ["2 numeric columns"]:
        raise UsageError(
            "--regions needs a model of two numeric columns without text, not of "
            f"{' and '.join(found)}",
            hint="train with --numeric X,Y and no other columns",
        )


def _describe_classifier(model: TextClassifier) -> str:
    """Return the name of the classifier, for gaussian with its covariance."""
    settings = model.settings
    if settings.classifier != "gaussian":
        return settings.classifier
    return f"gaussian, {settings.covariance} covariance, {settings.covariance_shape}"


def _find_bounds(points: Floats) -> Floats:
    """Return the range of the points with a margin, shape (2, 2)."""
    low = points.min(axis=0)
    high = points.max(axis=0)
    margin = MARGIN * (high - low)
    margin[margin == 0] = 1.0  # all points have the same value
    return np.column_stack((low - margin, high + margin))


def compute_centres(low: float, high: float) -> Floats:
    """Return the centres of `N_CELLS` cells from ``low`` to ``high``."""
    return low + (high - low) * (np.arange(N_CELLS) + 0.5) / N_CELLS


def _predict_grid(model: TextClassifier, bounds: Floats) -> list[str]:
    """Return the class of each cell, row by row from small y. It is empty without a prediction."""
    x_values, y_values = (
        [repr(value) for value in compute_centres(low, high).tolist()] for low, high in bounds
    )
    documents = (Document("", values=(x, y)) for y, x in product(y_values, x_values))
    scored = score_documents(model.fitted, documents)
    answers = iter_answers(scored, model.fitted, DecisionRule())
    return [answer.label or "" for answer in answers]
