"""The data of a report: the model judged on a stream of documents, before and after calibration, with its most confident mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.held_out import make_textbook_calibration
from nbtext.evaluation.evaluate import evaluate_scored_blocks
from nbtext.explain.mistakes import ExcerptFinder, ExcerptPiece, Misclassification, MistakeFinder
from nbtext.guarantees.precision import RiskPoint, compute_risk_curve
from nbtext.inspection.terms import ClassTerms, find_class_terms
from nbtext.metrics.evaluation import make_evaluation, summarize_probabilities
from nbtext.prediction.rule import Decision, DecisionRule
from nbtext.scoring import ScoredBlock, score_documents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.corpus.document import Document
    from nbtext.evaluation.leakage import LeakChecker, LeakResult, SampledLeakResult
    from nbtext.evaluation.learning_curves import LearningCurve
    from nbtext.metrics.results import EvaluationResult, ProbabilityResult
    from nbtext.model.text_classifier import TextClassifier


MAX_QUOTED_MISTAKES = 12
MAX_TERMS_PER_CLASS = 10

MAX_CLASSES_WITH_TERMS = 100
"""Classes whose terms are listed: those with most documents in training."""

Provenance = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""The origin of a report: headings, each with names and values."""


class QuotedMistake(NamedTuple):
    """A mistake with a part of its document."""

    mistake: Misclassification
    probability_of_truth: float | None
    """None if the model does not know the true class."""
    excerpt: tuple[ExcerptPiece, ...]


@dataclass(frozen=True)
class ReportData:
    """Everything that the page shows."""

    title: str
    evaluation: EvaluationResult
    uncalibrated: ProbabilityResult | None
    """Before calibration; None if calibration changes nothing."""
    calibrated: ProbabilityResult
    mistakes: tuple[QuotedMistake, ...]
    top_terms: tuple[ClassTerms, ...]
    provenance: Provenance = ()
    learning_curve: LearningCurve | None = None
    """Of the training corpus."""
    leaks: LeakResult | SampledLeakResult | None = None
    risk_curve: tuple[RiskPoint, ...] = ()
    """Precision by share answered."""


def gather_report_data(
    model: TextClassifier,
    documents: Iterable[Document],
    *,
    title: str,
    provenance: Provenance = (),
    curve: LearningCurve | None = None,
    leaks: LeakChecker | None = None,
) -> ReportData:
    """Judge the model on labelled documents, read once, with single mistakes if they have one label each. Raises `UsageError` if there are none.

    ``curve`` is the learning curve of the training corpus; ``leaks`` looks for documents that the model was trained on.
    """
    raw = make_evaluation(model.fitted.statistics)
    surest = _SurestMistakes(model)
    rule = DecisionRule()
    textbook = make_textbook_calibration(model.fitted.classifier)

    def look(block: ScoredBlock) -> None:
        of_scores = model.fitted.posterior_type(
            textbook.compute_log_posterior(block.scores, block.lengths)
        )
        raw.add(block.labels, of_scores, block.posterior.predict(rule))
        if block.posterior.is_exclusive:  # a set of labels has no single mistake
            surest.add(block, block.posterior.decide(rule))

    blocks = score_documents(model.fitted, documents)
    evaluation = evaluate_scored_blocks(
        blocks if leaks is None else leaks.observe(blocks), model, rule, on_block=look
    )
    unchanged = raw.documents.has_same_scores(evaluation.documents)
    return ReportData(
        title=title,
        evaluation=evaluation.result(),
        uncalibrated=None if unchanged else summarize_probabilities(raw.documents),
        calibrated=summarize_probabilities(evaluation.documents),
        mistakes=surest.mistakes(),
        top_terms=find_class_terms(model, MAX_TERMS_PER_CLASS, MAX_CLASSES_WITH_TERMS),
        provenance=provenance,
        learning_curve=curve,
        leaks=None if leaks is None else leaks.result(evaluation),
        risk_curve=compute_risk_curve(evaluation.documents),
    )


class _SurestMistakes:
    """Keeps the documents with the most probable wrong answers; of documents with the same text and label, the first."""

    def __init__(self, model: TextClassifier) -> None:
        self._model = model
        self._finder = MistakeFinder(model.fitted)
        self._kept: list[tuple[float, float, ScoredBlock]] = []
        """Probability, margin, and a block of the document alone."""

    def add(self, block: ScoredBlock, decision: Decision) -> None:
        truth = self._finder.get_class_indices(block)
        wrong = np.flatnonzero((decision.predictions >= 0) & (decision.predictions != truth))
        wrong = wrong[np.argsort(-decision.probabilities[wrong], kind="stable")]
        for row in wrong.tolist():
            probability = float(decision.probabilities[row])
            if (
                len(self._kept) == MAX_QUOTED_MISTAKES and probability < self._kept[-1][0]
            ):  # of equals margins differ, where they round to 1
                break
            document = block.documents[row]
            posterior = block.log_posterior[row]
            margin = (
                float(posterior[decision.predictions[row]] - posterior[truth[row]])
                if truth[row] >= 0
                else np.inf
            )
            kept = (other.documents[0] for _, _, other in self._kept)
            if not any(
                (document.digest_bytes, document.label) == (other.digest_bytes, other.label)
                for other in kept
            ):
                self._kept.append((probability, margin, block.take(np.array([row]))))
                self._kept.sort(key=lambda entry: (-entry[0], -entry[1]))
                del self._kept[MAX_QUOTED_MISTAKES:]

    def mistakes(self) -> tuple[QuotedMistake, ...]:
        """Return the mistakes by falling probability."""
        excerpts = ExcerptFinder(self._model.fitted)
        number = self._model.classes.index
        found = []
        for *_, block in self._kept:
            [mistake] = self._finder.find_mistakes(block, block.posterior.decide(DecisionRule()))
            answer = number(mistake.answer)
            rival = number(mistake.against or mistake.truth)
            of_truth = None if mistake.against else float(np.exp(block.log_posterior[0, rival]))
            found.append(
                QuotedMistake(
                    mistake, of_truth, excerpts.find_excerpt(block.documents[0], answer, rival)
                )
            )
        return tuple(found)
