"""Class language models: small counts as fractions, the slow twin, scipy's Beta, and a prior given term by term."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, dirichlet
from sklearn.naive_bayes import BernoulliNB, ComplementNB

from nbtext import TextClassifier
from nbtext.classifiers.base import Training
from nbtext.classifiers.bernoulli import BernoulliNaiveBayes
from nbtext.classifiers.complement import ComplementNaiveBayes
from nbtext.language_model.dirichlet import (
    NO_TERM_PSEUDO_COUNTS,
    LanguageModels,
    TermPseudoCounts,
    compute_beta_bin_probabilities,
    compute_beta_intervals,
    compute_beta_posteriors,
    maximum_a_posteriori,
    maximum_likelihood,
    posterior_mean,
)
from nbtext.language_model.measures import compute_class_log_evidence
from nbtext.language_model.sampling import (
    compute_dirichlet_posterior,
    compute_predictive_probabilities,
)
from nbtext.settings import Estimate, Settings
from tests import oracle, strategies
from tests.count_tables import (
    all_term_ids,
    cell_sums,
    find_own_pseudo_counts,
    language_models,
    matrix_of,
    multinomial,
    statistics_from_table,
    statistics_of,
)
from tests.profiles import examples

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.classifiers.multinomial import MultinomialNaiveBayes
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.type_names import Floats, Ints


SHAPES = pytest.mark.parametrize("shape", ["symmetric", "background"])
CLOSE = 1e-12
NUMBERS = st.sampled_from([0.0, 1e-6, 0.25, 1.0, 3.5, 1000.0])


def probabilities(models: LanguageModels) -> dict[tuple[str, str], float]:
    statistics = models.statistics
    terms = np.flatnonzero(models.selected)
    table = models.compute_probability(terms).tolist()
    names = [statistics.vocabulary.get_term(number) for number in terms.tolist()]
    return {
        (k, term): p
        for term, row in zip(names, table, strict=True)
        for k, p in zip(statistics.classes, row, strict=True)
    }


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 20), st.integers(1, 20))
def test_coin_is_a_two_term_model_with_a_beta_prior(heads: int, tails: int, a: int, b: int) -> None:
    counts, n, alpha = (
        np.array([heads, tails], float),
        np.array(float(heads + tails)),
        np.array([a, b], float),
    )
    assert posterior_mean(counts, n, alpha, a + b)[0] == (heads + a) / (heads + tails + a + b)
    if heads + tails + a + b > 2:
        assert maximum_a_posteriori(counts, n, alpha, a + b, 2)[0] == (heads + a - 1) / (
            heads + tails + a + b - 2
        )
    if heads + tails:
        assert maximum_likelihood(counts, n)[0] == heads / (heads + tails)


def test_posterior_mean_is_the_mode_with_pseudo_counts_increased_by_one() -> None:
    counts, n, added = (
        np.array([2.0, 1, 0, 3, 1, 1]),
        np.array(8.0),
        np.array([0.5, 1e-6, 2, 1, 0.25, 3]),
    )
    mode = maximum_a_posteriori(counts, n, added + 1, float(added.sum()) + 6, 6)
    assert posterior_mean(counts, n, added, float(added.sum())) == pytest.approx(mode, rel=1e-9)


@SHAPES
@pytest.mark.parametrize("estimate", get_args(Estimate))
@examples(8)
@given(
    corpus=strategies.corpora,
    smoothing=st.sampled_from([0.0, 0.01, 0.5, 1.0, 3.0, 1e4]),
    own=st.just({}) | st.dictionaries(st.sampled_from(strategies.WORDS), NUMBERS, max_size=6),
    left_out=st.sets(st.sampled_from(strategies.WORDS)),
    order=st.sampled_from([1, 2]),
)
def test_probabilities_match_the_slow_twin(
    shape: str,
    estimate: str,
    corpus: list[oracle.Labelled],
    smoothing: float,
    own: dict[str, float],
    left_out: set[str],
    order: int,
) -> None:
    if shape == "background":
        own = {}
    counts, statistics = oracle.count(corpus, order), statistics_of(corpus, order)
    over = [term for term in counts.terms if term not in left_out]
    models = language_models(statistics, smoothing, shape, estimate, over, own)
    found = probabilities(models)
    wanted = oracle.language_models(counts, over, smoothing, shape, estimate, own)
    assert found == pytest.approx({cell: float(p) for cell, p in wanted.items()}, rel=CLOSE, abs=0)
    for number, label in enumerate(statistics.classes):
        of_class = compute_predictive_probabilities(models, np.flatnonzero(models.selected), number)
        assert of_class == pytest.approx([found[label, term] for term in over], rel=CLOSE, abs=0)


def test_background_of_fractional_weights_sums_to_one() -> None:
    model = TextClassifier(
        weighting="log", prior_shape="background", smoothing=1, calibration="none"
    ).fit(["ant", ""], ["a", "b"])
    assert np.exp(model.joint_log_likelihood(["ant"]))[0] == pytest.approx(
        [1 / 2, 1 / 2], rel=CLOSE
    )  # the only term there is, in either class


TABLE = np.array([[7, 0], [2, 5], [0, 3], [1, 40]])
STATISTICS = statistics_from_table(TABLE.tolist(), [9, 9], np.minimum(TABLE, 1).tolist())


def credible_intervals(models: LanguageModels, terms: Ints, credible: float = 0.95) -> Floats:
    return compute_beta_intervals(*compute_beta_posteriors(models, terms), credible)


@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_credible_interval_with_background_matches_scipys_beta(estimate: str) -> None:
    found = credible_intervals(
        language_models(STATISTICS, 0.5, "background", estimate), np.arange(4)
    )
    assert found.shape == (4, 2, 2)
    for j in range(4):
        for k in range(2):
            a = TABLE[j, k] + 0.5 * TABLE[j].sum() / TABLE.sum() + (estimate == "map")
            rest = TABLE[:, k].sum() + 0.5 + 4 * (estimate == "map") - a
            assert found[j, k] == pytest.approx(beta.ppf([0.025, 0.975], a, rest), rel=1e-8)


def test_posterior_histogram_matches_scipys_beta() -> None:
    a, b = compute_beta_posteriors(language_models(STATISTICS, 0.5), np.arange(4))
    assert a == pytest.approx(TABLE + 0.5)
    assert a + b == pytest.approx(np.tile(TABLE.sum(axis=0) + 4 * 0.5, (4, 1)))
    edges = np.linspace(0, 1, 41)
    shares = compute_beta_bin_probabilities(float(a[1, 0]), float(b[1, 0]), edges)
    assert shares == pytest.approx(np.diff(beta.cdf(edges, 2.5, 9.5)))
    assert shares.sum() == pytest.approx(1)


def test_credible_interval_contains_the_stated_posterior_mass() -> None:
    posterior = dirichlet.rvs(TABLE[:, 0] + 1.0, 20000, np.random.default_rng(1))
    ends = credible_intervals(language_models(STATISTICS, 1.0), np.arange(4), 0.8)[:, 0]
    within = ((posterior >= ends[:, 0]) & (posterior <= ends[:, 1])).mean(axis=0)
    assert within == pytest.approx(
        np.full(4, 0.8), abs=0.015
    )  # five standard deviations of so many draws


def test_models_without_a_posterior_have_no_credible_interval() -> None:
    assert np.isnan(
        credible_intervals(language_models(STATISTICS, 0.0, "symmetric", "ml"), np.arange(4))
    ).all()
    without_prior = credible_intervals(language_models(STATISTICS, 0.0), np.arange(4))
    assert np.array_equal(np.isnan(without_prior[..., 0]), TABLE == 0)


Corpus = list[tuple[str, list[str]]]
CORPUS: Corpus = [
    ("x", list("aab")),
    ("y", list("bccc")),
    ("x", list("ad")),
    ("z", list("dde")),
    ("y", list("ab")),
]
ALPHA = {"a": 0.25, "b": 2.0, "c": 1.0, "d": 7.0, "e": 0.5}


def training_of(
    corpus: Corpus, numbers: Mapping[str, float], others: float, **parameters: Any
) -> Training:
    statistics = statistics_of(corpus)
    own = find_own_pseudo_counts(statistics, numbers, others)
    return Training(
        statistics,
        all_term_ids(statistics),
        others,
        Settings.from_values(parameters),
        term_pseudo_counts=own,
    )


def test_term_with_zero_pseudo_count_makes_evidence_of_its_classes_undefined() -> None:
    found = compute_class_log_evidence(language_models(statistics_of(CORPUS), 1.0, own={"c": 0.0}))
    assert found is not None
    assert np.isfinite(found).tolist() == [True, False, True]
    assert compute_class_log_evidence(language_models(statistics_of(CORPUS), 0.0, own={})) is None


@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_credible_intervals_use_the_pseudo_count_of_each_term(estimate: str) -> None:
    statistics, more = statistics_of(CORPUS), float(estimate == "map")
    models = language_models(statistics, 0.1, estimate=estimate, own=ALPHA)
    terms = np.arange(5)
    alpha = (
        np.array([ALPHA[statistics.vocabulary.get_term(term)] for term in terms.tolist()]) + more
    )
    for label in range(3):
        m = statistics.get_dense_counts(terms)[:, label]
        a, rest = m + alpha, models.class_tokens[label] - m + alpha.sum() - alpha
        assert compute_dirichlet_posterior(models, terms, label) == pytest.approx(a)
        ends = credible_intervals(models, terms)[:, label]
        assert ends == pytest.approx(
            np.stack((beta.ppf(0.025, a, rest), beta.ppf(0.975, a, rest)), axis=1), rel=1e-9
        )


def test_unseen_term_has_the_default_pseudo_count() -> None:
    models = language_models(statistics_of(CORPUS), 2.0, own={"a": 4.0, "b": 0.5})
    assert np.exp(models.estimate_log_unseen_probability()) == pytest.approx(
        2.0 / (models.class_tokens + 4.0 + 0.5 + 3 * 2.0)
    )


def test_own_pseudo_counts_equal_to_the_default_are_dropped() -> None:
    own = TermPseudoCounts.from_mapping({7: 2.0, 3: 0.5, 5: 1.0}, 1.0)
    assert (own.terms.tolist(), own.pseudo_counts.tolist()) == ([3, 7], [0.5, 2.0])
    assert own.look_up(np.array([9, 7, 0, 3, 3]), 1.0).tolist() == [1.0, 2.0, 1.0, 0.5, 0.5]
    assert (
        own.find_minimum(1.0),
        own.find_minimum(0.25),
        NO_TERM_PSEUDO_COUNTS.find_minimum(1.0),
    ) == (
        0.5,
        0.25,
        1.0,
    )


def dense(corpus: Corpus, statistics: ClassStatistics) -> tuple[np.ndarray, list[str], np.ndarray]:
    """The counts of documents for scikit-learn, their classes and the pseudo-count of each column."""
    names = [statistics.vocabulary.get_term(term) for term in range(statistics.n_terms)]
    table = np.array([[terms.count(name) for name in names] for _, terms in corpus])
    return table, [label for label, _ in corpus], np.array([ALPHA[name] for name in names])


ASKED = [list("abcde"), list("ccd"), [], list("aaaa")]


def scores_of(
    model: MultinomialNaiveBayes | ComplementNaiveBayes | BernoulliNaiveBayes,
    statistics: ClassStatistics,
) -> np.ndarray:
    return model.joint_log_likelihood(matrix_of(ASKED, statistics.vocabulary))[0]


def test_complement_with_term_pseudo_counts_matches_scikit_learn() -> None:
    of = training_of(CORPUS, ALPHA, 0.1, classifier="complement")
    table, labels, alpha = dense(CORPUS, of.statistics)
    reference = ComplementNB(alpha=alpha).fit(table, labels)
    asked, _, _ = dense([("x", terms) for terms in ASKED], of.statistics)
    assert scores_of(ComplementNaiveBayes.estimate(of), of.statistics) == pytest.approx(
        asked @ reference.feature_log_prob_.T, rel=1e-12
    )


@given(
    strategies.lettered_corpora,
    st.sampled_from([0.25, 1.0]),
    st.sampled_from(["mean", "map"]),
    st.sets(st.sampled_from("abcdef"), min_size=1),
)
def test_scores_by_cells_equal_dense_scores(
    corpus: list[oracle.Labelled], smoothing: float, estimate: str, over: set[str]
) -> None:
    statistics = statistics_of(corpus)
    rows = matrix_of([terms for _, terms in corpus], statistics.vocabulary)
    held = sorted(over & {term for _, terms in corpus for term in terms})
    wanted, of_all, of_each = (
        multinomial(language_models(statistics, smoothing, "symmetric", estimate, held or None))
        for _ in range(3)
    )
    scores, lengths = wanted.joint_log_likelihood(rows)
    with cell_sums():
        found = of_all.joint_log_likelihood(rows)
        alone = [
            of_each.joint_log_likelihood(rows.take(np.array([row])))[0][0]
            for row in range(len(corpus))
        ]
    assert wanted.language_models.cell_log_gains is None
    assert (of_all.language_models.cell_log_gains is None) == (not statistics.n_terms)
    assert found[0] == pytest.approx(scores, rel=1e-12, abs=1e-12)
    assert found[1].tolist() == lengths.tolist()
    assert np.array_equal(found[0], alone)  # to the last bit


@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_bernoulli_with_term_pseudo_counts_matches_scikit_learn_per_column(estimate: str) -> None:
    """Each coin has its own prior, and scikit-learn has one for all: so it fits a model to each column."""
    of = training_of(
        CORPUS, ALPHA, 0.1, classifier="bernoulli", class_prior="uniform", estimate=estimate
    )
    table, labels, alpha = dense(CORPUS, of.statistics)
    model = BernoulliNaiveBayes.estimate(of)
    asked, _, _ = dense([("x", terms) for terms in ASKED], of.statistics)
    wanted = np.full((len(ASKED), 3), np.log(1 / 3))
    for column in range(alpha.size):
        log_theta = (
            BernoulliNB(alpha=alpha[column]).fit(table[:, [column]], labels).feature_log_prob_[:, 0]
        )
        assert np.log(model.compute_probability(np.array([column])))[0] == pytest.approx(
            log_theta, rel=1e-12
        )
        wanted += np.where(asked[:, [column]] > 0, log_theta, np.log1p(-np.exp(log_theta)))
    assert scores_of(model, of.statistics) == pytest.approx(wanted, rel=1e-12)
