"""Layers: counted documents, seed words and unlabelled documents, each with its weights, and the sum that everything is estimated from.

Seed words are pseudo-counts of terms in classes, a part of the prior that users give in place of labels. A word against a class is a word for all others:
only the ratios between classes matter, and a pseudo-count cannot be negative. Source: R. Jones, A. McCallum, K. Nigam, E. Riloff, Bootstrapping for text
learning tasks (1999), who label documents by keywords to begin EM; here they are a Dirichlet prior. The counts of labelled documents stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.statistics import ALL_DOCUMENTS, COUNTED_ALONE, LOG_UNITS, ClassStatistics, Seed, Seeds, Weights, sum_cells
from nbtext.counts.vocabulary import GrowingVocabulary, Vocabulary
from nbtext.document_parts import WEIGHT_UNIT
from nbtext.errors import UsageError
from nbtext.text.analyzer import UNKNOWN
from nbtext.text.hashing import pair

if TYPE_CHECKING:
    from nbtext.settings import Settings
    from nbtext.type_names import Names, Whole

PSEUDO_COUNT = 10.0
"""Of a seed word by default. On 20 Newsgroups without labels, 1 to 1,000 do about equally well."""

MOST_OF_SEEDS = 1e6
"""The largest pseudo-count of a seed word."""


def by_class(seeds: Seeds, classes: Names) -> list[Seed]:
    """Return the seeds of some classes: a term against a class becomes one for each of the others."""
    known, found = set(classes), []
    for seed in seeds:
        labels = [seed.label] if seed.pseudo_count >= 0 else [label for label in classes if label != seed.label]
        found += [Seed(label, seed.term, abs(seed.pseudo_count)) for label in labels if label in known]
    return sorted(found)


def require_seeded_classes(seeds: Seeds, classes: Names) -> None:
    """Raise `UsageError` for a seed of a class that no labelled document has."""
    if others := sorted({seed.label for seed in seeds} - set(classes)):
        raise UsageError(f"--seeds names class {others[0]!r}, and no labelled document has it", hint="see the classes with nbtext inspect")


def seed_vocabulary(seeds: Seeds) -> Vocabulary:
    """Return the terms of seeds."""
    vocabulary = GrowingVocabulary()
    for seed in seeds:
        number, *others = vocabulary.find(seed.term)
        for last in others:
            [number] = vocabulary.find_pairs(np.array([number]), np.array([last])).tolist()
    return vocabulary.freeze()[0]


def weights_of(counted: ClassStatistics, settings: Settings, seeds: Seeds = ()) -> Weights:
    """Return the weights of a model that is trained on the counted documents."""
    if isinstance(settings.class_weight, dict):
        factors = [settings.class_weight.get(label, 1.0) for label in counted.classes]
        return Weights(np.rint(WEIGHT_UNIT * np.array(factors)).astype(np.int64), seeds)
    return Weights(None if settings.class_weight is None else balancing_factors(counted.of_documents), seeds)


def balancing_factors(counted: ClassStatistics) -> Whole:
    """Return D / (K·D_k), by which all classes weigh the same, shape (n_classes,), in whole units of 1 / `WEIGHT_UNIT`, at least one.

    K counts the classes with documents. Source: G. King, L. Zeng, Logistic regression in rare events data (2001).
    """
    documents = counted.class_documents.astype(np.float64)
    equal = documents.sum() / max(np.count_nonzero(documents), 1)
    factors = np.divide(WEIGHT_UNIT * equal, documents, out=np.ones_like(documents), where=documents > 0)
    return np.maximum(np.rint(factors), 1).astype(np.int64)


def estimated(table: ClassStatistics, weights: Weights = COUNTED_ALONE) -> ClassStatistics:
    """Return the statistics that everything is estimated from: the counted documents themselves if they are one layer and nothing weighs or joins them.

    The order of the floats matters: quotients by the unit, plus seeds, plus the weights of derived layers times their counts.
    """
    counted = table.of_documents
    numbers = counted.numbers if weights.classes is None else counted.scaled(weights.classes)
    found = replace(counted, unit=1, counted=table, weights=weights)
    if found.weight_unit != 1:
        found = replace(found, **{name: array / found.weight_unit for name, array in numbers.items()})
    elif not weights.seeds and counted is table and table.kind.is_exclusive:
        return table
    if weights.seeds:
        seeds = seed_statistics(weights.seeds, found)
        found = replace(added(found, seeds, 1.0), seeds=seeds)
    for weight, derived in table.derived():
        found = added(found, derived, weight / derived.unit)
    return found if table.kind.is_exclusive else _by_label(found)


def _by_label(summed: ClassStatistics) -> ClassStatistics:
    """Return counts by label with the counts of all documents apart, given counts of one layer with the reserved label first."""
    numbers = np.arange(summed.n_classes) - 1
    everything = summed.regrouped(-(numbers >= 0).astype(np.int64), (ALL_DOCUMENTS,), summed.layers)
    return replace(summed.regrouped(numbers, summed.classes[1:], summed.layers), everything=everything)


def added(labelled: ClassStatistics, soft: ClassStatistics, factor: float) -> ClassStatistics:
    """Return the first statistics plus ``factor`` times the second, which have the same vocabulary and columns."""
    keys = np.concatenate([pair(each.cell_terms, each.cell_classes) for each in (labelled, soft)])
    both = (np.concatenate((mine, factor * theirs)) for mine, theirs in zip(labelled.cells, soft.cells, strict=True))
    keys, cells = sum_cells(keys, *both)
    return labelled.with_cells(labelled.class_documents + factor * soft.class_documents, keys, *cells)


def seed_statistics(seeds: Seeds, labelled: ClassStatistics) -> ClassStatistics:
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
    logs = () if labelled.cell_logs is None else (counts * LOG_UNITS,)
    return labelled.with_cells((labelled.class_documents == 0).astype(np.int64), keys, counts, counts, *logs)
