"""Answers: one for each document, in order, whatever happened to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.decision import log_posterior, minimum_error
from nbtext.text.blocks import blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from nbtext.corpus.document import Document
    from nbtext.errors import DocumentError
    from nbtext.model.text_classifier import TextClassifier

IMPOSSIBLE = "impossible"
"""Why there is no answer: every class has probability zero, as maximum likelihood may have it."""

NO_KNOWN_TERMS = "no-known-terms"
"""Why an answer is only the class prior's: the document holds no term that the model knows."""


class Answer(NamedTuple):
    """The answer to one document: a label with its probability, or why there is none."""

    id: str
    label: str | None
    probability: float | None
    abstained: str | None = None
    problem: DocumentError | None = None
    notice: str | None = None


class ScoredBlock(NamedTuple):
    """Consecutive documents with log p(C_k | d), shape (n_docs, n_classes), in nats, and their known tokens, shape (n_docs,)."""

    documents: list[Document]
    log_posterior: NDArray[np.float64]
    lengths: NDArray[np.int64]


def scored(model: TextClassifier, documents: Iterable[Document]) -> Iterator[ScoredBlock]:
    """Posteriors of a stream of documents, block by block; those that could not be read count as empty."""
    for block in blocks(documents, lambda document: len(document.text)):
        scores, lengths = model.score_block([document.text for document in block])
        yield ScoredBlock(block, log_posterior(scores), lengths)


def answers(model: TextClassifier, documents: Iterable[Document]) -> Iterator[Answer]:
    """The most probable class of each document of a stream, exactly one answer each, in order."""
    classes = model.classes_
    for block, posterior, lengths in scored(model, documents):
        best = minimum_error(posterior)
        probabilities = np.exp(posterior[np.arange(len(block)), best])
        for document, number, probability, length in zip(block, best.tolist(), probabilities.tolist(), lengths.tolist(), strict=True):
            if document.problem is not None:
                yield Answer(document.id, None, None, problem=document.problem)
            elif number < 0:
                yield Answer(document.id, None, None, abstained=IMPOSSIBLE)
            else:
                yield Answer(document.id, classes[number], probability, notice=None if length else NO_KNOWN_TERMS)
