"""The data of the page that `nbtext report` writes, gathered in one pass over test documents.

`nbtext/report/page/` renders the page. The model is evaluated with its calibrated probabilities
and, for comparison, with uncalibrated probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.held_out import make_neutral_calibration
from nbtext.evaluation.evaluate import evaluate_scored_blocks
from nbtext.explain.mistakes import (
    ExcerptFinder,
    ExcerptPiece,
    Misclassification,
    MistakeFinder,
    find_wrong_rows,
)
from nbtext.guarantees.precision import RiskPoint, compute_risk_curve
from nbtext.inspection.terms import ClassTerms, find_class_terms
from nbtext.metrics.evaluation import make_evaluation, summarize_probabilities
from nbtext.prediction.rule import DecisionRule
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
"""If the model has more classes, terms are listed only for those with most training documents."""


class ProvenanceSection(NamedTuple):
    """A heading with facts on the origin of a report, for example on the model file."""

    heading: str
    rows: tuple[tuple[str, str], ...]
    """Pairs of a name and a value."""


class QuotedMistake(NamedTuple):
    """A mistake with an excerpt of its document."""

    mistake: Misclassification
    probability_of_truth: float | None
    """None if the model does not contain the true class."""
    excerpt: tuple[ExcerptPiece, ...]


@dataclass(frozen=True)
class ReportData:
    """All data of the page of `nbtext report`."""

    title: str
    evaluation: EvaluationResult
    uncalibrated: ProbabilityResult | None
    """Reliability of the uncalibrated probabilities. None if calibration does not change them."""
    calibrated: ProbabilityResult
    """Reliability of the model's probabilities."""
    mistakes: tuple[QuotedMistake, ...]
    """The most confident mistakes. Empty for multi-label models."""
    top_terms: tuple[ClassTerms, ...]
    provenance: tuple[ProvenanceSection, ...] = ()
    learning_curve: LearningCurve | None = None
    """Accuracy by size of the training corpus. None if it was not computed."""
    leaks: LeakResult | SampledLeakResult | None = None
    """Test documents that the model was trained on. None if they were not searched for."""
    risk_curve: tuple[RiskPoint, ...] = ()
    """Precision by proportion of documents with a prediction."""


def gather_report_data(
    model: TextClassifier,
    documents: Iterable[Document],
    *,
    title: str,
    provenance: tuple[ProvenanceSection, ...] = (),
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
    neutral_calibration = make_neutral_calibration(model.fitted.classifier)

    def add_block(block: ScoredBlock) -> None:
        uncalibrated_posterior = model.fitted.posterior_type(
            neutral_calibration.compute_log_posterior(block.scores, block.lengths)
        )
        # The result has only the reliability of this posterior, which does not use predictions.
        predicted = block.posterior.predict(rule)
        uncalibrated.add(block.labels, uncalibrated_posterior, predicted)
        if block.posterior.is_exclusive:  # not multi-label
            mistakes.add(block)

    blocks = score_documents(model.fitted, documents)
    if leaks is not None:
        blocks = leaks.observe(blocks)  # adds each block when the evaluation reads it
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
    """log p of the predicted class minus log p of the true class, in nats.

    The margin is inf if the model does not have the true class.
    """
    block: ScoredBlock
    """A block with only this document."""


class _ConfidentMistakes:
    """Up to `MAX_QUOTED_MISTAKES` documents with the most probable wrong predictions.

    Of documents with the same text and label, only the first is quoted.
    """

    def __init__(self, model: TextClassifier) -> None:
        self._model = model
        self._finder = MistakeFinder(model.fitted)
        self._entries: list[_MistakeEntry] = []
        """By descending probability. Entries of equal probability are by descending margin."""

    def add(self, block: ScoredBlock) -> None:
        """Add the wrong predictions of a block."""
        truth = self._finder.get_class_indices(block)
        decision = block.posterior.decide(DecisionRule())
        wrong_rows = find_wrong_rows(decision.predictions, truth)
        order = np.argsort(-decision.probabilities[wrong_rows], kind="stable")
        for row in wrong_rows[order].tolist():
            probability = float(decision.probabilities[row])
            is_full = len(self._entries) == MAX_QUOTED_MISTAKES
            if is_full and probability < self._entries[-1].probability:
                break  # all later rows are less probable, too
            if self._has_copy(block.documents[row]):
                continue
            margin = np.inf
            if truth[row] >= 0:
                log_p = block.log_posterior[row]
                margin = float(log_p[decision.predictions[row]] - log_p[truth[row]])
            self._entries.append(_MistakeEntry(probability, margin, block.take(np.array([row]))))
            self._entries.sort(key=lambda entry: (-entry.probability, -entry.margin))
            del self._entries[MAX_QUOTED_MISTAKES:]

    def _has_copy(self, document: Document) -> bool:
        """Return True if an entry has the same text and label."""
        for entry in self._entries:
            [entry_document] = entry.block.documents
            has_same_text = entry_document.content_bytes == document.content_bytes
            if has_same_text and entry_document.label == document.label:
                return True
        return False

    def quote(self) -> tuple[QuotedMistake, ...]:
        """Return the mistakes with excerpts, by descending probability."""
        excerpts = ExcerptFinder(self._model.fitted)
        classes = self._model.classes
        quoted_mistakes = []
        for entry in self._entries:
            block = entry.block
            # `add` does not look for the terms of mistakes, because this takes long.
            decision = block.posterior.decide(DecisionRule())
            [mistake] = self._finder.find_mistakes(block, decision)
            answer = classes.index(mistake.answer)
            rival = classes.index(mistake.rival)
            true_probability = None
            if mistake.against is None:  # the rival is the true class
                true_probability = float(np.exp(block.log_posterior[0, rival]))
            excerpt = excerpts.find_excerpt(block.documents[0], answer, rival)
            quoted_mistakes.append(QuotedMistake(mistake, true_probability, excerpt))
        return tuple(quoted_mistakes)
