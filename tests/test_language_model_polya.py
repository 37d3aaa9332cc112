"""The Pólya distribution: sums of logarithms against scipy's log Γ, the concentration against its likelihood."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from nbtext.language_model.polya import LEAST_CONCENTRATION, MOST_CONCENTRATION, SUMMED, likeliest_concentration, log_rise
from tests import strategies
from tests.budget import examples
from tests.building import counted_documents, language_models, statistics_of

if TYPE_CHECKING:
    from nbtext.language_model.dirichlet import LanguageModels
    from tests.oracle import Labelled

ESTIMATES = ("mean", "map", "ml")


def exact(start: float, steps: int) -> float:
    """Σ_{i < n} log(x + i), correctly rounded but for the logarithms."""
    return math.fsum(math.log(start + i) if start + i else -math.inf for i in range(steps))


@given(st.lists(st.tuples(st.floats(1e-12, 1e12), st.integers(0, 300)), min_size=1, max_size=8))
def test_rises_are_sums_of_logarithms(cases: list[tuple[float, int]]) -> None:
    start, steps = np.array([[x, 2 * x] for x, _ in cases]), np.array([n for _, n in cases])
    wanted = [[exact(x, n), exact(2 * x, n)] for x, n in cases]
    np.testing.assert_allclose(log_rise(start, steps), wanted, rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("start", [1e-8, 0.02, 1.0, 7.5, 300.0, 1e8])
@pytest.mark.parametrize("steps", [1, SUMMED, SUMMED + 1, 5000, 10**6, 10**9])
def test_rises_of_any_length_are_those_of_scipy(start: float, steps: int) -> None:
    wanted = gammaln(start + steps) - gammaln(start)
    lost = 4e-16 * max(abs(gammaln(start + steps)), abs(gammaln(start)))  # what scipy's own difference is uncertain by
    assert log_rise(np.array([[start]]), np.array([steps]))[0, 0] == pytest.approx(wanted, rel=1e-13, abs=4 * lost)


def test_what_has_no_probability_cannot_occur_and_does_not_have_to() -> None:
    assert log_rise(np.zeros((4, 1)), np.array([0, 1, 2, 99]))[:, 0].tolist() == [0, -np.inf, -np.inf, -np.inf]
    assert log_rise(np.empty((0, 3)), np.empty(0, np.int64)).shape == (0, 3)


def log_likelihood(corpus: list[Labelled], models: LanguageModels, concentration: float) -> float:
    """Of all documents under their own classes, from the formula."""
    terms = np.arange(models.statistics.n_terms)
    phi = models.probability(terms)
    summands = []
    for label, sequence in corpus:
        number = models.statistics.classes.index(label)
        counts = Counter(models.statistics.vocabulary.find([term])[0] for term in sequence)
        for term, n in counts.items():
            alpha = concentration * phi[term, number]
            summands += [math.lgamma(alpha + n), -math.lgamma(alpha)]
        summands += [math.lgamma(concentration), -math.lgamma(concentration + len(sequence))]
    return math.fsum(summands)


@pytest.mark.parametrize("estimate", ESTIMATES)
@examples(6)
@given(corpus=strategies.corpora, smoothing=st.sampled_from([0.1, 1.0]))
def test_no_other_concentration_makes_the_documents_more_probable(estimate: str, corpus: list[Labelled], smoothing: float) -> None:
    models = language_models(statistics_of(corpus), 0.0 if estimate == "ml" else smoothing, estimate=estimate)
    found = likeliest_concentration(models, counted_documents(corpus, models.statistics))
    assert LEAST_CONCENTRATION <= found <= MOST_CONCENTRATION
    best = log_likelihood(corpus, models, found)
    nearby = (factor * found for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0) if LEAST_CONCENTRATION <= factor * found <= MOST_CONCENTRATION)
    # at 1e8 differences of log Γ in the formula are off by about 1e-6
    assert all(log_likelihood(corpus, models, other) <= best + 1e-5 for other in nearby)


def drawn(concentration: float, seed: int) -> list[Labelled]:
    """Documents of two classes, each from probabilities of its own around those of its class."""
    random = np.random.default_rng(seed)
    names = [f"t{number:02d}" for number in range(40)]
    corpus: list[Labelled] = []
    for label in ("a", "b"):
        phi = random.dirichlet(np.full(40, 1.0))
        for _ in range(400):
            counts = random.multinomial(60, random.dirichlet(concentration * phi))
            corpus.append((label, [name for name, n in zip(names, counts.tolist(), strict=True) for _ in range(n)]))
    return corpus


@pytest.mark.parametrize("concentration", [4.0, 30.0, 200.0])
def test_the_concentration_of_drawn_documents_is_found(concentration: float) -> None:
    corpus = drawn(concentration, 3)
    models = language_models(statistics_of(corpus), 0.01)
    assert likeliest_concentration(models, counted_documents(corpus, models.statistics)) == pytest.approx(concentration, rel=0.1)


def test_documents_that_say_nothing_of_repetition_leave_tokens_independent() -> None:
    apart: list[Labelled] = [("a", ["ant", "bee", "cat"]), ("b", ["cat", "dog", "eel"])]
    single: list[Labelled] = [("a", ["ant"]), ("b", ["bee"])]
    empty: list[Labelled] = [("a", []), ("b", [])]
    for corpus in (apart, single, empty):
        models = language_models(statistics_of(corpus), 1.0)
        assert likeliest_concentration(models, counted_documents(corpus, models.statistics)) == MOST_CONCENTRATION


def test_only_terms_that_count_are_looked_at() -> None:
    corpus = [("a", ["ant", "ant", "bee"]), ("b", ["bee", "bee", "cat", "cat", "cat"])]
    some = language_models(statistics_of(corpus), 1.0, over=["ant", "bee"])
    whole = language_models(statistics_of(counted := [("a", ["ant", "ant", "bee"]), ("b", ["bee", "bee"])]), 1.0, over=["ant", "bee"])
    found = likeliest_concentration(some, counted_documents(corpus, some.statistics))
    assert found == likeliest_concentration(whole, counted_documents(counted, whole.statistics))
