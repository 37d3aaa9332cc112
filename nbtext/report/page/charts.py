"""Charts of the HTML pages: bars, reliability diagrams and curves as SVG, confusions as a table.

Colours and fonts come from the style sheets of the pages.
"""

from __future__ import annotations

from bisect import bisect_right
from math import ceil, floor, log10
from typing import TYPE_CHECKING, LiteralString, NamedTuple

from nbtext.errors import format_quantity
from nbtext.report.output_formats import format_interval, format_percent, shorten_middle
from nbtext.report.page.markup import (
    NO_MARKUP,
    Markup,
    format_attribute,
    format_html,
    insert_word_breaks,
    join_markup,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nbtext.evaluation.learning_curves import CurvePoint, Forecast
    from nbtext.guarantees.precision import RiskPoint
    from nbtext.metrics.intervals import Interval
    from nbtext.metrics.results import ClassResult, ReliabilityBin

BAR_WIDTH = 100.0
BAR_HEIGHT = 8.0
"""Size of a bar in the units of its picture. The page stretches the picture."""

Y_LABEL_GAP = 8
"""Pixels between a plot and the labels on its left."""


class Plot(NamedTuple):
    """The area of a plot in its chart. Coordinates are in pixels, and y grows downwards."""

    left: float
    top: float
    width: float
    height: float
    min_value: float = 0.0
    """Value at the bottom."""
    value_range: float = 1.0
    """Value at the top minus value at the bottom."""

    @property
    def bottom(self) -> float:
        """The y coordinate of the smallest value."""
        return self.top + self.height

    def get_x(self, proportion: float) -> float:
        """Return the x coordinate of a proportion of the width."""
        return self.left + proportion * self.width

    def get_y(self, value: float) -> float:
        """Return the y coordinate of a value."""
        return self.bottom - (value - self.min_value) / self.value_range * self.height

    def get_point(self, proportion: float, value: float) -> tuple[float, float]:
        """Return the coordinates x and y of a proportion of the width and a value."""
        return self.get_x(proportion), self.get_y(value)

    def draw_horizontal_line(self, css_class: str, value: float) -> Markup:
        """Draw a line over the whole width at a value."""
        y = self.get_y(value)
        return draw_line(css_class, self.left, y, self.get_x(1), y)

    def draw_vertical_line(self, css_class: str, proportion: float) -> Markup:
        """Draw a line over the whole height at a proportion of the width."""
        x = self.get_x(proportion)
        return draw_line(css_class, x, self.top, x, self.bottom)

    def draw_y_label(self, value: float, text: str, offset: float = 4) -> Markup:
        """Write a text left of the plot, its baseline ``offset`` pixels below a value.

        The default offset centres the text on the value.
        """
        return draw_text("y", self.left - Y_LABEL_GAP, self.get_y(value) + offset, text)

    def draw_whisker(self, x: float, interval: Interval) -> Markup:
        """Draw an interval of values as a vertical line."""
        low, high = interval
        return draw_line("whisker", x, self.get_y(low), x, self.get_y(high))

    def draw_quarter_labels(self, offset: float) -> list[Markup]:
        """Write the quarters of the width in per cent, ``offset`` pixels below the plot."""
        y = self.bottom + offset
        return [
            draw_text("x", self.get_x(quarter), y, format_percent(quarter, decimals=0))
            for quarter in QUARTERS
        ]


RELIABILITY_PLOT = Plot(left=46.0, top=12.0, width=280.0, height=280.0)
COUNT_PLOT = Plot(left=46.0, top=310.0, width=280.0, height=44.0)
"""The number of documents per bin, below the reliability plot."""

RELIABILITY_SIZE = "340 380"
"""Width and height of the chart with these two plots and their labels."""

CURVE_PLOT = Plot(left=46.0, top=12.0, width=560.0, height=240.0)
"""A learning curve or a risk curve."""

CURVE_SIZE = "620 284"
"""Width and height of the chart with this plot and its labels."""

X_LABEL_OFFSET = 20
"""Pixels from the bottom of this plot to the baseline of the labels below."""

DISTANCE_PLOT = Plot(left=46.0, top=12.0, width=280.0, height=160.0)
"""The distances of runs."""

DISTANCE_SIZE = "340 184"
"""Width and height of the chart with this plot and its labels."""

MIN_DISTANCE_RANGE = 0.5
"""Smallest value at the top of this plot, so that small distances look small."""

COUNT_BAR_WIDTH = 10

MIN_BIN_ANSWERS = 20
"""A bin with fewer predictions is drawn faintly, because its interval is long."""

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)

HIT_STEPS = (0.25, 0.5, 0.75, 0.9)
"""Proportions of a row at which the shade changes in the heat map, for cells on the diagonal."""

MISTAKE_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Proportions of a row at which the shade changes in the heat map, for all other cells."""

MAX_TICKS = 8
"""With more ticks, only powers of ten remain on a logarithmic axis."""


def draw_bar(value: float, title: str, interval: Interval | None = None) -> Markup:
    """Draw a proportion as a bar from 0 to 1, with a line for its interval.

    The bar stretches to the width of the element that contains it.
    """
    middle = BAR_HEIGHT / 2
    whisker = NO_MARKUP
    if interval is not None:
        low, high = interval
        whisker = draw_line("whisker", low * BAR_WIDTH, middle, high * BAR_WIDTH, middle)
    bar = format_html(
        '<title>{title}</title><rect class="track" width="{full_width}" height="{height}"></rect>'
        '<rect class="value" width="{width}" height="{height}"></rect>{whisker}',
        title=title,
        full_width=BAR_WIDTH,
        height=BAR_HEIGHT,
        width=value * BAR_WIDTH,
        whisker=whisker,
    )
    return draw_stretching_picture("bar", bar)


def draw_dots(
    values: Iterable[float], low: float, high: float, interval: Interval | None = None
) -> Markup:
    """Draw values as dots on a line from ``low`` to ``high``, and an interval as a thick line.

    The line stretches to the width of the element that contains it.
    """
    middle = BAR_HEIGHT / 2

    def get_x(value: float) -> float:
        return (value - low) / (high - low) * BAR_WIDTH

    whisker = NO_MARKUP
    if interval is not None:
        whisker = draw_line("whisker", get_x(interval[0]), middle, get_x(interval[1]), middle)
    # A line without length and with round ends is a dot that does not stretch.
    dots = [draw_line("dot", get_x(value), middle, get_x(value), middle) for value in values]
    track = draw_line("track", 0.0, middle, BAR_WIDTH, middle)
    return draw_stretching_picture("dots", join_markup((track, whisker, *dots)))


def draw_stretching_picture(css_class: str, content: Markup) -> Markup:
    """Return a picture of the size of a bar that stretches to the available width.

    Screen readers ignore the picture, because the text next to it has the same numbers.
    """
    return format_html(
        '<svg class="{}" viewBox="0 0 {} {}" preserveAspectRatio="none" '
        'aria-hidden="true">{}</svg>',
        css_class,
        BAR_WIDTH,
        BAR_HEIGHT,
        content,
    )


def draw_reliability_diagram(bins: Sequence[ReliabilityBin], series: str, label: str) -> Markup:
    """Draw the accuracy of each bin by its mean probability, and its number of documents below.

    Points of a calibrated model are on the diagonal. ``series`` is the CSS class of the colour,
    and ``label`` describes the chart for screen readers. Empty bins are omitted.
    """
    filled_bins = [bin_ for bin_ in bins if bin_.documents]
    max_documents = max((bin_.documents for bin_ in filled_bins), default=1)
    plot = RELIABILITY_PLOT
    points = [
        plot.get_point(bin_.confidence or 0.0, bin_.accuracy or 0.0)  # None in empty bins only
        for bin_ in filled_bins
    ]
    return draw_chart(
        series,
        RELIABILITY_SIZE,
        label,
        (plot.draw_horizontal_line("grid", quarter) for quarter in QUARTERS),
        (plot.draw_vertical_line("grid", quarter) for quarter in QUARTERS),
        (plot.draw_y_label(quarter, format_percent(quarter, decimals=0)) for quarter in QUARTERS),
        draw_line("ideal", plot.left, plot.bottom, plot.get_x(1), plot.top),
        draw_shape("polyline", "path", points),
        COUNT_PLOT.draw_horizontal_line("base", 0),
        COUNT_PLOT.draw_y_label(1, f"{max_documents:,}", offset=8),
        COUNT_PLOT.draw_y_label(0, "0", offset=1),
        (
            _draw_bin(bin_, point, max_documents)
            for bin_, point in zip(filled_bins, points, strict=True)
        ),
        COUNT_PLOT.draw_quarter_labels(offset=18),
    )


def _draw_bin(bin_: ReliabilityBin, point: tuple[float, float], max_documents: int) -> Markup:
    """Draw the point of a bin with its interval, and the bar of its documents below.

    A bin of ``max_documents`` documents has the highest bar.
    """
    x, y = point
    bar_height = COUNT_PLOT.height * bin_.documents / max_documents
    title = (
        f"{format_quantity(bin_.documents, 'prediction')} of mean probability "
        f"{format_percent(bin_.confidence)}: {format_percent(bin_.accuracy)} right, "
        f"95\u00a0% interval {format_interval(bin_.interval, '%')}"
    )
    return format_html(
        '<g{}><title>{}</title>{}<circle cx="{}" cy="{}" r="4"></circle>{}</g>',
        format_attribute("class", "few" if bin_.documents < MIN_BIN_ANSWERS else None),
        title,
        RELIABILITY_PLOT.draw_whisker(x, bin_.interval or (0.0, 0.0)),  # None in empty bins only
        x,
        y,
        format_html(
            '<rect class="count" x="{}" y="{}" width="{}" height="{}"></rect>',
            x - COUNT_BAR_WIDTH / 2,
            COUNT_PLOT.bottom - bar_height,
            COUNT_BAR_WIDTH,
            bar_height,
        ),
    )


def draw_learning_curve(
    points: Sequence[CurvePoint], label: str, forecast: Forecast | None = None
) -> Markup:
    """Draw accuracy with its band, macro F1 and training accuracy by number of documents.

    The axis of documents is logarithmic, and the axis of values reaches from tenth to tenth. A
    forecast with a value is a ring with its interval at the end of a dashed line.
    """
    min_documents = points[0].documents
    max_documents = points[-1].documents
    y_values = []
    for point in points:
        y_values += [*point.accuracy_band, point.macro_f1, point.training_accuracy]
    if forecast is not None and forecast.value is not None:
        max_documents = forecast.documents
        y_values += [forecast.value, *(forecast.interval or ())]
    min_value = floor(10 * min(y_values)) / 10
    max_value = ceil(10 * max(y_values)) / 10
    plot = CURVE_PLOT._replace(min_value=min_value, value_range=max(max_value - min_value, 0.1))
    levels = [min_value + step / 10 for step in range(round(plot.value_range * 10) + 1)]

    to_proportion = make_log_scale(min_documents, max_documents)
    accuracy = []
    macro_f1 = []
    training_accuracy = []
    for point in points:
        x = to_proportion(point.documents)
        title = _describe_point(point)
        accuracy.append(_MainCurvePoint(x, point.accuracy, point.accuracy_band, title))
        macro_f1.append(plot.get_point(x, point.macro_f1))
        training_accuracy.append(plot.get_point(x, point.training_accuracy))
    ring = NO_MARKUP
    if forecast is not None and forecast.value is not None:
        curve_end = plot.get_point(accuracy[-1].x, accuracy[-1].value)
        centre = plot.get_point(to_proportion(forecast.documents), forecast.value)
        ring = _draw_forecast(forecast, plot, curve_end, centre)
    return _draw_curve(
        label,
        plot,
        levels,
        _draw_log_axis(plot, min_documents, max_documents),
        accuracy,
        other_curves=(
            draw_shape("polyline", "second", macro_f1),
            draw_shape("polyline", "third", training_accuracy),
        ),
        forecast=ring,
    )


def _describe_point(point: CurvePoint) -> str:
    """Return the numbers of a point of a learning curve in words."""
    return (
        f"{format_quantity(point.documents, 'document')}: "
        f"accuracy {format_percent(point.accuracy)}, "
        f"95\u00a0% of runs {format_interval(point.accuracy_band, '%')}; "
        f"macro F1 {format_percent(point.macro_f1)}; "
        f"accuracy on the training documents {format_percent(point.training_accuracy)}"
    )


def _draw_log_axis(
    plot: Plot, min_documents: int, max_documents: int
) -> tuple[list[Markup], list[Markup]]:
    """Return vertical grid lines and labels of a logarithmic axis of numbers of documents.

    Narrow screens only show the labels of powers of ten, if there are any.
    """
    to_proportion = make_log_scale(min_documents, max_documents)
    ticks = _choose_ticks(min_documents, max_documents)
    has_powers = any(map(_is_power_of_ten, ticks))
    lines = []
    labels = []
    for tick in ticks:
        lines.append(plot.draw_vertical_line("grid", to_proportion(tick)))
        is_minor = has_powers and not _is_power_of_ten(tick)
        x = plot.get_x(to_proportion(tick))
        css_class = "x minor" if is_minor else "x"
        labels.append(draw_text(css_class, x, plot.bottom + X_LABEL_OFFSET, f"{tick:,}"))
    return lines, labels


def _draw_forecast(
    forecast: Forecast, plot: Plot, curve_end: tuple[float, float], centre: tuple[float, float]
) -> Markup:
    """Draw a forecast as a ring with its interval, and a dashed line from the curve to the ring."""
    x, y = centre
    whisker = NO_MARKUP
    if forecast.interval is not None:
        whisker = plot.draw_whisker(x, forecast.interval)
    title = (
        f"{format_quantity(forecast.documents, 'document')}: forecast "
        f"{format_percent(forecast.value)}, "
        f"95\u00a0% interval {format_interval(forecast.interval, '%')}"
    )
    template = '<g><title>{}</title>{}{}<circle class="ring" cx="{}" cy="{}" r="5"></circle></g>'
    return format_html(template, title, draw_line("ahead", *curve_end, x, y), whisker, x, y)


def draw_risk_curve(points: Sequence[RiskPoint], label: str) -> Markup:
    """Draw precision with its 95 % interval by proportion of answered documents.

    The vertical axis ends at 1, and starts at or below 0.9.
    """
    lowest_end = min(point.interval[0] for point in points)
    min_value = min(floor(10 * lowest_end) / 10, 0.9)
    plot = CURVE_PLOT._replace(min_value=min_value, value_range=1 - min_value)
    levels = [1 - step / 10 for step in range(round(plot.value_range * 10) + 1)]
    curve = [
        _MainCurvePoint(
            point.answered,
            point.precision,
            point.interval,
            f"{format_percent(point.answered)} predicted, from a probability of "
            f"{point.probability:.3f}: precision {format_percent(point.precision)}",
        )
        for point in points
    ]
    x_axis = plot.draw_quarter_labels(X_LABEL_OFFSET)
    return _draw_curve(label, plot, levels, x_axis, curve)


class _MainCurvePoint(NamedTuple):
    """A point of a curve that has a band around it, and a title at each point."""

    x: float
    """Proportion of the width."""
    value: float
    band: Interval
    title: str
    """The numbers of the point in words."""


def _draw_curve(
    label: str,
    plot: Plot,
    levels: Sequence[float],
    x_axis: object,
    points: Sequence[_MainCurvePoint],
    *,
    other_curves: object = NO_MARKUP,
    forecast: Markup = NO_MARKUP,
) -> Markup:
    """Draw a curve with its band over horizontal lines at the values ``levels``.

    ``x_axis`` and ``other_curves`` are markup, or iterables of markup.
    """
    coordinates = [plot.get_point(point.x, point.value) for point in points]
    lower_edge = [plot.get_point(point.x, point.band[0]) for point in points]
    upper_edge = [plot.get_point(point.x, point.band[1]) for point in points]
    template = '<g><title>{}</title><circle class="first" cx="{}" cy="{}" r="4"></circle></g>'
    dots = (
        format_html(template, point.title, x, y)
        for point, (x, y) in zip(points, coordinates, strict=True)
    )
    return draw_chart(
        "curve",
        CURVE_SIZE,
        label,
        (plot.draw_horizontal_line("grid", level) for level in levels),
        (plot.draw_y_label(level, format_percent(level, decimals=0)) for level in levels),
        x_axis,
        draw_shape("polygon", "band", lower_edge + upper_edge[::-1]),  # there and back
        other_curves,
        draw_shape("polyline", "first", coordinates),
        forecast,
        dots,
    )


class SettingPoint(NamedTuple):
    """A point of `draw_setting_curve`."""

    value: float
    """Value of the setting, above 0."""
    accuracy: float
    """On held-out documents."""
    interval: Interval
    training_accuracy: float


def draw_setting_curve(points: Sequence[SettingPoint], label: str) -> Markup:
    """Draw the accuracy on held-out and on training documents by the value of a setting.

    ``points`` have rising values. The axis of values is logarithmic, with a label at each point.
    The axis of accuracies reaches from tenth to tenth.
    """
    ends = [end for point in points for end in (*point.interval, point.training_accuracy)]
    min_value = floor(10 * min(ends)) / 10
    max_value = ceil(10 * max(ends)) / 10
    plot = CURVE_PLOT._replace(min_value=min_value, value_range=max(max_value - min_value, 0.1))
    levels = [min_value + step / 10 for step in range(round(plot.value_range * 10) + 1)]
    to_proportion = make_log_scale(points[0].value, points[-1].value)
    axis = []
    held_out = []
    training = []
    for index, point in enumerate(points):
        x = to_proportion(point.value)
        title = (
            f"{point.value:g}: {format_percent(point.accuracy)} of held-out documents right, "
            f"95\u00a0% interval {format_interval(point.interval, '%')}; "
            f"{format_percent(point.training_accuracy)} of training documents"
        )
        held_out.append(_MainCurvePoint(x, point.accuracy, point.interval, title))
        training.append(plot.get_point(x, point.training_accuracy))
        axis.append(plot.draw_vertical_line("grid", x))
        css_class = "x minor" if index % 2 else "x"
        y = plot.bottom + X_LABEL_OFFSET
        axis.append(draw_text(css_class, plot.get_x(x), y, f"{point.value:g}"))
    training_curve = draw_shape("polyline", "second", training)
    return _draw_curve(label, plot, levels, axis, held_out, other_curves=training_curve)


class DistancePoint(NamedTuple):
    """A point of `draw_distances`."""

    distance: float
    title: str
    css_class: str | None = None
    """``significant``, ``combined`` for all runs together, or both."""


def draw_distances(
    points: Sequence[DistancePoint | None], limits: Sequence[float], label: str
) -> Markup:
    """Draw the distance of each run, from left to right, and limits as dashed lines.

    A run without a distance is None and leaves a gap.
    """
    distances = [point.distance for point in points if point is not None]
    max_value = max([*distances, *limits, MIN_DISTANCE_RANGE])
    step = 10.0 ** floor(log10(max_value))
    if max_value / step > 4:
        step *= 2
    levels = [step * number for number in range(ceil(max_value / step) + 1)]
    plot = DISTANCE_PLOT._replace(value_range=levels[-1])
    dots = []
    for position, point in enumerate(points):
        if point is None:
            continue
        x, y = plot.get_point((position + 0.5) / len(points), point.distance)
        radius = 6 if point.css_class and "combined" in point.css_class else 4
        dots.append(
            format_html(
                '<g{}><title>{}</title><circle cx="{}" cy="{}" r="{}"></circle></g>',
                format_attribute("class", point.css_class),
                point.title,
                x,
                y,
                radius,
            )
        )
    return draw_chart(
        "distances",
        DISTANCE_SIZE,
        label,
        (plot.draw_horizontal_line("grid", level) for level in levels),
        (plot.draw_y_label(level, f"{level:.4g}") for level in levels),
        (plot.draw_horizontal_line("limit", limit) for limit in limits),
        dots,
    )


def make_log_scale(low: float, high: float) -> Callable[[float], float]:
    """Return a function that maps numbers from ``low`` to ``high`` to proportions from 0 to 1.

    Equal factors become equal steps. Both bounds are above 0; if they are equal, the result is 0.5.
    """
    start = log10(low)
    span = log10(high) - start
    if span == 0:
        return lambda _: 0.5
    return lambda value: (log10(value) - start) / span


def _choose_ticks(low: int, high: int) -> list[int]:
    """Return the powers of ten, and their products with 2 and 5, within the bounds.

    If these are more than `MAX_TICKS`, return the powers of ten only. If there are none, return the
    bounds.

    >>> _choose_ticks(90, 1200)
    [100, 200, 500, 1000]
    """
    ticks = []
    for power in range(floor(log10(low)), ceil(log10(high)) + 1):
        for step in (1, 2, 5):
            tick = step * 10**power
            if low <= tick <= high:
                ticks.append(tick)
    if len(ticks) > MAX_TICKS:
        ticks = list(filter(_is_power_of_ten, ticks))
    return ticks or sorted({low, high})


def _is_power_of_ten(tick: int) -> bool:
    """Return True for 1 · 10^n, False for 2 · 10^n and 5 · 10^n."""
    return str(tick).startswith("1")


def draw_chart(css_class: str, size: str, label: str, *elements: object) -> Markup:
    """Return a chart. Each element covers the elements before it."""
    return format_html(
        '<svg class="chart {}" viewBox="0 0 {}" role="img" aria-label="{}">{}</svg>',
        css_class,
        size,
        label,
        elements,
    )


def draw_line(css_class: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    """Return a line between two points."""
    return format_html(
        '<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"></line>', css_class, x1, y1, x2, y2
    )


def draw_text(css_class: str, x: float, y: float, text: str) -> Markup:
    """Return a text with its baseline at y. The CSS class sets the alignment."""
    return format_html('<text class="{}" x="{}" y="{}">{}</text>', css_class, x, y, text)


def draw_shape(name: str, css_class: str, points: Iterable[tuple[float, float]]) -> Markup:
    """Return a ``polygon`` or ``polyline``, no markup without points."""
    coordinates = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    if not coordinates:
        return NO_MARKUP
    return format_html('<{0} class="{1}" points="{2}"></{0}>', name, css_class, coordinates)


MAX_HEATMAP_CLASSES = 100

MAX_NUMBERED_CLASSES = 30
"""A heat map of more classes has its numbers in the titles of cells, which are small."""

MAX_AXIS_LABEL_CHARS = 28


def select_classes(
    per_class: Mapping[str, ClassResult], max_classes: int
) -> dict[str, ClassResult]:
    """Return the classes that occur, lowest F1 first.

    If there are more than ``max_classes``, return the classes with most documents and predictions.
    """
    classes = {label: metrics for label, metrics in per_class.items() if metrics.occurs}
    labels_by_size = sorted(
        classes, key=lambda label: classes[label].support + classes[label].answered, reverse=True
    )
    selected = sorted(labels_by_size[:max_classes], key=lambda label: (classes[label].f1, label))
    return {label: classes[label] for label in selected}


def sort_by_confusion(
    classes: Mapping[str, ClassResult], mistakes: Iterable[tuple[str, str, int]]
) -> dict[str, ClassResult]:
    """Return the classes in the order of the mistakes, so that confused pairs are neighbours.

    A mistake is a true class, a predicted class and the number of documents.
    """
    labels: list[str] = []
    for truth, predicted, _ in mistakes:
        labels += [truth, predicted]
    labels += classes
    # The first occurrence of a label decides.
    return {label: classes[label] for label in labels if label in classes}


def draw_confusion_table(
    classes: Mapping[str, ClassResult], confusion: Mapping[str, Mapping[str, int]]
) -> Markup:
    """Draw a heat map of documents by true class (rows) and predicted class (columns).

    A cell is the darker, the larger its proportion of the row.
    """
    has_small_cells = len(classes) > MAX_NUMBERED_CLASSES
    rows = []
    for truth, metrics in classes.items():
        counts = confusion.get(truth, {})
        cells = [
            _draw_cell(
                truth, label, counts.get(label, 0), metrics.support, hide_number=has_small_cells
            )
            for label in classes
        ]
        rows.append(format_html("<tr>{}{}</tr>", _format_class_heading(truth, "row"), cells))
    return format_html(
        '<table class="heat{}"><caption class="unseen">Documents by true class (rows) and '
        "prediction "
        '(columns)</caption><thead><tr><td class="corner"><span>'
        "true class ↓ prediction →</span></td>{}</tr></thead><tbody>{}</tbody></table>",
        " small" if has_small_cells else "",
        (_format_class_heading(label, "col") for label in classes),
        rows,
    )


def _draw_cell(truth: str, predicted: str, n: int, support: int, *, hide_number: bool) -> Markup:
    """Return the cell for ``n`` of the ``support`` documents of a true class."""
    is_correct = truth == predicted
    if n == 0:
        return format_html("<td{}></td>", format_attribute("class", "none" if is_correct else None))
    name = shorten_middle(truth, MAX_AXIS_LABEL_CHARS)
    if is_correct:
        description = f"{name}, right"
    else:
        description = f"{name} taken for {shorten_middle(predicted, MAX_AXIS_LABEL_CHARS)}"
    proportion = n / support
    documents = format_quantity(support, "document")
    template: LiteralString = '<td class="{}" title="{}">{}</td>'
    if hide_number:
        template = '<td class="{}" title="{}"><span class="unseen">{}</span></td>'
    return format_html(
        template,
        _get_shade_class(proportion, is_correct=is_correct),
        f"{description}: {n:,} of {documents}, {format_percent(proportion)}",
        f"{n:,}",
    )


def draw_legend() -> Markup:
    """Return the shades of the heat map, each with the proportion at which it starts."""
    scales = []
    # The CSS classes of shades are the letter and the number of the shade.
    for name, letter, steps in (("Right", "h", HIT_STEPS), ("Wrong", "m", MISTAKE_STEPS)):
        starts = ["above 0", *(format_percent(step, decimals=0) for step in steps)]
        swatches = [
            format_html('<span class="swatch {}{}">{}</span>', letter, number, start)
            for number, start in enumerate(starts)
        ]
        scales.append(
            format_html(
                '<p><span class="name">{}, proportion of the class from </span>{}</p>',
                name,
                swatches,
            )
        )
    return format_html('<div class="legend">{}</div>', scales)


def _get_shade_class(proportion: float, *, is_correct: bool) -> str:
    """Return the CSS class of a cell by its proportion of the row, above 0.

    >>> _get_shade_class(0.8, is_correct=True), _get_shade_class(0.03, is_correct=False)
    ('h3', 'm2')
    """
    if is_correct:
        return f"h{bisect_right(HIT_STEPS, proportion)}"
    return f"m{bisect_right(MISTAKE_STEPS, proportion)}"


def _format_class_heading(label: str, scope: str) -> Markup:
    """Return the heading of a row or column (``scope`` ``row`` or ``col``) of the heat map."""
    name = shorten_middle(label, MAX_AXIS_LABEL_CHARS)
    title = format_attribute("title", label if len(label) > MAX_AXIS_LABEL_CHARS else None)
    return format_html(
        '<th scope="{}"{}><span class="data">{}</span></th>',
        scope,
        title,
        insert_word_breaks(name) if scope == "row" else name,  # column headings are vertical
    )
