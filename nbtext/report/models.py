"""Print a model: overview, criteria, perplexity, thresholds, and documents drawn from it.

`nbtext inspect` and `nbtext generate` use it. The table of `nbtext doctor` and the provenance in
the page of `nbtext report` are also made here.
"""

from __future__ import annotations

import sys
from hashlib import file_digest
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
    format_named_table,
    format_settings,
    format_table,
    make_tuple_columns,
    print_blocks,
    write_records,
)
from nbtext.settings import EVIDENCE_PREFIX, Reading, Settings
from nbtext.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nbtext.errors import Finding
    from nbtext.evaluation.report_data import ProvenanceSection
    from nbtext.guarantees.precision import PrecisionThreshold
    from nbtext.inspection.criteria import ComparedModel, Criteria, PartCriteria
    from nbtext.inspection.generation import DocumentGenerator, GeneratedDocument
    from nbtext.inspection.overview import (
        AttributeOverview,
        CalibrationOverview,
        CategoriesOverview,
        ClassBoundary,
        ClassLogOdds,
        ClassOverview,
        ClassPerplexity,
        Overview,
        Perplexities,
        TwoClassWeights,
        UnlabelledOverview,
    )
    from nbtext.model.text_classifier import TextClassifier

PART_COLUMNS: Sequence[Column[Criteria | PartCriteria]] = (
    Column("log evidence", lambda criteria: criteria.evidence, ",.2f"),
    Column("log likelihood", lambda criteria: criteria.log_likelihood, ",.2f"),
    Column("parameters", lambda criteria: criteria.parameters, ","),
    # A model has no n: its BIC is the sum of the BICs of its parts.
    Column("n", lambda criteria: getattr(criteria, "observations", None), ","),
    Column("AIC", lambda criteria: criteria.aic, ",.2f"),
    Column("BIC", lambda criteria: criteria.bic, ",.2f"),
)
CLASS_EVIDENCE_COLUMNS: Sequence[Column[float]] = (
    Column("log evidence of its data (nats)", lambda log_evidence: log_evidence, ",.2f"),
)


def print_criteria(criteria: Criteria) -> None:
    """Print evidence, AIC and BIC of a model, its evidence by class, and the criteria by part.

    A part is the class prior, the text or a column.
    """
    log_evidence = "not defined, because its parameters have no prior"
    if criteria.evidence is not None:
        log_evidence = _format_nats(criteria.evidence)
        if criteria.evidence_of_labels is None:
            log_evidence += ", without the labels"
    label_evidence = "not defined: the class prior is of maximum likelihood"
    if criteria.evidence_of_labels is not None:
        label_evidence = _format_nats(criteria.evidence_of_labels)
    summary = {
        "log evidence": log_evidence,
        "of the labels": label_evidence,
        "log likelihood": f"{_format_nats(criteria.log_likelihood)}, at maximum likelihood",
        "parameters": f"{criteria.parameters:,}",
        "tokens": f"{criteria.tokens:,}",
        "AIC": f"{criteria.aic:,.2f}",
        "BIC": f"{criteria.bic:,.2f}",
    }
    class_table = ""
    if criteria.evidence_of_classes is not None:
        class_evidences = criteria.evidence_of_classes.items()
        class_table = format_named_table("class", CLASS_EVIDENCE_COLUMNS, class_evidences)
    named_criteria: list[tuple[str, Criteria | PartCriteria]] = [
        (part.part, part) for part in criteria.parts
    ]
    named_criteria.append(("the whole", criteria))
    part_table = format_named_table("part", PART_COLUMNS, named_criteria)
    print_blocks(format_listing(summary), class_table, part_table)


def _format_nats(value: float) -> str:
    return f"{value:,.2f} nats" if isfinite(value) else "minus infinity"


COMPARED_MODEL_COLUMNS: Sequence[Column[ComparedModel]] = (
    Column("distributions", lambda model: model.language_models),
    Column("pseudo-count", lambda model: model.smoothing, "g"),
    Column("log evidence (nats)", lambda model: model.log_evidence, ",.2f"),
    Column("p(m | data)", lambda model: model.probability, ".4g"),
    Column("log Bayes factor", lambda model: model.log_bayes_factor, ",.2f"),
    Column("evidence for the first", lambda model: model.evidence_for_best),
)


def print_compared_models(models: Sequence[ComparedModel]) -> None:
    """Print one or more models of the same data with their evidence, from `compare_models`."""
    title = f"models of the same data ({models[0].data}), equally probable before"
    print_blocks(format_table(COMPARED_MODEL_COLUMNS, models, title))


def _get_unknown_proportion(perplexity: ClassPerplexity) -> float | None:
    """Return the proportion of unknown tokens, None without tokens."""
    return perplexity.unknown / perplexity.tokens if perplexity.tokens else None


def _get_perplexity(perplexity: ClassPerplexity) -> float | None:
    """Return the perplexity, None without tokens, where it is nan."""
    return perplexity.perplexity if perplexity.tokens else None


PERPLEXITY_COLUMNS: Sequence[Column[ClassPerplexity]] = (
    Column("documents", lambda perplexity: perplexity.documents, ","),
    Column("tokens", lambda perplexity: perplexity.tokens, ","),
    Column("unknown", _get_unknown_proportion, ".1%"),
    Column("perplexity", _get_perplexity, ",.1f"),
)


def print_perplexities(perplexities: Perplexities) -> None:
    """Print the perplexity of each class, and of all classes together."""
    rows = [*perplexities.classes.items(), ("all of them", perplexities.all)]
    print_blocks(format_named_table("class", PERPLEXITY_COLUMNS, rows))


def _count_missing_predictions(threshold: PrecisionThreshold) -> int | str | None:
    """Return the number of additional predictions that a threshold would need.

    Return None if there is a threshold, and a text if more predictions would not help.
    """
    if threshold.probability is not None:
        return None
    if threshold.more is None:
        return "more would not help"
    return threshold.more


THRESHOLD_COLUMNS: Sequence[Column[PrecisionThreshold]] = (
    Column("class", lambda threshold: threshold.label),
    Column("precision", lambda threshold: threshold.precision, "g"),
    Column(
        "threshold",
        # Without a required precision, the class is always predicted.
        lambda threshold: "always" if threshold.precision is None else threshold.probability,
        ".6g",
        placeholder="never",
    ),
    Column("held-out predictions", lambda threshold: threshold.documents, ","),
    Column("above threshold", lambda threshold: threshold.answered, ","),
    Column("right", lambda threshold: threshold.right, ","),
    Column("more needed", _count_missing_predictions, ","),
)


def print_thresholds(thresholds: Sequence[PrecisionThreshold]) -> None:
    """Print thresholds of probability, or the number of held-out documents that they still need."""
    print_blocks(format_table(THRESHOLD_COLUMNS, thresholds))


MAX_LISTED_NAMES = 10
"""Number of fields, and of seed words, that are listed by name."""

CLASS_COLUMNS: Sequence[Column[ClassOverview]] = (
    Column("documents", lambda overview: overview.documents, ","),
    Column("tokens", lambda overview: overview.tokens, ","),
    Column("prior", lambda overview: overview.prior, ".4f"),
    Column("terms that speak most for it", lambda overview: overview.top_terms),
)


SIZE_NAMES = ("classes", "documents", "tokens", "encoded lines", "vocabulary", "fields")
"""Properties that `print_overview` shows above the classes."""

DETAIL_NAMES = ("sample", "unspaced", "stop words", "written by")
"""Properties that `print_overview` shows only with all settings."""


def print_overview(overview: Overview, *, shows_all: bool = False) -> None:
    """Print sizes, classes, calibration, weights and attributes of a model, then its settings.

    Without ``shows_all``, print only settings that differ from their default.
    """
    summary = _summarize_overview(overview)
    sizes = {name: summary.pop(name) for name in SIZE_NAMES}
    blocks = [
        format_listing(sizes),
        format_named_table("class", CLASS_COLUMNS, overview.classes.items()),
    ]
    if overview.calibration is not None:
        blocks.append(_format_calibration_quality(overview.calibration))
    if overview.linear is not None:
        blocks.append(_format_two_class_weights(overview.classes, overview.linear))
    if overview.log_odds is not None:
        blocks.append(_format_log_odds(overview.log_odds))
    blocks += _format_boundaries(overview)
    for name, attribute in overview.attributes.items():
        if attribute.classes:
            blocks.append(_format_attribute(name, attribute))

    training = overview.training
    reading = overview.reading
    if not shows_all:
        training = _select_changed_settings(training, Settings())
        reading = _select_changed_settings(reading, Reading())
        summary = {name: value for name, value in summary.items() if name not in DETAIL_NAMES}
    summary["training"] = _join_settings(training) or None
    summary["reading"] = _join_settings(reading) or None
    if not shows_all:
        summary["settings"] = "those not shown have their default; --all shows them"
    print_blocks(*blocks, format_listing(summary))


def _select_changed_settings(settings: Mapping[str, object], defaults: object) -> dict[str, object]:
    """Return the settings that differ from their default."""
    return {
        name: value for name, value in settings.items() if value != getattr(defaults, name, None)
    }


def _join_settings(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in format_settings(settings))


def _format_calibration_quality(calibration: CalibrationOverview) -> str:
    """Return a table of the metrics of probabilities before and after calibration."""
    documents = format_quantity(calibration.documents, "document")
    heading = f"{documents}, each scored by a model without it"
    # The record of a row is the name of its metric.
    columns: list[Column[str]] = [
        Column("before", lambda name: calibration.before[name], ".4f"),
        Column("after calibration", lambda name: calibration.after[name], ".4f"),
    ]
    rows = [(METRIC_TITLES[name], name) for name in PROBABILITY_METRICS]
    return format_named_table(heading, columns, rows)


def _format_two_class_weights(classes: Iterable[str], linear: TwoClassWeights) -> str:
    """Return a table of the weights of terms, which are above 0 for the first class."""
    first_class, second_class = classes
    heading = f"term, for {first_class} above 0, for {second_class} below"
    columns: list[Column[float]] = [Column("w", lambda weight: weight, ".4f")]
    weights = [*linear.terms.items(), ("b, without any term", linear.b)]
    return format_named_table(heading, columns, weights)


MAX_LOG_ODDS_CLASSES = 8
"""Number of classes whose log odds fit next to each other."""


def _format_log_odds(log_odds: Mapping[str, ClassLogOdds]) -> str:
    """Return a table of the log odds of terms in each class, with the bias in the last row."""
    if len(log_odds) > MAX_LOG_ODDS_CLASSES:
        classes = format_quantity(len(log_odds), "class")
        return format_listing({"log odds": f"of terms in {classes}; see --output json"})
    rows = [
        (term, *(f"{odds.terms[term]:.4f}" for odds in log_odds.values()))
        for term in next(iter(log_odds.values())).terms
    ]
    rows.append(("b, without any term", *(f"{odds.b:.4f}" for odds in log_odds.values())))
    headings = ("log odds w of a term", *log_odds)
    return format_grid(headings, rows, numeric_columns=range(1, len(headings)))


def _format_boundaries(overview: Overview) -> Iterator[str]:
    """Yield a table of Gaussian parameters for each class, with a row per feature.

    Yield nothing if there are latent features, whose parameters have no meaning for people.
    """
    if overview.boundary is None:
        return
    for label, boundary in overview.boundary.items():
        # None if there are latent features, and empty without numeric attributes.
        if not boundary.mean or not boundary.covariance:
            return
        names = list(overview.attributes)[-len(boundary.w) :]  # numeric attributes come last
        matrices = {"Σ": boundary.covariance}
        if boundary.matrix is not None:
            matrices["W"] = boundary.matrix
        w_0 = "−∞" if boundary.w_0 is None else f"{boundary.w_0:.6g}"
        headings = [f"{label}, w_0 {w_0}", "μ", "w"]
        for symbol in matrices:
            headings += [f"{symbol} {name}" for name in names]

        rows = []
        for index, name in enumerate(names):
            values = [boundary.mean[index], boundary.w[index]]
            for matrix in matrices.values():
                values += matrix[index]
            rows.append((name, *(f"{value:.6g}" for value in values)))
        yield format_grid(headings, rows, numeric_columns=range(1, len(headings)))


def _format_attribute(name: str, attribute: AttributeOverview | CategoriesOverview) -> str:
    """Return a table of the parameters of an attribute by class."""
    title = f"{name}, {attribute.kind}"
    smoothing = getattr(attribute, "smoothing", None)  # only categories have it
    if smoothing is not None:
        title += f", smoothing {smoothing:g}"
    headings = [title]
    rows = []
    for label, parameters in attribute.classes.items():
        cells = _format_parameters(parameters)
        headings = [title, *cells]  # the same for all classes
        rows.append((label, *cells.values()))
    return format_grid(headings, rows, numeric_columns=range(1, len(headings)))


def _format_parameters(parameters: Mapping[str, float | Mapping[str, float]]) -> dict[str, str]:
    """Return the values of parameters by heading.

    A value is a number, or has a number per category. Each category has its own heading.

    >>> _format_parameters({"rate": 2.5}), _format_parameters({"weight": {"a": 1.0, "b": -1.0}})
    ({'rate': '2.5'}, {'weight a': '1.0000', 'weight b': '-1.0000'})
    """
    cells = {}
    for parameter, value in parameters.items():
        if isinstance(value, float):
            cells[parameter.replace("_", " ")] = f"{value:.6g}"
        else:
            prefix = "" if parameter == "probability" else f"{parameter} "
            for category, number in value.items():
                cells[prefix + category] = f"{number:.4f}"
    return cells


def _summarize_overview(overview: Overview) -> dict[str, str | None]:
    """Return names and values of the properties of a model, None if they do not apply."""
    encoded_lines = None
    if overview.encoded_lines > 0:
        encoded_lines = f"{overview.encoded_lines:,} dropped"
    sample = format_quantity(overview.sample.documents, "document")
    if overview.sample.complete:
        sample += ", all there are"
    stop_words = f"{overview.stop_words:,}"
    if overview.choices.stop_words_description:
        stop_words += f", {overview.choices.stop_words_description}"
    packages = [f"{name} {version}" for name, version in overview.written_by.items()]
    return {
        "classes": f"{len(overview.classes):,}",
        "documents": f"{overview.documents:,}",
        "tokens": f"{overview.tokens:,}",
        "encoded lines": encoded_lines,
        "vocabulary": _summarize_vocabulary(overview),
        "fields": _list_fields(overview.fields),
        "smoothing": _summarize_smoothing(overview),
        "penalty": _summarize_penalty(overview),
        "boundary": _summarize_boundary(overview.boundary),
        "weights": _summarize_members(overview),
        "calibration": _summarize_calibration(overview.calibration),
        "unseen": _summarize_unseen(overview),
        "sample": sample,
        "seed words": _list_seed_words(overview.seeds),
        "unlabelled": _summarize_unlabelled(overview.unlabelled),
        "unspaced": overview.choices.unspaced_description or None,
        "stop words": stop_words,
        "written by": ", ".join(packages),
        "fingerprint": overview.fingerprint,
    }


def _summarize_vocabulary(overview: Overview) -> str:
    vocabulary = f"{overview.terms:,}"
    if overview.ngrams:
        vocabulary += f", {overview.ngrams:,} of them n-grams"
    if overview.selected_terms != overview.terms:
        vocabulary += f", {overview.selected_terms:,} selected"
    if overview.closed_vocabulary:
        vocabulary += "; pruned, so no others are added"
    return vocabulary


def _list_fields(fields: Mapping[str, int] | None) -> str | None:
    if fields is None:
        return None
    names = [f"{name} {format_quantity(n_terms, 'term')}" for name, n_terms in fields.items()]
    return join_names(names, MAX_LISTED_NAMES)


def _summarize_smoothing(overview: Overview) -> str:
    """Return the pseudo-count, with exceptions for terms and the reason of an automatic choice."""
    smoothing = f"{overview.smoothing:g}"
    setting = overview.training["smoothing"]
    if isinstance(setting, tuple):  # of a Bernoulli model: for presence and absence of a term
        _, absence_smoothing = setting
        smoothing += f" with a term, {absence_smoothing:g} without"
    n_terms = overview.terms_with_own_smoothing
    if n_terms:
        pronoun = "its" if n_terms == 1 else "their"
        smoothing += f", {format_quantity(n_terms, 'term')} with {pronoun} own"
    if overview.choices.smoothing_description:
        smoothing += f", {overview.choices.smoothing_description}"
    return smoothing


def _summarize_penalty(overview: Overview) -> str | None:
    if overview.l2 is None:
        return None
    origin = "automatic" if overview.training["l2"] == "auto" else "given"
    penalty = f"l2 {overview.l2:g} ({origin})"
    calibration = overview.calibration
    if calibration is None:
        return penalty
    return (
        f"{penalty}: log loss {calibration.after['log_loss']:.4g} nats, calibrated, on "
        f"{format_quantity(calibration.documents, 'document')} left out"
    )


def _summarize_boundary(boundary: Mapping[str, ClassBoundary] | None) -> str | None:
    if boundary is None:
        return None
    first_class, *_ = boundary.values()  # all classes have the same form
    form = "quadratic" if first_class.matrix else "linear"
    features = format_quantity(len(first_class.w), "feature")
    return f"{form} in {features}; w and w_0 of each class with --output json"


def _summarize_members(overview: Overview) -> str | None:
    """Return the weights of the members of an average, None for other models."""
    if not overview.members:
        return None
    has_evidence_weights = str(overview.training["members"]).startswith(EVIDENCE_PREFIX)
    weights = []
    for name, weight in overview.members.items():
        power = "" if has_evidence_weights else f" · n^{weight.exponent:.4g}"
        weights.append(f"{name} {weight.scale:.4g}{power}")
    legend = "p(m | data)" if has_evidence_weights else "n the document's known tokens"
    if overview.member_priors:
        priors = ", ".join(f"{prior:.4g}" for prior in overview.member_priors.values())
        legend += f", from p(m) {priors}"
    return f"{', '.join(weights)}, {legend}"


def _summarize_calibration(calibration: CalibrationOverview | None) -> str:
    """Return the temperature, with its power of the number of tokens if it has one."""
    if calibration is None:
        return "none"
    temperature = f"temperature {calibration.temperature.scale:.4g}"
    exponent = calibration.temperature.exponent
    if exponent:
        temperature += f" · n^{exponent:.4g}, n the document's known tokens"
    return temperature


def _summarize_unseen(overview: Overview) -> str | None:
    """Return how many documents the choices of training have not seen, or None."""
    if overview.unseen_documents is None:
        return None
    changed = format_quantity(overview.unseen_documents, "document")
    return f"{changed} added or removed after these choices; nbtext update --choose chooses again"


def _list_seed_words(seeds: Mapping[str, Mapping[str, float]] | None) -> str | None:
    if seeds is None:
        return None
    descriptions = []
    for label, pseudo_counts in seeds.items():
        for term, pseudo_count in pseudo_counts.items():
            descriptions.append(f"{term} {pseudo_count:g} in {label}")
    return join_names(descriptions, MAX_LISTED_NAMES)


def _summarize_unlabelled(unlabelled: UnlabelledOverview | None) -> str | None:
    """Return the weight of unlabelled documents, their own terms, and their effect on log loss."""
    if unlabelled is None:
        return None
    documents = format_quantity(unlabelled.documents, "document")
    if not unlabelled.weight:
        return f"{documents}, not used: held-out log loss is lowest without them"
    terms = format_quantity(unlabelled.terms, "term")
    summary = f"{documents} with weight {unlabelled.weight:g}, {terms} only in them"
    if not unlabelled.log_loss:
        return f"{summary}; no labelled documents for a comparison"
    loss = unlabelled.log_loss[f"{unlabelled.weight:g}"]  # the keys are weights as texts
    loss_without = unlabelled.log_loss["0"]
    return f"{summary}: held-out log loss {loss:.3g} nats, {loss_without:.3g} without them"


def build_provenance(
    model: TextClassifier, model_path: str, *, corpus_paths: Sequence[str], command: str
) -> tuple[ProvenanceSection, ...]:
    """Return sections with names and values: report, model, training and reading.

    ``corpus_paths`` and ``command`` are shown as the user typed them. There are no paths if the
    user named a list of files. The time is left out, so that two reports on the same data are
    equal.
    """
    from nbtext.evaluation.report_data import ProvenanceSection
    from nbtext.inspection.overview import build_overview

    overview = build_overview(model, top=0)  # without terms
    with Path(model_path).open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    report = (
        ("command", command),
        ("documents", ", ".join(corpus_paths) or "the list of files"),
        ("page written by", f"nbtext {__version__}"),
    )
    properties = _summarize_overview(overview)
    model_lines = tuple((name, value) for name, value in properties.items() if value is not None)
    return (
        ProvenanceSection("Report", report),
        ProvenanceSection("Model", (("file", model_path), ("SHA-256", digest), *model_lines)),
        ProvenanceSection("Training", format_settings(overview.training)),
        ProvenanceSection("Reading", format_settings(overview.reading)),
    )


def print_findings(findings: Sequence[Finding]) -> None:
    """Print a row per finding of `nbtext doctor`, and a row below it for the fix if it has one."""
    rows = []
    for finding in findings:
        rows.append((finding.check, finding.result, finding.detail))
        if finding.fix:
            rows.append(("", "", f"→ {finding.fix}"))
    print_blocks(format_grid(("check", "result", "finding"), rows))


def write_generated_documents(
    generator: DocumentGenerator, documents: Iterable[GeneratedDocument], output: str
) -> None:
    """Write documents as they are drawn, as ``text`` or as records that nbtext can read.

    Records have the keys of the generator, without texts if it has no words. Text has the label
    before the words, and attributes as ``name=value``.
    """
    keys = generator.keys
    has_text = bool(generator.words)
    if output == "text":
        for document in documents:
            line = _format_generated_text(document, generator.attributes, has_text=has_text)
            sys.stdout.write(f"{escape_controls_on_terminal(f'{document.label}: {line}')}\n")
        return

    def to_row(document: GeneratedDocument) -> tuple[object, ...]:
        if has_text:
            return (document.label, " ".join(document.terms), *document.values)
        return (document.label, *document.values)

    write_records(
        map(to_row, documents),
        output,
        make_tuple_columns(*keys),
        to_record=lambda row: dict(zip(keys, row, strict=True)),
        tsv_header=bool(generator.attributes),  # label and text are read without a header
    )


def _format_generated_text(
    document: GeneratedDocument, attributes: Sequence[str], *, has_text: bool
) -> str:
    """Return the words of a document and its attributes, separated by spaces."""
    texts = [" ".join(document.terms)] if has_text else []
    for name, value in zip(attributes, document.values, strict=True):
        if value is not None:
            texts.append(f"{name}={value}")
    return " ".join(texts)
