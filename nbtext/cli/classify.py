"""`nbtext classify`: one answer for each document."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.options import corpus_argument, given, messages, messages_options, model_option, output_option, reading_options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.model.answers import Answer


@click.command("classify", short_help="Answer each document with its class and probability.")
@corpus_argument
@model_option
@output_option("tsv", "csv", "jsonl", "table", help_text="Default: table on a terminal, else tsv (document, class, probability).")
@reading_options
@messages_options
def command(corpus: tuple[str, ...], model_path: str, output: str | None, **options: Any) -> int:
    """Print the most probable class of each document and its probability, exactly one record per document, in order.

    CORPUS is any number of files and directories, or - for one document on standard input. Documents are read as the model's training
    documents were unless options say otherwise. Where there is no answer the class is empty and the third column says why.

    \b
    Example:
      nbtext classify letter.txt inbox/
      nbtext classify - < letter.txt
      nbtext classify messages.txt --format lines --output jsonl
    """
    from nbtext.cli.corpus import Corpus
    from nbtext.cli.messages import counted
    from nbtext.model import TextClassifier
    from nbtext.model.answers import answers
    from nbtext.parameters import READING

    say = messages(options)
    model = TextClassifier.load(model_path)
    documents = Corpus(corpus, {**model.reading, **given(READING, options)}, say, labelled=False)
    without_terms = 0

    def noticed() -> Iterable[Answer]:
        nonlocal without_terms
        for answer in answers(model, documents):
            without_terms += answer.notice is not None
            if answer.problem is not None:
                say.document_failed(answer.id, answer.problem)
            yield answer

    write_answers(noticed(), output or ("table" if sys.stdout.isatty() else "tsv"))
    documents.say_notices()
    if without_terms:
        say.notice(f"no term that the model knows, so the answer is the class prior's: {counted(without_terms)}")
    return say.finish()


def write_answers(stream: Iterable[Answer], output: str) -> None:
    """Print answers in the form wanted."""
    from nbtext.report import records
    from nbtext.report.answers import COLUMNS, fields, record

    if output == "table":
        from nbtext.report.tables import print_table

        print_table(None, COLUMNS, map(fields, stream), numeric=[2])
    elif output == "jsonl":
        for answer in stream:
            sys.stdout.write(records.json_line(record(answer)))
    else:
        line = records.tsv if output == "tsv" else records.csv_line
        if output == "csv":
            sys.stdout.write(line(COLUMNS))
        for answer in stream:
            sys.stdout.write(line(fields(answer)))
