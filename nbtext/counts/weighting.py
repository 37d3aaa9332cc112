"""Weights of terms in documents: counts, presence, logarithms and tf-idf.

The settings of weightings are ``counts`` n, ``binary`` 1, ``log`` log(1 + n) and ``tfidf``.
Sources: J. Rennie et al., Tackling the poor assumptions of naive Bayes text classifiers (2003),
section 4, for logarithms, inverse document frequency and length; G. Salton, C. Buckley,
Term-weighting approaches in automatic text retrieval (1988).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.corpus_counts import find_entry_cells
from nbtext.counts.count_table import LOG_UNITS, round_logs

if TYPE_CHECKING:
    from nbtext.counts.count_table import CellCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.type_names import Floats, Ints, Mask, Numbers


def log_counts(counts: Numbers) -> Floats:
    """Return log(1 + n), shape (n_entries,)."""
    return np.log1p(counts, dtype=np.float64)


def inverse_document_frequency(statistics: CellCounts, terms: Numbers) -> Floats:
    """Return log(D / df_j) of terms that occur, shape (n,); df_j of D documents have term j."""
    return np.log(statistics.n_documents / statistics.term_documents[terms])


def scale_to_unit_length(weights: Floats, documents: Ints, n_documents: int) -> Floats:
    """Return the weights of each document scaled to Euclidean length 1, shape (n_entries,).

    ``documents`` are the documents of the entries. If all weights of a document are 0, they stay 0.
    """
    lengths = np.sqrt(np.bincount(documents, weights**2, n_documents))
    entry_lengths = lengths[documents]
    is_positive = entry_lengths > 0
    return np.divide(weights, entry_lengths, out=np.zeros_like(weights), where=is_positive)


def weigh_matrix(
    matrix: DocumentTermMatrix, weighting: str, statistics: CellCounts
) -> DocumentTermMatrix:
    """Return the matrix with weights instead of counts, without entries of weight 0.

    For ``tfidf``, all terms of the matrix contribute to the length of a document, so the matrix
    must have only selected terms.
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
    """Return the documents with the weights of their terms instead of counts.

    ``weighting`` is ``counts``, ``binary`` or ``log``. `weigh_cells` returns the sums of these
    weights over documents.
    """
    if weighting == "counts":
        return documents
    counts = documents.matrix.counts
    weights = np.ones_like(counts) if weighting == "binary" else round_logs(counts) / LOG_UNITS
    return replace(documents, matrix=documents.matrix._replace(counts=weights))


def tfidf(matrix: DocumentTermMatrix, statistics: CellCounts) -> Floats:
    """Return log(1 + n) · log(D / df), scaled to unit length, shape (n_entries,).

    D and df are taken from the statistics. A term that occurs in all documents has weight 0.
    """
    weights = log_counts(matrix.counts) * inverse_document_frequency(statistics, matrix.terms)
    return scale_to_unit_length(weights, matrix.entry_documents, matrix.n_documents)


def weigh_cells(
    weighting: str, statistics: CellCounts, selected: Mask, documents: CountedDocuments | None
) -> Numbers:
    """Return for each cell the sum of the term's weights in the class, shape (n_cells,).

    ``documents`` are all documents of the statistics. They are only used for ``tfidf``, for which
    terms that are not selected have weight 0. Logarithms and ``tfidf`` are rounded to multiples of
    1 / `LOG_UNITS`, so that their sums are exact.
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
