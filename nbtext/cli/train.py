"""`nbtext train`: make a model file from labelled documents."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtext.cli import declarations, shared_options
from nbtext.cli.shared_options import ClusterOptions, TrainingDocumentOptions, TrainingOptions
from nbtext.cli.writing import (
    SemiSupervisionOptions,
    WritingOptions,
    read_unlabelled,
    report_model,
    report_overruled_labels,
    write_new_model,
)
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from nbtext.cli.corpus import CommandCorpus
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.model import TextClassifier
    from nbtext.model.unlabelled import UnlabelledDocuments
    from nbtext.store.ledger import Ledger


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The options of this command alone."""

    model_path: str = shared_options.model_field()
    once: bool = declarations.option(
        "--once",
        "documents",
        "Count equal documents once, under the last of their labels. A ledger in the model file "
        "remembers them for nbtext update --once.",
    )


@declarations.command("train")
def command(
    documents: TrainingDocumentOptions,
    options: TrainOptions,
    writing: WritingOptions,
    running: ClusterOptions,
    training: TrainingOptions,
    teaching: SemiSupervisionOptions,
) -> None:
    """Learn the classes of labelled documents and write a model.

    CORPUS is a directory with one sub-directory per class, a table, or another layout of --format. Several are read as one corpus. The new model
    replaces the old one when it is complete; if anything fails, the old one stays.

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
    from nbtext.cli.option_files import read_seeds
    from nbtext.counts.statistics import require_seeded_classes
    from nbtext.store.atomic import check_replaceable

    started = time.monotonic()
    has_labels = documents.has_corpus or not teaching.unlabelled
    seeds = (
        read_seeds(teaching.seeds, min_classes=1 if has_labels else 2)
        if teaching.seeds is not None
        else []
    )
    from_seeds_alone = bool(seeds) and not has_labels
    documents = (
        replace(documents, paths=teaching.unlabelled)
        if from_seeds_alone
        else locate_documents(documents)
    )
    check_replaceable(options.model_path)
    require_distinct_output(options.model_path, documents.paths)
    is_model_given = "weighting" in training.settings or "classifier" in training.settings
    chooses_weighting = bool(teaching.unlabelled) and not is_model_given
    settings = (
        training.settings.with_raw_values(weighting="log")
        if chooses_weighting
        else training.settings
    )
    model, _ = make_untrained_model(documents, settings, labelled=not from_seeds_alone)
    if seeds:
        model.begin_with(seeds)
    pool = read_unlabelled(model, options.model_path, teaching.unlabelled, documents)
    if from_seeds_alone:
        model.learn(None, pool)
        write_new_model(model, options.model_path, writing)
    else:
        source = CommandCorpus(documents, model.reading, labelled=True)
        counts, ledger = _counted(model, source, running, once=options.once)
        model = _learnt(model, counts, pool, chooses_weighting=chooses_weighting)
        require_seeded_classes(seeds, model.classes)
        write_new_model(model, options.model_path, writing, ledger)
        source.report_notices()
    report_model(model, options.model_path, details=f", {time.monotonic() - started:.1f} s")


def _counted(
    model: TextClassifier, source: CommandCorpus, running: ClusterOptions, *, once: bool
) -> tuple[CorpusCounts, Ledger | None]:
    """Return the counts of the documents; with ``once`` equal documents count once, and there is a ledger of them."""
    if once:
        from nbtext.model.operations import count_batch, remove_duplicates

        batch = count_batch(model, source, running.jobs)
        report_overruled_labels(batch)
        return remove_duplicates(batch)
    from nbtext.model.parallel_corpus import count_corpus

    return count_corpus(model.analysis, source, running.jobs, running.scheduler).counts, None


def _learnt(
    model: TextClassifier,
    counts: CorpusCounts,
    pool: UnlabelledDocuments | None,
    *,
    chooses_weighting: bool,
) -> TextClassifier:
    """Return the model that learnt from the counts and the pool; with a pool left-out documents may choose the weighting."""
    if pool is not None and chooses_weighting:
        from nbtext.model.operations import train_with_best_weighting

        return train_with_best_weighting(model, counts, pool)
    model.learn(counts, pool)
    return model
