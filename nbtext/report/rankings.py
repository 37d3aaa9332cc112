"""Print the terms of words, and the best terms of classes, for `nbtext inspect`."""

from __future__ import annotations

from itertools import chain, zip_longest
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
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nbtext.inspection.terms import (
        ClassDetails,
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
"""Length of a line with a class name and the sparkline of its posterior density."""

MAX_LABEL_CHARS = 24
MAX_DENSITIES = 20
"""Classes with a sparkline."""


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
    labels = sorted(
        term.classes, key=lambda label: term.classes[label].probability or 0.0, reverse=True
    )
    classes = [(label, term.classes[label]) for label in labels]
    yield forms + format_named_table(heading, TERM_COLUMNS, classes)

    densities = _draw_densities(classes, symbol)
    if densities:
        yield densities


def _draw_densities(classes: Iterable[tuple[str, TermInClass]], symbol: str) -> str:
    """Return a sparkline of the posterior density per class, "" if no class has a posterior."""
    import numpy as np

    from nbtext.language_model.dirichlet import compute_beta_bin_probabilities

    densities: list[tuple[str, list[float], list[float]]] = []
    for label, details in classes:
        if details.posterior and details.interval and len(densities) < MAX_DENSITIES:
            name = shorten_middle(escape_controls(label), MAX_LABEL_CHARS)
            densities.append((name, details.posterior, details.interval))
    if not densities:
        return ""

    name_width = max(len(name) for name, *_ in densities) + 2
    max_probability = max(high for *_, (_, high) in densities)
    axis_end = min(1.0, 1.25 * max_probability)
    edges = np.linspace(0.0, axis_end, DENSITY_LINE_CHARS - name_width + 1)
    ascii_only = is_ascii_terminal()

    lines = [f"posterior density of {symbol} from 0 to {axis_end:.3g}, each class on its own scale"]
    for name, (a, b), _ in densities:
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
    """Return a table with a row per rank: the term of this rank and its value, by each measure."""
    symbol = details.probability_of.symbol
    columns = make_tuple_columns(
        "",
        "most probable",
        symbol,
        "above the corpus",
        "lift",
        "most telling",
        "nats",
        formats={"": "d", symbol: ".3g", "lift": ".3g", "nats": ".3g"},
    )
    # A measure may have fewer terms than another one.
    ranking = zip_longest(
        details.probability, details.lift, details.mutual_information, fillvalue=("", "")
    )
    rows = [(rank, *chain.from_iterable(pairs)) for rank, pairs in enumerate(ranking, 1)]
    return format_table(columns, rows, title)
