"""How two models differ in themselves, for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nbtext.errors import counted
from nbtext.report.tables import print_blank, print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    return "—" if of is None else f"{of['kind']}, {counted(of['documents'], 'document')}"


def _print_classes(classes: Mapping[str, Mapping[str, Any]]) -> None:
    """Those that differ: the ones in one model only, then those whose language models are furthest apart."""
    differing = {label: of for label, of in classes.items() if of["old"] != of["new"] or of["divergence"]}
    if not differing:
        sys.stdout.write("The classes are the same.\n")
        return
    order = sorted(differing, key=lambda label: -(float("inf") if (value := differing[label]["divergence"]) is None else value))
    print_table(
        f"{len(differing):,} of {counted(len(classes), 'class')} {'differs' if len(differing) == 1 else 'differ'}"
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
    more = f" and {counted(len(words) - WORDS_SHOWN, 'other')}" if len(words) > WORDS_SHOWN else ""
    return ", ".join(words[:WORDS_SHOWN]) + more


def _phi(value: float) -> str:
    return f"{value:.3g}"


def _factor(old: float, new: float) -> str:
    """How often as probable it is now."""
    return "new" if not old else "gone" if not new else f"× {new / old:.3g}"
