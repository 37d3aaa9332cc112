"""Single documents as counts: all of a corpus, for resampling, or the sample of them that a model keeps.

The sample has the documents with the smallest content hashes (a bottom-k sample: E. Cohen, H. Kaplan, Summarizing data using bottom-k
sketches, 2007). It does not depend on order or grouping, so the sample of a union is part of the union of the samples.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.matrix import DocumentTermMatrix, Postings, stack_matrices
from nbtext.document_fields import WEIGHT_UNIT
from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.labels import DocumentLabels, LabelSets, make_label_set, single_label_table
from nbtext.ragged import compute_offsets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.counts.count_table import Renumbering
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.prediction.labels import Label
    from nbtext.type_names import Floats, Ints, Keys, Mask, Names

MAX_SAMPLE_ENTRIES = 1 << 21
"""Most entries of a sample: 4,096 documents of 512 distinct terms. Of longer documents it has fewer."""

MAX_SAMPLED_DOCUMENT_TERMS = 1 << 16
"""Most distinct terms of a document in a sample; a longer one would leave little room for others."""

MAX_HASH = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class CountedDocuments:
    """Documents as rows of a document-term matrix, with their columns of the statistics and the hashes of their content."""

    matrix: DocumentTermMatrix
    """Shape (n_docs, n_terms), no unknown terms."""
    columns: Ints
    """Column numbers, those of classes if there is one layer, shape (n_docs,)."""
    hashes: Keys
    """64 bits of a digest of each text, shape (n_docs,)."""
    weights: Ints | None = None
    """Weights in the units of the statistics, shape (n_docs,); None if all are 1."""
    n_layers: int = 1
    """L, by which columns are numbered as in `CountTable`."""
    labels: LabelSets | None = None
    """Where documents may have several labels; `columns` are then of the reserved label that every document has."""

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def classes(self) -> Ints:
        """Class numbers, shape (n_docs,)."""
        return self.columns if self.n_layers == 1 else self.columns // self.n_layers

    @property
    def strata(self) -> Ints:
        """Return what folds spread evenly, shape (n_docs,): the class of each document, of several labels the rarest, and 0 for none."""
        if self.labels is None:
            return self.classes
        n_labels = int(self.labels.columns.max(initial=0)) // self.n_layers
        truth = self.to_document_labels(n_labels).to_mask(n_labels)
        sizes = np.where(truth, truth.sum(axis=0), len(self) + 1)
        return (
            np.where(truth.any(axis=1), sizes.argmin(axis=1) + 1, 0) if truth.size else self.classes
        )

    def to_document_labels(self, n_classes: int) -> DocumentLabels:
        """Return the labels of the documents, without the reserved one, of ``n_classes``."""
        if self.labels is None:
            return DocumentLabels(self.classes, single_label_table(n_classes))
        labels = LabelSets(self.labels.sizes, self.labels.columns // self.n_layers - 1)
        return DocumentLabels.from_sets(labels.to_tuples(), n_classes)

    def list_labels(self, classes: Names) -> list[Label]:
        """Return the label of each document, or the set of its labels, given the labels of class numbers."""
        if self.labels is None:
            return [classes[number] for number in self.classes.tolist()]
        return [
            make_label_set(classes[column // self.n_layers] for column in columns)
            for columns in self.labels.to_tuples()
        ]

    def with_label_sets(self) -> CountedDocuments:
        """Return documents of one label each as documents that may have several, counted under the reserved label too."""
        if self.labels is not None:
            return self
        labels = LabelSets(np.ones(len(self), np.int64), self.columns + self.n_layers)
        return replace(self, columns=self.columns % self.n_layers, labels=labels)

    def build_keys(self) -> list[tuple[int, tuple[int, ...], int]]:
        """Return hash, column numbers and weight of each document, by which a sample is searched."""
        columns = [(column,) for column in self.columns.tolist()]
        if self.labels is not None:
            columns = [
                first + others
                for first, others in zip(columns, self.labels.to_tuples(), strict=True)
            ]
        return list(
            zip(self.hashes.tolist(), columns, self.fill_weights(WEIGHT_UNIT).tolist(), strict=True)
        )

    def split_by_column(self) -> tuple[CountedDocuments, Ints]:
        """Return a row for each column that a document is counted in, as documents of one label, and how many rows each document has."""
        if self.labels is None:
            return self, np.ones(len(self), np.int64)
        sizes = self.labels.sizes + 1
        joined = np.empty(len(self) + self.labels.columns.size, np.int64)
        firsts = np.zeros(joined.size, np.bool_)
        firsts[compute_offsets(sizes)[:-1]] = True
        joined[firsts] = self.columns
        joined[~firsts] = self.labels.columns
        return replace(
            replace(self, labels=None).take(np.repeat(np.arange(len(self)), sizes)), columns=joined
        ), sizes

    def argsort(self) -> Ints:
        """Return the order of the documents by hash, column and weight, shape (n_docs,)."""
        ranks = self.columns
        if self.labels is not None:
            rows = self.labels.to_tuples()
            rank = {row: number for number, row in enumerate(sorted(set(rows)))}
            ranks = np.array([rank[row] for row in rows], np.int64)
        return np.lexsort(
            (ranks, self.hashes) if self.weights is None else (self.weights, ranks, self.hashes)
        )

    def take(self, chosen: Ints) -> CountedDocuments:
        """Return some of the documents, by number, in the order given."""
        weights = None if self.weights is None else self.weights[chosen]
        labels = self.labels and self.labels.take(chosen)
        columns = self.columns[chosen]
        hashes = self.hashes[chosen]
        return replace(
            self,
            matrix=self.matrix.take(chosen),
            columns=columns,
            hashes=hashes,
            weights=weights,
            labels=labels,
        )

    def fill_weights(self, unit: int) -> Ints:
        """Return the weights in units of 1 / ``unit``, those of the statistics, shape (n_docs,)."""
        return np.full(len(self), unit) if self.weights is None else self.weights

    def apply_class_weights(self, statistics: ClassStatistics) -> Ints:
        """Return the weights that the documents have in their statistics, in units of 1 / ``statistics.weight_unit``, shape (n_docs,)."""
        weights = self.fill_weights(statistics.table.unit)
        of_classes = statistics.weights.class_factors
        return weights if of_classes is None else weights * of_classes[self.classes]

    def compute_weights(self, statistics: ClassStatistics) -> Floats:
        """Return the weights as numbers of documents, shape (n_docs,)."""
        return self.apply_class_weights(statistics) / statistics.weight_unit

    def find_sample_rows(self, sample: CountedDocuments) -> Ints:
        """Return the numbers of the documents in a `DocumentSample` of these, or in the beginning of one, shape (n_docs of the sample,)."""
        order = self.argsort()
        repeated = np.arange(len(sample)) - np.searchsorted(sample.hashes, sample.hashes)
        return order[np.searchsorted(self.hashes, sample.hashes, sorter=order) + repeated]

    def renumber(self, numbers: Renumbering) -> CountedDocuments:
        """Return the same documents for statistics in which terms and columns have other numbers."""
        matrix = self.matrix._replace(
            terms=numbers.terms.take(self.matrix.terms).astype(self.matrix.terms.dtype, copy=False)
        )
        labels = self.labels and self.labels.renumber(numbers.columns)
        return replace(
            self,
            matrix=matrix,
            columns=numbers.columns[self.columns],
            n_layers=numbers.n_layers,
            labels=labels,
        )

    @classmethod
    def concatenate(cls, parts: Sequence[CountedDocuments]) -> CountedDocuments:
        """Return the documents of all parts in order; the parts have the same vocabulary and columns."""
        columns = [np.empty(0, np.int64), *(part.columns for part in parts)]
        hashes = [np.empty(0, np.uint64), *(part.hashes for part in parts)]
        weighted = any(part.weights is not None for part in parts)
        weights = (
            np.concatenate([part.fill_weights(WEIGHT_UNIT) for part in parts]) if weighted else None
        )
        sets = [part.labels for part in parts if part.labels is not None]
        labels = LabelSets(*map(np.concatenate, zip(*sets, strict=True))) if sets else None
        found = cls(
            stack_matrices([part.matrix for part in parts]),
            np.concatenate(columns),
            np.concatenate(hashes),
            weights,
            labels=labels,
        )
        return replace(found, n_layers=parts[0].n_layers) if parts else found


NO_DOCUMENTS = CountedDocuments(
    DocumentTermMatrix.empty(), np.empty(0, np.int64), np.empty(0, np.uint64)
)


@dataclass(frozen=True, eq=False)
class DocumentSample:
    """The documents of a corpus with the smallest content hashes, at most ``size``, by hash and class."""

    documents: CountedDocuments
    size: int
    bound: int = MAX_HASH
    """All documents with a smaller hash are in the sample, none with a larger one: the hash of its last document, `MAX_HASH` if the sample is the whole
    corpus, 0 if it has no place for a document. It is never the hash of a document that was left out or forgotten."""

    @classmethod
    def from_documents(
        cls,
        documents: CountedDocuments,
        size: int,
        bound: int = MAX_HASH,
        eligible: Mask | None = None,
    ) -> DocumentSample:
        """Return the sample of a corpus, given at least all its documents with hashes up to ``bound``, or of some of them.

        At most ``size`` documents and `MOST_ENTRIES` entries; documents of more than `MAX_SAMPLED_DOCUMENT_TERMS` terms are left out. ``among`` is a mask of
        shape (n_docs,).
        """
        order = documents.argsort()
        if eligible is not None:
            order = order[eligible[order]]
        entries = documents.matrix.row_sizes
        order = order[
            (documents.hashes[order] <= np.uint64(bound))
            & (entries[order] <= MAX_SAMPLED_DOCUMENT_TERMS)
        ]
        fitting = min(
            size, int(np.searchsorted(np.cumsum(entries[order]), MAX_SAMPLE_ENTRIES, side="right"))
        )
        sample = cls(documents.take(order[:fitting]), size, bound)
        return sample._bounded() if fitting < order.size or not size else sample

    def _bounded(self) -> DocumentSample:
        """Return the same sample with the hash of its last document as the bound."""
        return replace(self, bound=int(self.documents.hashes.max(initial=0)))

    @property
    def is_complete(self) -> bool:
        """True if the sample has every document of the corpus, but for very long ones."""
        return self.bound == MAX_HASH

    def renumber(self, numbers: Renumbering) -> DocumentSample:
        """Return the same sample for statistics in which terms and columns have other numbers, in the same order."""
        return replace(self, documents=self.documents.renumber(numbers))

    def __add__(self, other: DocumentSample) -> DocumentSample:
        """Return the sample of both corpora together, with the same vocabulary and columns; of the smaller size."""
        return self.from_documents(
            CountedDocuments.concatenate((self.documents, other.documents)),
            min(self.size, other.size),
            min(self.bound, other.bound),
        )

    def __sub__(self, other: DocumentSample) -> DocumentSample:
        """Return the sample without the documents of another corpus, each removed as often as it is there. Evicted ones do not return."""
        leaving = Counter(other.documents.build_keys())
        stays = []
        for row, key in enumerate(self.documents.build_keys()):
            if leaving[key]:
                leaving[key] -= 1
            else:
                stays.append(row)
        kept = replace(self, documents=self.documents.take(np.array(stays, np.int64)))
        return kept if self.is_complete else kept._bounded()


class DocumentCollector:
    """Collects documents of a stream: all in order, or those that may be in a sample."""

    def __init__(self, size: int | None) -> None:
        """Collect for a sample of ``size`` documents; all documents if None."""
        self._size = size
        self._bound = MAX_HASH
        self._parts: list[CountedDocuments] = []
        self._documents = self._entries = 0

    def add(
        self,
        postings: Postings,
        classes: Ints,
        hashes: Keys,
        labels: Names,
        weights: Ints | None = None,
        sets: LabelSets | None = None,
    ) -> None:
        """Keep documents; ``labels`` are the labels of all class numbers so far, ``weights`` and ``sets`` as `TableBuilder.add` takes them."""
        if self._bound != MAX_HASH:
            chosen = hashes <= np.uint64(self._bound)
            postings = postings.select_documents(chosen)
            classes = classes[chosen]
            hashes = hashes[chosen]
            weights = None if weights is None else weights[chosen]
            sets = sets and sets.take(np.flatnonzero(chosen))
        part = CountedDocuments(postings.to_matrix(), classes, hashes, weights, labels=sets)
        narrow = part.matrix._replace(
            terms=part.matrix.terms.astype(np.int32), counts=part.matrix.counts.astype(np.int32)
        )
        self._parts.append(replace(part, matrix=narrow))
        self._documents += len(part)
        self._entries += part.matrix.terms.size
        if self._size is not None and (
            self._documents > 2 * self._size or self._entries > 2 * MAX_SAMPLE_ENTRIES
        ):
            self._prune(labels)

    def collect_documents(self, numbers: Renumbering) -> CountedDocuments:
        """Return all documents kept, numbered as in the statistics of the stream."""
        parts = (part.renumber(numbers) for part in self._parts)
        return CountedDocuments.concatenate(
            [replace(part, matrix=part.matrix.sort_entries()) for part in parts]
        )  # sorting the whole takes much memory

    def collect_sample(self, numbers: Renumbering) -> DocumentSample:
        """Return the sample, numbered as in the statistics of the stream."""
        sample = DocumentSample.from_documents(
            CountedDocuments.concatenate(self._parts).renumber(numbers),
            self._size or 0,
            self._bound,
        )
        return replace(
            sample,
            documents=replace(sample.documents, matrix=sample.documents.matrix.sort_entries()),
        )

    def _prune(self, labels: Names) -> None:
        rank = np.empty(len(labels), np.int64)
        rank[sorted(range(len(labels)), key=labels.__getitem__)] = np.arange(len(labels))
        joined = CountedDocuments.concatenate(self._parts)
        ranked = replace(
            joined,
            columns=rank[joined.columns],
            labels=joined.labels and joined.labels.renumber(rank),
        )
        sample = DocumentSample.from_documents(ranked, self._size or 0, self._bound)
        self._bound = sample.bound
        unranked = np.argsort(rank)
        kept = sample.documents
        self._parts = [
            replace(
                kept,
                columns=unranked[kept.columns],
                labels=kept.labels and kept.labels.renumber(unranked),
            )
        ]
        self._documents = len(sample.documents)
        self._entries = sample.documents.matrix.terms.size
