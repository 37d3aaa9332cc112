"""A corpus that is read once: its documents in this process, or in shards for others, and what is reported of them meanwhile."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, nullcontext
from dataclasses import field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nbtext.corpus.document import Document, Notices, ReaderOptions
from nbtext.corpus.reading import create_reader_options, read_shard, resolve_reading
from nbtext.corpus.shards import SHARD_BYTES, Shard, split_corpus
from nbtext.corpus.streams import count_bytes_read
from nbtext.errors import DocumentError, NbtextError, PathError, format_quantity
from nbtext.fast_dataclasses import dataclass
from nbtext.ragged import LabelledBlock
from nbtext.settings import FORMATS, Reading, UnreadableAllowance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    ProgressCallback = Callable[[int, int], object]
    """Is told the documents and the bytes read so far."""

Item = TypeVar("Item")

MAX_NAMED_PROBLEMS_PER_SHARD = 10
"""Documents of a shard that could not be read are named up to this many, with the reason; the others are counted."""

MAX_COUNTED_FILES = 1_000_000
"""Files that are counted at most to know the end."""


class Progress(NamedTuple):
    """How far the reading of a corpus has come."""

    documents: int
    bytes: int
    """Of files of documents; of a directory none are counted."""
    is_done: bool = False
    """All is read, or reading has failed; nothing follows."""


def ignore(*_: object, **__: object) -> None:
    """Do nothing with what is reported."""


@dataclass()
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
    """Is called with the name and the problem of each document that is left out, of some shards only with the first; `Notices.n_unnamed` counts the rest."""
    on_progress: Callable[[Progress], object] | None = None
    """Is called about 20 times a second while documents are read, besides the watcher of `nbtext.progress`."""
    notices: Notices = field(default_factory=Notices)
    relabel: Callable[[Document, Notices], Document] | None = None
    """What gives documents other labels."""
    allowed_folder: str | None = None
    """The folder in which the files that a table names must be; None if they may be anywhere."""
    condition: str | None = None
    """A column or header, an equals sign and the value that it must have, if not all documents are read."""
    reports_progress: bool = field(default=True, init=False)
    """Whether it reports to `nbtext.progress` while it is read."""
    allow_unreadable: UnreadableAllowance | None = None
    """How many documents may be unreadable; None if it does not matter here."""
    n_documents: int = field(default=0, init=False)
    """Documents that were read, or could not be; counted if ``allow_unreadable`` is given."""
    n_unreadable: int = field(default=0, init=False)
    failure: NbtextError | None = field(default=None, init=False)
    """What ended the reading of documents without labels early, after the first of them: those before it are to be answered."""

    def __iter__(self) -> Iterator[Document]:
        """Yield every document, also one that cannot be read, unless ``on_error`` says otherwise."""
        begun = False
        try:
            for document in self._read(self._source):
                begun = True
                yield document
        except (DocumentError, PathError) as problem:
            self.defer_error(problem, has_yielded=begun)

    def iter_readable(self) -> Iterator[Document]:
        """Yield the documents that can be read."""
        return self._read(self._of_readable)

    def defer_error(self, problem: NbtextError, *, has_yielded: bool) -> None:
        """Keep for `finish_messages` what ended the reading early, or raise it now if there was no document before."""
        if not has_yielded:
            raise problem
        self.failure = problem

    def raise_deferred(self) -> None:
        """Raise what ended the reading early, if anything did."""
        if self.failure is not None:
            raise self.failure

    def list_whole_paths(self) -> tuple[Iterator[Shard], ReaderOptions]:
        """Return each path as a shard, and how this process reads it: what happens meanwhile is reported at once."""
        return map(Shard, self.paths), self._of_readable

    def split_into_shards(
        self, size: int = SHARD_BYTES, *, is_local: bool = True
    ) -> tuple[Iterator[Shard], ReaderOptions]:
        """Return the corpus in shards of about ``size`` bytes, and how they are read, by processes that are ``here`` or elsewhere."""
        source = self._of_readable if self.labelled or self.relabel else self._source
        return split_corpus(self.paths, self._source, size, is_local=is_local), replace(
            source, on_unreadable=None
        )

    def add_report(self, outcome: ShardReport) -> None:
        """Report what happened in a shard."""
        for name, problem in outcome.problems:
            self._leave_out(name, problem)
        self.notices.add(outcome.notices)
        self.n_documents += outcome.n_documents + outcome.notices.n_unnamed
        self.n_unreadable += outcome.n_unreadable + outcome.notices.n_unnamed

    def check_unreadable(self) -> None:
        """Raise `DocumentError` if more documents could not be read than are allowed."""
        if self.allow_unreadable is None:
            return
        if self.n_unreadable > self.allow_unreadable.max_unreadable(self.n_documents):
            raise DocumentError(
                f"{self.n_unreadable:,} of {format_quantity(self.n_documents, 'document')} could not be read, "
                f"more than --allow-unreadable {self.allow_unreadable.text}"
            )

    def _leave_out(self, name: str, problem: DocumentError) -> None:
        self.n_documents += 1
        self.n_unreadable += 1
        self.on_problem(name, problem)

    def _counted(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield documents, and count them; raise as `require_readable` at their end."""
        for document in documents:
            self.n_documents += 1
            self.n_unreadable += document.problem is not None
            yield document
        self.check_unreadable()

    def _read(self, source: ReaderOptions) -> Iterator[Document]:
        documents: Iterator[Document] = (
            document for path in self.paths for document in read_shard(Shard(path), source)
        )
        if self.allow_unreadable is not None:
            documents = self._counted(documents)
        with self.watch_progress() as heard:
            yield from documents if heard is None else report_progress(documents, heard)

    @property
    def _of_readable(self) -> ReaderOptions:
        return replace(self._source, on_error="skip") if self.on_error == "record" else self._source

    @cached_property
    def _source(self) -> ReaderOptions:
        """What the readers are given; the settings of reading are resolved here, once for all."""
        reading = resolve_reading(self.reading, self.paths, labelled=self.labelled)
        source = create_reader_options(
            reading,
            self.notices,
            labelled=self.labelled,
            columns=self.columns,
            condition=self.condition,
        )
        within = None if self.allowed_folder is None else os.path.realpath(self.allowed_folder)
        is_alone = len(self.paths) == 1
        return replace(
            source,
            on_error=self.on_error,
            on_unreadable=self._leave_out,
            relabel=self.relabel,
            is_only_path=is_alone,
            allowed_folder=within,
        )

    @contextmanager
    def watch_progress(self) -> Iterator[Callable[[int, int], None] | None]:
        """Give what is to be told the documents and bytes read so far, None if nobody wants to know; in the end report that the reading is over."""
        on_progress = self.on_progress or ignore
        reports = False
        if self.reports_progress:
            from nbtext.progress import is_progress_watched, start_progress

            reports = is_progress_watched()
        if self.on_progress is None and not reports:
            yield None
            return
        last = Progress(0, 0)
        with start_progress("document") if reports else nullcontext(ignore) as report:

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
        done = progress.documents if by_files else progress.bytes
        return None if not total or (by_files and done > total) else min(done / total, 1.0)

    @cached_property
    def _extent(self) -> tuple[bool, int | None]:
        """Whether each file is a document, and the number of files, else of bytes, there are to read; None if it is unknown."""
        by_files = FORMATS[self._source.reading.format].has_file_per_document
        return by_files, _count_files(self.paths) if by_files else _sum_file_sizes(self.paths)


@dataclass()
class ShardReport:
    """What there is to report of a shard, or of some consecutive documents of it, beside counts and scores."""

    shard_index: int = 0
    """The place of the shard in the corpus."""
    notices: Notices = field(default_factory=Notices)
    n_documents: int = 0
    """Those that could be read, or are kept with their problem."""
    n_unreadable: int = 0
    """Those of them that could not be read."""
    n_bytes_read: int = 0
    """Bytes read for them, if they were read from a file of lines."""
    problems: list[tuple[str, DocumentError]] = field(default_factory=list)
    """The first documents that could not be read."""
    names: list[str] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)
    """Of each document that could be read; empty unless asked for."""
    failure: BaseException | None = None
    """What ended the work after these documents, if anything did."""

    def add_problem(self, name: str, problem: DocumentError) -> None:
        """Record that a document could not be read."""
        if len(self.problems) < MAX_NAMED_PROBLEMS_PER_SHARD:
            self.problems.append((name, problem))
        else:
            self.notices.n_unnamed += 1

    def redirect_reports(self, source: ReaderOptions) -> ReaderOptions:
        """Return a source whose reports go to this outcome, unless they are reported at once."""
        return (
            source
            if source.on_unreadable is not None
            else replace(source, notices=self.notices, on_unreadable=self.add_problem)
        )


def report_progress(documents: Iterable[Item], on_progress: ProgressCallback) -> Iterator[Item]:
    """Yield the documents; tell from time to time, and in the end, how many documents and bytes have been read."""
    from nbtext.progress import Pace

    seen = 0
    begin = count_bytes_read()
    pace = Pace()
    for document in documents:
        seen += count_item_documents(document)
        yield document
        if seen >= pace.next_report:
            on_progress(seen, count_bytes_read() - begin)
            pace.record_report()
    on_progress(seen, count_bytes_read() - begin)


def count_item_documents(item: object) -> int:
    """Return how many documents this is: those of a block, or one."""
    return len(item) if isinstance(item, LabelledBlock) else 1


def _count_files(paths: Sequence[str]) -> int | None:
    """Return the number of files in and below the paths; None if there are too many."""
    from nbtext.corpus.directory import scan_files

    count = sum(1 for _ in islice(scan_files(paths, labelled=False), MAX_COUNTED_FILES + 1))
    return count if count <= MAX_COUNTED_FILES else None


def _sum_file_sizes(paths: Sequence[str]) -> int | None:
    """Return the bytes of all files together; None if one is no regular file."""
    total = 0
    for path in paths:
        try:
            status = os.stat(0 if path == "-" else path)
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total
