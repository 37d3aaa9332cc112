"""A corpus counted in bounded memory: stretch by stretch, and after each only the terms in most documents stay.

A term that was left out and comes again begins anew, so counts of terms that stay may be too low; by how many documents at most is told. Source: G.
Manku, R. Motwani, Approximate frequency counts over data streams (2002), whose lossy counting prunes by a rate rather than to a number of terms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.categories import is_category

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.counts.corpus_counts import CorpusCounts


def bounded(stretches: Iterable[CorpusCounts], most: int) -> CorpusCounts | None:
    """The counts of the stretches together over at most so many terms, n-grams included; None if there are none."""
    total: CorpusCounts | None = None
    for stretch in stretches:
        total = within(stretch if total is None else total + stretch, most)
    return total


def settled(counts: CorpusCounts, most: int | None) -> CorpusCounts:
    """The counts of a model of at most so many terms. Where some were left out it learns no others: what comes later is exact over those left."""
    counts = counts if most is None else within(counts, most)
    return replace(counts, is_closed=True) if counts.missed else counts


def within(counts: CorpusCounts, most: int) -> CorpusCounts:
    """The counts of the terms that most documents hold, the first of equals, at most so many of them beside categories.

    What an n-gram is made of is in as many documents at least, and stands before it.
    """
    statistics = counts.statistics
    terms = np.flatnonzero(~is_category(statistics.vocabulary))
    if terms.size <= most:
        return counts
    documents = statistics.term_documents[terms]
    order = np.argsort(-documents, kind="stable")
    kept = np.zeros(statistics.n_terms, np.bool_)
    kept[terms[order[:most]]] = True
    return replace(counts.restricted(kept), missed=counts.missed + int(documents[order[most]]))
