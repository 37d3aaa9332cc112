"""Gaussian discriminant analysis: in every class the features have a normal distribution.

log p(d, C_k) = log π_k + log N(x_d | μ_k, Σ_k), where x_d are the latent features of the text and
the numeric attributes. A shared covariance makes linear boundaries (linear discriminant analysis),
separate covariances make quadratic boundaries. Separate and diagonal covariances are Gaussian naive
Bayes. The model needs all documents, so it cannot be updated. Sources: Gambosi's notes,
probabilistic classification; T. Hastie, R. Tibshirani, J. Friedman, The elements of statistical
learning (2009), section 4.3.

Covariances are shrunk, so that they have an inverse for few documents too. The shared covariance
S = Σ_d (x_d − μ_k(d))(x_d − μ_k(d))ᵀ / D is shrunk towards a sphere:
Σ = (1 − w) S + w (tr S / p) I (O. Ledoit, M. Wolf, A well-conditioned estimator for
large-dimensional covariance matrices, 2004).
The covariance of a class is shrunk towards the shared covariance, by a prior worth ν documents:
Σ_k = (D_k S_k + ν Σ)/(D_k + ν) (J. Friedman, Regularized discriminant analysis, 1989; K. Murphy,
Machine learning, 2012, section 4.6.2.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from nbtext.classifiers.attribute_likelihoods import NumberStandardizer
from nbtext.classifiers.base import (
    Classifier,
    Training,
    compute_component_fits,
    get_classifier_parameters,
    iter_attribute_scores,
)
from nbtext.counts.latent import LatentSpace, select_latent_terms
from nbtext.counts.matrix import MAX_BLOCK_TERM_WEIGHTS, DocumentTermMatrix, iter_blocks
from nbtext.errors import UsageError, format_quantity, require_valid_model
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.classifiers.inspection import ClassBoundaries, ClassifierParameters
    from nbtext.language_model.measures import ComponentFit
    from nbtext.settings import Settings
    from nbtext.type_names import AnyArray, Arrays, Floats, Ints, Mask, Numbers, ScoresAndTokens

MIN_VARIANCE_RATIO = 1e-13
"""A covariance has no inverse if a variance is below this ratio to the largest variance."""

MEAN_ROUNDING = 1e-14
"""Relative rounding error of a mean."""

UNSCALED_SHAPE = "spherical-unscaled"
"""The shape of Σ = λI for numbers in their own units."""

PRIOR_DOCUMENTS_PER_FEATURE = 5
"""ν divided by the number of features: the best of 0.5, 1, 2 and 5 on latent features."""

MAX_COVARIANCE_NUMBERS = 1 << 26
"""Numbers in all covariances: 512 MiB."""

MAX_PARAMETER = 1e30
"""Largest mean of a number, or element of a root, in a model file."""

ARRAY_NAMES = ("projection", "means", "roots")
"""Names of the arrays in the model file."""

LATENT_ROUNDING = 1e-6
"""Vectors of latent features in a model file have a length up to 1 plus this rounding error."""


def estimate_covariances(
    centred: Floats,
    features: Floats,
    classes: Ints,
    n_classes: int,
    *,
    separate: bool,
    shape: str,
    shrinkage: float | None,
) -> Floats:
    """Return Σ, or Σ_k of each class if ``separate``.

    ``centred`` are the ``features`` minus the means of the classes. The result has the shape
    (n, n_features, n_features) for the covariance shape ``full``, and (n, n_features) for
    ``diagonal`` and ``spherical``, with n = 1 or n_classes.

    ``shrinkage`` is both w and ν / (D_k + ν). 0 is maximum likelihood. None uses the w of Ledoit
    and Wolf and ν = `PRIOR_DOCUMENTS_PER_FEATURE` · n_features.
    """
    moments = compute_second_moments(centred, shape)
    weight = shrinkage
    if weight is None:
        weight = compute_ledoit_wolf_weight(centred, moments)
    shared = (1 - weight) * moments + weight * _make_sphere(moments, features, shape)
    if not separate:
        return shared[np.newaxis]

    covariances = np.empty((n_classes, *shared.shape))
    prior_documents = PRIOR_DOCUMENTS_PER_FEATURE * centred.shape[1]
    for label_index in range(n_classes):
        rows = np.flatnonzero(classes == label_index)
        if not rows.size:
            covariances[label_index] = shared
            continue
        class_weight = shrinkage
        if class_weight is None:
            class_weight = prior_documents / (rows.size + prior_documents)
        class_moments = compute_second_moments(centred[rows], shape)
        covariances[label_index] = (1 - class_weight) * class_moments + class_weight * shared
    return covariances


def _compute_rounding_variance(features: Floats) -> float:
    """Return the largest variance that rounding of the mean may give to equal numbers."""
    return float((MEAN_ROUNDING * np.abs(features).max(initial=0.0)) ** 2)


def compute_second_moments(centred: Floats, shape: str) -> Floats:
    """Return S of features with mean 0, which is 0 without documents.

    The result has the shape (n_features, n_features) for ``full``. For ``diagonal`` and
    ``spherical`` it has (n_features,) and contains the variances, or their mean for all features.
    """
    n_documents = max(len(centred), 1)
    if shape == "full":
        return centred.T @ centred / n_documents
    variances: Floats = (centred**2).sum(axis=0) / n_documents
    if shape == "spherical" and variances.size:
        return np.full_like(variances, variances.mean())
    return variances


def compute_ledoit_wolf_weight(centred: Floats, moments: Floats) -> float:
    """Return w = min(b², d²) / d², with b² = Σ_d |x_d x_dᵀ − S|² / D² and d² = |S − (tr S / p) I|².

    ``moments`` are S, or only the variances on its diagonal. w is at least 1 / (D + 1), because b²
    is 0 for two documents. Source: Ledoit and Wolf (2004), lemma 3.2 and following.
    """
    n_documents, n_features = centred.shape
    squares = centred**2
    if moments.ndim == 1:
        fourth_moment = float((squares**2).sum())
        trace = float(moments.sum())
    else:
        fourth_moment = float((squares.sum(axis=1) ** 2).sum())
        trace = float(np.trace(moments))
    squared_norm = float((moments**2).sum())
    divisor = max(n_documents, 1)
    noise = max(fourth_moment / divisor - squared_norm, 0.0) / divisor  # b²
    signal = squared_norm - trace**2 / max(n_features, 1)  # d²
    if not signal > 0:
        return 1.0
    return max(min(noise / signal, 1.0), 1 / (n_documents + 1))


def _make_sphere(moments: Floats, features: Floats, shape: str) -> Floats:
    """Return the target of shrinkage, (tr S / p) I, in the shape of ``moments``.

    If features do not vary within classes, the variance of all documents replaces tr S / p. If this
    variance is also 0, 1 replaces it.
    """
    n_features = features.shape[1]
    trace = moments.sum()
    if shape == "full":
        trace = np.trace(moments)
    variance = float(trace) / max(n_features, 1)
    rounding_variance = _compute_rounding_variance(features)
    if variance <= rounding_variance:
        variance = 0.0
        if features.size:
            variance = float(features.var(axis=0).mean())
        if variance <= rounding_variance:
            variance = 1.0
    if shape == "full":
        return variance * np.eye(n_features)
    return variance * np.ones(n_features)


@dataclass(frozen=True, eq=False)
class GaussianClasses:
    """Normal distributions p(x | C_k) = N(x | μ_k, Σ_k) of real features.

    Covariances are stored as roots of their inverses.
    """

    means: Floats
    """μ_k, shape (n_classes, n_features)."""
    roots: Floats
    """U with Σ⁻¹ = U Uᵀ: upper triangular, shape (n, n_features, n_features).

    For a diagonal Σ the array contains the diagonals of U, shape (n, n_features). n is 1 if all
    classes share one covariance, else n_classes.
    """

    @classmethod
    def estimate(
        cls,
        features: Floats,
        classes: Ints,
        n_classes: int,
        *,
        separate: bool,
        shape: str,
        shrinkage: float | None,
    ) -> Self:
        """Estimate the distributions from documents.

        ``features`` have the shape (n_docs, n_features), ``classes`` (n_docs,). The keyword
        arguments are explained in `estimate_covariances`. A class without documents gets the mean
        of all documents and the shared covariance.

        Raise `UsageError` if a covariance has no inverse.
        """
        means = _compute_class_means(features, classes, n_classes)
        covariances = estimate_covariances(
            features - means[classes],
            features,
            classes,
            n_classes,
            separate=separate,
            shape=shape,
            shrinkage=shrinkage,
        )
        roots = _compute_inverse_roots(covariances, _compute_rounding_variance(features))
        return cls(means, roots)

    @property
    def shares_covariance(self) -> bool:
        """True if all classes have one covariance, so that boundaries are linear."""
        return len(self.roots) == 1

    @property
    def is_diagonal(self) -> bool:
        """True if roots are stored as diagonals."""
        return self.roots.ndim == 2

    def compute_log_density(self, features: Floats) -> Floats:
        """Return log N(x | μ_k, Σ_k), shape (n_docs, n_classes), in nats.

        It is −½ [p log 2π + log |Σ_k| + (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k)].
        """
        diagonals = _get_diagonals(self.roots)
        half_log_determinants = -np.log(diagonals).sum(axis=1)
        constant = self.means.shape[1] * np.log(2 * np.pi)
        return -0.5 * (constant + self._compute_distances(features)) - half_log_determinants

    def draw(self, label_index: int, random: np.random.Generator) -> Floats:
        """Draw x = μ_k + U⁻ᵀz from N(μ_k, Σ_k), with z ~ N(0, I), shape (n_features,)."""
        root = self.roots[0]
        if not self.shares_covariance:
            root = self.roots[label_index]
        noise = random.standard_normal(self.means.shape[1])
        mean = self.means[label_index]
        if self.is_diagonal:
            return mean + noise / root
        return mean + np.linalg.solve(root.T, noise)

    def compute_boundary(self, prior: Floats) -> ClassBoundaries:
        """Return the boundaries under class priors π, shape (n_classes,).

        w_k = Σ_k⁻¹ μ_k and w_k0 = −½ μ_kᵀ Σ_k⁻¹ μ_k + log π_k. So for two classes with one
        covariance, w_1 − w_2 = Σ⁻¹ (μ_1 − μ_2). Separate covariances also have W_k = −½ Σ_k⁻¹, and
        −½ log |Σ_k| in w_k0.
        """
        from nbtext.classifiers.inspection import ClassBoundaries

        bias = log(prior)
        matrices = None
        if not self.shares_covariance:
            inverses = self.compute_inverses()
            weights = np.einsum("kpq,kq->kp", inverses, self.means)  # Σ_k⁻¹ μ_k
            matrices = -0.5 * inverses
            _, log_determinants = np.linalg.slogdet(inverses)
            bias = bias + log_determinants / 2
        elif self.is_diagonal:
            weights = self.means * self.roots[0] ** 2
        else:
            weights = self.means @ self.roots[0] @ self.roots[0].T
        bias = bias - 0.5 * (weights * self.means).sum(axis=1)
        return ClassBoundaries(weights, bias, matrices)

    def compute_inverses(self) -> Floats:
        """Return Σ⁻¹ = U Uᵀ, shape (n, n_features, n_features)."""
        roots = self.roots
        if self.is_diagonal:
            roots = roots[:, np.newaxis] * np.eye(roots.shape[1])
        return roots @ np.swapaxes(roots, 1, 2)

    def _compute_distances(self, features: Floats) -> Floats:
        """Return |Uᵀ(x − μ_k)|², shape (n_docs, n_classes)."""
        if self.shares_covariance:
            return self._compute_shared_distances(features)
        n_classes = len(self.means)
        distances = np.empty((len(features), n_classes))
        for classes in iter_blocks(np.arange(n_classes), features.size, MAX_BLOCK_TERM_WEIGHTS):
            differences = features[np.newaxis] - self.means[classes, np.newaxis]
            whitened = _multiply_by_root(differences, self.roots[classes])
            # Shapes: k classes, n documents, p features.
            distances[:, classes] = np.einsum("knp,knp->nk", whitened, whitened)
        return distances

    def _compute_shared_distances(self, features: Floats) -> Floats:
        """Return |Uᵀ(x − μ_k)|² for one U, as |Uᵀx|² − 2 (Uᵀx)ᵀ(Uᵀμ_k) + |Uᵀμ_k|²."""
        # Relative to the middle of the means, rounding loses little.
        middle = self.means.mean(axis=0)
        points = _multiply_by_root(features - middle, self.roots[0])
        means = _multiply_by_root(self.means - middle, self.roots[0])
        point_squares = (points**2).sum(axis=1, keepdims=True)
        squares: Floats = point_squares - 2 * points @ means.T + (means**2).sum(axis=1)
        return np.maximum(squares, 0.0)  # rounding may leave −1e-16


def _get_diagonals(roots: Floats) -> Floats:
    """Return the diagonal of each root, shape (n, n_features)."""
    if roots.ndim == 2:
        return roots
    return np.diagonal(roots, axis1=1, axis2=2)


def _compute_class_means(features: Floats, classes: Ints, n_classes: int) -> Floats:
    """Return μ_k, the mean of the documents of class k, shape (n_classes, n_features).

    A class without documents gets the mean of all documents.
    """
    order = np.argsort(classes, kind="stable")
    # The documents of a class are now in a row.
    present, starts, sizes = np.unique(classes[order], return_index=True, return_counts=True)
    means = np.zeros((n_classes, features.shape[1]))
    if len(features):
        means[:] = features.mean(axis=0)
        means[present] = np.add.reduceat(features[order], starts, axis=0) / sizes[:, np.newaxis]
    return means


def _multiply_by_root(rows: Floats, root: Floats) -> Floats:
    """Return rows times U.

    For one U, rows have the shape (n_docs, n_features). For a U of each class, they have
    (n_classes, n_docs, n_features). Diagonal roots have one dimension less than triangular roots.
    """
    is_diagonal = root.ndim < rows.ndim
    if is_diagonal:
        return rows * root[..., np.newaxis, :]
    return rows @ root


def _compute_inverse_roots(covariances: Floats, min_variance: float) -> Floats:
    """Return U of each covariance, in the shapes of `GaussianClasses.roots`.

    Raise `UsageError` if a covariance has no inverse. Then the variance of a feature, given all
    other features, is at most ``min_variance``, or `MIN_VARIANCE_RATIO` of the largest variance.
    """
    error = UsageError(
        "a covariance cannot be inverted: too few documents for so many features",
        hint="use --set shrinkage=auto, a larger one, or fewer dimensions",
    )
    if covariances.ndim == 2:
        if not _are_above_rounding(covariances, min_variance):
            raise error
        return 1 / np.sqrt(covariances)
    try:
        lower: Floats = np.linalg.cholesky(covariances).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        raise error from None
    # The squares of the diagonal are the variances, given all earlier features.
    if not _are_above_rounding(_get_diagonals(lower) ** 2, min_variance):
        raise error
    return np.triu(np.swapaxes(np.linalg.inv(lower), 1, 2))


def _are_above_rounding(variances: Floats, min_variance: float) -> bool:
    """Return True if all variances, shape (n, n_features), are above their rounding errors."""
    if not variances.size:
        return True
    relative_limit = MIN_VARIANCE_RATIO * variances.max(axis=1, keepdims=True)
    return bool(np.all(variances > np.maximum(relative_limit, min_variance)))


@dataclass(frozen=True, eq=False)
class GaussianDiscriminantAnalysis(Classifier):
    """A class prior π, a latent space, and a Gaussian for each class in it."""

    HAS_NUMBER_FEATURES: ClassVar[bool] = True

    latent_space: LatentSpace
    number_standardizer: NumberStandardizer
    gaussians: GaussianClasses

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Estimate the model from all documents.

        Raise `UsageError` if a covariance has no inverse, or the covariances are too large.
        """
        if training.documents is None:
            raise ValueError("--classifier gaussian needs the documents")
        statistics = training.statistics
        settings = training.settings
        documents = training.documents
        # Without a fixed order, rounding would depend on the order of the input.
        documents = documents.take(np.lexsort((documents.classes, documents.hashes)))
        latent_space = LatentSpace.from_documents(
            statistics, training.selected, documents.matrix, settings.latent
        )
        number_standardizer = _make_number_standardizer(training)
        n_features = latent_space.projection.shape[1] + number_standardizer.centres.size
        _require_covariances_fit(settings, statistics.n_classes, n_features)
        features, _, has_features = _compute_features(
            documents.matrix, latent_space, number_standardizer
        )
        shrinkage = None  # auto
        if not isinstance(settings.shrinkage, str):
            shrinkage = settings.shrinkage
        gaussians = GaussianClasses.estimate(
            features[has_features],
            documents.classes[has_features],
            statistics.n_classes,
            separate=settings.covariance == "separate",
            shape=_get_shape(settings),
            shrinkage=shrinkage,
        )
        rounded = GaussianClasses(
            _round_to_float32(gaussians.means), _round_to_float32(gaussians.roots)
        )
        return cls(training, latent_space, number_standardizer, rounded)

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return log π_k + log N(x | μ_k, Σ_k), shape (n_docs, n_classes), in nats.

        Numbers in the density are in their own units. A document without features gets log π_k.
        Also return how many tokens and numbers are used, shape (n_docs,).
        """
        features, lengths, has_features = _compute_features(
            matrix, self.latent_space, self.number_standardizer
        )
        scores = np.tile(self.log_prior, (matrix.n_documents, 1))
        log_density = self.gaussians.compute_log_density(features[has_features])
        # Features z are numbers x in units of their scale: log |dz/dx| = −Σ log scale.
        scores[has_features] += log_density - np.log(self.number_standardizer.scales).sum()
        return scores, lengths

    def to_arrays(self) -> Arrays:
        """Return the projection, means and roots as flat float32 arrays.

        Triangular roots are stored without their zeros.
        """
        roots = self.gaussians.roots
        if not self.gaussians.is_diagonal:
            roots = roots[:, *np.triu_indices(roots.shape[1])]
        arrays: tuple[Numbers, ...] = (self.latent_space.projection, self.gaussians.means, roots)
        return {
            name: array.astype(np.float32).ravel()
            for name, array in zip(ARRAY_NAMES, arrays, strict=True)
        }

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Restore the model from the result of `to_arrays`. Empty arrays may be missing.

        Raise `ModelError` if the arrays cannot come from `to_arrays`.
        """
        require_valid_model(
            set(arrays) <= set(ARRAY_NAMES), "its arrays of Gaussian classes have other names"
        )
        settings = training.settings
        n_classes = training.statistics.n_classes
        projection, means, roots = (arrays.get(name, np.empty(0)) for name in ARRAY_NAMES)
        number_standardizer = _make_number_standardizer(training)
        used_terms = select_latent_terms(training.statistics, training.selected, settings.latent)
        n_terms = int(np.count_nonzero(used_terms))
        n_features = means.size // n_classes
        n_latent = n_features - number_standardizer.centres.size
        require_valid_model(
            means.size == n_classes * n_features and 0 <= n_latent <= settings.latent,
            "its means do not fit its classes",
        )
        require_valid_model(
            projection.size == n_terms * n_latent, "its projection does not fit its terms"
        )
        n_roots = _count_covariances(settings, n_classes)
        numbers_per_root = n_features
        if settings.covariance_shape == "full":  # a triangle
            numbers_per_root = n_features * (n_features + 1) // 2
        require_valid_model(
            roots.size == n_roots * numbers_per_root, "its covariances do not fit its means"
        )
        means = means.astype(np.float64).reshape(n_classes, n_features)
        _require_valid_means(means, projection, n_latent)
        roots = _restore_roots(roots, n_roots, n_features, settings)
        latent_space = LatentSpace(
            training.statistics,
            used_terms,
            projection.astype(np.float32).reshape(n_terms, n_latent),
        )
        return cls(training, latent_space, number_standardizer, GaussianClasses(means, roots))


def _require_covariances_fit(settings: Settings, n_classes: int, n_features: int) -> None:
    """Raise `UsageError` if covariances have more than `MAX_COVARIANCE_NUMBERS` numbers."""
    n_covariances = _count_covariances(settings, n_classes)
    numbers_per_covariance = n_features
    if settings.covariance_shape == "full":
        numbers_per_covariance = n_features**2
    if n_covariances * numbers_per_covariance <= MAX_COVARIANCE_NUMBERS:
        return
    verb = "are"
    if n_covariances == 1:
        verb = "is"
    raise UsageError(
        f"{format_quantity(n_covariances, 'covariance')} of "
        f"{format_quantity(n_features, 'feature')} {verb} too many",
        hint="use --set covariance=shared, another shape, or a smaller --set latent=N",
    )


def _round_to_float32(numbers: Floats) -> Floats:
    """Return numbers of float32 precision.

    Further digits depend on the machine, and so would the bytes of a model file. Raise `UsageError`
    if a number is above `MAX_PARAMETER`.
    """
    if not np.all(np.abs(numbers) <= MAX_PARAMETER):
        raise UsageError(
            "the numbers are too large or too small without a scale",
            hint="use --set covariance-shape=spherical",
        )
    return numbers.astype(np.float32).astype(np.float64)


def _require_valid_means(means: Floats, projection: Numbers, n_latent: int) -> None:
    """Raise `ModelError` if means or the projection in a model file are too large.

    The first ``n_latent`` features are latent, all others are numbers.
    """
    magnitudes = np.abs(means)
    max_latent = 1 + LATENT_ROUNDING
    require_valid_model(
        np.all(np.abs(projection) <= max_latent) and np.all(magnitudes[:, :n_latent] <= max_latent),
        "its latent features are too long",
    )
    require_valid_model(
        np.all(magnitudes[:, n_latent:] <= MAX_PARAMETER), "its means are too large"
    )


def _restore_roots(
    flat_roots: AnyArray, n_roots: int, n_features: int, settings: Settings
) -> Floats:
    """Return the roots of a model file in the shapes of `GaussianClasses.roots`.

    Raise `ModelError` if they are too large, or a diagonal element is too small.
    """
    roots: Floats = flat_roots.astype(np.float64)
    roots = roots.reshape(n_roots, flat_roots.size // n_roots)
    if settings.covariance_shape == "full":
        triangular = np.zeros((n_roots, n_features, n_features))
        triangular[:, *np.triu_indices(n_features)] = roots
        roots = triangular
    require_valid_model(
        np.all(np.abs(roots) <= MAX_PARAMETER)
        and np.all(_get_diagonals(roots) >= 1 / MAX_PARAMETER),
        "its covariances are impossible",
    )
    return roots


def _make_number_standardizer(training: Training) -> NumberStandardizer:
    """Return the standardiser of numeric attributes. For `UNSCALED_SHAPE` their scale is 1."""
    return NumberStandardizer.from_statistics(
        training.statistics,
        first_column=len(training.statistics.attributes.counts),
        scaled=training.settings.covariance_shape != UNSCALED_SHAPE,
    )


def _compute_features(
    matrix: DocumentTermMatrix, latent_space: LatentSpace, number_standardizer: NumberStandardizer
) -> tuple[Floats, Ints, Mask]:
    """Return the features of documents, their lengths, and a mask of documents with features.

    The features, shape (n_docs, n_features), are latent features, then standardised numbers. The
    lengths, shape (n_docs,), are used tokens and numbers. A document that lacks a number, or
    all terms of the latent space, has no features.
    """
    latent, lengths = latent_space.project(matrix)
    numbers = number_standardizer.standardize(matrix)
    n_numbers = numbers.shape[1]
    has_features = np.asarray(~np.isnan(numbers).any(axis=1))
    has_latent_space = latent.shape[1] > 0
    if has_latent_space:
        has_features &= latent.any(axis=1)
    else:
        has_features &= n_numbers > 0
    return np.hstack((latent, numbers)), lengths + has_features * n_numbers, has_features


def _get_shape(settings: Settings) -> str:
    """Return the shape of covariances without its scale: full, diagonal or spherical."""
    return settings.covariance_shape.removesuffix("-unscaled")


def _count_covariances(settings: Settings, n_classes: int) -> int:
    """Return the number of covariances, 1 or one for each class."""
    if settings.covariance == "separate":
        return n_classes
    return 1


@iter_attribute_scores.register(GaussianDiscriminantAnalysis)
def iter_number_scores(
    classifier: GaussianDiscriminantAnalysis,
    matrix: DocumentTermMatrix,
) -> Iterator[Floats]:
    """Yield the contribution of each number of one document, shape (n_classes,), in nats.

    It is the difference of the scores when the corpus mean replaces the number.
    """
    if matrix.values is None:
        return
    centres = classifier.number_standardizer.centres
    n_columns = matrix.values.shape[1]
    scores, _ = classifier.joint_log_likelihood(matrix)
    number_columns = range(n_columns - centres.size, n_columns)
    for column, mean in zip(number_columns, centres, strict=True):
        values = matrix.values.copy()
        values[0, column] = mean
        mean_scores, _ = classifier.joint_log_likelihood(matrix._replace(values=values))
        yield scores[0] - mean_scores[0]


@get_classifier_parameters.register(GaussianDiscriminantAnalysis)
def get_gaussian_parameters(classifier: GaussianDiscriminantAnalysis) -> ClassifierParameters:
    """Return the boundaries between classes."""
    from nbtext.classifiers.inspection import ClassifierParameters

    return ClassifierParameters(boundaries=compute_gaussian_boundary(classifier))


def compute_gaussian_boundary(classifier: GaussianDiscriminantAnalysis) -> ClassBoundaries | None:
    """Return the boundaries in latent features and in numbers, which are in their own units.

    Without latent features, include means and covariances. Return None for quadratic boundaries in
    latent features, which nobody could read.
    """
    n_latent = classifier.latent_space.projection.shape[1]
    gaussians = classifier.gaussians
    standardizer = classifier.number_standardizer
    if n_latent and not gaussians.shares_covariance:
        return None
    scales = np.append(np.ones(n_latent), standardizer.scales)
    centres = np.append(np.zeros(n_latent), standardizer.centres)
    root_scales = scales[:, np.newaxis]
    if gaussians.is_diagonal:
        root_scales = scales
    unscaled = GaussianClasses(gaussians.means * scales + centres, gaussians.roots / root_scales)
    boundary = unscaled.compute_boundary(classifier.prior)
    if n_latent:
        return boundary
    covariances = np.linalg.inv(unscaled.compute_inverses()).astype(np.float64)
    return boundary._replace(means=unscaled.means, covariances=covariances)


@compute_component_fits.register(GaussianDiscriminantAnalysis)
def measure_gaussian_fits(classifier: GaussianDiscriminantAnalysis) -> list[ComponentFit]:
    """Return the fit of maximum-likelihood Gaussians to the features of all documents.

    Numbers are in their own units. With K classes and p features, |θ| = K·p + p(p + 1)/2 for a full
    shared covariance, and K·p + K·p(p + 1)/2 for separate ones. Raise `UsageError` if the model
    does not contain all documents, or a covariance has no inverse.
    """
    from nbtext.language_model.measures import ComponentFit, MaximumLikelihoodFit

    training = classifier.training
    documents = training.require_all_documents()
    settings = training.settings
    n_classes = training.statistics.n_classes
    standardizer = classifier.number_standardizer
    features, _, has_features = _compute_features(
        documents.matrix, classifier.latent_space, standardizer
    )
    features = features[has_features]
    classes = documents.classes[has_features]
    shape = _get_shape(settings)
    try:
        unshrunk = GaussianClasses.estimate(
            features,
            classes,
            n_classes,
            separate=settings.covariance == "separate",
            shape=shape,
            shrinkage=0.0,
        )
    except UsageError:
        raise UsageError(
            "AIC and BIC are not defined, because a covariance cannot be inverted",
            hint="use fewer features or a simpler covariance",
        ) from None
    log_densities = unshrunk.compute_log_density(features)
    true_log_densities = log_densities[np.arange(classes.size), classes]
    log_likelihoods = true_log_densities - np.log(standardizer.scales).sum()
    p = features.shape[1]
    n_covariance_parameters = {"full": p * (p + 1) // 2, "diagonal": p, "spherical": 1}[shape]
    n_covariances = _count_covariances(settings, n_classes)
    fit = MaximumLikelihoodFit(
        float(log_likelihoods.sum()),
        n_parameters=n_classes * p + n_covariances * n_covariance_parameters,
        n_observations=classes.size,
    )
    return [ComponentFit("features", evidence=None, fit=fit)]
