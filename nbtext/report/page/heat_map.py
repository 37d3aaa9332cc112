"""The confusion of classes as a shaded table: rows are true classes, columns answers, the darker the larger the share of the row."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from nbtext.errors import counted
from nbtext.report.page.figures import percent
from nbtext.report.page.markup import Markup, breakable, element, escaped, joined, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.evaluation.gathering import ClassFigures, Confusion

MISTAKE_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
HIT_STEPS = (0.25, 0.5, 0.75, 0.9)
"""Shares of a row at which the shade changes: mistakes are rare and need finer steps where they are."""

MOST_CLASSES = 100
MOST_WITH_NUMBERS = 30
"""With more classes cells are too small for numbers, which then show when one points at them."""

LABEL = 28
"""Characters of a label at the table's edge."""


def shade(share: float, *, hit: bool) -> str:
    """The style's class for a share of the row that is above 0.

    >>> shade(0.8, hit=True), shade(0.03, hit=False)
    ('h3', 'm2')
    """
    return f"h{bisect_right(HIT_STEPS, share)}" if hit else f"m{bisect_right(MISTAKE_STEPS, share)}"


def chosen_classes(per_class: Sequence[ClassFigures], most: int) -> list[ClassFigures]:
    """Those of which or for which there are documents, in order; if they are more than ``most``, those with most of them."""
    present = [figures for figures in per_class if figures.support or figures.answered]
    if len(present) <= most:
        return present
    kept = set(sorted(range(len(present)), key=lambda at: (-present[at].support - present[at].answered, at))[:most])
    return [figures for at, figures in enumerate(present) if at in kept]


def heat_map(per_class: Sequence[ClassFigures], confusion: Sequence[Confusion]) -> Markup:
    """The table, with a caption; classes as `chosen_classes` has them, cells of others left out."""
    classes = [figures.label for figures in per_class]
    support = {figures.label: figures.support for figures in per_class}
    cells = {(cell.truth, cell.answer): cell.n for cell in confusion}
    small = len(classes) > MOST_WITH_NUMBERS
    rows = [
        element(
            "tr",
            _head(truth, "row"),
            joined(_cell(truth, answer, cells.get((truth, answer), 0), support[truth], small=small) for answer in classes),
        )
        for truth in classes
    ]
    head = element("tr", element("td", _corner(), class_="corner"), joined(_head(answer, "col") for answer in classes))
    return element(
        "table",
        element("caption", "Documents by true class (rows) and answer (columns)", class_="unseen"),
        element("thead", head),
        element("tbody", *rows),
        class_="heat small" if small else "heat",
    )


def legend() -> Markup:
    """What the shades mean."""
    return element("div", _scale("Right", "h", HIT_STEPS), _scale("Wrong", "m", MISTAKE_STEPS), class_="legend")


def _scale(name: str, kind: str, steps: Sequence[float]) -> Markup:
    """A swatch for each shade, with the share at which it begins."""
    begins = ["above 0", *(percent(step, 0) for step in steps)]
    swatches = [element("span", begin, class_=f"swatch {kind}{number}") for number, begin in enumerate(begins)]
    return element("p", element("span", f"{name}, share of the class from ", class_="name"), *swatches)


def _cell(truth: str, answer: str, n: int, support: int, *, small: bool) -> Markup:
    hit = truth == answer
    if not n:
        return element("td", class_="none" if hit else None)
    names = f"{shortened(truth, LABEL)}, right" if hit else f"{shortened(truth, LABEL)} taken for {shortened(answer, LABEL)}"
    words = f"{names}: {n:,} of {counted(support, 'document')}, {percent(n / support)}"
    number = element("span", f"{n:,}", class_="unseen") if small else escaped(f"{n:,}")
    return element("td", number, class_=shade(n / support, hit=hit), title=words)


def _head(label: str, scope: str) -> Markup:
    name = shortened(label, LABEL) if scope == "col" else breakable(shortened(label, LABEL))
    return element("th", element("span", name, class_="data"), scope=scope, title=label if len(label) > LABEL else None)


def _corner() -> Markup:
    return element("span", "true class ↓ answer →")
