"""The distributions of attributes in each class, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.report.tables import print_blank, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping


def print_attributes(attributes: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the result of `nbtext.inspection.terms.attributes_overview`, a table for each attribute."""
    for name, attribute in attributes.items():
        classes = attribute["classes"]
        if not classes:
            continue
        print_blank()
        head = f"{name}, {attribute['kind']}" + (f", smoothing {attribute['smoothing']:g}" if "smoothing" in attribute else "")
        rows = {label: _cells(of) for label, of in classes.items()}
        columns = list(next(iter(rows.values())))
        cells = ((label, *row.values()) for label, row in rows.items())
        print_table(None, (head, *columns), cells, numeric=range(1, len(columns) + 1))


def _cells(of: Mapping[str, Any]) -> dict[str, str]:
    if "probability" in of:
        return {value: f"{probability:.4f}" for value, probability in of["probability"].items()}
    return {figure.replace("_", " "): f"{value:.6g}" for figure, value in of.items()}
