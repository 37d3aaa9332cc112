"""Credible intervals: scipy's Beta, draws of scipy's Dirichlet, and the numbers of a small table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, dirichlet

from nbtext.language_model.dirichlet import beta_posteriors, beta_shares, credible_intervals
from tests.building import language_models, statistics_from_table

TABLE = np.array([[7, 0], [2, 5], [0, 3], [1, 40]])
STATISTICS = statistics_from_table(TABLE.tolist(), [9, 9], np.minimum(TABLE, 1).tolist())


@pytest.mark.parametrize("shape", ["symmetric", "background"])
@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_it_is_scipys_beta(shape: str, estimate: str) -> None:
    found = credible_intervals(language_models(STATISTICS, 0.5, shape, estimate), np.arange(4))
    assert found.shape == (4, 2, 2)
    for j in range(4):
        for k in range(2):
            share = 1 if shape == "symmetric" else TABLE[j].sum() / TABLE.sum()
            a = TABLE[j, k] + 0.5 * share + (estimate == "map")
            rest = TABLE[:, k].sum() + 0.5 * (4 if shape == "symmetric" else 1) + 4 * (estimate == "map") - a
            assert found[j, k] == pytest.approx(beta.ppf([0.025, 0.975], a, rest), rel=1e-8)


def test_steps_of_the_posterior_are_those_of_scipys_beta() -> None:
    a, b = beta_posteriors(language_models(STATISTICS, 0.5), np.arange(4))
    assert a == pytest.approx(TABLE + 0.5)
    assert a + b == pytest.approx(np.tile(TABLE.sum(axis=0) + 4 * 0.5, (4, 1)))
    edges = np.linspace(0, 1, 41)
    shares = beta_shares(float(a[1, 0]), float(b[1, 0]), edges)
    assert shares == pytest.approx(np.diff(beta.cdf(edges, 2.5, 9.5)))
    assert shares.sum() == pytest.approx(1)


def test_it_holds_as_much_of_the_posterior_as_it_says() -> None:
    posterior = dirichlet.rvs(TABLE[:, 0] + 1.0, 20000, np.random.default_rng(1))
    ends = credible_intervals(language_models(STATISTICS, 1.0), np.arange(4), 0.8)[:, 0]
    within = ((posterior >= ends[:, 0]) & (posterior <= ends[:, 1])).mean(axis=0)
    assert within == pytest.approx(np.full(4, 0.8), abs=0.015)  # five standard deviations of so many draws


def test_it_is_around_the_mean_and_shorter_with_more_counts() -> None:
    few, many = (
        language_models(statistics_from_table((factor * TABLE).tolist(), [9, 9], np.minimum(TABLE, 1).tolist()), 0.1) for factor in (1, 100)
    )
    short, long = credible_intervals(many, np.arange(4)), credible_intervals(few, np.arange(4))
    assert np.all(np.diff(short, axis=2) < np.diff(long, axis=2))
    mean = many.probability(np.arange(4))
    seen = TABLE > 0
    assert np.all((short[seen, 0] < mean[seen]) & (mean[seen] < short[seen, 1]))


def test_without_a_posterior_there_is_none() -> None:
    assert np.isnan(credible_intervals(language_models(STATISTICS, 0.0, "symmetric", "ml"), np.arange(4))).all()
    without_prior = credible_intervals(language_models(STATISTICS, 0.0), np.arange(4))
    assert np.array_equal(np.isnan(without_prior[..., 0]), TABLE == 0)
