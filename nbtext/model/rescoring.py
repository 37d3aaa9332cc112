"""The smallest set of words without which a document gets another answer, where only asking the model tells: by trying sets out."""

from __future__ import annotations

from itertools import combinations, islice
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from nbtext.model.covering import Cover

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Gaps = Callable[[Sequence[tuple[int, ...]]], NDArray[np.float64]]

CANDIDATES = 48
"""Items tried at each greedy step: those that do most by themselves."""

AT_ONCE = 256
"""Sets tried out together."""


def smallest_by_trying(n_items: int, gaps: Gaps, enough: float, budget: int) -> Cover:
    """The smallest set of items for which ``gaps`` is below ``enough``, as far as about ``budget`` sets tried out tell.

    Single items, a greedy set, then all sets that are smaller than it, size by size.
    """
    spent = n_items
    alone = gaps([(item,) for item in range(n_items)]) if n_items else np.empty(0)
    if alone.size and alone.min() < enough:
        return Cover((int(alone.argmin()),), proven=True)
    order = np.argsort(alone, kind="stable").tolist()
    greedy, used = _greedy(order, gaps, enough, budget // 2)
    spent += used
    limit = n_items if greedy is None else len(greedy) - 1
    for size in range(2, limit + 1):
        spent += comb(n_items, size)
        if spent > budget:
            return Cover(greedy, proven=False)
        for sets in _chunks(combinations(order, size)):
            found = gaps(sets)
            if found.min() < enough:
                return Cover(tuple(sorted(sets[int(found.argmin())])), proven=True)
    return Cover(greedy, proven=True)


def _greedy(order: list[int], gaps: Gaps, enough: float, budget: int) -> tuple[tuple[int, ...] | None, int]:
    """Always the item that leaves the smallest gap, or else all items; then without those that are not needed. Also how many sets were tried."""
    chosen: tuple[int, ...] = ()
    spent, gap = 0, np.inf
    while spent + CANDIDATES <= budget and len(chosen) < len(order):
        sets = [(*chosen, item) for item in [item for item in order if item not in chosen][:CANDIDATES]]
        found = gaps(sets)
        spent += len(sets)
        best = int(found.argmin())
        if not found[best] < gap and not np.isinf(gap):
            break
        chosen, gap = sets[best], float(found[best])
        if gap < enough:
            break
    if not gap < enough:
        chosen = tuple(order)
        if not order or not gaps([chosen])[0] < enough:
            return None, spent + 1
    for item in reversed(chosen):
        fewer = tuple(other for other in chosen if other != item)
        spent += 1
        if spent > 2 * budget:
            break
        if fewer and gaps([fewer])[0] < enough:
            chosen = fewer
    return tuple(sorted(chosen)), spent


def _chunks(sets: Iterator[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    while chunk := list(islice(sets, AT_ONCE)):
        yield chunk
