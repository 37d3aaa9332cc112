"""Multinomial naive Bayes: the tokens of a document are independent draws from the language model of its class.

log p(d, C_k) = log π_k + Σ_j n_jd log φ_jk. Source: IIR eq. 13.4; A. McCallum, K. Nigam, A comparison of event models for naive Bayes text
classification (1998). The probability of the document's length and of the order of its terms is the same in every class and left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nbtext.classifiers.base import Classifier
from nbtext.classifiers.class_prior import class_prior, class_prior_without
from nbtext.language_model.leave_one_out import LeftOut, leave_one_out

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.counts.documents import CountedDocuments
    from nbtext.language_model.dirichlet import LanguageModels


@dataclass(frozen=True, eq=False)
class MultinomialNaiveBayes(Classifier):
    """A class prior π, shape (n_classes,), and a language model φ for each class."""

    language_models: LanguageModels
    prior_kind: str | Mapping[str, float]
    """Which class prior, as `class_prior` takes it."""

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

    def log_unseen(self) -> NDArray[np.float64]:
        """log φ_jk of a term that no document held, shape (n_classes,)."""
        return self.language_models.log_unseen()

    def leave_one_out(self, documents: CountedDocuments) -> LeftOut:
        """log p(d, C_k) of documents that the model was estimated from, each by the model of all others: prior and language models."""
        left_out = leave_one_out(self.language_models, documents)
        for label in np.unique(documents.classes).tolist():
            prior = class_prior_without(self.prior_kind, self.language_models.statistics, label)
            with np.errstate(divide="ignore"):
                left_out.scores[documents.classes == label] += np.log(prior)
        return left_out
