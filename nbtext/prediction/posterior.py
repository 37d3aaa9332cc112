"""Posteriors: log probabilities of the labels of documents, given their text, and all that follows from them alone.

A document has one of several classes that exclude each other, or any number of labels that do not. Everything that differs between these
two kinds of labels is here: code that needs log odds, losses or predicted labels need not know which kind it has.

Source: Gambosi's notes, "Probabilistic classification". Log-sum-exp keeps every step finite.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from nbtext.errors import UsageError
from nbtext.prediction.labels import (
    LABEL_SEPARATOR,
    REST_INDEX,
    DocumentLabels,
    LabelIndex,
    single_label_table,
)
from nbtext.prediction.rule import NO_PREDICTION, compute_cost_thresholds, parse_costs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.prediction.rule import Decision, DecisionRule
    from nbtext.type_names import AnyInts, Floats, Ints, Mask, Names

Entry = TypeVar("Entry")

MIN_LABEL_LOSS_NATS = 1e-15
"""Least −log p of a label, so that its absence keeps a probability."""

MAX_FLOAT = float(np.finfo(np.float64).max)

MAX_CLASSES_SUMMED_AT_ONCE = 1 << 14
"""Classes whose probabilities are in memory at once where they are only summed: those of a few documents fit into the processor's cache."""


def normalize_log_joint(joint_log_likelihood: Floats, out: Floats | None = None) -> Floats:
    """Return log p(C_k | d) from log p(d, C_k), both of shape (n_docs, n_classes), in nats: the log softmax, by log-sum-exp.

    They are written into ``out`` if it is given, which may be the first argument: of many classes, to make an array takes longer than to fill it.
    A row in which every class is impossible (−inf) becomes nan. scipy's `log_softmax` is slower to import than numpy itself.
    """
    with np.errstate(invalid="ignore"):
        posterior: Floats = np.subtract(
            joint_log_likelihood, joint_log_likelihood.max(axis=1, keepdims=True), out=out
        )
        parts = (
            posterior[:, first : first + MAX_CLASSES_SUMMED_AT_ONCE]
            for first in range(0, posterior.shape[1], MAX_CLASSES_SUMMED_AT_ONCE)
        )
        posterior -= np.log(sum(np.exp(part).sum(axis=1, keepdims=True) for part in parts))
    return posterior


def find_runner_up(log_posterior: Floats, answers: Ints) -> Ints:
    """Return the most probable class of each document but its answer, shape (n_docs,); the answer itself if there is no other class."""
    if log_posterior.shape[1] == 1:
        return answers
    others = log_posterior.copy()
    others[np.arange(answers.size), answers] = -np.inf
    best = others.argmax(axis=1)
    next_class: Ints = (answers + 1) % log_posterior.shape[1]
    return np.where(best == answers, next_class, best).astype(
        np.int64
    )  # where all others are impossible, any of them


class AlternativeLabels(NamedTuple):
    """For each document the other labels that it has most probably, all of shape (n_docs,)."""

    labels: DocumentLabels
    log_probability: Floats
    """log p of what differs from the true labels, in nats."""
    log_odds: Floats
    """log p of it less log p of the truth, in nats."""


class SetPredictor(Protocol):
    """What gives documents sets of labels: a decision rule, or a `nbtext.guarantees.prediction_sets.SetRule`."""

    def predict_mask(self, log_posterior: Floats) -> Mask:
        """Return which labels are in the sets of documents, both of shape (n_docs, n_labels)."""


class Posterior:
    """log p(label k | d), shape (n_docs, n_labels), in nats; a row of nan where every label is impossible."""

    noun: ClassVar[str]
    """A label, as messages call it."""
    is_exclusive: ClassVar[bool]
    """Whether a document has one label, and not several or none."""
    separator: ClassVar[str | None]
    """What people write between the labels of a document; None if it has one."""
    min_labels: ClassVar[int]
    """The fewest labels of which a model can compare two, or one with the rest."""
    needs_calibration: ClassVar[bool]
    """Whether predicted labels depend on probabilities themselves, and not on their order alone."""

    def __init__(self, log_p: Floats) -> None:
        self.logs = log_p

    def __len__(self) -> int:
        return len(self.logs)

    def __getitem__(self, chosen: Ints | Mask | slice) -> Self:
        """Return the posterior of some of the documents."""
        return type(self)(self.logs[chosen])

    def compute_log_complement(self) -> Floats:
        """Return log(1 − p), shape (n_docs, n_labels), in nats."""
        raise NotImplementedError

    def compute_log_odds(self) -> Floats:
        """Return log p − log(1 − p), shape (n_docs, n_labels), in nats; p is their sigmoid. +inf for an only class."""
        return self.logs - self.compute_log_complement()

    @classmethod
    def make_label_index(cls, labels: Names) -> LabelIndex:
        """Begin to number sets of labels, with some labels that are known."""
        return LabelIndex(labels, single=cls.is_exclusive)

    @classmethod
    def require_same_label_kind(cls, other: type[Posterior]) -> None:
        """Raise `UsageError` if the other model gives one label where this gives several, or the other way round."""
        if cls.is_exclusive != other.is_exclusive:
            raise UsageError(
                "one model gives one label, the other several",
                hint="compare models of the same kind",
            )

    @staticmethod
    def add_costs(tables: Mapping[str, object], labels: Names, rule: DecisionRule) -> DecisionRule:
        """Return a rule with the costs of a table by label; raise `UsageError` for costs that are none."""
        raise NotImplementedError

    @staticmethod
    def select_set_predictor(
        rule: DecisionRule, promised: SetPredictor | None
    ) -> SetPredictor | None:
        """Return what gives documents sets of labels, if sets with the true label are promised or not; None if they get one class."""
        raise NotImplementedError

    def decide(self, rule: DecisionRule) -> Decision:
        """Return one label of each document by a decision rule, or why there is none; where documents may have several, `predicted` has their sets."""
        return rule.decide(self.logs)

    def predict(self, rule: DecisionRule) -> DocumentLabels:
        """Return the labels that documents get by a decision rule."""
        raise NotImplementedError

    def compute_log_losses(self, truth: DocumentLabels) -> Floats:
        """Return −log p of the true labels, shape (n_docs,), in nats; inf with a label without a probability (I. Good, 1952)."""
        raise NotImplementedError

    def compute_brier_scores(self, truth: DocumentLabels) -> Floats:
        """Return Σ_k (p_k − [the document has label k])², shape (n_docs,) (G. Brier, 1950, eq. 2)."""
        raise NotImplementedError

    def rank_true_labels(self, truth: DocumentLabels) -> Ints:
        """Return how many labels are more probable than a true one, or as probable and earlier, shape (n_docs,)."""
        raise NotImplementedError

    def find_alternatives(self, truth: DocumentLabels) -> AlternativeLabels:
        """Return the most probable other labels of each document."""
        raise NotImplementedError

    def find_rivals(self, labels: Ints) -> Ints:
        """Return what a label of each document is compared with, both of shape (n_docs,): another label, or `REST_INDEX`."""
        raise NotImplementedError

    @classmethod
    def score_prior(cls, prior: Floats, truth: DocumentLabels) -> tuple[float, float]:
        """Return mean log loss, in nats, and mean Brier score if every document has the probabilities ``prior``, shape (n_labels,)."""
        raise NotImplementedError

    @staticmethod
    def to_json_labels(labels: tuple[str, ...]) -> str | tuple[str, ...] | None:
        """Return the labels that a document has or gets as JSON has them."""
        raise NotImplementedError


class ClassPosterior(Posterior):
    """Of classes that exclude each other: the probabilities of a document sum to 1."""

    noun = "class"
    is_exclusive = True
    separator = None
    min_labels = 2
    needs_calibration = False

    def compute_log_complement(self) -> Floats:
        """Return log(1 − p); for the most probable class from the sum of the others, since p may round to 1."""
        rows = np.arange(len(self))
        best = self.logs.argmax(axis=1)
        others = self.logs.copy()
        others[rows, best] = -np.inf
        highest = np.maximum(others.max(axis=1), -MAX_FLOAT)
        with np.errstate(divide="ignore"):
            complement: Floats = np.log(-np.expm1(others))
            complement[rows, best] = highest + np.log(
                np.exp(others - highest[:, np.newaxis]).sum(axis=1)
            )
        return complement

    @staticmethod
    def add_costs(tables: Mapping[str, object], labels: Names, rule: DecisionRule) -> DecisionRule:
        """Return a rule with the cost of each answer to each class."""
        return replace(rule, costs=parse_costs(tables, labels))

    @staticmethod
    def select_set_predictor(
        rule: DecisionRule, promised: SetPredictor | None
    ) -> SetPredictor | None:
        """Return the sets that are promised."""
        del rule
        return promised

    def predict(self, rule: DecisionRule) -> DocumentLabels:
        """Return the class that each document gets, negative where it gets none."""
        answers = np.maximum(self.decide(rule).predictions, NO_PREDICTION)
        return DocumentLabels(answers, single_label_table(self.logs.shape[1]))

    def _of_truth(self, truth: AnyInts) -> Floats:
        """Return log p of the true class, −inf for a class without a probability, shape (n_docs,)."""
        n_classes = self.logs.shape[1]
        found = self.logs[np.arange(truth.size), np.minimum(truth, n_classes - 1)]
        return np.where(truth < n_classes, found, -np.inf)

    def compute_log_losses(self, truth: DocumentLabels) -> Floats:
        """Return −log p of the true class."""
        return -self._of_truth(truth.indices)

    def compute_brier_scores(self, truth: DocumentLabels) -> Floats:
        """Return Σ_k (p_k − [k is the true class])², from 0 to 2."""
        squares = np.exp(self.logs)
        squares *= squares
        scores = squares.sum(axis=1) - 2 * np.exp(self._of_truth(truth.indices)) + 1
        return np.maximum(scores, 0)  # rounding may leave −1e-16

    def rank_true_labels(self, truth: DocumentLabels) -> Ints:
        """Count classes that are more probable than the true one, or as probable and earlier; n_classes if it is unknown."""
        n_classes = self.logs.shape[1]
        numbers = truth.indices
        of_truth = self._of_truth(numbers)[:, np.newaxis]
        # Bytes are added faster than truths are counted.
        more_probable = (self.logs > of_truth).view(np.int8).sum(axis=1, dtype=np.int32)
        rows, equals = np.divmod(np.flatnonzero(self.logs == of_truth), n_classes)
        earlier = np.bincount(rows[equals < numbers[rows]], minlength=numbers.size)
        return np.where(numbers < n_classes, more_probable + earlier, n_classes)

    def find_alternatives(self, truth: DocumentLabels) -> AlternativeLabels:
        """Return the most probable other class."""
        rows = np.arange(len(self))
        others = self.logs.copy()
        others[rows, truth.indices] = -np.inf
        suggested = others.argmax(axis=1)
        log_probability = others[rows, suggested]
        with np.errstate(invalid="ignore"):  # −inf − −inf, where no class is possible
            log_odds = log_probability - self.logs[rows, truth.indices]
        return AlternativeLabels(DocumentLabels(suggested, truth.table), log_probability, log_odds)

    def find_rivals(self, labels: Ints) -> Ints:
        """Return the most probable other class of each document."""
        return find_runner_up(np.nan_to_num(self.logs, nan=-np.inf, neginf=-np.inf), labels)

    @classmethod
    def score_prior(cls, prior: Floats, truth: DocumentLabels) -> tuple[float, float]:
        """Return the scores of the class prior."""
        support = np.bincount(
            truth.indices, minlength=max(truth.table.n_labels, prior.size)
        ).astype(np.float64)
        return compute_prior_log_loss(prior, support), compute_prior_brier_score(prior, support)

    @staticmethod
    def to_json_labels(labels: tuple[str, ...]) -> str | None:
        """Return the class of a document, or None."""
        return labels[0] if labels else None


def compute_prior_log_loss(prior: Floats, support: Floats) -> float:
    """Return −Σ_k n_k log π_k / n in nats, the cross-entropy of the classes judged and those of training; inf if one has π_k = 0 or is unknown.

    ``prior`` has shape (n_classes,); ``support``, shape (n_labels,), are the documents judged, labels that the classifier does not know at the end.
    """
    padded = np.zeros_like(support)
    padded[: prior.size] = prior
    occurs = support > 0
    with np.errstate(divide="ignore"):
        return (
            float(-(support[occurs] * np.log(padded[occurs])).sum() / support.sum()) + 0.0
        )  # no −0


def compute_prior_brier_score(prior: Floats, support: Floats) -> float:
    """Return Σ_l π_l² − 2 Σ_k n_k π_k / n + 1, the mean Brier score (1950) of the probabilities π. Shapes as in `compute_prior_log_loss`."""
    return float((prior**2).sum() - 2 * (support[: prior.size] * prior).sum() / support.sum() + 1)


class LabelPosterior(Posterior):
    """Of labels of which a document may have several: each probability is of its own, and they need not sum to 1."""

    noun = "label"
    is_exclusive = False
    separator = LABEL_SEPARATOR
    min_labels = 1
    needs_calibration = True

    def compute_log_complement(self) -> Floats:
        """Return log(1 − p)."""
        with np.errstate(divide="ignore"):
            return np.log(-np.expm1(self.logs))

    @staticmethod
    def add_costs(tables: Mapping[str, object], labels: Names, rule: DecisionRule) -> DecisionRule:
        """Return a rule with the thresholds that follow from what a missed and a false label cost."""
        return replace(rule, labels_from=compute_cost_thresholds(tables, labels))

    @staticmethod
    def select_set_predictor(
        rule: DecisionRule, promised: SetPredictor | None
    ) -> SetPredictor | None:
        """Return the sets that are promised, or those of the decision rule."""
        return rule if promised is None else promised

    def predict(self, rule: DecisionRule) -> DocumentLabels:
        """Return the set of labels that each document gets, which may be empty."""
        return DocumentLabels.from_mask(rule.predict_mask(self.logs))

    def _with_unknown(self, truth: DocumentLabels) -> tuple[Floats, Mask]:
        """Return log p and which labels are true; labels without a probability have −inf and stand last."""
        mask = truth.to_mask(max(self.logs.shape[1], truth.table.n_labels))
        n_unknown = mask.shape[1] - self.logs.shape[1]
        return np.pad(self.logs, ((0, 0), (0, n_unknown)), constant_values=-np.inf), mask

    def compute_log_losses(self, truth: DocumentLabels) -> Floats:
        """Return −Σ log p of the true labels and log(1 − p) of the others."""
        logs, is_true = self._with_unknown(truth)
        with np.errstate(divide="ignore"):
            complement = np.log(-np.expm1(np.minimum(logs, -MIN_LABEL_LOSS_NATS)))
        return -np.where(is_true, logs, complement).sum(axis=1)

    def compute_brier_scores(self, truth: DocumentLabels) -> Floats:
        """Return Σ_k (p_k − [the document has label k])²."""
        logs, is_true = self._with_unknown(truth)
        return ((np.exp(logs) - is_true) ** 2).sum(axis=1)

    def rank_true_labels(self, truth: DocumentLabels) -> Ints:
        """Return 0 where the most probable label is a true one, otherwise 1."""
        mask = truth.to_mask(max(self.logs.shape[1], truth.table.n_labels))
        is_right = mask[np.arange(len(self)), self.logs.argmax(axis=1)]
        return np.where(is_right, 0, 1)

    def find_alternatives(self, truth: DocumentLabels) -> AlternativeLabels:
        """Return the true labels with the one changed that is most in doubt."""
        rows = np.arange(len(self))
        labels = truth.to_mask(self.logs.shape[1])
        with np.errstate(invalid="ignore"):
            complement = self.compute_log_complement()
            of_other = np.where(labels, complement, self.logs)
            log_odds = of_other - np.where(labels, self.logs, complement)
        changed = log_odds.argmax(axis=1)
        labels[rows, changed] ^= True
        return AlternativeLabels(
            DocumentLabels.from_mask(labels), of_other[rows, changed], log_odds[rows, changed]
        )

    def find_rivals(self, labels: Ints) -> Ints:
        """Return `REST_INDEX`: a label is compared with all documents without it."""
        return np.full_like(labels, REST_INDEX)

    @classmethod
    def score_prior(cls, prior: Floats, truth: DocumentLabels) -> tuple[float, float]:
        """Return the scores of giving each label its share."""
        with np.errstate(divide="ignore"):
            constant = cls(np.broadcast_to(np.log(prior), (len(truth), prior.size)))
        return float(constant.compute_log_losses(truth).mean()), float(
            constant.compute_brier_scores(truth).mean()
        )

    @staticmethod
    def to_json_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
        """Return all labels of a document."""
        return labels


def look_up_kind(table: Mapping[type[Posterior], Entry], kind: type[Posterior]) -> Entry:
    """Return the entry of a table for a kind of labels, or for the kind that it is a special case of."""
    return next(table[each] for each in kind.__mro__ if each in table)
