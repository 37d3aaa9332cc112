"""Draws against the distributions that they are said to come from. Seeds are fixed, so nothing here fails by chance."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from nbtext.language_model.dirichlet import LanguageModels
from nbtext.language_model.sampling import (
    Categorical,
    compute_dirichlet_posterior,
    compute_predictive_probabilities,
    draw_beta,
    draw_coins,
    draw_dirichlet,
    draw_length,
    expand_class_cells,
    make_random_generator,
)
from tests.count_tables import statistics_of

DOCUMENTS = [("a", ["ant", "ant", "bee"]), ("b", ["bee", "cat", "cat", "cat"]), ("b", ["ant"])]
LEAST = 1e-3
"""Of p-values: each test here has a right answer under which one in a thousand seeds would fail."""


def test_categorical_draws_have_their_probabilities() -> None:
    weights = np.array([0.0, 3.0, 0.0, 1.0, 6.0, 0.0])
    drawn = np.bincount(Categorical(weights).draw(100_000, make_random_generator(1)), minlength=6)
    assert drawn[weights == 0].sum() == 0
    assert (
        scipy.stats.chisquare(drawn[weights > 0], 1e5 * weights[weights > 0] / weights.sum()).pvalue
        > LEAST
    )


def test_largest_random_number_draws_the_last_weighted_value() -> None:
    class Highest:
        def random(self, size: int) -> np.ndarray:
            return np.full(size, 1 - 2.0**-53)

    weights = np.array([0.1] * 3 + [0.0])
    assert Categorical(weights).draw(2, Highest()).tolist() == [2, 2]  # type: ignore[arg-type]


def test_coins_show_heads_with_their_probability() -> None:
    probability, random = np.array([0.0, 0.1, 0.5, 1.0]), make_random_generator(2)
    heads = np.bincount(
        np.concatenate([draw_coins(probability, random) for _ in range(20_000)]), minlength=4
    )
    assert heads[[0, 3]].tolist() == [0, 20_000]
    for number in (1, 2):
        assert scipy.stats.binomtest(int(heads[number]), 20_000, probability[number]).pvalue > LEAST


def test_lengths_are_poisson_with_zero_replaced_by_one() -> None:
    random = make_random_generator(3)
    drawn = np.bincount([draw_length(2.5, random) for _ in range(20_000)], minlength=10)
    wanted = 20_000 * scipy.stats.poisson.pmf(np.arange(10), 2.5)
    wanted[1] += wanted[0]
    wanted[9] = 20_000 - wanted[1:9].sum()
    observed = np.append(drawn[1:9], drawn[9:].sum())
    assert drawn[0] == 0
    assert scipy.stats.chisquare(observed, wanted[1:]).pvalue > LEAST
    assert draw_length(0.0, random) == 1


@pytest.mark.parametrize("alpha", [[1.0, 1.0, 1.0], [0.05, 3.0, 0.5, 20.0]])
def test_dirichlet_components_follow_a_beta(alpha: list[float]) -> None:
    drawn = np.array(
        [
            draw_dirichlet(np.array(alpha), make_random_generator(4, number))
            for number in range(3000)
        ]
    )
    assert np.allclose(drawn.sum(axis=1), 1)
    for column, value in zip(drawn.T, alpha, strict=True):
        assert (
            scipy.stats.kstest(column, scipy.stats.beta(value, sum(alpha) - value).cdf).pvalue
            > LEAST
        )


def test_tiny_dirichlet_parameters_give_one_component_nearly_everything() -> None:
    drawn = np.array(
        [
            draw_dirichlet(np.array([1e-4, 3e-4]), make_random_generator(4, number))
            for number in range(3000)
        ]
    )
    assert scipy.stats.binomtest(int((drawn[:, 0] > 0.5).sum()), 3000, 0.25).pvalue > LEAST
    assert (drawn.max(axis=1) > 0.999).mean() > 0.99


def test_beta_draws_follow_a_beta_and_are_certain_if_one_side_is_zero() -> None:
    a, b = np.array([0.1, 2.0, 30.0, 0.0, 4.0]), np.array([5.0, 0.5, 30.0, 4.0, 0.0])
    drawn = np.array([draw_beta(a, b, make_random_generator(5, number)) for number in range(3000)])
    for number in range(3):
        assert (
            scipy.stats.kstest(drawn[:, number], scipy.stats.beta(a[number], b[number]).cdf).pvalue
            > LEAST
        )
    assert set(drawn[:, 3]) == {0.0}
    assert set(drawn[:, 4]) == {1.0}


def test_tiny_pseudo_counts_give_a_distribution_and_zero_gives_none() -> None:
    drawn = draw_dirichlet(np.array([1e-9, 0.0, 1e-9]), make_random_generator(6))
    assert drawn[1] == 0
    assert sorted(drawn[[0, 2]].tolist()) == [0.0, 1.0]


def test_random_streams_are_reproducible_and_differ_by_seed_and_number() -> None:
    numbers = {
        arguments: make_random_generator(*arguments).random(3).tolist()
        for arguments in [(7,), (8,), (7, 0), (7, 1)]
    }
    assert len({tuple(row) for row in numbers.values()}) == 4
    assert numbers[7,] == np.random.Generator(np.random.PCG64(7)).random(3).tolist()


@pytest.mark.parametrize("estimate", ["mean", "map", "ml"])
@pytest.mark.parametrize("shape", ["symmetric", "background"])
def test_class_columns_match_the_language_models(estimate: str, shape: str) -> None:
    statistics = statistics_of(DOCUMENTS)
    models = LanguageModels(
        statistics, np.ones(3, np.bool_), 0.0 if estimate == "ml" else 0.5, shape, estimate
    )
    terms = np.array([0, 2])
    for label in range(2):
        assert (
            compute_predictive_probabilities(models, terms, label).tolist()
            == models.compute_probability(terms)[:, label].tolist()
        )
    assert expand_class_cells(statistics, statistics.cell_documents, 1).tolist() == [1.0, 1.0, 1.0]


def test_mean_and_mode_of_the_posterior_match_the_estimates() -> None:
    statistics, terms = statistics_of(DOCUMENTS), np.arange(3)
    mean, mode = (
        LanguageModels(statistics, np.ones(3, np.bool_), 0.5, "symmetric", estimate)
        for estimate in ("mean", "map")
    )
    for label in range(2):
        alpha = compute_dirichlet_posterior(mean, terms, label)
        assert np.allclose(
            alpha / alpha.sum(), compute_predictive_probabilities(mean, terms, label)
        )
        alpha = compute_dirichlet_posterior(mode, terms, label)
        assert np.allclose(
            (alpha - 1) / (alpha.sum() - 3), compute_predictive_probabilities(mode, terms, label)
        )
