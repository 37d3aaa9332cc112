"""A document without some of its words, or with more: how the model then answers."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from nbtext.attributes import parted
from nbtext.text.analyzer import UNKNOWN
from nbtext.text.blocks import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from nbtext.model.located import WordLocator
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
        added = [f"{word}:1" if self.counted else word for word in words]
        return b" ".join((self.text, *(word.encode() for word in added))) + self._values

    def gaps(self, documents: Sequence[bytes]) -> NDArray[np.float64]:
        """How far the class is behind the best other in each document, shape (n_docs,), in nats of the score: below −`MARGIN` it is the answer."""
        return np.concatenate([np.empty(0), *self._gaps(documents)])

    def probability(self, document: bytes) -> float:
        """Of the class, calibrated."""
        return float(np.exp(self.model.score_block([document]).log_posterior[0, self.wanted]))

    def _gaps(self, documents: Sequence[bytes]) -> Iterator[NDArray[np.float64]]:
        for block in blocks(documents, len, self.model.documents_at_once):
            scored = self.model.score_block(block)
            others = np.delete(scored.scores, self.wanted, axis=1).max(axis=1)
            with np.errstate(invalid="ignore"):
                gaps = np.nan_to_num(others - scored.scores[:, self.wanted], nan=np.inf, posinf=np.inf, neginf=-np.inf)
            answered = scored.log_posterior.argmax(axis=1) == self.wanted
            yield np.where(answered, gaps, np.maximum(gaps, 0.0))
