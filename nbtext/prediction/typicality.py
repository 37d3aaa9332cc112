"""Compare documents with the training set, to find unusual documents and drift.

`Typicality` compares one document: its log-likelihood per token with the log-likelihoods of
training documents in the same length band, because short documents vary more.

`Profile` compares many documents: the mean and the standard deviation of `DRIFT_METRICS`, and the
number of predictions of each class. Distances of means are in standard deviations of training
documents, so they do not grow with the number of documents. Welch's test decides whether they are
significant (B. Welch, The generalization of "Student's" problem, 1947). Class proportions are
compared by their total variation distance, and by a χ² test of homogeneity that pools rare classes
(W. Cochran, Some methods for strengthening the common χ² tests, 1954).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.calibration import clip_to_limit, round_to_nine_digits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.type_names import Floats, Ints, Numbers

N_LENGTH_BANDS = 12
"""Number of length bands: 1 token, 2 to 3, 4 to 7, and so on. The last band has no upper end."""

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
"""A band with fewer documents uses so many documents of the nearest lengths instead."""

UNKNOWN = "unknown"
"""Proportion of unknown tokens."""

LIKELIHOOD = "log_likelihood"
"""Log-likelihood per token under the most probable class, in nats."""

LENGTH = "length"
"""log(1 + tokens)."""

PREDICTIONS = "answers"
"""Name of the class proportions next to the metrics."""

DRIFT_METRICS = (UNKNOWN, LIKELIHOOD, LENGTH)
"""Names of the metrics of a document."""

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
        """Return the quantiles of held-out documents.

        ``per_token`` are log-likelihoods per token in nats, ``tokens`` the numbers of tokens, both
        of shape (n_docs,). Return None if fewer than `MIN_BAND_DOCUMENTS` documents are possible.
        With maximum likelihood most held-out documents are impossible.
        """
        is_usable = np.isfinite(per_token) & (tokens > 0)
        likelihoods = per_token[is_usable]
        lengths = tokens[is_usable]
        if len(lengths) < MIN_BAND_DOCUMENTS:
            return None
        bands = _find_bands(lengths)
        quantiles = []
        for band in range(N_LENGTH_BANDS):
            rows = np.flatnonzero(bands == band)
            if rows.size < MIN_BAND_DOCUMENTS:
                # The middle of a band is band + ½ on a logarithmic scale.
                distances = np.abs(np.log2(lengths) - (band + 0.5))
                rows = np.argsort(distances, kind="stable")[:MIN_BAND_DOCUMENTS]
            quantiles.append(np.quantile(likelihoods[rows], QUANTILE_LEVELS).round(9))
        return cls(np.array(quantiles))

    def compute_proportion_below(self, per_token: Floats, tokens: Ints) -> Floats:
        """Return the proportion of training documents in the same band that are less likely.

        ``per_token`` and ``tokens`` are as in `from_likelihoods`. The result has the shape
        (n_docs,), is interpolated between quantiles, and is 1 for a document without tokens.
        """
        has_tokens = tokens > 0
        bands = _find_bands(np.maximum(tokens, 1))
        proportions = np.ones(len(tokens))
        for band in range(N_LENGTH_BANDS):
            is_in_band = (bands == band) & has_tokens
            proportions[is_in_band] = np.interp(
                per_token[is_in_band], self.quantiles[band], QUANTILE_LEVELS
            )
        return proportions


def _find_bands(tokens: Ints) -> Ints:
    """Return ⌊log2 n⌋, the length band of each document of n tokens, shape (n_docs,)."""
    _, exponents = np.frexp(tokens)  # n = m · 2^exponent with ½ ≤ m < 1
    return np.minimum(exponents - 1, N_LENGTH_BANDS - 1).astype(np.int64)


class MeanStd(NamedTuple):
    """Mean and standard deviation of a metric over documents."""

    documents: int = 0
    """Number of documents."""
    mean: float = 0.0
    std: float = 0.0

    @classmethod
    def from_values(cls, values: Floats) -> MeanStd:
        """Return the statistics of the finite values, which are 0 without finite values."""
        finite = values[np.isfinite(values)]
        if not finite.size:
            return cls()
        mean = round_to_nine_digits(finite.mean())
        return cls(finite.size, mean, round_to_nine_digits(finite.std()))

    @classmethod
    def pool(cls, groups: Sequence[MeanStd]) -> MeanStd:
        """Return the statistics of the documents of all groups, exactly.

        M = Σ n m / Σ n and S² = Σ n (s² + (m − M)²) / Σ n.

        Source: T. Chan, G. Golub, R. LeVeque, Algorithms for computing the sample variance (1983).
        """
        documents = sum(group.documents for group in groups)
        if not documents:
            return cls()
        mean = math.fsum(group.documents * group.mean for group in groups) / documents
        squares = math.fsum(
            group.documents * (group.std**2 + (group.mean - mean) ** 2) for group in groups
        )
        return cls(documents, mean, math.sqrt(squares / documents))

    def standardize(self, training: MeanStd) -> MeanStd:
        """Return the statistics of (x − μ) / σ, with μ and σ of training.

        If σ is 0, the mean is ±`MAX_DISTANCE`, or 0 for equal means.
        """
        difference = self.mean - training.mean
        if training.std != 0:
            mean = clip_to_limit(difference / training.std, MAX_DISTANCE)
            return MeanStd(self.documents, mean, min(self.std / training.std, MAX_DISTANCE))
        mean = 0.0
        if difference != 0:
            mean = math.copysign(MAX_DISTANCE, difference)
        return MeanStd(self.documents, mean)

    def compute_distance(self, training: MeanStd) -> float | None:
        """Return the distance of the means, in standard deviations of training.

        Return None if one of the two has no documents.
        """
        if not self.documents or not training.documents:
            return None
        return abs(self.standardize(training).mean)

    def compute_p_value(self, training: MeanStd) -> float:
        """Return the p-value of the difference of the means.

        It is the two-sided normal approximation of Welch's test. The standard deviation is at least
        the standard deviation of training, because a few documents may be similar by chance.
        """
        if not self.documents or not training.documents:
            return 1.0
        std = max(self.std, training.std)
        variance = std**2 / self.documents + training.std**2 / training.documents
        difference = abs(self.mean - training.mean)
        if variance == 0:
            return 1.0 if difference == 0 else 0.0
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
        """Return the profile of documents. All arrays have the shape (n_docs,).

        ``unknown`` counts the unknown tokens among the ``tokens``. ``per_token`` are
        log-likelihoods per token, or None if the model defines none. ``predictions`` are class
        indices, negative if no class was predicted.
        """
        has_tokens = tokens > 0
        likelihoods = np.empty(0)
        if per_token is not None:
            likelihoods = per_token[has_tokens]
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

    Both arrays have the shape (n_classes,). Rare classes are pooled by `_pool_rare_columns`. Return
    1 if only one column is left, or an array is all zeros.
    """
    table = _pool_rare_columns(np.stack((counts, training)))
    n_columns = table.shape[1]
    has_empty_row = not table.any(axis=1).all()
    if n_columns < 2 or has_empty_row:
        return 1.0
    from scipy.special import chdtrc

    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    chi2 = ((table - expected) ** 2 / expected).sum()
    return float(chdtrc(n_columns - 1, chi2))


def _pool_rare_columns(table: Numbers) -> Numbers:
    """Return a table of two rows, in order of column sums, with its rare columns added up to one.

    A column is rare if its expected count in the row of smaller sum is below `MIN_EXPECTED_COUNT`.
    If the sum of all rare columns is rare too, the next larger column is added.
    """
    sorted_table = table[:, np.argsort(table.sum(axis=0), kind="stable")]
    smaller_proportion = table.sum(axis=1).min() / max(table.sum(), 1)
    expected = sorted_table.sum(axis=0) * smaller_proportion
    n_rare = int(np.count_nonzero(expected < MIN_EXPECTED_COUNT))
    if not n_rare:
        return sorted_table
    if expected[:n_rare].sum() < MIN_EXPECTED_COUNT:
        n_rare += 1
    return np.column_stack((sorted_table[:, :n_rare].sum(axis=1), sorted_table[:, n_rare:]))
