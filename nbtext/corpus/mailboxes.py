"""Read the formats of mail ``mbox`` (many messages in a file) and ``maildir`` (a file per message).

The class of a message is the name of its mbox file, or of its Maildir.
"""

from __future__ import annotations

import os
import re
import stat
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

_DELIVERED_FOLDERS = ("cur", "new")
_MAILDIR_FOLDERS = (*_DELIVERED_FOLDERS, "tmp")
"""The folders of a Maildir; messages in tmp are still being delivered."""

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

A message starts with a line that looks like an envelope. One of the next five lines is a usual
header, and all lines before that header are headers too. This excludes "From the office, with
love", and an envelope that a letter quotes in its text.
"""

_MBOX_SUFFIXES = (".mbox", ".mbx")

_SHIFTED_CHARS = re.compile("&([A-Za-z0-9+,]*)-")
"""An encoded "&", or encoded non-ASCII characters, in the name of an IMAP folder.

The encoding is modified UTF-7 (RFC 3501, 5.1.3).
"""

_INDEX_FILE = re.compile(
    r".*\.(msf|dat|toc|cmeta|ev-summary(-meta)?|ibex\.index(\.data)?)"
    r"|table_of_contents|filterlog\.html",
    re.IGNORECASE,
)
"""Names of files that mail programs keep next to mboxes."""

_MAX_MESSAGE_START_BYTES = 1 << 12
"""Upper bound of the length of a `MESSAGE_START`."""

_ESCAPED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
"""A line of a message that would start another message without the ">" in front of it."""


def get_path_class(path: str, options: ReaderOptions, *suffixes: str) -> str | None:
    """Return the class of all documents of a path: usually the name of the path.

    The suffix of a compressed file, and the ``suffixes`` of the format, are removed. Return None if
    labels are not needed, or if each document has its own label. Raise `UsageError` for standard
    input, which has no name.
    """
    if options.labelled and isinstance(path, LabelledFolder):
        return path.label
    if not options.labelled or options.reading.label_source:
        return None
    if path == "-":
        raise UsageError("standard input has no name to use as the class", hint="use a file")
    name = os.path.basename(os.path.realpath(path))
    return _to_class_name(name.lstrip("."), suffixes)


def _to_class_name(name: str, suffixes: Iterable[str] = ()) -> str:
    """Return the class for a file or folder name, without suffixes, and decoded from IMAP."""
    name = strip_compression_suffix(name)
    for suffix in suffixes:
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    try:
        return decode_name(_SHIFTED_CHARS.sub(_decode_shifted, name).encode())
    except (UnicodeError, DocumentError):  # the name is not encoded, and has an ordinary "&"
        return decode_name(os.fsencode(name))


def _decode_shifted(match: re.Match[str]) -> str:
    """Return the characters that a match of `_SHIFTED_CHARS` encodes."""
    base64 = match[1]
    if not base64:
        return "&"
    utf7 = f"+{base64.replace(',', '/')}-"
    return utf7.encode().decode("utf-7")


def _is_maildir(path: str) -> bool:
    """Return whether a path is a directory with the three folders of a Maildir."""
    return all(os.path.isdir(os.path.join(path, folder)) for folder in _MAILDIR_FOLDERS)


def _list_folders(path: str) -> list[str]:
    """Return the folders in a folder, in byte order; no folders if it cannot be read."""
    try:
        with os.scandir(path) as entries:
            return sorted((entry.path for entry in entries if entry.is_dir()), key=os.fsencode)
    except OSError:
        return []


def _list_maildirs(path: str) -> list[str]:
    """Return the Maildirs in a folder; no Maildirs if it also has other visible folders."""
    folders = [
        folder for folder in _list_folders(path) if not os.path.basename(folder).startswith(".")
    ]
    return folders if all(map(_is_maildir, folders)) else []


def _list_account_maildirs(path: str) -> list[str]:
    """Return the Maildirs of an account that have messages, with their classes.

    The path is a Maildir, of class INBOX. If it contains other Maildirs, it is an account: a folder
    ``.A.B`` has the class ``A.B``. If not, return an empty list.
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
    return [os.path.join(maildir, folder) for folder in _DELIVERED_FOLDERS]


def _find_maildirs(path: str, options: ReaderOptions) -> list[str]:
    """Return the Maildirs to read instead of a path; an empty list if the path itself is read.

    They are the Maildirs in a folder, or the Maildirs of an account that is the complete corpus.
    """
    if not _is_maildir(path):
        return _list_maildirs(path)
    needs_class = options.labelled and not options.reading.label_source
    if needs_class and options.is_only_path:
        return _list_account_maildirs(path)
    return []


def contains_maildirs(path: str) -> bool:
    """Return whether a path is a Maildir or a folder of Maildirs."""
    return _is_maildir(path) or bool(_list_maildirs(path))


def is_mbox(start: bytes) -> bool:
    """Return whether a file with these first bytes is an mbox of at least two messages."""
    return start.startswith(ENVELOPE_PREFIX) and len(MESSAGE_START.findall(b"\n" + start)) > 1


def contains_only_mboxes(folder: str) -> bool:
    """Return whether a folder contains mboxes and, at any depth, no other files but index files.

    A file is an mbox if it has a suffix of an mbox, or an index file, or if `is_mbox` is true. Any
    other empty file is ignored.
    """
    has_mbox = False
    for name, _, file in scan_files([folder], labelled=False):
        if _INDEX_FILE.fullmatch(name):
            continue
        if not os.path.isfile(file):  # reading a pipe would block
            return False
        has_suffix = strip_compression_suffix(name).lower().endswith(_MBOX_SUFFIXES)
        has_index = os.path.exists(f"{file}.msf")
        if has_suffix or has_index:
            has_mbox = True
        elif start := peek_start(file):
            if not is_mbox(start):
                return False
            has_mbox = True
    return has_mbox


def list_mboxes(path: str, options: ReaderOptions) -> Iterator[str]:
    """Yield the path if it is a file, else the mboxes in and below it.

    An mbox in a folder is a `LabelledFolder` with its class, unless its documents have their own
    labels. Index files are added to ``options.notices``. Raise `PathError` for a file that cannot
    be read.
    """
    if path == "-" or not os.path.isdir(path):
        yield path
        return
    for file, _, problem in walk_files(path, follow_links=True):
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
    """Return the class of an mbox in a folder.

    >>> _get_mbox_class("mail/spam.mbox", "mail"), _get_mbox_class("mail/spam/2020/may", "mail")
    ('spam', 'spam')

    In Thunderbird, ``Archive.sbd`` contains the subfolders of the mail folder ``Archive``.

    >>> _get_mbox_class("mail/Archive.sbd/2020", "mail"), _get_mbox_class("mail/mbox", "mail")
    ('Archive/2020', 'mail')
    """
    name = os.path.relpath(file, folder)
    if name == "mbox":
        name = os.path.basename(os.path.realpath(folder))
    first_folder, separator, _ = name.partition(os.sep)
    if separator and not first_folder.endswith(".sbd"):
        name = first_folder
    return _to_class_name(name.replace(".sbd/", "/"), _MBOX_SUFFIXES)


def list_maildir_files(path: str, options: ReaderOptions) -> Iterator[ListedFile]:
    """Yield the message files of a path: of a Maildir, or of each Maildir in a folder.

    A Maildir that is the complete corpus may be an account; see `_list_account_maildirs`. Any other
    path is a message or a directory of messages. Raise `PathError` if such a path needs a class,
    unless it is a `LabelledFolder`.
    """
    is_labelled_folder = isinstance(path, LabelledFolder)
    maildirs = [] if is_labelled_folder else _find_maildirs(path, options)
    if maildirs:
        files = (list_maildir_files(maildir, options) for maildir in maildirs)
        yield from merge_labels(chain.from_iterable(files), maildirs)
        return
    is_maildir = _is_maildir(path)
    folders = _list_message_folders(path) if is_maildir else [path]
    label = get_path_class(path, options)
    if label is not None:
        if not is_maildir:
            is_folder = stat.S_ISDIR(stat_path(path).st_mode)  # raises if the path is missing
            if not (is_folder and is_labelled_folder):
                raise PathError("not a Maildir: a folder cur, new or tmp is missing", where=path)
        yield from list_labelled_files(
            folders, label, options.notices, f"{path}: no messages in this Maildir"
        )
    elif is_maildir:
        yield from chain.from_iterable(map(walk_files, folders))
    else:
        yield from list_unlabelled_files(path)


def read_message(file: ListedFile, options: ReaderOptions) -> Document:
    """Return the message in a listed file of a Maildir.

    A mail program renames the file when somebody reads or flags the message. If the file was
    renamed after it was listed, find it in ``cur`` by the constant part of its name, before the
    colon.
    """
    document = read_listed_file(file, options)
    if document.problem is None or os.path.lexists(file.path):
        return document
    folder, name = os.path.split(file.path)
    maildir = os.path.dirname(folder)
    if not _is_maildir(maildir):
        return document
    constant_name = name.partition(":")[0]
    with os.scandir(os.path.join(maildir, "cur")) as entries:
        for entry in entries:
            if entry.name.partition(":")[0] == constant_name:
                return read_listed_file(file._replace(path=entry.path, problem=None), options)
    return document


def read_mbox(path: str, options: ReaderOptions) -> Iterator[Document]:
    """Yield the messages of an mbox, or of the mboxes in a folder, named ``path:number`` from 1.

    A file that does not start like an mbox is one message. If labels are needed, raise `PathError`
    for such a file, unless it is empty.
    """
    return chain.from_iterable(
        _read_mbox_file(file, options) for file in list_mboxes(path, options)
    )


def _read_mbox_file(path: str, options: ReaderOptions) -> Iterator[Document]:
    """Yield the messages of a file; a message that is too large has a problem."""
    label = get_path_class(path, options, *_MBOX_SUFFIXES)
    limit = options.max_document_bytes
    with open_stream(path, options) as stream:
        start = stream.peek(len(ENVELOPE_PREFIX))
        if options.labelled and start and not start.startswith(ENVELOPE_PREFIX):
            raise PathError(
                'not an mbox: it does not begin with "From "',
                where=path,
                hint=(
                    "if each line is a document, add --format lines; if each file is one, "
                    "--format dir"
                ),
            )
        messages = _split_messages(stream, limit)
        for number, message in enumerate(messages, options.byte_range.records_before + 1):
            problem = create_size_error(limit) if message is None else None
            yield Document(f"{path}:{number}", label, message or b"", problem=problem)


def _split_messages(stream: BufferedReader, limit: int) -> Iterator[bytes | None]:
    """Yield the messages of an mbox; None for a message of more than ``limit`` bytes."""
    content = bytearray()  # what was read of the current message
    is_too_large = False  # whether the start of the current message was dropped
    while chunk := stream.read1(BUFFER_BYTES):
        # A message start may be split between the previous chunk and this one.
        search_start = max(len(content) - _MAX_MESSAGE_START_BYTES, 0)
        if not content:
            chunk = chunk.lstrip(b"\r\n")
        content += chunk
        start = 0
        for match in MESSAGE_START.finditer(content, search_start):
            end = match.start() + 1  # the match begins with the line end of this message
            yield None if is_too_large else _clean_message(content[start:end], limit)
            start = end
            is_too_large = False
        del content[:start]
        if len(content) > limit + BUFFER_BYTES:
            del content[:-_MAX_MESSAGE_START_BYTES]  # to save memory
            is_too_large = True
    if content:
        yield None if is_too_large else _clean_message(content, limit)


def _clean_message(content: bytearray, limit: int) -> bytes | None:
    """Return a message without its envelope and its empty last line; None if it is too large.

    Lines that start with ``>From`` lose their ">".
    """
    message = bytes(content)
    if message.startswith(ENVELOPE_PREFIX):
        _, _, message = message.partition(b"\n")
    without_line_end = message.removesuffix(b"\n").removesuffix(b"\r")
    has_empty_last_line = without_line_end.endswith(b"\n") or not without_line_end
    if has_empty_last_line:
        message = without_line_end
    if len(message) > limit:
        return None
    may_have_escapes = b"\n>From " in message or b"\n>>" in message
    return _ESCAPED_FROM.sub(rb"\1", message) if may_have_escapes else message
