"""Document-term counts, against counters."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts import matrix as module
from nbtext.counts.matrix import (
    DocumentTermMatrix,
    Postings,
    add_weighted_sums,
    argsort_stable,
    find_run_starts,
)
from nbtext.counts.vocabulary import Vocabulary
from nbtext.ragged import compute_flat_indices, compute_offsets
from nbtext.text.analyzer import TermSequence
from tests import oracle, strategies
from tests.count_tables import matrix_of, postings_of, statistics_of

documents = st.lists(strategies.sequences, max_size=6)


def rows(matrix: DocumentTermMatrix, vocabulary: Vocabulary) -> list[dict[str, int]]:
    bounds = matrix.offsets.tolist()
    cells = [
        (vocabulary.get_term(term), count)
        for term, count in zip(matrix.terms.tolist(), matrix.counts.tolist(), strict=True)
    ]
    found = [cells[begin:end] for begin, end in pairwise(bounds)]
    assert all(len(dict(row)) == len(row) for row in found)
    return [dict(row) for row in found]


@pytest.mark.parametrize("order", [1, 2, 3])
@given(held=documents, asked=documents)
def test_matrix_rows_are_term_counts_and_unknown_tokens_are_counted_separately(
    order: int, held: list[list[str]], asked: list[list[str]]
) -> None:
    vocabulary = statistics_of([("class", row) for row in held], order).vocabulary
    known = {vocabulary.get_term(number) for number in range(len(vocabulary))}
    matrix = matrix_of(asked, vocabulary, order)
    terms = [oracle.ngrams(row, order) for row in asked]
    assert rows(matrix, vocabulary) == [
        Counter(term for term in row if term in known) for row in terms
    ]
    assert matrix.unknown_tokens.tolist() == [
        sum(term not in known for term in row) for row in terms
    ]
    assert matrix.known_tokens.tolist() == [sum(term in known for term in row) for row in terms]
    assert matrix.n_documents == len(asked)
    assert matrix.row_sizes.tolist() == [
        len({term for term in row if term in known}) for row in terms
    ]


@given(documents, st.sets(st.sampled_from(strategies.WORDS)))
def test_select_terms_keeps_the_counts_of_selected_terms(
    asked: list[list[str]], chosen: set[str]
) -> None:
    vocabulary = Vocabulary.from_terms(sorted(strategies.WORDS))
    matrix = matrix_of(asked, vocabulary).select_terms(
        np.array([term in chosen for term in vocabulary.list_single_terms()])
    )
    assert rows(matrix, vocabulary) == [
        Counter(term for term in row if term in chosen) for row in asked
    ]


def test_select_entries_keeps_all_features_of_an_entry() -> None:
    matrix = DocumentTermMatrix(
        compute_offsets(np.array([2, 1])),
        np.array([0, 1, 1]),
        np.array([[1, 2], [3, 4], [5, 6]]),
        np.zeros(2, np.int64),
    )
    found = matrix.select_entries(np.array([True, False, True]))
    assert (found.offsets.tolist(), found.counts.tolist()) == ([0, 1, 2], [[1, 2], [5, 6]])


@given(documents, st.data())
def test_postings_are_sorted_by_term_then_document_and_can_be_selected(
    asked: list[list[str]], data: st.DataObject
) -> None:
    vocabulary = Vocabulary.from_terms(sorted(strategies.WORDS))
    postings = postings_of(asked, vocabulary)
    found = list(
        zip(
            postings.terms.tolist(),
            postings.documents.tolist(),
            postings.counts.tolist(),
            strict=True,
        )
    )
    assert found == sorted(
        (vocabulary.find([term])[0], number, row.count(term))
        for number, row in enumerate(asked)
        for term in set(row)
    )
    chosen = data.draw(st.lists(st.booleans(), min_size=len(asked), max_size=len(asked)))
    some = postings.select_documents(np.array(chosen, np.bool_)).to_matrix()
    assert rows(some, vocabulary) == [
        Counter(row) for row, wanted in zip(asked, chosen, strict=True) if wanted
    ]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.one_of(
                st.integers(-1, 9), st.integers(2**29 - 2, 2**29 + 2), st.integers(2**32, 2**33)
            ),
        )
    )
)
def test_postings_from_a_sequence_count_pairs_of_any_ids(
    tokens: list[tuple[int, int]],
) -> None:
    pairs = np.array(tokens, np.int64).reshape(-1, 2)
    postings = Postings.from_sequence(TermSequence(pairs[:, 0], pairs[:, 1]), 6)
    found = list(
        zip(
            postings.terms.tolist(),
            postings.documents.tolist(),
            postings.counts.tolist(),
            strict=True,
        )
    )
    assert found == sorted(
        (term, number, count) for (number, term), count in Counter(tokens).items() if term >= 0
    )
    assert postings.unknown_tokens.tolist() == [
        sum(term < 0 for number, term in tokens if number == each) for each in range(6)
    ]
    twice = Postings.sum([postings, postings, postings])
    assert [column.tolist() for column in twice[:2]] == [column.tolist() for column in postings[:2]]
    assert twice.counts.tolist() == (3 * postings.counts).tolist()


@given(
    st.lists(
        st.one_of(
            st.integers(0, 9),
            st.integers(0, 2**32 - 1),
            st.integers(0, 2**16).map(lambda n: n << 8),
        )
    )
)
def test_argsort_stable_equals_a_stable_sort(numbers: list[int]) -> None:
    assert argsort_stable(np.array(numbers, np.int64)).tolist() == sorted(
        range(len(numbers)), key=numbers.__getitem__
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2))))
def test_run_starts_are_where_a_pair_differs_from_the_previous(
    pairs: list[tuple[int, int]],
) -> None:
    left, right = (np.array([one[side] for one in pairs], np.int64) for side in (0, 1))
    assert find_run_starts(left, right).tolist() == [
        place for place, one in enumerate(pairs) if not place or one != pairs[place - 1]
    ]


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 5))))
def test_flat_indices_cover_each_row(found: list[tuple[int, int]]) -> None:
    starts, sizes = (np.array([row[side] for row in found], np.int64) for side in (0, 1))
    assert compute_flat_indices(starts, sizes).tolist() == [
        start + i for start, size in found for i in range(size)
    ]
    assert compute_offsets(sizes).tolist() == [
        sum(sizes.tolist()[:i]) for i in range(len(found) + 1)
    ]


@pytest.mark.parametrize(
    ("at_once", "whole"),
    [
        (module.MAX_BLOCK_PRODUCTS, False),
        (module.MAX_LOOPED_ENTRIES * 50, True),
        (50, True),
        (1, True),
    ],
)
def test_products_of_many_classes_are_the_same_when_summed_by_rows(
    at_once: int, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, added = np.random.default_rng(2), list[str]()
    matrix = DocumentTermMatrix(
        np.array([0, 9, 9, 10, 30]),
        random.integers(0, 40, 30),
        random.integers(1, 4, 30),
        np.zeros(4, np.int64),
    )
    weights, scores = random.standard_normal((40, 50)), random.standard_normal((4, 50))
    monkeypatch.setattr(module, "MAX_BLOCK_PRODUCTS", at_once)
    expected, found = scores.copy(), scores.copy()
    for first in range(0, 30, max(at_once // 50, 1)):
        entries = range(first, min(first + max(at_once // 50, 1), 30))
        for document in sorted({int(matrix.entry_documents[entry]) for entry in entries}):
            own = [entry for entry in entries if matrix.entry_documents[entry] == document]
            products = weights[matrix.terms[own]] * matrix.counts[own, np.newaxis]
            expected[document] += np.add.reduceat(products, [0], axis=0)[0]

    def profile(_: object, event: str, called: object) -> None:
        if event == "c_call":
            added.append(getattr(called, "__name__", ""))

    sys.setprofile(profile)
    try:
        add_weighted_sums(found, matrix, 40, lambda terms: weights[terms])
    finally:
        sys.setprofile(None)
    assert np.array_equal(found, expected)
    assert ("reduceat" in added) != whole
