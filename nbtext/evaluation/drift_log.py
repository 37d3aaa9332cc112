"""The log of `nbtext classify --drift`: a line for each run, with its documents beside those of training, written and read again.

A line holds numbers of documents, means and standard deviations, and these add up: several runs by one model are exactly what one run over all
their documents would have been. After an update or a new training the file holds another model: its runs are taken together with the earlier ones
in standard deviations of the training documents of each.
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
"""A difference less probable than this counts as real; one in a thousand runs without a difference is then reported."""

MIN_TEXT_DRIFT_DEVIATIONS = 0.3
"""Distance in standard deviations of training that a different class mix alone does not reach (20 Newsgroups: 0.25 in 99 of
100 samples of 500 documents; test documents of a later time: 0.45)."""

MAX_EXACT_COUNT = 2**53
"""Numbers of documents are below it, as counts in a model are."""


class DriftRecorder:
    """Record the documents of a run. Raise `UsageError` for a model that does not know what its training documents looked like.

    ``path`` is where the model is; it tells runs of different models in one log apart.
    """

    def __init__(self, model: TextClassifier, path: str | None = None) -> None:
        if model.fitted.parameters.profile is None:
            raise UsageError(
                "the model does not know what training looked like",
                hint="train with calibration and --set sample=N above 0",
            )
        self._model = model
        self._training = model.fitted.parameters.profile
        self._path = None if path is None else os.path.abspath(path)
        self._parts: list[tuple[Ints, Ints, Floats, Ints]] = []

    def observe(self, blocks: Iterable[ScoredBlock]) -> Iterator[ScoredBlock]:
        """Yield the scored documents as they are; record those that could be read."""
        for block in blocks:
            read = np.array([document.problem is None for document in block.documents], np.bool_)
            tokens = block.lengths + block.unknown_tokens
            per_token = compute_log_likelihood_per_token(
                self._model.fitted.classifier, block.scores, block.lengths, block.unknown_tokens
            )
            likelihood = np.full(len(tokens), np.nan) if per_token is None else per_token[0]
            self._parts.append(
                (
                    tokens[read],
                    block.unknown_tokens[read],
                    likelihood[read],
                    block.posterior.decide(DecisionRule()).predictions[read],
                )
            )
            yield block

    def to_record(self) -> dict[str, ParsedJson] | None:
        """Return the line of the log; None if no document could be read."""
        classes = self._model.classes
        training = self._training
        if not any(len(tokens) for tokens, *_ in self._parts):
            return None
        tokens, unknown, likelihood, answers = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        run = Profile.from_documents(tokens, unknown, likelihood, answers, len(classes))
        counts = zip(classes, run.predictions.tolist(), training.predictions.tolist(), strict=True)
        figures = {}
        for name in DRIFT_METRICS:
            spread = run.metrics[name]
            before = training.metrics[name]
            figures[name] = {
                "run": list(spread),
                "training": list(before),
                "distance": spread.compute_distance(before),
            }
        return {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "model": self._path,
            "documents": len(tokens),
            **figures,
            PREDICTIONS: {
                "counts": {
                    label: [here, before] for label, here, before in counts if here or before
                },
                "distance": compute_total_variation(run.predictions, training.predictions),
            },
        }

    def compute_drift(self) -> DriftRun | None:
        """Return the drift of the documents; None if no document could be read."""
        return None if (line := self.to_record()) is None else pool_runs([_run_of(line)])


class _LoggedRun(NamedTuple):
    """A line of the log."""

    time: str
    model: str | None
    """Where the model is; None in a line of an older nbtext."""
    documents: int
    figures: Mapping[str, tuple[MeanStd, MeanStd]]
    """Of the run and of training, by name."""
    answers: Mapping[str, tuple[int, int]]
    """In the run and in training, by class."""


def read_history(path: str) -> tuple[list[_LoggedRun], list[PathError]]:
    """Return the runs of a log that had documents, oldest first, and a problem for each line that is damaged.

    Raise `PathError` if the log cannot be read or has no such run.
    """
    lines = read_option_file(path).split(b"\n")
    runs: list[_LoggedRun] = []
    unreadable: list[PathError] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                runs.append(_run_of(parse_json(line.decode())))
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
                unreadable.append(
                    PathError("not a line of classify --drift", where=f"{path}:{number}")
                )
    runs = [run for run in runs if run.documents]
    if not runs:
        nothing = PathError(
            "there is no run with documents in the log",
            where=path,
            hint="classify --drift adds one",
        )
        raise unreadable[0] if unreadable else nothing
    return runs, unreadable


def _run_of(record: ParsedJson) -> _LoggedRun:
    if datetime.fromisoformat(record["time"]).tzinfo is None:
        raise ValueError(record["time"])
    figures = {
        name: (_spread(record[name]["run"]), _spread(record[name]["training"]))
        for name in DRIFT_METRICS
    }
    answers = {
        str(label): (_whole(run), _whole(training))
        for label, (run, training) in record[PREDICTIONS]["counts"].items()
    }
    model = record.get("model")
    return _LoggedRun(
        record["time"],
        None if model is None else str(model),
        _whole(record["documents"]),
        figures,
        answers,
    )


def _spread(values: Sequence[float]) -> MeanStd:
    documents, mean, deviation = values
    if not (abs(mean) <= MAX_DISTANCE and 0 <= deviation <= MAX_DISTANCE):
        raise ValueError(values)
    return MeanStd(_whole(documents), float(mean), float(deviation))


def _whole(value: float) -> int:
    if not 0 <= value < MAX_EXACT_COUNT:
        raise ValueError(value)
    return int(value)


def take_runs_since(runs: Sequence[_LoggedRun], begin: datetime, path: str) -> list[_LoggedRun]:
    """Return the runs from a time on, in UTC where it names no zone; raise `PathError` if there are none."""
    begin = begin if begin.tzinfo else begin.replace(tzinfo=UTC)
    later = [run for run in runs if datetime.fromisoformat(run.time) >= begin]
    if not later:
        raise PathError(
            f"there is no run with documents since {begin.isoformat()} in the log", where=path
        )
    return later


def take_newest_runs(runs: Sequence[_LoggedRun], most: int) -> tuple[list[_LoggedRun], int]:
    """Return at most ``most`` of the last runs of the newest run's model file, oldest first, and how many runs of other files were skipped."""
    newest: list[_LoggedRun] = []
    others = 0
    for run in reversed(runs):
        if len(newest) == most:
            break
        if run.model == runs[-1].model:
            newest.append(run)
        else:
            others += 1
    return newest[::-1], others


class MetricDrift(NamedTuple):
    """A figure of a run beside that of training."""

    run: float | None
    """Its mean in the run; None for answers."""
    training: float | None
    distance: float | None
    """In standard deviations of training documents; of answers the share that differs."""
    chance: float
    """Probability of such a distance by chance."""

    @property
    def is_significant(self) -> bool:
        """True if the difference is taken for real."""
        return self.chance < DRIFT_SIGNIFICANCE


UNKNOWN_DRIFT = MetricDrift(None, None, None, 1.0)


class DriftRun(NamedTuple):
    """One run, or several together."""

    time: str
    """Of the last of them."""
    since: str
    """Of the first of them."""
    runs: int
    model: str | None
    documents: int
    figures: Mapping[str, MetricDrift]


def find_text_drift(run: DriftRun) -> list[str]:
    """Return the figures of texts that differ from training by more than chance, and by more than other shares of the classes explain."""
    texts = ((name, run.figures[name]) for name in (UNKNOWN, LIKELIHOOD))
    return [
        name
        for name, drift in texts
        if drift.is_significant and (drift.distance or 0.0) > MIN_TEXT_DRIFT_DEVIATIONS
    ]


def pool_runs(runs: Sequence[_LoggedRun]) -> DriftRun:
    """Compare runs with the training of their models, taken together as if they had been one."""
    figures = {name: _figure_drift([run.figures[name] for run in runs]) for name in DRIFT_METRICS}
    figures[PREDICTIONS] = _answers_drift(runs)
    return DriftRun(
        runs[-1].time,
        runs[0].time,
        len(runs),
        runs[-1].model,
        sum(run.documents for run in runs),
        figures,
    )


def _figure_drift(spreads: Sequence[tuple[MeanStd, MeanStd]]) -> MetricDrift:
    """Return the drift of a figure, given its spread in each run and in the training of the run's model."""
    known = [(run, training) for run, training in spreads if run.documents and training.documents]
    if not known:
        return UNKNOWN_DRIFT
    together = MeanStd.pool([run for run, _ in known])
    training = known[0][1]
    if all(other == training for _, other in known):
        return MetricDrift(
            together.mean,
            training.mean,
            together.compute_distance(training),
            together.compute_p_value(training),
        )
    moved = MeanStd.pool([run.standardize(training) for run, training in known])
    standard = MeanStd(_training_documents(known), 0.0, 1.0)
    mean_of_training = (
        sum(run.documents * training.mean for run, training in known) / together.documents
    )
    return MetricDrift(
        together.mean,
        mean_of_training,
        moved.compute_distance(standard),
        moved.compute_p_value(standard),
    )


def _training_documents(spreads: Sequence[tuple[MeanStd, MeanStd]]) -> int:
    """Return the number of training documents whose mean is as uncertain as the means of several trainings together.

    These share documents, so their errors are taken to be the same in direction: 1 / √n is the mean of 1 / √n_t by documents of the runs.
    """
    documents = sum(run.documents for run, _ in spreads)
    error = sum(run.documents / sqrt(training.documents) for run, training in spreads) / documents
    return max(int(1 / error**2), 1)


def _answers_drift(runs: Sequence[_LoggedRun]) -> MetricDrift:
    """Return the drift of the answers; those of several trainings are a mixture, of as many documents as the smallest training."""
    labels = sorted({label for run in runs for label in run.answers})
    counts = np.array(
        [[run.answers.get(label, (0, 0)) for label in labels] for run in runs], np.int64
    )  # (n_runs, n_labels, 2)
    answered = counts[..., 0]
    training = counts[..., 1]
    known = answered.any(axis=1) & training.any(axis=1)
    if not known.any():
        return UNKNOWN_DRIFT
    answered = answered[known]
    training = training[known]
    sizes = training.sum(axis=1)
    shares = training / sizes[:, np.newaxis]
    mixture = np.average(shares, axis=0, weights=answered.sum(axis=1))
    before = np.rint(mixture * sizes.min()).astype(np.int64)
    here = answered.sum(axis=0)
    return MetricDrift(
        None, None, compute_total_variation(here, before), compute_chi2_p_value(here, before)
    )
