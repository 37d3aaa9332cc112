"""The interface that every classifier of text stands behind: estimate, score, and what it says of documents that it has not seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from nbtext.classifiers.class_prior import leaves_a_class
from nbtext.counts.subsets import Subsets
from nbtext.counts.weighted_sums import add_weighted_sums
from nbtext.errors import ModelError, UsageError
from nbtext.language_model.pseudo_counts import NO_OWN, OwnPseudoCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from nbtext.classifiers.term_probabilities import TermProbabilities
    from nbtext.counts.document_term import DocumentTermMatrix
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics

HELD_OUT_FOLDS = 10
HELD_OUT_FOLDS_OF_DOCUMENTS = 5
"""Fewer where every fold costs a pass over all documents."""


@dataclass(frozen=True, eq=False)
class Training:
    """What a classifier is estimated from."""

    statistics: ClassStatistics
    selected: NDArray[np.bool_]
    """The terms that count, shape (n_terms,)."""
    smoothing: float
    parameters: Mapping[str, Any]
    documents: CountedDocuments | None = None
    """All documents, for classifiers that need them."""
    sample: CountedDocuments | None = None
    """The sample of them that the model keeps, for classifiers that learn from it."""
    own: OwnPseudoCounts = NO_OWN
    """The pseudo-counts of terms that do not have ``smoothing``."""
    choose: Callable[[ClassStatistics], NDArray[np.bool_]] | None = None
    """Selects terms from fewer documents, where labels have a part in that; None where they have none."""

    def selected_in(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """The terms that count where there are fewer documents, shape (n_terms,): chosen without the labels of the others."""
        return self.selected & (np.diff(statistics.term_offsets) > 0) if self.choose is None else self.choose(statistics)


class Unseen(NamedTuple):
    """What models say of documents that had no part in them."""

    scores: NDArray[np.float64]
    """Shape (n_docs, n_classes), in nats."""
    lengths: NDArray[np.int64]
    """Tokens of terms that count, shape (n_docs,)."""
    unknown: NDArray[np.int64]
    """Other tokens, shape (n_docs,)."""
    classes: NDArray[np.int64]
    """The true classes, shape (n_docs,)."""


class Classifier(ABC):
    """A model estimated from counts that scores documents."""

    NEEDS_DOCUMENTS: ClassVar[bool] = False
    """Whether the statistics are not enough: then it cannot be updated, merged or estimated anew from a model file."""
    WEIGHTINGS: ClassVar[tuple[str, ...]] = ("counts",)
    """The weightings of `nbtext.counts.weighting` that it takes."""

    LEARNS_FROM_SAMPLE: ClassVar[bool] = False
    """Whether `estimate` asks for the sample."""
    ADDS_TO_LIKELIHOODS: ClassVar[bool] = True
    """Whether log-likelihoods of attributes can be added to its scores."""
    TAKES_NUMBERS: ClassVar[bool] = False
    """Whether numbers beside the text are features of its own."""
    PRIOR_SHAPES: ClassVar[tuple[str, ...]] = ("symmetric", "background")
    """The shapes of the prior that it takes."""
    TAKES_OWN_PSEUDO_COUNTS: ClassVar[bool] = True
    """Whether terms can have pseudo-counts of their own."""
    HAS_CLASS_PRIOR: ClassVar[bool] = True
    """Whether the class prior has a part in its scores."""

    @classmethod
    def needs_documents(cls, parameters: Mapping[str, Any]) -> bool:
        """Whether the statistics are not enough under these parameters."""
        del parameters
        return cls.NEEDS_DOCUMENTS

    @classmethod
    @abstractmethod
    def estimate(cls, training: Training) -> Self:
        """The model that follows from the counts."""

    def estimate_again(self, training: Training) -> Self:
        """The model of fewer documents; what is chosen as terms and smoothing are, from all, stays as it is."""
        return self.estimate(training)

    @abstractmethod
    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """log p(d, C_k) of each document, shape (n_docs, n_classes), in nats, and the tokens that count, shape (n_docs,).

        A classifier that is not generative gives scores in their place.
        """

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """What the model file must keep beside the statistics, as flat arrays by name; none where the statistics are enough."""
        return {}

    @classmethod
    def restored(cls, training: Training, arrays: Mapping[str, NDArray[np.float64]]) -> Self:
        """The model that gave these arrays, from statistics without documents; raises `ModelError` if none could have."""
        if arrays:
            raise ModelError("the model is malformed: its classifier keeps nothing beside the statistics")
        return cls.estimate(training)

    @property
    def of_texts(self) -> Classifier:
        """The classifier of the texts alone, where there are attributes beside them."""
        return self

    def term_probabilities(self) -> TermProbabilities | None:
        """Return the probabilities of terms in each class that scores are made of; None for a model that has none of the class itself."""
        return None

    def distributions(self) -> tuple[TermProbabilities, ...]:
        """Return all probabilities of terms that scores are made of."""
        found = self.term_probabilities()
        return () if found is None else (found,)

    def warnings(self) -> list[str]:
        """What makes the model less useful than one may think."""
        return []

    @classmethod
    def smoothing(cls, statistics: ClassStatistics, selected: NDArray[np.bool_], parameters: Mapping[str, Any]) -> float:
        """The pseudo-count that ``auto`` means: by evidence, unless a classifier knows better."""
        from nbtext.language_model.evidence import smoothing_by_evidence

        del cls
        return smoothing_by_evidence(statistics, selected, parameters["prior_shape"])

    def unseen(self, training: Training, sample: CountedDocuments) -> Unseen:
        """Documents scored by models that have not seen them: the sample by folds, each left out of the statistics and of the documents.

        Terms and smoothing are those chosen from all.
        """
        documents = training.documents if self.needs_documents(training.parameters) else None
        n_folds = HELD_OUT_FOLDS if documents is None else HELD_OUT_FOLDS_OF_DOCUMENTS
        folds = np.arange(len(sample)) % n_folds  # the sample is in the order of hashes, so this is random
        subsets = Subsets(training.statistics, sample)
        places = None if documents is None else documents.places(sample)
        parts = []
        for fold in range(min(n_folds, len(sample))):
            rows = np.flatnonzero(folds == fold)
            statistics = subsets.without(rows)
            if not leaves_a_class(training.parameters["class_prior"], statistics):
                impossible = np.full((rows.size, statistics.n_classes), -np.inf)
                parts.append(Unseen(impossible, np.zeros_like(rows), sample.matrix.lengths[rows], sample.classes[rows]))
                continue
            selected = training.selected_in(statistics)
            rest = None
            if documents is not None and places is not None:
                rest = documents.rows(np.delete(np.arange(len(documents)), places[rows]))
            others = replace(training, statistics=statistics, selected=selected, documents=rest, sample=None)
            matrix = sample.rows(rows).matrix
            scores, lengths = self.estimate_again(others).joint_log_likelihood(matrix)
            parts.append(Unseen(scores, lengths, matrix.tokens - lengths, sample.classes[rows]))
        return Unseen(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    @classmethod
    def leaves_one_out(cls, parameters: Mapping[str, Any]) -> bool:
        """Whether `leave_one_out` works."""
        del cls, parameters
        return False

    def variants(self) -> Sequence[Self]:
        """Models with the same scores whose `log_scale` differs; calibration takes the one under which unseen documents are most probable."""
        return (self,)

    def log_scale(self, scores: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """The scores on the scale of log-probabilities, in the same order, shape (n_docs, n_classes): what calibration divides by a temperature.

        ``lengths``: tokens of terms that count, shape (n_docs,). A generative model's scores are on that scale already.
        """
        del lengths
        return scores

    def leave_one_out(self, documents: CountedDocuments) -> Unseen:
        """Documents that the model was estimated from, each scored by the model of all others, exactly; raises `UsageError` if it cannot."""
        del documents
        raise UsageError("leave-one-out is exact for --classifier multinomial on counts only", hint="cross-validate with folds")

    def likelihood_per_token(
        self, scores: NDArray[np.float64], lengths: NDArray[np.int64], unknown: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
        """The log-likelihood per token of scored documents under their best class, in nats, and their tokens; both of shape (n_docs,).

        Unknown tokens included; 0 for a document without tokens. None for a model that gives tokens no probability.
        """
        del scores, lengths, unknown
        return None


class LinearClassifier(Classifier):
    """A classifier whose scores are sums over the tokens of a document."""

    @property
    @abstractmethod
    def bias(self) -> NDArray[np.float64]:
        """What every document gets whatever its terms, shape (n_classes,), in nats: for most the log class prior."""

    @abstractmethod
    def weights(self, terms: NDArray[np.int64]) -> NDArray[np.float64]:
        """What each occurrence of some terms adds to the score of each class, shape (n, n_classes), in nats."""

    @abstractmethod
    def known(self) -> NDArray[np.bool_]:
        """The terms that count in a score, shape (n_terms,)."""

    def features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """What is multiplied with the weights: the counts of known terms, unless a classifier makes more of them."""
        return matrix

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Bias and weights times features, summed over the terms of each document."""
        known = self.known()
        matrix = matrix if known.all() else matrix.of_terms(known)
        scores = np.tile(self.bias, (matrix.n_documents, 1))
        add_weighted_sums(scores, self.features(matrix), known.size, self.weights)
        return scores, matrix.lengths
