"""HTML to the text that a reader sees, by the standard library's parser."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

from nbtext.corpus.document import from_charset

_INLINE = frozenset({"a", "abbr", "b", "big", "em", "font", "i", "mark", "s", "small", "span", "strong", "sub", "sup", "tt", "u", "wbr"})
"""Tags that do not part a word."""

_UNSEEN = frozenset({"script", "style", "template", "noscript"})
"""Elements that are not shown, with everything inside them."""

_QUOTED = "blockquote"

_LONG_NUMBER = re.compile("&#(?=[0-9]{9})0*([0-9]{1,8})[0-9]*")
"""A character by its number, written with nine digits or more: Python converts a few thousand digits at most, and raises beyond."""

_DECLARED = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([\w.:+-]+)", re.IGNORECASE)
_DECLARED_WITHIN = 1024


class _Text(HTMLParser):
    """Collects what is shown.

    It is never closed: what is open at the end of the input (a tag, a comment, a script) is then left out, as HTML has it, and the input
    is gone through once. `HTMLParser.close` would instead look again behind every "<", which takes quadratic time on "<a <a <a".
    """

    def __init__(self, *, drop_quotes: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._dropped = _UNSEEN | {_QUOTED} if drop_quotes else _UNSEEN
        self._inside: list[str] = []
        self._open = Counter[str]()
        """How often each element is in ``_inside``, which may be long."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in self._dropped:
            self._inside.append(tag)
            self._open[tag] += 1
        self._part(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open[tag]:
            closed = self._inside.pop()
            self._open[closed] -= 1
            if closed == tag:
                break
        self._part(tag)

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.pieces.append(data)

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Of "<![CDATA[" and the like HTML makes a comment; the parser's own base class raises for some."""
        del report
        end: int = self.rawdata.find(">", i + 3)
        return end + 1 if end >= 0 else -1

    def _part(self, tag: str) -> None:
        if tag not in _INLINE and self.pieces:
            self.pieces.append(" ")


def text_of_html(markup: str, *, drop_quotes: bool = False) -> str:
    """The text without tags, comments, and elements that are not shown; an inline tag does not part a word.

    >>> text_of_html("<p>caf<b>&eacute;</b><br>au lait<script>x()</script>").split()
    ['café', 'au', 'lait']

    ``drop_quotes`` leaves out what stands in a block quotation.
    """
    parser = _Text(drop_quotes=drop_quotes)
    markup = _LONG_NUMBER.sub(r"&#\1", markup)  # eight digits without leading zeros are beyond Unicode, as more would be
    parser.feed(markup + "\n")  # after white space no "&" at the end waits for more
    return "".join(parser.pieces)


def text_of_html_document(body: bytes, encoding: str) -> tuple[bytes, bool]:
    """The text of a document as UTF-8, and whether it had to be taken for Windows-1252.

    ``auto`` is by the encoding that a meta element declares, else as for any text. Raises `DocumentError` for what is not text.
    """
    declared = _DECLARED.search(body, 0, _DECLARED_WITHIN) if encoding == "auto" else None
    charset = declared[1].decode("ascii", "replace").lower() if declared and b"\0" not in body[:_DECLARED_WITHIN] else None
    markup, transcoded = from_charset(body, charset, encoding)
    return text_of_html(markup.decode()).encode("utf-8", "replace"), transcoded
