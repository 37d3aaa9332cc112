"""The sum that everything is estimated from: counted documents, seed words and unlabelled documents by class, each with its weights.

Seed words are pseudo-counts of terms in classes, a part of the prior that users give in place of labels. A word against a class
is a word for all others: only the ratios between classes matter, and a pseudo-count cannot be negative. Source: R. Jones,
A. McCallum, K. Nigam, E. Riloff, Bootstrapping for text learning tasks (1999), who label documents by keywords to begin EM;
here they are a Dirichlet prior. The counts of labelled documents stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from nbtext.counts.count_table import (
    LOG_UNITS,
    CellCounts,
    Counts,
    CountTable,
    Number,
    collect_fields,
    regroup_counts,
    sum_cells,
    sum_over_classes,
)
from nbtext.counts.vocabulary import GrowingVocabulary, Vocabulary, is_category
from nbtext.document_fields import WEIGHT_UNIT
from nbtext.errors import UsageError
from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.posterior import LabelPosterior
from nbtext.ragged import compute_flat_indices, find_sorted
from nbtext.text.analyzer import UNKNOWN_TERM
from nbtext.text.hashing import pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.prediction.posterior import Posterior
    from nbtext.settings import Settings
    from nbtext.type_names import AnyInts, Ints, Keys, Mask, Names, Numbers


class SeedTerm(NamedTuple):
    """A term that speaks for a class, or against it."""

    label: str
    term: tuple[str, ...]
    """A single term, or those of an n-gram."""
    pseudo_count: float
    """In the class; of a term against it, as a negative number, in every other class."""


SeedTerms = Sequence[SeedTerm]


class CountWeights(NamedTuple):
    """What the documents of a class weigh beside their own weights, and the seed words that join their counts."""

    class_factors: Ints | None = None
    """In units of 1 / `WEIGHT_UNIT`, shape (n_classes,); None if all are 1."""
    seeds: SeedTerms = ()


UNWEIGHTED = CountWeights()

ALL_DOCUMENTS = "all documents"
"""The class of `ClassStatistics.all_documents`; not the reserved label, which says that there are other labels."""

WORD_BITS = 64

SUM_DIGITS = 9
"""Decimals of sums: a difference of two has no more that are right."""


@dataclass(frozen=True, eq=False)
class ClassStatistics(CellCounts):
    """The sum of the layers of a table by class, in documents and tokens, with weights of classes and seed words; `estimate_statistics` makes it."""

    table: CountTable = field(kw_only=True)
    """The whole numbers that documents are subtracted from."""
    weights: CountWeights = UNWEIGHTED
    seeds: CellCounts = field(kw_only=True)
    """The pseudo-counts of seed words in the sum, which are a part of the prior; without cells if there are none."""

    @cached_property
    def all_documents(self) -> ClassStatistics:
        """The counts of all documents, as one class: the sum over the classes if each document has one label."""
        return _regrouped(self, np.zeros(self.n_classes, np.int64), (ALL_DOCUMENTS,))

    @property
    def weight_unit(self) -> int:
        """The weights of single documents are multiples of 1 / `weight_unit`."""
        if self.weights.class_factors is None:
            return self.table.unit
        return self.table.unit * WEIGHT_UNIT

    @property
    def observed_counts(self) -> Self:
        """The counts without seed words, in the same cells: those of documents, labelled or not."""
        return self._observed if self.weights.seeds else self

    @cached_property
    def _observed(self) -> Self:
        keys = pair(self.cell_terms, self.cell_classes)
        seed_keys = pair(self.seeds.cell_terms, self.seeds.cell_classes)
        pseudo_counts = np.zeros(self.cell_counts.size)
        pseudo_counts[find_sorted(keys, seed_keys)] = self.seeds.cell_counts
        return replace(
            self,
            class_documents=self.class_documents - self.seeds.class_documents,
            cell_counts=np.round(self.cell_counts - pseudo_counts, SUM_DIGITS),
            cell_documents=np.round(self.cell_documents - pseudo_counts, SUM_DIGITS),
            cell_logs=None,
            weights=self.weights._replace(seeds=()),
            seeds=no_seeds(self),
        )

    @cached_property
    def cell_terms(self) -> Ints:
        """Term id of each cell, shape (n_cells,)."""
        if self.term_offsets is self.table.term_offsets:
            return self.table.cell_terms
        return super().cell_terms

    @cached_property
    def class_tokens(self) -> Numbers:
        """N_k, tokens of the texts of each class, shape (n_classes,)."""
        return self.count_tokens(~is_category(self.vocabulary))

    @cached_property
    def term_counts(self) -> Numbers:
        """Occurrences of each term in the whole corpus, shape (n_terms,)."""
        return sum_over_classes(self, self.cell_counts)

    def count_tokens(self, selected: Mask) -> Numbers:
        """Return the occurrences of the selected terms, a mask of shape (n_terms,), in each class, shape (n_classes,)."""
        counts = self.cell_counts
        if not selected.all():
            counts = np.where(self.per_cell(selected), counts, 0)
        sums = np.bincount(self.cell_classes, counts, self.n_classes)
        return sums.astype(counts.dtype)  # exact, since all sums are below 2**53

    def count_all_tokens(self, selected: Mask) -> float:
        """Return the occurrences of the selected terms, a mask of shape (n_terms,), in all documents."""
        return float(self.count_tokens(selected).sum())

    def get_dense_counts(self, terms: Ints) -> Numbers:
        """Return m_jk of some terms, dense, shape (n, n_classes)."""
        return _dense(self, terms, self.cell_counts)

    def get_dense_documents(self, terms: Ints) -> Ints:
        """Return d_jk of some terms, dense, shape (n, n_classes)."""
        return _dense(self, terms, self.cell_documents)

    def find_cells(self, terms: Ints) -> tuple[Ints, Ints]:
        """Return the numbers of the cells of some terms, and the place of each cell's term among ``terms``, both of shape (n,)."""
        starts = self.term_offsets[terms]
        sizes = self.term_offsets[terms + 1] - starts
        return compute_flat_indices(starts, sizes), np.repeat(np.arange(terms.size), sizes)

    def look_up_counts(self, terms: Ints, classes: Ints) -> Numbers:
        """Return m_jk of pairs of a term and a class in which it occurs, shape (n,)."""
        if self.n_classes <= WORD_BITS:  # a fifth of the time of bisection
            bits = np.left_shift(np.uint64(1), np.arange(self.n_classes, dtype=np.uint64))
            lower = bits - np.uint64(1)
            n_lower = np.bitwise_count(self._classes_of_terms.take(terms) & lower.take(classes))
            return self.cell_counts.take(self.term_offsets.take(terms) + n_lower)
        narrow: type[np.int32 | np.int64] = (
            np.int32 if self.cell_counts.size < 1 << 31 else np.int64
        )
        bounds: AnyInts = self.term_offsets.astype(narrow)
        low = bounds[terms]
        high = bounds[terms + 1]
        cell_classes = self.cell_classes.astype(narrow)
        classes = classes.astype(narrow)
        for _ in range(self.n_classes.bit_length()):  # bisection of each term's cells
            middle = (low + high) >> 1
            beyond = cell_classes[middle] > classes
            high = np.where(beyond, middle, high)
            low = np.where(beyond, low, middle)
        return self.cell_counts[low]

    @cached_property
    def _classes_of_terms(self) -> Keys:
        """Words of `WORD_BITS` bits, of which bit k is 1 if the term occurs in class k, shape (n_terms,)."""
        bits = np.left_shift(np.uint64(1), self.cell_classes.astype(np.uint64))
        running = np.zeros(bits.size + 1, np.uint64)
        np.bitwise_xor.accumulate(bits, out=running[1:])
        return running[self.term_offsets[1:]] ^ running[self.term_offsets[:-1]]


@dataclass(frozen=True, eq=False)
class LabelStatistics(ClassStatistics):
    """The sum where documents have several labels: each label counts its own documents, so that labels share documents."""

    overall: ClassStatistics = field(kw_only=True)
    """The counts of all documents, each document once."""

    @property
    def posterior_type(self) -> type[Posterior]:
        """Labels do not exclude each other."""
        return LabelPosterior

    @property
    def all_documents(self) -> ClassStatistics:
        """The counts of all documents, as one class."""
        return self.overall

    @property
    def n_documents(self) -> float:
        """D, an int; of weighted documents the sum of the weights."""
        return self.overall.n_documents

    @property
    def term_occurs(self) -> Mask:
        """Whether a document holds each term, shape (n_terms,)."""
        return self.overall.term_occurs

    @property
    def term_counts(self) -> Numbers:
        """Occurrences of each term in the whole corpus, shape (n_terms,)."""
        return self.overall.term_counts

    @property
    def term_documents(self) -> Ints:
        """Documents with each term, shape (n_terms,)."""
        return self.overall.term_documents

    def count_all_tokens(self, selected: Mask) -> float:
        """Return the occurrences of the selected terms, a mask of shape (n_terms,), in all documents."""
        return self.overall.count_all_tokens(selected)


def _dense(statistics: ClassStatistics, terms: Ints, column: NDArray[Number]) -> NDArray[Number]:
    cells, places = statistics.find_cells(terms)
    table = np.zeros((terms.size, statistics.n_classes), column.dtype)
    table[places, statistics.cell_classes[cells]] = column[cells]
    return table


def _regrouped(summed: ClassStatistics, numbers: Ints, classes: tuple[str, ...]) -> ClassStatistics:
    """Return the counts of other classes, given the new number of each class, or −1 to leave it out; table and weights stay."""
    seeds = regroup_counts(summed.seeds, numbers, classes, len(classes))
    return replace(regroup_counts(summed, numbers, classes, len(classes)), seeds=seeds)


DEFAULT_SEED_PSEUDO_COUNT = 10.0
"""Of a seed word by default. On 20 Newsgroups without labels, 1 to 1,000 do about equally well."""

MAX_SEED_PSEUDO_COUNT = 1e6
"""The largest pseudo-count of a seed word."""


def expand_negative_seeds(seeds: SeedTerms, classes: Names) -> list[SeedTerm]:
    """Return the seeds of some classes: a term against a class becomes one for each of the others."""
    known = set(classes)
    found = []
    for seed in seeds:
        labels = (
            [seed.label]
            if seed.pseudo_count >= 0
            else [label for label in classes if label != seed.label]
        )
        found += [
            SeedTerm(label, seed.term, abs(seed.pseudo_count)) for label in labels if label in known
        ]
    return sorted(found)


def require_seeded_classes(seeds: SeedTerms, classes: Names) -> None:
    """Raise `UsageError` for a seed of a class that no labelled document has."""
    if others := sorted({seed.label for seed in seeds} - set(classes)):
        raise UsageError(
            f"--seeds names class {others[0]!r}, and no labelled document has it",
            hint="see the classes with nbtext inspect",
        )


def build_seed_vocabulary(seeds: SeedTerms) -> Vocabulary:
    """Return the terms of seeds."""
    vocabulary = GrowingVocabulary()
    for seed in seeds:
        number, *others = vocabulary.find(seed.term)
        for last in others:
            [number] = vocabulary.find_pairs(np.array([number]), np.array([last])).tolist()
    return vocabulary.freeze()[0]


def build_count_weights(
    table: CountTable, settings: Settings, seeds: SeedTerms = ()
) -> CountWeights:
    """Return the weights of a model that is trained on the documents of a table."""
    if isinstance(settings.class_weight, dict):
        factors = [settings.class_weight.get(label, 1.0) for label in table.classes]
        return CountWeights(np.rint(WEIGHT_UNIT * np.array(factors)).astype(np.int64), seeds)
    if settings.class_weight is None:
        return CountWeights(seeds=seeds)
    return CountWeights(compute_balancing_factors(table.labelled_table), seeds)


def compute_balancing_factors(counted: CountTable) -> Ints:
    """Return D / (K·D_k), by which all classes weigh the same, shape (n_classes,), in whole units of 1 / `WEIGHT_UNIT`, at least one.

    K counts the classes with documents. Source: G. King, L. Zeng, Logistic regression in rare events data (2001).
    """
    documents = counted.class_documents.astype(np.float64)
    equal = documents.sum() / max(np.count_nonzero(documents), 1)
    factors = np.divide(
        WEIGHT_UNIT * equal, documents, out=np.ones_like(documents), where=documents > 0
    )
    return np.maximum(np.rint(factors), 1).astype(np.int64)


def estimate_statistics(table: CountTable, weights: CountWeights = UNWEIGHTED) -> ClassStatistics:
    """Return the statistics that everything is estimated from: the sum of the table's layers and of seed words by class.

    The order of the floats matters: quotients by the unit, plus seeds, plus the weights of derived layers times their counts.
    """
    counted = table.labelled_table
    seeds = no_seeds(counted)
    summed = ClassStatistics(**collect_fields(counted), table=table, weights=weights, seeds=seeds)
    if summed.weight_unit != 1:
        numbers = (
            counted.counts_by_field
            if weights.class_factors is None
            else counted.scale_columns(weights.class_factors)
        )
        quotients = {name: array / summed.weight_unit for name, array in numbers.items()}
        summed = replace(summed, **quotients)
    if weights.seeds:
        seeds = count_seeds(weights.seeds, summed)
        summed = replace(add_counts(summed, seeds, 1.0), seeds=seeds)
    for weight, derived in table.iter_derived_layers():
        summed = add_counts(summed, derived, weight / derived.unit)
    return summed if table.posterior_type.is_exclusive else _split_labels(summed)


def _split_labels(summed: ClassStatistics) -> LabelStatistics:
    """Return the counts of the labels, given counts with the reserved label first, which all documents have."""
    is_first = np.arange(summed.n_classes) == 0
    everything = _regrouped(summed, np.where(is_first, 0, -1), (ALL_DOCUMENTS,))
    labels = _regrouped(summed, np.arange(summed.n_classes) - 1, summed.classes[1:])
    return LabelStatistics(
        **collect_fields(labels),
        table=labels.table,
        weights=labels.weights,
        seeds=labels.seeds,
        overall=everything,
    )


def add_counts(labelled: Counts, soft: CellCounts, factor: float) -> Counts:
    """Return the first counts plus ``factor`` times the second, which have the same vocabulary and columns."""
    keys = pair(labelled.cell_terms, labelled.cell_classes)
    soft_keys = pair(soft.cell_terms, soft.cell_classes)
    pairs = zip(labelled.cells, soft.cells, strict=True)
    columns = [np.concatenate((column, factor * soft_column)) for column, soft_column in pairs]
    keys, cells = sum_cells(np.concatenate((keys, soft_keys)), *columns)
    documents = labelled.class_documents + factor * soft.class_documents
    return labelled.with_cells(documents, keys, *cells)


def count_seeds(seeds: SeedTerms, labelled: CellCounts) -> CellCounts:
    """Return the pseudo-counts of the terms and classes of ``labelled``, float64; other terms and classes are left out.

    A class without documents has one pseudo-document, so that a prior is possible.
    """
    seeds = expand_negative_seeds(seeds, labelled.classes)
    number = {label: place for place, label in enumerate(labelled.classes)}
    terms = labelled.vocabulary.find_terms([seed.term for seed in seeds])
    classes = np.array([number[seed.label] for seed in seeds], np.int64)
    amounts = np.array([seed.pseudo_count for seed in seeds], np.float64)
    known = terms != UNKNOWN_TERM
    keys, [counts] = sum_cells(pair(terms[known], classes[known]), amounts[known])
    logs = () if labelled.cell_logs is None else (counts * LOG_UNITS,)
    documents = (labelled.class_documents == 0).astype(np.int64)
    return no_seeds(labelled).with_cells(documents, keys, counts, counts, *logs)


def no_seeds(counts: CellCounts) -> CellCounts:
    """Return the pseudo-counts if there are no seed words, with vocabulary and classes of other counts."""
    no_cells = np.zeros(0, np.int64)
    return CellCounts(
        vocabulary=counts.vocabulary,
        classes=counts.classes,
        class_documents=np.zeros_like(counts.class_documents),
        term_offsets=np.zeros(counts.n_terms + 1, np.int64),
        cell_classes=no_cells,
        cell_counts=no_cells,
        cell_documents=no_cells,
    )
