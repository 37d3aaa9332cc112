"""The page of `nbtext explain`: each document's text with its words shaded, the strongest parts as bars, and the steps to the probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.errors import quantity
from nbtext.report.explanations import calibration_lines, causes, idle_words, level, pieces, signed, strongest, strongest_first
from nbtext.report.numbers import percent
from nbtext.report.page.charts import BAR_HEIGHT, BAR_WIDTH, stretching
from nbtext.report.page.markup import Markup, cell, class_name, element, joined, note, scrolling, shortened
from nbtext.report.page.page import whole_page, write_html

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.explain.explanation import Explained, Explanation

NAME = 60
"""Characters of a document's name in the contents."""


def write_explanations_page(path: str, stream: Iterable[Explained], top: int) -> None:
    """Replace a file with the page, with the ``top`` strongest parts of each document. Raises `PathError` if it cannot be written."""
    write_html(path, explanations_page(stream, top))


def explanations_page(stream: Iterable[Explained], top: int) -> str:
    """Return one self-contained page of HTML: no script, nothing from elsewhere, all text from documents escaped."""
    parts = [
        (f"document-{place}", shortened(explained.id, NAME), _document(explained, f"document-{place}", top))
        for place, explained in enumerate(stream, 1)
    ]
    return whole_page("What the words contributed", parts, "explained.css")


def _document(explained: Explained, anchor: str, top: int) -> Markup:
    explanation = explained.explanation
    content = _no_answer(explained) if explanation is None else _content(explanation, top)
    heading = element("h2", shortened(explained.id, 160), id=anchor, class_="data")
    return element("section", heading, *content, aria_labelledby=anchor, class_="document")


def _no_answer(explained: Explained) -> list[Markup]:
    ruled_out = [element("li", class_name(label), " is ruled out by ", cause, ".") for label, cause in causes(explained)]
    return [element("p", "No answer: ", str(explained.problem or explained.abstained)), *([element("ul", *ruled_out)] if ruled_out else [])]


def _content(explanation: Explanation, top: int) -> list[Markup]:
    answer = element(
        "p", "The answer is ", class_name(explanation.label), f" (probability {percent(explanation.probability)}), compared here with ", class_name(explanation.against),
        f" ({percent(explanation.against_probability)}). The log odds of the one over the other are {signed(explanation.log_odds)} nats before calibration.",
        class_="answer",
    )  # fmt: skip
    legend = note(
        "Words that speak for ", class_name(explanation.label), " are ", element("mark", "bold on blue", class_="f2"), ", words that speak for ",
        class_name(explanation.against), " ", element("mark", "underlined on orange", class_="a2"),
        ": the stronger the shade, the more one occurrence adds beside the strongest. Point at one for its nats, or see the table. 0.7 nats make the odds "
        "twofold, 2.3 tenfold.",
    )  # fmt: skip
    steps = element("ol", *(element("li", line) for line in calibration_lines(explanation)), class_="steps")
    return [answer, legend, _text(explanation), _table(explanation, top), element("h3", "From log odds to probability"), steps]


def _text(explanation: Explanation) -> Markup:
    most = strongest(explanation)
    shown = (_piece(text, nats, level(nats, most)) for text, nats in pieces(explanation) if text)
    paragraph = element("p", *shown, dir="auto")
    return element("div", paragraph, class_="text", role="region", aria_label="text of the document", tabindex=0)


def _piece(text: str, nats: float, depth: int) -> object:
    lines = joined(text.expandtabs(8).splitlines(), Markup("\n"))
    whole = joined([lines, Markup("\n") if text.endswith("\n") else ""])
    return element("mark", whole, class_=f"{'f' if nats > 0 else 'a'}{depth}", title=f"{signed(nats)} nats") if depth else whole


def _table(explanation: Explanation, top: int) -> Markup:
    parts, (n_others, others), idle = strongest_first(explanation, top)
    rows = [("without any word", explanation.prior, "", ""), *parts]
    if n_others:
        rows.append((quantity(n_others, "other word"), others, "", ""))
    caption = f"What adds up to the log odds, strongest first. {idle_words(idle)}."
    if explanation.rest is not None:
        rows.append(("rest: the words do not add up", explanation.rest, "", ""))
        caption = "What the log odds lose without each word: these do not add up, so the rest is named too."
    most = max((abs(nats) for _, nats, *_ in rows if abs(nats) < float("inf")), default=0.0) or 1.0
    body = element(
        "tbody",
        *(
            element(
                "tr",
                element("th", shortened(name, 60), scope="row", class_="data"),
                cell(signed(nats), "number"),
                cell(times, "number"),
                cell(shortened(terms, 60), "data terms"),
                cell(_bar(nats / most), "bar-of wide"),
            )
            for name, nats, times, terms in rows
        ),
        element(
            "tr",
            element("th", "log odds", scope="row"),
            cell(signed(explanation.log_odds), "number"),
            element("td"),
            element("td"),
            element("td", class_="wide"),
            class_="total",
        ),
    )
    head = element("tr", *(element("th", name, scope="col", class_=kind) for name, kind in HEADS))
    drawn = element("table", element("caption", caption), element("thead", head), body, class_="plain")
    return scrolling(drawn, "what the words contributed")


HEADS = (("part", None), ("nats", "number"), ("times", "number"), ("terms", "terms"), ("for the other class, for the answer", "wide"))


def _bar(share: float) -> Markup:
    """Draw a bar from the middle: to the right for the answer, to the left against it."""
    middle, length = BAR_WIDTH / 2, min(abs(share), 1.0) * BAR_WIDTH / 2
    begin, kind = (middle, "for") if share > 0 else (middle - length, "against")
    parts = (
        element("rect", class_="track", width=BAR_WIDTH, height=BAR_HEIGHT),
        element("rect", class_=kind, x=begin, width=length, height=BAR_HEIGHT),
        element("line", class_="zero", x1=middle, x2=middle, y1=0, y2=BAR_HEIGHT),
    )
    return stretching("diverging", *parts)
