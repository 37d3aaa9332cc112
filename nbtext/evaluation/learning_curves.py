"""Forecasts from a learning curve: an inverse power law through the error at several sizes, drawn on to a larger one.

Sources: C. Cortes, L. Jackel, S. Solla, V. Vapnik, J. Denker, Learning curves: asymptotic values and rate of convergence (1994); R. Figueroa,
Q. Zeng-Treitler, S. Kandula, L. Ngo, Predicting sample size required for classification performance (2012).


How good models are that learn from fewer documents than there are, and what more documents would bring.

Documents are counted once. Each run holds out a fold and learns from growing parts of the rest; limits on terms, selection and smoothing are
those of the part. Calibration is left out: it changes how probable the most probable class is, not which one that is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.decision import minimum_error
from nbtext.errors import UsageError, quantity
from nbtext.evaluation.cross_validation import stratified_folds, train_and_score
from nbtext.metrics.intervals import NORMAL_95, Bootstrap, percentile_interval, wilson_interval
from nbtext.metrics.outcomes import ConfusionCells, accuracy, f1, macro, outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from nbtext.counts.corpus_counts import Subsets
    from nbtext.metrics.intervals import Interval
    from nbtext.settings import Settings

    Mask = NDArray[np.bool_]
    Whole = NDArray[np.int64]


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


FIGURES = ("accuracy", "macro_f1")


WIDEST_RANGE = 128
"""The largest part of the documents is at most so many times the smallest."""


FEWEST_OF_A_CLASS = 2
"""Documents of a class that the smallest part has, on average over classes."""


class CurvePoint(NamedTuple):
    """Figures of models that learnt from so many documents: means over runs, and the band in which 95 % of the runs lie."""

    documents: int
    accuracy: float
    accuracy_band: Interval
    macro_f1: float
    macro_f1_band: Interval


class LearningCurve(NamedTuple):
    """The points, smallest first, and what twice the documents of the corpus would bring."""

    documents: int
    """Documents of the corpus."""
    runs: int
    """Folds × repeats."""
    points: tuple[CurvePoint, ...]
    accuracy: Forecast
    macro_f1: Forecast

    def summary(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "documents": self.documents,
            "runs": self.runs,
            "points": [point._asdict() for point in self.points],
            "forecast": {name: getattr(self, name)._asdict() for name in FIGURES},
        }


class Resampling(NamedTuple):
    """How many sizes the curve has, into how many folds documents are dealt, how often, and with which seed."""

    steps: int = 8
    folds: int = 5
    repeats: int = 3
    seed: int = 0


def learning_curve(
    subsets: Subsets,
    parameters: Settings,
    resampling: Resampling = Resampling(),  # noqa: B008 - immutable
) -> LearningCurve:
    """The curve of a corpus for models with some parameters of training.

    A size at which the parameters leave no term in some run is not on it. Raises `UsageError` if that holds for all sizes, or if there are
    fewer than two documents for each fold.
    """
    classes, n = subsets.documents.classes, len(subsets)
    if n < 2 * resampling.folds:
        raise UsageError(
            f"{quantity(n, 'document')} {'is' if n == 1 else 'are'} too few for {quantity(resampling.folds, 'fold')}", hint="lower --folds"
        )
    sizes = sizes_of(n - -(-n // resampling.folds), subsets.statistics.n_classes, resampling.steps)
    found = np.full((resampling.folds * resampling.repeats, sizes.size, len(FIGURES)), np.nan)
    problem = None
    for run, (test, order) in enumerate(_runs(classes, resampling)):
        for place, size in enumerate(sizes.tolist()):
            training = np.zeros(n, np.bool_)
            training[order[:size]] = True
            try:
                found[run, place] = _figures(subsets, parameters, training, test)
            except UsageError as none_left:
                problem = none_left
    usable = np.isfinite(found).all(axis=(0, 2))
    if problem is not None and not usable.any():
        raise problem
    sizes, found = sizes[usable], found[:, usable]
    bootstrap = Bootstrap(seed=resampling.seed)
    forecasts = [forecast(sizes, found[..., figure], resampling.folds, n, 2 * n, bootstrap) for figure in range(len(FIGURES))]
    return LearningCurve(n, len(found), _points(sizes, found), *forecasts)


def sizes_of(most: int, n_classes: int, steps: int) -> Whole:
    """At most ``steps`` distinct sizes in geometric progression, the last one ``most``."""
    fewest = min(max(most / WIDEST_RANGE, FEWEST_OF_A_CLASS * n_classes), most)
    return np.unique(np.round(np.geomspace(most, fewest, steps)).astype(np.int64))


def stratified_order(classes: Whole, generator: np.random.Generator) -> Whole:
    """The numbers of documents in a random order of which every beginning holds each class in its share, to one document; shape (n_docs,)."""
    shuffled = generator.permutation(classes.size)
    dealt = shuffled[np.argsort(classes[shuffled], kind="stable")]
    sizes = np.bincount(classes)
    begins = np.cumsum(sizes) - sizes
    of_dealt = classes[dealt]
    place = (np.arange(classes.size) - begins[of_dealt] + generator.random(sizes.size)[of_dealt]) / sizes[of_dealt]
    return dealt[np.argsort(place, kind="stable")]


def _runs(classes: Whole, resampling: Resampling) -> Iterator[tuple[Mask, Whole]]:
    """For each run the documents held out, a mask of shape (n_docs,), and the numbers of all others in the order in which they are added."""
    for repeat in range(resampling.repeats):
        generator = np.random.default_rng([resampling.seed, repeat])
        for training, test in stratified_folds(classes, resampling.folds, generator):
            rest = np.flatnonzero(training)
            yield test, rest[stratified_order(classes[rest], generator)]


def _figures(subsets: Subsets, parameters: Settings, training: Mask, test: Mask) -> tuple[float, float]:
    """Accuracy and macro F1 on some documents of a model that learns from others."""
    _, blocks = train_and_score(subsets, replace(parameters, calibration="none"), training, test)
    answers = [minimum_error(block.log_posterior) for block in blocks]
    truth = subsets.documents.classes[test]
    table = outcomes(ConfusionCells(truth, np.concatenate(answers), np.ones(truth.size, np.int64)), subsets.statistics.n_classes)
    return float(accuracy(table)), float(macro(f1(table), table))


def _points(sizes: Whole, found: NDArray[np.float64]) -> tuple[CurvePoint, ...]:
    low, high = np.quantile(found, (0.025, 0.975), axis=0).tolist()
    means = found.mean(axis=0).tolist()
    return tuple(
        CurvePoint(size, mean[0], (below[0], above[0]), mean[1], (below[1], above[1]))
        for size, mean, below, above in zip(sizes.tolist(), means, low, high, strict=True)
    )
