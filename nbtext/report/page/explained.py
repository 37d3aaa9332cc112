"""The page of `nbtext explain`: each document's text with its words shaded, the strongest parts as bars, and the steps to the probability."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from nbtext.report.explanations import calibration_lines, causes, idle_words, level, pieces, signed, strongest, summands
from nbtext.report.forms import shortened
from nbtext.report.numbers import percent
from nbtext.report.page.charts import BAR_HEIGHT, BAR_WIDTH, stretching
from nbtext.report.page.markup import Markup, class_name, element, joined, note, scrolling, whole_page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.explain.explanation import Explained, Explanation

CHARACTERS = 60
"""Characters of a document's name in the contents, of a word and of its terms."""


def explanations_page(stream: Iterable[Explained], top: int) -> str:
    """Return the page, with the ``top`` strongest parts of each document."""
    parts = []
    for place, explained in enumerate(stream, 1):
        anchor, explanation = f"document-{place}", explained.explanation
        content = _no_answer(explained) if explanation is None else _content(explanation, top)
        heading = element("h2", shortened(explained.id, 160), id=anchor, class_="data")
        document = element("section", heading, *content, aria_labelledby=anchor, class_="document")
        parts.append((anchor, shortened(explained.id, CHARACTERS), document))
    return whole_page("What the words contributed", parts, "explained.css")


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
    most = strongest(explanation)
    shaded = element("p", *(_piece(text, nats, level(nats, most)) for text, nats in pieces(explanation) if text), dir="auto")
    text = element("div", shaded, class_="text", role="region", aria_label="text of the document", tabindex=0)
    steps = element("ol", *(element("li", line) for line in calibration_lines(explanation)), class_="steps")
    return [answer, legend, text, _table(explanation, top), element("h3", "From log odds to probability"), steps]


def _piece(text: str, nats: float, depth: int) -> Markup:
    lines = joined(text.expandtabs(8).splitlines(), Markup("\n"))
    whole = joined([lines, Markup("\n") if text.endswith("\n") else ""])
    return element("mark", whole, class_=f"{'f' if nats > 0 else 'a'}{depth}", title=f"{signed(nats)} nats") if depth else whole


HEADS = (("part", None), ("nats", "number"), ("times", "number"), ("terms", "terms"), ("for the other class, for the answer", "wide"))


def _table(explanation: Explanation, top: int) -> Markup:
    parts, idle = summands(explanation, top, "other word")
    caption = f"What adds up to the log odds, strongest first. {idle_words(idle)}."
    if explanation.rest is not None:
        caption = "What the log odds lose without each word: these do not add up, so the rest is named too."
    most = max((abs(nats) for _, nats, *_ in parts if abs(nats) < inf), default=0.0) or 1.0
    rows = [
        element(
            "tr",
            element("th", shortened(name, CHARACTERS), scope="row", class_="data"),
            element("td", signed(nats), class_="number"),
            element("td", times, class_="number"),
            element("td", shortened(terms, CHARACTERS), class_="data terms"),
            element("td", _bar(nats / most), class_="bar-of wide"),
        )
        for name, nats, times, terms in parts
    ]
    total = (element("th", "log odds", scope="row"), element("td", signed(explanation.log_odds), class_="number"))
    rows.append(element("tr", *total, *(element("td", class_=kind) for kind in (None, None, "wide")), class_="total"))
    head = element("thead", element("tr", *(element("th", name, scope="col", class_=kind) for name, kind in HEADS)))
    drawn = element("table", element("caption", caption), head, element("tbody", *rows), class_="plain")
    return scrolling(drawn, "what the words contributed")


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
