"""A labelled corpus as counts: counted by this process, by several or on a cluster, with the results and messages of a single process.

Counts add exactly, so the sum does not depend on who counted what. What is reported of single documents is put back into the order of the shards.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import chain, islice
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from nbtext.corpus.collection import Outcome, number_of, paced
from nbtext.corpus.parts import BYTES_HERE, Shard
from nbtext.corpus.reading import read_shard
from nbtext.corpus.streams import bytes_read, can_be_read_here_only
from nbtext.counts.counting import Analysis, count
from nbtext.errors import NbtextError, NoDocumentsError, UsageError
from nbtext.exclusions import CLUSTER, PATCH, require_fitting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtext.corpus.collection import Corpus, Heard
    from nbtext.corpus.document import Document, Source
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.parallel.processes import Share
    from nbtext.ragged import LabelledBlock

    NumberedShard = tuple[int, Shard]
    """With its place in the corpus."""

Item = TypeVar("Item")

WORTH_COUNTING = 12
"""Shards for each process; with fewer its start and the sum of its counts take longer than it saves."""

MOST_LOOKED_AT = 8
"""Processes for which shards are cut beforehand, to know whether they are worth it; with so many, all are."""

STDIN = "-"


class CountedCorpus(NamedTuple):
    """A corpus as counts, and with notes the name of each document and what was noted of it, in the order of the corpus."""

    counts: CorpusCounts
    names: list[str]
    notes: list[Any]


class Counting(NamedTuple):
    """How the shards of a labelled corpus are read and counted."""

    source: Source
    analysis: Analysis
    note: Callable[[Document], Any] | None = None
    """Returns what is to be kept of each document, if all are to be kept as counts, with their names."""


class PartialCounts(NamedTuple):
    """What one process counted; nothing if there was no document or if it failed, which the last outcome says."""

    outcomes: list[Outcome]
    counts: CorpusCounts | None = None


def columns_of(document: Document) -> tuple[str, ...]:
    """Note the further columns of a document."""
    return document.columns


def count_corpus(
    analysis: Analysis, corpus: Corpus, jobs: int = 1, scheduler: str | None = None, note: Callable[[Document], Any] | None = None
) -> CountedCorpus:
    """Count a labelled corpus, in so many processes or on a cluster; with ``note`` keep all documents, with their names and what it returns for each.

    Raises `NoDocumentsError` if there is not one document, `UsageError` for what a cluster cannot do, and what reading raises.
    """
    with corpus.watched() as heard:
        if scheduler is None:
            counts, outcomes = joined_pieces(_count_here(analysis, corpus, jobs, note, heard))
        else:
            counts, outcomes = joined_pieces(_count_on_cluster(analysis, corpus, scheduler, heard))
    for outcome in outcomes:
        corpus.report(outcome)
        if outcome.failure is not None:
            raise outcome.failure
    if counts is None:
        raise NoDocumentsError
    names, notes = (list(chain.from_iterable(getattr(outcome, name) for outcome in outcomes)) for name in ("names", "notes"))
    return CountedCorpus(counts, names, notes)


def _count_here(
    analysis: Analysis, corpus: Corpus, jobs: int, note: Callable[[Document], Any] | None, heard: Heard | None
) -> list[PartialCounts]:
    from nbtext.parallel.processes import cores, side_by_side

    jobs = 1 if any(map(can_be_read_here_only, corpus.paths)) else jobs or cores()
    of_corpus, source = corpus.whole()
    if jobs > 1:
        of_corpus, of_shards = corpus.in_shards(BYTES_HERE)
        beginning = list(islice(of_corpus, WORTH_COUNTING * min(jobs, MOST_LOOKED_AT)))
        worthwhile = len(beginning) // WORTH_COUNTING
        jobs = jobs if worthwhile == min(jobs, MOST_LOOKED_AT) else worthwhile
        of_corpus, source = (chain(beginning, of_corpus), of_shards) if jobs > 1 else corpus.whole()
    return side_by_side(count_shards, Counting(source, analysis, note), enumerate(of_corpus), max(jobs, 1), heard)


def _count_on_cluster(analysis: Analysis, corpus: Corpus, scheduler: str, heard: Heard | None) -> Iterator[PartialCounts]:
    from nbtext.parallel.cluster import cluster

    require_fitting(analysis.settings, CLUSTER, *[PATCH] * (corpus.patch is not None))
    if STDIN in corpus.paths:
        raise UsageError("standard input cannot be read by a cluster", hint="give files that its workers can read")
    of_corpus, source = corpus.in_shards(here=False)
    documents = read = 0
    with cluster(scheduler) as workers:
        for piece in workers.side_by_side(count_shards, Counting(source, analysis), enumerate(shard.absolute() for shard in of_corpus)):
            documents += sum(outcome.documents for outcome in piece.outcomes)
            read += sum(outcome.read for outcome in piece.outcomes)
            if heard is not None:
                heard(documents, read)
            yield piece


def count_shards(counting: Counting, share: Share[NumberedShard]) -> PartialCounts:
    """Count the shards of a share, one after the other."""
    outcomes: list[Outcome] = []
    documents = paced(_documents(counting, share, outcomes), share.report)
    try:
        return PartialCounts(outcomes, count(documents, counting.analysis, keep_all=counting.note is not None))
    except NoDocumentsError:
        return PartialCounts(outcomes)
    except (NbtextError, MemoryError) as problem:
        share.withdraw()
        if not outcomes:
            outcomes.append(Outcome(-1))
        outcomes[-1].failure = problem
        return PartialCounts(outcomes)


def _documents(counting: Counting, share: Share[NumberedShard], outcomes: list[Outcome]) -> Iterator[Document | LabelledBlock]:
    for number, shard in share:
        outcome = Outcome(number)
        outcomes.append(outcome)
        before = bytes_read()
        for item in read_shard(shard, replace(outcome.reported(counting.source), blocks=counting.note is None)):
            outcome.documents += number_of(item)
            if counting.note is not None:
                outcome.names.append(item.id)
                outcome.notes.append(counting.note(item))
            yield item
        outcome.read = bytes_read() - before


def joined_pieces(pieces: Iterable[PartialCounts]) -> tuple[CorpusCounts | None, list[Outcome]]:
    """Return the counts of all pieces together, None if there were no documents or one failed, and all outcomes; both in the order of the shards."""
    outcomes: list[Outcome] = []

    def counted() -> Iterator[CorpusCounts]:
        for piece in pieces:
            outcomes.extend(piece.outcomes)
            if piece.counts is not None:
                yield piece.counts

    counts = tree_sum(counted(), add)
    if any(outcome.failure for outcome in outcomes):
        counts = None
    if counts is not None and counts.documents:
        shard = np.repeat([outcome.number for outcome in outcomes], [outcome.documents for outcome in outcomes])
        counts = replace(counts, documents=counts.documents.rows(np.argsort(shard, kind="stable")))
    return counts, sorted(outcomes, key=lambda outcome: outcome.number)


def tree_sum(items: Iterable[Item], join: Callable[[Item, Item], Item]) -> Item | None:
    """Join items in their order; None if there are none.

    Sums of equally many items are joined, so that each item goes through few sums, and few sums are in memory at once.
    """
    sums: list[Item | None] = []  # at place n that of 2 ** n items, if the number of items has that power of two
    for item in items:
        for level, earlier in enumerate(sums):
            if earlier is None:
                sums[level] = item
                break
            item, sums[level] = join(earlier, item), None  # noqa: PLW2901 - carried over, as in binary addition
        else:
            sums.append(item)
    left = [total for total in sums if total is not None]
    return reduce(lambda later, earlier: join(earlier, later), left) if left else None
