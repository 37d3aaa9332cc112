"""Evidence, AIC and BIC: slow twins, scipy's Dirichlet-multinomial, numbers worked by hand; m-estimates are Dirichlet smoothing.

Also tests `inspection/overview.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import dirichlet_multinomial

from nbtext.classifiers.base import class_prior
from nbtext.errors import UsageError
from nbtext.inspection.overview import FOR_ALL_CLASSES, compared_models, criteria
from nbtext.language_model.measures import log_evidence_of_classes, log_evidence_of_labels, maximum_likelihood_fit
from nbtext.language_model.smoothing import count_histogram, log_evidence
from nbtext.settings import Settings
from tests import oracle, strategies
from tests.building import language_models, statistics_from_table, statistics_of

if TYPE_CHECKING:
    from collections.abc import Mapping

SHAPES = pytest.mark.parametrize("shape", ["symmetric", "background"])
LABELLED = [("yes", ["c", "b", "c"]), ("yes", ["c", "c", "s"]), ("yes", ["c", "m"]), ("no", ["t", "j", "c"])]
"""The four documents of IIR example 13.1."""


def alpha_of(counts: oracle.Counts, over: list[str], smoothing: float, shape: str, more: int) -> dict[str, float]:
    total = sum(counts.tokens(label, over) for label in counts.classes)
    in_corpus = {term: sum(counts.occurrences.get((k, term), 0) for k in counts.classes) for term in over}
    return {term: more + smoothing * (1 if shape == "symmetric" else in_corpus[term] / total) for term in over}


def test_one_language_model_for_all_classes_has_the_evidence_of_one_class_with_all_documents() -> None:
    apart, together = (language_models(statistics_of(corpus), 0.5) for corpus in (LABELLED, [("all", terms) for _, terms in LABELLED]))
    [pooled] = [each for each in compared_models(apart, Settings()) if each.language_models == FOR_ALL_CLASSES]
    of_one = log_evidence_of_classes(together)
    assert of_one is not None
    assert pooled.log_evidence == pytest.approx(of_one.sum())
    assert [each.smoothing for each in compared_models(together, Settings()) if each.language_models != FOR_ALL_CLASSES].count(0.5) == 1
    assert compared_models(language_models(statistics_of(LABELLED), 0, "symmetric", "ml"), Settings()) == []


@SHAPES
@given(
    corpus=strategies.corpora,
    smoothing=st.floats(0.01, 100),
    estimate=st.sampled_from(["mean", "map"]),
    without=st.sets(st.sampled_from(strategies.WORDS)),
)
def test_the_evidence_of_each_class_is_the_formula(
    shape: str, corpus: list[oracle.Labelled], smoothing: float, estimate: str, without: set[str]
) -> None:
    counts, statistics = oracle.count(corpus), statistics_of(corpus)
    over = [term for term in counts.terms if term not in without]
    found = log_evidence_of_classes(language_models(statistics, smoothing, shape, estimate, over))
    assert found is not None
    alpha = alpha_of(counts, over, smoothing, shape, more=int(estimate == "map"))
    for k, label in enumerate(statistics.classes):
        of_class = oracle.Counts({label: 1}, {cell: n for cell, n in counts.occurrences.items() if cell[0] == label}, {})
        assert found[k] == pytest.approx(oracle.log_evidence(of_class, over, alpha) if over else 0.0, rel=1e-10, abs=1e-8)


@SHAPES
def test_it_sums_to_what_auto_smoothing_maximises(shape: str) -> None:
    statistics = statistics_of(LABELLED)
    found = log_evidence_of_classes(language_models(statistics, 2.0, shape))
    assert found is not None
    strength = 2.0 * (statistics.n_terms if shape == "symmetric" else 1)
    everything = np.ones(statistics.n_terms, np.bool_)
    assert found.sum() == pytest.approx(log_evidence(count_histogram(statistics, everything, shape), strength), rel=1e-12)


def test_it_is_scipys_dirichlet_multinomial_without_the_number_of_orders() -> None:
    table = np.array([[7, 0], [2, 5], [0, 3], [1, 1]])
    statistics = statistics_from_table(table.tolist(), [9, 9], np.minimum(table, 1).tolist())
    orders = gammaln(table.sum(axis=0) + 1) - gammaln(table + 1).sum(axis=0)
    wanted = dirichlet_multinomial.logpmf(table.T, np.full(4, 0.7), table.sum(axis=0)) - orders
    assert log_evidence_of_classes(language_models(statistics, 0.7)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(("smoothing", "estimate"), [(0.0, "mean"), (1.0, "ml")])
def test_without_a_prior_there_is_no_evidence(smoothing: float, estimate: str) -> None:
    assert log_evidence_of_classes(language_models(statistics_of(LABELLED), smoothing, "symmetric", estimate)) is None


def test_documents_without_terms_are_certain() -> None:
    assert criteria(language_models(statistics_of([("x", []), ("y", [])])), Settings.of({})).evidence == 0


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("smoothed:1", 1 / 20),  # 3! 1! / 5!, the chances of 3 and 1 under a uniform share
        ("uniform", 1 / 16),
        ({"yes": 3.0, "no": 1.0}, 27 / 256),
        ("empirical", None),
        ("smoothed:0", None),
    ],
)
def test_the_evidence_of_the_labels_by_hand(kind: str | Mapping[str, float], wanted: float | None) -> None:
    statistics = statistics_of(LABELLED)
    found = log_evidence_of_labels(kind, class_prior(kind, statistics), statistics.class_documents)
    assert found == (None if wanted is None else pytest.approx(math.log(wanted)))


def test_maximum_likelihood_aic_and_bic_by_hand() -> None:
    """Of class yes: 5 of 8 tokens are c, b, s and m one each; of class no, t, j and c a third each; 3 of 4 documents are yes."""
    statistics = statistics_of(LABELLED)
    fit = maximum_likelihood_fit(language_models(statistics), "empirical", np.empty(2))
    log_likelihood = 5 * math.log(5 / 8) + 3 * math.log(1 / 8) + 3 * math.log(1 / 3) + 3 * math.log(3 / 4) + math.log(1 / 4)
    assert fit.log_likelihood == pytest.approx(log_likelihood)
    assert (fit.parameters, fit.tokens) == (2 * (6 - 1) + 1, 11)
    assert fit.aic == pytest.approx(22 - 2 * log_likelihood)
    assert fit.bic == pytest.approx(11 * math.log(11) - 2 * log_likelihood)
    even = maximum_likelihood_fit(language_models(statistics), "uniform", np.array([0.5, 0.5]))
    assert even.parameters == 10
    assert even.log_likelihood == pytest.approx(log_likelihood - 3 * math.log(3 / 4) - math.log(1 / 4) + 4 * math.log(1 / 2))


@given(corpus=strategies.corpora, without=st.sets(st.sampled_from(strategies.WORDS)))
def test_the_likelihood_is_that_of_every_token_and_label(corpus: list[oracle.Labelled], without: set[str]) -> None:
    counts, statistics = oracle.count(corpus), statistics_of(corpus)
    over = [term for term in counts.terms if term not in without]
    fit = maximum_likelihood_fit(language_models(statistics, over=over), "empirical", np.empty(0))
    phi, prior = oracle.language_models(counts, over, 0, "symmetric", "ml"), oracle.class_prior(counts)
    wanted = sum(oracle.log(prior[label]) + sum(oracle.log(phi[label, term]) for term in terms if term in over) for label, terms in corpus)
    assert fit.log_likelihood == pytest.approx(wanted, rel=1e-10, abs=1e-10)
    assert fit.tokens == sum(term in over for _, terms in corpus for term in terms)


def test_what_is_not_defined_is_none() -> None:
    statistics = statistics_of(LABELLED)
    found = criteria(language_models(statistics, 0, "symmetric", "ml"), Settings.of({"estimate": "ml"}))
    assert (found.evidence, found.evidence_of_classes, found.evidence_of_labels) == (None, None, None)
    impossible = Settings.of({"class_prior": {"yes": 1, "no": 0}})
    found = criteria(language_models(statistics), impossible)
    assert (found.aic, found.bic) == (math.inf, math.inf)
    with pytest.raises(UsageError, match="classifier multinomial"):
        criteria(language_models(statistics), Settings.of({"classifier": "bernoulli"}))


@given(corpus=strategies.corpora, weight=st.floats(0.01, 1e4))
def test_m_estimates_are_dirichlet_smoothing(corpus: list[oracle.Labelled], weight: float) -> None:
    """φ = (m_jk + m·p_j) / (N_k + m): with p uniform the symmetric prior of m / V, with p the corpus the background prior of μ = m."""
    counts, statistics = oracle.count(corpus), statistics_of(corpus)
    n_terms, total = statistics.n_terms, sum(counts.occurrences.values())
    terms = np.arange(n_terms)
    symmetric = language_models(statistics, weight / max(n_terms, 1)).probability(terms)
    background = language_models(statistics, weight, "background").probability(terms)
    for j, term in enumerate(counts.terms):
        in_corpus = sum(counts.occurrences.get((k, term), 0) for k in counts.classes) / total
        for k, label in enumerate(statistics.classes):
            m, n = counts.occurrences.get((label, term), 0), counts.tokens(label, counts.terms)
            assert symmetric[j, k] == pytest.approx((m + weight / n_terms) / (n + weight))
            assert background[j, k] == pytest.approx((m + weight * in_corpus) / (n + weight))
