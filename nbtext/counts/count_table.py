"""The table of counts of a corpus: documents, term counts and document counts by class and layer. Whole numbers that add and subtract exactly."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from nbtext.counts.matrix import Postings, find_run_starts
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

Number = TypeVar("Number", bound="np.integer | np.floating | np.bool_")


class Renumbering(NamedTuple):
    """New numbers of terms and columns by their old ones, −1 for those that are gone."""

    terms: Ints
    columns: Ints
    n_layers: int = 1

    def apply_to(self, terms: Ints, columns: Ints) -> Renumbering:
        """Return this renumbering applied to the new numbers of an earlier one; −1 stays."""
        new_terms = np.append(self.terms, -1)[terms]
        new_columns = np.append(self.columns, -1)[columns]
        return Renumbering(new_terms, new_columns, self.n_layers)


class Layer(NamedTuple):
    """A layer of columns: of documents, or derived, as unlabelled documents make one."""

    name: str = ""
    weight: float | None = None
    """The factor of derived counts, above 0; None for counts of documents. Derived counts neither add nor subtract."""
    unit: int | None = None
    """Derived counts are in units of 1 / ``unit``; None for that of all counts of documents."""


Layers = tuple[Layer, ...]

UNLABELLED_LAYER = "unlabelled"
"""The derived layer that unlabelled documents make."""


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Counts by class, or by column of a table: D_k documents, and a cell (m_jk, d_jk) for every term j that occurs in class k.

    Cells are sorted by term, then class; all their counts are at least 1. Immutable.
    """

    vocabulary: Vocabulary
    classes: tuple[str, ...]
    """Labels, sorted, distinct."""
    class_documents: Ints
    """D_k, or documents of each column, shape (n_columns,)."""
    term_offsets: Ints
    """Start of each term's cells, and the end of the last, shape (n_terms + 1,)."""
    cell_classes: Ints
    """Class number of each cell, or column number, shape (n_cells,)."""
    cell_counts: Numbers
    """m_jk, occurrences of the term in the class, shape (n_cells,); int64, or float64 in a sum with weights."""
    cell_documents: Ints
    """d_jk, documents of the class that hold the term, shape (n_cells,)."""
    cell_logs: Numbers | None = None
    """Σ_d log(1 + n_jd) over the documents of the class, in units of 1 / `LOG_UNITS`, shape (n_cells,); None unless asked for.

    0 for inflected words and encoded lines, which no score needs. int64; float64 where weights of documents and classes make
    the sums too large.
    """
    attributes: Attributes = NO_ATTRIBUTES
    """Attributes beside the texts; values of categorical ones are terms."""
    moments: Moments | None = None
    """Sums of the numbers beside the texts; None if there are no numbers."""

    @property
    def posterior_type(self) -> type[Posterior]:
        """Whether the labels of a document exclude each other."""
        return LabelPosterior if are_multi_label(self.classes) else ClassPosterior

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def n_terms(self) -> int:
        """V."""
        return len(self.vocabulary)

    @property
    def n_documents(self) -> float:
        """D, an int; of weighted documents the sum of the weights."""
        return to_int_or_float(self.class_documents.sum())

    @property
    def cells(self) -> tuple[AnyArray, ...]:
        """Counts, documents and, if they are asked for, logs of each cell, each of shape (n_cells,)."""
        if self.cell_logs is None:
            return self.cell_counts, self.cell_documents
        return self.cell_counts, self.cell_documents, self.cell_logs

    @cached_property
    def cell_terms(self) -> Ints:
        """Term id of each cell, shape (n_cells,)."""
        return self.per_cell(np.arange(self.n_terms))

    @property
    def term_occurs(self) -> Mask:
        """Whether a document holds each term, shape (n_terms,); in a part of a corpus some are in none."""
        return np.diff(self.term_offsets) > 0

    @cached_property
    def term_documents(self) -> Ints:
        """Documents with each term, shape (n_terms,)."""
        return sum_over_classes(self, self.cell_documents)

    def per_cell(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the value of each cell's term, shape (n_cells,), given the values of all terms, shape (n_terms,)."""
        return np.repeat(values, np.diff(self.term_offsets))

    def with_cells(self, documents: AnyArray, keys: Keys, *cells: AnyArray) -> Self:
        """Return other counts of the same terms: documents of each column, and `cells` sorted by key (term, column)."""
        terms, columns = unpair(keys)
        counts, cell_documents, *logs = cells
        return replace(
            self,
            class_documents=documents,
            term_offsets=compute_offsets(np.bincount(terms, minlength=self.n_terms)),
            cell_classes=columns,
            cell_counts=counts,
            cell_documents=cell_documents,
            cell_logs=logs[0] if logs else None,
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CellCounts)
            and type(self) is type(other)
            and self.classes == other.classes
            and self.vocabulary == other.vocabulary
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in _ARRAYS)
            and self.attributes == other.attributes
            and _same_moments(self.moments, other.moments)
        )

    __hash__ = None  # type: ignore[assignment]


def _same_moments(first: Moments | None, second: Moments | None) -> bool:
    return first is None or second is None or all(map(np.array_equal, first, second))


Counts = TypeVar("Counts", bound=CellCounts)


def collect_fields(counts: CellCounts) -> dict[str, Any]:
    """Return the fields of `CellCounts`, by name."""
    return {each.name: getattr(counts, each.name) for each in fields(CellCounts)}


def sum_over_classes(counts: CellCounts, cells: AnyArray) -> AnyArray:
    """Return the sum of the numbers of each term's cells, shape (n_terms,), given one number for each cell, shape (n_cells,)."""
    if cells.dtype.kind == "f":  # differences of running sums of floats would not be exact
        return np.bincount(counts.cell_terms, cells, counts.n_terms)
    running = compute_offsets(cells)
    return running[counts.term_offsets[1:]] - running[counts.term_offsets[:-1]]


def regroup_counts(
    counts: Counts, numbers: Ints, classes: tuple[str, ...], n_columns: int
) -> Counts:
    """Return the counts of other classes, given the new number of each column, or −1 to leave it out.

    Columns with the same number are added up.
    """
    columns = numbers[counts.cell_classes]
    stays = columns >= 0
    keys = pair(counts.cell_terms, columns)[stays]
    keys, cells = sum_cells(keys, *(column[stays] for column in counts.cells))
    if counts.cell_logs is not None:
        require_exact_logs(*cells[:2])
    sources = np.flatnonzero(numbers >= 0)
    targets = numbers[sources]
    documents = np.zeros_like(counts.class_documents, shape=n_columns)
    np.add.at(documents, targets, counts.class_documents[sources])
    moments = counts.moments and counts.moments.take_classes(sources).reindex_classes(
        targets, n_columns
    )
    return replace(counts.with_cells(documents, keys, *cells), classes=classes, moments=moments)


@dataclass(frozen=True, eq=False)
class CountTable(CellCounts):
    """The whole counts of a labelled corpus by column: class k of layer l is column k·L + l of L layers.

    It adds and subtracts, and a model file keeps it. Models are estimated from the sum of its layers,
    `nbtext.counts.statistics.ClassStatistics`.
    """

    unit: int = 1
    """All counts of documents are in units of 1 / ``unit``, whole numbers still: more than 1 if documents have weights."""
    layers: Layers = (Layer(),)
    """Those of documents by name, the first without one; then the derived ones."""

    @property
    def n_document_layers(self) -> int:
        """The number of layers of documents, which come first."""
        return sum(layer.weight is None for layer in self.layers)

    @property
    def n_documents(self) -> float:
        """D, an int; of weighted documents the sum of the weights, in units of 1 / `unit`."""
        if self.posterior_type.is_exclusive:
            return to_int_or_float(self.class_documents.sum())
        return to_int_or_float(self.class_documents[: len(self.layers)].sum())

    @property
    def column_classes_and_layers(self) -> tuple[Ints, Ints]:
        """Class number and layer number of each column, each of shape (n_columns,)."""
        return np.divmod(np.arange(self.class_documents.size), len(self.layers))

    @property
    def counts_by_field(self) -> dict[str, Any]:
        """All that is counted, in units of 1 / `unit`, by the name of the field."""
        cells = dict(zip(CELL_FIELDS, self.cells, strict=False))
        return {"class_documents": self.class_documents, **cells}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CountTable):
            return False
        return super().__eq__(other) and self.unit == other.unit and self.layers == other.layers

    __hash__ = None

    def scale_columns(self, factors: Ints) -> dict[str, Any]:
        """Return `numbers` times the factor of each column, shape (n_columns,): float64 where one is beyond 64 bits."""
        cell_factors = factors[self.cell_classes]
        products = [_product(column, cell_factors) for column in self.cells]
        documents = _product(self.class_documents, factors)
        return {"class_documents": documents, **dict(zip(CELL_FIELDS, products, strict=False))}

    def to_units(self, unit: int) -> CountTable:
        """Return the same table in units of 1 / ``unit``, a multiple of its own."""
        if unit == self.unit:
            return self
        factors = np.full(self.class_documents.size, unit // self.unit)
        return replace(self, **self.scale_columns(factors), unit=unit)

    def regroup_columns(
        self, numbers: Ints, classes: tuple[str, ...], layers: Layers
    ) -> CountTable:
        """Return the counts of other classes and layers, given the new number of each column, or −1 to leave it out.

        Columns with the same number are added up.
        """
        return replace(
            regroup_counts(self, numbers, classes, len(classes) * len(layers)), layers=layers
        )

    def sum_layers(self, first: int, end: int) -> CountTable:
        """Return the sum of some layers by class, by number; they have the same unit."""
        if len(self.layers) == 1:
            return self
        classes, layers = self.column_classes_and_layers
        numbers = np.where((layers >= first) & (layers < end), classes, -1)
        summed = self.regroup_columns(numbers, self.classes, (Layer(),))
        return replace(summed, unit=self.layers[first].unit or self.unit)

    def iter_derived_layers(self) -> Iterator[tuple[float, CountTable]]:
        """Yield weight and counts by class of each derived layer."""
        for number, layer in enumerate(self.layers):
            if layer.weight is not None:
                yield layer.weight, self.sum_layers(number, number + 1)

    @property
    def labelled_table(self) -> CountTable:
        """The sum of the layers of documents by class, without the derived ones."""
        if (
            len(self.layers) == 1
        ):  # a table that kept itself would stay in memory until garbage is collected
            return self
        return self._counted

    @cached_property
    def _counted(self) -> CountTable:
        return self.sum_layers(0, self.n_document_layers)

    def combine(self, other: CountTable, sign: int) -> _Combined:
        """Return the sum (``sign`` 1) or difference (−1), and the new numbers of terms and classes of both.

        Raises `UsageError` if their attributes differ, or ``other`` counts anything that is subtracted and not there.
        """
        require_same_attributes(self, other)
        unit = max(self.unit, other.unit)
        if not self.unit == other.unit == unit:
            return self.to_units(unit).combine(other.to_units(unit), sign)
        classes = tuple(sorted({*self.classes, *other.classes}))
        layers = tuple(sorted({*self.layers, *other.layers}))
        vocabulary, my_terms, their_terms = self.vocabulary.union(other.vocabulary)
        my_columns = _column_numbers(self, classes, layers)
        their_columns = _column_numbers(other, classes, layers)
        documents = np.zeros(len(classes) * len(layers), np.int64)
        documents[my_columns] += self.class_documents
        documents[their_columns] += sign * other.class_documents
        my_keys = pair(my_terms[self.cell_terms], my_columns[self.cell_classes])
        their_keys = pair(their_terms[other.cell_terms], their_columns[other.cell_classes])
        pairs = zip(self.cells, other.cells, strict=True)
        columns = [np.concatenate((mine, sign * theirs)) for mine, theirs in pairs]
        keys, cells = sum_cells(np.concatenate((my_keys, their_keys)), *columns)
        _require_possible(documents, keys, cells)
        moments = None
        if self.moments is not None and other.moments is not None:
            my_moments = self.moments.reindex_classes(my_columns, documents.size)
            their_moments = other.moments.reindex_classes(their_columns, documents.size)
            combine = my_moments.add if sign > 0 else my_moments.subtract
            moments = combine(their_moments)
        stays = cells[0] > 0
        united = replace(self, vocabulary=vocabulary, classes=classes, layers=layers)
        united = united.with_cells(documents, keys[stays], *(column[stays] for column in cells))
        table, numbers = replace(united, moments=moments).drop_empty()
        return _Combined(
            table,
            numbers.apply_to(my_terms, my_columns),
            numbers.apply_to(their_terms, their_columns),
        )

    def drop_empty(self) -> NumberedTable:
        """Return the table without terms that have no cells, and without classes and layers that have no documents.

        The first layer always stays.
        """
        if self.cell_logs is not None:
            require_exact_logs(*self.cells[:2])
        term_stays = self.term_occurs
        has_documents = self.class_documents.reshape(-1, len(self.layers)) > 0
        class_stays = np.any(has_documents, axis=1)
        layer_stays = np.any(has_documents, axis=0)
        layer_stays[0] = True
        column_stays = np.logical_and.outer(class_stays, layer_stays).ravel()
        new_columns = _numbered(column_stays)
        table = replace(
            self,
            vocabulary=self.vocabulary.restrict(term_stays),
            classes=tuple(compress(self.classes, class_stays)),
            class_documents=self.class_documents[column_stays],
            term_offsets=compute_offsets(np.diff(self.term_offsets)[term_stays]),
            cell_classes=new_columns[self.cell_classes],
            moments=self.moments and self.moments.take_classes(np.flatnonzero(column_stays)),
            layers=tuple(compress(self.layers, layer_stays)),
        )
        renumbering = Renumbering(_numbered(term_stays), new_columns, len(table.layers))
        return NumberedTable(table, renumbering)


def _numbered(stays: Mask) -> Ints:
    """Return the new number of each item, or −1 if it does not stay, shape (n_items,)."""
    return np.where(stays, np.cumsum(stays) - 1, -1)


def _column_numbers(table: CountTable, classes: Sequence[str], layers: Layers) -> Ints:
    """Return the number of each column among other classes and layers, shape (n_columns,)."""
    class_number = {label: number for number, label in enumerate(classes)}
    layer_number = {layer: number for number, layer in enumerate(layers)}
    class_numbers = np.array([class_number[label] for label in table.classes], np.int64)
    layer_numbers = np.array([layer_number[layer] for layer in table.layers], np.int64)
    return np.add.outer(class_numbers * len(layers), layer_numbers).ravel()


def _require_possible(documents: Ints, keys: Keys, cells: Sequence[Ints]) -> None:
    """Raise `UsageError` if no documents can have these counts: documents by column, shape (n_columns,), and cells by key."""
    counts, cell_documents, *logs = cells
    occurs = counts > 0
    _, columns = unpair(keys)
    possible = (cell_documents <= counts) & (cell_documents <= documents[columns])
    possible &= ((cell_documents > 0) == occurs) & (counts >= 0)
    for sums in logs:
        possible &= (sums >= 0) & (occurs | (sums == 0))
    if documents.min(initial=0) < 0 or not possible.all():
        raise UsageError("cannot take away documents that were never counted")


def require_same_attributes(first: CountTable, second: CountTable) -> None:
    """Raise `UsageError` if the attributes of two tables differ, and `ValueError` if only one has sums of log weights."""
    if first.attributes != second.attributes:
        hint = "read both with the same columns"
        raise UsageError("the documents have not the same attributes", hint=hint)
    if (first.cell_logs is None) != (second.cell_logs is None):
        raise ValueError("only one of the two has the sums of log weights")


class NumberedTable(NamedTuple):
    """A table, and the numbers in it of the terms and classes that were counted."""

    table: CountTable
    renumbering: Renumbering


class _Combined(NamedTuple):
    """A table made of two, and the numbers in it of the terms and classes of each."""

    table: CountTable
    first_renumbering: Renumbering
    second_renumbering: Renumbering


CELL_FIELDS = ("cell_counts", "cell_documents", "cell_logs")
"""The fields of counts by cell."""

_ARRAYS = ("class_documents", "term_offsets", "cell_classes", *CELL_FIELDS)

LOG_UNITS = 1 << 30
"""Logs are rounded to multiples of 1 / `LOG_UNITS`, so that their sums are whole numbers: exact, and the same in any order."""


def log_units(counts: Numbers) -> Ints:
    """Return log(1 + n) of the counts of terms in documents, in units of 1 / `LOG_UNITS`, shape (n_entries,)."""
    return np.rint(np.log1p(counts, dtype=np.float64) * LOG_UNITS).astype(np.int64)


MAX_LOG_UNITS = 2**63
"""Sums of log weights stay below this, in their units."""


def require_exact_logs(counts: Ints, documents: Ints) -> None:
    """Raise `UsageError` if the sums of log weights of cells with these counts and documents, shapes (n_cells,), might not fit into 64 bits."""
    most = (
        documents * np.log1p(counts / np.maximum(documents, 1)) * LOG_UNITS
    )  # the logarithm is concave
    if most.max(initial=0) >= MAX_LOG_UNITS:
        raise UsageError(
            "the sums of log weights are too large to stay exact",
            hint="give documents smaller weights, or use --weighting counts",
        )


def _product(numbers: Numbers, factors: Ints) -> Numbers:
    products = numbers * factors.astype(np.float64)
    return products if products.max(initial=0) >= MAX_LOG_UNITS else numbers * factors


def sum_cells(keys: Keys, *columns: NDArray[Number]) -> tuple[Keys, list[NDArray[Number]]]:
    """Return the distinct keys, sorted, and the sums of each column by key; all arguments have shape (n,).

    Fastest for keys in few sorted runs, which a stable sort only merges.
    """
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: keys.size])
    return keys[begins], [np.add.reduceat(column[order], begins) for column in columns]


class TableBuilder:
    """Sums the postings of a stream of labelled documents. Memory grows with the number of cells, not of documents."""

    def __init__(self, attributes: Attributes = NO_ATTRIBUTES, *, logs: bool = False) -> None:
        self.vocabulary = GrowingVocabulary()
        self._attributes = attributes
        self._moments: Moments | None = None
        if attributes.number_columns:
            from nbtext.counts.moments import Moments

            self._moments = Moments.zero(0, len(attributes.number_columns))
        self._classes: dict[str, int] = {}
        self._class_documents = np.zeros(16, np.int64)
        self._cells = KeyTable(bits=13)
        self._sums = [np.zeros(1 << 11, np.int64) for _ in CELL_FIELDS[: 3 if logs else 2]]
        self._unit = 1

    @property
    def labels(self) -> list[str]:
        """Label of each class number so far."""
        return list(self._classes)

    def intern_classes(self, labels: Names) -> Ints:
        """Return the class number of each label, a new one for a new label, shape (n_labels,)."""
        numbers = np.array(
            [self._classes.setdefault(label, len(self._classes)) for label in labels], np.int64
        )
        self._class_documents = _grown(self._class_documents, len(self._classes))
        return numbers

    def add(
        self,
        postings: Postings,
        classes: Ints,
        weights: Ints | None = None,
        sets: LabelSets | None = None,
    ) -> None:
        """Count documents, given their class numbers; term ids are those of this builder's vocabulary.

        ``weights`` are those of the documents, in units of 1 / `WEIGHT_UNIT`; None if all are 1. ``sets`` are their other classes.
        """
        for rows, others in () if sets is None else sets.iterate_ranks():
            chosen = np.zeros(classes.size, np.bool_)
            chosen[rows] = True
            self.add(
                postings.select_documents(chosen),
                others,
                None if weights is None else weights[rows],
            )
        if weights is not None and self._unit == 1:
            self._unit = WEIGHT_UNIT
            for counts in (self._class_documents, *self._sums):
                np.multiply(counts, WEIGHT_UNIT, out=counts)
        np.add.at(self._class_documents, classes, self._unit if weights is None else weights)
        self.add_cells(postings, classes, weights, logs=len(self._sums) > 2)
        if (lines := postings.encoded_lines) is not None and lines.any():
            holding = np.flatnonzero(lines)
            terms = np.full_like(
                holding, self.vocabulary.find([make_category_term(ENCODED_LINES_ATTRIBUTE, "")])[0]
            )
            self.add_cells(
                Postings(terms, holding, lines[holding], postings.unknown_tokens), classes, weights
            )
        if self._moments is not None and postings.values is not None:
            self._moments = self._moments.add_values(postings.values, classes, len(self._classes))

    def add_cells(
        self,
        postings: Postings,
        classes: Ints,
        weights: Ints | None = None,
        *,
        logs: bool = False,
    ) -> None:
        """Count further terms of documents that were added, given the class numbers of these and their weights; without logs unless asked for."""
        of_postings = classes.take(postings.documents)
        begins = find_run_starts(postings.terms, of_postings)
        cells = self._cells.intern(pair(postings.terms.take(begins), of_postings.take(begins)))
        added = [postings.counts, *([log_units(postings.counts)] if logs else [])]
        documents = np.diff(begins, append=of_postings.size)
        if self._unit != 1:
            of_documents = np.full(classes.size, self._unit) if weights is None else weights
            held = of_documents.take(postings.documents)
            added = [each * held for each in added]
            documents = np.add.reduceat(held, begins)
        counts, *of_logs = (np.add.reduceat(each, begins) for each in added)
        for place, sums in enumerate((counts, documents, *of_logs)):
            self._sums[place] = _grown(self._sums[place], len(self._cells) + 1)
            np.add.at(self._sums[place], cells, sums)

    def freeze(self) -> NumberedTable:
        """Return the table. The builder is then used up: its own tables, as large as that, are freed on the way."""
        vocabulary, final_term = self.vocabulary.freeze()
        classes = sorted(self._classes)
        first_order = np.array([self._classes[label] for label in classes], np.int64)
        final_class = np.empty(len(classes), np.int64)
        final_class[first_order] = np.arange(len(classes))
        terms, labels = unpair(self._cells.keys)
        self._cells = KeyTable()
        keys = pair(final_term[terms], final_class[labels])
        del terms, labels
        order = np.argsort(keys)
        cells = order + 1  # their ids in the table
        columns = (_grown(sums, cells.size + 1)[cells] for sums in self._sums)
        moments = self._moments and self._moments.take_classes(first_order)
        none = np.empty(0, np.int64)
        table = CountTable(
            vocabulary=vocabulary,
            classes=tuple(classes),
            class_documents=none,
            term_offsets=none,
            cell_classes=none,
            cell_counts=none,
            cell_documents=none,
            attributes=self._attributes,
            moments=moments,
            unit=self._unit,
        )
        table = table.with_cells(self._class_documents[first_order], keys[order], *columns)
        found, numbers = table.drop_empty()
        return NumberedTable(found, numbers.apply_to(final_term, final_class))


def to_int_or_float(number: float) -> float:
    """Return a count as a number of Python: an int if it is whole, as all are but sums of weights."""
    return int(number) if number == int(number) else round(float(number), 6)


def _grown(array: Ints, size: int) -> Ints:
    """Return the array with room for ``size`` elements, new ones zero."""
    if size <= array.size:
        return array
    grown = np.zeros(2 * size, np.int64)
    grown[: array.size] = array
    return grown
