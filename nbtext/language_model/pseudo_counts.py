"""Terms whose pseudo-count is another than that of all others: an asymmetric Dirichlet prior with α_j given term by term.

Source: Gambosi's notes, "Probabilistic learning" (the Dirichlet distribution in its general form, α_1, …, α_V).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OwnPseudoCounts:
    """A_j of some terms; ``others``, as the methods take it, is A of all other terms."""

    terms: Whole
    """Ascending, shape (n,)."""
    numbers: Floats
    """Shape (n,), at least 0."""

    @classmethod
    def of_terms(cls, numbers: Mapping[int, float], others: float) -> OwnPseudoCounts:
        """From numbers by term; those that are as all others are have none of their own."""
        own = sorted((term, number) for term, number in numbers.items() if number != others)
        return cls(np.array([term for term, _ in own], np.int64), np.array([number for _, number in own], np.float64))

    def __len__(self) -> int:
        return self.terms.size

    def find(self, terms: Whole) -> tuple[NDArray[np.bool_], Floats]:
        """Which of some terms have one of their own, shape (n,), and what those have, in the order given."""
        if not self.terms.size:
            return np.zeros(terms.size, np.bool_), np.empty(0)
        place = np.minimum(np.searchsorted(self.terms, terms), self.terms.size - 1)
        here = self.terms[place] == terms
        return here, self.numbers[place[here]]

    def of(self, terms: Whole, others: float) -> Floats:
        """A_j of some terms, shape (n,)."""
        found = np.full(terms.size, float(others))
        here, numbers = self.find(terms)
        found[here] = numbers
        return found

    def among(self, selected: NDArray[np.bool_]) -> OwnPseudoCounts:
        """Those of the selected terms."""
        here = selected[self.terms]
        return OwnPseudoCounts(self.terms[here], self.numbers[here])

    def least(self, others: float) -> float:
        """The smallest A_j there is."""
        return min(others, float(self.numbers.min(initial=np.inf)))


NO_OWN = OwnPseudoCounts(np.empty(0, np.int64), np.empty(0))
"""All terms have the same."""
