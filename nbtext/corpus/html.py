"""Document kind ``format_html``: the text that a browser shows, and the tags around it."""

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

_UNSEEN = frozenset({b"template", b"noscript"})
"""Elements that a browser does not show, with everything inside them, besides those of raw text."""

_QUOTED = b"blockquote"

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
"""Never looks twice behind a "<", so it takes linear time. What is open at the end of the input is left out, as HTML demands."""

_LONG_NUMBER = re.compile("&#(?=[0-9]{9})0*([0-9]{1,8})[0-9]*")
"""A character reference of nine digits or more; Python raises if it has to convert more than 4,300."""

_NO_BREAK_SPACE = "\xa0".encode()

_DECLARED = re.compile(rb"<meta[^>]{1,200}?charset\s*+=\s*+[\"']?\s*+([\w.:+-]+)", re.IGNORECASE)
_DECLARED_WITHIN = 1024


class _Gaps(dict[bytes | None, bytes]):
    """What stands in the text in place of a tag; nothing for a comment."""

    def __missing__(self, tag: bytes | None) -> bytes:
        gap = b"" if tag is None or tag.lower().removeprefix(b"/") in _INLINE_TAGS else b" "
        if len(self) < _REMEMBERED and len(tag or b"") < _LONGEST_TAG:
            self[tag] = gap
        return gap


_REMEMBERED = 1 << 12
_LONGEST_TAG = 32

_GAPS = _Gaps()


class HtmlDocument(NamedTuple):
    """The pieces of an HTML document in UTF-8: ``texts[i]`` stands before the tag or comment i, whose ``tags[i]`` is None for a comment.

    Names of tags are as they stand, those of end tags begin with "/".
    """

    texts: list[bytes]
    tags: list[bytes | None]
    attributes: list[bytes | None]
    """None for a comment, and for a tag that has none."""

    @classmethod
    def from_markup(cls, markup: bytes) -> HtmlDocument:
        """Split a document at its tags."""
        pieces: list[Any] = _MARKUP.split(markup)
        return cls(pieces[::4], pieces[2::4], pieces[3::4])

    def extract_text(self, *, drop_quotes: bool = False) -> bytes:
        """Return the text without tags, comments, and elements that are not shown; ``drop_quotes`` drops block quotations."""
        dropped = _UNSEEN | {_QUOTED} if drop_quotes else _UNSEEN
        texts: Iterable[bytes] = self.texts
        if not dropped.isdisjoint(tag.lower() for tag in set(self.tags) if tag is not None):
            texts = self._shown(dropped)
        pieces = [b""] * (len(self.texts) + len(self.tags))
        pieces[::2] = texts
        pieces[1::2] = map(_GAPS.__getitem__, self.tags)
        text = b"".join(pieces).replace(b"&nbsp;", _NO_BREAK_SPACE)
        if b"&" not in text:
            return text
        numbered = _LONG_NUMBER.sub(
            r"&#\1", text.decode("utf-8", "replace")
        )  # eight digits without leading zeros are beyond Unicode too
        return unescape(numbered).encode("utf-8", "replace")

    def _shown(self, dropped: frozenset[bytes]) -> Iterable[bytes]:
        """Yield each text, or nothing in its place if it is inside an element that is dropped."""
        inside: list[bytes] = []
        number = Counter[bytes]()  # of each element inside, which may be long
        for text, tag in zip(self.texts, [*self.tags, None], strict=True):
            yield b"" if inside else text
            name = (tag or b"").lower()
            if name in dropped:
                inside.append(name)
                number[name] += 1
            while number[name[1:]] and name.startswith(b"/"):
                closed = inside.pop()
                number[closed] -= 1
                if closed == name[1:]:
                    break


def find_meta_charset(markup: bytes) -> str | None:
    """Return the charset that a meta element declares, if any; it is none that could not be found in this way."""
    found = _DECLARED.search(markup, 0, _DECLARED_WITHIN)
    if not found or b"\0" in markup[:_DECLARED_WITHIN]:
        return None
    label = found[1].decode("ascii", "replace")
    return label if is_ascii_compatible(find_codec(label) or "") else None


def decode_html(body: bytes, encoding: str) -> tuple[bytes, DecodingIssues]:
    """Return the text that a browser shows as UTF-8, and what is doubtful about it; an inline tag does not end a word.

    >>> text_of_html_document(b"<p>caf<b>&eacute;</b><br>au lait<script>x()</script>", "auto")[0].decode().split()
    ['café', 'au', 'lait']

    ``auto`` is the encoding that a meta element declares, else as for any text. Raise `DocumentError` for bytes that are no text.
    """
    if encoding == "auto" and (charset := find_meta_charset(body)):
        markup, doubts = decode_with_charset(body, charset, encoding)
    else:
        markup, doubts = decode_text(body, encoding)
    return HtmlDocument.from_markup(markup).extract_text(), doubts
