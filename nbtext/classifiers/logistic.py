"""Multinomial logistic regression on tf-idf, each term scaled in each class by how much it tells of that class beforehand.

The scores are s_k(d) = b_k + Σ_j w_jk (1 + |r_jk|) x_jd, and p(C_k | d) = softmax_k s_k. x is log(1 + n) · log(D / df), each document of unit
length; r_jk is the naive Bayes log-count ratio, the logarithm of the share of term j in class k over that in all other classes. Fitted are w
and b, by the minimum of Σ_d −log p(truth | d) + ½·l2·Σ w²: a Gaussian prior of precision l2 on the weights (IIR section 14; Gambosi's
notes on probabilistic classification). A large scale makes a weight cheap, so the fit relies first on the terms that naive Bayes relies on.
Source: S. Wang, C. Manning, Baselines and bigrams (2012), who scale by r and mix the outcome with a fit at equal scales. 1 + |r| combines
both in one fit; over newsgroups, bank questions, tweets and text messages together it did better than |r|, √|r| or 1, in fewer iterations
(1 alone is better on the short questions and messages, far worse on newsgroups). The sign of a scale has no effect.

Columns beside the text are features with the scale 1, and have the same penalty: each category is 1 in the documents that have it, each number is in
standard deviations from its mean over the documents of the fit. So a missing category is 0, and a missing number is the mean.

Where documents may have several labels, p(label k | d) = σ(s_k), fitted for all labels at once with one penalty. The scales are 1: on Reuters the loss of
left-out documents is 0.95 nats with those of naive Bayes and 0.89 without.

The fit is by L-BFGS (J. Nocedal, Updating quasi-Newton matrices with limited storage, 1980). Begun at w = 0, L-BFGS only ever adds up
gradients, so every vector it meets is w_jk = s_jk Σ_d x_jd a_dk for some a, shape (n_docs, n_classes), where s is the scale (the representer
theorem: B. Schölkopf et al., 2001). A vector is kept as that a and as G a, what it adds to the scores of the documents, with
G_k = X S_k² Xᵀ. Both inner products, ⟨u, v⟩ = Σ_dk a_dk (G a')_dk, and scores along a line follow from the two. So no vector is as large as
terms × classes, and an iteration costs one application of G, however many points its line search tries. Measured with 4,000 documents,
200,000 terms and 20 classes on one core: 2.0 s and 71 MiB to an excess of 1e-8, where scipy's L-BFGS-B over w takes 27 s and 875 MiB.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from nbtext.classifiers.base import (
    LABEL_PRIOR_PSEUDO_DOCUMENTS,
    LinearClassifier,
    Training,
    collect_fit_warnings,
    compute_class_prior,
    compute_log_prior_odds,
    get_classifier_parameters,
    get_default_smoothing,
    iter_attribute_scores,
)
from nbtext.classifiers.held_out import (
    score_held_out_documents,
    score_held_out_sample,
    score_with_refit,
    split_held_out,
)
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.matrix import DocumentTermMatrix, iter_blocks
from nbtext.counts.statistics import estimate_statistics
from nbtext.counts.vocabulary import make_category_term
from nbtext.counts.weighting import tfidf
from nbtext.errors import UsageError, format_quantity, require_valid_model
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import log
from nbtext.prediction.calibration import HeldOutScores, compute_calibrated_log_loss
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior, Posterior, look_up_kind
from nbtext.progress import track_progress
from nbtext.ragged import compute_offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbtext.classifiers.inspection import ClassifierParameters
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.prediction.labels import DocumentLabels
    from nbtext.type_names import (
        AnyArray,
        AnyInts,
        Arrays,
        Floats,
        Ints,
        Mask,
        Numbers,
        ScoresAndTokens,
    )

    Reals = AnyArray  # of the precision of the features

CORRECTIONS = 5
"""Pairs of a step and its change of the gradient that L-BFGS remembers."""

NUMBERS_PER_DOCUMENT_AND_CLASS = 2 * (2 * CORRECTIONS + 5)
"""Numbers for each document and class that are in memory at once: each vector has two, and there are five vectors besides the pairs."""

MOST_ITERATIONS = 300

MAX_SEARCH_EXCESS_NATS = 1e-4
"""Nats a document by which the objective may be above its minimum: enough to compare strengths."""

CONVERGED = 1e-6
"""The same for the model of a large corpus. At `MAX_SEARCH_EXCESS_NATS` the answers to 8 of 7,532 newsgroups documents are others than here."""

MAX_SETTLED_EXCESS_NATS = 1e-8
"""Nats a document by which the objective may be above its minimum once the probabilities have settled.

The objective exceeds its minimum by Σ_d KL(p*_d ‖ p_d) and more, p* being the posterior at the minimum. So by Pinsker's inequality the root
mean square error of a probability, over the training documents, is at most √(`MAX_SETTLED_EXCESS_NATS` / 2) = 7e-5. The largest error was 4e-4 on text
messages, bank questions, tweets and newsgroups, at strengths from 0.001 to 1. Single precision ends near 1e-10.
"""

MOST_TRIALS = 50
"""Points tried on a line; two are usual."""

DESCENT = 1e-4
CURVATURE = 0.9
"""The two constants of Wolfe's conditions: where a line search may end, in shares of the first slope."""

FIRST_L2 = 1.0
"""The l2 that ``auto`` tries first, and takes if fewer than `LEAST_HELD_OUT` documents, of classes with other documents, can be held out."""

WEAKER_L2 = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
STRONGER_L2 = (3.0, 10.0, 30.0, 100.0)
"""Values that it tries then, in this order: weaker ones, and if the first of them is no better, stronger ones."""

LEAST_HELD_OUT = 10

SCALES_AT_ONCE = 1 << 17
"""Scales, terms times classes, that are computed in float64 at once."""

WEIGHTS_AT_ONCE = 1 << 20
"""Weights of terms in memory at once while they are applied: 4 MiB of float32."""

DOCUMENTS_AT_ONCE = 1 << 10
"""Documents whose features are made in float64 at once."""

DOCUMENTS_SCORED_AT_ONCE = 1 << 8
"""Documents whose terms' weights are in float64 at once."""

MAX_CHEAP_ITERATION_NUMBERS = 20_000_000
"""Numbers that an iteration may touch, at most, for the fit to go on until probabilities have settled: about 10 ms."""

LARGEST_WEIGHT = 1e30
"""In a model file. No fit comes near: l2 is at least 1e-6, so the weights of 10¹² documents are below 10¹⁴."""


def _product(left: Reals, right: Reals) -> float:
    """Return the sum of the products: of each row in its own precision, of the rows in float64. BLAS would depend on the number of threads."""
    return float(np.einsum("...k,...k", left, right).sum(dtype=np.float64))


class _Vector(NamedTuple):
    """Weights and biases, or a gradient or step of them; as a tuple, so that sums go over its parts."""

    coefficients: Reals
    """a, shape (n_docs, n_classes)."""
    products: Reals
    """G a, shape (n_docs, n_classes)."""
    bias: Reals
    """Shape (n_classes,)."""

    def plus(self, other: _Vector, times: float) -> _Vector:
        """Return the sum with a multiple of another."""
        return _Vector(
            *(
                mine + mine.dtype.type(times) * theirs
                for mine, theirs in zip(self, other, strict=True)
            )
        )

    def times(self, factor: float) -> _Vector:
        """Return the multiple."""
        return _Vector(*(part * part.dtype.type(factor) for part in self))

    def dot(self, other: _Vector) -> float:
        """Return ⟨u, v⟩ of weights and biases."""
        return _product(self.coefficients, other.products) + _product(self.bias, other.bias)


@dataclass(frozen=True, eq=False)
class Softmax:
    """The truth of documents that have one class each."""

    classes: AnyInts
    """Shape (n_docs,)."""

    @classmethod
    def of(cls, labels: DocumentLabels, n_classes: int) -> Softmax:
        """Return the truth of documents."""
        del n_classes
        return cls(labels.indices)

    def __len__(self) -> int:
        return len(self.classes)

    def biases(self, weights: Reals | None, size: float, n_classes: int) -> Floats:
        """Return log(D_k / D), shape (n_classes,), of documents with ``weights`` whose sum is ``size``."""
        return log(np.bincount(self.classes, weights, n_classes) / size)

    def residual(self, linear: Reals) -> Reals:
        """Return p(C_k | d) − [k is the true class] from the scores of classes, in their place, shape (n_docs, n_classes)."""
        linear -= linear.max(axis=1, keepdims=True)
        np.exp(linear, out=linear)
        linear /= linear.sum(axis=1, keepdims=True)
        linear[np.arange(self.classes.size), self.classes] -= 1
        return linear


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """The truth of documents that may have several labels."""

    is_true: Mask
    """Shape (n_docs, n_labels)."""

    @classmethod
    def of(cls, labels: DocumentLabels, n_classes: int) -> Sigmoid:
        """Return the truth of documents."""
        return cls(labels.to_mask(n_classes))

    def __len__(self) -> int:
        return len(self.is_true)

    def biases(self, weights: Reals | None, size: float, n_classes: int) -> Floats:
        """Return log D_k / (D − D_k), shape (n_labels,)."""
        del n_classes
        holding = (np.ones(len(self)) if weights is None else weights) @ self.is_true
        return log(holding / np.maximum(size - holding, LABEL_PRIOR_PSEUDO_DOCUMENTS))

    def residual(self, linear: Reals) -> Reals:
        """Return p(label k | d) − [the document has label k] from log odds, in their place."""
        from scipy.special import expit

        posterior: Reals = expit(linear, out=linear)
        posterior -= self.is_true
        return posterior


TRUTHS: dict[type[Posterior], type[Softmax | Sigmoid]] = {
    ClassPosterior: Softmax,
    LabelPosterior: Sigmoid,
}
"""By the kind of labels."""


@dataclass(frozen=True, eq=False)
class LogisticProblem:
    """Features, scales and classes of the documents that are fitted to.

    Most n-grams stand in one document alone. What such terms add to G a is a multiple of that document's row of a, so the fit needs only the sum
    of their multiples, which is exact; their weights are made when they are asked for.
    """

    transposed: tuple[Any, ...]
    """Xᵀ of the terms that documents share, in blocks of at most `WEIGHTS_AT_ONCE`: x_jd as `scipy.sparse` arrays by rows, shape (n, n_docs).

    X by columns is the same arrays, and both products go through the weights of a block in order: half the memory and time of X by rows.
    """
    squares: tuple[Reals, ...]
    """s_jk² of the terms of each block, shape (n, n_classes)."""
    own: Reals
    """Σ_j x_jd² s_jk² over the terms j of this document alone, shape (n_docs, n_classes)."""
    truth: Softmax | Sigmoid
    is_shared: Mask
    """Which terms documents share, not one document alone has, shape (n_terms,)."""
    place: Ints
    """The number of each term among its kind, shape (n_terms,)."""
    values: Reals
    """x of the terms of one document, shape (n_alone,)."""
    documents: Ints
    """These documents, shape (n_alone,)."""
    scales: Callable[[Ints], Reals]
    """Returns s_jk of some terms, by number, shape (n, n_classes)."""
    weights: Reals | None = None
    """By which the loss of each document is multiplied, shape (n_docs,), of the type of the features; None if all are 1."""

    @classmethod
    def from_features(
        cls,
        features: Any,  # noqa: ANN401 - scipy has no types
        scales: Callable[[Ints], Reals],
        n_classes: int,
        truth: Softmax | Sigmoid,
        weights: Floats | None = None,
    ) -> Self:
        """Return the problem of features by rows, and of the function that returns the scale s of some terms in each class, shape (n, n_classes).

        Both are of one floating type.
        """
        from scipy.sparse import csr_array

        columns = features.tocsc()
        del features  # the caller has no other use for it, and it is large
        holding = np.diff(columns.indptr)
        is_shared = holding != 1
        shared = np.flatnonzero(is_shared)
        alone = np.flatnonzero(~is_shared)
        shared = shared[
            np.argsort(-holding[shared], kind="stable")
        ]  # weights of frequent terms lie together, in the processor's cache
        place = np.empty(holding.size, np.int32)
        place[shared], place[alone] = np.arange(shared.size), np.arange(alone.size)
        at = columns.indptr[alone]
        values = columns.data[at]
        documents = columns.indices[at]
        blocks = list(iter_blocks(shared, n_classes, WEIGHTS_AT_ONCE))
        transposed = tuple(columns[:, some].T for some in blocks)
        del columns
        _release_memory()
        squares = tuple(
            np.concatenate(
                [scales(few) ** 2 for few in iter_blocks(some, n_classes, SCALES_AT_ONCE)]
            )
            for some in blocks
        )
        own = np.zeros((len(truth), n_classes), values.dtype)
        for some in iter_blocks(np.arange(alone.size), n_classes, SCALES_AT_ONCE):
            entries = values[some] ** 2, (documents[some], np.arange(some.size))
            own += csr_array(entries, shape=(len(truth), some.size)) @ scales(alone[some]) ** 2
        weights = None if weights is None else weights.astype(own.dtype)
        return cls(
            transposed, squares, own, truth, is_shared, place, values, documents, scales, weights
        )

    @property
    def size(self) -> float:
        """Σ_d of the weights, the number of documents."""
        return float(
            len(self.truth) if self.weights is None else self.weights.sum(dtype=np.float64)
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(n_docs, n_classes)."""
        return self.own.shape[0], self.own.shape[1]

    def apply_gram(self, coefficients: Reals) -> Reals:
        """Return G a, shape (n_docs, n_classes)."""
        products: Reals = np.zeros_like(coefficients)
        for transposed, weights in zip(self.transposed, self._weights(coefficients), strict=True):
            products += transposed.T @ weights
        products += self.own * coefficients
        return products

    def _weights(self, coefficients: Reals) -> Iterator[Reals]:
        """Yield w_jk s_jk of a for the terms of each block."""
        for transposed, squares in zip(self.transposed, self.squares, strict=True):
            weights = transposed @ coefficients
            weights *= squares
            yield weights

    def scaled_weights(self, coefficients: Reals, numbers: Ints | None = None) -> Reals:
        """Return w_jk s_jk of a for some terms, or all, shape (n, n_classes), to be multiplied with the features of a document."""
        numbers = np.arange(self.place.size) if numbers is None else numbers
        weights = np.empty((numbers.size, self.shape[1]), coefficients.dtype)
        is_shared = self.is_shared[numbers]
        places = self.place[numbers]
        begin = 0
        for of_block in self._weights(coefficients):
            here = is_shared & (places >= begin) & (places < begin + len(of_block))
            weights[here] = of_block[places[here] - begin]
            begin += len(of_block)
        for some in iter_blocks(np.flatnonzero(~is_shared), self.shape[1], SCALES_AT_ONCE):
            alone = places[some]
            weights[some] = (
                self.scales(numbers[some]) ** 2
                * self.values[alone, np.newaxis]
                * coefficients[self.documents[alone]]
            )
        return weights

    def start(self) -> _Vector:
        """Return weights of 0, and log(D_k / D) as biases, or the log odds of labels: −inf for a class without documents, which stays so."""
        zeros = np.zeros(self.shape, self.own.dtype)
        bias = self.truth.biases(self.weights, self.size or 1.0, zeros.shape[1])
        return _Vector(zeros, zeros, bias.astype(zeros.dtype))

    def vector(self, coefficients: Reals, bias: Reals) -> _Vector:
        """Return the vector of a and biases."""
        return _Vector(coefficients, self.apply_gram(coefficients), bias)

    def residual(self, point: _Vector) -> Reals:
        """Return p(C_k | d) − [k is the truth, or one of the labels], times the weight of the document, shape (n_docs, n_classes)."""
        posterior: Reals = point.products + point.bias
        posterior = self.truth.residual(posterior)
        if self.weights is not None:
            posterior *= self.weights[:, np.newaxis]
        return posterior

    def gradient(self, residual: Reals, point: _Vector, l2: float) -> _Vector:
        """Return the gradient of the objective: Xᵀ(p − y) scaled, + l2·w; and Σ_d (p − y)_d for the biases, which have no penalty."""
        return _Vector(residual, self.apply_gram(residual), residual.sum(axis=0)).plus(
            point._replace(bias=np.zeros_like(point.bias)), l2
        )


class _Pair(NamedTuple):
    """An iteration that L-BFGS remembers."""

    step: _Vector
    change: _Vector
    """Of the gradient."""
    curvature: float
    """⟨step, change⟩."""


class Minimum(NamedTuple):
    """The point where L-BFGS ended."""

    point: _Vector
    iterations: int
    excess: float
    """Nats a document that the objective is above its minimum, about."""


def minimise(
    problem: LogisticProblem,
    l2: float,
    start: _Vector,
    precision: float = MAX_SEARCH_EXCESS_NATS,
    max_iterations: int = MOST_ITERATIONS,
) -> Minimum:
    """Return a point at most ``precision`` nats a document above the minimum, or the best within ``most_iterations``.

    The excess does not fall in every iteration, and where single precision ends it rises again.
    """
    point = start
    residual = problem.residual(start)
    gradient = problem.gradient(residual, point, l2)
    pairs: list[_Pair] = []
    best = Minimum(point, 0, _excess(problem, gradient, residual, l2))
    for iteration in track_progress(range(1, max_iterations + 1), "iteration"):
        if best.excess <= precision:
            break
        step = _direction(gradient, pairs)
        found = _searched(problem, point, step, l2, gradient.dot(step))
        if found is None:  # the slope is lost in rounding
            break
        length, residual = found
        step = step.times(length)
        point = point.plus(step, 1)
        before = gradient
        gradient = problem.gradient(residual, point, l2)
        excess = _excess(problem, gradient, residual, l2)
        if excess < best.excess:
            best = Minimum(point, iteration, excess)
        change = gradient.plus(before, -1)
        curvature = step.dot(change)
        if curvature <= 0:  # lost in rounding too: the objective is convex
            break
        pairs = [*pairs, _Pair(step, change, curvature)][-CORRECTIONS:]
    return best


def _excess(problem: LogisticProblem, gradient: _Vector, residual: Reals, l2: float) -> float:
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


def _direction(gradient: _Vector, pairs: list[_Pair]) -> _Vector:
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


def _searched(
    problem: LogisticProblem, point: _Vector, step: _Vector, l2: float, slope: float
) -> tuple[float, Reals] | None:
    """Return a step length and the residual there; None if no point is found, or in single precision the step does not descend.

    On a convex line a slope t·f'(t) ≤ `DESCENT`·t·f'(0) implies Wolfe's first condition, and f'(t) ≥ `CURVATURE`·f'(0) is the second. So slopes
    are enough, and differences of the objective, which are lost in rounding near the minimum, are not needed.
    """
    if not slope < 0:
        return None
    of_point, of_step = (_product(vector.coefficients, step.products) for vector in (point, step))
    low = 0.0
    high = np.inf
    length = 1.0
    for _ in range(MOST_TRIALS):
        residual = problem.residual(point.plus(step, length))
        here = (
            _product(residual, step.products)
            + _product(residual.sum(axis=0), step.bias)
            + l2 * (of_point + length * of_step)
        )
        if here > DESCENT * slope:
            high = length
        elif here < CURVATURE * slope:
            low = length
        else:
            return length, residual
        length = 2 * low if high == np.inf else (low + high) / 2
    return None


def log_count_ratio(counts: Numbers, totals: Numbers, n_terms: int, smoothing: float) -> Floats:
    """Return r_jk = log((m_jk + α) / Σ_i (m_ik + α)) − the same of all other classes together, shape (n, n_classes).

    ``counts`` are m_jk of n terms, shape (n, n_classes), ``totals`` Σ_i m_ik of all ``n_terms`` terms, shape (n_classes,). Wang, Manning (2012), eq. 1.
    """
    others = counts.sum(axis=1, keepdims=True) - counts
    totals_of_others = totals.sum() - totals
    of_class = np.log(totals + n_terms * smoothing)
    of_others = np.log(totals_of_others + n_terms * smoothing)
    return np.log(counts + smoothing) - of_class - np.log(others + smoothing) + of_others


class _FitReport(NamedTuple):
    """The outcome of the fit, which the model file keeps."""

    l2: float
    iterations: float
    excess: float
    """Nats a document above the minimum, about."""


@dataclass(frozen=True, eq=False)
class LogisticRegression(LinearClassifier):
    """Weights of the terms that count, times their scales, of categories and numbers, and biases."""

    DEFAULT_PSEUDO_COUNT: ClassVar[float] = 1.0
    HAS_COLUMN_FEATURES: ClassVar[bool] = True
    MULTI_LABEL_CLASS: ClassVar[tuple[str, str]] = ("logistic", "MultiLabelLogisticRegression")

    scaled_weights: Reals
    """w_jk (1 + |r_jk|) of terms and w_jk of categories, in the order of the vocabulary, then of numbers: float32, shape (n_features, n_classes)."""
    fitted_bias: Reals
    """b_k, shape (n_classes,)."""
    outcome: _FitReport
    held_out: HeldOutScores | None = None
    """The documents held out to choose l2, scored by a model of the others; None if none were."""

    @staticmethod
    def held_out_loss(unseen: HeldOutScores) -> float:
        """Return the loss of held-out documents, in nats, to choose l2 by."""
        return compute_calibrated_log_loss(unseen)

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Choose l2 if it is to be chosen, then fit to all documents. Raises `UsageError` without smoothing, or if the machine has too little memory."""
        whole = _Part.whole(training)
        l2 = training.settings.l2
        held_out = None
        start = None
        _require_room(whole)
        precision = _precision(whole)
        part, rest = split_held_out(whole.documents)
        if (
            isinstance(l2, str)
            and np.isin(whole.classes[rest], whole.classes[part]).sum() < LEAST_HELD_OUT
        ):
            l2 = FIRST_L2
        if isinstance(l2, str):
            l2, held_out, start = _chosen(whole, part, rest, precision, cls.held_out_loss)
        problem = _problem(whole)
        if start is not None:
            coefficients = np.zeros(problem.shape, start.coefficients.dtype)
            coefficients[part] = start.coefficients
            bias = np.where(
                np.isfinite(start.bias), start.bias, problem.start().bias
            )  # the only document of a class may have been held out
            start = problem.vector(coefficients, bias)
        point, iterations, excess = minimise(problem, l2, start or problem.start(), precision)
        del start
        _release_memory()
        report = _FitReport(l2, iterations, excess)
        return cls(
            training,
            problem.scaled_weights(point.coefficients),
            point.bias.astype(np.float64),
            report,
            held_out,
        )

    def to_arrays(self) -> Arrays:
        """Return weights, biases and the outcome of the fit."""
        return {
            "weights": self.scaled_weights.ravel(),
            "bias": self.fitted_bias,
            "outcome": np.array(self.outcome),
        }

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Return the model that had these `arrays`; raise `ModelError` if no model can have had them."""
        n_features = training.column_features.n_features
        n_classes = training.statistics.n_classes
        sizes = {
            "weights": n_features * n_classes,
            "bias": n_classes,
            "outcome": len(_FitReport._fields),
        }
        kept = {"weights": np.empty(0, np.float32), **arrays}  # a file leaves empty arrays out
        fit = {name: array.size for name, array in kept.items()} == sizes and kept[
            "weights"
        ].dtype == np.float32
        require_valid_model(fit, "its weights do not fit its terms, columns and classes")
        finite = kept["bias"][
            training.statistics.class_documents > 0
        ]  # that of a class without documents, as a fold may have, is minus infinity
        small = all(
            array.size == 0 or max(-array.min(), array.max()) <= LARGEST_WEIGHT
            for array in (kept["weights"], finite)
        )
        require_valid_model(small, "its weights are too large")
        outcome = _FitReport(*kept["outcome"].tolist())
        require_valid_model(not min(outcome) < 0, "the record of its fit is impossible")
        return cls(
            training,
            kept["weights"].reshape(n_features, n_classes),
            kept["bias"].astype(np.float64),
            outcome,
        )

    @classmethod
    def choose_smoothing(cls, training: Training) -> float:
        """Return 1, as in Wang and Manning (2012)."""
        return get_default_smoothing(training, cls.DEFAULT_PSEUDO_COUNT)

    @cached_property
    def bias(self) -> Floats:
        """b_k, shape (n_classes,), moved by log π_k − log(D_k / D) for a class prior other than the one of the documents."""
        return self.fitted_bias + _shift_of_prior(self.training)

    def compute_weights(self, terms: Ints) -> Floats:
        """Return w_jk (1 + |r_jk|), shape (n, n_classes)."""
        return self.scaled_weights[self._place[terms]].astype(np.float64)

    def get_scored_terms(self) -> Mask:
        """Return the terms of texts that count, and the categories, shape (n_terms,)."""
        return self.training.column_features.scored_terms

    @cached_property
    def _place(self) -> Ints:
        """The row of each of these terms, shape (n_terms,)."""
        return np.cumsum(self.training.column_features.scored_terms) - 1

    @cached_property
    def number_weights(self) -> Floats:
        """The weights of numbers, in nats for a standard deviation, shape (n_numbers, n_classes)."""
        return self.scaled_weights[
            np.count_nonzero(self.training.column_features.scored_terms) :
        ].astype(np.float64)

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return bias and weights times features, shape (n_docs, n_classes), in nats, and the tokens, categories and numbers that count, shape (n_docs,)."""
        scores, lengths = super().joint_log_likelihood(matrix)
        for values, weights in zip(
            np.nan_to_num(self.training.column_features.number_standardizer.standardize(matrix)).T,
            self.number_weights,
            strict=False,
        ):
            scores += values[:, np.newaxis] * weights
        return scores, lengths + matrix.n_values

    def compute_features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return x_jd, float64."""
        return _weighted(matrix, self.training)


class MultiLabelLogisticRegression(LogisticRegression):
    """Weights and biases of each label against the rest, with scales of 1."""

    @staticmethod
    def held_out_loss(unseen: HeldOutScores) -> float:
        """Return the weighted mean of the sum of −log p over labels, in nats, before calibration, of documents whose labels the model knows."""
        scores, _, _, truth, weights = unseen.take_known_classes()
        against = np.where(truth.to_mask(scores.shape[1]), -scores, scores)
        return float(np.average(np.logaddexp(0.0, against).sum(axis=1), weights=weights))


@score_held_out_sample.register(LogisticRegression)
def held_out_scores(
    classifier: LogisticRegression,
    training: Training,
    sample: CountedDocuments,
) -> HeldOutScores:
    """Score the documents held out to choose l2; if l2 was given, as many, by a model of the others with the same l2."""
    if classifier.held_out is not None:
        return classifier.held_out
    whole = _Part.whole(training)
    held_out, problem = _held_out(whole, *split_held_out(whole.documents))
    fit = minimise(problem, classifier.outcome.l2, problem.start(), _precision(whole))
    return held_out.scored(problem, fit.point)


@score_held_out_documents.register(LogisticRegression)
def scores_without(
    classifier: LogisticRegression,
    training: Training,
    left_out: CountedDocuments,
    statistics: ClassStatistics,
    rest: CountedDocuments | None,
) -> HeldOutScores:
    """Return the documents held out to choose l2, if these are meant; else as for every classifier."""
    documents = training.documents
    held_out = classifier.held_out
    if documents is not None and held_out is not None:
        rows = split_held_out(documents)[1]
        if np.array_equal(documents.hashes[rows], left_out.hashes):
            return held_out
    return score_with_refit(classifier, training, left_out, statistics, rest)


@iter_attribute_scores.register(LogisticRegression)
def column_summands(
    classifier: LogisticRegression,
    matrix: DocumentTermMatrix,
) -> Iterator[Floats]:
    """Yield the weights of each category of one document, and the weights times each of its numbers, shape (n_classes,), in nats."""
    statistics = classifier.training.statistics
    features = classifier.training.column_features
    own = matrix.select_terms(features.category_terms)
    names = [statistics.vocabulary.get_term(term) for term in own.terms.tolist()]
    weights = classifier.compute_weights(own.terms)
    for column in statistics.attributes.categorical:
        yield weights[[name.startswith(make_category_term(column, "")) for name in names]].sum(
            axis=0
        )
    numbers = np.nan_to_num(features.number_standardizer.standardize(matrix))[0]
    yield from numbers[:, np.newaxis] * classifier.number_weights


@get_classifier_parameters.register(LogisticRegression)
def logistic_parameters(classifier: LogisticRegression) -> ClassifierParameters:
    """Return l2 and the weights of numbers."""
    from nbtext.classifiers.inspection import ClassifierParameters

    return ClassifierParameters(l2=classifier.outcome.l2, number_weights=classifier.number_weights)


@collect_fit_warnings.register(LogisticRegression)
def convergence_warnings(classifier: LogisticRegression) -> list[str]:
    """Return a warning if the fit ended too early."""
    _, iterations, excess = classifier.outcome
    if excess <= MAX_SEARCH_EXCESS_NATS:
        return []
    warning = (
        f"the fit did not converge in {iterations:.0f} iterations, and may be {excess:.2g} "
        "nats a document off; a larger l2 makes it easier"
    )
    return [warning]


class _Part(NamedTuple):
    """Documents of a corpus to be fitted to, in an order that does not depend on how they came."""

    training: Training
    """With the statistics of these documents and the terms selected in them."""
    documents: CountedDocuments
    """All of the corpus."""
    rows: Ints
    """The documents of the part, by number, sorted by class and content."""

    @classmethod
    def whole(cls, training: Training) -> Self:
        """Return all documents."""
        documents = training.documents
        if documents is None:
            raise ValueError("--classifier logistic needs the documents")
        return cls(training, documents, np.lexsort((documents.hashes, documents.classes)))

    @property
    def classes(self) -> Ints:
        """The class of each document, shape (n_rows,); 0 for all if they have several labels."""
        return self.documents.classes[self.rows]

    def of(self, places: Ints) -> Self:
        """Return the part with these documents only, by their places in the rows."""
        chosen = np.zeros(len(self.documents), np.bool_)
        chosen[self.rows[places]] = True
        whole = self.training.statistics
        statistics = estimate_statistics(
            Subsets(whole.table, self.documents).select_table(chosen), whole.weights
        )
        training = replace(
            self.training,
            statistics=statistics,
            selected=self.training.select_terms(statistics),
            term_selector=None,
        )
        return self._replace(training=training, rows=self.rows[places])


def _require_room(part: _Part) -> None:
    """Raise `UsageError` if vectors and weights, in float32, take more memory than the machine has."""
    n_terms = part.training.column_features.n_features
    n_classes = part.training.statistics.n_classes
    needed = 4 * n_classes * (NUMBERS_PER_DOCUMENT_AND_CLASS * part.rows.size + 2 * n_terms)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        size = (
            f"{format_quantity(part.rows.size, 'document')}, {format_quantity(n_terms, 'term')} and "
            f"{format_quantity(n_classes, 'class')}"
        )
        raise UsageError(
            f"--classifier logistic needs about {needed >> 30:,} GiB for {size}, and this machine "
            f"has {there >> 30:,}",
            hint="use --classifier multinomial, which needs memory for the counts alone",
        )


def _release_memory() -> None:
    """Return freed memory to the operating system where the C library can: it lies in pieces that no large array fits into, 110 MiB of newsgroups."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def _precision(whole: _Part) -> float:
    """Return how near to its minimum the objective must come, in nats a document; of several labels it is a sum over them."""
    statistics = whole.training.statistics
    features = int(np.count_nonzero(whole.training.selected[whole.documents.matrix.terms]))
    a_class = 2 * features + 5 * CORRECTIONS * len(
        whole.documents
    )  # G once, five passes over each pair
    precision = (
        MAX_SETTLED_EXCESS_NATS
        if a_class * statistics.n_classes <= MAX_CHEAP_ITERATION_NUMBERS
        else CONVERGED
    )
    return (
        precision
        if statistics.posterior_type.is_exclusive
        else min(precision * statistics.n_classes, MAX_SEARCH_EXCESS_NATS)
    )


def _problem(part: _Part) -> LogisticProblem:
    """Return features and their scales, in float32: half the memory, and more precise than `MAX_SETTLED_EXCESS_NATS`."""
    _release_memory()
    training = part.training
    statistics = part.training.statistics
    columns = training.column_features
    n_terms = int(np.count_nonzero(training.selected))
    smoothing = training.smoothing
    totals = statistics.count_tokens(training.selected)
    kept = statistics.per_cell(columns.scored_terms)
    bounds = compute_offsets(np.diff(statistics.term_offsets)[columns.scored_terms])
    counts = _by_rows(
        statistics.cell_counts[kept], statistics.cell_classes[kept], bounds, statistics.n_classes
    )
    is_scaled = (
        np.pad(
            training.selected[columns.scored_terms], (0, columns.number_standardizer.centres.size)
        )
        & statistics.posterior_type.is_exclusive
    )
    del kept, bounds, columns

    def scales(places: Ints) -> Reals:
        """Return 1 + |r_jk| of terms, float32, or 1. Keeps the counts of the known terms alone, so that the statistics of a part can be freed."""
        found = np.ones((places.size, counts.shape[1]), np.float32)
        here = np.flatnonzero(is_scaled[places])
        if here.size:
            found[here] += np.abs(
                log_count_ratio(counts[places[here]].toarray(), totals, n_terms, smoothing)
            )
        return found

    labels = part.documents.to_document_labels(statistics.n_classes)[part.rows]
    truth = look_up_kind(TRUTHS, statistics.posterior_type).of(labels, statistics.n_classes)
    weights = (
        None
        if statistics.weight_unit == 1
        else part.documents.compute_weights(statistics)[part.rows]
    )
    features = _features(training, part.documents.matrix, part.rows, np.float32)
    return LogisticProblem.from_features(features, scales, statistics.n_classes, truth, weights)


def _by_rows(
    values: Reals,
    columns: AnyArray,
    bounds: AnyArray,
    n_columns: int,
) -> Any:  # noqa: ANN401 - scipy has no types
    """Return a `scipy.sparse` array by rows, with indices of 32 bits where these are enough: scipy keeps the larger of the types given."""
    from scipy.sparse import csr_array

    narrow = np.int32 if max(values.size, n_columns) < 1 << 31 else np.int64
    return csr_array(
        (values, columns.astype(narrow, copy=False), bounds.astype(narrow)),
        shape=(bounds.size - 1, n_columns),
    )


def _weighted(matrix: DocumentTermMatrix, training: Training) -> DocumentTermMatrix:
    """Return x_jd of terms and categories: tf-idf, and 1. Terms in all documents are left out."""
    is_text = training.selected[matrix.terms]
    weights = np.ones(is_text.size)
    weights[is_text] = tfidf(matrix.select_entries(is_text), training.statistics)
    return matrix._replace(counts=weights).select_entries(weights > 0)


def _features(
    training: Training, documents: DocumentTermMatrix, rows: Ints, dtype: type[np.floating]
) -> Any:  # noqa: ANN401 - scipy has no types
    """Return x_jd of some documents as a `scipy.sparse` array by rows, shape (n_rows, n_features)."""
    beside = training.column_features
    place = (np.cumsum(beside.scored_terms) - 1).astype(np.int32)
    values = [np.empty(0, dtype)]
    columns = [np.empty(0, np.int32)]
    sizes = [np.empty(0, np.int64)]
    for some in iter_blocks(rows, 1, DOCUMENTS_AT_ONCE):
        matrix = _weighted(documents.take(some).select_terms(beside.scored_terms), training)
        values.append(matrix.counts.astype(dtype))
        columns.append(place[matrix.terms])
        sizes.append(matrix.row_sizes)
    entries = (
        np.concatenate(values),
        np.concatenate(columns),
        compute_offsets(np.concatenate(sizes)),
    )
    del values, columns
    _release_memory()
    found = _by_rows(*entries, int(np.count_nonzero(beside.scored_terms)))
    numbers = np.nan_to_num(beside.number_standardizer.standardize(documents))
    if not numbers.shape[1]:
        return found
    from scipy.sparse import csr_array, hstack

    return hstack([found, csr_array(numbers[rows].astype(dtype))], format="csr")


class _HeldOut(NamedTuple):
    """Documents that a model of others is to score."""

    features: Any
    """x_jd of the features that they have, by rows, float64, shape (n_docs, n_columns)."""
    columns: Ints
    """The number of each of these features among those of the model, shape (n_columns,)."""
    documents: CountedDocuments
    lengths: Ints
    """Tokens, categories and numbers that the model knows, shape (n_docs,)."""
    weights: Floats
    """Shape (n_docs,)."""
    shift: Floats
    """What the class prior of the settings adds to that of the documents, shape (n_classes,)."""

    @classmethod
    def of(cls, training: Training, documents: CountedDocuments) -> Self:
        """Return documents for a model of others."""
        matrix = documents.matrix
        found = _features(training, matrix, np.arange(len(documents)), np.float64)
        columns, places = np.unique(found.indices, return_inverse=True)
        features = _by_rows(found.data, places, found.indptr, columns.size)
        lengths = (
            matrix.select_terms(training.column_features.scored_terms).known_tokens
            + matrix.n_values
        )
        return cls(
            features,
            columns,
            documents,
            lengths,
            documents.compute_weights(training.statistics),
            _shift_of_prior(training),
        )

    def scored(self, problem: LogisticProblem, point: _Vector) -> HeldOutScores:
        """Return the scores at a point of the problem of the others."""
        weights = problem.scaled_weights(point.coefficients, self.columns)
        scores = np.empty((len(self.documents), problem.shape[1]))
        for rows in iter_blocks(np.arange(len(scores)), 1, DOCUMENTS_SCORED_AT_ONCE):
            features = self.features[rows]
            columns, places = np.unique(features.indices, return_inverse=True)
            here = _by_rows(features.data, places, features.indptr, columns.size)
            scores[rows] = here @ weights[columns].astype(np.float64)
        scores += point.bias.astype(np.float64) + self.shift
        truth = self.documents.to_document_labels(problem.shape[1])
        return HeldOutScores(
            scores, self.lengths, self.documents.matrix.tokens - self.lengths, truth, self.weights
        )


def _held_out(whole: _Part, part: Ints, rest: Ints) -> tuple[_HeldOut, LogisticProblem]:
    """Return the documents at the places ``rest``, held out, and the problem of those at ``part``, whose statistics are large and not kept."""
    others = whole.of(part)
    return _HeldOut.of(others.training, whole.documents.take(whole.rows[rest])), _problem(others)


def _chosen(
    whole: _Part, part: Ints, rest: Ints, precision: float, judge: Callable[[HeldOutScores], float]
) -> tuple[float, HeldOutScores, _Vector]:
    """Return the l2 under which held-out documents are most probable, their scores under it, and the point where its fit ended.

    ``part`` and ``rest`` are places of documents to fit to and to hold out. The loss is that after calibration for one label, which makes good for
    much of what a weak penalty does to probabilities. A strength must be better by more than the fits are exact.
    """
    held_out, problem = _held_out(whole, part, rest)
    _release_memory()
    # held-out documents have the prior of the documents, whatever prior later ones may have
    as_found = held_out._replace(shift=np.zeros_like(held_out.shift))

    def tried(l2: float, start: _Vector) -> tuple[float, float, _Vector]:
        """Return the strength, the mean loss of held-out documents under it, and the point where its fit ended."""
        point = minimise(problem, l2, start).point
        return l2, judge(as_found.scored(problem, point)), point

    l2, least, point = tried(FIRST_L2, problem.start())
    for way in (WEAKER_L2, STRONGER_L2):
        for other in way if l2 == FIRST_L2 else ():
            trial = tried(other, point)
            if trial[1] > least - MAX_SEARCH_EXCESS_NATS:
                break
            l2, least, point = trial
    point = minimise(problem, l2, point, precision).point
    return l2, held_out.scored(problem, point), point


def _shift_of_prior(training: Training) -> Floats:
    """Return log π_k − log(D_k / D), 0 for the class prior of the documents, shape (n_classes,)."""
    statistics = training.statistics
    prior = training.settings.class_prior
    if not statistics.posterior_type.is_exclusive:
        holding = statistics.class_documents
        n_documents = statistics.n_documents
        return compute_log_prior_odds(prior, holding, n_documents) - compute_log_prior_odds(
            "empirical", holding, n_documents
        )
    shares = np.where(statistics.class_documents > 0, statistics.class_documents, 1) / (
        statistics.n_documents or 1
    )
    return log(compute_class_prior(prior, statistics)) - np.log(shares)
