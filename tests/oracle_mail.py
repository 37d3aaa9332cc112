"""Mail and HTML as the standard library's parsers read them, slowly: to compare with."""

from __future__ import annotations

from email import message_from_bytes
from email.policy import compat32
from html.parser import HTMLParser
from itertools import chain
from typing import TYPE_CHECKING

from nbtext.corpus.decoding import DecodingIssues, decode_with_charset, merge_decoding_issues
from nbtext.corpus.html import _INLINE_TAGS
from nbtext.corpus.mail.headers import decode_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from email.message import Message

UNSEEN = ("script", "style", "template", "noscript")


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in UNSEEN:
            self.inside.append(tag)
        self.pieces.append("" if tag.encode() in _INLINE_TAGS else " ")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass
        self.pieces.append("" if tag.encode() in _INLINE_TAGS else " ")

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.pieces.append(data)

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        del report
        end: int = self.rawdata.find(">", i + 3)
        return end + 1 if end >= 0 else -1


def text_by_html_parser(markup: str) -> str:
    """Return the text of well-formed HTML."""
    parser = _Text()
    parser.feed(markup + "\n")
    return "".join(parser.pieces)


def text_by_email_package(
    body: bytes, names: Sequence[str], encoding: str = "auto"
) -> tuple[bytes, DecodingIssues]:
    """Return the headers of these names, then the text of the parts to show, of a well-formed message; and what is doubtful about it."""
    message = message_from_bytes(body, policy=compat32)
    headers = [
        (name.lower(), str(value).strip().encode("ascii", "surrogateescape"))
        for name, value in message.raw_items()
    ]
    parts = [
        decode_header(value, encoding)
        for name in names
        for found, value in headers
        if found == name
    ]
    parts += [_text(part, encoding) for part in _shown(message)]
    return b"\n\n".join(text for text, _ in parts), merge_decoding_issues(
        doubts for _, doubts in parts
    )


def _shown(message: Message) -> Iterator[Message]:
    if message.get_content_disposition() == "attachment":
        return
    if message.is_multipart():
        parts: list[Message] = message.get_payload()  # type: ignore[assignment] # parts, since it is multipart
        shown = [list(_shown(part)) for part in parts]
        if message.get_content_type() == "multipart/alternative":
            plain = [
                leaves
                for leaves, part in zip(shown, parts, strict=True)
                if part.get_content_type() == "text/plain"
                and any(str(leaf.get_payload()).strip() for leaf in leaves)
            ]
            shown = plain[:1] or shown[-1:]
        yield from chain.from_iterable(shown)
    elif message.get_content_maintype() == "text":
        yield message


def _text(part: Message, encoding: str) -> tuple[bytes, DecodingIssues]:
    charset = part.get_content_charset()
    kind = part.get_content_type()
    del part["content-type"]  # else the email package would decode by any codec named there
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    text, doubts = decode_with_charset(content, charset, encoding)
    return (text_by_html_parser(text.decode()).encode() if kind == "text/html" else text), doubts
