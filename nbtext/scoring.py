"""Scores of documents, and answers: exactly one for each document, in order, even if it cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from nbtext.corpus.document import Document, contents, size_of
from nbtext.counts.matrix import in_blocks
from nbtext.errors import DocumentError, UsageError
from nbtext.prediction.labels import MARK, labels_in
from nbtext.prediction.rule import IMPRECISE, DecisionRule, log_odds
from nbtext.ragged import BLOCK_DOCUMENTS, blocks
from nbtext.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.fitted_model import FittedModel, ScoredTexts
    from nbtext.type_names import Floats, Mask, Whole

# Reasons to abstain; the second and third also mark the answer that every document without known terms gets.
IMPOSSIBLE = "impossible"
"""Every class has probability zero, as maximum likelihood may have it."""

EMPTY = "empty"
"""The document holds nothing but white space."""

NO_KNOWN_TERMS = "no-known-terms"
"""The document holds no term that the model knows."""

LOW_PROBABILITY = "low-probability"
"""The best answer is less probable than the threshold, or abstaining costs less."""

LOW_PRECISION = "low-precision"
"""Answers with such a probability are wrong more often than was asked for."""

EMPTY_SET = "empty-set"
"""No class is probable enough for a set that holds the truth as often as promised."""

FULL_SET = "full-set"
"""Every class is probable enough; a notice, not a reason to abstain."""

NO_LABEL = "no-label"
"""The document has most probably none of the labels."""

ATYPICAL = "atypical"
"""The document is less likely than the threshold, compared with training documents of its length."""


class RankedClass(NamedTuple):
    """One class for one document: p(C_k | d), and log p(d, C_k) and the log odds of p(C_k | d) in nats."""

    label: str
    probability: float
    score: float
    log_odds: float


class Answer(NamedTuple):
    """The answer to one document: a label with its probability, or the reason to abstain."""

    id: str
    label: str | None
    probability: float | None
    abstained: str | None = None
    problem: DocumentError | None = None
    notice: str | None = None
    expected_cost: float | None = None
    ranked: tuple[RankedClass, ...] = ()
    """The most probable classes, as many as were asked for, or those of the set."""
    columns: tuple[str, ...] = ()
    """Those of the document."""
    probabilities: tuple[float, ...] = ()
    """Of several labels, which are one text as in `nbtext.prediction.labels`, that of each, in the order of `labels`."""

    @property
    def labels(self) -> list[str]:
        """The labels that the document got, the most probable first; one if it can have one only, none where it abstains."""
        return [] if self.label is None else labels_in(self.label)


@dataclass()
class AnswerCounts:
    """How many answers of a stream are of some kind."""

    abstained: int = 0
    without_known_terms: int = 0
    """Answers to documents without a term that the model knows: all have the same."""

    def watched(self, answers: Iterable[Answer]) -> Iterator[Answer]:
        """Yield the answers, counted."""
        for answer in answers:
            self.abstained += answer.abstained is not None
            self.without_known_terms += answer.notice is not None
            yield answer


class ClassSets(Protocol):
    """What sets of classes need of a `nbtext.promises.prediction_sets.SetRule`."""

    def members(self, log_posterior: Floats) -> Mask:
        """Return which classes are in the sets of documents, both of shape (n_docs, n_classes)."""


class ScoredBlock(NamedTuple):
    """Consecutive documents with their `ScoredTexts`."""

    documents: list[Document]
    scores: Floats
    log_posterior: Floats
    lengths: Whole
    unknown: Whole

    @property
    def labels(self) -> list[str]:
        """The true label of each document, the empty text of one without."""
        return [document.label or "" for document in self.documents]


def scored(model: FittedModel, documents: Iterable[Document], at_once: int = BLOCK_DOCUMENTS) -> Iterator[ScoredBlock]:
    """Score a stream of documents, at most ``at_once`` at a time; those that could not be read count as empty."""
    for block in blocks(documents, size_of, at_once):
        counts = model.counted(*contents(block))
        for rows in in_blocks(np.arange(len(block)), 1, model.documents_at_once):
            yield ScoredBlock(block[rows[0] : rows[-1] + 1], *model.score_counts(counts.rows(rows)))


def lacking(document: Document) -> str:
    """Return why a document without known terms has the answer that every such document gets."""
    return NO_KNOWN_TERMS if document.joined.strip() else EMPTY


def answers_to(
    scored_blocks: Iterable[ScoredBlock],
    model: FittedModel,
    rule: DecisionRule,
    *,
    min_typicality: float = 0.0,
    top_k: int = 0,
    sets: ClassSets | None = None,
) -> Iterator[Answer]:
    """Yield the answer to each document that the model has scored, in order, with its ``top_k`` most probable classes, or those of its set.

    It abstains where less than a share ``min_typicality`` of the training documents of about the same length are less likely; raises `UsageError`
    if the model does not know that.
    """
    classes, sets = model.classes, rule if model.several_labels and sets is None else sets
    for block in scored_blocks:
        decision = rule.decide(block.log_posterior)
        typical = typicality(model, block) >= min_typicality if min_typicality else np.ones(len(block.documents), np.bool_)
        members = None if sets is None else sets.members(block.log_posterior)
        posterior = block.log_posterior if top_k or members is not None else block.log_posterior[:0]  # of no document if nothing is ranked
        orders = np.argsort(-posterior, axis=1, kind="stable")
        figures = np.exp(posterior), block.scores, log_odds(posterior, several=model.several_labels)
        rows = zip(block.documents, *(column.tolist() for column in (*decision, block.lengths, typical)), strict=True)
        for row, (document, number, probability, cost, length, is_typical) in enumerate(rows):
            if document.problem is not None:
                yield Answer(document.id, None, None, problem=document.problem)
                continue
            notice = None if length else lacking(document)
            answer = Answer(document.id, None, None, expected_cost=cost if rule.costs is not None else None, columns=document.columns)
            if top_k or members is not None:
                order = orders[row]
                in_set = order if members is None else order[members[row][order]]
                chosen = order[:top_k] if top_k else in_set
                each = (figure[row, chosen].tolist() for figure in figures)
                answer = answer._replace(ranked=tuple(map(RankedClass, [classes[k] for k in chosen.tolist()], *each)))
            if np.isnan(probability):
                yield answer._replace(abstained=IMPOSSIBLE, expected_cost=None, ranked=())
            elif not is_typical:
                yield answer._replace(abstained=ATYPICAL)
            elif model.several_labels:
                yield _with_labels(answer, [classes[k] for k in in_set], np.exp(block.log_posterior[row, in_set]), notice)
            elif members is not None:
                yield _with_set(answer, len(classes), notice)
            else:
                yield _with_class(answer, classes, number, probability, notice)


def typicality(model: FittedModel, scored: ScoredTexts | ScoredBlock) -> Floats:
    """Return the share of training documents of about its length that are less likely per token than a scored text, shape (n_docs,).

    Raises `UsageError` if the model keeps no likelihoods of training documents.
    """
    per_token = model.classifier.likelihood_per_token(scored.scores, scored.lengths, scored.unknown)
    if model.learnt.typicality is None or per_token is None:
        raise UsageError(
            "the model does not know what is typical",
            hint="train --classifier multinomial on counts, with smoothing, calibration and a sample of at least 50 documents, "
            "and without values beside the text",
        )
    return model.learnt.typicality.share_below(*per_token)


def _with_class(answer: Answer, classes: list[str], number: int, probability: float, lacking: str | None) -> Answer:
    """Return the answer of one class, or of none if its number is negative; ``lacking`` says why the document says nothing."""
    if number < 0:
        return answer._replace(abstained=lacking or (LOW_PRECISION if number == IMPRECISE else LOW_PROBABILITY))
    return answer._replace(label=classes[number], probability=probability, notice=lacking)


def _with_set(answer: Answer, n_classes: int, lacking: str | None) -> Answer:
    """Return the answer of a set of classes: its most probable one; ``lacking`` says why the document says nothing."""
    if not answer.ranked:
        return answer._replace(abstained=EMPTY_SET)
    label, probability = answer.ranked[0][:2]
    return answer._replace(label=label, probability=probability, notice=lacking or (FULL_SET if len(answer.ranked) == n_classes else None))


def _with_labels(answer: Answer, labels: list[str], probabilities: Floats, lacking: str | None) -> Answer:
    """Return the answer of several labels, in their order; ``lacking`` says why the document says nothing."""
    if not labels:
        return answer._replace(abstained=lacking or NO_LABEL)
    each = tuple(probabilities.tolist())
    return answer._replace(label=MARK + MARK.join(labels), probability=each[0], probabilities=each, notice=lacking)
