"""Covariances and their shrinkage: Ledoit and Wolf's weight as scikit-learn has it and by the paper's sums, the prior's documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf

from nbtext.classifiers.gaussian import PRIOR_DOCUMENTS_PER_FEATURE, covariances, ledoit_wolf_weight, second_moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def centred(n_documents: int, n_features: int, seed: int = 3) -> Floats:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_documents, n_features)) * random.gamma(1, size=n_features)
    shifted: Floats = rows - rows.mean(axis=0)
    return shifted


@given(n_documents=st.integers(3, 60), n_features=st.integers(2, 12), seed=st.integers(0, 50))
def test_the_weight_is_scikit_learns(n_documents: int, n_features: int, seed: int) -> None:
    rows = centred(n_documents, n_features, seed)
    wanted, weight = ledoit_wolf(rows, assume_centered=True)
    found = ledoit_wolf_weight(rows, second_moments(rows, "full"))
    assert found == pytest.approx(max(weight, 1 / (n_documents + 1)), rel=1e-9)
    if weight >= 1 / (n_documents + 1):
        classes = np.zeros(n_documents, np.int64)
        shared = covariances(rows, rows, classes, 1, separate=False, shape="full", shrinkage=None)
        np.testing.assert_allclose(shared[0], wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_the_weight_is_the_papers_sum_over_documents(shape: str) -> None:
    rows = centred(9, 4)
    moments = second_moments(rows, shape)
    only = np.ones((4, 4)) if shape == "full" else np.eye(4)
    whole = moments if shape == "full" else np.diag(moments)
    noise = sum((((np.outer(row, row) - whole) * only) ** 2).sum() for row in rows) / len(rows) ** 2
    signal = ((whole - np.eye(4) * np.trace(whole) / 4) ** 2).sum()
    assert ledoit_wolf_weight(rows, moments) == pytest.approx(max(min(noise / signal, 1), 1 / 10), rel=1e-12)


def test_of_two_documents_the_weight_is_not_zero() -> None:
    rows = np.array([[1.0, 2.0], [-1.0, -2.0]])
    assert ledoit_wolf_weight(rows, second_moments(rows, "full")) == 1 / 3


def test_a_class_is_drawn_towards_the_shared_covariance_the_more_the_smaller_it_is() -> None:
    sizes = (4, 400)
    classes = np.repeat([0, 1], sizes)
    rows = np.concatenate([centred(size, 2, seed) for seed, size in enumerate(sizes)])
    shared = covariances(rows, rows, classes, 2, separate=False, shape="full", shrinkage=None)[0]
    own = covariances(rows, rows, classes, 2, separate=True, shape="full", shrinkage=None)
    added = 2 * PRIOR_DOCUMENTS_PER_FEATURE
    for label, size in enumerate(sizes):
        wanted = (rows[classes == label].T @ rows[classes == label] + added * shared) / (size + added)
        np.testing.assert_allclose(own[label], wanted, rtol=1e-12)


def test_a_given_weight_is_that_of_both_steps() -> None:
    classes = np.repeat([0, 1], [5, 7])
    rows = np.concatenate([centred(5, 3, 1), centred(7, 3, 2)])
    pooled = rows.T @ rows / 12
    shared = 0.8 * pooled + 0.2 * np.eye(3) * np.trace(pooled) / 3
    own = covariances(rows, rows, classes, 2, separate=True, shape="full", shrinkage=0.2)
    np.testing.assert_allclose(own[0], 0.8 * rows[:5].T @ rows[:5] / 5 + 0.2 * shared, rtol=1e-12)


def test_classes_of_one_document_each_are_as_wide_as_all_documents() -> None:
    rows = np.array([[0.0, 0.0], [2.0, 4.0]])
    found = covariances(np.zeros((2, 2)), rows, np.array([0, 1]), 2, separate=False, shape="full", shrinkage=None)
    assert found.tolist() == [[[2.5, 0], [0, 2.5]]]  # the mean of the variances 1 and 4
