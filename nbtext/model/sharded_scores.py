"""Scoring a corpus in shards, by this process or several: the documents in their order with what the model says of them.

In the last bits a score may depend on which documents are scored with it. Shards are cut without regard to the number of processes, and no
block goes beyond a shard, so that results do not depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.corpus.document import Notices
from nbtext.corpus.reading import Names, read_shard, source_of
from nbtext.corpus.streams import bytes_read
from nbtext.errors import DocumentError, PathError
from nbtext.model.answers import ScoredBlock, scored
from nbtext.model.sharded import Outcome, put_right, put_right_failure
from nbtext.parallel.processes import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nbtext.corpus.document import Document
    from nbtext.corpus.reading import Shard
    from nbtext.model.text_classifier import TextClassifier


class Scoring(NamedTuple):
    """A model, and how the documents are read that it scores."""

    model: TextClassifier
    reading: Mapping[str, Any]
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
    total = Total(heard)
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


class Total:
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


def _scored(of: Scoring, shard: Shard, total: Total | None = None) -> Iterator[Scored]:
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
