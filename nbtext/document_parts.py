"""What a document has beside its text: fields and values of attributes; and the one place where these are joined to bytes.

`nbtext.corpus.document.Document` holds them apart. A digest of a document is one of

    TEXT  (U+001D NAME U+001C space CONTENT)*  [U+001D U+001C space ITEMS]  [U+001E VALUES]

with U+001F between values. No text, field or value holds a separator.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, compress
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.type_names import Fields, Whole

BETWEEN_VALUES = "\x1f"

FIELDS_KEY = "nbtext_fields"
"""The key of the fields in lines of JSON that `nbtext label` writes."""

_SEPARATORS = b"\0\x1c\x1d\x1e\x1f"
_SPACES = bytes.maketrans(_SEPARATORS, b" " * len(_SEPARATORS))

_LONGEST_NAME = 60
"""Characters of the name of a field; the rest is cut off."""

WEIGHT_UNIT = 1000
"""Weights are whole numbers of thousandths, so that their sums are exact."""


@lru_cache(1 << 12)
def field_name(name: str) -> bytes:
    """Return the name of a field made of that of a column, key or header: lower case, without white space, colon and separators.

    >>> field_name("Head Line")
    b'head_line'
    """
    return re.sub(r"[\s:\x00-\x1f\x7f]+", "_", name.strip().lower()[:_LONGEST_NAME]).encode("utf-8", "replace") or b"_"


def without_separators(text: bytes) -> bytes:
    """Return a text as it may stand in a document: with spaces in place of separators and of NUL bytes, which no other text holds.

    So no text passes for a field, for values or for a category, whatever the pattern of words.
    """
    return text.translate(_SPACES) if holds_separators(text) else text


def holds_separators(text: bytes) -> bool:
    """Return whether there are separators or NUL bytes in a text."""
    return 0 in text or 0x1C in text or 0x1D in text or 0x1E in text or 0x1F in text  # looking for bytes takes ten times as long


def checked_fields(fields: Fields) -> Fields:
    """Return fields with spaces in place of separators.

    Raise `UnicodeDecodeError` for what is no UTF-8: later nobody would know the document, and it would end the run.
    """
    if holds_separators(b"".join([content for _, content in fields])):
        fields = [(name, without_separators(content)) for name, content in fields]
    if not (together := joined_parts(b"", fields)).isascii():
        together.decode()
    return fields


def fields_of_pairs(pairs: object) -> Fields:
    """Return the fields of names and contents as JSON has them; raise `ValueError` for what are no pairs of texts."""
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and all(isinstance(part, str) for part in pair) for pair in pairs):
        raise ValueError
    encoded = [(name, content.encode("utf-8", "replace")) for name, content in pairs]
    items = b" ".join([items for name, items in encoded if not name])
    return [*((field_name(name), words) for name, words in encoded if name), *([(b"", items)] if items else [])]


def shown(text: bytes, fields: Fields) -> bytes:
    """Return a document as people read it: fields are lines after the text."""
    return b"".join([text, *((b"\n%b: %b" if name else b"\n%b  %b") % (name, content) for name, content in fields)])


def field_places(text: bytes, fields: Fields) -> Iterator[int]:
    """Yield the place in what is shown where the content of each field begins."""
    end = len(text)
    for name, content in fields:
        yield (begin := end + len(name) + 3)
        end = begin + len(content)


def joined_parts(text: bytes, fields: Fields = (), values: Sequence[str] = ()) -> bytes:
    """Return a document as one value of bytes, of which digests are made."""
    if fields:
        text = b"\x1d".join([text, *map(b"\x1c ".join, fields)])
    return text + b"\x1e" + BETWEEN_VALUES.join(values).encode() if values else text


def with_weight(document: bytes, units: int) -> bytes:
    """Join a document and its weight if that is not 1, behind a byte that UTF-8 never has: a ledger has fingerprints of both."""
    return document if units == WEIGHT_UNIT else b"%b\xff%d" % (document, units)


class FieldColumns(NamedTuple):
    """The fields of a block of documents, by document and in their order there."""

    names: list[bytes]
    """Name of each field of words, length n_fields."""
    contents: list[bytes]
    """Its words, length n_fields."""
    documents: Whole
    """Its document, shape (n_fields,)."""
    items: list[str]
    """All items, length n_items."""
    documents_of_items: Whole
    """Document of each item, shape (n_items,)."""

    @classmethod
    def of(cls, fields: Sequence[Fields]) -> Self:
        """Return the columns of the fields of each document, of which one has some."""
        import numpy as np

        owners = np.repeat(np.arange(len(fields)), list(map(len, fields)))
        names, contents = zip(*chain.from_iterable(fields), strict=True)
        of_words = np.fromiter(map(bool, names), np.bool_, len(names))
        items = list(compress(contents, ~of_words))
        sizes = [content.count(b" ") + 1 for content in items]
        return cls(
            list(compress(names, of_words)),
            list(compress(contents, of_words)),
            owners[of_words],
            b" ".join(items).decode().split(" ") if items else [],
            np.repeat(owners[~of_words], sizes),
        )
