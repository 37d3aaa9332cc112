"""Language models under a Dirichlet prior given term by term, against a slow twin, scipy and scikit-learn."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from nbtext.classifiers.base import Training
from nbtext.classifiers.bernoulli import BernoulliNaiveBayes
from nbtext.classifiers.complement import ComplementNaiveBayes
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.counts.documents import CountedDocuments
from nbtext.language_model.dirichlet import NO_OWN, LanguageModels, OwnPseudoCounts, credible_intervals
from nbtext.language_model.measures import log_evidence_of_classes
from nbtext.language_model.sampling import posterior, predictive
from nbtext.settings import Settings
from tests import oracle
from tests.budget import examples
from tests.building import matrix_of, multinomial, plain, statistics_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.counts.statistics import ClassStatistics

LETTERS = "abcdef"
Corpus = list[tuple[str, list[str]]]
CORPORA = st.lists(st.tuples(st.sampled_from("xyz"), st.lists(st.sampled_from(LETTERS), max_size=6)), min_size=2, max_size=10)
NUMBERS = st.sampled_from([0.0, 1e-6, 0.25, 1.0, 3.5, 1000.0])
OWN = st.dictionaries(st.sampled_from(LETTERS), NUMBERS, max_size=6)

CORPUS: Corpus = [("x", list("aab")), ("y", list("bccc")), ("x", list("ad")), ("z", list("dde")), ("y", list("ab"))]
ALPHA = {"a": 0.25, "b": 2.0, "c": 1.0, "d": 7.0, "e": 0.5}


def own_of(statistics: ClassStatistics, numbers: Mapping[str, float], others: float) -> OwnPseudoCounts:
    """Those of the terms that there are."""
    ids = zip(statistics.vocabulary.find(list(numbers)), numbers.values(), strict=True)
    return OwnPseudoCounts.of_terms({term: number for term, number in ids if term >= 0}, others)


def models_of(
    statistics: ClassStatistics, numbers: Mapping[str, float], others: float, estimate: str = "mean", over: str = LETTERS
) -> LanguageModels:
    selected = np.array([statistics.vocabulary.term(number) in over for number in range(statistics.n_terms)], np.bool_)
    return LanguageModels(statistics, selected, others, "symmetric", estimate, own_of(statistics, numbers, others))


def training_of(corpus: Corpus, numbers: Mapping[str, float], others: float, **parameters: Any) -> Training:
    statistics = statistics_of(corpus)
    own = own_of(statistics, numbers, others)
    return Training(statistics, np.ones(statistics.n_terms, np.bool_), others, Settings.of(parameters), own=own)


def twin(counts: oracle.Counts, over: set[str], alpha: Mapping[str, float], estimate: str) -> oracle.Models:
    """φ of each class and term, by the formulas with α_j."""
    models = {}
    for label in counts.classes:
        n, alpha_0 = counts.tokens(label, over), sum(Fraction(alpha[term]) for term in over)
        for term in over:
            m, added = counts.occurrences.get((label, term), 0), Fraction(alpha[term])
            above, below = (Fraction(m), Fraction(n)) if estimate == "ml" else (m + added, n + alpha_0)
            models[label, term] = above / below if below else Fraction(0)
    return models


@examples(12)
@given(CORPORA, OWN, NUMBERS, st.sampled_from(["mean", "map", "ml"]), st.sets(st.sampled_from(LETTERS), min_size=1))
def test_probabilities_are_those_of_the_slow_twin(
    corpus: Corpus, numbers: dict[str, float], others: float, estimate: str, over: set[str]
) -> None:
    statistics = statistics_of(corpus)
    models = models_of(statistics, numbers, others, estimate, "".join(over))
    counts = plain(statistics)
    over = over & set(counts.terms)
    wanted = twin(counts, over, {term: numbers.get(term, others) for term in over}, estimate)
    terms = np.flatnonzero(models.selected)
    names = [statistics.vocabulary.term(term) for term in terms.tolist()]
    expected = np.array([[float(wanted[label, term]) for label in statistics.classes] for term in names]).reshape(
        terms.size, statistics.n_classes
    )
    assert models.probability(terms) == pytest.approx(expected, rel=1e-12, abs=0)
    for label in range(statistics.n_classes):
        assert predictive(models, terms, label) == pytest.approx(expected[:, label], rel=1e-12, abs=0)


@examples(12)
@given(CORPORA, OWN, NUMBERS, st.sampled_from(["mean", "map"]), st.sets(st.sampled_from(LETTERS), min_size=1))
def test_leave_one_out_equals_an_estimate_without_the_document(
    corpus: Corpus, numbers: dict[str, float], others: float, estimate: str, over: set[str]
) -> None:
    """A term that goes with the document takes its own pseudo-count out of the sum."""
    statistics = statistics_of(corpus)
    models = models_of(statistics, numbers, others, estimate, "".join(over))
    classes = np.array([statistics.classes.index(label) for label, _ in corpus])
    documents = CountedDocuments(
        matrix_of([terms for _, terms in corpus], statistics.vocabulary), classes, np.zeros(len(corpus), np.uint64)
    )
    left_out = multinomial(models, "uniform").leave_one_out(documents)
    for row, (_, terms) in enumerate(corpus):
        counts = oracle.count([document for place, document in enumerate(corpus) if place != row])
        remaining = over & set(counts.terms)
        refitted = twin(counts, remaining, {term: numbers.get(term, others) for term in remaining}, estimate)
        known = Counter(term for term in terms if term in remaining)
        wanted = {
            label: oracle.log(Fraction(1, len(counts.classes))) + sum(n * oracle.log(refitted[label, term]) for term, n in known.items())
            for label in counts.classes
        }
        got = dict(zip(statistics.classes, left_out.scores[row].tolist(), strict=True))
        assert got == pytest.approx(
            {label: wanted.get(label, -np.inf) for label in statistics.classes}, rel=1e-6, abs=1e-6
        )  # 1000 less 1000 rounds
        assert left_out.lengths[row] == known.total()


@given(CORPORA, OWN, st.sampled_from([0.25, 1.0]), st.sampled_from(["mean", "map"]))
def test_the_evidence_is_that_of_the_slow_twin(corpus: Corpus, numbers: dict[str, float], others: float, estimate: str) -> None:
    statistics = statistics_of(corpus)
    numbers = {term: number or 0.5 for term, number in numbers.items()}
    found = log_evidence_of_classes(models_of(statistics, numbers, others, estimate))
    counts = plain(statistics)
    alpha = {term: numbers.get(term, others) + (estimate == "map") for term in counts.terms}
    wanted = oracle.log_evidence(counts, counts.terms, alpha) if counts.terms else 0.0
    assert found is not None
    assert found.sum() == pytest.approx(wanted, rel=1e-9, abs=1e-6)


def test_a_term_without_a_pseudo_count_leaves_no_evidence_of_classes_that_hold_it() -> None:
    found = log_evidence_of_classes(models_of(statistics_of(CORPUS), {"c": 0.0}, 1.0))
    assert found is not None
    assert np.isfinite(found).tolist() == [True, False, True]
    assert log_evidence_of_classes(models_of(statistics_of(CORPUS), {}, 0.0)) is None


@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_credible_intervals_and_posteriors_have_the_parameters_of_their_term(estimate: str) -> None:
    statistics, more = statistics_of(CORPUS), float(estimate == "map")
    models = models_of(statistics, ALPHA, 0.1, estimate)
    terms = np.arange(5)
    alpha = np.array([ALPHA[statistics.vocabulary.term(term)] for term in terms.tolist()]) + more
    for label in range(3):
        m = statistics.counts_of(terms)[:, label]
        a, rest = m + alpha, models.class_tokens[label] - m + alpha.sum() - alpha
        assert posterior(models, terms, label) == pytest.approx(a)
        ends = credible_intervals(models, terms)[:, label]
        assert ends == pytest.approx(np.stack((beta.ppf(0.025, a, rest), beta.ppf(0.975, a, rest)), axis=1), rel=1e-9)


def test_a_term_of_no_document_has_what_all_others_have() -> None:
    models = models_of(statistics_of(CORPUS), {"a": 4.0, "b": 0.5}, 2.0)
    assert np.exp(models.log_unseen()) == pytest.approx(2.0 / (models.class_tokens + 4.0 + 0.5 + 3 * 2.0))


def test_those_of_all_others_are_none_of_their_own() -> None:
    own = OwnPseudoCounts.of_terms({7: 2.0, 3: 0.5, 5: 1.0}, 1.0)
    assert (own.terms.tolist(), own.numbers.tolist()) == ([3, 7], [0.5, 2.0])
    assert own.of(np.array([9, 7, 0, 3, 3]), 1.0).tolist() == [1.0, 2.0, 1.0, 0.5, 0.5]
    assert (own.least(1.0), own.least(0.25), NO_OWN.least(1.0)) == (0.5, 0.25, 1.0)


def dense(corpus: Corpus, statistics: ClassStatistics) -> tuple[np.ndarray, list[str], np.ndarray]:
    """The counts of documents for scikit-learn, their classes and the pseudo-count of each column."""
    names = [statistics.vocabulary.term(term) for term in range(statistics.n_terms)]
    table = np.array([[terms.count(name) for name in names] for _, terms in corpus])
    return table, [label for label, _ in corpus], np.array([ALPHA[name] for name in names])


ASKED = [list("abcde"), list("ccd"), [], list("aaaa")]


def scores_of(model: MultinomialNaiveBayes | ComplementNaiveBayes | BernoulliNaiveBayes, statistics: ClassStatistics) -> np.ndarray:
    return model.joint_log_likelihood(matrix_of(ASKED, statistics.vocabulary))[0]


def test_multinomial_is_scikit_learns_with_an_array_of_pseudo_counts() -> None:
    of = training_of(CORPUS, ALPHA, 0.1, class_prior="uniform")
    table, labels, alpha = dense(CORPUS, of.statistics)
    reference = MultinomialNB(alpha=alpha, fit_prior=False).fit(table, labels)
    asked, _, _ = dense([("x", terms) for terms in ASKED], of.statistics)
    wanted = asked @ reference.feature_log_prob_.T + np.log(1 / 3)
    assert scores_of(MultinomialNaiveBayes.estimate(of), of.statistics) == pytest.approx(wanted, rel=1e-12)


def test_complement_is_scikit_learns_with_an_array_of_pseudo_counts() -> None:
    of = training_of(CORPUS, ALPHA, 0.1, classifier="complement")
    table, labels, alpha = dense(CORPUS, of.statistics)
    reference = ComplementNB(alpha=alpha).fit(table, labels)
    asked, _, _ = dense([("x", terms) for terms in ASKED], of.statistics)
    assert scores_of(ComplementNaiveBayes.estimate(of), of.statistics) == pytest.approx(asked @ reference.feature_log_prob_.T, rel=1e-12)


@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_bernoulli_is_scikit_learns_column_by_column(estimate: str) -> None:
    """Each coin has its own prior, and scikit-learn has one for all: so it fits a model to each column."""
    of = training_of(CORPUS, ALPHA, 0.1, classifier="bernoulli", class_prior="uniform", estimate=estimate)
    table, labels, alpha = dense(CORPUS, of.statistics)
    model = BernoulliNaiveBayes.estimate(of)
    asked, _, _ = dense([("x", terms) for terms in ASKED], of.statistics)
    wanted = np.full((len(ASKED), 3), np.log(1 / 3))
    for column in range(alpha.size):
        log_theta = BernoulliNB(alpha=alpha[column]).fit(table[:, [column]], labels).feature_log_prob_[:, 0]
        assert np.log(model.probability(np.array([column])))[0] == pytest.approx(log_theta, rel=1e-12)
        wanted += np.where(asked[:, [column]] > 0, log_theta, np.log1p(-np.exp(log_theta)))
    assert scores_of(model, of.statistics) == pytest.approx(wanted, rel=1e-12)
