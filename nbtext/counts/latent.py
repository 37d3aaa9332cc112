"""Latent features: tf-idf vectors projected to few dimensions by truncated singular values.

A ≈ U S Vᵀ, documents by terms. The features of a document a are Vᵀa, scaled to unit length.
Sources: S. Deerwester et al., Indexing by latent semantic analysis (1990); for the decomposition
N. Halko, P. Martinsson, J. Tropp, Finding structure with randomness (2011), algorithm 4.4.
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
"""Multiplications by AAᵀ. On 20 Newsgroups, more of them do not improve classifiers."""

EXTRA_DIRECTIONS = 10
"""Directions that are computed but not returned; they make the others more exact."""

DIRECTIONS_SEED = 20
"""Seed of the random initial directions."""

MIN_RELATIVE_LENGTH = 1e-6
"""Singular values below this proportion of the largest one count as 0, as do shorter features."""


@dataclass(frozen=True, eq=False)
class LatentSpace:
    """The projection from selected terms to latent features."""

    statistics: ClassStatistics
    """The statistics that idf is computed from."""
    used_terms: Mask
    """Mask of the terms in use, from `select_latent_terms`, shape (n_terms,)."""
    projection: NDArray[np.float32]
    """V, shape (n_used_terms, n_features)."""

    @classmethod
    def from_documents(
        cls,
        statistics: ClassStatistics,
        selected: Mask,
        documents: DocumentTermMatrix,
        dimensions: int,
    ) -> Self:
        """Return the space of all documents of the statistics.

        It has ``dimensions`` dimensions, or fewer if the documents span fewer.
        """
        used_terms = select_latent_terms(statistics, selected, dimensions)
        matrix = weigh_matrix(documents.select_terms(used_terms), "tfidf", statistics)
        new_ids = np.cumsum(used_terms) - 1
        n_used = int(np.count_nonzero(used_terms))
        renumbered = matrix._replace(terms=new_ids[matrix.terms])
        projection = compute_right_singular_vectors(renumbered, n_used, dimensions)
        return cls(statistics, used_terms, projection.astype(np.float32))

    def project(self, matrix: DocumentTermMatrix) -> tuple[Floats, Ints]:
        """Return latent features of documents, and the numbers of their tokens in use.

        Features have unit length and the shape (n_docs, n_features), numbers the shape (n_docs,).
        The features of a document without terms in use, or whose projection vanishes, are zeros.
        """
        matrix = matrix.select_terms(self.used_terms)
        features = np.zeros((matrix.n_documents, self.projection.shape[1]))
        if features.size:
            new_ids = np.cumsum(self.used_terms) - 1
            vectors = weigh_matrix(matrix, "tfidf", self.statistics)
            add_weighted_sums(
                features,
                vectors,
                self.used_terms.size,
                lambda terms: self.projection[new_ids[terms]].astype(np.float64),
            )
        length = np.sqrt((features**2).sum(axis=1))[:, np.newaxis]
        is_long = length > MIN_RELATIVE_LENGTH
        scaled: Floats = np.divide(features, length, out=np.zeros_like(features), where=is_long)
        return scaled, matrix.known_tokens


def select_latent_terms(statistics: ClassStatistics, selected: Mask, dimensions: int) -> Mask:
    """Return a mask of the selected terms in at least two documents, shape (n_terms,).

    A term in one document connects it with no other document. If there are fewer such terms than
    ``dimensions``, return all selected terms that occur.
    """
    term_documents = statistics.term_documents
    is_repeated: Mask = selected & (term_documents >= 2)
    if np.count_nonzero(is_repeated) >= dimensions:
        return is_repeated
    return selected & (term_documents >= 1)


def compute_right_singular_vectors(
    matrix: DocumentTermMatrix, n_terms: int, max_vectors: int
) -> Floats:
    """Return V of the ``max_vectors`` largest singular values, or of fewer, shape (n_terms, n).

    The largest value is first. The largest component of each vector is positive. Computed by
    subspace iteration from random directions with a fixed seed.
    """
    from scipy.sparse import csr_matrix

    rows: Any = csr_matrix(
        (matrix.counts, matrix.terms, matrix.offsets), shape=(matrix.n_documents, n_terms)
    )
    columns: Any = rows.T.tocsr()
    n_directions = min(max_vectors + EXTRA_DIRECTIONS, matrix.n_documents, n_terms)
    random = np.random.default_rng(DIRECTIONS_SEED)
    directions = random.standard_normal((matrix.n_documents, n_directions))
    for _ in range(SUBSPACE_ITERATIONS):
        directions = rows @ (columns @ _orthonormalise(directions))
    vectors = _orthonormalise(columns @ _orthonormalise(directions))[:, :max_vectors]
    if not vectors.size:
        return vectors
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.sign(largest)


def _orthonormalise(vectors: Floats) -> Floats:
    """Return the principal directions of the column space, longest first.

    With XᵀX = W λ Wᵀ they are X W / √λ. Directions that vanish are dropped. For many rows and few
    columns this is several times as fast as a QR decomposition.
    """
    eigenvalues, rotation = np.linalg.eigh(vectors.T @ vectors)
    eigenvalues = eigenvalues[::-1]
    rotation = rotation[:, ::-1]
    stays = eigenvalues > MIN_RELATIVE_LENGTH**2 * eigenvalues.max(initial=0.0)
    return vectors @ (rotation[:, stays] / np.sqrt(eigenvalues[stays]))
