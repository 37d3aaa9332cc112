"""Counts of documents: as postings, by term, and as a document-term matrix, by document; and its product with weights, which all scores are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.ragged import compute_flat_indices, compute_offsets
from nbtext.text.hashing import pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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


class DocumentTermMatrix(NamedTuple):
    """Counts n_jd of term j in document d as compressed sparse rows, shape (n_docs, n_terms)."""

    offsets: Ints
    """Bounds of each document's entries, shape (n_docs + 1,)."""
    terms: AnyArray
    """Term ids, distinct within a document, shape (n_entries,); int32 or int64."""
    counts: AnyArray
    """Occurrences of the term in the document, at least 1, shape (n_entries,); as ``terms``. Features in place of counts may have several columns."""
    unknown_tokens: Ints
    """Occurrences of terms that are not in the vocabulary, shape (n_docs,)."""
    values: Floats | None = None
    """Numbers beside the texts, shape (n_docs, n_columns), nan if missing; None if the corpus has none."""
    unseen_pseudo_counts: Floats | None = None
    """Pseudo-counts of possible categories that no training document has, shape (n_docs, n_categorical), nan for all others; None if there are none."""

    @classmethod
    def empty(cls) -> DocumentTermMatrix:
        """Return a matrix of no documents."""
        nothing = np.empty(0, np.int64)
        return cls(np.zeros(1, np.int64), nothing, nothing, nothing)

    @property
    def n_documents(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    @property
    def row_sizes(self) -> Ints:
        """Number of distinct known terms of each document, shape (n_docs,)."""
        return np.diff(self.offsets)

    @property
    def row_sums(self) -> Floats:
        """Sum of the counts, which may be weights, of each document, shape (n_docs,)."""
        if self.counts.dtype.kind == "i":
            return self.known_tokens.astype(np.float64)
        return np.bincount(self.entry_documents, self.counts, self.n_documents).astype(np.float64)

    @property
    def known_tokens(self) -> Ints:
        """Number of known tokens of each document, shape (n_docs,)."""
        found = np.zeros(self.n_documents, np.int64)
        filled = np.flatnonzero(self.row_sizes)
        found[filled] = np.add.reduceat(self.counts, self.offsets.take(filled), dtype=np.int64)
        return found

    @property
    def tokens(self) -> Ints:
        """Number of all tokens, known and unknown, and of values beside the text of each document, shape (n_docs,)."""
        never_seen = (
            0
            if self.unseen_pseudo_counts is None
            else np.count_nonzero(~np.isnan(self.unseen_pseudo_counts), axis=1)
        )
        return self.known_tokens + self.unknown_tokens + self.n_values + never_seen

    @property
    def n_values(self) -> Ints:
        """Number of numbers beside the text of each document, shape (n_docs,)."""
        return (
            np.zeros(self.n_documents, np.int64)
            if self.values is None
            else np.count_nonzero(~np.isnan(self.values), axis=1)
        )

    @property
    def entry_documents(self) -> Ints:
        """The document of each entry, shape (n_entries,)."""
        return np.repeat(np.arange(self.n_documents), self.row_sizes)

    def take(self, chosen: Ints) -> DocumentTermMatrix:
        """Return some of the documents, by number, in the order given."""
        sizes = self.row_sizes[chosen]
        entries = compute_flat_indices(self.offsets[chosen], sizes)
        values, never_seen = (
            each if each is None else each[chosen]
            for each in (self.values, self.unseen_pseudo_counts)
        )
        return DocumentTermMatrix(
            compute_offsets(sizes),
            self.terms[entries],
            self.counts[entries],
            self.unknown_tokens[chosen],
            values,
            never_seen,
        )

    def sort_entries(self) -> DocumentTermMatrix:
        """Return the matrix with each document's entries sorted by term."""
        order = np.argsort(pair(self.entry_documents, self.terms))
        return self._replace(terms=self.terms[order], counts=self.counts[order])

    def select_entries(self, kept: Mask) -> DocumentTermMatrix:
        """Return the matrix with some of its entries; ``kept`` is a mask of shape (n_entries,)."""
        if kept.all():
            return self
        places = np.flatnonzero(kept)
        counts = self.counts.take(places, axis=0)
        return self._replace(
            offsets=np.searchsorted(places, self.offsets),
            terms=self.terms.take(places),
            counts=counts,
        )

    def select_terms(self, chosen: Mask) -> DocumentTermMatrix:
        """Return the matrix with the entries of some terms; ``chosen`` is a mask of shape (n_terms,)."""
        return self.select_entries(chosen.take(self.terms))


def stack_matrices(matrices: Sequence[DocumentTermMatrix]) -> DocumentTermMatrix:
    """Return the documents of several matrices over the same vocabulary, one after the other."""
    if not matrices:
        return DocumentTermMatrix.empty()
    values = [matrix.values for matrix in matrices if matrix.values is not None]
    columns = (
        (matrix.row_sizes, matrix.terms, matrix.counts, matrix.unknown_tokens)
        for matrix in matrices
    )
    entries, terms, counts, unknown = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    return DocumentTermMatrix(
        compute_offsets(entries), terms, counts, unknown, np.concatenate(values) if values else None
    )


class Postings(NamedTuple):
    """Counts n_jd of term j in document d that are not zero; postings of a term stand together, by document.

    So neighbouring documents of a class add to a cell together, and a block takes one sort of numbers, term above document.
    """

    terms: AnyInts
    """Term ids, shape (n_postings,)."""
    documents: AnyInts
    """Numbers of documents, shape (n_postings,)."""
    counts: Ints
    """Occurrences of the term in the document, at least 1, shape (n_postings,)."""
    unknown_tokens: Ints
    """As in `DocumentTermMatrix`."""
    values: Floats | None = None
    """As in `DocumentTermMatrix`."""
    encoded_lines: Ints | None = None
    """Encoded lines dropped from each document, shape (n_docs,); None if none were looked for."""

    @classmethod
    def from_sequence(cls, sequence: TermSequence, n_documents: int) -> Postings:
        """Count the terms of each document of a block."""
        documents, terms = sequence
        unknown = np.zeros(n_documents, np.int64)
        if terms.min(initial=0) < 0:
            unknown = np.bincount(documents.compress(terms < 0), minlength=n_documents)
            documents = documents.compress(terms >= 0)
            terms = terms.compress(terms >= 0)
        keys = _packed(terms, documents, n_documents)
        keys.sort()
        begins = find_run_starts(keys)
        return cls(
            *_unpacked(keys.take(begins), n_documents), np.diff(begins, append=keys.size), unknown
        )

    @classmethod
    def sum(cls, parts: Iterable[Postings]) -> Postings:
        """Add counts of parts of the same documents, at least one part; the result is that of `of` on the whole.

        Takes memory for about twice the sum.
        """
        remaining = iter(parts)
        total = next(remaining)
        waiting = list[Postings]()
        for part in remaining:
            waiting.append(part)
            if sum(postings.terms.size for postings in waiting) > total.terms.size:
                total = cls._added([total, *waiting])
                waiting = []
        return cls._added([total, *waiting]) if waiting else total

    @classmethod
    def _added(cls, parts: Sequence[Postings]) -> Postings:
        terms, documents, counts = (
            np.concatenate(columns) for columns in zip(*(part[:3] for part in parts), strict=True)
        )
        keys = _packed(terms, documents, parts[0].unknown_tokens.size)
        order = np.argsort(keys)
        keys = keys.take(order)
        begins = find_run_starts(keys)
        unknown = np.sum([part.unknown_tokens for part in parts], axis=0)
        return cls(
            *_unpacked(keys.take(begins), unknown.size),
            np.add.reduceat(counts.take(order), begins),
            unknown,
        )

    def merge_terms(self, other: Postings) -> Postings:
        """Return the postings of both; they are of the same documents and have no term in common. All else is that of these."""
        if not other.terms.size:
            return self._replace(unknown_tokens=self.unknown_tokens + other.unknown_tokens)
        terms, documents, counts = (
            np.concatenate(both) for both in zip(self[:3], other[:3], strict=True)
        )
        return self._replace(
            terms=terms,
            documents=documents,
            counts=counts,
            unknown_tokens=self.unknown_tokens + other.unknown_tokens,
        )

    def select_documents(self, chosen: Mask) -> Postings:
        """Return the postings of some documents, renumbered; ``chosen`` is a mask of shape (n_docs,)."""
        kept = np.flatnonzero(chosen.take(self.documents))
        documents = (np.cumsum(chosen) - 1).take(self.documents.take(kept))
        values = None if self.values is None else self.values[chosen]
        return Postings(
            self.terms.take(kept),
            documents,
            self.counts.take(kept),
            self.unknown_tokens[chosen],
            values,
        )

    def to_matrix(self) -> DocumentTermMatrix:
        """Return the counts by document, within each in the order of the postings."""
        order = argsort_stable(self.documents)
        sizes = np.bincount(self.documents, minlength=self.unknown_tokens.size)
        return DocumentTermMatrix(
            compute_offsets(sizes),
            self.terms.take(order),
            self.counts.take(order),
            self.unknown_tokens,
            self.values,
        )


def _packed(terms: AnyInts, documents: AnyInts, n_documents: int) -> AnyInts:
    """Return numbers that are ordered as the pairs (term, document), shape (n,); of 32 bits where these are enough: numpy sorts them faster.

    Sorting numbers takes 2 to 4 nanoseconds each where numpy has vector instructions for it (AVX2, AVX-512, NEON), a radix sort of places 7.
    """
    shift = n_documents.bit_length()
    narrow = int(terms.max(initial=0)) < 1 << (32 - shift)
    keys: AnyInts = terms.astype(np.uint32 if narrow else np.uint64)
    keys <<= keys.dtype.type(shift)
    keys |= documents.astype(keys.dtype)
    return keys


def _unpacked(keys: AnyInts, n_documents: int) -> tuple[AnyInts, AnyInts]:
    """Return the terms and documents of packed keys, shapes (n,), as signed numbers of as many bits as the keys."""
    shift = n_documents.bit_length()
    signed = np.dtype(f"i{keys.itemsize}")
    return (keys >> keys.dtype.type(shift)).view(signed), (
        keys & keys.dtype.type((1 << shift) - 1)
    ).view(signed)


def find_run_starts(*columns: Array) -> Ints:
    """Return the starts of runs of equal rows; the columns have shape (n,)."""
    differs = np.ones(columns[0].size, np.bool_)
    np.not_equal(columns[0][1:], columns[0][:-1], out=differs[1:])
    for column in columns[1:]:
        differs[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(differs)


def argsort_stable(numbers: AnyInts) -> Ints:
    """Return the stable order of numbers below 2**32, shape (n,): sort by their lower, then their upper 16 bits, which numpy does by radix.

    Four to eight nanoseconds a number, against fifty for a sort by comparison.
    """
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    upper = (numbers >> 16).astype(np.uint16)
    return order.take(np.argsort(upper.take(order), kind="stable")) if upper.any() else order


MAX_BLOCK_TERM_WEIGHTS = 1 << 18
"""Term-by-class weights in memory at once while scoring: 2 MiB, which the C library keeps for the next ones; larger arrays it gets anew, cleared."""

MAX_BLOCK_PRODUCTS = 1 << 17
"""Products of counts and weights added up at once: 1 MiB, which fits into the processor's cache."""


MAX_LOOPED_ROWS = 8
"""Rows of so many classes that at most this many are added up at once are added whole: ``reduceat`` goes class by class, and adds up to 8 in this order."""


def add_weighted_sums(
    scores: Floats, matrix: DocumentTermMatrix, n_terms: int, weights: TermFunction
) -> None:
    """Add Σ_j n_jd w_jk to the scores, shape (n_docs, n_classes).

    ``weights`` returns w of some terms, shape (n, n_classes); it is called once for each distinct term, with up to `MAX_BLOCK_TERM_WEIGHTS`
    weights at a time.
    """
    distinct, entry_term = _distinct(matrix.terms, n_terms)
    documents = matrix.entry_documents
    step = max(MAX_BLOCK_TERM_WEIGHTS // scores.shape[1], 1)
    for begin in range(0, distinct.size, step):
        part = weights(distinct[begin : begin + step])
        here = (
            slice(None)
            if distinct.size <= step
            else np.flatnonzero((entry_term >= begin) & (entry_term < begin + step))
        )
        _add_products(scores, documents[here], entry_term[here] - begin, matrix.counts[here], part)


def add_cell_sums(
    scores: Floats, matrix: DocumentTermMatrix, bounds: Ints, classes: Ints, weights: Floats
) -> None:
    """Add Σ_j n_jd w_jk to the scores, shape (n_docs, n_classes), of weights that are 0 but in cells.

    Those of term j are ``[bounds[j], bounds[j + 1])`` of ``classes``, distinct within a term, and of ``weights``, both of shape (n_cells,).
    """
    columns = (
        matrix.entry_documents,
        matrix.counts,
        bounds[matrix.terms],
        bounds[matrix.terms + 1],
    )
    for document, count, begin, end in zip(*(column.tolist() for column in columns), strict=True):
        np.add.at(scores[document], classes[begin:end], count * weights[begin:end])


def _distinct(terms: Ints, n_terms: int) -> tuple[Ints, Ints]:
    """Return the distinct terms, ascending, and the place of each term among them."""
    if (
        terms.size * 16 < n_terms
    ):  # few tokens and a large vocabulary: sorting is cheaper than an array of all terms
        return np.unique(terms, return_inverse=True)
    held = np.zeros(n_terms, np.bool_)
    held[terms] = True
    distinct = np.flatnonzero(held)
    place = np.empty(n_terms, np.int64)  # read only where it was written
    place[distinct] = np.arange(distinct.size)
    return distinct, place.take(terms)


def _add_products(
    scores: Floats,
    documents: Ints,
    terms: Ints,
    counts: Numbers,
    weights: Floats,
) -> None:
    """Add to each document's scores its counts times the weights of its terms; entries are sorted by document."""
    step = max(MAX_BLOCK_PRODUCTS // scores.shape[1], 1)
    for begin in range(0, documents.size, step):
        part = slice(begin, begin + step)
        products = weights.take(terms[part], axis=0)
        products *= counts[part, np.newaxis]
        rows = documents[part]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        if step > MAX_LOOPED_ROWS:
            scores[rows[starts]] += np.add.reduceat(products, starts, axis=0)
            continue
        for row, first, end in zip(
            rows[starts].tolist(), starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True
        ):
            rest = products[first + 1 : end]
            scores[row] += (
                products[first] + np.add.reduce(rest, axis=0) if len(rest) else products[first]
            )


def iter_blocks(numbers: Ints, n_columns: int, cells: int) -> Iterator[Ints]:
    """Yield the numbers in consecutive blocks: a table with a row for each and ``n_columns`` columns has at most ``cells`` cells, or one row."""
    step = max(cells // max(n_columns, 1), 1)
    return (numbers[begin : begin + step] for begin in range(0, numbers.size, step))
