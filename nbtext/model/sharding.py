"""A corpus in shards: counted and scored by several processes, or counted on a cluster, with the results and messages of a single process.

Counts add exactly, so the sum does not depend on who counted what. What is reported of single documents is put back into the order of the shards.
In the last bits a score may depend on which documents are scored with it: shards are cut without regard to the number of processes, and no block
of documents goes beyond a shard.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import chain, islice
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from nbtext.corpus.collection import Outcome, number_of, paced, with_label
from nbtext.corpus.reading import read_shard
from nbtext.corpus.streams import bytes_read
from nbtext.counts.counting import count_corpus, count_documents
from nbtext.counts.documents import CountedDocuments
from nbtext.errors import DocumentError, NbtextError, PathError
from nbtext.fitted.scoring import ScoredBlock, scored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbtext.corpus.collection import Heard
    from nbtext.corpus.document import Document, Source
    from nbtext.corpus.parts import Shard
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.counting import Analysis
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.fitted.fitted_model import FittedModel
    from nbtext.parallel.cluster import Cluster
    from nbtext.parallel.processes import Share
    from nbtext.text_block import LabelledBlock

    NumberedShard = tuple[int, Shard]
    """With its place in the corpus."""

Item = TypeVar("Item")

RUNS_PER_THREAD = 4
"""Runs of shards for each thread of a cluster, so that the last one to finish is not waited for long."""

MOST_SHARDS = 256
"""Shards in a run: about a gigabyte of text."""


class Counting(NamedTuple):
    """How the shards of a labelled corpus are read and counted."""

    source: Source
    analysis: Analysis
    note: Callable[[Document], Any] | None = None
    """Returns what is to be kept of each document, if all are to be kept as counts, with their names, and not a sample."""


class PartialCounts(NamedTuple):
    """What one process counted, a sum or every document; nothing if there was no document or if it failed, which the last outcome says."""

    outcomes: list[Outcome]
    counts: CorpusCounts | None = None
    documents: tuple[ClassStatistics, CountedDocuments] | None = None


def count_shards(counting: Counting, share: Share[NumberedShard]) -> PartialCounts:
    """Count the shards of a share, one after the other."""
    outcomes: list[Outcome] = []
    labelled = map(with_label, paced(_documents(counting, share, outcomes), share.report))
    try:
        first = next(labelled, None)
        if first is None:
            return PartialCounts(outcomes)
        if counting.note is None:
            return PartialCounts(outcomes, count_corpus(chain([first], labelled), counting.analysis))
        return PartialCounts(outcomes, documents=count_documents(chain([first], labelled), counting.analysis))
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


def outcomes_in_order(pieces: Iterable[PartialCounts]) -> Iterator[Outcome]:
    """Yield the outcomes of all shards in their order; raise the failure of the first that failed, after its outcome."""
    for outcome in sorted((outcome for piece in pieces for outcome in piece.outcomes), key=lambda outcome: outcome.number):
        yield outcome
        if outcome.failure is not None:
            raise outcome.failure


def joined_counts(pieces: Iterable[PartialCounts]) -> CorpusCounts | None:
    """Return the counts of all pieces together; None if there were no documents."""
    return tree_sum((piece.counts for piece in pieces if piece.counts is not None), add)


def joined_documents(pieces: Sequence[PartialCounts]) -> tuple[ClassStatistics, CountedDocuments] | None:
    """Return the statistics and documents of all pieces together, documents in the order of the shards; None if there are none."""
    joined = tree_sum((piece.documents for piece in pieces if piece.documents is not None), _beside)
    if joined is None:
        return None
    statistics, documents = joined
    outcomes = [outcome for piece in pieces if piece.documents is not None for outcome in piece.outcomes]
    shard = np.repeat([outcome.number for outcome in outcomes], [outcome.documents for outcome in outcomes])
    return statistics, documents.rows(np.argsort(shard, kind="stable"))


def _beside(
    left: tuple[ClassStatistics, CountedDocuments], right: tuple[ClassStatistics, CountedDocuments]
) -> tuple[ClassStatistics, CountedDocuments]:
    statistics, of_left, of_right = left[0].combined(right[0], 1)
    return statistics, CountedDocuments.joined((left[1].renumbered(of_left), right[1].renumbered(of_right)))


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


class Run(NamedTuple):
    """Consecutive shards, for a worker of a cluster."""

    counting: Counting
    shards: Sequence[NumberedShard]


def runs(counting: Counting, shards: Iterable[Shard], threads: int) -> Iterator[Run]:
    """Yield the shards of a corpus in runs for so many threads, the first ones of a large corpus before it is cut to its end."""
    numbered, n_runs = enumerate(shards), RUNS_PER_THREAD * max(threads, 1)
    beginning = list(islice(numbered, n_runs * MOST_SHARDS))
    size, all_shards = max(len(beginning) // n_runs, 1), chain(beginning, numbered)
    while run := list(islice(all_shards, size)):
        yield Run(counting, run)


def count_run(run: Run) -> PartialCounts:
    """Count a run, as a worker of a cluster that reads the shards itself."""
    from nbtext.parallel.processes import Share

    return count_shards(run.counting, Share(run.shards))


def count_on_cluster(
    cluster: Cluster, counting: Counting, shards: Iterable[Shard], heard: Heard | None = None
) -> tuple[CorpusCounts | None, list[PartialCounts]]:
    """Return the counts of a corpus, None if there is not one document, and its pieces without them, for their outcomes."""
    counted: list[PartialCounts] = []
    tasks = runs(counting, shards, cluster.threads)

    def arriving() -> Iterator[PartialCounts]:
        documents = read = 0
        for piece in cluster.results(count_run, tasks):
            documents += sum(outcome.documents for outcome in piece.outcomes)
            read += sum(outcome.read for outcome in piece.outcomes)
            if heard is not None:
                heard(documents, read)
            yield piece
            counted.append(PartialCounts(piece.outcomes))

    return joined_counts(arriving()), counted


class Scoring(NamedTuple):
    """A model, and how the documents are read that it scores. One that cannot be read and is kept is scored as an empty one."""

    model: FittedModel
    source: Source


class Scored(NamedTuple):
    """Some consecutive documents with their scores, and what else there is to report of them."""

    block: ScoredBlock | None
    outcome: Outcome


def score_shards(
    scoring: Scoring, shards: Iterable[Shard], jobs: int, report: Callable[[Outcome], object], heard: Heard | None = None
) -> Iterator[ScoredBlock]:
    """Yield all documents in order, scored by ``jobs`` other processes, or by this one if ``jobs`` is 1.

    ``report`` is called with the outcome of each block before that is yielded. Raises what ended the reading, after the documents before it.
    """
    from nbtext.parallel.processes import in_order

    documents = read = 0
    tasks = ((shard, None) for shard in shards) if jobs == 1 else in_order(_score_shard, scoring, shards, jobs, is_ours=_may_be_large)
    for shard, done in tasks:
        for block, outcome in _score(scoring, shard, _beyond(heard, documents, read)) if done is None else done:
            documents, read = documents + outcome.documents, read + outcome.read
            if heard is not None:
                heard(documents, read)
            report(outcome)
            if block is not None:
                yield block
            if outcome.failure is not None:
                raise outcome.failure


def _beyond(heard: Heard | None, documents: int, read: int) -> Heard | None:
    """Return what is to be told of further documents and bytes."""
    return heard and (lambda seen, n_bytes: heard(documents + seen, read + n_bytes))


def _may_be_large(shard: Shard) -> bool:
    """Return whether a shard is a whole file or stream, whose scores are not to be kept until all are there."""
    return shard.part is None and shard.files is None


def _score_shard(scoring: Scoring, shard: Shard) -> list[Scored]:
    return list(_score(scoring, shard, None))


def _score(scoring: Scoring, shard: Shard, heard: Heard | None) -> Iterator[Scored]:
    begin = bytes_read()
    rest = Outcome()  # what is not yet passed on with a block

    documents = read_shard(shard, rest.reported(scoring.source))
    try:
        for block in scored(scoring.model, documents if heard is None else paced(documents, heard)):
            read, begin = bytes_read() - begin, bytes_read()
            yield Scored(block, Outcome(documents=len(block.documents), read=read, problems=rest.problems))
            rest.problems = []
    except (DocumentError, PathError) as problem:
        rest.failure = problem
    yield Scored(None, rest)
