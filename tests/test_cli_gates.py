"""`nbtext evaluate --fail-under` and its kin, as real processes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from nbtext.metrics.outcomes import METRICS
from tests.process import SERVICE_DESK, corpus, fail, nbtext, succeeded

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process import Result

TEST = SERVICE_DESK / "test"


def judged(model: Path, *arguments: str | Path) -> Result:
    return nbtext("evaluate", TEST, "-m", model, "--output", "json", *arguments)


IF_ASKED = {"mean_cost", "set_coverage", "set_size"}
"""Figures of --costs and of --coverage."""


@pytest.fixture(scope="module")
def figures(service_desk_model: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(succeeded(judged(service_desk_model)).out)
    return said


def test_every_figure_can_be_a_gate(figures: dict[str, Any]) -> None:
    plain = {name for name, value in figures.items() if isinstance(value, (int, float))}
    assert plain == METRICS.keys() - IF_ASKED
    assert plain & set(figures["intervals"]) == {name for name in plain if METRICS[name].has_interval}
    assert all(METRICS[name].least <= figures[name] <= METRICS[name].most for name in plain)


def test_gates_that_are_met_say_nothing(service_desk_model: Path, figures: dict[str, Any]) -> None:
    asked = [f"--fail-under={name}={figures[name]!r}" for name, metric in METRICS.items() if metric.more_is_better and name not in IF_ASKED]
    asked += [
        f"--fail-over={name}={figures[name]!r}" for name, metric in METRICS.items() if not metric.more_is_better and name not in IF_ASKED
    ]
    assert json.loads(succeeded(judged(service_desk_model, *asked)).out) == figures


def test_a_line_for_each_gate_that_is_not_met_and_all_is_printed(service_desk_model: Path, figures: dict[str, Any]) -> None:
    gates = ("--fail-under", "accuracy=0.99", "--fail-under", "macro_f1=0.1", "--fail-over", "log_loss=0.01", "--fail-under", "n=79")
    done = judged(service_desk_model, *gates)
    assert done.status == 6
    assert json.loads(done.out) == figures
    assert done.notes == [
        f"nbtext: gate not met: accuracy is {figures['accuracy']:.6g}, under 0.99",
        "nbtext: gate not met: n is 78, under 79",
        f"nbtext: gate not met: log_loss is {figures['log_loss']:.6g}, over 0.01",
    ]
    assert judged(service_desk_model, "-q", *gates).notes == done.notes


def test_the_end_of_the_interval_is_what_counts_if_wanted(service_desk_model: Path, figures: dict[str, Any]) -> None:
    low, high = figures["intervals"]["macro_f1"][0], figures["intervals"]["brier"][1]
    between = (f"--fail-under=macro_f1={(low + figures['macro_f1']) / 2}", f"--fail-over=brier={(high + figures['brier']) / 2}")
    assert judged(service_desk_model, *between).status == 0
    done = judged(service_desk_model, *between, "--fail-under-interval")
    assert done.status == 6
    assert [note.split(", ")[0] for note in done.notes] == [
        f"nbtext: gate not met: the lower end of the interval of macro_f1 is {low:.6g}",
        f"nbtext: gate not met: the upper end of the interval of brier is {high:.6g}",
    ]
    exact = (f"--fail-under=macro_f1={low!r}", f"--fail-over=brier={high!r}", "--fail-under-interval")
    assert judged(service_desk_model, *exact).status == 0


def test_what_is_infinite_or_not_known_never_passes(pets: Path) -> None:
    corpus(pets, {"test/birds/1": "a bird"})
    gates = ("--fail-over", "log_loss=1e9", "--fail-under", "macro_roc_auc=0", "--fail-over", "ece=1")
    done = nbtext("evaluate test -q", *gates)
    assert (done.status, len(done.notes)) == (6, 2)
    assert "gate not met: macro_roc_auc is not known" in done.notes[0]
    assert "gate not met: log_loss is infinite" in done.notes[1]
    assert nbtext("evaluate test -q", *gates, "--fail-under-interval").status == 2


def test_a_gate_not_met_outweighs_unreadable_documents(pets: Path) -> None:
    corpus(pets, {"test/cats/1": "a cat", "test/dogs/2": b"\0"})
    assert nbtext("evaluate test").status == 1
    assert nbtext("evaluate test --fail-under accuracy=0.5").status == 1
    done = nbtext("evaluate test --fail-under n=2")
    assert (done.status, len(done.notes)) == (6, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--fail-under accuracy", "--fail-under must be NAME=VALUE, not 'accuracy'; such as"),
        (
            "--fail-under acuracy=0.8",
            "--fail-under does not know the figure 'acuracy' (did you mean 'accuracy'?); known are n, accuracy, macro_precision",
        ),
        (
            "--fail-over ec=0.8",
            "--fail-over does not know the figure 'ec' (did you mean 'ece'?); known are log_loss, brier, ece, mean_cost, set_size",
        ),
        ("--fail-under log_loss=0.6", "--fail-under is not for log_loss, of which less is better; use --fail-over log_loss=0.6"),
        ("--fail-over macro_f1=0.6", "--fail-over is not for macro_f1, of which more is better; use --fail-under macro_f1=0.6"),
        ("--fail-under accuracy=85", "--fail-under accuracy must be a number from 0 to 1, not '85'"),
        ("--fail-under accuracy=high", "--fail-under accuracy must be a number from 0 to 1, not 'high'"),
        ("--fail-under accuracy=nan", "--fail-under accuracy must be a number from 0 to 1, not 'nan'"),
        ("--fail-under n=inf", "--fail-under n must be a number from 0, not 'inf'"),
        ("--fail-under matthews=-2", "--fail-under matthews must be a number from -1 to 1, not '-2'"),
        ("--fail-over log_loss=", "--fail-over log_loss must be a number from 0, not ''"),
        ("--fail-over mean_cost=inf", "--fail-over mean_cost must be a number, not 'inf'"),
        ("--fail-over mean_cost=1", "there is no mean_cost without costs; give --costs FILE"),
        ("--fail-under top_2_accuracy=0.5", "there is no top_2_accuracy with 2 classes"),
        ("--fail-under n=5 --fail-under-interval", "there is no interval for n; leave out --fail-under-interval"),
        ("--fail-under-interval", "--fail-under-interval needs --fail-under or --fail-over"),
    ],
)
def test_a_gate_that_cannot_be_is_told_in_one_line(arguments: str, message: str, pets: Path) -> None:
    assert message in fail(2, f"evaluate pets {arguments}")
