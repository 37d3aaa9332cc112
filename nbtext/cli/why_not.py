"""`nbtext why-not`: find the words that keep a document from another answer."""

from __future__ import annotations

from typing import Unpack

import click

from nbtext.cli import options as option
from nbtext.cli import panels


@panels.command("why-not")
@click.argument("label", metavar="LABEL", shell_complete=option.suggest_classes)
@option.corpus_argument
@option.text_option
@option.model_option
@option.output_option("table", "tsv", "csv", "jsonl", default=option.BY_TERMINAL)
@option.document_options
def command(label: str, corpus: tuple[str, ...], model_path: str, output: str | None, **options: Unpack[option.Options]) -> int:
    """Print which words to remove from a document, or to add, to make LABEL its answer.

    The words to remove are the fewest that suffice, and so are the terms to add. A word is removed with all its occurrences; terms are appended
    to the text, as the model knows them. Both results are checked by scoring the changed document. Documents are read as classify reads them.

    Where scores are sums over words (multinomial and complement on counts, and without n-grams mostly bernoulli and dirichlet-multinomial) the
    fewest words are found by branch and bound; elsewhere sets of words are tried. The output says if a smaller set cannot be ruled out, and if
    no set would do. A tie does not make LABEL the answer. Costs and thresholds are ignored: the answer is the most probable class. Attributes
    besides the text stay as they are.

    TSV has a line for each word: document, answer, LABEL, remove, add or none, word, how often it is added, the probability of LABEL then, and
    smallest, perhaps-not-smallest, none, none-found or why nothing was searched (answered-so, no-prior, impossible).

    \b
    Examples:
      nbtext why-not taxes-and-fees letter.txt
      nbtext why-not roads-and-lighting inbox/ --output jsonl
      nbtext why-not roads-and-lighting --text "my bin is full"
    """
    from nbtext.cli.corpus import corpus_paths, documents_for
    from nbtext.explain.counterfactual import WhyNotFinder
    from nbtext.model import TextClassifier
    from nbtext.report.explanations import write_why_not

    say = option.messages(options)
    paths = corpus_paths(corpus, options)
    model = TextClassifier.load(model_path)
    finder = WhyNotFinder(model, label)
    documents = documents_for(model, paths, options, say, labelled=False, progress=False)
    write_why_not(say.reported(finder.find(documents)), option.row_form(output))
    documents.say_notices()
    return say.finish()
