"""Documents with the wrong answer, and the terms that tipped it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.counts.counting import document_counter
from nbtext.model.contributions import term_contributions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.decision import Decision
    from nbtext.model.answers import ScoredBlock
    from nbtext.model.text_classifier import TextClassifier

TERMS_SHOWN = 10
"""Terms listed for each mistake."""


class TippingTerm(NamedTuple):
    """A term of a document, and what its occurrences add to the score of the answer over that of the true class, in nats."""

    term: str
    nats: float


class Mistake(NamedTuple):
    """A document with the wrong answer."""

    id: str
    truth: str
    answer: str
    probability: float
    """Of the answer."""
    margin: float
    """log p(answer | d) − log p(truth | d), in nats; below 0 where costs made the answer. With an unknown truth, over ``against``."""
    terms: tuple[TippingTerm, ...]
    """The `TERMS_SHOWN` terms that speak most for the answer, strongest first, none if scores are no sums over terms; inf nats where the term rules the true class out."""
    against: str | None = None
    """Where the model does not know the true class: the most probable class but the answer, to which the terms compare it."""


class MistakeFinder:
    """Finds the mistakes among the documents of a block."""

    def __init__(self, model: TextClassifier) -> None:
        self._model = model
        self._classes = model.classes_
        self._number = {label: number for number, label in enumerate(self._classes)}
        self._counter = document_counter(model.parameters, model.stop_list, model.statistics.vocabulary, model.reading)

    def mistakes(self, block: ScoredBlock, decision: Decision) -> Iterator[Mistake]:
        """The documents whose answer is not their label, in order; one without an answer is no mistake. They are counted once more."""
        truth = np.array([self._number.get(document.label or "", -1) for document in block.documents], np.int64)
        wrong = np.flatnonzero((decision.answers >= 0) & (decision.answers != truth))
        if not wrong.size:
            return
        answers, posterior = decision.answers[wrong], block.log_posterior[wrong]
        rivals = np.where(truth[wrong] >= 0, truth[wrong], runner_up(posterior, answers))
        matrix = self._counter.count([block.documents[row].text for row in wrong.tolist()]).matrix()
        contributions = term_contributions(self._model.classifier.of_texts, matrix, answers, rivals)
        tipping = [()] * wrong.size if contributions is None else self._tipping_terms(*contributions)
        every = np.arange(wrong.size)
        with np.errstate(invalid="ignore"):
            margins = posterior[every, answers] - posterior[every, rivals]
        for place, row in enumerate(wrong.tolist()):
            document = block.documents[row]
            yield Mistake(
                document.id,
                document.label or "",
                self._classes[answers[place]],
                float(decision.probabilities[row]),
                float(margins[place]),
                tipping[place],
                self._classes[rivals[place]] if truth[row] < 0 else None,
            )

    def _tipping_terms(self, matrix: DocumentTermMatrix, nats: NDArray[np.float64]) -> list[tuple[TippingTerm, ...]]:
        documents = matrix.entry_documents
        speaking = np.flatnonzero(nats > 0)  # nan, where a term rules out both classes, is not
        order = speaking[np.lexsort((matrix.terms[speaking], -nats[speaking], documents[speaking]))]
        bounds = np.searchsorted(documents[order], np.arange(matrix.n_documents + 1)).tolist()
        name = self._model.statistics.vocabulary.term
        found = []
        for begin, end in pairwise(bounds):
            best = order[begin : min(end, begin + TERMS_SHOWN)]
            pairs = zip(matrix.terms[best].tolist(), nats[best].tolist(), strict=True)
            found.append(tuple(TippingTerm(name(term), gain) for term, gain in pairs))
        return found


def runner_up(log_posterior: NDArray[np.float64], answers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The most probable class of each document but its answer, shape (n_docs,); the answer itself where there is no other class."""
    if log_posterior.shape[1] == 1:
        return answers
    others = log_posterior.copy()
    others[np.arange(answers.size), answers] = -np.inf
    best = others.argmax(axis=1)
    next_class: NDArray[np.int64] = (answers + 1) % log_posterior.shape[1]
    return np.where(best == answers, next_class, best).astype(np.int64)  # where all others are impossible, any of them
