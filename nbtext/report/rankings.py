"""Tables of terms for people: the terms of words, and the best terms of classes."""

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
    format_table,
    is_ascii_terminal,
    print_blocks,
    shorten_middle,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbtext.inspection.terms import (
        ClassDetails,
        TermDetails,
        TermInClass,
        TermValue,
        WordDetails,
    )

    ClassRow = tuple[str, TermInClass]
    """A class and its details of a term."""
    BestTerms = tuple[TermValue | tuple[str, str], ...]
    """The best term by each of three measures; two empty texts if a measure has fewer terms."""

TERM_COLUMNS: Sequence[Column[ClassRow]] = (
    Column("count", lambda row: row[1].count, ","),
    Column("documents", lambda row: row[1].documents, ","),
    Column("probability", lambda row: row[1].probability, ".3g"),
    Column("95 % credible", lambda row: format_interval(row[1].interval, ".3g")),
)


def print_word_details(words: Sequence[WordDetails]) -> None:
    """Print each word with its terms, and for each term the classes, most probable first."""
    blocks = []
    for word in words:
        probability = None
        if any(term.known for term in word.terms):
            probability = f"{word.probability_of.symbol}, {word.probability_of.meaning}"
        term_names = ", ".join(term.term for term in word.terms)
        head = {
            "word": word.word,
            "terms": term_names or "none: it is a stop word, or no word at all",
            "probability": probability,
        }
        blocks.append(format_listing(head))
        for term in word.terms:
            blocks += _format_term(term, word.probability_of.symbol)
    print_blocks(*blocks)


DENSITY_LINE_CHARS = 80
MAX_LABEL_CHARS = 24
MAX_DENSITIES = 20


def _format_term(term: TermDetails, symbol: str) -> Iterator[str]:
    """Yield the classes of a term as a table, then the posterior densities of its probability."""
    if not term.known:
        yield format_listing({term.term: "no training document holds it"})
        return

    forms = ""
    if term.forms:
        counts = ", ".join(f"{word} {count:,}" for word, count in term.forms.items())
        forms = format_listing({"occurs as": counts})
    heading = term.term if term.selected else f"{term.term}, left out of the model"
    classes = sorted(term.classes.items(), key=lambda row: -(row[1].probability or 0.0))
    label_column: Column[ClassRow] = Column(heading, lambda row: row[0])
    yield forms + format_table([label_column, *TERM_COLUMNS], classes)

    densities = _draw_densities(classes, symbol)
    if densities:
        yield densities


def _draw_densities(classes: Sequence[ClassRow], symbol: str) -> str:
    """Return a sparkline of the posterior density per class, "" if no class has a posterior."""
    import numpy as np

    from nbtext.language_model.dirichlet import compute_beta_bin_probabilities

    posteriors = [
        (label, cell.posterior, cell.interval)
        for label, cell in classes
        if cell.posterior and cell.interval
    ][:MAX_DENSITIES]
    if not posteriors:
        return ""

    names = [shorten_middle(escape_controls(label), MAX_LABEL_CHARS) for label, *_ in posteriors]
    name_width = max(map(len, names)) + 2
    axis_end = min(1.0, 1.25 * max(interval[1] for *_, interval in posteriors))
    edges = np.linspace(0.0, axis_end, DENSITY_LINE_CHARS - name_width + 1)
    ascii_only = is_ascii_terminal()

    lines = [f"posterior density of {symbol} from 0 to {axis_end:.3g}, each class on its own scale"]
    for name, (_, (a, b), _) in zip(names, posteriors, strict=True):
        density = compute_beta_bin_probabilities(a, b, edges).tolist()
        lines.append(name.ljust(name_width) + draw_sparkline(density, ascii_only=ascii_only))
    return "".join(f"{line}\n" for line in lines)


def print_class_details(classes: Mapping[str, ClassDetails]) -> None:
    """Print a table per class: its best terms by three measures, and what the measures mean."""
    blocks = []
    meanings = {}
    for label, details in classes.items():
        symbol = details.probability_of.symbol
        meanings[symbol] = details.probability_of.meaning
        ranked_terms = zip_longest(
            details.probability, details.lift, details.mutual_information, fillvalue=("", "")
        )
        title = (
            f"{label}: {format_quantity(details.documents, 'document')}, "
            f"{format_quantity(details.tokens, 'token')}, prior {details.prior:.4f}"
        )
        blocks.append(format_table(_best_term_columns(symbol), enumerate(ranked_terms, 1), title))
    meanings["nats"] = (
        "of mutual information, by which select-features ranks: by the language models, whatever "
        "the classifier"
    )
    print_blocks(*blocks, format_listing(meanings))


def _best_term_columns(symbol: str) -> list[Column[tuple[int, BestTerms]]]:
    """Return columns for a rank and the best terms at that rank."""
    return [
        Column("", lambda row: row[0], "d"),
        Column("most probable", lambda row: row[1][0][0]),
        Column(symbol, lambda row: row[1][0][1], ".3g"),
        Column("above the corpus", lambda row: row[1][1][0]),
        Column("lift", lambda row: row[1][1][1], ".3g"),
        Column("most telling", lambda row: row[1][2][0]),
        Column("nats", lambda row: row[1][2][1], ".3g"),
    ]
