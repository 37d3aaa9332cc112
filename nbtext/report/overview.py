"""An overview of a model for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.errors import counted
from nbtext.report.attributes import print_attributes
from nbtext.report.tables import print_blank, print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    own = f"; {counted(n_own, 'term')} {'has its' if n_own == 1 else 'have their'} own" if per_term and training["estimate"] != "ml" else ""
    print_lines({
        "classes": f"{len(summary['classes']):,}",
        "documents": f"{summary['documents']:,}",
        "tokens": f"{summary['tokens']:,}",
        "vocabulary": f"{terms}",
        "smoothing": f"{summary['smoothing']:g} ({'given' if training['estimate'] == 'ml' else chosen}{own})",
        **_boundary(summary["boundary"]),
        "calibration": _calibration(summary["calibration"]),
        "sample": f"{counted(summary['sample']['documents'], 'document')}{', all there are' if summary['sample']['complete'] else ''}",
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
                f"{counted(summary['calibration']['documents'], 'document')}, each judged by a model without it",
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
    return {"boundary": f"linear in {counted(n_features, 'feature')}; w and w_0 of each class with --output json"}


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
