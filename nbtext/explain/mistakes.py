"""Wrong answers: the terms that tipped each of them, and an excerpt of the document with the words that speak for and against the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.corpus.document import Document, collect_contents
from nbtext.counts.vocabulary import display_term
from nbtext.document_fields import render_document
from nbtext.explain.contributions import (
    compute_term_contributions,
    distribute_to_words,
    split_weighted_text,
)
from nbtext.explain.token_trace import TokenTracer
from nbtext.metrics.results import JSON_UNLESS_EMPTY, NOT_IN_JSON
from nbtext.prediction.labels import format_label
from nbtext.prediction.posterior import find_runner_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.fitted_model import FittedModel
    from nbtext.prediction.labels import Label
    from nbtext.prediction.rule import Decision
    from nbtext.scoring import ScoredBlock
    from nbtext.type_names import Floats, Ints

MAX_EXCERPT_BYTES = 420
"""Bytes of an excerpt, about."""

MAX_EXCERPT_SEARCH_BYTES = 1 << 16
"""Bytes of a text, and of each field, that are searched for an excerpt."""

HIGHLIGHT_NATS = 1.0986122886681098
"""Nats from which on a word is marked, log 3: it triples the odds."""

MAX_TIPPING_TERMS = 10
"""Terms listed for each wrong answer."""


class ExcerptPiece(NamedTuple):
    """A piece of a text, and what it adds to the answer's score over that of the true class, in nats; 0 for what counts for neither."""

    text: str
    nats: float = 0.0


class _TippingTerm(NamedTuple):
    """A term of a document, and what its occurrences add to the score of the answer over that of the true class, in nats."""

    term: str
    nats: float


@dataclass(frozen=True, slots=True)
class Misclassification:
    """A document with the wrong answer."""

    id: str
    truth: str
    answer: str
    probability: float
    """Of the answer."""
    margin: float = field(metadata=NOT_IN_JSON)
    """log p(answer | d) − log p(truth | d), in nats; below 0 where costs made the answer. With an unknown truth, over ``against``."""
    terms: tuple[_TippingTerm, ...]
    """The `TERMS_SHOWN` terms that speak most for the answer, strongest first, none if scores are no sums over terms; inf nats if the term rules the true class out."""
    against: str | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """If the model does not know the true class: the most probable class but the answer, to which the terms compare it."""


class ExcerptFinder:
    """Excerpts of documents, their words weighed by a model as `nbtext.explain.explanation` does."""

    def __init__(self, model: FittedModel) -> None:
        self._model = model
        self._walker = TokenTracer.from_model(model)

    def find_excerpt(self, document: Document, answer: int, rival: int) -> tuple[ExcerptPiece, ...]:
        """Return about `LONGEST` bytes of a document's text and fields, white space as single spaces, where most speaks for class ``answer`` against ``rival``.

        Attributes follow. Words speak for neither where both classes are ruled out, or scores are no sums over terms.
        """
        text = _squeezed(document.text)
        fields = [(name, _squeezed(content)) for name, content in document.fields]
        located = self._walker.locate_words(text, fields, splits_pairs=True)
        matrix = self._model.count_texts([text], [fields])
        pair = (np.array([answer]), np.array([rival]))
        found = compute_term_contributions(self._model.text_classifier, matrix, *pair)
        nats = (
            np.zeros(located.starts.size)
            if found is None
            else np.nan_to_num(distribute_to_words(located, *found), posinf=inf, neginf=-inf)
        )
        text = render_document(text, fields)
        first, last = _loudest(located.starts, located.ends, np.maximum(nats, 0), len(text))
        heard = (
            (located.starts >= first) & (located.ends <= last) & (np.abs(nats) >= HIGHLIGHT_NATS)
        )
        places = zip(
            (located.starts[heard] - first).tolist(),
            (located.ends[heard] - first).tolist(),
            nats[heard].tolist(),
            strict=True,
        )
        quoted = (
            text[first:last].decode("utf-8", "ignore").replace("\n", " ")
        )  # the cut may be within a character
        pieces = [
            ExcerptPiece("… " if first else ""),
            *(ExcerptPiece(*piece) for piece in split_weighted_text(quoted, places)),
        ]
        pieces += [
            ExcerptPiece(" …" if last < len(text) else ""),
            *(
                ExcerptPiece(f" {name}={value}")
                for name, value in zip(
                    self._model.statistics.attributes.names, document.values, strict=False
                )
                if value
            ),
        ]
        return tuple(piece for piece in pieces if piece.text)


def _loudest(begins: Ints, ends: Ints, loudness: Floats, end: int) -> tuple[int, int]:
    """Return begin and end of the run of whole words in about `LONGEST` bytes that is loudest in sum, the first of equals."""
    if end <= MAX_EXCERPT_BYTES:
        return 0, end
    if not begins.size:
        return 0, MAX_EXCERPT_BYTES
    beyond = np.maximum(
        np.searchsorted(ends, begins + MAX_EXCERPT_BYTES, side="right"), np.arange(begins.size) + 1
    )
    running = np.concatenate((np.zeros(1), np.cumsum(np.minimum(loudness, 1e6))))
    best = int((running[beyond] - running[:-1]).argmax())
    first = int(begins[best]) if best else 0
    last = end if beyond[best] == begins.size else int(ends[beyond[best] - 1])
    return first, min(last, first + 2 * MAX_EXCERPT_BYTES)


def _squeezed(text: bytes) -> bytes:
    return b" ".join(text[:MAX_EXCERPT_SEARCH_BYTES].decode("utf-8", "ignore").encode().split())


class MistakeFinder:
    """Finds the wrong answers among the documents of a block."""

    def __init__(self, model: FittedModel) -> None:
        self._model = model
        self._classes = model.classes
        self._number: dict[Label, int] = {
            label: number for number, label in enumerate(self._classes)
        }

    def get_class_indices(self, block: ScoredBlock) -> Ints:
        """Return the number of each document's label, −1 for one that the model does not know, shape (n_docs,)."""
        return np.array([self._number.get(label, -1) for label in block.labels], np.int64)

    def find_mistakes(self, block: ScoredBlock, decision: Decision) -> Iterator[Misclassification]:
        """Yield the documents whose answer is not their label, in order; those without an answer are left out. Counts them once more."""
        truth = self.get_class_indices(block)
        wrong = np.flatnonzero((decision.predictions >= 0) & (decision.predictions != truth))
        if not wrong.size:
            return
        answers = decision.predictions[wrong]
        posterior = block.log_posterior[wrong]
        rivals = np.where(truth[wrong] >= 0, truth[wrong], find_runner_up(posterior, answers))
        matrix = self._model.count_texts(
            *collect_contents([block.documents[row] for row in wrong.tolist()])
        )
        contributions = compute_term_contributions(
            self._model.text_classifier, matrix, answers, rivals
        )
        tipping = (
            [()] * wrong.size if contributions is None else self._tipping_terms(*contributions)
        )
        every = np.arange(wrong.size)
        with np.errstate(invalid="ignore"):
            margins = posterior[every, answers] - posterior[every, rivals]
        for place, row in enumerate(wrong.tolist()):
            document = block.documents[row]
            yield Misclassification(
                document.id,
                format_label(document.label or ""),
                self._classes[answers[place]],
                float(decision.probabilities[row]),
                float(margins[place]),
                tipping[place],
                self._classes[rivals[place]] if truth[row] < 0 else None,
            )

    def _tipping_terms(
        self, matrix: DocumentTermMatrix, nats: Floats
    ) -> list[tuple[_TippingTerm, ...]]:
        found = []
        vocabulary = self._model.statistics.vocabulary
        for begin, end in pairwise(matrix.offsets.tolist()):
            speaking = begin + np.flatnonzero(
                nats[begin:end] > 0
            )  # nan, where a term rules out both classes, is not
            best = speaking[
                np.lexsort((matrix.terms[speaking], -nats[speaking]))[:MAX_TIPPING_TERMS]
            ]
            pairs = zip(matrix.terms[best].tolist(), nats[best].tolist(), strict=True)
            found.append(
                tuple(
                    _TippingTerm(display_term(vocabulary.get_term(term)), gain)
                    for term, gain in pairs
                )
            )
        return found
