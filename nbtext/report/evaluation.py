"""An evaluation for people: the main figures, the others, a row per class, what was taken for what, and parts of the documents."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nbtext.metrics.evaluation import TOP
from nbtext.report.heat_map import confusion_rows, heat_map
from nbtext.report.sparkline import reliability_lines
from nbtext.report.tables import print_blank, print_drawn, print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFUSION_SHOWN = 10
NO_ANSWER = "(no answer)"


def print_evaluation(summary: Mapping[str, Any]) -> None:
    """Print the summary of `nbtext.metrics.Evaluation`; on a terminal with pictures of confusion and reliability."""
    print_lines(_main_figures(summary))
    print_blank()
    print_lines(_other_figures(summary))
    print_blank()
    print_table(
        None,
        ("class", "precision", "recall", "F1", "AUC", "AP", "documents"),
        (
            (
                label,
                *(_figure(of[name]) for name in ("precision", "recall", "f1")),
                *(_known(of[name]) for name in ("roc_auc", "average_precision")),
                f"{of['support']:,}",
            )
            for label, of in summary["per_class"].items()
        ),
        numeric=range(1, 7),
    )
    mistakes = _mistakes(summary)
    if mistakes:
        print_blank()
        print_table("most frequent confusions", ("true class", "answer", "documents"), mistakes[:CONFUSION_SHOWN], numeric=[2])
    for column, slices in summary.get("slices", {}).items():
        print_blank()
        _print_slices(column, slices)
    if sys.stdout.isatty():
        _print_pictures(summary)


def _main_figures(summary: Mapping[str, Any]) -> dict[str, str]:
    lines = {"documents": f"{summary['n']:,}", "accuracy": _with_interval(summary, "accuracy", explained=True)}
    abstained = summary["coverage"] is not None and summary["coverage"] < 1
    if abstained:
        lines["answered"] = f"{_with_interval(summary, 'coverage')} of the documents"
        lines["accuracy of those"] = _with_interval(summary, "answered_accuracy", absent="none")
    lines["macro F1"] = _with_interval(summary, "macro_f1")
    if abstained:
        lines["micro F1"] = _with_interval(summary, "micro_f1")
    if "mean_cost" in summary:
        lines["mean cost"] = _with_interval(summary, "mean_cost")
    lines["log loss"] = _with_interval(summary, "log_loss", unit=" nats") + _of_known(summary, "log_loss")
    lines["Brier score"] = _with_interval(summary, "brier")
    lines["calibration error"] = _with_interval(summary, "ece")
    leaks = summary.get("leaks")
    if leaks is not None and leaks["exact"] + leaks["near"]:
        without = leaks["without"]
        lines["in training too"] = f"{leaks['exact'] + leaks['near']:,}  ({leaks['exact']:,} with the same words, {leaks['near']:,} nearly)"
        lines["accuracy without"] = (
            "-" if without is None else "{:.4f}  ({:.4f} to {:.4f})".format(without["accuracy"], *without["interval"])
        )
    baselines = summary["baselines"]
    if baselines is not None:
        largest, prior = baselines["largest_class"], baselines["class_prior"]
        lines["baseline accuracy"] = f"{_figure(largest['accuracy'])}  (always {largest['label']}; macro F1 {_figure(largest['macro_f1'])})"
        lines["baseline log loss"] = f"{_figure(prior['log_loss'])} nats  (always the class prior; Brier score {_figure(prior['brier'])})"
    return lines


def _other_figures(summary: Mapping[str, Any]) -> dict[str, str]:
    lines = {
        "balanced accuracy": _with_interval(summary, "balanced_accuracy"),
        "Matthews correlation": _with_interval(summary, "matthews"),
    }
    for k in TOP:
        if f"top_{k}_accuracy" in summary:
            lines[f"top-{k} accuracy"] = _with_interval(summary, f"top_{k}_accuracy")
    lines["area under ROC (AUC), macro"] = _known(summary["macro_roc_auc"])
    lines["average precision (AP), macro"] = _known(summary["macro_average_precision"])
    return lines


def _print_slices(column: str, slices: Mapping[str, Any]) -> None:
    rows = [
        (
            value,
            f"{of['n']:,}",
            _figure(of["accuracy"]),
            "{:.4f} to {:.4f}".format(*of["interval"]),
            _figure(of["macro_f1"]),
            _figure(of["ece"]),
        )
        for value, of in slices.items()
    ]
    heads = (column, "documents", "accuracy", "95 % interval", "macro F1", "calibration error")
    print_table(f"by {column}", heads, rows, numeric=range(1, 6))


def _print_pictures(summary: Mapping[str, Any]) -> None:
    print_blank()
    print_lines({f"{len(summary['reliability'])} bins of probability": "", **dict(reliability_lines(summary["reliability"]))})
    table = confusion_rows(summary)
    if table is not None:
        print_blank()
        print_drawn(lambda width: heat_map(*table, width))


def _mistakes(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    cells = [(n, truth, answer) for truth, row in summary["confusion"].items() for answer, n in row.items() if truth != answer]
    return [(truth, answer or NO_ANSWER, f"{n:,}") for n, truth, answer in sorted(cells, key=lambda cell: (-cell[0], cell[1:]))]


def _with_interval(summary: Mapping[str, Any], name: str, *, unit: str = "", absent: str = "infinite", explained: bool = False) -> str:
    """A figure with its interval, if it has one: ``explained`` says which."""
    value, interval = summary[name], summary["intervals"].get(name)
    text = f"{absent if value is None else _figure(value)}{unit if value is not None else ''}"
    if interval is None or value is None:
        return text
    return f"{text}  ({'95 % interval ' if explained else ''}{interval[0]:.4f} to {interval[1]:.4f})"


def _of_known(summary: Mapping[str, Any], name: str) -> str:
    """What the figure is without the documents whose class the model does not know, if there are such."""
    known = summary["known"]
    if not summary["unknown_labels"] or known[name] is None:
        return ""
    return f"  ({_figure(known[name])} for documents of known classes, of which there are {known['n']:,})"


def _figure(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.4f}"


def _known(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
