"""Read the format ``dir``, a directory whose files are documents.

The readers of other formats use this file to list the files below a folder. Opening a pipe or
device could block forever, so such special files are detected before they are opened.
"""

from __future__ import annotations

import os
import stat
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

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
from nbtext.errors import (
    WARNING,
    DocumentError,
    Finding,
    PathError,
    UsageError,
    describe_os_error,
)
from nbtext.prediction.labels import list_labels, make_label_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.prediction.labels import Label


_MAX_SIZE_LINE_BYTES = 32
"""Maximum length of the line with the message size in a file of Apple Mail."""

_MAX_READ_BYTES = 1 << 20
"""Maximum number of bytes to read at once."""


class ListedFile(NamedTuple):
    """A file that is one document and was not read yet."""

    path: str
    label: Label | None = None
    """The class of the file; None if labels are not needed or not yet known."""
    problem: DocumentError | None = None
    """Why the file cannot be read; None if no reason is known yet."""


def list_files(path: str, options: ReaderOptions) -> Iterator[ListedFile]:
    """Yield the files of class directories. The name of the directory is the label.

    If labels are not needed, or come from a header or from file names, yield all files below the
    path, or the path itself if it is a file. Add files that are in no class directory to the
    notices. Raise `UsageError` if a labelled corpus has no class directories.
    """
    if not options.labelled or options.reading.label_source:
        yield from list_unlabelled_files(path)
        return
    if path == "-" or not stat.S_ISDIR(stat_path(path).st_mode):
        raise _explain_missing_directory(path)
    try:
        entries = list_visible_paths(path)
    except OSError as problem:
        raise PathError(
            f"cannot read the directory: {describe_os_error(problem)}", where=path
        ) from None
    folders = [entry for entry, is_folder in entries if is_folder]
    options.notices.unlabelled += sorted(entry for entry, is_folder in entries if not is_folder)
    if not folders:
        raise UsageError(
            "the directory has no sub-directories",
            where=path,
            hint=(
                "a corpus has one sub-directory per class, with its documents inside; add "
                "--format lines if each file has all documents of a class, or --label-pattern "
                "if the name of each file contains its class"
            ),
        )
    files_by_class = (
        list_labelled_files(
            [folder],
            decode_name(os.fsencode(os.path.basename(folder))),
            options.notices,
            f"{folder}: no documents in this class",
        )
        for folder in folders
    )
    yield from merge_labels(chain.from_iterable(files_by_class), folders)


def _explain_missing_directory(path: str) -> UsageError:
    """Return the error for a labelled corpus that is a file or standard input.

    Raise `PathError` if the path cannot be read.
    """
    if not peek_start(path, 1, pipe_bytes=1):  # the path is empty or unreadable
        with open_stream(path):  # raises the reason if it is unreadable
            return UsageError(f"{path} is empty", hint="a corpus needs documents of each class")
    from nbtext.corpus.detection.hints import suggest_reading_options

    hint = suggest_reading_options(path)
    if hint is not None:
        return UsageError(
            f"{path} is in no format that its name or its first line shows", hint=hint
        )
    return UsageError(
        f"{path} is not a directory with one sub-directory per class",
        hint=(
            "each path is a corpus, also in a list of --files-from; for a table use --format csv "
            "or tsv, for one class per file --format lines"
        ),
    )


def merge_labels(files: Iterable[ListedFile], folders: Iterable[str]) -> Iterator[ListedFile]:
    """Yield the files of class folders; a file of several classes once, with the set of its labels.

    A file is in several class folders if some of its names are links to it.
    """
    # To get the inodes from the listing is five times as fast as to get the status of each file.
    inodes = [inode for _, inode, _ in scan_files(folders, labelled=False)]
    may_have_links = None in inodes or len(set(inodes)) < len(inodes)
    if not may_have_links:
        yield from files
        return
    identified_files = [(file, _identify_file(file)) for file in files]
    labels_by_identity: dict[object, set[str]] = {}
    for file, identity in identified_files:
        labels = labels_by_identity.setdefault(identity, set())
        labels.update(list_labels(file.label or ""))
    yielded_identities = set()
    for file, identity in identified_files:
        labels = labels_by_identity[identity]
        if len(labels) == 1:
            yield file
        elif identity not in yielded_identities:
            yielded_identities.add(identity)
            yield ListedFile(file.path, make_label_set(labels))


def _identify_file(file: ListedFile) -> object:
    """Return a key that is equal for all names of a file; for an unreadable file, its path."""
    if file.problem is not None:
        return file.path
    try:
        status = os.stat(file.path)
    except (OSError, ValueError):
        return file.path
    return status.st_ino, status.st_dev


def list_labelled_files(
    folders: Iterable[str], label: str, notices: Notices, warning: str
) -> Iterator[ListedFile]:
    """Yield the files below folders, all with the same label.

    If there are no files, add the warning to the notices.
    """
    is_empty = True
    for file in chain.from_iterable(map(walk_files, folders)):
        is_empty = False
        yield file._replace(label=label)
    if is_empty:
        notices.warnings.append(Finding("classes", WARNING, warning, "add some, or remove it"))


def list_unlabelled_files(path: str) -> Iterator[ListedFile]:
    """Yield every file below a directory, or the path itself if it is not a directory."""
    if path != "-" and os.path.isdir(path):
        yield from walk_files(path, follow_links=True)
    else:
        yield ListedFile(path)


def walk_files(folder: str, *, follow_links: bool = False) -> Iterator[ListedFile]:
    """Yield the files at any depth of a folder in byte order, without labels and hidden files.

    Yield special files and unreadable directories with a problem, as well as symbolic links to
    directories, because links may form a cycle. If ``follow_links``, follow the links that are
    directly in the folder, where class directories may be links.
    """
    # This is not recursive: directories may be nested more deeply than Python's calls.
    pending: list[tuple[str, bool | None]] = [(folder, True)]  # as from `list_visible_paths`
    followed_folders = {folder}
    while pending:
        path, is_folder = pending.pop()
        if is_folder is None and _is_special_file(path):
            yield ListedFile(path, problem=DocumentError("not a regular file"))
        elif not is_folder:
            yield ListedFile(path)
        elif path not in followed_folders and os.path.islink(path):
            problem = DocumentError(
                "a symbolic link to a directory, not followed", hint="use it as a path of its own"
            )
            yield ListedFile(path, problem=problem)
        else:
            try:
                entries = list_visible_paths(path)
            except OSError as error:
                message = f"cannot read the directory: {describe_os_error(error)}"
                yield ListedFile(path, problem=DocumentError(message))
                continue
            pending.extend(reversed(entries))  # the last is taken first
            if follow_links and path == folder:
                followed_folders.update(entry for entry, is_folder in entries if is_folder)


def scan_files(paths: Iterable[str], *, labelled: bool) -> Iterator[tuple[str, int | None, str]]:
    """Yield the name, inode and path of each visible file in and below paths, in no fixed order.

    The inode of a symbolic link is None. For a path that is itself a file, the name is the path,
    and the inode is None. If ``labelled``, skip files that are directly in one of the paths,
    because only class folders contain documents.
    """
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
                        inode = None if entry.is_symlink() else entry.inode()
                        yield entry.name, inode, entry.path
        except OSError:  # usually because the path is a file
            yield path, None, path


def list_visible_paths(folder: str) -> list[tuple[str, bool | None]]:
    """Return the paths in a folder except hidden ones, in the byte order of their names.

    With each path, return True for a directory, False for a regular file, and None for any other
    entry: a special file or a broken link.
    """
    with os.scandir(folder) as entries:
        visible = [entry for entry in entries if not entry.name.startswith(".")]
    visible.sort(key=lambda entry: os.fsencode(entry.name))
    return [(entry.path, _is_directory(entry)) for entry in visible]


def _is_directory(entry: os.DirEntry[str]) -> bool | None:
    """Return True for a directory, False for a regular file, and None for any other entry."""
    try:
        if entry.is_dir():
            return True
        return False if entry.is_file() else None
    except OSError:  # in a cycle of links; reading the file reports the cycle
        return False


def _is_special_file(path: str) -> bool:
    """Return whether a path exists and is not a regular file."""
    return os.path.exists(path) and not os.path.isfile(path)


def read_listed_file(file: ListedFile, options: ReaderOptions) -> Document:
    """Return the document in a listed file, or in standard input for ``-``.

    Unpack a compressed file. If the file cannot be read, the document has the reason as its
    problem.
    """
    path, label, problem = file
    if problem is None:
        limit = options.max_document_bytes
        try:
            if is_bound_to_process(path):
                stored = _read_stream(path, limit)
            else:
                stored = _read_file(path, limit)
            content = unpack_document(path, stored, limit)
            return Document(path, label, _extract_apple_message(path, content))
        except Exception as exception:  # noqa: BLE001 - one file must not end a run
            problem = to_document_error(exception)
    return Document(path, label, problem=problem)


def _extract_apple_message(path: str, content: bytes) -> bytes:
    """Return the message in a file of Apple Mail (.emlx). Return any other content unchanged.

    In such a file, a line with the size precedes the message, and a property list follows it.
    """
    if not strip_compression_suffix(path).lower().endswith(".emlx"):
        return content
    size, line_end, _ = content[:_MAX_SIZE_LINE_BYTES].partition(b"\n")
    if not line_end or not size.strip().isdigit():
        return content
    start = len(size) + len(line_end)
    return content[start : start + int(size)]


def _read_stream(path: str, limit: int) -> bytes:
    """Return the content of standard input or of a pipe, up to one byte more than the limit."""
    try:
        with open_stored(path) as stream:
            return stream.read(limit + 1)
    except OSError as problem:
        name = "standard input" if path == "-" else path
        raise PathError(f"cannot read: {describe_os_error(problem)}", where=name) from None


def _read_file(path: str, limit: int) -> bytes:
    """Return the content of a file, or of a pipe until its writer closes it.

    Read at most one byte more than the limit from a pipe. Raise `DocumentError` if a regular file
    has more bytes than the limit.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                _wait_for_writer(descriptor)
            if status.st_size > limit:
                raise create_size_error(limit)
            # Pipes, and files in /proc, have a status with size 0.
            size = status.st_size or limit + 1
            content = bytearray()
            while chunk := os.read(descriptor, min(size - len(content), _MAX_READ_BYTES)):
                content += chunk
            return bytes(content)
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise DocumentError(f"cannot read: {describe_os_error(problem)}") from None


def _wait_for_writer(descriptor: int) -> None:
    """Wait until a pipe has a writer, then make reads wait for data.

    Without a writer, the pipe would seem to be empty.
    """
    import select

    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll()
    os.set_blocking(descriptor, True)
