"""N-grams and blocks.

Also tests `text/analyzer.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.vocabulary import GrowingVocabulary
from nbtext.text import analyzer
from nbtext.text.analyzer import UNKNOWN, TermSequence
from nbtext.text.ngrams import with_ngrams
from nbtext.text_block import BLOCK_BYTES
from tests import oracle, strategies

ORDERS = range(1, 5)


def sequence_of(documents: list[list[str]], vocabulary: GrowingVocabulary) -> TermSequence:
    ids = [vocabulary.find(terms) for terms in documents]
    numbers = np.repeat(np.arange(len(documents)), [len(row) for row in ids])
    return TermSequence(numbers, np.array([number for row in ids for number in row], np.int64))


@pytest.mark.parametrize("order", ORDERS)
@given(documents=st.lists(strategies.sequences, max_size=5))
def test_every_term_is_followed_by_the_ngrams_that_begin_with_it_and_none_crosses_documents(order: int, documents: list[list[str]]) -> None:
    growing = GrowingVocabulary()
    sequence = with_ngrams(sequence_of(documents, growing), order, growing.find_pairs)
    vocabulary, final = growing.freeze()
    found: list[list[str]] = [[] for _ in documents]
    for document, number in zip(sequence.documents.tolist(), sequence.terms.tolist(), strict=True):
        found[document].append(vocabulary.term(int(final[number])))
    assert found == [oracle.ngrams(terms, order) for terms in documents]


@pytest.mark.parametrize("order", ORDERS)
@given(seen=st.lists(strategies.sequences, max_size=4), asked=st.lists(strategies.sequences, max_size=4))
def test_ngrams_that_were_never_seen_are_unknown_in_their_place(order: int, seen: list[list[str]], asked: list[list[str]]) -> None:
    growing = GrowingVocabulary()
    with_ngrams(sequence_of(seen, growing), order, growing.find_pairs)
    vocabulary, _ = growing.freeze()
    number = {vocabulary.term(i): i for i in range(len(vocabulary))}
    terms = np.array([number.get(term, UNKNOWN) for row in asked for term in row], np.int64)
    documents = np.repeat(np.arange(len(asked)), [len(row) for row in asked])
    sequence = with_ngrams(TermSequence(documents, terms), order, vocabulary.find_pairs)
    assert sequence.terms.tolist() == [number.get(term, UNKNOWN) for row in asked for term in oracle.ngrams(row, order)]


@given(st.lists(st.integers(0, BLOCK_BYTES), max_size=30))
def test_blocks_keep_order_and_are_as_short_as_their_size_allows(sizes: list[int]) -> None:
    found = list(analyzer.blocks(sizes, int))
    assert [size for block in found for size in block] == sizes
    assert all(found)
    assert all(sum(block[:-1]) < BLOCK_BYTES for block in found)
    assert all(sum(block) >= BLOCK_BYTES for block in found[:-1])


def test_a_block_of_empty_documents_ends_at_the_number_of_documents() -> None:
    found = [len(block) for block in analyzer.blocks(range(2 * analyzer.BLOCK_DOCUMENTS + 1), lambda _: 0)]
    assert found == [analyzer.BLOCK_DOCUMENTS, analyzer.BLOCK_DOCUMENTS, 1]
