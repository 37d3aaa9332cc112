"""Categorical attributes: in every class the values of an attribute are draws from a categorical distribution, as the terms of a text are.

log p(a | C_k) = log φ_ak, φ estimated under a Dirichlet prior by `nbtext.language_model.dirichlet`, for each attribute by itself. Source:
T. Mitchell, Machine learning (1997), section 6.9, and as pseudo-counts (the m-estimate) 6.9.1.


Counts as attributes: in every class a count has a Poisson distribution.

log p(x | C_k) = x log λ_k − λ_k − log x!. The conjugate prior of a rate is a gamma distribution; its mean after α pseudo-documents with
the corpus's mean count x̄ is λ_k = (Σx + α x̄)/(n_k + α), at maximum likelihood Σx/n_k. Source: A. Gelman et al., Bayesian data analysis,
3rd ed. (2013), section 2.6.

Numbers as attributes: in every class a number has a normal distribution, independent of the others. This is Gaussian naive Bayes.

log p(x | C_k) = −½ [log 2πσ²_k + (x − μ_k)²/σ²_k]. Mean and variance are those of the class's documents and of α pseudo-documents that are
spread as the whole corpus is, so that a class of one document has a variance too; α = 0 is maximum likelihood. Source: Gambosi's notes,
probabilistic classification; pseudo-documents as a conjugate prior: A. Gelman et al., Bayesian data analysis, 3rd ed. (2013), section 3.3.

A classifier of texts with attributes beside them: under the naive Bayes assumption log-likelihoods add.

log p(d, a, C_k) = log p(d, C_k) + Σ log p(a | C_k) over the attributes a document has. A discriminative classifier gives log p(C_k | d) in
place of the first term, which by Bayes' rule comes to the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nbtext.attributes import FARTHEST
from nbtext.classifiers.base import Classifier, TermProbabilities, Training
from nbtext.classifiers.registry import classifier_class
from nbtext.counts.matrix import add_weighted_sums
from nbtext.counts.vocabulary import is_category_of
from nbtext.errors import ModelError, UsageError
from nbtext.language_model.dirichlet import LanguageModels
from nbtext.language_model.smoothing import could_be_chosen, smoothing_by_evidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from nbtext.classifiers.base import Unseen
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.moments import Moments
    from nbtext.counts.statistics import ClassStatistics

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CategoricalAttribute:
    """φ of one attribute: a distribution over its values for each class."""

    name: str
    values: LanguageModels

    @classmethod
    def estimate(cls, statistics: ClassStatistics, name: str, smoothing: float | None, parameters: Mapping[str, Any]) -> Self:
        """From the counts of its values; with None for the pseudo-count that of the greatest evidence."""
        terms = is_category_of(statistics.vocabulary, name)
        shape, estimate = parameters["prior_shape"], parameters["estimate"]
        if smoothing is None:
            smoothing = smoothing_by_evidence(statistics, terms, shape)
        return cls(name, LanguageModels(statistics, terms, smoothing, shape, estimate))

    def add_log_likelihood(self, scores: NDArray[np.float64], matrix: DocumentTermMatrix) -> NDArray[np.int64]:
        """Add log p(a_d | C_k) to the scores, shape (n_docs, n_classes), in nats, and return which documents have a value, shape (n_docs,).

        A value that no training document has says nothing, and neither does a missing one.
        """
        here = matrix.of_terms(self.values.selected)
        add_weighted_sums(scores, here, self.values.selected.size, self.values.log_probability)
        return here.entries


@dataclass(frozen=True, eq=False)
class PoissonAttributes:
    """λ of each count in each class, shape (n_classes, n_columns)."""

    rates: Floats

    @classmethod
    def estimate(cls, moments: Moments, smoothing: float) -> Self:
        """From the moments of the counts and a number of pseudo-documents; 0 is maximum likelihood."""
        total = moments.total()
        corpus_mean = total.sums.astype(np.float64) / np.maximum(total.documents, 1)
        added = moments.sums.astype(np.float64) + smoothing * corpus_mean
        documents = moments.documents + smoothing
        return cls(np.divide(added, documents, out=np.zeros_like(added), where=documents > 0))

    def add_log_likelihood(self, scores: Floats, values: Floats) -> NDArray[np.int64]:
        """Add log p(x_d | C_k) of values, shape (n_docs, n_columns), nan for missing, to the scores, shape (n_docs, n_classes), in nats.

        Returns how many values each document has, shape (n_docs,). A count that was 0 in every document of the corpus says nothing.
        """
        known = np.isfinite(values) & self.rates.any(axis=0)
        for column in np.flatnonzero(known.any(axis=0)).tolist():
            rows = np.flatnonzero(known[:, column])
            x, rates = values[rows, column, np.newaxis], self.rates[:, column]
            with np.errstate(divide="ignore", invalid="ignore"):
                of_events = np.where(x > 0, x * np.log(rates), 0.0)
            log_factorial = np.array([math.lgamma(count + 1) for count in x[:, 0].tolist()])
            scores[rows] += of_events - rates - log_factorial[:, np.newaxis]
        return np.asarray(np.count_nonzero(known, axis=1))


@dataclass(frozen=True, eq=False)
class NormalAttributes:
    """μ and σ² of each number in each class, shapes (n_classes, n_columns)."""

    means: Floats
    variances: Floats

    @classmethod
    def estimate(cls, moments: Moments, smoothing: float, names: Sequence[str], classes: Sequence[str]) -> Self:
        """From the moments of the numbers and a number of pseudo-documents.

        Raises `UsageError` if a class has no spread; where the corpus has none its number says nothing.
        """
        corpus_mean, corpus_variance = mean_and_variance(moments.total())
        n = moments.documents
        weight = np.divide(n, n + smoothing, out=np.zeros(n.shape), where=n + smoothing > 0)  # of the class against the corpus
        mean, variance = mean_and_variance(moments)
        between = weight * (1 - weight) * (mean - corpus_mean) ** 2
        variances = weight * variance + (1 - weight) * corpus_variance + between
        if np.any(flat := (corpus_variance > 0) & ~(variances > 0)):
            label, name = (int(place) for place in np.argwhere(flat)[0])
            raise UsageError(
                f"in class {classes[label]} all documents have the same {names[name]!r}",
                hint="leave --estimate and --smoothing as they are",
            )
        return cls(weight * mean + (1 - weight) * corpus_mean, variances)

    def add_log_likelihood(self, scores: Floats, values: Floats) -> NDArray[np.int64]:
        """Add log p(x_d | C_k) of values, shape (n_docs, n_columns), nan for missing, to the scores, shape (n_docs, n_classes), in nats.

        A value counts as at most `FARTHEST` standard deviations away from a mean. Returns how many values each document has, shape (n_docs,).
        """
        known = np.isfinite(values) & np.all(self.variances > 0, axis=0)
        for column in np.flatnonzero(known.any(axis=0)).tolist():
            rows = np.flatnonzero(known[:, column])
            mean, variance = self.means[:, column], self.variances[:, column]
            with np.errstate(over="ignore"):
                distance = np.minimum((values[rows, column, np.newaxis] - mean) ** 2 / variance, FARTHEST**2)
            scores[rows] -= 0.5 * (np.log(2 * np.pi * variance) + distance)
        return np.asarray(np.count_nonzero(known, axis=1))


def mean_and_variance(moments: Moments) -> tuple[Floats, Floats]:
    """Σx/n and Σx²/n − (Σx/n)², rounded only at the end, shapes as the moments'; 0 where n is."""
    exact: list[list[tuple[Fraction, Fraction]]] = [
        [(total / max(n, 1), square / max(n, 1)) for n, total, square in zip(*row, strict=True)] for row in _rows(moments)
    ]
    pairs = np.array([[(float(mean), float(square - mean**2)) for mean, square in row] for row in exact]).reshape(*moments.sums.shape, 2)
    return pairs[..., 0], pairs[..., 1]


def _rows(moments: Moments) -> list[tuple[Any, ...]]:
    return list(zip(*(part.tolist() for part in moments), strict=True))


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
