"""Dirichlet-multinomial naive Bayes: every document has word probabilities of its own, so a word that is repeated counts for less.

log p(d, C_k) = log π_k + Σ_j [log Γ(α_jk + n_jd) − log Γ(α_jk)] − [log Γ(s + n_d) − log Γ(s)], α_jk = s·φ_jk: the document is a draw from
the Pólya distribution of its class. Source: R. Madsen, D. Kauchak, C. Elkan, Modeling word burstiness using the Dirichlet distribution
(2005). Terms of the same value in every class are left out, as in the multinomial model, whose scores these become as s grows.

The mean φ_k is a smoothed language model over documents that hold a term in place of its occurrences: where repetition is bursty, that is
where s·φ_jk is small, the most probable α_jk is in proportion to d_jk (C. Elkan, Clustering documents with an exponential-family
approximation of the Dirichlet compound multinomial distribution, 2006). So it follows from the statistics, and smoothing keeps
unseen terms possible. The concentration s needs counts within documents. It is the one under which the documents of the sample are most
probable, one for all classes: with one for each, the scores of long documents depend more on how the concentrations differ than on their
words, which was less accurate in cross-validation. Like calibration it is learnt from the sample, so a model can be updated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from nbtext.classifiers.base import Classifier, TermProbabilities, Training, class_prior
from nbtext.counts.matrix import add_weighted_sums
from nbtext.errors import ModelError, UsageError
from nbtext.language_model.dirichlet import LanguageModels
from nbtext.language_model.polya import LEAST, MOST, likeliest_concentration, log_rise, repetitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.settings import Settings

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]

KEPT = "concentration"


@dataclass(frozen=True, eq=False)
class DirichletMultinomialNaiveBayes(Classifier):
    """A class prior π, a mean φ for each class, and the concentration s of documents around it."""

    LEARNS_FROM_SAMPLE: ClassVar[bool] = True

    training: Training
    concentration: float

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """The model that follows from the counts and the sample; raises `UsageError` if no sample is kept."""
        if training.sample is None or not training.parameters["sample"]:
            raise UsageError("--classifier dirichlet-multinomial learns from the sample", hint="train with a --sample above 0")
        model = cls(training, MOST)
        return replace(model, concentration=likeliest_concentration(repetitions(model.language_models, training.sample)))

    def estimate_again(self, training: Training) -> Self:
        """The model of other counts with the same concentration."""
        return replace(self, training=training)

    @classmethod
    def smoothing(cls, statistics: ClassStatistics, selected: NDArray[np.bool_], parameters: Settings) -> float:
        """By evidence, of documents that hold a term."""
        return super().smoothing(_holding(statistics), selected, parameters)

    def arrays(self) -> dict[str, Floats]:
        """The concentration, shape (1,)."""
        return {KEPT: np.full(1, self.concentration)}

    @classmethod
    def restored(cls, training: Training, arrays: Mapping[str, Floats]) -> Self:
        """The model that kept this concentration; raises `ModelError` if none could have."""
        if set(arrays) != {KEPT} or arrays[KEPT].shape != (1,) or not LEAST <= arrays[KEPT][0] <= MOST:
            raise ModelError("the model is malformed: it has not one concentration")
        return cls(training, float(arrays[KEPT][0]))

    @cached_property
    def language_models(self) -> LanguageModels:
        """The means φ, over documents that hold a term."""
        training = self.training
        return LanguageModels(
            _holding(training.statistics),
            training.selected,
            training.smoothing,
            training.parameters["prior_shape"],
            training.parameters["estimate"],
            training.own,
        )

    def term_probabilities(self) -> TermProbabilities:
        """Return the means φ_jk."""
        return TermProbabilities.of_models(self.language_models, "that a token of the class is the term, on average over documents")

    @cached_property
    def log_prior(self) -> Floats:
        """log π_k, shape (n_classes,); −inf for a class that the prior rules out."""
        with np.errstate(divide="ignore"):
            return np.log(class_prior(self.training.parameters["class_prior"], self.training.statistics))

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> tuple[Floats, Whole]:
        """log p(d, C_k) of each document, shape (n_docs, n_classes), in nats, and the tokens of selected terms, shape (n_docs,)."""
        matrix = matrix.of_terms(self.training.selected)
        scores = np.tile(self.log_prior, (matrix.n_documents, 1))
        counts, number = np.unique(matrix.counts, return_inverse=True)
        pairs, places = np.unique(matrix.terms.astype(np.int64) * max(counts.size, 1) + number, return_inverse=True)
        terms, steps = pairs // max(counts.size, 1), counts[pairs % max(counts.size, 1)]

        def rises(pair: Whole) -> Floats:
            return log_rise(self.concentration * self.language_models.probability(terms[pair]), steps[pair])

        once = matrix._replace(terms=places, counts=np.ones(places.size, np.int64))  # each pair of term and count is added as a whole
        add_weighted_sums(scores, once, pairs.size, rises)
        lengths = matrix.lengths
        scores -= log_rise(np.full((lengths.size, 1), self.concentration), lengths)
        return scores, lengths

    def likelihood_per_token(self, scores: Floats, lengths: Whole, unknown: Whole) -> tuple[Floats, Whole]:
        """log p(d | C_k) / n_d under the best class, every unknown token counting as one of a term of its own that no document held."""
        best, grown = scores.argmax(axis=1), lengths.astype(np.float64) + self.concentration
        with np.errstate(invalid="ignore"):  # 0 · −inf where there are no unknown tokens, under maximum likelihood
            unseen = np.log(self.concentration) + self.language_models.log_unseen()[best]
            of_unknown = np.where(unknown > 0, unknown * unseen, 0.0) - log_rise(grown[:, np.newaxis], unknown)[:, 0]
            likelihood = scores[np.arange(best.size), best] - self.log_prior[best] + of_unknown
        tokens = lengths + unknown
        return np.divide(likelihood, tokens, out=np.zeros(best.size), where=tokens > 0), tokens


def _holding(statistics: ClassStatistics) -> ClassStatistics:
    """The statistics as if every document held each of its terms once."""
    return replace(statistics, cell_counts=statistics.cell_documents)
