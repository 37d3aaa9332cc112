"""Class language models: small counts as fractions, and the slow twin."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.language_model.dirichlet import ESTIMATES, LanguageModels, maximum_a_posteriori, maximum_likelihood, posterior_mean
from tests import oracle, strategies
from tests.budget import examples
from tests.building import language_models, statistics_of
from tests.textbook import CHINA

SHAPES = pytest.mark.parametrize("shape", ["symmetric", "background"])
CLOSE = 1e-12


def probabilities(models: LanguageModels) -> dict[tuple[str, str], float]:
    statistics = models.statistics
    terms = np.flatnonzero(models.selected)
    table = models.probability(terms).tolist()
    names = [statistics.vocabulary.term(number) for number in terms.tolist()]
    return {(k, term): p for term, row in zip(names, table, strict=True) for k, p in zip(statistics.classes, row, strict=True)}


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 20), st.integers(1, 20))
def test_a_coin_is_a_model_of_two_terms_with_a_beta_prior(heads: int, tails: int, a: int, b: int) -> None:
    counts, n, alpha = np.array([heads, tails], float), np.array(float(heads + tails)), np.array([a, b], float)
    assert posterior_mean(counts, n, alpha, a + b)[0] == (heads + a) / (heads + tails + a + b)
    if heads + tails + a + b > 2:
        assert maximum_a_posteriori(counts, n, alpha, a + b, 2)[0] == (heads + a - 1) / (heads + tails + a + b - 2)
    if heads + tails:
        assert maximum_likelihood(counts, n)[0] == heads / (heads + tails)


def test_a_coin_that_fell_on_heads_three_times_is_not_sure_to_do_so_again() -> None:
    heads, n = np.array([3.0, 0.0]), np.array(3.0)
    assert maximum_likelihood(heads, n).tolist() == [1, 0]
    assert posterior_mean(heads, n, 1, 2).tolist() == [4 / 5, 1 / 5]
    assert maximum_a_posteriori(heads, n, 2, 4, 2).tolist() == [4 / 5, 1 / 5]


def test_a_flat_dirichlet_has_its_mode_at_maximum_likelihood_and_its_mean_at_laplace() -> None:
    rolls, n = np.array([2.0, 1, 0, 3, 1, 1]), np.array(8.0)
    assert (
        maximum_a_posteriori(rolls, n, 1, 6, 6).tolist() == maximum_likelihood(rolls, n).tolist() == [2 / 8, 1 / 8, 0, 3 / 8, 1 / 8, 1 / 8]
    )
    assert posterior_mean(rolls, n, 1, 6).tolist() == [3 / 14, 2 / 14, 1 / 14, 4 / 14, 2 / 14, 2 / 14]


def test_the_estimate_of_a_pseudo_count_is_the_mode_under_one_more() -> None:
    counts, n, added = np.array([2.0, 1, 0, 3, 1, 1]), np.array(8.0), np.array([0.5, 1e-6, 2, 1, 0.25, 3])
    mode = maximum_a_posteriori(counts, n, added + 1, float(added.sum()) + 6, 6)
    assert ESTIMATES["map"](counts, n, added, float(added.sum()), 6) == pytest.approx(mode, rel=1e-9)


@SHAPES
@pytest.mark.parametrize("estimate", ESTIMATES)
@examples(5)
@given(
    corpus=strategies.corpora,
    smoothing=st.sampled_from([0.0, 0.01, 0.5, 1.0, 3.0, 1e4]),
    left_out=st.sets(st.sampled_from(strategies.WORDS)),
    order=st.sampled_from([1, 2]),
)
def test_probabilities_are_those_of_the_slow_twin(
    shape: str, estimate: str, corpus: list[oracle.Labelled], smoothing: float, left_out: set[str], order: int
) -> None:
    counts = oracle.count(corpus, order)
    over = [term for term in counts.terms if term not in left_out]
    found = probabilities(language_models(statistics_of(corpus, order), smoothing, shape, estimate, over))
    wanted = oracle.language_models(counts, over, smoothing, shape, estimate)
    assert found == pytest.approx({cell: float(p) for cell, p in wanted.items()}, rel=CLOSE, abs=0)


@SHAPES
@pytest.mark.parametrize("estimate", ["mean", "map"])
@examples(5)
@given(corpus=strategies.corpora)
def test_each_class_has_probabilities_that_sum_to_one(shape: str, estimate: str, corpus: list[oracle.Labelled]) -> None:
    statistics = statistics_of(corpus)
    models = language_models(statistics, 0.3, shape, estimate)
    if statistics.n_terms:
        assert models.probability(np.arange(statistics.n_terms)).sum(axis=0) == pytest.approx(1, rel=CLOSE)


def test_mode_and_mean_add_the_same_pseudo_count() -> None:
    statistics = statistics_of(CHINA)
    mean, mode = (probabilities(language_models(statistics, 0.25, estimate=estimate)) for estimate in ("mean", "map"))
    assert mode == pytest.approx(mean, rel=CLOSE)


def test_a_background_prior_is_an_m_estimate() -> None:
    found = probabilities(language_models(statistics_of(CHINA), smoothing=4, shape="background"))
    assert found["yes", "chinese"] == pytest.approx(float((5 + 4 * Fraction(6, 11)) / (8 + 4)), rel=CLOSE)
    assert found["no", "macao"] == pytest.approx(float((0 + 4 * Fraction(1, 11)) / (3 + 4)), rel=CLOSE)


def test_a_background_of_weights_below_one_sums_to_one_too() -> None:
    model = TextClassifier(weighting="log", prior_shape="background", smoothing=1, calibration="none").fit(["ant", ""], ["a", "b"])
    assert np.exp(model.joint_log_likelihood(["ant"]))[0] == pytest.approx(
        [1 / 2, 1 / 2], rel=CLOSE
    )  # the only term there is, in either class


def test_an_unseen_term_is_impossible_under_maximum_likelihood_and_its_logarithm_is_minus_infinity() -> None:
    statistics = statistics_of(CHINA)
    models = language_models(statistics, estimate="ml")
    tokyo = np.array(statistics.vocabulary.find(["tokyo"]))
    assert models.log_probability(tokyo).tolist() == [[np.log(1 / 3), -np.inf]]


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_a_class_of_no_tokens_and_no_pseudo_counts_gives_every_term_probability_zero(estimate: str) -> None:
    models = language_models(statistics_of([("full", ["ant"]), ("empty", [])]), 0.0, estimate=estimate)
    assert probabilities(models) == {("full", "ant"): 1, ("empty", "ant"): 0}
