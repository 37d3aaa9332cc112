"""The labels of documents that may have several, as numbers of columns of the statistics."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.ragged import flat_indices, offsets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.type_names import Mask, Whole


class LabelSets(NamedTuple):
    """The columns of the labels of documents that may have several, beside the column that counts every document."""

    sizes: Whole
    """The number of labels of each document, shape (n_docs,)."""
    columns: Whole
    """Their columns, document after document, ascending in each."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> LabelSets:
        """Return the sets of some documents."""
        return cls(np.array([len(row) for row in rows], np.int64), np.array([column for row in rows for column in sorted(row)], np.int64))

    def rows(self, chosen: Whole) -> LabelSets:
        """Return the sets of some documents, by number."""
        return LabelSets(self.sizes[chosen], self.columns[flat_indices(offsets(self.sizes)[chosen], self.sizes[chosen])])

    def renumbered(self, columns: Whole) -> LabelSets:
        """Return the same sets, given the new number of each column."""
        owners, found = np.repeat(np.arange(self.sizes.size), self.sizes), columns[self.columns]
        return LabelSets(self.sizes, found[np.lexsort((found, owners))])

    def texts(self) -> list[tuple[int, ...]]:
        """Return the columns of each document."""
        bounds = offsets(self.sizes).tolist()
        return [tuple(self.columns[begin:end].tolist()) for begin, end in pairwise(bounds)]

    def mask(self, n_columns: int) -> Mask:
        """Return which columns are in the set of each document, shape (n_docs, n_columns)."""
        found = np.zeros((self.sizes.size, n_columns), np.bool_)
        found[np.repeat(np.arange(self.sizes.size), self.sizes), self.columns] = True
        return found

    def by_rank(self) -> Iterator[tuple[Whole, Whole]]:
        """Yield documents and a label of each: the first labels, then the second, and so on."""
        begins = offsets(self.sizes)[:-1]
        for rank in range(int(self.sizes.max(initial=0))):
            rows = np.flatnonzero(self.sizes > rank)
            yield rows, self.columns[begins[rows] + rank]
