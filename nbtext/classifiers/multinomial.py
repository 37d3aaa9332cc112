"""Multinomial naive Bayes: the tokens of a document are independent draws from the language model of its class.

log p(d, C_k) = log π_k + Σ_j n_jd log φ_jk. Source: IIR eq. 13.4; A. McCallum, K. Nigam, A comparison of event models for naive Bayes text
classification (1998). The probability of the document's length and of the order of its terms is the same in every class and left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from nbtext.classifiers.base import OF_TOKENS, TermProbabilities, Training, Unseen, class_prior, class_prior_without
from nbtext.classifiers.weighted import WeightedCountsClassifier
from nbtext.language_model.dirichlet import LanguageModels
from nbtext.language_model.smoothing import leave_one_out

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.settings import Settings

OF_WEIGHTS = {
    "binary": "that a token of the class is the term, each document counting a term once",
    "log": "the term's share of the log weights of the class",
    "tfidf": "the term's share of the tf-idf weights of the class",
}
"""What φ means, by weighting."""


@dataclass(frozen=True, eq=False)
class MultinomialNaiveBayes(WeightedCountsClassifier):
    """A class prior π, shape (n_classes,), and a language model φ for each class."""

    language_models: LanguageModels
    prior_kind: str | Mapping[str, float]
    """Which class prior, as `class_prior` takes it."""
    weighting: str = "counts"

    @classmethod
    def of_counts(cls, training: Training, counts: ClassStatistics) -> Self:
        """The model that follows from weighted counts."""
        parameters = training.parameters
        shape, estimate = parameters["prior_shape"], parameters["estimate"]
        models = LanguageModels(counts, training.selected, training.smoothing, shape, estimate, training.own)
        return cls(models, parameters["class_prior"], parameters["weighting"])

    @property
    def counts(self) -> ClassStatistics:
        """The statistics, with weighted cells in place of counts."""
        return self.language_models.statistics

    @cached_property
    def prior(self) -> NDArray[np.float64]:
        """π_k, shape (n_classes,)."""
        return class_prior(self.prior_kind, self.language_models.statistics)

    @property
    def bias(self) -> NDArray[np.float64]:
        """log π_k, shape (n_classes,); −inf for a class that the prior rules out."""
        with np.errstate(divide="ignore"):
            return np.log(self.prior)

    def weights(self, terms: NDArray[np.int64]) -> NDArray[np.float64]:
        """log φ_jk, shape (n, n_classes)."""
        return self.language_models.log_probability(terms)

    def known(self) -> NDArray[np.bool_]:
        """The selected terms, shape (n_terms,)."""
        return self.language_models.selected

    def term_probabilities(self) -> TermProbabilities:
        """Return φ_jk, on weighted counts of weights."""
        return TermProbabilities.of_models(self.language_models, OF_WEIGHTS.get(self.weighting, OF_TOKENS))

    def likelihood_per_token(
        self, scores: NDArray[np.float64], lengths: NDArray[np.int64], unknown: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
        """Σ_j n_jd log φ_jk / n_d under the best class, an unknown token counting as one of a term that no document held.

        None on weighted counts: they are no draws of tokens.
        """
        if self.weighting != "counts":
            return None
        best = scores.argmax(axis=1)
        with np.errstate(invalid="ignore"):  # 0 · −inf where there are no unknown tokens, under maximum likelihood
            of_unknown = np.where(unknown > 0, unknown * self.language_models.log_unseen()[best], 0.0)
        likelihood = scores[np.arange(len(best)), best] - self.bias[best] + of_unknown
        tokens = lengths + unknown
        return np.divide(likelihood, tokens, out=np.zeros(len(best)), where=tokens > 0), tokens

    def unseen(self, training: Training, sample: CountedDocuments) -> Unseen:
        """The sample, each document left out; by folds on weighted counts."""
        at_once = self.weighting == "counts" and training.choose is None
        return self.leave_one_out(sample) if at_once else super().unseen(training, sample)

    @classmethod
    def leaves_one_out(cls, parameters: Settings) -> bool:
        """Whether `leave_one_out` works: it does."""
        del cls, parameters
        return True

    def leave_one_out(self, documents: CountedDocuments) -> Unseen:
        """log p(d, C_k) of documents that the model was estimated from, each by the model of all others: prior and language models.

        Raises `UsageError` on weighted counts.
        """
        if self.weighting != "counts":
            return super().leave_one_out(documents)
        scores, lengths, unknown = leave_one_out(self.language_models, documents)
        for label in np.unique(documents.classes).tolist():
            prior = class_prior_without(self.prior_kind, self.language_models.statistics, label)
            with np.errstate(divide="ignore"):
                scores[documents.classes == label] += np.log(prior)
        return Unseen(scores, lengths, unknown, documents.classes)
