"""The pages of `--to`: the numbers of the JSON, on strict HTML, whatever the labels are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext.evaluation.drift_log import DriftRun, MetricDrift
from nbtext.evaluation.trials import HeldOutPredictions
from nbtext.guarantees.class_proportions import ClassProportion, PrevalenceResult, _Prevalence
from nbtext.metrics.evaluation import Evaluation
from nbtext.metrics.intervals import wilson_interval
from nbtext.metrics.results import FoldMetrics, FoldSpread, FoldsResult
from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import ClassPosterior
from nbtext.report.comparisons import DRIFT_METRIC_TITLES
from nbtext.report.page.charts import DistancePoint, draw_distances, draw_dots
from nbtext.report.page.markup import HERE
from nbtext.report.page.result_pages import (
    build_cross_validation_page,
    build_drift_page,
    build_learning_curve_page,
    build_prevalence_page,
    build_trials_page,
)
from tests.process import SERVICE_DESK, at_terminal, fail, in_json, nbtext, succeed, write
from tests.report_example import HOSTILE, Page, example
from tests.test_report_page_charts import find_by_class, numbers, parse_svg

if TYPE_CHECKING:
    from pathlib import Path

TRAIN, TEST = SERVICE_DESK / "train", SERVICE_DESK / "test"


def page_of(*arguments: str | bytes | Path) -> Page:
    """The page that a command writes, which prints nothing."""
    done = nbtext(*arguments, "--to", "page.html")
    assert (done.status, done.out) == (0, b""), done
    with open("page.html", encoding="utf-8") as file:
        page = Page(file.read())
    page.assert_everything_has_a_name()
    page.assert_nothing_comes_from_elsewhere_or_runs()
    assert "nbtext" in page.text
    assert "--to page.html" in page.text
    return page


def sections_of(page: Page) -> list[str]:
    return [section["class"] for section in page.all("section")]


@pytest.mark.usefixtures("tmp_path")
def test_page_of_learning_curve_has_the_numbers_of_json() -> None:
    arguments = ("learning-curve", TRAIN, TEST, "--steps", "4", "--repeats", "1")
    page, result = page_of(*arguments), in_json(*arguments)
    assert sections_of(page) == ["learning", "numbers", "made"]
    for point in result["points"]:
        low, high = point["accuracy_band"]
        assert f"{point['accuracy']:.4f}{low:.4f} to {high:.4f}{point['macro_f1']:.4f}" in page.text
    [chart] = [svg for svg in page.all("svg") if svg["class"] == "chart curve"]
    assert chart["aria-label"].startswith("Learning curve: accuracy goes from")


@pytest.mark.usefixtures("tmp_path")
@pytest.mark.parametrize("metric", ["accuracy", "macro-f1", "log-loss"])
def test_page_of_tune_has_the_numbers_of_json_with_intervals(metric: str) -> None:
    arguments = (
        "tune",
        TRAIN,
        "--try",
        "smoothing=0.1,1",
        "--folds",
        "3",
        "--metric",
        metric,
        "-q",
    )
    page, result = page_of(*arguments), in_json(*arguments)
    assert sections_of(page) == ["choice", "stage-1", "made"]
    assert page.text.count("* chosen") == 1
    key = metric.replace("-", "_")
    for setting in result["settings"]:
        assert f"{setting[key]:.4f}" in page.text
        if key == "accuracy":
            low, high = wilson_interval(round(setting[key] * 222), 222)
            assert f"{low:.4f} to {high:.4f}" in page.text
    assert len([svg for svg in page.all("svg") if svg["class"] == "dots"]) == 3
    assert result["chosen"]["command"].split()[:2] == ["nbtext", "train"]


@pytest.mark.usefixtures("tmp_path")
def test_page_of_prevalence_has_the_numbers_of_json(service_desk_model: Path) -> None:
    rows = [
        {"text": file.read_text(encoding="utf-8"), "day": f"<i>{number % 3}</i>"}
        for number, file in enumerate(sorted(TEST.rglob("*.txt")))
    ]
    write("letters.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    arguments = ("prevalence", "letters.jsonl", "-m", service_desk_model, "--group-by", "day")
    page, result = page_of(*arguments), in_json(*arguments)
    assert sections_of(page) == ["proportions", "groups", "made"]
    for share in result["prevalence"].values():
        assert f"{share['proportion']:.3f} {share['low']:.3f} to {share['high']:.3f}" in page.text
        assert f"{share['counted']:.3f}" in page.text
    for day, group in result["groups"]["day"].items():
        assert f"{day} {group['documents']} documents" in page.text
        for share in group["prevalence"].values():
            assert f"{share['proportion']:.3f}" in page.text


@pytest.mark.usefixtures("tmp_path")
def test_page_of_drift_has_the_numbers_and_gates(service_desk_model: Path) -> None:
    for folder in (TEST, TEST / "waste-collection"):
        succeed("classify", folder, "-m", service_desk_model, "--drift", "drift.log")
    done = nbtext("drift", "drift.log", "--last", "2", "--to", "page.html")
    assert (done.status, done.out) == (0, b"")
    page = page_of("drift", "drift.log", "--last", "2", "--fail-over", "any=9")
    runs = succeed("drift", "drift.log", "--output", "jsonl").records
    pooled = succeed("drift", "drift.log", "--last", "2", "--output", "jsonl").records
    assert sections_of(page) == ["drift", "runs", "made"]
    for record in runs + pooled:
        for metric in DRIFT_METRIC_TITLES:
            assert f"{record[metric]['distance']:.2f}" in page.text
            assert f"documents: {record[metric]['distance']:.4f}" in page.text
    assert len([line for line in page.all("line") if line["class"] == "limit"]) == 4
    assert "Dashed lines are the limits" in page.text


@pytest.mark.usefixtures("tmp_path")
@pytest.mark.parametrize("division", [("--folds", "3", "--repeats", "2"), ("--leave-one-out",)])
def test_page_of_cross_validation_has_the_numbers_of_json(division: tuple[str, ...]) -> None:
    arguments: tuple[str | Path, ...] = ("cross-validate", TRAIN, *division)
    page, result = page_of(*arguments), in_json(*arguments)
    assert sections_of(page) == [
        "folds",
        "summary",
        "metrics",
        "intervals",
        "confusion",
        "calibration",
        "classes",
        "made",
    ]
    for name, (low, high) in result["intervals"].items():
        assert f"{result[name]:.4f}{low:.4f} to {high:.4f}" in page.text
    for fold in result["folds"].get("each", ()):
        assert f"{fold['accuracy']:.4f}{fold['macro_f1']:.4f}" in page.text
    for bin_ in result["reliability"]:
        if bin_["documents"]:
            assert f"{100 * bin_['confidence']:.1f}\u00a0%" in page.text
    assert "no calibration" not in page.text


def hostile_pages(text: str) -> list[str]:
    """All pages, with a text in each place that data can reach."""
    data = example((f"a{text}", f"b{text}"), text)
    assert data.learning_curve is not None
    share = ClassProportion(0.5, 0.4, 0.6, 0.45)
    proportions = _Prevalence(9, {f"a{text}": share, f"b{text}": share})
    drift = MetricDrift(0.1, 0.2, 0.5, 1e-9)
    run = DriftRun(text, text, 1, text, 9, dict.fromkeys(DRIFT_METRIC_TITLES, drift))
    fold = FoldMetrics(1, 1, 6, 3, 9, 0.5, 0.75, 0.5)
    spread = FoldSpread(0.75, 0.1)
    folds = FoldsResult("grouped", text, 0, 1, 1, spread, spread, (fold,))
    setting: dict[str, Any] = {
        "rank": 1, "setting": {"stop-words": text}, "chosen": True, "accuracy": 0.5, "macro_f1": 0.4,
        "log_loss": None, "p_value": None, "better": None, "documents": 9, "folds": 2, "command": text,
    }  # fmt: skip
    search = {
        "metric": "accuracy", "model": text, "documents": 9, "folds": 2, "seed": 0, "settings_in_all": 1,
        "corrected": None, "chosen": setting, "settings": [setting],
    }  # fmt: skip
    return [
        build_learning_curve_page(data.learning_curve, text),
        build_trials_page(search, [(0.4, 0.6)], text),
        build_trials_page(search, [None], text),
        build_prevalence_page(PrevalenceResult(proportions, {text: proportions}, 0), text, text),
        build_drift_page([run, run], run, 1, [("any", 1.0)], text),
        build_cross_validation_page(data.evaluation, folds, text),
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_labels_and_names_stay_text(text: str) -> None:
    for plain, hostile in zip(hostile_pages("harmless"), hostile_pages(text), strict=True):
        page = Page(hostile)
        assert page.shape == Page(plain).shape
        assert page.other == ["doctype html"]
        page.assert_everything_has_a_name()
        page.assert_nothing_comes_from_elsewhere_or_runs()


def test_style_loads_nothing() -> None:
    style = (HERE / "results.css").read_text(encoding="utf-8")
    assert "url(" not in style
    assert "@import" not in style
    assert "</" not in style


def test_dots_are_to_scale() -> None:
    picture = parse_svg(draw_dots([0.2, 0.8], 0.0, 2.0, (0.1, 1.0)))
    assert [numbers(line, "x1", "x2") for line in find_by_class(picture, "line", "dot")] == [
        [10, 10],
        [40, 40],
    ]
    [whisker] = find_by_class(picture, "line", "whisker")
    assert numbers(whisker, "x1", "x2") == [5, 50]


@pytest.mark.parametrize("distance", [0.0, 0.3, 1.0, 7.3, 1e6])
def test_distances_and_limits_are_within_the_plot(distance: float) -> None:
    points = [DistancePoint(distance, "a", "significant"), None, DistancePoint(0.1, "b")]
    picture = parse_svg(draw_distances(points, [0.5], "Distance of length over 3 runs."))
    circles = [numbers(circle, "cx", "cy") for circle in picture.iter("circle")]
    assert len(circles) == 2
    assert circles[0][0] < circles[1][0]
    assert (circles[0][1] < circles[1][1]) == (distance > 0.1)
    [limit] = find_by_class(picture, "line", "limit")
    levels = [numbers(line, "y1")[0] for line in find_by_class(picture, "line", "grid")]
    for y in (*(y for _, y in circles), numbers(limit, "y1")[0]):
        assert min(levels) <= y <= max(levels)
    assert 2 <= len(levels) <= 7


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "micro_f1", "log_loss"])
def test_interval_of_a_trial_contains_its_metric(metric: str) -> None:
    labels = ["a", "b", "c"]
    generator = np.random.default_rng(3)
    posterior = ClassPosterior(np.log(generator.dirichlet([1, 1, 1], 200)))
    evaluation = Evaluation(labels, label_proportions=np.full(3, 1 / 3))
    predicted = DocumentLabels(generator.integers(3, size=200), single_label_table(3))
    evaluation.add(
        [labels[number] for number in generator.integers(3, size=200)], posterior, predicted
    )
    predictions = HeldOutPredictions(np.arange(200), evaluation.documents, np.ones(200, np.bool_))
    value, interval = (
        predictions.compute_metrics(metric)[metric],
        predictions.compute_interval(metric),
    )
    assert value is not None
    assert interval is not None
    low, high = interval
    assert low < value < high
    assert high - low < 0.3
    expected = evaluation.result().intervals[metric]
    assert interval == pytest.approx(expected, abs=0.03)


@pytest.mark.usefixtures("pets")
def test_page_does_not_replace_an_input() -> None:
    write("table.tsv", "cats\tit purrs\ndogs\tit barks\n")
    write("drift.log", "")
    refusal = "would be read and overwritten; choose another --to"
    for line in (
        "learning-curve pets --to pets/cats/1",
        "learning-curve table.tsv --to table.tsv",
        "tune pets --to pets/cats/1",
        "tune table.tsv --model m --to m",
        "prevalence pets --to nbtext.joblib",
        "prevalence table.tsv --to table.tsv",
        "drift drift.log --to drift.log",
        "cross-validate pets --to pets/cats/1",
        "cross-validate pets --predictions p.jsonl --to p.jsonl",
    ):
        assert refusal in fail(2, line)
    assert "no such" in fail(4, "drift missing.log --to page.html")
    assert "the folder does not exist" in fail(4, "tune pets --to no/page.html")


@pytest.mark.usefixtures("tmp_path")
def test_learning_curve_has_bars_only_on_a_terminal() -> None:
    arguments = ("learning-curve", str(TRAIN), "--steps", "4", "--repeats", "1")
    shown = at_terminal(*arguments).err.decode()
    printed = succeed(*arguments).text
    assert "▁" not in printed
    assert "█" not in printed
    [bars] = [line for line in shown.splitlines() if line.startswith("accuracy on these")]
    assert bars.split()[-1] == "████"
    assert printed.splitlines()[-1].split()[:3] == shown.splitlines()[-1].split()[:3]
