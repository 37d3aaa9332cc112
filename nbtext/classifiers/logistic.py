"""Multinomial logistic regression on tf-idf, with scales of terms from naive Bayes.

The scores are s_k(d) = b_k + Σ_j w_jk (1 + |r_jk|) x_jd, and p(C_k | d) = softmax_k s_k. x is
log(1 + n) · log(D / df), with each document of unit length. r_jk is the naive Bayes log-count
ratio. w and b minimise Σ_d −log p(truth | d) + ½·l2·Σ w² (IIR section 14; Gambosi's notes on
probabilistic classification). A large scale makes a weight cheap, so the fit first uses the terms
that naive Bayes uses. Source: S. Wang, C. Manning, Baselines and bigrams (2012).

Attributes have the scale 1 and the same penalty. For multi-label documents,
p(label k | d) = σ(s_k), all scales are 1, and all labels have one penalty.

The fit is by L-BFGS (J. Nocedal, Updating quasi-Newton matrices with limited storage, 1980). Its
vectors are points, steps and gradients. It starts at w = 0, so each vector is
w_jk = s_jk Σ_d x_jd a_dk with coefficients a, shape (n_docs, n_classes), and scales
s_jk = 1 + |r_jk| (representer theorem: B. Schölkopf et al., 2001). A vector is stored as a and G a,
its contribution to the scores, with G_k = X S_k² Xᵀ. Inner products, and scores on a line, follow
from a and G a. So an iteration applies G once, and no vector has the size of terms × classes.
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
from nbtext.counts.count_table import repeat_by_cell
from nbtext.counts.matrix import DocumentTermMatrix, iter_blocks
from nbtext.counts.statistics import estimate_statistics
from nbtext.counts.vocabulary import make_category_term
from nbtext.counts.weighting import tfidf
from nbtext.errors import UsageError, format_quantity, require_valid_model
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import log
from nbtext.prediction.calibration import HeldOutScores, compute_calibrated_log_loss
from nbtext.progress import track_progress
from nbtext.ragged import compute_offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbtext.classifiers.inspection import ClassifierParameters
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
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

    Reals = AnyArray
    """Floats of the precision of the features."""

MAX_CORRECTION_PAIRS = 5
"""Pairs of a step and its change of the gradient that L-BFGS remembers."""

NUMBERS_PER_DOCUMENT_AND_CLASS = 2 * (2 * MAX_CORRECTION_PAIRS + 5)
"""Numbers in memory for each document and class.

A vector has two, and a fit has two vectors for each correction pair and five others.
"""

MAX_ITERATIONS = 300

MAX_SEARCH_EXCESS_NATS = 1e-4
"""Excess of the objective over its minimum, per document, that is enough to compare penalties."""

MAX_EXCESS_NATS = 1e-6
"""Excess per document that is enough for the final model of a large corpus."""

MAX_SETTLED_EXCESS_NATS = 1e-8
"""Excess per document of the final model of a small corpus, whose probabilities have then settled.

The excess is at least Σ_d KL(p*_d ‖ p_d), where p* is the posterior at the minimum. So by Pinsker's
inequality, the root mean square error of a probability of a training document is at most 7e-5.
Single precision ends near 1e-10.
"""

MAX_LINE_SEARCH_POINTS = 50

WOLFE_DESCENT = 1e-4
WOLFE_CURVATURE = 0.9
"""A line search ends if the slope is between these proportions of its first slope (Wolfe)."""

FIRST_L2 = 1.0
"""The l2 that ``auto`` tries first. It is final if there are too few held-out documents."""

WEAKER_L2 = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
STRONGER_L2 = (3.0, 10.0, 30.0, 100.0)
"""Values that ``auto`` tries in order while the loss falls, the stronger only if 0.3 is worse."""

MIN_HELD_OUT_DOCUMENTS = 10
"""Held-out documents that ``auto`` needs. Their classes must have other documents."""

MAX_SCALES_IN_MEMORY = 1 << 17
"""Scales, terms times classes, that are computed in float64 at once."""

MAX_BLOCK_WEIGHTS = 1 << 20
"""Weights, terms times classes, in memory while they are applied: 4 MiB of float32."""

MAX_BLOCK_DOCUMENTS = 1 << 10
"""Documents whose features are computed in float64 at once."""

MAX_SCORED_DOCUMENTS = 1 << 8
"""Held-out documents in a block. The weights of their terms are in float64 at once."""

MAX_CHEAP_ITERATION_NUMBERS = 20_000_000
"""If an iteration touches at most so many numbers, about 10 ms, the corpus is small."""

MAX_WEIGHT = 1e30
"""Largest weight in a model file. l2 is at least 1e-6, so all weights are far smaller."""


def _sum_products(a: Reals, b: Reals) -> float:
    """Return the sum of the products, independent of the number of threads, unlike BLAS.

    Rows are summed in their own precision, then in float64.
    """
    return float(np.einsum("...k,...k", a, b).sum(dtype=np.float64))


class _Vector(NamedTuple):
    """A point, that is, weights w and biases b, or a gradient or step of weights and biases."""

    coefficients: Reals
    """a, shape (n_docs, n_classes)."""
    products: Reals
    """G a, shape (n_docs, n_classes)."""
    bias: Reals
    """b, shape (n_classes,)."""

    def plus(self, vector: _Vector, factor: float) -> _Vector:
        """Return the sum of this vector and ``factor`` times another vector, in its precision."""
        sums = [
            array + array.dtype.type(factor) * addend
            for array, addend in zip(self, vector, strict=True)
        ]
        return _Vector(*sums)

    def times(self, factor: float) -> _Vector:
        """Return ``factor`` times this vector, in its precision."""
        return _Vector(*[array * array.dtype.type(factor) for array in self])

    def dot(self, vector: _Vector) -> float:
        """Return the inner product ⟨u, v⟩ of weights and biases."""
        weights = _sum_products(self.coefficients, vector.products)
        return weights + _sum_products(self.bias, vector.bias)


@dataclass(frozen=True, eq=False)
class ClassTruth:
    """The true classes of documents, with softmax as the link."""

    classes: AnyInts
    """Shape (n_docs,)."""

    def __len__(self) -> int:
        return len(self.classes)

    def compute_biases(self, weights: Reals | None, size: float, n_classes: int) -> Floats:
        """Return log(D_k / D), shape (n_classes,).

        ``weights`` of the documents, shape (n_docs,), have the sum ``size``. None means that each
        weight is 1.
        """
        return log(np.bincount(self.classes, weights, n_classes) / size)

    def compute_residual(self, scores: Reals) -> Reals:
        """Overwrite ``scores`` with p(C_k | d) − [k is the true class], and return them.

        The shape is (n_docs, n_classes).
        """
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        scores[np.arange(self.classes.size), self.classes] -= 1
        return scores


@dataclass(frozen=True, eq=False)
class LabelTruth:
    """The true labels of multi-label documents, with the sigmoid as the link."""

    is_true: Mask
    """Shape (n_docs, n_labels)."""

    def __len__(self) -> int:
        return len(self.is_true)

    def compute_biases(self, weights: Reals | None, size: float, n_classes: int) -> Floats:
        """Return log D_k / (D − D_k), shape (n_labels,).

        ``weights`` of the documents, shape (n_docs,), have the sum ``size``. None means that each
        weight is 1.
        """
        del n_classes  # only for `ClassTruth`
        if weights is None:
            weights = np.ones(len(self))
        label_documents = weights @ self.is_true
        rest_documents = np.maximum(size - label_documents, LABEL_PRIOR_PSEUDO_DOCUMENTS)
        return log(label_documents / rest_documents)

    def compute_residual(self, scores: Reals) -> Reals:
        """Overwrite ``scores`` with p(label k | d) − [d has label k], and return them.

        ``scores`` are log odds, shape (n_docs, n_labels).
        """
        from scipy.special import expit

        posterior: Reals = expit(scores, out=scores)
        posterior -= self.is_true
        return posterior


@dataclass(frozen=True, eq=False)
class LogisticProblem:
    """Features, scales and true classes of the documents of a fit.

    Here categories and numbers are also called terms. Most n-grams are single terms, which occur in
    only one document. All other terms are shared terms. In G a, single terms add a multiple of the
    document's row of a to this row, so the fit only needs `single_squares`, the sums of these
    factors.
    """

    transposed: tuple[Any, ...]
    """Xᵀ of shared terms in blocks of `MAX_BLOCK_WEIGHTS`, each a `scipy.sparse` array by rows.

    A block contains x_jd of n terms, shape (n, n_docs). Products with X and with Xᵀ both read a
    block in order, which takes half the memory and time of X by rows.
    """
    squares: tuple[Reals, ...]
    """s_jk² of the terms of each block, shape (n, n_classes)."""
    single_squares: Reals
    """Σ_j x_jd² s_jk² over the single terms j of each document d, shape (n_docs, n_classes)."""
    truth: ClassTruth | LabelTruth
    is_shared: Mask
    """True for terms that do not occur in exactly one document, shape (n_terms,)."""
    positions: Ints
    """Position of each term in the blocks, or among single terms, shape (n_terms,)."""
    single_values: Reals
    """x of each single term in its document, shape (n_single,)."""
    single_documents: Ints
    """Row of the document of each single term, shape (n_single,)."""
    compute_scales: Callable[[Ints], Reals]
    """Returns s_jk of terms by index, shape (n, n_classes)."""
    weights: Reals | None = None
    """Weight of the loss of each document, shape (n_docs,). None if all are 1."""

    @classmethod
    def from_features(
        cls,
        features: Any,  # noqa: ANN401 - scipy has no types
        compute_scales: Callable[[Ints], Reals],
        n_classes: int,
        truth: ClassTruth | LabelTruth,
        weights: Floats | None = None,
    ) -> Self:
        """Return the problem of these features.

        ``features`` are a `scipy.sparse` array by rows, shape (n_docs, n_terms), of the same
        floating type as the result of ``compute_scales``.
        """
        columns = features.tocsc()
        del features  # It is large, and the caller does not need it any more.
        document_frequencies = np.diff(columns.indptr)
        is_shared = document_frequencies != 1
        shared = np.flatnonzero(is_shared)
        single = np.flatnonzero(~is_shared)
        # Weights of frequent terms should be next to each other, in the processor's cache.
        frequency_order = np.argsort(-document_frequencies[shared], kind="stable")
        shared = shared[frequency_order]
        positions = np.empty(document_frequencies.size, np.int32)
        positions[shared] = np.arange(shared.size)
        positions[single] = np.arange(single.size)
        single_entries = columns.indptr[single]
        single_values = columns.data[single_entries]
        single_documents = columns.indices[single_entries]
        blocks = list(iter_blocks(shared, n_classes, MAX_BLOCK_WEIGHTS))
        transposed = tuple(columns[:, block].T for block in blocks)
        del columns
        _release_memory()
        squares = tuple(_square_scales(compute_scales, block, n_classes) for block in blocks)
        single_squares = _sum_single_squares(
            compute_scales, single, single_values, single_documents, (len(truth), n_classes)
        )
        if weights is not None:
            weights = weights.astype(single_squares.dtype)
        return cls(
            transposed=transposed,
            squares=squares,
            single_squares=single_squares,
            truth=truth,
            is_shared=is_shared,
            positions=positions,
            single_values=single_values,
            single_documents=single_documents,
            compute_scales=compute_scales,
            weights=weights,
        )

    @property
    def size(self) -> float:
        """The number of documents, or the sum of their weights. Without documents it is 1."""
        size = float(len(self.truth))
        if self.weights is not None:
            size = float(self.weights.sum(dtype=np.float64))
        if size == 0:
            return 1.0
        return size

    @property
    def shape(self) -> tuple[int, int]:
        """(n_docs, n_classes)."""
        n_documents, n_classes = self.single_squares.shape
        return n_documents, n_classes

    def apply_gram(self, coefficients: Reals) -> Reals:
        """Return G a, shape (n_docs, n_classes)."""
        products: Reals = np.zeros_like(coefficients)
        block_weights = self._iter_block_weights(coefficients)
        for transposed, weights in zip(self.transposed, block_weights, strict=True):
            products += transposed.T @ weights
        products += self.single_squares * coefficients
        return products

    def _iter_block_weights(self, coefficients: Reals) -> Iterator[Reals]:
        """Yield the scaled weights w_jk s_jk of coefficients a for the terms of each block."""
        for transposed, squares in zip(self.transposed, self.squares, strict=True):
            weights = transposed @ coefficients
            weights *= squares
            yield weights

    def compute_scaled_weights(self, coefficients: Reals, terms: Ints | None = None) -> Reals:
        """Return the scaled weights w_jk s_jk of coefficients a, shape (n, n_classes).

        ``terms`` are indices. None means all terms.
        """
        if terms is None:
            terms = np.arange(self.positions.size)
        n_classes = self.shape[1]
        scaled_weights = np.empty((terms.size, n_classes), coefficients.dtype)
        is_shared = self.is_shared[terms]
        positions = self.positions[terms]
        start = 0
        for block_weights in self._iter_block_weights(coefficients):
            end = start + len(block_weights)
            is_in_block = is_shared & (positions >= start) & (positions < end)
            scaled_weights[is_in_block] = block_weights[positions[is_in_block] - start]
            start = end
        for rows in iter_blocks(np.flatnonzero(~is_shared), n_classes, MAX_SCALES_IN_MEMORY):
            single = positions[rows]
            scaled_weights[rows] = (
                self.compute_scales(terms[rows]) ** 2
                * self.single_values[single, np.newaxis]
                * coefficients[self.single_documents[single]]
            )
        return scaled_weights

    def make_start(self) -> _Vector:
        """Return the vector of weights 0 and of the best biases for these weights.

        The bias of a class without documents is −inf.
        """
        zeros = np.zeros(self.shape, self.single_squares.dtype)
        bias = self.truth.compute_biases(self.weights, self.size, zeros.shape[1])
        return _Vector(zeros, zeros, bias.astype(zeros.dtype))

    def make_vector(self, coefficients: Reals, bias: Reals) -> _Vector:
        """Return the vector of a and biases."""
        return _Vector(coefficients, self.apply_gram(coefficients), bias)

    def compute_residual(self, point: _Vector) -> Reals:
        """Return (p(C_k | d) − [k is true]) times the weight of d, shape (n_docs, n_classes)."""
        residual: Reals = self.truth.compute_residual(point.products + point.bias)
        if self.weights is not None:
            residual *= self.weights[:, np.newaxis]
        return residual

    def compute_gradient(self, residual: Reals, point: _Vector, l2: float) -> _Vector:
        """Return the gradient of the objective: scaled Xᵀ(p − y) + l2·w.

        The gradient of the biases is Σ_d (p − y)_d, without a penalty.
        """
        loss_gradient = self.make_vector(residual, residual.sum(axis=0))
        weights = point._replace(bias=np.zeros_like(point.bias))
        return loss_gradient.plus(weights, l2)


def _square_scales(compute_scales: Callable[[Ints], Reals], terms: Ints, n_classes: int) -> Reals:
    """Return s_jk² of terms, shape (n, n_classes)."""
    blocks = iter_blocks(terms, n_classes, MAX_SCALES_IN_MEMORY)
    return np.concatenate([compute_scales(block) ** 2 for block in blocks])


def _sum_single_squares(
    compute_scales: Callable[[Ints], Reals],
    terms: Ints,
    values: Reals,
    documents: Ints,
    shape: tuple[int, int],
) -> Reals:
    """Return `LogisticProblem.single_squares`, with ``shape`` (n_docs, n_classes).

    ``terms`` occur in only one document each, with ``values`` x in these ``documents``.
    """
    from scipy.sparse import csr_array

    n_documents, n_classes = shape
    sums = np.zeros(shape, values.dtype)
    for rows in iter_blocks(np.arange(terms.size), n_classes, MAX_SCALES_IN_MEMORY):
        squares = csr_array(
            (values[rows] ** 2, (documents[rows], np.arange(rows.size))),
            shape=(n_documents, rows.size),
        )
        sums += squares @ compute_scales(terms[rows]) ** 2
    return sums


class _CorrectionPair(NamedTuple):
    """A step of L-BFGS, with the change of the gradient that it caused."""

    step: _Vector
    gradient_change: _Vector
    curvature: float
    """⟨step, gradient_change⟩."""


class Minimum(NamedTuple):
    """The point where L-BFGS ended."""

    point: _Vector
    n_iterations: int
    excess: float
    """Estimated excess of the objective over its minimum, in nats per document."""


def minimize_by_lbfgs(
    problem: LogisticProblem,
    l2: float,
    start: _Vector,
    precision: float = MAX_SEARCH_EXCESS_NATS,
    max_iterations: int = MAX_ITERATIONS,
) -> Minimum:
    """Return a point at most ``precision`` nats per document above the minimum.

    If ``max_iterations`` are not enough, return the best point. It need not be the last point: the
    excess may rise in an iteration, and does so where single precision ends.
    """
    point = start
    residual = problem.compute_residual(start)
    gradient = problem.compute_gradient(residual, point, l2)
    pairs: list[_CorrectionPair] = []
    best = Minimum(point, 0, _estimate_excess(problem, gradient, residual, l2))
    for iteration in track_progress(range(1, max_iterations + 1), "iteration"):
        if best.excess <= precision:
            break
        direction = _compute_direction(gradient, pairs)
        search = _search_line(problem, point, direction, l2, gradient.dot(direction))
        if search is None:  # The slope is lost in rounding.
            break
        length, residual = search
        step = direction.times(length)
        del direction  # It is large.
        point = point.plus(step, 1)
        last_gradient = gradient
        gradient = problem.compute_gradient(residual, point, l2)
        excess = _estimate_excess(problem, gradient, residual, l2)
        if excess < best.excess:
            best = Minimum(point, iteration, excess)
        gradient_change = gradient.plus(last_gradient, -1)
        curvature = step.dot(gradient_change)
        if curvature <= 0:  # The objective is convex, so the curvature is lost in rounding.
            break
        pairs.append(_CorrectionPair(step, gradient_change, curvature))
        pairs = pairs[-MAX_CORRECTION_PAIRS:]
    return best


def _estimate_excess(
    problem: LogisticProblem, gradient: _Vector, residual: Reals, l2: float
) -> float:
    """Return (‖g_w‖² / l2 + Σ_k g_bk² / Σ_d p_dk (1 − p_dk)) / 2, per document.

    g is the gradient. With the best biases for each w, the objective is l2-strongly convex in w, so
    it is at most ‖g_w‖² / (2·l2) above its minimum. The gain of better biases is estimated by a
    Newton step of each bias, so the sum is not a strict bound. The sum over documents is weighted.
    """
    weight_squares = max(_sum_products(gradient.coefficients, gradient.products), 0.0)
    bias_squares = gradient.bias.astype(np.float64) ** 2
    # |residual| is the weight times p or 1 − p.
    weighted_p = np.abs(residual)
    p = weighted_p
    if problem.weights is not None:
        p = weighted_p / problem.weights[:, np.newaxis]
    curvature = (weighted_p * (1 - p)).sum(axis=0, dtype=np.float64)
    bias_gains = np.divide(
        bias_squares, curvature, out=np.zeros_like(bias_squares), where=curvature > 0
    )
    return float(weight_squares / l2 + bias_gains.sum()) / (2 * problem.size)


def _compute_direction(gradient: _Vector, pairs: list[_CorrectionPair]) -> _Vector:
    """Return minus the inverse Hessian times the gradient, by the two loops of Nocedal.

    The Hessian is estimated from the pairs. Without pairs, return a step of length 1.
    """
    direction = gradient.times(-1)
    factors = []
    for pair in reversed(pairs):
        factor = pair.step.dot(direction) / pair.curvature
        factors.append(factor)
        direction = direction.plus(pair.gradient_change, -factor)
    if pairs:
        last = pairs[-1]
        scale = last.curvature / last.gradient_change.dot(last.gradient_change)
        # Where single precision ends, the scale may overflow; then the search finds no length.
        with np.errstate(over="ignore"):
            direction = direction.times(scale)
    else:
        direction = direction.times(1 / np.sqrt(gradient.dot(gradient)))
    for pair, factor in zip(pairs, reversed(factors), strict=True):
        correction = factor - pair.gradient_change.dot(direction) / pair.curvature
        direction = direction.plus(pair.step, correction)
    return direction


def _search_line(
    problem: LogisticProblem, point: _Vector, direction: _Vector, l2: float, first_slope: float
) -> tuple[float, Reals] | None:
    """Return the length of a step that fulfils Wolfe's conditions, and the residual after the step.

    Return None if rounding prevents it: no length is found, or ``first_slope`` is not negative.

    f is the objective on the line, and t the length. f is convex, so
    f'(t) ≤ `WOLFE_DESCENT` · f'(0) implies Wolfe's first condition, and
    f'(t) ≥ `WOLFE_CURVATURE` · f'(0) is the second. So slopes are enough. Differences of the
    objective, which rounding makes useless near the minimum, are not needed.
    """
    if not first_slope < 0:
        return None
    point_product = _sum_products(point.coefficients, direction.products)
    direction_product = _sum_products(direction.coefficients, direction.products)
    low = 0.0
    high = np.inf
    length = 1.0
    for _ in range(MAX_LINE_SEARCH_POINTS):
        residual = problem.compute_residual(point.plus(direction, length))
        slope = (
            _sum_products(residual, direction.products)
            + _sum_products(residual.sum(axis=0), direction.bias)
            + l2 * (point_product + length * direction_product)
        )
        if slope > WOLFE_DESCENT * first_slope:
            high = length
        elif slope < WOLFE_CURVATURE * first_slope:
            low = length
        else:
            return length, residual
        length = (low + high) / 2
        if high == np.inf:
            length = 2 * low
    return None


def log_count_ratio(counts: Numbers, totals: Numbers, n_terms: int, smoothing: float) -> Floats:
    """Return r_jk, the log-count ratio of naive Bayes, shape (n, n_classes).

    r_jk = log((m_jk + α) / Σ_i (m_ik + α)) minus this logarithm for all other classes together.
    ``counts`` are m_jk of n terms, shape (n, n_classes). ``totals`` are Σ_i m_ik of all ``n_terms``
    terms, shape (n_classes,). Source: Wang, Manning (2012), eq. 1.

    Two classes have 3 and 2 tokens of 3 terms, and α is 1. For a term with the counts 2 and 0,
    r = log (2 + 1)/(3 + 3) − log (0 + 1)/(2 + 3) in the first class.

    >>> ratio = log_count_ratio(np.array([[2, 0]]), np.array([3, 2]), n_terms=3, smoothing=1.0)
    >>> np.exp(ratio).round(9).tolist()  # (3/6)/(1/5) and the inverse
    [[2.5, 0.4]]
    """
    rest_counts = counts.sum(axis=1, keepdims=True) - counts
    rest_totals = totals.sum() - totals
    log_total = np.log(totals + n_terms * smoothing)
    log_rest_total = np.log(rest_totals + n_terms * smoothing)
    return np.log(counts + smoothing) - log_total - np.log(rest_counts + smoothing) + log_rest_total


class _FitOutcome(NamedTuple):
    """Numbers about the fit, which the model file contains."""

    l2: float
    """The penalty of the fit, chosen or set."""
    n_iterations: float
    """A float like all numbers in the model file."""
    excess: float
    """Estimated excess over the minimum, in nats per document."""


@dataclass(frozen=True, eq=False)
class LogisticRegression(LinearClassifier):
    """Weights of terms, times their scales, of categories and of numbers, and biases."""

    DEFAULT_PSEUDO_COUNT: ClassVar[float] = 1.0
    HAS_COLUMN_FEATURES: ClassVar[bool] = True
    MULTI_LABEL_CLASS: ClassVar[tuple[str, str]] = ("logistic", "MultiLabelLogisticRegression")

    scaled_weights: Reals
    """w_jk (1 + |r_jk|) of terms and w_jk of categories, then of numbers, in float32.

    The shape is (n_features, n_classes). Terms and categories have the order of the vocabulary.
    """
    fitted_bias: Reals
    """b_k, shape (n_classes,)."""
    outcome: _FitOutcome
    held_out: HeldOutScores | None = None
    """Documents held out to choose l2, scored by a model of all other documents.

    None if l2 was not chosen.
    """

    @staticmethod
    def compute_held_out_loss(held_out: HeldOutScores) -> float:
        """Return the loss by which l2 is chosen, per document, in nats. It is after calibration."""
        return compute_calibrated_log_loss(held_out)

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Choose l2 if it is not set, then fit to all documents.

        Raise `UsageError` without smoothing, or if the machine has too little memory.
        """
        corpus = _FitDocuments.from_training(training)
        _require_memory(corpus)
        precision = _choose_precision(corpus)
        fit_rows, held_out_rows = split_held_out(corpus.documents)
        l2 = training.settings.l2
        held_out = None
        search_point = None
        if isinstance(l2, str):
            has_class = np.isin(corpus.classes[held_out_rows], corpus.classes[fit_rows])
            if has_class.sum() < MIN_HELD_OUT_DOCUMENTS:
                l2 = FIRST_L2
            else:
                l2, held_out, search_point = _choose_l2(
                    corpus, fit_rows, held_out_rows, precision, cls.compute_held_out_loss
                )
        problem = _make_problem(corpus)
        start = problem.make_start()
        if search_point is not None:
            start = _extend_start(problem, search_point, fit_rows)
        del search_point
        point, n_iterations, excess = minimize_by_lbfgs(problem, l2, start, precision)
        del start
        _release_memory()
        return cls(
            training,
            scaled_weights=problem.compute_scaled_weights(point.coefficients),
            fitted_bias=point.bias.astype(np.float64),
            outcome=_FitOutcome(l2, n_iterations, excess),
            held_out=held_out,
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
        """Restore the model from the result of `to_arrays`.

        Raise `ModelError` if the arrays cannot come from `to_arrays`.
        """
        n_features = training.column_features.n_features
        n_classes = training.statistics.n_classes
        expected_sizes = {
            "weights": n_features * n_classes,
            "bias": n_classes,
            "outcome": len(_FitOutcome._fields),
        }
        # A model file omits empty arrays.
        arrays = {"weights": np.empty(0, np.float32), **arrays}
        sizes = {name: array.size for name, array in arrays.items()}
        require_valid_model(
            sizes == expected_sizes and arrays["weights"].dtype == np.float32,
            "its weights do not fit its terms, columns and classes",
        )
        # The bias of a class without documents, as in a fold, is −inf.
        finite_bias = arrays["bias"][training.statistics.class_documents > 0]
        for array in (arrays["weights"], finite_bias):
            # The weights may be large, so `np.abs`, which copies them, is not used.
            is_small = array.size == 0 or max(-array.min(), array.max()) <= MAX_WEIGHT
            require_valid_model(is_small, "its weights are too large")
        outcome = _FitOutcome(*arrays["outcome"].tolist())
        require_valid_model(not min(outcome) < 0, "the record of its fit is impossible")
        return cls(
            training,
            arrays["weights"].reshape(n_features, n_classes),
            arrays["bias"].astype(np.float64),
            outcome,
        )

    @classmethod
    def choose_smoothing(cls, training: Training) -> float:
        """Return 1 per term. Source: Wang and Manning (2012)."""
        return get_default_smoothing(training, cls.DEFAULT_PSEUDO_COUNT)

    @cached_property
    def bias(self) -> Floats:
        """b_k + log π_k − log(D_k / D), shape (n_classes,)."""
        return self.fitted_bias + _compute_prior_shift(self.training)

    def compute_weights(self, terms: Ints) -> Floats:
        """Return w_jk (1 + |r_jk|), shape (n, n_classes)."""
        return self.scaled_weights[self._feature_indices[terms]].astype(np.float64)

    @cached_property
    def _feature_indices(self) -> Ints:
        """The row of each scored term in `scaled_weights`, shape (n_terms,).

        The rows of all other terms have no meaning.
        """
        return np.cumsum(self.training.column_features.scored_terms) - 1

    @cached_property
    def number_weights(self) -> Floats:
        """Weights of numbers, in nats per standard deviation, shape (n_numbers, n_classes)."""
        n_terms = np.count_nonzero(self.training.column_features.scored_terms)
        return self.scaled_weights[n_terms:].astype(np.float64)

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return bias and weights times features, shape (n_docs, n_classes), in nats.

        Also return how many tokens, categories and numbers are used, shape (n_docs,).
        """
        scores, lengths = super().joint_log_likelihood(matrix)
        standardizer = self.training.column_features.number_standardizer
        numbers = np.nan_to_num(standardizer.standardize(matrix))  # 0 for missing numbers
        # Without counts and numbers in the documents, there are fewer columns than weights.
        for values, weights in zip(numbers.T, self.number_weights, strict=False):
            scores += values[:, np.newaxis] * weights
        return scores, lengths + matrix.n_values

    def compute_features(self, matrix: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return x_jd in float64."""
        return _compute_features(matrix, self.training)


class MultiLabelLogisticRegression(LogisticRegression):
    """Weights and biases of each label against the rest, with scales of 1."""

    @staticmethod
    def compute_held_out_loss(held_out: HeldOutScores) -> float:
        """Return the mean over documents of the sum of −log p over labels, in nats.

        The loss is before calibration. Documents with unknown labels are ignored.
        """
        known_documents = held_out.take_known_classes()
        scores = known_documents.scores
        is_true = known_documents.truth.to_mask(scores.shape[1])
        log_odds_against = np.where(is_true, -scores, scores)
        losses = np.logaddexp(0.0, log_odds_against).sum(axis=1)
        return float(np.average(losses, weights=known_documents.weights))


@score_held_out_sample.register(LogisticRegression)
def score_logistic_held_out(
    classifier: LogisticRegression,
    training: Training,
    sample: CountedDocuments,
) -> HeldOutScores:
    """Return the scores of the documents that were held out to choose l2.

    If l2 was set, hold out the same documents now, and score them by a model of all other
    documents.
    """
    if classifier.held_out is not None:
        return classifier.held_out
    corpus = _FitDocuments.from_training(training)
    fit_rows, held_out_rows = split_held_out(corpus.documents)
    held_out, problem = _hold_out(corpus, fit_rows, held_out_rows)
    start = problem.make_start()
    minimum = minimize_by_lbfgs(problem, classifier.outcome.l2, start, _choose_precision(corpus))
    return held_out.score(problem, minimum.point)


@score_held_out_documents.register(LogisticRegression)
def score_logistic_documents(
    classifier: LogisticRegression,
    training: Training,
    held_out: CountedDocuments,
    statistics: ClassStatistics,
    remaining_documents: CountedDocuments | None,
) -> HeldOutScores:
    """Score documents by a model of the remaining documents.

    Documents that were held out to choose l2 already have these scores.
    """
    documents = training.documents
    if documents is not None and classifier.held_out is not None:
        _, held_out_rows = split_held_out(documents)
        if np.array_equal(documents.hashes[held_out_rows], held_out.hashes):
            return classifier.held_out
    return score_with_refit(classifier, training, held_out, statistics, remaining_documents)


@iter_attribute_scores.register(LogisticRegression)
def iter_column_scores(
    classifier: LogisticRegression,
    matrix: DocumentTermMatrix,
) -> Iterator[Floats]:
    """Yield the contribution of each categorical attribute, then of each number of one document.

    A contribution has the shape (n_classes,), in nats.
    """
    statistics = classifier.training.statistics
    features = classifier.training.column_features
    categories = matrix.select_terms(features.category_terms)
    category_names = [statistics.vocabulary.get_term(term) for term in categories.terms.tolist()]
    weights = classifier.compute_weights(categories.terms)
    for attribute in statistics.attributes.categorical:
        prefix = make_category_term(attribute, "")
        has_attribute = [name.startswith(prefix) for name in category_names]
        yield weights[has_attribute].sum(axis=0)
    [numbers] = np.nan_to_num(features.number_standardizer.standardize(matrix))
    yield from numbers[:, np.newaxis] * classifier.number_weights


@get_classifier_parameters.register(LogisticRegression)
def get_logistic_parameters(classifier: LogisticRegression) -> ClassifierParameters:
    """Return l2 and the weights of numbers."""
    from nbtext.classifiers.inspection import ClassifierParameters

    return ClassifierParameters(l2=classifier.outcome.l2, number_weights=classifier.number_weights)


@collect_fit_warnings.register(LogisticRegression)
def collect_convergence_warnings(classifier: LogisticRegression) -> list[str]:
    """Return a warning if the fit ended too early."""
    _, n_iterations, excess = classifier.outcome
    if excess <= MAX_SEARCH_EXCESS_NATS:
        return []
    warning = (
        f"the fit did not converge in {n_iterations:.0f} iterations, and may be {excess:.2g} "
        "nats a document off; a larger l2 makes it easier"
    )
    return [warning]


class _FitDocuments(NamedTuple):
    """Documents of a corpus to fit to, in an order that does not depend on the input."""

    training: Training
    """The statistics of only the documents to fit to, and the terms selected by them."""
    documents: CountedDocuments
    """All documents of the corpus."""
    rows: Ints
    """Rows of the documents to fit to, sorted by class and content."""

    @classmethod
    def from_training(cls, training: Training) -> Self:
        """Return all documents."""
        documents = training.documents
        if documents is None:
            raise ValueError("--classifier logistic needs the documents")
        return cls(training, documents, np.lexsort((documents.hashes, documents.classes)))

    @property
    def classes(self) -> Ints:
        """The class of each document, shape (n_rows,). It is 0 for multi-label documents."""
        return self.documents.classes[self.rows]

    def take(self, indices: Ints) -> Self:
        """Return only the documents that have these indices in ``rows``."""
        rows = self.rows[indices]
        is_selected = np.zeros(len(self.documents), np.bool_)
        is_selected[rows] = True
        all_statistics = self.training.statistics
        table = Subsets(all_statistics.table, self.documents).select_table(is_selected)
        statistics = estimate_statistics(table, all_statistics.weights)
        training = replace(
            self.training,
            statistics=statistics,
            selected=self.training.select_terms(statistics),
            term_selector=None,  # The terms are selected now.
        )
        return self._replace(training=training, rows=rows)


def _require_memory(corpus: _FitDocuments) -> None:
    """Raise `UsageError` if vectors and weights, in float32, do not fit in the memory."""
    n_documents = corpus.rows.size
    n_terms = corpus.training.column_features.n_features
    n_classes = corpus.training.statistics.n_classes
    # Weights and squared scales of each term, next to the vectors.
    numbers_per_class = NUMBERS_PER_DOCUMENT_AND_CLASS * n_documents + 2 * n_terms
    needed_bytes = 4 * n_classes * numbers_per_class  # 4 bytes in float32
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed_bytes > memory_bytes:
        size = (
            f"{format_quantity(n_documents, 'document')}, {format_quantity(n_terms, 'term')} and "
            f"{format_quantity(n_classes, 'class')}"
        )
        raise UsageError(
            f"--classifier logistic needs about {needed_bytes >> 30:,} GiB for {size}, and this "
            f"machine has {memory_bytes >> 30:,}",
            hint="use --classifier multinomial, which needs memory only for the counts",
        )


def _release_memory() -> None:
    """Return freed memory to the operating system, if the C library supports this.

    Otherwise memory grows, because the freed pieces are too small for large arrays.
    """
    with suppress(AttributeError, OSError):  # Only glibc has malloc_trim.
        ctypes.CDLL(None).malloc_trim(0)


def _choose_precision(corpus: _FitDocuments) -> float:
    """Return the excess over the minimum at which the final fit ends, in nats per document.

    For multi-label documents, the objective and its excess are sums over labels.
    """
    statistics = corpus.training.statistics
    n_entries = int(np.count_nonzero(corpus.training.selected[corpus.documents.matrix.terms]))
    # An iteration applies G once, and goes through each pair five times.
    numbers_per_class = 2 * n_entries + 5 * MAX_CORRECTION_PAIRS * len(corpus.documents)
    precision = MAX_EXCESS_NATS
    if numbers_per_class * statistics.n_classes <= MAX_CHEAP_ITERATION_NUMBERS:
        precision = MAX_SETTLED_EXCESS_NATS
    if statistics.posterior_type.is_exclusive:
        return precision
    return min(precision * statistics.n_classes, MAX_SEARCH_EXCESS_NATS)


def _make_problem(corpus: _FitDocuments) -> LogisticProblem:
    """Return the problem of the documents in float32, which is precise enough for the fit."""
    _release_memory()
    training = corpus.training
    statistics = training.statistics
    compute_scales = _make_scale_function(training)
    labels = corpus.documents.to_document_labels(statistics.n_classes)[corpus.rows]
    truth: ClassTruth | LabelTruth = ClassTruth(labels.indices)
    if not statistics.posterior_type.is_exclusive:
        truth = LabelTruth(labels.to_mask(statistics.n_classes))
    weights = None
    if statistics.weight_unit != 1:
        weights = corpus.documents.compute_weights(statistics)[corpus.rows]
    # No variable refers to the features, so that `from_features` can free them.
    return LogisticProblem.from_features(
        _make_sparse_features(training, corpus.documents.matrix, corpus.rows, np.float32),
        compute_scales,
        statistics.n_classes,
        truth,
        weights,
    )


def _make_scale_function(training: Training) -> Callable[[Ints], Reals]:
    """Return a function that computes the scales of features by index, in float32.

    The function keeps the counts of scored terms but not the statistics, whose memory can be freed.
    """
    statistics = training.statistics
    columns = training.column_features
    n_terms = int(np.count_nonzero(training.selected))
    smoothing = training.smoothing
    totals = statistics.count_tokens(training.selected)
    cells = repeat_by_cell(
        statistics, columns.scored_terms
    )  # a mask of terms and classes with a count
    cells_per_term = np.diff(statistics.term_offsets)[columns.scored_terms]
    counts = _make_sparse_rows(
        statistics.cell_counts[cells],
        statistics.cell_classes[cells],
        compute_offsets(cells_per_term),
        statistics.n_classes,
    )
    n_numbers = columns.number_standardizer.centres.size
    # The features are scored terms, then numbers.
    is_text_feature = np.pad(training.selected[columns.scored_terms], (0, n_numbers))
    is_scaled = is_text_feature & statistics.posterior_type.is_exclusive

    def compute_scales(feature_indices: Ints) -> Reals:
        """Return 1 + |r_jk| of scaled terms, and 1 of all other features."""
        scales = np.ones((feature_indices.size, counts.shape[1]), np.float32)
        rows = np.flatnonzero(is_scaled[feature_indices])
        if rows.size:
            term_counts = counts[feature_indices[rows]].toarray()
            scales[rows] += np.abs(log_count_ratio(term_counts, totals, n_terms, smoothing))
        return scales

    return compute_scales


def _make_sparse_rows(
    values: Reals,
    columns: AnyArray,
    bounds: AnyArray,
    n_columns: int,
) -> Any:  # noqa: ANN401 - scipy has no types
    """Return a `scipy.sparse` array by rows, with 32-bit indices if these are enough.

    ``values`` and ``columns`` of row i are from ``bounds[i]`` to ``bounds[i + 1]``.
    """
    from scipy.sparse import csr_array

    # scipy would keep the larger of the types of columns and bounds.
    index_type: type[np.signedinteger] = np.int64
    if max(values.size, n_columns) <= np.iinfo(np.int32).max:
        index_type = np.int32
    return csr_array(
        (values, columns.astype(index_type, copy=False), bounds.astype(index_type)),
        shape=(bounds.size - 1, n_columns),
    )


def _compute_features(matrix: DocumentTermMatrix, training: Training) -> DocumentTermMatrix:
    """Return x_jd: tf-idf of terms, and 1 of categories. Omit terms that all documents contain."""
    is_text = training.selected[matrix.terms]
    weights = np.ones(is_text.size)
    weights[is_text] = tfidf(matrix.select_entries(is_text), training.statistics)
    return matrix._replace(counts=weights).select_entries(weights > 0)


def _make_sparse_features(
    training: Training, matrix: DocumentTermMatrix, rows: Ints, dtype: type[np.floating]
) -> Any:  # noqa: ANN401 - scipy has no types
    """Return x_jd and the numbers of some documents, shape (n_rows, n_features).

    The result is a `scipy.sparse` array by rows, whose last columns are the numbers.
    """
    features = training.column_features
    feature_indices = (np.cumsum(features.scored_terms) - 1).astype(np.int32)
    # `np.concatenate` needs an array, even without documents.
    values = [np.empty(0, dtype)]
    columns = [np.empty(0, np.int32)]
    sizes = [np.empty(0, np.int64)]
    for block in iter_blocks(rows, 1, MAX_BLOCK_DOCUMENTS):
        documents = matrix.take(block).select_terms(features.scored_terms)
        weighted = _compute_features(documents, training)
        values.append(weighted.counts.astype(dtype))
        columns.append(feature_indices[weighted.terms])
        sizes.append(weighted.row_sizes)
    all_values = np.concatenate(values)
    all_columns = np.concatenate(columns)
    bounds = compute_offsets(np.concatenate(sizes))
    del values, columns
    _release_memory()
    n_terms = int(np.count_nonzero(features.scored_terms))
    text_features = _make_sparse_rows(all_values, all_columns, bounds, n_terms)
    numbers = np.nan_to_num(features.number_standardizer.standardize(matrix))
    if not numbers.shape[1]:
        return text_features
    from scipy.sparse import csr_array, hstack

    return hstack([text_features, csr_array(numbers[rows].astype(dtype))], format="csr")


class _HeldOutFeatures(NamedTuple):
    """Held-out documents with the features of a model of all other documents."""

    features: Any
    """The features that occur, a `scipy.sparse` array in float64, shape (n_docs, n_columns)."""
    columns: Ints
    """Index in the model of the feature in each column, shape (n_columns,)."""
    documents: CountedDocuments
    lengths: Ints
    """How many tokens, categories and numbers are used, shape (n_docs,)."""
    weights: Floats
    """Weights of the documents, shape (n_docs,)."""
    prior_shift: Floats
    """The result of `_compute_prior_shift`, shape (n_classes,)."""

    @classmethod
    def from_documents(cls, training: Training, documents: CountedDocuments) -> Self:
        """Return the features of documents for the model of ``training``."""
        matrix = documents.matrix
        rows = np.arange(len(documents))
        features = _make_sparse_features(training, matrix, rows, np.float64)
        columns, column_indices = np.unique(features.indices, return_inverse=True)
        scored = matrix.select_terms(training.column_features.scored_terms)
        return cls(
            features=_make_sparse_rows(
                features.data, column_indices, features.indptr, columns.size
            ),
            columns=columns,
            documents=documents,
            lengths=scored.known_tokens + matrix.n_values,
            weights=documents.compute_weights(training.statistics),
            prior_shift=_compute_prior_shift(training),
        )

    def score(self, problem: LogisticProblem, point: _Vector) -> HeldOutScores:
        """Return the scores by the model at a point of the problem of all other documents."""
        weights = problem.compute_scaled_weights(point.coefficients, self.columns)
        scores = np.empty((len(self.documents), problem.shape[1]))
        for rows in iter_blocks(np.arange(len(scores)), 1, MAX_SCORED_DOCUMENTS):
            block = self.features[rows]
            # Only the features of these documents, so that few weights are in float64.
            columns, column_indices = np.unique(block.indices, return_inverse=True)
            compact = _make_sparse_rows(block.data, column_indices, block.indptr, columns.size)
            scores[rows] = compact @ weights[columns].astype(np.float64)
        scores += point.bias.astype(np.float64) + self.prior_shift
        return HeldOutScores(
            scores=scores,
            lengths=self.lengths,
            unknown_lengths=self.documents.matrix.tokens - self.lengths,
            truth=self.documents.to_document_labels(problem.shape[1]),
            weights=self.weights,
        )


def _hold_out(
    corpus: _FitDocuments, fit_rows: Ints, held_out_rows: Ints
) -> tuple[_HeldOutFeatures, LogisticProblem]:
    """Return the held-out documents and the problem of the documents to fit to.

    ``fit_rows`` and ``held_out_rows`` are indices into ``corpus.rows``. The statistics of the
    documents to fit to are large, so they are freed when this function ends.
    """
    fit_documents = corpus.take(fit_rows)
    held_out_documents = corpus.documents.take(corpus.rows[held_out_rows])
    held_out = _HeldOutFeatures.from_documents(fit_documents.training, held_out_documents)
    return held_out, _make_problem(fit_documents)


class _L2Trial(NamedTuple):
    """A fit with one l2 to the documents that are not held out."""

    l2: float
    loss: float
    """Mean loss of held-out documents, in nats."""
    point: _Vector


def _choose_l2(
    corpus: _FitDocuments,
    fit_rows: Ints,
    held_out_rows: Ints,
    precision: float,
    compute_loss: Callable[[HeldOutScores], float],
) -> tuple[float, HeldOutScores, _Vector]:
    """Return the l2 of least loss, the scores of held-out documents, and the point of the fit.

    ``fit_rows`` and ``held_out_rows`` are indices into ``corpus.rows``. The returned point has the
    ``precision``. An l2 replaces the best l2 so far only if its loss is less by more than
    `MAX_SEARCH_EXCESS_NATS`, the precision of the fits that are compared.
    """
    held_out, problem = _hold_out(corpus, fit_rows, held_out_rows)
    _release_memory()
    # The loss is under the class prior of the documents, not under the prior of the settings.
    unshifted = held_out._replace(prior_shift=np.zeros_like(held_out.prior_shift))

    def try_l2(l2: float, start: _Vector) -> _L2Trial:
        point = minimize_by_lbfgs(problem, l2, start).point
        loss = compute_loss(unshifted.score(problem, point))
        return _L2Trial(l2, loss, point)

    best = try_l2(FIRST_L2, problem.make_start())
    for candidates in (WEAKER_L2, STRONGER_L2):
        if best.l2 != FIRST_L2:  # A weaker l2 is better.
            break
        for l2 in candidates:
            trial = try_l2(l2, best.point)
            if trial.loss > best.loss - MAX_SEARCH_EXCESS_NATS:
                break
            best = trial
    point = minimize_by_lbfgs(problem, best.l2, best.point, precision).point
    return best.l2, held_out.score(problem, point), point


def _extend_start(problem: LogisticProblem, start: _Vector, fit_rows: Ints) -> _Vector:
    """Return the start of a fit to all documents from the point of the fit to ``fit_rows``.

    The coefficients of all other documents are 0.
    """
    coefficients = np.zeros(problem.shape, start.coefficients.dtype)
    coefficients[fit_rows] = start.coefficients
    # The bias is infinite if the only document of a class was held out.
    bias = np.where(np.isfinite(start.bias), start.bias, problem.make_start().bias)
    return problem.make_vector(coefficients, bias)


def _compute_prior_shift(training: Training) -> Floats:
    """Return log π_k − log(D_k / D), shape (n_classes,).

    It replaces the class prior of the fit by the class prior of the settings. For multi-label
    documents, it is the difference of log prior odds.
    """
    statistics = training.statistics
    setting = training.settings.class_prior
    class_documents = statistics.class_documents
    n_documents = statistics.n_documents
    if not statistics.posterior_type.is_exclusive:
        log_odds = compute_log_prior_odds(setting, class_documents, n_documents)
        return log_odds - compute_log_prior_odds("empirical", class_documents, n_documents)
    prior = compute_class_prior(setting, statistics)
    # For a class without documents, only log π_k is −inf.
    proportions = np.where(class_documents > 0, class_documents, 1) / n_documents
    return log(prior) - np.log(proportions)
