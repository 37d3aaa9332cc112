"""A comparison of two models for people: figures side by side, who is right where, what that says in words; and the changed answers as lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nbtext.errors import counted
from nbtext.report.records import json_line, number
from nbtext.report.tables import print_blank, print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from nbtext.evaluation.comparison import Changed

CHANGES_SHOWN = 10

NO_ANSWER = "(none)"

HIGHER_IS_BETTER = ("accuracy", "macro_f1")

FIGURES = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "log_loss": "log loss (nats)",
    "brier": "Brier score",
    "ece": "calibration error",
}


def print_comparison(summary: Mapping[str, Any], name_a: str, name_b: str) -> None:
    """Print the summary of `nbtext.evaluation.comparison.Comparison`."""
    print_lines({
        "documents": f"{summary['n']:,}",
        "A": name_a,
        "B": name_b,
        "accuracy of A": _with_interval(summary["a"]),
        "accuracy of B": _with_interval(summary["b"]),
    })  # fmt: skip
    print_blank()
    print_table(None, ("figure", "A", "B", "B − A", "95 % interval of B − A"), _rows(summary), numeric=range(1, 5))
    print_blank()
    table = summary["table"]
    print_table(
        None,
        ("documents", "B right", "B wrong"),
        [
            ("A right", f"{table['both_right']:,}", f"{table['only_a_right']:,}"),
            ("A wrong", f"{table['only_b_right']:,}", f"{table['both_wrong']:,}"),
        ],
        numeric=(1, 2),
    )
    print_blank()
    for line in verdicts(summary):
        sys.stdout.write(f"{line}\n")
    if summary["changed"]:
        print_blank()
        rows = [
            (of["truth"], of["a"] or NO_ANSWER, of["b"] or NO_ANSWER, f"{of['documents']:,}") for of in summary["changes"][:CHANGES_SHOWN]
        ]
        print_table("most frequent changes", ("true class", "answer of A", "answer of B", "documents"), rows, numeric=[3])


def verdicts(summary: Mapping[str, Any]) -> list[str]:
    """What the figures say, in sentences."""
    if summary["identical"]:
        return ["The two models give the same answers with the same probabilities."]
    only_a, only_b = summary["table"]["only_a_right"], summary["table"]["only_b_right"]
    if not only_a and not only_b:
        said = ["Both are right about the same documents."]
    else:
        test = f"only A is right about {only_a:,}, only B about {only_b:,} (McNemar's exact test, p = {summary['mcnemar']['p_value']:.2g})"
        if summary["differences"]["accuracy"]["beyond_chance"]:
            said = [f"{'B' if only_b > only_a else 'A'} is right more often, beyond chance: {test}."]
        else:
            said = [f"Neither is right more often beyond chance: {test}."]
    others = {name: of for name, of in summary["differences"].items() if name != "accuracy"}
    for name, of in others.items():
        if of["beyond_chance"]:
            better = "B" if (of["difference"] > 0) == (name in HIGHER_IS_BETTER) else "A"
            said.append(f"{better} has the better {_name(name)}, beyond chance: B − A is {_signed(of['difference'])} ({_interval(of)}).")
    alike = [_name(name) for name, of in others.items() if of["beyond_chance"] is False]
    if alike:
        said.append(f"Beyond chance they do not differ in {' and '.join([', '.join(alike[:-1]), alike[-1]] if alike[1:] else alike)}.")
    said.append(f"B answers otherwise than A for {summary['changed']:,} of {counted(summary['n'], 'document')}.")
    return said


def changed_lines(changed: Iterable[Changed]) -> Iterator[bytes]:
    """A JSON object on a line for each document to which the models give different answers."""
    for id_, truth, a, probability_a, b, probability_b in changed:
        yield json_line({
            "id": id_, "truth": truth,
            "a": a, "probability_a": _rounded(probability_a),
            "b": b, "probability_b": _rounded(probability_b),
        }).encode()  # fmt: skip


def _rows(summary: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, title in FIGURES.items():
        of = summary["differences"][name]
        yield title, _figure(summary["a"][name]), _figure(summary["b"][name]), _signed(of["difference"]), _interval(of)


def _with_interval(side: Mapping[str, Any]) -> str:
    low, high = side["intervals"]["accuracy"]
    return f"{_figure(side['accuracy'])}  (95 % interval {low:.4f} to {high:.4f})"


def _rounded(probability: float | None) -> float | None:
    return None if probability is None else float(number(probability))


def _name(figure: str) -> str:
    return FIGURES[figure].partition(" (")[0]


def _interval(of: Mapping[str, Any]) -> str:
    return "" if of["interval"] is None else f"{of['interval'][0]:+.4f} to {of['interval'][1]:+.4f}"


def _figure(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.4f}"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.4f}"
