"""Score documents with a model, and build one answer for each document, in order.

A document that cannot be read has an answer too, with its problem.
"""

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
    from nbtext.prediction.posterior import ClassSets, Posterior
    from nbtext.type_names import Floats, Ints

# Reasons to abstain. EMPTY and NO_KNOWN_TERMS are also notices, next to the prediction that every
# document without known terms gets. FULL_SET is only a notice.
IMPOSSIBLE = "impossible"
"""Every class has probability zero, which can happen with maximum likelihood."""

EMPTY = "empty"
"""The document contains only white space."""

NO_KNOWN_TERMS = "no-known-terms"
"""The document contains no term of the model."""

LOW_PROBABILITY = "low-probability"
"""The probability of the best class is below the threshold, or abstaining costs less."""

LOW_PRECISION = "low-precision"
"""Predictions with this probability are not as precise as required."""

EMPTY_SET = "empty-set"
"""No class is probable enough for a prediction set with the guaranteed coverage."""

FULL_SET = "full-set"
"""Every class is in the prediction set. A notice, not a reason to abstain."""

NO_LABEL = "no-label"
"""The multi-label document most probably has none of the labels."""

ATYPICAL = "atypical"
"""The document is less typical, compared with training documents of its length, than required."""


class RankedClass(NamedTuple):
    """One class for one document."""

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
    labels: tuple[str, ...] = ()
    """The predicted labels, the most probable first.

    A single label, unless the model is multi-label or prediction sets were requested.
    """
    probabilities: tuple[float, ...] = ()
    """Probability of each label."""
    abstained: str | None = None
    """Reason to abstain, or None."""
    problem: DocumentError | None = None
    """Why the document could not be read, or None."""
    notice: str | None = None
    expected_cost: float | None = None
    ranked: tuple[RankedClass, ...] = ()
    """The most probable classes, as many as requested, or the classes of the prediction set."""
    columns: tuple[str, ...] = ()
    """Extra columns of the document."""

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
    """Numbers of special answers in a stream."""

    n_abstained: int = 0
    n_without_known_terms: int = 0
    """Documents without a term of the model, which all get the same prediction."""

    def observe(self, answers: Iterable[Answer]) -> Iterator[Answer]:
        """Yield the answers unchanged, and count them."""
        for answer in answers:
            if answer.abstained is not None:
                self.n_abstained += 1
            if answer.notice in (EMPTY, NO_KNOWN_TERMS):
                self.n_without_known_terms += 1
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
        return self.posterior.log_p

    def take(self, rows: Ints) -> ScoredBlock:
        """Return a copy with the documents in ``rows``."""
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
        for rows in iter_blocks(np.arange(len(block)), 1, model.max_block_documents):
            block_documents = block[rows[0] : rows[-1] + 1]
            yield ScoredBlock(block_documents, *model.score_counts(counts.take(rows)))


def explain_missing_terms(document: Document) -> str:
    """Return why a document has no known terms: `EMPTY` or `NO_KNOWN_TERMS`."""
    return NO_KNOWN_TERMS if document.digest_bytes.strip() else EMPTY


class ScoredRow(NamedTuple):
    """A scored document with all data for its answer."""

    document: Document
    class_index: int
    """Class that the decision rule predicts; negative if it predicts none."""
    probability: float
    """Probability of that class; nan if no class is possible."""
    expected_cost: float | None
    n_known_tokens: int
    is_typical: bool
    ranked: tuple[RankedClass, ...] = ()
    members: tuple[RankedClass, ...] = ()
    """Classes of the predicted set, the most probable first."""


class _ClassColumns(NamedTuple):
    """Values of all classes for the documents of a block, each of shape (n_docs, n_classes)."""

    classes: list[str]
    probabilities: Floats
    scores: Floats
    log_odds: Floats

    def take(self, row: int, class_indices: Ints) -> tuple[RankedClass, ...]:
        """Return the classes of a document in the order of ``class_indices``."""
        return tuple(
            map(
                RankedClass,
                [self.classes[index] for index in class_indices.tolist()],
                self.probabilities[row, class_indices].tolist(),
                self.scores[row, class_indices].tolist(),
                self.log_odds[row, class_indices].tolist(),
            )
        )


def iter_scored_rows(
    block: ScoredBlock,
    model: FittedModel,
    rule: DecisionRule,
    *,
    min_typicality: float = 0.0,
    top_k: int = 0,
    sets: ClassSets | None = None,
) -> Iterator[ScoredRow]:
    """Yield the documents of a block, in order. The arguments are those of `iter_answers`."""
    decision = block.posterior.decide(rule)
    is_typical = np.ones(len(block.documents), np.bool_)
    if min_typicality:
        is_typical = measure_typicality(model, block) >= min_typicality
    is_member = None if sets is None else sets.predict_mask(block.log_posterior)

    # Ranking all classes takes long, so no document is ranked unless it is needed.
    needs_ranking = top_k > 0 or is_member is not None
    ranked_posterior = block.posterior if needs_ranking else block.posterior[:0]
    orders = np.argsort(-ranked_posterior.log_p, axis=1, kind="stable")
    class_columns = _ClassColumns(
        model.classes,
        np.exp(ranked_posterior.log_p),
        block.scores,
        ranked_posterior.compute_log_odds(),
    )

    rows = zip(
        block.documents,
        decision.predictions.tolist(),
        decision.probabilities.tolist(),
        decision.expected_costs.tolist(),
        block.lengths.tolist(),
        is_typical.tolist(),
        strict=True,
    )
    for row, (document, class_index, probability, cost, n_known, typical) in enumerate(rows):
        members: tuple[RankedClass, ...] = ()
        if is_member is not None:
            order = orders[row]
            members = class_columns.take(row, order[is_member[row][order]])
        yield ScoredRow(
            document,
            class_index,
            probability,
            expected_cost=None if rule.costs is None else cost,
            n_known_tokens=n_known,
            is_typical=typical,
            ranked=class_columns.take(row, orders[row][:top_k]) if top_k else members,
            members=members,
        )


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

    An answer contains the ``top_k`` most probable classes, or the classes that ``sets`` predicts.
    Abstain if less than a proportion ``min_typicality`` of the training documents of about the
    same length are less likely. Raise `UsageError` if the model cannot measure typicality.
    """
    sets = model.posterior_type.select_set_predictor(rule, sets)
    add_labels = _add_class
    if sets is not None:
        add_labels = look_up_kind(_SET_FUNCTIONS, model.posterior_type)
    for block in scored_blocks:
        for row in iter_scored_rows(
            block, model, rule, min_typicality=min_typicality, top_k=top_k, sets=sets
        ):
            yield build_answer(row, model.classes, add_labels)


def build_answer(
    row: ScoredRow, classes: list[str], add_labels: Callable[[Answer, ScoredRow, list[str]], Answer]
) -> Answer:
    """Return the answer to a document.

    ``add_labels`` returns an answer with the predicted labels, or with the reason to abstain.
    """
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
    answer = add_labels(answer, row, classes)
    if answer.abstained is not None:
        return answer._replace(notice=None)
    return answer


def measure_typicality(model: FittedModel, scored: ScoredTexts | ScoredBlock) -> Floats:
    """Return the typicality of scored texts, shape (n_docs,).

    It is the proportion of training documents of about the same length that are less likely per
    token. Raise `UsageError` if the model has no likelihoods of training documents.
    """
    per_token = compute_log_likelihood_per_token(
        model.classifier, scored.scores, scored.lengths, scored.unknown_tokens
    )
    typicality = model.parameters.typicality
    if typicality is None or per_token is None:
        raise UsageError(
            "the model does not know what is typical",
            hint="train --classifier multinomial on counts, with smoothing, calibration and a "
            "sample of at least 50 documents, "
            "and without values beside the text",
        )
    return typicality.compute_proportion_below(*per_token)


def _add_class(answer: Answer, row: ScoredRow, classes: list[str]) -> Answer:
    """Return the answer with the predicted class, or with the reason to predict none."""
    if row.class_index < 0:
        reason = LOW_PRECISION if row.class_index == IMPRECISE else LOW_PROBABILITY
        return answer._replace(abstained=answer.notice or reason)
    return answer._replace(labels=(classes[row.class_index],), probabilities=(row.probability,))


def _add_class_set(answer: Answer, row: ScoredRow, classes: list[str]) -> Answer:
    """Return the answer with a prediction set of classes."""
    if not row.members:
        return answer._replace(abstained=EMPTY_SET)
    answer = _add_members(answer, row)
    is_full = len(row.members) == len(classes)
    if is_full and answer.notice is None:
        return answer._replace(notice=FULL_SET)
    return answer


def _add_label_set(answer: Answer, row: ScoredRow, classes: list[str]) -> Answer:
    """Return the answer with the labels of a multi-label document."""
    del classes
    if not row.members:
        return answer._replace(abstained=answer.notice or NO_LABEL)
    return _add_members(answer, row)


def _add_members(answer: Answer, row: ScoredRow) -> Answer:
    return answer._replace(
        labels=tuple(member.label for member in row.members),
        probabilities=tuple(member.probability for member in row.members),
    )


_SET_FUNCTIONS = {ClassPosterior: _add_class_set, LabelPosterior: _add_label_set}
"""Functions that add a set of labels to an answer, by kind of posterior."""
