"""What a model knows of some words: the terms that they become, and for each class how often it was seen and how probable it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.language_model.credible_interval import credible_intervals
from nbtext.model.counting import analyzers
from nbtext.model.surface_forms import surface_forms
from nbtext.text.analyzer import UNKNOWN
from nbtext.text.char_ngrams import ANYTHING
from nbtext.text.ngrams import with_ngrams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.model.counting import TermIds
    from nbtext.model.text_classifier import TextClassifier


def term_details(model: TextClassifier, words: Sequence[str]) -> list[dict[str, Any]]:
    """For each word (or several, with what n-grams they make) its ``terms``, none for a stop word or what is no word.

    ``forms``: the words that a term stands for and how often each occurred, empty unless the model keeps them.
    Of each class: ``count`` m_jk, ``documents`` that hold it, ``probability`` φ_jk of the class language models, whatever the classifier, and
    its credible ``interval``. The last two are None for a term that training left out; a term that is not ``known`` has no classes.
    """
    forms = surface_forms(model)
    return [
        {
            "word": word,
            "terms": [
                {"term": name, "forms": dict(forms.get(term, [])), **_details(model, term)} for name, term in _terms_of(model, word).items()
            ],
        }
        for word in words
    ]


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


def _details(model: TextClassifier, term: int) -> dict[str, Any]:
    if term < 0:
        return {"known": False, "selected": False, "classes": {}}
    statistics, models, terms = model.statistics, model.language_models, np.array([term])
    selected = bool(models.selected[term])
    probability, interval = models.probability(terms)[0], credible_intervals(models, terms)[0]
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
