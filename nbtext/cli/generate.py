"""`nbtext generate`: draw documents from a model."""

from __future__ import annotations

from typing import Any

from nbtext.cli import option, panels
from nbtext.settings import MOST_DRAWN


@panels.command("generate")
@option.model_option
@panels.common_option(
    "--class label", "answer",
    "Draw documents of this class. By default a class is drawn for each document from the class prior.",
    metavar="NAME", shell_complete=option.suggest_classes,
)  # fmt: skip
@option.limit_option("Draw N documents.", 1, old_names="--number")
@panels.common_option(
    "--length", "words",
    "Draw N words for each document. By default the length is drawn from a Poisson distribution with the mean of the class, at least 1.",
    type=option.WholeNumber(1, MOST_DRAWN),
)  # fmt: skip
@panels.option(
    "--draw", "model",
    "Draw the probabilities of words from their posterior. They are drawn once for each class. By default they are those that the model works with.",
)  # fmt: skip
@option.seed_option("process", "Seed of the random draws.", common=True)
@option.output_option(
    "text tsv csv jsonl",
    "text has a document a line. The other forms have label, text and columns, and models can be trained on them.",
)  # fmt: skip
@option.messages_options
def command(model_path: str, label: str | None, limit: int, length: int | None, output: str, seed: int, **options: Any) -> None:
    """Print random documents drawn from the model: words of the language models of the classes, not sentences, and values of its columns.

    Words are printed as the model stores them, so they are stems if it was trained with a stemmer; train on them with --stemmer none --stop-words none.
    Stop words and n-grams are not drawn. A bernoulli model tosses a coin for each word of the vocabulary.
    Every category, count and number is drawn from its distribution in the class; in jsonl, csv and tsv they have the names that the model reads. The same
    seed gives the same documents.

    \b
    Examples:
      nbtext generate -n 3 --length 20 --seed 7
      nbtext generate -n 1000 --output csv
    """
    from nbtext.inspection.generation import DocumentGenerator
    from nbtext.report.models import write_generated

    generator = DocumentGenerator(option.load_model(model_path), draw=options["draw"], seed=seed)
    write_generated(generator, generator.documents(limit, label, length), output)
