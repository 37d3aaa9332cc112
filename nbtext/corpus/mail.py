"""Document kind ``mail``: the text that a person would read, that is, chosen headers and the text parts, without attachments.

A message in one plain part is read here; the email package, which takes about four times as long, reads all others. A test holds the two
equal.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp
from contextlib import suppress
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus.decoding import detect_encoding, from_charset, refuse_binary, to_utf8
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
    """Return the text up to the last line that is only "--", or "-- " as in RFC 3676 (4.3)."""
    return text[: max((line.start() for line in _SIGNATURE.finditer(text)), default=len(text))]


def without_quotes(text: bytes) -> bytes:
    r"""Return the text without lines that begin with ">" (or initials and ">"), and without the line ending in a colon before them.

    >>> without_quotes(b"On Monday Ann wrote:\n> the moon\n\nNo.\n")
    b'\nNo.\n'

    Drop also all text after a line "-----Original Message-----".
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
            attribution = -2 if kept and not kept[-1].strip() else -1
            if len(kept) >= -attribution and kept[attribution].rstrip().endswith(b":"):
                del kept[attribution:]
    return b"".join(kept)


_ENCODED_WORD = re.compile(r"=\?([\w.:+-]+)(?:\*[\w-]*)?\?([bBqQ])\?([^?]*)\?=")

_HEADERS = re.compile(rb"(?:[!-9;-~]+:[^\r\n]*\r?\n(?:[ \t][^\r\n]*\r?\n)*)+(?=\r?\n)")
"""Well-formed header lines up to the empty line; no match if one is malformed."""

_HEADER = re.compile(rb"([!-9;-~]+):([^\n]*(?:\n[ \t][^\n]*)*)\n")

_PLAIN = re.compile(rb"\s*text/plain\s*(?:;\s*charset\s*=\s*(?:\"([\w.:+-]+)\"|([\w.:+-]+))\s*)?", re.IGNORECASE)

_UNENCODED = frozenset({b"7bit", b"8bit"})
"""Content transfer encodings under which the body is as it stands."""

_MOST_PARAMETERS, _LONGEST = 64, 4096
"""Parameters and characters of a Content- header that are read: the email package takes quadratic time."""

_TextAndGuessed = tuple[bytes, bool]
"""A text as UTF-8, and whether it was read as Windows-1252."""


class MailText(NamedTuple):
    """Options of reading mail; ``encoding`` is for parts that do not declare theirs."""

    encoding: str = "auto"
    drop_quotes: bool = False
    drop_signatures: bool = False


class _Leaf(NamedTuple):
    """A text part of a message: its kind, the charset that it declares, and its bytes without transfer encoding."""

    kind: str
    charset: str | None
    content: bytes


_Fields = list[tuple[str, str]]
"""The headers of a message, names in lower case."""


def text_of_mail(body: bytes, headers: Sequence[str], wanted: MailText = MailText()) -> _TextAndGuessed:  # noqa: B008 - cannot change
    """Return the readable text of one message as UTF-8, and whether a part of it was read as Windows-1252.

    ``headers`` are the names, in lower case, of the headers to include. Raise `DocumentError` for parts nested too deeply, and for text that
    is not in the encoding named.
    """
    plain = _plain(body)
    return text_by_email_package(body, headers, wanted) if plain is None else _text(*plain, headers, wanted)


def text_by_email_package(body: bytes, headers: Sequence[str], wanted: MailText) -> _TextAndGuessed:
    """Return what `text_of_mail` returns, for any message."""
    from email import message_from_bytes

    try:
        message = message_from_bytes(body, policy=_policy())
        fields = [(name.lower(), str(value).strip()) for name, value in message.raw_items()]
        if not fields and wanted.encoding == "auto":
            refuse_binary(body, whole_file=True)
        return _text(fields, list(_readable(message)), headers, wanted)
    except RecursionError:
        raise DocumentError("message parts nested too deeply") from None


@cache
def _policy() -> Policy:
    """Return the email package's default policy, with Content- headers cut to a length."""
    from email.policy import Compat32

    class Bounded(Compat32):
        def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
            name, value = super().header_source_parse(sourcelines)
            if name.lower().startswith("content-"):
                value = ";".join(value[:_LONGEST].replace("\0", " ").split(";", _MOST_PARAMETERS)[:_MOST_PARAMETERS])
            return name, value

    return Bounded()


def _text(fields: _Fields, leaves: Sequence[_Leaf], headers: Sequence[str], wanted: MailText) -> _TextAndGuessed:
    parts = [_header(value, wanted.encoding) for name in headers for found, value in fields if found == name]
    parts += [_part(leaf, wanted) for leaf in leaves]
    return b"\n\n".join(text for text, _ in parts), any(guessed for _, guessed in parts)


def _plain(message: bytes) -> tuple[_Fields, list[_Leaf]] | None:
    """Return headers and text of a message of one plain part without transfer encoding, if its headers are well formed."""
    block = _HEADERS.match(message)
    if block is None:
        return None
    found = [(name.lower(), value) for name, value in _HEADER.findall(block[0])]
    if any(len(value) > _LONGEST and name.startswith(b"content-") for name, value in found):
        return None
    end = block.end() + (2 if message.startswith(b"\r", block.end()) else 1)
    charset, types = None, 0
    for name, padded in found:
        value = padded.strip()
        if not name.startswith(b"content-"):
            continue
        if name == b"content-type":
            types += 1
            declared = _PLAIN.fullmatch(value)
            if declared is None or types > 1:
                return None
            charset = (declared[1] or declared[2] or b"").decode().lower() or None
        elif name != b"content-length" and not (name == b"content-transfer-encoding" and value.lower() in _UNENCODED):
            return None
    fields = [(name.decode(), value.strip().decode("ascii", "surrogateescape")) for name, value in found]
    return fields, [_Leaf("text/plain", charset, message[end:])]


def _header(value: str, encoding: str) -> _TextAndGuessed:
    """Return a header's value with encoded words (RFC 2047) decoded; white space between two of them is dropped."""
    first, *pieces = _ENCODED_WORD.split(value) if "=?" in value else [value]
    decoded = [to_utf8(first.encode("utf-8", "surrogateescape"), encoding)]
    for at in range(0, len(pieces), 4):
        charset, kind, written, after = pieces[at : at + 4]
        word = written.encode("ascii", "replace")
        with suppress(ValueError):  # what is no base64 is shown as it stands
            word = a2b_qp(word, header=True) if kind in "qQ" else a2b_base64(word + b"==")
        decoded.append(from_charset(word, charset.lower(), "auto"))
        if after.strip() or at + 4 == len(pieces):
            decoded.append(to_utf8(after.encode("utf-8", "surrogateescape"), encoding))
    return b"".join(text for text, _ in decoded), any(guessed for _, guessed in decoded)


def _readable(message: Message) -> Iterator[_Leaf]:
    """Yield the text parts to show: of alternatives the plain one, nested messages included, no attachments."""
    if message.get_content_disposition() == "attachment":
        return
    kind = message.get_content_type()
    if message.is_multipart():
        parts = [part for part in message.get_payload() if not isinstance(part, str)]
        kinds = [part.get_content_type() for part in parts]
        read = [list(_readable(part)) for part in parts]
        if kind == "multipart/alternative":
            with_text = [any(leaf.content.strip() for leaf in leaves) for leaves in read]
            plain = [leaves for leaves, part_kind, said in zip(read, kinds, with_text, strict=True) if said and part_kind == "text/plain"]
            read = plain[:1] or read[-1:]
        yield from chain.from_iterable(read)
    elif kind in ("text/plain", "text/html"):
        try:
            charset = message.get_content_charset()
        except (LookupError, ValueError):  # the name is in an unknown encoding
            charset = None
        del message["content-type"]  # else the email package would decode by any codec named there
        content = message.get_payload(decode=True)
        yield _Leaf(kind, charset, content if isinstance(content, bytes) else b"")


def _part(leaf: _Leaf, wanted: MailText) -> _TextAndGuessed:
    content, encoding = detect_encoding(leaf.content, wanted.encoding)
    body, guessed = from_charset(content, leaf.charset, encoding)
    if leaf.kind == "text/html":
        body = text_of_html(body.decode("utf-8", "replace"), drop_quotes=wanted.drop_quotes).encode("utf-8", "replace")
    if wanted.drop_signatures:
        body = without_signature(body)
    return without_quotes(body) if wanted.drop_quotes else body, guessed
