"""The fit of logistic regression: scikit-learn, scipy on the plain objective, and differences in place of derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression as Oracle

from nbtext.classifiers.logistic import EXCESS, SETTLED, Problem, Vector, minimise
from tests.budget import examples, rounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CLASSES = 3
seeds = st.integers(0, 2**32 - 1)
strengths = st.sampled_from([0.01, 0.3, 1.0, 20.0])


def drawn(
    seed: int, documents: int = 25, terms: int = 12, *, absent: bool = False, equal: bool = False, alone: bool = True
) -> tuple[Floats, Floats, Any]:
    """Features, scales and classes; ``absent`` leaves class 1 without documents, ``equal`` scales a term alike in all classes."""
    generator = np.random.default_rng(seed)
    features = generator.random((documents, terms)) * (generator.random((documents, terms)) < 0.4)
    if alone:  # three terms that at most one document has
        features[1:, terms // 2] = 0.0
        features[:-1, [0, -1]] = 0.0
    scales = np.tile(1 + generator.random((terms, 1)), CLASSES) if equal else 1 + 3 * generator.random((terms, CLASSES))
    classes = generator.choice([0, 2] if absent else CLASSES, documents)
    return features, scales, np.concatenate((np.array([0, 2, 2 if absent else 1]), classes[3:]))


def objective(weights: Floats, bias: Floats, features: Floats, scales: Floats, classes: Any, l2: float) -> float:
    """Σ_d −log p(truth | d) + l2/2 · Σ w², as it is written."""
    scores = features @ (weights * scales) + bias
    return float(-log_softmax(scores, axis=1)[np.arange(len(classes)), classes].sum() + l2 / 2 * (weights**2).sum())


def weights_of(problem: Problem, vector: Vector, scales: Floats) -> Floats:
    return np.asarray(problem.scaled_weights(vector.coefficients) / scales, np.float64)


def problem_of(features: Floats, scales: Floats, classes: Any, dtype: type[Any] = np.float64) -> Problem:
    scales = scales.astype(dtype)
    return Problem.of(csr_array(features.astype(dtype)), lambda terms: scales[terms], scales.shape[1], np.asarray(classes, np.int64))


@given(seed=seeds, l2=strengths)
def test_the_gradient_is_that_of_differences(seed: int, l2: float) -> None:
    features, scales, classes = drawn(seed)
    problem = problem_of(features, scales, classes)
    generator = np.random.default_rng(seed)
    point, way = (problem.vector(generator.normal(size=problem.shape), generator.normal(size=CLASSES)) for _ in range(2))

    def along(length: float) -> float:
        here = point.plus(way, length)
        return objective(weights_of(problem, here, scales), here.bias, features, scales, classes, l2)

    slope = problem.gradient(problem.residual(point), point, l2).dot(way)
    assert slope == pytest.approx((along(1e-5) - along(-1e-5)) / 2e-5, rel=1e-5, abs=1e-4)


@given(seed=seeds)
def test_inner_products_are_those_of_weights(seed: int) -> None:
    features, scales, classes = drawn(seed)
    problem = problem_of(features, scales, classes)
    generator = np.random.default_rng(seed)
    first, second = (problem.vector(generator.normal(size=problem.shape), generator.normal(size=CLASSES)) for _ in range(2))
    plain = (weights_of(problem, first, scales) * weights_of(problem, second, scales)).sum() + first.bias @ second.bias
    assert first.dot(second) == pytest.approx(plain, rel=1e-9, abs=1e-9)
    assert first.products == pytest.approx(features @ (weights_of(problem, first, scales) * scales), rel=1e-9, abs=1e-9)


@pytest.mark.repeated
@pytest.mark.parametrize("l2", [0.01, 0.3, 1.0, 20.0])
def test_scikit_learn_finds_the_same_weights(l2: float) -> None:
    for seed in range(rounds(2, 5)):
        features, scales, classes = drawn(seed, 60, equal=True)
        problem = problem_of(features, scales, classes)
        fit = minimise(problem, l2, problem.start(), 1e-12, 10_000)
        oracle = Oracle(C=1 / l2, tol=1e-10, max_iter=10_000).fit(features * scales[:, 0], classes)
        weights = weights_of(problem, fit.point, scales).T
        assert weights == pytest.approx(oracle.coef_, abs=1e-3)
        bias = fit.point.bias - fit.point.bias.mean()  # what all classes share is of no effect
        assert bias == pytest.approx(oracle.intercept_ - oracle.intercept_.mean(), abs=1e-3)


@examples(3)
@given(seed=seeds, l2=strengths)
def test_scipy_finds_the_same_minimum_and_the_excess_is_about_right(seed: int, l2: float) -> None:
    features, scales, classes = drawn(seed)
    problem = problem_of(features, scales, classes)
    shape = scales.shape

    def plain(flat: Floats) -> tuple[float, Floats]:
        weights, bias = flat[: scales.size].reshape(shape), flat[scales.size :]
        posterior = np.exp(log_softmax(features @ (weights * scales) + bias, axis=1))
        posterior[np.arange(len(classes)), classes] -= 1
        slope = (features.T @ posterior) * scales + l2 * weights
        return objective(weights, bias, features, scales, classes, l2), np.concatenate((slope.ravel(), posterior.sum(axis=0)))

    found = minimize(
        plain, np.zeros(scales.size + CLASSES), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9}
    )
    for precision in (1e-7, 1e-3):
        fit = minimise(problem, l2, problem.start(), precision, 10_000)
        assert fit.excess <= precision
        here = objective(weights_of(problem, fit.point, scales), fit.point.bias, features, scales, classes, l2)
        assert -1e-8 <= (here - found.fun) / len(classes) <= 3 * precision + 1e-8


@pytest.mark.repeated
@pytest.mark.parametrize("l2", [0.01, 0.3, 1.0, 20.0])
def test_settled_probabilities_are_those_of_scikit_learn_in_single_precision_too(l2: float) -> None:
    for seed in range(rounds(2, 5)):
        features, scales, classes = drawn(seed, 300, equal=True)
        problem = problem_of(features, scales, classes, np.float32)
        point = minimise(problem, l2, problem.start(), SETTLED).point
        oracle = Oracle(C=1 / l2, tol=1e-10, max_iter=10_000).fit(features * scales[:, 0], classes)
        assert softmax(point.products + point.bias, axis=1) == pytest.approx(oracle.predict_proba(features * scales[:, 0]), abs=5e-4)


def test_more_iterations_never_give_a_worse_point_where_single_precision_ends() -> None:
    problem = problem_of(*drawn(3, 200, 12, alone=False), np.float32)
    excesses = [minimise(problem, 0.001, problem.start(), 0.0, most).excess for most in range(40)]
    assert excesses == sorted(excesses, reverse=True)
    assert excesses[-1] < SETTLED


def test_single_precision_is_enough_for_the_precision_asked_for() -> None:
    features, scales, classes = drawn(3, 200, 50)
    single = problem_of(features, scales, classes, np.float32)
    fit = minimise(single, 0.001, single.start())
    assert fit.point.products.dtype == np.float32
    assert fit.excess <= EXCESS


def test_too_few_iterations_are_told() -> None:
    problem = problem_of(*drawn(1))
    fit = minimise(problem, 0.01, problem.start(), most_iterations=2)
    assert fit.iterations == 2
    assert fit.excess > EXCESS
    assert minimise(problem, 0.01, problem.start()).excess <= EXCESS


def test_a_start_at_the_minimum_needs_no_iteration() -> None:
    problem = problem_of(*drawn(1))
    fit = minimise(problem, 0.1, problem.start())
    again = minimise(problem, 0.1, fit.point)
    assert fit.iterations > 0
    assert again.iterations == 0
    assert again.point.coefficients.tobytes() == fit.point.coefficients.tobytes()


@examples(6)
@given(seed=seeds, order=st.permutations(range(CLASSES)))
def test_permuted_classes_permute_the_weights(seed: int, order: list[int]) -> None:
    features, scales, classes = drawn(seed)
    problem = problem_of(features, scales, classes)
    permuted = problem_of(features, scales[:, order], np.argsort(order)[classes])
    one, other = (each.scaled_weights(minimise(each, 0.3, each.start(), 1e-10, 10_000).point.coefficients) for each in (problem, permuted))
    assert other == pytest.approx(one[:, order], abs=1e-3)


def test_a_strong_penalty_leaves_the_shares_of_the_classes() -> None:
    features, scales, classes = drawn(5, 40)
    problem = problem_of(features, scales, classes)
    fit = minimise(problem, 1e9, problem.start())
    assert np.abs(problem.scaled_weights(fit.point.coefficients)).max() < 1e-6
    assert np.exp(fit.point.bias) / np.exp(fit.point.bias).sum() == pytest.approx(np.bincount(classes) / 40)


@examples(6)
@given(seed=seeds)
def test_a_class_without_documents_is_impossible_and_changes_nothing(seed: int) -> None:
    features, scales, classes = drawn(seed, absent=True)
    problem = problem_of(features, scales, classes)
    others = problem_of(features, scales[:, [0, 2]], classes // 2)
    one, other = (minimise(each, 0.3, each.start(), 1e-10, 10_000).point for each in (problem, others))
    assert one.bias[1] == -np.inf
    assert one.bias[[0, 2]] == pytest.approx(other.bias, abs=1e-3)
    assert problem.scaled_weights(one.coefficients)[:, [0, 2]] == pytest.approx(others.scaled_weights(other.coefficients), abs=1e-3)
    assert not problem.scaled_weights(one.coefficients)[:, 1].any()
