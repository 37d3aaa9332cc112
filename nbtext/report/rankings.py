"""Print the terms of words, and the best terms of classes, for `nbtext inspect`."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from nbtext.errors import format_quantity
from nbtext.report.output_formats import (
    Column,
    draw_sparkline,
    escape_controls,
    format_interval,
    format_listing,
    format_named_table,
    format_table,
    is_ascii_terminal,
    make_tuple_columns,
    print_blocks,
    shorten_middle,
    write_records,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nbtext.inspection.terms import (
        ClassDetails,
        NextTerm,
        NextTerms,
        TermDetails,
        TermInClass,
        WordDetails,
    )

TERM_COLUMNS: Sequence[Column[TermInClass]] = (
    Column("count", lambda details: details.count, ","),
    Column("documents", lambda details: details.documents, ","),
    Column("probability", lambda details: details.probability, ".3g"),
    Column("95 % credible", lambda details: format_interval(details.interval, ".3g")),
)


def print_word_details(words: Sequence[WordDetails]) -> None:
    """Print each word with its terms, and for each term the classes, most probable first."""
    blocks = []
    for word in words:
        symbol = word.probability_of.symbol
        probability = None
        if any(term.known for term in word.terms):
            probability = f"{symbol}, {word.probability_of.meaning}"
        term_names = "none: it is a stop word, or no word at all"
        if word.terms:
            term_names = ", ".join(term.term for term in word.terms)
        head = {"word": word.word, "terms": term_names, "probability": probability}
        blocks.append(format_listing(head))
        for term in word.terms:
            blocks += _format_term(term, symbol)
    print_blocks(*blocks)


DENSITY_LINE_CHARS = 80
"""Length of a line with a label and the sparkline of the posterior density of a class."""

MAX_LABEL_CHARS = 24
"""Longer labels are shortened before a sparkline."""

MAX_DENSITIES = 20
"""Number of sparklines. Further classes have none."""

AXIS_END_RATIO = 1.25
"""End of the axis of densities, relative to the highest end of an interval."""


def _format_term(term: TermDetails, symbol: str) -> Iterator[str]:
    """Yield the classes of a term as a table, then the posterior densities of its probability.

    ``symbol`` is the symbol of the probability.
    """
    if not term.known:
        yield format_listing({term.term: "in no training document"})
        return

    forms = ""
    if term.forms:
        counts = ", ".join(f"{word} {count:,}" for word, count in term.forms.items())
        forms = format_listing({"occurs as": counts})
    heading = term.term if term.selected else f"{term.term}, not selected"
    classes = sorted(
        term.classes.items(),
        key=lambda item: item[1].probability or 0.0,  # None if the term was not selected
        reverse=True,
    )
    yield forms + format_named_table(heading, TERM_COLUMNS, classes)
    yield _draw_densities(classes, symbol)


def _draw_densities(classes: Iterable[tuple[str, TermInClass]], symbol: str) -> str:
    """Return a sparkline of the posterior density per class, "" if no class has a posterior."""
    import numpy as np

    from nbtext.language_model.dirichlet import compute_beta_bin_probabilities

    names: list[str] = []
    posteriors: list[list[float]] = []
    interval_ends: list[float] = []
    for label, details in classes:
        if details.posterior and details.interval and len(names) < MAX_DENSITIES:
            names.append(shorten_middle(escape_controls(label), MAX_LABEL_CHARS))
            posteriors.append(details.posterior)
            interval_ends.append(details.interval[1])
    if not names:
        return ""

    name_width = max(map(len, names)) + 2
    axis_end = min(1.0, AXIS_END_RATIO * max(interval_ends))
    n_bars = DENSITY_LINE_CHARS - name_width
    bin_edges = np.linspace(0.0, axis_end, n_bars + 1)
    ascii_only = is_ascii_terminal()

    lines = [f"posterior density of {symbol} from 0 to {axis_end:.3g}, each class on its own scale"]
    for name, (a, b) in zip(names, posteriors, strict=True):
        density = compute_beta_bin_probabilities(a, b, bin_edges).tolist()
        lines.append(name.ljust(name_width) + draw_sparkline(density, ascii_only=ascii_only))
    return "".join(f"{line}\n" for line in lines)


NEXT_TERM_COLUMNS: Sequence[Column[NextTerm]] = (
    Column("label", lambda term: term.label),
    Column("rank", lambda term: term.rank, "d"),
    Column("term", lambda term: term.term),
    Column("probability", lambda term: term.probability, ".6g"),
    Column("nats", lambda term: term.nats, ".6g"),
    Column("bits", lambda term: term.bits, ".6g"),
)


def print_next_terms(next_terms: NextTerms) -> None:
    """Print the terms of classes by probability, then the meaning of the columns."""
    meanings = {
        "probability": f"{next_terms.probability_of.symbol}, {next_terms.probability_of.meaning}",
        "nats, bits": "information of the term, −log and −log2 of the probability",
    }
    print_blocks(format_table(NEXT_TERM_COLUMNS, next_terms.terms), format_listing(meanings))


def write_next_terms(
    next_terms: NextTerms, output: str, escape: Callable[[str], str] = str
) -> None:
    """Print the terms of classes as ``tsv``, ``csv`` or ``jsonl``. ``escape`` makes cells safe."""
    write_records(next_terms.terms, output, NEXT_TERM_COLUMNS, escape=escape)


def print_class_details(classes: Mapping[str, ClassDetails]) -> None:
    """Print the best terms of each class by three measures, then the meaning of the measures."""
    blocks = []
    meanings = {}
    for label, details in classes.items():
        # All classes have the same symbol.
        meanings[details.probability_of.symbol] = details.probability_of.meaning
        title = (
            f"{label}: {format_quantity(details.documents, 'document')}, "
            f"{format_quantity(details.tokens, 'token')}, prior {details.prior:.4f}"
        )
        blocks.append(_format_best_terms(details, title))
    meanings["nats"] = (
        "of mutual information, by which select-features ranks: by the language models, whatever "
        "the classifier"
    )
    print_blocks(*blocks, format_listing(meanings))


def _format_best_terms(details: ClassDetails, title: str) -> str:
    """Return a table with a row per rank. By each measure it has a term and the term's value."""
    symbol = details.probability_of.symbol
    columns = make_tuple_columns(
        "",  # the rank
        "most probable",
        symbol,
        "above the corpus",
        "lift",
        "most telling",
        "nats",
        formats={"": "d", symbol: ".3g", "lift": ".3g", "nats": ".3g"},
    )
    # The measures may have different numbers of terms.
    ranking = zip_longest(
        details.probability, details.lift, details.mutual_information, fillvalue=("", "")
    )
    rows = [
        (rank, *by_probability, *by_lift, *by_information)
        for rank, (by_probability, by_lift, by_information) in enumerate(ranking, start=1)
    ]
    return format_table(columns, rows, title)
