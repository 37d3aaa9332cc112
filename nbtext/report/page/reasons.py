"""The sections that say why: mistakes with the words that tipped them, the words of each class, and how it all was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.report.numbers import nats, percent
from nbtext.report.page.charts import bar
from nbtext.report.page.judgement import label
from nbtext.report.page.markup import LABEL, NOTHING, Markup, breakable, element, joined, note, section, shortened

if TYPE_CHECKING:
    from nbtext.evaluation.gathering import Mistake, ReportData
    from nbtext.inspection.terms import ClassTerms

AUDIBLE = 0.05
"""Nats below which a term is not listed: it would be shown as 0.0."""


def mistakes(data: ReportData) -> Markup:
    """The mistakes that the model was surest of, with the words that tipped them marked."""
    if not data.mistakes:
        return section("mistakes", "Most confident mistakes", note("There is none."))
    return section(
        "mistakes",
        "Most confident mistakes",
        note(
            "Words that spoke for the wrong answer against the true class are ",
            element("mark", "marked", class_="for"),
            ", words that spoke for the true class ",
            element("mark", "underlined", class_="against"),
            ": those that made the odds threefold or more, before calibration. Point at one for its weight in nats: 1.1 is threefold, 2.3 tenfold.",
        ),
        element("ol", *(element("li", _mistake(mistake)) for mistake in data.mistakes)),
    )


def _mistake(mistake: Mistake) -> Markup:
    beside = "a class that the model does not know" if mistake.of_truth is None else f"probability {_small(mistake.of_truth)}"
    head = element(
        "h3",
        label(mistake.truth, LABEL),
        element("span", f" ({beside}) ", class_="beside"),
        "taken for ",
        label(mistake.answer, LABEL),
        element("span", f" (probability {_small(mistake.probability)})", class_="beside"),
    )
    terms = (
        element("li", element("span", shortened(term, 40), class_="data"), " ", element("span", nats(weight)))
        for term, weight in mistake.terms
        if weight >= AUDIBLE
    )
    return element(
        "article",
        head,
        element("p", shortened(mistake.id, 160), class_="id data"),
        element("blockquote", element("p", *(_piece(piece.text, piece.nats) for piece in mistake.excerpt), dir="auto")),
        joined([element("p", "What tipped it, in nats: ", class_="terms-head"), element("ul", *terms, class_="terms")])
        if mistake.terms
        else NOTHING,
    )


def _piece(text: str, weight: float) -> object:
    return element("mark", text, class_="for" if weight > 0 else "against", title=f"{nats(weight)} nats") if weight else text


def _small(probability: float) -> str:
    """A probability that is neither rounded to none nor to certainty."""
    if 0 < probability < 0.0005:
        return "below\u00a00.1\u00a0%"
    return "above\u00a099.9\u00a0%" if 0.9995 <= probability < 1 else percent(probability)


def terms(data: ReportData) -> Markup:
    """The terms that speak most for each class."""
    cards = (_class_terms(of) for of in data.top_terms if of.terms)
    return section(
        "terms",
        "Words of each class",
        note(
            "The terms (words as the model counts them, stemmed if it stems) that tell most about each class: their part of the mutual information of "
            "term and class. Point at a bar for its value, in thousandths of a nat."
        ),
        element("div", *cards, class_="cards-of-terms"),
    )


def _class_terms(of: ClassTerms) -> Markup:
    most = max((value for _, value in of.terms), default=0.0)
    rows = (
        element(
            "li",
            element("span", shortened(term, 40), class_="data"),
            element("span", f"{1000 * value:.2f}", class_="unseen"),
            bar(max(value, 0.0) / most if most > 0 else 0.0, f"{1000 * value:.2f}"),
        )
        for term, value in of.terms
    )
    return element("div", element("h3", element("span", breakable(shortened(of.label, LABEL)), class_="data")), element("ol", *rows))


def made(data: ReportData) -> Markup:
    """Settings, versions and sizes."""
    tables = (
        joined((
            element("h3", heading),
            element("dl", *(element("div", element("dt", name), element("dd", value, class_="data")) for name, value in rows), class_="settings"),
        ))
        for heading, rows in data.made
    )  # fmt: skip
    return section("made", "How it was made", *tables)
