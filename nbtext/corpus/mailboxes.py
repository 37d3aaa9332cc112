"""Formats of mail: ``mbox``, many messages in one file, and ``maildir``, a folder of messages. The class is the name of the file or folder."""

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
"""The folders of a Maildir; messages in the last are still being delivered."""

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
"""The beginning of a message in an mbox, with the end of the line before it.

It is a line that looks like an envelope, and one of the next five is a usual header, with only headers before it. So neither "From the office, with love" begins a
message, nor an envelope that a letter quotes before other words.
"""

_SUFFIXES = (".mbox", ".mbx")

_SHIFTED = re.compile("&([A-Za-z0-9+,]*)-")
"""Characters beyond ASCII, and "&" itself, in the name of a folder of IMAP: modified UTF-7 (RFC 3501, 5.1.3)."""

_INDEX = re.compile(
    r".*\.(msf|dat|toc|cmeta|ev-summary(-meta)?|ibex\.index(\.data)?)"
    r"|table_of_contents|filterlog\.html",
    re.IGNORECASE,
)
"""Names of files that mail programs keep beside mboxes."""

_LONGEST = 1 << 12
"""Bytes in which that surely ends."""

_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)


def get_path_class(path: str, source: ReaderOptions, *suffixes: str) -> str | None:
    """Return the class of all documents of a path: its name, without suffixes of compression and of the format.

    None if labels are not wanted, or each document has its own. Raise `UsageError` for standard input, which has no name.
    """
    if source.labelled and isinstance(path, LabelledFolder):
        return path.label
    if not source.labelled or source.reading.label_source:
        return None
    if path == "-":
        raise UsageError("standard input has no name that could be the class", hint="give a file")
    return _class_named(os.path.basename(os.path.realpath(path)).lstrip("."), suffixes)


def _class_named(name: str, suffixes: Iterable[str] = ()) -> str:
    name = strip_compression_suffix(name)
    for suffix in suffixes:
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    with suppress(UnicodeError, DocumentError):  # a name with an ampersand of its own
        return decode_name(_SHIFTED.sub(_unshifted, name).encode())
    return decode_name(os.fsencode(name))


def _unshifted(piece: re.Match[str]) -> str:
    """Return the characters that a piece of a folder's name stands for."""
    return f"+{piece[1].replace(',', '/')}-".encode().decode("utf-7") if piece[1] else "&"


def _is_maildir(path: str) -> bool:
    """Return whether a path is a directory with the three folders of a Maildir."""
    return all(os.path.isdir(os.path.join(path, folder)) for folder in MAILDIR_FOLDERS)


def _folders_in(path: str) -> list[str]:
    """Return the folders in a folder, none if it cannot be read."""
    try:
        with os.scandir(path) as entries:
            return sorted((entry.path for entry in entries if entry.is_dir()), key=os.fsencode)
    except OSError:
        return []


def _maildirs_in(path: str) -> list[str]:
    """Return the Maildirs in a folder that has no other visible folders; none if it has."""
    folders = [
        folder for folder in _folders_in(path) if not os.path.basename(folder).startswith(".")
    ]
    return folders if all(map(_is_maildir, folders)) else []


def _account_in(path: str) -> list[str]:
    """Return the Maildirs with messages of an account, with their classes: INBOX for the path itself and ``A.B`` for the folder ``.A.B`` in it; none if there is no folder."""
    folders = [
        LabelledFolder(each, _class_named(os.path.basename(each).lstrip(".")))
        for each in _folders_in(path)
        if _is_maildir(each)
    ]
    several = [LabelledFolder(path, "INBOX"), *folders] if folders else []
    return [each for each in several if any(scan_files(_parts_of(each), labelled=False))]


def _parts_of(path: str) -> list[str]:
    """Return the folders of a Maildir that hold messages."""
    return [os.path.join(path, folder) for folder in MAILDIR_FOLDERS[:2]]


def _maildirs_of(path: str, source: ReaderOptions) -> list[str]:
    """Return the Maildirs that a path stands for, if it is not one: those in a folder, or those of an account that is the whole corpus."""
    if not _is_maildir(path):
        return _maildirs_in(path)
    return _account_in(path) if source.is_only_path and get_path_class(path, source) else []


def contains_maildirs(path: str) -> bool:
    """Return whether a path is a Maildir or a folder of Maildirs."""
    return _is_maildir(path) or bool(_maildirs_in(path))


def is_mbox(start: bytes) -> bool:
    """Return whether a file with this beginning is an mbox beyond doubt: there are at least two messages."""
    return start.startswith(ENVELOPE_PREFIX) and len(MESSAGE_START.findall(b"\n" + start)) > 1


def contains_only_mboxes(folder: str) -> bool:
    """Return whether all files in and below a folder are surely mboxes: by name, by an index beside it, or with at least two messages."""
    found = False
    for name, _, file in scan_files([folder], labelled=False):
        if _INDEX.fullmatch(name):
            continue
        if not os.path.isfile(file):  # a pipe would wait
            return False
        start = peek_start(file)
        is_named = strip_compression_suffix(name).lower().endswith(_SUFFIXES) or os.path.exists(
            f"{file}.msf"
        )
        if start and not (is_named or is_mbox(start)):
            return False
        found = found or is_named or bool(start)
    return found


def list_mboxes(path: str, source: ReaderOptions) -> Iterator[str]:
    """Yield an mbox, or those in and below a folder, with their classes if the documents do not show these.

    The class is the name of the class folder, else of the file. A folder ``Archive.sbd`` has the folders of ``Archive``: a class is ``Archive/2020``.
    """
    if path == "-" or not os.path.isdir(path):
        yield path
        return
    for file, problem in walk_files(path, follow_links=True):
        if problem is not None:
            raise PathError(problem.message, where=file, hint=problem.hint)
        name = (
            os.path.relpath(file, path)
            if file != os.path.join(path, "mbox")
            else os.path.basename(os.path.realpath(path))
        )
        folder, below, _ = name.partition(os.sep)
        if _INDEX.fullmatch(os.path.basename(file)):
            source.notices.unlabelled.append(file)
        elif isinstance(path, LabelledFolder):
            yield LabelledFolder(file, path.label)
        elif source.reading.label_source:
            yield file
        else:
            shown = folder if below and not folder.endswith(".sbd") else name.replace(".sbd/", "/")
            yield LabelledFolder(file, _class_named(shown, _SUFFIXES))


def maildir(path: str, source: ReaderOptions) -> Iterator[ListedFile]:
    """Yield the files of a Maildir, or of each Maildir in a folder, that are messages. An account that is the whole corpus has a class for each folder with messages.

    Raise `PathError` for any other path if classes are wanted and it has none; else it is a message or a directory of messages.
    """
    if not isinstance(path, LabelledFolder) and (several := _maildirs_of(path, source)):
        yield from merge_labels(
            chain.from_iterable(maildir(each, source) for each in several), several
        )
        return
    folders = _parts_of(path) if _is_maildir(path) else None
    if (label := get_path_class(path, source)) is not None:
        if folders is None and not (
            stat.S_ISDIR(stat_path(path).st_mode) and isinstance(path, LabelledFolder)
        ):
            raise PathError("not a Maildir: a folder cur, new or tmp is missing", where=path)
        yield from list_labelled_files(
            folders or [path], label, source.notices, f"{path}: no messages in this Maildir"
        )
    elif folders is None:
        yield from list_unlabelled_files(path)
    else:
        yield from (
            (file, None, problem) for folder in folders for file, problem in walk_files(folder)
        )


def read_message(file: ListedFile, source: ReaderOptions) -> Document:
    """Read a listed file; a message of a Maildir that has another name since, because somebody read or flagged it, is found by what stays of the name."""
    document = read_listed_file(file, source)
    path, label, _ = file
    if (
        document.problem is None
        or os.path.lexists(path)
        or not _is_maildir(folder := os.path.dirname(os.path.dirname(path)))
    ):
        return document
    stays = os.path.basename(path).partition(":")[0]
    with os.scandir(os.path.join(folder, "cur")) as entries:
        renamed = next(
            (entry.path for entry in entries if entry.name.partition(":")[0] == stays), None
        )
    return document if renamed is None else read_listed_file((renamed, label, None), source)


def mbox(path: str, source: ReaderOptions) -> Iterator[Document]:
    """Yield a document for each message of an mbox, or of those in a folder, named ``path:number``, numbers from 1.

    If classes are wanted, raise `PathError` for a file that does not begin like an mbox; if not, it is one message.
    """
    return chain.from_iterable(_documents_of(file, source) for file in list_mboxes(path, source))


def _documents_of(path: str, source: ReaderOptions) -> Iterator[Document]:
    label = get_path_class(path, source, *_SUFFIXES)
    limit = source.max_document_bytes
    with open_stream(path, source) as stream:
        if (
            source.labelled
            and not stream.peek(len(ENVELOPE_PREFIX)).startswith(ENVELOPE_PREFIX)
            and stream.peek(1)
        ):
            raise PathError(
                'not an mbox: it does not begin with "From "',
                where=path,
                hint="if each line is a document, give --format lines; if each file is, dir",
            )
        for number, message in enumerate(
            _messages(stream, limit), source.byte_range.records_before + 1
        ):
            problem = create_size_error(limit) if message is None else None
            yield Document(f"{path}:{number}", label, message or b"", problem=problem)


def _messages(stream: BufferedReader, limit: int) -> Iterator[bytes | None]:
    """Yield the messages, without the lines between them and with one ">" less before "From "; None for one of more than ``limit`` bytes."""
    content = bytearray()
    is_cut = False
    while piece := stream.read1(BUFFER_BYTES):
        searched = max(len(content) - _LONGEST, 0)
        content += piece if content else piece.lstrip(b"\r\n")
        begin = 0
        for end in [found.start() + 1 for found in MESSAGE_START.finditer(content, searched)]:
            yield None if is_cut else _message(bytes(content[begin:end]), limit)
            begin = end
            is_cut = False
        del content[:begin]
        if len(content) > limit + BUFFER_BYTES:
            del content[:-_LONGEST]
            is_cut = True
    if content:
        yield None if is_cut else _message(bytes(content), limit)


def _message(content: bytes, limit: int) -> bytes | None:
    """Return a message without the line before it and an empty one after it; None if it is larger than the limit."""
    message = content.partition(b"\n")[2] if content.startswith(ENVELOPE_PREFIX) else content
    without_end = message.removesuffix(b"\n").removesuffix(b"\r")
    if without_end.endswith(b"\n") or not without_end:
        message = without_end
    if len(message) > limit:
        return None
    return (
        _ESCAPED.sub(rb"\1", message) if b"\n>From " in message or b"\n>>" in message else message
    )
