"""Count or score a corpus in one process, in several processes, or on a cluster.

A shard is a part of a corpus that one process reads. Results and messages are the same for any
number of processes: shards are cut independently of it, counts add exactly, and reports about
documents are put back into the order of the shards. No block of documents crosses a shard, because
the last bits of a score may depend on the documents that are scored together.

A note is a value that a function computes from a document while the document is counted.
"""

from __future__ import annotations

from dataclasses import replace
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
    from nbtext.fitted_model import FittedModel
    from nbtext.parallel.processes import TaskBatch

    Note = Callable[[Document], Any]
    NumberedShard = tuple[int, Shard]
    """Index of a shard in the corpus, and the shard."""

Item = TypeVar("Item")

MIN_COUNTING_SHARDS = 3
"""A counting process saves more time than it costs if it has at least this many shards."""

MAX_PROBED_PROCESSES = 8
"""Limit of processes for which the first shards are listed before counting starts."""

STDIN = "-"
"""Path that means standard input."""


class CountedCorpus(NamedTuple):
    """Counts of a corpus, and the names and notes of its documents."""

    counts: CorpusCounts
    names: list[str]
    """Name of each document, in order; empty if no notes were requested."""
    notes: list[Any]
    """Note of each document, in order; empty if no notes were requested."""


class CountingContext(NamedTuple):
    """How to read and count the shards of a labelled corpus."""

    source: ReaderOptions
    analysis: Analysis
    note: Note | None = None
    """Function that returns the note of a document, or None to count without notes.

    With notes, the counts and the name of each document are stored too.
    """


class PartialCounts(NamedTuple):
    """Counts of one process."""

    reports: list[ShardReport]
    """A report of each shard. If the process failed, the last report contains the failure."""
    counts: CorpusCounts | None = None
    """None if there was no document, or if the process failed."""


EXCERPT_CHARS = 70
"""Length of the start of a text that shows what the text is about."""


def note_excerpt(document: Document) -> str:
    """Return the start of a document's text in one line, as a note."""
    start = document.display_text[: 8 * EXCERPT_CHARS]  # longer, as white space is reduced
    return " ".join(start.split())[:EXCERPT_CHARS].rstrip()


def note_columns(document: Document) -> tuple[str, ...]:
    """Return the extra columns of a document, as a note."""
    return document.columns


def count_corpus(
    analysis: Analysis,
    corpus: Corpus,
    jobs: int = 1,
    scheduler: str | None = None,
    note: Note | None = None,
) -> CountedCorpus:
    """Count a labelled corpus in ``jobs`` processes (0: one per processor), or on a cluster.

    With ``note``, also return the counts, the name and the note of each document. A cluster ignores
    ``note``. Raise `NoDocumentsError` if the corpus has no documents, `UsageError` for options that
    a cluster does not support, and the errors of reading.
    """
    with corpus.watch_progress() as on_progress:
        if scheduler is None:
            partial_counts: Iterable[PartialCounts] = _count_locally(
                analysis, corpus, jobs, note, on_progress
            )
        else:
            partial_counts = _count_on_cluster(analysis, corpus, scheduler, on_progress)
        counts, reports = join_partial_counts(partial_counts)
    for report in reports:
        corpus.add_report(report)
        if report.failure is not None:
            raise report.failure
    corpus.check_unreadable()
    if counts is None:
        raise NoDocumentsError
    names = [name for report in reports for name in report.names]
    notes = [value for report in reports for value in report.notes]
    return CountedCorpus(counts, names, notes)


def _count_locally(
    analysis: Analysis,
    corpus: Corpus,
    jobs: int,
    note: Note | None,
    on_progress: ProgressCallback | None,
) -> list[PartialCounts]:
    """Return the counts of each process, or only of this process if the corpus is small."""
    from nbtext.parallel.processes import count_cores, run_parallel

    n_processes = jobs or count_cores()
    if any(map(is_bound_to_process, corpus.paths)):
        n_processes = 1
    if n_processes > 1:
        shards, source = corpus.split_into_shards()
        n_probed = min(n_processes, MAX_PROBED_PROCESSES)
        first_shards = list(islice(shards, MIN_COUNTING_SHARDS * n_probed))
        shards = chain(first_shards, shards)
        n_worthwhile = len(first_shards) // MIN_COUNTING_SHARDS
        if n_worthwhile < n_probed:  # these are all shards of a small corpus
            n_processes = max(n_worthwhile, 1)
    if n_processes == 1:
        shards, source = corpus.list_whole_paths()
    context = CountingContext(source, analysis, note)
    return run_parallel(count_shards, context, enumerate(shards), n_processes, on_progress)


def _count_on_cluster(
    analysis: Analysis, corpus: Corpus, scheduler: str, on_progress: ProgressCallback | None
) -> Iterator[PartialCounts]:
    """Yield the counts of each batch of shards, as soon as a worker returns them."""
    from nbtext.parallel.cluster import connect_cluster, run_on_cluster

    requests = [DASK_CLUSTER]
    if corpus.relabel is not None:
        requests.append(RELABELLING)
    require_compatible_settings(analysis.settings, *requests)
    if STDIN in corpus.paths:
        raise UsageError(
            "standard input cannot be read by a cluster",
            hint="use files that its workers can read",
        )
    shards, source = corpus.split_into_shards(is_local=False)
    numbered_shards = enumerate(shard.with_absolute_paths() for shard in shards)
    context = CountingContext(source, analysis)
    n_documents = 0
    n_bytes = 0
    with connect_cluster(scheduler) as workers:
        for partial_counts in run_on_cluster(workers, count_shards, context, numbered_shards):
            n_documents += sum(report.n_documents for report in partial_counts.reports)
            n_bytes += sum(report.n_bytes_read for report in partial_counts.reports)
            if on_progress is not None:
                on_progress(n_documents, n_bytes)
            yield partial_counts


def count_shards(context: CountingContext, batch: TaskBatch[NumberedShard]) -> PartialCounts:
    """Count the shards of a batch in order."""
    reports: list[ShardReport] = []  # filled while the documents are read
    documents = report_progress(_read_shards(context, batch, reports), batch.report_progress_so_far)
    try:
        counts = count_labelled_documents(
            documents, context.analysis, keep_all=context.note is not None
        )
    except NoDocumentsError:
        return PartialCounts(reports)
    except (NbtextError, MemoryError) as problem:
        batch.cancel_remaining()
        if not reports:
            reports.append(ShardReport(shard_index=-1))  # a failure before shard 0
        reports[-1].failure = problem
        return PartialCounts(reports)
    return PartialCounts(reports, counts)


def _read_shards(
    context: CountingContext, batch: TaskBatch[NumberedShard], reports: list[ShardReport]
) -> Iterator[Document | LabelledBlock]:
    """Yield the documents of the shards, and append a report of each shard to ``reports``."""
    for shard_index, shard in batch:
        report = ShardReport(shard_index)
        reports.append(report)
        n_bytes_before = count_bytes_read()
        options = replace(
            report.redirect_reports(context.source), accepts_blocks=context.note is None
        )
        for item in read_shard(shard, options):
            report.n_documents += count_item_documents(item)
            if context.note is not None:
                report.names.append(item.id)
                report.notes.append(context.note(item))
            yield item
        report.n_bytes_read = count_bytes_read() - n_bytes_before


def join_partial_counts(
    partial_counts: Iterable[PartialCounts],
) -> tuple[CorpusCounts | None, list[ShardReport]]:
    """Return the sum of all counts, and all reports.

    The documents of the sum and the reports are in the order of the shards. The sum is None if
    there were no documents or a process failed.
    """
    reports: list[ShardReport] = []

    def iter_counts() -> Iterator[CorpusCounts]:
        """Yield the counts one by one, and collect the reports."""
        for partial in partial_counts:
            reports.extend(partial.reports)
            if partial.counts is not None:
                yield partial.counts

    counts = sum_pairwise(iter_counts(), add)
    if any(report.failure for report in reports):
        counts = None
    if counts is not None and counts.documents:
        shard_indices = np.repeat(
            [report.shard_index for report in reports], [report.n_documents for report in reports]
        )
        order = np.argsort(shard_indices, kind="stable")
        counts = replace(counts, documents=counts.documents.take(order))
    return counts, sorted(reports, key=lambda report: report.shard_index)


def sum_pairwise(items: Iterable[Item], join: Callable[[Item, Item], Item]) -> Item | None:
    """Return the join of all items in their order, or None without items.

    Only sums of equally many items are joined, except at the end. So each item takes part in few
    joins, and few sums are in memory at once.
    """
    sums: list[Item] = []
    sizes: list[int] = []  # number of items in each sum: decreasing powers of 2
    for item in items:
        total = item
        size = 1
        while sizes and sizes[-1] == size:
            total = join(sums.pop(), total)
            size += sizes.pop()
        sums.append(total)
        sizes.append(size)
    if not sums:
        return None
    total = sums.pop()
    while sums:
        total = join(sums.pop(), total)
    return total


MIN_SCORING_SHARDS = 3
"""A scoring process saves more time than it costs if it has at least this many shards."""

MAX_SHARD_BYTES_TIMES_CLASSES = 1 << 28
"""Limit of a shard's bytes of text times classes, so that the scores fit into memory."""

MAX_PARALLEL_CLASSES = 1 << 14
"""With more classes, shards have too little text to be worth other processes."""


def score_corpus(
    model: FittedModel, corpus: Corpus, jobs: int = 1, block_size: int = BLOCK_DOCUMENTS
) -> Iterator[ScoredBlock]:
    """Yield the documents of a corpus in order with their scores, computed by ``jobs`` processes.

    In a labelled corpus unreadable documents are skipped. In other corpora, an error that ends the
    reading early is stored for `Corpus.raise_deferred`.
    """
    is_serial = any(map(is_bound_to_process, corpus.paths))
    if is_serial or len(model.classes) > MAX_PARALLEL_CLASSES:
        documents = corpus.iter_readable() if corpus.labelled else corpus
        yield from score_documents(model, documents, block_size)
        return

    max_shard_bytes = MAX_SHARD_BYTES_TIMES_CLASSES // len(model.classes)
    shards, source = corpus.split_into_shards(min(SCORING_SHARD_BYTES, max_shard_bytes))
    min_shards = 2 * MIN_SCORING_SHARDS  # for two processes
    first_shards = list(islice(shards, min_shards))
    if len(first_shards) < min_shards:
        jobs = 1
    has_yielded = False
    try:
        with corpus.watch_progress() as on_progress:
            for block in score_shards(
                ScoringContext(model, source),
                chain(first_shards, shards),
                jobs,
                corpus.add_report,
                on_progress,
            ):
                has_yielded = True
                yield block
        corpus.check_unreadable()
    except (DocumentError, PathError) as problem:
        if corpus.labelled:
            raise
        corpus.defer_error(problem, has_yielded=has_yielded)


class ScoringContext(NamedTuple):
    """A model, and how to read the documents that it scores.

    Unreadable documents that are not skipped are scored as empty documents.
    """

    model: FittedModel
    source: ReaderOptions


class ScoredPiece(NamedTuple):
    """Scores of consecutive documents of a shard, and a report of reading them.

    The last piece of a shard has no scores.
    """

    block: ScoredBlock | None
    report: ShardReport
    """About the documents of the block. The last report is about the remaining reading."""


def score_shards(
    context: ScoringContext,
    shards: Iterable[Shard],
    jobs: int,
    report: Callable[[ShardReport], object],
    on_progress: ProgressCallback | None = None,
) -> Iterator[ScoredBlock]:
    """Yield all documents in order, scored by ``jobs`` other processes, or by this process if 1.

    ``report`` is called with the report of each block before the block is yielded. If an error ends
    the reading, it is raised after the previous documents are yielded.
    """
    n_documents = 0
    n_bytes = 0
    for shard, scored_pieces in _score_in_processes(context, shards, jobs):
        pieces = scored_pieces
        if pieces is None:
            shard_progress = _add_to_progress(on_progress, n_documents, n_bytes)
            pieces = _iter_pieces(context, shard, shard_progress)
        for block, piece_report in pieces:
            n_documents += piece_report.n_documents
            n_bytes += piece_report.n_bytes_read
            if on_progress is not None:
                on_progress(n_documents, n_bytes)
            report(piece_report)
            if block is not None:
                yield block
            if piece_report.failure is not None:
                raise piece_report.failure


def _score_in_processes(
    context: ScoringContext, shards: Iterable[Shard], jobs: int
) -> Iterable[tuple[Shard, Iterable[ScoredPiece] | None]]:
    """Return each shard with its scores from another process.

    The scores are None for a shard that this process must score. If ``jobs`` is 1, it scores all
    shards, otherwise whole files and streams, whose scores should not be in memory all at once.
    """
    if jobs == 1:  # `run_in_order` would do the same, but its import takes time
        return ((shard, None) for shard in shards)
    from nbtext.parallel.processes import run_in_order

    return run_in_order(
        _score_shard,
        context,
        shards,
        jobs,
        is_local=lambda shard: shard.byte_range == WHOLE_FILE and shard.files is None,
    )


def _add_to_progress(
    on_progress: ProgressCallback | None, n_documents: int, n_bytes: int
) -> ProgressCallback | None:
    """Return a callback for one shard that adds the given numbers of earlier shards."""
    if on_progress is None:
        return None
    return lambda documents, size: on_progress(n_documents + documents, n_bytes + size)


def _score_shard(context: ScoringContext, shard: Shard) -> list[ScoredPiece]:
    return list(_iter_pieces(context, shard, None))


def _iter_pieces(
    context: ScoringContext, shard: Shard, on_progress: ProgressCallback | None
) -> Iterator[ScoredPiece]:
    """Yield the scored blocks of a shard with their reports, and finally the remaining report."""
    n_bytes_before = count_bytes_read()
    remaining = ShardReport()  # gets the problems that no piece has reported yet
    documents = read_shard(shard, remaining.redirect_reports(context.source))
    if on_progress is not None:
        documents = report_progress(documents, on_progress)
    try:
        for block in score_documents(context.model, documents):
            n_bytes_now = count_bytes_read()
            report = ShardReport(
                n_documents=len(block.documents),
                n_unreadable=sum(document.problem is not None for document in block.documents),
                n_bytes_read=n_bytes_now - n_bytes_before,
                problems=remaining.problems,
            )
            n_bytes_before = n_bytes_now
            remaining.problems = []
            yield ScoredPiece(block, report)
    except (DocumentError, PathError) as problem:
        remaining.failure = problem
    yield ScoredPiece(None, remaining)
