"""`nbtext train`: train a model on labelled documents, and write it to a file."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtext.cli import declarations, shared_options
from nbtext.cli.shared_options import ClusterOptions, TrainingDocumentOptions, TrainingOptions
from nbtext.cli.writing import (
    ReplacementOptions,
    SemiSupervisionOptions,
    read_unlabelled,
    report_contradictory_labels,
    report_model,
    write_new_model,
)

if TYPE_CHECKING:
    from nbtext.cli.corpus import CommandCorpus
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.statistics import SeedTerm
    from nbtext.model import TextClassifier
    from nbtext.model.unlabelled import UnlabelledDocuments
    from nbtext.store.ledger import Ledger


@declarations.option_record
class TrainOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    deduplicate: bool = declarations.option(
        "--deduplicate",
        "Count equal documents once, with the label that is read last (folders are read in "
        "alphabetical order). The ledger, a list in the model file, then has a fingerprint (a "
        "checksum) of each document, for nbtext update --skip-known.",
        group="documents",
        old_names="--once",
    )


@declarations.command("train")
def command(
    documents: TrainingDocumentOptions,
    options: TrainOptions,
    replacement: ReplacementOptions,
    cluster: ClusterOptions,
    training: TrainingOptions,
    supervision: SemiSupervisionOptions,
) -> None:
    """Train a model on labelled documents and write it to a file.

    CORPUS is a directory with one sub-directory per class, a table, or another layout of --format.
    Several CORPUS arguments are read as one corpus. The new model replaces the old model only when
    complete; if the command stops with an error, the old model stays. Unreadable documents alone do
    not stop it (--on-error).

    \b
    Examples:
      nbtext train corpora/service-desk/train
      nbtext train messages.csv --label-column topic --model topics.joblib
    """
    from nbtext.cli.corpus import (
        CommandCorpus,
        locate_documents,
        make_untrained_model,
        require_distinct_output,
    )
    from nbtext.counts.statistics import require_seeded_classes
    from nbtext.store.atomic import check_replaceable

    start = time.monotonic()
    # With seed words and unlabelled documents, a model needs no labelled documents.
    has_supervision = supervision.seeds is not None and bool(supervision.unlabelled)
    is_seeded_only = has_supervision and not documents.has_corpus
    seeds = _read_seeds(supervision.seeds, is_seeded_only=is_seeded_only)
    if is_seeded_only:
        # The format of the unlabelled documents is detected instead.
        documents = replace(documents, paths=supervision.unlabelled)
    else:
        documents = locate_documents(documents)
    check_replaceable(options.model_path)
    require_distinct_output(options.model_path, documents.paths)
    chooses_weighting = _chooses_weighting(training, supervision)
    settings = training.settings
    if chooses_weighting:
        # Counting for log also keeps the sums for the other weightings that may be chosen.
        settings = settings.with_raw_values(weighting="log")
    model, _ = make_untrained_model(documents, settings, labelled=not is_seeded_only)
    if seeds:
        model.begin_with(seeds)
    unlabelled = read_unlabelled(model, options.model_path, supervision.unlabelled, documents)
    if is_seeded_only:
        model.learn(pool=unlabelled)
        write_new_model(model, options.model_path, replacement)
    else:
        source = CommandCorpus(documents, model.reading, labelled=True)
        counts, ledger = _count(model, source, cluster, deduplicate=options.deduplicate)
        model = _train(model, counts, unlabelled, chooses_weighting=chooses_weighting)
        require_seeded_classes(seeds, model.classes)
        write_new_model(model, options.model_path, replacement, ledger)
        source.report_notices()
    report_model(model, options.model_path, details=f"; {time.monotonic() - start:.1f} s")


def _read_seeds(path: str | None, *, is_seeded_only: bool) -> list[SeedTerm]:
    """Return the seed words of ``--seeds``, or an empty list without that option."""
    from nbtext.cli.option_files import read_seeds

    if path is None:
        return []
    # A corpus can have further classes, without seed words.
    min_classes = 2 if is_seeded_only else 1
    return read_seeds(path, min_classes)


def _chooses_weighting(training: TrainingOptions, supervision: SemiSupervisionOptions) -> bool:
    """Return True if the weighting is chosen on held-out documents.

    This is so with unlabelled documents, unless an option sets the weighting or the classifier.
    """
    settings = training.settings
    is_weighting_given = "weighting" in settings or "classifier" in settings
    return bool(supervision.unlabelled) and not is_weighting_given


def _count(
    model: TextClassifier, source: CommandCorpus, cluster: ClusterOptions, *, deduplicate: bool
) -> tuple[CorpusCounts, Ledger | None]:
    """Return the counts of the corpus, and the ledger of its documents.

    With ``deduplicate`` equal documents are counted only once. Without it the ledger is None.
    """
    if deduplicate:
        from nbtext.model.operations import count_batch, remove_duplicates

        batch = count_batch(model, source, cluster.jobs)
        report_contradictory_labels(batch)
        return remove_duplicates(batch)
    from nbtext.model.parallel_corpus import count_corpus

    counted = count_corpus(model.analysis, source, cluster.jobs, cluster.scheduler)
    return counted.counts, None


def _train(
    model: TextClassifier,
    counts: CorpusCounts,
    unlabelled: UnlabelledDocuments | None,
    *,
    chooses_weighting: bool,
) -> TextClassifier:
    """Return the model trained on counts of labelled documents, and on unlabelled documents.

    With ``chooses_weighting`` this is a new model, whose weighting is chosen on held-out documents.
    Without ``chooses_weighting`` this is ``model`` itself, which is trained in place.
    """
    if unlabelled is not None and chooses_weighting:
        from nbtext.model.operations import train_with_best_weighting

        return train_with_best_weighting(model, counts, unlabelled)
    model.learn(counts, unlabelled)
    return model
