"""The terms of classes for people, by three measures side by side."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from nbtext.errors import counted
from nbtext.report.tables import print_blank, print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADS = {"probability": ("most probable", "{symbol}"), "lift": ("above the corpus", "lift"), "mutual_information": ("most telling", "nats")}


def print_class_details(classes: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the result of `nbtext.inspection.terms.class_details`."""
    for number, (label, of) in enumerate(classes.items()):
        if number:
            print_blank()
        columns = [[(entry["term"], _number(entry["value"])) for entry in of[measure]] for measure in HEADS]
        rows = zip_longest(*columns, fillvalue=("", ""))
        print_table(
            f"{label}: {counted(of['documents'], 'document')}, {counted(of['tokens'], 'token')}, prior {of['prior']:.4f}",
            ("", *(head.format_map(of["probability_of"]) for heads in HEADS.values() for head in heads)),
            ((str(rank), *(cell for entry in row for cell in entry)) for rank, row in enumerate(rows, 1)),
            numeric=(0, 2, 4, 6),
        )
    print_blank()
    named = {of["probability_of"]["symbol"]: of["probability_of"]["meaning"] for of in classes.values()}
    print_lines({**named, "nats": "of mutual information, by which select-features ranks: by the language models, whatever the classifier"})


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.3g}"
