"""Make the pages of `nbtext learning-curve`, `tune`, `prevalence`, `drift`, `cross-validate`.

Each page has the numbers of the table or JSON of its command. The pages of cross-validate also have
the sections of `nbtext report` on evaluated documents.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from nbtext.errors import format_quantity
from nbtext.evaluation.report_data import ReportData
from nbtext.metrics.outcomes import METRICS
from nbtext.metrics.results import ProbabilityResult
from nbtext.report.comparisons import (
    DRIFT_METRIC_TITLES,
    TRAINING_ACCURACY,
    TRIAL_METRICS,
    describe_choice,
    format_options,
    list_stages,
    make_drift_table,
    summarize_trials,
)
from nbtext.report.evaluations import FOLD_COLUMNS, REPEATED_FOLD_COLUMNS
from nbtext.report.output_formats import (
    METRIC_TITLES,
    Column,
    Record,
    format_cells,
    format_interval,
    format_number,
    shorten_middle,
)
from nbtext.report.page.charts import (
    DistancePoint,
    SettingPoint,
    draw_bar,
    draw_distances,
    draw_dots,
    draw_setting_curve,
)
from nbtext.report.page.markup import (
    MAX_PAGE_LABEL_CHARS,
    NO_MARKUP,
    Markup,
    Section,
    build_page,
    format_class_cell,
    format_html,
    format_html_table,
    format_note,
    join_markup,
    make_scrollable,
)
from nbtext.report.page.sections import (
    format_description_list,
    format_learning_curve,
    list_evaluation_sections,
    make_section,
)
from nbtext.settings import TUNING_METRICS
from nbtext.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nbtext.evaluation.drift_log import DriftRun
    from nbtext.evaluation.learning_curves import CurvePoint, LearningCurve
    from nbtext.guarantees.class_proportions import ClassProportion, PrevalenceResult
    from nbtext.metrics.intervals import Interval
    from nbtext.metrics.results import EvaluationResult, FoldMetrics, FoldsResult
    from nbtext.report.comparisons import Trial

    Provenance = Sequence[tuple[str, str]]
    """Names and values of what a page was made from."""

MAX_SMALL_PROPORTION = 0.25
"""If all proportions are smaller, a full bar is the largest of them."""

MAX_GROUP_CLASSES = 10
"""Number of classes that are shown of each group of documents."""

CURVE_COLUMNS: Sequence[Column[CurvePoint]] = (
    Column("Documents", lambda point: point.documents, ","),
    Column("Accuracy", lambda point: point.accuracy, ".4f"),
    Column("95\u00a0% of the runs", lambda point: point.accuracy_band, ".4f"),
    Column("Macro F1", lambda point: point.macro_f1, ".4f"),
    Column("95\u00a0% of its runs", lambda point: point.macro_f1_band, ".4f"),
    Column("Accuracy on these documents", lambda point: point.training_accuracy, ".4f"),
)


def build_learning_curve_page(curve: LearningCurve, command: str) -> str:
    """Return the page of a learning curve. ``command`` is the command line."""
    numbers = format_number_table("Numbers of the curve", CURVE_COLUMNS, curve.points)
    sections = [
        make_section("learning", "Learning", "Accuracy by documents", format_learning_curve(curve)),
        make_section("numbers", "Numbers", "Numbers", numbers),
    ]
    return build_result_page("Learning curve", sections, command)


def build_result_page(title: str, sections: Iterable[Section], command: str) -> str:
    """Return a page that ends with the command line and the version of nbtext."""
    provenance = format_description_list((("command", command), ("nbtext", __version__)))
    made = make_section("made", "How made", "How it was made", provenance)
    return build_page(title, [*sections, made], "results.css")


def _capitalize(text: str) -> str:
    """Return a text with a capital at the start. The other letters stay, as in macro F1."""
    return text[:1].upper() + text[1:]


def format_number_table(
    caption: str, columns: Sequence[Column[Record]], records: Iterable[Record]
) -> Markup:
    """Return a table of numbers that can be scrolled."""
    headings = {column.heading: "number" for column in columns}
    table = format_html_table(caption, headings, format_cells(columns, records))
    return make_scrollable(table, caption)


def build_trials_page(
    result: Mapping[str, Any], intervals: Sequence[Interval | None], command: str
) -> str:
    """Return the page of the settings that `nbtext tune` tried.

    ``result`` is the object of the JSON output. ``intervals`` are the intervals of the metric to
    optimise, in the order of its settings.
    """
    summary = {name: value for name, value in summarize_trials(result).items() if value is not None}
    content = format_html(
        "<p>{}</p>{}", describe_choice(result), format_description_list(summary.items())
    )
    sections = [make_section("choice", "Choice", "Choice", content)]
    intervals_by_rank = dict(enumerate(intervals, start=1))
    curve = _format_setting_curve(result, intervals_by_rank)
    if curve is not None:
        sections.append(make_section("learning", "Overfitting", "Accuracy by setting", curve))
    for number, (title, trials) in enumerate(list_stages(result), start=1):
        table = _format_trials(trials, intervals_by_rank, result["metric"], title)
        name = f"Stage {number}"
        sections.append(make_section(f"stage-{number}", name, _capitalize(title), table))
    return build_result_page("Settings of training", sections, command)


MAX_CURVE_SETTINGS = 16
"""Number of values of a setting whose labels fit below a curve."""


def _format_setting_curve(
    result: Mapping[str, Any], intervals: Mapping[int, Interval | None]
) -> Markup | None:
    """Return the accuracies by the value of the setting that was tried, on a logarithmic axis.

    Return None unless accuracies on training documents were measured for two or more numbers above
    0 of a single setting. ``intervals`` by rank belong to the metric to optimise.
    """
    [(_, trials), *_] = list_stages(result)
    points = {}
    names = set()
    for trial in trials:
        names.update(trial["setting"])
        value = _parse_positive_number(*trial["setting"].values())
        if value is not None and trial.get(TRAINING_ACCURACY) is not None:
            accuracy = trial["accuracy"]
            interval = None
            if result["metric"] == "accuracy":
                interval = intervals[trial["rank"]]
            points[value] = SettingPoint(
                value, accuracy, interval or (accuracy, accuracy), trial[TRAINING_ACCURACY]
            )
    if len(names) != 1 or not 2 <= len(points) <= MAX_CURVE_SETTINGS:
        return None
    [name] = names
    label = f"Accuracy on held-out and on training documents by {name}"
    legend = format_html(
        '<figcaption><span class="key first">held-out documents</span>'
        '<span class="key second">training documents</span></figcaption>'
    )
    note = format_note(
        "Held-out documents were predicted by models of the other folds, training documents by "
        "models that were trained on them. A large distance is overfitting. {}The horizontal axis "
        "is the value of {}, with equal steps for equal factors.",
        "The band is the 95\u00a0% interval. " if result["metric"] == "accuracy" else "",
        name,
    )
    curve = draw_setting_curve([points[value] for value in sorted(points)], label)
    return format_html("{}<figure>{}{}</figure>", note, legend, curve)


def _parse_positive_number(*texts: str) -> float | None:
    """Return the number of a single text, or None if it is not a finite number above 0."""
    if len(texts) != 1:
        return None
    try:
        number = float(texts[0])
    except ValueError:
        return None
    return number if 0 < number < inf else None


def _format_trials(
    trials: Sequence[Trial], intervals: Mapping[int, Interval | None], goal: str, title: str
) -> Markup:
    """Return the settings of a stage, with the metric ``goal`` as a dot and its interval."""
    key = TUNING_METRICS[goal]
    all_metrics = {**TRIAL_METRICS, "on training": TRAINING_ACCURACY}
    other_metrics = {
        name: other for name, other in all_metrics.items() if other != key and other in trials[0]
    }
    ends = [value for trial in trials for value in intervals[trial["rank"]] or ()]
    low = min(ends, default=0.0)
    high = max(ends, default=1.0)
    if low == high:
        high = low + 1.0
    rows = []
    for trial in trials:
        interval = intervals[trial["rank"]]
        other_values = [format_number(trial[other]) for other in other_metrics.values()]
        p_value = "" if trial["p_value"] is None else f"{trial['p_value']:.3g}"
        rows.append(
            (
                _format_setting(trial),
                _format_dots(trial[key], interval, low, high),
                *other_values,
                p_value,
            )
        )
    headings = {
        "Setting": None,
        goal: "dots-cell",
        **dict.fromkeys(other_metrics, "number wide"),
        "p": "number",
    }
    note = format_note(
        "Dots: {} on held-out documents. Lines: 95\u00a0% intervals, from {} to {}. p is the "
        "probability that one of so many settings looks so much better than the default by "
        "chance. The settings were evaluated on the same documents, so compare them by p, not by "
        "their intervals.",
        goal,
        f"{low:.4f}",
        f"{high:.4f}",
    )
    table = format_html_table(f"Settings, {title}", headings, rows, bars=True)
    return join_markup((note, make_scrollable(table, title)))


def _format_setting(trial: Trial) -> Markup:
    """Return rank and options of a setting, with a mark if it was chosen."""
    mark = format_html(' <span class="chosen">* chosen</span>') if trial["chosen"] else NO_MARKUP
    options = format_options(trial["setting"])
    return format_html('{} <b class="data">{}</b>{}', trial["rank"], options, mark)


def _format_dots(value: float | None, interval: Interval | None, low: float, high: float) -> Markup:
    """Return a metric with its interval as text, and as a dot and a line from ``low`` to ``high``.

    The dot is missing if the value is None, which means infinite.
    """
    values = () if value is None else (value,)
    return format_html(
        '<div><span class="value">{}</span> <span class="bounds">{}</span></div>{}',
        format_number(value),
        format_interval(interval),
        draw_dots(values, low, high, interval),
    )


def build_prevalence_page(result: PrevalenceResult, column: str | None, command: str) -> str:
    """Return the page of class proportions. ``column`` is the column of the groups, if any."""
    prevalence = result.all.prevalence
    labels = sorted(prevalence, key=lambda label: prevalence[label].proportion, reverse=True)
    all_proportions = [*prevalence.values()]
    sections = [
        make_section(
            "proportions",
            "Classes",
            f"Proportions among {format_quantity(result.all.documents, 'document')}",
            _format_proportions({label: prevalence[label] for label in labels}),
        )
    ]
    if column is not None and result.groups:
        shown_labels = labels[:MAX_GROUP_CLASSES]
        for group in result.groups.values():
            all_proportions += [group.prevalence[label] for label in shown_labels]
        scale = _find_scale(all_proportions)
        cards = []
        for value, group in result.groups.items():
            proportions = {label: group.prevalence[label] for label in shown_labels}
            cards.append(_format_group(value, group.documents, proportions, scale))
        content = format_html(
            '{}<div class="cards-of-terms">{}</div>',
            format_note(
                "The {} with the largest proportions. Lines: 95\u00a0% intervals. A full bar is "
                "{}.",
                format_quantity(len(shown_labels), "class"),
                f"{scale:.3f}",
            ),
            cards,
        )
        sections.append(make_section("groups", "Groups", f"Proportions by {column}", content))
    return build_result_page("Class proportions", sections, command)


def _find_scale(proportions: Iterable[ClassProportion]) -> float:
    """Return the proportion of a full bar: 1, or the largest number if all numbers are small."""
    max_value = max(max(proportion.high, proportion.counted) for proportion in proportions)
    return 1.0 if max_value > MAX_SMALL_PROPORTION else max_value


def _format_proportions(proportions: Mapping[str, ClassProportion]) -> Markup:
    """Return the estimated and the counted proportion of each class as bars."""
    scale = _find_scale(proportions.values())
    rows = []
    for label, proportion in proportions.items():
        counted = f"{proportion.counted:.3f}"
        rows.append(
            (
                format_class_cell(label),
                format_html(
                    '<div><span class="value">{}</span> <span class="bounds">{}</span></div>{}',
                    f"{proportion.proportion:.3f}",
                    format_interval((proportion.low, proportion.high), ".3f"),
                    _draw_proportion(proportion, scale),
                ),
                format_html(
                    '<div><span class="value">{}</span></div>{}',
                    counted,
                    draw_bar(proportion.counted / scale, counted),
                ),
            )
        )
    headings = {"Class": None, "Proportion": None, "By counting predictions": None}
    note = format_note(
        "Proportions are corrected for the mistakes of the model. Lines: 95\u00a0% intervals. "
        "Counts of predictions are not corrected. A full bar is {}.",
        f"{scale:.3f}",
    )
    table = format_html_table("Proportions of the classes", headings, rows, bars=True)
    return join_markup((note, make_scrollable(table, "Proportions of the classes")))


def _draw_proportion(proportion: ClassProportion, scale: float) -> Markup:
    """Draw the estimate as a bar with its interval. ``scale`` is the proportion of a full bar."""
    interval = format_interval((proportion.low, proportion.high), ".3f")
    title = f"{proportion.proportion:.3f}, 95\u00a0% interval {interval}"
    scaled_interval = (proportion.low / scale, proportion.high / scale)
    return draw_bar(proportion.proportion / scale, title, scaled_interval)


def _format_group(
    value: str, n_documents: int, proportions: Mapping[str, ClassProportion], scale: float
) -> Markup:
    """Return the proportions of a group of documents as a small chart."""
    items = [
        format_html(
            '<li>{}<span title="{}">{}</span>{}</li>',
            format_class_cell(label),
            format_interval((proportion.low, proportion.high), ".3f"),
            f"{proportion.proportion:.3f}",
            _draw_proportion(proportion, scale),
        )
        for label, proportion in proportions.items()
    ]
    return format_html(
        '<div><h3><span class="data">{}</span> <span class="count">{}</span></h3><ol>{}</ol></div>',
        shorten_middle(value, MAX_PAGE_LABEL_CHARS),
        format_quantity(n_documents, "document"),
        items,
    )


def build_drift_page(
    runs: Sequence[DriftRun],
    pooled_run: DriftRun | None,
    n_skipped: int,
    gates: Sequence[tuple[str, float]],
    command: str,
) -> str:
    """Return the page of a log of drift.

    ``gates`` are names of metrics, or ``any``, with the largest distance that meets the gate. For
    the other arguments, see `nbtext.report.comparisons.write_drift_history`.
    """
    figures = []
    for metric, title in DRIFT_METRIC_TITLES.items():
        limits = [limit for name, limit in gates if name in (metric, "any")]
        figures.append(_format_distances(runs, pooled_run, limits, metric, title))
    headings, rows, notes = make_drift_table(runs, pooled_run, n_skipped)
    explanations = ["Each dot is a run, the oldest on the left."]
    if pooled_run is not None:
        explanations.append("The large dot on the right is all runs together.")
    if gates:
        explanations.append("Dashed lines are the limits of --fail-over.")
    explanations.append("Filled orange dots are significant, rings are not.")
    charts = format_html(
        '{}{}<div class="pair">{}</div>',
        format_description_list(notes.items()),
        format_note("{}", " ".join(explanations)),
        figures,
    )
    css_classes: dict[str, str | None] = dict.fromkeys(headings, "number")
    css_classes[headings[0]] = None
    table = format_html_table("Distances of the runs; * significant", css_classes, rows)
    sections = [
        make_section("drift", "Drift", "Distances from the training documents", charts),
        make_section("runs", "Runs", "Runs", make_scrollable(table, "Distances of the runs")),
    ]
    return build_result_page("Drift", sections, command)


def _format_distances(
    runs: Sequence[DriftRun],
    pooled_run: DriftRun | None,
    limits: Sequence[float],
    metric: str,
    title: str,
) -> Markup:
    """Return the chart of a metric over the runs, with its heading."""
    points = [_make_distance_point(run, metric, run.time) for run in runs]
    newest = runs[-1].metrics[metric].distance
    subheading = f"newest {format_number(newest, placeholder='not known', decimals=2)}"
    if pooled_run is not None:
        points += [None, _make_distance_point(pooled_run, metric, "together", "combined")]
        pooled = pooled_run.metrics[metric].distance
        subheading += f", together {format_number(pooled, placeholder='not known', decimals=2)}"
    label = f"Distance of {title} over {format_quantity(len(runs), 'run')}: {subheading}."
    return format_html(
        '<figure><figcaption><h3>{}</h3><span>{}</span></figcaption>{}<p class="axis">{} → {}</p>'
        "</figure>",
        _capitalize(title),
        subheading,
        draw_distances(points, limits, label),
        runs[0].time[:10],
        runs[-1].time[:10],
    )


def _make_distance_point(
    run: DriftRun, metric: str, name: str, css_class: str = ""
) -> DistancePoint | None:
    """Return a point of a metric, None if its distance is not known."""
    drift = run.metrics[metric]
    if drift.distance is None:
        return None
    title = f"{name}, {format_quantity(run.documents, 'document')}: {drift.distance:.4f}"
    if drift.is_significant:
        title += ", significant"
        css_class = f"{css_class} significant".strip()
    return DistancePoint(drift.distance, title, css_class or None)


def build_cross_validation_page(
    result: EvaluationResult, folds: FoldsResult | None, command: str
) -> str:
    """Return the page of a cross-validation. ``folds`` is None for leave-one-out."""
    n_documents = sum(bin_.documents for bin_ in result.reliability)
    probability_sum = sum(
        bin_.documents * bin_.confidence
        for bin_ in result.reliability
        if bin_.confidence is not None
    )
    data = ReportData(
        title="Cross-validation",
        evaluation=result,
        uncalibrated=None,
        calibrated=ProbabilityResult(
            bins=result.reliability,
            log_loss=result.log_loss,
            brier=result.brier,
            ece=result.ece,
            confidence=probability_sum / n_documents if n_documents else None,
        ),
        mistakes=(),
        top_terms=(),
    )
    folds_content = format_html(
        "<p>Each document was predicted by a model that was trained on all other documents. Below, "
        "“the model” stands for these models.</p>"
    )
    if folds is not None:
        folds_content = _format_folds(result, folds)
    summary, metrics, *other_sections = list_evaluation_sections(data, compares_calibration=False)
    intervals = _format_intervals(result)
    sections = [
        make_section("folds", "Folds", "Folds", folds_content),
        summary,
        metrics,
        make_section("intervals", "Intervals", "Metrics with intervals", intervals),
        *other_sections,
    ]
    return build_result_page(data.title, sections, command)


def _format_folds(result: EvaluationResult, folds: FoldsResult) -> Markup:
    """Return the division, each metric with a dot per fold, and the table of folds."""
    column = NO_MARKUP if folds.column is None else format_html(" by {}", folds.column)
    columns: Sequence[Column[FoldMetrics]] = FOLD_COLUMNS
    repeats = ""
    if folds.repeats > 1:
        columns = REPEATED_FOLD_COLUMNS
        repeats = (
            f", drawn {folds.repeats:,} times, so each document counts {folds.repeats:,} times"
        )
    caption = "Metrics of the folds"
    rows = [
        ("Accuracy", _format_spread(folds, "accuracy", result.intervals.get("accuracy"))),
        ("Macro F1", _format_spread(folds, "macro_f1", result.intervals.get("macro_f1"))),
    ]
    headings = {"Metric": None, "Mean ± standard deviation": "dots-cell"}
    return format_html(
        "<p>{} ({}{}){}. Each document was predicted by a model of the other folds. Below, “the "
        "model” stands for these models.</p>{}{}<details><summary>Numbers</summary>{}</details>",
        format_quantity(folds.n, "fold"),
        folds.method,
        column,
        repeats,
        format_note(
            "Each dot is a fold, on a scale from 0 to 1. The thick line is the 95\u00a0% interval "
            "of the metric of all documents."
        ),
        make_scrollable(format_html_table(caption, headings, rows, bars=True), caption),
        format_number_table("Folds", columns, folds.each),
    )


def _format_spread(folds: FoldsResult, name: str, interval: Interval | None) -> Markup:
    """Return mean and standard deviation of a metric over folds, and a dot for each fold."""
    spread = getattr(folds, name)
    values = [getattr(fold, name) for fold in folds.each]
    return format_html(
        '<div><span class="value">{} ± {}</span></div>{}',
        format_number(spread.mean),
        format_number(spread.sd),
        draw_dots(values, 0.0, 1.0, interval),
    )


def _format_intervals(result: EvaluationResult) -> Markup:
    """Return the metrics that have 95 % intervals, those from 0 to 1 also as dots."""
    rows = []
    for name, metric in METRICS.items():
        value = result.get_metric(name)
        interval = result.intervals.get(name)
        if interval is None:
            continue
        name_in_words = name.replace("_", " ").replace("f1", "F1")
        title = metric.title or METRIC_TITLES.get(name, name_in_words)
        dots = NO_MARKUP
        if value is not None and (metric.minimum, metric.maximum) == (0, 1):
            dots = draw_dots((value,), 0.0, 1.0, interval)
        rows.append((_capitalize(title), format_number(value), format_interval(interval), dots))
    headings = {
        "Metric": None,
        "Value": "number",
        "95\u00a0% interval": "number wide",
        "From 0 to 1": "dots-cell",
    }
    caption = "Metrics with intervals"
    return make_scrollable(format_html_table(caption, headings, rows, bars=True), caption)
