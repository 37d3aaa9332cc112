"""What a model knows of some words, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.report.tables import print_blank, print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def print_terms(words: Sequence[Mapping[str, Any]]) -> None:
    """Print the result of `nbtext.inspection.terms.term_details`: for each word its terms, the classes most likely to use one first."""
    for number, of_word in enumerate(words):
        if number:
            print_blank()
        became = ", ".join(of_term["term"] for of_term in of_word["terms"])
        head = {"word": of_word["word"], "terms": became or "none: it is a stop word, or no word at all"}
        if any(of_term["known"] for of_term in of_word["terms"]):
            head["probability"] = "{symbol}, {meaning}".format_map(of_word["probability_of"])
        print_lines(head)
        for of_term in of_word["terms"]:
            print_blank()
            _print_term(of_term)


def _print_term(of_term: Mapping[str, Any]) -> None:
    if not of_term["known"]:
        print_lines({of_term["term"]: "no training document holds it"})
        return
    if of_term["forms"]:
        print_lines({"occurs as": ", ".join(f"{word} {count:,}" for word, count in of_term["forms"].items())})
    left_out = "" if of_term["selected"] else ", left out of the model"
    classes = sorted(of_term["classes"].items(), key=lambda entry: -(entry[1]["probability"] or 0.0))
    print_table(
        None,
        (f"{of_term['term']}{left_out}", "count", "documents", "probability", "95 % credible"),
        (
            (label, f"{of['count']:,}", f"{of['documents']:,}", _number(of["probability"]), _interval(of["interval"]))
            for label, of in classes
        ),
        numeric=(1, 2, 3),
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _interval(ends: Sequence[float] | None) -> str:
    return "" if ends is None else f"{ends[0]:.3g} to {ends[1]:.3g}"
