"""Documents as counts: all documents of a corpus, or the sample of them that a model keeps.

The sample consists of the documents with the smallest content hashes (a bottom-k sample: E. Cohen,
H. Kaplan, Summarizing data using bottom-k sketches, 2007). It does not depend on order or grouping,
so the sample of a union is part of the union of the samples.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.matrix import DocumentTermMatrix, Postings, stack_matrices
from nbtext.document_fields import WEIGHT_UNIT
from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.labels import (
    DocumentLabels,
    LabelSets,
    make_label_set,
    single_label_table,
)
from nbtext.ragged import compute_offsets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.counts.count_table import Renumbering
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.prediction.labels import Label
    from nbtext.type_names import Floats, Ints, Keys, Mask, Names

MAX_SAMPLE_ENTRIES = 1 << 21
"""Matrix entries of a sample: 4,096 documents of 512 distinct terms, fewer if they are longer."""

MAX_SAMPLED_DOCUMENT_TERMS = 1 << 16
"""Distinct terms of a document in a sample. A longer document would displace too many others."""

MAX_HASH = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class CountedDocuments:
    """Documents as rows of a document-term matrix, with their columns of the count table."""

    matrix: DocumentTermMatrix
    """Shape (n_docs, n_terms), without unknown tokens."""
    columns: Ints
    """Column numbers, shape (n_docs,). With one layer, these are class numbers."""
    hashes: Keys
    """64 bits of a digest of each document's content, shape (n_docs,)."""
    weights: Ints | None = None
    """Weights in the units of the count table, shape (n_docs,); None if all are 1."""
    n_layers: int = 1
    """L, by which columns are numbered as in `CountTable`."""
    labels: LabelSets | None = None
    """The labels of multi-label documents, None for single-label documents.

    If set, ``columns`` are the columns of the reserved label that every document has.
    """

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def classes(self) -> Ints:
        """Class numbers, shape (n_docs,)."""
        if self.n_layers == 1:
            return self.columns
        return self.columns // self.n_layers

    @property
    def strata(self) -> Ints:
        """The stratum of each document, shape (n_docs,); folds have equal parts of each stratum.

        It is the class, or 1 + the rarest label of a multi-label document and 0 for no label.
        """
        if self.labels is None:
            return self.classes
        n_labels = int(self.labels.columns.max(initial=0)) // self.n_layers
        has_label = self.to_document_labels(n_labels).to_mask(n_labels)
        if not has_label.size:
            return self.classes
        label_sizes = np.where(has_label, has_label.sum(axis=0), len(self) + 1)
        return np.where(has_label.any(axis=1), label_sizes.argmin(axis=1) + 1, 0)

    def to_document_labels(self, n_classes: int) -> DocumentLabels:
        """Return the labels of the documents, out of ``n_classes`` without the reserved label."""
        if self.labels is None:
            return DocumentLabels(self.classes, single_label_table(n_classes))
        labels = LabelSets(self.labels.sizes, self.labels.columns // self.n_layers - 1)
        return DocumentLabels.from_sets(labels.to_tuples(), n_classes)

    def list_labels(self, classes: Names) -> list[Label]:
        """Return the label, or the set of labels, of each document.

        ``classes`` are the labels by class number.
        """
        if self.labels is None:
            return [classes[number] for number in self.classes.tolist()]
        return [
            make_label_set(classes[column // self.n_layers] for column in columns)
            for columns in self.labels.to_tuples()
        ]

    def with_label_sets(self) -> CountedDocuments:
        """Return single-label documents as multi-label documents, under the reserved label too."""
        if self.labels is not None:
            return self
        labels = LabelSets(np.ones(len(self), np.int64), self.columns + self.n_layers)
        return replace(self, columns=self.columns % self.n_layers, labels=labels)

    def build_keys(self) -> list[tuple[int, tuple[int, ...], int]]:
        """Return the keys of documents in a sample: hash, column numbers and weight."""
        columns = [(column,) for column in self.columns.tolist()]
        if self.labels is not None:
            label_columns = self.labels.to_tuples()
            columns = [
                first + remaining for first, remaining in zip(columns, label_columns, strict=True)
            ]
        weights = self.fill_weights(WEIGHT_UNIT).tolist()
        return list(zip(self.hashes.tolist(), columns, weights, strict=True))

    def split_by_column(self) -> tuple[CountedDocuments, Ints]:
        """Return a single-label row for each column in which a document is counted.

        The array, of shape (n_docs,), is the number of rows of each document.
        """
        if self.labels is None:
            return self, np.ones(len(self), np.int64)
        sizes = self.labels.sizes + 1
        is_first = np.zeros(len(self) + self.labels.columns.size, np.bool_)
        is_first[compute_offsets(sizes)[:-1]] = True
        columns = np.empty(is_first.size, np.int64)
        columns[is_first] = self.columns
        columns[~is_first] = self.labels.columns
        rows = replace(self, labels=None).take(np.repeat(np.arange(len(self)), sizes))
        return replace(rows, columns=columns), sizes

    def argsort(self) -> Ints:
        """Return the order of the documents by hash, columns and weight, shape (n_docs,)."""
        ranks = self.columns
        if self.labels is not None:
            label_columns = self.labels.to_tuples()
            set_ranks = {columns: rank for rank, columns in enumerate(sorted(set(label_columns)))}
            ranks = np.array([set_ranks[columns] for columns in label_columns], np.int64)
        if self.weights is None:
            return np.lexsort((ranks, self.hashes))
        return np.lexsort((self.weights, ranks, self.hashes))

    def take(self, rows: Ints) -> CountedDocuments:
        """Return some documents, given their row numbers, in this order."""
        weights = None if self.weights is None else self.weights[rows]
        labels = self.labels and self.labels.take(rows)
        return replace(
            self,
            matrix=self.matrix.take(rows),
            columns=self.columns[rows],
            hashes=self.hashes[rows],
            weights=weights,
            labels=labels,
        )

    def fill_weights(self, unit: int) -> Ints:
        """Return the weights, shape (n_docs,); without weights, each document weighs ``unit``."""
        if self.weights is None:
            return np.full(len(self), unit)
        return self.weights

    def apply_class_weights(self, statistics: ClassStatistics) -> Ints:
        """Return the weights times the class weights of the statistics, shape (n_docs,).

        They are in units of 1 / ``statistics.weight_unit``.
        """
        weights = self.fill_weights(statistics.table.unit)
        class_factors = statistics.weights.class_factors
        if class_factors is None:
            return weights
        return weights * class_factors[self.classes]

    def compute_weights(self, statistics: ClassStatistics) -> Floats:
        """Return the weights with class weights, where 1 is a whole document, shape (n_docs,)."""
        return self.apply_class_weights(statistics) / statistics.weight_unit

    def find_sample_rows(self, sample: CountedDocuments) -> Ints:
        """Return the row of each document of a sample of these documents, shape (n_sampled,).

        ``sample`` is the documents of a `DocumentSample`, or the first of them.
        """
        order = self.argsort()
        repetition = np.arange(len(sample)) - np.searchsorted(sample.hashes, sample.hashes)
        return order[np.searchsorted(self.hashes, sample.hashes, sorter=order) + repetition]

    def renumber(self, renumbering: Renumbering) -> CountedDocuments:
        """Return the documents with other numbers of terms and columns."""
        terms = renumbering.terms.take(self.matrix.terms)
        matrix = self.matrix._replace(terms=terms.astype(self.matrix.terms.dtype, copy=False))
        labels = self.labels and self.labels.renumber(renumbering.columns)
        return replace(
            self,
            matrix=matrix,
            columns=renumbering.columns[self.columns],
            n_layers=renumbering.n_layers,
            labels=labels,
        )

    @classmethod
    def concatenate(cls, batches: Sequence[CountedDocuments]) -> CountedDocuments:
        """Return the documents of all batches in order, which have the same terms and columns."""
        columns = [np.empty(0, np.int64), *(batch.columns for batch in batches)]
        hashes = [np.empty(0, np.uint64), *(batch.hashes for batch in batches)]
        weights = None
        if any(batch.weights is not None for batch in batches):
            weights = np.concatenate([batch.fill_weights(WEIGHT_UNIT) for batch in batches])
        labels = None
        label_sets = [batch.labels for batch in batches if batch.labels is not None]
        if label_sets:
            labels = LabelSets(*map(np.concatenate, zip(*label_sets, strict=True)))
        documents = cls(
            stack_matrices([batch.matrix for batch in batches]),
            np.concatenate(columns),
            np.concatenate(hashes),
            weights,
            labels=labels,
        )
        if not batches:
            return documents
        return replace(documents, n_layers=batches[0].n_layers)


NO_DOCUMENTS = CountedDocuments(
    DocumentTermMatrix.empty(), np.empty(0, np.int64), np.empty(0, np.uint64)
)


@dataclass(frozen=True, eq=False)
class DocumentSample:
    """The documents of a corpus with the smallest content hashes, sorted by hash and class."""

    documents: CountedDocuments
    size: int
    """Largest number of documents."""
    bound: int = MAX_HASH
    """All documents with a smaller hash are in the sample, and none with a larger hash.

    It is the hash of the last document of the sample, never of an omitted or removed document. It
    is `MAX_HASH` if the sample is the whole corpus, and 0 if the sample cannot contain a document.
    """

    @classmethod
    def from_documents(
        cls,
        documents: CountedDocuments,
        size: int,
        bound: int = MAX_HASH,
        eligible: Mask | None = None,
    ) -> DocumentSample:
        """Return the sample of a corpus of at most ``size`` documents.

        ``documents`` include at least all documents of the corpus with hashes up to ``bound``.
        ``eligible`` is a mask of the documents that are sampled, shape (n_docs,); None for all.
        The sample has at most `MAX_SAMPLE_ENTRIES` entries, and no document with more than
        `MAX_SAMPLED_DOCUMENT_TERMS` terms.
        """
        order = documents.argsort()
        if eligible is not None:
            order = order[eligible[order]]
        row_sizes = documents.matrix.row_sizes
        is_bounded = documents.hashes[order] <= np.uint64(bound)
        order = order[is_bounded & (row_sizes[order] <= MAX_SAMPLED_DOCUMENT_TERMS)]

        n_entries = np.cumsum(row_sizes[order])
        n_fitting = int(np.searchsorted(n_entries, MAX_SAMPLE_ENTRIES, side="right"))
        n_sampled = min(size, n_fitting)
        sample = cls(documents.take(order[:n_sampled]), size, bound)
        if n_sampled < order.size or not size:
            return sample._lower_bound()
        return sample

    def _lower_bound(self) -> DocumentSample:
        """Return the sample with the hash of its last document as the bound."""
        return replace(self, bound=int(self.documents.hashes.max(initial=0)))

    @property
    def is_complete(self) -> bool:
        """True if the sample has all documents of the corpus, except for very long ones."""
        return self.bound == MAX_HASH

    def renumber(self, renumbering: Renumbering) -> DocumentSample:
        """Return the sample with other numbers of terms and columns, in the same order."""
        return replace(self, documents=self.documents.renumber(renumbering))

    def __add__(self, other: DocumentSample) -> DocumentSample:
        """Return the sample of both corpora together, with the smaller of both sizes.

        Both have the same terms and columns.
        """
        return self.from_documents(
            CountedDocuments.concatenate((self.documents, other.documents)),
            min(self.size, other.size),
            min(self.bound, other.bound),
        )

    def __sub__(self, other: DocumentSample) -> DocumentSample:
        """Return the sample without the documents of another, each removed once per occurrence.

        Documents that were displaced from the sample do not return.
        """
        removals = Counter(other.documents.build_keys())
        rows = []
        for row, key in enumerate(self.documents.build_keys()):
            if removals[key]:
                removals[key] -= 1
            else:
                rows.append(row)
        sample = replace(self, documents=self.documents.take(np.array(rows, np.int64)))
        if self.is_complete:
            return sample
        return sample._lower_bound()


class DocumentCollector:
    """Collects the documents of a stream: all in order, or only candidates for a sample."""

    def __init__(self, size: int | None) -> None:
        """Collect for a sample of ``size`` documents, or all documents if None."""
        self._size = size
        self._bound = MAX_HASH
        self._batches: list[CountedDocuments] = []
        self._n_documents = 0
        self._n_entries = 0

    def add(
        self,
        postings: Postings,
        classes: Ints,
        hashes: Keys,
        labels: Names,
        weights: Ints | None = None,
        label_sets: LabelSets | None = None,
    ) -> None:
        """Collect documents, given their class numbers and content hashes, shapes (n_docs,).

        ``labels`` are the labels by class number so far. ``weights`` and ``label_sets`` are as in
        `TableBuilder.add`.
        """
        if self._bound != MAX_HASH:
            selected = hashes <= np.uint64(self._bound)
            postings = postings.select_documents(selected)
            classes = classes[selected]
            hashes = hashes[selected]
            weights = None if weights is None else weights[selected]
            label_sets = label_sets and label_sets.take(np.flatnonzero(selected))
        matrix = postings.to_matrix()
        narrow = matrix._replace(
            terms=matrix.terms.astype(np.int32), counts=matrix.counts.astype(np.int32)
        )
        batch = CountedDocuments(narrow, classes, hashes, weights, labels=label_sets)
        self._batches.append(batch)
        self._n_documents += len(batch)
        self._n_entries += matrix.terms.size
        if self._size is not None and (
            self._n_documents > 2 * self._size or self._n_entries > 2 * MAX_SAMPLE_ENTRIES
        ):
            self._prune(labels)

    def collect_documents(self, renumbering: Renumbering) -> CountedDocuments:
        """Return all collected documents, numbered as in the count table of the stream."""
        # sorted batch by batch, which takes less memory than sorting all documents
        batches = []
        for batch in self._batches:
            renumbered = batch.renumber(renumbering)
            batches.append(replace(renumbered, matrix=renumbered.matrix.sort_entries()))
        return CountedDocuments.concatenate(batches)

    def collect_sample(self, renumbering: Renumbering) -> DocumentSample:
        """Return the sample, numbered as in the count table of the stream."""
        documents = CountedDocuments.concatenate(self._batches).renumber(renumbering)
        sample = DocumentSample.from_documents(documents, self._size or 0, self._bound)
        matrix = sample.documents.matrix.sort_entries()
        return replace(sample, documents=replace(sample.documents, matrix=matrix))

    def _prune(self, labels: Names) -> None:
        """Keep only the documents that may be in the sample.

        Documents are compared with columns in the order of the labels, as in the final table.
        """
        ranks = np.empty(len(labels), np.int64)
        ranks[sorted(range(len(labels)), key=labels.__getitem__)] = np.arange(len(labels))
        documents = CountedDocuments.concatenate(self._batches)
        ranked = _map_columns(documents, ranks)
        sample = DocumentSample.from_documents(ranked, self._size or 0, self._bound)
        self._bound = sample.bound
        self._batches = [_map_columns(sample.documents, np.argsort(ranks))]
        self._n_documents = len(sample.documents)
        self._n_entries = sample.documents.matrix.terms.size


def _map_columns(documents: CountedDocuments, new_columns: Ints) -> CountedDocuments:
    labels = documents.labels and documents.labels.renumber(new_columns)
    return replace(documents, columns=new_columns[documents.columns], labels=labels)
