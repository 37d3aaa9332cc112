"""Markup of pages: templates in which every text is escaped unless this module made it, the parts of sections, and the page around them.

The same data give the same bytes.
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
"""Characters of a label."""

_UNSEEN = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\ufdd0-\ufdef"
    "\U000e0000-\U000e007f]"
)
"""Characters of no width, and the Arabic letter mark, beyond those that `visible` shows. Text reads the same without them."""


class Markup(str):
    """Text that is HTML. Only this module makes it from other text."""

    __slots__ = ()


NO_MARKUP = Markup()


def _escape(part: object) -> Markup:
    r"""Return text that is inert in elements and in quoted attributes, with codes for control and direction characters; several parts are joined.

    >>> _escaped('<b> & "\u202e"'), _escaped([Markup("<b>"), "<"]), _escaped(2.5049)
    ('&lt;b&gt; &amp; &quot;\\u202e&quot;', '<b>&lt;', '2.5')
    """
    if isinstance(part, Markup):
        return part
    if isinstance(part, float):  # a coordinate
        part = f"{part:.2f}".rstrip("0").rstrip(".")
    if not isinstance(part, str) and isinstance(part, Iterable):
        return join_markup(part)
    return Markup(escape(escape_controls(_UNSEEN.sub("", str(part)))))


def join_markup(parts: Iterable[object], between: object = "") -> Markup:
    """Return the parts one after the other, plain text escaped."""
    return Markup(_escape(between).join(map(_escape, parts)))


def format_html(template: LiteralString, *parts: object) -> Markup:
    """Return markup with the escaped parts in place of its braces, as `str.format` puts them.

    >>> html('<p class="{}">{}</p>', "note", "a < b")
    '<p class="note">a &lt; b</p>'
    """
    return Markup(template.format(*map(_escape, parts)))


def format_attribute(name: LiteralString, value: object) -> Markup:
    """Return an attribute of an element, nothing for None."""
    return NO_MARKUP if value is None else format_html(' {}="{}"', name, value)


def insert_word_breaks(text: str) -> Markup:
    """Return a name that may be broken after the signs between its words.

    >>> breakable("a.b_c")
    'a.<wbr>b_<wbr>c'
    """
    return join_markup(re.split(r"(?<=[._/:-])(?=[^._/:-])", text), Markup("<wbr>"))


def format_note(template: LiteralString, *parts: object) -> Markup:
    """Return a paragraph that explains."""
    return format_html('<p class="note">{}</p>', format_html(template, *parts))


def format_class_name(label: str) -> Markup:
    """Return the name of a class, set off from the words around it."""
    return format_html('<b class="data">{}</b>', shorten_middle(label, MAX_PAGE_LABEL_CHARS))


def format_class_cell(label: str) -> Markup:
    """Return the name of a class for a table, where it may be broken."""
    return format_html(
        '<span class="data">{}</span>',
        insert_word_breaks(shorten_middle(label, MAX_PAGE_LABEL_CHARS)),
    )


def format_html_table(
    caption: str,
    heads: Mapping[str, str | None],
    rows: Iterable[Sequence[object]],
    *,
    bars: bool = False,
) -> Markup:
    """Return a table of rows under heads, whose cells have the classes of their heads; of ``bars`` the first cell of each row is its head.

    Heads have the classes ``number`` over columns of numbers, ``wide`` over those left out where there is little room.
    """
    lines = (
        format_html(
            "<tr>{}</tr>",
            (
                format_html(
                    '<th scope="row"{}>{}</th>' if bars and not place else "<td{}>{}</td>",
                    format_attribute("class", of_column),
                    cell,
                )
                for place, (cell, of_column) in enumerate(zip(row, heads.values(), strict=True))
            ),
        )
        for row in rows
    )
    return format_html(
        "<table "
        'class="{}"><caption{}>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>',
        "bars" if bars else "plain",
        format_attribute("class", "unseen" if bars else None),
        caption,
        (
            format_html('<th scope="col"{}>{}</th>', format_attribute("class", of_column), name)
            for name, of_column in heads.items()
        ),
        lines,
    )


def make_scrollable(content: Markup, name: str) -> Markup:
    """Return a frame for what may be wider than the page, which keys can scroll."""
    return format_html(
        '<div class="scroll" role="region" aria-label="{}" tabindex="0">{}</div>', name, content
    )


def build_page(
    title: str, parts: Sequence[tuple[str, object, Markup]], *further_styles: str
) -> str:
    """Return a self-contained page of HTML, without script: sections, each with its anchor and its name in the contents, in the common style."""
    return Template(_resource("page.html")).substitute(
        title=_escape(title),
        style="".join(map(_resource, ("style.css", *further_styles))),
        contents=_escape(
            format_html('<li><a href="#{}">{}</a></li>', anchor, name) for anchor, name, _ in parts
        ),
        content="\n".join(content for _, _, content in parts),
    )


def _resource(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def write_html(path: str, page: str) -> None:
    """Replace a file with a page as UTF-8. Raises `PathError` if it cannot be written."""
    replace_file(path, lambda file: file.writelines([page.encode("utf-8", "replace")]))
