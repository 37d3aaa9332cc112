"""The interface that every classifier of text stands behind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.weighted_sums import add_weighted_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.document_term import DocumentTermMatrix
    from nbtext.counts.documents import CountedDocuments
    from nbtext.language_model.leave_one_out import LeftOut


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

    @abstractmethod
    def log_unseen(self) -> NDArray[np.float64]:
        """What a token of a term seen nowhere would add, shape (n_classes,), in nats; −inf where it is impossible."""

    @abstractmethod
    def leave_one_out(self, documents: CountedDocuments) -> LeftOut:
        """Documents that the model was estimated from, each scored by the model estimated from all others."""

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """log p(d, C_k) of each document, shape (n_docs, n_classes), in nats, and the tokens that count, shape (n_docs,)."""
        known = self.known()
        matrix = matrix if known.all() else matrix.of_terms(known)
        scores = np.tile(self.bias, (matrix.n_documents, 1))
        add_weighted_sums(scores, matrix, known.size, self.weights)
        return scores, matrix.lengths
