"""`nbtext forget`: remove documents from a model."""

from __future__ import annotations

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.shared_options import JobOptions, RelabelledDocumentOptions
from nbtext.cli.writing import (
    ModelChangeOptions,
    ReplacementOptions,
    open_corpus_for_change,
    read_unlabelled_change,
    report_model,
)
from nbtext.errors import NoDocumentsError, format_quantity


@declarations.option_record
class ForgetOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    skip_unknown: bool = declarations.common_option(
        "--skip-unknown",
        "Skip documents that are not in the ledger, so that a job can be repeated.",
        group="documents",
        old_names="--once",
    )


@declarations.command("forget")
def command(
    documents: RelabelledDocumentOptions,
    options: ForgetOptions,
    change: ModelChangeOptions,
    replacement: ReplacementOptions,
    processes: JobOptions,
) -> None:
    """Remove the documents of a corpus from a model. Each document needs the label with which it was added.

    The model then has exactly the counts of the remaining documents. Terms and classes without
    documents disappear. The removed documents are also removed from the sample (the training
    documents that the model keeps), and from the ledger (the list of documents added with nbtext
    update --skip-known). A document that was added twice must be removed twice.

    If a document was never added, the command names the document and removes nothing. In a model
    that keeps all training documents (at most 4,096), the command always notices this; in a larger
    model, only if a count would become negative.

    \b
    Examples:
      nbtext forget withdrawn.csv --model topics.joblib
    """
    from nbtext.cli.corpus import locate_documents
    from nbtext.model.locked_model import forget
    from nbtext.model.operations import count_batch

    documents = locate_documents(documents)
    model_path = options.model_path
    model = shared_options.load_model(model_path)
    unlabelled = read_unlabelled_change(model, model_path, change, documents)
    unlabelled.drop_from(model)
    # `forget` itself reports documents of classes that the model does not have.
    source = open_corpus_for_change(
        model, model_path, documents, change.label, allows_new_class=True
    )
    try:
        batch = count_batch(model, source, processes.jobs)
    except NoDocumentsError:
        messages.notify("there are no documents to remove")
    else:
        result = forget(
            model_path,
            model,
            batch,
            unlabelled,
            skip_unknown=options.skip_unknown,
            quick=change.quick,
            **replacement.lock_settings,
        )
        suffix = f"; not in the model: {result.n_unknown:,}" if options.skip_unknown else ""
        messages.notify(f"forgot {format_quantity(result.n_removed, 'document')}{suffix}")
        report_model(result.model, model_path, model)
    source.report_notices()
