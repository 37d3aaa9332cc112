"""The weights of terms, by which a linear classifier scores documents.

The score of class k is b_k + Σ_j w_jk x_j, with the bias b_k and the weights w_jk. The feature x_j
of a document depends on n_j, the occurrences of term j (`TermWeights.weighting`):

- ``counts``: n_j
- ``binary``: 1 if n_j > 0
- ``log``: log(1 + n_j)
- ``tfidf``: log(1 + n_j) · idf_j, divided by the Euclidean length of these numbers in the document

The scores are those of `TextClassifier.joint_log_likelihood`, before calibration.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.classifiers.base import LinearClassifier, get_term_probabilities
from nbtext.compatibility import TERM_WEIGHTS, require_compatible_settings
from nbtext.counts.matrix import MAX_BLOCK_TERM_WEIGHTS, iter_blocks
from nbtext.counts.vocabulary import display_term
from nbtext.counts.weighting import inverse_document_frequency
from nbtext.errors import UsageError
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.fitted_model import FittedModel
    from nbtext.type_names import Ints


@dataclass(frozen=True, eq=False)
class TermWeights:
    """The biases and weights of a linear classifier."""

    model: FittedModel
    classifier: LinearClassifier

    @classmethod
    def from_model(cls, model: FittedModel) -> TermWeights:
        """Return the weights of a model.

        Raise `UsageError` if the model is not linear, or has features that are not terms.
        """
        require_compatible_settings(model.settings, TERM_WEIGHTS)
        classifier = model.classifier
        if not isinstance(classifier, LinearClassifier):
            raise TypeError("the settings offer the trait LINEAR, but the classifier is not linear")
        return cls(model, classifier)

    @property
    def weighting(self) -> str:
        """The features of documents, one of the names in the module's docstring."""
        settings = self.model.settings
        classifier_weightings = {"logistic": "tfidf", "bernoulli": "binary"}
        return classifier_weightings.get(settings.classifier, settings.weighting)

    @property
    def columns(self) -> list[str]:
        """Names of the values of a row. Only for tf-idf is there a column ``idf``."""
        columns = ["term", "class", "probability", "weight", "term_id"]
        if self.weighting == "tfidf":
            columns.append("idf")
        return columns

    @cached_property
    def terms(self) -> Ints:
        """Ids of the terms that contribute to scores, ascending, shape (n_terms,)."""
        return np.flatnonzero(self.classifier.get_scored_terms())

    def iter_rows(self) -> Iterator[list[Any]]:
        """Yield a row for the bias of each class, without a term, then for each term and class.

        The probability is P(term | class), for Bernoulli models the probability that a document of
        the class contains the term. The weights of some classifiers do not follow from it.
        """
        classes = self.model.classes
        no_values = [None for _ in self.columns[4:]]
        for label, bias in zip(classes, self.classifier.bias.tolist(), strict=True):
            yield [None, label, None, bias, *no_values]

        models = get_term_probabilities(self.classifier) or self.model.language_models
        names = iter(self._name_terms())
        for terms in iter_blocks(self.terms, len(classes), MAX_BLOCK_TERM_WEIGHTS):
            columns = (models.compute_probability(terms), self.classifier.compute_weights(terms))
            numbers = np.stack(columns, axis=2).tolist()
            last_columns = [terms.tolist()]
            if self.weighting == "tfidf":
                idf = inverse_document_frequency(self.classifier.training.statistics, terms)
                last_columns.append(idf.tolist())
            for pairs, *last_values in zip(numbers, *last_columns, strict=True):
                name = next(names)
                for label, pair in zip(classes, pairs, strict=True):
                    yield [name, label, *pair, *last_values]

    def _name_terms(self) -> list[str]:
        """Return a distinct name for each term. Of terms with equal names, later ones get their id.

        A stop word and the stem of another word can have equal names, or two segmentations.
        """
        vocabulary = self.model.statistics.vocabulary
        names: dict[str, None] = {}
        for term in self.terms.tolist():
            words = vocabulary.get_term(term).split(" ")  # an n-gram has several
            name = " ".join(map(display_term, words))
            if name in names:
                name = f"{name} ({term})"
            names[name] = None
        return list(names)


def build_weights_frame(model: FittedModel) -> Any:  # noqa: ANN401 - pandas is optional
    """Return the rows of `TermWeights` as a data frame of pandas.

    Raise `UsageError` if pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise UsageError("a data frame needs pandas", hint="pip install pandas") from None
    weights = TermWeights.from_model(model)
    frame = pd.DataFrame(weights.iter_rows(), columns=weights.columns)
    return frame.astype({"probability": "float64", "term_id": "Int64"})
