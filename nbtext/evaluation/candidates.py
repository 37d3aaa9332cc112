"""The settings that `nbtext tune` tries: combinations that the user names, or the `PORTFOLIO`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from math import prod
from typing import NamedTuple

from nbtext.compatibility import EXACT_CHANGE, require_compatible_settings
from nbtext.counts.counting import Analysis, check_word_settings
from nbtext.errors import UsageError, did_you_mean
from nbtext.settings import COUNTING_NAMES, RENAMED_PARAMETERS, TRAINING, Reading, Settings

# Training options by name, which the entries of `PORTFOLIO` share.
BIGRAMS = {"ngrams": "2", "min_df": "2", "stop_words": "none"}
CHARACTERS = {"char_ngrams": "2-5", "min_df": "2", "stop_words": "none"}
ALL_WORDS = {"stop_words": "none"}
TFIDF_COMPLEMENT = {"classifier": "complement", "weighting": "tfidf"}

LOGISTIC = {"classifier": "logistic"}
AVERAGE = {"classifier": "average"}

PORTFOLIO: tuple[Mapping[str, str], ...] = (
    {},
    {"weighting": "binary"},
    {"classifier": "bernoulli"},
    {"weighting": "log", "min_df": "2"},
    TFIDF_COMPLEMENT,
    LOGISTIC,
    AVERAGE,
    {**BIGRAMS, "weighting": "binary"},
    {**BIGRAMS, **TFIDF_COMPLEMENT},
    {**BIGRAMS, **LOGISTIC},
    {**BIGRAMS, **AVERAGE},
    {**ALL_WORDS, "weighting": "binary"},
    {**ALL_WORDS, "classifier": "bernoulli"},
    {**ALL_WORDS, **LOGISTIC},
    {**ALL_WORDS, **AVERAGE},
    {**CHARACTERS, "weighting": "binary"},
    {**CHARACTERS, **TFIDF_COMPLEMENT},
    {**CHARACTERS, **LOGISTIC},
    {**CHARACTERS, **AVERAGE},
)
"""Settings that are known to be good, as training options by name.

Each entry is the best on a corpus in docs/models.md, or it is nearly the best there, and its model
is cheaper, smaller or updatable. Entries with the same analysis of texts are adjacent, and entries
with the cheapest analysis are first.
"""

MAX_SETTINGS = 1000

PARAMETERS = {parameter.name: parameter for parameter in TRAINING}

COUNTING_PARAMETERS = tuple(name for name in COUNTING_NAMES if name != "keep_documents")
"""Settings with equal values of these parameters have the same counts of all documents."""

RawValues = Mapping[str, str | None]
"""Values by parameter name, as on the command line. The option's text for None is "none"."""


class Candidate(NamedTuple):
    """Settings to try."""

    raw_values: RawValues
    """The values that differ between candidates."""
    analysis: Analysis
    is_default: bool = False
    """True for the settings of `nbtext train` without ``raw_values``."""

    def to_options(self) -> dict[str, str]:
        """Return ``raw_values`` by option names without leading hyphens."""
        return {
            name.replace("_", "-"): "none" if text is None else text
            for name, text in self.raw_values.items()
        }

    @property
    def name(self) -> str:
        """``raw_values`` on one line, unique among candidates."""
        return " ".join(f"{name}={text}" for name, text in self.to_options().items())

    def to_arguments(self) -> list[str]:
        """Return ``raw_values`` as arguments of a command line."""
        arguments = []
        for name, text in self.raw_values.items():
            if text is not None:
                arguments += PARAMETERS[name].to_arguments(text)
        return arguments

    @property
    def settings(self) -> Settings:
        """Training parameters and input settings."""
        return self.analysis.settings

    @property
    def counting_key(self) -> str:
        """A text that is equal for candidates with equal `COUNTING_PARAMETERS`."""
        return repr([self.settings[name] for name in COUNTING_PARAMETERS])

    def locate_problem(self, problem: UsageError) -> UsageError:
        """Add the candidate's name to ``problem`` in place, and return ``problem``."""
        if self.raw_values and problem.where is None:
            problem.where = f"with {self.name}"
        return problem


def make_candidates(
    tries: Sequence[str],
    fixed_values: Mapping[str, object],
    reading: Reading,
    parse_value: Callable[[str, str], object],
) -> list[Candidate]:
    """Return the settings to try, without duplicates, with the default first.

    Settings to try are all combinations of ``tries``, such as ``smoothing=0.1,1``. Without
    ``tries``, they are the `PORTFOLIO`. All settings have the ``fixed_values``. ``parse_value``
    converts the name and the text of a parameter to its value.

    Raise `UsageError` for an invalid value, and if `expand_combinations` raises it.
    """

    @cache
    def parse(name: str, text: str | None) -> object:
        parameter = PARAMETERS[name]
        value = parameter.default if text is None else parse_value(name, text)
        return parameter.validate(value)

    def make_settings(raw_values: RawValues) -> Settings:
        values = {name: parse(name, text) for name, text in raw_values.items()}
        return replace(Settings.from_values({**fixed_values, **values}), reading=reading)

    default = make_settings({})
    combinations: list[RawValues]
    if tries:
        combinations = expand_combinations(tries, fixed_values)
    else:
        combinations = [
            {name: text for name, text in entry.items() if name not in fixed_values}
            for entry in PORTFOLIO
        ]
    combinations.append({})  # the default
    candidates: dict[str, Candidate] = {}  # by their settings, the first combination of each
    for combination in combinations:
        raw_values = _drop_idle_values(combination, make_settings(combination).classifier_names)
        settings = make_settings(raw_values)
        candidate = Candidate(
            raw_values, Analysis.from_settings(settings), is_default=settings == default
        )
        candidates.setdefault(repr(candidate.settings), candidate)
    # The sort is stable: candidates after the default keep their order.
    return sorted(candidates.values(), key=lambda candidate: not candidate.is_default)


def _drop_idle_values(raw_values: RawValues, classifiers: Collection[str]) -> RawValues:
    """Return the values without parameters that none of the classifiers uses.

    So combinations that differ only in these are equal. Without a value for the classifier, all
    values remain, and training warns of them.
    """
    if "classifier" not in raw_values:
        return raw_values
    return {
        name: text
        for name, text in raw_values.items()
        if PARAMETERS[name].only_for in (None, *classifiers)
    }


def expand_combinations(
    tries: Sequence[str], fixed_values: Mapping[str, object]
) -> list[RawValues]:
    """Return all combinations of ``tries``, in which the last parameter changes fastest.

    Raise `UsageError` for an unknown parameter, a repeated parameter, a parameter that is both
    fixed and tried, and for more than `MAX_SETTINGS` combinations.
    """
    ranges: dict[str, list[str | None]] = {}
    for argument in tries:
        name, equals_sign, text_list = argument.partition("=")
        written_name = name.removeprefix("--").replace("-", "_")
        parameter = PARAMETERS.get(RENAMED_PARAMETERS.get(written_name, written_name))
        if parameter is None:
            keys = [parameter.key for parameter in TRAINING]
            raise UsageError(
                f"--try does not know {name!r}{did_you_mean(name, keys)}",
                hint=f"use NAME=A,B with one of {', '.join(keys)}",
            )
        if not equals_sign:
            raise UsageError(
                f"--try {name} needs values",
                hint="write the values to try, such as --try smoothing=0.1,1",
            )
        if parameter.name in ranges:
            raise UsageError(
                f"--try {parameter.key} is given twice", hint="put all its values into one"
            )
        if parameter.name in fixed_values:
            raise UsageError(f"{parameter.display_name} cannot be used with --try {parameter.key}")
        accepts_none = parameter.default is None
        texts = [None if text == "none" and accepts_none else text for text in text_list.split(",")]
        ranges[parameter.name] = list(dict.fromkeys(texts))  # without duplicates
    n_settings = prod(len(texts) for texts in ranges.values())
    if n_settings > MAX_SETTINGS:
        raise UsageError(
            f"these are {n_settings:,} settings, more than {MAX_SETTINGS:,}",
            hint="try fewer values at once",
        )
    combinations = product(*ranges.values())
    return [dict(zip(ranges, combination, strict=True)) for combination in combinations]


def select_trainable(
    candidates: Iterable[Candidate], *, updatable: bool = False
) -> tuple[list[Candidate], list[UsageError]]:
    """Return the candidates with compatible settings, and the errors of all other candidates.

    With ``updatable``, models must also allow exact updates. Settings that are compatible may
    still fail on a corpus.

    Raise the first error if no candidate has compatible settings.
    """
    trainable: list[Candidate] = []
    problems: list[UsageError] = []
    for candidate in candidates:
        try:
            check_word_settings(candidate.settings)
            require_compatible_settings(candidate.settings)
            if updatable:
                require_compatible_settings(candidate.settings, EXACT_CHANGE)
        except UsageError as problem:
            problems.append(candidate.locate_problem(problem))
        else:
            trainable.append(candidate)
    if not trainable:
        raise problems[0]
    return trainable, problems
