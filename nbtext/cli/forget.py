"""`nbtext forget`: documents are taken out of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.options import corpus_argument, input_options, jobs_option, messages, messages_options, model_option, reading_options
from nbtext.cli.writing import writing_options
from nbtext.errors import UsageError, quantity

if TYPE_CHECKING:
    from nbtext.cli.messages import Messages
    from nbtext.model.changing import Batch
    from nbtext.model.locked_model import HeldModel
    from nbtext.model.text_classifier import TextClassifier


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
    from nbtext.cli.writing import batch_of, corpus_for, held_model, require_counted_alike, say_changed
    from nbtext.counts.corpus_counts import NeverLearntError
    from nbtext.model import TextClassifier

    say = messages(options)
    paths = corpus_paths(corpus, options)
    model = TextClassifier.load(model_path)
    source = corpus_for(model, model_path, paths, options, say)
    found = batch_of(model, source, options["jobs"])
    if found is None:
        say.notice("there is nothing to forget")
    else:
        batch, names = found
        with held_model(model_path, options) as file:
            now = file.load()
            require_counted_alike(model, now, model_path)
            try:
                (_forget_once if once else _forget)(now, file, batch, say)
            except NeverLearntError as problem:
                raise problem.naming(names[problem.number]) from None
        say_changed(model, now, model_path, say)
    source.say_notices()
    return say.finish()


def _forget(model: TextClassifier, file: HeldModel, batch: Batch, say: Messages) -> None:
    from nbtext.counts.corpus_counts import forget_documents
    from nbtext.model.changing import forgotten

    counts = forget_documents(model.counts, batch.statistics, batch.documents)
    ledger = file.ledger_if_usable()
    file.replace(model.learn(counts), None if ledger is None else forgotten(ledger, batch))
    say.notice(f"forgot {quantity(len(batch.documents), 'document')}")


def _forget_once(model: TextClassifier, file: HeldModel, batch: Batch, say: Messages) -> None:
    from nbtext.model.changing import forgotten_once

    ledger = file.ledger()
    if ledger is None:
        raise UsageError("the model has no ledger", where=file.path, hint="forget without --once")
    result = forgotten_once(model.counts, ledger, batch)
    if result.forgotten:
        file.replace(model.learn(result.counts), result.ledger)
    say.notice(f"forgot {quantity(result.forgotten, 'document')}; not known: {result.unknown:,}")
