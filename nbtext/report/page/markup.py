"""Markup of HTML pages: templates that escape their arguments, parts of sections, whole pages.

All text is escaped unless it is `Markup`, which only this module makes. The same data give the
same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, LiteralString

from nbtext.report.output_formats import escape_controls, shorten_middle
from nbtext.store.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).parent

MAX_PAGE_LABEL_CHARS = 60
"""A longer label is shortened in the middle."""

_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\ufdd0-\ufdef"
    "\U000e0000-\U000e007f]"
)
"""Characters without width that `escape_controls` keeps, and the Arabic letter mark.

They are removed, which does not change how a text reads.
"""


class Markup(str):
    """Text that is HTML. Only this module makes it from other text."""

    __slots__ = ()


NO_MARKUP = Markup()


def _escape(value: object) -> Markup:
    r"""Return a text, number or iterable of them as markup that is safe in elements and attributes.

    Control and direction characters become codes, floats have at most two decimals, the items of
    an iterable are joined, and `Markup` is returned unchanged.

    >>> _escape('<b> & "\u202e"'), _escape([Markup("<b>"), "<"]), _escape(2.5049)
    ('&lt;b&gt; &amp; &quot;\\u202e&quot;', '<b>&lt;', '2.5')
    """
    if isinstance(value, Markup):
        return value
    if isinstance(value, float):  # a coordinate
        value = f"{value:.2f}".rstrip("0").rstrip(".")
    if not isinstance(value, str) and isinstance(value, Iterable):
        return join_markup(value)
    return Markup(escape(escape_controls(_INVISIBLE.sub("", str(value)))))


def join_markup(values: Iterable[object], separator: object = "") -> Markup:
    """Return the escaped values with the escaped separator between them."""
    return Markup(_escape(separator).join(map(_escape, values)))


def format_html(template: LiteralString, *values: object) -> Markup:
    """Return a template of `str.format` filled with the escaped values.

    >>> format_html('<p class="{}">{}</p>', "note", "a < b")
    '<p class="note">a &lt; b</p>'
    """
    return Markup(template.format(*map(_escape, values)))


def format_attribute(name: LiteralString, value: object) -> Markup:
    """Return an attribute of an element with a space before it, or no markup for None."""
    return NO_MARKUP if value is None else format_html(' {}="{}"', name, value)


def insert_word_breaks(name: str) -> Markup:
    """Return a name with optional line breaks after the signs between its words.

    >>> insert_word_breaks("a.b_c")
    'a.<wbr>b_<wbr>c'
    """
    return join_markup(re.split(r"(?<=[._/:-])(?=[^._/:-])", name), Markup("<wbr>"))


def format_note(template: LiteralString, *values: object) -> Markup:
    """Return a paragraph that explains a figure, from a template as in `format_html`."""
    return format_html('<p class="note">{}</p>', format_html(template, *values))


def format_class_name(label: str) -> Markup:
    """Return the name of a class for running text, in bold."""
    return format_html('<b class="data">{}</b>', shorten_middle(label, MAX_PAGE_LABEL_CHARS))


def format_class_cell(label: str) -> Markup:
    """Return the name of a class for a table cell, with optional line breaks."""
    name = insert_word_breaks(shorten_middle(label, MAX_PAGE_LABEL_CHARS))
    return format_html('<span class="data">{}</span>', name)


def format_html_table(
    caption: str,
    headings: Mapping[str, str | None],
    rows: Iterable[Sequence[object]],
    *,
    bars: bool = False,
) -> Markup:
    """Return a table; ``headings`` maps the heading of each column to a CSS class of its cells.

    The CSS class is ``number`` for numbers, ``wide`` for a column that narrow screens hide, both
    with a space between them, or None. With ``bars`` the table is styled for bars: its caption is
    hidden, and the first cell of each row is a heading.
    """
    css_classes = list(headings.values())
    heading_cells = (
        format_html('<th scope="col"{}>{}</th>', format_attribute("class", css_class), name)
        for name, css_class in headings.items()
    )
    return format_html(
        "<table "
        'class="{}"><caption{}>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>',
        "bars" if bars else "plain",
        format_attribute("class", "unseen" if bars else None),
        caption,
        heading_cells,
        (_format_row(row, css_classes, has_heading=bars) for row in rows),
    )


def _format_row(
    row: Sequence[object], css_classes: Sequence[str | None], *, has_heading: bool
) -> Markup:
    cells = []
    for column, (value, css_class) in enumerate(zip(row, css_classes, strict=True)):
        template: LiteralString = "<td{}>{}</td>"
        if has_heading and column == 0:
            template = '<th scope="row"{}>{}</th>'
        cells.append(format_html(template, format_attribute("class", css_class), value))
    return format_html("<tr>{}</tr>", cells)


def make_scrollable(content: Markup, name: str) -> Markup:
    """Return a frame that scrolls content wider than the page, also with the keyboard.

    ``name`` is the label of the frame for screen readers.
    """
    return format_html(
        '<div class="scroll" role="region" aria-label="{}" tabindex="0">{}</div>', name, content
    )


def build_page(
    title: str, sections: Sequence[tuple[str, object, Markup]], *further_styles: str
) -> str:
    """Return a page of HTML that needs no other files and has no script.

    ``sections`` have an anchor, a name for the table of contents, and their markup.
    ``further_styles`` are names of style sheets to add to the common one.
    """
    links = (
        format_html('<li><a href="#{}">{}</a></li>', anchor, name) for anchor, name, _ in sections
    )
    return Template(_read_resource("page.html")).substitute(
        title=_escape(title),
        style="".join(map(_read_resource, ("style.css", *further_styles))),
        contents=_escape(links),
        content="\n".join(content for *_, content in sections),
    )


def _read_resource(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def write_html(path: str, page: str) -> None:
    """Replace a file with a page, encoded in UTF-8. Raise `PathError` if that fails."""
    replace_file(path, lambda file: file.writelines([page.encode("utf-8", "replace")]))
