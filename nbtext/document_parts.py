"""The parts of a document's text: the text itself, fields, values of attributes.

They are joined bytes from the reader to the counter, so that code that packs, hashes, cuts or explains documents need not know of them:

    TEXT  (U+001D NAME U+001C space CONTENT)*  [U+001D U+001C space ITEMS]  [U+001E VALUES]

No text, field or value holds a separator. Fields of words have a name; the last field, of items with a space between them, has none. Values of attributes stand in the order of
the attributes, with U+001F between them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, compress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.type_names import Whole

BEFORE_FIELD, BEFORE_CONTENT = b"\x1d", b"\x1c "
"""Before the name of a field, and between its name and its content; as many bytes as `shown` has in their place."""

_FIELD = re.compile(rb"\x1d([^\x1c]*)\x1c ([^\x1d]*)")
_AS_LINES = bytes.maketrans(b"\x1d\x1c", b"\n:")

_BEFORE_VALUES, BETWEEN_VALUES = b"\x1e", "\x1f"

FIELDS_KEY = "nbtext_fields"
"""The key of the fields in lines of JSON that `nbtext label` writes."""

_SEPARATORS = b"\0\x1c\x1d\x1e\x1f"
_SPACES = bytes.maketrans(_SEPARATORS, b" " * len(_SEPARATORS))

_LONGEST_NAME = 60
"""Characters of the name of a field; the rest is cut off."""

WEIGHT_UNIT = 1000
"""Weights are whole numbers of thousandths, so that their sums are exact."""


class Fields(NamedTuple):
    """What a document has beside its text: words in fields, and items that are terms as they stand; all in valid UTF-8."""

    words: Sequence[tuple[bytes, bytes]] = ()
    """Names, as of `field_name`, and contents. A name may occur several times."""
    items: bytes = b""
    """Items with one space between two, each with its field in front: ``host:example.org type:text/html``. They hold no separators."""


NO_FIELDS = Fields()


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
    return b"\0" in text or b"\x1c" in text or b"\x1d" in text or b"\x1e" in text or b"\x1f" in text


def with_fields(text: bytes, fields: Fields) -> bytes:
    """Join a text without separators and fields; separators in the words of these become spaces.

    Raise `UnicodeDecodeError` for what is no UTF-8: later nobody would know the document, and it would end the run.
    """
    words = fields.words
    if holds_separators(b"".join([content for _, content in words])):
        words = [(name, without_separators(content)) for name, content in words]
    parts = [text, *map(BEFORE_CONTENT.join, words)]
    if fields.items:
        parts.append(BEFORE_CONTENT + fields.items)
    joined = BEFORE_FIELD.join(parts)
    if not joined.isascii():
        joined.decode()
    return joined


def split_fields(document: bytes) -> tuple[bytes, Fields]:
    """Split a document without values and weight into its text and its fields."""
    text, *fields = document.split(BEFORE_FIELD)
    if not fields:
        return text, NO_FIELDS
    named = [_named(field) for field in fields]
    items = b"" if named[-1][0] else named.pop()[1]
    return text, Fields(named, items)


def fields_as_pairs(document: bytes) -> list[tuple[str, str]]:
    """Return the fields of a document without values and weight as names and contents, the items last, with an empty name."""
    _, (words, items) = split_fields(document)
    return [(name.decode(), content.decode()) for name, content in (*words, *([(b"", items)] if items else []))]


def fields_of_pairs(pairs: object) -> Fields:
    """Return the fields that `fields_as_pairs` returned; raise `ValueError` for what are no pairs of texts."""
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and all(isinstance(part, str) for part in pair) for pair in pairs):
        raise ValueError
    encoded = [(name, content.encode("utf-8", "replace")) for name, content in pairs]
    return Fields([(field_name(name), words) for name, words in encoded if name], b" ".join([items for name, items in encoded if not name]))


def without_fields(document: bytes) -> bytes:
    """Return a document without its fields."""
    text, _, fields = document.partition(BEFORE_FIELD)
    _, mark, values = fields.partition(_BEFORE_VALUES)
    return text + mark + values


def field_places(document: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the name of each field of a document without values and weight, and the places where its content begins and ends."""
    for match in _FIELD.finditer(document):
        yield match[1], *match.span(2)


def shown(document: bytes) -> bytes:
    """Return a document without values and weight as people read it: fields are lines after the text. All places stay."""
    return document.replace(BEFORE_FIELD + BEFORE_CONTENT, b"\n  ").translate(_AS_LINES) if BEFORE_FIELD in document else document


def _named(field: bytes) -> tuple[bytes, bytes]:
    name, _, content = field.partition(BEFORE_CONTENT)
    return name, content


def with_values(document: bytes, values: Iterable[str]) -> bytes:
    """Join a document without values, and those of its attributes, none of which holds a separator."""
    return document + _BEFORE_VALUES + BETWEEN_VALUES.join(values).encode()


def split_values(document: bytes) -> tuple[bytes, list[str]]:
    """Split a document without weight into its text, with its fields, and the values of its attributes."""
    text, _, values = document.partition(_BEFORE_VALUES)
    return text, values.decode().split(BETWEEN_VALUES)


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


def split_block(documents: Sequence[bytes]) -> tuple[Sequence[bytes], FieldColumns | None]:
    """Split documents without values and weights into their texts and their fields, None if no document has any."""
    import numpy as np

    from nbtext.text_block import TextBlock

    if BEFORE_FIELD not in TextBlock.of(documents).joined:
        return documents, None
    rows = [document.split(BEFORE_FIELD) for document in documents]
    texts = [row.pop(0) for row in rows]
    owners = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    parts = BEFORE_CONTENT.join(chain.from_iterable(rows)).split(BEFORE_CONTENT)
    names, contents = parts[0::2], parts[1::2]
    of_words = np.fromiter(map(bool, names), np.bool_, len(names))
    items = list(compress(contents, ~of_words))
    sizes = [content.count(b" ") + 1 for content in items]
    return texts, FieldColumns(
        list(compress(names, of_words)),
        list(compress(contents, of_words)),
        owners[of_words],
        b" ".join(items).decode().split(" ") if items else [],
        np.repeat(owners[~of_words], sizes),
    )
