"""The page of `nbtext report`: its sections, its words, and that any text stays text.

Also tests `report/page/markup.py`, `report/page/sections.py` and `report/models.py`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from nbtext import TextClassifier
from nbtext.evaluation.leakage import LeakResult, SampledLeakResult, _UnleakedResult
from nbtext.evaluation.learning_curves import Forecast, _Forecasts
from nbtext.report.models import build_provenance
from nbtext.report.page.markup import HERE
from nbtext.report.page.sections import build_report_page, summarize_report
from tests.profiles import examples
from tests.report_example import HOSTILE, Page, evaluated, example, matrix, without_optional_parts
from tests.test_report_output_formats_records import anything

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nbtext.evaluation.report_data import ReportData

SECTIONS = [
    "summary",
    "metrics",
    "confusion",
    "calibration",
    "classes",
    "mistakes",
    "terms",
    "learning",
    "made",
]


def words(data: ReportData) -> str:
    return Page("".join(f"<p>{paragraph}</p>" for paragraph in summarize_report(data))).text


def test_sections_are_in_order_and_in_the_contents() -> None:
    page = Page(build_report_page(example()))
    assert [section["class"] for section in page.all("section")] == SECTIONS
    assert [link["href"] for link in page.all("a")] == [f"#{name}" for name in SECTIONS]
    assert [heading["id"] for heading in page.all("h2")] == SECTIONS
    assert len(page.all("h1")) == len(page.all("main")) == 1


def test_page_with_little_data_omits_missing_sections() -> None:
    page = Page(build_report_page(without_optional_parts(example(("only",)))))
    assert [section["class"] for section in page.all("section")] == [
        name for name in SECTIONS if name != "learning"
    ]
    assert "It made no mistake on these documents." in page.text
    assert "no calibration" in page.text
    assert len([svg for svg in page.all("svg") if svg["class"].startswith("chart")]) == 1


def test_every_element_has_an_accessible_name() -> None:
    Page(build_report_page(example())).assert_everything_has_a_name()


def test_page_loads_and_runs_nothing() -> None:
    page = Page(build_report_page(example()))
    policy = next(
        meta["content"]
        for meta in page.all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    page.assert_nothing_comes_from_elsewhere_or_runs()
    style = (HERE / "style.css").read_text(encoding="utf-8")
    assert "url(" not in style
    assert "@import" not in style
    assert "</" not in style


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_texts_stay_text(text: str) -> None:
    plain, hostile = (
        build_report_page(example((f"a{text}", f"b{text}", f"c{text}"), text))
        for text in ("harmless", text)
    )
    page = Page(hostile)
    assert page.shape == Page(plain).shape
    assert page.other == ["doctype html"]
    assert {name for name, _ in page.elements} == {name for name, _ in Page(plain).elements} | (
        {"wbr"} if "<wbr>" in hostile else set()
    )
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", hostile
    )
    hostile.encode()


@examples(6)
@given(anything)
def test_any_text_stays_text(text: str) -> None:
    page = Page(build_report_page(example(("a", f"b{text}"), text)))
    assert page.other == ["doctype html"]
    assert {name for name, _ in page.elements} <= {
        name for name, _ in Page(build_report_page(example(("a-b", "b")))).elements
    }


def test_control_characters_are_shown_as_codes() -> None:
    assert (
        "A report: \\x1b[31m \\u202e"
        in Page(build_report_page(example(text="\x1b[31m \u202e"))).text
    )


def test_summary_states_the_accuracy_and_reliability() -> None:
    said = words(example())
    assert (
        "was evaluated on 300 documents of 3 classes. It is right on 80.0\u00a0% of them (95\u00a0% interval 75.1\u00a0% to 84.1\u00a0%)"
        in said
    )
    assert (
        "Always predicting cats, the largest class in training, would be right on 33.3\u00a0%"
        in said
    )
    assert "does not show" not in said
    assert "Of its 60 mistakes, 20 take cats for dogs." in said
    assert (
        "recognises least is cats: it finds 80.0\u00a0% of its 100 documents; most often it takes the others for dogs."
        in said
    )
    assert "Its probabilities can be believed." in said
    assert "is 1.0 percentage points (before calibration 20.0)" in said


def test_summary_states_the_weaknesses() -> None:
    data = example()
    assert "rough guide: too high" in words(replace_error(data, 0.05))
    assert "should not be taken at their word: it is surer" in words(replace_error(data, 0.2))
    assert "this does not show that the model is better" in words(
        report_with({"cats": {"cats": 40, "dogs": 60}})
    )
    assert "too few documents to tell whether its probabilities" in words(
        report_with({"cats": {"cats": 199}})
    )
    assert "Its only mistake takes cats for dogs." in words(
        report_with({"cats": {"cats": 299, "dogs": 1}})
    )
    assert "no prediction for 7 documents" in words(report_with({"cats": {"cats": 299, "": 7}}))


def test_summary_warns_of_leakage() -> None:
    data = example()
    assert "too good" not in words(data)
    others = _UnleakedResult(288, 0.75, (0.7, 0.8), 0.7, 0.1, 0.5, 0.3)
    assert "too good" not in words(replace(data, leaks=LeakResult(0, (), others)))
    told = words(replace(data, leaks=LeakResult(12, (), others)))
    assert (
        "may be too good: the model was trained on 12 of the 300 documents, word for word. Without them it is right on 75.0"
        in told
    )
    assert "trained on 2 of the 40 documents that could be checked." in words(
        replace(data, leaks=SampledLeakResult(40, 2))
    )


def test_withheld_forecast_states_the_reason() -> None:
    data = example()
    assert data.learning_curve is not None
    forecast = Forecast(2500, withheld="the curve is too short")
    page = Page(
        build_report_page(
            replace(
                data, learning_curve=data.learning_curve._replace(forecast=_Forecasts(forecast))
            )
        )
    )
    assert "No forecast of accuracy: the curve is too short." in page.text
    assert "The ring" not in page.text
    assert (
        "Twice the documents, 2,500, would bring accuracy 0.8000 (95 % interval 0.7500 to 0.8500)"
        in Page(build_report_page(data)).text
    )


def replace_error(data: ReportData, error: float) -> ReportData:
    return replace(data, calibrated=data.calibrated._replace(ece=error, confidence=0.95))


def report_with(
    confusion: dict[str, dict[str, int]], labels: Sequence[str] = ("cats", "dogs", "fish")
) -> ReportData:
    return replace(example(), evaluation=evaluated(labels, confusion))


def test_labels_unknown_to_the_model_are_named() -> None:
    data = report_with({**matrix(("cats", "dogs", "fish")), "newts": {"cats": 4}})
    assert "cannot be right on 4 documents of classes that it does not know: newts." in words(data)
    assert "newts" in Page(build_report_page(data)).text


def test_many_classes_are_limited_to_the_largest() -> None:
    labels = [f"class-{number:03}" for number in range(150)]
    confusion = {label: {label: 1 + number % 2} for number, label in enumerate(labels)}
    page = build_report_page(replace(report_with(confusion, labels), mistakes=(), top_terms=()))
    assert "The 100 classes with most documents are shown; 50 classes more are omitted." in page
    heads = [head for head in Page(page).all("th") if head["scope"] == "row"]
    assert len(heads) == 200


def test_colours_have_sufficient_contrast() -> None:
    style = (HERE / "style.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root \{(.*?)\n *\}", style, re.DOTALL)[:2]
    )
    pairs = [(f"on-{kind}", f"{kind}{step}") for kind in "hm" for step in range(3)] + [
        ("on-m", "m3"),
        ("on-m4", "m4"),
        ("on-m5", "m5"),
    ]
    pairs += [("on-h-dark", "h3"), ("on-h-dark", "h4"), ("mark-ink", "mark")]
    pairs += [(text, ground) for text in ("ink", "soft", "link") for ground in ("paper", "panel")]
    for colours in (light, dark):
        assert {
            pair: round(contrast(colours[pair[0]], colours[pair[1]]), 2)
            for pair in pairs
            if contrast(colours[pair[0]], colours[pair[1]]) < 4.5
        } == {}
        assert all(contrast(colours[series], colours["paper"]) > 3 for series in ("blue", "orange"))


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, contrast ratio: (L1 + 0.05) / (L2 + 0.05) of relative luminances."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_page_shows_how_the_model_was_trained(tmp_path: Path) -> None:
    path = "m.joblib"
    texts = ["a cat and a dog", "dogs bark", "a ship sails", "the harbour"]
    TextClassifier().fit(texts, ["animals", "animals", "ships", "ships"]).save(path)
    made = dict(
        build_provenance(
            TextClassifier.load(path),
            path,
            corpus_paths=("one", "two"),
            command="nbtext report one two",
        )
    )
    assert dict(made["Report"])["documents"] == "one, two"
    assert dict(made["Model"])["documents"] == "4"
    assert len(dict(made["Model"])["SHA-256"]) == 64
    assert dict(made["Model"])["calibration"].startswith("temperature ")
    assert dict(made["Model"])["sample"] == "4 documents, all there are"
    assert dict(made["Training"])["ngrams"] == "1"
    assert dict(made["Reading"])["document"] == "text"
