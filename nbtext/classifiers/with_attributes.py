"""A classifier of texts with attributes: under the naive Bayes assumption log-likelihoods add.

log p(d, a, C_k) = log p(d, C_k) + Σ log p(a | C_k) over the attributes of a document. Source: T. Mitchell, Machine learning (1997), section 6.9.
A discriminative classifier has attributes among its own features.
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

ATTRIBUTE_SMOOTHING = "attribute_smoothing"
"""The array in the model file."""


@dataclass(frozen=True, eq=False)
class AttributedClassifier(Classifier):
    """A classifier of the texts, and the likelihoods of the attributes."""

    text_classifier: Classifier
    likelihoods: AttributeLikelihoods

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Return the model that follows from the counts; raise `UsageError` if log-likelihoods cannot be added to the scores of the texts."""
        return cls._of(
            load_classifier_class(training.settings.classifier).estimate(training), training, None
        )

    def refit(self, training: Training) -> Self:
        """Return the model of fewer documents, with the pseudo-counts of all."""
        return self._of(self.text_classifier.refit(training), training, self.likelihoods.smoothing)

    def to_arrays(self) -> Arrays:
        """Return the arrays of the classifier of texts, and the pseudo-counts of categorical attributes."""
        smoothing = self.likelihoods.smoothing
        return {
            **self.text_classifier.to_arrays(),
            **({ATTRIBUTE_SMOOTHING: np.array(smoothing)} if smoothing else {}),
        }

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Return the model that had these `arrays`; raise `ModelError` if no model can have had them."""
        of_text = {name: array for name, array in arrays.items() if name != ATTRIBUTE_SMOOTHING}
        smoothing = arrays.get(ATTRIBUTE_SMOOTHING, np.empty(0)).astype(np.float64).tolist()
        names = training.statistics.attributes.categorical
        n_terms = training.statistics.n_terms
        given = [get_fixed_smoothing(training.settings, name) for name in names]
        fit = len(smoothing) == len(names) and all(
            is_valid_auto_smoothing(each, n_terms) if number is None else each == number
            for each, number in zip(smoothing, given, strict=True)
        )
        require_valid_model(fit, "its attributes and their smoothing do not fit")
        return cls._of(
            load_classifier_class(training.settings.classifier).from_arrays(training, of_text),
            training,
            smoothing,
        )

    @classmethod
    def _of(cls, text: Classifier, training: Training, smoothing: Sequence[float] | None) -> Self:
        counted = training.statistics, training.settings
        return cls(
            training,
            text,
            AttributeLikelihoods.estimate(
                *counted, smoothing, include_numbers=not text.HAS_NUMBER_FEATURES
            ),
        )

    @property
    def default_length_exponent(self) -> float:
        """That of the classifier of the texts."""
        return self.text_classifier.default_length_exponent

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return log p(d, a, C_k), shape (n_docs, n_classes), in nats, and the tokens and attributes that count, shape (n_docs,)."""
        scores, known = self.text_classifier.joint_log_likelihood(matrix)
        return scores, known + self.likelihoods.add_log_likelihood(scores, matrix)

    def leave_one_out(self, documents: CountedDocuments) -> HeldOutScores:
        """Return log p(d, a, C_k) of documents of the corpus, each by the counts and moments of all others, with the pseudo-counts of all."""
        unseen = self.text_classifier.leave_one_out(documents)
        return unseen._replace(
            lengths=unseen.lengths
            + self.likelihoods.add_leave_one_out(
                unseen.scores, documents, self.training.statistics, self.training.settings
            )
        )


@unwrap_text_classifier.register(AttributedClassifier)
def classifier_of_texts(classifier: AttributedClassifier) -> Classifier:
    """Return the classifier of the texts."""
    return classifier.text_classifier


@get_attribute_likelihoods.register(AttributedClassifier)
def likelihoods_of_attributes(classifier: AttributedClassifier) -> AttributeLikelihoods:
    """Return the likelihoods of the attributes."""
    return classifier.likelihoods


@iter_attribute_scores.register(AttributedClassifier)
def attribute_log_likelihoods(
    classifier: AttributedClassifier,
    matrix: DocumentTermMatrix,
) -> Iterator[Floats]:
    """Yield the log-likelihood of each attribute, and for features of the classifier of texts what it says of them."""
    yield from classifier.likelihoods.iter_log_likelihoods(
        matrix, classifier.training.statistics.n_classes
    )
    yield from iter_attribute_scores(classifier.text_classifier, matrix)


@compute_component_fits.register(AttributedClassifier)
def fits_with_attributes(classifier: AttributedClassifier) -> list[ComponentFit]:
    """Return those of the classifier of texts, and of each attribute."""
    training = classifier.training
    attribute_fits = classifier.likelihoods.compute_fits(training.statistics, training.settings)
    return [*compute_component_fits(classifier.text_classifier), *attribute_fits]


@collect_fit_warnings.register(AttributedClassifier)
def warnings_of_texts(classifier: AttributedClassifier) -> list[str]:
    """Return those of the classifier of texts."""
    return collect_fit_warnings(classifier.text_classifier)
