"""The page of `nbtext explain`: each document's text with its words shaded, the strongest parts as bars, and the steps to the probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.report.explanations import (
    calibration_lines,
    causes,
    idle_words,
    level,
    pieces,
    signed,
    strongest,
    summands,
)
from nbtext.report.output_formats import percent, shortened
from nbtext.report.page.charts import BAR_HEIGHT, BAR_WIDTH, stretching
from nbtext.report.page.markup import (
    NOTHING,
    Markup,
    class_name,
    html,
    joined,
    note,
    scrolling,
    whole_page,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.explain.explanation import Explained, Explanation

CHARACTERS = 60
"""Characters of a document's name in the contents, of a word and of its terms."""


def explanations_page(stream: Iterable[Explained], top: int) -> str:
    """Return the page, with the ``top`` strongest parts of each document."""
    parts = []
    for place, explained in enumerate(stream, 1):
        anchor = f"document-{place}"
        if explained.explanation is None:
            ruled_out = [
                html("<li>{} is ruled out by {}.</li>", class_name(label), cause)
                for label, cause in causes(explained)
            ]
            reasons = html("<ul>{}</ul>", ruled_out) if ruled_out else NOTHING
            content = html("<p>No answer: {}</p>{}", explained.why_none, reasons)
        else:
            content = _content(explained.explanation, top)
        template = (
            '<section aria-labelledby="{0}" class="document"><h2 id="{0}" '
            'class="data">{1}</h2>{2}</section>'
        )
        parts.append(
            (
                anchor,
                shortened(explained.id, CHARACTERS),
                html(template, anchor, shortened(explained.id, 160), content),
            )
        )
    return whole_page("What the words contributed", parts, "explained.css")


def _content(explanation: Explanation, top: int) -> Markup:
    label = class_name(explanation.label)
    against = class_name(explanation.against)
    most = strongest(pieces(explanation))
    return html(
        '<p class="answer">The answer is {} (probability {}), compared here with {} ({}). The log '
        "odds of the one over the other are {} nats before "
        'calibration.</p>{}<div class="text" role="region" aria-label="text of the document" '
        'tabindex="0"><p dir="auto">{}</p></div>{}'
        '<h3>From log odds to probability</h3><ol class="steps">{}</ol>',
        label,
        percent(explanation.probability),
        against,
        percent(explanation.against_probability),
        signed(explanation.log_odds),
        note(
            'Words that speak for {} are <mark class="f2">bold on blue</mark>, words that speak '
            'for {} <mark class="a2">underlined on orange</mark>: the '
            "stronger the shade, the more one occurrence adds beside the strongest. Point at one "
            "for its nats, or see the table. 0.7 nats make the odds "
            "twofold, 2.3 tenfold.",
            label,
            against,
        ),
        (_piece(text, nats, level(nats, most)) for text, nats in pieces(explanation) if text),
        _table(explanation, top),
        (html("<li>{}</li>", line) for line in calibration_lines(explanation)),
    )


def _piece(text: str, nats: float, depth: int) -> Markup:
    lines = joined(text.expandtabs(8).splitlines(), Markup("\n"))
    whole = html("{}{}", lines, Markup("\n") if text.endswith("\n") else NOTHING)
    return (
        html(
            '<mark class="{}{}" title="{} nats">{}</mark>',
            "f" if nats > 0 else "a",
            depth,
            signed(nats),
            whole,
        )
        if depth
        else whole
    )


def _table(explanation: Explanation, top: int) -> Markup:
    parts, idle = summands(explanation, top, "other word")
    caption = f"What adds up to the log odds, strongest first. {idle_words(idle)}."
    if explanation.rest is not None:
        caption = (
            "What the log odds lose without each word: these do not add up, so the rest is "
            "named too."
        )
    most = strongest((name, nats) for name, nats, *_ in parts) or 1.0
    rows = (
        html(
            '<tr><th scope="row" class="data">{}</th><td class="number">{}</td><td '
            'class="number">{}</td><td class="data terms">{}</td>'
            '<td class="bar-of wide">{}</td></tr>',
            shortened(name, CHARACTERS),
            signed(nats),
            times,
            shortened(terms, CHARACTERS),
            _bar(nats / most),
        )
        for name, nats, times, terms in parts
    )
    drawn = html(
        '<table class="plain"><caption>{}</caption><thead><tr><th scope="col">part</th><th '
        'scope="col" class="number">nats</th>'
        '<th scope="col" class="number">times</th><th scope="col" class="terms">terms</th><th '
        'scope="col" class="wide">for the other class, for the answer</th>'
        '</tr></thead><tbody>{}<tr class="total"><th scope="row">log odds</th><td '
        'class="number">{}</td><td></td><td></td><td class="wide"></td></tr></tbody>'
        "</table>",
        caption,
        rows,
        signed(explanation.log_odds),
    )
    return scrolling(drawn, "what the words contributed")


def _bar(share: float) -> Markup:
    """Draw a bar from the middle: to the right for the answer, to the left against it."""
    middle = BAR_WIDTH / 2
    length = min(abs(share), 1.0) * BAR_WIDTH / 2
    begin, kind = (middle, "for") if share > 0 else (middle - length, "against")
    bars = (
        '<rect class="track" width="{0}" height="{1}"></rect><rect class="{2}" x="{3}" width="{4}" '
        'height="{1}"></rect>'
        '<line class="zero" x1="{5}" x2="{5}" y1="0" y2="{1}"></line>'
    )
    return stretching("diverging", html(bars, BAR_WIDTH, BAR_HEIGHT, kind, begin, length, middle))
