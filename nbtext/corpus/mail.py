"""Document kind ``mail``: the text a person would read. Chosen headers, then the text parts; HTML becomes text, attachments stay out."""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp
from email import message_from_bytes, policy
from html import unescape
from typing import TYPE_CHECKING

from nbtext.corpus.decoding import to_utf8
from nbtext.errors import DocumentError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from email.message import Message

_ENCODED_WORD = re.compile(r"=\?([\w.:+-]+)(?:\*[\w-]*)?\?([bBqQ])\?([^?]*)\?=")

_MARKUP = re.compile(
    r"<!--(?:.*?-->|.*)|<(?:script|style)\b(?:.*?</(?:script|style)\s*>|.*)|</?(?P<tag>[a-z][a-z0-9]*)(?:[\s/][^<>]*)?>|<[!?][^<>]*>",
    re.DOTALL | re.IGNORECASE,
)
_INLINE = frozenset({"a", "abbr", "b", "big", "em", "font", "i", "mark", "s", "small", "span", "strong", "sub", "sup", "tt", "u"})


def text_of_mail(body: bytes, headers: Sequence[str]) -> tuple[bytes, bool]:
    """The readable text of one message as UTF-8, and whether a part of it had to be taken for Windows-1252.

    Raises `DocumentError` for a message whose parts are nested too deeply.
    """
    try:
        message = message_from_bytes(body, policy=policy.compat32)
        named = [(name.lower(), value) for name, value in message.raw_items()]
        parts = [_header(str(value)) for wanted in headers for name, value in named if name == wanted]
        parts += [_part(part) for part in _readable(message)]
    except RecursionError:
        raise DocumentError("a message of too many parts within parts") from None
    return b"\n\n".join(text for text, _ in parts), any(transcoded for _, transcoded in parts)


def _header(value: str) -> tuple[bytes, bool]:
    """A header's value with encoded words (RFC 2047) decoded; white space between two of them vanishes."""
    first, *pieces = _ENCODED_WORD.split(value)
    decoded = [to_utf8(first.encode("utf-8", "surrogateescape"), "auto")]
    for at in range(0, len(pieces), 4):
        charset, kind, word, after = pieces[at : at + 4]
        decoded.append(_from_charset(_encoded_word(kind, word.encode("ascii", "replace")), charset.lower()))
        if after.strip() or at + 4 == len(pieces):
            decoded.append(to_utf8(after.encode("utf-8", "surrogateescape"), "auto"))
    return b"".join(text for text, _ in decoded), any(transcoded for _, transcoded in decoded)


def _encoded_word(kind: str, word: bytes) -> bytes:
    if kind in "qQ":
        return a2b_qp(word, header=True)
    try:
        return a2b_base64(word + b"==")
    except ValueError:
        return word


def _readable(message: Message) -> Iterator[Message]:
    """The text parts that are shown with a message: of alternatives the plain one, attachments left out, nested messages included."""
    if message.get_content_disposition() == "attachment":
        return
    if message.is_multipart():
        parts = [part for part in message.get_payload() if not isinstance(part, str)]
        if message.get_content_type() == "multipart/alternative":
            plain = [part for part in parts if part.get_content_type() == "text/plain" and str(part.get_payload()).strip()]
            parts = plain[:1] or parts[-1:]
        for part in parts:
            yield from _readable(part)
    elif message.get_content_type() in ("text/plain", "text/html"):
        yield message


def _part(part: Message) -> tuple[bytes, bool]:
    payload = part.get_payload(decode=True)
    body, transcoded = _from_charset(payload if isinstance(payload, bytes) else b"", part.get_content_charset())
    return (_text_of_html(body.decode("utf-8", "replace")).encode() if part.get_content_type() == "text/html" else body), transcoded


def _from_charset(body: bytes, charset: str | None) -> tuple[bytes, bool]:
    """By the charset declared; by the looks where it is unknown, or not what the bytes are."""
    if charset and charset not in ("us-ascii", "utf-8"):
        try:
            return to_utf8(body, charset)
        except (DocumentError, UsageError):
            pass
    return to_utf8(body, "auto")


def _text_of_html(markup: str) -> str:
    """What a reader sees: no tags, comments, scripts or styles; an inline tag does not part a word.

    Linear in time, which html.parser is not: on "<a <a <a" and the like it is quadratic, and mail comes from strangers.
    """
    return unescape(_MARKUP.sub(_instead_of_markup, markup))


def _instead_of_markup(match: re.Match[str]) -> str:
    return "" if (match["tag"] or "").lower() in _INLINE else " "
