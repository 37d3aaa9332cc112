"""Markup of pages: elements in which every text is escaped unless this module made it, the parts of sections, and the page around them.

The same data give the same bytes.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from string import Template
from typing import IO, TYPE_CHECKING

from nbtext.report.forms import shortened, visible
from nbtext.store.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Heads = Sequence[tuple[str, str | None]]
    """Heads of columns with their classes: ``number`` for columns of numbers, ``wide`` for those left out where there is little room."""

HERE = Path(__file__).parent

LABEL = 60
"""Characters of a label."""

VOID = frozenset({"br", "hr", "meta", "wbr"})

_UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\ufdd0-\ufdef\U000e0000-\U000e007f]")
"""Characters of no width, and the Arabic letter mark, beyond those that `visible` shows. Text reads the same without them."""


class Markup(str):
    """Text that is HTML. Only this module makes it from other text."""

    __slots__ = ()


NOTHING = Markup()


def escaped(text: object) -> Markup:
    r"""Return text that is inert in elements and in quoted attributes, with codes for control and direction characters.

    >>> escaped('<b> & "\u202e"')
    '&lt;b&gt; &amp; &quot;\\u202e&quot;'
    """
    return text if isinstance(text, Markup) else Markup(escape(visible(_UNSEEN.sub("", str(text)))))


def joined(parts: Iterable[object], between: object = "") -> Markup:
    """Return the parts one after the other, plain text escaped."""
    return Markup(escaped(between).join(escaped(part) for part in parts))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """Return an element. Attributes that are None are left out; ``class_`` is class, and an underscore stands for a hyphen.

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    inside = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_number(value))}"' for key, value in attributes.items() if value is not None
    )
    return Markup(f"<{name}{inside}>" if name in VOID else f"<{name}{inside}>{joined(children)}</{name}>")


def _number(value: object) -> object:
    """Return coordinates with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def breakable(text: str) -> Markup:
    """Return a name that may be broken after the signs between its words.

    >>> breakable("a.b_c")
    'a.<wbr>b_<wbr>c'
    """
    return joined(re.split(r"(?<=[._/:-])(?=[^._/:-])", text), element("wbr"))


def section(name: str, heading: str, *content: object) -> Markup:
    """Return a part of the page, with a heading that the table of contents points to."""
    return element("section", element("h2", heading, id=name), *content, aria_labelledby=name, class_=name)


def note(*parts: object) -> Markup:
    """Return a paragraph that explains."""
    return element("p", *parts, class_="note")


def class_name(label: str) -> Markup:
    """Return the name of a class, set off from the words around it."""
    return element("b", shortened(label, LABEL), class_="data")


def class_cell(label: str) -> Markup:
    """Return the name of a class for a table, where it may be broken."""
    return element("span", breakable(shortened(label, LABEL)), class_="data")


def table(
    caption: str,
    heads: Heads,
    rows: Iterable[Sequence[object]],
    *,
    kind: str = "plain",
    caption_class: str | None = None,
    names: bool = False,
) -> Markup:
    """Return a table of rows, whose cells have the classes of their heads; with ``names`` the first cell of each row is its head."""
    lines = (
        [element("th" if names and not place else "td", cell, scope="row" if names and not place else None, class_=of_column)
         for place, (cell, (_, of_column)) in enumerate(zip(row, heads, strict=True))]
        for row in rows
    )  # fmt: skip
    return element(
        "table",
        element("caption", caption, class_=caption_class),
        element("thead", element("tr", *(element("th", name, scope="col", class_=of_column) for name, of_column in heads))),
        element("tbody", *(element("tr", *line) for line in lines)),
        class_=kind,
    )


def preformatted(text: str) -> Markup:
    """Return an element whose lines stay as they are."""
    return element("pre", Markup("\n".join(map(escaped, text.split("\n")))))


def scrolling(content: Markup, name: str) -> Markup:
    """Return a frame for what may be wider than the page, which keys can scroll."""
    return element("div", content, class_="scroll", role="region", aria_label=name, tabindex=0)


def whole_page(title: str, parts: Sequence[tuple[str, object, Markup]], *further_styles: str) -> str:
    """Return a self-contained page of HTML, without script: sections, each with its anchor and its name in the contents, in the common style."""
    return Template(_resource("page.html")).substitute(
        title=escaped(title),
        style=Markup("".join(map(_resource, ("style.css", *further_styles)))),
        contents="".join(element("li", element("a", name, href=f"#{anchor}")) for anchor, name, _ in parts),
        content="\n".join(content for _, _, content in parts),
    )


def _resource(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def write_html(path: str, page: str) -> None:
    """Replace a file with a page as UTF-8. Raises `PathError` if it cannot be written."""
    encoded = page.encode("utf-8", "replace")

    def write(file: IO[bytes]) -> None:
        file.write(encoded)

    replace_file(path, write)
