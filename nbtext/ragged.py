"""Rows of different length in flat arrays: row i is ``[starts[i], starts[i] + sizes[i])``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def flat_indices(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices of all elements of all rows, one row after the other; shape (sum of sizes,).

    >>> flat_indices(np.array([10, 20]), np.array([2, 3])).tolist()
    [10, 11, 20, 21, 22]
    """
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if ends.size else 0
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(total)


def offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each row begins when rows are packed without gaps, and where the last ends; shape (n_rows + 1,)."""
    bounds = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=bounds[1:])
    return bounds
