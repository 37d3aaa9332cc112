"""N-grams of adjacent terms, and character n-grams of words.

N-grams are of the terms that are adjacent in a document after stop words are dropped.

Character n-grams are counted in addition to words, so that words with similar spelling share terms.
As in fastText (P. Bojanowski, E. Grave, A. Joulin, T. Mikolov, Enriching word vectors with subword
information, 2017) and in Cavnar and Trenkle (1994), a mark before the word and one after it count
as characters. The n-gram of the whole word is omitted, because it is a term already. N-grams are
written as patterns: "un*" starts a word, "*ing" ends one, "*app*" is inside. No word contains an
asterisk, so no n-gram equals a word.
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

    FindPairs = Callable[[Ints, Ints], Ints]
    """Returns the ids of n-grams, given the ids of their parts."""

WILDCARD = "*"
"""Marks where the word continues. Every character n-gram has at least one."""

_NO_NGRAM = -2
"""In place of the id of an n-gram that would cross the end of a document."""


def add_ngrams(
    sequence: TermSequence, order: int, find_pairs: FindPairs, n_starts: int | None = None
) -> TermSequence:
    """Return the sequence with its 2- to ``order``-grams, each after its first term.

    With ``n_starts``, return only terms and n-grams that start with the first ``n_starts`` terms.
    An n-gram is the pair of the (n − 1)-gram before its last term and that term. ``find_pairs``
    returns its id or `UNKNOWN_TERM`.
    """
    if order == 1:
        return sequence
    documents, terms = sequence
    columns = [terms]
    for n in range(2, order + 1):
        prefixes = columns[-1][: 1 - n]
        last = terms[n - 1 :]
        is_within_document = documents[n - 1 :] == documents[: 1 - n]
        known_pairs = np.flatnonzero(is_within_document & (prefixes >= 0) & (last >= 0))
        column = np.full(terms.size, _NO_NGRAM)
        column[: is_within_document.size][is_within_document] = UNKNOWN_TERM
        column[known_pairs] = find_pairs(prefixes[known_pairs], last[known_pairs])
        columns.append(column)
    interleaved = np.stack(columns, axis=1)[:n_starts].ravel()
    is_present = interleaved != _NO_NGRAM
    repeated_documents = np.repeat(documents[:n_starts], order)
    return TermSequence(repeated_documents[is_present], interleaved[is_present])


def make_char_ngrams(word: str, sizes: range) -> list[str]:
    """Return the character n-grams of a word, shorter ones first.

    >>> make_char_ngrams("apple", range(4, 6))
    ['app*', '*appl*', '*pple*', '*ple', 'appl*', '*apple*', '*pple']
    """
    ngrams = []
    for n in sizes:
        if n > len(word) + 1:
            break
        if n > 1:
            ngrams.append(word[: n - 1] + WILDCARD)
        ngrams += [
            f"{WILDCARD}{word[start : start + n]}{WILDCARD}" for start in range(len(word) - n + 1)
        ]
        if n > 1:
            ngrams.append(WILDCARD + word[len(word) - n + 1 :])
    return ngrams


def parse_ngram_sizes(span: str) -> range:
    """Return the sizes in a canonical ``N`` or ``N-M``.

    >>> parse_ngram_sizes("3-5"), parse_ngram_sizes("4")
    (range(3, 6), range(4, 5))
    """
    low, _, high = span.partition("-")
    return range(int(low), int(high or low) + 1)


class CharNgramAnalyzer(Analyzer):
    """Turns texts into character n-grams of their normalised words, without stop words.

    In scripts without spaces, each whole run is a word, unless ``unspaced`` is `WORDS`.
    """

    def __init__(
        self,
        stop_words: Collection[str],
        sizes: range,
        find_terms: FindTerms,
        unspaced: str = WORDS,
    ) -> None:
        super().__init__(stop_words, list, find_terms, WORDS if unspaced == WORDS else RUNS)
        self._sizes = sizes

    def extract_terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the character n-grams of surface forms in order, and their number by form."""
        words, sizes = self.extract_words(forms)
        ngrams = []
        ngram_counts = []
        for word in words:
            word_ngrams = make_char_ngrams(word, self._sizes)
            ngrams += word_ngrams
            ngram_counts.append(len(word_ngrams))
        counts = iter(ngram_counts)
        return ngrams, [sum(islice(counts, size)) for size in sizes]
