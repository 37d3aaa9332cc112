"""How typical documents are of those that a model was trained on: one document by its likelihood, many by their means.

A document is compared by its log-likelihood per token with training documents of about its length, because short ones scatter more.

A profile of documents is the mean and standard deviation of a few figures, and the number of answers by class. The distance of a mean is in
standard deviations of training documents, so it does not grow with the number of documents; whether it is more than chance is Welch's test
(B. Welch, The generalization of "Student's" problem, 1947). Answers are compared by the total variation distance of their shares, and by a χ²
test of homogeneity, rare answers together (W. Cochran, Some methods for strengthening the common χ² tests, 1954).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.type_names import Floats, Ints, Numbers

LENGTH_BANDS = 12
"""Bands of length: 1 token, 2 to 3, 4 to 7, and so on; the last has no upper end."""

QUANTILE_LEVELS = np.array(
    (
        0.0,
        0.001,
        0.002,
        0.005,
        0.01,
        0.02,
        0.05,
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        0.95,
        0.98,
        0.99,
        1.0,
    )
)
"""Shares of documents at which quantiles are kept."""

MIN_BAND_DOCUMENTS = 50
"""Documents that a band needs; a smaller one is filled up with those nearest in length."""

UNKNOWN = "unknown"
LIKELIHOOD = "log_likelihood"
LENGTH = "length"
PREDICTIONS = "answers"

DRIFT_METRICS = (UNKNOWN, LIKELIHOOD, LENGTH)
"""Of a document: the share of unknown tokens; the log-likelihood per token under the best class, in nats; log(1 + tokens)."""

MIN_EXPECTED_COUNT = 5.0
"""Answers of a class that are expected in the smaller of two sets, else it is taken together with others: χ² is far too large of rare ones."""

MAX_DISTANCE = 1e9
"""Largest distance, also from training documents without any deviation."""


@dataclass(frozen=True, eq=False)
class Typicality:
    """For each band of length the quantiles of the log-likelihood per token of training documents, shape (BANDS, n_levels), in nats."""

    quantiles: Floats

    @classmethod
    def from_likelihoods(cls, per_token: Floats, tokens: Ints) -> Typicality | None:
        """Return the quantiles of documents that the model has not seen; None if fewer than `FEWEST` of them are possible."""
        usable = np.isfinite(per_token) & (
            tokens > 0
        )  # maximum likelihood finds most new documents impossible
        per_token = per_token[usable]
        tokens = tokens[usable]
        if len(tokens) < MIN_BAND_DOCUMENTS:
            return None
        rows = []
        for band in range(LENGTH_BANDS):
            inside = _band(tokens) == band
            if np.count_nonzero(inside) < MIN_BAND_DOCUMENTS:
                inside = np.argsort(np.abs(np.log2(tokens) - (band + 0.5)), kind="stable")[
                    :MIN_BAND_DOCUMENTS
                ]
            rows.append(np.quantile(per_token[inside], QUANTILE_LEVELS).round(9))
        return cls(np.array(rows))

    def compute_proportion_below(self, per_token: Floats, tokens: Ints) -> Floats:
        """Return the share of training documents of about the same length that are less likely per token, shape (n_docs,); 1 without tokens.

        Interpolated between the quantiles; 0 for a document less likely than all of them.
        """
        bands = _band(np.maximum(tokens, 1))
        shares = np.ones(len(tokens))
        for band in np.flatnonzero(np.bincount(bands)).tolist():
            here = (bands == band) & (tokens > 0)
            shares[here] = np.interp(per_token[here], self.quantiles[band], QUANTILE_LEVELS)
        return shares


def _band(tokens: Ints) -> Ints:
    return np.minimum(np.frexp(tokens)[1] - 1, LENGTH_BANDS - 1).astype(np.int64)


class MeanStd(NamedTuple):
    """Number of documents, and the mean and standard deviation of a figure over them."""

    documents: int
    mean: float
    std: float

    @classmethod
    def from_values(cls, values: Floats) -> MeanStd:
        """Return the spread of the finite values, to nine digits; zeros if there are none."""
        values = values[np.isfinite(values)]
        if not values.size:
            return cls(0, 0.0, 0.0)
        return cls(
            values.size, *(float(f"{figure:.9g}") for figure in (values.mean(), values.std()))
        )

    @classmethod
    def pool(cls, parts: Sequence[MeanStd]) -> MeanStd:
        """Return the spread of all documents of several spreads, exactly: M = Σ n m / Σ n and S² = Σ n (s² + (m − M)²) / Σ n.

        Source: T. Chan, G. Golub, R. LeVeque, Algorithms for computing the sample variance (1983).
        """
        documents = sum(part.documents for part in parts)
        if not documents:
            return cls(0, 0.0, 0.0)
        mean = math.fsum(part.documents * part.mean for part in parts) / documents
        squares = math.fsum(
            part.documents * (part.std**2 + (part.mean - mean) ** 2) for part in parts
        )
        return cls(documents, mean, math.sqrt(squares / documents))

    def standardize(self, training: MeanStd) -> MeanStd:
        """Return the spread of (x − μ) / σ, for the mean μ and the standard deviation σ of training."""
        apart = self.mean - training.mean
        if not training.std:
            return MeanStd(
                self.documents, math.copysign(MAX_DISTANCE, apart) if apart else 0.0, 0.0
            )
        farthest = max(min(apart / training.std, MAX_DISTANCE), -MAX_DISTANCE)
        return MeanStd(self.documents, farthest, min(self.std / training.std, MAX_DISTANCE))

    def compute_distance(self, training: MeanStd) -> float | None:
        """Return the distance of the means in standard deviations of training; None if one has no documents."""
        if not self.documents or not training.documents:
            return None
        apart = abs(self.mean - training.mean)
        if training.std:
            return min(apart / training.std, MAX_DISTANCE)
        return MAX_DISTANCE if apart else 0.0

    def compute_p_value(self, training: MeanStd) -> float:
        """Return the probability that means are so far apart by chance: two-sided, the normal approximation of Welch's test.

        The deviation is at least that of training, because a few documents may be alike by chance.
        """
        if not self.documents or not training.documents:
            return 1.0
        deviation = max(self.std, training.std)
        variance = deviation**2 / self.documents + training.std**2 / training.documents
        apart = abs(self.mean - training.mean)
        return math.erfc(apart / math.sqrt(2 * variance)) if variance else float(apart == 0)


@dataclass(frozen=True, eq=False)
class Profile:
    """The spread of each of `FIGURES` over documents, and the number of answers of each class, shape (n_classes,)."""

    metrics: Mapping[str, MeanStd]
    predictions: Ints

    @classmethod
    def from_documents(
        cls, tokens: Ints, unknown: Ints, per_token: Floats | None, answers: Ints, n_classes: int
    ) -> Profile:
        """Return the profile of documents: tokens, unknown ones among them, log-likelihoods per token or None, and answers (class numbers or −1)."""
        some = tokens > 0
        figures = {
            UNKNOWN: MeanStd.from_values(unknown[some] / tokens[some]),
            LIKELIHOOD: MeanStd.from_values(np.empty(0) if per_token is None else per_token[some]),
            LENGTH: MeanStd.from_values(np.log1p(tokens)),
        }
        return cls(figures, np.bincount(answers[answers >= 0], minlength=n_classes))


def compute_total_variation(counts: Numbers, training: Numbers) -> float | None:
    """Return ½ Σ_k |p_k − q_k| of the shares of two counts, from 0 to 1; None if one of them is all zeros."""
    if not counts.any() or not training.any():
        return None
    return float(np.abs(counts / counts.sum() - training / training.sum()).sum() / 2)


def compute_chi2_p_value(counts: Numbers, training: Numbers) -> float:
    """Return the probability that two counts of the same shares are so far apart: Pearson's χ² over the 2 × K table, rare columns added up."""
    table = _without_rare_columns(np.stack((counts, training)))
    if table.shape[1] < 2 or not table.any(axis=1).all():
        return 1.0
    from scipy.special import chdtrc

    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(chdtrc(table.shape[1] - 1, ((table - expected) ** 2 / expected).sum()))


def _without_rare_columns(table: Numbers) -> Numbers:
    """Return a table in which columns that have less than `MIN_EXPECTED_COUNT` are one, with the smallest other one if that is too few as well."""
    table = table[:, np.argsort(table.sum(axis=0), kind="stable")]
    expected = table.sum(axis=0) * (table.sum(axis=1).min() / max(table.sum(), 1))
    n_rare = int(np.count_nonzero(expected < MIN_EXPECTED_COUNT))
    if n_rare and expected[:n_rare].sum() < MIN_EXPECTED_COUNT:
        n_rare += 1
    return np.column_stack((table[:, :n_rare].sum(axis=1), table[:, n_rare:])) if n_rare else table
