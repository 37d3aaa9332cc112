"""Counts of unlabelled documents, each of which belongs to all classes in part.

The responsibility r_dk is the probability that document d belongs to class k. It is in whole
thousandths, so the sums Σ_d r_dk n_jd are whole numbers, and do not depend on the order of the
documents. The counts of labelled documents stay unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

import numpy as np

from nbtext.counts.count_table import Counts, replace_cells, round_logs
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
    """Sums the counts of unlabelled documents by responsibilities, and scores the documents."""

    def __init__(self, matrix: DocumentTermMatrix, labelled: Counts) -> None:
        """Prepare for the documents of ``matrix``.

        ``labelled`` are counts of other documents. The sums will have their terms and classes.
        """
        self._labelled = labelled
        shape = (matrix.n_documents, labelled.n_terms)
        document_counts = _to_csr_array(matrix.counts, matrix.terms, matrix.offsets, shape)
        self._term_counts = document_counts.T.tocsr()

    def score(self, selected: Mask, compute_weights: TermFunction) -> Floats:
        """Return Σ_j n_jd w_jk over the selected terms, shape (n_docs, n_classes).

        ``selected`` is a mask of shape (n_terms,). ``compute_weights`` returns w of some terms.
        """
        n_documents = self._term_counts.shape[1]
        scores = np.zeros((n_documents, self._labelled.n_classes))
        for terms, counts in self._iter_blocks():
            weights = np.zeros((terms.size, self._labelled.n_classes))
            is_selected = selected[terms]
            weights[is_selected] = compute_weights(terms[is_selected])
            scores += counts.T @ weights
        return scores

    def sum_counts(self, responsibilities: Floats) -> Counts:
        """Return Σ_d r_dk n_jd as counts of the cells, in thousandths.

        ``responsibilities`` are r in thousandths, shape (n_docs, n_classes). Numbers of documents
        are not computed: `cell_documents` of the result are the counts too.
        """
        keys, [sums] = self._sum_columns(responsibilities, lambda counts: [counts])
        return replace_cells(
            self._labelled,
            responsibilities.sum(axis=0),
            keys,
            cell_counts=sums,
            cell_documents=sums,
        )

    def sum_statistics(self, responsibilities: Floats) -> Counts:
        """Return the sums of all fields of cells, in whole thousandths.

        Logs are included if the labelled counts have logs. ``responsibilities`` are r in
        thousandths, shape (n_docs, n_classes).
        """
        has_logs = self._labelled.cell_logs is not None

        def build_columns(counts: Numbers) -> list[Ints]:
            """Return the values of matrix entries, in the order of `CellCounts.cells`."""
            columns = [counts.astype(np.int64), np.ones(counts.size, np.int64)]
            if has_logs:
                columns.append(round_logs(counts))
            return columns

        thousandths = responsibilities.astype(np.int64)
        keys, sums = self._sum_columns(thousandths, build_columns)
        return replace_cells(self._labelled, thousandths.sum(axis=0), keys, *sums)

    def _sum_columns(
        self, responsibilities: Numbers, build_columns: Callable[[AnyArray], list[Ints]]
    ) -> tuple[Keys, list[Ints]]:
        """Return the keys (term, class) of the cells, and the sums Σ_d r_dk x_jd of columns x.

        ``build_columns`` returns the columns for the counts of matrix entries. Each column has a
        value x_jd for each entry. Cells whose sum of the first column is 0 are omitted.
        """
        blocks = []
        for terms, counts in self._iter_blocks():
            dense_sums = []
            for column in build_columns(counts.data):
                matrix = _to_csr_array(column, counts.indices, counts.indptr, counts.shape)
                dense_sums.append(matrix @ responsibilities)
            rows, classes = np.nonzero(dense_sums[0])
            keys = pair(terms[rows], classes)
            blocks.append((keys, *(sums[rows, classes] for sums in dense_sums)))
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
    elements: Numbers, columns: AnyInts, offsets: AnyInts, shape: tuple[int, int]
) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((elements, columns, offsets), shape=shape)
