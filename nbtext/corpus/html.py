"""Decode documents of kind ``html``: split markup into texts and tags, extract the visible text.

HTML parts of mail are split here too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from html import unescape
from typing import Any, NamedTuple

from nbtext.charsets import find_codec
from nbtext.corpus.decoding import (
    DecodingIssues,
    decode_text,
    decode_with_charset,
    is_ascii_compatible,
)

_INLINE_TAGS = frozenset(
    b"a abbr b big em font i mark s small span strong sub sup tt u wbr".split()
)
"""Tags that do not end a word."""

_HIDDEN_ELEMENTS = frozenset({b"template", b"noscript"})
"""Elements whose content a browser does not show; `_MARKUP` handles script and style."""

_QUOTE_ELEMENT = b"blockquote"

_MARKUP = re.compile(
    rb"""<(?:
        # a tag
        (?:(?=([sS](?i:cript|tyle))[\s/>])|)(/?[a-zA-Z][^\s/>]*+)
        # its attributes; a quote that is not closed is no quote
        (?:>|([^>=]*+(?:=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])[^\s>]*+)[^>=]*+)*+)[^>]*+(?:>|\Z))
        # raw text up to its end tag
        (?(1)(?:(?<=/>)|(?:[^<]++|<(?!/(?i:\1)[\s/>]))*+(?:</[^>]*+(?:>|\Z)|\Z)))
    # a comment
    |   !--(?:-?>|(?:[^-]++|-(?!-!?\s*>))*+(?:--!?\s*>|\Z))
    # a declaration, or an end tag without a name
    |   [!?/][^>]*+(?:>|\Z)
    )""",
    re.VERBOSE,
)
"""A tag, a comment or a declaration, with the content of script and style elements.

It never backtracks over a "<", so it takes linear time. As the HTML standard requires, an element
or comment that is still open at the end of the input is dropped.
"""

_LONG_NUMBER = re.compile("&#(?=[0-9]{9})0*([0-9]{1,8})[0-9]*")
"""A character reference of nine digits or more; Python cannot convert more than 4,300 digits."""

_NO_BREAK_SPACE = "\xa0".encode()

_META_CHARSET = re.compile(
    rb"<meta[^>]{1,200}?charset\s*+=\s*+[\"']?\s*+([\w.:+-]+)", re.IGNORECASE
)
_META_CHARSET_MAX_BYTES = 1024
"""Number of first bytes of a document that must contain the charset."""


class _TagSpacing(dict[bytes | None, bytes]):
    """Cache of the bytes that replace a tag in the text: a space, or nothing.

    Inline tags and comments (None) become nothing.
    """

    def __missing__(self, tag: bytes | None) -> bytes:
        is_inline = tag is None or tag.lower().removeprefix(b"/") in _INLINE_TAGS
        spacing = b"" if is_inline else b" "
        if len(self) < _MAX_CACHED_TAGS and len(tag or b"") < _MAX_CACHED_TAG_BYTES:
            self[tag] = spacing
        return spacing


_MAX_CACHED_TAGS = 1 << 12
_MAX_CACHED_TAG_BYTES = 32

_TAG_SPACING = _TagSpacing()


class HtmlDocument(NamedTuple):
    """An HTML document in UTF-8, split at its tags and comments.

    ``texts[i]`` precedes tag or comment i, so there is one text more than there are tags.
    """

    texts: list[bytes]
    tags: list[bytes | None]
    """Name of each tag as written; end tags start with "/". None for a comment."""
    attributes: list[bytes | None]
    """Attributes of each tag; None for a comment, and for a tag without attributes."""

    @classmethod
    def from_markup(cls, markup: bytes) -> HtmlDocument:
        """Split a document at its tags."""
        # Each text is followed by the three groups of the pattern; the first is for script, style.
        pieces: list[Any] = _MARKUP.split(markup)
        return cls(texts=pieces[::4], tags=pieces[2::4], attributes=pieces[3::4])

    def extract_text(self, *, drop_quotes: bool = False) -> bytes:
        """Return the text without tags, comments, and elements that a browser does not show.

        With ``drop_quotes``, also drop block quotations.
        """
        dropped_elements = _HIDDEN_ELEMENTS
        if drop_quotes:
            dropped_elements = _HIDDEN_ELEMENTS | {_QUOTE_ELEMENT}
        texts: Iterable[bytes] = self.texts
        tag_names = (tag.lower() for tag in set(self.tags) if tag is not None)
        if not dropped_elements.isdisjoint(tag_names):
            texts = self._blank_dropped_texts(dropped_elements)
        # slices are twice as fast as `chain` and `zip`
        pieces = [b""] * (len(self.texts) + len(self.tags))
        pieces[::2] = texts
        pieces[1::2] = map(_TAG_SPACING.__getitem__, self.tags)
        text = b"".join(pieces).replace(b"&nbsp;", _NO_BREAK_SPACE)
        if b"&" not in text:
            return text
        # Eight digits of such a number are enough, since they are beyond Unicode too.
        shortened = _LONG_NUMBER.sub(r"&#\1", text.decode("utf-8", "replace"))
        return unescape(shortened).encode("utf-8", "replace")

    def _blank_dropped_texts(self, dropped_elements: frozenset[bytes]) -> Iterable[bytes]:
        """Yield each text, or an empty one if it is inside a dropped element."""
        open_elements: list[bytes] = []
        open_counts = Counter[bytes]()  # by name, since the list of open elements may be long
        for text, tag in zip(self.texts, [*self.tags, None], strict=True):
            yield b"" if open_elements else text
            name = (tag or b"").lower()
            if name in dropped_elements:
                open_elements.append(name)
                open_counts[name] += 1
            elif name.startswith(b"/") and open_counts[name[1:]]:
                # close the element, and all elements that were opened inside it
                closed = b""
                while closed != name[1:]:
                    closed = open_elements.pop()
                    open_counts[closed] -= 1


def find_meta_charset(markup: bytes) -> str | None:
    """Return the charset that a meta element declares; None if it is missing or unknown.

    A charset that is incompatible with ASCII counts as unknown, because an element in this charset
    could not be found.
    """
    declaration = _META_CHARSET.search(markup, 0, _META_CHARSET_MAX_BYTES)
    if not declaration or b"\0" in markup[:_META_CHARSET_MAX_BYTES]:
        return None
    label = declaration[1].decode("ascii", "replace")
    codec = find_codec(label)
    is_usable = codec is not None and is_ascii_compatible(codec)
    return label if is_usable else None


def decode_html(body: bytes, encoding: str) -> tuple[bytes, DecodingIssues]:
    """Return the text that a browser shows, in UTF-8, and its decoding issues.

    >>> text, _ = decode_html(b"<p>caf<b>&eacute;</b><br>au lait<script>x()</script>", "auto")
    >>> text.decode().split()
    ['café', 'au', 'lait']

    ``auto`` uses the charset that a meta element declares; without it, `decode_text` decides. Raise
    `DocumentError` for bytes that are invalid in a named encoding.
    """
    if encoding == "auto" and (charset := find_meta_charset(body)):
        markup, issues = decode_with_charset(body, charset, encoding)
    else:
        markup, issues = decode_text(body, encoding)
    return HtmlDocument.from_markup(markup).extract_text(), issues
