"""Class priors π_k: how probable a class is before the document is read. Source: Gambosi's notes; IIR eq. 13.5.

Probabilities of single terms in each class, as classifiers score by them: what `inspect` shows and `inspect --verify` checks.

The interface that every classifier of text stands behind: estimate, score, and what it says of documents that it has not seen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from nbtext.corpus.option_files import read_named_numbers
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.matrix import add_weighted_sums
from nbtext.errors import ModelError, UsageError
from nbtext.language_model.dirichlet import NO_OWN, OwnPseudoCounts, credible_intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.settings import Settings

    Floats = NDArray[np.float64]
    Terms = NDArray[np.int64]


def class_prior(kind: str | Mapping[str, float], statistics: ClassStatistics) -> NDArray[np.float64]:
    """π_k, shape (n_classes,): ``empirical`` D_k / D, ``smoothed:A`` (D_k + A) / (D + A·K), ``uniform`` 1 / K, or given by label.

    Given numbers are weights; they are divided by their sum. Raises `UsageError` if a class has none.
    """
    if not isinstance(kind, str):
        missing = [label for label in statistics.classes if label not in kind]
        if missing:
            raise UsageError(f"the class prior has no number for class {missing[0]!r}", hint="give one for every class")
    weights = _weights(kind, statistics, statistics.class_documents)
    if not weights.sum():
        raise UsageError("the class prior leaves no class possible", hint="give a class that there is a weight above 0")
    prior: NDArray[np.float64] = weights / weights.sum()
    return prior


def leaves_a_class(kind: str | Mapping[str, float], statistics: ClassStatistics) -> bool:
    """Whether any class is possible under the prior: not where the only classes with a weight have no documents left."""
    return bool(_weights(kind, statistics, statistics.class_documents).any())


def class_prior_without(kind: str | Mapping[str, float], statistics: ClassStatistics, number: int) -> NDArray[np.float64]:
    """π_k without one document of class ``number``, shape (n_classes,); all zeros if that leaves no class possible."""
    documents = statistics.class_documents.copy()
    documents[number] -= 1
    weights = _weights(kind, statistics, documents)
    prior: NDArray[np.float64] = weights / (weights.sum() or 1.0)
    return prior


def _weights(kind: str | Mapping[str, float], statistics: ClassStatistics, documents: NDArray[np.int64]) -> NDArray[np.float64]:
    """In proportion to π_k; 0 for a class without documents, which is no class."""
    if not isinstance(kind, str):
        weights = np.array([kind[label] for label in statistics.classes])
    elif kind == "uniform":
        weights = np.ones(len(documents))
    else:
        weights = documents + (0.0 if kind == "empirical" else float(kind.partition(":")[2]))
    return np.where(documents > 0, weights, 0.0)


def read_class_prior(value: str | None) -> Any:  # noqa: ANN401 - what the parameter table takes
    """What an option says: a kind as it is, or the weights by label of a file with lines of a class, a tab and a number.

    Raises `UsageError` if there is no such kind or file, `PathError` for a file that cannot be read.
    """
    if value is None or value in ("empirical", "uniform") or value.startswith("smoothed:"):
        return value
    weights = read_named_numbers(value, "a class")
    if weights is None:
        raise UsageError(f"--class-prior knows no {value!r}", hint="use empirical, uniform, smoothed:A or a file")
    return weights


OF_TOKENS = "that a token of the class is the term"


@dataclass(frozen=True, eq=False)
class TermProbabilities:
    """Estimated probabilities of some terms in each class.

    The terms of a class share one distribution and their probabilities sum to 1, unless there is an ``absence``.
    """

    symbol: str
    """As in `docs/mathematics.md`."""
    meaning: str
    """What it is the probability of, such as `OF_TOKENS`."""
    selected: NDArray[np.bool_]
    """The terms that have one, shape (n_terms,)."""
    probability: Callable[[Terms], Floats]
    """Of some selected terms, shape (n, n_classes)."""
    counts: Callable[[Terms], NDArray[Any]]
    """What they are estimated from, shape (n, n_classes)."""
    intervals: Callable[[Terms], Floats] | None = None
    """Their credible intervals, shape (n, n_classes, 2), nan where there is none; None where the counts are not whole."""
    absence: Callable[[Terms], Floats] | None = None
    """1 less each probability, where every term has a distribution of its own."""

    @classmethod
    def of_models(cls, models: LanguageModels, meaning: str = OF_TOKENS) -> TermProbabilities:
        """Return those of language models."""
        whole = models.statistics.cell_counts.dtype.kind != "f"
        intervals = partial(credible_intervals, models) if whole else None
        return cls("φ", meaning, models.selected, models.probability, models.statistics.counts_of, intervals)


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
    parameters: Settings
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
    def needs_documents(cls, parameters: Settings) -> bool:
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
    def smoothing(cls, statistics: ClassStatistics, selected: NDArray[np.bool_], parameters: Settings) -> float:
        """The pseudo-count that ``auto`` means: by evidence, unless a classifier knows better."""
        from nbtext.language_model.smoothing import smoothing_by_evidence

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
    def leaves_one_out(cls, parameters: Settings) -> bool:
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
