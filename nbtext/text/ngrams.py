"""Make n-grams of adjacent terms, and character n-grams of words.

Terms are adjacent if no other term is between them. Dropped stop words do not separate terms.

Character n-grams are counted in addition to words, so that words with similar spelling share terms.
As in fastText (P. Bojanowski, E. Grave, A. Joulin, T. Mikolov, Enriching word vectors with subword
information, 2017) and in Cavnar and Trenkle (1994), a mark before the word and a mark after it
count as characters. The n-gram of the whole word is omitted, because it is a term already. N-grams
are written as patterns: "un*" starts a word, "*ing" ends a word, "*app*" is inside a word. No word
contains an asterisk, so no n-gram equals a word.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from nbtext.text.analyzer import UNKNOWN_TERM, Analyzer, TermSequence, keep_words
from nbtext.text.surface_forms import RUNS, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from nbtext.text.analyzer import FindTerms
    from nbtext.type_names import Ints

    FindPairs = Callable[[Ints, Ints], Ints]
    """Returns the ids of n-grams, given the ids of their (n − 1)-grams and of their last terms."""

WILDCARD = "*"
"""Stands for any characters, or for none. Every character n-gram has at least one wildcard."""

_NO_NGRAM = -2
"""Marks an n-gram that would cross the end of a document."""


def add_ngrams(
    sequence: TermSequence, order: int, find_pairs: FindPairs, n_starts: int | None = None
) -> TermSequence:
    """Return the terms of a sequence and its 2- to ``order``-grams.

    Each term is followed by the n-grams that start with the term, by ascending n. An n-gram is the
    pair of an (n − 1)-gram and the last term. If both are known, ``find_pairs`` returns the id of
    the n-gram, or `UNKNOWN_TERM`. With ``n_starts``, return only terms and n-grams that start with
    the first ``n_starts`` terms.
    """
    documents, terms = sequence
    # A column for each n. Element i is the id of the n-gram that starts with term i.
    columns = [terms]
    for n in range(2, order + 1):
        n_ngrams = max(terms.size - (n - 1), 0)
        prefixes = columns[-1][:n_ngrams]
        last_terms = terms[n - 1 :]
        is_within_document = documents[n - 1 :] == documents[:n_ngrams]
        # `UNKNOWN_TERM` and `_NO_NGRAM` are negative.
        has_known_parts = is_within_document & (prefixes >= 0) & (last_terms >= 0)
        column = np.full(terms.size, _NO_NGRAM)
        ngrams = column[:n_ngrams]  # a view
        ngrams[is_within_document] = UNKNOWN_TERM
        ngrams[has_known_parts] = find_pairs(prefixes[has_known_parts], last_terms[has_known_parts])
        columns.append(column)
    rows = np.stack(columns, axis=1)[:n_starts]  # a row of ids for each first term
    ids = rows.ravel()
    is_id = ids != _NO_NGRAM
    start_documents = np.repeat(documents[:n_starts], order)
    return TermSequence(start_documents[is_id], ids[is_id])


def make_char_ngrams(word: str, sizes: range) -> list[str]:
    """Return the character n-grams of a word, by ascending n, then in order.

    An n-gram at the start or the end of the word has n − 1 characters of the word, because the mark
    there counts as a character. For n = 1 there is no such n-gram.

    >>> make_char_ngrams("apple", range(4, 6))
    ['app*', '*appl*', '*pple*', '*ple', 'appl*', '*apple*', '*pple']
    """
    ngrams = []
    for n in sizes:
        n_edge_chars = n - 1
        if n_edge_chars > len(word):
            break  # the word is too short for n-grams of this size and more
        if n_edge_chars:
            ngrams.append(word[:n_edge_chars] + WILDCARD)
        ngrams += [
            f"{WILDCARD}{word[start : start + n]}{WILDCARD}" for start in range(len(word) - n + 1)
        ]
        if n_edge_chars:
            ngrams.append(WILDCARD + word[-n_edge_chars:])
    return ngrams


def parse_ngram_sizes(span: str) -> range:
    """Return the sizes in a valid text ``N`` or ``N-M``.

    >>> parse_ngram_sizes("3-5"), parse_ngram_sizes("4")
    (range(3, 6), range(4, 5))
    """
    min_size, _, max_size = span.partition("-")
    if not max_size:
        max_size = min_size
    return range(int(min_size), int(max_size) + 1)


class CharNgramAnalyzer(Analyzer):
    """Turns texts into character n-grams of their normalised words, without stop words.

    If ``unspaced`` is `WORDS`, runs of scripts without spaces are not split from the form that
    contains them. For any other value, each run is a word, as with `RUNS`.
    """

    def __init__(
        self,
        stop_words: Collection[str],
        sizes: range,
        find_terms: FindTerms,
        unspaced: str = WORDS,
    ) -> None:
        if unspaced != WORDS:
            unspaced = RUNS
        super().__init__(stop_words, stem=keep_words, find_terms=find_terms, unspaced=unspaced)
        self._sizes = sizes

    def extract_terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the character n-grams of surface forms in order, and their number in each form."""
        words, n_words = self.extract_words(forms)
        ngrams: list[str] = []
        n_ngrams = []
        remaining_words = iter(words)
        for n_form_words in n_words:
            start = len(ngrams)
            for word in islice(remaining_words, n_form_words):
                ngrams += make_char_ngrams(word, self._sizes)
            n_ngrams.append(len(ngrams) - start)
        return ngrams, n_ngrams
