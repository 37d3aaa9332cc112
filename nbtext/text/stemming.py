"""Stemmers: words to stems. Snowball is PyStemmer's; others are nltk's, imported only when used, since that takes over a second.

Words that differ from their stems can be counted beside them, to be shown in place of the stems.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from nbtext.settings import NLTK_STEMMERS, UNSPACED_LANGUAGES
from nbtext.text.analyzer import Analyzer

if TYPE_CHECKING:
    from nbtext.text.analyzer import StemWords


def stemmer(name: str, language: str) -> StemWords:
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

    snowball = Stemmer(language if name == "snowball" else name, 0)  # without cache, since each word comes once

    def stems(words: list[str]) -> list[str]:
        found: list[str] = snowball.stemWords(words)
        return found if all(found) else [stem or word for stem, word in zip(found, words, strict=True)]

    return stems


class InflectedWords(Analyzer):
    """Turns texts into those of their words that differ from their stems, without stop words."""

    def terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return these words of surface forms one after the other, and the number of words of each form."""
        words, sizes = self.words(forms)
        pairs = zip(words, self.stem(words), strict=True)
        rows = [[word for word, stem in islice(pairs, size) if word != stem] for size in sizes]
        return [word for row in rows for word in row], [len(row) for row in rows]
