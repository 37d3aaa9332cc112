"""`nbtext tune`: try settings of training on a corpus and write a model of the best."""

from __future__ import annotations

import signal
import time
from math import inf
from typing import TYPE_CHECKING, cast

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.parameters import format_arguments, parameter_field
from nbtext.cli.shared_options import JobOptions, TrainingCorpusOptions, TrainingOptions
from nbtext.cli.writing import WritingOptions, report_model, write_new_model
from nbtext.errors import join_names
from nbtext.fast_dataclasses import dataclass
from nbtext.settings import INPUT, READING, TRAINING, TUNING_METRICS, WITHIN

if TYPE_CHECKING:
    import click

    from nbtext.corpus.document import Document

SECONDS = 60.0
"""Time for a search to which nothing is given to try."""
FOLDS = 10
FOLDS_IN_STAGES = 5


def _suggest_tries(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [f"{known.key}=" for known in TRAINING if known.key.startswith(incomplete)]


def _whole(document: Document) -> Document:
    return document


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """The options of this command alone."""

    model_path: str = shared_options.model_field()
    within: str | None = parameter_field(WITHIN)
    tries: tuple[str, ...] = declarations.common_option(
        "--try",
        "model",
        "Try these values of an option of training. none stands for no value. Several --try try "
        "all combinations.",
        multiple=True,
        metavar="NAME=A,B,…",
        shell_complete=_suggest_tries,
    )
    goal: str = declarations.common_option(
        "--for",
        "answer",
        "Figure to be best in.",
        type=declarations.Choice(TUNING_METRICS),
        default="accuracy",
    )
    updatable: bool = declarations.option(
        "--updatable",
        "model",
        "Try only models that update, forget and merge change exactly.",
        hidden=True,
    )
    folds: int | None = declarations.option(
        "--folds",
        "answer",
        "Divide the corpus into N parts to judge settings.",
        type=shared_options.WholeNumber(2),
        shown_default=f"{FOLDS_IN_STAGES}; {FOLDS} with --try alone",
    )
    seed: int = shared_options.seed_field("answer", "Seed of the division into folds.")
    output: str = shared_options.output_field("table tsv csv json jsonl", "Rows are settings.")


@declarations.command("tune")
def command(
    documents: TrainingCorpusOptions,
    options: TuneOptions,
    writing: WritingOptions,
    running: JobOptions,
    training: TrainingOptions,
) -> None:
    """Try settings, print how good each is, and write the model that `nbtext train` makes with the best.

    Without --try it tries settings that are known to be good for 60 seconds: all on a sample of the documents, and the better ones on more and more of
    them. The default is always tried, and is kept unless another setting is significantly better. The figures of the best setting are a little too good,
    because it was chosen by them; the output also has a figure that is not. Ctrl-C prints what was tried so far and writes no model.

    \b
    Examples:
      nbtext tune corpora/service-desk/train --within 3s
      nbtext tune corpora/service-desk/train --try smoothing=0.01,0.1,1
      nbtext tune corpora/service-desk/train --try ngrams=1,2 --try top=500,none
    """
    from nbtext.cli.corpus import (
        locate_documents,
        read_and_count,
        require_distinct_output,
        warn_small_classes,
    )
    from nbtext.cli.option_files import read_parameter_value
    from nbtext.corpus.reading import resolve_reading
    from nbtext.evaluation.candidates import make_candidates, select_trainable
    from nbtext.evaluation.tuning import Clock, Search
    from nbtext.parallel.processes import count_cores
    from nbtext.report.comparisons import write_trials
    from nbtext.store.atomic import check_replaceable

    begin = time.monotonic()
    tries = options.tries
    model_path = options.model_path
    seconds = inf if tries else SECONDS
    if options.within is not None:
        seconds = cast("float", WITHIN.validate(options.within))
    in_stages = options.within is not None or not tries
    documents = locate_documents(documents)
    reading = resolve_reading(documents.reading.complete_settings, documents.paths, labelled=True)
    candidates, left_out = select_trainable(
        make_candidates(tries, training.settings.values, reading, read_parameter_value),
        updatable=options.updatable,
    )
    check_replaceable(model_path)
    require_distinct_output(model_path, documents.paths)
    settings = training.settings.with_raw_values(**candidates[0].texts)
    corpus, _, _, source = read_and_count(documents, settings, running.jobs, note=_whole)
    n_folds = options.folds or FOLDS
    if in_stages and options.folds is None:
        n_folds = max(min(FOLDS_IN_STAGES, len(corpus.notes)), 2)
    if not in_stages:
        warn_small_classes(corpus.counts.table, n_folds)
    search = Search(
        candidates,
        corpus.notes,
        corpus.counts,
        TUNING_METRICS[options.goal],
        n_folds,
        options.seed,
        is_staged=in_stages,
        clock=Clock(seconds, begin),
        jobs=running.jobs or count_cores(),
    )
    train = [
        "nbtext",
        "train",
        *documents.paths,
        "--model",
        model_path,
        *_arguments(documents, training),
    ]
    try:
        for _ in search.run():
            pass
        chosen = search.require_chosen()
        model = search.train_model(chosen.candidate)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # another one would cut the table
        if search.chosen is not None:
            messages.clear_progress()
            write_trials(
                options.output, {"for": options.goal, "model": None, **search.to_dict(train)}
            )
        raise
    write_new_model(model, model_path, writing)
    report_model(model, model_path)
    problems = list(map(str, left_out + search.problems))
    if problems:
        tell = messages.warn if tries else messages.notify
        tell(f"left out: {join_names(problems, messages.MAX_LISTED)}")
    write_trials(
        options.output,
        {"for": options.goal, "model": model_path, **search.to_dict(train), "left_out": problems},
    )
    source.report_notices()


def _arguments(documents: TrainingCorpusOptions, training: TrainingOptions) -> list[str]:
    """Return the parameters that the user gave, as arguments of `nbtext train`."""
    where_and_how = {each.name: getattr(documents, each.name) or None for each in INPUT}
    return [
        *format_arguments(INPUT, where_and_how),
        *format_arguments(READING, documents.reading.raw_values),
        *format_arguments(TRAINING, training.settings.raw_values),
    ]
