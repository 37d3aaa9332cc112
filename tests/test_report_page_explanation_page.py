"""The page of `nbtext explain`: what stands on it, and how a browser shows it.

Also tests `report/explanations.py`.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.errors import DocumentError
from nbtext.explain.explanation import ExplainedDocument, Explainer
from nbtext.report.explanations import (
    collect_summands,
    compute_shade_level,
    find_max_contribution,
    split_by_contribution,
)
from nbtext.report.page.explanation_page import build_explanations_page
from nbtext.report.page.markup import HERE
from tests import browser
from tests.explained_models import GAUSSIAN, document, explain_text, model
from tests.profiles import examples
from tests.report_example import HOSTILE, Page
from tests.strategies import texts

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "The red cat purrs, a dog barks at the postman.\n\n\tCold water: zebra, sofa."
PROGRAM = browser.found()


def page_of(*some: str, top: int = 20, **parameters: Any) -> str:
    return build_explanations_page(
        Explainer(model(**parameters).fitted).explain([document(text) for text in some]), top
    )


def test_each_document_is_a_section_in_the_contents() -> None:
    page = Page(page_of(TEXT, "fish swim"))
    assert [section["class"] for section in page.all("section")] == ["document"] * 2
    assert [link["href"] for link in page.all("a")] == ["#document-1", "#document-2"]
    assert [heading["id"] for heading in page.all("h2")] == ["document-1", "document-2"]
    assert "purrs" in page.text
    assert "Calibration divides by" in page.text


def test_words_are_marked_with_their_nats_and_listed() -> None:
    of = explain_text(model(), TEXT)
    page = Page(page_of(TEXT))
    shown = {mark["title"] for mark in page.all("mark") if "title" in mark}
    contributions = [nats for _, nats in split_by_contribution(of)]
    assert shown == {
        f"{nats:+.2f} nats".replace("-", "−")
        for nats in contributions
        if compute_shade_level(nats, find_max_contribution(contributions))
    }
    assert "".join(text for text, _ in split_by_contribution(of)) == TEXT
    for word in of.words:
        assert not word.nats or f"{word.nats:+.2f}".replace("-", "−") in page.text


def test_unlisted_contributions_are_summed() -> None:
    of = explain_text(model(), TEXT)
    (_, without, *_), *listed, (others, *_) = parts = collect_summands(of, 3, "other word")[0]
    assert without == of.prior
    assert [abs(nats) for _, nats, *_ in listed] == sorted(
        (abs(word.nats) for word in of.words), reverse=True
    )[:3]
    assert sum(nats for _, nats, *_ in parts) == pytest.approx(of.log_odds)
    assert others == f"{sum(1 for word in of.words if word.nats) - 3} other words"
    assert others in Page(page_of(TEXT, top=3)).text


def test_gaussian_and_abstained_documents_are_explained() -> None:
    assert "do not add up" in Page(page_of(TEXT, **GAUSSIAN)).text
    page = Page(page_of("cat dog fish", estimate="ml"))
    assert "No prediction: impossible" in page.text
    assert "cats is ruled out by dog." in page.text
    failed = ExplainedDocument("a", None, None, DocumentError("it cannot be read"))
    assert "it cannot be read" in Page(build_explanations_page([failed], 5)).text
    assert "∞" in Page(page_of("cat", estimate="ml")).text


def test_every_element_has_a_name_and_is_reachable_by_keyboard() -> None:
    Page(page_of(TEXT)).assert_everything_has_a_name()


def test_page_loads_and_runs_nothing() -> None:
    Page(page_of(*HOSTILE_TEXTS)).assert_nothing_comes_from_elsewhere_or_runs()
    assert "url(" not in (HERE / "explained.css").read_text(encoding="utf-8")


HOSTILE_TEXTS = [text.encode("utf-8", "replace").decode() + " the cat purrs" for text in HOSTILE]


@examples(6)
@given(texts, st.sampled_from(["cat", "dog", "fish"]))
def test_any_text_leaves_the_page_structure_unchanged(text: str, word: str) -> None:
    page = Page(page_of(f"{word} {text}"))
    assert len(page.all("section")) == 1
    assert len(page.all("main")) == 1


@pytest.mark.exhaustive
@pytest.mark.skipif(
    PROGRAM is None, reason=f"no browser on this machine: none of {', '.join(browser.NAMES)}"
)
def test_browser_renders_the_page(tmp_path: Path) -> None:
    assert PROGRAM is not None
    page = tmp_path / "page.html"
    page.write_text(page_of(TEXT, *HOSTILE_TEXTS, "purrs " * 300), encoding="utf-8")
    seen = set()
    with browser.Browser(PROGRAM) as reader:
        for width in (360, 1200):
            for dark in (False, True):
                reader.open(page, width=width, dark=dark)
                assert reader.log == []
                assert [
                    url for url in reader.requests if not url.startswith(("file:", "data:"))
                ] == []
                assert reader.value("document.documentElement.scrollWidth") <= width
                assert (
                    reader.value("document.querySelectorAll('section').length")
                    == len(HOSTILE_TEXTS) + 2
                )
                assert reader.value(CONTRAST) >= 4.5
                seen.add(zlib.crc32(reader.screenshot()))
    assert len(seen) == 4


CONTRAST = """
(() => {
  const luminance = colour => {
    const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3).map(part => part / 255).map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return Math.min(...[...document.querySelectorAll('mark')].map(mark => {
    const style = getComputedStyle(mark), [low, high] = [luminance(style.color), luminance(style.backgroundColor)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }));
})()
"""
