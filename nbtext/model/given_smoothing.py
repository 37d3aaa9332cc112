"""Pseudo-counts given word by word: how they are read, and which terms of a model the words are.

A word becomes a term as it would in a document, so the line of "printers" is that of the term "printer"; one of several words is that of
the n-gram. A name of counted features, or of a character n-gram such as "un*", is the term as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtext.classifiers.registry import classifier_class
from nbtext.corpus.lines import read_named_numbers
from nbtext.errors import PathError, UsageError, counted
from nbtext.language_model.dirichlet import OwnPseudoCounts
from nbtext.settings import ALL_OTHERS
from nbtext.text.analyzer import UNKNOWN, Analyzer
from nbtext.text.ngrams import ANYTHING
from nbtext.text.stemming import stemmer
from nbtext.text.words import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.counts.vocabulary import Vocabulary

Term = tuple[str, ...]
"""A single term, or the terms of an n-gram."""


def read_smoothing(value: str | None) -> Any:  # noqa: ANN401 - what the parameter table takes
    """What an option says: a name or a number as it is, or the pseudo-counts by word of a file with lines of a word, a tab and a number.

    Raises `UsageError` if there is no such name or file, `PathError` for a file that cannot be read or does not say what all others have.
    """
    if value is None or value in ("auto", "leave-one-out") or _is_number(value):
        return value
    numbers = read_named_numbers(value, "a term")
    if numbers is None:
        raise UsageError(f"--smoothing knows no {value!r}", hint="use auto, leave-one-out, a number or a file")
    if ALL_OTHERS not in numbers:
        raise PathError(f"no line says what all other terms have, {ALL_OTHERS!r}", where=value, hint="add one: *, a tab and a number")
    return numbers


@dataclass(frozen=True)
class GivenSmoothing:
    """Pseudo-counts of some terms, whether a vocabulary holds them or not, and that of all others."""

    others: float
    own: Mapping[Term, float]

    def over(self, vocabulary: Vocabulary) -> OwnPseudoCounts:
        """Those of the terms that there are."""
        return OwnPseudoCounts.of_terms(
            {
                number: pseudo_count
                for number, pseudo_count in zip(vocabulary.find_terms(list(self.own)).tolist(), self.own.values(), strict=True)
                if number != UNKNOWN
            },
            self.others,
        )


def looked_up(parameters: Mapping[str, Any], stop_list: Sequence[str], reading: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters as `nbtext.model.estimation` takes them: with a `GivenSmoothing` where they have pseudo-counts by word.

    Raises `UsageError` for a word that is no term, for two that are the same one and have different numbers, and for a classifier or a shape of
    the prior that does not go with them.
    """
    numbers = parameters["smoothing"]
    if not isinstance(numbers, dict):
        return parameters
    if not classifier_class(parameters["classifier"]).TAKES_OWN_PSEUDO_COUNTS:
        hint = "give --smoothing one number"
        raise UsageError(f"--classifier {parameters['classifier']} does not take pseudo-counts by term", hint=hint)
    if parameters["prior_shape"] != "symmetric":
        setting = f"--prior-shape {parameters['prior_shape']}"
        raise UsageError(f"{setting} and pseudo-counts by term exclude each other", hint="the numbers themselves are the shape")
    named = [word for word in numbers if word != ALL_OTHERS]
    own: dict[Term, float] = {}
    first: dict[Term, str] = {}
    for word, term in zip(named, _terms(named, parameters, stop_list, reading), strict=True):
        if own.setdefault(term, numbers[word]) != numbers[word]:
            hint = "give one of them, or both the same"
            raise UsageError(f"--smoothing has two numbers for {' '.join(term)!r}, by {first[term]!r} and {word!r}", hint=hint)
        first.setdefault(term, word)
    return {**parameters, "smoothing": GivenSmoothing(numbers[ALL_OTHERS], own)}


def _terms(named: list[str], parameters: Mapping[str, Any], stop_list: Sequence[str], reading: Mapping[str, Any]) -> list[Term]:
    if reading["format"] == "svmlight":
        return [(word,) for word in named]
    known: dict[str, int] = {}
    stem = stemmer(parameters["stemmer"], parameters["language"])
    analyzer = Analyzer(stop_list, stem, lambda terms: [known.setdefault(term, len(known)) for term in terms])
    sequence = analyzer.sequence([word.encode() for word in named])
    names = list(known)
    found: list[list[str]] = [[] for _ in named]
    for place, term in zip(sequence.documents.tolist(), sequence.terms.tolist(), strict=True):
        found[place].append(names[term])
    return [_checked(word, tuple(terms), parameters) for word, terms in zip(named, found, strict=True)]


def _checked(word: str, term: Term, parameters: Mapping[str, Any]) -> Term:
    """The term of a word; raises `UsageError` if no document could hold it."""
    if ANYTHING in word:
        if parameters["char_ngrams"] is None:
            raise UsageError(f"--smoothing names {word!r}, and no term has an asterisk", hint="only * alone stands for all other terms")
        return (word,)
    if not term:
        why = "it is a stop word" if words(word) else "there is no word in it"
        raise UsageError(f"--smoothing names {word!r}, which is no term: {why}", hint="leave it out")
    if len(term) > parameters["ngrams"]:
        hint = f"train with --ngrams {len(term)}" if len(term) <= 10 else "leave it out"
        raise UsageError(f"--smoothing names {word!r}, which is {counted(len(term), 'term')}", hint=hint)
    return term


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
