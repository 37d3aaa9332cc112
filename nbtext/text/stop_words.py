"""Stop words: words that carry grammar rather than a subject.

English has a list of its own, the closed word classes only (`stop_words_english.txt`): the 1,333 words of the package's English list
include "computer", "free", "fire" and "system". The other languages use the `stop-words` package, in which two lists were read as Latin-1
that are not.
"""

from __future__ import annotations

from pathlib import Path

from nbtext.errors import PathError, UsageError, reason
from nbtext.settings import LANGUAGES
from nbtext.text.words import words

MISREAD = {"hungarian": "iso-8859-2", "turkish": "iso-8859-9"}
"""Lists of the package in which letters stand for others of the same byte, "õ" for "ő" and "þ" for "ş", and the encoding that they had."""


def stop_words(name: str, language: str) -> list[str]:
    """The stop list called ``name``, normalised as words are, sorted.

    ``name`` is a language, ``none``, ``default`` (the list of ``language``), or the path of a file with words separated by white space.
    Raises `UsageError` for a language without a list, `PathError` for a file that cannot be read.
    """
    if name == "none":
        return []
    if name == "default":
        name = language
    if name == "english":
        listed = Path(__file__).with_name("stop_words_english.txt").read_text(encoding="utf-8")
    elif name in LANGUAGES:
        from stop_words import get_stop_words

        listed = "\n".join(_as_it_was(word, MISREAD.get(name)) for word in get_stop_words(name))
    else:
        listed = _read(name)
    return sorted(set(words(listed)))


def _as_it_was(word: str, encoding: str | None) -> str:
    """The word before it was taken for Latin-1; one that is not Latin-1 was not."""
    try:
        return word if encoding is None else word.encode("latin-1").decode(encoding)
    except UnicodeError:
        return word


def _read(path: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"no stop list or file is called {path!r}", hint=f"use none, a file, or one of {', '.join(LANGUAGES)}") from None
    except OSError as problem:
        raise PathError(reason(problem), where=path) from None
    except UnicodeDecodeError as problem:
        raise PathError(f"not UTF-8 at byte {problem.start}", where=path, hint="save the stop list as UTF-8") from None
