"""`nbtext evaluate`: figures, errors, costs, parts of the documents, and gates.

Also tests `cli/gates.py`, `report/predictions.py`.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.classifiers.base import LinearClassifier
from nbtext.cli.gates import GateOptions, parse_gates
from nbtext.metrics.outcomes import METRICS
from nbtext.metrics.ranking import LABEL_RANKING_METRICS
from tests.process import (
    SERVICE_DESK,
    content,
    corpus,
    fail,
    in_json,
    json_lines,
    nbtext,
    succeed,
    succeeded,
    write,
)
from tests.report_example import evaluated, matrix

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process import Result


def test_labels_unknown_to_the_model_count_as_mistakes_and_are_named(pets: Path) -> None:
    corpus(pets, {"test/cats/1": "a cat", **{f"test/bird{n:02}/1": "a bird" for n in range(12)}})
    done = nbtext("evaluate test --output json")
    names = ", ".join(f"bird{n:02}" for n in range(10))
    assert (done.status, done.notes) == (
        0,
        [
            f"nbtext: warning: labels that the model does not have: {names} and others (12 documents, counted as mistakes)"
        ],
    )
    said = json.loads(done.out)
    assert said["accuracy"] == pytest.approx(1 / 13)
    assert said["unknown_documents"] == {f"bird{n:02}": 1 for n in range(12)}
    assert (said["log_loss"], said["known"]["n"], said["known"]["accuracy"]) == (None, 1, 1)
    table = nbtext("evaluate test -q").text
    assert f"infinite  ({said['known']['log_loss']:.4f} for 1 document of known classes)" in table
    assert nbtext("evaluate test -q").notes == []


def test_impossible_documents_are_counted_and_metrics_stay_valid(pets: Path) -> None:
    succeed("train pets --estimate ml")
    corpus(pets, {"test/cats/1": "cats bark", "test/dogs/1": "purrs"})
    said = in_json("evaluate test")
    assert (said["n"], said["log_loss"]) == (2, None)
    assert b"infinite" in succeed("evaluate test").out


TEST = SERVICE_DESK / "test"


def evaluate_json(model: Path, *arguments: str | Path) -> dict[str, Any]:
    said: dict[str, Any] = in_json("evaluate", TEST, "-m", model, *arguments)
    return said


def answers(model: Path, *arguments: str | Path) -> list[tuple[str, str, str, str]]:
    """Path, true class, answer and what stands in the third column, as classify has them."""
    rows = succeed("classify", TEST, "-m", model, *arguments).rows
    return [(row[0], row[0].split("/")[-2], row[1], row[2]) for row in rows]


def test_errors_file_lists_wrong_predictions_most_probable_first(
    service_desk_model: Path, tmp_path: Path
) -> None:
    file = tmp_path / "errors.jsonl"
    file.write_text("of last week\n")
    said = evaluate_json(service_desk_model, "--errors", file)
    assert said == evaluate_json(service_desk_model)
    errors = json_lines(file.read_bytes())
    wrong = [
        (name, truth, answer, float(p))
        for name, truth, answer, p in answers(service_desk_model)
        if truth != answer
    ]
    assert errors
    assert sorted(
        (of["id"], of["truth"], of["answer"], of["probability"]) for of in errors
    ) == sorted(wrong)
    assert [of["probability"] for of in errors] == sorted(
        (of["probability"] for of in errors), reverse=True
    )
    assert list(tmp_path.iterdir()) == [file]


def test_terms_of_an_error_have_the_weights_of_the_model(
    service_desk_model: Path, tmp_path: Path
) -> None:
    evaluate_json(service_desk_model, "--errors", tmp_path / "errors.jsonl")
    model = TextClassifier.load(str(service_desk_model))
    for line in (tmp_path / "errors.jsonl").read_text().splitlines():
        error = json.loads(line)
        truth, answer = (model.classes.index(error[side]) for side in ("truth", "answer"))
        assert 0 < len(error["terms"]) <= 10
        gains = [of["nats"] for of in error["terms"]]
        assert gains == sorted(gains, reverse=True)
        for of in error["terms"]:
            linear = model.fitted.classifier
            assert isinstance(linear, LinearClassifier)
            [weights] = linear.compute_weights(
                np.array(model.fitted.statistics.vocabulary.find([of["term"]]))
            )
            times = of["nats"] / (weights[answer] - weights[truth])
            assert times == pytest.approx(round(times), rel=1e-4)
            assert round(times) >= 1


def test_errors_file_includes_unknown_labels_and_unusual_names(pets: Path) -> None:
    corpus(pets, {"test/birds/\udcff\n1": "a cat purrs", "test/dogs/1": "the dog barks"})
    assert nbtext("evaluate test -q --errors errors").status == 0
    [line] = content("errors").splitlines()
    error = json.loads(line)
    assert (error["id"], error["truth"], error["answer"], error["against"]) == (
        "test/birds/\udcff\n1",
        "birds",
        "cats",
        "dogs",
    )
    assert error["terms"][0]["term"] in {"cat", "purr"}


def test_errors_file_without_mistakes_is_empty(pets: Path) -> None:
    corpus(pets, {"test/cats/1": "a cat", "test/dogs/1": "a dog"})
    succeed("evaluate test --errors errors")
    assert content("errors") == b""


def test_evaluate_abstains_where_classify_abstains(service_desk_model: Path) -> None:
    said = evaluate_json(service_desk_model, "--min-probability", "0.7")
    given = answers(service_desk_model, "--min-probability", "0.7")
    answered = [(truth, answer) for _, truth, answer, _ in given if answer]
    assert 0 < len(answered) < 78
    assert {
        (truth, answer): n for truth, row in said["confusion"].items() for answer, n in row.items()
    } == Counter((truth, answer) for _, truth, answer, _ in given)
    hits = sum(truth == answer for truth, answer in answered)
    assert (said["answered"], said["answered_accuracy"]) == (
        pytest.approx(len(answered) / 78),
        pytest.approx(hits / len(answered)),
    )
    assert said["accuracy"] == pytest.approx(hits / 78)
    assert said["log_loss"] == evaluate_json(service_desk_model)["log_loss"]
    table = succeed("evaluate", TEST, "-m", service_desk_model, "--min-probability", "0.7").text
    assert f"{said['answered_accuracy']:.4f}" in table
    assert "(no answer)" in table


def test_costs_change_predictions_and_are_summed(service_desk_model: Path, tmp_path: Path) -> None:
    file = tmp_path / "costs.toml"
    file.write_text(
        "[waste-collection]\nparks-and-trees = 9\nabstain = 0.3\n[parks-and-trees]\nabstain = 0.2\n"
    )
    said = evaluate_json(service_desk_model, "--costs", file, "--fail-over", "mean_cost=1")
    given = answers(service_desk_model, "--costs", file)
    price = {
        ("waste-collection", "parks-and-trees"): 9,
        ("waste-collection", ""): 0.3,
        ("parks-and-trees", ""): 0.2,
    }
    paid = [price.get((truth, answer), float(truth != answer)) for _, truth, answer, _ in given]
    assert said["mean_cost"] == pytest.approx(sum(paid) / 78)
    low, high = said["intervals"]["mean_cost"]
    assert low < said["mean_cost"] < high
    assert (
        said["answered"] == pytest.approx(sum(bool(answer) for _, _, answer, _ in given) / 78) != 1
    )
    assert "mean cost" in succeed("evaluate", TEST, "-m", service_desk_model, "--costs", file).text


@pytest.fixture
def table(pets: Path) -> Path:
    rows = [
        "topic,body,source,year",
        "cats,a cat purrs,mail,2024",
        "cats,the dog barks,web,2024",
        "dogs,dogs bark,web,2025",
        "dogs,bark,web,",
    ]
    write("test.csv", "\n".join(rows) + "\n")
    return pets


def test_by_evaluates_parts_of_the_documents_separately(table: Path) -> None:
    columns = (
        "--label-column",
        "topic",
        "--text-column",
        "body",
        "--group-by",
        "source",
        "--group-by",
        "year",
    )
    said = in_json("evaluate test.csv", *columns)
    assert {
        column: {value: of["n"] for value, of in parts.items()}
        for column, parts in said["slices"].items()
    } == {
        "source": {"mail": 1, "web": 3},
        "year": {"": 1, "2024": 2, "2025": 1},
    }
    assert said["slices"]["source"]["mail"]["accuracy"] == 1
    assert said["slices"]["source"]["web"]["accuracy"] == pytest.approx(2 / 3)
    assert set(said["slices"]["source"]["web"]) == {"n", "accuracy", "interval", "macro_f1", "ece"}
    text = succeed("evaluate test.csv", *columns).text
    assert "by source" in text
    assert "by year" in text
    assert "slices" not in in_json("evaluate test.csv", *columns[:4])


def test_by_column_may_have_the_name_of_a_metric(pets: Path) -> None:
    write("test.csv", "label,text,accuracy\ncats,it purrs,high\ndogs,it barks,low\n")
    lines = (
        succeed("evaluate test.csv --group-by accuracy")
        .text.partition("by accuracy")[2]
        .splitlines()
    )
    assert [line.split()[0] for line in lines if line.strip()] == [
        "accuracy",
        "─" * len(lines[3].strip()),
        "high",
        "low",
    ]


def test_by_column_that_does_not_exist_is_refused(table: Path) -> None:
    columns = ("--label-column", "topic", "--text-column", "body", "--group-by", "nothere")
    assert "no column is called 'nothere'" in fail(4, "evaluate test.csv", *columns)


def test_threshold_of_two_classes_matches_the_predictions(tmp_path: Path) -> None:
    letters = tmp_path / "letters.tsv"
    letters.write_text(
        "pets\tthe cat sleeps\npets\tcats bark\ntown\tthe cat of the mayor\ntown\tthe bin is full\ntown\ta bin\n"
    )
    write("costs.toml", "[town]\npets = 10\n")
    succeed("train", letters, "--calibration", "none")
    asked = ("evaluate", str(letters), "--costs", "costs.toml")
    assert (
        "p(d | pets) / p(d | town) > 15, so if p(pets | d) > 0.9091" in nbtext(*asked).out.decode()
    )
    found = json.loads(nbtext(*asked, "--output", "json").out)
    assert found["threshold"] == {
        "answer": "pets",
        "against": "town",
        "likelihood_ratio": 15,
        "probability": pytest.approx(10 / 11),
    }
    assert "threshold" not in json.loads(nbtext("evaluate", letters, "--output", "json").out)


def gated(model: Path, *arguments: str | Path) -> Result:
    return nbtext("evaluate", TEST, "-m", model, "--output", "json", *arguments)


IF_ASKED = {
    "mean_cost",
    "set_coverage",
    "set_size",
    "subset_accuracy",
    "document_f1",
    "labels_per_document",
    "labels_per_answer",
    *LABEL_RANKING_METRICS,
}
"""Figures of --costs, of --coverage, and of several labels."""


@pytest.fixture(scope="module")
def figures(service_desk_model: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(succeeded(gated(service_desk_model)).out)
    return said


def test_every_metric_can_be_a_gate(figures: dict[str, Any]) -> None:
    plain = {name for name, value in figures.items() if isinstance(value, (int, float))}
    assert plain == METRICS.keys() - IF_ASKED
    assert plain & set(figures["intervals"]) == {
        name for name in plain if METRICS[name].has_interval
    }
    assert all(METRICS[name].minimum <= figures[name] <= METRICS[name].maximum for name in plain)


def test_gates_that_pass_print_nothing(service_desk_model: Path, figures: dict[str, Any]) -> None:
    asked = [
        f"--fail-under={name}={figures[name]!r}"
        for name, metric in METRICS.items()
        if metric.higher_is_better and name not in IF_ASKED
    ]
    asked += [
        f"--fail-over={name}={figures[name]!r}"
        for name, metric in METRICS.items()
        if not metric.higher_is_better and name not in IF_ASKED
    ]
    assert json.loads(succeeded(gated(service_desk_model, *asked)).out) == figures


def test_each_failed_gate_prints_one_line_and_metrics_are_still_printed(
    service_desk_model: Path, figures: dict[str, Any]
) -> None:
    gates = (
        "--fail-under",
        "accuracy=0.99",
        "--fail-under",
        "macro_f1=0.1",
        "--fail-over",
        "log_loss=0.01",
        "--fail-under",
        "n=79",
    )
    done = gated(service_desk_model, *gates)
    assert done.status == 6
    assert json.loads(done.out) == figures
    assert done.notes == [
        f"nbtext: gate not met: accuracy is {figures['accuracy']:.6g}, under 0.99",
        "nbtext: gate not met: n is 78, under 79",
        f"nbtext: gate not met: log_loss is {figures['log_loss']:.6g}, over 0.01",
    ]
    assert gated(service_desk_model, "-q", *gates).notes == done.notes


def test_fail_under_interval_compares_the_end_of_the_interval(
    service_desk_model: Path, figures: dict[str, Any]
) -> None:
    low, high = figures["intervals"]["macro_f1"][0], figures["intervals"]["brier"][1]
    between = (
        f"--fail-under=macro_f1={(low + figures['macro_f1']) / 2}",
        f"--fail-over=brier={(high + figures['brier']) / 2}",
    )
    assert gated(service_desk_model, *between).status == 0
    done = gated(service_desk_model, *between, "--fail-under-interval")
    assert done.status == 6
    assert [note.split(", ")[0] for note in done.notes] == [
        f"nbtext: gate not met: the lower end of the interval of macro_f1 is {low:.6g}",
        f"nbtext: gate not met: the upper end of the interval of brier is {high:.6g}",
    ]
    exact = (
        f"--fail-under=macro_f1={low!r}",
        f"--fail-over=brier={high!r}",
        "--fail-under-interval",
    )
    assert gated(service_desk_model, *exact).status == 0


def test_gate_on_a_missing_interval_fails_and_says_not_known() -> None:
    labels = ("cats", "dogs")
    result = evaluated(labels, matrix(labels))
    gate = parse_gates(
        GateOptions(fail_over=("brier=2",), fail_under_interval=True), has_costs=False
    )[0]
    assert gate.find_failure(replace(result, intervals={"brier": (0.4, 0.6)})) is None
    assert (
        gate.find_failure(replace(result, intervals={}))
        == "the interval of brier is unknown, so it is not at most 2"
    )


def test_infinite_or_missing_metrics_never_pass(pets: Path) -> None:
    corpus(pets, {"test/birds/1": "a bird"})
    gates = (
        "--fail-over",
        "log_loss=1e9",
        "--fail-under",
        "macro_roc_auc=0",
        "--fail-over",
        "ece=1",
    )
    done = nbtext("evaluate test -q", *gates)
    assert (done.status, len(done.notes)) == (6, 2)
    assert "gate not met: macro_roc_auc is not known" in done.notes[0]
    assert "gate not met: log_loss is infinite" in done.notes[1]
    assert nbtext("evaluate test -q", *gates, "--fail-under-interval").status == 2


def test_failed_gate_takes_precedence_over_unreadable_documents(pets: Path) -> None:
    corpus(pets, {"test/cats/1": "a cat", "test/dogs/2": b"\0"})
    assert nbtext("evaluate test").status == 1
    assert nbtext("evaluate test --fail-under accuracy=0.5").status == 1
    done = nbtext("evaluate test --fail-under n=2")
    assert (done.status, len(done.notes)) == (6, 2)
