"""An evaluation as tables: main figures, classes, confusions, slices, folds; on a terminal also reliability as bars, and all confusions."""

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
    format_interval,
    format_listing,
    format_number,
    format_table,
    print_blocks,
    shorten_middle,
    write_result,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.evaluation.cross_validation import FoldMetrics, FoldsResult
    from nbtext.evaluation.leakage import SampledLeakResult
    from nbtext.guarantees.precision import RiskPoint
    from nbtext.guarantees.prediction_sets import SetGroup, SetsResult
    from nbtext.metrics.results import ClassResult, EvaluationResult, ReliabilityBin, SliceResult
    from nbtext.prediction.rule import PredictionThreshold

    OfClass = tuple[str, ClassResult]
    OfSlice = tuple[str, SliceResult]
    OfSets = tuple[str, SetGroup]
    Confusion = tuple[str, str, int]

CLASSES_SHOWN = 10
CONFUSIONS_SHOWN = 5
CLASSES: Sequence[Column[OfClass]] = (
    Column("class", lambda row: row[0]),
    Column("precision", lambda row: row[1].precision, ".4f"),
    Column("recall", lambda row: row[1].recall, ".4f"),
    Column("F1", lambda row: row[1].f1, ".4f"),
    Column("AUC", lambda row: row[1].roc_auc, ".4f", placeholder="-"),
    Column("AP", lambda row: row[1].average_precision, ".4f", placeholder="-"),
    Column("documents", lambda row: row[1].support, ","),
)
CONFUSIONS: Sequence[Column[Confusion]] = (
    Column("true class", lambda row: row[0]),
    Column("answer", lambda row: row[1], placeholder="(no answer)"),
    Column("documents", lambda row: row[2], ","),
)
CONFUSIONS_OF_SETS: Sequence[Column[Confusion]] = (
    Column("true labels", lambda row: row[0], placeholder="(no label)"),
    Column("labels found", lambda row: row[1], placeholder="(no label)"),
    Column("documents", lambda row: row[2], ","),
)
SLICES: Sequence[Column[OfSlice]] = (
    Column("documents", lambda row: row[1].n, ","),
    Column("accuracy", lambda row: row[1].accuracy, ".4f"),
    Column("95 % interval", lambda row: row[1].interval, ".4f"),
    Column("macro F1", lambda row: row[1].macro_f1, ".4f"),
    Column("calibration error", lambda row: row[1].ece, ".4f"),
)
SETS: Sequence[Column[OfSets]] = (
    Column("documents", lambda row: row[1].n, ","),
    Column("coverage", lambda row: row[1].coverage, ".4f"),
    Column("95 % interval", lambda row: row[1].interval, ".4f"),
)
SETS_BY_SIZE: Sequence[Column[OfSets]] = (
    Column("classes in a set", lambda row: row[0], "s"),
    *SETS,
)
SETS_BY_CLASS: Sequence[Column[OfSets]] = (
    Column("true class", lambda row: row[0]),
    *SETS,
    Column("classes in a set", lambda row: row[1].size, ".4f"),
)
RISK: Sequence[Column[RiskPoint]] = (
    Column("answered", lambda point: point.answered, ".4f"),
    Column("probability from", lambda point: point.probability, ".6g"),
    Column("precision", lambda point: point.precision, ".4f"),
    Column("95 % interval", lambda point: point.interval, ".4f"),
)
FOLDS: Sequence[Column[FoldMetrics]] = (
    Column("fold", lambda fold: fold.fold, "d"),
    Column("trained on", lambda fold: fold.training_documents, ","),
    Column("judged", lambda fold: fold.documents, ","),
    Column("terms", lambda fold: fold.terms, ","),
    Column("smoothing", lambda fold: fold.smoothing, ".3g"),
    Column("accuracy", lambda fold: fold.accuracy, ".4f"),
    Column("macro F1", lambda fold: fold.macro_f1, ".4f"),
)
FOLDS_OF_REPEATS: Sequence[Column[FoldMetrics]] = (
    Column("repeat", lambda fold: fold.repeat, "d"),
    *FOLDS,
)

MOST_CLASSES = 20
"""Classes of the table of confusions: more would not fit."""

LONGEST_NAME = 24

FOLDS_SHOWN = 20
"""With more folds there is no row for each."""


def _accuracy_without(leaked: LeakResult) -> str:
    """Return the accuracy without the documents that were in training too."""
    without = leaked.without
    if without is None:
        return "-"
    return f"{format_number(without.accuracy)}  ({format_interval(without.interval)})"


def _loss_of_known(result: EvaluationResult) -> str:
    """Return the log loss of documents of known classes, if there are others."""
    known = result.known
    if known.n == result.n or known.log_loss is None:
        return ""
    return f"  ({format_number(known.log_loss)} for {format_quantity(known.n, 'document')} of known classes)"


def write_evaluation(
    output: str,
    result: EvaluationResult,
    *,
    show_all: bool,
    leaks: LeakResult | SampledLeakResult | None = None,
    threshold: PredictionThreshold | None = None,
    sets: SetsResult | None = None,
    risk: Sequence[RiskPoint] = (),
    folds: FoldsResult | dict[str, object] | None = None,
) -> None:
    """Print an evaluation: an object with ``json``, a record of each class flat, or tables.

    These are the main figures, the worst classes and confusions; with ``everything`` all figures and classes, on a terminal also pictures. Besides
    come the leaks found in the whole training corpus, sets of classes, a risk curve, and the folds of a cross-validation if there is more than their
    number. Of more than `CLASSES_SHOWN` classes the worst come first, by F1.
    """
    if output != "table":
        kind = "leaks" if isinstance(leaks, LeakResult) else "sampled_leaks"
        beside = {
            kind: leaks,
            "threshold": threshold,
            "sets": sets,
            "risk_curve": risk or None,
            "folds": folds,
        }
        record = {
            **to_json_values(result),
            **{name: part for name, part in beside.items() if part is not None},
        }
        write_result(
            output,
            record,
            [{"label": label, **figures} for label, figures in record["per_class"].items()],
        )
        return

    def with_interval(
        name: str, *, unit: str = "", absent: str = "infinite", kind: str = ""
    ) -> str:
        """Return a figure with its interval, if it has one, after the name of its ``kind``."""
        value = result.get_metric(name)
        interval = result.intervals.get(name)
        if value is None:
            return absent
        return f"{format_number(value)}{unit}" + (
            "" if interval is None else f"  ({kind}{format_interval(interval)})"
        )

    abstained = result.coverage is not None and result.coverage < 1
    baselines = result.baselines
    leaked = leaks if isinstance(leaks, LeakResult) and leaks.found else None
    figures = {
        "documents": f"{result.n:,}",
        "accuracy": with_interval("accuracy", kind="95 % interval "),
        "answered": f"{with_interval('coverage')} of the documents" if abstained else None,
        "accuracy of those": with_interval("answered_accuracy", absent="none")
        if abstained
        else None,
        "macro F1": with_interval("macro_f1"),
        "micro F1": with_interval("micro_f1") if abstained or not result.has_one_label else None,
        "mean cost": None if result.mean_cost is None else with_interval("mean_cost"),
        "threshold": None
        if threshold is None
        else f"{threshold.answer} is the answer if p(d | {threshold.answer}) / p(d | "
        f"{threshold.against}) > {threshold.likelihood_ratio:.4g}, "
        f"so if p({threshold.answer} | d) > {format_number(threshold.probability)}",
        "log loss": with_interval("log_loss", unit=" nats") + _loss_of_known(result),
        "Brier score": with_interval("brier"),
        "calibration error": with_interval("ece"),
        "in training too": None if leaked is None else f"{leaked.found:,}",
        "accuracy without": None if leaked is None else _accuracy_without(leaked),
        "baseline accuracy": baselines
        and f"{format_number(baselines.largest_class.accuracy)}  (always {baselines.largest_class.label}; "
        f"macro F1 {format_number(baselines.largest_class.macro_f1)})",
        "baseline log loss": baselines
        and f"{format_number(baselines.class_prior.log_loss)} nats  (always the class prior; Brier score "
        f"{format_number(baselines.class_prior.brier)})",
    }
    per_class = list(result.per_class.items())
    title = None
    if len(per_class) > CLASSES_SHOWN:
        per_class.sort(key=lambda item: (not item[1].occurs, item[1].f1))
        if not show_all:
            title = (
                f"{CLASSES_SHOWN} of {format_quantity(len(per_class), 'class')}, those of least F1; "
                "--all shows all"
            )
            del per_class[CLASSES_SHOWN:]
    others = {
        metric.title: with_interval(name, absent="-")
        for name, metric in METRICS.items()
        if metric.title and not (metric.has_interval and result.get_metric(name) is None)
    }
    mistakes = sorted(result.mistakes, key=lambda mistake: (-mistake[2], mistake[:2]))[
        :CONFUSIONS_SHOWN
    ]
    blocks = [
        format_listing(figures),
        format_listing(others) if show_all else "",
        format_table(CLASSES, per_class, title),
        format_table(
            CONFUSIONS if result.has_one_label else CONFUSIONS_OF_SETS,
            mistakes,
            "most frequent confusions",
        )
        if mistakes
        else "",
        *(_slices_table(column, slices) for column, slices in (result.slices or {}).items()),
        *(
            (
                PROMISED + format_listing(_format_reliability_bars(result.reliability)),
                _format_confusion_table(result),
            )
            if show_all and sys.stdout.isatty()
            else ()
        ),
    ]
    if folds is not None and not isinstance(folds, dict):
        several = f", {folds.repeats:,} times" if folds.repeats > 1 else ""
        by_column = "" if folds.column is None else f" by {folds.column}"
        spreads = {
            f"{title} of a fold": f"{format_number(spread.mean)} on average, standard deviation "
            f"{format_number(spread.sd)}"
            for title, spread in (("accuracy", folds.accuracy), ("macro F1", folds.macro_f1))
        }
        blocks.append(
            format_listing(
                {"folds": f"{folds.n:,}{several} ({folds.method}{by_column})", **spreads}
            )
        )
        if len(folds.each) <= FOLDS_SHOWN:
            blocks.append(
                format_table(FOLDS_OF_REPEATS if folds.repeats > 1 else FOLDS, folds.each)
            )
    if sets is not None:
        of_each = " of the documents of each class" if sets.by_class else ""
        coverages = {
            "promised coverage": f"{sets.promised:g}{of_each}",
            "coverage of sets": f"{format_number(sets.coverage)}  ({format_interval(sets.interval)})",
            "classes in a set": f"{format_number(sets.size)}  ({format_interval(sets.size_interval)})",
            "empty, full sets": f"{sets.empty:,}, {sets.full:,}",
        }
        least_covered = sorted(sets.per_class.items(), key=lambda item: (item[1].coverage, item[0]))
        blocks += [
            format_listing(coverages),
            format_table(SETS_BY_SIZE, sets.per_size.items()),
            format_table(SETS_BY_CLASS, least_covered[: None if show_all else CLASSES_SHOWN]),
        ]
    if risk:
        least = min(point.precision for point in risk)
        bars = "".join(draw_block((point.precision - least) / ((1 - least) or 1)) for point in risk)
        blocks += [
            format_table(RISK, risk, "the surest answers alone"),
            format_listing(
                {"precision": f"{bars}  from {format_number(least)} to 1, by share answered"}
            ),
        ]
    print_blocks(*blocks)


def _slices_table(column: str, slices: Mapping[str, SliceResult]) -> str:
    value: Column[OfSlice] = Column(column, lambda row: row[0])
    return format_table([value, *SLICES], slices.items(), f"by {column}")


PROMISED = (
    "Answers by their probability, from 0 to 1. Where fewer came true than promised,\nthe "
    "model is too sure of itself.\n\n"
)


def _format_reliability_bars(bins: Sequence[ReliabilityBin]) -> dict[str, str]:
    """Return three rows of bars, one bar for each bin. The first two are the same where probabilities are calibrated."""
    most = max((part.documents for part in bins), default=0)
    return {
        "promised": "".join(draw_block(part.confidence) for part in bins),
        "came true": "".join(draw_block(part.accuracy) for part in bins),
        "documents": "".join(
            draw_block(part.documents / most if part.documents else None) for part in bins
        ),
    }


def _format_confusion_table(result: EvaluationResult) -> str:
    """Return the documents of each class that occurs by answer, nothing for one class, more than `MOST_CLASSES` or several labels."""
    if not result.has_one_label:
        return ""
    labels = [label for label, of_class in result.per_class.items() if of_class.occurs]
    if not 1 < len(labels) <= MOST_CLASSES:
        return ""
    rows = (
        (
            f"{number} {shorten_middle(truth, LONGEST_NAME)}",
            *map(result.confusion.get(truth, {}).get, (*labels, "")),
        )
        for number, truth in enumerate(labels, 1)
    )
    heads = [str(number) for number in range(1, len(labels) + 1)]
    if any("" in row for row in result.confusion.values()):
        heads.append("none")
    columns = [Column("true class, by answer", itemgetter(0))]
    columns += [Column(head, itemgetter(place), "d", "·") for place, head in enumerate(heads, 1)]
    return format_table(columns, rows)
