"""Documents drawn from a model: text, a line each, or tables to train from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nbtext.report import records
from nbtext.report.visible import visible_on_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.inspection.generation import Generated


def write_generated(documents: Iterable[Generated], output: str) -> None:
    """Print each document when it is drawn: as text, or with its class in columns or under keys as nbtext reads them."""
    for label, terms in documents:
        text = " ".join(terms)
        if output == "jsonl":
            sys.stdout.write(records.json_line({"label": label, "text": text}))
        elif output == "tsv":
            sys.stdout.write(records.tsv((label, text)))
        else:
            sys.stdout.write(visible_on_terminal(text) + "\n")
