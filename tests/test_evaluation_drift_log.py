"""The log of drift, `evaluation/drift_log.py`: runs taken together, against a twin that pools their documents."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.evaluation.drift_log import DriftRecorder, _LoggedRun, pool_runs, take_newest_runs
from nbtext.prediction.typicality import DRIFT_METRICS, MAX_DISTANCE, PREDICTIONS, MeanStd

ONE_METRIC = st.lists(st.floats(-100, 100).map(lambda value: round(value, 3)), max_size=9)


DAYS = st.lists(
    st.tuples(ONE_METRIC, st.lists(st.integers(0, 2), max_size=9)), min_size=1, max_size=6
)


NAMES = ("a", "b", "c")


def spread(values: list[float]) -> MeanStd:
    """In full, not to nine digits as in a log."""
    return (
        MeanStd(len(values), float(np.mean(values)), float(np.std(values)))
        if values
        else MeanStd(0, 0.0, 0.0)
    )


def make_run(
    values: list[float],
    answers: list[int],
    training: list[float],
    of_training: list[int],
    model: str | None = "m",
) -> _LoggedRun:
    counts = {
        label: (answers.count(number), of_training.count(number))
        for number, label in enumerate(NAMES)
    }
    return _LoggedRun(
        "t", model, 1, dict.fromkeys(DRIFT_METRICS, (spread(values), spread(training))), counts
    )


TRAINING, OF_TRAINING = [1.0, 2.5, 3.0, 7.0, -4.0], [0, 0, 1, 2, 2, 2]


@given(DAYS)
def test_pooled_runs_of_a_model_equal_one_run_of_all_documents(
    days: list[tuple[list[float], list[int]]],
) -> None:
    runs = [make_run(values, answers, TRAINING, OF_TRAINING) for values, answers in days]
    values, answers = (
        [one for part in column for one in part] for column in zip(*days, strict=True)
    )
    found, wanted = pool_runs(runs), pool_runs([make_run(values, answers, TRAINING, OF_TRAINING)])
    assert (found.runs, found.documents) == (len(days), len(days))
    for name in (*DRIFT_METRICS, PREDICTIONS):
        for mine, twin in zip(found.metrics[name], wanted.metrics[name], strict=True):
            assert mine == (None if twin is None else pytest.approx(twin, rel=1e-9, abs=1e-9))
    if values:
        pooled = MeanStd.pool([run.metrics["length"][0] for run in runs])
        assert pooled.mean == pytest.approx(math.fsum(values) / len(values), abs=1e-9)
        assert pooled.std == pytest.approx(np.std(values), abs=1e-6)


@given(
    st.lists(
        st.tuples(ONE_METRIC.filter(bool), ONE_METRIC.filter(lambda values: len({*values}) > 1)),
        min_size=2,
        max_size=5,
    )
)
def test_pooled_runs_of_retrained_models_are_in_deviations_of_each_training(
    nights: list[tuple[list[float], list[float]]],
) -> None:
    runs = [make_run(values, [0], training, [0, 1]) for values, training in nights]
    assume(len({run.metrics["length"][1] for run in runs}) > 1)
    moved = [
        (value - np.mean(training)) / np.std(training)
        for values, training in nights
        for value in values
    ]
    pooled = pool_runs(runs).metrics["length"]
    assert pooled.distance == pytest.approx(
        min(abs(np.mean(moved)), MAX_DISTANCE), rel=1e-6, abs=1e-9
    )
    assert pooled.run == pytest.approx(
        np.mean([value for values, _ in nights for value in values]), abs=1e-9
    )
    assert 0 <= pooled.p_value <= 1


def test_pooled_predictions_are_compared_with_the_mixture_of_trainings() -> None:
    """By hand: 3 answers after a training of shares 1/2, 1/2, 0 and 1 after one of 0, 0, 1 expect 3/8, 3/8, 1/4."""
    runs = [
        make_run([1.0], [0, 1, 1], TRAINING, [0, 0, 1, 1]),
        make_run([1.0], [2], TRAINING, [2] * 8),
    ]
    found = pool_runs(runs).metrics[PREDICTIONS]
    here, mixture = (
        np.array([1, 2, 1]) / 4,
        np.rint(4 * np.array([3 / 8, 3 / 8, 1 / 4]))
        / np.rint(4 * np.array([3 / 8, 3 / 8, 1 / 4])).sum(),
    )
    assert found.distance == pytest.approx(np.abs(here - mixture).sum() / 2)


@given(st.lists(st.sampled_from(["m", "n", None]), min_size=1, max_size=9), st.integers(1, 9))
def test_runs_of_other_models_are_ignored(models: list[str | None], most: int) -> None:
    runs = [_LoggedRun(str(place), model, 1, {}, {}) for place, model in enumerate(models)]
    found, others = take_newest_runs(runs, most)
    places = [place for place, model in enumerate(models) if model == models[-1]][-most:]
    assert [int(run.time) for run in found] == places
    enough = len(places) == most
    assert others == sum(
        model != models[-1] for model in (models[places[0] :] if enough else models)
    )


def test_model_without_training_statistics_is_refused() -> None:
    model = TextClassifier(calibration="none").fit(["one text", "another"], ["a", "b"])
    with pytest.raises(UsageError, match="does not know what training looked like"):
        DriftRecorder(model)
