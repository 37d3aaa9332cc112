"""Regions of two numbers: the predictions of the model, boundaries of scikit-learn, and refusals."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.inspection.regions import MAX_POINTS, N_CELLS, compute_centres, find_regions

if TYPE_CHECKING:
    from nbtext.inspection.regions import Regions

Row = dict[str, Any]


def draw_rows(n: int = 60) -> tuple[list[Row], list[str]]:
    random = np.random.default_rng(4)
    rows, labels = [], []
    for number in range(n):
        centre = ((0, 0), (3, 1), (0, 4))[number % 3]
        x, y = (round(float(value), 3) for value in random.normal(centre, (1, 1.5)))
        rows.append({"x": x, "y": y})
        labels.append("abc"[number % 3])
    return rows, labels


ROWS, LABELS = draw_rows()


def list_centres(regions: Regions) -> list[tuple[float, float]]:
    """The centres of the cells in the order of the flat array."""
    x, y = (compute_centres(*ends).tolist() for ends in regions.bounds)
    return [(x_value, y_value) for y_value, x_value in product(y, x)]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"classifier": "gaussian"},
        {"classifier": "gaussian", "covariance": "separate", "shrinkage": 0},
        {"classifier": "logistic"},
    ],
)
def test_cells_have_the_predictions_of_the_model(settings: dict[str, Any]) -> None:
    model = TextClassifier(numeric="x,y", **settings).fit(ROWS, LABELS)
    regions = find_regions(model)
    assert (regions.names, regions.labels) == (("x", "y"), ["a", "b", "c"])
    asked = [{"x": x, "y": y} for x, y in list_centres(regions)[::97]]
    predicted = [regions.labels[index] for index in regions.cells.ravel()[::97]]
    assert predicted == model.predict(asked).tolist()
    assert sorted(map(tuple, regions.points.tolist())) == sorted((r["x"], r["y"]) for r in ROWS)
    by_point = {(row["x"], row["y"]): label for row, label in zip(ROWS, LABELS, strict=True)}
    for point, index in zip(regions.points.tolist(), regions.point_labels.tolist(), strict=True):
        assert by_point[tuple(point)] == regions.labels[index]
    assert np.all(regions.points > regions.bounds[:, 0])
    assert np.all(regions.points < regions.bounds[:, 1])


def test_boundaries_of_a_shared_covariance_are_those_of_scikit_learn() -> None:
    model = TextClassifier(classifier="gaussian", numeric="x,y", shrinkage=0).fit(ROWS, LABELS)
    regions = find_regions(model)
    points = [(row["x"], row["y"]) for row in ROWS]
    oracle = LinearDiscriminantAnalysis(solver="lsqr").fit(points, LABELS)
    predicted = np.array(regions.labels)[regions.cells.ravel()]
    assert np.mean(predicted == oracle.predict(list_centres(regions))) > 0.9995


def test_equal_values_have_a_range_around_them() -> None:
    rows = [{"x": 1, "y": 2}, {"x": 1, "y": 2}]
    regions = find_regions(TextClassifier(numeric="x,y").fit(rows, ["a", "b"]))
    assert regions.bounds.tolist() == [[0, 2], [1, 3]]
    assert regions.cells.shape == (N_CELLS, N_CELLS)


def test_incomplete_documents_are_omitted_and_many_are_sampled() -> None:
    rows, labels = draw_rows(MAX_POINTS + 60)
    rows[0]["x"] = None
    regions = find_regions(TextClassifier(numeric="x,y").fit(rows, labels))
    assert (len(regions.points), regions.n_documents) == (MAX_POINTS, MAX_POINTS + 59)
    backwards = find_regions(TextClassifier(numeric="x,y").fit(rows[::-1], labels[::-1]))
    assert sorted(backwards.points.tolist()) == sorted(regions.points.tolist())


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"numeric": "x"}, "not of 1 numeric column"),
        ({"numeric": "x,y,z"}, "not of 3 numeric columns"),
        ({"numeric": "x", "count": "y"}, "not of 1 count column and 1 numeric column"),
        ({"numeric": "x,y", "categorical": "z"}, "not of 1 categorical column and 2 numeric"),
    ],
)
def test_models_of_other_columns_are_refused(settings: dict[str, Any], found: str) -> None:
    rows = [{"x": 1, "y": 2, "z": 3}, {"x": 4, "y": 5, "z": 6}, {"x": 2, "y": 1, "z": 0}]
    model = TextClassifier(**settings).fit(rows, ["a", "b", "a"])
    with pytest.raises(UsageError, match=found):
        find_regions(model)


def test_models_of_text_or_without_documents_are_refused() -> None:
    with pytest.raises(UsageError, match="not of text"):
        find_regions(TextClassifier().fit(["cat", "dog"], ["a", "b"]))
    rows = [{**row, "text": "word"} for row in ROWS]
    with pytest.raises(UsageError, match="not of 2 numeric columns and text"):
        find_regions(TextClassifier(numeric="x,y").fit(rows, LABELS))
    forgetful = TextClassifier(numeric="x,y", keep_documents=0, calibration="none")
    with pytest.raises(UsageError, match="the model keeps none"):
        find_regions(forgetful.fit(ROWS, LABELS))
