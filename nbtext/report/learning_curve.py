"""A learning curve for people: a row for each number of training documents, and in words what more would bring."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nbtext.report.tables import print_blank, print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

FIGURES = {"accuracy": "accuracy", "macro_f1": "macro F1"}


def print_learning_curve(summary: Mapping[str, Any]) -> None:
    """Print the summary of `nbtext.evaluation.learning_curves.LearningCurve`."""
    print_lines({"documents": f"{summary['documents']:,}", "runs": f"{summary['runs']:,}, of which 95 % lie in a band"})
    print_blank()
    rows = [
        (
            f"{point['documents']:,}",
            *(text for name in FIGURES for text in (f"{point[name]:.4f}", _range(point[f"{name}_band"]))),
        )
        for point in summary["points"]
    ]
    print_table(None, ("training documents", "accuracy", "band", "macro F1", "band"), rows, numeric=range(5))
    print_blank()
    for name, title in FIGURES.items():
        sys.stdout.write(f"{forecast_in_words(title, summary['documents'], summary['forecast'][name])}\n")


def forecast_in_words(title: str, now: int, forecast: Mapping[str, Any]) -> str:
    """A sentence about one figure."""
    if forecast["withheld"] is not None:
        return f"No forecast of {title}: {forecast['withheld']}."
    return (
        f"Twice the documents, {forecast['documents']:,}, would bring {title} {forecast['value']:.4f} (95 % interval {_range(forecast['interval'])}); "
        f"the {now:,} that there are bring {forecast['now']:.4f} by the same law."
    )


def _range(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.4f} to {interval[1]:.4f}"
