"""Multinomial logistic regression on tf-idf, each term scaled in each class by how much it tells of that class beforehand.

s_k(d) = b_k + Σ_j w_jk (1 + |r_jk|) x_jd, p(C_k | d) = softmax_k s_k. x is log(1 + n) · log(D / df), each document of unit length; r_jk is
the naive Bayes log-count ratio, log of the share of term j in class k over that in all other classes. Fitted are w and b, by the
penalised likelihood Σ_d −log p(truth | d) + ½·l2·Σ w²: a Gaussian prior of precision l2 on the weights (IIR section 14; Gambosi's notes on
probabilistic classification). A large scale makes a weight cheap, so terms that naive Bayes goes by are believed first.
Source: S. Wang, C. Manning, Baselines and bigrams (2012), who scale by r and mix the outcome with a fit at equal scales. 1 + |r| has both
in one fit; on newsgroups, bank questions, tweets and text messages taken together it did better than |r|, √|r| or 1, in fewer iterations
(1 alone is better on the short questions and messages, far worse on newsgroups). The sign of a scale is of no effect.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from nbtext.classifiers.base import LinearClassifier, Training, Unseen
from nbtext.classifiers.class_prior import class_prior
from nbtext.classifiers.logistic_fit import CORRECTIONS, PRECISION, SETTLED, Problem, minimise
from nbtext.counts.subsets import Subsets
from nbtext.counts.weighted_sums import CELLS_AT_ONCE
from nbtext.counts.weighting import weighted
from nbtext.errors import ModelError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.classifiers.logistic_fit import Vector
    from nbtext.counts.document_term import DocumentTermMatrix
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics

    Floats = NDArray[Any]
    Whole = NDArray[np.int64]

STRENGTHS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""What ``auto`` tries for l2, in this order, until held-out documents become less probable."""

STRENGTH = 1.0
"""What ``auto`` is where fewer than `LEAST_HELD_OUT` documents, of classes with others, can be held out: too few to tell."""

LEAST_HELD_OUT = 10

HELD_OUT = 5
"""One document in so many is held out."""

CHEAP = 40_000_000
"""Numbers that an iteration of the fit may touch, at most, for it to go on until probabilities have settled: about 20 ms."""
LARGEST_WEIGHT = 1e30
"""In a model file. No fit comes near: l2 is at least 1e-6, so the weights of 10¹² documents are below 10¹⁴."""


def log_count_ratio(counts: Whole, totals: Whole, n_terms: int, smoothing: float) -> NDArray[np.float64]:
    """r_jk = log((m_jk + α) / Σ_i (m_ik + α)) − the same of all other classes together, shape (n, n_classes).

    ``counts`` are m_jk of some terms, shape (n, n_classes), ``totals`` Σ_i m_ik of all ``n_terms`` terms, shape (n_classes,). Wang, Manning (2012), eq. 1.
    """
    others, totals_of_others = counts.sum(axis=1, keepdims=True) - counts, totals.sum() - totals
    of_class, of_others = np.log(totals + n_terms * smoothing), np.log(totals_of_others + n_terms * smoothing)
    ratio: NDArray[np.float64] = np.log(counts + smoothing) - of_class - np.log(others + smoothing) + of_others
    return ratio


class Outcome(NamedTuple):
    """How the fit went; a model file keeps it."""

    l2: float
    iterations: float
    excess: float
    """Nats a document above the minimum, about."""


@dataclass(frozen=True, eq=False)
class LogisticRegression(LinearClassifier):
    """Weights of the terms that count, times their scales, and biases."""

    NEEDS_DOCUMENTS: ClassVar[bool] = True
    WEIGHTINGS: ClassVar[tuple[str, ...]] = ("counts", "tfidf")
    """tf-idf either way: ``counts`` is the default of the option."""
    TAKES_OWN_PSEUDO_COUNTS: ClassVar[bool] = False

    training: Training
    scaled_weights: Floats
    """w_jk (1 + |r_jk|), float32, shape (n_selected, n_classes)."""
    fitted_bias: Floats
    """b_k, shape (n_classes,)."""
    outcome: Outcome
    held_out: Unseen | None = None
    """What a model of the other documents says of those held out to choose l2; None where none were."""

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Choose l2 if it is to be chosen, then fit to all documents. Raises `UsageError` without smoothing."""
        whole, l2 = _in_order(training), training.parameters["l2"]
        precision = _precision(whole)
        part, held_out = _split(whole.documents)
        classes = whole.documents.classes
        if l2 != "auto" or np.isin(classes[held_out], classes[part]).sum() < LEAST_HELD_OUT:
            return cls._fitted(whole, _problem(whole), STRENGTH if l2 == "auto" else l2, precision)[0]
        chosen, point = cls._chosen(_without(whole, part), whole.documents.rows(held_out), precision)
        problem = _problem(whole)
        coefficients = np.zeros(problem.shape, point.coefficients.dtype)
        coefficients[part] = point.coefficients
        bias = np.where(np.isfinite(point.bias), point.bias, problem.start().bias)  # the only document of a class may have been held out
        model, _ = cls._fitted(whole, problem, chosen.outcome.l2, precision, problem.vector(coefficients, bias))
        return replace(model, held_out=chosen.held_out)

    @classmethod
    def _chosen(cls, training: _Whole, held_out: CountedDocuments, precision: float) -> tuple[Self, Vector]:
        """The model under which held-out documents are most probable, with what it says of them, and where its fit ended."""
        problem = _problem(training)
        # held-out documents have the prior of the documents, whatever prior later ones may have
        as_found = replace(training, parameters={**training.parameters, "class_prior": "empirical"})
        point = None
        least = np.inf
        for l2 in STRENGTHS:
            model, point = cls._fitted(as_found, problem, l2, PRECISION, point)
            loss = _log_loss(_asked(model, held_out))
            if loss < least:
                least, best, end = loss, l2, point
            elif loss > least + PRECISION:
                break
        settled, end = cls._fitted(training, problem, best, precision, end)
        return replace(settled, held_out=_asked(settled, held_out)), end

    @classmethod
    def _fitted(cls, training: Training, problem: Problem, l2: float, precision: float, start: Vector | None = None) -> tuple[Self, Vector]:
        """Return the model of an l2, and where its fit ended."""
        point, iterations, excess = minimise(problem, l2, start or problem.start(), precision)
        weights, bias = problem.scaled_weights(point.coefficients), point.bias.astype(np.float64)
        return cls(training, weights, bias, Outcome(l2, iterations, excess)), point

    def unseen(self, training: Training, sample: CountedDocuments) -> Unseen:
        """The documents held out for the choice of l2; where it was given, as many, scored by a model of the others with the same l2."""
        del sample
        if self.held_out is not None:
            return self.held_out
        whole = _in_order(training)
        part, held_out = _split(whole.documents)
        others = _without(whole, part)
        model, _ = self._fitted(others, _problem(others), self.outcome.l2, _precision(whole))
        return _asked(model, whole.documents.rows(held_out))

    def arrays(self) -> dict[str, Floats]:
        """Weights, biases and how the fit went."""
        return {"weights": self.scaled_weights.ravel(), "bias": self.fitted_bias, "outcome": np.array(self.outcome)}

    @classmethod
    def restored(cls, training: Training, arrays: Mapping[str, Floats]) -> Self:
        """The model that kept these arrays; raises `ModelError` if none could have."""
        n_terms, n_classes = int(np.count_nonzero(training.selected)), training.statistics.n_classes
        sizes = {"weights": n_terms * n_classes, "bias": n_classes, "outcome": len(Outcome._fields)}
        kept = {"weights": np.empty(0, np.float32), **arrays}  # a file leaves empty arrays out
        if {name: array.size for name, array in kept.items()} != sizes or kept["weights"].dtype != np.float32:
            raise ModelError("the model is malformed: its weights do not fit its terms and classes")
        if not all(np.all(np.abs(kept[name]) <= LARGEST_WEIGHT) for name in ("weights", "bias")):
            raise ModelError("the model is malformed: its weights are too large")
        outcome = Outcome(*kept["outcome"].tolist())
        if min(outcome) < 0:
            raise ModelError("the model is malformed: its fit did not go as it says")
        return cls(training, kept["weights"].reshape(n_terms, n_classes), kept["bias"].astype(np.float64), outcome)

    @classmethod
    def smoothing(cls, statistics: ClassStatistics, selected: NDArray[np.bool_], parameters: Mapping[str, Any]) -> float:
        """``auto`` is 1, as Wang and Manning have it."""
        del cls, statistics, selected, parameters
        return 1.0

    def warnings(self) -> list[str]:
        """Whether the fit ended too early."""
        _, iterations, excess = self.outcome
        if excess <= PRECISION:
            return []
        return [
            f"the fit did not converge in {iterations:.0f} iterations, and may be {excess:.2g} nats a document off; a larger --l2 makes it easier"
        ]

    @cached_property
    def bias(self) -> NDArray[np.float64]:
        """b_k, shape (n_classes,), moved by log π_k − log(D_k / D) for a class prior other than the one of the documents."""
        statistics = self.training.statistics
        prior = class_prior(self.training.parameters["class_prior"], statistics)
        with np.errstate(divide="ignore"):
            moved = np.log(prior) - np.log(np.maximum(statistics.class_documents, 1) / max(statistics.n_documents, 1))
        bias: NDArray[np.float64] = self.fitted_bias + moved
        return bias

    def weights(self, terms: Whole) -> NDArray[np.float64]:
        """w_jk (1 + |r_jk|), shape (n, n_classes)."""
        rows: NDArray[np.float64] = self.scaled_weights[self._place[terms]].astype(np.float64)
        return rows

    @cached_property
    def _place(self) -> Whole:
        """The row of each selected term, shape (n_terms,)."""
        return np.cumsum(self.training.selected) - 1

    def known(self) -> NDArray[np.bool_]:
        """The selected terms, shape (n_terms,)."""
        return self.training.selected

    def features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """x_jd, float64."""
        return weighted(matrix, "tfidf", self.training.statistics)


class _Whole(Training):
    """Training with all documents, in an order of their own."""

    documents: CountedDocuments


def _in_order(training: Training) -> _Whole:
    """The documents by class and content, so that nothing depends on the order in which they came. Raises `UsageError` without smoothing."""
    if not training.smoothing:
        raise UsageError("--classifier logistic needs smoothed counts", hint="give a --smoothing above 0, and --estimate mean")
    documents = training.documents
    if documents is None:
        raise ValueError("--classifier logistic needs the documents")
    order = np.lexsort((documents.hashes, documents.classes))
    return _Whole(
        training.statistics, training.selected, training.smoothing, training.parameters, documents.rows(order), choose=training.choose
    )


def _precision(training: _Whole) -> float:
    """Return how near to its minimum the objective must come, in nats a document."""
    features = int(np.count_nonzero(training.selected[training.documents.matrix.terms]))
    touched = (
        2 * features + 5 * CORRECTIONS * len(training.documents)
    ) * training.statistics.n_classes  # G once, five passes over each pair
    return SETTLED if touched <= CHEAP else PRECISION


def _split(documents: CountedDocuments) -> tuple[Whole, Whole]:
    """Documents to fit to and documents held out, by number: within a class they stand in the order of hashes, so every fifth is random."""
    numbers = np.arange(len(documents))
    is_out = numbers % HELD_OUT == HELD_OUT // 2
    return numbers[~is_out], numbers[is_out]


def _without(training: _Whole, part: Whole) -> _Whole:
    """As if there were only these documents."""
    chosen = np.zeros(len(training.documents), np.bool_)
    chosen[part] = True
    statistics = Subsets(training.statistics, training.documents).part(chosen)
    selected = training.selected_in(statistics)
    return _Whole(statistics, selected, training.smoothing, training.parameters, training.documents.rows(part))


def _problem(training: _Whole) -> Problem:
    """Features and scales of the selected terms, in float32: halved memory, and more than the precision asked for."""
    from scipy.sparse import csr_array

    statistics, selected = training.statistics, training.selected
    matrix = weighted(training.documents.matrix.of_terms(selected), "tfidf", statistics)
    columns = (np.cumsum(selected) - 1).astype(np.int32)[matrix.terms]
    shape = matrix.n_documents, int(np.count_nonzero(selected))
    features = csr_array((matrix.counts.astype(np.float32), columns, matrix.offsets), shape=shape)
    return Problem.of(features, _scales(statistics, selected, training.smoothing), training.documents.classes)


def _scales(statistics: ClassStatistics, selected: NDArray[np.bool_], smoothing: float) -> Floats:
    """1 + |r_jk|, shape (n_selected, n_classes)."""
    terms, totals = np.flatnonzero(selected), statistics.tokens_of(selected)
    scales = np.empty((terms.size, statistics.n_classes), np.float32)
    step = max(CELLS_AT_ONCE // statistics.n_classes, 1)
    for begin in range(0, terms.size, step):
        counts = statistics.counts_of(terms[begin : begin + step])
        scales[begin : begin + step] = 1 + np.abs(log_count_ratio(counts, totals, terms.size, smoothing))
    return scales


def _asked(model: LogisticRegression, documents: CountedDocuments) -> Unseen:
    scores, lengths = model.joint_log_likelihood(documents.matrix)
    return Unseen(scores, lengths, documents.matrix.lengths - lengths, documents.classes)


def _log_loss(unseen: Unseen) -> float:
    """Mean −log p(truth | d), in nats, of documents whose class the model knows."""
    of_truth = unseen.scores[np.arange(unseen.classes.size), unseen.classes]
    losses = np.logaddexp.reduce(unseen.scores, axis=1) - of_truth
    return float(losses[of_truth > -np.inf].mean())
