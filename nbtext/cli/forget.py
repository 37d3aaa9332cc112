"""`nbtext forget`: take documents out of a model."""

from __future__ import annotations

from typing import Any

from nbtext.cli import messages, option, panels
from nbtext.cli.writing import corpus_to_change, lock_settings, relearning_options, say_model, what_becomes_of_unlabelled, writing_options
from nbtext.errors import NoDocumentsError, quantity


@panels.command("forget")
@option.corpus_argument
@option.relabel_option
@option.model_option
@panels.common_option("--once", "documents", "Skip documents that the ledger does not have. So the same job can run again.")
@relearning_options
@writing_options
@option.jobs_option
@option.document_options
def command(model_path: str, **options: Any) -> None:
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
    from nbtext.cli.corpus import corpus_paths
    from nbtext.model.changing import count_batch
    from nbtext.model.locked_model import forget

    paths = corpus_paths(options)
    model = option.load_model(model_path)
    unlabelled = what_becomes_of_unlabelled(model, model_path, options)
    source = corpus_to_change(model, model_path, paths, options)
    try:
        batch = count_batch(model, source, options["jobs"])
    except NoDocumentsError:
        messages.notice("there is nothing to forget")
    else:
        forgot = forget(model_path, model, batch, unlabelled, once=options["once"], **lock_settings(options))
        messages.notice(
            f"forgot {quantity(forgot.forgotten, 'document')}" + (f"; not known: {forgot.unknown:,}" if options["once"] else "")
        )
        say_model(forgot.model, model_path, model)
    source.say_notices()
