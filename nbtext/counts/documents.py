"""Counted documents: all documents of a corpus, or the sample that a model keeps.

`DocumentCollector` collects documents while a stream is counted. A sample consists of the documents
with the smallest content hashes (a bottom-k sample: E. Cohen, H. Kaplan, Summarizing data using
bottom-k sketches, 2007). It does not depend on the order of the documents, and the sample of two
corpora is part of their samples.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.matrix import DocumentTermMatrix, Postings, stack_matrices, take_rows
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
"""Largest number of matrix entries of a sample, such as 4,096 documents of 512 distinct terms."""

MAX_SAMPLED_DOCUMENT_TERMS = 1 << 16
"""Largest number of distinct terms of a document in a sample.

A longer document would displace too many other documents.
"""

SAMPLE_ROOM = 2
"""`DocumentSample.room` while documents may be removed again."""

MAX_HASH = (1 << 64) - 1
"""Largest hash of a document's content."""


@dataclass(frozen=True, eq=False)
class CountedDocuments:
    """Documents as rows of a document-term matrix, with their columns of the count table."""

    matrix: DocumentTermMatrix
    """Shape (n_docs, n_terms), without unknown tokens."""
    columns: Ints
    """Column of each document in the count table, shape (n_docs,): k·L + l for class k, layer l."""
    hashes: Keys
    """64 bits of a digest of each document's content, shape (n_docs,)."""
    weights: Ints | None = None
    """Weights in units of the count table, shape (n_docs,); None if all documents weigh 1."""
    n_layers: int = 1
    """L, the number of layers of the count table."""
    labels: LabelSets | None = None
    """The labels of multi-label documents, None for single-label documents.

    If set, ``columns`` are the columns of the reserved label that every document has.
    """

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def classes(self) -> Ints:
        """Class number of each document, shape (n_docs,)."""
        return self.columns // self.n_layers

    @property
    def strata(self) -> Ints:
        """The stratum of each document, shape (n_docs,). Folds have equal parts of each stratum.

        The stratum of a single-label document is its class. The stratum of a multi-label document
        is 1 plus the index of its rarest label, or 0 if it has no label.
        """
        if self.labels is None:
            return self.classes
        n_labels = int(self.labels.columns.max(initial=0)) // self.n_layers
        has_label = self.to_document_labels(n_labels).to_mask(n_labels)
        if not has_label.size:
            return np.zeros(len(self), np.int64)
        label_documents = has_label.sum(axis=0)
        more_than_any = len(self) + 1
        rarest_labels = np.where(has_label, label_documents, more_than_any).argmin(axis=1)
        return np.where(has_label.any(axis=1), 1 + rarest_labels, 0)

    def to_document_labels(self, n_classes: int) -> DocumentLabels:
        """Return the labels of the documents, as indices of ``n_classes`` classes.

        The reserved label does not count as a class.
        """
        if self.labels is None:
            return DocumentLabels(self.classes, single_label_table(n_classes))
        # class 0 is the reserved label
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
        """Return single-label documents as multi-label documents, all with the reserved label.

        Multi-label documents are returned unchanged.
        """
        if self.labels is not None:
            return self
        # the reserved label becomes class 0, so the numbers of the other classes grow by 1
        labels = LabelSets(np.ones(len(self), np.int64), self.columns + self.n_layers)
        return replace(self, columns=self.columns % self.n_layers, labels=labels)

    def build_keys(self) -> list[tuple[int, tuple[int, ...], int]]:
        """Return the key (hash, columns, weight) of each document.

        A sample does not distinguish documents with equal keys.
        """
        columns = [(column,) for column in self.columns.tolist()]
        if self.labels is not None:
            label_columns = self.labels.to_tuples()
            columns = [
                (*reserved, *labels)
                for reserved, labels in zip(columns, label_columns, strict=True)
            ]
        weights = self.fill_weights(WEIGHT_UNIT).tolist()
        return list(zip(self.hashes.tolist(), columns, weights, strict=True))

    def split_by_column(self) -> tuple[CountedDocuments, Ints]:
        """Return single-label documents, one for each column in which a document is counted.

        Also return the number of columns of each document, shape (n_docs,). The first column of a
        multi-label document is the column of the reserved label.
        """
        if self.labels is None:
            return self, np.ones(len(self), np.int64)
        n_columns = self.labels.sizes + 1
        is_reserved = np.zeros(n_columns.sum(), np.bool_)
        is_reserved[compute_offsets(n_columns)[:-1]] = True
        columns = np.empty(is_reserved.size, np.int64)
        columns[is_reserved] = self.columns
        columns[~is_reserved] = self.labels.columns
        rows = np.repeat(np.arange(len(self)), n_columns)
        return replace(replace(self, labels=None).take(rows), columns=columns), n_columns

    def argsort(self) -> Ints:
        """Return the order of the documents by hash, then columns, then weight, shape (n_docs,)."""
        ranks = self.columns
        if self.labels is not None:
            label_columns = self.labels.to_tuples()
            set_ranks = {columns: rank for rank, columns in enumerate(sorted(set(label_columns)))}
            ranks = np.array([set_ranks[columns] for columns in label_columns], np.int64)
        return np.lexsort((self.fill_weights(WEIGHT_UNIT), ranks, self.hashes))

    def take(self, rows: Ints) -> CountedDocuments:
        """Return some documents, given their row numbers, in this order."""
        labels = self.labels
        if labels is not None:
            labels = labels.take(rows)
        return replace(
            self,
            matrix=self.matrix.take(rows),
            columns=self.columns[rows],
            hashes=self.hashes[rows],
            weights=take_rows(self.weights, rows),
            labels=labels,
        )

    def fill_weights(self, unit: int) -> Ints:
        """Return the weights, or ``unit`` for each document if all weigh 1, shape (n_docs,)."""
        if self.weights is None:
            return np.full(len(self), unit)
        return self.weights

    def apply_class_weights(self, statistics: ClassStatistics) -> Ints:
        """Return the weights times the class weights of the statistics, shape (n_docs,).

        The products are in units of 1 / ``statistics.weight_unit``.
        """
        weights = self.fill_weights(statistics.table.unit)
        class_factors = statistics.weights.class_factors
        if class_factors is None:
            return weights
        return weights * class_factors[self.classes]

    def compute_weights(self, statistics: ClassStatistics) -> Floats:
        """Return `apply_class_weights` in units of whole documents, shape (n_docs,)."""
        return self.apply_class_weights(statistics) / statistics.weight_unit

    def find_sample_rows(self, sample: CountedDocuments) -> Ints:
        """Return the row in ``self`` of each document of ``sample``, shape (n_sampled,).

        ``sample`` has all documents of a `DocumentSample` of these documents, or the first ones.
        """
        order = self.argsort()
        # Both are sorted in the same way, so documents with the same hash are in the same order.
        first_equal_in_sample = np.searchsorted(sample.hashes, sample.hashes)
        n_previous_equal = np.arange(len(sample)) - first_equal_in_sample
        first_equal = np.searchsorted(self.hashes, sample.hashes, sorter=order)
        return order[first_equal + n_previous_equal]

    def renumber(self, renumbering: Renumbering) -> CountedDocuments:
        """Return the documents with other numbers of terms and columns."""
        terms = renumbering.terms.take(self.matrix.terms)
        matrix = self.matrix._replace(terms=terms.astype(self.matrix.terms.dtype, copy=False))
        documents = self.renumber_columns(renumbering.columns)
        return replace(documents, matrix=matrix, n_layers=renumbering.n_layers)

    def renumber_columns(self, new_columns: Ints) -> CountedDocuments:
        """Return the documents with column k as ``new_columns[k]``."""
        labels = self.labels
        if labels is not None:
            labels = labels.renumber(new_columns)
        return replace(self, columns=new_columns[self.columns], labels=labels)

    @classmethod
    def concatenate(cls, batches: Sequence[CountedDocuments]) -> CountedDocuments:
        """Return the documents of all batches in order.

        The batches have the same terms and columns. Either all have sets of labels, or none has.
        """
        if not batches:
            return NO_DOCUMENTS
        weights = None
        if any(batch.weights is not None for batch in batches):
            # documents with weights have the unit of weights, so others weigh `WEIGHT_UNIT`
            weights = np.concatenate([batch.fill_weights(WEIGHT_UNIT) for batch in batches])
        labels = None
        label_sets = [batch.labels for batch in batches if batch.labels is not None]
        if label_sets:
            sizes, columns = zip(*label_sets, strict=True)
            labels = LabelSets(np.concatenate(sizes), np.concatenate(columns))
        return cls(
            matrix=stack_matrices([batch.matrix for batch in batches]),
            columns=np.concatenate([batch.columns for batch in batches]),
            hashes=np.concatenate([batch.hashes for batch in batches]),
            weights=weights,
            n_layers=batches[0].n_layers,
            labels=labels,
        )


NO_DOCUMENTS = CountedDocuments(
    DocumentTermMatrix.empty(), np.empty(0, np.int64), np.empty(0, np.uint64)
)


@dataclass(frozen=True, eq=False)
class DocumentSample:
    """The documents of a corpus with the smallest content hashes, sorted by `argsort`."""

    documents: CountedDocuments
    size: int
    """Largest number of documents."""
    bound: int = MAX_HASH
    """All documents with a smaller hash are in the sample, and none with a larger hash.

    The bound is the hash of the last document of the sample, never of an omitted or removed
    document. It is `MAX_HASH` if the sample is the whole corpus, or else 0 if the sample is empty.
    """
    room: int = 1
    """Factor of `size` and of `MAX_SAMPLE_ENTRIES` up to which the sample grows.

    Above 1, documents that are added and removed again displace no others. `trim` sets it to 1.
    """

    @classmethod
    def from_documents(
        cls,
        documents: CountedDocuments,
        size: int,
        bound: int = MAX_HASH,
        eligible: Mask | None = None,
        room: int = 1,
    ) -> DocumentSample:
        """Return a sample of at most ``size`` times ``room`` documents of a corpus.

        ``documents`` must include all documents of the corpus with hashes up to ``bound``. If they
        include other documents, ``eligible`` is a mask of the documents of the corpus, shape
        (n_docs,). The sample keeps within ``room`` times `MAX_SAMPLE_ENTRIES`, and its documents
        within `MAX_SAMPLED_DOCUMENT_TERMS`.
        """
        order = documents.argsort()
        if eligible is not None:
            order = order[eligible[order]]
        row_sizes = documents.matrix.row_sizes
        is_bounded = documents.hashes[order] <= np.uint64(bound)
        order = order[is_bounded & (row_sizes[order] <= MAX_SAMPLED_DOCUMENT_TERMS)]

        n_entries = np.cumsum(row_sizes[order])
        n_fitting = int(np.searchsorted(n_entries, room * MAX_SAMPLE_ENTRIES, side="right"))
        n_sampled = min(room * size, n_fitting)
        sample = cls(documents.take(order[:n_sampled]), size, bound, room)
        if n_sampled < order.size or not size:
            return sample._with_last_hash_as_bound()
        return sample

    def _with_last_hash_as_bound(self) -> DocumentSample:
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
        """Return the sample of both corpora, with the smaller of both sizes.

        The samples have the same terms and columns.
        """
        return self.from_documents(
            CountedDocuments.concatenate((self.documents, other.documents)),
            size=min(self.size, other.size),
            bound=min(self.bound, other.bound),
            room=max(self.room, other.room),
        )

    def trim(self) -> DocumentSample:
        """Return the sample with a `room` of 1, as if all documents had been added at once."""
        if self.room == 1:
            return self
        return self.from_documents(self.documents, self.size, self.bound)

    def __sub__(self, other: DocumentSample) -> DocumentSample:
        """Return the sample without the documents of another sample.

        Of documents with equal keys, as many are removed as the other sample has. The result may be
        smaller than `size`, because other documents of the corpus are unknown.
        """
        n_removals = Counter(other.documents.build_keys())
        rows = []
        for row, key in enumerate(self.documents.build_keys()):
            if n_removals[key]:
                n_removals[key] -= 1
            else:
                rows.append(row)
        sample = replace(self, documents=self.documents.take(np.array(rows, np.int64)))
        if self.is_complete:
            return sample
        return sample._with_last_hash_as_bound()


class DocumentCollector:
    """Collects the documents of a stream: all in order, or those that may be in the sample."""

    def __init__(self, size: int, *, keep_all: bool) -> None:
        """Collect for a sample of ``size`` documents, or with ``keep_all`` all documents."""
        self._size = size
        self._keep_all = keep_all
        self._bound = MAX_HASH
        """Documents with a larger hash cannot be in the sample."""
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
        """Collect documents.

        ``hashes`` are the content hashes, shape (n_docs,), and ``labels`` are the labels by class
        number so far. The other arguments are as in `TableBuilder.add`.
        """
        if self._bound != MAX_HASH:
            selected = hashes <= np.uint64(self._bound)
            postings = postings.select_documents(selected)
            classes = classes[selected]
            hashes = hashes[selected]
            weights = take_rows(weights, selected)
            if label_sets is not None:
                label_sets = label_sets.take(np.flatnonzero(selected))
        matrix = postings.to_matrix()
        narrow_matrix = matrix._replace(
            terms=matrix.terms.astype(np.int32), counts=matrix.counts.astype(np.int32)
        )
        # there are no layers yet, so columns are classes
        batch = CountedDocuments(narrow_matrix, classes, hashes, weights, labels=label_sets)
        self._batches.append(batch)
        self._n_documents += len(batch)
        self._n_entries += matrix.terms.size
        # up to twice as much as a sample is kept, so that pruning is rare
        has_many = self._n_documents > 2 * self._size or self._n_entries > 2 * MAX_SAMPLE_ENTRIES
        if has_many and not self._keep_all:
            self._prune(labels)

    def collect_documents(self, renumbering: Renumbering) -> CountedDocuments:
        """Return all collected documents, numbered as in the count table of the stream."""
        # sort batch by batch, because to sort all documents at once takes more memory
        batches = []
        for batch in self._batches:
            renumbered = batch.renumber(renumbering)
            batches.append(replace(renumbered, matrix=renumbered.matrix.sort_entries()))
        return CountedDocuments.concatenate(batches)

    def collect_sample(self, renumbering: Renumbering) -> DocumentSample:
        """Return the sample, numbered as in the count table of the stream."""
        documents = CountedDocuments.concatenate(self._batches).renumber(renumbering)
        sample = DocumentSample.from_documents(documents, self._size, self._bound)
        matrix = sample.documents.matrix.sort_entries()
        return replace(sample, documents=replace(sample.documents, matrix=matrix))

    def _prune(self, labels: Names) -> None:
        """Keep only the documents that may be in the sample.

        A sample is sorted by column, and the columns of the final table are in the order of labels.
        So columns are renumbered in this order, and back.
        """
        classes_by_label = np.array(sorted(range(len(labels)), key=labels.__getitem__), np.int64)
        label_ranks = np.argsort(classes_by_label)
        documents = CountedDocuments.concatenate(self._batches).renumber_columns(label_ranks)
        sample = DocumentSample.from_documents(documents, self._size, self._bound)
        self._bound = sample.bound
        self._batches = [sample.documents.renumber_columns(classes_by_label)]
        self._n_documents = len(sample.documents)
        self._n_entries = sample.documents.matrix.terms.size
