"""Charts as SVG from plain values: bars, reliability diagrams, learning curves. Colours and letters come from the page's style.

The confusion of classes as a shaded table: rows are true classes, columns answers, the darker the larger the share of the row.
"""

from __future__ import annotations

from bisect import bisect_right
from math import ceil, floor, log10
from typing import TYPE_CHECKING, NamedTuple

from nbtext.errors import quantity
from nbtext.report.numbers import percent, percent_interval
from nbtext.report.page.markup import NOTHING, Markup, breakable, element, escaped, joined, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nbtext.evaluation.gathering import Bin, ClassFigures, Confusion, Forecast, LearningPoint


BAR_WIDTH, BAR_HEIGHT = 100.0, 8.0


class Box(NamedTuple):
    """Where a plot stands in its picture; y grows downwards, as in SVG."""

    left: float
    top: float
    width: float
    height: float

    def x(self, share: float) -> float:
        """The place of a share of the width."""
        return self.left + share * self.width

    def y(self, share: float) -> float:
        """The place of a share of the height, 0 at the bottom."""
        return self.top + (1 - share) * self.height


SQUARE = Box(46.0, 12.0, 280.0, 280.0)
"""Where a reliability diagram's points are."""


COUNTS = Box(46.0, 310.0, 280.0, 44.0)
"""Where its counts stand, below."""


CURVE = Box(46.0, 12.0, 560.0, 240.0)
"""Where a learning curve is."""


FEW = 20
"""Answers in a bin below which it is drawn faintly: its interval is long and it says little."""


QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


def bar(value: float, meaning: str, low: float | None = None, high: float | None = None) -> Markup:
    """A share as a bar from 0 to 1, with the bounds of its interval as a line. The picture stretches to the width that it is given."""
    parts = [
        element("title", meaning),
        element("rect", class_="track", width=BAR_WIDTH, height=BAR_HEIGHT),
        element("rect", class_="value", width=value * BAR_WIDTH, height=BAR_HEIGHT),
    ]
    if low is not None and high is not None:
        parts.append(_line("whisker", low * BAR_WIDTH, BAR_HEIGHT / 2, high * BAR_WIDTH, BAR_HEIGHT / 2))
    return element("svg", *parts, class_="bar", viewBox=f"0 0 {BAR_WIDTH:g} {BAR_HEIGHT:g}", preserveAspectRatio="none", aria_hidden="true")


def reliability_diagram(bins: Sequence[Bin], series: str, label: str) -> Markup:
    """The share of right answers against the mean probability of the bin, with intervals; below, the documents of each bin.

    ``series`` is the class of the style that gives the colour; on the diagonal probabilities say what happens.
    """
    most = max((part.n for part in bins), default=1)
    spots = [(SQUARE.x(part.confidence), SQUARE.y(part.right.value or 0.0)) for part in bins]
    groups = []
    for part, (x, y) in zip(bins, spots, strict=True):
        height = COUNTS.height * part.n / most
        groups.append(
            element(
                "g",
                element("title", _bin_in_words(part)),
                _line("whisker", x, SQUARE.y(part.right.low or 0.0), x, SQUARE.y(part.right.high or 0.0)),
                element("circle", cx=x, cy=y, r=4),
                element("rect", class_="count", x=x - 5, y=COUNTS.top + COUNTS.height - height, width=10, height=height),
                class_="few" if part.n < FEW else None,
            )
        )
    return element(
        "svg",
        joined(_line("grid", SQUARE.left, SQUARE.y(at), SQUARE.x(1), SQUARE.y(at)) for at in QUARTERS),
        joined(_line("grid", SQUARE.x(at), SQUARE.top, SQUARE.x(at), SQUARE.y(0)) for at in QUARTERS),
        joined(_text("y", SQUARE.left - 8, SQUARE.y(at) + 4, percent(at, 0)) for at in QUARTERS),
        _line("ideal", SQUARE.x(0), SQUARE.y(0), SQUARE.x(1), SQUARE.y(1)),
        _polyline("path", spots),
        _line("base", COUNTS.left, COUNTS.y(0), COUNTS.x(1), COUNTS.y(0)),
        _text("y", COUNTS.left - 8, COUNTS.top + 8, f"{most:,}"),
        _text("y", COUNTS.left - 8, COUNTS.y(0) + 1, "0"),
        joined(groups),
        joined(_text("x", SQUARE.x(at), COUNTS.y(0) + 18, percent(at, 0)) for at in QUARTERS),
        class_=f"chart {series}",
        viewBox="0 0 340 380",
        role="img",
        aria_label=label,
    )


def learning_curve(points: Sequence[LearningPoint], label: str, forecast: Forecast | None = None) -> Markup:
    """Accuracy with its band, and macro F1, against the number of training documents, which grows by factors to the right.

    A forecast, if it has a value, is a ring with its interval at the end of a dashed line.
    """
    expected = forecast if forecast is not None and forecast.accuracy.value is not None else None
    bounds = points[0].documents, points[-1].documents if expected is None else expected.documents
    values = [value for point in points for value in (point.low, point.high, point.macro_f1)]
    if expected is not None:
        values += [value for value in expected.accuracy if value is not None]
    lowest, highest = floor(10 * min(values)) / 10, ceil(10 * max(values)) / 10
    span, along = max(highest - lowest, 0.1), logarithmic(*bounds)

    def place(documents: int, value: float) -> tuple[float, float]:
        return CURVE.x(along(documents)), CURVE.y((value - lowest) / span)

    accuracy = [place(point.documents, point.accuracy) for point in points]
    band = [place(point.documents, point.low) for point in points] + [place(point.documents, point.high) for point in reversed(points)]
    levels = [lowest + step / 10 for step in range(round(span * 10) + 1)]
    heights = [CURVE.y((level - lowest) / span) for level in levels]
    ticks = {n: CURVE.x(along(n)) for n in round_numbers(*bounds)}
    large = {n for n in ticks if str(n)[0] == "1"} or set(ticks)
    dots = [
        element("g", element("title", _point_in_words(point)), element("circle", class_="first", cx=x, cy=y, r=4))
        for point, (x, y) in zip(points, accuracy, strict=True)
    ]
    return element(
        "svg",
        joined(_line("grid", CURVE.left, y, CURVE.x(1), y) for y in heights),
        joined(_text("y", CURVE.left - 8, y + 4, percent(level, 0)) for y, level in zip(heights, levels, strict=True)),
        joined(_line("grid", x, CURVE.top, x, CURVE.y(0)) for x in ticks.values()),
        joined(_text("x" if n in large else "x minor", x, CURVE.y(0) + 20, f"{n:,}") for n, x in ticks.items()),
        element("polygon", class_="band", points=_points(band)),
        _polyline("second", [place(point.documents, point.macro_f1) for point in points]),
        _polyline("first", accuracy),
        NOTHING if expected is None else _ring(expected, accuracy[-1], place),
        joined(dots),
        class_="chart curve",
        viewBox="0 0 620 284",
        role="img",
        aria_label=label,
    )


def _ring(forecast: Forecast, last: tuple[float, float], place: Callable[[int, float], tuple[float, float]]) -> Markup:
    """A forecast that has a value, after the last point of the curve."""
    value, low, high = forecast.accuracy
    x, y = place(forecast.documents, value or 0.0)
    ends = (
        []
        if low is None or high is None
        else [_line("whisker", x, place(forecast.documents, low)[1], x, place(forecast.documents, high)[1])]
    )
    words = (
        f"{quantity(forecast.documents, 'document')}: forecast {percent(value)}, 95\u00a0% interval {percent_interval(forecast.accuracy)}"
    )
    return element("g", element("title", words), _line("ahead", *last, x, y), *ends, element("circle", class_="ring", cx=x, cy=y, r=5))


def _point_in_words(point: LearningPoint) -> str:
    return (
        f"{quantity(point.documents, 'document')}: accuracy {percent(point.accuracy)}, 95\u00a0% of runs {percent(point.low)} to "
        f"{percent(point.high)}; macro F1 {percent(point.macro_f1)}"
    )


def logarithmic(low: float, high: float) -> Callable[[float], float]:
    """Numbers from ``low`` to ``high``, both above 0, to shares from 0 to 1, equal factors to equal steps."""
    span = log10(high) - log10(low)
    return lambda value: (log10(value) - log10(low)) / span if span else 0.5


def round_numbers(low: float, high: float) -> list[int]:
    """1, 2 and 5 times powers of ten within the bounds; where there are more than eight, the powers alone; where none, the bounds.

    >>> round_numbers(90, 1200)
    [100, 200, 500, 1000]
    """
    found = [n for power in range(floor(log10(low)), ceil(log10(high)) + 1) for n in (10**power, 2 * 10**power, 5 * 10**power)]
    within = [n for n in found if low <= n <= high]
    if len(within) > 8:
        within = [n for n in within if str(n)[0] == "1"]
    return within or sorted({round(low), round(high)})


def _bin_in_words(part: Bin) -> str:
    return (
        f"{quantity(part.n, 'answer')} of mean probability {percent(part.confidence)}: {percent(part.right.value)} right, "
        f"95\u00a0% interval {percent_interval(part.right)}"
    )


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return element("line", class_=kind, x1=x1, y1=y1, x2=x2, y2=y2)


def _text(kind: str, x: float, y: float, text: str) -> Markup:
    return element("text", text, class_=kind, x=x, y=y)


def _polyline(kind: str, places: Iterable[tuple[float, float]]) -> Markup:
    points = _points(places)
    return element("polyline", class_=kind, points=points) if points else NOTHING


def _points(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in places)


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
    words = f"{names}: {n:,} of {quantity(support, 'document')}, {percent(n / support)}"
    number = element("span", f"{n:,}", class_="unseen") if small else escaped(f"{n:,}")
    return element("td", number, class_=shade(n / support, hit=hit), title=words)


def _head(label: str, scope: str) -> Markup:
    name = shortened(label, LABEL) if scope == "col" else breakable(shortened(label, LABEL))
    return element("th", element("span", name, class_="data"), scope=scope, title=label if len(label) > LABEL else None)


def _corner() -> Markup:
    return element("span", "true class ↓ answer →")
