"""The part of a document that speaks loudest for a wrong answer, with the words that spoke for and against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.attributes import KINDS, parted
from nbtext.counts.counting import document_counter
from nbtext.model.contributions import shared_out, term_contributions
from nbtext.model.located import WordLocator
from nbtext.model.report_data import Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.model.located import LocatedWords
    from nbtext.model.text_classifier import TextClassifier

NO_VALUES = dict.fromkeys(KINDS)
"""How texts are read whose values have been taken away."""

LONGEST = 420
"""Bytes of an excerpt, about."""

LOOKED_AT = 1 << 16
"""Bytes of a document that are looked through."""

AUDIBLE = 1.0986122886681098
"""Nats from which on a word is marked, log 3: it triples the odds."""


class Excerpts:
    """Excerpts of the documents of a model. Words are weighed as `nbtext.model.explanation` has it."""

    def __init__(self, model: TextClassifier) -> None:
        self._model = model
        self._attributes = model.statistics.attributes.names
        self._counter = document_counter(model.parameters, model.stop_list, model.statistics.vocabulary, {**model.reading, **NO_VALUES})
        self._locator = WordLocator(model)

    def excerpt(self, text: bytes, answer: int, rival: int) -> tuple[Piece, ...]:
        """About `LONGEST` bytes in valid UTF-8, white space as single spaces, where most speaks for class ``answer`` against ``rival``; then attributes."""
        text, values = parted(text)
        text = b" ".join(_decoded(text[:LOOKED_AT]).encode().split())
        located = self._locator.locate(text)
        words = list(zip(located.begins.tolist(), located.ends.tolist(), strict=True))
        nats = self._evidence(text, located, answer, rival)
        first, last = _loudest(words, np.maximum(nats, 0), len(text))
        pieces = [Piece("… ")] if first else []
        done = first
        for (begin, end), weight in zip(words, nats.tolist(), strict=True):
            if begin < first or end > last or abs(weight) < AUDIBLE:
                continue
            pieces += [Piece(_decoded(text[done:begin])), Piece(_decoded(text[begin:end]), weight)]
            done = end
        pieces += [Piece(_decoded(text[done:last])), *([Piece(" …")] if last < len(text) else [])]
        pieces += [Piece(f" {name}={value}") for name, value in zip(self._attributes, values, strict=False) if value]
        return tuple(piece for piece in pieces if piece.text)

    def _evidence(self, text: bytes, located: LocatedWords, answer: int, rival: int) -> NDArray[np.float64]:
        """What each word adds to the score of ``answer`` over ``rival``, shape (n_words,), in nats; 0 if that depends on the others."""
        found = term_contributions(
            self._model.classifier.of_texts, self._counter.count([text]).matrix(), np.array([answer]), np.array([rival])
        )
        if found is None:
            return np.zeros(located.begins.size)
        return np.nan_to_num(shared_out(located, *found), nan=0.0, posinf=np.inf, neginf=-np.inf)  # nan where both classes are ruled out


def _loudest(words: Sequence[tuple[int, int]], loudness: NDArray[np.float64], end: int) -> tuple[int, int]:
    """Where to begin and end: the run of whole words in about `LONGEST` bytes that is loudest in sum, the first of equals."""
    if end <= LONGEST:
        return 0, end
    if not words:
        return 0, LONGEST
    begins, ends = np.array(words).T
    beyond = np.maximum(np.searchsorted(ends, begins + LONGEST, side="right"), np.arange(begins.size) + 1)
    running = np.concatenate((np.zeros(1), np.cumsum(np.minimum(loudness, 1e6))))
    best = int((running[beyond] - running[:-1]).argmax())
    first = int(begins[best]) if best else 0
    last = end if beyond[best] == begins.size else int(ends[beyond[best] - 1])
    return first, min(last, first + 2 * LONGEST)


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "ignore")  # what is cut may end within a character
