"""Several labels of a text, as Python gives them. Also tests `model/text_classifier.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import MultiLabelBinarizer

from nbtext import TextClassifier, UsageError

TEXTS = ["corn rose", "oil fell", "wheat and corn", "hello there", "oil and wheat"] * 4
SETS = [["corn", "grain"], ["crude"], ["grain"], [], ["crude", "grain"]] * 4
NAMES = ["corn", "crude", "grain"]
MATRIX = MultiLabelBinarizer().fit_transform(SETS)
LISTS = TextClassifier().fit(TEXTS, SETS)
ASKED = [*TEXTS[:5], "unknown"]


@pytest.mark.parametrize(
    "labels",
    [
        SETS,
        list(map(tuple, SETS)),
        list(map(set, SETS)),
        list(map(np.array, SETS)),
        pd.Series(SETS),
        pd.DataFrame(MATRIX, columns=NAMES),
    ],
)
def test_label_lists_tuples_sets_arrays_and_data_frames_are_equivalent(labels: Any) -> None:
    model = TextClassifier().fit(TEXTS, labels)
    assert model.classes_.tolist() == NAMES
    assert model.predict_proba(ASKED).tolist() == LISTS.predict_proba(ASKED).tolist()


def test_prediction_is_a_tuple_of_labels() -> None:
    found = LISTS.predict(ASKED)
    assert found.shape == (6,)
    assert found.tolist()[1:5] == [("crude",), ("grain",), (), ("crude", "grain")]
    assert [
        tuple(sorted(answer.labels)) for answer in LISTS.predict_records(ASKED)
    ] == found.tolist()


@pytest.mark.parametrize(
    "labels", [MATRIX, MATRIX.astype(bool), MATRIX.astype(float), csr_matrix(MATRIX)]
)
def test_indicator_matrix_gives_an_indicator_matrix_of_predictions(labels: Any) -> None:
    model = TextClassifier().fit(TEXTS, labels)
    assert model.classes_.tolist() == [0, 1, 2]
    found: Any = model.predict(ASKED)
    assert hasattr(found, "tocsr") == hasattr(labels, "tocsr")
    dense = np.asarray(found.todense() if hasattr(found, "tocsr") else found)
    assert [tuple(np.array(NAMES)[row.astype(bool)]) for row in dense] == LISTS.predict(
        ASKED
    ).tolist()
    assert (
        model.score(TEXTS, labels)
        == LISTS.score(TEXTS, SETS)
        == accuracy_score(MATRIX, model.predict(TEXTS))
    )


def test_indicator_column_without_documents_is_predicted_as_zero(tmp_path: Any) -> None:
    wide = np.insert(MATRIX, 1, 0, axis=1)
    model = TextClassifier().fit(TEXTS, wide)
    assert model.classes_.tolist() == [0, 2, 3]
    assert model.predict(TEXTS).shape == wide.shape
    model.save(str(tmp_path / "m"))
    assert TextClassifier.load(str(tmp_path / "m")).predict(["oil fell"]).tolist() == [(2,)]
    assert clone(model).fit(TEXTS, [["a"]] * 10 + [["b"]] * 10).predict(["oil"]).shape == (1,)


def test_scikit_learn_cross_validates_with_indicator_matrices() -> None:
    assert cross_val_score(TextClassifier(), np.array(TEXTS, object), MATRIX, cv=2).shape == (2,)


def test_partial_fit_and_forget_change_the_labels() -> None:
    halves = TextClassifier().fit(TEXTS[:9], SETS[:9]).partial_fit(TEXTS[9:], SETS[9:])
    assert halves.predict_proba(ASKED).tolist() == LISTS.predict_proba(ASKED).tolist()
    numbers = TextClassifier().fit(TEXTS, [[2, 10], [10], [2], [], [2, 10]] * 4)
    assert numbers.classes_.tolist() == [2, 10]
    assert numbers.score(TEXTS, [[10, 2], [10], [2], [], [2, 10]] * 4) == 1


@pytest.mark.parametrize(
    "labels", [MATRIX * 2, np.array([["crude", "grain"]] * 20), csr_matrix(MATRIX * 0.5)]
)
def test_matrices_of_other_values_are_refused(labels: Any) -> None:
    with pytest.raises(
        UsageError,
        match="labels in two dimensions are 0 or 1; pass one label, or a list of labels, for each text",
    ):
        TextClassifier().fit(TEXTS, labels)
