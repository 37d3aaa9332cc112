"""The folds of a cross-validation for people: a row for each, and how far they are apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.report.tables import print_blank, print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDS_SHOWN = 20
"""With more folds there is no row for each."""


def print_folds(folds: Mapping[str, Any]) -> None:
    """Print what `nbtext.evaluation.cross_validation.CrossValidation` says of its folds; nothing of leave-one-out, which has none."""
    each = folds.get("each", ())
    if not each:
        return
    print_blank()
    several = f", {folds['repeats']:,} times" if folds["repeats"] > 1 else ""
    of_column = f" by {folds['column']}" if "column" in folds else ""
    lines = {"folds": f"{folds['n']:,}{several} ({folds['method']}{of_column})"}
    for name, title in (("accuracy", "accuracy of a fold"), ("macro_f1", "macro F1 of a fold")):
        lines[title] = f"{folds[name]['mean']:.4f} on average, standard deviation {folds[name]['sd']:.4f}"
    print_lines(lines)
    if len(each) > FOLDS_SHOWN:
        return
    print_blank()
    rows = (
        (
            *([f"{fold['repeat']}"] if folds["repeats"] > 1 else []),
            f"{fold['fold']}",
            *(f"{fold[name]:,}" for name in ("training_documents", "documents", "terms")),
            f"{fold['smoothing']:.3g}",
            *(f"{fold[name]:.4f}" for name in ("accuracy", "macro_f1")),
        )
        for fold in each
    )
    heads = ("fold", "trained on", "judged", "terms", "smoothing", "accuracy", "macro F1")
    columns = ("repeat", *heads) if folds["repeats"] > 1 else heads
    print_table(None, columns, rows, numeric=range(len(columns)))
