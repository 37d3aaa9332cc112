"""`nbtext forget`: take documents out of a model."""

from __future__ import annotations

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.shared_options import RelabelledDocuments, RunningOptions
from nbtext.cli.writing import (
    RelearningOptions,
    WritingOptions,
    corpus_to_change,
    say_model,
    what_becomes_of_unlabelled,
)
from nbtext.errors import NoDocumentsError, quantity
from nbtext.fast_dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ForgetOptions:
    """The options of this command alone."""

    model_path: str = shared_options.model_field()
    once: bool = declarations.common_option(
        "--once",
        "documents",
        "Skip documents that the ledger does not have. So the same job can run again.",
    )


@declarations.command("forget")
def command(
    documents: RelabelledDocuments,
    options: ForgetOptions,
    relearning: RelearningOptions,
    writing: WritingOptions,
    running: RunningOptions,
) -> None:
    """Remove the documents of a corpus from a model, labelled as they were learnt.

    The counts are then exactly those of the other documents, and the sample of documents loses them too. Terms and classes without documents disappear.
    If a document was never learnt, the command names it and forgets nothing. For a model with no more documents than its sample holds (4,096)
    this is certain; for a larger model it is found only if a count would fall below zero. A document that was learnt twice must be forgotten
    twice.

    The ledger of nbtext update --once is changed as well.

    \b
    Examples:
      nbtext forget withdrawn.csv --model topics.joblib
    """
    from nbtext.cli.corpus import located
    from nbtext.model.locked_model import forget
    from nbtext.model.operations import count_batch

    documents = located(documents)
    model_path = options.model_path
    model = shared_options.load_model(model_path)
    unlabelled = what_becomes_of_unlabelled(model, model_path, relearning, documents)
    source = corpus_to_change(model, model_path, documents, relearning.label, may_be_new=True)
    try:
        batch = count_batch(model, source, running.jobs)
    except NoDocumentsError:
        messages.notice("there is nothing to forget")
    else:
        forgot = forget(model_path, model, batch, unlabelled, once=options.once, **writing.lock)
        unknown = f"; not known: {forgot.unknown:,}" if options.once else ""
        messages.notice(f"forgot {quantity(forgot.forgotten, 'document')}{unknown}")
        say_model(forgot.model, model_path, model)
    source.say_notices()
