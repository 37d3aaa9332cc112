"""The statistics of any part of a corpus that was counted once: the whole less the documents outside, or the sum of those inside.

Every document's entry in the document-term matrix belongs to one cell of the statistics, that of its term and the document's class. Which
one it is, is found once; after that a part costs one pass over the entries of its documents or of the others, whichever are fewer.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.documents import DocumentSample
from nbtext.ragged import flat_indices, offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.moments import Moments
    from nbtext.counts.statistics import ClassStatistics


class Subsets:
    """Parts of a corpus, given its statistics and all its documents, numbered as in the statistics.

    Vocabulary and classes of a part are those of the whole. Terms that none of its documents holds have no cells there, and classes without
    documents have none; both stand in the arrays all the same, so that what is learnt from the part can score any document of the whole.
    """

    def __init__(self, statistics: ClassStatistics, documents: CountedDocuments) -> None:
        self.statistics = statistics
        self.documents = documents
        self._cells = cells_of_entries(statistics, documents)

    def __len__(self) -> int:
        return len(self.documents)

    def part(self, chosen: NDArray[np.bool_]) -> ClassStatistics:
        """The statistics of the chosen documents, a mask of shape (n_docs,)."""
        if 2 * np.count_nonzero(chosen) > len(self):
            return self.without(np.flatnonzero(~chosen))
        return self._of(np.flatnonzero(chosen), subtract=False)

    def without(self, rows: NDArray[np.int64]) -> ClassStatistics:
        """The statistics less some documents, by number; then ``documents`` need not be all there are."""
        return self._of(rows, subtract=True)

    def _of(self, rows: NDArray[np.int64], *, subtract: bool) -> ClassStatistics:
        whole, documents = self.statistics, self.documents
        entries = flat_indices(documents.matrix.offsets[rows], documents.matrix.entries[rows])
        cells = self._cells[entries]
        sums = (
            np.bincount(documents.classes[rows], minlength=whole.n_classes),
            np.bincount(cells, documents.matrix.counts[entries], whole.cell_counts.size).astype(np.int64),
            np.bincount(cells, minlength=whole.cell_counts.size),
        )
        of_whole = (whole.class_documents, whole.cell_counts, whole.cell_documents)
        class_documents, counts, holding = (total - sum_ for total, sum_ in zip(of_whole, sums, strict=True)) if subtract else sums
        kept = holding > 0
        return replace(
            whole,
            class_documents=class_documents,
            term_offsets=offsets(kept.astype(np.int64))[whole.term_offsets],
            cell_classes=whole.cell_classes[kept],
            cell_counts=counts[kept],
            cell_documents=holding[kept],
            moments=self._moments(rows, subtract=subtract),
        )

    def _moments(self, rows: NDArray[np.int64], *, subtract: bool) -> Moments | None:
        whole, values = self.statistics.moments, self.documents.matrix.values
        if whole is None or values is None:
            return None
        of_rows = type(whole).of(values[rows], self.documents.classes[rows], self.statistics.n_classes)
        return whole.minus(of_rows) if subtract else of_rows

    def counts(self, chosen: NDArray[np.bool_], sample_size: int) -> CorpusCounts:
        """The statistics of the chosen documents and their sample, at most ``sample_size``: what `nbtext.model.estimation.learn` takes."""
        rows = np.flatnonzero(chosen) if sample_size else np.empty(0, np.int64)
        return CorpusCounts(self.part(chosen), DocumentSample.of(self.documents.rows(rows), sample_size))


def cells_of_entries(statistics: ClassStatistics, documents: CountedDocuments) -> NDArray[np.int64]:
    """The number of each matrix entry's cell, shape (n_entries,): class by class, with a table from terms to cells."""
    matrix = documents.matrix
    begins, sizes = matrix.offsets[:-1], matrix.entries
    cell_of_term = np.zeros(statistics.n_terms, np.int64)
    found = np.empty(matrix.terms.size, np.int64)
    groups = (_by_class(classes, statistics.n_classes) for classes in (documents.classes, statistics.cell_classes))
    for rows, cells in zip(*groups, strict=True):
        cell_of_term[statistics.cell_terms[cells]] = cells  # what other classes left in the table is not asked for
        entries = flat_indices(begins[rows], sizes[rows])
        found[entries] = cell_of_term[matrix.terms[entries]]
    return found


def _by_class(classes: NDArray[np.int64], n_classes: int) -> list[NDArray[np.int64]]:
    """The places at which each class stands, ascending."""
    bounds = offsets(np.bincount(classes, minlength=n_classes)).tolist()
    order = np.argsort(classes, kind="stable")
    return [order[begin:end] for begin, end in pairwise(bounds)]
