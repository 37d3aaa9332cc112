"""The vocabulary: terms to ids and back, in sorted arrays, without an object per term.

Single terms come first, sorted by their UTF-8 bytes; n-grams follow, each a pair (id of the (n − 1)-gram before its last term, id of its
last term), sorted as pairs, so that shorter n-grams precede longer ones.

Values of categorical attributes are terms too. They begin with a separator that no text holds, so they come first and are recognised by it;
language models of texts leave them out. Stop words that are counted end with it, so that none equals the stem of another word; terms of words and of pairs that
are counted side by side end with separators of their own. Terms of fields begin with the name of the field and a colon. The inflected words that a model may keep beside their stems are values of an attribute without a name.
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

TERMS_AT_ONCE = 1 << 16
"""Terms copied at once: indexing takes 8 bytes of memory for each byte of text."""

COMPARED_BYTES = 16
"""Bytes of a term that are compared as an array; few terms have more."""

WORTH_A_TABLE = 16
"""Bisecting for one term in so many costs as much as making a table of all."""

INFLECTED_WORDS_ATTRIBUTE = ""
"""Name of the attribute whose values are inflected words."""

ENCODED_LINES_ATTRIBUTE = "\n"
"""Name of the attribute, which no column can have, whose only value, an empty one, counts the encoded lines that were dropped."""

_MARK = VALUE_SEPARATOR
"""First character of the term of a category, last character of that of a stop word."""

SEGMENTATION_MARKS = {PAIRS: "\x1d", WORDS: "\x1e"}
"""Last character of the terms of surface forms with characters of scripts without spaces, where these are counted as pairs and as words."""

_ENDS = _MARK + "".join(SEGMENTATION_MARKS.values())


def make_category_term(name: str, value: str) -> str:
    """Return the term of a value of a categorical attribute."""
    return f"{_MARK}{name}{_MARK}{value}"


def display_term(term: str) -> str:
    """Return a term as people read it: that of a category as ``name=value``, that of a stop word as the word, any other as it is."""
    return "=".join(term[1:].split(_MARK, 1)) if term.startswith(_MARK) else term.rstrip(_ENDS)


def make_stop_word_term(word: str) -> str:
    """Return the term of a stop word, which is no stem of another word."""
    return word + _MARK


def is_stop_word(vocabulary: Vocabulary) -> Mask:
    """Return a mask of the terms of stop words, shape (n_terms,)."""
    return _has_mark(vocabulary, vocabulary.bounds[1:] - 1, _MARK)


def has_segmentation(vocabulary: Vocabulary, side: str) -> Mask:
    """Return a mask of the terms of one of `SEGMENTATION_MARKS`, shape (n_terms,)."""
    return _has_mark(vocabulary, vocabulary.bounds[1:] - 1, SEGMENTATION_MARKS[side])


def _has_mark(vocabulary: Vocabulary, places: Ints, mark: str) -> Mask:
    """Return a mask of the terms that have a mark at their place in the text, shape (n_terms,); n-grams have none."""
    found = np.frombuffer(vocabulary.text, np.uint8)[places] == ord(mark)
    return np.append(found, np.zeros(vocabulary.pairs.size, np.bool_))


def is_category(vocabulary: Vocabulary) -> Mask:
    """Return a mask of the terms that are categories, shape (n_terms,)."""
    return _has_mark(vocabulary, vocabulary.bounds[:-1], _MARK)


def is_attribute_category(vocabulary: Vocabulary, name: str) -> Mask:
    """Return a mask of the terms that are categories of one attribute, shape (n_terms,)."""
    prefix = make_category_term(name, "")
    found = np.zeros(len(vocabulary), np.bool_)
    candidates = np.flatnonzero(is_category(vocabulary))
    found[candidates] = [
        vocabulary.get_term(number).startswith(prefix) for number in candidates.tolist()
    ]
    return found


def is_field_term(vocabulary: Vocabulary) -> Mask:
    """Return a mask of the single terms of fields, which alone hold a colon, shape (n_terms,). Names of counted features may hold one too."""
    colons = np.flatnonzero(np.frombuffer(vocabulary.text, np.uint8) == ord(":"))
    found = np.zeros(len(vocabulary), np.bool_)
    found[np.searchsorted(vocabulary.bounds, colons, side="right") - 1] = True
    return found & ~is_category(vocabulary)


class Vocabulary:
    """Terms with the ids 0 to n_terms − 1. Immutable.

    ``text`` is the UTF-8 of the single terms one after the other, ``bounds`` the places where each begins and the last ends, ``pairs`` the n-grams
    as keys of `nbtext.text.hashing.pair`.
    """

    def __init__(self, text: bytes, bounds: Ints, ngram_keys: Keys) -> None:
        self.text = text
        self.bounds = bounds
        self.pairs = ngram_keys
        self.n_single_terms = len(bounds) - 1
        self._looked_up = 0
        self._ids: dict[str, int] | None = None

    @classmethod
    def from_terms(cls, terms: Names) -> Vocabulary:
        """Return a vocabulary of single terms, given sorted and distinct."""
        return cls(*_joined(terms), np.empty(0, np.uint64))

    def __len__(self) -> int:
        return self.n_single_terms + len(self.pairs)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Vocabulary)
            and self.text == other.text
            and np.array_equal(self.bounds, other.bounds)
            and np.array_equal(self.pairs, other.pairs)
        )

    __hash__ = None  # type: ignore[assignment]

    def get_term(self, number: int) -> str:
        """Return one term, the parts of an n-gram separated by spaces."""
        if number < self.n_single_terms:
            return self._bytes(number).decode()
        left, last = unpair(
            self.pairs[number - self.n_single_terms : number - self.n_single_terms + 1]
        )
        return f"{self.get_term(int(left[0]))} {self.get_term(int(last[0]))}"

    def list_single_terms(self) -> list[str]:
        """Return all terms that are not n-grams, by id."""
        return [self.text[start:end].decode() for start, end in pairwise(self.bounds.tolist())]

    def find(self, terms: Names) -> list[int]:
        """Return the id of each single term, `UNKNOWN` for terms not in the vocabulary.

        Bisect for a few terms, so that loading a model makes no dictionary; make one for many.
        """
        self._looked_up += len(terms)
        if self._ids is None and self._looked_up * WORTH_A_TABLE > self.n_single_terms:
            self._ids = {term: number for number, term in enumerate(self.list_single_terms())}
        if self._ids is not None:
            ids = self._ids
            return [ids.get(term, UNKNOWN_TERM) for term in terms]
        return [self._bisect(term.encode()) for term in terms]

    def find_pairs(self, left: Ints, last: Ints) -> Ints:
        """Return the id of each n-gram, given the ids of its parts; `UNKNOWN` for n-grams not in the vocabulary. Shape (n,)."""
        place = find_sorted(self.pairs, pair(left, last))
        return np.where(place >= 0, self.n_single_terms + place, UNKNOWN_TERM)

    def find_terms(self, terms: Sequence[tuple[str, ...]]) -> Ints:
        """Return the id of each term, given as a tuple of its single terms; `UNKNOWN` for those not in the vocabulary. Shape (n,)."""
        found = np.full(len(terms), UNKNOWN_TERM, np.int64)
        sizes = np.array([len(term) for term in terms], np.int64)
        for size in sorted(
            {*map(len, terms)}
        ):  # `numpy.unique` by itself imports numpy.ma, which takes ten milliseconds
            rows = np.flatnonzero(sizes == size)
            parts = np.array(
                self.find([part for row in rows.tolist() for part in terms[row]]), np.int64
            ).reshape(-1, size)
            prefix = parts[:, 0]
            for last in parts.T[1:]:
                known = (prefix != UNKNOWN_TERM) & (last != UNKNOWN_TERM)
                longer = np.full(prefix.size, UNKNOWN_TERM, np.int64)
                longer[known] = self.find_pairs(prefix[known], last[known])
                prefix = longer
            found[rows] = prefix
        return found

    def union(self, other: Vocabulary) -> tuple[Vocabulary, Ints, Ints]:
        """Return the union, and the new ids of the terms of each vocabulary, shapes (len(self),) and (len(other),)."""
        text = self.text + other.text
        bounds = np.append(self.bounds, len(self.text) + other.bounds[1:])
        order, is_repeated = argsort_terms(text, bounds)
        ids = np.full(
            len(self) + len(other), UNKNOWN_TERM, np.int64
        )  # of all terms of these, then of the other
        is_single = np.concatenate(
            [np.arange(len(side)) < side.n_single_terms for side in (self, other)]
        )
        ids[np.flatnonzero(is_single)[order]] = np.cumsum(~is_repeated) - 1
        parts = (
            np.concatenate(both)
            for both in zip(
                unpair(self.pairs), (len(self) + each for each in unpair(other.pairs)), strict=True
            )
        )
        pairs = _numbered_pairs(ids, np.flatnonzero(~is_single), *parts)
        return (
            Vocabulary(*_rows(text, bounds, order[~is_repeated]), pairs),
            ids[: len(self)],
            ids[len(self) :],
        )

    def restrict(self, kept: Mask) -> Vocabulary:
        """Return the terms with ``kept`` (shape (n_terms,)) true, in the same order. ``kept`` must include the parts of the n-grams in it."""
        if kept.all():
            return self
        text, bounds = _rows(self.text, self.bounds, np.flatnonzero(kept[: self.n_single_terms]))
        new = np.cumsum(kept) - 1
        left, last = unpair(self.pairs[kept[self.n_single_terms :]])
        return Vocabulary(text, bounds, pair(new[left], new[last]))

    def _bytes(self, number: int) -> bytes:
        return self.text[int(self.bounds[number]) : int(self.bounds[number + 1])]

    def _bisect(self, term: bytes) -> int:
        place = bisect_left(range(self.n_single_terms), term, key=self._bytes)
        return place if place < self.n_single_terms and self._bytes(place) == term else UNKNOWN_TERM


class GrowingVocabulary:
    """Terms with ids in order of first occurrence: even ones for single terms, odd ones for n-grams."""

    def __init__(self) -> None:
        self._ids: defaultdict[str, int] = defaultdict(count(step=2).__next__)
        self._pairs = KeyTable()

    def find(self, terms: Names) -> list[int]:
        """Return the id of each single term; add new terms."""
        return list(map(self._ids.__getitem__, terms))

    def find_pairs(self, left: Ints, last: Ints) -> Ints:
        """Return the id of each n-gram, given the ids of its parts; add new n-grams."""
        return 2 * self._pairs.intern(pair(left, last)).astype(np.int64) + 1

    def freeze(self) -> tuple[Vocabulary, Ints]:
        """Return the sorted vocabulary, and the id there of every id here, shape (highest id + 2,). This vocabulary is emptied."""
        terms = list(self._ids)  # the term with id 2n is the n-th
        self._ids.clear()
        text, bounds = _joined(terms)
        order, _ = argsort_terms(text, bounds)
        final = np.full(2 * max(len(terms), len(self._pairs)) + 2, UNKNOWN_TERM, np.int64)
        final[2 * order] = np.arange(len(terms))
        pairs = _numbered_pairs(
            final, 2 * np.arange(len(self._pairs)) + 3, *unpair(self._pairs.keys)
        )
        return Vocabulary(*_rows(text, bounds, order), pairs), final


def _numbered_pairs(ids: Ints, places: Ints, left: Ints, last: Ints) -> Keys:
    """Return distinct n-grams, sorted, given the places in ``ids`` of each and of its parts; write their ids there, after those of single terms."""
    found = [np.empty(0, np.uint64)]
    begin = int(ids.max(initial=-1)) + 1
    while places.size:
        ready = ids[left] != UNKNOWN_TERM
        keys, number = np.unique(pair(ids[left[ready]], ids[last[ready]]), return_inverse=True)
        ids[places[ready]] = begin + number
        found.append(keys)
        begin += keys.size
        places, left, last = (each[~ready] for each in (places, left, last))
    return np.concatenate(found)


def _joined(terms: Names) -> tuple[bytes, Ints]:
    """Return the concatenated UTF-8 of the terms, and their bounds."""
    text = "".join(terms)
    encoded = text.encode()
    bounds = compute_offsets(np.fromiter(map(len, terms), np.int64, len(terms)))
    if len(encoded) != len(text):
        begins_character = (np.frombuffer(encoded, np.uint8) & 0xC0) != 0x80
        bounds = np.append(np.flatnonzero(begins_character), len(encoded))[bounds]
    return encoded, bounds


def argsort_terms(text: bytes, bounds: Ints) -> tuple[Ints, Mask]:
    """Return the order of terms by their bytes, and a mask of those, in that order, that equal the term before; shapes (n_terms,).

    They are compared by their first `COMPARED` bytes; a stable sort only merges terms given in few sorted runs. Only terms that these do not tell
    apart become objects.
    """
    sizes = np.diff(bounds)
    windows = sliding_window_view(
        np.frombuffer(text + bytes(COMPARED_BYTES), np.uint8), COMPARED_BYTES
    )[bounds[:-1]]
    windows *= np.arange(COMPARED_BYTES) < sizes[:, np.newaxis]
    begins = windows.view(f"S{COMPARED_BYTES}").ravel()
    order = np.argsort(begins, kind="stable")
    begins = begins.take(order)
    sizes = sizes.take(order)
    is_alike = np.append(False, begins[1:] == begins[:-1])[: order.size]
    unsure = np.flatnonzero(is_alike & ((sizes != np.roll(sizes, 1)) | (sizes > COMPARED_BYTES)))
    run_of_each = np.cumsum(~is_alike)
    runs = run_of_each[unsure]
    runs = runs[find_run_starts(runs)]
    first, last = (
        np.searchsorted(run_of_each, runs, side=side).tolist() for side in ("left", "right")
    )
    for begin, end in zip(first, last, strict=True):
        terms = sorted(
            (text[bounds[number] : bounds[number + 1]], number)
            for number in order[begin:end].tolist()
        )
        order[begin:end] = [number for _, number in terms]
        is_alike[begin + 1 : end] = [left == right for (left, _), (right, _) in pairwise(terms)]
    return order, is_alike


def _rows(text: bytes, bounds: Ints, chosen: Ints) -> tuple[bytes, Ints]:
    """Return text and bounds of the chosen terms, in the order given."""
    octets = np.frombuffer(text, np.uint8)
    sizes = np.diff(bounds)[chosen]
    parts = (slice(begin, begin + TERMS_AT_ONCE) for begin in range(0, chosen.size, TERMS_AT_ONCE))
    rows = b"".join(
        [
            octets.take(compute_flat_indices(bounds[chosen[part]], sizes[part])).tobytes()
            for part in parts
        ]
    )
    return rows, compute_offsets(sizes)
