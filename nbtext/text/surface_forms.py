"""Raw UTF-8 bytes to ids of surface forms, on whole arrays: the kernel.

A surface form is a maximal run of at least two ASCII letters, digits, apostrophes and bytes from 0x80 on, with ASCII letters in lower case; no
word is shorter. Bytes from 0x80 on never split a form, so Unicode is left to the analysis of each form, once; only runs of scripts without spaces
(Han, Kana, Thai, Lao, Khmer, Myanmar) are forms of their own, or all pairs of characters in them are.

There a character is a letter with the marks after it, so that a vowel sign is never apart from its consonant; a run of one character stays as it is.
Pairs are what search engines index (J. Nie, J. Gao, J. Zhang, M. Zhou, On the use of words and n-grams for Chinese information retrieval, 2000).
Digits, punctuation and other scripts end a run, and Hangul has spaces.
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
"""Bytes in a 64-bit word, which are compared at once."""

MAX_INTERNED_BYTES = 32
"""Longer forms, in bytes, get no id of their own: they are rare."""

LONG_FORM_ID = 0
"""The id of all forms longer than `MAX_INTERNED_BYTES`."""

_HIGHEST = 2**31 - 1
"""In a pair with a form, the first field; the others count down from it. Ids of forms never come near."""

SURFACE_FORM = re.compile(rb"[0-9A-Za-z'\x80-\xff]+")
"""A surface form as it stands in a text, also one of a single byte, which the kernel skips."""
SEPARATORS = re.compile(rb"[^0-9A-Za-z'\x80-\xff]|\xe3\x80[\x81\x82]|\xef\xbc[\x81\x8c\x9f]")
"""Matches where a text can be cut: a byte that is not part of a surface form, or a comma or full stop of Chinese and Japanese, which ends a word."""
_SEPARATOR = 0
FORM_SEPARATOR = " "
"""No form has it."""

_STOPS = re.compile(rb"\xe3\x80[\x81\x82]|\xef\xbc[\x81\x8c\x9f]")
"""The commas and full stops of `SEPARATORS`."""
STOP_DELIMITED_FORM = re.compile(
    rb"(?:[0-9A-Za-z']|(?!%s)[\xc2-\xf4][\x80-\xbf]+)+" % _STOPS.pattern
)
"""A surface form where commas and full stops of Chinese and Japanese end one, in valid UTF-8."""

PAIRS = "pairs"
RUNS = "runs"
WORDS = "words"
"""What becomes of a run of a script without spaces: a form for each pair of characters, one form, or nothing but a part of a form."""

FOLDED_WORD_BYTES = bytes(
    byte if SURFACE_FORM.match(bytes((byte,))) else _SEPARATOR for byte in range(256)
).lower()
ITEM_BYTES = bytes(_SEPARATOR if byte == ord(FORM_SEPARATOR) else byte for byte in range(256))
"""Tables that leave the forms of words, or items with spaces between them, and zeros elsewhere."""

_PADDING = bytes(MAX_INTERNED_BYTES + 2 * WORD_BYTES)
_KEEP = np.array([(1 << 8 * n) - 1 for n in range(WORD_BYTES + 1)], np.uint64)


class Surfaces(NamedTuple):
    """The surface forms of a block of documents in order: bytes ``[starts, starts + lengths)`` of ``text``; arrays of shape (n_forms,)."""

    text: bytes
    starts: Ints
    lengths: Ints
    documents: Ids

    def decode_forms(self, positions: Ints) -> list[str]:
        """Return the forms at some positions."""
        starts = self.starts.take(positions)
        sizes = self.lengths.take(positions) + 1
        if (
            sizes.max(initial=0) > MAX_INTERNED_BYTES + 1
        ):  # the indices of all bytes would take many times their memory
            bounds = zip(starts.tolist(), (starts + sizes - 1).tolist(), strict=True)
            return [self.text[start:end].decode() for start, end in bounds]
        octets = np.frombuffer(self.text, np.uint8).take(compute_flat_indices(starts, sizes))
        octets[np.cumsum(sizes) - 1] = ord(FORM_SEPARATOR)
        return octets.tobytes().decode().split(FORM_SEPARATOR)[:-1]


def find_surfaces(
    texts: Sequence[bytes],
    unspaced: str = WORDS,
    *,
    has_run: bool | None = None,
    single_bytes: bool = False,
    fold: bytes = FOLDED_WORD_BYTES,
) -> Surfaces:
    """Return the surface forms of documents, with their bounds and the number of each one's document; ``unspaced`` as `PAIRS`, `RUNS` or `WORDS`.

    ``with_runs``: only forms that hold a run of a script without spaces, or parts of these; or only forms that hold none. A comma or full stop of
    Chinese and Japanese then ends a form. ``single_bytes``: also forms of one byte, which are no words.
    """
    block = TextBlock.from_texts(texts)
    folded = b"".join((TEXT_SEPARATOR, block.joined, _PADDING)).translate(fold)
    inside = np.frombuffer(folded, np.uint8) != _SEPARATOR
    runs = find_unspaced_runs(folded) if unspaced != WORDS or has_run is not None else None
    if has_run is not None and runs is not None:
        inside &= _of_forms(folded, inside, runs.starts) == has_run
    if runs is not None and unspaced != WORDS:
        depth = np.zeros(inside.size, np.int8)
        begins, ends = runs.run_bounds
        depth[begins] = 1
        depth[ends] = -1
        inside &= np.cumsum(depth, dtype=np.int8) == 0
    if not single_bytes:
        inside[1:-1] &= inside[2:] | inside[:-2]
    changes = np.empty(inside.size, np.bool_)
    changes[0] = False
    np.not_equal(inside[1:], inside[:-1], out=changes[1:])
    edges = np.flatnonzero(changes)
    starts = edges[0::2].copy()
    ends = edges[1::2]
    if runs is not None and unspaced != WORDS:
        begins, their_ends = runs.pair_bounds if unspaced == PAIRS else runs.run_bounds
        starts = np.concatenate((starts, begins))
        ends = np.concatenate((ends, their_ends))
        order = np.argsort(starts, kind="stable")
        starts = starts.take(order)
        ends = ends.take(order)
    firsts = np.searchsorted(starts, block.ends - block.starts[:1] + 1)
    documents = np.repeat(np.arange(len(block), dtype=np.int32), np.diff(firsts, prepend=0))
    return Surfaces(folded, starts, ends - starts, documents)


def _of_forms(folded: bytes, inside: Mask, begins: Ints) -> Mask:
    """Return for each byte whether its form has one of the characters that begin at ``begins``; ``inside`` loses commas and full stops."""
    raw = np.frombuffer(folded, np.uint8)
    for lead, second, lasts in (
        (0xE3, 0x80, (0x81, 0x82)),
        (0xEF, 0xBC, (0x81, 0x8C, 0x9F)),
    ):  # as in `_STOPS`
        places = np.flatnonzero(raw[:-2] == lead)
        places = places[(raw[places + 1] == second) & np.isin(raw[places + 2], lasts)]
        inside[places] = inside[places + 1] = inside[places + 2] = False
    starts = np.flatnonzero(inside[1:] & ~inside[:-1]) + 1
    holds = np.zeros(starts.size + 1, np.bool_)
    holds[np.searchsorted(starts, begins, "right")] = True
    return np.repeat(holds, np.diff(starts, prepend=0, append=inside.size))


class SurfaceTable:
    """Exact ids of surface forms. A form of up to eight bytes is its own key; a longer one is a chain of pairs (prefix, next eight bytes).

    A form in a field is a pair (field, form) in the same table.
    """

    def __init__(self) -> None:
        self._words = KeyTable(bits=14)
        self._chains = KeyTable(bits=12)

    @property
    def id_limit(self) -> int:
        """A number above all ids so far."""
        return 2 * max(len(self._words), len(self._chains)) + 2

    def intern(self, surfaces: Surfaces) -> Ids:
        """Return the id of each form, shape (n_forms,): even up to eight bytes, odd for a chain, `LONG_FORM_ID` beyond `MAX_INTERNED_BYTES` bytes."""
        text, starts, lengths, _ = surfaces
        ids = 2 * self._words.intern(_words(text, starts, lengths))
        long = np.flatnonzero(lengths > WORD_BYTES)
        done = WORD_BYTES
        while long.size:
            if done == MAX_INTERNED_BYTES:
                ids[long] = LONG_FORM_ID
                break
            rest = lengths.take(long) - done
            words = self._words.intern(_words(text, starts.take(long) + done, rest))
            ids[long] = 2 * self._chains.intern(pair(ids.take(long), words)) + 1
            done += WORD_BYTES
            long = long.compress(rest > WORD_BYTES)
        return ids

    def intern_in_fields(self, forms: Ids, fields: Ints) -> Ids:
        """Return the id of each form in its field, which is given by number, shape (n_forms,): odd, or `LONG_FORM_ID`."""
        ids = 2 * self._chains.intern(pair(_HIGHEST - fields, forms)) + 1
        ids[forms == LONG_FORM_ID] = LONG_FORM_ID
        return ids


def _words(text: bytes, starts: Ints, lengths: Ints) -> Keys:
    """Return up to eight bytes from each start on as a number, first byte lowest, zeros beyond the length; shape (n,).

    Combine two aligned words by shifts: `take` on an unaligned array would copy all of it.
    """
    aligned = np.frombuffer(text, "<u8", len(text) // WORD_BYTES)
    place = starts >> 3
    bits = ((starts & 7) << 3).view(np.uint64)
    words: Keys = aligned.take(place)
    words >>= bits
    upper = aligned[1:].take(place)
    upper <<= np.subtract(np.uint64(64), bits, out=bits)  # a shift by 64 gives 0
    words |= upper
    words &= _KEEP.take(lengths, mode="clip")
    return words


_LETTERS = (
    # Han
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFA6D), (0xFA70, 0xFAD9),
    # Kana
    (0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF),
    (0x31F0, 0x31FF), (0xFF66, 0xFF9D),
)  # fmt: skip
"""First and last code points of letters, those with numbers up to U+FFFF."""

_MARKS = ((0x302A, 0x302F), (0x3099, 0x309A), (0xFF9E, 0xFF9F), (0xFE00, 0xFE0F))
"""The same of marks of these scripts: of tone and voice, halfwidth ones too, and variation selectors."""

_BLOCKS = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17DF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F))
"""Thai and Lao, Myanmar, Khmer, and more of Myanmar, whose letters and marks are told apart by their categories."""

_SARA_AM = (0x0E33, 0x0EB3)
"""Vowel signs of Thai and Lao that are letters to Unicode but belong to the character before (Unicode Standard Annex #29)."""

_HIGH = ((0x1AFF0, 0x1B16F), (0x20000, 0x323AF))
"""Kana and Han beyond U+FFFF, with code points between them that the running version of Unicode has not assigned."""

_SELECTORS = (0xE0100, 0xE01EF)
"""Variation selectors beyond U+FFFF."""

_OTHER, _LETTER, _MARK = range(3)


@cache
def _kinds() -> Octets:
    """Return the kind of each code point up to U+FFFF; made when the first such character occurs."""
    kinds = np.full(1 << 16, _OTHER, np.uint8)
    for kind, ranges in ((_LETTER, _LETTERS), (_MARK, _MARKS)):
        for first, last in ranges:
            kinds[first : last + 1] = kind
    for first, last in _BLOCKS:
        for code in range(first, last + 1):
            kinds[code] = {"L": _LETTER, "M": _MARK}.get(category(chr(code))[0], _OTHER)
    kinds[list(_SARA_AM)] = _MARK
    return kinds


class UnspacedRuns(NamedTuple):
    """The characters in runs of scripts without spaces, in order, in bytes of the text."""

    starts: Ints
    """Where each character begins, shape (n_characters,)."""
    ends: Ints
    """Where it ends, with its marks."""
    is_first: Mask
    """True where a run begins."""
    is_last: Mask
    """True where it ends."""

    @property
    def run_bounds(self) -> tuple[Ints, Ints]:
        """Where each run begins and ends, shapes (n_runs,)."""
        return self.starts[self.is_first], self.ends[self.is_last]

    @property
    def pair_bounds(self) -> tuple[Ints, Ints]:
        """Where each pair of characters that follow one another begins and ends, and each character that is a run."""
        kept = ~self.is_last | self.is_first
        return self.starts[kept], np.where(self.is_last, self.ends, np.append(self.ends[1:], 0))[
            kept
        ]


def is_unspaced(word: str) -> bool:
    """Return whether a word that is not empty begins with a letter of these scripts."""
    return not word[0].isascii() and find_unspaced_runs(word[0].encode()) is not None


def find_texts_with_runs(texts: Sequence[bytes]) -> Ids:
    """Return the places of texts that have a run of a script without spaces, ascending."""
    block = TextBlock.from_texts(texts)
    runs = find_unspaced_runs(block.joined)
    if runs is None:
        return np.empty(0, np.int32)
    places = np.searchsorted(block.ends - block.starts[0], runs.starts)
    return np.flatnonzero(np.bincount(places)).astype(np.int32)


def find_unspaced_runs(text: bytes) -> UnspacedRuns | None:
    """Return the runs in a text in valid UTF-8; None if it has none."""
    raw = np.frombuffer(text, np.uint8)
    if raw.max(initial=0) < 0xE0:  # all these characters have three or four bytes
        return None
    places = np.flatnonzero(raw >= 0xE0)
    kinds = _kinds_at(raw, places)
    found = np.flatnonzero(kinds)
    if not found.size:
        return None
    places = places[found]
    letters = kinds[found] == _LETTER
    ends = places + 3 + (raw.take(places) >= 0xF0)
    follows = np.append(False, places[1:] == ends[:-1])
    n_letters = np.cumsum(letters)
    before_run = np.maximum.accumulate(np.where(follows, 0, n_letters - letters))
    kept = np.flatnonzero(n_letters > before_run)  # marks need a letter before them
    if not kept.size:
        return None
    places = places[kept]
    ends = ends[kept]
    letters = letters[kept]
    heads = np.flatnonzero(letters)
    begins = places[heads]
    ends = ends[np.append(heads[1:], letters.size) - 1]
    apart = begins[1:] != ends[:-1]
    return UnspacedRuns(begins, ends, np.append(True, apart), np.append(apart, True))


def _kinds_at(raw: Octets, places: Ints) -> Octets:
    """Return the kinds of the characters of three or four bytes that begin at some places."""
    bytes_ = [raw.take(places + offset, mode="clip").astype(np.int32) for offset in range(3)]
    kinds: Octets = _kinds().take(
        (bytes_[0] & 0xF) << 12 | (bytes_[1] & 0x3F) << 6 | bytes_[2] & 0x3F
    )
    high = np.flatnonzero(bytes_[0] >= 0xF0)
    if high.size:
        first, second, third = (of_all[high] for of_all in bytes_)
        fourth = raw.take(places[high] + 3, mode="clip").astype(np.int32)
        codes = (first & 7) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | fourth & 0x3F
        distinct, places_found = np.unique(codes, return_inverse=True)
        kinds[high] = np.array([_kind_of_high(code) for code in distinct.tolist()], np.uint8)[
            places_found
        ]
    return kinds


def _kind_of_high(code: int) -> int:
    """Return the kind of a character beyond U+FFFF."""
    if _SELECTORS[0] <= code <= _SELECTORS[1]:
        return _MARK
    is_letter = any(first <= code <= last for first, last in _HIGH) and category(chr(code)) != "Cn"
    return _LETTER if is_letter else _OTHER
