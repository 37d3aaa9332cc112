"""Evidence, AIC and BIC of a model, for people.

The perplexity of language models on held-out documents, for people.

The distributions of attributes in each class, for people.

Which classes of a model are alike, for people: a matrix if there are few, else the closest pairs.

An overview of a model for people.

Whether a model file is whole and its parts agree, as a table or as JSON.

What was found when looking whether nbtext can work, as a table or as JSON.

Documents drawn from a model: text, a line each, or tables to train from.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from nbtext.errors import quantity
from nbtext.report import forms as records
from nbtext.report.forms import json_line, print_blank, print_lines, print_table, visible_on_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nbtext.inspection.generation import Generated
    from nbtext.inspection.health import Finding
    from nbtext.inspection.verification import Check


def print_criteria(figures: Mapping[str, Any]) -> None:
    """Print the result of `nbtext.inspection.overview.criteria`."""
    labels = figures["evidence_of_labels"]
    of_model = "not defined: there is no prior" if figures["evidence_of_classes"] is None else _nats(figures["evidence"])
    print_lines({
        "log evidence": of_model if labels is not None or figures["evidence"] is None else f"{of_model}, of the terms",
        "of the labels": "not defined: the class prior is of maximum likelihood" if labels is None else _nats(labels),
        "log likelihood": f"{_nats(figures['log_likelihood'])}, at maximum likelihood",
        "parameters": f"{figures['parameters']:,}",
        "tokens": f"{figures['tokens']:,}",
        "AIC": _figure(figures["aic"]),
        "BIC": _figure(figures["bic"]),
    })  # fmt: skip
    if figures["evidence_of_classes"] is not None:
        print_blank()
        rows = ((label, _figure(value)) for label, value in figures["evidence_of_classes"].items())
        print_table(None, ("class", "log evidence of its counts (nats)"), rows, numeric=(1,))


def _figure(value: float | None) -> str:
    return "infinite" if value is None else f"{value:,.2f}"


def _nats(value: float | None) -> str:
    return "minus infinite" if value is None else f"{value:,.2f} nats"


ALL = "all of them"


def print_perplexities(found: Mapping[str, Any]) -> None:
    """Print the result of `nbtext.inspection.overview.perplexities`."""
    print_table(
        None,
        ("class", "documents", "tokens", "unknown", "perplexity"),
        (_row(label, of) for label, of in [*found["classes"].items(), (ALL, found["all"])]),
        numeric=range(1, 5),
    )


def _row(label: str, of: Mapping[str, Any]) -> tuple[str, ...]:
    counts = (label, f"{of['documents']:,}", f"{of['tokens']:,}")
    if not of["tokens"]:
        return (*counts, "", "")
    return (*counts, f"{of['unknown'] / of['tokens']:.1%}", "infinite" if of["perplexity"] is None else f"{of['perplexity']:,.1f}")


def print_attributes(attributes: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the result of `nbtext.inspection.terms.attributes_overview`, a table for each attribute."""
    for name, attribute in attributes.items():
        classes = attribute["classes"]
        if not classes:
            continue
        print_blank()
        head = f"{name}, {attribute['kind']}" + (f", smoothing {attribute['smoothing']:g}" if "smoothing" in attribute else "")
        rows = {label: _cells(of) for label, of in classes.items()}
        columns = list(next(iter(rows.values())))
        cells = ((label, *row.values()) for label, row in rows.items())
        print_table(None, (head, *columns), cells, numeric=range(1, len(columns) + 1))


def _cells(of: Mapping[str, Any]) -> dict[str, str]:
    if "probability" in of:
        return {value: f"{probability:.4f}" for value, probability in of["probability"].items()}
    return {figure.replace("_", " "): f"{value:.6g}" for figure, value in of.items()}


MOST_COLUMNS = 12
"""Classes of which a matrix can be read."""


CLOSEST = 5
"""Pairs below a matrix, which has them all."""


def print_similarity(of: Mapping[str, Any]) -> None:
    """Print the result of `nbtext.inspection.overview.similarity`."""
    names, few = of["classes"], len(of["classes"]) <= MOST_COLUMNS
    sys.stdout.write("Jensen–Shannon divergence of the language models, in nats: 0 is equal, 0.6931 nothing in common\n")
    if of["left_out"]:
        sys.stdout.write(
            f"the {quantity(len(names), 'class')} with most documents; {quantity(of['left_out'], 'other')} {'is' if of['left_out'] == 1 else 'are'} left out\n"
        )
    if few:
        numbers = [str(number) for number in range(1, len(names) + 1)]
        rows = (
            (number, name, *("" if place == column else _number(value) for column, value in enumerate(row)))
            for place, (number, name, row) in enumerate(zip(numbers, names, of["divergence"], strict=True))
        )
        print_blank()
        print_table(None, ("", "class", *numbers), rows, numeric=(0, *range(2, 2 + len(names))))
    if of["closest"]:
        closest = of["closest"][: CLOSEST if few else None]
        print_blank()
        print_table(
            "closest", ("class", "class", "nats"), ((pair["a"], pair["b"], _number(pair["divergence"])) for pair in closest), numeric=[2]
        )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


BY_EVIDENCE = ("multinomial", "complement", "dirichlet-multinomial")
"""The classifiers whose automatic smoothing is by evidence, on counts."""


def print_overview(summary: Mapping[str, Any]) -> None:
    """Print the result of `nbtext.inspection.overview.overview`."""
    terms = f"{summary['terms']:,}"
    if summary["ngrams"]:
        terms += f", {summary['ngrams']:,} of them n-grams"
    if summary["selected_terms"] != summary["terms"]:
        terms += f", {summary['selected_terms']:,} selected"
    if summary["closed_vocabulary"]:
        terms += "; pruned, so no others are learnt"
    training = summary["training"]
    auto = "by evidence" if training["classifier"] in BY_EVIDENCE and training["weighting"] == "counts" else "automatic"
    per_term = isinstance(training["smoothing"], dict)
    chosen = "given" if per_term else {"auto": auto, "leave-one-out": "by leave-one-out"}.get(training["smoothing"], "given")
    n_own = summary["terms_with_own_smoothing"]
    own = (
        f"; {quantity(n_own, 'term')} {'has its' if n_own == 1 else 'have their'} own" if per_term and training["estimate"] != "ml" else ""
    )
    print_lines({
        "classes": f"{len(summary['classes']):,}",
        "documents": f"{summary['documents']:,}",
        "tokens": f"{summary['tokens']:,}",
        "vocabulary": f"{terms}",
        "smoothing": f"{summary['smoothing']:g} ({'given' if training['estimate'] == 'ml' else chosen}{own})",
        **_boundary(summary["boundary"]),
        "calibration": _calibration(summary["calibration"]),
        "sample": f"{quantity(summary['sample']['documents'], 'document')}{', all there are' if summary['sample']['complete'] else ''}",
        "stop words": f"{summary['stop_words']:,}",
        "training": _settings({**training, "smoothing": "per term"} if per_term else training),
        "reading": _settings(summary["reading"]),
        "written by": ", ".join(f"{name} {version}" for name, version in summary["written_by"].items()),
    })  # fmt: skip
    if summary["calibration"] is not None:
        print_blank()
        print_table(
            None,
            (
                f"{quantity(summary['calibration']['documents'], 'document')}, each judged by a model without it",
                "before",
                "after calibration",
            ),
            _judgement(summary["calibration"]),
            numeric=(1, 2),
        )
    print_attributes(summary["attributes"])
    print_blank()
    print_table(
        None,
        ("class", "documents", "tokens", "prior", "terms that speak most for it"),
        (
            (label, f"{of['documents']:,}", f"{of['tokens']:,}", f"{of['prior']:.4f}", ", ".join(of["top_terms"]))
            for label, of in summary["classes"].items()
        ),
        numeric=(1, 2, 3),
    )


def _boundary(boundary: Mapping[str, Any] | None) -> dict[str, str]:
    """A line on the boundary of a Gaussian model, if it is linear."""
    if boundary is None:
        return {}
    n_features = max(len(of["w"]) for of in boundary.values())
    return {"boundary": f"linear in {quantity(n_features, 'feature')}; w and w_0 of each class with --output json"}


def _calibration(calibration: Mapping[str, Any] | None) -> str:
    if calibration is None:
        return "none"
    scale, exponent = calibration["temperature"]["scale"], calibration["temperature"]["exponent"]
    temperature = f"{scale:.4g}" + (f" · n^{exponent:.4g}, n the document's known tokens" if exponent else "")
    return f"{calibration['method']}: temperature {temperature}"


def _judgement(calibration: Mapping[str, Any]) -> list[tuple[str, ...]]:
    names = {"log_loss": "log loss (nats)", "brier": "Brier score", "ece": "calibration error"}
    return [(text, f"{calibration['before'][name]:.4f}", f"{calibration['after'][name]:.4f}") for name, text in names.items()]


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value!r}" if isinstance(value, str) else f"{name.replace('_', ' ')} {value}"
                     for name, value in values.items() if value is not None)  # fmt: skip


_RESULTS = {True: "passed", False: "failed", None: ""}


def print_checks(checks: Sequence[Check], output: str | None) -> None:
    """Print the result of `nbtext.inspection.verification.verify` as a table, or as a JSON object with ``output`` ``json``."""
    if output == "json":
        found = [{"check": name, "passed": passed, "detail": detail} for name, passed, detail in checks]
        sys.stdout.write(json_line({"passed": all(check.passed for check in checks), "checks": found}))
    else:
        print_table(None, ("check", "result", "what was found"), [(name, _RESULTS[passed], detail) for name, passed, detail in checks])


def print_health(findings: Sequence[Finding], versions: Mapping[str, str | None], status: int, output: str | None) -> None:
    """Print the result of `nbtext.inspection.health.health`; with ``output`` ``json`` one object, with versions and the exit status."""
    if output == "json":
        checks = [{"check": of.check, "result": of.result, "detail": of.detail, "fix": of.fix} for of in findings]
        sys.stdout.write(json_line({"exit_status": status, "versions": versions, "checks": checks}))
    else:
        rows = [row for of in findings for row in ((of.check, of.result, of.detail), *([("", "", f"→ {of.fix}")] if of.fix else []))]
        print_table(None, ("looked at", "result", "what was found"), rows)


def write_generated(documents: Iterable[Generated], output: str) -> None:
    """Print each document when it is drawn: as text, or with its class in columns or under keys as nbtext reads them."""
    for label, terms in documents:
        text = " ".join(terms)
        if output == "jsonl":
            sys.stdout.write(records.json_line({"label": label, "text": text}))
        elif output == "tsv":
            sys.stdout.write(records.tsv((label, text)))
        else:
            sys.stdout.write(visible_on_terminal(text) + "\n")
