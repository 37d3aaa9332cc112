"""N-grams and blocks; character n-grams of words, against the slow path.

Also tests `text/analyzer.py`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.counts.counting import Analysis, DocumentCounter
from nbtext.counts.vocabulary import GrowingVocabulary
from nbtext.explain.mistakes import ExcerptFinder
from nbtext.ragged import BLOCK_BYTES, BLOCK_DOCUMENTS, split_into_blocks
from nbtext.text.analyzer import UNKNOWN_TERM, TermSequence
from nbtext.text.ngrams import CharNgramAnalyzer, add_ngrams, make_char_ngrams, parse_ngram_sizes
from nbtext.text.words import split_words
from tests import oracle, strategies

ORDERS = range(1, 5)


def sequence_of(documents: list[list[str]], vocabulary: GrowingVocabulary) -> TermSequence:
    ids = [vocabulary.intern(terms) for terms in documents]
    numbers = np.repeat(np.arange(len(documents)), [len(row) for row in ids])
    return TermSequence(numbers, np.array([number for row in ids for number in row], np.int64))


@pytest.mark.parametrize("order", ORDERS)
@given(documents=st.lists(strategies.sequences, max_size=5))
def test_each_term_is_followed_by_its_ngrams_within_the_document(
    order: int, documents: list[list[str]]
) -> None:
    growing = GrowingVocabulary()
    sequence = add_ngrams(sequence_of(documents, growing), order, growing.intern_pairs)
    vocabulary, final = growing.freeze()
    found: list[list[str]] = [[] for _ in documents]
    for document, number in zip(sequence.documents.tolist(), sequence.terms.tolist(), strict=True):
        found[document].append(vocabulary.get_term(int(final[number])))
    assert found == [oracle.ngrams(terms, order) for terms in documents]


@pytest.mark.parametrize("order", ORDERS)
@given(
    seen=st.lists(strategies.sequences, max_size=4),
    asked=st.lists(strategies.sequences, max_size=4),
)
def test_unseen_ngrams_are_unknown(
    order: int, seen: list[list[str]], asked: list[list[str]]
) -> None:
    growing = GrowingVocabulary()
    add_ngrams(sequence_of(seen, growing), order, growing.intern_pairs)
    vocabulary, _ = growing.freeze()
    number = {vocabulary.get_term(i): i for i in range(len(vocabulary))}
    terms = np.array([number.get(term, UNKNOWN_TERM) for row in asked for term in row], np.int64)
    documents = np.repeat(np.arange(len(asked)), [len(row) for row in asked])
    sequence = add_ngrams(TermSequence(documents, terms), order, vocabulary.find_pairs)
    assert sequence.terms.tolist() == [
        number.get(term, UNKNOWN_TERM) for row in asked for term in oracle.ngrams(row, order)
    ]


@given(st.lists(st.integers(0, BLOCK_BYTES), max_size=30))
def test_blocks_keep_their_order_and_are_as_short_as_possible(sizes: list[int]) -> None:
    found = list(split_into_blocks(sizes, int))
    assert [size for block in found for size in block] == sizes
    assert all(found)
    assert all(sum(block[:-1]) < BLOCK_BYTES for block in found)
    assert all(sum(block) >= BLOCK_BYTES for block in found[:-1])


def test_block_of_empty_documents_is_limited_in_documents() -> None:
    found = [len(block) for block in split_into_blocks(range(2 * BLOCK_DOCUMENTS + 1), lambda _: 0)]
    assert found == [BLOCK_DOCUMENTS, BLOCK_DOCUMENTS, 1]


STOP_WORDS = ("the", "don't", "東京", "ab", "na\u00efve")
SPANS = st.tuples(st.integers(1, 10), st.integers(1, 10)).map(sorted)
PLAIN: dict[str, Any] = {"stop_words": "none", "stemmer": "none"}


def slow(word: str, low: int, high: int) -> list[str]:
    """Every run of characters of the word between its marks, written as a pattern, but for the marks alone and the whole."""
    marked = ["<", *word, ">"]
    found = []
    for n in range(low, high + 1):
        for begin in range(len(marked) - n + 1):
            piece = marked[begin : begin + n]
            at_beginning, at_end = begin == 0, begin + n == len(marked)
            if (at_beginning and at_end) or (n == 1 and (at_beginning or at_end)):
                continue
            inner = "".join(piece[at_beginning : n - at_end])
            found.append(("" if at_beginning else "*") + inner + ("" if at_end else "*"))
    return found


def count_terms(text: str, **parameters: Any) -> Counter[str]:
    """The terms of one text and how often each occurs."""
    statistics = TextClassifier(**{**PLAIN, **parameters}).fit([text], ["a"]).fitted.statistics
    names = map(statistics.vocabulary.get_term, range(statistics.n_terms))
    return Counter(dict(zip(names, statistics.term_counts.tolist(), strict=True)))


@given(strategies.texts, SPANS)
def test_character_ngram_is_never_a_word_and_marks_its_position(text: str, span: list[int]) -> None:
    for word in split_words(text):
        for gram in make_char_ngrams(word, range(span[0], span[1] + 1)):
            assert split_words(gram) != [gram]
            core = gram.strip("*")
            assert core in word
            assert gram.startswith("*") or word.startswith(core)
            assert gram.endswith("*") or word.endswith(core)


@given(st.lists(st.lists(strategies.documents, max_size=4), max_size=3), SPANS)
def test_character_ngrams_match_the_slow_twin_for_every_block(
    batches: list[list[bytes]], span: list[int]
) -> None:
    low, high = span
    ids: dict[str, int] = {}
    analyzer = CharNgramAnalyzer(
        STOP_WORDS,
        range(low, high + 1),
        lambda terms: [ids.setdefault(term, len(ids)) for term in terms],
    )
    for texts in batches:
        sequence = analyzer.analyse(texts)
        names = list(ids)
        found: list[Counter[str]] = [Counter() for _ in texts]
        for document, term in zip(
            sequence.documents.tolist(), sequence.terms.tolist(), strict=True
        ):
            found[document][names[term]] += 1
        wanted = [
            Counter(
                gram for word in oracle.terms(text, STOP_WORDS) for gram in slow(word, low, high)
            )
            for text in texts
        ]
        assert found == wanted


def test_character_ngrams_are_added_without_changing_other_terms() -> None:
    texts = "owls hoot at owls; owls don't bark"
    settings: dict[str, Any] = {"stop_words": "default", "stemmer": "snowball", "ngrams": 2}
    with_them, without = (
        count_terms(texts, char_ngrams="3-4", **settings),
        count_terms(texts, **settings),
    )
    assert {term: n for term, n in with_them.items() if "*" not in term} == without
    assert with_them["*wls"] == 3
    assert with_them["owl"] == 3
    assert not any(gram in with_them for gram in ("don*", "at*", "*on't"))


def test_ngram_sizes_are_parsed() -> None:
    assert list(parse_ngram_sizes("3")) == [3]
    assert list(parse_ngram_sizes("10")) == [10]
    assert list(parse_ngram_sizes("1-10")) == list(range(1, 11))


def test_blocks_are_counted_like_single_documents() -> None:
    model = TextClassifier(**PLAIN, char_ngrams="2-3").fit(
        ["apple pie", "pear tree", "x"], ["a", "b", "b"]
    )
    texts = [b"", b"apple", b"unknown", b"pear pie pie", b"-"]
    parameters, vocabulary = model.settings, model.fitted.statistics.vocabulary
    together = (
        DocumentCounter(Analysis(parameters), vocabulary).count(texts).to_matrix().sort_entries()
    )
    for row, text in enumerate(texts):
        alone = (
            DocumentCounter(Analysis(parameters), vocabulary)
            .count([text])
            .to_matrix()
            .sort_entries()
        )
        here = slice(together.offsets[row], together.offsets[row + 1])
        assert together.terms[here].tolist() == alone.terms.tolist()
        assert together.counts[here].tolist() == alone.counts.tolist()
        assert together.unknown_tokens[row] == alone.unknown_tokens[0]


def test_unseen_word_is_classified_by_its_character_ngrams() -> None:
    texts, labels = ["the teacher teaches", "a baker bakes bread"], ["school", "kitchen"]
    assert TextClassifier(char_ngrams="3-5", class_prior="uniform").fit(texts, labels).predict(
        ["bakery", "teaching-room"]
    ).tolist() == [
        "kitchen",
        "school",
    ]


def test_excerpt_weighs_a_word_with_its_character_ngrams() -> None:
    texts, labels = ["the teacher teaches", "a baker bakes bread"], ["school", "kitchen"]
    model = TextClassifier(char_ngrams="3-5", smoothing=0.5).fit(texts, labels)
    marked = {
        piece.text: piece.nats
        for piece in ExcerptFinder(model.fitted).find_excerpt(
            Document("", None, b"our bakery, your teacher"), 0, 1
        )
        if piece.nats
    }
    joint = model.joint_log_likelihood(["", "bakery", "teacher"])
    difference = joint[:, 0] - joint[:, 1]
    assert marked == pytest.approx(
        {"bakery": difference[1] - difference[0], "teacher": difference[2] - difference[0]}
    )
