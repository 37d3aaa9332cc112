"""Split raw UTF-8 bytes into surface forms, and map each form to an integer id.

This is the hot path of counting, so it works on whole arrays. A surface form is a maximal run of at
least two bytes that are ASCII letters (in lower case), digits, apostrophes or bytes from 0x80 on.
`nbtext.text.analyzer` then analyses each distinct form as Unicode, once.

An unspaced run is a run of letters of scripts without spaces: Han, Kana, Thai, Lao, Khmer, Myanmar.
Digits, punctuation and other scripts end a run. On request, the form that contains a run is split:
the run becomes a form, or each pair of adjacent characters, as in search engines (J. Nie, J. Gao,
J. Zhang, M. Zhou, On the use of words and n-grams for Chinese information retrieval, 2000). A
character is a letter with the marks after it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category

import numpy as np

from nbtext.ragged import TEXT_SEPARATOR, TextBlock, compute_flat_indices
from nbtext.text.hashing import KeyTable, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.type_names import Ids, Ints, Keys, Mask, Octets

WORD_BYTES = 8
"""Number of bytes in a 64-bit machine word. They are compared at once."""

MAX_INTERNED_BYTES = 32
"""Maximum size of a form with an id of its own. Longer forms are rare."""

LONG_FORM_ID = 0
"""The id of all forms longer than `MAX_INTERNED_BYTES`."""

_FIRST_FIELD_ID = 2**31 - 1
"""Id of field 0 in a pair (field, form). Field n has this id − n, far above the ids of forms."""

SURFACE_FORM = re.compile(rb"[0-9A-Za-z'\x80-\xff]+")
"""A surface form as it appears in a text, or a single byte of a form, which is ignored."""

_STOPS = re.compile(rb"\xe3\x80[\x81\x82]|\xef\xbc[\x81\x8c\x9f]")
"""Commas and full stops of Chinese and Japanese."""

SEPARATORS = re.compile(rb"[^0-9A-Za-z'\x80-\xff]|%s" % _STOPS.pattern)
"""A place to cut a text: a byte that is not part of a form, or one of `_STOPS`."""

STOP_DELIMITED_FORM = re.compile(
    rb"(?:[0-9A-Za-z']|(?!%s)[\xc2-\xf4][\x80-\xbf]+)+" % _STOPS.pattern
)
"""A surface form of valid UTF-8 if `_STOPS` end a form too."""

_SEPARATOR = 0
"""Byte instead of all bytes that are not part of a form."""

FORM_SEPARATOR = " "
"""Joins forms. No form contains it."""

PAIRS = "pairs"
"""Each pair of adjacent characters of an unspaced run is a form."""
RUNS = "runs"
"""Each unspaced run is a form."""
WORDS = "words"
"""Unspaced runs are not split from the form that contains them."""

FOLDED_WORD_BYTES = bytes(
    byte if SURFACE_FORM.match(bytes((byte,))) else _SEPARATOR for byte in range(256)
).lower()
"""Table for `bytes.translate`: bytes of word forms in lower case, zeros for all other bytes."""

ITEM_BYTES = bytes(_SEPARATOR if byte == ord(FORM_SEPARATOR) else byte for byte in range(256))
"""Table for `bytes.translate`: bytes of items unchanged, zeros for the spaces between items."""

_PADDING = bytes(MAX_INTERNED_BYTES + 2 * WORD_BYTES)
"""Zeros at the end of a text, which `_load_words` may read."""
_LOWER_BYTES = np.array([(1 << 8 * n) - 1 for n in range(WORD_BYTES + 1)], np.uint64)
"""Masks of the lower n bytes of a machine word, by n."""


class Surfaces(NamedTuple):
    """The surface forms of a block of documents, in order.

    Form i is ``text[starts[i] : starts[i] + lengths[i]]`` in document ``documents[i]``. All arrays
    have the shape (n_forms,).
    """

    text: bytes
    starts: Ints
    lengths: Ints
    documents: Ids

    def decode_forms(self, positions: Ints) -> list[str]:
        """Return the forms at some positions."""
        starts = self.starts.take(positions)
        lengths = self.lengths.take(positions)
        if lengths.max(initial=0) > MAX_INTERNED_BYTES:
            # for long forms, an array of the indices of all bytes would take too much memory
            bounds = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
            return [self.text[start:end].decode() for start, end in bounds]
        # take the byte after each form too, and overwrite it by a separator
        sizes = lengths + 1
        octets = np.frombuffer(self.text, np.uint8).take(compute_flat_indices(starts, sizes))
        octets[np.cumsum(sizes) - 1] = ord(FORM_SEPARATOR)
        return octets.tobytes().decode().split(FORM_SEPARATOR)[:-1]


def find_surfaces(
    texts: Sequence[bytes],
    unspaced: str = WORDS,
    *,
    has_run: bool | None = None,
    are_items: bool = False,
) -> Surfaces:
    """Return the surface forms of documents.

    - ``unspaced`` is `PAIRS`, `RUNS` or `WORDS`, and determines how unspaced runs are split.
    - ``has_run``: if True, return only forms that contain an unspaced run, and at least one text
      must contain a run. If False, return only forms without a run. In both cases, `_STOPS` end a
      form too. If None, return all forms.
    - ``are_items``: if True, the forms are all items between spaces, without changes.
    """
    block = TextBlock.from_texts(texts)
    table = ITEM_BYTES if are_items else FOLDED_WORD_BYTES
    folded = b"".join((TEXT_SEPARATOR, block.joined, _PADDING)).translate(table)
    is_inside_form = np.frombuffer(folded, np.uint8) != _SEPARATOR
    splits_runs = unspaced != WORDS
    runs = None
    if splits_runs or has_run is not None:
        runs = find_unspaced_runs(folded)
    if runs is not None and has_run is not None:
        _end_forms_at_stops(is_inside_form, folded)
        is_inside_form &= _is_in_run_form(is_inside_form, runs.starts) == has_run
    if runs is not None and splits_runs:
        is_inside_form &= _is_outside_runs(runs, is_inside_form.size)
    if not are_items:  # a word has at least two bytes
        has_neighbour = is_inside_form[2:] | is_inside_form[:-2]
        is_inside_form[1:-1] &= has_neighbour

    starts, ends = _find_bounds(is_inside_form)
    if runs is not None and splits_runs:
        split_starts, split_ends = runs.pair_bounds if unspaced == PAIRS else runs.run_bounds
        starts = np.concatenate((starts, split_starts))
        ends = np.concatenate((ends, split_ends))
        order = np.argsort(starts, kind="stable")
        starts = starts.take(order)
        ends = ends.take(order)

    # the separator before the texts shifts all positions by one
    text_ends = block.ends - block.starts[:1] + len(TEXT_SEPARATOR)
    form_bounds = np.searchsorted(starts, text_ends)
    documents = np.repeat(np.arange(len(block), dtype=np.int32), np.diff(form_bounds, prepend=0))
    return Surfaces(folded, starts, ends - starts, documents)


def _find_bounds(is_inside_form: Mask) -> tuple[Ints, Ints]:
    """Return start and end of each form, given a mask of bytes whose first element is False."""
    is_edge = np.empty(is_inside_form.size, np.bool_)
    is_edge[0] = False
    np.not_equal(is_inside_form[1:], is_inside_form[:-1], out=is_edge[1:])
    edges = np.flatnonzero(is_edge)  # starts and ends in turn
    return edges[0::2].copy(), edges[1::2]  # the copy lets `edges` be freed


def _is_outside_runs(runs: UnspacedRuns, n_bytes: int) -> Mask:
    """Return a mask of the bytes that are not part of runs, shape (n_bytes,)."""
    changes = np.zeros(n_bytes, np.int8)  # of the number of runs around a byte
    starts, ends = runs.run_bounds
    changes[starts] = 1
    changes[ends] = -1
    return np.cumsum(changes, dtype=np.int8) == 0


def _end_forms_at_stops(is_inside_form: Mask, folded: bytes) -> None:
    """Set ``is_inside_form`` to False for the bytes of `_STOPS`, in place."""
    raw = np.frombuffer(folded, np.uint8)
    for lead, second, third_bytes in (
        (0xE3, 0x80, (0x81, 0x82)),
        (0xEF, 0xBC, (0x81, 0x8C, 0x9F)),
    ):
        candidates = np.flatnonzero(raw[:-2] == lead)
        is_stop = (raw[candidates + 1] == second) & np.isin(raw[candidates + 2], third_bytes)
        stops = candidates[is_stop]
        for offset in range(3):
            is_inside_form[stops + offset] = False


def _is_in_run_form(is_inside_form: Mask, run_characters: Ints) -> Mask:
    """Return for each byte whether its form contains a character of a run, shape (n_bytes,).

    ``run_characters`` are the starts of these characters.
    """
    starts = np.flatnonzero(is_inside_form[1:] & ~is_inside_form[:-1]) + 1
    # Element 0 is for the bytes before the first form. The bytes after a form belong to the form.
    has_run = np.zeros(starts.size + 1, np.bool_)
    has_run[np.searchsorted(starts, run_characters, "right")] = True
    sizes = np.diff(starts, prepend=0, append=is_inside_form.size)
    return np.repeat(has_run, sizes)


class SurfaceTable:
    """Exact ids of surface forms.

    A form of up to eight bytes is its own key. A longer form is a chain of pairs (id of the prefix,
    id of the next eight bytes). A form in a field is a pair (field, form).
    """

    def __init__(self) -> None:
        self._words = KeyTable(bits=14)
        """Forms of up to eight bytes, and parts of longer forms, as machine words."""
        self._pairs = KeyTable(bits=12)

    @property
    def id_limit(self) -> int:
        """A number above all ids so far."""
        return 2 * max(len(self._words), len(self._pairs)) + 2

    def intern(self, surfaces: Surfaces) -> Ids:
        """Return the id of each form, shape (n_forms,), and add new forms.

        Ids of forms of up to eight bytes are even, ids of longer forms are odd. Forms longer than
        `MAX_INTERNED_BYTES` have the id `LONG_FORM_ID`.
        """
        text, starts, lengths, _ = surfaces
        ids = 2 * self._words.intern(_load_words(text, starts, lengths))
        unfinished = np.flatnonzero(lengths > WORD_BYTES)
        for n_interned in range(WORD_BYTES, MAX_INTERNED_BYTES, WORD_BYTES):
            if not unfinished.size:
                break
            remaining = lengths.take(unfinished) - n_interned
            words = _load_words(text, starts.take(unfinished) + n_interned, remaining)
            pairs = pair(ids.take(unfinished), self._words.intern(words))
            ids[unfinished] = 2 * self._pairs.intern(pairs) + 1
            unfinished = unfinished.compress(remaining > WORD_BYTES)
        ids[unfinished] = LONG_FORM_ID
        return ids

    def intern_in_fields(self, form_ids: Ids, fields: Ints) -> Ids:
        """Return the id of each form in its field, shape (n_forms,).

        ``form_ids`` are results of `intern`, and ``fields`` are the numbers of the fields. The new
        ids are odd, or `LONG_FORM_ID`.
        """
        ids = 2 * self._pairs.intern(pair(_FIRST_FIELD_ID - fields, form_ids)) + 1
        ids[form_ids == LONG_FORM_ID] = LONG_FORM_ID
        return ids


def _load_words(text: bytes, starts: Ints, lengths: Ints) -> Keys:
    """Return up to eight bytes from each start as a machine word, shape (n,).

    The first byte is the lowest byte of the word. Bytes beyond the length are zeros.
    """
    # A view of the machine word at each byte. Here indexing does not copy the view, as `take` does.
    n_words = len(text) - WORD_BYTES + 1
    word_at_byte = np.ndarray((n_words,), "<u8", text, strides=(1,))
    words: Keys = word_at_byte[starts]
    words &= _LOWER_BYTES.take(lengths, mode="clip")
    return words


_LETTERS = (
    # Han
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFA6D), (0xFA70, 0xFAD9),
    # Kana
    (0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF),
    (0x31F0, 0x31FF), (0xFF66, 0xFF9D),
)  # fmt: skip
"""First and last code points of letters and letter-like numbers up to U+FFFF."""

_MARKS = ((0x302A, 0x302F), (0x3099, 0x309A), (0xFF9E, 0xFF9F), (0xFE00, 0xFE0F))
"""First and last code points of marks of tone and voice, and of variation selectors."""

_BLOCKS = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17DF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F))
"""Thai and Lao, Myanmar, Khmer, extensions of Myanmar. Kinds follow from Unicode categories."""

_SARA_AM = (0x0E33, 0x0EB3)
"""Vowel signs of Thai and Lao: letters in Unicode that belong to the previous character.

Source: Unicode Standard Annex #29.
"""

_HIGH_LETTERS = ((0x1AFF0, 0x1B16F), (0x20000, 0x323AF))
"""Kana and Han beyond U+FFFF, including code points that Python's Unicode version may lack."""

_HIGH_SELECTORS = (0xE0100, 0xE01EF)
"""Variation selectors beyond U+FFFF."""

_OTHER, _LETTER, _MARK = range(3)
"""Kinds of characters: a letter or a mark of a script without spaces, or another character."""

_FIRST_LEAD_OF_3_BYTES = 0xE0
_FIRST_LEAD_OF_4_BYTES = 0xF0
"""The smallest first bytes of characters of three and four bytes in UTF-8."""


@cache
def _build_kinds() -> Octets:
    """Return the kind of each code point up to U+FFFF."""
    kinds = np.full(1 << 16, _OTHER, np.uint8)
    for kind, ranges in ((_LETTER, _LETTERS), (_MARK, _MARKS)):
        for first, last in ranges:
            kinds[first : last + 1] = kind
    category_kinds = {"L": _LETTER, "M": _MARK}
    for first, last in _BLOCKS:
        for code in range(first, last + 1):
            kinds[code] = category_kinds.get(category(chr(code))[0], _OTHER)
    kinds[list(_SARA_AM)] = _MARK
    return kinds


class UnspacedRuns(NamedTuple):
    """The characters of unspaced runs, in order, as byte offsets into a text.

    All arrays have the shape (n_characters,).
    """

    starts: Ints
    """Start of each character."""
    ends: Ints
    """End of each character with its marks."""
    is_first: Mask
    """True for the first character of a run."""
    is_last: Mask
    """True for the last character of a run."""

    @property
    def run_bounds(self) -> tuple[Ints, Ints]:
        """Start and end of each run, shapes (n_runs,)."""
        return self.starts[self.is_first], self.ends[self.is_last]

    @property
    def pair_bounds(self) -> tuple[Ints, Ints]:
        """Start and end of each pair of adjacent characters, and of each run of one character."""
        is_single = self.is_first & self.is_last
        starts_pair = ~self.is_last
        next_ends = np.append(self.ends[1:], 0)  # the last element is not used
        ends = np.where(starts_pair, next_ends, self.ends)
        has_form = starts_pair | is_single
        return self.starts[has_form], ends[has_form]


def is_unspaced(word: str) -> bool:
    """Return whether a non-empty word starts with a letter of a script without spaces."""
    return not word[0].isascii() and find_unspaced_runs(word[0].encode()) is not None


def find_texts_with_runs(texts: Sequence[bytes]) -> Ids:
    """Return the ascending indices of texts that have an unspaced run."""
    block = TextBlock.from_texts(texts)
    runs = find_unspaced_runs(block.joined)
    if runs is None:
        return np.empty(0, np.int32)
    indices = np.searchsorted(block.ends - block.starts[0], runs.starts)
    return np.flatnonzero(np.bincount(indices)).astype(np.int32)


def find_unspaced_runs(text: bytes) -> UnspacedRuns | None:
    """Return the unspaced runs in a text in valid UTF-8, or None if there are no runs."""
    raw = np.frombuffer(text, np.uint8)
    # all characters of scripts without spaces have three or four bytes
    if raw.max(initial=0) < _FIRST_LEAD_OF_3_BYTES:
        return None
    starts = np.flatnonzero(raw >= _FIRST_LEAD_OF_3_BYTES)
    kinds = _find_kinds(raw, starts)
    relevant = np.flatnonzero(kinds != _OTHER)
    if not relevant.size:
        return None
    starts = starts[relevant]
    is_letter = kinds[relevant] == _LETTER
    ends = starts + 3 + (raw.take(starts) >= _FIRST_LEAD_OF_4_BYTES)

    # Keep a character if the number of letters has grown since the last gap. This drops marks that
    # follow no letter.
    follows_character = np.append(False, starts[1:] == ends[:-1])
    n_letters = np.cumsum(is_letter)
    n_letters_before = np.where(follows_character, 0, n_letters - is_letter)
    n_letters_before_gap = np.maximum.accumulate(n_letters_before)
    run_characters = np.flatnonzero(n_letters > n_letters_before_gap)
    if not run_characters.size:
        return None
    starts = starts[run_characters]
    ends = ends[run_characters]
    letters = np.flatnonzero(is_letter[run_characters])

    # Join each letter with its marks: the end is the end of the last mark before the next letter.
    next_letters = np.append(letters[1:], run_characters.size)
    starts = starts[letters]
    ends = ends[next_letters - 1]
    is_gap = starts[1:] != ends[:-1]
    return UnspacedRuns(
        starts, ends, is_first=np.append(True, is_gap), is_last=np.append(is_gap, True)
    )


def _find_kinds(raw: Octets, starts: Ints) -> Octets:
    """Return the kinds of characters of three or four bytes, given their starts."""
    first, second, third = (
        raw.take(starts + offset, mode="clip").astype(np.int32) for offset in range(3)
    )
    # in UTF-8, each byte after the first byte has six bits of the code point
    low_codes = (first & 0xF) << 12 | (second & 0x3F) << 6 | third & 0x3F
    kinds: Octets = _build_kinds().take(low_codes)
    high = np.flatnonzero(first >= _FIRST_LEAD_OF_4_BYTES)
    if high.size:
        fourth = raw.take(starts[high] + 3, mode="clip").astype(np.int32)
        codes = (first[high] & 7) << 18 | (second[high] & 0x3F) << 12
        codes |= (third[high] & 0x3F) << 6 | fourth & 0x3F
        distinct, indices = np.unique(codes, return_inverse=True)
        high_kinds = np.array([_find_high_kind(code) for code in distinct.tolist()], np.uint8)
        kinds[high] = high_kinds[indices]
    return kinds


def _find_high_kind(code: int) -> int:
    """Return the kind of a character beyond U+FFFF."""
    if _HIGH_SELECTORS[0] <= code <= _HIGH_SELECTORS[1]:
        return _MARK
    if category(chr(code)) == "Cn":  # not assigned
        return _OTHER
    if any(first <= code <= last for first, last in _HIGH_LETTERS):
        return _LETTER
    return _OTHER
