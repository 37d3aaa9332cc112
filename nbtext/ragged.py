"""Helpers on flat arrays: look-up in sorted keys, and rows of different lengths, of which row i is ``[starts[i], starts[i] + sizes[i])``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nbtext.type_names import Array, Numbers, Whole


def find_sorted(keys: Array, wanted: Array) -> Whole:
    """Return the place of each wanted key among ascending ``keys``, the first of equals, −1 if it is not there; shape (n_wanted,).

    >>> find_sorted(np.array([2, 3, 5]), np.array([5, 4])).tolist()
    [2, -1]
    """
    if not keys.size:
        return np.full(wanted.size, -1, np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[place] == wanted, place, -1)


def flat_indices(starts: Whole, sizes: Whole) -> Whole:
    """Return the indices of all elements of all rows, row after row, shape (sum of sizes,).

    >>> flat_indices(np.array([10, 20]), np.array([2, 3])).tolist()
    [10, 11, 20, 21, 22]
    """
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if ends.size else 0
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(total)


def offsets(sizes: Numbers) -> Whole:
    """Return the start of each row when rows are packed without gaps, and the end of the last, shape (n_rows + 1,)."""
    bounds = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=bounds[1:])
    return bounds


def rise_in_rows(values: Whole, bounds: Whole) -> bool:
    """Return whether the values of each row rise strictly."""
    rising = values[1:] > values[:-1]
    begins = bounds[1:-1]
    rising[begins[(begins > 0) & (begins < values.size)] - 1] = True
    return bool(rising.all())


class GrowingRows:
    """A growing list of rows of whole numbers."""

    def __init__(self) -> None:
        self._elements = np.empty(1 << 12, np.int64)
        self._bounds = np.zeros(1 << 8, np.int64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, elements: Whole, sizes: Whole) -> None:
        """Add rows, given as their elements row after row and their sizes."""
        first, begin = self._size, int(self._bounds[self._size])
        self._size += sizes.size
        if self._size >= self._bounds.size:
            self._bounds = np.resize(self._bounds, 2 * self._size + 1)
        self._bounds[first + 1 : self._size + 1] = begin + np.cumsum(sizes)
        end = int(self._bounds[self._size])
        if end > self._elements.size:
            self._elements = np.resize(self._elements, 2 * end)
        self._elements[begin:end] = elements

    def truncate(self, size: int) -> None:
        """Keep only the first ``size`` rows."""
        self._size = size

    def sizes(self, rows: Whole) -> Whole:
        """Return the sizes of some rows."""
        return self._bounds[rows + 1] - self._bounds[rows]

    def take(self, rows: Whole) -> Whole:
        """Return the elements of some rows, row after row."""
        return self._elements[flat_indices(self._bounds[rows], self.sizes(rows))]
