"""Posteriors: log probabilities of the labels of documents, with their log odds and losses.

There are two kinds. A document has one of several exclusive classes (`ClassPosterior`), or any
number of labels (`LabelPosterior`). All differences between the two are in this file, so other code
works for both.

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
from nbtext.prediction.rule import (
    MAX_FLOAT,
    NO_PREDICTION,
    compute_cost_thresholds,
    parse_costs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.prediction.rule import Decision, DecisionRule
    from nbtext.type_names import AnyInts, Floats, Ints, Mask, Names

Entry = TypeVar("Entry")

MIN_LABEL_LOSS_NATS = 1e-15
"""Lower bound of −log p of a label, so that 1 − p, the probability of its absence, is above 0."""

MAX_CLASSES_SUMMED_AT_ONCE = 1 << 14
"""Classes in a block of a sum, so that blocks of a few documents fit into the processor's cache."""


def normalize_log_joint(joint_log_likelihood: Floats, out: Floats | None = None) -> Floats:
    """Return log p(C_k | d) from log p(d, C_k), in nats: the log softmax, by log-sum-exp.

    Argument and result have the shape (n_docs, n_classes). A row in which every class is impossible
    (−inf) becomes nan. The result is written to ``out``, which may be the first argument. For many
    classes, to allocate an array takes longer than to fill it.
    """
    # To import scipy's log_softmax takes longer than to import numpy.
    with np.errstate(invalid="ignore"):
        highest = joint_log_likelihood.max(axis=1, keepdims=True)
        posterior: Floats = np.subtract(joint_log_likelihood, highest, out=out)
        totals = np.zeros_like(posterior[:, :1])
        for start in range(0, posterior.shape[1], MAX_CLASSES_SUMMED_AT_ONCE):
            block = posterior[:, start : start + MAX_CLASSES_SUMMED_AT_ONCE]
            totals += np.exp(block).sum(axis=1, keepdims=True)
        posterior -= np.log(totals)
    return posterior


def compute_log_sigmoid(log_odds: Floats) -> Floats:
    """Return log 1/(1 + exp(−log odds)), in nats, in the shape of the argument."""
    # The same with numpy's logaddexp takes ten times as long.
    return np.minimum(log_odds, 0.0) - np.log1p(np.exp(-np.abs(log_odds)))


def find_runner_up(log_posterior: Floats, classes: Ints) -> Ints:
    """Return the most probable class of each document other than its class in ``classes``.

    Argument and result have the shape (n_docs,). If all other classes are impossible, return any
    other class. If there is only one class, return this class.
    """
    n_classes = log_posterior.shape[1]
    if n_classes == 1:
        return classes
    other_log_p = log_posterior.copy()
    other_log_p[np.arange(classes.size), classes] = -np.inf
    best = other_log_p.argmax(axis=1)
    # If all log p are −inf now, the first class is the best, even if it is in ``classes``.
    next_classes: Ints = (classes + 1) % n_classes
    return np.where(best == classes, next_classes, best).astype(np.int64)


class AlternativeLabels(NamedTuple):
    """The most probable labels of each document except its true labels, shape (n_docs,)."""

    labels: DocumentLabels
    """The other class, or for multi-label documents the true labels with one added or removed."""
    log_probability: Floats
    """log p of the alternative class, or of adding or removing the label, in nats."""
    log_odds: Floats
    """``log_probability`` minus log p of the true class, or of leaving the label, in nats."""


class ClassSets(Protocol):
    """A predictor of label sets.

    It is a decision rule or a `nbtext.guarantees.prediction_sets.SetRule`.
    """

    def predict_mask(self, log_posterior: Floats) -> Mask:
        """Return the labels in the set of each document, a mask of shape (n_docs, n_labels).

        ``log_posterior`` has the same shape.
        """


class Posterior:
    """log p(label k | d), shape (n_docs, n_labels), in nats.

    A row is nan if every label is impossible.
    """

    noun: ClassVar[str]
    """The word for a label in messages."""
    is_exclusive: ClassVar[bool]
    """True if a document has exactly one label."""
    separator: ClassVar[str | None]
    """Separates the labels of a document in output. None if a document has one label."""
    min_labels: ClassVar[int]
    """Number of labels that a model needs to have a choice."""
    needs_calibration: ClassVar[bool]
    """True if predicted labels depend on the probabilities, not only on their order."""

    def __init__(self, log_p: Floats) -> None:
        self.log_p = log_p

    def __len__(self) -> int:
        return len(self.log_p)

    def __getitem__(self, rows: Ints | Mask | slice) -> Self:
        """Return the posterior of some of the documents."""
        return type(self)(self.log_p[rows])

    def compute_log_complement(self) -> Floats:
        """Return log(1 − p), shape (n_docs, n_labels), in nats."""
        raise NotImplementedError

    def compute_log_odds(self) -> Floats:
        """Return log p − log(1 − p), shape (n_docs, n_labels), in nats.

        If there is only one class, its log odds are +inf.
        """
        return self.log_p - self.compute_log_complement()

    @classmethod
    def make_label_index(cls, labels: Names) -> LabelIndex:
        """Return an index that starts with these labels."""
        return LabelIndex(labels, single=cls.is_exclusive)

    @classmethod
    def require_same_label_kind(cls, other: type[Posterior]) -> None:
        """Raise `UsageError` if only one of two models is multi-label."""
        if cls.is_exclusive != other.is_exclusive:
            raise UsageError(
                "one model gives one label, the other several",
                hint="compare models of the same kind",
            )

    @staticmethod
    def add_costs(tables: Mapping[str, object], labels: Names, rule: DecisionRule) -> DecisionRule:
        """Return the rule with the costs from one table for each label.

        Raise `UsageError` for invalid costs.
        """
        raise NotImplementedError

    @staticmethod
    def select_set_predictor(
        rule: DecisionRule, guaranteed_sets: ClassSets | None
    ) -> ClassSets | None:
        """Return the predictor of label sets, or None if each document gets one class.

        ``guaranteed_sets`` predicts sets with guaranteed coverage. It is None if coverage was not
        requested.
        """
        raise NotImplementedError

    def decide(self, rule: DecisionRule) -> Decision:
        """Return one label for each document, or the reason why it has none.

        See `predict` for the label sets of multi-label models.
        """
        return rule.decide(self.log_p)

    def predict(self, rule: DecisionRule) -> DocumentLabels:
        """Return the labels of documents that a decision rule predicts."""
        raise NotImplementedError

    def compute_log_losses(self, truth: DocumentLabels) -> Floats:
        """Return −log p of the true labels, shape (n_docs,), in nats (I. Good, 1952).

        The loss is inf for a label that the model does not know.
        """
        raise NotImplementedError

    def compute_brier_scores(self, truth: DocumentLabels) -> Floats:
        """Return Σ_k (p_k − [the document has label k])², shape (n_docs,).

        Source: G. Brier (1950), eq. 2.
        """
        raise NotImplementedError

    def rank_true_labels(self, truth: DocumentLabels) -> Ints:
        """Return the number of labels that precede a true label, shape (n_docs,).

        A label precedes a second label if it is more probable, or as probable with a lower index.
        """
        raise NotImplementedError

    def find_alternatives(self, truth: DocumentLabels) -> AlternativeLabels:
        """Return the most probable labels of each document except its true labels."""
        raise NotImplementedError

    def find_rivals(self, labels: Ints) -> Ints:
        """Return the label with which a label of each document is compared, shape (n_docs,).

        The result is the index of a different label, or `REST_INDEX`.
        """
        raise NotImplementedError

    @classmethod
    def score_prior(cls, prior: Floats, truth: DocumentLabels) -> tuple[float, float]:
        """Return the mean log loss, in nats, and the mean Brier score of the prior.

        Every document has the probabilities ``prior``, shape (n_labels,).
        """
        raise NotImplementedError

    @staticmethod
    def to_json_labels(labels: tuple[str, ...]) -> str | tuple[str, ...] | None:
        """Return the true or predicted labels of a document for JSON."""
        raise NotImplementedError


class ClassPosterior(Posterior):
    """Posterior of exclusive classes: the probabilities of a document sum to 1."""

    noun = "class"
    is_exclusive = True
    separator = None
    min_labels = 2
    needs_calibration = False

    def compute_log_complement(self) -> Floats:
        """Return log(1 − p).

        For the most probable class, p may round to 1. So its result is the log of the sum of all
        other p.
        """
        rows = np.arange(len(self))
        best = self.log_p.argmax(axis=1)
        other_log_p = self.log_p.copy()
        other_log_p[rows, best] = -np.inf
        # The limit is finite, because −inf − −inf is nan.
        highest = np.maximum(other_log_p.max(axis=1), -MAX_FLOAT)
        ratios_to_highest = np.exp(other_log_p - highest[:, np.newaxis])
        with np.errstate(divide="ignore"):
            complement: Floats = np.log(-np.expm1(other_log_p))
            complement[rows, best] = highest + np.log(ratios_to_highest.sum(axis=1))
        return complement

    @staticmethod
    def add_costs(tables: Mapping[str, object], labels: Names, rule: DecisionRule) -> DecisionRule:
        """Return the rule with the cost of each prediction for each class."""
        return replace(rule, costs=parse_costs(tables, labels))

    @staticmethod
    def select_set_predictor(
        rule: DecisionRule, guaranteed_sets: ClassSets | None
    ) -> ClassSets | None:
        """Return the predictor of sets with guaranteed coverage, or None."""
        del rule
        return guaranteed_sets

    def predict(self, rule: DecisionRule) -> DocumentLabels:
        """Return the predicted class of each document, or `NO_PREDICTION`."""
        decision = self.decide(rule)
        # This also replaces `IMPRECISE`, which is less.
        predictions = np.maximum(decision.predictions, NO_PREDICTION)
        return DocumentLabels(predictions, single_label_table(self.log_p.shape[1]))

    def _get_true_log_p(self, truth: AnyInts) -> Floats:
        """Return log p of the true class, shape (n_docs,). It is −inf for an unknown class.

        Classes that the model does not know have the indices from n_classes on.
        """
        n_classes = self.log_p.shape[1]
        log_p = self.log_p[np.arange(truth.size), np.minimum(truth, n_classes - 1)]
        return np.where(truth < n_classes, log_p, -np.inf)

    def compute_log_losses(self, truth: DocumentLabels) -> Floats:
        """Return −log p of the true class."""
        return -self._get_true_log_p(truth.indices)

    def compute_brier_scores(self, truth: DocumentLabels) -> Floats:
        """Return Σ_k (p_k − [k is the true class])², from 0 to 2."""
        squares = np.exp(self.log_p)
        squares *= squares
        true_p = np.exp(self._get_true_log_p(truth.indices))
        scores = squares.sum(axis=1) - 2 * true_p + 1
        return np.maximum(scores, 0)  # rounding may leave −1e-16

    def rank_true_labels(self, truth: DocumentLabels) -> Ints:
        """Return the number of classes that precede the true class.

        It is n_classes if the true class is unknown.
        """
        n_classes = self.log_p.shape[1]
        indices = truth.indices
        true_log_p = self._get_true_log_p(indices)[:, np.newaxis]
        # Bytes are added faster than truth values are counted.
        n_more_probable = (self.log_p > true_log_p).view(np.int8).sum(axis=1, dtype=np.int32)
        rows, equal_classes = np.divmod(np.flatnonzero(self.log_p == true_log_p), n_classes)
        is_earlier = equal_classes < indices[rows]
        n_earlier = np.bincount(rows[is_earlier], minlength=indices.size)
        return np.where(indices < n_classes, n_more_probable + n_earlier, n_classes)

    def find_alternatives(self, truth: DocumentLabels) -> AlternativeLabels:
        """Return the most probable other class of each document."""
        rows = np.arange(len(self))
        other_log_p = self.log_p.copy()
        other_log_p[rows, truth.indices] = -np.inf
        alternatives = other_log_p.argmax(axis=1)
        log_probability = other_log_p[rows, alternatives]
        with np.errstate(invalid="ignore"):  # −inf − −inf if no class is possible
            log_odds = log_probability - self.log_p[rows, truth.indices]
        return AlternativeLabels(
            DocumentLabels(alternatives, truth.table), log_probability, log_odds
        )

    def find_rivals(self, labels: Ints) -> Ints:
        """Return the most probable other class of each document."""
        # nan of a row without a possible class becomes −inf. By default −inf would become finite.
        log_p = np.nan_to_num(self.log_p, nan=-np.inf, neginf=-np.inf)
        return find_runner_up(log_p, labels)

    @classmethod
    def score_prior(cls, prior: Floats, truth: DocumentLabels) -> tuple[float, float]:
        """Return the mean log loss and the mean Brier score of the class prior."""
        n_labels = max(truth.table.n_labels, prior.size)
        support = np.bincount(truth.indices, minlength=n_labels).astype(np.float64)
        return compute_prior_log_loss(prior, support), compute_prior_brier_score(prior, support)

    @staticmethod
    def to_json_labels(labels: tuple[str, ...]) -> str | None:
        """Return the class of a document, or None without a class."""
        if labels:
            return labels[0]
        return None


def compute_prior_log_loss(prior: Floats, support: Floats) -> float:
    """Return −Σ_k n_k log π_k / n in nats, the log loss of the prior π.

    ``prior`` has the shape (n_classes,). ``support`` are the numbers n_k of evaluated documents of
    each label, shape (n_labels,), where labels that the model does not know come last. The loss is
    inf if a class of these documents has π_k = 0 or is unknown.
    """
    padded_prior = np.zeros_like(support)
    padded_prior[: prior.size] = prior
    occurs = support > 0
    with np.errstate(divide="ignore"):
        total = -(support[occurs] * np.log(padded_prior[occurs])).sum()
    return float(total / support.sum()) + 0.0  # −0.0 + 0.0 is 0.0


def compute_prior_brier_score(prior: Floats, support: Floats) -> float:
    """Return Σ_l π_l² − 2 Σ_k n_k π_k / n + 1, the mean Brier score (1950) of the prior π.

    See `compute_prior_log_loss` for the shapes.
    """
    return float((prior**2).sum() - 2 * (support[: prior.size] * prior).sum() / support.sum() + 1)


class LabelPosterior(Posterior):
    """Posterior of a multi-label model: the probabilities of a document need not sum to 1."""

    noun = "label"
    is_exclusive = False
    separator = LABEL_SEPARATOR
    min_labels = 1
    needs_calibration = True

    def compute_log_complement(self) -> Floats:
        """Return log(1 − p)."""
        with np.errstate(divide="ignore"):
            return np.log(-np.expm1(self.log_p))

    @staticmethod
    def add_costs(tables: Mapping[str, object], labels: Names, rule: DecisionRule) -> DecisionRule:
        """Return the rule with the thresholds that follow from costs of missed and false labels."""
        return replace(rule, labels_from=compute_cost_thresholds(tables, labels))

    @staticmethod
    def select_set_predictor(
        rule: DecisionRule, guaranteed_sets: ClassSets | None
    ) -> ClassSets | None:
        """Return the predictor of sets with guaranteed coverage, or the rule without one."""
        if guaranteed_sets is None:
            return rule
        return guaranteed_sets

    def predict(self, rule: DecisionRule) -> DocumentLabels:
        """Return the predicted label set of each document, which may be empty."""
        return DocumentLabels.from_mask(rule.predict_mask(self.log_p))

    def _pad_unknown(self, truth: DocumentLabels) -> tuple[Floats, Mask]:
        """Return log p and a mask of the true labels, both with columns for unknown labels.

        The shape is (n_docs, n_labels). The labels that the model does not know have the last
        columns and log p −inf.
        """
        n_known = self.log_p.shape[1]
        n_labels = max(n_known, truth.table.n_labels)
        padding = ((0, 0), (0, n_labels - n_known))
        return np.pad(self.log_p, padding, constant_values=-np.inf), truth.to_mask(n_labels)

    def compute_log_losses(self, truth: DocumentLabels) -> Floats:
        """Return −Σ log p of the true labels and log(1 − p) of the other labels."""
        log_p, is_true = self._pad_unknown(truth)
        with np.errstate(divide="ignore"):
            complement = np.log(-np.expm1(np.minimum(log_p, -MIN_LABEL_LOSS_NATS)))
        return -np.where(is_true, log_p, complement).sum(axis=1)

    def compute_brier_scores(self, truth: DocumentLabels) -> Floats:
        """Return Σ_k (p_k − [the document has label k])²."""
        log_p, is_true = self._pad_unknown(truth)
        return ((np.exp(log_p) - is_true) ** 2).sum(axis=1)

    def rank_true_labels(self, truth: DocumentLabels) -> Ints:
        """Return 0 if the most probable label is true, else 1."""
        _, is_true = self._pad_unknown(truth)
        is_best_true = is_true[np.arange(len(self)), self.log_p.argmax(axis=1)]
        return np.where(is_best_true, 0, 1)

    def find_alternatives(self, truth: DocumentLabels) -> AlternativeLabels:
        """Return the true labels of each document, with the least certain label changed.

        The label is added if it is not true, and removed if it is true.
        """
        rows = np.arange(len(self))
        has_label = truth.to_mask(self.log_p.shape[1])
        with np.errstate(invalid="ignore"):
            complement = self.compute_log_complement()
            changed_log_p = np.where(has_label, complement, self.log_p)
            log_odds = changed_log_p - np.where(has_label, self.log_p, complement)
        changed = log_odds.argmax(axis=1)
        has_label[rows, changed] = ~has_label[rows, changed]
        return AlternativeLabels(
            DocumentLabels.from_mask(has_label),
            changed_log_p[rows, changed],
            log_odds[rows, changed],
        )

    def find_rivals(self, labels: Ints) -> Ints:
        """Return `REST_INDEX`: a label is compared with all documents without it."""
        return np.full_like(labels, REST_INDEX)

    @classmethod
    def score_prior(cls, prior: Floats, truth: DocumentLabels) -> tuple[float, float]:
        """Return the scores if each label always has its prior probability."""
        with np.errstate(divide="ignore"):
            log_prior = np.broadcast_to(np.log(prior), (len(truth), prior.size))
        constant = cls(log_prior)
        return (
            float(constant.compute_log_losses(truth).mean()),
            float(constant.compute_brier_scores(truth).mean()),
        )

    @staticmethod
    def to_json_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
        """Return all labels of a document."""
        return labels


def look_up_kind(table: Mapping[type[Posterior], Entry], posterior_type: type[Posterior]) -> Entry:
    """Return the entry of a type of posterior, or of its nearest base class with an entry."""
    return next(table[base] for base in posterior_type.__mro__ if base in table)
