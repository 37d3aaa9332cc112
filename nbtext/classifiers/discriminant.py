"""Gaussian discriminant analysis of documents: classes are normal distributions over their latent features, and the numbers beside them.

log p(d, C_k) = log π_k + log N(x_d | μ_k, Σ_k). Features and covariances need all documents, so the model cannot be updated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nbtext.attributes import FARTHEST
from nbtext.classifiers.base import Classifier, Training
from nbtext.classifiers.class_prior import class_prior
from nbtext.classifiers.gaussian import Boundary, GaussianClasses
from nbtext.counts.latent import LatentSpace, latent_terms
from nbtext.errors import ModelError, UsageError
from nbtext.plurals import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.counts.document_term import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics

    Floats = NDArray[np.float64]

MOST_ROOTS = 1 << 26
"""Numbers that covariances may take in all: 512 MiB."""

LARGEST_ROOT = 1e30
"""Of what comes from a file."""

ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class GaussianDiscriminantAnalysis(Classifier):
    """A class prior π, a latent space, and a Gaussian for each class in it."""

    NEEDS_DOCUMENTS: ClassVar[bool] = True
    TAKES_NUMBERS: ClassVar[bool] = True
    TAKES_OWN_PSEUDO_COUNTS: ClassVar[bool] = False

    training: Training
    space: LatentSpace
    numbers: StandardNumbers
    gaussians: GaussianClasses

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """The model of all documents; raises `UsageError` if a covariance has no inverse or the covariances are too many."""
        if training.documents is None:
            raise ValueError("--classifier gaussian needs the documents")
        parameters, documents = training.parameters, training.documents
        documents = documents.rows(
            np.lexsort((documents.classes, documents.hashes))
        )  # rounding would keep a trace of the order they came in
        space = LatentSpace.of(training.statistics, training.selected, documents.matrix, parameters["latent"])
        numbers = StandardNumbers.of(training.statistics)
        _check_size(parameters, training.statistics.n_classes, space.projection.shape[1] + numbers.centres.size)
        features, _, here = features_of(documents.matrix, space, numbers)
        gaussians = GaussianClasses.estimate(
            features[here],
            documents.classes[here],
            training.statistics.n_classes,
            separate=parameters["covariance"] == "separate",
            shape=parameters["covariance_shape"],
            shrinkage=None if parameters["shrinkage"] == "auto" else parameters["shrinkage"],
        )
        return cls(training, space, numbers, GaussianClasses(_rounded(gaussians.means), _rounded(gaussians.roots)))

    @cached_property
    def prior(self) -> Floats:
        """π_k, shape (n_classes,)."""
        return class_prior(self.training.parameters["class_prior"], self.training.statistics)

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> tuple[Floats, NDArray[np.int64]]:
        """log π_k + log N(x | μ_k, Σ_k), and the tokens and numbers that count; for a document without features log π_k."""
        features, lengths, here = features_of(matrix, self.space, self.numbers)
        with np.errstate(divide="ignore"):
            scores = np.tile(np.log(self.prior), (matrix.n_documents, 1))
        scores[here] += self.gaussians.log_density(features[here])
        return scores, lengths

    def boundary(self) -> Boundary:
        """The linear boundaries between classes, in latent features and then numbers as they are; raises `UsageError` with separate covariances."""
        weights, bias = self.gaussians.boundary(self.prior)
        n_latent = self.space.projection.shape[1]
        of_numbers = weights[:, n_latent:] / self.numbers.scales
        return Boundary(np.hstack((weights[:, :n_latent], of_numbers)), bias - of_numbers @ self.numbers.centres)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """V, the means, and the roots of the inverse covariances, triangular ones without their zeros; all in float32."""
        roots = self.gaussians.roots
        if roots.ndim == 3:
            roots = roots[:, *np.triu_indices(roots.shape[1])]
        kept: dict[str, NDArray[Any]] = {"projection": self.space.projection, "means": self.gaussians.means, "roots": roots}
        return {name: array.astype(np.float32).ravel() for name, array in kept.items()}

    @classmethod
    def restored(cls, training: Training, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The model that kept these arrays, empty ones left out; raises `ModelError` if none could have."""
        _require(set(arrays) <= {"projection", "means", "roots"}, "what it keeps of Gaussian classes has other names")
        parameters, n_classes = training.parameters, training.statistics.n_classes
        projection, means, roots = (arrays.get(name, np.empty(0)) for name in ("projection", "means", "roots"))
        numbers = StandardNumbers.of(training.statistics)
        known = latent_terms(training.statistics, training.selected, parameters["latent"])
        n_known, n_features = int(np.count_nonzero(known)), means.size // n_classes
        n_latent = n_features - numbers.centres.size
        n_roots = n_classes if parameters["covariance"] == "separate" else 1
        full = parameters["covariance_shape"] == "full"
        _require(means.size == n_classes * n_features and 0 <= n_latent <= parameters["latent"], "its means do not fit its classes")
        _require(projection.size == n_known * n_latent, "its projection does not fit its terms")
        _require(
            roots.size == n_roots * (n_features * (n_features + 1) // 2 if full else n_features), "its covariances do not fit its means"
        )
        means = means.astype(np.float64).reshape(n_classes, n_features)
        latent_means, of_numbers = np.abs(means[:, :n_latent]), np.abs(means[:, n_latent:])
        _require(
            bool(np.all(np.abs(projection) <= 1 + ROUNDING) and np.all(latent_means <= 1 + ROUNDING)), "its latent features are too long"
        )
        _require(bool(np.all(of_numbers <= LARGEST_ROOT)), "its means are too large")
        _require(bool(np.all(np.abs(roots) <= LARGEST_ROOT)), "its covariances are none")
        roots = roots.astype(np.float64).reshape(n_roots, roots.size // n_roots)
        if full:
            triangular = np.zeros((n_roots, n_features, n_features))
            triangular[:, *np.triu_indices(n_features)] = roots
            roots = triangular
        diagonals = np.diagonal(roots, axis1=1, axis2=2) if full else roots
        _require(bool(np.all(diagonals >= 1 / LARGEST_ROOT)), "its covariances are none")
        space = LatentSpace(training.statistics, known, projection.astype(np.float32).reshape(n_known, n_latent))
        return cls(training, space, numbers, GaussianClasses(means, roots))


@dataclass(frozen=True, eq=False)
class StandardNumbers:
    """The numbers beside texts less their mean, in units of their standard deviation, over the whole corpus; shapes (n_columns,)."""

    centres: Floats
    scales: Floats

    @classmethod
    def of(cls, statistics: ClassStatistics) -> Self:
        """Those of a corpus; a number that is the same everywhere has the scale 1."""
        if statistics.moments is None:
            return cls(np.empty(0), np.empty(0))
        from nbtext.classifiers.normal import mean_and_variance

        _, of_numbers = statistics.moments.parted(len(statistics.attributes.counts))
        mean, variance = mean_and_variance(of_numbers.total())
        return cls(mean[0], np.sqrt(np.where(variance[0] > 0, variance[0], 1.0)))

    def features(self, matrix: DocumentTermMatrix) -> Floats:
        """The standard numbers of documents, shape (n_docs, n_columns), nan for missing ones, none beyond `FARTHEST`."""
        if matrix.values is None:
            return np.empty((matrix.n_documents, 0))
        with np.errstate(over="ignore"):
            values = (matrix.values[:, matrix.values.shape[1] - self.centres.size :] - self.centres) / self.scales
        return np.asarray(np.clip(values, -FARTHEST, FARTHEST))


def features_of(
    matrix: DocumentTermMatrix, space: LatentSpace, numbers: StandardNumbers
) -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]:
    """Latent features and standard numbers, shape (n_docs, n_features), the tokens and numbers that count, and which documents have all of them.

    A document is left to the prior if it has no term that counts, where there are any, or lacks a number.
    """
    latent, lengths = space.features(matrix)
    standard = numbers.features(matrix)
    here = np.asarray(~np.isnan(standard).any(axis=1))
    here &= latent.any(axis=1) if latent.shape[1] else standard.shape[1] > 0
    return np.hstack((latent, standard)), lengths + here * standard.shape[1], here


def _rounded(numbers: Floats) -> Floats:
    """To what float32 holds: the last digits depend on the machine, and so would the bytes of a model file."""
    return numbers.astype(np.float32).astype(np.float64)


def _check_size(parameters: Mapping[str, object], n_classes: int, n_features: int) -> None:
    n_roots = n_classes if parameters["covariance"] == "separate" else 1
    if n_roots * (n_features**2 if parameters["covariance_shape"] == "full" else n_features) > MOST_ROOTS:
        raise UsageError(
            f"{counted(n_roots, 'covariance')} of {counted(n_features, 'feature')} {'is' if n_roots == 1 else 'are'} too many",
            hint="use --covariance shared, another shape, or a smaller --latent",
        )


def _require(condition: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not condition:
        raise ModelError(f"the model is malformed: {otherwise}")
