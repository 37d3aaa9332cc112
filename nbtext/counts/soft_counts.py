"""What unlabelled documents add to the statistics of labelled ones: counts of documents that belong to each class in part.

A document d belongs to class k with a share r_dk, in whole thousandths, so the sums Σ_d r_dk n_jd are whole numbers too, and do not depend on the
order of the documents. They are kept apart from the counts of labelled documents, which stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

import numpy as np

from nbtext.counts.count_table import Counts, log_units
from nbtext.counts.matrix import MAX_BLOCK_TERM_WEIGHTS
from nbtext.text.hashing import pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scipy.sparse import csr_array

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.type_names import AnyArray, AnyInts, Floats, Ints, Keys, Mask, Numbers, TermFunction


class SoftCounter(Generic[Counts]):
    """Sums counts of the same documents by term and class, again and again with other shares, and scores them by other weights."""

    def __init__(self, matrix: DocumentTermMatrix, labelled: Counts) -> None:
        """Take documents over the vocabulary of ``labelled``, the statistics whose terms and classes the sums have."""
        self._labelled = labelled
        by_document = _sparse(
            matrix.counts, matrix.terms, matrix.offsets, (matrix.n_documents, labelled.n_terms)
        )
        self._by_term = by_document.T.tocsr()

    def score(self, known: Mask, weights: TermFunction) -> Floats:
        """Return Σ_j n_jd w_jk over known terms, a mask of shape (n_terms,); shape (n_docs, n_classes). ``weights`` returns w of some terms."""
        scores = np.zeros((self._by_term.shape[1], self._labelled.n_classes))
        for terms, part in self._blocks():
            table = np.zeros((terms.size, self._labelled.n_classes))
            here = known[terms]
            table[here] = weights(terms[here])
            scores += part.T @ table
        return scores

    def sum_counts(self, shares: Floats) -> Counts:
        """Return Σ_d r_dk n_jd as the only column of the statistics, given shares r, shape (n_docs, n_classes), in thousandths."""
        keys, [counts] = self._sums(shares, lambda counts: [counts])
        return self._labelled.with_cells(shares.sum(axis=0), keys, counts, counts)

    def sum_statistics(self, shares: Floats) -> Counts:
        """Return all columns that the labelled statistics have, in whole thousandths."""
        logs = self._labelled.cell_logs is not None

        def columns(counts: Numbers) -> list[Ints]:
            return [
                counts.astype(np.int64),
                np.ones(counts.size, np.int64),
                *([log_units(counts)] if logs else []),
            ]

        shares = shares.astype(np.int64)
        keys, sums = self._sums(shares, columns)
        return self._labelled.with_cells(shares.sum(axis=0), keys, *sums)

    def _sums(
        self, shares: Numbers, columns: Callable[[AnyArray], list[Ints]]
    ) -> tuple[Keys, list[Ints]]:
        """Return the keys (term, class) of the cells in which documents with the term have a share, and the sums of each column there.

        ``columns`` makes them of counts.
        """
        parts = []
        for rows, part in self._blocks():
            sums = [
                _sparse(column, part.indices, part.indptr, part.shape) @ shares
                for column in columns(part.data)
            ]
            terms, classes = np.nonzero(sums[0])
            parts.append((pair(rows[terms], classes), *(table[terms, classes] for table in sums)))
        keys, *found = (np.concatenate(each) for each in zip(*parts, strict=True))
        return keys, found

    def _blocks(self) -> Iterator[tuple[Ints, csr_array]]:
        """Yield terms, so many that a table with the classes has at most `MAX_BLOCK_TERM_WEIGHTS` cells, and their counts by document."""
        n_terms = self._labelled.n_terms
        step = max(MAX_BLOCK_TERM_WEIGHTS // self._labelled.n_classes, 1)
        for begin in range(0, max(n_terms, 1), step):
            rows = np.arange(begin, min(begin + step, n_terms))
            yield rows, self._by_term[begin : begin + step]


def _sparse(
    elements: Numbers, columns: AnyInts, bounds: AnyInts, shape: tuple[int, int]
) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((elements, columns, bounds), shape=shape)
