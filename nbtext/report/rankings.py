"""What a model knows of some words, for people.

Ranked terms in every form.

The terms of classes for people, by three measures side by side.

How two models differ in themselves, for people.
"""

from __future__ import annotations

import sys
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from nbtext.errors import quantity
from nbtext.report import forms as records
from nbtext.report.forms import print_blank, print_lines, print_table

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
            (label, f"{of['count']:,}", f"{of['documents']:,}", _probability(of["probability"]), _interval(of["interval"]))
            for label, of in classes
        ),
        numeric=(1, 2, 3),
    )


def _probability(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _interval(ends: Sequence[float] | None) -> str:
    return "" if ends is None else f"{ends[0]:.3g} to {ends[1]:.3g}"


COLUMNS = ("rank", "term", "score", "class")


WORD = "word"
"""A last column, where the model keeps words beside their stems."""


Feature = tuple[int, str, float, str]


def write_features(rows: Sequence[Feature], output: str, words: Sequence[str] | None = None, *, excel_safe: bool = False) -> None:
    """Print rank, term, score and class of each row, and last the word for the term if there are ``words``; JSON has null for an infinite score."""
    safe = records.excel_safe if excel_safe else str
    columns = COLUMNS if words is None else (*COLUMNS, WORD)
    last = [() if words is None else (safe(words[row]),) for row in range(len(rows))]
    texts = [
        (str(place), safe(term), records.number(score), safe(label), *word)
        for (place, term, score, label), word in zip(rows, last, strict=True)
    ]
    if output == "table":
        from nbtext.report.forms import print_table

        print_table(None, columns, texts, numeric=[0, 2])
    elif output == "jsonl":
        for row, (place, term, score, label) in enumerate(rows):
            values = {"rank": place, "term": term, "score": records.finite(score), "class": label}
            sys.stdout.write(records.json_line(values if words is None else {**values, WORD: words[row]}))
    else:
        if output == "csv":
            sys.stdout.write(records.csv_line(columns))
        line = records.tsv if output == "tsv" else records.csv_line
        sys.stdout.writelines(line(row) for row in texts)


HEADS = {"probability": ("most probable", "{symbol}"), "lift": ("above the corpus", "lift"), "mutual_information": ("most telling", "nats")}


def print_class_details(classes: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the result of `nbtext.inspection.terms.class_details`."""
    for number, (label, of) in enumerate(classes.items()):
        if number:
            print_blank()
        columns = [[(entry["term"], _number(entry["value"])) for entry in of[measure]] for measure in HEADS]
        rows = zip_longest(*columns, fillvalue=("", ""))
        print_table(
            f"{label}: {quantity(of['documents'], 'document')}, {quantity(of['tokens'], 'token')}, prior {of['prior']:.4f}",
            ("", *(head.format_map(of["probability_of"]) for heads in HEADS.values() for head in heads)),
            ((str(rank), *(cell for entry in row for cell in entry)) for rank, row in enumerate(rows, 1)),
            numeric=(0, 2, 4, 6),
        )
    print_blank()
    named = {of["probability_of"]["symbol"]: of["probability_of"]["meaning"] for of in classes.values()}
    print_lines({**named, "nats": "of mutual information, by which select-features ranks: by the language models, whatever the classifier"})


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.3g}"


MOST_CLASSES = 30


WORDS_SHOWN = 10


def print_differences(found: Mapping[str, Any], name_old: str, name_new: str) -> None:
    """Print the result of `nbtext.inspection.differences.differences`: only what differs."""
    print_lines({"A": name_old, "B": name_new})
    print_blank()
    if found["identical"] and not found["written_by"]:
        sys.stdout.write("The two models are the same.\n")
        return
    rows = _settings(found)
    if rows:
        print_table(None, ("setting or size", "A", "B"), rows)
        print_blank()
    if found["identical"]:
        sys.stdout.write("The two models are the same but for what wrote them.\n")
        return
    _print_classes(found["classes"])
    if found["terms"]:
        print_blank()
        print_table(
            "terms that moved most",
            ("term", "class", "φ in A", "φ in B", "change", "nats"),
            (
                (of["term"], of["label"], _phi(of["old"]), _phi(of["new"]), _factor(of["old"], of["new"]), f"{of['share']:.3g}")
                for of in found["terms"]
            ),
            numeric=(2, 3, 4, 5),
        )
    elif any(of["divergence"] is not None for of in found["classes"].values()):
        sys.stdout.write("No term has another probability in a class.\n")


def _settings(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    rows = [
        (name.replace("_", " "), _value(of["old"]), _value(of["new"]))
        for part in ("settings", "sizes")
        for name, of in found[part].items()
    ]  # fmt: skip
    rows += [(f"written by {name}", _value(of["old"]), _value(of["new"])) for name, of in found["written_by"].items()]
    rows += [(f"attribute {name}", _attribute(of["old"]), _attribute(of["new"])) for name, of in found["attributes"].items()]
    for name, title in (("stop_words", "stop words"), ("vocabulary", "terms")):
        came, went = found[name]["came"], found[name]["went"]
        if came or went:
            rows.append((f"{title} only there", _few(went), _few(came)))
    return rows


def _attribute(of: Mapping[str, Any] | None) -> str:
    return "—" if of is None else f"{of['kind']}, {quantity(of['documents'], 'document')}"


def _print_classes(classes: Mapping[str, Mapping[str, Any]]) -> None:
    """Those that differ: the ones in one model only, then those whose language models are furthest apart."""
    differing = {label: of for label, of in classes.items() if of["old"] != of["new"] or of["divergence"]}
    if not differing:
        sys.stdout.write("The classes are the same.\n")
        return
    order = sorted(differing, key=lambda label: -(float("inf") if (value := differing[label]["divergence"]) is None else value))
    print_table(
        f"{len(differing):,} of {quantity(len(classes), 'class')} {'differs' if len(differing) == 1 else 'differ'}"
        + (f"; the first {MOST_CLASSES}" if len(order) > MOST_CLASSES else ""),
        ("class", "documents A → B", "prior A → B", "divergence (nats)"),
        ((label, *_of_class(differing[label])) for label in order[:MOST_CLASSES]),
        numeric=(1, 2, 3),
    )


def _of_class(of: Mapping[str, Any]) -> tuple[str, ...]:
    sides = (of["old"], of["new"])
    documents = " → ".join(f"{side['documents']:,}" if side else "—" for side in sides)
    priors = " → ".join(f"{side['prior']:.4f}" if side else "—" for side in sides)
    return (documents, priors, "" if of["divergence"] is None else f"{of['divergence']:.4f}")


def _value(value: object) -> str:
    if value is None:
        return "—"
    if isinstance(value, dict):
        return f"given for {len(value):,}"
    return (
        f"{value:,}"
        if isinstance(value, int) and not isinstance(value, bool)
        else f"{value:.6g}"
        if isinstance(value, float)
        else str(value)
    )


def _few(words: int | list[str]) -> str:
    if isinstance(words, int):
        return f"{words:,}"
    more = f" and {quantity(len(words) - WORDS_SHOWN, 'other')}" if len(words) > WORDS_SHOWN else ""
    return ", ".join(words[:WORDS_SHOWN]) + more


def _phi(value: float) -> str:
    return f"{value:.3g}"


def _factor(old: float, new: float) -> str:
    """How often as probable it is now."""
    return "new" if not old else "gone" if not new else f"× {new / old:.3g}"
