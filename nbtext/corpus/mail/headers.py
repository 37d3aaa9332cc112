"""Split a mail into headers and body, decode the headers, and select the headers to read.

A header becomes a field, whose content is split into words, and items, which are single terms such
as ``from:ann@example.org``.
"""

from __future__ import annotations

import csv
import os
import re
from binascii import a2b_base64, a2b_qp
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

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

_HEADER_END = re.compile(rb"\n(?![ \t])")
"""The end of a header; a line that starts with white space continues it."""

_HEADER_NAME = re.compile(rb"[!-9;-~]+")
"""Printable ASCII without the space and the colon."""
_MAX_HEADER_NAME_BYTES = 100

_PREAMBLE_STARTS = (b"From ", b">From ", b" ", b"\t")
"""Starts of lines that may precede the headers: an mbox envelope, or the end of a cut header."""

_ENCODED_WORD = re.compile(rb"=\?([\w.:+-]+)(?:\*[\w-]*)?\?([bBqQ])\?([^?]*)\?=")
"""An encoded word (RFC 2047), with its charset, encoding and content."""
_ENCODED_WORD_PIECES = 4
"""Number of pieces that `re.split` returns for an encoded word: three groups and the text after."""

_IGNORED_HEADERS = re.compile(
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
"""Headers that ``--headers auto`` never reads, because they would not help with other mail.

They contain the class, the mailing list, the machine or person that received the mail, dates, sizes
or ids. `nbtext.corpus.mail.structure` reads the Content- headers.
"""

_RECEIVED = b"received"


def _make_translation_table(pattern: bytes) -> bytes:
    """Return a table that maps letters to lower case, and bytes that match to spaces."""
    return re.sub(pattern, b" ", bytes(range(256)).lower())


_ADDRESS_TABLE = _make_translation_table(rb'[\x00-\x20<>,;:"()[\]]')
"""Keeps the bytes that can be in an address."""

_HOST_TABLE = _make_translation_table(rb"[^\w.-]")
"""Keeps the bytes that can be in the name of a host."""

_ADDRESS_DOMAIN = re.compile(rb"@[\w.-]+")

_MAX_ITEM_BYTES = 100
"""Maximum number of bytes of an address or host in an item. The last bytes are used."""

_IP_ADDRESS_PARTS = 4

_CACHE_SIZE = 1 << 13
_MAX_CACHED_BYTES = 1 << 8
"""Maximum size of a header to be cached."""


HeaderKind = Literal["words", "addresses", "ids", "hosts", "mime"]
"""The content of a header. A header of the kind ``mime`` declares the type of a MIME part."""

CONTENT_HEADERS = (b"content-type", b"content-disposition", b"content-transfer-encoding")

_KINDS: dict[bytes, HeaderKind] = {
    **dict.fromkeys(
        b"from to cc bcc reply-to sender return-path resent-from resent-to x-sender".split(),
        "addresses",
    ),
    **dict.fromkeys((b"in-reply-to", b"references"), "ids"),  # only their presence is a feature
    _RECEIVED: "hosts",
    **dict.fromkeys(CONTENT_HEADERS, "mime"),
}


class HeaderRule(NamedTuple):
    """How to read the headers with a certain name."""

    name: bytes
    """The name in lower case."""
    field: bytes
    """Name of the field for the content of the header."""
    presence_item: bytes
    """The item that states that the header is present."""
    kind: HeaderKind


Headers = list[tuple[HeaderRule, bytes]]
"""The rules of the headers to read, each with the stored value, without white space around it."""

UnreadHeader = Literal["ignored", "invalid"]
"""Takes the place of a rule. Headers are ignored, and names that no header can have are invalid."""


class HeaderFilter(dict[bytes, HeaderRule | UnreadHeader]):
    """Maps header names, as written, to their rules.

    Rules are created when they are needed, and cached. Headers that declare a MIME part are always
    read.
    """

    def __init__(self, selected_names: Collection[bytes] | None) -> None:
        """Select the names to read, in lower case; None: all names except `_IGNORED_HEADERS`."""
        super().__init__()
        self._selected_names = selected_names

    def __missing__(self, name: bytes) -> HeaderRule | UnreadHeader:
        rule = self._create_rule(name)
        if len(self) < _CACHE_SIZE and len(name) <= _MAX_HEADER_NAME_BYTES:
            self[name] = rule
        return rule

    def _create_rule(self, name: bytes) -> HeaderRule | UnreadHeader:
        if len(name) > _MAX_HEADER_NAME_BYTES or not _HEADER_NAME.fullmatch(name):
            return "invalid"
        lower_name = name.lower()
        kind = _KINDS.get(lower_name, "words")
        if self._selected_names is None:
            is_selected = not _IGNORED_HEADERS.fullmatch(lower_name)
        else:
            is_selected = lower_name in self._selected_names
        if not is_selected and kind != "mime":
            return "ignored"
        field = normalise_field_name(lower_name.decode())  # from text to bytes
        return HeaderRule(lower_name, field, b"header:" + field, kind)


get_header_filter = lru_cache(1 << 4)(HeaderFilter)
"""Return the filter that selects some names; calls with the same names share its cache."""


def split_headers(message: bytes, header_filter: HeaderFilter) -> tuple[Headers, bytes]:
    """Return the headers of a message or MIME part that the filter selects, and its body.

    A line includes its continuations. Drop invalid lines between headers, and prepend invalid lines
    after the last header to the body. If the first line after `_PREAMBLE_STARTS` is not a header,
    there are no headers, and the body is the message itself.
    """
    if message.startswith((b"\n", b"\r\n")):  # the headers are empty
        return [], message[message.index(b"\n") + 1 :]
    block = message
    body = b""
    if empty_line := _EMPTY_LINE.search(message):
        block = message[: empty_line.start()]
        body = message[empty_line.end() :]
    lines = _HEADER_END.split(block)
    lines_after_preamble = (line for line in lines if not line.startswith(_PREAMBLE_STARTS))
    first_line = next(lines_after_preamble, b"")
    if not _is_header(first_line, header_filter):
        return [], message
    headers = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if colon:
            rule = header_filter[name]
            if isinstance(rule, HeaderRule):
                headers.append((rule, value.strip()))
    headers_end = len(lines)
    # The loop ends, because ``first_line`` is a header.
    while not _is_header(lines[headers_end - 1], header_filter):
        headers_end -= 1
    stray_lines = lines[headers_end:]
    if any(stray_lines):
        body = b"\n".join([*stray_lines, b"", body])
    return headers, body


def _is_header(line: bytes, header_filter: HeaderFilter) -> bool:
    """Return whether a line has a valid name and a colon, selected or not."""
    name, colon, _ = line.partition(b":")
    return bool(colon) and header_filter[name] != "invalid"


def decode_header(value: bytes, encoding: str) -> tuple[bytes, DecodingIssues]:
    """Return a header's value as UTF-8, with encoded words (RFC 2047) decoded, and its issues.

    Consecutive encoded words of one charset are decoded together, because some programs split a
    text inside a character.
    """
    if b"=?" not in value:
        return decode_with_charset(value, None, encoding)
    first, *pieces = _ENCODED_WORD.split(value)
    # A run is a charset and words to be decoded together. None: the text is not encoded.
    runs: list[tuple[str | None, list[bytes]]] = [(None, [first])]
    for start in range(0, len(pieces), _ENCODED_WORD_PIECES):
        end = start + _ENCODED_WORD_PIECES
        charset_name, word_encoding, content, text_after = pieces[start:end]
        word = _decode_word(content, word_encoding)
        charset = charset_name.decode().lower()
        run_charset, run_words = runs[-1]
        if charset == run_charset:
            run_words.append(word)
        else:
            runs.append((charset, [word]))
        # White space between two encoded words is no text.
        has_next_word = end < len(pieces)
        is_gap = has_next_word and not text_after.strip()
        if not is_gap:
            runs.append((None, [text_after]))
    decoded_runs = []
    for run_charset, run_words in runs:
        # ``encoding`` is for text that is not encoded. A word of an unknown charset is detected.
        fallback = encoding if run_charset is None else "auto"
        decoded_runs.append(decode_with_charset(b"".join(run_words), run_charset, fallback))
    text = b"".join(text for text, _ in decoded_runs)
    return text, merge_decoding_issues(issues for _, issues in decoded_runs)


def _decode_word(content: bytes, encoding: bytes) -> bytes:
    """Return the bytes of an encoded word. Invalid base64 remains as written."""
    if encoding in b"qQ":
        return a2b_qp(content, header=True)
    try:
        return a2b_base64(content + b"==")  # padding may be missing
    except ValueError:
        return content


def parse_header_labels(message: bytes, header: str, encoding: str) -> Label:
    """Return the set of comma-separated labels in a header. A label with a comma is in quotes.

    Raise `DocumentError` if the header is missing.
    """
    values = _read_values(message, header, encoding)
    if not values:
        raise DocumentError(f"no header {header!r}", hint="see --label-column")
    text = b",".join(values).decode()
    one_line = " ".join(text.split())
    labels = next(csv.reader([one_line], skipinitialspace=True), [])
    return make_label_set(filter(None, map(str.strip, labels)))


def has_header_value(message: bytes, header: str, value: str, encoding: str) -> bool:
    """Return whether a header has a value, apart from differences in white space.

    A missing header has an empty value. In a header of addresses, ``value`` may be one address.
    """
    value_bytes = os.fsencode(value)  # from the command line
    expected = b" ".join(value_bytes.split())
    values = [b" ".join(text.split()) for text in _read_values(message, header, encoding)]
    if not values:
        values = [b""]
    if expected in values:
        return True
    if _KINDS.get(header.lower().encode()) != "addresses":
        return False
    addresses = b" ".join(values).translate(_ADDRESS_TABLE).split()
    # The user may have written <ann@example.org>.
    return expected.lower().strip(b"<>") in [*values, *addresses]


def _read_values(message: bytes, header: str, encoding: str) -> list[bytes]:
    """Return the decoded values of all headers with a name."""
    names = (header.lower().encode(),)
    headers, _ = split_headers(message, get_header_filter(names))
    return [value for _, value in select_fields(headers, names, encoding)]


def select_fields(headers: Headers, names: Collection[bytes], encoding: str) -> Fields:
    """Return the fields of the headers with these names."""
    return [
        (rule.field, decode_header(value, encoding)[0])
        for rule, value in headers
        if rule.name in names
    ]


def extract_fields(headers: Headers, encoding: str) -> tuple[Fields, bytes]:
    """Return the fields of headers with words or addresses, and distinct items of all headers.

    Items are separated by spaces. They are the names of headers, addresses and their hosts, and the
    hosts in Received headers; see `list_host_items`.
    """
    fields: list[tuple[bytes, bytes]] = []
    items: list[Sequence[bytes]] = []  # by header, address or host
    routes: list[bytes] = []  # contents of Received headers
    for (_, field, presence_item, kind), value in headers:
        if kind == "mime":
            continue
        items.append((presence_item,))
        if kind == "hosts":
            # Drop the date at the end. A date with a dot may contain a host, and without a
            # semicolon the whole value is the date.
            route, _, date = value.rpartition(b";")
            routes.append(value if b"." in date else route)
        elif kind != "ids":
            text = value
            if not value.isascii() or b"=?" in value:
                text, _ = decode_header(value, encoding)
            if kind == "addresses" and b"@" in text:
                is_short = len(text) <= _MAX_CACHED_BYTES
                extract = _extract_cached_addresses if is_short else _extract_addresses
                address_items, text = extract(field, text)
                items += address_items
            fields.append((field, text))
    tokens = b" ".join(routes).translate(_HOST_TABLE).split()
    hosts = dict.fromkeys(token for token in tokens if b"." in token)  # distinct, in order
    items += [list_host_items(_RECEIVED, host[-_MAX_ITEM_BYTES:]) for host in hosts]
    return fields, b" ".join(dict.fromkeys(chain.from_iterable(items)))


def _extract_addresses(field: bytes, text: bytes) -> tuple[list[Sequence[bytes]], bytes]:
    """Return the items of each address in a header, and the text without domains of addresses."""
    addresses = [
        drop_partial_characters(token[-_MAX_ITEM_BYTES:])
        for token in text.translate(_ADDRESS_TABLE).split()
        if b"@" in token
    ]
    items: list[Sequence[bytes]] = [
        (b"%b:%b" % (field, address), *list_host_items(field, address.rpartition(b"@")[2]))
        for address in addresses
    ]
    return items, _ADDRESS_DOMAIN.sub(b" ", text)


_extract_cached_addresses = lru_cache(_CACHE_SIZE)(_extract_addresses)
"""`_extract_addresses` with a cache, since two of three headers have occurred in earlier mail."""


@lru_cache(_CACHE_SIZE)
def list_host_items(field: bytes, host: bytes) -> Sequence[bytes]:
    """Return the items of a host: its name, its domain, and its top-level domain.

    For an IP address, return the items of the networks (/8, /16 and /24) that contain the address.

    >>> list_host_items(b"host", b"www.example.org")
    [b'host:www.example.org', b'host:example.org', b'host:org']
    """
    name = host.strip(b".-_")
    host_parts = name.split(b".")
    if not host_parts[-1].isdigit():
        names = [name, guess_registered_domain(name), host_parts[-1]]
    elif len(host_parts) == _IP_ADDRESS_PARTS:
        names = [b".".join(host_parts[:length]) for length in range(1, _IP_ADDRESS_PARTS)]
    else:
        names = [name]
    return [b"%b:%b" % (field, name) for name in names if name]


def guess_registered_domain(host: bytes) -> bytes:
    """Return the part of a host name that was probably registered.

    >>> guess_registered_domain(b"www.example.org"), guess_registered_domain(b"mail.example.co.uk")
    (b'example.org', b'example.co.uk')
    """
    parts = host.split(b".")
    n_parts = 2
    if len(parts) > n_parts:
        *_, second_level, top_level = parts
        if len(top_level) == 2 and len(second_level) <= 3:  # such as co.uk and com.au
            n_parts = 3
    return b".".join(parts[-n_parts:])
