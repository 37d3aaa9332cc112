"""The log of `nbtext classify --drift`: each line compares the documents of a run with training.

A line has numbers of documents, means and standard deviations, from which runs can be pooled.
Pooled runs of one model have exactly the result of one run on all their documents. If the model was
updated between runs, the unit is the standard deviation of the training documents of each model.
`nbtext drift` prints the log.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.base import compute_log_likelihood_per_token
from nbtext.corpus.streams import read_option_file
from nbtext.errors import PathError, UsageError
from nbtext.prediction.rule import DecisionRule
from nbtext.prediction.typicality import (
    DRIFT_METRICS,
    LIKELIHOOD,
    MAX_DISTANCE,
    PREDICTIONS,
    UNKNOWN,
    MeanStd,
    Profile,
    compute_chi2_p_value,
    compute_total_variation,
)
from nbtext.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nbtext.model.text_classifier import TextClassifier
    from nbtext.scoring import ScoredBlock
    from nbtext.type_names import Floats, Ints, ParsedJson

DRIFT_SIGNIFICANCE = 0.001
"""A difference with a smaller p-value is significant. The limit is low, as every run is tested."""

MIN_SUDDEN_DOCUMENTS = 30
"""A run of fewer documents is not tested alone: one odd document would be a significant change."""

MIN_TEXT_DRIFT_DEVIATIONS = 0.3
"""A larger distance, in standard deviations of training, is not only due to class proportions."""

MAX_EXACT_COUNT = 2**53
"""Every smaller integer is exact as a float."""


class _BlockRecord(NamedTuple):
    """Readable documents of a block, all of shape (n_docs,)."""

    tokens: Ints
    unknown_tokens: Ints
    log_likelihoods: Floats
    """Per token, in nats; nan if the model has none."""
    predictions: Ints


class DriftRecorder:
    """Recorder of the documents of a run of `nbtext classify`."""

    def __init__(self, model: TextClassifier, path: str | None = None) -> None:
        """Start a run. The ``path`` of the model file distinguishes the models of one log.

        Raise `UsageError` if the model has no profile of its training documents.
        """
        if model.fitted.parameters.profile is None:
            raise UsageError(
                "the model does not know what training looked like",
                hint="train with calibration and --set keep-documents=N above 0",
            )
        self._model = model
        self._training = model.fitted.parameters.profile
        self._path = None if path is None else os.path.abspath(path)
        self._records: list[_BlockRecord] = []

    def observe(self, blocks: Iterable[ScoredBlock]) -> Iterator[ScoredBlock]:
        """Yield scored documents unchanged, and record the readable documents of each block."""
        for block in blocks:
            is_readable = np.array(
                [document.problem is None for document in block.documents], np.bool_
            )
            tokens = block.lengths + block.unknown_tokens
            per_token = compute_log_likelihood_per_token(
                self._model.fitted.classifier, block.scores, block.lengths, block.unknown_tokens
            )
            log_likelihoods = np.full(len(tokens), np.nan)
            if per_token is not None:  # else the classifier has no likelihood
                log_likelihoods, _ = per_token
            decision = block.posterior.decide(DecisionRule())
            self._records.append(
                _BlockRecord(
                    tokens[is_readable],
                    block.unknown_tokens[is_readable],
                    log_likelihoods[is_readable],
                    decision.predictions[is_readable],
                )
            )
            yield block

    def to_record(self) -> dict[str, ParsedJson] | None:
        """Return the line of the log for JSON, or None if no document could be read."""
        if not any(len(record.tokens) for record in self._records):
            return None
        classes = self._model.classes
        training = self._training
        tokens, unknown_tokens, log_likelihoods, predictions = (
            np.concatenate(arrays) for arrays in zip(*self._records, strict=True)
        )
        run = Profile.from_documents(
            tokens, unknown_tokens, log_likelihoods, predictions, len(classes)
        )
        metrics = {}
        for name in DRIFT_METRICS:
            run_metric = run.metrics[name]
            training_metric = training.metrics[name]
            metrics[name] = {
                "run": list(run_metric),
                "training": list(training_metric),
                "distance": run_metric.compute_distance(training_metric),
            }
        counts = {
            label: [n_run, n_training]
            for label, n_run, n_training in zip(
                classes, run.predictions.tolist(), training.predictions.tolist(), strict=True
            )
            if n_run or n_training
        }
        return {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "model": self._path,
            "fingerprint": self._model.fitted.fingerprint,
            "documents": len(tokens),
            **metrics,
            PREDICTIONS: {
                "counts": counts,
                "distance": compute_total_variation(run.predictions, training.predictions),
            },
        }

    def compute_drift(self) -> DriftRun | None:
        """Return the drift of the documents, or None if no document could be read."""
        record = self.to_record()
        if record is None:
            return None
        return pool_runs([_parse_run(record)])


class _LoggedRun(NamedTuple):
    """A line of the log."""

    time: str
    model: str | None
    """Path of the model file. None if it was unknown, or in a line of an older nbtext."""
    documents: int
    """Number of documents of the run."""
    metrics: Mapping[str, tuple[MeanStd, MeanStd]]
    """Metrics of the run and of training, by name."""
    predictions: Mapping[str, tuple[int, int]]
    """Numbers of predictions in the run and in training, by class."""


def read_history(path: str) -> tuple[list[_LoggedRun], list[PathError]]:
    """Return the runs with documents, oldest first, and an error for each damaged line.

    Raise `PathError` if the log cannot be read or has no run with documents.
    """
    runs: list[_LoggedRun] = []
    problems: list[PathError] = []
    for number, line in enumerate(read_option_file(path).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            run = _parse_run(parse_json(line.decode()))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            problems.append(PathError("not a line of classify --drift", where=f"{path}:{number}"))
            continue
        if run.documents:
            runs.append(run)
    if runs:
        return runs, problems
    if problems:
        raise problems[0]
    raise PathError(
        "the log has no run with documents",
        where=path,
        hint="classify --drift adds one",
    )


def _parse_run(record: ParsedJson) -> _LoggedRun:
    """Return the run of a parsed line. If the line is damaged, the errors are Python's."""
    if datetime.fromisoformat(record["time"]).tzinfo is None:  # not comparable with other times
        raise ValueError(record["time"])
    metrics = {}
    for name in DRIFT_METRICS:
        metric = record[name]
        metrics[name] = (_parse_mean_std(metric["run"]), _parse_mean_std(metric["training"]))
    predictions = {
        str(label): (_parse_count(run), _parse_count(training))
        for label, (run, training) in record[PREDICTIONS]["counts"].items()
    }
    model = record.get("model")
    return _LoggedRun(
        record["time"],
        None if model is None else str(model),
        _parse_count(record["documents"]),
        metrics,
        predictions,
    )


def _parse_mean_std(values: Sequence[float]) -> MeanStd:
    n_documents, mean, std = values
    if not (abs(mean) <= MAX_DISTANCE and 0 <= std <= MAX_DISTANCE):  # true for nan
        raise ValueError(values)
    return MeanStd(_parse_count(n_documents), float(mean), float(std))


def _parse_count(value: float) -> int:
    if not 0 <= value < MAX_EXACT_COUNT:  # true for nan
        raise ValueError(value)
    return int(value)


def take_runs_since(runs: Sequence[_LoggedRun], start: datetime, path: str) -> list[_LoggedRun]:
    """Return the runs at or after ``start``, which is in UTC if it has no time zone.

    Raise `PathError` if there are no such runs.
    """
    if not start.tzinfo:
        start = start.replace(tzinfo=UTC)
    later_runs = [run for run in runs if datetime.fromisoformat(run.time) >= start]
    if not later_runs:
        raise PathError(f"the log has no run with documents since {start.isoformat()}", where=path)
    return later_runs


def take_newest_runs(runs: Sequence[_LoggedRun], max_runs: int) -> tuple[list[_LoggedRun], int]:
    """Return at most ``max_runs`` runs of the newest run's model file, oldest first.

    Also return the number of runs of other model files that were skipped.
    """
    newest: list[_LoggedRun] = []
    n_skipped = 0
    for run in reversed(runs):
        if len(newest) == max_runs:
            break
        if run.model == runs[-1].model:
            newest.append(run)
        else:
            n_skipped += 1
    newest.reverse()
    return newest, n_skipped


class MetricDrift(NamedTuple):
    """A metric of a run compared with training."""

    run: float | None
    """Mean in the run. None for predictions."""
    training: float | None
    """Mean in training. None for predictions."""
    distance: float | None
    """Difference of the means in standard deviations of training documents.

    For predictions, it is the total variation distance. None if the metric is unknown.
    """
    p_value: float
    """The p-value of the difference."""

    @property
    def is_significant(self) -> bool:
        """True if the p-value is below `DRIFT_SIGNIFICANCE`."""
        return self.p_value < DRIFT_SIGNIFICANCE


UNKNOWN_DRIFT = MetricDrift(run=None, training=None, distance=None, p_value=1.0)
"""Drift of a metric without values in the run or in training."""


class DriftRun(NamedTuple):
    """The drift of one run, or of several pooled runs."""

    time: str
    """Time of the last run."""
    since: str
    """Time of the first run."""
    runs: int
    """Number of runs."""
    model: str | None
    """Path of the last run's model file."""
    documents: int
    """Number of documents of all runs."""
    metrics: Mapping[str, MetricDrift]
    """The drift of `DRIFT_METRICS` and of `PREDICTIONS` by name."""


def find_text_drift(run: DriftRun) -> list[str]:
    """Return the metrics of texts that drift more than other class proportions can explain."""
    names = []
    for name in (UNKNOWN, LIKELIHOOD):
        drift = run.metrics[name]
        is_large = drift.distance is not None and drift.distance > MIN_TEXT_DRIFT_DEVIATIONS
        if drift.is_significant and is_large:
            names.append(name)
    return names


def find_sudden_changes(run: DriftRun) -> dict[str, MetricDrift]:
    """Return the significant metrics of a run. They are none if it has too few documents."""
    if run.documents < MIN_SUDDEN_DOCUMENTS:
        return {}
    return {name: drift for name, drift in run.metrics.items() if drift.is_significant}


def pool_runs(runs: Sequence[_LoggedRun]) -> DriftRun:
    """Compare runs with the training of their models, as if they had been one run."""
    metrics = {
        name: _compute_metric_drift([run.metrics[name] for run in runs]) for name in DRIFT_METRICS
    }
    metrics[PREDICTIONS] = _compute_prediction_drift(runs)
    return DriftRun(
        time=runs[-1].time,
        since=runs[0].time,
        runs=len(runs),
        model=runs[-1].model,
        documents=sum(run.documents for run in runs),
        metrics=metrics,
    )


def _compute_metric_drift(pairs: Sequence[tuple[MeanStd, MeanStd]]) -> MetricDrift:
    """Return the drift of a metric, given its values in each run and in training of the model."""
    # A metric without documents is unknown.
    pairs = [(run, training) for run, training in pairs if run.documents and training.documents]
    if not pairs:
        return UNKNOWN_DRIFT
    pooled = MeanStd.pool([run for run, _ in pairs])
    _, first_training = pairs[0]
    if all(training == first_training for _, training in pairs):
        return MetricDrift(
            run=pooled.mean,
            training=first_training.mean,
            distance=pooled.compute_distance(first_training),
            p_value=pooled.compute_p_value(first_training),
        )
    # There are several models. Standardized by its model, each run has the same training values.
    standardized = MeanStd.pool([run.standardize(training) for run, training in pairs])
    n_training_documents = _count_effective_training_documents(pairs)
    standard_training = MeanStd(n_training_documents, mean=0.0, std=1.0)
    training_sum = sum(run.documents * training.mean for run, training in pairs)
    return MetricDrift(
        run=pooled.mean,
        training=training_sum / pooled.documents,
        distance=standardized.compute_distance(standard_training),
        p_value=standardized.compute_p_value(standard_training),
    )


def _count_effective_training_documents(pairs: Sequence[tuple[MeanStd, MeanStd]]) -> int:
    """Return how many training documents make one model as uncertain as the models together.

    The models share documents, so their errors are assumed to have the same direction. Then the
    number n has 1 / √n equal to the mean of 1 / √n_t over models t, weighted by the documents of
    their runs.
    """
    n_documents = sum(run.documents for run, _ in pairs)
    error_sum = sum(run.documents / sqrt(training.documents) for run, training in pairs)
    mean_error = error_sum / n_documents
    return max(int(1 / mean_error**2), 1)


def _compute_prediction_drift(runs: Sequence[_LoggedRun]) -> MetricDrift:
    """Return the drift of the predictions.

    With several models, their predictions in training are mixed, weighted by the documents of the
    runs. The mixture counts as many documents as the smallest training.
    """
    labels = sorted({label for run in runs for label in run.predictions})
    counts = np.array(
        [[run.predictions.get(label, (0, 0)) for label in labels] for run in runs], np.int64
    )  # (n_runs, n_labels, 2)
    run_counts = counts[..., 0]
    training_counts = counts[..., 1]
    has_counts = run_counts.any(axis=1) & training_counts.any(axis=1)  # (n_runs,)
    if not has_counts.any():
        return UNKNOWN_DRIFT
    run_counts = run_counts[has_counts]
    training_counts = training_counts[has_counts]
    training_sizes = training_counts.sum(axis=1)
    proportions = training_counts / training_sizes[:, np.newaxis]
    mixture = np.average(proportions, axis=0, weights=run_counts.sum(axis=1))
    mixture_counts = np.rint(mixture * training_sizes.min()).astype(np.int64)
    pooled_counts = run_counts.sum(axis=0)
    return MetricDrift(
        run=None,
        training=None,
        distance=compute_total_variation(pooled_counts, mixture_counts),
        p_value=compute_chi2_p_value(pooled_counts, mixture_counts),
    )
