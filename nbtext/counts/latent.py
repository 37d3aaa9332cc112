"""Latent features: tf-idf vectors of documents, projected to few dimensions (LSA).

The matrix A of tf-idf weights, documents by terms, is approximated by its largest singular values,
A ≈ U S Vᵀ. The features of a document a are Vᵀa, scaled to unit length.
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
"""Number of multiplications by AAᵀ. More do not improve classifiers of 20 Newsgroups."""

EXTRA_DIRECTIONS = 10
"""Number of further directions that are computed, so that the returned directions are more exact.
"""

DIRECTIONS_SEED = 20
"""Seed of the random initial directions."""

MIN_RELATIVE_LENGTH = 1e-6
"""Smaller lengths of features count as 0, and smaller singular values relative to the largest."""


@dataclass(frozen=True, eq=False)
class LatentSpace:
    """The projection from selected terms to latent features."""

    statistics: ClassStatistics
    """The statistics from which idf is computed."""
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
        """Return the space of ``documents``, which are all documents of the statistics.

        It has ``dimensions`` dimensions, or fewer if the documents span fewer dimensions.
        """
        used_terms = select_latent_terms(statistics, selected, dimensions)
        matrix = weigh_matrix(documents.select_terms(used_terms), "tfidf", statistics)
        new_ids = np.cumsum(used_terms) - 1
        n_used = int(np.count_nonzero(used_terms))
        renumbered = matrix._replace(terms=new_ids[matrix.terms])
        projection = compute_right_singular_vectors(renumbered, n_used, dimensions)
        return cls(statistics, used_terms, projection.astype(np.float32))

    def project(self, matrix: DocumentTermMatrix) -> tuple[Floats, Ints]:
        """Return the latent features of documents, and their numbers of tokens in use.

        Features have the shape (n_docs, n_features). The features of a document have unit length,
        or are zeros if the document has no terms in use or a projection of length 0.
        """
        matrix = matrix.select_terms(self.used_terms)
        features = np.zeros((matrix.n_documents, self.projection.shape[1]))
        if features.size:
            new_ids = np.cumsum(self.used_terms) - 1

            def get_projections(terms: Ints) -> Floats:
                return self.projection[new_ids[terms]].astype(np.float64)

            vectors = weigh_matrix(matrix, "tfidf", self.statistics)
            add_weighted_sums(features, vectors, self.used_terms.size, get_projections)
        lengths = np.sqrt((features**2).sum(axis=1, keepdims=True))
        is_long = lengths > MIN_RELATIVE_LENGTH
        scaled: Floats = np.divide(features, lengths, out=np.zeros_like(features), where=is_long)
        return scaled, matrix.known_tokens


def select_latent_terms(statistics: ClassStatistics, selected: Mask, dimensions: int) -> Mask:
    """Return a mask of the selected terms in at least two documents, shape (n_terms,).

    A term in only one document does not connect it with other documents. If fewer terms than
    ``dimensions`` are in two documents, return a mask of all selected terms that occur.
    """
    term_documents = statistics.term_documents
    is_repeated: Mask = selected & (term_documents >= 2)
    if np.count_nonzero(is_repeated) >= dimensions:
        return is_repeated
    return selected & (term_documents >= 1)


def compute_right_singular_vectors(
    matrix: DocumentTermMatrix, n_terms: int, max_vectors: int
) -> Floats:
    """Return the right singular vectors of the largest singular values, shape (n_terms, n).

    n is at most ``max_vectors``. The component of each vector with the largest absolute value is
    positive. V is computed by subspace iteration from random directions with a fixed seed.
    """
    from scipy.sparse import csr_matrix

    a: Any = csr_matrix(
        (matrix.counts, matrix.terms, matrix.offsets), shape=(matrix.n_documents, n_terms)
    )
    a_transposed: Any = a.T.tocsr()
    n_directions = min(max_vectors + EXTRA_DIRECTIONS, matrix.n_documents, n_terms)
    random = np.random.default_rng(DIRECTIONS_SEED)
    directions = random.standard_normal((matrix.n_documents, n_directions))
    for _ in range(SUBSPACE_ITERATIONS):
        directions = a @ (a_transposed @ _orthonormalise(directions))
    vectors = _orthonormalise(a_transposed @ _orthonormalise(directions))[:, :max_vectors]
    if not vectors.size:
        return vectors
    largest_rows = np.abs(vectors).argmax(axis=0)
    largest_components = vectors[largest_rows, np.arange(vectors.shape[1])]
    return vectors * np.sign(largest_components)


def _orthonormalise(vectors: Floats) -> Floats:
    """Return the principal directions of the column space of X = ``vectors``, longest first.

    With XᵀX = W λ Wᵀ, the directions are X W / √λ. Those with λ of about 0 are dropped. For many
    rows and few columns, this is several times as fast as a QR decomposition.
    """
    eigenvalues, rotation = np.linalg.eigh(vectors.T @ vectors)
    # `eigh` sorts in ascending order
    eigenvalues = eigenvalues[::-1]
    rotation = rotation[:, ::-1]
    # an eigenvalue is the square of a singular value
    is_positive = eigenvalues > MIN_RELATIVE_LENGTH**2 * eigenvalues.max(initial=0.0)
    return vectors @ (rotation[:, is_positive] / np.sqrt(eigenvalues[is_positive]))
