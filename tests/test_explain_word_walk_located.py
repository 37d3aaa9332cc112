from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.counts.counting import document_counter
from nbtext.explain.word_walk import WordLocator
from nbtext.text.analyzer import UNKNOWN
from tests.strategies import HARD, documents

SETTINGS: list[dict[str, Any]] = [
    {},
    {"ngrams": 3},
    {"char_ngrams": "2-3"},
    {"ngrams": 2, "char_ngrams": "1", "stemmer": "none", "stop_words": "none"},
]


@cache
def model_of(number: int) -> TextClassifier:
    """A model that knows the hard words, alone and beside each other."""
    texts = [" ".join(HARD), *HARD, "the cat sat on the mat, cats sit"]
    return TextClassifier(**SETTINGS[number]).fit(texts, [f"class {place % 3}" for place in range(len(texts))])


@given(st.sampled_from(range(len(SETTINGS))), documents)
def test_they_are_the_terms_that_are_counted(number: int, text: bytes) -> None:
    model = model_of(number)
    located = WordLocator(model).locate(text)
    matrix = document_counter(model.analysis, model.statistics.vocabulary).count([text]).matrix()
    known = located.terms != UNKNOWN
    counts = np.bincount(located.terms[known], located.shares[known], model.statistics.n_terms)
    wanted = np.bincount(matrix.terms, matrix.counts, model.statistics.n_terms)
    assert counts == pytest.approx(wanted)
    assert located.shares[~known].sum() == pytest.approx(matrix.unknown[0])


@given(st.sampled_from(range(len(SETTINGS))), documents)
def test_words_stand_one_after_the_other_and_are_whole_characters(number: int, text: bytes) -> None:
    located = WordLocator(model_of(number)).locate(text)
    bounds = np.stack((located.begins, located.ends), axis=1).ravel()
    assert np.all(np.diff(bounds)[::2] > 0)
    assert np.all(np.diff(bounds) >= 0)
    for begin, end, name in zip(located.begins.tolist(), located.ends.tolist(), located.names, strict=True):
        assert text[begin:end].decode().casefold() == name


@given(st.sampled_from(range(len(SETTINGS))), documents)
def test_a_text_without_words_is_one(number: int, text: bytes) -> None:
    """Spaces in place of a word leave the other words as they are."""
    locator = WordLocator(model_of(number))
    located = locator.locate(text)
    for place in range(min(len(located.names), 3)):
        left = locator.locate(text[: located.begins[place]] + b" " + text[located.ends[place] :])
        kept = [(name, own) for other, (name, own) in enumerate(zip(located.names, located.own, strict=True)) if own and other != place]
        assert [(name, own) for name, own in zip(left.names, left.own, strict=True) if own] == kept


def test_counted_features_are_words_that_occur_so_often() -> None:
    model = TextClassifier(smoothing=1)
    model.reading = replace(model.reading, format="svmlight")
    model.fit_stream([("a", b"x:3 y:1"), ("b", b"y:2 z:5")])
    located = WordLocator(model).locate(b"x:2 q:4  x:1")
    assert (located.names, located.counts.tolist(), located.notes) == (["x", "q", "x"], [2, 4, 1], [None, "not-in-model", None])
    assert (located.begins.tolist(), located.ends.tolist(), located.shares.tolist()) == ([0, 4, 9], [3, 7, 12], [2, 4, 1])
