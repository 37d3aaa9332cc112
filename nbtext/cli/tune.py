"""`nbtext tune`: tries settings of training on a corpus and writes a model of the best."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from nbtext.cli.messages import SHOWN
from nbtext.cli.options import (
    WholeNumber,
    corpus_argument,
    from_file,
    given,
    input_options,
    messages,
    messages_options,
    model_option,
    output_option,
    training_options,
)
from nbtext.cli.writing import writing_options
from nbtext.errors import UsageError
from nbtext.settings import TRAINING, checked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.cli.corpus import Corpus
    from nbtext.cli.jobs import CountedCorpus
    from nbtext.cli.messages import Messages
    from nbtext.counts.corpus_counts import Subsets
    from nbtext.evaluation.search import Division, Trial
    from nbtext.settings import Parameter

BY = ("cross-validation", "leave-one-out", "evidence", "aic", "bic")
FOLDS = 10


class Setting(NamedTuple):
    """One combination of the values tried."""

    texts: dict[str, str | None]
    """As given, by name of the parameter; None for a default that is nothing."""
    parameters: dict[str, Any]


@click.command("tune", short_help="Try settings of training and write the best as a model.")
@corpus_argument
@model_option
@click.option(
    "--try",
    "tries",
    multiple=True,
    metavar="NAME=A,B,…",
    help="Values to try for an option of training; none stands for no value. With several --try all combinations.",
)
@click.option(
    "--by",
    "criterion",
    type=click.Choice(BY),
    default=BY[0],
    show_default=True,
    help="What makes a setting good: accuracy by cross-validation or leave-one-out, or log evidence, AIC or BIC, which compare settings over the same counts only.",
)
@click.option("--folds", type=WholeNumber(2), metavar="N", help=f"Parts of the corpus, with --by cross-validation.  [default: {FOLDS}]")
@click.option("--seed", type=WholeNumber(0), metavar="N", help="Seed of the division into folds.  [default: 0]")
@output_option("table", "json", help_text="Default: table.")
@writing_options
@input_options
@lambda command: training_options(command, without=("by",))
@messages_options
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
    from nbtext.cli.corpus import corpus_paths, require_distinct
    from nbtext.evaluation.search import OF_THE_SAME_COUNTS, Division, require_comparable
    from nbtext.store import check_replaceable

    say = messages(options)
    options["by"] = None
    if criterion != "cross-validation":
        for name in ("folds", "seed"):
            if options[name] is not None:
                raise UsageError(f"--{name} goes with --by cross-validation")
    division = Division(options["folds"] or FOLDS, options["seed"] or 0)
    settings = _settings(tries, options)
    tried = {name for name in settings[0].texts if len({setting.texts[name] for setting in settings}) > 1}
    require_comparable(criterion, tried, [setting.parameters for setting in settings])
    paths = corpus_paths(corpus, options)
    check_replaceable(model_path)
    require_distinct(model_path, paths)
    if criterion in OF_THE_SAME_COUNTS[1:] and tried - {"class_prior"}:
        say.warn(
            f"--by {criterion} judges models of maximum likelihood, in which only the class prior has a part; other settings are equal"
        )
    trials, of_corpus, source = _search(settings, paths, options, say, criterion, division)
    _save(settings[trials[0].place], of_corpus, model_path, options, say)
    _print(_summary(settings, trials, criterion, division, of_corpus, model_path), output)
    source.say_notices()
    return say.finish()


def _settings(tries: Sequence[str], options: dict[str, Any]) -> list[Setting]:
    """All combinations, each checked; raises `UsageError` for a parameter that there is not, or that is set and tried, or a wrong value."""
    from nbtext.evaluation.search import combinations

    by_name = {parameter.name: parameter for parameter in TRAINING}
    ranges: dict[str, list[str | None]] = {}
    for text in tries:
        name, equals, values = text.partition("=")
        parameter = by_name.get(name.removeprefix("--").replace("-", "_"))
        if parameter is None or not equals:
            names = ", ".join(known.option[2:] for known in TRAINING)
            raise UsageError(f"--try knows no {text!r}", hint=f"give NAME=A,B with one of {names}")
        if parameter.name in ranges:
            raise UsageError(f"--try {parameter.option[2:]} is given twice", hint="put all its values into one")
        if options[parameter.name] is not None:
            raise UsageError(f"{parameter.option} and --try {parameter.option[2:]} exclude each other")
        ranges[parameter.name] = list(dict.fromkeys(_text(parameter, value) for value in values.split(",")))
    checked_values = {(name, text): _value(by_name[name], text) for name, texts in ranges.items() for text in texts}
    base = given(TRAINING, options)
    return [
        Setting(texts, checked(TRAINING, {**base, **{name: checked_values[name, text] for name, text in texts.items()}}))
        for texts in combinations(ranges)
    ]


def _text(parameter: Parameter, value: str) -> str | None:
    return None if value == "none" and parameter.default is None else value


def _value(parameter: Parameter, text: str | None) -> object:
    return parameter.checked(parameter.default if text is None else from_file(parameter.name, text))


def _search(
    settings: list[Setting], paths: Sequence[str], options: dict[str, Any], say: Messages, by: str, division: Division
) -> tuple[list[Trial], CountedCorpus, Corpus]:
    """The trials, best first, the corpus as the best setting counts it, and the corpus as it was read first, with what was noticed.

    Settings that count alike share the counts.
    """
    from nbtext.cli.jobs import read_and_count
    from nbtext.counts.corpus_counts import Subsets
    from nbtext.evaluation.search import COUNTED_ALIKE, best_first
    from nbtext.model.training import looked_up

    alike: dict[tuple[Any, ...], list[int]] = {}
    for place, setting in enumerate(settings):
        alike.setdefault(tuple(setting.parameters[name] for name in COUNTED_ALIKE), []).append(place)
    _require_readable(paths, len(alike))
    trials: list[Trial] = []
    kept: tuple[CountedCorpus, Corpus] | None = None
    for places in alike.values():
        of_options = {**options, **{name: text for name, text in settings[places[0]].texts.items() if name in COUNTED_ALIKE}}
        of_corpus = read_and_count(paths, of_options, say if kept is None else say.nothing_again())
        if kept is None:
            kept = of_corpus, of_corpus.source
            _warn_of_small_classes(of_corpus, by, division, say)
        subsets = Subsets(of_corpus.statistics, of_corpus.documents)
        for place in places:
            parameters = looked_up(settings[place].parameters, of_corpus.stop_list, of_corpus.reading)
            trials.append(_trial(place, settings[place], parameters, subsets, by, division))
        trials = best_first(by, trials)
        if trials[0].place in places:
            kept = of_corpus, kept[1]
    if kept is None:
        raise ValueError("there are no settings")
    return trials, *kept


def _trial(place: int, setting: Setting, parameters: Mapping[str, Any], subsets: Subsets, by: str, division: Division) -> Trial:
    """One setting judged, with its parameters as they are estimated by; an error says which setting it is."""
    from nbtext.evaluation.search import Trial, judge

    try:
        return Trial(place, judge(by, subsets, parameters, division))
    except UsageError as problem:
        if setting.texts and problem.where is None:
            problem.where = "with " + " ".join(f"{_spelt(name)}={_shown(text)}" for name, text in setting.texts.items())
        raise


def _require_readable(paths: Sequence[str], times: int) -> None:
    """Raise `UsageError` for standard input or a pipe that would have to be read several times."""
    if times > 1:
        for path in paths:
            if path == "-" or Path(path).is_fifo():
                name = "standard input" if path == "-" else path
                raise UsageError(f"{name} can be read once, and these settings count it {times:,} times", hint="put it into a file")


def _warn_of_small_classes(of_corpus: CountedCorpus, by: str, division: Division, say: Messages) -> None:
    statistics = of_corpus.statistics
    sizes = zip(statistics.classes, statistics.class_documents.tolist(), strict=True)
    small = [label for label, size in sizes if size < division.folds]
    if small and by == "cross-validation":
        say.warn(
            f"classes with fewer documents than there are folds: {', '.join(small[:SHOWN])}{' and others' if len(small) > SHOWN else ''}"
        )


def _save(best: Setting, of_corpus: CountedCorpus, model_path: str, options: dict[str, Any], say: Messages) -> None:
    """Write the model that training with the best setting makes."""
    from nbtext.cli.writing import write_anew
    from nbtext.model import TextClassifier

    model = TextClassifier(**best.parameters)
    model.reading = of_corpus.reading
    model.fit_counted(of_corpus.statistics, of_corpus.documents)
    write_anew(lambda: model, model_path, options, say)
    for warning in model.warnings():
        say.warn(warning)
    say.notice(f"{model_path}: {model.describe()}")


def _summary(
    settings: list[Setting], trials: list[Trial], by: str, division: Division, of_corpus: CountedCorpus, model_path: str
) -> dict[str, Any]:
    divided = {"folds": division.folds, "seed": division.seed} if by == "cross-validation" else {}
    ranked = [
        {"rank": rank, "setting": {_spelt(name): _shown(text) for name, text in settings[trial.place].texts.items()}, **trial.figures}
        for rank, trial in enumerate(trials, 1)
    ]
    return {"by": by, **divided, "documents": len(of_corpus.documents), "model": model_path, "best": ranked[0], "settings": ranked}


def _spelt(name: str) -> str:
    return name.replace("_", "-")


def _shown(text: str | None) -> str:
    return "none" if text is None else text


def _print(summary: dict[str, Any], output: str | None) -> None:
    if output == "json":
        from nbtext.report.forms import json_line

        sys.stdout.write(json_line(summary))
    else:
        from nbtext.report.comparisons import print_trials

        print_trials(summary)
