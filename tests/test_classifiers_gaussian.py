"""Gaussian classes of real features: numbers by hand, scipy's normal distribution, scikit-learn's discriminant analyses and naive Bayes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from nbtext.classifiers import gaussian
from nbtext.classifiers.gaussian import GaussianClasses, class_means, roots_of_inverses
from nbtext.decision import log_posterior
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Data = tuple[Floats, NDArray[np.int64]]

SHAPES = ("full", "diagonal", "spherical")
KINDS = [(separate, shape) for separate in (False, True) for shape in SHAPES]
EVERY_KIND = pytest.mark.parametrize(("separate", "shape"), KINDS)


def drawn(seed: int = 1, sizes: tuple[int, ...] = (30, 20, 45), n_features: int = 4) -> Data:
    """Documents of classes of several sizes, shuffled; features far from 0 and of unlike spread."""
    random = np.random.default_rng(seed)
    parts = [
        random.normal(size=(size, n_features)) @ random.normal(size=(n_features, n_features)) + random.normal(100, 3, n_features)
        for size in sizes
    ]
    order = random.permutation(sum(sizes))
    return np.concatenate(parts)[order], np.repeat(np.arange(len(sizes)), sizes)[order]


def fitted(
    data: Data, *, separate: bool = False, shape: str = "full", shrinkage: float | None = 0.0, n_classes: int | None = None
) -> GaussianClasses:
    features, classes = data
    number = int(classes.max()) + 1 if n_classes is None else n_classes
    return GaussianClasses.estimate(features, classes, number, separate=separate, shape=shape, shrinkage=shrinkage)


def prior_of(classes: NDArray[np.int64]) -> Floats:
    return np.bincount(classes) / len(classes)


def covariances_of(model: GaussianClasses) -> list[Floats]:
    """Σ_k, whole."""
    roots = [np.diag(root) if root.ndim == 1 else root for root in model.roots]
    return [np.linalg.inv(root @ root.T) for root in roots] * (len(model.means) // len(roots))


def simplified(covariance: Floats, shape: str) -> Floats:
    variances = np.diag(covariance)
    simpler: dict[str, Floats] = {
        "full": covariance,
        "diagonal": np.diag(variances),
        "spherical": np.eye(len(variances)) * variances.mean(),
    }
    return simpler[shape]


def test_two_classes_by_hand() -> None:
    """Means (0, 0) and (4, 2), both with the scatter of the square (±1, ±1) stretched to (±1, ±2): Σ = diag(1, 4)."""
    square = np.array([[1, 2], [1, -2], [-1, 2], [-1, -2]], float)
    data = np.concatenate((square, square + np.array([4, 2]))), np.repeat([0, 1], 4)
    model = fitted(data)
    assert model.means.tolist() == [[0, 0], [4, 2]]
    assert covariances_of(model)[0].ravel() == pytest.approx([1, 0, 0, 4])
    weights, bias = model.boundary(np.array([0.5, 0.5]))
    assert (weights[1] - weights[0]).tolist() == pytest.approx([4, 0.5])  # Σ⁻¹ (μ_1 − μ_0)
    assert bias.tolist() == pytest.approx([np.log(0.5), -0.5 * (16 + 1) + np.log(0.5)])
    middle = model.log_density(np.array([[2.0, 1.0]]))[0]
    assert middle.tolist() == pytest.approx([-np.log(2 * np.pi) - np.log(2) - 0.5 * (4 + 0.25)] * 2)


@EVERY_KIND
@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0, None])
def test_densities_are_those_of_scipy(separate: bool, shape: str, shrinkage: float | None) -> None:
    data = drawn()
    model = fitted(data, separate=separate, shape=shape, shrinkage=shrinkage)
    asked = drawn(2)[0]
    wanted = [multivariate_normal(mean, cov).logpdf(asked) for mean, cov in zip(model.means, covariances_of(model), strict=True)]
    np.testing.assert_allclose(model.log_density(asked), np.transpose(wanted), rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_without_shrinkage_it_is_maximum_likelihood(shape: str) -> None:
    features, classes = drawn()
    wanted = [np.cov(features[classes == k].T, bias=True) for k in range(3)]
    pooled = np.average(wanted, axis=0, weights=prior_of(classes))
    found = covariances_of(fitted((features, classes), separate=True, shape=shape))
    np.testing.assert_allclose(found, [simplified(cov, shape) for cov in wanted], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(covariances_of(fitted((features, classes), shape=shape))[0], simplified(pooled, shape), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shrinkage", [0.0, 0.25, 0.9])
def test_shared_covariances_are_linear_discriminant_analysis(shrinkage: float) -> None:
    features, classes = drawn()
    reference = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(features, classes)
    model = fitted((features, classes), shrinkage=shrinkage)
    asked = drawn(3)[0]
    joint = model.log_density(asked) + np.log(prior_of(classes))
    np.testing.assert_allclose(log_posterior(joint), reference.predict_log_proba(asked), rtol=1e-7, atol=1e-7)
    weights, bias = model.boundary(prior_of(classes))
    np.testing.assert_allclose(weights, reference.coef_, rtol=1e-7)
    np.testing.assert_allclose(bias, reference.intercept_, rtol=1e-7)
    np.testing.assert_allclose(log_posterior(asked @ weights.T + bias), log_posterior(joint), rtol=1e-7, atol=1e-7)


def test_separate_covariances_are_quadratic_discriminant_analysis() -> None:
    """Some versions of scikit-learn divide by D_k − 1, so the answers are compared by its own covariances."""
    features, classes = drawn()
    reference = QuadraticDiscriminantAnalysis(store_covariance=True).fit(features, classes)
    for found, wanted in zip(covariances_of(fitted((features, classes), separate=True)), reference.covariance_, strict=True):
        np.testing.assert_allclose(found / np.trace(found), wanted / np.trace(wanted), rtol=1e-8)
    model = GaussianClasses(class_means(features, classes, 3), roots_of_inverses(np.array(reference.covariance_)))
    asked = drawn(3)[0]
    joint = model.log_density(asked) + np.log(prior_of(classes))
    np.testing.assert_allclose(log_posterior(joint), reference.predict_log_proba(asked), rtol=1e-8, atol=1e-8)


def test_separate_and_diagonal_is_gaussian_naive_bayes() -> None:
    features, classes = drawn()
    reference = GaussianNB(var_smoothing=0).fit(features, classes)
    asked = drawn(3)[0]
    joint = fitted((features, classes), separate=True, shape="diagonal").log_density(asked) + np.log(prior_of(classes))
    np.testing.assert_allclose(joint, reference.predict_joint_log_proba(asked), rtol=1e-9)


@EVERY_KIND
@given(permutation=st.permutations(range(3)))
def test_permuted_classes_permute_the_answers(separate: bool, shape: str, permutation: list[int]) -> None:
    features, classes = drawn()
    plain = fitted((features, classes), separate=separate, shape=shape, shrinkage=None).log_density(features)
    permuted = fitted((features, np.array(permutation)[classes]), separate=separate, shape=shape, shrinkage=None).log_density(features)
    np.testing.assert_allclose(permuted[:, permutation], plain, rtol=1e-9)


@EVERY_KIND
@given(
    sizes=st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any),
    n_features=st.integers(1, 30),
    equal=st.booleans(),
)
def test_with_shrinkage_there_is_always_an_inverse(separate: bool, shape: str, sizes: list[int], n_features: int, equal: bool) -> None:
    """Fewer documents than features, classes of one document or none, documents that are all the same."""
    features = np.random.default_rng(7).normal(size=(sum(sizes), n_features))
    if equal:
        features[:] = features[0]
    classes = np.repeat(np.arange(len(sizes)), sizes)
    model = fitted((features, classes), separate=separate, shape=shape, shrinkage=None, n_classes=len(sizes))
    densities = model.log_density(features)
    assert np.isfinite(densities).all()
    for root in model.roots:
        assert (np.diagonal(root) if root.ndim == 2 else root).min() > 0


@EVERY_KIND
def test_without_an_inverse_it_says_so(separate: bool, shape: str) -> None:
    features = np.ones((6, 2))
    for rows in (features, features * 0.1):  # means of equal numbers may differ from them in the last digit
        with pytest.raises(UsageError, match=r"no inverse.*shrinkage auto"):
            fitted((rows, np.array([0, 0, 0, 1, 1, 1])), separate=separate, shape=shape, shrinkage=0.0)


def test_more_documents_than_features_are_needed_for_a_full_inverse() -> None:
    features, classes = drawn(sizes=(3, 3), n_features=8)
    with pytest.raises(UsageError, match="too few documents for so many features"):
        fitted((features, classes))


def test_separate_covariances_have_no_linear_boundary() -> None:
    with pytest.raises(UsageError, match="covariance shared"):
        fitted(drawn(), separate=True).boundary(np.full(3, 1 / 3))


@EVERY_KIND
def test_no_features_and_no_documents(separate: bool, shape: str) -> None:
    model = fitted((np.empty((5, 0)), np.array([0, 1, 1, 0, 0])), separate=separate, shape=shape, shrinkage=None)
    assert model.log_density(np.empty((3, 0))).tolist() == [[0, 0]] * 3
    nothing = fitted((np.empty((0, 2)), np.empty(0, np.int64)), separate=separate, shape=shape, shrinkage=None, n_classes=2)
    assert np.isfinite(nothing.log_density(np.zeros((1, 2)))).all()


def test_densities_do_not_depend_on_how_many_are_computed_at_once(monkeypatch: Any) -> None:
    data = drawn(sizes=(9, 9, 9, 9, 9))
    model = fitted(data, separate=True)
    together = model.log_density(data[0])
    monkeypatch.setattr(gaussian, "TERM_WEIGHTS_AT_ONCE", 2 * data[0].size)
    np.testing.assert_allclose(model.log_density(data[0]), together, rtol=1e-12)


def test_features_far_from_zero_lose_nothing() -> None:
    features, classes = drawn()
    near, far = (fitted((rows, classes)).log_density(rows) for rows in (features, features + 1e6))
    np.testing.assert_allclose(far, near, rtol=1e-6, atol=1e-6)
