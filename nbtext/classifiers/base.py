"""The interface that all classifiers implement, what they are estimated from, and the class prior.

A classifier is a module of this room and a line of `nbtext.settings.CLASSIFIERS`. It is estimated
from a `Training`. `Classifier` is what training, scoring and calibration need of it. What other rooms
show or ask, and few classifiers can tell, is a generic function (`functools.singledispatch`) below the
classes: it has an answer for all classifiers, and a classifier registers another in its own module.
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
    """Return the class of a name of `CLASSIFIERS`, and import its module: ``nearest-centroid`` would be in `nearest_centroid.py`."""
    module = import_module(f"nbtext.classifiers.{name.replace('-', '_')}")
    return getattr(module, CLASSIFIERS[name])


def select_classifier_class(statistics: CellCounts, settings: Settings) -> type[Classifier]:
    """Return the class of the classifier: that of the settings, for attributes that are no features of it one around it, or the one for several labels."""
    kind = load_classifier_class(settings.classifier)
    if not statistics.posterior_type.is_exclusive:
        module, several = kind.MULTI_LABEL_CLASS
        return getattr(import_module(f"nbtext.classifiers.{module}"), several)
    if kind.HAS_COLUMN_FEATURES or not statistics.attributes.names:
        return kind
    return import_module("nbtext.classifiers.with_attributes").AttributedClassifier


def compute_class_prior(kind: ClassPrior, statistics: ClassStatistics) -> Floats:
    """Return π_k, shape (n_classes,): ``empirical`` D_k / D, ``smoothed:A`` (D_k + A) / (D + A·K), ``uniform`` 1 / K, or weights by label.

    Weights are divided by their sum. A class without documents has the prior 0. Where documents have several labels, π_k is as in `compute_log_prior_odds`. Raises
    `UsageError` if a class has no weight, or none a weight above 0. Source: Gambosi's notes; IIR eq. 13.5.
    """
    missing = (
        []
        if isinstance(kind, str)
        else [label for label in statistics.classes if label not in kind]
    )
    if missing:
        raise UsageError(
            f"the class prior has no number for class {missing[0]!r}",
            hint="give one for every class",
        )
    weights = compute_prior_weights(kind, statistics)
    if not weights.any():
        raise UsageError(
            "the class prior leaves no class possible",
            hint="give a class of the corpus a weight above 0",
        )
    prior: Floats = weights / weights.sum()
    if not statistics.posterior_type.is_exclusive and isinstance(kind, str):
        prior = 1 / (
            1
            + np.exp(
                -compute_log_prior_odds(kind, statistics.class_documents, statistics.n_documents)
            )
        )
    return prior


def compute_declared_prior(settings: Settings, statistics: ClassStatistics) -> Floats | None:
    """Return π_k where it is not the shares of the training documents, shape (n_classes,), else None. ``statistics`` are weighed as training weighs them."""
    is_of_shares = settings.class_prior == "empirical" and settings.class_weight is None
    return None if is_of_shares else compute_class_prior(settings.class_prior, statistics)


def leave_one_out_prior(
    kind: ClassPrior, statistics: ClassStatistics, number: int, weight: float
) -> Floats:
    """Return π_k without one document of class ``number``, shape (n_classes,); all zeros if that leaves no class possible."""
    others = statistics.class_documents - weight * (np.arange(statistics.n_classes) == number)
    weights = compute_prior_weights(kind, statistics, others)
    return weights / (weights.sum() or 1.0)


def compute_prior_weights(
    kind: ClassPrior, statistics: ClassStatistics, documents: Numbers | None = None
) -> Floats:
    """Return numbers in proportion to π_k, shape (n_classes,), 0 without documents: of those of the statistics, or of so many by class."""
    documents = statistics.class_documents if documents is None else documents
    if not isinstance(kind, str):
        weights = np.array([kind[label] for label in statistics.classes])
    elif kind == "uniform":
        weights = np.ones(len(documents))
    else:
        weights = documents + (0.0 if kind == "empirical" else float(kind.partition(":")[2]))
    return np.where(documents > 0, weights, 0.0)


LABEL_PRIOR_PSEUDO_DOCUMENTS = 0.5
"""Documents added to those with a label and to those without: no label is certain, or impossible, before the text is read."""


def compute_log_prior_odds(
    kind: ClassPrior, documents: Numbers, n_documents: Numbers | float
) -> Floats:
    """Return log π_k/(1 − π_k) of labels that so many of the documents have, of any shape that broadcasts."""
    if kind == "uniform":
        return np.zeros(np.broadcast_shapes(np.shape(documents), np.shape(n_documents)))
    more = (
        LABEL_PRIOR_PSEUDO_DOCUMENTS if kind == "empirical" else float(str(kind).partition(":")[2])
    )
    return np.log(documents + more) - np.log(n_documents - documents + more)


def compute_label_log_prior_odds(training: Training) -> Floats:
    """Return log π_k/(1 − π_k) of the labels of a corpus, shape (n_classes,)."""
    statistics = training.statistics
    return compute_log_prior_odds(
        training.settings.class_prior, statistics.class_documents, statistics.n_documents
    )


def get_default_smoothing(training: Training, per_term: float) -> float:
    """Return the pseudo-count for ``auto`` where no evidence decides it: so much per term, or with the prior shape ``background`` of all terms."""
    if training.settings.prior_shape == "symmetric":
        return per_term
    return per_term * max(int(np.count_nonzero(training.selected)), 1)


@dataclass(frozen=True, eq=False)
class Training:
    """Counts and settings that a classifier is estimated from."""

    statistics: ClassStatistics
    selected: Mask
    """The terms that count, shape (n_terms,)."""
    smoothing: float
    """Without a meaning while it is to be chosen."""
    settings: Settings
    documents: CountedDocuments | None = None
    """All documents, for classifiers that need them."""
    sample: CountedDocuments | None = None
    """The documents that the model keeps, for classifiers that learn from them."""
    term_pseudo_counts: TermPseudoCounts = NO_TERM_PSEUDO_COUNTS
    """The pseudo-counts of terms that do not have ``smoothing``."""
    term_selector: Callable[[ClassStatistics], Mask] | None = None
    """Selects terms from fewer documents; None if the selection does not depend on labels."""

    @cached_property
    def column_features(self) -> ColumnFeatures:
        """The features of a classifier that takes columns."""
        from nbtext.classifiers.attribute_likelihoods import ColumnFeatures

        return ColumnFeatures.from_statistics(self.statistics, self.selected)

    def select_terms(self, statistics: ClassStatistics) -> Mask:
        """Return the terms that count if only these documents are known, shape (n_terms,)."""
        return (
            self.selected & statistics.term_occurs
            if self.term_selector is None
            else self.term_selector(statistics)
        )

    def require_all_documents(self) -> CountedDocuments:
        """Return all documents; raise `UsageError` if there is only a sample of them."""
        if self.documents is None:
            raise UsageError(
                "AIC and BIC need all documents, and the model keeps a sample of them",
                hint="train with a larger --set sample=N, or use nbtext tune",
            )
        return self.documents

    def compute_weighted_statistics(self) -> ClassStatistics:
        """Return the statistics with weighted cells in place of counts, from the documents if they are needed: what pseudo-counts are added to."""
        weighting = self.settings.weighting
        if weighting == "counts":
            return self.statistics
        from nbtext.counts.weighting import weigh_cells

        return replace(
            self.statistics,
            cell_counts=weigh_cells(weighting, self.statistics, self.selected, self.documents),
        )

    def estimate_language_models(self, statistics: ClassStatistics) -> LanguageModels:
        """Return the language models of these counts under the settings."""
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
    """A model estimated from counts that scores documents: `estimate` and `joint_log_likelihood` are enough."""

    NEEDS_SAMPLE: ClassVar[bool] = False
    """True if `estimate` needs the sample."""
    DEFAULT_PSEUDO_COUNT: ClassVar[float] = 0.1
    """The smoothing for ``auto`` where no evidence decides it."""
    HAS_NUMBER_FEATURES: ClassVar[bool] = False
    """True if numeric attributes are among its own features."""
    HAS_COLUMN_FEATURES: ClassVar[bool] = False
    """True if all attributes are, so that their likelihoods have no part in its scores."""

    MULTI_LABEL_CLASS: ClassVar[tuple[str, str]] = ("multi_label", "OneVsRestClassifier")
    """Module and class of the model for documents that may have several labels."""

    training: Training

    @classmethod
    def choose_smoothing(cls, training: Training) -> float:
        """Return the pseudo-count for ``auto``, or with the prior shape ``background`` μ: by default that of the greatest evidence."""
        from nbtext.language_model.smoothing import (
            build_count_histogram,
            choose_smoothing_by_evidence,
        )

        prior_shape = training.settings.prior_shape
        return choose_smoothing_by_evidence(
            build_count_histogram(
                training.compute_weighted_statistics(), training.selected, prior_shape
            ),
            prior_shape,
        )

    @classmethod
    @abstractmethod
    def estimate(cls, training: Training) -> Self:
        """Return the model that follows from the counts."""

    def refit(self, training: Training) -> Self:
        """Return the model of fewer documents; whatever this one chose from all documents stays as it is."""
        return self.estimate(training)

    def to_arrays(self) -> Arrays:
        """Return the flat arrays that the model file keeps beside the statistics, by name."""
        return {}

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Return the model that had these `arrays`, from statistics without documents; raise `ModelError` if no model can have had them."""
        require_valid_model(not arrays, "its classifier keeps nothing beside the statistics")
        return cls.estimate(training)

    @cached_property
    def prior(self) -> Floats:
        """π_k, shape (n_classes,)."""
        return compute_class_prior(self.training.settings.class_prior, self.training.statistics)

    @cached_property
    def log_prior(self) -> Floats:
        """log π_k, shape (n_classes,); −inf for a class that the prior rules out."""
        return log(self.prior)

    @abstractmethod
    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return log p(d, C_k) of each document, shape (n_docs, n_classes), in nats, and the tokens that count, shape (n_docs,).

        A classifier that is not generative returns its scores.
        """

    @classmethod
    def is_leave_one_out_exact(cls, settings: Settings, unit: int) -> bool:
        """Return whether `leave_one_out` works on counts of this unit, weighed by class if settings say so."""
        return False

    def leave_one_out(self, documents: CountedDocuments) -> HeldOutScores:
        """Score documents that the model was estimated from, each by the model of all others, exactly; raise `UsageError` if it cannot."""
        raise UsageError(
            "this model cannot leave out single documents exactly", hint="cross-validate with folds"
        )

    def to_log_scale(self, scores: Floats, lengths: Ints) -> Floats:
        """Return the scores on the scale of log-probabilities, in the same order, shape (n_docs, n_classes), for calibration.

        ``lengths``: tokens of terms that count, shape (n_docs,). Scores of a generative model are on that scale already.
        """
        return scores

    def list_calibration_variants(self) -> Sequence[Self]:
        """Return models with the same scores but another `log_scale`; calibration takes the one that makes unseen documents most probable."""
        return (self,)

    @property
    def default_length_exponent(self) -> float:
        """The exponent of the length in the usual temperature: 0 if scores are about as sure as they should be."""
        return 0.0


class AdditiveClassifier(Classifier):
    """A classifier whose scores are a bias and a sum over the terms of a document."""

    @property
    @abstractmethod
    def bias(self) -> Floats:
        """The part of the scores that is the same for every document, shape (n_classes,), in nats: for most the log class prior."""

    def compute_document_biases(self, matrix: DocumentTermMatrix) -> Floats:
        """Return what documents of known terms get beside their terms, shape (n_docs, n_classes), in nats: by default `bias`."""
        return np.tile(self.bias, (matrix.n_documents, 1))

    def compute_features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return the features of documents, made of the counts of known terms: by default the counts."""
        return matrix

    def get_scored_terms(self) -> Mask:
        """Return the terms that count in a score, shape (n_terms,)."""
        return self.training.selected

    @abstractmethod
    def score_terms(self, terms: Ints, amounts: Numbers) -> Floats:
        """Return what terms with these features, shapes (n,), add to the scores, shape (n, n_classes), in nats."""

    def compute_score_differences(
        self, features: DocumentTermMatrix, answers: Ints, rivals: Ints
    ) -> Floats:
        """Return what each feature adds to the score of its answer less that of its rival, shape (n_entries,), in nats.

        ``answers`` and ``rivals`` are class numbers, shape (n_entries,), −1 for a score of 0. nan where a term rules out both. At most `MAX_BLOCK_TERM_WEIGHTS`
        scores are in memory.
        """
        nats = np.empty(features.terms.size)
        for part in iter_blocks(np.arange(nats.size), self.bias.size, MAX_BLOCK_TERM_WEIGHTS):
            rows = np.arange(part.size)
            scores = np.column_stack(
                (self.score_terms(features.terms[part], features.counts[part]), np.zeros(part.size))
            )
            nats[part] = subtract_scores(scores[rows, answers[part]], scores[rows, rivals[part]])
        return nats


class LinearClassifier(AdditiveClassifier):
    """A classifier whose scores are a bias and weights times features."""

    @abstractmethod
    def compute_weights(self, terms: Ints) -> Floats:
        """Return the weights of terms, shape (n, n_classes), in nats."""

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return bias and weights times features, summed over the terms of each document."""
        known = self.get_scored_terms()
        matrix = matrix if known.all() else matrix.select_terms(known)
        scores = np.tile(self.bias, (matrix.n_documents, 1))
        self.add_term_scores(scores, self.compute_features(matrix))
        return scores, matrix.known_tokens

    def add_term_scores(self, scores: Floats, features: DocumentTermMatrix) -> None:
        """Add weights times features to the scores, shape (n_docs, n_classes)."""
        add_weighted_sums(scores, features, self.training.statistics.n_terms, self.compute_weights)

    def score_terms(self, terms: Ints, amounts: Numbers) -> Floats:
        """Return weights times features, shape (n, n_classes), in nats."""
        return amounts[:, np.newaxis] * self.compute_weights(terms)

    def compute_score_differences(
        self, features: DocumentTermMatrix, answers: Ints, rivals: Ints
    ) -> Floats:
        """Return x_jd (w_j,answer − w_j,rival) of each entry."""
        once = features._replace(counts=np.ones_like(features.counts))
        return features.counts * super().compute_score_differences(once, answers, rivals)


class LabelClassifier(LinearClassifier):
    """A linear classifier that may be the model of a label against the rest, where documents have several."""

    @abstractmethod
    def compute_weights_vs_rest(self, everything: Self, terms: Ints) -> Floats:
        """Return the weights of terms for each class less those for all documents without it, shape (n, n_classes), in nats.

        ``everything`` is the model of all documents, of one class.
        """

    def compute_bias_vs_rest(self, everything: Self) -> Floats:
        """Return what is the same for every document beside the prior, for each class less that for all documents without it, shape (n_classes,)."""
        return np.zeros(self.training.statistics.n_classes)


@singledispatch
def unwrap_text_classifier(classifier: Classifier) -> Classifier:
    """Return the classifier of the texts alone, without attributes."""
    return classifier


@singledispatch
def get_additive_classifier(classifier: Classifier) -> AdditiveClassifier | None:
    """Return the classifier if its scores are sums over terms, else None."""
    return classifier if isinstance(classifier, AdditiveClassifier) else None


@singledispatch
def get_attribute_likelihoods(classifier: Classifier) -> AttributeLikelihoods | None:
    """Return the distributions of the attributes in each class; None for a model of texts alone.

    They have a part in the scores, or are only shown.
    """
    statistics = classifier.training.statistics
    settings = classifier.training.settings
    if not statistics.attributes.names:
        return None
    from nbtext.classifiers.attribute_likelihoods import AttributeLikelihoods

    return AttributeLikelihoods.estimate(statistics, settings, None, include_numbers=True)


@singledispatch
def iter_attribute_scores(classifier: Classifier, matrix: DocumentTermMatrix) -> Iterable[Floats]:
    """Return what each attribute of one document adds to the scores, each of shape (n_classes,), in nats."""
    return ()


@singledispatch
def get_term_probabilities(classifier: Classifier) -> TermProbabilities | None:
    """Return the probabilities of terms in each class that scores are made of; None for a model that has none of the class itself."""
    return None


@singledispatch
def compute_log_likelihood_per_token(
    classifier: Classifier,
    scores: Floats,
    lengths: Ints,
    unknown: Ints,
) -> ScoresAndTokens | None:
    """Return the log-likelihood per token of scored documents under their best class, in nats, and their tokens; both of shape (n_docs,).

    Unknown tokens count; 0 for a document without tokens. None for a model that gives tokens no probability.
    """
    return None


@singledispatch
def compute_component_fits(classifier: Classifier) -> list[ComponentFit]:
    """Return how well each part of the model but the class prior fits its counts; raise `UsageError` where that is not defined.

    Empty for a model that is not generative.
    """
    return []


@singledispatch
def get_classifier_parameters(classifier: Classifier) -> ClassifierParameters:
    """Return the parameters that an overview shows of few classifiers."""
    from nbtext.classifiers.inspection import ClassifierParameters

    return ClassifierParameters()


@singledispatch
def collect_fit_warnings(classifier: Classifier) -> list[str]:
    """Return warnings for the user, such as a fit that did not converge."""
    return []


def subtract_scores(of_answers: Floats, of_rivals: Floats) -> Floats:
    """Return the one less the other, nan without a warning where both are infinite."""
    with np.errstate(invalid="ignore"):
        found: Floats = of_answers - of_rivals
    return found
