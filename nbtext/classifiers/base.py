"""The interface that every classifier of text stands behind, and the one way in which scores are added up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.document_term import DocumentTermMatrix

CELLS_AT_ONCE = 1 << 21
"""Term-by-class weights held in memory at once while scoring: 16 MiB."""


class Classifier(ABC):
    """A model estimated from counts that scores documents: count, estimate, score."""

    @property
    @abstractmethod
    def bias(self) -> NDArray[np.float64]:
        """What every document gets whatever its terms, shape (n_classes,), in nats: the log class prior."""

    @abstractmethod
    def weights(self, terms: NDArray[np.int64]) -> NDArray[np.float64]:
        """What each occurrence of some terms adds to the score of each class, shape (n, n_classes), in nats."""

    @abstractmethod
    def known(self) -> NDArray[np.bool_]:
        """The terms that count in a score, shape (n_terms,)."""

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> NDArray[np.float64]:
        """log p(d, C_k) of each document, shape (n_docs, n_classes), in nats.

        Sums weight × count over the entries of each document, for as many distinct terms at a time as fit in `CELLS_AT_ONCE`.
        """
        known = self.known()
        if not known.all():
            matrix = matrix.of_terms(known)
        scores = np.tile(self.bias, (matrix.n_documents, 1))
        distinct, entry_term = _distinct(matrix.terms, known.size)
        documents = np.repeat(np.arange(matrix.n_documents), matrix.entries)
        step = max(CELLS_AT_ONCE // scores.shape[1], 1)
        for begin in range(0, distinct.size, step):
            weights = self.weights(distinct[begin : begin + step])
            here = slice(None) if distinct.size <= step else np.flatnonzero((entry_term >= begin) & (entry_term < begin + step))
            _add_products(scores, documents[here], entry_term[here] - begin, matrix.counts[here], weights, step)
        return scores


def _distinct(terms: NDArray[np.int64], n_terms: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct terms, ascending, and the place of each term among them."""
    if terms.size * 16 < n_terms:  # a short document and a large vocabulary: sorting is cheaper than an array of all terms
        return np.unique(terms, return_inverse=True)
    place = np.zeros(n_terms, np.int64)
    place[terms] = 1
    distinct = np.flatnonzero(place)
    place[distinct] = np.arange(distinct.size)
    return distinct, place[terms]


def _add_products(
    scores: NDArray[np.float64],
    documents: NDArray[np.int64],
    terms: NDArray[np.int64],
    counts: NDArray[np.int64],
    weights: NDArray[np.float64],
    step: int,
) -> None:
    """Add to each document's scores its counts times the weights of its terms; entries come ordered by document."""
    for begin in range(0, documents.size, step):
        part = slice(begin, begin + step)
        products = weights[terms[part]]
        products *= counts[part, np.newaxis]
        rows = documents[part]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        scores[rows[starts]] += np.add.reduceat(products, starts, axis=0)
