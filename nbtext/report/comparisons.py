"""A comparison of two models for people: figures side by side, who is right where, what that says in words; and the changed answers as lines.

Settings of training and how good they are, for people.

A learning curve for people: a row for each number of training documents, and in words what more would bring.

Documents whose label may be wrong, as lines of every form.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.errors import quantity
from nbtext.report import forms as records
from nbtext.report.forms import json_line, number, print_blank, print_lines, print_table, visible_on_terminal

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
    said.append(f"B answers otherwise than A for {summary['changed']:,} of {quantity(summary['n'], 'document')}.")
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
        yield title, _number(summary["a"][name]), _number(summary["b"][name]), _signed(of["difference"]), _interval(of)


def _with_interval(side: Mapping[str, Any]) -> str:
    low, high = side["intervals"]["accuracy"]
    return f"{_number(side['accuracy'])}  (95 % interval {low:.4f} to {high:.4f})"


def _rounded(probability: float | None) -> float | None:
    return None if probability is None else float(number(probability))


def _name(figure: str) -> str:
    return FIGURES[figure].partition(" (")[0]


def _interval(of: Mapping[str, Any]) -> str:
    return "" if of["interval"] is None else f"{of['interval'][0]:+.4f} to {of['interval'][1]:+.4f}"


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.4f}"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.4f}"


TRIAL_FIGURES = {
    "accuracy": ("accuracy", "{:.4f}"),
    "macro_f1": ("macro F1", "{:.4f}"),
    "log_loss": ("log loss", "{:.4f}"),
    "evidence": ("log evidence", "{:,.2f}"),
    "aic": ("AIC", "{:,.2f}"),
    "bic": ("BIC", "{:,.2f}"),
    "smoothing": ("pseudo-count", "{:g}"),
}
"""Title and form of each figure. One with a standard deviation between folds has it behind."""


def print_trials(summary: Mapping[str, Any]) -> None:
    """Print the settings, best first, and the model that was written."""
    folds = f", {quantity(summary['folds'], 'fold')}, seed {summary['seed']}" if "folds" in summary else ""
    print_lines({
        "by": f"{summary['by']}{folds}",
        "documents": f"{summary['documents']:,}",
        "model": f"{summary['model']}, trained on all documents with the first setting",
    })  # fmt: skip
    print_blank()
    best = summary["best"]
    figures = [name for name in TRIAL_FIGURES if name in best]
    heads = ["", *best["setting"], *(TRIAL_FIGURES[name][0] + (" ± sd of a fold" if f"{name}_sd" in best else "") for name in figures)]
    rows = (
        (f"{trial['rank']:,}", *trial["setting"].values(), *(_trial_figure(trial, name) for name in figures))
        for trial in summary["settings"]
    )
    print_table(None, heads, rows, numeric=[0, *range(1 + len(best["setting"]), len(heads))])


def _trial_figure(trial: Mapping[str, Any], name: str) -> str:
    form = TRIAL_FIGURES[name][1]
    if trial[name] is None:
        return "infinite"
    deviation = trial.get(f"{name}_sd")
    return form.format(trial[name]) + ("" if deviation is None else f" ± {form.format(deviation)}")


CURVES = {"accuracy": "accuracy", "macro_f1": "macro F1"}


def print_learning_curve(summary: Mapping[str, Any]) -> None:
    """Print the summary of `nbtext.evaluation.learning_curves.LearningCurve`."""
    print_lines({"documents": f"{summary['documents']:,}", "runs": f"{summary['runs']:,}, of which 95 % lie in a band"})
    print_blank()
    rows = [
        (
            f"{point['documents']:,}",
            *(text for name in CURVES for text in (f"{point[name]:.4f}", _range(point[f"{name}_band"]))),
        )
        for point in summary["points"]
    ]
    print_table(None, ("training documents", "accuracy", "band", "macro F1", "band"), rows, numeric=range(5))
    print_blank()
    for name, title in CURVES.items():
        sys.stdout.write(f"{forecast_in_words(title, summary['documents'], summary['forecast'][name])}\n")


def forecast_in_words(title: str, now: int, forecast: Mapping[str, Any]) -> str:
    """A sentence about one figure."""
    if forecast["withheld"] is not None:
        return f"No forecast of {title}: {forecast['withheld']}."
    return (
        f"Twice the documents, {forecast['documents']:,}, would bring {title} {forecast['value']:.4f} (95 % interval {_range(forecast['interval'])}); "
        f"the {now:,} that there are bring {forecast['now']:.4f} by the same law."
    )


def _range(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.4f} to {interval[1]:.4f}"


SUSPECT_COLUMNS = ("id", "label", "suggested", "log_odds")


class Suspect(NamedTuple):
    """A document, its label, the class suggested, log odds of that against the label in nats (infinite: the label is impossible), p(suggested | d)."""

    id: str
    label: str
    suggested: str
    log_odds: float
    probability: float


def write_suspects(suspects: Iterable[Suspect], form: str, *, safe_cells: bool = False) -> None:
    """Print a line for each: tsv, csv, jsonl or table; or only the names, followed by a line end (paths) or by NUL (print0)."""
    if form == "table":
        from nbtext.report.forms import print_table

        print_table(None, ("document", "label", "suggested", "log odds"), (_fields(suspect) for suspect in suspects), numeric=[3])
        return
    if form == "csv":
        sys.stdout.write(records.csv_line(SUSPECT_COLUMNS))
    for suspect in suspects:
        sys.stdout.write(_line(suspect, form, safe_cells=safe_cells))


def _line(suspect: Suspect, form: str, *, safe_cells: bool) -> str:
    match form:
        case "print0":
            return suspect.id + "\0"
        case "paths":
            return visible_on_terminal(suspect.id) + "\n"
        case "jsonl":
            log_odds = float(number(suspect.log_odds)) if suspect.log_odds < float("inf") else None
            return records.json_line({**suspect._asdict(), "log_odds": log_odds, "probability": float(number(suspect.probability))})
        case "csv":
            return records.csv_line(
                [records.excel_safe(field) if safe_cells else field for field in _fields(suspect)[:3]] + [_fields(suspect)[3]]
            )
    return records.tsv(_fields(suspect))


def _fields(suspect: Suspect) -> tuple[str, str, str, str]:
    return suspect.id, suspect.label, suspect.suggested, number(suspect.log_odds)
