"""The structure of a mail: its parts (RFC 2045 to 2047, 2183, 2231), and what they look like, as items for ``--set structure=true``."""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp
from collections import Counter
from functools import lru_cache
from itertools import compress, count, repeat
from operator import is_
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus.decoding import drop_partial_characters
from nbtext.corpus.mail.headers import (
    CONTENT_DECLARATION,
    CONTENT_HEADERS,
    Headers,
    get_header_filter,
    guess_registered_domain,
    list_host_items,
    split_headers,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.corpus.html import HtmlDocument

_DEEPEST = 20
"""Parts nested more deeply are read as text."""

_MOST_PARAMETERS = 64
_LONGEST = 4096
"""Parameters and bytes of a Content- header that are read."""

_KIND = re.compile(r"[^\x00-\x20;/]+/[^\x00-\x20;/]+")
_PARAMETER = re.compile(r';\s*([^\s=;*]++)(\*?+)[\d*]*+\s*+=\s*(?:"((?:[^"\\]|\\.)*+)"|([^;\s]*))')
_COMMENT = re.compile(r"\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\)")
"""It may hold others (RFC 5322, 3.2.2), here to the third level."""
_TRANSFER = re.compile(r"[^\s\"',;()]+")

_DIGITS = re.compile(rb"[A-Za-z0-9+/]{40}")
"""What base64 has, and hardly a footer."""
_FOOTER = re.compile(rb"\n(?:--|__)")
_AFTER_BOUNDARY = re.compile(rb"(--)?[ \t]*(?:\r?\n|\r?\Z)")


_FOR_PROGRAMS = frozenset({
    "text/calendar", "text/css", "text/directory", "text/ecmascript", "text/javascript",
    "text/rfc822-headers", "text/rtf", "text/vcard", "text/x-vcalendar", "text/x-vcard",
})  # fmt: skip
"""Text that mail programs do not show as it is: their keywords would be terms of each invitation, card or style sheet."""

_MARKUP = ("html", "enriched", "richtext", "xml")
"""Ends of the kinds whose tags are not shown; RFC 1896 for enriched."""

_NONE = get_header_filter(())
"""Headers of parts are read for what they declare alone."""


class MimePart(NamedTuple):
    """A message or a part of one, as its Content- headers declare it."""

    kind: str
    """The media type, in lower case."""
    charset: str | None
    encoding: str
    """The content transfer encoding, in lower case."""
    name: str
    """The name of the file that it is, if any."""
    is_attached: bool
    content: bytes
    """As it stands in the message."""
    parts: Sequence[MimePart] = ()

    @classmethod
    def from_headers(
        cls, headers: Headers, body: bytes, default: str = "text/plain", depth: int = 0
    ) -> MimePart:
        """Return a part, with the parts in it, from its headers and its body."""
        declared = {
            name.lower: value[:_LONGEST]
            for name, value in reversed(headers)
            if name.kind == CONTENT_DECLARATION
        }
        of_each = map(declared.get, CONTENT_HEADERS, repeat(b""))
        kind, charset, boundary, encoding, name, attached = _declaration(*of_each, default)
        parts: list[MimePart] = []
        if depth < _DEEPEST and kind.startswith("multipart/"):
            inner = "message/rfc822" if kind == "multipart/digest" else "text/plain"
            parts = [
                cls.from_headers(*split_headers(piece, _NONE), inner, depth + 1)
                for piece in _pieces(body, boundary)
            ]
        elif depth < _DEEPEST and kind == "message/rfc822":
            parts = [cls.from_headers(*split_headers(body, _NONE), depth=depth + 1)]
        if not parts and kind.startswith(("multipart/", "message/")):
            kind = "text/plain" if kind != "message/delivery-status" else kind
        return cls(kind, charset, encoding, name, attached, body, parts)

    @property
    def is_text(self) -> bool:
        """Whether it is text for people."""
        return self.kind.startswith("text/") and self.kind not in _FOR_PROGRAMS

    @property
    def is_markup(self) -> bool:
        """Whether it is HTML, or text with tags like those."""
        return self.kind.startswith("text/") and self.kind.endswith(_MARKUP)

    def walk(self) -> Iterator[MimePart]:
        """Yield the part, and all parts in it."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def decode_content(self) -> bytes:
        """Return the content without its transfer encoding, as far as it can be decoded."""
        if self.encoding == "quoted-printable":
            return a2b_qp(self.content)
        return _from_base64(self.content) if self.encoding == "base64" else self.content


def _from_base64(content: bytes) -> bytes:
    """Return what base64 stands for, without bytes that are no digits (RFC 2045, 6.8), or the footer that a mailing list puts after it."""
    if found := _FOOTER.search(content):
        last = max((digits.end() for digits in _DIGITS.finditer(content)), default=0)
        found = _FOOTER.search(content, last)
        content = content[: found.start()] if found else content
    try:
        return a2b_base64(content + b"==")
    except ValueError:  # one digit is left over
        return a2b_base64(content + b"A==")[:-1]


@lru_cache(1 << 8)
def _declaration(
    content_type: bytes, disposition: bytes, encoding: bytes, default: str
) -> tuple[str, str | None, bytes, str, str, bool]:
    """Return the kind, charset, boundary, transfer encoding and name that headers declare, and whether the part is attached."""
    value = content_type.decode("ascii", "replace")
    found = _KIND.match(value.strip())
    kind = "text/plain" if value else default
    if found:
        kind = found[0].lower()
    parameters = _parameters(value)
    how, _, of_file = disposition.decode("ascii", "replace").partition(";")
    name = _parameters(";" + of_file).get("filename", "") or parameters.get("name", "")
    boundary = parameters.get("boundary", "").encode("ascii", "replace")
    transfer = _TRANSFER.search(_COMMENT.sub("", encoding.decode("ascii", "replace")))
    declared = transfer[0].lower() if transfer else ""
    return (
        kind,
        parameters.get("charset"),
        boundary,
        declared,
        name,
        how.strip().lower() == "attachment",
    )


def _parameters(value: str) -> dict[str, str]:
    """Return parameters by name, in lower case; those continued (RFC 2231) are joined."""
    found: dict[str, str] = {}
    for name, extended, quoted, bare in _PARAMETER.findall(value)[:_MOST_PARAMETERS]:
        key = name.lower()
        if key not in found or extended:
            text = bare or re.sub(r"\\(.)", r"\1", quoted)
            found[key] = found.get(key, "") + (text.rpartition("'")[2] if extended else text)
    return found


def _pieces(body: bytes, boundary: bytes) -> Iterator[bytes]:
    """Yield what stands between the boundary lines of a multipart body, up to the closing one if there is one."""
    if not boundary:
        return
    delimiter = b"\n--" + boundary
    piece: list[bytes] = []
    begun = False
    for found in (b"\n" + body).split(delimiter)[1:]:
        end = _AFTER_BOUNDARY.match(found)
        if end is None:  # a longer boundary
            piece += (delimiter, found)
            continue
        if begun:
            yield b"".join(piece).removesuffix(b"\r")
        if end[1]:
            return
        piece = [found[end.end() :]]
        begun = True
    if begun:
        yield b"".join(piece)


_LINK = re.compile(rb"://(?:[^\s\"'<>@/]*@)?([\w.-]{3,100})")
"""The host of a link."""

_SHOWN_HOST = re.compile(rb"\s*(?:\w+://)?([\w-]+(?:\.[\w-]+)*\.[a-zA-Z]{2,})")
"""A host at the beginning of a link's text."""

_LINKS = frozenset({b"a", b"A"})

_ON_EVERY_PAGE = frozenset(b"html head title meta body p br a".split())
"""Tags that say no more than that a part is HTML."""

_COLOUR = re.compile(rb"color(?<=(.)color)\s*+[=:]\s*+[\"']?\s*+(#?\w{3,20})")
_OF_GROUND = b"g-"
"""What stands before "color" in bgcolor and background-color; searching for these words would take five times as long."""

_UNSEEN_STYLE = re.compile(rb"display\s*+:\s*+none|visibility\s*+:\s*+hidden")
_SMALL = re.compile(rb"size\s*+[:=]\s*+[\"']?[01](?![\d.])")

_LETTERS = frozenset(
    letter for letter in map(bytes, zip(range(256))) if letter.isalpha() or not letter.isascii()
)
"""Bytes that are letters, or parts of one."""

_SPACE_OR_QUOTE = b" \t\r\n\f\"'"

_CONTROLS = bytes(range(32))

_LONGEST_ITEM = 100
"""Bytes of an item that are kept at most, of the name of a file characters."""


def list_structure_items(
    parts: Sequence[MimePart], pages: Sequence[HtmlDocument], plain: bytes
) -> bytes:
    """Return what a mail looks like as items, each once, given it and all parts in it, the HTML parts, and the text of the others."""
    items = {b"parts:%d" % _amount(len(parts))}
    for part in parts:
        items.update(_of_part(part.kind, part.charset, part.encoding, part.name[-_LONGEST_ITEM:]))
    links = _LINK.findall(plain)
    for page in pages:
        attributes = b" ".join([b"", *filter(None, page.attributes)])
        links += _LINK.findall(attributes)
        items.update(_looks(page, attributes.lower()))
    items.add(b"links:%d" % _amount(len(links)))
    items.update(*[list_host_items(b"host", link.lower()) for link in set(links)])
    return b" ".join(sorted(items)).translate(None, _CONTROLS)


@lru_cache(1 << 10)
def _of_part(kind: str, charset: str | None, encoding: str, name: str) -> list[bytes]:
    fields = {
        b"type": kind,
        b"charset": charset,
        b"encoding": encoding,
        b"attachment": name.rpartition(".")[2],
    }
    values = {
        field: value.lower().encode("utf-8", "replace").translate(None, _SPACE_OR_QUOTE)
        for field, value in fields.items()
        if value
    }
    return [
        b"%b:%b" % (field, drop_partial_characters(value[:_LONGEST_ITEM]))
        for field, value in values.items()
    ]


def _looks(page: HtmlDocument, attributes: bytes) -> list[bytes]:
    """Return the items of a page: tags, colours, what is hidden, words that comments split, links that show another host than theirs."""
    tags: dict[bytes, int] = {}
    for found, number in Counter(page.tags).items():
        tag = (found or b"").lower()
        tags[tag] = tags.get(tag, 0) + number
    comments = tags.pop(b"", 0)
    items = [
        b"tag:" + drop_partial_characters(tag[:_LONGEST_ITEM])
        for tag in tags
        if not tag.startswith(b"/") and tag not in _ON_EVERY_PAGE
    ]
    items += (b"tags:%d" % _amount(sum(tags.values())), b"images:%d" % _amount(tags.get(b"img", 0)))
    colours = set(_COLOUR.findall(attributes))
    items += [b"colour:" + colour for _, colour in colours]
    if any(
        (before, colour) in colours
        for before in (b"g", b"-")
        for kind, colour in colours
        if kind not in _OF_GROUND
    ):
        items.append(b"hidden:colour")
    hidden = _SMALL.findall(attributes)
    if b"none" in attributes or b"hidden" in attributes:
        hidden += _UNSEEN_STYLE.findall(attributes)
    items += [b"hidden:" + style.translate(None, _SPACE_OR_QUOTE) for style in set(hidden)]
    if comments:
        places = compress(count(), map(is_, page.tags, repeat(None)))
        split = sum(
            page.texts[place][-1:] in _LETTERS and page.texts[place + 1][:1] in _LETTERS
            for place in places
        )
        items.append(b"split-words:%d" % _amount(split))
    for place in compress(count(), map(_LINKS.__contains__, page.tags)):
        shown = _SHOWN_HOST.match(page.texts[place + 1], 0, _LONGEST_ITEM)
        if shown and (target := _LINK.search(page.attributes[place] or b"")):
            same = guess_registered_domain(target[1].lower()) == guess_registered_domain(
                shown[1].lower()
            )
            items.append(b"link:same" if same else b"link:other")
    return items


def _amount(number: int) -> int:
    """Return a number as it is written in items: 0 to 3, then powers of two."""
    return number if number < 4 else 1 << number.bit_length() - 1
