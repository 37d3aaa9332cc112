"""Multinomial logistic regression on tf-idf, each term scaled in each class by how much it tells of that class beforehand.

The scores are s_k(d) = b_k + Σ_j w_jk (1 + |r_jk|) x_jd, and p(C_k | d) = softmax_k s_k. x is log(1 + n) · log(D / df), each document of unit
length; r_jk is the naive Bayes log-count ratio, the logarithm of the share of term j in class k over that in all other classes. Fitted are w
and b, by the minimum of Σ_d −log p(truth | d) + ½·l2·Σ w²: a Gaussian prior of precision l2 on the weights (IIR section 14; Gambosi's
notes on probabilistic classification). A large scale makes a weight cheap, so the fit relies first on the terms that naive Bayes relies on.
Source: S. Wang, C. Manning, Baselines and bigrams (2012), who scale by r and mix the outcome with a fit at equal scales. 1 + |r| combines
both in one fit; over newsgroups, bank questions, tweets and text messages together it did better than |r|, √|r| or 1, in fewer iterations
(1 alone is better on the short questions and messages, far worse on newsgroups). The sign of a scale has no effect.

The fit is by L-BFGS (J. Nocedal, Updating quasi-Newton matrices with limited storage, 1980). Begun at w = 0, L-BFGS only ever adds up
gradients, so every vector it meets is w_jk = s_jk Σ_d x_jd a_dk for some a, shape (n_docs, n_classes), where s is the scale (the representer
theorem: B. Schölkopf et al., 2001). A vector is kept as that a and as G a, what it adds to the scores of the documents, with
G_k = X S_k² Xᵀ. Both inner products, ⟨u, v⟩ = Σ_dk a_dk (G a')_dk, and scores along a line follow from the two. So no vector is as large as
terms × classes, and an iteration costs one application of G, however many points its line search tries. Measured with 4,000 documents,
200,000 terms and 20 classes on one core: 2.0 s and 71 MiB to an excess of 1e-8, where scipy's L-BFGS-B over w takes 27 s and 875 MiB.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from nbtext.classifiers.base import LinearClassifier, Training, Unseen, sorted_by_content, split
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.matrix import TERM_WEIGHTS_AT_ONCE
from nbtext.counts.weighting import weighted
from nbtext.errors import ModelError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.settings import Settings

    Floats = NDArray[Any]
    Whole = NDArray[np.int64]

CORRECTIONS = 5
"""Pairs of a step and its change of the gradient that L-BFGS remembers."""

MOST_ITERATIONS = 300

EXCESS = 1e-4
"""Nats a document by which the objective may be above its minimum: enough to compare strengths, and for a large corpus."""

SETTLED = 1e-8
"""Nats a document by which the objective may be above its minimum once the probabilities have settled.

The objective exceeds its minimum by Σ_d KL(p*_d ‖ p_d) and more, p* being the posterior at the minimum. So by Pinsker's inequality the root
mean square error of a probability, over the training documents, is at most √(`SETTLED` / 2) = 7e-5. The largest error was 4e-4 on text
messages, bank questions, tweets and newsgroups, at strengths from 0.001 to 1. Single precision ends near 1e-10.
"""

MOST_TRIALS = 50
"""Points tried on a line; two are usual."""

DESCENT, CURVATURE = 1e-4, 0.9
"""The two constants of Wolfe's conditions: where a line search may end, in shares of the first slope."""

STRENGTHS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""Values of l2 that ``auto`` tries, in this order, until held-out documents become less probable."""

STRENGTH = 1.0
"""The l2 of ``auto`` if fewer than `LEAST_HELD_OUT` documents, of classes with other documents, can be held out."""

LEAST_HELD_OUT = 10

CHEAP = 40_000_000
"""Numbers that an iteration may touch, at most, for the fit to go on until probabilities have settled: about 20 ms."""

LARGEST_WEIGHT = 1e30
"""In a model file. No fit comes near: l2 is at least 1e-6, so the weights of 10¹² documents are below 10¹⁴."""


def _product(left: Floats, right: Floats) -> float:
    """Return the sum of the products: of each row in its own precision, of the rows in float64. BLAS would depend on the number of threads."""
    return float(np.einsum("...k,...k", left, right).sum(dtype=np.float64))


class Vector(NamedTuple):
    """Weights and biases, or a gradient or step of them; as a tuple, so that sums go over its parts."""

    coefficients: Floats
    """a, shape (n_docs, n_classes)."""
    products: Floats
    """G a, shape (n_docs, n_classes)."""
    bias: Floats
    """Shape (n_classes,)."""

    def plus(self, other: Vector, times: float) -> Vector:
        """Return the sum with a multiple of another."""
        return Vector(*(mine + mine.dtype.type(times) * theirs for mine, theirs in zip(self, other, strict=True)))

    def times(self, factor: float) -> Vector:
        """Return the multiple."""
        return Vector(*(part * part.dtype.type(factor) for part in self))

    def dot(self, other: Vector) -> float:
        """Return ⟨u, v⟩ of weights and biases."""
        return _product(self.coefficients, other.products) + _product(self.bias, other.bias)


@dataclass(frozen=True, eq=False)
class Problem:
    """Features, scales and classes of the documents that are fitted to."""

    features: Any
    """X: x_jd as a `scipy.sparse` matrix by rows, shape (n_docs, n_terms)."""
    transposed: Any
    """Xᵀ by rows."""
    squares: Floats
    """s_jk², shape (n_terms, n_classes)."""
    truth: NDArray[np.int64]
    """Class of each document, shape (n_docs,)."""
    weights: Floats | None = None
    """By which the loss of each document is multiplied, shape (n_docs,), of the type of the features; None if all are 1."""

    @classmethod
    def of(cls, features: Any, scale: Floats, truth: NDArray[np.int64], weights: Floats | None = None) -> Self:  # noqa: ANN401 - scipy has no types
        """Return the problem of features and the scale s of each term in each class, shape (n_terms, n_classes), all of one floating type."""
        return cls(features, features.T.tocsr(), scale**2, truth, None if weights is None else weights.astype(scale.dtype))

    @property
    def size(self) -> float:
        """Σ_d of the weights, the number of documents."""
        return float(self.truth.size if self.weights is None else self.weights.sum(dtype=np.float64))

    @property
    def shape(self) -> tuple[int, int]:
        """(n_docs, n_classes)."""
        return self.truth.size, self.squares.shape[1]

    def applied(self, coefficients: Floats) -> Floats:
        """Return G a, shape (n_docs, n_classes)."""
        products: Floats = self.features @ self.scaled_weights(coefficients)
        return products

    def scaled_weights(self, coefficients: Floats) -> Floats:
        """Return w_jk s_jk of a, shape (n_terms, n_classes), to be multiplied with the features of a document."""
        weights: Floats = self.transposed @ coefficients
        weights *= self.squares
        return weights

    def start(self) -> Vector:
        """Return weights of 0, and log(D_k / D) as biases: −inf for a class without documents, which stays so."""
        zeros = np.zeros(self.shape, self.squares.dtype)
        with np.errstate(divide="ignore"):
            bias = np.log(np.bincount(self.truth, self.weights, zeros.shape[1]) / (self.size or 1.0))
        return Vector(zeros, zeros, bias.astype(zeros.dtype))

    def vector(self, coefficients: Floats, bias: Floats) -> Vector:
        """Return the vector of a and biases."""
        return Vector(coefficients, self.applied(coefficients), bias)

    def residual(self, point: Vector) -> Floats:
        """Return p(C_k | d) − [k is the truth], times the weight of the document, shape (n_docs, n_classes)."""
        posterior: Floats = point.products + point.bias
        posterior -= posterior.max(axis=1, keepdims=True)
        np.exp(posterior, out=posterior)
        posterior /= posterior.sum(axis=1, keepdims=True)
        posterior[np.arange(self.truth.size), self.truth] -= 1
        if self.weights is not None:
            posterior *= self.weights[:, np.newaxis]
        return posterior

    def gradient(self, residual: Floats, point: Vector, l2: float) -> Vector:
        """Return the gradient of the objective: Xᵀ(p − y) scaled, + l2·w; and Σ_d (p − y)_d for the biases, which have no penalty."""
        return Vector(residual, self.applied(residual), residual.sum(axis=0)).plus(point._replace(bias=np.zeros_like(point.bias)), l2)


class _Pair(NamedTuple):
    """An iteration that L-BFGS remembers."""

    step: Vector
    change: Vector
    """Of the gradient."""
    curvature: float
    """⟨step, change⟩."""


class Minimum(NamedTuple):
    """The point where L-BFGS ended."""

    point: Vector
    iterations: int
    excess: float
    """Nats a document that the objective is above its minimum, about."""


def minimise(problem: Problem, l2: float, start: Vector, precision: float = EXCESS, most_iterations: int = MOST_ITERATIONS) -> Minimum:
    """Return a point at most ``precision`` nats a document above the minimum, or the best within ``most_iterations``.

    The excess does not fall in every iteration, and where single precision ends it rises again.
    """
    point, residual = start, problem.residual(start)
    gradient = problem.gradient(residual, point, l2)
    pairs: list[_Pair] = []
    best = Minimum(point, 0, _excess(problem, gradient, residual, l2))
    for iteration in range(1, most_iterations + 1):
        if best.excess <= precision:
            break
        step = _direction(gradient, pairs)
        found = _searched(problem, point, step, l2, gradient.dot(step))
        if found is None:  # the slope is lost in rounding
            break
        length, residual = found
        step = step.times(length)
        point = point.plus(step, 1)
        before, gradient = gradient, problem.gradient(residual, point, l2)
        excess = _excess(problem, gradient, residual, l2)
        if excess < best.excess:
            best = Minimum(point, iteration, excess)
        change = gradient.plus(before, -1)
        curvature = step.dot(change)
        if curvature <= 0:  # lost in rounding too: the objective is convex
            break
        pairs = [*pairs, _Pair(step, change, curvature)][-CORRECTIONS:]
    return best


def _excess(problem: Problem, gradient: Vector, residual: Floats, l2: float) -> float:
    """Return (‖g_w‖² / l2 + Σ_k g_bk² / Σ_d p_dk (1 − p_dk)) / 2, by document; the sum over documents is weighted.

    With the best biases for each w the objective is l2-strongly convex in w, hence at most ‖g_w‖² / (2·l2) above its minimum. The gain of
    better biases is estimated by a Newton step of each alone, so the sum is no strict bound.
    """
    of_biases = gradient.bias.astype(np.float64) ** 2
    size = np.abs(residual)
    whole = 1 if problem.weights is None else problem.weights[:, np.newaxis]
    curvature = (size * (1 - size / whole)).sum(axis=0, dtype=np.float64)
    gain = np.divide(of_biases, curvature, out=np.zeros_like(of_biases), where=curvature > 0).sum()
    of_weights = max(_product(gradient.coefficients, gradient.products), 0.0)
    return float(of_weights / l2 + gain) / (2 * (problem.size or 1.0))


def _direction(gradient: Vector, pairs: list[_Pair]) -> Vector:
    """Return minus the inverse Hessian, as the pairs estimate it, times the gradient: Nocedal's two loops."""
    direction = gradient.times(-1)
    shares = []
    for step, change, curvature in reversed(pairs):
        shares.append(step.dot(direction) / curvature)
        direction = direction.plus(change, -shares[-1])
    if pairs:
        _, change, curvature = pairs[-1]
        direction = direction.times(curvature / change.dot(change))
    else:
        direction = direction.times(1 / np.sqrt(gradient.dot(gradient)))
    for (step, change, curvature), share in zip(pairs, reversed(shares), strict=True):
        direction = direction.plus(step, share - change.dot(direction) / curvature)
    return direction


def _searched(problem: Problem, point: Vector, step: Vector, l2: float, slope: float) -> tuple[float, Floats] | None:
    """Return a step length and the residual there; None if no point is found, or in single precision the step does not descend.

    On a convex line a slope t·f'(t) ≤ `DESCENT`·t·f'(0) implies Wolfe's first condition, and f'(t) ≥ `CURVATURE`·f'(0) is the second. So slopes
    are enough, and differences of the objective, which are lost in rounding near the minimum, are not needed.
    """
    if not slope < 0:
        return None
    of_point, of_step = (_product(vector.coefficients, step.products) for vector in (point, step))
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(MOST_TRIALS):
        residual = problem.residual(point.plus(step, length))
        here = _product(residual, step.products) + _product(residual.sum(axis=0), step.bias) + l2 * (of_point + length * of_step)
        if here > DESCENT * slope:
            high = length
        elif here < CURVATURE * slope:
            low = length
        else:
            return length, residual
        length = 2 * low if high == np.inf else (low + high) / 2
    return None


def log_count_ratio(counts: Whole, totals: Whole, n_terms: int, smoothing: float) -> NDArray[np.float64]:
    """Return r_jk = log((m_jk + α) / Σ_i (m_ik + α)) − the same of all other classes together, shape (n, n_classes).

    ``counts`` are m_jk of n terms, shape (n, n_classes), ``totals`` Σ_i m_ik of all ``n_terms`` terms, shape (n_classes,). Wang, Manning (2012), eq. 1.
    """
    others, totals_of_others = counts.sum(axis=1, keepdims=True) - counts, totals.sum() - totals
    of_class, of_others = np.log(totals + n_terms * smoothing), np.log(totals_of_others + n_terms * smoothing)
    ratio: NDArray[np.float64] = np.log(counts + smoothing) - of_class - np.log(others + smoothing) + of_others
    return ratio


class FitReport(NamedTuple):
    """The outcome of the fit, which the model file keeps."""

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
    PSEUDO_COUNT: ClassVar[float] = 1.0
    TAKES_OWN_PSEUDO_COUNTS: ClassVar[bool] = False

    scaled_weights: Floats
    """w_jk (1 + |r_jk|), float32, shape (n_selected, n_classes)."""
    fitted_bias: Floats
    """b_k, shape (n_classes,)."""
    outcome: FitReport
    held_out: Unseen | None = None
    """The documents held out to choose l2, scored by a model of the others; None if none were."""

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Choose l2 if it is to be chosen, then fit to all documents. Raises `UsageError` without smoothing."""
        whole, l2 = _in_order(training), training.settings.l2
        precision = _precision(whole)
        part, held_out = split(whole.documents)
        classes = whole.documents.classes
        if isinstance(l2, str) and np.isin(classes[held_out], classes[part]).sum() < LEAST_HELD_OUT:
            l2 = STRENGTH
        if not isinstance(l2, str):
            return cls._fitted(whole, _problem(whole), l2, precision)[0]
        chosen, point = cls._chosen(_without(whole, part), whole.documents.rows(held_out), precision)
        problem = _problem(whole)
        coefficients = np.zeros(problem.shape, point.coefficients.dtype)
        coefficients[part] = point.coefficients
        bias = np.where(np.isfinite(point.bias), point.bias, problem.start().bias)  # the only document of a class may have been held out
        model, _ = cls._fitted(whole, problem, chosen.outcome.l2, precision, problem.vector(coefficients, bias))
        return replace(model, held_out=chosen.held_out)

    @classmethod
    def _chosen(cls, training: _Whole, held_out: CountedDocuments, precision: float) -> tuple[Self, Vector]:
        """Return the model that makes held-out documents most probable, with their scores, and the point where its fit ended."""
        problem = _problem(training)
        # held-out documents have the prior of the documents, whatever prior later ones may have
        as_found = replace(training, settings=replace(training.settings, class_prior="empirical"))
        point = None
        least = np.inf
        for l2 in STRENGTHS:
            model, point = cls._fitted(as_found, problem, l2, EXCESS, point)
            loss = _log_loss(_scored(model, held_out))
            if loss < least:
                least, best, end = loss, l2, point
            elif loss > least + EXCESS:
                break
        settled, end = cls._fitted(training, problem, best, precision, end)
        return replace(settled, held_out=_scored(settled, held_out)), end

    @classmethod
    def _fitted(cls, training: Training, problem: Problem, l2: float, precision: float, start: Vector | None = None) -> tuple[Self, Vector]:
        """Return the model of an l2, and the point where its fit ended."""
        point, iterations, excess = minimise(problem, l2, start or problem.start(), precision)
        weights, bias = problem.scaled_weights(point.coefficients), point.bias.astype(np.float64)
        return cls(training, weights, bias, FitReport(l2, iterations, excess)), point

    def unseen(self, training: Training, sample: CountedDocuments) -> Unseen:
        """Score the documents held out to choose l2; if l2 was given, as many, by a model of the others with the same l2."""
        del sample
        if self.held_out is not None:
            return self.held_out
        whole = _in_order(training)
        part, held_out = split(whole.documents)
        others = _without(whole, part)
        model, _ = self._fitted(others, _problem(others), self.outcome.l2, _precision(whole))
        return _scored(model, whole.documents.rows(held_out))

    def left_out(
        self, training: Training, left_out: CountedDocuments, statistics: ClassStatistics, rest: CountedDocuments | None
    ) -> Unseen:
        """Return the documents held out to choose l2, if these are meant; else as every classifier."""
        documents = training.documents
        if documents is not None and self.held_out is not None and np.array_equal(documents.hashes[split(documents)[1]], left_out.hashes):
            return self.held_out
        return super().left_out(training, left_out, statistics, rest)

    def arrays(self) -> dict[str, Floats]:
        """Return weights, biases and the outcome of the fit."""
        return {"weights": self.scaled_weights.ravel(), "bias": self.fitted_bias, "outcome": np.array(self.outcome)}

    @classmethod
    def restored(cls, training: Training, arrays: Mapping[str, Floats]) -> Self:
        """Return the model that had these `arrays`; raise `ModelError` if no model can have had them."""
        n_terms, n_classes = int(np.count_nonzero(training.selected)), training.statistics.n_classes
        sizes = {"weights": n_terms * n_classes, "bias": n_classes, "outcome": len(FitReport._fields)}
        kept = {"weights": np.empty(0, np.float32), **arrays}  # a file leaves empty arrays out
        if {name: array.size for name, array in kept.items()} != sizes or kept["weights"].dtype != np.float32:
            raise ModelError("the model is malformed: its weights do not fit its terms and classes")
        if not all(np.all(np.abs(kept[name]) <= LARGEST_WEIGHT) for name in ("weights", "bias")):
            raise ModelError("the model is malformed: its weights are too large")
        outcome = FitReport(*kept["outcome"].tolist())
        if min(outcome) < 0:
            raise ModelError("the model is malformed: its fit did not go as it says")
        return cls(training, kept["weights"].reshape(n_terms, n_classes), kept["bias"].astype(np.float64), outcome)

    @classmethod
    def takes_weights(cls, settings: Settings) -> bool:
        """Return True: the loss of each document is multiplied by its weight."""
        del cls, settings
        return True

    @classmethod
    def histogram(cls, counts: ClassStatistics, selected: NDArray[np.bool_], settings: Settings) -> None:
        """Return None: the smoothing is 1, as in Wang and Manning (2012)."""

    def warnings(self) -> list[str]:
        """Return a warning if the fit ended too early."""
        _, iterations, excess = self.outcome
        if excess <= EXCESS:
            return []
        return [
            f"the fit did not converge in {iterations:.0f} iterations, and may be {excess:.2g} nats a document off; a larger --l2 makes it easier"
        ]

    @cached_property
    def bias(self) -> NDArray[np.float64]:
        """b_k, shape (n_classes,), moved by log π_k − log(D_k / D) for a class prior other than the one of the documents."""
        statistics = self.training.statistics
        documents = statistics.class_documents
        shares = np.where(documents > 0, documents, 1) / (statistics.n_documents or 1)
        bias: NDArray[np.float64] = self.fitted_bias + (self.log_prior - np.log(shares))
        return bias

    def weights(self, terms: Whole) -> NDArray[np.float64]:
        """Return w_jk (1 + |r_jk|), shape (n, n_classes)."""
        rows: NDArray[np.float64] = self.scaled_weights[self._place[terms]].astype(np.float64)
        return rows

    @cached_property
    def _place(self) -> Whole:
        """The row of each selected term, shape (n_terms,)."""
        return np.cumsum(self.training.selected) - 1

    def adds_occurrences(self) -> bool:
        """Return False: each document is scaled to unit length."""
        return False

    def features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return x_jd, float64."""
        return weighted(matrix, "tfidf", self.training.statistics)


class _Whole(Training):
    """Training with all documents, in an order that does not depend on how they came."""

    documents: CountedDocuments


def _in_order(training: Training) -> _Whole:
    """Sort the documents by class and content; raise `UsageError` without smoothing."""
    if not training.smoothing:
        raise UsageError("--classifier logistic needs smoothed counts", hint="give a --smoothing above 0, and --estimate mean")
    documents = training.documents
    if documents is None:
        raise ValueError("--classifier logistic needs the documents")
    return _Whole(
        training.statistics, training.selected, training.smoothing, training.settings, sorted_by_content(documents), choose=training.choose
    )


def _precision(training: _Whole) -> float:
    """Return how near to its minimum the objective must come, in nats a document."""
    features = int(np.count_nonzero(training.selected[training.documents.matrix.terms]))
    a_class = 2 * features + 5 * CORRECTIONS * len(training.documents)  # G once, five passes over each pair
    touched = a_class * training.statistics.n_classes
    return SETTLED if touched <= CHEAP else EXCESS


def _without(training: _Whole, part: Whole) -> _Whole:
    """Return the training with these documents only, by number."""
    chosen = np.zeros(len(training.documents), np.bool_)
    chosen[part] = True
    statistics = Subsets(training.statistics, training.documents).part(chosen).natural
    selected = training.selected_in(statistics)
    return _Whole(statistics, selected, training.smoothing, training.settings, training.documents.rows(part))


def _problem(training: _Whole) -> Problem:
    """Return features and scales of the selected terms, in float32: half the memory, and more precise than `SETTLED`."""
    from scipy.sparse import csr_array

    statistics, selected = training.statistics, training.selected
    matrix = weighted(training.documents.matrix.of_terms(selected), "tfidf", statistics)
    columns = (np.cumsum(selected) - 1).astype(np.int32)[matrix.terms]
    shape = matrix.n_documents, int(np.count_nonzero(selected))
    features = csr_array((matrix.counts.astype(np.float32), columns, matrix.offsets), shape=shape)
    weights = None if statistics.weight_unit == 1 else training.documents.natural_weights(statistics.weight_unit)
    return Problem.of(features, _scales(statistics, selected, training.smoothing), training.documents.classes, weights)


def _scales(statistics: ClassStatistics, selected: NDArray[np.bool_], smoothing: float) -> Floats:
    """Return 1 + |r_jk|, shape (n_selected, n_classes), float32."""
    terms, totals = np.flatnonzero(selected), statistics.tokens_of(selected)
    scales = np.empty((terms.size, statistics.n_classes), np.float32)
    step = max(TERM_WEIGHTS_AT_ONCE // statistics.n_classes, 1)
    for begin in range(0, terms.size, step):
        counts = statistics.counts_of(terms[begin : begin + step])
        scales[begin : begin + step] = 1 + np.abs(log_count_ratio(counts, totals, terms.size, smoothing))
    return scales


def _scored(model: LogisticRegression, documents: CountedDocuments) -> Unseen:
    scores, lengths = model.joint_log_likelihood(documents.matrix)
    weights = documents.natural_weights(model.training.statistics.weight_unit)
    return Unseen(scores, lengths, documents.matrix.lengths - lengths, documents.classes, weights)


def _log_loss(unseen: Unseen) -> float:
    """Return the weighted mean of −log p(truth | d), in nats, over documents whose class the model knows."""
    of_truth = unseen.scores[np.arange(unseen.classes.size), unseen.classes]
    losses = np.logaddexp.reduce(unseen.scores, axis=1) - of_truth
    known = of_truth > -np.inf
    return float((losses[known] * unseen.weights[known]).mean() / unseen.weights[known].mean())
