"""Make the page of `nbtext inspect --to`: posteriors of terms, and regions of two numbers."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING

from nbtext.errors import format_quantity
from nbtext.report.output_formats import Column, shorten_middle
from nbtext.report.page.charts import (
    Plot,
    draw_chart,
    draw_line,
    draw_shape,
    draw_text,
)
from nbtext.report.page.markup import (
    MAX_PAGE_LABEL_CHARS,
    NO_MARKUP,
    Markup,
    format_class_name,
    format_html,
    format_note,
    join_markup,
)
from nbtext.report.page.result_pages import build_result_page, format_number_table
from nbtext.report.page.sections import make_section

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbtext.inspection.posteriors import BetaCurve, PosteriorGrowth
    from nbtext.inspection.regions import Regions
    from nbtext.report.page.markup import Section
    from nbtext.type_names import Ints

DENSITY_PLOT = Plot(left=14.0, top=12.0, width=316.0, height=170.0)
DENSITY_SIZE = "344 210"
"""Width and height of the chart with this plot and its labels."""

REGION_PLOT = Plot(left=56.0, top=12.0, width=480.0, height=480.0)
REGION_SIZE = "552 518"
"""Width and height of the chart with this plot and its labels."""

X_LABEL_OFFSET = 18
"""Pixels from the bottom of a plot to the baseline of the labels below."""

N_COLOURS = 8
"""Number of colours of classes in the style sheet. More classes repeat them."""

MARKERS = (
    "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",  # circle
    "m-3-3h6v6h-6z",  # square
    "m0-4l4 7h-8z",  # triangle
    "m0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z",  # diamond
)
"""Shapes of points as relative paths. Five neighbours differ in colour and four in shape."""

CURVE_COLUMNS: Sequence[Column[tuple[str, BetaCurve]]] = (
    Column("Distribution", lambda row: row[0]),
    Column("n", lambda row: row[1].n, ",.9g"),
    Column("a", lambda row: row[1].a, ".6g"),
    Column("b", lambda row: row[1].b, ".6g"),
    Column("Mean", lambda row: row[1].mean, ".6g"),
    Column("95\u00a0% credible", lambda row: row[1].interval, ".3g"),
)


REGION_COLUMNS: Sequence[Column[tuple[str, int, float]]] = (
    Column("Class", lambda row: row[0]),
    Column("Points", lambda row: row[1], ","),
    Column("Part of the area", lambda row: row[2], ".2%"),
)

NO_PREDICTION = "no prediction"


def build_model_page(
    growth_by_term: Mapping[str, Sequence[PosteriorGrowth]], regions: Regions | None, command: str
) -> str:
    """Return the page of a model. ``command`` is the command line."""
    sections: list[Section] = []
    if regions is not None:
        x, y = regions.names
        heading = f"Regions of {x} and {y}"
        sections.append(make_section("regions", "Regions", heading, _format_regions(regions)))
    for number, (term, growths) in enumerate(growth_by_term.items(), start=1):
        name = shorten_middle(term, MAX_PAGE_LABEL_CHARS)
        content = join_markup((DENSITY_NOTE, *map(_format_growth, growths)))
        sections.append(make_section(f"term-{number}", name, f"Probability of {name}", content))
    return build_result_page("Model", sections, command)


DENSITY_NOTE = format_note(
    "Densities of the probability in a class, each curve on its own scale. The second chart is "
    "the posterior after fewer observations with the same proportion, from light to dark: the more "
    "observations, the narrower."
)


def _format_growth(growth: PosteriorGrowth) -> Markup:
    """Return the densities of a class as two charts, and a table of their parameters."""
    rows = [(f"posterior after {curve.n:,.9g}", curve) for curve in growth.posteriors]
    rows.append(("likelihood", growth.likelihood))
    if growth.prior is not None:
        rows.insert(0, ("prior", growth.prior))
    sizes = " · ".join(f"{curve.n:,.9g}" for curve in growth.posteriors)
    return format_html(
        '<h3 class="growth">{}: {} of {}</h3><div class="pair"><figure><figcaption>'
        '<span class="key second">prior</span><span class="key third">likelihood</span>'
        '<span class="key first">posterior</span></figcaption>{}</figure><figure>'
        "<figcaption><span>posterior after n = {}</span></figcaption>{}</figure></div>"
        "<details><summary>Numbers</summary>{}</details>",
        format_class_name(growth.label),
        f"{growth.successes:,.9g}",
        f"{growth.n:,.9g}",
        _draw_parts(growth),
        sizes,
        _draw_growth(growth),
        format_number_table(f"Beta distributions of {growth.label}", CURVE_COLUMNS, rows),
    )


def _draw_parts(growth: PosteriorGrowth) -> Markup:
    """Draw prior, likelihood and posterior."""
    posterior = growth.posteriors[-1]
    points = _place_curve(posterior)
    plot = DENSITY_PLOT
    area = [(plot.left, plot.bottom), *points, (plot.get_x(1), plot.bottom)]
    prior = NO_MARKUP
    if growth.prior is not None:
        prior = draw_shape("polyline", "second", _place_curve(growth.prior))
    low, high = posterior.interval
    label = (
        f"Densities in {growth.label}: posterior mean {posterior.mean:.3g}, 95\u00a0% credible "
        f"{low:.3g} to {high:.3g}"
    )
    return draw_chart(
        "curve densities",
        DENSITY_SIZE,
        label,
        _draw_axis(growth),
        draw_shape("polygon", "band", area),
        draw_shape("polyline", "third", _place_curve(growth.likelihood)),
        prior,
        draw_shape("polyline", "first", points),
    )


def _draw_growth(growth: PosteriorGrowth) -> Markup:
    """Draw the posteriors after growing data, from light to dark."""
    last = max(len(growth.posteriors) - 1, 1)
    curves = [
        format_html(
            '<g opacity="{}"><title>n = {}: mean {}, 95\u00a0% credible {} to {}</title>{}</g>',
            1 - 0.75 * (last - index) / last if index else 0.25,
            f"{curve.n:,.9g}",
            f"{curve.mean:.3g}",
            *(f"{end:.3g}" for end in curve.interval),
            draw_shape("polyline", "first", _place_curve(curve)),
        )
        for index, curve in enumerate(growth.posteriors)
    ]
    label = f"Posterior in {growth.label} after up to {growth.n:,.9g} observations"
    return draw_chart("curve densities", DENSITY_SIZE, label, _draw_axis(growth), curves)


def _place_curve(curve: BetaCurve) -> list[tuple[float, float]]:
    """Return the coordinates of a curve at the centres of its bins."""
    n_bins = len(curve.heights)
    return [
        DENSITY_PLOT.get_point((index + 0.5) / n_bins, height)
        for index, height in enumerate(curve.heights)
    ]


def _draw_axis(growth: PosteriorGrowth) -> Iterator[Markup]:
    """Yield the base line, and grid lines with labels of probabilities."""
    plot = DENSITY_PLOT
    for tick in choose_linear_ticks(0.0, growth.axis_end, max_ticks=6):
        yield plot.draw_vertical_line("grid", tick / growth.axis_end)
        x = plot.get_x(tick / growth.axis_end)
        yield draw_text("x", x, plot.bottom + X_LABEL_OFFSET, f"{tick:.9g}")
    yield plot.draw_horizontal_line("base", 0)


def choose_linear_ticks(low: float, high: float, max_ticks: int) -> list[float]:
    """Return up to ``max_ticks`` multiples of 1, 2 or 5 times a power of ten within the bounds.

    >>> choose_linear_ticks(-1.3, 5.1, 5)
    [0.0, 2.0, 4.0]
    """
    power = floor(log10((high - low) / max_ticks))
    steps = (factor * 10.0 ** (power + more) for more in (0, 1) for factor in (1, 2, 5))
    for step in steps:
        first = ceil(low / step)
        last = floor(high / step)
        if last - first < max_ticks:
            return [number * step for number in range(first, last + 1)]
    return []


def _format_regions(regions: Regions) -> Markup:
    """Return the chart of the regions with its legend."""
    x, y = regions.names
    shown = (
        f"{len(regions.points):,} of {format_quantity(regions.n_documents, 'training document')}"
    )
    if len(regions.points) == regions.n_documents:
        shown = format_quantity(regions.n_documents, "training document")
    note = format_note(
        "Classifier: {}. Each of {} × {} cells has the colour of the class that nbtext classify "
        "predicts for its centre. Points are {}, with the colour and shape of their own class.",
        regions.classifier,
        *regions.cells.shape,
        shown,
    )
    label = f"Predicted class by {x} (to the right) and {y} (upwards)"
    rows = [
        (name or NO_PREDICTION, int(points.sum()), float(cells.mean()))
        for name, points, cells in (
            (name, regions.point_labels == index, regions.cells == index)
            for index, name in enumerate(regions.labels)
        )
    ]
    return format_html(
        '{}<figure><figcaption>{}</figcaption>{}<p class="axis">{} →, {} ↑</p></figure>'
        "<details><summary>Numbers</summary>{}</details>",
        note,
        _format_classes(regions),
        _draw_regions(regions, label),
        x,
        y,
        format_number_table("Regions", REGION_COLUMNS, rows),
    )


def _format_classes(regions: Regions) -> Markup:
    """Return the legend: the mark of each class, its name, and its number of points."""
    points = regions.point_labels.tolist()
    items = [
        format_html(
            '<li><svg class="mark {}" viewBox="-6 -6 12 12" aria-hidden="true">'
            '<rect class="area" x="-6" y="-6" width="12" height="12"></rect>'
            '<path class="point" d="M0 0{}"></path></svg>{} {}</li>',
            _get_colour(index),
            MARKERS[index % len(MARKERS)],
            format_class_name(label) if label else NO_PREDICTION,
            f"{points.count(index):,}" if label else "",
        )
        for index, label in enumerate(regions.labels)
    ]
    return format_html('<ul class="classes">{}</ul>', items)


def _get_colour(index: int) -> str:
    """Return the CSS class of the colour of a class."""
    return f"k{index % N_COLOURS}"


def _draw_regions(regions: Regions, label: str) -> Markup:
    """Draw the regions, the boundary between them, the points, and the names of the regions."""
    (x_low, x_high), (y_low, y_high) = regions.bounds.tolist()
    plot = REGION_PLOT._replace(min_value=y_low, value_range=y_high - y_low)
    shown = [index for index, name in enumerate(regions.labels) if name]
    return draw_chart(
        "regions-chart",
        REGION_SIZE,
        label,
        (_draw_area(regions.cells, index) for index in shown),
        format_html('<path class="boundary" d="{}"></path>', _trace_boundary(regions.cells)),
        (
            format_html(
                '<path class="point {}" d="{}"></path>',
                _get_colour(index),
                _trace_points(regions, plot, index),
            )
            for index in shown
        ),
        (_draw_name(regions, index) for index in shown),
        draw_line("base", plot.left, plot.bottom, plot.get_x(1), plot.bottom),
        draw_line("base", plot.left, plot.top, plot.left, plot.bottom),
        (
            draw_text(
                "x",
                plot.get_x((tick - x_low) / (x_high - x_low)),
                plot.bottom + X_LABEL_OFFSET,
                f"{tick:.9g}",
            )
            for tick in choose_linear_ticks(x_low, x_high, 8)
        ),
        (plot.draw_y_label(tick, f"{tick:.9g}") for tick in choose_linear_ticks(y_low, y_high, 8)),
    )


def _get_cell_corner(cells: Ints, row: float, column: float) -> str:
    """Return the coordinates of the lower left corner of a cell as text for a path."""
    n_rows, n_columns = cells.shape
    x = REGION_PLOT.left + column * REGION_PLOT.width / n_columns
    y = REGION_PLOT.bottom - row * REGION_PLOT.height / n_rows
    return f"{x:.6g} {y:.6g}"


def _draw_area(cells: Ints, index: int) -> Markup:
    """Draw the cells of a label, neighbours of a row as one rectangle."""
    n_rows, n_columns = cells.shape
    width = REGION_PLOT.width / n_columns
    height = REGION_PLOT.height / n_rows
    parts = []
    for row, column, length in _find_runs(cells == index):
        corner = _get_cell_corner(cells, row + 1, column)
        parts.append(f"M{corner}h{length * width:.6g}v{height:.6g}h{-length * width:.6g}z")
    return format_html('<path class="area {}" d="{}"></path>', _get_colour(index), "".join(parts))


def _find_runs(mask: Ints) -> Iterator[tuple[int, int, int]]:
    """Yield row, first column and length of each run of true cells, shape (n_rows, n_columns)."""
    import numpy as np

    padded = np.pad(mask.astype(np.int8), ((0, 0), (1, 1)))
    changes = np.diff(padded, axis=1)
    rows, starts = np.nonzero(changes == 1)
    _, ends = np.nonzero(changes == -1)
    yield from zip(rows.tolist(), starts.tolist(), (ends - starts).tolist(), strict=True)


def _trace_boundary(cells: Ints) -> str:
    """Return a path along all edges between cells of different labels."""
    n_rows, n_columns = cells.shape
    width = REGION_PLOT.width / n_columns
    height = REGION_PLOT.height / n_rows
    parts = []
    for row, column, length in _find_runs(cells[1:] != cells[:-1]):
        parts.append(f"M{_get_cell_corner(cells, row + 1, column)}h{length * width:.6g}")
    for column, row, length in _find_runs((cells[:, 1:] != cells[:, :-1]).T):
        parts.append(f"M{_get_cell_corner(cells, row, column + 1)}v{-length * height:.6g}")
    return "".join(parts)


def _trace_points(regions: Regions, plot: Plot, index: int) -> str:
    """Return a path of the markers of the points of a class."""
    x_low, x_high = regions.bounds[0].tolist()
    marker = MARKERS[index % len(MARKERS)]
    parts = []
    for x_value, y_value in regions.points[regions.point_labels == index].tolist():
        x, y = plot.get_point((x_value - x_low) / (x_high - x_low), y_value)
        parts.append(f"M{x:.6g} {y:.6g}{marker}")
    return "".join(parts)


def _draw_name(regions: Regions, index: int) -> Markup:
    """Write the name of a class into its region, at a cell that is farthest from its boundary."""
    import numpy as np
    from scipy.ndimage import distance_transform_edt

    is_inside = np.pad(regions.cells == index, 1)
    if not is_inside.any():
        return NO_MARKUP
    depths = distance_transform_edt(is_inside)[1:-1, 1:-1]
    row, column = divmod(int(depths.argmax()), depths.shape[1])
    x, y = map(float, _get_cell_corner(regions.cells, row, column).split())
    name = shorten_middle(regions.labels[index], MAX_REGION_NAME_CHARS)
    return draw_text("name", x, y, name)


MAX_REGION_NAME_CHARS = 18
