"""Counts of terms in documents: postings, ordered by term, and matrices, ordered by document.

`Postings` are the result of counting, from which count tables are built. `DocumentTermMatrix` is
their form for scoring: `add_weighted_sums` multiplies it by the weights of a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from nbtext.ragged import compute_flat_indices, compute_offsets
from nbtext.text.hashing import pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from nbtext.text.analyzer import TermSequence
    from nbtext.type_names import (
        AnyArray,
        AnyInts,
        Array,
        Floats,
        Ints,
        Mask,
        Numbers,
        TermFunction,
    )


Number = TypeVar("Number", bound="np.integer | np.floating | np.bool_")


class DocumentTermMatrix(NamedTuple):
    """Counts n_jd of term j in document d as compressed sparse rows, shape (n_docs, n_terms)."""

    offsets: Ints
    """Bounds of each document's entries, shape (n_docs + 1,)."""
    terms: AnyArray
    """Term ids, distinct within a document, shape (n_entries,); int32 or int64."""
    counts: AnyArray
    """Occurrences of the term in the document, at least 1, shape (n_entries,); int32 or int64.

    Features instead of counts are floats, and may have several columns.
    """
    unknown_tokens: Ints
    """Number of tokens that are not in the vocabulary, shape (n_docs,)."""
    values: Floats | None = None
    """Numeric attributes, shape (n_docs, n_columns), nan if missing; None if there are none."""
    unseen_pseudo_counts: Floats | None = None
    """Pseudo-count of each category that no training document has, nan for other categories.

    Shape (n_docs, n_categorical). None if training documents have all categories of the matrix.
    """

    @classmethod
    def empty(cls) -> DocumentTermMatrix:
        """Return a matrix of no documents."""
        no_entries = np.empty(0, np.int64)
        return cls(np.zeros(1, np.int64), no_entries, no_entries, no_entries)

    @property
    def n_documents(self) -> int:
        """Number of documents, which are the rows."""
        return len(self.offsets) - 1

    @property
    def row_sizes(self) -> Ints:
        """Number of distinct known terms of each document, shape (n_docs,)."""
        return np.diff(self.offsets)

    @property
    def row_sums(self) -> Floats:
        """Sum of the counts or weights of each document, shape (n_docs,)."""
        if self.counts.dtype.kind == "i":  # integers
            return self.known_tokens.astype(np.float64)
        return np.bincount(self.entry_documents, self.counts, self.n_documents).astype(np.float64)

    @property
    def known_tokens(self) -> Ints:
        """Number of tokens in the vocabulary of each document, shape (n_docs,)."""
        tokens = np.zeros(self.n_documents, np.int64)
        filled_rows = np.flatnonzero(self.row_sizes)  # `reduceat` cannot sum empty rows
        starts = self.offsets.take(filled_rows)
        tokens[filled_rows] = np.add.reduceat(self.counts, starts, dtype=np.int64)
        return tokens

    @property
    def tokens(self) -> Ints:
        """Number of tokens and attribute values of each document, known or not, shape (n_docs,)."""
        tokens = self.known_tokens + self.unknown_tokens + self.n_values
        if self.unseen_pseudo_counts is None:
            return tokens
        return tokens + np.count_nonzero(~np.isnan(self.unseen_pseudo_counts), axis=1)

    @property
    def n_values(self) -> Ints:
        """Number of numeric attributes that each document has, shape (n_docs,)."""
        if self.values is None:
            return np.zeros(self.n_documents, np.int64)
        return np.count_nonzero(~np.isnan(self.values), axis=1)

    @property
    def entry_documents(self) -> Ints:
        """Document of each entry, shape (n_entries,)."""
        return np.repeat(np.arange(self.n_documents), self.row_sizes)

    def take(self, rows: Ints) -> DocumentTermMatrix:
        """Return some documents, given their row numbers, in this order."""
        sizes = self.row_sizes[rows]
        entries = compute_flat_indices(self.offsets[rows], sizes)
        return DocumentTermMatrix(
            compute_offsets(sizes),
            self.terms[entries],
            self.counts[entries],
            self.unknown_tokens[rows],
            take_rows(self.values, rows),
            take_rows(self.unseen_pseudo_counts, rows),
        )

    def sort_entries(self) -> DocumentTermMatrix:
        """Return the matrix with each document's entries sorted by term."""
        order = np.argsort(pair(self.entry_documents, self.terms))
        return self._replace(terms=self.terms[order], counts=self.counts[order])

    def select_entries(self, selected: Mask) -> DocumentTermMatrix:
        """Return the matrix with only the selected entries, a mask of shape (n_entries,)."""
        if selected.all():
            return self
        entries = np.flatnonzero(selected)
        return self._replace(
            offsets=np.searchsorted(entries, self.offsets),
            terms=self.terms.take(entries),
            counts=self.counts.take(entries, axis=0),
        )

    def select_terms(self, selected: Mask) -> DocumentTermMatrix:
        """Return the matrix with only the selected terms, a mask of shape (n_terms,)."""
        return self.select_entries(selected.take(self.terms))


def stack_matrices(matrices: Sequence[DocumentTermMatrix]) -> DocumentTermMatrix:
    """Return the documents of one or more matrices over the same vocabulary in one matrix.

    Either all matrices have numeric attributes, or none has. Pseudo-counts of unseen categories are
    dropped.
    """
    sizes = np.concatenate([matrix.row_sizes for matrix in matrices])
    values = [matrix.values for matrix in matrices if matrix.values is not None]
    return DocumentTermMatrix(
        compute_offsets(sizes),
        np.concatenate([matrix.terms for matrix in matrices]),
        np.concatenate([matrix.counts for matrix in matrices]),
        np.concatenate([matrix.unknown_tokens for matrix in matrices]),
        np.concatenate(values) if values else None,
    )


def take_rows(array: NDArray[Number] | None, rows: Ints | Mask) -> NDArray[Number] | None:
    """Return some rows of an array, or None if the array is None."""
    if array is None:
        return None
    return array[rows]


class Postings(NamedTuple):
    """Counts n_jd of term j in document d that are not zero, ordered by term, then document."""

    terms: AnyInts
    """Term ids, shape (n_postings,)."""
    documents: AnyInts
    """Document numbers, shape (n_postings,)."""
    counts: Ints
    """Occurrences of the term in the document, at least 1, shape (n_postings,)."""
    unknown_tokens: Ints
    """Number of tokens that are not in the vocabulary, shape (n_docs,)."""
    values: Floats | None = None
    """Numeric attributes, shape (n_docs, n_columns), nan if missing; None if there are none."""
    encoded_lines: Ints | None = None
    """Encoded lines dropped from each document, shape (n_docs,); None if they are kept."""

    @classmethod
    def from_sequence(cls, sequence: TermSequence, n_documents: int) -> Postings:
        """Count the terms of each document of a block."""
        documents, terms = sequence
        unknown_tokens = np.zeros(n_documents, np.int64)
        has_unknown_terms = (terms < 0).any()  # their id is −1
        if has_unknown_terms:
            is_known = terms >= 0
            unknown_tokens = np.bincount(documents.compress(~is_known), minlength=n_documents)
            documents = documents.compress(is_known)
            terms = terms.compress(is_known)
        keys = _pack(terms, documents, n_documents)
        keys.sort()
        starts = find_run_starts(keys)
        terms, documents = _unpack(keys.take(starts), n_documents)
        counts = np.diff(starts, append=keys.size)
        return cls(terms, documents, counts, unknown_tokens)

    @classmethod
    def sum(cls, pieces: Iterable[Postings]) -> Postings:
        """Return the sum of one or more postings of the same documents, without attributes.

        The postings of the pieces of a sequence add up to `from_sequence` of the whole sequence.
        """
        remaining = iter(pieces)
        total = next(remaining)
        # An addition sorts all postings, so pieces wait until they have more than the total.
        pending = list[Postings]()
        for piece in remaining:
            pending.append(piece)
            n_pending = sum(postings.terms.size for postings in pending)
            if n_pending > total.terms.size:
                total = cls._sum_at_once([total, *pending])
                pending = []
        if pending:
            total = cls._sum_at_once([total, *pending])
        return total

    @classmethod
    def _sum_at_once(cls, pieces: Sequence[Postings]) -> Postings:
        terms = np.concatenate([piece.terms for piece in pieces])
        documents = np.concatenate([piece.documents for piece in pieces])
        counts = np.concatenate([piece.counts for piece in pieces])
        unknown_tokens = np.sum([piece.unknown_tokens for piece in pieces], axis=0)
        n_documents = unknown_tokens.size
        keys = _pack(terms, documents, n_documents)
        order = np.argsort(keys)
        keys = keys.take(order)
        starts = find_run_starts(keys)
        counts = np.add.reduceat(counts.take(order), starts)
        return cls(*_unpack(keys.take(starts), n_documents), counts, unknown_tokens)

    def merge_terms(self, other: Postings) -> Postings:
        """Return the postings of both objects, which have the same documents and different terms.

        The result has the attributes and encoded lines of ``self``. Its postings are not sorted.
        """
        unknown_tokens = self.unknown_tokens + other.unknown_tokens
        if not other.terms.size:
            return self._replace(unknown_tokens=unknown_tokens)
        return self._replace(
            terms=np.concatenate((self.terms, other.terms)),
            documents=np.concatenate((self.documents, other.documents)),
            counts=np.concatenate((self.counts, other.counts)),
            unknown_tokens=unknown_tokens,
        )

    def select_documents(self, selected: Mask) -> Postings:
        """Return the postings of the selected documents, numbered from 0.

        ``selected`` is a mask of shape (n_docs,). The result has no encoded lines.
        """
        postings = np.flatnonzero(selected.take(self.documents))
        new_numbers = np.cumsum(selected) - 1
        return Postings(
            self.terms.take(postings),
            new_numbers.take(self.documents.take(postings)),
            self.counts.take(postings),
            self.unknown_tokens[selected],
            take_rows(self.values, selected),
        )

    def to_matrix(self) -> DocumentTermMatrix:
        """Return the matrix. The entries of a document are in the order of the postings."""
        order = argsort_stable(self.documents)
        sizes = np.bincount(self.documents, minlength=self.unknown_tokens.size)
        return DocumentTermMatrix(
            compute_offsets(sizes),
            self.terms.take(order),
            self.counts.take(order),
            self.unknown_tokens,
            self.values,
        )


def _pack(terms: AnyInts, documents: AnyInts, n_documents: int) -> AnyInts:
    """Pack pairs (term, document) into integers that sort in the same order, shape (n,).

    The document is in the lower bits. The integers have 32 bits if all pairs fit, else 64 bits:
    numpy sorts shorter integers faster.
    """
    document_bits = n_documents.bit_length()
    dtype: type[np.uint32 | np.uint64] = np.uint64
    if int(terms.max(initial=0)).bit_length() + document_bits <= 32:
        dtype = np.uint32
    keys: AnyInts = terms.astype(dtype)
    keys <<= dtype(document_bits)
    keys |= documents.astype(dtype)
    return keys


def _unpack(keys: AnyInts, n_documents: int) -> tuple[AnyInts, AnyInts]:
    """Return terms and documents of packed keys, as signed integers of the same size."""
    document_bits = n_documents.bit_length()
    to_key = keys.dtype.type
    terms = keys >> to_key(document_bits)
    documents = keys & to_key((1 << document_bits) - 1)
    signed = np.dtype(f"i{keys.itemsize}")
    return terms.view(signed), documents.view(signed)


def find_run_starts(*columns: Array) -> Ints:
    """Return the index of the first row of each run of equal rows of a table.

    The columns of the table have the shape (n_rows,).
    """
    return np.flatnonzero(mark_run_starts(*columns))


def mark_run_starts(*columns: Array) -> Mask:
    """Return a mask of the rows that differ from the row before, and of row 0, shape (n_rows,)."""
    is_start = np.zeros(columns[0].size, np.bool_)
    is_start[:1] = True
    for column in columns:
        is_start[1:] |= column[1:] != column[:-1]
    return is_start


def argsort_stable(numbers: AnyInts) -> Ints:
    """Return the stable order of numbers from 0 to 2**32 − 1, shape (n,).

    Sort by the lower 16 bits, then by the upper 16 bits. For 16 bits, numpy uses a radix sort,
    which is about ten times as fast as a sort by comparison.
    """
    lower = numbers.astype(np.uint16)
    order = np.argsort(lower, kind="stable")
    upper = (numbers >> 16).astype(np.uint16)
    if upper.any():
        order = order.take(np.argsort(upper.take(order), kind="stable"))
    return order


MAX_BLOCK_TERM_WEIGHTS = 1 << 18
"""Number of term-by-class weights that are in memory at once while scoring: 2 MiB.

The C library reuses the memory of arrays up to this size. It requests the memory of a larger array
from the operating system, which clears it.
"""

MAX_BLOCK_PRODUCTS = 1 << 17
"""Number of products of counts and weights that are summed at once: 1 MiB, which fits the cache."""

MAX_LOOPED_ENTRIES = 8
"""Largest number of entries in a block whose products are summed in a loop over documents.

For more entries, ``reduceat`` is faster. For up to 8 entries of a document, both add the products
in the same order.
"""

MIN_TERMS_PER_SORTED_ENTRY = 16
"""Number of terms per entry above which sorting is cheaper than an array of all terms."""


def add_weighted_sums(
    scores: Floats, matrix: DocumentTermMatrix, n_terms: int, compute_weights: TermFunction
) -> None:
    """Add Σ_j n_jd w_jk to ``scores`` in place, shape (n_docs, n_classes).

    ``compute_weights`` returns w of some terms, shape (n, n_classes). It is called once for each
    distinct term, for up to `MAX_BLOCK_TERM_WEIGHTS` weights at a time.
    """
    distinct_terms, term_indices = _find_distinct(matrix.terms, n_terms)
    documents = matrix.entry_documents
    step = max(MAX_BLOCK_TERM_WEIGHTS // scores.shape[1], 1)
    for start in range(0, distinct_terms.size, step):
        weights = compute_weights(distinct_terms[start : start + step])
        entries: slice | Ints = slice(None)
        has_several_blocks = distinct_terms.size > step
        if has_several_blocks:
            is_in_block = (term_indices >= start) & (term_indices < start + step)
            entries = np.flatnonzero(is_in_block)
        _add_products(
            scores,
            documents[entries],
            term_indices[entries] - start,
            matrix.counts[entries],
            weights,
        )


def add_cell_sums(
    scores: Floats, matrix: DocumentTermMatrix, offsets: Ints, classes: Ints, weights: Floats
) -> None:
    """Add Σ_j n_jd w_jk to ``scores`` in place, shape (n_docs, n_classes); most w_jk are 0.

    The weights of term j that are not 0 are ``weights[offsets[j] : offsets[j + 1]]``. The same
    slice of ``classes`` has their classes, which are distinct. Both arrays have the shape
    (n_cells,).
    """
    entries = zip(
        matrix.entry_documents.tolist(),
        matrix.counts.tolist(),
        offsets[matrix.terms].tolist(),
        offsets[matrix.terms + 1].tolist(),
        strict=True,
    )
    for document, count, start, end in entries:
        np.add.at(scores[document], classes[start:end], count * weights[start:end])


def _find_distinct(terms: Ints, n_terms: int) -> tuple[Ints, Ints]:
    """Return the distinct terms, ascending, and for each term its index in the distinct terms."""
    if terms.size < n_terms / MIN_TERMS_PER_SORTED_ENTRY:
        return np.unique(terms, return_inverse=True)
    occurs = np.zeros(n_terms, np.bool_)
    occurs[terms] = True
    distinct = np.flatnonzero(occurs)
    indices = np.empty(n_terms, np.int64)  # read only where it was written
    indices[distinct] = np.arange(distinct.size)
    return distinct, indices.take(terms)


def _add_products(
    scores: Floats,
    documents: Ints,
    terms: Ints,
    counts: Numbers,
    weights: Floats,
) -> None:
    """Add to the scores of each document, in place, its counts times the weights of its terms.

    ``documents``, ``terms`` and ``counts`` have the shape (n_entries,), sorted by document.
    ``terms`` are rows of ``weights``, shape (n_terms, n_classes).
    """
    step = max(MAX_BLOCK_PRODUCTS // scores.shape[1], 1)
    for block_start in range(0, documents.size, step):
        block = slice(block_start, block_start + step)
        products = weights.take(terms[block], axis=0)
        products *= counts[block, np.newaxis]
        starts = find_run_starts(documents[block])
        distinct_documents = documents[block][starts]
        if step > MAX_LOOPED_ENTRIES:
            scores[distinct_documents] += np.add.reduceat(products, starts, axis=0)
            continue
        ends = np.append(starts[1:], len(products))
        for document, start, end in zip(distinct_documents, starts, ends, strict=True):
            total = products[start]
            if end - start > 1:
                # like `reduceat`, add the sum of all other products to the first product
                total = total + np.add.reduce(products[start + 1 : end], axis=0)
            scores[document] += total


def iter_blocks(numbers: Ints, n_columns: int, max_cells: int) -> Iterator[Ints]:
    """Yield the numbers in consecutive blocks.

    A table with ``n_columns`` columns and a row for each number of a block has at most
    ``max_cells`` cells. Yet a block has at least one number.
    """
    step = max(max_cells // max(n_columns, 1), 1)
    return (numbers[start : start + step] for start in range(0, numbers.size, step))
