"""Rows of different lengths in flat arrays, blocks of documents, and look-up in sorted keys.

Row i of a flat array starts at index ``starts[i]`` and has ``sizes[i]`` elements. In the same way,
a block has the texts of many documents in one buffer, so that reading and counting create no object
for each document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.type_names import Array, AttributeValues, Fields, Ints, Numbers


Value = TypeVar("Value", np.int64, np.float64)


def find_sorted(keys: Array, queries: Array) -> Ints:
    """Return the index of each query in ascending ``keys``, or −1 for a missing query.

    The result has the shape (n_queries,). If a key is repeated, its first index is returned.

    >>> find_sorted(np.array([2, 3, 5]), np.array([5, 4])).tolist()
    [2, -1]
    """
    if not keys.size:
        return np.full(queries.size, -1, np.int64)
    indices = np.searchsorted(keys, queries)
    indices = np.minimum(indices, keys.size - 1)  # the index of a query above all keys is too high
    return np.where(keys[indices] == queries, indices, -1)


def take_known(values: NDArray[Value], indices: Ints, default: NDArray[Value]) -> NDArray[Value]:
    """Return the values at ``indices``, or of ``default`` where an index is −1, shape (n,).

    >>> take_known(np.array([2, 3]), np.array([1, -1]), np.zeros(2, np.int64)).tolist()
    [3, 0]
    """
    is_known = indices >= 0
    taken = default.copy()
    taken[is_known] = values[indices[is_known]]
    return taken


def compute_flat_indices(starts: Ints, sizes: Ints) -> Ints:
    """Return the indices of all elements of all rows, row after row, shape (sum of sizes,).

    >>> compute_flat_indices(np.array([10, 20]), np.array([2, 3])).tolist()
    [10, 11, 20, 21, 22]
    """
    result_starts = np.cumsum(sizes) - sizes
    shifts = np.repeat(starts - result_starts, sizes)
    return shifts + np.arange(shifts.size)


def compute_offsets(sizes: Numbers) -> Ints:
    """Return the running sums of the sizes, from 0, shape (n_rows + 1,).

    If rows of these sizes follow each other, these are the start of each row and the end of the
    last row.
    """
    offsets = np.zeros(len(sizes) + 1, np.int64)
    offsets[1:] = sizes
    np.cumsum(offsets, out=offsets)
    return offsets


def are_rows_increasing(values: Numbers, offsets: Ints) -> bool:
    """Return whether the values of each row increase strictly.

    ``offsets`` are the start of each row in ``values``, and the end of the last row.
    """
    is_start = np.zeros(values.size + 1, np.bool_)
    is_start[offsets] = True
    # the first value of a row may be lower than the last value of the previous row
    return bool(np.all((values[1:] > values[:-1]) | is_start[1 : values.size]))


class GrowingRows:
    """A growing list of rows of whole numbers.

    Row i is ``_elements[_offsets[i]:_offsets[i + 1]]``. Both arrays have room for further rows.
    """

    def __init__(self) -> None:
        self._elements = np.empty(0, np.int64)
        self._offsets = np.zeros(1, np.int64)
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def append(self, elements: Ints, sizes: Ints) -> None:
        """Add rows, given their elements, row after row, and their sizes."""
        n_old_rows = self._n_rows
        start = int(self._offsets[n_old_rows])
        self._n_rows += sizes.size
        if self._n_rows >= self._offsets.size:
            self._offsets = np.resize(self._offsets, 2 * self._n_rows + 1)
        self._offsets[n_old_rows + 1 : self._n_rows + 1] = start + np.cumsum(sizes)

        end = int(self._offsets[self._n_rows])
        if end > self._elements.size:
            self._elements = np.resize(self._elements, 2 * end)
        self._elements[start:end] = elements

    def truncate(self, n_rows: int) -> None:
        """Keep only the first ``n_rows`` rows."""
        self._n_rows = n_rows

    def take_sizes(self, rows: Ints) -> Ints:
        """Return the sizes of some rows."""
        return self._offsets[rows + 1] - self._offsets[rows]

    def take(self, rows: Ints) -> Ints:
        """Return the elements of some rows, row after row."""
        return self._elements[compute_flat_indices(self._offsets[rows], self.take_sizes(rows))]


BLOCK_BYTES = 1 << 21
"""Number of bytes at which a block of documents ends.

Smaller blocks take longer if other threads run, because each step on arrays releases the
interpreter lock and takes it again. Larger blocks do not fit into the processor's cache.
"""

BLOCK_DOCUMENTS = 1 << 14
"""Largest number of documents in a block."""

BlockItem = TypeVar("BlockItem")

TEXT_SEPARATOR = b"\0"
"""The byte between two texts of a block."""


@dataclass(frozen=True, eq=False)
class TextBlock(Sequence[bytes]):
    """Texts in one buffer, with a NUL byte between texts.

    Text i is ``buffer[starts[i]:ends[i]]``.
    """

    buffer: bytes
    """The texts. There may be further bytes before and after them, because slices share it."""
    starts: Ints
    """Shape (n_texts,), ascending."""
    ends: Ints
    """Shape (n_texts,). The next text starts after a NUL byte: ``starts[i + 1] == ends[i] + 1``."""

    @classmethod
    def from_texts(cls, texts: Sequence[bytes]) -> TextBlock:
        """Return the block of some texts. A block is returned unchanged.

        >>> list(TextBlock.from_texts([b"win", b"", b"a prize"])[1:])
        [b'', b'a prize']
        """
        if isinstance(texts, TextBlock):
            return texts
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        ends = np.cumsum(sizes + len(TEXT_SEPARATOR)) - len(TEXT_SEPARATOR)
        return cls(buffer=TEXT_SEPARATOR.join(texts), starts=ends - sizes, ends=ends)

    def __len__(self) -> int:
        return self.starts.size

    @overload
    def __getitem__(self, index: int, /) -> bytes: ...

    @overload
    def __getitem__(self, index: slice, /) -> TextBlock: ...

    def __getitem__(self, index: int | slice, /) -> bytes | TextBlock:
        """Return one text, or a block of consecutive texts that shares the buffer."""
        if isinstance(index, slice):
            start, end, step = index.indices(len(self))
            if step != 1:
                raise ValueError("the texts of a block are consecutive")
            return TextBlock(self.buffer, self.starts[start:end], self.ends[start:end])
        return self.buffer[self.starts[index] : self.ends[index]]

    def __iter__(self) -> Iterator[bytes]:
        slices = map(slice, self.starts.tolist(), self.ends.tolist())
        return map(self.buffer.__getitem__, slices)

    @property
    def sizes(self) -> Ints:
        """Bytes of each text, shape (n_texts,)."""
        return self.ends - self.starts

    @property
    def joined(self) -> bytes:
        """The texts with one NUL byte between two texts.

        This is the buffer itself, without a copy, if all of its texts are in the block.
        """
        if not len(self):
            return b""
        return self.buffer[self.starts[0] : self.ends[-1]]


@dataclass(frozen=True, eq=False)
class LabelledBlock:
    """A block of labelled documents. Each field has the data of all documents."""

    texts: TextBlock
    labels: Sequence[Any]
    """The distinct labels, each a `nbtext.prediction.labels.Label`."""
    label_indices: Ints
    """The index in ``labels`` of each text's label, shape (n_texts,)."""
    fields: Sequence[Fields] = ()
    """The fields of each text; empty if all texts are without fields."""
    values: AttributeValues = ()
    """The attribute values of each text; empty if all texts are without values."""
    weights: Ints | None = None
    """Weights in units of 1 / `nbtext.document_fields.WEIGHT_UNIT`, shape (n_texts,).

    None if all weights are 1.
    """

    @classmethod
    def from_labels(
        cls,
        text_labels: Sequence[Any],
        texts: Sequence[bytes],
        decode: Callable[[Any], str] | None = None,
    ) -> LabelledBlock:
        """Return the block of some texts.

        ``text_labels`` are the labels of the texts. If they are encoded, ``decode`` is called once
        for each distinct label.
        """
        indices = {label: index for index, label in enumerate(dict.fromkeys(text_labels))}
        label_indices = np.fromiter(
            map(indices.__getitem__, text_labels), np.int64, len(text_labels)
        )
        labels = list(indices)
        if decode is not None:
            labels = list(map(decode, labels))
        return cls(TextBlock.from_texts(texts), labels, label_indices)

    def __len__(self) -> int:
        return len(self.texts)


def split_into_blocks(
    items: Iterable[BlockItem],
    count_bytes: Callable[[BlockItem], int],
    max_items: int = BLOCK_DOCUMENTS,
    max_bytes: int = BLOCK_BYTES,
) -> Iterator[list[BlockItem]]:
    """Yield non-empty lists of consecutive items.

    ``count_bytes`` returns the size of an item. A list ends as soon as it has ``max_items`` items,
    or at least ``max_bytes`` bytes. If the iterator raises an exception, the items before the
    exception are yielded first.
    """
    block: list[BlockItem] = []
    block_bytes = 0
    failure = None
    try:
        for item in items:
            block.append(item)
            block_bytes += count_bytes(item)
            if block_bytes >= max_bytes or len(block) >= max_items:
                yield block
                block = []
                block_bytes = 0
    except Exception as error:  # noqa: BLE001 - raised again below
        failure = error
    if block:
        yield block
    if failure is not None:
        raise failure
