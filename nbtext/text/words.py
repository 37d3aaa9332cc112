"""Words of a piece of text: Unicode normalisation, case-folding, and what counts as a word.

A word is a run of Unicode letters, digits and combining marks that begins with a letter or digit, with single apostrophes inside
("don't"), at least two characters long. Compatibility forms are unified (NFKC), case is folded, invisible format characters vanish.

Of combining marks at most 30 stand in a row, as in the Stream-Safe Text Format (Unicode Standard Annex #15, section 13): a combining grapheme
joiner is put before each further 30, or normalising would take the square of their number. It stays in the word.
"""

from __future__ import annotations

import re
from unicodedata import category, combining, normalize

MIN_CHARACTERS = 2
MAX_BYTES = 255
"""A longer run is no word of any language: encoded data, a key, a line of dashes without the dashes."""

_SPACE = " "

_MOST_NON_STARTERS = 30
_JOINER = "\u034f"
_MANY_MARKS = re.compile("[\\W\uff9e\uff9f]{14}")
"""Found wherever more than 30 non-starters follow one another: a letter brings three at most, each mark two; two marks count as letters."""


class _Visible(dict[int, str]):
    """Table for `str.translate` without soft hyphens, joiners and direction marks, which stand inside words, not between them."""

    def __missing__(self, code: int) -> str:
        self[code] = kept = "" if category(chr(code)) == "Cf" else chr(code)
        return kept


class _Alphabet(dict[int, str]):
    """Table for `str.translate`: what becomes of a character, looked up once per character."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = category(character)
        if kind == "Cf":  # made by normalising
            kept = ""
        elif kind[0] in "LM" or kind in ("Nd", "Nl", "No"):
            kept = character
        else:
            kept = "'" if character in "'\u2019\uff07" else _SPACE
        self[code] = kept
        return kept


class _NonStarters(dict[str, tuple[int, int, bool]]):
    """Of a character's compatibility decomposition: the non-starters it begins with and ends with, and whether it has no other characters."""

    def __missing__(self, character: str) -> tuple[int, int, bool]:
        classes = [combining(part) for part in normalize("NFKD", character)]
        starters = [place for place, number in enumerate(classes) if number == 0]
        first, last = (starters[0], starters[-1] + 1) if starters else (len(classes), 0)
        self[character] = found = first, len(classes) - last, not starters
        return found


_NON_STARTERS = _NonStarters()
_VISIBLE = _Visible()
_ALPHABET = _Alphabet()


def words(text: str) -> list[str]:
    """The words of a text in order, normalised and case-folded.

    >>> words("The CAFÉ's ﬁre—don’t 'panic' a 3.14")
    ['the', "café's", 'fire', "don't", 'panic', '14']
    """
    if text.isascii() and text.isalnum():
        return [text.lower()] if MIN_CHARACTERS <= len(text) <= MAX_BYTES else []
    return [word for word in candidates(text) if len(word) >= MIN_CHARACTERS and len(word.encode()) <= MAX_BYTES]


def candidates(text: str) -> list[str]:
    """The words of a text with those that are too short or too long to count; empty ones for what has no letter or digit."""
    text = text.lower() if text.isascii() else normalize("NFKC", normalize("NFKC", stream_safe(text.translate(_VISIBLE))).casefold())
    pieces = text.translate(_ALPHABET).replace("''", _SPACE).split()
    return [_trim(piece) for piece in pieces]


def _trim(piece: str) -> str:
    """Without apostrophes around it and without marks that have no letter to stand on."""
    piece = piece.strip("'")
    begin = next((place for place, character in enumerate(piece) if character.isalnum()), len(piece))
    return piece[begin:]


def stream_safe(text: str) -> str:
    """Return the text with a combining grapheme joiner wherever more than 30 non-starters would follow one another.

    Source: Unicode Standard Annex #15, UAX15-D4, the Stream-Safe Text Process.
    """
    if not _MANY_MARKS.search(text):
        return text
    safe = []
    count = 0
    for character in text:
        first, last, is_whole = _NON_STARTERS[character]
        if count + first > _MOST_NON_STARTERS:
            safe.append(_JOINER)
            count = 0
        safe.append(character)
        count = count + first if is_whole else last
    return "".join(safe)
