"""`nbtext train`: labelled documents to a model file."""

from __future__ import annotations

import time
from typing import Any

import click

from nbtext.cli.options import (
    cluster_options,
    corpus_argument,
    given,
    input_options,
    jobs_option,
    messages,
    messages_options,
    model_option,
    scheduler_of,
    training_options,
)
from nbtext.cli.writing import writing_options
from nbtext.errors import quantity


@click.command("train", short_help="Learn classes from labelled documents.")
@corpus_argument
@model_option
@click.option(
    "--once",
    is_flag=True,
    help="Learn equal documents once, under the last of their labels, and begin a ledger of them beside the model, for nbtext update --once.",
)
@writing_options
@input_options
@training_options
@jobs_option
@cluster_options
@messages_options
def command(corpus: tuple[str, ...], model_path: str, **options: Any) -> int:
    """Learn the classes of labelled documents and write a model.

    CORPUS is a directory with one sub-directory per class, a table, or in another format (see --format); several are read as one. The model is replaced as a
    whole when all is done; until then, and if anything fails, the old one stays.

    \b
    Example:
      nbtext train corpora/service-desk/train
      nbtext train messages.csv --label-column topic --text-column body --model topics.joblib
    """
    from nbtext.cli.corpus import Corpus, corpus_paths, on_error, require_distinct
    from nbtext.cli.jobs import learn
    from nbtext.cli.writing import train_once, write_anew
    from nbtext.corpus.reading import resolved
    from nbtext.counts.counting import require_words
    from nbtext.model import TextClassifier
    from nbtext.model.training import looked_up
    from nbtext.settings import READING, TRAINING, checked
    from nbtext.store import check_replaceable

    begin = time.monotonic()
    say = messages(options)
    scheduler = scheduler_of(options)
    corpus = corpus_paths(corpus, options)
    reading = resolved(checked(READING, given(READING, options)), corpus, labelled=True)
    model = TextClassifier(**given(TRAINING, options))
    model.reading = reading
    require_words(model.parameters, reading)
    looked_up(model.parameters, model.stop_list, reading)  # raises now what it would raise when all is counted
    check_replaceable(model_path)
    require_distinct(model_path, corpus)
    documents = Corpus(corpus, reading, say, labelled=True, on_error=on_error(options))
    ledger = train_once(model, documents, options["jobs"]) if options["once"] else None
    if ledger is None:
        learn(model, documents, options["jobs"], scheduler)
    write_anew(lambda: model, model_path, options, say, ledger)
    documents.say_notices()
    if missed := model.counts.missed:
        say.notice(f"terms were left out to keep to --max-terms; counts of the others may be too low by {quantity(missed, 'document')}")
    for warning in model.warnings():
        say.warn(warning)
    say.notice(f"{model_path}: {model.describe()}, {time.monotonic() - begin:.1f} s")
    return say.finish()
