"""Estimate the class proportions of unlabelled documents, with intervals, for `prevalence`.

`nbtext.guarantees.label_proportions` has the estimates of multi-label models.

The class proportions of documents may differ from those of the training set (prior shift). Then
counts of predictions are biased towards the proportions of training. EM on the class prior finds
the proportions of greatest likelihood (M. Saerens, P. Latinne, C. Decaestecker, Adjusting the
outputs of a classifier to new a priori probabilities, 2002). EM needs the likelihoods p(d | C_k),
which are posteriors divided by class proportions. Therefore posteriors are calibrated: a slope and
an offset of each class are fitted to held-out documents (vector scaling: Guo et al. 2017; for this
purpose A. Alexandari, A. Kundaje, A. Shrikumar, Maximum likelihood with bias-corrected calibration,
2020).

Intervals are for the proportions among the given documents, not in a population. See
`ClassLikelihoods.fit` for the draws of slopes and offsets, and `_draw_proportions` for the draws of
proportions.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from nbtext.errors import NoDocumentsError, UsageError, format_quantity
from nbtext.guarantees.label_proportions import EstimatedProportions, LabelProportionEstimator
from nbtext.model.training import compute_held_out_posteriors
from nbtext.prediction.calibration import minimize_by_newton
from nbtext.prediction.posterior import (
    ClassPosterior,
    LabelPosterior,
    Posterior,
    look_up_kind,
    normalize_log_joint,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from nbtext.model.text_classifier import TextClassifier
    from nbtext.prediction.calibration import HeldOutPosteriors
    from nbtext.scoring import ScoredBlock
    from nbtext.type_names import AnyInts, Floats, Ints

MIN_LOG_PROBABILITY = -40.0
"""Lower bound of log p(C_k | d) in nats, so that one document does not decide everything."""

MAX_CORRECTED_CLASSES = 256
"""With more classes, held-out documents are too few to fit slopes and offsets."""

COMMON_SLOPE_STD = 1.5
"""Prior standard deviation of the common part of all slopes, whose mean is 1."""

CLASS_SLOPE_STD = 0.7
"""Prior standard deviation of the part that is added to the slope of a class. Its mean is 0."""

CLASS_OFFSET_STD = 1.5
"""Prior standard deviation of the offset of each class, whose mean is 0."""

MIN_SCALING_GAIN = 1e-7
"""Newton's method stops if a step would gain less than half of this, in nats."""

DRAW_WIDENING = 1.5
"""Factor of the difference between drawn and fitted slopes and offsets."""

MISFIT_STD = 0.3
"""Standard deviation that draws add to the offset of a class, times √r.

No slope and offset describe a class exactly, however many documents are held out. r is the result
of `_compute_explained_variance` for the class.
"""

MIN_SLOPE = 0.1
"""Lower bound of slopes. A negative slope would reverse the order of the model's scores."""

MIN_MEAN_CLASS_DOCUMENTS = 25
"""Minimum mean number of labelled documents of a class. With fewer, intervals are too narrow."""

MIN_COMMON_CLASS_DOCUMENTS = 3
"""A class with fewer labelled documents is rare."""

MAX_RARE_CLASS_PROPORTION = 0.25
"""Maximum proportion of rare classes. With more, intervals are too narrow."""

N_DRAWS = 200
"""Number of draws for an interval."""

MIN_SWEEPS = 4
MAX_SWEEPS = 50
"""Bounds of the number of sweeps of a draw. A sweep draws the classes, then the proportions."""

MAX_SWEPT_SCORES = 1 << 18
"""Limit of documents × classes × sweeps, except that there are always `MIN_SWEEPS`.

At the limit, the sweeps take about 4 seconds. If more sweeps would be needed, intervals are wider.
"""

MAX_START_WEIGHT = 0.05
"""Maximum weight of the start of a draw in its result."""

PSEUDO_DOCUMENTS = 0.5
"""Prior documents of each class, on average. Equal classes have H. Jeffreys' prior."""

MAX_SCORES_AT_ONCE = 1 << 20
"""Draws × documents × classes in memory at once."""

MAX_EM_STEPS = 1000

MIN_PROPORTION_CHANGE = 1e-7
"""EM stops if no proportion changes by more than this."""

MIN_PROPORTION = 1e-15
"""Smaller proportions count as 0. With many classes, EM drops their classes."""


class ClassProportion(NamedTuple):
    """The proportion of a class among documents."""

    proportion: float
    """The estimate."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""
    counted: float
    """The proportion of predictions that are this class."""


class _Prevalence(NamedTuple):
    """The proportions of the classes among documents."""

    documents: int
    """Number of documents that could be read and have a possible class."""
    prevalence: Mapping[str, ClassProportion]
    """The proportion of each class, by its name."""


class PrevalenceResult(NamedTuple):
    """The proportions of the classes among all documents, and for each value of a column."""

    all: _Prevalence
    groups: Mapping[str, _Prevalence]
    """The proportions for each value of the column, sorted by value. Empty without a column."""
    impossible: int
    """Number of documents for which every class is impossible. They are ignored."""


class ClassLikelihoods(NamedTuple):
    """Linear functions that turn log posteriors of a model into log-likelihoods of classes.

    The function of a class has a slope and an offset, together its scaling. The likelihoods of a
    document have an unknown common factor.
    """

    scaling: Floats
    """Fitted slopes and offsets, shape (2, n_classes)."""
    scaling_draws: Floats
    """Draws of slopes and offsets, shape (N_DRAWS, 2, n_classes).

    Without correction, all draws have the same scaling, and the shape is (1, 2, n_classes).
    """
    pseudo_documents: Floats
    """Prior documents of each class, shape (n_classes,). The mean is `PSEUDO_DOCUMENTS`."""

    @classmethod
    def from_prior(cls, prior: Floats) -> ClassLikelihoods:
        """Return likelihoods without correction: posteriors divided by ``prior``, (n_classes,)."""
        with np.errstate(divide="ignore"):
            log_prior = np.maximum(np.log(prior), MIN_LOG_PROBABILITY)
        scaling = np.stack((np.ones_like(prior), -log_prior))
        return cls(scaling, scaling[np.newaxis], PSEUDO_DOCUMENTS * len(prior) * prior)

    @classmethod
    def fit(cls, held_out: HeldOutPosteriors) -> ClassLikelihoods:
        """Fit slopes and offsets to held-out documents, and draw others for intervals.

        Each draw has random weights of the documents and a random mean of the prior. Its parameters
        are one Newton step away from the fitted parameters (M. Newton, A. Raftery, Approximate
        Bayesian inference with the weighted likelihood bootstrap, 1994). `DRAW_WIDENING` and
        `MISFIT_STD` widen the draws.
        """
        n_documents, n_classes = held_out.log_posterior.shape
        classes = held_out.truth.indices
        # The only document of a class is held out from a model without this class.
        is_known = held_out.log_posterior[np.arange(n_documents), classes] > -np.inf
        log_posterior = np.maximum(held_out.log_posterior[is_known], MIN_LOG_PROBABILITY)
        loss = _ScalingLoss(log_posterior, classes[is_known])
        parameters = minimize_by_newton(
            loss.compute_loss,
            loss.prior_mean,
            MIN_SCALING_GAIN,
            lambda _: 1.0,  # full Newton steps
        )
        parameters[:n_classes] = np.maximum(parameters[:n_classes], MIN_SLOPE)
        scaling = loss.to_likelihood_scaling(parameters, np.ones(len(log_posterior)))

        random = np.random.default_rng(0)
        weights = random.standard_exponential((N_DRAWS, len(log_posterior)))
        drawn_parameters = _draw_parameters(loss, parameters, weights, random)
        draws = np.stack(
            [
                loss.to_likelihood_scaling(draw, draw_weights)
                for draw, draw_weights in zip(drawn_parameters, weights, strict=True)
            ]
        )
        posterior = np.exp(loss.compute_log_posterior(parameters))
        misfit_std = MISFIT_STD * np.sqrt(_compute_explained_variance(posterior))
        # Change the offsets of the draws.
        draws[:, 1] += misfit_std * random.standard_normal((N_DRAWS, n_classes))

        sizes = loss.is_true.sum(axis=0) + PSEUDO_DOCUMENTS
        return cls(scaling, draws, PSEUDO_DOCUMENTS * n_classes * sizes / sizes.sum())

    def compute_likelihoods(self, log_posterior: Floats, scaling: Floats | None = None) -> Floats:
        """Return likelihoods from log p(C_k | d), both of shape (n_docs, n_classes).

        The largest likelihood of a document is 1. For several scalings, shape (n_draws, 2,
        n_classes), the result has the shape (n_draws, n_docs, n_classes). The default is the fitted
        scaling.
        """
        if scaling is None:
            scaling = self.scaling
        slopes, offsets = np.split(scaling, 2, axis=-2)
        values = slopes * np.maximum(log_posterior, MIN_LOG_PROBABILITY) + offsets
        values -= values.max(axis=-1, keepdims=True)
        return np.exp(values, out=values)

    @staticmethod
    def require_correctable(n_classes: int) -> None:
        """Raise `UsageError` for more than `MAX_CORRECTED_CLASSES`."""
        if n_classes > MAX_CORRECTED_CLASSES:
            raise UsageError(f"there are more than {MAX_CORRECTED_CLASSES} classes")

    @staticmethod
    def require_documents(class_documents: Ints) -> None:
        """Raise `UsageError` if there are too few labelled documents.

        ``class_documents`` are the numbers of labelled documents of each class, shape (n_classes,).
        More than `MAX_CORRECTED_CLASSES` classes are always accepted, because they get no
        correction.
        """
        n_classes = len(class_documents)
        if n_classes > MAX_CORRECTED_CLASSES:
            return
        n_labelled = class_documents.sum()
        subject = f"proportions of {format_quantity(n_classes, 'class')} need at least"
        minimum = MIN_MEAN_CLASS_DOCUMENTS * n_classes
        if n_labelled < minimum:
            raise UsageError(
                f"{subject} {format_quantity(minimum, 'labelled document')}, and the model has "
                f"{n_labelled:,}",
                hint="label more, or count the predictions of nbtext classify",
            )
        n_rare = np.count_nonzero(class_documents < MIN_COMMON_CLASS_DOCUMENTS)
        max_rare = int(MAX_RARE_CLASS_PROPORTION * n_classes)
        if n_rare > max_rare:
            raise UsageError(
                f"{subject} {MIN_COMMON_CLASS_DOCUMENTS} labelled documents of all but {max_rare} "
                f"of them, and {n_rare} have fewer",
                hint=(
                    f"label more of {n_rare - max_rare} of these, or count the predictions of "
                    "nbtext classify"
                ),
            )

    def estimate_proportions(self, log_posterior: Floats) -> EstimatedProportions:
        """Estimate class proportions from log p(C_k | d), shape (n_docs, n_classes).

        Estimates are medians of the draws, because the most likely proportions of similar classes
        are often 0 or 1.
        """
        n_documents, n_classes = log_posterior.shape
        likelihoods = self.compute_likelihoods(log_posterior)
        most_likely = fit_proportions(likelihoods)
        draws = _draw_proportions(log_posterior, self, most_likely, count_sweeps(likelihoods))
        low, median, high = np.quantile(draws, (0.025, 0.5, 0.975), axis=0)
        proportions = median + MIN_PROPORTION * most_likely  # all medians may be 0
        proportions /= proportions.sum()
        predictions = log_posterior.argmax(axis=1)
        return EstimatedProportions(
            proportions,
            low=np.minimum(low, proportions),
            high=np.maximum(high, proportions),
            predicted=np.bincount(predictions, minlength=n_classes) / n_documents,
        )


ProportionEstimator: TypeAlias = ClassLikelihoods | LabelProportionEstimator

PROPORTION_ESTIMATORS: dict[type[Posterior], type[ProportionEstimator]] = {
    ClassPosterior: ClassLikelihoods,
    LabelPosterior: LabelProportionEstimator,
}
"""The type of estimator for each type of posterior."""


def make_uncorrected_estimator(model: TextClassifier) -> ProportionEstimator:
    """Return an estimator that uses the posteriors of a model without correction."""
    estimator = look_up_kind(PROPORTION_ESTIMATORS, model.fitted.posterior_type)
    return estimator.from_prior(model.fitted.classifier.prior)


class _ScalingLoss:
    """The loss of slopes and offsets on held-out documents.

    The parameters are the slopes, then the offsets of all classes, shape (2 n_classes,).
    """

    def __init__(self, log_posterior: Floats, truth: AnyInts) -> None:
        self._log_posterior = log_posterior
        n_classes = log_posterior.shape[1]
        self._n_classes = n_classes
        self.is_true = truth[:, np.newaxis] == np.arange(n_classes)
        """True for the class of each document, shape (n_docs, n_classes)."""
        self.prior_mean = np.repeat((1.0, 0.0), n_classes)
        covariance = np.diag(np.repeat((CLASS_SLOPE_STD**2, CLASS_OFFSET_STD**2), n_classes))
        covariance[:n_classes, :n_classes] += COMMON_SLOPE_STD**2
        self.prior_root = np.linalg.cholesky(covariance)
        """Cholesky factor of the covariance of the prior."""
        self.prior_precision = np.linalg.inv(self.prior_root @ self.prior_root.T)

    def compute_log_posterior(self, parameters: Floats) -> Floats:
        """Return the log posterior after scaling, shape (n_docs, n_classes), in nats."""
        slopes, offsets = np.split(parameters, 2)
        return normalize_log_joint(slopes * self._log_posterior + offsets)

    def compute_gradients(self, log_posterior: Floats) -> Floats:
        """Return the gradient of the loss of each document, shape (n_docs, 2 n_classes).

        ``log_posterior`` is the posterior after scaling.
        """
        residuals = np.exp(log_posterior) - self.is_true
        return np.hstack((residuals * self._log_posterior, residuals))

    def compute_loss(self, parameters: Floats) -> tuple[float, Floats, Floats]:
        """Return the loss in nats, its gradient and its second derivative."""
        log_posterior = self.compute_log_posterior(parameters)
        distance = parameters - self.prior_mean
        penalty = distance @ self.prior_precision @ distance / 2
        value = penalty - log_posterior[self.is_true].sum()
        loss_gradient = self.compute_gradients(log_posterior).sum(axis=0)
        gradient = loss_gradient + self.prior_precision @ distance
        curvature = _compute_curvature(np.exp(log_posterior), self._log_posterior)
        return float(value), gradient, curvature + self.prior_precision

    def to_likelihood_scaling(self, parameters: Floats, weights: Floats) -> Floats:
        """Return the slopes and offsets of log-likelihoods, shape (2, n_classes).

        The log-likelihood of a class is its log posterior minus the log of its proportion among the
        documents. ``weights`` of the documents have the shape (n_docs,). `PSEUDO_DOCUMENTS` are
        added to each class, because the proportion of a rare class is uncertain.
        """
        posterior = np.exp(self.compute_log_posterior(parameters))
        n_documents = weights.sum() + self._n_classes * PSEUDO_DOCUMENTS
        proportions = (weights @ posterior + PSEUDO_DOCUMENTS) / n_documents
        slopes, offsets = np.split(parameters, 2)
        return np.stack((slopes, offsets - np.log(proportions)))


def _draw_parameters(
    loss: _ScalingLoss, parameters: Floats, weights: Floats, random: np.random.Generator
) -> Floats:
    """Draw slopes and offsets around fitted ``parameters``, shape (N_DRAWS, 2 n_classes).

    ``weights`` of the documents in each draw have the shape (N_DRAWS, n_docs).
    """
    log_posterior = loss.compute_log_posterior(parameters)
    gradients = loss.compute_gradients(log_posterior)
    _, _, curvature = loss.compute_loss(parameters)
    mean_changes = random.standard_normal((N_DRAWS, parameters.size)) @ loss.prior_root.T
    distances = parameters - loss.prior_mean - mean_changes
    drawn_gradients = weights @ gradients + distances @ loss.prior_precision
    newton_steps = np.linalg.solve(curvature, drawn_gradients.T).T
    drawn = parameters - DRAW_WIDENING * newton_steps
    n_classes = parameters.size // 2
    drawn[:, :n_classes] = np.maximum(drawn[:, :n_classes], MIN_SLOPE)
    return drawn


def _compute_curvature(p: Floats, x: Floats) -> Floats:
    """Return the second derivative of the log loss, Σ_d Jᵀ(diag(p) − p pᵀ)J with J = (diag(x), I).

    ``p`` and ``x`` are probabilities and inputs of the scaling, shape (n_docs, n_classes). The
    result is for slopes, then offsets, shape (2 n_classes, 2 n_classes).
    """
    p_jacobian = np.hstack((p * x, p))
    slopes = np.diag((p * x**2).sum(axis=0))
    mixed = np.diag((p * x).sum(axis=0))
    offsets = np.diag(p.sum(axis=0))
    return np.block([[slopes, mixed], [mixed, offsets]]) - p_jacobian.T @ p_jacobian


def _compute_information(posterior: Floats) -> Floats:
    """Return Σ_d p_dk p_dl / (n √(π_k π_l)), shape (n_classes, n_classes).

    π_k is the mean of p_dk over the n documents. The result is the information about proportions in
    the posterior, relative to the information in the true classes.
    """
    means = np.maximum(posterior.mean(axis=0), MIN_PROPORTION)
    return posterior.T @ posterior / (len(posterior) * np.sqrt(np.outer(means, means)))


def _compute_explained_variance(posterior: Floats) -> Floats:
    """Return the proportion of the variance of class membership that the probability explains.

    This is Var(p_k) / π_k(1 − π_k), shape (n_classes,), where π_k is the mean of p_k.
    """
    means = posterior.mean(axis=0)
    return posterior.var(axis=0) / np.maximum(means * (1 - means), MIN_PROPORTION)


def count_sweeps(likelihood: Floats) -> int:
    """Return the number of sweeps after which the start of a draw has the `MAX_START_WEIGHT`.

    ``likelihood`` has the shape (n_docs, n_classes). The result is within `MIN_SWEEPS`,
    `MAX_SWEEPS` and `MAX_SWEPT_SCORES`.

    A sweep multiplies the weight of the start by at most 1 minus the least eigenvalue of the
    information (J. Liu, W. Wong, A. Kong, Covariance structure of the Gibbs sampler, 1994). The
    information is computed at equal proportions, where it is lower than elsewhere.
    """
    n_classes = likelihood.shape[1]
    if n_classes > MAX_CORRECTED_CLASSES:
        return MIN_SWEEPS
    posterior = likelihood / likelihood.sum(axis=1, keepdims=True)
    eigenvalues = np.linalg.eigvalsh(_compute_information(posterior))  # ascending
    # The bounds keep the logarithm finite and negative. They do not change the result.
    sweep_weight = 1 - max(float(eigenvalues[0]), MAX_START_WEIGHT / MAX_SWEEPS)
    log_sweep_weight = np.log(max(sweep_weight, MAX_START_WEIGHT))
    n_sweeps = int(np.ceil(np.log(MAX_START_WEIGHT) / log_sweep_weight))
    max_sweeps = min(MAX_SWEEPS, MAX_SWEPT_SCORES // likelihood.size)
    return max(MIN_SWEEPS, min(n_sweeps, max_sweeps))


def fit_proportions(likelihood: Floats) -> Floats:
    """Return the class proportions of greatest likelihood, shape (n_classes,).

    EM starts from equal proportions. ``likelihood`` has the shape (n_docs, n_classes).
    """
    n_documents, n_classes = likelihood.shape
    proportions = np.full(n_classes, 1 / n_classes)
    remaining = np.arange(n_classes)
    for _ in range(MAX_EM_STEPS):
        previous = proportions
        document_likelihoods = likelihood @ previous
        proportions = previous * (likelihood.T @ (1 / document_likelihoods)) / n_documents
        if np.abs(proportions - previous).max() < MIN_PROPORTION_CHANGE:
            break
        positive = np.flatnonzero(proportions >= MIN_PROPORTION)
        # Copying the positive columns takes as long as a step, so drop at least half at once.
        if n_classes > MAX_CORRECTED_CLASSES and 2 * len(positive) < len(remaining):
            likelihood = likelihood[:, positive]
            proportions = proportions[positive]
            remaining = remaining[positive]
    all_proportions = np.zeros(n_classes)
    all_proportions[remaining] = proportions
    return all_proportions


def fit_proportion_estimator(model: TextClassifier) -> ProportionEstimator:
    """Return an estimator that is corrected by the held-out documents of a model.

    Raise `UsageError` if the model has no held-out documents, or more than `MAX_CORRECTED_CLASSES`
    classes. These models need `make_uncorrected_estimator`.
    """
    estimator = look_up_kind(PROPORTION_ESTIMATORS, model.fitted.posterior_type)
    estimator.require_correctable(len(model.classes))
    return estimator.fit(compute_held_out_posteriors(model.fitted))


def require_labelled_documents(model: TextClassifier) -> None:
    """Raise `UsageError` if the model has too few labelled documents for estimates.

    Classes need `MIN_MEAN_CLASS_DOCUMENTS` on average, and at most the proportion
    `MAX_RARE_CLASS_PROPORTION` of them may be rare. Multi-label models, and models of more than
    `MAX_CORRECTED_CLASSES` classes, always have enough.
    """
    estimator = look_up_kind(PROPORTION_ESTIMATORS, model.fitted.posterior_type)
    estimator.require_documents(model.counts.labelled_statistics.class_documents)


def estimate_prevalence(
    blocks: Iterable[ScoredBlock], classes: list[str], estimator: ProportionEstimator
) -> PrevalenceResult:
    """Estimate the proportions of the classes among scored documents.

    If documents have columns, also estimate the proportions for each value of the first column.

    Raise `NoDocumentsError` if no document can be read and has a possible class.
    """
    arrays = [np.empty((0, len(classes)))]
    values: list[str] = []
    n_impossible = 0
    for block in blocks:
        is_possible = ~np.isnan(block.log_posterior[:, 0])
        is_readable = np.array([document.problem is None for document in block.documents], np.bool_)
        is_used = is_readable & is_possible
        n_impossible += int((is_readable & ~is_possible).sum())
        arrays.append(block.log_posterior[is_used])
        for document in compress(block.documents, is_used):
            values += document.columns[:1]  # all documents have columns, or none
    log_posterior = np.concatenate(arrays)
    if not len(log_posterior):
        raise NoDocumentsError("there are no readable documents with a prediction")
    proportions_by_value = {}
    value_array = np.array(values, object)
    for value in sorted(set(values)):
        has_value = value_array == value
        proportions_by_value[value] = estimate_class_proportions(
            log_posterior[has_value], classes, estimator
        )
    return PrevalenceResult(
        estimate_class_proportions(log_posterior, classes, estimator),
        proportions_by_value,
        n_impossible,
    )


def estimate_class_proportions(
    log_posterior: Floats, classes: list[str], estimator: ProportionEstimator
) -> _Prevalence:
    """Estimate the proportions of the classes from log p(C_k | d), shape (n_docs, n_classes).

    There must be at least one document. The proportions of multi-label models need not sum to 1.
    """
    rows = np.stack(estimator.estimate_proportions(log_posterior)).T.tolist()
    proportions = {label: ClassProportion(*row) for label, row in zip(classes, rows, strict=True)}
    return _Prevalence(len(log_posterior), proportions)


def replace_prior(
    blocks: Iterable[ScoredBlock], prevalence: _Prevalence, likelihoods: ClassLikelihoods
) -> Iterator[ScoredBlock]:
    """Yield scored documents with posteriors for the estimated proportions as the class prior.

    `PSEUDO_DOCUMENTS` are added to each class, so that no class is impossible.
    """
    proportions = np.array([proportion.proportion for proportion in prevalence.prevalence.values()])
    class_documents = prevalence.documents * proportions + PSEUDO_DOCUMENTS
    log_prior = np.log(class_documents / class_documents.sum())
    for block in blocks:
        with np.errstate(divide="ignore"):
            log_likelihood = np.log(likelihoods.compute_likelihoods(block.log_posterior))
            log_posterior = normalize_log_joint(log_likelihood + log_prior)
        yield block._replace(posterior=type(block.posterior)(log_posterior))


def _draw_proportions(
    log_posterior: Floats, likelihoods: ClassLikelihoods, start: Floats, n_sweeps: int
) -> Floats:
    """Draw class proportions among these documents, shape (N_DRAWS, n_classes).

    A sweep draws the classes of the documents given the proportions, then the proportions given the
    classes (M. Tanner, W. Wong, The calculation of posterior distributions by data augmentation,
    1987). Each draw starts halfway between ``start``, the most likely proportions, and random
    proportions. So after too few sweeps, intervals are too wide rather than too narrow.

    Many classes are divided into runs of ``width`` neighbours. Drawing a run, then a class in it,
    needs less memory than drawing one of all classes.
    """
    pseudo_documents = likelihoods.pseudo_documents
    n_documents, n_classes = log_posterior.shape
    n_runs = -(-n_classes // MAX_CORRECTED_CLASSES)  # rounded up
    width = min(n_classes, MAX_CORRECTED_CLASSES)
    max_draws = max(MAX_SCORES_AT_ONCE // (n_documents * max(n_runs, width)), 1)
    shares_scaling = len(likelihoods.scaling_draws) == 1
    random = np.random.default_rng(0)
    draws = []
    for first in range(0, N_DRAWS, max_draws):
        n_draws = min(max_draws, N_DRAWS - first)
        if first == 0 or not shares_scaling:
            scalings = likelihoods.scaling_draws[first : first + n_draws]
            likelihood = likelihoods.compute_likelihoods(log_posterior, scalings)
            likelihood = _split_into_runs(likelihood, n_runs, width)
        weights = random.standard_gamma(2 * pseudo_documents, (n_draws, n_classes))
        prior = (start + _normalize_rows(weights)) / 2
        for _ in range(n_sweeps):
            prior_of_runs = _split_into_runs(prior, n_runs, width)
            classes = _draw_classes(likelihood, prior_of_runs, random)
            classes = np.minimum(classes, n_classes - 1)  # not the padding of the last run
            counts = np.apply_along_axis(np.bincount, 1, classes, minlength=n_classes)
            prior = _normalize_rows(random.standard_gamma(counts + pseudo_documents))
        draws.append(counts / n_documents)
    return np.concatenate(draws)


def _normalize_rows(weights: Floats) -> Floats:
    return weights / weights.sum(axis=1, keepdims=True)


def _split_into_runs(values: Floats, n_runs: int, width: int) -> Floats:
    """Return values of classes in runs of neighbours, shape (…, n_runs, width).

    ``values`` has the shape (…, n_classes). The last run is padded with zeros.
    """
    padding = [(0, 0) for _ in values.shape[:-1]]
    padding.append((0, n_runs * width - values.shape[-1]))
    return np.pad(values, padding).reshape(*values.shape[:-1], n_runs, width)


def _draw_classes(likelihood: Floats, prior: Floats, random: np.random.Generator) -> Ints:
    """Draw the class of each document, shape (n_draws, n_docs): first its run, then the class.

    ``likelihood`` has the shape (n_draws, n_docs, n_runs, width), or (1, n_docs, n_runs, width) if
    all draws share it. They share it if there are several runs, because models with many classes
    have no correction. ``prior`` has the shape (n_draws, n_runs, width).
    """
    draws, documents = np.ogrid[: len(prior), : likelihood.shape[1]]
    runs = np.zeros((1, 1), np.int64)
    if prior.shape[1] > 1:
        # For each run, likelihoods (n_docs, width) times priors (width, n_draws).
        run_sums = likelihood[0].transpose(1, 0, 2) @ prior.transpose(1, 2, 0)
        runs = _draw_indices(run_sums.transpose(2, 1, 0), random)
    likelihood_draws = draws if len(likelihood) > 1 else np.zeros_like(draws)
    class_weights = likelihood[likelihood_draws, documents, runs]  # a copy
    class_weights *= prior[draws, runs]
    return prior.shape[2] * runs + _draw_indices(class_weights, random)


def _draw_indices(weights: Floats, random: np.random.Generator) -> Ints:
    """Draw an index of the last axis with probabilities in proportion to the weights."""
    cumulative = weights.cumsum(axis=-1)
    positions = random.random(cumulative.shape[:-1]) * cumulative[..., -1]
    indices = (cumulative <= positions[..., np.newaxis]).sum(axis=-1)
    return np.minimum(indices, weights.shape[-1] - 1)  # if all weights are 0
