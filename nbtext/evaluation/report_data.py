"""Data of a report: an evaluation before and after calibration, with confident mistakes."""

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
"""Terms are listed for the classes with most training documents."""

Provenance = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""The origin of a report: headings, each with pairs of a name and a value."""


class QuotedMistake(NamedTuple):
    """A mistake with an excerpt of its document."""

    mistake: Misclassification
    probability_of_truth: float | None
    """None if the model does not contain the true class."""
    excerpt: tuple[ExcerptPiece, ...]


@dataclass(frozen=True)
class ReportData:
    """All data of the page."""

    title: str
    evaluation: EvaluationResult
    uncalibrated: ProbabilityResult | None
    """Before calibration; None if calibration changes nothing."""
    calibrated: ProbabilityResult
    mistakes: tuple[QuotedMistake, ...]
    """Empty for multi-label models."""
    top_terms: tuple[ClassTerms, ...]
    provenance: Provenance = ()
    learning_curve: LearningCurve | None = None
    """The learning curve of the training corpus."""
    leaks: LeakResult | SampledLeakResult | None = None
    risk_curve: tuple[RiskPoint, ...] = ()
    """Precision by proportion of documents with a prediction."""


def gather_report_data(
    model: TextClassifier,
    documents: Iterable[Document],
    *,
    title: str,
    provenance: Provenance = (),
    curve: LearningCurve | None = None,
    leaks: LeakChecker | None = None,
) -> ReportData:
    """Evaluate the model on labelled documents, which are read once.

    ``curve`` is the learning curve of the training corpus. ``leaks`` searches for documents that
    the model was trained on.

    Raise `UsageError` if there are no documents.
    """
    uncalibrated = make_evaluation(model.fitted.statistics)
    mistakes = _ConfidentMistakes(model)
    rule = DecisionRule()
    textbook = make_textbook_calibration(model.fitted.classifier)

    def add_block(block: ScoredBlock) -> None:
        posterior = model.fitted.posterior_type(
            textbook.compute_log_posterior(block.scores, block.lengths)
        )
        uncalibrated.add(block.labels, posterior, block.posterior.predict(rule))
        if block.posterior.is_exclusive:
            mistakes.add(block, block.posterior.decide(rule))

    blocks = score_documents(model.fitted, documents)
    if leaks is not None:
        blocks = leaks.observe(blocks)
    evaluation = evaluate_scored_blocks(blocks, model, rule, on_block=add_block)
    uncalibrated_result = None
    if not uncalibrated.documents.has_same_scores(evaluation.documents):
        uncalibrated_result = summarize_probabilities(uncalibrated.documents)
    return ReportData(
        title=title,
        evaluation=evaluation.result(),
        uncalibrated=uncalibrated_result,
        calibrated=summarize_probabilities(evaluation.documents),
        mistakes=mistakes.quote(),
        top_terms=find_class_terms(model, MAX_TERMS_PER_CLASS, MAX_CLASSES_WITH_TERMS),
        provenance=provenance,
        learning_curve=curve,
        leaks=None if leaks is None else leaks.result(evaluation),
        risk_curve=compute_risk_curve(evaluation.documents),
    )


class _MistakeEntry(NamedTuple):
    """A document with a wrong prediction."""

    probability: float
    """Probability of the predicted class."""
    margin: float
    """log p of the predicted class less log p of the true class; infinite if it is unknown."""
    block: ScoredBlock
    """A block with only this document."""


class _ConfidentMistakes:
    """Keeps the documents with the most probable wrong predictions.

    Of documents with the same text and label, only the first is kept.
    """

    def __init__(self, model: TextClassifier) -> None:
        self._model = model
        self._finder = MistakeFinder(model.fitted)
        self._entries: list[_MistakeEntry] = []
        """By descending probability, then margin."""

    def add(self, block: ScoredBlock, decision: Decision) -> None:
        """Add the wrong predictions of a block."""
        truth = self._finder.get_class_indices(block)
        predictions = decision.predictions
        wrong_rows = np.flatnonzero((predictions >= 0) & (predictions != truth))
        order = np.argsort(-decision.probabilities[wrong_rows], kind="stable")
        for row in wrong_rows[order].tolist():
            probability = float(decision.probabilities[row])
            is_full = len(self._entries) == MAX_QUOTED_MISTAKES
            # Probabilities that round to 1 may still have a larger margin, so continue with equals.
            if is_full and probability < self._entries[-1].probability:
                break
            if self._has_copy(block.documents[row]):
                continue
            margin = np.inf
            if truth[row] >= 0:
                log_p = block.log_posterior[row]
                margin = float(log_p[predictions[row]] - log_p[truth[row]])
            self._entries.append(_MistakeEntry(probability, margin, block.take(np.array([row]))))
            self._entries.sort(key=lambda entry: (-entry.probability, -entry.margin))
            del self._entries[MAX_QUOTED_MISTAKES:]

    def _has_copy(self, document: Document) -> bool:
        """Return True if a document with the same text and label is kept."""
        key = (document.digest_bytes, document.label)
        documents = (entry.block.documents[0] for entry in self._entries)
        return any((other.digest_bytes, other.label) == key for other in documents)

    def quote(self) -> tuple[QuotedMistake, ...]:
        """Return the mistakes with excerpts, by descending probability."""
        excerpts = ExcerptFinder(self._model.fitted)
        get_class_index = self._model.classes.index
        mistakes = []
        for entry in self._entries:
            block = entry.block
            [mistake] = self._finder.find_mistakes(block, block.posterior.decide(DecisionRule()))
            predicted = get_class_index(mistake.answer)
            rival = get_class_index(mistake.against or mistake.truth)
            true_probability = None
            if not mistake.against:
                true_probability = float(np.exp(block.log_posterior[0, rival]))
            excerpt = excerpts.find_excerpt(block.documents[0], predicted, rival)
            mistakes.append(QuotedMistake(mistake, true_probability, excerpt))
        return tuple(mistakes)
