"""Charts and markup: drawn to scale, with names for those who do not see them, whatever the text.

Also tests `report/page/markup.py`.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.evaluation.learning_curves import CurvePoint, Forecast
from nbtext.guarantees.precision import RiskPoint
from nbtext.metrics.results import ReliabilityBin
from nbtext.report.output_formats import shorten_middle
from nbtext.report.page.charts import (
    CURVE_PLOT,
    _choose_ticks,
    _get_shade_class,
    draw_bar,
    draw_confusion_table,
    draw_learning_curve,
    draw_legend,
    draw_reliability_diagram,
    draw_risk_curve,
    make_log_scale,
    select_classes,
    sort_by_confusion,
)
from nbtext.report.page.markup import Markup, _escape, format_html, insert_word_breaks
from tests.report_example import HOSTILE, Page, example, matrix
from tests.test_report_output_formats_records import anything


def parse_svg(markup: Markup) -> ET.Element:
    return ET.fromstring(markup)


def numbers(node: ET.Element, *names: str) -> list[float]:
    return [float(node.attrib[name]) for name in names]


def find_by_class(picture: ET.Element, tag: str, kind: str) -> list[ET.Element]:
    return [node for node in picture.iter(tag) if node.get("class") == kind]


@given(st.floats(0, 1))
def test_bar_width_is_its_value(value: float) -> None:
    rects = parse_svg(draw_bar(value, "")).findall("rect")
    assert [numbers(rect, "width")[0] for rect in rects] == [
        100,
        pytest.approx(100 * value, abs=0.005),
    ]


def test_bar_shows_its_interval_and_title() -> None:
    picture = parse_svg(draw_bar(0.5, 'F1 "of" <a>', (0.25, 0.8)))
    assert [numbers(line, "x1", "x2") for line in picture.findall("line")] == [[25, 80]]
    assert picture.findtext("title") == 'F1 "of" <a>'
    assert parse_svg(draw_bar(0.5, "")).findall("line") == []


def test_reliability_diagram_has_a_point_per_bin() -> None:
    bins = (
        ReliabilityBin(0, 0, 30, 0.25, 0.5, (0.4, 0.6)),
        ReliabilityBin(0, 0, 0, None, None, None),
        ReliabilityBin(0, 0, 120, 1.0, 0.75, (0.7, 0.8)),
        ReliabilityBin(0, 0, 3, 0.0, 0.0, (0.0, 0.5)),
    )
    picture = parse_svg(draw_reliability_diagram(bins, "after", "a name"))
    assert picture.attrib["aria-label"] == "a name"
    # the square lies from 46 to 326 and, upside down, from 292 to 12; the columns of 120 documents are 44 high and stand on 354
    assert [numbers(circle, "cx", "cy") for circle in picture.iter("circle")] == [
        [116, 152],
        [326, 82],
        [46, 292],
    ]
    assert [
        numbers(line, "x1", "y1", "y2") for line in find_by_class(picture, "line", "whisker")
    ] == [
        [116, 180, 124],
        [326, 96, 68],
        [46, 292, 152],
    ]
    assert [numbers(rect, "y", "height") for rect in find_by_class(picture, "rect", "count")] == [
        [343, 11],
        [310, 44],
        [352.9, 1.1],
    ]
    path = picture.find("polyline[@class='path']")
    assert path is not None
    assert path.attrib["points"] == "116.00,152.00 326.00,82.00 46.00,292.00"
    assert [group.get("class") for group in picture.findall("g")] == [None, None, "few"]
    words = picture.findtext("g/title")
    assert (
        words
        == "30 predictions of mean probability 25.0\u00a0%: 50.0\u00a0% right, 95\u00a0% interval 40.0\u00a0% to 60.0\u00a0%"
    )


def test_empty_reliability_diagram_has_no_points() -> None:
    assert list(parse_svg(draw_reliability_diagram((), "after", "")).iter("circle")) == []


def point(
    documents: int, accuracy: float, low: float, high: float, macro_f1: float, training: float = 0.6
) -> CurvePoint:
    return CurvePoint(documents, accuracy, (low, high), macro_f1, (0.0, 1.0), training)


def test_learning_curve_is_drawn_to_scale() -> None:
    points = [
        point(100, 0.5, 0.4, 0.6, 0.45, 0.8),
        point(1000, 0.7, 0.65, 0.75, 0.6, 0.79),
        point(10_000, 0.8, 0.78, 0.8, 0.78, 0.78),
    ]
    picture = parse_svg(draw_learning_curve(points, "a name"))
    # from 40 % to 80 % in 240 steps that end at 12, from 100 to 10,000 in 560 that begin at 46
    assert [numbers(circle, "cx", "cy") for circle in picture.iter("circle")] == [
        [46, 192],
        [326, 72],
        [606, 12],
    ]
    assert (
        find_by_class(picture, "polyline", "second")[0].attrib["points"]
        == "46.00,222.00 326.00,132.00 606.00,24.00"
    )
    assert (
        find_by_class(picture, "polyline", "third")[0].attrib["points"]
        == "46.00,12.00 326.00,18.00 606.00,24.00"
    )
    band = find_by_class(picture, "polygon", "band")[0].attrib["points"].split()
    assert band == [
        "46.00,252.00",
        "326.00,102.00",
        "606.00,24.00",
        "606.00,12.00",
        "326.00,42.00",
        "46.00,132.00",
    ]
    assert [node.text for node in find_by_class(picture, "text", "y")] == [
        "40\u00a0%",
        "50\u00a0%",
        "60\u00a0%",
        "70\u00a0%",
        "80\u00a0%",
    ]
    assert [node.text for node in find_by_class(picture, "text", "x")] == ["100", "1,000", "10,000"]
    assert [node.text for node in find_by_class(picture, "text", "x minor")] == [
        "200",
        "500",
        "2,000",
        "5,000",
    ]
    assert find_by_class(picture, "line", "ahead") == []


def test_forecast_is_drawn_at_the_end_of_the_curve() -> None:
    points = [point(100, 0.5, 0.5, 0.5, 0.5), point(1000, 0.6, 0.6, 0.6, 0.5)]
    picture = parse_svg(draw_learning_curve(points, "", Forecast(10_000, 0.8, (0.7, 0.9), 0.6)))
    assert [
        numbers(circle, "cx", "cy") for circle in find_by_class(picture, "circle", "first")
    ] == [
        [46, 252],
        [326, 192],
    ]
    assert [numbers(circle, "cx", "cy") for circle in find_by_class(picture, "circle", "ring")] == [
        [606, 72]
    ]
    assert [
        numbers(line, "x1", "y1", "x2", "y2") for line in find_by_class(picture, "line", "ahead")
    ] == [[326, 192, 606, 72]]
    assert [
        numbers(line, "x1", "y1", "y2") for line in find_by_class(picture, "line", "whisker")
    ] == [[606, 132, 12]]
    without = draw_learning_curve(points, "", Forecast(10_000, withheld="too short"))
    assert without == draw_learning_curve(points, "")


def test_learning_curve_of_one_point_is_drawn() -> None:
    picture = parse_svg(draw_learning_curve([point(7, 0.5, 0.5, 0.5, 0.5)], ""))
    assert [numbers(circle, "cx", "cy") for circle in picture.iter("circle")] == [[326, 252]]
    assert [node.text for node in find_by_class(picture, "text", "x")] == ["7"]


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_ticks_are_within_their_bounds(one: int, other: int) -> None:
    low, high = sorted((one, other))
    found = _choose_ticks(low, high)
    assert 1 <= len(found) <= 9
    assert found == sorted(set(found))
    assert low <= found[0] <= found[-1] <= high
    assert make_log_scale(low, high)(high) == (1 if low < high else 0.5)


def test_confusion_table_is_a_heat_map_with_numbers() -> None:
    result = example().evaluation
    page = Page(draw_confusion_table(result.per_class, result.confusion))
    cells = [attributes for attributes in page.all("td") if attributes.get("class") != "corner"]
    assert [cell.get("class") for cell in cells] == [
        "h3",
        "m5",
        None,
        None,
        "h3",
        "m5",
        "m5",
        None,
        "h3",
    ]
    assert cells[1]["title"] == "cats taken for dogs: 20 of 100 documents, 20.0\u00a0%"
    assert cells[0]["title"] == "cats, right: 80 of 100 documents, 80.0\u00a0%"
    assert [head["scope"] for head in page.all("th")] == ["col", "col", "col", "row", "row", "row"]
    assert [text for element, text in page.texts if element == "td"] == [
        "80",
        "20",
        "80",
        "20",
        "20",
        "80",
    ]


def test_heat_map_of_many_classes_has_numbers_only_in_titles() -> None:
    labels = [f"class-{number:02}" for number in range(40)]
    page = Page(draw_confusion_table(example(labels).evaluation.per_class, matrix(labels)))
    assert page.all("table") == [{"class": "heat small"}]
    assert [text for element, text in page.texts if element == "td"] == []
    assert "class-07 taken for class-08: 20 of 100 documents, 20.0\u00a0%" in {
        cell.get("title") for cell in page.all("td")
    }


def test_every_shade_is_in_the_legend() -> None:
    shades = {
        _get_shade_class(share / 1000, is_correct=hit)
        for share in range(1, 1001)
        for hit in (False, True)
    }
    assert {f"swatch {name}" for name in shades} == {
        span["class"] for span in Page(draw_legend()).all("span")
    } - {"name"}


@given(anything)
def test_escaped_html_is_text_and_escaping_is_idempotent(text: str) -> None:
    page = Page(format_html('<p title="{}">{}</p>', text, text))
    assert [name for name, _ in page.elements] == ["p"]
    assert not page.other
    shown = page.text
    assert page.elements[0][1]["title"] == shown
    assert not any(
        ord(character) < 32
        or 0x7F <= ord(character) < 0xA0
        or character in "\u061c\u200f\u202e\u2066"
        for character in shown
    )
    shown.encode()
    assert _escape(_escape(text)) == _escape(text)


def test_confused_pairs_are_adjacent_and_bars_start_with_the_worst() -> None:
    labels = [f"class {number}" for number in range(6)]
    per_class = example(labels).evaluation.per_class
    shown = sort_by_confusion(
        per_class, [("class 4", "class 1", 7), ("class 5", "class 4", 3), ("gone", "class 1", 2)]
    )
    assert list(shown) == ["class 4", "class 1", "class 5", "class 0", "class 2", "class 3"]
    chosen = select_classes(per_class, 4)
    assert [found.f1 for found in chosen.values()] == sorted(found.f1 for found in chosen.values())
    assert len(chosen) == 4


@given(anything, st.integers(3, 40))
def test_shortened_text_is_within_the_limit(text: str, most: int) -> None:
    short = shorten_middle(text, most)
    assert len(short) <= most
    assert (short == text) == (
        len(text) <= most or short.count("…") == text.count("…") == len(text)
    )


@pytest.mark.parametrize("text", [*HOSTILE, "a.b/c-d_e:f", "...", ""])
def test_word_breaks_in_names_change_no_letter(text: str) -> None:
    page = Page(f"<p>{insert_word_breaks(text)}</p>")
    assert page.text == Page(f"<p>{_escape(text)}</p>").text
    assert {name for name, _ in page.elements} <= {"p", "wbr"}


def test_risk_curve_falls_from_the_most_probable_predictions_to_all() -> None:
    chart = parse_svg(
        draw_risk_curve(
            (RiskPoint(0.5, 0.9, 0.95, (0.9, 0.98)), RiskPoint(1.0, 0.4, 0.8, (0.75, 0.85))),
            "a curve",
        )
    )
    (x1, y1), (x2, y2) = (numbers(dot, "cx", "cy") for dot in chart.iter("circle"))
    assert (x1, x2) == (CURVE_PLOT.get_x(0.5), CURVE_PLOT.get_x(1))
    assert (y2 - CURVE_PLOT.top) == pytest.approx(4 * (y1 - CURVE_PLOT.top))  # 20 % wrong, and 5 %
    assert (
        next(chart.iter("title")).text
        == "50.0\u00a0% predicted, from a probability of 0.900: precision 95.0\u00a0%"
    )
    assert "70\u00a0%" in [text.text for text in chart.iter("text")]
