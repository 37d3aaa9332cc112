"""The page of `nbtext explain`: each document's text with its words shaded, the strongest parts as bars, and the way to the probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.errors import quantity
from nbtext.report.explanations import calibration_lines, causes, level, pieces, signed, strongest, strongest_first
from nbtext.report.numbers import percent
from nbtext.report.page.charts import BAR_HEIGHT, BAR_WIDTH
from nbtext.report.page.judgement import label
from nbtext.report.page.markup import Markup, element, joined, note, scrolling, shortened
from nbtext.report.page.page import whole_page, write_html

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.explain.explanation import Explained, Explanation

NAME = 60
"""Characters of a document's name in the contents."""


def write_explanations_page(path: str, stream: Iterable[Explained], top: int) -> None:
    """Write the page into a file, which is replaced as a whole, with the ``top`` strongest parts of each document.

    Raises `PathError` if it cannot be written.
    """
    write_html(path, explanations_page(stream, top))


def explanations_page(stream: Iterable[Explained], top: int) -> str:
    """One self-contained page of HTML: no script, nothing from elsewhere, all text from documents escaped."""
    parts = [(f"document-{place}", shortened(of.id, NAME), _document(of, f"document-{place}", top)) for place, of in enumerate(stream, 1)]
    return whole_page("What the words contributed", parts, "explained.css")


def _document(explained: Explained, anchor: str, top: int) -> Markup:
    of = explained.explanation
    content = _no_answer(explained) if of is None else _content(of, top)
    heading = element("h2", shortened(explained.id, 160), id=anchor, class_="data")
    return element("section", heading, *content, aria_labelledby=anchor, class_="document")


def _no_answer(explained: Explained) -> list[Markup]:
    ruled_out = [element("li", label(of_class), " is ruled out by ", cause, ".") for of_class, cause in causes(explained)]
    return [element("p", "No answer: ", str(explained.problem or explained.abstained)), *([element("ul", *ruled_out)] if ruled_out else [])]


def _content(of: Explanation, top: int) -> list[Markup]:
    answer = element(
        "p", "The answer is ", label(of.label), f" (probability {percent(of.probability)}), compared here with ", label(of.against),
        f" ({percent(of.against_probability)}). The log odds of the one over the other are {signed(of.log_odds)} nats before calibration.",
        class_="answer",
    )  # fmt: skip
    legend = note(
        "Words that speak for ", label(of.label), " are ", element("mark", "bold on blue", class_="f2"), ", words that speak for ",
        label(of.against), " ", element("mark", "underlined on orange", class_="a2"),
        ": the stronger the shade, the more one occurrence adds beside the strongest. Point at one for its nats, or see the table. 0.7 nats make the odds "
        "twofold, 2.3 tenfold.",
    )  # fmt: skip
    steps = element("ol", *(element("li", line) for line in calibration_lines(of)), class_="steps")
    return [answer, legend, _text(of), _table(of, top), element("h3", "From log odds to probability"), steps]


def _text(of: Explanation) -> Markup:
    most = strongest(of)
    shown = (_piece(text, nats, level(nats, most)) for text, nats in pieces(of) if text)
    paragraph = element("p", *shown, dir="auto")
    return element("div", paragraph, class_="text", role="region", aria_label="text of the document", tabindex=0)


def _piece(text: str, nats: float, depth: int) -> object:
    lines = joined(text.expandtabs(8).splitlines(), Markup("\n"))
    whole = joined([lines, Markup("\n") if text.endswith("\n") else ""])
    return element("mark", whole, class_=f"{'f' if nats > 0 else 'a'}{depth}", title=f"{signed(nats)} nats") if depth else whole


def _table(of: Explanation, top: int) -> Markup:
    parts, (n_others, others), idle = strongest_first(of, top)
    rows = [("without any word", of.prior, "", ""), *parts]
    if n_others:
        rows.append((quantity(n_others, "other word"), others, "", ""))
    if of.rest is not None:
        rows.append(("rest: the words do not add up", of.rest, "", ""))
    most = max((abs(nats) for _, nats, *_ in rows if abs(nats) < float("inf")), default=0.0) or 1.0
    caption = f"What adds up to the log odds, strongest first. {quantity(idle, 'word')} {'adds' if idle == 1 else 'add'} nothing."
    if of.rest is not None:
        caption = "What the log odds lose without each word: these do not add up, so the rest is named too."
    body = [
        element(
            "tr", element("th", shortened(name, 60), scope="row", class_="data"), element("td", signed(nats), class_="number"),
            element("td", times, class_="number"), element("td", shortened(terms, 60), class_="data terms"),
            element("td", _bar(nats / most), class_="bar-of wide"),
        )
        for name, nats, times, terms in rows
    ]  # fmt: skip
    body.append(element("tr", element("th", "log odds", scope="row"), element("td", signed(of.log_odds), class_="number"), *[element("td")] * 2,
                        element("td", class_="wide"), class_="total"))  # fmt: skip
    head = element("tr", *(element("th", name, scope="col", class_=kind) for name, kind in HEADS))
    table = element("table", element("caption", caption), element("thead", head), element("tbody", *body), class_="plain")
    return scrolling(table, "what the words contributed")


HEADS = (("part", None), ("nats", "number"), ("times", "number"), ("terms", "terms"), ("for the other class, for the answer", "wide"))


def _bar(share: float) -> Markup:
    """A bar from the middle: to the right for the answer, to the left against it."""
    middle, length = BAR_WIDTH / 2, min(abs(share), 1.0) * BAR_WIDTH / 2
    begin, kind = (middle, "for") if share > 0 else (middle - length, "against")
    parts = (
        element("rect", class_="track", width=BAR_WIDTH, height=BAR_HEIGHT),
        element("rect", class_=kind, x=begin, width=length, height=BAR_HEIGHT),
        element("line", class_="zero", x1=middle, x2=middle, y1=0, y2=BAR_HEIGHT),
    )
    return element(
        "svg", *parts, class_="diverging", viewBox=f"0 0 {BAR_WIDTH:g} {BAR_HEIGHT:g}", preserveAspectRatio="none", aria_hidden="true"
    )
