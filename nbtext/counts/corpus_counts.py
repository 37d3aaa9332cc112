"""Counts of some of the terms only, as if no document had ever held another.

Statistics under other labels: classes renamed, or several made one; and single documents under labels of their own.

The statistics of any part of a corpus that was counted once: the whole less the documents outside, or the sum of those inside.

Every document's entry in the document-term matrix belongs to one cell of the statistics, that of its term and the document's class. Which
one it is, is found once; after that a part costs one pass over the entries of its documents or of the others, whichever are fewer.

A corpus counted in bounded memory: stretch by stretch, and after each only the terms in most documents stay.

A term that was left out and comes again begins anew, so counts of terms that stay may be too low; by how many documents at most is told. Source: G.
Manku, R. Motwani, Approximate frequency counts over data streams (2002), whose lossy counting prunes by a rate rather than to a number of terms.

A corpus as counts: its statistics and a sample of its documents. They add and subtract together.

Documents taken away from counts, and which of them cannot be because it was never counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.counts.categories import has_categories, is_category
from nbtext.counts.documents import MOST_TERMS, CountedDocuments, DocumentSample
from nbtext.counts.statistics import Renumbering, from_cells
from nbtext.errors import UsageError
from nbtext.ragged import flat_indices, offsets
from nbtext.text.hashing import pair, unpair

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from nbtext.counts.moments import Moments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.counts.vocabulary import Vocabulary


def restricted_statistics(statistics: ClassStatistics, kept: NDArray[np.bool_]) -> ClassStatistics:
    """Statistics of the terms with ``kept`` (shape (n_terms,)) true, among which are all `with_ngram_parts` adds."""
    cells = kept[statistics.cell_terms]
    return replace(
        statistics,
        vocabulary=statistics.vocabulary.restrict(kept),
        term_offsets=offsets(np.diff(statistics.term_offsets)[kept]),
        cell_classes=statistics.cell_classes[cells],
        cell_counts=statistics.cell_counts[cells],
        cell_documents=statistics.cell_documents[cells],
    )


def restricted_documents(documents: CountedDocuments, kept: NDArray[np.bool_]) -> CountedDocuments:
    """Documents with those terms only, numbered as in `restricted_statistics`."""
    n_classes = int(documents.classes.max(initial=-1)) + 1
    numbers = Renumbering(np.cumsum(kept) - 1, np.arange(n_classes))
    return replace(documents, matrix=documents.matrix.of_terms(kept)).renumbered(numbers)


def with_ngram_parts(vocabulary: Vocabulary, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Terms and all that n-grams among them are made of, shape (n_terms,): the (n − 1)-gram before the last term, and the last term."""
    kept = kept.copy()
    left, last = unpair(vocabulary.pairs)
    while True:
        ngrams = kept[vocabulary.n_single :]
        parts: NDArray[Any] = np.concatenate((left[ngrams], last[ngrams]))
        if kept[parts].all():
            return kept
        kept[parts] = True


def is_known(known: Vocabulary, vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which terms of a vocabulary another knows, shape (n_terms,)."""
    _, theirs, ours = known.union(vocabulary)
    return np.isin(ours, theirs)


class Relabelled(NamedTuple):
    """Statistics, and for each old class the number of its new one."""

    statistics: ClassStatistics
    numbers: NDArray[np.int64]


def relabelled_statistics(statistics: ClassStatistics, labels: Sequence[str]) -> Relabelled:
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


def relabelled_documents(statistics: ClassStatistics, documents: CountedDocuments, labels: Sequence[str]) -> Recounted:
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


class Subsets:
    """Parts of a corpus, given its statistics and all its documents, numbered as in the statistics.

    Vocabulary and classes of a part are those of the whole. Terms that none of its documents holds have no cells there, and classes without
    documents have none; both stand in the arrays all the same, so that what is learnt from the part can score any document of the whole.
    """

    def __init__(self, statistics: ClassStatistics, documents: CountedDocuments) -> None:
        self.statistics = statistics
        self.documents = documents
        self._cells = cells_of_entries(statistics, documents)

    def __len__(self) -> int:
        return len(self.documents)

    def part(self, chosen: NDArray[np.bool_]) -> ClassStatistics:
        """The statistics of the chosen documents, a mask of shape (n_docs,)."""
        if 2 * np.count_nonzero(chosen) > len(self):
            return self.without(np.flatnonzero(~chosen))
        return self._of(np.flatnonzero(chosen), subtract=False)

    def without(self, rows: NDArray[np.int64]) -> ClassStatistics:
        """The statistics less some documents, by number; then ``documents`` need not be all there are."""
        return self._of(rows, subtract=True)

    def _of(self, rows: NDArray[np.int64], *, subtract: bool) -> ClassStatistics:
        whole, documents = self.statistics, self.documents
        entries = flat_indices(documents.matrix.offsets[rows], documents.matrix.entries[rows])
        cells = self._cells[entries]
        sums = (
            np.bincount(documents.classes[rows], minlength=whole.n_classes),
            np.bincount(cells, documents.matrix.counts[entries], whole.cell_counts.size).astype(np.int64),
            np.bincount(cells, minlength=whole.cell_counts.size),
        )
        of_whole = (whole.class_documents, whole.cell_counts, whole.cell_documents)
        class_documents, counts, holding = (total - sum_ for total, sum_ in zip(of_whole, sums, strict=True)) if subtract else sums
        kept = holding > 0
        return replace(
            whole,
            class_documents=class_documents,
            term_offsets=offsets(kept.astype(np.int64))[whole.term_offsets],
            cell_classes=whole.cell_classes[kept],
            cell_counts=counts[kept],
            cell_documents=holding[kept],
            moments=self._moments(rows, subtract=subtract),
        )

    def _moments(self, rows: NDArray[np.int64], *, subtract: bool) -> Moments | None:
        whole, values = self.statistics.moments, self.documents.matrix.values
        if whole is None or values is None:
            return None
        of_rows = type(whole).of(values[rows], self.documents.classes[rows], self.statistics.n_classes)
        return whole.minus(of_rows) if subtract else of_rows

    def counts(self, chosen: NDArray[np.bool_], sample_size: int) -> CorpusCounts:
        """The statistics of the chosen documents and their sample, at most ``sample_size``: what `nbtext.model.training.learn` takes."""
        rows = np.flatnonzero(chosen) if sample_size else np.empty(0, np.int64)
        return CorpusCounts(self.part(chosen), DocumentSample.of(self.documents.rows(rows), sample_size))


def cells_of_entries(statistics: ClassStatistics, documents: CountedDocuments) -> NDArray[np.int64]:
    """The number of each matrix entry's cell, shape (n_entries,): class by class, with a table from terms to cells."""
    matrix = documents.matrix
    begins, sizes = matrix.offsets[:-1], matrix.entries
    cell_of_term = np.zeros(statistics.n_terms, np.int64)
    found = np.empty(matrix.terms.size, np.int64)
    groups = (_by_class(classes, statistics.n_classes) for classes in (documents.classes, statistics.cell_classes))
    for rows, cells in zip(*groups, strict=True):
        cell_of_term[statistics.cell_terms[cells]] = cells  # what other classes left in the table is not asked for
        entries = flat_indices(begins[rows], sizes[rows])
        found[entries] = cell_of_term[matrix.terms[entries]]
    return found


def _by_class(classes: NDArray[np.int64], n_classes: int) -> list[NDArray[np.int64]]:
    """The places at which each class stands, ascending."""
    bounds = offsets(np.bincount(classes, minlength=n_classes)).tolist()
    order = np.argsort(classes, kind="stable")
    return [order[begin:end] for begin, end in pairwise(bounds)]


def bounded_sum(stretches: Iterable[CorpusCounts], most: int) -> CorpusCounts | None:
    """The counts of the stretches together over at most so many terms, n-grams included; None if there are none."""
    total: CorpusCounts | None = None
    for stretch in stretches:
        total = most_frequent(stretch if total is None else total + stretch, most)
    return total


def limit_vocabulary(counts: CorpusCounts, most: int | None) -> CorpusCounts:
    """The counts of a model of at most so many terms. Where some were left out it learns no others: what comes later is exact over those left."""
    counts = counts if most is None else most_frequent(counts, most)
    return replace(counts, is_closed=True) if counts.missed else counts


def most_frequent(counts: CorpusCounts, most: int) -> CorpusCounts:
    """The counts of the terms that most documents hold, the first of equals, at most so many of them beside categories.

    What an n-gram is made of is in as many documents at least, and stands before it.
    """
    statistics = counts.statistics
    terms = np.flatnonzero(~is_category(statistics.vocabulary))
    if terms.size <= most:
        return counts
    documents = statistics.term_documents[terms]
    order = np.argsort(-documents, kind="stable")
    kept = np.zeros(statistics.n_terms, np.bool_)
    kept[terms[order[:most]]] = True
    return replace(counts.restricted(kept), missed=counts.missed + int(documents[order[most]]))


@dataclass(frozen=True, eq=False)
class CorpusCounts:
    """Everything that is kept of a corpus; the sample's terms and classes are numbered as in the statistics."""

    statistics: ClassStatistics
    sample: DocumentSample
    is_closed: bool = False
    """Whether no term may come that is not there: what is added is counted over these terms, as if no document had ever held another."""
    missed: int = 0
    """Documents by which the counts of a term may be too low, since terms were left out while counting."""

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        """Both corpora together, over the terms that every closed one of them has."""
        mine, theirs = (
            one.over(another.statistics.vocabulary) if another.is_closed else one for one, another in ((self, other), (other, self))
        )
        statistics, first, second = mine.statistics.combined(theirs.statistics, 1)
        sample = mine.sample.renumbered(first) + theirs.sample.renumbered(second)
        return CorpusCounts(statistics, sample, self.is_closed or other.is_closed, self.missed + other.missed)

    def __sub__(self, other: CorpusCounts) -> CorpusCounts:
        """The corpus without the documents of another; raises `UsageError` if that counts anything that this one does not."""
        theirs = other.over(self.statistics.vocabulary) if self.is_closed else other
        statistics, first, second = self.statistics.combined(theirs.statistics, -1)
        return replace(self, statistics=statistics, sample=self.sample.renumbered(first) - theirs.sample.renumbered(second))

    def over(self, vocabulary: Vocabulary) -> CorpusCounts:
        """The counts of the terms of another vocabulary, and of all categories."""
        return self.restricted(is_known(vocabulary, self.statistics.vocabulary))

    def restricted(self, kept: NDArray[np.bool_]) -> CorpusCounts:
        """The counts of the terms with ``kept`` (shape (n_terms,)) true, of what the n-grams among them are made of, and of all categories."""
        if has_categories(self.statistics.vocabulary):
            kept = kept | is_category(self.statistics.vocabulary)
        kept = with_ngram_parts(self.statistics.vocabulary, kept)
        sample = replace(self.sample, documents=restricted_documents(self.sample.documents, kept))
        return replace(self, statistics=restricted_statistics(self.statistics, kept), sample=sample)

    def relabelled(self, labels: Sequence[str]) -> CorpusCounts:
        """The counts of the same documents if each class had the label given for it; classes of the same label become one."""
        statistics, numbers = relabelled_statistics(self.statistics, labels)
        documents = replace(self.sample.documents, classes=numbers[self.sample.documents.classes])
        return replace(self, statistics=statistics, sample=DocumentSample.of(documents, self.sample.size, self.sample.bound))


class NeverLearntError(UsageError):
    """A document is to be taken away that was never learnt; ``number`` says which of those given, from 0."""

    def __init__(self, number: int, label: str) -> None:
        super().__init__(f"document {number + 1} was never learnt as {label!r}", hint="nothing is forgotten")
        self.number, self.label = number, label

    def naming(self, name: str) -> NeverLearntError:
        """The same with the name of the document."""
        self.message, self.where = f"was never learnt as {self.label!r}", name
        return self


def forget_documents(counts: CorpusCounts, statistics: ClassStatistics, documents: CountedDocuments) -> CorpusCounts:
    """The counts less some documents, given with their statistics.

    Raises `NeverLearntError` if one was never counted, as far as the counts tell, and `UsageError` if nothing would be left.
    """
    rest = subtract_documents(counts, statistics, documents)
    if not rest.statistics.n_documents:
        raise UsageError("the model has learnt no other documents, so nothing would be left of it", hint="remove its file instead")
    return rest


def subtract_documents(counts: CorpusCounts, statistics: ClassStatistics, documents: CountedDocuments) -> CorpusCounts:
    """As `forget_documents`, but nothing may be left."""
    row = missing_from_sample(counts, statistics, documents)
    if row is None:
        gone = CorpusCounts(statistics, DocumentSample(documents, len(documents)))
        if counts.is_closed:
            gone = gone.over(counts.statistics.vocabulary)
        try:
            return counts - gone
        except UsageError:
            row = first_impossible(counts, gone.statistics, gone.sample.documents)
            if row is None:
                raise
    raise NeverLearntError(row, statistics.classes[documents.classes[row]])


def missing_from_sample(counts: CorpusCounts, statistics: ClassStatistics, documents: CountedDocuments) -> int | None:
    """The first of some documents that would be in the sample, by its hash, if it had been counted, and is not; None if there is none such.

    ``statistics`` are those of the documents. With a complete sample the answer is certain for all documents but very long ones.
    """
    sample = counts.sample
    expected = (documents.hashes < np.uint64(sample.bound)) & (documents.matrix.entries <= MOST_TERMS)
    held = Counter(zip(sample.documents.hashes.tolist(), sample.documents.classes.tolist(), strict=True))
    number = {label: place for place, label in enumerate(counts.statistics.classes)}
    for row in np.flatnonzero(expected).tolist():
        key = int(documents.hashes[row]), number.get(statistics.classes[documents.classes[row]], -1)
        if not held[key]:
            return row
        held[key] -= 1
    return None


def first_impossible(counts: CorpusCounts, statistics: ClassStatistics, documents: CountedDocuments) -> int | None:
    """The first document with which so many were taken away that ``counts`` would fall below zero; None if all can be.

    ``statistics`` are those of the documents.
    """
    if _can_lose(counts, statistics):
        return None
    subsets, here = Subsets(statistics, documents), np.arange(len(documents))
    low, high = 0, len(documents) - 1
    while low < high:  # what is impossible stays so, whatever else is taken away
        middle = (low + high) // 2
        low, high = (middle + 1, high) if _can_lose(counts, subsets.part(here <= middle)) else (low, middle)
    return low


def _can_lose(counts: CorpusCounts, statistics: ClassStatistics) -> bool:
    try:
        counts.statistics.combined(statistics, -1)
    except UsageError:
        return False
    return True
