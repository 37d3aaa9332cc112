"""The one way in which scores are added up: counts of a document-term matrix times weights of terms by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nbtext.counts.document_term import DocumentTermMatrix

CELLS_AT_ONCE = 1 << 21
"""Term-by-class weights held in memory at once while scoring: 16 MiB."""

PRODUCTS_AT_ONCE = 1 << 17
"""Products of counts and weights added up at once: 1 MiB, which stays near the processor."""


def add_weighted_sums(
    scores: NDArray[np.float64], matrix: DocumentTermMatrix, n_terms: int, weights: Callable[[NDArray[np.int64]], NDArray[np.float64]]
) -> None:
    """Add Σ_j n_jd w_jk to the scores, shape (n_docs, n_classes).

    ``weights`` gives those of some terms, shape (n, n_classes); it is asked once for each distinct term, for as many at a time as fit in
    `CELLS_AT_ONCE`.
    """
    distinct, entry_term = _distinct(matrix.terms, n_terms)
    documents = matrix.entry_documents
    step = max(CELLS_AT_ONCE // scores.shape[1], 1)
    for begin in range(0, distinct.size, step):
        part = weights(distinct[begin : begin + step])
        here = slice(None) if distinct.size <= step else np.flatnonzero((entry_term >= begin) & (entry_term < begin + step))
        _add_products(scores, documents[here], entry_term[here] - begin, matrix.counts[here], part)


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
) -> None:
    """Add to each document's scores its counts times the weights of its terms; entries come ordered by document."""
    step = max(PRODUCTS_AT_ONCE // scores.shape[1], 1)
    for begin in range(0, documents.size, step):
        part = slice(begin, begin + step)
        products = weights[terms[part]]
        products *= counts[part, np.newaxis]
        rows = documents[part]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        scores[rows[starts]] += np.add.reduceat(products, starts, axis=0)
