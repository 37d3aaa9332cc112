"""Tuning: combinations of values for settings of training, judged over a corpus that is counted once for all settings that count alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from nbtext.counts.corpus_counts import Subsets
from nbtext.errors import UsageError
from nbtext.evaluation.search import COUNTED_ALIKE, Trial, best_first, combinations, judge_setting
from nbtext.model.training import looked_up
from nbtext.settings import TRAINING, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nbtext.counts.counting import Analysis
    from nbtext.evaluation.search import Division
    from nbtext.model.corpus_flow import CountedCorpus
    from nbtext.settings import Parameter


class Setting(NamedTuple):
    """One combination of the values tried."""

    texts: dict[str, str | None]
    """As given, by name of the parameter; None for a default that is nothing."""
    settings: Settings

    def spelt(self) -> dict[str, str]:
        """Return the values tried as on the command line, by the names there."""
        return {name.replace("_", "-"): "none" if text is None else text for name, text in self.texts.items()}

    def texts_of_counting(self) -> dict[str, str | None]:
        """Return those of the texts that decide how documents are counted."""
        return {name: text for name, text in self.texts.items() if name in COUNTED_ALIKE}


def settings_to_try(tries: Sequence[str], base: Mapping[str, Any], value_of: Callable[[str, str], object]) -> list[Setting]:
    """Return all combinations of ``tries``, such as ``smoothing=0.1,1``, each checked, with the parameters of ``base`` beside.

    ``value_of`` returns the value that a text means for a parameter. Raises `UsageError` for a parameter that there is not, that is set and tried, or
    that has a wrong value.
    """
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
        if parameter.name in base:
            raise UsageError(f"{parameter.option} and --try {parameter.option[2:]} exclude each other")
        ranges[parameter.name] = list(dict.fromkeys(_text(parameter, value) for value in values.split(",")))

    def value(name: str, text: str | None) -> object:
        parameter = by_name[name]
        return parameter.checked(parameter.default if text is None else value_of(name, text))

    checked = {(name, text): value(name, text) for name, texts in ranges.items() for text in texts}
    return [
        Setting(texts, Settings.of({**base, **{name: checked[name, text] for name, text in texts.items()}}))
        for texts in combinations(ranges)
    ]


def _text(parameter: Parameter, value: str) -> str | None:
    return None if value == "none" and parameter.default is None else value


class AnalysedCorpus(Protocol):
    """A corpus as counts, and how it was counted."""

    @property
    def corpus(self) -> CountedCorpus:
        """The counts."""

    @property
    def analysis(self) -> Analysis:
        """The settings by which it was counted, with those of reading."""


C = TypeVar("C", bound=AnalysedCorpus)


def search(
    settings: Sequence[Setting], paths: Sequence[str], count: Callable[[Setting], C], by: str, division: Division
) -> tuple[list[Trial], C]:
    """Judge settings over the corpus of some paths; return the trials, best first, and the corpus as the best setting counts it.

    ``count`` reads and counts the corpus; it is called once for all settings that count alike. Raises `UsageError` for paths that cannot be read
    as often as that, and as training does.
    """
    alike: dict[tuple[Any, ...], list[int]] = {}
    for place, setting in enumerate(settings):
        alike.setdefault(tuple(setting.settings[name] for name in COUNTED_ALIKE), []).append(place)
    _require_rereadable(paths, len(alike))
    trials: list[Trial] = []
    of_best: C | None = None
    for places in alike.values():
        counted = count(settings[places[0]])
        subsets = Subsets(counted.corpus.statistics, counted.corpus.documents)
        for place in places:
            tried = replace(settings[place].settings, reading=counted.analysis.settings.reading)
            trials.append(_trial(place, settings[place], looked_up(replace(counted.analysis, settings=tried)), subsets, by, division))
        trials = best_first(by, trials)
        if trials[0].place in places:
            of_best = counted
    if of_best is None:
        raise ValueError("there are no settings")
    return trials, of_best


def _trial(place: int, setting: Setting, settings: Settings, subsets: Subsets, by: str, division: Division) -> Trial:
    """Judge one setting; an error names it."""
    try:
        return Trial(place, judge_setting(by, subsets, settings, division))
    except UsageError as problem:
        if setting.texts and problem.where is None:
            problem.where = "with " + " ".join(f"{name}={text}" for name, text in setting.spelt().items())
        raise


def _require_rereadable(paths: Sequence[str], times: int) -> None:
    """Raise `UsageError` for standard input or a pipe that would have to be read several times."""
    if times > 1:
        for path in paths:
            if path == "-" or Path(path).is_fifo():
                name = "standard input" if path == "-" else path
                raise UsageError(f"{name} can be read once, and these settings count it {times:,} times", hint="put it into a file")
