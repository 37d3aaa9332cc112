"""Counting a corpus in shards, as several processes do it: what each gets, what it gives back, and how that becomes one whole.

Counts add exactly, so who counted what does not show in the sum. What is said of single documents is put back into the order of the shards.


Counting a corpus on a cluster: runs of shards travel there as names, statistics come back and are added up as they come.

Sums of equally many runs are added to each other, so that each run's counts go through few sums and few sums are in memory at once.

Scoring a corpus in shards, by this process or several: the documents in their order with what the model says of them.

In the last bits a score may depend on which documents are scored with it. Shards are cut without regard to the number of processes, and no
block goes beyond a shard, so that results do not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.corpus.document import Notices
from nbtext.corpus.reading import Names, read_shard, source_of
from nbtext.corpus.streams import bytes_read
from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.counting import count_corpus, count_documents
from nbtext.counts.documents import CountedDocuments
from nbtext.errors import DocumentError, NbtextError, PathError
from nbtext.model.scoring import ScoredBlock, scored
from nbtext.parallel.processes import Pace, Share, Shares, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbtext.corpus.document import Document
    from nbtext.corpus.reading import Shard
    from nbtext.counts.counting import Analysis
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.parallel.cluster import Cluster
    from nbtext.settings import Reading


SHOWN = 10
"""Documents of a shard of which it is kept why they could not be read; of the others, how many they are."""


class Counting(NamedTuple):
    """A labelled corpus in shards, and how it is read and counted."""

    shards: Sequence[Shard]
    analysis: Analysis
    reading: Reading
    """As resolved for these documents."""
    columns: Sequence[str] = ()
    fail: bool = False
    """Whether a document that cannot be read ends everything."""
    note: Callable[[Document], Any] | None = None
    """What is to be noted of each document, if all are to be kept as counts, with their names, and not a sample."""


@dataclass
class Outcome:
    """What there is to tell of a shard beside its counts; names as `nbtext.corpus.reading.Names` puts right."""

    number: int
    notices: Notices = field(default_factory=Notices)
    documents: int = 0
    """Those that could be read."""
    read: int = 0
    """Bytes read for them, if they were read from a file of lines."""
    failed: int = 0
    problems: list[tuple[str, DocumentError]] = field(default_factory=list)
    """Of the first that could not."""
    names: list[str] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)
    """Of each document that could be read; empty unless asked for."""

    def fail(self, name: str, problem: DocumentError, *, at_once: bool) -> None:
        """Note that a document could not be read; raises its problem if that is to be done."""
        if at_once:
            raise DocumentError(problem.message, where=name, hint=problem.hint)
        self.failed += 1
        if len(self.problems) < SHOWN:
            self.problems.append((name, problem))


class Piece(NamedTuple):
    """What one process counted: nothing if there was no document or if it failed, and why it did."""

    statistics: ClassStatistics | None
    counts: CorpusCounts | CountedDocuments | None
    outcomes: list[Outcome]
    failure: BaseException | None = None
    """Of the last of the outcomes."""


def count_shards(of: Counting, share: Share) -> Piece:
    """Count the shards with the numbers in a share, one after the other."""
    outcomes: list[Outcome] = []
    labelled = _labelled(of, share, outcomes)
    try:
        first = next(labelled, None)
        if first is None:
            return Piece(None, None, outcomes)
        if of.note is not None:
            return Piece(*count_documents(chain([first], labelled), of.analysis), outcomes)
        counts = count_corpus(chain([first], labelled), of.analysis)
        return Piece(counts.statistics, counts, outcomes)
    except (NbtextError, MemoryError) as problem:
        share.withdraw()
        return Piece(None, None, outcomes, problem)


def _labelled(of: Counting, share: Share, outcomes: list[Outcome]) -> Iterator[tuple[str, bytes]]:
    begin, seen, pace = bytes_read(), 0, Pace()
    for number in share:
        outcome = Outcome(number)
        outcomes.append(outcome)
        before = bytes_read()
        source = source_of(of.reading, outcome.notices, labelled=True, columns=of.columns)
        for document in read_shard(of.shards[number], source):
            if document.problem is not None:
                outcome.fail(document.id, document.problem, at_once=of.fail)
                continue
            outcome.documents += 1
            if of.note is not None:
                outcome.names.append(document.id)
                outcome.notes.append(of.note(document))
            seen += 1
            if seen >= pace.due:
                share.report(seen, bytes_read() - begin)
                pace.reported()
            yield document.label or "", document.text
        outcome.read = bytes_read() - before
        share.report(seen, bytes_read() - begin)


def in_order(pieces: Sequence[Piece], shards: Sequence[Shard], notices: Notices) -> Iterator[Outcome]:
    """The outcomes of all shards in their order, names put right and notices passed on; raises the failure of the first that failed."""
    failures = {piece.outcomes[-1].number if piece.outcomes else -1: piece.failure for piece in pieces if piece.failure is not None}
    if -1 in failures:
        raise failures[-1]
    names = Names()
    for outcome in sorted((outcome for piece in pieces for outcome in piece.outcomes), key=lambda outcome: outcome.number):
        names.begin(shards[outcome.number])
        yield put_right(outcome, names, notices)
        if (failure := failures.get(outcome.number)) is not None:
            raise put_right_failure(failure, names)
        names.end(outcome.notices.line_ends)


def put_right(outcome: Outcome, names: Names, notices: Notices) -> Outcome:
    """The outcome of the next shard in order with names put right, its notices added to those of the whole."""
    outcome.problems = [(names.of(name), problem) for name, problem in outcome.problems]
    outcome.names = [names.of(name) for name in outcome.names]
    notices.transcoded += outcome.notices.transcoded
    notices.unlabelled += outcome.notices.unlabelled
    notices.warnings += outcome.notices.warnings
    return outcome


def put_right_failure(failure: BaseException, names: Names) -> BaseException:
    """What ended the reading of the present shard, with the name in it put right."""
    if isinstance(failure, NbtextError) and failure.where is not None:
        failure.where = names.of(failure.where)
    return failure


def joined_counts(pieces: Sequence[Piece]) -> CorpusCounts | None:
    """The counts of all pieces together; None if there were no documents."""
    joined: CorpusCounts | None = _as_tree(
        [piece.counts for piece in pieces if isinstance(piece.counts, CorpusCounts)], lambda one, other: one + other
    )
    return joined


def joined_documents(pieces: Sequence[Piece]) -> tuple[ClassStatistics, CountedDocuments] | None:
    """The statistics and documents of all pieces together, documents in the order of the shards; None if there are none."""
    full = [piece for piece in pieces if piece.statistics is not None]
    whole = _as_tree([(piece.statistics, piece.counts) for piece in full], _beside)
    if whole is None:
        return None
    statistics, documents = whole
    shard = np.repeat(
        [outcome.number for piece in full for outcome in piece.outcomes],
        [outcome.documents for piece in full for outcome in piece.outcomes],
    )
    return statistics, documents.rows(np.argsort(shard, kind="stable"))


def _beside(
    one: tuple[ClassStatistics, CountedDocuments], other: tuple[ClassStatistics, CountedDocuments]
) -> tuple[ClassStatistics, CountedDocuments]:
    statistics, mine, theirs = one[0].combined(other[0], 1)
    return statistics, CountedDocuments.joined((one[1].renumbered(mine), other[1].renumbered(theirs)))


def _as_tree(items: Sequence[Any], join: Callable[[Any, Any], Any]) -> Any:  # noqa: ANN401 - of the type of the items
    """All joined, neighbours first, so that each goes through few sums; None if there are none."""
    while len(items) > 1:
        items = [join(*items[place : place + 2]) if place + 1 < len(items) else items[place] for place in range(0, len(items), 2)]
    return items[0] if items else None


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
    total, told = SumOfCounts(), []
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


class SumOfCounts:
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


class Scoring(NamedTuple):
    """A model, and how the documents are read that it scores."""

    model: TextClassifier
    reading: Reading
    labelled: bool
    columns: Sequence[str] = ()
    on_error: str = "record"
    """What to do with documents that cannot be read: ``record`` has them scored as empty ones, with their problem."""


class Scored(NamedTuple):
    """Some consecutive documents with what the model says of them; what else there is to tell of them, and what ended the reading after them, if anything did."""

    block: ScoredBlock | None
    outcome: Outcome
    failure: DocumentError | PathError | None = None


def scored_in_shards(
    of: Scoring, shards: Iterable[Shard], notices: Notices, jobs: int, heard: Callable[[int, int], object] | None = None
) -> Iterator[Scored]:
    """All shards in order, names put right, by so many other processes if they are several; what comes with a failure is the last.

    ``heard`` is told the documents and bytes read.
    """
    names = Names()
    total = SumOfScored(heard)
    for shard, done in _elsewhere(of, shards, jobs) if jobs > 1 else ((shard, None) for shard in shards):
        names.begin(shard)
        line_ends = 0
        for block, outcome, failure in _scored(of, shard, total) if done is None else done:
            total.add(outcome)
            put_right(outcome, names, notices)
            line_ends += outcome.notices.line_ends
            renamed = block
            if block is not None and shard.part is not None and shard.part.start:
                renamed = block._replace(documents=[document._replace(id=names.of(document.id)) for document in block.documents])
            if failure is not None:
                put_right_failure(failure, names)
            yield Scored(renamed, outcome, failure)
            if failure is not None:
                return
        names.end(line_ends)


class SumOfScored:
    """How many documents and bytes have been read."""

    def __init__(self, heard: Callable[[int, int], object] | None) -> None:
        self._heard = heard
        self._documents = self._read = 0

    def add(self, outcome: Outcome) -> None:
        """Some documents and bytes more."""
        self._documents += outcome.documents
        self._read += outcome.read
        if self._heard is not None:
            self._heard(self._documents, self._read)

    def watched(self, documents: Iterator[Document]) -> Iterator[Document]:
        """The documents as they come, each told of before it is added."""
        if self._heard is None:
            yield from documents
            return
        before, begin, pace = self._documents, bytes_read() - self._read, Pace()
        for seen, document in enumerate(documents, 1):
            yield document
            if seen >= pace.due:
                self._heard(before + seen, bytes_read() - begin)
                pace.reported()


def _elsewhere(of: Scoring, shards: Iterable[Shard], jobs: int) -> Iterator[tuple[Shard, list[Scored] | None]]:
    from nbtext.parallel.processes import in_order

    return in_order(_scored_shard, of, shards, jobs, is_ours=_may_be_large)


def _may_be_large(shard: Shard) -> bool:
    """Whether it is a whole file or stream, whose scores are not to be kept until all are there."""
    return shard.part is None and shard.files is None


def _scored_shard(of: Scoring, shard: Shard) -> list[Scored]:
    return list(_scored(of, shard))


def _scored(of: Scoring, shard: Shard, total: SumOfScored | None = None) -> Iterator[Scored]:
    begin = bytes_read()
    outcomes = [Outcome(0)]
    ended: list[DocumentError | PathError] = []
    documents = _documents(of, shard, outcomes, ended)
    for block in scored(of.model, documents if total is None else total.watched(documents)):
        outcome = outcomes.pop()
        outcomes.append(Outcome(0))
        outcome.documents, outcome.read = len(block.documents), bytes_read() - begin
        begin += outcome.read
        yield Scored(block, outcome)
    yield Scored(None, outcomes.pop(), ended[0] if ended else None)


def _documents(of: Scoring, shard: Shard, outcomes: list[Outcome], ended: list[DocumentError | PathError]) -> Iterator[Document]:
    """The documents of a shard; what is noticed of them goes to the last of the outcomes."""
    notices = Notices()
    source = source_of(of.reading, notices, labelled=of.labelled, columns=of.columns)
    try:
        for document in read_shard(shard, source):
            if document.problem is None or of.on_error == "record":
                yield document
            else:
                outcomes[-1].fail(document.id, document.problem, at_once=of.on_error == "fail")
    except (DocumentError, PathError) as problem:
        ended.append(problem)
    outcomes[-1].notices = notices
