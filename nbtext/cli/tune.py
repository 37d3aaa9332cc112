"""`nbtext tune`: try settings of training on a corpus and write a model of the best."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from nbtext.cli import messages, option, panels
from nbtext.cli.writing import say_model, write_new_model, writing_options
from nbtext.errors import listed
from nbtext.settings import GOALS, SEARCH, TRAINING, in_bytes

if TYPE_CHECKING:
    import click

    from nbtext.cli.corpus import CommandCorpus
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.counting import Analysis
    from nbtext.evaluation.candidates import Candidate

SECONDS = 60.0
"""Limit of a search to which nothing is given to try."""
FOLDS = 10
FOLDS_WITHIN_A_LIMIT = 5


def _suggest_tries(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [f"{known.option[2:]}=" for known in TRAINING if known.option[2:].startswith(incomplete)]


@panels.command("tune")
@option.corpus_argument
@option.model_option
@option.search_options
@panels.common_option(
    "--tries", "model",
    "Try N settings that are known to be good. It is like --within, but can be repeated exactly.",
    type=option.WholeNumber(1),
)  # fmt: skip
@panels.common_option(
    "--try names", "model",
    "Try these values of an option of training. none stands for no value. Several --try try all combinations.",
    multiple=True, metavar="NAME=A,B,…", shell_complete=_suggest_tries,
)  # fmt: skip
@panels.common_option("--for goal", "answer", "Figure to be best in.", type=panels.Choice(GOALS), default="accuracy")
@panels.option("--updatable", "model", "Try only models that update, forget and merge change exactly.", hidden=True)
@panels.option(
    "--folds", "answer",
    "Divide the corpus into N parts to judge settings.",
    type=option.WholeNumber(2), shown_default=f"{FOLDS_WITHIN_A_LIMIT}; {FOLDS} with --try alone",
)  # fmt: skip
@option.seed_option("answer", "Seed of the division into folds.")
@option.output_option("table tsv csv json jsonl", "Rows are settings.")
@writing_options
@option.jobs_option
@option.corpus_options
def command(model_path: str, output: str, folds: int | None, seed: int, **options: Any) -> None:
    """Try settings, print how good each is, and write the model that `nbtext train` makes with the best.

    Without --try and --tries it tries settings that are known to be good for 60 seconds. Documents are counted once for all settings that count alike.
    Within a limit all settings are judged on a sample, and the better ones on more and more documents. The output says which settings are worse beyond
    chance. The figures of the best setting are a little too good, because it was chosen by them; the output also has a figure that is not.

    \b
    Examples:
      nbtext tune corpora/service-desk/train --within 3s
      nbtext tune corpora/service-desk/train --try smoothing=0.01,0.1,1
      nbtext tune corpora/service-desk/train --try ngrams=1,2 --try top=500,none
    """
    from nbtext.cli.corpus import corpus_paths, read_and_count, require_distinct, warn_of_small_classes
    from nbtext.cli.option_files import from_file
    from nbtext.corpus.reading import resolved
    from nbtext.evaluation.candidates import Values, candidates_for
    from nbtext.evaluation.search import Limits, Search
    from nbtext.evaluation.tuning import Division
    from nbtext.parallel.processes import cores
    from nbtext.report.comparisons import print_trials
    from nbtext.report.forms import write_result
    from nbtext.store.atomic import check_replaceable

    begin = time.monotonic()
    names = options["names"]
    given = option.given(SEARCH, options)
    within, most_bytes = given.get("within"), in_bytes(given["max_size"]) if "max_size" in given else None
    if not names and options["tries"] is None:
        within = within or SECONDS
    limits = Limits(within, options["tries"], most_bytes, begin)
    paths = corpus_paths(options)
    values = Values(option.given(TRAINING, options), from_file)
    reading = resolved(option.given_reading(options), paths, labelled=True)
    candidates, left_out = candidates_for(names, values, reading, halves=limits.halves, updatable=options["updatable"])
    check_replaceable(model_path)
    require_distinct(model_path, paths)
    first: list[CommandCorpus] = []  # says what was noticed; later readings are silent

    def count(candidate: Candidate) -> tuple[CorpusCounts, Analysis]:
        with messages.silence() if first else nullcontext():
            counted = read_and_count(paths, {**options, **candidate.texts_of_counting()})
        if not first:
            first.append(counted.source)
            if not limits.halves:
                warn_of_small_classes(counted.corpus.counts.statistics, search.division.folds)
        return counted.corpus.counts, counted.analysis

    jobs = options["jobs"] or cores()
    search = Search(
        candidates, paths, count, options["goal"],
        Division(folds or (FOLDS_WITHIN_A_LIMIT if limits.halves else FOLDS), seed),
        limits,
        processes=jobs if jobs > 1 or within is not None else 0,
        may_lower_folds=limits.halves and folds is None,
    )  # fmt: skip
    outcome = search.run()
    model = search.best_model(outcome)
    write_new_model(model, model_path, options)
    say_model(model, model_path)
    train = ["nbtext", "train", *paths, "--model", model_path, *option.typed(options)]
    result = search.result(outcome, model_path, train, left_out)
    if result.left_out:
        (messages.notice if not names else messages.warn)(f"left out: {listed(result.left_out, messages.SHOWN)}")
    if output == "table":
        print_trials(result)
    else:
        record = result.to_dict()
        write_result(output, record, record["settings"])
    first[0].say_notices()
