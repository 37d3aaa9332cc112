"""Gaussian discriminant analysis: in every class the features of a document have a normal distribution.

log p(d, C_k) = log π_k + log N(x_d | μ_k, Σ_k), x_d the latent features of the text and the numbers beside it. A shared covariance makes
linear boundaries (linear discriminant analysis), separate ones quadratic; separate and diagonal is Gaussian naive Bayes. Latent features
and covariances need all documents, so the model cannot be updated. Sources: Gambosi's notes, probabilistic classification; T. Hastie,
R. Tibshirani, J. Friedman, The elements of statistical learning (2009), section 4.3.

Covariances are shrunk towards simpler ones, to have an inverse with few documents too. The shared covariance of maximum likelihood,
S = Σ_d (x_d − μ_k(d))(x_d − μ_k(d))ᵀ / D, is shrunk towards a sphere with the same mean variance: Σ = (1 − w) S + w (tr S / p) I, with w by
O. Ledoit, M. Wolf, A well-conditioned estimator for large-dimensional covariance matrices (2004). The covariance of a class is shrunk
towards the shared one, as by a prior worth ν documents: Σ_k = (D_k S_k + ν Σ)/(D_k + ν). Sources: J. Friedman, Regularized discriminant
analysis (1989); K. Murphy, Machine learning (2012), section 4.6.2.1, for ν.
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

    from nbtext.classifiers.inspection import Boundary, ClassifierParameters
    from nbtext.language_model.measures import ComponentFit
    from nbtext.settings import Settings
    from nbtext.type_names import Arrays, Floats, Ints, Mask, Numbers, ScoresAndTokens

SINGULAR = 1e-13
"""A covariance with a variance below this part of its largest has no inverse."""

MEAN_ROUNDING = 1e-14
"""Relative rounding error of a mean."""

UNSCALED = "spherical-unscaled"
"""The shape of Σ = λI for numbers in their own units."""

PRIOR_DOCUMENTS_PER_FEATURE = 5
"""ν by the number of features. Of 0.5, 1, 2 and 5, on latent features, the last has the lowest log loss on three corpora and the best accuracy on 20 Newsgroups."""

MAX_COVARIANCE_NUMBERS = 1 << 26
"""Numbers that covariances may take in all: 512 MiB."""

LARGEST_ROOT = 1e30
"""Largest mean or root in a model file."""

KEPT = ("projection", "means", "roots")
"""The arrays in the model file."""

LATENT_ROUNDING = 1e-6
"""How much longer than 1 latent features in a model file may be."""


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
    """Return Σ, or one for each class, shape (n, n_features, n_features); for the shapes diagonal and spherical (n, n_features).

    ``centred`` are the features less the means of the classes, ``shape`` is ``full``, ``diagonal`` or ``spherical``. ``shrinkage`` is w, and also used as ν / (D_k + ν); 0 is maximum likelihood,
    None means Ledoit and Wolf's w and ν = `PRIOR_DOCUMENTS_PER_FEATURE` · n_features.
    """
    ml = compute_second_moments(centred, shape)
    weight = compute_ledoit_wolf_weight(centred, ml) if shrinkage is None else shrinkage
    shared = (1 - weight) * ml + weight * _sphere(ml, features, shape)
    if not separate:
        return shared[np.newaxis]
    found = np.empty((n_classes, *shared.shape))
    order = np.argsort(classes, kind="stable")
    sizes = np.bincount(classes, minlength=n_classes)
    prior_documents = PRIOR_DOCUMENTS_PER_FEATURE * centred.shape[1]
    for label, rows in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
        weight = (
            prior_documents / max(rows.size + prior_documents, 1)
            if shrinkage is None
            else shrinkage
        )
        found[label] = (
            (1 - weight) * compute_second_moments(centred[rows], shape) + weight * shared
            if rows.size
            else shared
        )
    return found


def _rounding_variance(features: Floats) -> float:
    """Return the variance that equal numbers of this size may seem to have because their mean is rounded."""
    return float((MEAN_ROUNDING * np.abs(features).max(initial=0.0)) ** 2)


def compute_second_moments(centred: Floats, shape: str) -> Floats:
    """Return S of features with mean 0, shape (n_features, n_features), or for the shapes diagonal and spherical the variances, (n_features,).

    Zeros without documents. Spherical: the mean of the variances, for all features.
    """
    n_documents = max(len(centred), 1)
    if shape == "full":
        return centred.T @ centred / n_documents
    variances: Floats = (centred**2).sum(axis=0) / n_documents
    return (
        np.full_like(variances, variances.mean())
        if shape == "spherical" and variances.size
        else variances
    )


def compute_ledoit_wolf_weight(centred: Floats, moments: Floats) -> float:
    """Return w = min(b², d²) / d², b² = Σ_d |x_d x_dᵀ − S|² / D² and d² = |S − (tr S / p) I|²; for variances on the diagonal alone.

    At least 1 / (D + 1), because b² is 0 for two documents. Source: Ledoit and Wolf (2004), lemma 3.2 and following.
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
    """Return the target (tr S / p) I; if the classes have no variance, with that of all documents, and if that is 0 too, with 1."""
    n_features = features.shape[1]
    least = _rounding_variance(features)
    variance = float(np.trace(moments) if shape == "full" else moments.sum()) / max(n_features, 1)
    if variance <= least:
        total = float(features.var(axis=0).mean()) if features.size else 0.0
        variance = total if total > least else 1.0
    return variance * (np.eye(n_features) if shape == "full" else np.ones(n_features))


@dataclass(frozen=True, eq=False)
class GaussianClasses:
    """Normal distributions p(x | C_k) = N(x | μ_k, Σ_k) of any real features, the Σ_k kept as roots of their inverses."""

    means: Floats
    """μ_k, shape (n_classes, n_features)."""
    roots: Floats
    """U with Σ⁻¹ = U Uᵀ: upper triangular, shape (n, n_features, n_features), or for a diagonal Σ its diagonal, shape (n, n_features).

    n is 1 where all classes share one covariance, else n_classes.
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
        """Return the distributions of documents with features, shape (n_docs, n_features), and class numbers, shape (n_docs,).

        ``shape`` and ``shrinkage`` are as in `covariances`. A class without documents gets the mean of all and the shared
        covariance. Raises `UsageError` if a covariance has no inverse.
        """
        means = _class_means(features, classes, n_classes)
        centred = features - means[classes]
        found = estimate_covariances(
            centred,
            features,
            classes,
            n_classes,
            separate=separate,
            shape=shape,
            shrinkage=shrinkage,
        )
        return cls(means, _roots_of_inverses(found, _rounding_variance(features)))

    @property
    def shares_covariance(self) -> bool:
        """True if boundaries are linear."""
        return len(self.roots) == 1

    def compute_log_density(self, features: Floats) -> Floats:
        """Return log N(x | μ_k, Σ_k) = −½ [p log 2π + log |Σ_k| + (x − μ_k)ᵀ Σ_k⁻¹ (x − μ_k)], shape (n_docs, n_classes), in nats."""
        diagonals = (
            self.roots if self.roots.ndim == 2 else np.diagonal(self.roots, axis1=1, axis2=2)
        )
        half_log_determinants = -np.log(diagonals).sum(axis=1)
        return (
            -0.5 * (self.means.shape[1] * np.log(2 * np.pi) + self._distances(features))
            - half_log_determinants
        )

    def draw(self, label: int, random: np.random.Generator) -> Floats:
        """Return x = μ_k + U⁻ᵀz for z ~ N(0, I), which is a draw from N(μ_k, Σ_k), shape (n_features,)."""
        root = self.roots[0 if self.shares_covariance else label]
        noise = random.standard_normal(self.means.shape[1])
        return self.means[label] + (
            noise / root if root.ndim == 1 else np.linalg.solve(root.T, noise)
        )

    def compute_boundary(self, prior: Floats) -> Boundary:
        """Return w_k = Σ_k⁻¹ μ_k and w_k0 = −½ μ_kᵀ Σ_k⁻¹ μ_k + log π_k under class priors π, shape (n_classes,).

        For two classes with one covariance w_1 − w_2 = Σ⁻¹ (μ_1 − μ_2). Separate covariances have W_k = −½ Σ_k⁻¹ too, and −½ log |Σ_k| in w_k0.
        """
        from nbtext.classifiers.inspection import Boundary

        bias = log(prior)
        matrices = None
        if self.shares_covariance:
            root = self.roots[0]
            weights = self.means * root**2 if root.ndim == 1 else self.means @ root @ root.T
        else:
            inverses = self.inverses()
            weights = np.einsum("kpq,kq->kp", inverses, self.means)
            matrices = -0.5 * inverses
            bias = bias + np.linalg.slogdet(inverses)[1] / 2
        return Boundary(weights, bias - 0.5 * (weights * self.means).sum(axis=1), matrices)

    def inverses(self) -> Floats:
        """Return Σ⁻¹ = U Uᵀ, shape (n, n_features, n_features)."""
        roots = (
            self.roots
            if self.roots.ndim == 3
            else self.roots[:, np.newaxis] * np.eye(self.roots.shape[1])
        )
        return roots @ np.swapaxes(roots, 1, 2)

    def _distances(self, features: Floats) -> Floats:
        """Return |Uᵀ(x − μ_k)|², shape (n_docs, n_classes)."""
        if self.shares_covariance:
            # Expanded to a product of matrices, about the middle of the means: little is lost to
            # rounding.
            middle = self.means.mean(axis=0)
            points, means = (
                _times(rows - middle, self.roots[0]) for rows in (features, self.means)
            )
            squares: Floats = (
                (points**2).sum(axis=1)[:, np.newaxis]
                - 2 * points @ means.T
                + (means**2).sum(axis=1)
            )
            return np.maximum(squares, 0.0)
        distances = np.empty((len(features), len(self.means)))
        for part in iter_blocks(np.arange(len(self.means)), features.size, MAX_BLOCK_TERM_WEIGHTS):
            whitened = _times(features[np.newaxis] - self.means[part, np.newaxis], self.roots[part])
            distances[:, part] = np.einsum("knp,knp->nk", whitened, whitened)
        return distances


def _class_means(features: Floats, classes: Ints, n_classes: int) -> Floats:
    """Return μ_k, the mean of the documents of class k, shape (n_classes, n_features); for a class without documents that of all."""
    order = np.argsort(classes, kind="stable")
    present, starts, sizes = np.unique(classes[order], return_index=True, return_counts=True)
    means = np.zeros((n_classes, features.shape[1]))
    if len(features):
        means[:] = features.mean(axis=0)
        means[present] = np.add.reduceat(features[order], starts, axis=0) / sizes[:, np.newaxis]
    return means


def _times(rows: Floats, root: Floats) -> Floats:
    """Return rows times U, one or several. Rows have one dimension more than diagonal roots, or as many as triangular ones."""
    return rows @ root if root.ndim == rows.ndim else rows * root[..., np.newaxis, :]


def _roots_of_inverses(covariances: Floats, least: float) -> Floats:
    """Return U of each covariance, full or diagonal, as in `GaussianClasses.roots`.

    Raises `UsageError` if one has no inverse: a variance, given the other features, of at most ``least`` or `SINGULAR` of the largest.
    """
    message = "a covariance has no inverse: there are too few documents for so many features"
    hint = "use --set shrinkage=auto, a larger one, or fewer dimensions"
    try:
        lower = covariances if covariances.ndim == 2 else np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        raise UsageError(message, hint=hint) from None
    variances = lower if lower.ndim == 2 else np.diagonal(lower, axis1=1, axis2=2) ** 2
    if variances.size and not np.all(
        variances > np.maximum(SINGULAR * variances.max(axis=1, keepdims=True), least)
    ):
        raise UsageError(message, hint=hint)
    return (
        1 / np.sqrt(variances)
        if lower.ndim == 2
        else np.triu(np.swapaxes(np.linalg.inv(lower), 1, 2))
    )


@dataclass(frozen=True, eq=False)
class GaussianDiscriminantAnalysis(Classifier):
    """A class prior π, a latent space, and a Gaussian for each class in it."""

    HAS_NUMBER_FEATURES: ClassVar[bool] = True

    latent_space: LatentSpace
    number_standardizer: NumberStandardizer
    gaussians: GaussianClasses

    @classmethod
    def estimate(cls, training: Training) -> Self:
        """Return the model of all documents; raise `UsageError` if a covariance has no inverse or the covariances are too many."""
        if training.documents is None:
            raise ValueError("--classifier gaussian needs the documents")
        statistics = training.statistics
        settings = training.settings
        documents = training.documents
        documents = documents.take(
            np.lexsort((documents.classes, documents.hashes))
        )  # rounding depends on the order
        space = LatentSpace.from_documents(
            statistics, training.selected, documents.matrix, settings.latent
        )
        numbers = _numbers_of(training)
        n_roots = _roots_of(settings, statistics.n_classes)
        n_features = space.projection.shape[1] + numbers.centres.size
        if (
            n_roots * (n_features**2 if settings.covariance_shape == "full" else n_features)
            > MAX_COVARIANCE_NUMBERS
        ):
            raise UsageError(
                f"{format_quantity(n_roots, 'covariance')} of {format_quantity(n_features, 'feature')} "
                f"{'is' if n_roots == 1 else 'are'} too many",
                hint="use --set covariance=shared, another shape, or a smaller --set latent=N",
            )
        features, _, here = _features_of(documents.matrix, space, numbers)
        gaussians = GaussianClasses.estimate(
            features[here],
            documents.classes[here],
            statistics.n_classes,
            separate=settings.covariance == "separate",
            shape=_shape(settings),
            shrinkage=None if isinstance(settings.shrinkage, str) else settings.shrinkage,
        )
        if not all(
            np.all(np.abs(part) <= LARGEST_ROOT) for part in (gaussians.means, gaussians.roots)
        ):
            raise UsageError(
                "the numbers are too large or too small without a scale",
                hint="use --set covariance-shape=spherical",
            )
        # to float32: the last digits depend on the machine, and so would the bytes of a model file
        rounded = (
            part.astype(np.float32).astype(np.float64)
            for part in (gaussians.means, gaussians.roots)
        )
        return cls(training, space, numbers, GaussianClasses(*rounded))

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        """Return log π_k + log N(x | μ_k, Σ_k), numbers in their own units, and the tokens and numbers that count; for a document without features log π_k."""
        features, lengths, here = _features_of(matrix, self.latent_space, self.number_standardizer)
        scores = np.tile(self.log_prior, (matrix.n_documents, 1))
        # numbers are features in units of their scale: log |dz/dx| = −Σ log scale
        scores[here] += (
            self.gaussians.compute_log_density(features[here])
            - np.log(self.number_standardizer.scales).sum()
        )
        return scores, lengths

    def to_arrays(self) -> Arrays:
        """Return V, the means, and the roots of the inverse covariances, triangular ones without their zeros; all in float32."""
        roots = self.gaussians.roots
        if roots.ndim == 3:
            roots = roots[:, *np.triu_indices(roots.shape[1])]
        kept: tuple[Numbers, ...] = self.latent_space.projection, self.gaussians.means, roots
        return {
            name: array.astype(np.float32).ravel() for name, array in zip(KEPT, kept, strict=True)
        }

    @classmethod
    def from_arrays(cls, training: Training, arrays: Arrays) -> Self:
        """Return the model that had these `arrays`, empty ones left out; raise `ModelError` if no model can have had them."""
        require_valid_model(
            set(arrays) <= set(KEPT), "what it keeps of Gaussian classes has other names"
        )
        settings = training.settings
        n_classes = training.statistics.n_classes
        projection, means, roots = (arrays.get(name, np.empty(0)) for name in KEPT)
        numbers = _numbers_of(training)
        known = select_latent_terms(training.statistics, training.selected, settings.latent)
        n_known = int(np.count_nonzero(known))
        n_features = means.size // n_classes
        n_latent = n_features - numbers.centres.size
        n_roots = _roots_of(settings, n_classes)
        full = settings.covariance_shape == "full"
        require_valid_model(
            means.size == n_classes * n_features and 0 <= n_latent <= settings.latent,
            "its means do not fit its classes",
        )
        require_valid_model(
            projection.size == n_known * n_latent, "its projection does not fit its terms"
        )
        require_valid_model(
            roots.size == n_roots * (n_features * (n_features + 1) // 2 if full else n_features),
            "its covariances do not fit its means",
        )
        means = means.astype(np.float64).reshape(n_classes, n_features)
        latent_means = np.abs(means[:, :n_latent])
        of_numbers = np.abs(means[:, n_latent:])
        require_valid_model(
            np.all(np.abs(projection) <= 1 + LATENT_ROUNDING)
            and np.all(latent_means <= 1 + LATENT_ROUNDING),
            "its latent features are too long",
        )
        require_valid_model(np.all(of_numbers <= LARGEST_ROOT), "its means are too large")
        roots = roots.astype(np.float64).reshape(n_roots, roots.size // n_roots)
        if full:
            triangular = np.zeros((n_roots, n_features, n_features))
            triangular[:, *np.triu_indices(n_features)] = roots
            roots = triangular
        diagonals = np.diagonal(roots, axis1=1, axis2=2) if full else roots
        require_valid_model(
            np.all(np.abs(roots) <= LARGEST_ROOT) and np.all(diagonals >= 1 / LARGEST_ROOT),
            "its covariances are impossible",
        )
        space = LatentSpace(
            training.statistics, known, projection.astype(np.float32).reshape(n_known, n_latent)
        )
        return cls(training, space, numbers, GaussianClasses(means, roots))


def _numbers_of(training: Training) -> NumberStandardizer:
    """Return the real numbers beside texts; in their own units for `UNSCALED`."""
    first = len(training.statistics.attributes.counts)
    return NumberStandardizer.from_statistics(
        training.statistics, first, scaled=training.settings.covariance_shape != UNSCALED
    )


def _features_of(
    matrix: DocumentTermMatrix, space: LatentSpace, numbers: NumberStandardizer
) -> tuple[Floats, Ints, Mask]:
    """Return latent features and standard numbers, shape (n_docs, n_features), the tokens and numbers that count, and which documents have all.

    A document that lacks a number, or has no term that counts although there are such terms, is left to the prior.
    """
    latent, lengths = space.project(matrix)
    standard = numbers.standardize(matrix)
    here = np.asarray(~np.isnan(standard).any(axis=1))
    here &= latent.any(axis=1) if latent.shape[1] else standard.shape[1] > 0
    return np.hstack((latent, standard)), lengths + here * standard.shape[1], here


def _shape(settings: Settings) -> str:
    """Return the shape of covariances without what it says of the units of numbers."""
    return settings.covariance_shape.removesuffix("-unscaled")


def _roots_of(settings: Settings, n_classes: int) -> int:
    return n_classes if settings.covariance == "separate" else 1


@iter_attribute_scores.register(GaussianDiscriminantAnalysis)
def number_summands(
    classifier: GaussianDiscriminantAnalysis,
    matrix: DocumentTermMatrix,
) -> Iterator[Floats]:
    """Yield for each number of one document its scores less those with the corpus's mean in its place, shape (n_classes,), in nats."""
    if matrix.values is None:
        return
    n_columns = matrix.values.shape[1]
    centres = classifier.number_standardizer.centres
    scores, _ = classifier.joint_log_likelihood(matrix)
    for column, mean in zip(range(n_columns - centres.size, n_columns), centres, strict=True):
        values = matrix.values.copy()
        values[0, column] = mean
        with_mean, _ = classifier.joint_log_likelihood(matrix._replace(values=values))
        yield (scores - with_mean)[0]


@get_classifier_parameters.register(GaussianDiscriminantAnalysis)
def gaussian_parameters(classifier: GaussianDiscriminantAnalysis) -> ClassifierParameters:
    """Return the boundaries between classes."""
    from nbtext.classifiers.inspection import ClassifierParameters

    return ClassifierParameters(boundary=compute_gaussian_boundary(classifier))


def compute_gaussian_boundary(classifier: GaussianDiscriminantAnalysis) -> Boundary | None:
    """Return the boundaries in latent features and numbers as they are, with means and covariances of numbers alone; None for quadratic latent ones."""
    n_latent = classifier.latent_space.projection.shape[1]
    gaussians = classifier.gaussians
    numbers = classifier.number_standardizer
    if n_latent and not gaussians.shares_covariance:
        return None
    scales = np.append(np.ones(n_latent), numbers.scales)
    means = gaussians.means * scales + np.append(np.zeros(n_latent), numbers.centres)
    roots = gaussians.roots
    found = GaussianClasses(means, roots / (scales if roots.ndim == 2 else scales[:, np.newaxis]))
    boundary = found.compute_boundary(classifier.prior)
    covariances = np.linalg.inv(found.inverses()).astype(np.float64)
    return boundary if n_latent else boundary._replace(means=means, covariances=covariances)


@compute_component_fits.register(GaussianDiscriminantAnalysis)
def measure_gaussian_fits(classifier: GaussianDiscriminantAnalysis) -> list[ComponentFit]:
    """Return that of Gaussians of maximum likelihood in the features of all documents, numbers in their own units.

    |θ| = K·p + p(p + 1)/2 for a full covariance that K classes share, p features; K·p + K·p(p + 1)/2 with one each. Raises `UsageError` if the model does
    not keep all documents, or a covariance has no inverse.
    """
    from nbtext.language_model.measures import ComponentFit, MaximumLikelihoodFit

    training = classifier.training
    documents = training.require_all_documents()
    settings = training.settings
    n_classes = training.statistics.n_classes
    features, _, here = _features_of(
        documents.matrix, classifier.latent_space, classifier.number_standardizer
    )
    features = features[here]
    classes = documents.classes[here]
    separate = settings.covariance == "separate"
    shape = _shape(settings)
    try:
        likeliest = GaussianClasses.estimate(
            features, classes, n_classes, separate=separate, shape=shape, shrinkage=0.0
        )
    except UsageError:
        raise UsageError(
            "AIC and BIC are not defined: a covariance has no inverse",
            hint="use fewer features or a simpler covariance",
        ) from None
    densities = likeliest.compute_log_density(features)[np.arange(classes.size), classes]
    of_documents = densities - np.log(classifier.number_standardizer.scales).sum()
    p = features.shape[1]
    of_covariance = {"full": p * (p + 1) // 2, "diagonal": p, "spherical": 1}[shape]
    parameters = n_classes * p + _roots_of(settings, n_classes) * of_covariance
    return [
        ComponentFit(
            "features",
            None,
            MaximumLikelihoodFit(float(of_documents.sum()), parameters, classes.size),
        )
    ]
