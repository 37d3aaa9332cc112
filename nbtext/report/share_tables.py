"""Shares of classes among documents as a table or records, by column with a small plot of each class over its values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.report.forms import grid, is_plain_terminal, listing, show
from nbtext.report.numbers import rounded, share_in_words, strip

if TYPE_CHECKING:
    from nbtext.evaluation.drift_log import DriftRun
    from nbtext.promises.class_shares import ClassShare, Prevalence, PrevalenceResult

CLASSES_SHOWN = 4
"""Classes with a column of their own in the table by column, those of most documents."""

BAR = 20
"""Characters of the bar of all documents."""


def prevalence_record(found: Prevalence) -> dict[str, object]:
    """Return the number of documents and the share of each class as JSON has them."""
    return {"documents": found.documents, "prevalence": _shares(found)}


def _shares(found: Prevalence) -> dict[str, dict[str, float | None]]:
    return {label: {name: rounded(value) for name, value in share._asdict().items()} for label, share in found.prevalence.items()}


def result_record(result: PrevalenceResult, column: str | None, drift: DriftRun | None) -> dict[str, object]:
    """Return the result as JSON has it, with the distances of the documents from those of training, if these are known."""
    distances = {} if drift is None else {"drift": {name: rounded(figure.distance) for name, figure in drift.figures.items()}}
    by = {} if column is None else {"by": {column: {value: prevalence_record(found) for value, found in result.by.items()}}}
    return {**prevalence_record(result.all), **distances, **by}


def share_rows(result: PrevalenceResult, column: str | None) -> list[dict[str, object]]:
    """Return a record for each class, or for each value of the column."""
    if column is not None:
        return [{column: value, **prevalence_record(found)} for value, found in result.by.items()]
    return [{"label": label, **shares} for label, shares in _shares(result.all).items()]


def print_prevalence(result: PrevalenceResult, column: str | None) -> None:
    """Print the shares of all classes, the largest first, and by column the largest classes for each value."""
    block = "#" if is_plain_terminal() else "█"
    ordered = sorted(result.all.prevalence.items(), key=lambda item: -item[1].share)
    heads, numeric = ["class", "share", "95 % interval", "by counting answers"], [1, 2, 3]
    plots = {label: f"{block * round(BAR * share.share)}" for label, share in ordered}
    if column is not None:
        plots = {label: _plot([found.prevalence[label].share for found in result.by.values()]) for label, _ in ordered}
    rows = [(label, share_in_words(share.share), _interval(share), share_in_words(share.counted), plots[label]) for label, share in ordered]
    largest = [label for label, _ in ordered[:CLASSES_SHOWN]]
    by = [
        (value, f"{found.documents:,}", *(f"{share_in_words(found.prevalence[label].share)}  ({_interval(found.prevalence[label])})" for label in largest))
        for value, found in result.by.items()
    ]  # fmt: skip
    show(
        listing({"documents": f"{result.all.documents:,}"}),
        grid(None, (*heads, "" if column is None else f"by {column}"), rows, numeric),
        grid(None, (str(column), "documents", *largest), by, range(1, 2 + len(largest))) if by else "",
    )


def _interval(share: ClassShare) -> str:
    return f"{share_in_words(share.low)} to {share_in_words(share.high)}"


def _plot(shares: list[float]) -> str:
    return strip(shares, plain=is_plain_terminal()) if any(shares) else ""
