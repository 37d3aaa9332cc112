"""The count table: how often each term occurs in the documents of each class.

Most models are estimated only from the table, and a model file contains one. `TableBuilder` builds
a table from postings. The counts of a table are whole numbers, so tables add and subtract exactly.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from nbtext.counts.matrix import Number, Postings, find_run_starts, take_rows
from nbtext.counts.vocabulary import (
    ENCODED_LINES_ATTRIBUTE,
    GrowingVocabulary,
    Vocabulary,
    make_category_term,
)
from nbtext.document_fields import NO_ATTRIBUTES, WEIGHT_UNIT, Attributes
from nbtext.errors import UsageError
from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.labels import LabelSets, are_multi_label
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior
from nbtext.ragged import compute_offsets
from nbtext.text.hashing import KeyTable, pair, unpair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from nbtext.counts.moments import Moments
    from nbtext.prediction.posterior import Posterior
    from nbtext.type_names import AnyArray, Ints, Keys, Mask, Names, Numbers


class Renumbering(NamedTuple):
    """New numbers of terms and columns by their old numbers, −1 for removed ones."""

    terms: Ints
    columns: Ints
    n_layers: int = 1
    """Number of layers of the new columns."""

    def apply_to(self, terms: Ints, columns: Ints) -> Renumbering:
        """Return the renumbering to ``terms`` and ``columns``, followed by this renumbering."""
        return Renumbering(
            _renumber(terms, self.terms), _renumber(columns, self.columns), self.n_layers
        )


def _renumber(numbers: Ints, new_numbers: Ints) -> Ints:
    """Return the new number of each number; −1, of a removed item, stays −1."""
    renumbered = np.full(numbers.size, -1)
    stays = numbers >= 0
    renumbered[stays] = new_numbers[numbers[stays]]
    return renumbered


class Layer(NamedTuple):
    """A layer of columns, counted from labelled documents or derived from unlabelled ones."""

    name: str = ""
    weight: float | None = None
    """Factor of derived counts, above 0; None for counts of labelled documents.

    Tables with derived counts are neither added nor subtracted.
    """
    unit: int | None = None
    """Counts of a derived layer are in units of 1 / ``unit``. None means the unit of the table."""


Layers = tuple[Layer, ...]

UNLABELLED_LAYER = "unlabelled"
"""Name of the layer that is derived from unlabelled documents."""


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Counts by column: D_k documents, and a cell (m_jk, d_jk) for each term j that occurs.

    A column k is a class, or in a `CountTable` a class in a layer. Cells are sorted by term, then
    column. The counts of a cell are above 0. Objects are immutable.
    """

    vocabulary: Vocabulary
    classes: tuple[str, ...]
    """Labels, sorted, distinct."""
    class_documents: Ints
    """D_k, documents of each column, shape (n_columns,)."""
    term_offsets: Ints
    """Start of each term's cells, and the end of the last term's cells, shape (n_terms + 1,)."""
    cell_classes: Ints
    """Column number of each cell, shape (n_cells,)."""
    cell_counts: Numbers
    """m_jk, occurrences of the term in the column, shape (n_cells,).

    int64, or float64 in a sum with weights.
    """
    cell_documents: Ints
    """d_jk, documents of the column that contain the term, shape (n_cells,)."""
    cell_logs: Numbers | None = None
    """Σ_d log(1 + n_jd) over the documents of the column, in units of 1 / `LOG_UNITS`.

    Shape (n_cells,); None if these sums were not requested. The sums are 0 for inflected words and
    encoded lines, because no score uses them. int64, or float64 if weights make the sums too large.
    """
    attributes: Attributes = NO_ATTRIBUTES
    """Attributes in addition to the texts. Values of categorical attributes are terms."""
    moments: Moments | None = None
    """Sums of the numeric attributes; None if there are none."""

    @classmethod
    def empty(cls, vocabulary: Vocabulary, classes: tuple[str, ...]) -> Self:
        """Return counts without documents, with a column for each class."""
        no_cells = np.empty(0, np.int64)
        return cls(
            vocabulary=vocabulary,
            classes=classes,
            class_documents=np.zeros(len(classes), np.int64),
            term_offsets=np.zeros(len(vocabulary) + 1, np.int64),
            cell_classes=no_cells,
            cell_counts=no_cells,
            cell_documents=no_cells,
        )

    @property
    def posterior_type(self) -> type[Posterior]:
        """`LabelPosterior` if documents are multi-label, else `ClassPosterior`."""
        return LabelPosterior if are_multi_label(self.classes) else ClassPosterior

    @property
    def n_classes(self) -> int:
        """K, the number of classes."""
        return len(self.classes)

    @property
    def n_terms(self) -> int:
        """V, the number of terms."""
        return len(self.vocabulary)

    @property
    def n_documents(self) -> float:
        """D, the sum of the documents' weights; an int if it is whole."""
        return to_int_or_float(self.class_documents.sum())

    @property
    def cells(self) -> tuple[AnyArray, ...]:
        """Counts, documents and, if present, logs of the cells, each of shape (n_cells,)."""
        if self.cell_logs is None:
            return self.cell_counts, self.cell_documents
        return self.cell_counts, self.cell_documents, self.cell_logs

    @cached_property
    def cell_terms(self) -> Ints:
        """Term id of each cell, shape (n_cells,)."""
        return repeat_by_cell(self, np.arange(self.n_terms))

    @property
    def cell_keys(self) -> Keys:
        """Key (term, column) of each cell, ascending, shape (n_cells,)."""
        return pair(self.cell_terms, self.cell_classes)

    @property
    def term_occurs(self) -> Mask:
        """Mask of the terms that occur in a document, shape (n_terms,).

        Terms of a corpus may be missing in a subset of its documents.
        """
        return np.diff(self.term_offsets) > 0

    @cached_property
    def term_documents(self) -> Ints:
        """Documents with each term, shape (n_terms,)."""
        return sum_over_classes(self, self.cell_documents)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CellCounts)
            and type(self) is type(other)
            and self.classes == other.classes
            and self.vocabulary == other.vocabulary
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in _ARRAYS)
            and self.attributes == other.attributes
            and _have_equal_moments(self.moments, other.moments)
        )

    __hash__ = None  # type: ignore[assignment]


def repeat_by_cell(counts: CellCounts, values: NDArray[Number]) -> NDArray[Number]:
    """Return the value of each cell's term, shape (n_cells,).

    ``values`` are the values of all terms, shape (n_terms,).
    """
    return np.repeat(values, np.diff(counts.term_offsets))


def replace_cells(
    counts: Counts,
    class_documents: AnyArray,
    keys: Keys,
    cell_counts: AnyArray,
    cell_documents: AnyArray,
    cell_logs: AnyArray | None = None,
) -> Counts:
    """Return other counts of the same terms; ``keys`` are the sorted keys of their cells."""
    terms, columns = unpair(keys)
    return replace(
        counts,
        class_documents=class_documents,
        term_offsets=compute_offsets(np.bincount(terms, minlength=counts.n_terms)),
        cell_classes=columns,
        cell_counts=cell_counts,
        cell_documents=cell_documents,
        cell_logs=cell_logs,
    )


def _have_equal_moments(first: Moments | None, second: Moments | None) -> bool:
    if first is None or second is None:
        return True  # the attributes are equal, so both are None
    return all(map(np.array_equal, first, second))


Counts = TypeVar("Counts", bound=CellCounts)


def collect_fields(counts: CellCounts) -> dict[str, Any]:
    """Return the fields of `CellCounts`, by name."""
    return {field.name: getattr(counts, field.name) for field in fields(CellCounts)}


def sum_over_classes(counts: CellCounts, cell_values: AnyArray) -> AnyArray:
    """Return the sum of the values of each term's cells, shape (n_terms,).

    ``cell_values`` has a number for each cell, shape (n_cells,).
    """
    are_floats = cell_values.dtype.kind == "f"
    if are_floats:  # differences of their running sums would not be exact
        return np.bincount(counts.cell_terms, cell_values, counts.n_terms)
    running_sums = compute_offsets(cell_values)
    return running_sums[counts.term_offsets[1:]] - running_sums[counts.term_offsets[:-1]]


def regroup_counts(
    counts: Counts, numbers: Ints, classes: tuple[str, ...], n_columns: int
) -> Counts:
    """Return the counts with other columns.

    ``numbers`` are the new numbers of the columns, −1 to drop a column. Columns with the same
    number are added up. The columns of the result have ``classes``, or the classes in layers.
    """
    cell_columns = numbers[counts.cell_classes]
    stays = cell_columns >= 0
    keys = pair(counts.cell_terms, cell_columns)[stays]
    keys, cells = sum_cells(keys, *(values[stays] for values in counts.cells))
    if counts.cell_logs is not None:
        cell_counts, cell_documents, _ = cells
        require_exact_logs(cell_counts, cell_documents)

    old_columns = np.flatnonzero(numbers >= 0)
    new_columns = numbers[old_columns]
    documents = np.zeros_like(counts.class_documents, shape=n_columns)
    np.add.at(documents, new_columns, counts.class_documents[old_columns])
    moments = counts.moments
    if moments is not None:
        moments = moments.take_classes(old_columns).reindex_classes(new_columns, n_columns)
    return replace(replace_cells(counts, documents, keys, *cells), classes=classes, moments=moments)


@dataclass(frozen=True, eq=False)
class CountTable(CellCounts):
    """The counts of a labelled corpus by column, as whole numbers.

    With L layers, column k·L + l has the counts of class k in layer l. Models are estimated from
    the sum of the layers, `nbtext.counts.statistics.ClassStatistics`.
    """

    unit: int = 1
    """Counts of labelled documents are whole numbers in units of 1 / ``unit``.

    More than 1 if documents have weights.
    """
    layers: Layers = (Layer(),)
    """Layers of labelled documents, sorted by name, then derived layers.

    The first layer has no name.
    """

    @property
    def n_document_layers(self) -> int:
        """Number of layers of labelled documents."""
        return sum(layer.weight is None for layer in self.layers)

    @property
    def n_documents(self) -> float:
        """D, the sum of the documents' weights in units of 1 / `unit`; an int if it is whole."""
        class_documents = self.class_documents
        if not self.posterior_type.is_exclusive:
            # all documents have the reserved label, which is the first class
            class_documents = class_documents[: len(self.layers)]
        return to_int_or_float(class_documents.sum())

    @property
    def column_classes_and_layers(self) -> tuple[Ints, Ints]:
        """Class number and layer number of each column, each of shape (n_columns,)."""
        return np.divmod(np.arange(self.class_documents.size), len(self.layers))

    @property
    def counts_by_field(self) -> dict[str, Any]:
        """All counts by the name of their field, in units of 1 / `unit`."""
        return _name_counts(self.class_documents, self.cells)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CountTable):
            return False
        return super().__eq__(other) and self.unit == other.unit and self.layers == other.layers

    __hash__ = None

    def scale_columns(self, factors: Ints) -> dict[str, Any]:
        """Return `counts_by_field` times the factor of each column, shape (n_columns,).

        Counts become float64 if one of them exceeds 64 bits.
        """
        cell_factors = factors[self.cell_classes]
        cells = [_multiply(values, cell_factors) for values in self.cells]
        return _name_counts(_multiply(self.class_documents, factors), cells)

    def renumber_terms(self, new_ids: Ints) -> Renumbering:
        """Return the renumbering of term j to ``new_ids[j]``; columns keep their numbers."""
        columns = np.arange(self.class_documents.size)
        return Renumbering(new_ids, columns, len(self.layers))

    def to_units(self, unit: int) -> CountTable:
        """Return the table in units of 1 / ``unit``, a multiple of its own unit."""
        if unit == self.unit:
            return self
        factors = np.full(self.class_documents.size, unit // self.unit)
        return replace(self, **self.scale_columns(factors), unit=unit)

    def regroup_columns(
        self, numbers: Ints, classes: tuple[str, ...], layers: Layers
    ) -> CountTable:
        """Return the counts of other classes and layers; ``numbers`` are as in `regroup_counts`."""
        regrouped = regroup_counts(self, numbers, classes, len(classes) * len(layers))
        return replace(regrouped, layers=layers)

    def sum_layers(self, first: int, end: int) -> CountTable:
        """Return the sum of the layers from ``first`` up to ``end``, which have the same unit.

        A table with one layer is returned unchanged.
        """
        if len(self.layers) == 1:
            return self
        classes, layers = self.column_classes_and_layers
        numbers = np.where((layers >= first) & (layers < end), classes, -1)
        summed = self.regroup_columns(numbers, self.classes, (Layer(),))
        return replace(summed, unit=self.layers[first].unit or self.unit)

    def iter_derived_layers(self) -> Iterator[tuple[float, CountTable]]:
        """Yield the weight and the counts by class of each derived layer."""
        for index, layer in enumerate(self.layers):
            if layer.weight is not None:
                yield layer.weight, self.sum_layers(index, index + 1)

    @property
    def labelled_table(self) -> CountTable:
        """The sum of the layers of labelled documents by class, without derived layers."""
        # If the table cached itself, it would stay in memory until garbage is collected.
        if len(self.layers) == 1:
            return self
        return self._labelled_table

    @cached_property
    def _labelled_table(self) -> CountTable:
        return self.sum_layers(0, self.n_document_layers)

    def combine(self, other: CountTable, sign: int) -> _CombinedTable:
        """Return the sum (``sign`` 1) or the difference (``sign`` −1) of two tables.

        Raise `UsageError` if their attributes differ, or if the other table has counts that cannot
        be subtracted from this table.
        """
        require_same_attributes(self, other)
        if self.unit != other.unit:
            unit = max(self.unit, other.unit)
            return self.to_units(unit).combine(other.to_units(unit), sign)

        classes = tuple(sorted({*self.classes, *other.classes}))
        layers = tuple(sorted({*self.layers, *other.layers}))
        vocabulary, my_terms, their_terms = self.vocabulary.union(other.vocabulary)
        my_columns = _map_columns(self, classes, layers)
        their_columns = _map_columns(other, classes, layers)

        documents = np.zeros(len(classes) * len(layers), np.int64)
        documents[my_columns] += self.class_documents
        documents[their_columns] += sign * other.class_documents
        my_keys = pair(my_terms[self.cell_terms], my_columns[self.cell_classes])
        their_keys = pair(their_terms[other.cell_terms], their_columns[other.cell_classes])
        keys, cells = add_cells(my_keys, self.cells, their_keys, other.cells, sign)
        _require_possible_counts(documents, keys, *cells)
        moments = None
        if self.moments is not None and other.moments is not None:
            my_moments = self.moments.reindex_classes(my_columns, documents.size)
            their_moments = other.moments.reindex_classes(their_columns, documents.size)
            combine = my_moments.add if sign > 0 else my_moments.subtract
            moments = combine(their_moments)

        cell_counts = cells[0]
        stays = cell_counts > 0
        combined = replace(
            self, vocabulary=vocabulary, classes=classes, layers=layers, moments=moments
        )
        combined = replace_cells(
            combined, documents, keys[stays], *(values[stays] for values in cells)
        )
        table, renumbering = combined.drop_empty()
        return _CombinedTable(
            table,
            renumbering.apply_to(my_terms, my_columns),
            renumbering.apply_to(their_terms, their_columns),
        )

    def drop_empty(self) -> NumberedTable:
        """Return the table without empty terms, classes and layers.

        Terms are empty if they have no cells, classes and layers if they have no documents. The
        first layer always stays.
        """
        if self.cell_logs is not None:
            require_exact_logs(self.cell_counts, self.cell_documents)
        term_stays = self.term_occurs
        has_documents = self.class_documents.reshape(-1, len(self.layers)) > 0  # class by layer
        class_stays = np.any(has_documents, axis=1)
        layer_stays = np.any(has_documents, axis=0)
        layer_stays[0] = True
        # column k·L + l stays if class k and layer l stay
        column_stays = np.logical_and.outer(class_stays, layer_stays).ravel()
        new_columns = _number_selected(column_stays)
        moments = self.moments
        if moments is not None:
            moments = moments.take_classes(np.flatnonzero(column_stays))
        table = replace(
            self,
            vocabulary=self.vocabulary.restrict(term_stays),
            classes=tuple(compress(self.classes, class_stays)),
            class_documents=self.class_documents[column_stays],
            term_offsets=compute_offsets(np.diff(self.term_offsets)[term_stays]),
            cell_classes=new_columns[self.cell_classes],
            moments=moments,
            layers=tuple(compress(self.layers, layer_stays)),
        )
        renumbering = Renumbering(_number_selected(term_stays), new_columns, len(table.layers))
        return NumberedTable(table, renumbering)


def _name_counts(class_documents: AnyArray, cells: Sequence[AnyArray]) -> dict[str, Any]:
    """Return counts by the name of their field; ``cells`` may lack the sums of log weights."""
    cells_by_field = dict(zip(CELL_FIELDS, cells, strict=False))
    return {"class_documents": class_documents, **cells_by_field}


def _number_selected(selected: Mask) -> Ints:
    """Return the new number of each item, −1 if it is not selected, shape (n_items,)."""
    return np.where(selected, np.cumsum(selected) - 1, -1)


def _map_columns(table: CountTable, classes: Sequence[str], layers: Layers) -> Ints:
    """Return each column's number in a table of other classes and layers, shape (n_columns,)."""
    class_numbers = {label: number for number, label in enumerate(classes)}
    layer_numbers = {layer: number for number, layer in enumerate(layers)}
    table_classes = np.array([class_numbers[label] for label in table.classes], np.int64)
    table_layers = np.array([layer_numbers[layer] for layer in table.layers], np.int64)
    return np.add.outer(table_classes * len(layers), table_layers).ravel()


def _require_possible_counts(
    class_documents: Ints,
    keys: Keys,
    cell_counts: Ints,
    cell_documents: Ints,
    cell_logs: Ints | None = None,
) -> None:
    """Raise `UsageError` if no documents can have these counts.

    The arguments are fields of `CellCounts`, and the keys (term, column) of the cells.
    """
    occurs = cell_counts > 0
    has_documents = cell_documents > 0
    _, columns = unpair(keys)
    is_possible = cell_counts >= 0
    is_possible &= has_documents == occurs
    is_possible &= cell_documents <= cell_counts
    is_possible &= cell_documents <= class_documents[columns]
    if cell_logs is not None:
        is_possible &= cell_logs >= 0
        is_possible &= occurs | (cell_logs == 0)
    if (class_documents < 0).any() or not is_possible.all():
        raise UsageError("cannot take away documents that were never counted")


def require_same_attributes(first: CountTable, second: CountTable) -> None:
    """Raise `UsageError` if two tables have different attributes.

    Raise `ValueError` if only one of them has sums of log weights.
    """
    if first.attributes != second.attributes:
        hint = "read both with the same columns"
        raise UsageError("the documents have not the same attributes", hint=hint)
    if (first.cell_logs is None) != (second.cell_logs is None):
        raise ValueError("only one of the two has the sums of log weights")


class NumberedTable(NamedTuple):
    """A table, and the new numbers of its terms and columns by their old numbers."""

    table: CountTable
    renumbering: Renumbering


class _CombinedTable(NamedTuple):
    """A table made of two tables, and a renumbering for each of the two tables."""

    table: CountTable
    first_renumbering: Renumbering
    second_renumbering: Renumbering


CELL_FIELDS = ("cell_counts", "cell_documents", "cell_logs")
"""The fields of `CellCounts` in the order of `CellCounts.cells`."""

_ARRAYS = ("class_documents", "term_offsets", "cell_classes", *CELL_FIELDS)

LOG_UNITS = 1 << 30
"""Logs are rounded to multiples of 1 / `LOG_UNITS`, so that their sums are exact in any order."""


def round_logs(counts: Numbers) -> Ints:
    """Return log(1 + n) in units of 1 / `LOG_UNITS`, shape (n_entries,).

    ``counts`` are the counts n of terms in documents.
    """
    return np.rint(np.log1p(counts, dtype=np.float64) * LOG_UNITS).astype(np.int64)


INT64_LIMIT = 2**63
"""Counts and sums in 64 bits are below this number."""


def require_exact_logs(counts: Numbers, documents: Numbers) -> None:
    """Raise `UsageError` if sums of log weights might not fit into 64 bits.

    ``counts`` and ``documents`` are m_jk and d_jk of the cells, shape (n_cells,).
    """
    # The logarithm is concave, so a sum is largest if all documents have the mean count.
    mean_counts = counts / np.maximum(documents, 1)
    max_sums = documents * np.log1p(mean_counts) * LOG_UNITS
    if max_sums.max(initial=0) >= INT64_LIMIT:
        raise UsageError(
            "the sums of log weights are too large to stay exact",
            hint="use smaller weights for documents, or --weighting counts",
        )


def _multiply(numbers: Numbers, factors: Ints) -> Numbers:
    """Return the products, as float64 if one of them exceeds 64 bits."""
    products = numbers * factors.astype(np.float64)
    if products.max(initial=0) >= INT64_LIMIT:
        return products
    return numbers * factors


def sum_cells(keys: Keys, *columns: NDArray[Number]) -> tuple[Keys, list[NDArray[Number]]]:
    """Return the distinct keys, sorted, and for each column the sum of its values by key.

    ``keys`` and ``columns`` have the shape (n,).
    """
    # a stable sort merges sorted sequences, so it is fastest if the keys consist of few of them
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = find_run_starts(keys)
    return keys[starts], [np.add.reduceat(column[order], starts) for column in columns]


def add_cells(
    first_keys: Keys,
    first_cells: Sequence[AnyArray],
    second_keys: Keys,
    second_cells: Sequence[AnyArray],
    factor: float,
) -> tuple[Keys, list[AnyArray]]:
    """Return the keys and the values of the first cells plus ``factor`` times the second cells.

    Values are arrays in the order of `CellCounts.cells`.
    """
    keys = np.concatenate((first_keys, second_keys))
    pairs = zip(first_cells, second_cells, strict=True)
    return sum_cells(keys, *(np.concatenate((first, factor * second)) for first, second in pairs))


class TableBuilder:
    """Builds a count table from the postings of a stream of labelled documents.

    Memory grows with the number of cells, not of documents.
    """

    def __init__(self, attributes: Attributes = NO_ATTRIBUTES, *, logs: bool = False) -> None:
        """Prepare for documents with attributes; with ``logs``, also sum log weights."""
        self.vocabulary = GrowingVocabulary()
        self._attributes = attributes
        self._moments: Moments | None = None
        if attributes.number_columns:
            from nbtext.counts.moments import Moments

            self._moments = Moments.zero(0, len(attributes.number_columns))
        self._classes: dict[str, int] = {}
        """Class number of each label, in order of first occurrence."""
        self._class_documents = np.zeros(0, np.int64)
        """Documents by class number, with room for further classes."""
        self._cells = KeyTable()
        """Cell number of each key (term, class)."""
        self._sums_logs = logs
        n_sums = len(CELL_FIELDS) if logs else 2
        self._sums = [np.zeros(0, np.int64) for _ in range(n_sums)]
        """For each of `CELL_FIELDS`, the sums by cell number, with room for further cells."""
        self._unit = 1
        """All sums are in units of 1 / ``_unit``: whole documents until a document has a weight."""

    @property
    def labels(self) -> list[str]:
        """The labels added so far, by class number."""
        return list(self._classes)

    def intern_classes(self, labels: Names) -> Ints:
        """Return the class number of each label, shape (n_labels,), and add new classes."""
        numbers = np.array(
            [self._classes.setdefault(label, len(self._classes)) for label in labels], np.int64
        )
        self._class_documents = _grow(self._class_documents, len(self._classes))
        return numbers

    def add(
        self,
        postings: Postings,
        classes: Ints,
        weights: Ints | None = None,
        label_sets: LabelSets | None = None,
    ) -> None:
        """Count documents.

        ``postings`` have term ids of this builder's vocabulary. ``classes`` are class numbers, and
        ``weights`` are in units of 1 / `WEIGHT_UNIT` (None if all are 1), shape (n_docs,).
        Multi-label documents have the class of the reserved label, and ``label_sets`` has their
        labels.
        """
        if label_sets is not None:
            self._add_labels(postings, weights, label_sets)
        if weights is not None and self._unit == 1:
            # these are the first documents with weights
            self._unit = WEIGHT_UNIT
            for counts in (self._class_documents, *self._sums):
                np.multiply(counts, WEIGHT_UNIT, out=counts)
        document_weights = self._unit if weights is None else weights
        np.add.at(self._class_documents, classes, document_weights)
        self.add_cells(postings, classes, weights, logs=self._sums_logs)
        self._add_encoded_lines(postings, classes, weights)
        if self._moments is not None and postings.values is not None:
            n_classes = len(self._classes)
            self._moments = self._moments.add_values(postings.values, classes, n_classes)

    def _add_labels(self, postings: Postings, weights: Ints | None, label_sets: LabelSets) -> None:
        """Count each document once under each of its labels."""
        n_documents = label_sets.sizes.size
        # a document has its i-th label in round i
        for rows, classes in label_sets.iterate_ranks():
            selected = np.zeros(n_documents, np.bool_)
            selected[rows] = True
            self.add(postings.select_documents(selected), classes, take_rows(weights, rows))

    def _add_encoded_lines(self, postings: Postings, classes: Ints, weights: Ints | None) -> None:
        """Count the dropped encoded lines as occurrences of one term."""
        lines = postings.encoded_lines
        if lines is None or not lines.any():
            return
        documents = np.flatnonzero(lines)
        [term] = self.vocabulary.intern([make_category_term(ENCODED_LINES_ATTRIBUTE, "")])
        terms = np.full_like(documents, term)
        line_postings = Postings(terms, documents, lines[documents], postings.unknown_tokens)
        self.add_cells(line_postings, classes, weights)

    def add_cells(
        self,
        postings: Postings,
        classes: Ints,
        weights: Ints | None = None,
        *,
        logs: bool = False,
    ) -> None:
        """Count further terms of documents that `add` has counted.

        ``classes`` and ``weights`` are as in `add`. With ``logs``, also sum log weights.
        """
        posting_classes = classes.take(postings.documents)
        # postings of the same term and class follow each other, so they are summed first
        starts = find_run_starts(postings.terms, posting_classes)
        keys = pair(postings.terms.take(starts), posting_classes.take(starts))
        cells = self._cells.intern(keys)

        posting_values = [postings.counts]
        if logs:
            posting_values.append(round_logs(postings.counts))
        documents = np.diff(starts, append=posting_classes.size)
        if self._unit != 1:
            if weights is None:
                weights = np.full(classes.size, self._unit)
            posting_weights = weights.take(postings.documents)
            posting_values = [values * posting_weights for values in posting_values]
            documents = np.add.reduceat(posting_weights, starts)
        counts, *log_sums = (np.add.reduceat(values, starts) for values in posting_values)
        n_cells = len(self._cells) + 1  # cells are numbered from 1
        for index, sums in enumerate((counts, documents, *log_sums)):
            self._sums[index] = _grow(self._sums[index], n_cells)
            np.add.at(self._sums[index], cells, sums)

    def freeze(self) -> NumberedTable:
        """Return the table, and its numbers by the numbers of this builder.

        The builder cannot be used again, because its memory is freed.
        """
        vocabulary, final_terms = self.vocabulary.freeze()
        classes = sorted(self._classes)
        old_numbers = np.array([self._classes[label] for label in classes], np.int64)
        final_classes = np.empty(len(classes), np.int64)
        final_classes[old_numbers] = np.arange(len(classes))
        terms, columns = unpair(self._cells.keys)
        self._cells = KeyTable()
        keys = pair(final_terms[terms], final_classes[columns])
        del terms, columns

        order = np.argsort(keys)
        # The sums of logs may be shorter than the other sums, if the last cells have no logs.
        cells = (_grow(sums, order.size + 1)[order + 1] for sums in self._sums)
        moments = self._moments
        if moments is not None:
            moments = moments.take_classes(old_numbers)
        table = CountTable.empty(vocabulary, tuple(classes))
        table = replace_cells(table, self._class_documents[old_numbers], keys[order], *cells)
        table = replace(table, attributes=self._attributes, moments=moments, unit=self._unit)
        table, renumbering = table.drop_empty()
        return NumberedTable(table, renumbering.apply_to(final_terms, final_classes))


def to_int_or_float(number: float) -> float:
    """Return a count as an int if it is whole, else as a float of six decimals.

    Only sums of weights are not whole.
    """
    if number == int(number):
        return int(number)
    return round(float(number), 6)


def _grow(array: Ints, size: int) -> Ints:
    """Return the array, or a copy of it with zeros at the end and at least ``size`` elements."""
    if size <= array.size:
        return array
    grown = np.zeros(2 * size, np.int64)
    grown[: array.size] = array
    return grown
