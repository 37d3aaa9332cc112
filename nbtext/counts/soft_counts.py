"""Counts of unlabelled documents, which belong to each class in part.

A document d belongs to class k with a responsibility r_dk in whole thousandths. So the sums
Σ_d r_dk n_jd are whole numbers too, and do not depend on the order of the documents. They are
separate from the counts of labelled documents, which stay unchanged.
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
    from nbtext.type_names import (
        AnyArray,
        AnyInts,
        Floats,
        Ints,
        Keys,
        Mask,
        Numbers,
        TermFunction,
    )


class SoftCounter(Generic[Counts]):
    """Sums counts of the same documents for different responsibilities, and scores them."""

    def __init__(self, matrix: DocumentTermMatrix, labelled: Counts) -> None:
        """Count the documents of ``matrix``.

        ``labelled`` are statistics with the same vocabulary; sums have its terms and classes.
        """
        self._labelled = labelled
        shape = (matrix.n_documents, labelled.n_terms)
        documents = _to_csr_array(matrix.counts, matrix.terms, matrix.offsets, shape)
        self._terms = documents.T.tocsr()

    def score(self, selected: Mask, weights: TermFunction) -> Floats:
        """Return Σ_j n_jd w_jk over the selected terms, shape (n_docs, n_classes).

        ``selected`` is a mask of shape (n_terms,). ``weights`` returns w of some terms.
        """
        scores = np.zeros((self._terms.shape[1], self._labelled.n_classes))
        for terms, counts in self._iter_blocks():
            dense = np.zeros((terms.size, self._labelled.n_classes))
            is_selected = selected[terms]
            dense[is_selected] = weights(terms[is_selected])
            scores += counts.T @ dense
        return scores

    def sum_counts(self, responsibilities: Floats) -> Counts:
        """Return Σ_d r_dk n_jd as counts and documents of the cells, in thousandths.

        ``responsibilities`` are r in thousandths, shape (n_docs, n_classes).
        """
        keys, [counts] = self._sum_columns(responsibilities, lambda counts: [counts])
        return self._labelled.with_cells(responsibilities.sum(axis=0), keys, counts, counts)

    def sum_statistics(self, responsibilities: Floats) -> Counts:
        """Return the sums of all cell fields of the labelled statistics, in whole thousandths.

        ``responsibilities`` are r in thousandths, shape (n_docs, n_classes).
        """
        has_logs = self._labelled.cell_logs is not None

        def build_columns(counts: Numbers) -> list[Ints]:
            columns = [counts.astype(np.int64), np.ones(counts.size, np.int64)]
            if has_logs:
                columns.append(log_units(counts))
            return columns

        thousandths = responsibilities.astype(np.int64)
        keys, sums = self._sum_columns(thousandths, build_columns)
        return self._labelled.with_cells(thousandths.sum(axis=0), keys, *sums)

    def _sum_columns(
        self, responsibilities: Numbers, build_columns: Callable[[AnyArray], list[Ints]]
    ) -> tuple[Keys, list[Ints]]:
        """Return the keys (term, class) of the cells, and the sums of each column in them.

        ``build_columns`` returns the columns to sum for an array of counts. Cells
        whose first sum is 0 are omitted.
        """
        blocks = []
        for terms, counts in self._iter_blocks():
            sums = [
                _to_csr_array(column, counts.indices, counts.indptr, counts.shape)
                @ responsibilities
                for column in build_columns(counts.data)
            ]
            rows, classes = np.nonzero(sums[0])
            keys = pair(terms[rows], classes)
            blocks.append((keys, *(column[rows, classes] for column in sums)))
        keys, *columns = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
        return keys, columns

    def _iter_blocks(self) -> Iterator[tuple[Ints, csr_array]]:
        """Yield terms in blocks, and their counts by document.

        A table of the terms and classes of a block has at most `MAX_BLOCK_TERM_WEIGHTS` cells.
        """
        n_terms = self._labelled.n_terms
        step = max(MAX_BLOCK_TERM_WEIGHTS // self._labelled.n_classes, 1)
        for start in range(0, max(n_terms, 1), step):
            terms = np.arange(start, min(start + step, n_terms))
            yield terms, self._terms[start : start + step]


def _to_csr_array(
    elements: Numbers, columns: AnyInts, bounds: AnyInts, shape: tuple[int, int]
) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((elements, columns, bounds), shape=shape)
