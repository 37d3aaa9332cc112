"""Decode documents of kind ``mail``: extract the text that a person would read, and the fields.

The text consists of selected headers and of text parts, without attachments.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from nbtext.corpus.decoding import (
    DecodingIssues,
    check_not_binary,
    decode_with_charset,
    merge_decoding_issues,
)
from nbtext.corpus.html import HtmlDocument, find_meta_charset
from nbtext.corpus.mail.headers import (
    Headers,
    decode_header,
    extract_fields,
    get_header_filter,
    select_fields,
    split_headers,
)
from nbtext.corpus.mail.structure import MimePart, list_structure_items

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from nbtext.settings import Reading
    from nbtext.type_names import Fields

_SIGNATURE_LINE = re.compile(rb"^--[ ]?\r?$", re.MULTILINE)

_QUOTED_LINE = re.compile(rb"[ \t]*\w{0,4}>")

_FORWARDED_COPY = re.compile(rb"^-{2,}[ ]*original message[ ]*-{2,}", re.MULTILINE | re.IGNORECASE)


def _drop_signature(text: bytes) -> bytes:
    """Return the text before the last line that is only "--", or "-- " as in RFC 3676 (4.3)."""
    starts = (line.start() for line in _SIGNATURE_LINE.finditer(text))
    return text[: max(starts, default=len(text))]


def _drop_quotes(text: bytes) -> bytes:
    r"""Return the text without quotes, each with the line before it if that ends in a colon.

    A line of a quote starts with ">", or with initials and ">".

    >>> _drop_quotes(b"On Monday Ann wrote:\n> the moon\n\nNo.\n")
    b'\nNo.\n'

    Also drop all text after a line "-----Original Message-----".
    """
    if copy := _FORWARDED_COPY.search(text):
        text = text[: copy.start()]
    own_lines: list[bytes] = []
    is_in_quote = False
    for line in text.splitlines(keepends=True):
        if not _QUOTED_LINE.match(line):
            is_in_quote = False
            own_lines.append(line)
        elif not is_in_quote:
            is_in_quote = True
            # The line that introduces the quote may be followed by an empty line.
            has_empty_line = bool(own_lines) and not own_lines[-1].strip()
            n_lines = 2 if has_empty_line else 1
            if len(own_lines) >= n_lines and own_lines[-n_lines].rstrip().endswith(b":"):
                del own_lines[-n_lines:]
    return b"".join(own_lines)


_ASCII_WORD_CHARS = bytes(
    byte if byte < 128 and chr(byte).isalnum() else 32 for byte in range(256)
).lower()
"""Translation table to lower case, and of all bytes but ASCII letters and digits to spaces."""

_UNSPACED_SCRIPTS = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
"""Character ranges of Thai, Lao, Burmese, Khmer, Japanese and Chinese."""

_INVISIBLE_LETTERS = r"\u115f\u1160\u3164\uffa0"

_PAIR_OR_WORD = re.compile(
    rf"(?=([{_UNSPACED_SCRIPTS}]{{1,2}}))|([^\W_{_UNSPACED_SCRIPTS}{_INVISIBLE_LETTERS}]+)"
)
"""A pair of characters of a script without spaces, or a word of another script."""


class MailOptions(NamedTuple):
    """Options of reading mail."""

    headers: Sequence[bytes] | None = (b"subject",)
    """Names, in lower case, of the headers to read; None for ``auto``."""
    tag_headers: Collection[bytes] = ()
    """Those of the ``headers`` that become fields. The other headers become text."""
    structure: bool = False
    """Whether to add items that describe the MIME structure."""
    encoding: str = "auto"
    """Encoding of parts that do not declare a charset."""
    label: bytes = b""
    """Name of the header with the labels, which is not read; empty if no header has labels."""
    drop_quotes: bool = False
    drop_signatures: bool = False

    @classmethod
    def from_settings(cls, reading: Reading, encoding: str) -> MailOptions:
        """Create the options from reading settings."""
        headers = None
        structure = True
        if reading.headers != "auto":
            headers = reading.headers.encode().split(b",")
            structure = False
        if reading.structure is not None:
            structure = reading.structure
        tag_names = frozenset((reading.tag_fields or "").lower().encode().split(b","))
        return cls(
            headers,
            tag_headers=tag_names.intersection(headers or ()),
            structure=structure,
            encoding=encoding,
            label=reading.label_header.encode(),
            drop_quotes=reading.drop_quotes,
            drop_signatures=reading.drop_signatures,
        )


class _DecodedPart:
    """A text part of a mail with its decoded text."""

    def __init__(self, part: MimePart, options: MailOptions) -> None:
        content = part.decode_content()
        charset = part.charset
        if charset is None and part.is_markup and options.encoding == "auto":
            charset = find_meta_charset(content)
        text, self.issues = decode_with_charset(content, charset, options.encoding)
        self.page: HtmlDocument | None = None
        """The HTML document; None for a part without markup."""
        if part.is_markup:
            self.page = HtmlDocument.from_markup(text)
            text = self.page.extract_text(drop_quotes=options.drop_quotes)
        if options.drop_signatures:
            text = _drop_signature(text)
        if options.drop_quotes:
            text = _drop_quotes(text)
        self.text = text

    @cached_property
    def words(self) -> set[str]:
        """Distinct words in lower case; in scripts without spaces, pairs of characters."""
        if self.text.isascii():
            return set(self.text.translate(_ASCII_WORD_CHARS).decode().split())
        matches = _PAIR_OR_WORD.findall(self.text.decode().lower())
        return {pair or word for pair, word in matches}


class _PartDecoder:
    """Decodes the text parts of a mail, each once, and selects the parts to read."""

    def __init__(self, options: MailOptions) -> None:
        self._options = options
        self._decoded: dict[int, _DecodedPart] = {}
        """Decoded parts by the `id` of the part. Hashing a part would read all its content."""

    def decode(self, part: MimePart) -> _DecodedPart:
        """Return the decoded part, from the cache if it was decoded before."""
        if id(part) not in self._decoded:
            self._decoded[id(part)] = _DecodedPart(part, self._options)
        return self._decoded[id(part)]

    def select_text_parts(self, part: MimePart) -> list[MimePart]:
        """Return the text parts to read in a part, including parts of nested messages.

        Exclude attachments, and alternatives with the same text; see `_select_alternatives`.
        """
        if part.is_attached:
            return []
        if part.media_type == "multipart/alternative":
            return self._select_alternatives(
                [(child.media_type, self.select_text_parts(child)) for child in part.parts]
            )
        if part.parts:
            return list(chain.from_iterable(map(self.select_text_parts, part.parts)))
        return [part] if part.is_text else []

    def _select_alternatives(
        self, alternatives: Sequence[tuple[str, list[MimePart]]]
    ) -> list[MimePart]:
        """Return the text parts of the main alternative, and of alternatives with a different text.

        ``alternatives`` are pairs of a media type and text parts. The main alternative is the first
        plain text that has words, else the last alternative that has words. An alternative has a
        different text if it shares few words with the selected alternatives: fewer than half of the
        words of the shorter text. A person sees only one alternative, and the sender does not know
        which, so a different text is meant for mail filters.
        """
        non_empty = [(media_type, parts) for media_type, parts in alternatives if parts]
        if len(non_empty) < 2:
            return list(chain.from_iterable(parts for _, parts in non_empty))
        texts = []
        plain_texts = []
        for media_type, parts in non_empty:
            words = set[str]().union(*[self.decode(part).words for part in parts])
            if words:
                texts.append((parts, words))
                if media_type == "text/plain":
                    plain_texts.append((parts, words))
        if not texts:
            _, last_parts = non_empty[-1]
            return last_parts
        main_parts, main_words = plain_texts[0] if plain_texts else texts[-1]
        selected_parts = [*main_parts]
        selected_words = main_words.copy()
        for parts, words in texts:  # the main text shares all its words, so it is not added again
            n_shared = len(selected_words & words)
            n_shorter = min(len(selected_words), len(words))
            if n_shared < n_shorter / 2:
                selected_parts += parts
                selected_words |= words
        return selected_parts


def read_mail(message: bytes, options: MailOptions) -> tuple[bytes, DecodingIssues, Fields]:
    """Return the readable text of a message as UTF-8, its decoding issues, and its fields.

    Raise `DocumentError` for binary content without headers, and for a part that declares no
    charset and is invalid in the encoding of the options.
    """
    header_names = None if options.headers is None else tuple(options.headers)
    headers, body = split_headers(message, get_header_filter(header_names))
    has_headers = body is not message  # see `split_headers`
    if not has_headers and options.encoding == "auto":
        check_not_binary(message, whole_file=True)
    if options.label:
        headers = [(rule, value) for rule, value in headers if rule.name != options.label]
    texts_and_issues = list(_decode_text_headers(headers, options))
    mail = MimePart.from_headers(headers, body)
    decoder = _PartDecoder(options)
    text_parts = [decoder.decode(part) for part in decoder.select_text_parts(mail)]
    texts_and_issues += [(part.text, part.issues) for part in text_parts]
    if options.headers is None:
        fields, items = extract_fields(headers, options.encoding)
    else:
        fields = select_fields(headers, options.tag_headers, options.encoding)
        items = b""
    if options.structure:
        structure_items = _describe_structure(mail, text_parts, decoder)
        items = b" ".join(filter(None, (items, structure_items)))
    if items:
        fields = [*fields, (b"", items)]  # an empty name marks items
    text = b"\n\n".join([text for text, _ in texts_and_issues])
    return text, merge_decoding_issues(issues for _, issues in texts_and_issues), fields


def _decode_text_headers(
    headers: Headers, options: MailOptions
) -> Iterator[tuple[bytes, DecodingIssues]]:
    """Yield the text and the issues of each header that is part of the text of the mail.

    The order is that of ``options.headers``.
    """
    if options.headers is None:
        names: Sequence[bytes] = (b"subject",)
    else:
        names = [name for name in options.headers if name not in options.tag_headers]
    for name in names:
        for rule, value in headers:
            if rule.name == name:
                yield decode_header(value, options.encoding)


def _describe_structure(
    mail: MimePart, text_parts: Sequence[_DecodedPart], decoder: _PartDecoder
) -> bytes:
    """Return items that describe the structure of a mail; see `list_structure_items`."""
    parts = list(mail.walk())
    decoded_parts = [
        decoder.decode(part) for part in parts if part.is_markup and not part.is_attached
    ]
    pages = [part.page for part in decoded_parts if part.page is not None]
    plain = b"".join([part.text for part in text_parts if part.page is None])
    return list_structure_items(parts, pages, plain)
