"""`nbtext tokens`: show what the analyzer does to a text."""

from __future__ import annotations

from typing import Any

from nbtext.cli import option, panels


@panels.command("tokens")
@option.asked_options
@panels.option(
    "--no-model", "model",
    "Analyse words by the options given here, without a model. There are then no term ids, and no term is unknown.",
    hidden=True,
)  # fmt: skip
@option.analysis_options
@option.rows_option()
@option.document_options
def command(model_path: str, output: str, **options: Any) -> None:
    """Print how each word of a document becomes a term, or why it is ignored.

    For each word there are its place, the word as written, the word that was analysed, its stem, the id of that term in the model, and the reason
    if it does not count: no-letters-or-digits, too-short, too-long, encoded-line, stop-word, not-in-model or not-selected.

    With --model none words are analysed by the options given here. There are then no term ids, and no term is unknown.

    Documents are read like those of training unless options say otherwise. Places are bytes of the text in UTF-8, after reading; fields follow it
    as lines. N-grams are listed with their first word; in the table those that do not count are in brackets. TSV has a line for each word,
    n-gram and character n-gram: document, start, end, kind, form, word, term, term id, dropped.

    \b
    Examples:
      nbtext tokens letter.txt
      nbtext tokens --text "my bin is full"
      nbtext tokens --model none --ngrams 2 --output jsonl - < letter.txt
    """
    from nbtext.cli.corpus import CommandCorpus, analysis_of, corpus_paths, reading_of
    from nbtext.corpus.reading import resolved
    from nbtext.explain.word_walk import WordWalker
    from nbtext.report.explanations import write_tokens

    paths = corpus_paths(options)
    if options["no_model"] or model_path == "none":
        reading = resolved(option.given_reading(options), paths, labelled=False)
        walker = WordWalker(analysis_of(options, reading))
    else:
        model = option.load_model(model_path)
        walker, reading = WordWalker.of_model(model.fitted), reading_of(model, paths, options)
    documents = CommandCorpus(paths, reading, options, labelled=False, progress=False)
    write_tokens(
        ((document.id, walker.tokens(document.text, document.fields, document.values)) for document in documents.readable()), output
    )
    documents.say_notices()
