"""From statistics to a classifier: which terms count, how strongly counts are smoothed, how probabilities are calibrated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.calibration import METHODS, UNCALIBRATED, Calibration
from nbtext.classifiers.class_prior import class_prior
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.errors import UsageError
from nbtext.language_model.dirichlet import LanguageModels
from nbtext.typicality import Typicality, per_token

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.statistics import ClassStatistics


MOST_SCORES = 1 << 22
"""Scores of left-out documents by class that are calibrated from at most: 32 MiB. With very many classes that is less than the sample."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """What estimation chose on top of the counts."""

    selected: NDArray[np.bool_]
    """The terms that count, shape (n_terms,)."""
    smoothing: float
    calibration: Calibration = UNCALIBRATED
    judgement: Mapping[str, Any] | None = None
    """How good the posteriors of left-out documents of the sample were: `documents`, and `before` and `after` calibration log loss, Brier
    score and calibration error; None where it was not calibrated."""
    typicality: Typicality | None = None


def learn(counts: CorpusCounts, parameters: Mapping[str, Any]) -> Learnt:
    """Choose terms, smoothing and calibration. Raises `UsageError` if the limits leave no term of those there are."""
    learnt = _terms_and_smoothing(counts.statistics, parameters)
    method = calibration_method(parameters)
    documents = counts.sample.documents
    documents = documents.rows(np.arange(min(len(documents), max(MOST_SCORES // counts.statistics.n_classes, 1))))
    if method == "none" or not len(documents):
        return learnt
    from nbtext.metrics.evaluation import proper_scores
    from nbtext.metrics.judged import judged

    fitted = classifier(counts.statistics, learnt, parameters)
    left_out = fitted.leave_one_out(documents)
    rows = np.arange(len(documents))
    usable = np.isfinite(left_out.scores[rows, documents.classes])  # not where the class went with its only document
    scores, lengths, truth = left_out.scores[usable], left_out.lengths[usable], documents.classes[usable]
    typicality = Typicality.of(*likelihood_per_token(fitted, left_out.scores, left_out.lengths, left_out.unknown))
    if not len(truth):
        return replace(learnt, typicality=typicality)
    calibration = METHODS[method](scores, truth, lengths)
    judgement: dict[str, Any] = {"documents": len(truth)}
    for name, used in (("before", UNCALIBRATED), ("after", calibration)):
        posterior = used.log_posterior(scores, lengths)
        figures = proper_scores(judged(truth, posterior.argmax(axis=1), posterior))
        judgement[name] = {figure: float(f"{value:.6g}") for figure, value in figures.items()}
    return replace(learnt, calibration=calibration, judgement=judgement, typicality=typicality)


def calibration_method(parameters: Mapping[str, Any]) -> str:
    """A name of `nbtext.calibration.METHODS`, or ``none``."""
    if parameters["calibration"] != "auto":
        return str(parameters["calibration"])
    return "none" if parameters["estimate"] == "ml" else "length"


def likelihood_per_token(
    fitted: MultinomialNaiveBayes, scores: NDArray[np.float64], lengths: NDArray[np.int64], unknown: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The log-likelihood per token of documents under their best class, in nats, and their tokens, unknown ones included; both (n_docs,)."""
    best = scores.argmax(axis=1)
    with np.errstate(invalid="ignore"):  # 0 · −inf where there are no unknown tokens, under maximum likelihood
        of_unknown = np.where(unknown > 0, unknown * fitted.log_unseen()[best], 0.0)
    likelihood = scores[np.arange(len(best)), best] - fitted.bias[best] + of_unknown
    return per_token(likelihood, lengths + unknown), lengths + unknown


def _terms_and_smoothing(statistics: ClassStatistics, parameters: Mapping[str, Any]) -> Learnt:
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
    return MultinomialNaiveBayes(language_models(statistics, learnt, parameters), parameters["class_prior"])


def _within_document_limits(statistics: ClassStatistics, min_df: int, max_df: float) -> NDArray[np.bool_]:
    if min_df == 1 and max_df == 1:
        return np.diff(statistics.term_offsets) > 0  # in statistics of a part of a corpus some terms may have no cells
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
