"""`nbtext inspect`: show what is in a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.parameters import INPUT_PATH, ExplicitSettings, parameters_field
from nbtext.cli.shared_options import DocumentOptions
from nbtext.fast_dataclasses import dataclass
from nbtext.settings import Reading


@dataclass(frozen=True, kw_only=True)
class InspectOptions:
    """The options of this command alone."""

    model_path: str = shared_options.model_field()
    limit: int = shared_options.limit_field(
        "Show N terms of each class.", 8, minimum=0, old_names="--top"
    )
    criteria: bool = declarations.common_option(
        "--criteria",
        "model",
        "Show evidence, AIC and BIC of each part. Also shown is how probable the model is compared "
        "to others of the same data.",
    )
    words: tuple[str, ...] = declarations.common_option(
        "--term",
        "model",
        "Show how often and how probably each class uses a word. It may be a term as the model "
        "prints it, such as un*, or a category, such as face=1. The option can be given several "
        "times.",
        multiple=True,
        metavar="WORD",
    )
    labels: tuple[str, ...] = declarations.common_option(
        "--class",
        "model",
        "Show the terms of a class by three measures. The option can be given several times.",
        multiple=True,
        metavar="CLASS",
        shell_complete=shared_options.suggest_classes,
    )
    thresholds: float | dict[str, float] | None = declarations.common_option(
        "--thresholds",
        "model",
        "Show from which probability on classify --min-precision P answers. Where no answers can "
        "promise that, it shows how many more it would take.",
        type=shared_options.NumberPerClass(0, 1, open_ends=True),
    )
    by_class: bool = shared_options.per_class_field()
    held_out: tuple[str, ...] = declarations.common_option(
        "--perplexity",
        "documents",
        "Show how well each class predicts its held-out documents. The option can be given several "
        "times.",
        multiple=True,
        metavar="CORPUS",
        type=INPUT_PATH,
    )
    output: str = shared_options.output_field("table json")
    reading: ExplicitSettings[Reading] = parameters_field(Reading, shows_defaults=False)


@declarations.command("inspect")
def command(options: InspectOptions) -> None:
    """Print what a model contains: classes, documents, tokens, vocabulary, settings, and the top terms of each class.

    --criteria, --term, --class, --thresholds and --perplexity show something else instead; the JSON object has it in addition. Options of reading
    apply to the documents of --perplexity.

    --criteria has a row for the class prior, the text, each column beside it, and the whole. It compares the model with other pseudo-counts, and with one
    distribution for all classes, by p(m | data) and Bayes factors, in the words of Kass and Raftery (1995).

    Probabilities of terms are those that the classifier scores by; for complement, gaussian, logistic and average they are those of the language
    models. Credible intervals hold a probability with 95 % of its posterior. --class shows the most probable terms, those most above their
    probability in the whole corpus (lift), and those that say most about the class (mutual information).

    \b
    Examples:
      nbtext inspect
      nbtext inspect --criteria
      nbtext inspect --term printer --term broken
      nbtext inspect --model topics.joblib --output json
      nbtext inspect --class permits-and-planning --limit 20
      nbtext inspect --thresholds 0.95
      nbtext inspect --perplexity corpora/service-desk/test
    """
    from nbtext.cli.corpus import open_documents
    from nbtext.cli.prediction import find_precision_thresholds
    from nbtext.inspection import criteria, overview, terms
    from nbtext.metrics.results import to_json_values
    from nbtext.prediction.rule import DecisionRule
    from nbtext.report import models, rankings
    from nbtext.report.output_formats import print_with_blank_lines, write_json

    model = shared_options.load_model(options.model_path)
    parts: dict[
        str, tuple[Any, Callable[[Any], None]]
    ] = {}  # by key in JSON what is shown in place of the overview, each with its printer
    if options.criteria:
        classifier = criteria.estimate_labelled_classifier(model)
        parts["criteria"] = criteria.compute_criteria(classifier), models.print_criteria
        if others := criteria.compare_models(classifier):
            parts["models"] = others, models.print_compared_models
    if options.words:
        parts["words"] = (
            terms.collect_word_details(model, options.words),
            rankings.print_word_details,
        )
    if options.labels:
        parts["class_terms"] = (
            terms.collect_class_details(model, options.labels, options.limit),
            rankings.print_class_details,
        )
    if options.thresholds is not None:
        thresholds = find_precision_thresholds(
            options.thresholds, model, DecisionRule(), by_class=options.by_class
        )
        parts["thresholds"] = thresholds, models.print_thresholds
    if options.held_out:
        held_out = DocumentOptions(paths=options.held_out, reading=options.reading)
        source = open_documents(model, held_out, labelled=True)
        perplexities = overview.compute_perplexities(model, source.iter_readable())
        source.report_notices()
        messages.warn_unknown_labels("the model", list(perplexities.unknown_labels))
        parts["perplexity"] = perplexities, models.print_perplexities
    if options.output == "json":
        write_json(
            {
                **to_json_values(overview.build_overview(model, options.limit)),
                **{name: part for name, (part, _) in parts.items()},
            }
        )
    else:
        shown = parts or {
            "overview": (overview.build_overview(model, options.limit), models.print_overview)
        }
        print_with_blank_lines(shown.values(), lambda part: part[1](part[0]))
