"""`nbtext forget`: take documents out of a model."""

from __future__ import annotations

from typing import Any

import click

from nbtext.cli.options import corpus_argument, input_options, jobs_option, messages, messages_options, model_option, reading_options
from nbtext.cli.writing import corpus_to_change, lock_settings, say_model, writing_options
from nbtext.errors import quantity


@click.command("forget", short_help="Take documents out of the model.")
@corpus_argument
@model_option
@click.option("--once", is_flag=True, help="Leave out documents that the model's ledger does not know, or does not know any more.")
@writing_options
@input_options
@reading_options
@jobs_option
@messages_options
def command(corpus: tuple[str, ...], model_path: str, once: bool, **options: Any) -> int:  # noqa: FBT001 - click passes it
    """Take the documents of a corpus, labelled as they were learnt, out of the model and out of its sample of documents.

    The statistics are then exactly those of the other documents; terms and classes of which nothing is left go. If a document was never
    learnt, it is named and nothing is forgotten: for a model with no more documents than its sample holds (4,096) that is certain, for a
    larger one it shows only if the counts would fall below zero. A document that was learnt twice is to be forgotten twice.

    The ledger that nbtext update --once keeps is followed up. With --once here a job that is run again is no error.

    \b
    Example:
      nbtext update corpora/service-desk/test && nbtext forget corpora/service-desk/test
    """
    from nbtext.cli.corpus import corpus_paths
    from nbtext.model import TextClassifier
    from nbtext.model.changing import count_batch
    from nbtext.model.locked_model import forget

    say = messages(options)
    paths = corpus_paths(corpus, options)
    model = TextClassifier.load(model_path)
    source = corpus_to_change(model, model_path, paths, options, say)
    batch = count_batch(model, source, options["jobs"])
    if batch is None:
        say.notice("there is nothing to forget")
    else:
        forgot = forget(model_path, model, batch, once=once, **lock_settings(options))
        say.notice(f"forgot {quantity(forgot.forgotten, 'document')}" + (f"; not known: {forgot.unknown:,}" if once else ""))
        say_model(forgot.model, model_path, say, model)
    source.say_notices()
    return say.finish()
