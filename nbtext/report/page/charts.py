"""Charts of a page: bars, reliability diagrams, risk and learning curves as SVG, and the confusion of classes as a shaded table.

Colours and letters come from the page's style.
"""

from __future__ import annotations

from bisect import bisect_right
from math import ceil, floor, log10
from typing import TYPE_CHECKING, NamedTuple

from nbtext.errors import format_quantity
from nbtext.report.output_formats import format_interval, format_percent, shorten_middle
from nbtext.report.page.markup import (
    NO_MARKUP,
    Markup,
    format_attribute,
    format_html,
    insert_word_breaks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nbtext.evaluation.learning_curves import CurvePoint, Forecast
    from nbtext.guarantees.precision import RiskPoint
    from nbtext.metrics.intervals import Interval
    from nbtext.metrics.results import ClassResult, ReliabilityBin

BAR_WIDTH = 100.0
BAR_HEIGHT = 8.0


class _Box(NamedTuple):
    """The place of a plot in its picture; y grows downwards, as in SVG."""

    left: float
    top: float
    width: float
    height: float
    lowest: float = 0.0
    """Value at the bottom."""
    span: float = 1.0
    """From the bottom to the top."""

    def x(self, share: float) -> float:
        """Return the place of a share of the width."""
        return self.left + share * self.width

    def y(self, value: float) -> float:
        """Return the place of a value above the bottom."""
        return self.bottom - (value - self.lowest) / self.span * self.height

    @property
    def bottom(self) -> float:
        """The place of the lowest value."""
        return self.top + self.height

    def spot(self, share: float, value: float) -> tuple[float, float]:
        """Return the place of a point."""
        return self.x(share), self.y(value)

    def across(self, kind: str, value: float) -> Markup:
        """Draw a line from side to side at a value."""
        return _line(kind, self.left, self.y(value), self.x(1), self.y(value))

    def beside(self, value: float, text: str, lower: float = 4) -> Markup:
        """Write a text left of a value, that much lower."""
        return _text("y", self.left - 8, self.y(value) + lower, text)


SQUARE = _Box(46.0, 12.0, 280.0, 280.0)
"""The points of a reliability diagram."""

COUNTS = _Box(46.0, 310.0, 280.0, 44.0)
"""Its counts, below."""

CURVE_PLOT = _Box(46.0, 12.0, 560.0, 240.0)
"""A learning curve."""

FEW = 20
"""Answers in a bin below which it is drawn faintly, because its interval is long."""

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)

HIT_STEPS = (0.25, 0.5, 0.75, 0.9)
MISTAKE_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Shares of a row at which the shade of a cell changes: mistakes are rare and need finer steps."""


def draw_bar(value: float, meaning: str, interval: Interval | None = None) -> Markup:
    """Draw a share as a bar from 0 to 1, with its interval as a line. The picture stretches to the width that it is given."""
    middle = BAR_HEIGHT / 2
    whisker = (
        NO_MARKUP
        if interval is None
        else _line("whisker", interval[0] * BAR_WIDTH, middle, interval[1] * BAR_WIDTH, middle)
    )
    bars = (
        '<title>{0}</title><rect class="track" width="{1}" height="{2}"></rect><rect '
        'class="value" width="{3}" height="{2}"></rect>{4}'
    )
    return draw_stretching_picture(
        "bar", format_html(bars, meaning, BAR_WIDTH, BAR_HEIGHT, value * BAR_WIDTH, whisker)
    )


def draw_stretching_picture(kind: str, content: Markup) -> Markup:
    """Return a picture of the size of a bar that stretches to the width that it is given; what it shows is in the text beside it."""
    return format_html(
        '<svg class="{}" viewBox="0 0 {} {}" preserveAspectRatio="none" '
        'aria-hidden="true">{}</svg>',
        kind,
        BAR_WIDTH,
        BAR_HEIGHT,
        content,
    )


def draw_reliability_diagram(bins: Sequence[ReliabilityBin], series: str, label: str) -> Markup:
    """Draw the share of right answers against the mean probability of each filled bin, with intervals; below, its documents.

    ``series`` is the class of the style that gives the colour. Calibrated probabilities lie on the diagonal.
    """
    bins = [part for part in bins if part.documents]
    most = max((part.documents for part in bins), default=1)
    spots = [SQUARE.spot(part.confidence or 0.0, part.accuracy or 0.0) for part in bins]
    groups = []
    for part, (x, y) in zip(bins, spots, strict=True):
        height, (low, high) = COUNTS.height * part.documents / most, part.interval or (0.0, 0.0)
        words = (
            f"{format_quantity(part.documents, 'answer')} of mean probability {format_percent(part.confidence)}: "
            f"{format_percent(part.accuracy)} right, "
            f"95\u00a0% interval {format_interval(part.interval, '%')}"
        )
        whisker = _line("whisker", x, SQUARE.y(low), x, SQUARE.y(high))
        few = format_attribute("class", "few" if part.documents < FEW else None)
        dot = (
            '<g{}><title>{}</title>{}<circle cx="{}" cy="{}" r="4"></circle><rect class="count" '
            'x="{}" y="{}" width="10" height="{}"></rect></g>'
        )
        groups.append(
            format_html(dot, few, words, whisker, x, y, x - 5, COUNTS.bottom - height, height)
        )
    return _chart(
        series,
        "340 380",
        label,
        (SQUARE.across("grid", at) for at in QUARTERS),
        (_line("grid", SQUARE.x(at), SQUARE.top, SQUARE.x(at), SQUARE.bottom) for at in QUARTERS),
        (SQUARE.beside(at, format_percent(at, 0)) for at in QUARTERS),
        _line("ideal", SQUARE.left, SQUARE.bottom, SQUARE.x(1), SQUARE.top),
        _shape("polyline", "path", spots),
        COUNTS.across("base", 0),
        COUNTS.beside(1, f"{most:,}", 8),
        COUNTS.beside(0, "0", 1),
        groups,
        (_text("x", SQUARE.x(at), COUNTS.bottom + 18, format_percent(at, 0)) for at in QUARTERS),
    )


def draw_learning_curve(
    points: Sequence[CurvePoint], label: str, forecast: Forecast | None = None
) -> Markup:
    """Draw accuracy with its band, macro F1, and accuracy in training against the number of training documents, on a logarithmic axis.

    A forecast of the accuracy, if it has a value, is a ring with its interval at the end of a dashed line.
    """
    expected = forecast if forecast is not None and forecast.value is not None else None
    values = [
        value
        for point in points
        for value in (*point.accuracy_band, point.macro_f1, point.training_accuracy)
    ]
    if expected is not None:
        values += [expected.value or 0.0, *(expected.interval or ())]
    lowest = floor(10 * min(values)) / 10
    highest = ceil(10 * max(values)) / 10
    ends = points[0].documents, (expected or points[-1]).documents
    box = CURVE_PLOT._replace(lowest=lowest, span=max(highest - lowest, 0.1))
    along = make_log_scale(*ends)
    ticks = _choose_ticks(*ends)
    large = {n for n in ticks if str(n)[0] == "1"} or set(ticks)
    shares = {along(point.documents): point for point in points}

    def ring(found: Forecast) -> Markup:
        x, y = box.spot(along(found.documents), found.value or 0.0)
        whisker = (
            NO_MARKUP
            if found.interval is None
            else _line("whisker", x, box.y(found.interval[0]), x, box.y(found.interval[1]))
        )
        words = (
            f"{format_quantity(found.documents, 'document')}: forecast {format_percent(found.value)}, "
            f"95\u00a0% interval {format_interval(found.interval, '%')}"
        )
        template = (
            '<g><title>{}</title>{}{}<circle class="ring" cx="{}" cy="{}" r="5"></circle></g>'
        )
        ahead = _line("ahead", *box.spot(along(points[-1].documents), points[-1].accuracy), x, y)
        return format_html(template, words, ahead, whisker, x, y)

    return _curve(
        label,
        box,
        [lowest + step / 10 for step in range(round(box.span * 10) + 1)],
        (
            (_line("grid", box.x(along(n)), box.top, box.x(along(n)), box.bottom) for n in ticks),
            (
                _text("x" if n in large else "x minor", box.x(along(n)), box.bottom + 20, f"{n:,}")
                for n in ticks
            ),
        ),
        [
            (
                share,
                point.accuracy,
                point.accuracy_band,
                (
                    f"{format_quantity(point.documents, 'document')}: accuracy {format_percent(point.accuracy)}, "
                    "95\u00a0% of runs "
                    f"{format_interval(point.accuracy_band, '%')}; macro F1 {format_percent(point.macro_f1)}; "
                    f"accuracy on the training documents {format_percent(point.training_accuracy)}"
                ),
            )
            for share, point in shares.items()
        ],
        (
            _shape(
                "polyline",
                "second",
                (box.spot(share, point.macro_f1) for share, point in shares.items()),
            ),
            _shape(
                "polyline",
                "third",
                (box.spot(share, point.training_accuracy) for share, point in shares.items()),
            ),
        ),
        NO_MARKUP if expected is None else ring(expected),
    )


def draw_risk_curve(points: Sequence[RiskPoint], label: str) -> Markup:
    """Draw precision with its 95 % interval against the share of documents that are answered."""
    lowest = min(floor(10 * min(point.interval[0] for point in points)) / 10, 0.9)
    box = CURVE_PLOT._replace(lowest=lowest, span=1 - lowest)
    return _curve(
        label,
        box,
        [1 - step / 10 for step in range(round(box.span * 10) + 1)],
        (_text("x", box.x(share), box.bottom + 20, format_percent(share, 0)) for share in QUARTERS),
        [
            (
                point.answered,
                point.precision,
                point.interval,
                (
                    f"{format_percent(point.answered)} answered, from a probability of "
                    f"{point.probability:.3f}: precision {format_percent(point.precision)}"
                ),
            )
            for point in points
        ],
    )


def _curve(
    label: str,
    box: _Box,
    levels: Sequence[float],
    axis: object,
    points: Sequence[tuple[float, float, Interval, str]],
    others: object = NO_MARKUP,
    ahead: Markup = NO_MARKUP,
) -> Markup:
    """Draw a curve through points, each a share, a value, its band and its meaning, over lines at ``levels`` and below what is ``ahead``."""
    spots = [box.spot(share, value) for share, value, *_ in points]
    lower, upper = ([box.spot(share, band[end]) for share, _, band, _ in points] for end in (0, 1))
    dot = '<g><title>{}</title><circle class="first" cx="{}" cy="{}" r="4"></circle></g>'
    return _chart(
        "curve",
        "620 284",
        label,
        (box.across("grid", level) for level in levels),
        (box.beside(level, format_percent(level, 0)) for level in levels),
        axis,
        _shape("polygon", "band", lower + upper[::-1]),
        others,
        _shape("polyline", "first", spots),
        ahead,
        (format_html(dot, words, *spot) for (*_, words), spot in zip(points, spots, strict=True)),
    )


def make_log_scale(low: float, high: float) -> Callable[[float], float]:
    """Map numbers from ``low`` to ``high``, both above 0, to shares from 0 to 1, equal factors to equal steps."""
    span = log10(high) - log10(low)
    return lambda value: (log10(value) - log10(low)) / span if span else 0.5


def _choose_ticks(low: int, high: int) -> list[int]:
    """Return 1, 2 and 5 times powers of ten within the bounds; only the powers if there are more than eight; the bounds if there are none.

    >>> _round_numbers(90, 1200)
    [100, 200, 500, 1000]
    """
    found = [
        step * 10**power
        for power in range(floor(log10(low)), ceil(log10(high)) + 1)
        for step in (1, 2, 5)
    ]
    within = [n for n in found if low <= n <= high]
    if len(within) > 8:
        within = [n for n in within if str(n)[0] == "1"]
    return within or sorted({low, high})


def _chart(kind: str, size: str, label: str, *parts: object) -> Markup:
    return format_html(
        '<svg class="chart {}" viewBox="0 0 {}" role="img" aria-label="{}">{}</svg>',
        kind,
        size,
        label,
        parts,
    )


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return format_html(
        '<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"></line>', kind, x1, y1, x2, y2
    )


def _text(kind: str, x: float, y: float, text: str) -> Markup:
    return format_html('<text class="{}" x="{}" y="{}">{}</text>', kind, x, y, text)


def _shape(name: str, kind: str, places: Iterable[tuple[float, float]]) -> Markup:
    """Return a polygon or polyline, nothing without places."""
    points = " ".join(f"{x:.2f},{y:.2f}" for x, y in places)
    return (
        format_html('<{0} class="{1}" points="{2}"></{0}>', name, kind, points)
        if points
        else NO_MARKUP
    )


MAX_HEATMAP_CLASSES = 100

MOST_WITH_NUMBERS = 30
"""With more classes cells are too small for numbers, which are then in their titles alone."""

LABEL = 28
"""Characters of a label at the edge of the table."""


def select_classes(per_class: Mapping[str, ClassResult], most: int) -> dict[str, ClassResult]:
    """Return the classes that occur, those of least F1 first; if there are more than ``most``, those with most documents and answers."""
    present = {label: of_class for label, of_class in per_class.items() if of_class.occurs}
    largest = sorted(present, key=lambda label: -present[label].support - present[label].answered)[
        :most
    ]
    return {
        label: present[label]
        for label in sorted(largest, key=lambda label: (present[label].f1, label))
    }


def sort_by_confusion(
    shown: Mapping[str, ClassResult], mistakes: Iterable[tuple[str, str, int]]
) -> dict[str, ClassResult]:
    """Return the classes, pairs that are confused first and side by side, in the order of the mistakes."""
    pairs = (label for truth, answer, _ in mistakes for label in (truth, answer))
    return {label: shown[label] for label in dict.fromkeys((*pairs, *shown)) if label in shown}


def draw_confusion_table(
    shown: Mapping[str, ClassResult], confusion: Mapping[str, Mapping[str, int]]
) -> Markup:
    """Draw the table of the classes shown, rows by true class and columns by answer, the darker the larger the share of the row."""
    small = len(shown) > MOST_WITH_NUMBERS
    number = '<span class="unseen">{}</span>' if small else "{}"

    def cell(truth: str, answer: str) -> Markup:
        hit = truth == answer
        n = confusion.get(truth, {}).get(answer, 0)
        support = shown[truth].support
        if not n:
            return format_html("<td{}></td>", format_attribute("class", "none" if hit else None))
        names = (
            f"{shorten_middle(truth, LABEL)}, right"
            if hit
            else f"{shorten_middle(truth, LABEL)} taken for {shorten_middle(answer, LABEL)}"
        )
        words = f"{names}: {n:,} of {format_quantity(support, 'document')}, {format_percent(n / support)}"
        return format_html(
            '<td class="{}" title="{}">{}</td>',
            _get_shade_class(n / support, is_correct=hit),
            words,
            format_html(number, f"{n:,}"),
        )

    rows = (
        format_html("<tr>{}{}</tr>", _head(truth, "row"), (cell(truth, answer) for answer in shown))
        for truth in shown
    )
    return format_html(
        '<table class="heat{}"><caption class="unseen">Documents by true class (rows) and answer '
        '(columns)</caption><thead><tr><td class="corner"><span>'
        "true class ↓ answer →</span></td>{}</tr></thead><tbody>{}</tbody></table>",
        " small" if small else "",
        (_head(answer, "col") for answer in shown),
        rows,
    )


def draw_legend() -> Markup:
    """Return the meanings of the shades: a swatch for each, with the share at which it begins."""
    scales = []
    for name, kind, steps in (("Right", "h", HIT_STEPS), ("Wrong", "m", MISTAKE_STEPS)):
        begins = enumerate(["above 0", *(format_percent(step, 0) for step in steps)])
        swatches = [
            format_html('<span class="swatch {}{}">{}</span>', kind, number, begin)
            for number, begin in begins
        ]
        scales.append(
            format_html(
                '<p><span class="name">{}, share of the class from </span>{}</p>', name, swatches
            )
        )
    return format_html('<div class="legend">{}</div>', scales)


def _get_shade_class(share: float, *, is_correct: bool) -> str:
    """Return the class of the style for a share of a row above 0.

    >>> _shade_class(0.8, hit=True), _shade_class(0.03, hit=False)
    ('h3', 'm2')
    """
    return (
        f"h{bisect_right(HIT_STEPS, share)}"
        if is_correct
        else f"m{bisect_right(MISTAKE_STEPS, share)}"
    )


def _head(label: str, scope: str) -> Markup:
    name = (
        shorten_middle(label, LABEL)
        if scope == "col"
        else insert_word_breaks(shorten_middle(label, LABEL))
    )
    title = format_attribute("title", label if len(label) > LABEL else None)
    return format_html('<th scope="{}"{}><span class="data">{}</span></th>', scope, title, name)
