"""Moments of numeric attributes: number, sum and sum of squares of the values of each class.

Sums are exact fractions, because a float is a whole number times a power of two. So moments of two
corpora add and subtract exactly.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from nbtext.errors import UsageError

if TYPE_CHECKING:
    from nbtext.type_names import AnyArray, Floats, Ints

SIGNIFICAND_BITS = 53
"""Bits of the significand of a float."""

HALF_BITS = 26
"""Bits of the lower half of a significand. A sum of up to 2³⁶ halves fits into int64."""

SPLITTER = 2.0**27 + 1
"""Factor that splits a float into two halves of 26 bits.

Source: T. Dekker, A floating-point technique for extending the available precision, 1971.
"""


class Moments(NamedTuple):
    """Moments of each class and column of numbers, shapes (n_classes, n_columns)."""

    documents: Ints
    """Documents of the class that have a number in the column."""
    sums: AnyArray
    """Σ x, as fractions."""
    squares: AnyArray
    """Σ x², as fractions."""

    @classmethod
    def zero(cls, n_classes: int, n_columns: int) -> Self:
        """Return the moments of no documents."""
        shape = (n_classes, n_columns)
        sums = np.full(shape, Fraction(0), object)
        squares = np.full(shape, Fraction(0), object)
        return cls(np.zeros(shape, np.int64), sums, squares)

    @classmethod
    def from_values(cls, values: Floats, classes: Ints, n_classes: int) -> Self:
        """Return the moments of documents.

        ``values`` are the numbers of the documents, shape (n_docs, n_columns), nan if missing.
        ``classes`` are their class numbers, shape (n_docs,).
        """
        n_columns = values.shape[1]
        rows, columns = np.nonzero(~np.isnan(values))
        x = values[rows, columns]
        cells = classes[rows] * n_columns + columns  # one number for class and column
        n_cells = n_classes * n_columns
        # x = high + low, so x² = high² + 2·high·low + low². Each product is an exact float.
        high = SPLITTER * x - (SPLITTER * x - x)
        low = x - high
        products = np.concatenate((high * high, 2 * high * low, low * low))
        shape = (n_classes, n_columns)
        return cls(
            np.bincount(cells, minlength=n_cells).reshape(shape),
            _sum_exactly(x, cells, n_cells).reshape(shape),
            _sum_exactly(products, np.tile(cells, 3), n_cells).reshape(shape),
        )

    def add(self, other: Moments) -> Moments:
        """Return the moments of both corpora, which have the same classes and columns."""
        return Moments(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def subtract(self, other: Moments) -> Moments:
        """Return the moments without another corpus, which has the same classes and columns.

        Raise `UsageError` if no documents can have the difference.
        """
        difference = Moments(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))
        if not difference.is_possible():
            raise UsageError("cannot take away documents that were never counted")
        return difference

    def is_possible(self) -> bool:
        """Return whether some numbers can have these moments.

        The conditions are n ≥ 0 and (Σ x)² ≤ n Σ x². Where n = 0, both sums must be 0.
        """
        is_empty = self.documents <= 0
        variation = self.documents * self.squares - self.sums * self.sums
        return bool(
            np.all(self.documents >= 0)
            and np.all(variation >= 0)
            and not np.any(self.sums[is_empty])
            and not np.any(self.squares[is_empty])
        )

    def add_values(self, values: Floats, classes: Ints, n_classes: int) -> Moments:
        """Return the moments with further documents.

        ``values`` and ``classes`` are as in `from_values`. ``n_classes`` includes new classes,
        which have the highest numbers.
        """
        widened = self.reindex_classes(np.arange(len(self.documents)), n_classes)
        return widened.add(self.from_values(values, classes, n_classes))

    def leave_one_out(self, column: int, values: Floats, classes: Ints) -> Moments:
        """Return the moments of one column without document d, for each d.

        Their shapes are (n_classes, n_docs), with d as the column. ``values`` are the numbers of
        the documents in ``column``, nan if missing, and ``classes`` are the class numbers of the
        documents, both of shape (n_docs,).
        """
        moments = Moments(*(np.tile(field[:, column, np.newaxis], values.size) for field in self))
        present = np.flatnonzero(~np.isnan(values))
        x = np.array([Fraction(value) for value in values[present].tolist()], object)
        own_cells = classes[present], present  # index of row and column
        moments.documents[own_cells] -= 1
        moments.sums[own_cells] -= x
        moments.squares[own_cells] -= x * x
        return moments

    def split_columns(self, n_columns: int) -> tuple[Moments, Moments]:
        """Return the moments of the first ``n_columns`` columns and of the remaining columns."""
        first = Moments(*(field[:, :n_columns] for field in self))
        remaining = Moments(*(field[:, n_columns:] for field in self))
        return first, remaining

    def take_classes(self, classes: Ints) -> Moments:
        """Return the moments of some classes, given their numbers, in this order."""
        return Moments(*(field[classes] for field in self))

    def reindex_classes(self, numbers: Ints, n_classes: int) -> Moments:
        """Return the moments with class k renumbered to ``numbers[k]``, below ``n_classes``.

        Classes with the same new number are added up.
        """
        moments = Moments.zero(n_classes, self.documents.shape[1])
        for new, old in zip(moments, self, strict=True):
            np.add.at(new, numbers, old)
        return moments

    def sum_classes(self) -> Moments:
        """Return the sums over all classes, shapes (1, n_columns)."""
        return Moments(*(field.sum(axis=0, keepdims=True) for field in self))


def _sum_exactly(values: Floats, groups: Ints, n_groups: int) -> AnyArray:
    """Return the sum of the values of each group as a fraction, shape (n_groups,).

    ``groups`` are the group numbers of the values, shape (n,). The significands of each group and
    exponent are summed as whole numbers, so the sums are exact for fewer than 2³⁶ values.
    """
    sums = np.full(n_groups, Fraction(0), object)
    if not values.size:
        return sums
    fractions, exponents = np.frexp(values)
    significands = np.ldexp(fractions, SIGNIFICAND_BITS).astype(np.int64)
    min_exponent = int(exponents.min())
    shifts = exponents.astype(np.int64) - min_exponent
    n_shifts = int(shifts.max()) + 1
    keys, indices = np.unique(groups * n_shifts + shifts, return_inverse=True)
    # A sum of significands may overflow, so their upper and lower bits are summed separately.
    upper_sums = np.zeros(keys.size, np.int64)
    lower_sums = np.zeros(keys.size, np.int64)
    np.add.at(upper_sums, indices, significands >> HALF_BITS)
    np.add.at(lower_sums, indices, significands & ((1 << HALF_BITS) - 1))
    # Sums in units of 2^(min_exponent − SIGNIFICAND_BITS). They may be larger than 64 bits.
    whole_sums: Counter[int] = Counter()
    for key, upper, lower in zip(
        keys.tolist(), upper_sums.tolist(), lower_sums.tolist(), strict=True
    ):
        group, shift = divmod(key, n_shifts)
        whole_sums[group] += ((upper << HALF_BITS) + lower) << shift
    unit = Fraction(2) ** (min_exponent - SIGNIFICAND_BITS)
    for group, whole_sum in whole_sums.items():
        sums[group] = whole_sum * unit
    return sums
