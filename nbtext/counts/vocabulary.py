"""The vocabulary: terms to ids and back, in sorted arrays, without an object for each term.

Single terms come first, sorted by their UTF-8 bytes. N-grams follow, sorted as pairs of the id of
the (n − 1)-gram before the last term and the id of the last term. So shorter n-grams precede
longer ones.

Control characters, which texts do not contain, mark other kinds of terms. Values of categorical
attributes start with one, so they sort first; language models of texts ignore them. The inflected
words that a model may keep are values of an attribute without a name. Counted stop words end with
a mark, so that they differ from all stems. Terms of runs without spaces end with the mark of their
segmentation if runs are counted in several. Terms of fields start with the field's name and a
colon.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from itertools import count, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from nbtext.counts.matrix import find_run_starts
from nbtext.document_fields import VALUE_SEPARATOR
from nbtext.ragged import compute_flat_indices, compute_offsets, find_sorted
from nbtext.text.analyzer import UNKNOWN_TERM
from nbtext.text.hashing import KeyTable, pair, unpair
from nbtext.text.surface_forms import PAIRS, WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.type_names import Ints, Keys, Mask, Names

BLOCK_TERMS = 1 << 16
"""Terms copied at once. Their indices take 8 bytes of memory for each byte of text."""

COMPARED_BYTES = 16
"""Bytes of a term that are compared as an array. Few terms are longer."""

TERMS_PER_BISECTION = 16
"""Terms in a dictionary whose creation costs as much as one bisection."""

INFLECTED_WORDS_ATTRIBUTE = ""
"""Name of the attribute whose values are inflected words."""

ENCODED_LINES_ATTRIBUTE = "\n"
"""Name of the attribute that counts dropped encoded lines.

Its only value is the empty text. No column can have this name.
"""

_MARK = VALUE_SEPARATOR
"""First character of the terms of categories, last character of the terms of stop words."""

SEGMENTATION_MARKS = {PAIRS: "\x1d", WORDS: "\x1e"}
"""Last character of the terms of runs without spaces, by the segmentation of the runs."""

_FINAL_MARKS = _MARK + "".join(SEGMENTATION_MARKS.values())


def make_category_term(name: str, value: str) -> str:
    """Return the term of a value of a categorical attribute."""
    return f"{_MARK}{name}{_MARK}{value}"


def display_term(term: str) -> str:
    """Return a term without marks; the term of a category becomes ``name=value``."""
    if term.startswith(_MARK):
        return "=".join(term[1:].split(_MARK, 1))
    return term.rstrip(_FINAL_MARKS)


def make_stop_word_term(word: str) -> str:
    """Return the term of a stop word, which differs from the stems of all other words."""
    return word + _MARK


def is_stop_word(vocabulary: Vocabulary) -> Mask:
    """Return a mask of the terms of stop words, shape (n_terms,)."""
    return _has_mark(vocabulary, vocabulary.bounds[1:] - 1, _MARK)


def has_segmentation(vocabulary: Vocabulary, segmentation: str) -> Mask:
    """Return a mask of the terms of one of `SEGMENTATION_MARKS`, shape (n_terms,)."""
    return _has_mark(vocabulary, vocabulary.bounds[1:] - 1, SEGMENTATION_MARKS[segmentation])


def _has_mark(vocabulary: Vocabulary, positions: Ints, mark: str) -> Mask:
    """Return a mask of the terms with a mark, shape (n_terms,).

    ``positions`` are the positions in the text where the mark of each single term would be.
    N-grams have no mark.
    """
    has_mark = np.frombuffer(vocabulary.text, np.uint8)[positions] == ord(mark)
    return np.append(has_mark, np.zeros(vocabulary.ngram_keys.size, np.bool_))


def is_category(vocabulary: Vocabulary) -> Mask:
    """Return a mask of the terms that are categories, shape (n_terms,)."""
    return _has_mark(vocabulary, vocabulary.bounds[:-1], _MARK)


def is_attribute_category(vocabulary: Vocabulary, name: str) -> Mask:
    """Return a mask of the terms that are categories of one attribute, shape (n_terms,)."""
    prefix = make_category_term(name, "")
    mask = np.zeros(len(vocabulary), np.bool_)
    categories = np.flatnonzero(is_category(vocabulary))
    mask[categories] = [
        vocabulary.get_term(term_id).startswith(prefix) for term_id in categories.tolist()
    ]
    return mask


def is_field_term(vocabulary: Vocabulary) -> Mask:
    """Return a mask of the single terms that contain a colon, shape (n_terms,).

    These are the terms of fields; names of counted features may contain a colon too.
    """
    colons = np.flatnonzero(np.frombuffer(vocabulary.text, np.uint8) == ord(":"))
    has_colon = np.zeros(len(vocabulary), np.bool_)
    has_colon[np.searchsorted(vocabulary.bounds, colons, side="right") - 1] = True
    return has_colon & ~is_category(vocabulary)


class Vocabulary:
    """Terms with the ids 0 to n_terms − 1. Immutable.

    ``text`` is the UTF-8 of the single terms, one after the other. ``bounds`` are the start of
    each single term and the end of the last. ``ngram_keys`` are the n-grams as keys of
    `nbtext.text.hashing.pair`.
    """

    def __init__(self, text: bytes, bounds: Ints, ngram_keys: Keys) -> None:
        self.text = text
        self.bounds = bounds
        self.ngram_keys = ngram_keys
        self.n_single_terms = len(bounds) - 1
        self._n_lookups = 0
        self._ids: dict[str, int] | None = None

    @classmethod
    def from_terms(cls, terms: Names) -> Vocabulary:
        """Return a vocabulary of single terms, which must be sorted and distinct."""
        return cls(*_join(terms), np.empty(0, np.uint64))

    def __len__(self) -> int:
        return self.n_single_terms + len(self.ngram_keys)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Vocabulary)
            and self.text == other.text
            and np.array_equal(self.bounds, other.bounds)
            and np.array_equal(self.ngram_keys, other.ngram_keys)
        )

    __hash__ = None  # type: ignore[assignment]

    def get_term(self, term_id: int) -> str:
        """Return the term with an id, the words of an n-gram separated by spaces."""
        ngram = term_id - self.n_single_terms
        if ngram < 0:
            return self._bytes(term_id).decode()
        prefixes, last = unpair(self.ngram_keys[ngram : ngram + 1])
        return f"{self.get_term(int(prefixes[0]))} {self.get_term(int(last[0]))}"

    def list_single_terms(self) -> list[str]:
        """Return all terms that are not n-grams, by id."""
        return [self.text[start:end].decode() for start, end in pairwise(self.bounds.tolist())]

    def find(self, terms: Names) -> list[int]:
        """Return the id of each single term, `UNKNOWN_TERM` for terms not in the vocabulary.

        The first terms are found by bisection, so that loading a model builds no dictionary.
        After many terms, a dictionary is built.
        """
        self._n_lookups += len(terms)
        if self._ids is None and self._n_lookups * TERMS_PER_BISECTION > self.n_single_terms:
            self._ids = {term: term_id for term_id, term in enumerate(self.list_single_terms())}
        if self._ids is not None:
            ids = self._ids
            return [ids.get(term, UNKNOWN_TERM) for term in terms]
        return [self._bisect(term.encode()) for term in terms]

    def find_pairs(self, prefixes: Ints, last: Ints) -> Ints:
        """Return the ids of n-grams, shape (n,), `UNKNOWN_TERM` if not in the vocabulary.

        ``prefixes`` are the ids of the (n − 1)-grams before the last terms, ``last`` the ids of the
        last terms.
        """
        indices = find_sorted(self.ngram_keys, pair(prefixes, last))
        return np.where(indices >= 0, self.n_single_terms + indices, UNKNOWN_TERM)

    def find_terms(self, terms: Sequence[tuple[str, ...]]) -> Ints:
        """Return the id of each term, `UNKNOWN_TERM` if not in the vocabulary, shape (n,).

        A term is the tuple of its single terms.
        """
        ids = np.full(len(terms), UNKNOWN_TERM, np.int64)
        sizes = np.array([len(term) for term in terms], np.int64)
        # not `numpy.unique`, which imports numpy.ma in about ten milliseconds
        for size in sorted({*map(len, terms)}):
            rows = np.flatnonzero(sizes == size)
            single_terms = [single for row in rows.tolist() for single in terms[row]]
            single_ids = np.array(self.find(single_terms), np.int64).reshape(-1, size)
            prefix = single_ids[:, 0]
            for last in single_ids.T[1:]:
                is_known = (prefix != UNKNOWN_TERM) & (last != UNKNOWN_TERM)
                ngrams = np.full(prefix.size, UNKNOWN_TERM, np.int64)
                ngrams[is_known] = self.find_pairs(prefix[is_known], last[is_known])
                prefix = ngrams
            ids[rows] = prefix
        return ids

    def union(self, other: Vocabulary) -> tuple[Vocabulary, Ints, Ints]:
        """Return the union, and the new ids of the terms of both vocabularies.

        The arrays have the shapes (len(self),) and (len(other),).
        """
        text = self.text + other.text
        bounds = np.append(self.bounds, len(self.text) + other.bounds[1:])
        order, is_repeated = argsort_terms(text, bounds)

        # the new ids of all terms of this vocabulary, then of the other one
        ids = np.full(len(self) + len(other), UNKNOWN_TERM, np.int64)
        is_single = np.concatenate(
            [np.arange(len(side)) < side.n_single_terms for side in (self, other)]
        )
        ids[np.flatnonzero(is_single)[order]] = np.cumsum(~is_repeated) - 1

        my_prefixes, my_last = unpair(self.ngram_keys)
        their_prefixes, their_last = unpair(other.ngram_keys)
        prefixes = np.concatenate((my_prefixes, len(self) + their_prefixes))
        last = np.concatenate((my_last, len(self) + their_last))
        ngram_keys = _number_ngrams(ids, np.flatnonzero(~is_single), prefixes, last)
        vocabulary = Vocabulary(*_take_terms(text, bounds, order[~is_repeated]), ngram_keys)
        return vocabulary, ids[: len(self)], ids[len(self) :]

    def restrict(self, selected: Mask) -> Vocabulary:
        """Return the selected terms, a mask of shape (n_terms,), in the same order.

        The mask must include both parts of each selected n-gram.
        """
        if selected.all():
            return self
        single_terms = np.flatnonzero(selected[: self.n_single_terms])
        text, bounds = _take_terms(self.text, self.bounds, single_terms)
        new_ids = np.cumsum(selected) - 1
        prefixes, last = unpair(self.ngram_keys[selected[self.n_single_terms :]])
        return Vocabulary(text, bounds, pair(new_ids[prefixes], new_ids[last]))

    def _bytes(self, term_id: int) -> bytes:
        return self.text[int(self.bounds[term_id]) : int(self.bounds[term_id + 1])]

    def _bisect(self, term: bytes) -> int:
        term_id = bisect_left(range(self.n_single_terms), term, key=self._bytes)
        if term_id < self.n_single_terms and self._bytes(term_id) == term:
            return term_id
        return UNKNOWN_TERM


class GrowingVocabulary:
    """Terms with ids in order of first occurrence: even for single terms, odd for n-grams."""

    def __init__(self) -> None:
        self._ids: defaultdict[str, int] = defaultdict(count(step=2).__next__)
        self._ngrams = KeyTable()

    def find(self, terms: Names) -> list[int]:
        """Return the id of each single term; add new terms."""
        return list(map(self._ids.__getitem__, terms))

    def find_pairs(self, prefixes: Ints, last: Ints) -> Ints:
        """Return the ids of n-grams, given the ids of their parts; add new n-grams."""
        return 2 * self._ngrams.intern(pair(prefixes, last)).astype(np.int64) + 1

    def freeze(self) -> tuple[Vocabulary, Ints]:
        """Return the sorted vocabulary, and its ids by the ids of this vocabulary.

        The array has the shape (highest id + 2,). This vocabulary is emptied.
        """
        terms = list(self._ids)  # the term with id 2n is the n-th
        self._ids.clear()
        text, bounds = _join(terms)
        order, _ = argsort_terms(text, bounds)
        final_ids = np.full(2 * max(len(terms), len(self._ngrams)) + 2, UNKNOWN_TERM, np.int64)
        final_ids[2 * order] = np.arange(len(terms))
        growing_ids = 2 * np.arange(len(self._ngrams)) + 3
        ngram_keys = _number_ngrams(final_ids, growing_ids, *unpair(self._ngrams.keys))
        return Vocabulary(*_take_terms(text, bounds, order), ngram_keys), final_ids


def _number_ngrams(new_ids: Ints, old_ids: Ints, prefixes: Ints, last: Ints) -> Keys:
    """Return the distinct n-grams under new ids, sorted, and write their new ids to ``new_ids``.

    ``new_ids`` are the new ids by the old ones, at first only of single terms. ``old_ids``,
    ``prefixes`` and ``last`` are the old ids of each n-gram and of its two parts.
    """
    blocks = [np.empty(0, np.uint64)]
    next_id = int(new_ids.max(initial=-1)) + 1
    while old_ids.size:  # each round numbers the n-grams whose prefixes have numbers
        is_ready = new_ids[prefixes] != UNKNOWN_TERM
        ready_keys = pair(new_ids[prefixes[is_ready]], new_ids[last[is_ready]])
        keys, ranks = np.unique(ready_keys, return_inverse=True)
        new_ids[old_ids[is_ready]] = next_id + ranks
        blocks.append(keys)
        next_id += keys.size
        old_ids, prefixes, last = (ids[~is_ready] for ids in (old_ids, prefixes, last))
    return np.concatenate(blocks)


def _join(terms: Names) -> tuple[bytes, Ints]:
    """Return the concatenated UTF-8 of the terms, and their bounds."""
    text = "".join(terms)
    encoded = text.encode()
    bounds = compute_offsets(np.fromiter(map(len, terms), np.int64, len(terms)))
    if len(encoded) != len(text):
        is_character_start = (np.frombuffer(encoded, np.uint8) & 0xC0) != 0x80
        bounds = np.append(np.flatnonzero(is_character_start), len(encoded))[bounds]
    return encoded, bounds


def argsort_terms(text: bytes, bounds: Ints) -> tuple[Ints, Mask]:
    """Return the order of terms by their bytes, and a mask of repeated terms in that order.

    A term is repeated if it equals the term before it. Both arrays have the shape (n_terms,).
    Terms are first compared by `COMPARED_BYTES` bytes. Only terms that these do not distinguish
    become Python objects.
    """
    sizes = np.diff(bounds)
    padded = np.frombuffer(text + bytes(COMPARED_BYTES), np.uint8)
    windows = sliding_window_view(padded, COMPARED_BYTES)[bounds[:-1]]
    windows *= np.arange(COMPARED_BYTES) < sizes[:, np.newaxis]
    prefixes = windows.view(f"S{COMPARED_BYTES}").ravel()
    # a stable sort only merges terms that are already in few sorted runs
    order = np.argsort(prefixes, kind="stable")
    prefixes = prefixes.take(order)
    sizes = sizes.take(order)

    is_repeated = np.append(False, prefixes[1:] == prefixes[:-1])[: order.size]
    is_unsure = is_repeated & ((sizes != np.roll(sizes, 1)) | (sizes > COMPARED_BYTES))
    term_runs = np.cumsum(~is_repeated)
    unsure_runs = term_runs[np.flatnonzero(is_unsure)]
    unsure_runs = unsure_runs[find_run_starts(unsure_runs)]
    starts = np.searchsorted(term_runs, unsure_runs, side="left").tolist()
    ends = np.searchsorted(term_runs, unsure_runs, side="right").tolist()
    for start, end in zip(starts, ends, strict=True):
        terms = sorted(
            (text[bounds[index] : bounds[index + 1]], index) for index in order[start:end].tolist()
        )
        order[start:end] = [index for _, index in terms]
        is_repeated[start + 1 : end] = [
            previous == term for (previous, _), (term, _) in pairwise(terms)
        ]
    return order, is_repeated


def _take_terms(text: bytes, bounds: Ints, terms: Ints) -> tuple[bytes, Ints]:
    """Return the text and bounds of some terms, in the order of their indices."""
    octets = np.frombuffer(text, np.uint8)
    sizes = np.diff(bounds)[terms]
    pieces = []
    for start in range(0, terms.size, BLOCK_TERMS):
        block = slice(start, start + BLOCK_TERMS)
        indices = compute_flat_indices(bounds[terms[block]], sizes[block])
        pieces.append(octets.take(indices).tobytes())
    return b"".join(pieces), compute_offsets(sizes)
