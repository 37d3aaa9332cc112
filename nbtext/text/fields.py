"""Fields of a block of documents, in columns: words of one field after the other, and items, which are terms as they stand."""

from __future__ import annotations

from itertools import chain, compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.document_parts import BEFORE_CONTENT, BEFORE_FIELD
from nbtext.text_block import TextBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class FieldColumns(NamedTuple):
    """The fields of a block of documents, by document and in their order there."""

    names: list[bytes]
    """Name of each field of words, length n_fields."""
    contents: list[bytes]
    """Its words, length n_fields."""
    documents: NDArray[np.int64]
    """Its document, shape (n_fields,)."""
    items: list[str]
    """All items, length n_items."""
    documents_of_items: NDArray[np.int64]
    """Document of each item, shape (n_items,)."""


def split_block(documents: Sequence[bytes]) -> tuple[Sequence[bytes], FieldColumns | None]:
    """Split documents without values and weights into their texts and their fields, None if no document has any."""
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
