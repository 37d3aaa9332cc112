"""A corpus in shards: counted and scored by several processes, or counted on a cluster, with the results and messages of a single process.

Counts add exactly, so the sum does not depend on who counted what. What is reported of single documents is put back into the order of the shards.
In the last bits a score may depend on which documents are scored with it: shards are cut without regard to the number of processes, and no block
of documents goes beyond a shard.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from nbtext.corpus.document import Notices
from nbtext.corpus.reading import source_of
from nbtext.corpus.shards import read_shard
from nbtext.corpus.streams import bytes_read
from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.counting import count_corpus, count_documents
from nbtext.counts.documents import CountedDocuments
from nbtext.errors import DocumentError, NbtextError, PathError
from nbtext.model.scoring import ScoredBlock, scored
from nbtext.parallel.processes import Pace, Share, Shares, Tally, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbtext.corpus.document import Document
    from nbtext.corpus.shards import Shard
    from nbtext.counts.counting import Analysis
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.model.scoring import ScoringModel
    from nbtext.parallel.cluster import Cluster
    from nbtext.settings import Reading

    Heard = Callable[[int, int], object]
    """Is told the documents and the bytes read so far."""

Item = TypeVar("Item")

NAMED_PER_SHARD = 10
"""Documents of a shard that could not be read are named up to this many, with the reason; the others are counted."""

RUNS_PER_THREAD = 4
"""Runs of shards for each thread of a cluster, so that the last one to finish is not waited for long."""

MOST_SHARDS = 256
"""Shards in a run: about a gigabyte of text."""


@dataclass
class Outcome:
    """What there is to report of a shard, or of some consecutive documents of it, beside counts and scores."""

    number: int = 0
    """The place of the shard in the corpus."""
    notices: Notices = field(default_factory=Notices)
    documents: int = 0
    """Those that could be read."""
    read: int = 0
    """Bytes read for them, if they were read from a file of lines."""
    problems: list[tuple[str, DocumentError]] = field(default_factory=list)
    """The first documents that could not be read."""
    names: list[str] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)
    """Of each document that could be read; empty unless asked for."""

    def fail(self, name: str, problem: DocumentError, *, at_once: bool) -> None:
        """Record that a document could not be read, or with ``at_once`` raise why."""
        if at_once:
            raise fatal(name, problem)
        if len(self.problems) < NAMED_PER_SHARD:
            self.problems.append((name, problem))
        else:
            self.notices.unnamed += 1


def fatal(name: str, problem: DocumentError) -> DocumentError:
    """Return the problem of a document as the reason for which everything ends."""
    return DocumentError(problem.message, where=name, hint=problem.hint)


def paced(documents: Iterable[Item], heard: Heard) -> Iterator[Item]:
    """Yield the documents; tell from time to time, and in the end, how many documents and bytes have been read."""
    seen, begin, pace = 0, bytes_read(), Pace()
    for seen, document in enumerate(documents, 1):
        yield document
        if seen >= pace.due:
            heard(seen, bytes_read() - begin)
            pace.reported()
    heard(seen, bytes_read() - begin)


class Counting(NamedTuple):
    """A labelled corpus in shards, and how it is read and counted."""

    shards: Sequence[Shard]
    analysis: Analysis
    reading: Reading
    """As resolved for these documents."""
    columns: Sequence[str] = ()
    fail: bool = False
    """Let a document that cannot be read end everything."""
    note: Callable[[Document], Any] | None = None
    """Returns what is to be kept of each document, if all are to be kept as counts, with their names, and not a sample."""


class PartialCounts(NamedTuple):
    """What one process counted: nothing if there was no document or if it failed, and why it did."""

    statistics: ClassStatistics | None
    counts: CorpusCounts | CountedDocuments | None
    outcomes: list[Outcome]
    failure: BaseException | None = None
    """Of the last of the outcomes."""


def count_shards(counting: Counting, share: Share) -> PartialCounts:
    """Count the shards with the numbers in a share, one after the other."""
    outcomes: list[Outcome] = []
    labelled = ((document.label or "", document.text) for document in paced(_readable(counting, share, outcomes), share.report))
    try:
        first = next(labelled, None)
        if first is None:
            return PartialCounts(None, None, outcomes)
        if counting.note is not None:
            whole = count_documents(chain([first], labelled), counting.analysis)
            return PartialCounts(*whole, outcomes)
        counts = count_corpus(chain([first], labelled), counting.analysis)
        return PartialCounts(counts.statistics, counts, outcomes)
    except (NbtextError, MemoryError) as problem:
        share.withdraw()
        return PartialCounts(None, None, outcomes, problem)


def _readable(counting: Counting, share: Share, outcomes: list[Outcome]) -> Iterator[Document]:
    for number in share:
        outcome = Outcome(number)
        outcomes.append(outcome)
        before = bytes_read()
        source = source_of(counting.reading, outcome.notices, labelled=True, columns=counting.columns)
        for document in read_shard(counting.shards[number], source):
            if document.problem is not None:
                outcome.fail(document.id, document.problem, at_once=counting.fail)
                continue
            outcome.documents += 1
            if counting.note is not None:
                outcome.names.append(document.id)
                outcome.notes.append(counting.note(document))
            yield document
        outcome.read = bytes_read() - before


def outcomes_in_order(pieces: Sequence[PartialCounts]) -> Iterator[Outcome]:
    """Yield the outcomes of all shards in their order; raise the failure of the first that failed, after its outcome."""
    failures = {piece.outcomes[-1].number if piece.outcomes else -1: piece.failure for piece in pieces if piece.failure is not None}
    if -1 in failures:
        raise failures[-1]
    for outcome in sorted((outcome for piece in pieces for outcome in piece.outcomes), key=lambda outcome: outcome.number):
        yield outcome
        if (failure := failures.get(outcome.number)) is not None:
            raise failure


def joined_counts(pieces: Iterable[PartialCounts]) -> CorpusCounts | None:
    """Return the counts of all pieces together; None if there were no documents."""
    return tree_sum((piece.counts for piece in pieces if isinstance(piece.counts, CorpusCounts)), add)


def joined_documents(pieces: Sequence[PartialCounts]) -> tuple[ClassStatistics, CountedDocuments] | None:
    """Return the statistics and documents of all pieces together, documents in the order of the shards; None if there are none."""
    full = [piece for piece in pieces if isinstance(piece.counts, CountedDocuments)]
    whole: Any = tree_sum(((piece.statistics, piece.counts) for piece in full), _beside)
    if whole is None:
        return None
    statistics, documents = whole
    shard = np.repeat(
        [outcome.number for piece in full for outcome in piece.outcomes],
        [outcome.documents for piece in full for outcome in piece.outcomes],
    )
    return statistics, documents.rows(np.argsort(shard, kind="stable"))


def _beside(left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[ClassStatistics, CountedDocuments]:
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
    """Consecutive shards of a corpus, the first of which has this number there."""

    counting: Counting
    first: int


def runs(counting: Counting, threads: int) -> Iterator[Run]:
    """Yield the shards of a corpus in runs for so many threads."""
    size = min(max(len(counting.shards) // (RUNS_PER_THREAD * max(threads, 1)), 1), MOST_SHARDS)
    for first in range(0, len(counting.shards), size):
        yield Run(counting._replace(shards=counting.shards[first : first + size]), first)


def count_run(run: Run) -> PartialCounts:
    """Count a run, as a worker of a cluster that reads the shards itself."""
    piece = count_shards(run.counting, Share(Shares(len(run.counting.shards), 1), Tally(1, seen_by_all=False), 0))
    for outcome in piece.outcomes:
        outcome.number += run.first
    return piece


def count_on_cluster(cluster: Cluster, counting: Counting, heard: Heard | None = None) -> tuple[CorpusCounts | None, list[PartialCounts]]:
    """Return the counts of a corpus, None if there is not one document, and its pieces without them, for their outcomes."""
    counted: list[PartialCounts] = []

    def arriving() -> Iterator[PartialCounts]:
        documents = read = 0
        for piece in cluster.results(count_run, runs(counting, cluster.threads)):
            documents += sum(outcome.documents for outcome in piece.outcomes)
            read += sum(outcome.read for outcome in piece.outcomes)
            if heard is not None:
                heard(documents, read)
            yield piece
            counted.append(piece._replace(statistics=None, counts=None))

    return joined_counts(arriving()), counted


class Scoring(NamedTuple):
    """A model, and how the documents are read that it scores."""

    model: ScoringModel
    reading: Reading
    labelled: bool
    columns: Sequence[str] = ()
    on_error: str = "record"
    """What to do with documents that cannot be read: ``record`` has them scored as empty ones, with their problem."""


class Scored(NamedTuple):
    """Some consecutive documents with their scores, what else there is to report of them, and what ended the reading after them, if anything did."""

    block: ScoredBlock | None
    outcome: Outcome
    failure: DocumentError | PathError | None = None


def score_shards(
    scoring: Scoring, shards: Iterable[Shard], jobs: int, report: Callable[[Outcome], object], heard: Heard | None = None
) -> Iterator[ScoredBlock]:
    """Yield all documents in order, scored by ``jobs`` other processes, or by this one if ``jobs`` is 1.

    ``report`` is called with the outcome of each block before that is yielded. Raises what ended the reading, after the documents before it.
    """
    documents = read = 0
    elsewhere = in_order(_score_shard, scoring, shards, jobs, is_ours=_may_be_large) if jobs > 1 else ((shard, None) for shard in shards)
    for shard, done in elsewhere:
        for block, outcome, failure in _score(scoring, shard, _beyond(heard, documents, read)) if done is None else done:
            documents, read = documents + outcome.documents, read + outcome.read
            if heard is not None:
                heard(documents, read)
            report(outcome)
            if block is not None:
                yield block
            if failure is not None:
                raise failure


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
    outcomes = [Outcome()]
    failures: list[DocumentError | PathError] = []
    documents = _documents(scoring, shard, outcomes, failures)
    for block in scored(scoring.model, documents if heard is None else paced(documents, heard)):
        outcome = outcomes.pop()
        outcomes.append(Outcome())
        outcome.documents, outcome.read = len(block.documents), bytes_read() - begin
        begin += outcome.read
        yield Scored(block, outcome)
    yield Scored(None, outcomes.pop(), failures[0] if failures else None)


def _documents(scoring: Scoring, shard: Shard, outcomes: list[Outcome], failures: list[DocumentError | PathError]) -> Iterator[Document]:
    """Yield the documents of a shard; what is noticed of them goes to the last of the outcomes."""
    notices = Notices()
    source = source_of(scoring.reading, notices, labelled=scoring.labelled, columns=scoring.columns)
    try:
        for document in read_shard(shard, source):
            if document.problem is None or scoring.on_error == "record":
                yield document
            else:
                outcomes[-1].fail(document.id, document.problem, at_once=scoring.on_error == "fail")
    except (DocumentError, PathError) as problem:
        failures.append(problem)
    outcomes[-1].notices.add(notices)
