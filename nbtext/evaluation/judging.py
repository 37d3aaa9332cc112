"""A model's answers against the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.decision import DecisionRule
from nbtext.errors import UsageError
from nbtext.metrics import Evaluation
from nbtext.model.scoring import scored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtext.corpus.document import Document
    from nbtext.decision import Decision
    from nbtext.model.scoring import ScoredBlock
    from nbtext.model.text_classifier import TextClassifier


def judge(
    model: TextClassifier,
    documents: Iterable[Document],
    rule: DecisionRule = DecisionRule(),  # noqa: B008 - immutable
    *,
    by: Sequence[str] = (),
    look: Callable[[ScoredBlock, Decision], object] | None = None,
) -> Evaluation:
    """Evaluate a stream of labelled documents under a rule of decision. Raises `UsageError` if there is not one document.

    ``by`` names the columns that the documents carry. ``look`` sees each block with the decision on it, before it goes.
    A document that maximum likelihood finds impossible under every class has no answer, and counts as if all were equally probable.
    """
    return judge_scored(scored(model, documents), model, rule, by=by, look=look)


def judge_scored(
    scored_blocks: Iterable[ScoredBlock],
    model: TextClassifier,
    rule: DecisionRule,
    *,
    by: Sequence[str] = (),
    look: Callable[[ScoredBlock, Decision], object] | None = None,
) -> Evaluation:
    """As `judge`, of documents that the model has scored."""
    evaluation = Evaluation(model.classes_, costs=rule.costs, class_documents=model.statistics.class_documents, by=by)
    for block in scored_blocks:
        decision = rule.decide(block.log_posterior)
        if look is not None:
            look(block, decision)
        impossible = np.isnan(block.log_posterior[:, :1])
        posterior = (
            np.where(impossible, -np.log(block.log_posterior.shape[1]), block.log_posterior) if impossible.any() else block.log_posterior
        )
        columns = [document.columns for document in block.documents] if by else ()
        evaluation.add([document.label or "" for document in block.documents], posterior, decision.answers, columns)
    if not evaluation.n:
        raise UsageError("the corpus has no documents that can be read")
    return evaluation
