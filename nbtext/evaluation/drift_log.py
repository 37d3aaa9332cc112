"""The log of `nbtext classify --drift` read again: for a run, or several together, which figures moved, how far, and whether more than by chance.

A line holds numbers of documents, means and standard deviations, and these add up: several runs by one model are exactly what one run over all
their documents would have been. A model that was updated or trained anew between two runs has other training documents to compare with. So where
those differ each run is measured in standard deviations of its own first, and these add up.


One line for each run of `nbtext classify --drift`: what its documents looked like beside those of training.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.decision import minimum_error
from nbtext.errors import PathError, UsageError, reason
from nbtext.typicality import ANSWERS, FARTHEST, FIGURES, Profile, Spread, chance_of_shares, shares_apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nbtext.model.scoring import ScoredBlock
    from nbtext.model.text_classifier import TextClassifier


MORE_THAN_CHANCE = 0.001
"""What is less probable than this did not happen by chance: of a thousand runs that have not moved, one says so of a figure."""


EXACT = 2**53
"""Numbers of documents are below it, as counts in a model are."""


class Noted(NamedTuple):
    """A line of the log."""

    time: str
    model: str | None
    """Where the model is; None in a line of an older nbtext."""
    documents: int
    figures: Mapping[str, tuple[Spread, Spread]]
    """Each of the run and of training."""
    answers: Mapping[str, tuple[int, int]]
    """By class, of the run and of training."""


class Moved(NamedTuple):
    """A figure of a run."""

    run: float | None
    """Its mean in the run; None for answers."""
    training: float | None
    distance: float | None
    chance: float

    @property
    def beyond_chance(self) -> bool:
        """Whether it moved."""
        return self.chance < MORE_THAN_CHANCE


class Run(NamedTuple):
    """One run, or several together."""

    time: str
    """Of the last of them."""
    since: str
    """Of the first of them."""
    runs: int
    model: str | None
    documents: int
    figures: Mapping[str, Moved]

    def summary(self) -> dict[str, Any]:
        """As plain values."""
        plain = self._asdict()
        figures = plain.pop("figures")
        return plain | {name: {**moved._asdict(), "beyond_chance": moved.beyond_chance} for name, moved in figures.items()}


def read_history(path: str) -> tuple[list[Noted], list[PathError]]:
    """Return the runs of a log that had documents, oldest first, and a problem for each line that is no line of `DriftWatch`, as one cut short.

    Raises `PathError` if the log cannot be read or has no such run.
    """
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as problem:
        raise PathError(f"cannot be read ({reason(problem)})", where=path) from None
    noted: list[Noted] = []
    unreadable: list[PathError] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                noted.append(_noted(line))
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
                unreadable.append(PathError("not a line of classify --drift", where=f"{path}:{number}"))
    found = [run for run in noted if run.documents]
    if not found:
        raise (
            unreadable[0]
            if unreadable
            else PathError("there is no run with documents in the log", where=path, hint="classify --drift adds one")
        )
    return found, unreadable


def _noted(line: bytes) -> Noted:
    record = json.loads(line.decode())
    figures = {name: (_spread(record[name]["run"]), _spread(record[name]["training"])) for name in FIGURES}
    answers = {str(label): (_number(of_run), _number(of_training)) for label, (of_run, of_training) in record[ANSWERS]["counts"].items()}
    model = record.get("model")
    return Noted(_time(record["time"]), None if model is None else str(model), _number(record["documents"]), figures, answers)


def _spread(values: Sequence[float]) -> Spread:
    documents, mean, deviation = values
    if not (abs(mean) <= FARTHEST and 0 <= deviation <= FARTHEST):
        raise ValueError(values)
    return Spread(_number(documents), float(mean), float(deviation))


def _time(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError(text)
    return text


def _number(value: float) -> int:
    if not 0 <= value < EXACT:
        raise ValueError(value)
    return int(value)


def since(noted: Sequence[Noted], begin: datetime, path: str) -> list[Noted]:
    """The runs from some time on, in UTC where it names no zone; raises `PathError` if there are none."""
    begin = begin if begin.tzinfo else begin.replace(tzinfo=UTC)
    found = [run for run in noted if datetime.fromisoformat(run.time) >= begin]
    if not found:
        raise PathError(f"there is no run with documents since {begin.isoformat()} in the log", where=path)
    return found


def newest_of_a_model(noted: Sequence[Noted], most: int) -> tuple[list[Noted], int]:
    """The last runs of the model that made the newest, at most so many, oldest first; and how many of other models lie between or before them."""
    found: list[Noted] = []
    others = 0
    for run in reversed(noted):
        if len(found) == most:
            break
        if run.model == noted[-1].model:
            found.append(run)
        else:
            others += 1
    return found[::-1], others


def judged(runs: Sequence[Noted]) -> Run:
    """What moved in some runs of one model, taken together as if they had been one."""
    figures = {name: _together([run.figures[name] for run in runs]) for name in FIGURES}
    figures[ANSWERS] = _answers_together([run.answers for run in runs])
    return Run(runs[-1].time, runs[0].time, len(runs), runs[-1].model, sum(run.documents for run in runs), figures)


def _together(parts: Sequence[tuple[Spread, Spread]]) -> Moved:
    """A figure of runs, each with that of the training documents that it is compared with."""
    parts = [(run, training) for run, training in parts if run.documents and training.documents]
    if not parts:
        return Moved(None, None, None, 1.0)
    run = Spread.together([run for run, _ in parts])
    training = parts[0][1]
    if all(other == training for _, other in parts):
        return Moved(run.mean, training.mean, run.distance(training), run.chance(training))
    apart = Spread.together([run.standardised(training) for run, training in parts])
    norm = Spread(min(training.documents for _, training in parts), 0.0, 1.0)  # models that follow each other share their documents: no sum
    before = Spread.together([training._replace(documents=run.documents) for run, training in parts])
    return Moved(run.mean, before.mean, apart.distance(norm), apart.chance(norm))


def _answers_together(parts: Sequence[Mapping[str, tuple[int, int]]]) -> Moved:
    """Answers of runs, compared with those of training: of each model in the measure in which the runs are by it."""
    labels = sorted({label for part in parts for label in part})
    table = np.array([[part.get(label, (0, 0)) for label in labels] for part in parts], np.int64).reshape(len(parts), len(labels), 2)
    table = table[(table.sum(axis=1) > 0).all(axis=1)]
    if not len(table):
        return Moved(None, None, None, 1.0)
    runs, trainings = table[:, :, 0], table[:, :, 1]
    counts, training = runs.sum(axis=0), trainings[0].astype(np.float64)
    if (trainings != training).any():
        shares = trainings / trainings.sum(axis=1, keepdims=True)
        training = trainings.sum(axis=1).min() * (runs.sum(axis=1) @ shares / counts.sum())
    return Moved(None, None, shares_apart(counts, training), chance_of_shares(counts, training))


class DriftWatch:
    """Takes note of the documents that go by. Raises `UsageError` for a model that does not know what its training documents looked like.

    ``path`` is where the model is: by that `nbtext.evaluation.drift_log` tells runs of different models in one log.
    """

    def __init__(self, model: TextClassifier, path: str | None = None) -> None:
        if model.learnt.profile is None:
            raise UsageError("the model does not know what training looked like", hint="train with calibration and a --sample above 0")
        self._model, self._training = model, model.learnt.profile
        self._path = None if path is None else os.path.abspath(path)  # noqa: PTH100 - links not followed: they are set anew
        self._parts: list[tuple[np.ndarray[Any, Any], ...]] = []

    def watched(self, blocks: Iterable[ScoredBlock]) -> Iterator[ScoredBlock]:
        """The scored documents as they go by; those that could not be read are left out."""
        for block in blocks:
            read = np.array([document.problem is None for document in block.documents], np.bool_)
            tokens = block.lengths + block.unknown
            per_token = self._model.classifier.likelihood_per_token(block.scores, block.lengths, block.unknown)
            likelihood = np.full(len(tokens), np.nan) if per_token is None else per_token[0]
            columns = (tokens, block.unknown, likelihood, minimum_error(block.log_posterior))
            self._parts.append(tuple(column[read] for column in columns))
            yield block

    def line(self) -> dict[str, Any] | None:
        """What went by, for a line of the log; None if no document did that could be read, which is no news of any."""
        classes, training = self._model.classes_, self._training
        empty = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))
        tokens, unknown, likelihood, answers = (np.concatenate(column) for column in zip(empty, *self._parts, strict=True))
        if not tokens.size:
            return None
        run = Profile.of(tokens, unknown, likelihood, answers, len(classes))
        counts = {
            label: [of_run, of_training]
            for label, of_run, of_training in zip(classes, run.answers.tolist(), training.answers.tolist(), strict=True)
            if of_run or of_training
        }
        return {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "model": self._path,
            "documents": len(tokens),
            **{
                name: {
                    "run": list(run.figures[name]),
                    "training": list(training.figures[name]),
                    "distance": run.figures[name].distance(training.figures[name]),
                }
                for name in FIGURES
            },
            ANSWERS: {"counts": counts, "distance": shares_apart(run.answers, training.answers)},
        }
