"""Forecasts from a learning curve: an inverse power law through the error at several sizes, drawn on to a larger one.

Sources: C. Cortes, L. Jackel, S. Solla, V. Vapnik, J. Denker, Learning curves: asymptotic values and rate of convergence (1994); R. Figueroa,
Q. Zeng-Treitler, S. Kandula, L. Ngo, Predicting sample size required for classification performance (2012).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.metrics.intervals import NORMAL_95, percentile_interval, wilson_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.metrics.intervals import Bootstrap, Interval

STEEPEST = 2.0
"""Largest exponent c. Curves of classifiers have it between 0.1 and 1 or so."""

EXPONENTS = np.linspace(STEEPEST / 100, STEEPEST, 100)
"""Tried first; the best is then refined between its neighbours."""

REFINEMENTS = 40
"""Each makes the bracket around the best exponent shorter by the golden ratio: to 1e-9 of a grid step."""

FEWEST_SIZES = 4
"""Points below which a law of three parameters fits whatever there is."""

WIDEST = 0.2
"""A forecast whose interval is wider says nothing."""

_GOLDEN = (np.sqrt(5) - 1) / 2


class PowerLaws(NamedTuple):
    """error(n) = a + b (n / unit)^(−c): one law for each of some curves, all of shape (n_curves,); a, b ≥ 0 and 0 < c ≤ `STEEPEST`."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    c: NDArray[np.float64]
    unit: float

    def error(self, n: float) -> NDArray[np.float64]:
        """Of a model of n training documents by each law, from 0 to 1, shape (n_curves,)."""
        return np.clip(self.a + self.b * (n / self.unit) ** -self.c, 0, 1)


class Forecast(NamedTuple):
    """A figure (1 less an error) at a larger number of training documents, or why there is none."""

    documents: int
    value: float | None = None
    interval: Interval | None = None
    """95 % of the forecasts that redrawn runs would have made, and as much on either side as the law misses the curve by."""
    now: float | None = None
    """The law's figure at the present number of documents."""
    withheld: str | None = None
    """Why there is no forecast."""


def fit(sizes: NDArray[np.float64], errors: NDArray[np.float64], weights: NDArray[np.float64]) -> PowerLaws:
    """The laws of least Σ w (error(n) − e)² for errors e, shape (n_curves, n_sizes), at sizes n with weights w, both of shape (n_sizes,).

    For a given exponent the best a and b are found exactly; the exponent is found by a grid and golden-section search.
    """
    unit = float(sizes.max())
    relative = sizes / unit
    tried = [_given_exponent(relative, errors, weights, np.full(len(errors), c))[2] for c in EXPONENTS]
    best = np.argmin(tried, axis=0)
    low, high = EXPONENTS[np.maximum(best - 1, 0)], EXPONENTS[np.minimum(best + 1, EXPONENTS.size - 1)]
    for _ in range(REFINEMENTS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        to_left = _given_exponent(relative, errors, weights, left)[2] <= _given_exponent(relative, errors, weights, right)[2]
        low, high = np.where(to_left, low, left), np.where(to_left, right, high)
    c = (low + high) / 2
    a, b, _ = _given_exponent(relative, errors, weights, c)
    return PowerLaws(a, b, c, unit)


def weights_of_runs(sizes: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much each size counts, shape (n_sizes,), from the errors of runs, shape (n_runs, n_sizes): n over the variance between runs.

    That of a few runs is not well known, so half of it is the size's own and half the mean of all. The factor n: laws of small samples often
    differ, and what is asked lies beyond the largest (Figueroa and others, 2012, have the rank of the size for it).
    """
    variances = errors.var(axis=0)
    typical = variances.mean()
    return sizes / (variances + typical) if typical else sizes


def small_sample_factor(n: int) -> float:
    """By how much redrawn means of n values must spread more for their percentiles to be Student's interval (W. Gosset, 1908)."""
    from scipy.special import stdtrit

    return float(np.sqrt(n / (n - 1)) * stdtrit(n - 1, 0.975) / NORMAL_95)


def forecast(sizes: NDArray[np.int64], figures: NDArray[np.float64], at_once: int, now: int, later: int, bootstrap: Bootstrap) -> Forecast:
    """Draw a figure on from sizes, shape (n_sizes,), to ``later`` training documents; ``now`` is how many there are.

    ``figures``, shape (n_runs, n_sizes), come from runs of which ``at_once`` together test every document once. For the interval as many
    runs are drawn and the law fitted anew: runs that repeat others on the same documents do not make it shorter. It is then widened by the
    largest distance of the law from the upper half of the curve: where the law bends otherwise than the curve, it will do so beyond. Where all
    answers are right at the largest size it reaches down to Wilson's limit for ``now`` documents.
    """
    if sizes.size < FEWEST_SIZES:
        return Forecast(later, withheld=f"a curve of fewer than {FEWEST_SIZES} points says too little")
    errors, places = 1 - figures, sizes.astype(np.float64)
    mean = errors.mean(axis=0)
    drawn = np.random.default_rng(bootstrap.seed).integers(len(errors), size=(bootstrap.replicates, at_once))
    curves = mean + small_sample_factor(len(errors)) * (errors[drawn].mean(axis=1) - mean)
    laws = fit(places, np.concatenate((mean[np.newaxis], np.clip(curves, 0, 1))), weights_of_runs(places, errors))
    value = 1 - float(laws.error(later)[0])
    low, high = percentile_interval(1 - laws.error(later)[1:], value)
    missed = max(abs(float(laws.error(n)[0]) - mean[k]) for k, n in enumerate(places.tolist()) if k >= sizes.size // 2)
    low, high = max(low - missed, 0.0), min(high + missed, 1.0)
    if not errors[:, -1].any():  # of what did not occur, redrawn runs know nothing
        low = min(low, wilson_interval(now, now)[0])
    if high - low > WIDEST:
        return Forecast(later, withheld=f"the curve is too noisy, anything from {low:.2f} to {high:.2f} could follow")
    return Forecast(later, value, (low, high), 1 - float(laws.error(now)[0]))


def _given_exponent(
    relative: NDArray[np.float64], errors: NDArray[np.float64], weights: NDArray[np.float64], c: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The best a, b ≥ 0 for an exponent of each curve, and their weighted sum of squares; all of shape (n_curves,).

    A plane's least squares; where that leaves the quadrant, the better of its two edges (C. Lawson, R. Hanson, 1974, chapter 23).
    """
    x = relative ** -c[:, np.newaxis]
    total, sum_x, sum_xx = weights.sum(), x @ weights, np.square(x) @ weights
    sum_y, sum_xy = errors @ weights, (x * errors) @ weights
    determinant = total * sum_xx - sum_x**2
    b = (total * sum_xy - sum_x * sum_y) / determinant
    a = (sum_y - b * sum_x) / total
    flat, only_b = sum_y / total, sum_xy / sum_xx
    nothing = np.zeros(len(errors))
    candidates = [(a, b), (flat, nothing), (nothing, only_b)]
    squares = np.stack([np.square(errors - u[:, np.newaxis] - v[:, np.newaxis] * x) @ weights for u, v in candidates])
    squares[0, (a < 0) | (b < 0)] = np.inf
    best, rows = squares.argmin(axis=0), np.arange(len(errors))
    a, b = (np.stack([pair[side] for pair in candidates])[best, rows] for side in (0, 1))
    return a, b, squares[best, rows]
