"""How far documents of one time are from those of training: scipy's tests as oracles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from nbtext.typicality import FARTHEST, Profile, Spread, chance_of_shares, shares_apart

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)
COUNTS = arrays(np.int64, st.just(4), elements=st.integers(0, 1000))


@given(VALUES, VALUES)
def test_a_distance_is_in_standard_deviations_of_training(run: list[float], training: list[float]) -> None:
    mine, theirs = Spread.of(np.array(run)), Spread.of(np.array(training))
    assert mine.mean == pytest.approx(np.mean(run), rel=1e-8, abs=1e-8)
    assert mine.deviation == pytest.approx(np.std(run), rel=1e-8, abs=1e-8)
    distance = mine.distance(theirs)
    assert distance is not None
    if theirs.deviation > 1e-3:
        assert distance == pytest.approx(abs(mine.mean - theirs.mean) / theirs.deviation)
    assert theirs.distance(theirs) == 0
    assert theirs.chance(theirs) == 1


def test_chance_is_that_of_welchs_test() -> None:
    random = np.random.default_rng(0)
    for shift in (0, 0.05, 0.2):
        run, training = random.normal(shift, 1.5, 4000), random.normal(0, 1, 3000)
        wanted = stats.ttest_ind(run, training, equal_var=False).pvalue
        assert Spread.of(run).chance(Spread.of(training)) == pytest.approx(wanted, rel=0.02)


def test_few_documents_alike_do_not_prove_that_anything_moved() -> None:
    training = Spread(1000, 0.0, 1.0)
    assert Spread(1, 1.0, 0.0).chance(training) > 0.3
    assert Spread(3, 9.0, 0.0).chance(training) < 1e-9


def test_where_there_is_nothing_to_compare() -> None:
    none, constant = Spread.of(np.array([math.nan, math.inf])), Spread(5, 2.0, 0.0)
    assert none == Spread(0, 0.0, 0.0)
    assert (none.distance(constant), constant.distance(none), none.chance(constant)) == (None, None, 1)
    assert Spread(1, 3.0, 0.0).distance(constant) == FARTHEST
    assert Spread(1, 3.0, 0.0).chance(constant) == 0


@given(COUNTS, COUNTS)
def test_answers_are_compared_by_total_variation_and_chi2(run: Any, training: Any) -> None:
    if not run.any() or not training.any():
        assert shares_apart(run, training) is None
        assert chance_of_shares(run, training) == 1
        return
    assert shares_apart(run, training) == pytest.approx(np.maximum(run / run.sum() - training / training.sum(), 0).sum())
    used = (run + training) > 0
    if used.sum() > 1:
        wanted = stats.chi2_contingency(np.stack((run, training))[:, used], correction=False).pvalue
        assert chance_of_shares(run, training) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


def test_a_profile_of_documents() -> None:
    tokens, unknown = np.array([4, 0, 10]), np.array([1, 0, 10])
    profile = Profile.of(tokens, unknown, np.array([-2.0, 0.0, -4.0]), np.array([0, -1, 2]), 3)
    assert profile.figures["unknown"].mean == pytest.approx((0.25 + 1) / 2)
    assert profile.figures["log_likelihood"] == Spread(2, -3.0, 1.0)
    assert profile.figures["length"].documents == 3
    assert profile.answers.tolist() == [1, 0, 1]
