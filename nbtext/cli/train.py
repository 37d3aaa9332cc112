"""`nbtext train`: make a model file of labelled documents."""

from __future__ import annotations

import time
from typing import Any

from nbtext.cli import option, panels
from nbtext.cli.writing import read_pool, say_model, say_overruled, seeds_option, unlabelled_option, write_new_model, writing_options


@panels.command("train")
@option.labelled_corpus_options
@option.model_option
@panels.option(
    "--once", "documents",
    "Count equal documents once, under the last of their labels. A ledger in the model file remembers them for nbtext update --once.",
)  # fmt: skip
@writing_options
@option.jobs_option
@option.cluster_options
@option.corpus_options
@unlabelled_option
@seeds_option
def command(model_path: str, **options: Any) -> None:
    """Learn the classes of labelled documents and write a model.

    CORPUS is a directory with one sub-directory per class, a table, or another layout of --format. Several are read as one corpus. The new model
    replaces the old one when it is complete; if anything fails, the old one stays.

    \b
    Examples:
      nbtext train corpora/service-desk/train
      nbtext train messages.csv --label-column topic --model topics.joblib
    """
    from nbtext.cli.corpus import CommandCorpus, corpus_paths, names_documents, require_distinct, untrained
    from nbtext.cli.option_files import read_seeds
    from nbtext.counts.layers import require_seeded_classes
    from nbtext.store.atomic import check_replaceable

    begin = time.monotonic()
    has_labels = names_documents(options) or not options["unlabelled"]
    seeds = read_seeds(options["seeds"], fewest=1 if has_labels else 2) if options["seeds"] is not None else []
    from_seeds = bool(seeds) and not has_labels
    paths = options["unlabelled"] if from_seeds else corpus_paths(options)
    check_replaceable(model_path)
    require_distinct(model_path, paths)
    chooses_weighting = bool(options["unlabelled"]) and options["weighting"] is options["classifier"] is None
    if chooses_weighting:
        options["weighting"] = "log"
    model, _ = untrained(paths, options, labelled=not from_seeds)
    if seeds:
        model.begin_with(seeds)
    pool = read_pool(model, model_path, options)
    documents = None if from_seeds else CommandCorpus(paths, model.reading, options, labelled=True)
    counts = ledger = None
    if documents is not None and options["once"]:
        from nbtext.model.changing import count_batch, distinct_documents

        batch = count_batch(model, documents, options["jobs"])
        say_overruled(batch)
        counts, ledger = distinct_documents(batch)
    elif documents is not None:
        from nbtext.model.corpus_work import count_corpus

        counts = count_corpus(model.analysis, documents, options["jobs"], options["scheduler"]).counts
    if pool is not None and chooses_weighting and not from_seeds:
        from nbtext.model.changing import learnt_with_best_weighting

        model = learnt_with_best_weighting(model, counts, pool)
    else:
        model.learn(counts, pool)
    if documents is not None:
        require_seeded_classes(seeds, model.classes)
    write_new_model(model, model_path, options, ledger)
    if documents is not None:
        documents.say_notices()
    say_model(model, model_path, more=f", {time.monotonic() - begin:.1f} s")
