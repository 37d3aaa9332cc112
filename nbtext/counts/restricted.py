"""Counts of some of the terms only, as if no document had ever held another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.counts.statistics import Numbers
from nbtext.ragged import offsets
from nbtext.text.key_table import unpair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.counts.vocabulary import Vocabulary


def restricted_statistics(statistics: ClassStatistics, kept: NDArray[np.bool_]) -> ClassStatistics:
    """Statistics of the terms with ``kept`` (shape (n_terms,)) true, among which are all `with_parts` adds."""
    cells = kept[statistics.cell_terms]
    return replace(
        statistics,
        vocabulary=statistics.vocabulary.restrict(kept),
        term_offsets=offsets(np.diff(statistics.term_offsets)[kept]),
        cell_classes=statistics.cell_classes[cells],
        cell_counts=statistics.cell_counts[cells],
        cell_documents=statistics.cell_documents[cells],
    )


def restricted_documents(documents: CountedDocuments, kept: NDArray[np.bool_]) -> CountedDocuments:
    """Documents with those terms only, numbered as in `restricted_statistics`."""
    n_classes = int(documents.classes.max(initial=-1)) + 1
    numbers = Numbers(np.cumsum(kept) - 1, np.arange(n_classes))
    return replace(documents, matrix=documents.matrix.of_terms(kept)).renumbered(numbers)


def with_parts(vocabulary: Vocabulary, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Terms and all that n-grams among them are made of, shape (n_terms,): the (n − 1)-gram before the last term, and the last term."""
    kept = kept.copy()
    left, last = unpair(vocabulary.pairs)
    while True:
        ngrams = kept[vocabulary.n_single :]
        parts: NDArray[Any] = np.concatenate((left[ngrams], last[ngrams]))
        if kept[parts].all():
            return kept
        kept[parts] = True


def known_to(known: Vocabulary, vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which terms of a vocabulary another knows, shape (n_terms,)."""
    _, theirs, ours = known.union(vocabulary)
    return np.isin(ours, theirs)
