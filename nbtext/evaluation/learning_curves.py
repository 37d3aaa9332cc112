"""Learning curves: accuracy against training size, and a forecast of the gain from more documents.

`nbtext learning-curve` and `nbtext report` show the curves. The accuracy on the training documents
is reported, too: its distance from the accuracy on held-out documents shows overfitting.

Documents are counted once. Each run holds out a fold, and trains models on growing samples of the
other documents. Term limits, selected terms and smoothing are fitted to each sample. The choices of
``auto`` (`nbtext.model.auto_settings`) are made only in the first run of each size, which halves
the time. Models of exclusive classes are not calibrated, because calibration does not change the
most probable class.

The forecast is an inverse power law, fitted to the error at several sizes.

Sources: C. Cortes, L. Jackel, S. Solla, V. Vapnik, J. Denker, Learning curves: asymptotic values
and rate of convergence (1994); R. Figueroa, Q. Zeng-Treitler, S. Kandula, L. Ngo, Predicting sample
size required for classification performance (2012).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import ceil
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


class Forecast(NamedTuple):
    """The accuracy at a larger number of training documents, or the reason why it is unknown."""

    documents: int
    """Number of training documents."""
    value: float | None = None
    interval: Interval | None = None
    """95 % of the forecasts from resampled runs, widened on both sides by the largest misfit."""
    now: float | None = None
    """Accuracy of the power law at the current number of documents."""
    withheld: str | None = None
    """Why there is no forecast."""


class CurvePoint(NamedTuple):
    """Metrics of models with one number of training documents: means and bands over runs.

    95 % of the runs are within the band.
    """

    documents: int
    """Number of training documents."""
    accuracy: float
    accuracy_band: Interval
    macro_f1: float
    macro_f1_band: Interval
    training_accuracy: float
    """On the documents that the models were trained on."""


class _Forecasts(NamedTuple):
    """Forecasts by metric.

    Macro F1 has no forecast: its interval would be too narrow if classes have few documents.
    """

    accuracy: Forecast


class LearningCurve(NamedTuple):
    """A learning curve and the forecast for more documents than the corpus has."""

    documents: int
    """Number of documents of the corpus."""
    runs: int
    """Number of runs: folds × repeats."""
    points: tuple[CurvePoint, ...]
    """By ascending number of training documents."""
    forecast: _Forecasts


class Resampling(NamedTuple):
    """The sizes and runs of a curve. A size is a number of training documents."""

    n_sizes: int = 8
    n_folds: int = 5
    n_repeats: int = 3
    """How often folds are drawn."""
    seed: int = 0


class _ModelMetrics(NamedTuple):
    """Metrics of one model. Arrays of metrics have a column for each field."""

    accuracy: float
    macro_f1: float
    training_accuracy: float
    """Accuracy on the documents that the model was trained on."""


class _ModelOutcome(NamedTuple):
    """The outcome of a run for one size."""

    metrics: _ModelMetrics
    choices: Choices
    """Choices of ``auto``."""


MAX_SIZE_RATIO = 128
"""Maximum ratio of the largest size to the smallest."""

MIN_MEAN_DOCUMENTS_PER_CLASS = 2
"""Mean number of documents per class at the smallest size."""


def compute_learning_curve(
    subsets: Subsets,
    settings: Settings,
    resampling: Resampling = Resampling(),
    jobs: int = 1,
    n_more_documents: int | None = None,
) -> LearningCurve:
    """Return the learning curve of a corpus, for models with these training settings.

    Models are trained in ``jobs`` processes. The forecast is for ``n_more_documents`` than the
    corpus has, by default for twice as many. Sizes at which training fails in a run are omitted.

    Raise `UsageError` if all sizes are omitted, or if there are fewer than two documents per fold.
    """
    n = len(subsets)
    _require_enough_documents(n, resampling.n_folds)
    max_size = n - ceil(n / resampling.n_folds)  # without the largest fold
    sizes = _choose_training_sizes(max_size, subsets.table.n_classes, resampling.n_sizes)
    if not subsets.table.posterior_type.needs_calibration:
        settings = replace(settings, calibration="none")
    runs = list(_draw_runs(subsets.documents.strata, resampling))
    training = _CurveTraining(subsets, settings, runs, sizes, choices={})
    metrics = np.full((len(runs), sizes.size, len(_ModelMetrics._fields)), np.nan)
    problem = None
    outcomes = track_progress(_train_models(training, jobs), "model", len(runs) * sizes.size)
    for (run, size_index), outcome in outcomes:
        if isinstance(outcome, UsageError):
            problem = outcome
        else:
            metrics[run, size_index] = outcome.metrics
    is_usable = np.isfinite(metrics).all(axis=(0, 2))  # (n_sizes,)
    if problem is not None and not is_usable.any():
        raise problem
    sizes = sizes[is_usable]
    metrics = metrics[:, is_usable]
    if n_more_documents is None:
        n_more_documents = n
    accuracy_forecast = fit_forecast(
        sizes,
        accuracies=metrics[..., _ModelMetrics._fields.index("accuracy")],
        n_folds=resampling.n_folds,
        current_size=n,
        forecast_size=n + n_more_documents,
        bootstrap=Bootstrap(seed=resampling.seed),
    )
    return LearningCurve(
        documents=n,
        runs=len(metrics),
        points=_summarize_points(sizes, metrics),
        forecast=_Forecasts(accuracy_forecast),
    )


def _require_enough_documents(n: int, n_folds: int) -> None:
    """Raise `UsageError` if there are fewer than two documents per fold."""
    if n < 2 * n_folds:
        verb = "is" if n == 1 else "are"
        raise UsageError(
            f"{format_quantity(n, 'document')} {verb} too few for "
            f"{format_quantity(n_folds, 'fold')}",
            hint="lower --folds",
        )


def _summarize_points(sizes: Ints, metrics: Floats) -> tuple[CurvePoint, ...]:
    """Return the points of a curve. ``metrics`` of runs have the shape (n_runs, n_sizes, 3)."""
    lows, highs = np.quantile(metrics, (0.025, 0.975), axis=0).tolist()
    points = []
    for k, mean_metrics in enumerate(metrics.mean(axis=0).tolist()):
        mean = _ModelMetrics(*mean_metrics)
        low = _ModelMetrics(*lows[k])
        high = _ModelMetrics(*highs[k])
        points.append(
            CurvePoint(
                documents=int(sizes[k]),
                accuracy=mean.accuracy,
                accuracy_band=(low.accuracy, high.accuracy),
                macro_f1=mean.macro_f1,
                macro_f1_band=(low.macro_f1, high.macro_f1),
                training_accuracy=mean.training_accuracy,
            )
        )
    return tuple(points)


def compute_document_curve(model: TextClassifier, documents: Iterable[Document]) -> LearningCurve:
    """Return the learning curve of labelled documents under the settings of a model.

    Folds are drawn once. Raise `UsageError` if there are too few documents.
    """
    counts = count_labelled_documents(documents, model.analysis, keep_all=True)
    return compute_learning_curve(
        Subsets(counts.table, counts.documents),
        resolve_smoothing_terms(model.analysis),
        Resampling(n_repeats=1),
    )


def _choose_training_sizes(max_size: int, n_classes: int, n_sizes: int) -> Ints:
    """Return at most ``n_sizes`` ascending sizes in geometric progression up to ``max_size``."""
    min_size = max(max_size / MAX_SIZE_RATIO, MIN_MEAN_DOCUMENTS_PER_CLASS * n_classes)
    min_size = min(min_size, max_size)
    sizes = np.geomspace(max_size, min_size, n_sizes)  # a single size is ``max_size``
    return np.unique(np.round(sizes).astype(np.int64))


def _order_by_stratum(classes: Ints, generator: np.random.Generator) -> Ints:
    """Return documents in random order, such that every prefix is stratified, shape (n_docs,).

    In every prefix, each class has its proportion, up to one document. For this, the documents of a
    class are spread evenly over the order, with a random shift for each class.
    """
    shuffled = shuffle_by_class(classes, generator)
    class_sizes = np.bincount(classes)
    class_starts = np.cumsum(class_sizes) - class_sizes
    shuffled_classes = classes[shuffled]  # ascending
    ranks = np.arange(classes.size) - class_starts[shuffled_classes]  # from 0 in each class
    class_shifts = generator.random(class_sizes.size)
    positions = (ranks + class_shifts[shuffled_classes]) / class_sizes[shuffled_classes]
    return shuffled[np.argsort(positions, kind="stable")]


def _draw_runs(classes: Ints, resampling: Resampling) -> Iterator[tuple[Mask, Ints]]:
    """Yield the held-out documents of each run, and the other documents in order of addition.

    Held-out documents are a mask of shape (n_docs,), the other documents are indices.
    """
    for repeat in range(resampling.n_repeats):
        generator = np.random.default_rng([resampling.seed, repeat])
        for training, test in draw_stratified_folds(classes, resampling.n_folds, generator):
            rows = np.flatnonzero(training)
            order = _order_by_stratum(classes[rows], generator)
            yield test, rows[order]


class _CurveTraining(NamedTuple):
    """Inputs for training any model of the curve. Worker processes get them once."""

    subsets: Subsets
    settings: Settings
    runs: Sequence[tuple[Mask, Ints]]
    """See `_draw_runs`."""
    sizes: Ints
    choices: dict[int, Choices]
    """Choices of ``auto`` by the index of the size. Empty until the first run has made them."""


def _train_models(
    training: _CurveTraining, jobs: int
) -> Iterator[tuple[tuple[int, int], _ModelOutcome | UsageError]]:
    """Yield each pair of run and size index with its outcome, in order.

    The choices of the first run are added to ``training.choices`` in place, before other runs use
    them.
    """
    n_runs = len(training.runs)
    first_run = range(1)
    later_runs = range(1, n_runs)
    if training.subsets.documents.matrix.terms.size * n_runs < MIN_PARALLEL_ENTRIES:
        jobs = 1
    for runs in (first_run, later_runs):  # processes for later runs start with the choices
        tasks = product(runs, range(training.sizes.size))
        for task, worker_outcome in run_in_order(_train_model, training, tasks, jobs):
            outcome = worker_outcome
            if outcome is None:  # no other process did the task
                outcome = _train_model(training, task)
            run, size_index = task
            if run in first_run and not isinstance(outcome, UsageError):
                training.choices[size_index] = outcome.choices
            yield task, outcome


def _train_model(training: _CurveTraining, task: tuple[int, int]) -> _ModelOutcome | UsageError:
    """Train on the first documents of a run, and evaluate on these and on held-out documents.

    ``task`` has the indices of the run and of the size. Return the `UsageError` if training fails.
    """
    run, size_index = task
    subsets = training.subsets
    test, order = training.runs[run]
    is_training = np.zeros(len(subsets), np.bool_)
    is_training[order[: training.sizes[size_index]]] = True
    try:
        fitted, blocks = train_and_score(
            subsets,
            training.settings,
            training=is_training,
            test=is_training | test,
            choices=training.choices.get(size_index),
        )
        scored = HeldOutEvaluation(subsets.table, blocks=blocks)
    except UsageError as problem:
        return problem
    documents = scored.evaluation.documents
    is_test = test[scored.rows]
    accuracy, macro_f1 = compute_accuracy_and_macro_f1(documents.take(is_test))
    training_accuracy = float(documents.take(~is_test).is_correct.mean())
    return _ModelOutcome(_ModelMetrics(accuracy, macro_f1, training_accuracy), fitted.choices)


MAX_EXPONENT = 2.0
"""Curves of classifiers have exponents between about 0.1 and 1."""

EXPONENTS = np.linspace(MAX_EXPONENT / 100, MAX_EXPONENT, 100)
"""The grid of exponents. A golden-section search follows between the neighbours of the best one."""

N_REFINEMENTS = 40
"""Number of golden-section steps. They narrow the range of the exponent to 1e-8 of a grid step."""

MIN_FORECAST_SIZES = 4
"""Fewer sizes have no forecast, because a law of three parameters fits any three points."""

MAX_INTERVAL_WIDTH = 0.2
"""A forecast with a wider interval is withheld."""

_GOLDEN = (np.sqrt(5) - 1) / 2
"""Ratio by which a golden-section step reduces the range."""


class _PowerLaws(NamedTuple):
    """error(n) = a + b (n / unit)^(−c): a law for each curve, all of shape (n_curves,).

    a, b ≥ 0 and 0 < c ≤ `MAX_EXPONENT`.
    """

    a: Floats
    b: Floats
    c: Floats
    unit: float

    def predict_errors(self, n: float) -> Floats:
        """Return the error at n training documents by each law, from 0 to 1, (n_curves,)."""
        return np.clip(self.a + self.b * (n / self.unit) ** -self.c, 0, 1)


def fit_forecast(
    sizes: Ints,
    accuracies: Floats,
    n_folds: int,
    current_size: int,
    forecast_size: int,
    bootstrap: Bootstrap,
) -> Forecast:
    """Forecast the accuracy at ``forecast_size`` training documents.

    ``sizes`` have the shape (n_sizes,), ``accuracies`` (n_runs, n_sizes). The ``n_folds`` runs of a
    repeat test every document once.

    For the interval, the law is fitted to ``n_folds`` runs that are drawn again and again. More
    are not drawn, because repeats on the same documents must not narrow the interval. The interval
    is widened by the largest misfit on the upper half of the curve, because a misfit continues
    beyond the curve. If there are no errors at the largest size, the interval extends down to
    Wilson's limit for ``current_size`` documents.
    """
    if sizes.size < MIN_FORECAST_SIZES:
        reason = f"a curve of fewer than {MIN_FORECAST_SIZES} points is too short for a forecast"
        return Forecast(forecast_size, withheld=reason)
    errors = 1 - accuracies
    mean_errors = errors.mean(axis=0)
    laws = _fit_resampled_laws(sizes.astype(np.float64), errors, n_folds, bootstrap)
    forecasts = 1 - laws.predict_errors(forecast_size)
    value = float(forecasts[0])
    resampled_forecasts = forecasts[1:]
    low, high = percentile_interval(resampled_forecasts, value)
    max_misfit = 0.0
    for k in range(sizes.size // 2, sizes.size):
        predicted_error = float(laws.predict_errors(float(sizes[k]))[0])
        max_misfit = max(max_misfit, abs(predicted_error - mean_errors[k]))
    low = max(low - max_misfit, 0.0)
    high = min(high + max_misfit, 1.0)
    if not errors[:, -1].any():  # resampling does not show errors that did not occur
        lower_limit, _ = wilson_interval(hits=current_size, n=current_size)
        low = min(low, lower_limit)
    if high - low > MAX_INTERVAL_WIDTH:
        reason = f"the curve is too noisy: the forecast lies between {low:.2f} and {high:.2f}"
        return Forecast(forecast_size, withheld=reason)
    current_value = 1 - float(laws.predict_errors(current_size)[0])
    return Forecast(forecast_size, value, interval=(low, high), now=current_value)


def _fit_resampled_laws(
    sizes: Floats, errors: Floats, n_folds: int, bootstrap: Bootstrap
) -> _PowerLaws:
    """Fit power laws: the first law to the mean errors of all runs, each later law to drawn runs.

    ``errors`` have the shape (n_runs, n_sizes).
    """
    mean_errors = errors.mean(axis=0)
    generator = np.random.default_rng(bootstrap.seed)
    drawn_runs = generator.integers(len(errors), size=(bootstrap.replicates, n_folds))
    deviations = errors[drawn_runs].mean(axis=1) - mean_errors  # (n_replicates, n_sizes)
    drawn_curves = mean_errors + _compute_small_sample_factor(len(errors)) * deviations
    curves = np.concatenate((mean_errors[np.newaxis], np.clip(drawn_curves, 0, 1)))
    return fit_power_laws(sizes, curves, _weight_sizes(sizes, errors))


def _compute_small_sample_factor(n: int) -> float:
    """Return the factor that turns percentiles of resampled means into Student's interval.

    ``n`` is the number of values of a mean (W. Gosset, 1908).
    """
    from scipy.special import stdtrit

    return float(np.sqrt(n / (n - 1)) * stdtrit(n - 1, 0.975) / NORMAL_95)


def _weight_sizes(sizes: Floats, errors: Floats) -> Floats:
    """Return the weight of each size n: n / (variance of its errors + mean variance of all sizes).

    ``errors`` have the shape (n_runs, n_sizes), the weights (n_sizes,). The mean variance is added
    because the variance of few runs is uncertain. The factor n prefers large samples, because the
    laws of small samples often differ (Figueroa and others, 2012, use the rank of the size).
    """
    variances = errors.var(axis=0)
    mean_variance = variances.mean()
    if not mean_variance:
        return sizes
    return sizes / (variances + mean_variance)


def fit_power_laws(sizes: Floats, errors: Floats, weights: Floats) -> _PowerLaws:
    """Fit laws that minimize Σ w (error(n) − e)² to curves of errors e.

    ``errors`` have the shape (n_curves, n_sizes), the sizes n and ``weights`` w (n_sizes,). For a
    fixed exponent, a and b have a closed form. The exponent is found by a grid search, then by
    golden-section search.
    """
    unit = float(sizes.max())
    relative_sizes = sizes / unit

    def sum_squares(c: Floats) -> Floats:
        _, _, square_sums = _fit_fixed_exponent(relative_sizes, errors, weights, c)
        return square_sums

    grid_sums = [sum_squares(np.full(len(errors), exponent)) for exponent in EXPONENTS]
    best = np.argmin(grid_sums, axis=0)
    low = EXPONENTS[np.maximum(best - 1, 0)]
    high = EXPONENTS[np.minimum(best + 1, EXPONENTS.size - 1)]
    for _ in range(N_REFINEMENTS):
        lower_test = high - _GOLDEN * (high - low)
        upper_test = low + _GOLDEN * (high - low)
        is_lower_better = sum_squares(lower_test) <= sum_squares(upper_test)
        low = np.where(is_lower_better, low, lower_test)
        high = np.where(is_lower_better, upper_test, high)
    c = (low + high) / 2
    a, b, _ = _fit_fixed_exponent(relative_sizes, errors, weights, c)
    return _PowerLaws(a, b, c, unit)


def _fit_fixed_exponent(
    relative_sizes: Floats, errors: Floats, weights: Floats, c: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the best a, b ≥ 0 for the exponent c of each curve, and the sum of squares.

    All of them have the shape (n_curves,). The law is a line y = a + b x with x = size^(−c): the
    weighted least squares line or, if its a or b is negative, the better line with a = 0 or b = 0
    (C. Lawson, R. Hanson, 1974, chapter 23).
    """
    x = relative_sizes ** -c[:, np.newaxis]  # (n_curves, n_sizes)
    total_weight = weights.sum()
    sum_x = x @ weights
    sum_xx = np.square(x) @ weights
    sum_y = errors @ weights
    sum_xy = (x * errors) @ weights
    determinant = total_weight * sum_xx - sum_x**2
    b = (total_weight * sum_xy - sum_x * sum_y) / determinant
    a = (sum_y - b * sum_x) / total_weight
    zeros = np.zeros(len(errors))
    # Three lines of each curve: least squares, b = 0, and a = 0.
    line_a = np.stack((a, sum_y / total_weight, zeros))
    line_b = np.stack((b, zeros, sum_xy / sum_xx))
    square_sums = np.stack(
        [
            np.square(errors - a_k[:, np.newaxis] - b_k[:, np.newaxis] * x) @ weights
            for a_k, b_k in zip(line_a, line_b, strict=True)
        ]
    )
    square_sums[0, (a < 0) | (b < 0)] = np.inf
    best = square_sums.argmin(axis=0)
    curves = np.arange(len(errors))
    return line_a[best, curves], line_b[best, curves], square_sums[best, curves]
