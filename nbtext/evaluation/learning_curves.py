"""Learning curves: accuracy against training size, and a forecast of the gain from more documents.

Beside each figure on documents held out is the accuracy on the training documents themselves: the distance between the two is overfitting.
Documents are counted once. Each run holds out a fold and learns from growing parts of the rest; limits on terms, selection and smoothing are
those of the part. The choices of ``auto`` (`nbtext.model.auto_settings`) are made in the first run of each size: to make them in each would take as
long as all the rest. Calibration is left out: it changes how probable the most probable class is, not which one that is.

The forecast is an inverse power law, fitted to the error at several sizes. Sources: C. Cortes, L. Jackel, S. Solla, V. Vapnik, J. Denker,
Learning curves: asymptotic values and rate of convergence (1994); R. Figueroa, Q. Zeng-Treitler, S. Kandula, L. Ngo, Predicting sample size
required for classification performance (2012).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.counting import count_labelled_documents
from nbtext.errors import UsageError, format_quantity
from nbtext.evaluation.cross_validation import (
    MIN_PARALLEL_ENTRIES,
    HeldOutEvaluation,
    draw_stratified_folds,
    shuffle_by_class,
    train_and_score,
)
from nbtext.metrics.evaluation import compute_accuracy_and_macro_f1
from nbtext.metrics.intervals import (
    NORMAL_95,
    Bootstrap,
    Interval,
    percentile_interval,
    wilson_interval,
)
from nbtext.model.training import resolve_smoothing_terms
from nbtext.parallel.processes import run_in_order
from nbtext.progress import track_progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.corpus.document import Document
    from nbtext.fitted_model import Choices
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.settings import Settings
    from nbtext.type_names import Floats, Ints, Mask

    _Judged = tuple[tuple[float, float, float], Choices]
    """Figures of a model, and what it chose."""


class Forecast(NamedTuple):
    """The accuracy at a larger number of training documents, or why there is no forecast."""

    documents: int
    value: float | None = None
    interval: Interval | None = None
    """95 % of the forecasts that redrawn runs would have made, widened on either side by how far the law misses the curve."""
    now: float | None = None
    """The law's accuracy at the present number of documents."""
    withheld: str | None = None
    """Why there is no forecast."""


class CurvePoint(NamedTuple):
    """Figures of models of one number of training documents: means over runs, and the band in which 95 % of the runs lie."""

    documents: int
    accuracy: float
    accuracy_band: Interval
    macro_f1: float
    macro_f1_band: Interval
    training_accuracy: float
    """On the documents that the models were trained on."""


class _Forecasts(NamedTuple):
    """The figures that are forecast, by name. Macro F1 is none of them: where classes have few documents in a fold, its intervals hold too rarely."""

    accuracy: Forecast


class LearningCurve(NamedTuple):
    """The points, smallest first, and the forecast for more documents than the corpus has."""

    documents: int
    """Documents of the corpus."""
    runs: int
    """Folds × repeats."""
    points: tuple[CurvePoint, ...]
    forecast: _Forecasts


class Resampling(NamedTuple):
    """Number of sizes of the curve, folds, how often the folds are drawn, and the seed."""

    steps: int = 8
    folds: int = 5
    repeats: int = 3
    seed: int = 0


def compute_learning_curve(
    subsets: Subsets,
    parameters: Settings,
    resampling: Resampling = Resampling(),
    jobs: int = 1,
    n_more_documents: int | None = None,
) -> LearningCurve:
    """Return the curve of a corpus for models with these parameters of training, trained by ``jobs`` processes, and the forecast for so many ``more``.

    By default it is for twice the documents.

    Sizes at which the parameters leave no term in some run are left out. Raise `UsageError` if that holds for all sizes, or if there are
    fewer than two documents for each fold.
    """
    classes = subsets.documents.strata
    n = len(subsets)
    if n < 2 * resampling.folds:
        raise UsageError(
            f"{format_quantity(n, 'document')} {'is' if n == 1 else 'are'} too few for "
            f"{format_quantity(resampling.folds, 'fold')}",
            hint="lower --folds",
        )
    sizes = _choose_training_sizes(
        n - -(-n // resampling.folds), subsets.table.n_classes, resampling.steps
    )
    if not subsets.table.posterior_type.needs_calibration:
        parameters = replace(parameters, calibration="none")
    work = _CurveTraining(subsets, parameters, list(_runs(classes, resampling)), sizes, {})
    figures = np.full((len(work.runs), sizes.size, 3), np.nan)
    problem = None
    for task, found in track_progress(_trained(work, jobs), "model", len(work.runs) * sizes.size):
        if isinstance(found, UsageError):
            problem = found
        else:
            figures[task], _ = found
    usable = np.isfinite(figures).all(axis=(0, 2))
    if problem is not None and not usable.any():
        raise problem
    sizes = sizes[usable]
    figures = figures[:, usable]
    columns = (sizes, figures.mean(axis=0), *np.quantile(figures, (0.025, 0.975), axis=0))
    points = tuple(
        CurvePoint(size, mean[0], (low[0], high[0]), mean[1], (low[1], high[1]), mean[2])
        for size, mean, low, high in zip(*(column.tolist() for column in columns), strict=True)
    )
    accuracy = fit_forecast(
        sizes,
        figures[..., 0],
        resampling.folds,
        n,
        n + (n_more_documents or n),
        Bootstrap(seed=resampling.seed),
    )
    return LearningCurve(n, len(figures), points, _Forecasts(accuracy))


MAX_SIZE_RATIO = 128
"""The largest size is at most so many times the smallest."""

MIN_MEAN_DOCUMENTS_PER_CLASS = 2
"""Documents of a class at the smallest size, on average over classes."""


def compute_document_curve(model: TextClassifier, documents: Iterable[Document]) -> LearningCurve:
    """Return the curve of labelled documents under the model's settings, folds drawn once; raise `UsageError` if they are too few."""
    counts = count_labelled_documents(documents, model.analysis, keep_all=True)
    return compute_learning_curve(
        Subsets(counts.table, counts.documents),
        resolve_smoothing_terms(model.analysis),
        Resampling(repeats=1),
    )


def _choose_training_sizes(most: int, n_classes: int, steps: int) -> Ints:
    """Return at most ``steps`` distinct sizes in geometric progression, the last one ``most``."""
    fewest = min(max(most / MAX_SIZE_RATIO, MIN_MEAN_DOCUMENTS_PER_CLASS * n_classes), most)
    return np.unique(np.round(np.geomspace(most, fewest, steps)).astype(np.int64))


def _order_by_stratum(classes: Ints, generator: np.random.Generator) -> Ints:
    """Return the documents in a random order in which every beginning holds each class in its share, to one document; shape (n_docs,)."""
    dealt = shuffle_by_class(classes, generator)
    sizes = np.bincount(classes)
    begins = np.cumsum(sizes) - sizes
    of_dealt = classes[dealt]
    place = (
        np.arange(classes.size) - begins[of_dealt] + generator.random(sizes.size)[of_dealt]
    ) / sizes[of_dealt]
    return dealt[np.argsort(place, kind="stable")]


def _runs(classes: Ints, resampling: Resampling) -> Iterator[tuple[Mask, Ints]]:
    """Yield for each run the documents held out, a mask of shape (n_docs,), and the others in the order in which they are added."""
    for repeat in range(resampling.repeats):
        generator = np.random.default_rng([resampling.seed, repeat])
        for training, test in draw_stratified_folds(classes, resampling.folds, generator):
            rest = np.flatnonzero(training)
            yield test, rest[_order_by_stratum(classes[rest], generator)]


class _CurveTraining(NamedTuple):
    """The inputs for training any model of the curve; other processes get them with their first task."""

    subsets: Subsets
    parameters: Settings
    runs: Sequence[tuple[Mask, Ints]]
    """As `_runs` yields them."""
    sizes: Ints
    choices: dict[int, Choices]
    """Those made already, by the number of the size."""


def _trained(
    work: _CurveTraining, jobs: int
) -> Iterator[tuple[tuple[int, int], _Judged | UsageError]]:
    """Yield what comes of each run and size, by their numbers, in order: the first run's before others begin, since it makes the choices."""
    jobs = (
        jobs
        if work.subsets.documents.matrix.terms.size * len(work.runs) >= MIN_PARALLEL_ENTRIES
        else 1
    )
    for runs in (range(1), range(1, len(work.runs))):
        for (run, place), elsewhere in run_in_order(
            _judge, work, product(runs, range(work.sizes.size)), jobs
        ):
            found = elsewhere or _judge(work, (run, place))
            if run == 0 and not isinstance(found, UsageError):
                _, work.choices[place] = found
            yield (run, place), found


def _judge(work: _CurveTraining, task: tuple[int, int]) -> _Judged | UsageError:
    """Train on the first documents of a run, as many as a size, and judge the model; return the `UsageError` that training raises.

    The figures are accuracy and macro F1 of the model on the test documents, and its accuracy on those of training.
    """
    run, place = task
    subsets, (test, order) = work.subsets, work.runs[run]
    training = np.zeros(len(subsets), np.bool_)
    training[order[: work.sizes[place]]] = True
    try:
        learnt, blocks = train_and_score(
            subsets, work.parameters, training, training | test, work.choices.get(place)
        )
        held_out = HeldOutEvaluation(subsets.table, blocks=blocks)
    except UsageError as none_left:
        return none_left
    judged = held_out.evaluation.documents
    in_test = test[held_out.rows]
    figures = compute_accuracy_and_macro_f1(judged.take(in_test))
    return (*figures, float(judged.take(~in_test).is_correct.mean())), learnt.choices


MAX_EXPONENT = 2.0
"""Curves of classifiers have exponents between about 0.1 and 1."""

EXPONENTS = np.linspace(MAX_EXPONENT / 100, MAX_EXPONENT, 100)
"""Tried first; the best is then refined between its neighbours."""

REFINEMENTS = 40
"""Each shortens the bracket around the best exponent by the golden ratio: to 1e-9 of a grid step."""

MIN_FORECAST_SIZES = 4
"""With fewer points a law of three parameters fits any curve."""

MAX_INTERVAL_WIDTH = 0.2
"""A forecast with a wider interval is withheld."""

_GOLDEN = (np.sqrt(5) - 1) / 2


class _PowerLaws(NamedTuple):
    """error(n) = a + b (n / unit)^(−c): a law for each curve, all of shape (n_curves,); a, b ≥ 0 and 0 < c ≤ `MAX_EXPONENT`."""

    a: Floats
    b: Floats
    c: Floats
    unit: float

    def predict_errors(self, n: float) -> Floats:
        """Return the error of a model of n training documents by each law, from 0 to 1, shape (n_curves,)."""
        return np.clip(self.a + self.b * (n / self.unit) ** -self.c, 0, 1)


def fit_forecast(
    sizes: Ints, accuracies: Floats, at_once: int, now: int, later: int, bootstrap: Bootstrap
) -> Forecast:
    """Forecast the accuracy at ``later`` training documents from sizes, shape (n_sizes,); ``now`` is how many documents there are.

    ``accuracies``, shape (n_runs, n_sizes), come from runs of which ``at_once`` together test every document once. For the interval as many
    runs are drawn and the law fitted anew: runs that repeat others on the same documents do not make it shorter. It is then widened by the
    largest distance of the law from the upper half of the curve: where the law bends otherwise than the curve, it will do so beyond. Where all
    answers are right at the largest size it reaches down to Wilson's limit for ``now`` documents.
    """
    if sizes.size < MIN_FORECAST_SIZES:
        return Forecast(
            later,
            withheld=f"a curve of fewer than {MIN_FORECAST_SIZES} points is too short for a forecast",
        )
    errors = 1 - accuracies
    places = sizes.astype(np.float64)
    mean = errors.mean(axis=0)
    drawn = np.random.default_rng(bootstrap.seed).integers(
        len(errors), size=(bootstrap.replicates, at_once)
    )
    curves = mean + _compute_small_sample_factor(len(errors)) * (errors[drawn].mean(axis=1) - mean)
    laws = fit_power_laws(
        places,
        np.concatenate((mean[np.newaxis], np.clip(curves, 0, 1))),
        _weight_sizes(places, errors),
    )
    value = 1 - float(laws.predict_errors(later)[0])
    low, high = percentile_interval(1 - laws.predict_errors(later)[1:], value)
    missed = max(
        abs(float(laws.predict_errors(n)[0]) - mean[k])
        for k, n in enumerate(places.tolist())
        if k >= sizes.size // 2
    )
    low = max(low - missed, 0.0)
    high = min(high + missed, 1.0)
    if not errors[:, -1].any():  # redrawn runs know nothing of errors that did not occur
        low = min(low, wilson_interval(now, now)[0])
    if high - low > MAX_INTERVAL_WIDTH:
        return Forecast(
            later,
            withheld=f"the curve is too noisy: the forecast lies between {low:.2f} and {high:.2f}",
        )
    return Forecast(later, value, (low, high), 1 - float(laws.predict_errors(now)[0]))


def _compute_small_sample_factor(n: int) -> float:
    """Return how much wider redrawn means of n values must spread for their percentiles to be Student's interval (W. Gosset, 1908)."""
    from scipy.special import stdtrit

    return float(np.sqrt(n / (n - 1)) * stdtrit(n - 1, 0.975) / NORMAL_95)


def _weight_sizes(sizes: Floats, errors: Floats) -> Floats:
    """Return the weight of each size, n over the variance between runs, shape (n_sizes,), from the errors of runs, shape (n_runs, n_sizes).

    The variance of few runs is not well known, so half of it is the size's own and half the mean of all. The factor n: laws of small samples
    often differ, and the forecast lies beyond the largest (Figueroa and others, 2012, use the rank of the size).
    """
    variances = errors.var(axis=0)
    typical = variances.mean()
    return sizes / (variances + typical) if typical else sizes


def fit_power_laws(sizes: Floats, errors: Floats, weights: Floats) -> _PowerLaws:
    """Fit laws of least Σ w (error(n) − e)² to errors e, shape (n_curves, n_sizes), at sizes n with weights w, both of shape (n_sizes,).

    For a given exponent the best a and b are found exactly; the exponent is found by a grid and golden-section search.
    """
    unit = float(sizes.max())
    relative = sizes / unit
    tried = [
        _given_exponent(relative, errors, weights, np.full(len(errors), c))[2] for c in EXPONENTS
    ]
    best = np.argmin(tried, axis=0)
    low = EXPONENTS[np.maximum(best - 1, 0)]
    high = EXPONENTS[np.minimum(best + 1, EXPONENTS.size - 1)]
    for _ in range(REFINEMENTS):
        left = high - _GOLDEN * (high - low)
        right = low + _GOLDEN * (high - low)
        to_left = (
            _given_exponent(relative, errors, weights, left)[2]
            <= _given_exponent(relative, errors, weights, right)[2]
        )
        low = np.where(to_left, low, left)
        high = np.where(to_left, right, high)
    c = (low + high) / 2
    a, b, _ = _given_exponent(relative, errors, weights, c)
    return _PowerLaws(a, b, c, unit)


def _given_exponent(
    relative: Floats, errors: Floats, weights: Floats, c: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the best a, b ≥ 0 for an exponent of each curve, and their weighted sum of squares; all of shape (n_curves,).

    A plane's least squares; where that leaves the quadrant, the better of its two edges (C. Lawson, R. Hanson, 1974, chapter 23).
    """
    x = relative ** -c[:, np.newaxis]
    total = weights.sum()
    sum_x = x @ weights
    sum_xx = np.square(x) @ weights
    sum_y = errors @ weights
    sum_xy = (x * errors) @ weights
    determinant = total * sum_xx - sum_x**2
    b = (total * sum_xy - sum_x * sum_y) / determinant
    a = (sum_y - b * sum_x) / total
    flat = sum_y / total
    only_b = sum_xy / sum_xx
    nothing = np.zeros(len(errors))
    candidates = [(a, b), (flat, nothing), (nothing, only_b)]
    squares = np.stack(
        [
            np.square(errors - u[:, np.newaxis] - v[:, np.newaxis] * x) @ weights
            for u, v in candidates
        ]
    )
    squares[0, (a < 0) | (b < 0)] = np.inf
    best = squares.argmin(axis=0)
    rows = np.arange(len(errors))
    a, b = (np.stack([pair[side] for pair in candidates])[best, rows] for side in (0, 1))
    return a, b, squares[best, rows]
