"""Make HTML for `nbtext report` and `nbtext explain`, from single elements to whole pages.

Templates escape all values except `Markup`. Other modules make `Markup` only with the functions of
this module, or from constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from string import Template
from typing import IO, TYPE_CHECKING, LiteralString, NamedTuple

from nbtext.report.output_formats import escape_controls, shorten_middle
from nbtext.store.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).parent

MAX_PAGE_LABEL_CHARS = 60
"""Longer labels are shortened in the middle."""

_INVISIBLE = re.compile(
    "["
    "\u00ad"  # soft hyphen
    "\u061c"  # Arabic letter mark
    "\u180e"  # Mongolian vowel separator
    "\u200b-\u200d"  # zero-width space and joiners
    "\u2060-\u2065\u206a-\u206f"  # word joiner, invisible operators, deprecated controls
    "\ufeff"  # byte order mark
    "\ufff9-\ufffb"  # interlinear annotation
    "\ufdd0-\ufdef"  # code points that are no characters
    "\U000e0000-\U000e007f"  # tags
    "]"
)
"""Matches a character without width that `escape_controls` keeps.

These characters are removed, which does not change how a text reads.
"""


class Markup(str):
    """Text that is HTML, with all its values escaped."""

    __slots__ = ()


NO_MARKUP = Markup()
"""The markup of an omitted element or attribute."""


def _escape(value: object) -> Markup:
    r"""Return a value as markup that is safe in elements and attributes.

    `Markup` is returned unchanged. In texts, control and direction characters become codes. Floats
    are coordinates, and get up to two decimals. The escaped items of iterables are joined.

    >>> _escape('<b> & "\u202e"'), _escape([Markup("<b>"), "<"]), _escape(2.5049)
    ('&lt;b&gt; &amp; &quot;\\u202e&quot;', '<b>&lt;', '2.5')
    """
    if isinstance(value, Markup):
        return value
    if isinstance(value, float):
        value = f"{value:.2f}".rstrip("0").rstrip(".")
    if not isinstance(value, str) and isinstance(value, Iterable):
        return join_markup(value)
    return Markup(escape(escape_controls(_INVISIBLE.sub("", str(value)))))


def join_markup(values: Iterable[object], separator: object = "") -> Markup:
    """Return the escaped values, with the escaped separator between two of them."""
    return Markup(_escape(separator).join(map(_escape, values)))


def format_html(template: LiteralString, *values: object, **named_values: object) -> Markup:
    """Return a template of `str.format` filled with the escaped values.

    >>> format_html('<p class="{}">{text}</p>', "note", text="a < b")
    '<p class="note">a &lt; b</p>'
    """
    escaped_by_name = {name: _escape(value) for name, value in named_values.items()}
    return Markup(template.format(*map(_escape, values), **escaped_by_name))


def format_attribute(name: LiteralString, value: object) -> Markup:
    """Return an attribute of an element with a space before it, or no markup for None."""
    return NO_MARKUP if value is None else format_html(' {}="{}"', name, value)


def format_verbatim(text: str) -> Markup:
    """Return a text for the value of a form field, with all its characters.

    >>> format_verbatim('a"b\u200bc')
    'a&quot;b\u200bc'
    """
    return Markup(escape(text))


def insert_word_breaks(name: str) -> Markup:
    """Return a name with optional line breaks after the signs between its words.

    >>> insert_word_breaks("a.b_c")
    'a.<wbr>b_<wbr>c'
    """
    return join_markup(re.split(r"(?<=[._/:-])(?=[^._/:-])", name), Markup("<wbr>"))


def format_note(template: LiteralString, *values: object) -> Markup:
    """Return a paragraph that explains a chart or table, from a template as in `format_html`."""
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
    """Return a table. ``headings`` are the headings of the columns, with the CSS class of cells.

    The CSS class is ``number`` for numbers, ``wide`` for a column that only wide screens show,
    ``number wide`` for numbers that only wide screens show, or None. With ``bars`` the table is
    styled for bars: its caption is hidden, and the first cell of each row is a heading.
    """
    table_class = "plain"
    caption_class = None
    if bars:
        table_class = "bars"
        caption_class = "unseen"
    heading_row = (
        format_html('<th scope="col"{}>{}</th>', format_attribute("class", css_class), name)
        for name, css_class in headings.items()
    )
    body = (_format_row(row, headings.values(), has_heading=bars) for row in rows)
    return join_markup(
        (
            format_html('<table class="{}">', table_class),
            format_html(
                "<caption{}>{}</caption>", format_attribute("class", caption_class), caption
            ),
            format_html("<thead><tr>{}</tr></thead>", heading_row),
            format_html("<tbody>{}</tbody></table>", body),
        )
    )


def _format_row(
    row: Sequence[object], css_classes: Iterable[str | None], *, has_heading: bool
) -> Markup:
    """Return a row of a table. With ``has_heading``, its first cell is a heading."""
    cells = []
    for column, (value, css_class) in enumerate(zip(row, css_classes, strict=True)):
        template: LiteralString = "<td{}>{}</td>"
        if has_heading and column == 0:
            template = '<th scope="row"{}>{}</th>'
        cells.append(format_html(template, format_attribute("class", css_class), value))
    return format_html("<tr>{}</tr>", cells)


def make_scrollable(content: Markup, name: str) -> Markup:
    """Return a frame that can scroll content that is wider than the page, even by keyboard.

    ``name`` is the label of the frame for screen readers.
    """
    return format_html(
        '<div class="scroll" role="region" aria-label="{}" tabindex="0">{}</div>', name, content
    )


class Section(NamedTuple):
    """A section of a page, with its entry in the table of contents."""

    anchor: str
    """The id of the heading, to which the entry links."""
    name: str
    """The text of the entry."""
    content: Markup


def build_page(title: str, sections: Sequence[Section], *further_styles: str) -> str:
    """Return a page of HTML that needs no other files and has no script.

    ``further_styles`` are names of style sheets that follow ``style.css``.
    """
    links = (
        format_html('<li><a href="#{}">{}</a></li>', section.anchor, section.name)
        for section in sections
    )
    return Template(_read_resource("page.html")).substitute(
        title=_escape(title),
        style=read_style(*further_styles),
        links=_escape(links),
        sections="\n".join(section.content for section in sections),
    )


def read_style(*further_styles: str) -> str:
    """Return ``style.css`` with further style sheets of this package."""
    return "".join(map(_read_resource, ("style.css", *further_styles)))


def _read_resource(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def write_html(path: str, page: str) -> None:
    """Replace a file with a page, encoded in UTF-8. Raise `PathError` if that fails."""

    def write(file: IO[bytes]) -> None:
        file.write(page.encode())

    replace_file(path, write)
