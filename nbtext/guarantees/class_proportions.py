"""Shares of the classes in a set of documents without labels: how many, not which.

Where documents may have several labels, `nbtext.guarantees.label_proportions` has them.

Documents may have other class shares than those of training (prior shift). Then counting answers leans towards the shares of training. The shares
under which the documents are most likely are found by EM on the class prior alone (M. Saerens, P. Latinne, C. Decaestecker, Adjusting the outputs of
a classifier to new a priori probabilities, 2002). Its likelihoods p(d | C_k) are posteriors divided by the class shares of training, so it is as good
as the posteriors are calibrated class by class. A slope and an offset for each class are therefore fitted to documents left out (vector scaling: Guo
et al. 2017; for this purpose A. Alexandari, A. Kundaje, A. Shrikumar, Maximum likelihood with bias-corrected calibration, 2020).

The slopes of all classes have a common part and differ by little, so a class with few left-out documents has nearly the slope of the others. A document
whose class went with it says nothing of that class and takes no part.

Intervals are for the shares among these very documents. Each draw gives the left-out documents random weights and slopes and offsets another centre of
their prior, which moves them by one Newton step (M. Newton, A. Raftery, Approximate Bayesian inference with the weighted likelihood bootstrap, 1994),
`WIDER` times as far, and adds `MISFIT`, since no slope and offset describe a class exactly. It then draws classes of the documents and shares in turn,
given each other (M. Tanner, W. Wong, The calculation of posterior distributions by data augmentation, 1987), so often that little is left of where it
began. The harder classes are to tell apart, the more of it each turn keeps. Shares are the medians of the draws: where classes are hard, the most likely
ones are often 0 or 1. Resampling the documents too would add how the set itself may have come about, and the intervals would hold the truth nearly always.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from nbtext.errors import NoDocumentsError, UsageError, format_quantity
from nbtext.guarantees.label_proportions import LabelOdds
from nbtext.model.training import compute_held_out_posteriors
from nbtext.prediction.calibration import minimize_by_newton
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior, Posterior, look_up_kind
from nbtext.prediction.posterior import normalize_log_joint as normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from nbtext.model.text_classifier import TextClassifier
    from nbtext.prediction.calibration import HeldOutPosteriors
    from nbtext.scoring import ScoredBlock
    from nbtext.type_names import Floats, Ints

MIN_LOG_PROBABILITY = -40.0
"""Less probable classes count as if they had this log probability, so that one document cannot decide alone."""

MAX_CORRECTED_CLASSES = 256
"""With more classes the sample has too few documents of each, and slopes and offsets would take seconds."""

COMMON_SLOPE_STD = 1.5
CLASS_SLOPE_STD = 0.7
CLASS_OFFSET_STD = 1.5
"""Standard deviations of normal priors: of what all slopes have in common, around 1; of what each has of its own, and of offsets, around 0."""

DRAW_WIDENING = 1.5
MISFIT_STD = 0.3
"""Factor of the draws' distance from the fit, and standard deviation of a class's log-likelihood around slope and offset, however many documents are left out.

It is less where log-likelihoods themselves hardly vary: of a class of which scores know the part r (`_known_part`), √r of it.

Chosen, as is `MAX_RARE_CLASS_PROPORTION`, by coverage on halves of the training parts of 20 Newsgroups and Reuters; the factor and `MIN_MEAN_CLASS_DOCUMENTS` were first picked with test
parts in view and only confirmed there, so coverage measured on those may be a little high."""

MIN_SLOPE = 0.1
"""A slope of 0 or less would turn what the model says round."""

MIN_MEAN_CLASS_DOCUMENTS = 25
"""Labelled documents for each class, on average. With fewer the documents of a class are not yet like those that were left out, and intervals hold less."""

MIN_COMMON_CLASS_DOCUMENTS = 3
MAX_RARE_CLASS_PROPORTION = 0.25
"""A class is rare with fewer labelled documents, and at most this part of the classes may be: with 20 % of 51 classes intervals hold 94 %, with 31 % 87 %."""

DRAWS = 200
MIN_SWEEPS = 4
MAX_SWEEPS = 50
"""Draws for an interval, and how often at least and at most classes and shares are drawn in turn for each."""

MAX_SWEPT_SCORES = 1 << 18
"""Documents times classes times sweeps that are not exceeded for more than `MIN_SWEEPS`: 4 seconds. With fewer than it takes, intervals are wider."""

MAX_START_WEIGHT = 0.05
"""Part of where a draw began that may be left."""

PSEUDO_DOCUMENTS = 0.5
"""Of each class, on average, before any document is seen: H. Jeffreys' prior of shares if the classes of training are of one size."""

MAX_SCORES_AT_ONCE = 1 << 20
"""Scores by draw, document and class that are in memory together."""

MAX_EM_STEPS = 1000
MIN_PROPORTION_CHANGE = 1e-7
"""Of a share, in a step of EM that is the last."""

MIN_PROPORTION = 1e-15
"""Of more than `MOST_CLASSES`, EM leaves out those that fall below it: all together have less than 1e-10 of 100,000 classes, and most fall in some ten steps."""


class ClassProportion(NamedTuple):
    """The share of a class among documents."""

    share: float
    low: float
    """End of the 95 % interval."""
    high: float
    counted: float
    """The share of the answers that are this class."""


class _Prevalence(NamedTuple):
    """The shares of the classes among documents."""

    documents: int
    """Those that could be read, and for which any class is possible."""
    prevalence: Mapping[str, ClassProportion]


class PrevalenceResult(NamedTuple):
    """The shares of the classes among all documents, and among those of each value of a column."""

    all: _Prevalence
    by: Mapping[str, _Prevalence]
    """By value, sorted; empty without a column."""
    impossible: int
    """Documents that are left out, because no class is possible."""


class ClassLikelihoods(NamedTuple):
    """Likelihoods of a document in each class, up to a factor of the document, from the posteriors of a model."""

    scaling: Floats
    """Slopes and offsets that turn log posteriors into log-likelihoods, shape (2, n_classes)."""
    scaling_draws: Floats
    """Draws of them, as uncertain as they are, shape (DRAWS, 2, n_classes), or one if that is not known."""
    pseudo_documents: Floats
    """Of each class before any document is seen, shape (n_classes,): `PSEUDO_DOCUMENTS` on average, with the class shares of training."""

    @classmethod
    def from_prior(cls, prior: Floats) -> ClassLikelihoods:
        """Return those of posteriors as they are, which hold for class shares ``prior``, shape (n_classes,)."""
        with np.errstate(divide="ignore"):
            scaling = np.stack(
                (np.ones_like(prior), -np.maximum(np.log(prior), MIN_LOG_PROBABILITY))
            )
        return cls(scaling, scaling[np.newaxis], PSEUDO_DOCUMENTS * len(prior) * prior)

    @classmethod
    def fit(cls, left_out: HeldOutPosteriors) -> ClassLikelihoods:
        """Fit slopes and offsets to left-out documents by Newton steps."""
        n_documents, n_classes = left_out.log_posterior.shape
        classes = left_out.truth.indices
        known = left_out.log_posterior[np.arange(n_documents), classes] > -np.inf
        x = np.maximum(left_out.log_posterior[known], MIN_LOG_PROBABILITY)
        truth = classes[known]
        is_true = truth[:, np.newaxis] == np.arange(n_classes)
        covariance = np.diag(np.repeat((CLASS_SLOPE_STD**2, CLASS_OFFSET_STD**2), n_classes))
        covariance[:n_classes, :n_classes] += COMMON_SLOPE_STD**2
        centre = np.repeat((1.0, 0.0), n_classes)
        spread = np.linalg.cholesky(covariance)
        precision = np.linalg.inv(spread @ spread.T)

        def gradients_of(scaling: Floats) -> tuple[Floats, Floats]:
            log_p = normalised(scaling[:n_classes] * x + scaling[n_classes:])
            away = np.exp(log_p) - is_true
            return log_p, np.hstack((away * x, away))

        def loss(scaling: Floats) -> tuple[float, Floats, Floats]:
            (log_p, gradients), away = gradients_of(scaling), scaling - centre
            value = float(away @ precision @ away / 2 - log_p[is_true].sum())
            return (
                value,
                gradients.sum(axis=0) + precision @ away,
                _curvature(np.exp(log_p), x) + precision,
            )

        scaling = minimize_by_newton(loss, centre, MIN_PROPORTION_CHANGE, lambda _: 1.0)
        scaling[:n_classes] = np.maximum(scaling[:n_classes], MIN_SLOPE)
        gradients = gradients_of(scaling)[1]
        curvature = loss(scaling)[2]
        random = np.random.default_rng(0)
        weights = random.standard_exponential((DRAWS, len(x)))
        elsewhere = random.standard_normal((DRAWS, 2 * n_classes)) @ spread.T
        gradient_of_draws = weights @ gradients + (scaling - centre - elsewhere) @ precision
        drawn = scaling - DRAW_WIDENING * np.linalg.solve(curvature, gradient_of_draws.T).T
        drawn[:, :n_classes] = np.maximum(drawn[:, :n_classes], MIN_SLOPE)

        def likelihoods(scaling: Floats, weights: Floats) -> Floats:
            """Divide by the shares of classes, `PSEUDO_DOCUMENTS` added, since of a class that is hardly ever likely next to nothing is known."""
            posterior = np.exp(normalised(scaling[:n_classes] * x + scaling[n_classes:]))
            shares = (weights @ posterior + PSEUDO_DOCUMENTS) / (
                weights.sum() + n_classes * PSEUDO_DOCUMENTS
            )
            return np.stack((scaling[:n_classes], scaling[n_classes:] - np.log(shares)))

        draws = np.stack([likelihoods(*draw) for draw in zip(drawn, weights, strict=True)])
        known_part = _known_part(np.exp(gradients_of(scaling)[0]))
        draws[:, 1] += MISFIT_STD * np.sqrt(known_part) * random.standard_normal((DRAWS, n_classes))
        sizes = is_true.sum(axis=0) + PSEUDO_DOCUMENTS
        return cls(
            likelihoods(scaling, np.ones(len(x))),
            draws,
            PSEUDO_DOCUMENTS * n_classes * sizes / sizes.sum(),
        )

    def compute_likelihoods(self, log_posterior: Floats, scaling: Floats | None = None) -> Floats:
        """Return likelihoods from log p(C_k | d), shape (n_docs, n_classes), the largest of a document 1; of several scalings with a first axis of these."""
        scaling = self.scaling if scaling is None else scaling
        log_likelihood = (
            scaling[..., :1, :] * np.maximum(log_posterior, MIN_LOG_PROBABILITY)
            + scaling[..., 1:, :]
        )
        log_likelihood -= log_likelihood.max(axis=-1, keepdims=True)
        return np.exp(log_likelihood, out=log_likelihood)

    @staticmethod
    def require_correctable(n_classes: int) -> None:
        """Raise `UsageError` for more than `MOST_CLASSES`."""
        if n_classes > MAX_CORRECTED_CLASSES:
            raise UsageError(f"there are more than {MAX_CORRECTED_CLASSES} classes")

    @staticmethod
    def require_documents(class_documents: Ints) -> None:
        """Raise `UsageError` for fewer labelled documents than shares take, given those of each class; more than `MOST_CLASSES` take none."""
        n_classes = len(class_documents)
        if n_classes > MAX_CORRECTED_CLASSES:
            return
        labelled = class_documents.sum()
        hint = "label more, or count the answers of nbtext classify"
        subject = f"shares of {format_quantity(n_classes, 'class')} take at least"
        least = MIN_MEAN_CLASS_DOCUMENTS * n_classes
        if labelled < least:
            raise UsageError(
                f"{subject} {format_quantity(least, 'labelled document')}, and the model has {labelled:,}",
                hint=hint,
            )
        rare = np.count_nonzero(class_documents < MIN_COMMON_CLASS_DOCUMENTS)
        most = int(MAX_RARE_CLASS_PROPORTION * n_classes)
        if rare > most:
            hint = f"label more of {rare - most} of these, or count the answers of nbtext classify"
            raise UsageError(
                f"{subject} {MIN_COMMON_CLASS_DOCUMENTS} labelled documents of all but {most} of them, and {rare} have "
                "fewer",
                hint=hint,
            )

    def estimate_proportions(self, log_posterior: Floats) -> Floats:
        """Return the share of each class, both ends of its 95 % interval and the share of the answers with it, shape (4, n_classes).

        ``log_posterior`` of the documents has shape (n_docs, n_classes).
        """
        of_fit = self.compute_likelihoods(log_posterior)
        most_likely = fit_proportions(of_fit)
        drawn = _draw_proportions(log_posterior, self, most_likely, count_sweeps(of_fit))
        low, middle, high = np.quantile(drawn, (0.025, 0.5, 0.975), axis=0)
        shares = middle + MIN_PROPORTION * most_likely  # which count alone if all medians are 0
        shares /= shares.sum()
        counted = np.bincount(log_posterior.argmax(axis=1), minlength=log_posterior.shape[1]) / len(
            log_posterior
        )
        return np.stack((shares, np.minimum(low, shares), np.maximum(high, shares), counted))


ProportionEstimator: TypeAlias = ClassLikelihoods | LabelOdds
"""What shares are estimated from."""

PROPORTION_ESTIMATORS: dict[type[Posterior], type[ProportionEstimator]] = {
    ClassPosterior: ClassLikelihoods,
    LabelPosterior: LabelOdds,
}
"""By the kind of labels."""


def make_uncorrected_estimator(model: TextClassifier) -> ProportionEstimator:
    """Return the likelihoods of posteriors as they are."""
    return look_up_kind(PROPORTION_ESTIMATORS, model.fitted.posterior_type).from_prior(
        model.fitted.classifier.prior
    )


def _curvature(p: Floats, x: Floats) -> Floats:
    """Return the second derivatives of the log loss by slopes and offsets, shape (2 n_classes, 2 n_classes): Σ_d Jᵀ(diag(p) − p pᵀ)J."""
    both = np.hstack((p * x, p))
    of_slopes, mixed, of_offsets = (
        np.diag(sums) for sums in ((p * x**2).sum(axis=0), (p * x).sum(axis=0), p.sum(axis=0))
    )
    return np.block([[of_slopes, mixed], [mixed, of_offsets]]) - both.T @ both


def _compute_information(posterior: Floats) -> Floats:
    """Return Σ_d p_dk p_dl / (n √(π_k π_l)), shape (n_classes, n_classes), π the means of p: the part that p knows of what the true classes say of shares."""
    means = np.maximum(posterior.mean(axis=0), MIN_PROPORTION)
    return posterior.T @ posterior / (len(posterior) * np.sqrt(np.outer(means, means)))


def _known_part(posterior: Floats) -> Floats:
    """Return Var(p_k) / π_k(1 − π_k), shape (n_classes,): the part of the variance of whether documents are of a class that its probability explains."""
    means = posterior.mean(axis=0)
    return posterior.var(axis=0) / np.maximum(means * (1 - means), MIN_PROPORTION)


def count_sweeps(likelihood: Floats) -> int:
    """Return how often classes and shares are to be drawn in turn, until `MAX_START_WEIGHT` is left, within the limits; ``likelihood`` as in `fit_proportions`.

    A turn keeps the missing part of the information, at most 1 less the least eigenvalue (J. Liu, W. Wong, A. Kong, Covariance structure of the Gibbs
    sampler, 1994), as a step of EM does. It is taken at equal shares, where it is less than that at others.
    """
    n_classes = likelihood.shape[1]
    if n_classes > MAX_CORRECTED_CLASSES:
        return MIN_SWEEPS
    posterior = likelihood / likelihood.sum(axis=1, keepdims=True)
    kept = 1 - max(
        float(np.linalg.eigvalsh(_compute_information(posterior))[0]), MAX_START_WEIGHT / MAX_SWEEPS
    )
    needed = int(np.ceil(np.log(MAX_START_WEIGHT) / np.log(max(kept, MAX_START_WEIGHT))))
    return max(MIN_SWEEPS, min(needed, MAX_SWEEPS, MAX_SWEPT_SCORES // likelihood.size))


def fit_proportions(likelihood: Floats) -> Floats:
    """Return the class shares of greatest likelihood, shape (n_classes,), by EM from equal ones; ``likelihood`` has shape (n_docs, n_classes)."""
    n_documents, n_classes = likelihood.shape
    shares = np.full(n_classes, 1 / n_classes)
    left = np.arange(n_classes)
    found = np.zeros(n_classes)
    for _ in range(MAX_EM_STEPS):
        before = shares
        shares = before * (likelihood.T @ (1 / (likelihood @ before))) / n_documents
        if np.abs(shares - before).max() < MIN_PROPORTION_CHANGE:
            break
        kept = np.flatnonzero(shares >= MIN_PROPORTION)
        if n_classes > MAX_CORRECTED_CLASSES and 2 * len(kept) < len(
            left
        ):  # half of them, since to copy the others takes as long as a step
            likelihood = likelihood[:, kept]
            shares = shares[kept]
            left = left[kept]
    found[left] = shares
    return found


def fit_proportion_estimator(model: TextClassifier) -> ProportionEstimator:
    """Return the likelihoods of a model, corrected by its left-out documents.

    Raise `UsageError` if it has none, or more than `MOST_CLASSES`; `make_uncorrected_estimator` then goes without.
    """
    estimator = look_up_kind(PROPORTION_ESTIMATORS, model.fitted.posterior_type)
    estimator.require_correctable(len(model.classes))
    return estimator.fit(compute_held_out_posteriors(model.fitted))


def require_labelled_documents(model: TextClassifier) -> None:
    """Raise `UsageError` if the model has fewer labelled documents than shares take, unless there are more than `MOST_CLASSES` classes or several labels.

    They take `MIN_MEAN_CLASS_DOCUMENTS` for each class on average, and at most `MAX_RARE_CLASS_PROPORTION` of the classes may be rare.
    """
    look_up_kind(PROPORTION_ESTIMATORS, model.fitted.posterior_type).require_documents(
        model.counts.labelled_statistics.class_documents
    )


def estimate_prevalence(
    blocks: Iterable[ScoredBlock], classes: list[str], likelihoods: ProportionEstimator
) -> PrevalenceResult:
    """Estimate the shares of the classes among scored documents, and by their first column, if they have one.

    Raise `UsageError` if there are no documents that can be read.
    """
    parts: list[Floats] = []
    values: list[str] = []
    impossible = 0
    for block in blocks:
        possible = ~np.isnan(block.log_posterior[:, 0])
        readable = np.array([document.problem is None for document in block.documents], np.bool_)
        kept = readable & possible
        impossible += int((readable & ~possible).sum())
        parts.append(block.log_posterior[kept])
        values += [
            document.columns[0] for document in compress(block.documents, kept) if document.columns
        ]
    if not sum(map(len, parts)):
        raise NoDocumentsError("there are no documents that can be read and answered")
    log_posterior = np.concatenate(parts)
    of_value = np.array(values, object)
    by = {
        value: estimate_class_proportions(log_posterior[of_value == value], classes, likelihoods)
        for value in sorted(set(values))
    }
    return PrevalenceResult(
        estimate_class_proportions(log_posterior, classes, likelihoods), by, impossible
    )


def estimate_class_proportions(
    log_posterior: Floats, classes: list[str], likelihoods: ProportionEstimator
) -> _Prevalence:
    """Return the shares of the classes among documents with log p(C_k | d), shape (n_docs, n_classes), at least one.

    Those of several labels need not sum to 1.
    """
    of_classes = (
        ClassProportion(*row) for row in likelihoods.estimate_proportions(log_posterior).T.tolist()
    )
    return _Prevalence(len(log_posterior), dict(zip(classes, of_classes, strict=True)))


def replace_prior(
    blocks: Iterable[ScoredBlock], prevalence: _Prevalence, likelihoods: ClassLikelihoods
) -> Iterator[ScoredBlock]:
    """Yield scored documents with posteriors for a class prior of these shares, each class with `PSEUDO_DOCUMENTS` more documents."""
    found = (
        prevalence.documents * np.array([each.share for each in prevalence.prevalence.values()])
        + PSEUDO_DOCUMENTS
    )
    log_prior = np.log(found / found.sum())
    for block in blocks:
        with np.errstate(divide="ignore"):
            log_posterior = normalised(
                np.log(likelihoods.compute_likelihoods(block.log_posterior)) + log_prior
            )
        yield block._replace(posterior=type(block.posterior)(log_posterior))


def _draw_proportions(
    log_posterior: Floats, likelihoods: ClassLikelihoods, shares: Floats, n_sweeps: int
) -> Floats:
    """Return `DRAWS` draws of the shares among these documents, shape (DRAWS, n_classes).

    Each begins halfway from ``shares``, the most likely ones, to any others, so that intervals are rather too wide if it is not forgotten.
    """
    pseudo_documents = likelihoods.pseudo_documents
    n_documents, n_classes = log_posterior.shape
    n_runs = -(-n_classes // MAX_CORRECTED_CLASSES)
    width = min(n_classes, MAX_CORRECTED_CLASSES)
    at_once = max(MAX_SCORES_AT_ONCE // (n_documents * max(n_runs, width)), 1)
    random = np.random.default_rng(0)
    drawn = []
    likelihood = np.empty(0)
    for begin in range(0, DRAWS, at_once):
        n_draws = min(at_once, DRAWS - begin)
        if not likelihood.size or len(likelihoods.scaling_draws) > 1:
            likelihood = _in_runs(
                likelihoods.compute_likelihoods(
                    log_posterior, likelihoods.scaling_draws[begin : begin + n_draws]
                ),
                n_runs,
                width,
            )
        prior = (
            shares + _shares_of(random.standard_gamma(2 * pseudo_documents, (n_draws, n_classes)))
        ) / 2
        for _ in range(n_sweeps):
            classes = np.minimum(
                _drawn_classes(likelihood, _in_runs(prior, n_runs, width), random), n_classes - 1
            )
            counts = np.apply_along_axis(np.bincount, 1, classes, minlength=n_classes)
            prior = _shares_of(random.standard_gamma(counts + pseudo_documents))
        drawn.append(counts / n_documents)
    return np.concatenate(drawn)


def _shares_of(weights: Floats) -> Floats:
    return weights / weights.sum(axis=1, keepdims=True)


def _in_runs(values: Floats, n_runs: int, width: int) -> Floats:
    """Return values of classes, shape (…, n_classes), in runs of neighbours, shape (…, n_runs, width), zeros after the last."""
    padding = [(0, 0)] * (values.ndim - 1) + [(0, n_runs * width - values.shape[-1])]
    return np.pad(values, padding).reshape(*values.shape[:-1], n_runs, width)


def _drawn_classes(likelihood: Floats, prior: Floats, random: np.random.Generator) -> Ints:
    """Draw the class of each document, shape (n_draws, n_docs): first the run, whose sums are products of matrices, then a class of it.

    ``likelihood`` has shape (n_draws or 1, n_docs, n_runs, width), ``prior`` (n_draws, n_runs, width); there is one likelihood if there are several runs.
    """
    draws, documents = np.ogrid[: len(prior), : likelihood.shape[1]]
    run = np.zeros((1, 1), np.int64)
    if prior.shape[1] > 1:
        run = _chosen(
            (likelihood[0].transpose(1, 0, 2) @ prior.transpose(1, 2, 0)).transpose(2, 1, 0), random
        )
    of_run = likelihood[np.minimum(draws, len(likelihood) - 1), documents, run]
    of_run *= prior[draws, run]
    return prior.shape[2] * run + _chosen(of_run, random)


def _chosen(weights: Floats, random: np.random.Generator) -> Ints:
    """Draw a place of the last axis, with probabilities in proportion to the weights."""
    cumulated = weights.cumsum(axis=-1)
    places = random.random(cumulated.shape[:-1]) * cumulated[..., -1]
    return np.minimum((cumulated <= places[..., np.newaxis]).sum(axis=-1), weights.shape[-1] - 1)
