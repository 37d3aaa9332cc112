"""Number, sum and sum of squares of the numbers beside the documents of each class, as exact fractions that add and subtract exactly.

A float is a whole number times a power of two, so a sum of floats is a fraction; only means and variances are rounded, at the end.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from nbtext.errors import UsageError

if TYPE_CHECKING:
    from nbtext.type_names import AnyArray, Floats, Ints

MANTISSA = 53
"""Bits of a float's significand."""

HALF = 26
"""Bits of its lower half: sums of halves fit into int64."""

SPLITTER = 2.0**27 + 1
"""Splits a float into two halves of 26 bits (T. Dekker, A floating-point technique for extending the available precision, 1971)."""


class Moments(NamedTuple):
    """Moments of every class and column of numbers, shapes (n_classes, n_columns)."""

    documents: Ints
    """Documents of the class with a number."""
    sums: AnyArray
    """Σ x, as fractions."""
    squares: AnyArray
    """Σ x², as fractions."""

    @classmethod
    def zero(cls, n_classes: int, n_columns: int) -> Self:
        """Return the moments of no documents."""
        sums, squares = (np.full((n_classes, n_columns), Fraction(0), object) for _ in range(2))
        return cls(np.zeros((n_classes, n_columns), np.int64), sums, squares)

    @classmethod
    def from_values(cls, values: Floats, classes: Ints, n_classes: int) -> Self:
        """Return the moments of documents with values, shape (n_docs, n_columns), nan if missing, and class numbers, shape (n_docs,)."""
        found = cls.zero(n_classes, values.shape[1])
        for column in range(values.shape[1]):
            here = ~np.isnan(values[:, column])
            x = values[here, column]
            groups = classes[here]
            found.documents[:, column] = np.bincount(groups, minlength=n_classes)
            found.sums[:, column] = _exact_sums(x, groups, n_classes)
            high = SPLITTER * x - (SPLITTER * x - x)
            low = x - high
            parts = np.concatenate((high * high, 2 * high * low, low * low))
            found.squares[:, column] = _exact_sums(parts, np.tile(groups, 3), n_classes)
        return found

    def add(self, other: Moments) -> Moments:
        """Return the moments of both corpora together, with the same classes and columns."""
        return Moments(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def subtract(self, other: Moments) -> Moments:
        """Return the moments without another corpus, with the same classes and columns; raises `UsageError` if the result is impossible."""
        rest = Moments(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))
        if not rest.is_possible():
            raise UsageError("cannot take away documents that were never counted")
        return rest

    def is_possible(self) -> bool:
        """Return whether some numbers can have these moments: n ≥ 0, (Σ x)² ≤ n Σ x², and no sums where n = 0."""
        some = self.documents > 0
        spread = self.documents * self.squares - self.sums * self.sums
        return bool(
            np.all(self.documents >= 0)
            and np.all(spread >= 0)
            and not np.any(self.sums[~some])
            and not np.any(self.squares[~some])
        )

    def add_values(self, values: Floats, classes: Ints, n_classes: int) -> Moments:
        """Add the moments of further documents, given as in `of`; new classes are numbered after these."""
        return self.reindex_classes(np.arange(len(self.documents)), n_classes).add(
            self.from_values(values, classes, n_classes)
        )

    def leave_one_out(self, column: int, values: Floats, classes: Ints) -> Moments:
        """Return the moments of a column without each of its documents in turn, shapes (n_classes, n_docs), given as in `of`."""
        rest = Moments(*(np.tile(part[:, column, np.newaxis], values.size) for part in self))
        here = np.flatnonzero(~np.isnan(values))
        x = np.array([Fraction(value) for value in values[here].tolist()], object)
        for part, own in zip(rest, (1, x, x * x), strict=True):
            part[classes[here], here] -= own
        return rest

    def split_columns(self, n_columns: int) -> tuple[Moments, Moments]:
        """Return the moments of the first ``n_columns`` columns, and those of the others."""
        return Moments(*(part[:, :n_columns] for part in self)), Moments(
            *(part[:, n_columns:] for part in self)
        )

    def take_classes(self, numbers: Ints) -> Moments:
        """Return the moments of some classes, by number, in the order given."""
        return Moments(*(part[numbers] for part in self))

    def reindex_classes(self, numbers: Ints, n_classes: int) -> Moments:
        """Renumber the classes, given the new number of each, of ``n_classes``; add up classes with the same number."""
        wider = Moments.zero(n_classes, self.documents.shape[1])
        for new, old in zip(wider, self, strict=True):
            np.add.at(new, numbers, old)
        return wider

    def sum_classes(self) -> Moments:
        """Return the moments of all classes together, shapes (1, n_columns)."""
        return Moments(*(part.sum(axis=0, keepdims=True) for part in self))


def _exact_sums(values: Floats, groups: Ints, n_groups: int) -> AnyArray:
    """Return the sum of each group's values as a fraction, shape (n_groups,); exact for fewer than 2³⁶ values.

    Significands are summed as whole numbers by group and power of two.
    """
    mantissas, exponents = np.frexp(values)
    whole = np.ldexp(mantissas, MANTISSA).astype(np.int64)
    keys, places = np.unique(np.stack((groups, exponents)), axis=1, return_inverse=True)
    halves = np.zeros((2, keys.shape[1]), np.int64)
    np.add.at(halves[0], places, whole >> HALF)
    np.add.at(halves[1], places, whole & ((1 << HALF) - 1))
    sums = np.full(n_groups, Fraction(0), object)
    for (group, exponent), (high, low) in zip(keys.T.tolist(), halves.T.tolist(), strict=True):
        sums[group] += ((high << HALF) + low) * Fraction(2) ** (exponent - MANTISSA)
    return sums
