"""`nbtext tune`: try settings of training on a corpus and write a model of the best."""

from __future__ import annotations

import signal
import time
from math import inf
from typing import TYPE_CHECKING, Any

from nbtext.cli import messages, option, panels
from nbtext.cli.writing import say_model, write_new_model, writing_options
from nbtext.errors import listed
from nbtext.settings import GOALS, SEARCH, TRAINING

if TYPE_CHECKING:
    import click

    from nbtext.corpus.document import Document

SECONDS = 60.0
"""Time for a search to which nothing is given to try."""
FOLDS = 10
FOLDS_IN_STAGES = 5


def _suggest_tries(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [f"{known.option[2:]}=" for known in TRAINING if known.option[2:].startswith(incomplete)]


def _whole(document: Document) -> Document:
    return document


@panels.command("tune")
@option.corpus_argument
@option.model_option
@option.search_options
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
    type=option.WholeNumber(2), shown_default=f"{FOLDS_IN_STAGES}; {FOLDS} with --try alone",
)  # fmt: skip
@option.seed_option("answer", "Seed of the division into folds.")
@option.output_option("table tsv csv json jsonl", "Rows are settings.")
@writing_options
@option.jobs_option
@option.corpus_options
def command(model_path: str, output: str, folds: int | None, seed: int, **options: Any) -> None:
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
    from nbtext.cli.corpus import corpus_paths, read_and_count, require_distinct, warn_of_small_classes
    from nbtext.cli.option_files import from_file
    from nbtext.corpus.reading import resolved
    from nbtext.evaluation.candidates import candidates_for, possible
    from nbtext.evaluation.tuning import Clock, Search
    from nbtext.parallel.processes import cores
    from nbtext.store.atomic import check_replaceable

    begin = time.monotonic()
    names, within = options["names"], option.given(SEARCH, options).get("within")
    seconds = within or (inf if names else SECONDS)
    in_stages = bool(within or not names)
    paths = corpus_paths(options)
    reading = resolved(option.given_reading(options), paths, labelled=True)
    candidates, left_out = possible(
        candidates_for(names, option.given(TRAINING, options), reading, from_file),
        updatable=options["updatable"],
    )
    check_replaceable(model_path)
    require_distinct(model_path, paths)
    corpus, _, _, source = read_and_count(paths, {**options, **candidates[0].texts}, note=_whole)
    n_folds = folds or FOLDS
    if in_stages and folds is None:
        n_folds = max(min(FOLDS_IN_STAGES, len(corpus.notes)), 2)
    if not in_stages:
        warn_of_small_classes(corpus.counts.statistics, n_folds)
    search = Search(
        candidates, corpus.notes, corpus.counts, GOALS[options["goal"]], n_folds, seed,
        growing=in_stages, clock=Clock(seconds, begin), jobs=options["jobs"] or cores(),
    )  # fmt: skip
    train = ["nbtext", "train", *paths, "--model", model_path, *option.typed(options)]
    try:
        for _ in search.run():
            pass
        chosen = search.require_chosen()
        model = search.model(chosen.candidate)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # another one would cut the table
        if search.chosen is not None:
            messages.clear_progress()
            _print(output, {"for": options["goal"], "model": None, **search.to_dict(train)})
        raise
    write_new_model(model, model_path, options)
    say_model(model, model_path)
    problems = list(map(str, left_out + search.problems))
    if problems:
        (messages.warn if names else messages.notice)(f"left out: {listed(problems, messages.SHOWN)}")
    _print(output, {"for": options["goal"], "model": model_path, **search.to_dict(train), "left_out": problems})
    source.say_notices()


def _print(output: str, found: dict[str, Any]) -> None:
    """Print the settings tried."""
    from nbtext.report.comparisons import print_trials
    from nbtext.report.forms import write_result

    if output == "table":
        print_trials(found)
    else:
        write_result(output, found, found["settings"])
