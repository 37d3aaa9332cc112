"""A corpus as counts, their table and a sample of its documents, and what can be done with it without reading it again.

Two corpora add and subtract; terms are left out, classes renamed or merged, documents forgotten; and any part of a corpus that was counted
once is the sum of its documents, or the whole less the others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.count_table import (
    UNLABELLED_LAYER,
    CountTable,
    Layer,
    Layers,
    Renumbering,
    log_units,
    regroup_counts,
    require_same_attributes,
    sum_cells,
)
from nbtext.counts.documents import (
    MAX_SAMPLED_DOCUMENT_TERMS,
    NO_DOCUMENTS,
    CountedDocuments,
    DocumentSample,
)
from nbtext.counts.statistics import add_counts, estimate_statistics
from nbtext.counts.vocabulary import Vocabulary, is_category
from nbtext.errors import UsageError
from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.labels import (
    ALL_DOCUMENTS_LABEL,
    LabelSets,
    contain_label_sets,
    format_label,
    list_labels,
)
from nbtext.ragged import compute_flat_indices, compute_offsets
from nbtext.text.hashing import pair, unpair

if TYPE_CHECKING:
    from nbtext.counts.count_table import CellCounts
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.prediction.labels import Labels
    from nbtext.type_names import Ints, Mask, Names, Numbers


@dataclass(frozen=True, eq=False)
class CorpusCounts:
    """All that is kept of a corpus; terms and classes of the sample are numbered as in the table."""

    table: CountTable
    sample: DocumentSample
    is_closed: bool = False
    """True if there can be no new terms: what is added is counted over these terms only."""
    documents: CountedDocuments = NO_DOCUMENTS
    """All documents in their order, none if they were not kept."""

    @classmethod
    def from_documents(
        cls, table: CountTable, documents: CountedDocuments, sample_size: int
    ) -> CorpusCounts:
        """Return the counts of a corpus, given all of its documents."""
        return cls(
            table, DocumentSample.from_documents(documents, sample_size), documents=documents
        )

    @cached_property
    def labelled_statistics(self) -> ClassStatistics:
        """The statistics of documents alone, in documents and tokens."""
        return estimate_statistics(self.table.labelled_table)

    @property
    def uses_unlabelled(self) -> bool:
        """True if unlabelled documents added anything: without them left-out documents may be answered best."""
        return any(layer.name == UNLABELLED_LAYER for layer in self.table.layers)

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        """Return both corpora together, without derived layers, over the terms of those that are closed; all documents only if both have them."""
        mine, theirs = alike(self.drop_derived_layers(), other.drop_derived_layers())
        mine = mine.restrict_to_vocabulary(other.table.vocabulary) if other.is_closed else mine
        theirs = theirs.restrict_to_vocabulary(self.table.vocabulary) if self.is_closed else theirs
        table, first, second = mine.table.combine(theirs.table, 1)
        sample = mine.sample.renumber(first) + theirs.sample.renumber(second)
        documents = (
            [mine.documents.renumber(first), theirs.documents.renumber(second)]
            if mine.documents and theirs.documents
            else []
        )
        return CorpusCounts(
            table,
            sample,
            self.is_closed or other.is_closed,
            CountedDocuments.concatenate(documents),
        )

    def __sub__(self, other: CorpusCounts) -> CorpusCounts:
        """Return the corpus without the documents of another, and without derived layers.

        Raises `UsageError` if the other counts anything that this one does not.
        """
        mine, theirs = alike(
            self.drop_derived_layers(),
            other.restrict_to_vocabulary(self.table.vocabulary) if self.is_closed else other,
        )
        table, first, second = mine.table.combine(theirs.table, -1)
        sample = mine.sample.renumber(first) - theirs.sample.renumber(second)
        return replace(mine, table=table, sample=sample, documents=NO_DOCUMENTS)

    def with_label_sets(self) -> CorpusCounts:
        """Return the counts of documents of one label each as those of documents of several."""
        return replace(
            self,
            table=with_reserved_label(self.table),
            sample=replace(self.sample, documents=self.sample.documents.with_label_sets()),
            documents=self.documents.with_label_sets(),
        )

    def restrict_to_vocabulary(self, vocabulary: Vocabulary) -> CorpusCounts:
        """Return the counts of the terms of another vocabulary, and of all categories."""
        return self.restrict_terms(is_in_vocabulary(vocabulary, self.table.vocabulary))

    def restrict_terms(self, kept: Mask) -> CorpusCounts:
        """Return the counts of the terms with ``kept`` (shape (n_terms,)) true, of the parts of n-grams among them, and of all categories."""
        table = self.table
        documents = self.sample.documents
        kept = include_ngram_parts(table.vocabulary, kept | is_category(table.vocabulary))
        cells = kept[table.cell_terms]
        numbers = np.cumsum(kept) - 1
        keys = pair(numbers[table.cell_terms[cells]], table.cell_classes[cells])
        restricted = replace(table, vocabulary=table.vocabulary.restrict(kept)).with_cells(
            table.class_documents, keys, *(each[cells] for each in table.cells)
        )
        matrix = documents.matrix.select_terms(kept)
        documents = replace(
            documents,
            matrix=matrix._replace(terms=numbers.astype(matrix.terms.dtype)[matrix.terms]),
        )
        return replace(self, table=restricted, sample=replace(self.sample, documents=documents))

    def widen(self, vocabulary: Vocabulary) -> tuple[CorpusCounts, Ints, Ints]:
        """Return the counts over the terms of another vocabulary too, without cells there, and the new numbers of the terms of both."""
        table = self.table
        union, mine, theirs = table.vocabulary.union(vocabulary)
        sizes = np.zeros(len(union), np.int64)
        sizes[mine] = np.diff(table.term_offsets)
        sample = self.sample.renumber(
            Renumbering(mine, np.arange(table.class_documents.size), len(table.layers))
        )
        return (
            replace(
                self,
                table=replace(table, vocabulary=union, term_offsets=compute_offsets(sizes)),
                sample=sample,
            ),
            mine,
            theirs,
        )

    def reduce_unit(self) -> CorpusCounts:
        """Return the counts in whole documents if all numbers are whole and no document of the sample has a weight; else as they are.

        So nothing is left of weighted documents that were forgotten, and updates that sum to the same counts give the same numbers.
        """
        table = self.table
        documents = self.sample.documents
        unit = table.unit
        if unit == 1 or (documents.weights is not None and np.any(documents.weights != unit)):
            return self
        found = replace(
            self, sample=replace(self.sample, documents=replace(documents, weights=None))
        )
        if any(np.any(array % unit) for array in table.counts_by_field.values()):
            return found
        return replace(
            found,
            table=replace(
                table,
                **{name: array // unit for name, array in table.counts_by_field.items()},
                unit=1,
            ),
        )

    def with_log_sums(self, *, enabled: bool) -> CorpusCounts:
        """Return the counts with the sums of log weights, from all documents if they are not there yet, or without them."""
        if not enabled:
            return replace(self, table=replace(self.table, cell_logs=None))
        return (
            replace(self, table=add_log_sums(self.table, self.documents))
            if self.documents
            else self
        )

    def rename_classes(self, labels: Names) -> CorpusCounts:
        """Return the counts with a new label for each class; classes with the same label are merged."""
        classes, numbers = _numbered(labels)
        of_class, of_layer = self.table.column_classes_and_layers
        return self._regrouped(
            numbers[of_class] * len(self.table.layers) + of_layer, classes, self.table.layers
        )

    def drop_derived_layers(self) -> CorpusCounts:
        """Return the counts without derived layers."""
        n, (of_class, of_layer) = self.table.n_document_layers, self.table.column_classes_and_layers
        layers = self.table.layers[:n]
        numbers = np.where(of_layer < n, of_class * n + of_layer, -1)
        return (
            self
            if layers == self.table.layers
            else self._regrouped(numbers, self.table.classes, layers)
        )

    def with_layer(self, layer: Layer, counts: CellCounts) -> CorpusCounts:
        """Return the counts with a derived layer more, given its counts by class, of the same terms and classes."""
        layers, (of_class, of_layer) = (
            (*self.table.layers, layer),
            self.table.column_classes_and_layers,
        )
        found = self._regrouped(of_class * len(layers) + of_layer, self.table.classes, layers)
        places = np.arange(counts.n_classes) * len(layers) + len(layers) - 1
        derived = regroup_counts(counts, places, counts.classes, len(layers) * counts.n_classes)
        return replace(found, table=add_counts(found.table, derived, 1))

    def _regrouped(self, numbers: Ints, classes: tuple[str, ...], layers: Layers) -> CorpusCounts:
        """Return the counts of other classes and layers, as `CountTable.regroup_counts` takes them."""
        documents = self.sample.documents.renumber(
            Renumbering(np.arange(self.table.n_terms), numbers, len(layers))
        )
        sample = DocumentSample.from_documents(documents, self.sample.size, self.sample.bound)
        return replace(
            self,
            table=self.table.regroup_columns(numbers, classes, layers),
            sample=sample,
            documents=NO_DOCUMENTS,
        )


def with_reserved_label(table: CountTable) -> CountTable:
    """Return the counts of documents with one label each as those of documents with several: each document is also under the reserved label."""
    if not table.posterior_type.is_exclusive:
        return table
    _, of_layer = table.column_classes_and_layers
    everything = table.regroup_columns(of_layer, (ALL_DOCUMENTS_LABEL,), table.layers)
    return everything.combine(table, 1).table


def alike(mine: CorpusCounts, theirs: CorpusCounts) -> tuple[CorpusCounts, CorpusCounts]:
    """Return two corpora, both of documents of several labels if one is."""
    if mine.table.posterior_type is theirs.table.posterior_type:
        return mine, theirs
    return mine.with_label_sets(), theirs.with_label_sets()


def is_in_vocabulary(known: Vocabulary, vocabulary: Vocabulary) -> Mask:
    """Return a mask of the terms of ``vocabulary`` that are in ``known``, shape (n_terms,)."""
    _, theirs, ours = known.union(vocabulary)
    return np.isin(ours, theirs)


def include_ngram_parts(vocabulary: Vocabulary, kept: Mask) -> Mask:
    """Return the mask ``kept``, shape (n_terms,), with the parts of n-grams added: the (n − 1)-gram before the last term, and that term."""
    kept = kept.copy()
    left, last = unpair(vocabulary.pairs)
    while True:
        ngrams = kept[vocabulary.n_single_terms :]
        parts: Ints = np.concatenate((left[ngrams], last[ngrams]))
        if kept[parts].all():
            return kept
        kept[parts] = True


def relabel_documents(
    table: CountTable, documents: CountedDocuments, labels: Labels, sample_size: int
) -> CorpusCounts:
    """Count documents under a new label for each.

    ``table`` is that of a corpus that includes the documents; only its vocabulary and attributes matter.
    """
    sets = [list_labels(label) for label in labels]
    several = contain_label_sets(labels)
    classes, numbers = _numbered(
        [*([ALL_DOCUMENTS_LABEL] if several else []), *chain.from_iterable(sets)]
    )
    n_layers = len(table.layers)
    of_layer = documents.columns % n_layers
    n_columns = len(classes) * n_layers
    if not several:
        relabelled = replace(documents, columns=numbers * n_layers + of_layer)
    else:
        sizes = np.array([len(names) for names in sets], np.int64)
        others = LabelSets(sizes, numbers[1:] * n_layers + np.repeat(of_layer, sizes))
        relabelled = replace(documents, columns=of_layer, labels=others)
    rows, _ = relabelled.split_by_column()
    keys = pair(rows.matrix.terms, np.repeat(rows.columns, rows.matrix.row_sizes))
    keys, cells = sum_cells(
        keys, *weigh_entries(rows, table.unit, logs=table.cell_logs is not None)
    )
    moments = table.moments
    if moments is not None and rows.matrix.values is not None:
        moments = type(moments).from_values(rows.matrix.values, rows.columns, n_columns)
    class_documents = np.zeros(n_columns, np.int64)
    np.add.at(class_documents, rows.columns, rows.fill_weights(table.unit))
    table = replace(table, classes=classes, moments=moments).with_cells(
        class_documents, keys, *cells
    )
    found, renumbering = table.drop_empty()
    return CorpusCounts.from_documents(found, relabelled.renumber(renumbering), sample_size)


def weigh_entries(documents: CountedDocuments, unit: int, *, logs: bool) -> list[Ints]:
    """Return what each entry of documents of one label is in its cell, as `CountTable.cells` has them, each of shape (n_entries,)."""
    counts = documents.matrix.counts
    weights = np.repeat(documents.fill_weights(unit), documents.matrix.row_sizes)
    return [counts * weights, weights, *([log_units(counts) * weights] if logs else [])]


def _numbered(labels: Names) -> tuple[tuple[str, ...], Ints]:
    """Return the distinct labels, sorted, and the number of each label given."""
    classes = tuple(sorted(set(labels)))
    number = {label: place for place, label in enumerate(classes)}
    return classes, np.array([number[label] for label in labels], np.int64)


class Subsets:
    """Parts of a corpus, given its table and all its documents, numbered as in the table.

    A part has vocabulary and classes of the whole, so that what is learnt from it can score any document of the whole; terms
    and classes that no document of the part has are without cells. The cell of each entry of the document-term matrix is found once; after that a part
    takes one pass over the entries of its documents or of the others, whichever are fewer.
    """

    def __init__(self, table: CountTable, documents: CountedDocuments) -> None:
        self.table = table
        self.documents = documents
        self._by_column, self._sizes = documents.split_by_column()
        self._cells = find_entry_cells(self.table, self._by_column)

    def __len__(self) -> int:
        return len(self.documents)

    def select_table(self, chosen: Mask) -> CountTable:
        """Return the table of the chosen documents, a mask of shape (n_docs,)."""
        if 2 * np.count_nonzero(chosen) > len(self):
            return self.subtract_rows(np.flatnonzero(~chosen))
        return self._of(np.flatnonzero(chosen), subtract=False)

    def subtract_rows(self, rows: Ints) -> CountTable:
        """Return the table less some documents, by number; for this, ``documents`` need not be all of the corpus."""
        return self._of(rows, subtract=True)

    def _of(self, rows: Ints, *, subtract: bool) -> CountTable:
        whole = self.table
        sizes = self._sizes
        bounds = self._by_column.matrix.offsets
        rows = compute_flat_indices(compute_offsets(sizes)[rows], sizes[rows])
        documents = self._by_column.take(rows)
        cells = self._cells[compute_flat_indices(bounds[rows], bounds[rows + 1] - bounds[rows])]

        def part(total: Numbers, places: Ints, of_rows: Ints) -> Ints:
            sums = np.zeros(total.size, np.int64)
            np.add.at(sums, places, of_rows)
            return np.subtract(total, sums, out=sums) if subtract else sums

        entries = weigh_entries(documents, whole.unit, logs=whole.cell_logs is not None)
        counts, holding, *logs = (
            part(total, cells, each) for total, each in zip(whole.cells, entries, strict=True)
        )
        kept = holding > 0
        moments = whole.moments
        values = documents.matrix.values
        if moments is not None and values is not None:
            of_rows = type(moments).from_values(values, documents.columns, len(moments.documents))
            moments = moments.subtract(of_rows) if subtract else of_rows
        return replace(
            whole,
            class_documents=part(
                whole.class_documents, documents.columns, documents.fill_weights(whole.unit)
            ),
            term_offsets=compute_offsets(kept.astype(np.int64))[whole.term_offsets],
            cell_classes=whole.cell_classes[kept],
            cell_counts=counts[kept],
            cell_documents=holding[kept],
            cell_logs=logs[0][kept] if logs else None,
            moments=moments,
        )

    def with_log_sums(self) -> Subsets:
        """Return the same parts with the sums of log weights; ``documents`` must be all of the corpus."""
        found = copy(self)
        found.table = add_log_sums(self.table, self.documents)
        return found

    def select_counts(self, chosen: Mask, sample_size: int) -> CorpusCounts:
        """Return the table of the chosen documents and a sample of at most ``sample_size`` of them."""
        among = chosen if sample_size else np.zeros_like(chosen)
        return CorpusCounts(
            self.select_table(chosen),
            DocumentSample.from_documents(self.documents, sample_size, eligible=among),
        )


def add_log_sums(table: CountTable, documents: CountedDocuments) -> CountTable:
    """Return the table with the sums of log weights, from all of their documents."""
    if table.cell_logs is not None:
        return table
    documents, _ = documents.split_by_column()
    sums = np.zeros(table.cell_counts.size, np.int64)
    np.add.at(
        sums,
        find_entry_cells(table, documents),
        weigh_entries(documents, table.unit, logs=True)[-1],
    )
    return replace(table, cell_logs=sums)


def find_entry_cells(counts: CellCounts, documents: CountedDocuments) -> Ints:
    """Return the number of each matrix entry's cell, shape (n_entries,): column by column, with a table from terms to cells."""
    matrix = documents.matrix
    begins = matrix.offsets[:-1]
    sizes = matrix.row_sizes
    cell_of_term = np.zeros(counts.n_terms, np.int64)
    cell_terms = counts.per_cell(np.arange(counts.n_terms, dtype=np.int32))
    found = np.empty(matrix.terms.size, np.int64)
    groups = (
        _by_column(columns, counts.class_documents.size)
        for columns in (documents.columns, counts.cell_classes)
    )
    for rows, cells in zip(*groups, strict=True):
        cell_of_term[cell_terms[cells]] = (
            cells  # cells of other columns stay in the table, but are not looked up
        )
        entries = compute_flat_indices(begins[rows], sizes[rows])
        found[entries] = cell_of_term[matrix.terms[entries]]
    return found


def _by_column(columns: Ints, n_columns: int) -> list[Ints]:
    """Return the places of each column number, ascending."""
    return np.split(
        np.argsort(columns, kind="stable"),
        np.cumsum(np.bincount(columns, minlength=n_columns))[:-1],
    )


class NotInModelError(UsageError):
    """A document to be forgotten was never learnt; ``number`` is its place among those given, from 0."""

    def __init__(self, index: int, label: str) -> None:
        super().__init__(
            f"document {index + 1} was never learnt as {label!r}", hint="nothing is forgotten"
        )
        self.number = index
        self.label = label

    def set_document_name(self, name: str) -> NotInModelError:
        """Return the error with the name of the document in place of its number."""
        self.message = f"was never learnt as {self.label!r}"
        self.where = name
        return self


def forget_documents(counts: CorpusCounts, gone: CorpusCounts) -> CorpusCounts:
    """Subtract a corpus that has all of its documents.

    Raises `NotInModelError` if one was certainly never counted, and `UsageError` if nothing would be left.
    """
    rest = subtract_documents(counts, gone)
    if not rest.table.n_documents:
        raise UsageError(
            "the model has learnt no other documents, so nothing would be left of it",
            hint="remove its file instead",
        )
    return rest


def subtract_documents(counts: CorpusCounts, gone: CorpusCounts) -> CorpusCounts:
    """Subtract documents as `forget_documents` does; nothing need be left."""
    counts, gone = alike(counts, gone)
    table = gone.table
    documents = gone.documents
    require_same_attributes(counts.table, table)
    row = _missing_from_sample(counts, table, documents)
    if row is None:
        gone = CorpusCounts(table, DocumentSample(documents, len(documents)))
        if counts.is_closed:
            gone = gone.restrict_to_vocabulary(counts.table.vocabulary)
        try:
            return counts - gone
        except UsageError:
            row = _first_impossible(counts, gone.table, gone.sample.documents)
            if row is None:
                raise
    raise NotInModelError(row, format_label(documents.list_labels(table.classes)[row]))


def _missing_from_sample(
    counts: CorpusCounts, table: CountTable, documents: CountedDocuments
) -> int | None:
    """Return the first document that would be in the sample, by its hash, if it had been counted, and is not; None if there is none.

    ``table`` is that of the documents. A complete sample shows this for all documents but very long ones.
    """
    sample = counts.sample
    expected = (documents.hashes < np.uint64(sample.bound)) & (
        documents.matrix.row_sizes <= MAX_SAMPLED_DOCUMENT_TERMS
    )
    sampled = Counter(_named_keys(counts.table, sample.documents))
    keys = _named_keys(table, documents)
    for row in np.flatnonzero(expected).tolist():
        if not sampled[keys[row]]:
            return row
        sampled[keys[row]] -= 1
    return None


def _named_keys(
    table: CountTable, documents: CountedDocuments
) -> list[tuple[int, tuple[tuple[str, str], ...], int]]:
    classes = table.classes
    layers = table.layers
    keys = documents.build_keys()
    names = [(label, layer.name) for label in classes for layer in layers]
    return [
        (content, tuple(names[column] for column in columns), weight)
        for content, columns, weight in keys
    ]


def _first_impossible(
    counts: CorpusCounts, table: CountTable, documents: CountedDocuments
) -> int | None:
    """Return the first document that, subtracted with those before it, makes ``counts`` negative; None if all can be subtracted.

    ``table`` is that of the documents.
    """
    if _can_lose(counts, table):
        return None
    subsets = Subsets(table, documents)
    here = np.arange(len(documents))
    # once impossible, always impossible with more documents
    return bisect_left(
        range(len(documents) - 1),
        True,
        key=lambda last: not _can_lose(counts, subsets.select_table(here <= last)),
    )


def _can_lose(counts: CorpusCounts, table: CountTable) -> bool:
    try:
        counts.table.combine(table, -1)
    except UsageError:
        return False
    return True
