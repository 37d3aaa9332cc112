"""Multinomial naive Bayes: the slow twin, and scikit-learn.

Also tests `counts/matrix.py`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import MultinomialNB

from nbtext.counts import matrix
from nbtext.decision import log_posterior, minimum_error
from nbtext.language_model.dirichlet import ESTIMATES
from tests import oracle, strategies
from tests.budget import examples
from tests.building import language_models, matrix_of, multinomial, statistics_of
from tests.textbook import CHINA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.classifiers.multinomial import MultinomialNaiveBayes

    Floats = NDArray[np.float64]

asked = st.lists(st.lists(st.sampled_from([*strategies.WORDS, "unseen"]), max_size=10), min_size=1, max_size=6)


def fitted(
    corpus: list[oracle.Labelled], smoothing: float = 1.0, estimate: str = "mean", prior: str | Mapping[str, float] = "empirical"
) -> MultinomialNaiveBayes:
    statistics = statistics_of(corpus)
    return multinomial(language_models(statistics, smoothing, estimate=estimate), prior)


def scores(model: MultinomialNaiveBayes, documents: list[list[str]]) -> Floats:
    return model.joint_log_likelihood(matrix_of(documents, model.language_models.statistics.vocabulary))[0]


@pytest.mark.parametrize("estimate", ESTIMATES)
@given(corpus=strategies.corpora, smoothing=st.sampled_from([0.01, 1.0, 20.0]), documents=asked)
def test_scores_are_those_of_the_slow_twin(
    estimate: str, corpus: list[oracle.Labelled], smoothing: float, documents: list[list[str]]
) -> None:
    counts = oracle.count(corpus)
    models, prior = oracle.language_models(counts, counts.terms, smoothing, "symmetric", estimate), oracle.class_prior(counts)
    wanted = [list(oracle.joint_log_likelihood(models, prior, terms).values()) for terms in documents]
    assert scores(fitted(corpus, smoothing, estimate), documents).tolist() == [pytest.approx(row, rel=1e-12) for row in wanted]


@pytest.mark.parametrize("prior", ["empirical", "uniform", "given"])
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0, 7.5])
@examples(6)
@given(corpus=strategies.corpora.filter(lambda corpus: any(terms for _, terms in corpus)), documents=asked)
def test_scikit_learn_says_the_same_class_by_class(
    prior: str, alpha: float, corpus: list[oracle.Labelled], documents: list[list[str]]
) -> None:
    classes = sorted({label for label, _ in corpus})
    weights = {label: float(number) for number, label in enumerate(classes, 1)}
    shares = [weights[label] / sum(weights.values()) for label in classes]
    reference = MultinomialNB(alpha=alpha, fit_prior=prior == "empirical", class_prior=shares if prior == "given" else None)
    vocabulary = sorted({term for _, terms in corpus for term in terms})
    reference.fit(dense([terms for _, terms in corpus], vocabulary), [label for label, _ in corpus])
    model = fitted(corpus, alpha, prior=weights if prior == "given" else prior)
    table = dense(documents, vocabulary)
    joint = scores(model, documents)
    assert list(model.language_models.statistics.classes) == reference.classes_.tolist()
    np.testing.assert_allclose(joint, reference.predict_joint_log_proba(table), rtol=1e-11)
    posterior = log_posterior(joint)
    np.testing.assert_allclose(posterior, reference.predict_log_proba(table), rtol=1e-9, atol=1e-11)
    best = posterior.max(axis=1)
    answers = reference.classes_[minimum_error(posterior)]
    unequal = (best[:, np.newaxis] - posterior > 1e-9).sum(axis=1) == len(classes) - 1
    assert answers[unequal].tolist() == reference.predict(table)[unequal].tolist()


def dense(documents: list[list[str]], vocabulary: list[str]) -> Floats:
    counters = [Counter(terms) for terms in documents]
    return np.array([[counter[term] for term in vocabulary] for counter in counters], float).reshape(len(documents), len(vocabulary))


def test_scores_do_not_depend_on_how_many_weights_are_held_at_once() -> None:
    """More documents, terms and classes than fit at once, so that both kinds of parts have ends inside."""
    random = np.random.default_rng(1)
    names = np.array([f"term{number:04d}" for number in range(1500)])
    draw = [names[random.integers(0, names.size, 40)].tolist() for _ in range(2500)]
    corpus = [(f"class{number % 2000:04d}", terms) for number, terms in enumerate(draw)]
    model = fitted(corpus, 0.5)
    assert matrix.TERM_WEIGHTS_AT_ONCE < 1500 * 2000
    together = scores(model, draw[:100])
    np.testing.assert_allclose(together, np.concatenate([scores(model, [terms]) for terms in draw[:100]]), rtol=1e-12)
    counts = [Counter(terms) for terms in draw[:3]]
    known = np.array(model.language_models.statistics.vocabulary.find(names.tolist()))
    weights = model.language_models.log_probability(known)
    wanted = [np.log(model.prior) + sum(n * weights[names.tolist().index(term)] for term, n in counter.items()) for counter in counts]
    np.testing.assert_allclose(together[:3], wanted, rtol=1e-12)


def test_a_class_whose_prior_is_zero_is_impossible() -> None:
    model = fitted(CHINA, prior={"no": 0, "yes": 1})
    assert log_posterior(scores(model, [["japan"]])).tolist() == [[-np.inf, 0]]
