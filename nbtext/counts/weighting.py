"""What a term of a document counts: how often it occurs, that it does, or less the more often it occurs and the more documents hold it.

Sources: J. Rennie et al., Tackling the poor assumptions of naive Bayes text classifiers (2003), section 4, for log, inverse document
frequency and length; G. Salton, C. Buckley, Term-weighting approaches in automatic text retrieval (1988).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.counts.corpus_counts import cells_of_entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics

    Floats = NDArray[np.float64]

NEEDS_DOCUMENTS = ("log", "tfidf")
"""The weightings whose sums over documents do not follow from the statistics."""

UNITS = 1 << 30
"""Weights are summed in units of 1 / `UNITS`: their sums are exact below eight million, so they do not depend on the order of documents."""


def log_counts(counts: NDArray[Any]) -> Floats:
    """log(1 + n), shape (n_entries,)."""
    logs: Floats = np.log1p(counts, dtype=np.float64)
    return logs


def inverse_document_frequency(statistics: ClassStatistics, terms: NDArray[Any]) -> Floats:
    """log(D / df_j) of some terms, each in one document at least, shape (n,): 0 for a term that all documents hold."""
    logs: Floats = np.log(statistics.n_documents / statistics.term_documents[terms])
    return logs


def unit_length(weights: Floats, documents: NDArray[np.int64], n_documents: int) -> Floats:
    """The weights of each document divided by the square root of the sum of their squares, shape (n_entries,); zeros stay zeros."""
    length = np.sqrt(np.bincount(documents, weights**2, n_documents))[documents]
    scaled: Floats = np.divide(weights, length, out=np.zeros_like(weights), where=length > 0)
    return scaled


def weighted(matrix: DocumentTermMatrix, weighting: str, statistics: ClassStatistics) -> DocumentTermMatrix:
    """The matrix with weights in place of counts: ``counts`` n, ``binary`` 1, ``log`` log(1 + n), ``tfidf`` log(1 + n) · log(D / df), unit length.

    D and df are those of the statistics. The matrix holds the terms that count and no others: they make up the length. Terms of no weight
    are left out.
    """
    if weighting == "counts":
        return matrix
    if weighting == "binary":
        return matrix._replace(counts=np.ones_like(matrix.counts))
    weights = _weights(matrix, weighting, statistics)
    found = matrix._replace(counts=weights)
    return found if weights.all() else found.of_entries(weights > 0)


def _weights(matrix: DocumentTermMatrix, weighting: str, statistics: ClassStatistics) -> Floats:
    """The weight of each entry, shape (n_entries,), for one of `NEEDS_DOCUMENTS`."""
    weights = log_counts(matrix.counts)
    if weighting == "tfidf":
        weights *= inverse_document_frequency(statistics, matrix.terms)
        weights = unit_length(weights, matrix.entry_documents, matrix.n_documents)
    return weights


def weighted_cells(
    weighting: str, statistics: ClassStatistics, selected: NDArray[np.bool_], documents: CountedDocuments | None
) -> NDArray[Any]:
    """The sum of the weights of each cell's term in the documents of its class, shape (n_cells,).

    ``documents`` are all those of the statistics; only `NEEDS_DOCUMENTS` need them. Terms that are not selected have no weight there.
    """
    if weighting == "counts":
        return statistics.cell_counts
    if weighting == "binary":
        return statistics.cell_documents
    if documents is None:
        raise ValueError(f"--weighting {weighting} needs the documents")
    cells = cells_of_entries(statistics, documents)
    matrix = documents.matrix
    if not selected.all():
        kept = selected[matrix.terms]
        cells, matrix = cells[kept], matrix.of_entries(kept)
    units = np.rint(_weights(matrix, weighting, statistics) * UNITS)
    return np.bincount(cells, units, statistics.cell_classes.size) / UNITS
