"""Texts of many documents in one buffer, with their bounds as arrays: no object for each document until somebody asks for its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, overload

import numpy as np

from nbtext.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtext.type_names import Fields, Whole

BLOCK_BYTES = 1 << 21
"""Size of a block of documents. Each step on whole arrays releases the interpreter lock and takes it again, so more and smaller ones would take longer
where threads work beside it; larger ones do not fit into the processor's cache."""

BLOCK_DOCUMENTS = 1 << 14

BlockItem = TypeVar("BlockItem")

BETWEEN = b"\0"
"""What stands between two texts of a block."""


@dataclass(frozen=True, eq=False)
class TextBlock(Sequence[bytes]):
    """Texts one after the other: text i is ``buffer[starts[i]:ends[i]]``, and one NUL byte stands between two texts."""

    buffer: bytes
    """May begin before the first text and go on after the last: slices share it."""
    starts: Whole
    """Shape (n_texts,), ascending."""
    ends: Whole
    """Shape (n_texts,); ``starts[i + 1] == ends[i] + 1``."""

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> TextBlock:
        """Return the block of some texts: itself if it is one already.

        >>> list(TextBlock.of([b"win", b"", b"a prize"])[1:])
        [b'', b'a prize']
        """
        if isinstance(texts, TextBlock):
            return texts
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        ends = np.cumsum(sizes + 1) - 1
        return cls(BETWEEN.join(texts), ends - sizes, ends)

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
    def sizes(self) -> Whole:
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
    labels: Sequence[str]
    """Distinct labels."""
    classes: Whole
    """The place in ``labels`` of each text's label, shape (n_texts,)."""
    fields: Sequence[Fields] = ()
    """Those of each text; empty if no text has any, as are the values."""
    values: Sequence[Sequence[str]] = ()
    weights: Whole | None = None
    """Shape (n_texts,), in units of 1 / `nbtext.document_parts.WEIGHT_UNIT`; None if all are 1."""

    @classmethod
    def of(cls, labels: Sequence[str], texts: Sequence[bytes]) -> LabelledBlock:
        """Return the block of some texts, given the label of each."""
        number = {label: place for place, label in enumerate(dict.fromkeys(labels))}
        return cls(TextBlock.of(texts), list(number), np.fromiter(map(number.__getitem__, labels), np.int64, len(labels)))

    def __len__(self) -> int:
        return len(self.texts)


def blocks(
    items: Iterable[BlockItem], size: Callable[[BlockItem], int], at_once: int = BLOCK_DOCUMENTS, n_bytes: int = BLOCK_BYTES
) -> Iterator[list[BlockItem]]:
    """Yield lists of consecutive items, each ended when it reaches so many bytes by ``size`` or ``at_once`` items; none is empty.

    Raise what making the items raises after those before it.
    """
    block: list[BlockItem] = []
    total, failure = 0, None
    try:
        for item in items:
            block.append(item)
            total += size(item)
            if total >= n_bytes or len(block) >= at_once:
                yield block
                block, total = [], 0
    except Exception as raised:  # noqa: BLE001 - raised again below
        failure = raised
    if block:
        yield block
    if failure is not None:
        raise failure
