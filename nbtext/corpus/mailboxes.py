"""Formats of mail: ``mbox``, many messages in one file, and ``maildir``, a folder of messages.

The class is the name of the file or folder.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from nbtext.corpus.decoding import decode_name
from nbtext.corpus.directory import (
    list_labelled_files,
    list_unlabelled_files,
    merge_labels,
    read_listed_file,
    scan_files,
    walk_files,
)
from nbtext.corpus.document import Document, LabelledFolder, ReaderOptions, create_size_error
from nbtext.corpus.streams import (
    BUFFER_BYTES,
    open_stream,
    peek_start,
    stat_path,
    strip_compression_suffix,
)
from nbtext.errors import DocumentError, PathError, UsageError
from nbtext.settings import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BufferedReader

    from nbtext.corpus.directory import ListedFile

ENVELOPE_PREFIX = FORMATS["mbox"].first_bytes

MAILDIR_FOLDERS = ("cur", "new", "tmp")
"""The folders of a Maildir; messages in the last one are still being delivered."""

MESSAGE_START = re.compile(
    rb"\nFrom (?=[ \t]*\r?\n|\S*@\S*[ \t]*\r?\n"  # an address
    rb"|(?:(?<=\n\nFrom )|(?<=\n\r\nFrom ))\S+[ \t]*\r?\n"  # after an empty line a name
    rb"|\S+ +(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b"
    rb"|.{0,200}?\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b.{0,40}?\d\d:\d\d)"
    rb".{0,1000}\n"
    rb"(?=(?:(?:>From |[ \t]|[A-Za-z][!-9;-~]{0,99}:(?!//)).{0,300}\n){0,4}"
    rb"(?i:[a-z]+-[!-9;-~]{1,99}|from|to|cc|subject|date|received|sender|status|path|newsgroups"
    rb"|organization|lines):)"
)
"""The start of a message in an mbox, including the end of the line before it.

It is a line that looks like an envelope, and one of the next five lines is a usual header, with
only headers before it. This excludes "From the office, with love", and an envelope that a letter
quotes in its text.
"""

_MBOX_SUFFIXES = (".mbox", ".mbx")

_SHIFTED_CHARS = re.compile("&([A-Za-z0-9+,]*)-")
"""Non-ASCII characters, and "&", in names of IMAP folders: modified UTF-7 (RFC 3501, 5.1.3)."""

_INDEX_FILE = re.compile(
    r".*\.(msf|dat|toc|cmeta|ev-summary(-meta)?|ibex\.index(\.data)?)"
    r"|table_of_contents|filterlog\.html",
    re.IGNORECASE,
)
"""Names of files that mail programs keep next to mboxes."""

_MAX_MESSAGE_START_BYTES = 1 << 12
"""Upper bound of the length of a `MESSAGE_START`."""

_ESCAPED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


def get_path_class(path: str, options: ReaderOptions, *suffixes: str) -> str | None:
    """Return the class of all documents of a path, usually its name without suffixes.

    Removed are suffixes of compressed files and the given ones of the format. None if labels are
    not needed, or each document has its own. Raise `UsageError` for standard input, which has no
    name.
    """
    if options.labelled and isinstance(path, LabelledFolder):
        return path.label
    if not options.labelled or options.reading.label_source:
        return None
    if path == "-":
        raise UsageError("standard input has no name that could be the class", hint="give a file")
    return _to_class_name(os.path.basename(os.path.realpath(path)).lstrip("."), suffixes)


def _to_class_name(name: str, suffixes: Iterable[str] = ()) -> str:
    """Return the class for a file or folder name: without suffixes, IMAP characters decoded."""
    name = strip_compression_suffix(name)
    for suffix in suffixes:
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    with suppress(UnicodeError, DocumentError):  # the name contains an ordinary ampersand
        return decode_name(_SHIFTED_CHARS.sub(_decode_shifted, name).encode())
    return decode_name(os.fsencode(name))


def _decode_shifted(match: re.Match[str]) -> str:
    """Return the characters that a match of `_SHIFTED_CHARS` encodes."""
    if not match[1]:
        return "&"
    return f"+{match[1].replace(',', '/')}-".encode().decode("utf-7")


def _is_maildir(path: str) -> bool:
    """Return whether a path is a directory with the three folders of a Maildir."""
    return all(os.path.isdir(os.path.join(path, folder)) for folder in MAILDIR_FOLDERS)


def _list_folders(path: str) -> list[str]:
    """Return the folders in a folder, in byte order; none if it cannot be read."""
    try:
        with os.scandir(path) as entries:
            return sorted((entry.path for entry in entries if entry.is_dir()), key=os.fsencode)
    except OSError:
        return []


def _list_maildirs(path: str) -> list[str]:
    """Return the Maildirs in a folder; none if it contains any other visible folder."""
    folders = [
        folder for folder in _list_folders(path) if not os.path.basename(folder).startswith(".")
    ]
    return folders if all(map(_is_maildir, folders)) else []


def _list_account_maildirs(path: str) -> list[str]:
    """Return the Maildirs of an account that have messages, with their classes.

    The path itself is INBOX, and its folder ``.A.B`` is ``A.B``. Empty without such folders.
    """
    folders = [
        LabelledFolder(folder, _to_class_name(os.path.basename(folder).lstrip(".")))
        for folder in _list_folders(path)
        if _is_maildir(folder)
    ]
    if not folders:
        return []
    maildirs = [LabelledFolder(path, "INBOX"), *folders]
    return [
        maildir
        for maildir in maildirs
        if any(scan_files(_list_message_folders(maildir), labelled=False))
    ]


def _list_message_folders(maildir: str) -> list[str]:
    """Return the folders of a Maildir with delivered messages."""
    return [os.path.join(maildir, folder) for folder in MAILDIR_FOLDERS[:2]]


def _find_maildirs(path: str, options: ReaderOptions) -> list[str]:
    """Return the Maildirs to read in place of a path; none if the path itself is to be read.

    They are the Maildirs in a folder, or those of an account that is the complete corpus.
    """
    if not _is_maildir(path):
        return _list_maildirs(path)
    if options.is_only_path and get_path_class(path, options):
        return _list_account_maildirs(path)
    return []


def contains_maildirs(path: str) -> bool:
    """Return whether a path is a Maildir or a folder of Maildirs."""
    return _is_maildir(path) or bool(_list_maildirs(path))


def is_mbox(start: bytes) -> bool:
    """Return whether a file with these first bytes is an mbox of at least two messages."""
    return start.startswith(ENVELOPE_PREFIX) and len(MESSAGE_START.findall(b"\n" + start)) > 1


def contains_only_mboxes(folder: str) -> bool:
    """Return whether all files in and below a folder are mboxes, apart from index files.

    A file is an mbox if its suffix says so, if it has an index, or by `is_mbox`. Empty files do
    not count.
    """
    has_mbox = False
    for name, _, file in scan_files([folder], labelled=False):
        if _INDEX_FILE.fullmatch(name):
            continue
        if not os.path.isfile(file):  # reading a pipe would block
            return False
        start = peek_start(file)
        has_suffix = strip_compression_suffix(name).lower().endswith(_MBOX_SUFFIXES)
        is_declared = has_suffix or os.path.exists(f"{file}.msf")
        if start and not (is_declared or is_mbox(start)):
            return False
        has_mbox = has_mbox or is_declared or bool(start)
    return has_mbox


def list_mboxes(path: str, options: ReaderOptions) -> Iterator[str]:
    """Yield the path if it is a file, else the mboxes in and below it.

    An mbox in a folder is a `LabelledFolder` unless its documents have their own labels. The class
    is the name of the class folder, else of the file. A folder ``Archive.sbd`` contains the
    folders of ``Archive``: one of its classes is ``Archive/2020``.
    """
    if path == "-" or not os.path.isdir(path):
        yield path
        return
    for file, problem in walk_files(path, follow_links=True):
        if problem is not None:
            raise PathError(problem.message, where=file, hint=problem.hint)
        if _INDEX_FILE.fullmatch(os.path.basename(file)):
            options.notices.unlabelled.append(file)
        elif isinstance(path, LabelledFolder):
            yield LabelledFolder(file, path.label)
        elif options.reading.label_source:
            yield file
        else:
            yield LabelledFolder(file, _get_mbox_class(file, path))


def _get_mbox_class(file: str, folder: str) -> str:
    """Return the class of an mbox in a folder; see `list_mboxes`."""
    name = os.path.relpath(file, folder)
    if file == os.path.join(folder, "mbox"):
        name = os.path.basename(os.path.realpath(folder))
    first_folder, separator, _ = name.partition(os.sep)
    if separator and not first_folder.endswith(".sbd"):
        return _to_class_name(first_folder, _MBOX_SUFFIXES)
    return _to_class_name(name.replace(".sbd/", "/"), _MBOX_SUFFIXES)


def list_maildir_files(path: str, options: ReaderOptions) -> Iterator[ListedFile]:
    """Yield the message files of a Maildir, or of each Maildir in a folder.

    An account that is the complete corpus has one class per folder with messages. Any other path is
    a message or a directory of messages. Raise `PathError` if it needs a class and has none.
    """
    is_labelled_folder = isinstance(path, LabelledFolder)
    if not is_labelled_folder and (maildirs := _find_maildirs(path, options)):
        files = (list_maildir_files(maildir, options) for maildir in maildirs)
        yield from merge_labels(chain.from_iterable(files), maildirs)
        return
    folders = _list_message_folders(path) if _is_maildir(path) else None
    if (label := get_path_class(path, options)) is not None:
        if folders is None and not (stat.S_ISDIR(stat_path(path).st_mode) and is_labelled_folder):
            raise PathError("not a Maildir: a folder cur, new or tmp is missing", where=path)
        warning = f"{path}: no messages in this Maildir"
        yield from list_labelled_files(folders or [path], label, options.notices, warning)
    elif folders is None:
        yield from list_unlabelled_files(path)
    else:
        for folder in folders:
            for file, problem in walk_files(folder):
                yield file, None, problem


def read_message(file: ListedFile, options: ReaderOptions) -> Document:
    """Return the message in a listed file of a Maildir.

    If the file was renamed meanwhile, because somebody read or flagged the message, find it by the
    constant part of its name.
    """
    document = read_listed_file(file, options)
    path, label, _ = file
    if document.problem is None or os.path.lexists(path):
        return document
    maildir = os.path.dirname(os.path.dirname(path))
    if not _is_maildir(maildir):
        return document
    unique_name = os.path.basename(path).partition(":")[0]
    with os.scandir(os.path.join(maildir, "cur")) as entries:
        renamed = next(
            (entry.path for entry in entries if entry.name.partition(":")[0] == unique_name), None
        )
    if renamed is None:
        return document
    return read_listed_file((renamed, label, None), options)


def read_mbox(path: str, options: ReaderOptions) -> Iterator[Document]:
    """Yield the messages of an mbox, or of those in a folder, named ``path:number`` from 1.

    A file that does not start like an mbox is one message, or, if labels are needed, raises
    `PathError`.
    """
    return chain.from_iterable(
        _read_mbox_file(file, options) for file in list_mboxes(path, options)
    )


def _read_mbox_file(path: str, options: ReaderOptions) -> Iterator[Document]:
    label = get_path_class(path, options, *_MBOX_SUFFIXES)
    limit = options.max_document_bytes
    with open_stream(path, options) as stream:
        if (
            options.labelled
            and not stream.peek(len(ENVELOPE_PREFIX)).startswith(ENVELOPE_PREFIX)
            and stream.peek(1)
        ):
            raise PathError(
                'not an mbox: it does not begin with "From "',
                where=path,
                hint="if each line is a document, give --format lines; if each file is, dir",
            )
        messages = _split_messages(stream, limit)
        for number, message in enumerate(messages, options.byte_range.records_before + 1):
            problem = create_size_error(limit) if message is None else None
            yield Document(f"{path}:{number}", label, message or b"", problem=problem)


def _split_messages(stream: BufferedReader, limit: int) -> Iterator[bytes | None]:
    """Yield the messages of an mbox; None for a message of more than ``limit`` bytes."""
    content = bytearray()
    is_too_large = False
    while chunk := stream.read1(BUFFER_BYTES):
        search_start = max(len(content) - _MAX_MESSAGE_START_BYTES, 0)
        content += chunk if content else chunk.lstrip(b"\r\n")
        start = 0
        ends = [match.start() + 1 for match in MESSAGE_START.finditer(content, search_start)]
        for end in ends:
            yield None if is_too_large else _clean_message(bytes(content[start:end]), limit)
            start = end
            is_too_large = False
        del content[:start]
        if len(content) > limit + BUFFER_BYTES:
            del content[:-_MAX_MESSAGE_START_BYTES]
            is_too_large = True
    if content:
        yield None if is_too_large else _clean_message(bytes(content), limit)


def _clean_message(content: bytes, limit: int) -> bytes | None:
    """Return a message without its envelope, without an empty line after it, and unescaped.

    None if it is larger than the limit.
    """
    message = content.partition(b"\n")[2] if content.startswith(ENVELOPE_PREFIX) else content
    without_line_end = message.removesuffix(b"\n").removesuffix(b"\r")
    if without_line_end.endswith(b"\n") or not without_line_end:
        message = without_line_end
    if len(message) > limit:
        return None
    if b"\n>From " in message or b"\n>>" in message:
        return _ESCAPED_FROM.sub(rb"\1", message)
    return message
