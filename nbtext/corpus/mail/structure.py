"""MIME structure of a mail: its parts, and items that describe them for ``--set structure=true``.

RFC 2045 to 2047, 2183 and 2231.
"""

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

_MAX_PART_DEPTH = 20
"""Parts that are nested more deeply are read as text."""

_MAX_PARAMETERS = 64
_MAX_DECLARATION_BYTES = 4096
"""Number of parameters, and of bytes, of a Content- header that are read."""

_MEDIA_TYPE = re.compile(r"[^\x00-\x20;/]+/[^\x00-\x20;/]+")
_PARAMETER = re.compile(r';\s*([^\s=;*]++)(\*?+)[\d*]*+\s*+=\s*(?:"((?:[^"\\]|\\.)*+)"|([^;\s]*))')
_COMMENT = re.compile(r"\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\)")
"""A comment, which may contain others (RFC 5322, 3.2.2), here up to the third level."""
_TRANSFER_ENCODING = re.compile(r"[^\s\"',;()]+")

_BASE64_LINE = re.compile(rb"[A-Za-z0-9+/]{40}")
"""A sequence of base64 digits that is too long for a footer."""
_FOOTER = re.compile(rb"\n(?:--|__)")
_AFTER_BOUNDARY = re.compile(rb"(--)?[ \t]*(?:\r?\n|\r?\Z)")


_TEXT_FOR_PROGRAMS = frozenset({
    "text/calendar", "text/css", "text/directory", "text/ecmascript", "text/javascript",
    "text/rfc822-headers", "text/rtf", "text/vcard", "text/x-vcalendar", "text/x-vcard",
})  # fmt: skip
"""Text that mail programs do not show as it is.

Its keywords would become terms of every invitation, business card or style sheet.
"""

_MARKUP_SUFFIXES = ("html", "enriched", "richtext", "xml")
"""Suffixes of media types with tags; RFC 1896 for enriched."""

_PART_HEADERS = get_header_filter(())
"""Selects only the headers that declare a part."""


class _Declaration(NamedTuple):
    """What the Content- headers of a part declare."""

    media_type: str
    charset: str | None
    boundary: bytes
    transfer_encoding: str
    file_name: str
    is_attached: bool


class MimePart(NamedTuple):
    """A message or a part of one, as its Content- headers declare it."""

    kind: str
    """The media type, in lower case."""
    charset: str | None
    encoding: str
    """The content transfer encoding, in lower case."""
    name: str
    """The file name; empty if none is declared."""
    is_attached: bool
    content: bytes
    """The body with its transfer encoding."""
    parts: Sequence[MimePart] = ()

    @classmethod
    def from_headers(
        cls, headers: Headers, body: bytes, default: str = "text/plain", depth: int = 0
    ) -> MimePart:
        """Create a part, with the parts inside it, from its headers and its body.

        ``default`` is its media type if none is declared, ``depth`` its level of nesting.
        """
        declaration = _parse_declaration(headers, default)
        kind = declaration.media_type
        parts: list[MimePart] = []
        if depth < _MAX_PART_DEPTH and kind.startswith("multipart/"):
            part_default = "message/rfc822" if kind == "multipart/digest" else "text/plain"
            parts = [
                cls.from_headers(*split_headers(part, _PART_HEADERS), part_default, depth + 1)
                for part in _split_multipart(body, declaration.boundary)
            ]
        elif depth < _MAX_PART_DEPTH and kind == "message/rfc822":
            parts = [cls.from_headers(*split_headers(body, _PART_HEADERS), depth=depth + 1)]
        is_container = kind.startswith(("multipart/", "message/"))
        if not parts and is_container and kind != "message/delivery-status":
            kind = "text/plain"
        return cls(
            kind,
            declaration.charset,
            declaration.transfer_encoding,
            declaration.file_name,
            declaration.is_attached,
            body,
            parts,
        )

    @property
    def is_text(self) -> bool:
        """Whether it is text for people."""
        return self.kind.startswith("text/") and self.kind not in _TEXT_FOR_PROGRAMS

    @property
    def is_markup(self) -> bool:
        """Whether it is HTML, or text with similar tags."""
        return self.kind.startswith("text/") and self.kind.endswith(_MARKUP_SUFFIXES)

    def walk(self) -> Iterator[MimePart]:
        """Yield the part, then all parts inside it, depth first."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def decode_content(self) -> bytes:
        """Return the content without its transfer encoding, as far as it can be decoded."""
        if self.encoding == "quoted-printable":
            return a2b_qp(self.content)
        if self.encoding == "base64":
            return _decode_base64(self.content)
        return self.content


def _decode_base64(content: bytes) -> bytes:
    """Decode base64, ignoring invalid bytes (RFC 2045, 6.8) and the footer of a mailing list."""
    if footer := _FOOTER.search(content):
        digits_end = max((digits.end() for digits in _BASE64_LINE.finditer(content)), default=0)
        footer = _FOOTER.search(content, digits_end)
        if footer:
            content = content[: footer.start()]
    try:
        return a2b_base64(content + b"==")
    except ValueError:  # one superfluous digit
        return a2b_base64(content + b"A==")[:-1]


def _parse_declaration(headers: Headers, default: str) -> _Declaration:
    # The first header of a name is the valid one.
    values = {
        rule.lower: value[:_MAX_DECLARATION_BYTES]
        for rule, value in reversed(headers)
        if rule.kind == CONTENT_DECLARATION
    }
    return _parse_content_headers(*map(values.get, CONTENT_HEADERS, repeat(b"")), default)


@lru_cache(1 << 8)
def _parse_content_headers(
    content_type: bytes, disposition: bytes, encoding: bytes, default: str
) -> _Declaration:
    """Parse the values of the Content- headers of a part; an absent header is empty."""
    type_value = content_type.decode("ascii", "replace")
    media_type = "text/plain" if type_value else default
    if type_match := _MEDIA_TYPE.match(type_value.strip()):
        media_type = type_match[0].lower()
    parameters = _parse_parameters(type_value)
    disposition_type, _, file_parameters = disposition.decode("ascii", "replace").partition(";")
    file_name = _parse_parameters(";" + file_parameters).get("filename", "")
    encoding_match = _TRANSFER_ENCODING.search(
        _COMMENT.sub("", encoding.decode("ascii", "replace"))
    )
    return _Declaration(
        media_type,
        charset=parameters.get("charset"),
        boundary=parameters.get("boundary", "").encode("ascii", "replace"),
        transfer_encoding=encoding_match[0].lower() if encoding_match else "",
        file_name=file_name or parameters.get("name", ""),
        is_attached=disposition_type.strip().lower() == "attachment",
    )


def _parse_parameters(value: str) -> dict[str, str]:
    """Return parameters by lower-case name; continued ones (RFC 2231) are joined."""
    parameters: dict[str, str] = {}
    for name, extended, quoted, bare in _PARAMETER.findall(value)[:_MAX_PARAMETERS]:
        key = name.lower()
        if key in parameters and not extended:
            continue
        text = bare or re.sub(r"\\(.)", r"\1", quoted)
        if extended:
            text = text.rpartition("'")[2]
        parameters[key] = parameters.get(key, "") + text
    return parameters


def _split_multipart(body: bytes, boundary: bytes) -> Iterator[bytes]:
    """Yield the parts between the boundary lines of a multipart body.

    Text before the first boundary, and after a closing one, is dropped.
    """
    if not boundary:
        return
    delimiter = b"\n--" + boundary
    part: list[bytes] = []
    is_inside_part = False
    for piece in (b"\n" + body).split(delimiter)[1:]:
        boundary_end = _AFTER_BOUNDARY.match(piece)
        if boundary_end is None:  # the line is longer, so it is no boundary
            part += (delimiter, piece)
            continue
        if is_inside_part:
            yield b"".join(part).removesuffix(b"\r")
        is_closing = boundary_end[1]
        if is_closing:
            return
        part = [piece[boundary_end.end() :]]
        is_inside_part = True
    if is_inside_part:
        yield b"".join(part)


_LINK_HOST = re.compile(rb"://(?:[^\s\"'<>@/]*@)?([\w.-]{3,100})")

_SHOWN_HOST = re.compile(rb"\s*(?:\w+://)?([\w-]+(?:\.[\w-]+)*\.[a-zA-Z]{2,})")
"""A host at the start of a link's text."""

_LINK_TAGS = frozenset({b"a", b"A"})

_UNINFORMATIVE_TAGS = frozenset(b"html head title meta body p br a".split())
"""Tags that occur on nearly every page."""

_COLOUR = re.compile(rb"color(?<=(.)color)\s*+[=:]\s*+[\"']?\s*+(#?\w{3,20})")
"""The character before "color", and the colour."""
_BACKGROUND_PREFIXES = b"g-"
"""Characters before "color" in bgcolor and background-color.

Searching for these words would take five times as long.
"""

_HIDDEN_STYLE = re.compile(rb"display\s*+:\s*+none|visibility\s*+:\s*+hidden")
_TINY_SIZE = re.compile(rb"size\s*+[:=]\s*+[\"']?[01](?![\d.])")

_LETTERS = frozenset(
    letter for letter in map(bytes, zip(range(256))) if letter.isalpha() or not letter.isascii()
)
"""Bytes that are letters, or parts of one."""

_SPACES_AND_QUOTES = b" \t\r\n\f\"'"

_CONTROL_BYTES = bytes(range(32))

_MAX_ITEM_BYTES = 100
"""Maximum length of an item; of a file name, so many last characters are used."""


def list_structure_items(
    parts: Sequence[MimePart], pages: Sequence[HtmlDocument], plain: bytes
) -> bytes:
    """Return distinct items that describe a mail, separated by spaces.

    ``parts`` are all parts, the mail itself included, ``pages`` its HTML parts, and ``plain`` the
    text of the others.
    """
    items = {b"parts:%d" % _round_count(len(parts))}
    for part in parts:
        name_end = part.name[-_MAX_ITEM_BYTES:]
        items.update(_list_part_items(part.kind, part.charset, part.encoding, name_end))
    link_hosts = _LINK_HOST.findall(plain)
    for page in pages:
        attributes = b" ".join([b"", *filter(None, page.attributes)])
        link_hosts += _LINK_HOST.findall(attributes)
        items.update(_list_page_items(page, attributes.lower()))
    items.add(b"links:%d" % _round_count(len(link_hosts)))
    for host in set(link_hosts):
        items.update(list_host_items(b"host", host.lower()))
    return b" ".join(sorted(items)).translate(None, _CONTROL_BYTES)


@lru_cache(1 << 10)
def _list_part_items(kind: str, charset: str | None, encoding: str, name: str) -> list[bytes]:
    """Return the items of a part: media type, charset, transfer encoding and file suffix."""
    properties = {
        b"type": kind,
        b"charset": charset,
        b"encoding": encoding,
        b"attachment": name.rpartition(".")[2],
    }
    items = []
    for key, value in properties.items():
        if value:
            encoded = value.lower().encode("utf-8", "replace").translate(None, _SPACES_AND_QUOTES)
            items.append(b"%b:%b" % (key, drop_partial_characters(encoded[:_MAX_ITEM_BYTES])))
    return items


def _list_page_items(page: HtmlDocument, attributes: bytes) -> list[bytes]:
    """Return the items of an HTML page, given its joined attributes in lower case."""
    return [
        *_list_tag_items(page),
        *_list_style_items(attributes),
        *_list_split_word_items(page),
        *_list_link_items(page),
    ]


def _list_tag_items(page: HtmlDocument) -> list[bytes]:
    """Return the tags of a page, and the numbers of tags and of images."""
    tag_counts: dict[bytes, int] = {}
    for name, number in Counter(page.tags).items():
        if name is not None:
            tag = name.lower()
            tag_counts[tag] = tag_counts.get(tag, 0) + number
    items = [
        b"tag:" + drop_partial_characters(tag[:_MAX_ITEM_BYTES])
        for tag in tag_counts
        if not tag.startswith(b"/") and tag not in _UNINFORMATIVE_TAGS
    ]
    items.append(b"tags:%d" % _round_count(sum(tag_counts.values())))
    items.append(b"images:%d" % _round_count(tag_counts.get(b"img", 0)))
    return items


def _list_style_items(attributes: bytes) -> list[bytes]:
    """Return the colours of a page, and the ways in which it hides text."""
    colours = set(_COLOUR.findall(attributes))
    items = [b"colour:" + colour for _, colour in colours]
    text_colours = {colour for prefix, colour in colours if prefix not in _BACKGROUND_PREFIXES}
    background_colours = {colour for prefix, colour in colours if prefix in (b"g", b"-")}
    if not text_colours.isdisjoint(background_colours):
        items.append(b"hidden:colour")
    hidden = _TINY_SIZE.findall(attributes)
    if b"none" in attributes or b"hidden" in attributes:
        hidden += _HIDDEN_STYLE.findall(attributes)
    items += [b"hidden:" + style.translate(None, _SPACES_AND_QUOTES) for style in set(hidden)]
    return items


def _list_split_word_items(page: HtmlDocument) -> list[bytes]:
    """Return the number of comments inside words, if the page has comments."""
    comment_indices = list(compress(count(), map(is_, page.tags, repeat(None))))
    if not comment_indices:
        return []
    n_split_words = 0
    for index in comment_indices:
        text_before = page.texts[index]
        text_after = page.texts[index + 1]
        if text_before[-1:] in _LETTERS and text_after[:1] in _LETTERS:
            n_split_words += 1
    return [b"split-words:%d" % _round_count(n_split_words)]


def _list_link_items(page: HtmlDocument) -> list[bytes]:
    """Return an item per link whose text shows a host: whether it leads to the same domain."""
    items = []
    for index in compress(count(), map(_LINK_TAGS.__contains__, page.tags)):
        shown_host = _SHOWN_HOST.match(page.texts[index + 1], 0, _MAX_ITEM_BYTES)
        if shown_host is None:
            continue
        target_host = _LINK_HOST.search(page.attributes[index] or b"")
        if target_host is None:
            continue
        shown_domain = guess_registered_domain(shown_host[1].lower())
        target_domain = guess_registered_domain(target_host[1].lower())
        items.append(b"link:same" if shown_domain == target_domain else b"link:other")
    return items


def _round_count(number: int) -> int:
    """Round a count down for items: 0 to 3 are exact, larger ones powers of two."""
    return number if number < 4 else 1 << number.bit_length() - 1
