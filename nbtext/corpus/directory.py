"""Directories whose files are documents: format ``dir``, and how to find and read such files without ever blocking on one."""

from __future__ import annotations

import os
import stat
from itertools import chain
from typing import TYPE_CHECKING

from nbtext.corpus.decoding import decode_name
from nbtext.corpus.document import (
    Document,
    Notices,
    ReaderOptions,
    create_size_error,
    to_document_error,
)
from nbtext.corpus.streams import (
    is_bound_to_process,
    open_stored,
    open_stream,
    peek_start,
    stat_path,
    strip_compression_suffix,
    unpack_document,
)
from nbtext.errors import WARNING, DocumentError, Finding, PathError, UsageError, describe_os_error
from nbtext.prediction.labels import list_labels, make_label_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.prediction.labels import Label

    ListedFile = tuple[str, Label | None, DocumentError | None]
    """A file that is one document, not yet read: its path, its class, and why it cannot be read."""


_LONGEST_SIZE = 1 << 5
"""Bytes of the line that has the size of a message, at most."""


def files(path: str, source: ReaderOptions) -> Iterator[ListedFile]:
    """Yield the files of class directories, labelled with the directory's name; if labels are not wanted, of any file or directory."""
    if not source.labelled or source.reading.label_source:
        yield from list_unlabelled_files(path)
        return
    if path == "-" or not stat.S_ISDIR(stat_path(path).st_mode):
        if not peek_start(path, 1, pipe_bytes=1):
            with open_stream(path):  # or it cannot be read
                raise UsageError(f"{path} is empty", hint="a corpus needs documents of each class")
        from nbtext.corpus.format_hints import suggest_reading_options

        if (hint := suggest_reading_options(path)) is not None:
            raise UsageError(
                f"{path} is in no format that its name or its first line shows", hint=hint
            )
        raise UsageError(
            f"{path} is not a directory with one sub-directory per class",
            hint="a path names a whole corpus, also in a list of --files-from; for a table use "
            "--format csv or tsv, for a class in each file lines, and see --format for others",
        )
    try:
        inside = list_visible_paths(path)
    except OSError as problem:
        raise PathError(
            f"cannot read the directory: {describe_os_error(problem)}", where=path
        ) from None
    folders = [file for file, is_folder in inside if is_folder]
    source.notices.unlabelled.extend(sorted({file for file, is_folder in inside if not is_folder}))
    if not folders:
        hint = (
            "a corpus has one sub-directory per class, with its documents inside; give --format "
            "lines if each file is a class, "
        )
        raise UsageError(
            f"{path} has no sub-directories",
            hint=f"{hint}--label-pattern if its name shows the class",
        )
    found = (
        list_labelled_files(
            [folder],
            decode_name(os.fsencode(os.path.basename(folder))),
            source.notices,
            f"{folder}: no documents in this class",
        )
        for folder in folders
    )
    yield from merge_labels(chain.from_iterable(found), folders)


def merge_labels(files: Iterable[ListedFile], folders: Iterable[str]) -> Iterator[ListedFile]:
    """Yield the files of class folders; one that is in several, as a link or under several names, once, with the set of its labels."""
    inodes = [
        inode for _, inode, _ in scan_files(folders, labelled=False)
    ]  # the status of each file would take five times as long
    if None not in inodes and len(set(inodes)) == len(inodes):
        yield from files
        return
    listed = [(file, file[0] if file[2] else _identity(file[0])) for file in files]
    labels: dict[object, set[str]] = {}
    for (_, label, _), identity in listed:
        labels.setdefault(identity, set()).update(list_labels(label or ""))
    for file, identity in listed:
        several = labels[identity]
        if len(several) > 1:
            yield file[0], make_label_set(several), None
            labels[identity] = set()
        elif several:
            yield file


def _identity(path: str) -> object:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return path
    return status.st_ino << 64 | status.st_dev


def list_labelled_files(
    folders: Iterable[str], label: str, notices: Notices, warning: str
) -> Iterator[ListedFile]:
    """Yield the files below folders, all of one class; if there are none, add the warning to the notices."""
    empty = True
    for folder in folders:
        for file, problem in walk_files(folder):
            empty = False
            yield file, label, problem
    if empty:
        notices.warnings.append(Finding("classes", WARNING, warning, "add some, or leave it out"))


def list_unlabelled_files(path: str) -> Iterator[ListedFile]:
    """Yield a file given, every file below a directory given, or ``-`` for standard input."""
    if path != "-" and os.path.isdir(path):
        for file, problem in walk_files(path, follow_links=True):
            yield file, None, problem
    else:
        yield path, None, None


def walk_files(
    folder: str, *, follow_links: bool = False
) -> Iterator[tuple[str, DocumentError | None]]:
    """Yield the paths of the files at any depth, in the order of their names' bytes, without names that begin with a dot.

    A problem comes with what is neither file nor directory, and with a symbolic link to a directory: it is not followed, since it may lead
    back. With ``linked`` links in the folder itself are, as those of classes are in a corpus.
    """
    pending: list[tuple[str, bool | None]] = [
        (folder, True)
    ]  # no recursion: directories may be nested more deeply than Python's calls
    followed = {folder}
    while pending:
        path, is_folder = pending.pop()
        if is_folder is None and _is_irregular(path):
            yield path, DocumentError("not a regular file")
        elif not is_folder:
            yield path, None
        elif path not in followed and os.path.islink(path):
            yield (
                path,
                DocumentError(
                    "a symbolic link to a directory, not followed",
                    hint="give it as a path of its own",
                ),
            )
        else:
            try:
                inside = list_visible_paths(path)
            except OSError as problem:
                yield (
                    path,
                    DocumentError(f"cannot read the directory: {describe_os_error(problem)}"),
                )
                continue
            pending.extend(reversed(inside))
            if follow_links and path == folder:
                followed.update(each for each, is_folder in inside if is_folder)


def scan_files(paths: Iterable[str], *, labelled: bool) -> Iterator[tuple[str, int | None, str]]:
    """Yield the names of the files in and below some paths, in no order, their inodes, None for links, and paths; of a labelled corpus those in its folders."""
    pending = [(path, True) for path in paths]
    while pending:
        path, is_top = pending.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.name[:1] == ".":
                        continue
                    if entry.is_dir(follow_symlinks=is_top):
                        pending.append((entry.path, False))
                    elif not (labelled and is_top):
                        yield entry.name, None if entry.is_symlink() else entry.inode(), entry.path
        except OSError:  # mostly a path that is a file
            yield path, None, path


def list_visible_paths(folder: str) -> list[tuple[str, bool | None]]:
    """Return the paths in a folder whose names do not begin with a dot, in the order of the names' bytes: whether each is a directory, None for neither it nor a file."""
    with os.scandir(folder) as entries:
        visible = {entry.name: entry for entry in entries if not entry.name.startswith(".")}
    return [
        (visible[name].path, _is_directory(visible[name]))
        for name in sorted(visible, key=os.fsencode)
    ]


def _is_directory(entry: os.DirEntry[str]) -> bool | None:
    try:
        if entry.is_dir():
            return True
        return False if entry.is_file() else None
    except OSError:  # a link in a circle
        return False


def _is_irregular(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False  # reading it reports the reason


def read_listed_file(file: ListedFile, source: ReaderOptions) -> Document:
    """Read a listed file, or standard input for ``-``: the document, unpacked if it is compressed, or why it cannot be read."""
    path, label, problem = file
    if problem is None:
        try:
            content = (
                _read_begun(path, source.max_document_bytes)
                if is_bound_to_process(path)
                else _read_file(path, source.max_document_bytes)
            )
            return Document(
                path,
                label,
                _message_in(path, unpack_document(path, content, source.max_document_bytes)),
            )
        except Exception as raised:  # noqa: BLE001 - one file never ends a run
            problem = to_document_error(raised)
    return Document(path, label, problem=problem)


def _message_in(path: str, content: bytes) -> bytes:
    """Return the content of a file; of a message of Apple Mail without the line before it, which has its size, and the property list after it."""
    size, end, _ = content[:_LONGEST_SIZE].partition(b"\n")
    if end and size.strip().isdigit() and strip_compression_suffix(path).lower().endswith(".emlx"):
        begin = len(size) + 1
        return content[begin : begin + int(size)]
    return content


def _read_begun(path: str, limit: int) -> bytes:
    try:
        with open_stored(path) as stream:
            return stream.read(limit + 1)
    except OSError as problem:
        raise PathError(
            f"cannot read: {describe_os_error(problem)}",
            where="standard input" if path == "-" else path,
        ) from None


def _read_file(path: str, limit: int) -> bytes:
    """Return the content of a file, or what comes through a pipe until its writer ends, to one byte beyond the limit."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                _wait_for_writer(descriptor)
            if status.st_size > limit:
                raise create_size_error(limit)
            wanted = (
                status.st_size or limit + 1
            )  # pipes, and files of /proc and the like, claim to be empty
            content = bytearray()
            while len(content) < wanted and (
                more := os.read(descriptor, min(wanted - len(content), 1 << 20))
            ):
                content += more
            return bytes(content)
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise DocumentError(f"cannot read: {describe_os_error(problem)}") from None


def _wait_for_writer(descriptor: int) -> None:
    """Wait until a pipe has a writer, and read it from then on as it comes: before, it seems to be at its end."""
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll()
    os.set_blocking(descriptor, True)
