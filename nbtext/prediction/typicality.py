"""Comparison of documents with the training set: one document, or the means of many documents.

One document: its log-likelihood per token is compared with those of training documents of about the
same length, because those of short documents vary more (`Typicality`).

Many documents: their profile has the mean and the standard deviation of a few metrics, and the
number of predictions of each class (`Profile`). Distances of means are in standard deviations of
training documents, so they do not grow with the number of documents. Welch's test decides whether
they are significant (B. Welch, The generalization of "Student's" problem, 1947). Class proportions
are compared by their total variation distance, and by a χ² test of homogeneity that pools rare
classes (W. Cochran, Some methods for strengthening the common χ² tests, 1954).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.type_names import Floats, Ints, Numbers

N_LENGTH_BANDS = 12
"""Number of length bands: 1 token, 2 to 3, 4 to 7, and so on; the last band has no upper end."""

# fmt: off
QUANTILE_LEVELS = np.array(
    (
        0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3,
        0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0,
    )
)
# fmt: on
"""Proportions of training documents whose quantiles are stored."""

MIN_BAND_DOCUMENTS = 50
"""Documents that a band needs; a smaller band borrows the documents nearest in length."""

UNKNOWN = "unknown"
LIKELIHOOD = "log_likelihood"
LENGTH = "length"
PREDICTIONS = "answers"

DRIFT_METRICS = (UNKNOWN, LIKELIHOOD, LENGTH)
"""Metrics of a document.

`UNKNOWN` is the proportion of unknown tokens, `LIKELIHOOD` the log-likelihood per token under the
best class, in nats, and `LENGTH` is log(1 + tokens).
"""

MIN_EXPECTED_COUNT = 5.0
"""Expected predictions of a class in the smaller set below which χ² pools the class with others."""

MAX_DISTANCE = 1e9
"""Largest distance, and the distance if training documents do not vary."""


@dataclass(frozen=True, eq=False)
class Typicality:
    """Quantiles of the log-likelihood per token of training documents, by length band."""

    quantiles: Floats
    """Shape (N_LENGTH_BANDS, n_levels), in nats."""

    @classmethod
    def from_likelihoods(cls, per_token: Floats, tokens: Ints) -> Typicality | None:
        """Return the quantiles of held-out documents, given log-likelihoods per token and tokens.

        Return None if fewer than `MIN_BAND_DOCUMENTS` documents are possible. With maximum
        likelihood most held-out documents are impossible.
        """
        is_usable = np.isfinite(per_token) & (tokens > 0)
        per_token = per_token[is_usable]
        tokens = tokens[is_usable]
        if len(tokens) < MIN_BAND_DOCUMENTS:
            return None
        rows = []
        for band in range(N_LENGTH_BANDS):
            selected = _find_bands(tokens) == band
            if np.count_nonzero(selected) < MIN_BAND_DOCUMENTS:
                distances = np.abs(np.log2(tokens) - (band + 0.5))
                selected = np.argsort(distances, kind="stable")[:MIN_BAND_DOCUMENTS]
            rows.append(np.quantile(per_token[selected], QUANTILE_LEVELS).round(9))
        return cls(np.array(rows))

    def compute_proportion_below(self, per_token: Floats, tokens: Ints) -> Floats:
        """Return the proportion of training documents that are less likely, shape (n_docs,).

        Likelihoods are per token, and training documents are of about the same length. Proportions
        are interpolated between quantiles. A document without tokens has 1.
        """
        bands = _find_bands(np.maximum(tokens, 1))
        proportions = np.ones(len(tokens))
        for band in np.flatnonzero(np.bincount(bands)).tolist():
            in_band = (bands == band) & (tokens > 0)
            proportions[in_band] = np.interp(
                per_token[in_band], self.quantiles[band], QUANTILE_LEVELS
            )
        return proportions


def _find_bands(tokens: Ints) -> Ints:
    """Return the length band of each document, shape (n_docs,)."""
    return np.minimum(np.frexp(tokens)[1] - 1, N_LENGTH_BANDS - 1).astype(np.int64)


class MeanStd(NamedTuple):
    """Mean and standard deviation of a metric over documents."""

    documents: int
    """Number of documents."""
    mean: float
    std: float

    @classmethod
    def from_values(cls, values: Floats) -> MeanStd:
        """Return the statistics of the finite values, with nine digits; zeros if there are none."""
        values = values[np.isfinite(values)]
        if not values.size:
            return cls(0, 0.0, 0.0)
        return cls(values.size, float(f"{values.mean():.9g}"), float(f"{values.std():.9g}"))

    @classmethod
    def pool(cls, groups: Sequence[MeanStd]) -> MeanStd:
        """Return the statistics of the documents of all groups, exactly.

        M = Σ n m / Σ n and S² = Σ n (s² + (m − M)²) / Σ n.

        Source: T. Chan, G. Golub, R. LeVeque, Algorithms for computing the sample variance (1983).
        """
        documents = sum(group.documents for group in groups)
        if not documents:
            return cls(0, 0.0, 0.0)
        mean = math.fsum(group.documents * group.mean for group in groups) / documents
        squares = math.fsum(
            group.documents * (group.std**2 + (group.mean - mean) ** 2) for group in groups
        )
        return cls(documents, mean, math.sqrt(squares / documents))

    def standardize(self, training: MeanStd) -> MeanStd:
        """Return the statistics of (x − μ) / σ, with μ and σ of training."""
        difference = self.mean - training.mean
        if not training.std:
            distance = math.copysign(MAX_DISTANCE, difference) if difference else 0.0
            return MeanStd(self.documents, distance, 0.0)
        mean = max(min(difference / training.std, MAX_DISTANCE), -MAX_DISTANCE)
        return MeanStd(self.documents, mean, min(self.std / training.std, MAX_DISTANCE))

    def compute_distance(self, training: MeanStd) -> float | None:
        """Return the distance of the means, in standard deviations of training.

        Return None if one of the two has no documents.
        """
        if not self.documents or not training.documents:
            return None
        difference = abs(self.mean - training.mean)
        if training.std:
            return min(difference / training.std, MAX_DISTANCE)
        return MAX_DISTANCE if difference else 0.0

    def compute_p_value(self, training: MeanStd) -> float:
        """Return the p-value of the difference of the means.

        It is the two-sided normal approximation of Welch's test. The standard deviation is at least
        that of training, because a few documents may be similar by chance.
        """
        if not self.documents or not training.documents:
            return 1.0
        std = max(self.std, training.std)
        variance = std**2 / self.documents + training.std**2 / training.documents
        difference = abs(self.mean - training.mean)
        if not variance:
            return float(difference == 0)
        return math.erfc(difference / math.sqrt(2 * variance))


@dataclass(frozen=True, eq=False)
class Profile:
    """Metrics and predictions of documents, for comparison with the training set."""

    metrics: Mapping[str, MeanStd]
    """Statistics of each of `DRIFT_METRICS`."""
    predictions: Ints
    """Number of predictions of each class, shape (n_classes,)."""

    @classmethod
    def from_documents(
        cls,
        tokens: Ints,
        unknown: Ints,
        per_token: Floats | None,
        predictions: Ints,
        n_classes: int,
    ) -> Profile:
        """Return the profile of documents; arrays have the shape (n_docs,).

        ``unknown`` counts the unknown tokens among the tokens. ``per_token`` are log-likelihoods
        per token; None if the model has none. ``predictions`` are class indices or negative.
        """
        has_tokens = tokens > 0
        likelihoods = np.empty(0) if per_token is None else per_token[has_tokens]
        metrics = {
            UNKNOWN: MeanStd.from_values(unknown[has_tokens] / tokens[has_tokens]),
            LIKELIHOOD: MeanStd.from_values(likelihoods),
            LENGTH: MeanStd.from_values(np.log1p(tokens)),
        }
        return cls(metrics, np.bincount(predictions[predictions >= 0], minlength=n_classes))


def compute_total_variation(counts: Numbers, training: Numbers) -> float | None:
    """Return ½ Σ_k |p_k − q_k|, from 0 to 1, for the proportions p and q of two arrays of counts.

    Return None if one array is all zeros.
    """
    if not counts.any() or not training.any():
        return None
    return float(np.abs(counts / counts.sum() - training / training.sum()).sum() / 2)


def compute_chi2_p_value(counts: Numbers, training: Numbers) -> float:
    """Return the p-value of Pearson's χ² test that two arrays of counts have equal proportions.

    The 2 × K table has one column for all rare classes.
    """
    table = _pool_rare_columns(np.stack((counts, training)))
    if table.shape[1] < 2 or not table.any(axis=1).all():
        return 1.0
    from scipy.special import chdtrc

    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(chdtrc(table.shape[1] - 1, ((table - expected) ** 2 / expected).sum()))


def _pool_rare_columns(table: Numbers) -> Numbers:
    """Return the table with its columns below `MIN_EXPECTED_COUNT` added up to one column.

    If that column is still below it, the next larger column is added too.
    """
    table = table[:, np.argsort(table.sum(axis=0), kind="stable")]
    expected = table.sum(axis=0) * (table.sum(axis=1).min() / max(table.sum(), 1))
    n_rare = int(np.count_nonzero(expected < MIN_EXPECTED_COUNT))
    if n_rare and expected[:n_rare].sum() < MIN_EXPECTED_COUNT:
        n_rare += 1
    if not n_rare:
        return table
    return np.column_stack((table[:, :n_rare].sum(axis=1), table[:, n_rare:]))
