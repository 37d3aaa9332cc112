r"""The vocabulary of counts: maps terms to ids and back, without an object for each term.

The ids of single terms come first, sorted by their UTF-8 bytes. The ids of n-grams follow. An
n-gram is stored as a pair: the id of the (n − 1)-gram before its last term, and the id of its last
term. N-grams are sorted by these pairs, so shorter n-grams precede longer ones.

Marks distinguish other single terms from the words of texts, which contain no control characters:

- value of a categorical attribute: U+001F before and after the name, as in ``\x1fcolour\x1fred``.
  An inflected word is a value of the attribute without a name.
- counted stop word: U+001F at the end, as in ``the\x1f``
- part of a run without spaces, if runs are counted in two segmentations: U+001D at the end for one
  segmentation, U+001E for the other
- word or item of a field: the name of the field and a colon at the start, as in ``subject:win``
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from itertools import count, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from nbtext.counts.matrix import find_run_starts, mark_run_starts
from nbtext.document_fields import VALUE_SEPARATOR
from nbtext.ragged import compute_flat_indices, compute_offsets, find_sorted
from nbtext.text.analyzer import UNKNOWN_TERM
from nbtext.text.hashing import KeyTable, pair, unpair
from nbtext.text.surface_forms import PAIRS, WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.type_names import AnyArray, Ints, Keys, Mask, Names

BLOCK_TERMS = 1 << 16
"""Number of terms copied at once. Copying takes 8 bytes of memory for each byte of the terms."""

COMPARED_BYTES = 16
"""Number of first bytes by which terms are sorted in numpy. Few terms are longer."""

KEY_BYTES = 8
"""Number of bytes that are compared as one integer."""

MAX_KEY_OFFSET = 32
"""Number of first bytes that are compared as integers."""

_LAST_BYTES = np.array([(1 << 8 * n_bytes) - 1 for n_bytes in range(KEY_BYTES + 1)], np.uint64)
"""For each number of bytes an integer whose last bytes are 255, and all other bytes 0."""

DICTIONARY_TERMS_PER_BISECTION = 16
"""Number of terms that a dictionary can take in during one bisection."""

INFLECTED_WORDS_ATTRIBUTE = ""
"""Name of the attribute whose values are inflected words."""

ENCODED_LINES_ATTRIBUTE = "\n"
"""Name of the attribute that counts dropped encoded lines.

Its only value is the empty text. No column can have this name.
"""

_MARK = VALUE_SEPARATOR
"""First character of the terms of categories, and last character of the terms of stop words."""

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


def mask_stop_words(vocabulary: Vocabulary) -> Mask:
    """Return a mask of the terms of stop words, shape (n_terms,)."""
    last_bytes = vocabulary.bounds[1:] - 1
    return _mask_marked(vocabulary, last_bytes, _MARK)


def mask_segmentation(vocabulary: Vocabulary, segmentation: str) -> Mask:
    """Return a mask of the terms of one of `SEGMENTATION_MARKS`, shape (n_terms,)."""
    last_bytes = vocabulary.bounds[1:] - 1
    return _mask_marked(vocabulary, last_bytes, SEGMENTATION_MARKS[segmentation])


def _mask_marked(vocabulary: Vocabulary, offsets: Ints, mark: str) -> Mask:
    """Return a mask of the single terms with a mark, shape (n_terms,).

    ``offsets`` are the byte of each single term in ``vocabulary.text`` that may be the mark.
    """
    octets = np.frombuffer(vocabulary.text, np.uint8)
    mask = np.zeros(len(vocabulary), np.bool_)
    mask[: vocabulary.n_single_terms] = octets[offsets] == ord(mark)
    return mask


def mask_categories(vocabulary: Vocabulary) -> Mask:
    """Return a mask of the values of categorical attributes, shape (n_terms,)."""
    first_bytes = vocabulary.bounds[:-1]
    return _mask_marked(vocabulary, first_bytes, _MARK)


def mask_attribute(vocabulary: Vocabulary, name: str) -> Mask:
    """Return a mask of the values of one categorical attribute, shape (n_terms,)."""
    prefix = make_category_term(name, "")
    mask = mask_categories(vocabulary)
    for term_id in np.flatnonzero(mask).tolist():
        mask[term_id] = vocabulary.get_term(term_id).startswith(prefix)
    return mask


def mask_field_terms(vocabulary: Vocabulary) -> Mask:
    """Return a mask of the single terms that contain a colon, shape (n_terms,).

    These are the terms of fields, and counted features whose name contains a colon.
    """
    colon_offsets = np.flatnonzero(np.frombuffer(vocabulary.text, np.uint8) == ord(":"))
    # a colon belongs to the last term that starts at or before its offset
    term_ids = np.searchsorted(vocabulary.bounds, colon_offsets, side="right") - 1
    has_colon = np.zeros(len(vocabulary), np.bool_)
    has_colon[term_ids] = True
    return has_colon & ~mask_categories(vocabulary)


class Vocabulary:
    """Terms with the ids 0 to n_terms − 1.

    ``text`` is the UTF-8 of all single terms in order. ``bounds`` are the byte offsets
    in ``text`` of the start of each single term, and of the end of the last term. ``ngram_keys``
    are the n-grams, sorted, as keys of `nbtext.text.hashing.pair`. Objects are immutable.
    """

    def __init__(self, text: bytes, bounds: Ints, ngram_keys: Keys) -> None:
        self.text = text
        self.bounds = bounds
        self.ngram_keys = ngram_keys
        self.n_single_terms = len(bounds) - 1
        self._n_lookups = 0
        self._ids: dict[str, int] | None = None
        """Id of each single term. `find` creates the dictionary when it pays off."""

    @classmethod
    def from_terms(cls, terms: Names) -> Vocabulary:
        """Return a vocabulary of single terms, which must be sorted and distinct."""
        text, bounds = _join(terms)
        return cls(text, bounds, np.empty(0, np.uint64))

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
        """Return the term with an id. Spaces separate the words of an n-gram."""
        if term_id < self.n_single_terms:
            return self._get_bytes(term_id).decode()
        index = term_id - self.n_single_terms
        [prefix], [last] = unpair(self.ngram_keys[index : index + 1])
        return f"{self.get_term(int(prefix))} {self.get_term(int(last))}"

    def list_single_terms(self) -> list[str]:
        """Return all terms that are not n-grams, by id."""
        return [self.text[start:end].decode() for start, end in pairwise(self.bounds.tolist())]

    def find(self, terms: Names) -> list[int]:
        """Return the id of each single term, `UNKNOWN_TERM` for a term not in the vocabulary.

        Terms are found by bisection, until all bisections have taken about as long as building a
        dictionary. So a command that looks up few terms builds no dictionary.
        """
        self._n_lookups += len(terms)
        n_affordable_terms = self._n_lookups * DICTIONARY_TERMS_PER_BISECTION
        if self._ids is None and n_affordable_terms > self.n_single_terms:
            self._ids = {term: term_id for term_id, term in enumerate(self.list_single_terms())}
        ids = self._ids
        if ids is None:
            return [self._bisect(term.encode()) for term in terms]
        return [ids.get(term, UNKNOWN_TERM) for term in terms]

    def find_pairs(self, prefixes: Ints, last_terms: Ints) -> Ints:
        """Return the ids of n-grams, shape (n,), `UNKNOWN_TERM` if not in the vocabulary.

        ``prefixes`` are the ids of the (n − 1)-grams before the last terms. If either part of an
        n-gram is `UNKNOWN_TERM`, the n-gram is not in the vocabulary.
        """
        indices = find_sorted(self.ngram_keys, pair(prefixes, last_terms))
        return np.where(indices >= 0, self.n_single_terms + indices, UNKNOWN_TERM)

    def find_terms(self, terms: Sequence[tuple[str, ...]]) -> Ints:
        """Return the id of each term, `UNKNOWN_TERM` if not in the vocabulary, shape (n,).

        A term is the tuple of its single terms, at least one.
        """
        ids = np.array(self.find([term[0] for term in terms]), np.int64)
        max_size = max(map(len, terms), default=0)
        # round n replaces the ids of n-grams by the ids of longer n-grams
        for index in range(1, max_size):
            rows = np.array([row for row, term in enumerate(terms) if len(term) > index])
            last_terms = np.array(self.find([terms[row][index] for row in rows.tolist()]))
            ids[rows] = self.find_pairs(ids[rows], last_terms)
        return ids

    def union(self, other: Vocabulary) -> tuple[Vocabulary, Ints, Ints]:
        """Return the union, and the new ids of the terms of both vocabularies.

        The arrays of new ids have the shapes (len(self),) and (len(other),).
        """
        text = self.text + other.text
        bounds = np.append(self.bounds, len(self.text) + other.bounds[1:])
        order, is_repeated = argsort_terms(text, bounds)

        # Joint ids are the ids of this vocabulary, and the ids of the other vocabulary + `shift`.
        shift = len(self)
        is_single = np.zeros(shift + len(other), np.bool_)
        is_single[: self.n_single_terms] = True
        is_single[shift : shift + other.n_single_terms] = True
        joint_single_ids = np.flatnonzero(is_single)
        joint_ngram_ids = np.flatnonzero(~is_single)
        new_ids = np.full(is_single.size, UNKNOWN_TERM, np.int64)
        new_ids[joint_single_ids[order]] = np.cumsum(~is_repeated) - 1

        my_prefixes, my_last_terms = unpair(self.ngram_keys)
        their_prefixes, their_last_terms = unpair(other.ngram_keys)
        prefixes = np.concatenate((my_prefixes, shift + their_prefixes))
        last_terms = np.concatenate((my_last_terms, shift + their_last_terms))
        ngram_keys = _number_ngrams(new_ids, joint_ngram_ids, prefixes, last_terms)
        text, bounds = _take_terms(text, bounds, order[~is_repeated])
        return Vocabulary(text, bounds, ngram_keys), new_ids[:shift], new_ids[shift:]

    def restrict(self, selected: Mask) -> Vocabulary:
        """Return the vocabulary of the selected terms, in the same order.

        ``selected`` is a mask of shape (n_terms,). It must include both parts of each selected
        n-gram, see `nbtext.counts.corpus_counts.include_ngram_parts`.
        """
        if selected.all():
            return self
        single_terms = np.flatnonzero(selected[: self.n_single_terms])
        text, bounds = _take_terms(self.text, self.bounds, single_terms)
        new_ids = np.cumsum(selected) - 1
        prefixes, last_terms = unpair(self.ngram_keys[selected[self.n_single_terms :]])
        return Vocabulary(text, bounds, pair(new_ids[prefixes], new_ids[last_terms]))

    def _get_bytes(self, term_id: int) -> bytes:
        return self.text[int(self.bounds[term_id]) : int(self.bounds[term_id + 1])]

    def _bisect(self, term: bytes) -> int:
        term_id = bisect_left(range(self.n_single_terms), term, key=self._get_bytes)
        if term_id < self.n_single_terms and self._get_bytes(term_id) == term:
            return term_id
        return UNKNOWN_TERM


class GrowingVocabulary:
    """A vocabulary to which terms are added.

    The ids follow the order of first occurrence. Single terms have the ids 0, 2, 4, …. N-grams have
    the ids 3, 5, 7, …, because their `KeyTable` counts from 1.
    """

    def __init__(self) -> None:
        # a look-up of a new term adds the term with the next even id
        self._ids: defaultdict[str, int] = defaultdict(count(step=2).__next__)
        self._ngrams = KeyTable()

    def intern(self, terms: Names) -> list[int]:
        """Return the id of each single term, and add new terms."""
        return list(map(self._ids.__getitem__, terms))

    def intern_pairs(self, prefixes: Ints, last_terms: Ints) -> Ints:
        """Return the ids of n-grams, given the ids of their parts, and add new n-grams."""
        numbers = self._ngrams.intern(pair(prefixes, last_terms))
        return 2 * numbers.astype(np.int64) + 1

    def freeze(self) -> tuple[Vocabulary, Ints]:
        """Return the sorted vocabulary, and its ids by the ids of this vocabulary.

        The array of ids has `UNKNOWN_TERM` at indices that are not ids. This vocabulary cannot be
        used again: it is emptied.
        """
        terms = list(self._ids)
        self._ids.clear()
        text, bounds = _join(terms)
        order, _ = argsort_terms(text, bounds)
        old_ngram_ids = 2 * np.arange(1, len(self._ngrams) + 1) + 1
        prefixes, last_terms = unpair(self._ngrams.keys)

        n_ids = 2 * max(len(terms), len(self._ngrams) + 1)
        new_ids = np.full(n_ids, UNKNOWN_TERM, np.int64)
        new_ids[2 * order] = np.arange(len(terms))
        ngram_keys = _number_ngrams(new_ids, old_ngram_ids, prefixes, last_terms)
        text, bounds = _take_terms(text, bounds, order)
        return Vocabulary(text, bounds, ngram_keys), new_ids


def _number_ngrams(new_ids: Ints, old_ids: Ints, prefixes: Ints, last_terms: Ints) -> Keys:
    """Write the new ids of n-grams to ``new_ids`` in place, and return their new keys, sorted.

    ``new_ids`` are indexed by old ids, and at first have only single terms. ``old_ids``,
    ``prefixes`` and ``last_terms`` are the old ids of each n-gram and of its two parts. Equal
    n-grams get the same new id.
    """
    blocks = [np.empty(0, np.uint64)]
    next_id = int(new_ids.max(initial=-1)) + 1
    # Round n numbers the (n + 1)-grams. The loop ends, because each prefix is a term too.
    while old_ids.size:
        new_prefixes = new_ids[prefixes]
        has_prefix = new_prefixes != UNKNOWN_TERM
        round_keys = pair(new_prefixes[has_prefix], new_ids[last_terms[has_prefix]])
        keys, ranks = np.unique(round_keys, return_inverse=True)
        new_ids[old_ids[has_prefix]] = next_id + ranks
        blocks.append(keys)
        next_id += keys.size
        old_ids = old_ids[~has_prefix]
        prefixes = prefixes[~has_prefix]
        last_terms = last_terms[~has_prefix]
    return np.concatenate(blocks)


def _join(terms: Names) -> tuple[bytes, Ints]:
    """Return the concatenated UTF-8 of the terms, and their bounds in bytes."""
    text = "".join(terms)
    encoded = text.encode()
    char_bounds = compute_offsets(np.fromiter(map(len, terms), np.int64, len(terms)))
    if len(encoded) == len(text):
        return encoded, char_bounds  # each character is one byte
    # bytes 10xxxxxx continue a character
    is_char_start = (np.frombuffer(encoded, np.uint8) & 0b1100_0000) != 0b1000_0000
    char_starts = np.append(np.flatnonzero(is_char_start), len(encoded))
    return encoded, char_starts[char_bounds]


def argsort_terms(text: bytes, bounds: Ints) -> tuple[Ints, Mask]:
    """Return the order of terms by their bytes, and a mask of repeated terms in that order.

    A term is repeated if it equals the previous term. Both arrays have the shape (n_terms,).
    Terms are first compared by `COMPARED_BYTES` bytes. Only terms with the same first bytes may
    become Python objects.
    """
    first_bytes = _take_first_bytes(text, bounds)
    # the terms of a union are two sorted sequences, which a stable sort merges quickly
    order = np.argsort(first_bytes, kind="stable")
    sizes = np.diff(bounds).take(order)

    is_repeated = ~mark_run_starts(first_bytes.take(order))
    has_other_size = sizes != np.roll(sizes, 1)  # than the previous term
    is_unsure = is_repeated & (has_other_size | (sizes > COMPARED_BYTES))
    # terms with the same first bytes have the same group number
    groups = np.cumsum(~is_repeated)
    unsure_groups = groups[np.flatnonzero(is_unsure)]
    unsure_groups = unsure_groups[find_run_starts(unsure_groups)]
    starts = np.searchsorted(groups, unsure_groups, side="left").tolist()
    ends = np.searchsorted(groups, unsure_groups, side="right").tolist()
    for start, end in zip(starts, ends, strict=True):
        indices = order[start:end].tolist()
        # for equal terms, the order is by index, like in a stable sort
        terms = sorted((text[bounds[index] : bounds[index + 1]], index) for index in indices)
        order[start:end] = [index for _, index in terms]
        is_repeated[start + 1 : end] = [
            previous == term for (previous, _), (term, _) in pairwise(terms)
        ]
    return order, is_repeated


def are_sorted_terms(text: bytes, bounds: Ints) -> bool:
    """Return whether terms are distinct and sorted by their bytes.

    Neighbours are compared as integers of `KEY_BYTES` bytes, and become Python objects only if
    their first `MAX_KEY_OFFSET` bytes are equal.
    """
    padded_text = text + bytes(KEY_BYTES)
    # One key starts at each byte, so keys overlap.
    text_keys = np.ndarray(len(text) + 1, f">u{KEY_BYTES}", padded_text, strides=(1,))
    first_terms = np.arange(bounds.size - 2)
    for offset in range(0, MAX_KEY_OFFSET, KEY_BYTES):
        first_keys = _take_keys(text_keys, bounds, first_terms, offset)
        second_keys = _take_keys(text_keys, bounds, first_terms + 1, offset)
        if np.any(first_keys > second_keys):
            return False
        first_terms = first_terms[first_keys == second_keys]

    edges = bounds[np.add.outer(first_terms, np.arange(3))].tolist()
    return all(text[start:middle] < text[middle:end] for start, middle, end in edges)


def _take_keys(text_keys: AnyArray, bounds: Ints, terms: Ints, offset: int) -> Keys:
    """Return the bytes of some terms from ``offset`` on as integers, 0 after their end, (n,)."""
    starts = bounds[terms] + offset
    ends = bounds[terms + 1]
    n_missing_bytes = np.clip(KEY_BYTES - (ends - starts), 0, KEY_BYTES).astype(np.uint64)
    keys = text_keys[np.minimum(starts, ends)].astype(np.uint64)
    return keys & ~_LAST_BYTES[n_missing_bytes]


def _take_first_bytes(text: bytes, bounds: Ints) -> NDArray[np.bytes_]:
    """Return the first `COMPARED_BYTES` bytes of each term, shorter terms padded by NUL."""
    padded_text = np.frombuffer(text + bytes(COMPARED_BYTES), np.uint8)
    octets = sliding_window_view(padded_text, COMPARED_BYTES)[bounds[:-1]]  # a copy
    sizes = np.diff(bounds)
    is_after_term = np.arange(COMPARED_BYTES) >= sizes[:, np.newaxis]
    octets[is_after_term] = 0
    return octets.view(f"S{COMPARED_BYTES}").ravel()


def _take_terms(text: bytes, bounds: Ints, terms: Ints) -> tuple[bytes, Ints]:
    """Return the text and the bounds of some terms, given their indices, in the same order."""
    octets = np.frombuffer(text, np.uint8)
    sizes = np.diff(bounds)[terms]
    pieces = []
    for start in range(0, terms.size, BLOCK_TERMS):
        block = slice(start, start + BLOCK_TERMS)
        indices = compute_flat_indices(bounds[terms[block]], sizes[block])
        pieces.append(octets.take(indices).tobytes())
    return b"".join(pieces), compute_offsets(sizes)
