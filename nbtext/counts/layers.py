"""Layers: counted documents, seed words and unlabelled documents, each with its weights, and the sum that everything is estimated from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.counts.seeds import by_class
from nbtext.counts.statistics import COUNTED_ALONE, LOG_UNITS, Weights, sum_cells
from nbtext.document_parts import WEIGHT_UNIT
from nbtext.ragged import offsets
from nbtext.text.analyzer import UNKNOWN
from nbtext.text.hashing import pair, unpair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.counts.seeds import Seed
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.settings import Settings
    from nbtext.type_names import Whole


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
