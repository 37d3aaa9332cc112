"""Tests of labels as columns."""

import numpy as np

from nbtext.prediction.labels import LabelSets

SETS = LabelSets.from_rows([[2, 1], [], [3]])


def test_rows_are_sorted_and_may_be_empty() -> None:
    assert SETS.to_tuples() == [(1, 2), (), (3,)]
    assert SETS.take(np.array([2, 0, 0])).to_tuples() == [(3,), (1, 2), (1, 2)]
    assert SETS.to_mask(4).tolist() == [
        [False, True, True, False],
        [False] * 4,
        [False, False, False, True],
    ]


def test_renumbered_columns_are_sorted_again() -> None:
    assert SETS.renumber(np.array([0, 9, 5, 1])).to_tuples() == [(5, 9), (), (1,)]


def test_iterate_ranks_yields_first_labels_first() -> None:
    assert [(rows.tolist(), columns.tolist()) for rows, columns in SETS.iterate_ranks()] == [
        ([0, 2], [1, 3]),
        ([0], [2]),
    ]
