"""The words of a term as they stand in texts, where the model keeps them (``--surface-forms``)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.categories import FORMS, category, is_category_of
from nbtext.model.attributes import term_name
from nbtext.text.hashing import unpair
from nbtext.text.stemming import stemmer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.model.text_classifier import TextClassifier

Forms = list[tuple[str, int]]


def surface_forms(model: TextClassifier) -> dict[int, Forms]:
    """For each term with inflected words these and the term itself, each with how often it occurs, most frequent first; by number of the term.

    The term itself occurs as often as it was counted without an inflection. Empty for a model that does not keep them.
    """
    statistics = model.statistics
    if not model.parameters["surface_forms"]:
        return {}
    vocabulary, counts = statistics.vocabulary, statistics.term_counts
    numbers = np.flatnonzero(is_category_of(vocabulary, FORMS)).tolist()
    words = [vocabulary.term(number).removeprefix(category(FORMS, "")) for number in numbers]
    terms = vocabulary.find(stemmer(model.parameters["stemmer"], model.parameters["language"])(words))
    found: dict[int, Forms] = defaultdict(list)
    for number, word, term in zip(numbers, words, terms, strict=True):
        if term >= 0:  # a pruned model may keep an inflection of a term that is gone
            found[term].append((word, int(counts[number])))
    for term, forms in found.items():
        itself = int(counts[term]) - sum(count for _, count in forms)
        if itself > 0:
            forms.append((vocabulary.term(term), itself))
        forms.sort(key=lambda form: (-form[1], form[0]))
    return found


def most_frequent_forms(model: TextClassifier) -> dict[int, str]:
    """The most frequent of them for each such term, the first in the alphabet of equals."""
    return {term: forms[0][0] for term, forms in surface_forms(model).items()}


def as_words(model: TextClassifier, terms: Sequence[int]) -> list[str]:
    """Some terms with the most frequent word in place of each stem, n-grams word by word; what is no word, such as a category, as it is called."""
    vocabulary, words = model.statistics.vocabulary, most_frequent_forms(model)

    def as_word(number: int) -> str:
        if number < vocabulary.n_single:
            return words.get(number) or term_name(model, number)
        left, last = unpair(vocabulary.pairs[number - vocabulary.n_single : number - vocabulary.n_single + 1])
        return f"{as_word(int(left[0]))} {as_word(int(last[0]))}"

    return [as_word(term) for term in terms]
