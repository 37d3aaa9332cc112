"""Make the HTML page of `nbtext explain`.

Each document has its shaded text, the largest contributions of words, and the steps from the log
odds to the probability.
"""

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
    Section,
    build_page,
    format_class_name,
    format_html,
    format_note,
    join_markup,
    make_scrollable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtext.explain.explanation import ExplainedDocument, Explanation
    from nbtext.report.explanations import Summand

MAX_NAME_CHARS = 60
"""Length limit of a word, of its terms, and of a document's name in the table of contents."""

MAX_HEADING_CHARS = 160
"""Length limit of a document's name above its section."""


def build_explanations_page(stream: Iterable[ExplainedDocument], top: int) -> str:
    """Return the page, with the ``top`` largest contributions of each document."""
    sections = []
    for number, explained in enumerate(stream, start=1):
        content = format_explained_document(explained, top)
        anchor = f"document-{number}"
        section = format_html(
            '<section aria-labelledby="{anchor}" class="document"><h2 id="{anchor}" '
            'class="data">{heading}</h2>{content}</section>',
            anchor=anchor,
            heading=shorten_middle(explained.id, MAX_HEADING_CHARS),
            content=content,
        )
        sections.append(Section(anchor, shorten_middle(explained.id, MAX_NAME_CHARS), section))
    return build_page("Contributions of the words", sections, "explained.css")


def format_explained_document(explained: ExplainedDocument, top: int) -> Markup:
    """Return the explanation with the ``top`` largest contributions, or why it is absent."""
    if explained.explanation is None:
        return _format_missing_answer(explained)
    return _format_explanation(explained.explanation, top)


def _format_missing_answer(explained: ExplainedDocument) -> Markup:
    """Return the reason why a document has no answer, and what makes its classes impossible."""
    causes = NO_MARKUP
    if explained.ruled_out_classes:
        items = [
            format_html("<li>{} is ruled out by {}.</li>", format_class_name(label), cause)
            for label, cause in describe_causes(explained)
        ]
        causes = format_html("<ul>{}</ul>", items)
    return format_html("<p>No prediction: {}</p>{}", explained.missing_reason, causes)


def _format_explanation(explanation: Explanation, top: int) -> Markup:
    """Return the answer, the shaded text, the contributions, and the steps to the probability."""
    label = format_class_name(explanation.label)
    against = format_class_name(explanation.against)
    return format_html(
        '<p class="answer">The prediction is {label} (probability {probability}), compared here '
        "with {against} ({against_probability}). The log odds of the two are {log_odds} nats "
        "before calibration.</p>{note}"
        '<div class="text" role="region" aria-label="text of the document" tabindex="0">'
        '<p dir="auto">{shaded_text}</p></div>{summands}'
        '<h3>From log odds to probability</h3><ol class="steps">{steps}</ol>',
        label=label,
        probability=format_percent(explanation.probability),
        against=against,
        against_probability=format_percent(explanation.against_probability),
        log_odds=format_signed_nats(explanation.log_odds),
        note=format_note(
            'Words for {} are <mark class="f2">bold on blue</mark>, words '
            'for {} <mark class="a2">underlined on orange</mark>; a stronger shade means a '
            "larger contribution of one occurrence. Point at a word for its nats, or see the "
            "table. 0.7 nats double the odds, 2.3 make them tenfold.",
            label,
            against,
        ),
        shaded_text=_shade_text(explanation, _format_shade_class),
        summands=_format_summands(explanation, top),
        steps=(format_html("<li>{}</li>", line) for line in describe_calibration(explanation)),
    )


def _shade_text(
    explanation: Explanation, format_shade: Callable[[str, int], Markup]
) -> Iterator[Markup]:
    """Yield the pieces of the text, whose words are marked with their nats.

    ``format_shade`` returns the attribute of a mark. Its arguments are "f" for words for the
    prediction or "a" for words against it, and the shade level from 1 to 3.
    """
    pieces = list(split_by_contribution(explanation))
    max_contribution = find_max_contribution(contribution for _, contribution in pieces)
    for text, contribution in pieces:
        if not text:
            continue
        line_break = Markup("\n")  # as text it would become a code
        lines = join_markup(text.expandtabs().splitlines(), line_break)
        final_line_break = line_break if text.endswith("\n") else NO_MARKUP
        content = format_html("{}{}", lines, final_line_break)
        shade_level = compute_shade_level(contribution, max_contribution)
        if shade_level == 0:
            yield content
            continue
        yield format_html(
            '<mark {} title="{} nats">{}</mark>',
            format_shade("f" if contribution > 0 else "a", shade_level),
            format_signed_nats(contribution),
            content,
        )


def _format_shade_class(direction: str, shade_level: int) -> Markup:
    """Return the attribute ``class`` of a mark, for the style sheet ``explained.css``."""
    return format_html('class="{}{}"', direction, shade_level)


NOTEBOOK_COLOURS = {
    "f1": ("#d6e6f5", "#10283f"),
    "f2": ("#8fb8de", "#10283f"),
    "f3": ("#08519c", "#ffffff"),
    "a1": ("#fde2c8", "#40220a"),
    "a2": ("#f4a560", "#40220a"),
    "a3": ("#944208", "#ffffff"),
}
"""Background and text colour of marks by class. A notebook does not have ``explained.css``."""


def _format_shade_style(direction: str, shade_level: int) -> Markup:
    """Return the attribute ``style`` of a mark, which needs no style sheet."""
    background, colour = NOTEBOOK_COLOURS[f"{direction}{shade_level}"]
    emphasis = "text-decoration:underline"
    if direction == "f":
        emphasis = "font-weight:600"
    return format_html('style="background:{};color:{};{}"', background, colour, emphasis)


def build_notebook_fragment(explained: ExplainedDocument) -> str:
    """Return an element with the prediction and the text with coloured words, for a notebook.

    It needs no style sheet and no script.
    """
    explanation = explained.explanation
    if explanation is None:
        return format_html("<div>{}</div>", _format_missing_answer(explained))
    return format_html(
        "<div><p><b>{label}</b> ({probability}), compared with <b>{against}</b> "
        '({against_probability}); log odds {log_odds} nats</p><p dir="auto" '
        'style="white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.7">{text}</p></div>',
        label=shorten_middle(explanation.label, MAX_NAME_CHARS),
        probability=format_percent(explanation.probability),
        against=shorten_middle(explanation.against, MAX_NAME_CHARS),
        against_probability=format_percent(explanation.against_probability),
        log_odds=format_signed_nats(explanation.log_odds),
        text=_shade_text(explanation, _format_shade_style),
    )


def _format_summands(explanation: Explanation, top: int) -> Markup:
    """Return the summands of the log odds as a table with bars."""
    summands, n_idle = collect_summands(explanation, top, "other word")
    caption = f"The parts of the log odds, strongest first. {describe_idle_words(n_idle)}."
    if explanation.remainder is not None:
        caption = (
            "The loss of log odds without each word. These do not add up, so the rest is a line "
            "of its own."
        )
    max_contribution = find_max_contribution(summand.contribution for summand in summands)
    if max_contribution == 0:  # all contributions are 0 or infinite, so any scale will do
        max_contribution = 1.0
    rows = (_format_summand(summand, max_contribution) for summand in summands)
    table = format_html(
        '<table class="plain"><caption>{}</caption><thead><tr><th scope="col">part</th><th '
        'scope="col" class="number">nats</th>'
        '<th scope="col" class="number">times</th><th scope="col" class="terms">terms</th><th '
        'scope="col" class="wide">for the other class, for the prediction</th>'
        '</tr></thead><tbody>{}<tr class="total"><th scope="row">log odds</th><td '
        'class="number">{}</td><td></td><td></td><td class="wide"></td></tr></tbody>'
        "</table>",
        caption,
        rows,
        format_signed_nats(explanation.log_odds),
    )
    return make_scrollable(table, "what the words contributed")


def _format_summand(summand: Summand, max_contribution: float) -> Markup:
    """Return a row of the table. The contribution ``max_contribution`` has a bar of full length."""
    return format_html(
        '<tr><th scope="row" class="data">{name}</th><td class="number">{contribution}</td>'
        '<td class="number">{occurrences}</td><td class="data terms">{terms}</td>'
        '<td class="bar-of wide">{bar}</td></tr>',
        name=shorten_middle(summand.name, MAX_NAME_CHARS),
        contribution=format_signed_nats(summand.contribution),
        occurrences=summand.occurrences,
        terms=shorten_middle(summand.terms, MAX_NAME_CHARS),
        bar=_draw_diverging_bar(summand.contribution / max_contribution),
    )


def _draw_diverging_bar(proportion: float) -> Markup:
    """Draw a bar from the middle, to the right for the answer and to the left against it.

    The bar has full length if ``proportion`` is 1 or −1, or infinite.
    """
    middle = BAR_WIDTH / 2
    length = min(abs(proportion), 1.0) * BAR_WIDTH / 2
    if proportion > 0:
        css_class = "for"
        start = middle
    else:
        css_class = "against"
        start = middle - length
    picture = format_html(
        '<rect class="track" width="{width}" height="{height}"></rect>'
        '<rect class="{css_class}" x="{start}" width="{length}" height="{height}"></rect>'
        '<line class="zero" x1="{middle}" x2="{middle}" y1="0" y2="{height}"></line>',
        width=BAR_WIDTH,
        height=BAR_HEIGHT,
        css_class=css_class,
        start=start,
        length=length,
        middle=middle,
    )
    return draw_stretching_picture("diverging", picture)
