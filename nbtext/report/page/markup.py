"""HTML that cannot be broken by what stands in it: every text is escaped unless this module made it.

What the sections of a report are made of: headings, notes, heads of tables, frames that scroll.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from nbtext.report.forms import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


VOID = frozenset({"br", "hr", "meta", "wbr"})


_UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\ufdd0-\ufdef\U000e0000-\U000e007f]")
"""Beyond what `visible` shows: characters of no width, and the Arabic letter mark. They are left out: text reads the same without them."""


class Markup(str):
    """Text that is HTML already. Only this module makes it from text that is not."""

    __slots__ = ()


NOTHING = Markup()


def escaped(text: object) -> Markup:
    r"""Text for people, inert in elements and in quoted attributes; control and direction characters as their codes.

    >>> escaped('<b> & "\u202e"')
    '&lt;b&gt; &amp; &quot;\\u202e&quot;'
    """
    return text if isinstance(text, Markup) else Markup(escape(visible(_UNSEEN.sub("", str(text)))))


def joined(parts: Iterable[object], between: object = "") -> Markup:
    """The parts one after the other, those that are plain text escaped."""
    return Markup(escaped(between).join(escaped(part) for part in parts))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. Attributes that are None are left out; ``class_`` is class, and an underscore stands for a hyphen.

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    inside = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_number(value))}"' for key, value in attributes.items() if value is not None
    )
    return Markup(f"<{name}{inside}>" if name in VOID else f"<{name}{inside}>{joined(children)}</{name}>")


def _number(value: object) -> object:
    """Coordinates with two decimals at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def breakable(text: str) -> Markup:
    """A name that may be broken after the signs that part its words.

    >>> breakable("a.b_c")
    'a.<wbr>b_<wbr>c'
    """
    return joined(re.split(r"(?<=[._/:-])(?=[^._/:-])", text), element("wbr"))


def shortened(text: str, most: int) -> str:
    """The text, its middle left out where it has more than ``most`` characters.

    >>> shortened("a very long label", 9)
    'a ve…abel'
    """
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[: most - 1 - half]}…{text[-half:]}"


LABEL = 60
"""Characters of a label in a table."""


def section(name: str, heading: str, *content: object) -> Markup:
    """A part of the page, with a heading that the table of contents points to."""
    return element("section", element("h2", heading, id=name), *content, aria_labelledby=name, class_=name)


def note(*parts: object) -> Markup:
    """A paragraph that explains."""
    return element("p", *parts, class_="note")


def heads(names: Sequence[str], numeric: Sequence[str], wide: Sequence[str] = (), *, plain: Sequence[str] = ()) -> Markup:
    """A row of column heads; those of ``wide`` are left out where there is little room."""
    kinds = ((names, None), (numeric, "number"), (wide, "number wide"), (plain, None))
    return element("tr", *(element("th", name, scope="col", class_=kind) for group, kind in kinds for name in group))


def scrolling(content: Markup, name: str) -> Markup:
    """What may be wider than the page, in a frame of its own that keys can scroll."""
    return element("div", content, class_="scroll", role="region", aria_label=name, tabindex=0)
