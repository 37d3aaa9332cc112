"""Document kind ``mail``: the text that a person would read, that is, chosen headers and the text parts, without attachments; and its fields."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus.decoding import (
    DecodingIssues,
    check_not_binary,
    decode_with_charset,
    merge_decoding_issues,
)
from nbtext.corpus.html import HtmlDocument, find_meta_charset
from nbtext.corpus.mail.headers import (
    decode_header,
    extract_fields,
    get_header_filter,
    select_fields,
    split_headers,
)
from nbtext.corpus.mail.structure import MimePart, list_structure_items

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from nbtext.settings import Reading
    from nbtext.type_names import Fields

_SIGNATURE = re.compile(rb"^--[ ]?\r?$", re.MULTILINE)

_QUOTED = re.compile(rb"[ \t]*\w{0,4}>")

_COPY = re.compile(rb"^-{2,}[ ]*original message[ ]*-{2,}", re.MULTILINE | re.IGNORECASE)


def _without_signature(text: bytes) -> bytes:
    """Return the text up to the last line that is only "--", or "-- " as in RFC 3676 (4.3)."""
    return text[: max((line.start() for line in _SIGNATURE.finditer(text)), default=len(text))]


def _without_quotes(text: bytes) -> bytes:
    r"""Return the text without lines that begin with ">" (or initials and ">"), and without the line ending in a colon before them.

    >>> _without_quotes(b"On Monday Ann wrote:\n> the moon\n\nNo.\n")
    b'\nNo.\n'

    Drop also all text after a line "-----Original Message-----".
    """
    copy = _COPY.search(text)
    kept: list[bytes] = []
    quoted = False
    for line in (text[: copy.start()] if copy else text).splitlines(keepends=True):
        if not _QUOTED.match(line):
            quoted = False
            kept.append(line)
        elif not quoted:
            quoted = True
            attribution = -2 if kept and not kept[-1].strip() else -1
            if len(kept) >= -attribution and kept[attribution].rstrip().endswith(b":"):
                del kept[attribution:]
    return b"".join(kept)


_TO_WORDS = bytes(byte if byte < 128 and chr(byte).isalnum() else 32 for byte in range(256)).lower()

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese."""

_FILLERS = r"\u115f\u1160\u3164\uffa0"
"""Letters that are not seen."""

_WORD = re.compile(rf"(?=([{_UNSPACED}]{{1,2}}))|([^\W_{_UNSPACED}{_FILLERS}]+)")


class MailOptions(NamedTuple):
    """Options of reading mail; ``encoding`` is for parts that do not declare theirs."""

    headers: Sequence[bytes] | None = (b"subject",)
    """Names, in lower case, of the headers to read; None for ``auto``."""
    tag_headers: Collection[bytes] = ()
    """Those of them that are fields, not part of the text."""
    structure: bool = False
    encoding: str = "auto"
    label: bytes = b""
    """The header of the labels, which is not read."""
    drop_quotes: bool = False
    drop_signatures: bool = False

    @classmethod
    def from_settings(cls, reading: Reading, encoding: str) -> MailOptions:
        """Return what the settings ask for."""
        auto = reading.headers == "auto"
        headers = None if auto else reading.headers.encode().split(b",")
        tagged = frozenset((reading.tag_fields or "").lower().encode().split(b",")).intersection(
            headers or ()
        )
        structure = auto if reading.structure is None else reading.structure
        return cls(
            headers,
            tagged,
            structure,
            encoding,
            reading.label_header.encode(),
            reading.drop_quotes,
            reading.drop_signatures,
        )


class _Leaf:
    """A text part as it is read."""

    def __init__(self, part: MimePart, wanted: MailOptions) -> None:
        content = part.decode_content()
        charset = part.charset
        if charset is None and part.is_markup and wanted.encoding == "auto":
            charset = find_meta_charset(content)
        text, self.doubts = decode_with_charset(content, charset, wanted.encoding)
        self.page = HtmlDocument.from_markup(text) if part.is_markup else None
        """None for a part without markup."""
        if self.page is not None:
            text = self.page.extract_text(drop_quotes=wanted.drop_quotes)
        if wanted.drop_signatures:
            text = _without_signature(text)
        if wanted.drop_quotes:
            text = _without_quotes(text)
        self.text = text

    @cached_property
    def words(self) -> set[str]:
        """The distinct words, in lower case; of scripts without spaces, pairs of characters."""
        if self.text.isascii():
            return set(self.text.translate(_TO_WORDS).decode().split())
        return {pair or word for pair, word in _WORD.findall(self.text.decode().lower())}


class _Leaves(dict[int, _Leaf]):
    """The text parts of a mail that were decoded, by the identity of the part."""

    def __init__(self, wanted: MailOptions) -> None:
        super().__init__()
        self._wanted = wanted

    def of(self, part: MimePart) -> _Leaf:
        """Return a part as it is read, decoded once."""
        if id(part) not in self:
            self[id(part)] = _Leaf(part, self._wanted)
        return self[id(part)]

    def shown(self, part: MimePart) -> list[MimePart]:
        """Return the text parts to read: of alternatives those of `_chosen`, nested messages included, no attachments."""
        if part.is_attached:
            return []
        if part.kind == "multipart/alternative":
            return self._chosen([(each.kind, self.shown(each)) for each in part.parts])
        if part.parts:
            return [leaf for each in part.parts for leaf in self.shown(each)]
        return [part] if part.is_text else []

    def _chosen(self, alternatives: Sequence[tuple[str, list[MimePart]]]) -> list[MimePart]:
        """Return the parts of the first plain alternative that has words, else of the last that has, and of those that say something else.

        These share fewer than half of the words of the shorter with what is read already. A person sees only one alternative, and the sender
        does not know which: one that says something else is for filters.
        """
        found = [(kind, leaves) for kind, leaves in alternatives if leaves]
        if len(found) < 2:
            return found[0][1] if found else []
        words = [set[str]().union(*[self.of(leaf).words for leaf in leaves]) for _, leaves in found]
        with_words = [place for place, each in enumerate(words) if each]
        if not with_words:
            return found[-1][1]
        plain = (place for place in with_words if found[place][0] == "text/plain")
        first = next(plain, with_words[-1])
        chosen = [*found[first][1]]
        known = words[first].copy()
        for place in with_words:
            n_shorter = min(len(known), len(words[place]))
            if 2 * len(known & words[place]) < n_shorter:
                chosen += found[place][1]
                known |= words[place]
        return chosen


def read_mail(message: bytes, wanted: MailOptions) -> tuple[bytes, DecodingIssues, Fields]:
    """Return the readable text of a message as UTF-8, what is doubtful about it, and its fields.

    Raise `DocumentError` for bytes without headers that are no text, and for parts that declare no charset and are not in the encoding named.
    """
    headers, body = split_headers(
        message, get_header_filter(wanted.headers and tuple(wanted.headers))
    )
    if body is message and wanted.encoding == "auto":
        check_not_binary(message, whole_file=True)
    if wanted.label:
        headers = [each for each in headers if each[0].lower != wanted.label]
    named = (
        (b"subject",)
        if wanted.headers is None
        else [name for name in wanted.headers if name not in wanted.tag_headers]
    )
    decoded = [
        decode_header(value, wanted.encoding)
        for name in named
        for found, value in headers
        if found.lower == name
    ]
    part = MimePart.from_headers(headers, body)
    leaves = _Leaves(wanted)
    shown = [leaves.of(each) for each in leaves.shown(part)]
    decoded += [(leaf.text, leaf.doubts) for leaf in shown]
    fields, items = (
        extract_fields(headers, wanted.encoding)
        if wanted.headers is None
        else (select_fields(headers, wanted.tag_headers, wanted.encoding), b"")
    )
    if wanted.structure:
        parts = list(part.walk())
        pages = [leaves.of(each).page for each in parts if each.is_markup and not each.is_attached]
        plain = b"".join([leaf.text for leaf in shown if leaf.page is None])
        of_structure = list_structure_items(parts, list(filter(None, pages)), plain)
        items = b"%b %b" % (items, of_structure) if items else of_structure
    text = b"\n\n".join([text for text, _ in decoded])
    return (
        text,
        merge_decoding_issues(doubts for _, doubts in decoded),
        [*fields, (b"", items)] if items else fields,
    )
