"""Settings of training and how good they are, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.errors import counted
from nbtext.report.tables import print_blank, print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = {
    "accuracy": ("accuracy", "{:.4f}"),
    "macro_f1": ("macro F1", "{:.4f}"),
    "log_loss": ("log loss", "{:.4f}"),
    "evidence": ("log evidence", "{:,.2f}"),
    "aic": ("AIC", "{:,.2f}"),
    "bic": ("BIC", "{:,.2f}"),
    "smoothing": ("pseudo-count", "{:g}"),
}
"""Title and form of each figure. One with a standard deviation between folds has it behind."""


def print_trials(summary: Mapping[str, Any]) -> None:
    """Print the settings, best first, and the model that was written."""
    folds = f", {counted(summary['folds'], 'fold')}, seed {summary['seed']}" if "folds" in summary else ""
    print_lines({
        "by": f"{summary['by']}{folds}",
        "documents": f"{summary['documents']:,}",
        "model": f"{summary['model']}, trained on all documents with the first setting",
    })  # fmt: skip
    print_blank()
    best = summary["best"]
    figures = [name for name in COLUMNS if name in best]
    heads = ["", *best["setting"], *(COLUMNS[name][0] + (" ± sd of a fold" if f"{name}_sd" in best else "") for name in figures)]
    rows = (
        (f"{trial['rank']:,}", *trial["setting"].values(), *(_figure(trial, name) for name in figures)) for trial in summary["settings"]
    )
    print_table(None, heads, rows, numeric=[0, *range(1 + len(best["setting"]), len(heads))])


def _figure(trial: Mapping[str, Any], name: str) -> str:
    form = COLUMNS[name][1]
    if trial[name] is None:
        return "infinite"
    deviation = trial.get(f"{name}_sd")
    return form.format(trial[name]) + ("" if deviation is None else f" ± {form.format(deviation)}")
