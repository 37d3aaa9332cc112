"""The data of a report: the model judged on a stream of documents, before and after calibration, with its most confident mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.held_out import uncalibrated
from nbtext.evaluation.evaluate import judge_scored
from nbtext.explain.mistakes import ExcerptPiece, Excerpts, Misclassification, MistakeFinder
from nbtext.guarantees.precision import RiskPoint, risk_curve
from nbtext.inspection.terms import ClassTerms, class_terms
from nbtext.metrics.evaluation import evaluation_of, probability_result
from nbtext.prediction.rule import Decision, DecisionRule
from nbtext.scoring import ScoredBlock, scored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.corpus.document import Document
    from nbtext.evaluation.leakage import LeakResult, LeakWatch, SampledLeakResult
    from nbtext.evaluation.learning_curves import LearningCurve
    from nbtext.metrics.results import EvaluationResult, ProbabilityResult
    from nbtext.model.text_classifier import TextClassifier


MISTAKES_SHOWN = 12
TERMS_SHOWN = 10

MOST_CLASSES = 100
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
    before: ProbabilityResult | None
    """Before calibration; None if calibration changes nothing."""
    after: ProbabilityResult
    mistakes: tuple[QuotedMistake, ...]
    top_terms: tuple[ClassTerms, ...]
    provenance: Provenance = ()
    learning_curve: LearningCurve | None = None
    """Of the training corpus."""
    leaks: LeakResult | SampledLeakResult | None = None
    risk: tuple[RiskPoint, ...] = ()
    """Precision by share answered."""


def gather(
    model: TextClassifier,
    documents: Iterable[Document],
    *,
    title: str,
    provenance: Provenance = (),
    curve: LearningCurve | None = None,
    leaks: LeakWatch | None = None,
) -> ReportData:
    """Judge the model on labelled documents, read once, with single mistakes if they have one label each. Raises `UsageError` if there are none.

    ``curve`` is the learning curve of the training corpus; ``leaks`` looks for documents that the model was trained on.
    """
    raw = evaluation_of(model.fitted.statistics)
    surest = _SurestMistakes(model)
    rule = DecisionRule()
    textbook = uncalibrated(model.fitted.classifier)

    def look(block: ScoredBlock) -> None:
        of_scores = model.fitted.kind(textbook.log_posterior(block.scores, block.lengths))
        raw.add(block.labels, of_scores, block.posterior.predicted(rule))
        if block.posterior.is_exclusive:  # a set of labels has no single mistake
            surest.add(block, block.posterior.decide(rule))

    blocks = scored(model.fitted, documents)
    evaluation = judge_scored(
        blocks if leaks is None else leaks.watched(blocks), model, rule, look=look
    )
    unchanged = raw.judged.has_scores_of(evaluation.judged)
    return ReportData(
        title=title,
        evaluation=evaluation.result(),
        before=None if unchanged else probability_result(raw.judged),
        after=probability_result(evaluation.judged),
        mistakes=surest.mistakes(),
        top_terms=class_terms(model, TERMS_SHOWN, MOST_CLASSES),
        provenance=provenance,
        learning_curve=curve,
        leaks=None if leaks is None else leaks.result(evaluation),
        risk=risk_curve(evaluation.judged),
    )


class _SurestMistakes:
    """Keeps the documents with the most probable wrong answers; of documents with the same text and label, the first."""

    def __init__(self, model: TextClassifier) -> None:
        self._model = model
        self._finder = MistakeFinder(model.fitted)
        self._kept: list[tuple[float, float, ScoredBlock]] = []
        """Probability, margin, and a block of the document alone."""

    def add(self, block: ScoredBlock, decision: Decision) -> None:
        truth = self._finder.truth(block)
        wrong = np.flatnonzero((decision.answers >= 0) & (decision.answers != truth))
        wrong = wrong[np.argsort(-decision.probabilities[wrong], kind="stable")]
        for row in wrong.tolist():
            probability = float(decision.probabilities[row])
            if (
                len(self._kept) == MISTAKES_SHOWN and probability < self._kept[-1][0]
            ):  # of equals margins differ, where they round to 1
                break
            document = block.documents[row]
            posterior = block.log_posterior[row]
            margin = (
                float(posterior[decision.answers[row]] - posterior[truth[row]])
                if truth[row] >= 0
                else np.inf
            )
            kept = (other.documents[0] for _, _, other in self._kept)
            if not any(
                (document.joined, document.label) == (other.joined, other.label) for other in kept
            ):
                self._kept.append((probability, margin, block.of(np.array([row]))))
                self._kept.sort(key=lambda entry: (-entry[0], -entry[1]))
                del self._kept[MISTAKES_SHOWN:]

    def mistakes(self) -> tuple[QuotedMistake, ...]:
        """Return the mistakes by falling probability."""
        excerpts = Excerpts(self._model.fitted)
        number = self._model.classes.index
        found = []
        for *_, block in self._kept:
            [mistake] = self._finder.mistakes(block, block.posterior.decide(DecisionRule()))
            answer = number(mistake.answer)
            rival = number(mistake.against or mistake.truth)
            of_truth = None if mistake.against else float(np.exp(block.log_posterior[0, rival]))
            found.append(
                QuotedMistake(
                    mistake, of_truth, excerpts.excerpt(block.documents[0], answer, rival)
                )
            )
        return tuple(found)
