"""Make n-grams of adjacent terms, and character n-grams of words.

Terms are adjacent if no other term is between them; dropped stop words may be.

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

from nbtext.text.analyzer import UNKNOWN_TERM, Analyzer, TermSequence
from nbtext.text.surface_forms import RUNS, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from nbtext.text.analyzer import FindTerms
    from nbtext.type_names import Ints

    FindPairs = Callable[[Ints, Ints], Ints]
    """Returns the ids of n-grams, given the ids of their (n − 1)-grams and of their last terms."""

WILDCARD = "*"
"""Marks where the word continues. Every character n-gram has at least one wildcard."""

_NO_NGRAM = -2
"""Stands for an n-gram that would cross the end of a document."""


def add_ngrams(
    sequence: TermSequence, order: int, find_pairs: FindPairs, n_starts: int | None = None
) -> TermSequence:
    """Return the sequence with its 2- to ``order``-grams, each after its first term.

    An n-gram is the pair of an (n − 1)-gram and the last term. ``find_pairs`` returns the id of the
    n-gram, or `UNKNOWN_TERM`. With ``n_starts``, return only terms and n-grams that start with the
    first ``n_starts`` terms.
    """
    if order == 1:
        return sequence
    documents, terms = sequence
    # Element i of a column is the id of the n-gram that starts with term i.
    columns = [terms]
    for n in range(2, order + 1):
        n_ngrams = max(terms.size - (n - 1), 0)
        prefixes = columns[-1][:n_ngrams]
        last_terms = terms[n - 1 :]
        is_within_document = documents[n - 1 :] == documents[:n_ngrams]
        has_known_parts = is_within_document & (prefixes >= 0) & (last_terms >= 0)
        column = np.full(terms.size, _NO_NGRAM)
        ngrams = column[:n_ngrams]  # a view
        ngrams[is_within_document] = UNKNOWN_TERM
        ngrams[has_known_parts] = find_pairs(prefixes[has_known_parts], last_terms[has_known_parts])
        columns.append(column)
    ids = np.stack(columns, axis=1)[:n_starts].ravel()  # term by term
    is_id = ids != _NO_NGRAM
    start_documents = np.repeat(documents[:n_starts], order)
    return TermSequence(start_documents[is_id], ids[is_id])


def make_char_ngrams(word: str, sizes: range) -> list[str]:
    """Return the character n-grams of a word, by ascending n, then in order.

    An n-gram at the start or the end of the word has n − 1 characters, because the mark there
    counts as a character.

    >>> make_char_ngrams("apple", range(4, 6))
    ['app*', '*appl*', '*pple*', '*ple', 'appl*', '*apple*', '*pple']
    """
    ngrams = []
    for n in sizes:
        n_at_edge = n - 1
        if n_at_edge > len(word):
            break
        if n_at_edge:
            ngrams.append(word[:n_at_edge] + WILDCARD)
        ngrams += [
            f"{WILDCARD}{word[start : start + n]}{WILDCARD}" for start in range(len(word) - n + 1)
        ]
        if n_at_edge:
            ngrams.append(WILDCARD + word[-n_at_edge:])
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

    In scripts without spaces, each whole run is a word, unless ``unspaced`` is `WORDS`.
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
        super().__init__(stop_words, stem=list, find_terms=find_terms, unspaced=unspaced)
        self._sizes = sizes

    def extract_terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the character n-grams of surface forms in order, and their number by form."""
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
