"""N-grams of terms that are adjacent in a document once stop words are dropped, and character n-grams of words.

Character n-grams are counted beside words, so that words with similar spelling share terms. They are those of the word with a mark before its
beginning and after its end, which count as characters, as fastText's subwords (P. Bojanowski, E. Grave, A. Joulin, T. Mikolov, Enriching word
vectors with subword information, 2017) and in Cavnar and Trenkle (1994); but not the whole word, which is a term already. They are written
as patterns: "un*" begins a word, "*ing" ends one, "*app*" is anywhere inside. No word has an asterisk, so no n-gram equals a word.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from nbtext.text.analyzer import UNKNOWN_TERM, Analyzer, TermSequence
from nbtext.text.surface_forms import RUNS, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from nbtext.text.analyzer import FindTerms
    from nbtext.type_names import Ints

    PairIds = Callable[[Ints, Ints], Ints]

WILDCARD = "*"
"""Marks where the word goes on; every character n-gram has at least one."""

_ABSENT = -2
"""In place of an n-gram's id near a document's end, where none begins."""


def add_ngrams(
    sequence: TermSequence, order: int, pair_ids: PairIds, n_starts: int | None = None
) -> TermSequence:
    """Return the sequence with its 2- to ``order``-grams, each after its first term; only those that begin with the first ``begins`` terms.

    An n-gram is the pair of the (n − 1)-gram before its last term and that term; ``pair_ids`` returns its id or `UNKNOWN`.
    """
    if order == 1:
        return sequence
    documents, terms = sequence
    columns = [terms]
    for n in range(2, order + 1):
        left = columns[-1][: 1 - n]
        last = terms[n - 1 :]
        within = documents[n - 1 :] == documents[: 1 - n]
        known = np.flatnonzero(within & (left >= 0) & (last >= 0))
        column = np.full(terms.size, _ABSENT)
        column[: within.size][within] = UNKNOWN_TERM
        column[known] = pair_ids(left[known], last[known])
        columns.append(column)
    interleaved = np.stack(columns, axis=1)[:n_starts].ravel()
    present = interleaved != _ABSENT
    return TermSequence(np.repeat(documents[:n_starts], order)[present], interleaved[present])


def make_char_ngrams(word: str, sizes: range) -> list[str]:
    """Return the character n-grams of a word, shorter ones first.

    >>> char_ngrams("apple", range(4, 6))
    ['app*', '*appl*', '*pple*', '*ple', 'appl*', '*apple*', '*pple']
    """
    found = []
    for n in sizes:
        if n > len(word) + 1:
            break
        inside = [
            f"{WILDCARD}{word[begin : begin + n]}{WILDCARD}" for begin in range(len(word) - n + 1)
        ]
        found += (
            inside
            if n == 1
            else [word[: n - 1] + WILDCARD, *inside, WILDCARD + word[len(word) - n + 1 :]]
        )
    return found


def parse_ngram_sizes(span: str) -> range:
    """Return the sizes in a canonical ``N`` or ``N-M``.

    >>> ngram_sizes("3-5"), ngram_sizes("4")
    (range(3, 6), range(4, 5))
    """
    low, _, high = span.partition("-")
    return range(int(low), int(high or low) + 1)


class CharNgramAnalyzer(Analyzer):
    """Turns texts into character n-grams of their normalised words, without stop words, and of whole runs of scripts without spaces."""

    def __init__(
        self, stop_words: Collection[str], sizes: range, term_ids: FindTerms, unspaced: str = WORDS
    ) -> None:
        super().__init__(stop_words, list, term_ids, WORDS if unspaced == WORDS else RUNS)
        self._sizes = sizes

    def extract_terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the character n-grams of surface forms one after the other, and the number of n-grams of each form."""
        words, sizes = self.extract_words(forms)
        rows = [make_char_ngrams(word, self._sizes) for word in words]
        lengths = map(len, rows)
        return [ngram for row in rows for ngram in row], [
            sum(islice(lengths, size)) for size in sizes
        ]
