"""Print a model for people; its checks, and those of the installation, also as JSON; and documents drawn from a model."""

from __future__ import annotations

import sys
from math import isfinite
from typing import TYPE_CHECKING, Any

from nbtext.errors import quantity
from nbtext.metrics.results import json_values
from nbtext.report.forms import json_line, print_blank, print_lines, print_table, tsv, visible_on_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nbtext.inspection.generation import Generated
    from nbtext.inspection.health import Finding
    from nbtext.inspection.overview import (
        AttributeOverviews,
        CalibrationOverview,
        ClassPerplexity,
        Criteria,
        Overview,
        Perplexities,
        Similarity,
    )
    from nbtext.inspection.verification import Check


def print_criteria(criteria: Criteria) -> None:
    """Print the result of `nbtext.inspection.overview.criteria`."""
    labels, classes, evidence = criteria.evidence_of_labels, criteria.evidence_of_classes, criteria.evidence
    of_model = "not defined: there is no prior" if evidence is None else _nats(evidence)
    print_lines({
        "log evidence": of_model if labels is not None or evidence is None or not isfinite(evidence) else f"{of_model}, of the terms",
        "of the labels": "not defined: the class prior is of maximum likelihood" if labels is None or not isfinite(labels) else _nats(labels),
        "log likelihood": f"{_nats(criteria.log_likelihood)}, at maximum likelihood",
        "parameters": f"{criteria.parameters:,}",
        "tokens": f"{criteria.tokens:,}",
        "AIC": _figure(criteria.aic),
        "BIC": _figure(criteria.bic),
    })  # fmt: skip
    if classes is not None:
        print_blank()
        rows = ((label, _figure(value)) for label, value in classes.items())
        print_table(None, ("class", "log evidence of its counts (nats)"), rows, numeric=(1,))


def _figure(value: float, digits: int = 2) -> str:
    return f"{value:,.{digits}f}" if isfinite(value) else "infinite"


def _nats(value: float) -> str:
    return f"{_figure(value)} nats" if isfinite(value) else "minus infinite"


def print_perplexities(found: Perplexities) -> None:
    """Print the result of `nbtext.inspection.overview.perplexities`."""
    rows = (_perplexity_row(label, size) for label, size in [*found.classes.items(), ("all of them", found.all)])
    print_table(None, ("class", "documents", "tokens", "unknown", "perplexity"), rows, numeric=range(1, 5))


def _perplexity_row(label: str, size: ClassPerplexity) -> tuple[str, ...]:
    counts = (label, f"{size.documents:,}", f"{size.tokens:,}")
    return (*counts, f"{size.unknown / size.tokens:.1%}", _figure(size.perplexity, 1)) if size.tokens else (*counts, "", "")


_MOST_COLUMNS = 12
"""Classes in a matrix that people can read."""

_PAIRS_BELOW_MATRIX = 5


def print_similarity(similarity: Similarity) -> None:
    """Print the result of `nbtext.inspection.overview.similarity`: a matrix of few classes, or the closest pairs of many."""
    names, few, left_out = similarity.classes, len(similarity.classes) <= _MOST_COLUMNS, similarity.left_out
    sys.stdout.write("Jensen–Shannon divergence of the language models, in nats: 0 is equal, 0.6931 nothing in common\n")
    if left_out:
        others = f"{quantity(left_out, 'other')} {'is' if left_out == 1 else 'are'} left out"
        sys.stdout.write(f"the {quantity(len(names), 'class')} with most documents; {others}\n")
    if few:
        numbers = [str(number) for number in range(1, len(names) + 1)]
        rows = (
            (number, name, *("" if place == column or not isfinite(value) else f"{value:.4f}" for column, value in enumerate(row)))
            for place, (number, name, row) in enumerate(zip(numbers, names, similarity.divergence, strict=True))
        )
        print_blank()
        print_table(None, ("", "class", *numbers), rows, numeric=(0, *range(2, 2 + len(names))))
    if similarity.closest:
        pairs = ((pair.a, pair.b, f"{pair.divergence:.4f}") for pair in similarity.closest[: _PAIRS_BELOW_MATRIX if few else None])
        print_blank()
        print_table("closest", ("class", "class", "nats"), pairs, numeric=[2])


_BY_EVIDENCE = ("multinomial", "complement", "dirichlet-multinomial")
"""The classifiers whose automatic smoothing is by evidence, on counts."""


def print_overview(overview: Overview) -> None:
    """Print the result of `nbtext.inspection.overview.overview`."""
    training, calibration = overview.training, overview.calibration
    per_term = isinstance(training["smoothing"], dict)
    print_lines({
        "classes": f"{len(overview.classes):,}",
        "documents": f"{overview.documents:,}",
        "tokens": f"{overview.tokens:,}",
        "vocabulary": _vocabulary(overview),
        "smoothing": _smoothing(overview, per_term=per_term),
        **_boundary(overview),
        "calibration": _calibration(calibration),
        "sample": f"{quantity(overview.sample.documents, 'document')}{', all there are' if overview.sample.complete else ''}",
        "stop words": f"{overview.stop_words:,}",
        "training": _settings({**training, "smoothing": "per term"} if per_term else training),
        "reading": _settings(overview.reading),
        "written by": ", ".join(f"{name} {version}" for name, version in overview.written_by.items()),
    })  # fmt: skip
    if calibration is not None:
        print_blank()
        names = {"log_loss": "log loss (nats)", "brier": "Brier score", "ece": "calibration error"}
        rows = [(text, f"{calibration.before[name]:.4f}", f"{calibration.after[name]:.4f}") for name, text in names.items()]
        head = f"{quantity(calibration.documents, 'document')}, each judged by a model without it"
        print_table(None, (head, "before", "after calibration"), rows, numeric=(1, 2))
    print_attributes(overview.attributes)
    print_blank()
    print_table(
        None,
        ("class", "documents", "tokens", "prior", "terms that speak most for it"),
        (
            (label, f"{of_class.documents:,}", f"{of_class.tokens:,}", f"{of_class.prior:.4f}", ", ".join(of_class.top_terms))
            for label, of_class in overview.classes.items()
        ),
        numeric=(1, 2, 3),
    )


def _vocabulary(overview: Overview) -> str:
    ngrams = f", {overview.ngrams:,} of them n-grams" if overview.ngrams else ""
    selected = f", {overview.selected_terms:,} selected" if overview.selected_terms != overview.terms else ""
    return f"{overview.terms:,}{ngrams}{selected}{'; pruned, so no others are learnt' if overview.closed_vocabulary else ''}"


def _smoothing(overview: Overview, *, per_term: bool) -> str:
    training, n_own = overview.training, overview.terms_with_own_smoothing
    if training["estimate"] == "ml" or per_term:
        chosen = "given"
    else:
        auto = "by evidence" if training["classifier"] in _BY_EVIDENCE and training["weighting"] == "counts" else "automatic"
        chosen = {"auto": auto, "leave-one-out": "by leave-one-out"}.get(training["smoothing"], "given")
    own = (
        f"; {quantity(n_own, 'term')} {'has its' if n_own == 1 else 'have their'} own" if per_term and training["estimate"] != "ml" else ""
    )
    return f"{overview.smoothing:g} ({chosen}{own})"


def _boundary(overview: Overview) -> dict[str, str]:
    """Return a line on the boundary of a Gaussian model, if it is linear."""
    if overview.boundary is None:
        return {}
    n_features = max(len(boundary.w) for boundary in overview.boundary.values())
    return {"boundary": f"linear in {quantity(n_features, 'feature')}; w and w_0 of each class with --output json"}


def _calibration(calibration: CalibrationOverview | None) -> str:
    if calibration is None:
        return "none"
    scale, exponent = calibration.temperature["scale"], calibration.temperature["exponent"]
    temperature = f"{scale:.4g}" + (f" · n^{exponent:.4g}, n the document's known tokens" if exponent else "")
    return f"{calibration.method}: temperature {temperature}"


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value!r}" if isinstance(value, str) else f"{name.replace('_', ' ')} {value}"
                     for name, value in values.items() if value is not None)  # fmt: skip


def print_attributes(attributes: AttributeOverviews) -> None:
    """Print the result of `nbtext.inspection.overview.attributes_overview`, a table for each attribute."""
    for name, attribute in attributes.items():
        rows = [(label, _cells(of_class)) for label, of_class in attribute.classes.items()]
        if rows:
            smoothing = getattr(attribute, "smoothing", None)
            columns = (f"{name}, {attribute.kind}" + ("" if smoothing is None else f", smoothing {smoothing:g}"), *rows[0][1])
            print_blank()
            print_table(None, columns, ((label, *cells.values()) for label, cells in rows), numeric=range(1, len(columns)))


def _cells(distribution: Mapping[str, Any]) -> dict[str, str]:
    if "probability" in distribution:
        return {category: f"{probability:.4f}" for category, probability in distribution["probability"].items()}
    return {parameter.replace("_", " "): f"{value:.6g}" for parameter, value in distribution.items()}


def print_checks(checks: Sequence[Check], output: str | None) -> None:
    """Print the result of `nbtext.inspection.verification.verify` as a table, or as a JSON object with ``output`` ``json``."""
    if output == "json":
        sys.stdout.write(json_line({"passed": all(check.passed for check in checks), "checks": json_values(checks)}))
    else:
        results = {True: "passed", False: "failed", None: ""}
        print_table(None, ("check", "result", "what was found"), [(name, results[passed], detail) for name, passed, detail in checks])


def print_health(findings: Sequence[Finding], versions: Mapping[str, str | None], status: int, output: str | None) -> None:
    """Print the result of `nbtext.inspection.health.health`; with ``output`` ``json`` one object, with versions and the exit status."""
    if output == "json":
        checks = [{"check": found.check, "result": found.result, "detail": found.detail, "fix": found.fix} for found in findings]
        sys.stdout.write(json_line({"exit_status": status, "versions": versions, "checks": checks}))
    else:
        rows = []
        for found in findings:
            rows += [(found.check, found.result, found.detail), *([("", "", f"→ {found.fix}")] if found.fix else [])]
        print_table(None, ("looked at", "result", "what was found"), rows)


def write_generated(documents: Iterable[Generated], output: str) -> None:
    """Print each document when it is drawn: as text, or with its class in columns or under keys that nbtext reads."""
    for label, terms in documents:
        text = " ".join(terms)
        if output == "jsonl":
            sys.stdout.write(json_line({"label": label, "text": text}))
        else:
            sys.stdout.write(tsv((label, text)) if output == "tsv" else visible_on_terminal(text) + "\n")
