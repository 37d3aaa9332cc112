"""Documents with attributes as counts: categories are terms of the vocabulary, which no text can hold, and numbers stand beside the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from nbtext.attributes import parted
from nbtext.counts.categories import category
from nbtext.counts.document_term import Postings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.attributes import Attributes


class TextCounter(Protocol):
    """Texts to postings."""

    def count(self, texts: Sequence[bytes]) -> Postings:
        """Counts of some texts."""


class AttributedTexts:
    """Counts the terms of documents as `Attributes.document` makes them, and takes their values along."""

    def __init__(self, texts: TextCounter, attributes: Attributes, term_ids: Callable[[list[str]], Sequence[int]]) -> None:
        self._texts, self._attributes, self._term_ids = texts, attributes, term_ids

    def count(self, texts: Sequence[bytes]) -> Postings:
        """Counts of some documents with their numbers. A category that is not known is as a missing one."""
        parts = [parted(text) for text in texts]
        missing = [""] * len(self._attributes.names)
        rows = [values if len(values) == len(missing) else missing for _, values in parts]
        postings = self._texts.count([text for text, _ in parts]).beside(self._categories(rows))
        numbers = range(len(self._attributes.categorical), len(self._attributes.names))
        values = np.array([[float(row[place]) if row[place] else np.nan for place in numbers] for row in rows], np.float64)
        return postings._replace(values=values.reshape(len(rows), len(numbers)))

    def _categories(self, rows: Sequence[Sequence[str]]) -> Postings:
        found = [
            (document, category(name, row[place]))
            for document, row in enumerate(rows)
            for place, name in enumerate(self._attributes.categorical)
            if row[place]
        ]
        documents = np.array([document for document, _ in found], np.int64)
        terms = np.array(self._term_ids([term for _, term in found]), np.int64)
        documents, terms = documents[terms >= 0], terms[terms >= 0]
        return Postings(terms, documents, np.ones_like(terms), np.zeros(len(rows), np.int64))
