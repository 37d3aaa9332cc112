"""An evaluation for people: the figures, a row per class, and what was taken for what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.report.tables import print_blank, print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFUSION_SHOWN = 10


def print_evaluation(summary: Mapping[str, Any]) -> None:
    """Print the summary of `nbtext.metrics.Evaluation`."""
    low, high = summary["intervals"]["accuracy"]
    print_lines({
        "documents": f"{summary['n']:,}",
        "accuracy": f"{_figure(summary['accuracy'])}  (95 % interval {low:.4f} to {high:.4f})",
        "macro F1": _figure(summary["macro_f1"]),
        "log loss": f"{_figure(summary['log_loss'])} nats",
        "Brier score": _figure(summary["brier"]),
        "calibration error": _figure(summary["ece"]),
    })  # fmt: skip
    print_blank()
    print_table(
        None,
        ("class", "precision", "recall", "F1", "documents"),
        (
            (label, _figure(of["precision"]), _figure(of["recall"]), _figure(of["f1"]), f"{of['support']:,}")
            for label, of in summary["per_class"].items()
        ),
        numeric=range(1, 5),
    )
    mistakes = _mistakes(summary)
    if mistakes:
        print_blank()
        print_table("most frequent confusions", ("true class", "answer", "documents"), mistakes[:CONFUSION_SHOWN], numeric=[2])


def _mistakes(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    cells = [(n, truth, answer) for truth, row in summary["confusion"].items() for answer, n in row.items() if truth != answer]
    return [(truth, answer, f"{n:,}") for n, truth, answer in sorted(cells, key=lambda cell: (-cell[0], cell[1:]))]


def _figure(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.4f}"
