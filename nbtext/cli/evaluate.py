"""`nbtext evaluate`: how good the model's answers are on documents whose classes are known."""

from __future__ import annotations

import sys
from typing import Any

import click

from nbtext.cli.messages import SHOWN
from nbtext.cli.options import corpus_argument, input_options, messages, messages_options, model_option, output_option, reading_options


@click.command("evaluate", short_help="Judge the model on documents whose classes are known.")
@corpus_argument
@model_option
@output_option("table", "json", help_text="Default: table.")
@input_options
@reading_options
@messages_options
def command(corpus: tuple[str, ...], model_path: str, output: str | None, **options: Any) -> int:
    """Classify documents whose classes are known and print how often and how confidently the model is right.

    CORPUS is laid out like a training corpus. Labels that the model does not know count as mistakes and are named.

    \b
    Example:
      nbtext evaluate corpora/service-desk/test
      nbtext evaluate test.csv --model topics.joblib --output json
    """
    from nbtext.cli.corpus import Corpus, corpus_paths, on_error, reading_of
    from nbtext.model import TextClassifier
    from nbtext.model.judging import judge

    say = messages(options)
    model = TextClassifier.load(model_path)
    paths = corpus_paths(corpus, options)
    documents = Corpus(paths, reading_of(model, paths, options), say, labelled=True, on_error=on_error(options))
    summary = judge(model, documents.readable()).summary()
    documents.say_notices()
    if summary["unknown_labels"]:
        unknown = summary["unknown_labels"]
        say.warn(f"the model does not know the labels {', '.join(unknown[:SHOWN])}{' and others' if len(unknown) > SHOWN else ''}")
    if output == "json":
        from nbtext.report.records import json_line

        sys.stdout.write(json_line(summary))
    else:
        from nbtext.report.evaluation import print_evaluation

        print_evaluation(summary)
    return say.finish()
