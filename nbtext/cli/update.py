"""`nbtext update`: learn more documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.shared_options import ClusterOptions, LabelledDocumentOptions
from nbtext.cli.writing import (
    ModelChangeOptions,
    WritingOptions,
    open_corpus_for_change,
    read_unlabelled_change,
    report_model,
    report_overruled_labels,
)
from nbtext.errors import NoDocumentsError, format_quantity, join_names, pluralize
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.model import TextClassifier
    from nbtext.model.locked_model import UpdateResult
    from nbtext.model.operations import DocumentBatch
    from nbtext.model.parallel_corpus import CountedCorpus


@dataclass(frozen=True, kw_only=True)
class UpdateOptions:
    """The options of this command alone."""

    model_path: str = shared_options.model_field()
    once: bool = declarations.common_option(
        "--once",
        "documents",
        "Skip documents that the model has learnt already. The ledger in the model file remembers "
        "them. A document whose label changed moves to the new one.",
    )


@dataclass(frozen=True, kw_only=True)
class LearningOptions(ModelChangeOptions):
    """What the model learns or forgets, new classes included."""

    new_class: bool = declarations.option(
        "--new-class", "documents", "Let --label name a class that the model does not have yet."
    )


@declarations.command("update")
def command(
    documents: LabelledDocumentOptions,
    options: UpdateOptions,
    learning: LearningOptions,
    writing: WritingOptions,
    running: ClusterOptions,
) -> None:
    """Add the documents of a corpus to a model, new classes and new terms included.

    The result is the model that training on all documents at once makes, byte for byte. Documents are read and counted like those of training.
    A model that does not follow from counts alone (logistic, gaussian, --weighting tfidf) cannot be updated.

    Without --once a document that is learnt twice counts twice, as in training. With --once the model file has a ledger of what was learnt with --once,
    by nbtext train --once or here. Equal texts are one document. The ledger holds no copy of them.

    Documents are counted before the model is locked. classify and other commands that read the model never wait.

    \b
    Examples:
      nbtext update corpora/service-desk/test
      nbtext update corpora/service-desk/test --once --backup
      nbtext update --label waste-collection letter.txt
    """
    from nbtext.cli.corpus import locate_documents
    from nbtext.document_fields import NO_TEXT
    from nbtext.model.locked_model import update
    from nbtext.model.operations import DocumentBatch, count_batch
    from nbtext.model.parallel_corpus import count_corpus

    model_path = options.model_path
    without_corpus = not documents.has_corpus and (learning.unlabelled or learning.drop_unlabelled)
    if not without_corpus:
        documents = locate_documents(documents)
    model = shared_options.load_model(model_path)
    unlabelled = read_unlabelled_change(model, model_path, learning, documents)
    if without_corpus:
        updated = update(model_path, model, None, unlabelled, **writing.lock_settings)
        report_model(updated.model, model_path, model)
        return
    source = open_corpus_for_change(
        model, model_path, documents, learning.label, allows_new_class=learning.new_class
    )
    counted: DocumentBatch | CountedCorpus
    try:
        if options.once:
            counted = count_batch(model, source, running.jobs)
        else:
            counted = count_corpus(model.analysis, source, running.jobs, running.scheduler)
    except NoDocumentsError:
        messages.notify("there is nothing to learn")
        source.report_notices()
        return
    updated = update(model_path, model, counted, unlabelled, **writing.lock_settings)
    _say_learnt(updated, counted)
    if new := sorted({*map(str, updated.model.classes)} - {*map(str, model.classes)}):
        messages.notify(
            f"new {pluralize(len(new), 'class')}: {join_names(new, messages.MAX_LISTED)}"
        )
    if isinstance(counted, DocumentBatch):
        report_overruled_labels(counted)
    elif (
        model.reading.text_column != NO_TEXT and messages.shows_notices()
    ):  # values without a text come again anyway
        _say_learnt_before(model, counted.counts)
    report_model(updated.model, model_path, model)
    source.report_notices()


def _say_learnt(updated: UpdateResult, counted: DocumentBatch | CountedCorpus) -> None:
    """Say what was learnt with ``--once``, or that the ledger does not know what was learnt without it."""
    if (learnt := updated.ledger_update) is not None:
        if not updated.had_ledger:
            before = format_quantity(updated.n_documents_before, "document")
            messages.warn(
                f"the model had no ledger, so {before} that it learnt before may be learnt again"
            )
        messages.notify(
            f"learnt {format_quantity(learnt.n_new, 'document')}; moved from another class: "
            f"{learnt.n_moved:,}, "
            f"known already: {learnt.n_known:,}, repeated: {learnt.n_repeated:,}"
        )
    elif updated.had_ledger:
        added = format_quantity(counted.counts.table.n_documents, "document")
        messages.warn(
            "learnt without --once, so the ledger does not know them and nbtext update --once "
            f"would learn them again: {added}"
        )


def _say_learnt_before(model: TextClassifier, more: CorpusCounts) -> None:
    """Say if the sample of the model has documents that were learnt now."""
    from nbtext.evaluation.leakage import count_sampled_leaks

    sample = model.counts.sample
    found = count_sampled_leaks(more.sample.documents.hashes, sample.documents.hashes, sample.bound)
    if not found.is_accidental:
        documents = found.describe(more.labelled_statistics.n_documents)
        messages.notify(
            f"learnt before, and counted twice now: {documents}; use --once, here and in training, "
            "to skip them"
        )
