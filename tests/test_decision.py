"""From scores to probabilities and answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from nbtext.decision import log_odds, log_posterior, minimum_error
from tests import oracle

score = st.floats(-1e6, 1e3)
rows = st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(st.one_of(score, st.just(-math.inf)), min_size=n, max_size=n), max_size=4))


def table(found: list[list[float]]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array(found, float).reshape(len(found), len(found[0]) if found else 3)


@given(rows)
def test_posteriors_are_the_slow_twins_and_nan_where_nothing_is_possible(joint: list[list[float]]) -> None:
    found = log_posterior(table(joint)).tolist()
    for given_row, row in zip(joint, found, strict=True):
        if max(given_row) == -math.inf:
            assert all(map(math.isnan, row))
        else:
            wanted = oracle.log_posterior(dict(enumerate(given_row)))  # type: ignore[arg-type]
            assert row == pytest.approx(list(wanted.values()), rel=1e-12, abs=1e-12)
            assert math.fsum(map(math.exp, row)) == pytest.approx(1, rel=1e-12)


@given(st.floats(-500, 500), st.floats(-1e5, 1e5))
def test_two_classes_have_the_sigmoid_of_their_log_odds(log_odds: float, common: float) -> None:
    joint = table([[common, common + log_odds]])
    assert np.exp(log_posterior(joint))[0, 1] == pytest.approx(expit(joint[0, 1] - joint[0, 0]), rel=1e-11)


@given(rows)
def test_the_answer_is_the_first_of_the_most_probable_classes_or_none(joint: list[list[float]]) -> None:
    answers = minimum_error(log_posterior(table(joint))).tolist()
    for row, posterior, answer in zip(joint, log_posterior(table(joint)).tolist(), answers, strict=True):
        assert answer == (-1 if max(row) == -math.inf else posterior.index(max(posterior)))


def test_even_scores_far_below_the_smallest_number_have_a_posterior() -> None:
    assert np.exp(log_posterior(table([[-1e6, -1e6 + math.log(3)]]))).tolist() == [pytest.approx([1 / 4, 3 / 4], rel=1e-9)]
    assert log_posterior(table([[-1e6, 0.0]]))[0, 0] == -1e6


def test_equal_scores_give_the_first_class() -> None:
    assert minimum_error(log_posterior(table([[-3, -2, -2], [-1, -1, -1]]))).tolist() == [1, 0]


@given(rows)
def test_posteriors_are_the_sigmoids_of_log_odds(joint: list[list[float]]) -> None:
    posterior = log_posterior(table([row for row in joint if max(row) > -math.inf]))
    assert expit(log_odds(posterior)) == pytest.approx(np.exp(posterior), rel=1e-9, abs=1e-300)


@given(score, score)
def test_the_log_odds_of_two_classes_are_the_difference_of_their_scores(first: float, second: float) -> None:
    found = log_odds(log_posterior(np.array([[first, second]])))[0].tolist()
    assert found == pytest.approx([first - second, second - first], rel=1e-9, abs=1e-9)


def test_the_log_odds_of_an_only_class_are_infinite_and_of_no_class_undefined() -> None:
    assert log_odds(np.array([[0.0]])).tolist() == [[math.inf]]
    assert np.isnan(log_odds(np.array([[math.nan, math.nan]]))).all()
