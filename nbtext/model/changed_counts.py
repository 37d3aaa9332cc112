"""One document with other counts of some of its terms, many times over: what scoring needs of changed texts, without reading these again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.matrix import DocumentTermMatrix
from nbtext.ragged import offsets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Whole = NDArray[np.int64]

CELLS_AT_ONCE = 1 << 21
"""Counts of changed documents that are held in memory at once."""


def changed_counts(
    matrix: DocumentTermMatrix, n_documents: int, rows: Whole, terms: Whole, amounts: Whole, at_once: int = CELLS_AT_ONCE
) -> Iterator[DocumentTermMatrix]:
    """Yield ``n_documents`` changed copies of the document that ``matrix`` holds alone, in blocks of at most ``at_once``.

    ``amounts`` are added to the counts of ``terms`` in the copies numbered ``rows``, all of shape (n_changes,). Terms whose count does not stay positive
    are left out.
    """
    distinct = np.union1d(matrix.terms, terms)
    counts, places = np.zeros(distinct.size, np.int64), np.searchsorted(distinct, terms)
    counts[np.searchsorted(distinct, matrix.terms)] = matrix.counts
    step = max(min(CELLS_AT_ONCE // max(distinct.size, 1), at_once), 1)
    for begin in range(0, n_documents, step):
        here = np.flatnonzero((rows >= begin) & (rows < begin + step))
        changed = np.tile(counts, (min(step, n_documents - begin), 1))
        np.add.at(changed, (rows[here] - begin, places[here]), amounts[here])
        documents, columns = np.nonzero(changed > 0)
        yield DocumentTermMatrix(
            offsets(np.bincount(documents, minlength=len(changed))),
            distinct[columns],
            changed[documents, columns],
            np.repeat(matrix.unknown, len(changed)),
            None if matrix.values is None else np.repeat(matrix.values, len(changed), axis=0),
        )
