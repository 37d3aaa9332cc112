"""Probabilities of terms as classifiers score by them: examples 13.1 and 13.2 of IIR, and what holds of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbtext.language_model.dirichlet import beta_intervals
from tests.textbook import model_of_china


@pytest.mark.parametrize(
    ("parameters", "symbol", "chinese", "tokyo"),
    [
        ({}, "φ", [2 / 9, 3 / 7], [2 / 9, 1 / 14]),
        ({"estimate": "ml"}, "φ", [1 / 3, 5 / 8], [1 / 3, 0]),
        ({"classifier": "bernoulli"}, "θ", [2 / 3, 4 / 5], [2 / 3, 1 / 5]),
        ({"weighting": "binary"}, "φ", [2 / 9, (3 + 1) / (6 + 6)], [2 / 9, 1 / 12]),
    ],
    ids=str,
)
def test_by_hand(parameters: dict[str, Any], symbol: str, chinese: list[float], tokyo: list[float]) -> None:
    of = model_of_china(**parameters)
    found = of.classifier.term_probabilities()
    assert found is not None
    assert found.symbol == symbol
    terms = np.array(of.statistics.vocabulary.find(["chinese", "tokyo"]))
    assert found.probability(terms) == pytest.approx(np.array([chinese, tokyo]))


@pytest.mark.parametrize("weighting", ["counts", "binary", "log", "tfidf"])
def test_tokens_share_one_distribution_over_the_terms_that_count(weighting: str) -> None:
    of = model_of_china(weighting=weighting, top=4)
    found = of.classifier.term_probabilities()
    assert found is not None
    selected = np.flatnonzero(found.selected)
    assert selected.size == 4
    assert found.probability(selected).sum(axis=0) == pytest.approx(np.ones(2))
    assert found.absence is None
    assert (found.posteriors is None) == (weighting in ("log", "tfidf"))
    if found.posteriors is not None:
        a, b = found.posteriors(selected)
        assert a / (a + b) == pytest.approx(found.probability(selected))
        intervals = beta_intervals(a, b)
        assert intervals.shape == (4, 2, 2)
        assert np.all((intervals[..., 0] < found.probability(selected)) & (found.probability(selected) < intervals[..., 1]))


def test_coins_have_a_probability_of_their_own_that_they_are_not_there() -> None:
    of = model_of_china(classifier="bernoulli")
    found = of.classifier.term_probabilities()
    assert found is not None
    terms = np.arange(of.statistics.n_terms)
    assert found.absence is not None
    assert found.probability(terms) + found.absence(terms) == pytest.approx(np.ones((terms.size, 2)))
    assert found.probability(terms).sum(axis=0) != pytest.approx(np.ones(2))
    assert found.counts(terms)[of.statistics.vocabulary.find(["chinese"])[0]].tolist() == [1, 3]


def test_a_model_of_the_other_classes_has_none() -> None:
    assert model_of_china(classifier="complement").classifier.term_probabilities() is None
