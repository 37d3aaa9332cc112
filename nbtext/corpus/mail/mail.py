"""Document kind ``mail``: the text that a person would read, that is, chosen headers and the text parts, without attachments; and its fields."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus.decoding import Doubts, from_charset, joined_doubts, refuse_binary
from nbtext.corpus.html import HtmlDocument, declared_charset
from nbtext.corpus.mail.headers import all_fields, chosen_fields, decoded_header, names_to_read, split_headers
from nbtext.corpus.mail.structure import Part, structure_items

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

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


class MailReading(NamedTuple):
    """Options of reading mail; ``encoding`` is for parts that do not declare theirs."""

    headers: Sequence[bytes] | None = (b"subject",)
    """Names, in lower case, of the headers to read; None for ``auto``."""
    tagged: Collection[bytes] = ()
    """Those of them that are fields, not part of the text."""
    structure: bool = False
    encoding: str = "auto"
    label: bytes = b""
    """The header of the labels, which is not read."""
    drop_quotes: bool = False
    drop_signatures: bool = False

    @classmethod
    def of(cls, reading: Reading, encoding: str) -> MailReading:
        """Return what the settings ask for."""
        auto = reading.headers == "auto"
        headers = None if auto else reading.headers.encode().split(b",")
        tagged = frozenset((reading.tag_fields or "").lower().encode().split(b",")).intersection(headers or ())
        structure = auto if reading.structure is None else reading.structure
        return cls(headers, tagged, structure, encoding, reading.label_header.encode(), reading.drop_quotes, reading.drop_signatures)


def read_mail(message: bytes, wanted: MailReading) -> tuple[bytes, Doubts, Fields]:
    """Return the readable text of a message as UTF-8, what is doubtful about it, and its fields.

    Raise `DocumentError` for bytes without headers that are no text, and for parts that declare no charset and are not in the encoding named.
    """
    headers, body = split_headers(message, names_to_read(wanted.headers and tuple(wanted.headers)))
    if body is message and wanted.encoding == "auto":
        refuse_binary(message, whole_file=True)
    if wanted.label:
        headers = [each for each in headers if each[0].lower != wanted.label]
    named = (b"subject",) if wanted.headers is None else [name for name in wanted.headers if name not in wanted.tagged]
    decoded = [decoded_header(value, wanted.encoding) for name in named for found, value in headers if found.lower == name]
    part = Part.of(headers, body)
    shown = list(_shown(part))
    pages: list[HtmlDocument] = []
    plain: list[bytes] = []
    for leaf in shown:
        text, doubts = _decoded(leaf, wanted.encoding)
        is_page = leaf.kind == "text/html"
        if is_page:
            pages.append(HtmlDocument.of(text))
            text = pages[-1].text(drop_quotes=wanted.drop_quotes)
        if wanted.drop_signatures:
            text = _without_signature(text)
        if wanted.drop_quotes:
            text = _without_quotes(text)
        if not is_page:
            plain.append(text)
        decoded.append((text, doubts))
    fields, items = (
        all_fields(headers, wanted.encoding) if wanted.headers is None else (chosen_fields(headers, wanted.tagged, wanted.encoding), b"")
    )
    if wanted.structure:
        parts = list(part.walk())
        seen = set(map(id, shown))
        hidden = [each for each in parts if each.kind == "text/html" and not each.attached and id(each) not in seen]
        pages += [HtmlDocument.of(_decoded(each, wanted.encoding)[0]) for each in hidden]
        of_structure = structure_items(parts, pages, b"".join(plain))
        items = b"%b %b" % (items, of_structure) if items else of_structure
    text = b"\n\n".join([text for text, _ in decoded])
    return text, joined_doubts(doubts for _, doubts in decoded), [*fields, (b"", items)] if items else fields


def _decoded(part: Part, encoding: str) -> tuple[bytes, Doubts]:
    """Return the text of a part as UTF-8, and what is doubtful about it."""
    content = part.decoded()
    charset = part.charset
    if charset is None and part.kind == "text/html" and encoding == "auto":
        charset = declared_charset(content)
    return from_charset(content, charset, encoding)


def _shown(part: Part) -> Iterator[Part]:
    """Yield the text parts to show: of alternatives the plain one, nested messages included, no attachments."""
    if part.attached:
        return
    if part.kind == "multipart/alternative":
        read = [list(_shown(alternative)) for alternative in part.parts]
        plain = (
            leaves
            for alternative, leaves in zip(part.parts, read, strict=True)
            if alternative.kind == "text/plain" and any(leaf.content.strip() for leaf in leaves)
        )
        yield from next(plain, read[-1])
    elif part.parts:
        yield from chain.from_iterable(map(_shown, part.parts))
    elif part.kind in ("text/plain", "text/html"):
        yield part
