"""Duplicates between two corpora: against plain Python, planted ones, properties, and corpora made to be slow."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.near_duplicates import (
    ENOUGH_PARTNERS,
    FEWEST_TERMS,
    HASHES,
    MOST_IN_BAND,
    RECALL,
    THRESHOLD,
    NearDuplicates,
    jaccard,
    near_duplicates,
    rows_of_band,
    signatures,
)
from nbtext.counts.vocabulary import GrowingVocabulary
from tests.budget import examples
from tests.building import matrix_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.counts.matrix import DocumentTermMatrix

Terms = list[str]


def matrices(*corpora: Sequence[Terms]) -> list[DocumentTermMatrix]:
    """The corpora over one vocabulary."""
    vocabulary = GrowingVocabulary()
    return [matrix_of(corpus, vocabulary) for corpus in corpora]


def found(training: Sequence[Terms], test: Sequence[Terms], threshold: float = THRESHOLD) -> list[tuple[int, int, float, bool]]:
    of_training, of_test = matrices(training, test)
    return _listed(near_duplicates(of_training, of_test, threshold))


def plain_jaccard(left: Terms, right: Terms) -> float:
    either = set(left) | set(right)
    return len(set(left) & set(right)) / len(either) if either else 0.0


def plainly_found(training: Sequence[Terms], test: Sequence[Terms], threshold: float) -> list[tuple[int, int, float, bool]]:
    """What ought to be found, from all pairs."""
    answer = []
    for number, document in enumerate(test):
        equal = [place for place, other in enumerate(training) if document and sorted(other) == sorted(document)]
        long = [place for place, other in enumerate(training) if min(len(set(document)), len(set(other))) >= FEWEST_TERMS]
        alike = [
            (-plain_jaccard(document, training[place]), place) for place in long if plain_jaccard(document, training[place]) >= threshold
        ]
        if equal:
            answer.append((number, equal[0], 1.0, True))
        elif alike:
            answer.append((number, min(alike)[1], -min(alike)[0], False))
    return answer


def words(seed: int, n: int, among: int = 5000) -> Terms:
    return [f"w{number}" for number in random.Random(seed).sample(range(among), n)]


def changed(document: Terms, kept: int, seed: int = 0) -> Terms:
    """The document with all but ``kept`` terms replaced by new ones."""
    return [*document[:kept], *(f"new{seed}-{number}" for number in range(len(document) - kept))]


SETS = st.lists(st.integers(0, 30).map(str), max_size=40)


@given(st.lists(st.tuples(SETS, SETS), max_size=8))
def test_jaccard_is_that_of_sets(pairs: list[tuple[Terms, Terms]]) -> None:
    left, right = matrices([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    rows = np.arange(len(pairs))
    assert jaccard(left, right, rows, rows).tolist() == [plain_jaccard(*pair) for pair in pairs]


def test_jaccard_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbtext.counts.near_duplicates._ENTRIES_AT_ONCE", 30)
    documents = [words(seed, 5 + seed, among=40) for seed in range(20)]
    left, right = matrices(documents, documents[::-1])
    first, second = (rows.ravel() for rows in np.mgrid[0:20, 0:20])
    wanted = [plain_jaccard(documents[i], documents[19 - j]) for i, j in zip(first, second, strict=True)]
    assert jaccard(left, right, first, second).tolist() == wanted


@pytest.mark.parametrize("shared", [0, 10, 40, 70, 95, 100])
def test_signatures_agree_as_often_as_the_sets_do(shared: int) -> None:
    document = words(1, 100)
    left, right = matrices([document], [changed(document, shared)])
    functions = np.arange(4000)
    agreeing = (signatures(left, functions) == signatures(right, functions)).mean()
    similarity = plain_jaccard(document, changed(document, shared))
    assert agreeing == pytest.approx(similarity, abs=4 * np.sqrt(similarity * (1 - similarity) / functions.size) + 1e-6)


def test_a_signature_is_the_least_hash_of_the_terms() -> None:
    documents = [words(seed, 1 + seed % 7, among=30) for seed in range(30)]
    single = sorted({term for document in documents for term in document})
    together, alone = matrices(documents, [[term] for term in single])
    functions = np.arange(50)
    of_term = dict(zip(single, signatures(alone, functions).T.tolist(), strict=True))
    wanted = [[min(hashes) for hashes in zip(*(of_term[term] for term in document), strict=True)] for document in documents]
    assert signatures(together, functions).T.tolist() == wanted


@pytest.mark.parametrize("threshold", [0.7, 0.75, 0.8, 0.9, 0.95, 1.0])
def test_bands_keep_their_promise_and_are_as_long_as_they_can_be(threshold: float) -> None:
    def recall(rows: int) -> float:
        return float(1 - (1 - threshold**rows) ** (HASHES // rows))

    rows = rows_of_band(threshold)
    assert recall(rows) >= RECALL
    assert rows == HASHES or recall(rows + 1) < RECALL


def test_planted_duplicates_are_found_and_nothing_else() -> None:
    training = [words(seed, 60) for seed in range(400)]
    test = [words(seed, 60) for seed in range(1000, 1300)]
    planted = {}
    for number in range(0, 300, 5):
        kept = 55 + number // 5 % 6  # of 60: Jaccard from 55 / 65 = 0.846 to 1
        test[number] = changed(training[number], kept)
        planted[number] = (number, kept / (120 - kept), kept == 60)
    for number in range(1, 300, 5):
        test[number] = changed(training[number], 53)  # 53 / 67 = 0.79
    answer = found(training, test)
    assert {row: (partner, similarity, exact) for row, partner, similarity, exact in answer} == planted
    assert answer == plainly_found(training, test, THRESHOLD)


@pytest.mark.parametrize("threshold", [0.7, 0.8, 0.9, 1.0])
def test_as_all_pairs_compared_plainly(threshold: float) -> None:
    source = random.Random(threshold)
    bases = [words(seed, source.randrange(6, 40), among=200) for seed in range(30)]
    training = [[term for term in source.choice(bases) if source.random() > 0.1] + words(source.randrange(99), 1) for _ in range(150)]
    test = [list(document) for document in source.choices(training, k=50)]
    test += [[term for term in source.choice(training) if source.random() > 0.08] for _ in range(100)]
    training.append([])
    test.append([])
    wanted = plainly_found(training, test, threshold)
    assert len(wanted) > 50
    assert found(training, test, threshold) == wanted


def test_counts_decide_what_is_equal_and_not_what_is_near() -> None:
    document = words(1, 20)
    assert found([document], [document[::-1]]) == [(0, 0, 1.0, True)]
    assert found([document], [document * 2]) == [(0, 0, 1.0, False)]
    assert found([document * 2, document], [document]) == [(0, 1, 1.0, True)]


def test_short_documents_are_duplicates_of_equal_ones_only() -> None:
    short, long = words(1, FEWEST_TERMS - 1), words(2, FEWEST_TERMS)
    assert found([short, long], [short, long]) == [(0, 0, 1.0, True), (1, 1, 1.0, True)]
    assert found([short, long], [short * 2, long * 2]) == [(1, 1, 1.0, False)]
    assert found([long], [changed(long, FEWEST_TERMS - 1), long[:-1]]) == [(0, 0, 9 / 11, False)]
    assert found([[]], [[], ["a"]]) == []


def test_the_most_similar_partner_and_of_equals_the_first() -> None:
    document = words(1, 100)
    training = [words(2, 100), changed(document, 92, 1), changed(document, 97, 2), changed(document, 97, 3), changed(document, 95, 4)]
    assert found(training, [document]) == [(0, 2, 97 / 103, False)]


@examples(4)
@given(st.data())
def test_the_order_of_documents_does_not_matter(data: st.DataObject) -> None:
    base = words(data.draw(st.integers(0, 5)), 30, among=60)
    document = st.lists(st.sampled_from(base), min_size=8, max_size=40)
    training, test = data.draw(st.lists(document, max_size=12)), data.draw(st.lists(document, max_size=12))
    order = data.draw(st.permutations(range(len(test))))
    of_training, of_test = matrices(training, test)
    straight = near_duplicates(of_training, of_test, 0.7)
    shuffled = near_duplicates(of_training, of_test.rows(np.array(order, np.int64)), 0.7)
    assert {order[row]: rest for row, *rest in _listed(shuffled)} == {row: rest for row, *rest in _listed(straight)}
    places = data.draw(st.permutations(range(len(training))))
    moved = near_duplicates(of_training.rows(np.array(places, np.int64)), of_test, 0.7)
    assert [(row, *rest) for row, _, *rest in _listed(moved)] == [(row, *rest) for row, _, *rest in _listed(straight)]
    for row, partner, similarity, _ in _listed(moved):
        assert plain_jaccard(training[places[partner]], test[row]) == similarity >= 0.7


def _listed(result: NearDuplicates) -> list[tuple[int, int, float, bool]]:
    return list(zip(*(column.tolist() for column in result), strict=True))


def test_ten_thousand_copies_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = _pairs_compared(monkeypatch)
    document = words(1, 40)
    training, test = [document] * 10_000, [changed(document, 38)] * 10_000
    answer = found(training, test)
    assert answer == [(row, 0, 38 / 42, False) for row in range(10_000)]
    assert sum(compared) == 1


def test_documents_of_one_template_do_not_meet_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = _pairs_compared(monkeypatch)
    template = words(1, 95)
    answer = found([[*template, *words(seed, 5)] for seed in range(1000)], [[*template, *words(seed, 5)] for seed in range(1000, 1500)])
    assert len(answer) == 500
    assert min(similarity for _, _, similarity, _ in answer) >= 95 / 105
    assert 500 <= sum(compared) <= 500 * (ENOUGH_PARTNERS + MOST_IN_BAND)


def _pairs_compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    sizes: list[int] = []

    def counting(left: DocumentTermMatrix, right: DocumentTermMatrix, *rows: NDArray[np.int64]) -> NDArray[np.float64]:
        sizes.append(rows[0].size)
        return jaccard(left, right, *rows)

    monkeypatch.setattr("nbtext.counts.near_duplicates.jaccard", counting)
    return sizes


def test_nothing_to_compare() -> None:
    document = words(1, 20)
    assert found([], []) == found([document], []) == found([], [document]) == found([[]], [[]]) == []
