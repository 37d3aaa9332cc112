"""Latent features: tf-idf vectors projected to few dimensions by truncated singular value decomposition.

A ≈ U S Vᵀ, documents by terms; the features of a document a are Vᵀa, scaled to unit length. Sources: S. Deerwester et al., Indexing by latent
semantic analysis (1990); for the decomposition N. Halko, P. Martinsson, J. Tropp, Finding structure with randomness (2011), algorithm 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nbtext.counts.matrix import DocumentTermMatrix, add_weighted_sums
from nbtext.counts.weighting import weigh_matrix
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.statistics import ClassStatistics
    from nbtext.type_names import Floats, Ints, Mask

SUBSPACE_ITERATIONS = 4
"""Multiplications by AAᵀ. On 20 Newsgroups, classifiers of the features are no better with more."""

MORE_DIRECTIONS = 10
"""Directions computed beyond those wanted, which makes these more exact."""

SEED = 20
"""Seed of the random directions to begin with."""

VANISHING = 1e-6
"""Singular values below this share of the largest count as 0."""


@dataclass(frozen=True, eq=False)
class LatentSpace:
    """The projection from selected terms to latent features, with the idf of some statistics."""

    statistics: ClassStatistics
    used_terms: Mask
    """Mask of the terms in use, from `select_latent_terms`, shape (n_terms,)."""
    projection: NDArray[np.float32]
    """V, shape (n_known, n_features)."""

    @classmethod
    def from_documents(
        cls,
        statistics: ClassStatistics,
        selected: Mask,
        documents: DocumentTermMatrix,
        dimensions: int,
    ) -> Self:
        """Return the space of all documents of the statistics, of ``dimensions`` dimensions or as many as they span."""
        known = select_latent_terms(statistics, selected, dimensions)
        matrix = weigh_matrix(documents.select_terms(known), "tfidf", statistics)
        number = np.cumsum(known) - 1
        projection = compute_right_singular_vectors(
            matrix._replace(terms=number[matrix.terms]), int(np.count_nonzero(known)), dimensions
        )
        return cls(statistics, known, projection.astype(np.float32))

    def project(self, matrix: DocumentTermMatrix) -> tuple[Floats, Ints]:
        """Return latent features of documents at unit length, shape (n_docs, n_features), and the numbers of their tokens in use, shape (n_docs,).

        The features of a document whose projection vanishes, such as one without a term in use, are zeros.
        """
        matrix = matrix.select_terms(self.used_terms)
        features = np.zeros((matrix.n_documents, self.projection.shape[1]))
        if features.size:
            number = np.cumsum(self.used_terms) - 1
            vectors = weigh_matrix(matrix, "tfidf", self.statistics)
            add_weighted_sums(
                features,
                vectors,
                self.used_terms.size,
                lambda terms: self.projection[number[terms]].astype(np.float64),
            )
        length = np.sqrt((features**2).sum(axis=1))[:, np.newaxis]
        scaled: Floats = np.divide(
            features, length, out=np.zeros_like(features), where=length > VANISHING
        )
        return scaled, matrix.known_tokens


def select_latent_terms(statistics: ClassStatistics, selected: Mask, dimensions: int) -> Mask:
    """Return a mask of the selected terms in at least two documents, shape (n_terms,): a term of one document connects it with no other.

    If they are fewer than the dimensions wanted, return all selected terms that occur.
    """
    holding = statistics.term_documents
    repeated: Mask = selected & (holding >= 2)
    return repeated if np.count_nonzero(repeated) >= dimensions else selected & (holding >= 1)


def compute_right_singular_vectors(matrix: DocumentTermMatrix, n_terms: int, most: int) -> Floats:
    """Return V of the at most ``most`` largest singular values, largest first, shape (n_terms, n).

    Subspace iteration from random directions with a fixed seed. The largest component of each vector is positive.
    """
    from scipy.sparse import csr_matrix

    rows: Any = csr_matrix(
        (matrix.counts, matrix.terms, matrix.offsets), shape=(matrix.n_documents, n_terms)
    )
    columns: Any = rows.T.tocsr()
    wanted = min(most + MORE_DIRECTIONS, matrix.n_documents, n_terms)
    directions = np.random.default_rng(SEED).standard_normal((matrix.n_documents, wanted))
    for _ in range(SUBSPACE_ITERATIONS):
        directions = rows @ (columns @ _orthonormal(directions))
    vectors = _orthonormal(columns @ _orthonormal(directions))[:, :most]
    largest = (
        vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
        if vectors.size
        else np.ones(vectors.shape[1])
    )
    return vectors * np.sign(largest)


def _orthonormal(vectors: Floats) -> Floats:
    """Return X W / √λ with XᵀX = W λ Wᵀ: the principal directions of the column space, longest first, without those that vanish.

    For many rows and few columns this is several times as fast as a QR decomposition.
    """
    values, turn = np.linalg.eigh(vectors.T @ vectors)
    values = values[::-1]
    turn = turn[:, ::-1]
    kept = values > VANISHING**2 * values.max(initial=0.0)
    return vectors @ (turn[:, kept] / np.sqrt(values[kept]))
