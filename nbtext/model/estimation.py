"""From statistics to a classifier: which terms count, how strongly counts are smoothed, and the model made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.classifiers.class_prior import class_prior
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.errors import UsageError
from nbtext.language_model.dirichlet import LanguageModels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.counts.statistics import ClassStatistics


@dataclass(frozen=True, eq=False)
class Learnt:
    """What estimation chose on top of the statistics: the terms that count, shape (n_terms,), and the smoothing."""

    selected: NDArray[np.bool_]
    smoothing: float


def learn(statistics: ClassStatistics, parameters: Mapping[str, Any]) -> Learnt:
    """Choose terms and smoothing. Raises `UsageError` if the limits leave no term of those there are."""
    selected = _within_document_limits(statistics, parameters["min_df"], parameters["max_df"])
    smoothing = _smoothing(statistics, selected, parameters)
    if parameters["top"] is not None:
        from nbtext.selection import rank

        models = language_models(statistics, Learnt(selected, smoothing), parameters)
        best = rank(models, class_prior(parameters["class_prior"], statistics), parameters["by"], parameters["top"]).terms
        selected = np.zeros_like(selected)
        selected[best] = True
        smoothing = _smoothing(statistics, selected, parameters)
    return Learnt(selected, smoothing)


def language_models(statistics: ClassStatistics, learnt: Learnt, parameters: Mapping[str, Any]) -> LanguageModels:
    """The class language models that follow."""
    return LanguageModels(statistics, learnt.selected, learnt.smoothing, parameters["prior_shape"], parameters["estimate"])


def classifier(statistics: ClassStatistics, learnt: Learnt, parameters: Mapping[str, Any]) -> MultinomialNaiveBayes:
    """The classifier that follows."""
    prior = class_prior(parameters["class_prior"], statistics)
    return MultinomialNaiveBayes(language_models(statistics, learnt, parameters), prior)


def _within_document_limits(statistics: ClassStatistics, min_df: int, max_df: float) -> NDArray[np.bool_]:
    if min_df == 1 and max_df == 1:
        return np.ones(statistics.n_terms, np.bool_)
    documents = statistics.term_documents
    selected: NDArray[np.bool_] = (documents >= min_df) & (documents <= max_df * statistics.n_documents)
    if statistics.n_terms and not selected.any():
        raise UsageError(f"none of the {statistics.n_terms} terms is left", hint="lower --min-df or raise --max-df")
    return selected


def _smoothing(statistics: ClassStatistics, selected: NDArray[np.bool_], parameters: Mapping[str, Any]) -> float:
    if parameters["estimate"] == "ml":
        return 0.0
    if parameters["smoothing"] != "auto":
        return float(parameters["smoothing"])
    from nbtext.language_model.evidence import smoothing_by_evidence

    return smoothing_by_evidence(statistics, selected, parameters["prior_shape"])
