"""Print an evaluation for `nbtext evaluate` and `cross-validate`: JSON, records or tables.

The tables show metrics, classes, confusions, slices, folds, prediction sets and a risk curve.
With --all on a terminal there are also a reliability diagram and the confusion matrix.
"""

from __future__ import annotations

import sys
from operator import itemgetter
from typing import TYPE_CHECKING

from nbtext.errors import format_quantity
from nbtext.evaluation.leakage import LeakResult
from nbtext.metrics.outcomes import METRICS
from nbtext.metrics.results import to_json_values
from nbtext.report.output_formats import (
    Column,
    draw_block,
    format_grid,
    format_interval,
    format_listing,
    format_named_table,
    format_number,
    format_table,
    print_blocks,
    shorten_middle,
    write_result,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.evaluation.leakage import SampledLeakResult
    from nbtext.guarantees.precision import RiskPoint
    from nbtext.guarantees.prediction_sets import SetGroup, SetsResult
    from nbtext.metrics.results import (
        ClassResult,
        EvaluationResult,
        FoldMetrics,
        FoldsResult,
        ReliabilityBin,
        SliceResult,
    )
    from nbtext.prediction.rule import PredictionThreshold


CLASS_COLUMNS: Sequence[Column[ClassResult]] = (
    Column("precision", lambda metrics: metrics.precision, ".4f"),
    Column("recall", lambda metrics: metrics.recall, ".4f"),
    Column("F1", lambda metrics: metrics.f1, ".4f"),
    Column("AUC", lambda metrics: metrics.roc_auc, ".4f", placeholder="-"),
    Column("AP", lambda metrics: metrics.average_precision, ".4f", placeholder="-"),
    Column("documents", lambda metrics: metrics.support, ","),
)
SLICE_COLUMNS: Sequence[Column[SliceResult]] = (
    Column("documents", lambda metrics: metrics.n, ","),
    Column("accuracy", lambda metrics: metrics.accuracy, ".4f"),
    Column("95 % interval", lambda metrics: metrics.interval, ".4f"),
    Column("macro F1", lambda metrics: metrics.macro_f1, ".4f"),
    Column("calibration error", lambda metrics: metrics.ece, ".4f"),
)
PREDICTION_SET_COLUMNS: Sequence[Column[SetGroup]] = (
    Column("documents", lambda group: group.n, ","),
    Column("coverage", lambda group: group.coverage, ".4f"),
    Column("95 % interval", lambda group: group.interval, ".4f"),
)
CLASS_SET_COLUMNS: Sequence[Column[SetGroup]] = (
    *PREDICTION_SET_COLUMNS,
    Column("classes in a set", lambda group: group.size, ".4f"),
)
RISK_COLUMNS: Sequence[Column[RiskPoint]] = (
    Column("answered", lambda point: point.answered, ".4f"),
    Column("probability from", lambda point: point.probability, ".6g"),
    Column("precision", lambda point: point.precision, ".4f"),
    Column("95 % interval", lambda point: point.interval, ".4f"),
)
FOLD_COLUMNS: Sequence[Column[FoldMetrics]] = (
    Column("fold", lambda fold: fold.fold, "d"),
    Column("trained on", lambda fold: fold.training_documents, ","),
    Column("judged", lambda fold: fold.documents, ","),
    Column("terms", lambda fold: fold.terms, ","),
    Column("smoothing", lambda fold: fold.smoothing, ".3g"),
    Column("accuracy", lambda fold: fold.accuracy, ".4f"),
    Column("macro F1", lambda fold: fold.macro_f1, ".4f"),
)
REPEATED_FOLD_COLUMNS: Sequence[Column[FoldMetrics]] = (
    Column("repeat", lambda fold: fold.repeat, "d"),
    *FOLD_COLUMNS,
)

MAX_SHOWN_CLASSES = 10
"""Rows of a table of classes without --all."""

MAX_SHOWN_CONFUSIONS = 5
"""Rows of the table of confusions, which are pairs of a true and a wrongly predicted class."""

MAX_MATRIX_CLASSES = 20
"""Classes of the largest confusion matrix that fits on a screen."""

MAX_MATRIX_LABEL_CHARS = 24

NO_PREDICTION = ""
"""The predicted label, in the confusion matrix, of a document without a prediction."""

MAX_FOLD_ROWS = 20
"""The table of folds is omitted if there are more folds."""

RELIABILITY_TITLE = (
    "Predictions by probability, from 0 to 1. If the accuracy is below\nthe "
    "probability, the model is overconfident.\n\n"
)


def write_evaluation(
    output: str,
    result: EvaluationResult,
    *,
    show_all: bool,
    leaks: LeakResult | SampledLeakResult | None = None,
    threshold: PredictionThreshold | None = None,
    sets: SetsResult | None = None,
    risk: Sequence[RiskPoint] = (),
    folds: FoldsResult | None = None,
    leave_one_out: bool = False,
) -> None:
    """Print an evaluation and its optional results.

    ``output`` is ``json`` for one object, ``table`` for tables, or a format of records for one
    record per class. ``show_all`` adds metrics and classes to the tables. ``leave_one_out`` is true
    if each document was a fold of its own. Only JSON mentions it.
    """
    if output == "table":
        blocks = _format_metrics_and_classes(result, leaks, threshold, show_all=show_all)
        if folds is not None:
            blocks += _format_folds(folds)
        if sets is not None:
            blocks += _format_sets(sets, show_all=show_all)
        if risk:
            blocks += _format_risk_curve(risk)
        print_blocks(*blocks)
        return

    record = to_json_values(result)
    if leaks is not None:
        leak_key = "leaks" if isinstance(leaks, LeakResult) else "sampled_leaks"
        record[leak_key] = leaks
    optional_results = {"threshold": threshold, "sets": sets, "risk_curve": risk, "folds": folds}
    # Leave out None, and a risk curve without points.
    record |= {name: value for name, value in optional_results.items() if value}
    if leave_one_out:
        record["folds"] = {"method": "leave-one-out", "n": result.n, "repeats": 1}
    class_records = [{"label": label, **metrics} for label, metrics in record["per_class"].items()]
    write_result(output, record, class_records)


def _format_metrics_and_classes(
    result: EvaluationResult,
    leaks: LeakResult | SampledLeakResult | None,
    threshold: PredictionThreshold | None,
    *,
    show_all: bool,
) -> list[str]:
    """Return the metrics, then tables of classes, confusions and slices."""
    blocks = [format_listing(_list_main_metrics(result, leaks, threshold))]
    if show_all:
        blocks.append(format_listing(_list_other_metrics(result)))
    blocks.append(_format_class_table(result, show_all=show_all))

    if result.mistakes:
        blocks.append(_format_confusions(result))

    if result.slices is not None:
        for column, slices in result.slices.items():
            table = format_named_table(column, SLICE_COLUMNS, slices.items(), f"by {column}")
            blocks.append(table)

    if show_all and sys.stdout.isatty():
        bars = _format_reliability_bars(result.reliability)
        blocks.append(RELIABILITY_TITLE + format_listing(bars))
        blocks.append(_format_confusion_table(result))
    return blocks


def _format_metric(
    result: EvaluationResult,
    name: str,
    *,
    unit: str = "",
    placeholder: str = "infinite",
    interval_name: str = "",
) -> str:
    """Return a metric with its unit and, if there is an interval, the interval in parentheses.

    ``placeholder`` is the text for None: main metrics are None if they are infinite.
    ``interval_name`` is written before the interval.
    """
    value = result.get_metric(name)
    if value is None:
        return placeholder
    interval = result.intervals.get(name)
    if interval is None:
        return f"{format_number(value)}{unit}"
    return f"{format_number(value)}{unit}  ({interval_name}{format_interval(interval)})"


def _list_main_metrics(
    result: EvaluationResult,
    leaks: LeakResult | SampledLeakResult | None,
    threshold: PredictionThreshold | None,
) -> dict[str, str]:
    """Return the titles and values of the main metrics that apply."""
    metrics = {
        "documents": f"{result.n:,}",
        "accuracy": _format_metric(result, "accuracy", interval_name="95 % interval "),
    }
    has_abstained = result.answered is not None and result.answered < 1
    if has_abstained:
        metrics["answered"] = f"{_format_metric(result, 'answered')} of the documents"
        answered_accuracy = _format_metric(result, "answered_accuracy", placeholder="none")
        metrics["accuracy of those"] = answered_accuracy
    metrics["macro F1"] = _format_metric(result, "macro_f1")
    if has_abstained or not result.has_one_label:  # otherwise equal to the accuracy
        metrics["micro F1"] = _format_metric(result, "micro_f1")
    if result.mean_cost is not None:
        metrics["mean cost"] = _format_metric(result, "mean_cost")
    if threshold is not None:
        metrics["threshold"] = _describe_threshold(threshold)
    log_loss = _format_metric(result, "log_loss", unit=" nats")
    metrics["log loss"] = log_loss + _format_known_class_loss(result)
    metrics["Brier score"] = _format_metric(result, "brier")
    metrics["calibration error"] = _format_metric(result, "ece")
    # A `SampledLeakResult` has no such metrics.
    if isinstance(leaks, LeakResult) and leaks.found:
        metrics["in training too"] = f"{leaks.found:,}"
        metrics["accuracy without"] = _format_accuracy_without_leaks(leaks)
    if result.baselines:
        largest_class = result.baselines.largest_class
        class_prior = result.baselines.class_prior
        metrics["baseline accuracy"] = (
            f"{format_number(largest_class.accuracy)}  (always {largest_class.label}; "
            f"macro F1 {format_number(largest_class.macro_f1)})"
        )
        metrics["baseline log loss"] = (
            f"{format_number(class_prior.log_loss)} nats  (always the class prior; Brier score "
            f"{format_number(class_prior.brier)})"
        )
    return metrics


def _describe_threshold(threshold: PredictionThreshold) -> str:
    """Return when costs make a class the prediction, by likelihood ratio and by probability."""
    answer = threshold.answer
    likelihoods = f"p(d | {answer}) / p(d | {threshold.against})"
    return (
        f"{answer} is predicted if {likelihoods} > {threshold.likelihood_ratio:.4g}, "
        f"so if p({answer} | d) > {format_number(threshold.probability)}"
    )


def _list_other_metrics(result: EvaluationResult) -> dict[str, str]:
    """Return the titles and values of the metrics that only --all shows."""
    metrics = {}
    for name, metric in METRICS.items():
        # Only some models have the metrics with intervals. All models have the two without
        # intervals, which may be undefined.
        is_missing = metric.has_interval and result.get_metric(name) is None
        if metric.title and not is_missing:
            metrics[metric.title] = _format_metric(result, name, placeholder="-")
    return metrics


def _format_accuracy_without_leaks(leaks: LeakResult) -> str:
    """Return the accuracy of the test documents that are not in the training set."""
    if leaks.without is None:
        return "-"
    accuracy = format_number(leaks.without.accuracy)
    return f"{accuracy}  ({format_interval(leaks.without.interval)})"


def _format_known_class_loss(result: EvaluationResult) -> str:
    """Return the log loss of documents whose true class the model knows, in parentheses.

    Return "" if all true classes are known, or if this log loss is infinite or undefined.
    """
    known = result.known
    if known.n == result.n or known.log_loss is None:
        return ""
    documents = format_quantity(known.n, "document")
    return f"  ({format_number(known.log_loss)} for {documents} of known classes)"


def _format_class_table(result: EvaluationResult, *, show_all: bool) -> str:
    """Return the table of classes, in the order of the model.

    If there are more than `MAX_SHOWN_CLASSES`, the lowest F1 comes first. Without ``show_all`` the
    further classes are omitted.
    """
    per_class = result.per_class
    n_classes = len(per_class)
    if n_classes <= MAX_SHOWN_CLASSES:
        return format_named_table("class", CLASS_COLUMNS, per_class.items())

    # First the classes that occur: the F1 of the others is 0, which says nothing about the model.
    labels = sorted(per_class, key=lambda label: (not per_class[label].occurs, per_class[label].f1))
    title = None
    if not show_all:
        labels = labels[:MAX_SHOWN_CLASSES]
        title = (
            f"{MAX_SHOWN_CLASSES} of {format_quantity(n_classes, 'class')}, those of lowest F1; "
            "--all shows all"
        )
    sorted_classes = [(label, per_class[label]) for label in labels]
    return format_named_table("class", CLASS_COLUMNS, sorted_classes, title)


def _format_folds(folds: FoldsResult) -> list[str]:
    """Return the mean and the spread of metrics over folds, and a table of the folds."""
    repeats = f", {folds.repeats:,} times" if folds.repeats > 1 else ""
    group_column = "" if folds.column is None else f" by {folds.column}"
    summary = {"folds": f"{folds.n:,}{repeats} ({folds.method}{group_column})"}
    for title, spread in (("accuracy", folds.accuracy), ("macro F1", folds.macro_f1)):
        summary[f"{title} of a fold"] = (
            f"{format_number(spread.mean)} on average, standard deviation "
            f"{format_number(spread.sd)}"
        )
    blocks = [format_listing(summary)]
    if len(folds.each) <= MAX_FOLD_ROWS:
        columns = REPEATED_FOLD_COLUMNS if folds.repeats > 1 else FOLD_COLUMNS
        blocks.append(format_table(columns, folds.each))
    return blocks


def _format_sets(sets: SetsResult, *, show_all: bool) -> list[str]:
    """Return coverage and size of prediction sets, and tables by size and by true class.

    The lowest coverage comes first in the table by class. Without ``show_all`` this table has up to
    `MAX_SHOWN_CLASSES` rows.
    """
    guarantee_scope = " of the documents of each class" if sets.by_class else ""
    coverage = format_number(sets.coverage)
    mean_size = format_number(sets.size)
    summary = {
        "required coverage": f"{sets.promised:g}{guarantee_scope}",
        "coverage of sets": f"{coverage}  ({format_interval(sets.interval)})",
        "classes in a set": f"{mean_size}  ({format_interval(sets.size_interval)})",
        "empty, full sets": f"{sets.empty:,}, {sets.full:,}",
    }
    labels = sorted(sets.per_class, key=lambda label: (sets.per_class[label].coverage, label))
    if not show_all:
        labels = labels[:MAX_SHOWN_CLASSES]
    class_groups = [(label, sets.per_class[label]) for label in labels]
    return [
        format_listing(summary),
        format_named_table(
            "classes in a set",
            PREDICTION_SET_COLUMNS,
            sets.per_size.items(),
            names_are_numbers=True,
        ),
        format_named_table("true class", CLASS_SET_COLUMNS, class_groups),
    ]


def _format_risk_curve(points: Sequence[RiskPoint]) -> list[str]:
    """Return precision by proportion of answered documents, as a table and as bars.

    The lowest precision has the lowest bar, and the precision 1 the highest bar.
    """
    min_precision = min(point.precision for point in points)
    span = 1 - min_precision
    if span == 0:  # all bars are equal, so any other span will do
        span = 1.0
    bars = "".join(draw_block((point.precision - min_precision) / span) for point in points)
    scale = f"from {format_number(min_precision)} to 1, by proportion predicted"
    return [
        format_table(RISK_COLUMNS, points, "the most probable predictions"),
        format_listing({"precision": f"{bars}  {scale}"}),
    ]


def _format_reliability_bars(bins: Sequence[ReliabilityBin]) -> dict[str, str]:
    """Return a reliability diagram as rows of bars by title, with one bar per bin.

    The rows are mean probability, accuracy and number of documents. The first two rows are equal if
    the model is calibrated. An empty bin has spaces.
    """
    max_documents = max((bin_.documents for bin_ in bins), default=0)
    sizes = [bin_.documents / max_documents if bin_.documents else None for bin_ in bins]
    return {
        "probability": "".join(draw_block(bin_.confidence) for bin_ in bins),
        "accuracy": "".join(draw_block(bin_.accuracy) for bin_ in bins),
        "documents": "".join(draw_block(size) for size in sizes),
    }


def _format_confusions(result: EvaluationResult) -> str:
    """Return a table of the most frequent pairs of true and wrongly predicted labels."""
    headings = ("true class", "answer", "documents")
    placeholder = "(no answer)"
    if not result.has_one_label:
        headings = ("true labels", "labels found", "documents")
        placeholder = "(no label)"
    # The most frequent pairs come first, and equally frequent pairs in the order of the labels.
    confusions = sorted(sorted(result.mistakes), key=itemgetter(2), reverse=True)
    rows = [
        # "" is the empty set of labels, or no predicted class.
        (truth or placeholder, predicted or placeholder, f"{n:,}")
        for truth, predicted, n in confusions[:MAX_SHOWN_CONFUSIONS]
    ]
    return format_grid(headings, rows, numeric_columns=[2], title="most frequent confusions")


def _format_confusion_table(result: EvaluationResult) -> str:
    """Return the confusion matrix of the classes that occur. Its columns have numbers as headings.

    Return "" for a multi-label model, for one class, and for over `MAX_MATRIX_CLASSES` classes.
    """
    if not result.has_one_label:
        return ""
    labels = [label for label, metrics in result.per_class.items() if metrics.occurs]
    if not 1 < len(labels) <= MAX_MATRIX_CLASSES:
        return ""

    rows = []
    columns: list[Column[Mapping[str, int]]] = []
    for number, label in enumerate(labels, start=1):
        name = f"{number} {shorten_middle(label, MAX_MATRIX_LABEL_CHARS)}"
        rows.append((name, result.confusion.get(label, {})))
        columns.append(_make_count_column(str(number), label))
    if any(NO_PREDICTION in counts for counts in result.confusion.values()):
        columns.append(_make_count_column("none", NO_PREDICTION))
    return format_named_table("true class, by answer", columns, rows)


def _make_count_column(heading: str, label: str) -> Column[Mapping[str, int]]:
    """Return the column of a predicted label, for rows with numbers of documents by label."""
    return Column(heading, lambda counts: counts.get(label), "d", placeholder="·")
