"""`nbtext inspect`: show the contents of a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.parameters import INPUT_PATH, ExplicitSettings, parameters_field
from nbtext.cli.shared_options import DocumentOptions
from nbtext.settings import Reading

if TYPE_CHECKING:
    from nbtext.inspection.overview import Perplexities
    from nbtext.model import TextClassifier


_Detail = tuple[Any, Callable[[Any], None]]
"""Content of a model, and the function that prints it."""


@declarations.option_record
class InspectOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    limit: int = shared_options.limit_field(
        "Show N terms of each class.", 8, minimum=0, old_names="--top"
    )
    criteria: bool = declarations.common_option(
        "--criteria",
        "Show evidence, AIC and BIC of each part of the model, and the posterior probabilities of "
        "models of the same data.",
        group="model",
    )
    words: tuple[str, ...] = declarations.common_option(
        "--term",
        "Show the count and the probability of a word in each class. The word may be a term such "
        "as un*, or a category such as face=1. The option can be repeated.",
        group="model",
        multiple=True,
        metavar="WORD",
    )
    labels: tuple[str, ...] = declarations.common_option(
        "--class",
        "Show the terms of CLASS that are highest by three measures. The option can be repeated.",
        group="model",
        multiple=True,
        metavar="CLASS",
        shell_complete=shared_options.suggest_classes,
    )
    information: bool = declarations.option(
        "--information",
        "Rank the terms of each --class by probability, with their information, the negative "
        "logarithm of the probability, in nats and bits.",
        group="model",
    )
    thresholds: float | dict[str, float] | None = declarations.common_option(
        "--thresholds",
        "Show the lowest probability that classify --min-precision P accepts. If no probability is "
        "high enough, show how many more held-out predictions (predictions for training documents "
        "by models without the documents) are needed.",
        group="model",
        type=shared_options.NumberPerClass(0, 1, open_ends=True),
    )
    by_class: bool = shared_options.per_class_field()
    regions: bool = declarations.option(
        "--regions",
        "With --to: draw the regions in which the model predicts each class, for a model of two "
        "numeric columns without text.",
        group="model",
    )
    held_out: tuple[str, ...] = declarations.common_option(
        "--perplexity",
        "Show the perplexity of each class on its documents in CORPUS, which should not be "
        "training documents. The option can be repeated.",
        group="documents",
        multiple=True,
        metavar="CORPUS",
        type=INPUT_PATH,
    )
    output: str = shared_options.output_field(
        "table json tsv csv jsonl", "tsv, csv and jsonl are the ranking of --information."
    )
    excel_safe: bool = shared_options.excel_safe_field()
    to: str | None = shared_options.page_field(
        "Write a page of HTML to FILE, with charts of --term (prior, likelihood and posterior as "
        "the data grow) and of --regions."
    )
    all: bool = shared_options.all_field(
        "Show all settings, and how the model was made. Without --all, the table has only settings "
        "that differ from their default. json always has all.",
        common=True,
    )
    reading: ExplicitSettings[Reading] = parameters_field(Reading, shows_defaults=False)


@declarations.command("inspect")
def command(options: InspectOptions) -> None:
    """Print the content of a model: sizes, classes with top terms, calibration, changed settings.

    With --criteria, --term, --class, --thresholds or --perplexity, the table has only the content
    that the option describes; json has this content in addition. Options of reading apply to the
    documents of --perplexity.

    --criteria has a row for the class prior, the text, each column of the corpus, and the whole
    model. The option compares the model with models of other pseudo-counts, and with a model of one
    distribution for all classes, by p(m | data) and Bayes factors, in the words of Kass and Raftery
    (1995).

    Probabilities of terms are those of the classifier; for complement, gaussian, logistic and
    average, they are those of the language models. Credible intervals contain 95 % of the posterior
    probability. The three measures of --class are probability, lift (probability compared with the
    whole corpus), and mutual information with the class.

    \b
    Examples:
      nbtext inspect
      nbtext inspect --criteria
      nbtext inspect --term printer --term broken
      nbtext inspect --model topics.joblib --output json
      nbtext inspect --class permits-and-planning --limit 20
      nbtext inspect --class permits-and-planning --information --output csv
      nbtext inspect --term bin --to posterior.html
      nbtext inspect --thresholds 0.95
      nbtext inspect --perplexity corpora/service-desk/test
    """
    from nbtext.inspection import overview, terms
    from nbtext.metrics.results import to_json_values
    from nbtext.report import models, rankings
    from nbtext.report.output_formats import print_with_blank_lines, write_json

    escape_cell = shared_options.make_cell_formatter(
        options.output, is_excel_safe=options.excel_safe
    )
    model = shared_options.load_model(options.model_path)
    if options.to is not None:
        _write_page(options, options.to, model)
        return
    if options.output not in ("table", "json"):  # only with --information
        next_terms = terms.rank_next_terms(model, options.labels, options.limit)
        rankings.write_next_terms(next_terms, options.output, escape_cell)
        return
    details = _collect_details(options, model)
    if options.output == "json":
        record = to_json_values(overview.build_overview(model, options.limit))
        for name, (content, _) in details.items():
            record[name] = content
        write_json(record)
        return
    if not details:
        print_overview = partial(models.print_overview, shows_all=options.all)
        details["overview"] = overview.build_overview(model, options.limit), print_overview
    print_with_blank_lines(details.values(), _print_detail)


def _collect_details(options: InspectOptions, model: TextClassifier) -> dict[str, _Detail]:
    """Return the content to print instead of the overview, by the key of JSON."""
    from nbtext.cli.prediction import find_precision_thresholds
    from nbtext.inspection import criteria, terms
    from nbtext.prediction.rule import DecisionRule
    from nbtext.report import models, rankings

    details: dict[str, _Detail] = {}
    if options.criteria:
        classifier = criteria.estimate_labelled_classifier(model)
        details["criteria"] = criteria.compute_criteria(classifier), models.print_criteria
        compared_models = criteria.compare_models(classifier)
        if compared_models:
            details["models"] = compared_models, models.print_compared_models
    if options.words:
        word_details = terms.collect_word_details(model, options.words)
        details["words"] = word_details, rankings.print_word_details
    if options.information:
        next_terms = terms.rank_next_terms(model, options.labels, options.limit)
        details["next_terms"] = next_terms, rankings.print_next_terms
    elif options.labels:
        class_details = terms.collect_class_details(model, options.labels, options.limit)
        details["class_terms"] = class_details, rankings.print_class_details
    if options.thresholds is not None:
        thresholds = find_precision_thresholds(
            options.thresholds, model, DecisionRule(), by_class=options.by_class
        )
        details["thresholds"] = thresholds, models.print_thresholds
    if options.held_out:
        perplexities = _compute_perplexities(options, model)
        details["perplexity"] = perplexities, models.print_perplexities
    return details


def _write_page(options: InspectOptions, path: str, model: TextClassifier) -> None:
    """Write the page of ``--to``, with the charts of ``--term`` and ``--regions``."""
    from nbtext.cli.corpus import check_output_file
    from nbtext.inspection.posteriors import describe_growth
    from nbtext.inspection.regions import find_regions
    from nbtext.inspection.terms import collect_word_details
    from nbtext.report.page.markup import write_html
    from nbtext.report.page.model_page import build_model_page

    check_output_file(path, "--to", [options.model_path])
    growth_by_term = {}
    if options.words:
        growth_by_term = describe_growth(collect_word_details(model, options.words))
    regions = find_regions(model) if options.regions else None
    command_line = shared_options.format_command_line()
    write_html(path, build_model_page(growth_by_term, regions, command_line))


def _print_detail(detail: _Detail) -> None:
    content, print_content = detail
    print_content(content)


def _compute_perplexities(options: InspectOptions, model: TextClassifier) -> Perplexities:
    """Return the perplexities of the documents of ``--perplexity``."""
    from nbtext.cli.corpus import open_documents
    from nbtext.inspection.overview import compute_perplexities

    documents = DocumentOptions(paths=options.held_out, reading=options.reading)
    source = open_documents(model, documents, labelled=True)
    perplexities = compute_perplexities(model, source.iter_readable())
    source.report_notices()
    messages.warn_unknown_labels("the model", list(perplexities.unknown_labels))
    return perplexities
