"""The Jensen–Shannon divergence: numbers by hand, scipy, and what holds of every pair."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from nbtext.language_model import measures as divergence
from nbtext.language_model.measures import jensen_shannon, jensen_shannon_parts
from tests import strategies
from tests.building import language_models, statistics_from_table, statistics_of
from tests.textbook import CHINA

if TYPE_CHECKING:
    from tests.oracle import Labelled


def test_by_hand() -> None:
    apart = jensen_shannon_parts(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert apart == pytest.approx([math.log(2) / 2] * 2)
    # p = (1/2, 1/2), q = (1/4, 3/4), m = (3/8, 5/8)
    parts = jensen_shannon_parts(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    first = (0.5 * math.log(4 / 3) + 0.25 * math.log(2 / 3)) / 2
    second = (0.5 * math.log(4 / 5) + 0.75 * math.log(6 / 5)) / 2
    assert parts == pytest.approx([first, second])


def test_china_and_japan() -> None:
    """Example 13.1 of IIR with its smoothing: six terms, φ = (6, 2, 2, 2, 1, 1)/14 and (2, 1, 1, 1, 2, 2)/9."""
    yes, no = np.array([2, 6, 1, 2, 2, 1]) / 14, np.array([1, 2, 2, 1, 1, 2]) / 9
    found = jensen_shannon(language_models(statistics_of(CHINA), smoothing=1), np.array([0, 1]))
    assert found == pytest.approx(np.array([[0, 1], [1, 0]]) * jensenshannon(yes, no) ** 2)


@given(strategies.corpora, st.floats(0.01, 2), st.sampled_from(["symmetric", "background"]), st.sampled_from([1, 7, 1 << 18]))
def test_every_pair_is_what_scipy_makes_of_it(documents: list[Labelled], smoothing: float, shape: str, at_once: int) -> None:
    statistics = statistics_of(documents)
    if not statistics.n_terms:
        return
    models = language_models(statistics, smoothing, shape)
    classes = np.arange(statistics.n_classes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergence, "CACHED_CELLS", at_once)
        found = jensen_shannon(models, classes)
    probability = models.probability(np.arange(statistics.n_terms))
    with np.errstate(invalid="ignore"):  # scipy's root of what rounding made negative
        expected = [[np.nan_to_num(jensenshannon(probability[:, a], probability[:, b])) ** 2 for b in classes] for a in classes]
    assert found == pytest.approx(np.array(expected), abs=1e-12)
    assert np.array_equal(found, found.T)
    assert (found >= 0).all()
    assert (found <= math.log(2) + 1e-12).all()
    assert jensen_shannon(models, classes[::-1]) == pytest.approx(found[::-1, ::-1], abs=1e-12)


def test_equal_classes_are_exactly_equal_and_an_empty_one_has_no_distribution() -> None:
    statistics = statistics_from_table([[2, 2, 0], [1, 1, 0]], [1, 1, 1], [[1, 1, 0], [1, 1, 0]])
    found = jensen_shannon(language_models(statistics, estimate="ml"), np.arange(3))
    assert found[:2, :2].tolist() == [[0, 0], [0, 0]]
    assert np.isnan(found[2]).all()
    assert np.isnan(found[:, 2]).all()
