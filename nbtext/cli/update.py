"""`nbtext update`: a model learns more documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.options import (
    cluster_options,
    corpus_argument,
    input_options,
    jobs_option,
    messages,
    messages_options,
    model_option,
    reading_options,
    scheduler_of,
)
from nbtext.cli.writing import writing_options
from nbtext.errors import quantity

if TYPE_CHECKING:
    from nbtext.cli.messages import Messages
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.model.changing import Batch
    from nbtext.model.locked_model import HeldModel
    from nbtext.model.text_classifier import TextClassifier


@click.command("update", short_help="Learn more documents.")
@corpus_argument
@model_option
@click.option(
    "--once",
    is_flag=True,
    help="Learn each document once: leave out those that the model's ledger knows, and move those that it knows under another label.",
)
@writing_options
@input_options
@reading_options
@jobs_option
@cluster_options
@messages_options
def command(corpus: tuple[str, ...], model_path: str, once: bool, **options: Any) -> int:  # noqa: FBT001 - click passes it
    """Learn the documents of a corpus in addition to those that the model has learnt. New classes and new terms are welcome.

    The result is the model that training on all documents at once makes, byte for byte. Documents are read and counted as the model's
    training documents were. A model that is not made of counts alone (logistic, gaussian, --weighting log or tfidf) cannot be updated.

    Without --once a document that is learnt twice counts twice, as in training. With it the model has a ledger, a file beside it with .ledger
    after its name, of what was learnt with --once, by nbtext train --once or here. Equal texts are one document. No copy of them is kept.

    Documents are counted before the model is locked; classify and the like never wait.

    \b
    Example:
      nbtext update corpora/service-desk/test
      nbtext update corpora/service-desk/test --once --backup
    """
    from nbtext.cli.corpus import corpus_paths
    from nbtext.cli.jobs import count_with_sample
    from nbtext.cli.writing import batch_of, corpus_for, held_model, require_counted_alike, say_changed
    from nbtext.model import TextClassifier

    say = messages(options)
    scheduler = scheduler_of({**options, "once": once})
    paths = corpus_paths(corpus, options)
    model = TextClassifier.load(model_path)
    source = corpus_for(model, model_path, paths, options, say)
    batch = batch_of(model, source, options["jobs"]) if once else None
    counts = None if once else count_with_sample(model, source, options["jobs"], scheduler)
    if batch is None and counts is None:
        say.notice("there is nothing to learn")
    else:
        with held_model(model_path, options) as file:
            now = file.load()
            require_counted_alike(model, now, model_path)
            if batch is not None:
                _learn_once(now, file, *batch, say)
            elif counts is not None:
                _learn_all(now, file, counts, say)
        say_changed(model, now, model_path, say)
    source.say_notices()
    return say.finish()


def _learn_all(model: TextClassifier, file: HeldModel, counts: CorpusCounts, say: Messages) -> None:
    ledger = file.ledger_if_usable()
    file.replace(model.learn(model.counts + counts), ledger)
    if ledger is not None:
        unknown = quantity(counts.statistics.n_documents, "document")
        say.warn(f"learnt without --once, so the ledger does not know them and nbtext update --once would learn them again: {unknown}")


def _learn_once(model: TextClassifier, file: HeldModel, batch: Batch, names: list[str], say: Messages) -> None:
    from nbtext.counts.corpus_counts import NeverLearntError
    from nbtext.model.changing import learnt_once
    from nbtext.store.ledger import Ledger

    ledger = file.ledger()
    if ledger is None:
        say.warn(
            f"the model had no ledger, so {quantity(model.statistics.n_documents, 'document')} that it learnt before may be learnt again"
        )
    try:
        learnt = learnt_once(model.counts, ledger or Ledger.empty(), batch)
    except NeverLearntError as problem:
        problem.naming(names[problem.number])
        problem.hint = "the ledger says otherwise; begin a new one with nbtext train --once"
        raise
    if learnt.new or learnt.moved:
        file.replace(model.learn(learnt.counts), learnt.ledger)
    say.notice(
        f"learnt {quantity(learnt.new, 'document')}; moved from another class: {learnt.moved:,}, "
        f"known already: {learnt.known:,}, repeated: {learnt.repeated:,}"
    )
