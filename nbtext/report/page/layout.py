"""What the sections of a report are made of: headings, notes, heads of tables, frames that scroll."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.report.page.markup import Markup, element

if TYPE_CHECKING:
    from collections.abc import Sequence


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
