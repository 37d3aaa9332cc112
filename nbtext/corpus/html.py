"""Decode documents of kind ``html``: split markup into texts and tags, extract the visible text.

`nbtext.corpus.mail` uses this file for HTML parts of mail.
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
"""Tags that do not end a word. All other tags become a space in the text."""

_HIDDEN_ELEMENTS = frozenset({b"template", b"noscript"})
"""Elements whose content a browser does not show; `_MARKUP` handles script and style."""

_MARKUP = re.compile(
    rb"""<(?:
        # a tag
        (?:(?=([sS](?i:cript|tyle))[\s/>])|)(/?[a-zA-Z][^\s/>]*+)
        # its attributes; a quote mark without a second one is an ordinary character
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

_LONG_REFERENCE = re.compile("&#(?=[0-9]{9})0*([0-9]{1,8})[0-9]*")
"""A character reference of nine digits or more, with its first eight digits after zeros.

Python cannot convert more than 4,300 digits. Eight digits are enough, because a number of eight
digits is beyond Unicode too.
"""

_NO_BREAK_SPACE = "\xa0".encode()

_META_CHARSET = re.compile(
    rb"<meta[^>]{1,200}?charset\s*+=\s*+[\"']?\s*+([\w.:+-]+)", re.IGNORECASE
)
_META_CHARSET_MAX_BYTES = 1024
"""Number of first bytes of a document that must contain the charset."""

_MAX_CACHED_TAGS = 1 << 12
_MAX_CACHED_TAG_BYTES = 32
"""Limits of `_TagSpacing`, since mail may contain any number of invented tags."""


class _TagSpacing(dict[bytes | None, bytes]):
    """The bytes that replace a tag in the text, by tag. They are computed when they are needed.

    Inline tags, and comments (None), are replaced by nothing, all other tags by a space.
    """

    def __missing__(self, tag: bytes | None) -> bytes:
        name = (tag or b"").lower().removeprefix(b"/")
        spacing = b"" if tag is None or name in _INLINE_TAGS else b" "
        if len(self) < _MAX_CACHED_TAGS and len(name) < _MAX_CACHED_TAG_BYTES:
            self[tag] = spacing
        return spacing


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
        # After each text, `split` inserts the three groups of the pattern: the name of a script or
        # style element, which is not used, the tag, and its attributes.
        pieces: list[Any] = _MARKUP.split(markup)
        return cls(texts=pieces[::4], tags=pieces[2::4], attributes=pieces[3::4])

    def extract_text(self, *, drop_quotes: bool = False) -> bytes:
        """Return the text without tags, comments, and elements that a browser does not show.

        If ``drop_quotes``, also omit block quotations.
        """
        dropped_elements = _HIDDEN_ELEMENTS
        if drop_quotes:
            dropped_elements = _HIDDEN_ELEMENTS | {b"blockquote"}
        texts: Iterable[bytes] = self.texts
        tag_names = (tag.lower() for tag in set(self.tags) if tag is not None)
        if not dropped_elements.isdisjoint(tag_names):
            texts = self._blank_dropped_texts(dropped_elements)
        # Alternate texts and the spacing of tags. Slices are twice as fast as `chain` and `zip`.
        pieces = [b""] * (len(self.texts) + len(self.tags))
        pieces[::2] = texts
        pieces[1::2] = map(_TAG_SPACING.__getitem__, self.tags)
        text = b"".join(pieces).replace(b"&nbsp;", _NO_BREAK_SPACE)
        if b"&" not in text:
            return text
        shortened = _LONG_REFERENCE.sub(r"&#\1", text.decode("utf-8", "replace"))
        return unescape(shortened).encode("utf-8", "replace")

    def _blank_dropped_texts(self, dropped_elements: frozenset[bytes]) -> Iterable[bytes]:
        """Yield each text; if it is inside a dropped element, yield an empty text instead."""
        open_elements: list[bytes] = []
        # How often each name is among the open elements: the list may be long.
        open_counts = Counter[bytes]()
        tags_after_texts = [*self.tags, None]  # no tag follows the last text
        for text, tag in zip(self.texts, tags_after_texts, strict=True):
            yield b"" if open_elements else text
            name = (tag or b"").lower()
            if name in dropped_elements:
                open_elements.append(name)
                open_counts[name] += 1
            elif name.startswith(b"/") and open_counts[name[1:]]:
                # Close the element, and all elements that were opened inside it.
                closed = b""
                while closed != name[1:]:
                    closed = open_elements.pop()
                    open_counts[closed] -= 1


def find_meta_charset(markup: bytes) -> str | None:
    """Return the charset that a meta element declares; None if it is missing or unknown.

    Also return None for a charset that does not encode ASCII as ASCII: an element in this charset
    would not have been found. For the same reason, ignore a declaration near a NUL byte.
    """
    start = markup[:_META_CHARSET_MAX_BYTES]
    declaration = _META_CHARSET.search(start)
    if declaration is None or b"\0" in start:
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

    If ``encoding`` is ``auto``, use the charset that a meta element declares, else see
    `decode_text`. Raise `DocumentError` for bytes that are invalid in any other encoding.
    """
    charset = find_meta_charset(body) if encoding == "auto" else None
    if charset is None:
        markup, issues = decode_text(body, encoding)
    else:
        markup, issues = decode_with_charset(body, charset, encoding)
    return HtmlDocument.from_markup(markup).extract_text(), issues
