"""Judge a model's answers against the true labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.classifiers.base import declared_prior
from nbtext.errors import NoDocumentsError
from nbtext.metrics.evaluation import evaluation_of
from nbtext.prediction.rule import DecisionRule
from nbtext.scoring import ScoredBlock, scored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nbtext.corpus.document import Document
    from nbtext.metrics.evaluation import Evaluation
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Names


def judge(
    model: TextClassifier, documents: Iterable[Document], rule: DecisionRule = DecisionRule()
) -> Evaluation:
    """Evaluate a stream of labelled documents under a decision rule; raise `UsageError` if there are none.

    A document that is impossible under every class has no answer.
    """
    return judge_scored(scored(model.fitted, documents), model, rule)


def judge_scored(
    scored_blocks: Iterable[ScoredBlock],
    model: TextClassifier,
    rule: DecisionRule,
    *,
    by: Names = (),
    look: Callable[[ScoredBlock], object] | None = None,
) -> Evaluation:
    """Evaluate documents that the model has scored, as `judge` does; ``by`` names the columns that they carry, to slice by.

    ``look`` is called with each block.
    """
    statistics = model.fitted.statistics
    evaluation = evaluation_of(
        statistics, rule.costs, by, prior=declared_prior(model.settings, statistics)
    )
    for block in scored_blocks:
        if look is not None:
            look(block)
        columns = [document.columns for document in block.documents] if by else ()
        evaluation.add(block.labels, block.posterior, block.posterior.predicted(rule), columns)
    if not evaluation.n:
        raise NoDocumentsError
    return evaluation
