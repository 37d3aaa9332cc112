"""`nbtext tune`: try settings of training on a corpus and write a model of the best."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import options as option
from nbtext.cli.writing import write_new_model, writing_options
from nbtext.errors import UsageError
from nbtext.settings import TRAINING

if TYPE_CHECKING:
    from nbtext.cli.corpus import CommandCorpus, CommandCounts
    from nbtext.cli.messages import Messages
    from nbtext.cli.options import Options
    from nbtext.evaluation.tuning import Division, SearchResult, Setting, Trial

BY = ("cross-validation", "leave-one-out", "evidence", "aic", "bic")
FOLDS = 10


@click.command("tune", short_help="Try settings of training and write the best as a model.")
@option.corpus_argument
@option.model_option
@click.option(
    "--try", "tries", multiple=True, metavar="NAME=A,B,…",
    help="Values to try for an option of training; none stands for no value. With several --try all combinations.",
)  # fmt: skip
@click.option(
    "--by", "criterion", type=click.Choice(BY), default=BY[0], show_default=True,
    help="What makes a setting good: accuracy by cross-validation or leave-one-out, or log evidence, AIC or BIC, which compare settings over the same counts only.",
)  # fmt: skip
@click.option(
    "--folds", type=option.WholeNumber(2), metavar="N", help=f"Parts of the corpus, with --by cross-validation.  [default: {FOLDS}]"
)
@click.option("--seed", type=option.WholeNumber(0), metavar="N", help="Seed of the division into folds.  [default: 0]")
@option.output_option("table", "json", help_text="Default: table.")
@writing_options
@option.input_options
@lambda command: option.training_options(command, without=("by",))
@option.messages_options
def command(corpus: tuple[str, ...], model_path: str, tries: tuple[str, ...], criterion: str, output: str | None, **options: Any) -> int:
    """Try all combinations of some settings, print how good each is, best first, and write the model that `nbtext train` makes of the best.

    Documents are counted once for all settings that count alike. The figures of the best are a little too good, because it was chosen by
    them: judge it on documents that had no part here. What --by means to train is tried as --try by=NAME.

    \b
    Example:
      nbtext tune corpora/service-desk/train --try smoothing=0.01,0.1,1 --try prior-shape=symmetric,background
      nbtext tune corpora/service-desk/train --try ngrams=1,2 --try top=500,none --folds 5
      nbtext tune corpora/service-desk/train --by evidence --try smoothing=0.01,0.1,auto --estimate mean
    """
    from nbtext.cli.corpus import corpus_paths, read_and_count, require_distinct, warn_of_small_classes
    from nbtext.evaluation.tuning import OF_THE_SAME_COUNTS, Division, require_comparable, search, settings_to_try
    from nbtext.store import check_replaceable

    say = option.messages(options)
    options["by"] = None
    if criterion != "cross-validation":
        for name in ("folds", "seed"):
            if options[name] is not None:
                raise UsageError(f"--{name} goes with --by cross-validation")
    division = Division(options["folds"] or FOLDS, options["seed"] or 0)
    settings = settings_to_try(tries, option.given(TRAINING, options), option.from_file)
    tried = {name for name in settings[0].texts if len({setting.texts[name] for setting in settings}) > 1}
    require_comparable(criterion, tried, [setting.settings for setting in settings])
    paths = corpus_paths(corpus, options)
    check_replaceable(model_path)
    require_distinct(model_path, paths)
    if criterion in OF_THE_SAME_COUNTS[1:] and tried - {"class_prior"}:
        say.warn(
            f"--by {criterion} judges models of maximum likelihood, in which only the class prior has a part; other settings are equal"
        )
    first: list[CommandCorpus] = []  # says what was noticed; later readings are silent

    def count(setting: Setting) -> CommandCounts:
        counted = read_and_count(paths, {**options, **setting.texts_of_counting()}, say.nothing_again() if first else say)
        if not first:
            first.append(counted.source)
            if criterion == "cross-validation":
                warn_of_small_classes(counted.corpus.statistics, division.folds, say)
        return counted

    trials, of_best = search(settings, paths, count, criterion, division)
    _save(settings[trials[0].place], of_best, model_path, options, say)
    _print(_result(settings, trials, criterion, division, len(of_best.corpus.documents), model_path), output)
    first[0].say_notices()
    return say.finish()


def _save(best: Setting, counted: CommandCounts, model_path: str, options: Options, say: Messages) -> None:
    """Write the model that training with the best setting makes."""
    from nbtext.model import TextClassifier

    model = TextClassifier(**best.settings)
    model.reading = counted.settings.reading
    model.fit_counted(counted.corpus.statistics, counted.corpus.documents)
    write_new_model(model, model_path, options, say)
    for warning in model.warnings():
        say.warn(warning)
    say.notice(f"{model_path}: {model.describe()}")


def _result(settings: list[Setting], trials: list[Trial], by: str, division: Division, n: int, model_path: str) -> SearchResult:
    from nbtext.evaluation.tuning import RankedTrial, SearchResult

    ranked = (RankedTrial(rank, settings[trial.place].spelt(), trial.figures) for rank, trial in enumerate(trials, 1))
    return SearchResult(by, division if by == "cross-validation" else None, n, model_path, tuple(ranked))


def _print(result: SearchResult, output: str | None) -> None:
    if output == "json":
        from nbtext.report.forms import json_line

        sys.stdout.write(json_line(result.to_dict()))
    else:
        from nbtext.report.comparisons import print_trials

        print_trials(result)
