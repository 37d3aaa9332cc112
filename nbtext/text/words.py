"""Words of a text: Unicode normalisation, case-folding, the definition of a word, stop lists and stemmers.

A word is a run of at least two Unicode letters, digits, combining marks and single apostrophes inside ("don't") that begins with a letter or
digit, or a pictograph such as an emoji, without what changes its colour. Compatibility forms are unified (NFKC), case is folded, invisible format characters are removed.

Normalising takes quadratic time in the number of successive combining marks. So a combining grapheme joiner is inserted after every 30, as in the
Stream-Safe Text Format (Unicode Standard Annex #15, section 13). It stays in the word.

English has its own stop list of the closed word classes (`stop_words_english.txt`): that of the `stop-words` package, 1,333 words, has
"computer", "free", "fire" and "system". Other languages use that package, in which two lists were wrongly decoded as Latin-1. Stemmers
are those of PyStemmer, or of nltk, which is imported only when it is used, since that takes over a second.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING
from unicodedata import category, combining, normalize

from nbtext.errors import PathError, UsageError, describe_os_error, did_you_mean
from nbtext.settings import LANGUAGES, NLTK_STEMMERS, UNSPACED_LANGUAGES, read_within_limit
from nbtext.text.surface_forms import is_unspaced

if TYPE_CHECKING:
    from collections.abc import Callable

MIN_WORD_CHARS = 2
MAX_WORD_BYTES = 255
"""A longer run, in bytes of UTF-8, is not a word but encoded data or a key."""

_SPACE = " "

_MOST_NON_STARTERS = 30
_JOINER = "\u034f"
_MANY_MARKS = re.compile("[\\W\uff9e\uff9f]{14}")
"""Matches wherever more than 30 non-starters may follow one another: a letter has at most three, a mark two; two marks are letters to `re`."""

MISREAD_ENCODINGS = {"hungarian": "iso-8859-2", "turkish": "iso-8859-9"}
"""Lists that the package decoded as Latin-1, with "õ" for "ő" and "þ" for "ş", and their true encodings."""


_FIRST_PICTOGRAPH = 0x1F000
_OLDER_PICTOGRAPHS = range(0x2600, 0x27C0)
"""The blocks Miscellaneous Symbols and Dingbats."""

_DOTTED = "\u0307"
"""What is left of a Turkish İ behind the i when its case is folded."""


class _Visible(dict[int, str]):
    """Table for `str.translate` that removes soft hyphens, joiners and direction marks, which do not separate words."""

    def __missing__(self, code: int) -> str:
        self[code] = kept = "" if category(chr(code)) == "Cf" else chr(code)
        return kept


def is_emoji(character: str) -> bool:
    """Return whether a character is a pictograph, which is a word by itself."""
    code = ord(character)
    return category(character) == "So" and (code >= _FIRST_PICTOGRAPH or code in _OLDER_PICTOGRAPHS)


class _Alphabet(dict[int, str]):
    """Table for `str.translate` that keeps the characters of words and replaces others by spaces; filled on demand."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = category(character)
        if kind == "Cf":  # normalising can produce them
            kept = ""
        elif is_emoji(character):
            kept = f"{_SPACE}{character}{_SPACE}"
        elif kind[0] in "LM" or kind in ("Nd", "Nl", "No"):
            kept = character
        else:
            kept = "'" if character in "'\u2019\uff07" else _SPACE
        self[code] = kept
        return kept


@cache
def _non_starters(character: str) -> tuple[int, int, bool]:
    """Return the numbers of non-starters at both ends of a character's compatibility decomposition, and whether it has only non-starters."""
    classes = [combining(part) for part in normalize("NFKD", character)]
    starters = [place for place, number in enumerate(classes) if number == 0]
    first, last = (starters[0], starters[-1] + 1) if starters else (len(classes), 0)
    return first, len(classes) - last, not starters


_VISIBLE = _Visible()
_ALPHABET = _Alphabet()


def split_words(text: str, *, unspaced: bool = False) -> list[str]:
    """Return the words of a text in order, normalised and case-folded; with ``unspaced`` those in scripts without spaces have any length.

    >>> words("The CAFÉ's ﬁre—don’t 'panic' a 3.14")
    ['the', "café's", 'fire', "don't", 'panic', '14']
    """
    return [word for word in split_candidates(text) if is_word(word, unspaced=unspaced)]


def is_word(word: str, *, unspaced: bool) -> bool:
    """Return whether a candidate is neither too short nor too long; with ``unspaced`` words in scripts without spaces have any length."""
    if MIN_WORD_CHARS <= len(word) <= MAX_WORD_BYTES // 4 or (
        unspaced and word and is_unspaced(word)
    ):
        return True
    if len(word) == 1:
        return is_emoji(word)
    return len(word) >= MIN_WORD_CHARS and len(word.encode()) <= MAX_WORD_BYTES


def split_candidates(text: str) -> list[str]:
    """Return the words of a text with those too short or too long to count, and empty ones for runs without letter or digit."""
    if text.isascii() and text.isalnum():
        return [text.lower()]
    text = text.lower() if text.isascii() else _folded(text)
    pieces = text.translate(_ALPHABET).replace("''", _SPACE).split()
    return [_trim(piece) for piece in pieces]


def _folded(text: str) -> str:
    """Return a text in Unicode's normal form, its case folded: i for the Turkish İ too."""
    folded = normalize("NFKC", _stream_safe(text.translate(_VISIBLE))).casefold()
    return normalize("NFKC", folded.replace(f"i{_DOTTED}", "i") if _DOTTED in folded else folded)


def _trim(piece: str) -> str:
    """Return a run without apostrophes at its ends and without marks before its first letter or digit."""
    piece = piece.strip("'")
    begin = next(
        (
            place
            for place, character in enumerate(piece)
            if character.isalnum() or is_emoji(character)
        ),
        len(piece),
    )
    return piece[begin:]


def _stream_safe(text: str) -> str:
    """Insert a combining grapheme joiner wherever more than 30 non-starters would follow one another (UAX #15, UAX15-D4)."""
    if not _MANY_MARKS.search(text):
        return text
    safe = []
    count = 0
    for character in text:
        first, last, is_whole = _non_starters(character)
        if count + first > _MOST_NON_STARTERS:
            safe.append(_JOINER)
            count = 0
        safe.append(character)
        count = count + first if is_whole else last
    return "".join(safe)


def load_stop_words(name: str | tuple[str, ...], language: str) -> list[str]:
    """Return the stop list ``name``, normalised as words are, sorted.

    ``name`` is a language, ``none``, ``default`` (the list of ``language``), the path of a file with words separated by white space, or the words.
    The languages without spaces have no words to drop.
    Raises `UsageError` for a name that is neither, `PathError` for a file that cannot be read.
    """
    if name == "default":
        name = language
    if name in ("none", *UNSPACED_LANGUAGES):
        return []
    if name in LANGUAGES:
        return list(_stop_words_of(str(name)))
    return sorted(
        set(split_words(_read(name) if isinstance(name, str) else " ".join(name), unspaced=True))
    )


@cache
def _stop_words_of(language: str) -> list[str]:
    """Return the stop list of a language; who trains many models needs it for each."""
    if language == "english":
        listed = _read(f"{os.path.dirname(__file__)}/stop_words_english.txt")
    else:
        from stop_words import get_stop_words

        listed = "\n".join(
            _redecoded(word, MISREAD_ENCODINGS.get(language, "latin-1"))
            for word in get_stop_words(language)
        )
    return sorted(set(split_words(listed, unspaced=True)))


def _redecoded(word: str, encoding: str) -> str:
    """Return a word wrongly decoded as Latin-1 as it should be; words that are not Latin-1 are right."""
    try:
        return word.encode("latin-1").decode(encoding)
    except UnicodeError:
        return word


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            content = read_within_limit(file, path)
    except FileNotFoundError:
        raise UsageError(
            f"no stop list or file is called {path!r}{did_you_mean(path, LANGUAGES)}",
            hint=f"use none, a file, or one of {', '.join(LANGUAGES)}",
        ) from None
    except OSError as problem:
        raise PathError(describe_os_error(problem), where=path) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise PathError(
            f"not UTF-8 at byte {problem.start}", where=path, hint="save the stop list as UTF-8"
        ) from None


def load_stemmer(name: str, language: str) -> Callable[[list[str]], list[str]]:
    """Return a function from words to their stems; ``snowball`` is Snowball's algorithm for ``language``, if there is one.

    A word whose stem would be empty stays as it is.
    """
    if name == "none" or (name == "snowball" and language in UNSPACED_LANGUAGES):
        return list
    if name in NLTK_STEMMERS:
        from importlib import import_module

        module, _, kind = NLTK_STEMMERS[name].rpartition(".")
        stem = getattr(import_module(module), kind)().stem
        return lambda words: [stem(word) or word for word in words]
    from Stemmer import Stemmer

    snowball = Stemmer(
        language if name == "snowball" else name, 0
    )  # without cache, since each word comes once

    def stems(words: list[str]) -> list[str]:
        found: list[str] = snowball.stemWords(words)
        return (
            found if all(found) else [stem or word for stem, word in zip(found, words, strict=True)]
        )

    return stems
