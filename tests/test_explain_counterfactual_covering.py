"""The smallest cover: against all sets of items, by sums and by trying.

Also tests `explain/counterfactual.py`.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.explain.counterfactual import smallest_by_trying, smallest_cover

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

numbers = st.integers(-4, 6).map(float)
problems = st.integers(1, 3).flatmap(
    lambda respects: st.tuples(
        st.lists(st.lists(numbers, min_size=respects, max_size=respects), max_size=8),
        st.lists(st.integers(-3, 14).map(float), min_size=respects, max_size=respects),
    )
)


def by_brute_force(gains: NDArray[np.float64], needs: NDArray[np.float64]) -> int | None:
    """The size of the smallest set, from all subsets."""
    for size in range(len(gains) + 1):
        if any(np.all(gains[list(items)].sum(axis=0) >= needs) for items in combinations(range(len(gains)), size)):
            return size
    return None


@given(problems)
def test_a_cover_is_one_and_none_is_smaller(problem: tuple[list[list[float]], list[float]]) -> None:
    needs = np.array(problem[1])
    gains = np.array(problem[0]).reshape(-1, needs.size)
    found = smallest_cover(gains, needs)
    wanted = by_brute_force(gains, needs) if np.any(needs > 0) else 0
    assert found.proven
    assert (None if found.items is None else len(found.items)) == wanted
    if found.items is not None:
        assert np.all(gains[list(found.items)].sum(axis=0) >= needs)


@given(problems)
def test_what_a_short_search_finds_is_a_cover(problem: tuple[list[list[float]], list[float]]) -> None:
    needs = np.array(problem[1])
    gains = np.array(problem[0]).reshape(-1, needs.size)
    found = smallest_cover(gains, needs, most_nodes=2)
    if found.items is not None:
        assert np.all(gains[list(found.items)].sum(axis=0) >= needs)
        assert not found.proven or len(found.items) == (by_brute_force(gains, needs) if np.any(needs > 0) else 0)
    elif found.proven:
        assert by_brute_force(gains, needs) is None


def test_a_greedy_cover_is_not_always_the_smallest() -> None:
    gains = np.array([[5.0, 5.0], [6.0, 0.0], [0.0, 6.0], [4.5, 3.0]])
    assert smallest_cover(gains, np.array([6.0, 6.0])).items in ((0, 3), (1, 2))
    assert smallest_cover(np.array([[3.0, 3.0], [4.0, 0.0], [0.0, 4.0]]), np.array([4.0, 4.0])).items == (1, 2)


@given(
    st.lists(st.lists(numbers, min_size=2, max_size=2), max_size=6),
    st.lists(st.integers(1, 12), min_size=2, max_size=2),
    st.integers(0, 200),
)
def test_trying_finds_the_same(gains: list[list[float]], needs: list[int], budget: int) -> None:
    table, wanted = np.array(gains).reshape(-1, 2), np.array(needs, np.float64)

    def gaps(sets: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
        return np.array([(wanted - table[list(items)].sum(axis=0)).max() - 0.5 for items in sets])

    found = smallest_by_trying(range(len(gains)), gaps, budget)
    size = by_brute_force(table, wanted)
    if found.items is not None:
        assert gaps([found.items])[0] < 0
        assert not found.proven or len(found.items) == size
    assert found.proven or budget < 200
    assert not found.proven or (found.items is None) == (size is None)
