"""The pool: documents read and counted once, by document and by term, so that a label reaches all documents that share a term with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.counts.counting import Analysis, count_labelled_documents
from nbtext.counts.matrix import DocumentTermMatrix, argsort_stable
from nbtext.errors import UsageError
from nbtext.ragged import compute_offsets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.corpus.document import Document
    from nbtext.counts.count_table import CountTable
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.vocabulary import Vocabulary
    from nbtext.type_names import Floats, Ids, Ints, Keys

LOG_COUNT_SCALE = 1 << 10
"""Log counts are whole numbers of 1 / `COUNTS`, so that their sums are exact."""

ENTRIES_AT_ONCE = 1 << 17
"""Entries of the matrix that a label reaches at once: of arrays that fit into the cache, each takes half the time."""

_NO_CLASS = "pool"


class DocumentNeighbours(NamedTuple):
    """The terms of a document, and where in the order by term the entries of all documents are that hold one of them."""

    terms: Ids
    """Shape (n_terms,)."""
    log_counts: Ids
    """Shape (n_terms,)."""
    starts: Ints
    """The first entry of each term, shape (n_terms,)."""
    sizes: Ints
    """Documents of each term, shape (n_terms,)."""


@dataclass(frozen=True, eq=False)
class DocumentPool:
    """Documents with their counts."""

    documents: list[Document]
    analysis: Analysis
    vocabulary: Vocabulary
    matrix: DocumentTermMatrix
    """Shape (n_docs, n_terms)."""
    hashes: Keys
    """64 bits of a digest of each document, shape (n_docs,)."""

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def n_terms(self) -> int:
        """V."""
        return len(self.vocabulary)

    @cached_property
    def rows_by_id(self) -> dict[str, int]:
        """The number of each document by its name; of several with one name the first."""
        return {document.id: row for row, document in reversed([*enumerate(self.documents)])}

    @cached_property
    def log_counts(self) -> Ids:
        """log(1 + n_jd) in units of 1 / `COUNTS`, by document, shape (n_entries,)."""
        return np.rint(np.log1p(self.matrix.counts, dtype=np.float64) * LOG_COUNT_SCALE).astype(
            np.int32
        )

    @cached_property
    def lengths(self) -> Floats:
        """X_d, the sum of the log counts of each document, shape (n_docs,)."""
        return self.sum_by_document(self.log_counts.astype(np.int64)) / LOG_COUNT_SCALE

    def sum_by_document(self, entry_values: Ints) -> Ints:
        """Return the sum of the numbers of each document's entries, shape (n_docs,)."""
        running = compute_offsets(entry_values)
        return running[self.matrix.offsets[1:]] - running[self.matrix.offsets[:-1]]

    @cached_property
    def entries_by_term(self) -> Ints:
        """The entries of the matrix sorted by term, shape (n_entries,)."""
        return argsort_stable(self.matrix.terms.astype(np.int64))

    @cached_property
    def term_offsets(self) -> Ints:
        """Bounds of the entries of each term in that order, shape (n_terms + 1,)."""
        return compute_offsets(np.bincount(self.matrix.terms, minlength=self.n_terms))

    @cached_property
    def documents_by_term(self) -> Ids:
        """The document of each entry in that order, shape (n_entries,)."""
        return self.matrix.entry_documents.astype(np.int32)[self.entries_by_term]

    def find_neighbours(self, row: int) -> DocumentNeighbours:
        """Return the terms of a document, and all documents that hold one of them."""
        here = slice(int(self.matrix.offsets[row]), int(self.matrix.offsets[row + 1]))
        terms = self.matrix.terms[here]
        starts = self.term_offsets[terms]
        return DocumentNeighbours(
            terms, self.log_counts[here], starts, self.term_offsets[terms + 1] - starts
        )

    def propagate(
        self, document: DocumentNeighbours, of_terms: Ints, by_term: Ids, sums: Ints
    ) -> None:
        """Add to the sums of all documents, shape (n_docs,), for each term of one ``of_terms`` times what they hold of it, as entries in ``by_term``."""
        block = compute_offsets(document.sizes)[:-1] // ENTRIES_AT_ONCE
        bounds = [*np.flatnonzero(np.diff(block, prepend=-1)).tolist(), block.size]
        entries = [
            slice(start, start + size)
            for start, size in zip(document.starts.tolist(), document.sizes.tolist(), strict=True)
        ]
        for begin, end in pairwise(bounds):
            documents, held = (
                np.concatenate([column[each] for each in entries[begin:end]])
                for column in (self.documents_by_term, by_term)
            )
            np.add.at(
                sums,
                documents.astype(np.int64),
                np.repeat(of_terms[begin:end], document.sizes[begin:end]) * held,
            )

    def get_text(self, row: int) -> str:
        """Return a document as people read it."""
        return self.documents[row].display_text


class CountedPool(NamedTuple):
    """A pool, and the counts of its classes if its documents are labelled."""

    pool: DocumentPool
    table: CountTable
    documents: CountedDocuments


def count_pool(documents: Iterable[Document], analysis: Analysis) -> CountedPool:
    """Read and count documents; raise `UsageError` if there is not one, or none with a word that counts."""
    kept: list[Document] = []

    def labelled() -> Iterator[Document]:
        for document in documents:
            kept.append(document)
            yield document._replace(label=document.label or _NO_CLASS)

    counts = count_labelled_documents(labelled(), analysis, keep_all=True)
    table = counts.table
    counted = counts.documents
    if not table.n_terms:
        raise UsageError(
            "no document of the pool has a word that counts", hint="check --format and --stop-words"
        )
    return CountedPool(
        DocumentPool(kept, analysis, table.vocabulary, counted.matrix, counted.hashes),
        table,
        counted,
    )
