"""The base classes of all classifiers, the data that they are estimated from, and the class prior.

A classifier is a module of this package and an entry of `nbtext.settings.CLASSIFIERS`. It is
estimated from a `Training`. Training, scoring and calibration call the methods of `Classifier`.
Other packages call the generic functions (`functools.singledispatch`) at the end of this file to
show a classifier. Each function has a default for all classifiers. A classifier may register its
own version in its module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property, singledispatch
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from nbtext.counts.matrix import (
    MAX_BLOCK_TERM_WEIGHTS,
    DocumentTermMatrix,
    add_weighted_sums,
    iter_blocks,
)
from nbtext.errors import UsageError, require_valid_model
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import (
    NO_TERM_PSEUDO_COUNTS,
    LanguageModels,
    TermPseudoCounts,
    log,
)
from nbtext.settings import CLASSIFIERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtext.classifiers.attribute_likelihoods import AttributeLikelihoods, ColumnFeatures
    from nbtext.classifiers.inspection import ClassifierParameters, TermProbabilities
    from nbtext.counts.count_table import CellCounts
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.language_model.measures import ComponentFit
    from nbtext.prediction.calibration import HeldOutScores
    from nbtext.settings import ClassifierName, ClassPrior, Settings
    from nbtext.type_names import Arrays, Floats, Ints, Mask, Numbers, ScoresAndTokens


def load_classifier_class(name: ClassifierName) -> type[Classifier]:
    """Import the module of a classifier of `CLASSIFIERS` and return its class.

    The module of ``nearest-centroid`` would be `nearest_centroid.py`.
    """
    module = import_module(f"nbtext.classifiers.{name.replace('-', '_')}")
    return getattr(module, CLASSIFIERS[name])


def select_classifier_class(statistics: CellCounts, settings: Settings) -> type[Classifier]:
    """Return the class of the model of a corpus.

    For multi-label documents it is the `MULTI_LABEL_CLASS` of the classifier of the settings. For
    documents with attributes that are not among its own features it is `AttributedClassifier`.
    """
    text_class = load_classifier_class(settings.classifier)
    if not statistics.posterior_type.is_exclusive:
        module, class_name = text_class.MULTI_LABEL_CLASS
        return getattr(import_module(f"nbtext.classifiers.{module}"), class_name)
    if text_class.HAS_COLUMN_FEATURES or not statistics.attributes.names:
        return text_class
    return import_module("nbtext.classifiers.with_attributes").AttributedClassifier


def compute_class_prior(setting: ClassPrior, statistics: ClassStatistics) -> Floats:
    """Return the class prior π_k, shape (n_classes,).

    ``setting`` is ``empirical`` for D_k / D, ``smoothed:A`` for (D_k + A) / (D + A·K), ``uniform``
    for 1 / K, or a mapping of labels to weights, which are divided by their sum. A class without
    documents has prior 0. For multi-label documents, `compute_log_prior_odds` has the formula.

    Raise `UsageError` if a class lacks a weight or no weight is above 0.
    Source: Gambosi's notes; IIR eq. 13.5.
    """
    has_class_weights = not isinstance(setting, str)
    if has_class_weights:
        for label in statistics.classes:
            if label not in setting:
                raise UsageError(
                    f"the class prior lacks class {label!r}",
                    hint="name every class",
                )
    weights = compute_prior_weights(setting, statistics)
    if not weights.any():
        raise UsageError(
            "the class prior leaves no class possible",
            hint="use a weight above 0 for a class of the corpus",
        )
    if not statistics.posterior_type.is_exclusive and not has_class_weights:
        log_odds = compute_log_prior_odds(
            setting, statistics.class_documents, statistics.n_documents
        )
        return np.asarray(1 / (1 + np.exp(-log_odds)))
    prior: Floats = weights / weights.sum()
    return prior


def compute_declared_prior(settings: Settings, statistics: ClassStatistics) -> Floats | None:
    """Return π_k, shape (n_classes,).

    Return None if the prior is not declared, but equal to the proportions of training documents.
    """
    if settings.class_prior == "empirical" and settings.class_weight is None:
        return None
    return compute_class_prior(settings.class_prior, statistics)


def compute_leave_one_out_prior(
    setting: ClassPrior, statistics: ClassStatistics, label_index: int, document_weight: float
) -> Floats:
    """Return π_k without one document of a class, shape (n_classes,).

    All π_k are 0 if no class is possible without the document.
    """
    is_class = np.arange(statistics.n_classes) == label_index
    class_documents = statistics.class_documents - np.where(is_class, document_weight, 0.0)
    weights = compute_prior_weights(setting, statistics, class_documents)
    if not weights.any():
        return weights
    return weights / weights.sum()


def compute_prior_weights(
    setting: ClassPrior, statistics: ClassStatistics, class_documents: Numbers | None = None
) -> Floats:
    """Return numbers in proportion to π_k, shape (n_classes,).

    The number of a class without documents is 0. ``class_documents``, shape (n_classes,), replace
    the documents of the statistics. See `compute_class_prior` for ``setting``.
    """
    if class_documents is None:
        class_documents = statistics.class_documents
    if not isinstance(setting, str):
        weights = np.array([setting[label] for label in statistics.classes])
    elif setting == "uniform":
        weights = np.ones(len(class_documents))
    elif setting == "empirical":
        weights = class_documents.astype(np.float64)
    else:
        weights = class_documents + _parse_prior_pseudo_documents(setting)
    return np.where(class_documents > 0, weights, 0.0)


def _parse_prior_pseudo_documents(setting: str) -> float:
    """Return A of the class prior ``smoothed:A``."""
    return float(setting.removeprefix("smoothed:"))


LABEL_PRIOR_PSEUDO_DOCUMENTS = 0.5
"""Pseudo-documents with and without each label, so that no label is certain or impossible."""


def compute_log_prior_odds(
    setting: ClassPrior, label_documents: Numbers, n_documents: Numbers | float
) -> Floats:
    """Return log π_k/(1 − π_k) of labels, in nats.

    Of ``n_documents``, ``label_documents`` have the label. The two have shapes that broadcast. With
    A of ``smoothed:A``, or for ``empirical`` A = `LABEL_PRIOR_PSEUDO_DOCUMENTS`, the odds are
    (D_k + A) / (D − D_k + A). For ``uniform`` they are 1.

    >>> odds = np.exp(compute_log_prior_odds("empirical", np.array([2, 0]), 3))
    >>> odds.round(9).tolist() == [round(2.5 / 1.5, 9), round(0.5 / 3.5, 9)]
    True
    """
    if setting == "uniform":
        return np.zeros(np.broadcast_shapes(np.shape(label_documents), np.shape(n_documents)))
    pseudo_documents = LABEL_PRIOR_PSEUDO_DOCUMENTS
    if setting != "empirical":
        # Multi-label models have no weights of classes.
        pseudo_documents = _parse_prior_pseudo_documents(str(setting))
    log_with_label = np.log(label_documents + pseudo_documents)
    return log_with_label - np.log(n_documents - label_documents + pseudo_documents)


def compute_label_log_prior_odds(training: Training) -> Floats:
    """Return log π_k/(1 − π_k) of the labels of a corpus, shape (n_classes,)."""
    statistics = training.statistics
    return compute_log_prior_odds(
        training.settings.class_prior, statistics.class_documents, statistics.n_documents
    )


def get_default_smoothing(training: Training, pseudo_count: float) -> float:
    """Return the smoothing for ``auto`` if it is not chosen by evidence.

    It is ``pseudo_count`` for each term. For the prior shape ``background`` it is μ, the sum of the
    pseudo-counts of all terms.
    """
    if training.settings.prior_shape == "symmetric":
        return pseudo_count
    return pseudo_count * max(int(np.count_nonzero(training.selected)), 1)


@dataclass(frozen=True, eq=False)
class Training:
    """Counts and settings that a classifier is estimated from."""

    statistics: ClassStatistics
    selected: Mask
    """True for the terms of texts that may contribute to scores, shape (n_terms,)."""
    smoothing: float
    """The pseudo-count, or μ for the prior shape ``background``. Any number until it is chosen."""
    settings: Settings
    documents: CountedDocuments | None = None
    """All documents. None if the classifier does not need them, or the model keeps only some."""
    sample: CountedDocuments | None = None
    """The sample of documents that the model keeps. None if the classifier does not need it."""
    term_pseudo_counts: TermPseudoCounts = NO_TERM_PSEUDO_COUNTS
    """Pseudo-counts of terms that differ from ``smoothing``."""
    term_selector: Callable[[ClassStatistics], Mask] | None = None
    """Selects terms by the labels of a part of the documents. None if selection ignores labels."""

    @cached_property
    def column_features(self) -> ColumnFeatures:
        """The features of a classifier with `Classifier.HAS_COLUMN_FEATURES`."""
        from nbtext.classifiers.attribute_likelihoods import ColumnFeatures

        return ColumnFeatures.from_statistics(self.statistics, self.selected)

    def select_terms(self, statistics: ClassStatistics) -> Mask:
        """Return `selected` for a model of only the documents of ``statistics``."""
        if self.term_selector is None:
            return self.selected & statistics.term_occurs
        return self.term_selector(statistics)

    def require_all_documents(self) -> CountedDocuments:
        """Return all documents. Raise `UsageError` if the model has only a sample of them."""
        if self.documents is None:
            raise UsageError(
                "AIC and BIC need all documents, and the model keeps a sample of them",
                hint="train with a larger --set keep-documents=N, or use nbtext tune",
            )
        return self.documents

    def compute_weighted_statistics(self) -> ClassStatistics:
        """Return the statistics with the sums of weights of terms instead of counts.

        A cell is a term and a class with a count above 0. Weights of tf-idf are computed from the
        documents.
        """
        weighting = self.settings.weighting
        if weighting == "counts":
            return self.statistics
        from nbtext.counts.weighting import weigh_cells

        cells = weigh_cells(weighting, self.statistics, self.selected, self.documents)
        return replace(self.statistics, cell_counts=cells)

    def estimate_language_models(self, statistics: ClassStatistics) -> LanguageModels:
        """Return the language models of the classes, estimated from weighted statistics."""
        return LanguageModels(
            statistics,
            self.selected,
            self.smoothing,
            self.settings.prior_shape,
            self.settings.estimate,
            self.term_pseudo_counts,
        )


@dataclass(frozen=True, eq=False)
class Classifier(ABC):
    """A model that is estimated from counts and scores documents.

    Subclasses must define `estimate` and `joint_log_likelihood`.
    """

    NEEDS_SAMPLE: ClassVar[bool] = False
    """True if `estimate` needs the sample of documents."""
    DEFAULT_PSEUDO_COUNT: ClassVar[float] = 0.1
    """The pseudo-count for ``auto`` if it is not chosen by evidence."""
    HAS_NUMBER_FEATURES: ClassVar[bool] = False
    """True if numeric attributes are among the features of the classifier."""
    HAS_COLUMN_FEATURES: ClassVar[bool] = False
    """True if all attributes are among the features, so that their likelihoods are not added."""
    MULTI_LABEL_CLASS: ClassVar[tuple[str, str]] = ("multi_label", "OneVsRestClassifier")
    """Module and name of the class for multi-label documents."""

    training: Training

    @classmethod
    def choose_smoothing(cls, training: Training) -> float:
        """Return the smoothing for ``auto``, by default the number of the greatest evidence.

        It is a pseudo-count, or μ for the prior shape ``background``.
        """
        from nbtext.language_model.smoothing import (
            build_count_histogram,
            choose_smoothing_by_evidence,
        )

        prior_shape = training.settings.prior_shape
        statistics = training.compute_weighted_statistics()
        histogram = build_count_histogram(statistics, training.selected, prior_shape)
        return choose_smoothing_by_evidence(histogram, prior_shape)

    @classmethod
    @abstractmethod
    def estimate(cls, training: Training) -> Self:
        """Estimate the model."""

    def refit(self, training: Training) -> Self:
        """Estimate the model of fewer documents.

        Parameters that this model chose from all documents stay the same.
        """
        return self.estimate(training)

    def to_arrays(self) -> Arrays:
        """Return the flat arrays, by name, that the model file stores next to the statistics."""
        return {}

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Restore the model from the result of `to_arrays` and statistics, without documents.

        Raise `ModelError` if the arrays cannot come from `to_arrays`.
        """
        require_valid_model(not arrays, "its classifier has no arrays of its own")
        return cls.estimate(training)

    @cached_property
    def prior(self) -> Floats:
        """π_k, shape (n_classes,)."""
        return compute_class_prior(self.training.settings.class_prior, self.training.statistics)

    @cached_property
    def log_prior(self) -> Floats:
        """log π_k, shape (n_classes,). A class that the prior excludes has −inf."""
        return log(self.prior)

    @abstractmethod
    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return log p(d, C_k) of each document, shape (n_docs, n_classes), in nats.

        A classifier that is not generative returns its scores instead. Also return the number of
        tokens that the classifier uses, shape (n_docs,).
        """

    @classmethod
    def is_leave_one_out_exact(cls, settings: Settings, weight_unit: int) -> bool:
        """Return True if `leave_one_out` supports these settings.

        ``weight_unit`` is the unit of the weights of documents in the statistics.
        """
        return False

    def leave_one_out(self, documents: CountedDocuments) -> HeldOutScores:
        """Score training documents, each by the exact model of all other documents.

        Raise `UsageError` unless `is_leave_one_out_exact`.
        """
        raise UsageError(
            "this model cannot remove single documents exactly", hint="cross-validate with folds"
        )

    def to_log_scale(self, scores: Floats, lengths: Ints) -> Floats:
        """Return scores on the scale of log-probabilities, for calibration.

        ``scores`` and the result have the shape (n_docs, n_classes) and rank the classes of a
        document in the same order. ``lengths`` are numbers of used tokens, shape (n_docs,). Only
        the scores of `ComplementNaiveBayes` are not on this scale already.
        """
        return scores

    def list_calibration_variants(self) -> Sequence[Self]:
        """Return models with the same scores and different versions of `to_log_scale`.

        Calibration chooses the model that makes held-out documents most probable. Only
        `ComplementNaiveBayes` has several versions.
        """
        return (self,)

    @property
    def default_length_exponent(self) -> float:
        """b of the usual temperature n^b of documents of n tokens.

        It is 0 if the scores are usually calibrated. See `nbtext.prediction.calibration`.
        """
        return 0.0


class AdditiveClassifier(Classifier):
    """A classifier whose scores are a bias and a sum over the terms of a document."""

    @property
    @abstractmethod
    def bias(self) -> Floats:
        """The scores of a document without terms, shape (n_classes,), in nats.

        For most classifiers it is the log class prior.
        """

    def compute_document_biases(self, matrix: DocumentTermMatrix) -> Floats:
        """Return the bias of each document, shape (n_docs, n_classes), in nats."""
        return np.tile(self.bias, (matrix.n_documents, 1))

    def compute_features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return the features of documents, by default the counts of their scored terms."""
        return matrix

    def get_scored_terms(self) -> Mask:
        """Return True for terms that contribute to scores, shape (n_terms,).

        With `HAS_COLUMN_FEATURES`, categories are such terms too.
        """
        if self.HAS_COLUMN_FEATURES:
            return self.training.column_features.scored_terms
        return self.training.selected

    @abstractmethod
    def score_terms(self, terms: Ints, features: Numbers) -> Floats:
        """Return the contributions of features to the scores, shape (n, n_classes), in nats.

        ``terms`` and ``features`` have the shape (n,).
        """

    def compute_score_differences(
        self, features: DocumentTermMatrix, classes: Ints, rivals: Ints
    ) -> Floats:
        """Return the contribution of each entry to the score of its class minus its rival's score.

        An entry is a term of a document. ``classes`` and ``rivals`` are class indices, shape
        (n_entries,). The index −1 is the rest, the documents without a label, with the score 0. The
        result has the shape (n_entries,), in nats, and is nan where a term excludes both classes.
        At most `MAX_BLOCK_TERM_WEIGHTS` scores are in memory at once.
        """
        differences = np.empty(features.terms.size)
        all_entries = np.arange(differences.size)
        for entries in iter_blocks(all_entries, self.bias.size, MAX_BLOCK_TERM_WEIGHTS):
            rows = np.arange(entries.size)
            class_scores = self.score_terms(features.terms[entries], features.counts[entries])
            # Append a column for the rest: the index −1 finds the last column.
            scores = np.column_stack((class_scores, np.zeros(entries.size)))
            own_scores = scores[rows, classes[entries]]
            rival_scores = scores[rows, rivals[entries]]
            differences[entries] = subtract_scores(own_scores, rival_scores)
        return differences


class LinearClassifier(AdditiveClassifier):
    """A classifier whose scores are a bias and weights times features."""

    @abstractmethod
    def compute_weights(self, terms: Ints) -> Floats:
        """Return the weights of terms, shape (n, n_classes), in nats."""

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return bias and weights times features, summed over the terms of each document.

        The shape is (n_docs, n_classes). Also return the number of used tokens, (n_docs,).
        """
        scored_terms = self.get_scored_terms()
        if not scored_terms.all():
            matrix = matrix.select_terms(scored_terms)
        scores = np.tile(self.bias, (matrix.n_documents, 1))
        self.add_term_scores(scores, self.compute_features(matrix))
        return scores, matrix.known_tokens

    def add_term_scores(self, scores: Floats, features: DocumentTermMatrix) -> None:
        """Add weights times features to ``scores``, shape (n_docs, n_classes), in place."""
        n_terms = self.training.statistics.n_terms
        add_weighted_sums(scores, features, n_terms, self.compute_weights)

    def score_terms(self, terms: Ints, features: Numbers) -> Floats:
        """Return weights times features, shape (n, n_classes), in nats."""
        return features[:, np.newaxis] * self.compute_weights(terms)

    def compute_score_differences(
        self, features: DocumentTermMatrix, classes: Ints, rivals: Ints
    ) -> Floats:
        """Return x_jd (w_j,class − w_j,rival) of each entry, shape (n_entries,), in nats."""
        # Features of 1 give the differences of the weights.
        unit_features = features._replace(counts=np.ones_like(features.counts))
        differences = super().compute_score_differences(unit_features, classes, rivals)
        return features.counts * differences


class LabelClassifier(LinearClassifier):
    """A linear classifier that `OneVsRestClassifier` can use for multi-label documents."""

    @abstractmethod
    def compute_weights_vs_rest(self, overall: Self, terms: Ints) -> Floats:
        """Return the weights of terms for each class minus those for documents outside it.

        ``overall`` is the model of all documents, of one class. The result has the shape
        (n, n_classes), in nats.
        """

    def compute_bias_vs_rest(self, overall: Self) -> Floats:
        """Return the bias of each class minus that of documents outside it, without the prior.

        The result has the shape (n_classes,), in nats.
        """
        return np.zeros(self.training.statistics.n_classes)


@singledispatch
def unwrap_text_classifier(classifier: Classifier) -> Classifier:
    """Return the classifier of the texts, without attributes."""
    return classifier


@singledispatch
def get_additive_classifier(classifier: Classifier) -> AdditiveClassifier | None:
    """Return the classifier if its scores are sums over terms, else None."""
    if isinstance(classifier, AdditiveClassifier):
        return classifier
    return None


@singledispatch
def get_attribute_likelihoods(classifier: Classifier) -> AttributeLikelihoods | None:
    """Return the distributions of the attributes in each class, or None without attributes.

    `AttributedClassifier` adds the log-likelihoods of the attributes to the scores. For other
    classifiers, the distributions are only shown.
    """
    statistics = classifier.training.statistics
    settings = classifier.training.settings
    if not statistics.attributes.names:
        return None
    from nbtext.classifiers.attribute_likelihoods import AttributeLikelihoods

    return AttributeLikelihoods.estimate(statistics, settings, smoothing=None, include_numbers=True)


@singledispatch
def iter_attribute_scores(classifier: Classifier, matrix: DocumentTermMatrix) -> Iterable[Floats]:
    """Yield the contribution of each attribute to the scores, shape (n_classes,), in nats.

    ``matrix`` contains one document.
    """
    return ()


@singledispatch
def get_term_probabilities(classifier: Classifier) -> TermProbabilities | None:
    """Return the probabilities of terms in each class, or None if the model has none."""
    return None


@singledispatch
def compute_log_likelihood_per_token(
    classifier: Classifier,
    scores: Floats,
    lengths: Ints,
    unknown_lengths: Ints,
) -> ScoresAndTokens | None:
    """Return the log-likelihood per token under the most probable class, and the tokens.

    ``lengths`` are numbers of used tokens, ``unknown_lengths`` of all other tokens. Both results
    have the shape (n_docs,). The log-likelihood is in nats, and 0 for a document without tokens.
    Return None if the model does not define probabilities of tokens.
    """
    return None


@singledispatch
def compute_component_fits(classifier: Classifier) -> list[ComponentFit]:
    """Return the fit of each component of the model, except the class prior, to its counts.

    The list is empty if the model is not generative. Raise `UsageError` if a fit is not defined.
    """
    return []


@singledispatch
def get_classifier_parameters(classifier: Classifier) -> ClassifierParameters:
    """Return parameters to show that only some classifiers have."""
    from nbtext.classifiers.inspection import ClassifierParameters

    return ClassifierParameters()


@singledispatch
def collect_fit_warnings(classifier: Classifier) -> list[str]:
    """Return warnings for the user, such as a fit that did not converge."""
    return []


def subtract_scores(scores: Floats, rival_scores: Floats) -> Floats:
    """Return the differences of scores, nan without a warning where both are infinite."""
    with np.errstate(invalid="ignore"):
        differences: Floats = scores - rival_scores
    return differences
