"""The page of `nbtext serve`: a form for a text, its prediction, and buttons for the right label.

It is without scripts. The style is allowed by its checksum.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, NamedTuple

from nbtext.report.explanations import DEFAULT_TOP
from nbtext.report.output_formats import format_percent
from nbtext.report.page.charts import draw_bar
from nbtext.report.page.explanation_page import format_explained_document
from nbtext.report.page.markup import (
    NO_MARKUP,
    Markup,
    format_class_cell,
    format_class_name,
    format_html,
    format_verbatim,
    join_markup,
    read_style,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.corpus.document import Document
    from nbtext.scoring import Answer, RankedClass
    from nbtext.serve.served_model import ServedModel

MAX_CHOICES = 10
"""Number of most probable classes with a button of their own. The others are in a list."""


class PageContent(NamedTuple):
    """The contents of the form."""

    csrf: str
    """A secret that pages of other sites cannot know."""
    can_correct: bool
    """Whether corrections are accepted."""
    text: str = ""
    is_mail: bool = False
    document: Document | None = None
    """The document in ``text``, to show its prediction."""
    notice: str = ""


@cache
def _read_page() -> tuple[Template, str]:
    """Return the template of the page, and its style."""
    folder = Path(__file__).parent
    style = read_style("explained.css") + (folder / "form.css").read_text(encoding="utf-8")
    return Template((folder / "form.html").read_text(encoding="utf-8")), style


@cache
def make_content_policy() -> str:
    """Return the header Content-Security-Policy, which allows only the style of the page."""
    _, style = _read_page()
    checksum = b64encode(sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{checksum}'; img-src data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )


def build_form_page(served: ServedModel, content: PageContent) -> bytes:
    """Return the page as HTML."""
    template, style = _read_page()
    candidates = NO_MARKUP
    explanations = NO_MARKUP
    if content.document is not None:
        [answer] = served.predict([content.document], len(served.model.classes))
        candidates = _format_candidates(served, answer, can_correct=content.can_correct)
        explanations = _format_explanations(served, content.document)
    notice = NO_MARKUP
    if content.notice:
        notice = format_html('<p class="notice" role="status">{}</p>', content.notice)
    model = f"Model {served.fitted.fingerprint or 'with new corrections'}"
    page = template.substitute(
        style=style,
        model=format_html("{}, {} classes", model, len(served.model.classes)),
        csrf=content.csrf,
        text=format_verbatim(content.text),
        mail=" checked" if content.is_mail else "",
        notice=notice,
        candidates=candidates,
        explanations=explanations,
    )
    return page.encode("utf-8", "replace")


def _format_candidates(served: ServedModel, answer: Answer, *, can_correct: bool) -> Markup:
    """Return the prediction and the most probable classes, which can be chosen as the label."""
    if answer.problem is not None:
        return format_html('<p class="answer">Not readable: {}</p>', answer.problem.line)
    names = join_markup(map(format_class_name, answer.labels), ", ")
    reason = answer.abstained or answer.notice
    is_exclusive = served.fitted.posterior_type.is_exclusive
    choices = (
        _format_choice(ranked, answer, is_exclusive=is_exclusive, can_correct=can_correct)
        for ranked in answer.ranked[:MAX_CHOICES]
    )
    others = [ranked.label for ranked in answer.ranked[MAX_CHOICES:]]
    return format_html(
        '<p class="answer" role="status">{prediction}{probability}{reason}</p>'
        '<p class="note">{hint}</p><ul class="choices">{choices}</ul>{others}',
        prediction=names or "No prediction",
        probability=_format_probability(answer),
        reason=f" ({reason})" if reason else "",
        hint="Choose the right label to store it:" if can_correct else "The likeliest classes:",
        choices=choices,
        others=_format_others(others, is_exclusive=is_exclusive) if can_correct else NO_MARKUP,
    )


def _format_probability(answer: Answer) -> str:
    return (
        "" if answer.probability is None else f", probability {format_percent(answer.probability)}"
    )


def _format_choice(
    ranked: RankedClass, answer: Answer, *, is_exclusive: bool, can_correct: bool
) -> Markup:
    """Return a class with its probability: a button, or with several labels a box to tick."""
    is_predicted = ranked.label in answer.labels
    percentage = format_percent(ranked.probability)
    name = format_class_cell(ranked.label)
    value = format_verbatim(ranked.label)
    control = name
    if can_correct and is_exclusive:
        control = format_html(
            '<button formaction="/correct" name="label" value="{}">{}</button>', value, name
        )
    elif can_correct:
        control = format_html(
            '<label><input type="checkbox" name="label" value="{}"{}>{}</label>',
            value,
            Markup(" checked") if is_predicted else NO_MARKUP,
            name,
        )
    return format_html(
        '<li{}><span>{}</span><span class="number">{}</span>{}</li>',
        Markup(' class="predicted"') if is_predicted else NO_MARKUP,
        control,
        percentage,
        draw_bar(ranked.probability, percentage),
    )


def _format_others(labels: Sequence[str], *, is_exclusive: bool) -> Markup:
    """Return a list of the other classes, and the button that stores the label."""
    options = (
        format_html('<option value="{}">{}</option>', format_verbatim(label), label)
        for label in sorted(labels)
    )
    choice = NO_MARKUP
    if labels:
        choice = format_html(
            '<label>Another class <select name="other"{}><option value=""></option>{}</select>'
            "</label>",
            NO_MARKUP if is_exclusive else Markup(" multiple"),
            options,
        )
    if not labels and is_exclusive:
        return NO_MARKUP
    return format_html(
        '<p class="row">{}<button formaction="/correct">Store the label</button></p>', choice
    )


def _format_explanations(served: ServedModel, document: Document) -> Markup:
    """Return the text with coloured words, unless the model has a single class."""
    if len(served.model.classes) < served.fitted.posterior_type.min_labels:
        return NO_MARKUP
    contents = (
        format_explained_document(explained, DEFAULT_TOP)
        for explained in served.explain([document])
    )
    return format_html(
        '<section class="document" aria-labelledby="words"><h2 id="words">Contributions of the '
        "words</h2>{}</section>",
        contents,
    )
