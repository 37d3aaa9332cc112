"""Draws against the distributions that they are said to come from. Seeds are fixed, so nothing here fails by chance."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from nbtext.language_model.sampling import (
    Categorical,
    draw_beta,
    draw_dirichlet,
    random_source,
)

LEAST = 1e-3
"""Of p-values: each test here has a right answer under which one in a thousand seeds would fail."""


def test_categorical_draws_have_their_probabilities_and_none_has_no_weight() -> None:
    weights = np.array([0.0, 3.0, 0.0, 1.0, 6.0, 0.0])
    drawn = np.bincount(Categorical(weights).draw(100_000, random_source(1)), minlength=6)
    assert drawn[weights == 0].sum() == 0
    assert scipy.stats.chisquare(drawn[weights > 0], 1e5 * weights[weights > 0] / weights.sum()).pvalue > LEAST


def test_a_draw_at_the_very_end_is_the_last_that_has_weight() -> None:
    class Highest:
        def random(self, size: int) -> np.ndarray:
            return np.full(size, 1 - 2.0**-53)

    weights = np.array([0.1] * 3 + [0.0])
    assert Categorical(weights).draw(2, Highest()).tolist() == [2, 2]  # type: ignore[arg-type]


@pytest.mark.parametrize("alpha", [[1.0, 1.0, 1.0], [0.05, 3.0, 0.5, 20.0]])
def test_components_of_a_dirichlet_draw_are_beta(alpha: list[float]) -> None:
    drawn = np.array([draw_dirichlet(np.array(alpha), random_source(4, number)) for number in range(3000)])
    assert np.allclose(drawn.sum(axis=1), 1)
    for column, value in zip(drawn.T, alpha, strict=True):
        assert scipy.stats.kstest(column, scipy.stats.beta(value, sum(alpha) - value).cdf).pvalue > LEAST


def test_with_tiny_parameters_nearly_all_goes_to_one_component_as_often_as_its_share_says() -> None:
    drawn = np.array([draw_dirichlet(np.array([1e-4, 3e-4]), random_source(4, number)) for number in range(3000)])
    assert scipy.stats.binomtest(int((drawn[:, 0] > 0.5).sum()), 3000, 0.25).pvalue > LEAST
    assert (drawn.max(axis=1) > 0.999).mean() > 0.99


def test_beta_draws_are_beta_and_sure_where_one_side_is_zero() -> None:
    a, b = np.array([0.1, 2.0, 30.0, 0.0, 4.0]), np.array([5.0, 0.5, 30.0, 4.0, 0.0])
    drawn = np.array([draw_beta(a, b, random_source(5, number)) for number in range(3000)])
    for number in range(3):
        assert scipy.stats.kstest(drawn[:, number], scipy.stats.beta(a[number], b[number]).cdf).pvalue > LEAST
    assert set(drawn[:, 3]) == {0.0}
    assert set(drawn[:, 4]) == {1.0}


def test_tiny_pseudo_counts_still_give_a_distribution_and_a_zero_none() -> None:
    drawn = draw_dirichlet(np.array([1e-9, 0.0, 1e-9]), random_source(6))
    assert drawn[1] == 0
    assert sorted(drawn[[0, 2]].tolist()) == [0.0, 1.0]


def test_streams_are_the_same_each_time_and_differ_by_seed_and_number() -> None:
    numbers = {arguments: random_source(*arguments).random(3).tolist() for arguments in [(7,), (8,), (7, 0), (7, 1)]}
    assert len({tuple(row) for row in numbers.values()}) == 4
    assert numbers[7,] == np.random.Generator(np.random.PCG64(7)).random(3).tolist()
