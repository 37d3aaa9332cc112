"""Statistics under other labels: classes renamed, or several made one; and single documents under labels of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.counts.documents import CountedDocuments
from nbtext.counts.statistics import from_cells
from nbtext.ragged import offsets
from nbtext.text.key_table import pair, unpair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.counts.statistics import ClassStatistics


class Relabelled(NamedTuple):
    """Statistics, and for each old class the number of its new one."""

    statistics: ClassStatistics
    numbers: NDArray[np.int64]


def statistics_under(statistics: ClassStatistics, labels: Sequence[str]) -> Relabelled:
    """The statistics of the same documents if each class had the label given for it; classes of the same label become one."""
    classes, numbers = _numbered(labels)
    keys, inverse = np.unique(pair(statistics.cell_terms, numbers[statistics.cell_classes]), return_inverse=True)
    terms, cell_classes = unpair(keys)
    sums = [np.zeros(keys.size, np.int64), np.zeros(keys.size, np.int64), np.zeros(len(classes), np.int64)]
    np.add.at(sums[0], inverse, statistics.cell_counts)
    np.add.at(sums[1], inverse, statistics.cell_documents)
    np.add.at(sums[2], numbers, statistics.class_documents)
    regrouped = replace(
        statistics,
        classes=classes,
        class_documents=sums[2],
        term_offsets=offsets(np.bincount(terms, minlength=statistics.n_terms)),
        cell_classes=cell_classes,
        cell_counts=sums[0],
        cell_documents=sums[1],
        moments=statistics.moments and statistics.moments.scattered(numbers, len(classes)),
    )
    return Relabelled(regrouped, numbers)


class Recounted(NamedTuple):
    """Statistics, and the documents that they are of, numbered as in them."""

    statistics: ClassStatistics
    documents: CountedDocuments


def documents_under(statistics: ClassStatistics, documents: CountedDocuments, labels: Sequence[str]) -> Recounted:
    """The statistics of some documents, each under the label given for it.

    ``statistics`` are those of a corpus of which the documents are a part; only vocabulary and attributes are taken from them.
    """
    classes, numbers = _numbered(labels)
    matrix, vocabulary = documents.matrix, statistics.vocabulary
    keys, cells = np.unique(pair(matrix.terms, np.repeat(numbers, matrix.entries)), return_inverse=True)
    counts = np.zeros(keys.size, np.int64)
    np.add.at(counts, cells, matrix.counts)
    moments = statistics.moments
    if moments is not None and matrix.values is not None:
        moments = type(moments).of(matrix.values, numbers, len(classes))
    of_class = np.bincount(numbers, minlength=len(classes))
    found, places = from_cells(vocabulary, classes, of_class, keys, counts, np.bincount(cells, minlength=keys.size))
    under = CountedDocuments(matrix, numbers, documents.hashes).renumbered(places)
    return Recounted(replace(found, attributes=statistics.attributes, moments=moments), under)


def _numbered(labels: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The different labels, sorted, and for each of those given its number."""
    classes = tuple(sorted(set(labels)))
    number = {label: place for place, label in enumerate(classes)}
    return classes, np.array([number[label] for label in labels], np.int64)
