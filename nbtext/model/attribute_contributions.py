"""What the values beside a document's text add to the score of one class over that of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.attributes import parted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from nbtext.classifiers.attributed import AttributedClassifier
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.model.text_classifier import TextClassifier

    Floats = NDArray[np.float64]


class Attribute(NamedTuple):
    """A value beside the text, and what it adds, in nats."""

    name: str
    value: str
    nats: float


def attribute_contributions(
    model: TextClassifier, matrix: DocumentTermMatrix, document: bytes, pair: tuple[int, int]
) -> tuple[Attribute, ...]:
    """One for each value that the document has; ``matrix`` holds it alone, and ``pair`` are the answer and the class compared with.

    Where the classifier has numbers among its own features, a number adds what it does more than the mean of the corpus in its place.
    """
    return tuple(Attribute(name, value, _difference(scores, pair)) for name, value, scores in attribute_scores(model, matrix, document))


def attribute_scores(model: TextClassifier, matrix: DocumentTermMatrix, document: bytes) -> list[tuple[str, str, Floats]]:
    """The name and value of each attribute that a document has, and what it adds to the scores, shape (n_classes,)."""
    from nbtext.classifiers.attributed import AttributedClassifier

    classifier = model.classifier
    if not isinstance(classifier, AttributedClassifier):
        return []
    named = zip(model.statistics.attributes.names, parted(document)[1], _scores(classifier, matrix), strict=False)
    return [(name, value, scores) for name, value, scores in named if value]


def _scores(classifier: AttributedClassifier, matrix: DocumentTermMatrix) -> Iterator[Floats]:
    """What each attribute adds to the scores, shape (n_classes,), in the order of the values of a document."""
    n_classes = classifier.text.joint_log_likelihood(matrix)[0].shape[1]
    for attribute in classifier.categorical:
        scores = np.zeros((1, n_classes))
        attribute.add_log_likelihood(scores, matrix)
        yield scores[0]
    if matrix.values is None or classifier.counts is None:
        return
    n_counts = classifier.counts.rates.shape[1]
    for column in range(matrix.values.shape[1]):
        scores = np.zeros((1, n_classes))
        if column >= n_counts and classifier.numbers is None:
            yield _beyond_mean(classifier, matrix, column)
            continue
        of_kind, first = (classifier.counts, 0) if column < n_counts or classifier.numbers is None else (classifier.numbers, n_counts)
        alone = np.full((1, n_counts if of_kind is classifier.counts else matrix.values.shape[1] - n_counts), np.nan)
        alone[0, column - first] = matrix.values[0, column]
        of_kind.add_log_likelihood(scores, alone)
        yield scores[0]


def _beyond_mean(classifier: AttributedClassifier, matrix: DocumentTermMatrix, column: int) -> Floats:
    """The scores of the document less those with the corpus's mean in place of a number, shape (n_classes,)."""
    from nbtext.classifiers.gaussian import GaussianDiscriminantAnalysis

    if matrix.values is None or not isinstance(classifier.text, GaussianDiscriminantAnalysis):
        raise TypeError("only Gaussian classes have numbers among their features")
    centres = classifier.text.numbers.centres
    values = matrix.values.copy()
    values[0, column] = centres[column - (values.shape[1] - centres.size)]
    as_it_is, as_usual = (classifier.text.joint_log_likelihood(of)[0][0] for of in (matrix, matrix._replace(values=values)))
    found: Floats = as_it_is - as_usual
    return found


def _difference(scores: Floats, pair: tuple[int, int]) -> float:
    with np.errstate(invalid="ignore"):
        found = float(scores[pair[0]] - scores[pair[1]])
    return 0.0 if np.isnan(found) else found
