from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts import documents as module
from nbtext.counts.counting import Analysis, hash_contents
from nbtext.counts.documents import MAX_HASH, DocumentSample
from nbtext.errors import UsageError
from nbtext.settings import Settings
from tests.models import count

if TYPE_CHECKING:
    from nbtext.counts.corpus_counts import CorpusCounts

PARAMETERS = Settings.from_values({"stemmer": "none", "stop_words": "none", "keep_documents": 4})
LABELLED = st.lists(
    st.tuples(st.sampled_from("xyz"), st.text("abc ", max_size=12).map(str.encode)),
    min_size=1,
    max_size=30,
)

Documents = list[tuple[str, bytes]]


def count_texts(documents: Documents, size: int = 4, ngrams: int = 1) -> CorpusCounts:
    return count(documents, Analysis(replace(PARAMETERS, keep_documents=size, ngrams=ngrams)))


def contents(sample: DocumentSample, counts: CorpusCounts) -> list[tuple[int, str, dict[str, int]]]:
    """The documents of a sample by hash, label and counts of terms."""
    documents, statistics = sample.documents, counts.table
    found = []
    for row in range(len(documents)):
        entries = slice(documents.matrix.offsets[row], documents.matrix.offsets[row + 1])
        terms = [
            statistics.vocabulary.get_term(term)
            for term in documents.matrix.terms[entries].tolist()
        ]
        of_terms = dict(zip(terms, documents.matrix.counts[entries].tolist(), strict=True))
        found.append(
            (int(documents.hashes[row]), statistics.classes[documents.classes[row]], of_terms)
        )
    return found


def expected(documents: Documents, size: int) -> list[tuple[int, str, dict[str, int]]]:
    words = [[word for word in text.decode().split() if len(word) > 1] for _, text in documents]
    hashes = hash_contents([text for _, text in documents]).tolist()
    rows = [
        (number, label, dict(sorted(Counter(terms).items())))
        for number, (label, _), terms in zip(hashes, documents, words, strict=True)
    ]
    return sorted(rows, key=lambda row: row[:2])[:size]


@given(LABELLED, st.integers(0, 40))
def test_sample_contains_the_documents_with_the_smallest_hashes(
    documents: Documents, size: int
) -> None:
    counts = count_texts(documents, size)
    assert contents(counts.sample, counts) == expected(documents, size)
    assert counts.sample.is_complete == (len(documents) <= size)
    assert all(number <= counts.sample.bound for number, *_ in contents(counts.sample, counts))


@given(LABELLED, LABELLED, st.integers(0, 12))
def test_sample_of_a_union_is_found_in_the_union_of_samples(
    first: Documents, second: Documents, size: int
) -> None:
    together, sum_ = (
        count_texts(first + second, size),
        count_texts(first, size) + count_texts(second, size),
    )
    assert contents(sum_.sample, sum_) == contents(together.sample, together)
    assert sum_.table == together.table
    assert sum_.sample.bound == together.sample.bound


@given(LABELLED, LABELLED, st.integers(0, 12))
def test_removed_documents_leave_the_sample_and_evicted_ones_do_not_return(
    first: Documents, second: Documents, size: int
) -> None:
    whole, remaining = (
        count_texts(first + second, size),
        count_texts(first + second, size) - count_texts(second, size),
    )
    kept, left = (
        Counter(map(str, contents(whole.sample, whole))),
        Counter(map(str, expected(second, 100))),
    )
    assert Counter(map(str, contents(remaining.sample, remaining))) == kept - left
    assert remaining.table == count_texts(first, size).table
    last = int(remaining.sample.documents.hashes.max(initial=0))
    assert remaining.sample.bound == (MAX_HASH if whole.sample.is_complete else last)


@given(LABELLED, st.integers(0, 12))
def test_bound_is_the_hash_of_a_sampled_document(documents: Documents, size: int) -> None:
    """A hash of another document would tell that it was there, after it was forgotten too."""
    sample = count_texts(documents, size).sample
    assert sample.is_complete == (len(documents) <= size and size > 0)
    assert sample.is_complete or sample.bound == max(sample.documents.hashes.tolist(), default=0)


def test_uncounted_documents_cannot_be_subtracted() -> None:
    with pytest.raises(UsageError, match="never counted"):
        count_texts([("x", b"aa")]) - count_texts([("x", b"bb")])


@given(st.lists(st.binary(max_size=4), min_size=1))
def test_hashes_depend_only_on_the_text(texts: list[bytes]) -> None:
    hashes = hash_contents(texts).tolist()
    assert len(set(hashes)) == len(set(texts))
    assert hashes == [int(hash_contents([text])[0]) for text in texts]


def test_sample_is_limited_in_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SAMPLE_ENTRIES", 10)
    monkeypatch.setattr(module, "MAX_SAMPLED_DOCUMENT_TERMS", 6)
    documents = [
        ("x", " ".join(f"{chr(97 + n)}{chr(97 + m)}" for m in range(1 + (n + m) % 8)).encode())
        for n in range(20)
        for m in (0, 3)
    ]
    short = [row for row in expected(documents, 100) if len(row[2]) <= 6]
    ends = np.cumsum([len(row[2]) for row in short])
    counts = count_texts(documents, 30)
    assert contents(counts.sample, counts) == short[: int(np.searchsorted(ends, 10, side="right"))]
    halves = count_texts(documents[:15], 30) + count_texts(documents[15:], 30)
    assert contents(halves.sample, halves) == contents(counts.sample, counts)


def test_long_stream_is_sampled_incrementally() -> None:
    documents = [(str(number % 3), b"aa bb %d" % (number * 7919 % 1000)) for number in range(3000)]
    counts = count_texts(documents, 50)
    assert contents(counts.sample, counts) == expected(documents, 50)
    assert not counts.sample.is_complete
    assert counts.sample.bound < MAX_HASH


def test_ngrams_are_part_of_a_sample() -> None:
    counts = count_texts([("x", b"aa bb aa bb")], ngrams=2)
    assert [terms for *_, terms in contents(counts.sample, counts)] == [
        {"aa": 2, "bb": 2, "aa bb": 2, "bb aa": 1}
    ]
