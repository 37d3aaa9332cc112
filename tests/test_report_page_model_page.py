"""The page of `nbtext inspect --to`: regions drawn cell by cell, densities with the numbers of JSON, hostile names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.inspection.posteriors import make_growth
from nbtext.inspection.regions import N_CELLS, Regions, find_regions
from nbtext.model import TextClassifier
from nbtext.report.page.model_page import (
    DENSITY_PLOT,
    MARKERS,
    N_COLOURS,
    REGION_PLOT,
    _draw_regions,
    build_model_page,
    choose_linear_ticks,
)
from tests.process import fail, in_json, succeed, write
from tests.report_example import HOSTILE, Page
from tests.test_inspection_regions import LABELS, ROWS
from tests.test_report_page_charts import parse_svg
from tests.test_report_page_result_pages import page_of

if TYPE_CHECKING:
    from pathlib import Path
    from xml.etree import ElementTree as ET

    from numpy.typing import NDArray


def make_regions(cells: Any, labels: list[str], **fields: Any) -> Regions:
    values = {
        "classifier": "multinomial",
        "names": ("x", "y"),
        "bounds": np.array([[0.0, 4.0], [10.0, 20.0]]),
        "labels": labels,
        "cells": np.array(cells),
        "points": np.array([[1.0, 15.0]]),
        "point_labels": np.array([0]),
        "n_documents": 1,
    }
    return Regions(**{**values, **fields})


def paths_of(picture: ET.Element, kind: str) -> dict[str, str]:
    """The shapes of the paths of a kind by the other CSS class."""
    paths = {}
    for node in picture.iter("path"):
        first, _, colour = node.attrib["class"].partition(" ")
        if first == kind:
            paths[colour] = node.attrib["d"]
    return paths


def read_cells(path: str, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """The cells that a path of rectangles covers."""
    n_rows, n_columns = shape
    width, height = REGION_PLOT.width / n_columns, REGION_PLOT.height / n_rows
    cells = np.zeros(shape, np.bool_)
    pattern = r"M(\S+) ([^h]+)h([^v]+)v([^h]+)h(\S+?)z"
    assert re.sub(pattern, "", path) == ""
    for x, y, w, h, back in re.findall(pattern, path):
        assert float(w) == -float(back)
        assert float(h) == pytest.approx(height)
        column = round((float(x) - REGION_PLOT.left) / width)
        top = round((float(y) - REGION_PLOT.top) / height)
        cells[n_rows - 1 - top, column : column + round(float(w) / width)] = True
    return cells


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_areas_cover_the_cells_and_the_boundary_all_edges_between_labels(
    n_rows: int, n_columns: int, seed: int
) -> None:
    cells = np.random.default_rng(seed).integers(0, 3, (n_rows, n_columns))
    picture = parse_svg(_draw_regions(make_regions(cells, ["a", "b", "c"]), "regions"))
    areas = paths_of(picture, "area")
    for index in range(3):
        np.testing.assert_array_equal(
            read_cells(areas[f"k{index}"], (n_rows, n_columns)), cells == index
        )
    boundary = paths_of(picture, "boundary")[""]
    edges = [(kind, abs(float(size))) for kind, size in re.findall("([hv])([^M]+)", boundary)]
    horizontal = sum(size for kind, size in edges if kind == "h") * n_columns / REGION_PLOT.width
    vertical = sum(size for kind, size in edges if kind == "v") * n_rows / REGION_PLOT.height
    assert round(horizontal) == np.count_nonzero(cells[1:] != cells[:-1])
    assert round(vertical) == np.count_nonzero(cells[:, 1:] != cells[:, :-1])


def test_points_and_names_are_at_their_places() -> None:
    points = np.array([[1.0, 15.0], [3.0, 20.0]])
    regions = make_regions(
        [[0, 0], [0, 1]], ["left", "right"], points=points, point_labels=np.array([0, 1])
    )
    picture = parse_svg(_draw_regions(regions, "regions"))
    plot = REGION_PLOT
    assert paths_of(picture, "point") == {
        "k0": f"M{plot.left + plot.width / 4:g} {plot.top + plot.height / 2:g}{MARKERS[0]}",
        "k1": f"M{plot.left + plot.width * 3 / 4:g} {plot.top:g}{MARKERS[1]}",
    }
    names = [node for node in picture.iter("text") if node.attrib["class"] == "name"]
    assert [node.text for node in names] == ["left", "right"]
    x, y = (float(names[1].attrib[name]) for name in "xy")
    assert (x, y) == (plot.left + plot.width / 2, plot.top + plot.height / 2)


def test_cells_without_prediction_have_no_colour_and_colours_repeat() -> None:
    labels = [*(f"c{n}" for n in range(N_COLOURS + 1)), ""]
    regions = make_regions([[0, N_COLOURS, N_COLOURS + 1]], labels)
    page = Page(build_model_page({}, regions, "nbtext inspect"))
    assert "no prediction" in page.text
    picture = parse_svg(_draw_regions(regions, "regions"))
    areas = [node for node in picture.iter("path") if node.attrib["class"].startswith("area")]
    assert len(areas) == N_COLOURS + 1
    assert areas[0].attrib["class"] == areas[-1].attrib["class"] == "area k0"


@pytest.mark.parametrize("options", ["", "--classifier gaussian", "--classifier logistic"])
def test_page_of_regions_has_the_predictions_of_the_model(options: str, tmp_path: Path) -> None:
    rows = zip(LABELS, ROWS, strict=True)
    write("p.csv", "kind,x,y\n" + "".join(f"{k},{r['x']},{r['y']}\n" for k, r in rows))
    succeed("train p.csv --label-column kind --numeric x,y", *options.split())
    page = page_of("inspect", "--regions")
    assert page.all("script") == []
    regions = find_regions(TextClassifier.load("nbtext.joblib"))
    areas = {
        path["class"]: path["d"] for path in page.all("path") if path["class"].startswith("area")
    }
    for index in range(3):
        found = read_cells(areas[f"area k{index}"], (N_CELLS, N_CELLS))
        np.testing.assert_array_equal(found, regions.cells == index)
        assert f"{np.mean(regions.cells == index):.2%}" in page.text
    classifier = options.removeprefix("--classifier ") or "multinomial"
    assert f"Classifier: {classifier}" in page.text
    assert "60 training documents" in page.text


def test_page_of_a_term_has_the_numbers_of_json(pets: Path) -> None:
    succeed("train pets --smoothing 1")
    page = page_of("inspect", "--term", "dog", "--term", "the")
    [term] = in_json("inspect --term dog")["words"][0]["terms"]
    for label, details in term["classes"].items():
        (a, b), (prior_a, prior_b) = details["posterior"], details["prior"]
        row = f"posterior after {a + b - prior_a - prior_b:g}"
        assert row in page.text
        for number in (a, b, prior_a, prior_b, details["probability"]):
            assert f"{number:.6g}" in page.text
        low, high = details["interval"]
        assert f"{low:.3g} to {high:.3g}" in page.text
        assert f"{label}: {details['count']} of " in page.text
    bands = [part["points"] for part in page.all("polygon")]
    assert len(bands) == 2
    for band in bands:
        points = [tuple(map(float, point.split(","))) for point in band.split()]
        assert min(y for _, y in points) == pytest.approx(DENSITY_PLOT.top)
        assert points[0] == (DENSITY_PLOT.left, DENSITY_PLOT.bottom)


def test_names_of_classes_columns_and_terms_are_escaped() -> None:
    for name in HOSTILE:
        growth = make_growth(name, [1, 1], [3, 2])
        regions = make_regions([[0, 0]], [name], names=(name, "y"))
        page = Page(build_model_page({name: [growth]}, regions, "nbtext inspect"))
        page.assert_everything_has_a_name()
        page.assert_nothing_comes_from_elsewhere_or_runs()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("--to page.html", "--to needs --term or --regions"),
        ("--regions", "--regions needs --to"),
        ("--term dog --criteria --to page.html", "the page shows only --term and --regions"),
        ("--term dog --to page.html -o json", "only one of them can set the format"),
        ("--regions --to page.html", "a model of two numeric columns without text, not of text"),
        ("--term unheard --to page.html", "no --term has one"),
        ("--term dog --to nbtext.joblib", "--to"),
    ],
)
def test_impossible_pages_are_refused_in_one_line(options: str, why: str, pets: Path) -> None:
    succeed("train pets")
    assert why in fail(2, "inspect", *options.split())


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(3, 9))
def test_ticks_are_few_round_numbers_within_the_bounds(low: float, width: float, n: int) -> None:
    high = low + width
    ticks = choose_linear_ticks(low, high, n)
    assert 1 <= len(ticks) <= n
    assert min(ticks) >= low - 1e-9 * abs(low)
    assert max(ticks) <= high + 1e-9 * abs(high)
