"""`nbtext generate`: draw documents from a model."""

from __future__ import annotations

import secrets

from nbtext.cli import declarations, shared_options
from nbtext.settings import MAX_DRAWN_WORDS

SEED_BITS = 32
"""Size of a seed that the user does not set."""


@declarations.option_record
class GenerateOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    label: str | None = declarations.common_option(
        "--class",
        "Draw documents of this class. By default a class is drawn for each document from the "
        "class prior.",
        group="documents",
        metavar="NAME",
        shell_complete=shared_options.suggest_classes,
    )
    limit: int = shared_options.limit_field("Draw N documents.", 1, old_names="--number")
    length: int | None = declarations.common_option(
        "--length",
        "Draw N words for each document. By default the length is drawn from a Poisson "
        "distribution with the mean of the class, at least 1.",
        group="words",
        type=shared_options.WholeNumber(1, MAX_DRAWN_WORDS),
    )
    draw: bool = declarations.option(
        "--draw",
        "Draw the probabilities of words from their posterior, once for each class. By default "
        "the probabilities are the estimates of the model.",
        group="model",
    )
    seed: int | None = shared_options.seed_field(
        "Draw the same documents in each run with the same N.",
        group="process",
        common=True,
        default=None,
        shown_default="each run draws others",
    )
    output: str = shared_options.output_field(
        "text tsv csv jsonl",
        "text has a document per line, after its class. The other formats have label, text and "
        "columns, and nbtext can train on them.",
    )


@declarations.command("generate")
def command(options: GenerateOptions) -> None:
    """Print random documents: words from the language models of the classes, and values of columns.

    The output has words, not sentences. The words are stems if the model was trained with a
    stemmer; to train on the words, use --stemmer none --stop-words none. Stop words and n-grams are
    not drawn. A bernoulli model draws for each word of the vocabulary whether the word occurs. Each
    category, count and number is drawn from its distribution in the class; in jsonl, csv and tsv
    its column has the name that the model reads.

    \b
    Examples:
      nbtext generate -n 3 --length 20 --seed 7
      nbtext generate -n 1000 --output csv
    """
    from nbtext.inspection.generation import DocumentGenerator
    from nbtext.report.models import write_generated_documents

    generator = DocumentGenerator(
        shared_options.load_model(options.model_path),
        sample_parameters=options.draw,
        seed=secrets.randbits(SEED_BITS) if options.seed is None else options.seed,
    )
    documents = generator.generate(n=options.limit, label=options.label, length=options.length)
    write_generated_documents(generator, documents, options.output)
