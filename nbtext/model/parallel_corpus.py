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

from nbtext.compatibility import DASK_CLUSTER, RELABELLING, require_compatible_settings
from nbtext.corpus.collection import ShardReport, count_item_documents, report_progress
from nbtext.corpus.document import WHOLE_FILE
from nbtext.corpus.reading import read_shard
from nbtext.corpus.shards import SCORING_SHARD_BYTES, Shard
from nbtext.corpus.streams import count_bytes_read, is_bound_to_process
from nbtext.counts.counting import Analysis, count_labelled_documents
from nbtext.errors import DocumentError, NbtextError, NoDocumentsError, PathError, UsageError
from nbtext.ragged import BLOCK_DOCUMENTS, LabelledBlock
from nbtext.scoring import ScoredBlock, score_documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtext.corpus.collection import Corpus, ProgressCallback
    from nbtext.corpus.document import Document, ReaderOptions
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.parallel.processes import TaskBatch

    Note = Callable[[Document], Any]
    NumberedShard = tuple[int, Shard]
    """With its place in the corpus."""
    from nbtext.fitted_model import FittedModel

Item = TypeVar("Item")

MIN_COUNTING_SHARDS = 3
"""Shards for each process; with fewer its start and the sum of its counts take longer than it saves."""

MAX_PROBED_PROCESSES = 8
"""Processes for which shards are cut beforehand, to know whether they are worth it; with so many, all are."""

STDIN = "-"


class CountedCorpus(NamedTuple):
    """A corpus as counts, and with notes the name of each document and what was noted of it, in the order of the corpus."""

    counts: CorpusCounts
    names: list[str]
    notes: list[Any]


class CountingContext(NamedTuple):
    """How the shards of a labelled corpus are read and counted."""

    source: ReaderOptions
    analysis: Analysis
    note: Note | None = None
    """Returns what is to be kept of each document, if all are to be kept as counts, with their names."""


class PartialCounts(NamedTuple):
    """What one process counted; nothing if there was no document or if it failed, which the last outcome says."""

    outcomes: list[ShardReport]
    counts: CorpusCounts | None = None


EXCERPT_CHARS = 70
"""Characters of a text that show what it is about."""


def note_excerpt(document: Document) -> str:
    """Note the beginning of a document, on one line."""
    return " ".join(document.display_text[: 8 * EXCERPT_CHARS].split())[:EXCERPT_CHARS].rstrip()


def note_columns(document: Document) -> tuple[str, ...]:
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
    with corpus.watch_progress() as heard:
        counts, outcomes = join_partial_counts(
            _count_here(analysis, corpus, jobs, note, heard)
            if scheduler is None
            else _count_on_cluster(analysis, corpus, scheduler, heard)
        )
    for outcome in outcomes:
        corpus.add_report(outcome)
        if outcome.failure is not None:
            raise outcome.failure
    corpus.check_unreadable()
    if counts is None:
        raise NoDocumentsError
    names, notes = (
        list(chain.from_iterable(getattr(outcome, name) for outcome in outcomes))
        for name in ("names", "notes")
    )
    return CountedCorpus(counts, names, notes)


def _count_here(
    analysis: Analysis, corpus: Corpus, jobs: int, note: Note | None, heard: ProgressCallback | None
) -> list[PartialCounts]:
    from nbtext.parallel.processes import count_cores, run_parallel

    jobs = 1 if any(map(is_bound_to_process, corpus.paths)) else jobs or count_cores()
    of_corpus, source = corpus.list_whole_paths()
    if jobs > 1:
        of_corpus, of_shards = corpus.split_into_shards()
        beginning = list(islice(of_corpus, MIN_COUNTING_SHARDS * min(jobs, MAX_PROBED_PROCESSES)))
        worthwhile = len(beginning) // MIN_COUNTING_SHARDS
        jobs = jobs if worthwhile == min(jobs, MAX_PROBED_PROCESSES) else worthwhile
        of_corpus, source = (
            (chain(beginning, of_corpus), of_shards) if jobs > 1 else corpus.list_whole_paths()
        )
    return run_parallel(
        count_shards,
        CountingContext(source, analysis, note),
        enumerate(of_corpus),
        max(jobs, 1),
        heard,
    )


def _count_on_cluster(
    analysis: Analysis, corpus: Corpus, scheduler: str, heard: ProgressCallback | None
) -> Iterator[PartialCounts]:
    from nbtext.parallel.cluster import connect_cluster, run_on_cluster

    rows = [DASK_CLUSTER] if corpus.relabel is None else [DASK_CLUSTER, RELABELLING]
    require_compatible_settings(analysis.settings, *rows)
    if STDIN in corpus.paths:
        raise UsageError(
            "standard input cannot be read by a cluster",
            hint="give files that its workers can read",
        )
    of_corpus, source = corpus.split_into_shards(is_local=False)
    documents = read = 0
    with connect_cluster(scheduler) as workers:
        for piece in run_on_cluster(
            workers,
            count_shards,
            CountingContext(source, analysis),
            enumerate(shard.with_absolute_paths() for shard in of_corpus),
        ):
            documents += sum(outcome.n_documents for outcome in piece.outcomes)
            read += sum(outcome.n_bytes_read for outcome in piece.outcomes)
            if heard is not None:
                heard(documents, read)
            yield piece


def count_shards(counting: CountingContext, share: TaskBatch[NumberedShard]) -> PartialCounts:
    """Count the shards of a share, one after the other."""
    outcomes: list[ShardReport] = []
    documents = report_progress(_documents(counting, share, outcomes), share.report_progress_so_far)
    try:
        return PartialCounts(
            outcomes,
            count_labelled_documents(
                documents, counting.analysis, keep_all=counting.note is not None
            ),
        )
    except NoDocumentsError:
        return PartialCounts(outcomes)
    except (NbtextError, MemoryError) as problem:
        share.cancel_remaining()
        if not outcomes:
            outcomes.append(ShardReport(-1))
        outcomes[-1].failure = problem
        return PartialCounts(outcomes)


def _documents(
    counting: CountingContext, share: TaskBatch[NumberedShard], outcomes: list[ShardReport]
) -> Iterator[Document | LabelledBlock]:
    for number, shard in share:
        outcome = ShardReport(number)
        outcomes.append(outcome)
        before = count_bytes_read()
        for item in read_shard(
            shard,
            replace(
                outcome.redirect_reports(counting.source), accepts_blocks=counting.note is None
            ),
        ):
            outcome.n_documents += count_item_documents(item)
            if counting.note is not None:
                outcome.names.append(item.id)
                outcome.notes.append(counting.note(item))
            yield item
        outcome.n_bytes_read = count_bytes_read() - before


def join_partial_counts(
    pieces: Iterable[PartialCounts],
) -> tuple[CorpusCounts | None, list[ShardReport]]:
    """Return the counts of all pieces together, None if there were no documents or one failed, and all outcomes; both in the order of the shards."""
    outcomes: list[ShardReport] = []

    def counted() -> Iterator[CorpusCounts]:
        for piece in pieces:
            outcomes.extend(piece.outcomes)
            if piece.counts is not None:
                yield piece.counts

    counts = sum_pairwise(counted(), add)
    if any(outcome.failure for outcome in outcomes):
        counts = None
    if counts is not None and counts.documents:
        shard = np.repeat(
            [outcome.shard_index for outcome in outcomes],
            [outcome.n_documents for outcome in outcomes],
        )
        counts = replace(counts, documents=counts.documents.take(np.argsort(shard, kind="stable")))
    return counts, sorted(outcomes, key=lambda outcome: outcome.shard_index)


def sum_pairwise(items: Iterable[Item], join: Callable[[Item, Item], Item]) -> Item | None:
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


MIN_SCORING_SHARDS = 3
"""Shards for each process; with fewer its start takes longer than it saves."""

MAX_SHARD_BYTES_TIMES_CLASSES = 1 << 28
"""Bytes of text times classes of such a shard at most, so that many classes do not fill the memory."""

MAX_PARALLEL_CLASSES = 1 << 14
"""With more classes there is too little text in a shard to send it anywhere."""


def score_corpus(
    model: FittedModel, corpus: Corpus, jobs: int = 1, block_size: int = BLOCK_DOCUMENTS
) -> Iterator[ScoredBlock]:
    """Yield the documents of a corpus in order with their scores, by so many processes: if labelled those that can be read, else all.

    What ends the reading of a corpus without labels early is kept for `Corpus.finish_messages`.
    """
    if any(map(is_bound_to_process, corpus.paths)) or len(model.classes) > MAX_PARALLEL_CLASSES:
        yield from score_documents(
            model, corpus.iter_readable() if corpus.labelled else corpus, block_size
        )
        return
    of_corpus, source = corpus.split_into_shards(
        min(SCORING_SHARD_BYTES, MAX_SHARD_BYTES_TIMES_CLASSES // len(model.classes))
    )
    beginning = list(islice(of_corpus, 2 * MIN_SCORING_SHARDS))
    processes = jobs if len(beginning) == 2 * MIN_SCORING_SHARDS else 1
    begun = False
    try:
        with corpus.watch_progress() as heard:
            for block in score_shards(
                ScoringContext(model, source),
                chain(beginning, of_corpus),
                processes,
                corpus.add_report,
                heard,
            ):
                begun = True
                yield block
        corpus.check_unreadable()
    except (DocumentError, PathError) as problem:
        corpus.defer_error(problem, has_yielded=begun and not corpus.labelled)


class ScoringContext(NamedTuple):
    """A model, and how the documents are read that it scores. One that cannot be read and is kept is scored as an empty one."""

    model: FittedModel
    source: ReaderOptions


class ScoredPiece(NamedTuple):
    """Some consecutive documents with their scores, and what else there is to report of them."""

    block: ScoredBlock | None
    outcome: ShardReport


def score_shards(
    scoring: ScoringContext,
    shards: Iterable[Shard],
    jobs: int,
    report: Callable[[ShardReport], object],
    on_progress: ProgressCallback | None = None,
) -> Iterator[ScoredBlock]:
    """Yield all documents in order, scored by ``jobs`` other processes, or by this one if ``jobs`` is 1.

    ``report`` is called with the outcome of each block before that is yielded. Raises what ended the reading, after the documents before it.
    """
    documents = read = 0
    tasks: Iterable[tuple[Shard, Iterable[ScoredPiece] | None]] = (
        (shard, None) for shard in shards
    )
    if jobs != 1:
        from nbtext.parallel.processes import run_in_order

        # scores of a whole file or stream are not to be kept until all are there
        tasks = run_in_order(
            _score_shard,
            scoring,
            shards,
            jobs,
            is_local=lambda shard: shard.byte_range == WHOLE_FILE and shard.files is None,
        )
    for shard, done in tasks:
        for block, outcome in (
            _score(scoring, shard, _beyond(on_progress, documents, read)) if done is None else done
        ):
            documents = documents + outcome.n_documents
            read = read + outcome.n_bytes_read
            if on_progress is not None:
                on_progress(documents, read)
            report(outcome)
            if block is not None:
                yield block
            if outcome.failure is not None:
                raise outcome.failure


def _beyond(heard: ProgressCallback | None, documents: int, read: int) -> ProgressCallback | None:
    """Return what is to be told of further documents and bytes."""
    return heard and (lambda seen, n_bytes: heard(documents + seen, read + n_bytes))


def _score_shard(scoring: ScoringContext, shard: Shard) -> list[ScoredPiece]:
    return list(_score(scoring, shard, None))


def _score(
    scoring: ScoringContext, shard: Shard, heard: ProgressCallback | None
) -> Iterator[ScoredPiece]:
    begin = count_bytes_read()
    rest = ShardReport()  # what is not yet passed on with a block

    documents = read_shard(shard, rest.redirect_reports(scoring.source))
    try:
        for block in score_documents(
            scoring.model, documents if heard is None else report_progress(documents, heard)
        ):
            read = count_bytes_read() - begin
            begin = count_bytes_read()
            unreadable = sum(document.problem is not None for document in block.documents)
            outcome = ShardReport(
                n_documents=len(block.documents),
                n_unreadable=unreadable,
                n_bytes_read=read,
                problems=rest.problems,
            )
            yield ScoredPiece(block, outcome)
            rest.problems = []
    except (DocumentError, PathError) as problem:
        rest.failure = problem
    yield ScoredPiece(None, rest)
