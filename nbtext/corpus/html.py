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
        # A tag. The group "raw" is set only for script and style.
        (?:(?=(?P<raw>[sS](?i:cript|tyle))[\s/>])|)
        (?P<tag>/?[a-zA-Z][^\s/>]*+)
        # Its attributes. A quote mark without a second one is an ordinary character.
        (?:
            >
        |   (?P<attributes>
                [^>=]*+
                (?:=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])[^\s>]*+)[^>=]*+)*+
            )
            [^>]*+(?:>|\Z)
        )
        # The content of script and style, and their end tag, unless the tag ends with "/>".
        (?(raw)
            (?:
                (?<=/>)
            |   (?:[^<]++|<(?!/(?i:(?P=raw))[\s/>]))*+
                (?:</[^>]*+(?:>|\Z)|\Z)
            )
        )
    # A comment. "<!-->" and "<!--->" are empty comments, and "--!>" ends a comment too.
    |   !--(?:-?>|(?:[^-]++|-(?!-!?\s*>))*+(?:--!?\s*>|\Z))
    # A declaration, or an end tag without a name.
    |   [!?/][^>]*+(?:>|\Z)
    )""",
    re.VERBOSE,
)
"""A tag, a comment or a declaration, with the content of script and style elements.

It never backtracks over a "<", so it takes linear time. As the HTML standard requires, an
incomplete tag, comment or declaration extends to the end of the input, and so does a script or
style element without an end tag.
"""

_LONG_REFERENCE = re.compile("&#(?=[0-9]{9})0*([0-9]{1,8})[0-9]*")
"""A character reference of nine digits or more. Group 1 is the first eight after leading zeros.

Python cannot convert more than 4,300 digits. Eight digits are enough, because a number of eight
digits is beyond Unicode too.
"""

_NO_BREAK_SPACE = "\xa0".encode()

_META_CHARSET = re.compile(
    rb"<meta[^>]{1,200}?charset\s*+=\s*+[\"']?\s*+([\w.:+-]+)", re.IGNORECASE
)
"""A charset that is declared at most 200 bytes after "<meta". Group 1 is its label."""

_META_CHARSET_MAX_BYTES = 1024
"""Number of first bytes of a document that are searched for its charset."""

_MAX_CACHED_TAGS = 1 << 12
_MAX_CACHED_TAG_BYTES = 32
"""Limits of the number and size of tags in `_TAG_SPACING`. Mail may contain any invented tags."""


class _TagSpacing(dict[bytes | None, bytes]):
    """The bytes that replace a tag in the text, by tag. A missing tag is added if there is room.

    Inline tags are replaced by nothing, all other tags by a space.
    """

    def __missing__(self, tag: bytes) -> bytes:
        name = tag.lower().removeprefix(b"/")
        spacing = b"" if name in _INLINE_TAGS else b" "
        if len(self) < _MAX_CACHED_TAGS and len(name) < _MAX_CACHED_TAG_BYTES:
            self[tag] = spacing
        return spacing


_TAG_SPACING = _TagSpacing({None: b""})  # None is a comment


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
        # After each text, `split` inserts the three groups of the pattern: "raw", which is not
        # used, "tag" and "attributes".
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
        # Without other references than this, the slow `unescape` is not needed.
        text = b"".join(pieces).replace(b"&nbsp;", _NO_BREAK_SPACE)
        if b"&" not in text:
            return text
        return unescape(_LONG_REFERENCE.sub(r"&#\1", text.decode())).encode()

    def _blank_dropped_texts(self, dropped_elements: frozenset[bytes]) -> Iterable[bytes]:
        """Yield each text; if it is inside a dropped element, yield an empty text instead."""
        open_dropped: list[bytes] = []
        # Number of open dropped elements by name, because a search in a long list is slow.
        open_counts = Counter[bytes]()
        tags_after_texts = [*self.tags, None]  # no tag follows the last text
        for text, tag in zip(self.texts, tags_after_texts, strict=True):
            yield b"" if open_dropped else text
            name = (tag or b"").lower()
            if name in dropped_elements:
                open_dropped.append(name)
                open_counts[name] += 1
            elif name.startswith(b"/") and open_counts[name[1:]]:
                # Close the element, and all dropped elements that were opened inside it.
                closed = b""
                while closed != name[1:]:
                    closed = open_dropped.pop()
                    open_counts[closed] -= 1


def find_meta_charset(markup: bytes) -> str | None:
    """Return the charset that a meta element declares; None if it is missing or unknown.

    Also return None if the charset does not encode ASCII as ASCII, or if the first bytes contain a
    NUL byte, as in UTF-16. Such a declaration is wrong, because the element was found as ASCII.
    """
    first_bytes = markup[:_META_CHARSET_MAX_BYTES]
    declaration = _META_CHARSET.search(first_bytes)
    if declaration is None or b"\0" in first_bytes:
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

    If ``encoding`` is ``auto``, use the charset that a meta element declares. If no charset is
    declared, detect the encoding as `decode_text` does. If ``encoding`` is another encoding, raise
    `DocumentError` for bytes that are invalid in this encoding.
    """
    charset = find_meta_charset(body) if encoding == "auto" else None
    if charset is None:
        markup, issues = decode_text(body, encoding)
    else:
        markup, issues = decode_with_charset(body, charset, encoding)
    return HtmlDocument.from_markup(markup).extract_text(), issues
