"""How good models are that learn from fewer documents than there are, and what more documents would bring.

Documents are counted once. Each run holds out a fold and learns from growing parts of the rest; limits on terms, selection and smoothing are
those of the part. Calibration is left out: it changes how probable the most probable class is, not which one that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.decision import minimum_error
from nbtext.errors import UsageError, counted
from nbtext.metrics.intervals import Bootstrap
from nbtext.metrics.outcomes import Cells, accuracy, f1, macro, outcomes
from nbtext.model_selection.cross_validation import train_and_score
from nbtext.model_selection.folds import stratified_folds
from nbtext.model_selection.power_law import Forecast, forecast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from nbtext.counts.corpus_counts import Subsets
    from nbtext.metrics.intervals import Interval

    Mask = NDArray[np.bool_]
    Whole = NDArray[np.int64]

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
    parameters: Mapping[str, Any],
    resampling: Resampling = Resampling(),  # noqa: B008 - immutable
) -> LearningCurve:
    """The curve of a corpus for models with some parameters of training.

    A size at which the parameters leave no term in some run is not on it. Raises `UsageError` if that holds for all sizes, or if there are
    fewer than two documents for each fold.
    """
    classes, n = subsets.documents.classes, len(subsets)
    if n < 2 * resampling.folds:
        raise UsageError(
            f"{counted(n, 'document')} {'is' if n == 1 else 'are'} too few for {counted(resampling.folds, 'fold')}", hint="lower --folds"
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


def _figures(subsets: Subsets, parameters: Mapping[str, Any], training: Mask, test: Mask) -> tuple[float, float]:
    """Accuracy and macro F1 on some documents of a model that learns from others."""
    _, blocks = train_and_score(subsets, {**parameters, "calibration": "none"}, training, test)
    answers = [minimum_error(block.log_posterior) for block in blocks]
    truth = subsets.documents.classes[test]
    table = outcomes(Cells(truth, np.concatenate(answers), np.ones(truth.size, np.int64)), subsets.statistics.n_classes)
    return float(accuracy(table)), float(macro(f1(table), table))


def _points(sizes: Whole, found: NDArray[np.float64]) -> tuple[CurvePoint, ...]:
    low, high = np.quantile(found, (0.025, 0.975), axis=0).tolist()
    means = found.mean(axis=0).tolist()
    return tuple(
        CurvePoint(size, mean[0], (below[0], above[0]), mean[1], (below[1], above[1]))
        for size, mean, below, above in zip(sizes.tolist(), means, low, high, strict=True)
    )
