"""Terms that no language model of texts is over, told from those that are by how they begin: the values of categorical attributes.

The inflected words that a model may keep beside their stems are such terms too: values of an attribute without a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.attributes import BETWEEN_VALUES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.vocabulary import Vocabulary

FORMS = ""
"""The name of the attribute whose values are inflected words."""

_MARK = BETWEEN_VALUES
"""What begins the term of a category; no word of a text does."""


def has_categories(vocabulary: Vocabulary) -> bool:
    """Whether there are any: they come first."""
    return vocabulary.text.startswith(_MARK.encode())


def category_term(name: str, value: str) -> str:
    """The term of a value of a categorical attribute."""
    return f"{_MARK}{name}{_MARK}{value}"


def displayed_term(term: str) -> str:
    """A term as people read it: that of a category as ``name=value``, any other as it is."""
    return "=".join(term[1:].split(_MARK, 1)) if term.startswith(_MARK) else term


def is_category(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which terms are categories, shape (n_terms,)."""
    first = np.frombuffer(vocabulary.text, np.uint8)[vocabulary.bounds[:-1]]
    return np.append(first == ord(_MARK), np.zeros(len(vocabulary) - first.size, np.bool_))


def is_category_of(vocabulary: Vocabulary, name: str) -> NDArray[np.bool_]:
    """Which terms are the categories of one attribute, shape (n_terms,)."""
    begin = category_term(name, "")
    found = np.zeros(len(vocabulary), np.bool_)
    candidates = np.flatnonzero(is_category(vocabulary))
    found[candidates] = [vocabulary.term(number).startswith(begin) for number in candidates.tolist()]
    return found
