"""Settings to be tried: combinations of values that the user names, or a list of settings that are known to be good."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from math import prod
from typing import NamedTuple

from nbtext.compatibility import EXACT_CHANGE, require_compatible_settings
from nbtext.counts.counting import Analysis, check_word_settings
from nbtext.errors import UsageError, did_you_mean
from nbtext.settings import COUNTING_NAMES, TRAINING, Reading, Settings

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
"""Options of training by name: those of one analysis stand together, cheap analyses and cheap classifiers first.

Each is the best of all on one of the corpora in docs/models.md, or is nearly as good as the best and cheaper, smaller or updatable.
"""

MAX_SETTINGS = 1000

PARAMETERS = {parameter.name: parameter for parameter in TRAINING}

COUNTING_PARAMETERS = tuple(name for name in COUNTING_NAMES if name != "sample")
"""Settings that agree in these parameters have the same statistics and documents."""

Texts = Mapping[str, str | None]
"""Values as on the command line, by name of the parameter; None for a default that is nothing."""


class Candidate(NamedTuple):
    """Settings to be tried."""

    texts: Texts
    analysis: Analysis
    is_default: bool = False
    """True for the settings that training takes if nothing is tried."""

    def to_options(self) -> dict[str, str]:
        """Return what is tried as on the command line, by the names there."""
        return {
            name.replace("_", "-"): "none" if text is None else text
            for name, text in self.texts.items()
        }

    @property
    def name(self) -> str:
        """What is tried on one line, empty for nothing; no two candidates have the same name."""
        return " ".join(f"{name}={text}" for name, text in self.to_options().items())

    def to_arguments(self) -> list[str]:
        """Return what is tried as arguments of a command line."""
        options = {name: text for name, text in self.texts.items() if text is not None}
        return [
            part for name, text in options.items() for part in PARAMETERS[name].to_arguments(text)
        ]

    @property
    def settings(self) -> Settings:
        """The parameters of training, and how documents are read."""
        return self.analysis.settings

    @property
    def counting_key(self) -> str:
        """What decides the statistics and documents of the corpus."""
        return repr([self.settings[name] for name in COUNTING_PARAMETERS])

    def locate_problem(self, problem: UsageError) -> UsageError:
        """Return the reason why it cannot be tried, with its values."""
        if self.texts and problem.where is None:
            problem.where = f"with {self.name}"
        return problem


def make_candidates(
    tries: Sequence[str],
    given: Mapping[str, object],
    reading: Reading,
    value_of: Callable[[str, str], object],
) -> list[Candidate]:
    """Return the settings to try, no two of them equal, with the default first.

    These are the combinations of ``tries``, such as ``smoothing=0.1,1``, or if there are none the
    `PORTFOLIO`. The settings ``given`` hold for all.
    ``value_of`` returns the value that a text means for a parameter. Raises `UsageError` for a
    wrong value, and as `expand_combinations` does.
    """

    @cache
    def checked(name: str, text: str | None) -> object:
        parameter = PARAMETERS[name]
        return parameter.validate(parameter.default if text is None else value_of(name, text))

    def candidate(texts: Texts) -> Candidate:
        tried = {name: checked(name, text) for name, text in texts.items()}
        settings = replace(Settings.from_values({**given, **tried}), reading=reading)
        return Candidate(texts, Analysis.from_settings(settings), is_default=settings == default)

    default = replace(Settings.from_values(given), reading=reading)
    rows: Iterable[Texts] = expand_combinations(tries, given)
    if not tries:
        rows = [{name: row[name] for name in row if name not in given} for row in PORTFOLIO]
    found: dict[str, Candidate] = {}
    for each in map(candidate, [*rows, {}]):
        found.setdefault(repr(each.settings), each)
    return sorted(found.values(), key=lambda each: not each.is_default)


def expand_combinations(tries: Sequence[str], given: Mapping[str, object]) -> list[Texts]:
    """Return all combinations of ``tries``; the last parameter changes fastest.

    Raises `UsageError` for an unknown parameter, one that is both given and tried, or more than
    `MAX_SETTINGS`.
    """
    ranges: dict[str, list[str | None]] = {}
    for each in tries:
        name, equals, texts = each.partition("=")
        parameter = PARAMETERS.get(name.removeprefix("--").replace("-", "_"))
        if parameter is None or not equals:
            names = [known.key for known in TRAINING]
            raise UsageError(
                f"--try does not know {each!r}{did_you_mean(name, names)}",
                hint=f"give NAME=A,B with one of {', '.join(names)}",
            )
        if parameter.name in ranges:
            raise UsageError(
                f"--try {parameter.key} is given twice", hint="put all its values into one"
            )
        if parameter.name in given:
            raise UsageError(
                f"{parameter.display_name} and --try {parameter.key} exclude each other"
            )
        is_nothing = parameter.default is None
        values = [None if text == "none" and is_nothing else text for text in texts.split(",")]
        ranges[parameter.name] = list(dict.fromkeys(values))
    number = prod(map(len, ranges.values()))
    if number > MAX_SETTINGS:
        raise UsageError(
            f"these are {number:,} settings, more than {MAX_SETTINGS:,}",
            hint="try fewer values at once",
        )
    return [dict(zip(ranges, texts, strict=True)) for texts in product(*ranges.values())]


def select_trainable(
    candidates: Iterable[Candidate], *, updatable: bool = False
) -> tuple[list[Candidate], list[UsageError]]:
    """Return the candidates that can be trained, and why the others cannot.

    With ``updatable`` only models that are changed exactly are possible. The corpus may still show
    that one cannot be trained. Raises `UsageError` if none is left.
    """
    left: list[Candidate] = []
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
            left.append(candidate)
    if not left:
        raise problems[0]
    return left, problems
