"""Judge a model's answers against the true labels, also with other strengths of the prior."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

from nbtext.counts.counting import document_counter
from nbtext.decision import DecisionRule
from nbtext.errors import NoDocumentsError, UsageError
from nbtext.exclusions import needs_documents
from nbtext.fitted.learnt import require_additive
from nbtext.fitted.scoring import scored
from nbtext.metrics import Evaluation
from nbtext.metrics.intervals import Bootstrap
from nbtext.text_block import BLOCK_DOCUMENTS, blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtext.corpus.document import Document
    from nbtext.decision import Decision
    from nbtext.fitted.scoring import ScoredBlock
    from nbtext.model.text_classifier import TextClassifier


def judge(
    model: TextClassifier,
    documents: Iterable[Document],
    rule: DecisionRule = DecisionRule(),
    *,
    by: Sequence[str] = (),
    look: Callable[[ScoredBlock, Decision], object] | None = None,
) -> Evaluation:
    """Evaluate a stream of labelled documents under a decision rule; raise `UsageError` if there are none.

    ``by`` names the columns that the documents carry. ``look`` is called with each block and the decision on it.
    A document that is impossible under every class has no answer.
    """
    return judge_scored(scored(model.fitted, documents), model, rule, by=by, look=look)


def judge_scored(
    scored_blocks: Iterable[ScoredBlock],
    model: TextClassifier,
    rule: DecisionRule,
    *,
    by: Sequence[str] = (),
    look: Callable[[ScoredBlock, Decision], object] | None = None,
) -> Evaluation:
    """Evaluate documents that the model has scored, as `judge` does."""
    evaluation = Evaluation(model.classes, costs=rule.costs, class_documents=model.statistics.class_documents, by=by)
    for block in scored_blocks:
        decision = rule.decide(block.log_posterior)
        if look is not None:
            look(block, decision)
        columns = [document.columns for document in block.documents] if by else ()
        labels = [document.label or "" for document in block.documents]
        evaluation.add(labels, block.log_posterior, decision.answers, columns)
    if not evaluation.n:
        raise NoDocumentsError
    return evaluation


PSEUDO_COUNTS = (1e-6, 1e-5, 1e-4, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0)
"""Per term, from nearly maximum likelihood to a prior that outweighs the counts."""


class _PriorStrength(NamedTuple):
    """Figures of a model with another strength of the prior, before calibration."""

    smoothing: float
    """The pseudo-count of each term, or with a background prior that of all terms together."""
    accuracy: float | None
    macro_f1: float | None
    log_loss: float | None
    """None where it is infinite."""


class PriorSweep(NamedTuple):
    """The figures of models that differ in the strength of the prior alone, weakest first."""

    documents: int
    smoothing: float
    """That of the model itself, which is among the strengths."""
    strengths: tuple[_PriorStrength, ...]


def sweep_prior(model: TextClassifier, documents: Iterable[Document]) -> PriorSweep:
    """Judge the model on labelled documents with prior strengths from near 0 to large.

    The documents are counted once, and the models follow from the counts of this one. Raise `UsageError` if there are no documents, or if
    the model does not follow from its counts and a pseudo-count.
    """
    settings, own = model.settings, model.learnt.smoothing
    if settings.estimate == "ml" or needs_documents(settings):
        kind = "--estimate ml" if settings.estimate == "ml" else f"--classifier {settings.classifier} --weighting {settings.weighting}"
        raise UsageError(f"--sweep prior needs a model of counts and pseudo-counts, and this one is of {kind}")
    scale = model.language_models.n_selected if settings.prior_shape == "background" else 1
    smoothings = sorted({own, *(scale * pseudo_count for pseudo_count in PSEUDO_COUNTS)})
    require_additive(settings, model.learnt)
    models = [copy(model).learn(model.counts, smoothing=smoothing, calibration="none") for smoothing in smoothings]
    evaluations = [Evaluation(model.classes, class_documents=model.statistics.class_documents) for _ in smoothings]
    counter, rule = document_counter(model.analysis, model.statistics.vocabulary), DecisionRule()
    for block in blocks(documents, lambda document: len(document.text), min(BLOCK_DOCUMENTS, model.fitted.documents_at_once)):
        matrix, labels = counter.count([document.text for document in block]).matrix(), [document.label or "" for document in block]
        for each, evaluation in zip(models, evaluations, strict=True):
            log_posterior = each.fitted.score_counts(matrix).log_posterior
            evaluation.add(labels, log_posterior, rule.decide(log_posterior).answers)
    if not evaluations[0].n:
        raise NoDocumentsError
    results = [evaluation.result(Bootstrap(0)) for evaluation in evaluations]
    strengths = (
        _PriorStrength(smoothing, result.accuracy, result.macro_f1, result.log_loss)
        for smoothing, result in zip(smoothings, results, strict=True)
    )
    return PriorSweep(evaluations[0].n, own, tuple(strengths))
