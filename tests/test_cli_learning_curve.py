"""`nbtext learning-curve`: figures for fewer documents and a forecast for more.

Also tests `report/comparisons.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.process import SERVICE_DESK, corpus, in_json, succeed

if TYPE_CHECKING:
    from pathlib import Path

TRAIN = SERVICE_DESK / "train"


def words(n: int) -> str:
    """A table of documents of two topics, some of whose words tell which."""
    rows = [
        ("a", f"alpha{i % 7} both{i % 5} both{i % 3}")
        if i % 2
        else ("b", f"beta{i % 9} both{i % 4} both{i % 3}")
        for i in range(n)
    ]
    return "topic,body\n" + "".join(f"{topic},{body}\n" for topic, body in rows)


def test_learning_curve_has_points_and_a_forecast() -> None:
    said = in_json("learning-curve", TRAIN)
    assert (said["documents"], said["runs"]) == (222, 15)
    sizes = [point["documents"] for point in said["points"]]
    assert (len(sizes), sizes[0], sizes[-1]) == (8, 12, 177)
    for point in said["points"]:
        for name in ("accuracy", "macro_f1"):
            low, high = point[f"{name}_band"]
            assert 0 <= low < point[name] < high <= 1
    assert said["points"][-1]["accuracy"] > said["points"][0]["accuracy"] + 0.15
    assert set(said["forecast"]) == {"accuracy"}
    forecast = said["forecast"]["accuracy"]
    assert forecast["documents"] == 444
    assert (forecast["value"] is None) == (forecast["withheld"] is not None)


def test_table_has_the_same_metrics_and_a_forecast(tmp_path: Path) -> None:
    corpus(tmp_path, {"words.csv": words(200)})
    command = (
        "learning-curve",
        "words.csv",
        "--label-column",
        "topic",
        "--text-column",
        "body",
        "--folds",
        "4",
        "--repeats",
        "2",
    )
    said = in_json(*command)
    table = succeed(*command).text
    assert (said["runs"], said["points"][-1]["documents"]) == (8, 150)
    for point in said["points"]:
        assert f"{point['documents']:,}" in table
        assert (
            f"{point['accuracy']:.4f}   {point['accuracy_band'][0]:.4f} to {point['accuracy_band'][1]:.4f}"
            in table
        )
    forecast = said["forecast"]["accuracy"]
    low, high = forecast["interval"]
    assert low <= forecast["value"] <= high
    assert (
        f"Twice the documents, 400, would bring accuracy {forecast['value']:.4f} (95 % interval {low:.4f} to {high:.4f})"
        in table
    )
    more, as_many = (succeed(*command, "--more", n).text.splitlines() for n in ("50", "200"))
    assert as_many == table.splitlines()
    assert more[:-1] == as_many[:-1]
    assert more[-1].startswith("50 more documents like these, 250, would bring accuracy ")
    assert in_json(*command, "--more", "50")["forecast"]["accuracy"]["documents"] == 250
    assert not list(tmp_path.glob("*.joblib"))


def test_short_curve_has_no_forecast_and_a_reason() -> None:
    done = succeed("learning-curve", TRAIN, "--steps", "3", "--repeats", "1", "--folds", "2")
    assert (
        "No forecast of accuracy: a curve of fewer than 4 points is too short for a forecast."
        in done.text
    )
