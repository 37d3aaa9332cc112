"""Counts of unlabelled documents, each of which belongs to all classes in part.

A document d belongs to class k with a responsibility r_dk: its probability, in whole thousandths.
So the sums Σ_d r_dk n_jd are whole numbers, and do not depend on the order of the documents. They
are separate from the counts of labelled documents, which stay unchanged.
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
    """Sums the counts of the same documents by different responsibilities, and scores them."""

    def __init__(self, matrix: DocumentTermMatrix, labelled: Counts) -> None:
        """Count the documents of ``matrix``.

        ``labelled`` are counts with the same vocabulary. The sums have its terms and classes.
        """
        self._labelled = labelled
        shape = (matrix.n_documents, labelled.n_terms)
        document_counts = _to_csr_array(matrix.counts, matrix.terms, matrix.offsets, shape)
        self._term_counts = document_counts.T.tocsr()

    def score(self, selected: Mask, weights: TermFunction) -> Floats:
        """Return Σ_j n_jd w_jk over the selected terms, shape (n_docs, n_classes).

        ``selected`` is a mask of shape (n_terms,). ``weights`` returns w of some terms.
        """
        n_documents = self._term_counts.shape[1]
        scores = np.zeros((n_documents, self._labelled.n_classes))
        for terms, counts in self._iter_blocks():
            term_weights = np.zeros((terms.size, self._labelled.n_classes))
            is_selected = selected[terms]
            term_weights[is_selected] = weights(terms[is_selected])
            scores += counts.T @ term_weights
        return scores

    def sum_counts(self, responsibilities: Floats) -> Counts:
        """Return Σ_d r_dk n_jd as counts of the cells, in thousandths.

        ``responsibilities`` are r in thousandths, shape (n_docs, n_classes). The documents of cells
        are not computed: they are the same as the counts.
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
        """Return the keys (term, class) of the cells, and the weighted sums of columns by cell.

        ``build_columns`` returns arrays of numbers for an array of counts. Each array is one
        column. Cells whose sum of the first column is 0 are omitted.
        """
        blocks = []
        for terms, counts in self._iter_blocks():
            sums = []
            for column in build_columns(counts.data):
                matrix = _to_csr_array(column, counts.indices, counts.indptr, counts.shape)
                sums.append(matrix @ responsibilities)
            rows, classes = np.nonzero(sums[0])
            keys = pair(terms[rows], classes)
            blocks.append((keys, *(column_sums[rows, classes] for column_sums in sums)))
        keys, *cell_sums = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
        return keys, cell_sums

    def _iter_blocks(self) -> Iterator[tuple[Ints, csr_array]]:
        """Yield terms in blocks, and their counts by document, shape (n_terms, n_docs).

        A table of the terms and classes of a block has at most `MAX_BLOCK_TERM_WEIGHTS` cells.
        Without terms, yield one empty block.
        """
        n_terms = self._labelled.n_terms
        step = max(MAX_BLOCK_TERM_WEIGHTS // self._labelled.n_classes, 1)
        for start in range(0, max(n_terms, 1), step):
            end = min(start + step, n_terms)
            yield np.arange(start, end), self._term_counts[start:end]


def _to_csr_array(
    elements: Numbers, columns: AnyInts, bounds: AnyInts, shape: tuple[int, int]
) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((elements, columns, bounds), shape=shape)
