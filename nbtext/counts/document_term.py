"""The document-term matrix of a block of documents: sparse counts by document."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.ragged import offsets
from nbtext.text.key_table import group, pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.text.analyzer import TermSequence


class DocumentTermMatrix(NamedTuple):
    """Counts n_jd of term j in document d, as compressed sparse rows: shape (n_docs, n_terms), the terms that a document has not are absent."""

    offsets: NDArray[np.int64]
    """Where each document's entries begin, shape (n_docs + 1,)."""
    terms: NDArray[np.int64]
    """Term ids, distinct within a document, shape (n_entries,)."""
    counts: NDArray[np.int64]
    """Occurrences of the term in the document, at least 1, shape (n_entries,)."""
    unknown: NDArray[np.int64]
    """Occurrences of terms that the vocabulary does not hold, shape (n_docs,)."""

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
        running = np.concatenate((np.zeros(1, np.int64), np.cumsum(self.counts)))
        return running[self.offsets[1:]] - running[self.offsets[:-1]]

    def of_terms(self, chosen: NDArray[np.bool_]) -> DocumentTermMatrix:
        """The matrix with the entries of the chosen terms only; ``chosen`` has shape (n_terms,)."""
        kept = chosen[self.terms]
        rows = np.repeat(np.arange(self.n_documents), self.entries)[kept]
        sizes = np.bincount(rows, minlength=self.n_documents)
        return DocumentTermMatrix(offsets(sizes), self.terms[kept], self.counts[kept], self.unknown)


def document_term_matrix(sequence: TermSequence, n_documents: int) -> DocumentTermMatrix:
    """Count the terms of each document of a block."""
    documents, terms = sequence
    known = terms >= 0
    unknown = np.bincount(documents[~known], minlength=n_documents)
    documents, terms = documents[known], terms[known]
    first, counts = group(pair(documents, terms))
    return DocumentTermMatrix(offsets(np.bincount(documents[first], minlength=n_documents)), terms[first], counts, unknown)
