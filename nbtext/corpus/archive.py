"""Format ``tar``: an archive with a folder per class, read as a stream. Nothing is unpacked to the disk, so names and links lead nowhere."""

from __future__ import annotations

import os
import re
from tarfile import BLOCKSIZE, HeaderError, TarInfo
from typing import TYPE_CHECKING

from nbtext.corpus.decoding import decoded_name
from nbtext.corpus.directory import without_folders
from nbtext.corpus.document import Document
from nbtext.corpus.streams import BUFFER, open_stream
from nbtext.errors import DocumentError, PathError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.corpus.document import Source

_LONG_NAME = re.compile(rb"^\d+ path=(.+)$", re.MULTILINE)
"""The name in an extended header."""

_REGULAR, _WITHOUT_CONTENT, _DESCRIBING = b"07\0", b"123456", b"5gKVXMN"
"""Types of members: files, those without content, and folders and what describes other members."""


def archived(path: str, source: Source) -> Iterator[Document]:
    """Yield a document for each file in folders of the archive, named ``path/member``; a folder that holds all others is no class."""
    wants_class = source.labelled and not source.reading.label_of_document
    if wants_class and path == "-":
        raise UsageError("an archive is read twice for its classes, and standard input can be read once", hint="give a file")
    folders = list({tuple(names[:-1]) for names, _, _ in _members(path, source)}) if wants_class else []
    if wants_class and not any(folders):
        raise without_folders(path)
    common = len(os.path.commonprefix(folders))  # noqa: RUF071 - of tuples
    place = common - all(len(each) == common for each in folders)
    for names, is_regular, content in _members(path, source):
        name = "/".join((path, *names))
        if not wants_class or 0 <= place < len(names) - 1:
            label = decoded_name(os.fsencode(names[place])) if wants_class else None
            yield Document(name, label, content, problem=None if is_regular else DocumentError("not a regular file"))
        else:
            source.notices.unlabelled.append(name)


def _members(path: str, source: Source) -> Iterator[tuple[list[str], bool, bytes]]:
    """Yield the parts of each member's name, whether it is a regular file, and its content, cut where it is too large; skip hidden ones as in folders."""
    long_name = b""
    with open_stream(path, source) as stream:
        while (header := stream.read(BLOCKSIZE)).strip(b"\0"):
            try:
                member = TarInfo.frombuf(header, "utf-8", "surrogateescape")
            except HeaderError:
                raise PathError("the tar archive is damaged") from None
            size = 0 if member.type in _WITHOUT_CONTENT else abs(member.size)
            content = stream.read(min(size, source.limit + 1))
            left = -(-size // BLOCKSIZE) * BLOCKSIZE - len(content)
            while left > 0:
                left -= len(stream.read(min(left, BUFFER))) or left + 1
            if left:
                raise PathError("the tar archive is cut short")
            if member.type == b"x":
                long_name = b"".join(_LONG_NAME.findall(content)[:1])
            elif member.type == b"L":
                long_name = content.rstrip(b"\0")
            elif member.type not in _DESCRIBING:
                names = [part for part in (os.fsdecode(long_name) or member.name).split("/") if part not in ("", ".", "..")]
                long_name = b""
                if names and not any(part[0] == "." for part in names):
                    yield names, member.type in _REGULAR, content
