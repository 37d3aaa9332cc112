"""The statistics of the classes, from which every model is estimated.

They are the sum of the counts of labelled documents, of unlabelled documents and of seed words.

Seed words are pseudo-counts of terms in classes, which users set instead of labels. A pseudo-count
cannot be negative, and only the ratios between classes matter. So a word against a class becomes a
word for all other classes. Source: R. Jones, A. McCallum, K. Nigam, E. Riloff, Bootstrapping for
text learning tasks (1999), who label documents by keywords to start EM. Here, seed words are a
Dirichlet prior, and the counts of labelled documents stay unchanged.
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
    add_cells,
    collect_fields,
    regroup_counts,
    repeat_by_cell,
    replace_cells,
    sum_cells,
    sum_over_classes,
)
from nbtext.counts.vocabulary import GrowingVocabulary, Vocabulary, mask_categories
from nbtext.document_fields import WEIGHT_UNIT
from nbtext.errors import UsageError
from nbtext.fast_dataclasses import dataclass
from nbtext.prediction.posterior import LabelPosterior
from nbtext.ragged import compute_flat_indices, find_sorted
from nbtext.text.analyzer import UNKNOWN_TERM
from nbtext.text.hashing import pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.matrix import Number
    from nbtext.prediction.posterior import Posterior
    from nbtext.settings import Settings
    from nbtext.type_names import AnyInts, Ints, Keys, Mask, Names, Numbers


class SeedTerm(NamedTuple):
    """A term that a user has set as evidence for or against a class."""

    label: str
    term: tuple[str, ...]
    """One single term, or the single terms of an n-gram."""
    pseudo_count: float
    """Pseudo-count in the class. If it is negative, its absolute value counts in other classes."""


SeedTerms = Sequence[SeedTerm]


class CountWeights(NamedTuple):
    """The weights of classes, and the seed words that are added to the counts of documents."""

    class_factors: Ints | None = None
    """Factors of the weights of documents, by class, in units of 1 / `WEIGHT_UNIT`.

    Shape (n_classes,); None if all factors are 1.
    """
    seeds: SeedTerms = ()


UNWEIGHTED = CountWeights()

OVERALL_CLASS = "all documents"
"""The class of `ClassStatistics.all_documents`. It is not the reserved label of label sets."""

WORD_BITS = 64
"""Number of bits of an integer that has a bit for each class."""

SUM_DECIMALS = 9
"""Decimals to which a difference of two sums is rounded, so that counts become 0 again."""


@dataclass(frozen=True, eq=False)
class ClassStatistics(CellCounts):
    """The sum of the layers of a table by class, with class weights and seed words.

    Counts are in documents and tokens. `estimate_statistics` creates it.
    """

    table: CountTable = field(kw_only=True)
    """The counts, in whole numbers, from which the statistics were estimated."""
    weights: CountWeights = UNWEIGHTED
    seeds: CellCounts = field(kw_only=True)
    """The pseudo-counts of seed words in the sum; without cells if there are no seed words."""

    @cached_property
    def all_documents(self) -> ClassStatistics:
        """The counts of all documents, as one class."""
        return _regroup_classes(self, np.zeros(self.n_classes, np.int64), (OVERALL_CLASS,))

    @property
    def weight_unit(self) -> int:
        """Products of weights and class weights are in units of 1 / ``weight_unit``."""
        if self.weights.class_factors is None:
            return self.table.unit
        return self.table.unit * WEIGHT_UNIT

    @property
    def observed_counts(self) -> Self:
        """The counts of documents, labelled or not, without seed words, in the same cells."""
        if not self.weights.seeds:
            return self
        return self._observed_counts

    @cached_property
    def _observed_counts(self) -> Self:
        # each cell of the seeds is a cell of the sum
        pseudo_counts = np.zeros(self.cell_counts.size)
        seed_cells = find_sorted(self.cell_keys, self.seeds.cell_keys)
        pseudo_counts[seed_cells] = self.seeds.cell_counts
        return replace(
            self,
            class_documents=self.class_documents - self.seeds.class_documents,
            cell_counts=np.round(self.cell_counts - pseudo_counts, SUM_DECIMALS),
            cell_documents=np.round(self.cell_documents - pseudo_counts, SUM_DECIMALS),
            cell_logs=None,
            weights=self.weights._replace(seeds=()),
            seeds=CellCounts.empty(self.vocabulary, self.classes),
        )

    @cached_property
    def cell_terms(self) -> Ints:
        """Term id of each cell, shape (n_cells,)."""
        has_cells_of_table = self.term_offsets is self.table.term_offsets
        if has_cells_of_table:
            return self.table.cell_terms  # the table has cached them
        return super().cell_terms

    @cached_property
    def class_tokens(self) -> Numbers:
        """N_k, tokens of the texts of each class, shape (n_classes,)."""
        return self.count_tokens(~mask_categories(self.vocabulary))

    @cached_property
    def term_counts(self) -> Numbers:
        """Occurrences of each term in the corpus, shape (n_terms,)."""
        return sum_over_classes(self, self.cell_counts)

    def count_tokens(self, selected: Mask) -> Numbers:
        """Return the occurrences of the selected terms in each class, shape (n_classes,).

        ``selected`` is a mask of shape (n_terms,).
        """
        counts = self.cell_counts
        if not np.issubdtype(counts.dtype, np.integer):
            selected_counts = np.where(repeat_by_cell(self, selected), counts, 0)
            return np.bincount(self.cell_classes, selected_counts, self.n_classes)
        n_selected = np.count_nonzero(selected)
        if n_selected <= selected.size // 2:
            return _count_tokens(self, np.flatnonzero(selected))
        all_tokens = _sum_by_class(self.cell_classes, counts, self.n_classes)
        return all_tokens - _count_tokens(self, np.flatnonzero(~selected))

    def count_all_tokens(self, selected: Mask) -> float:
        """Return the occurrences of the selected terms in all documents.

        ``selected`` is a mask of shape (n_terms,).
        """
        return float(self.count_tokens(selected).sum())

    def get_dense_counts(self, terms: Ints) -> Numbers:
        """Return m_jk of some terms, dense, shape (n, n_classes)."""
        return _to_dense(self, terms, self.cell_counts)

    def get_dense_documents(self, terms: Ints) -> Ints:
        """Return d_jk of some terms, dense, shape (n, n_classes)."""
        return _to_dense(self, terms, self.cell_documents)

    def find_cells(self, terms: Ints) -> tuple[Ints, Ints]:
        """Return the indices of the cells of some terms, and for each cell the index in ``terms``.

        Both arrays have the shape (n_found_cells,).
        """
        starts = self.term_offsets[terms]
        sizes = self.term_offsets[terms + 1] - starts
        return compute_flat_indices(starts, sizes), np.repeat(np.arange(terms.size), sizes)

    def look_up_counts(self, terms: Ints, classes: Ints) -> Numbers:
        """Return m_jk for pairs of a term and a class in which it occurs, shape (n,)."""
        if self.n_classes > WORD_BITS:
            return self.cell_counts[_bisect_cells(self, terms, classes)]
        # The cells of lower classes precede the cell of a class. To count these cells by bits takes
        # a fifth of the time of bisection.
        class_bits = np.left_shift(np.uint64(1), np.arange(self.n_classes, dtype=np.uint64))
        lower_bits = (class_bits - np.uint64(1)).take(classes)
        n_lower = np.bitwise_count(self._term_bits.take(terms) & lower_bits)
        return self.cell_counts.take(self.term_offsets.take(terms) + n_lower)

    @cached_property
    def _term_bits(self) -> Keys:
        """An integer for each term, whose bit k is 1 if the term occurs in class k."""
        cell_bits = np.left_shift(np.uint64(1), self.cell_classes.astype(np.uint64))
        # The XOR of two running XORs is the XOR of the elements between them.
        running_xors = np.zeros(cell_bits.size + 1, np.uint64)
        np.bitwise_xor.accumulate(cell_bits, out=running_xors[1:])
        return running_xors[self.term_offsets[1:]] ^ running_xors[self.term_offsets[:-1]]


def _count_tokens(statistics: ClassStatistics, terms: Ints) -> Ints:
    """Return the occurrences of some terms in each class, shape (n_classes,)."""
    cells, _ = statistics.find_cells(terms)
    classes = statistics.cell_classes[cells]
    return _sum_by_class(classes, statistics.cell_counts[cells], statistics.n_classes)


def _sum_by_class(classes: Ints, counts: Numbers, n_classes: int) -> Ints:
    """Return the sum of the counts of each class, shape (n_classes,).

    Most counts are 1. To count the classes, and to add the excess of the other counts, is five
    times as fast as a sum with weights.
    """
    repeated = np.flatnonzero(counts != 1)
    # sums of integers are exact, because they are below 2**53
    excess = np.bincount(classes[repeated], counts[repeated] - 1, n_classes)
    sums: Ints = np.bincount(classes, minlength=n_classes) + excess.astype(np.int64)
    return sums


def _bisect_cells(statistics: ClassStatistics, terms: Ints, classes: Ints) -> AnyInts:
    """Return the index of the cell of each pair of a term and a class, shape (n,)."""
    dtype: type[np.int32 | np.int64] = np.int64
    if statistics.cell_counts.size <= np.iinfo(np.int32).max:
        dtype = np.int32  # faster
    term_offsets: AnyInts = statistics.term_offsets.astype(dtype)
    low = term_offsets[terms]
    high = term_offsets[terms + 1]
    cell_classes = statistics.cell_classes.astype(dtype)
    classes = classes.astype(dtype)
    # Bisect for all pairs at once. The cell of a pair is always in [low, high).
    for _ in range(statistics.n_classes.bit_length()):
        middle = (low + high) >> 1
        is_above = cell_classes[middle] > classes
        high = np.where(is_above, middle, high)
        low = np.where(is_above, low, middle)
    return low


@dataclass(frozen=True, eq=False)
class LabelStatistics(ClassStatistics):
    """The statistics of multi-label documents: a document is counted for each of its labels."""

    overall: ClassStatistics = field(kw_only=True)
    """The counts of all documents as one class, each document once."""

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
        """D, the sum of the documents' weights; an int if it is whole."""
        return self.overall.n_documents

    @property
    def term_occurs(self) -> Mask:
        """Mask of the terms that occur in a document, shape (n_terms,)."""
        return self.overall.term_occurs

    @property
    def term_counts(self) -> Numbers:
        """Occurrences of each term in the corpus, shape (n_terms,)."""
        return self.overall.term_counts

    @property
    def term_documents(self) -> Ints:
        """Documents with each term, shape (n_terms,)."""
        return self.overall.term_documents

    def count_all_tokens(self, selected: Mask) -> float:
        """Return the occurrences of the selected terms in all documents.

        ``selected`` is a mask of shape (n_terms,).
        """
        return self.overall.count_all_tokens(selected)


def _to_dense(
    statistics: ClassStatistics, terms: Ints, cell_values: NDArray[Number]
) -> NDArray[Number]:
    cells, rows = statistics.find_cells(terms)
    dense = np.zeros((terms.size, statistics.n_classes), cell_values.dtype)
    dense[rows, statistics.cell_classes[cells]] = cell_values[cells]
    return dense


def _regroup_classes(
    statistics: ClassStatistics, numbers: Ints, classes: tuple[str, ...]
) -> ClassStatistics:
    """Return the counts with other classes; table and weights stay unchanged.

    ``numbers`` are the new numbers of the classes, −1 to drop a class.
    """
    regrouped = regroup_counts(statistics, numbers, classes, len(classes))
    seeds = regroup_counts(statistics.seeds, numbers, classes, len(classes))
    return replace(regrouped, seeds=seeds)


DEFAULT_SEED_PSEUDO_COUNT = 10.0
"""Pseudo-count of a seed word. On 20 Newsgroups, 1 to 1,000 do about equally well."""

MAX_SEED_PSEUDO_COUNT = 1e6


def expand_negative_seeds(seeds: SeedTerms, classes: Names) -> list[SeedTerm]:
    """Return the seeds of some classes, all with positive pseudo-counts, sorted.

    A term against a class becomes a term for each other class.
    """
    class_set = set(classes)
    expanded = []
    for seed in seeds:
        labels = class_set & {seed.label}
        if seed.pseudo_count < 0:
            labels = class_set - {seed.label}
        expanded += [SeedTerm(label, seed.term, abs(seed.pseudo_count)) for label in labels]
    return sorted(expanded)


def require_seeded_classes(seeds: SeedTerms, classes: Names) -> None:
    """Raise `UsageError` if a seed is of a class without labelled documents."""
    unknown = sorted({seed.label for seed in seeds} - set(classes))
    if unknown:
        raise UsageError(
            f"--seeds names class {unknown[0]!r}, and no labelled document has it",
            hint="see the classes with nbtext inspect",
        )


def build_seed_vocabulary(seeds: SeedTerms) -> Vocabulary:
    """Return the vocabulary of the terms of seeds, and of the parts of their n-grams."""
    vocabulary = GrowingVocabulary()
    for seed in seeds:
        prefix, *next_terms = vocabulary.intern(seed.term)
        for term in next_terms:
            # the n-gram of the previous terms and this term is the next prefix
            [prefix] = vocabulary.intern_pairs(np.array([prefix]), np.array([term])).tolist()
    frozen, _ = vocabulary.freeze()
    return frozen


def build_count_weights(
    table: CountTable, settings: Settings, seeds: SeedTerms = ()
) -> CountWeights:
    """Return the weights of a model that is trained on the documents of a table."""
    if settings.class_weight is None:
        return CountWeights(seeds=seeds)
    if isinstance(settings.class_weight, dict):
        factors = [settings.class_weight.get(label, 1.0) for label in table.classes]
        return CountWeights(np.rint(WEIGHT_UNIT * np.array(factors)).astype(np.int64), seeds)
    # the only other value is "balanced"
    return CountWeights(compute_balancing_factors(table.labelled_table), seeds)


def compute_balancing_factors(table: CountTable) -> Ints:
    """Return the factors D / (K·D_k), which let all classes weigh the same, shape (n_classes,).

    Factors are in whole units of 1 / `WEIGHT_UNIT`, at least one unit. K is the number of classes
    with documents. Source: G. King, L. Zeng, Logistic regression in rare events data (2001).
    """
    documents = table.class_documents.astype(np.float64)
    mean_documents = documents.sum() / max(np.count_nonzero(documents), 1)
    factors = np.divide(
        WEIGHT_UNIT * mean_documents, documents, out=np.ones_like(documents), where=documents > 0
    )
    return np.maximum(np.rint(factors), 1).astype(np.int64)


def estimate_statistics(table: CountTable, weights: CountWeights = UNWEIGHTED) -> ClassStatistics:
    """Return the weighted sum by class of the table's layers and of seed words."""
    # A sum of floats depends on their order, so labelled documents, seed words and derived layers
    # are always added in this order.
    labelled = table.labelled_table
    seeds = CellCounts.empty(labelled.vocabulary, labelled.classes)
    statistics = ClassStatistics(
        **collect_fields(labelled), table=table, weights=weights, seeds=seeds
    )
    unit = statistics.weight_unit
    if unit != 1:
        counts = labelled.counts_by_field
        if weights.class_factors is not None:
            counts = labelled.scale_columns(weights.class_factors)
        quotients = {name: array / unit for name, array in counts.items()}
        statistics = replace(statistics, **quotients)
    if weights.seeds:
        seeds = count_seeds(weights.seeds, statistics)
        statistics = replace(add_counts(statistics, seeds, factor=1.0), seeds=seeds)
    for weight, derived in table.iter_derived_layers():
        statistics = add_counts(statistics, derived, weight / derived.unit)
    if table.posterior_type.is_exclusive:
        return statistics
    return _split_labels(statistics)


def _split_labels(statistics: ClassStatistics) -> LabelStatistics:
    """Return the statistics with the reserved label, their first class, as all documents."""
    numbers = np.arange(statistics.n_classes)
    overall = _regroup_classes(statistics, np.where(numbers == 0, 0, -1), (OVERALL_CLASS,))
    # the reserved label gets the number −1, which drops it
    labels = _regroup_classes(statistics, numbers - 1, statistics.classes[1:])
    return LabelStatistics(
        **collect_fields(labels),
        table=labels.table,
        weights=labels.weights,
        seeds=labels.seeds,
        overall=overall,
    )


def add_counts(counts: Counts, other: CellCounts, factor: float) -> Counts:
    """Return the counts plus ``factor`` times other counts of the same vocabulary and columns."""
    keys, cells = add_cells(counts.cell_keys, counts.cells, other.cell_keys, other.cells, factor)
    documents = counts.class_documents + factor * other.class_documents
    return replace_cells(counts, documents, keys, *cells)


def count_seeds(seeds: SeedTerms, counts: CellCounts) -> CellCounts:
    """Return the pseudo-counts of seeds as float64, with terms and classes of ``counts``.

    Seeds of other terms and classes are ignored. A class without documents has one
    pseudo-document, so that its prior is above 0.
    """
    seeds = expand_negative_seeds(seeds, counts.classes)
    class_numbers = {label: number for number, label in enumerate(counts.classes)}
    terms = counts.vocabulary.find_terms([seed.term for seed in seeds])
    classes = np.array([class_numbers[seed.label] for seed in seeds], np.int64)
    seed_pseudo_counts = np.array([seed.pseudo_count for seed in seeds], np.float64)
    is_known = terms != UNKNOWN_TERM
    keys = pair(terms[is_known], classes[is_known])
    keys, [pseudo_counts] = sum_cells(keys, seed_pseudo_counts[is_known])
    # an occurrence of a seed word adds 1 to the counts, to the documents, and to the logs
    cells = [pseudo_counts, pseudo_counts]
    if counts.cell_logs is not None:
        cells.append(pseudo_counts * LOG_UNITS)
    documents = (counts.class_documents == 0).astype(np.int64)
    no_counts = CellCounts.empty(counts.vocabulary, counts.classes)
    return replace_cells(no_counts, documents, keys, *cells)
