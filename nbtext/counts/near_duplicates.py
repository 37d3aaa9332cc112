"""Exact and near duplicates of test documents in the training corpus, on which a test measures nothing.

Similarity is the Jaccard coefficient of the sets of terms: terms in both / terms in either, however often they occur. Candidate pairs come from
MinHash signatures in bands (A. Broder, On the resemblance and containment of documents, 1997; C. Manning, P. Raghavan, H. Schütze, Introduction
to Information Retrieval, section 19.6); each is then compared exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.ragged import find_sorted, flat_indices
from nbtext.records import NamedTuple
from nbtext.text.hashing import KeyTable, group, pair, unpair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.type_names import Floats, Keys, Mask, Whole

THRESHOLD = 0.8
"""Jaccard coefficient from which two documents are near duplicates. On 20 Newsgroups nearly all pairs from 0.8 on are one text sent
twice; from 0.7 on there are replies that quote most of another, from 0.6 on short posts that share a signature."""

FEWEST_TERMS = 10
"""With fewer distinct terms, only equal documents are duplicates: two questions to a bank easily share four words of five."""

HASHES = 126
"""Hash functions of a signature."""

RECALL = 0.998
"""Least probability that a pair at the threshold is compared."""

FEWEST_ROWS = 4
"""Least number of hash functions in a band: with fewer, too many dissimilar pairs are compared. `RECALL` holds for thresholds from 0.7."""

MOST_IN_BAND = 16
"""Most documents that one is compared with for one band: many similar ones are mostly of one template, of which some are enough."""

ENOUGH_PARTNERS = 16
"""Partners above the threshold after which a document is compared with no more."""

_ENTRIES_AT_ONCE = 1 << 21


class NearDuplicates(NamedTuple):
    """Rows of the test matrix, ascending, with their most similar rows of the training matrix; all of shape (n_found,)."""

    test_rows: Whole
    training_rows: Whole
    """The most similar one; the first of equals."""
    similarities: Floats
    """Jaccard coefficients, from the threshold to 1."""
    exact: Mask
    """True if both have the same counts."""


def near_duplicates(training: DocumentTermMatrix, test: DocumentTermMatrix, threshold: float = THRESHOLD) -> NearDuplicates:
    """Return the documents of ``test`` that have a duplicate in ``training``, over one vocabulary with every term of both.

    All equal documents are found, a pair at ``threshold``, in (0, 1], with probability `RECALL`, none below it. Documents without terms have no
    duplicates. Time grows with the entries of both, not with the pairs of documents.
    """
    values, first = np.unique(_fingerprints(training, counts=True), return_index=True)
    place = find_sorted(values, _fingerprints(test, counts=True))
    equal_test = np.flatnonzero((place >= 0) & (test.entries > 0))
    equal_training = first[place[equal_test]]
    left = test.entries >= FEWEST_TERMS
    left[equal_test] = False
    of_test, of_training = _Sets.of(test, left), _Sets.of(training, training.entries >= FEWEST_TERMS)
    sets, partners, similarity = _best(of_test, of_training, threshold)
    place = find_sorted(sets, of_test.number)
    near_test = np.flatnonzero(place >= 0)
    test_rows = np.concatenate((equal_test, near_test))
    order = np.argsort(test_rows)
    return NearDuplicates(
        test_rows[order],
        np.concatenate((equal_training, of_training.first[partners[place[near_test]]]))[order],
        np.concatenate((np.ones(equal_test.size), similarity[place[near_test]]))[order],
        order < equal_test.size,
    )


def signatures(matrix: DocumentTermMatrix, functions: Whole) -> NDArray[np.uint32]:
    """Return the MinHash of each document: the least hash of its terms by each hash function, shape (n_functions, n_docs).

    Two documents agree in a function with a probability equal to their Jaccard coefficient. Every document must have a term.
    """
    terms = np.arange(int(matrix.terms.max(initial=-1)) + 1)
    least = np.empty((functions.size, matrix.n_documents), np.uint32)
    for row, function in enumerate(functions.tolist()):
        hashes = (_mixed(pair(np.full_like(terms, function), terms)) >> np.uint64(32)).astype(np.uint32)
        least[row] = np.minimum.reduceat(hashes.take(matrix.terms), matrix.offsets[:-1]) if matrix.n_documents else 0
    return least


def jaccard(left: DocumentTermMatrix, right: DocumentTermMatrix, left_rows: Whole, right_rows: Whole) -> Floats:
    """Return terms in both / terms in either for pairs of documents over one vocabulary, shape (n_pairs,); 0 if neither has terms."""
    shared = np.zeros(left_rows.size, np.int64)
    sizes = (left.entries[left_rows], right.entries[right_rows])
    together = sizes[0] + sizes[1]
    entries = np.cumsum(together)
    for chosen in np.split(
        np.arange(together.size), np.searchsorted(entries, np.arange(_ENTRIES_AT_ONCE, together.sum(), _ENTRIES_AT_ONCE))
    ):
        numbers = np.arange(chosen.size)
        keys = [
            pair(np.repeat(numbers, size[chosen]), matrix.terms[flat_indices(matrix.offsets[rows[chosen]], size[chosen])])
            for matrix, rows, size in ((left, left_rows, sizes[0]), (right, right_rows, sizes[1]))
        ]
        joined = np.concatenate(keys)
        places, occurrences = group(joined)
        shared[chosen] = np.bincount(unpair(joined[places[occurrences == 2]])[0], minlength=numbers.size)
    return shared / np.maximum(together - shared, 1)


def rows_of_band(threshold: float) -> int:
    """Return the largest number r of hash functions in each of b = `HASHES` // r bands with 1 − (1 − t^r)^b ≥ `RECALL` at the threshold t.

    That is the probability that a pair agrees in all functions of some band, and so is compared (IIR 19.6; J. Leskovec, A. Rajaraman,
    J. Ullman, Mining of Massive Datasets, section 3.4).
    """
    fitting = [r for r in range(FEWEST_ROWS, HASHES + 1) if 1 - (1 - threshold**r) ** (HASHES // r) >= RECALL]
    return max(fitting, default=FEWEST_ROWS)


class _Sets(NamedTuple):
    """The distinct sets of terms of the documents of a matrix, so that a thousand copies are compared once."""

    matrix: DocumentTermMatrix
    """A document with each set, shape (n_sets, n_terms)."""
    first: Whole
    """The first document with each set, shape (n_sets,)."""
    number: Whole
    """The set of each document, −1 for those that are not compared, shape (n_docs,)."""

    @classmethod
    def of(cls, matrix: DocumentTermMatrix, compared: Mask) -> _Sets:
        documents = np.flatnonzero(compared)
        _, first, inverse = np.unique(_fingerprints(matrix, counts=False)[documents], return_index=True, return_inverse=True)
        number = np.full(matrix.n_documents, -1, np.int64)
        number[documents] = inverse
        return cls(matrix.rows(documents[first]), documents[first], number)


def _best(test: _Sets, training: _Sets, threshold: float) -> tuple[Whole, Whole, Floats]:
    """Return the sets of ``test`` that reach the threshold with one of ``training``, the most similar of these, and its similarity."""
    seen = KeyTable()
    similar, similarities = [np.empty(0, np.uint64)], [np.empty(0)]
    partners = np.zeros(test.first.size, np.int64)
    for in_test, in_training in _agreeing(test.matrix, training.matrix, rows_of_band(threshold)):
        wanting = partners[in_test] < ENOUGH_PARTNERS
        n_seen = len(seen)
        seen.intern(pair(in_test[wanting], in_training[wanting]))
        keys = seen.keys[n_seen:]  # pairs of no earlier band
        similarity = jaccard(test.matrix, training.matrix, *unpair(keys))
        similar.append(keys[similarity >= threshold])
        similarities.append(similarity[similarity >= threshold])
        partners += np.bincount(unpair(similar[-1])[0], minlength=partners.size)
    left, right = unpair(np.concatenate(similar))
    similarity = np.concatenate(similarities)
    order = np.lexsort((training.first[right], -similarity, left))
    best = order[np.diff(left[order], prepend=-1) > 0]
    return left[best], right[best], similarity[best]


def _agreeing(test: DocumentTermMatrix, training: DocumentTermMatrix, rows: int) -> Iterator[tuple[Whole, Whole]]:
    """Yield the pairs of documents that agree in each band.

    Of more than `MOST_IN_BAND` partners, a document gets those nearest in the order of the next band, first those that agree in that
    too (as in M. Bawa, T. Condie, P. Ganesan, LSH Forest, 2005).
    """
    n_bands = HASHES // rows
    bands = [[_band(matrix, number, rows) for number in range(n_bands)] for matrix in (test, training)]
    for number in range(n_bands):
        low, there = (of_band[number] << np.uint64(32) for of_band in bands)
        here, there = (key | of_band[(number + 1) % n_bands] for key, of_band in zip((low, there), bands, strict=True))
        order = np.argsort(there, kind="stable")
        there = there[order]
        begin = np.maximum(np.searchsorted(there, low), np.searchsorted(there, here) - MOST_IN_BAND // 2)
        end = np.searchsorted(there, low | np.uint64(0xFFFFFFFF), side="right")
        sizes = np.minimum(end - begin, MOST_IN_BAND)
        yield np.repeat(np.arange(test.n_documents), sizes), order[flat_indices(begin, sizes)]


def _band(matrix: DocumentTermMatrix, band: int, rows: int) -> Keys:
    """Return 32 bits for each document, shape (n_docs,), equal where all signatures of the band are equal."""
    key = np.zeros(matrix.n_documents, np.uint64)
    for signature in signatures(matrix, band * rows + np.arange(rows)):
        key = _mixed(key ^ signature)
    return key >> np.uint64(32)


def _fingerprints(matrix: DocumentTermMatrix, *, counts: bool) -> Keys:
    """Return 64 bits for each document, shape (n_docs,), of its terms, or also of their counts, in any order."""
    hashes = _mixed(pair(matrix.terms, matrix.counts if counts else np.zeros_like(matrix.terms)))
    running = np.concatenate((np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)))  # modulo 2**64, as are the differences
    return _mixed(running[matrix.offsets[1:]] - running[matrix.offsets[:-1]])


def _mixed(keys: Keys) -> Keys:
    """Scramble 64-bit keys by a bijection, the output function of SplitMix64 (G. Steele, D. Lea, C. Flood, 2014)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
