"""Arrays as a model file has them, and what must hold of arrays that come from one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.errors import ModelError, UsageError
from nbtext.ragged import offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 2**53
"""Counts stay below this, so that sums are exact in int64 and in float64."""


def row_bounds(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Where rows of these lengths, none of them 0, begin, and where the last ends."""
    lengths = whole(lengths)
    require(lengths.min(initial=1) >= 1, "a term or class is empty")
    return offsets(lengths)


def utf8(array: NDArray[Any]) -> str:
    """The text of an array of bytes."""
    require(array.dtype == np.uint8, "its text is not bytes")
    try:
        return array.tobytes().decode()
    except UnicodeDecodeError:
        raise ModelError("the model is malformed: its text is not UTF-8") from None


def whole(array: NDArray[Any]) -> NDArray[np.int64]:
    """The whole numbers of an array whose sum stays exact."""
    require(array.dtype.kind == "u", "its numbers are not whole")
    total = float(array.sum(dtype=np.float64))
    require(total < MOST, "its counts are too large")
    return array.astype(np.int64)


def narrow(array: NDArray[np.int64]) -> NDArray[Any]:
    """The array in the narrowest unsigned type that holds its largest element; raises `UsageError` for counts that `whole` would not take back."""
    if float(array.sum(dtype=np.float64)) >= MOST:
        raise UsageError("the counts are too large to stay exact: their sum must be below 2^53", hint="the model is as it was")
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def require(condition: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Raise `ModelError` unless the condition holds."""
    if not condition:
        raise ModelError(f"the model is malformed: {otherwise}")
