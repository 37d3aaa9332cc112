"""Counts of documents: as postings, by term, and as a document-term matrix, by document; and its product with weights, which all scores are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.ragged import flat_indices, offsets
from nbtext.text.hashing import pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.text.analyzer import TermSequence
    from nbtext.type_names import AnyArray, Array, Floats, Integers, Mask, Numbers, OfTerms, Whole


class DocumentTermMatrix(NamedTuple):
    """Counts n_jd of term j in document d as compressed sparse rows, shape (n_docs, n_terms)."""

    offsets: Whole
    """Bounds of each document's entries, shape (n_docs + 1,)."""
    terms: AnyArray
    """Term ids, distinct within a document, shape (n_entries,); int32 or int64."""
    counts: AnyArray
    """Occurrences of the term in the document, at least 1, shape (n_entries,); as ``terms``. Features in place of counts may have several columns."""
    unknown: Whole
    """Occurrences of terms that are not in the vocabulary, shape (n_docs,)."""
    values: Floats | None = None
    """Numbers beside the texts, shape (n_docs, n_columns), nan if missing; None if the corpus has none."""
    never_seen: Floats | None = None
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
    def entries(self) -> Whole:
        """Number of distinct known terms of each document, shape (n_docs,)."""
        return np.diff(self.offsets)

    @property
    def sums(self) -> Floats:
        """Sum of the counts, which may be weights, of each document, shape (n_docs,)."""
        if self.counts.dtype.kind == "i":
            return self.lengths.astype(np.float64)
        return np.bincount(self.entry_documents, self.counts, self.n_documents).astype(np.float64)

    @property
    def lengths(self) -> Whole:
        """Number of known tokens of each document, shape (n_docs,)."""
        found = np.zeros(self.n_documents, np.int64)
        filled = np.flatnonzero(self.entries)
        found[filled] = np.add.reduceat(self.counts, self.offsets.take(filled), dtype=np.int64)
        return found

    @property
    def tokens(self) -> Whole:
        """Number of all tokens, known and unknown, and of values beside the text of each document, shape (n_docs,)."""
        never_seen = (
            0 if self.never_seen is None else np.count_nonzero(~np.isnan(self.never_seen), axis=1)
        )
        return self.lengths + self.unknown + self.numbers + never_seen

    @property
    def numbers(self) -> Whole:
        """Number of numbers beside the text of each document, shape (n_docs,)."""
        return (
            np.zeros(self.n_documents, np.int64)
            if self.values is None
            else np.count_nonzero(~np.isnan(self.values), axis=1)
        )

    @property
    def entry_documents(self) -> Whole:
        """The document of each entry, shape (n_entries,)."""
        return np.repeat(np.arange(self.n_documents), self.entries)

    def rows(self, chosen: Whole) -> DocumentTermMatrix:
        """Return some of the documents, by number, in the order given."""
        sizes = self.entries[chosen]
        entries = flat_indices(self.offsets[chosen], sizes)
        values, never_seen = (
            each if each is None else each[chosen] for each in (self.values, self.never_seen)
        )
        return DocumentTermMatrix(
            offsets(sizes),
            self.terms[entries],
            self.counts[entries],
            self.unknown[chosen],
            values,
            never_seen,
        )

    def sorted(self) -> DocumentTermMatrix:
        """Return the matrix with each document's entries sorted by term."""
        order = np.argsort(pair(self.entry_documents, self.terms))
        return self._replace(terms=self.terms[order], counts=self.counts[order])

    def of_entries(self, kept: Mask) -> DocumentTermMatrix:
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

    def of_terms(self, chosen: Mask) -> DocumentTermMatrix:
        """Return the matrix with the entries of some terms; ``chosen`` is a mask of shape (n_terms,)."""
        return self.of_entries(chosen.take(self.terms))


def stack(matrices: Sequence[DocumentTermMatrix]) -> DocumentTermMatrix:
    """Return the documents of several matrices over the same vocabulary, one after the other."""
    if not matrices:
        return DocumentTermMatrix.empty()
    values = [matrix.values for matrix in matrices if matrix.values is not None]
    columns = ((matrix.entries, matrix.terms, matrix.counts, matrix.unknown) for matrix in matrices)
    entries, terms, counts, unknown = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    return DocumentTermMatrix(
        offsets(entries), terms, counts, unknown, np.concatenate(values) if values else None
    )


class Postings(NamedTuple):
    """Counts n_jd of term j in document d that are not zero; postings of a term stand together, by document.

    So neighbouring documents of a class add to a cell together, and a block takes one sort of numbers, term above document.
    """

    terms: Integers
    """Term ids, shape (n_postings,)."""
    documents: Integers
    """Numbers of documents, shape (n_postings,)."""
    counts: Whole
    """Occurrences of the term in the document, at least 1, shape (n_postings,)."""
    unknown: Whole
    """As in `DocumentTermMatrix`."""
    values: Floats | None = None
    """As in `DocumentTermMatrix`."""
    encoded_lines: Whole | None = None
    """Encoded lines dropped from each document, shape (n_docs,); None if none were looked for."""

    @classmethod
    def of(cls, sequence: TermSequence, n_documents: int) -> Postings:
        """Count the terms of each document of a block."""
        documents, terms = sequence
        unknown = np.zeros(n_documents, np.int64)
        if terms.min(initial=0) < 0:
            unknown = np.bincount(documents.compress(terms < 0), minlength=n_documents)
            documents = documents.compress(terms >= 0)
            terms = terms.compress(terms >= 0)
        keys = _packed(terms, documents, n_documents)
        keys.sort()
        begins = run_starts(keys)
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
        keys = _packed(terms, documents, parts[0].unknown.size)
        order = np.argsort(keys)
        keys = keys.take(order)
        begins = run_starts(keys)
        unknown = np.sum([part.unknown for part in parts], axis=0)
        return cls(
            *_unpacked(keys.take(begins), unknown.size),
            np.add.reduceat(counts.take(order), begins),
            unknown,
        )

    def beside(self, other: Postings) -> Postings:
        """Return the postings of both; they are of the same documents and have no term in common. All else is that of these."""
        if not other.terms.size:
            return self._replace(unknown=self.unknown + other.unknown)
        terms, documents, counts = (
            np.concatenate(both) for both in zip(self[:3], other[:3], strict=True)
        )
        return self._replace(
            terms=terms, documents=documents, counts=counts, unknown=self.unknown + other.unknown
        )

    def of_documents(self, chosen: Mask) -> Postings:
        """Return the postings of some documents, renumbered; ``chosen`` is a mask of shape (n_docs,)."""
        kept = np.flatnonzero(chosen.take(self.documents))
        documents = (np.cumsum(chosen) - 1).take(self.documents.take(kept))
        values = None if self.values is None else self.values[chosen]
        return Postings(
            self.terms.take(kept), documents, self.counts.take(kept), self.unknown[chosen], values
        )

    def matrix(self) -> DocumentTermMatrix:
        """Return the counts by document, within each in the order of the postings."""
        order = stable_order(self.documents)
        sizes = np.bincount(self.documents, minlength=self.unknown.size)
        return DocumentTermMatrix(
            offsets(sizes),
            self.terms.take(order),
            self.counts.take(order),
            self.unknown,
            self.values,
        )


def _packed(terms: Integers, documents: Integers, n_documents: int) -> Integers:
    """Return numbers that are ordered as the pairs (term, document), shape (n,); of 32 bits where these are enough: numpy sorts them faster.

    Sorting numbers takes 2 to 4 nanoseconds each where numpy has vector instructions for it (AVX2, AVX-512, NEON), a radix sort of places 7.
    """
    shift = n_documents.bit_length()
    narrow = int(terms.max(initial=0)) < 1 << (32 - shift)
    keys: Integers = terms.astype(np.uint32 if narrow else np.uint64)
    keys <<= keys.dtype.type(shift)
    keys |= documents.astype(keys.dtype)
    return keys


def _unpacked(keys: Integers, n_documents: int) -> tuple[Integers, Integers]:
    """Return the terms and documents of packed keys, shapes (n,), as signed numbers of as many bits as the keys."""
    shift = n_documents.bit_length()
    signed = np.dtype(f"i{keys.itemsize}")
    return (keys >> keys.dtype.type(shift)).view(signed), (
        keys & keys.dtype.type((1 << shift) - 1)
    ).view(signed)


def run_starts(*columns: Array) -> Whole:
    """Return the starts of runs of equal rows; the columns have shape (n,)."""
    differs = np.ones(columns[0].size, np.bool_)
    np.not_equal(columns[0][1:], columns[0][:-1], out=differs[1:])
    for column in columns[1:]:
        differs[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(differs)


def stable_order(numbers: Integers) -> Whole:
    """Return the stable order of numbers below 2**32, shape (n,): sort by their lower, then their upper 16 bits, which numpy does by radix.

    Four to eight nanoseconds a number, against fifty for a sort by comparison.
    """
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    upper = (numbers >> 16).astype(np.uint16)
    return order.take(np.argsort(upper.take(order), kind="stable")) if upper.any() else order


TERM_WEIGHTS_AT_ONCE = 1 << 18
"""Term-by-class weights in memory at once while scoring: 2 MiB, which the C library keeps for the next ones; larger arrays it gets anew, cleared."""

PRODUCTS_AT_ONCE = 1 << 17
"""Products of counts and weights added up at once: 1 MiB, which fits into the processor's cache."""


FEW_PRODUCTS = 8
"""Rows of so many classes that at most this many are added up at once are added whole: ``reduceat`` goes class by class, and adds up to 8 in this order."""


def add_weighted_sums(
    scores: Floats, matrix: DocumentTermMatrix, n_terms: int, weights: OfTerms
) -> None:
    """Add Σ_j n_jd w_jk to the scores, shape (n_docs, n_classes).

    ``weights`` returns w of some terms, shape (n, n_classes); it is called once for each distinct term, with up to `TERM_WEIGHTS_AT_ONCE`
    weights at a time.
    """
    distinct, entry_term = _distinct(matrix.terms, n_terms)
    documents = matrix.entry_documents
    step = max(TERM_WEIGHTS_AT_ONCE // scores.shape[1], 1)
    for begin in range(0, distinct.size, step):
        part = weights(distinct[begin : begin + step])
        here = (
            slice(None)
            if distinct.size <= step
            else np.flatnonzero((entry_term >= begin) & (entry_term < begin + step))
        )
        _add_products(scores, documents[here], entry_term[here] - begin, matrix.counts[here], part)


def add_cell_sums(
    scores: Floats, matrix: DocumentTermMatrix, bounds: Whole, classes: Whole, weights: Floats
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


def _distinct(terms: Whole, n_terms: int) -> tuple[Whole, Whole]:
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
    documents: Whole,
    terms: Whole,
    counts: Numbers,
    weights: Floats,
) -> None:
    """Add to each document's scores its counts times the weights of its terms; entries are sorted by document."""
    step = max(PRODUCTS_AT_ONCE // scores.shape[1], 1)
    for begin in range(0, documents.size, step):
        part = slice(begin, begin + step)
        products = weights.take(terms[part], axis=0)
        products *= counts[part, np.newaxis]
        rows = documents[part]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        if step > FEW_PRODUCTS:
            scores[rows[starts]] += np.add.reduceat(products, starts, axis=0)
            continue
        for row, first, end in zip(
            rows[starts].tolist(), starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True
        ):
            rest = products[first + 1 : end]
            scores[row] += (
                products[first] + np.add.reduce(rest, axis=0) if len(rest) else products[first]
            )


def in_blocks(numbers: Whole, n_columns: int, cells: int) -> Iterator[Whole]:
    """Yield the numbers in consecutive blocks: a table with a row for each and ``n_columns`` columns has at most ``cells`` cells, or one row."""
    step = max(cells // max(n_columns, 1), 1)
    return (numbers[begin : begin + step] for begin in range(0, numbers.size, step))
