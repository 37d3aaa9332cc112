"""Gaussian classes: every class is a normal distribution over real features, with a covariance that all share or one of its own.

This file knows nothing of text: it takes a matrix of features, whatever they are. Shared covariances make linear boundaries (linear
discriminant analysis), separate ones quadratic; separate and diagonal is Gaussian naive Bayes. Sources: Gambosi's notes, probabilistic
classification; T. Hastie, R. Tibshirani, J. Friedman, The elements of statistical learning (2009), section 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from nbtext.classifiers import covariance
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CELLS_AT_ONCE = 1 << 21
"""Differences between documents and class means held in memory at once while scoring: 16 MiB."""


class Boundary(NamedTuple):
    """Where classes with one covariance meet: class k is preferred to l where (w_k − w_l)ᵀx + w_k0 − w_l0 > 0."""

    weights: Floats
    """w_k = Σ⁻¹ μ_k, shape (n_classes, n_features)."""
    bias: Floats
    """w_k0 = −½ μ_kᵀ Σ⁻¹ μ_k + log π_k, shape (n_classes,), in nats."""


@dataclass(frozen=True, eq=False)
class GaussianClasses:
    """p(x | C_k) = N(x | μ_k, Σ_k), the Σ_k kept as roots of their inverses."""

    means: Floats
    """μ_k, shape (n_classes, n_features)."""
    roots: Floats
    """U with Σ⁻¹ = U Uᵀ: upper triangular, shape (n, n_features, n_features), or for a diagonal Σ its diagonal, shape (n, n_features).

    n is 1 where all classes share one covariance, else n_classes.
    """

    @classmethod
    def estimate(
        cls, features: Floats, classes: NDArray[np.int64], n_classes: int, *, separate: bool, shape: str, shrinkage: float | None
    ) -> Self:
        """The classes of documents with features, shape (n_docs, n_features), and class numbers, shape (n_docs,).

        ``shape`` is full, diagonal or spherical, ``shrinkage`` the weight of the simpler covariance as `covariance.covariances` takes it:
        0 is maximum likelihood, None chooses. A class without documents gets the mean of all and the shared covariance. Raises
        `UsageError` if a covariance has no inverse.
        """
        means = class_means(features, classes, n_classes)
        centred = features - means[classes]
        found = covariance.covariances(centred, features, classes, n_classes, separate=separate, shape=shape, shrinkage=shrinkage)
        return cls(means, roots_of_inverses(found, covariance.rounding_variance(features)))

    @property
    def shares_covariance(self) -> bool:
        """Whether boundaries are linear."""
        return len(self.roots) == 1

    def log_density(self, features: Floats) -> Floats:
        """log N(x | μ_k, Σ_k) = −½ [p log 2π + log |Σ_k| + (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k)], shape (n_docs, n_classes), in nats."""
        diagonals = self.roots if self.roots.ndim == 2 else np.diagonal(self.roots, axis1=1, axis2=2)
        half_log_determinants = -np.log(diagonals).sum(axis=1)
        distances = self._distances_by_one_root(features) if self.shares_covariance else self._distances_by_roots(features)
        density: Floats = -0.5 * (self.means.shape[1] * np.log(2 * np.pi) + distances) - half_log_determinants
        return density

    def boundary(self, prior: Floats) -> Boundary:
        """The linear boundaries under class priors π, shape (n_classes,).

        For two classes w = w_1 − w_2 = Σ⁻¹ (μ_1 − μ_2). Raises `UsageError` if classes have covariances of their own.
        """
        if not self.shares_covariance:
            raise UsageError("with separate covariances boundaries are not linear", hint="train with --covariance shared")
        root = self.roots[0]
        weights = self.means * root**2 if root.ndim == 1 else self.means @ root @ root.T
        with np.errstate(divide="ignore"):
            return Boundary(weights, -0.5 * (weights * self.means).sum(axis=1) + np.log(prior))

    def _distances_by_one_root(self, features: Floats) -> Floats:
        """|Uᵀ(x − μ_k)|², expanded: a product of matrices, about the middle of the means so that little is lost to rounding."""
        middle = self.means.mean(axis=0)
        points, means = (_times(rows - middle, self.roots[0]) for rows in (features, self.means))
        squares: Floats = (points**2).sum(axis=1)[:, np.newaxis] - 2 * points @ means.T + (means**2).sum(axis=1)
        return np.maximum(squares, 0.0)

    def _distances_by_roots(self, features: Floats) -> Floats:
        n_documents, n_classes = len(features), len(self.means)
        distances = np.empty((n_documents, n_classes))
        step = max(CELLS_AT_ONCE // max(features.size, 1), 1)
        for begin in range(0, n_classes, step):
            part = slice(begin, begin + step)
            whitened = _times(features[np.newaxis] - self.means[part, np.newaxis], self.roots[part])
            distances[:, part] = np.einsum("knp,knp->nk", whitened, whitened)
        return distances


def class_means(features: Floats, classes: NDArray[np.int64], n_classes: int) -> Floats:
    """μ_k, the mean of the documents of class k, shape (n_classes, n_features); for a class without documents that of all."""
    order = np.argsort(classes, kind="stable")
    present, starts, sizes = np.unique(classes[order], return_index=True, return_counts=True)
    means = np.zeros((n_classes, features.shape[1]))
    if len(features):
        means[:] = features.mean(axis=0)
        means[present] = np.add.reduceat(features[order], starts, axis=0) / sizes[:, np.newaxis]
    return means


def _times(rows: Floats, root: Floats) -> Floats:
    """Rows times U: one root or several, triangular or diagonal. Rows have a dimension more than a diagonal root, or as many as a triangular one."""
    product: Floats = rows @ root if root.ndim == rows.ndim else rows * root[..., np.newaxis, :]
    return product


def roots_of_inverses(covariances: Floats, least: float = 0.0) -> Floats:
    """U of each covariance, full or diagonal, as `GaussianClasses.roots`.

    Raises `UsageError` if one has no inverse: a variance, given the other features, that is not above ``least`` or next to nothing of the
    largest.
    """
    lower = covariances if covariances.ndim == 2 else _lower_triangular(covariances)
    variances = lower if lower.ndim == 2 else np.diagonal(lower, axis1=1, axis2=2) ** 2
    if variances.size and not np.all(variances > np.maximum(covariance.SINGULAR * variances.max(axis=1, keepdims=True), least)):
        raise _singular()
    roots: Floats = 1 / np.sqrt(variances) if lower.ndim == 2 else np.triu(np.swapaxes(np.linalg.inv(lower), 1, 2))
    return roots


def _lower_triangular(covariances: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.cholesky(covariances), np.float64)
    except np.linalg.LinAlgError:
        raise _singular() from None


def _singular() -> UsageError:
    return UsageError(
        "a covariance has no inverse: there are too few documents for so many features",
        hint="use --shrinkage auto, a larger one, or fewer dimensions",
    )
