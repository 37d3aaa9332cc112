"""`nbtext inspect`: show what is in a model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import options as suggestions
from nbtext.cli.messages import SHOWN
from nbtext.cli.options import WholeNumber, given, messages, messages_options, model_option, output_option, reading_options
from nbtext.errors import ModelError, UsageError, listed
from nbtext.settings import READING

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.cli.messages import Messages
    from nbtext.cli.options import Options
    from nbtext.inspection.overview import Perplexities
    from nbtext.model import TextClassifier


@click.command("inspect", short_help="Show what is in a model.")
@model_option
@click.option("--top", type=WholeNumber(min=0), default=8, show_default=True, metavar="N", help="How many terms of each class to show.")
@click.option("--criteria", is_flag=True, help="Show evidence, AIC and BIC: how well the model fits its counts, at a price for freedom.")
@click.option(
    "--term",
    "words",
    multiple=True,
    metavar="WORD",
    help="Show what the model knows of a word, or of a term as the model prints it, such as un*: how often and how probably each class uses it. "
    "Several are allowed.",
)
@click.option("--class", "labels", multiple=True, metavar="CLASS", help="Show the terms of a class by three measures. Several are allowed.")
@click.option("--similarity", is_flag=True, help="Show how far apart the classes are; with --class only of those.")
@click.option(
    "--perplexity",
    "held_out",
    multiple=True,
    metavar="CORPUS",
    help="Show how well the language model of each class foresees held-out documents of that class. Several are allowed.",
    shell_complete=suggestions.suggest_files,
)
@click.option("--verify", is_flag=True, help="Check that the file is whole and that its parts agree; exit status 3 if they do not.")
@output_option("table", "json", help_text="Default: table.")
@reading_options
@messages_options
def command(model_path: str, top: int, verify: bool, output: str | None, **options: Any) -> int:  # noqa: FBT001
    """Print what a model holds: classes, documents, tokens, vocabulary, settings, and the terms that speak most for each class.

    --criteria, --term, --class, --similarity and --perplexity show something else in its place; the JSON object has it beside the rest.
    Probabilities of terms are those that the classifier scores by. complement, gaussian and logistic have none of a class, and show those of
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
    say = messages(options)
    if verify:
        if any(options[name] for name in ("criteria", "words", "labels", "similarity", "held_out")):
            raise UsageError("--verify goes with nothing else that is to be shown")
        return _verify(model_path, output)
    if given(READING, options) and not options["held_out"]:
        raise UsageError("options of reading go with --perplexity")
    from nbtext.model import TextClassifier

    model = TextClassifier.load(model_path)
    parts = _parts(model, top, options, say)
    if output == "json":
        from nbtext.inspection.overview import overview
        from nbtext.metrics.results import json_values
        from nbtext.report.forms import json_line

        sys.stdout.write(json_line({**json_values(overview(model, top)), **json_values(parts)}))
    elif parts:
        _print(parts)
    else:
        from nbtext.inspection.overview import overview
        from nbtext.report.models import print_overview

        print_overview(overview(model, top))
    return say.finish()


def _verify(model_path: str, output: str | None) -> int:
    from nbtext.inspection.verification import verify
    from nbtext.report.models import print_checks

    checks = verify(model_path)
    print_checks(checks, output)
    if failed := [check for check in checks if check.passed is False]:
        raise ModelError(f"{failed[0].check}: {failed[0].detail}", where=model_path, hint="restore the model or train it again")
    return 0


def _parts(model: TextClassifier, top: int, options: Options, say: Messages) -> dict[str, Any]:
    """Return what was asked for in place of the overview, by its name in JSON, in the order in which it is printed."""
    from nbtext.inspection import overview, terms

    parts: dict[str, Any] = {}
    if options["criteria"]:
        parts["criteria"] = overview.criteria(model.language_models, model.settings)
    if options["words"]:
        parts["words"] = terms.term_details(model, options["words"])
    if options["labels"]:
        parts["class_terms"] = terms.class_details(model, options["labels"], top)
    if options["similarity"]:
        parts["similarity"] = overview.similarity(model, options["labels"])
    if options["held_out"]:
        parts["perplexity"] = _perplexities(model, options, say)
    return parts


def _perplexities(model: TextClassifier, options: Options, say: Messages) -> Perplexities:
    from nbtext.cli.corpus import CommandCorpus, reading_of
    from nbtext.inspection.overview import perplexities

    paths = options["held_out"]
    documents = CommandCorpus(paths, reading_of(model, paths, options), say, labelled=True)
    found = perplexities(model, ((document.label or "", document.text) for document in documents.readable()))
    documents.say_notices()
    if unknown := list(found.unknown_labels):
        say.warn(f"the model does not know the labels {listed(unknown, SHOWN)}")
    return found


def _print(parts: dict[str, Any]) -> None:
    from nbtext.report import models, rankings

    printers: dict[str, Callable[[Any], None]] = {
        "criteria": models.print_criteria,
        "words": rankings.print_terms,
        "class_terms": rankings.print_class_details,
        "similarity": models.print_similarity,
        "perplexity": models.print_perplexities,
    }
    for number, (name, part) in enumerate(parts.items()):
        if number:
            sys.stdout.write("\n")
        printers[name](part)
