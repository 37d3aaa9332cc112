"""`nbtext explain`: show what each word of a document contributed to its answer."""

from __future__ import annotations

import sys
from typing import Any

import click

from nbtext.cli import options as option
from nbtext.errors import UsageError


@click.command("explain", short_help="Show what each word contributed to an answer.")
@option.corpus_argument
@option.model_option
@click.option("--against", metavar="LABEL", help="Compare the answer with this class; by default with its runner-up.")
@option.output_option("table", "tsv", "jsonl", help_text="Default: table on a terminal, else tsv.")
@click.option("--top", type=option.WholeNumber(min=1), default=20, show_default=True, metavar="N", help="Words listed in table and page.")
@click.option(
    "--html", metavar="FILE", shell_complete=option.suggest_files,
    help="Write a page of HTML in place of printing; it is replaced as a whole.",
)  # fmt: skip
@option.input_options
@option.reading_options
@option.messages_options
def command(
    corpus: tuple[str, ...], model_path: str, against: str | None, output: str | None, top: int, html: str | None, **options: Any
) -> int:
    """Print for each document its answer and what each surface word contributed to the log odds of the answer over another class, in nats.

    Documents are read as classify reads them. The log odds are a sum: what the classes have without any word (the class prior; with bernoulli
    also what the absence of every term says), the words, and the attributes beside the text. An n-gram is shared equally by the words that it
    stands over, a character n-gram belongs to its word, a term that occurs several times is shared equally by its occurrences. Words that do not
    count have 0 and the reason. Calibration comes last and changes the probability, not the order of the classes. For gaussian, whose scores are
    no sum, a word has what the log odds lose without it; these do not add up, and the rest is a line of its own. Of a document that maximum
    likelihood finds impossible, table, jsonl and page name for each class one word that rules it out.

    TSV has a line for each part: document, answer, other class, kind (prior, word, attribute, rest, log-odds, calibrated, none), name, nats,
    count, places, note. Places are bytes of the text in UTF-8, after reading; jsonl has that text too. On a terminal words for the answer are
    bold on blue, words for the other class underlined on orange.

    \b
    Example:
      nbtext explain letter.txt
      nbtext explain letter.txt --against taxes-and-fees --output jsonl
      nbtext explain inbox/ --html explained.html
    """
    from nbtext.cli.corpus import check_output_file, corpus_paths, documents_for
    from nbtext.explain.explanation import Explainer
    from nbtext.model import TextClassifier

    say = option.messages(options)
    paths = corpus_paths(corpus, options)
    if html is not None:
        if output is not None:
            raise UsageError("--html and --output exclude each other")
        check_output_file(html, "--html", [model_path, *paths])
    model = TextClassifier.load(model_path)
    explainer = Explainer(model, against)
    documents = documents_for(model, paths, options, say, labelled=False, progress=html is not None)
    explained = say.reported(explainer.explain(documents))
    if html is not None:
        from nbtext.report.page.explained import explanations_page
        from nbtext.report.page.markup import write_html

        write_html(html, explanations_page(explained, top))
    elif (output or ("table" if sys.stdout.isatty() else "tsv")) == "table":
        from nbtext.report.explanations import print_explanations

        print_explanations(explained, top)
    else:
        from nbtext.report.explanations import write_explanations

        write_explanations(explained, output or "tsv")
    documents.say_notices()
    return say.finish()
