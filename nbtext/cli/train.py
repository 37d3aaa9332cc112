"""`nbtext train`: labelled documents to a model file."""

from __future__ import annotations

import time
from typing import Any

import click

from nbtext.cli.options import corpus_argument, given, input_options, messages, messages_options, model_option, training_options


@click.command("train", short_help="Learn classes from labelled documents.")
@corpus_argument
@model_option
@input_options
@training_options
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
    from nbtext.classifiers.class_prior import read_class_prior
    from nbtext.cli.corpus import Corpus, corpus_paths, on_error, require_distinct
    from nbtext.corpus.reading import resolved
    from nbtext.model import TextClassifier
    from nbtext.parameters import READING, TRAINING, checked
    from nbtext.store import check_replaceable

    begin = time.monotonic()
    say = messages(options)
    corpus = corpus_paths(corpus, options)
    reading = resolved(checked(READING, given(READING, options)), corpus, labelled=True)
    options["class_prior"] = read_class_prior(options["class_prior"])
    model = TextClassifier(**given(TRAINING, options))
    model.reading = reading
    check_replaceable(model_path)
    require_distinct(model_path, corpus)
    documents = Corpus(corpus, reading, say, labelled=True, on_error=on_error(options))
    model.fit_stream((document.label or "", document.text) for document in documents.readable())
    model.save(model_path)
    documents.say_notices()
    for warning in model.warnings():
        say.warn(warning)
    say.notice(f"{model_path}: {model.describe()}, {time.monotonic() - begin:.1f} s")
    return say.finish()
