"""The log of `nbtext classify --drift`: each line compares the documents of a run with training.

A line has numbers of documents, means and standard deviations. These can be pooled: several runs of
one model give exactly the result of one run on all their documents. If the model was updated in
between, runs are pooled in standard deviations of the training documents of their models.
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
"""A difference with a smaller p-value is significant. It is low, because every run has a test."""

MIN_TEXT_DRIFT_DEVIATIONS = 0.3
"""Distance in standard deviations of training that other class proportions do not explain."""

MAX_EXACT_COUNT = 2**53
"""Limit of the numbers of documents: below it, floats are exact."""


class _BlockRecord(NamedTuple):
    """Readable documents of a block, all of shape (n_docs,)."""

    tokens: Ints
    unknown_tokens: Ints
    log_likelihoods: Floats
    """Per token, in nats; nan if the model has none."""
    predictions: Ints


class DriftRecorder:
    """Records the documents of a run."""

    def __init__(self, model: TextClassifier, path: str | None = None) -> None:
        """Start a run. The ``path`` of the model distinguishes the models of one log.

        Raise `UsageError` if the model has no profile of its training documents.
        """
        if model.fitted.parameters.profile is None:
            raise UsageError(
                "the model does not know what training looked like",
                hint="train with calibration and --set sample=N above 0",
            )
        self._model = model
        self._training = model.fitted.parameters.profile
        self._path = None if path is None else os.path.abspath(path)
        self._records: list[_BlockRecord] = []

    def observe(self, blocks: Iterable[ScoredBlock]) -> Iterator[ScoredBlock]:
        """Yield scored documents unchanged, and record the readable documents."""
        for block in blocks:
            is_readable = np.array(
                [document.problem is None for document in block.documents], np.bool_
            )
            tokens = block.lengths + block.unknown_tokens
            per_token = compute_log_likelihood_per_token(
                self._model.fitted.classifier, block.scores, block.lengths, block.unknown_tokens
            )
            log_likelihoods = np.full(len(tokens), np.nan)
            if per_token is not None:
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
            np.concatenate(column) for column in zip(*self._records, strict=True)
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
    """Path of the model. None in a line of an older nbtext."""
    documents: int
    figures: Mapping[str, tuple[MeanStd, MeanStd]]
    """Metrics of the run and of training, by name."""
    answers: Mapping[str, tuple[int, int]]
    """Numbers of predictions in the run and in training, by class."""


def read_history(path: str) -> tuple[list[_LoggedRun], list[PathError]]:
    """Return the runs with documents, oldest first, and an error for each damaged line.

    Raise `PathError` if the log cannot be read or has no run with documents.
    """
    runs: list[_LoggedRun] = []
    damaged: list[PathError] = []
    for number, line in enumerate(read_option_file(path).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            run = _parse_run(parse_json(line.decode()))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            damaged.append(PathError("not a line of classify --drift", where=f"{path}:{number}"))
            continue
        if run.documents:
            runs.append(run)
    if runs:
        return runs, damaged
    if damaged:
        raise damaged[0]
    raise PathError(
        "there is no run with documents in the log",
        where=path,
        hint="classify --drift adds one",
    )


def _parse_run(record: ParsedJson) -> _LoggedRun:
    """Return the run of a parsed line. Raise an error if it is damaged, see `read_history`."""
    if datetime.fromisoformat(record["time"]).tzinfo is None:
        raise ValueError(record["time"])
    metrics = {
        name: (
            _parse_mean_std(record[name]["run"]),
            _parse_mean_std(record[name]["training"]),
        )
        for name in DRIFT_METRICS
    }
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
    documents, mean, std = values
    if not (abs(mean) <= MAX_DISTANCE and 0 <= std <= MAX_DISTANCE):
        raise ValueError(values)
    return MeanStd(_parse_count(documents), float(mean), float(std))


def _parse_count(value: float) -> int:
    if not 0 <= value < MAX_EXACT_COUNT:
        raise ValueError(value)
    return int(value)


def take_runs_since(runs: Sequence[_LoggedRun], start: datetime, path: str) -> list[_LoggedRun]:
    """Return the runs from a time on. A time without zone is in UTC.

    Raise `PathError` if there are no such runs.
    """
    if not start.tzinfo:
        start = start.replace(tzinfo=UTC)
    later_runs = [run for run in runs if datetime.fromisoformat(run.time) >= start]
    if not later_runs:
        raise PathError(
            f"there is no run with documents since {start.isoformat()} in the log", where=path
        )
    return later_runs


def take_newest_runs(runs: Sequence[_LoggedRun], max_runs: int) -> tuple[list[_LoggedRun], int]:
    """Return the last runs with the model file of the newest run, at most ``max_runs``.

    They are in order, oldest first. Also return how many runs of other model files lie between.
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
    return newest[::-1], n_skipped


class MetricDrift(NamedTuple):
    """A metric of a run compared with training."""

    run: float | None
    """Mean in the run. None for predictions."""
    training: float | None
    """Mean in training. None for predictions."""
    distance: float | None
    """In standard deviations of training documents. For predictions, the total variation distance.

    None if the metric is unknown.
    """
    chance: float
    """The p-value of the difference."""

    @property
    def is_significant(self) -> bool:
        """True if the difference is significant."""
        return self.chance < DRIFT_SIGNIFICANCE


UNKNOWN_DRIFT = MetricDrift(None, None, None, chance=1.0)
"""Drift of a metric without values in the run or in training."""


class DriftRun(NamedTuple):
    """One run, or several pooled runs."""

    time: str
    """Time of the last run."""
    since: str
    """Time of the first run."""
    runs: int
    model: str | None
    documents: int
    figures: Mapping[str, MetricDrift]
    """The drift of `DRIFT_METRICS` and of `PREDICTIONS` by name."""


def find_text_drift(run: DriftRun) -> list[str]:
    """Return the metrics of texts with a drift that other class proportions do not explain."""
    names = []
    for name in (UNKNOWN, LIKELIHOOD):
        drift = run.figures[name]
        is_large = drift.distance is not None and drift.distance > MIN_TEXT_DRIFT_DEVIATIONS
        if drift.is_significant and is_large:
            names.append(name)
    return names


def pool_runs(runs: Sequence[_LoggedRun]) -> DriftRun:
    """Compare runs with the training of their models, as if they had been one run."""
    metrics = {
        name: _compute_metric_drift([run.figures[name] for run in runs]) for name in DRIFT_METRICS
    }
    metrics[PREDICTIONS] = _compute_prediction_drift(runs)
    return DriftRun(
        time=runs[-1].time,
        since=runs[0].time,
        runs=len(runs),
        model=runs[-1].model,
        documents=sum(run.documents for run in runs),
        figures=metrics,
    )


def _compute_metric_drift(pairs: Sequence[tuple[MeanStd, MeanStd]]) -> MetricDrift:
    """Return the drift of a metric, given pairs of a run and the training of its model."""
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
            chance=pooled.compute_p_value(first_training),
        )
    # Several models: in units of the standard deviation of training, all trainings are alike.
    standardized = MeanStd.pool([run.standardize(training) for run, training in pairs])
    standard = MeanStd(_count_effective_training_documents(pairs), 0.0, 1.0)
    training_mean = sum(run.documents * training.mean for run, training in pairs) / pooled.documents
    return MetricDrift(
        run=pooled.mean,
        training=training_mean,
        distance=standardized.compute_distance(standard),
        chance=standardized.compute_p_value(standard),
    )


def _count_effective_training_documents(pairs: Sequence[tuple[MeanStd, MeanStd]]) -> int:
    """Return the training documents of one model that is as uncertain as several models together.

    The models share documents, so their errors are assumed to have the same direction: 1 / √n is
    the mean of 1 / √n_t, weighted by the documents of the runs.
    """
    n_documents = sum(run.documents for run, _ in pairs)
    error_sum = sum(run.documents / sqrt(training.documents) for run, training in pairs)
    return max(int(1 / (error_sum / n_documents) ** 2), 1)


def _compute_prediction_drift(runs: Sequence[_LoggedRun]) -> MetricDrift:
    """Return the drift of the predictions.

    With several models, the predictions in training are a mixture, weighted by the documents of the
    runs. It counts as many documents as the smallest training.
    """
    labels = sorted({label for run in runs for label in run.answers})
    counts = np.array(
        [[run.answers.get(label, (0, 0)) for label in labels] for run in runs], np.int64
    )  # (n_runs, n_labels, 2)
    run_counts = counts[..., 0]
    training_counts = counts[..., 1]
    has_counts = run_counts.any(axis=1) & training_counts.any(axis=1)
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
        chance=compute_chi2_p_value(pooled_counts, mixture_counts),
    )
