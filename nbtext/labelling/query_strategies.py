"""Query strategies: scores that choose the next document of `nbtext label`.

- ``uncertain``: 1 − the margin between the two most probable classes. For multi-label documents,
  Σ_k p_k(1 − p_k) over the labels.
- ``typical``: how representative a document is of the unlabelled documents, c(d).
- ``mixed``: the product of uncertainty and c(d).

    c(d) = Σ_j v_jd t_j / (1 + l_j)

v_d is the tf-idf vector of document d, of length 1. t is the mean of v_d over the pool, and l_j is
the number of labelled documents that contain term j. c(d) is large if the terms of the document are
frequent in the pool but rare in labelled documents. Without labels, c(d) is the document's
information density. The divisor 1 + l_j is not from the literature.

Sources: D. Lewis, W. Gale, A sequential algorithm for training text classifiers (1994), for
uncertainty; T. Scheffer, C. Decomain, S. Wrobel, Active hidden Markov models for information
extraction (2001), for the margin; B. Settles, M. Craven, An analysis of active learning strategies
for sequence labeling tasks (2008), and A. McCallum, K. Nigam, Employing EM and pool-based active
learning for text classification (1998), for density.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nbtext.labelling.pool import DocumentNeighbours, DocumentPool
    from nbtext.labelling.running_model import RunningModel
    from nbtext.type_names import Floats, Ids, Ints

MAX_EVIDENCE_TOKENS = 10.0
"""Scores of longer documents are reduced, as if the documents had this length.

The probabilities of long documents are too extreme. Without the limit, long documents would never
be uncertain.
"""

SCORE_BLOCK_DOCUMENTS = 2**13
"""Number of documents that are scored at once. Their scores fit into the cache."""

VECTOR_SCALE = 2**15
"""Elements of v_d are stored as integers in units of 1 / `VECTOR_SCALE`."""

MEAN_SCALE = 2**30
"""t_j / (1 + l_j) is stored as an integer in units of 1 / `MEAN_SCALE`, so that sums are exact."""


class Representativeness:
    """c(d) of all documents of a pool, updated without rounding errors after each label."""

    def __init__(self, pool: DocumentPool) -> None:
        self._pool = pool
        matrix = pool.matrix
        document_frequencies = np.maximum(np.diff(pool.term_offsets), 1)
        idf = np.log(len(pool) / document_frequencies)
        weights = np.log1p(matrix.counts) * idf[matrix.terms]
        documents = matrix.entry_documents
        norms = np.sqrt(np.bincount(documents, weights**2, len(pool)))
        norms = np.where(norms > 0, norms, 1)
        vectors = np.rint(weights / norms[documents] * VECTOR_SCALE).astype(np.int32)
        self._vectors = vectors
        """v_jd of each matrix entry in units of 1 / `VECTOR_SCALE`, shape (n_entries,)."""
        self._vectors_by_term = vectors[pool.entries_by_term]
        vector_sums = np.bincount(matrix.terms, vectors, pool.n_terms)
        self._mean_vector = vector_sums / (VECTOR_SCALE * len(pool))
        """t, shape (n_terms,)."""
        self._labelled_counts = np.zeros(pool.n_terms, np.int64)
        """l, shape (n_terms,)."""
        self.document_scores = self._compute_document_scores()
        """c(d) in units of 1 / (`VECTOR_SCALE` · `MEAN_SCALE`), shape (n_docs,)."""

    def _compute_document_scores(self) -> Ints:
        """Return c(d) of all documents in the units of ``document_scores``, shape (n_docs,)."""
        term_weights = self._compute_term_weights(slice(None))
        return self._pool.sum_by_document(self._vectors * term_weights[self._pool.matrix.terms])

    def add_rows(self, rows: Ints) -> None:
        """Count documents as labelled, all at once. The result is the same as with `add`."""
        entries, _ = self._pool.find_entries(rows)
        terms = self._pool.matrix.terms[entries]
        self._labelled_counts += np.bincount(terms, minlength=self._pool.n_terms)
        self.document_scores = self._compute_document_scores()

    def add(self, document: DocumentNeighbours, sign: int = 1) -> None:
        """Count a document as labelled. With ``sign`` −1, count it as unlabelled again."""
        old_weights = self._compute_term_weights(document.terms)
        self._labelled_counts[document.terms] += sign
        changes = self._compute_term_weights(document.terms) - old_weights
        self._pool.propagate(document, changes, self._vectors_by_term, sums=self.document_scores)

    def _compute_term_weights(self, terms: Ids | slice) -> Ints:
        """Return t_j / (1 + l_j) of terms in units of 1 / `MEAN_SCALE`, shape (n,)."""
        weights = self._mean_vector[terms] / (1 + self._labelled_counts[terms])
        return np.rint(weights * MEAN_SCALE).astype(np.int64)


def scale_to_max_length(scores: Floats, lengths: Floats) -> Floats:
    """Return the scores, reduced for documents that are longer than `MAX_EVIDENCE_TOKENS`.

    ``scores`` has shape (n_classes, n_docs). ``lengths`` are `DocumentPool.log_count_sums`.
    """
    return scores * (MAX_EVIDENCE_TOKENS / np.maximum(lengths, MAX_EVIDENCE_TOKENS))


def measure_pool_uncertainty(pool: DocumentPool, model: RunningModel) -> Floats:
    """Return the model's uncertainty about each document of the pool, shape (n_docs,)."""
    uncertainties = []
    for start in range(0, len(pool), SCORE_BLOCK_DOCUMENTS):
        rows = slice(start, start + SCORE_BLOCK_DOCUMENTS)
        scores = scale_to_max_length(model.compute_scores(rows), pool.log_count_sums[rows])
        uncertainties.append(model.measure_uncertainty(scores))
    return np.concatenate(uncertainties)


def compute_acquisition_scores(
    strategy: str, pool: DocumentPool, model: RunningModel, representativeness: Representativeness
) -> Floats:
    """Return a score for each document, shape (n_docs,). The best document has the highest score.

    ``strategy`` is ``uncertain``, ``typical`` or ``mixed``.
    """
    if strategy == "typical":
        return representativeness.document_scores.astype(np.float64)
    uncertainty = measure_pool_uncertainty(pool, model)
    if strategy == "uncertain":
        return uncertainty
    return uncertainty * representativeness.document_scores
