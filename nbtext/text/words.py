"""Words of a piece of text: Unicode normalisation, case-folding, and what counts as a word.

A word is a run of Unicode letters, digits and combining marks that begins with a letter or digit, with single apostrophes inside
("don't"), at least two characters long. Compatibility forms are unified (NFKC), case is folded, invisible format characters vanish.
"""

from __future__ import annotations

from unicodedata import category, normalize

MIN_CHARACTERS = 2
MAX_BYTES = 255
"""A longer run is no word of any language: encoded data, a key, a line of dashes without the dashes."""

_SPACE = " "


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
    text = text.lower() if text.isascii() else normalize("NFKC", normalize("NFKC", text.translate(_VISIBLE)).casefold())
    pieces = text.translate(_ALPHABET).replace("''", _SPACE).split()
    return [_trim(piece) for piece in pieces]


def _trim(piece: str) -> str:
    """Without apostrophes around it and without marks that have no letter to stand on."""
    piece = piece.strip("'")
    while piece and not piece[0].isalnum():
        piece = piece[1:].lstrip("'")
    return piece
