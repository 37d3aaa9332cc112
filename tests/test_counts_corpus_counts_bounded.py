"""Counting over a bounded vocabulary: at most so many terms, counts that are too low by no more than is told, exact where nothing was left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.counts.corpus_counts import bounded_sum, limit_vocabulary, most_frequent
from nbtext.counts.counting import Analysis, count_corpus
from nbtext.settings import Settings
from tests.process import SERVICE_DESK, error_line, nbtext, succeeded

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.counts.corpus_counts import CorpusCounts

PLAIN = Settings(stemmer="none", stop_words="none")
WORDS = [f"word{number}" for number in range(12)]
DOCUMENTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.lists(st.sampled_from(WORDS), max_size=6).map(lambda words: " ".join(words).encode())),
    min_size=1,
    max_size=12,
)
Documents = list[tuple[str, bytes]]


def counted(documents: Documents, ngrams: int = 1) -> CorpusCounts:
    return count_corpus(documents, Analysis(replace(PLAIN, ngrams=ngrams)))


def documents_by_term(counts: CorpusCounts) -> dict[str, int]:
    name = counts.statistics.vocabulary.term
    return {name(number): holding for number, holding in enumerate(counts.statistics.term_documents.tolist())}


@given(DOCUMENTS, st.integers(1, 14), st.integers(1, 4), st.integers(1, 2))
def test_counts_are_too_low_by_no_more_than_is_told(documents: Documents, most: int, size: int, ngrams: int) -> None:
    whole = counted(documents, ngrams)
    stretches = (counted(documents[begin : begin + size], ngrams) for begin in range(0, len(documents), size))
    found = bounded_sum(stretches, most)
    assert found is not None
    assert found.statistics.n_terms <= most
    assert limit_vocabulary(found, most).is_closed == (found.missed > 0)
    assert found.statistics.class_documents.tolist() == whole.statistics.class_documents.tolist()
    true = documents_by_term(whole)
    for term, holding in documents_by_term(found).items():
        assert true[term] - found.missed <= holding <= true[term]
    if not found.missed:
        assert found.statistics == whole.statistics
    assert len(found.sample.documents) == len(whole.sample.documents)


@given(DOCUMENTS, st.integers(1, 12))
def test_the_terms_in_most_documents_stay(documents: Documents, most: int) -> None:
    whole = counted(documents)
    kept = documents_by_term(most_frequent(whole, most))
    true = documents_by_term(whole)
    assert sorted(kept.values(), reverse=True) == sorted(true.values(), reverse=True)[:most]
    assert all(true[term] == holding for term, holding in kept.items())


def test_no_stretch_has_no_counts() -> None:
    assert bounded_sum([], 3) is None


def test_a_model_stays_within_its_bound(tmp_path: Path) -> None:
    train = ("train", SERVICE_DESK / "train", "--max-terms", "300", "-m", "m")
    done = nbtext(*train, "-v", cwd=tmp_path)
    assert done.status == 0
    assert "terms were left out to keep to --max-terms" in "".join(done.notes)
    model = TextClassifier.load(str(tmp_path / "m"))
    assert model.statistics.n_terms == 300
    succeeded(nbtext("update", SERVICE_DESK / "test", "-m", "m", cwd=tmp_path))
    updated = TextClassifier.load(str(tmp_path / "m"))
    assert updated.statistics.vocabulary == model.statistics.vocabulary
    assert updated.statistics.n_documents > model.statistics.n_documents
    wide = TextClassifier(max_terms=10**6).fit(["one two", "three"], ["a", "b"])
    narrow = TextClassifier().fit(["one two", "three"], ["a", "b"])
    assert wide.statistics == narrow.statistics
    assert not wide.counts.is_closed
    wide.partial_fit(["four five six"], ["a"])
    assert wide.set_params(max_terms=2).get_params()["max_terms"] == 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--jobs", "2"), "--max-terms goes with one job"),
        (("--classifier", "logistic"), "--max-terms is for models of counts alone"),
        (("--weighting", "tfidf"), "--max-terms is for models of counts alone"),
    ],
)
def test_what_does_not_go_with_a_bound(tmp_path: Path, options: tuple[str, ...], complaint: str) -> None:
    assert complaint in error_line(nbtext("train", SERVICE_DESK / "train", "--max-terms", "9", *options, cwd=tmp_path), 2)


def test_terms_of_equal_documents_stay_in_the_order_of_the_vocabulary() -> None:
    kept = most_frequent(counted([("a", b"bb cc dd"), ("b", b"aa bb")]), 3)
    assert [kept.statistics.vocabulary.term(number) for number in range(3)] == ["aa", "bb", "cc"]
    assert kept.missed == 1
    assert np.array_equal(kept.statistics.term_documents, [1, 2, 1])
