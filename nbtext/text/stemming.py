"""Stemmers: words to stems. Snowball by PyStemmer; others by nltk, which is imported only for them (it costs over a second).

Words as they stand in a text, where their stem is another: what people want to read in place of a stem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.settings import NLTK_STEMMERS
from nbtext.text.analyzer import Analyzer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray


def stemmer(name: str, language: str) -> Callable[[list[str]], list[str]]:
    """A function from words to their stems, one each; ``snowball`` is Snowball's algorithm for ``language``.

    A word that a stemmer would reduce to nothing stays as it is.
    """
    if name == "none":
        return list
    if name in NLTK_STEMMERS:
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

    module, _, kind = NLTK_STEMMERS[name].rpartition(".")
    stem: Callable[[str], str] = getattr(import_module(module), kind)().stem
    return stem


class InflectedWords(Analyzer):
    """What a text means in words that their stem is not, without stop words."""

    def __init__(
        self,
        stop_words: Collection[str],
        stem: Callable[[list[str]], list[str]],
        term_ids: Callable[[list[str]], Sequence[int] | NDArray[np.int64]],
    ) -> None:
        super().__init__(stop_words, list, term_ids)
        self._stem_of = stem

    def terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """These words of some surface forms one after the other, and how many each form has."""
        words, sizes = super().terms(forms)
        stems = iter(zip(words, self._stem_of(words), strict=True))
        rows = [[word for word, stem in (next(stems) for _ in range(size)) if word != stem] for size in sizes]
        return [word for row in rows for word in row], [len(row) for row in rows]
