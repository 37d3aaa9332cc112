"""`nbtext tune`: try settings of training on a corpus and write a model of the best."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING, Any

from nbtext.cli import options as option
from nbtext.cli import panels
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
MAX_SIZE = Parameter(
    "max_size", None, "SIZE", size, "Try only models of at most about this size. A size is a number of bytes, or a number with K, M or G."
)


@panels.command("tune")
@option.corpus_argument
@option.model_option
@panels.option(
    "--within", group="model", common=True, metavar="TIME",
    help="Write the best model found within a TIME such as 60s, 5m or 1h. It tries settings that are known to be good, or those of --try, the cheapest first.",
)  # fmt: skip
@panels.option(
    "--tries", group="model", common=True, type=option.WholeNumber(1), metavar="N",
    help="Try N settings that are known to be good. It is like --within, but can be repeated exactly.",
)  # fmt: skip
@panels.option(
    "--try", "names", group="model", common=True, multiple=True, metavar="NAME=A,B,…",
    help="Try these values of an option of training. none stands for no value. Several --try try all combinations.",
)  # fmt: skip
@panels.option(
    "--by", "criterion", group="answer", type=option.Choice(BY), default=BY[0], show_default=True,
    help="Method that judges settings. cross-validation and leave-one-out measure --for; log evidence, AIC and BIC compare settings over the same counts "
    "only.",
)  # fmt: skip
@panels.option(
    "--for", "goal", group="answer", common=True, type=option.Choice(GOALS), shown_default=GOALS[0], help="Figure to be best in."
)
@panels.option("--updatable", group="model", is_flag=True, help="Try only models that update, forget and merge change exactly.")
@panels.option(MAX_SIZE.option, group="model", metavar=MAX_SIZE.metavar, help=MAX_SIZE.meaning)
@panels.option(
    "--folds", group="answer", type=option.WholeNumber(2), metavar="N", shown_default=f"{FOLDS}; {FOLDS_OF_A_RACE} with --within or --tries",
    help="Divide the corpus into N parts to judge settings.",
)  # fmt: skip
@panels.option(
    "--seed", group="answer", type=option.WholeNumber(0), metavar="N", shown_default="0", help="Seed of the division into folds."
)
@option.output_option("table", "tsv", "csv", "json", "jsonl", default="table", more="Rows are settings.")
@writing_options
@option.input_options
@lambda command: option.training_options(command, without=("by",))
@option.jobs_option
@option.messages_options
def command(corpus: tuple[str, ...], model_path: str, names: tuple[str, ...], criterion: str, output: str | None, **options: Any) -> int:
    """Try settings, print how good each is, and write the model that `nbtext train` makes with the best.

    Documents are counted once for all settings that count alike. With --within or --tries a setting is given up as soon as it can no longer be the best.
    The figures of the best setting are a little too good, because it was chosen by them; the output also has a figure that is not. The option --by
    of train is tried as --try by=NAME.

    \b
    Examples:
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
    from nbtext.report.forms import write_result
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
    write_result(output, result.to_dict, lambda: result.to_dict()["settings"], lambda: print_trials(result))
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
