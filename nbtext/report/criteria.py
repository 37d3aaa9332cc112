"""Evidence, AIC and BIC of a model, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.report.tables import print_blank, print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping


def print_criteria(figures: Mapping[str, Any]) -> None:
    """Print the result of `nbtext.inspection.overview.criteria`."""
    labels = figures["evidence_of_labels"]
    of_model = "not defined: there is no prior" if figures["evidence_of_classes"] is None else _nats(figures["evidence"])
    print_lines({
        "log evidence": of_model if labels is not None or figures["evidence"] is None else f"{of_model}, of the terms",
        "of the labels": "not defined: the class prior is of maximum likelihood" if labels is None else _nats(labels),
        "log likelihood": f"{_nats(figures['log_likelihood'])}, at maximum likelihood",
        "parameters": f"{figures['parameters']:,}",
        "tokens": f"{figures['tokens']:,}",
        "AIC": _figure(figures["aic"]),
        "BIC": _figure(figures["bic"]),
    })  # fmt: skip
    if figures["evidence_of_classes"] is not None:
        print_blank()
        rows = ((label, _figure(value)) for label, value in figures["evidence_of_classes"].items())
        print_table(None, ("class", "log evidence of its counts (nats)"), rows, numeric=(1,))


def _figure(value: float | None) -> str:
    return "infinite" if value is None else f"{value:,.2f}"


def _nats(value: float | None) -> str:
    return "minus infinite" if value is None else f"{value:,.2f} nats"
