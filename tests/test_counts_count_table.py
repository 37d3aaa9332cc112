"""The table of a corpus is that of the slow twin, and adds and subtracts as corpora do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.errors import UsageError
from tests import oracle, strategies
from tests.count_tables import statistics_from_table, statistics_of, table_of, to_dictionaries
from tests.oracle import Labelled

if TYPE_CHECKING:
    from random import Random

    from nbtext.counts.count_table import CellCounts

ORDERS = pytest.mark.parametrize("order", [1, 2, 3])
Corpus = list[Labelled]


def assert_well_formed(statistics: CellCounts) -> None:
    """What every table of statistics keeps, whatever made it."""
    assert list(statistics.classes) == sorted(set(statistics.classes))
    assert statistics.class_documents.min(initial=1) >= 1
    cells = list(zip(statistics.cell_terms.tolist(), statistics.cell_classes.tolist(), strict=True))
    assert cells == sorted(set(cells))
    assert set(statistics.cell_terms.tolist()) == set(range(statistics.n_terms))
    assert set(statistics.cell_classes.tolist()) <= set(range(statistics.n_classes))
    assert np.all(statistics.cell_documents >= 1)
    assert np.all(statistics.cell_documents <= statistics.cell_counts)
    assert np.all(statistics.cell_documents <= statistics.class_documents[statistics.cell_classes])


@ORDERS
@given(corpus=strategies.corpora)
def test_count_table_matches_the_slow_twin(order: int, corpus: Corpus) -> None:
    statistics = table_of(corpus, order)
    wanted = oracle.count(corpus, order)
    assert to_dictionaries(statistics) == wanted
    assert [
        statistics.vocabulary.get_term(number) for number in range(statistics.n_terms)
    ] == wanted.terms
    assert_well_formed(statistics)


@ORDERS
@given(corpus=strategies.corpora)
def test_sums_over_classes_and_terms_match_the_slow_twin(order: int, corpus: Corpus) -> None:
    statistics, wanted = statistics_of(corpus, order), oracle.count(corpus, order)
    classes, terms = wanted.classes, wanted.terms
    assert statistics.n_documents == len(corpus)
    assert statistics.class_tokens.tolist() == [wanted.tokens(label, terms) for label in classes]
    assert statistics.term_counts.tolist() == [
        sum(wanted.occurrences.get((k, term), 0) for k in classes) for term in terms
    ]
    assert statistics.term_documents.tolist() == [
        sum(wanted.holding.get((k, term), 0) for k in classes) for term in terms
    ]
    backwards = np.arange(len(terms))[::-1]
    assert statistics.get_dense_counts(backwards).tolist() == [
        [wanted.occurrences.get((k, term), 0) for k in classes] for term in terms[::-1]
    ]
    assert statistics.get_dense_documents(backwards).tolist() == [
        [wanted.holding.get((k, term), 0) for k in classes] for term in terms[::-1]
    ]


@ORDERS
@given(corpus=strategies.corpora, block=st.integers(1, 5), random=st.randoms())
def test_block_size_and_document_order_do_not_change_the_table(
    order: int, corpus: Corpus, block: int, random: Random
) -> None:
    wanted = table_of(corpus, order)
    assert table_of(corpus, order, block) == wanted
    assert table_of(random.sample(corpus, len(corpus)), order, block) == wanted


@ORDERS
@given(a=strategies.corpora, b=strategies.corpora)
def test_sum_equals_counting_both_in_either_order(order: int, a: Corpus, b: Corpus) -> None:
    both = table_of(a + b, order)
    assert table_of(a, order).combine(table_of(b, order), 1).table == both
    assert table_of(b, order).combine(table_of(a, order), 1).table == both
    assert_well_formed(both)


@ORDERS
@given(a=strategies.corpora, b=strategies.corpora)
def test_difference_reverses_a_sum_with_vocabulary_and_classes(
    order: int, a: Corpus, b: Corpus
) -> None:
    first, second = table_of(a, order), table_of(b, order)
    left = first.combine(second, 1).table.combine(second, -1).table
    assert left == first
    assert_well_formed(left)


@given(strategies.corpora)
def test_corpus_minus_itself_is_empty(corpus: Corpus) -> None:
    statistics = table_of(corpus)
    nothing = statistics.combine(statistics, -1).table
    assert (nothing.classes, nothing.n_terms, nothing.n_documents) == ((), 0, 0)
    assert nothing.combine(statistics, 1).table == statistics


@given(strategies.corpora, strategies.corpora)
def test_subtracting_more_than_counted_raises(a: Corpus, b: Corpus) -> None:
    mine, theirs = oracle.count(a), oracle.count(b)
    if any(
        count > getattr(mine, part).get(key, 0)
        for part in oracle.Counts._fields
        for key, count in getattr(theirs, part).items()
    ):
        with pytest.raises(UsageError, match="never counted"):
            table_of(a).combine(table_of(b), -1)


@pytest.mark.parametrize(
    ("counted", "taken"),
    [
        (["ant ant ant"], ["ant ant"]),
        (["ant", "bee"], ["ant", ""]),
        (["ant", "ant"], ["ant ant"]),
        (["ant ant", "ant"], ["ant ant ant"]),
        (["ant ant ant", "bee"], ["ant ant"]),
    ],
)
def test_subtracting_an_uncounted_document_raises_even_without_negative_counts(
    counted: list[str], taken: list[str]
) -> None:
    statistics, other = (
        table_of([("class", text.split()) for text in texts]) for texts in (counted, taken)
    )
    with pytest.raises(UsageError, match="never counted"):
        statistics.combine(other, -1)


def test_tables_differ_if_any_part_differs() -> None:
    base = [("a", ["ant", "bee"]), ("b", ["ant"])]
    others: list[Corpus] = [
        [*base, ("b", [])],
        [("a", ["ant", "bee"]), ("c", ["ant"])],
        [("a", ["ant", "bee"]), ("b", ["bee"])],
        [("a", ["ant", "bee", "bee"]), ("b", ["ant"])],
        [("a", ["ant", "cat"]), ("b", ["ant"])],
    ]
    statistics = table_of(base)
    assert statistics == table_of(base[::-1])
    assert all(statistics != table_of(other) for other in others)
    assert statistics != base


@pytest.mark.parametrize("n_classes", [1, 2, 63, 64, 65, 200])
def test_term_count_in_a_class_is_that_of_its_cell(n_classes: int) -> None:
    random = np.random.default_rng(n_classes)
    table = random.integers(1, 9, (30, n_classes)) * (random.random((30, n_classes)) < 0.3)
    table[:, 0] += 1
    statistics = statistics_from_table(
        table.tolist(), [9] * n_classes, np.minimum(table, 1).tolist()
    )
    order = random.permutation(statistics.cell_counts.size)
    found = statistics.look_up_counts(statistics.cell_terms[order], statistics.cell_classes[order])
    assert found.tolist() == statistics.cell_counts[order].tolist()
