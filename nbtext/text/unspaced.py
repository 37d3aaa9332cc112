"""Scripts written without spaces (Han, Kana, Thai, Lao, Khmer, Myanmar): a run of such characters becomes overlapping pairs.

A character is a letter with the marks after it, so that a vowel sign is never apart from its consonant; a run of one character stays as it is. Pairs
are what search engines index (J. Nie, J. Gao, J. Zhang, M. Zhou, On the use of words and n-grams for Chinese information retrieval, 2000). Digits,
punctuation and other scripts end a run, and Hangul has spaces.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from unicodedata import category

import numpy as np

from nbtext.records import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.type_names import Whole

_LETTERS = (
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFA6D), (0xFA70, 0xFAD9),  # Han
    (0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9D),  # Kana
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
def _kinds() -> NDArray[np.uint8]:
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


class _UnspacedRuns(NamedTuple):
    """The characters in runs of scripts without spaces, in order, in bytes of the text."""

    begins: Whole
    """Where each character begins, shape (n_characters,)."""
    ends: Whole
    """Where it ends, with its marks."""
    first: NDArray[np.bool_]
    """True where a run begins."""

    @property
    def runs(self) -> tuple[Whole, Whole]:
        """Where each run begins and ends, shapes (n_runs,)."""
        return self.begins[self.first], self.ends[np.append(self.first[1:], True)[: self.first.size]]

    @property
    def pairs(self) -> tuple[Whole, Whole]:
        """Where each pair of characters that follow one another begins and ends, and each character that is a run."""
        last = np.append(self.first[1:], True)[: self.first.size]
        kept = ~last | self.first
        return self.begins[kept], np.where(last, self.ends, np.append(self.ends[1:], 0)[: last.size])[kept]


def is_unspaced(word: str) -> bool:
    """Return whether a word that is not empty begins with a letter of these scripts."""
    if word[0].isascii():
        return False
    found = unspaced_runs(word[0].encode())
    return found is not None


def unspaced_runs(text: bytes) -> _UnspacedRuns | None:
    """Return the runs in a text in valid UTF-8; None if it has none."""
    raw = np.frombuffer(text, np.uint8)
    if raw.max(initial=0) < 0xE0:  # all these characters have three or four bytes
        return None
    places = np.flatnonzero(raw >= 0xE0)
    kinds = _kinds_at(raw, places)
    found = np.flatnonzero(kinds)
    if not found.size:
        return None
    places, letters = places[found], kinds[found] == _LETTER
    ends = places + 3 + (raw.take(places) >= 0xF0)
    follows = np.append(False, places[1:] == ends[:-1])
    n_letters = np.cumsum(letters)
    before_run = np.maximum.accumulate(np.where(follows, 0, n_letters - letters))
    kept = np.flatnonzero(n_letters > before_run)  # marks need a letter before them
    if not kept.size:
        return None
    places, ends, letters = places[kept], ends[kept], letters[kept]
    heads = np.flatnonzero(letters)
    begins, ends = places[heads], ends[np.append(heads[1:], letters.size) - 1]
    return _UnspacedRuns(begins, ends, np.append(True, begins[1:] != ends[:-1]))


def _kinds_at(raw: NDArray[np.uint8], places: Whole) -> NDArray[np.uint8]:
    """Return the kinds of the characters of three or four bytes that begin at some places."""
    bytes_ = [raw.take(places + offset, mode="clip").astype(np.int32) for offset in range(3)]
    kinds: NDArray[np.uint8] = _kinds().take((bytes_[0] & 0xF) << 12 | (bytes_[1] & 0x3F) << 6 | bytes_[2] & 0x3F)
    high = np.flatnonzero(bytes_[0] >= 0xF0)
    if high.size:
        first, second, third = (of_all[high] for of_all in bytes_)
        fourth = raw.take(places[high] + 3, mode="clip").astype(np.int32)
        codes = (first & 7) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | fourth & 0x3F
        is_letter = np.any([(codes >= first_code) & (codes <= last_code) for first_code, last_code in _HIGH], axis=0)
        found, places_found = np.unique(codes[is_letter], return_inverse=True)
        is_letter[is_letter] = np.array([category(chr(code)) != "Cn" for code in found.tolist()], np.bool_)[places_found]
        is_mark = (codes >= _SELECTORS[0]) & (codes <= _SELECTORS[1])
        kinds[high] = np.select((is_letter, is_mark), (_LETTER, _MARK), _OTHER)
    return kinds
