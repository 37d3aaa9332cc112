"""Counting a corpus in shards, as several processes do it: what each gets, what it gives back, and how that becomes one whole.

Counts add exactly, so who counted what does not show in the sum. What is said of single documents is put back into the order of the shards.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.corpus.document import Notices
from nbtext.corpus.reading import Names, read_shard, source_of
from nbtext.corpus.streams import bytes_read
from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.counting import count_corpus, count_documents
from nbtext.counts.documents import CountedDocuments
from nbtext.errors import DocumentError, NbtextError
from nbtext.parallel.processes import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nbtext.corpus.document import Document
    from nbtext.corpus.reading import Shard
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.parallel.processes import Share

SHOWN = 10
"""Documents of a shard of which it is kept why they could not be read; of the others, how many they are."""


class Counting(NamedTuple):
    """A labelled corpus in shards, and how it is read and counted."""

    shards: Sequence[Shard]
    parameters: Mapping[str, Any]
    stop_list: Sequence[str]
    reading: Mapping[str, Any]
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
            return Piece(*count_documents(chain([first], labelled), of.parameters, of.stop_list, of.reading), outcomes)
        counts = count_corpus(chain([first], labelled), of.parameters, of.stop_list, of.reading)
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
