"""The page of `nbtext explain`: each document's text with its words shaded, the strongest parts as bars, and the steps to the probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.report.explanations import (
    collect_summands,
    compute_shade_level,
    describe_calibration,
    describe_causes,
    describe_idle_words,
    find_max_contribution,
    format_signed_nats,
    split_by_contribution,
)
from nbtext.report.output_formats import format_percent, shorten_middle
from nbtext.report.page.charts import BAR_HEIGHT, BAR_WIDTH, draw_stretching_picture
from nbtext.report.page.markup import (
    NO_MARKUP,
    Markup,
    build_page,
    format_class_name,
    format_html,
    format_note,
    join_markup,
    make_scrollable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.explain.explanation import ExplainedDocument, Explanation

CHARACTERS = 60
"""Characters of a document's name in the contents, of a word and of its terms."""


def build_explanations_page(stream: Iterable[ExplainedDocument], top: int) -> str:
    """Return the page, with the ``top`` strongest parts of each document."""
    parts = []
    for place, explained in enumerate(stream, 1):
        anchor = f"document-{place}"
        if explained.explanation is None:
            ruled_out = [
                format_html("<li>{} is ruled out by {}.</li>", format_class_name(label), cause)
                for label, cause in describe_causes(explained)
            ]
            reasons = format_html("<ul>{}</ul>", ruled_out) if ruled_out else NO_MARKUP
            content = format_html("<p>No answer: {}</p>{}", explained.missing_reason, reasons)
        else:
            content = _content(explained.explanation, top)
        template = (
            '<section aria-labelledby="{0}" class="document"><h2 id="{0}" '
            'class="data">{1}</h2>{2}</section>'
        )
        parts.append(
            (
                anchor,
                shorten_middle(explained.id, CHARACTERS),
                format_html(template, anchor, shorten_middle(explained.id, 160), content),
            )
        )
    return build_page("What the words contributed", parts, "explained.css")


def _content(explanation: Explanation, top: int) -> Markup:
    label = format_class_name(explanation.label)
    against = format_class_name(explanation.against)
    most = find_max_contribution(split_by_contribution(explanation))
    return format_html(
        '<p class="answer">The answer is {} (probability {}), compared here with {} ({}). The log '
        "odds of the one over the other are {} nats before "
        'calibration.</p>{}<div class="text" role="region" aria-label="text of the document" '
        'tabindex="0"><p dir="auto">{}</p></div>{}'
        '<h3>From log odds to probability</h3><ol class="steps">{}</ol>',
        label,
        format_percent(explanation.probability),
        against,
        format_percent(explanation.against_probability),
        format_signed_nats(explanation.log_odds),
        format_note(
            'Words that speak for {} are <mark class="f2">bold on blue</mark>, words that speak '
            'for {} <mark class="a2">underlined on orange</mark>: the '
            "stronger the shade, the more one occurrence adds beside the strongest. Point at one "
            "for its nats, or see the table. 0.7 nats make the odds "
            "twofold, 2.3 tenfold.",
            label,
            against,
        ),
        (
            _piece(text, nats, compute_shade_level(nats, most))
            for text, nats in split_by_contribution(explanation)
            if text
        ),
        _table(explanation, top),
        (format_html("<li>{}</li>", line) for line in describe_calibration(explanation)),
    )


def _piece(text: str, nats: float, depth: int) -> Markup:
    lines = join_markup(text.expandtabs(8).splitlines(), Markup("\n"))
    whole = format_html("{}{}", lines, Markup("\n") if text.endswith("\n") else NO_MARKUP)
    return (
        format_html(
            '<mark class="{}{}" title="{} nats">{}</mark>',
            "f" if nats > 0 else "a",
            depth,
            format_signed_nats(nats),
            whole,
        )
        if depth
        else whole
    )


def _table(explanation: Explanation, top: int) -> Markup:
    parts, idle = collect_summands(explanation, top, "other word")
    caption = f"What adds up to the log odds, strongest first. {describe_idle_words(idle)}."
    if explanation.remainder is not None:
        caption = (
            "What the log odds lose without each word: these do not add up, so the rest is "
            "named too."
        )
    most = find_max_contribution((name, nats) for name, nats, *_ in parts) or 1.0
    rows = (
        format_html(
            '<tr><th scope="row" class="data">{}</th><td class="number">{}</td><td '
            'class="number">{}</td><td class="data terms">{}</td>'
            '<td class="bar-of wide">{}</td></tr>',
            shorten_middle(name, CHARACTERS),
            format_signed_nats(nats),
            times,
            shorten_middle(terms, CHARACTERS),
            _bar(nats / most),
        )
        for name, nats, times, terms in parts
    )
    drawn = format_html(
        '<table class="plain"><caption>{}</caption><thead><tr><th scope="col">part</th><th '
        'scope="col" class="number">nats</th>'
        '<th scope="col" class="number">times</th><th scope="col" class="terms">terms</th><th '
        'scope="col" class="wide">for the other class, for the answer</th>'
        '</tr></thead><tbody>{}<tr class="total"><th scope="row">log odds</th><td '
        'class="number">{}</td><td></td><td></td><td class="wide"></td></tr></tbody>'
        "</table>",
        caption,
        rows,
        format_signed_nats(explanation.log_odds),
    )
    return make_scrollable(drawn, "what the words contributed")


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
    return draw_stretching_picture(
        "diverging", format_html(bars, BAR_WIDTH, BAR_HEIGHT, kind, begin, length, middle)
    )
