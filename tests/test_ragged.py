"""Rows of different lengths and look-up in sorted keys, against lists."""

from __future__ import annotations

from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.ragged import GrowingRows, find_sorted

rows = st.lists(st.lists(st.integers(-5, 2**40), max_size=4), max_size=5)


@given(st.lists(st.tuples(rows, st.integers(0, 6)), max_size=6))
def test_growing_rows_append_remove_and_take_like_lists(
    steps: list[tuple[list[list[int]], int]],
) -> None:
    growing, wanted = GrowingRows(), list[list[int]]()
    for added, removed in steps:
        growing.append(
            np.array(list(chain.from_iterable(added)), np.int64),
            np.array([len(row) for row in added], np.int64),
        )
        wanted += added
        kept = max(len(wanted) - removed, 0)
        growing.truncate(kept)
        del wanted[kept:]
        assert len(growing) == len(wanted)
        chosen = np.array([*range(len(wanted)), *reversed(range(len(wanted)))], np.int64)
        assert growing.take_sizes(chosen).tolist() == [len(wanted[row]) for row in chosen]
        assert growing.take(chosen).tolist() == list(
            chain.from_iterable(wanted[row] for row in chosen)
        )


def test_growing_rows_exceed_their_initial_capacity() -> None:
    growing = GrowingRows()
    for number in range(600):
        growing.append(np.arange(number, number + 11), np.array([4, 0, 7]))
    assert len(growing) == 1800
    assert growing.take_sizes(np.array([0, 1, 2, 1799])).tolist() == [4, 0, 7, 7]
    assert growing.take(np.array([1797, 2, 1])).tolist() == [
        599,
        600,
        601,
        602,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
    ]


@given(st.lists(st.integers(-3, 5)), st.lists(st.integers(-4, 6)))
def test_find_sorted_returns_the_first_position_of_each_key(
    keys: list[int], wanted: list[int]
) -> None:
    keys.sort()
    places = find_sorted(np.array(keys, np.int64), np.array(wanted, np.int64))
    assert places.tolist() == [keys.index(key) if key in keys else -1 for key in wanted]
