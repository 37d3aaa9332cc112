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
    """Options that only this command has."""

    model_path: str = shared_options.model_field()
    once: bool = declarations.option(
        "--once",
        "Count equal documents once, under the last of their labels. A ledger in the model file "
        "remembers them for nbtext update --once.",
        group="documents",
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
    """Learn the classes of labelled documents and write a model.

    CORPUS is a directory with one sub-directory per class, a table, or another layout of --format.
    Several are read as one corpus. The new model replaces the old one when it is complete; if
    anything fails, the old one stays.

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

    start = time.monotonic()
    unlabelled_paths = supervision.unlabelled
    has_corpus = documents.has_corpus or not unlabelled_paths
    seeds = []
    if supervision.seeds is not None:
        seeds = read_seeds(supervision.seeds, min_classes=1 if has_corpus else 2)
    # Without a corpus, seed words and unlabelled documents are enough.
    uses_labels = has_corpus or not seeds
    if uses_labels:
        documents = locate_documents(documents)
    else:
        documents = replace(documents, paths=unlabelled_paths)
    check_replaceable(options.model_path)
    require_distinct_output(options.model_path, documents.paths)
    settings = training.settings
    # With unlabelled documents, held-out documents choose the weighting unless an option does.
    chooses_weighting = bool(unlabelled_paths) and not (
        "weighting" in settings or "classifier" in settings
    )
    if chooses_weighting:
        settings = settings.with_raw_values(weighting="log")
    model, _ = make_untrained_model(documents, settings, labelled=uses_labels)
    if seeds:
        model.begin_with(seeds)
    unlabelled = read_unlabelled(model, options.model_path, unlabelled_paths, documents)
    if uses_labels:
        source = CommandCorpus(documents, model.reading, labelled=True)
        counts, ledger = _count(model, source, cluster, once=options.once)
        model = _train(model, counts, unlabelled, chooses_weighting=chooses_weighting)
        require_seeded_classes(seeds, model.classes)
        write_new_model(model, options.model_path, replacement, ledger)
        source.report_notices()
    else:
        model.learn(None, unlabelled)
        write_new_model(model, options.model_path, replacement)
    report_model(model, options.model_path, details=f", {time.monotonic() - start:.1f} s")


def _count(
    model: TextClassifier, source: CommandCorpus, cluster: ClusterOptions, *, once: bool
) -> tuple[CorpusCounts, Ledger | None]:
    """Return the counts of the documents. With ``once``, also return a ledger of them.

    With ``once``, equal documents are counted only once.
    """
    if once:
        from nbtext.model.operations import count_batch, remove_duplicates

        batch = count_batch(model, source, cluster.jobs)
        report_overruled_labels(batch)
        return remove_duplicates(batch)
    from nbtext.model.parallel_corpus import count_corpus

    return count_corpus(model.analysis, source, cluster.jobs, cluster.scheduler).counts, None


def _train(
    model: TextClassifier,
    counts: CorpusCounts,
    unlabelled: UnlabelledDocuments | None,
    *,
    chooses_weighting: bool,
) -> TextClassifier:
    """Return the model trained on the counts and on unlabelled documents.

    With ``chooses_weighting``, it has the weighting that is best on held-out documents.
    """
    if unlabelled is not None and chooses_weighting:
        from nbtext.model.operations import train_with_best_weighting

        return train_with_best_weighting(model, counts, unlabelled)
    model.learn(counts, unlabelled)
    return model
