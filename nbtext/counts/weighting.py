"""Weights of terms in documents: counts, presence, logarithms and tf-idf.

Sources: J. Rennie et al., Tackling the poor assumptions of naive Bayes text classifiers (2003),
section 4, for logarithms, inverse document frequency and length; G. Salton, C. Buckley,
Term-weighting approaches in automatic text retrieval (1988).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.corpus_counts import find_entry_cells
from nbtext.counts.count_table import LOG_UNITS, log_units

if TYPE_CHECKING:
    from nbtext.counts.count_table import CellCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.type_names import Floats, Ints, Mask, Numbers


def log_counts(counts: Numbers) -> Floats:
    """Return log(1 + n), shape (n_entries,)."""
    return np.log1p(counts, dtype=np.float64)


def inverse_document_frequency(statistics: CellCounts, terms: Numbers) -> Floats:
    """Return log(D / df_j) of terms that occur, from D documents, df_j with term j, shape (n,)."""
    return np.log(statistics.n_documents / statistics.term_documents[terms])


def scale_to_unit_length(weights: Floats, documents: Ints, n_documents: int) -> Floats:
    """Scale the weights of each document to Euclidean length 1, shape (n_entries,).

    ``documents`` are the documents of the entries. Weights of a document that are all 0 stay 0.
    """
    lengths = np.sqrt(np.bincount(documents, weights**2, n_documents))
    entry_lengths = lengths[documents]
    is_scaled = entry_lengths > 0
    return np.divide(weights, entry_lengths, out=np.zeros_like(weights), where=is_scaled)


def weigh_matrix(
    matrix: DocumentTermMatrix, weighting: str, statistics: CellCounts
) -> DocumentTermMatrix:
    """Return the matrix with weights in place of counts; terms with weight 0 are dropped.

    ``weighting`` is the setting: ``counts`` n, ``binary`` 1, ``log`` log(1 + n), or ``tfidf``. For
    ``tfidf``, all terms of the matrix contribute to the length of a document, so the matrix must
    have only selected terms.
    """
    if weighting == "counts":
        return matrix
    if weighting == "binary":
        return matrix._replace(counts=np.ones_like(matrix.counts))
    weights = log_counts(matrix.counts) if weighting == "log" else tfidf(matrix, statistics)
    weighted = matrix._replace(counts=weights)
    if weights.all():
        return weighted
    return weighted.select_entries(weights > 0)


def apply_additive_weighting(documents: CountedDocuments, weighting: str) -> CountedDocuments:
    """Return the documents with the weights of their terms in place of counts.

    ``weighting`` is ``counts``, ``binary`` or ``log``. The sums of the weights over documents are
    those of `weigh_cells`.
    """
    if weighting == "counts":
        return documents
    counts = documents.matrix.counts
    weights = np.ones_like(counts) if weighting == "binary" else log_units(counts) / LOG_UNITS
    return replace(documents, matrix=documents.matrix._replace(counts=weights))


def tfidf(matrix: DocumentTermMatrix, statistics: CellCounts) -> Floats:
    """Return log(1 + n) · log(D / df), scaled to unit length, shape (n_entries,).

    D and df are those of the statistics. Terms that occur in all documents have weight 0.
    """
    weights = log_counts(matrix.counts) * inverse_document_frequency(statistics, matrix.terms)
    return scale_to_unit_length(weights, matrix.entry_documents, matrix.n_documents)


def weigh_cells(
    weighting: str, statistics: CellCounts, selected: Mask, documents: CountedDocuments | None
) -> Numbers:
    """Return the sum of the weights of each cell's term in its documents, shape (n_cells,).

    ``documents`` are all documents of the statistics. They are only used for ``tfidf``, for which
    terms that are not selected have weight 0. Weights are rounded to multiples of 1 / `LOG_UNITS`.
    """
    if weighting == "counts":
        return statistics.cell_counts
    if weighting == "binary":
        return statistics.cell_documents
    if weighting == "log":
        if statistics.cell_logs is None:
            raise ValueError("--weighting log needs the sums of logs")
        return statistics.cell_logs / LOG_UNITS
    if documents is None:
        raise ValueError(f"--weighting {weighting} needs the documents")
    is_selected = selected[documents.matrix.terms]
    cells = find_entry_cells(statistics, documents)[is_selected]
    matrix = documents.matrix.select_entries(is_selected)
    units = np.rint(tfidf(matrix, statistics) * LOG_UNITS)
    return np.bincount(cells, units, statistics.cell_classes.size) / LOG_UNITS
