"""Document kind ``mail``: the text a person would read. Chosen headers, then the text parts; HTML becomes text, attachments stay out."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.header import decode_header
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from nbtext.corpus.decoding import to_utf8
from nbtext.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from email.message import Message


def text_of_mail(body: bytes, headers: Sequence[str]) -> tuple[bytes, bool]:
    """The readable text of one message as UTF-8, and whether a part of it had to be taken for Windows-1252."""
    message = message_from_bytes(body, policy=policy.compat32)
    parts = [to_utf8(_header(value), "auto") for name in headers for value in message.get_all(name, [])]
    parts += [_part(part) for part in _readable(message)]
    return b"\n\n".join(text for text, _ in parts), any(transcoded for _, transcoded in parts)


def _header(value: object) -> bytes:
    """A header's value with encoded words (RFC 2047) decoded."""
    decoded = []
    for piece, charset in decode_header(value if isinstance(value, str) else str(value)):
        raw = piece.encode("utf-8", "surrogateescape") if isinstance(piece, str) else piece
        decoded.append(_from_charset(raw, charset)[0])
    return b" ".join(decoded)


def _readable(message: Message) -> Iterator[Message]:
    """The text parts that are shown with a message: of alternatives the plain one, attachments left out, nested messages included."""
    if message.get_content_disposition() == "attachment":
        return
    if message.is_multipart():
        parts = [part for part in message.get_payload() if not isinstance(part, str)]
        if message.get_content_type() == "multipart/alternative":
            plain = [part for part in parts if part.get_content_type() == "text/plain"]
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
        except (DocumentError, LookupError):
            pass
    return to_utf8(body, "auto")


class _HtmlText(HTMLParser):
    """Collects what a reader sees: no tags, no scripts, no styles."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(self._hidden - (tag in ("script", "style")), 0)
        self.text.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text.append(data)


def _text_of_html(markup: str) -> str:
    parser = _HtmlText()
    parser.feed(markup)
    parser.close()
    return "".join(parser.text).encode("utf-8", "replace").decode()
