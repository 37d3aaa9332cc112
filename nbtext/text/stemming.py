"""Stemmers: words to stems. Snowball by PyStemmer; others by nltk, which is imported only for them (it costs over a second)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_NLTK = {
    "porter": ("nltk.stem.porter", "PorterStemmer"),
    "lancaster": ("nltk.stem.lancaster", "LancasterStemmer"),
    "isri": ("nltk.stem.isri", "ISRIStemmer"),
    "arlstem": ("nltk.stem.arlstem", "ARLSTem"),
    "arlstem2": ("nltk.stem.arlstem2", "ARLSTem2"),
    "cistem": ("nltk.stem.cistem", "Cistem"),
}
"""Name to module and class."""


def stemmer(name: str, language: str) -> Callable[[list[str]], list[str]]:
    """A function from words to their stems, one each; ``snowball`` is Snowball's algorithm for ``language``.

    A word that a stemmer would reduce to nothing stays as it is.
    """
    if name == "none":
        return list
    if name in _NLTK:
        stem = _nltk(name)
        return lambda words: [stem(word) or word for word in words]
    from Stemmer import Stemmer

    snowball = Stemmer(language if name == "snowball" else name, 0)  # no cache: each word comes once

    def stems(words: list[str]) -> list[str]:
        found: list[str] = snowball.stemWords(words)
        return found if all(found) else [stem or word for stem, word in zip(found, words, strict=True)]

    return stems


def _nltk(name: str) -> Callable[[str], str]:
    from importlib import import_module

    module, kind = _NLTK[name]
    stem: Callable[[str], str] = getattr(import_module(module), kind)().stem
    return stem
