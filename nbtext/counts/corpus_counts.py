"""A corpus as counts: its count table and a sample of its documents.

`CorpusCounts` add and subtract. Terms can be removed, and classes renamed or merged, without
reading the corpus again. `Subsets` computes the tables of subsets, such as the folds of a
cross-validation: the sum of the documents, or the table of the corpus without the other documents.
`subtract_documents` removes documents from a model, and checks that the model has learnt them.
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
    regroup_counts,
    require_same_attributes,
    round_logs,
    sum_cells,
)
from nbtext.counts.documents import (
    MAX_SAMPLED_DOCUMENT_TERMS,
    NO_DOCUMENTS,
    CountedDocuments,
    DocumentSample,
)
from nbtext.counts.statistics import add_counts, estimate_statistics
from nbtext.counts.vocabulary import Vocabulary, mask_categories
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
    """The counts of a corpus. The sample has the terms and classes of the table."""

    table: CountTable
    sample: DocumentSample
    is_closed: bool = False
    """True if the vocabulary is fixed: added documents are counted over these terms only."""
    documents: CountedDocuments = NO_DOCUMENTS
    """All documents of the corpus in their order, or none if they were not kept."""

    @classmethod
    def from_documents(
        cls, table: CountTable, documents: CountedDocuments, sample_size: int
    ) -> CorpusCounts:
        """Return the counts of a corpus from its table and all of its documents."""
        sample = DocumentSample.from_documents(documents, sample_size)
        return cls(table, sample, documents=documents)

    @cached_property
    def labelled_statistics(self) -> ClassStatistics:
        """The statistics of labelled documents only, in documents and tokens."""
        return estimate_statistics(self.table.labelled_table)

    @property
    def uses_unlabelled(self) -> bool:
        """True if the counts include derived counts of unlabelled documents."""
        return any(layer.name == UNLABELLED_LAYER for layer in self.table.layers)

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        """Return the counts of both corpora together, without derived layers.

        If one corpus is closed, the result has only the terms of this corpus. The result has all
        documents if both corpora have all documents.
        """
        mine, theirs = match_label_kinds(self.drop_derived_layers(), other.drop_derived_layers())
        if other.is_closed:
            mine = mine.restrict_to_vocabulary(other.table.vocabulary)
        if self.is_closed:
            theirs = theirs.restrict_to_vocabulary(self.table.vocabulary)
        table, my_numbers, their_numbers = mine.table.combine(theirs.table, 1)
        sample = mine.sample.renumber(my_numbers) + theirs.sample.renumber(their_numbers)
        documents = NO_DOCUMENTS
        if mine.documents and theirs.documents:
            my_documents = mine.documents.renumber(my_numbers)
            their_documents = theirs.documents.renumber(their_numbers)
            documents = CountedDocuments.concatenate((my_documents, their_documents))
        return CorpusCounts(table, sample, self.is_closed or other.is_closed, documents)

    def __sub__(self, other: CorpusCounts) -> CorpusCounts:
        """Return the counts without the documents of another corpus, and without derived layers.

        Raise `UsageError` if the other corpus counts something that this one does not.
        """
        theirs = other
        if self.is_closed:
            theirs = theirs.restrict_to_vocabulary(self.table.vocabulary)
        mine, theirs = match_label_kinds(self.drop_derived_layers(), theirs)
        table, my_numbers, their_numbers = mine.table.combine(theirs.table, -1)
        sample = mine.sample.renumber(my_numbers) - theirs.sample.renumber(their_numbers)
        return replace(mine, table=table, sample=sample, documents=NO_DOCUMENTS)

    def with_label_sets(self) -> CorpusCounts:
        """Return the counts of single-label documents as counts of multi-label documents."""
        return replace(
            self,
            table=add_reserved_label(self.table),
            sample=replace(self.sample, documents=self.sample.documents.with_label_sets()),
            documents=self.documents.with_label_sets(),
        )

    def restrict_to_vocabulary(self, vocabulary: Vocabulary) -> CorpusCounts:
        """Return the counts of the terms of another vocabulary, and of all categories."""
        return self.restrict_terms(is_in_vocabulary(vocabulary, self.table.vocabulary))

    def restrict_terms(self, selected: Mask) -> CorpusCounts:
        """Return the counts of the selected terms, a mask of shape (n_terms,).

        The parts of selected n-grams, and all categories, are kept too.
        """
        table = self.table
        documents = self.sample.documents
        selected = selected | mask_categories(table.vocabulary)
        selected = include_ngram_parts(table.vocabulary, selected)
        new_ids = np.cumsum(selected) - 1
        stays = selected[table.cell_terms]
        keys = pair(new_ids[table.cell_terms[stays]], table.cell_classes[stays])
        restricted = replace(table, vocabulary=table.vocabulary.restrict(selected))
        restricted = restricted.with_cells(
            table.class_documents, keys, *(values[stays] for values in table.cells)
        )
        documents = replace(documents, matrix=documents.matrix.select_terms(selected))
        sample = replace(self.sample, documents=documents)
        sample = sample.renumber(table.renumber_terms(new_ids))
        return replace(self, table=restricted, sample=sample)

    def widen(self, vocabulary: Vocabulary) -> tuple[CorpusCounts, Ints, Ints]:
        """Return the counts with the terms of another vocabulary, which have no cells.

        Also return the new ids of the terms of this vocabulary and of the other vocabulary.
        """
        table = self.table
        union, my_ids, their_ids = table.vocabulary.union(vocabulary)
        sizes = np.zeros(len(union), np.int64)
        sizes[my_ids] = np.diff(table.term_offsets)
        sample = self.sample.renumber(table.renumber_terms(my_ids))
        table = replace(table, vocabulary=union, term_offsets=compute_offsets(sizes))
        return replace(self, table=table, sample=sample), my_ids, their_ids

    def reduce_unit(self) -> CorpusCounts:
        """Return the counts in units of whole documents if they are whole, otherwise unchanged.

        They also stay unchanged if a sampled document has a weight other than 1. So a removed
        document with a weight leaves no trace, and equal counts have equal numbers after any
        updates.
        """
        table = self.table
        documents = self.sample.documents
        unit = table.unit
        if unit == 1 or np.any(documents.fill_weights(unit) != unit):
            return self
        sample = replace(self.sample, documents=replace(documents, weights=None))
        counts = table.counts_by_field
        if not any(np.any(array % unit) for array in counts.values()):
            reduced = {name: array // unit for name, array in counts.items()}
            table = replace(table, **reduced, unit=1)
        return replace(self, table=table, sample=sample)

    def with_log_sums(self, *, enabled: bool) -> CorpusCounts:
        """Return the counts with sums of log weights if ``enabled``, else without.

        Missing sums are computed from all documents. If these were not kept, return the counts
        unchanged.
        """
        if not enabled:
            return replace(self, table=replace(self.table, cell_logs=None))
        if not self.documents:
            return self
        return replace(self, table=add_log_sums(self.table, self.documents))

    def rename_classes(self, labels: Names) -> CorpusCounts:
        """Return the counts with a new label for each class; equal labels merge classes."""
        classes, numbers = _number_labels(labels)
        column_classes, column_layers = self.table.column_classes_and_layers
        columns = numbers[column_classes] * len(self.table.layers) + column_layers
        return self._regroup_columns(columns, classes, self.table.layers)

    def drop_derived_layers(self) -> CorpusCounts:
        """Return the counts without derived layers."""
        n_layers = self.table.n_document_layers
        layers = self.table.layers[:n_layers]
        if layers == self.table.layers:
            return self
        column_classes, column_layers = self.table.column_classes_and_layers
        new_columns = column_classes * n_layers + column_layers
        columns = np.where(column_layers < n_layers, new_columns, -1)
        return self._regroup_columns(columns, self.table.classes, layers)

    def with_layer(self, layer: Layer, counts: CellCounts) -> CorpusCounts:
        """Return the counts with one more derived layer.

        ``counts`` are the counts of the layer by class, with the same terms and classes.
        """
        layers = (*self.table.layers, layer)
        n_layers = len(layers)
        column_classes, column_layers = self.table.column_classes_and_layers
        columns = column_classes * n_layers + column_layers
        widened = self._regroup_columns(columns, self.table.classes, layers)
        # the new layer is the last layer of each class
        layer_columns = np.arange(counts.n_classes) * n_layers + n_layers - 1
        n_columns = n_layers * counts.n_classes
        derived = regroup_counts(counts, layer_columns, counts.classes, n_columns)
        return replace(widened, table=add_counts(widened.table, derived, 1))

    def _regroup_columns(
        self, columns: Ints, classes: tuple[str, ...], layers: Layers
    ) -> CorpusCounts:
        """Return the counts with other classes and layers.

        ``columns`` are the new columns by the old ones, as in `CountTable.regroup_columns`.
        """
        renumbering = Renumbering(np.arange(self.table.n_terms), columns, len(layers))
        documents = self.sample.documents.renumber(renumbering)
        # a sample is sorted by column too, so it is sorted again
        sample = DocumentSample.from_documents(documents, self.sample.size, self.sample.bound)
        return replace(
            self,
            table=self.table.regroup_columns(columns, classes, layers),
            sample=sample,
            documents=NO_DOCUMENTS,
        )


def add_reserved_label(table: CountTable) -> CountTable:
    """Return single-label counts as multi-label counts: all documents have the reserved label."""
    if not table.posterior_type.is_exclusive:
        return table
    # with only one class, the number of a column is the number of its layer
    _, column_layers = table.column_classes_and_layers
    all_documents = table.regroup_columns(column_layers, (ALL_DOCUMENTS_LABEL,), table.layers)
    return all_documents.combine(table, 1).table


def match_label_kinds(
    first: CorpusCounts, second: CorpusCounts
) -> tuple[CorpusCounts, CorpusCounts]:
    """Return two corpora unchanged, or both with multi-label documents if only one has them."""
    if first.table.posterior_type is second.table.posterior_type:
        return first, second
    return first.with_label_sets(), second.with_label_sets()


def is_in_vocabulary(vocabulary: Vocabulary, terms: Vocabulary) -> Mask:
    """Return a mask of the terms of ``terms`` that are in ``vocabulary``, shape (n_terms,)."""
    _, vocabulary_ids, term_ids = vocabulary.union(terms)
    return np.isin(term_ids, vocabulary_ids)


def include_ngram_parts(vocabulary: Vocabulary, selected: Mask) -> Mask:
    """Return the mask of selected terms, shape (n_terms,), with the parts of selected n-grams.

    The parts are the (n − 1)-gram before the last term, and that term.
    """
    selected = selected.copy()
    prefixes, last = unpair(vocabulary.ngram_keys)
    while True:
        ngrams = selected[vocabulary.n_single_terms :]
        ngram_parts: Ints = np.concatenate((prefixes[ngrams], last[ngrams]))
        if selected[ngram_parts].all():
            return selected
        selected[ngram_parts] = True


def relabel_documents(
    table: CountTable, documents: CountedDocuments, labels: Labels, sample_size: int
) -> CorpusCounts:
    """Count documents under a new label for each document.

    ``table`` is the table of a corpus that includes the documents. Only its vocabulary, attributes,
    layers and unit are used.
    """
    relabelled, classes = _replace_labels(documents, labels, len(table.layers))
    rows, _ = relabelled.split_by_column()
    keys = pair(rows.matrix.terms, np.repeat(rows.columns, rows.matrix.row_sizes))
    entries = weigh_entries(rows, table.unit, logs=table.cell_logs is not None)
    keys, cells = sum_cells(keys, *entries)
    n_columns = len(classes) * len(table.layers)
    moments = table.moments
    if moments is not None and rows.matrix.values is not None:
        moments = type(moments).from_values(rows.matrix.values, rows.columns, n_columns)
    class_documents = np.zeros(n_columns, np.int64)
    np.add.at(class_documents, rows.columns, rows.fill_weights(table.unit))
    relabelled_table = replace(table, classes=classes, moments=moments)
    relabelled_table = relabelled_table.with_cells(class_documents, keys, *cells)
    numbered = relabelled_table.drop_empty()
    relabelled = relabelled.renumber(numbered.renumbering)
    return CorpusCounts.from_documents(numbered.table, relabelled, sample_size)


def _replace_labels(
    documents: CountedDocuments, labels: Labels, n_layers: int
) -> tuple[CountedDocuments, tuple[str, ...]]:
    """Return the documents with new labels, and the distinct labels, sorted.

    If a label is a set, all documents become multi-label documents.
    """
    layers = documents.columns % n_layers
    label_lists = [list_labels(label) for label in labels]
    all_labels = list(chain.from_iterable(label_lists))
    if not contain_label_sets(labels):
        classes, numbers = _number_labels(all_labels)
        return replace(documents, columns=numbers * n_layers + layers), classes
    # The reserved label is class 0, so the column of a document under it is its layer.
    classes, numbers = _number_labels([ALL_DOCUMENTS_LABEL, *all_labels])
    label_numbers = numbers[1:]
    sizes = np.array([len(names) for names in label_lists], np.int64)
    label_sets = LabelSets(sizes, label_numbers * n_layers + np.repeat(layers, sizes))
    return replace(documents, columns=layers, labels=label_sets), classes


def weigh_entries(documents: CountedDocuments, unit: int, *, logs: bool) -> list[Ints]:
    """Return the amounts that each matrix entry of single-label documents adds to its cell.

    They are arrays of shape (n_entries,) in the order of `CellCounts.cells`. The array of log
    weights is only returned with ``logs``.
    """
    counts = documents.matrix.counts
    weights = np.repeat(documents.fill_weights(unit), documents.matrix.row_sizes)
    columns = [counts * weights, weights]
    if logs:
        columns.append(round_logs(counts) * weights)
    return columns


def _number_labels(labels: Names) -> tuple[tuple[str, ...], Ints]:
    """Return the distinct labels, sorted, and the number of each label among them."""
    classes = tuple(sorted(set(labels)))
    class_numbers = {label: number for number, label in enumerate(classes)}
    return classes, np.array([class_numbers[label] for label in labels], np.int64)


class Subsets:
    """Computes the counts of subsets of a corpus from its table and all its documents.

    A subset has the vocabulary and the classes of the corpus, so a model trained on it can score
    any document of the corpus. Terms and classes without documents in the subset have no cells. The
    cell of each entry of the document-term matrix is found once. After that, a subset takes one
    pass over the entries of its documents, or of the other documents if these are fewer.
    """

    def __init__(self, table: CountTable, documents: CountedDocuments) -> None:
        """Prepare subsets; terms and columns of the documents are numbered as in the table."""
        self.table = table
        self.documents = documents
        self._rows, self._row_counts = documents.split_by_column()
        self._cells = find_entry_cells(table, self._rows)

    def __len__(self) -> int:
        return len(self.documents)

    def select_table(self, selected: Mask) -> CountTable:
        """Return the table of the selected documents, a mask of shape (n_docs,)."""
        if 2 * np.count_nonzero(selected) > len(self):
            return self.subtract_rows(np.flatnonzero(~selected))
        return self._sum_documents(np.flatnonzero(selected), subtract=False)

    def subtract_rows(self, rows: Ints) -> CountTable:
        """Return the table without some documents, given their row numbers.

        This is possible even if ``documents`` are only some of the documents of the corpus.
        """
        return self._sum_documents(rows, subtract=True)

    def _sum_documents(self, rows: Ints, *, subtract: bool) -> CountTable:
        """Return the table of some documents, or with ``subtract`` of all other documents.

        ``rows`` are their indices in ``self.documents``.
        """
        corpus = self.table
        starts = compute_offsets(self._row_counts)[rows]
        label_rows = compute_flat_indices(starts, self._row_counts[rows])
        documents = self._rows.take(label_rows)
        matrix = self._rows.matrix
        entries = compute_flat_indices(matrix.offsets[label_rows], matrix.row_sizes[label_rows])
        cells = self._cells[entries]

        def sum_amounts(totals: Numbers, indices: Ints, amounts: Ints) -> Ints:
            """Return the sum of the amounts by index, or the totals without it."""
            sums = np.zeros(totals.size, np.int64)
            np.add.at(sums, indices, amounts)
            if subtract:
                np.subtract(totals, sums, out=sums)
            return sums

        entry_amounts = weigh_entries(documents, corpus.unit, logs=corpus.cell_logs is not None)
        counts, cell_documents, *logs = (
            sum_amounts(totals, cells, amounts)
            for totals, amounts in zip(corpus.cells, entry_amounts, strict=True)
        )
        weights = documents.fill_weights(corpus.unit)
        class_documents = sum_amounts(corpus.class_documents, documents.columns, weights)
        stays = cell_documents > 0
        moments = corpus.moments
        values = documents.matrix.values
        if moments is not None and values is not None:
            sums = type(moments).from_values(values, documents.columns, len(moments.documents))
            moments = moments.subtract(sums) if subtract else sums
        return replace(
            corpus,
            class_documents=class_documents,
            term_offsets=compute_offsets(stays.astype(np.int64))[corpus.term_offsets],
            cell_classes=corpus.cell_classes[stays],
            cell_counts=counts[stays],
            cell_documents=cell_documents[stays],
            cell_logs=logs[0][stays] if logs else None,
            moments=moments,
        )

    def with_log_sums(self) -> Subsets:
        """Return subsets of the same corpus, with sums of log weights.

        The documents must be all documents of the corpus.
        """
        subsets = copy(self)
        subsets.table = add_log_sums(self.table, self.documents)
        return subsets

    def select_counts(self, selected: Mask, sample_size: int) -> CorpusCounts:
        """Return the table of the selected documents, and a sample of at most ``sample_size``.

        ``selected`` is a mask of shape (n_docs,).
        """
        sample = DocumentSample.from_documents(self.documents, sample_size, eligible=selected)
        return CorpusCounts(self.select_table(selected), sample)


def add_log_sums(table: CountTable, documents: CountedDocuments) -> CountTable:
    """Return the table with the sums of log weights, computed from all of its documents."""
    if table.cell_logs is not None:
        return table
    rows, _ = documents.split_by_column()
    sums = np.zeros(table.cell_counts.size, np.int64)
    *_, logs = weigh_entries(rows, table.unit, logs=True)
    np.add.at(sums, find_entry_cells(table, rows), logs)
    return replace(table, cell_logs=sums)


def find_entry_cells(counts: CellCounts, documents: CountedDocuments) -> Ints:
    """Return the cell of each matrix entry of single-label documents, shape (n_entries,)."""
    matrix = documents.matrix
    starts = matrix.offsets[:-1]
    sizes = matrix.row_sizes
    cell_terms = counts.per_cell(np.arange(counts.n_terms, dtype=np.int32))
    cells_by_term = np.zeros(counts.n_terms, np.int64)
    entry_cells = np.empty(matrix.terms.size, np.int64)
    n_columns = counts.class_documents.size
    column_rows = _group_by_column(documents.columns, n_columns)
    column_cells = _group_by_column(counts.cell_classes, n_columns)
    for rows, cells in zip(column_rows, column_cells, strict=True):
        # cells of other columns stay in the array, but are not looked up
        cells_by_term[cell_terms[cells]] = cells
        entries = compute_flat_indices(starts[rows], sizes[rows])
        entry_cells[entries] = cells_by_term[matrix.terms[entries]]
    return entry_cells


def _group_by_column(columns: Ints, n_columns: int) -> list[Ints]:
    """Return the indices of the items of each column, ascending, given the column of each item."""
    ends = np.cumsum(np.bincount(columns, minlength=n_columns))
    return np.split(np.argsort(columns, kind="stable"), ends[:-1])


class NotInModelError(UsageError):
    """A document to be removed was never added. ``index`` is its index in the removed documents."""

    def __init__(self, index: int, label: str) -> None:
        super().__init__(
            f"document {index + 1} was never learnt as {label!r}", hint="nothing is forgotten"
        )
        self.index = index
        self.label = label

    def set_document_name(self, name: str) -> NotInModelError:
        """Report the document by name instead of by number; return the error."""
        self.message = f"was never learnt as {self.label!r}"
        self.where = name
        return self


def forget_documents(counts: CorpusCounts, removed: CorpusCounts) -> CorpusCounts:
    """Return the counts without a corpus that has all of its documents.

    Raise `NotInModelError` if a removed document was certainly never counted, and `UsageError` if
    no documents would remain.
    """
    remaining = subtract_documents(counts, removed)
    if not remaining.table.n_documents:
        raise UsageError(
            "the model has learnt no other documents, so nothing would be left of it",
            hint="remove its file instead",
        )
    return remaining


def subtract_documents(counts: CorpusCounts, removed: CorpusCounts) -> CorpusCounts:
    """Return the counts without a corpus that has all of its documents.

    Raise `NotInModelError` if a removed document was certainly never counted.
    """
    counts, removed = match_label_kinds(counts, removed)
    table = removed.table
    documents = removed.documents
    require_same_attributes(counts.table, table)
    row = _find_missing_from_sample(counts, table, documents)
    if row is None:
        # all documents as a sample, so that the documents are removed from the sample of the counts
        removed = CorpusCounts(table, DocumentSample(documents, len(documents)))
        if counts.is_closed:
            removed = removed.restrict_to_vocabulary(counts.table.vocabulary)
        try:
            return counts - removed
        except UsageError:
            row = _find_first_impossible(counts, removed.table, removed.sample.documents)
            if row is None:
                raise
    raise NotInModelError(row, format_label(documents.list_labels(table.classes)[row]))


def _find_missing_from_sample(
    counts: CorpusCounts, table: CountTable, documents: CountedDocuments
) -> int | None:
    """Return the row of the first document that the sample of ``counts`` should have, but has not.

    Return None if there is no such document. ``table`` is the table of the documents. If the sample
    is complete, it should have all documents except very long ones.
    """
    sample = counts.sample
    is_short = documents.matrix.row_sizes <= MAX_SAMPLED_DOCUMENT_TERMS
    is_expected = (documents.hashes < np.uint64(sample.bound)) & is_short
    n_remaining = Counter(_build_named_keys(counts.table, sample.documents))
    keys = _build_named_keys(table, documents)
    for row in np.flatnonzero(is_expected).tolist():
        if not n_remaining[keys[row]]:
            return row
        n_remaining[keys[row]] -= 1
    return None


def _build_named_keys(
    table: CountTable, documents: CountedDocuments
) -> list[tuple[int, tuple[tuple[str, str], ...], int]]:
    """Return the keys of documents, with names of class and layer in place of column numbers."""
    columns = [(label, layer.name) for label in table.classes for layer in table.layers]
    return [
        (content, tuple(columns[number] for number in numbers), weight)
        for content, numbers, weight in documents.build_keys()
    ]


def _find_first_impossible(
    counts: CorpusCounts, table: CountTable, documents: CountedDocuments
) -> int | None:
    """Return the row of the first document that cannot be subtracted with all previous documents.

    Return None if all documents can be subtracted. ``table`` is the table of the documents.
    """
    if _can_subtract(counts, table):
        return None
    subsets = Subsets(table, documents)
    rows = np.arange(len(documents))

    def is_impossible(last: int) -> bool:
        return not _can_subtract(counts, subsets.select_table(rows <= last))

    # Once impossible, it stays impossible with more documents. It is for the last document, so that
    # row is the result if no row before it is found.
    return bisect_left(range(len(documents) - 1), True, key=is_impossible)


def _can_subtract(counts: CorpusCounts, table: CountTable) -> bool:
    try:
        counts.table.combine(table, -1)
    except UsageError:
        return False
    return True
