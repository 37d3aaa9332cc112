"""Settings to be tried: combinations of values that the user names, or a portfolio of settings that are known to be good."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from math import prod
from typing import NamedTuple

from nbtext.counts.counting import require_words
from nbtext.errors import UsageError, did_you_mean
from nbtext.exclusions import EXACT_CHANGE, require_fitting
from nbtext.settings import COUNTING, TRAINING, Reading, Settings

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

MOST_SETTINGS = 1000

PARAMETERS = {parameter.name: parameter for parameter in TRAINING}

COUNTED_ALIKE = tuple(name for name in COUNTING if name != "sample")
"""Settings that agree in these parameters have the same statistics and documents."""


class Candidate(NamedTuple):
    """Settings to be judged."""

    texts: dict[str, str | None]
    """Values as on the command line, by name of the parameter; None for a default that is nothing."""
    settings: Settings

    def spelt(self) -> dict[str, str]:
        """Return what is tried as on the command line, by the names there."""
        return {name.replace("_", "-"): "none" if text is None else text for name, text in self.texts.items()}

    def arguments(self) -> list[str]:
        """Return what is tried as arguments of a command line."""
        return [part for name, text in self.texts.items() if text is not None for part in (f"--{name.replace('_', '-')}", text)]

    def texts_of_counting(self) -> dict[str, str | None]:
        """Return those of the texts that decide how documents are counted."""
        return {name: text for name, text in self.texts.items() if name in COUNTED_ALIKE}

    def analysis(self) -> tuple[object, ...]:
        """Return what decides the statistics and documents of the corpus."""
        return tuple(self.settings[name] for name in COUNTED_ALIKE)

    @property
    def expansion(self) -> float:
        """Terms of a document in about as many as single words: what longer documents are made of by n-grams."""
        return float(self.settings.ngrams**1.5) + (0 if self.settings.char_ngrams is None else 14)


class Values:
    """The values of options of training: checked beside those of ``base``, which hold for all candidates.

    ``value_of`` returns the value that a text means for a parameter.
    """

    def __init__(self, base: Mapping[str, object], value_of: Callable[[str, str], object]) -> None:
        def checked(name: str, text: str | None) -> object:
            parameter = PARAMETERS[name]
            return parameter.checked(parameter.default if text is None else value_of(name, text))

        self.base = base
        self._checked = cache(checked)

    def candidate(self, texts: Mapping[str, str | None]) -> Candidate:
        """Return the candidate of these texts by parameter; raise `UsageError` for a wrong value."""
        return Candidate(dict(texts), Settings.of({**self.base, **{name: self._checked(name, text) for name, text in texts.items()}}))


def _portfolio(values: Values) -> list[Candidate]:
    """Return the candidates of `PORTFOLIO`, without those that are equal to one before; what the user gave holds for all."""
    candidates: list[Candidate] = []
    for row in PORTFOLIO:
        candidate = values.candidate({name: text for name, text in row.items() if name not in values.base})
        if all(candidate.settings != before.settings for before in candidates):
            candidates.append(candidate)
    return candidates


def combinations(tries: Sequence[str], values: Values) -> list[Candidate]:
    """Return all combinations of ``tries``, such as ``smoothing=0.1,1``, each checked; the last parameter changes fastest.

    Raises `UsageError` for an unknown parameter, one that is both set and tried, a wrong value, or more than `MOST_SETTINGS`.
    """
    ranges: dict[str, list[str | None]] = {}
    for given in tries:
        name, equals, texts = given.partition("=")
        parameter = PARAMETERS.get(name.removeprefix("--").replace("-", "_"))
        if parameter is None or not equals:
            names = [known.option[2:] for known in TRAINING]
            raise UsageError(
                f"--try does not know {given!r}{did_you_mean(name, names)}", hint=f"give NAME=A,B with one of {', '.join(names)}"
            )
        if parameter.name in ranges:
            raise UsageError(f"--try {parameter.option[2:]} is given twice", hint="put all its values into one")
        if parameter.name in values.base:
            raise UsageError(f"{parameter.option} and --try {parameter.option[2:]} exclude each other")
        is_nothing = parameter.default is None
        ranges[parameter.name] = list(dict.fromkeys(None if text == "none" and is_nothing else text for text in texts.split(",")))
    number = prod(map(len, ranges.values()))
    if number > MOST_SETTINGS:
        raise UsageError(f"these are {number:,} settings, more than {MOST_SETTINGS:,}", hint="try fewer values at once")
    return [values.candidate(dict(zip(ranges, texts, strict=True))) for texts in product(*ranges.values())]


class Impossible(NamedTuple):
    """A candidate that cannot be judged, and why."""

    candidate: Candidate
    problem: UsageError

    def named(self) -> UsageError:
        """Return the problem with the values that have it."""
        if self.candidate.texts and self.problem.where is None:
            self.problem.where = "with " + " ".join(f"{name}={text}" for name, text in self.candidate.spelt().items())
        return self.problem


def candidates_for(
    tries: Sequence[str], values: Values, reading: Reading, *, halves: bool, updatable: bool
) -> tuple[list[Candidate], list[Impossible]]:
    """Return the candidates that ``tries`` name, or within limits without any those of `PORTFOLIO`, and those of them that are left out.

    Raises `UsageError` as `combinations` and `possible` do.
    """
    return possible(_portfolio(values) if halves and not tries else combinations(tries, values), reading, updatable=updatable)


def possible(candidates: Iterable[Candidate], reading: Reading, *, updatable: bool = False) -> tuple[list[Candidate], list[Impossible]]:
    """Return the candidates that can be judged, with ``updatable`` those alone that are updated exactly, and those left out.

    The corpus may still show that one cannot be judged. Raises `UsageError` if none is left.
    """
    left: list[Candidate] = []
    out: list[Impossible] = []
    for candidate in candidates:
        try:
            require_words(replace(candidate.settings, reading=reading))
            require_fitting(candidate.settings)
            if updatable:
                require_fitting(candidate.settings, EXACT_CHANGE)
            left.append(candidate)
        except UsageError as problem:
            out.append(Impossible(candidate, problem))
    if not left:
        raise out[0].named()
    return left, out
