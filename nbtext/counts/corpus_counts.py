"""A corpus as counts: its count table and a sample of its documents.

`CorpusCounts` add and subtract. Terms can be removed, and classes renamed or merged, without
reading the corpus again. `Subsets` computes the tables of subsets, such as the folds of a
cross-validation. `subtract_documents` removes documents from the counts of a model, and checks that
the model has learnt them.
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
    repeat_by_cell,
    replace_cells,
    require_same_attributes,
    round_logs,
    sum_cells,
)
from nbtext.counts.documents import (
    MAX_SAMPLED_DOCUMENT_TERMS,
    NO_DOCUMENTS,
    SAMPLE_ROOM,
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
    from collections.abc import Callable

    from nbtext.counts.count_table import CellCounts
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.prediction.labels import Labels
    from nbtext.type_names import Ints, Mask, Names, Numbers


@dataclass(frozen=True, eq=False)
class CorpusCounts:
    """The counts of a corpus. The terms and columns of the sample are numbered as in the table."""

    table: CountTable
    sample_or_loader: DocumentSample | Callable[[], DocumentSample]
    """The sample, or a function that decodes it from a model file: few predictions need it."""
    is_closed: bool = False
    """True if the vocabulary is fixed: other terms of added documents are not counted."""
    documents: CountedDocuments = NO_DOCUMENTS
    """All documents of the corpus in their order, or `NO_DOCUMENTS` if they were not kept."""

    @classmethod
    def from_documents(
        cls, table: CountTable, documents: CountedDocuments, sample_size: int
    ) -> CorpusCounts:
        """Return the counts of a corpus from its table and all of its documents."""
        sample = DocumentSample.from_documents(documents, sample_size)
        return cls(table, sample, documents=documents)

    @cached_property
    def sample(self) -> DocumentSample:
        """The sample of the documents. Raise `ModelError` if it is invalid in the model file."""
        if callable(self.sample_or_loader):
            return self.sample_or_loader()
        return self.sample_or_loader

    @cached_property
    def labelled_statistics(self) -> ClassStatistics:
        """The statistics of labelled documents only, in documents and tokens."""
        return estimate_statistics(self.table.labelled_table)

    @property
    def uses_unlabelled(self) -> bool:
        """True if the counts include derived counts of unlabelled documents."""
        return any(layer.name == UNLABELLED_LAYER for layer in self.table.layers)

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        """Return the counts of both corpora, without derived layers.

        If one corpus is closed, the result has only the terms of the closed corpus. The result has
        all documents if both corpora have all documents.
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
        return replace(mine, table=table, sample_or_loader=sample, documents=NO_DOCUMENTS)

    def with_sample_room(self) -> CorpusCounts:
        """Return the counts with a sample that has room for documents of later corpora."""
        return replace(self, sample_or_loader=replace(self.sample, room=SAMPLE_ROOM))

    def trim_sample(self) -> CorpusCounts:
        """Return the counts with the sample that training on all documents at once makes."""
        return replace(self, sample_or_loader=self.sample.trim())

    def with_label_sets(self) -> CorpusCounts:
        """Return the counts of single-label documents as counts of multi-label documents."""
        return replace(
            self,
            table=add_reserved_label(self.table),
            sample_or_loader=replace(
                self.sample, documents=self.sample.documents.with_label_sets()
            ),
            documents=self.documents.with_label_sets(),
        )

    def restrict_to_vocabulary(self, vocabulary: Vocabulary) -> CorpusCounts:
        """Return the counts of the terms of another vocabulary, and of all categories."""
        return self.restrict_terms(is_in_vocabulary(vocabulary, self.table.vocabulary))

    def restrict_terms(self, selected: Mask) -> CorpusCounts:
        """Return the counts of the selected terms, of the parts of n-grams, and of all categories.

        ``selected`` is a mask of shape (n_terms,).
        """
        table = self.table
        documents = self.sample.documents
        selected = selected | mask_categories(table.vocabulary)
        selected = include_ngram_parts(table.vocabulary, selected)
        new_ids = np.cumsum(selected) - 1
        stays = selected[table.cell_terms]
        keys = pair(new_ids[table.cell_terms[stays]], table.cell_classes[stays])
        restricted = replace(table, vocabulary=table.vocabulary.restrict(selected))
        restricted = replace_cells(
            restricted, table.class_documents, keys, *(values[stays] for values in table.cells)
        )
        documents = replace(documents, matrix=documents.matrix.select_terms(selected))
        sample = replace(self.sample, documents=documents)
        sample = sample.renumber(table.renumber_terms(new_ids))
        return replace(self, table=restricted, sample_or_loader=sample)

    def widen(self, vocabulary: Vocabulary) -> tuple[CorpusCounts, Ints, Ints]:
        """Return the counts with further terms, and the new ids of the terms of both vocabularies.

        The further terms are the terms of ``vocabulary``, without cells.
        """
        table = self.table
        union, my_ids, their_ids = table.vocabulary.union(vocabulary)
        sizes = np.zeros(len(union), np.int64)
        sizes[my_ids] = np.diff(table.term_offsets)
        sample = self.sample.renumber(table.renumber_terms(my_ids))
        table = replace(table, vocabulary=union, term_offsets=compute_offsets(sizes))
        return replace(self, table=table, sample_or_loader=sample), my_ids, their_ids

    def reduce_unit(self) -> CorpusCounts:
        """Return the counts in units of whole documents, if all counts are whole.

        So, after the removal of all documents with weights, the counts are as if these documents
        had never been added. If a sampled document has a weight other than 1, the counts stay
        unchanged.
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
        return replace(self, table=table, sample_or_loader=sample)

    def with_log_sums(self, *, enabled: bool) -> CorpusCounts:
        """Return the counts with sums of log weights if ``enabled``, else without them.

        Missing sums are computed from all documents, and stay missing if these were not kept.
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
        derived_columns = np.arange(counts.n_classes) * n_layers + n_layers - 1
        n_columns = n_layers * counts.n_classes
        derived = regroup_counts(counts, derived_columns, counts.classes, n_columns)
        return replace(widened, table=add_counts(widened.table, derived, factor=1))

    def _regroup_columns(
        self, columns: Ints, classes: tuple[str, ...], layers: Layers
    ) -> CorpusCounts:
        """Return the counts with other classes and layers.

        ``columns`` are the new numbers of the columns, as in `regroup_counts`.
        """
        renumbering = Renumbering(np.arange(self.table.n_terms), columns, len(layers))
        documents = self.sample.documents.renumber(renumbering)
        # sort the sample again, because documents of the same hash are sorted by column
        sample = DocumentSample.from_documents(documents, self.sample.size, self.sample.bound)
        return replace(
            self,
            table=self.table.regroup_columns(columns, classes, layers),
            sample_or_loader=sample,
            documents=NO_DOCUMENTS,
        )


def add_reserved_label(table: CountTable) -> CountTable:
    """Return single-label counts as multi-label counts, with the reserved label for all documents.

    Multi-label counts are returned unchanged.
    """
    if not table.posterior_type.is_exclusive:
        return table
    # in a table of one class, the number of a column is the number of its layer
    _, column_layers = table.column_classes_and_layers
    all_documents = table.regroup_columns(column_layers, (ALL_DOCUMENTS_LABEL,), table.layers)
    return all_documents.combine(table, 1).table


def match_label_kinds(
    first: CorpusCounts, second: CorpusCounts
) -> tuple[CorpusCounts, CorpusCounts]:
    """Return two corpora, both with multi-label documents if only one has multi-label documents."""
    if first.table.posterior_type is second.table.posterior_type:
        return first, second
    return first.with_label_sets(), second.with_label_sets()


def is_in_vocabulary(vocabulary: Vocabulary, queries: Vocabulary) -> Mask:
    """Return a mask of the queries that are terms of ``vocabulary``, shape (n_queries,)."""
    _, vocabulary_ids, query_ids = vocabulary.union(queries)
    return np.isin(query_ids, vocabulary_ids)


def include_ngram_parts(vocabulary: Vocabulary, selected: Mask) -> Mask:
    """Return the mask of selected terms, shape (n_terms,), with the parts of selected n-grams.

    The parts are the (n − 1)-gram before the last term, and the last term.
    """
    selected = selected.copy()
    prefixes, last_terms = unpair(vocabulary.ngram_keys)
    # an (n − 1)-gram has parts too, which the next round includes
    while True:
        is_selected_ngram = selected[vocabulary.n_single_terms :]
        ngram_parts: Ints = np.concatenate(
            (prefixes[is_selected_ngram], last_terms[is_selected_ngram])
        )
        if selected[ngram_parts].all():
            return selected
        selected[ngram_parts] = True


def relabel_documents(
    table: CountTable, documents: CountedDocuments, labels: Labels, sample_size: int
) -> CorpusCounts:
    """Return only the counts of the documents, with a new label for each document.

    ``table`` is the table of a corpus that includes the documents. Only its vocabulary, attributes,
    layers and unit are used.
    """
    relabelled, classes = _replace_labels(documents, labels, len(table.layers))
    rows, _ = relabelled.split_by_column()
    keys = pair(rows.matrix.terms, np.repeat(rows.columns, rows.matrix.row_sizes))
    amounts = weigh_entries(rows, table.unit, logs=table.cell_logs is not None)
    keys, cells = sum_cells(keys, *amounts)
    n_columns = len(classes) * len(table.layers)
    moments = table.moments
    if moments is not None and rows.matrix.values is not None:
        moments = type(moments).from_values(rows.matrix.values, rows.columns, n_columns)
    class_documents = np.zeros(n_columns, np.int64)
    np.add.at(class_documents, rows.columns, rows.fill_weights(table.unit))
    relabelled_table = replace(table, classes=classes, moments=moments)
    relabelled_table = replace_cells(relabelled_table, class_documents, keys, *cells)
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
    # The reserved label is class 0, so the reserved column of a document is its layer.
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
    amounts = [counts * weights, weights]
    if logs:
        amounts.append(round_logs(counts) * weights)
    return amounts


def _number_labels(labels: Names) -> tuple[tuple[str, ...], Ints]:
    """Return the distinct labels, sorted, and for each label its index in the distinct labels."""
    classes = tuple(sorted(set(labels)))
    class_numbers = {label: number for number, label in enumerate(classes)}
    return classes, np.array([class_numbers[label] for label in labels], np.int64)


class Subsets:
    """Computes the counts of subsets of a corpus from its table and all its documents.

    A subset has the vocabulary and the classes of the corpus, so a model of the subset can score
    any document of the corpus. Terms and classes without documents in the subset have no cells.
    """

    def __init__(self, table: CountTable, documents: CountedDocuments) -> None:
        """Prepare subsets; terms and columns of the documents are numbered as in the table."""
        self.table = table
        self.documents = documents
        # a multi-label document has a row for each label
        self._rows, self._n_rows = documents.split_by_column()
        self._cells = find_entry_cells(table, self._rows)
        """The cell of each matrix entry of the rows, found once for all subsets."""

    def __len__(self) -> int:
        return len(self.documents)

    def select_table(self, selected: Mask) -> CountTable:
        """Return the table of the selected documents, a mask of shape (n_docs,)."""
        is_majority = 2 * np.count_nonzero(selected) > len(self)
        if is_majority:  # it takes less time to sum the other documents
            return self.exclude_documents(np.flatnonzero(~selected))
        return self._sum_documents(np.flatnonzero(selected), subtract=False)

    def exclude_documents(self, indices: Ints) -> CountTable:
        """Return the table without some documents, given their indices in ``documents``.

        This is possible even if ``documents`` are only some of the documents of the corpus.
        """
        return self._sum_documents(indices, subtract=True)

    def _sum_documents(self, document_indices: Ints, *, subtract: bool) -> CountTable:
        """Return the table of some documents, or with ``subtract`` of all other documents."""
        corpus = self.table
        starts = compute_offsets(self._n_rows)[document_indices]
        rows = compute_flat_indices(starts, self._n_rows[document_indices])
        documents = self._rows.take(rows)
        matrix = self._rows.matrix
        entries = compute_flat_indices(matrix.offsets[rows], matrix.row_sizes[rows])
        cells = self._cells[entries]

        def sum_amounts(totals: Numbers, indices: Ints, amounts: Ints) -> Ints:
            """Return the sums of the amounts by index, or with ``subtract`` totals minus sums."""
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
        new_cell_numbers = compute_offsets(stays.astype(np.int64))
        moments = corpus.moments
        values = documents.matrix.values
        if moments is not None and values is not None:
            sums = type(moments).from_values(values, documents.columns, len(moments.documents))
            moments = moments.subtract(sums) if subtract else sums
        return replace(
            corpus,
            class_documents=class_documents,
            term_offsets=new_cell_numbers[corpus.term_offsets],
            cell_classes=corpus.cell_classes[stays],
            cell_counts=counts[stays],
            cell_documents=cell_documents[stays],
            cell_logs=logs[0][stays] if logs else None,
            moments=moments,
        )

    def with_log_sums(self) -> Subsets:
        """Return the subsets with sums of log weights; `documents` must be the whole corpus."""
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
    """Return the table with sums of log weights; ``documents`` are all documents of the table."""
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
    cell_terms = repeat_by_cell(counts, np.arange(counts.n_terms, dtype=np.int32))
    cells_by_term = np.zeros(counts.n_terms, np.int64)
    entry_cells = np.empty(matrix.terms.size, np.int64)
    n_columns = counts.class_documents.size
    column_rows = _group_by_column(documents.columns, n_columns)
    column_cells = _group_by_column(counts.cell_classes, n_columns)
    for rows, cells in zip(column_rows, column_cells, strict=True):
        # cells of previous columns stay in the array, but all terms of `rows` are overwritten
        cells_by_term[cell_terms[cells]] = cells
        entries = compute_flat_indices(starts[rows], sizes[rows])
        entry_cells[entries] = cells_by_term[matrix.terms[entries]]
    return entry_cells


def _group_by_column(columns: Ints, n_columns: int) -> list[Ints]:
    """Return the ascending indices of the items of each column, given the column of each item."""
    ends = np.cumsum(np.bincount(columns, minlength=n_columns))
    return np.split(np.argsort(columns, kind="stable"), ends[:-1])


class NotInModelError(UsageError):
    """A document to be removed, the one at ``index``, was never added."""

    def __init__(self, index: int, label: str) -> None:
        super().__init__(
            f"document {index + 1} was never added as {label!r}", hint="nothing is removed"
        )
        self.index = index
        self.label = label

    def set_document_name(self, name: str) -> NotInModelError:
        """Report the document by name instead of by number, and return the error."""
        self.message = f"was never added as {self.label!r}"
        self.where = name
        return self


def forget_documents(counts: CorpusCounts, removed: CorpusCounts) -> CorpusCounts:
    """Return the result of `subtract_documents`; raise `UsageError` if it has no documents."""
    remaining = subtract_documents(counts, removed)
    if not remaining.table.n_documents:
        raise UsageError(
            "the model has no other documents, so nothing would remain",
            hint="remove its file instead",
        )
    return remaining


def subtract_documents(counts: CorpusCounts, removed: CorpusCounts) -> CorpusCounts:
    """Return the counts without ``removed``, which must have all of its documents.

    Raise `NotInModelError` if a removed document was certainly never counted.
    """
    counts, removed = match_label_kinds(counts, removed)
    table = removed.table
    documents = removed.documents
    require_same_attributes(counts.table, table)
    row = _find_missing_from_sample(counts, table, documents)
    if row is None:
        # with all documents as the sample, all are removed from the sample of the counts
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
    """Return the row of the first document that is missing from the sample of ``counts``, or None.

    The sample should have all documents with hashes below its bound, except very long documents.
    ``table`` is the table of the documents.
    """
    sample = counts.sample
    is_short = documents.matrix.row_sizes <= MAX_SAMPLED_DOCUMENT_TERMS
    is_expected = (documents.hashes < np.uint64(sample.bound)) & is_short
    n_remaining = Counter(_build_named_keys(counts.table, sample.documents))
    keys = _build_named_keys(table, documents)
    for row in np.flatnonzero(is_expected).tolist():
        key = keys[row]
        if not n_remaining[key]:
            return row
        n_remaining[key] -= 1
    return None


def _build_named_keys(
    table: CountTable, documents: CountedDocuments
) -> list[tuple[int, tuple[tuple[str, str], ...], int]]:
    """Return `CountedDocuments.build_keys` with names of class and layer instead of columns."""
    names = [(label, layer.name) for label in table.classes for layer in table.layers]
    return [
        (content_hash, tuple(names[column] for column in columns), weight)
        for content_hash, columns, weight in documents.build_keys()
    ]


def _find_first_impossible(
    counts: CorpusCounts, table: CountTable, documents: CountedDocuments
) -> int | None:
    """Return the first row that cannot be subtracted together with all previous rows.

    Return None if all documents can be subtracted. ``table`` is the table of the documents.
    """
    if _can_subtract(counts, table):
        return None
    subsets = Subsets(table, documents)
    rows = np.arange(len(documents))

    def is_impossible(last_row: int) -> bool:
        return not _can_subtract(counts, subsets.select_table(rows <= last_row))

    # With further documents, a difference stays impossible, and with all documents it is. So the
    # first row is found by bisection, and the last row needs no test.
    return bisect_left(range(len(documents) - 1), True, key=is_impossible)


def _can_subtract(counts: CorpusCounts, table: CountTable) -> bool:
    """Return False if `CountTable.combine` raises `UsageError` for the difference."""
    try:
        counts.table.combine(table, sign=-1)
    except UsageError:
        return False
    return True
