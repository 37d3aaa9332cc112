"""`nbtext update`: learn more documents."""

from __future__ import annotations

from typing import Any

from nbtext.cli import messages, option, panels
from nbtext.cli.writing import (
    corpus_to_change,
    lock_settings,
    relearning_options,
    say_model,
    say_overruled,
    what_becomes_of_unlabelled,
    writing_options,
)
from nbtext.errors import NoDocumentsError, listed, plural, quantity


@panels.command("update")
@option.labelled_corpus_options
@option.model_option
@panels.common_option(
    "--once", "documents",
    "Skip documents that the model has learnt already. The ledger in the model file remembers them. A document whose label changed moves to the new one.",
)  # fmt: skip
@relearning_options
@panels.option("--new-class", "documents", "Let --label name a class that the model does not have yet.")
@writing_options
@option.jobs_option
@option.cluster_options
@option.document_options
def command(model_path: str, **options: Any) -> None:
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
    from nbtext.cli.corpus import corpus_paths, names_documents
    from nbtext.document_parts import NO_TEXT
    from nbtext.model.changing import Batch, count_batch
    from nbtext.model.corpus_work import count_corpus
    from nbtext.model.locked_model import update

    without_corpus = not names_documents(options) and (options["unlabelled"] or options["drop_unlabelled"])
    paths, jobs = () if without_corpus else corpus_paths(options), options["jobs"]
    model = option.load_model(model_path)
    unlabelled = what_becomes_of_unlabelled(model, model_path, options)
    if without_corpus:
        updated = update(model_path, model, None, unlabelled, **lock_settings(options))
        say_model(updated.model, model_path, model)
        return
    source = corpus_to_change(model, model_path, paths, options)
    try:
        counted = count_batch(model, source, jobs) if options["once"] else count_corpus(model.analysis, source, jobs, options["scheduler"])
    except NoDocumentsError:
        messages.notice("there is nothing to learn")
        source.say_notices()
        return
    updated = update(model_path, model, counted, unlabelled, **lock_settings(options))
    if (learnt := updated.learnt) is not None:
        if not updated.had_ledger:
            before = quantity(updated.documents_before, "document")
            messages.warn(f"the model had no ledger, so {before} that it learnt before may be learnt again")
        messages.notice(
            f"learnt {quantity(learnt.new, 'document')}; moved from another class: {learnt.moved:,}, "
            f"known already: {learnt.known:,}, repeated: {learnt.repeated:,}"
        )
    elif updated.had_ledger:
        added = quantity(counted.counts.statistics.n_documents, "document")
        messages.warn(f"learnt without --once, so the ledger does not know them and nbtext update --once would learn them again: {added}")
    if new := sorted({*map(str, updated.model.classes)} - {*map(str, model.classes)}):
        messages.notice(f"new {plural(len(new), 'class')}: {listed(new, messages.SHOWN)}")
    if isinstance(counted, Batch):
        say_overruled(counted)
    elif model.reading.text_column != NO_TEXT and messages.shows_notices():  # values without a text come again anyway
        from nbtext.evaluation.leakage import sampled_leaks

        sample, more = model.counts.sample, counted.counts
        found = sampled_leaks(more.sample.documents.hashes, sample.documents.hashes, sample.bound)
        if not found.is_accidental:
            messages.notice(
                f"learnt before, and counted twice now: {found.of(more.labelled.n_documents)}; use --once, here and in training, to skip them"
            )
    say_model(updated.model, model_path, model)
    source.say_notices()
