"""Document kind ``html``: the text that a browser shows, by the standard library's parser."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

from nbtext.corpus.decoding import from_charset

_INLINE = frozenset({"a", "abbr", "b", "big", "em", "font", "i", "mark", "s", "small", "span", "strong", "sub", "sup", "tt", "u", "wbr"})
"""Tags that do not end a word."""

_UNSEEN = frozenset({"script", "style", "template", "noscript"})
"""Elements that a browser does not show, with everything inside them."""

_QUOTED = "blockquote"

_LONG_NUMBER = re.compile("&#(?=[0-9]{9})0*([0-9]{1,8})[0-9]*")
"""A character reference of nine digits or more; Python raises if it has to convert more than 4,300."""

_DECLARED = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([\w.:+-]+)", re.IGNORECASE)
_DECLARED_WITHIN = 1024


class _Text(HTMLParser):
    """Collects the text that is shown.

    It is never closed, so that what is open at the end of the input (a tag, a comment, a script) is left out, as HTML demands.
    `HTMLParser.close` would look again behind every "<", which takes quadratic time on "<a <a <a".
    """

    def __init__(self, *, drop_quotes: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._dropped = _UNSEEN | {_QUOTED} if drop_quotes else _UNSEEN
        self._inside: list[str] = []
        self._open = Counter[str]()
        """Number of each element in ``_inside``, which may be long."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in self._dropped:
            self._inside.append(tag)
            self._open[tag] += 1
        self._end_word(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open[tag]:
            closed = self._inside.pop()
            self._open[closed] -= 1
            if closed == tag:
                break
        self._end_word(tag)

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.pieces.append(data)

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Skip "<![CDATA[" and the like, comments in HTML; the base class raises for some."""
        del report
        end: int = self.rawdata.find(">", i + 3)
        return end + 1 if end >= 0 else -1

    def _end_word(self, tag: str) -> None:
        if tag not in _INLINE and self.pieces:
            self.pieces.append(" ")


def text_of_html(markup: str, *, drop_quotes: bool = False) -> str:
    """Return the text without tags, comments, and elements that are not shown; an inline tag does not end a word.

    >>> text_of_html("<p>caf<b>&eacute;</b><br>au lait<script>x()</script>").split()
    ['café', 'au', 'lait']

    ``drop_quotes`` drops block quotations.
    """
    parser = _Text(drop_quotes=drop_quotes)
    markup = _LONG_NUMBER.sub(r"&#\1", markup)  # eight digits without leading zeros are beyond Unicode too
    parser.feed(markup + "\n")  # without white space, "&" at the end would wait for more
    return "".join(parser.pieces)


def text_of_html_document(body: bytes, encoding: str) -> tuple[bytes, bool]:
    """Return the text of a document as UTF-8, and whether it was read as Windows-1252.

    ``auto`` is the encoding that a meta element declares, else as for any text. Raise `DocumentError` for bytes that are no text.
    """
    declared = _DECLARED.search(body, 0, _DECLARED_WITHIN) if encoding == "auto" else None
    charset = declared[1].decode("ascii", "replace").lower() if declared and b"\0" not in body[:_DECLARED_WITHIN] else None
    markup, transcoded = from_charset(body, charset, encoding)
    return text_of_html(markup.decode()).encode("utf-8", "replace"), transcoded
