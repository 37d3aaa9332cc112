"""`nbtext generate`: draw documents from a model."""

from __future__ import annotations

from typing import Any

import click

from nbtext.cli.options import WholeNumber, messages, messages_options, model_option, output_option


@click.command("generate", short_help="Draw documents from a model.")
@model_option
@click.option("--class", "label", metavar="NAME", help="Of which class; by default one is drawn for each document, from the class prior.")
@click.option("-n", "--number", type=WholeNumber(min=1), default=1, show_default=True, metavar="N", help="How many documents.")
@click.option(
    "--length", type=WholeNumber(1, 1 << 24), metavar="N",
    help="Words in a document; by default drawn, from a Poisson distribution with the mean of the class, at least 1.",
)  # fmt: skip
@click.option(
    "--draw", is_flag=True,
    help="Draw the probabilities too: once for each class, from their posterior. By default they are those that the model works with.",
)  # fmt: skip
@click.option("--seed", type=WholeNumber(min=0), default=0, show_default=True, metavar="N", help="Seed of the random draws.")
@output_option(
    "text", "tsv", "jsonl", help_text="Default: text, a document a line. tsv (class, text) and jsonl (label, text) can be trained on."
)
@messages_options
def command(
    model_path: str, label: str | None, number: int, length: int | None, output: str | None, *, draw: bool, seed: int, **options: Any
) -> int:
    """Print documents drawn from the language models of the classes: words, not sentences.

    Words are printed as the model knows them, so stemmed if it was trained so; train on them with --stemmer none --stop-words none. Stop words
    and n-grams are not drawn. For a bernoulli model a coin is tossed for each word of the vocabulary; for a dirichlet-multinomial one the words of a
    document repeat each other. The same seed gives the same documents.

    \b
    Example:
      nbtext generate -n 3 --length 20 --seed 7
      nbtext generate -n 1000 --output tsv
    """
    messages(options)
    from nbtext.inspection.generation import DocumentGenerator
    from nbtext.model import TextClassifier
    from nbtext.report.models import write_generated

    generator = DocumentGenerator(TextClassifier.load(model_path), draw=draw, seed=seed)
    write_generated(generator.documents(number, label, length), output or "text")
    return 0
