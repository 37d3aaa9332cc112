"""Several runs of a log taken together: a twin that pools the documents themselves, models that change or differ, runs without documents, gates."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nbtext.drift import ANSWERS, FARTHEST, FIGURES, Spread
from nbtext.model.drift_history import Noted, judged, newest_of_a_model
from tests.process import SERVICE_DESK, corpus, error_line, nbtext, succeeded

if TYPE_CHECKING:
    from pathlib import Path

ONE_FIGURE = st.lists(st.floats(-100, 100).map(lambda value: round(value, 3)), max_size=9)
DAYS = st.lists(st.tuples(ONE_FIGURE, st.lists(st.integers(0, 2), max_size=9)), min_size=1, max_size=6)
NAMES = ("a", "b", "c")


def spread(values: list[float]) -> Spread:
    """In full, not to nine digits as in a log."""
    return Spread(len(values), float(np.mean(values)), float(np.std(values))) if values else Spread(0, 0.0, 0.0)


def day(values: list[float], answers: list[int], training: list[float], of_training: list[int], model: str | None = "m") -> Noted:
    counts = {label: (answers.count(number), of_training.count(number)) for number, label in enumerate(NAMES)}
    return Noted("t", model, 1, dict.fromkeys(FIGURES, (spread(values), spread(training))), counts)


TRAINING, OF_TRAINING = [1.0, 2.5, 3.0, 7.0, -4.0], [0, 0, 1, 2, 2, 2]


@given(DAYS)
def test_runs_of_a_model_together_are_the_run_over_all_their_documents(days: list[tuple[list[float], list[int]]]) -> None:
    runs = [day(values, answers, TRAINING, OF_TRAINING) for values, answers in days]
    values, answers = ([one for part in column for one in part] for column in zip(*days, strict=True))
    found, wanted = judged(runs), judged([day(values, answers, TRAINING, OF_TRAINING)])
    assert (found.runs, found.documents) == (len(days), len(days))
    for name in (*FIGURES, ANSWERS):
        for mine, twin in zip(found.figures[name], wanted.figures[name], strict=True):
            assert mine == (None if twin is None else pytest.approx(twin, rel=1e-9, abs=1e-9))
    if values:
        pooled = Spread.together([run.figures["length"][0] for run in runs])
        assert pooled.mean == pytest.approx(math.fsum(values) / len(values), abs=1e-9)
        assert pooled.deviation == pytest.approx(np.std(values), abs=1e-6)


@given(DAYS, st.data())
def test_runs_of_a_model_that_changed_are_pooled_in_standard_deviations_of_their_own_training(days: list[Any], data: st.DataObject) -> None:
    trainings = [data.draw(st.lists(st.floats(-9, 9).map(lambda x: round(x, 2)), min_size=2, max_size=6, unique=True)) for _ in days]
    trainings[0] = [*trainings[-1], 20.0]  # not all alike
    runs = [day(values, answers, training, OF_TRAINING) for (values, answers), training in zip(days, trainings, strict=True)]
    runs.append(day([1.0], [0], [0.0, 1.0], [1]))
    documents = [
        (value - np.mean(training)) / np.std(training) for (values, _), training in zip(days, trainings, strict=True) for value in values
    ]
    documents.append(1.0)
    found = judged(runs).figures["length"]
    assert found.distance == pytest.approx(abs(np.mean(documents)), abs=1e-6)
    if len({run.figures["length"][1] for run in runs if run.figures["length"][0].documents}) > 1:
        least = min(run.figures["length"][1].documents for run in runs if run.figures["length"][0].documents)
        variance = max(float(np.std(documents)), 1.0) ** 2 / len(documents) + 1 / least
        assert found.chance == pytest.approx(2 * stats.norm.sf(abs(np.mean(documents)) / math.sqrt(variance)), abs=1e-6)


def test_answers_are_compared_with_those_of_each_model_in_its_measure() -> None:
    first, second = day([], [0, 0, 1], [], [0, 1]), day([], [2], [], [2, 2, 1, 0])
    run, training = np.array([2, 1, 1]) / 4, (3 * np.array([0.5, 0.5, 0]) + np.array([0.25, 0.25, 0.5])) / 4
    found = judged([first, second]).figures[ANSWERS]
    assert found.distance == pytest.approx(np.abs(run - training).sum() / 2)
    assert found.chance == pytest.approx(stats.chi2_contingency([run * 4, training * 2], correction=False).pvalue)
    new_class = Noted("t", "m", 1, first.figures, {"c": (5, 5)})
    assert judged([new_class, day([], [0], [], [0])]).figures[ANSWERS].distance == pytest.approx(0, abs=1e-12)


def test_training_documents_that_do_not_differ() -> None:
    constant = Spread(5, 2.0, 0.0)
    assert Spread(3, 1.0, 1.0).standardised(constant) == Spread(3, -FARTHEST, 0.0)
    assert Spread(3, 2.0, 1.0).standardised(constant) == Spread(3, 0.0, 0.0)
    assert Spread(3, 1.0, 1.0).standardised(Spread(5, 2.0, 1e-300)) == Spread(3, -FARTHEST, FARTHEST)


@given(st.lists(st.sampled_from(["m", "n", None]), min_size=1, max_size=9), st.integers(1, 9))
def test_runs_of_other_models_are_left_out(models: list[str | None], most: int) -> None:
    runs = [Noted(str(place), model, 1, {}, {}) for place, model in enumerate(models)]
    found, others = newest_of_a_model(runs, most)
    places = [place for place, model in enumerate(models) if model == models[-1]][-most:]
    assert [int(run.time) for run in found] == places
    enough = len(places) == most
    assert others == sum(model != models[-1] for model in (models[places[0] :] if enough else models))


LETTERS = {f"day{number}/{letter}": f"the {thing} in our street is {how}" for number, how in enumerate(("broken", "dirty", "gone"))
           for letter, thing in enumerate(("lamp", "bin", "tree"))}  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """Three runs of three letters, and as ``all`` a log of all nine in one run."""
    corpus(tmp_path, LETTERS)
    (tmp_path / "empty").mkdir()
    succeeded(nbtext("train", SERVICE_DESK / "train", cwd=tmp_path))
    for number in range(3):
        succeeded(nbtext("classify", f"day{number}", "--drift", "log", cwd=tmp_path))
    succeeded(nbtext("classify", "day0", "day1", "day2", "--drift", "all", cwd=tmp_path))
    return tmp_path


def jsonl(*arguments: str, cwd: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in succeeded(nbtext("drift", *arguments, "--output", "jsonl", cwd=cwd)).text.splitlines()]


def test_the_last_runs_of_a_log_are_one_run(desk: Path) -> None:
    singly, [together], [at_once] = jsonl("log", cwd=desk), jsonl("log", "--last", "9", cwd=desk), jsonl("all", cwd=desk)
    assert [(run["runs"], run["documents"]) for run in (*singly, together)] == [(1, 3), (1, 3), (1, 3), (3, 9)]
    assert (together["since"], together["time"]) == (singly[0]["time"], singly[2]["time"])
    assert together["model"] == at_once["model"] == str(desk / "nbtext.joblib")
    for name in (*FIGURES, ANSWERS):
        assert together[name] == {key: value if value is None else pytest.approx(value, rel=1e-7) for key, value in at_once[name].items()}
    assert jsonl("log", "--last", "1", cwd=desk) == singly[2:]
    [last_two] = jsonl("log", "--last", "2", cwd=desk)
    assert (last_two["documents"], last_two["since"]) == (6, singly[1]["time"])
    shown = succeeded(nbtext("drift", "log", "--last", "2", cwd=desk)).text.splitlines()
    assert [line.split()[:2] for line in shown[2:5]] == [[singly[1]["time"], "3"], [singly[2]["time"], "3"], ["together", "6"]]
    assert shown[-1].startswith("together  ")


def test_gates_judge_the_last_runs_together(desk: Path) -> None:
    (desk / "strange").write_text("zzyx qwrt plmk vbnm hjkl")
    succeeded(nbtext("classify", "strange", "--drift", "log", cwd=desk))
    newest, [together] = jsonl("log", cwd=desk)[-1], jsonl("log", "--last", "4", cwd=desk)
    between = (newest["unknown"]["distance"] + together["unknown"]["distance"]) / 2
    gate = ["--fail-over", f"unknown={between}"]
    assert together["unknown"]["distance"] < between
    done = nbtext("drift", "log", *gate, cwd=desk)
    assert (done.status, done.notes) == (
        6,
        [f"nbtext: gate not met: the distance of unknown is {newest['unknown']['distance']:.6g}, over {between:g}"],
    )
    succeeded(nbtext("drift", "log", "--last", "4", *gate, cwd=desk))
    done = nbtext("drift", "log", "--last", "4", "--fail-over", "unknown=0.01", cwd=desk)
    assert (done.status, f"is {together['unknown']['distance']:.6g}," in done.notes[0]) == (6, True)


def test_a_run_of_no_documents_hides_no_alarm(desk: Path) -> None:
    (desk / "strange").write_text("zzyx qwrt plmk vbnm hjkl " * 50)
    succeeded(nbtext("classify", "strange", "--drift", "log", cwd=desk))
    before = (desk / "log").read_bytes()
    succeeded(nbtext("classify", "empty", "--drift", "log", cwd=desk))
    corpus(desk, {"binary/1": b"\0"})
    assert nbtext("classify", "binary", "--drift", "log", cwd=desk).status == 1
    assert (desk / "log").read_bytes() == before
    empty = (
        json.loads(before.splitlines()[-1])
        | {"documents": 0}
        | {name: {"run": [0, 0.0, 0.0], "training": [9, 1.0, 1.0]} for name in FIGURES}
    )
    with (desk / "log").open("a") as log:
        log.write(json.dumps(empty) + "\n")  # as an older nbtext wrote it
    done = nbtext("drift", "log", "--fail-over", "unknown=1", cwd=desk)
    assert (done.status, "newest    moved: " in done.text) == (6, True)
    assert [run["documents"] for run in jsonl("log", cwd=desk)] == [3, 3, 3, 1]
    assert jsonl("log", "--last", "2", cwd=desk)[0]["documents"] == 4


def test_where_no_run_had_documents_nothing_passes(desk: Path) -> None:
    succeeded(nbtext("classify", "empty", "--drift", "new", cwd=desk))
    assert (desk / "new").read_bytes() == b""
    for options in ([], ["--last", "3"], ["--fail-over", "any=1"]):
        line = error_line(nbtext("drift", "new", *options, cwd=desk), 4)
        assert line == "nbtext: new: there is no run with documents in the log; classify --drift adds one"
    assert "cannot write" in error_line(nbtext("classify", "empty", "--drift", "no/new", cwd=desk), 4)


def test_models_in_one_log_are_told_apart_by_their_files(desk: Path) -> None:
    succeeded(nbtext("train", SERVICE_DESK / "test", "-m", "other", cwd=desk))
    succeeded(nbtext("classify", "day0", "-m", "other", "--drift", "log", cwd=desk))
    [other] = jsonl("log", "--last", "9", cwd=desk)
    assert (other["model"], other["runs"], other["documents"]) == (str(desk / "other"), 1, 3)
    assert succeeded(nbtext("drift", "log", "--last", "9", cwd=desk)).text.endswith(
        "left out  3 runs of another model, or noted by an older nbtext\n"
    )
    lines = [json.loads(line) for line in (desk / "log").read_text().splitlines()]
    for line in lines[:2]:
        del line["model"]
    (desk / "log").write_text("".join(json.dumps(line) + "\n" for line in [lines[0], lines[1], lines[3], lines[2]]))
    assert [run["model"] for run in jsonl("log", cwd=desk)] == [None, None, str(desk / "other"), str(desk / "nbtext.joblib")]
    assert jsonl("log", "--last", "2", cwd=desk)[0]["runs"] == 1


def test_a_model_that_learnt_in_between_is_the_same_model(desk: Path) -> None:
    succeeded(nbtext("update", SERVICE_DESK / "test", cwd=desk))
    succeeded(nbtext("classify", "day0", "--drift", "log", cwd=desk))
    records = [json.loads(line) for line in (desk / "log").read_text().splitlines()]
    assert records[-1]["length"]["training"] != records[0]["length"]["training"]
    [together] = jsonl("log", "--last", "4", cwd=desk)
    apart = [
        (run[1] - training[1]) / training[2] for run, training in ((line["length"]["run"], line["length"]["training"]) for line in records)
    ]
    assert (together["runs"], together["documents"]) == (4, 12)
    assert together["length"]["distance"] == pytest.approx(abs(sum(apart) / 4), rel=1e-6)


@pytest.mark.parametrize("value", ["-1", "1e400", "NaN", '"x"', "null", "1e10", "true, 2"])
def test_numbers_that_no_run_has_are_no_line_of_a_log(desk: Path, value: str) -> None:
    lines = (desk / "log").read_text().splitlines()
    record = json.loads(lines[0])
    for place in range(3):
        changed = record["unknown"] | {"run": ["here" if at == place else 1 for at in range(3)]}
        (desk / "wrong").write_text(json.dumps(record | {"unknown": changed}).replace('"here"', value) + "\n")
        done = nbtext("drift", "wrong", "--last", "2", cwd=desk)
        fine = (value == "-1" and place == 1) or (value == "1e10" and place == 0)
        assert done.status == (0 if fine else 4), done


@pytest.mark.parametrize("last", ["0", "-1", "x"])
def test_how_many_runs(desk: Path, last: str) -> None:
    assert "--last" in error_line(nbtext("drift", "log", "--last", last, cwd=desk), 2)


def test_runs_from_a_time_on(desk: Path) -> None:
    times = ("2026-03-01T10:00:00+00:00", "2026-03-02T00:00:00+00:00", "2026-03-02T10:00:00+00:00")
    lines = [json.loads(line) | {"time": time} for line, time in zip((desk / "log").read_text().splitlines(), times, strict=True)]
    (desk / "log").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for begin, runs in (
        ("2026-03-01", 3),
        ("2026-03-02", 2),
        ("2026-03-02T00:00:01", 1),
        ("2026-03-02T12:00+02:00", 1),
        ("2026-03-01T23:00-01:00", 2),
    ):
        [together] = jsonl("log", "--since", begin, cwd=desk)
        assert (together["runs"], together["since"], together["time"]) == (runs, times[-runs], times[-1])
    [together] = jsonl("log", "--since", "2026-03-01", "--last", "2", cwd=desk)
    assert together["runs"] == 2
    line = error_line(nbtext("drift", "log", "--since", "2026-03-03", "--fail-over", "any=1", cwd=desk), 4)
    assert line == "nbtext: log: there is no run with documents since 2026-03-03T00:00:00+00:00 in the log"
    line = error_line(nbtext("drift", "log", "--since", "yesterday", cwd=desk), 2)
    assert line == "nbtext: --since must be a date or a time, not 'yesterday'; such as 2026-05-31 or 2026-05-31T18:00+02:00"
    for wrong in ("yesterday", "2026-03-01", 7, None):
        (desk / "wrong").write_text(json.dumps(lines[0] | {"time": wrong}) + "\n")
        assert error_line(nbtext("drift", "wrong", cwd=desk), 4) == "nbtext: wrong:1: not a line of classify --drift"
