"""Parse the MIME structure of a mail into parts, and describe the parts by items.

An item is a term such as ``type:text/html``. The setting ``structure`` adds items to a mail.
Sources: RFC 2045 to 2047, 2183 and 2231.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus.decoding import drop_partial_characters
from nbtext.corpus.mail.headers import (
    CONTENT_HEADERS,
    Headers,
    get_header_filter,
    guess_registered_domain,
    list_host_items,
    split_headers,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.corpus.html import HtmlDocument

_MAX_PART_DEPTH = 20
"""Maximum depth of nested parts. Deeper parts are read as text."""

_MAX_PARAMETERS = 64
"""Maximum number of parameters of a Content- header that are read."""
_MAX_DECLARATION_BYTES = 4096
"""Maximum number of bytes of a Content- header that are read."""

_MEDIA_TYPE = re.compile(r"[^\x00-\x20;/]+/[^\x00-\x20;/]+")
_PARAMETER = re.compile(r';\s*([^\s=;*]++)(\*?+)[\d*]*+\s*+=\s*(?:"((?:[^"\\]|\\.)*+)"|([^;\s]*))')
_COMMENT = re.compile(r"\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\)")
"""A comment, which may contain others (RFC 5322, 3.2.2), here up to the third level."""
_TRANSFER_ENCODING = re.compile(r"[^\s\"',;()]+")

_BASE64_LINE = re.compile(rb"[A-Za-z0-9+/]{40}")
"""A sequence of base64 digits that is too long for a word in a footer."""
_FOOTER = re.compile(rb"\n(?:--|__)")
"""Start of a footer that a mailing list adds."""
_AFTER_BOUNDARY = re.compile(rb"(--)?[ \t]*(?:\r?\n|\r?\Z)")
"""The remainder of a boundary line; "--" if it is the closing boundary."""

_TEXT_FOR_PROGRAMS = frozenset({
    "text/calendar", "text/css", "text/directory", "text/ecmascript", "text/javascript",
    "text/rfc822-headers", "text/rtf", "text/vcard", "text/x-vcalendar", "text/x-vcard",
})  # fmt: skip
"""Media types of text that mail programs do not show unchanged.

If such text was read, its keywords would be terms of each invitation, business card or style sheet.
"""

_MARKUP_SUFFIXES = ("html", "enriched", "richtext", "xml")
"""Suffixes of media types with tags; for ``enriched``, see RFC 1896."""

_PART_HEADERS = get_header_filter(())
"""The filter that selects only the headers that declare a part."""


class _Declaration(NamedTuple):
    """The declarations in the Content- headers of a part. A missing text is empty."""

    media_type: str
    charset: str | None
    boundary: bytes
    transfer_encoding: str
    file_name: str
    is_attached: bool


class MimePart(NamedTuple):
    """A message, or a part of a message, as its Content- headers declare it."""

    media_type: str
    """The media type, in lower case."""
    charset: str | None
    """The charset; None if none is declared."""
    encoding: str
    """The content transfer encoding, in lower case; empty if none is declared."""
    name: str
    """The file name; empty if none is declared."""
    is_attached: bool
    """Whether the part is declared as an attachment."""
    content: bytes
    """The body with its transfer encoding."""
    parts: Sequence[MimePart] = ()
    """The parts inside this part."""

    @classmethod
    def from_headers(
        cls, headers: Headers, body: bytes, default: str = "text/plain", depth: int = 0
    ) -> MimePart:
        """Create a part, with the parts inside it, from its headers and its body.

        ``default`` is the media type if none is declared. ``depth`` is the number of parts around
        this part, 0 for the message.
        """
        declaration = _parse_declaration(headers, default)
        media_type = declaration.media_type
        part_contents: Iterable[bytes] = ()
        part_default = "text/plain"
        if depth < _MAX_PART_DEPTH:
            if media_type == "multipart/digest":
                part_default = "message/rfc822"
            if media_type.startswith("multipart/"):
                part_contents = _split_multipart(body, declaration.boundary)
            elif media_type == "message/rfc822":
                part_contents = [body]
        parts = [
            cls.from_headers(*split_headers(content, _PART_HEADERS), part_default, depth + 1)
            for content in part_contents
        ]
        is_container = media_type.startswith(("multipart/", "message/"))
        if not parts and is_container and media_type != "message/delivery-status":
            media_type = "text/plain"  # a container without parts is read as text
        return cls(
            media_type=media_type,
            charset=declaration.charset,
            encoding=declaration.transfer_encoding,
            name=declaration.file_name,
            is_attached=declaration.is_attached,
            content=body,
            parts=parts,
        )

    @property
    def is_text(self) -> bool:
        """Whether the part is text for people."""
        return self.media_type.startswith("text/") and self.media_type not in _TEXT_FOR_PROGRAMS

    @property
    def is_markup(self) -> bool:
        """Whether the part is HTML, or text with similar tags."""
        return self.media_type.startswith("text/") and self.media_type.endswith(_MARKUP_SUFFIXES)

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
    if _FOOTER.search(content):
        # A footer begins after the last long sequence of digits.
        digits_end = max((digits.end() for digits in _BASE64_LINE.finditer(content)), default=0)
        if footer := _FOOTER.search(content, digits_end):
            content = content[: footer.start()]
    try:
        return a2b_base64(content + b"==")  # padding that is not needed is ignored
    except ValueError:  # there is one digit too many: complete its byte, and drop it
        return a2b_base64(content + b"A==")[:-1]


def _parse_declaration(headers: Headers, default: str) -> _Declaration:
    """Parse the Content- headers; ``default`` is the media type if none is declared."""
    # The order is reversed because the first header with a name is valid.
    values = {
        rule.name: value[:_MAX_DECLARATION_BYTES]
        for rule, value in reversed(headers)
        if rule.kind == "mime"
    }
    content_type, disposition, encoding = (values.get(name, b"") for name in CONTENT_HEADERS)
    return _parse_content_headers(content_type, disposition, encoding, default)


@lru_cache(1 << 8)
def _parse_content_headers(
    content_type: bytes, disposition: bytes, encoding: bytes, default: str
) -> _Declaration:
    """Parse the values of Content- headers. The value of a missing header is empty."""
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
    """Return parameters by lower-case name. Continued parameters (RFC 2231) are joined."""
    parameters: dict[str, str] = {}
    for name, asterisk, quoted, unquoted in _PARAMETER.findall(value)[:_MAX_PARAMETERS]:
        key = name.lower()
        if key in parameters and not asterisk:
            continue
        text = unquoted or re.sub(r"\\(.)", r"\1", quoted)
        if asterisk:  # RFC 2231: charset and language may precede the text
            _, _, text = text.rpartition("'")
        parameters[key] = parameters.get(key, "") + text
    return parameters


def _split_multipart(body: bytes, boundary: bytes) -> Iterator[bytes]:
    """Yield the parts between the boundary lines of a multipart body.

    Text before the first boundary, and text after the closing boundary, is dropped.
    """
    if not boundary:
        return
    delimiter = b"\n--" + boundary
    part: list[bytes] = []
    is_inside_part = False
    _, *pieces = (b"\n" + body).split(delimiter)
    for piece in pieces:
        boundary_end = _AFTER_BOUNDARY.match(piece)
        if boundary_end is None:  # other text follows, so the line is no boundary
            part += (delimiter, piece)
            continue
        if is_inside_part:
            yield b"".join(part).removesuffix(b"\r")
        is_closing = boundary_end[1] == b"--"
        if is_closing:
            return
        part = [piece[boundary_end.end() :]]
        is_inside_part = True
    if is_inside_part:
        yield b"".join(part)


_LINK_HOST = re.compile(rb"://(?:[^\s\"'<>@/]*@)?([\w.-]{3,100})")

_SHOWN_HOST = re.compile(rb"\s*(?:\w+://)?([\w-]+(?:\.[\w-]+)*\.[a-zA-Z]{2,})")
"""A host at the start of the text of a link."""

_LINK_TAGS = frozenset({b"a", b"A"})

_UNINFORMATIVE_TAGS = frozenset(b"html head title meta body p br a".split())
"""Tags that occur on nearly every page."""

_COLOUR = re.compile(rb"color(?<=(.)color)\s*+[=:]\s*+[\"']?\s*+(#?\w{3,20})")
"""The declaration of a colour: the character before "color", and the colour."""
_BACKGROUND_PREFIXES = b"g-"
"""Characters before "color" in bgcolor and background-color.

Searching for these words would take five times as long.
"""

_HIDDEN_STYLE = re.compile(rb"display\s*+:\s*+none|visibility\s*+:\s*+hidden")
_TINY_SIZE = re.compile(rb"size\s*+[:=]\s*+[\"']?[01](?![\d.])")

_LETTER = re.compile(rb"[A-Za-z\x80-\xff]")
"""A byte that is a letter, or part of a letter."""

_SPACES_AND_QUOTES = b" \t\r\n\f\"'"

_CONTROL_BYTES = bytes(range(32))

_MAX_ITEM_BYTES = 100
"""Maximum size of an item. The last characters of a file name are used."""


def list_structure_items(
    parts: Sequence[MimePart], pages: Sequence[HtmlDocument], plain: bytes
) -> bytes:
    """Return distinct items that describe a mail, separated by spaces.

    ``parts`` are all parts, including the mail itself. ``pages`` are the HTML parts. ``plain`` is
    the text of the parts without markup.
    """
    items = {b"parts:%d" % _round_count(len(parts))}
    for part in parts:
        name_end = part.name[-_MAX_ITEM_BYTES:]
        items.update(_list_part_items(part.media_type, part.charset, part.encoding, name_end))
    link_hosts = _LINK_HOST.findall(plain)
    for page in pages:
        # A space in front, because patterns look at the byte before an attribute.
        attributes = b" ".join([b"", *filter(None, page.attributes)])
        link_hosts += _LINK_HOST.findall(attributes)
        items.update(_list_tag_items(page))
        items.update(_list_style_items(attributes.lower()))
        items.update(_list_split_word_items(page))
        items.update(_list_link_items(page))
    items.add(b"links:%d" % _round_count(len(link_hosts)))
    for host in set(link_hosts):
        items.update(list_host_items(b"host", host.lower()))
    return b" ".join(sorted(items)).translate(None, _CONTROL_BYTES)


@lru_cache(1 << 10)
def _list_part_items(media_type: str, charset: str | None, encoding: str, name: str) -> list[bytes]:
    """Return the items of a part: media type, charset, transfer encoding and file suffix."""
    properties = {
        b"type": media_type,
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


def _list_tag_items(page: HtmlDocument) -> list[bytes]:
    """Return items for the tags of a page, and for the numbers of tags and of images."""
    tag_counts = Counter[bytes]()
    for name, count in Counter(page.tags).items():  # a page has few different names
        if name is not None:
            tag_counts[name.lower()] += count
    items = [
        b"tag:" + drop_partial_characters(tag[:_MAX_ITEM_BYTES])
        for tag in tag_counts
        if not tag.startswith(b"/") and tag not in _UNINFORMATIVE_TAGS
    ]
    items.append(b"tags:%d" % _round_count(tag_counts.total()))
    items.append(b"images:%d" % _round_count(tag_counts[b"img"]))
    return items


def _list_style_items(attributes: bytes) -> list[bytes]:
    """Return items for the colours of a page, and for the ways in which it hides text.

    ``attributes`` are the joined attributes of all tags, in lower case.
    """
    colours = set(_COLOUR.findall(attributes))
    items = [b"colour:" + colour for _, colour in colours]
    text_colours = {colour for prefix, colour in colours if prefix not in _BACKGROUND_PREFIXES}
    background_colours = {colour for prefix, colour in colours if prefix in _BACKGROUND_PREFIXES}
    if not text_colours.isdisjoint(background_colours):
        items.append(b"hidden:colour")
    hidden = _TINY_SIZE.findall(attributes)
    if b"none" in attributes or b"hidden" in attributes:
        hidden += _HIDDEN_STYLE.findall(attributes)
    items += [b"hidden:" + style.translate(None, _SPACES_AND_QUOTES) for style in set(hidden)]
    return items


def _list_split_word_items(page: HtmlDocument) -> list[bytes]:
    """Return an item for the number of comments inside words, if the page has comments."""
    comment_indices = [index for index, tag in enumerate(page.tags) if tag is None]
    if not comment_indices:
        return []
    n_split_words = 0
    for index in comment_indices:
        last_byte = page.texts[index][-1:]
        next_byte = page.texts[index + 1][:1]
        if _LETTER.match(last_byte) and _LETTER.match(next_byte):
            n_split_words += 1
    return [b"split-words:%d" % _round_count(n_split_words)]


def _list_link_items(page: HtmlDocument) -> list[bytes]:
    """Return an item for each link whose text starts with a host.

    The item states whether the link leads to the domain of this host.
    """
    items = []
    link_indices = [index for index, tag in enumerate(page.tags) if tag in _LINK_TAGS]
    for index in link_indices:
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
    """Return a count from 0 to 3 unchanged, and a larger count rounded down to a power of two."""
    return number if number < 4 else 1 << (number.bit_length() - 1)
