"""Print terms for people: of words, of classes, and those that changed between two models; and ranked terms in every form."""

from __future__ import annotations

from itertools import chain, zip_longest
from math import inf
from typing import TYPE_CHECKING

from nbtext.errors import listed, quantity
from nbtext.report.forms import bounds, grid, is_plain_terminal, listing, setting, shortened, show, strip, table, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nbtext.inspection.differences import Change, Differences
    from nbtext.inspection.terms import ClassDetails, TermDetails, WordDetails


PROBABILITIES = {"count": "1.count:,", "documents": "1.documents:,", "probability": "1.probability:.3g", "95 % credible": "2"}


def print_terms(words: Sequence[WordDetails]) -> None:
    """Print the result of `nbtext.inspection.terms.term_details`: for each word its terms, the classes most likely to use one first."""
    blocks = []
    for word in words:
        known = any(term.known for term in word.terms)
        head = {
            "word": word.word,
            "terms": ", ".join(term.term for term in word.terms) or "none: it is a stop word, or no word at all",
            "probability": f"{word.probability_of.symbol}, {word.probability_of.meaning}" if known else None,
        }
        blocks += [listing(head), *chain.from_iterable(_of_term(term, word.probability_of.symbol) for term in word.terms)]
    show(*blocks)


SCREEN, LONGEST_LABEL, MOST_DENSITIES = 80, 24, 20


def _of_term(term: TermDetails, symbol: str) -> Iterator[str]:
    """Yield the classes that use a term, and with a prior the posterior densities of its probability as strips, one for each class."""
    if not term.known:
        yield listing({term.term: "no training document holds it"})
        return
    import numpy as np

    from nbtext.language_model.dirichlet import beta_shares

    forms = listing({"occurs as": ", ".join(f"{word} {count:,}" for word, count in term.forms.items())}) if term.forms else ""
    head = term.term if term.selected else f"{term.term}, left out of the model"
    classes = sorted(term.classes.items(), key=lambda entry: -(entry[1].probability or 0.0))
    yield forms + table({head: "0", **PROBABILITIES}, ((label, cell, bounds(cell.interval, ".3g")) for label, cell in classes))
    found = [(label, cell.posterior, cell.interval) for label, cell in classes if cell.posterior and cell.interval][:MOST_DENSITIES]
    if not found:
        return
    end = min(1.0, 1.25 * max(interval[1] for *_, interval in found))
    names = [shortened(visible(label), LONGEST_LABEL) for label, *_ in found]
    room = max(map(len, names)) + 2
    edges, plain = np.linspace(0.0, end, SCREEN - room + 1), is_plain_terminal()
    lines = (
        f"{name.ljust(room)}{strip(beta_shares(a, b, edges).tolist(), plain=plain)}\n"
        for name, (_, (a, b), _) in zip(names, found, strict=True)
    )
    yield f"posterior density of {symbol} from 0 to {end:.3g}, each class on its own scale\n{''.join(lines)}"


def print_class_details(classes: Mapping[str, ClassDetails]) -> None:
    """Print the result of `nbtext.inspection.terms.class_details`."""
    blocks, meanings = [], {}
    for label, details in classes.items():
        meanings[details.probability_of.symbol] = details.probability_of.meaning
        best = zip_longest(details.probability, details.lift, details.mutual_information, fillvalue=("", ""))
        title = f"{label}: {quantity(details.documents, 'document')}, {quantity(details.tokens, 'token')}, prior {details.prior:.4f}"
        columns = {
            "": "0:d",
            "most probable": "1.0",
            details.probability_of.symbol: "1.1:.3g",
            "above the corpus": "2.0",
            "lift": "2.1:.3g",
            "most telling": "3.0",
            "nats": "3.1:.3g",
        }
        rows = ((rank, *row) for rank, row in enumerate(best, 1))
        blocks.append(table(columns, rows, title))
    meanings["nats"] = "of mutual information, by which select-features ranks: by the language models, whatever the classifier"
    show(*blocks, listing(meanings))


_MOST_CLASSES = 30

_MOST_WORDS = 10


CHANGED_CLASSES = {"class": "0", "documents A → B": "1:s", "prior A → B": "2:s", "divergence (nats)": "3.divergence:.4f"}
MOVED = {
    "term": "0.term", "class": "0.label", "φ in A": "0.old:.3g", "φ in B": "0.new:.3g", "change": "1:s", "nats": "0.share:.3g",
}  # fmt: skip


def print_differences(found: Differences, name_old: str, name_new: str) -> None:
    """Print the result of `nbtext.inspection.differences.differences`: only what differs."""
    changes: dict[str, Change[object]] = {
        **found.settings,
        **found.sizes,
        **{f"written by {name}": change for name, change in found.written_by.items()},
    }
    settings = [(name.replace("_", " "), setting(change.old), setting(change.new)) for name, change in changes.items()]
    for name, attribute in found.attributes.items():
        old, new = (
            "—" if side is None else f"{side.kind}, {quantity(side.documents, 'document')}" for side in (attribute.old, attribute.new)
        )
        settings.append((f"attribute {name}", old, new))
    if found.stop_words.came or found.stop_words.went:
        settings.append(("stop words only there", listed(found.stop_words.went, _MOST_WORDS), listed(found.stop_words.came, _MOST_WORDS)))
    if found.vocabulary.came or found.vocabulary.went:
        settings.append(("terms only there", f"{found.vocabulary.went:,}", f"{found.vocabulary.came:,}"))
    blocks = [listing({"A": name_old, "B": name_new}), grid(("setting or size", "A", "B"), settings) if settings else ""]
    if found.identical:
        blocks.append(f"The two models are the same{', except for the versions that wrote them' if found.written_by else ''}.\n")
    else:
        differing = [(label, change) for label, change in found.classes.items() if change.old != change.new or change.divergence]
        differing.sort(
            key=lambda entry: -(inf if entry[1].divergence is None else entry[1].divergence)
        )  # those in one model only come first
        rows = (
            (
                label,
                " → ".join(f"{side.documents:,}" if side else "—" for side in (change.old, change.new)),
                " → ".join(f"{side.prior:.4f}" if side else "—" for side in (change.old, change.new)),
                change,
            )
            for label, change in differing[:_MOST_CLASSES]
        )
        first = f"; the first {_MOST_CLASSES}" if len(differing) > _MOST_CLASSES else ""
        title = f"{len(differing):,} of {quantity(len(found.classes), 'class')} {'differs' if len(differing) == 1 else 'differ'}{first}"
        blocks.append(table(CHANGED_CLASSES, rows, title) if differing else "The classes are the same.\n")
        if found.terms:
            moved = (
                (change, "new" if not change.old else "gone" if not change.new else f"× {change.new / change.old:.3g}")
                for change in found.terms
            )
            blocks.append(table(MOVED, moved, "terms that moved most"))
        elif any(change.divergence is not None for change in found.classes.values()):
            blocks[-1] += "No term has another probability in a class.\n"
    show(*blocks)
