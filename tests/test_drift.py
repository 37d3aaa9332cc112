"""How far documents of one time are from those of training: scipy's tests as oracles, the log, the history, the gates."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from nbtext import TextClassifier
from nbtext.drift import FARTHEST, Profile, Spread, chance_of_shares, shares_apart
from nbtext.errors import PathError, UsageError
from nbtext.model.drift_history import read_history
from nbtext.model.drift_log import DriftWatch
from tests.process import SERVICE_DESK, error_line, nbtext, succeeded

if TYPE_CHECKING:
    from pathlib import Path

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)
COUNTS = arrays(np.int64, st.just(4), elements=st.integers(0, 1000))


@given(VALUES, VALUES)
def test_a_distance_is_in_standard_deviations_of_training(run: list[float], training: list[float]) -> None:
    mine, theirs = Spread.of(np.array(run)), Spread.of(np.array(training))
    assert mine.mean == pytest.approx(np.mean(run), rel=1e-8, abs=1e-8)
    assert mine.deviation == pytest.approx(np.std(run), rel=1e-8, abs=1e-8)
    distance = mine.distance(theirs)
    assert distance is not None
    if theirs.deviation > 1e-3:
        assert distance == pytest.approx(abs(mine.mean - theirs.mean) / theirs.deviation)
    assert theirs.distance(theirs) == 0
    assert theirs.chance(theirs) == 1


def test_chance_is_that_of_welchs_test() -> None:
    random = np.random.default_rng(0)
    for shift in (0, 0.05, 0.2):
        run, training = random.normal(shift, 1.5, 4000), random.normal(0, 1, 3000)
        wanted = stats.ttest_ind(run, training, equal_var=False).pvalue
        assert Spread.of(run).chance(Spread.of(training)) == pytest.approx(wanted, rel=0.02)


def test_few_documents_alike_do_not_prove_that_anything_moved() -> None:
    training = Spread(1000, 0.0, 1.0)
    assert Spread(1, 1.0, 0.0).chance(training) > 0.3
    assert Spread(3, 9.0, 0.0).chance(training) < 1e-9


def test_where_there_is_nothing_to_compare() -> None:
    none, constant = Spread.of(np.array([math.nan, math.inf])), Spread(5, 2.0, 0.0)
    assert none == Spread(0, 0.0, 0.0)
    assert (none.distance(constant), constant.distance(none), none.chance(constant)) == (None, None, 1)
    assert Spread(1, 3.0, 0.0).distance(constant) == FARTHEST
    assert Spread(1, 3.0, 0.0).chance(constant) == 0


@given(COUNTS, COUNTS)
def test_answers_are_compared_by_total_variation_and_chi2(run: Any, training: Any) -> None:
    if not run.any() or not training.any():
        assert shares_apart(run, training) is None
        assert chance_of_shares(run, training) == 1
        return
    assert shares_apart(run, training) == pytest.approx(np.maximum(run / run.sum() - training / training.sum(), 0).sum())
    used = (run + training) > 0
    if used.sum() > 1:
        wanted = stats.chi2_contingency(np.stack((run, training))[:, used], correction=False).pvalue
        assert chance_of_shares(run, training) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


def test_a_profile_of_documents() -> None:
    tokens, unknown = np.array([4, 0, 10]), np.array([1, 0, 10])
    profile = Profile.of(tokens, unknown, np.array([-2.0, 0.0, -4.0]), np.array([0, -1, 2]), 3)
    assert profile.figures["unknown"].mean == pytest.approx((0.25 + 1) / 2)
    assert profile.figures["log_likelihood"] == Spread(2, -3.0, 1.0)
    assert profile.figures["length"].documents == 3
    assert profile.answers.tolist() == [1, 0, 1]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    succeeded(nbtext("train", SERVICE_DESK / "train", cwd=tmp_path))
    return tmp_path


def classified(desk: Path, *documents: object) -> None:
    succeeded(nbtext("classify", *map(str, documents), "--drift", "log", cwd=desk))


def test_every_run_adds_a_line_and_the_newest_can_gate(desk: Path) -> None:
    (desk / "strange.txt").write_text("zzyx qwrt plmk vbnm hjkl " * 50)
    classified(desk, SERVICE_DESK / "test")
    classified(desk, "strange.txt")
    records = [json.loads(line) for line in (desk / "log").read_text().splitlines()]
    assert [record["documents"] for record in records] == [len(list((SERVICE_DESK / "test").glob("*/*"))), 1]
    assert records[1]["unknown"]["run"][1] == 1
    shown = succeeded(nbtext("drift", "log", cwd=desk)).text
    assert "unknown tokens" in shown
    assert "nothing moved" not in shown
    done = nbtext("drift", "log", "--fail-over", "unknown=1", cwd=desk)
    assert done.status == 6
    assert done.notes[0].startswith("nbtext: gate not met: the distance of unknown is ")
    classified(desk, SERVICE_DESK / "test")
    succeeded(nbtext("drift", "log", "--fail-over", "any=1", cwd=desk))
    runs = [json.loads(line) for line in succeeded(nbtext("drift", "log", "--output", "jsonl", cwd=desk)).text.splitlines()]
    assert [run["unknown"]["beyond_chance"] for run in runs] == [False, True, False]


def test_the_profile_is_in_the_model_file(desk: Path) -> None:
    model = TextClassifier.load(str(desk / "nbtext.joblib"))
    profile = model.learnt.profile
    assert profile is not None
    assert profile.figures["unknown"].documents == profile.answers.sum() == len(model.counts.sample.documents)


def test_lines_answered_at_once_are_noted_too(desk: Path) -> None:
    succeeded(nbtext("classify", "--lines", "--drift", "log", cwd=desk, stdin=b"the lamp is broken\nrubbish was not collected\n"))
    assert json.loads((desk / "log").read_text())["documents"] == 2


def test_what_is_no_log(tmp_path: Path, desk: Path) -> None:
    classified(desk, SERVICE_DESK / "test")
    good = (desk / "log").read_text()
    for wrong in ("x\n", "{}\n", good.replace('"counts"', '"count"'), "[]\n", good.replace('"unknown"', '"other"')):
        (desk / "wrong").write_text("\n" + wrong + wrong)
        assert error_line(nbtext("drift", "wrong", cwd=desk), 4) == "nbtext: wrong:2: not a line of classify --drift"
    (desk / "empty").write_text("\n")
    with pytest.raises(PathError, match="no run"):
        read_history(str(desk / "empty"))
    assert "cannot be read" in error_line(nbtext("drift", "none", cwd=desk), 4)
    (desk / "bytes").write_bytes(b"\xff\n")
    assert error_line(nbtext("drift", "bytes", cwd=desk), 4) == "nbtext: bytes:1: not a line of classify --drift"
    assert "cannot write" in nbtext("classify", SERVICE_DESK / "test", "--drift", tmp_path, cwd=desk).notes[-1]


def test_lines_that_cannot_be_read_are_named_and_the_others_are_read(desk: Path) -> None:
    classified(desk, SERVICE_DESK / "test")
    good = (desk / "log").read_bytes()
    bad = [good[:100] + good[:-1], b"\xff", b'{"documents": ' + b"9" * 5000 + b"}", *[b"x"] * 8, good[:100]]
    (desk / "log").write_bytes(good + b"\n".join(bad))  # without a line break at the end
    classified(desk, SERVICE_DESK / "test")
    found, unreadable = read_history(str(desk / "log"))
    assert (len(found), found[0][2:]) == (2, found[1][2:])
    assert [problem.where for problem in unreadable] == [f"{desk / 'log'}:{number}" for number in range(2, 14)]
    done = nbtext("drift", "log", "--fail-over", "any=100", "--output", "jsonl", cwd=desk)
    assert (done.status, len(done.text.splitlines()), len(done.notes)) == (1, 2, 11)
    assert done.notes[0] == "nbtext: log:2: not a line of classify --drift"
    assert done.notes[-1] == "nbtext: log: lines that could not be read besides: 2"
    assert nbtext("drift", "log", "--fail-over", "any=0.001", "-q", cwd=desk).status == 6


def test_a_disk_that_is_full_costs_one_line_and_says_so(desk: Path) -> None:
    classified(desk, SERVICE_DESK / "test")
    good = (desk / "log").read_bytes()
    done = nbtext("classify", SERVICE_DESK / "test", "--drift", "log", cwd=desk, limits={"FSIZE": len(good) + 100})
    assert (done.status, done.notes) == (4, ["nbtext: log: cannot write (file too large)"])
    assert (desk / "log").read_bytes() == good


@pytest.mark.parametrize("gate", ["accuracy=1", "unknown", "unknown=-1", "unknown=nan", "any=inf"])
def test_gates_that_are_none(desk: Path, gate: str) -> None:
    classified(desk, SERVICE_DESK / "test")
    assert "--fail-over" in error_line(nbtext("drift", "log", "--fail-over", gate, cwd=desk), 2)


def test_a_model_that_does_not_know_what_training_looked_like() -> None:
    model = TextClassifier(calibration="none").fit(["one text", "another"], ["a", "b"])
    with pytest.raises(UsageError, match="does not know what training looked like"):
        DriftWatch(model)


def test_a_left_out_document_that_no_class_makes_possible_has_no_answer() -> None:
    """Only "purrs barks" has a word that no other cat has and one that no dog has."""
    texts, labels = ["purrs barks", "purrs", "purrs", "barks", "barks growls"], ["cats"] * 3 + ["dogs"] * 2
    model = TextClassifier(estimate="ml", calibration="length").fit(texts, labels)
    assert model.learnt.profile is not None
    assert model.learnt.profile.answers.tolist() == [3, 1]
