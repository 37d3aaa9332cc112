"""The log of `nbtext classify --drift` read again: for each run which figures moved, how far, and whether that is more than chance."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.drift import ANSWERS, FIGURES, Spread, chance_of_shares, shares_apart
from nbtext.errors import PathError, reason

if TYPE_CHECKING:
    from collections.abc import Mapping

MORE_THAN_CHANCE = 0.001
"""What is less probable than this did not happen by chance: of a thousand runs that have not moved, one says so of a figure."""


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
    """One run."""

    time: str
    documents: int
    figures: Mapping[str, Moved]

    def summary(self) -> dict[str, Any]:
        """As plain values."""
        figures = {name: {**moved._asdict(), "beyond_chance": moved.beyond_chance} for name, moved in self.figures.items()}
        return {"time": self.time, "documents": self.documents, **figures}


def read_history(path: str) -> list[Run]:
    """The runs of a log, oldest first. Raises `PathError` if it cannot be read, has none, or a line is not as `DriftWatch` makes it."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - a path as given
            lines = [line for line in file if line.strip()]
    except UnicodeDecodeError:
        raise PathError("not a log of classify --drift (no UTF-8)", where=path) from None
    except OSError as problem:
        raise PathError(f"cannot be read ({reason(problem)})", where=path) from None
    if not lines:
        raise PathError("there is no run in the log", where=path, hint="classify --drift adds one")
    return [_run(line, f"{path}:{number}") for number, line in enumerate(lines, 1)]


def _run(line: str, where: str) -> Run:
    try:
        record = json.loads(line)
        figures = {name: _moved(*(Spread(int(n), float(mean), float(deviation)) for n, mean, deviation in
                                  (record[name]["run"], record[name]["training"]))) for name in FIGURES}  # fmt: skip
        counts = np.array([[int(of_run), int(of_training)] for of_run, of_training in record[ANSWERS]["counts"].values()], np.int64)
        of_run, of_training = counts.reshape(-1, 2).T
        figures[ANSWERS] = Moved(None, None, shares_apart(of_run, of_training), chance_of_shares(of_run, of_training))
        return Run(str(record["time"]), int(record["documents"]), figures)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise PathError("not a line of classify --drift", where=where) from None


def _moved(run: Spread, training: Spread) -> Moved:
    if not run.documents or not training.documents:
        return Moved(None, None, None, 1.0)
    return Moved(run.mean, training.mean, run.distance(training), run.chance(training))
