"""Counting a stream of labelled documents: from postings to the statistics of the corpus."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.attributes import NO_ATTRIBUTES
from nbtext.counts.document_term import run_starts
from nbtext.counts.statistics import Frozen, from_cells
from nbtext.counts.vocabulary import GrowingVocabulary
from nbtext.text.key_table import KeyTable, pair, unpair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.attributes import Attributes
    from nbtext.counts.document_term import Postings
    from nbtext.counts.moments import Moments


class StatisticsBuilder:
    """Sums the postings of a stream of labelled documents. Memory grows with vocabulary × classes it occurs in, not with documents."""

    def __init__(self, attributes: Attributes = NO_ATTRIBUTES) -> None:
        self.vocabulary = GrowingVocabulary()
        self._attributes = attributes
        self._moments = _no_moments(attributes)
        self._classes: dict[str, int] = {}
        self._class_documents = np.zeros(16, np.int64)
        self._cells = KeyTable(bits=18)
        self._counts = np.zeros(1 << 16, np.int64)
        self._documents = np.zeros(1 << 16, np.int64)

    @property
    def labels(self) -> list[str]:
        """The label of each class number handed out."""
        return list(self._classes)

    def add(self, postings: Postings, labels: Sequence[str]) -> NDArray[np.int64]:
        """Count documents and return their class numbers; the ids of the terms are those of this builder's vocabulary."""
        classes = np.array([self._classes.setdefault(label, len(self._classes)) for label in labels], np.int64)
        self._class_documents = _grown(self._class_documents, len(self._classes))
        np.add.at(self._class_documents, classes, 1)
        self.add_cells(postings, classes)
        if self._moments is not None and postings.values is not None:
            self._moments = self._moments.and_of(postings.values, classes, len(self._classes))
        return classes

    def add_cells(self, postings: Postings, classes: NDArray[np.int64]) -> None:
        """Count further terms of documents that were counted, given the class numbers of these."""
        of_postings = classes.take(postings.documents)
        begins = run_starts(postings.terms, of_postings)
        cells = self._cells.intern(pair(postings.terms.take(begins), of_postings.take(begins)))
        self._counts, self._documents = _grown(self._counts, len(self._cells) + 1), _grown(self._documents, len(self._cells) + 1)
        np.add.at(self._counts, cells, np.add.reduceat(postings.counts, begins))
        np.add.at(self._documents, cells, np.diff(begins, append=of_postings.size))

    def freeze(self) -> Frozen:
        """What has been counted. It ends the counting: the tables go as they are used up, for they are as large as what comes of them."""
        vocabulary, final_term = self.vocabulary.freeze()
        classes = sorted(self._classes)
        first_order = np.array([self._classes[label] for label in classes], np.int64)
        final_class = np.empty(len(classes), np.int64)
        final_class[first_order] = np.arange(len(classes))
        terms, labels = unpair(self._cells.keys)
        self._cells = KeyTable()
        keys = pair(final_term[terms], final_class[labels])
        del terms, labels
        order = np.argsort(keys)
        cells = order + 1  # their ids
        statistics, numbers = from_cells(
            vocabulary, classes, self._class_documents[first_order], keys[order], self._counts[cells], self._documents[cells]
        )
        moments = self._moments and self._moments.of_classes(first_order)
        return Frozen(replace(statistics, attributes=self._attributes, moments=moments), numbers.after(final_term, final_class))


def _no_moments(attributes: Attributes) -> Moments | None:
    if not attributes.numbers:
        return None
    from nbtext.counts.moments import Moments

    return Moments.zero(0, len(attributes.numbers))


def _grown(array: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The array, with room for ``size`` elements, zeros in the new ones."""
    if size <= array.size:
        return array
    grown = np.zeros(2 * size, np.int64)
    grown[: array.size] = array
    return grown
