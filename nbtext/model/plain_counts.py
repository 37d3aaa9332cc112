"""A corpus's counts as the arrays of a model file, and back. What comes from a file is checked for meaning."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.documents import MOST_ENTRIES, MOST_TERMS, CountedDocuments, DocumentSample
from nbtext.counts.matrix import DocumentTermMatrix
from nbtext.counts.statistics import ClassStatistics
from nbtext.counts.vocabulary import Vocabulary
from nbtext.model.plain import narrow, require, row_bounds, utf8, whole
from nbtext.ragged import offsets
from nbtext.text.hashing import unpair

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.attributes import Attributes

COUNTS_ARRAYS = frozenset({
    "terms", "term_lengths", "ngrams", "term_cells", "cell_classes", "cell_counts", "cell_documents",
    "classes", "class_lengths", "class_documents",
    "sample_hashes", "sample_classes", "sample_entries", "sample_terms", "sample_counts",
})  # fmt: skip

VALUES = frozenset({"values", "value_sums", "sample_values"})
"""The arrays of numbers beside the texts, where there are any."""


def counts_to_plain(counts: CorpusCounts) -> dict[str, NDArray[Any]]:
    """Arrays, each in the narrowest type that holds it."""
    statistics, documents = counts.statistics, counts.sample.documents
    classes = [label.encode() for label in statistics.classes]
    if statistics.moments is None:
        values = {}
    else:
        from nbtext.model.plain_values import values_to_plain

        values = values_to_plain(statistics.moments, documents.matrix.values)
    return {
        "terms": np.frombuffer(statistics.vocabulary.text, np.uint8),
        "term_lengths": narrow(np.diff(statistics.vocabulary.bounds)),
        "ngrams": statistics.vocabulary.pairs,
        "term_cells": narrow(np.diff(statistics.term_offsets)),
        "cell_classes": narrow(statistics.cell_classes),
        "cell_counts": narrow(statistics.cell_counts),
        "cell_documents": narrow(statistics.cell_documents),
        "classes": np.frombuffer(b"".join(classes), np.uint8),
        "class_lengths": narrow(np.array([len(label) for label in classes])),
        "class_documents": narrow(statistics.class_documents),
        "sample_hashes": documents.hashes,
        "sample_classes": narrow(documents.classes),
        "sample_entries": narrow(documents.matrix.entries),
        "sample_terms": narrow(documents.matrix.terms),
        "sample_counts": narrow(documents.matrix.counts),
        **values,
    }


def counts_from_plain(part: Mapping[str, NDArray[Any]], sample_size: int, sample_bound: int, attributes: Attributes) -> CorpusCounts:
    """The counts that all of `COUNTS_ARRAYS` and `VALUES` describe; raises `ModelError` unless training could have made them."""
    statistics = _statistics(part)
    if attributes.numbers:
        from nbtext.model.plain_values import moments_from_plain

        statistics = replace(statistics, moments=moments_from_plain(part, statistics.class_documents, attributes))
    else:
        require(not any(part[name].size for name in VALUES), "it has values of no attribute")
    statistics = replace(statistics, attributes=attributes)
    return CorpusCounts(statistics, _sample(part, statistics, sample_size, sample_bound))


def _sample(part: Mapping[str, NDArray[Any]], statistics: ClassStatistics, size: int, bound: int) -> DocumentSample:
    require(part["sample_hashes"].dtype.kind == "u", "its sample's hashes are not whole numbers")
    hashes, entries = part["sample_hashes"].astype(np.uint64), offsets(whole(part["sample_entries"]))
    classes, terms, counts = (whole(part[name]) for name in ("sample_classes", "sample_terms", "sample_counts"))
    require(hashes.size == classes.size == entries.size - 1 <= min(size, statistics.n_documents), "its sample does not fit its size")
    require(entries[-1] == terms.size == counts.size <= MOST_ENTRIES, "its sample does not fit its terms")
    require(
        classes.max(initial=0) < statistics.n_classes and terms.max(initial=-1) < statistics.n_terms,
        "its sample has unknown terms or classes",
    )
    require(np.diff(entries).max(initial=0) <= MOST_TERMS and counts.min(initial=1) >= 1, "its sample holds impossible documents")
    rising = np.diff(terms) > 0
    inner = entries[1:-1]
    rising[inner[(inner > 0) & (inner < terms.size)] - 1] = True
    require(bool(rising.all()) and bool(np.all(hashes[1:] >= hashes[:-1])), "its sample is not sorted")
    require(not hashes.size or int(hashes[-1]) <= bound, "its sample exceeds its bound")
    matrix = DocumentTermMatrix(entries, terms, counts, np.zeros(classes.size, np.int64))
    if statistics.moments is not None:
        from nbtext.model.plain_values import sample_values_from_plain

        matrix = matrix._replace(values=sample_values_from_plain(part, classes.size, statistics.attributes))
    return DocumentSample(CountedDocuments(matrix, classes, hashes), size, bound)


def _statistics(part: Mapping[str, NDArray[Any]]) -> ClassStatistics:
    vocabulary = _vocabulary(part)
    labels, bounds = utf8(part["classes"]).encode(), row_bounds(part["class_lengths"])
    require(_fit(labels, bounds), "its classes do not fit their lengths")
    classes = [labels[start:end].decode() for start, end in pairwise(bounds.tolist())]
    class_documents, cells, counts, documents = (
        whole(part[name]) for name in ("class_documents", "term_cells", "cell_counts", "cell_documents")
    )
    cell_classes, bounds = whole(part["cell_classes"]), offsets(cells)
    require(bool(classes) and classes == sorted(set(classes)), "its classes are not sorted and distinct")
    require(class_documents.size == len(classes) and class_documents.min() >= 1, "its classes and documents do not fit")
    require(cells.size == len(vocabulary) and cells.min(initial=1) >= 1, "its terms and cells do not fit")
    require(bounds[-1] == cell_classes.size == counts.size == documents.size, "its cells do not fit each other")
    if cell_classes.size:
        require(cell_classes.max() < len(classes), "a cell has no class")
        require(documents.min() >= 1 and bool(np.all(documents <= counts)), "a cell counts less than its documents")
        require(bool(np.all(documents <= class_documents[cell_classes])), "a cell has more documents than its class")
        rising = np.diff(cell_classes) > 0
        rising[bounds[1:-1] - 1] = True
        require(bool(rising.all()), "the cells of a term are not sorted by class")
    return ClassStatistics(vocabulary, tuple(classes), class_documents, bounds, cell_classes, counts, documents)


def _vocabulary(part: Mapping[str, NDArray[Any]]) -> Vocabulary:
    text, bounds = utf8(part["terms"]).encode(), row_bounds(part["term_lengths"])
    require(part["ngrams"].dtype.kind == "u", "its n-grams are not whole numbers")
    pairs = part["ngrams"].astype(np.uint64)
    single = bounds.size - 1
    require(_fit(text, bounds), "its terms do not fit their lengths")
    require(_sorted(text, bounds), "its terms are not sorted and distinct")
    left, last = unpair(pairs)
    require(bool(np.all(pairs[1:] > pairs[:-1])), "its n-grams are not sorted and distinct")
    require(bool(np.all((left >= 0) & (left < single + np.arange(left.size)) & (last < single))), "an n-gram has parts that are no terms")
    return Vocabulary(text, bounds, pairs)


def _sorted(text: bytes, bounds: NDArray[np.int64]) -> bool:
    """Whether rows of text rise strictly by their bytes, compared eight bytes at a time as big-endian numbers."""
    words = np.ndarray((len(text) + 1,), ">u8", buffer=text + bytes(8), strides=(1,))
    keep = np.array([(1 << 64) - (1 << 8 * (8 - n)) for n in range(9)], np.uint64)
    lengths = np.diff(bounds)
    here = np.arange(lengths.size - 1)
    done = 0
    while here.size:
        first, second = (
            words[np.minimum(bounds[row] + done, len(text))].astype(np.uint64) & keep[np.clip(lengths[row] - done, 0, 8)]
            for row in (here, here + 1)
        )
        if np.any(first > second):
            return False
        here = here[first == second]
        done += 8
        ended = lengths[here + 1] <= done  # equal up to the end of the second, which must then be the longer one, by zeros
        if np.any(lengths[here[ended] + 1] <= lengths[here[ended]]):
            return False
        here = here[~ended]
    return True


def _fit(text: bytes, bounds: NDArray[np.int64]) -> bool:
    """Whether rows of UTF-8 end where it ends, and none begins inside a character."""
    return bool(bounds[-1] == len(text) and not np.any((np.frombuffer(text, np.uint8)[bounds[:-1]] & 0xC0) == 0x80))


def longest_ngram(vocabulary: Vocabulary) -> int:
    """Number of terms in the longest n-gram: shorter ones stand before longer ones, which refer to them."""
    left, _ = unpair(vocabulary.pairs)
    order, known = 1, vocabulary.n_single
    while known < len(vocabulary):
        known = vocabulary.n_single + int(np.searchsorted(left, known))
        order += 1
    return order
