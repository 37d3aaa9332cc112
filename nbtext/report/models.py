"""Print a model for people; its checks, and those of the installation, also as JSON; documents drawn from a model; the provenance of a page."""

from __future__ import annotations

import sys
from hashlib import file_digest
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from nbtext.errors import format_quantity, join_names
from nbtext.report.output_formats import (
    METRIC_TITLES,
    PROBABILITY_METRICS,
    Column,
    escape_controls_on_terminal,
    format_grid,
    format_listing,
    format_settings,
    format_table,
    make_tuple_columns,
    print_blocks,
    write_records,
)
from nbtext.settings import EVIDENCE_PREFIX
from nbtext.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nbtext.errors import Finding
    from nbtext.evaluation.report_data import Provenance
    from nbtext.guarantees.precision import PrecisionThreshold
    from nbtext.inspection.criteria import ComparedModel, Criteria, PartCriteria
    from nbtext.inspection.generation import DocumentGenerator, GeneratedDocument
    from nbtext.inspection.overview import (
        CalibrationOverview,
        ClassBoundary,
        ClassOverview,
        ClassPerplexity,
        Overview,
        Perplexities,
        TwoClassWeights,
        UnlabelledOverview,
    )
    from nbtext.model.text_classifier import TextClassifier

    OfPart = tuple[str, Criteria | PartCriteria, float | None]
    """Its name, its criteria, and n of the BIC."""

PARTS: Sequence[Column[OfPart]] = (
    Column("part", lambda row: row[0]),
    Column("log evidence", lambda row: row[1].evidence, ",.2f"),
    Column("log likelihood", lambda row: row[1].log_likelihood, ",.2f"),
    Column("parameters", lambda row: row[1].parameters, ","),
    Column("n", lambda row: row[2], ","),
    Column("AIC", lambda row: row[1].aic, ",.2f"),
    Column("BIC", lambda row: row[1].bic, ",.2f"),
)
EVIDENCE_OF_CLASSES: Sequence[Column[tuple[str, float]]] = (
    Column("class", lambda row: row[0]),
    Column("log evidence of its data (nats)", lambda row: row[1], ",.2f"),
)


def print_criteria(criteria: Criteria) -> None:
    """Print the result of `nbtext.inspection.criteria.criteria`."""
    labels = criteria.evidence_of_labels
    classes = criteria.evidence_of_classes
    evidence = criteria.evidence
    log_evidence = "not defined: its parameters have no prior"
    if evidence is not None:
        without_labels = ", without the labels" if labels is None else ""
        log_evidence = f"{_nats(evidence)}{without_labels}"
    lines = {
        "log evidence": log_evidence,
        "of the labels": "not defined: the class prior is of maximum likelihood"
        if labels is None
        else _nats(labels),
        "log likelihood": f"{_nats(criteria.log_likelihood)}, at maximum likelihood",
        "parameters": f"{criteria.parameters:,}",
        "tokens": f"{criteria.tokens:,}",
        "AIC": f"{criteria.aic:,.2f}",
        "BIC": f"{criteria.bic:,.2f}",
    }
    parts: list[OfPart] = [(part.part, part, part.observations) for part in criteria.parts]
    parts.append(("the whole", criteria, None))
    print_blocks(
        format_listing(lines),
        format_table(EVIDENCE_OF_CLASSES, classes.items()) if classes else "",
        format_table(PARTS, parts),
    )


def _nats(value: float) -> str:
    return f"{value:,.2f} nats" if isfinite(value) else "minus infinity"


COMPARED: Sequence[Column[ComparedModel]] = (
    Column("distributions", lambda model: model.language_models),
    Column("pseudo-count", lambda model: model.smoothing, "g"),
    Column("log evidence (nats)", lambda model: model.log_evidence, ",.2f"),
    Column("p(m | data)", lambda model: model.probability, ".4g"),
    Column("log Bayes factor", lambda model: model.log_bayes_factor, ",.2f"),
    Column("evidence for the first", lambda model: model.evidence_for_best),
)


def print_compared_models(models: Sequence[ComparedModel]) -> None:
    """Print the result of `nbtext.inspection.criteria.compare_models`."""
    print_blocks(
        format_table(
            COMPARED, models, f"models of the same data ({models[0].data}), equally probable before"
        )
    )


PERPLEXITIES: Sequence[Column[tuple[str, ClassPerplexity]]] = (
    Column("class", lambda row: row[0]),
    Column("documents", lambda row: row[1].documents, ","),
    Column("tokens", lambda row: row[1].tokens, ","),
    Column("unknown", lambda row: row[1].unknown / row[1].tokens if row[1].tokens else None, ".1%"),
    Column("perplexity", lambda row: row[1].perplexity if row[1].tokens else None, ",.1f"),
)


def print_perplexities(found: Perplexities) -> None:
    """Print the result of `nbtext.inspection.overview.perplexities`."""
    print_blocks(format_table(PERPLEXITIES, [*found.classes.items(), ("all of them", found.all)]))


def _answered_from(threshold: PrecisionThreshold) -> float | str | None:
    return "always" if threshold.precision is None else threshold.probability


def _more_needed(threshold: PrecisionThreshold) -> int | str | None:
    if threshold.probability is not None:
        return None
    return "more would not help" if threshold.more is None else threshold.more


THRESHOLDS: Sequence[Column[PrecisionThreshold]] = (
    Column("class", lambda threshold: threshold.label),
    Column("precision", lambda threshold: threshold.precision, "g"),
    Column("answered from", _answered_from, ".6g", placeholder="never"),
    Column("left-out answers", lambda threshold: threshold.documents, ","),
    Column("from there", lambda threshold: threshold.answered, ","),
    Column("right", lambda threshold: threshold.right, ","),
    Column("more needed", _more_needed, ","),
)


def print_thresholds(thresholds: Sequence[PrecisionThreshold]) -> None:
    """Print thresholds of probability, and where there is none how many more answers to left-out documents it would take."""
    print_blocks(format_table(THRESHOLDS, thresholds))


_FIELDS = _SEEDS = 10
"""Fields and seed words that are named."""

CLASSES: Sequence[Column[tuple[str, ClassOverview]]] = (
    Column("class", lambda row: row[0]),
    Column("documents", lambda row: row[1].documents, ","),
    Column("tokens", lambda row: row[1].tokens, ","),
    Column("prior", lambda row: row[1].prior, ".4f"),
    Column("terms that speak most for it", lambda row: row[1].top_terms),
)


def print_overview(overview: Overview) -> None:
    """Print the result of `nbtext.inspection.overview.overview`."""
    settings = {
        name: ", ".join(map(" ".join, format_settings(getattr(overview, name))))
        for name in ("training", "reading")
    }
    calibration = overview.calibration
    linear = overview.linear
    blocks = [format_listing({**_lines(overview), **settings})]
    if calibration is not None:
        blocks.append(_figures_of_probabilities(calibration))
    if linear is not None:
        blocks.append(_weights(overview.classes, linear))
    for label, found in (
        overview.boundary or {}
    ).items():  # of numbers alone, in their units; a covariance or matrix has a column for each
        if not found.mean or not found.covariance:
            break
        names = list(overview.attributes)[-len(found.w) :]
        matrices = {"Σ": found.covariance, **({"W": found.matrix} if found.matrix else {})}
        columns = (
            f"{label}, w_0 {'−∞' if found.w_0 is None else format(found.w_0, '.6g')}",
            "μ",
            "w",
            *(f"{symbol} {name}" for symbol in matrices for name in names),
        )
        parameters = [
            (name, *(f"{value:.6g}" for value in (mean, w, *chain.from_iterable(of_name))))
            for name, mean, w, *of_name in zip(
                names, found.mean, found.w, *matrices.values(), strict=True
            )
        ]
        blocks.append(format_grid(columns, parameters, numeric_columns=range(1, len(columns))))
    for name, attribute in overview.attributes.items():
        of_classes = [(label, _cells(of_class)) for label, of_class in attribute.classes.items()]
        if of_classes:
            smoothing = getattr(attribute, "smoothing", None)
            heads = (
                f"{name}, {attribute.kind}"
                + ("" if smoothing is None else f", smoothing {smoothing:g}"),
                *of_classes[0][1],
            )
            blocks.append(
                format_grid(
                    heads,
                    ((label, *cells.values()) for label, cells in of_classes),
                    numeric_columns=range(1, len(heads)),
                )
            )
    print_blocks(*blocks, format_table(CLASSES, overview.classes.items()))


def _figures_of_probabilities(calibration: CalibrationOverview) -> str:
    judged = (
        f"{format_quantity(calibration.documents, 'document')}, each judged by a model without it"
    )
    columns: list[Column[str]] = [
        Column(judged, lambda name: METRIC_TITLES[name]),
        Column("before", lambda name: calibration.before[name], ".4f"),
        Column("after calibration", lambda name: calibration.after[name], ".4f"),
    ]
    return format_table(columns, PROBABILITY_METRICS)


def _weights(classes: Iterable[str], linear: TwoClassWeights) -> str:
    columns: list[Column[tuple[str, float]]] = [
        Column(f"term, for {' above 0, for '.join(classes)} below", lambda row: row[0]),
        Column("w", lambda row: row[1], ".4f"),
    ]
    return format_table(columns, [*linear.terms.items(), ("b, without any term", linear.b)])


def _lines(overview: Overview) -> dict[str, str | None]:
    """Return names and values of what a model is, None where it does not apply."""
    ngrams = f", {overview.ngrams:,} of them n-grams" if overview.ngrams else ""
    selected = (
        f", {overview.selected_terms:,} selected"
        if overview.selected_terms != overview.terms
        else ""
    )
    own = (
        f", {format_quantity(n_own, 'term')} with {'its' if n_own == 1 else 'their'} own"
        if (n_own := overview.terms_with_own_smoothing)
        else ""
    )
    pair = (
        f" with a term, {given[1]:g} without"
        if isinstance(given := overview.training["smoothing"], tuple)
        else ""
    )
    by_evidence = str(overview.training["members"]).startswith(EVIDENCE_PREFIX)
    power, meaning = (
        ("", "p(m | data)")
        if by_evidence
        else (" · n^{0.exponent:.4g}", "n the document's known tokens")
    )
    seeds = [
        f"{term} {amount:g} in {label}"
        for label, of_class in (overview.seeds or {}).items()
        for term, amount in of_class.items()
    ]
    weights = [
        f"{name} {weight.scale:.4g}{power.format(weight)}"
        for name, weight in overview.members.items()
    ]
    closed = "; pruned, so no others are learnt" if overview.closed_vocabulary else ""
    smoothing = overview.choices.smoothing_description
    chosen = f" ({smoothing})" if smoothing else ""
    complete = ", all there are" if overview.sample.complete else ""
    return {
        "classes": f"{len(overview.classes):,}",
        "documents": f"{overview.documents:,}",
        "tokens": f"{overview.tokens:,}",
        "encoded lines": f"{overview.encoded_lines:,} dropped" if overview.encoded_lines else None,
        "vocabulary": f"{overview.terms:,}{ngrams}{selected}{closed}",
        "fields": join_names(
            [f"{name} {format_quantity(n, 'term')}" for name, n in overview.fields.items()], _FIELDS
        )
        if overview.fields
        else None,
        "smoothing": f"{overview.smoothing:g}{pair}{own}{chosen}",
        "penalty": _penalty(overview),
        "boundary": None if overview.boundary is None else _boundary(overview.boundary),
        "weights": f"{', '.join(weights)}, {meaning}" if weights else None,
        "calibration": _calibration(overview.calibration),
        "sample": f"{format_quantity(overview.sample.documents, 'document')}{complete}",
        "seed words": join_names(seeds, _SEEDS) if seeds else None,
        "unlabelled": None if overview.unlabelled is None else _unlabelled(overview.unlabelled),
        "unspaced": overview.choices.unspaced_description or None,
        "stop words": ", ".join(
            filter(None, (f"{overview.stop_words:,}", overview.choices.stop_words_description))
        ),
        "written by": ", ".join(
            f"{name} {version}" for name, version in overview.written_by.items()
        ),
    }


def _penalty(overview: Overview) -> str | None:
    if overview.l2 is None:
        return None
    found = f"l2 {overview.l2:g} ({'given' if overview.training['l2'] != 'auto' else 'automatic'})"
    if (calibration := overview.calibration) is None:
        return found
    return (
        f"{found}: log loss {calibration.after['log_loss']:.4g} nats, calibrated, on "
        f"{format_quantity(calibration.documents, 'document')} left out"
    )


def _boundary(boundary: Mapping[str, ClassBoundary]) -> str:
    first = next(iter(boundary.values()))
    return (
        f"{'quadratic' if first.matrix else 'linear'} in {format_quantity(len(first.w), 'feature')}; w "
        "and w_0 of each class with --output json"
    )


def _unlabelled(unlabelled: UnlabelledOverview) -> str:
    documents = format_quantity(unlabelled.documents, "document")
    if not unlabelled.weight:
        return f"{documents}, not used: left-out log loss is least without them"
    found = (
        f"{documents} with weight {unlabelled.weight:g}, {format_quantity(unlabelled.terms, 'term')} "
        "of theirs alone"
    )
    if not unlabelled.log_loss:
        return f"{found}; no labelled ones to judge by"
    without, loss = (unlabelled.log_loss[f"{weight:g}"] for weight in (0, unlabelled.weight))
    return f"{found}: left-out log loss {loss:.3g} nats, {without:.3g} without them"


def _calibration(calibration: CalibrationOverview | None) -> str:
    """Return the temperature, with the power of the number of tokens that it may have."""
    if calibration is None:
        return "none"
    scale = calibration.temperature.scale
    exponent = calibration.temperature.exponent
    by_length = f" · n^{exponent:.4g}, n the document's known tokens" if exponent else ""
    return f"temperature {scale:.4g}{by_length}"


def _cells(distribution: Mapping[str, float | Mapping[str, float]]) -> dict[str, str]:
    cells = {}
    for parameter, value in distribution.items():
        if isinstance(value, float):
            cells[parameter.replace("_", " ")] = f"{value:.6g}"
        else:
            before = "" if parameter == "probability" else f"{parameter} "
            cells |= {before + category: f"{number:.4f}" for category, number in value.items()}
    return cells


def build_provenance(
    model: TextClassifier, model_path: str, *, corpus_paths: Sequence[str], command: str
) -> Provenance:
    """Return headings, each with names and values; ``corpus`` and ``command`` as they were given. No clock: the same report has the same bytes."""
    from nbtext.inspection.overview import build_overview

    found = build_overview(model, 0)
    with Path(model_path).open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    report = (
        ("command", command),
        ("documents", ", ".join(corpus_paths) or "the list of files"),
        ("page written by", f"nbtext {__version__}"),
    )
    lines = tuple((name, value) for name, value in _lines(found).items() if value is not None)
    model_file = (("file", model_path), ("SHA-256", digest), *lines)
    return (
        ("Report", report),
        ("Model", model_file),
        ("Training", format_settings(found.training)),
        ("Reading", format_settings(found.reading)),
    )


def print_findings(findings: Sequence[Finding]) -> None:
    """Print the findings of `nbtext doctor`."""
    rows = (
        row
        for found in findings
        for row in (
            (found.check, found.result, found.detail),
            *([("", "", f"→ {found.fix}")] if found.fix else []),
        )
    )
    print_blocks(format_grid(("looked at", "result", "what was found"), rows))


def write_generated_documents(
    generator: DocumentGenerator, documents: Iterable[GeneratedDocument], output: str
) -> None:
    """Print each document when it is drawn: as text, or with its class and attributes in columns or under keys that nbtext reads."""
    keys = generator.keys
    rows = (
        (label, *([" ".join(terms)] if len(keys) > 1 + len(values) else []), *values)
        for label, terms, values in documents
    )
    if output == "text":
        names = (
            *[""] * (len(keys) - len(generator.attributes) - 1),
            *(f"{name}=" for name in generator.attributes),
        )
        lines = (
            " ".join(
                f"{name}{value}"
                for name, value in zip(names, row[1:], strict=True)
                if value is not None
            )
            for row in rows
        )
        sys.stdout.writelines(escape_controls_on_terminal(line) + "\n" for line in lines)
    else:
        write_records(
            rows,
            output,
            make_tuple_columns(*keys),
            to_record=lambda row: dict(zip(keys, row, strict=True)),
            tsv_header=bool(generator.attributes),
        )
