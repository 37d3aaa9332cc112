"""A corpus of some paths, to be read once: in this process, or as shards in other processes.

While documents are read, a `Corpus` reports progress and unreadable documents to callbacks.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, nullcontext
from dataclasses import field, replace
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nbtext.corpus.detection.formats import resolve_reading
from nbtext.corpus.document import Document, Notices, ReaderOptions
from nbtext.corpus.reading import create_reader_options, read_shard
from nbtext.corpus.shards import SHARD_BYTES, Shard, split_corpus
from nbtext.corpus.streams import count_bytes_read
from nbtext.errors import DocumentError, NbtextError, PathError, format_quantity
from nbtext.fast_dataclasses import dataclass
from nbtext.ragged import LabelledBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbtext.settings import Reading, UnreadableAllowance

    ProgressCallback = Callable[[int, int], object]
    """Takes the number of documents and the number of bytes that were read so far."""

Item = TypeVar("Item")

MAX_NAMED_PROBLEMS_PER_SHARD = 10
"""Number of unreadable documents of a shard that are reported by name; others are only counted."""

MAX_COUNTED_FILES = 1_000_000
"""Number of files above which the size of a corpus counts as unknown, to save time."""

_STANDARD_INPUT = 0
"""The file descriptor of standard input."""


class Progress(NamedTuple):
    """The amount of a corpus that was read."""

    documents: int
    """Number of documents that were read."""
    bytes: int
    """Number of bytes that were read from files of documents; 0 for directories of files."""
    is_done: bool = False
    """Whether reading has ended or failed, so that this is the last report."""


def ignore(*_: object, **__: object) -> None:
    """Do nothing; a callback if reports are not wanted."""


@dataclass()
class Corpus:
    """Documents of some paths, to be read once, and callbacks for reports."""

    paths: Sequence[str]
    reading: Reading
    labelled: bool
    """Whether documents need labels."""
    columns: Sequence[str] = ()
    """Extra columns to read with each document."""
    on_error: str = "record"
    """Treatment of unreadable documents.

    ``record``: keep the documents with their problems; `iter_readable`, and readers of labelled
    documents, drop them. ``skip``: drop the documents. ``fail``: stop reading.
    """
    on_problem: Callable[[str, DocumentError], object] = ignore
    """Called with the name and the problem of each document that is dropped.

    Only the first dropped documents of a shard are reported; `Notices.n_unnamed` counts the others.
    """
    on_progress: Callable[[Progress], object] | None = None
    """Called about 20 times a second while documents are read."""
    notices: Notices = field(default_factory=Notices)
    """Reading adds its notices here."""
    relabel: Callable[[Document, Notices], Document] | None = None
    """Returns a document with its label replaced, and may add notices; None: keep all labels."""
    allowed_folder: str | None = None
    """The folder that must contain the files that a table names; None: any folder."""
    condition: str | None = None
    """``NAME=VALUE`` or ``NAME!=VALUE`` for a column or header; None: read all documents."""
    reports_progress: bool = field(default=True, init=False)
    """Whether reading reports to `nbtext.progress` too."""
    allow_unreadable: UnreadableAllowance | None = None
    """How many documents may be unreadable; None: any number."""
    n_documents: int = field(default=0, init=False)
    """Number of documents that were read so far, including unreadable documents.

    Documents that are read in this process are counted only if ``allow_unreadable`` is set.
    """
    n_unreadable: int = field(default=0, init=False)
    """Number of unreadable documents so far; see ``n_documents``."""
    failure: NbtextError | None = field(default=None, init=False)
    """The error that stopped reading after at least one document; see `raise_deferred`.

    It is deferred so that the documents before it are classified.
    """

    def __iter__(self) -> Iterator[Document]:
        """Yield all documents, including unreadable documents unless ``on_error`` excludes them.

        An error after the first document is not raised; see `defer_error`.
        """
        has_yielded = False
        try:
            for document in self._read(self._options):
                has_yielded = True
                yield document
        except (DocumentError, PathError) as problem:
            self.defer_error(problem, has_yielded=has_yielded)

    def iter_readable(self) -> Iterator[Document]:
        """Yield the readable documents. Raise errors immediately."""
        return self._read(self._skipping_options)

    def defer_error(self, problem: NbtextError, *, has_yielded: bool) -> None:
        """Keep an error for `raise_deferred`, or raise it now if no document was yielded."""
        if not has_yielded:
            raise problem
        self.failure = problem

    def raise_deferred(self) -> None:
        """Raise the error that stopped the reading, if any."""
        if self.failure is not None:
            raise self.failure

    def list_whole_paths(self) -> tuple[Iterator[Shard], ReaderOptions]:
        """Return one shard per path, and the options with which this process reads the shards.

        With these options, reading calls ``on_problem`` immediately.
        """
        return map(Shard, self.paths), self._skipping_options

    def split_into_shards(
        self, size: int = SHARD_BYTES, *, is_local: bool = True
    ) -> tuple[Iterator[Shard], ReaderOptions]:
        """Return shards of about ``size`` bytes, and the options to read the shards.

        ``is_local`` states that processes of this machine read the shards. A process collects its
        reports in a `ShardReport`, to be passed to `add_report`.
        """
        needs_readable = self.labelled or self.relabel is not None
        options = self._skipping_options if needs_readable else self._options
        shards = split_corpus(self.paths, self._options, size, is_local=is_local)
        return shards, replace(options, on_unreadable=None)

    def add_report(self, report: ShardReport) -> None:
        """Call ``on_problem`` for the problems of a shard, and add its notices and counts."""
        for name, problem in report.problems:
            self._report_unreadable(name, problem)
        self.notices.add(report.notices)
        # `_report_unreadable` has counted the documents with a name.
        n_unnamed = report.notices.n_unnamed
        self.n_documents += report.n_documents + n_unnamed
        self.n_unreadable += report.n_unreadable + n_unnamed

    def check_unreadable(self) -> None:
        """Raise `DocumentError` if more documents were unreadable than are allowed."""
        allowance = self.allow_unreadable
        if allowance is not None and self.n_unreadable > allowance.max_unreadable(self.n_documents):
            n_documents = format_quantity(self.n_documents, "document")
            raise DocumentError(
                f"{self.n_unreadable:,} of {n_documents} could not be read, "
                f"more than --allow-unreadable {allowance.text}"
            )

    def _report_unreadable(self, name: str, problem: DocumentError) -> None:
        """Count an unreadable document that is dropped, and call ``on_problem``."""
        self.n_documents += 1
        self.n_unreadable += 1
        self.on_problem(name, problem)

    def _count_unreadable(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield documents and count each; after the last, call `check_unreadable`.

        Dropped documents do not get here. `_report_unreadable` counts them.
        """
        for document in documents:
            self.n_documents += 1
            if document.problem is not None:
                self.n_unreadable += 1
            yield document
        self.check_unreadable()

    def _read(self, options: ReaderOptions) -> Iterator[Document]:
        """Yield the documents of all paths in this process, and report the progress."""
        shards = map(Shard, self.paths)
        documents: Iterator[Document] = chain.from_iterable(
            read_shard(shard, options) for shard in shards
        )
        if self.allow_unreadable is not None:
            documents = self._count_unreadable(documents)
        with self.watch_progress() as on_progress:
            if on_progress is not None:
                documents = report_progress(documents, on_progress)
            yield from documents

    @property
    def _skipping_options(self) -> ReaderOptions:
        """The options of the readers, with ``record`` replaced by ``skip``."""
        if self.on_error == "record":
            return replace(self._options, on_error="skip")
        return self._options

    @cached_property
    def _options(self) -> ReaderOptions:
        """The options of the readers, cached because detecting formats and columns takes time."""
        reading = resolve_reading(self.reading, self.paths, labelled=self.labelled)
        options = create_reader_options(
            reading,
            self.notices,
            labelled=self.labelled,
            columns=self.columns,
            condition=self.condition,
        )
        allowed_folder = self.allowed_folder
        if allowed_folder is not None:
            allowed_folder = os.path.realpath(allowed_folder)
        return replace(
            options,
            on_error=self.on_error,
            on_unreadable=self._report_unreadable,
            relabel=self.relabel,
            is_only_path=len(self.paths) == 1,
            allowed_folder=allowed_folder,
        )

    @contextmanager
    def watch_progress(self) -> Iterator[Callable[[int, int], None] | None]:
        """Yield a `ProgressCallback`; None if nobody watches.

        The callback calls ``on_progress``, and shows the progress if `nbtext.progress` is watched.
        At the end of the context, ``on_progress`` is called once more, with ``is_done``.
        """
        on_progress = self.on_progress or ignore
        is_watched = False
        if self.reports_progress:
            from nbtext.progress import is_progress_watched, start_progress

            is_watched = is_progress_watched()
        if self.on_progress is None and not is_watched:
            yield None
            return
        progress = Progress(documents=0, bytes=0)
        # If `is_watched`, `start_progress` was imported.
        with start_progress("document") if is_watched else nullcontext(ignore) as show_progress:

            def update(n_documents: int, n_bytes: int) -> None:
                nonlocal progress
                progress = Progress(n_documents, n_bytes)
                on_progress(progress)
                # Measuring the corpus takes time, so `show_progress` does it only if needed.
                show_progress(
                    n_documents, estimate_proportion=lambda: self._estimate_proportion(progress)
                )

            try:
                yield update
            finally:
                on_progress(progress._replace(is_done=True))

    def _estimate_proportion(self, progress: Progress) -> float | None:
        """Return the proportion of the corpus that was read, from 0 to 1; None if unknown."""
        size = self._size
        if not size:
            return None
        if not self._is_measured_in_files:
            return min(progress.bytes / size, 1.0)
        if progress.documents > size:  # files were added meanwhile
            return None
        return progress.documents / size

    @property
    def _is_measured_in_files(self) -> bool:
        """Whether the size of the corpus is a number of files, not of bytes."""
        return self._options.reading.layout.has_file_per_document

    @cached_property
    def _size(self) -> int | None:
        """Number of files if the corpus consists of directories, else bytes; None if unknown."""
        if self._is_measured_in_files:
            return _count_files(self.paths)
        return _sum_file_sizes(self.paths)


@dataclass()
class ShardReport:
    """The reports of a process about a shard, or about some consecutive documents of a shard."""

    shard_index: int = 0
    """Index of the shard in the corpus."""
    notices: Notices = field(default_factory=Notices)
    n_documents: int = 0
    """Number of documents that were read, without dropped documents."""
    n_unreadable: int = 0
    """Number of unreadable documents that are kept with their problem."""
    n_bytes_read: int = 0
    """Number of bytes that were read from a file of documents."""
    problems: list[tuple[str, DocumentError]] = field(default_factory=list)
    """Names and problems of the first unreadable documents that were dropped."""
    names: list[str] = field(default_factory=list)
    """Names of the readable documents; empty if the caller needs no notes."""
    notes: list[Any] = field(default_factory=list)
    """What the caller notes about each readable document; empty if it needs no notes."""
    failure: BaseException | None = None
    """The exception that stopped the work after these documents."""

    def add_problem(self, name: str, problem: DocumentError) -> None:
        """Record a dropped document by its name if it is one of the first, else only count it."""
        if len(self.problems) < MAX_NAMED_PROBLEMS_PER_SHARD:
            self.problems.append((name, problem))
        else:
            self.notices.n_unnamed += 1

    def redirect_reports(self, options: ReaderOptions) -> ReaderOptions:
        """Return options that add notices and dropped documents to this object.

        Return options that have a callback for unreadable documents unchanged: their reports go
        directly to the corpus.
        """
        if options.on_unreadable is not None:
            return options
        return replace(options, notices=self.notices, on_unreadable=self.add_problem)


def report_progress(documents: Iterable[Item], on_progress: ProgressCallback) -> Iterator[Item]:
    """Yield documents or blocks; report the number of documents and bytes, also at the end."""
    from nbtext.progress import Pace

    n_documents = 0
    start_bytes = count_bytes_read()
    pace = Pace()
    for document in documents:
        n_documents += count_item_documents(document)
        yield document
        if n_documents >= pace.next_report:
            on_progress(n_documents, count_bytes_read() - start_bytes)
            pace.record_report()
    on_progress(n_documents, count_bytes_read() - start_bytes)


def count_item_documents(item: object) -> int:
    """Return the number of documents in an item of `read_shard`: a block, or one document."""
    return len(item) if isinstance(item, LabelledBlock) else 1


def _count_files(paths: Sequence[str]) -> int | None:
    """Return the number of files in and below the paths; None if above `MAX_COUNTED_FILES`."""
    from nbtext.corpus.directory import scan_files

    files = islice(scan_files(paths, labelled=False), MAX_COUNTED_FILES + 1)
    n_files = sum(1 for _ in files)
    return n_files if n_files <= MAX_COUNTED_FILES else None


def _sum_file_sizes(paths: Sequence[str]) -> int | None:
    """Return the total number of bytes of all files; None if a file is not a regular file."""
    total = 0
    for path in paths:
        try:
            status = os.stat(_STANDARD_INPUT if path == "-" else path)
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total
