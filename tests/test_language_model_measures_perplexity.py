"""Perplexity: numbers by hand, and a plain loop over tokens."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.language_model import measures as module
from nbtext.language_model.measures import HeldOutText, held_out, perplexity
from tests import strategies
from tests.building import language_models, matrix_of, statistics_of
from tests.textbook import CHINA, CHINA_ASKED

if TYPE_CHECKING:
    from tests.oracle import Labelled


def test_terms_that_are_equally_probable() -> None:
    assert perplexity(np.array([10 * math.log(1 / 8)]), np.array([10])) == pytest.approx([8])
    assert np.isnan(perplexity(np.array([0.0]), np.array([0]))).all()
    assert perplexity(np.array([-np.inf]), np.array([3])).tolist() == [np.inf]


def test_the_document_of_example_13_1_under_both_classes() -> None:
    statistics = statistics_of(CHINA)
    models = language_models(statistics, smoothing=1)
    found = held_out(models, matrix_of([CHINA_ASKED, CHINA_ASKED], statistics.vocabulary), np.array([0, 1]))
    no, yes = (2 / 9) ** 5, (3 / 7) ** 3 * (1 / 14) ** 2
    assert np.exp(found.log_likelihood) == pytest.approx([no, yes])
    assert found.perplexity == pytest.approx([no ** (-1 / 5), yes ** (-1 / 5)])
    assert (found.documents.tolist(), found.tokens.tolist(), found.unknown.tolist()) == ([1, 1], [5, 5], [0, 0])


def test_an_unknown_token_counts_as_a_term_that_was_never_seen() -> None:
    statistics = statistics_of(CHINA)
    models = language_models(statistics, smoothing=1)
    found = held_out(models, matrix_of([["chinese", "peking", "peking"]], statistics.vocabulary), np.array([1]))
    assert found.unknown.tolist() == [0, 2]
    assert found.log_likelihood[1] == pytest.approx(math.log(3 / 7) + 2 * math.log(1 / 14))
    never = language_models(statistics, smoothing=0, estimate="ml")
    impossible = held_out(never, matrix_of([["peking"], ["chinese"]], statistics.vocabulary), np.array([1, 0]))
    assert impossible.perplexity.tolist() == pytest.approx([3.0, np.inf])


@given(strategies.corpora, strategies.corpora, st.booleans(), st.sampled_from([1, 1 << 20]))
def test_a_loop_over_tokens_gives_the_same(train: list[Labelled], test: list[Labelled], some: bool, at_once: int) -> None:
    statistics = statistics_of(train)
    over = ("ant", "bee", "cat", "dog", "eel") if some else None
    models = language_models(statistics, 0.5, over=over)
    number = {label: place for place, label in enumerate(statistics.classes)}
    test = [(label, terms) for label, terms in test if label in number]
    vocabulary = statistics.vocabulary
    expected: dict[int, float] = defaultdict(float)
    tokens: dict[int, int] = defaultdict(int)
    for label, terms in test:
        k = number[label]
        for j in vocabulary.find(terms):
            known = j >= 0 and models.selected[j]
            expected[k] += models.log_probability(np.array([j]))[0, k] if known else models.log_unseen()[k]
            tokens[k] += 1
    classes = np.array([number[label] for label, _ in test], np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SCORES_AT_ONCE", at_once)
        halves = [
            held_out(models, matrix_of([terms for _, terms in test[part]], vocabulary), classes[part])
            for part in (slice(0, 3), slice(3, None))
        ]
    found = HeldOutText.empty(statistics.n_classes).and_of(halves[0]).and_of(halves[1])
    for k in range(statistics.n_classes):
        assert found.log_likelihood[k] == pytest.approx(expected[k])
        assert found.tokens[k] == tokens[k]
        if tokens[k]:
            assert found.perplexity[k] == pytest.approx(math.exp(-expected[k] / tokens[k]))
