"""What unlabelled documents add to the statistics of labelled ones: counts of documents that belong to each class in part.

A document d belongs to class k with a share r_dk, in whole thousandths, so the sums Σ_d r_dk n_jd are whole numbers too, and do not depend on the
order of the documents. They are kept apart from the counts of labelled documents, which stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.counts.matrix import TERM_WEIGHTS_AT_ONCE, DocumentTermMatrix, add_weighted_sums, stable_order
from nbtext.counts.seeds import Seed, seed_statistics
from nbtext.counts.statistics import ClassStatistics, log_units, sum_cells
from nbtext.document_parts import WEIGHT_UNIT
from nbtext.ragged import offsets
from nbtext.text.hashing import pair, unpair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SoftCounts:
    """The layer of a model that unlabelled documents made."""

    statistics: ClassStatistics
    """Of all terms and classes of the model, in units of 1 / `WEIGHT_UNIT`; without cells if the weight is 0."""
    weight: float
    """λ, by which the counts are multiplied."""
    documents: int
    """Unlabelled documents that were read."""
    losses: Mapping[str, float] = field(default_factory=dict)
    """Mean log loss of left-out labelled documents, in nats, by the weight that was tried."""

    seeds: Sequence[Seed] = ()
    """Pseudo-counts that EM began with."""

    def added_to(self, labelled: ClassStatistics) -> ClassStatistics:
        """Return labelled + λ · soft counts + seeds, float64; ``labelled`` have the same vocabulary and classes, and are in documents and tokens."""
        labelled = with_seeds(labelled, self.seeds)
        return added(labelled, self.statistics, self.weight / self.statistics.unit) if self.weight else labelled


def with_seeds(labelled: ClassStatistics, seeds: Sequence[Seed]) -> ClassStatistics:
    """Return the statistics plus the pseudo-counts of seeds."""
    return added(labelled, seed_statistics(seeds, labelled), 1.0) if seeds else labelled


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
        exact=labelled.exact or labelled,
    )


def without_cells(labelled: ClassStatistics) -> ClassStatistics:
    """Return statistics of no soft counts, of the terms and classes of ``labelled``."""
    nothing = np.zeros(0, np.int64)
    return replace(
        labelled,
        class_documents=np.zeros(labelled.n_classes, np.int64),
        term_offsets=np.zeros(labelled.n_terms + 1, np.int64),
        cell_classes=nothing,
        cell_counts=nothing,
        cell_documents=nothing,
        cell_logs=None if labelled.cell_logs is None else nothing,
        unit=WEIGHT_UNIT,
        exact=None,
    )


class SoftCounter:
    """Sums counts of the same documents by term and class, again and again with other shares."""

    def __init__(self, matrix: DocumentTermMatrix, labelled: ClassStatistics) -> None:
        """Take documents over the vocabulary of ``labelled``, the statistics whose terms and classes the sums have."""
        self._labelled = labelled
        order = stable_order(matrix.terms)
        bounds = offsets(np.bincount(matrix.terms, minlength=labelled.n_terms))
        self._by_term = DocumentTermMatrix(
            bounds, matrix.entry_documents[order], matrix.counts[order], np.zeros(labelled.n_terms, np.int64)
        )

    def counts(self, shares: Floats) -> ClassStatistics:
        """Return Σ_d r_dk n_jd as the only column of the statistics, given shares r, shape (n_docs, n_classes), in thousandths."""
        [cells], terms, classes = self._sums(shares, [self._by_term.counts])
        return self._statistics(shares, terms, classes, cells, cells, None)

    def statistics(self, shares: Floats) -> ClassStatistics:
        """Return all columns that the labelled statistics have, in whole thousandths."""
        counts = self._by_term.counts
        columns = [counts, np.ones_like(counts)]
        if self._labelled.cell_logs is not None:
            columns.append(log_units(counts))
        sums, terms, classes = self._sums(shares.astype(np.int64), columns)
        return self._statistics(shares.astype(np.int64), terms, classes, sums[0], sums[1], sums[2] if len(sums) > 2 else None)

    def _sums(self, shares: NDArray[Any], columns: list[NDArray[Any]]) -> tuple[list[NDArray[Any]], Whole, Whole]:
        """Return the sums of each column where documents with the term have a share, and the terms and classes of these cells."""
        n_classes, parts = shares.shape[1], []
        step = max(TERM_WEIGHTS_AT_ONCE // n_classes, 1)
        for begin in range(0, max(self._by_term.n_documents, 1), step):
            rows = np.arange(begin, min(begin + step, self._by_term.n_documents))
            sums = []
            for column in columns:
                part = self._by_term._replace(counts=column).rows(rows)
                table = np.zeros((rows.size, n_classes), np.result_type(shares, column))
                add_weighted_sums(table, part, len(shares), shares.__getitem__)
                sums.append(table)
            terms, classes = np.nonzero(sums[0])
            parts.append((begin + terms, classes, *(table[terms, classes] for table in sums)))
        terms, classes, *found = (np.concatenate(each) for each in zip(*parts, strict=True))
        return found, terms, classes

    def _statistics(
        self, shares: NDArray[Any], terms: Whole, classes: Whole, counts: NDArray[Any], documents: NDArray[Any], logs: NDArray[Any] | None
    ) -> ClassStatistics:
        return replace(
            self._labelled,
            class_documents=shares.sum(axis=0),
            term_offsets=offsets(np.bincount(terms, minlength=self._labelled.n_terms)),
            cell_classes=classes,
            cell_counts=counts,
            cell_documents=documents,
            cell_logs=logs,
            unit=WEIGHT_UNIT,
            exact=None,
        )
