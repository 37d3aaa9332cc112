"""What made each class impossible, for a document that has no class because maximum likelihood rules out all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.model.attribute_contributions import attribute_scores
from nbtext.model.contributions import ruling_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.model.located import LocatedWords
    from nbtext.model.text_classifier import TextClassifier

WORD, ATTRIBUTE, PRIOR, LACKING = "word", "attribute", "prior", "lacking"
"""What may rule a class out: a word; a value beside the text; the class prior; a word that every training document of the class has."""


class RuledOut(NamedTuple):
    """A class, and one thing that rules it out. There may be others."""

    label: str
    by: str
    """`WORD`, `ATTRIBUTE`, `PRIOR` or `LACKING`."""
    name: str | None = None
    """The first such word or words of the text, case-folded, or the name of the attribute."""
    term: str | None = None
    """The term that the words become."""
    value: str | None = None
    """The attribute's value."""


def ruled_out(model: TextClassifier, located: LocatedWords, matrix: DocumentTermMatrix, document: bytes) -> tuple[RuledOut, ...]:
    """One for each class, in the order of the classes; ``matrix`` holds the document alone."""
    terms = _in_order(located, matrix)
    by_term = ruling_out(model.classifier.of_texts, terms, len(model.classes_))
    by_value = [(name, value, scores == -np.inf) for name, value, scores in attribute_scores(model, matrix, document)]
    found = []
    for label, (of_class, place) in enumerate(zip(model.classes_, by_term.tolist(), strict=True)):
        values = [(name, value) for name, value, impossible in by_value if impossible[label]]
        if place >= 0:
            found.append(RuledOut(of_class, WORD, _words(located, terms[place]), model.statistics.vocabulary.term(int(terms[place]))))
        elif values:
            found.append(RuledOut(of_class, ATTRIBUTE, values[0][0], value=values[0][1]))
        else:
            found.append(RuledOut(of_class, LACKING if model.prior[label] > 0 else PRIOR))
    return tuple(found)


def _in_order(located: LocatedWords, matrix: DocumentTermMatrix) -> NDArray[np.int64]:
    """The terms of the document in the order of the words that they stand over."""
    terms = located.terms[np.argsort(located.words, kind="stable")]
    _, first = np.unique(terms, return_index=True)
    terms = terms[np.sort(first)]
    return terms[np.isin(terms, matrix.terms)]


def _words(located: LocatedWords, term: np.int64) -> str:
    """The surface words of the first occurrence of a term."""
    first = int(np.flatnonzero(located.terms == term)[0])
    size = max(round(1 / float(located.shares[first])), 1)
    return " ".join(located.names[word] for word in located.words[first : first + size].tolist())
