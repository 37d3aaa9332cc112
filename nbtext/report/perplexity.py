"""The perplexity of language models on held-out documents, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.report.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

ALL = "all of them"


def print_perplexities(found: Mapping[str, Any]) -> None:
    """Print the result of `nbtext.inspection.overview.perplexities`."""
    print_table(
        None,
        ("class", "documents", "tokens", "unknown", "perplexity"),
        (_row(label, of) for label, of in [*found["classes"].items(), (ALL, found["all"])]),
        numeric=range(1, 5),
    )


def _row(label: str, of: Mapping[str, Any]) -> tuple[str, ...]:
    counts = (label, f"{of['documents']:,}", f"{of['tokens']:,}")
    if not of["tokens"]:
        return (*counts, "", "")
    return (*counts, f"{of['unknown'] / of['tokens']:.1%}", "infinite" if of["perplexity"] is None else f"{of['perplexity']:,.1f}")
