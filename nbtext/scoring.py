"""Scores of documents, and answers: exactly one for each document, in order, even if it cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.base import compute_log_likelihood_per_token
from nbtext.corpus.document import Document, collect_contents, count_document_bytes
from nbtext.counts.matrix import iter_blocks
from nbtext.errors import DocumentError, UsageError
from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior, look_up_kind
from nbtext.prediction.rule import IMPRECISE, DecisionRule
from nbtext.ragged import BLOCK_DOCUMENTS, split_into_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtext.fitted_model import FittedModel, ScoredTexts
    from nbtext.prediction.labels import Label
    from nbtext.prediction.posterior import Posterior, SetPredictor
    from nbtext.type_names import Floats, Ints

# Reasons to abstain. EMPTY and NO_KNOWN_TERMS are also notices beside the answer that every
# document without known terms gets; FULL_SET is a notice alone.
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
    """The answer to one document: its labels with their probabilities, or the reason to abstain."""

    id: str
    labels: tuple[str, ...] = ()
    """The labels that the document got, the most probable first; one if it can have one only, those of its set if sets were asked for."""
    probabilities: tuple[float, ...] = ()
    """Of each label."""
    abstained: str | None = None
    problem: DocumentError | None = None
    notice: str | None = None
    expected_cost: float | None = None
    ranked: tuple[RankedClass, ...] = ()
    """The most probable classes, as many as were asked for, or those of the set."""
    columns: tuple[str, ...] = ()
    """Those of the document."""

    @property
    def label(self) -> str | None:
        """The most probable label that the document got, None where it abstains."""
        return self.labels[0] if self.labels else None

    @property
    def probability(self) -> float | None:
        """The probability of `label`."""
        return self.probabilities[0] if self.probabilities else None


@dataclass()
class AnswerCounts:
    """How many answers of a stream are of some kind."""

    n_abstained: int = 0
    n_without_known_terms: int = 0
    """Answers to documents without a term that the model knows: all have the same."""

    def observe(self, answers: Iterable[Answer]) -> Iterator[Answer]:
        """Yield the answers, counted."""
        for answer in answers:
            self.n_abstained += answer.abstained is not None
            self.n_without_known_terms += answer.notice in (EMPTY, NO_KNOWN_TERMS)
            yield answer


class ScoredBlock(NamedTuple):
    """Consecutive documents with their `ScoredTexts`."""

    documents: list[Document]
    scores: Floats
    posterior: Posterior
    lengths: Ints
    unknown_tokens: Ints

    @property
    def log_posterior(self) -> Floats:
        """Return log p(C_k | d), in nats, shape (n_docs, n_classes)."""
        return self.posterior.logs

    def take(self, rows: Ints) -> ScoredBlock:
        """Return some of the documents, as copies."""
        documents = [self.documents[row] for row in rows.tolist()]
        return ScoredBlock(
            documents,
            self.scores[rows],
            self.posterior[rows],
            self.lengths[rows],
            self.unknown_tokens[rows],
        )

    @property
    def labels(self) -> list[Label]:
        """The true label of each document, the empty text of one without."""
        return [document.label or "" for document in self.documents]


def score_documents(
    model: FittedModel, documents: Iterable[Document], block_size: int = BLOCK_DOCUMENTS
) -> Iterator[ScoredBlock]:
    """Score a stream of documents, at most ``at_once`` at a time; those that could not be read count as empty."""
    for block in split_into_blocks(documents, count_document_bytes, block_size):
        counts = model.count_texts(*collect_contents(block))
        for rows in iter_blocks(np.arange(len(block)), 1, model.max_block_documents):
            yield ScoredBlock(block[rows[0] : rows[-1] + 1], *model.score_counts(counts.take(rows)))


def explain_missing_terms(document: Document) -> str:
    """Return why a document without known terms has the answer that every such document gets."""
    return NO_KNOWN_TERMS if document.digest_bytes.strip() else EMPTY


class ScoredRow(NamedTuple):
    """A scored document with all that its answer is made of."""

    document: Document
    class_index: int
    """Of the class that the decision rule predicts; negative if it predicts none."""
    probability: float
    """Of that class; nan where no class is possible."""
    expected_cost: float | None
    n_known_tokens: int
    """Known tokens."""
    is_typical: bool
    ranked: tuple[RankedClass, ...] = ()
    members: tuple[RankedClass, ...] = ()
    """Those of the set that the document gets, the most probable first."""


def iter_scored_rows(
    block: ScoredBlock,
    model: FittedModel,
    rule: DecisionRule,
    *,
    min_typicality: float = 0.0,
    top_k: int = 0,
    sets: SetPredictor | None = None,
) -> Iterator[ScoredRow]:
    """Yield the documents of a block, in order; arguments are as `iter_answers` takes them."""
    decision = block.posterior.decide(rule)
    is_typical = np.ones(len(block.documents), np.bool_)
    if min_typicality:
        is_typical = measure_typicality(model, block) >= min_typicality
    is_member = None if sets is None else sets.predict_mask(block.log_posterior)
    needs_ranking = top_k > 0 or is_member is not None
    posterior = (
        block.posterior if needs_ranking else block.posterior[:0]
    )  # of no document: to rank all classes takes long
    orders = np.argsort(-posterior.logs, axis=1, kind="stable")
    by_class = (np.exp(posterior.logs), block.scores, posterior.compute_log_odds())

    def ranked_classes(place: int, numbers: Ints) -> tuple[RankedClass, ...]:
        figures = (values[place, numbers].tolist() for values in by_class)
        names = [model.classes[number] for number in numbers.tolist()]
        return tuple(map(RankedClass, names, *figures))

    columns = (*decision, block.lengths, is_typical)
    rows = zip(block.documents, *(column.tolist() for column in columns), strict=True)
    for place, (document, class_number, probability, cost, n_known, typical) in enumerate(rows):
        members: tuple[RankedClass, ...] = ()
        if is_member is not None:
            order = orders[place]
            members = ranked_classes(place, order[is_member[place][order]])
        yield ScoredRow(
            document,
            class_number,
            probability,
            expected_cost=None if rule.costs is None else cost,
            n_known_tokens=n_known,
            is_typical=typical,
            ranked=ranked_classes(place, orders[place][:top_k]) if top_k else members,
            members=members,
        )


def iter_answers(
    scored_blocks: Iterable[ScoredBlock],
    model: FittedModel,
    rule: DecisionRule,
    *,
    min_typicality: float = 0.0,
    top_k: int = 0,
    sets: SetPredictor | None = None,
) -> Iterator[Answer]:
    """Yield the answer to each document that the model has scored, in order, with its ``top_k`` most probable classes, or those of its set.

    It abstains where less than a share ``min_typicality`` of the training documents of about the same length are less likely; raises `UsageError`
    if the model does not know that.
    """
    sets = model.posterior_type.select_set_predictor(rule, sets)
    predicted = _with_class if sets is None else look_up_kind(_WITH_SETS, model.posterior_type)
    for block in scored_blocks:
        for row in iter_scored_rows(
            block, model, rule, min_typicality=min_typicality, top_k=top_k, sets=sets
        ):
            yield build_answer(row, model.classes, predicted)


def build_answer(
    row: ScoredRow, classes: list[str], predicted: Callable[[Answer, ScoredRow, list[str]], Answer]
) -> Answer:
    """Return the answer to a document, or why there is none; ``predicted`` adds the labels that it gets."""
    document = row.document
    if document.problem is not None:
        return Answer(document.id, problem=document.problem)
    if np.isnan(row.probability):
        return Answer(document.id, abstained=IMPOSSIBLE, columns=document.columns)
    answer = Answer(
        document.id, expected_cost=row.expected_cost, columns=document.columns, ranked=row.ranked
    )
    if not row.is_typical:
        return answer._replace(abstained=ATYPICAL)
    if not row.n_known_tokens:
        answer = answer._replace(notice=explain_missing_terms(document))
    found = predicted(answer, row, classes)
    return found if found.abstained is None else found._replace(notice=None)


def measure_typicality(model: FittedModel, scored: ScoredTexts | ScoredBlock) -> Floats:
    """Return the share of training documents of about its length that are less likely per token than a scored text, shape (n_docs,).

    Raises `UsageError` if the model keeps no likelihoods of training documents.
    """
    per_token = compute_log_likelihood_per_token(
        model.classifier, scored.scores, scored.lengths, scored.unknown_tokens
    )
    if model.parameters.typicality is None or per_token is None:
        raise UsageError(
            "the model does not know what is typical",
            hint="train --classifier multinomial on counts, with smoothing, calibration and a "
            "sample of at least 50 documents, "
            "and without values beside the text",
        )
    return model.parameters.typicality.compute_proportion_below(*per_token)


def _with_class(answer: Answer, row: ScoredRow, classes: list[str]) -> Answer:
    """Return the answer of the predicted class, or of none."""
    if row.class_index < 0:
        reason = LOW_PRECISION if row.class_index == IMPRECISE else LOW_PROBABILITY
        return answer._replace(abstained=answer.notice or reason)
    return answer._replace(labels=(classes[row.class_index],), probabilities=(row.probability,))


def _with_set(answer: Answer, row: ScoredRow, classes: list[str]) -> Answer:
    """Return the answer of a set of classes that holds the true one as often as promised."""
    if not row.members:
        return answer._replace(abstained=EMPTY_SET)
    is_full = len(row.members) == len(classes)
    return _with_members(answer, row)._replace(
        notice=answer.notice or (FULL_SET if is_full else None)
    )


def _with_labels(answer: Answer, row: ScoredRow, classes: list[str]) -> Answer:
    """Return the answer of several labels."""
    del classes
    if not row.members:
        return answer._replace(abstained=answer.notice or NO_LABEL)
    return _with_members(answer, row)


def _with_members(answer: Answer, row: ScoredRow) -> Answer:
    labels = tuple(member.label for member in row.members)
    return answer._replace(
        labels=labels, probabilities=tuple(member.probability for member in row.members)
    )


_WITH_SETS = {ClassPosterior: _with_set, LabelPosterior: _with_labels}
"""By the kind of labels."""
