"""Score a stream of documents with a model, and yield one `Answer` for each document, in order.

`TextClassifier` and the commands use this module. The answer to an unreadable document contains the
error.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.base import compute_log_likelihood_per_token
from nbtext.corpus.document import Document, collect_contents, count_document_bytes
from nbtext.errors import DocumentError, UsageError
from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.rule import IMPRECISE, DecisionRule
from nbtext.ragged import BLOCK_DOCUMENTS, split_into_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtext.fitted_model import FittedModel, ScoredTexts
    from nbtext.prediction.labels import Label
    from nbtext.prediction.posterior import ClassSets, Posterior
    from nbtext.type_names import Floats, Ints

# Reasons to abstain, the values of `Answer.abstained`. The values of `Answer.notice`, for documents
# with a prediction, are EMPTY, NO_KNOWN_TERMS and FULL_SET.
IMPOSSIBLE = "impossible"
"""Every class has probability zero, which can happen with maximum likelihood."""

EMPTY = "empty"
"""The document contains only white space."""

NO_KNOWN_TERMS = "no-known-terms"
"""The document contains no term of the model."""

LOW_PROBABILITY = "low-probability"
"""The best class is less probable than required, or to abstain costs less than to predict it."""

LOW_PRECISION = "low-precision"
"""Predictions with this probability are not as precise as required."""

EMPTY_SET = "empty-set"
"""No class is probable enough for a prediction set with the guaranteed coverage."""

FULL_SET = "full-set"
"""Every class is in the prediction set. Only a notice, not a reason to abstain."""

NO_LABEL = "no-label"
"""The multi-label document most probably has none of the labels."""

ATYPICAL = "atypical"
"""The document is less typical than required, among training documents of about its length."""


class RankedClass(NamedTuple):
    """A class, with its probability and scores for one document."""

    label: str
    probability: float
    """p(C_k | d)."""
    score: float
    """log p(d, C_k), in nats."""
    log_odds: float
    """Log odds of p(C_k | d), in nats."""


class Answer(NamedTuple):
    """The predicted labels of one document, or the reason to abstain."""

    id: str
    """Name of the document."""
    labels: tuple[str, ...] = ()
    """The predicted labels, the most probable first.

    There is one label, unless the model is multi-label or prediction sets were requested.
    """
    probabilities: tuple[float, ...] = ()
    """Probability of each label."""
    abstained: str | None = None
    """Reason to abstain, one of the constants above; None for an answer with labels."""
    problem: DocumentError | None = None
    """The error of an unreadable document; None for a readable document."""
    notice: str | None = None
    """Why the prediction says little, one of the constants above; None for most predictions."""
    expected_cost: float | None = None
    """Expected cost of the prediction; None if the decision rule has no costs."""
    ranked: tuple[RankedClass, ...] = ()
    """The most probable classes, as many as requested, or the classes of the prediction set."""
    columns: tuple[str, ...] = ()
    """The document's values in the columns that the output repeats."""
    model: str | None = None
    """Fingerprint of the model; None if the model was not loaded from a file."""

    @property
    def label(self) -> str | None:
        """The most probable predicted label, or None without a prediction."""
        return self.labels[0] if self.labels else None

    @property
    def probability(self) -> float | None:
        """The probability of `label`."""
        return self.probabilities[0] if self.probabilities else None


@dataclass()
class AnswerCounts:
    """Numbers of answers in a stream that abstain, and that predict without known terms."""

    n_abstained: int = 0
    n_without_known_terms: int = 0
    """Predictions for documents that contain no term of the model, which are all the same."""

    def observe(self, answers: Iterable[Answer]) -> Iterator[Answer]:
        """Yield the answers unchanged, and count each answer when it is yielded."""
        for answer in answers:
            if answer.abstained is not None:
                self.n_abstained += 1
            if answer.notice in (EMPTY, NO_KNOWN_TERMS):
                self.n_without_known_terms += 1
            yield answer


class ScoredBlock(NamedTuple):
    """Consecutive documents, and the fields of `ScoredTexts` in the same order.

    Each field has a row for each document.
    """

    documents: list[Document]
    scores: Floats
    posterior: Posterior
    lengths: Ints
    unknown_tokens: Ints

    @property
    def log_posterior(self) -> Floats:
        """log p(C_k | d), in nats, shape (n_docs, n_classes)."""
        return self.posterior.log_p

    def take(self, rows: Ints) -> ScoredBlock:
        """Return the documents in ``rows``."""
        return ScoredBlock(
            [self.documents[row] for row in rows.tolist()],
            self.scores[rows],
            self.posterior[rows],
            self.lengths[rows],
            self.unknown_tokens[rows],
        )

    @property
    def labels(self) -> list[Label]:
        """The true label of each document; "" for documents without a label."""
        return [document.label or "" for document in self.documents]


def score_documents(
    model: FittedModel, documents: Iterable[Document], block_size: int = BLOCK_DOCUMENTS
) -> Iterator[ScoredBlock]:
    """Score a stream of documents, at most ``block_size`` at a time.

    Unreadable documents are scored as empty documents.
    """
    for block in split_into_blocks(documents, count_document_bytes, block_size):
        counts = model.count_texts(*collect_contents(block))
        # Counting is faster in large blocks, but scores of many classes need smaller blocks.
        for start in range(0, len(block), model.max_block_documents):
            documents_to_score = block[start : start + model.max_block_documents]
            rows = np.arange(start, start + len(documents_to_score))
            scored = model.score_counts(counts.take(rows))
            yield ScoredBlock(documents_to_score, *scored)


def explain_missing_terms(document: Document) -> str:
    """Return why a document has no known terms: `EMPTY` or `NO_KNOWN_TERMS`."""
    return NO_KNOWN_TERMS if document.content_bytes.strip() else EMPTY


class _Ranking(NamedTuple):
    """Classes for the answer to one document, the most probable first."""

    ranked: tuple[RankedClass, ...] = ()
    """The value of `Answer.ranked`."""
    members: tuple[RankedClass, ...] = ()
    """Classes of the predicted set; empty if the answers are single classes."""


def _rank_classes(
    block: ScoredBlock, classes: list[str], top_k: int, set_predictor: ClassSets | None
) -> Iterator[_Ranking]:
    """Yield the ranking of each document of a block.

    ``set_predictor`` predicts the members. The ranked classes are the ``top_k`` most probable
    classes, or if ``top_k`` is 0, the members.
    """
    if not top_k and set_predictor is None:  # No class is needed, and to sort them takes long.
        yield from repeat(_Ranking(), len(block.documents))
        return
    orders = np.argsort(-block.log_posterior, axis=1, kind="stable")
    probabilities = np.exp(block.log_posterior)
    log_odds = block.posterior.compute_log_odds()
    is_member = None
    if set_predictor is not None:
        is_member = set_predictor.predict_mask(block.log_posterior)

    def list_ranked(row: int, class_indices: Ints) -> tuple[RankedClass, ...]:
        """Return classes of the document in ``row``, in the order of ``class_indices``."""
        fields = zip(
            [classes[index] for index in class_indices.tolist()],
            probabilities[row, class_indices].tolist(),
            block.scores[row, class_indices].tolist(),
            log_odds[row, class_indices].tolist(),
            strict=True,
        )
        return tuple(map(RankedClass._make, fields))

    for row, order in enumerate(orders):
        members: tuple[RankedClass, ...] = ()
        if is_member is not None:
            is_member_by_rank = is_member[row, order]
            members = list_ranked(row, order[is_member_by_rank])
        ranked = members
        if top_k:
            ranked = list_ranked(row, order[:top_k])
        yield _Ranking(ranked, members)


class _ScoredDocument(NamedTuple):
    """A document of a `ScoredBlock`, with all that its answer depends on."""

    document: Document
    class_index: int
    """Class that the decision rule predicts; `NO_PREDICTION` or `IMPRECISE`, below 0, if none."""
    probability: float
    """Probability of the most probable class; nan if no class is possible."""
    expected_cost: float | None
    """None if the decision rule has no costs."""
    n_known_tokens: int
    is_typical: bool
    """False if the document is less typical than required."""
    ranking: _Ranking


def iter_answers(
    scored_blocks: Iterable[ScoredBlock],
    model: FittedModel,
    rule: DecisionRule,
    *,
    min_typicality: float = 0.0,
    top_k: int = 0,
    sets: ClassSets | None = None,
) -> Iterator[Answer]:
    """Yield the answer to each document that the model has scored, in order.

    ``sets`` predicts sets with guaranteed coverage; None if coverage was not requested. An answer
    contains the ``top_k`` most probable classes, or if ``top_k`` is 0, the classes of its set.
    Abstain if `measure_typicality` returns less than ``min_typicality`` for the document. Raise
    `UsageError` if the model cannot measure typicality.
    """
    # Multi-label models predict sets even without ``sets``.
    set_predictor = model.posterior_type.select_set_predictor(rule, sets)
    add_labels = _add_single_class
    if set_predictor is not None:
        add_labels = _add_prediction_set if model.posterior_type.is_exclusive else _add_multi_labels
    for block in scored_blocks:
        decision = block.posterior.decide(rule)
        is_typical = np.ones(len(block.documents), np.bool_)
        if min_typicality:
            is_typical = measure_typicality(model, block) >= min_typicality
        expected_costs: Iterable[float | None] = repeat(None)
        if rule.costs is not None:
            expected_costs = decision.expected_costs.tolist()
        # One iterable for each field, in the order of the fields.
        scored_documents = map(
            _ScoredDocument,
            block.documents,
            decision.predictions.tolist(),
            decision.probabilities.tolist(),
            expected_costs,
            block.lengths.tolist(),
            is_typical.tolist(),
            _rank_classes(block, model.classes, top_k, set_predictor),
        )
        for scored in scored_documents:
            answer = _build_answer(scored, model.classes, add_labels)
            yield answer._replace(model=model.fingerprint)


def _build_answer(
    scored: _ScoredDocument,
    classes: list[str],
    add_labels: Callable[[Answer, _ScoredDocument, list[str]], Answer],
) -> Answer:
    """Return the answer to a document.

    ``add_labels`` is `_add_single_class`, `_add_prediction_set` or `_add_multi_labels`. It returns
    the answer with the predicted labels, or with the reason to abstain.
    """
    document = scored.document
    if document.problem is not None:
        return Answer(document.id, problem=document.problem)
    is_impossible = np.isnan(scored.probability)
    if is_impossible:
        return Answer(document.id, abstained=IMPOSSIBLE, columns=document.columns)
    answer = Answer(
        document.id,
        expected_cost=scored.expected_cost,
        columns=document.columns,
        ranked=scored.ranking.ranked,
    )
    if not scored.is_typical:
        return answer._replace(abstained=ATYPICAL)
    if not scored.n_known_tokens:
        answer = answer._replace(notice=explain_missing_terms(document))
    answer = add_labels(answer, scored, classes)
    if answer.abstained is not None:  # notices are only for predictions
        return answer._replace(notice=None)
    return answer


def measure_typicality(model: FittedModel, scored: ScoredTexts | ScoredBlock) -> Floats:
    """Return the typicality of scored texts, shape (n_docs,).

    The typicality of a text is the proportion of the training documents of about the same length
    that are less likely per token. Raise `UsageError` if the model has no likelihoods of training
    documents.
    """
    likelihoods_and_tokens = compute_log_likelihood_per_token(
        model.classifier, scored.scores, scored.lengths, scored.unknown_tokens
    )
    typicality = model.parameters.typicality
    if typicality is None or likelihoods_and_tokens is None:
        raise UsageError(
            "the model has no typicality",
            hint=(
                "train --classifier multinomial on counts, with smoothing, calibration and a "
                "sample of at least 50 documents, without columns of attributes"
            ),
        )
    per_token, n_tokens = likelihoods_and_tokens
    return typicality.compute_proportion_below(per_token, n_tokens)


def _add_single_class(answer: Answer, scored: _ScoredDocument, classes: list[str]) -> Answer:
    """Return the answer with the predicted class, or with the reason to abstain.

    If the document has no known terms, the notice is the reason.
    """
    index = scored.class_index
    if index >= 0:
        return answer._replace(labels=(classes[index],), probabilities=(scored.probability,))
    if answer.notice is not None:
        return answer._replace(abstained=answer.notice)
    reason = LOW_PRECISION if index == IMPRECISE else LOW_PROBABILITY
    return answer._replace(abstained=reason)


def _add_prediction_set(answer: Answer, scored: _ScoredDocument, classes: list[str]) -> Answer:
    """Return the answer with a prediction set of classes, or with the reason to abstain."""
    members = scored.ranking.members
    if not members:
        return answer._replace(abstained=EMPTY_SET)
    answer = _add_members(answer, members)
    is_full = len(members) == len(classes)
    if is_full and answer.notice is None:
        return answer._replace(notice=FULL_SET)
    return answer


def _add_multi_labels(answer: Answer, scored: _ScoredDocument, classes: list[str]) -> Answer:
    """Return the answer with the labels of a multi-label document, or the reason to abstain."""
    del classes  # only the other `add_labels` functions need the classes
    members = scored.ranking.members
    if not members:
        return answer._replace(abstained=answer.notice or NO_LABEL)
    return _add_members(answer, members)


def _add_members(answer: Answer, members: tuple[RankedClass, ...]) -> Answer:
    """Return the answer with the labels and probabilities of the members of its set."""
    return answer._replace(
        labels=tuple(member.label for member in members),
        probabilities=tuple(member.probability for member in members),
    )
