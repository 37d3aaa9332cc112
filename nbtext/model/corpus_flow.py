"""A corpus on its way through a model: its documents are read, counted and scored, by this process, by several, or on a cluster."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.attributes import KINDS, Attributes
from nbtext.corpus.document import Notices
from nbtext.corpus.extent import number_of_files, size_of_files
from nbtext.corpus.parts import BYTES, shards
from nbtext.corpus.reading import format_like, read_corpus, read_labelled, resolve_format, resolved, source_of
from nbtext.corpus.streams import can_be_read_here_only
from nbtext.counts.counting import count_corpus, count_documents
from nbtext.errors import DocumentError, NbtextError, PathError, UsageError, quantity
from nbtext.model.scoring import scored
from nbtext.model.sharding import (
    Counting,
    Scoring,
    ShardReader,
    count_on_cluster,
    count_shards,
    joined_counts,
    joined_documents,
    kept,
    outcomes_in_order,
    paced,
    score_shards,
    with_label,
)
from nbtext.model.training import needs_documents
from nbtext.settings import FORMATS, Reading
from nbtext.steps import is_watched, reporting
from nbtext.text.analyzer import BLOCK_BYTES, BLOCK_DOCUMENTS
from nbtext.text_block import LabelledBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from nbtext.corpus.document import Document
    from nbtext.corpus.parts import Shard
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.counts.counting import Analysis, Labelled
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.model.scoring import ScoredBlock, ScoringModel
    from nbtext.model.sharding import Item, Outcome, PartialCounts

WORTH_COUNTING, WORTH_SCORING = 12, 3
"""Shards for each process; with fewer its start and the sum of its counts take longer than it saves."""

MOST_LOOKED_AT = 8
"""Processes for which shards are cut beforehand, to know whether they are worth it; with so many, all are."""

BYTES_HERE = BYTES >> 2
"""About what a shard for a process of this machine holds: scores take more memory than counts, and processes end together."""

SCORES = 1 << 28
"""Bytes of text times classes of such a shard at most, so that many classes do not fill the memory."""

MOST_CLASSES = 1 << 14
"""With more classes there is too little text in a shard to send it anywhere."""

STDIN = "-"


class Progress(NamedTuple):
    """How far the reading of a corpus has come."""

    documents: int
    bytes: int
    """Of files of documents; of a directory none are counted."""
    is_done: bool = False
    """All is read, or reading has failed; nothing follows."""


def ignore(*_: object, **__: object) -> None:
    """Do nothing with what is reported."""


@dataclass
class Corpus:
    """Documents of some paths, to be read once, and where to report what happens meanwhile."""

    paths: Sequence[str]
    reading: Reading
    labelled: bool
    columns: Sequence[str] = ()
    """Further columns to be read with each document."""
    on_error: str = "record"
    """What to do with documents that cannot be read: ``record`` keeps them, with their problem, where no labels are wanted, ``skip`` leaves them
    out, and ``fail`` ends the reading."""
    on_problem: Callable[[str, DocumentError], object] = ignore
    """Is called with the name and the problem of each document that is left out, of some shards only with the first; `Notices.unnamed` counts the rest."""
    on_progress: Callable[[Progress], object] | None = None
    """Is called about 20 times a second while documents are read, besides the watcher of `nbtext.steps`."""
    notices: Notices = field(default_factory=Notices)
    correct: Callable[[Document], Document] | None = None
    """What gives documents other labels; this process alone then reads them."""
    reports_progress: bool = field(default=True, init=False)
    """Whether it reports to `nbtext.steps` while it is read."""
    failure: NbtextError | None = field(default=None, init=False)
    """What ended the reading of documents without labels early, after the first of them: those before it are to be answered."""

    def __iter__(self) -> Iterator[Document]:
        """Yield every document, also one that cannot be read, unless ``on_error`` says otherwise."""
        begun = False
        try:
            for document in kept(self._read(), self.on_error, self.on_problem):
                begun = True
                yield document
        except (DocumentError, PathError) as problem:
            self.break_off(problem, begun=begun)

    def readable(self) -> Iterator[Document]:
        """Yield the documents that can be read."""
        return kept(self._read(), self._on_error_of_readable, self.on_problem)

    def labelled_texts(self) -> Iterator[tuple[str, bytes]]:
        """Yield label and text of the documents that can be read."""
        return ((document.label or "", document.text) for document in self.readable())

    def labelled_blocks(self) -> Generator[Labelled]:
        """Yield label and text of the documents that can be read, many in a block where nobody asks for their names.

        Files and directories are read ahead in a thread, but not a stream that may have to be waited for.
        """
        from nbtext.parallel.ahead import ahead, can_work_ahead

        if self.correct is not None:
            yield from self.labelled_texts()
            return
        items: Generator[LabelledBlock | Document] = read_labelled(self.paths, self.reading, self.notices)
        if can_work_ahead() and all(os.path.isdir(path) or os.path.isfile(path) for path in self.paths):  # noqa: PTH112, PTH113 - do not raise
            items = ahead(items, _size_of, BLOCK_BYTES)
        with closing(items):
            yield from map(with_label, kept(self._watched(items), self._on_error_of_readable, self.on_problem))

    def break_off(self, problem: NbtextError, *, begun: bool) -> None:
        """Keep for `finish` what ended the reading early, or raise it now if there was no document before."""
        if not begun:
            raise problem
        self.failure = problem

    def finish(self) -> None:
        """Raise what ended the reading early, if anything did."""
        if self.failure is not None:
            raise self.failure

    def in_shards(self, size: int = BYTES, *, here: bool = True) -> tuple[Iterator[Shard], ShardReader]:
        """Return the corpus in shards of about ``size`` bytes, and how they are read, by processes that are ``here`` or elsewhere."""
        reading = resolved(self.reading, self.paths, labelled=self.labelled)
        source = source_of(reading, self.notices, labelled=self.labelled, columns=self.columns)
        on_error = self._on_error_of_readable if self.labelled else self.on_error
        return shards(self.paths, source, size, here=here), ShardReader(reading, self.labelled, self.columns, on_error)

    def report(self, outcome: Outcome) -> None:
        """Report what happened in a shard."""
        for name, problem in outcome.problems:
            self.on_problem(name, problem)
        self.notices.add(outcome.notices)

    @property
    def _on_error_of_readable(self) -> str:
        return "skip" if self.on_error == "record" else self.on_error

    def _read(self) -> Iterator[Document]:
        documents = self._watched(read_corpus(self.paths, self.reading, self.notices, labelled=self.labelled, columns=self.columns))
        return documents if self.correct is None else map(self.correct, documents)

    def _watched(self, items: Iterable[Item]) -> Iterator[Item]:
        with self.watched() as heard:
            yield from items if heard is None else paced(items, heard)

    @contextmanager
    def watched(self) -> Iterator[Callable[[int, int], None] | None]:
        """Give what is to be told the documents and bytes read so far, None if nobody wants to know; in the end report that the reading is over."""
        on_progress = self.on_progress or ignore
        reports = self.reports_progress and is_watched()
        if self.on_progress is None and not reports:
            yield None
            return
        last = Progress(0, 0)
        with reporting("document") if reports else nullcontext(ignore) as report:

            def heard(documents: int, read: int) -> None:
                nonlocal last
                last = Progress(documents, read)
                on_progress(last)
                report(documents, share=lambda: self._share(last))

            try:
                yield heard
            finally:
                on_progress(last._replace(is_done=True))

    def _share(self, progress: Progress) -> float | None:
        """Return the share that is read, from 0 to 1; None if it is unknown."""
        by_files, total = self._extent
        if not total or (by_files and progress.documents > total):
            return None
        return progress.documents / total if by_files else min(progress.bytes / total, 1.0)

    @cached_property
    def _extent(self) -> tuple[bool, int | None]:
        """Whether each file is a document, and the number of files, else of bytes, there are to read; None if it is unknown."""
        file_format = resolve_format(self.paths, self.reading.format)
        by_files = FORMATS[file_format].file_per_document
        return by_files, number_of_files(self.paths, file_format) if by_files else size_of_files(self.paths)


class CountedCorpus(NamedTuple):
    """All documents of a corpus as counts, in its order."""

    statistics: ClassStatistics
    documents: CountedDocuments
    names: list[str]
    notes: list[Any]
    """What was noted of each document."""


def _size_of(item: LabelledBlock | Document) -> int:
    """Return about how much work a document or a block is, in bytes of text."""
    return BLOCK_BYTES if isinstance(item, LabelledBlock) else len(item.text) + (BLOCK_BYTES >> 6)


def no_documents() -> UsageError:
    """Return the error for a corpus in which there is not one document."""
    return UsageError("the corpus has no documents that can be read")


def columns_of(document: Document) -> tuple[str, ...]:
    """Note the further columns of a document."""
    return document.columns


def count_in_total(analysis: Analysis, corpus: Corpus, jobs: int = 1, scheduler: str | None = None) -> CorpusCounts | None:
    """Return statistics and sample of a labelled corpus, counted in so many processes or on a cluster; None if there is not one document.

    Raises `UsageError` for what a cluster cannot do, and what reading raises.
    """
    if scheduler is not None:
        return _count_on_cluster(analysis, corpus, scheduler)
    if jobs == 1 or corpus.correct is not None:
        from nbtext.parallel.ahead import can_work_ahead

        with closing(corpus.labelled_blocks()) as labelled:
            first = next(labelled, None)
            return None if first is None else count_corpus(chain([first], labelled), analysis, in_thread=can_work_ahead())
    pieces = _count_in_shards(analysis, corpus, jobs, None)
    for outcome in outcomes_in_order(pieces):
        corpus.report(outcome)
    return joined_counts(pieces)


def count_each(analysis: Analysis, corpus: Corpus, jobs: int = 1, note: Callable[[Document], Any] = columns_of) -> CountedCorpus | None:
    """Return each document of a labelled corpus as counts, with its name and what ``note`` returns for it; None if there is not one.

    Raises what reading raises.
    """
    names: list[str] = []
    notes: list[Any] = []
    if jobs == 1 or corpus.correct is not None:

        def noted() -> Iterator[tuple[str, bytes]]:
            for document in corpus.readable():
                names.append(document.id)
                notes.append(note(document))
                yield document.label or "", document.text

        labelled = noted()
        first = next(labelled, None)
        return first and CountedCorpus(*count_documents(chain([first], labelled), analysis), names, notes)
    pieces = _count_in_shards(analysis, corpus, jobs, note)
    for outcome in outcomes_in_order(pieces):
        corpus.report(outcome)
        names += outcome.names
        notes += outcome.notes
    joined = joined_documents(pieces)
    return joined and CountedCorpus(*joined, names, notes)


def _count_in_shards(analysis: Analysis, corpus: Corpus, jobs: int, note: Callable[[Document], Any] | None) -> list[PartialCounts]:
    from nbtext.parallel.processes import cores, side_by_side

    of_corpus, reader = corpus.in_shards(BYTES_HERE)
    numbered = enumerate(of_corpus)
    jobs = 1 if any(map(can_be_read_here_only, corpus.paths)) else jobs or cores()
    beginning = list(islice(numbered, WORTH_COUNTING * min(jobs, MOST_LOOKED_AT)))
    worthwhile = len(beginning) // WORTH_COUNTING
    processes = jobs if worthwhile == min(jobs, MOST_LOOKED_AT) else max(worthwhile, 1)
    with corpus.watched() as heard:
        return side_by_side(count_shards, Counting(reader, analysis, note), chain(beginning, numbered), processes, heard)


def _count_on_cluster(analysis: Analysis, corpus: Corpus, scheduler: str) -> CorpusCounts | None:
    from nbtext.parallel.cluster import cluster

    if needs_documents(analysis.settings):
        raise UsageError("--backend dask is for models of counts alone", hint="use --jobs")
    if corpus.correct is not None:
        raise UsageError("--relabel and --backend dask exclude each other", hint="leave one of them out")
    if STDIN in corpus.paths:
        raise UsageError("standard input cannot be read by a cluster", hint="give files that its workers can read")
    of_corpus, reader = corpus.in_shards(here=False)
    with cluster(scheduler) as workers, corpus.watched() as heard:
        counts, pieces = count_on_cluster(workers, Counting(reader, analysis), (shard.absolute() for shard in of_corpus), heard)
    for outcome in outcomes_in_order(pieces):
        corpus.report(outcome)
    return counts


def score_corpus(model: ScoringModel, corpus: Corpus, jobs: int = 1, at_once: int = BLOCK_DOCUMENTS) -> Iterator[ScoredBlock]:
    """Yield the documents of a corpus in order with their scores, by so many processes: if labelled those that can be read, else all.

    What ends the reading of a corpus without labels early is kept for `Corpus.finish`.
    """
    if corpus.correct is not None or any(map(can_be_read_here_only, corpus.paths)) or len(model.classes) > MOST_CLASSES:
        yield from scored(model, corpus.readable() if corpus.labelled else corpus, at_once)
        return
    of_corpus, reader = corpus.in_shards(min(BYTES_HERE, SCORES // len(model.classes)))
    beginning = list(islice(of_corpus, 2 * WORTH_SCORING))
    processes = jobs if len(beginning) == 2 * WORTH_SCORING else 1
    begun = False
    try:
        with corpus.watched() as heard:
            for block in score_shards(Scoring(model, reader), chain(beginning, of_corpus), processes, corpus.report, heard):
                begun = True
                yield block
    except (DocumentError, PathError) as problem:
        corpus.break_off(problem, begun=begun and not corpus.labelled)


def reading_like(trained: Reading, paths: Sequence[str], given: Mapping[str, object]) -> Reading:
    """Return how documents are read for a model: as its training documents were, but for the settings given, and for what the paths are.

    Raises `UsageError` where counted features would meet a model of texts, and for other attributes than the model has.
    """
    reading = Reading.of({**trained, **given})
    if paths and "format" not in given:
        reading = replace(reading, format=format_like(paths, trained))
    learnt, read = Attributes.of(trained), Attributes.of(reading)
    for kind, names, others in zip(KINDS, learnt, read, strict=True):
        if len(names) != len(others):
            raise UsageError(
                f"--{kind} names {quantity(len(others), 'column')}, and the model has {len(names)}", hint="name them in the model's order"
            )
    file_format = resolve_format(paths, reading.format)
    if FORMATS[file_format].counted and not trained.is_counted:
        raise UsageError(f"the model was trained on texts, not on {file_format}'s counted features", hint="train one on features")
    return reading
