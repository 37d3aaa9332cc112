"""What a model knows of some words: the terms that they become, and for each class how often it was seen and how probable it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.classifiers.base import OF_TOKENS, TermProbabilities
from nbtext.counts.counting import analyzers
from nbtext.model.surface_forms import surface_forms
from nbtext.text.analyzer import UNKNOWN
from nbtext.text.ngrams import ANYTHING, with_ngrams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.counts.counting import TermIds
    from nbtext.model.text_classifier import TextClassifier


def term_details(model: TextClassifier, words: Sequence[str]) -> list[dict[str, Any]]:
    """For each word (or several, with what n-grams they make) its ``terms``, none for a stop word or what is no word.

    ``forms``: the words that a term stands for and how often each occurred, empty unless the model keeps them.
    Of each class: ``count`` m_jk, ``documents`` that hold it, ``probability`` and its credible ``interval``: those that ``probability_of``
    names. The last two are None for a term that training left out; a term that is not ``known`` has no classes.
    """
    forms, probabilities = surface_forms(model), term_probabilities(model)
    return [
        {
            "word": word,
            "probability_of": probability_of(probabilities),
            "terms": [
                {"term": name, "forms": dict(forms.get(term, [])), **_details(model, term, probabilities)}
                for name, term in _terms_of(model, word).items()
            ],
        }
        for word in words
    ]


def term_probabilities(model: TextClassifier) -> TermProbabilities:
    """Return the probabilities by which the classifier scores terms; for one that has none of the class itself, those of the language models."""
    found = model.classifier.of_texts.term_probabilities()
    if found is not None:
        return found
    return TermProbabilities.of_models(model.language_models, f"{OF_TOKENS}; {model.parameters['classifier']} does not score by it")


def probability_of(probabilities: TermProbabilities) -> dict[str, str]:
    """Return what these are probabilities of, as plain values."""
    return {"symbol": probabilities.symbol, "meaning": probabilities.meaning}


def _terms_of(model: TextClassifier, word: str) -> dict[str, int]:
    """The terms of a text as its documents' texts are analysed, with their numbers, negative for those that the model does not know.

    A name of counted features or of a character n-gram is the term as it stands. So is a stem, or an n-gram of stems, that the model prints and
    that is no stem of itself ("hors" becomes "hor"); in its place only those terms come along that the model knows.
    """
    word, vocabulary = word.encode("utf-8", "replace").decode(), model.statistics.vocabulary  # an argument may be bytes that are no text
    if model.reading["format"] == "svmlight" or (ANYTHING in word and model.parameters["char_ngrams"] is not None):
        return {word: vocabulary.find([word])[0]}
    names = _Names()
    numbers = _sequence(model, word, vocabulary)
    analysed = {names.found[name]: number for name, number in zip(_sequence(model, word, names), numbers, strict=True)}
    as_it_stands = int(vocabulary.find_terms([tuple(word.split(" "))])[0])
    if as_it_stands == UNKNOWN or as_it_stands in numbers:
        return analysed
    return {word: as_it_stands, **{name: number for name, number in analysed.items() if number != UNKNOWN}}


def _sequence(model: TextClassifier, text: str, vocabulary: TermIds) -> list[int]:
    """Words and their n-grams in order. Both vocabularies give as many, for an unknown n-gram has its place."""
    words = analyzers(model.parameters, model.stop_list, vocabulary)[0].sequence([text.encode()])
    terms: list[int] = with_ngrams(words, model.parameters["ngrams"], vocabulary.find_pairs).terms.tolist()
    return terms


class _Names:
    """A vocabulary that has a number for everything, to learn what the analyzer made of a text."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def find(self, terms: Sequence[str]) -> list[int]:
        """The number of each single term."""
        self.found += terms
        return list(range(len(self.found) - len(terms), len(self.found)))

    def find_pairs(self, left: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of each n-gram."""
        pairs = [f"{self.found[before]} {self.found[after]}" for before, after in zip(left.tolist(), last.tolist(), strict=True)]
        return np.array(self.find(pairs), np.int64)


def _details(model: TextClassifier, term: int, probabilities: TermProbabilities) -> dict[str, Any]:
    if term < 0:
        return {"known": False, "selected": False, "classes": {}}
    statistics, terms = model.statistics, np.array([term])
    selected = bool(probabilities.selected[term])
    probability = probabilities.probability(terms)[0]
    interval = np.full((probability.size, 2), np.nan) if probabilities.intervals is None else probabilities.intervals(terms)[0]
    return {
        "known": True,
        "selected": selected,
        "classes": {
            label: {
                "count": count,
                "documents": documents,
                "probability": probability.tolist()[k] if selected else None,
                "interval": interval[k].tolist() if selected and np.isfinite(interval[k]).all() else None,
            }
            for k, (label, count, documents) in enumerate(
                zip(statistics.classes, statistics.counts_of(terms)[0].tolist(), statistics.documents_of(terms)[0].tolist(), strict=True)
            )
        },
    }
