"""N-grams: adjacent terms of one document, joined. Stop words were dropped before, so the terms around one are adjacent.

Character n-grams: pieces of words, counted beside them, so that words that are spelt alike have something in common.

The n-grams are those of the word with a mark before its beginning and after its end, and of sizes that count the marks: those of fastText's
subwords (P. Bojanowski, E. Grave, A. Joulin, T. Mikolov, Enriching word vectors with subword information, 2017) and of Cavnar and Trenkle
(1994), but for the whole word, which is a term already. As terms they are written as patterns: "un*" begins a word, "*ing" ends one, "*app*" is
anywhere within. No word has an asterisk, so an n-gram is never taken for a word.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from nbtext.text.analyzer import UNKNOWN, Analyzer, TermSequence

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    PairIds = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]


_ABSENT = -2
"""Marks the places near a document's end where no n-gram begins."""


def with_ngrams(sequence: TermSequence, order: int, pair_ids: PairIds, begins: int | None = None) -> TermSequence:
    """The sequence with its 2- to ``order``-grams, each after the term that begins it; of the first ``begins`` terms if given.

    An n-gram is the pair of the (n − 1)-gram before its last term and that term; ``pair_ids`` gives its id, `UNKNOWN` where it has none.
    """
    documents, terms = sequence
    columns = [terms]
    for n in range(2, order + 1):
        left, last = columns[-1][: 1 - n], terms[n - 1 :]
        within = documents[n - 1 :] == documents[: 1 - n]
        known = np.flatnonzero(within & (left >= 0) & (last >= 0))
        column = np.full(terms.size, _ABSENT)
        column[: max(terms.size - n + 1, 0)] = np.where(within, UNKNOWN, _ABSENT)
        column[known] = pair_ids(left[known], last[known])
        columns.append(column)
    if order == 1:
        return sequence
    interleaved = np.stack(columns, axis=1)[:begins].ravel()
    present = interleaved != _ABSENT
    return TermSequence(np.repeat(documents[:begins], order)[present], interleaved[present])


WILDCARD = "*"
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
            found.append(word[: n - 1] + WILDCARD)
        found += [f"{WILDCARD}{word[begin : begin + n]}{WILDCARD}" for begin in range(length - n + 1)]
        if n > 1:
            found.append(WILDCARD + word[length - n + 1 :])
    return found


def ngram_sizes(span: str) -> range:
    """The sizes that a canonical ``N`` or ``N-M`` means.

    >>> ngram_sizes("3-5"), ngram_sizes("4")
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
