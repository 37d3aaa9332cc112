"""The sufficient statistics of a corpus: documents, term counts and document counts per class. Whole numbers that add and subtract exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.counts.vocabulary import GrowingVocabulary, Vocabulary
from nbtext.errors import UsageError
from nbtext.ragged import flat_indices, offsets
from nbtext.text.key_table import KeyTable, pair, unpair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.counts.document_term import DocumentTermMatrix


@dataclass(frozen=True, eq=False)
class ClassStatistics:
    """Counts of a labelled corpus: D_k documents of class k, and for every term j that occurs in class k its cell (m_jk, d_jk).

    Cells are grouped by term and sorted by class within it; a cell is present only where its counts are at least 1. Immutable.
    """

    vocabulary: Vocabulary
    classes: tuple[str, ...]
    """Labels, sorted, distinct."""
    class_documents: NDArray[np.int64]
    """D_k, shape (n_classes,)."""
    term_offsets: NDArray[np.int64]
    """Where each term's cells begin and the last term's end, shape (n_terms + 1,)."""
    cell_classes: NDArray[np.int64]
    """Class number of each cell, shape (n_cells,)."""
    cell_counts: NDArray[Any]
    """m_jk, occurrences of the term in the class, shape (n_cells,); int64, or float64 where a classifier weighted them."""
    cell_documents: NDArray[np.int64]
    """d_jk, documents of the class that hold the term, shape (n_cells,)."""

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def n_terms(self) -> int:
        """V."""
        return len(self.vocabulary)

    @property
    def n_documents(self) -> int:
        """D."""
        return int(self.class_documents.sum())

    @cached_property
    def class_tokens(self) -> NDArray[Any]:
        """N_k, tokens of each class, shape (n_classes,)."""
        tokens = np.zeros(self.n_classes, self.cell_counts.dtype)
        np.add.at(tokens, self.cell_classes, self.cell_counts)
        return tokens

    @cached_property
    def cell_terms(self) -> NDArray[np.int64]:
        """Term id of each cell, shape (n_cells,)."""
        return np.repeat(np.arange(self.n_terms), np.diff(self.term_offsets))

    @cached_property
    def term_counts(self) -> NDArray[Any]:
        """Occurrences of each term in the whole corpus, shape (n_terms,)."""
        return self._over_classes(self.cell_counts)

    @cached_property
    def term_documents(self) -> NDArray[np.int64]:
        """Documents that hold each term, shape (n_terms,)."""
        return self._over_classes(self.cell_documents)

    def counts_of(self, terms: NDArray[np.int64]) -> NDArray[Any]:
        """m_jk of some terms, dense, shape (n, n_classes)."""
        return self._dense(terms, self.cell_counts)

    def documents_of(self, terms: NDArray[np.int64]) -> NDArray[np.int64]:
        """d_jk of some terms, dense, shape (n, n_classes)."""
        return self._dense(terms, self.cell_documents)

    def counts_in(self, terms: NDArray[np.int64], classes: NDArray[np.int64]) -> NDArray[np.int64]:
        """m_jk of pairs of a term and a class in which it occurs, shape (n,)."""
        narrow: type[np.int32 | np.int64] = np.int32 if self.cell_counts.size < 1 << 31 else np.int64
        bounds: NDArray[Any] = self.term_offsets.astype(narrow)
        low, high = bounds[terms], bounds[terms + 1]
        cell_classes, classes = self.cell_classes.astype(narrow), classes.astype(narrow)
        for _ in range(self.n_classes.bit_length()):  # bisection of each term's cells
            middle = (low + high) >> 1
            beyond = cell_classes[middle] > classes
            high = np.where(beyond, middle, high)
            low = np.where(beyond, low, middle)
        found: NDArray[np.int64] = self.cell_counts[low]
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        return (
            self.classes == other.classes
            and self.vocabulary == other.vocabulary
            and np.array_equal(self.class_documents, other.class_documents)
            and np.array_equal(self.term_offsets, other.term_offsets)
            and np.array_equal(self.cell_classes, other.cell_classes)
            and np.array_equal(self.cell_counts, other.cell_counts)
            and np.array_equal(self.cell_documents, other.cell_documents)
        )

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: ClassStatistics) -> ClassStatistics:
        """Statistics of both corpora together."""
        return self.combined(other, 1).statistics

    def __sub__(self, other: ClassStatistics) -> ClassStatistics:
        """Statistics without those of ``other``; terms and classes with nothing left go.

        Raises `UsageError` if ``other`` counts anything that these statistics do not.
        """
        return self.combined(other, -1).statistics

    def combined(self, other: ClassStatistics, sign: int) -> Combined:
        """The sum (``sign`` 1) or difference (−1), and where the terms and classes of both went; raises as the difference does."""
        classes = tuple(sorted({*self.classes, *other.classes}))
        number = {label: new for new, label in enumerate(classes)}
        vocabulary, mine, theirs = self.vocabulary.union(other.vocabulary)
        documents = np.zeros(len(classes), np.int64)
        keys, labels = [], []
        for side, terms, factor in ((self, mine, 1), (other, theirs, sign)):
            labels.append(np.array([number[label] for label in side.classes], np.int64))
            documents[labels[-1]] += factor * side.class_documents
            keys.append(pair(terms[side.cell_terms], labels[-1][side.cell_classes]))
        key, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        counts, cell_documents = np.zeros(key.size, np.int64), np.zeros(key.size, np.int64)
        np.add.at(counts, inverse, np.concatenate((self.cell_counts, sign * other.cell_counts)))
        np.add.at(cell_documents, inverse, np.concatenate((self.cell_documents, sign * other.cell_documents)))
        left = counts > 0
        of_class = documents[unpair(key)[1]]
        possible = (cell_documents <= counts) & (cell_documents <= of_class) & ((cell_documents > 0) == left) & (counts >= 0)
        if documents.min(initial=0) < 0 or not possible.all():
            raise UsageError("cannot take away documents that were never counted")
        statistics, numbers = _from_cells(vocabulary, classes, documents, key[left], counts[left], cell_documents[left])
        return Combined(statistics, numbers.after(mine, labels[0]), numbers.after(theirs, labels[1]))

    def _over_classes(self, cells: NDArray[Any]) -> NDArray[Any]:
        sums: NDArray[Any]
        if cells.dtype.kind == "f":  # weighted counts: differences of running sums would not be exact
            sums = np.bincount(self.cell_terms, cells, self.n_terms)
        else:
            running = np.concatenate((np.zeros(1, np.int64), np.cumsum(cells)))
            sums = running[self.term_offsets[1:]] - running[self.term_offsets[:-1]]
        return sums

    def _dense(self, terms: NDArray[np.int64], cells: NDArray[Any]) -> NDArray[Any]:
        starts = self.term_offsets[terms]
        sizes = self.term_offsets[terms + 1] - starts
        place = flat_indices(starts, sizes)
        table = np.zeros((terms.size, self.n_classes), cells.dtype)
        table[np.repeat(np.arange(terms.size), sizes), self.cell_classes[place]] = cells[place]
        return table


class Numbers(NamedTuple):
    """For each old number of a term or class the new one, −1 for one that is gone."""

    terms: NDArray[np.int64]
    classes: NDArray[np.int64]

    def after(self, terms: NDArray[np.int64], classes: NDArray[np.int64]) -> Numbers:
        """The new numbers where ``terms`` and ``classes`` gave the old ones, or −1."""
        return Numbers(np.append(self.terms, -1)[terms], np.append(self.classes, -1)[classes])


class Frozen(NamedTuple):
    """Statistics, and where the terms and classes that were counted stand in them."""

    statistics: ClassStatistics
    numbers: Numbers


class Combined(NamedTuple):
    """Statistics made of two, and where the terms and classes of each stand in them."""

    statistics: ClassStatistics
    of_first: Numbers
    of_second: Numbers


def _from_cells(
    vocabulary: Vocabulary,
    classes: Sequence[str],
    class_documents: NDArray[np.int64],
    keys: NDArray[np.uint64],
    counts: NDArray[np.int64],
    documents: NDArray[np.int64],
) -> Frozen:
    """Statistics from cells sorted by key (term, class); terms without cells and classes without documents are left out."""
    terms, labels = unpair(keys)
    kept = np.zeros(len(vocabulary), np.bool_)
    kept[terms] = True
    present = class_documents > 0
    numbers = Numbers(*(np.where(here, np.cumsum(here) - 1, -1) for here in (kept, present)))
    statistics = ClassStatistics(
        vocabulary.restrict(kept),
        tuple(label for label, here in zip(classes, present.tolist(), strict=True) if here),
        class_documents[present],
        offsets(np.bincount(terms, minlength=len(vocabulary))[kept]),
        numbers.classes[labels],
        counts,
        documents,
    )
    return Frozen(statistics, numbers)


class StatisticsBuilder:
    """Sums the document-term matrices of a stream of labelled documents. Memory grows with vocabulary × classes it occurs in, not with documents."""

    def __init__(self) -> None:
        self.vocabulary = GrowingVocabulary()
        self._classes: dict[str, int] = {}
        self._class_documents = np.zeros(16, np.int64)
        self._cells = KeyTable(bits=18)
        self._counts = np.zeros(1 << 16, np.int64)
        self._documents = np.zeros(1 << 16, np.int64)

    @property
    def labels(self) -> list[str]:
        """The label of each class number handed out."""
        return list(self._classes)

    def add(self, matrix: DocumentTermMatrix, labels: Sequence[str]) -> NDArray[np.int64]:
        """Count documents and return their class numbers; the ids of the matrix are those of this builder's vocabulary."""
        classes = np.array([self._classes.setdefault(label, len(self._classes)) for label in labels], np.int64)
        self._class_documents = _grown(self._class_documents, len(self._classes))
        np.add.at(self._class_documents, classes, 1)
        cells = self._cells.intern(pair(matrix.terms, np.repeat(classes, matrix.entries)))
        self._counts, self._documents = _grown(self._counts, len(self._cells) + 1), _grown(self._documents, len(self._cells) + 1)
        np.add.at(self._counts, cells, matrix.counts)
        np.add.at(self._documents, cells, 1)
        return classes

    def freeze(self) -> Frozen:
        """What has been counted so far."""
        vocabulary, final_term = self.vocabulary.freeze()
        classes = sorted(self._classes)
        first_order = np.array([self._classes[label] for label in classes], np.int64)
        final_class = np.empty(len(classes), np.int64)
        final_class[first_order] = np.arange(len(classes))
        terms, labels = unpair(self._cells.keys)
        keys = pair(final_term[terms], final_class[labels])
        order = np.argsort(keys)
        cells = order + 1  # their ids
        statistics, numbers = _from_cells(
            vocabulary, classes, self._class_documents[first_order], keys[order], self._counts[cells], self._documents[cells]
        )
        return Frozen(statistics, numbers.after(final_term, final_class))


def _grown(array: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The array, with room for ``size`` elements, zeros in the new ones."""
    if size <= array.size:
        return array
    grown = np.zeros(2 * size, np.int64)
    grown[: array.size] = array
    return grown
