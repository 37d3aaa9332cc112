"""The headers of a mail: where they end, what they say, and which fields they are under ``--headers auto``."""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp
from contextlib import suppress
from functools import lru_cache
from itertools import compress, repeat
from operator import contains
from typing import TYPE_CHECKING

from nbtext.corpus.decoding import from_charset, to_utf8
from nbtext.document_parts import Fields, field_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

Headers = list[tuple[bytes, bytes]]
"""Names in lower case, and values as they stand, without the white space around them."""

_EMPTY_LINE = re.compile(rb"\n\r?\n")

_LINE_END = re.compile(rb"\n(?![ \t])")
"""The end of a header; a line that begins with white space continues it."""

_NAME = re.compile(rb"[!-9;-~]+")
_LONGEST_NAME = 100

_BEFORE_HEADERS = (b"From ", b">From ", b" ", b"\t")
"""Lines that may come before headers: an envelope as in an mbox, and the rest of a header that is cut off."""

_ENCODED_WORD = re.compile(rb"=\?([\w.:+-]+)(?:\*[\w-]*)?\?([bBqQ])\?([^?]*)\?=")

_UNREAD = re.compile(
    rb"""newsgroups|followup-to|x-nbtext|.*spam.*|.*bogo.*|x-dspam.*|x-crm114.*|x-gmail-labels                               # the class
    |(x-)?list-.*|(x-)?mailing-list|x-mailman-.*|x-beenthere|x-loop|precedence|errors-to|mail-followup-to|x-egroups-.*|archived-at|x-list.* # the list
    |path|xref|(x-)?delivered-to|(x-)?envelope-to|x-original-to|x-apparently-to|x-rcpt-to|x-sieve|.*mailscanner.*|.*virus.*|x-scanned.*|x-amavis.*
    |(x-)?status|x-mozilla-.*|x-keywords|x-evolution|x-uidl?|x-imap.*|x-ms-exchange-.*|x-google-.*|x-received                 # who received it
    |date|.*-date|expires|reply-by|x-originalarrivaltime|lines|content-.*|(.*-)?message-id|article-i\.d\.|archive-name|thread-index|.*-signature|arc-.* # dates and ids""",
    re.VERBOSE,
)
"""Headers that are never read: they name the class, the list, the machine or person that received the mail, dates, sizes and ids.

`nbtext.corpus.mail.structure` reads the Content- headers.
"""

_REPLIES = frozenset({b"in-reply-to", b"references"})
"""Headers of ids: only that they are there counts."""

_ADDRESSES = frozenset({b"from", b"to", b"cc", b"bcc", b"reply-to", b"sender", b"return-path", b"resent-from", b"resent-to", b"x-sender"})

_ROUTE = b"received"

_TO_ADDRESSES = bytes(32 if byte <= 32 or byte in b'<>,;:"()[]' else byte for byte in range(256)).lower()
_TO_HOSTS = bytes(byte if re.match(rb"[\w.-]", bytes((byte,))) else 32 for byte in range(256)).lower()
"""Tables that leave addresses, or hosts and words, with spaces between them, in lower case."""

_DOMAIN = re.compile(rb"@[\w.-]+")
"""The domain of an address, which is an item and not words."""

_LONGEST_ITEM = 100
"""Bytes of an address or host that are kept, from the end."""

_OCTETS = 4
_DOT = ord(".")

_REMEMBERED, _LONGEST_REMEMBERED = 1 << 13, 1 << 8


def split_headers(message: bytes) -> tuple[Headers, bytes]:
    """Return the headers of a message or of a part of one, and its body.

    Lines between headers that are no headers are dropped; those after the last header become the first lines of the body. A message whose first line is no header has none.
    """
    if message.startswith((b"\n", b"\r\n")):
        return [], message[message.index(b"\n") + 1 :]
    found = _EMPTY_LINE.search(message)
    block, body = (message[: found.start()], message[found.end() :]) if found else (message, b"")
    lines = _LINE_END.split(block)
    headers: Headers = []
    stray: list[bytes] = []
    for line in lines:
        name, colon, value = line.partition(b":")
        lower = _LOWER[name] if colon else b""
        if lower:
            headers.append((lower, value.strip()))
            if stray:
                stray.clear()
        elif headers:
            stray.append(line)
        elif not line.startswith(_BEFORE_HEADERS):
            break
    if not headers:
        return [], message
    return headers, b"\n".join([*stray, b"", body]) if any(stray) else body


class _Names(dict[bytes, bytes]):
    """What becomes of the names of headers, remembered for so many names."""

    def __init__(self, made: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self._made = made

    def __missing__(self, name: bytes) -> bytes:
        made = self._made(name)
        if len(self) < _REMEMBERED and len(name) <= _LONGEST_NAME:
            self[name] = made
        return made


_LOWER = _Names(lambda name: name.lower() if len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) else b"")
"""Names of headers in lower case; nothing for what is no name."""

_FIELDS = _Names(lambda name: b"" if _UNREAD.fullmatch(name) else field_name(name.decode()))
"""Names of fields by those of headers in lower case; nothing for a header that is never read."""


def decoded_header(value: bytes, encoding: str) -> tuple[bytes, bool]:
    """Return a header's value as UTF-8 with encoded words (RFC 2047) decoded, and whether it was read as Windows-1252.

    White space between two encoded words is dropped.
    """
    if b"=?" not in value:
        return to_utf8(value, encoding)
    first, *pieces = _ENCODED_WORD.split(value)
    decoded = [to_utf8(first, encoding)]
    for at in range(0, len(pieces), 4):
        charset, kind, word, after = pieces[at : at + 4]
        with suppress(ValueError):  # what is no base64 is shown as it stands
            word = a2b_qp(word, header=True) if kind in b"qQ" else a2b_base64(word + b"==")
        decoded.append(from_charset(word, charset.decode().lower(), "auto"))
        if after.strip() or at + 4 == len(pieces):
            decoded.append(to_utf8(after, encoding))
    return b"".join(text for text, _ in decoded), any(guessed for _, guessed in decoded)


def chosen_fields(headers: Headers, names: Collection[bytes], encoding: str) -> Fields:
    """Return the fields of the headers with these names."""
    return Fields([(field_name(name.decode()), decoded_header(value, encoding)[0]) for name, value in headers if name in names])


def all_fields(headers: Headers, encoding: str) -> Fields:
    """Return the fields of all headers but those that are never read.

    Items are the names of the headers, addresses, their domains and the ends of these, and hosts and networks (/8, /16, /24) of Received, each once.
    """
    words: list[tuple[bytes, bytes]] = []
    items: dict[bytes, None] = {}
    route: list[bytes] = []
    for name, value in headers:
        field = _FIELDS[name]
        if not field:
            continue
        items[b"header:" + field] = None
        if name in _REPLIES:
            continue
        text = value if value.isascii() and b"=?" not in value else decoded_header(value, encoding)[0]
        if name == _ROUTE:
            route.append(text)
            continue
        if name in _ADDRESSES and b"@" in text:
            of_addresses, text = (_usual_addresses if len(text) <= _LONGEST_REMEMBERED else _addresses)(field, text)
            items.update(of_addresses)
        words.append((field, text))
    tokens = b" ".join(route).translate(_TO_HOSTS).split()
    for host in dict.fromkeys(compress(tokens, map(contains, tokens, repeat(_DOT)))):
        items.update(host_items(_ROUTE, host[-_LONGEST_ITEM:]))
    return Fields(words, b" ".join(items))


def _addresses(field: bytes, text: bytes) -> tuple[dict[bytes, None], bytes]:
    """Return the items of the addresses in a header, and its text without their domains."""
    items: dict[bytes, None] = {}
    for address in text.translate(_TO_ADDRESSES).split():
        if b"@" in address:
            whole = address[-_LONGEST_ITEM:]
            items[b"%b:%b" % (field, whole)] = None
            items.update(host_items(field, whole.rpartition(b"@")[2]))
    return items, _DOMAIN.sub(b" ", text)


_usual_addresses = lru_cache(_REMEMBERED)(_addresses)
"""Two of three headers of addresses have occurred before."""


@lru_cache(_REMEMBERED)
def host_items(field: bytes, host: bytes) -> dict[bytes, None]:
    """Return the items of a host: its name, its domain and the end of that, or the networks that its address is in.

    >>> list(host_items(b"host", b"www.example.org"))
    [b'host:www.example.org', b'host:example.org', b'host:org']
    """
    name = host.strip(b".-_")
    labels = name.split(b".")
    if not labels[-1].isdigit():
        names = [name, domain_of(name), labels[-1]]
    else:
        names = [b".".join(labels[:n]) for n in range(1, _OCTETS)] if len(labels) == _OCTETS else [name]
    return {b"%b:%b" % (field, name): None for name in names if name}


def domain_of(host: bytes) -> bytes:
    """Return the part of a host's name that was registered, by its looks.

    >>> domain_of(b"www.example.org"), domain_of(b"mail.example.co.uk")
    (b'example.org', b'example.co.uk')
    """
    labels = host.split(b".")
    below_country = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) < 4  # co.uk, com.au
    return b".".join(labels[-3 if below_country else -2 :])
