"""Split texts into words; load stop lists and stemmers.

A word is a run of at least two Unicode letters, digits, combining marks and inner apostrophes
("don't") that starts with a letter or digit. A pictograph such as an emoji, without modifiers of
its colour, is a word too. Compatibility forms are unified (NFKC), case is folded, and invisible
format characters are removed.

Normalising takes quadratic time in the number of successive combining marks. So a combining
grapheme joiner is inserted after every 30 marks, as in the Stream-Safe Text Format (Unicode
Standard Annex #15, section 13). The joiner stays in the word.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, combining, normalize

from nbtext.errors import PathError, UsageError, describe_os_error, did_you_mean
from nbtext.settings import LANGUAGES, NLTK_STEMMERS, UNSPACED_LANGUAGES, read_within_limit
from nbtext.text.surface_forms import is_unspaced

if TYPE_CHECKING:
    from collections.abc import Callable

MIN_WORD_CHARS = 2
MAX_WORD_BYTES = 255
"""Maximum size of a word in UTF-8. A longer run is encoded data or a key."""

WORD_CATEGORIES = ("L", "M", "N")
"""First letters of the Unicode categories of letters, marks and numbers."""

_SPACE = " "

_MAX_NON_STARTERS = 30
"""Maximum number of successive non-starters (combining marks) to normalise."""
_JOINER = "\u034f"
"""The combining grapheme joiner."""
_MANY_MARKS = re.compile("[\\W\uff9e\uff9f]{14}")
"""Matches in every text in which more than 30 non-starters follow one another.

13 marks decompose into at most 26 non-starters, and the letter before them ends with at most three.
U+FF9E and U+FF9F are marks that `re` counts as letters.
"""

MISREAD_ENCODINGS = {"hungarian": "iso-8859-2", "turkish": "iso-8859-9"}
"""True encodings of the lists of `stop-words` that were decoded as Latin-1, with "õ" for "ő"."""

_FIRST_PICTOGRAPH = 0x1F000
_OLDER_PICTOGRAPHS = range(0x2600, 0x27C0)
"""The blocks Miscellaneous Symbols and Dingbats."""

_DOT_ABOVE = "\u0307"
"""Follows the i into which the Turkish İ is case-folded."""


class _TranslationTable(dict[int, str]):
    """Table for `str.translate` that a function from characters to texts fills on demand."""

    def __init__(self, replace: Callable[[str], str]) -> None:
        super().__init__()
        self._replace = replace

    def __missing__(self, code: int) -> str:
        replacement = self._replace(chr(code))
        self[code] = replacement
        return replacement


def _remove_invisible(character: str) -> str:
    """Return the character, or "" for a format character, such as a soft hyphen or joiner."""
    return "" if category(character) == "Cf" else character


def is_emoji(character: str) -> bool:
    """Return whether a character is a pictograph, which is a word by itself."""
    code = ord(character)
    return category(character) == "So" and (code >= _FIRST_PICTOGRAPH or code in _OLDER_PICTOGRAPHS)


def _separate_words(character: str) -> str:
    """Return a character of words, a pictograph between spaces, or a space for other characters."""
    if is_emoji(character):
        return f"{_SPACE}{character}{_SPACE}"
    kind = category(character)
    if kind.startswith(WORD_CATEGORIES):
        return character
    if character in "'\u2019\uff07":
        return "'"
    return "" if kind == "Cf" else _SPACE  # normalising can produce invisible characters


class _NonStarters(NamedTuple):
    """The non-starters in the compatibility decomposition of a character."""

    n_first: int
    """Number of non-starters before the first starter."""
    n_last: int
    """Number of non-starters after the last starter."""
    has_starter: bool
    """Without a starter, both numbers are the number of all non-starters."""


@cache
def _count_non_starters(character: str) -> _NonStarters:
    classes = [combining(code_point) for code_point in normalize("NFKD", character)]
    starters = [index for index, combining_class in enumerate(classes) if combining_class == 0]
    if not starters:
        return _NonStarters(len(classes), len(classes), has_starter=False)
    return _NonStarters(starters[0], len(classes) - starters[-1] - 1, has_starter=True)


_VISIBLE_CHARACTERS = _TranslationTable(_remove_invisible)
_WORD_CHARACTERS = _TranslationTable(_separate_words)


def split_words(text: str, *, unspaced: bool = False) -> list[str]:
    """Return the words of a text in order, normalised and case-folded.

    With ``unspaced``, words in scripts without spaces have any length.

    >>> split_words("The CAFÉ's ﬁre—don’t 'panic' a 3.14")
    ['the', "café's", 'fire', "don't", 'panic', '14']
    """
    return [word for word in split_candidates(text) if is_word(word, unspaced=unspaced)]


def is_word(candidate: str, *, unspaced: bool) -> bool:
    """Return whether a candidate is neither too short nor too long to be a word.

    With ``unspaced``, words in scripts without spaces have any length.
    """
    max_certain_chars = MAX_WORD_BYTES // 4  # a character has at most four bytes
    if MIN_WORD_CHARS <= len(candidate) <= max_certain_chars:
        return True
    if unspaced and candidate and is_unspaced(candidate):
        return True
    if len(candidate) == 1:
        return is_emoji(candidate)
    return len(candidate) >= MIN_WORD_CHARS and len(candidate.encode()) <= MAX_WORD_BYTES


def split_candidates(text: str) -> list[str]:
    """Return the words of a text, including words that are too short or too long.

    A run without a letter or digit becomes an empty word.
    """
    if text.isascii() and text.isalnum():
        return [text.lower()]
    text = text.lower() if text.isascii() else _fold(text)
    pieces = text.translate(_WORD_CHARACTERS).replace("''", _SPACE).split()
    return [_trim(piece) for piece in pieces]


def _fold(text: str) -> str:
    """Return a text normalised and case-folded, with i for the Turkish İ."""
    visible = text.translate(_VISIBLE_CHARACTERS)
    folded = normalize("NFKC", _make_stream_safe(visible)).casefold()
    if _DOT_ABOVE in folded:
        folded = folded.replace(f"i{_DOT_ABOVE}", "i")
    return normalize("NFKC", folded)


def _trim(piece: str) -> str:
    """Return a run without apostrophes at its ends and without marks at its start."""
    piece = piece.strip("'")
    for index, character in enumerate(piece):
        if character.isalnum() or is_emoji(character):
            return piece[index:]
    return ""


def _make_stream_safe(text: str) -> str:
    """Return a text with a combining grapheme joiner after every 30 successive non-starters.

    Source: Unicode Standard Annex #15, UAX15-D4.
    """
    if not _MANY_MARKS.search(text):
        return text
    characters = []
    n_non_starters = 0
    for character in text:
        non_starters = _count_non_starters(character)
        if n_non_starters + non_starters.n_first > _MAX_NON_STARTERS:
            characters.append(_JOINER)
            n_non_starters = 0
        characters.append(character)
        if non_starters.has_starter:
            n_non_starters = 0
        n_non_starters += non_starters.n_last
    return "".join(characters)


def load_stop_words(name: str | tuple[str, ...], language: str) -> list[str]:
    """Return a stop list, sorted, with its words normalised.

    ``name`` is a language, ``none``, ``default`` (the list of ``language``), the path of a file of
    words separated by white space, or a tuple of the words. Languages without spaces have an empty
    list. Raise `UsageError` if the list or file does not exist, and `PathError` if the file cannot
    be read.
    """
    if name == "default":
        name = language
    if name in ("none", *UNSPACED_LANGUAGES):
        return []
    if name in LANGUAGES:
        return list(_load_language_stop_words(str(name)))
    text = _read(name) if isinstance(name, str) else " ".join(name)
    return sorted(set(split_words(text, unspaced=True)))


@cache
def _load_language_stop_words(language: str) -> list[str]:
    """Return the stop list of a language. Each training loads the list, so it is cached."""
    if language == "english":
        # the English list of `stop-words` includes nouns such as "computer" and "fire"
        text = _read(f"{os.path.dirname(__file__)}/stop_words_english.txt")
    else:
        from stop_words import get_stop_words

        encoding = MISREAD_ENCODINGS.get(language, "latin-1")
        text = "\n".join(_decode_again(word, encoding) for word in get_stop_words(language))
    return sorted(set(split_words(text, unspaced=True)))


def _decode_again(word: str, encoding: str) -> str:
    """Return a word that was decoded as Latin-1, decoded in its true encoding.

    A word that is not Latin-1 was decoded correctly, and is returned unchanged.
    """
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
    except OSError as error:
        raise PathError(describe_os_error(error), where=path) from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PathError(
            f"not UTF-8 at byte {error.start}", where=path, hint="save the stop list as UTF-8"
        ) from None


def load_stemmer(name: str, language: str) -> Callable[[list[str]], list[str]]:
    """Return a function from words to their stems, for the value ``name`` of the stemmer setting.

    ``snowball`` is Snowball's algorithm for ``language``, and keeps words of languages without
    spaces unchanged. A word whose stem would be empty stays unchanged.
    """
    if name == "none" or (name == "snowball" and language in UNSPACED_LANGUAGES):
        return list  # the same words
    if name in NLTK_STEMMERS:
        return _load_nltk_stemmer(NLTK_STEMMERS[name])
    return _load_snowball_stemmer(language if name == "snowball" else name)


def _load_nltk_stemmer(path: str) -> Callable[[list[str]], list[str]]:
    """Return the stemmer of a class of nltk. Importing nltk takes over a second."""
    from importlib import import_module

    module, _, class_name = path.rpartition(".")
    stem = getattr(import_module(module), class_name)().stem
    return lambda words: [stem(word) or word for word in words]


def _load_snowball_stemmer(algorithm: str) -> Callable[[list[str]], list[str]]:
    from Stemmer import Stemmer

    snowball = Stemmer(algorithm, maxCacheSize=0)  # because each word comes once

    def stem_words(words: list[str]) -> list[str]:
        stems: list[str] = snowball.stemWords(words)
        if all(stems):
            return stems
        return [stem or word for stem, word in zip(stems, words, strict=True)]

    return stem_words
