"""Counting a corpus on a cluster: runs of shards travel there as names, statistics come back and are added up as they come.

Sums of equally many runs are added to each other, so that each run's counts go through few sums and few sums are in memory at once.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.model.sharded import count_shards
from nbtext.parallel.processes import Share, Shares, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nbtext.model.sharded import Counting, Piece
    from nbtext.parallel.cluster import Cluster

RUNS_PER_THREAD = 4
"""So that the last one to finish is not waited for long."""

MOST_SHARDS = 256
"""In a run: about a gigabyte of text."""


class Run(NamedTuple):
    """Consecutive shards of a corpus, the first of which has this number there."""

    of: Counting
    first: int


def runs(of: Counting, threads: int) -> Iterator[Run]:
    """The shards of a corpus in runs for so many threads."""
    size = min(max(len(of.shards) // (RUNS_PER_THREAD * max(threads, 1)), 1), MOST_SHARDS)
    for first in range(0, len(of.shards), size):
        yield Run(of._replace(shards=of.shards[first : first + size]), first)


def count_run(run: Run) -> Piece:
    """What there is to count and to tell of a run, by a worker that reads its shards itself."""
    piece = count_shards(run.of, Share(Shares(len(run.of.shards), 1), Tally(1, seen_by_all=False), 0))
    for outcome in piece.outcomes:
        outcome.number += run.first
    return piece


def counted_on(
    cluster: Cluster, of: Counting, heard: Callable[[int, int], object] | None = None
) -> tuple[CorpusCounts | None, list[Piece]]:
    """The counts of a corpus, None if there is not one document, and its pieces without them, for what is to be told.

    ``heard`` is told the documents and bytes read so far.
    """
    total, told = Total(), []
    documents = read = 0
    for piece in cluster.results(count_run, runs(of, cluster.threads)):
        documents += sum(outcome.documents for outcome in piece.outcomes)
        read += sum(outcome.read for outcome in piece.outcomes)
        if heard is not None:
            heard(documents, read)
        if isinstance(piece.counts, CorpusCounts):
            total.add(piece.counts)
        told.append(piece._replace(statistics=None, counts=None))
    return total.sum(), told


class Total:
    """A sum of counts that come one after the other, as a tree: one sum for each power of two that the number of them is made of."""

    def __init__(self) -> None:
        self._sums: list[CorpusCounts | None] = []

    def add(self, counts: CorpusCounts) -> None:
        """Add counts."""
        for level, other in enumerate(self._sums):
            if other is None:
                self._sums[level] = counts
                return
            counts, self._sums[level] = other + counts, None
        self._sums.append(counts)

    def sum(self) -> CorpusCounts | None:
        """All of them together; None if there were none."""
        left = [counts for counts in self._sums if counts is not None]
        return reduce(add, left) if left else None
