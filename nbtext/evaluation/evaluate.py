"""Evaluation of a model on labelled documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.classifiers.base import compute_declared_prior
from nbtext.errors import NoDocumentsError
from nbtext.metrics.evaluation import make_evaluation
from nbtext.prediction.rule import DecisionRule
from nbtext.scoring import ScoredBlock, score_documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nbtext.corpus.document import Document
    from nbtext.metrics.evaluation import Evaluation
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Names


def evaluate_documents(
    model: TextClassifier, documents: Iterable[Document], rule: DecisionRule = DecisionRule()
) -> Evaluation:
    """Evaluate a stream of labelled documents under a decision rule.

    A document for which every class is impossible has no prediction.

    Raise `UsageError` if there are no documents.
    """
    return evaluate_scored_blocks(score_documents(model.fitted, documents), model, rule)


def evaluate_scored_blocks(
    scored_blocks: Iterable[ScoredBlock],
    model: TextClassifier,
    rule: DecisionRule,
    *,
    group_columns: Names = (),
    on_block: Callable[[ScoredBlock], object] | None = None,
) -> Evaluation:
    """Evaluate documents that the model has scored.

    ``group_columns`` are the names of the columns by whose values documents are also evaluated in
    groups. ``on_block`` is called with each block before its evaluation.

    Raise `UsageError` if there are no documents.
    """
    statistics = model.fitted.statistics
    evaluation = make_evaluation(
        statistics,
        rule.costs,
        group_columns,
        prior=compute_declared_prior(model.settings, statistics),
    )
    for block in scored_blocks:
        if on_block is not None:
            on_block(block)
        group_values = [document.columns for document in block.documents] if group_columns else ()
        evaluation.add(block.labels, block.posterior, block.posterior.predict(rule), group_values)
    if not evaluation.n:
        raise NoDocumentsError
    return evaluation
