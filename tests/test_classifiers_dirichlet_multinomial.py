"""Dirichlet-multinomial naive Bayes: the slow twin, the multinomial model as its limit, and the real command."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.classifiers.base import Training
from nbtext.classifiers.dirichlet_multinomial import DirichletMultinomialNaiveBayes
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.counts import matrix
from nbtext.counts.matrix import DocumentTermMatrix
from nbtext.language_model.polya import LEAST_CONCENTRATION, MOST_CONCENTRATION
from nbtext.settings import Settings
from tests import oracle, strategies
from tests.budget import examples
from tests.building import every_term, matrix_of, statistics_of
from tests.textbook import CHINA, CHINA_ASKED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def training(corpus: list[oracle.Labelled], smoothing: float = 1.0, **options: Any) -> Training:
    statistics = statistics_of(corpus)
    return Training(statistics, every_term(statistics), smoothing, Settings.of(options))


def scores(model: DirichletMultinomialNaiveBayes | MultinomialNaiveBayes, of: Training, documents: list[list[str]]) -> Floats:
    return model.joint_log_likelihood(matrix_of(documents, of.statistics.vocabulary))[0]


def means(corpus: list[oracle.Labelled], smoothing: float, shape: str, estimate: str) -> tuple[oracle.Counts, oracle.Models]:
    """φ over documents that hold a term: of a corpus in which each holds it once."""
    once = oracle.count([(label, list(dict.fromkeys(terms))) for label, terms in corpus])
    return once, oracle.language_models(once, once.terms, smoothing, shape, estimate)


def rise(start: float, steps: int) -> float:
    """log Γ(x + n) − log Γ(x)."""
    return math.fsum(oracle.log(start + i) for i in range(steps))


@pytest.mark.parametrize("shape", ["symmetric", "background"])
@pytest.mark.parametrize("estimate", ["mean", "map", "ml"])
@examples(6)
@given(
    corpus=strategies.corpora,
    smoothing=st.sampled_from([0.01, 1.0, 20.0]),
    s=st.sampled_from([LEAST_CONCENTRATION, 1.0, 340.0, MOST_CONCENTRATION]),
    documents=strategies.asked,
)
def test_scores_are_those_of_the_slow_twin(
    shape: str, estimate: str, corpus: list[oracle.Labelled], smoothing: float, s: float, documents: list[list[str]]
) -> None:
    smoothing = 0.0 if estimate == "ml" else smoothing
    counts, phi = means(corpus, smoothing, shape, estimate)
    prior = oracle.class_prior(counts)
    wanted = []
    for terms in documents:
        known = [term for term in terms if term in counts.terms]
        of_terms = {k: [rise(s * phi[k, term], n) for term, n in Counter(known).items()] for k in counts.classes}
        wanted.append([oracle.log(prior[k]) + sum(of_terms[k]) - rise(s, len(known)) for k in counts.classes])
    of = training(corpus, smoothing, prior_shape=shape, estimate=estimate)
    found = scores(DirichletMultinomialNaiveBayes(of, s), of, documents)
    assert found.tolist() == [pytest.approx(row, rel=1e-10, abs=1e-10) for row in wanted]


@given(strategies.corpora, strategies.asked, st.sampled_from([0.1, 2.0]))
def test_without_burstiness_it_is_the_multinomial_model_of_documents_that_hold_a_term(
    corpus: list[oracle.Labelled], documents: list[list[str]], smoothing: float
) -> None:
    of = training(corpus, smoothing)
    once = training([(label, list(dict.fromkeys(terms))) for label, terms in corpus], smoothing)
    wanted = scores(MultinomialNaiveBayes.estimate(once), once, documents)
    np.testing.assert_allclose(scores(DirichletMultinomialNaiveBayes(of, MOST_CONCENTRATION), of, documents), wanted, atol=1e-4)


def test_scores_do_not_depend_on_how_many_weights_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    names = np.array([f"term{number:03d}" for number in range(300)])
    corpus = [(f"class{number % 11:02d}", names[random.integers(0, 300, 60)].tolist()) for number in range(200)]
    of = training(corpus, 0.5)
    model = DirichletMultinomialNaiveBayes(of, 50.0)
    documents = [terms for _, terms in corpus[:40]]
    together = scores(model, of, documents)
    np.testing.assert_allclose(together, np.concatenate([scores(model, of, [terms]) for terms in documents]), rtol=1e-12)
    monkeypatch.setattr(matrix, "TERM_WEIGHTS_AT_ONCE", 200)
    monkeypatch.setattr(matrix, "PRODUCTS_AT_ONCE", 100)
    np.testing.assert_allclose(scores(model, of, documents), together, rtol=1e-12)


def test_counts_of_any_size() -> None:
    of = training(CHINA)
    model = DirichletMultinomialNaiveBayes(of, 7.0)
    terms = np.array(of.statistics.vocabulary.find(["chinese", "tokyo"]))
    matrix = DocumentTermMatrix(np.array([0, 2]), terms, np.array([10**9, 3]), np.zeros(1, np.int64))
    found, lengths = model.joint_log_likelihood(matrix)
    alpha = 7 * model.language_models.probability(terms)
    wanted = [
        math.lgamma(alpha[0, k] + 10**9)
        - math.lgamma(alpha[0, k])
        + rise(float(alpha[1, k]), 3)
        - math.lgamma(7 + 10**9 + 3)
        + math.lgamma(7)
        for k in (0, 1)
    ]
    assert lengths.tolist() == [10**9 + 3]
    assert found[0] - model.log_prior == pytest.approx(wanted, abs=2e-4)  # the formula's, of numbers of 2e10


@pytest.mark.parametrize("estimate", ["mean", "ml"])
def test_likelihood_per_token_is_that_of_one_sequence_with_its_unknown_tokens(estimate: str) -> None:
    of = training(CHINA, 0.0 if estimate == "ml" else 1.0, estimate=estimate)
    model = DirichletMultinomialNaiveBayes(of, 5.0)
    matrix = matrix_of([["chinese", "chinese", "x", "y"], ["chinese", "tokyo"], ["x"], []], of.statistics.vocabulary)
    joint, lengths = model.joint_log_likelihood(matrix)
    found, tokens = model.likelihood_per_token(joint, lengths, matrix.unknown)
    assert tokens.tolist() == [4, 2, 1, 0]
    if estimate == "ml":
        assert found[[0, 2]].tolist() == [-np.inf, -np.inf]
        assert found[3] == 0
        return
    # φ from 6 entries of "yes" and 3 of "no", over 6 terms; a new term has a count of 0
    phi = {"yes": ((3 + 1) / (6 + 6), (0 + 1) / (6 + 6), 1 / (6 + 6)), "no": ((1 + 1) / (3 + 6), (1 + 1) / (3 + 6), 1 / (3 + 6))}
    chinese, _, new = (5 * share for share in phi["yes"])
    assert found[0] == pytest.approx((rise(chinese, 2) + 2 * math.log(new) - rise(5, 4)) / 4, rel=1e-12)
    best = ("no", "yes")[int(joint[1].argmax())]
    assert found[1] == pytest.approx((math.log(5 * phi[best][0]) + math.log(5 * phi[best][1]) - rise(5, 2)) / 2, rel=1e-12)
    assert found[2:] == pytest.approx([math.log(new) - math.log(5), 0], rel=1e-12)


TEXTS = [" ".join(terms) for _, terms in CHINA]
LABELS = [label for label, _ in CHINA]


def test_the_concentration_is_kept_and_learnt_anew_from_the_sample_after_an_update() -> None:
    one = TextClassifier(classifier="dirichlet-multinomial", smoothing=1).fit(TEXTS, LABELS)
    assert list(one.fitted.learnt.fitted) == ["concentration"]
    two = TextClassifier(classifier="dirichlet-multinomial", smoothing=1).fit(TEXTS[:2], LABELS[:2])
    assert two.fitted.learnt.fitted["concentration"] != one.fitted.learnt.fitted["concentration"]
    two.partial_fit(TEXTS[2:], LABELS[2:])
    assert two.fitted.learnt.fitted["concentration"] == one.fitted.learnt.fitted["concentration"]
    assert isinstance(one.fitted.classifier, DirichletMultinomialNaiveBayes)
    assert one.fitted.classifier.concentration == one.fitted.learnt.fitted["concentration"][0]
    assert one.predict([" ".join(CHINA_ASKED)]).tolist() in (["yes"], ["no"])


def test_smoothing_is_by_the_evidence_of_documents_that_hold_a_term() -> None:
    texts, labels = ["ant ant ant ant bee", "bee cat", "dog dog", "dog eel eel eel eel"], ["a", "a", "b", "b"]
    once = ["ant bee", "bee cat", "dog", "dog eel"]
    plain: dict[str, Any] = {"stemmer": "none", "stop_words": "none", "calibration": "none"}
    wanted = TextClassifier(**plain).fit(once, labels).fitted.learnt.smoothing
    assert TextClassifier(**plain, classifier="dirichlet-multinomial").fit(texts, labels).fitted.learnt.smoothing == wanted
    assert TextClassifier(**plain).fit(texts, labels).fitted.learnt.smoothing != wanted
