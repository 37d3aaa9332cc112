"""What a mail repeats or appends: quoted lines of the message that it answers, and signatures.

Document kind ``mail``: the text a person would read. Chosen headers, then the text parts; HTML becomes text, attachments stay out.

A message in one plain part, as nearly all of a newsgroup are, is cut apart here; the email package, which takes about four times as
long, does all others. A test holds the two equal.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus.document import by_mark, from_charset, to_utf8
from nbtext.corpus.html import text_of_html
from nbtext.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from email.message import Message
    from email.policy import Policy


_SIGNATURE = re.compile(rb"^--[ ]?\r?$", re.MULTILINE)


_QUOTED = re.compile(rb"[ \t]*\w{0,4}>")


_COPY = re.compile(rb"^-{2,}[ ]*original message[ ]*-{2,}", re.MULTILINE | re.IGNORECASE)


def without_signature(text: bytes) -> bytes:
    """The text up to the last line that is only "--", or "-- " as RFC 3676 (4.3) has it."""
    last = None
    for last in _SIGNATURE.finditer(text):  # noqa: B007 - the last one is wanted
        pass
    return text[: last.start()] if last else text


def without_quotes(text: bytes) -> bytes:
    r"""The text without lines that begin with ">" (or initials and ">"), and without the line ending in a colon before them.

    >>> without_quotes(b"On Monday Ann wrote:\n> the moon\n\nNo.\n")
    b'\nNo.\n'

    What follows a line "-----Original Message-----" is left out too.
    """
    copy = _COPY.search(text)
    kept: list[bytes] = []
    quoted = False
    for line in (text[: copy.start()] if copy else text).splitlines(keepends=True):
        if not _QUOTED.match(line):
            quoted = False
            kept.append(line)
        elif not quoted:
            quoted = True
            _drop_attribution(kept)
    return b"".join(kept)


def _drop_attribution(kept: list[bytes]) -> None:
    empty = 1 if kept and not kept[-1].strip() else 0
    if len(kept) > empty and kept[-1 - empty].rstrip().endswith(b":"):
        del kept[-1 - empty :]


_ENCODED_WORD = re.compile(r"=\?([\w.:+-]+)(?:\*[\w-]*)?\?([bBqQ])\?([^?]*)\?=")


_HEADERS = re.compile(rb"(?:[!-9;-~]+:[^\r\n]*\r?\n(?:[ \t][^\r\n]*\r?\n)*)+(?=\r?\n)")
"""Header lines as they should be, up to the empty line; nothing where one is not so."""


_HEADER = re.compile(rb"([!-9;-~]+):([^\n]*(?:\n[ \t][^\n]*)*)\n")


_PLAIN = re.compile(rb"\s*text/plain\s*(?:;\s*charset\s*=\s*(?:\"([\w.:+-]+)\"|([\w.:+-]+))\s*)?", re.IGNORECASE)


_AS_IT_IS = frozenset({b"7bit", b"8bit"})


_MOST_PARAMETERS, _LONGEST = 64, 4096
"""Parameters and characters of a Content- header that are looked at: the email package takes the square of their number."""


_TextAndGuessed = tuple[bytes, bool]


class MailText(NamedTuple):
    """Which text of a mail is wanted, and the encoding of parts that do not tell theirs."""

    encoding: str = "auto"
    drop_quotes: bool = False
    drop_signatures: bool = False


class _Plain(NamedTuple):
    """A message of one part that stands in it as it is."""

    headers: list[tuple[bytes, bytes]]
    charset: str | None
    body: bytes


def text_of_mail(body: bytes, headers: Sequence[str], wanted: MailText = MailText()) -> _TextAndGuessed:  # noqa: B008 - cannot change
    """The readable text of one message as UTF-8, and whether a part of it had to be taken for Windows-1252.

    Raises `DocumentError` for a message whose parts are nested too deeply, and for text that is not in the encoding named.
    """
    plain = _plain(body)
    if plain is None:
        return text_by_email_package(body, headers, wanted)
    parts = [
        _header(value.decode("ascii", "surrogateescape"), wanted.encoding)
        for name in headers
        for found, value in plain.headers
        if found == name.encode()
    ]
    parts.append(_shortened(_decoded(plain.body, plain.charset, wanted), wanted))
    return _joined(parts)


def text_by_email_package(body: bytes, headers: Sequence[str], wanted: MailText) -> _TextAndGuessed:
    """`text_of_mail` for any message."""
    from email import message_from_bytes

    try:
        message = message_from_bytes(body, policy=_policy())
        named = [(name.lower(), value) for name, value in message.raw_items()]
        parts = [_header(str(value).strip(), wanted.encoding) for name in headers for found, value in named if found == name]
        parts += [_part(part, wanted) for part in _readable(message)]
    except RecursionError:
        raise DocumentError("a message of too many parts within parts") from None
    return _joined(parts)


@cache
def _policy() -> Policy:
    """Return the email package's own way to read a message, but for Content- headers that are too long."""
    from email.policy import Compat32

    class Bounded(Compat32):
        def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
            name, value = super().header_source_parse(sourcelines)
            if name.lower().startswith("content-"):
                value = ";".join(value[:_LONGEST].split(";", _MOST_PARAMETERS)[:_MOST_PARAMETERS])
            return name, value

    return Bounded()


def _joined(parts: list[_TextAndGuessed]) -> _TextAndGuessed:
    return b"\n\n".join(text for text, _ in parts), any(guessed for _, guessed in parts)


def _plain(message: bytes) -> _Plain | None:
    """The message cut apart, if its headers are well formed and say of the body nothing but a charset."""
    block = _HEADERS.match(message)
    if block is None:
        return None
    found = [(name.lower(), value) for name, value in _HEADER.findall(block[0])]
    if any(len(value) > _LONGEST and name.startswith(b"content-") for name, value in found):
        return None
    headers = [(name, value.strip()) for name, value in found]
    end = block.end() + (2 if message.startswith(b"\r", block.end()) else 1)
    charset, types = None, 0
    for name, value in headers:
        if not name.startswith(b"content-"):
            continue
        if name == b"content-type":
            types += 1
            declared = _PLAIN.fullmatch(value)
            if declared is None or types > 1:
                return None
            charset = (declared[1] or declared[2] or b"").decode().lower() or None
        elif name != b"content-length" and not (name == b"content-transfer-encoding" and value.lower() in _AS_IT_IS):
            return None
    return _Plain(headers, charset, message[end:])


def _header(value: str, encoding: str) -> _TextAndGuessed:
    """A header's value with encoded words (RFC 2047) decoded; white space between two of them vanishes."""
    if "=?" not in value:
        return to_utf8(value.encode("utf-8", "surrogateescape"), encoding)
    first, *pieces = _ENCODED_WORD.split(value)
    decoded = [to_utf8(first.encode("utf-8", "surrogateescape"), encoding)]
    for at in range(0, len(pieces), 4):
        charset, kind, word, after = pieces[at : at + 4]
        decoded.append(from_charset(_encoded_word(kind, word.encode("ascii", "replace")), charset.lower(), "auto"))
        if after.strip() or at + 4 == len(pieces):
            decoded.append(to_utf8(after.encode("utf-8", "surrogateescape"), encoding))
    return b"".join(text for text, _ in decoded), any(guessed for _, guessed in decoded)


def _encoded_word(kind: str, word: bytes) -> bytes:
    if kind in "qQ":
        return a2b_qp(word, header=True)
    try:
        return a2b_base64(word + b"==")
    except ValueError:
        return word


class _Leaf(NamedTuple):
    """A text part of a message: its kind, the charset that it names, and its bytes without transfer encoding."""

    kind: str
    charset: str | None
    content: bytes


def _readable(message: Message) -> Iterator[_Leaf]:
    """The text parts that are shown with a message: of alternatives the plain one, attachments left out, nested messages included."""
    if message.get_content_disposition() == "attachment":
        return
    kind = message.get_content_type()
    if message.is_multipart():
        parts = [part for part in message.get_payload() if not isinstance(part, str)]
        kinds = [part.get_content_type() for part in parts]
        read = [list(_readable(part)) for part in parts]
        if kind == "multipart/alternative":
            plain = [leaves for of_part, leaves in zip(kinds, read, strict=True) if of_part == "text/plain" and _says_something(leaves)]
            read = plain[:1] or read[-1:]
        for leaves in read:
            yield from leaves
    elif kind in ("text/plain", "text/html"):
        charset = _charset(message)
        del message["content-type"]  # by which the email package would decode, with whatever codec is named there
        content = message.get_payload(decode=True)
        yield _Leaf(kind, charset, content if isinstance(content, bytes) else b"")


def _says_something(leaves: Sequence[_Leaf]) -> bool:
    return any(leaf.content.strip() for leaf in leaves)


def _charset(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except (LookupError, ValueError):  # a name in an encoding that is none
        return None


def _part(leaf: _Leaf, wanted: MailText) -> _TextAndGuessed:
    body, guessed = _decoded(leaf.content, leaf.charset, wanted)
    if leaf.kind == "text/html":
        body = text_of_html(body.decode("utf-8", "replace"), drop_quotes=wanted.drop_quotes).encode("utf-8", "replace")
    return _shortened((body, guessed), wanted)


def _decoded(content: bytes, charset: str | None, wanted: MailText) -> _TextAndGuessed:
    content, encoding = by_mark(content, wanted.encoding)
    return from_charset(content, charset, encoding)


def _shortened(text: _TextAndGuessed, wanted: MailText) -> _TextAndGuessed:
    body, guessed = text
    if wanted.drop_signatures:
        body = without_signature(body)
    return without_quotes(body) if wanted.drop_quotes else body, guessed
