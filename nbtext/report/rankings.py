"""Print terms for people: those of words and of classes."""

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

    OfClass = tuple[str, TermInClass]
    Best = tuple[TermValue | tuple[str, str], ...]
    """The best term by each of three measures; empty where there are no more."""

PROBABILITIES: Sequence[Column[OfClass]] = (
    Column("count", lambda row: row[1].count, ","),
    Column("documents", lambda row: row[1].documents, ","),
    Column("probability", lambda row: row[1].probability, ".3g"),
    Column("95 % credible", lambda row: format_interval(row[1].interval, ".3g")),
)


def print_word_details(words: Sequence[WordDetails]) -> None:
    """Print the result of `nbtext.inspection.terms.collect_word_details`: for each word its terms, the classes most likely to use one first."""
    blocks = []
    for word in words:
        known = any(term.known for term in word.terms)
        head = {
            "word": word.word,
            "terms": ", ".join(term.term for term in word.terms)
            or "none: it is a stop word, or no word at all",
            "probability": f"{word.probability_of.symbol}, {word.probability_of.meaning}"
            if known
            else None,
        }
        blocks += [
            format_listing(head),
            *chain.from_iterable(_of_term(term, word.probability_of.symbol) for term in word.terms),
        ]
    print_blocks(*blocks)


SCREEN = 80
LONGEST_LABEL = 24
MOST_DENSITIES = 20


def _of_term(term: TermDetails, symbol: str) -> Iterator[str]:
    """Yield the classes that use a term, and with a prior the posterior densities of its probability as strips, one for each class."""
    if not term.known:
        yield format_listing({term.term: "no training document holds it"})
        return
    import numpy as np

    from nbtext.language_model.dirichlet import compute_beta_bin_probabilities

    forms = (
        format_listing(
            {"occurs as": ", ".join(f"{word} {count:,}" for word, count in term.forms.items())}
        )
        if term.forms
        else ""
    )
    head = term.term if term.selected else f"{term.term}, left out of the model"
    classes = sorted(term.classes.items(), key=lambda entry: -(entry[1].probability or 0.0))
    label_of: Column[OfClass] = Column(head, lambda row: row[0])
    yield forms + format_table([label_of, *PROBABILITIES], classes)
    found = [
        (label, cell.posterior, cell.interval)
        for label, cell in classes
        if cell.posterior and cell.interval
    ][:MOST_DENSITIES]
    if not found:
        return
    end = min(1.0, 1.25 * max(interval[1] for *_, interval in found))
    names = [shorten_middle(escape_controls(label), LONGEST_LABEL) for label, *_ in found]
    room = max(map(len, names)) + 2
    edges = np.linspace(0.0, end, SCREEN - room + 1)
    plain = is_ascii_terminal()
    lines = (
        f"{name.ljust(room)}{draw_sparkline(compute_beta_bin_probabilities(a, b, edges).tolist(), ascii_only=plain)}\n"
        for name, (_, (a, b), _) in zip(names, found, strict=True)
    )
    yield (
        f"posterior density of {symbol} from 0 to {end:.3g}, each class on its own "
        f"scale\n{''.join(lines)}"
    )


def print_class_details(classes: Mapping[str, ClassDetails]) -> None:
    """Print the result of `nbtext.inspection.terms.collect_class_details`."""
    blocks = []
    meanings = {}
    for label, details in classes.items():
        meanings[details.probability_of.symbol] = details.probability_of.meaning
        best = zip_longest(
            details.probability, details.lift, details.mutual_information, fillvalue=("", "")
        )
        title = (
            f"{label}: {format_quantity(details.documents, 'document')}, "
            f"{format_quantity(details.tokens, 'token')}, prior {details.prior:.4f}"
        )
        columns: list[Column[tuple[int, Best]]] = [
            Column("", lambda row: row[0], "d"),
            Column("most probable", lambda row: row[1][0][0]),
            Column(details.probability_of.symbol, lambda row: row[1][0][1], ".3g"),
            Column("above the corpus", lambda row: row[1][1][0]),
            Column("lift", lambda row: row[1][1][1], ".3g"),
            Column("most telling", lambda row: row[1][2][0]),
            Column("nats", lambda row: row[1][2][1], ".3g"),
        ]
        blocks.append(format_table(columns, enumerate(best, 1), title))
    meanings["nats"] = (
        "of mutual information, by which select-features ranks: by the language models, whatever "
        "the classifier"
    )
    print_blocks(*blocks, format_listing(meanings))
