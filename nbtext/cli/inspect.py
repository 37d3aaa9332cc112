"""`nbtext inspect`: show what is in a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtext.cli import messages, option, panels


@panels.command("inspect")
@option.model_option
@option.limit_option("Show N terms of each class.", 8, least=0, old_names="--top")
@panels.common_option(
    "--criteria", "model",
    "Show evidence, AIC and BIC of each part. Also shown is how probable the model is compared to others of the same data.",
)  # fmt: skip
@panels.common_option(
    "--term words", "model",
    "Show how often and how probably each class uses a word. It may be a term as the model prints it, such as un*, or a category, such as face=1. The option can be given several times.",
    multiple=True, metavar="WORD",
)  # fmt: skip
@panels.common_option(
    "--class labels", "model",
    "Show the terms of a class by three measures. The option can be given several times.",
    multiple=True, metavar="CLASS", shell_complete=option.suggest_classes,
)  # fmt: skip
@panels.common_option(
    "--thresholds", "model",
    "Show from which probability on classify --min-precision P answers. Where no answers can promise that, it shows how many more it would take.",
    type=option.NumberPerClass(0, 1, open_ends=True),
)  # fmt: skip
@option.by_class_option
@panels.common_option(
    "--perplexity held_out", "documents",
    "Show how well each class predicts its held-out documents. The option can be given several times.",
    multiple=True, metavar="CORPUS", type=option.PATH,
)  # fmt: skip
@option.output_option("table json")
@option.reading_options
@option.messages_options
def command(model_path: str, limit: int, output: str, **options: Any) -> None:
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
    from nbtext.cli.corpus import documents_for
    from nbtext.inspection import criteria, overview, terms
    from nbtext.metrics.results import json_values
    from nbtext.prediction.rule import DecisionRule
    from nbtext.report import models, rankings
    from nbtext.report.forms import print_parts, write_json

    model = option.load_model(model_path)
    parts: dict[str, tuple[Any, Callable[[Any], None]]] = {}  # by key in JSON what is shown in place of the overview, each with its printer
    if options["criteria"]:
        classifier = criteria.classifier_of(model)
        parts["criteria"] = criteria.criteria(classifier), models.print_criteria
        if others := criteria.compared_models(classifier):
            parts["models"] = others, models.print_compared_models
    if words := options["words"]:
        parts["words"] = terms.term_details(model, words), rankings.print_terms
    if labels := options["labels"]:
        parts["class_terms"] = terms.class_details(model, labels, limit), rankings.print_class_details
    if (asked := options["thresholds"]) is not None:
        parts["thresholds"] = option.thresholds_of(asked, model, DecisionRule(), by_class=options["by_class"]), models.print_thresholds
    if held_out := options["held_out"]:
        documents = documents_for(model, held_out, options, labelled=True)
        perplexities = overview.perplexities(model, documents.readable())
        documents.say_notices()
        messages.warn_of_unknown("the model", list(perplexities.unknown_labels))
        parts["perplexity"] = perplexities, models.print_perplexities
    if output == "json":
        write_json({**json_values(overview.overview(model, limit)), **{name: part for name, (part, _) in parts.items()}})
    else:
        shown = parts or {"overview": (overview.overview(model, limit), models.print_overview)}
        print_parts(shown.values(), lambda part: part[1](part[0]))
