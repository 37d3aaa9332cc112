"""The document-term matrix of a block of documents: sparse counts by document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.ragged import flat_indices, offsets
from nbtext.text.key_table import group, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.text.analyzer import TermSequence


class DocumentTermMatrix(NamedTuple):
    """Counts n_jd of term j in document d, as compressed sparse rows: shape (n_docs, n_terms), the terms that a document has not are absent."""

    offsets: NDArray[np.int64]
    """Where each document's entries begin, shape (n_docs + 1,)."""
    terms: NDArray[Any]
    """Term ids, distinct within a document, shape (n_entries,); int64, or int32 where many documents are kept."""
    counts: NDArray[Any]
    """Occurrences of the term in the document, at least 1, shape (n_entries,); as ``terms``."""
    unknown: NDArray[np.int64]
    """Occurrences of terms that the vocabulary does not hold, shape (n_docs,)."""

    @classmethod
    def empty(cls) -> DocumentTermMatrix:
        """No documents."""
        nothing = np.empty(0, np.int64)
        return cls(np.zeros(1, np.int64), nothing, nothing, nothing)

    @property
    def n_documents(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    @property
    def entries(self) -> NDArray[np.int64]:
        """Number of distinct known terms of each document, shape (n_docs,)."""
        return np.diff(self.offsets)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of known tokens of each document, shape (n_docs,)."""
        running = offsets(self.counts)
        return running[self.offsets[1:]] - running[self.offsets[:-1]]

    @property
    def entry_documents(self) -> NDArray[np.int64]:
        """The document of each entry, shape (n_entries,)."""
        return np.repeat(np.arange(self.n_documents), self.entries)

    def rows(self, chosen: NDArray[np.int64]) -> DocumentTermMatrix:
        """Some of the documents, by number, in the order given."""
        sizes = self.entries[chosen]
        entries = flat_indices(self.offsets[chosen], sizes)
        return DocumentTermMatrix(offsets(sizes), self.terms[entries], self.counts[entries], self.unknown[chosen])

    def sorted(self) -> DocumentTermMatrix:
        """The matrix with each document's entries by term."""
        order = np.argsort(pair(self.entry_documents, self.terms))
        return self._replace(terms=self.terms[order], counts=self.counts[order])

    def of_entries(self, kept: NDArray[np.bool_]) -> DocumentTermMatrix:
        """The matrix with some of its entries only; ``kept`` has shape (n_entries,)."""
        sizes = np.bincount(self.entry_documents[kept], minlength=self.n_documents)
        return DocumentTermMatrix(offsets(sizes), self.terms[kept], self.counts[kept], self.unknown)

    def of_terms(self, chosen: NDArray[np.bool_]) -> DocumentTermMatrix:
        """The matrix with the entries of the chosen terms only; ``chosen`` has shape (n_terms,)."""
        return self.of_entries(chosen[self.terms])


def stacked(matrices: Sequence[DocumentTermMatrix]) -> DocumentTermMatrix:
    """The documents of several matrices over the same vocabulary, one after the other."""
    if not matrices:
        return DocumentTermMatrix.empty()
    return DocumentTermMatrix(
        offsets(np.concatenate([matrix.entries for matrix in matrices])),
        np.concatenate([matrix.terms for matrix in matrices]),
        np.concatenate([matrix.counts for matrix in matrices]),
        np.concatenate([matrix.unknown for matrix in matrices]),
    )


def beside(left: DocumentTermMatrix, right: DocumentTermMatrix) -> DocumentTermMatrix:
    """The terms of two matrices of the same documents that have no term in common."""
    order = np.argsort(np.concatenate((left.entry_documents, right.entry_documents)), kind="stable")
    return DocumentTermMatrix(
        left.offsets + right.offsets,
        np.concatenate((left.terms, right.terms))[order],
        np.concatenate((left.counts, right.counts))[order],
        left.unknown + right.unknown,
    )


def document_term_matrix(sequence: TermSequence, n_documents: int) -> DocumentTermMatrix:
    """Count the terms of each document of a block."""
    documents, terms = sequence
    known = terms >= 0
    unknown = np.bincount(documents[~known], minlength=n_documents)
    documents, terms = documents[known], terms[known]
    first, counts = group(pair(documents, terms))
    return DocumentTermMatrix(offsets(np.bincount(documents[first], minlength=n_documents)), terms[first], counts, unknown)
