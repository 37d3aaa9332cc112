"""A corpus that is read once: its documents in this process, or in shards for others, and what is reported of them meanwhile."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, nullcontext
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nbtext.corpus.document import Notices
from nbtext.corpus.parts import BYTES, Shard, shards
from nbtext.corpus.reading import read_blocks, read_shard, resolved, source_of
from nbtext.corpus.streams import bytes_read
from nbtext.errors import DocumentError, NbtextError, PathError
from nbtext.parallel.processes import Pace
from nbtext.records import dataclass
from nbtext.settings import FORMATS
from nbtext.steps import is_watched, reporting
from nbtext.text_block import LabelledBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbtext.corpus.document import Document, Source
    from nbtext.settings import Reading
    from nbtext.text_block import Labelled

    Heard = Callable[[int, int], object]
    """Is told the documents and the bytes read so far."""

Item = TypeVar("Item")
Readable = TypeVar("Readable", bound="Document | LabelledBlock")

NAMED_PER_SHARD = 10
"""Documents of a shard that could not be read are named up to this many, with the reason; the others are counted."""

MOST_COUNTED = 1_000_000
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

    def labelled_blocks(self) -> Iterator[Labelled]:
        """Yield label and text of the documents that can be read, many in a block where nobody asks for their names."""
        if self.correct is not None:
            return self.labelled_texts()
        return map(with_label, kept(self._watched(self._blocks()), self._on_error_of_readable, self.on_problem))

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
        on_error = self._on_error_of_readable if self.labelled else self.on_error
        reader = ShardReader(self._source.reading, self.labelled, self.columns, on_error)
        return shards(self.paths, self._source, size, here=here), reader

    def report(self, outcome: Outcome) -> None:
        """Report what happened in a shard."""
        for name, problem in outcome.problems:
            self.on_problem(name, problem)
        self.notices.add(outcome.notices)

    @property
    def _on_error_of_readable(self) -> str:
        return "skip" if self.on_error == "record" else self.on_error

    def _read(self) -> Iterator[Document]:
        documents = self._watched(self._documents())
        return documents if self.correct is None else map(self.correct, documents)

    def _documents(self) -> Iterator[Document]:
        source = self._source
        for path in self.paths:
            yield from read_shard(Shard(path), source)

    def _blocks(self) -> Iterator[LabelledBlock | Document]:
        source = replace(self._source, blocks=True)
        for path in self.paths:
            yield from read_blocks(Shard(path), source)

    @cached_property
    def _source(self) -> Source:
        """What the readers are given; the settings of reading are resolved here, once for all."""
        reading = resolved(self.reading, self.paths, labelled=self.labelled)
        return source_of(reading, self.notices, labelled=self.labelled, columns=self.columns)

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
        file_format = self._source.reading.format
        by_files = FORMATS[file_format].file_per_document
        return by_files, number_of_files(self.paths, file_format) if by_files else size_of_files(self.paths)


@dataclass()
class Outcome:
    """What there is to report of a shard, or of some consecutive documents of it, beside counts and scores."""

    number: int = 0
    """The place of the shard in the corpus."""
    notices: Notices = field(default_factory=Notices)
    documents: int = 0
    """Those that could be read."""
    read: int = 0
    """Bytes read for them, if they were read from a file of lines."""
    problems: list[tuple[str, DocumentError]] = field(default_factory=list)
    """The first documents that could not be read."""
    names: list[str] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)
    """Of each document that could be read; empty unless asked for."""
    failure: BaseException | None = None
    """What ended the work after these documents, if anything did."""

    def leave_out(self, name: str, problem: DocumentError) -> None:
        """Record that a document could not be read."""
        if len(self.problems) < NAMED_PER_SHARD:
            self.problems.append((name, problem))
        else:
            self.notices.unnamed += 1


def kept(documents: Iterable[Readable], on_error: str, leave_out: Callable[[str, DocumentError], object]) -> Iterator[Readable]:
    """Yield the documents that can be read; with ``on_error`` "record" also the others, with "skip" pass those to ``leave_out``, with "fail" raise.

    Of documents in a block all can be read.
    """
    for document in documents:
        if isinstance(document, LabelledBlock) or document.problem is None or on_error == "record":
            yield document
        elif on_error == "fail":
            raise DocumentError(document.problem.message, where=document.id, hint=document.problem.hint)
        else:
            leave_out(document.id, document.problem)


def paced(documents: Iterable[Item], heard: Heard) -> Iterator[Item]:
    """Yield the documents; tell from time to time, and in the end, how many documents and bytes have been read."""
    seen, begin, pace = 0, bytes_read(), Pace()
    for document in documents:
        seen += number_of(document)
        yield document
        if seen >= pace.due:
            heard(seen, bytes_read() - begin)
            pace.reported()
    heard(seen, bytes_read() - begin)


def number_of(item: object) -> int:
    """Return how many documents this is: those of a block, or one."""
    return len(item) if isinstance(item, LabelledBlock) else 1


def with_label(item: LabelledBlock | Document) -> Labelled:
    """Return a block as it is, of one document label and text."""
    return item if isinstance(item, LabelledBlock) else (item.label or "", item.text)


class ShardReader(NamedTuple):
    """How the documents of shards are read."""

    reading: Reading
    """As resolved for these documents."""
    labelled: bool
    columns: Sequence[str] = ()
    on_error: str = "skip"
    """What to do with documents that cannot be read, as `kept` takes it."""

    def documents(self, shard: Shard, outcome: Outcome) -> Iterator[Document]:
        """Yield the documents of a shard; what there is to report meanwhile goes to its outcome."""
        source = source_of(self.reading, outcome.notices, labelled=self.labelled, columns=self.columns)
        return kept(read_shard(shard, source), self.on_error, outcome.leave_out)

    def blocks(self, shard: Shard, outcome: Outcome) -> Iterator[LabelledBlock | Document]:
        """Yield the labelled documents of a shard, many in a block where nobody asks for their names."""
        source = source_of(self.reading, outcome.notices, labelled=True, columns=self.columns, blocks=True)
        return kept(read_blocks(shard, source), self.on_error, outcome.leave_out)


def number_of_files(paths: Sequence[str], file_format: str) -> int | None:
    """Return the number of files in and below the paths; None if there are too many, or if they cannot be counted."""
    if file_format == "maildir":
        paths = [os.path.join(path, part) for path in paths for part in ("cur", "new")]  # noqa: PTH118 - texts
    count, pending = 0, list(paths)
    try:
        while pending and count <= MOST_COUNTED:
            path = pending.pop()
            if not os.path.isdir(path):  # noqa: PTH112 - faster
                count += 1
                continue
            with os.scandir(path) as entries:
                seen = [entry for entry in entries if not entry.name.startswith(".")]
            folders = [entry.path for entry in seen if entry.is_dir(follow_symlinks=False)]
            pending += folders
            count += len(seen) - len(folders)
    except OSError:
        return None
    return count if count <= MOST_COUNTED else None


def size_of_files(paths: Sequence[str]) -> int | None:
    """Return the bytes of all files together; None if one is no regular file."""
    total = 0
    for path in paths:
        try:
            status = os.fstat(0) if path == "-" else os.stat(path)  # noqa: PTH116 - bytes that are no text may stand in a name
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total
