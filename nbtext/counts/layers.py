"""Layers: counted documents, seed words and unlabelled documents, each with its weights, and the sum that everything is estimated from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.counts.seeds import by_class
from nbtext.counts.statistics import COUNTED_ALONE, LOG_UNITS, Weights, sum_cells
from nbtext.document_parts import WEIGHT_UNIT
from nbtext.errors import require
from nbtext.ragged import offsets, rise_in_rows
from nbtext.text.analyzer import UNKNOWN
from nbtext.text.hashing import pair, unpair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.counts.seeds import Seed
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.settings import Settings
    from nbtext.type_names import Mask, Whole


def weights_of(counted: ClassStatistics, settings: Settings, seeds: Sequence[Seed] = ()) -> Weights:
    """Return the weights of a model that is trained on the counted documents."""
    return Weights(None if settings.class_weight is None else balancing_factors(counted), seeds)


def balancing_factors(counted: ClassStatistics) -> Whole:
    """Return D / (K·D_k), by which all classes weigh the same, shape (n_classes,), in whole units of 1 / `WEIGHT_UNIT`, at least one.

    K counts the classes with documents. Source: G. King, L. Zeng, Logistic regression in rare events data (2001).
    """
    documents = counted.class_documents.astype(np.float64)
    equal = documents.sum() / max(np.count_nonzero(documents), 1)
    factors = np.divide(WEIGHT_UNIT * equal, documents, out=np.ones_like(documents), where=documents > 0)
    whole: Whole = np.maximum(np.rint(factors), 1).astype(np.int64)
    return whole


def estimated(counted: ClassStatistics, weights: Weights = COUNTED_ALONE) -> ClassStatistics:
    """Return the statistics that everything is estimated from: the counted documents themselves if nothing weighs them or joins them.

    The order of the floats matters: quotients by the unit, plus seeds, plus the weights of layers times their counts.
    """
    numbers = counted.numbers if weights.classes is None else counted.scaled(weights.classes)
    found = replace(counted, unit=1, counted=counted, weights=weights)
    if found.weight_unit != 1:
        found = replace(found, **{name: array / found.weight_unit for name, array in numbers.items()})
    elif not (weights.seeds or weights.layers):
        return counted
    if weights.seeds:
        found = added(found, seed_statistics(weights.seeds, found), 1.0)
    for _, statistics, weight in weights.layers:
        found = added(found, statistics, weight / statistics.unit)
    return found


def added(labelled: ClassStatistics, soft: ClassStatistics, factor: float) -> ClassStatistics:
    """Return the first statistics plus ``factor`` times the second, which have the same vocabulary and classes; float64."""
    keys = np.concatenate([pair(each.cell_terms, each.cell_classes) for each in (labelled, soft)])
    columns: Any = [np.concatenate((mine, factor * theirs)) for mine, theirs in zip(labelled.columns, soft.columns, strict=True)]
    keys, (counts, documents, *logs) = sum_cells(keys, *columns)
    terms, classes = unpair(keys)
    return replace(
        labelled,
        class_documents=labelled.class_documents + factor * soft.class_documents,
        term_offsets=offsets(np.bincount(terms, minlength=labelled.n_terms)),
        cell_classes=classes,
        cell_counts=counts,
        cell_documents=documents,
        cell_logs=logs[0] if logs else None,
    )


def seed_statistics(seeds: Sequence[Seed], labelled: ClassStatistics) -> ClassStatistics:
    """Return the pseudo-counts as statistics with vocabulary and classes of ``labelled``, float64, without terms and classes that are not in these.

    A class without documents has one pseudo-document, so that a prior is possible.
    """
    seeds = by_class(seeds, labelled.classes)
    number = {label: place for place, label in enumerate(labelled.classes)}
    terms = labelled.vocabulary.find_terms([seed.term for seed in seeds])
    classes = np.array([number[seed.label] for seed in seeds], np.int64)
    amounts = np.array([seed.pseudo_count for seed in seeds], np.float64)
    known = terms != UNKNOWN
    keys, [counts] = sum_cells(pair(terms[known], classes[known]), amounts[known])
    cell_terms, cell_classes = unpair(keys)
    return replace(
        labelled,
        class_documents=(labelled.class_documents == 0).astype(np.int64),
        term_offsets=offsets(np.bincount(cell_terms, minlength=labelled.n_terms)),
        cell_classes=cell_classes,
        cell_counts=counts,
        cell_documents=counts,
        cell_logs=None if labelled.cell_logs is None else counts * LOG_UNITS,
        unit=1,
    )


class Columns(NamedTuple):
    """The counts of layers in one table, as a model file has them. A column has a label and a layer; columns are sorted by label, then layer."""

    column_labels: Whole
    """Label number of each column; empty if column k is label k of the only layer."""
    column_layers: Whole
    column_documents: Whole
    term_cells: Whole
    """Number of cells of each term."""
    cell_columns: Whole
    cell_counts: Whole
    cell_documents: Whole
    cell_logs: Whole
    """Empty without sums of log weights."""

    @classmethod
    def of(cls, layer: ClassStatistics) -> Columns:
        """Return the table of one layer."""
        none, cells = np.zeros(0, np.int64), layer.columns
        return cls(none, none, layer.class_documents, np.diff(layer.term_offsets), layer.cell_classes, *[*cells, none][:3])

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Whole]) -> Columns:
        """Return the table that arrays of the names of its fields hold; raise `ModelError` unless its cells fit each other."""
        found = cls(*(arrays[name] for name in cls._fields))
        bounds, documents = offsets(found.term_cells), found.cell_documents
        require(bounds[-1] == found.cell_columns.size, "its terms and cells do not fit")
        require(found.cell_columns.max(initial=-1) < found.column_documents.size, "a cell has no column")
        require(np.all(documents <= found.cell_counts), "a cell counts less than its documents")
        require(np.all(documents <= found.column_documents[found.cell_columns]), "a cell has more documents than its column")
        require(rise_in_rows(found.cell_columns, bounds), "the cells of a term are not sorted by column")
        return found

    @classmethod
    def joined(cls, layers: Sequence[Columns]) -> Columns:
        """Return the table of some layers over the same terms and labels, given the table of each."""
        if len(layers) == 1:
            return layers[0]
        numbered, n = list(enumerate(layers)), len(layers)
        keys = np.concatenate([n * np.flatnonzero(each.column_documents) + number for number, each in numbered])
        order = np.argsort(keys)
        documents = np.concatenate([each.column_documents[each.column_documents > 0] for each in layers])[order]
        keys = keys[order]
        columns = np.concatenate([np.searchsorted(keys, n * each.cell_columns + number) for number, each in numbered])
        term_cells = np.array([each.term_cells for each in layers])
        terms = np.concatenate([np.repeat(np.arange(cells.size), cells) for cells in term_cells])
        order = np.argsort(pair(terms, columns), kind="stable")
        cells = [_chosen(np.concatenate(each), order) for each in zip(*(layer[5:] for layer in layers), strict=True)]
        return cls(keys // n, keys % n, documents, term_cells.sum(axis=0), columns[order], *cells)

    def layer(self, number: int, n_labels: int) -> Columns:
        """Return the table of one layer, with a column for each label."""
        if not self.column_labels.size:
            return self
        here = self.column_layers == number
        documents = np.zeros(n_labels, np.int64)
        documents[self.column_labels[here]] = self.column_documents[here]
        cells = here[self.cell_columns]
        term_cells = np.diff(offsets(cells.astype(np.int64))[offsets(self.term_cells)])
        none, labels = np.zeros(0, np.int64), self.column_labels[self.cell_columns[cells]]
        return Columns(none, none, documents, term_cells, labels, *(_chosen(each, cells) for each in self[5:]))


def _chosen(column: Whole, cells: Whole | Mask) -> Whole:
    """Return some cells of a column, of which there may be none."""
    return column[cells] if column.size else column
