"""Character n-grams: pieces of words, counted beside them, so that words that are spelt alike have something in common.

The n-grams are those of the word with a mark before its beginning and after its end, and of sizes that count the marks: those of fastText's
subwords (P. Bojanowski, E. Grave, A. Joulin, T. Mikolov, Enriching word vectors with subword information, 2017) and of Cavnar and Trenkle
(1994), but for the whole word, which is a term already. As terms they are written as patterns: "un*" begins a word, "*ing" ends one, "*app*" is
anywhere within. No word has an asterisk, so an n-gram is never taken for a word.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from nbtext.text.analyzer import Analyzer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

ANYTHING = "*"
"""Stands where a word may go on. One at least is in every character n-gram."""


def char_ngrams(word: str, sizes: range) -> list[str]:
    """The character n-grams of a word, shorter ones first.

    >>> char_ngrams("apple", range(4, 6))
    ['app*', '*appl*', '*pple*', '*ple', 'appl*', '*apple*', '*pple']
    """
    found = []
    length = len(word)
    for n in sizes:
        if n > length + 1:
            break
        if n > 1:
            found.append(word[: n - 1] + ANYTHING)
        found += [f"{ANYTHING}{word[begin : begin + n]}{ANYTHING}" for begin in range(length - n + 1)]
        if n > 1:
            found.append(ANYTHING + word[length - n + 1 :])
    return found


def sizes_of(span: str) -> range:
    """The sizes that a canonical ``N`` or ``N-M`` means.

    >>> sizes_of("3-5"), sizes_of("4")
    (range(3, 6), range(4, 5))
    """
    low, _, high = span.partition("-")
    return range(int(low), int(high or low) + 1)


class CharNgramAnalyzer(Analyzer):
    """What a text means in character n-grams: those of its normalised words that are no stop words."""

    def __init__(
        self, stop_words: Collection[str], sizes: range, term_ids: Callable[[list[str]], Sequence[int] | NDArray[np.int64]]
    ) -> None:
        super().__init__(stop_words, list, term_ids)
        self._sizes = sizes

    def terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """The character n-grams of some surface forms one after the other, and how many each form has."""
        words, words_of = super().terms(forms)
        rows = [char_ngrams(word, self._sizes) for word in words]
        running = np.array([0, *accumulate(map(len, rows))], np.int64)
        ends = running[np.cumsum(words_of, dtype=np.int64)]
        return [gram for row in rows for gram in row], np.diff(ends, prepend=0).tolist()
