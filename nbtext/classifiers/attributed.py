"""A classifier of texts with attributes beside them: under the naive Bayes assumption log-likelihoods add.

log p(d, a, C_k) = log p(d, C_k) + Σ log p(a | C_k) over the attributes a document has. A discriminative classifier gives log p(C_k | d) in
place of the first term, which by Bayes' rule comes to the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nbtext.classifiers.base import Classifier, Training
from nbtext.classifiers.categorical import CategoricalAttribute
from nbtext.classifiers.normal import NormalAttributes
from nbtext.classifiers.poisson import PoissonAttributes
from nbtext.classifiers.registry import classifier_class
from nbtext.classifiers.term_probabilities import TermProbabilities
from nbtext.errors import ModelError, UsageError
from nbtext.language_model.evidence import could_be_chosen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from nbtext.classifiers.base import Unseen
    from nbtext.counts.document_term import DocumentTermMatrix
    from nbtext.counts.documents import CountedDocuments

    Floats = NDArray[np.float64]

PSEUDO_DOCUMENTS = 1.0
"""That ``auto`` adds to the numbers of each class."""

KEPT = "attribute_smoothing"


@dataclass(frozen=True, eq=False)
class AttributedClassifier(Classifier):
    """A classifier of the texts, and the distributions of the attributes."""

    text: Classifier
    categorical: tuple[CategoricalAttribute, ...]
    counts: PoissonAttributes | None
    numbers: NormalAttributes | None

    @classmethod
    def needs_documents(cls, parameters: Mapping[str, Any]) -> bool:
        """Whether that of the texts does."""
        return classifier_class(parameters["classifier"]).needs_documents(parameters)

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """The model that follows from the counts; raises `UsageError` for a classifier to whose scores log-likelihoods cannot be added."""
        return cls._with_text(classifier_class(training.parameters["classifier"]).estimate(training), training, None)

    def estimate_again(self, training: Training) -> Self:
        """The model of fewer documents, with the pseudo-counts of all."""
        return self._with_text(self.text.estimate_again(training), training, [of.values.smoothing for of in self.categorical])

    @classmethod
    def restored(cls, training: Training, arrays: Mapping[str, NDArray[np.float64]]) -> Self:
        """The model that kept these arrays; raises `ModelError` if none could have."""
        of_text = {name: array for name, array in arrays.items() if name != KEPT}
        smoothing = arrays.get(KEPT, np.empty(0)).astype(np.float64)
        names = training.statistics.attributes.categorical
        given, n_terms = chosen_smoothing(training.parameters), training.statistics.n_terms
        possible = [could_be_chosen(one, n_terms) if given is None else one == given for one in smoothing.tolist()]
        if smoothing.size != len(names) or not all(possible):
            raise ModelError("the model is malformed: its attributes and their smoothing do not fit")
        text = classifier_class(training.parameters["classifier"]).restored(training, of_text)
        return cls._with_text(text, training, smoothing.tolist())

    @classmethod
    def _with_text(cls, text: Classifier, training: Training, smoothing: list[float] | None) -> Self:
        statistics, parameters = training.statistics, training.parameters
        if not text.ADDS_TO_LIKELIHOODS:
            raise UsageError(f"--classifier {parameters['classifier']} takes no attributes", hint="its scores are no probabilities")
        names = statistics.attributes
        chosen: Sequence[float | None] = smoothing or [chosen_smoothing(parameters)] * len(names.categorical)
        categorical = tuple(
            CategoricalAttribute.estimate(statistics, name, of, parameters) for name, of in zip(names.categorical, chosen, strict=True)
        )
        counts = numbers = None
        if statistics.moments is not None:
            pseudo_documents = chosen_smoothing(parameters)
            pseudo_documents = PSEUDO_DOCUMENTS if pseudo_documents is None else pseudo_documents
            of_counts, of_numbers = statistics.moments.parted(len(names.counts))
            counts = PoissonAttributes.estimate(of_counts, pseudo_documents)
            if not text.TAKES_NUMBERS:
                numbers = NormalAttributes.estimate(of_numbers, pseudo_documents, names.numeric, statistics.classes)
        return cls(text, categorical, counts, numbers)

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> tuple[Floats, NDArray[np.int64]]:
        """log p(d, a, C_k), shape (n_docs, n_classes), in nats, and the tokens and attributes that count, shape (n_docs,)."""
        scores, known = self.text.joint_log_likelihood(matrix)
        for attribute in self.categorical:
            known = known + attribute.add_log_likelihood(scores, matrix)
        if matrix.values is not None and self.counts is not None:
            n_counts = self.counts.rates.shape[1]
            known = known + self.counts.add_log_likelihood(scores, matrix.values[:, :n_counts])
            if self.numbers is not None:
                known = known + self.numbers.add_log_likelihood(scores, matrix.values[:, n_counts:])
        return scores, known

    def leave_one_out(self, documents: CountedDocuments) -> Unseen:
        """Raises `UsageError`: only folds leave attributes out."""
        del documents
        raise UsageError("leave-one-out takes no attributes", hint="cross-validate with folds")

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """Those of the classifier of texts, and the pseudo-counts of categorical attributes."""
        smoothing = np.array([of.values.smoothing for of in self.categorical])
        return {**self.text.arrays(), **({KEPT: smoothing} if smoothing.size else {})}

    def variants(self) -> tuple[Self, ...]:
        """Those of the classifier of texts."""
        return tuple(replace(self, text=text) for text in self.text.variants())

    @property
    def of_texts(self) -> Classifier:
        """The classifier of the texts."""
        return self.text

    def distributions(self) -> tuple[TermProbabilities, ...]:
        """Return those of the texts, and of the values of each categorical attribute."""
        return (
            *self.text.distributions(),
            *(TermProbabilities.of_models(of.values, f"the values of {of.name!r}") for of in self.categorical),
        )

    def warnings(self) -> list[str]:
        """Those of the classifier of texts."""
        return self.text.warnings()


def chosen_smoothing(parameters: Mapping[str, Any]) -> float | None:
    """The pseudo-count that was asked for; None where each attribute is to have its own, as where that of a term is asked for term by term."""
    if parameters["estimate"] == "ml":
        return 0.0
    return float(parameters["smoothing"]) if isinstance(parameters["smoothing"], (int, float)) else None
