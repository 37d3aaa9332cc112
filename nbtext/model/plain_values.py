"""The numbers beside the texts as arrays of a model file, and back. What comes from a file is checked for meaning."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.attributes import LARGEST, LARGEST_COUNT, SMALLEST
from nbtext.counts.moments import Moments
from nbtext.model.plain import narrow, require, utf8, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.attributes import Attributes

MOST_DIGITS = 2000
"""Of the whole number in an exact sum: the square of a large number in units of the square of a small one has some 500."""


def values_to_plain(moments: Moments, of_sample: NDArray[np.float64] | None) -> dict[str, NDArray[Any]]:
    """How many values there are, their sums and those of their squares, each a line ``n e`` for n / 2ᵉ, and the values of the sample."""
    sums = (total for part in (moments.sums, moments.squares) for total in part.ravel().tolist())
    lines = "".join(f"{total.numerator} {total.denominator.bit_length() - 1}\n" for total in sums)
    return {
        "values": narrow(moments.documents.ravel()),
        "value_sums": np.frombuffer(lines.encode(), np.uint8),
        "sample_values": np.empty(0) if of_sample is None else of_sample.ravel(),
    }


def moments_from_plain(part: Mapping[str, NDArray[Any]], class_documents: NDArray[np.int64], attributes: Attributes) -> Moments:
    """The moments of the counts and numbers; raises `ModelError` unless training could have made them."""
    documents, sums = whole(part["values"]), [_fraction(line) for line in utf8(part["value_sums"]).splitlines()]
    shape = (class_documents.size, len(attributes.numbers))
    require(documents.size == shape[0] * shape[1], "its values do not fit its attributes")
    require(len(sums) == 2 * documents.size, "its sums do not fit its attributes")
    halves = (np.array(half, object).reshape(shape) for half in (sums[: documents.size], sums[documents.size :]))
    moments = Moments(documents.reshape(shape), *halves)
    require(bool(np.all(moments.documents <= class_documents[:, np.newaxis])), "there are more values than documents")
    require(moments.are_possible(), "its sums are not those of numbers")
    require(bool(np.all(moments.squares <= moments.documents.astype(object) * int(LARGEST) ** 2)), "its numbers are too large")
    of_counts = moments.sums[:, : len(attributes.counts)].ravel().tolist()
    require(all(total >= 0 and total.denominator == 1 for total in of_counts), "its sums are not those of counts")
    return moments


def sample_values_from_plain(part: Mapping[str, NDArray[Any]], n_documents: int, attributes: Attributes) -> NDArray[np.float64]:
    """The values of sampled documents, shape (n_documents, n_columns); raises `ModelError` unless documents could have had them."""
    n_columns, values = len(attributes.numbers), part["sample_values"]
    require(values.size == n_documents * n_columns, "its sample does not fit its attributes")
    require(not values.size or values.dtype == np.float64, "its sample has values that are no numbers")
    values = values.astype(np.float64).reshape(n_documents, n_columns)
    counts, numbers = np.split(values, [len(attributes.counts)], axis=1)
    size = np.abs(numbers)
    require(bool(np.all(np.isnan(size) | (size == 0) | ((size >= SMALLEST) & (size <= LARGEST)))), "its sample has an impossible number")
    require(
        bool(np.all(np.isnan(counts) | ((counts >= 0) & (counts < LARGEST_COUNT) & (counts == np.floor(counts))))),
        "its sample has an impossible count",
    )
    return values


def _fraction(line: str) -> Fraction:
    whole_number, _, power = line.partition(" ")
    digits = whole_number.removeprefix("-")
    possible = (
        digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS and power.isascii() and power.isdigit() and len(power) <= 4
    )
    require(possible, "a sum is no number")
    return Fraction(int(whole_number), 1 << int(power))
