"""Folds divide a corpus as they promise: evenly, by group, or in order of time; the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nbtext.errors import UsageError
from nbtext.evaluation.cross_validation import NEVER_TESTED, Folds, grouped_folds, ordered_folds, ranks, stratified_folds, times_of

numbers = st.lists(st.integers(0, 5), min_size=2, max_size=60)
counts_of_folds = st.integers(2, 8)


def assert_a_division(folds: Folds, n_documents: int) -> None:
    """Every document is tested once; nothing is tested on a model that it trained."""
    tested = np.zeros(n_documents, np.int64)
    for training, test in folds:
        assert training.any()
        assert test.any()
        assert not (training & test).any()
        assert (training | test).all() or folds.ordered
        tested += test
    assert tested.tolist() == [int(number != NEVER_TESTED) for number in folds.numbers.tolist()]
    assert folds.ordered or tested.all()


@given(classes=numbers, n_folds=counts_of_folds, seed=st.integers(0, 9))
def test_stratified_folds_spread_every_class_evenly(classes: list[int], n_folds: int, seed: int) -> None:
    assume(n_folds <= len(classes))
    folds = stratified_folds(np.array(classes), n_folds, np.random.default_rng(seed))
    assert_a_division(folds, len(classes))
    for group in (np.ones(len(classes), np.bool_), *(np.array(classes) == k for k in set(classes))):
        sizes = np.bincount(folds.numbers[group], minlength=n_folds)
        assert sizes.max() - sizes.min() <= 1
    again = stratified_folds(np.array(classes), n_folds, np.random.default_rng(seed))
    assert again.numbers.tolist() == folds.numbers.tolist()


def test_another_seed_divides_otherwise() -> None:
    classes = np.repeat([0, 1], 50)
    first, second = (stratified_folds(classes, 5, np.random.default_rng(seed)).numbers.tolist() for seed in (0, 1))
    assert first != second
    groups = np.arange(100)
    first, second = (grouped_folds(groups, 5, np.random.default_rng(seed)).numbers.tolist() for seed in (0, 1))
    assert first != second


@given(groups=st.lists(st.integers(0, 20), min_size=2, max_size=60), n_folds=counts_of_folds, seed=st.integers(0, 9))
def test_no_group_is_on_both_sides(groups: list[int], n_folds: int, seed: int) -> None:
    assume(n_folds <= len(set(groups)))
    folds = grouped_folds(ranks(groups), n_folds, np.random.default_rng(seed))
    assert_a_division(folds, len(groups))
    for training, test in folds:
        assert not set(np.array(groups)[training].tolist()) & set(np.array(groups)[test].tolist())
    sizes = np.bincount(folds.numbers, minlength=n_folds)
    largest = max(groups.count(group) for group in groups)
    assert sizes.max() - sizes.min() <= largest


def test_groups_go_to_the_smallest_fold_the_largest_first() -> None:
    groups = np.repeat(np.arange(6), [9, 7, 6, 5, 4, 2])
    folds = grouped_folds(groups, 3, np.random.default_rng(0))
    assert sorted(np.bincount(folds.numbers).tolist()) == [11, 11, 11]


@given(times=st.lists(st.integers(0, 30), min_size=3, max_size=80), n_folds=counts_of_folds)
def test_folds_in_time_are_tested_on_what_came_strictly_before(times: list[int], n_folds: int) -> None:
    assume(n_folds < len(set(times)))
    folds = ordered_folds(np.array(times), n_folds)
    assert_a_division(folds, len(times))
    for training, test in folds:
        earlier = np.array(times)[training]
        assert earlier.max() < np.array(times)[test].min()
        assert sorted(earlier.tolist()) == sorted(time for time in times if time <= earlier.max())


def test_stretches_of_time_have_equally_many_documents() -> None:
    folds = ordered_folds(np.arange(110)[::-1], 10)
    assert np.bincount(folds.numbers + 1).tolist() == [10] * 11
    assert folds.numbers[0] == 9
    uneven = ordered_folds(np.repeat([1, 2, 3, 4], [1, 50, 1, 1]), 3)
    assert np.bincount(uneven.numbers + 1).tolist() == [1, 50, 1, 1]


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["10", "9", " 11 "], [1, 0, 2]),
        (["10", "9.5", "-1e3"], [2, 1, 0]),
        (["10", "9", "x"], [0, 1, 2]),
        (["nan", "9", "1"], [2, 1, 0]),
        (["inf", "9", "1"], [2, 1, 0]),
        (["9007199254740993", "9007199254740992", "9007199254740994"], [1, 0, 2]),
        (["2024-02-01", "2023-12-31", "2024-01-15T08:00"], [2, 0, 1]),
        (["5", "5.0", "5"], [0, 0, 0]),
    ],
)
def test_times_are_numbers_if_all_are_else_text(values: list[str], order: list[int]) -> None:
    assert times_of(values, ["a", "b", "c"]).tolist() == order


def test_what_cannot_be_divided_is_refused() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(UsageError, match="only 3 documents, too few for 4 folds; lower folds"):
        stratified_folds(np.array([0, 0, 1]), 4, generator)
    with pytest.raises(UsageError, match="only 2 groups, too few for 3 folds"):
        grouped_folds(np.array([0, 0, 1]), 3, generator)
    with pytest.raises(UsageError, match="only 2 times after the first, too few for 3 folds"):
        ordered_folds(np.array([5, 6, 7, 7, 7]), 3)
    with pytest.raises(UsageError, match="document b has no time"):
        times_of(["1", " "], ["a", "b"])
