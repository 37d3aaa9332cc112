"""Multinomial naive Bayes: the slow twin.

Also tests `counts/matrix.py`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts import matrix
from nbtext.settings import Estimate
from tests import oracle, strategies
from tests.count_tables import language_models, matrix_of, multinomial, statistics_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.classifiers.multinomial import MultinomialNaiveBayes

    Floats = NDArray[np.float64]


def fitted(
    corpus: list[oracle.Labelled], smoothing: float, estimate: str = "mean"
) -> MultinomialNaiveBayes:
    return multinomial(language_models(statistics_of(corpus), smoothing, estimate=estimate))


def scores(model: MultinomialNaiveBayes, documents: list[list[str]]) -> Floats:
    return model.joint_log_likelihood(
        matrix_of(documents, model.language_models.statistics.vocabulary)
    )[0]


@pytest.mark.parametrize("estimate", get_args(Estimate))
@given(
    corpus=strategies.corpora,
    smoothing=st.sampled_from([0.01, 1.0, 20.0]),
    documents=strategies.asked,
)
def test_multinomial_scores_match_the_slow_twin(
    estimate: str, corpus: list[oracle.Labelled], smoothing: float, documents: list[list[str]]
) -> None:
    counts = oracle.count(corpus)
    models, prior = (
        oracle.language_models(counts, counts.terms, smoothing, "symmetric", estimate),
        oracle.class_prior(counts),
    )
    wanted = [
        list(oracle.joint_log_likelihood(models, prior, terms).values()) for terms in documents
    ]
    assert scores(fitted(corpus, smoothing, estimate), documents).tolist() == [
        pytest.approx(row, rel=1e-12) for row in wanted
    ]


def test_multinomial_scores_do_not_depend_on_the_block_size() -> None:
    """More documents, terms and classes than fit at once, so that both kinds of parts have ends inside."""
    random = np.random.default_rng(1)
    names = np.array([f"term{number:04d}" for number in range(1500)])
    draw = [names[random.integers(0, names.size, 40)].tolist() for _ in range(2500)]
    corpus = [(f"class{number % 2000:04d}", terms) for number, terms in enumerate(draw)]
    model = fitted(corpus, 0.5)
    assert matrix.MAX_BLOCK_TERM_WEIGHTS < 1500 * 2000
    together = scores(model, draw[:100])
    np.testing.assert_allclose(
        together, np.concatenate([scores(model, [terms]) for terms in draw[:100]]), rtol=1e-12
    )
    counts = [Counter(terms) for terms in draw[:3]]
    known = np.array(model.language_models.statistics.vocabulary.find(names.tolist()))
    weights = model.language_models.compute_log_probability(known)
    wanted = [
        np.log(model.prior)
        + sum(n * weights[names.tolist().index(term)] for term, n in counter.items())
        for counter in counts
    ]
    np.testing.assert_allclose(together[:3], wanted, rtol=1e-12)
