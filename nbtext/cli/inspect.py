"""`nbtext inspect`: what is in a model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.options import messages, messages_options, model_option, output_option

if TYPE_CHECKING:
    from nbtext.model import TextClassifier


@click.command("inspect", short_help="Show what is in a model.")
@model_option
@click.option("--top", type=click.IntRange(min=0), default=8, show_default=True, metavar="N", help="How many terms of each class to show.")
@click.option("--criteria", is_flag=True, help="Show evidence, AIC and BIC: how well the model fits its counts, at a price for freedom.")
@click.option(
    "--term",
    "words",
    multiple=True,
    metavar="WORD",
    help="Show what the model knows of a word: its term, and how often and how probably each class uses it. Several are allowed.",
)
@output_option("table", "json", help_text="Default: table.")
@messages_options
def command(model_path: str, top: int, criteria: bool, words: tuple[str, ...], output: str | None, **options: Any) -> int:  # noqa: FBT001
    """Print what a model holds: classes, documents, tokens, vocabulary, settings, and the terms that speak most for each class.

    --criteria and --term show something else in its place; the JSON object has it beside the rest. Credible intervals hold a probability
    with 95 % of its posterior.

    \b
    Example:
      nbtext inspect
      nbtext inspect --criteria
      nbtext inspect --term printer --term broken
      nbtext inspect --model topics.joblib --output json
    """
    messages(options)
    from nbtext.model import TextClassifier

    model = TextClassifier.load(model_path)
    parts = _parts(model, words, criteria=criteria)
    if output == "json":
        from nbtext.model.overview import overview
        from nbtext.report.records import json_line

        sys.stdout.write(json_line({**overview(model, top), **parts}))
    else:
        _print(model, top, parts)
    return 0


def _parts(model: TextClassifier, words: tuple[str, ...], *, criteria: bool) -> dict[str, Any]:
    """What was asked for beside the overview."""
    parts: dict[str, Any] = {}
    if criteria:
        from nbtext.model.criteria import criteria as criteria_of

        parts["criteria"] = criteria_of(model.language_models, model.parameters)
    if words:
        from nbtext.model.term_details import term_details

        parts["words"] = term_details(model, words)
    return parts


def _print(model: TextClassifier, top: int, parts: dict[str, Any]) -> None:
    from nbtext.report.tables import print_blank

    if not parts:
        from nbtext.model.overview import overview
        from nbtext.report.overview import print_overview

        print_overview(overview(model, top))
    if "criteria" in parts:
        from nbtext.report.criteria import print_criteria

        print_criteria(parts["criteria"])
    if "words" in parts:
        from nbtext.report.terms import print_terms

        if len(parts) > 1:
            print_blank()
        print_terms(parts["words"])
