"""The work of a corpus shared out: labelled documents to counts, documents to scores, with the results and messages of a single process.

This process does it, several do, or a cluster.

Counts add exactly, so the sum does not depend on who counted what. What is reported of single documents is put back into the order of the shards. In the
last bits a score may depend on which documents are scored with it: shards are cut without regard to the number of processes, and no block of documents goes
beyond a shard.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import chain, islice
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from nbtext.compatibility import CLUSTER, PATCH, require_fitting
from nbtext.corpus.collection import Outcome, number_of, paced
from nbtext.corpus.document import WHOLE_FILE
from nbtext.corpus.reading import read_shard
from nbtext.corpus.shards import BYTES_HERE, Shard
from nbtext.corpus.streams import bytes_read, can_be_read_here_only
from nbtext.counts.counting import Analysis, count
from nbtext.errors import DocumentError, NbtextError, NoDocumentsError, PathError, UsageError
from nbtext.ragged import BLOCK_DOCUMENTS, LabelledBlock
from nbtext.scoring import ScoredBlock, scored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtext.corpus.collection import Corpus, Heard
    from nbtext.corpus.document import Document, Source
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.parallel.processes import Share

    Note = Callable[[Document], Any]
    NumberedShard = tuple[int, Shard]
    """With its place in the corpus."""
    from nbtext.fitted_model import FittedModel

Item = TypeVar("Item")

WORTH_COUNTING = 3
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
    note: Note | None = None
    """Returns what is to be kept of each document, if all are to be kept as counts, with their names."""


class PartialCounts(NamedTuple):
    """What one process counted; nothing if there was no document or if it failed, which the last outcome says."""

    outcomes: list[Outcome]
    counts: CorpusCounts | None = None


BEGINNING = 70
"""Characters of a text that show what it is about."""


def beginning_of(document: Document) -> str:
    """Note the beginning of a document, on one line."""
    return " ".join(document.shown[: 8 * BEGINNING].split())[:BEGINNING].rstrip()


def columns_of(document: Document) -> tuple[str, ...]:
    """Note the further columns of a document."""
    return document.columns


def count_corpus(
    analysis: Analysis,
    corpus: Corpus,
    jobs: int = 1,
    scheduler: str | None = None,
    note: Note | None = None,
) -> CountedCorpus:
    """Count a labelled corpus, in so many processes or on a cluster; with ``note`` keep all documents, with their names and what it returns for each.

    Raises `NoDocumentsError` if there is not one document, `UsageError` for what a cluster cannot do, and what reading raises.
    """
    with corpus.watched() as heard:
        counts, outcomes = joined_pieces(
            _count_here(analysis, corpus, jobs, note, heard)
            if scheduler is None
            else _count_on_cluster(analysis, corpus, scheduler, heard)
        )
    for outcome in outcomes:
        corpus.report(outcome)
        if outcome.failure is not None:
            raise outcome.failure
    corpus.require_readable()
    if counts is None:
        raise NoDocumentsError
    names, notes = (
        list(chain.from_iterable(getattr(outcome, name) for outcome in outcomes))
        for name in ("names", "notes")
    )
    return CountedCorpus(counts, names, notes)


def _count_here(
    analysis: Analysis, corpus: Corpus, jobs: int, note: Note | None, heard: Heard | None
) -> list[PartialCounts]:
    from nbtext.parallel.processes import cores, side_by_side

    jobs = 1 if any(map(can_be_read_here_only, corpus.paths)) else jobs or cores()
    of_corpus, source = corpus.whole()
    if jobs > 1:
        of_corpus, of_shards = corpus.in_shards()
        beginning = list(islice(of_corpus, WORTH_COUNTING * min(jobs, MOST_LOOKED_AT)))
        worthwhile = len(beginning) // WORTH_COUNTING
        jobs = jobs if worthwhile == min(jobs, MOST_LOOKED_AT) else worthwhile
        of_corpus, source = (chain(beginning, of_corpus), of_shards) if jobs > 1 else corpus.whole()
    return side_by_side(
        count_shards, Counting(source, analysis, note), enumerate(of_corpus), max(jobs, 1), heard
    )


def _count_on_cluster(
    analysis: Analysis, corpus: Corpus, scheduler: str, heard: Heard | None
) -> Iterator[PartialCounts]:
    from nbtext.parallel.cluster import cluster, on_cluster

    rows = [CLUSTER] if corpus.patch is None else [CLUSTER, PATCH]
    require_fitting(analysis.settings, *rows)
    if STDIN in corpus.paths:
        raise UsageError(
            "standard input cannot be read by a cluster",
            hint="give files that its workers can read",
        )
    of_corpus, source = corpus.in_shards(here=False)
    documents = read = 0
    with cluster(scheduler) as workers:
        for piece in on_cluster(
            workers,
            count_shards,
            Counting(source, analysis),
            enumerate(shard.absolute() for shard in of_corpus),
        ):
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
        return PartialCounts(
            outcomes, count(documents, counting.analysis, keep_all=counting.note is not None)
        )
    except NoDocumentsError:
        return PartialCounts(outcomes)
    except (NbtextError, MemoryError) as problem:
        share.withdraw()
        if not outcomes:
            outcomes.append(Outcome(-1))
        outcomes[-1].failure = problem
        return PartialCounts(outcomes)


def _documents(
    counting: Counting, share: Share[NumberedShard], outcomes: list[Outcome]
) -> Iterator[Document | LabelledBlock]:
    for number, shard in share:
        outcome = Outcome(number)
        outcomes.append(outcome)
        before = bytes_read()
        for item in read_shard(
            shard, replace(outcome.reported(counting.source), blocks=counting.note is None)
        ):
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
        shard = np.repeat(
            [outcome.number for outcome in outcomes], [outcome.documents for outcome in outcomes]
        )
        counts = replace(counts, documents=counts.documents.rows(np.argsort(shard, kind="stable")))
    return counts, sorted(outcomes, key=lambda outcome: outcome.number)


def tree_sum(items: Iterable[Item], join: Callable[[Item, Item], Item]) -> Item | None:
    """Join items in their order; None if there are none.

    Sums of equally many items are joined, so that each item goes through few sums, and few sums are in memory at once.
    """
    sums: list[tuple[int, Item]] = []  # each after its level n: the sum of 2 ** n items
    for item in items:
        level = 0
        total = item
        while sums and sums[-1][0] == level:
            level = level + 1
            total = join(sums.pop()[1], total)
        sums.append((level, total))
    return (
        reduce(lambda later, earlier: join(earlier, later), [total for _, total in reversed(sums)])
        if sums
        else None
    )


WORTH_SCORING = 3
"""Shards for each process; with fewer its start takes longer than it saves."""

SCORES = 1 << 28
"""Bytes of text times classes of such a shard at most, so that many classes do not fill the memory."""

MOST_CLASSES = 1 << 14
"""With more classes there is too little text in a shard to send it anywhere."""


def score_corpus(
    model: FittedModel, corpus: Corpus, jobs: int = 1, at_once: int = BLOCK_DOCUMENTS
) -> Iterator[ScoredBlock]:
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
            for block in score_shards(
                Scoring(model, source), chain(beginning, of_corpus), processes, corpus.report, heard
            ):
                begun = True
                yield block
        corpus.require_readable()
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
    scoring: Scoring,
    shards: Iterable[Shard],
    jobs: int,
    report: Callable[[Outcome], object],
    heard: Heard | None = None,
) -> Iterator[ScoredBlock]:
    """Yield all documents in order, scored by ``jobs`` other processes, or by this one if ``jobs`` is 1.

    ``report`` is called with the outcome of each block before that is yielded. Raises what ended the reading, after the documents before it.
    """
    documents = read = 0
    tasks: Iterable[tuple[Shard, Iterable[Scored] | None]] = ((shard, None) for shard in shards)
    if jobs != 1:
        from nbtext.parallel.processes import in_order

        # scores of a whole file or stream are not to be kept until all are there
        tasks = in_order(
            _score_shard,
            scoring,
            shards,
            jobs,
            is_ours=lambda shard: shard.part == WHOLE_FILE and shard.files is None,
        )
    for shard, done in tasks:
        for block, outcome in (
            _score(scoring, shard, _beyond(heard, documents, read)) if done is None else done
        ):
            documents = documents + outcome.documents
            read = read + outcome.read
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


def _score_shard(scoring: Scoring, shard: Shard) -> list[Scored]:
    return list(_score(scoring, shard, None))


def _score(scoring: Scoring, shard: Shard, heard: Heard | None) -> Iterator[Scored]:
    begin = bytes_read()
    rest = Outcome()  # what is not yet passed on with a block

    documents = read_shard(shard, rest.reported(scoring.source))
    try:
        for block in scored(scoring.model, documents if heard is None else paced(documents, heard)):
            read = bytes_read() - begin
            begin = bytes_read()
            unreadable = sum(document.problem is not None for document in block.documents)
            outcome = Outcome(
                documents=len(block.documents),
                unreadable=unreadable,
                read=read,
                problems=rest.problems,
            )
            yield Scored(block, outcome)
            rest.problems = []
    except (DocumentError, PathError) as problem:
        rest.failure = problem
    yield Scored(None, rest)
