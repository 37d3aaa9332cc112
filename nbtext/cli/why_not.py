"""`nbtext why-not`: find the words that keep a document from another answer."""

from __future__ import annotations

import sys
from typing import Any

import click

from nbtext.cli.options import corpus_argument, input_options, messages, messages_options, model_option, output_option, reading_options


@click.command("why-not", short_help="Find the words that keep a document from another answer.")
@click.argument("label", metavar="LABEL")
@corpus_argument
@model_option
@output_option("table", "tsv", "jsonl", help_text="Default: table on a terminal, else tsv.")
@input_options
@reading_options
@messages_options
def command(label: str, corpus: tuple[str, ...], model_path: str, output: str | None, **options: Any) -> int:
    """Print for each document the fewest words without which, and the fewest terms with which, its answer would be LABEL.

    Documents are read as classify reads them. Words are surface words: a word goes with all its occurrences; terms are written behind the text, as the model knows them.
    Both are checked by scoring the changed document. Where scores are sums over words (multinomial and complement on counts, and without n-grams
    mostly bernoulli and dirichlet-multinomial) the fewest words are found by branch and bound; elsewhere sets of words are tried out. It is said
    when a smaller set cannot be ruled out, and when nothing would do. A tie does not make LABEL the answer. Costs and thresholds have no part
    in this: the answer is the most probable class. Attributes beside the text stay as they are.

    TSV has a line for each word: document, answer, LABEL, remove, add or none, word, how often it is added, the probability of LABEL then, and
    smallest, perhaps-not-smallest, none, none-found or why nothing was looked for (answered-so, no-prior, impossible).

    \b
    Example:
      nbtext why-not taxes-and-fees letter.txt
      nbtext why-not roads-and-lighting inbox/ --output jsonl
    """
    from nbtext.cli.corpus import corpus_paths, documents_for
    from nbtext.explain.counterfactual import WhyNotFinder
    from nbtext.model import TextClassifier
    from nbtext.report.explanations import write_why_not

    say = messages(options)
    paths = corpus_paths(corpus, options)
    model = TextClassifier.load(model_path)
    finder = WhyNotFinder(model, label)
    documents = documents_for(model, paths, options, say, labelled=False, progress=False)
    write_why_not(say.reported(finder.find(documents)), output or ("table" if sys.stdout.isatty() else "tsv"))
    documents.say_notices()
    return say.finish()
