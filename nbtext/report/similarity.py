"""Which classes of a model are alike, for people: a matrix if there are few, else the closest pairs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nbtext.errors import counted
from nbtext.report.tables import print_blank, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_COLUMNS = 12
"""Classes of which a matrix can be read."""

CLOSEST = 5
"""Pairs below a matrix, which has them all."""


def print_similarity(of: Mapping[str, Any]) -> None:
    """Print the result of `nbtext.inspection.overview.similarity`."""
    names, few = of["classes"], len(of["classes"]) <= MOST_COLUMNS
    sys.stdout.write("Jensen–Shannon divergence of the language models, in nats: 0 is equal, 0.6931 nothing in common\n")
    if of["left_out"]:
        sys.stdout.write(
            f"the {counted(len(names), 'class')} with most documents; {counted(of['left_out'], 'other')} {'is' if of['left_out'] == 1 else 'are'} left out\n"
        )
    if few:
        numbers = [str(number) for number in range(1, len(names) + 1)]
        rows = (
            (number, name, *("" if place == column else _number(value) for column, value in enumerate(row)))
            for place, (number, name, row) in enumerate(zip(numbers, names, of["divergence"], strict=True))
        )
        print_blank()
        print_table(None, ("", "class", *numbers), rows, numeric=(0, *range(2, 2 + len(names))))
    if of["closest"]:
        closest = of["closest"][: CLOSEST if few else None]
        print_blank()
        print_table(
            "closest", ("class", "class", "nats"), ((pair["a"], pair["b"], _number(pair["divergence"])) for pair in closest), numeric=[2]
        )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
