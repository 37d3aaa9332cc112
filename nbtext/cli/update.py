"""`nbtext update`: add documents to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.shared_options import ClusterOptions, LabelledDocumentOptions
from nbtext.cli.writing import (
    ModelChangeOptions,
    ReplacementOptions,
    open_corpus_for_change,
    read_unlabelled_change,
    report_contradictory_labels,
    report_model,
)
from nbtext.errors import NoDocumentsError, format_quantity, join_names, pluralize

if TYPE_CHECKING:
    from nbtext.cli.corpus import CommandCorpus
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.model import TextClassifier
    from nbtext.model.locked_model import UpdateResult
    from nbtext.model.operations import DocumentBatch
    from nbtext.model.parallel_corpus import CountedCorpus


@declarations.option_record
class UpdateOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    skip_known: bool = declarations.common_option(
        "--skip-known",
        "Skip documents that are in the ledger of the model file. A document with a new label "
        "moves to the new label.",
        group="documents",
        old_names="--once",
    )

    choose: bool = declarations.option(
        "--choose",
        "Choose again what --quick kept. Without CORPUS, add no documents.",
        group="process",
    )


@declarations.option_record
class UpdateChangeOptions(ModelChangeOptions):
    """Options for the change of a model, with ``--new-class``."""

    new_class: bool = declarations.option(
        "--new-class",
        "Allow a class of --label that the model does not have. New classes in CORPUS need no "
        "option.",
        group="documents",
    )


@declarations.command("update")
def command(
    documents: LabelledDocumentOptions,
    options: UpdateOptions,
    change: UpdateChangeOptions,
    replacement: ReplacementOptions,
    cluster: ClusterOptions,
) -> None:
    """Add the documents of a corpus to a model, with classes and terms that the model does not have yet.

    The result is the same model, byte for byte, as training on all documents at once. Documents are
    read and counted like the training documents. Models of --classifier logistic, --classifier
    gaussian or --weighting tfidf cannot be updated, because they are not computed from counts.

    Without --skip-known, a document that is added twice counts twice. The ledger is a list in the
    model file. It has the label and a checksum of each document that train --deduplicate or update
    --skip-known added, not the text. Documents with the same text have one entry.

    With --quick, the counts are exact too, and the update takes about a third of the time. nbtext
    inspect shows how many documents the choices of training have not seen.

    Documents are counted before the model is locked. Commands that only read the model, such as
    classify, never wait.

    \b
    Examples:
      nbtext update new-letters/
      nbtext update new-letters/ --skip-known --backup
      nbtext update --label waste-collection letter.txt
      nbtext update --quick --label waste-collection letter.txt
    """
    from nbtext.cli.corpus import locate_documents
    from nbtext.document_fields import NO_TEXT
    from nbtext.model.locked_model import update
    from nbtext.model.operations import DocumentBatch

    model_path = options.model_path
    has_other_change = change.removes_old_unlabelled or options.choose
    needs_corpus = documents.has_corpus or not has_other_change
    if needs_corpus:
        documents = locate_documents(documents)
    model = shared_options.load_model(model_path)
    unlabelled = read_unlabelled_change(model, model_path, change, documents)
    unlabelled.drop_from(model)
    if not needs_corpus:
        result = update(model_path, model, None, unlabelled, **replacement.lock_settings)
        report_model(result.model, model_path, model)
        return
    source = open_corpus_for_change(
        model, model_path, documents, change.label, allows_new_class=change.new_class
    )
    try:
        counted = _count(model, source, cluster, skips_known=options.skip_known)
    except NoDocumentsError:
        messages.notify("there are no documents to add")
        source.report_notices()
        return
    result = update(
        model_path, model, counted, unlabelled, quick=change.quick, **replacement.lock_settings
    )
    _report_ledger(result, counted)
    _report_new_classes(model, result.model)
    if isinstance(counted, DocumentBatch):
        report_contradictory_labels(counted)
    # Documents without a text are not compared: equal values are expected to occur again.
    elif model.reading.text_column != NO_TEXT and messages.shows_notices():
        _report_repeated_documents(model, counted.counts)
    report_model(result.model, model_path, model)
    source.report_notices()


def _count(
    model: TextClassifier, source: CommandCorpus, cluster: ClusterOptions, *, skips_known: bool
) -> DocumentBatch | CountedCorpus:
    """Count the documents of a corpus; with ``skips_known``, note which documents they are."""
    from nbtext.model.operations import count_batch
    from nbtext.model.parallel_corpus import count_corpus

    if skips_known:
        return count_batch(model, source, cluster.jobs)
    return count_corpus(model.analysis, source, cluster.jobs, cluster.scheduler)


def _report_ledger(result: UpdateResult, counted: DocumentBatch | CountedCorpus) -> None:
    """Report the changes of the ledger with ``--skip-known``.

    Without ``--skip-known``, warn if the model has a ledger, because it lacks the added documents.
    """
    ledger_update = result.ledger_update
    if ledger_update is not None:
        if not result.had_ledger:
            n_before = format_quantity(result.n_documents_before, "document")
            messages.warn(
                f"the model had no ledger of its {n_before}; if the added documents are among "
                "them, they count twice"
            )
        messages.notify(
            f"added {format_quantity(ledger_update.n_new, 'document')}; moved from another class: "
            f"{ledger_update.n_moved:,}, already in the model: {ledger_update.n_known:,}, repeated "
            f"in the input: {ledger_update.n_repeated:,}"
        )
    elif result.had_ledger:
        n_added = format_quantity(counted.counts.table.n_documents, "document")
        messages.warn(
            f"added without --skip-known: {n_added}; nbtext update --skip-known would add the same "
            "documents again"
        )


def _report_new_classes(old_model: TextClassifier, new_model: TextClassifier) -> None:
    new_classes = sorted(set(new_model.classes) - set(old_model.classes))
    if new_classes:
        noun = pluralize(len(new_classes), "class")
        messages.notify(f"new {noun}: {join_names(new_classes, messages.MAX_LISTED)}")


def _report_repeated_documents(model: TextClassifier, added: CorpusCounts) -> None:
    """Report added documents that the model was trained on before, as far as its sample shows."""
    from nbtext.evaluation.leakage import count_sampled_leaks

    sample = model.counts.sample
    leaks = count_sampled_leaks(
        added.sample.documents.hashes, sample.documents.hashes, sample.bound
    )
    if not leaks.is_accidental:
        repeated = leaks.describe(added.labelled_statistics.n_documents)
        messages.notify(
            f"added before, and counted twice now: {repeated}; to skip them, train with "
            "--deduplicate and update with --skip-known"
        )
