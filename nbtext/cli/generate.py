"""`nbtext generate`: draw documents from a model."""

from __future__ import annotations

from nbtext.cli import declarations, shared_options
from nbtext.settings import MAX_DRAWN_WORDS


@declarations.option_record
class GenerateOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    label: str | None = declarations.common_option(
        "--class",
        "Draw documents of this class. By default a class is drawn for each document from the "
        "class prior.",
        group="answer",
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
        "Draw the probabilities of words from their posterior. They are drawn once for each class. "
        "By default they are those that the model works with.",
        group="model",
    )
    seed: int = shared_options.seed_field("Seed of the random draws.", group="process", common=True)
    output: str = shared_options.output_field(
        "text tsv csv jsonl",
        "text has a document a line. The other forms have label, text and columns, and models can "
        "be trained on them.",
    )


@declarations.command("generate")
def command(options: GenerateOptions) -> None:
    """Print random documents drawn from the model: words of the language models of the classes, not sentences, and values of its columns.

    Words are printed as the model stores them, so they are stems if it was trained with a stemmer;
    train on them with --stemmer none --stop-words none. Stop words and n-grams are not drawn. A
    bernoulli model tosses a coin for each word of the vocabulary. Every category, count and number
    is drawn from its distribution in the class; in jsonl, csv and tsv they have the names that the
    model reads. The same seed gives the same documents.

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
        seed=options.seed,
    )
    documents = generator.generate(n=options.limit, label=options.label, length=options.length)
    write_generated_documents(generator, documents, options.output)
