"""The headers of a mail: where they end, what they say, and which fields they are under ``--headers auto``."""

from __future__ import annotations

import csv
import os
import re
from binascii import a2b_base64, a2b_qp
from contextlib import suppress
from functools import lru_cache
from itertools import chain, compress, repeat
from operator import contains
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus.decoding import (
    DecodingIssues,
    decode_with_charset,
    drop_partial_characters,
    merge_decoding_issues,
)
from nbtext.document_fields import normalise_field_name
from nbtext.errors import DocumentError
from nbtext.prediction.labels import make_label_set

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from nbtext.prediction.labels import Label
    from nbtext.type_names import Fields

_EMPTY_LINE = re.compile(rb"\n\r?\n")

_LINE_END = re.compile(rb"\n(?![ \t])")
"""The end of a header; a line that begins with white space continues it."""

_NAME = re.compile(rb"[!-9;-~]+")
_LONGEST_NAME = 100

_BEFORE_HEADERS = (b"From ", b">From ", b" ", b"\t")
"""Lines that may come before headers: an envelope as in an mbox, and the rest of a header that is cut off."""

_ENCODED_WORD = re.compile(rb"=\?([\w.:+-]+)(?:\*[\w-]*)?\?([bBqQ])\?([^?]*)\?=")

_UNREAD = re.compile(
    rb"""
    # the class
    newsgroups|followup-to|x-nbtext|.*spam.*|.*bogo.*|x-dspam.*|x-crm114.*|x-gmail-labels
    # the list
    |(x-)?list-.*|(x-)?mailing-list|x-mailman-.*|x-beenthere|x-loop|precedence|errors-to
    |mail-followup-to|x-egroups-.*|archived-at|x-list.*
    # who received it
    |path|xref|(x-)?delivered-to|(x-)?envelope-to|x-original-to|x-apparently-to|x-rcpt-to|x-sieve
    |.*mailscanner.*|.*virus.*|x-scanned.*|x-amavis.*
    |(x-)?status|x-mozilla-.*|x-keywords|x-evolution|x-uidl?|x-imap.*|x-ms-exchange-.*|x-google-.*
    |x-received
    # dates and ids
    |date|.*-date|expires|reply-by|x-originalarrivaltime|lines|content-.*|(.*-)?message-id
    |article-i\.d\.|archive-name|thread-index|.*-signature|arc-.*
    """,
    re.VERBOSE,
)
"""Headers that are never read: they name the class, the list, the machine or person that received the mail, dates, sizes and ids.

`nbtext.corpus.is_mail.structure` reads the Content- headers.
"""

_ROUTE = b"received"

_TO_ADDRESSES = bytes(
    32 if byte <= 32 or byte in b'<>,;:"()[]' else byte for byte in range(256)
).lower()
_TO_HOSTS = bytes(
    byte if re.match(rb"[\w.-]", bytes((byte,))) else 32 for byte in range(256)
).lower()
"""Tables that leave addresses, or hosts and words, with spaces between them, in lower case."""

_DOMAIN = re.compile(rb"@[\w.-]+")
"""The domain of an address, which is an item and not words."""

_LONGEST_ITEM = 100
"""Bytes of an address or host that are kept at most, from the end."""

_OCTETS = 4
_DOT = ord(".")

_REMEMBERED = 1 << 13
_LONGEST_REMEMBERED = 1 << 8


class HeaderRule(NamedTuple):
    """The name of a header that is read."""

    lower: bytes
    field: bytes
    item: tuple[bytes]
    """Says that the header is there."""
    kind: int


_WORDS, _OF_ADDRESSES, _OF_IDS, _OF_HOSTS, CONTENT_DECLARATION = range(5)
"""Kinds of headers; the last declares a part."""

CONTENT_HEADERS = (b"content-type", b"content-disposition", b"content-transfer-encoding")

_KINDS = {
    **dict.fromkeys(
        (
            b"from",
            b"to",
            b"cc",
            b"bcc",
            b"reply-to",
            b"sender",
            b"return-path",
            b"resent-from",
            b"resent-to",
            b"x-sender",
        ),
        _OF_ADDRESSES,
    ),
    **dict.fromkeys((b"in-reply-to", b"references"), _OF_IDS),  # only that they are there counts
    _ROUTE: _OF_HOSTS,
    **dict.fromkeys(CONTENT_HEADERS, CONTENT_DECLARATION),
}


Headers = list[tuple[HeaderRule, bytes]]
"""Names, and values as they stand, without the white space around them."""


class HeaderFilter(dict[bytes, HeaderRule | bool]):
    """Names of headers as they stand, each with what it means: True for a header that is not read, False for what is no name.

    ``wanted`` are the names to read in lower case, None for all but those that are never read. Headers that declare a part are always read.
    """

    def __init__(self, wanted: Collection[bytes] | None) -> None:
        super().__init__()
        self._wanted = wanted

    def __missing__(self, name: bytes) -> HeaderRule | bool:
        read = self._read(name)
        if len(self) < _REMEMBERED and len(name) <= _LONGEST_NAME:
            self[name] = read
        return read

    def _read(self, name: bytes) -> HeaderRule | bool:
        if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
            return False
        lower = name.lower()
        kind = _KINDS.get(lower, _WORDS)
        is_wanted = not _UNREAD.fullmatch(lower) if self._wanted is None else lower in self._wanted
        field = normalise_field_name(lower.decode())
        return (
            HeaderRule(lower, field, (b"header:" + field,), kind)
            if is_wanted or kind == CONTENT_DECLARATION
            else True
        )


get_header_filter = lru_cache(1 << 4)(HeaderFilter)
"""What is known of names is kept from mail to mail."""


def split_headers(message: bytes, names: HeaderFilter) -> tuple[Headers, bytes]:
    """Return those headers of a message or of a part of one that are read, and its body.

    Lines between headers that are no headers are dropped; those after the last header become the first lines of the body. A message whose first line is no header has none.
    """
    if message.startswith((b"\n", b"\r\n")):
        return [], message[message.index(b"\n") + 1 :]
    found = _EMPTY_LINE.search(message)
    block, body = (message[: found.start()], message[found.end() :]) if found else (message, b"")
    lines = _LINE_END.split(block)
    first = next((line for line in lines if not line.startswith(_BEFORE_HEADERS)), b"")
    if not _is_header(first, names):
        return [], message
    parts = [
        (names[name], value)
        for name, colon, value in map(bytes.partition, lines, repeat(b":"))
        if colon
    ]
    headers = [(name, value.strip()) for name, value in parts if name.__class__ is HeaderRule]
    if _is_header(lines[-1], names):
        return headers, body
    last = next(place for place in range(len(lines) - 1, -1, -1) if _is_header(lines[place], names))
    stray = lines[last + 1 :]
    return headers, b"\n".join([*stray, b"", body]) if any(stray) else body


def _is_header(line: bytes, names: HeaderFilter) -> bool:
    name, colon, _ = line.partition(b":")
    return bool(colon and names[name])


def decode_header(value: bytes, encoding: str) -> tuple[bytes, DecodingIssues]:
    """Return a header's value as UTF-8 with encoded words (RFC 2047) decoded, and what is doubtful about it.

    White space between two encoded words is dropped. Those of one charset are decoded as one, since programs cut them inside of a character.
    """
    if b"=?" not in value:
        return decode_with_charset(value, None, encoding)
    first, *pieces = _ENCODED_WORD.split(value)
    runs: list[tuple[str | None, list[bytes]]] = [(None, [first])]
    for at in range(0, len(pieces), 4):
        label, kind, word, after = pieces[at : at + 4]
        with suppress(ValueError):  # what is no base64 is shown as it stands
            word = a2b_qp(word, header=True) if kind in b"qQ" else a2b_base64(word + b"==")
        charset = label.decode().lower()
        if charset == runs[-1][0]:
            runs[-1][1].append(word)
        else:
            runs.append((charset, [word]))
        if after.strip() or at + 4 == len(pieces):
            runs.append((None, [after]))
    decoded = [
        decode_with_charset(b"".join(words), charset, "auto" if charset else encoding)
        for charset, words in runs
    ]
    return b"".join(text for text, _ in decoded), merge_decoding_issues(
        doubts for _, doubts in decoded
    )


def parse_header_labels(message: bytes, header: str, encoding: str) -> Label:
    """Return the set of the labels in a header, with commas between them and quotes around one that has a comma."""
    found = _values(message, header, encoding)
    if not found:
        raise DocumentError(f"no header {header!r}", hint="see --label-column")
    text = b",".join(found).decode()
    return make_label_set(
        filter(
            None,
            map(str.strip, next(csv.reader([" ".join(text.split())], skipinitialspace=True), [])),
        )
    )


def has_header_value(message: bytes, header: str, value: str, encoding: str) -> bool:
    """Return whether a header has this value, or one of addresses this address. What a message does not have is empty."""
    wanted = b" ".join(os.fsencode(value).split())
    found = [b" ".join(text.split()) for text in _values(message, header, encoding)] or [b""]
    if _KINDS.get(header.lower().encode()) == _OF_ADDRESSES:
        found += b" ".join(found).translate(_TO_ADDRESSES).split()
        return wanted in found or wanted.lower().strip(b"<>") in found
    return wanted in found


def _values(message: bytes, header: str, encoding: str) -> list[bytes]:
    name = header.lower().encode()
    return [
        value
        for _, value in select_fields(
            split_headers(message, get_header_filter((name,)))[0], (name,), encoding
        )
    ]


def select_fields(headers: Headers, names: Collection[bytes], encoding: str) -> Fields:
    """Return the fields of the headers with these names."""
    return [
        (name.field, decode_header(value, encoding)[0])
        for name, value in headers
        if name.lower in names
    ]


def extract_fields(headers: Headers, encoding: str) -> tuple[Fields, bytes]:
    """Return the fields of all headers but those that declare a part, and items.

    These are the names of the headers, addresses, their domains and the ends of these, and hosts and networks (/8, /16, /24) of Received, each once.
    """
    words: list[tuple[bytes, bytes]] = []
    items: list[Sequence[bytes]] = []
    route: list[bytes] = []
    for (_, field, item, kind), value in headers:
        if kind <= _OF_ADDRESSES:
            items.append(item)
            text = (
                value
                if value.isascii() and b"=?" not in value
                else decode_header(value, encoding)[0]
            )
            if kind == _OF_ADDRESSES and b"@" in text:
                of_addresses, text = (
                    _usual_addresses if len(text) <= _LONGEST_REMEMBERED else _addresses
                )(field, text)
                items += of_addresses
            words.append((field, text))
        elif kind == _OF_HOSTS:
            items.append(item)
            hosts, _, date = value.rpartition(b";")
            route.append(value if b"." in date else hosts)
        elif kind == _OF_IDS:
            items.append(item)
    tokens = b" ".join(route).translate(_TO_HOSTS).split()
    items += [
        list_host_items(_ROUTE, host[-_LONGEST_ITEM:])
        for host in dict.fromkeys(compress(tokens, map(contains, tokens, repeat(_DOT))))
    ]
    return words, b" ".join(dict.fromkeys(chain.from_iterable(items)))


def _addresses(field: bytes, text: bytes) -> tuple[list[Sequence[bytes]], bytes]:
    """Return the items of each address in a header, and its text without their domains."""
    found = [
        drop_partial_characters(address[-_LONGEST_ITEM:])
        for address in text.translate(_TO_ADDRESSES).split()
        if b"@" in address
    ]
    return [
        (b"%b:%b" % (field, each), *list_host_items(field, each.rpartition(b"@")[2]))
        for each in found
    ], _DOMAIN.sub(b" ", text)


_usual_addresses = lru_cache(_REMEMBERED)(_addresses)
"""Two of three headers of addresses have occurred before."""


@lru_cache(_REMEMBERED)
def list_host_items(field: bytes, host: bytes) -> Sequence[bytes]:
    """Return the items of a host: its name, its domain and the end of that, or the networks that its address is in.

    >>> host_items(b"host", b"www.example.org")
    [b'host:www.example.org', b'host:example.org', b'host:org']
    """
    name = host.strip(b".-_")
    labels = name.split(b".")
    if not labels[-1].isdigit():
        names = [name, guess_registered_domain(name), labels[-1]]
    else:
        names = (
            [b".".join(labels[:n]) for n in range(1, _OCTETS)] if len(labels) == _OCTETS else [name]
        )
    return [b"%b:%b" % (field, name) for name in names if name]


def guess_registered_domain(host: bytes) -> bytes:
    """Return the part of a host's name that was registered, by its looks.

    >>> domain_of(b"www.example.org"), domain_of(b"mail.example.co.uk")
    (b'example.org', b'example.co.uk')
    """
    labels = host.split(b".")
    below_country = (
        len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) < 4
    )  # co.uk, com.au
    return b".".join(labels[-3 if below_country else -2 :])
