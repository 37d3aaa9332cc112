"""Evidence: the formula, scipy's Dirichlet-multinomial, and a maximum that is one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import betaln, gammaln
from scipy.special import psi as psi_of_scipy
from scipy.stats import dirichlet_multinomial

from nbtext.language_model.dirichlet import MOST_SMOOTHING, WEAKEST
from nbtext.language_model.smoothing import (
    STRONGEST,
    SUMMED,
    CountHistogram,
    coin_histogram,
    complement_histogram,
    count_histogram,
    log_evidence,
    most_evident_strength,
    psi,
    psi_rise,
    smoothing_by_evidence,
)
from tests import oracle, strategies
from tests.building import statistics_from_table, statistics_of

if TYPE_CHECKING:
    from nbtext.counts.statistics import ClassStatistics

SHAPES = pytest.mark.parametrize("shape", ["symmetric", "background"])
SEEDS = pytest.mark.parametrize("seed", range(12))


def everything(statistics: ClassStatistics) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.ones(statistics.n_terms, np.bool_)


def draw(seed: int) -> ClassStatistics:
    """Counts of a few classes drawn from a Dirichlet-multinomial of some strength, weak to strong."""
    random = np.random.default_rng(seed)
    n_classes, n_terms = int(random.integers(2, 7)), int(random.integers(5, 150))
    base = random.dirichlet(np.full(n_terms, random.choice([0.5, 5.0])))
    strength = 10 ** random.uniform(-1, 3)
    sizes = random.integers(1, 5000, n_classes)
    counts = np.array([random.multinomial(size, random.dirichlet(strength * base + 1e-3)) for size in sizes]).T
    counts = counts[counts.sum(axis=1) > 0]
    return statistics_from_table(counts.tolist(), [10**6] * n_classes, np.minimum(counts, 1).tolist())


def slope(histogram: CountHistogram, strength: float) -> float:
    """Change of the evidence per unit of log strength, by the central difference."""
    step = 1e-3
    return (log_evidence(histogram, strength * math.exp(step)) - log_evidence(histogram, strength * math.exp(-step))) / (2 * step)


@SHAPES
@given(corpus=strategies.corpora, strength=st.floats(0.01, 1000), left_out=st.sets(st.sampled_from(strategies.WORDS)))
def test_evidence_is_the_formula_over_all_cells(shape: str, corpus: list[oracle.Labelled], strength: float, left_out: set[str]) -> None:
    counts, statistics = oracle.count(corpus), statistics_of(corpus)
    over = [term for term in counts.terms if term not in left_out]
    selected = np.array([term in over for term in counts.terms], np.bool_)
    total = sum(counts.tokens(label, over) for label in counts.classes)
    in_corpus = {term: sum(counts.occurrences.get((k, term), 0) for k in counts.classes) for term in over}
    alpha = {term: strength * (1 / len(over) if shape == "symmetric" else in_corpus[term] / total) for term in over}
    found = log_evidence(count_histogram(statistics, selected, shape), strength)
    wanted = oracle.log_evidence(counts, over, alpha) if over else 0.0
    assert found == pytest.approx(wanted, rel=1e-11, abs=1e-9)


@SEEDS
def test_evidence_is_scipys_dirichlet_multinomial_without_the_number_of_orders(seed: int) -> None:
    statistics = draw(seed)
    counts = statistics.counts_of(np.arange(statistics.n_terms)).T
    orders = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
    for strength in (0.5, 30.0):
        alpha = np.full(statistics.n_terms, strength / statistics.n_terms)
        wanted = dirichlet_multinomial.logpmf(counts, alpha, counts.sum(axis=1)) - orders
        found = log_evidence(count_histogram(statistics, everything(statistics), "symmetric"), strength)
        assert found == pytest.approx(wanted.sum(), rel=1e-11)


@given(corpus=strategies.corpora, strength=st.floats(0.01, 1000), left_out=st.sets(st.sampled_from(strategies.WORDS)))
def test_the_evidence_of_coins_is_that_of_every_coin(corpus: list[oracle.Labelled], strength: float, left_out: set[str]) -> None:
    statistics = statistics_of(corpus)
    selected = np.array([statistics.vocabulary.term(term) not in left_out for term in range(statistics.n_terms)], np.bool_)
    holding, of_class = statistics.documents_of(np.flatnonzero(selected)), statistics.class_documents
    coins = betaln(holding + strength / 2, of_class - holding + strength / 2) - betaln(strength / 2, strength / 2)
    assert log_evidence(coin_histogram(statistics, selected), strength) == pytest.approx(coins.sum(), rel=1e-9, abs=1e-9)


@SHAPES
@given(
    corpus=strategies.corpora, strength=st.floats(0.01, 1000), left_out=st.sets(st.sampled_from(strategies.WORDS)), weighted=st.booleans()
)
def test_the_evidence_of_complements_is_that_of_what_other_classes_count(
    shape: str, corpus: list[oracle.Labelled], strength: float, left_out: set[str], *, weighted: bool
) -> None:
    statistics = statistics_of(corpus)
    if weighted:
        statistics = replace(statistics, cell_counts=np.floor(np.log1p(statistics.cell_counts) * 1024) / 1024)
    selected = np.array([statistics.vocabulary.term(term) not in left_out for term in range(statistics.n_terms)], np.bool_)
    counts = statistics.counts_of(np.flatnonzero(selected)).astype(np.float64)
    others = counts.sum(axis=1, keepdims=True) - counts
    total = counts.sum() if counts.size else 0.0
    share = np.full(len(counts), 1 / max(len(counts), 1)) if shape == "symmetric" else counts.sum(axis=1) / (total or 1)
    alpha = strength * share[:, np.newaxis]
    of_cells = np.where(others > 0, gammaln(others + alpha) - gammaln(alpha), 0.0)
    wanted = of_cells.sum() + (gammaln(strength) - gammaln(others.sum(axis=0) + strength)).sum()
    assert log_evidence(complement_histogram(statistics, selected, shape), strength) == pytest.approx(wanted, rel=1e-9, abs=1e-6)


def histogram_of(kind: str, statistics: ClassStatistics, shape: str) -> CountHistogram:
    """That of counts, of sums of weights that are not whole, of the counts of complements, or of coins."""
    if kind == "coins":
        return coin_histogram(replace(statistics, class_documents=statistics.class_documents * 0 + 40), everything(statistics))
    if kind == "weights":
        statistics = replace(statistics, cell_counts=np.log1p(statistics.cell_counts))
    return (complement_histogram if kind == "complements" else count_histogram)(statistics, everything(statistics), shape)


@pytest.mark.parametrize("kind", ["counts", "weights", "complements", "coins"])
@SHAPES
@SEEDS
def test_the_strength_found_is_a_maximum_and_the_one_that_scipy_finds(kind: str, shape: str, seed: int) -> None:
    histogram = histogram_of(kind, draw(seed), shape)
    found = most_evident_strength(histogram)
    weakest, strongest = (end * histogram.n_terms for end in (WEAKEST, STRONGEST))
    assert weakest <= found <= strongest * (1 + 1e-9)
    best = log_evidence(histogram, found)
    best += 1e-9 + 1e-14 * found + 3e-11 * abs(best)  # log Γ of a large number is rounded in proportion, and so is a sum of many
    assert all(log_evidence(histogram, min(found * factor, strongest)) <= best for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2))
    limits = (math.log(weakest), math.log(strongest))
    reference = minimize_scalar(lambda log_strength: -log_evidence(histogram, math.exp(log_strength)), bounds=limits, method="bounded")
    assert -reference.fun <= best
    if found < 0.999 * strongest:
        assert slope(histogram, found) == pytest.approx(0, abs=1e-4 * (1 + abs(slope(histogram, found / 2))))
    else:
        assert slope(histogram, strongest) > -1e-11 * strongest  # the rounding of log Γ


@pytest.mark.parametrize("counts", [[[7, 0], [0, 9]], [[5, 0, 0], [0, 5, 0], [0, 0, 5]]])
def test_classes_of_one_term_each_want_the_weakest_prior(counts: list[list[int]]) -> None:
    statistics = statistics_from_table(counts, [9] * len(counts[0]), np.minimum(counts, 1).tolist())
    histogram = count_histogram(statistics, everything(statistics), "symmetric")
    assert most_evident_strength(histogram) == pytest.approx(WEAKEST * len(counts), rel=1e-6)
    assert log_evidence(histogram, WEAKEST * len(counts)) > log_evidence(histogram, 0.1)


@SHAPES
def test_classes_that_do_not_differ_want_the_strongest_prior(shape: str) -> None:
    statistics = statistics_from_table([[30, 30, 30]] * 10, [9, 9, 9], [[3, 3, 3]] * 10)
    histogram = count_histogram(statistics, everything(statistics), shape)
    assert most_evident_strength(histogram) == pytest.approx(STRONGEST * 10, rel=1e-6)
    assert log_evidence(histogram, STRONGEST * 10) > log_evidence(histogram, STRONGEST)


def test_one_class_is_its_own_background_and_wants_the_strongest_prior() -> None:
    statistics = statistics_from_table([[5], [3], [900], [1]], [9], [[1], [1], [9], [1]])
    histogram = count_histogram(statistics, everything(statistics), "background")
    assert most_evident_strength(histogram) == pytest.approx(STRONGEST * 4, rel=1e-6)
    assert smoothing_by_evidence(count_histogram(statistics, everything(statistics), "background"), "background") == pytest.approx(
        MOST_SMOOTHING * 4
    )


@SHAPES
@pytest.mark.parametrize("corpus", [[("a", [])], [("a", ["ant"] * 50)], [("a", ["ant"]), ("b", ["bee"])], [("a", ["ant"]), ("b", [])]])
def test_counts_that_say_nothing_of_the_strength_get_a_tenth_per_term(shape: str, corpus: list[oracle.Labelled]) -> None:
    statistics = statistics_of(corpus)
    histogram = count_histogram(statistics, everything(statistics), shape)
    assert most_evident_strength(histogram) == pytest.approx(0.1 * max(statistics.n_terms, 1))
    assert log_evidence(histogram, 0.5) == pytest.approx(log_evidence(histogram, 50.0))


@SEEDS
def test_smoothing_is_per_term_or_in_total_with_six_digits(seed: int) -> None:
    statistics = draw(seed)
    for shape, terms in (("symmetric", statistics.n_terms), ("background", 1)):
        strength = most_evident_strength(count_histogram(statistics, everything(statistics), shape))
        strength = min(strength, MOST_SMOOTHING * statistics.n_terms)
        smoothing = smoothing_by_evidence(count_histogram(statistics, everything(statistics), shape), shape)
        assert smoothing == pytest.approx(strength / terms, rel=1e-5)
        assert float(f"{smoothing:.6g}") == smoothing


@given(st.lists(st.floats(1e-9, 1e12), min_size=1))
def test_psi_is_that_of_scipy(points: list[float]) -> None:
    x = np.array(points)
    assert np.allclose(psi(x), psi_of_scipy(x), rtol=1e-14, atol=1e-14)


@given(
    st.floats(1e-6, 1e12), st.lists(st.one_of(st.integers(0, 20), st.integers(SUMMED - 2, SUMMED + 2), st.integers(0, 20_000)), min_size=1)
)
def test_the_rise_of_psi_by_whole_steps_is_a_sum_of_reciprocals(start: float, steps: list[int]) -> None:
    found = psi_rise(np.full(1, start), np.array(steps, np.float64))
    assert found.tolist() == pytest.approx([math.fsum((1 / (start + np.arange(n))).tolist()) for n in steps], rel=1e-13)
