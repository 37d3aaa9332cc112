"""The log of drift, `evaluation/drift_log.py`: runs taken together, against a twin that pools their documents."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.evaluation.drift_log import DriftWatch, _LoggedRun, newest_of_model, pool_runs
from nbtext.typicality import ANSWERS, FIGURES, Spread

ONE_FIGURE = st.lists(st.floats(-100, 100).map(lambda value: round(value, 3)), max_size=9)


DAYS = st.lists(st.tuples(ONE_FIGURE, st.lists(st.integers(0, 2), max_size=9)), min_size=1, max_size=6)


NAMES = ("a", "b", "c")


def spread(values: list[float]) -> Spread:
    """In full, not to nine digits as in a log."""
    return Spread(len(values), float(np.mean(values)), float(np.std(values))) if values else Spread(0, 0.0, 0.0)


def day(values: list[float], answers: list[int], training: list[float], of_training: list[int], model: str | None = "m") -> _LoggedRun:
    counts = {label: (answers.count(number), of_training.count(number)) for number, label in enumerate(NAMES)}
    return _LoggedRun("t", model, 1, dict.fromkeys(FIGURES, (spread(values), spread(training))), counts)


TRAINING, OF_TRAINING = [1.0, 2.5, 3.0, 7.0, -4.0], [0, 0, 1, 2, 2, 2]


@given(DAYS)
def test_runs_of_a_model_together_are_the_run_over_all_their_documents(days: list[tuple[list[float], list[int]]]) -> None:
    runs = [day(values, answers, TRAINING, OF_TRAINING) for values, answers in days]
    values, answers = ([one for part in column for one in part] for column in zip(*days, strict=True))
    found, wanted = pool_runs(runs), pool_runs([day(values, answers, TRAINING, OF_TRAINING)])
    assert (found.runs, found.documents) == (len(days), len(days))
    for name in (*FIGURES, ANSWERS):
        for mine, twin in zip(found.figures[name], wanted.figures[name], strict=True):
            assert mine == (None if twin is None else pytest.approx(twin, rel=1e-9, abs=1e-9))
    if values:
        pooled = Spread.together([run.figures["length"][0] for run in runs])
        assert pooled.mean == pytest.approx(math.fsum(values) / len(values), abs=1e-9)
        assert pooled.deviation == pytest.approx(np.std(values), abs=1e-6)


@given(st.lists(st.sampled_from(["m", "n", None]), min_size=1, max_size=9), st.integers(1, 9))
def test_runs_of_other_models_are_left_out(models: list[str | None], most: int) -> None:
    runs = [_LoggedRun(str(place), model, 1, {}, {}) for place, model in enumerate(models)]
    found, others = newest_of_model(runs, most)
    places = [place for place, model in enumerate(models) if model == models[-1]][-most:]
    assert [int(run.time) for run in found] == places
    enough = len(places) == most
    assert others == sum(model != models[-1] for model in (models[places[0] :] if enough else models))


def test_a_model_that_does_not_know_what_training_looked_like() -> None:
    model = TextClassifier(calibration="none").fit(["one text", "another"], ["a", "b"])
    with pytest.raises(UsageError, match="does not know what training looked like"):
        DriftWatch(model)
