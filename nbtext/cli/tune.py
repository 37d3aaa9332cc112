"""`nbtext tune`: try settings of training on a corpus and write a model of the best."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import options as option
from nbtext.cli.writing import write_new_model, writing_options
from nbtext.errors import UsageError, listed
from nbtext.settings import READING, TRAINING, Parameter, in_bytes, size

if TYPE_CHECKING:
    from nbtext.cli.corpus import CommandCorpus, CommandCounts
    from nbtext.cli.messages import Messages
    from nbtext.cli.options import Options
    from nbtext.evaluation.candidates import Candidate

BY = ("cross-validation", "leave-one-out", "evidence", "aic", "bic")
GOALS = ("accuracy", "macro-f1", "log-loss")
FOLDS = 10
FOLDS_OF_A_RACE = 5
UNITS = {"s": 1, "m": 60, "h": 3600}
MAX_SIZE = Parameter("max_size", None, "SIZE", size, "Only models of about this size at most: bytes, or a number with K, M or G.")


@click.command("tune", short_help="Try settings of training and write the best as a model.")
@option.corpus_argument
@option.model_option
@click.option(
    "--within", metavar="TIME",
    help="Try settings that are known to be good, or those of --try, the cheapest first, and write the best model within a time: 60s, 5m, 1h.",
)  # fmt: skip
@click.option(
    "--tries", type=option.WholeNumber(1), metavar="N", help="The same with a number of settings in place of a time, so that it can be repeated exactly."
)  # fmt: skip
@click.option(
    "--try", "names", multiple=True, metavar="NAME=A,B,…",
    help="Values to try for an option of training; none stands for no value. With several --try all combinations.",
)  # fmt: skip
@click.option(
    "--by", "criterion", type=click.Choice(BY), default=BY[0], show_default=True,
    help="What makes a setting good: the figure of --for by cross-validation or leave-one-out, or log evidence, AIC or BIC, which compare settings over the same counts only.",
)  # fmt: skip
@click.option("--for", "goal", type=click.Choice(GOALS), help=f"The figure in which the best setting is best.  [default: {GOALS[0]}]")
@click.option("--updatable", is_flag=True, help="Try only models that update, forget and merge change exactly.")
@click.option(MAX_SIZE.option, metavar=MAX_SIZE.metavar, help=MAX_SIZE.meaning)
@click.option(
    "--folds", type=option.WholeNumber(2), metavar="N",
    help=f"Parts of the corpus, with --by cross-validation.  [default: {FOLDS}; {FOLDS_OF_A_RACE} with --within or --tries]",
)  # fmt: skip
@click.option("--seed", type=option.WholeNumber(0), metavar="N", help="Seed of the division into folds.  [default: 0]")
@option.output_option("table", "json", help_text="Default: table.")
@writing_options
@option.input_options
@lambda command: option.training_options(command, without=("by",))
@option.jobs_option
@option.messages_options
def command(corpus: tuple[str, ...], model_path: str, names: tuple[str, ...], criterion: str, output: str | None, **options: Any) -> int:
    """Try settings, print how good each is, best first, and write the model that `nbtext train` makes of the best.

    Documents are counted once for all settings that count alike. With --within or --tries a setting that can no longer be the best is given up.
    The figures of the best are a little too good, because it was chosen by them; the figure with the choice judged too is printed beside. What
    --by means to train is tried as --try by=NAME.

    \b
    Example:
      nbtext tune corpora/service-desk/train --within 3s
      nbtext tune corpora/service-desk/train --try smoothing=0.01,0.1,1 --try prior-shape=symmetric,background
      nbtext tune corpora/service-desk/train --try ngrams=1,2 --try top=500,none --folds 5
      nbtext tune corpora/service-desk/train --by evidence --try smoothing=0.01,0.1,auto --estimate mean
    """
    from nbtext.cli.corpus import corpus_paths, read_and_count, require_distinct, warn_of_small_classes
    from nbtext.cli.messages import SHOWN
    from nbtext.cli.progress import SearchBar, is_wanted
    from nbtext.corpus.reading import resolved
    from nbtext.evaluation.candidates import Values, combinations, portfolio, possible, require_comparable, tried_parameters
    from nbtext.evaluation.search import Limits, Search
    from nbtext.evaluation.tuning import Division
    from nbtext.parallel.processes import cores
    from nbtext.report.comparisons import print_trials
    from nbtext.report.forms import write_json
    from nbtext.settings import Reading
    from nbtext.store import check_replaceable

    begin = time.monotonic()
    say = option.messages(options)
    options["by"] = None
    is_race = _is_race(options, criterion)
    most_bytes = None if options["max_size"] is None else in_bytes(str(MAX_SIZE.checked(options["max_size"])))
    within = None if options["within"] is None else in_seconds(options["within"])
    paths = corpus_paths(corpus, options)
    values, reading = (
        Values(option.given(TRAINING, options), option.from_file),
        resolved(Reading.of(option.given(READING, options)), paths, labelled=True),
    )
    named = portfolio(values) if is_race and not names else combinations(names, values)
    candidates, left_out = possible(named, criterion, reading, updatable=options["updatable"])
    require_comparable(criterion, candidates)
    check_replaceable(model_path)
    require_distinct(model_path, paths)
    if criterion in ("aic", "bic") and tried_parameters(candidates) - {"class_prior"}:
        say.warn(
            f"--by {criterion} judges models of maximum likelihood, in which only the class prior has a part; other settings are equal"
        )
    first: list[CommandCorpus] = []  # says what was noticed; later readings are silent

    def count(candidate: Candidate) -> CommandCounts:
        counted = read_and_count(paths, {**options, **candidate.texts_of_counting()}, say.nothing_again() if first else say)
        if not first:
            first.append(counted.source)
            if criterion == "cross-validation" and not is_race:
                warn_of_small_classes(counted.corpus.statistics, search.division.folds, say)
        return counted

    jobs = options["jobs"] or cores()
    search = Search(
        candidates, paths, count, criterion, options["goal"] or GOALS[0],
        Division(options["folds"] or (FOLDS_OF_A_RACE if is_race else FOLDS), options["seed"] or 0),
        Limits(within, options["tries"], most_bytes, begin),
        processes=jobs if jobs > 1 or within is not None else 0,
        may_lower_folds=is_race and options["folds"] is None,
        on_progress=SearchBar(len(candidates), within) if is_wanted(quiet=say.quiet) else lambda _: None,
    )  # fmt: skip
    outcome = search.run()
    _write(candidates[outcome.trials[0].candidate], outcome.of_best, model_path, options, say)
    if out := [left.named() for left in (*left_out, *outcome.left_out)]:
        (say.notice if not names else say.warn)(f"left out: {listed(list(map(str, out)), SHOWN)}")
    train = ["nbtext", "train", *paths, "--model", model_path, *option.typed(options)]
    result = search.result(outcome, model_path, train, left_out)
    if output == "json":
        write_json(result.to_dict())
    else:
        print_trials(result)
    first[0].say_notices()
    return say.finish()


def _is_race(options: Options, criterion: str) -> bool:
    """Return whether there is a limit; raise `UsageError` for options that exclude each other."""
    if criterion != "cross-validation":
        for name in ("within", "tries", "folds", "seed"):
            if options[name] is not None:
                raise UsageError(f"--{name} goes with --by cross-validation")
        if options["goal"] is not None and criterion != "leave-one-out":
            raise UsageError("--for goes with --by cross-validation or leave-one-out")
    if options["within"] is not None and options["tries"] is not None:
        raise UsageError("--within and --tries exclude each other")
    return options["within"] is not None or options["tries"] is not None


def in_seconds(text: str) -> float:
    """Return the seconds of a time such as 60s, 5m or 1h; raise `UsageError` if it is none."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in UNITS else (text, "s")
    try:
        seconds = float(number) * UNITS[unit]
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < inf:
        raise UsageError(f"--within must be a time such as 60s, 5m or 1h, not {text!r}")
    return seconds


def _write(best: Candidate, counted: CommandCounts, model_path: str, options: Options, say: Messages) -> None:
    """Write the model that training with the best settings makes."""
    from nbtext.model import TextClassifier

    model = TextClassifier(**best.settings)
    model.reading = counted.settings.reading
    model.fit_counted(counted.corpus.statistics, counted.corpus.documents)
    write_new_model(model, model_path, options, say)
    for warning in model.warnings():
        say.warn(warning)
    say.notice(f"{model_path}: {model.describe()}")
