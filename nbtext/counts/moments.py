"""How many documents of each class have a number, and the sums of the numbers and of their squares. Exact, so they add and subtract exactly.

A float is a whole number times a power of two, so a sum of floats is a fraction; only a mean or a variance, at the end, is rounded.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from nbtext.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANTISSA = 53
"""Bits of a float's whole number."""

HALF = 26
"""Bits of its lower half: sums of halves stay within int64."""

SPLITTER = 2.0**27 + 1
"""Of T. Dekker, A floating-point technique for extending the available precision (1971): splits a float in two halves of 26 bits."""


class Moments(NamedTuple):
    """For every class and column of numbers, shapes (n_classes, n_columns)."""

    documents: NDArray[np.int64]
    """Documents of the class that have a number."""
    sums: NDArray[Any]
    """Σ x, as fractions."""
    squares: NDArray[Any]
    """Σ x², as fractions."""

    @classmethod
    def zero(cls, n_classes: int, n_columns: int) -> Self:
        """Those of no documents."""
        sums, squares = (np.full((n_classes, n_columns), Fraction(0), object) for _ in range(2))
        return cls(np.zeros((n_classes, n_columns), np.int64), sums, squares)

    @classmethod
    def of(cls, values: NDArray[np.float64], classes: NDArray[np.int64], n_classes: int) -> Self:
        """Those of documents with values, shape (n_docs, n_columns), nan for missing, and class numbers, shape (n_docs,)."""
        found = cls.zero(n_classes, values.shape[1])
        for column in range(values.shape[1]):
            here = ~np.isnan(values[:, column])
            x, groups = values[here, column], classes[here]
            found.documents[:, column] = np.bincount(groups, minlength=n_classes)
            found.sums[:, column] = exact_sums(x, groups, n_classes)
            high = SPLITTER * x - (SPLITTER * x - x)
            low = x - high
            parts = np.concatenate((high * high, 2 * high * low, low * low))
            found.squares[:, column] = exact_sums(parts, np.tile(groups, 3), n_classes)
        return found

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.documents.shape[1])

    def plus(self, other: Moments) -> Moments:
        """Those of both corpora together, with the same classes and columns."""
        return Moments(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def minus(self, other: Moments) -> Moments:
        """Those without another corpus, with the same classes and columns; raises `UsageError` if that has anything that these have not."""
        rest = Moments(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))
        if not rest.are_possible():
            raise UsageError("cannot take away documents that were never counted")
        return rest

    def are_possible(self) -> bool:
        """Whether there are numbers of which these are the moments, as far as (Σ x)² ≤ n Σ x² tells."""
        some = self.documents > 0
        spread = self.documents * self.squares - self.sums * self.sums
        return bool(
            np.all(self.documents >= 0) and np.all(spread >= 0) and not np.any(self.sums[~some]) and not np.any(self.squares[~some])
        )

    def and_of(self, values: NDArray[np.float64], classes: NDArray[np.int64], n_classes: int) -> Moments:
        """With those of further documents, as in `of`; there may be new classes, numbered after these."""
        return self.scattered(np.arange(len(self.documents)), n_classes).plus(self.of(values, classes, n_classes))

    def parted(self, n_columns: int) -> tuple[Moments, Moments]:
        """Those of the first columns, and those of the others."""
        return Moments(*(part[:, :n_columns] for part in self)), Moments(*(part[:, n_columns:] for part in self))

    def of_classes(self, numbers: NDArray[np.int64]) -> Moments:
        """Those of some classes, by number, in the order given."""
        return Moments(*(part[numbers] for part in self))

    def scattered(self, numbers: NDArray[np.int64], n_classes: int) -> Moments:
        """The same with new numbers for the classes, each given its new one, among so many; those of one number are added up."""
        wider = Moments.zero(n_classes, self.n_columns)
        for new, old in zip(wider, self, strict=True):
            np.add.at(new, numbers, old)
        return wider

    def equal(self, other: Moments) -> bool:
        """Whether all are the same."""
        return all(np.array_equal(mine, theirs) for mine, theirs in zip(self, other, strict=True))

    def total(self) -> Moments:
        """Those of all classes together, shapes (1, n_columns)."""
        return Moments(*(part.sum(axis=0, keepdims=True) for part in self))


def exact_sums(values: NDArray[np.float64], groups: NDArray[np.int64], n_groups: int) -> NDArray[Any]:
    """The sum of each group's values as a fraction, shape (n_groups,): whole numbers are summed by group and power of two.

    Exact for fewer than 2³⁶ values.
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
