"""The part of a document that speaks loudest for a wrong answer, with the words that spoke for and against it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.document_term import DocumentTermMatrix
from nbtext.model.counting import analyzers
from nbtext.model.report_data import Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from nbtext.classifiers.base import LinearClassifier
    from nbtext.model.text_classifier import TextClassifier

LONGEST = 420
"""Bytes of an excerpt, about."""

LOOKED_AT = 1 << 16
"""Bytes of a document that are looked through."""

AUDIBLE = 1.0986122886681098
"""Nats from which on a word is marked, log 3: it triples the odds."""

_SURFACE = re.compile(rb"[0-9A-Za-z'\x80-\xff]+")  # as in nbtext.text.surfaces
_COUNTED = re.compile(rb"[^\s]+")


class Excerpts:
    """Excerpts of the documents of a model. Words are weighed one by one, with their character n-grams; n-grams of words are not marked."""

    def __init__(self, model: TextClassifier) -> None:
        self._model = model
        found = analyzers(model.parameters, model.stop_list, model.statistics.vocabulary)
        counted = model.reading["format"] == "svmlight"
        self._words = _COUNTED if counted else _SURFACE
        self._terms: list[Callable[[list[bytes]], tuple[list[str], list[int]]]] = [_names] if counted else [of.terms for of in found]

    def excerpt(self, text: bytes, answer: int, rival: int) -> tuple[Piece, ...]:
        """About `LONGEST` bytes in valid UTF-8, white space as single spaces, where most speaks for class ``answer`` against ``rival``."""
        text = b" ".join(_decoded(text[:LOOKED_AT]).encode().split())
        words = [match.span() for match in self._words.finditer(text)]
        nats = self._evidence([text[begin:end].lower() for begin, end in words], answer, rival)
        first, last = _loudest(words, np.maximum(nats, 0), len(text))
        pieces = [Piece("… ")] if first else []
        done = first
        for (begin, end), weight in zip(words, nats.tolist(), strict=True):
            if begin < first or end > last or abs(weight) < AUDIBLE:
                continue
            before, word, after = _trimmed(_decoded(text[begin:end]))
            pieces += [Piece(_decoded(text[done:begin]) + before), Piece(word, weight), Piece(after)]
            done = end
        pieces += [Piece(_decoded(text[done:last])), *([Piece(" …")] if last < len(text) else [])]
        return tuple(piece for piece in pieces if piece.text)

    def _evidence(self, forms: list[bytes], answer: int, rival: int) -> NDArray[np.float64]:
        """What an occurrence of each form adds to the score of ``answer`` over ``rival``, shape (n_forms,), in nats; 0 if that depends on the others."""
        linear = self._model.linear
        if linear is None:
            return np.zeros(len(forms))
        return sum((self._of_terms(linear, *terms(forms), answer, rival) for terms in self._terms), np.zeros(len(forms)))

    def _of_terms(self, linear: LinearClassifier, terms: list[str], sizes: list[int], answer: int, rival: int) -> NDArray[np.float64]:
        """The same of the terms of each form, of which it has so many."""
        ids = np.array(self._model.statistics.vocabulary.find(terms), np.int64)
        nats = np.zeros(ids.size)
        known = np.flatnonzero(ids >= 0)
        known = known[linear.known()[ids[known]]]
        distinct, places, counts = np.unique(ids[known], return_inverse=True, return_counts=True)
        features = linear.features(DocumentTermMatrix(np.array([0, distinct.size]), distinct, counts, np.zeros(1, np.int64)))
        of_each = np.zeros(distinct.size)
        of_each[np.searchsorted(distinct, features.terms)] = features.counts
        weights = linear.weights(distinct)
        with np.errstate(invalid="ignore"):
            nats[known] = (of_each / counts * (weights[:, answer] - weights[:, rival]))[places]
        of_forms = np.bincount(np.repeat(np.arange(len(sizes)), sizes), nats, len(sizes))
        return np.where(np.isnan(of_forms), 0.0, of_forms)  # both classes ruled out


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


def _trimmed(surface: str) -> tuple[str, str, str]:
    """A surface form without the signs around its words, and these signs: beyond ASCII they are part of it."""
    letters = [place for place, character in enumerate(surface) if character.isalnum()] or [0, len(surface) - 1]
    first, end = letters[0], letters[-1] + 1
    return surface[:first], surface[first:end], surface[end:]


def _names(forms: list[bytes]) -> tuple[list[str], list[int]]:
    """Terms of counted features, ``name:count``."""
    names = [form.rpartition(b":")[0] or form for form in forms]
    return [_decoded(name) for name in names], [1] * len(names)


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "ignore")  # what is cut may end within a character
