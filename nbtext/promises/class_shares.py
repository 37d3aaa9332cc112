"""Shares of the classes in a set of documents without labels: how many, not which.

Documents may have other class shares than those of training (prior shift). Then counting answers leans towards the shares of training. The shares
under which the documents are most likely are found by EM on the class prior alone (M. Saerens, P. Latinne, C. Decaestecker, Adjusting the outputs of
a classifier to new a priori probabilities, 2002). Its likelihoods p(d | C_k) are posteriors divided by the class shares of training, so it is as good
as the posteriors are calibrated class by class. A slope and an offset for each class are therefore fitted to documents left out (vector scaling: Guo
et al. 2017; for this purpose A. Alexandari, A. Kundaje, A. Shrikumar, Maximum likelihood with bias-corrected calibration, 2020).

Intervals are for the shares among these very documents. Each draw resamples the left-out documents within their classes, which moves slopes and
offsets by one Newton step, and then draws classes of the documents and shares in turn, given each other (M. Tanner, W. Wong, The calculation of
posterior distributions by data augmentation, 1987). Resampling the documents too would add how the set itself may have come about, and the intervals
would hold the truth nearly always.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.decision import log_posterior as normalised
from nbtext.errors import NoDocumentsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from nbtext.model.left_out import LeftOutPosteriors
    from nbtext.model.scoring import ScoredBlock
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Floats, Whole

LEAST_LOG = -40.0
"""Less probable classes count as if they had this log probability, so that one document cannot decide alone."""

MOST_CLASSES = 256
"""With more classes the sample has too few documents of each, and slopes and offsets would take seconds."""

RIDGE = 1.0
"""Half of it times the squared distance of slopes from 1 and of offsets from 0 is added to the loss, in nats."""

DRAWS, SWEEPS = 200, 4
"""Draws for an interval, and how often classes and shares are drawn in turn for each."""

PSEUDO_DOCUMENTS = 0.5
"""Of each class before any document is seen (H. Jeffreys' prior of shares)."""

SCORES_AT_ONCE = 1 << 20
"""Scores by draw, document and class that are in memory together."""

MOST_STEPS = 1000
LEAST_CHANGE = 1e-7
"""Of a share, in a step of EM that is the last."""


class ClassShare(NamedTuple):
    """The share of a class among documents."""

    share: float
    low: float
    """End of the 95 % interval."""
    high: float
    counted: float
    """The share of the answers that are this class."""


class Prevalence(NamedTuple):
    """The shares of the classes among documents."""

    documents: int
    """Those that could be read, and for which any class is possible."""
    prevalence: Mapping[str, ClassShare]


class PrevalenceResult(NamedTuple):
    """The shares of the classes among all documents, and among those of each value of a column."""

    all: Prevalence
    by: Mapping[str, Prevalence]
    """By value, sorted; empty without a column."""
    impossible: int
    """Documents that are left out, because no class is possible."""


@dataclass(frozen=True, eq=False)
class ClassLikelihoods:
    """Likelihoods of a document in each class, up to a factor of the document, from the posteriors of a model."""

    log_prior: Floats
    """The log shares of the classes for which the posteriors hold, shape (n_classes,)."""
    scaling: Floats
    """Slopes and offsets of log posteriors, shape (2, n_classes)."""
    resampled: Floats
    """Those of resampled left-out documents, shape (n_draws, 2, n_classes)."""

    @classmethod
    def uncorrected(cls, prior: Floats) -> ClassLikelihoods:
        """Return those of posteriors as they are, which hold for class shares ``prior``, shape (n_classes,)."""
        identity = np.stack((np.ones_like(prior), np.zeros_like(prior)))
        with np.errstate(divide="ignore"):
            log_prior = np.maximum(np.log(prior), LEAST_LOG)
        return cls(log_prior, identity, np.broadcast_to(identity, (DRAWS, *identity.shape)))

    @classmethod
    def corrected(cls, left_out: LeftOutPosteriors) -> ClassLikelihoods:
        """Fit slopes and offsets to left-out documents by Newton steps, halved until the loss falls."""
        x, truth = np.maximum(left_out.log_posterior, LEAST_LOG), left_out.classes
        n_classes = x.shape[1]
        identity = np.stack((np.ones(n_classes), np.zeros(n_classes)))
        is_true = np.zeros_like(x)
        is_true[np.arange(len(truth)), truth] = 1

        def fitted(scaling: Floats) -> tuple[float, Floats]:
            log_p = normalised(scaling[0] * x + scaling[1])
            return float(RIDGE / 2 * ((scaling - identity) ** 2).sum() - log_p[is_true == 1].sum()), np.exp(log_p)

        scaling = identity
        loss, p = fitted(scaling)
        while True:
            gradients = np.stack(((p - is_true) * x, p - is_true), axis=1).reshape(len(x), -1)
            curvature = _curvature(p, x)
            gradient = gradients.sum(axis=0) + RIDGE * (scaling - identity).ravel()
            step = np.linalg.solve(curvature, gradient)
            if step @ gradient < LEAST_CHANGE:
                break
            while (new := fitted(scaling - step.reshape(2, -1)))[0] > loss:
                step /= 2
            scaling, (loss, p) = scaling - step.reshape(2, -1), new
        moved = np.linalg.solve(curvature, ((_resampling(truth) - 1) @ gradients).T).T
        shares = np.maximum(p.mean(axis=0), PSEUDO_DOCUMENTS / len(x))  # of a class without left-out documents next to nothing is known
        return cls(np.log(shares), scaling, scaling - moved.reshape(-1, 2, n_classes))

    def given(self, log_posterior: Floats, scaling: Floats | None = None) -> Floats:
        """Return likelihoods from log p(C_k | d), shape (n_docs, n_classes), the largest of a document 1; of several scalings with a first axis of these."""
        scaling = self.scaling if scaling is None else scaling
        log_likelihood = scaling[..., :1, :] * np.maximum(log_posterior, LEAST_LOG) + (scaling[..., 1:, :] - self.log_prior)
        log_likelihood -= log_likelihood.max(axis=-1, keepdims=True)
        return np.exp(log_likelihood, out=log_likelihood)


def _curvature(p: Floats, x: Floats) -> Floats:
    """Return the second derivatives of the loss by slopes and offsets, shape (2 n_classes, 2 n_classes): Σ_d Jᵀ(diag(p) − p pᵀ)J plus the ridge."""
    n_classes = x.shape[1]
    both = np.hstack((p * x, p))
    curvature = RIDGE * np.eye(2 * n_classes) - both.T @ both
    slope = np.arange(n_classes)
    offset = slope + n_classes
    curvature[slope, slope] += (p * x**2).sum(axis=0)
    curvature[offset, offset] += p.sum(axis=0)
    mixed = (p * x).sum(axis=0)
    curvature[slope, offset] += mixed
    curvature[offset, slope] += mixed
    return curvature


def _resampling(classes: Whole) -> Floats:
    """Return how often each document is in each of `DRAWS` samples drawn with replacement within classes, shape (DRAWS, n_docs)."""
    random = np.random.default_rng(0)
    times = np.zeros((DRAWS, len(classes)))
    for number in np.unique(classes).tolist():
        here = np.flatnonzero(classes == number)
        times[:, here] = random.multinomial(here.size, np.full(here.size, 1 / here.size), size=DRAWS)
    return times


def most_likely_shares(likelihood: Floats) -> Floats:
    """Return the class shares of greatest likelihood, shape (n_classes,), by EM from equal ones; ``likelihood`` has shape (n_docs, n_classes)."""
    shares = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(MOST_STEPS):
        before = shares
        shares = before * (likelihood.T @ (1 / (likelihood @ before))) / len(likelihood)
        if np.abs(shares - before).max() < LEAST_CHANGE:
            break
    return shares


def class_likelihoods(model: TextClassifier) -> ClassLikelihoods:
    """Return the likelihoods of a model, corrected by its left-out documents.

    Raise `UsageError` if it has none, or more than `MOST_CLASSES`; `ClassLikelihoods.uncorrected` then goes without.
    """
    if len(model.classes) > MOST_CLASSES:
        raise UsageError(f"there are more than {MOST_CLASSES} classes")
    return ClassLikelihoods.corrected(model.left_out_posteriors())


def estimate_prevalence(blocks: Iterable[ScoredBlock], classes: list[str], likelihoods: ClassLikelihoods) -> PrevalenceResult:
    """Estimate the shares of the classes among scored documents, and by their first column, if they have one.

    Raise `UsageError` if there are no documents that can be read.
    """
    parts: list[Floats] = []
    values: list[str] = []
    impossible = 0
    for block in blocks:
        possible = ~np.isnan(block.log_posterior[:, 0])
        readable = np.array([document.problem is None for document in block.documents], np.bool_)
        impossible += int(np.count_nonzero(readable & ~possible))
        parts.append(block.log_posterior[readable & possible])
        columns = (document.columns for document, kept in zip(block.documents, (readable & possible).tolist(), strict=True) if kept)
        values += [column[0] for column in columns if column]
    if not sum(map(len, parts)):
        raise NoDocumentsError("there are no documents that can be read and answered")
    log_posterior, of_value = np.concatenate(parts), np.array(values, object)
    by = {value: class_shares(log_posterior[of_value == value], classes, likelihoods) for value in sorted(set(values))}
    return PrevalenceResult(class_shares(log_posterior, classes, likelihoods), by, impossible)


def class_shares(log_posterior: Floats, classes: list[str], likelihoods: ClassLikelihoods) -> Prevalence:
    """Return the shares of the classes among documents with log p(C_k | d), shape (n_docs, n_classes), at least one."""
    shares = most_likely_shares(likelihoods.given(log_posterior))
    low, high = np.quantile(_drawn(log_posterior, likelihoods, shares), (0.025, 0.975), axis=0)
    counted = np.bincount(log_posterior.argmax(axis=1), minlength=len(classes)) / len(log_posterior)
    columns = (shares, np.minimum(low, shares), np.maximum(high, shares), counted)
    of_classes = (ClassShare(*row) for row in zip(*(column.tolist() for column in columns), strict=True))
    return Prevalence(len(log_posterior), dict(zip(classes, of_classes, strict=True)))


def with_prior_of(blocks: Iterable[ScoredBlock], prevalence: Prevalence, likelihoods: ClassLikelihoods) -> Iterator[ScoredBlock]:
    """Yield scored documents with posteriors for a class prior of these shares, each class with `PSEUDO_DOCUMENTS` more documents."""
    found = prevalence.documents * np.array([each.share for each in prevalence.prevalence.values()]) + PSEUDO_DOCUMENTS
    log_prior = np.log(found / found.sum())
    for block in blocks:
        impossible = np.isnan(block.log_posterior)
        with np.errstate(divide="ignore"):
            log_posterior = normalised(np.log(likelihoods.given(block.log_posterior)) + log_prior)
        yield block._replace(log_posterior=np.where(impossible, np.nan, log_posterior))


def _drawn(log_posterior: Floats, likelihoods: ClassLikelihoods, shares: Floats) -> Floats:
    """Return `DRAWS` draws of the shares among these documents, shape (DRAWS, n_classes)."""
    n_documents, n_classes = log_posterior.shape
    random, drawn = np.random.default_rng(0), []
    at_once = max(SCORES_AT_ONCE // log_posterior.size, 1)
    for scaling in np.split(likelihoods.resampled, range(at_once, DRAWS, at_once)):
        likelihood = likelihoods.given(log_posterior, scaling)
        prior, first = np.tile(shares, (len(scaling), 1)), n_classes * np.arange(len(scaling))[:, np.newaxis]
        for _ in range(SWEEPS):
            cumulated = (likelihood * prior[:, np.newaxis]).cumsum(axis=2)
            places = random.random(cumulated.shape[:2]) * cumulated[:, :, -1]
            classes = np.minimum((cumulated <= places[:, :, np.newaxis]).sum(axis=2), n_classes - 1)
            counts = np.bincount((classes + first).ravel(), minlength=first.size * n_classes).reshape(-1, n_classes)
            prior = random.standard_gamma(counts + PSEUDO_DOCUMENTS)
            prior /= prior.sum(axis=1, keepdims=True)
        drawn.append(counts / n_documents)
    return np.concatenate(drawn)
