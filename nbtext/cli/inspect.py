"""`nbtext inspect`: show what is in a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import options as option
from nbtext.errors import UsageError
from nbtext.settings import READING

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command("inspect", short_help="Show what is in a model.")
@option.model_option
@click.option(
    "--top", type=option.WholeNumber(min=0), default=8, show_default=True, metavar="N", help="How many terms of each class to show."
)
@click.option("--criteria", is_flag=True, help="Show evidence, AIC and BIC, and how probable the model is beside others of its counts.")
@click.option(
    "--term", "words", multiple=True, metavar="WORD",
    help="Show what the model knows of a word, or of a term as the model prints it, such as un*: how often and how probably each class uses it. "
    "Several are allowed.",
)  # fmt: skip
@click.option("--class", "labels", multiple=True, metavar="CLASS", help="Show the terms of a class by three measures. Several are allowed.")
@click.option("--similarity", is_flag=True, help="Show how far apart the classes are; with --class only of those.")
@click.option(
    "--perplexity", "held_out", multiple=True, metavar="CORPUS", shell_complete=option.suggest_files,
    help="Show how well the language model of each class foresees held-out documents of that class. Several are allowed.",
)  # fmt: skip
@click.option("--verify", is_flag=True, help="Check that the file is whole and that its parts agree; exit status 3 if they do not.")
@option.output_option("table", "json", help_text="Default: table.")
@option.reading_options
@option.messages_options
def command(model_path: str, top: int, output: str | None, **options: Any) -> int:
    """Print what a model holds: classes, documents, tokens, vocabulary, settings, and the terms that speak most for each class.

    --criteria, --term, --class, --similarity and --perplexity show something else in its place; the JSON object has it beside the rest.
    --criteria also compares the model with other pseudo-counts, and with one language model for all classes, by p(m | counts) and Bayes factors, in
    the words of Kass and Raftery (1995).
    Probabilities of terms are those that the classifier scores by. complement, gaussian, logistic and average have none of a class, and show those of
    the language models. Credible intervals hold a probability with 95 % of its posterior. --class shows the most probable terms, those most above their probability
    in the whole corpus (lift), and those that tell most about the class (mutual information). --similarity is the Jensen-Shannon divergence of the
    language models. Options from --format on say how the documents of --perplexity are read, if otherwise than those of training. --verify checks the file instead: its length and checksum, what it means, and that its counts, its sample
    and its probabilities go together.

    \b
    Example:
      nbtext inspect
      nbtext inspect --criteria
      nbtext inspect --term printer --term broken
      nbtext inspect --model topics.joblib --output json
      nbtext inspect --class permits-and-planning --top 20
      nbtext inspect --similarity
      nbtext inspect --perplexity corpora/service-desk/test
      nbtext inspect --verify
    """
    from nbtext.cli.corpus import documents_for
    from nbtext.inspection import overview, terms
    from nbtext.inspection.verification import require_passed, verify
    from nbtext.metrics.results import json_values
    from nbtext.model import TextClassifier
    from nbtext.report import models, rankings
    from nbtext.report.forms import print_parts, write_json

    say = option.messages(options)
    words, labels, held_out = options["words"], options["labels"], options["held_out"]
    if options["verify"]:
        if any((options["criteria"], words, labels, options["similarity"], held_out)):
            raise UsageError("--verify goes with nothing else that is to be shown")
        checks = verify(model_path)
        models.print_checks(checks, output)
        require_passed(checks, model_path)
        return 0
    if option.given(READING, options) and not held_out:
        raise UsageError("options of reading go with --perplexity")
    model = TextClassifier.load(model_path)
    sections: list[tuple[str, object, Callable[[], Any], Callable[[Any], None]]] = [
        ("criteria", options["criteria"], lambda: overview.criteria(model.language_models, model.settings), models.print_criteria),
        ("models", options["criteria"], lambda: overview.compared_models(model.language_models), models.print_compared_models),
        ("words", words, lambda: terms.term_details(model, words), rankings.print_terms),
        ("class_terms", labels, lambda: terms.class_details(model, labels, top), rankings.print_class_details),
        ("similarity", options["similarity"], lambda: overview.similarity(model, labels), models.print_similarity),
    ]
    parts = [(name, part, show) for name, wanted, make, show in sections if wanted and (part := make())]
    if held_out:
        documents = documents_for(model, held_out, options, say, labelled=True)
        perplexities = overview.perplexities(model, documents.labelled_texts())
        documents.say_notices()
        say.warn_of_unknown("the model", list(perplexities.unknown_labels))
        parts.append(("perplexity", perplexities, models.print_perplexities))
    if output == "json":
        write_json({**json_values(overview.overview(model, top)), **{name: part for name, part, _ in parts}})
    elif not parts:
        models.print_overview(overview.overview(model, top))
    else:
        print_parts([(part, show) for _, part, show in parts])
    return say.finish()
