"""A document without some of its words, or with more: how the model then answers."""

from __future__ import annotations

from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from nbtext.attributes import parted
from nbtext.counts.counting import document_counter
from nbtext.model.changed_counts import changed_counts
from nbtext.ragged import flat_indices, offsets
from nbtext.text.analyzer import UNKNOWN, blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.model.located import WordLocator
    from nbtext.model.scored_texts import ScoredTexts
    from nbtext.model.text_classifier import TextClassifier

MARGIN = 1e-9
"""Nats by which a class has to be ahead to be the answer: a tie is none, and rounding decides nothing."""


class ChangedTexts:
    """What becomes of one document, seen from a class that is to be its answer."""

    def __init__(self, model: TextClassifier, locator: WordLocator, document: bytes, wanted: int) -> None:
        self.model, self.locator, self.wanted = model, locator, wanted
        self.text = parted(document)[0] if model.statistics.attributes.names else document
        self._values = document[len(self.text) :]
        self.located = locator.locate(self.text)
        self.counted = model.reading["format"] == "svmlight"
        self.names = list(dict.fromkeys(self.located.names))
        number = {name: place for place, name in enumerate(self.names)}
        self.name_of = np.array([number[name] for name in self.located.names], np.int64)
        """The number of the surface word of each word, shape (n_words,)."""

    def removable(self) -> NDArray[np.int64]:
        """Numbers of the surface words whose absence may change scores: they become terms, or with n-grams stand between terms."""
        known = self.model.learnt.selected
        counts = np.flatnonzero((self.located.terms != UNKNOWN) & known[self.located.terms])
        found = np.zeros(len(self.names), np.bool_)
        found[self.name_of[self.located.words[counts]]] = True
        if self.model.parameters["ngrams"] > 1:
            found[self.name_of[[place for place, own in enumerate(self.located.own) if own]]] = True
        return np.flatnonzero(found)

    def occurrences(self, numbers: Sequence[int]) -> int:
        """How often some surface words occur, together."""
        return int(self.located.counts[np.isin(self.name_of, numbers)].sum())

    def without(self, numbers: Sequence[int]) -> bytes:
        """The document with spaces in place of every occurrence of some surface words."""
        gone = np.flatnonzero(np.isin(self.name_of, numbers))
        bounds = [
            0,
            *chain.from_iterable(zip(self.located.begins[gone].tolist(), self.located.ends[gone].tolist(), strict=True)),
            len(self.text),
        ]
        return b" ".join(self.text[begin:end] for begin, end in zip(bounds[::2], bounds[1::2], strict=True)) + self._values

    def with_words(self, words: Sequence[str]) -> bytes:
        """The document with words at the end of its text."""
        return b" ".join((self.text, *map(self.written, words))) + self._values

    def gaps(self, documents: Sequence[bytes]) -> NDArray[np.float64]:
        """How far the class is behind the best other in each document, shape (n_docs,), in nats of the score: below −`MARGIN` it is the answer."""
        found = (self.model.score_block(block) for block in blocks(documents, len, self.model.documents_at_once))
        return np.concatenate([np.empty(0), *map(self._gaps, found)])

    def gaps_without(self, sets: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return the gaps of the document without each set of surface words: from its counts where words have no part in each other's terms."""
        if self.model.parameters["ngrams"] > 1:
            return self.gaps([self.without(numbers) for numbers in sets])
        begins, order = self._parts
        names = np.array([number for numbers in sets for number in numbers], np.int64)
        sizes = begins[names + 1] - begins[names]
        parts = order[flat_indices(begins[names], sizes)]
        rows = np.repeat(np.repeat(np.arange(len(sets)), [len(numbers) for numbers in sets]), sizes)
        return self._gaps_of_counts(len(sets), rows, self.located.terms[parts], -self.located.shares[parts])

    def gaps_with(self, lists: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """Return the gaps of the document with each list of words at its end, likewise."""
        if self.model.parameters["ngrams"] > 1:
            return self.gaps([self.with_words(words) for words in lists])
        located = {word: self.locator.locate(self.written(word)) for words in lists for word in words}
        added = [(row, located[word]) for row, words in enumerate(lists) for word in words]
        rows = np.repeat([row for row, _ in added], [of.terms.size for _, of in added])
        terms, shares = (np.concatenate([np.empty(0), *column]) for column in zip(*((of.terms, of.shares) for _, of in added), strict=True))
        return self._gaps_of_counts(len(lists), rows, terms.astype(np.int64), shares)

    def probability(self, document: bytes) -> float:
        """Of the class, calibrated."""
        return float(np.exp(self.model.score_block([document]).log_posterior[0, self.wanted]))

    @cached_property
    def matrix(self) -> DocumentTermMatrix:
        """The counts of the document alone."""
        model = self.model
        counter = document_counter(model.parameters, model.stop_list, model.statistics.vocabulary, model.reading)
        return counter.count([self.without([])]).matrix()

    @cached_property
    def _parts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The parts of the terms that are in the document, by surface word: where those of each word begin, and their numbers in that order."""
        names = self.name_of[self.located.words]
        return offsets(np.bincount(names, minlength=len(self.names))), np.argsort(names, kind="stable")

    def _gaps_of_counts(
        self, n: int, rows: NDArray[np.int64], terms: NDArray[np.int64], amounts: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        known = terms != UNKNOWN
        copies = changed_counts(self.matrix, n, rows[known], terms[known], amounts[known].astype(np.int64), self.model.documents_at_once)
        return np.concatenate([np.empty(0), *(self._gaps(self.model.score_counts(block)) for block in copies)])

    def _gaps(self, scored: ScoredTexts) -> NDArray[np.float64]:
        others = np.delete(scored.scores, self.wanted, axis=1).max(axis=1)
        with np.errstate(invalid="ignore"):
            gaps = np.nan_to_num(others - scored.scores[:, self.wanted], nan=np.inf, posinf=np.inf, neginf=-np.inf)
        answered = scored.log_posterior.argmax(axis=1) == self.wanted
        found: NDArray[np.float64] = np.where(answered, gaps, np.maximum(gaps, 0.0))
        return found

    def written(self, word: str) -> bytes:
        """Return a word as the document would hold it."""
        return f"{word}:1".encode() if self.counted else word.encode()
