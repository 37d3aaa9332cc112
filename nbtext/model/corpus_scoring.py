"""A corpus as scores: by this process or by several, in the order of its documents, with the messages of a single process.

In the last bits a score may depend on which documents are scored with it: shards are cut without regard to the number of processes, and no block
of documents goes beyond a shard.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus.collection import Outcome, paced
from nbtext.corpus.parts import BYTES_HERE, Shard
from nbtext.corpus.reading import read_shard
from nbtext.corpus.streams import bytes_read, can_be_read_here_only
from nbtext.errors import DocumentError, PathError
from nbtext.fitted.scoring import ScoredBlock, scored
from nbtext.ragged import BLOCK_DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtext.corpus.collection import Corpus, Heard
    from nbtext.corpus.document import Source
    from nbtext.fitted.fitted_model import FittedModel

WORTH_SCORING = 3
"""Shards for each process; with fewer its start takes longer than it saves."""

SCORES = 1 << 28
"""Bytes of text times classes of such a shard at most, so that many classes do not fill the memory."""

MOST_CLASSES = 1 << 14
"""With more classes there is too little text in a shard to send it anywhere."""


def score_corpus(model: FittedModel, corpus: Corpus, jobs: int = 1, at_once: int = BLOCK_DOCUMENTS) -> Iterator[ScoredBlock]:
    """Yield the documents of a corpus in order with their scores, by so many processes: if labelled those that can be read, else all.

    What ends the reading of a corpus without labels early is kept for `Corpus.finish`.
    """
    if any(map(can_be_read_here_only, corpus.paths)) or len(model.classes) > MOST_CLASSES:
        yield from scored(model, corpus.readable() if corpus.labelled else corpus, at_once)
        return
    of_corpus, source = corpus.in_shards(min(BYTES_HERE, SCORES // len(model.classes)))
    beginning = list(islice(of_corpus, 2 * WORTH_SCORING))
    processes = jobs if len(beginning) == 2 * WORTH_SCORING else 1
    begun = False
    try:
        with corpus.watched() as heard:
            for block in score_shards(Scoring(model, source), chain(beginning, of_corpus), processes, corpus.report, heard):
                begun = True
                yield block
    except (DocumentError, PathError) as problem:
        corpus.break_off(problem, begun=begun and not corpus.labelled)


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
