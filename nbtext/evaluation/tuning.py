"""Judge every combination of some settings by one criterion, over a corpus that is counted once for all settings that count alike.

The figure of the best setting is too good, because it is the largest of many on the same documents. Source: G. Cawley, N. Talbot, On
over-fitting in model selection and subsequent selection bias in performance evaluation (2010).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts, Subsets
from nbtext.counts.documents import DocumentSample
from nbtext.errors import UsageError
from nbtext.evaluation.cross_validation import cross_validate, evaluate_leave_one_out, stratified_folds
from nbtext.inspection.overview import criteria, require_criteria
from nbtext.metrics.intervals import Bootstrap
from nbtext.model.training import language_models, looked_up, require_supported, terms_and_smoothing
from nbtext.settings import COUNTING, TRAINING, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nbtext.counts.counting import Analysis
    from nbtext.model.corpus_flow import CountedCorpus
    from nbtext.settings import Parameter

OF_THE_SAME_COUNTS = ("evidence", "aic", "bic")
"""Criteria that compare settings over the same counts only."""

LEAST_IS_BEST = ("aic", "bic")

SHARING_COUNTS = ("smoothing", "prior_shape", "estimate", "class_prior")
"""Parameters that change neither the counts nor what is counted."""

UNLIKE_TERMS = frozenset({"language", "stop_words", "stemmer", "encoded_lines", "ngrams", "char_ngrams", "min_df", "max_df", "top", "by"})
"""Parameters that decide which terms there are."""

MOST_SETTINGS = 1000

COUNTED_ALIKE = tuple(name for name in COUNTING if name != "sample")
"""Settings that agree in these parameters have the same statistics and documents."""


class Trial(NamedTuple):
    """The figures of a setting."""

    place: int
    """Its number among all settings tried."""
    figures: dict[str, float | None]
    """By name; the criterion is among them."""


class Division(NamedTuple):
    """The division of a corpus for cross-validation; the same for every setting, and as `nbtext cross-validate` divides it."""

    folds: int = 10
    seed: int = 0


@dataclass(frozen=True)
class RankedTrial:
    """A setting, as its options are spelt, with its rank from 1 and its figures."""

    rank: int
    setting: Mapping[str, str]
    figures: Mapping[str, float | None]


@dataclass(frozen=True)
class SearchResult:
    """The settings tried, best first; ``division`` is None for a criterion without folds, ``model`` the file of the best."""

    by: str
    division: Division | None
    documents: int
    model: str
    trials: tuple[RankedTrial, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON has it: figures beside the setting, and the best setting once more."""
        settings = [{"rank": trial.rank, "setting": trial.setting, **trial.figures} for trial in self.trials]
        divided = {} if self.division is None else self.division._asdict()
        return {"by": self.by, **divided, "documents": self.documents, "model": self.model, "best": settings[0], "settings": settings}


def combinations(ranges: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of values, the last parameter changing fastest; raise `UsageError` if there are more than `MOST_SETTINGS`."""
    number = int(np.prod([len(values) for values in ranges.values()], dtype=object)) if ranges else 1
    if number > MOST_SETTINGS:
        raise UsageError(f"these are {number:,} settings, more than {MOST_SETTINGS:,}", hint="try fewer values at once")
    return [dict(zip(ranges, values, strict=True)) for values in product(*ranges.values())]


def require_comparable(by: str, tried: Iterable[str], settings: Iterable[Settings]) -> None:
    """Raise `UsageError` unless the criterion can compare settings that differ in the parameters ``tried``, and judge each of them.

    Evidence, AIC and BIC measure how probable the counts are, so they do not compare settings with other counts. Leave-one-out uses terms that
    were selected with the label of the left-out document, so selections look far better than they are.
    """
    tried = set(tried)
    if by in OF_THE_SAME_COUNTS and (others := sorted(tried.difference(SHARING_COUNTS))):
        other_terms = "settings with other terms have other counts, whose probabilities do not compare"
        reason = other_terms if others[0] in UNLIKE_TERMS else f"it has no part in {by}"
        raise UsageError(f"--by {by} cannot compare --{others[0].replace('_', '-')}: {reason}", hint="use --by cross-validation")
    if by == "leave-one-out" and tried & {"top", "by"}:
        raise UsageError(
            "--by leave-one-out cannot compare --top or --by: terms are selected from all documents, those left out too",
            hint="use --by cross-validation",
        )
    for parameters in settings:
        require_supported(parameters)  # raises what training would raise
        if by in OF_THE_SAME_COUNTS:
            require_criteria(parameters)
        if by == "leave-one-out" and (parameters["classifier"], parameters["weighting"]) != ("multinomial", "counts"):
            raise UsageError(
                "leave-one-out is exact for --classifier multinomial --weighting counts only", hint="use --by cross-validation"
            )
        if by == "evidence" and "class_prior" in tried and parameters["class_prior"] in ("empirical", "smoothed:0"):
            raise UsageError(
                f"--class-prior {parameters['class_prior']} is maximum likelihood, which has no evidence to compare",
                hint="compare uniform, smoothed:A and files, or use --by bic",
            )


def judge_setting(by: str, subsets: Subsets, parameters: Settings, division: Division) -> dict[str, float | None]:
    """Return the figures of one setting over the whole corpus; raise `UsageError` as training does, or if the figure is not defined."""
    if by in OF_THE_SAME_COUNTS:
        return _of_counts(by, subsets, parameters)
    spread = {}
    if by == "leave-one-out":
        result = evaluate_leave_one_out(subsets.statistics, subsets.documents, parameters).result(Bootstrap(0))
    else:
        folds = stratified_folds(subsets.documents.classes, division.folds, np.random.default_rng(division.seed).spawn(1)[0])
        validation = cross_validate(subsets, parameters, [folds])
        result, of_folds = validation.result(Bootstrap(0)), validation.folds_result()
        spread = {"accuracy_sd": of_folds.accuracy.sd, "macro_f1_sd": of_folds.macro_f1.sd}
    return {"accuracy": result.accuracy, "macro_f1": result.macro_f1, "log_loss": result.log_loss, **spread}


def _of_counts(by: str, subsets: Subsets, parameters: Settings) -> dict[str, float | None]:
    sample = DocumentSample.of(subsets.documents, parameters["sample"])
    learnt = terms_and_smoothing(CorpusCounts(subsets.statistics, sample), parameters)
    figures = criteria(language_models(subsets.statistics, learnt, parameters), parameters)
    if by == "evidence" and figures.evidence_of_classes is None:
        raise UsageError("without a prior there is no evidence", hint="use a smoothing above 0 and no --estimate ml")
    value = getattr(figures, by)
    return {by: value if np.isfinite(value) else None, "smoothing": learnt.smoothing}


def best_first(by: str, trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials sorted by their criterion, of equal ones that with more macro F1, then the first; those without a figure last."""
    name, sign = (by, 1 if by in LEAST_IS_BEST else -1) if by in OF_THE_SAME_COUNTS else ("accuracy", -1)

    def order(trial: Trial) -> tuple[float, float, int]:
        value = trial.figures[name]
        return (np.inf if value is None else sign * value, -(trial.figures.get("macro_f1") or 0.0), trial.place)

    return sorted(trials, key=order)


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
