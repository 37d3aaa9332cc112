"""The documents of `nbtext label`, read and counted once, with an index of their counts by term.

With the index, only documents that share a term with a labelled document need an update.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.counts.counting import Analysis, count_labelled_documents
from nbtext.counts.matrix import DocumentTermMatrix, argsort_stable
from nbtext.document_fields import render_document
from nbtext.errors import UsageError
from nbtext.ragged import compute_flat_indices, compute_offsets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.corpus.document import Document
    from nbtext.counts.count_table import CountTable
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.vocabulary import Vocabulary
    from nbtext.type_names import Floats, Ids, Ints, Keys

LOG_COUNT_SCALE = 2**10
"""Log counts are stored as integers in units of 1 / `LOG_COUNT_SCALE`, so that sums are exact."""

BLOCK_ENTRIES = 2**17
"""About how many entries of the matrix `DocumentPool.propagate` updates at once.

Arrays of this size fit into the cache, which halves the time.
"""

_PLACEHOLDER_CLASS = "pool"
"""Label of unlabelled documents while they are counted, because counting needs a label."""


class DocumentNeighbours(NamedTuple):
    """The terms of one document, and the matrix entries of all documents that contain these terms.

    Entries are numbered in the order of `DocumentPool.entries_by_term`, in which each term has a
    range of entries.
    """

    terms: Ids
    """Shape (n_terms,)."""
    log_counts: Ids
    """`DocumentPool.log_counts` of the terms in the document, shape (n_terms,)."""
    starts: Ints
    """Index of the first entry of each term, shape (n_terms,)."""
    sizes: Ints
    """Number of entries of each term, one per document that contains it, shape (n_terms,)."""


@dataclass(frozen=True, eq=False)
class DocumentPool:
    """Documents with their counts. The matrix has an *entry* for each term of each document."""

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
        """Size of the vocabulary, V."""
        return len(self.vocabulary)

    @cached_property
    def rows_by_id(self) -> dict[str, int]:
        """The row of each document by its id. If an id is repeated, the first document counts."""
        return index_rows_by_id(self.documents)

    @cached_property
    def log_counts(self) -> Ids:
        """log(1 + n_jd) of each entry, int32 in units of 1 / `LOG_COUNT_SCALE`, (n_entries,)."""
        log_counts = np.log1p(self.matrix.counts, dtype=np.float64)
        return np.rint(log_counts * LOG_COUNT_SCALE).astype(np.int32)

    @cached_property
    def log_count_sums(self) -> Floats:
        """X_d = Σ_j log(1 + n_jd) of each document, shape (n_docs,)."""
        return self.sum_by_document(self.log_counts.astype(np.int64)) / LOG_COUNT_SCALE

    def find_entries(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the matrix entries of ``rows``, and the position in ``rows`` of each entry's row.

        Both have the shape (number of entries of these rows,).
        """
        sizes = self.matrix.row_sizes[rows]
        entries = compute_flat_indices(self.matrix.offsets[rows], sizes)
        return entries, np.repeat(np.arange(rows.size), sizes)

    def sum_by_document(self, entry_values: Ints) -> Ints:
        """Return the sum of the values of each document's entries, shape (n_docs,)."""
        running_sums = compute_offsets(entry_values)  # from 0
        return running_sums[self.matrix.offsets[1:]] - running_sums[self.matrix.offsets[:-1]]

    @cached_property
    def entries_by_term(self) -> Ints:
        """Indices of the matrix entries sorted by term, shape (n_entries,)."""
        return argsort_stable(self.matrix.terms.astype(np.int64))

    @cached_property
    def term_offsets(self) -> Ints:
        """Start of each term in `entries_by_term`, and the end, shape (n_terms + 1,)."""
        return compute_offsets(np.bincount(self.matrix.terms, minlength=self.n_terms))

    @cached_property
    def documents_by_term(self) -> Ids:
        """The document of each entry in the order of `entries_by_term`, shape (n_entries,)."""
        return self.matrix.entry_documents.astype(np.int32)[self.entries_by_term]

    def find_neighbours(self, row: int) -> DocumentNeighbours:
        """Return the terms of a document, and the entries of documents that contain them."""
        start, end = self.matrix.offsets[row : row + 2].tolist()
        entries = slice(start, end)
        terms = self.matrix.terms[entries]
        starts = self.term_offsets[terms]
        sizes = self.term_offsets[terms + 1] - starts
        return DocumentNeighbours(terms, self.log_counts[entries], starts, sizes)

    def propagate(
        self, neighbours: DocumentNeighbours, term_changes: Ints, entry_values: Ids, sums: Ints
    ) -> None:
        """Add the changes of a document's terms to the sums of all documents that share a term.

        To the sum of document d, add Σ_j ``term_changes``_j · value_jd. ``term_changes`` has shape
        (n_terms of the document,). ``entry_values`` has shape (n_entries,), in the order of
        `entries_by_term`. ``sums``, of shape (n_docs,), is changed in place.
        """
        sizes = neighbours.sizes
        ends = neighbours.starts + sizes
        term_entries = list(map(slice, neighbours.starts.tolist(), ends.tolist()))
        for start, end in pairwise(_bound_term_blocks(sizes)):
            block_entries = term_entries[start:end]
            documents = np.concatenate(
                [self.documents_by_term[entries] for entries in block_entries]
            )
            values = np.concatenate([entry_values[entries] for entries in block_entries])
            changes = np.repeat(term_changes[start:end], sizes[start:end])
            np.add.at(sums, documents.astype(np.int64), changes * values)

    def get_text(self, row: int) -> str:
        """Return the text and the named fields of a document, as they are shown to people.

        The field without a name is left out: its items are features, not text that people wrote.
        """
        document = self.documents[row]
        named_fields = [(name, content) for name, content in document.fields if name]
        return render_document(document.text, named_fields).decode()


def _bound_term_blocks(sizes: Ints) -> list[int]:
    """Return the bounds of blocks of consecutive terms with about `BLOCK_ENTRIES` entries.

    ``sizes`` are the numbers of entries of the terms. The bounds include 0 and the number of terms.
    """
    blocks = compute_offsets(sizes)[:-1] // BLOCK_ENTRIES  # of each term, ascending
    is_first = np.diff(blocks, prepend=-1) > 0  # the first block is 0
    return [*np.flatnonzero(is_first).tolist(), blocks.size]


def index_rows_by_id(documents: Iterable[Document]) -> dict[str, int]:
    """Return the row of each document by its id. Of documents with equal ids, the first counts."""
    rows_by_id: dict[str, int] = {}
    for row, document in enumerate(documents):
        rows_by_id.setdefault(document.id, row)
    return rows_by_id


class CountedPool(NamedTuple):
    """A pool with the counts that it was made from."""

    pool: DocumentPool
    table: CountTable
    """Counts by class, if the documents are labelled."""
    counted_documents: CountedDocuments


def count_pool(documents: Iterable[Document], analysis: Analysis) -> CountedPool:
    """Read and count documents.

    Raise `UsageError` if there are no documents, or if no document has a word that counts.
    """
    pool_documents = list(documents)
    labelled_documents = (
        document._replace(label=document.label or _PLACEHOLDER_CLASS) for document in pool_documents
    )
    counts = count_labelled_documents(labelled_documents, analysis, keep_all=True)
    table = counts.table
    counted = counts.documents
    if not table.n_terms:
        raise UsageError(
            "no document of the pool has a word that counts", hint="check --format and --stop-words"
        )
    pool = DocumentPool(pool_documents, analysis, table.vocabulary, counted.matrix, counted.hashes)
    return CountedPool(pool, table, counted)
