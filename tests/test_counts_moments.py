"""Sums of numbers and of their squares, against Python's fractions: exact, so that they add and subtract."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.moments import Moments
from nbtext.document_fields import MAX_NUMBER, MIN_NUMBER
from nbtext.errors import UsageError

NUMBERS = st.floats(-MAX_NUMBER, MAX_NUMBER).filter(
    lambda x: x == 0 or abs(x) >= MIN_NUMBER
) | st.integers(-1000, 1000).map(float)
DOCUMENTS = st.lists(
    st.tuples(st.integers(0, 2), NUMBERS | st.just(float("nan")), NUMBERS), max_size=30
)
Documents = list[tuple[int, float, float]]


def moments(documents: Documents) -> Moments:
    values = np.array([row[1:] for row in documents], np.float64).reshape(-1, 2)
    return Moments.from_values(values, np.array([row[0] for row in documents], np.int64), 3)


@given(DOCUMENTS)
def test_sums_are_exact(documents: Documents) -> None:
    found = moments(documents)
    for label in range(3):
        for column in range(2):
            numbers = [
                Fraction(row[1 + column])
                for row in documents
                if row[0] == label and not np.isnan(row[1 + column])
            ]
            assert found.documents[label, column] == len(numbers)
            assert found.sums[label, column] == sum(numbers)
            assert found.squares[label, column] == sum(number**2 for number in numbers)
    assert found.is_possible()


@given(DOCUMENTS, DOCUMENTS)
def test_moments_add_and_subtract(first: Documents, second: Documents) -> None:
    both = moments(first + second)
    values, classes = (
        np.array([row[1:] for row in first]).reshape(-1, 2),
        np.array([row[0] for row in first], np.int64),
    )
    for found, wanted in (
        (moments(first).add(moments(second)), both),
        (moments(second).add_values(values, classes, 3), both),
        (both.subtract(moments(second)), moments(first)),
    ):
        assert all(map(np.array_equal, found, wanted))


def test_uncounted_numbers_cannot_be_subtracted() -> None:
    some = moments([(0, 1.0, 2.0), (0, 3.0, 2.0)])
    for other in ([(1, 1.0, 2.0)], [(0, 5.0, 2.0), (0, 1.0, 2.0)], [(0, 1.0, 2.0)] * 3):
        with pytest.raises(UsageError, match="never counted"):
            some.subtract(moments(other))


def test_classes_can_be_renumbered() -> None:
    some = moments([(0, 1.0, 2.0), (2, 3.0, 4.0)])
    assert some.take_classes(np.array([2, 0])).sums.tolist() == [[3, 4], [1, 2]]
    assert some.reindex_classes(np.array([1, 0, 3]), 4).sums.tolist() == [
        [0, 0],
        [1, 2],
        [0, 0],
        [3, 4],
    ]
    assert some.sum_classes().sums.tolist() == [[4, 6]]
    first, second = some.split_columns(1)
    assert (first.sums.tolist(), second.sums.tolist()) == ([[1], [0], [3]], [[2], [0], [4]])
