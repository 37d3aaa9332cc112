"""Terms to ids and back."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.vocabulary import (
    COMPARED_BYTES,
    GrowingVocabulary,
    Vocabulary,
    are_sorted_terms,
)
from nbtext.text.analyzer import UNKNOWN_TERM
from tests import strategies
from tests.count_tables import statistics_of

terms = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters=" "), min_size=1, max_size=4),
    unique=True,
)
documents = st.lists(strategies.sequences, max_size=5)


def vocabulary_of(sequences: list[list[str]], order: int) -> Vocabulary:
    return statistics_of([("class", sequence) for sequence in sequences], order).vocabulary


def names(vocabulary: Vocabulary) -> list[str]:
    return [vocabulary.get_term(number) for number in range(len(vocabulary))]


@given(terms)
def test_frozen_vocabulary_is_in_utf8_byte_order(found: list[str]) -> None:
    growing = GrowingVocabulary()
    ids = growing.intern(found)
    assert growing.intern(found[::-1]) == ids[::-1]
    vocabulary, final = growing.freeze()
    assert vocabulary.list_single_terms() == names(vocabulary) == sorted(found, key=str.encode)
    assert [vocabulary.get_term(int(final[number])) for number in ids] == found


@given(terms, terms)
def test_bisection_and_dictionary_find_the_same_terms(held: list[str], asked: list[str]) -> None:
    filler = [f"\ue000{number:05d}" for number in range(400)]
    listed = sorted({*held, *filler})
    number = {term: i for i, term in enumerate(listed)}
    few, many = Vocabulary.from_terms(listed), Vocabulary.from_terms(listed)
    assert many.find(listed) == list(range(len(listed)))
    wanted = [number.get(term, UNKNOWN_TERM) for term in [*held, *asked]]
    assert many.find([*held, *asked]) == wanted
    assert [found for term in [*held, *asked] for found in few.find([term])] == wanted


@pytest.mark.parametrize("order", range(1, 5))
@given(mine=documents, theirs=documents)
def test_union_contains_both_and_maps_each_term(
    order: int, mine: list[list[str]], theirs: list[list[str]]
) -> None:
    left, right = vocabulary_of(mine, order), vocabulary_of(theirs, order)
    union, of_left, of_right = left.union(right)
    assert union == vocabulary_of([*mine, *theirs], order)
    assert [union.get_term(number) for number in of_left.tolist()] == names(left)
    assert [union.get_term(number) for number in of_right.tolist()] == names(right)


long_terms = st.lists(
    st.tuples(
        st.sampled_from(["", "x" * (COMPARED_BYTES - 1), "x" * COMPARED_BYTES]),
        st.text("ab\0", max_size=3),
    ).map("".join)
)


@given(long_terms, long_terms)
def test_union_distinguishes_terms_with_a_long_common_prefix(
    mine: list[str], theirs: list[str]
) -> None:
    left, right = (Vocabulary.from_terms(sorted({*side, "z"})) for side in (mine, theirs))
    union, of_left, of_right = left.union(right)
    assert union.list_single_terms() == sorted({*mine, *theirs, "z"})
    assert [union.get_term(number) for number in of_left.tolist()] == left.list_single_terms()
    assert [union.get_term(number) for number in of_right.tolist()] == right.list_single_terms()


@pytest.mark.parametrize("order", range(1, 5))
@given(all_of=documents, some=st.sets(st.integers(0, 4)))
def test_restrict_keeps_the_vocabulary_of_the_chosen_documents(
    order: int, all_of: list[list[str]], some: set[int]
) -> None:
    vocabulary = vocabulary_of(all_of, order)
    part = vocabulary_of(
        [sequence for number, sequence in enumerate(all_of) if number in some], order
    )
    kept = np.array([term in names(part) for term in names(vocabulary)], np.bool_)
    assert vocabulary.restrict(kept) == part


@given(documents, documents)
def test_pairs_are_found_by_the_ids_of_their_parts(
    held: list[list[str]], asked: list[list[str]]
) -> None:
    vocabulary = vocabulary_of(held, 2)
    number = {term: i for i, term in enumerate(names(vocabulary))}
    pairs = [(a, b) for row in asked for a, b in pairwise(row) if a in number and b in number]
    left, last = (np.array([number[p[side]] for p in pairs], np.int64) for side in (0, 1))
    assert vocabulary.find_pairs(left, last).tolist() == [
        number.get(f"{a} {b}", UNKNOWN_TERM) for a, b in pairs
    ]


def test_vocabularies_differ_in_terms_bounds_or_ngrams() -> None:
    assert Vocabulary.from_terms(["ab", "c"]) != Vocabulary.from_terms(["a", "bc"])
    assert Vocabulary.from_terms(["ab", "c"]) == Vocabulary.from_terms(["ab", "c"])
    assert vocabulary_of([["ab", "c"]], 2) != vocabulary_of([["ab", "c"]], 1)
    assert Vocabulary.from_terms([]) != []


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "subject:", "a" * 8, "a" * 40]), st.text("ab\0é", max_size=9)
        )
        .map("".join)
        .filter(bool),
        max_size=6,
    ),
    st.booleans(),
)
def test_order_of_terms_is_checked_like_that_of_python(terms: list[str], is_sorted: bool) -> None:
    encoded = [term.encode() for term in terms]
    if is_sorted:
        encoded.sort()
    bounds = np.cumsum([0, *map(len, encoded)])
    expected = all(first < second for first, second in pairwise(encoded))
    assert are_sorted_terms(b"".join(encoded), bounds) == expected
