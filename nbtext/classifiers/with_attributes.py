"""A classifier of documents with text and attributes, whose log-likelihoods are added up.

log p(d, a, C_k) = log p(d, C_k) + Σ log p(a | C_k) over the attributes of a document.
Source: T. Mitchell, Machine learning (1997), section 6.9.
Classifiers with attributes among their own features, such as logistic regression, do not need this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from nbtext.classifiers.attribute_likelihoods import AttributeLikelihoods, get_fixed_smoothing
from nbtext.classifiers.base import (
    Classifier,
    Training,
    collect_fit_warnings,
    compute_component_fits,
    get_attribute_likelihoods,
    iter_attribute_scores,
    load_classifier_class,
    unwrap_text_classifier,
)
from nbtext.errors import require_valid_model
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import is_valid_auto_smoothing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.language_model.measures import ComponentFit
    from nbtext.prediction.calibration import HeldOutScores
    from nbtext.type_names import Arrays, Floats, ScoresAndTokens

ATTRIBUTE_SMOOTHING_ARRAY = "attribute_smoothing"
"""Name of the array in the model file."""


@dataclass(frozen=True, eq=False)
class AttributedClassifier(Classifier):
    """A classifier of the texts of documents, and the likelihoods of their attributes."""

    text_classifier: Classifier
    likelihoods: AttributeLikelihoods

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Estimate the text classifier and the likelihoods of the attributes.

        Raise `UsageError` if the text classifier or an attribute cannot be estimated.
        """
        text_class = load_classifier_class(training.settings.classifier)
        text_classifier = text_class.estimate(training)
        return cls._from_text_classifier(text_classifier, training, smoothing=None)

    def refit(self, training: Training) -> Self:
        """Estimate the model of fewer documents, and keep the pseudo-counts of this model."""
        text_classifier = self.text_classifier.refit(training)
        return self._from_text_classifier(text_classifier, training, self.likelihoods.smoothing)

    def to_arrays(self) -> Arrays:
        """Return the arrays of the text classifier, and the pseudo-counts of attributes.

        The pseudo-counts have the shape (n_categorical,).
        """
        arrays = dict(self.text_classifier.to_arrays())
        smoothing = self.likelihoods.smoothing
        if smoothing:
            arrays[ATTRIBUTE_SMOOTHING_ARRAY] = np.array(smoothing)
        return arrays

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Restore the model from the result of `to_arrays`.

        Raise `ModelError` if the arrays cannot come from `to_arrays`.
        """
        text_arrays = {
            name: array for name, array in arrays.items() if name != ATTRIBUTE_SMOOTHING_ARRAY
        }
        smoothing_array = arrays.get(ATTRIBUTE_SMOOTHING_ARRAY, np.empty(0))
        smoothing = smoothing_array.astype(np.float64).tolist()
        require_valid_model(
            _is_valid_smoothing(training, smoothing),
            "its attributes and their smoothing do not fit",
        )
        text_class = load_classifier_class(training.settings.classifier)
        text_classifier = text_class.from_arrays(training, text_arrays)
        return cls._from_text_classifier(text_classifier, training, smoothing)

    @classmethod
    def _from_text_classifier(
        cls, text_classifier: Classifier, training: Training, smoothing: Sequence[float] | None
    ) -> Self:
        """Add the likelihoods of the attributes to a text classifier.

        ``smoothing`` are the pseudo-counts of categorical attributes. None means that the settings
        fix or choose them.
        """
        likelihoods = AttributeLikelihoods.estimate(
            training.statistics,
            training.settings,
            smoothing,
            include_numbers=not text_classifier.HAS_NUMBER_FEATURES,
        )
        return cls(training, text_classifier, likelihoods)

    @property
    def default_length_exponent(self) -> float:
        """The exponent of the usual temperature of the text classifier."""
        return self.text_classifier.default_length_exponent

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return log p(d, a, C_k), shape (n_docs, n_classes), in nats.

        Also return how many tokens and attributes are used, shape (n_docs,).
        """
        scores, n_tokens = self.text_classifier.joint_log_likelihood(matrix)
        # This changes the scores in place.
        n_attributes = self.likelihoods.add_log_likelihood(scores, matrix)
        return scores, n_tokens + n_attributes

    def leave_one_out(self, documents: CountedDocuments) -> HeldOutScores:
        """Return log p(d, a, C_k) of training documents, each by the statistics of all others.

        The pseudo-counts stay the same as for all documents.
        """
        held_out = self.text_classifier.leave_one_out(documents)
        # This changes the scores in place.
        n_attributes = self.likelihoods.add_leave_one_out(
            held_out.scores, documents, self.training.statistics, self.training.settings
        )
        return held_out._replace(lengths=held_out.lengths + n_attributes)


def _is_valid_smoothing(training: Training, smoothing: Sequence[float]) -> bool:
    """Return True if training can choose these pseudo-counts of categorical attributes."""
    names = training.statistics.attributes.categorical
    if len(smoothing) != len(names):
        return False
    for name, pseudo_count in zip(names, smoothing, strict=True):
        fixed = get_fixed_smoothing(training.settings, name)
        if fixed is None:
            if not is_valid_auto_smoothing(pseudo_count):
                return False
        elif pseudo_count != fixed:
            return False
    return True


# The versions of the generic functions of `nbtext.classifiers.base` for this class.


@unwrap_text_classifier.register(AttributedClassifier)
def get_text_classifier(classifier: AttributedClassifier) -> Classifier:
    """Return the classifier of the texts."""
    return classifier.text_classifier


@get_attribute_likelihoods.register(AttributedClassifier)
def get_scored_likelihoods(classifier: AttributedClassifier) -> AttributeLikelihoods:
    """Return the likelihoods of the attributes, which are part of the scores."""
    return classifier.likelihoods


@iter_attribute_scores.register(AttributedClassifier)
def iter_attribute_log_likelihoods(
    classifier: AttributedClassifier,
    matrix: DocumentTermMatrix,
) -> Iterator[Floats]:
    """Yield the log-likelihood of each attribute, then attribute scores of the text classifier.

    The text classifier has such scores if numbers are among its features.
    """
    n_classes = classifier.training.statistics.n_classes
    yield from classifier.likelihoods.iter_log_likelihoods(matrix, n_classes)
    yield from iter_attribute_scores(classifier.text_classifier, matrix)


@compute_component_fits.register(AttributedClassifier)
def compute_text_and_attribute_fits(classifier: AttributedClassifier) -> list[ComponentFit]:
    """Return the fits of the text classifier, then the fit of each attribute."""
    training = classifier.training
    attribute_fits = classifier.likelihoods.compute_fits(training.statistics, training.settings)
    return [*compute_component_fits(classifier.text_classifier), *attribute_fits]


@collect_fit_warnings.register(AttributedClassifier)
def collect_text_fit_warnings(classifier: AttributedClassifier) -> list[str]:
    """Return the warnings of the text classifier."""
    return collect_fit_warnings(classifier.text_classifier)
