"""Choice of the document to ask about next.

`measure_pool_uncertainty` is one less the margin between the two most probable classes, or of documents with several labels Σ p(1 − p) over the labels; `typical` is coverage; `mixed` is their product, and measures best
(bench/labelling.py). Sources: D. Lewis, W. Gale, A sequential algorithm for training text classifiers (1994), for uncertainty; T. Scheffer, C. Decomain,
S. Wrobel, Active hidden Markov models for information extraction (2001), for the margin; B. Settles, Active learning literature survey (2009).

Coverage of a document: how typical it is of the documents without labels. It is large if its terms are frequent in the pool and rarely labelled.

    c(d) = Σ_j v_jd t_j / (1 + l_j)

v_d is the tf-idf vector of the document, of length 1, t the mean of all, and l_j the number of labelled documents that hold the term. Without labels it is
the cosine of a document and the pool times the length of the mean: its information density. Sources: B. Settles, M. Craven, An analysis of active
learning strategies for sequence labeling tasks (2008); A. McCallum, K. Nigam, Employing EM and pool-based active learning for text classification
(1998). The divisor is ours: what was labelled is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.ragged import compute_flat_indices

if TYPE_CHECKING:
    from nbtext.labelling.pool import DocumentNeighbours, DocumentPool
    from nbtext.labelling.running_model import RunningModel
    from nbtext.type_names import Floats, Ids, Ints

MAX_EVIDENCE_TOKENS = 10.0
"""A longer document counts as one of so many tokens. The evidence of a long document is too extreme, and none would ever be uncertain."""

DOCUMENTS_AT_ONCE = 1 << 13
"""Documents whose scores by class are in memory at once: they fit into the cache."""


VECTOR_SCALE = 1 << 15
"""Elements of the vectors are whole numbers of 1 / `VECTORS`."""

MEAN_SCALE = 1 << 30
"""Elements of the mean are whole numbers of 1 / `MEAN_SCALE`, so that the sums are exact."""


class Representativeness:
    """c(d) of all documents of a pool, exact after each label."""

    def __init__(self, pool: DocumentPool) -> None:
        self._pool = pool
        matrix = pool.matrix
        weights = (
            np.log1p(matrix.counts)
            * np.log(len(pool) / np.maximum(np.diff(pool.term_offsets), 1))[matrix.terms]
        )
        of_entry = matrix.entry_documents
        norms = np.sqrt(np.bincount(of_entry, weights**2, len(pool)))
        vectors = np.rint(weights / np.where(norms > 0, norms, 1)[of_entry] * VECTOR_SCALE).astype(
            np.int32
        )
        self._vectors = vectors
        self._by_term = vectors[pool.entries_by_term]
        self._mean = np.bincount(matrix.terms, vectors, pool.n_terms) / (VECTOR_SCALE * len(pool))
        self._labelled = np.zeros(pool.n_terms, np.int64)
        self.document_scores = np.zeros(len(pool), np.int64)
        """c(d) in units of 1 / (`VECTORS` · `MEAN_SCALE`), shape (n_docs,)."""
        self.add_rows(np.empty(0, np.int64))

    def add_rows(self, rows: Ints) -> None:
        """Count many documents as labelled at once; the result is that of `add` for each."""
        matrix = self._pool.matrix
        entries = compute_flat_indices(matrix.offsets[rows], matrix.row_sizes[rows])
        self._labelled += np.bincount(matrix.terms[entries], minlength=self._pool.n_terms)
        self.document_scores = self._pool.sum_by_document(
            self._vectors * self._worth(slice(None))[matrix.terms]
        )

    def add(self, document: DocumentNeighbours, sign: int = 1) -> None:
        """Count a document as labelled, or with ``sign`` −1 as not."""
        before = self._worth(document.terms)
        self._labelled[document.terms] += sign
        change = self._worth(document.terms) - before
        self._pool.propagate(document, change, self._by_term, self.document_scores)

    def _worth(self, terms: Ids | slice) -> Ints:
        """Return t_j / (1 + l_j) of terms, shape (n,)."""
        return np.rint(self._mean[terms] / (1 + self._labelled[terms]) * MEAN_SCALE).astype(
            np.int64
        )


def cap_length(scores: Floats, lengths: Floats) -> Floats:
    """Return scores, shape (n_classes, n_docs), of documents longer than `MAX_EVIDENCE_TOKENS` as if they were that long; ``lengths`` of shape (n_docs,)."""
    return scores * (MAX_EVIDENCE_TOKENS / np.maximum(lengths, MAX_EVIDENCE_TOKENS))


def measure_pool_uncertainty(pool: DocumentPool, model: RunningModel) -> Floats:
    """Return how uncertain the model is of each document, shape (n_docs,)."""
    blocks = [
        slice(begin, begin + DOCUMENTS_AT_ONCE) for begin in range(0, len(pool), DOCUMENTS_AT_ONCE)
    ]
    return np.concatenate(
        [
            model.measure_uncertainty(cap_length(model.compute_scores(block), pool.lengths[block]))
            for block in blocks
        ]
    )


def compute_acquisition_scores(
    strategy: str, pool: DocumentPool, model: RunningModel, coverage: Representativeness
) -> Floats:
    """Return what the document asked about has most of, shape (n_docs,), by a strategy that does not draw at random."""
    found = np.ones(len(pool)) if strategy == "typical" else measure_pool_uncertainty(pool, model)
    return found if strategy == "uncertain" else found * coverage.document_scores
