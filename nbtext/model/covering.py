"""The smallest set of items that together gain enough in every respect: a covering problem in whole items, each taken once or not.

Deepening by size, each size searched depth first: some item must help where most is missing, so the items that do are tried in turn, best first,
each time without those tried before. A branch ends where even the best items that are left gain too little somewhere (A. Land, A. Doig, An
automatic method of solving discrete programming problems, 1960).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_NODES = 20_000
"""Branches looked at before the best set so far is taken."""


class Cover(NamedTuple):
    """A set of items, None if none was found; and whether it is known that there is no smaller one, or none at all."""

    items: tuple[int, ...] | None
    proven: bool


class _OutOfNodes(Exception):  # noqa: N818 - no error
    pass


def smallest_cover(gains: Floats, needs: Floats, most_nodes: int = MOST_NODES) -> Cover:
    """Items whose gains, shape (n_items, n_respects), reach the needs, shape (n_respects,), in sum; the fewest that do.

    Gains may be negative, and a need that is not positive is one to be kept.
    """
    if np.all(needs <= 0):
        return Cover((), proven=True)
    useful = np.flatnonzero((gains > 0).any(axis=1))
    gains = gains[useful]
    least = _least_number(gains, needs)
    if least is None:
        return Cover(None, proven=True)
    greedy = _greedy(gains, needs)
    search = _Search(gains, most_nodes)
    found, proven = greedy, True
    try:
        for size in range(least, len(gains) + 1 if greedy is None else len(greedy)):
            exact = search.of_size(needs, size)
            if exact is not None:
                found = exact
                break
    except _OutOfNodes:
        proven = False
    return Cover(None if found is None else tuple(sorted(useful[list(found)].tolist())), proven)


def _least_number(gains: Floats, needs: Floats) -> int | None:
    """So many items at least: those that gain most in one respect, the worst of all respects; None if all gain too little in one."""
    if not len(gains):
        return None
    best = np.cumsum(-np.sort(-np.maximum(gains, 0), axis=0), axis=0)
    reached = best >= needs
    if not reached[-1].all():
        return None
    return int(np.where(needs > 0, reached.argmax(axis=0) + 1, 0).max())


def _greedy(gains: Floats, needs: Floats) -> list[int] | None:
    """Always the item that leaves least missing, summed over respects; then without those that turn out not to be needed."""
    missing, left, chosen = needs.copy(), np.ones(len(gains), np.bool_), []
    while np.any(missing > 0):
        if not left.any():
            return None
        after = np.maximum(missing - gains, 0).sum(axis=1)
        best = int(np.where(left, after, np.inf).argmin())
        chosen.append(best)
        left[best] = False
        missing = missing - gains[best]
    for item in list(chosen):
        if np.all(missing + gains[item] <= 0):
            chosen.remove(item)
            missing = missing + gains[item]
    return chosen


class _Search:
    """Depth-first search with a budget of nodes for all sizes together."""

    def __init__(self, gains: Floats, most_nodes: int) -> None:
        self._gains, self._nodes = gains, most_nodes

    def of_size(self, needs: Floats, size: int) -> list[int] | None:
        """At most ``size`` items that are enough; None if there are none."""
        return self._among(needs, size, np.ones(len(self._gains), np.bool_))

    def _among(self, missing: Floats, size: int, left: NDArray[np.bool_]) -> list[int] | None:
        if np.all(missing <= 0):
            return []
        self._nodes -= 1
        if self._nodes < 0:
            raise _OutOfNodes
        places = np.flatnonzero(left)
        if not size or not places.size:
            return None
        gains = np.maximum(self._gains[places], 0)
        k = min(size, places.size)
        best = np.partition(gains, places.size - k, axis=0)[places.size - k :].sum(axis=0)
        if np.any(best < missing):
            return None
        open_needs = np.flatnonzero(missing > 0)
        hardest = int(open_needs[(missing[open_needs] / best[open_needs]).argmax()])
        order = places[np.argsort(-gains[:, hardest], kind="stable")]
        left = left.copy()
        for item in order.tolist():
            if size * self._gains[item, hardest] < missing[hardest]:
                return None
            left[item] = False
            rest = self._among(missing - self._gains[item], size - 1, left)
            if rest is not None:
                return [item, *rest]
        return None
