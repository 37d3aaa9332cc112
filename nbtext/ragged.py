"""Rows of different lengths in flat arrays, of which row i is ``[starts[i], starts[i] + sizes[i])``, and look-up in sorted keys.

Texts of many documents are rows of bytes in one buffer: no object for each document until somebody asks for its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from nbtext.type_names import Array, AttributeValues, Fields, Ints, Numbers


def find_sorted(keys: Array, wanted: Array) -> Ints:
    """Return the place of each wanted key among ascending ``keys``, the first of equals, −1 if it is not there; shape (n_wanted,).

    >>> find_sorted(np.array([2, 3, 5]), np.array([5, 4])).tolist()
    [2, -1]
    """
    if not keys.size:
        return np.full(wanted.size, -1, np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[place] == wanted, place, -1)


def compute_flat_indices(starts: Ints, sizes: Ints) -> Ints:
    """Return the indices of all elements of all rows, row after row, shape (sum of sizes,).

    >>> flat_indices(np.array([10, 20]), np.array([2, 3])).tolist()
    [10, 11, 20, 21, 22]
    """
    ends = np.cumsum(sizes)
    begins = np.repeat(starts - (ends - sizes), sizes)
    return begins + np.arange(begins.size)


def compute_offsets(sizes: Numbers) -> Ints:
    """Return the start of each row when rows are packed without gaps, and the end of the last, shape (n_rows + 1,)."""
    bounds = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=bounds[1:])
    return bounds


def are_rows_increasing(values: Ints, bounds: Ints) -> bool:
    """Return whether the values of each row rise strictly."""
    rising = values[1:] > values[:-1]
    begins = bounds[1:-1]
    rising[begins[(begins > 0) & (begins < values.size)] - 1] = True
    return bool(rising.all())


class GrowingRows:
    """A growing list of rows of whole numbers."""

    def __init__(self) -> None:
        self._elements = np.empty(1 << 12, np.int64)
        self._bounds = np.zeros(1 << 8, np.int64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, elements: Ints, sizes: Ints) -> None:
        """Add rows, given as their elements row after row and their sizes."""
        first = self._size
        begin = int(self._bounds[self._size])
        self._size += sizes.size
        if self._size >= self._bounds.size:
            self._bounds = np.resize(self._bounds, 2 * self._size + 1)
        self._bounds[first + 1 : self._size + 1] = begin + np.cumsum(sizes)
        end = int(self._bounds[self._size])
        if end > self._elements.size:
            self._elements = np.resize(self._elements, 2 * end)
        self._elements[begin:end] = elements

    def truncate(self, size: int) -> None:
        """Keep only the first ``size`` rows."""
        self._size = size

    def take_sizes(self, rows: Ints) -> Ints:
        """Return the sizes of some rows."""
        return self._bounds[rows + 1] - self._bounds[rows]

    def take(self, rows: Ints) -> Ints:
        """Return the elements of some rows, row after row."""
        return self._elements[compute_flat_indices(self._bounds[rows], self.take_sizes(rows))]


BLOCK_BYTES = 1 << 21
"""Size of a block of documents. Each step on whole arrays releases the interpreter lock and takes it again, so more and smaller ones would take longer
where threads work beside it; larger ones do not fit into the processor's cache."""

BLOCK_DOCUMENTS = 1 << 14

BlockItem = TypeVar("BlockItem")

TEXT_SEPARATOR = b"\0"
"""What stands between two texts of a block."""


@dataclass(frozen=True, eq=False)
class TextBlock(Sequence[bytes]):
    """Texts one after the other: text i is ``buffer[starts[i]:ends[i]]``, and one NUL byte stands between two texts."""

    buffer: bytes
    """May begin before the first text and go on after the last: slices share it."""
    starts: Ints
    """Shape (n_texts,), ascending."""
    ends: Ints
    """Shape (n_texts,); ``starts[i + 1] == ends[i] + 1``."""

    @classmethod
    def from_texts(cls, texts: Sequence[bytes]) -> TextBlock:
        """Return the block of some texts: itself if it is one already.

        >>> list(TextBlock.of([b"win", b"", b"a prize"])[1:])
        [b'', b'a prize']
        """
        if isinstance(texts, TextBlock):
            return texts
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        ends = np.cumsum(sizes + 1) - 1
        return cls(TEXT_SEPARATOR.join(texts), ends - sizes, ends)

    def __len__(self) -> int:
        return self.starts.size

    @overload
    def __getitem__(self, place: int, /) -> bytes: ...

    @overload
    def __getitem__(self, place: slice, /) -> TextBlock: ...

    def __getitem__(self, place: int | slice, /) -> bytes | TextBlock:
        """Return one text, or a block of consecutive texts that shares the buffer."""
        if isinstance(place, slice):
            begin, end, step = place.indices(len(self))
            if step != 1:
                raise ValueError("the texts of a block are consecutive")
            return TextBlock(self.buffer, self.starts[begin:end], self.ends[begin:end])
        return self.buffer[self.starts[place] : self.ends[place]]

    def __iter__(self) -> Iterator[bytes]:
        return map(self.buffer.__getitem__, map(slice, self.starts.tolist(), self.ends.tolist()))

    @property
    def sizes(self) -> Ints:
        """Bytes of each text, shape (n_texts,)."""
        return self.ends - self.starts

    @property
    def joined(self) -> bytes:
        """The texts with one NUL byte between two: the buffer, without copying it, if all of its texts are in the block."""
        return self.buffer[self.starts[0] : self.ends[-1]] if len(self) else b""


@dataclass(frozen=True, eq=False)
class LabelledBlock:
    """Documents by columns: texts and labels, and what some of them have beside these."""

    texts: TextBlock
    labels: Sequence[Any]
    """Distinct labels, as `nbtext.prediction.labels.Label`."""
    label_indices: Ints
    """The place in ``labels`` of each text's label, shape (n_texts,)."""
    fields: Sequence[Fields] = ()
    """Those of each text; empty if no text has any, as are the values."""
    values: AttributeValues = ()
    weights: Ints | None = None
    """Shape (n_texts,), in units of 1 / `nbtext.document_fields.WEIGHT_UNIT`; None if all are 1."""

    @classmethod
    def from_labels(
        cls, labels: Sequence[Any], texts: Sequence[bytes], name: Callable[[Any], str] | None = None
    ) -> LabelledBlock:
        """Return the block of some texts, given the label of each, or what ``name`` makes labels of."""
        number = {label: place for place, label in enumerate(dict.fromkeys(labels))}
        return cls(
            TextBlock.from_texts(texts),
            list(map(name, number) if name else number),
            np.fromiter(map(number.__getitem__, labels), np.int64, len(labels)),
        )

    def __len__(self) -> int:
        return len(self.texts)


def split_into_blocks(
    items: Iterable[BlockItem],
    size: Callable[[BlockItem], int],
    max_items: int = BLOCK_DOCUMENTS,
    max_bytes: int = BLOCK_BYTES,
) -> Iterator[list[BlockItem]]:
    """Yield lists of consecutive items, each ended when it reaches so many bytes by ``size`` or ``at_once`` items; none is empty.

    Raise what making the items raises after those before it.
    """
    block: list[BlockItem] = []
    total = 0
    failure = None
    try:
        for item in items:
            block.append(item)
            total += size(item)
            if total >= max_bytes or len(block) >= max_items:
                yield block
                block = []
                total = 0
    except Exception as raised:  # noqa: BLE001 - raised again below
        failure = raised
    if block:
        yield block
    if failure is not None:
        raise failure
