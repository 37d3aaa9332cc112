"""Covariances of classes: maximum likelihood, drawn towards a simpler covariance so that they have an inverse with few documents too.

Two steps. The shared covariance S = Σ_d (x_d − μ_k(d))(x_d − μ_k(d))ᵀ / D is drawn towards a sphere with the same mean variance:
Σ = (1 − w) S + w (tr S / p) I, with w by O. Ledoit, M. Wolf, A well-conditioned estimator for large-dimensional covariance matrices (2004).
A class's own covariance is drawn towards the shared one: Σ_k = (D_k S_k + ν Σ)/(D_k + ν), as by a prior worth ν documents. Sources: J.
Friedman, Regularized discriminant analysis (1989); K. Murphy, Machine learning (2012), section 4.6.2.1, for ν.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SHAPES = ("full", "diagonal", "spherical")

SINGULAR = 1e-13
"""A covariance with a variance below this part of its largest counts as one without inverse."""

ROUNDING = 1e-14
"""Part of a number by which a mean of such numbers may be off."""

PRIOR_DOCUMENTS_PER_FEATURE = 5
"""ν by the number of features. Of 0.5, 1, 2 and 5, on latent features, the last has the lowest log loss on three corpora and the best accuracy on 20 Newsgroups."""


def covariances(
    centred: Floats, features: Floats, classes: NDArray[np.int64], n_classes: int, *, separate: bool, shape: str, shrinkage: float | None
) -> Floats:
    """Σ, or one for each class, shape (n, n_features, n_features); for the shapes diagonal and spherical (n, n_features).

    ``centred`` are the features less the means of the classes. ``shrinkage`` is w, which then stands for ν / (D_k + ν) too; 0 is maximum
    likelihood and None means Ledoit and Wolf's w and ν = `PRIOR_DOCUMENTS_PER_FEATURE` · n_features.
    """
    ml = second_moments(centred, shape)
    weight = ledoit_wolf_weight(centred, ml) if shrinkage is None else shrinkage
    shared = (1 - weight) * ml + weight * _sphere(ml, features, shape)
    if not separate:
        return shared[np.newaxis]
    found = np.empty((n_classes, *shared.shape))
    order = np.argsort(classes, kind="stable")
    sizes = np.bincount(classes, minlength=n_classes)
    prior_documents = PRIOR_DOCUMENTS_PER_FEATURE * centred.shape[1]
    for label, rows in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
        weight = prior_documents / max(rows.size + prior_documents, 1) if shrinkage is None else shrinkage
        found[label] = (1 - weight) * second_moments(centred[rows], shape) + weight * shared if rows.size else shared
    return found


def rounding_variance(features: Floats) -> float:
    """The variance that equal numbers as large as these may seem to have, because their mean is rounded."""
    return float((ROUNDING * np.abs(features).max(initial=0.0)) ** 2)


def second_moments(centred: Floats, shape: str) -> Floats:
    """S of features with mean 0, shape (n_features, n_features), or for the shapes diagonal and spherical the variances, (n_features,).

    Zero without documents. A sphere has the mean of the variances in all directions.
    """
    n_documents = max(len(centred), 1)
    if shape == "full":
        moments: Floats = centred.T @ centred / n_documents
        return moments
    variances: Floats = (centred**2).sum(axis=0) / n_documents
    return np.full_like(variances, variances.mean()) if shape == "spherical" and variances.size else variances


def ledoit_wolf_weight(centred: Floats, moments: Floats) -> float:
    """w = min(b², d²) / d², b² = Σ_d |x_d x_dᵀ − S|² / D² and d² = |S − (tr S / p) I|²; of variances the same on the diagonal alone.

    Lemma 3.2 and following of the paper. Never below 1 / (D + 1), a document's worth: of two documents b² is 0.
    """
    n_documents, n_features = centred.shape
    least = 1 / (n_documents + 1)
    squares = centred**2
    fourth = float((squares**2).sum() if moments.ndim == 1 else (squares.sum(axis=1) ** 2).sum())
    noise = max(fourth / max(n_documents, 1) - float((moments**2).sum()), 0.0) / max(n_documents, 1)
    trace = float(moments.sum() if moments.ndim == 1 else np.trace(moments))
    signal = float((moments**2).sum()) - trace**2 / max(n_features, 1)
    return max(min(noise / signal, 1.0), least) if signal > 0 else 1.0


def _sphere(moments: Floats, features: Floats, shape: str) -> Floats:
    """The target (tr S / p) I; where classes do not scatter at all, of the scatter of all documents, and without that of variance 1."""
    n_features = features.shape[1]
    least = rounding_variance(features)
    variance = float(np.trace(moments) if shape == "full" else moments.sum()) / max(n_features, 1)
    if variance <= least:
        total = float(features.var(axis=0).mean()) if features.size else 0.0
        variance = total if total > least else 1.0
    sphere: Floats = variance * (np.eye(n_features) if shape == "full" else np.ones(n_features))
    return sphere
